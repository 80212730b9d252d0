/* check.c: what a grammar cannot say, and how errors of syntax are said. */
#include "internal.h"
#include <string.h>

enum { MOST_NAMED = 255 }; /* parameters, and keyword arguments of a call */

void report_unsupported(struct parser *p, struct span span, const char *what) {
    diag_report(p->diag, span, E0401, "%s is not supported", what);
}

void report_deep(struct parser *p, struct span span) {
    if (!p->deep)
        diag_report(p->diag, span, E0106, "this nests too deeply; an expression may nest %d deep",
                    AST_DEPTH_LIMIT);
    p->deep = true;
}

/* -- Targets --------------------------------------------------------------------------------------
 */

static const char *kind_text(enum ast_expr_kind k) {
    switch (k) {
    case AST_CALL: return "a call";
    case AST_COMPARE: return "a comparison";
    case AST_LAMBDA: return "a lambda";
    case AST_CHOICE: return "a conditional expression";
    case AST_COMPREHENSION: return "a comprehension";
    case AST_UNARY:
    case AST_BINARY: return "an operator's result";
    case AST_DICT:
    case AST_SET: return "a dict or set";
    default: return "a constant";
    }
}

struct ast_expr *check_target(struct parser *p, struct ast_expr *e) {
    switch (e->kind) {
    case AST_BAD:
    case AST_NAME:
    case AST_INDEX:
    case AST_ATTRIBUTE: return e;
    case AST_STARRED:
    case AST_TUPLE:
    case AST_LIST:
        for (struct ast_expr *item = e->items; item; item = item->next) check_target(p, item);
        return e;
    default:
        diag_report(p->diag, e->span, E0108, "cannot assign to %s", kind_text(e->kind));
        return e;
    }
}

/* -- Parameters and arguments ---------------------------------------------------------------------
 */

static void check_parameter(struct parser *p, const struct ast_parameter *first,
                            const struct ast_parameter *q) {
    bool preset_before = false;
    for (const struct ast_parameter *o = first; o != q; o = o->next) {
        if (o->name == q->name)
            diag_report(p->diag, q->span, E0109, "two parameters are named '%s'", q->name->text);
        if (o->stars == 2)
            diag_report(p->diag, q->span, E0109, "'%s' stands behind '**%s', which is the last",
                        q->name->text, o->name->text);
        preset_before = preset_before || (o->preset && !o->keyword_only);
    }
    if (preset_before && !q->preset && !q->stars && !q->keyword_only)
        diag_report(p->diag, q->span, E0109,
                    "'%s' has no default but stands behind a parameter that has one",
                    q->name->text);
}

void check_parameters(struct parser *p, const struct ast_parameter *first) {
    int count = 0;
    for (const struct ast_parameter *q = first; q; q = q->next) {
        if (++count > MOST_NAMED) {
            diag_report(p->diag, q->span, E0109, "more than %d parameters", MOST_NAMED);
            return;
        }
        check_parameter(p, first, q);
    }
}

void check_arguments(struct parser *p, const struct ast_argument *first) {
    const struct ast_argument *named[MOST_NAMED];
    int count = 0;
    bool spread = false;
    for (const struct ast_argument *a = first; a; a = a->next) {
        spread = spread || a->stars == 2;
        if (!a->keyword && !a->stars && (count || spread))
            diag_report(p->diag, a->span, E0109,
                        "a positional argument stands behind a keyword argument");
        if (!a->keyword) continue;
        if (count == MOST_NAMED) {
            diag_report(p->diag, a->span, E0109, "more than %d keyword arguments", MOST_NAMED);
            return;
        }
        for (int i = 0; i < count; i++)
            if (named[i]->keyword == a->keyword)
                diag_report(p->diag, a->span, E0109, "'%s' is given twice", a->keyword->text);
        named[count++] = a;
    }
}

/* -- Errors of syntax
 * ------------------------------------------------------------------------------- */

struct line {
    int first, end; /* tokens; `end` is the one that ends it */
};

static bool between_lines(enum token_kind k) {
    return k == TOK_LINE || k == TOK_INDENT || k == TOK_DEDENT || k == TOK_END;
}

static struct line line_around(const struct parser *p, int at) {
    const struct token *t = p->tokens->list.at;
    struct line l = {at, at};
    while (l.first > 0 && !between_lines(t[l.first - 1].kind)) l.first--;
    while (!between_lines(t[l.end].kind)) l.end++;
    return l;
}

/* The lexer has said something about this line. */
static bool was_reported(const struct parser *p, struct line l) {
    const struct source *s = p->source;
    const struct token *t = p->tokens->list.at;
    int first = source_position(s, t[l.first].span.begin).line;
    int last = source_position(s, t[l.end].span.begin).line;
    uint32_t begin = source_line(s, first).begin, end = source_line(s, last).end;
    if (p->broken.end > begin && p->broken.begin < end) return true;
    int low = 0, high = p->tokens->bad.count; /* the first offset from `begin` on */
    while (low < high) {
        int middle = (low + high) / 2;
        if (p->tokens->bad.at[middle] < begin)
            low = middle + 1;
        else
            high = middle;
    }
    return low < p->tokens->bad.count && p->tokens->bad.at[low] <= end;
}

