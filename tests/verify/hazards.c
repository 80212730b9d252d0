/* hazards.c: public reports of races, hangs and disordered pipelines (kinds D and E of the list
 * that the project keeps): what each compiler got wrong is planted into tilec's code of the same
 * kernel, and the model has to name the kind of fault and the lines of both parties.
 *
 * A case's text marks the lines of the parties by comments, #1 and #2 in either order, and #3 where
 * a barrier may stand besides. The fault is planted at each statement that the rule fits, one at a
 * time: at least one has to be found as marked, and none may go unnoticed. */
#include "rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* behind what it needs */
#include <cmocka.h>

#define BIT(kind) (1u << SIM_##kind)

/* -- rules
 * ---------------------------------------------------------------------------------------- */
static void drop(struct module *m, struct kstmt *s) {
    (void)m;
    s->kind = K_COMMENT;
    s->comment = "dropped";
}

/* Only threads below `count` of every `of` come. */
static void in_branch(struct module *m, struct kstmt *s, int64_t count, int64_t of) {
    struct kernel *k = m->functions.at[0]->kernels.at[0];
    struct kstmt *inner = kstmt_new(m, K_BARRIER, s->span);
    struct expr *number = expr_binary(m->exprs, FN_FLOORMOD, expr_var(m->exprs, k->code->thread),
                                      expr_index(m->exprs, of));
    inner->barrier = s->barrier;
    s->kind = K_IF;
    s->branch.test = expr_binary(m->exprs, FN_LT, number, expr_index(m->exprs, count));
    s->branch.then = (struct kblock){inner, inner};
    s->branch.otherwise = (struct kblock){NULL, NULL};
}

static void one_warp(struct module *m, struct kstmt *s) { in_branch(m, s, 32, 4096); }
static void part_of_warp(struct module *m, struct kstmt *s) { in_branch(m, s, 48, 4096); }
/* Behind the barrier the first warp waits for another. */
static void once_more(struct module *m, struct kstmt *s) {
    struct kstmt *first = kstmt_new(m, K_BARRIER, s->span),
                 *again = kstmt_new(m, K_BARRIER, s->span);
    first->barrier = again->barrier = s->barrier;
    in_branch(m, again, 32, 4096);
    s->kind = K_IF;
    s->branch.test = expr_bool(m->exprs, true);
    s->branch.otherwise = (struct kblock){NULL, NULL};
    s->branch.then = (struct kblock){first, again};
    first->next = again;
}
static void warps_alone(struct module *m, struct kstmt *s) { (void)m, s->kind = K_SYNC_WARP; }
static void wait_more(struct module *m, struct kstmt *s) { (void)m, s->wait.groups++; }
static const struct rule {
    enum kstmt_kind kind;
    void (*apply)(struct module *m, struct kstmt *s);
    const char *name;
} rules[] = {
    {K_BARRIER, drop, "the barrier is missing"},
    {K_BARRIER, one_warp, "one warp alone comes to the barrier"},
    {K_BARRIER, part_of_warp, "48 threads come to the barrier"},
    {K_BARRIER, warps_alone, "each warp waits for itself alone"},
    {K_WAIT, drop, "the wait is missing"},
    {K_WAIT, wait_more, "the wait leaves one group more"},
    {K_BARRIER, once_more, "one warp waits once more"},
};
enum which { NO_BARRIER, ONE_WARP, PART_OF_WARP, WARPS_ALONE, NO_WAIT, WAIT_MORE, ONCE_MORE };

/* -- kernels
 * -------------------------------------------------------------------------------------- */
#define HEAD(tensors, threads) \
    "@T.prim_func\ndef k(" tensors "):\n    with T.Kernel(1, threads=" threads ") as bx:\n"
#define THREAD "        tx = T.get_thread_binding()\n"

static const char guarded[] = HEAD(
    "A: T.Tensor((64,), 'int32'), Y: T.Tensor((48,), 'int32')",
    "64") "        s = T.alloc_shared((64,), 'int32')\n" THREAD "        if tx < 48:\n"
          "            s[tx] = A[tx]  #1\n        if tx < 48:  #3\n            Y[tx] = s[47 - tx] "
          " #2\n";

static const char filled[] =
    HEAD("A: T.Tensor((64,), 'int32'), Y: T.Tensor((64,), 'int32')",
         "64") "        s = T.alloc_shared((64,), 'int32')\n" THREAD
               "        s[63 - tx] = A[tx]  #1\n        T.fill(s[10:16], 7)  #2\n"
               "        for i in T.Parallel(64):\n            Y[i] = s[(i + 32) % 64]\n";

static const char shared_atomic[] =
    HEAD("A: T.Tensor((1024,), 'int32'), Y: T.Tensor((1024,), 'int32')",
         "1024") "        s = T.alloc_shared((1024,), 'int32')\n" THREAD
                 "        s[tx ^ 1] = 0  #1\n"
                 "        T.atomic_add(s[tx], A[tx])  #2\n        Y[tx] = s[tx ^ 32]\n";

