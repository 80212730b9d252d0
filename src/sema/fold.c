/* fold.c: arithmetic of compile-time values, as Python does it, in 64 bits. */
#include "sema/state.h"
#include <float.h>
#include <math.h>

/* -- Errors ---------------------------------------------------------------------------------------
 */

static struct value overflow(struct sema *s, enum ast_operator op, int64_t a, int64_t b,
                             struct span span) {
    return sema_bad(s, span, E0203, "%lld %s %lld does not fit into 64 bits", (long long)a,
                    ast_operator_text(op), (long long)b);
}

static struct value no_operator(struct sema *s, enum ast_operator op, struct value a,
                                struct value b, struct span span) {
    return sema_bad(s, span, E0204, "'%s' is not defined for %s and %s", ast_operator_text(op),
                    value_a_kind(a), value_a_kind(b));
}

static struct value by_zero(struct sema *s, enum ast_operator op, struct span span) {
    return sema_bad(s, span, E0203, "the right side of '%s' is zero", ast_operator_text(op));
}

/* -- Numbers
 * --------------------------------------------------------------------------------------- */

static int64_t floor_div(int64_t a, int64_t b) {
    int64_t q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

static struct value int_power(struct sema *s, int64_t a, int64_t b, struct span span) {
    if (b < 0) return a == 0 ? by_zero(s, AST_POW, span) : value_float(pow((double)a, (double)b));
    int64_t result = 1, base = a;
    for (int64_t n = b; n; n >>= 1) {
        if ((n & 1) && __builtin_mul_overflow(result, base, &result))
            return overflow(s, AST_POW, a, b, span);
        if (n > 1 && __builtin_mul_overflow(base, base, &base))
            return overflow(s, AST_POW, a, b, span);
    }
    return value_int(result);
}

static struct value int_shift(struct sema *s, enum ast_operator op, int64_t a, int64_t b,
                              struct span span) {
    if (b < 0) return sema_bad(s, span, E0203, "shift by the negative count %lld", (long long)b);
    if (op == AST_SHR) return value_int(b > 63 ? (a < 0 ? -1 : 0) : a >> b);
    if (a == 0) return value_int(0);
    if (b > 63 || a > (INT64_MAX >> b) || a < (INT64_MIN >> b)) return overflow(s, op, a, b, span);
    return value_int((int64_t)((uint64_t)a << b));
}

static struct value int_division(struct sema *s, enum ast_operator op, int64_t a, int64_t b,
                                 struct span span) {
    if (b == 0) return by_zero(s, op, span);
    if (op == AST_DIV) return value_float((double)a / (double)b);
    if (b == -1) /* INT64_MIN / -1 */
        return op == AST_MOD    ? value_int(0)
               : a == INT64_MIN ? overflow(s, op, a, b, span)
                                : value_int(-a);
    return value_int(op == AST_FLOORDIV ? floor_div(a, b) : a - floor_div(a, b) * b);
}

static struct value int_binary(struct sema *s, enum ast_operator op, int64_t a, int64_t b,
                               struct span span) {
    int64_t r = 0;
    switch (op) {
    case AST_ADD:
        return __builtin_add_overflow(a, b, &r) ? overflow(s, op, a, b, span) : value_int(r);
    case AST_SUB:
        return __builtin_sub_overflow(a, b, &r) ? overflow(s, op, a, b, span) : value_int(r);
    case AST_MUL:
        return __builtin_mul_overflow(a, b, &r) ? overflow(s, op, a, b, span) : value_int(r);
    case AST_DIV:
    case AST_FLOORDIV:
    case AST_MOD: return int_division(s, op, a, b, span);
    case AST_POW: return int_power(s, a, b, span);
    case AST_SHL:
    case AST_SHR: return int_shift(s, op, a, b, span);
    case AST_BITAND: return value_int(a & b);
    case AST_BITOR: return value_int(a | b);
    case AST_BITXOR: return value_int(a ^ b);
    default: return no_operator(s, op, value_int(a), value_int(b), span);
    }
}

/* As Python has it: the remainder is exact, and the quotient the one that belongs to it, where a /
 * b may have rounded up to the next integer. */
static struct value float_division(enum ast_operator op, double a, double b) {
    double rest = fmod(a, b), quotient = (a - rest) / b;
    if (rest != 0 && (rest < 0) != (b < 0)) {
        rest += b;
        quotient -= 1;
    }
    double whole = floor(quotient);
    return value_float(op == AST_MOD ? rest : quotient - whole > 0.5 ? whole + 1 : whole);
}

static struct value float_binary(struct sema *s, enum ast_operator op, double a, double b,
                                 struct span span) {
    switch (op) {
    case AST_ADD: return value_float(a + b);
    case AST_SUB: return value_float(a - b);
    case AST_MUL: return value_float(a * b);
    case AST_DIV: return b == 0 ? by_zero(s, op, span) : value_float(a / b);
    case AST_FLOORDIV:
    case AST_MOD: return b == 0 ? by_zero(s, op, span) : float_division(op, a, b);
    case AST_POW: {
        if (a == 0 && b < 0) return by_zero(s, op, span);
        double r = pow(a, b);
        if (isnan(r) && !isnan(a) && !isnan(b))
            return sema_bad(s, span, E0203, "a negative number has no real power %g", b);
        return value_float(r);
    }
    default: return no_operator(s, op, value_float(a), value_float(b), span);
    }
}

/* -- Strings and sequences
 * ---------------------------------------------------------------------------- */

static struct value repeat_string(struct sema *s, struct sym *string, int64_t n, struct span span) {
    int64_t length = n > 0 ? n * (int64_t)string->length : 0;
    if (n > SEMA_ITEMS || length > SEMA_ITEMS)
        return sema_bad(s, span, E0211, "a string of more than %d characters", SEMA_ITEMS);
    char *text = arena_alloc(s->arena, (size_t)length + 1);
    for (int64_t i = 0; i < length; i += string->length)
        memcpy(text + i, string->text, string->length);
    sema_charge(s, 1 + length / 64);
    return (struct value){.kind = VALUE_STRING, .string = intern(s->names, text, (size_t)length)};
}

static struct value concatenate(struct sema *s, struct sym *a, struct sym *b, struct span span) {
    size_t length = (size_t)a->length + b->length;
    if (length > SEMA_ITEMS)
        return sema_bad(s, span, E0211, "a string of more than %d characters", SEMA_ITEMS);
    char *text = arena_alloc(s->arena, length + 1);
    memcpy(text, a->text, a->length);
    memcpy(text + a->length, b->text, b->length);
    sema_charge(s, 1 + (int64_t)length / 64);
    return (struct value){.kind = VALUE_STRING, .string = intern(s->names, text, length)};
}

static struct value repeat_items(struct sema *s, struct value v, int64_t n, struct span span) {
    int64_t count = v.sequence->items.count;
    if (n > 0 && count && n > SEMA_ITEMS / count)
        return sema_bad(s, span, E0211, "a sequence of more than %d items", SEMA_ITEMS);
    struct value out = value_sequence(s, v.kind, 0, NULL);
    for (int64_t k = 0; k < n && !s->stopped; k++)
        for (int i = 0; i < count; i++) sequence_push(s, out, v.sequence->items.at[i]);
    return out;
}

static struct value join_items(struct sema *s, struct value a, struct value b) {
    struct value out = value_sequence(s, a.kind, 0, NULL);
    for (int i = 0; i < a.sequence->items.count && !s->stopped; i++)
        sequence_push(s, out, a.sequence->items.at[i]);
    for (int i = 0; i < b.sequence->items.count && !s->stopped; i++)
        sequence_push(s, out, b.sequence->items.at[i]);
    return out;
}

static struct value container_binary(struct sema *s, enum ast_operator op, struct value a,
                                     struct value b, struct span span) {
    if (op == AST_ADD && a.kind == b.kind && a.kind == VALUE_STRING)
        return concatenate(s, a.string, b.string, span);
    if (op == AST_ADD && a.kind == b.kind && is_sequence(a)) return join_items(s, a, b);
    bool a_int = a.kind == VALUE_INT || a.kind == VALUE_BOOL,
         b_int = b.kind == VALUE_INT || b.kind == VALUE_BOOL;
    if (op == AST_MUL && a_int)
        return container_binary(
            s, op, b, (struct value){.kind = VALUE_INT, .integer = value_as_int(a)}, span);
    if (op == AST_MUL && b_int && is_sequence(a)) return repeat_items(s, a, value_as_int(b), span);
    if (op == AST_MUL && b_int && a.kind == VALUE_STRING)
        return repeat_string(s, a.string, value_as_int(b), span);
    return no_operator(s, op, a, b, span);
}

struct value fold_binary(struct sema *s, enum ast_operator op, struct value a, struct value b,
                         struct span span) {
    if (a.kind == VALUE_BAD || b.kind == VALUE_BAD) return value_bad();
    if (!value_is_number(a) || !value_is_number(b)) return container_binary(s, op, a, b, span);
    bool bits = op == AST_BITAND || op == AST_BITOR || op == AST_BITXOR;
    bool integral = bits || op == AST_SHL || op == AST_SHR;
    bool floating = a.kind == VALUE_FLOAT || b.kind == VALUE_FLOAT;
    if (floating && integral) return no_operator(s, op, a, b, span);
    if (floating) return float_binary(s, op, value_as_double(a), value_as_double(b), span);
    struct value r = int_binary(s, op, value_as_int(a), value_as_int(b), span);
    if (bits && a.kind == VALUE_BOOL && b.kind == VALUE_BOOL && r.kind == VALUE_INT)
        return value_bool(r.integer != 0);
    return r;
}

struct value fold_unary(struct sema *s, enum ast_operator op, struct value a, struct span span) {
    bool truth;
    if (a.kind == VALUE_BAD) return a;
    if (op == AST_NOT) return value_truth(s, a, span, &truth) ? value_bool(!truth) : value_bad();
    if (a.kind == VALUE_FLOAT && op != AST_INVERT)
        return value_float(op == AST_NEG ? -a.number : a.number);
    if (!value_is_number(a) || a.kind == VALUE_FLOAT)
        return sema_bad(s, span, E0204, "'%s' is not defined for %s", ast_operator_text(op),
                        value_a_kind(a));
    int64_t i = value_as_int(a);
    if (op == AST_NEG && i == INT64_MIN) return overflow(s, AST_SUB, 0, i, span);
    return value_int(op == AST_NEG ? -i : op == AST_INVERT ? ~i : i);
}

/* -- Comparisons
 * ------------------------------------------------------------------------------------------ */

/* The sign of a - b for ordered values: *order, and false if they have none. NaN is unordered: 2.
 */
static bool order_of(struct value a, struct value b, int depth, int *order) {
    if (value_is_number(a) && value_is_number(b)) {
        if (a.kind == VALUE_FLOAT || b.kind == VALUE_FLOAT) {
            double x = value_as_double(a), y = value_as_double(b);
            *order = isnan(x) || isnan(y) ? 2 : (x > y) - (x < y);
        } else {
            int64_t x = value_as_int(a), y = value_as_int(b);
            *order = (x > y) - (x < y);
        }
        return true;
    }
    if (a.kind != b.kind) return false;
    if (a.kind == VALUE_STRING) {
        int c = strcmp(a.string->text, b.string->text);
        *order = (c > 0) - (c < 0);
        return true;
    }
    if (!is_sequence(a) || depth > 64) return false;
    for (int i = 0;; i++) {
        int ca = a.sequence->items.count, cb = b.sequence->items.count;
        if (i >= ca || i >= cb) {
            *order = (ca > cb) - (ca < cb);
            return true;
        }
        if (!value_equal(a.sequence->items.at[i], b.sequence->items.at[i]))
            return order_of(a.sequence->items.at[i], b.sequence->items.at[i], depth + 1, order);
    }
}

static struct value contains(struct sema *s, struct value item, struct value in, struct span span) {
    if (in.kind == VALUE_DICT)
        return good_key(s, item, span) ? value_bool(dict_find(in.dict, item) >= 0) : value_bad();
    if (in.kind == VALUE_STRING && item.kind == VALUE_STRING)
        return value_bool(strstr(in.string->text, item.string->text) != NULL);
    if (in.kind == VALUE_DTYPE && item.kind == VALUE_STRING)
        return value_bool(strstr(dtype_spelling(in.dtype), item.string->text) != NULL);
    if (!is_sequence(in))
        return sema_bad(s, span, E0204,
                        "'in' needs a tuple, list, dict or string on its right, not %s",
                        value_a_kind(in));
    sema_charge(s, in.sequence->items.count / 4);
    for (int i = 0; i < in.sequence->items.count; i++)
        if (value_equal(in.sequence->items.at[i], item)) return value_bool(true);
    return value_bool(false);
}

struct value fold_compare(struct sema *s, enum ast_operator op, struct value a, struct value b,
                          struct span span) {
    if (a.kind == VALUE_BAD || b.kind == VALUE_BAD) return value_bad();
    int order = 0;
    struct value in;
    switch (op) {
    case AST_EQ: return value_bool(value_equal(a, b));
    case AST_NE: return value_bool(!value_equal(a, b));
    case AST_IS: return value_bool(value_same(a, b));
    case AST_IS_NOT: return value_bool(!value_same(a, b));
    case AST_IN:
    case AST_NOT_IN:
        in = contains(s, a, b, span);
        return in.kind == VALUE_BOOL ? value_bool(in.boolean == (op == AST_IN)) : in;
    default: break;
    }
    if (!order_of(a, b, 0, &order)) return no_operator(s, op, a, b, span);
    if (order == 2) return value_bool(false);
    switch (op) {
    case AST_LT: return value_bool(order < 0);
    case AST_LE: return value_bool(order <= 0);
    case AST_GT: return value_bool(order > 0);
    default: return value_bool(order >= 0);
    }
}
