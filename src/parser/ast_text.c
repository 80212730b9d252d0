/* ast_text.c: prints the tree back as source that parses to the same tree. */
#include "ast.h"
#include "parser.h"
#include <math.h>
#include <string.h>

/* How tightly an expression binds; what is looser than its place gets parentheses. */
enum level {
    LEVEL_TEST,
    LEVEL_OR,
    LEVEL_AND,
    LEVEL_NOT,
    LEVEL_COMPARE,
    LEVEL_BITOR,
    LEVEL_BITXOR,
    LEVEL_BITAND,
    LEVEL_SHIFT,
    LEVEL_SUM,
    LEVEL_TERM,
    LEVEL_UNARY,
    LEVEL_POWER,
    LEVEL_PRIMARY
};

static const struct operator_row {
    const char *text;
    enum level level;
} operators[] = {
    [AST_ADD] = {"+", LEVEL_SUM},
    [AST_SUB] = {"-", LEVEL_SUM},
    [AST_MUL] = {"*", LEVEL_TERM},
    [AST_DIV] = {"/", LEVEL_TERM},
    [AST_FLOORDIV] = {"//", LEVEL_TERM},
    [AST_MOD] = {"%", LEVEL_TERM},
    [AST_POW] = {"**", LEVEL_POWER},
    [AST_MATMUL] = {"@", LEVEL_TERM},
    [AST_SHL] = {"<<", LEVEL_SHIFT},
    [AST_SHR] = {">>", LEVEL_SHIFT},
    [AST_BITAND] = {"&", LEVEL_BITAND},
    [AST_BITOR] = {"|", LEVEL_BITOR},
    [AST_BITXOR] = {"^", LEVEL_BITXOR},
    [AST_AND] = {"and", LEVEL_AND},
    [AST_OR] = {"or", LEVEL_OR},
    [AST_LT] = {"<", LEVEL_COMPARE},
    [AST_LE] = {"<=", LEVEL_COMPARE},
    [AST_GT] = {">", LEVEL_COMPARE},
    [AST_GE] = {">=", LEVEL_COMPARE},
    [AST_EQ] = {"==", LEVEL_COMPARE},
    [AST_NE] = {"!=", LEVEL_COMPARE},
    [AST_IS] = {"is", LEVEL_COMPARE},
    [AST_IS_NOT] = {"is not", LEVEL_COMPARE},
    [AST_IN] = {"in", LEVEL_COMPARE},
    [AST_NOT_IN] = {"not in", LEVEL_COMPARE},
    [AST_NEG] = {"-", LEVEL_UNARY},
    [AST_POS] = {"+", LEVEL_UNARY},
    [AST_INVERT] = {"~", LEVEL_UNARY},
    [AST_NOT] = {"not", LEVEL_NOT},
};

const char *ast_operator_text(enum ast_operator op) { return operators[op].text; }

static enum level level_of(const struct ast_expr *e) {
    switch (e->kind) {
    case AST_LAMBDA:
    case AST_CHOICE: return LEVEL_TEST;
    case AST_COMPARE: return LEVEL_COMPARE;
    case AST_UNARY: return operators[e->unary.op].level;
    case AST_BINARY: return operators[e->binary.op].level;
    default: return LEVEL_PRIMARY;
    }
}

struct printer {
    struct text *out;
    int quotes; /* index into quote_marks of the strings to be printed next */
};

static const char *const quote_marks[] = {"\"\"\"", "'''", "\"", "'"};

static void put_expr(const struct printer *p, const struct ast_expr *e, enum level place);

/* -- Strings
 * --------------------------------------------------------------------------------------- */

static int larger(int a, int b) { return a > b ? a : b; }

static int string_height(const struct ast_expr *e);

static int height_of_list(const struct ast_expr *e) {
    int height = 0;
    for (; e; e = e->next) height = larger(height, string_height(e));
    return height;
}

static int height_of_parameters(const struct ast_parameter *q) {
    int height = 0;
    for (; q; q = q->next) height = larger(height, q->preset ? string_height(q->preset) : 0);
    return height;
}

