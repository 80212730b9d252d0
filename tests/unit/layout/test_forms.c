/* test_forms.c: every form in which a fragment can be accessed means the same after place. */
#include "run.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct expr *op(struct rig *r, enum function fn, struct expr *a, struct expr *b) {
    return expr_binary(r->m->exprs, fn, a, b);
}

static struct buffer *fragment(struct rig *r, const char *name, int rows, int columns) {
    return rig_buffer(r, SCOPE_FRAGMENT, name, DTYPE_F32, columns ? 2 : 1,
                      (const int[]){rows, columns});
}

/* A tensor of the shape and a fragment loaded from it. */
static struct buffer *loaded(struct rig *r, const char *name, int rows, int columns) {
    const int shape[2] = {rows, columns};
    struct buffer *g = rig_global(r, name, DTYPE_F32, columns ? 2 : 1, shape);
    struct buffer *f = fragment(r, arena_printf(r->arena, "%s_local", name), rows, columns);
    rig_copy(r, rig_region(r, g, NULL, shape), rig_region(r, f, NULL, NULL));
    return f;
}

static void stored(struct rig *r, const char *name, struct buffer *f) {
    const int shape[2] = {f->extent[0], f->extent[1]};
    struct buffer *g = rig_global(r, name, DTYPE_F32, f->rank, shape);
    rig_copy(r, rig_region(r, f, NULL, NULL), rig_region(r, g, NULL, shape));
}

/* out[i, j] = x[i, j // 2] */
static void halved(struct rig *r, const int *s) {
    struct buffer *x = loaded(r, "x", s[0], s[1]), *out = fragment(r, "out", s[0], 2 * s[1]);
    struct expr *i, *j;
    struct stmt *m = rig_map(r, 2, (const int[]){s[0], 2 * s[1]}, &i, &j);
    rig_store(r, &m->map.body, out, i, j, rig_load(r, x, i, op(r, FN_FLOORDIV, j, rig_int(r, 2))));
    stored(r, "y", out);
}

/* out[i, j] = x[j, i] */
static void turned(struct rig *r, const int *s) {
    struct buffer *x = loaded(r, "x", s[0], s[1]), *out = fragment(r, "out", s[1], s[0]);
    struct expr *i, *j;
    struct stmt *m = rig_map(r, 2, (const int[]){s[1], s[0]}, &i, &j);
    rig_store(r, &m->map.body, out, i, j, rig_load(r, x, j, i));
    stored(r, "y", out);
}

/* out[i] = x[i, i]; out[i] += x[i, 0] */
static void diagonal(struct rig *r, const int *s) {
    int n = s[0] < s[1] ? s[0] : s[1];
    struct buffer *x = loaded(r, "x", s[0], s[1]), *out = fragment(r, "out", n, 0);
    struct expr *i;
    struct stmt *m = rig_map(r, 1, &n, &i, NULL);
    rig_store(r, &m->map.body, out, i, NULL, rig_load(r, x, i, i));
    m = rig_map(r, 1, &n, &i, NULL);
    rig_store(r, &m->map.body, out, i, NULL,
              op(r, FN_ADD, rig_load(r, out, i, NULL), rig_load(r, x, i, rig_int(r, 0))));
    stored(r, "y", out);
}

/* for k: out[i] += x[i, k] */
static void serial(struct rig *r, const int *s) {
    struct buffer *x = loaded(r, "x", s[0], s[1]), *out = loaded(r, "z", s[0], 0);
    struct stmt *loop = rig_loop(r, LOOP_SERIAL, s[1], -1);
    r->at = &loop->loop.body;
    struct expr *i;
    struct stmt *m = rig_map(r, 1, &s[0], &i, NULL);
    struct expr *v = rig_load(r, x, i, rig_var(r, loop->loop.var));
    rig_store(r, &m->map.body, out, i, NULL, op(r, FN_ADD, rig_load(r, out, i, NULL), v));
    r->at = &r->k->body;
    stored(r, "y", out);
}

