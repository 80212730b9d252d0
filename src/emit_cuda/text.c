/* text.c: what comes from outside (names of files, messages, strings of the program) inside
 * comments, string literals and #line. */
#include "emit_cuda/internal.h"
#include <string.h>

/* Line ends, comment ends and a backslash at the end would let the text out of its comment. */
/* Everything up to the next character that needs care, in one piece. */
static const char *write_plain(struct text *out, const char *s, bool (*special)(const char *s)) {
    const char *end = s;
    while (*end && !special(end)) end++;
    text_write(out, s, (size_t)(end - s));
    return end;
}

static bool is_control(char c) { return (unsigned char)c < 32 || c == 127; }

static bool special_in_comment(const char *s) {
    return is_control(*s) || (*s == '\\' && !s[1]) || (*s == '*' && s[1] == '/');
}

void emit_comment(struct text *out, const char *s) {
    for (; *(s = write_plain(out, s, special_in_comment)); s++)
        text_puts(out, *s == '\\' ? "|" : *s == '*' ? "* " : " ");
}

static bool special_in_string(const char *s) { /* "??/" would be a trigraph */
    return is_control(*s) || *s == '"' || *s == '\\' || (*s == '?' && s[1] == '?');
}

void emit_quoted(struct text *out, const char *s) {
    text_puts(out, "\"");
    for (; *(s = write_plain(out, s, special_in_string)); s++)
        text_printf(out, is_control(*s) ? "\\%03o" : "\\%c", (unsigned char)*s);
    text_puts(out, "\"");
}

/* The number of the next line is known when the whole file is: this marks the place. */
static const char mark[] = "#line back\n";

void emit_line_back(struct emitter *e) {
    e->line = 0;
    if (e->options->line != LINE_TILE) return;
    int indent = e->out->indent;
    e->out->indent = 0;
    text_puts(e->out, mark);
    e->out->indent = indent;
}

void resolve_lines(struct text *out, const char *text, const char *unit_name) {
    int line = 1;
    for (const char *p = text, *next; *p; p = next) {
        bool marked = *p == *mark && !strncmp(p, mark, sizeof mark - 1);
        next = strchr(p, '\n');
        next = next ? next + 1 : p + strlen(p);
        line++;
        if (!marked) continue;
        text_write(out, text, (size_t)(p - text));
        text_printf(out, "#line %d ", line);
        emit_quoted(out, unit_name);
        text_puts(out, "\n");
        text = next;
    }
    text_puts(out, text);
}
