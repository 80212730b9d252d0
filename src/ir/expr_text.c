/* expr_text.c: expressions as text, and back.
 *
 * Fully parenthesised infix; a type stands behind a literal (`1.5:f16`) and in front of a
 * conversion (`f32(x)`); INDEX literals have none. The reader builds the very nodes it reads and
 * does not simplify, so that a text survives a round trip. */
#include "ir/expr.h"
#include "ir/internal.h"
#include "ir/kernel.h"
#include <stdlib.h>
#include <string.h>

/* -- names
 * ----------------------------------------------------------------------------------------- */
struct name_table {
    struct arena *arena;
    struct interns *names;
    VEC(const char *) vars;   /* by id */
    VEC(const char *) arrays; /* by id */
    VEC(const struct buffer *) buffers;
    VEC(const char *) buffer_names;
    VEC(bool) taken; /* by symbol id */
};

struct name_table *name_table_new(struct arena *a, struct interns *names) {
    struct name_table *n = arena_make(a, struct name_table);
    n->arena = a;
    n->names = names;
    return n;
}

static bool reserved(const char *name) {
    static const char *const words[] = {"true", "false", "inf", "nan", "and", "or", "select"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(name, words[i])) return true;
    return dtype_find(name) != DTYPE_NONE;
}

static bool take(struct name_table *n, const struct sym *s) {
    while ((uint32_t)n->taken.count <= s->id) vec_push(n->arena, &n->taken, false);
    if (n->taken.at[s->id] || reserved(s->text)) return false;
    return n->taken.at[s->id] = true;
}

static const char *unique(struct name_table *n, const struct sym *base) {
    const struct sym *s = base;
    for (int i = 1; !take(n, s); i++)
        s = intern_text(n->names, arena_printf(n->arena, "%s_%d", base->text, i));
    return s->text;
}

const char *name_of_var(struct name_table *n, const struct var *v) {
    while (n->vars.count <= v->id) vec_push(n->arena, &n->vars, NULL);
    if (!n->vars.at[v->id]) n->vars.at[v->id] = unique(n, v->name);
    return n->vars.at[v->id];
}

const char *name_of_array(struct name_table *n, const struct array *a) {
    while (n->arrays.count <= a->id) vec_push(n->arena, &n->arrays, NULL);
    if (!n->arrays.at[a->id]) n->arrays.at[a->id] = unique(n, a->name);
    return n->arrays.at[a->id];
}

const char *name_of_buffer(struct name_table *n, const struct buffer *b) {
    for (int i = 0; i < n->buffers.count; i++)
        if (n->buffers.at[i] == b) return n->buffer_names.at[i];
    vec_push(n->arena, &n->buffers, b);
    vec_push(n->arena, &n->buffer_names, unique(n, b->name));
    return n->buffer_names.at[n->buffer_names.count - 1];
}

/* -- printing
 * -------------------------------------------------------------------------------------- */
static void print(struct text *t, const struct expr *e, struct name_table *n);

static void print_list(struct text *t, const struct expr *e, struct name_table *n) {
    for (int i = 0; i < e->count; i++) {
        if (i) text_puts(t, ", ");
        print(t, e->args[i], n);
    }
}

/* The type an operation has by its row; SPECIAL rows have none and always state it. */
static enum dtype usual_type(enum function fn, const struct expr *first) {
    switch (function_row(fn)->types) {
    case TYPES_COMPARE:
    case TYPES_LOGIC:
    case TYPES_TEST: return DTYPE_BOOL;
    case TYPES_SPECIAL: return DTYPE_NONE;
    default: return first->dtype;
    }
}

static void print_op(struct text *t, const struct expr *e, struct name_table *n) {
    const struct function_row *row = function_row(e->fn);
    bool typed = usual_type(e->fn, e->args[0]) != e->dtype;
    if ((row->flags & FLAG_INFIX) && !typed) {
        text_puts(t, "(");
        print(t, e->args[0], n);
        text_printf(t, " %s ", row->name);
        print(t, e->args[1], n);
        text_puts(t, ")");
        return;
    }
    if (typed)
        text_printf(t, "`%s`:%s(", row->name, dtype_letter(e->dtype));
    else
        text_printf(t, "%s(", row->name);
    print_list(t, e, n);
    text_puts(t, ")");
}

