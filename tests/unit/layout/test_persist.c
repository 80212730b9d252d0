/* test_persist.c: blocks that take several tiles in turn: when they do, and that nothing changes.
 *
 * The device is a tiny one of two SMs, so that small kernels have one block on each. Each text is
 * evaluated as analysed and as scheduled; all values are small whole numbers, so the results are
 * the same bits. Then its schedule is run thread by thread: nothing may be unordered. */
#include "../schedule/race.h"
#include "layout/place.h"
#include "program.h"
#include "schedule/schedule.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct target tiny_device(const char *name) {
    struct target t = *target_find(name);
    t.sm_count = 2;
    t.registers_sm = 4096;
    t.shared_block = 32768;
    t.shared_sm = 65536;
    return t;
}

static struct program *compile(const char *text, const struct target *device) {
    struct program *p = program_new(text, device->name);
    if (program_refusal(p)) print_message("%s\n%s\n", text, program_refusal(p));
    assert_non_null(p->f);
    p->m->target = device;
    return p;
}

static struct kernel *kernel_of(struct program *p) { return p->f->kernels.at[0]; }

/* Tiles a block, 1 if it was left alone. */
static int tiles_after_coarsen(struct program *p) {
    int64_t before = 0, after = 0;
    struct kernel *k = kernel_of(p);
    expr_is_int(k->grid[0], &before);
    coarsen(p->m);
    expr_is_int(k->grid[0], &after);
    const struct stmt *s = k->body.first;
    bool wrapped = s->kind == STMT_FOR && s->loop.kind == LOOP_PIPELINED && s->why;
    assert_true(wrapped || before == after);
    return wrapped ? (int)s->loop.var->hi + 1 : 1;
}

static int count_barriers(const struct block *b) {
    int n = 0;
    for (const struct stmt *s = b->first; s; s = s->next) {
        n += s->kind == STMT_BARRIER;
        if (s->kind == STMT_FOR) n += count_barriers(&s->loop.body);
    }
    return n;
}

static int slots_of(struct kernel *k, const char *name) {
    for (int i = 0; i < k->buffers.count; i++)
        if (!strcmp(k->buffers.at[i]->name->text, name)) return k->buffers.at[i]->ring;
    return -1;
}

static void check_values(const char *text, const struct target *device) {
    struct program *p = compile(text, device);
    program_tensors(p);
    p->quick = true; /* between pipeline and sync nothing waits for copies yet */
    const char *why = program_run(p);
    if (why || program_refusal(p)) print_message("%s\n%s\n", text, why ? why : program_refusal(p));
    assert_null(why);
    assert_null(program_refusal(p));
    program_free(p);
}

/* The slots of X_shared and the barriers. */
static void check_schedule(const char *text, const struct target *device, int slots, int barriers) {
    struct program *p = compile(text, device);
    void (*const passes[])(struct module * m) = {coarsen,  forward,  atoms, place,
                                                 pipeline, operands, sync,  shared};
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) passes[i](p->m);
    assert_null(program_refusal(p));
    struct rig r = {.arena = p->arena, .m = p->m, .f = p->f, .k = kernel_of(p)};
    const char *why = NULL;
    int races = count_races(&r, 0, &why);
    struct text t = text_new(p->arena);
    tile_print(&t, p->m);
    if (races || slots_of(r.k, "X_shared") != slots ||
        (barriers >= 0 && count_barriers(&r.k->body) != barriers))
        print_message("%s\n%s\n", t.at, why ? why : "");
    assert_int_equal(races, 0);
    assert_int_equal(slots_of(r.k, "X_shared"), slots);
    if (barriers >= 0) assert_int_equal(count_barriers(&r.k->body), barriers);
    program_free(p);
}

/* -- Kernels that do --------------------------------------------------------------------------- */