static const char atomic_read[] =
    HEAD("A: T.Tensor((1024,), 'int32'), Y: T.Tensor((1024,), 'int32')",
         "1024") "        s = T.alloc_shared((1024,), 'int32')\n" THREAD "        s[tx ^ 1] = 0\n"
                 "        T.atomic_add(s[tx], A[tx])  #1\n        Y[tx] = s[tx ^ 32]  #2\n";

#define IN_WARP(type)                                                                      \
    HEAD("A: T.Tensor((32,), '" type "'), Y: T.Tensor((32,), '" type "')", "32")           \
    "        s = T.alloc_shared((32,), '" type "')\n" THREAD "        s[tx] = A[tx]  #1\n" \
    "        Y[tx] = s[tx ^ 4] + s[tx ^ 1]  #2\n"

#define PRODUCT(K, stages, type, tile, threads, copies)                                     \
    "@T.prim_func\ndef k(A: T.Tensor((" #tile ", " #K "), '" type "'), B: T.Tensor((" #K    \
    ", " #tile "), '" type "'), Y: T.Tensor((" #tile ", " #tile "), 'float32')):\n"         \
    "    with T.Kernel(1, threads=" #threads ") as bx:\n"                                   \
    "        a = T.alloc_shared((" #tile ", 32), '" type "')\n"                             \
    "        b = T.alloc_shared((32, " #tile "), '" type "')\n"                             \
    "        c = T.alloc_fragment((" #tile ", " #tile "), 'float32')\n        T.clear(c)\n" \
    "        for k in T.Pipelined(" #K " // 32, num_stages=" #stages "):\n" copies          \
    "            T.gemm(a, b, c)  #2\n        T.copy(c, Y)\n"
#define BOTH "            T.copy(A[0, k * 32], a)  #1\n            T.copy(B[k * 32, 0], b)\n"

#define ONE_TRIP(stages) PRODUCT(32, stages, "float16", 64, 128, BOTH)
#define TWO_TRIPS        PRODUCT(64, 2, "float16", 64, 128, BOTH)
#define SMALL            PRODUCT(64, 0, "float8_e4m3", 32, 64, BOTH)

static const char used_first[] =
    HEAD("A: T.Tensor((8, 64), 'int32'), Y: T.Tensor((64,), 'int32')",
         "64") "        s = T.alloc_shared((64,), 'int32')\n        acc = T.alloc_fragment((64,), "
               "'int32')\n"
               "        T.clear(acc)\n        T.fill(s, 3)\n"
               "        for k in T.Pipelined(8, num_stages=3):\n            for i in "
               "T.Parallel(64):  #1\n"
               "                acc[i] = acc[i] + s[63 - i]\n            T.copy(A[k, 0], s)  #2\n"
               "        T.copy(acc, Y)\n";

static const char cleared[] =
    "@T.prim_func\ndef k(A: T.Tensor((64, 96), 'float16'), B: T.Tensor((96, 64), 'float16'),\n"
    "      Y: T.Tensor((64, 64), 'float32')):\n    with T.Kernel(1, threads=128) as bx:\n"
    "        a = T.alloc_shared((64, 32), 'float16')\n        b = T.alloc_shared((32, 64), "
    "'float16')\n        c = T.alloc_fragment((64, 64), 'float32')\n        T.clear(c)\n"
    "        T.clear(a)  #1\n        T.clear(b)\n        T.gemm(a, b, c, clear_accum=True)  #2\n"
    "        for k in T.Pipelined(3, num_stages=2):\n            T.copy(A[0, k * 32], a)\n"
    "            T.copy(B[k * 32, 0], b)\n            T.gemm(a, b, c)\n        T.copy(c, Y)\n";

/* One operand by a loop that turns it, so that its threads change. */
static const char mixed[] =
    PRODUCT(96, 1, "float16", 64, 128,
            "            T.copy(A[0, k * 32], a)  #1\n            for i, j in T.Parallel(32, 64):\n"
            "                b[i, j] = B[k * 32 + i, j] * 2\n");

static const char two_depths[] =
    "@T.prim_func\ndef k(A: T.Tensor((64, 256), 'float16'), B: T.Tensor((256, 64), 'float16'),\n"
    "      Y: T.Tensor((64, 64), 'float32')):\n    with T.Kernel(1, threads=128) as bx:\n"
    "        a = T.alloc_shared((64, 32), 'float16')\n        b = T.alloc_shared((32, 64), "
    "'float16')\n        c = T.alloc_fragment((64, 64), 'float32')\n        T.clear(c)\n"
    "        for k in T.Pipelined(4, num_stages=2):\n            T.copy(A[0, k * 32], a)\n"
    "            T.copy(B[k * 32, 0], b)\n            T.gemm(a, b, c)  #1\n"
    "        for k in T.Pipelined(4, num_stages=4):\n            T.copy(A[0, 128 + k * 32], a)  "
    "#2\n            T.copy(B[128 + k * 32, 0], b)\n            T.gemm(a, b, c)\n"
    "        T.copy(c, Y)\n";