static bool is_word(const struct token *t, const char *word) {
    return t->kind == TOK_NAME && !strcmp(t->as.name->text, word);
}

/* Syntax of Python that tilec leaves out, where it does not parse as something else. */
static bool report_foreign(struct parser *p, const struct token *found, struct line l) {
    const struct token *t = p->tokens->list.at, *first = &t[l.first];
    bool head = l.end > l.first && t[l.end - 1].kind == TOK_COLON;
    if (head && is_word(first, "match")) {
        report_unsupported(p, first->span, "'match'");
        p->in_match = true;
        return true;
    }
    if (head && p->in_match && is_word(first, "case")) return true;
    switch (found->kind) {
    case TOK_WALRUS:
        diag_report(p->diag, found->span, E0401,
                    "':=' is not supported; assign in a statement of its own");
        return true;
    case TOK_ASYNC:
    case TOK_AWAIT:
    case TOK_CLASS:
    case TOK_DEL:
    case TOK_GLOBAL:
    case TOK_NONLOCAL:
    case TOK_TRY:
    case TOK_YIELD: report_unsupported(p, found->span, token_text(found->kind)); return true;
    default: return false;
    }
}

static const char *found_text(const struct parser *p, const struct token *t) {
    bool named = t->kind == TOK_NAME || t->kind == TOK_INTEGER || t->kind == TOK_FLOAT;
    if (!named) return t->kind == TOK_INDENT ? "indentation" : token_text(t->kind);
    uint32_t length = t->span.end - t->span.begin;
    return arena_printf(p->arena, "'%.*s%s'", length > 40 ? 40 : (int)length,
                        p->source->text + t->span.begin, length > 40 ? "..." : "");
}

static bool expects(const int *expected, int count, enum token_kind k) {
    for (int i = 0; i < count; i++)
        if (expected[i] == (int)k) return true;
    return false;
}

/* Drops what tilec does not support: it is no advice. */
static int supported_of(const int *expected, int count, int *kept) {
    int n = 0;
    for (int i = 0; i < count; i++)
        if (expected[i] < TOK_ASYNC || expected[i] > TOK_YIELD) kept[n++] = expected[i];
    return n;
}

/* Statements that hold a condition: there '=' most likely means '=='. */
static bool begins_condition(enum token_kind k) {
    return k == TOK_IF || k == TOK_ELIF || k == TOK_WHILE || k == TOK_ASSERT;
}

static void report_unexpected(struct parser *p, const struct token *found, struct span span,
                              const int *expected, int count) {
    const char *what = found_text(p, found);
    struct text list = text_new(p->arena);
    if (found->kind == TOK_LINE && expects(expected, count, TOK_COLON) &&
        expects(expected, count, TOK_PLUS) && !expects(expected, count, TOK_LINE)) {
        diag_report(p->diag, span, E0101, "unexpected %s, expected ':'", what);
        return;
    }
    for (int i = 0; count <= 5 && i < count; i++)
        text_printf(&list, "%s%s",
                    i == 0           ? ", expected "
                    : i + 1 == count ? " or "
                                     : ", ",
                    token_text((enum token_kind)expected[i]));
    diag_report(p->diag, span, E0101, "unexpected %s%s", what, list.at);
    struct line l = line_around(p, p->current);
    if (found->kind == TOK_ASSIGN && expects(expected, count, TOK_EQ) &&
        begins_condition(p->tokens->list.at[l.first].kind))
        diag_fix(p->diag, span, "==", "'==' compares");
}

/* The rules of recovery skip to the end of a line. If what was not expected stands between lines,
 * it must survive that, so it is put back behind a line end that is made up. Where a block is
 * expected, recovery skips nothing. */
void report_syntax(struct parser *p, int found_kind, const int *expected, int count) {
    const struct token *found = &p->tokens->list.at[p->current];
    struct line l = line_around(p, p->current);
    bool block = count == 1 && expected[0] == TOK_INDENT;
    if ((found_kind == TOK_INDENT || found_kind == TOK_DEDENT) && !block) {
        p->line_owed = true;
        p->at = p->current;
    }
    if (was_reported(p, l) || report_foreign(p, found, l)) return;
    int kept[TOK_COUNT + 1];
    count = supported_of(expected, count, kept);
    bool at_end = found->kind == TOK_END || found->kind == TOK_DEDENT;
    struct span span = at_end && p->current ? found[-1].span : found->span;
    report_unexpected(p, found, span, kept, count);
}
