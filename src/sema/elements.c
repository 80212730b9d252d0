/* elements.c: functions of elements, of types and of compile-time numbers. */
#include "sema/builder.h"
#include <math.h>

/* -- Rows of functions.def -----------------------------------------------------------------------
 */
static struct value fold_function(struct sema *s, enum function fn, int count,
                                  const struct value *v, struct span span) {
    bool real = function_row(fn)->types == TYPES_FLOAT || function_row(fn)->types == TYPES_TEST;
    for (int i = 0; i < count; i++) real |= v[i].kind == VALUE_FLOAT;
    if (function_row(fn)->types == TYPES_INTEGER && real)
        return sema_bad(s, span, E0305, "'T.%s' is for integers", function_row(fn)->name);
    union scalar arg[3];
    for (int i = 0; i < count; i++) {
        int64_t n = v[i].kind == VALUE_INT ? v[i].integer : v[i].boolean;
        if (real)
            arg[i].f = v[i].kind == VALUE_FLOAT ? v[i].number : (double)n;
        else
            arg[i].i = n;
    }
    bool division = fn == FN_TRUNCDIV || fn == FN_TRUNCMOD;
    if (division && arg[1].i == 0)
        return sema_bad(s, span, E0317, "the divisor of 'T.%s' is 0", function_row(fn)->name);
    union scalar r = scalar_op(fn, real ? DTYPE_F64 : DTYPE_I64, arg);
    if (function_row(fn)->types == TYPES_TEST) return value_bool(r.i != 0);
    return real ? value_float(r.f) : value_int(r.i);
}

static struct value apply(struct sema *s, enum function fn, int count, const struct value *v,
                          struct span span) {
    const char *name = arena_printf(s->arena, "T.%s", function_row(fn)->name);
    bool folded = true;
    for (int i = 0; i < count; i++) {
        if (value_is_bad(v[i])) return value_bad();
        folded &= is_literal(v[i]);
    }
    if (folded) return fold_function(s, fn, count, v, span);
    struct expr *arg[3];
    enum dtype type = unify(s, count, v, arg, (struct site){name, span});
    if (type == DTYPE_NONE) return value_bad();
    if (function_row(fn)->types == TYPES_INTEGER && !dtype_is_integer(type))
        return sema_bad(s, span, E0305, "'%s' is for integers, not for '%s'", name,
                        dtype_spelling(type));
    if ((function_row(fn)->types == TYPES_FLOAT || function_row(fn)->types == TYPES_TEST) &&
        !dtype_is_float(type)) {
        type = DTYPE_F32;
        for (int i = 0; i < count; i++) arg[i] = expr_cast(s->exprs, arg[i], type);
    }
    if (fn == FN_NEXTAFTER && dtype_bits(type) < 32)
        return sema_bad(s, span, E0401,
                        "'%s' of '%s' is not supported yet; 'float32' and 'float64' are", name,
                        dtype_spelling(type));
    int64_t n;
    if ((fn == FN_TRUNCDIV || fn == FN_TRUNCMOD) && expr_is_int(arg[1], &n) && n == 0)
        return sema_bad(s, span, E0317, "the divisor of '%s' is 0", name);
    if (function_row(fn)->types == TYPES_TEST) return value_ir(expr_unary(s->exprs, fn, arg[0]));
    return scalar_value(s, operation(s, fn, type, count, arg), span);
}

struct value build_function(struct sema *s, const struct call *c) {
    enum function fn = (enum function)function_find(c->row->name);
    return apply(s, fn, function_row(fn)->arity, c->arg, c->span);
}

struct value build_clamp(struct sema *s, const struct call *c) {
    struct value low[2] = {c->arg[0], c->arg[1]};
    struct value high[2] = {apply(s, FN_MAX, 2, low, c->span), c->arg[2]};
    return apply(s, FN_MIN, 2, high, c->span);
}

struct value build_if_then_else(struct sema *s, const struct call *c) {
    if (!value_is_static(c->arg[0]))
        return value_select(s, c->arg[0], c->arg[1], c->arg[2], c->span);
    bool test;
    if (!want_bool(s, c->arg[0], c->arg_span[0], "condition", &test)) return value_bad();
    return test ? c->arg[1] : c->arg[2];
}

/* -- Operators by name ---------------------------------------------------------------------------
 */
static struct value arithmetic(struct sema *s, enum ast_operator op, struct value a, struct value b,
                               struct span span) {
    if (value_is_bad(a) || value_is_bad(b)) return value_bad();
    return value_is_static(a) && value_is_static(b) ? fold_binary(s, op, a, b, span)
                                                    : value_binary(s, op, a, b, span);
}

static struct value named(struct sema *s, const struct call *c, enum ast_operator op) {
    return arithmetic(s, op, c->arg[0], c->arg[1], c->span);
}

struct value build_floordiv(struct sema *s, const struct call *c) {
    return named(s, c, AST_FLOORDIV);
}