static int height_of_slices(const struct ast_slice *s) {
    int height = 0;
    for (; s; s = s->next) {
        if (s->lo) height = larger(height, string_height(s->lo));
        if (s->hi) height = larger(height, string_height(s->hi));
        if (s->step) height = larger(height, string_height(s->step));
    }
    return height;
}

/* How many kinds of quotes the strings in e need: an f-string needs one more than its parts. */
static int string_height(const struct ast_expr *e) {
    int height = 0;
    switch (e->kind) {
    case AST_STRING: return 1;
    case AST_FSTRING:
        for (const struct ast_expr *part = e->parts; part; part = part->next)
            if (part->kind != AST_STRING) height = larger(height, string_height(part));
        return height + 1;
    case AST_TUPLE:
    case AST_LIST:
    case AST_SET:
    case AST_STARRED: return height_of_list(e->items);
    case AST_DICT: return larger(height_of_list(e->dict.keys), height_of_list(e->dict.values));
    case AST_UNARY: return string_height(e->unary.operand);
    case AST_BINARY: return larger(string_height(e->binary.lhs), string_height(e->binary.rhs));
    case AST_COMPARE:
        height = string_height(e->compare.first);
        for (const struct ast_link *l = e->compare.rest; l; l = l->next)
            height = larger(height, string_height(l->rhs));
        return height;
    case AST_CHOICE:
        height = larger(string_height(e->choice.test), string_height(e->choice.then));
        return larger(height, string_height(e->choice.otherwise));
    case AST_CALL:
        height = string_height(e->call.callee);
        for (const struct ast_argument *a = e->call.arguments; a; a = a->next)
            height = larger(height, string_height(a->value));
        return height;
    case AST_INDEX: return larger(string_height(e->index.base), height_of_slices(e->index.at));
    case AST_ATTRIBUTE: return string_height(e->attribute.base);
    case AST_LAMBDA:
        return larger(height_of_parameters(e->lambda.parameters), string_height(e->lambda.body));
    case AST_COMPREHENSION:
        height =
            larger(string_height(e->comprehension.item), string_height(e->comprehension.source));
        if (e->comprehension.condition)
            height = larger(height, string_height(e->comprehension.condition));
        return larger(height, string_height(e->comprehension.target));
    default: return 0;
    }
}

/* Where one string stands in another (`inside`) its quotes are spelled as numbers, so that they
 * never end the one around it. */
static void put_character(struct text *t, unsigned char c, bool inside) {
    static const char from[] = "\n\t\\\"", to[] = "nt\\\"";
    const char *escape = strchr(from, c);
    bool quote = c == '"' || c == '\'';
    if (c < 0x20 && c != '\n' && c != '\t')
        text_printf(t, "\\x%02x", c);
    else if (c == 0x7f || (quote && inside))
        text_printf(t, "\\x%02x", c);
    else if (escape)
        text_printf(t, "\\%c", to[escape - from]);
    else
        text_printf(t, "%c", c);
}

static void put_string(const struct printer *p, const struct ast_expr *e) {
    text_puts(p->out, quote_marks[p->quotes]);
    for (uint32_t i = 0; i < e->string->length; i++)
        put_character(p->out, (unsigned char)e->string->text[i], p->quotes != 2);
    text_puts(p->out, quote_marks[p->quotes]);
}

static void put_fstring_text(const struct printer *p, const struct sym *s) {
    for (uint32_t i = 0; i < s->length; i++) {
        unsigned char c = (unsigned char)s->text[i];
        if (c == '{' || c == '}') text_printf(p->out, "%c", c);
        put_character(p->out, c, true);
    }
}

static bool needs_no_parentheses(enum ast_expr_kind k) {
    return k == AST_NAME || k == AST_INTEGER || k == AST_CALL || k == AST_INDEX ||
           k == AST_ATTRIBUTE;
}

