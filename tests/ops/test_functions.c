/* test_functions.c: every elementwise function and operator against C's own, in every type.
 *
 * A row of functions.def has a case here or the test of the table fails. Each case runs over a list
 * of arguments with zeros, halves, infinities and NaN (or limits of integers), as analysed and
 * after every pass, with the same bits. */
#include "program.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* -- References -------------------------------------------------------------------------------- */

static double exp10_of(double x) { return pow(10.0, x); }
static double rsqrt_of(double x) { return 1.0 / sqrt(x); }
static double sigmoid_of(double x) { return 1.0 / (1.0 + exp(-x)); }
static double rcp_of(double x) { return 1.0 / x; }
static double isnan_of(double x) { return isnan(x) ? 1 : 0; }
static double isinf_of(double x) { return isinf(x) ? 1 : 0; }
static double isfinite_of(double x) { return isfinite(x) ? 1 : 0; }
static double negative_of(double x) { return -x; }
static double not_of(double x) { return !(x > 0); }
static double add_of(double x, double y) { return x + y; }
static double sub_of(double x, double y) { return x - y; }
static double mul_of(double x, double y) { return x * y; }
static double div_of(double x, double y) { return x / y; }
static double lt_of(double x, double y) { return x < y; }
static double le_of(double x, double y) { return x <= y; }
static double eq_of(double x, double y) { return x == y; }
static double ne_of(double x, double y) { return x != y; }
static double and_of(double x, double y) { return x > 0 && y > 0; }
static double or_of(double x, double y) { return x > 0 || y > 0; }
/* The power is cast to an int: it saturates, and NaN stays. */
static double ldexp_of(double x, double y) {
    return isnan(y) ? y : ldexp(x, y > 1e9 ? 1000000000 : y < -1e9 ? -1000000000 : (int)y);
}

