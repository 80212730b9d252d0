/* test_eval.c: the evaluator on kernels small enough to check by hand. */
#include "world.h"
#include <math.h>
#include <time.h>

#define HEAD "; tilec 0.1, level TILE, target sm_80\n"

static const char *why;

static bool run(struct module *m, struct tensor **t, union scalar *v, bool poison) {
    struct function_ir *f = m->functions.at[0];
    struct eval_args args = {f->params.count, t, v};
    struct eval_options options = {.poison = poison};
    why = NULL;
    bool good = tile_eval(m, f, &args, &options, &why);
    if (!good && !why) fail();
    return good;
}

static void run_good(struct module *m, struct tensor **t, union scalar *v) {
    if (!run(m, t, v, true)) fail_msg("%s", why);
}

/* -- elementwise
 * ----------------------------------------------------------------------------------- */
static const char vector_add[] =
    HEAD "function add unit add buffers 3 {\n"
         "  var dim N:index[0,*]\n"
         "  tensor A:f32[N] strides [1] id 0\n  tensor B:f32[N] strides [1] id 1\n"
         "  tensor C:f32[N] strides [1] id 2 output written\n"
         "  param tensor A = A\n  param tensor B = B\n  param tensor C = C\n  param dim N = N\n"
         "  kernel add_kernel grid [bx:index[0,*] = ((N + 127) // 128)] threads 128 [128, 1, 1] {\n"
         "    map [i:index[0,127] = 128] {\n"
         "      store C[((bx * 128) + i)] = (A[((bx * 128) + i)] + B[((bx * 128) + i)])\n"
         "    }\n  }\n}\n";

static void adds_vectors(void **state) {
    (void)state;
    for (int64_t n = 0; n < 400; n += 133) {
        struct world w = world_new();
        struct module *m = world_read(&w, vector_add);
        struct tensor *t[4] = {world_tensor(&w, DTYPE_F32, 1, &n),
                               world_tensor(&w, DTYPE_F32, 1, &n),
                               world_tensor(&w, DTYPE_F32, 1, &n)};
        union scalar v[4] = {{0}, {0}, {0}, {.i = n}};
        for (int i = 0; i < n; i++) {
            tensor_set(t[0], i, i);
            tensor_set(t[1], i, 1000 * i);
        }
        run_good(m, t, v);
        for (int i = 0; i < n; i++) assert_true(tensor_get(t[2], i) == 1001 * i);
        arena_free(w.a);
    }
}

/* -- matmul, plain and as a ring of async copies
 * ----------------------------------------------------- */
#define MATMUL_HEAD                                                      \
    "function mm unit mm buffers 6 {\n"                                  \
    "  tensor A:f16[128, 128] strides [128, 1] id 0\n"                   \
    "  tensor B:f16[128, 128] strides [128, 1] id 1\n"                   \
    "  tensor C:f32[128, 128] strides [128, 1] id 2 output written\n"    \
    "  param tensor A = A\n  param tensor B = B\n  param tensor C = C\n" \
    "  kernel mm_kernel grid [bx:index[0,1] = 2, by:index[0,1] = 2] threads 128 [128, 1, 1] {\n"

static const char matmul[] = HEAD MATMUL_HEAD
    "    shared S:f16[64, 32] id 3\n    shared T:f16[32, 64] id 4\n    fragment F:f32[64, 64] id "
    "5\n"
    "    map [x:index[0,63] = 64, y:index[0,63] = 64] {\n      store F[x, y] = 0.0:f32\n    }\n"
    "    for pipelined k:index[0,3] = 0 .. 4 stages 3 {\n"
    "      copy A[(by * 64) +64, (k * 32) +32] -> S[0 +64, 0 +32] over [i:index = 64, j:index = "
    "32] "
    "axes [0, 1] [0, 1]\n"
    "      copy B[(k * 32) +32, (bx * 64) +64] -> T[0 +32, 0 +64] over [i1:index = 32, j1:index = "
    "64] "
    "axes [0, 1] [0, 1]\n"
    "      gemm S[0 +64, 0 +32] T[0 +32, 0 +64] -> F[0 +64, 0 +64] size [64, 64, 32]\n    }\n"
    "    copy F[0 +64, 0 +64] -> C[(by * 64) +64, (bx * 64) +64] over [p:index = 64, q:index = 64] "
    "axes [0, 1] [0, 1]\n  }\n}\n";

