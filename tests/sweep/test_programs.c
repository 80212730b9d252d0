/* test_programs.c: random kernels of copies, loops, branches, reductions and products: every pass
 * keeps what they compute.
 *
 * All tiles hold integers and are filled first. s, t are shared; f, g are fragments; r and c are
 * fragments of a row's and a column's length; h is a shared float16 tile of small numbers and p the
 * accumulator of its product with itself. As scheduled, nothing races. No iteration of a T.Parallel
 * reads what another writes.
 */
#include "race.h"
#include "sweep.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

struct writer {
    struct sweep *s;
    struct text t;
    int rows, columns, depth; /* of loops and branches */
    const char *loop;         /* a loop variable in scope, or NULL */
    int names;
    bool products;
};

static const char *const tiles[] = {"s", "t", "f", "g"};
static const int lengths[] = {1, 3, 4, 8, 16, 17, 24, 32, 33, 36, 64, 100};
static const int thread_counts[] = {32, 64, 96, 128, 256, 544};
static const char *const targets[] = {"sm_80", "sm_75", "sm_90a"};

static void line(struct writer *w, const char *text) {
    for (int i = 0; i < 2 + w->depth; i++) text_puts(&w->t, "    ");
    text_puts(&w->t, text);
    text_puts(&w->t, "\n");
}

static const char *offset(struct writer *w, int scale) {
    struct arena *a = w->t.arena;
    switch (pick(w->s, 4)) {
    case 0: return "0";
    case 1: return arena_printf(a, "bx * %d", scale);
    case 2: return w->loop ? arena_printf(a, "%s * %d", w->loop, 1 + pick(w->s, 5)) : "n";
    default: return arena_printf(a, "%d", pick(w->s, 7));
    }
}

/* A whole number read at iteration (i, j) from something that `dst` is not. */
static const char *operand(struct writer *w, const char *dst) {
    struct arena *a = w->t.arena;
    const char *tile = pick_of(w->s, tiles);
    switch (pick(w->s, 9)) {
    case 0: return "r[i]";
    case 1: return "c[j]";
    case 2: return arena_printf(a, "A[i + %s, j + %s]", offset(w, 8), offset(w, 4));
    case 3: return w->loop ? arena_printf(a, "%s", w->loop) : "n";
    case 4:
        if (tile == dst) return "(i - j)";
        return arena_printf(a, "%s[(i + %d) %% %d, j]", tile, 1 + pick(w->s, 5), w->rows);
    case 5:
        if (tile == dst) return "i";
        return arena_printf(a, "%s[i, %d - j]", tile, w->columns - 1);
    case 6:
        if (tile == dst || w->rows != w->columns) return "(i + j)";
        return arena_printf(a, "%s[j, i]", tile);
    case 7: return w->products && w->rows == w->columns ? "T.cast(p[i, j], 'int32')" : "j";
    default: return arena_printf(a, "%s[i, j]", tile);
    }
}

static void write_map(struct writer *w) {
    struct arena *a = w->t.arena;
    const char *dst = pick_of(w->s, tiles);
    static const char *const signs[] = {"+", "-", "*", "^"};
    line(w, arena_printf(a, "for i, j in T.Parallel(%d, %d):", w->rows, w->columns));
    w->depth++;
    bool guarded = pick(w->s, 5) == 0;
    if (guarded) line(w, arena_printf(a, "if (i + j) %% %d == 0:", 2 + pick(w->s, 3)));
    w->depth += guarded;
    const char *x = operand(w, dst), *y = operand(w, dst);
    if (pick(w->s, 4) == 0) {
        line(w, arena_printf(a, "x = %s", x));
        x = "x";
    }
    line(w, arena_printf(a, "%s[i, j] = %s %s %s", dst, x, pick_of(w->s, signs), y));
    w->depth -= guarded;
    w->depth--;
}

static void write_copy(struct writer *w) {
    struct arena *a = w->t.arena;
    const char *x = pick_of(w->s, tiles), *y = pick_of(w->s, tiles);
    switch (pick(w->s, 3)) {
    case 0:
        line(w, arena_printf(a, "T.copy(A[%s, %s], %s)", offset(w, w->rows), offset(w, 2), x));
        break;
    case 1: line(w, arena_printf(a, "T.copy(%s, Y[bx, %d, 0, 0])", x, pick(w->s, 2))); break;
    default:
        if (x != y) line(w, arena_printf(a, "T.copy(%s, %s)", x, y));
    }
}

static void write_reduce(struct writer *w) {
    static const char *const ops[] = {"sum", "max", "min", "absmax", "bitxor"};
    int axis = pick(w->s, 2);
    line(w, arena_printf(w->t.arena, "T.reduce_%s(%s, %s, dim=%d, clear=%s)", pick_of(w->s, ops),
                         pick_of(w->s, tiles), axis ? "r" : "c", axis,
                         pick(w->s, 3) ? "True" : "False"));
}

static void write_product(struct writer *w) {
    struct arena *a = w->t.arena;
    line(w, arena_printf(a, "for i, j in T.Parallel(%d, %d):", w->rows, w->columns));
    line(w, arena_printf(a, "    h[i, j] = %s[i, j] %% 5 - 2", pick_of(w->s, tiles)));
    line(w, arena_printf(a, "T.gemm(h, h, p, transpose_B=True, clear_accum=%s)",
                         pick(w->s, 2) ? "True" : "False"));
}

