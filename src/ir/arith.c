/* arith.c: the value of each row of functions.def on one element, as the GPU computes it.
 *
 * Floats are held as doubles that the type represents exactly. For +, -, *, / and sqrt a double
 * result rounded to float equals the float operation (53 >= 2 * 24 + 2), so everything is computed
 * in double and rounded once to float; the narrower types are rounded from that float. */
#include "ir/expr.h"
#include "ir/internal.h"
#include <limits.h>
#include <math.h>
#include <string.h>

/* -- formats
 * --------------------------------------------------------------------------------------- */
struct format {
    int mantissa; /* stored bits */
    int exponent; /* stored bits */
    double largest;
    bool infinite; /* has infinities, and overflow gives them */
};

static const struct format *format_of(enum dtype t) {
    static const struct format f16 = {10, 5, 65504.0, true};
    static const struct format bf16 = {7, 8, 0x1.FEp127, true};
    static const struct format tf32 = {10, 8, 0x1.FFCp127, true};
    static const struct format e4m3 = {3, 4, 448.0, false};
    static const struct format e5m2 = {2, 5, 57344.0, false};
    switch (t) {
    case DTYPE_F16: return &f16;
    case DTYPE_BF16: return &bf16;
    case DTYPE_TF32: return &tf32;
    case DTYPE_E4M3: return &e4m3;
    case DTYPE_E5M2: return &e5m2;
    default: return NULL;
    }
}

static int format_bias(const struct format *f) { return (1 << (f->exponent - 1)) - 1; }

/* To nearest in a small format, halves to even or (TF32's cvt.rna) away from zero. */
static double round_to_format(double v, const struct format *f, bool away) {
    if (v == 0 || isnan(v)) return v;
    if (isinf(v)) return f->infinite ? v : copysign(f->largest, v);
    int exponent;
    frexp(v, &exponent);
    exponent -= 1;
    if (exponent < 1 - format_bias(f)) exponent = 1 - format_bias(f);
    double scaled = ldexp(v, f->mantissa - exponent);
    double r = ldexp(away ? round(scaled) : rint(scaled), exponent - f->mantissa);
    if (fabs(r) > f->largest) return copysign(f->infinite ? (double)INFINITY : f->largest, v);
    return r;
}

double scalar_round(double value, enum dtype to) {
    const struct format *f = format_of(to);
    if (f) return round_to_format(value, f, to == DTYPE_TF32);
    return to == DTYPE_F32 ? (double)(float)value : value;
}

/* The result of an operation computed in double. */
static double round_result(double value, enum dtype t) {
    if (t == DTYPE_F64) return value;
    double single = (double)(float)value;
    return t == DTYPE_F32 ? single : scalar_round(single, t);
}

/* -- storage bits
 * ---------------------------------------------------------------------------------- */
static uint64_t format_encode(double v, const struct format *f, enum dtype t) {
    uint64_t sign = signbit(v) ? (uint64_t)1 << (f->mantissa + f->exponent) : 0;
    uint64_t top = (((uint64_t)1 << f->exponent) - 1) << f->mantissa;
    if (isnan(v)) return top | (((uint64_t)1 << f->mantissa) - 1);
    if (isinf(v)) return t == DTYPE_E4M3 ? sign | 0x7e : sign | top;
    if (v == 0) return sign;
    int exponent;
    frexp(v, &exponent);
    exponent -= 1;
    int bias = format_bias(f);
    int field = exponent + bias;
    if (field < 1) return sign | (uint64_t)ldexp(fabs(v), f->mantissa + bias - 1);
    uint64_t fraction = (uint64_t)ldexp(fabs(v), f->mantissa - exponent);
    return sign | (((uint64_t)field << f->mantissa) + fraction - ((uint64_t)1 << f->mantissa));
}

/* The fields of an f16 or bf16 moved to where f32 has them. */
static double widen16(uint64_t bits, enum dtype t) {
    uint32_t wide = (uint32_t)(bits & 0x7fff) << (t == DTYPE_F16 ? 13 : 16);
    bool special = t == DTYPE_F16 && (bits & 0x7c00) == 0x7c00;
    if (special) wide |= 0x7f800000;
    float v;
    memcpy(&v, &wide, sizeof v);
    if (t == DTYPE_F16 && !special) v *= 0x1p112f;
    return (double)(bits & 0x8000 ? -v : v);
}