static const char ring[] = HEAD MATMUL_HEAD
    "    shared S:f16[2, 64, 32] id 3 ring 2\n    shared T:f16[2, 32, 64] id 4 ring 2\n"
    "    fragment F:f32[64, 64] id 5\n"
    "    for serial k:index[0,4] = 0 .. 5 {\n"
    "      copy A[(by * 64) +64, (k * 32) +32] -> S[(k %% 2) +1, 0 +64, 0 +32] over [i:index = 64, "
    "j:index = 32] axes [0, 1] [1, 2] async guard (k < 4)\n"
    "      copy B[(k * 32) +32, (bx * 64) +64] -> T[(k %% 2) +1, 0 +32, 0 +64] over [i1:index = "
    "32, "
    "j1:index = 64] axes [0, 1] [1, 2] async guard (k < 4)\n"
    "      commit\n      wait %d\n"
    "      if (1 <= k) {\n"
    "        gemm S[((k - 1) %% 2) +1, 0 +64, 0 +32] T[((k - 1) %% 2) +1, 0 +32, 0 +64] -> F[0 "
    "+64, 0 "
    "+64] size [64, 64, 32] clear (k == 1)\n      }\n    }\n"
    "    copy F[0 +64, 0 +64] -> C[(by * 64) +64, (bx * 64) +64] over [p:index = 64, q:index = 64] "
    "axes [0, 1] [0, 1]\n  }\n}\n";

static void fill_matrices(struct world *w, struct tensor **t) {
    int64_t extent[2] = {128, 128};
    uint64_t seed = 7;
    t[0] = world_tensor(w, DTYPE_F16, 2, extent);
    t[1] = world_tensor(w, DTYPE_F16, 2, extent);
    t[2] = world_tensor(w, DTYPE_F32, 2, extent);
    for (int i = 0; i < 128 * 128; i++) {
        tensor_set(t[0], i, (double)(world_random(&seed) % 17) - 8);
        tensor_set(t[1], i, (double)(world_random(&seed) % 17) - 8);
    }
}

static bool is_product(struct tensor **t) {
    for (int i = 0; i < 128; i++)
        for (int j = 0; j < 128; j++) {
            double sum = 0;
            for (int k = 0; k < 128; k++)
                sum += tensor_get(t[0], i * 128 + k) * tensor_get(t[1], k * 128 + j);
            if (tensor_get(t[2], i * 128 + j) != sum) return false;
        }
    return true;
}

static void multiplies(void **state) {
    (void)state;
    struct world w = world_new();
    struct tensor *t[3];
    fill_matrices(&w, t);
    clock_t start = clock();
    run_good(world_read(&w, matmul), t, NULL);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    assert_true(is_product(t));
    if (seconds > 0.3) print_message("matmul 128^3 took %.2f s\n", seconds);
    arena_free(w.a);
}

/* A ring works if the wait is exact, and poison shows it if it is too weak by one. */
static void async_copies_arrive_late(void **state) {
    (void)state;
    for (int groups = 0; groups < 3; groups++) {
        struct world w = world_new();
        struct tensor *t[3];
        char text[4000];
        int length = snprintf(text, sizeof text, ring, groups);
        assert_true(length > 0 && length < (int)sizeof text);
        fill_matrices(&w, t);
        run_good(world_read(&w, text), t, NULL);
        assert_int_equal(is_product(t), groups <= 1);
        arena_free(w.a);
    }
}

/* -- small programs
 * --------------------------------------------------------------------------------- */
/* One tensor of 8 ints, a body, and what it leaves. */
struct program {
    const char *name, *body;
    double expected[8];
};

#define PROGRAM_HEAD                                                                               \
    HEAD "function f unit f buffers 4 {\n  tensor X:i32[8] strides [1] id 0 written\n"             \
         "  param tensor X = X\n  kernel k grid [bx:index[0,0] = 1] threads 32 [32, 1, 1] thread " \
         "tx:index[0,31] {\n  shared S:i32[32] id 1\n  local L:i32[4] id 2\n"                      \
         "  fragment F:i32[2, 4] id 3\n  var mutable x:i32\n  var mutable y:i32\n"

