/* shape.c: a tree as one text without spans: (kind parts…), each part of each node. */
#include "shape.h"
#include "parser/parser.h"

static const char *const expr_names[] = {
    [AST_BAD] = "bad",       [AST_NAME] = "name",         [AST_INTEGER] = "integer",
    [AST_FLOAT] = "float",   [AST_STRING] = "string",     [AST_FSTRING] = "fstring",
    [AST_TRUE] = "true",     [AST_FALSE] = "false",       [AST_NONE] = "none",
    [AST_ELLIPSIS] = "...",  [AST_TUPLE] = "tuple",       [AST_LIST] = "list",
    [AST_DICT] = "dict",     [AST_SET] = "set",           [AST_UNARY] = "unary",
    [AST_BINARY] = "binary", [AST_COMPARE] = "compare",   [AST_CHOICE] = "choice",
    [AST_CALL] = "call",     [AST_INDEX] = "index",       [AST_ATTRIBUTE] = "attribute",
    [AST_LAMBDA] = "lambda", [AST_COMPREHENSION] = "for", [AST_STARRED] = "starred",
};
static const char *const stmt_names[] = {
    [AST_EXPR_STMT] = "do",  [AST_ASSIGN] = "=",      [AST_AUGMENTED] = "op=",
    [AST_ANNOTATED] = ":",   [AST_IF] = "if",         [AST_FOR] = "for",
    [AST_WHILE] = "while",   [AST_WITH] = "with",     [AST_DEF] = "def",
    [AST_RETURN] = "return", [AST_ASSERT] = "assert", [AST_RAISE] = "raise",
    [AST_PASS] = "pass",     [AST_BREAK] = "break",   [AST_CONTINUE] = "continue",
    [AST_IMPORT] = "import",
};

static void put_list(struct text *t, const struct ast_expr *e) {
    text_puts(t, "[");
    for (; e; e = e->next) shape_of_expr(t, e);
    text_puts(t, "]");
}

static void put_name(struct text *t, const struct sym *name) {
    text_printf(t, " %s", name ? name->text : "-");
}

static void put_bytes(struct text *t, const struct sym *s) {
    text_puts(t, " \"");
    for (uint32_t i = 0; i < s->length; i++) text_printf(t, "%02x", (unsigned char)s->text[i]);
    text_puts(t, "\"");
}

static void put_parameters(struct text *t, const struct ast_parameter *q) {
    for (; q; q = q->next) {
        text_printf(t, " {%d%d", q->stars, q->keyword_only);
        put_name(t, q->name);
        shape_of_expr(t, q->annotation);
        shape_of_expr(t, q->preset);
        text_puts(t, "}");
    }
}

static void put_arguments(struct text *t, const struct ast_argument *a) {
    for (; a; a = a->next) {
        text_printf(t, " {%d", a->stars);
        put_name(t, a->keyword);
        shape_of_expr(t, a->value);
        text_puts(t, "}");
    }
}

static void put_slices(struct text *t, const struct ast_slice *s) {
    for (; s; s = s->next) {
        text_printf(t, " {%d", s->range);
        shape_of_expr(t, s->lo);
        shape_of_expr(t, s->hi);
        shape_of_expr(t, s->step);
        text_puts(t, "}");
    }
}

static void put_links(struct text *t, const struct ast_link *l) {
    for (; l; l = l->next) {
        text_printf(t, " %s", ast_operator_text(l->op));
        shape_of_expr(t, l->rhs);
    }
}

