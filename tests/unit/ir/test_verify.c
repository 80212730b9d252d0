/* test_verify.c: each rule of tile IR has a program that breaks it. */
#include "world.h"

#define HEAD                                                                                    \
    "; tilec 0.1, level %s, target sm_80\nfunction f unit f buffers 9 {\n"                      \
    "  tensor A:f32[64, 64] strides [64, 1] id 0\n  param tensor A = A\n"                       \
    "  kernel k grid [bx:index[0,7] = 8] threads 64 [%s] shared_bytes 40000 {\n"                \
    "  shared S:f32[64, 64] id 2 layout [64@off:64, 64@off:1] offset %s\n"                      \
    "  fragment F:f32[64] id 3 layout [32@lane:1 2@warp:1]\n"                                   \
    "  fragment G:f32[64, 4] id 4 layout [32@lane:1 2@warp:1, 4@reg:1]\n"                       \
    "  fragment R:f32[64] id 5 layout [64@reg:1] rep [32@lane:1 2@warp:1]\n"                    \
    "  fragment P:f32[4] id 6 layout [4@reg:1] rep [32@lane:1 2@warp:1]\n"                      \
    "  fragment W:f16[16, 16] id 7 layout [8@lane:4 2@reg:2, 2@reg:1 4@lane:1 2@reg:4] rep "    \
    "[2@warp:1]\n"                                                                              \
    "  fragment V:f32[16, 8] id 8 layout [8@lane:4 2@reg:2, 2@reg:1 4@lane:1] rep [2@warp:1]\n" \
    "  var mutable x:i32\n"

#define PLACED_MAP "map [i:index[0,63] = 64] layout [32@lane:1 2@warp:1] {\n "

/* `why` is a part of the message; NULL: nothing is wrong. */
static const struct {
    const char *level, *body, *why;
} cases[] = {
    {"TILE", "", NULL},
    {"SCHEDULED", "", NULL},
    /* scopes and types */
    {"TILE", "for serial k:index = 0 .. 4 {\n }\n store S[k, 0] = 0.0:f32\n",
     "loop variable 'k' is used outside its scope"},
    {"TILE", "if (bx < 2) {\n let a:f32 = 1.0:f32\n }\n store S[0, 0] = a\n", "let variable 'a'"},
    {"TILE", "store S[0, 0] = 1.0:f16\n", "a stored value is f16, not f32"},
    {"TILE", "let a:i32 = 1.0:f32\n", "the value of a variable is f32, not i32"},
    {"TILE", "set x = 1:i32\n", NULL},
    {"TILE", "if x {\n }\n", "a condition is i32, not bool"},
    {"TILE", "for serial k:index = 0:i32 .. 4 {\n }\n", "a loop's start is i32, not index"},
    {"TILE", "break\n", "break or continue outside a loop"},
    {"TILE", "for serial k:index = 0 .. 4 {\n map [i:index = 4] {\n break\n }\n }\n",
     "outside a loop"},
    /* operations */
    {"TILE", "map [i:index = 4] {\n commit\n }\n", "inside a MAP"},
    {"TILE", "map [i:index = 4] {\n map [j:index = 4] {\n }\n }\n", "a MAP inside a MAP"},
    {"TILE", "reduce sum S[0 +64, 0 +4] -> P[0 +4] axis 1\n", "has extent 4, not 64"},
    {"TILE", "reduce sum S[0 +64, 0 +4] -> S[0 +64, 0 +1] axis 1\n", NULL},
    {"TILE", "reduce sum S[0 +128, 0 +4] -> S[0 +128, 0 +1] axis 1\n", "has extent 128 of 64"},
    {"TILE", "copy A[0 +8, 0 +64] -> S[0 +8, 0 +64] over [i:index = 8] axes [0] [0]\n",
     "leaves out axis 1 of 'A'"},
    {"TILE", "copy A[0 +8, 0 +1] -> F[0 +4] over [i:index = 8] axes [0] [0]\n",
     "does not fit axis 0 of 'F'"},
    {"TILE", "copy S[0 +8, 0 +1] -> F[0 +8] over [i:index = 8] axes [0] [0] async\n",
     "from a tensor to shared"},
    {"TILE", "gemm S[0 +64, 0 +8] S[0 +8, 0 +64] -> S[0 +64, 0 +32] size [64, 64, 8]\n",
     "'S' does not hold a 64 x 64"},
    /* layouts */
    {"PLACED", "map [i:index = 64] {\n }\n", "a domain has no layout"},
    {"PLACED", "map [i:index = 64] layout [32@lane:1 2@reg:1] {\n }\n",
     "32 lanes and 1 warps, not 32 and 2"},
    {"PLACED", "map [i:index = 32] layout [32@lane:1 2@warp:1] {\n }\n", "other extents"},
    {"PLACED", PLACED_MAP "store F[i] = R[i]\n }\n", NULL},
    {"PLACED", PLACED_MAP "store G[i, 3] = F[i]\n }\n", NULL},
    {"PLACED", PLACED_MAP "store R[i] = F[i]\n }\n",
     "'R' is written by threads that do not hold it"},
    {"PLACED", PLACED_MAP "store F[(63 - i)] = 0.0:f32\n }\n", "not accessed in place"},
    {"PLACED", "store S[0, 0] = F[3]\n", "fragment 'F' is accessed outside a MAP"},
    {"PLACED",
     "map [i:index[0,63] = 64] layout [2@warp:1 32@lane:1] {\n store F[i] = 0.0:f32\n }\n",
     "threads that do not hold it"},
    {"PLACED",
     "map [i:index[0,63] = 64, j:index[0,3] = 4] layout [32@lane:1 2@warp:1, 4@reg:1] {\n store "
     "G[i, j] "
     "= (F[i] + P[j])\n }\n",
     NULL},
    {"PLACED", "reduce sum F[0 +64] -> P[0 +1] axis 0\n", "a reduction over 'F' crosses warps"},
    {"PLACED", "reduce sum G[0 +64, 0 +4] -> F[0 +64] axis 1\n", NULL},
    /* the schedule */
    {"SCHEDULED", "for pipelined k:index = 0 .. 4 {\n }\n", "a pipelined loop is left"},
    {"SCHEDULED", "gemm S[0 +16, 0 +16] S[0 +16, 0 +8] -> V[0 +16, 0 +8] size [16, 8, 16] atom 0\n",
     "reads registers"},
    {"SCHEDULED",
     "copy A[0 +64, 0 +1] -> S[0 +64, 0 +1] over [i:index[0,63] = 64] layout [32@lane:1 2@warp:1] "
     "axes "
     "[0] [0] async\n",
     "without COMMIT and WAIT"},
};