struct value build_floormod(struct sema *s, const struct call *c) {
    return named(s, c, AST_MOD);
}

struct value build_shift_left(struct sema *s, const struct call *c) {
    return named(s, c, AST_SHL);
}

struct value build_shift_right(struct sema *s, const struct call *c) {
    return named(s, c, AST_SHR);
}

struct value build_bitwise_and(struct sema *s, const struct call *c) {
    return named(s, c, AST_BITAND);
}

struct value build_bitwise_or(struct sema *s, const struct call *c) {
    return named(s, c, AST_BITOR);
}

struct value build_bitwise_xor(struct sema *s, const struct call *c) {
    return named(s, c, AST_BITXOR);
}

/* (a + b - 1) // b, for the positive b of tile counts; at compile time for every sign. */
static struct value divide_up(struct sema *s, struct value a, struct value b, struct span span) {
    if (a.kind == VALUE_FLOAT || b.kind == VALUE_FLOAT)
        return sema_bad(s, span, E0320,
                        "'T.ceildiv' is for integers; T.ceil(a / b) rounds floats up");
    if (value_is_static(a) && value_is_static(b)) {
        struct value down = fold_unary(s, AST_NEG, a, span);
        struct value q = arithmetic(s, AST_FLOORDIV, down, b, span);
        return value_is_bad(q) ? q : fold_unary(s, AST_NEG, q, span);
    }
    /* Tile counts are exact: a narrow operand does not wrap on the way up. */
    struct expr *x = value_index(s, a, span), *y = value_index(s, b, span);
    if (!x || !y) return value_bad();
    struct value less = arithmetic(s, AST_SUB, value_ir(y), value_int(1), span);
    struct value sum = arithmetic(s, AST_ADD, value_ir(x), less, span);
    return arithmetic(s, AST_FLOORDIV, sum, value_ir(y), span);
}

struct value build_ceildiv(struct sema *s, const struct call *c) {
    return divide_up(s, c->arg[0], c->arg[1], c->span);
}

struct value build_align_up(struct sema *s, const struct call *c) {
    return arithmetic(s, AST_MUL, divide_up(s, c->arg[0], c->arg[1], c->span), c->arg[1], c->span);
}

struct value build_next_power_of_2(struct sema *s, const struct call *c) {
    int64_t n, power = 1;
    if (!want_int(s, c->arg[0], c->arg_span[0], "n", &n)) return value_bad();
    if (n > (int64_t)1 << 62)
        return sema_bad(s, c->arg_span[0], E0303, "no power of two of 64 bits is at least %lld",
                        (long long)n);
    while (power < n) power *= 2;
    return value_int(power);
}

/* -- Constants of types --------------------------------------------------------------------------
 */
struct value build_infinity(struct sema *s, const struct call *c) {
    enum dtype type = want_dtype(s, c->arg[0], c->arg_span[0], "dtype");
    if (type == DTYPE_NONE) return value_bad();
    if (!dtype_is_float(type) || type == DTYPE_E4M3)
        return sema_bad(s, c->arg_span[0], E0305, "'%s' has no infinity; write T.max_value(\"%s\")",
                        dtype_spelling(type), dtype_spelling(type));
    return value_ir(expr_float(s->exprs, INFINITY, type));
}

static double largest(enum dtype type) {
    switch (type) {
    case DTYPE_F16: return 65504.0;
    case DTYPE_BF16: return 0x1.fep127;
    case DTYPE_F64: return 0x1.fffffffffffffp1023;
    case DTYPE_TF32: return 0x1.ffcp127;
    case DTYPE_E4M3: return 448.0;
    case DTYPE_E5M2: return 57344.0;
    default: return 0x1.fffffep127;
    }
}

static struct value extreme(struct sema *s, const struct call *c, bool upper) {
    enum dtype type = want_dtype(s, c->arg[0], c->arg_span[0], "dtype");
    if (type == DTYPE_NONE) return value_bad();
    if (type == DTYPE_BOOL) return value_ir(expr_bool(s->exprs, upper));
    if (dtype_is_float(type))
        return value_ir(expr_float(s->exprs, upper ? largest(type) : -largest(type), type));
    int bits = dtype_bits(type);
    bool has_sign = dtype_class_of(type) != CLASS_UINT;
    int64_t n;
    if (upper)
        n = bits == 64 ? (has_sign ? INT64_MAX : -1) : ((int64_t)1 << (bits - has_sign)) - 1;
    else
        n = !has_sign ? 0 : bits == 64 ? INT64_MIN : -((int64_t)1 << (bits - 1));
    return value_ir(expr_int(s->exprs, n, type));
}

struct value build_min_value(struct sema *s, const struct call *c) {
    return extreme(s, c, false);
}

struct value build_max_value(struct sema *s, const struct call *c) {
    return extreme(s, c, true);
}
