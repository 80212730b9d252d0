/* test_launch.c: the launcher's checks, run on the host: arguments are refused, and empty problems
 * are done, before anything asks for a device. */
#include "rig.h"

static const char program[] =
    "#include \"hand.h\"\n#include <stdio.h>\n#include <string.h>\n"
    "static int failures;\n"
    "static void expect(int got, int want, const hand_args *a, const char *text)\n{\n"
    "    char line[256];\n"
    "    size_t n = hand_explain(got, a, line, sizeof line), needed = hand_explain(got, a, 0, 0);\n"
    "    if (got == want && n == needed && strstr(line, text)) return;\n"
    "    printf(\"%d, not %d: %s\\n\", got, want, line);\n    failures++;\n}\n"
    "#define TRY(want, text) expect(hand_launch(&a, -1, 0), want, &a, text)\n"
    "int main(void)\n{\n"
    "    static float in[64], out[64];\n"
    "    hand_args a = {in, out, 16, 1}, good = a;\n"
    "    expect(hand_launch(0, -1, 0), TILEC_E_NULL, 0, \"args is null\");\n"
    "    expect(hand_launch(&a, 1, 0), TILEC_E_VARIANT, &a, \"no such variant\");\n"
    "    a.X = 0; TRY(TILEC_E_NULL, \"X is null\"); a = good;\n"
    "    a.Y = (float *)((char *)out + 4); TRY(TILEC_E_ALIGN, \"Y is not aligned to 16 bytes; its "
    "address modulo 16 is 4\"); a = good;\n"
    "    a.n = -1; TRY(TILEC_E_DIM, \"n is negative: -1\"); a = good;\n"
    "    a.n = (int64_t)1 << 31; TRY(TILEC_E_DIM, \"n exceeds 32 bits: 2147483648\"); a = good;\n"
    "    a.k = 3; TRY(TILEC_E_ASSUME, \"k must be below 3, got \\\"more\\\"\"); a = good;\n"
    "    a.n = 0; TRY(TILEC_OK, \"ok\");\n"
    "    a.X = 0; a.Y = 0; TRY(TILEC_OK, \"ok\"); a = good;\n"
    "    {\n        tilec_config c = {0};\n"
    "        int s = hand_query(&a, -1, 80, &c);\n"
    "        failures += s != TILEC_E_NULL;\n"
    "        c.size = sizeof c;\n        s = hand_query(&a, -1, 80, &c);\n"
    "        failures += s || c.grid[0] != 2 || c.block[0] != 64 || c.launches != 1 || c.sm != "
    "80;\n"
    "        failures += hand_query(&a, -1, 75, &c) != TILEC_E_ARCH;\n"
    "        c.launch = 1;\n        failures += hand_query(&a, -1, 80, &c) != TILEC_E_VARIANT;\n   "
    " }\n"
    "    return failures != 0;\n}\n";

static void refusals_come_first(void **state) {
    struct rig r = rig_new("sm_80");
    struct var *n = variable(&r, VAR_DIM, "n", DTYPE_INDEX),
               *k = variable(&r, VAR_DIM, "k", DTYPE_INDEX);
    struct buffer *x, *y;
    struct host_check small = {.message = "k must be below 3, got \"more\""};

    (void)state;
    n->lo = k->lo = 0;
    n->hi = INT32_MAX;
    x = tensor_of(&r, "X", DTYPE_F32, of(&r, n));
    y = tensor_of(&r, "Y", DTYPE_F32, of(&r, n));
    y->written = true;
    r.kernel->code->alignment[x->id] = r.kernel->code->alignment[y->id] = 16;
    vec_push(r.arena, &r.function->params,
             ((struct param){.kind = PARAM_DIM, .name = n->name, .var = n}));
    vec_push(r.arena, &r.function->params,
             ((struct param){.kind = PARAM_DIM, .name = k->name, .var = k}));
    small.test = expr_binary(r.x, FN_LT, of(&r, k), ix(&r, 3));
    vec_push(r.arena, &r.function->checks, small);
    r.kernel->grid[0] =
        expr_binary(r.x, FN_FLOORDIV, expr_binary(r.x, FN_ADD, of(&r, n), ix(&r, 7)), ix(&r, 8));
    write_file("hand.h", header_text(&r));
    write_file("hand.cu", cuda_text(&r));
    write_file("main.c", program);
    assert_int_equal(
        run("gcc -std=c99 -Wall -Wextra -Werror -c main.c -o main.o && nvcc -Werror all-warnings "
            "-gencode arch=compute_80,code=sm_80 hand.cu main.o -o main && ./main"),
        0);
    rig_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(refusals_come_first)};
    int status =
        has_tool("nvcc") && has_tool("gcc") ? cmocka_run_group_tests(tests, NULL, NULL) : SKIPPED;

    rig_clean();
    return status;
}
