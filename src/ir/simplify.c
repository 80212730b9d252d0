/* simplify.c: identities of integer operations and conditions.
 *
 * INDEX is exact, so its sums go through the affine form and its quotients and remainders by
 * constants are split: what the divisor divides leaves the quotient, what stays below the next
 * step disappears. The wrapping types only get identities that hold under wrapping. */
#include "ir/expr.h"
#include "ir/internal.h"

static bool is_value(const struct expr *e, int64_t value) {
    return e->kind == EXPR_INT && e->integer == value;
}

static bool is_op(const struct expr *e, enum function fn) {
    return e->kind == EXPR_OP && e->fn == fn;
}

/* -- INDEX: sums and products
 * ---------------------------------------------------------------------- */
static struct expr *sum_of(struct exprs *x, struct expr *a, int64_t p, struct expr *b, int64_t q) {
    struct affine second, sum;
    sum.constant = 0;
    sum.count = 0;
    if (p == 1 ? !affine_of(a, &sum)
               : !affine_of(a, &second) || !affine_add_scaled(&sum, &second, p))
        return NULL;
    if (b && (!affine_of(b, &second) || !affine_add_scaled(&sum, &second, q))) return NULL;
    return affine_expr(x, &sum);
}

/* a + b or a - b */
static struct expr *sum_or_difference(struct exprs *x, struct expr *a, struct expr *b, int sign) {
    int64_t constant;
    struct expr *e = NULL;
    if (expr_is_int(b, &constant) && constant != INT64_MIN)
        e = affine_shifted(x, a, sign * constant);
    else if (sign > 0 && expr_is_int(a, &constant))
        e = affine_shifted(x, b, constant);
    return e ? e : sum_of(x, a, 1, b, sign);
}

/* The largest constant that divides all of a; 1 for constants. */
static int64_t content(const struct affine *a) {
    int64_t g = a->constant;
    for (int i = 0; i < a->count; i++) g = gcd64(g, a->coefficient[i]);
    return a->count && g > 0 ? g : 1;
}

static void divide_exactly(struct affine *a, int64_t c) {
    a->constant /= c;
    for (int i = 0; i < a->count; i++) a->coefficient[i] /= c;
}

/* Constants leave a product of two variables, and the factors come in the fixed order. */
static struct expr *product(struct exprs *x, struct expr *a, struct expr *b) {
    struct affine first, second;
    int64_t c;
    if (expr_is_int(b, &c)) return sum_of(x, a, c, NULL, 0);
    if (expr_is_int(a, &c)) return sum_of(x, b, c, NULL, 0);
    if (!affine_of(a, &first) || !affine_of(b, &second)) return NULL;
    int64_t p = content(&first), q = content(&second), factor;
    if (__builtin_mul_overflow(p, q, &factor)) return NULL;
    divide_exactly(&first, p);
    divide_exactly(&second, q);
    struct expr *args[2] = {affine_expr(x, &first), affine_expr(x, &second)};
    if (args[0]->kind == EXPR_INT || args[1]->kind == EXPR_INT) return NULL;
    if (expr_compare(args[0], args[1]) > 0) {
        struct expr *swap = args[0];
        args[0] = args[1];
        args[1] = swap;
    }
    struct expr *e = expr_raw_op(x, FN_MUL, DTYPE_INDEX, 2, args);
    return factor == 1 ? e : sum_of(x, e, factor, NULL, 0);
}

/* -- INDEX: quotients and remainders by constants
 * -------------------------------------------------- */
/* a = whole * c + rest, rest.constant in [0, c). */
static void split(const struct affine *a, int64_t c, struct affine *whole, struct affine *rest) {
    *whole = *rest = (struct affine){0};
    whole->constant = floor_div(a->constant, c);
    rest->constant = a->constant - whole->constant * c;
    for (int i = 0; i < a->count; i++) {
        struct affine *part = a->coefficient[i] % c ? rest : whole;
        part->atom[part->count] = a->atom[i];
        part->coefficient[part->count++] =
            part == whole ? a->coefficient[i] / c : a->coefficient[i];
    }
}