/* x[i, s - 1 - j] = z[i, j]: a write that is not in place, with i < 2 only */
static void mirrored(struct rig *r, const int *s) {
    struct buffer *x = loaded(r, "x", s[0], s[1]), *z = loaded(r, "z", s[0], s[1]);
    struct expr *i, *j;
    struct stmt *m = rig_map(r, 2, s, &i, &j);
    struct stmt *guard = stmt_new(r->m, STMT_IF, m->span);
    guard->branch.test = op(r, FN_LT, i, rig_int(r, 2));
    block_append(&m->map.body, guard);
    rig_store(r, &guard->branch.then, x, i, op(r, FN_SUB, rig_int(r, s[1] - 1), j),
              rig_load(r, z, i, j));
    stored(r, "y", x);
}

/* Statements that every thread runs read and write elements. */
static void plain(struct rig *r, const int *s) {
    struct buffer *x = loaded(r, "x", s[0], s[1]);
    struct expr *a = rig_load(r, x, rig_int(r, 0), rig_int(r, s[1] - 1));
    struct var *v = var_new(r->m->exprs, VAR_LET, intern_text(r->m->names, "v"), DTYPE_F32,
                            (struct span){0, 0});
    struct stmt *let = stmt_new(r->m, STMT_LET, (struct span){0, 0});
    let->let.var = v;
    let->let.value = a;
    block_append(r->at, let);
    rig_store(r, r->at, x, rig_int(r, s[0] - 1), rig_int(r, 0),
              op(r, FN_ADD, rig_var(r, v), r->one));
    stored(r, "y", x);
}

/* while x[0] < 100: x[i] = x[i] * 2 + 9 */
static void repeated(struct rig *r, const int *s) {
    struct buffer *x = loaded(r, "x", s[0], 0);
    struct stmt *w = stmt_new(r->m, STMT_WHILE, (struct span){0, 0});
    w->repeat.test =
        op(r, FN_LT, rig_load(r, x, rig_int(r, 0), NULL), expr_float(r->m->exprs, 100, DTYPE_F32));
    block_append(r->at, w);
    r->at = &w->repeat.body;
    struct expr *i, *two = expr_float(r->m->exprs, 2, DTYPE_F32);
    struct stmt *m = rig_map(r, 1, s, &i, NULL);
    rig_store(r, &m->map.body, x, i, NULL,
              op(r, FN_ADD, op(r, FN_MUL, rig_load(r, x, i, NULL), two),
                 expr_float(r->m->exprs, 9, DTYPE_F32)));
    r->at = &r->k->body;
    stored(r, "y", x);
}

static void reduced(struct rig *r, const int *s, int axis, bool clear, enum reduce_op reduce) {
    struct buffer *x = loaded(r, "x", s[0], s[1]);
    struct buffer *out = loaded(r, "z", s[1 - axis], 0);
    rig_reduce(r, x, out, axis, reduce, clear);
    stored(r, "y", out);
}

static void rows(struct rig *r, const int *s) { reduced(r, s, 1, true, REDUCE_SUM); }
static void columns(struct rig *r, const int *s) { reduced(r, s, 0, false, REDUCE_SUM); }
static void most(struct rig *r, const int *s) { reduced(r, s, 1, false, REDUCE_ABSMAX); }
static void least(struct rig *r, const int *s) { reduced(r, s, 0, true, REDUCE_MIN); }

/* for k: x[i, k] = x[i, k] * 2 + z[i] */
static void pinned(struct rig *r, const int *s) {
    struct buffer *x = loaded(r, "x", s[0], s[1]), *z = loaded(r, "z", s[0], 0);
    struct stmt *loop = rig_loop(r, LOOP_SERIAL, s[1] < 3 ? s[1] : 3, -1);
    r->at = &loop->loop.body;
    struct expr *i, *k = rig_var(r, loop->loop.var);
    struct stmt *m = rig_map(r, 1, s, &i, NULL);
    struct expr *v = op(r, FN_MUL, rig_load(r, x, i, k), expr_float(r->m->exprs, 2, DTYPE_F32));
    rig_store(r, &m->map.body, x, i, k, op(r, FN_ADD, v, rig_load(r, z, i, NULL)));
    r->at = &r->k->body;
    stored(r, "y", x);
}

