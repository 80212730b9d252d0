/* test_integers.c: the width of indices and of integer arithmetic.
 *
 * What needs gigabytes to run is looked at in the CUDA text: no product that feeds an address is
 * made in 32 bits (65, 66, 69), and constants are whole (64). */
#include "bugs.h"
#include "emit_cuda/emit.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* -- Values ------------------------------------------------------------------------------------ */

#define KERNEL(params, threads) \
    "@T.prim_func\ndef k(" params "):\n    with T.Kernel(1, threads=" #threads ") as bx:\n"

static const char wide_loop[] =
    KERNEL("n: T.int64, Y: T.Tensor((4,), 'float64')",
           32) "        for i in T.serial(n, n + 3):\n            Y[i - n] = i * 2 + 1\n";
static double wide_index(struct program *p, int64_t i) {
    (void)p;
    return i < 3 ? (double)((((int64_t)1 << 33) + i) * 2 + 1) : -1;
}

static const char unsigned_loop[] =
    KERNEL("n: T.uint64, Y: T.Tensor((4,), 'float64')",
           32) "        for i in T.serial(n, n + 3):\n            Y[i - n] = i\n";
static double above_32_bits(struct program *p, int64_t i) {
    (void)p;
    return i < 3 ? 4294967295.0 + (double)i : -1;
}

static const int64_t dividends[] = {INT32_MIN, INT32_MIN + 1, -7,       -1, 0,
                                    1,         INT32_MAX - 1, INT32_MAX};
static const int64_t divisors[] = {1, 2, 3, 7, 128, INT32_MAX, -1, -3};

static void fill_dividends(struct program *p) {
    for (int i = 0; i < 8; i++) {
        tensor_set(program_tensor(p, "A"), i, (union scalar){.i = dividends[i]});
        tensor_set(program_tensor(p, "B"), i, (union scalar){.i = divisors[i]});
    }
}

