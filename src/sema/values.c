/* values.c: compile-time values: making, comparing, naming and printing them. */
#include "sema/state.h"
#include <math.h>

/* -- Making -------------------------------------------------------------------------------------
 */

struct value value_bad(void) {
    return (struct value){.kind = VALUE_BAD};
}
struct value value_none(void) {
    return (struct value){.kind = VALUE_NONE};
}
struct value value_bool(bool b) {
    return (struct value){.kind = VALUE_BOOL, .boolean = b};
}
struct value value_int(int64_t i) {
    return (struct value){.kind = VALUE_INT, .integer = i};
}
struct value value_float(double f) {
    return (struct value){.kind = VALUE_FLOAT, .number = f};
}
struct value value_dtype(enum dtype t) {
    return (struct value){.kind = VALUE_DTYPE, .dtype = t};
}
struct value value_ir(struct expr *e) {
    return e ? (struct value){.kind = VALUE_IR, .expr = e} : value_bad();
}
struct value value_buffer(struct buffer *b) {
    return b ? (struct value){.kind = VALUE_BUFFER, .buffer = b} : value_bad();
}
struct value value_string(struct sema *s, const char *text) {
    return (struct value){.kind = VALUE_STRING, .string = intern_text(s->names, text)};
}

struct value value_sequence(struct sema *s, enum value_kind kind, int count,
                            const struct value *items) {
    struct value v = {.kind = kind, .sequence = arena_make(s->arena, struct sequence)};
    v.sequence->made = evaluator_of(s)->clock;
    for (int i = 0; i < count; i++) vec_push(s->arena, &v.sequence->items, items[i]);
    return v;
}

void sequence_push(struct sema *s, struct value list, struct value item) {
    sema_charge(s, 1);
    if (list.sequence->items.count < SEMA_ITEMS)
        vec_push(s->arena, &list.sequence->items, item);
    else
        sema_stop(s, (struct span){0, 0}, "a list grew beyond %d items", SEMA_ITEMS);
}

/* -- Kinds --------------------------------------------------------------------------------------
 */

bool value_is_bad(struct value v) { return v.kind == VALUE_BAD; }

bool value_is_number(struct value v) {
    return v.kind == VALUE_BOOL || v.kind == VALUE_INT || v.kind == VALUE_FLOAT;
}

bool value_is_scalar_ir(struct value v) {
    if (v.kind == VALUE_ACCESS) {
        for (int i = 0; i < v.subscript->count; i++)
            if (v.subscript->range[i]) return false;
        return true;
    }
    return v.kind == VALUE_IR || v.kind == VALUE_VAR || v.kind == VALUE_REF;
}

/* Lists may share and even hold themselves: walks over them stop at a depth and a number of items.
 */
enum { WALK_DEPTH = 64, WALK_ITEMS = 1 << 18 };

static bool is_static(struct value v, int depth, int *budget) {
    if (depth > WALK_DEPTH || --*budget < 0) return true;
    switch (v.kind) {
    case VALUE_IR:
    case VALUE_VAR:
    case VALUE_REF:
    case VALUE_BUFFER:
    case VALUE_ACCESS:
    case VALUE_ITERATOR:
    case VALUE_LAUNCH: return false;
    case VALUE_TUPLE:
    case VALUE_LIST:
        for (int i = 0; i < v.sequence->items.count; i++)
            if (!is_static(v.sequence->items.at[i], depth + 1, budget)) return false;
        return true;
    default: return true;
    }
}

bool value_is_static(struct value v) {
    int budget = WALK_ITEMS;
    return is_static(v, 0, &budget);
}

int64_t value_as_int(struct value v) { return v.kind == VALUE_BOOL ? v.boolean : v.integer; }

double value_as_double(struct value v) {
    return v.kind == VALUE_FLOAT ? v.number : (double)value_as_int(v);
}

const char *value_a_kind(struct value v) {
    static const char *const names[] = {
        [VALUE_ABSENT] = "nothing",
        [VALUE_BAD] = "a faulty value",
        [VALUE_NONE] = "None",
        [VALUE_BOOL] = "a bool",
        [VALUE_INT] = "an int",
        [VALUE_FLOAT] = "a float",
        [VALUE_STRING] = "a string",
        [VALUE_ELLIPSIS] = "'...'",
        [VALUE_DTYPE] = "a dtype",
        [VALUE_TUPLE] = "a tuple",
        [VALUE_LIST] = "a list",
        [VALUE_DICT] = "a dict",
        [VALUE_SLICE] = "a slice",
        [VALUE_FUNCTION] = "a function",
        [VALUE_MACRO] = "a macro",
        [VALUE_PRIM_FUNC] = "a prim_func",
        [VALUE_EAGER] = "an eager kernel",
        [VALUE_INSTANCE] = "a kernel instance",
        [VALUE_BUILTIN] = "a built-in function",
        [VALUE_METHOD] = "a method",
        [VALUE_MODULE] = "a module",
        [VALUE_TENSOR_TYPE] = "a tensor type",
        [VALUE_POLICY] = "a warp policy",
        [VALUE_IR] = "a device expression",
        [VALUE_VAR] = "a device variable",
        [VALUE_REF] = "a reference",
        [VALUE_BUFFER] = "a buffer",
        [VALUE_ACCESS] = "a buffer access",
        [VALUE_ITERATOR] = "a loop iterator",
        [VALUE_LAUNCH] = "a T.Kernel launch",
        [VALUE_LAYOUT] = "a layout",
    };
    return names[v.kind];
}

