/* range.c: ranges and divisors of integer expressions, from those of their arguments.
 *
 * INT64_MIN and INT64_MAX stand for "unbounded" and absorb what is added to them; a bound that
 * would overflow becomes unbounded. INDEX is exact, so its bounds are those of the mathematical
 * result; the other types wrap, so a result that may leave the type has the type's whole range. */
#include "ir/expr.h"
#include "ir/internal.h"

static const struct interval unknown = {INT64_MIN, INT64_MAX, 1};

int64_t gcd64(int64_t a, int64_t b) {
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    while (y) {
        uint64_t r = x % y;
        x = y;
        y = r;
    }
    return x > INT64_MAX ? 1 : (int64_t)x;
}

int64_t floor_div(int64_t a, int64_t b) {
    int64_t q = a / b;
    return a % b < 0 ? q - 1 : q;
}

struct interval interval_of(const struct expr *e) {
    return (struct interval){e->lo, e->hi, e->divisor};
}

struct interval interval_type(enum dtype t) {
    int width = dtype_bits(t);
    if (t == DTYPE_BOOL) return (struct interval){0, 1, 1};
    if (width >= 64 || width == 0 || dtype_is_float(t)) return unknown;
    if (dtype_class_of(t) == CLASS_UINT) return (struct interval){0, ((int64_t)1 << width) - 1, 1};
    return (struct interval){-((int64_t)1 << (width - 1)), ((int64_t)1 << (width - 1)) - 1, 1};
}

/* -- arithmetic on bounds
 * -------------------------------------------------------------------------- */
static int64_t add_bound(int64_t a, int64_t b, int64_t unbounded) {
    int64_t sum;
    if (a == unbounded || b == unbounded || __builtin_add_overflow(a, b, &sum)) return unbounded;
    return sum;
}

static int64_t negate_bound(int64_t a) {
    return a == INT64_MIN ? INT64_MAX : a == INT64_MAX ? INT64_MIN : -a;
}