/* Moves the terms of rest whose values c divides, though not their coefficients, to `multiples`. */
static void take_multiples(struct affine *rest, int64_t c, struct affine *multiples) {
    struct affine others = {.constant = rest->constant};
    *multiples = (struct affine){0};
    for (int i = 0; i < rest->count; i++) {
        struct interval term = interval_scale(interval_of(rest->atom[i]), rest->coefficient[i]);
        struct affine *part = term.divisor % c ? &others : multiples;
        part->atom[part->count] = rest->atom[i];
        part->coefficient[part->count++] = rest->coefficient[i];
    }
    *rest = others;
}

/* The quotient by c if it is the same for all values. */
static bool one_quotient(const struct affine *a, int64_t c, int64_t *q) {
    struct interval r = affine_interval(a);
    if (r.lo == INT64_MIN || r.hi == INT64_MAX) return false;
    *q = floor_div(r.lo, c);
    return *q == floor_div(r.hi, c);
}

/* Finds a step g > 1 of c so that rest = g * steps + below with below always in [0, g). */
static int64_t find_step(const struct affine *rest, int64_t c, struct affine *steps,
                         struct affine *below) {
    for (int64_t last = INT64_MAX;;) {
        int64_t g = 1;
        for (int i = 0; i < rest->count; i++) {
            int64_t candidate = gcd64(rest->coefficient[i], c);
            if (candidate < last && candidate > g) g = candidate;
        }
        if (g == 1) return 1;
        split(rest, g, steps, below);
        struct interval r = affine_interval(below);
        if (r.lo >= 0 && r.hi < g) return g;
        last = g;
    }
}

static struct expr *raw_by(struct exprs *x, enum function fn, struct expr *a, int64_t c) {
    struct expr *args[2] = {a, expr_index(x, c)};
    struct expr *e = expr_raw_op(x, fn, DTYPE_INDEX, 2, args);
    return e->lo == e->hi ? expr_index(x, e->lo) : e;
}

static struct expr *quotient(struct exprs *x, const struct affine *a, int64_t c);

/* The quotient of what has no part that c divides. */
static struct expr *rest_quotient(struct exprs *x, const struct affine *rest, int64_t c) {
    struct affine steps, below, others = *rest, multiples;
    int64_t q, g = find_step(rest, c, &steps, &below), d, product_of;
    if (one_quotient(rest, c, &q)) return expr_index(x, q);
    if (g > 1) return quotient(x, &steps, c / g);
    take_multiples(&others, c, &multiples);
    bool more = others.count || others.constant;
    if (multiples.count && more && one_quotient(&others, c, &q)) {
        struct expr *e = quotient(x, &multiples, c);
        return e ? expr_binary(x, FN_ADD, e, expr_index(x, q)) : NULL;
    }
    struct expr *a = affine_expr(x, rest);
    if (is_op(a, FN_FLOORDIV) && expr_is_int(a->args[1], &d) && d > 0 &&
        !__builtin_mul_overflow(c, d, &product_of) && affine_of(a->args[0], &others))
        return quotient(x, &others, product_of);
    return raw_by(x, FN_FLOORDIV, a, c);
}

static struct expr *quotient(struct exprs *x, const struct affine *a, int64_t c) {
    struct affine whole, rest, part;
    split(a, c, &whole, &rest);
    struct expr *q = rest_quotient(x, &rest, c);
    if (!q || !affine_of(q, &part) || !affine_add_scaled(&whole, &part, 1)) return NULL;
    return affine_expr(x, &whole);
}

