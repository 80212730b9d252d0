/* lexer.c: lex(): what scan.l found becomes tokens; keywords, brackets, strays. */
#include "lexer.h"
#include "base/utf8.h"
#include "internal.h"
#include <string.h>

enum group { CLASS, KEYWORD, LATER, MARK };

static const struct row {
    const char *spelling, *quoted;
    uint32_t length;
    enum group group;
} rows[] = {
#define TOKEN(id, spelling, group) {spelling, "'" spelling "'", sizeof spelling - 1, group},
#include "tokens.def"
};

const char *token_text(enum token_kind k) {
    return rows[k].group == CLASS ? rows[k].spelling : rows[k].quoted;
}

/* -- Finding a token by its spelling ------------------------------------------------------------
 */

/* Chains the tokens by their first character; 0, TOK_END, ends a chain. */
static void make_index(struct lexer *x) {
    for (int k = TOK_COUNT - 1; k > 0; k--) {
        if (rows[k].group == CLASS) continue;
        enum token_kind *first = &x->first_of[(unsigned char)rows[k].spelling[0]];
        x->next_of[k] = *first;
        *first = (enum token_kind)k;
    }
}

static enum token_kind find(const struct lexer *x, const char *text, size_t length) {
    unsigned char first = (unsigned char)*text;
    enum token_kind k = first < 128 ? x->first_of[first] : TOK_END;
    while (k != TOK_END &&
           (rows[k].length != length || memcmp(rows[k].spelling, text, length) != 0))
        k = x->next_of[k];
    return k;
}

/* -- Pushing
 * ---------------------------------------------------------------------------------------- */

void lexer_push(struct lexer *x, struct token t) {
    x->line_inside = false;
    vec_push(x->arena, &x->tokens->list, t);
}

void lexer_bad(struct lexer *x, uint32_t offset) {
    int n = x->tokens->bad.count;
    if (n && x->tokens->bad.at[n - 1] > offset) offset = x->tokens->bad.at[n - 1];
    vec_push(x->arena, &x->tokens->bad, offset);
    if (diag_full(x->diag)) x->stopped = true;
}

/* Keywords that never stand in an expression: a line in brackets that begins with one shows that
 * a bracket was forgotten. */
static bool begins_statement(enum token_kind k) {
    switch (k) {
    case TOK_ASSERT:
    case TOK_BREAK:
    case TOK_CLASS:
    case TOK_CONTINUE:
    case TOK_DEF:
    case TOK_DEL:
    case TOK_GLOBAL:
    case TOK_IMPORT:
    case TOK_PASS:
    case TOK_RAISE:
    case TOK_RETURN:
    case TOK_TRY:
    case TOK_WHILE:
    case TOK_WITH: return true;
    default: return false;
    }
}

static bool is_utf8(const char *p, size_t length) {
    uint32_t point;
    for (const char *end = p + length; p < end;) {
        int bytes = utf8_decode(p, end, &point);
        if (!bytes) return false;
        p += bytes;
    }
    return true;
}

static bool is_ascii(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] >= 0x80) return false;
    return true;
}

void lexer_name(struct lexer *x, const char *text, size_t length) {
    enum token_kind k = find(x, text, length);
    if (x->line_inside && x->brackets.count && !x->expression && begins_statement(k))
        line_resumes(x);
    if (!is_ascii(text, length)) {
        if (is_utf8(text, length))
            diag_report(x->diag, x->here, E0102,
                        "'%.*s' holds a character outside ASCII; names are made of A-Z a-z 0-9 _",
                        length > 200 ? 0 : (int)length, text);
        lexer_bad(x, x->here.begin);
    }
    struct token t = {.kind = k == TOK_END ? TOK_NAME : k, .span = x->here};
    if (k == TOK_END) t.as.name = intern(x->names, text, length);
    lexer_push(x, t);
}

/* -- Marks
 * -------------------------------------------------------------------------------------------- */

static enum token_kind closer_of(enum token_kind opening) {
    switch (opening) {
    case TOK_LPAREN: return TOK_RPAREN;
    case TOK_LSQUARE: return TOK_RSQUARE;
    case TOK_LBRACE: return TOK_RBRACE;
    default: return TOK_END;
    }
}

static void open_bracket(struct lexer *x, enum token_kind k) {
    if (x->brackets.count == NESTING_LIMIT) {
        diag_report(x->diag, x->here, E0106, "brackets nest more than %d deep", NESTING_LIMIT);
        lexer_bad(x, x->here.begin);
        x->stopped = true;
        return;
    }
    struct bracket b = {k, x->here};
    vec_push(x->arena, &x->brackets, b);
    lexer_push(x, (struct token){.kind = k, .span = x->here});
}

/* A bracket of the wrong kind closes the open one all the same: most likely only the key was. */
static void close_bracket(struct lexer *x, enum token_kind k) {
    if (!x->brackets.count) {
        diag_report(x->diag, x->here, E0101, "%s closes no bracket", token_text(k));
        lexer_bad(x, x->here.begin);
        return;
    }
    struct bracket b = x->brackets.at[--x->brackets.count];
    enum token_kind wanted = closer_of(b.kind);
    if (wanted != k) {
        diag_report(x->diag, x->here, E0101, "%s does not close %s", token_text(k),
                    token_text(b.kind));
        diag_note(x->diag, b.span, "%s is opened here", token_text(b.kind));
        lexer_bad(x, x->here.begin);
    }
    lexer_push(x, (struct token){.kind = wanted, .span = x->here});
}