static const char skipped[] =
    "@T.prim_func\ndef k(A: T.Tensor((64, 256), 'float16'), B: T.Tensor((256, 64), 'float16'),\n"
    "      M: T.Tensor((8,), 'int32'), Y: T.Tensor((64, 64), 'float32')):\n"
    "    with T.Kernel(1, threads=128) as bx:\n"
    "        a = T.alloc_shared((64, 32), 'float16')\n        b = T.alloc_shared((32, 64), "
    "'float16')\n        c = T.alloc_fragment((64, 64), 'float32')\n        T.clear(c)\n"
    "        for k in T.Pipelined(8, num_stages=1):\n            if M[k] > 0:\n"
    "                T.copy(A[0, k * 32], a)  #1\n                T.copy(B[k * 32, 0], b)\n"
    "                T.gemm(a, b, c)  #2\n        T.copy(c, Y)\n";

static const char table[] =
    "@T.prim_func\ndef k(KV: T.Tensor((64, 64), 'float16'), ids: T.Tensor((8,), 'int32'),\n"
    "      Y: T.Tensor((64,), 'float32')):\n    with T.Kernel(1, threads=64) as bx:\n"
    "        s = T.alloc_shared((64,), 'float16')\n        acc = T.alloc_fragment((64,), "
    "'float32')\n        T.clear(acc)\n        for k in T.Pipelined(8, num_stages=2):\n"
    "            row = T.max(ids[k], 0)\n            T.copy(KV[row, 0], s)  #1\n"
    "            for i in T.Parallel(64):  #2\n                acc[i] = acc[i] + s[63 - i]\n"
    "        T.copy(acc, Y)\n";

/* -- cases
 * ---------------------------------------------------------------------------------------- */
static const struct hazard {
    const char *name, *text, *target;
    enum which rule;
    unsigned kinds; /* as which it is found at the marked lines */
    int harmless;   /* places where it means nothing */
} hazards[] = {
    {"42 threads that are no whole warps", guarded, "sm_80", NO_BARRIER, BIT(RACE), 0},
    {"42 a barrier for 48 of 64", guarded, "sm_80", PART_OF_WARP, BIT(DIVERGENCE), 0},
    {"42 a barrier for one warp", guarded, "sm_90a", ONE_WARP, BIT(RACE), 0},
    {"42 one warp waits once more", guarded, "sm_90a", ONCE_MORE, BIT(DEADLOCK), 0},
    {"45 a fill of what was just written", filled, "sm_80", NO_BARRIER, BIT(RACE), 0},
    {"45 on sm_75", filled, "sm_75", NO_BARRIER, BIT(RACE), 0},
    {"47 zeros before an atomic", shared_atomic, "sm_80", NO_BARRIER, BIT(RACE), 0},
    {"47 reads behind an atomic", atomic_read, "sm_80", NO_BARRIER, BIT(RACE), 0},
    /* the zeros come from the same warp */
    {"47 reads behind an atomic, warps alone", atomic_read, "sm_80", WARPS_ALONE, BIT(RACE), 1},
    {"48 int8 in a warp", IN_WARP("int8"), "sm_80", NO_BARRIER, BIT(RACE), 0},
    {"48 int16 in a warp", IN_WARP("int16"), "sm_75", NO_BARRIER, BIT(RACE), 0},
    {"48 float16 in a warp", IN_WARP("float16"), "sm_90a", NO_BARRIER, BIT(RACE), 0},
    {"48 bfloat16 in a warp", IN_WARP("bfloat16"), "sm_80", NO_BARRIER, BIT(RACE), 0},
    {"49 one trip, the wait is missing", ONE_TRIP(3), "sm_90a", NO_WAIT, BIT(IN_FLIGHT), 0},
    {"49 one trip, a warp misses the barrier", ONE_TRIP(2), "sm_90a", ONE_WARP, BIT(RACE), 0},
    {"49 one trip hangs", ONE_TRIP(2), "sm_90a", ONCE_MORE, BIT(DEADLOCK), 0},
    {"49 two trips hang", TWO_TRIPS, "sm_90a", ONCE_MORE, BIT(DEADLOCK) | BIT(DIVERGENCE), 0},
    {"51 small tiles of fp8", SMALL, "sm_89", NO_BARRIER, BIT(RACE), 0},
    {"51 small tiles of fp8 hang", SMALL, "sm_89", ONCE_MORE, BIT(DEADLOCK) | BIT(DIVERGENCE), 0},
    {"53 warps in step by chance", PRODUCT(96, 2, "float16", 64, 128, BOTH), "sm_90a", WARPS_ALONE,
     BIT(RACE), 0},
    {"54 used, then overwritten", used_first, "sm_80", NO_BARRIER, BIT(RACE), 0},
    {"54 used, then overwritten, read too early", used_first, "sm_80", NO_WAIT, BIT(IN_FLIGHT), 0},
    {"54 used, then overwritten, sm_75", used_first, "sm_75", NO_BARRIER, BIT(RACE), 0},
    {"56 a cleared tile", cleared, "sm_90a", NO_BARRIER, BIT(RACE), 0},
    {"57 one operand by a loop", mixed, "sm_80", NO_BARRIER, BIT(RACE), 0},
    {"58 loops of depth 2 and 4", two_depths, "sm_80", NO_BARRIER, BIT(RACE), 0},
    {"62 a step that may be skipped", skipped, "sm_80", NO_WAIT, BIT(IN_FLIGHT), 0},
    {"62 a step that may be skipped, no barrier", skipped, "sm_80", NO_BARRIER, BIT(RACE), 0},
    {"63 a row from a table", table, "sm_80", NO_BARRIER, BIT(RACE), 0},
};

