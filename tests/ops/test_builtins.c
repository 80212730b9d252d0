/* test_builtins.c: every row of the table of builtins has a kernel that uses it and a result, the
 * same after every pass; a row that is not supported yet is refused by its name. */
#include "program.h"
#include "sema/internal.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

/* X[i, j] = 10*i + j, F[i] = i - 3.5, n = 5; Y is what comes out, -1 where nothing is written. */
static const char head[] =
    "@T.prim_func\n"
    "def k(X: T.Tensor((8, 8), 'int32'), F: T.Tensor((8,), 'float32'), n: T.int32,\n"
    "      Y: T.Tensor((16,), 'float32')):\n";

enum { RESULTS = 16 };

struct builtin_case {
    const char *rows; /* the rows it is for, "module.name" apart by blanks */
    const char *text; /* statements of the kernel; one that begins with "with" brings its launch */
    const char *want; /* the first elements of Y; the rest is not looked at */
};

#define RANGE(loop) "for i in T." loop ":\n    Y[i] = 2 * i\n"
#define REDUCE(name)                                                                        \
    "f = T.alloc_fragment((4, 8), 'int32')\nr = T.alloc_fragment((4,), 'int32')\n"          \
    "T.copy(X[2:6, :], f)\nfor i, j in T.Parallel(4, 8):\n    f[i, j] = 45 - 3 * f[i, j]\n" \
    "T.reduce_" name "(f, r, dim=1)\nT.copy(r, Y[0:4])\n"
#define LAYOUT(call)                                                                       \
    "s = T.alloc_shared((64, 64), 'float16')\nT.annotate_layout({s: T.layout." call "})\n" \
    "for i, j in T.Parallel(64, 64):\n    s[i, j] = i - j\n"                               \
    "for i in T.Parallel(16):\n    Y[i] = s[3 * i, 63 - i]\n"
#define LAID "-63 -59 -55 -51 -47 -43 -39 -35 -31 -27 -23 -19 -15 -11 -7 -3"