void lexer_mark(struct lexer *x, const char *text, size_t length) {
    enum token_kind k = find(x, text, length);
    if (closer_of(k) != TOK_END)
        open_bracket(x, k);
    else if (k == TOK_RPAREN || k == TOK_RSQUARE || k == TOK_RBRACE)
        close_bracket(x, k);
    else
        lexer_push(x, (struct token){.kind = k, .span = x->here});
}

void lexer_stray(struct lexer *x, const char *text, size_t length) {
    unsigned char c = (unsigned char)*text;
    if (length == 1 && c > 0x20 && c < 0x7f)
        diag_report(x->diag, x->here, E0102, "'%c' %s", c,
                    c == '\\'  ? "joins lines only as a line's last character"
                    : c == '!' ? "stands only in '!='; write 'not'"
                               : "has no meaning here");
    else if (c && c < 0x80)
        diag_report(x->diag, x->here, E0102, "the byte 0x%02x has no meaning here", c);
    lexer_bad(x, x->here.begin);
}

/* -- Strings
 * ------------------------------------------------------------------------------------------ */

static bool holds(const char *text, uint32_t length, char lower) {
    for (uint32_t i = 0; i < length; i++)
        if ((text[i] | 0x20) == lower) return true;
    return false;
}

/* Reports a prefix that is none, or that tilec has no use for; says if it makes an f-string. */
static bool check_prefix(struct lexer *x) {
    const char *text = x->source->text + x->here.begin;
    uint32_t length = 0;
    while (text[length] != '"' && text[length] != '\'') length++;
    bool f = holds(text, length, 'f'), u = holds(text, length, 'u'), b = holds(text, length, 'b');
    bool twice = length == 2 && (text[0] | 0x20) == (text[1] | 0x20);
    struct span prefix = {x->here.begin, x->here.begin + length};
    if (twice || (length == 2 && (u || (b && f)))) {
        diag_report(x->diag, prefix, E0102, "'%.*s' is no prefix of a string; r, f and rf are",
                    (int)length, text);
        lexer_bad(x, x->here.begin);
    } else if (b) {
        diag_report(x->diag, prefix, E0401, "strings of bytes, 'b\"...\"', are not supported");
        lexer_bad(x, x->here.begin);
    }
    return f;
}

void lexer_string(struct lexer *x) {
    bool f = check_prefix(x);
    struct token t = {.kind = f ? TOK_FSTRING : TOK_STRING, .span = x->here};
    struct literal l = literal_of(x->source, x->here);
    t.as.string = literal_value(x->arena, x->names, x->source, l, x->diag);
    lexer_push(x, t);
}

void lexer_unclosed_string(struct lexer *x) {
    const char *text = x->source->text + x->here.begin;
    uint32_t quotes = 0;
    while (text[quotes] != '"' && text[quotes] != '\'') quotes++;
    char quote = text[quotes];
    bool triple = text[quotes + 1] == quote && text[quotes + 2] == quote;
    quotes += triple ? 3 : 1;
    diag_report(x->diag, (struct span){x->here.begin, x->here.begin + quotes}, E0104,
                "the string is never closed%s", triple ? "" : " on its line");
    lexer_bad(x, x->here.begin);
    lexer_push(x, (struct token){
                      .kind = TOK_STRING, .span = x->here, .as.string = intern(x->names, "", 0)});
}

/* -- The whole text
 * --------------------------------------------------------------------------------- */

/* What is no text is said once: the rest of such a file would only repeat it. */
static void check_bytes(const struct source *s, struct diag *d) {
    const char *p = s->text, *end = p + s->length;
    while (p < end) {
        uint32_t point;
        int bytes = *p > 0 ? 1 : utf8_decode(p, end, &point);
        if (bytes == 0 || *p == 0) {
            uint32_t at = (uint32_t)(p - s->text);
            diag_report(d, (struct span){at, at + 1}, E0102, "the byte 0x%02x is not %s",
                        (unsigned)(unsigned char)*p, *p ? "UTF-8" : "text");
            return;
        }
        p += bytes;
    }
}

static struct lexer lexer_of(struct arena *a, struct interns *names, const struct source *s,
                             struct diag *d) {
    struct lexer x = {.arena = a, .names = names, .source = s, .diag = d};
    x.tokens = arena_make(a, struct tokens);
    make_index(&x);
    return x;
}

struct tokens *lex(struct arena *a, struct interns *names, const struct source *s, struct diag *d) {
    struct lexer x = lexer_of(a, names, s, d);
    bool mark = s->length >= 3 && !memcmp(s->text, "\xef\xbb\xbf", 3); /* of byte order */
    check_bytes(s, d);
    scan(&x, (struct span){mark ? 3 : 0, s->length});
    file_ends(&x);
    return x.tokens;
}

struct tokens *lex_expression(struct arena *a, struct interns *names, const struct source *s,
                              struct span part, struct diag *d) {
    struct lexer x = lexer_of(a, names, s, d);
    x.expression = true;
    scan(&x, part);
    x.offset = part.end;
    file_ends(&x);
    x.tokens->list.at[x.tokens->list.count - 1].span = (struct span){part.end, part.end};
    return x.tokens;
}

void tokens_print(struct text *t, const struct tokens *tokens, const struct source *s) {
    for (int i = 0; i < tokens->list.count; i++) {
        const struct token *k = &tokens->list.at[i];
        struct position at = source_position(s, k->span.begin);
        text_printf(t, "%d:%d %s", at.line, at.column, token_text(k->kind));
        if (rows[k->kind].group == CLASS && k->span.end > k->span.begin)
            text_printf(t, " %.*s", (int)(k->span.end - k->span.begin), s->text + k->span.begin);
        text_puts(t, "\n");
    }
}