/* A sum of halves in single precision. */
static void widened(struct rig *r, const int *s) {
    struct buffer *g = rig_global(r, "x", DTYPE_F16, 2, s);
    struct buffer *x = rig_buffer(r, SCOPE_SHARED, "x_shared", DTYPE_F16, 2, s);
    struct buffer *row = fragment(r, "row", s[0], 0);
    rig_copy(r, rig_region(r, g, NULL, s), rig_region(r, x, NULL, NULL));
    rig_reduce(r, x, row, 1, REDUCE_SUM, true);
    stored(r, "y", row);
}

/* for k: x += 1; s[i] += sum(|x[i, :]|): completed behind the loop */
static void accumulated(struct rig *r, const int *s) {
    struct buffer *x = loaded(r, "x", s[0], s[1]), *out = loaded(r, "z", s[0], 0);
    struct stmt *loop = rig_loop(r, LOOP_SERIAL, 3, -1);
    r->at = &loop->loop.body;
    struct expr *i, *j;
    struct stmt *m = rig_map(r, 2, s, &i, &j);
    rig_store(r, &m->map.body, x, i, j, op(r, FN_ADD, rig_load(r, x, i, j), r->one));
    rig_reduce(r, x, out, 1, REDUCE_ABSSUM, false);
    r->at = &r->k->body;
    stored(r, "y", out);
}

/* One number from a tile, and its broadcast. */
static void everything(struct rig *r, const int *s) {
    struct buffer *x = loaded(r, "x", s[0], s[1]), *row = fragment(r, "row", s[0], 0);
    struct buffer *one = fragment(r, "one", 1, 0);
    rig_reduce(r, x, row, 1, REDUCE_SUM, true);
    rig_reduce(r, row, one, 0, REDUCE_SUM, true);
    struct expr *i, *j;
    struct stmt *m = rig_map(r, 2, s, &i, &j);
    rig_store(r, &m->map.body, x, i, j,
              op(r, FN_SUB, rig_load(r, x, i, j), rig_load(r, one, rig_int(r, 0), NULL)));
    stored(r, "y", x);
}

/* A tile through shared memory, turned around. */
static void shared_turn(struct rig *r, const int *s) {
    struct buffer *x = rig_global(r, "x", DTYPE_F32, 2, s);
    struct buffer *y = rig_global(r, "y", DTYPE_F32, 2, (const int[]){s[1], s[0]});
    struct buffer *t = rig_buffer(r, SCOPE_SHARED, "t", DTYPE_F32, 2, s);
    rig_copy(r, rig_region(r, x, NULL, s), rig_region(r, t, NULL, NULL));
    struct expr *i, *j;
    struct stmt *m = rig_map(r, 2, (const int[]){s[1], s[0]}, &i, &j);
    rig_store(r, &m->map.body, y, i, j, rig_load(r, t, j, i));
}

/* Parts of tiles: columns [4, 8) of x to out, out back to the front of x. */
static void boxes(struct rig *r, const int *s) {
    struct buffer *x = loaded(r, "x", s[0], s[1]), *out = fragment(r, "out", s[0], 4);
    struct expr *at[2] = {rig_int(r, 0), rig_int(r, s[1] - 4)}, *front[2] = {at[0], at[0]};
    const int box[2] = {s[0], 4};
    rig_copy(r, rig_region(r, x, at, box), rig_region(r, out, NULL, NULL));
    rig_copy(r, rig_region(r, out, NULL, NULL), rig_region(r, x, front, box));
    stored(r, "y", x);
}