static struct expr *remainder_of(struct exprs *x, const struct affine *a, int64_t c) {
    struct affine whole, rest, steps, below;
    int64_t q, d;
    split(a, c, &whole, &rest);
    take_multiples(&rest, c, &whole);
    if (one_quotient(&rest, c, &q)) {
        if (__builtin_mul_overflow(q, c, &d) ||
            __builtin_sub_overflow(rest.constant, d, &rest.constant))
            return NULL;
        return affine_expr(x, &rest);
    }
    if (affine_interval(&rest).divisor % c == 0) return expr_index(x, 0);
    int64_t g = find_step(&rest, c, &steps, &below);
    if (g > 1) {
        struct expr *inner = remainder_of(x, &steps, c / g);
        struct affine part;
        if (!inner || !affine_of(inner, &part) || !affine_add_scaled(&below, &part, g)) return NULL;
        return affine_expr(x, &below);
    }
    struct expr *e = affine_expr(x, &rest);
    if (is_op(e, FN_FLOORMOD) && expr_is_int(e->args[1], &d) && d > 0 && d % c == 0 &&
        affine_of(e->args[0], &below))
        return remainder_of(x, &below, c);
    return raw_by(x, FN_FLOORMOD, e, c);
}

static struct expr *divide_by_variable(struct exprs *x, enum function fn, struct expr *a,
                                       struct expr *b) {
    if (b->lo < 1) return NULL;
    if (a->lo >= 0 && expr_proves_lt(x, a, b)) return fn == FN_FLOORDIV ? expr_index(x, 0) : a;
    if (a == b) return expr_index(x, fn == FN_FLOORDIV);
    if (!is_op(a, FN_MUL) || (a->args[0] != b && a->args[1] != b)) return NULL;
    if (fn == FN_FLOORMOD) return expr_index(x, 0);
    return a->args[a->args[0] == b];
}

static struct expr *divide_index(struct exprs *x, enum function fn, struct expr *a,
                                 struct expr *b) {
    int64_t c;
    struct affine f;
    if (!expr_is_int(b, &c)) return divide_by_variable(x, fn, a, b);
    if (c < 1 || !affine_of(a, &f)) return NULL;
    return fn == FN_FLOORDIV ? quotient(x, &f, c) : remainder_of(x, &f, c);
}

static struct expr *simplify_index(struct exprs *x, enum function fn, struct expr *const *args) {
    int64_t c;
    struct affine f;
    switch (fn) {
    case FN_ADD: return sum_or_difference(x, args[0], args[1], 1);
    case FN_SUB: return sum_or_difference(x, args[0], args[1], -1);
    case FN_NEG: return sum_of(x, args[0], -1, NULL, 0);
    case FN_MUL: return product(x, args[0], args[1]);
    case FN_SHL:
        if (!expr_is_int(args[1], &c) || c < 0 || c > 62) return NULL;
        return sum_of(x, args[0], (int64_t)1 << c, NULL, 0);
    case FN_SHR:
        if (!expr_is_int(args[1], &c) || c < 0 || c > 62 || !affine_of(args[0], &f)) return NULL;
        return quotient(x, &f, (int64_t)1 << c);
    case FN_AND: /* a mask of low bits is a remainder */
        if (!expr_is_int(args[1], &c) || c < 0 || (c & (c + 1)) || c == INT64_MAX) return NULL;
        return affine_of(args[0], &f) ? remainder_of(x, &f, c + 1) : NULL;
    case FN_FLOORDIV:
    case FN_FLOORMOD: return divide_index(x, fn, args[0], args[1]);
    default: return NULL;
    }
}

/* -- all integer types
 * ----------------------------------------------------------------------------- */
static struct expr *with_zero(struct exprs *x, enum function fn, enum dtype t,
                              struct expr *const *args) {
    if (is_value(args[1], 0)) {
        if (fn == FN_ADD || fn == FN_SUB || fn == FN_OR || fn == FN_XOR || fn == FN_SHL ||
            fn == FN_SHR)
            return args[0];
        if (fn == FN_MUL || fn == FN_AND) return expr_int(x, 0, t);
    }
    if (!is_value(args[0], 0)) return NULL;
    if (fn == FN_ADD || fn == FN_OR || fn == FN_XOR) return args[1];
    bool zero = fn == FN_MUL || fn == FN_AND || fn == FN_FLOORDIV || fn == FN_FLOORMOD ||
                fn == FN_SHL || fn == FN_SHR;
    return zero ? expr_int(x, 0, t) : NULL;
}

