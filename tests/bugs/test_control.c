/* test_control.c: control flow and side effects: once each, in the order of the text.
 *
 * 108 is about T.Persistent, which is refused; the loop written out is here. */
#include "bugs.h"
#include <math.h>

#define KERNEL(params, threads) \
    "@T.prim_func\ndef k(" params "):\n    with T.Kernel(1, threads=" #threads ") as bx:\n"

static double one(struct program *p, int64_t i) {
    (void)p;
    (void)i;
    return 1;
}

static const char append[] = KERNEL(
    "C: T.Tensor((1,), 'int32'), Y: T.Tensor((513,), 'int32')",
    128) "        for i in T.Parallel(512):\n"
         "            pos = T.atomic_add(C[0], 1, return_prev=True)\n            if pos < 512:\n"
         "                Y[pos] = 1\n        Y[512] = C[0] - 511\n";
static void no_count(struct program *p) { tensor_put(program_tensor(p, "C"), 0, 0); }

static void pairs_1_7(struct program *p) {
    struct tensor *y = program_tensor(p, "Y");
    for (int64_t i = 0; i < tensor_elements(y); i++) tensor_put(y, i, i % 2 ? 7 : 1);
}
static double pairs_0_7(struct program *p, int64_t i) {
    (void)p;
    return i % 2 ? 7 : 0;
}
static const char two_ifs[] =
    KERNEL("Y: T.Tensor((256,), 'int32')",
           128) "        for i in T.Parallel(128):\n            if Y[2 * i] > 0:\n                "
                "Y[2 * i] = 0\n"
                "            if Y[2 * i] > 0:\n                Y[2 * i + 1] = 1\n";
static const char two_ifs_in_loop[] =
    KERNEL("Y: T.Tensor((256,), 'int32')",
           128) "        for i in T.Parallel(128):\n            for r in T.serial(2):\n"
                "                if Y[2 * i] > 0:\n                    Y[2 * i] = 0\n"
                "            if Y[2 * i] > 0:\n                Y[2 * i + 1] = 1\n";
static const char two_ifs_plain[] = KERNEL(
    "Y: T.Tensor((2,), 'int32')",
    32) "        if Y[0] > 0:\n            Y[0] = 0\n        if Y[0] > 0:\n            Y[1] = 1\n";

/* All starts, stops and steps, each loop kind, an invariant condition inside. */
#define LOOPS(kind)                                                               \
    KERNEL("n: T.int32, Y: T.Tensor((90,), 'float32')", 32)                       \
    "        for a in [0, 1, 2]:\n            for b in [0, 1, 2, 3, 4]:\n"        \
    "                for s in [0, 1, 2, 3, 4, 5]:\n"                              \
    "                    v = T.alloc_var('float32', 1.0)\n"                       \
    "                    for i in " kind "([-3, 0, 2][a], [-5, -1, 0, 4, 9][b], " \
    "[-3, -2, -1, 1, 2, 3][s]):\n                        if n > 0:\n"             \
    "                            v = v * 2 + i\n"                                 \
    "                    Y[(a * 5 + b) * 6 + s] = v\n"
static double python_range(struct program *p, int64_t at) {
    (void)p;
    static const int starts[] = {-3, 0, 2}, stops[] = {-5, -1, 0, 4, 9};
    static const int steps[] = {-3, -2, -1, 1, 2, 3};
    int stop = stops[at / 6 % 5], step = steps[at % 6];
    double v = 1;
    for (int i = starts[at / 30]; step > 0 ? i < stop : i > stop; i += step) v = v * 2 + i;
    return v;
}

#define LEAVING(loop)                                                                  \
    KERNEL("n: T.int32, Y: T.Tensor((8,), 'float32')", 32)                             \
    "        for i in T." loop ":\n            if i == 1:\n                continue\n" \
    "            if i == n:\n                break\n            Y[i] = i\n"

#define PREVIOUS(op, type)                                                     \
    KERNEL("A: T.Tensor((1,), '" type "'), Y: T.Tensor((2,), '" type "')", 32) \
    "        for i in T.Parallel(1):\n"                                        \
    "            Y[0] = T.atomic_" op "(A[0], 3, return_prev=True)\n"          \
    "            Y[1] = T.atomic_" op "(A[0], 5, return_prev=True)\n"
static void four(struct program *p) { tensor_put(program_tensor(p, "A"), 0, 4); }

#define ATOMIC_TILE(from, to, op)                                                 \
    KERNEL("A: T.Tensor((256,), '" from "'), Y: T.Tensor((256,), '" to "')", 128) \
    "        f = T.alloc_fragment((256,), '" from "')\n        T.copy(A, f)\n"    \
    "        T.atomic_" op "(Y, f)\n"
static double plus_a(struct program *p, int64_t i) { return -1 + at1(p, "A", i); }
static double max_a(struct program *p, int64_t i) { return fmax(-1, at1(p, "A", i)); }
static double min_a(struct program *p, int64_t i) { return fmin(-1, at1(p, "A", i)); }