static double format_decode(uint64_t bits, const struct format *f, enum dtype t) {
    int fields = (1 << f->exponent) - 1;
    uint64_t fraction = bits & (((uint64_t)1 << f->mantissa) - 1);
    int field = (int)(bits >> f->mantissa) & fields;
    bool negative = (bits >> (f->mantissa + f->exponent)) & 1;
    double v;
    if (t == DTYPE_E4M3 && field == fields && fraction == 7) {
        v = (double)NAN;
    } else if (t != DTYPE_E4M3 && field == fields) {
        v = fraction ? (double)NAN : (double)INFINITY;
    } else if (field == 0) {
        v = ldexp((double)fraction, 1 - format_bias(f) - f->mantissa);
    } else {
        double whole = (double)(fraction | ((uint64_t)1 << f->mantissa));
        v = ldexp(whole, field - format_bias(f) - f->mantissa);
    }
    return negative ? -v : v;
}

uint64_t scalar_bits(union scalar v, enum dtype t) {
    if (t == DTYPE_F64) {
        uint64_t bits;
        memcpy(&bits, &v.f, sizeof bits);
        return bits;
    }
    if (t == DTYPE_F32 || t == DTYPE_TF32) {
        float single = (float)v.f;
        uint32_t bits;
        memcpy(&bits, &single, sizeof bits);
        return bits;
    }
    const struct format *f = format_of(t);
    if (f) return format_encode(v.f, f, t);
    int width = dtype_bits(t);
    return width >= 64 ? (uint64_t)v.i : (uint64_t)v.i & (((uint64_t)1 << width) - 1);
}

union scalar scalar_of_bits(uint64_t bits, enum dtype t) {
    if (t == DTYPE_F64) {
        double v;
        memcpy(&v, &bits, sizeof v);
        return (union scalar){.f = v};
    }
    if (t == DTYPE_F32 || t == DTYPE_TF32) {
        uint32_t low = (uint32_t)bits;
        float v;
        memcpy(&v, &low, sizeof v);
        return (union scalar){.f = (double)v};
    }
    if (t == DTYPE_F16 || t == DTYPE_BF16) return (union scalar){.f = widen16(bits, t)};
    const struct format *f = format_of(t);
    if (f) return (union scalar){.f = format_decode(bits, f, t)};
    if (t == DTYPE_BOOL) return (union scalar){.i = (bits & 0xff) != 0};
    return (union scalar){.i = integer_wrap((int64_t)bits, t)};
}

/* -- conversions
 * ----------------------------------------------------------------------------------- */
int64_t integer_wrap(int64_t v, enum dtype t) {
    int width = dtype_bits(t);
    if (t == DTYPE_BOOL) return v != 0;
    if (width >= 64 || width == 0) return v;
    uint64_t low = (uint64_t)v & (((uint64_t)1 << width) - 1);
    if (dtype_class_of(t) == CLASS_INT && (low >> (width - 1)))
        low |= ~(((uint64_t)1 << width) - 1);
    return (int64_t)low;
}

/* Truncates and saturates; NaN gives 0. */
static int64_t float_to_integer(double v, enum dtype to) {
    if (isnan(v)) return 0;
    v = trunc(v);
    if (to == DTYPE_U64) {
        if (v <= 0) return 0;
        return v >= 0x1p64 ? -1 : (int64_t)(uint64_t)v;
    }
    int width = dtype_bits(to);
    bool is_signed = dtype_class_of(to) != CLASS_UINT;
    double top = ldexp(1.0, is_signed ? width - 1 : width); /* first value above the range */
    double bottom = is_signed ? -top : 0;
    if (v <= bottom)
        return is_signed ? (width == 64 ? INT64_MIN : -((int64_t)1 << (width - 1))) : 0;
    if (v >= top)
        return width == 64 ? INT64_MAX : ((int64_t)1 << (is_signed ? width - 1 : width)) - 1;
    return (int64_t)v;
}

