/* fstring.c: f-strings become parts; neighbouring literals become one node. */
#include "internal.h"

/* Reads the content of an f-string, which stands in the source as it was written. */
struct reader {
    struct parser *parser;
    const char *text;
    uint32_t at, end;
    bool raw;
    struct expr_list parts;
};

static void add_text(struct reader *r, uint32_t begin, uint32_t end) {
    if (begin == end) return;
    struct parser *p = r->parser;
    struct span span = {begin, end};
    struct ast_expr *e = make_atom(p, AST_STRING, span);
    e->string =
        literal_value(p->arena, p->names, p->source, (struct literal){span, r->raw}, p->diag);
    r->parts = expr_append(r->parts, e);
}

/* Behind the string that begins at `at`. */
static uint32_t skip_quoted(const struct reader *r, uint32_t at) {
    char quote = r->text[at++];
    while (at < r->end && r->text[at] != quote) at += r->text[at] == '\\' ? 2 : 1;
    return at < r->end ? at + 1 : r->end;
}

/* The end of the expression that begins at `at`: a '}', '!', ':' or '=' outside brackets. */
static uint32_t expression_end(const struct reader *r, uint32_t at) {
    int depth = 0;
    while (at < r->end) {
        char c = r->text[at], next = at + 1 < r->end ? r->text[at + 1] : 0;
        char before = r->text[at - 1];
        if (c == '\'' || c == '"') {
            at = skip_quoted(r, at);
            continue;
        }
        if (!depth && (c == '}' || c == ':' || (c == '!' && next != '='))) return at;
        if (!depth && c == '=' && next != '=' && !strchr("=!<>", before)) return at;
        if (strchr("([{", c) && c) depth++;
        if (strchr(")]}", c) && c && depth) depth--;
        at++;
    }
    return at;
}

static struct ast_expr *read_expression(struct parser *p, struct span part) {
    struct parser inner = {.arena = p->arena,
                           .names = p->names,
                           .source = p->source,
                           .diag = p->diag,
                           .deep = p->deep};
    inner.tokens = lex_expression(p->arena, p->names, p->source, part, p->diag);
    if (inner.tokens->list.count == 1 && !inner.tokens->bad.count)
        diag_report(p->diag, (struct span){part.begin - 1, part.end + 1}, E0101,
                    "an f-string's braces hold no expression; '{{' stands for a brace");
    else
        parse_expression_tokens(&inner);
    return inner.expression ? inner.expression : make_atom(p, AST_BAD, part);
}

/* The braces whose '{' is at r->at. */
static void add_expression(struct reader *r) {
    struct parser *p = r->parser;
    uint32_t open = r->at, end = expression_end(r, open + 1), close = end;
    for (int depth = 0; close < r->end && (depth || r->text[close] != '}'); close++)
        depth += (r->text[close] == '{') - (r->text[close] == '}');
    r->at = close + 1;
    if (close >= r->end) {
        diag_report(p->diag, (struct span){open, open + 1}, E0104,
                    "'{' in the f-string is never closed; quotes inside it are of the other kind");
        p->broken = (struct span){open, open + 1};
        r->at = r->end;
        return;
    }
    if (close != end)
        report_unsupported(p, (struct span){end, close}, "a conversion or format in an f-string");
    struct ast_expr *e = read_expression(p, (struct span){open + 1, end});
    r->parts = expr_append(r->parts, e);
}

static void split(struct reader *r) {
    uint32_t begin = r->at;
    while (r->at < r->end) {
        char c = r->text[r->at];
        char next = r->at + 1 < r->end ? r->text[r->at + 1] : 0;
        if (c != '{' && c != '}') {
            r->at += c == '\\' && !r->raw && next && next != '{' && next != '}' ? 2 : 1;
            continue;
        }
        bool twice = next == c;
        add_text(r, begin, r->at + twice); /* of a doubled brace one stays */
        if (twice)
            r->at += 2;
        else if (c == '{')
            add_expression(r);
        else {
            diag_report(r->parser->diag, (struct span){r->at, r->at + 1}, E0101,
                        "'}' in an f-string closes nothing; '}}' stands for a brace");
            r->at++;
        }
        begin = r->at;
    }
    add_text(r, begin, r->end);
}

struct ast_expr *make_string(struct parser *p, struct token t) {
    if (t.kind == TOK_STRING) {
        struct ast_expr *e = make_atom(p, AST_STRING, t.span);
        e->string = t.as.string;
        return e;
    }
    struct literal l = literal_of(p->source, t.span);
    struct reader r = {.parser = p,
                       .text = p->source->text,
                       .at = l.content.begin,
                       .end = l.content.end,
                       .raw = l.raw};
    split(&r);
    return make_expr(
        p, (struct ast_expr){.kind = AST_FSTRING, .span = t.span, .parts = r.parts.first});
}

/* -- Neighbours
 * -------------------------------------------------------------------------------------- */

struct joiner {
    struct parser *parser;
    struct expr_list parts;
    struct span span; /* of the text that waits in `value` */
    VEC(char) value;
};

static void flush(struct joiner *j) {
    if (!j->value.count) return;
    struct ast_expr *e = make_atom(j->parser, AST_STRING, j->span);
    e->string = intern(j->parser->names, j->value.at, (size_t)j->value.count);
    j->parts = expr_append(j->parts, e);
    j->value.count = 0;
}

static void join_text(struct joiner *j, const struct ast_expr *e) {
    j->span = j->value.count ? span_join(j->span, e->span) : e->span;
    for (uint32_t i = 0; i < e->string->length; i++)
        vec_push(j->parser->arena, &j->value, e->string->text[i]);
}

/* An f-string directly in the braces of another is a part like its own parts. */
static void join_part(struct joiner *j, struct ast_expr *e) {
    if (e->kind == AST_STRING) {
        join_text(j, e);
        return;
    }
    if (e->kind == AST_FSTRING) {
        for (struct ast_expr *part = e->parts, *next; part; part = next) {
            next = part->next;
            join_part(j, part);
        }
        return;
    }
    flush(j);
    e->next = NULL;
    j->parts = expr_append(j->parts, e);
}

struct ast_expr *join_strings(struct parser *p, struct expr_list literals, struct span span) {
    struct joiner j = {.parser = p};
    bool parts = false;
    if (literals.first == literals.last && literals.first->kind == AST_STRING)
        return literals.first;
    for (struct ast_expr *e = literals.first, *next; e; e = next) {
        next = e->next;
        parts = parts || e->kind == AST_FSTRING;
        join_part(&j, e);
    }
    if (parts) {
        flush(&j);
        return make_expr(
            p, (struct ast_expr){.kind = AST_FSTRING, .span = span, .parts = j.parts.first});
    }
    struct ast_expr *e = make_atom(p, AST_STRING, span);
    e->string = intern(p->names, j.value.count ? j.value.at : "", (size_t)j.value.count);
    return e;
}