static const struct builtin_case cases[] = {
    {"T.Kernel T.get_thread_bindings T.get_thread_binding T.get_block_bindings T.get_block_binding",
     "with T.Kernel(2, 3, threads=(32, 2)) as (bx, by):\n"
     "    b, c = T.get_block_bindings()\n    x, y = T.get_thread_bindings()\n    if x == 3:\n"
     "        Y[b * 8 + c * 2 + y] = (T.get_thread_binding(0) + 10 * T.get_thread_binding(1)\n"
     "                              + 100 * T.get_block_binding(0) + 1000 * by)\n",
     "3 13 1003 1013 2003 2013 -1 -1 103 113 1103 1113 2103 2113 -1 -1"},
    {"T.get_thread_extent T.get_thread_extents T.get_block_extent T.get_block_extents",
     "with T.Kernel(n, 3, threads=(32, 2)) as (bx, by):\n"
     "    x, y = T.get_thread_extents()\n    b, c = T.get_block_extents()\n"
     "    Y[0] = x\n    Y[1] = y\n    Y[2] = b\n    Y[3] = c\n    Y[4] = T.get_thread_extent(1)\n"
     "    Y[5] = T.get_block_extent(0)\n",
     "32 2 5 3 2 5"},
    {"T.Kernel",
     "with T.Kernel(2, threads=32) as bx:\n    Y[bx] = 1\nwith T.Kernel(2, threads=64) as bx:\n"
     "    Y[bx + 2] = Y[bx] + 1\n",
     "1 1 2 2"},
    {"T.alloc_shared T.alloc_fragment",
     "s = T.alloc_shared((8, 8), 'int32')\nf = T.alloc_fragment((8, 8), 'float32')\nT.copy(X, s)\n"
     "for i, j in T.Parallel(8, 8):\n    f[i, j] = s[j, i] - 1\nT.copy(f[2, :], Y[0:8])\n",
     "1 11 21 31 41 51 61 71"},
    {"T.alloc_local T.alloc_var",
     "p = T.alloc_local((4,), 'float32')\nv = T.alloc_var('int32', 3)\nfor i in T.serial(4):\n"
     "    p[i] = F[i] * v\n    v = v + 1\nfor i in T.serial(4):\n    Y[i] = p[i]\nY[4] = v\n",
     "-10.5 -10 -7.5 -3 7"},
    {"T.Parallel", "for i, j in T.Parallel(2, 4):\n    Y[i * 4 + j] = X[j, i]\n",
     "0 10 20 30 1 11 21 31 -1"},
    {"T.Pipelined",
     "s = T.alloc_shared((8,), 'int32')\nf = T.alloc_fragment((8,), 'int32')\nT.clear(f)\n"
     "for k in T.Pipelined(n, num_stages=3):\n    T.copy(X[k, :], s)\n"
     "    for i in T.Parallel(8):\n        f[i] += s[i]\nT.copy(f, Y[0:8])\n",
     "100 105 110 115 120 125 130 135"},
    {"T.serial", RANGE("serial(1, n, 2)"), "-1 2 -1 6 -1"},
    {"T.Serial", RANGE("Serial(3)"), "0 2 4 -1"},
    {"T.unroll", RANGE("unroll(0, 6, 2, explicit=True)"), "0 -1 4 -1 8 -1"},
    {"T.Unroll", RANGE("Unroll(2, unroll_factor=2)"), "0 2 -1"},
    {"T.vectorized", RANGE("vectorized(4)"), "0 2 4 6 -1"},
    {"T.Vectorized", RANGE("Vectorized(1, 3)"), "-1 2 4 -1"},
    {"T.grid", "for i, j in T.grid(2, n):\n    Y[i * n + j] = i - j\n",
     "0 -1 -2 -3 -4 1 0 -1 -2 -3 -1"},
    {"T.loop_break",
     "for i in T.serial(10):\n    if i == 3:\n        T.loop_break()\n    Y[i] = i\n",
     "0 1 2 -1 -1"},
    {"T.use_swizzle",
     "with T.Kernel(4, 4, threads=32) as (bx, by):\n    T.use_swizzle(3)\n"
     "    Y[by * 4 + bx] = by * 10 + bx\n",
     "0 1 2 3 10 11 12 13 20 21 22 23 30 31 32 33"},
    {"T.annotate_layout T.layout.make_swizzled_layout", LAYOUT("make_swizzled_layout(s)"), LAID},
    {"T.layout.make_full_bank_swizzled_layout", LAYOUT("make_full_bank_swizzled_layout(s)"), LAID},
    {"T.layout.make_half_bank_swizzled_layout", LAYOUT("make_half_bank_swizzled_layout(s)"), LAID},
    {"T.layout.make_quarter_bank_swizzled_layout", LAYOUT("make_quarter_bank_swizzled_layout(s)"),
     LAID},
    {"T.layout.make_wgmma_swizzled_layout", LAYOUT("make_wgmma_swizzled_layout(s)"), LAID},
    {"T.layout.make_linear_layout", LAYOUT("make_linear_layout(s)"), LAID},
    {"T.annotate_safe_value",
     "T.annotate_safe_value({F: 9.5})\nfor i in T.Parallel(4):\n    Y[i] = F[n + i]\n",
     "1.5 2.5 3.5 9.5"},
    {"T.annotate_min_blocks_per_sm T.annotate_restrict_buffers T.annotate_l2_hit_ratio "
     "T.disable_warp_group_reg_alloc T.no_set_max_nreg T.assume",
     "T.annotate_min_blocks_per_sm(2)\nT.annotate_restrict_buffers(X, Y)\n"
     "T.annotate_l2_hit_ratio({X: 0.5})\nT.disable_warp_group_reg_alloc()\nT.no_set_max_nreg()\n"
     "T.assume(n > 2)\nfor i in T.Parallel(n):\n    Y[i] = i\n",
     "0 1 2 3 4 -1"},
    {"T.copy",
     "s = T.alloc_shared((3, 3), 'float16')\nT.copy(X[6, 6], s, coalesced_width=1)\n"
     "for i, j in T.Parallel(3, 3):\n    Y[i * 3 + j] = s[i, j]\nT.copy(F[5:7], Y[14:16])\n",
     "66 67 0 76 77 0 0 0 0 -1 -1 -1 -1 -1 1.5 2.5"},
    {"T.fill T.clear",
     "s = T.alloc_shared((8,), 'float32')\nT.fill(s, 1.5)\nT.clear(s[2:4])\nT.fill(s[6], n)\n"
     "T.copy(s, Y[0:8])\n",
     "1.5 1.5 0 0 1.5 1.5 5 1.5"},
    {"T.gemm",
     "with T.Kernel(1, threads=32) as bx:\n    a = T.alloc_shared((8, 8), 'float16')\n"
     "    c = T.alloc_fragment((8, 8), 'float32')\n    T.copy(X, a)\n"
     "    T.gemm(a, a, c, clear_accum=True)\n    T.gemm(a, a, c, transpose_A=True, "
     "transpose_B=True)\n"
     "    T.copy(c[0, :], Y[0:8])\n",
     "2800 5628 8456 11284 14112 16940 19768 22596"},
    {"T.reduce_sum", REDUCE("sum"), "-204 -444 -684 -924"},
    {"T.reduce_max", REDUCE("max"), "-15 -45 -75 -105"},
    {"T.reduce_min", REDUCE("min"), "-36 -66 -96 -126"},
    {"T.reduce_absmax", REDUCE("absmax"), "36 66 96 126"},
    {"T.reduce_abssum", REDUCE("abssum"), "204 444 684 924"},
    {"T.reduce_bitand", REDUCE("bitand"), "-64 -128 -96 -128"},
    {"T.reduce_bitor", REDUCE("bitor"), "-1 -1 -65 -97"},
    {"T.reduce_bitxor", REDUCE("bitxor"), "24 120 8 24"},
    {"T.atomic_add T.atomic_max T.atomic_min T.evaluate",
     "T.fill(Y, 2)\nfor i in T.Parallel(8):\n    T.atomic_add(Y[0], F[i])\n"
     "    T.evaluate(T.atomic_max(Y[1], F[i]))\n    T.atomic_min(Y[2], F[i])\n"
     "f = T.alloc_fragment((4,), 'float32')\nT.fill(f, 0.5)\nT.atomic_add(Y[4:8], f)\n",
     "2 3.5 -3.5 2 2.5 2.5 2.5 2.5 2"},
    {"T.atomic_add",
     "s = T.alloc_shared((1,), 'int32')\nT.clear(s)\nfor i in T.Parallel(12):\n"
     "    old = T.atomic_add(s[0], 1, return_prev=True)\n    Y[old] = 7\nY[15] = s[0]\n",
     "7 7 7 7 7 7 7 7 7 7 7 7 -1 -1 -1 12"},
    {"T.print T.device_assert", "T.print(n, msg='n')\nT.device_assert(n == 5, 'five')\nY[0] = 1\n",
     "1"},
    {"T.cast T.Cast",
     "Y[0] = T.cast(F[0], 'int32')\nY[1] = T.Cast('uint8', n * 60)\nY[2] = T.cast(n * 60, 'int8')\n"
     "Y[3] = T.cast(F[1] * 1000.25, 'float16')\nY[4] = T.cast(F[7] * 1e6, 'float8_e4m3')\n",
     "-3 44 44 -2500 448"},
    {"T.infinity T.min_value T.max_value",
     "Y[0] = T.infinity('float32')\nY[1] = -T.infinity('float16')\nY[2] = T.min_value('int8')\n"
     "Y[3] = T.max_value('uint16')\nY[4] = T.max_value('float16')\n",
     "inf -inf -128 65535 65504"},
    {"T.if_then_else T.Select",
     "s = T.alloc_shared((4,), 'float32')\nT.copy(F[0:4], s)\nfor i in T.Parallel(8):\n"
     "    Y[i] = T.if_then_else(i < 4, s[i], 7.0)\n    Y[8 + i] = T.Select(i < n, i, 0 - i)\n",
     "-3.5 -2.5 -1.5 -0.5 7 7 7 7 0 1 2 3 4 -5 -6 -7"},
    {"T.clamp", "for i in T.Parallel(8):\n    Y[i] = T.clamp(F[i], -1, 2)\n",
     "-1 -1 -1 -0.5 0.5 1.5 2 2"},
    {"T.ceildiv T.cdiv T.math.cdiv T.math.ceildiv",
     "Y[0] = T.ceildiv(n, 2)\nY[1] = T.cdiv(n, 5)\nY[2] = T.math.cdiv(n - 12, 2)\n"
     "Y[3] = T.math.ceildiv(17, 4)\nY[4] = tilelang.cdiv(9, 2)\n",
     "3 1 -3 5 5"},
    {"T.floordiv T.floormod T.align_up",
     "Y[0] = T.floordiv(n - 12, 2)\nY[1] = T.floormod(n - 12, 4)\nY[2] = T.align_up(n, 4)\n"
     "Y[3] = T.align_up(n + 3, 4)\nY[4] = T.floordiv(-7, 2)\n",
     "-4 1 8 8 -4"},
    {"T.shift_left T.shift_right T.bitwise_and T.bitwise_or T.bitwise_xor",
     "Y[0] = T.shift_left(n, 3)\nY[1] = T.shift_right(n - 12, 1)\nY[2] = T.bitwise_and(n, 6)\n"
     "Y[3] = T.bitwise_or(n, 8)\nY[4] = T.bitwise_xor(n, 1)\n",
     "40 -4 4 13 4"},
    {"T.next_power_of_2 T.math.next_power_of_2",
     "Y[0] = T.next_power_of_2(9)\nY[1] = T.math.next_power_of_2(8)\n"
     "Y[2] = tilelang.next_power_of_2(1)\n",
     "16 8 1"},
};
enum { CASES = sizeof cases / sizeof *cases };