static bool sound(struct world *w, const char *text, enum level level, const char **why) {
    struct module *m = world_read(w, text);
    return tile_verify(m, level, why);
}

static enum level level_of(const char *name) {
    return *name == 'T' ? LEVEL_TILE : *name == 'P' ? LEVEL_PLACED : LEVEL_SCHEDULED;
}

static const char *program(struct world *w, const char *level, const char *threads,
                           const char *offset, const char *body) {
    struct text t = text_new(w->a);
    text_printf(&t, HEAD, level, threads, offset);
    text_puts(&t, body);
    text_puts(&t, "}\n}\n");
    return t.at;
}

static void finds_violations(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world w = world_new();
        const char *why = NULL, *text = program(&w, cases[i].level, "64, 1, 1", "0", cases[i].body);
        bool good = sound(&w, text, level_of(cases[i].level), &why);
        if (good != !cases[i].why || (!good && !strstr(why, cases[i].why)))
            fail_msg("%s says %s", cases[i].body, why ? why : "nothing");
        arena_free(w.a);
    }
}

static void checks_kernels(void **state) {
    (void)state;
    struct world w = world_new();
    const char *why = NULL;
    assert_false(sound(&w, program(&w, "TILE", "32, 1, 1", "0", ""), LEVEL_TILE, &why));
    assert_non_null(strstr(why, "64 threads of 32"));
    assert_false(sound(&w, program(&w, "SCHEDULED", "64, 1, 1", "8", ""), LEVEL_SCHEDULED, &why));
    assert_non_null(strstr(why, "'S' lies at 8"));
    assert_false(sound(&w, program(&w, "SCHEDULED", "64, 1, 1", "-1", ""), LEVEL_SCHEDULED, &why));
    assert_non_null(strstr(why, "'S' has no offset"));
    assert_false(
        sound(&w, program(&w, "SCHEDULED", "64, 1, 1", "24000", ""), LEVEL_SCHEDULED, &why));
    assert_non_null(strstr(why, "ends at 40384 of 40000"));
    arena_free(w.a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(finds_violations),
                                       cmocka_unit_test(checks_kernels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