/* In the width of the type; results wrap. */
static int64_t abs_int(int64_t x) { return x < 0 ? (int64_t)(0 - (uint64_t)x) : x; }
static int64_t not_int(int64_t x) { return ~x; }
static int64_t negative_int(int64_t x) { return (int64_t)(0 - (uint64_t)x); }
static int64_t add_int(int64_t x, int64_t y) { return (int64_t)((uint64_t)x + (uint64_t)y); }
static int64_t sub_int(int64_t x, int64_t y) { return (int64_t)((uint64_t)x - (uint64_t)y); }
static int64_t mul_int(int64_t x, int64_t y) { return (int64_t)((uint64_t)x * (uint64_t)y); }
static int64_t and_int(int64_t x, int64_t y) { return x & y; }
static int64_t or_int(int64_t x, int64_t y) { return x | y; }
static int64_t xor_int(int64_t x, int64_t y) { return x ^ y; }
static int64_t min_int(int64_t x, int64_t y) { return x < y ? x : y; }
static int64_t max_int(int64_t x, int64_t y) { return x > y ? x : y; }
static int64_t truncdiv_int(int64_t x, int64_t y) { return y == -1 ? negative_int(x) : x / y; }
static int64_t truncmod_int(int64_t x, int64_t y) { return y == -1 ? 0 : x % y; }
static int64_t floormod_int(int64_t x, int64_t y) {
    int64_t r = truncmod_int(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
static int64_t floordiv_int(int64_t x, int64_t y) {
    int64_t q = truncdiv_int(x, y), r = truncmod_int(x, y);
    return r != 0 && (r < 0) != (y < 0) ? q - 1 : q;
}
static int64_t popcount_int(int64_t x, int bits) {
    int64_t n = 0;
    for (int i = 0; i < bits; i++) n += (int64_t)((uint64_t)x >> i & 1);
    return n;
}
static int64_t clz_int(int64_t x, int bits) {
    int64_t n = 0;
    for (int i = bits - 1; i >= 0 && !((uint64_t)x >> i & 1); i--) n++;
    return n;
}

/* -- The table --------------------------------------------------------------------------------- */

struct function_case {
    const char *row;  /* name in functions.def */
    const char *text; /* the expression of x and y */
    double (*unary)(double), (*binary)(double, double);
    int64_t (*unary_int)(int64_t), (*binary_int)(int64_t, int64_t);
    int64_t (*bits_int)(int64_t, int);
    double allowed; /* relative, beyond the type's half unit; for approximations */
    int test;       /* the result is a condition; 2: the operands are conditions, too */
};

#define UNARY(name, f) \
    { .row = name, .text = "T." name "(x)", .unary = f }
#define BINARY(name, f) \
    { .row = name, .text = "T." name "(x, y)", .binary = f }
#define FAST(name, f) \
    { .row = name, .text = "T." name "(x)", .unary = f, .allowed = 2e-6 }
#define BITS(sign, f) \
    { .row = sign, .text = "x " sign " y", .binary_int = f }
static const struct function_case cases[] = {
    {.row = "+", .text = "x + y", .binary = add_of, .binary_int = add_int},
    {.row = "-", .text = "x - y", .binary = sub_of, .binary_int = sub_int},
    {.row = "*", .text = "x * y", .binary = mul_of, .binary_int = mul_int},
    {.row = "/", .text = "x / y", .binary = div_of},
    BITS("//", floordiv_int),
    BITS("%", floormod_int),
    BITS("&", and_int),
    BITS("|", or_int),
    BITS("^", xor_int),
    {.row = "<", .text = "x < y", .binary = lt_of, .test = 1},
    {.row = "<=", .text = "x <= y", .binary = le_of, .test = 1},
    {.row = "==", .text = "x == y", .binary = eq_of, .test = 1},
    {.row = "!=", .text = "x != y", .binary = ne_of, .test = 1},
    {.row = "and", .text = "x > 0 and y > 0", .binary = and_of, .test = 1},
    {.row = "or", .text = "x > 0 or y > 0", .binary = or_of, .test = 1},
    {.row = "not", .text = "not (x > 0)", .unary = not_of, .test = 1},
    {.row = "neg", .text = "-x", .unary = negative_of, .unary_int = negative_int},
    {.row = "bitwise_not", .text = "T.bitwise_not(x)", .unary_int = not_int},
    {.row = "bitwise_not", .text = "~x", .unary_int = not_int},
    {.row = "min", .text = "T.min(x, y)", .binary = fmin, .binary_int = min_int},
    {.row = "max", .text = "T.max(x, y)", .binary = fmax, .binary_int = max_int},
    {.row = "abs", .text = "T.abs(x)", .unary = fabs, .unary_int = abs_int},
    UNARY("floor", floor),
    UNARY("ceil", ceil),
    UNARY("trunc", trunc),
    UNARY("round", round),
    UNARY("rint", rint),
    UNARY("nearbyint", nearbyint),
    UNARY("sqrt", sqrt),
    UNARY("rsqrt", rsqrt_of),
    UNARY("exp", exp),
    UNARY("exp2", exp2),
    UNARY("exp10", exp10_of),
    UNARY("log", log),
    UNARY("log2", log2),
    UNARY("log10", log10),
    UNARY("log1p", log1p),
    UNARY("sin", sin),
    UNARY("cos", cos),
    UNARY("tan", tan),
    UNARY("asin", asin),
    UNARY("acos", acos),
    UNARY("atan", atan),
    BINARY("atan2", atan2),
    UNARY("sinh", sinh),
    UNARY("cosh", cosh),
    UNARY("tanh", tanh),
    UNARY("asinh", asinh),
    UNARY("acosh", acosh),
    UNARY("atanh", atanh),
    UNARY("erf", erf),
    UNARY("sigmoid", sigmoid_of),
    BINARY("pow", pow),
    BINARY("fmod", fmod),
    BINARY("copysign", copysign),
    BINARY("hypot", hypot),
    BINARY("ldexp", ldexp_of),
    {.row = "isnan", .text = "T.isnan(x)", .unary = isnan_of, .test = 1},
    {.row = "isinf", .text = "T.isinf(x)", .unary = isinf_of, .test = 1},
    {.row = "isfinite", .text = "T.isfinite(x)", .unary = isfinite_of, .test = 1},
    FAST("__exp", exp),
    FAST("__exp10", exp10_of),
    FAST("__log", log),
    FAST("__log2", log2),
    FAST("__log10", log10),
    FAST("__sin", sin),
    FAST("__cos", cos),
    FAST("__tan", tan),
    FAST("fast_rcp", rcp_of),
    {.row = "truncdiv", .text = "T.truncdiv(x, y)", .binary_int = truncdiv_int},
    {.row = "truncmod", .text = "T.truncmod(x, y)", .binary_int = truncmod_int},
    {.row = "popcount", .text = "T.popcount(x)", .bits_int = popcount_int},
    {.row = "clz", .text = "T.clz(x)", .bits_int = clz_int},
};
enum { CASES = sizeof cases / sizeof *cases };

/* Rows whose arguments the general cases cannot give; each has a test of its own below. */
static const char *const apart[] = {"<<", ">>", "nextafter", "fma", "min_nan", "max_nan"};
/* Chosen by the compiler, never written: the approximations behind -ffast-math. */
static const char *const chosen[] = {"__exp2", "__div", "__tanh"};

/* -- Running ----------------------------------------------------------------------------------- */

static const double reals[] = {-INFINITY, -100.5, -7,   -2.5, -1.5,  -1,   -0.75,    -0.5, -0.25,
                               -0.0,      0,      0.25, 0.5,  0.625, 0.75, 1,        1.5,  2,
                               2.5,       3,      3.5,  7,    10,    33.5, INFINITY, NAN};
static const int64_t wholes[] = {
    INT64_MIN, INT32_MIN, -32768, -129, -128,  -100,  -17,       -8,         -7,       -3, -2,
    -1,        0,         1,      2,    3,     5,     7,         8,          15,       16, 100,
    127,       128,       255,    256,  32767, 65535, INT32_MAX, UINT32_MAX, INT64_MAX};
enum { REALS = sizeof reals / sizeof *reals, WHOLES = sizeof wholes / sizeof *wholes };
enum { PAIRS = 1024 }; /* every x with every y */

static const char *const float_types[] = {"float32", "float16", "bfloat16", "float64"};
static const char *const integer_types[] = {"int32", "int8",   "int16",  "int64",
                                            "uint8", "uint16", "uint32", "uint64"};

/* Compiles and runs; the program is freed by the caller. */
static struct program *run(const struct function_case *c, const char *type, const char *result,
                           double *x, double *y) {
    struct arena *a = arena_new();
    const char *text =
        arena_printf(a,
                     "@T.prim_func\ndef k(X: T.Tensor((%d,), '%s'), Y: T.Tensor((%d,), '%s'),\n"
                     "      Z: T.Tensor((%d,), '%s')):\n"
                     "    with T.Kernel(1, threads=128) as bx:\n"
                     "        f = T.alloc_fragment((%d,), '%s')\n"
                     "        for i in T.Parallel(%d):\n"
                     "            x = X[i]\n            y = Y[i]\n            f[i] = %s\n"
                     "        T.copy(f, Z)\n",
                     PAIRS, type, PAIRS, type, PAIRS, result, PAIRS, result, PAIRS, c->text);
    struct program *p = program_new(text, "sm_80");
    if (program_refusal(p)) fail_msg("%s\n%s", text, program_refusal(p));
    program_tensors(p);
    struct tensor *tx = program_tensor(p, "X"), *ty = program_tensor(p, "Y");
    for (int i = 0; i < PAIRS && x; i++) {
        tensor_put(tx, i, x[i]);
        tensor_put(ty, i, y[i]);
    }
    for (int i = 0; i < PAIRS && !x; i++) {
        union scalar v = {.i = wholes[i % WHOLES]}, w = {.i = wholes[i / WHOLES % WHOLES]};
        w = scalar_cast(w, DTYPE_I64, ty->dtype);
        if (w.i == 0) w.i = 3; /* a zero divisor gives anything */
        tensor_set(tx, i, scalar_cast(v, DTYPE_I64, tx->dtype));
        tensor_set(ty, i, w);
    }
    const char *why = program_run(p);
    if (program_refusal(p)) why = program_refusal(p);
    if (why) fail_msg("%s in %s:\n%.900s", c->text, type, why);
    arena_free(a);
    return p;
}

/* Half a unit in the last place, and where finite numbers end. */
static double unit_of(enum dtype t, double *largest) {
    switch (t) {
    case DTYPE_F16: *largest = 65504; return 0x1p-11;
    case DTYPE_BF16: *largest = 0x1.fep127; return 0x1p-8;
    case DTYPE_F32: *largest = 0x1.fffffep127; return 0x1p-24;
    default: *largest = 0x1.fffffffffffffp1023; return 0x1p-53;
    }
}

static bool agrees(double got, double want, enum dtype t, double allowed) {
    double largest, unit = unit_of(t, &largest);
    if (isnan(want)) return isnan(got);
    if (got == want) return true;
    double error = (2 * unit + allowed) * fabs(want) + (t == DTYPE_F16    ? 0x1p-24
                                                        : t == DTYPE_BF16 ? 0x1p-133
                                                                          : 0x1p-149);
    if (isinf(got)) return fabs(want) + error >= largest && (got > 0) == (want > 0);
    return fabs(got - want) <= error;
}

static void check_reals(const struct function_case *c, const char *type) {
    double x[PAIRS], y[PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        x[i] = reals[i % REALS];
        y[i] = reals[i / REALS % REALS];
    }
    struct program *p = run(c, type, c->test ? "bool" : type, x, y);
    struct tensor *z = program_tensor(p, "Z");
    for (int i = 0; i < PAIRS; i++) {
        double want = c->unary ? c->unary(x[i]) : c->binary(x[i], y[i]), got = tensor_value(z, i);
        bool good = c->test ? got == want : agrees(got, want, z->dtype, c->allowed);
        if (!good)
            fail_msg("%s of %s at x = %g, y = %g is %.9g, not %.9g", c->text, type, x[i], y[i], got,
                     want);
    }
    program_free(p);
}

static int64_t wanted(const struct function_case *c, int64_t x, int64_t y, enum dtype t) {
    int64_t v = c->bits_int    ? c->bits_int(x, dtype_bits(t))
                : c->unary_int ? c->unary_int(x)
                               : c->binary_int(x, y);
    return scalar_cast((union scalar){.i = v}, DTYPE_I64, t).i;
}

/* Above INT64_MAX the reference, which counts in int64_t, does not divide and order rightly. */
static bool beyond_reference(const struct function_case *c, enum dtype t, int64_t x, int64_t y) {
    static const char *const signs[] = {"//", "%", "min", "max", "abs", "truncdiv", "truncmod"};
    if (t != DTYPE_U64 || (x >= 0 && y >= 0)) return false;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (!strcmp(c->row, signs[i])) return true;
    return false;
}

static void check_wholes(const struct function_case *c, const char *type) {
    struct program *p = run(c, type, type, NULL, NULL);
    struct tensor *x = program_tensor(p, "X"), *y = program_tensor(p, "Y");
    struct tensor *z = program_tensor(p, "Z");
    for (int i = 0; i < PAIRS; i++) {
        int64_t a = tensor_get(x, i).i, b = tensor_get(y, i).i, got = tensor_get(z, i).i;
        int64_t want = wanted(c, a, b, z->dtype);
        if (got != want && !beyond_reference(c, z->dtype, a, b))
            fail_msg("%s of %s at x = %lld, y = %lld is %lld, not %lld", c->text, type,
                     (long long)a, (long long)b, (long long)got, (long long)want);
    }
    program_free(p);
}

static void check_case(void **state) {
    const struct function_case *c = *state;
    for (size_t i = 0; (c->unary || c->binary) && i < sizeof float_types / sizeof *float_types; i++)
        check_reals(c, float_types[i]);
    bool whole = c->unary_int || c->binary_int || c->bits_int;
    for (size_t i = 0; whole && i < sizeof integer_types / sizeof *integer_types; i++)
        check_wholes(c, integer_types[i]);
}

/* -- Rows apart -------------------------------------------------------------------------------- */

static void check_text(const char *text, const char *type, int count, const double *want) {
    struct function_case c = {.row = "", .text = text};
    double x[PAIRS], y[PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        x[i] = i % 8;
        y[i] = i / 8 % 8;
    }
    struct program *p = run(&c, type, type, x, y);
    for (int i = 0; i < count; i++)
        if (tensor_value(program_tensor(p, "Z"), i) != want[i])
            fail_msg("%s at %d is %.9g, not %.9g", text, i, tensor_value(program_tensor(p, "Z"), i),
                     want[i]);
    program_free(p);
}

static void shifts(void **state) {
    (void)state;
    check_text("x << 2", "int32", 8, (const double[]){0, 4, 8, 12, 16, 20, 24, 28});
    check_text("(x - 4) >> 1", "int32", 8, (const double[]){-2, -2, -1, -1, 0, 0, 1, 1});
    check_text("(x + 252) >> 7", "uint8", 8, (const double[]){1, 1, 1, 1, 0, 0, 0, 0});
    check_text("(x + 60) << 2", "int8", 4, (const double[]){-16, -12, -8, -4});
    check_text("T.shift_left(1, x)", "int32", 8, (const double[]){1, 2, 4, 8, 16, 32, 64, 128});
}

static void neighbours(void **state) {
    (void)state;
    check_text("T.nextafter(x, 4.0)", "float32", 4,
               (const double[]){0x1p-149, 0x1.000002p0, 0x1.000002p1, 0x1.800002p1});
    check_text("T.nextafter(x, -1.0)", "float64", 2,
               (const double[]){-0x1p-1074, 0x1.fffffffffffffp-1});
}

/* What the compiler makes itself: T.reduce_max(nan_propagate=True) and contraction to fma. */
static void check_direct(enum function fn, const double *args, double want) {
    union scalar in[3] = {{.f = args[0]}, {.f = args[1]}, {.f = args[2]}};
    double got = scalar_op(fn, DTYPE_F32, in).f;
    assert_true(isnan(want) ? isnan(got) : got == want);
}

static void made_by_passes(void **state) {
    (void)state;
    check_direct(FN_FMA, (const double[]){0x1.001p0, 0x1.001p0, -0x1.002p0}, 0x1p-24);
    check_direct(FN_MIN_NAN, (const double[]){NAN, 1, 0}, NAN);
    check_direct(FN_MIN_NAN, (const double[]){2, 1, 0}, 1);
    check_direct(FN_MAX_NAN, (const double[]){1, NAN, 0}, NAN);
    check_direct(FN_MAX_NAN, (const double[]){2, 1, 0}, 2);
}

/* -- Cover ------------------------------------------------------------------------------------- */

static bool is_covered(const char *name) {
    for (int i = 0; i < CASES; i++)
        if (!strcmp(cases[i].row, name)) return true;
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++)
        if (!strcmp(apart[i], name)) return true;
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++)
        if (!strcmp(chosen[i], name)) return true;
    return false;
}

static void every_row_has_a_case(void **state) {
    (void)state;
    for (int i = 0; i < FN_COUNT; i++) {
        const struct function_row *r = function_row((enum function)i);
        if (r->types != TYPES_SPECIAL && !is_covered(r->name))
            fail_msg("'%s' of functions.def has no case", r->name);
    }
}

int main(void) {
    struct CMUnitTest tests[CASES + 4];
    for (int i = 0; i < CASES; i++)
        tests[i] = (struct CMUnitTest){cases[i].text, check_case, NULL, NULL, (void *)&cases[i]};
    tests[CASES] = (struct CMUnitTest)cmocka_unit_test(shifts);
    tests[CASES + 1] = (struct CMUnitTest)cmocka_unit_test(neighbours);
    tests[CASES + 2] = (struct CMUnitTest)cmocka_unit_test(made_by_passes);
    tests[CASES + 3] = (struct CMUnitTest)cmocka_unit_test(every_row_has_a_case);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