/* -- Running ----------------------------------------------------------------------------------- */

static const char *program_text(struct arena *a, const char *body) {
    struct text t = text_new(a);
    text_puts(&t, head);
    t.indent = 1;
    if (strncmp(body, "with ", 5) != 0) {
        text_puts(&t, "with T.Kernel(1, threads=64) as bx:\n");
        t.indent = 2;
    }
    text_puts(&t, body);
    return t.at;
}

static const char *compare(struct program *p, const char *want) {
    const struct tensor *y = program_tensor(p, "Y");
    char *next;
    int i = 0;
    for (const char *at = want; *at; at = next + strspn(next, " "), i++) {
        double v = strtod(at, &next);
        if (next == at || i >= RESULTS) return "the case is wrong";
        if (tensor_value(y, i) != v)
            return arena_printf(p->arena, "Y[%d] is %g, not %g", i, tensor_value(y, i), v);
    }
    return NULL;
}

static const char *run(const char *text, const char *target, const char *want) {
    static char message[1024];
    struct program *p = program_new(text, target);
    const char *why = program_refusal(p);
    if (!why) {
        program_scalar(p, "n", 5);
        program_tensors(p);
        struct tensor *x = program_tensor(p, "X"), *f = program_tensor(p, "F");
        struct tensor *y = program_tensor(p, "Y");
        for (int i = 0; i < 64; i++) tensor_put(x, i, i / 8 * 10 + i % 8);
        for (int i = 0; i < 8; i++) tensor_put(f, i, i - 3.5);
        for (int i = 0; i < RESULTS; i++) tensor_put(y, i, -1);
        why = program_run(p);
        if (!why) why = program_refusal(p);
        if (!why) why = compare(p, want);
    }
    if (why) snprintf(message, sizeof message, "%s", why);
    program_free(p);
    return why ? message : NULL;
}

