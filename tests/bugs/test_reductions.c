/* test_reductions.c: reductions over lanes, warps and copies that do not divide.
 *
 * 17 and 19 are about prefix scans, which are refused by name. */
#include "bugs.h"
#include <math.h>

/* A tile of (rows, width) reduced along its last axis to Y[rows]. */
#define ROWS(rows, width, threads, type, op)                                                    \
    "@T.prim_func\ndef k(A: T.Tensor((" #rows ", " #width "), '" type "'), Y: T.Tensor((" #rows \
    ",), '" type "')):\n    with T.Kernel(1, threads=" #threads                                 \
    ") as bx:\n        f = T.alloc_fragment((" #rows ", " #width "), '" type "')\n"             \
    "        r = T.alloc_fragment((" #rows ",), '" type "')\n        T.copy(A, f)\n"            \
    "        T.reduce_" op "(f, r, dim=1)\n        T.copy(r, Y)\n"

static void count_up(struct program *p) {
    struct tensor *a = program_tensor(p, "A");
    for (int64_t i = 0; i < tensor_elements(a); i++)
        tensor_put(a, i, (double)(i % a->stride[0] + 1));
}

static double row_sum(struct program *p, int64_t i) {
    const struct tensor *a = program_tensor(p, "A");
    double sum = 0;
    for (int64_t k = 0; k < a->extent[1]; k++) sum += at2(p, "A", i, k);
    return sum;
}

static double row_max(struct program *p, int64_t i) {
    const struct tensor *a = program_tensor(p, "A");
    double most = -INFINITY;
    for (int64_t k = 0; k < a->extent[1]; k++) most = fmax(most, at2(p, "A", i, k));
    return most;
}

/* (16, 8, 16) in blocks of two, summed along the middle axis. */
static const char middle_axis[] =
    "@T.prim_func\ndef k(A: T.Tensor((16, 8, 16), 'float32'), Y: T.Tensor((16, 16), 'float32')):\n"
    "    with T.Kernel(8, threads=128) as bx:\n"
    "        f = T.alloc_fragment((2, 8, 16), 'float32')\n"
    "        r = T.alloc_fragment((2, 16), 'float32')\n        T.copy(A[bx * 2, 0, 0], f)\n"
    "        T.reduce_sum(f, r, dim=1)\n        T.copy(r, Y[bx * 2, 0])\n";

static double middle_sum(struct program *p, int64_t at) {
    double sum = 0;
    for (int k = 0; k < 8; k++) sum += at1(p, "A", at / 16 * 128 + k * 16 + at % 16);
    return sum;
}

/* An accumulator that all threads hold; eight numbers, 128 threads. */
static const char replicated[] =
    "@T.prim_func\ndef k(A: T.Tensor((4, 8), 'float32'), Y: T.Tensor((4, 4), 'float32')):\n"
    "    with T.Kernel(1, threads=128) as bx:\n        f = T.alloc_fragment((8,), 'float32')\n"
    "        r = T.alloc_fragment((1,), 'float32')\n        T.clear(r)\n"
    "        for k in T.serial(4):\n            T.copy(A[k, 0], f)\n"
    "            T.reduce_sum(f, r, dim=0, clear=False)\n"
    "            for j in T.Parallel(4):\n                Y[k, j] = r[0]\n";

static double running_sum(struct program *p, int64_t at) {
    double sum = 0;
    for (int64_t k = 0; k < (at / 4 + 1) * 8; k++) sum += at1(p, "A", k);
    return sum;
}

#define KEPT(src, dst, op)                                                                         \
    "@T.prim_func\ndef k(A: T.Tensor((16, 64), 'float32'), Y: T.Tensor((16,), 'float32')):\n"      \
    "    with T.Kernel(1, threads=128) as bx:\n        s = T.alloc_" src                           \
    "((16, 64), 'float32')\n        r = T.alloc_" dst "((16,), 'float32')\n        T.copy(A, s)\n" \
    "        T.fill(r, 1000)\n        T.reduce_" op                                                \
    "(s, r, dim=1, clear=False)\n        T.copy(r, Y)\n"