static void print_leaf(struct text *t, const struct expr *e, struct name_table *n) {
    switch (e->kind) {
    case EXPR_INT:
        if (e->dtype == DTYPE_BOOL)
            text_puts(t, e->integer ? "true" : "false");
        else
            text_printf(t, "%lld", (long long)e->integer);
        if (e->dtype != DTYPE_INDEX && e->dtype != DTYPE_BOOL)
            text_printf(t, ":%s", dtype_letter(e->dtype));
        break;
    case EXPR_FLOAT:
        text_double(t, e->number);
        text_printf(t, ":%s", dtype_letter(e->dtype));
        break;
    default: text_puts(t, n ? name_of_var(n, e->var) : e->var->name->text); break;
    }
}

static void print(struct text *t, const struct expr *e, struct name_table *n) {
    switch (e->kind) {
    case EXPR_INT:
    case EXPR_FLOAT:
    case EXPR_VAR: print_leaf(t, e, n); return;
    case EXPR_OP: print_op(t, e, n); return;
    case EXPR_CAST: text_printf(t, "%s(", dtype_letter(e->dtype)); break;
    case EXPR_SELECT: text_puts(t, "select("); break;
    case EXPR_LOAD:
        text_printf(t, "%s[", n ? name_of_buffer(n, e->buffer) : e->buffer->name->text);
        print_list(t, e, n);
        text_puts(t, "]");
        return;
    case EXPR_ELEMENT:
        text_printf(t, "%s{", n ? name_of_array(n, e->array) : e->array->name->text);
        print_list(t, e, n);
        text_printf(t, "}%s%s", e->dtype != e->array->dtype ? ":" : "",
                    e->dtype != e->array->dtype ? dtype_letter(e->dtype) : "");
        return;
    }
    print_list(t, e, n);
    text_puts(t, ")");
}

void expr_print(struct text *t, const struct expr *e) { print(t, e, NULL); }
void expr_print_named(struct text *t, const struct expr *e, struct name_table *n) {
    print(t, e, n);
}

/* -- types of variables
 * ---------------------------------------------------------------------------- */
static void print_bound(struct text *t, int64_t bound) {
    if (bound == INT64_MIN || bound == INT64_MAX)
        text_puts(t, "*");
    else
        text_printf(t, "%lld", (long long)bound);
}

void var_print_type(struct text *t, const struct var *v) {
    struct interval whole = interval_type(v->dtype);
    text_printf(t, ":%s", dtype_letter(v->dtype));
    if (v->lo != whole.lo || v->hi != whole.hi) {
        text_puts(t, "[");
        print_bound(t, v->lo);
        text_puts(t, ",");
        print_bound(t, v->hi);
        text_puts(t, "]");
    }
    if (v->divisor != 1) text_printf(t, "/%lld", (long long)v->divisor);
    if (v->unrolled) text_puts(t, "!");
}

static bool read_bound(struct cursor *c, int64_t unbounded, int64_t *bound) {
    if (cursor_take(c, "*"))
        *bound = unbounded;
    else if (!cursor_integer(c, bound))
        return false;
    return true;
}

static enum dtype read_dtype(struct cursor *c) {
    const char *word = cursor_word(c);
    enum dtype t = word ? dtype_find(word) : DTYPE_NONE;
    if (t == DTYPE_NONE) cursor_fail(c, "an element type is expected here");
    return t;
}

bool var_read_type(struct cursor *c, struct var *v) {
    if (!cursor_expect(c, ":") || (v->dtype = read_dtype(c)) == DTYPE_NONE) return false;
    struct interval whole = interval_type(v->dtype);
    v->lo = whole.lo;
    v->hi = whole.hi;
    v->divisor = 1;
    if (cursor_take(c, "[") && (!read_bound(c, INT64_MIN, &v->lo) || !cursor_expect(c, ",") ||
                                !read_bound(c, INT64_MAX, &v->hi) || !cursor_expect(c, "]")))
        return false;
    if (cursor_take(c, "/") && !cursor_integer(c, &v->divisor)) return false;
    v->unrolled = cursor_take(c, "!");
    return !c->error;
}

