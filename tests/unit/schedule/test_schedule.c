/* test_schedule.c: what the schedule makes of small placed kernels. */
#include "rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void show(struct rig *r) {
    if (getenv("SHOW")) puts(rig_dump(r));
}

static const struct shape MATMUL = {.m = 128,
                                    .n = 128,
                                    .k = 256,
                                    .block_m = 128,
                                    .block_n = 128,
                                    .block_k = 32,
                                    .stages = 3,
                                    .threads = 128,
                                    .row_warps = 2};
static const struct shape ATTENTION = {.m = 64,
                                       .n = 512,
                                       .k = 64,
                                       .block_m = 64,
                                       .block_n = 64,
                                       .block_k = 64,
                                       .stages = 2,
                                       .threads = 128,
                                       .row_warps = 4};

static void expect(const struct rig *r, const struct block *b, int barriers, int waits) {
    (void)r;
    assert_int_equal(count_kind(b, STMT_BARRIER, true), barriers);
    assert_int_equal(count_kind(b, STMT_WAIT, true), waits);
}

static void test_serial_matmul(void **state) {
    (void)state;
    struct shape s = MATMUL;
    s.stages = 0;
    struct rig r = build_matmul(&s);
    run_schedule(&r);
    show(&r);
    struct stmt *loop = find_loop(&r.k->body);
    expect(&r, &loop->loop.body, 2, 1);
    expect(&r, &r.k->body, 0, 0);
    rig_free(&r);
}

static void test_ring(void **state) {
    (void)state;
    for (int stages = 2; stages <= 4; stages++) {
        struct shape s = MATMUL;
        s.stages = stages;
        s.block_m = s.block_n = 64;
        struct rig r = build_matmul(&s);
        run_schedule(&r);
        if (stages == 3) show(&r);
        struct stmt *loop = find_loop(&r.k->body);
        expect(&r, &loop->loop.body, 1, 1);
        assert_int_equal(loop->loop.body.first->kind, STMT_WAIT);
        assert_int_equal(loop->loop.body.first->wait.groups, stages - 2);
        assert_int_equal(count_kind(&r.k->body, STMT_BARRIER, true), 0);
        assert_int_equal(find_buffer(&r, "A_shared")->ring, stages);
        rig_free(&r);
    }
}

static void test_mainloop(void **state) {
    (void)state;
    struct rig r = build_matmul(&MATMUL);
    run_schedule(&r);
    show(&r);
    struct stmt *loop = find_loop(&r.k->body);
    expect(&r, &loop->loop.body, 1, 1);
    expect(&r, &r.k->body, 1, 2);
    assert_int_equal(find_buffer(&r, "A_shared_frag")->extent[0], 2);
    rig_free(&r);
}

static void test_attention(void **state) {
    (void)state;
    struct shape s = ATTENTION;
    struct rig r = build_attention(&s);
    run_schedule(&r);
    show(&r);
    struct stmt *loop = find_loop(&r.k->body);
    expect(&r, &loop->loop.body, 1, 1);
    expect(&r, &r.k->body, 1, 2);
    rig_free(&r);
    s.stages = 1;
    r = build_attention(&s);
    run_schedule(&r);
    show(&r);
    loop = find_loop(&r.k->body);
    expect(&r, &loop->loop.body, 2, 2);
    rig_free(&r);
}

/* The ring is filled by plain copies where cp.async is missing: same slots, no groups. */
static void test_ring_without_async(void **state) {
    (void)state;
    struct shape s = MATMUL;
    s.target = "sm_75";
    struct rig r = build_matmul(&s);
    run_schedule(&r);
    show(&r);
    struct stmt *loop = find_loop(&r.k->body);
    expect(&r, &loop->loop.body, 1, 0);
    assert_int_equal(count_kind(&r.k->body, STMT_COMMIT, false), 0);
    assert_int_equal(find_buffer(&r, "A_shared")->ring, 3);
    rig_free(&r);
}

/* -- Loads that may not run ahead ----------------------------------------------------------------
 */