static void check_case(void **state) {
    const struct builtin_case *c = *state;
    struct arena *a = arena_new();
    const char *text = program_text(a, c->text);
    for (int i = 0; i < 2; i++) {
        const char *target = i ? "sm_75" : "sm_90a", *why = run(text, target, c->want);
        if (why) print_error("%s: %s\n%s\n", target, why, text);
        if (why) fail();
    }
    arena_free(a);
}

/* -- Cover ------------------------------------------------------------------------------------- */

static bool names(const char *list, const char *name) {
    size_t n = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at += n)
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || !at[n])) return true;
    return false;
}

static bool is_refused(struct arena *a, const char *name) {
    struct program *p = program_new(program_text(a, arena_printf(a, "%s(X)\n", name)), "sm_80");
    const char *refusal = program_refusal(p);
    bool good = refusal && strstr(refusal, "[E0401]") && strstr(refusal, name);
    program_free(p);
    return good;
}

static void every_row_has_a_case(void **state) {
    (void)state;
    struct arena *a = arena_new();
    for (int i = 0; i < builtin_count(); i++) {
        const struct builtin *b = builtin_row(i);
        const char *name = arena_printf(a, "%s.%s", b->module, b->name);
        if (function_find(b->name) >= 0) continue; /* in test_functions.c */
        bool covered = !b->call && is_refused(a, name);
        for (int k = 0; b->call && k < CASES; k++) covered |= names(cases[k].rows, name);
        if (!covered) fail_msg("%s %s", name, b->call ? "has no case" : "is not refused");
    }
    arena_free(a);
}

int main(void) {
    struct CMUnitTest tests[CASES + 1];
    for (int i = 0; i < CASES; i++)
        tests[i] = (struct CMUnitTest){cases[i].rows, check_case, NULL, NULL, (void *)&cases[i]};
    tests[CASES] = (struct CMUnitTest)cmocka_unit_test(every_row_has_a_case);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