#define SNAPSHOT(n)                                                                            \
    "@T.prim_func\ndef k(A: T.Tensor((" n ",), 'float32'), B: T.Tensor((" n ",), 'float32'), " \
    "Y: T.Tensor((" n ",), 'float32')):\n    with T.Kernel(8, threads=128) as bx:\n"           \
    "        for i in T.Parallel(128):\n            t = T.max(A[bx * 128 + i], 1)\n"           \
    "            B[bx * 128 + i] = t / 2\n            A[bx * 128 + i] = t * 2\n"               \
    "            Y[bx * 128 + i] = B[bx * 128 + i] + A[bx * 128 + i] * 10\n"
static void start_a(struct program *p) {
    struct tensor *a = program_tensor(p, "A");
    for (int64_t i = 0; i < tensor_elements(a); i++) tensor_put(a, i, (double)(i % 7 - 3));
}
static double both_from_first(struct program *p, int64_t i) {
    (void)p;
    double t = fmax((double)(i % 7 - 3), 1);
    return t / 2 + t * 20;
}

/* 9 x 11 tiles on 4 blocks, each visited once. */
static const char persistent[] =
    "@T.prim_func\ndef k(n: T.int32, Y: T.Tensor((9, 11), 'int32')):\n"
    "    with T.Kernel(4, threads=32) as bx:\n        w = T.alloc_var('int32', bx)\n"
    "        while w < 9 * n:\n            for i in T.Parallel(1):\n"
    "                Y[w // n, w % n] = Y[w // n, w % n] + 2\n            w = w + 4\n";

static const struct bug bugs[] = {
    {.name = "96 an atomic's old value used twice", .text = append, .want = one, .fill = no_count},
    {.name = "97 two ifs alike", .text = two_ifs, .want = pairs_0_7, .fill = pairs_1_7},
    {.name = "97 the first in a loop",
     .text = two_ifs_in_loop,
     .want = pairs_0_7,
     .fill = pairs_1_7},
    {.name = "97 in every thread", .text = two_ifs_plain, .want = pairs_0_7, .fill = pairs_1_7},
    {.name = "100 range", .text = LOOPS("range"), .want = python_range, .n = 1},
    {.name = "100 T.serial", .text = LOOPS("T.serial"), .want = python_range, .n = 1},
    {.name = "100 T.unroll", .text = LOOPS("T.unroll"), .want = python_range, .n = 1},
    {.name = "102 serial", .text = LEAVING("serial(8)"), .values = "0 -1 2 3 -1 -1", .n = 4},
    {.name = "102 run-time bounds",
     .text = LEAVING("serial(n + 2)"),
     .values = "0 -1 2 3 -1 -1",
     .n = 4},
    {.name = "102 unroll", .text = LEAVING("unroll(8)"), .values = "0 -1 2 3 -1 -1", .n = 4},
    {.name = "102 explicit unroll",
     .text = LEAVING("unroll(8, explicit=True)"),
     .values = "0 -1 2 3 -1 -1",
     .n = 4},
    {.name = "102 pipelined",
     .text = LEAVING("Pipelined(8, num_stages=2)"),
     .values = "0 -1 2 3 -1 -1",
     .n = 4},
    {.name = "102 vectorized",
     .text = LEAVING("vectorized(8)"),
     .values = "0 -1 2 3 -1 -1",
     .n = 4},
    {.name = "102 parallel", .text = LEAVING("Parallel(8)"), .refused = "[E0407]"},
    {.name = "103 max, int32", .text = PREVIOUS("max", "int32"), .values = "4 4", .fill = four},
    {.name = "103 min, int32", .text = PREVIOUS("min", "int32"), .values = "4 3", .fill = four},
    {.name = "103 max, float32", .text = PREVIOUS("max", "float32"), .values = "4 4", .fill = four},
    {.name = "103 min, float32", .text = PREVIOUS("min", "float32"), .values = "4 3", .fill = four},
    {.name = "103 add, float32", .text = PREVIOUS("add", "float32"), .values = "4 7", .fill = four},
    {.name = "104 f32 into f16",
     .text = ATOMIC_TILE("float32", "float16", "add"),
     .want = plus_a,
     .either = true},
    {.name = "104 f32 into bf16",
     .text = ATOMIC_TILE("float32", "bfloat16", "add"),
     .want = plus_a,
     .either = true},
    {.name = "104 f32 into f16, max",
     .text = ATOMIC_TILE("float32", "float16", "max"),
     .want = max_a,
     .either = true},
    {.name = "104 int32 into f32", .text = ATOMIC_TILE("int32", "float32", "add"), .want = plus_a},
    {.name = "104 f16 into f32, min",
     .text = ATOMIC_TILE("float16", "float32", "min"),
     .want = min_a},
    {.name = "104 f32 into int32", .text = ATOMIC_TILE("float32", "int32", "add"), .want = plus_a},
    {.name = "106 N = 1024", .text = SNAPSHOT("1024"), .want = both_from_first, .fill = start_a},
    {.name = "106 N = 1000", .text = SNAPSHOT("1000"), .want = both_from_first, .fill = start_a},
    {.name = "108 a persistent loop", .text = persistent, .want = one, .n = 11},
};

int main(void) { return RUN_BUGS("control", bugs); }