enum twist {
    TWIST_NONE,
    TWIST_READ_FIRST,   /* the tile is read before its load: the value of the iteration before */
    TWIST_MODIFIED,     /* the tile is also written by threads */
    TWIST_SOURCE,       /* the tensor is written in the loop */
    TWIST_AFTER,        /* the last tile is read after the loop */
    TWIST_GUARD,        /* the load is conditional, the read is not */
    TWIST_GUARD_BOTH,   /* load and read under one condition */
    TWIST_INDEX,        /* the index is computed in the loop, from what the loop does not change */
    TWIST_INDEX_WRITTEN /* … from what it does */
};

static struct expr *tile_index(struct rig *r, enum twist t, struct buffer *x, struct expr *k) {
    if (t != TWIST_INDEX && t != TWIST_INDEX_WRITTEN) return k;
    struct buffer *from = t == TWIST_INDEX ? rig_global(r, "table", DTYPE_I32, 1, 64) : x;
    struct stmt *let = stmt_new(r->m, STMT_LET, (struct span){0, 0});
    let->let.var =
        var_new(r->m->exprs, VAR_LET, intern_text(r->m->names, "at"), DTYPE_INDEX, let->span);
    let->let.var->lo = 0;
    let->let.var->hi = 63;
    let->let.var->divisor = 1;
    let->let.value = expr_cast(r->m->exprs, rig_load(r, from, rig_int(r, 0), k), DTYPE_INDEX);
    block_append(r->at, let);
    return expr_var(r->m->exprs, let->let.var);
}

/* S = X[k]; Y += S, with the twist. */
static struct rig build_twisted(enum twist t, int stages) {
    struct rig r = rig_new("sm_80", 128);
    struct expr *i, *j, *k, *zero = rig_int(&r, 0);
    struct buffer *x = rig_global(&r, "X", DTYPE_I32, 64 * 16, 64),
                  *y = rig_global(&r, "Y", DTYPE_I32, 16, 64);
    struct buffer *s = rig_shared(&r, "S", DTYPE_I32, 16, 64);
    struct buffer *sum = rig_fragment(&r, "sum", DTYPE_I32, 16, 64);
    rig_zero(&r, sum);
    struct stmt *loop = rig_loop(&r, LOOP_PIPELINED, rig_int(&r, 8), stages, &k);
    struct expr *at = expr_binary(r.m->exprs, FN_MUL, tile_index(&r, t, x, k), rig_int(&r, 16));
    struct expr *test = expr_binary(r.m->exprs, FN_NE, k, rig_int(&r, 3));
    struct stmt *branch = stmt_new(r.m, STMT_IF, (struct span){0, 0});
    branch->branch.test = test;
    bool guard = t == TWIST_GUARD || t == TWIST_GUARD_BOTH;
    if (guard) {
        block_append(r.at, branch);
        r.at = &branch->branch.then;
    }
    if (t != TWIST_READ_FIRST) rig_copy(&r, rig_region(x, at, zero, 16, 64), rig_whole(&r, s));
    r.at = &loop->loop.body;
    if (t == TWIST_GUARD_BOTH) {
        branch = stmt_new(r.m, STMT_IF, (struct span){0, 0});
        branch->branch.test = test;
        block_append(r.at, branch);
        r.at = &branch->branch.then;
    }
    struct stmt *map = rig_map(&r, sum, &i, &j);
    /* another thread's element, so that the order matters */
    struct expr *other = expr_binary(r.m->exprs, FN_SUB, rig_int(&r, 15), i);
    rig_store(&r, map, sum, i, j,
              expr_binary(r.m->exprs, FN_ADD, rig_load(&r, sum, i, j), rig_load(&r, s, other, j)));
    r.at = &loop->loop.body;
    if (t == TWIST_MODIFIED) {
        map = rig_map(&r, s, &i, &j);
        rig_store(&r, map, s, i, j, expr_int(r.m->exprs, 7, DTYPE_I32));
    }
    if (t == TWIST_SOURCE || t == TWIST_INDEX_WRITTEN) {
        map = rig_map(&r, s, &i, &j);
        rig_store(&r, map, x, i, j, rig_load(&r, sum, i, j));
    }
    if (t == TWIST_READ_FIRST) rig_copy(&r, rig_region(x, at, zero, 16, 64), rig_whole(&r, s));
    r.at = &r.k->body;
    if (t == TWIST_AFTER) {
        map = rig_map(&r, sum, &i, &j);
        rig_store(&r, map, sum, i, j, rig_load(&r, s, i, j));
    }
    rig_copy(&r, rig_whole(&r, sum), rig_region(y, zero, zero, 16, 64));
    return r;
}