/* Saturates, which for a bound means "unbounded". */
static int64_t multiply_bound(int64_t a, int64_t b) {
    int64_t product;
    if (a == 0 || b == 0) return 0;
    bool infinite = a == INT64_MIN || a == INT64_MAX || b == INT64_MIN || b == INT64_MAX;
    if (!infinite && !__builtin_mul_overflow(a, b, &product)) return product;
    return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

static int64_t divide_bound(int64_t a, int64_t b) { /* b > 0 */
    if (a == INT64_MIN || a == INT64_MAX) return a;
    if (b == INT64_MAX) return a < 0 ? -1 : 0;
    return floor_div(a, b);
}

static struct interval hull(const int64_t *value, int count) {
    struct interval r = {value[0], value[0], 1};
    for (int i = 1; i < count; i++) {
        if (value[i] < r.lo) r.lo = value[i];
        if (value[i] > r.hi) r.hi = value[i];
    }
    if (r.lo == INT64_MAX) r.lo = INT64_MIN;
    if (r.hi == INT64_MIN) r.hi = INT64_MAX;
    return r;
}

static int64_t multiply_divisors(int64_t a, int64_t b) {
    int64_t product;
    if (!__builtin_mul_overflow(a, b, &product)) return product;
    return a > b ? a : b;
}

struct interval interval_add(struct interval a, struct interval b) {
    return (struct interval){add_bound(a.lo, b.lo, INT64_MIN), add_bound(a.hi, b.hi, INT64_MAX),
                             gcd64(a.divisor, b.divisor)};
}

static struct interval negate(struct interval a) {
    return (struct interval){negate_bound(a.hi), negate_bound(a.lo), a.divisor};
}

static struct interval multiply(struct interval a, struct interval b) {
    int64_t corner[4] = {multiply_bound(a.lo, b.lo), multiply_bound(a.lo, b.hi),
                         multiply_bound(a.hi, b.lo), multiply_bound(a.hi, b.hi)};
    struct interval r = hull(corner, 4);
    r.divisor = multiply_divisors(a.divisor, b.divisor);
    return r;
}

struct interval interval_scale(struct interval a, int64_t factor) {
    int64_t size = factor == INT64_MIN ? 1 : factor < 0 ? -factor : factor;
    return multiply(a, (struct interval){factor, factor, size});
}

/* A zero divisor gives an unspecified value, so a divisor that may be zero says nothing. */
static struct interval floor_divide(struct interval a, struct interval b) {
    if (b.lo < 1) return unknown;
    int64_t corner[4] = {divide_bound(a.lo, b.lo), divide_bound(a.lo, b.hi),
                         divide_bound(a.hi, b.lo), divide_bound(a.hi, b.hi)};
    struct interval r = hull(corner, 4);
    if (b.lo == b.hi && a.divisor % b.lo == 0) r.divisor = a.divisor / b.lo;
    return r;
}

static struct interval floor_remainder(struct interval a, struct interval b) {
    if (b.lo < 1) return unknown;
    if (a.lo >= 0 && a.hi < b.lo) return a;
    struct interval r = {0, b.hi == INT64_MAX ? INT64_MAX : b.hi - 1, gcd64(a.divisor, b.divisor)};
    if (a.lo >= 0 && a.hi < r.hi) r.hi = a.hi;
    return r;
}

static struct interval truncate_divide(enum function fn, struct interval a, struct interval b) {
    if (a.lo >= 0) return fn == FN_TRUNCDIV ? floor_divide(a, b) : floor_remainder(a, b);
    if (b.lo < 1 || fn == FN_TRUNCDIV) return unknown;
    int64_t top = b.hi == INT64_MAX ? INT64_MAX : b.hi - 1;
    return (struct interval){negate_bound(top), top, gcd64(a.divisor, b.divisor)};
}

/* The power of two that divides every value: bit operations keep it. */
static int64_t low_power(int64_t divisor) {
    return divisor == 0 ? (int64_t)1 << 62 : divisor & -divisor;
}

static struct interval bit_and(struct interval a, struct interval b) {
    int64_t x = low_power(a.divisor), y = low_power(b.divisor);
    if (a.lo < 0 && b.lo < 0) return (struct interval){INT64_MIN, INT64_MAX, x > y ? x : y};
    int64_t top = a.lo < 0 ? b.hi : b.lo < 0 ? a.hi : a.hi < b.hi ? a.hi : b.hi;
    return (struct interval){0, top, x > y ? x : y};
}

static struct interval bit_or(struct interval a, struct interval b) {
    int64_t x = low_power(a.divisor), y = low_power(b.divisor);
    if (a.lo < 0 || b.lo < 0) return (struct interval){INT64_MIN, INT64_MAX, x < y ? x : y};
    uint64_t top = (uint64_t)(a.hi > b.hi ? a.hi : b.hi);
    for (int shift = 1; shift < 64; shift *= 2) top |= top >> shift;
    return (struct interval){0, (int64_t)top, x < y ? x : y};
}

static struct interval shift(enum function fn, struct interval a, struct interval b) {
    if (b.lo < 0 || b.hi > 62)
        return fn == FN_SHR && a.lo >= 0 && b.lo >= 0 ? (struct interval){0, a.hi, 1} : unknown;
    int64_t least = (int64_t)1 << b.lo, most = (int64_t)1 << b.hi;
    if (fn == FN_SHL) return multiply(a, (struct interval){least, most, least});
    return floor_divide(a, (struct interval){least, most, least});
}

static struct interval extreme(enum function fn, struct interval a, struct interval b) {
    struct interval r = {a.lo, a.hi, gcd64(a.divisor, b.divisor)};
    bool low = fn == FN_MIN;
    if (low ? b.lo < a.lo : b.lo > a.lo) r.lo = b.lo;
    if (low ? b.hi < a.hi : b.hi > a.hi) r.hi = b.hi;
    return r;
}

static struct interval absolute(struct interval a) {
    if (a.lo >= 0) return a;
    struct interval n = negate(a);
    if (a.hi <= 0) return n;
    return (struct interval){0, n.hi > a.hi ? n.hi : a.hi, a.divisor};
}

/* -- nodes
 * ----------------------------------------------------------------------------------------- */
static struct interval binary(enum function fn, struct interval a, struct interval b) {
    switch (fn) {
    case FN_ADD: return interval_add(a, b);
    case FN_SUB: return interval_add(a, negate(b));
    case FN_MUL: return multiply(a, b);
    case FN_FLOORDIV: return floor_divide(a, b);
    case FN_FLOORMOD: return floor_remainder(a, b);
    case FN_TRUNCDIV:
    case FN_TRUNCMOD: return truncate_divide(fn, a, b);
    case FN_AND: return bit_and(a, b);
    case FN_OR:
    case FN_XOR: return bit_or(a, b);
    case FN_SHL:
    case FN_SHR: return shift(fn, a, b);
    case FN_MIN:
    case FN_MAX: return extreme(fn, a, b);
    default: return unknown;
    }
}

/* As if integers had no end. */
static struct interval exact(const struct expr *e) {
    struct interval a = interval_of(e->args[0]);
    int bits = dtype_bits(e->dtype);
    switch (e->fn) {
    case FN_NEG: return negate(a);
    case FN_ABS: return absolute(a);
    case FN_NOT: return interval_add(negate(a), (struct interval){-1, -1, 1});
    case FN_POPCOUNT:
    case FN_CLZ: return (struct interval){0, bits, 1};
    case FN_PART_16: return (struct interval){0, 0xffff, 1};
    case FN_PART_8: return (struct interval){0, 0xff, 1};
    default: break;
    }
    enum function_types types = function_row(e->fn)->types;
    if (e->count != 2 || types == TYPES_SPECIAL || types == TYPES_COMPARE) return unknown;
    return binary(e->fn, a, interval_of(e->args[1]));
}

/* U64 above INT64_MAX reads as negative here, so nothing is known where that may happen. */
static bool may_read_negative(const struct expr *e) {
    if (e->fn == FN_SUB && e->dtype == DTYPE_U64) return true;
    for (int i = 0; i < e->count; i++)
        if (e->args[i]->dtype == DTYPE_U64 && e->args[i]->lo < 0) return true;
    return false;
}

static bool fits(struct interval r, enum dtype t) {
    if (t == DTYPE_INDEX) return true;
    struct interval whole = interval_type(t);
    if (t == DTYPE_U64) whole.lo = 0;
    if (dtype_bits(t) >= 64 && (r.lo == INT64_MIN || r.hi == INT64_MAX)) return false;
    return r.lo >= whole.lo && r.hi <= whole.hi;
}

bool op_is_exact(const struct expr *e) {
    if (e->kind != EXPR_OP || !dtype_is_integer(e->dtype) || may_read_negative(e)) return false;
    return e->dtype == DTYPE_INDEX || fits(exact(e), e->dtype);
}

static struct interval either(struct interval a, struct interval b) {
    return (struct interval){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi,
                             gcd64(a.divisor, b.divisor)};
}

struct interval interval_node(const struct expr *e) {
    struct interval whole = interval_type(e->dtype), r = whole;
    if (e->kind == EXPR_INT) {
        bool huge = e->integer == INT64_MIN;
        return (struct interval){e->integer, e->integer,
                                 huge             ? 1
                                 : e->integer < 0 ? -e->integer
                                                  : e->integer};
    }
    if (e->dtype == DTYPE_BOOL || !dtype_is_integer(e->dtype)) return whole;
    if (e->kind == EXPR_VAR)
        r = (struct interval){e->var->lo, e->var->hi, e->var->divisor};
    else if (e->kind == EXPR_SELECT)
        r = either(interval_of(e->args[1]), interval_of(e->args[2]));
    else if (e->kind == EXPR_CAST && !dtype_is_float(e->args[0]->dtype) &&
             !(e->args[0]->dtype == DTYPE_U64 && e->args[0]->lo < 0))
        r = interval_of(e->args[0]);
    else if (e->kind == EXPR_OP && !may_read_negative(e))
        r = exact(e);
    if (e->kind == EXPR_VAR &&
        e->dtype != DTYPE_U64) { /* a range wider than the type is narrowed */
        if (r.lo < whole.lo) r.lo = whole.lo;
        if (r.hi > whole.hi) r.hi = whole.hi;
        return r;
    }
    if (e->dtype == DTYPE_U64 && r.lo < 0) return whole;
    bool narrow = dtype_bits(e->dtype) < 64;
    if ((narrow || e->kind == EXPR_OP) && !fits(r, e->dtype)) return whole;
    return r;
}
