/* test_build.c: the tile IR of single statements, as text: types, fusion, operands, loops. */
#include "parser/parser.h"
#include "sema/sema.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

static const char head[] =
    "@T.prim_func\n"
    "def k(A: T.Tensor((256, 256), 'float32'), D: T.Tensor((256,), 'float64'),\n"
    "      H: T.Tensor((256,), 'float16'), G: T.Tensor((256,), 'bfloat16'),\n"
    "      I: T.Tensor((256,), 'int32'), L: T.Tensor((256,), 'int64'), U: T.Tensor((256,), "
    "'uint32'),\n"
    "      S: T.Tensor((256,), 'int8'), B: T.Tensor((256,), 'bool'), E: T.Tensor((256,), "
    "'float8_e4m3'),\n"
    "      X: T.Tensor((4, 256, 8, 64), 'float16'), n: T.int32):\n"
    "    with T.Kernel(16, 4, threads=128) as (bx, by):\n"
    "        s = T.alloc_shared((64, 32), 'float32')\n"
    "        sh = T.alloc_shared((64, 64), 'float16')\n"
    "        row = T.alloc_shared((1, 64), 'float16')\n"
    "        f = T.alloc_fragment((64, 32), 'float32')\n"
    "        g = T.alloc_fragment((64,), 'float32')\n"
    "        p = T.alloc_local((4,), 'float32')\n"
    "        v = T.alloc_var('int32', 0)\n";

struct build_case {
    const char *text; /* statements, one a line without indentation */
    const char *want; /* a part of the tile IR without its line comments */
};

static const struct build_case types[] = {
    /* literals adopt, the wider side wins, integers become the float */
    {"H[0] = H[1] + 1", "store H[0] = (H[1] + 1.0:f16)"},
    {"H[0] = H[1] * 0.5", "store H[0] = (H[1] * 0.5:f16)"},
    {"A[0, 0] = H[1] + A[0, 1]", "store A[0, 0] = (f32(H[1]) + A[0, 1])"},
    {"D[0] = A[0, 1] + D[1]", "(f64(A[0, 1]) + D[1])"},
    {"H[0] = H[1] + I[1]", "(H[1] + f16(I[1]))"},
    {"A[0, 0] = I[1] * 0.5", "(f32(I[1]) * 0.5:f32)"},
    {"A[0, 0] = bx * 0.5", "(f32(bx) * 0.5:f32)"},
    {"L[0] = I[1] + L[1]", "(i64(I[1]) + L[1])"},
    {"I[0] = S[1] + 100", "i32((S[1] + 100:i8))"},
    {"I[0] = I[1] + bx", "i32((bx + index(I[1])))"},
    {"L[0] = L[1] + bx", "(L[1] + i64(bx))"},
    {"U[0] = U[1] + I[1]", "(U[1] + u32(I[1]))"},
    {"I[0] = I[1] + B[1]", "(I[1] + i32(B[1]))"},
    {"E[0] = E[1]", "store E[0] = E[1]"},
    {"E[0] = A[0, 0]", "store E[0] = e4m3(A[0, 0])"},
    {"A[0, 0] = T.cast(E[0], 'float32') + 1", "(f32(E[0]) + 1.0:f32)"},
    {"A[0, 0] = H[1].astype('float32') * 2", "(f32(H[1]) * 2.0:f32)"},
    {"A[0, 0] = T.float32(I[1])", "f32(I[1])"},
    {"I[0] = T.int8(300)", "store I[0] = 44:i32"},
    {"I[0] = 1 if A[0, 0] > 0 else 2", "select((0.0:f32 < A[0, 0]), 1, 2)"},
    /* functions */
    {"H[0] = T.exp(H[1])", "exp(H[1])"},
    {"A[0, 0] = T.exp(I[1])", "exp(f32(I[1]))"},
    {"A[0, 0] = T.max(A[0, 1], 0)", "max(A[0, 1], 0.0:f32)"},
    {"I[0] = T.max(3, 4)", "store I[0] = 4:i32"},
    {"A[0, 0] = -T.infinity('float32')", "store A[0, 0] = -inf:f32"},
    {"I[0] = T.max_value('int8')", "store I[0] = 127:i32"},
    {"B[0] = T.isnan(A[0, 0])", "store B[0] = isnan(A[0, 0])"},
    {"B[0] = not (I[0] < 3 and B[1])", "store B[0] ="},
    {"I[0] = ~I[1]", "bitwise_not(I[1])"},
    {"A[0, 0] = A[0, 1] ** 2", "(A[0, 1] * A[0, 1])"},
    {"I[0] = T.ceildiv(n, 32)", "i32(((index(n) + 31) // 32))"},
    {"I[0] = T.align_up(33, 32)", "store I[0] = 64:i32"},
    /* products and sums of f32 and f64 become fma, f16 rounds twice */
    {"A[0, 0] = A[0, 1] * A[0, 2] + A[0, 3]", "fma(A[0, 1], A[0, 2], A[0, 3])"},
    {"A[0, 0] = A[0, 3] + A[0, 1] * A[0, 2]", "fma(A[0, 1], A[0, 2], A[0, 3])"},
    {"A[0, 0] = A[0, 1] * A[0, 2] - A[0, 3]", "fma(A[0, 1], A[0, 2], neg(A[0, 3]))"},
    {"A[0, 0] = A[0, 3] - A[0, 1] * A[0, 2]", "fma(neg(A[0, 1]), A[0, 2], A[0, 3])"},
    {"A[0, 0] = A[0, 1] * A[0, 2] + A[0, 3] * A[0, 4]",
     "fma(A[0, 1], A[0, 2], (A[0, 3] * A[0, 4]))"},
    {"D[0] = D[1] * D[2] + D[3]", "fma(D[1], D[2], D[3])"},
    {"H[0] = H[1] * H[2] + H[3]", "((H[1] * H[2]) + H[3])"},
    {"t = A[0, 1] * A[0, 2]\nA[0, 0] = t + A[0, 3]", "(t + A[0, 3])"},
};

