/* test_pairs.c: functions of packed words and quotients against what they stand for. */
#include "ir/expr.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct {
    enum function pair, one;
    enum dtype t;
} functions[] = {
    {FN_ADD_F16X2, FN_ADD, DTYPE_F16},   {FN_SUB_F16X2, FN_SUB, DTYPE_F16},
    {FN_MUL_F16X2, FN_MUL, DTYPE_F16},   {FN_MIN_F16X2, FN_MIN, DTYPE_F16},
    {FN_MAX_F16X2, FN_MAX, DTYPE_F16},   {FN_ADD_BF16X2, FN_ADD, DTYPE_BF16},
    {FN_SUB_BF16X2, FN_SUB, DTYPE_BF16}, {FN_MUL_BF16X2, FN_MUL, DTYPE_BF16},
    {FN_MIN_BF16X2, FN_MIN, DTYPE_BF16}, {FN_MAX_BF16X2, FN_MAX, DTYPE_BF16},
};

/* The other way: through f32, then rounded. */
static uint64_t through_f32(enum function fn, enum dtype t, uint64_t a, uint64_t b) {
    union scalar args[2] = {scalar_of_bits(a, t), scalar_of_bits(b, t)};
    union scalar v = scalar_op(fn, DTYPE_F32, args);

    return scalar_bits(scalar_cast(v, DTYPE_F32, t), t);
}

static bool is_nan(uint64_t bits, enum dtype t) { return isnan(scalar_of_bits(bits, t).f); }

static bool same(uint64_t a, uint64_t b, enum dtype t) {
    return a == b || (is_nan(a, t) && is_nan(b, t));
}

static void words_hold_two(void **state) {
    static const uint32_t others[] = {0x0000, 0x8000, 0x0001, 0x83ff, 0x0400, 0x3c00,
                                      0xbc01, 0x3f80, 0x7bff, 0x7c00, 0x7e00, 0x7f7f,
                                      0x7f80, 0xffc0, 0x5678, 0x9abc};
    size_t f, i;
    uint32_t a;

    (void)state;
    for (f = 0; f < sizeof functions / sizeof *functions; f++)
        for (i = 0; i < sizeof others / sizeof *others; i++)
            for (a = 0; a < 0x10000; a += i % 4 == 0 ? 1 : 7) {
                uint32_t b = others[i], c = others[(i + a) % 16];
                union scalar args[2] = {{.i = (int64_t)(a | (uint64_t)b << 16)},
                                        {.i = (int64_t)(b | (uint64_t)c << 16)}};
                uint64_t word = (uint64_t)scalar_op(functions[f].pair, DTYPE_U32, args).i;
                enum dtype t = functions[f].t;

                assert_int_equal(word >> 32, 0);
                assert_true(same(word & 0xffff, through_f32(functions[f].one, t, a, b), t));
                assert_true(same(word >> 16, through_f32(functions[f].one, t, b, c), t));
            }
}

static double random_double(uint64_t *seed) {
    uint64_t bits;
    double v;

    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    bits = (*seed & 0x800fffffffffffff) | (uint64_t)(1023 - 30 + *seed % 60) << 52;
    if (*seed % 3 == 0) bits &= ~(uint64_t)0 << 40; /* near what narrow types hold */
    if (*seed % 9 == 0) bits |= 1;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Rounding to odd first, then to the type, is rounding once. */
static void odd_rounds_once(void **state) {
    static const enum dtype types[] = {DTYPE_F16, DTYPE_BF16, DTYPE_E4M3, DTYPE_E5M2, DTYPE_TF32};
    static const double edges[] = {0x1p-149, 0x1.8p-150,     1e300,
                                   -1e300,   0x1.ffffffp127, 65519.999999999,
                                   65520,    1 + 0x1p-11,    1 + 0x1p-11 + 0x1p-40,
                                   -0.0,     0x1p-25,        0x1.0000000001p-25};
    uint64_t seed = 99;
    int i, t;

    (void)state;
    for (i = 0; i < 60000; i++) {
        union scalar v = {.f = i < 12 ? edges[i] : random_double(&seed)};
        union scalar odd = scalar_op(FN_F64_TO_ODD, DTYPE_F64, &v);

        for (t = 0; t < 5; t++) {
            uint64_t once = scalar_bits(scalar_cast(v, DTYPE_F64, types[t]), types[t]);
            uint64_t twice = scalar_bits(scalar_cast(odd, DTYPE_F32, types[t]), types[t]);

            if (once != twice)
                print_error("%a to %s: %llx, not %llx\n", v.f, dtype_letter(types[t]),
                            (unsigned long long)twice, (unsigned long long)once);
            assert_int_equal(once, twice);
        }
    }
}

/* The arithmetic of quotient_by in device.def, with a reciprocal an ulp off on either side. */
static float by_reciprocal(float x, float s, int off) {
    float r = 1.0f / s, q;
    int32_t bits;

    if (isfinite(r) && r != 0) {
        memcpy(&bits, &r, sizeof bits);
        bits += off;
        memcpy(&r, &bits, sizeof r);
    }
    if (fabsf(r) < 0x1p-126f) r = copysignf(0, r);
    if (fabsf(s) < 0x1p-126f) r = copysignf(INFINITY, s);
    r = fmaf(r, fmaf(-s, r, 1.0f), r);
    q = x * r;
    return fmaf(fmaf(-q, s, x), r, q);
}

/* The one fraction that Newton's step rounds right only from the rounded reciprocal, which is what
 * the machine starts from: its own division takes the same steps. */
static bool all_ones(float s) {
    uint32_t bits;

    memcpy(&bits, &s, sizeof bits);
    return (bits & 0x7fffff) == 0x7fffff;
}

static void quotients_are_rounded(void **state) {
    uint64_t seed = 7;
    int i, tested = 0;

    (void)state;
    for (i = 0; i < 300000; i++) {
        double d = random_double(&seed), e = random_double(&seed);
        uint32_t bits[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
        float x, s, q;

        memcpy(&x, &bits[0], sizeof x);
        memcpy(&s, &bits[1], sizeof s);
        if (i % 2) x = (float)d, s = (float)e;
        if (i % 7 == 0) s = nextafterf(ldexpf(1, i % 200 - 100), i % 3 ? 0.0f : INFINITY);
        q = by_reciprocal(x, s, all_ones(s) ? 0 : i % 3 - 1);
        if (!(fabsf(q) >= 0x1p-60f && fabsf(x) >= 0x1p-100f)) continue;
        tested++;
        if (q != x / s)
            print_error("%a / %a by %d: %a, not %a\n", (double)x, (double)s, i % 3 - 1, (double)q,
                        (double)(x / s));
        assert_true(q == x / s);
    }
    assert_true(tested > 100000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_hold_two),
        cmocka_unit_test(odd_rounds_once),
        cmocka_unit_test(quotients_are_rounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
