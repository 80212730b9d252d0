/* test_layouts.c: tiles in registers in every kind of loop, and what messages say.
 *
 * 123 is about the machine the compiler runs on; tests of the driver break that. */
#include "bugs.h"

#define TILE(body)                                                                                 \
    "@T.prim_func\ndef k(A: T.Tensor((16, 16), 'float32'), Y: T.Tensor((16, 16), 'float32')):\n"   \
    "    with T.Kernel(1, threads=64) as bx:\n        f = T.alloc_fragment((16, 16), 'float32')\n" \
    "        T.copy(A, f)\n" body
#define PARAMS(params) "@T.prim_func\ndef k(" params "):\n"
#define WIDTH(n, threads)                                                               \
    PARAMS("A: T.Tensor((3, " #n "), 'float32'), Y: T.Tensor((3, " #n "), 'float32')")  \
    "    with T.Kernel(3, threads=" #threads ") as bx:\n"                               \
    "        f = T.alloc_fragment((" #n ",), 'float32')\n        T.copy(A[bx, 0], f)\n" \
    "        for i in T.Parallel(" #n "):\n            f[i] = f[i] + 1\n"               \
    "        T.copy(f, Y[bx, 0])\n"
#define THREADS(n)                          \
    PARAMS("Y: T.Tensor((64,), 'float32')") \
    "    with T.Kernel(1, threads=" n ") as bx:\n        T.clear(Y)\n"

static double same_as_a(struct program *p, int64_t i) { return at1(p, "A", i); }
static double a_plus_1(struct program *p, int64_t i) { return at1(p, "A", i) + 1; }
static double turned(struct program *p, int64_t i) { return at2(p, "A", i % 16, i / 16); }

static const char sum_of_product[] = PARAMS(
    "A: T.Tensor((64, 32), 'float16'), B: T.Tensor((32, 64), 'float16'), "
    "Y: T.Tensor((64,), 'float32')") "    with T.Kernel(1, threads=128) as bx:\n        a = "
                                     "T.alloc_shared((64, 32), 'float16')\n"
                                     "        b = T.alloc_shared((32, 64), 'float16')\n"
                                     "        c = T.alloc_fragment((64, 64), 'float32')\n"
                                     "        r = T.alloc_fragment((64,), 'float32')\n        "
                                     "T.copy(A, a)\n        T.copy(B, b)\n"
                                     "        T.clear(c)\n        T.clear(r)\n        T.gemm(a, b, "
                                     "c)\n"
                                     "        for i in T.Parallel(64):\n            for j in "
                                     "T.serial(64):\n"
                                     "                r[i] += c[i, j]\n        T.copy(r, Y)\n";
static double product_row(struct program *p, int64_t i) {
    double sum = 0;
    for (int j = 0; j < 64; j++)
        for (int k = 0; k < 32; k++) sum += at2(p, "A", i, k) * at2(p, "B", k, j);
    return sum;
}

/* Two products, the first one's result cast and fed to the second. */
#define CHAIN(m, n, threads)                                                                 \
    PARAMS("Q: T.Tensor((" #m ", 16), 'float16'), K: T.Tensor((" #n ", 16), 'float16'), "    \
           "V: T.Tensor((" #n ", 32), 'float16'), Y: T.Tensor((" #m ", 32), 'float32')")     \
    "    with T.Kernel(1, threads=" #threads ") as bx:\n"                                    \
    "        q = T.alloc_shared((" #m ", 16), 'float16')\n"                                  \
    "        k = T.alloc_shared((" #n ", 16), 'float16')\n"                                  \
    "        v = T.alloc_shared((" #n ", 32), 'float16')\n"                                  \
    "        s = T.alloc_fragment((" #m ", " #n "), 'float32')\n"                            \
    "        p = T.alloc_fragment((" #m ", " #n "), 'float16')\n"                            \
    "        o = T.alloc_fragment((" #m ", 32), 'float32')\n"                                \
    "        T.copy(Q, q)\n        T.copy(K, k)\n        T.copy(V, v)\n        T.clear(s)\n" \
    "        T.clear(o)\n        T.gemm(q, k, s, transpose_B=True)\n        T.copy(s, p)\n"  \
    "        T.gemm(p, v, o)\n        T.copy(o, Y)\n"
static double chained(struct program *p, int64_t at) {
    int64_t n = program_tensor(p, "K")->extent[0];
    double sum = 0;
    for (int64_t j = 0; j < n; j++) {
        double score = 0;
        for (int64_t k = 0; k < 16; k++) score += at2(p, "Q", at / 32, k) * at2(p, "K", j, k);
        sum += score * at2(p, "V", j, at % 32);
    }
    return sum;
}

static const char dynamic_tile[] = "M = T.dynamic('M')\n" PARAMS(
    "A: T.Tensor((M, 64), 'float16')") "    with T.Kernel(1, threads=128) as bx:\n        s = "
                                       "T.alloc_shared((M, 64), 'float16')\n"
                                       "        T.copy(A, s)\n";
static const char missing_index[] =
    PARAMS("B: T.Tensor((4, 64, 64), 'float16')") "    with T.Kernel(1, threads=128) as bx:\n      "
                                                  "  s = T.alloc_shared((32, 32), 'float16')\n"
                                                  "        T.copy(B[bx * 32, 0], s)\n";
#define FLOATS(expression)                                                        \
    PARAMS("A: T.Tensor((64,), 'float32'), Y: T.Tensor((64,), 'float32')")        \
    "    with T.Kernel(1, threads=64) as bx:\n        for i in T.Parallel(64):\n" \
    "            Y[i] = " expression "\n"

static const struct bug bugs[] = {
    {.name = "110 a serial nest",
     .text = TILE("        for i, j in T.grid(16, 16):\n            Y[i, j] = f[i, j]\n"),
     .want = same_as_a},
    {.name = "110 serial rows, parallel columns",
     .text = TILE("        for i in T.serial(16):\n            for j in T.Parallel(16):\n"
                  "                Y[i, j] = f[i, j]\n"),
     .want = same_as_a},
    {.name = "110 parallel rows, serial columns",
     .text = TILE("        for i in T.Parallel(16):\n            for j in T.serial(16):\n"
                  "                Y[i, j] = f[i, j]\n"),
     .want = same_as_a},
    {.name = "110 turned",
     .text = TILE("        for i, j in T.Parallel(16, 16):\n            Y[i, j] = f[j, i]\n"),
     .want = turned},
    {.name = "110 written by a serial nest",
     .text = TILE("        for i, j in T.grid(16, 16):\n            f[i, j] = f[i, j] + 1\n"
                  "        T.copy(f, Y)\n"),
     .want = a_plus_1},
    {.name = "112 a product summed by a serial loop", .text = sum_of_product, .want = product_row},
    {.name = "113 width 192", .text = WIDTH(192, 128), .want = a_plus_1},
    {.name = "113 width 229", .text = WIDTH(229, 128), .want = a_plus_1},
    {.name = "113 width 257", .text = WIDTH(257, 128), .want = a_plus_1},
    {.name = "113 width 600", .text = WIDTH(600, 96), .want = a_plus_1},
    {.name = "113 width 1", .text = WIDTH(1, 256), .want = a_plus_1},
    {.name = "116 64 x 64, 128 threads", .text = CHAIN(64, 64, 128), .want = chained},
    {.name = "116 64 x 128, 256 threads", .text = CHAIN(64, 128, 256), .want = chained},
    {.name = "116 128 x 64, 256 threads", .text = CHAIN(128, 64, 256), .want = chained},
    {.name = "116 128 x 128, 128 threads", .text = CHAIN(128, 128, 128), .want = chained},
    {.name = "118 a run-time size of a tile", .text = dynamic_tile, .refused = "'M'"},
    {.name = "119 ranks that do not pair", .text = missing_index, .refused = "[E0311]"},
    {.name = "120 //", .text = FLOATS("A[i] // 2.0"), .refused = "[E0305]"},
    {.name = "120 %", .text = FLOATS("A[i] % 2.0"), .refused = "[E0305]"},
    {.name = "120 ceildiv", .text = FLOATS("T.ceildiv(A[i], 2.0)"), .refused = "[E03"},
    {.name = "121 -1", .text = THREADS("-1"), .refused = "[E0402]"},
    {.name = "121 0", .text = THREADS("0"), .refused = "[E0402]"},
    {.name = "121 1025", .text = THREADS("1025"), .refused = "32 to 1024 in all"},
    {.name = "121 2048 as an expression", .text = THREADS("2 * 1024"), .refused = "[E0402]"},
    {.name = "121 33", .text = THREADS("33"), .refused = "[E0402]"},
};

int main(void) { return RUN_BUGS("layouts", bugs); }