static const struct build_case statements[] = {
    /* lets are snapshots, pure integers are written out, variables are storage */
    {"t = I[1]\nI[1] = 0\nI[2] = t", "store I[2] = t"},
    {"t = bx * 64\nI[t] = 0", "store I[(bx * 64)]"},
    {"v = 3\nI[0] = v", "set v = 3:i32"},
    {"v += 2", "set v = (v + 2:i32)"},
    {"I[-1] = 0", "store I[255]"},
    {"I[bx - 20] = 0", "store I[(bx + 236)]"},
    {"I[300] = 0", "store I[300]"},
    {"p[-1] = 0", "store p[3] = 0.0:f32"},
    /* a fragment's element is stored by whoever holds it */
    {"g[3] = 1", "if (i == 3) {\n                store g[i] = 1.0:f32"},
    {"g[3] += 1", "store g[i] = (g[i] + 1.0:f32)"},
    /* copies: corner, slices, unit axes, pairing */
    {"T.copy(A[by * 64, bx * 32], s)", "copy A[(by * 64) +64, (bx * 32) +32] -> s[0 +64, 0 +32]"},
    {"T.copy(s, f)", "copy s[0 +64, 0 +32] -> f[0 +64, 0 +32]"},
    {"T.copy(X[by, bx * 64:(bx + 1) * 64, 3, :], sh)",
     "copy X[by +1, (bx * 64) +64, 3 +1, 0 +64] -> sh[0 +64, 0 +64] over "
     "[i:index[0,63] = 64, j:index[0,63] = 64] axes [1, 3] [0, 1]"},
    {"T.copy(X[by, 0, 3, 0], row)", "copy X[by +1, 0 +1, 3 +1, 0 +64] -> row[0 +1, 0 +64]"},
    {"T.copy(H[bx * 64], row)", "copy H[(bx * 64) +64] -> row[0 +1, 0 +64]"},
    {"T.copy(A[0:64, 0:32], s)", "copy A[0 +64, 0 +32] -> s[0 +64, 0 +32]"},
    {"T.copy(A[0:16, 0:32], s)", "copy A[0 +64, 0 +32] -> s[0 +64, 0 +32]"},
    {"T.copy(s[0:16, :], f[16:32, :])", "copy s[0 +16, 0 +32] -> f[16 +16, 0 +32]"},
    {"T.copy(I[3], I[4])", "store I[4] = I[3]"},
    {"T.copy(I[3], v)", "set v = I[3]"},
    {"T.copy(H[bx], p)", "store p[i] = f32(H[(bx + i)])"},
    /* fill */
    {"T.clear(f)", "store f[i, j] = 0.0:f32"},
    {"T.clear(v)", "set v = 0:i32"},
    {"T.fill(f[0:32, :], 1)", "if (i < 32) {\n                store f[i, j] = 1.0:f32"},
    {"T.fill(A[bx, 0:16], 1)", "store A[bx, i] = 1.0:f32"},
    /* loops */
    {"for i in T.Parallel(64):\n    for j in T.Parallel(32):\n        f[i, j] = 0",
     "map [i:index[0,63] = 64, j:index[0,31] = 32]"},
    {"for i in T.Parallel(n):\n    I[i] = 0", "if (((i * 512) + i_1) < index(n))"},
    {"for i in T.Parallel(n):\n    g[i] = 0", "if (i < index(n)) {\n                store g[i]"},
    {"for i in T.serial(2, n, 3):\n    I[i] = 0", "= 2 .. index(n) step 3"},
    {"for i in range(10, 0, -3):\n    I[i] = 0", "= 0 .. 4"},
    {"for i in T.Pipelined(n, num_stages=0):\n    I[i] = 0", "for pipelined i"},
    {"for i, j in T.grid(2, n):\n    I[i] = j", "for serial j"},
    {"while v < 3:\n    v += 1", "while (v < 3:i32)"},
    {"for i in range(n):\n    if I[i] > 0:\n        continue\n    I[i] = 1", "continue"},
    /* products, reductions, atomics */
    {"T.gemm(sh, sh, f[0:64, 0:32], transpose_A=True, clear_accum=(bx == 0))", NULL},
    {"T.reduce_max(f, g, dim=1, clear=False)", "reduce max f[0 +64, 0 +32] -> g[0 +64] axis 1"},
    {"T.reduce_sum(s, g, dim=-1)", "copy s[0 +64, 0 +32] -> s_tile[0 +64, 0 +32]"},
    {"T.reduce_abssum(f, g)", "reduce abssum f"},
    {"T.reduce_sum(p, p[0:1])", "set value = (value + p[k])"},
    {"T.atomic_add(A[bx, 0], 2)", "atomic add relaxed A[bx, 0] = 2.0:f32"},
    {"T.atomic_add(A[bx * 64, 0], f)", "atomic add relaxed A[((bx * 64) + i), j] = f[i, j]"},
    {"t = T.atomic_max(I[3], v, return_prev=True)\nI[4] = t", "store I[4] = t"},
    {"T.print(f, 'f')", "print \"f\" buffer f"},
    {"T.device_assert(v > 3, 'bad')", "assert \"bad\" test (3:i32 < v)"},
};

