/* test_arith.c: element arithmetic against references that share nothing with it. */
#include "world.h"
#include <math.h>

/* -- formats, decoded from the definition
 * ----------------------------------------------------------- */
struct format {
    enum dtype t;
    int exponent, mantissa, bits;
    bool finite_only; /* e4m3: the top exponent holds numbers, but for one NaN */
};

static const struct format formats[] = {{DTYPE_F16, 5, 10, 16, false},
                                        {DTYPE_BF16, 8, 7, 16, false},
                                        {DTYPE_E4M3, 4, 3, 8, true},
                                        {DTYPE_E5M2, 5, 2, 8, false}};

static double decode(const struct format *f, uint64_t bits) {
    int field = (int)(bits >> f->mantissa) & ((1 << f->exponent) - 1);
    double fraction = (double)(bits & ((1u << f->mantissa) - 1)) / (1 << f->mantissa);
    double sign = bits >> (f->bits - 1) ? -1 : 1;
    int bias = (1 << (f->exponent - 1)) - 1;
    if (field == (1 << f->exponent) - 1 && !f->finite_only)
        return fraction > 0 ? (double)NAN : sign * (double)INFINITY;
    if (f->finite_only && (bits & 0x7f) == 0x7f) return (double)NAN;
    if (field == 0) return sign * fraction * pow(2, 1 - bias);
    return sign * (1 + fraction) * pow(2, field - bias);
}

static bool same(double a, double b) {
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static void decodes_all(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
        for (uint64_t bits = 0; bits < (uint64_t)1 << formats[k].bits; bits++) {
            union scalar v = scalar_of_bits(bits, formats[k].t);
            if (!same(v.f, decode(&formats[k], bits)))
                fail_msg("%s %#x", dtype_spelling(formats[k].t), (unsigned)bits);
            if (!isnan(v.f) && scalar_bits(v, formats[k].t) != bits)
                fail_msg("%s %#x back", dtype_spelling(formats[k].t), (unsigned)bits);
            if (isnan(v.f) && !isnan(scalar_of_bits(scalar_bits(v, formats[k].t), formats[k].t).f))
                fail_msg("%s %#x is no NaN any more", dtype_spelling(formats[k].t), (unsigned)bits);
        }
}

/* Between neighbours a < b: below the middle a, above it b, on it the even one. */
static void check_between(const struct format *f, uint64_t bits) {
    double a = decode(f, bits), b = decode(f, bits + 1), middle = (a + b) / 2;
    if (!isfinite(b)) return;
    double even = bits % 2 == 0 ? a : b, step = b - a;
    for (double sign = -1; sign <= 1; sign += 2) {
        assert_true(scalar_round(sign * middle, f->t) == sign * even);
        assert_true(scalar_round(sign * (middle - step / 1024), f->t) == sign * a);
        assert_true(scalar_round(sign * (middle + step / 1024), f->t) == sign * b);
        assert_true(scalar_round(sign * a, f->t) == sign * a);
    }
}

static void rounds_to_nearest_even(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
        for (uint64_t bits = 0; bits < (uint64_t)1 << (formats[k].bits - 1); bits++)
            if (isfinite(decode(&formats[k], bits))) check_between(&formats[k], bits);
}

static const struct {
    double value;
    enum dtype to;
    double rounded;
} edges[] = {
    {65519.99, DTYPE_F16, 65504},
    {65520, DTYPE_F16, INFINITY},
    {-65520, DTYPE_F16, -INFINITY},
    {0x1p-25, DTYPE_F16, 0},
    {0x1.8p-25, DTYPE_F16, 0x1p-24},
    {3.4e38, DTYPE_BF16, INFINITY},
    {449, DTYPE_E4M3, 448},
    {1e9, DTYPE_E4M3, 448},
    {-INFINITY, DTYPE_E4M3, -448},
    {INFINITY, DTYPE_E5M2, 57344},
    {1e9, DTYPE_E5M2, 57344},
    {0x1.002p0, DTYPE_TF32, 0x1.004p0},
    {0x1.001fp0, DTYPE_TF32, 1},
    {0x1.006p0, DTYPE_TF32, 0x1.008p0},
    {-0x1.002p0, DTYPE_TF32, -0x1.004p0},
    {1e300, DTYPE_F32, INFINITY},
    {0x1.000001p0, DTYPE_F32, 1},
    {0.1, DTYPE_F64, 0.1},
};

static void rounds_at_the_edges(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        if (!same(scalar_round(edges[i].value, edges[i].to), edges[i].rounded))
            fail_msg("%a to %s gives %a", edges[i].value, dtype_spelling(edges[i].to),
                     scalar_round(edges[i].value, edges[i].to));
}

/* -- conversions
 * ------------------------------------------------------------------------------------ */
static const struct {
    double from_float; /* if `from` is a float */
    int64_t from_integer;
    enum dtype from, to;
    double to_float;
    int64_t to_integer;
} casts[] = {
    {2.9, 0, DTYPE_F32, DTYPE_I32, 0, 2},
    {-2.9, 0, DTYPE_F32, DTYPE_I32, 0, -2},
    {3e9, 0, DTYPE_F32, DTYPE_I32, 0, INT32_MAX},
    {-3e9, 0, DTYPE_F32, DTYPE_I32, 0, INT32_MIN},
    {NAN, 0, DTYPE_F32, DTYPE_I32, 0, 0},
    {INFINITY, 0, DTYPE_F32, DTYPE_I64, 0, INT64_MAX},
    {-INFINITY, 0, DTYPE_F64, DTYPE_I64, 0, INT64_MIN},
    {-5, 0, DTYPE_F32, DTYPE_U8, 0, 0},
    {300, 0, DTYPE_F32, DTYPE_U8, 0, 255},
    {-200, 0, DTYPE_F32, DTYPE_I8, 0, -128},
    {1e30, 0, DTYPE_F32, DTYPE_U64, 0, -1},
    {0x1p63, 0, DTYPE_F32, DTYPE_U64, 0, INT64_MIN},
    {0.5, 0, DTYPE_F32, DTYPE_BOOL, 0, 1},
    {0, 300, DTYPE_I32, DTYPE_U8, 0, 44},
    {0, 200, DTYPE_I32, DTYPE_I8, 0, -56},
    {0, -1, DTYPE_I32, DTYPE_U32, 0, UINT32_MAX},
    {0, -1, DTYPE_I32, DTYPE_U64, 0, -1},
    {0, 2, DTYPE_I32, DTYPE_BOOL, 0, 1},
    {0, -1, DTYPE_U64, DTYPE_F32, 0x1p64, 0},
    {0, 16777217, DTYPE_I32, DTYPE_F32, 16777216, 0},
    {0, 16777219, DTYPE_I32, DTYPE_F32, 16777220, 0},
    {0, 70000, DTYPE_I32, DTYPE_F16, INFINITY, 0},
    {0, 1000, DTYPE_I32, DTYPE_E4M3, 448, 0},
    {1 + 0x1p-11 + 0x1p-40, 0, DTYPE_F64, DTYPE_F16, 1 + 0x1p-10, 0}, /* rounded once */
    {1e5, 0, DTYPE_F32, DTYPE_F16, INFINITY, 0},
    {0x1.002p0, 0, DTYPE_F32, DTYPE_TF32, 0x1.004p0, 0},
};

static void converts(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof casts / sizeof *casts; i++) {
        union scalar v = {.i = casts[i].from_integer};
        if (dtype_is_float(casts[i].from)) v.f = scalar_round(casts[i].from_float, casts[i].from);
        union scalar r = scalar_cast(v, casts[i].from, casts[i].to);
        bool good =
            dtype_is_float(casts[i].to) ? same(r.f, casts[i].to_float) : r.i == casts[i].to_integer;
        if (!good) fail_msg("cast %d", (int)i);
    }
}