static void put_fstring(const struct printer *p, const struct ast_expr *e) {
    text_printf(p->out, "f%s", quote_marks[p->quotes]);
    for (const struct ast_expr *part = e->parts; part; part = part->next) {
        if (part->kind == AST_STRING) {
            put_fstring_text(p, part->string);
            continue;
        }
        struct text inside = text_new(p->out->arena);
        put_expr(&(struct printer){&inside, p->quotes + 1}, part, LEVEL_TEST);
        bool bare = needs_no_parentheses(part->kind) && *inside.at != '{';
        text_printf(p->out, bare ? "{%s}" : "{(%s)}", inside.at);
    }
    text_puts(p->out, quote_marks[p->quotes]);
}

/* -- Expressions
 * ------------------------------------------------------------------------------------ */

static void put_items(const struct printer *p, const struct ast_expr *e) {
    for (; e; e = e->next) {
        put_expr(p, e, LEVEL_TEST);
        if (e->next) text_puts(p->out, ", ");
    }
}

static void put_tuple(const struct printer *p, const struct ast_expr *e) {
    put_items(p, e->items);
    if (e->items && !e->items->next) text_puts(p->out, ",");
}

static void put_parameters(const struct printer *p, const struct ast_parameter *q) {
    bool star_seen = false;
    for (; q; q = q->next) {
        if (q->keyword_only && !star_seen) text_puts(p->out, "*, ");
        star_seen = star_seen || q->keyword_only || q->stars == 1;
        text_printf(p->out, "%s%s", &"**"[2 - q->stars], q -> name -> text);
        if (q->annotation) {
            text_puts(p->out, ": ");
            put_expr(p, q->annotation, LEVEL_TEST);
        }
        if (q->preset) {
            text_puts(p->out, q->annotation ? " = " : "=");
            put_expr(p, q->preset, LEVEL_TEST);
        }
        if (q->next) text_puts(p->out, ", ");
    }
}

static void put_loop(const struct printer *p, const struct ast_expr *e) {
    const struct ast_expr *target = e->comprehension.target;
    put_expr(p, e->comprehension.item, LEVEL_TEST);
    text_puts(p->out, " for ");
    put_expr(p, target, LEVEL_BITOR);
    text_puts(p->out, " in ");
    put_expr(p, e->comprehension.source, LEVEL_OR);
    if (!e->comprehension.condition) return;
    text_puts(p->out, " if ");
    put_expr(p, e->comprehension.condition, LEVEL_OR);
}

static void put_arguments(const struct printer *p, const struct ast_argument *a) {
    if (a && !a->next && !a->keyword && !a->stars && a->value->kind == AST_COMPREHENSION &&
        a->value->comprehension.bracket == '(') {
        put_loop(p, a->value);
        return;
    }
    for (; a; a = a->next) {
        text_puts(p->out, &"**"[2 - a->stars]);
        if (a->keyword) text_printf(p->out, "%s=", a->keyword->text);
        put_expr(p, a->value, LEVEL_TEST);
        if (a->next) text_puts(p->out, ", ");
    }
}

static void put_slice(const struct printer *p, const struct ast_slice *s) {
    if (s->lo) put_expr(p, s->lo, LEVEL_TEST);
    if (!s->range) return;
    text_puts(p->out, ":");
    if (s->hi) put_expr(p, s->hi, LEVEL_TEST);
    if (!s->step) return;
    text_puts(p->out, ":");
    put_expr(p, s->step, LEVEL_TEST);
}

static void put_index(const struct printer *p, const struct ast_expr *e) {
    put_expr(p, e->index.base, LEVEL_PRIMARY);
    text_puts(p->out, "[");
    for (const struct ast_slice *s = e->index.at; s; s = s->next) {
        put_slice(p, s);
        if (s->next) text_puts(p->out, ", ");
    }
    if (e->index.tuple && e->index.at && !e->index.at->next) text_puts(p->out, ",");
    text_puts(p->out, "]");
}