static struct expr *with_one(struct exprs *x, enum function fn, enum dtype t,
                             struct expr *const *args) {
    if (is_value(args[1], 1)) {
        if (fn == FN_MUL || fn == FN_FLOORDIV || fn == FN_TRUNCDIV) return args[0];
        if (fn == FN_FLOORMOD || fn == FN_TRUNCMOD) return expr_int(x, 0, t);
    }
    return fn == FN_MUL && is_value(args[0], 1) ? args[1] : NULL;
}

static struct expr *with_itself(struct exprs *x, enum function fn, enum dtype t, struct expr *a) {
    if (fn == FN_SUB || fn == FN_XOR) return expr_int(x, 0, t);
    bool same = fn == FN_AND || fn == FN_OR || fn == FN_MIN || fn == FN_MAX;
    return same ? a : NULL;
}

/* (a + c) + d and (a * c) * d hold under wrapping as well. */
static struct expr *nested_constants(struct exprs *x, enum function fn, enum dtype t,
                                     struct expr *const *args) {
    int64_t c, d;
    if ((fn != FN_ADD && fn != FN_MUL) || !is_op(args[0], fn) || !expr_is_int(args[1], &d) ||
        !expr_is_int(args[0]->args[1], &c))
        return NULL;
    union scalar values[2] = {{c}, {d}};
    struct expr *inner[2] = {args[0]->args[0], expr_int(x, scalar_op(fn, t, values).i, t)};
    return expr_op(x, fn, t, 2, inner);
}

static struct expr *divide_nonnegative(struct exprs *x, enum function fn, enum dtype t,
                                       struct expr *const *args) {
    bool good = args[0]->lo >= 0 && args[1]->lo >= 1;
    if (!good) return NULL;
    if (fn == FN_TRUNCDIV) return expr_op(x, FN_FLOORDIV, t, 2, args);
    if (fn == FN_TRUNCMOD) return expr_op(x, FN_FLOORMOD, t, 2, args);
    return fn == FN_FLOORMOD && args[0]->hi < args[1]->lo ? args[0] : NULL;
}

static struct expr *extreme(struct exprs *x, enum function fn, struct expr *const *args) {
    if (fn != FN_MIN && fn != FN_MAX) return NULL;
    if (expr_proves_le(x, args[0], args[1])) return args[fn == FN_MAX];
    if (expr_proves_le(x, args[1], args[0])) return args[fn == FN_MIN];
    return NULL;
}

static struct expr *simplify_unary(struct exprs *x, enum function fn, enum dtype t,
                                   struct expr *a) {
    if ((fn == FN_NEG || fn == FN_NOT) && is_op(a, fn)) return a->args[0];
    if (fn != FN_ABS || a->dtype == DTYPE_U64) return NULL;
    if (a->lo >= 0) return a;
    return a->hi <= 0 ? expr_op(x, FN_NEG, t, 1, &a) : NULL;
}

/* By 1 << s: a shift and a mask, which round down as well. */
static struct expr *divide_by_power(struct exprs *x, enum function fn, enum dtype t,
                                    struct expr *const *args) {
    if (fn != FN_FLOORDIV && fn != FN_FLOORMOD) return NULL;
    const struct expr *b = args[1];
    if (!is_op(b, FN_SHL) || b->lo < 1 || !is_value(b->args[0], 1)) return NULL;
    struct expr *shift[2] = {args[0], b->args[1]};
    if (fn == FN_FLOORDIV) return expr_op(x, FN_SHR, t, 2, shift);
    struct expr *below[2] = {args[1], expr_int(x, 1, t)};
    struct expr *mask[2] = {args[0], expr_op(x, FN_SUB, t, 2, below)};
    return expr_op(x, FN_AND, t, 2, mask);
}