const char *value_kind_name(struct value v) {
    const char *name = value_a_kind(v);
    return !strncmp(name, "a ", 2) ? name + 2 : !strncmp(name, "an ", 3) ? name + 3 : name;
}

/* -- Comparing ------------------------------------------------------------------------------------
 */

/* A dtype, or a string that names one: T.float16 == "float16" == "half". */
static bool dtype_or_name(struct value v, enum dtype *out) {
    if (v.kind == VALUE_DTYPE)
        *out = v.dtype;
    else if (v.kind == VALUE_STRING)
        *out = dtype_find(v.string->text);
    else
        return false;
    return *out != DTYPE_NONE;
}

static bool equal(struct value a, struct value b, int depth, int *budget);

static bool sequence_equal(const struct sequence *a, const struct sequence *b, int depth,
                           int *budget) {
    if (a->items.count != b->items.count) return false;
    for (int i = 0; i < a->items.count; i++)
        if (!equal(a->items.at[i], b->items.at[i], depth, budget)) return false;
    return true;
}

static bool dict_equal(const struct dict *a, const struct dict *b, int depth, int *budget) {
    if (a->keys.count != b->keys.count) return false;
    for (int i = 0; i < a->keys.count; i++) {
        int at = dict_find(b, a->keys.at[i]);
        if (at < 0 || !equal(a->values.at[i], b->values.at[at], depth, budget)) return false;
    }
    return true;
}

static bool equal(struct value a, struct value b, int depth, int *budget) {
    if (value_is_number(a) && value_is_number(b)) {
        if (a.kind == VALUE_FLOAT || b.kind == VALUE_FLOAT)
            return value_as_double(a) == value_as_double(b);
        return value_as_int(a) == value_as_int(b);
    }
    enum dtype t, u;
    if (a.kind != b.kind) return dtype_or_name(a, &t) && dtype_or_name(b, &u) && t == u;
    if (depth > WALK_DEPTH || --*budget < 0) return false;
    if (is_sequence(a))
        return a.sequence == b.sequence ||
               sequence_equal(a.sequence, b.sequence, depth + 1, budget);
    if (a.kind == VALUE_DICT)
        return a.dict == b.dict || dict_equal(a.dict, b.dict, depth + 1, budget);
    return value_same(a, b);
}

bool value_equal(struct value a, struct value b) {
    int budget = WALK_ITEMS;
    return equal(a, b, 0, &budget);
}

bool value_same(struct value a, struct value b) {
    if (a.kind != b.kind) return false;
    switch (a.kind) {
    case VALUE_NONE:
    case VALUE_ELLIPSIS: return true;
    case VALUE_BOOL: return a.boolean == b.boolean;
    case VALUE_INT: return a.integer == b.integer;
    case VALUE_FLOAT: return a.number == b.number;
    case VALUE_DTYPE: return a.dtype == b.dtype;
    case VALUE_POLICY: return a.policy == b.policy;
    default: return a.sequence == b.sequence; /* all others are one pointer */
    }
}

int dict_find(const struct dict *d, struct value key) {
    for (int i = 0; i < d->keys.count; i++)
        if (value_equal(d->keys.at[i], key)) return i;
    return -1;
}

struct value value_dict(struct sema *s) {
    struct value v = {.kind = VALUE_DICT, .dict = arena_make(s->arena, struct dict)};
    v.dict->made = evaluator_of(s)->clock;
    return v;
}

static struct value copied(struct sema *s, struct value v, int depth) {
    struct value out = v;
    if (depth > 16 || (v.kind != VALUE_DICT && !is_sequence(v))) return v;
    if (v.kind != VALUE_DICT) {
        out = value_sequence(s, v.kind, 0, NULL);
        for (int i = 0; i < v.sequence->items.count && !s->stopped; i++)
            sequence_push(s, out, copied(s, v.sequence->items.at[i], depth + 1));
        return out;
    }
    out = value_dict(s);
    for (int i = 0; i < v.dict->keys.count && !s->stopped; i++)
        dict_set(s, out.dict, v.dict->keys.at[i], copied(s, v.dict->values.at[i], depth + 1));
    return out;
}

