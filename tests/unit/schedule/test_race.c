/* test_race.c: every schedule of a sweep, run thread by thread: nothing may be unordered. */
#include "race.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static int without_barriers(struct block *b) {
    int removed = 0;
    for (struct stmt *s = b->first, *next; s; s = next) {
        next = s->next;
        if (s->kind == STMT_FOR) removed += without_barriers(&s->loop.body);
        if (s->kind != STMT_BARRIER) continue;
        block_remove(b, s);
        removed++;
    }
    return removed;
}

static void check(struct rig *r, int64_t trip, const char *what) {
    const char *why = NULL;
    int races = count_races(r, trip, &why);
    if (races) print_message("%s, %d trips: %s\n%s\n", what, (int)trip, why, rig_dump(r));
    assert_int_equal(races, 0);
}

static void test_matmul(void **state) {
    (void)state;
    static const int tiles[][4] = {
        {64, 64, 32, 2}, {128, 64, 64, 4}, {16, 64, 48, 1}, {64, 96, 32, 4}};
    for (int stages = 0; stages <= 4; stages++)
        for (size_t t = 0; t < sizeof tiles / sizeof *tiles; t++)
            for (int target = 0; target < 2; target++) {
                struct shape s = {.m = 256,
                                  .n = 256,
                                  .k = 2048,
                                  .stages = stages,
                                  .threads = 128,
                                  .dynamic = true};
                s.block_m = tiles[t][0];
                s.block_n = tiles[t][1];
                s.block_k = tiles[t][2];
                s.row_warps = tiles[t][3];
                s.transpose_a = t == 1;
                s.transpose_b = t > 1;
                s.target = target ? "sm_75" : "sm_80";
                struct rig r = build_matmul(&s);
                run_schedule(&r);
                assert_int_equal(diag_errors(r.m->diag), 0);
                const int64_t trips[] = {0, 1, 2, stages - 1, stages, stages + 1, 2 * stages + 1};
                for (size_t i = 0; i < sizeof trips / sizeof *trips; i++)
                    if (trips[i] >= 0) check(&r, trips[i], "matmul");
                rig_free(&r);
            }
}

static void test_attention(void **state) {
    (void)state;
    for (int stages = 0; stages <= 3; stages++)
        for (int trips = 1; trips <= 4; trips++) {
            struct shape s = {.m = 64,
                              .k = 64,
                              .block_m = 64,
                              .block_n = 64,
                              .stages = stages,
                              .threads = 128,
                              .row_warps = 4};
            s.n = 64 * trips;
            struct rig r = build_attention(&s);
            run_schedule(&r);
            check(&r, 0, "attention");
            rig_free(&r);
        }
}

static void test_random(void **state) {
    (void)state;
    for (uint32_t seed = 1; seed <= 60; seed++) {
        struct rig r = random_program(seed);
        run_schedule(&r);
        char what[32];
        snprintf(what, sizeof what, "seed %u", seed);
        for (int dim = 0; dim <= 2; dim++) check(&r, dim, what);
        rig_free(&r);
    }
}

/* The oracle must see what it is for. */
static void test_oracle(void **state) {
    (void)state;
    struct shape s = {.m = 64,
                      .n = 64,
                      .k = 256,
                      .block_m = 64,
                      .block_n = 64,
                      .block_k = 32,
                      .stages = 2,
                      .threads = 128,
                      .row_warps = 2};
    struct rig r = build_matmul(&s);
    const char *why;
    run_schedule(&r);
    assert_int_equal(count_races(&r, 0, &why), 0);
    assert_true(without_barriers(&r.k->body) > 0);
    assert_true(count_races(&r, 0, &why) > 0);
    rig_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matmul), cmocka_unit_test(test_attention),
        cmocka_unit_test(test_random), cmocka_unit_test(test_oracle)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