static void put_dict(const struct printer *p, const struct ast_expr *e) {
    const struct ast_expr *key = e->dict.keys, *value = e->dict.values;
    text_puts(p->out, "{");
    for (; key; key = key->next, value = value->next) {
        put_expr(p, key, LEVEL_TEST);
        text_puts(p->out, ": ");
        put_expr(p, value, LEVEL_TEST);
        if (key->next) text_puts(p->out, ", ");
    }
    text_puts(p->out, "}");
}

static void put_binary(const struct printer *p, const struct ast_expr *e) {
    enum level level = operators[e->binary.op].level;
    bool power = e->binary.op == AST_POW; /* groups to the right, its exponent takes a sign */
    put_expr(p, e->binary.lhs, power ? LEVEL_PRIMARY : level);
    text_printf(p->out, power ? "%s" : " %s ", operators[e->binary.op].text);
    put_expr(p, e->binary.rhs, power ? LEVEL_UNARY : (enum level)(level + 1));
}

static void put_compare(const struct printer *p, const struct ast_expr *e) {
    put_expr(p, e->compare.first, LEVEL_BITOR);
    for (const struct ast_link *l = e->compare.rest; l; l = l->next) {
        text_printf(p->out, " %s ", operators[l->op].text);
        put_expr(p, l->rhs, LEVEL_BITOR);
    }
}

static void put_choice(const struct printer *p, const struct ast_expr *e) {
    put_expr(p, e->choice.then, LEVEL_OR);
    text_puts(p->out, " if ");
    put_expr(p, e->choice.test, LEVEL_OR);
    text_puts(p->out, " else ");
    put_expr(p, e->choice.otherwise, LEVEL_TEST);
}

static void put_bracketed(const struct printer *p, const struct ast_expr *e) {
    char open = e->kind == AST_TUPLE ? '(' : e->kind == AST_LIST ? '[' : '{';
    if (e->kind == AST_COMPREHENSION) open = e->comprehension.bracket;
    text_printf(p->out, "%c", open);
    if (e->kind == AST_COMPREHENSION)
        put_loop(p, e);
    else if (e->kind == AST_TUPLE)
        put_tuple(p, e);
    else
        put_items(p, e->items);
    text_puts(p->out, open == '(' ? ")" : open == '[' ? "]" : "}");
}

static void put_number(const struct printer *p, const struct ast_expr *e) {
    if (e->kind == AST_INTEGER)
        text_printf(p->out, "%lld", (long long)e->integer);
    else if (isinf(e->number))
        text_puts(p->out, "1e999");
    else
        text_double(p->out, e->number);
}

/* A flat switch: one row a kind. */
static void put_bare(const struct printer *p, const struct ast_expr *e) {
    switch (e->kind) {
    case AST_BAD: text_puts(p->out, "<bad>"); break;
    case AST_NAME: text_puts(p->out, e->name->text); break;
    case AST_INTEGER:
    case AST_FLOAT: put_number(p, e); break;
    case AST_STRING: put_string(p, e); break;
    case AST_FSTRING: put_fstring(p, e); break;
    case AST_TRUE: text_puts(p->out, "True"); break;
    case AST_FALSE: text_puts(p->out, "False"); break;
    case AST_NONE: text_puts(p->out, "None"); break;
    case AST_ELLIPSIS: text_puts(p->out, "..."); break;
    case AST_TUPLE:
    case AST_LIST:
    case AST_SET:
    case AST_COMPREHENSION: put_bracketed(p, e); break;
    case AST_DICT: put_dict(p, e); break;
    case AST_UNARY:
        text_printf(p->out, "%s%s", operators[e->unary.op].text, e->unary.op == AST_NOT ? " " : "");
        put_expr(p, e->unary.operand, operators[e->unary.op].level);
        break;
    case AST_BINARY: put_binary(p, e); break;
    case AST_COMPARE: put_compare(p, e); break;
    case AST_CHOICE: put_choice(p, e); break;
    case AST_CALL:
        put_expr(p, e->call.callee, LEVEL_PRIMARY);
        text_puts(p->out, "(");
        put_arguments(p, e->call.arguments);
        text_puts(p->out, ")");
        break;
    case AST_INDEX: put_index(p, e); break;
    case AST_ATTRIBUTE: {
        bool number =
            e->attribute.base->kind == AST_INTEGER || e->attribute.base->kind == AST_FLOAT;
        text_puts(p->out, number ? "(" : "");
        put_expr(p, e->attribute.base, LEVEL_PRIMARY);
        text_printf(p->out, "%s.%s", number ? ")" : "", e->attribute.name->text);
        break;
    }
    case AST_LAMBDA:
        text_puts(p->out, e->lambda.parameters ? "lambda " : "lambda");
        put_parameters(p, e->lambda.parameters);
        text_puts(p->out, ": ");
        put_expr(p, e->lambda.body, LEVEL_TEST);
        break;
    case AST_STARRED:
        text_puts(p->out, "*");
        put_expr(p, e->items, LEVEL_BITOR);
        break;
    }
}