static const struct program programs[] = {
    {"every thread runs a plain statement",
     "store X[0] = (X[0] + 1:i32)\n atomic add relaxed X[1] = 1:i32\n",
     {1, 32}},
    {"writes outside a tensor are dropped",
     "store X[8] = 1:i32\n store X[-1] = 1:i32\n store X[0] = X[9]\n",
     {0}},
    {"threads differ",
     "if (tx < 3) {\n atomic add relaxed X[tx] = i32(tx)\n } else {\n atomic add "
     "relaxed X[7] = 1:i32\n }\n",
     {0, 1, 2, 0, 0, 0, 0, 29}},
    {"statement after statement",
     "store S[tx] = i32(tx)\n store X[(tx // 4)] = S[(31 - tx)]\n",
     {28, 24, 20, 16, 12, 8, 4, 0}},
    {"mutable variables are private",
     "set x = i32(tx)\n set x = (x + 1:i32)\n store S[tx] = x\n "
     "store X[0] = S[0]\n store X[1] = S[31]\n",
     {1, 32}},
    {"ragged loops",
     "set x = 0:i32\n for serial k:index[0,31] = 0 .. tx {\n set x = (x + 1:i32)\n }\n"
     " if (tx == 5) {\n store X[0] = x\n }\n if (tx == 31) {\n store X[1] = x\n }\n",
     {5, 31}},
    {"break and continue",
     "set x = 0:i32\n for serial k:index[0,9] = 0 .. 10 {\n if ((k % 2) == 0) {\n "
     "continue\n }\n if (tx < k) {\n break\n }\n set x = (x + i32(k))\n }\n store S[tx] = x\n"
     " store X[0] = S[0]\n store X[1] = S[3]\n store X[2] = S[31]\n",
     {0, 4, 25}},
    {"while",
     "set x = 0:i32\n while (x < 5:i32) {\n set x = (x + 1:i32)\n }\n store X[0] = x\n",
     {5}},
    {"steps down",
     "for serial k:index[-2,7] = 7 .. -3 step -3 {\n store X[0] = ((X[0] * 10:i32) + "
     "i32(k))\n }\n",
     {7408}},
    {"an iteration's own storage",
     "set x = 100:i32\n map [i:index = 2, j:index = 4] {\n set x = (x + "
     "i32(((i * 4) + j)))\n store L[0] = x\n store F[i, j] = L[0]\n }\n copy F[0 +2, 0 +4] -> X[0 "
     "+8] "
     "over [a:index = 4] axes [1] [0]\n store X[7] = x\n",
     {100, 101, 102, 103, 0, 0, 0, 100}},
    {"one element a thread keeps it",
     "map [i:index = 32] {\n set x = i32(i)\n }\n map [j:index = 32] {\n "
     "store S[j] = x\n }\n store X[3] = S[17]\n",
     {0, 0, 0, 17}},
    {"atomics tell the old value",
     "if (tx == 0) {\n atomic add relaxed X[0] = 5:i32 -> old:i32\n "
     "atomic max relaxed X[0] = (old + 9:i32) -> then:i32\n store X[1] = then\n }\n",
     {9, 5}},
    {"reductions",
     "map [i:index = 2, j:index = 4] {\n store F[i, j] = i32(((i * 4) - j))\n }\n"
     " reduce sum F[0 +2, 0 +4] -> S[0 +2] axis 1 clear\n reduce max F[0 +2, 0 +4] -> S[2 +4] axis "
     "0 "
     "clear\n reduce absmax F[0 +1, 0 +4] -> S[6 +1] axis 1 clear\n reduce bitor F[0 +2, 0 +4] -> "
     "S[7 "
     "+2] axis 1 clear\n copy S[0 +8] -> X[0 +8] over [a:index = 8] axes [0] [0]\n",
     {-6, 10, 4, 3, 2, 1, 3, -1}},
    {"copies clip",
     "map [i:index = 32] {\n store S[i] = i32(i)\n }\n copy S[28 +8] -> X[-2 +8] over "
     "[a:index = 8] axes [0] [0]\n",
     {30, 31, 0, 0, 0, 0, 0, 0}},
    {"only the chosen side is evaluated",
     "store X[0] = select((bx < 0), S[99], 4:i32)\n store X[1] = "
     "i32(((bx < 0) and (S[77] == 1:i32)))\n",
     {4, 0}},
};

static void runs_programs(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct world w = world_new();
        int64_t eight = 8;
        struct tensor *t[1] = {world_tensor(&w, DTYPE_I32, 1, &eight)};
        const char *text = arena_printf(w.a, PROGRAM_HEAD "%s}\n}\n", programs[i].body);
        if (!run(world_read(&w, text), t, NULL, true)) fail_msg("%s: %s", programs[i].name, why);
        for (int k = 0; k < 8; k++)
            if (tensor_get(t[0], k) != programs[i].expected[k])
                fail_msg("%s: X[%d] is %g", programs[i].name, k, tensor_get(t[0], k));
        arena_free(w.a);
    }
}