/* X - max, times the sum: whole numbers until Y rounds them. */
static const char ROWS[] = "@T.prim_func\n"
                           "def rows(X: T.Tensor((%d, %d), \"%s\"),\n"
                           "         Y: T.Tensor((%d, %d), \"%s\")):\n"
                           "    with T.Kernel(T.ceildiv(%d, %d), threads=%d) as bx:\n"
                           "        X_shared = T.alloc_shared((%d, %d), \"%s\")\n"
                           "        x = T.alloc_fragment((%d, %d), \"float32\")\n"
                           "        most = T.alloc_fragment((%d,), \"float32\")\n"
                           "        total = T.alloc_fragment((%d,), \"float32\")\n"
                           "        T.copy(X[bx * %d, 0], X_shared)\n"
                           "        T.copy(X_shared, x)\n"
                           "        T.reduce_max(x, most, dim=1, clear=True)\n"
                           "        for i, j in T.Parallel(%d, %d):\n"
                           "            x[i, j] = x[i, j] - most[i]\n"
                           "        T.reduce_sum(x, total, dim=1)\n"
                           "        for i, j in T.Parallel(%d, %d):\n"
                           "            x[i, j] = x[i, j] * total[i]\n"
                           "        T.copy(x, Y[bx * %d, 0])\n";

static void test_rows(void **state) {
    static const struct {
        int rows, columns, block, threads;
        const char *type;
        int tiles, barriers;
    } cases[] = {
        {32, 2048, 1, 128, "float16", 16, 2}, /* divides */
        {33, 2048, 1, 128, "float16", 9, 2},  /* the last block has fewer tiles */
        {29, 1000, 1, 64, "float16", 15, -1}, /* and columns are no power of two */
        {8, 2048, 1, 32, "float32", 4, 0},    /* one warp: it never waits for others */
        {61, 256, 4, 64, "float16", 8, -1},   /* the last tile has fewer rows */
        {257, 128, 8, 64, "float32", -1, -1},
        {7, 1024, 1, 64, "float16", 1, -1},  /* too few tiles */
        {64, 128, 1, 64, "float16", 1, -1},  /* several blocks fit */
        {64, 4096, 2, 64, "float32", 1, -1}, /* two slots do not fit */
    };
    (void)state;
    struct target device = tiny_device("sm_80");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2048];
        int m = cases[i].rows, n = cases[i].columns, b = cases[i].block;
        const char *t = cases[i].type;
        snprintf(text, sizeof text, ROWS, m, n, t, m, n, t, m, b, cases[i].threads, b, n, t, b, n,
                 b, b, b, b, n, b, n, b);
        struct program *p = compile(text, &device);
        int tiles = tiles_after_coarsen(p);
        program_free(p);
        if (cases[i].tiles < 0) assert_true(tiles > 1);
        if (cases[i].tiles >= 0 && tiles != cases[i].tiles) print_message("case %zu\n", i);
        if (cases[i].tiles >= 0) assert_int_equal(tiles, cases[i].tiles);
        check_values(text, &device);
        if (tiles > 1) check_schedule(text, &device, 2, cases[i].barriers);
    }
}

/* -- Other forms ------------------------------------------------------------------------------- */

#define HEAD                                                                                 \
    "@T.prim_func\n"                                                                         \
    "def other(X: T.Tensor((32, 1024), \"float32\"), Z: T.Tensor((4, 1024), \"float32\"),\n" \
    "          Y: T.Tensor((32, 1024), \"float32\"), N: T.Tensor((4,), \"int32\")):\n"
#define TILES                                                     \
    "        X_shared = T.alloc_shared((1, 1024), \"float32\")\n" \
    "        Z_shared = T.alloc_shared((1, 1024), \"float32\")\n" \
    "        x = T.alloc_fragment((1, 1024), \"float32\")\n"
#define ALONG_X \
    HEAD "    with T.Kernel(32, threads=32) as bx:\n" TILES "        T.copy(X[bx, 0], X_shared)\n"
#define SCALE                                    \
    "        for i, j in T.Parallel(1, 1024):\n" \
    "            x[i, j] = X_shared[i, j] * 2.0\n"
#define END "        T.copy(x, Y[bx, 0])\n"