struct value value_copied(struct sema *s, struct value v) {
    return copied(s, v, 0);
}

void dict_set(struct sema *s, struct dict *d, struct value key, struct value item) {
    sema_charge(s, 1 + d->keys.count / 16);
    int at = dict_find(d, key);
    if (at >= 0) {
        d->values.at[at] = item;
        return;
    }
    vec_push(s->arena, &d->keys, key);
    vec_push(s->arena, &d->values, item);
}

/* -- Printing
 * --------------------------------------------------------------------------------------- */

enum { TEXT_LIMIT = 400, TEXT_DEPTH = 6 };

static void print_value(struct text *t, struct value v, int depth);

static void print_items(struct text *t, struct value v, int depth) {
    bool tuple = v.kind == VALUE_TUPLE;
    text_puts(t, tuple ? "(" : "[");
    for (int i = 0; i < v.sequence->items.count; i++) {
        if (i) text_puts(t, ", ");
        print_value(t, v.sequence->items.at[i], depth);
    }
    text_puts(t, tuple ? (v.sequence->items.count == 1 ? ",)" : ")") : "]");
}

static void print_dict(struct text *t, const struct dict *d, int depth) {
    text_puts(t, "{");
    for (int i = 0; i < d->keys.count; i++) {
        if (i) text_puts(t, ", ");
        print_value(t, d->keys.at[i], depth);
        text_puts(t, ": ");
        print_value(t, d->values.at[i], depth);
    }
    text_puts(t, "}");
}

/* As Python writes a float: shortest digits that read back, "1e-05", "inf". */
static void print_float(struct text *t, double x) {
    if (isnan(x) || isinf(x)) {
        text_puts(t, isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
        return;
    }
    char digits[40];
    for (int p = 1; p <= 17; p++) {
        snprintf(digits, sizeof digits, "%.*e", p - 1, x);
        if (strtod(digits, NULL) == x) break;
    }
    int exponent = atoi(strchr(digits, 'e') + 1);
    int precision = (int)(strchr(digits, 'e') - digits) - (digits[0] == '-') - 1;
    precision = precision > 0 ? precision - 1 : 0; /* digits after the point of the 'e' form */
    if (exponent < -4 || exponent >= 16) {
        text_puts(t, digits);
        return;
    }
    int decimals = precision - exponent;
    text_printf(t, "%.*f", decimals > 0 ? decimals : 1, x);
}

static void print_named(struct text *t, struct value v) {
    switch (v.kind) {
    case VALUE_FUNCTION:
    case VALUE_MACRO:
    case VALUE_PRIM_FUNC:
    case VALUE_EAGER: text_printf(t, "<%s %s>", value_kind_name(v), v.closure->name->text); break;
    case VALUE_BUILTIN: text_printf(t, "<built-in %s>", v.builtin->name); break;
    case VALUE_MODULE: text_printf(t, "<module %s>", v.path); break;
    case VALUE_BUFFER: text_printf(t, "<buffer %s>", v.buffer->name->text); break;
    case VALUE_IR: expr_print(t, v.expr); break;
    default: text_printf(t, "<%s>", value_kind_name(v)); break;
    }
}

static void print_value(struct text *t, struct value v, int depth) {
    if (t->length > TEXT_LIMIT || depth > TEXT_DEPTH) {
        text_puts(t, "...");
        return;
    }
    switch (v.kind) {
    case VALUE_NONE: text_puts(t, "None"); break;
    case VALUE_BOOL: text_puts(t, v.boolean ? "True" : "False"); break;
    case VALUE_INT: text_printf(t, "%lld", (long long)v.integer); break;
    case VALUE_FLOAT: print_float(t, v.number); break;
    case VALUE_STRING: text_printf(t, "'%s'", v.string->text); break;
    case VALUE_ELLIPSIS: text_puts(t, "..."); break;
    case VALUE_DTYPE: text_puts(t, dtype_spelling(v.dtype)); break;
    case VALUE_TUPLE:
    case VALUE_LIST: print_items(t, v, depth + 1); break;
    case VALUE_DICT: print_dict(t, v.dict, depth + 1); break;
    default: print_named(t, v); break;
    }
}

const char *value_text(struct sema *s, struct value v) {
    struct text t = text_new(s->arena);
    print_value(&t, v, 0);
    return t.at;
}

const char *value_str(struct sema *s, struct value v) {
    return v.kind == VALUE_STRING ? v.string->text : value_text(s, v);
}