/* -- integer operations
 * ------------------------------------------------------------------------------ */
static const struct {
    enum function fn;
    enum dtype t;
    int64_t a, b, result;
} integers[] = {
    {FN_ADD, DTYPE_I32, INT32_MAX, 1, INT32_MIN},
    {FN_ADD, DTYPE_U8, 250, 10, 4},
    {FN_SUB, DTYPE_U32, 0, 1, UINT32_MAX},
    {FN_MUL, DTYPE_I16, 300, 300, 24464},
    {FN_MUL, DTYPE_I64, INT64_MAX, 2, -2},
    {FN_NEG, DTYPE_I32, INT32_MIN, 0, INT32_MIN},
    {FN_ABS, DTYPE_I8, -128, 0, -128},
    {FN_ABS, DTYPE_I64, INT64_MIN, 0, INT64_MIN},
    {FN_ABS, DTYPE_U64, -1, 0, -1},
    {FN_FLOORDIV, DTYPE_I32, -7, 2, -4},
    {FN_FLOORDIV, DTYPE_I32, 7, -2, -4},
    {FN_FLOORDIV, DTYPE_I32, -7, -2, 3},
    {FN_FLOORMOD, DTYPE_I32, -7, 2, 1},
    {FN_FLOORMOD, DTYPE_I32, 7, -2, -1},
    {FN_FLOORMOD, DTYPE_I32, -8, 2, 0},
    {FN_TRUNCDIV, DTYPE_I32, -7, 2, -3},
    {FN_TRUNCMOD, DTYPE_I32, -7, 2, -1},
    {FN_FLOORDIV, DTYPE_I32, 5, 0, 0},
    {FN_FLOORMOD, DTYPE_I64, 5, 0, 0},
    {FN_FLOORDIV, DTYPE_I64, INT64_MIN, -1, INT64_MIN},
    {FN_FLOORDIV, DTYPE_I32, INT32_MIN, -1, INT32_MIN},
    {FN_FLOORMOD, DTYPE_I64, INT64_MIN, -1, 0},
    {FN_FLOORDIV, DTYPE_U64, -1, 2, INT64_MAX},
    {FN_FLOORMOD, DTYPE_U64, -1, 10, 5},
    {FN_MIN, DTYPE_U64, -1, 1, 1},
    {FN_MAX, DTYPE_I64, -1, 1, 1},
    {FN_LT, DTYPE_U64, 1, -1, 1},
    {FN_LE, DTYPE_U64, -1, 1, 0},
    {FN_LT, DTYPE_I64, -1, 1, 1},
    {FN_SHL, DTYPE_I32, 1, 31, INT32_MIN},
    {FN_SHL, DTYPE_I32, 1, 32, 0},
    {FN_SHL, DTYPE_U8, 0xff, 4, 0xf0},
    {FN_SHR, DTYPE_I32, -8, 1, -4},
    {FN_SHR, DTYPE_I32, -8, 40, -1},
    {FN_SHR, DTYPE_U32, 0x80000000, 31, 1},
    {FN_SHR, DTYPE_U64, -1, 63, 1},
    {FN_NOT, DTYPE_U8, 0x0f, 0, 0xf0},
    {FN_NOT, DTYPE_BOOL, 1, 0, 0},
    {FN_POPCOUNT, DTYPE_I8, -1, 0, 8},
    {FN_POPCOUNT, DTYPE_U64, -1, 0, 64},
    {FN_CLZ, DTYPE_I32, 1, 0, 31},
    {FN_CLZ, DTYPE_U16, 0, 0, 16},
    {FN_CLZ, DTYPE_I64, 0, 0, 64},
    {FN_LAND, DTYPE_BOOL, 1, 0, 0},
    {FN_LOR, DTYPE_BOOL, 1, 0, 1},
};

