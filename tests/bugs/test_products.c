/* test_products.c: matrix products: warps, depths and slices that do not divide.
 *
 * Sizes of every kind are swept in tests/sweep; here is what the reports did beyond sizes. */
#include "bugs.h"

#define GEMM(m, n, k, threads, options)                                                      \
    "@T.prim_func\ndef k(A: T.Tensor((" #m ", " #k "), 'float16'), B: T.Tensor((" #k ", " #n \
    "), 'float16'), Y: T.Tensor((" #m ", " #n "), 'float32')):\n"                            \
    "    with T.Kernel(1, threads=" #threads ") as bx:\n"                                    \
    "        a = T.alloc_shared((" #m ", " #k "), 'float16')\n"                              \
    "        b = T.alloc_shared((" #k ", " #n "), 'float16')\n"                              \
    "        c = T.alloc_fragment((" #m ", " #n "), 'float32')\n"                            \
    "        T.copy(A, a)\n        T.copy(B, b)\n        T.clear(c)\n"                       \
    "        T.gemm(a, b, c" options ")\n        T.copy(c, Y)\n"

static double product(struct program *p, int64_t at) {
    const struct tensor *a = program_tensor(p, "A"), *y = program_tensor(p, "Y");
    int64_t i = at / y->extent[1], j = at % y->extent[1];
    double sum = 0;
    for (int64_t k = 0; k < a->extent[1]; k++) sum += at2(p, "A", i, k) * at2(p, "B", k, j);
    return sum;
}

static double zero(struct program *p, int64_t i) {
    (void)p;
    (void)i;
    return 0;
}

/* Row i of A is i in its first column, so that row i of the product is i times B's first row. */
static void number_rows(struct program *p) {
    struct tensor *a = program_tensor(p, "A"), *b = program_tensor(p, "B");
    for (int64_t i = 0; i < a->extent[0]; i++)
        for (int64_t k = 0; k < a->extent[1]; k++)
            tensor_put(a, i * a->extent[1] + k, k == 0 ? (double)i : 0);
    for (int64_t k = 0; k < tensor_elements(b); k++) tensor_put(b, k, 1);
}

static const char sliced_operand[] =
    "@T.prim_func\ndef k(A: T.Tensor((64, 128), 'bfloat16'), B: T.Tensor((128, 128), 'bfloat16'),\n"
    "      Y: T.Tensor((64, 128), 'float32')):\n    with T.Kernel(1, threads=128) as bx:\n"
    "        a = T.alloc_shared((64, 128), 'bfloat16')\n"
    "        b = T.alloc_shared((128, 128), 'bfloat16')\n"
    "        c = T.alloc_fragment((64, 64), 'float32')\n"
    "        d = T.alloc_fragment((64, 64), 'float32')\n        T.copy(A, a)\n"
    "        for i, j in T.Parallel(128, 128):\n            b[i, j] = B[j, i]\n"
    "        T.gemm(a, b[0:64, :], c, transpose_B=True, clear_accum=True)\n"
    "        T.gemm(a, b[64:128, :], d, transpose_B=True, clear_accum=True)\n"
    "        T.copy(c, Y[0:64, 0:64])\n        T.copy(d, Y[0:64, 64:128])\n";

static const char empty_depth[] =
    "n = T.dynamic('n')\n@T.prim_func\ndef k(A: T.Tensor((128, n), 'float16'), "
    "B: T.Tensor((n, 128), 'float16'),\n      Y: T.Tensor((128, 128), 'float32')):\n"
    "    with T.Kernel(2, 2, threads=128) as (bx, by):\n"
    "        a = T.alloc_shared((64, 32), 'float16')\n        b = T.alloc_shared((32, 64), "
    "'float16')\n"
    "        c = T.alloc_fragment((64, 64), 'float32')\n        T.clear(c)\n"
    "        for k in T.Pipelined(T.ceildiv(n, 32), num_stages=2):\n"
    "            T.copy(A[by * 64, k * 32], a)\n            T.copy(B[k * 32, bx * 64], b)\n"
    "            T.gemm(a, b, c)\n        T.copy(c, Y[by * 64, bx * 64])\n";

#define ROWS ", policy=T.GemmWarpPolicy.FullRow"

static const struct bug bugs[] = {
    {.name = "1 twelve warps over 104 columns",
     .text = GEMM(16, 104, 32, 384, ""),
     .either = true,
     .want = product,
     .fill = NULL},
    {.name = "1 the advised thirteen warps", .text = GEMM(16, 104, 32, 416, ""), .want = product},
    {.name = "1 seventeen warps over 288 rows",
     .text = GEMM(288, 8, 32, 544, ""),
     .either = true,
     .want = product},
    {.name = "1 the refusal names the counts",
     .text = GEMM(16, 104, 32, 384, ""),
     .refused = "threads may be 32 or 416"},
    {.name = "2 depth 24", .text = GEMM(64, 64, 24, 128, ""), .want = product},
    {.name = "2 depth 8", .text = GEMM(64, 64, 8, 128, ""), .want = product},
    {.name = "2 depth 40", .text = GEMM(64, 64, 40, 128, ""), .want = product},
    {.name = "2 depth 15", .text = GEMM(64, 64, 15, 128, ""), .want = product},
    {.name = "4 row bands, 256 x 128",
     .text = GEMM(256, 128, 32, 256, ROWS),
     .want = product,
     .fill = number_rows},
    {.name = "4 row bands, 128 x 256",
     .text = GEMM(128, 256, 32, 256, ROWS),
     .want = product,
     .fill = number_rows},
    {.name = "4 row bands, 256 x 16",
     .text = GEMM(256, 16, 32, 512, ROWS),
     .want = product,
     .fill = number_rows},
    {.name = "5 two slices of one operand", .text = sliced_operand, .want = product},
    {.name = "7 depth 33 in tiles of 32", .text = empty_depth, .want = product, .n = 33},
    {.name = "7 depth 1 in tiles of 32", .text = empty_depth, .want = product, .n = 1},
    {.name = "7 depth 65 in tiles of 32", .text = empty_depth, .want = product, .n = 65},
    {.name = "8 depth 0 at run time", .text = empty_depth, .want = zero, .n = 0},
    {.name = "8 depth 0 in the text", .text = GEMM(64, 64, 0, 128, ""), .refused = "[E0"},
};

int main(void) { return RUN_BUGS("products", bugs); }
