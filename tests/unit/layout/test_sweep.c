/* test_sweep.c: tile shapes times thread counts: placed in place everywhere, or refused by name. */
#include "held.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void expect_held(struct rig *r, const char *what, int a, int b, int threads) {
    const char *why = held_everywhere(r);
    if (!why) return;
    printf("%s\n%s %d x %d, %d threads: %s\n", rig_dump(r), what, a, b, threads, why);
    fail();
}

/* A matrix product is exact or refused with the legal thread counts. */
static void test_matmul(void **state) {
    static const int rows[] = {1, 16, 17, 48, 64, 128, 288};
    static const int columns[] = {8, 24, 64, 104, 160};
    static const int threads[] = {32, 96, 128, 256, 416, 544};
    int placed = 0, refused = 0;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t j = 0; j < sizeof columns / sizeof *columns; j++)
            for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
                struct rig r = rig_new("sm_80", threads[t]);
                build_matmul(&r, rows[i], columns[j], 32, 2, POLICY_SQUARE);
                int warps = threads[t] / 32, m = (rows[i] + 15) / 16, n = (columns[j] + 7) / 8;
                bool legal = false;
                for (int w = 1; w <= warps; w++)
                    legal |= warps % w == 0 && m % w == 0 && n % (warps / w) == 0;
                int errors = rig_place(&r);
                assert_int_equal(errors == 0, legal);
                if (errors == 0) expect_held(&r, "matmul", rows[i], columns[j], threads[t]);
                errors == 0 ? placed++ : refused++;
                rig_free(&r);
            }
    assert_true(placed > 40 && refused > 40);
}

static void test_softmax(void **state) {
    static const int rows[] = {1, 3, 4, 8, 40};
    static const int columns[] = {1, 31, 36, 100, 128, 576, 1000, 2048};
    static const int threads[] = {32, 96, 128, 256};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t j = 0; j < sizeof columns / sizeof *columns; j++)
            for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
                struct rig r = rig_new("sm_80", threads[t]);
                build_softmax(&r, rows[i], columns[j], false);
                bool fits = rows[i] * columns[j] <= 2048 * threads[t];
                assert_int_equal(rig_place(&r) == 0, fits);
                if (fits) expect_held(&r, "softmax", rows[i], columns[j], threads[t]);
                rig_free(&r);
            }
}

static void test_attention(void **state) {
    static const int shapes[][3] = {{64, 64, 64}, {64, 32, 128}, {128, 64, 64}, {16, 64, 64},
                                    {64, 48, 96}, {1, 64, 64},   {128, 128, 64}};
    static const int threads[] = {32, 64, 128, 256};
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++)
            for (int full_column = 0; full_column < 2; full_column++) {
                struct rig r = rig_new("sm_80", threads[t]);
                (full_column ? build_mla : build_attention)(&r, shapes[i][0], shapes[i][1],
                                                            shapes[i][2]);
                if (rig_place(&r) == 0)
                    expect_held(&r, "attention", shapes[i][0], shapes[i][1], threads[t]);
                rig_free(&r);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matmul),
        cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_attention),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