static void computes_integers(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        union scalar args[2] = {{.i = integers[i].a}, {.i = integers[i].b}};
        int64_t r = scalar_op(integers[i].fn, integers[i].t, args).i;
        if (r != integers[i].result)
            fail_msg("%s of %s, row %d: %lld", function_row(integers[i].fn)->name,
                     dtype_spelling(integers[i].t), (int)i, (long long)r);
    }
}

/* -- float operations
 * -------------------------------------------------------------------------------- */
static const struct {
    enum function fn;
    enum dtype t;
    double a, b, c, result;
} floats[] = {
    {FN_MIN, DTYPE_F32, NAN, 2, 0, 2},
    {FN_MAX, DTYPE_F16, 2, NAN, 0, 2},
    {FN_MIN, DTYPE_F32, 0.0, -0.0, 0, -0.0},
    {FN_MAX, DTYPE_F32, -0.0, 0.0, 0, 0.0},
    {FN_MIN_NAN, DTYPE_F32, NAN, 2, 0, NAN},
    {FN_MAX_NAN, DTYPE_F32, 1, 2, 0, 2},
    {FN_ROUND, DTYPE_F32, 2.5, 0, 0, 3},
    {FN_ROUND, DTYPE_F32, -2.5, 0, 0, -3},
    {FN_RINT, DTYPE_F32, 2.5, 0, 0, 2},
    {FN_TRUNC, DTYPE_F32, -2.5, 0, 0, -2},
    {FN_FLOOR, DTYPE_F32, -2.5, 0, 0, -3},
    {FN_ADD, DTYPE_F16, 2048, 1, 0, 2048},
    {FN_ADD, DTYPE_F16, 60000, 60000, 0, INFINITY},
    {FN_ADD, DTYPE_BF16, 256, 1, 0, 256},
    {FN_ADD, DTYPE_F32, 16777216, 1, 0, 16777216},
    {FN_DIV, DTYPE_F32, 1, 0, 0, INFINITY},
    {FN_DIV, DTYPE_F32, 0, 0, 0, NAN},
    {FN_FMA, DTYPE_F32, 0x1.000002p0, 0x1.000002p0, -0x1.000004p0, 0x1p-46},
    {FN_FMOD, DTYPE_F32, -5.5, 2, 0, -1.5},
    {FN_COPYSIGN, DTYPE_F32, 3, -0.0, 0, -3},
    {FN_NEXTAFTER, DTYPE_F32, 1, 2, 0, 0x1.000002p0},
    {FN_NEXTAFTER, DTYPE_F16, 1, 0, 0, 0x1.ffcp-1},
    {FN_NEXTAFTER, DTYPE_F32, 0, -1, 0, -0x1p-149},
    {FN_NEXTAFTER, DTYPE_F64, -1, 0, 0, -0x1.fffffffffffffp-1},
    {FN_LDEXP, DTYPE_F32, 3, 4, 0, 48},
    {FN_LDEXP, DTYPE_F32, 3, -1e9, 0, 0},
    {FN_SIGMOID, DTYPE_F32, 0, 0, 0, 0.5},
    {FN_RSQRT, DTYPE_F32, 4, 0, 0, 0.5},
    {FN_EXP2, DTYPE_F16, 3, 0, 0, 8},
    {FN_EXP10, DTYPE_F32, 2, 0, 0, 100},
    {FN_FAST_DIV, DTYPE_F32, 1, 4, 0, 0.25},
    {FN_FAST_RCP, DTYPE_F32, 4, 0, 0, 0.25},
    {FN_HYPOT, DTYPE_F32, 3, 4, 0, 5},
};