static double kept_sum(struct program *p, int64_t i) { return 1000 + row_sum(p, i); }
static double thousand(struct program *p, int64_t i) {
    (void)p;
    (void)i;
    return 1000;
}

static const struct bug bugs[] = {
    {.name = "11 48 threads",
     .text = ROWS(1, 48, 96, "float32", "sum"),
     .want = row_sum,
     .fill = count_up},
    {.name = "11 48 of 64 threads, max",
     .text = ROWS(1, 48, 64, "float32", "max"),
     .want = row_max,
     .fill = count_up},
    {.name = "11 33 of 1024",
     .text = ROWS(1, 33, 1024, "float32", "sum"),
     .want = row_sum,
     .fill = count_up},
    {.name = "11 1000 of 1024",
     .text = ROWS(1, 1000, 1024, "float32", "sum"),
     .want = row_sum,
     .fill = count_up},
    {.name = "11 a block of 48 threads",
     .text = ROWS(1, 48, 48, "float32", "sum"),
     .refused = "64 is the nearest multiple of 32"},
    {.name = "12 two rows at once, middle axis", .text = middle_axis, .want = middle_sum},
    {.name = "13 width 96", .text = ROWS(4, 96, 128, "float32", "sum"), .want = row_sum},
    {.name = "13 width 100", .text = ROWS(2, 100, 128, "float32", "sum"), .want = row_sum},
    {.name = "13 width 120", .text = ROWS(8, 120, 128, "float16", "sum"), .want = row_sum},
    {.name = "13 width 127", .text = ROWS(1, 127, 128, "float32", "max"), .want = row_max},
    {.name = "13 width 768", .text = ROWS(8, 768, 128, "float16", "sum"), .want = row_sum},
    {.name = "13 width 1280", .text = ROWS(8, 1280, 256, "float32", "sum"), .want = row_sum},
    {.name = "13 width 20224", .text = ROWS(1, 20224, 512, "float32", "sum"), .want = row_sum},
    {.name = "15 8 elements, 128 threads",
     .text = ROWS(1, 8, 128, "float32", "sum"),
     .want = row_sum,
     .fill = count_up},
    {.name = "15 3 elements, 128 threads",
     .text = ROWS(1, 3, 128, "int32", "sum"),
     .want = row_sum},
    {.name = "15 24 elements, 128 threads",
     .text = ROWS(1, 24, 128, "int32", "sum"),
     .want = row_sum},
    {.name = "15 an accumulator that all hold", .text = replicated, .want = running_sum},
    {.name = "17 19 scans",
     .text = "@T.prim_func\ndef k(Y: T.Tensor((64,), 'float32')):\n"
             "    with T.Kernel(1, threads=96) as bx:\n"
             "        s = T.alloc_shared((16, 48), 'float32')\n"
             "        T.cumsum(s[0:16, 0:32], dim=1)\n",
     .refused = "[E0401]"},
    {.name = "22 shared to shared", .text = KEPT("shared", "shared", "sum"), .want = kept_sum},
    {.name = "22 shared to fragment", .text = KEPT("shared", "fragment", "sum"), .want = kept_sum},
    {.name = "22 fragment to shared", .text = KEPT("fragment", "shared", "sum"), .want = kept_sum},
    {.name = "22 fragments, max", .text = KEPT("fragment", "fragment", "max"), .want = thousand},
    {.name = "22 shared, max", .text = KEPT("shared", "shared", "max"), .want = thousand},
    {.name = "22 shared, min", .text = KEPT("shared", "shared", "min"), .values = "-4 -4 -4 -4"},
    {.name = "23 (33, 64)", .text = ROWS(33, 64, 128, "float32", "sum"), .want = row_sum},
    {.name = "23 (257, 257)", .text = ROWS(257, 257, 256, "float16", "max"), .want = row_max},
    {.name = "23 (16, 1)", .text = ROWS(16, 1, 128, "float32", "max"), .want = row_max},
    {.name = "23 (16, 1), one warp", .text = ROWS(16, 1, 32, "float32", "sum"), .want = row_sum},
};

int main(void) { return RUN_BUGS("reductions", bugs); }
