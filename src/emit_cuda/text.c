/* text.c: what comes from outside (names of files, messages, strings of the program) inside
 * comments, string literals and #line. */
#include "emit_cuda/internal.h"
#include <string.h>

/* Line ends, comment ends and a backslash at the end would let the text out of its comment. */
void emit_comment(struct text *out, const char *s) {
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c < 32 || c == 127)
            text_puts(out, " ");
        else if (c == '\\' && !s[1])
            text_puts(out, "|");
        else if (c == '*' && s[1] == '/')
            text_puts(out, "* ");
        else
            text_printf(out, "%c", c);
    }
}

void emit_quoted(struct text *out, const char *s) {
    text_puts(out, "\"");
    for (; *s; s++) { /* "??/" would be a trigraph */
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\' || (c == '?' && s[1] == '?'))
            text_printf(out, "\\%c", c);
        else if (c < 32 || c == 127)
            text_printf(out, "\\%03o", c);
        else
            text_printf(out, "%c", c);
    }
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

const char *resolve_lines(struct arena *a, const char *text, const char *unit_name) {
    struct text out = text_new(a);
    int line = 1;
    for (const char *p = text; *p; line++) {
        size_t n = strcspn(p, "\n");
        n += p[n] == '\n';
        if (strncmp(p, mark, sizeof mark - 1)) {
            text_printf(&out, "%.*s", (int)n, p);
        } else {
            text_printf(&out, "#line %d ", line + 1);
            emit_quoted(&out, unit_name);
            text_puts(&out, "\n");
        }
        p += n;
    }
    return out.at;
}