/* -- The rig -------------------------------------------------------------------------------------
 */
static void put_lines(struct text *t, const char *text) {
    while (*text) {
        size_t length = strcspn(text, "\n");
        text_printf(t, "        %.*s\n", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

/* Without "; line 12" at the ends. */
static char *without_comments(struct arena *a, const char *text) {
    char *out = arena_alloc(a, strlen(text) + 1), *to = out;
    for (const char *p = text; *p;) {
        size_t length = strcspn(p, "\n");
        const char *end = p + length, *mark = strstr(p, " ; line ");
        if (!mark || mark > end) mark = end;
        memcpy(to, p, (size_t)(mark - p));
        to += mark - p;
        if (*end) *to++ = '\n';
        p = end + (*end != '\0');
    }
    *to = '\0';
    return out;
}

static int run_case(const struct build_case *c, struct arena *a) {
    struct text program = text_new(a), errors = text_new(a), ir = text_new(a);
    text_puts(&program, head);
    put_lines(&program, c->text);
    struct source *s = source_of_text(a, "case.tile", program.at, program.length);
    struct interns *names = interns_new(a);
    struct diag *d = diag_new(a, s);
    struct ast_module *ast = parse(a, names, s, lex(a, names, s, d), d);
    struct sema_options options = {.prefix = ""};
    struct module *m = analyse(a, names, d, ast, target_find("sm_80"), &options);
    diag_print_text(d, &errors, false);
    tile_print(&ir, m);
    char *text = without_comments(a, ir.at);
    if (!c->want) {
        if (diag_errors(d)) return 0;
        print_error("accepted: %s\n", c->text);
        return 1;
    }
    if (!diag_errors(d) && strstr(text, c->want)) return 0;
    print_error("%s\n  wants: %s\n%s%s\n", c->text, c->want, errors.at, strstr(text, "kernel "));
    return 1;
}

static void run_table(const struct build_case *cases, size_t count) {
    int faults = 0;
    for (size_t i = 0; i < count; i++) {
        struct arena *a = arena_new();
        faults += run_case(&cases[i], a);
        arena_free(a);
    }
    assert_int_equal(faults, 0);
}

static void element_types(void **state) {
    (void)state;
    run_table(types, sizeof types / sizeof *types);
}

static void statement_forms(void **state) {
    (void)state;
    run_table(statements, sizeof statements / sizeof *statements);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(element_types),
        cmocka_unit_test(statement_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
