/* test_gemm.c: matrix products of all sizes, tiles, thread counts, stages and types.
 *
 * Operands are whole numbers in -4 … 4, so that every sum is exact in any order. */
#include "sweep.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const int sizes[] = {1, 7, 8, 15, 16, 17, 24, 33, 64, 104, 127, 128, 130};
static const int row_tiles[] = {1, 7, 16, 17, 24, 32, 48, 64, 96, 128};
static const int column_tiles[] = {1, 8, 16, 24, 33, 64, 104, 128};
static const int depth_tiles[] = {1, 8, 15, 16, 24, 32, 40, 48, 64};
static const int thread_counts[] = {32, 64, 96, 128, 160, 192, 256, 288, 384, 416, 512, 544};
static const char *const targets[] = {"sm_80", "sm_75", "sm_80", "sm_89", "sm_90a"};
static const char *const policies[] = {"Square", "Square", "FullRow", "FullCol"};

struct types {
    const char *in, *accum, *out;
};
static const struct types halves = {"float16", "float32", "float32"};
static const struct types all_types[] = {
    {"float16", "float32", "float16"},
    {"float16", "float16", "float16"},
    {"bfloat16", "float32", "float32"},
    {"float32", "float32", "float32"},
    {"int8", "int32", "int32"},
    {"uint8", "int32", "int32"},
    {"float8_e4m3", "float32", "float32"},
    {"float8_e5m2", "float32", "float32"},
    {"float64", "float64", "float64"},
    {"tfloat32", "float32", "float32"},
};

struct product {
    int m, n, k, block_m, block_n, block_k, threads, stages;
    bool transpose_a, transpose_b, dynamic, a_in_registers, clears;
    const char *policy;
    struct types types;
};

static const char *shape(struct arena *a, bool turned, const char *rows, const char *columns) {
    return turned ? arena_printf(a, "(%s, %s)", columns, rows)
                  : arena_printf(a, "(%s, %s)", rows, columns);
}

static const char *size(struct arena *a, const struct product *p, const char *name, int value) {
    return p->dynamic ? name : arena_printf(a, "%d", value);
}

/* The element at (row, column) of an operand, as a copy's corner. */
static const char *corner(struct arena *a, bool turned, const char *row, const char *column) {
    return turned ? arena_printf(a, "[%s, %s]", column, row)
                  : arena_printf(a, "[%s, %s]", row, column);
}

static void write_loop(struct text *t, const struct product *p, const char *depth) {
    struct arena *a = t->arena;
    text_printf(t, "        for ko in T.Pipelined(T.ceildiv(%s, %d), num_stages=%d):\n", depth,
                p->block_k, p->stages);
    text_printf(t, "            T.copy(A%s, As)\n",
                corner(a, p->transpose_a, arena_printf(a, "by * %d", p->block_m),
                       arena_printf(a, "ko * %d", p->block_k)));
    text_printf(t, "            T.copy(B%s, Bs)\n",
                corner(a, p->transpose_b, arena_printf(a, "ko * %d", p->block_k),
                       arena_printf(a, "bx * %d", p->block_n)));
    if (p->a_in_registers) text_puts(t, "            T.copy(As, Af)\n");
    text_printf(t, "            T.gemm(%s, Bs, Cl, transpose_A=%s, transpose_B=%s, ",
                p->a_in_registers ? "Af" : "As", p->transpose_a ? "True" : "False",
                p->transpose_b ? "True" : "False");
    text_printf(t, "policy=T.GemmWarpPolicy.%s%s)\n", p->policy,
                p->clears ? ", clear_accum=(ko == 0)" : "");
}

static const char *text_of(struct arena *a, const struct product *p) {
    struct text t = text_new(a);
    const char *m = size(a, p, "M", p->m), *n = size(a, p, "N", p->n), *k = size(a, p, "K", p->k);
    if (p->dynamic) text_puts(&t, "M, N, K = T.dynamic(\"M, N, K\")\n");
    const char *a_tile = shape(a, p->transpose_a, arena_printf(a, "%d", p->block_m),
                               arena_printf(a, "%d", p->block_k));
    const char *b_tile = shape(a, p->transpose_b, arena_printf(a, "%d", p->block_k),
                               arena_printf(a, "%d", p->block_n));
    text_printf(&t, "@T.prim_func\ndef k(A: T.Tensor(%s, \"%s\"), B: T.Tensor(%s, \"%s\"),\n",
                shape(a, p->transpose_a, m, k), p->types.in, shape(a, p->transpose_b, k, n),
                p->types.in);
    text_printf(&t, "      C: T.Tensor((%s, %s), \"%s\")):\n", m, n, p->types.out);
    text_printf(&t,
                "    with T.Kernel(T.ceildiv(%s, %d), T.ceildiv(%s, %d), threads=%d) as (bx, "
                "by):\n",
                n, p->block_n, m, p->block_m, p->threads);
    text_printf(&t, "        As = T.alloc_shared(%s, \"%s\")\n", a_tile, p->types.in);
    text_printf(&t, "        Bs = T.alloc_shared(%s, \"%s\")\n", b_tile, p->types.in);
    if (p->a_in_registers)
        text_printf(&t, "        Af = T.alloc_fragment(%s, \"%s\")\n", a_tile, p->types.in);
    text_printf(&t, "        Cl = T.alloc_fragment((%d, %d), \"%s\")\n", p->block_m, p->block_n,
                p->types.accum);
    if (!p->clears) text_puts(&t, "        T.clear(Cl)\n");
    write_loop(&t, p, k);
    text_printf(&t, "        T.copy(Cl, C[by * %d, bx * %d])\n", p->block_m, p->block_n);
    return t.at;
}