/* An accumulator reduced along both axes, turned, and used as an operand again. */
static void chain(struct rig *r, const int *s) {
    struct buffer *a = rig_buffer(r, SCOPE_SHARED, "a", DTYPE_F16, 2, (const int[]){s[0], 32});
    struct buffer *b = rig_buffer(r, SCOPE_SHARED, "b", DTYPE_F16, 2, (const int[]){s[1], 32});
    struct buffer *ga = rig_global(r, "ga", DTYPE_F16, 2, (const int[]){s[0], 32});
    struct buffer *gb = rig_global(r, "gb", DTYPE_F16, 2, (const int[]){s[1], 32});
    struct buffer *c = fragment(r, "c", s[0], s[1]), *d = fragment(r, "d", s[0], 32);
    struct buffer *h = rig_buffer(r, SCOPE_FRAGMENT, "h", DTYPE_F16, 2, s);
    struct buffer *row = fragment(r, "row", s[0], 0), *column = fragment(r, "column", s[1], 0);
    rig_copy(r, rig_region(r, ga, NULL, (const int[]){s[0], 32}), rig_region(r, a, NULL, NULL));
    rig_copy(r, rig_region(r, gb, NULL, (const int[]){s[1], 32}), rig_region(r, b, NULL, NULL));
    struct expr *yes = expr_bool(r->m->exprs, true);
    rig_gemm(r, a, b, c, true, POLICY_SQUARE)->gemm.clear = yes;
    rig_reduce(r, c, row, 1, REDUCE_MAX, true);
    rig_reduce(r, c, column, 0, REDUCE_SUM, true);
    rig_copy(r, rig_region(r, c, NULL, NULL), rig_region(r, h, NULL, NULL));
    rig_gemm(r, h, b, d, false, POLICY_SQUARE)->gemm.clear = yes;
    stored(r, "y", d);
    stored(r, "u", row);
    stored(r, "v", column);
}

static void row_softmax(struct rig *r, const int *s) { build_softmax(r, s[0], s[1], true); }
static void product(struct rig *r, const int *s) {
    build_matmul(r, s[0], s[1], 16, 2, POLICY_SQUARE);
}
static void attention(struct rig *r, const int *s) { build_attention(r, s[0], s[1], 32); }
static void mla(struct rig *r, const int *s) { build_mla(r, s[0], s[1], 64); }
static void vectors(struct rig *r, const int *s) { build_vector_add(r, 700 * s[0] + 3, s[1]); }

static void test_forms(void **state) {
    static const struct {
        const char *name;
        build_kernel *build;
        double tolerance;
    } forms[] = {
        {"halved", halved, 0},
        {"turned", turned, 0},
        {"diagonal", diagonal, 0},
        {"serial", serial, 0},
        {"mirrored", mirrored, 0},
        {"plain", plain, 0},
        {"repeated", repeated, 0},
        {"rows", rows, 0},
        {"columns", columns, 0},
        {"most", most, 0},
        {"least", least, 0},
        {"pinned", pinned, 0},
        {"widened", widened, 0},
        {"accumulated", accumulated, 0},
        {"everything", everything, 0},
        {"shared turn", shared_turn, 0},
        {"boxes", boxes, 0},
        {"chain", chain, 0},
        {"softmax", row_softmax, 2e-3},
        {"matmul", product, 0},
        {"attention", attention, 1e-2},
        {"mla", mla, 1e-2},
        {"vectors", vectors, 0},
    };
    static const int shapes[][3] = {
        {64, 64, 128}, {4, 128, 128}, {16, 40, 32},   {32, 8, 64},
        {8, 256, 256}, {3, 12, 96},   {128, 16, 128}, {1, 100, 64},
    };
    (void)state;
    int refused = 0;
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            const char *why =
                same_before_and_after(forms[f].build, shapes[s], shapes[s][2], forms[f].tolerance);
            if (why && !strncmp(why, "refused", 7)) {
                refused++;
                continue;
            }
            if (!why) continue;
            printf("%s, %d x %d, %d threads: %s\n", forms[f].name, shapes[s][0], shapes[s][1],
                   shapes[s][2], why);
            fail();
        }
    assert_true(refused < 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_forms)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