static void write_some(struct writer *w, int count);

static void write_loop(struct writer *w) {
    struct arena *a = w->t.arena;
    const char *outer = w->loop, *name = arena_printf(a, "k%d", w->names++);
    const char *bound = pick(w->s, 3) ? arena_printf(a, "%d", pick(w->s, 5)) : "n";
    if (pick(w->s, 2))
        line(w, arena_printf(a, "for %s in T.Pipelined(%s, num_stages=%d):", name, bound,
                             pick(w->s, 5)));
    else
        line(w, arena_printf(a, "for %s in T.serial(%s):", name, bound));
    w->loop = name;
    w->depth++;
    if (pick(w->s, 2))
        line(w, arena_printf(a, "T.copy(A[%s * %d, 0], %s)", name, 1 + pick(w->s, 8),
                             pick(w->s, 2) ? "s" : "t"));
    write_some(w, 1 + pick(w->s, 4));
    line(w, "v = v + 1");
    w->depth--;
    w->loop = outer;
}

static void write_branch(struct writer *w) {
    line(w, arena_printf(w->t.arena, "if %s > %d:", w->loop && pick(w->s, 2) ? w->loop : "v",
                         pick(w->s, 3)));
    w->depth++;
    line(w, "v = v + 2");
    write_some(w, 1 + pick(w->s, 2));
    w->depth--;
}

static void write_some(struct writer *w, int count) {
    for (int i = 0; i < count; i++) {
        int what = pick(w->s, 16);
        if (what < 5)
            write_map(w);
        else if (what < 9)
            write_copy(w);
        else if (what < 11)
            write_reduce(w);
        else if (what < 13 && w->depth < 2)
            write_loop(w);
        else if (what < 14 && w->depth < 2)
            write_branch(w);
        else if (w->products)
            write_product(w);
        else
            write_map(w);
    }
}

static const char *program_text(struct writer *w, int threads) {
    struct text *t = &w->t;
    int m = w->rows, n = w->columns;
    text_printf(t,
                "@T.prim_func\ndef k(A: T.Tensor((77, 90), 'int32'), n: T.int32,\n"
                "      Y: T.Tensor((2, 3, %d, %d), 'int32'), Z: T.Tensor((2,), 'int32')):\n"
                "    with T.Kernel(2, threads=%d) as bx:\n",
                m, n, threads);
    for (int i = 0; i < 4; i++)
        line(w, arena_printf(t->arena, "%s = T.alloc_%s((%d, %d), 'int32')", tiles[i],
                             i < 2 ? "shared" : "fragment", m, n));
    line(w, arena_printf(t->arena, "r = T.alloc_fragment((%d,), 'int32')", m));
    line(w, arena_printf(t->arena, "c = T.alloc_fragment((%d,), 'int32')", n));
    line(w, "v = T.alloc_var('int32', 0)");
    for (int i = 0; i < 4; i++)
        line(w, arena_printf(t->arena, "T.copy(A[%d, %d], %s)", i * 3, i, tiles[i]));
    line(w, "T.fill(r, 1)");
    line(w, "T.fill(c, 2)");
    if (w->products) {
        line(w, arena_printf(t->arena, "h = T.alloc_shared((%d, %d), 'float16')", m, n));
        line(w, arena_printf(t->arena, "p = T.alloc_fragment((%d, %d), 'float32')", m, m));
        line(w, "T.clear(p)");
    }
    write_some(w, 5 + pick(w->s, 6));
    line(w, arena_printf(t->arena, "for i, j in T.Parallel(%d, %d):", m, n));
    line(w, "    Y[bx, 2, i, j] = s[i, j] + 3 * t[i, j] + 5 * f[i, j] + 7 * g[i, j] + r[i] + c[j]");
    line(w, "Z[bx] = v");
    return t->at;
}

static void give_n(struct program *p, const void *data) {
    (void)data;
    program_scalar(p, "n", 3);
}

static const char *races(struct program *p) {
    struct rig r = {.arena = p->arena, .m = p->m, .f = p->f, .k = p->f->kernels.at[0]};
    const char *why = NULL;
    return count_races(&r, 3, &why) ? why : NULL;
}

static const char *no_check(struct program *p, const void *data) {
    (void)p;
    (void)data;
    return NULL;
}

static void test_programs(void **state) {
    (void)state;
    struct sweep s = sweep_new(5);
    for (int i = 0; i < sweep_count(400); i++) {
        struct arena *a = arena_new();
        struct writer w = {.s = &s, .t = text_new(a), .products = pick(&s, 3) == 0};
        w.rows = pick_of(&s, lengths);
        w.columns = pick(&s, 3) ? pick_of(&s, lengths) : w.rows;
        while (w.rows * w.columns > 2500) w.rows = w.columns = 1 + pick(&s, 40);
        struct trial t = {.text = program_text(&w, pick_of(&s, thread_counts)),
                          .target = pick_of(&s, targets),
                          .prepare = give_n,
                          .scheduled = races,
                          .check = no_check};
        sweep_try(&s, &t);
        arena_free(a);
    }
    sweep_end(&s, "programs", 250, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
