/* test_eval.c: a scheduled kernel computes what the placed one does, bit for bit; storage that
 * nobody wrote is poisoned, and asynchronous copies arrive as late as they may. */
#include "rig.h"
#include "schedule/schedule.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { TENSORS = 8 };

struct data {
    struct tensor tensor[TENSORS];
    struct tensor *tensors[TENSORS];
    union scalar scalars[TENSORS];
    struct eval_args args;
};

static int small(int i) { return (int)((uint32_t)i * 2654435761u >> 13) % 9 - 4; }

/* Small whole numbers: every sum is exact, so the order of summation does not matter. */
static struct data data_new(struct rig *r, int64_t dim) {
    struct data d = {.args = {.count = r->f->params.count}};
    for (int p = 0; p < r->f->params.count; p++) {
        const struct param *param = &r->f->params.at[p];
        d.scalars[p].i = dim;
        if (param->kind != PARAM_TENSOR) continue;
        struct tensor *t = &d.tensor[p];
        int64_t rows = param->buffer->dim[0]->lo, columns = param->buffer->dim[1]->lo;
        t->dtype = param->buffer->dtype;
        t->rank = 2;
        t->extent[0] = rows;
        t->extent[1] = columns;
        t->stride[0] = columns;
        t->stride[1] = 1;
        t->data = arena_alloc(r->arena, (size_t)(rows * columns * dtype_bytes(t->dtype)));
        for (int64_t i = 0; i < rows * columns; i++) {
            union scalar v = {.f = small((int)i + p)};
            if (!dtype_is_float(t->dtype)) v.i = small((int)i + p) & 7;
            uint64_t bits = scalar_bits(v, t->dtype);
            memcpy(t->data + i * dtype_bytes(t->dtype), &bits, (size_t)dtype_bytes(t->dtype));
        }
    }
    return d;
}

static void evaluate(struct rig *r, struct data *d, const char *what) {
    struct eval_options options = {.poison = true};
    const char *why = NULL;
    for (int i = 0; i < TENSORS; i++) d->tensors[i] = d->tensor[i].data ? &d->tensor[i] : NULL;
    d->args.tensor = d->tensors;
    d->args.scalar = d->scalars;
    bool ok = tile_eval(r->m, r->f, &d->args, &options, &why);
    if (!ok) print_message("%s: %s\n%s\n", what, why, rig_dump(r));
    assert_true(ok);
}

static void compare(struct rig *r, const struct data *a, const struct data *b, const char *what) {
    for (int p = 0; p < a->args.count; p++) {
        const struct tensor *x = &a->tensor[p], *y = &b->tensor[p];
        if (!x->data) continue;
        size_t bytes = (size_t)(x->extent[0] * x->extent[1] * dtype_bytes(x->dtype));
        if (memcmp(x->data, y->data, bytes) != 0) {
            size_t at = 0;
            while (x->data[at] == y->data[at]) at++;
            print_message("%s: tensor %d differs at byte %zu of %zu\n%s\n", what, p, at, bytes,
                          rig_dump(r));
        }
        assert_memory_equal(x->data, y->data, bytes);
    }
}

static void check_twice(struct rig before, struct rig after, int64_t dim, const char *what) {
    struct data a = data_new(&before, dim), b = data_new(&after, dim);
    run_schedule(&after);
    assert_int_equal(diag_errors(after.m->diag), 0);
    const char *fault = NULL;
    bool sound = tile_verify(after.m, LEVEL_SCHEDULED, &fault);
    if (!sound) print_message("%s: %s\n%s\n", what, fault, rig_dump(&after));
    assert_true(sound);
    evaluate(&before, &a, what);
    evaluate(&after, &b, what);
    compare(&after, &a, &b, what);
    rig_free(&before);
    rig_free(&after);
}

static void check_matmul(const struct shape *s) {
    char what[160];
    snprintf(what, sizeof what, "matmul %dx%dx%d tile %dx%dx%d stages %d threads %d%s%s%s on %s",
             s->m, s->n, s->k, s->block_m, s->block_n, s->block_k, s->stages, s->threads,
             s->transpose_a ? " TA" : "", s->transpose_b ? " TB" : "", s->plain ? " plain" : "",
             s->target ? s->target : "sm_80");
    check_twice(build_matmul(s), build_matmul(s), 0, what);
}