/* -- failures
 * --------------------------------------------------------------------------------------- */
static const struct {
    const char *body, *why;
} failures[] = {
    {"store S[32] = 1:i32\n", "index 32 of axis 0 lies outside buffer 'S' (extent 32)"},
    {"store X[0] = L[(0 - 1)]\n", "index -1 of axis 0 lies outside buffer 'L' (extent 4)"},
    {"assert \"no\" test (tx < 31)\n", "assertion failed: no"},
    {"for serial k:index[0,1] = 0 .. 3 {\n }\n", "variable 'k' is 2, outside [0, 1]/1"},
    {"map [i:index = 2] {\n commit\n }\n", "an operation of the whole block stands inside a MAP"},
};

static void says_why(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        struct world w = world_new();
        int64_t eight = 8;
        struct tensor *t[1] = {world_tensor(&w, DTYPE_I32, 1, &eight)};
        const char *text = arena_printf(w.a, PROGRAM_HEAD "%s}\n}\n", failures[i].body);
        assert_false(run(world_read(&w, text), t, NULL, false));
        assert_string_equal(why, failures[i].why);
        arena_free(w.a);
    }
}

/* -- NaN in reductions
 * ------------------------------------------------------------------------------ */
static const char nan_rules[] =
    HEAD "function f unit f buffers 3 {\n  tensor X:f32[4] strides [1] id 0 written\n  param "
         "tensor X = X\n"
         "  kernel k grid [bx:index[0,0] = 1] threads 32 [32, 1, 1] {\n"
         "    fragment F:f32[3] id 1\n    fragment R:f32[4] id 2\n"
         "    map [i:index = 3] {\n      store F[i] = select((i == 1), nan:f32, 2.0:f32)\n    }\n"
         "    reduce max F[0 +3] -> R[0 +1] axis 0 clear\n"
         "    reduce max F[0 +3] -> R[1 +1] axis 0 clear nan\n"
         "    reduce min F[1 +1] -> R[2 +1] axis 0 clear\n"
         "    reduce sum F[1 +1] -> R[3 +1] axis 0 clear\n"
         "    copy R[0 +4] -> X[0 +4] over [a:index = 4] axes [0] [0]\n  }\n}\n";

static void nan_in_reductions(void **state) {
    (void)state;
    struct world w = world_new();
    int64_t four = 4;
    struct tensor *t[1] = {world_tensor(&w, DTYPE_F32, 1, &four)};
    run_good(world_read(&w, nan_rules), t, NULL);
    assert_true(tensor_get(t[0], 0) == 2);
    assert_true(isnan(tensor_get(t[0], 1)));
    assert_true(isinf(tensor_get(t[0], 2)));
    assert_true(isnan(tensor_get(t[0], 3)));
    arena_free(w.a);
}

/* -- how far sums by atomics may lie apart
 * ---------------------------------------------------------- */
static const char two_sums[] =
    HEAD "function f unit f buffers 1 {\n  tensor X:f32[2] strides [1] id 0 written\n  param "
         "tensor X = X\n"
         "  kernel k grid [bx:index[0,0] = 1] threads 32 [32, 1, 1] {\n"
         "    map [i:index = 8] {\n"
         "      atomic add relaxed X[0] = select(((i % 2) == 0), 1024.0:f32, -1024.0:f32)\n"
         "      atomic max relaxed X[1] = 4096.0:f32\n    }\n  }\n}\n";

/* By the size of the terms, not by what is left of them; and maxima lie nowhere else. */
static void tells_how_far_sums_may_lie(void **state) {
    (void)state;
    struct world w = world_new();
    int64_t two = 2;
    struct tensor *t[1] = {world_tensor(&w, DTYPE_F32, 1, &two)};
    struct module *m = world_read(&w, two_sums);
    struct eval_args args = {1, t, NULL};
    double apart = 0;
    struct eval_options options = {.reordered = &apart};
    assert_true(tile_eval(m, m->functions.at[0], &args, &options, &why));
    assert_true(tensor_get(t[0], 0) == 0);
    assert_true(apart > 4 * 1024 * 0x1p-23 && apart < 64 * 1024 * 0x1p-23);
    arena_free(w.a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(adds_vectors),
                                       cmocka_unit_test(multiplies),
                                       cmocka_unit_test(async_copies_arrive_late),
                                       cmocka_unit_test(runs_programs),
                                       cmocka_unit_test(says_why),
                                       cmocka_unit_test(nan_in_reductions),
                                       cmocka_unit_test(tells_how_far_sums_may_lie)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