/* Integers reach the 16- and 8-bit floats through f32, as the emitted code does. */
static double integer_to_float(int64_t v, enum dtype from, enum dtype to) {
    bool wide = from == DTYPE_U64;
    if (to == DTYPE_F64) return wide ? (double)(uint64_t)v : (double)v;
    float single = wide ? (float)(uint64_t)v : (float)v;
    return scalar_round((double)single, to);
}

union scalar scalar_cast(union scalar v, enum dtype from, enum dtype to) {
    if (from == to) return v;
    bool from_float = dtype_is_float(from), to_float = dtype_is_float(to);
    if (from_float && to_float) return (union scalar){.f = scalar_round(v.f, to)};
    if (from_float && to == DTYPE_BOOL) return (union scalar){.i = v.f != 0};
    if (from_float) return (union scalar){.i = float_to_integer(v.f, to)};
    if (to_float) return (union scalar){.f = integer_to_float(v.i, from, to)};
    return (union scalar){.i = integer_wrap(v.i, to)};
}

/* -- integers
 * -------------------------------------------------------------------------------------- */
static bool is_unsigned64(enum dtype t) { return t == DTYPE_U64; }

static bool integer_less(int64_t a, int64_t b, enum dtype t) {
    return is_unsigned64(t) ? (uint64_t)a < (uint64_t)b : a < b;
}

/* Quotient and remainder, toward zero or down. A zero divisor gives 0; MIN / -1 wraps. */
static int64_t integer_divide(enum function fn, int64_t a, int64_t b, enum dtype t) {
    bool quotient = fn == FN_FLOORDIV || fn == FN_TRUNCDIV;
    if (b == 0) return 0;
    if (is_unsigned64(t))
        return (int64_t)(quotient ? (uint64_t)a / (uint64_t)b : (uint64_t)a % (uint64_t)b);
    if (b == -1) return quotient ? (int64_t)(0 - (uint64_t)a) : 0;
    int64_t q = a / b, r = a % b;
    bool down = (fn == FN_FLOORDIV || fn == FN_FLOORMOD) && r != 0 && (r < 0) != (b < 0);
    if (quotient) return down ? q - 1 : q;
    return down ? r + b : r;
}

/* Counts at or above the width give 0, or the sign for a signed shift right. */
static int64_t integer_shift(enum function fn, int64_t a, int64_t count, enum dtype t) {
    int width = dtype_bits(t);
    bool over = count < 0 || count >= width;
    if (fn == FN_SHL) return over ? 0 : (int64_t)((uint64_t)a << count);
    if (dtype_class_of(t) == CLASS_UINT) return over ? 0 : (int64_t)((uint64_t)a >> count);
    return over ? (a < 0 ? -1 : 0) : a >> count;
}

static int64_t count_bits(enum function fn, int64_t a, enum dtype t) {
    int width = dtype_bits(t);
    uint64_t bits = width >= 64 ? (uint64_t)a : (uint64_t)a & (((uint64_t)1 << width) - 1);
    if (fn == FN_POPCOUNT) return __builtin_popcountll(bits);
    return bits ? __builtin_clzll(bits) - (64 - width) : width;
}

static int64_t integer_binary(enum function fn, int64_t a, int64_t b, enum dtype t) {
    switch (fn) {
    case FN_ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
    case FN_SUB: return (int64_t)((uint64_t)a - (uint64_t)b);
    case FN_MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
    case FN_AND: return a & b;
    case FN_OR: return a | b;
    case FN_XOR: return a ^ b;
    case FN_SHL:
    case FN_SHR: return integer_shift(fn, a, b, t);
    case FN_MIN: return integer_less(b, a, t) ? b : a;
    case FN_MAX: return integer_less(a, b, t) ? b : a;
    case FN_FLOORDIV:
    case FN_FLOORMOD:
    case FN_TRUNCDIV:
    case FN_TRUNCMOD: return integer_divide(fn, a, b, t);
    default: return 0;
    }
}