static void put_expr(const struct printer *p, const struct ast_expr *e, enum level place) {
    bool parentheses = level_of(e) < place;
    if (parentheses) text_puts(p->out, "(");
    put_bare(p, e);
    if (parentheses) text_puts(p->out, ")");
}

/* Quotes are chosen so that those of the innermost string are left. */
static struct printer printer_for(struct text *t, const struct ast_expr *e) {
    int height = string_height(e);
    return (struct printer){t, height <= 2 ? 2 : height == 3 ? 1 : 0};
}

void ast_expr_print(struct text *t, const struct ast_expr *e) {
    struct printer p = printer_for(t, e);
    put_expr(&p, e, LEVEL_TEST);
}

/* -- Statements
 * --------------------------------------------------------------------------------------- */

/* Where a tuple needs no parentheses. */
static void put_value(struct text *t, const struct ast_expr *e) {
    struct printer p = printer_for(t, e);
    if (e->kind == AST_TUPLE && e->items)
        put_tuple(&p, e);
    else
        put_expr(&p, e, LEVEL_TEST);
}

static void put_stmt(struct text *t, const struct ast_stmt *s);

static void put_block(struct text *t, const struct ast_stmt *s) {
    text_puts(t, ":\n");
    t->indent++;
    if (!s) text_puts(t, "pass\n");
    for (; s; s = s->next) put_stmt(t, s);
    t->indent--;
}

static void put_else(struct text *t, const struct ast_stmt *s) {
    if (!s) return;
    text_puts(t, "else");
    put_block(t, s);
}

static void put_if(struct text *t, const struct ast_stmt *s) {
    const char *word = "if ";
    do {
        text_puts(t, word);
        ast_expr_print(t, s->branch.test);
        put_block(t, s->branch.then);
        s = s->branch.otherwise;
        word = "elif ";
    } while (s && s->kind == AST_IF && !s->next);
    put_else(t, s);
}

static void put_for(struct text *t, const struct ast_stmt *s) {
    const struct ast_expr *target = s->loop.target;
    struct printer p = printer_for(t, target);
    text_puts(t, "for ");
    if (target->kind == AST_TUPLE && target->items && target->items->next)
        put_items(&p, target->items);
    else
        put_expr(&p, target, LEVEL_BITOR);
    text_puts(t, " in ");
    put_value(t, s->loop.source);
    put_block(t, s->loop.body);
    put_else(t, s->loop.otherwise);
}

static void put_with(struct text *t, const struct ast_stmt *s) {
    text_puts(t, "with ");
    for (const struct ast_with *w = s->with.items; w; w = w->next) {
        ast_expr_print(t, w->value);
        if (w->target) {
            struct printer p = printer_for(t, w->target);
            text_puts(t, " as ");
            put_expr(&p, w->target, LEVEL_BITOR);
        }
        if (w->next) text_puts(t, ", ");
    }
    put_block(t, s->with.body);
}