static void test_twists(void **state) {
    (void)state;
    static const struct {
        enum twist twist;
        int slots;
    } cases[] = {{TWIST_NONE, 3},       {TWIST_READ_FIRST, 0}, {TWIST_MODIFIED, 0},
                 {TWIST_SOURCE, 0},     {TWIST_AFTER, 0},      {TWIST_GUARD, 0},
                 {TWIST_GUARD_BOTH, 3}, {TWIST_INDEX, 3},      {TWIST_INDEX_WRITTEN, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rig r = build_twisted(cases[i].twist, 3);
        run_schedule(&r);
        show(&r);
        if (find_buffer(&r, "S")->ring != cases[i].slots)
            print_message("twist %d\n", cases[i].twist);
        assert_int_equal(find_buffer(&r, "S")->ring, cases[i].slots);
        struct stmt *loop = find_loop(&r.k->body);
        if (cases[i].slots && cases[i].twist != TWIST_GUARD_BOTH)
            expect(&r, &loop->loop.body, 1, 1);
        rig_free(&r);
    }
}

/* -- Budgets -------------------------------------------------------------------------------------
 */

static void test_budget(void **state) {
    (void)state;
    struct shape s = MATMUL;
    s.block_k = 64;
    s.target = "sm_75"; /* 64 KiB: two stages of 32 */
    struct rig r = build_matmul(&s);
    run_schedule(&r);
    assert_int_equal(find_buffer(&r, "A_shared")->ring, 2);
    assert_int_equal(diag_warnings(r.m->diag), 1);
    assert_int_equal(r.k->shared_bytes, 65536);
    rig_free(&r);
    s.block_k = 256;
    r = build_matmul(&s);
    run_schedule(&r);
    assert_int_equal(diag_errors(r.m->diag), 1);
    rig_free(&r);
}

/* -- Barriers ------------------------------------------------------------------------------------
 */

/* S[i] = …; branch on the thread's number; within it an exchange through S. */
static struct rig build_divergent(bool exchange) {
    struct rig r = rig_new("sm_80", 128);
    struct expr *zero = rig_int(&r, 0);
    struct buffer *y = rig_global(&r, "Y", DTYPE_I32, 1, 128),
                  *s = rig_shared(&r, "S", DTYPE_I32, 1, 128);
    r.k->thread = var_new(r.m->exprs, VAR_THREAD, intern_text(r.m->names, "tx"), DTYPE_INDEX,
                          (struct span){0, 0});
    r.k->thread->lo = 0;
    r.k->thread->hi = 127;
    r.k->thread->divisor = 1;
    struct expr *tx = expr_var(r.m->exprs, r.k->thread);
    struct stmt *branch = stmt_new(r.m, STMT_IF, (struct span){0, 0});
    branch->branch.test = expr_binary(r.m->exprs, FN_LT, tx, rig_int(&r, 64));
    rig_store(&r, NULL, s, zero, tx, expr_int(r.m->exprs, 1, DTYPE_I32));
    block_append(r.at, branch);
    r.at = &branch->branch.then;
    struct expr *other = expr_binary(r.m->exprs, FN_SUB, rig_int(&r, 127), tx);
    if (exchange) rig_store(&r, NULL, s, zero, tx, expr_int(r.m->exprs, 2, DTYPE_I32));
    rig_store(&r, NULL, y, zero, tx, rig_load(&r, s, zero, other));
    r.at = &r.k->body;
    return r;
}

static void test_divergent(void **state) {
    (void)state;
    struct rig r = build_divergent(false);
    run_schedule(&r);
    show(&r);
    assert_int_equal(diag_errors(r.m->diag), 0);
    expect(&r, &r.k->body, 1, 0);
    rig_free(&r);
    r = build_divergent(true);
    run_schedule(&r);
    assert_int_equal(diag_errors(r.m->diag), 1);
    rig_free(&r);
}

/* Each thread reads back what it wrote: no barrier; a barrier where the layouts differ. */
static void test_own_elements(void **state) {
    (void)state;
    for (int other = 0; other < 2; other++) {
        struct rig r = rig_new("sm_80", 128);
        struct expr *i, *j;
        struct buffer *s = rig_shared(&r, "S", DTYPE_F32, 32, 64),
                      *a = rig_fragment(&r, "a", DTYPE_F32, 32, 64);
        struct buffer *b = rig_fragment(&r, "b", other ? DTYPE_F16 : DTYPE_F32, 32, 64);
        rig_zero(&r, a);
        rig_copy(&r, rig_whole(&r, a), rig_whole(&r, s));
        struct stmt *map = rig_map(&r, b, &i, &j);
        rig_store(&r, map, b, i, j, expr_cast(r.m->exprs, rig_load(&r, s, i, j), b->dtype));
        run_schedule(&r);
        expect(&r, &r.k->body, other, 0);
        rig_free(&r);
    }
}

/* T.Parallel: S[i, j] = x; y = S[31 - i, j]. Two MAPs, a barrier between them. */
static void test_divided_map(void **state) {
    (void)state;
    for (int branch = 0; branch < 2; branch++) {
        struct rig r = rig_new("sm_80", 128);
        struct expr *i, *j;
        struct buffer *s = rig_shared(&r, "S", DTYPE_F32, 32, 64),
                      *a = rig_fragment(&r, "a", DTYPE_F32, 32, 64);
        struct stmt *map = rig_map(&r, a, &i, &j),
                    *two = stmt_new(r.m, STMT_IF, (struct span){0, 0});
        struct stmt *let = stmt_new(r.m, STMT_LET, (struct span){0, 0});
        let->let.var =
            var_new(r.m->exprs, VAR_LET, intern_text(r.m->names, "turned"), DTYPE_INDEX, let->span);
        let->let.value = expr_binary(r.m->exprs, FN_SUB, rig_int(&r, 31), i);
        struct expr *turned = expr_var(r.m->exprs, let->let.var);
        block_append(&map->map.body, let);
        if (branch) {
            two->branch.test = expr_binary(r.m->exprs, FN_LT, j, rig_int(&r, 8));
            block_append(&map->map.body, two);
            r.at = &two->branch.then;
        } else {
            r.at = &map->map.body;
        }
        rig_store(&r, NULL, s, i, j, expr_float(r.m->exprs, 1, DTYPE_F32));
        rig_store(&r, NULL, a, i, j, rig_load(&r, s, turned, j));
        r.at = &r.k->body;
        run_schedule(&r);
        show(&r);
        assert_int_equal(diag_errors(r.m->diag), branch);
        assert_int_equal(count_kind(&r.k->body, STMT_MAP, true), branch ? 1 : 2);
        if (!branch) expect(&r, &r.k->body, 1, 0);
        rig_free(&r);
    }
}

/* A tensor that one statement writes and the next reads elsewhere. */
static void test_global(void **state) {
    (void)state;
    struct rig r = rig_new("sm_80", 128);
    struct expr *i, *j, *zero = rig_int(&r, 0);
    struct buffer *x = rig_global(&r, "X", DTYPE_F32, 16, 64);
    struct buffer *a = rig_fragment(&r, "a", DTYPE_F32, 16, 64);
    rig_zero(&r, a);
    rig_copy(&r, rig_whole(&r, a), rig_region(x, zero, zero, 16, 64));
    struct stmt *map = rig_map(&r, a, &i, &j);
    rig_store(&r, map, a, i, j,
              rig_load(&r, x, expr_binary(r.m->exprs, FN_SUB, rig_int(&r, 15), i), j));
    run_schedule(&r);
    expect(&r, &r.k->body, 1, 0);
    rig_free(&r);
}

/* while S[0, 0] < 3: every iteration writes what the test reads. */
static void test_while(void **state) {
    (void)state;
    for (int jump = 0; jump < 2; jump++) {
        struct rig r = rig_new("sm_80", 128);
        struct expr *i, *j, *zero = rig_int(&r, 0);
        struct buffer *s = rig_shared(&r, "S", DTYPE_F32, 16, 64),
                      *a = rig_fragment(&r, "a", DTYPE_F32, 16, 64);
        rig_zero(&r, a);
        rig_zero(&r, s);
        struct stmt *loop = stmt_new(r.m, STMT_WHILE, (struct span){0, 0});
        loop->repeat.test = expr_binary(r.m->exprs, FN_LT, rig_load(&r, s, zero, zero),
                                        expr_float(r.m->exprs, 3, DTYPE_F32));
        block_append(r.at, loop);
        r.at = &loop->repeat.body;
        struct stmt *map = rig_map(&r, s, &i, &j);
        rig_store(&r, map, s, i, j, rig_load(&r, a, i, j));
        if (jump) {
            struct stmt *branch = stmt_new(r.m, STMT_IF, (struct span){0, 0});
            branch->branch.test = expr_binary(r.m->exprs, FN_LT, rig_dim(&r, "n"), rig_int(&r, 5));
            block_append(r.at, branch);
            block_append(&branch->branch.then, stmt_new(r.m, STMT_CONTINUE, (struct span){0, 0}));
        }
        run_schedule(&r);
        show(&r);
        assert_int_equal(diag_errors(r.m->diag), 0);
        if (jump) {
            assert_int_equal(loop->repeat.body.first->next->next->kind, STMT_BARRIER);
        } else {
            expect(&r, &r.k->body, 1, 0);
            assert_int_equal(loop->repeat.body.first->kind, STMT_BARRIER);
            assert_int_equal(loop->repeat.body.last->kind, STMT_BARRIER);
        }
        rig_free(&r);
    }
}

/* -- Storage -------------------------------------------------------------------------------------
 */

/* S is written, read, done; T the same after it. They share bytes only because the exchange through
 * T needs a barrier anyway … which stands after T's first write: so they do not. */
static void test_reuse(void **state) {
    (void)state;
    for (int between = 0; between < 2; between++) {
        struct rig r = rig_new("sm_80", 128);
        struct expr *i, *j, *zero = rig_int(&r, 0);
        struct buffer *x = rig_global(&r, "X", DTYPE_F32, 16, 64);
        struct buffer *s[3], *a = rig_fragment(&r, "a", DTYPE_F32, 16, 64);
        const char *names[] = {"S", "T", "U"};
        for (int n = 0; n < 3; n++) s[n] = rig_shared(&r, names[n], DTYPE_F32, 16, 64);
        rig_copy(&r, rig_region(x, zero, zero, 16, 64), rig_whole(&r, a));
        for (int n = 0; n < (between ? 3 : 2); n++) {
            rig_copy(&r, rig_whole(&r, a), rig_whole(&r, s[n]));
            struct stmt *map = rig_map(&r, a, &i, &j);
            struct expr *other = expr_binary(r.m->exprs, FN_SUB, rig_int(&r, 15), i);
            rig_store(&r, map, a, i, j, rig_load(&r, s[n], other, j));
        }
        run_schedule(&r);
        /* S is read before T's barrier, U written after it. */
        assert_int_equal(r.k->shared_bytes, 2 * 16 * 64 * 4);
        if (between) assert_int_equal(s[0]->offset, s[2]->offset);
        rig_free(&r);
    }
}

/* The two loops use the same tiles: one ring, each loop with its own counters. */
static void test_two_loops(void **state) {
    (void)state;
    struct rig r = build_matmul(&MATMUL);
    struct stmt *first = find_loop(&r.k->body);
    struct block one = {first, first}, copy;
    struct stmt *next = first->next;
    first->next = NULL;
    copy = block_clone(r.m, &one);
    first->next = next;
    block_insert_after(&r.k->body, first, copy.first);
    run_schedule(&r);
    show(&r);
    assert_int_equal(find_buffer(&r, "A_shared")->ring, 3);
    for (struct stmt *s = r.k->body.first; s; s = s->next)
        if (s->kind == STMT_FOR) expect(&r, &s->loop.body, 1, 1);
    expect(&r, &r.k->body, 3, 4);
    rig_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_serial_matmul),
        cmocka_unit_test(test_ring),
        cmocka_unit_test(test_mainloop),
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_ring_without_async),
        cmocka_unit_test(test_twists),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_divergent),
        cmocka_unit_test(test_own_elements),
        cmocka_unit_test(test_global),
        cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_while),
        cmocka_unit_test(test_divided_map),
        cmocka_unit_test(test_two_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
