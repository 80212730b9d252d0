/* test_shrink.c: failing programs become small ones that fail in the same way.
 *
 * Texts that merely have to keep a word show each kind of change; programs whose code gets a
 * planted fault go the whole way through compiler and model. */
#include "judge.h"
#include "shrink.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* -- changes of text
 * ------------------------------------------------------------------------------- */
struct words {
    const char *all[4]; /* each has to stay */
};

static bool has_all(const char *text, void *data) {
    const struct words *w = data;
    for (int i = 0; i < 4 && w->all[i]; i++)
        if (!strstr(text, w->all[i])) return false;
    return true;
}

static const struct {
    const char *text;
    struct words keep;
    const char *small;
} changes[] = {
    {"a = 1\nb = 2\nc = 3\nd = 4\n", {{"c ="}}, "c = 0\n"},
    {"# why\n\nfor i in x:\n    a()\n    b()\nc()\n", {{"for", "b()"}}, "for i in x:\n    b()\n"},
    {"with x:\n    for k in y:\n        t[k] = 5\n", {{"with", "t["}}, "with x:\n    t[0] = 0\n"},
    {"def f(A: T(1),\n      B: T(2)):\n    use(B)\n",
     {{"def f", "B: T", "use(B"}},
     "def f(B: T()):\n    use(B)\n"},
    {"M = 70\nx[0, M] = max((a + b) * c, d)\n", {{"x[", "b"}}, "x[0, M] = b\n"},
    {"threads = 96\nn = 100\nt = copy(n, 96)\n",
     {{"threads = 9", "copy"}},
     "threads = 96\nt = copy()\n"},
    {"x = \"float16\"\ny = \"bfloat16\"\n", {{"x =", "y ="}}, "x = \"float32\"\ny = \"float32\"\n"},
    {"if a and b < 3:\n    g(1, k=2)\n", {{"if", "b", "g(1"}}, "if b:\n    g(1)\n"},
};

static void test_changes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct arena *a = arena_new();
        struct words keep = changes[i].keep;
        struct shrink_goal goal = {.shows = has_all, .data = &keep};
        const char *small = shrink(a, changes[i].text, &goal);
        if (strcmp(small, changes[i].small) != 0) print_error("change %zu\n", i);
        assert_string_equal(small, changes[i].small);
        arena_free(a);
    }
}

static void test_limits(void **state) {
    (void)state;
    struct arena *a = arena_new();
    struct words keep = {{"nowhere"}};
    struct shrink_goal never = {.shows = has_all, .data = &keep};
    assert_string_equal(shrink(a, "a = 1\n", &never), "a = 1\n");
    assert_int_equal(never.trials, 1);
    struct words any = {{NULL}};
    struct shrink_goal few = {.shows = has_all, .data = &any, .most = 5};
    shrink(a, "a = 1\nb = 2\nc = 3\nd = 4\ne = 5\nf = 6\ng = 7\nh = 8\n", &few);
    assert_true(few.trials <= 5);
    arena_free(a);
}

/* -- planted faults
 * -------------------------------------------------------------------------------- */
static const char program[] =
    "M, N, K = 70, 72, 100\n"
    "\n"
    "@T.prim_func\n"
    "def program(A: T.Tensor((M, K), \"float16\"), B: T.Tensor((K, N), \"float16\"),\n"
    "            C: T.Tensor((M, N), \"float16\"), R: T.Tensor((2, M), \"float32\")):\n"
    "    with T.Kernel(T.ceildiv(N, 64), T.ceildiv(M, 64), threads=threads) as (bx, by):\n"
    "        a = T.alloc_shared((64, 32), \"float16\")\n"
    "        b = T.alloc_shared((32, 64), \"float16\")\n"
    "        acc = T.alloc_fragment((64, 64), \"float32\")\n"
    "        v = T.alloc_fragment((64,), \"float32\")\n"
    "        T.clear(acc)\n"
    "        for k in T.Pipelined(T.ceildiv(K, 32), num_stages=stages):\n"
    "            T.copy(A[by * 64, k * 32], a)\n"
    "            T.copy(B[k * 32, bx * 64], b)\n"
    "            T.gemm(a, b, acc)\n"
    "        for i, j in T.Parallel(64, 64):\n"
    "            acc[i, j] = T.max(acc[i, j], 0.0) * 0.5 + T.exp(T.min(acc[i, j], 1.0))\n"
    "        T.reduce_max(acc, v, dim=1)\n"
    "        T.copy(acc, C[by * 64, bx * 64])\n"
    "        for i in T.Parallel(64):\n"
    "            R[bx, by * 64 + i] = v[i] * 0.5\n";

static void find_kind(struct kstmt *s, void *data) {
    struct kstmt **found = data;
    if (!*found && s->kind == found[1]->kind) *found = s;
}

static void drop_first(struct module *m, enum kstmt_kind kind) {
    struct kstmt pattern = {.kind = kind}, *found[2] = {NULL, &pattern};
    kblock_walk(&m->functions.at[0]->kernels.at[0]->code->body, find_kind, found);
    if (!*found) return;
    (*found)->kind = K_COMMENT;
    (*found)->comment = "dropped";
}

static void drop_barrier(struct module *m) { drop_first(m, K_BARRIER); }
static void drop_wait(struct module *m) { drop_first(m, K_WAIT); }
static void drop_mma(struct module *m) { drop_first(m, K_MMA); }
static void drop_store(struct module *m) { drop_first(m, K_STORE); }

static const struct {
    const char *name, *kind;
    void (*spoil)(struct module *m);
    int lines; /* the shrunk program has at most so many */
} faults[] = {
    {"a barrier", "race", drop_barrier, 12},
    {"a wait", "in-flight", drop_wait, 7},
    {"a product", "value", drop_mma, 13},
    {"a store", "unwritten", drop_store, 13},
};

static int line_count(const char *text) {
    int n = 0;
    for (; *text; text++) n += *text == '\n';
    return n;
}

static void test_faults(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct arena *a = arena_new();
        struct plan left, p = {.seed = 3,
                               .spoil = faults[i].spoil,
                               .count = 2,
                               .at = {{"sm_80", 128, 2, false}, {"sm_80", 128, 3, false}}};
        struct finding f = judge_apart(program, &p, 60);
        if (f.outcome != DIFFERS) print_error("%s is missed\n", faults[i].name);
        assert_int_equal(f.outcome, DIFFERS);
        const char *small = judge_shrunk(a, program, &p, &f, &left);
        struct finding again = judge_apart(small, &left, 60);
        assert_string_equal(again.kind, f.kind);
        assert_int_equal(left.count, 1);
        assert_int_equal(left.at[0].threads, 32);
        if (line_count(small) > faults[i].lines || strcmp(f.kind, faults[i].kind) != 0)
            print_error("%s, [%s] %s:\n%s", faults[i].name, f.kind, f.message, small);
        assert_string_equal(f.kind, faults[i].kind);
        assert_true(line_count(small) <= faults[i].lines);
        left.spoil = NULL; /* the program itself is sound */
        assert_int_equal(judge_apart(small, &left, 60).outcome, AGREES);
        arena_free(a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_changes),
                                       cmocka_unit_test(test_limits),
                                       cmocka_unit_test(test_faults)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