static void put_def(struct text *t, const struct ast_def *d) {
    for (const struct ast_expr *e = d->decorators; e; e = e->next) {
        text_puts(t, "@");
        ast_expr_print(t, e);
        text_puts(t, "\n");
    }
    int height = height_of_parameters(d->parameters);
    struct printer p = {t, height <= 2 ? 2 : height == 3 ? 1 : 0};
    text_printf(t, "def %s(", d->name->text);
    put_parameters(&p, d->parameters);
    text_puts(t, ")");
    if (d->returns) {
        text_puts(t, " -> ");
        ast_expr_print(t, d->returns);
    }
    put_block(t, d->body);
}

static void put_word(struct text *t, const char *word, const struct ast_expr *value) {
    text_puts(t, word);
    if (!value) return;
    text_puts(t, " ");
    put_value(t, value);
}

static void put_import(struct text *t, const struct ast_stmt *s) {
    const char *module = s->import.module->text, *dot = strrchr(module, '.');
    if (dot && !strcmp(dot, ".*"))
        text_printf(t, "from %.*s import *", (int)(dot - module), module);
    else
        text_printf(t, "import %s", module);
    if (s->import.as) text_printf(t, " as %s", s->import.as->text);
}

static void put_assign(struct text *t, const struct ast_stmt *s) {
    for (const struct ast_expr *e = s->assign.targets; e; e = e->next) {
        put_value(t, e);
        text_puts(t, " = ");
    }
    put_value(t, s->assign.value);
}

static void put_annotated(struct text *t, const struct ast_stmt *s) {
    ast_expr_print(t, s->annotated.target);
    text_puts(t, ": ");
    ast_expr_print(t, s->annotated.annotation);
    if (!s->annotated.value) return;
    text_puts(t, " = ");
    put_value(t, s->annotated.value);
}

static void put_assert(struct text *t, const struct ast_stmt *s) {
    text_puts(t, "assert ");
    ast_expr_print(t, s->assertion.test);
    if (!s->assertion.message) return;
    text_puts(t, ", ");
    ast_expr_print(t, s->assertion.message);
}

/* Statements that end with a block, which ends its own lines; false for the others. */
static bool put_compound(struct text *t, const struct ast_stmt *s) {
    switch (s->kind) {
    case AST_IF: put_if(t, s); return true;
    case AST_FOR: put_for(t, s); return true;
    case AST_WHILE:
        put_word(t, "while", s->repeat.test);
        put_block(t, s->repeat.body);
        return true;
    case AST_WITH: put_with(t, s); return true;
    case AST_DEF: put_def(t, s->def); return true;
    default: return false;
    }
}

static void put_stmt(struct text *t, const struct ast_stmt *s) {
    if (put_compound(t, s)) return;
    switch (s->kind) {
    case AST_EXPR_STMT: put_value(t, s->value); break;
    case AST_ASSIGN: put_assign(t, s); break;
    case AST_AUGMENTED:
        put_value(t, s->augmented.target);
        text_printf(t, " %s= ", operators[s->augmented.op].text);
        put_value(t, s->augmented.value);
        break;
    case AST_ANNOTATED: put_annotated(t, s); break;
    case AST_RETURN: put_word(t, "return", s->value); break;
    case AST_RAISE: put_word(t, "raise", s->value); break;
    case AST_ASSERT: put_assert(t, s); break;
    case AST_PASS: text_puts(t, "pass"); break;
    case AST_BREAK: text_puts(t, "break"); break;
    case AST_CONTINUE: text_puts(t, "continue"); break;
    case AST_IMPORT: put_import(t, s); break;
    default: break;
    }
    text_puts(t, "\n");
}

void ast_print(struct text *t, const struct ast_module *m) {
    for (const struct ast_stmt *s = m->body; s; s = s->next) {
        bool apart = s->kind == AST_DEF;
        if (apart && s != m->body) text_puts(t, "\n");
        put_stmt(t, s);
        if (apart && s->next && s->next->kind != AST_DEF) text_puts(t, "\n");
    }
}