static int64_t integer_op(enum function fn, enum dtype t, const union scalar *args) {
    int64_t a = args[0].i;
    switch (fn) {
    case FN_NEG: return (int64_t)(0 - (uint64_t)a);
    case FN_NOT: return t == DTYPE_BOOL ? !a : ~a;
    case FN_ABS: return a < 0 && dtype_class_of(t) != CLASS_UINT ? (int64_t)(0 - (uint64_t)a) : a;
    case FN_POPCOUNT:
    case FN_CLZ: return count_bits(fn, a, t);
    case FN_FMA: return (int64_t)((uint64_t)a * (uint64_t)args[1].i + (uint64_t)args[2].i);
    default: return integer_binary(fn, a, args[1].i, t);
    }
}

/* -- floats
 * ---------------------------------------------------------------------------------------- */
/* -0 counts as below +0. */
static double float_min(double a, double b) {
    if (isnan(a)) return b;
    if (isnan(b)) return a;
    if (a == b) return signbit(a) ? a : b;
    return a < b ? a : b;
}

static double float_max(double a, double b) { return -float_min(-a, -b); }

static double float_next(double x, double y, enum dtype t) {
    if (isnan(x) || isnan(y)) return (double)NAN;
    if (x == y) return y;
    uint64_t bits = scalar_bits((union scalar){.f = x}, t);
    uint64_t sign = (uint64_t)1 << (dtype_bits(t) - 1);
    if (x == 0)
        bits = (y < 0 ? sign : 0) | 1;
    else
        bits = (y > x) == (x > 0) ? bits + 1 : bits - 1;
    return scalar_of_bits(bits, t).f;
}

static double float_ldexp(double x, double y) {
    if (isnan(y)) return (double)NAN;
    return ldexp(x, y > 4096 ? 4096 : y < -4096 ? -4096 : (int)y);
}

static double float_unary(enum function fn, double a) {
    switch (fn) {
    case FN_NEG: return -a;
    case FN_ABS: return fabs(a);
    case FN_FLOOR: return floor(a);
    case FN_CEIL: return ceil(a);
    case FN_TRUNC: return trunc(a);
    case FN_ROUND: return round(a);
    case FN_RINT:
    case FN_NEARBYINT: return rint(a);
    case FN_SQRT: return sqrt(a);
    case FN_RSQRT: return 1.0 / sqrt(a);
    case FN_EXP:
    case FN_FAST_EXP: return exp(a);
    case FN_EXP2:
    case FN_FAST_EXP2: return exp2(a);
    case FN_EXP10:
    case FN_FAST_EXP10: return pow(10.0, a);
    case FN_LOG:
    case FN_FAST_LOG: return log(a);
    case FN_LOG2:
    case FN_FAST_LOG2: return log2(a);
    case FN_LOG10:
    case FN_FAST_LOG10: return log10(a);
    case FN_LOG1P: return log1p(a);
    case FN_ERF: return erf(a);
    case FN_SIGMOID: return 1.0 / (1.0 + exp(-a));
    case FN_FAST_RCP: return 1.0 / a;
    default: return (double)NAN;
    }
}

static double float_trigonometry(enum function fn, double a) {
    switch (fn) {
    case FN_SIN:
    case FN_FAST_SIN: return sin(a);
    case FN_COS:
    case FN_FAST_COS: return cos(a);
    case FN_TAN:
    case FN_FAST_TAN: return tan(a);
    case FN_ASIN: return asin(a);
    case FN_ACOS: return acos(a);
    case FN_ATAN: return atan(a);
    case FN_SINH: return sinh(a);
    case FN_COSH: return cosh(a);
    case FN_TANH:
    case FN_FAST_TANH: return tanh(a);
    case FN_ASINH: return asinh(a);
    case FN_ACOSH: return acosh(a);
    case FN_ATANH: return atanh(a);
    default: return float_unary(fn, a);
    }
}