static const struct {
    const char *what, *text;
    int tiles;
} others[] = {
    {"the form they all change", ALONG_X SCALE END, 16},
    {"two axes",
     HEAD "    with T.Kernel(4, 8, threads=32) as (bx, by):\n" TILES
          "        T.copy(X[by * 4 + bx, 0], X_shared)\n" SCALE
          "        T.copy(x, Y[by * 4 + bx, 0])\n",
     4},
    {"a second tile, the same for all",
     ALONG_X "        T.copy(Z[1, 0], Z_shared)\n"
             "        for i, j in T.Parallel(1, 1024):\n"
             "            x[i, j] = X_shared[i, j] * Z_shared[i, 1023 - j]\n" END,
     16},
    {"read turned around, by other threads",
     ALONG_X "        for i, j in T.Parallel(1, 1024):\n"
             "            x[i, j] = X_shared[i, 1023 - j]\n" END,
     16},
    {"a variable that starts again in each tile",
     ALONG_X "        n = T.alloc_var(\"int32\", 0)\n"
             "        for k in T.serial(3):\n"
             "            n += k + bx\n"
             "        for i, j in T.Parallel(1, 1024):\n"
             "            x[i, j] = X_shared[i, j] + n\n" END,
     16},
    {"a sum that starts again in each tile",
     ALONG_X "        total = T.alloc_fragment((1,), \"float32\")\n"
             "        T.clear(total)\n" SCALE "        T.reduce_sum(x, total, dim=1, clear=False)\n"
             "        for i, j in T.Parallel(1, 1024):\n"
             "            x[i, j] = x[i, j] - total[i]\n" END,
     16},
    {"counts", ALONG_X SCALE "        T.atomic_add(N[bx % 4], 1)\n" END, 16},
    {"the second tile is a load that waits for a value",
     ALONG_X "        T.copy(Z[N[0] % 4, 0], Z_shared)\n"
             "        for i, j in T.Parallel(1, 1024):\n"
             "            x[i, j] = X_shared[i, j] + Z_shared[i, j]\n" END,
     16},
    {"a pipelined loop of its own",
     ALONG_X SCALE "        for k in T.Pipelined(4, num_stages=2):\n"
                   "            T.copy(Z[k, 0], Z_shared)\n"
                   "            for i, j in T.Parallel(1, 1024):\n"
                   "                x[i, j] = x[i, j] + Z_shared[i, j]\n" END,
     1},
    {"the tile is written, too",
     ALONG_X "        for i, j in T.Parallel(1, 1024):\n"
             "            X_shared[i, j] = X_shared[i, j] + 1.0\n" SCALE END,
     1},
    {"a part of the tile",
     HEAD "    with T.Kernel(32, threads=32) as bx:\n" TILES "        T.clear(X_shared)\n"
          "        T.copy(X[bx, 0:512], X_shared[0:1, 0:512])\n" SCALE END,
     1},
    {"the tensor is written", ALONG_X SCALE "        T.copy(x, X[bx, 0])\n" END, 1},
    {"blocks that tell each other",
     ALONG_X SCALE "        n = T.atomic_add(N[0], 1, return_prev=True)\n"
                   "        if n == 31:\n"
                   "            N[1] = 1\n" END,
     1},
    {"each block takes a panel", ALONG_X "        T.use_swizzle(4)\n" SCALE END, 1},
};

static void test_others(void **state) {
    (void)state;
    struct target device = tiny_device("sm_80"), old = tiny_device("sm_75");
    device.registers_sm = old.registers_sm = 2048; /* as one warp needs */
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct program *p = compile(others[i].text, &device);
        int tiles = tiles_after_coarsen(p);
        if (tiles != others[i].tiles) print_message("%s\n", others[i].what);
        assert_int_equal(tiles, others[i].tiles);
        program_free(p);
        p = compile(others[i].text, &old);
        assert_int_equal(tiles_after_coarsen(p), 1);
        program_free(p);
        check_values(others[i].text, &device);
        if (tiles > 1) check_schedule(others[i].text, &device, 2, -1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_others),
    };
    return cmocka_run_group_tests_name("persist", tests, NULL, NULL);
}
