/* test_header.c: the C header compiles without warnings as C and C++ of every age, alone and beside
 * another, and keeps the order of the arguments. */
#include "rig.h"
#include <stdio.h>

static struct rig every_kind_of_argument(void) {
    struct rig r = rig_new("sm_80");
    static const enum dtype types[] = {DTYPE_F16, DTYPE_BF16, DTYPE_E4M3, DTYPE_E5M2, DTYPE_F32,
                                       DTYPE_F64, DTYPE_I8,   DTYPE_U8,   DTYPE_I64,  DTYPE_BOOL};
    struct var *n;
    char name[8];
    size_t i;

    tensor(&r, "A", DTYPE_F16, 64, false);
    scalar(&r, "alpha", DTYPE_F32);
    for (i = 0; i < sizeof types / sizeof *types; i++) {
        snprintf(name, sizeof name, "t%d", (int)i);
        tensor(&r, name, types[i], 64, i % 2);
        snprintf(name, sizeof name, "s%d", (int)i);
        scalar(&r, name, types[i]);
    }
    n = variable(&r, VAR_DIM, "n", DTYPE_INDEX);
    n->lo = 0;
    tensor_of(&r, "B", DTYPE_F32, of(&r, n))->written = true;
    vec_push(r.arena, &r.function->params,
             ((struct param){.kind = PARAM_DIM, .name = n->name, .var = n}));
    return r;
}

static bool c_compiles(const char *compiler, const char *standard, const char *file) {
    return !run("%s -std=%s -pedantic -Wall -Wextra -Wconversion -Wshadow -Werror -c %s -o "
                "header.o",
                compiler, standard, file);
}

static void compiles_everywhere(void **state) {
    static const char *const c[] = {"c99", "c11", "c17"};
    static const char *const cpp[] = {"c++11", "c++14", "c++17", "c++20"};
    struct rig r = every_kind_of_argument();
    size_t i;

    (void)state;
    write_file("hand.h", header_text(&r));
    write_file("use.c", "#include \"hand.h\"\n");
    write_file("use.cc", "#include \"hand.h\"\n");
    for (i = 0; i < sizeof c / sizeof *c; i++) assert_true(c_compiles("gcc", c[i], "use.c"));
    for (i = 0; i < sizeof cpp / sizeof *cpp && has_tool("g++"); i++)
        assert_true(c_compiles("g++", cpp[i], "use.cc"));
    rig_free(&r);
}

static void two_in_one_file(void **state) {
    struct rig r = rig_new("sm_80"), other = rig_new("sm_80");
    struct text t = text_new(other.arena);
    const struct emit_options options = {"0", "b.tile", "b.h", "b.cu", "b", LINE_TILE, false};

    (void)state;
    tensor(&r, "A", DTYPE_F16, 64, true);
    tensor(&other, "A", DTYPE_F16, 64, true);
    other.function->name = intern_text(other.module->names, "other");
    emit_header(&t, &other.module, 1, &options);
    write_file("hand.h", header_text(&r));
    write_file("b.h", t.at);
    write_file("both.c", "#include \"hand.h\"\n#include \"b.h\"\n#include \"hand.h\"\n"
                         "int both(tilec_f16 *p);\n"
                         "int both(tilec_f16 *p) { return hand(p, 0) + other(p, 0); }\n");
    assert_true(c_compiles("gcc", "c99", "both.c"));
    rig_free(&r);
    rig_free(&other);
}

static void arguments_in_order(void **state) {
    struct rig r = rig_new("sm_80");

    (void)state;
    tensor(&r, "X", DTYPE_F32, 64, false);
    scalar(&r, "scale", DTYPE_F32);
    tensor(&r, "Y", DTYPE_BF16, 64, true);
    dimension(&r, "rows", INT32_MAX);
    assert_non_null(strstr(header_text(&r), "int hand(const float *X, float scale, tilec_bf16 *Y, "
                                            "int64_t rows, struct CUstream_st *stream)"));
    rig_free(&r);
}

static void wrong_pointers_are_refused(void **state) {
    struct rig r = rig_new("sm_80");

    (void)state;
    tensor(&r, "X", DTYPE_F16, 64, false);
    write_file("hand.h", header_text(&r));
    write_file("wrong.c", "#include \"hand.h\"\nint f(tilec_bf16 *x);\n"
                          "int f(tilec_bf16 *x) { return hand(x, 0); }\n");
    write_file("ignored.c", "#include \"hand.h\"\nvoid f(void);\nvoid f(void) { hand(0, 0); }\n");
    assert_int_not_equal(run("gcc -Werror -c wrong.c -o wrong.o 2>/dev/null"), 0);
    assert_int_not_equal(run("gcc -Werror -c ignored.c -o wrong.o 2>/dev/null"), 0);
    rig_free(&r);
}

/* What the user chose ends neither the comment nor the string it stands in. */
static void texts_stay_in_their_comments(void **state) {
    struct rig r = rig_new("sm_80");
    struct text t = text_new(r.arena);
    const struct emit_options options = {"0",         "a*/ b\nc\\.tile", "x.h", "x.cu",
                                         "a-b.weird", LINE_TILE,         false};

    (void)state;
    r.function->doc = "hand(s='*/ #error \n #error')";
    emit_header(&t, &r.module, 1, &options);
    write_file("x.h", t.at);
    write_file("x.c", "#include \"x.h\"\n");
    assert_true(c_compiles("gcc", "c99", "x.c"));
    rig_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compiles_everywhere), cmocka_unit_test(two_in_one_file),
        cmocka_unit_test(arguments_in_order), cmocka_unit_test(wrong_pointers_are_refused),
        cmocka_unit_test(texts_stay_in_their_comments)};
    int status = has_tool("gcc") ? cmocka_run_group_tests(tests, NULL, NULL) : SKIPPED;

    rig_clean();
    return status;
}