static double float_binary(enum function fn, double a, double b) {
    switch (fn) {
    case FN_ADD: return a + b;
    case FN_SUB: return a - b;
    case FN_MUL: return a * b;
    case FN_DIV:
    case FN_FAST_DIV: return a / b;
    case FN_MIN: return float_min(a, b);
    case FN_MAX: return float_max(a, b);
    case FN_MIN_NAN: return isnan(a) || isnan(b) ? (double)NAN : float_min(a, b);
    case FN_MAX_NAN: return isnan(a) || isnan(b) ? (double)NAN : float_max(a, b);
    case FN_ATAN2: return atan2(a, b);
    case FN_POW: return pow(a, b);
    case FN_FMOD: return fmod(a, b);
    case FN_COPYSIGN: return copysign(a, b);
    case FN_HYPOT: return hypot(a, b);
    case FN_LDEXP: return float_ldexp(a, b);
    default: return (double)NAN;
    }
}

static double float_fma(double a, double b, double c, enum dtype t) {
    if (t == DTYPE_F64) return fma(a, b, c);
    return scalar_round((double)fmaf((float)a, (float)b, (float)c), t);
}

static double float_op(enum function fn, enum dtype t, const union scalar *args) {
    int arity = function_row(fn)->arity;
    if (fn == FN_FMA) return float_fma(args[0].f, args[1].f, args[2].f, t);
    if (fn == FN_NEXTAFTER) return float_next(args[0].f, args[1].f, t);
    if (arity == 1) return round_result(float_trigonometry(fn, args[0].f), t);
    return round_result(float_binary(fn, args[0].f, args[1].f), t);
}

/* -- conditions
 * ------------------------------------------------------------------------------------ */
static bool compare(enum function fn, enum dtype t, union scalar a, union scalar b) {
    bool is_float = dtype_is_float(t);
    switch (fn) {
    case FN_LT: return is_float ? a.f < b.f : integer_less(a.i, b.i, t);
    case FN_LE: return is_float ? a.f <= b.f : !integer_less(b.i, a.i, t);
    case FN_EQ: return is_float ? a.f == b.f : a.i == b.i;
    default: return is_float ? a.f != b.f : a.i != b.i;
    }
}

static bool test(enum function fn, const union scalar *args) {
    switch (fn) {
    case FN_LAND: return args[0].i && args[1].i;
    case FN_LOR: return args[0].i || args[1].i;
    case FN_LNOT: return !args[0].i;
    case FN_ISNAN: return isnan(args[0].f);
    case FN_ISINF: return isinf(args[0].f);
    default: return isfinite(args[0].f);
    }
}

/* -- packed words
 * ---------------------------------------------------------------------------------- */
static uint64_t narrow_bits(double v, enum dtype t) {
    return scalar_bits((union scalar){.f = scalar_round(v, t)}, t);
}

/* The function of one element that a function of pairs does twice, and the type of the element. */
static bool pair_function(enum function fn, enum function *one, enum dtype *t) {
    static const enum function row[][3] = {{FN_ADD, FN_ADD_F16X2, FN_ADD_BF16X2},
                                           {FN_SUB, FN_SUB_F16X2, FN_SUB_BF16X2},
                                           {FN_MUL, FN_MUL_F16X2, FN_MUL_BF16X2},
                                           {FN_MIN, FN_MIN_F16X2, FN_MIN_BF16X2},
                                           {FN_MAX, FN_MAX_F16X2, FN_MAX_BF16X2}};
    for (int i = 0; i < 5; i++) {
        if (fn != row[i][1] && fn != row[i][2]) continue;
        *one = row[i][0];
        *t = fn == row[i][1] ? DTYPE_F16 : DTYPE_BF16;
        return true;
    }
    return false;
}

static int64_t pair_op(enum function fn, enum dtype t, uint64_t a, uint64_t b) {
    uint64_t word = 0;
    for (int shift = 0; shift < 32; shift += 16) {
        union scalar args[2] = {scalar_of_bits(a >> shift & 0xffff, t),
                                scalar_of_bits(b >> shift & 0xffff, t)};
        word |= scalar_bits((union scalar){.f = float_op(fn, t, args)}, t) << shift;
    }
    return (int64_t)word;
}

