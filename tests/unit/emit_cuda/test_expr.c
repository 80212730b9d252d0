/* test_expr.c: the spelling of expressions: brackets, literals, 32 and 64 bits; and index
 * arithmetic that stays exact wherever the ranges allow 32 bits. */
#include "rig.h"
#include <math.h>

static struct rig rig;

#define MAKE(fn, a, b) expr_binary(rig.x, FN_##fn, a, b)

static struct expr *i32(const char *name) {
    return of(&rig, variable(&rig, VAR_PARAM, name, DTYPE_I32));
}

static struct expr *index_of(const char *name, int64_t lo, int64_t hi) {
    return of(&rig, ranged(&rig, name, lo, hi));
}

static void spelled(struct expr *e, const char *want) {
    assert_string_equal(expr_text(&rig, e, false), want);
}

static void brackets(void **state) {
    struct expr *a = index_of("a", 0, 99), *b = index_of("b", 0, 99), *c = index_of("c", 1, 9);
    struct expr *p = MAKE(LT, a, b), *q = MAKE(EQ, b, c), *r = MAKE(LT, c, a);

    (void)state;
    spelled(MAKE(MUL, MAKE(ADD, a, b), c), "c * (a + b)");
    spelled(MAKE(SUB, a, MAKE(SUB, b, c)), "a - b + c");
    spelled(MAKE(LOR, MAKE(LAND, p, q), r), "(a < b && b == c) || c < a");
    spelled(MAKE(LAND, MAKE(LOR, p, q), r), "(a < b || b == c) && c < a");
    spelled(MAKE(FLOORDIV, MAKE(ADD, a, b), ix(&rig, 8)), "(a + b) >> 3");
    spelled(MAKE(FLOORMOD, MAKE(FLOORDIV, a, ix(&rig, 4)), ix(&rig, 8)), "(a >> 2) & 7");
    spelled(MAKE(XOR, MAKE(AND, a, b), c), "(a & b) ^ c");
    spelled(expr_select(rig.x, p, a, b), "a < b ? a : b");
    spelled(MAKE(ADD, expr_select(rig.x, p, a, b), c), "c + (a < b ? a : b)");
    spelled(expr_unary(rig.x, FN_LNOT, MAKE(LAND, p, q)), "!(a < b && b == c)");
}

static void integers_wrap(void **state) {
    struct expr *a = i32("a"), *b = i32("b");

    (void)state;
    spelled(MAKE(ADD, a, b), "(int)((unsigned)a + (unsigned)b)");
    spelled(expr_unary(rig.x, FN_NEG, a), "(int)(0u - (unsigned)a)");
    spelled(MAKE(LT, MAKE(MUL, a, b), a), "(int)((unsigned)a * (unsigned)b) < a");
    spelled(MAKE(FLOORDIV, a, b), "floordiv<int>(a, b)");
    spelled(MAKE(SHL, a, expr_int(rig.x, 3, DTYPE_I32)), "(int)((unsigned)a << 3)");
}

static void widths(void **state) {
    struct expr *small = index_of("i", 0, 1000), *large = index_of("n", 0, INT64_MAX / 8);
    struct expr *row = index_of("r", 0, 1 << 20);

    (void)state;
    spelled(MAKE(ADD, small, ix(&rig, 5)), "i + 5");
    spelled(MAKE(MUL, row, ix(&rig, 1 << 20)), "(long long)r * 1048576LL");
    spelled(MAKE(ADD, large, MAKE(MUL, small, ix(&rig, 3))), "(long long)(i * 3) + n");
    spelled(MAKE(LT, small, large), "(long long)i < n");
    assert_string_equal(expr_text(&rig, MAKE(MUL, row, ix(&rig, 1 << 20)), true), "r * 1048576");
}

static void literals(void **state) {
    static const struct {
        double value;
        enum dtype type;
        const char *text;
    } floats[] = {
        {0.1, DTYPE_F32, "0.1f"},     {1, DTYPE_F32, "1.0f"},
        {-0.0, DTYPE_F32, "(-0.0f)"}, {1e-45, DTYPE_F32, "1e-45f"},
        {1e30, DTYPE_F32, "1e+30f"},  {0.1, DTYPE_F64, "0.1"},
        {-2.5, DTYPE_F64, "(-2.5)"},  {3.4028234663852886e38, DTYPE_F32, "3.4028235e+38f"}};
    static const struct {
        int64_t value;
        enum dtype type;
        const char *text;
    } ints[] = {{INT32_MIN, DTYPE_I32, "(-0x7fffffff - 1)"},
                {INT64_MIN, DTYPE_I64, "(-0x7fffffffffffffffLL - 1)"},
                {5, DTYPE_I64, "5LL"},
                {-1, DTYPE_U32, "0xffffffffu"},
                {-1, DTYPE_U64, "0xffffffffffffffffull"},
                {200, DTYPE_U8, "200"},
                {-7, DTYPE_I8, "(-7)"},
                {1, DTYPE_BOOL, "true"}};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof floats / sizeof *floats; i++)
        spelled(expr_float(rig.x, floats[i].value, floats[i].type), floats[i].text);
    spelled(expr_float(rig.x, 16777216, DTYPE_F32), "16777216.0f");
    spelled(expr_float(rig.x, (double)INFINITY, DTYPE_F32), "__int_as_float(0x7f800000)");
    spelled(expr_float(rig.x, (double)NAN, DTYPE_F64),
            "__longlong_as_double(0x7fffffffffffffffLL)");
    for (i = 0; i < sizeof ints / sizeof *ints; i++)
        spelled(expr_int(rig.x, ints[i].value, ints[i].type), ints[i].text);
}

/* The launcher's C has no functions of the device. */
static void host_floats(void **state) {
    (void)state;
    for (int t = 0; t < 2; t++) {
        enum dtype type = t ? DTYPE_F64 : DTYPE_F32;
        struct expr *x = of(&rig, variable(&rig, VAR_PARAM, "x", type));
        struct expr *number[] = {expr_float(rig.x, (double)INFINITY, type),
                                 expr_float(rig.x, (double)NAN, type)};
        for (int i = 0; i < 2; i++) assert_null(strstr(expr_text(&rig, number[i], true), "__"));
        for (enum function fn = 0; fn < FN_COUNT; fn++) {
            const struct function_row *row = function_row(fn);
            bool takes = row->types == TYPES_FLOAT || row->types == TYPES_SAME ||
                         row->types == TYPES_TEST || row->types == TYPES_COMPARE;
            struct expr *args[] = {x, x, x};
            if (!takes || fn == FN_MIN_NAN || fn == FN_MAX_NAN) continue;
            const char *text = expr_text(
                &rig,
                expr_op(rig.x, fn,
                        row->types == TYPES_TEST || row->types == TYPES_COMPARE ? DTYPE_BOOL : type,
                        row->arity, args),
                true);
            if (strstr(text, "__") || strstr(text, "approx")) fail_msg("%s: %s", row->name, text);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(brackets), cmocka_unit_test(integers_wrap),
                                       cmocka_unit_test(widths), cmocka_unit_test(literals),
                                       cmocka_unit_test(host_floats)};
    int status;

    rig = rig_new("sm_80");
    status = cmocka_run_group_tests(tests, NULL, NULL);
    rig_free(&rig);
    return status;
}