static int64_t floor_of(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

/* Row i, column j: the quotient at run time; rows from 8 on: the remainder. */
static double quotients(struct program *p, int64_t at) {
    (void)p;
    int64_t a = dividends[at / 8 % 8], b = divisors[at % 8], q = floor_of(a, b);
    return (double)(int32_t)(at < 64 ? q : a - q * b);
}
static const char run_time_quotient[] =
    KERNEL("A: T.Tensor((8,), 'int32'), B: T.Tensor((8,), 'int32'), Y: T.Tensor((16, 8), 'int32')",
           64) "        for i, j in T.Parallel(8, 8):\n"
               "            Y[i, j] = A[i] // B[j]\n            Y[i + 8, j] = A[i] % B[j]\n";
static const char constant_quotient[] =
    KERNEL("A: T.Tensor((8,), 'int32'), B: T.Tensor((8,), 'int32'), Y: T.Tensor((16, 8), 'int32')",
           64) "        for i in T.Parallel(8):\n"
               "            Y[i, 0] = A[i] // 1\n            Y[i, 1] = A[i] // 2\n"
               "            Y[i, 2] = A[i] // 3\n            Y[i, 3] = A[i] // 7\n"
               "            Y[i, 4] = A[i] // 128\n            Y[i, 5] = A[i] // 2147483647\n"
               "            Y[i, 6] = A[i] // -1\n            Y[i, 7] = A[i] // -3\n"
               "            Y[i + 8, 0] = A[i] % 1\n            Y[i + 8, 1] = A[i] % 2\n"
               "            Y[i + 8, 2] = A[i] % 3\n            Y[i + 8, 3] = A[i] % 7\n"
               "            Y[i + 8, 4] = A[i] % 128\n            Y[i + 8, 5] = A[i] % 2147483647\n"
               "            Y[i + 8, 6] = A[i] % -1\n            Y[i + 8, 7] = A[i] % -3\n";

/* Reads of [t-2 .. t+1]: what lies before the tensor is zero, alone and in vectors. */
static const char before_zero[] =
    KERNEL("A: T.Tensor((1024,), 'float32'), n: T.int32, Y: T.Tensor((4, 8), 'float32')",
           32) "        s = T.alloc_shared((4,), 'float32')\n        for t in T.serial(4):\n"
               "            T.copy(A[t - n:t - n + 4], s)\n            for v in T.vectorized(4):\n"
               "                Y[t, v] = A[t - n + v]\n            T.copy(s, Y[t, 4:8])\n";
static double shifted(struct program *p, int64_t at) {
    int64_t i = at / 8 - 2 + at % 4;
    return i < 0 ? 0 : at1(p, "A", i);
}

static const struct bug bugs[] = {
    {.name = "71 an int64 scalar and loop",
     .text = wide_loop,
     .want = wide_index,
     .n = (int64_t)1 << 33},
    {.name = "73 bounds in uint64", .text = unsigned_loop, .want = above_32_bits, .n = UINT32_MAX},
    {.name = "75 quotients at run time",
     .text = run_time_quotient,
     .want = quotients,
     .fill = fill_dividends},
    {.name = "75 quotients by constants",
     .text = constant_quotient,
     .want = quotients,
     .fill = fill_dividends},
    {.name = "76 an index that may be negative", .text = before_zero, .want = shifted, .n = 2},
};

/* -- Texts ------------------------------------------------------------------------------------- */

static void check_emitted(const char *text, const char *holds, const char *lacks) {
    struct program *p = program_new(text, "sm_80");
    const char *why = program_refusal(p);
    if (!why) why = program_compile(p);
    if (!why) why = program_refusal(p);
    if (why) fail_msg("%.900s", why);
    struct text out = text_new(p->arena);
    struct emit_options o = {.version = "0",
                             .source_name = "t.tile",
                             .header_name = "t.h",
                             .stem = "t",
                             .line = LINE_NONE};
    emit_cuda(&out, &p->m, 1, &o);
    const char *kernel = strstr(out.at, "static __global__");
    assert_non_null(kernel);
    if (!strstr(kernel, holds)) fail_msg("'%s' is not in\n%.900s", holds, kernel);
    if (lacks && strstr(kernel, lacks)) fail_msg("'%s' is in\n%.900s", lacks, kernel);
    program_free(p);
}

static void constants_are_whole(void **state) { /* 64 */
    (void)state;
    check_emitted(KERNEL("A: T.Tensor((70000, 70000), 'int8'), Y: T.Tensor((1,), 'int8')",
                         32) "        Y[0] = A[69999, 69999]\n",
                  "4899999999LL", NULL);
}

static void rows_from_tables(void **state) { /* 65, 66 */
    (void)state;
    check_emitted(KERNEL("A: T.Tensor((4000000, 2048), 'int8'), B: T.Tensor((64,), 'int32'), "
                         "Y: T.Tensor((128,), 'int8')",
                         128) "        p = B[0]\n        for i in T.Parallel(128):\n"
                              "            Y[i] = A[p, i]\n",
                  "(long long)p * 2048LL", "(unsigned)p");
    check_emitted(KERNEL("A: T.Tensor((8300, 2048), 'int8'), n: T.int32, "
                         "Y: T.Tensor((128,), 'int8')",
                         128) "        for i in T.Parallel(128):\n"
                              "            Y[i] = A[n * 40000 - bx, i]\n",
                  "(long long)n * 81920000LL", "(unsigned)n");
}

static void parts_that_cancel(void **state) { /* 66: each part leaves 32 bits, their sum does not */
    (void)state;
    check_emitted("@T.prim_func\ndef k(A: T.Tensor((8300, 2048), 'bfloat16'), "
                  "B: T.Tensor((64,), 'int32'), Y: T.Tensor((128,), 'bfloat16')):\n"
                  "    with T.Kernel(8000, threads=128) as bx:\n        p = B[0]\n"
                  "        for i in T.Parallel(128):\n"
                  "            Y[i] = A[p * 40000 - bx * 40000, i]\n",
                  "(long long)p * 81920000LL", "(unsigned)p");
}

static void long_vectors(void **state) { /* 69 */
    (void)state;
    check_emitted("@T.prim_func\ndef k(A: T.Tensor((3270680000,), 'float16')):\n"
                  "    with T.Kernel(T.ceildiv(3270680000, 1024), threads=128) as bx:\n"
                  "        T.fill(A[bx * 1024:bx * 1024 + 1024], 1)\n",
                  "(long long)bx * ", NULL);
}

static void user_widths(void **state) { /* 71 */
    (void)state;
    check_emitted(
        KERNEL("A: T.Tensor((4294967296,), 'float64'), n: T.int64",
               32) "        for i in T.serial(n):\n            A[i * 2048 * 2048] = 1.0\n",
        "long long i", "int i");
}

int main(void) {
    const struct CMUnitTest texts[] = {
        cmocka_unit_test(constants_are_whole), cmocka_unit_test(rows_from_tables),
        cmocka_unit_test(parts_that_cancel), cmocka_unit_test(long_vectors),
        cmocka_unit_test(user_widths)};
    int failed = RUN_BUGS("integers", bugs);
    return failed + cmocka_run_group_tests(texts, NULL, NULL);
}