static int64_t pack(enum function fn, const union scalar *args) {
    uint64_t a = (uint64_t)args[0].i, b = (uint64_t)args[1].i;
    switch (fn) {
    case FN_PACK_F16:
        return (int64_t)(narrow_bits(args[0].f, DTYPE_F16) | narrow_bits(args[1].f, DTYPE_F16)
                                                                 << 16);
    case FN_PACK_BF16:
        return (int64_t)(narrow_bits(args[0].f, DTYPE_BF16) | narrow_bits(args[1].f, DTYPE_BF16)
                                                                  << 16);
    case FN_PACK_16: return (int64_t)((a & 0xffff) | (b & 0xffff) << 16);
    case FN_PACK_8:
        return (int64_t)((a & 0xff) | (b & 0xff) << 8 | ((uint64_t)args[2].i & 0xff) << 16 |
                         ((uint64_t)args[3].i & 0xff) << 24);
    case FN_PART_16: return (int64_t)(a >> (16 * (b & 1)) & 0xffff);
    default: return (int64_t)(a >> (8 * (b & 3)) & 0xff);
    }
}

/* Toward zero, and odd where that is inexact. */
static double round_to_odd(double v) {
    float near = (float)v, f = near;
    if (isnan(v)) return v;
    if (fabs((double)near) > fabs(v)) f = nextafterf(near, 0.0f);
    if ((double)f == v) return v;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    bits |= 1;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

static union scalar special_op(enum function fn, const union scalar *args) {
    uint64_t bits = (uint64_t)args[0].i;
    enum function one;
    enum dtype t;
    if (pair_function(fn, &one, &t))
        return (union scalar){.i = pair_op(one, t, bits, (uint64_t)args[1].i)};
    switch (fn) {
    case FN_F16_TO_F32: return scalar_of_bits(bits & 0xffff, DTYPE_F16);
    case FN_BF16_TO_F32: return scalar_of_bits(bits & 0xffff, DTYPE_BF16);
    case FN_E4M3_TO_F32: return scalar_of_bits(bits & 0xff, DTYPE_E4M3);
    case FN_E5M2_TO_F32: return scalar_of_bits(bits & 0xff, DTYPE_E5M2);
    case FN_F32_BITS: return scalar_of_bits(bits & 0xffffffff, DTYPE_F32);
    case FN_F32_TO_F16: return (union scalar){.i = (int64_t)narrow_bits(args[0].f, DTYPE_F16)};
    case FN_F32_TO_BF16: return (union scalar){.i = (int64_t)narrow_bits(args[0].f, DTYPE_BF16)};
    case FN_F32_TO_E4M3: return (union scalar){.i = (int64_t)narrow_bits(args[0].f, DTYPE_E4M3)};
    case FN_F32_TO_E5M2: return (union scalar){.i = (int64_t)narrow_bits(args[0].f, DTYPE_E5M2)};
    case FN_F32_TO_TF32: return (union scalar){.i = (int64_t)narrow_bits(args[0].f, DTYPE_TF32)};
    case FN_F64_TO_ODD: return (union scalar){.f = round_to_odd(args[0].f)};
    case FN_BITS_F32: return (union scalar){.i = (int64_t)scalar_bits(args[0], DTYPE_F32)};
    case FN_NEAR_RECIPROCAL:
    case FN_RECIPROCAL: return (union scalar){.f = (double)(1.0f / (float)args[0].f)};
    case FN_DIVIDE:
    case FN_QUOTIENT_BY:
    case FN_DIVIDE_BY: return (union scalar){.f = (double)((float)args[0].f / (float)args[1].f)};
    case FN_SHUFFLE_XOR:
    case FN_SHUFFLE:
    case FN_ANY: return args[0]; /* one lane alone */
    default: return (union scalar){.i = pack(fn, args)};
    }
}

union scalar scalar_op(enum function fn, enum dtype type, const union scalar *args) {
    switch (function_row(fn)->types) {
    case TYPES_COMPARE: return (union scalar){.i = compare(fn, type, args[0], args[1])};
    case TYPES_LOGIC:
    case TYPES_TEST: return (union scalar){.i = test(fn, args)};
    case TYPES_SPECIAL: return special_op(fn, args);
    default: break;
    }
    if (dtype_is_float(type)) return (union scalar){.f = float_op(fn, type, args)};
    return (union scalar){.i = integer_wrap(integer_op(fn, type, args), type)};
}