/* -- reading
 * --------------------------------------------------------------------------------------- */
enum { ARGUMENTS = 6, DEPTH = 2000 };

struct reader {
    struct cursor *c;
    const struct expr_names *names;
    int depth;
};

static struct expr *read(struct reader *r);

/* Expressions up to `close`. -1 after an error. */
static int read_list(struct reader *r, const char *close, struct expr **args) {
    int count = 0;
    if (cursor_take(r->c, close)) return 0;
    do {
        if (count == ARGUMENTS) return cursor_fail(r->c, "too many arguments"), -1;
        if (!(args[count++] = read(r))) return -1;
    } while (cursor_take(r->c, ","));
    return cursor_expect(r->c, close) ? count : -1;
}

static struct expr *node(struct reader *r, struct expr shape) {
    return expr_raw(r->names->exprs, &shape);
}

static struct expr *fail(struct reader *r, const char *what, const char *name) {
    cursor_fail(r->c, "%s '%s'", what, name);
    return NULL;
}

static struct expr *make_op(struct reader *r, int fn, enum dtype t, int count, struct expr **args) {
    if (fn < 0 || count != function_row((enum function)fn)->arity) {
        cursor_fail(r->c, "no such function with %d arguments", count);
        return NULL;
    }
    if (t == DTYPE_NONE) t = usual_type((enum function)fn, args[0]);
    if (t == DTYPE_NONE)
        return fail(r, "no result type for", function_row((enum function)fn)->name);
    return expr_raw_op(r->names->exprs, (enum function)fn, t, count, args);
}

/* `name`:type(arguments): an operation whose type its row does not give. */
static struct expr *read_typed(struct reader *r) {
    const char *from = r->c->at;
    while (r->c->at < r->c->end && *r->c->at != '`') r->c->at++;
    const char *name = arena_strndup(r->c->arena, from, (size_t)(r->c->at - from));
    struct expr *args[ARGUMENTS];
    if (!cursor_expect(r->c, "`") || !cursor_expect(r->c, ":")) return NULL;
    enum dtype t = read_dtype(r->c);
    if (t == DTYPE_NONE || !cursor_expect(r->c, "(")) return NULL;
    int count = read_list(r, ")", args);
    return count < 0 ? NULL : make_op(r, function_find(name), t, count, args);
}

static int read_operator(struct cursor *c) {
    static const enum function longest_first[] = {
        FN_FLOORDIV, FN_SHL, FN_SHR,      FN_LE,  FN_EQ, FN_NE,  FN_LT,   FN_ADD, FN_SUB,
        FN_MUL,      FN_DIV, FN_FLOORMOD, FN_AND, FN_OR, FN_XOR, FN_LAND, FN_LOR};
    for (size_t i = 0; i < sizeof longest_first / sizeof *longest_first; i++)
        if (cursor_take(c, function_row(longest_first[i])->name)) return (int)longest_first[i];
    cursor_fail(c, "an operator is expected here");
    return -1;
}

static struct expr *read_infix(struct reader *r) {
    struct expr *args[2];
    args[0] = read(r);
    if (!args[0] || cursor_take(r->c, ")")) return args[0];
    int fn = read_operator(r->c);
    args[1] = fn < 0 ? NULL : read(r);
    if (!args[1] || !cursor_expect(r->c, ")")) return NULL;
    return make_op(r, fn, DTYPE_NONE, 2, args);
}

/* After "name(": a conversion, a choice or a function. */
static struct expr *read_call(struct reader *r, const char *name) {
    struct expr *args[ARGUMENTS];
    int count = read_list(r, ")", args);
    if (count < 0) return NULL;
    enum dtype t = dtype_find(name);
    if (t != DTYPE_NONE && count == 1)
        return node(r, (struct expr){.kind = EXPR_CAST, .dtype = t, .count = 1, .args = args});
    if (!strcmp(name, "select") && count == 3)
        return node(r, (struct expr){
                           .kind = EXPR_SELECT, .dtype = args[1]->dtype, .count = 3, .args = args});
    return make_op(r, function_find(name), DTYPE_NONE, count, args);
}