static void give_sizes(struct program *p, const void *data) {
    const struct product *s = data;
    program_scalar(p, "M", s->m);
    program_scalar(p, "N", s->n);
    program_scalar(p, "K", s->k);
}

static const char *check_product(struct program *p, const void *data) {
    const struct product *s = data;
    const struct tensor *a = program_tensor(p, "A"), *b = program_tensor(p, "B");
    const struct tensor *c = program_tensor(p, "C");
    for (int i = 0; i < s->m; i++)
        for (int j = 0; j < s->n; j++) {
            double sum = 0;
            for (int k = 0; k < s->k; k++)
                sum += tensor_value(a, s->transpose_a ? k * s->m + i : i * s->k + k) *
                       tensor_value(b, s->transpose_b ? j * s->k + k : k * s->n + j);
            double got = tensor_value(c, i * s->n + j);
            if (got != sum)
                return arena_printf(p->arena, "C[%d, %d] is %g, not %g", i, j, got, sum);
        }
    return NULL;
}

static int64_t padded(int size, int tile) { return (int64_t)(size + tile - 1) / tile * tile; }

/* How many products the evaluator carries out. */
static int64_t work(const struct product *p) {
    return padded(p->m, p->block_m) * padded(p->n, p->block_n) * padded(p->k, p->block_k);
}

static struct product sample(struct sweep *s, int64_t most) {
    struct product p;
    do {
        p = (struct product){.m = pick_of(s, sizes),
                             .n = pick_of(s, sizes),
                             .k = pick_of(s, sizes),
                             .block_m = pick_of(s, row_tiles),
                             .block_n = pick_of(s, column_tiles),
                             .block_k = pick_of(s, depth_tiles),
                             .threads = pick_of(s, thread_counts),
                             .stages = pick(s, 5),
                             .transpose_a = pick(s, 4) == 0,
                             .transpose_b = pick(s, 3) == 0,
                             .dynamic = pick(s, 4) == 0,
                             .a_in_registers = pick(s, 8) == 0,
                             .clears = pick(s, 6) == 0,
                             .policy = pick_of(s, policies),
                             .types = halves};
    } while (work(&p) > most);
    return p;
}

static enum verdict try_product(struct sweep *s, const struct product *p, const char *target) {
    struct arena *a = arena_new();
    struct trial t = {.text = text_of(a, p),
                      .target = target,
                      .prepare = give_sizes,
                      .check = check_product,
                      .data = p};
    enum verdict v = sweep_try(s, &t);
    arena_free(a);
    return v;
}

/* One of the thread counts that the refusal names; 0: it is about something else. */
static int advised(struct sweep *s) {
    const char *at = strstr(s->refusal, "threads may be ");
    int count[16], n = 0;
    for (; at && *at != '[' && n < 16; at++) {
        at += strcspn(at, "0123456789[");
        if (*at == '[') break;
        count[n++] = (int)strtol(at, (char **)&at, 10);
    }
    return n ? count[pick(s, n)] : 0;
}

/* Warps that cannot divide the tile are the usual refusal; the counts it advises must do. */
static void test_halves(void **state) {
    (void)state;
    struct sweep s = sweep_new(1);
    for (int i = 0; i < sweep_count(500); i++) {
        struct product p = sample(&s, i % 16 ? 300000 : 2000000);
        const char *target = pick_of(&s, targets);
        if (try_product(&s, &p, target) != VERDICT_REFUSED) continue;
        p.threads = advised(&s);
        if (!p.threads || try_product(&s, &p, target) != VERDICT_REFUSED) continue;
        if (strstr(s.refusal, "[E0501]")) fail_msg("the advice was no good: %s", s.refusal);
    }
    sweep_end(&s, "halves", 400, 100);
}

static void test_types(void **state) {
    (void)state;
    struct sweep s = sweep_new(2);
    for (int i = 0; i < sweep_count(300); i++) {
        struct product p = sample(&s, 200000);
        p.types = all_types[i % (int)(sizeof all_types / sizeof *all_types)];
        p.threads = pick(&s, 3) ? 32 << pick(&s, 3) : p.threads;
        try_product(&s, &p, pick_of(&s, targets));
    }
    sweep_end(&s, "types", 200, 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_halves), cmocka_unit_test(test_types)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