/* -- running
 * -------------------------------------------------------------------------------------- */
struct site {
    struct module *m;
    const struct rule *rule;
    int wanted, count;
    struct kstmt *found;
};

static void visit(struct kstmt *s, void *data) {
    struct site *x = data;
    if (s->kind == x->rule->kind && x->count++ == x->wanted) x->found = s;
}

/* The number of places; the fault stands at one of them. */
static int plant(struct module *m, const struct rule *r, int wanted) {
    struct site x = {m, r, wanted, 0, NULL};
    kblock_walk(&m->functions.at[0]->kernels.at[0]->code->body, visit, &x);
    if (x.found) r->apply(m, x.found);
    return x.count;
}

static int marked(const char *text, const char *mark) {
    const char *at = strstr(text, mark);
    int line = 1;
    for (const char *p = text; at && p < at; p++) line += *p == '\n';
    return at ? line : 0;
}

static bool as_marked(const struct hazard *h, const struct verdict *v) {
    int a = marked(h->text, "#1"), b = marked(h->text, "#2"), c = marked(h->text, "#3");
    if (!(h->kinds & 1u << v->kind)) return false;
    if (v->kind == SIM_DEADLOCK || v->kind == SIM_DIVERGENCE)
        return (v->line == a || v->line == b || v->line == c) &&
               (!v->other || v->other == a || v->other == b || v->other == c);
    if (!v->other) return v->line == a || v->line == b;
    return (v->line == a && v->other == b) || (v->line == b && v->other == a);
}

static struct module *compiled(struct arena *a, const struct hazard *h, bool code) {
    const char *errors;
    const struct program_text p = {h->text, NULL, h->target};
    struct module *m = rig_compile(a, &p, code, &errors);
    if (!m) fail_msg("%s: %s", h->name, errors);
    return m;
}

static void check_right(const struct hazard *h) {
    for (int mode = 0; mode < 4; mode++) {
        struct arena *a = arena_new();
        const struct sim_options how = {.early = mode & 1, .backward = mode & 2};
        struct verdict v = rig_judge(a, compiled(a, h, false), compiled(a, h, true), 3, &how);
        if (v.why) fail_msg("%s: false alarm: %s", h->name, v.why);
        arena_free(a);
    }
}

static void check_hazard(void **state) {
    const struct hazard *h = *state;
    const struct rule *r = &rules[h->rule];
    int count = 1, found = 0, unnoticed = 0;
    check_right(h);
    for (int i = 0; i < count; i++) {
        struct arena *a = arena_new();
        struct module *code = compiled(a, h, true);
        count = plant(code, r, i);
        if (!count) fail_msg("%s: no statement where %s", h->name, r->name);
        struct verdict v = rig_judge(a, compiled(a, h, false), code, 3, NULL);
        found += as_marked(h, &v);
        unnoticed += !v.why;
        if (!as_marked(h, &v) || getenv("HAZARDS_VERBOSE"))
            print_message("%s: %s, place %d: %s\n", h->name, r->name, i,
                          v.why ? v.why : "unnoticed");
        arena_free(a);
    }
    if (!found || unnoticed != h->harmless)
        fail_msg("%s: %d of %d found as marked, %d unnoticed", h->name, found, count, unnoticed);
}

int main(void) {
    enum { COUNT = sizeof hazards / sizeof *hazards };
    static struct CMUnitTest tests[COUNT];
    for (int i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){hazards[i].name, check_hazard, NULL, NULL,
                                       (void *)(uintptr_t)&hazards[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
