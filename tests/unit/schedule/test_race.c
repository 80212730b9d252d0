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

/* -- Random programs -----------------------------------------------------------------------------
 */

struct random {
    struct rig *rig;
    uint32_t seed;
    struct buffer *shared[3], *fragment[2], *tensor;
    int depth;
};

static uint32_t draw(struct random *x, uint32_t n) {
    x->seed = x->seed * 1664525u + 1013904223u;
    return (x->seed >> 8) % n;
}

static struct expr *minus(struct random *x, int a, struct expr *b) {
    return expr_binary(x->rig->m->exprs, FN_SUB, rig_int(x->rig, a), b);
}

/* A MAP from a fragment or shared tile to another, rows or columns turned around. */
static void random_map(struct random *x) {
    struct expr *i, *j;
    struct buffer *to = draw(x, 2) ? x->shared[draw(x, 3)] : x->fragment[draw(x, 2)];
    struct buffer *from =
        to->scope == SCOPE_SHARED ? x->fragment[draw(x, 2)] : x->shared[draw(x, 3)];
    const struct buffer *fragment = to->scope == SCOPE_SHARED ? from : to;
    struct stmt *map = rig_map(x->rig, fragment, &i, &j);
    uint32_t turn = draw(x, 4);
    struct expr *u = turn & 1 ? minus(x, 15, i) : i, *v = turn & 2 ? minus(x, 63, j) : j;
    bool write = to->scope == SCOPE_SHARED;
    struct expr *value = write ? rig_load(x->rig, from, i, j) : rig_load(x->rig, from, u, v);
    rig_store(x->rig, map, to, write ? u : i, write ? v : j,
              expr_cast(x->rig->m->exprs, value, to->dtype));
}

static void random_fill(struct random *x) {
    struct buffer *to = x->shared[draw(x, 3)];
    int part = 8 << draw(x, 2), at = part == 16 ? 0 : 8 * (int)draw(x, 2);
    struct expr *zero = rig_int(x->rig, 0);
    struct region from =
        rig_region(x->tensor, rig_int(x->rig, (int)draw(x, 4) * 16), zero, part, 64);
    rig_copy(x->rig, from, rig_region(to, rig_int(x->rig, at), zero, part, 64));
}

static void random_block(struct random *x, int count);

static void random_loop(struct random *x) {
    struct expr *k;
    struct block *outer = x->rig->at;
    enum loop_kind kind = draw(x, 2) ? LOOP_PIPELINED : LOOP_SERIAL;
    rig_loop(x->rig, kind, draw(x, 2) ? rig_int(x->rig, (int)draw(x, 5)) : rig_int(x->rig, 3),
             (int)draw(x, 4), &k);
    struct buffer *to = x->shared[draw(x, 3)];
    struct expr *row = expr_binary(x->rig->m->exprs, FN_MUL, k, rig_int(x->rig, 16));
    if (draw(x, 2))
        rig_copy(x->rig, rig_region(x->tensor, row, rig_int(x->rig, 0), 16, 64),
                 rig_whole(x->rig, to));
    random_block(x, 1 + (int)draw(x, 4));
    x->rig->at = outer;
}

static void random_branch(struct random *x) {
    struct block *outer = x->rig->at;
    struct stmt *s = stmt_new(x->rig->m, STMT_IF, (struct span){0, 0});
    struct expr *dim =
        expr_var(x->rig->m->exprs, x->rig->f->params.at[x->rig->f->params.count - 1].var);
    s->branch.test =
        expr_binary(x->rig->m->exprs, FN_LT, dim, rig_int(x->rig, 1 + (int)draw(x, 2)));
    block_append(outer, s);
    x->rig->at = &s->branch.then;
    random_block(x, 1 + (int)draw(x, 2));
    x->rig->at = &s->branch.otherwise;
    if (draw(x, 2)) random_block(x, 1 + (int)draw(x, 2));
    x->rig->at = outer;
}

static void random_block(struct random *x, int count) {
    x->depth++;
    for (int i = 0; i < count; i++) {
        uint32_t what = draw(x, 10);
        if (what < 5 || x->depth > 3)
            random_map(x);
        else if (what < 7)
            random_fill(x);
        else if (what < 9)
            random_loop(x);
        else
            random_branch(x);
    }
    x->depth--;
}

static struct rig random_program(uint32_t seed) {
    struct rig r = rig_new(seed % 5 ? "sm_80" : "sm_75", 128);
    struct random x = {.rig = &r, .seed = seed};
    static const char *const names[] = {"S", "T", "U"};
    x.tensor = rig_global(&r, "X", DTYPE_F32, 128, 64);
    for (int i = 0; i < 3; i++) x.shared[i] = rig_shared(&r, names[i], DTYPE_F32, 16, 64);
    x.fragment[0] = rig_fragment(&r, "a", DTYPE_F32, 16, 64);
    x.fragment[1] = rig_fragment(&r, "b", DTYPE_F16, 16, 64);
    rig_dim(&r, "n");
    random_block(&x, 6);
    return r;
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