static struct expr *read_load(struct reader *r, const char *name) {
    struct expr *args[ARGUMENTS];
    int count = read_list(r, "]", args);
    struct buffer *b = r->names->buffer ? r->names->buffer(r->names->data, name) : NULL;
    if (count < 0) return NULL;
    if (!b) return fail(r, "no buffer", name);
    struct expr shape = {.kind = EXPR_LOAD, .dtype = b->dtype, .count = count, .args = args};
    shape.buffer = b;
    return node(r, shape);
}

static struct expr *read_element(struct reader *r, const char *name) {
    struct expr *index = read(r);
    struct array *a = r->names->array ? r->names->array(r->names->data, name) : NULL;
    if (!index || !cursor_expect(r->c, "}")) return NULL;
    if (!a) return fail(r, "no array", name);
    struct expr shape = {.kind = EXPR_ELEMENT, .dtype = a->dtype, .count = 1, .args = &index};
    shape.array = a;
    if (cursor_take(r->c, ":") && (shape.dtype = read_dtype(r->c)) == DTYPE_NONE) return NULL;
    return node(r, shape);
}

static struct expr *read_number(struct reader *r) {
    char *integer_end;
    const char *at = r->c->at;
    strtoll(at, &integer_end, 10);
    bool is_float =
        integer_end == at || (integer_end < r->c->end && strchr(".eEinp", *integer_end));
    double number;
    int64_t integer;
    if (!is_float) {
        if (!cursor_integer(r->c, &integer)) return NULL;
        enum dtype t = cursor_take(r->c, ":") ? read_dtype(r->c) : DTYPE_INDEX;
        return t == DTYPE_NONE ? NULL : expr_int(r->names->exprs, integer, t);
    }
    if (!cursor_number(r->c, &number) || !cursor_expect(r->c, ":")) return NULL;
    enum dtype t = read_dtype(r->c);
    return t == DTYPE_NONE ? NULL : expr_float(r->names->exprs, number, t);
}

static struct expr *read_named(struct reader *r) {
    const char *name = cursor_word(r->c);
    if (!name) {
        cursor_fail(r->c, "an expression is expected here");
        return NULL;
    }
    if (!strcmp(name, "true") || !strcmp(name, "false"))
        return expr_bool(r->names->exprs, *name == 't');
    bool called = r->c->at < r->c->end && strchr("([{", *r->c->at); /* "x {" opens a block */
    if (called && cursor_take(r->c, "(")) return read_call(r, name);
    if (called && cursor_take(r->c, "[")) return read_load(r, name);
    if (called && cursor_take(r->c, "{")) return read_element(r, name);
    struct var *v = r->names->var(r->names->data, name);
    return v ? expr_var(r->names->exprs, v) : fail(r, "no variable", name);
}

static bool at_number(struct cursor *c) {
    cursor_blank(c);
    if (c->at >= c->end) return false;
    if ((*c->at >= '0' && *c->at <= '9') || *c->at == '-') return true;
    return cursor_at(c, "inf:") || cursor_at(c, "nan:");
}

static struct expr *read(struct reader *r) {
    if (r->depth >= DEPTH) {
        cursor_fail(r->c, "the expression nests deeper than %d", DEPTH);
        return NULL;
    }
    r->depth++;
    struct expr *e;
    if (cursor_take(r->c, "("))
        e = read_infix(r);
    else if (cursor_take(r->c, "`"))
        e = read_typed(r);
    else if (at_number(r->c))
        e = read_number(r);
    else
        e = read_named(r);
    r->depth--;
    return r->c->error ? NULL : e;
}

struct expr *expr_read(struct cursor *c, const struct expr_names *names) {
    struct reader r = {c, names, 0};
    return read(&r);
}