static void test_stages_and_trips(void **state) {
    (void)state;
    for (int stages = 0; stages <= 8; stages += stages < 4 ? 1 : 4) {
        const int trips[] = {0, 1, 2, stages - 1, stages, stages + 1, 2 * stages + 1};
        for (size_t i = 0; i < sizeof trips / sizeof *trips; i++) {
            struct shape s = {.m = 32,
                              .n = 32,
                              .k = 32 * trips[i],
                              .block_m = 32,
                              .block_n = 32,
                              .block_k = 32,
                              .stages = stages,
                              .threads = 64,
                              .row_warps = 2};
            if (trips[i] < 0) continue;
            if (trips[i] == 0) s.k = 1;
            s.target = i % 2 ? "sm_75" : "sm_80";
            check_matmul(&s);
        }
    }
}

static void test_mainloop(void **state) {
    (void)state;
    for (int stages = 2; stages <= 4; stages++)
        for (int trip = 1; trip <= 5; trip += 2) {
            struct shape s = {.m = 64,
                              .n = 64,
                              .k = 32 * trip,
                              .block_m = 64,
                              .block_n = 64,
                              .block_k = 32,
                              .stages = stages,
                              .threads = 32,
                              .row_warps = 1};
            check_matmul(&s);
        }
}

static void test_tiles(void **state) {
    (void)state;
    static const int tiles[][5] = {/* m n k threads row_warps */
                                   {16, 8, 16, 32, 1},  {32, 24, 24, 32, 1}, {32, 32, 8, 64, 2},
                                   {64, 48, 40, 96, 1}, {1, 16, 16, 32, 1},  {7, 8, 32, 32, 1},
                                   {48, 64, 64, 96, 3}, {32, 64, 48, 128, 2}};
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++)
        for (int t = 0; t < 4; t++) {
            struct shape s = {.block_m = tiles[i][0],
                              .block_n = tiles[i][1],
                              .block_k = tiles[i][2],
                              .threads = tiles[i][3],
                              .row_warps = tiles[i][4],
                              .stages = (int)i % 4};
            s.m = s.block_m - (t == 2); /* beyond the edge: zeroes in, nothing out */
            s.n = s.block_n;
            s.k = 3 * s.block_k - 1;
            if (s.m == 0) continue;
            s.transpose_a = t & 1;
            s.transpose_b = t & 2;
            check_matmul(&s);
            s.plain = true;
            if (t < 2) check_matmul(&s);
        }
}

static void test_attention(void **state) {
    (void)state;
    for (int stages = 0; stages <= 3; stages++)
        for (int trips = 1; trips <= 3; trips++) {
            struct shape s = {.m = 32,
                              .k = 32,
                              .block_m = 32,
                              .block_n = 32,
                              .stages = stages,
                              .threads = 64,
                              .row_warps = 2};
            s.n = 32 * trips - 5;
            check_twice(build_attention(&s), build_attention(&s), 0, "attention");
        }
}

static void test_random(void **state) {
    (void)state;
    for (uint32_t seed = 1; seed <= 150; seed++)
        for (int dim = 0; dim <= 2; dim += 2) {
            char what[32];
            snprintf(what, sizeof what, "seed %u", seed);
            check_twice(random_program(seed), random_program(seed), dim, what);
        }
}

/* The comparison must see what it is for: a wait that leaves one group too many open. */
static void weaken_waits(struct stmt *s, void *data) {
    (void)data;
    if (s->kind == STMT_WAIT) s->wait.groups++;
}

static void test_sees_late_copies(void **state) {
    (void)state;
    for (int warps = 1; warps <= 2; warps++) {
        struct shape s = {.m = 64,
                          .n = 64,
                          .k = 128,
                          .block_m = 64,
                          .block_n = 64,
                          .block_k = 32,
                          .stages = 3,
                          .threads = 32 * warps,
                          .row_warps = warps};
        struct rig before = build_matmul(&s), after = build_matmul(&s);
        struct data a = data_new(&before, 0), b = data_new(&after, 0);
        run_schedule(&after);
        block_walk(&after.k->body, weaken_waits, NULL);
        evaluate(&before, &a, "before");
        evaluate(&after, &b, "after");
        assert_memory_not_equal(a.tensor[2].data, b.tensor[2].data, 64 * 64 * 4);
        rig_free(&before);
        rig_free(&after);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stages_and_trips),
                                       cmocka_unit_test(test_mainloop),
                                       cmocka_unit_test(test_tiles),
                                       cmocka_unit_test(test_attention),
                                       cmocka_unit_test(test_random),
                                       cmocka_unit_test(test_sees_late_copies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