static void put_parts(struct text *t, const struct ast_expr *e) {
    switch (e->kind) {
    case AST_NAME: put_name(t, e->name); break;
    case AST_INTEGER: text_printf(t, " %lld", (long long)e->integer); break;
    case AST_FLOAT:
        text_puts(t, " ");
        text_double(t, e->number);
        break;
    case AST_STRING: put_bytes(t, e->string); break;
    case AST_FSTRING: put_list(t, e->parts); break;
    case AST_TUPLE:
    case AST_LIST:
    case AST_SET:
    case AST_STARRED: put_list(t, e->items); break;
    case AST_DICT:
        put_list(t, e->dict.keys);
        put_list(t, e->dict.values);
        break;
    case AST_UNARY:
        text_printf(t, " %s", ast_operator_text(e->unary.op));
        shape_of_expr(t, e->unary.operand);
        break;
    case AST_BINARY:
        text_printf(t, " %s", ast_operator_text(e->binary.op));
        shape_of_expr(t, e->binary.lhs);
        shape_of_expr(t, e->binary.rhs);
        break;
    case AST_COMPARE:
        shape_of_expr(t, e->compare.first);
        put_links(t, e->compare.rest);
        break;
    case AST_CHOICE:
        shape_of_expr(t, e->choice.test);
        shape_of_expr(t, e->choice.then);
        shape_of_expr(t, e->choice.otherwise);
        break;
    case AST_CALL:
        shape_of_expr(t, e->call.callee);
        put_arguments(t, e->call.arguments);
        break;
    case AST_INDEX:
        shape_of_expr(t, e->index.base);
        text_printf(t, " %d", e->index.tuple);
        put_slices(t, e->index.at);
        break;
    case AST_ATTRIBUTE:
        shape_of_expr(t, e->attribute.base);
        put_name(t, e->attribute.name);
        break;
    case AST_LAMBDA:
        put_parameters(t, e->lambda.parameters);
        shape_of_expr(t, e->lambda.body);
        break;
    case AST_COMPREHENSION:
        text_printf(t, " %c", e->comprehension.bracket);
        shape_of_expr(t, e->comprehension.item);
        shape_of_expr(t, e->comprehension.target);
        shape_of_expr(t, e->comprehension.source);
        shape_of_expr(t, e->comprehension.condition);
        break;
    default: break;
    }
}

void shape_of_expr(struct text *t, const struct ast_expr *e) {
    if (!e) {
        text_puts(t, " -");
        return;
    }
    text_printf(t, "(%s", expr_names[e->kind]);
    put_parts(t, e);
    text_puts(t, ")");
}

static void put_block(struct text *t, const struct ast_stmt *s);

static void put_def(struct text *t, const struct ast_def *d) {
    put_name(t, d->name);
    put_list(t, d->decorators);
    put_parameters(t, d->parameters);
    shape_of_expr(t, d->returns);
    put_block(t, d->body);
}

static void put_with(struct text *t, const struct ast_stmt *s) {
    for (const struct ast_with *w = s->with.items; w; w = w->next) {
        shape_of_expr(t, w->value);
        shape_of_expr(t, w->target);
    }
    put_block(t, s->with.body);
}

static void put_stmt(struct text *t, const struct ast_stmt *s) {
    text_printf(t, "(%s", stmt_names[s->kind]);
    switch (s->kind) {
    case AST_EXPR_STMT:
    case AST_RETURN:
    case AST_RAISE: shape_of_expr(t, s->value); break;
    case AST_ASSIGN:
        put_list(t, s->assign.targets);
        shape_of_expr(t, s->assign.value);
        break;
    case AST_AUGMENTED:
        text_printf(t, " %s", ast_operator_text(s->augmented.op));
        shape_of_expr(t, s->augmented.target);
        shape_of_expr(t, s->augmented.value);
        break;
    case AST_ANNOTATED:
        shape_of_expr(t, s->annotated.target);
        shape_of_expr(t, s->annotated.annotation);
        shape_of_expr(t, s->annotated.value);
        break;
    case AST_IF:
        shape_of_expr(t, s->branch.test);
        put_block(t, s->branch.then);
        put_block(t, s->branch.otherwise);
        break;
    case AST_FOR:
        shape_of_expr(t, s->loop.target);
        shape_of_expr(t, s->loop.source);
        put_block(t, s->loop.body);
        break;
    case AST_WHILE:
        shape_of_expr(t, s->repeat.test);
        put_block(t, s->repeat.body);
        break;
    case AST_WITH: put_with(t, s); break;
    case AST_DEF: put_def(t, s->def); break;
    case AST_ASSERT:
        shape_of_expr(t, s->assertion.test);
        shape_of_expr(t, s->assertion.message);
        break;
    case AST_IMPORT:
        put_name(t, s->import.module);
        put_name(t, s->import.as);
        break;
    case AST_PASS:
    case AST_BREAK:
    case AST_CONTINUE: break;
    }
    text_puts(t, ")\n");
}

static void put_block(struct text *t, const struct ast_stmt *s) {
    text_puts(t, " {\n");
    for (; s; s = s->next) put_stmt(t, s);
    text_puts(t, "}");
}

void shape_of_module(struct text *t, const struct ast_module *m) { put_block(t, m->body); }