static void computes_floats(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
        union scalar args[3] = {{.f = floats[i].a}, {.f = floats[i].b}, {.f = floats[i].c}};
        double r = scalar_op(floats[i].fn, floats[i].t, args).f;
        if (!same(r, floats[i].result))
            fail_msg("%s, row %d: %a", function_row(floats[i].fn)->name, (int)i, r);
    }
}

/* Double arithmetic rounded once is float arithmetic. */
static void agrees_with_the_host(void **state) {
    (void)state;
    uint64_t seed = 42;
    for (int i = 0; i < 200000; i++) {
        uint32_t p = (uint32_t)world_random(&seed), q = (uint32_t)world_random(&seed);
        union scalar args[2] = {scalar_of_bits(p, DTYPE_F32), scalar_of_bits(q, DTYPE_F32)};
        float a = (float)args[0].f, b = (float)args[1].f;
        assert_true(same(scalar_op(FN_ADD, DTYPE_F32, args).f, (double)(a + b)));
        assert_true(same(scalar_op(FN_SUB, DTYPE_F32, args).f, (double)(a - b)));
        assert_true(same(scalar_op(FN_MUL, DTYPE_F32, args).f, (double)(a * b)));
        assert_true(same(scalar_op(FN_DIV, DTYPE_F32, args).f, (double)(a / b)));
        assert_true(same(scalar_op(FN_SQRT, DTYPE_F32, args).f, (double)sqrtf(a)));
    }
}

/* -- packed words
 * ------------------------------------------------------------------------------------ */
static void packs(void **state) {
    (void)state;
    union scalar f[4] = {{.f = 1.0}, {.f = -2.0}, {0}, {0}};
    assert_int_equal(scalar_op(FN_PACK_F16, DTYPE_U32, f).i, 0xc0003c00);
    assert_int_equal(scalar_op(FN_PACK_BF16, DTYPE_U32, f).i, 0xc0003f80);
    union scalar b[4] = {{.i = 0x111}, {.i = 0x22}, {.i = 0x33}, {.i = 0x44}};
    assert_int_equal(scalar_op(FN_PACK_8, DTYPE_U32, b).i, 0x44332211);
    assert_int_equal(scalar_op(FN_PACK_16, DTYPE_U32, b).i, 0x220111);
    union scalar part[2] = {{.i = 0x44332211}, {.i = 1}};
    assert_int_equal(scalar_op(FN_PART_16, DTYPE_U32, part).i, 0x4433);
    assert_int_equal(scalar_op(FN_PART_8, DTYPE_U32, part).i, 0x22);
    union scalar one = {.f = 1.0};
    assert_int_equal(scalar_op(FN_BITS_F32, DTYPE_F32, &one).i, 0x3f800000);
    assert_int_equal(scalar_op(FN_F32_TO_E4M3, DTYPE_F32, &one).i, 0x38);
    union scalar half = {.i = 0xffff3c00};
    assert_true(scalar_op(FN_F16_TO_F32, DTYPE_U32, &half).f == 1.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decodes_all),          cmocka_unit_test(rounds_to_nearest_even),
        cmocka_unit_test(rounds_at_the_edges),  cmocka_unit_test(converts),
        cmocka_unit_test(computes_integers),    cmocka_unit_test(computes_floats),
        cmocka_unit_test(agrees_with_the_host), cmocka_unit_test(packs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