static struct expr *simplify_integer(struct exprs *x, enum function fn, enum dtype t,
                                     struct expr *const *args) {
    struct expr *e = NULL;
    if (function_row(fn)->arity == 1) e = simplify_unary(x, fn, t, args[0]);
    if (function_row(fn)->arity == 2) {
        e = with_zero(x, fn, t, args);
        if (!e) e = with_one(x, fn, t, args);
        if (!e && args[0] == args[1]) e = with_itself(x, fn, t, args[0]);
        if (!e) e = divide_nonnegative(x, fn, t, args);
        if (!e) e = extreme(x, fn, args);
    }
    if (!e && t == DTYPE_INDEX) e = simplify_index(x, fn, args);
    if (!e) e = divide_by_power(x, fn, t, args);
    return e || t == DTYPE_INDEX ? e : nested_constants(x, fn, t, args);
}

/* -- conditions
 * ------------------------------------------------------------------------------------ */
/* a - b is never zero: its terms are all multiples of something that its constant is not. */
static bool never_equal(struct exprs *x, struct expr *a, struct expr *b) {
    struct affine d, second;
    if (expr_proves_lt(x, a, b) || expr_proves_lt(x, b, a)) return true;
    if (!affine_of(a, &d) || !affine_of(b, &second) || !affine_add_scaled(&d, &second, -1))
        return false;
    int64_t constant = d.constant;
    d.constant = 0;
    int64_t step = affine_interval(&d).divisor;
    return step > 0 && constant % step != 0;
}

static struct expr *compare(struct exprs *x, enum function fn, struct expr *a, struct expr *b) {
    if (!dtype_is_integer(a->dtype)) return NULL;
    bool equality = fn == FN_EQ || fn == FN_NE;
    if (a == b) return expr_bool(x, fn == FN_LE || fn == FN_EQ);
    if (equality) {
        int64_t difference;
        if (affine_difference(a, b, &difference))
            return expr_bool(x, (difference == 0) == (fn == FN_EQ));
        return never_equal(x, a, b) ? expr_bool(x, fn == FN_NE) : NULL;
    }
    bool strict = fn == FN_LT;
    if (strict ? expr_proves_lt(x, a, b) : expr_proves_le(x, a, b)) return expr_bool(x, true);
    if (strict ? expr_proves_le(x, b, a) : expr_proves_lt(x, b, a)) return expr_bool(x, false);
    return NULL;
}

static struct expr *negation(struct exprs *x, struct expr *a) {
    if (is_op(a, FN_LNOT)) return a->args[0];
    if (a->kind != EXPR_OP || function_row(a->fn)->types != TYPES_COMPARE) return NULL;
    if (a->fn == FN_EQ) return expr_binary(x, FN_NE, a->args[0], a->args[1]);
    if (a->fn == FN_NE) return expr_binary(x, FN_EQ, a->args[0], a->args[1]);
    if (!dtype_is_integer(a->args[0]->dtype)) return NULL; /* a NaN fails both ways */
    return expr_binary(x, a->fn == FN_LT ? FN_LE : FN_LT, a->args[1], a->args[0]);
}

static struct expr *logic(struct exprs *x, enum function fn, struct expr *const *args) {
    int64_t known;
    if (fn == FN_LNOT) return negation(x, args[0]);
    bool both = fn == FN_LAND;
    if (args[0] == args[1]) return args[0];
    for (int i = 0; i < 2; i++)
        if (expr_is_int(args[i], &known)) {
            if (both == (known != 0)) return args[1 - i];
            return expr_bool(x, !both);
        }
    return NULL;
}

struct expr *simplify_op(struct exprs *x, enum function fn, enum dtype t,
                         struct expr *const *args) {
    switch (function_row(fn)->types) {
    case TYPES_COMPARE: return compare(x, fn, args[0], args[1]);
    case TYPES_LOGIC: return logic(x, fn, args);
    case TYPES_TEST:
    case TYPES_SPECIAL: return NULL;
    default: return dtype_is_integer(t) ? simplify_integer(x, fn, t, args) : NULL;
    }
}
