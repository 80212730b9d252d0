/* test_sim.c: the machine on small hand-written kernels: what each check says, and on which lines;
 * divergence; conversions and tensor-core fragments against their definitions. */
#include "sim/internal.h"
#include "sim/trial.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* behind what it needs */
#include <cmocka.h>

/* Blocks of 64 threads; X[64], Y[64] and Z[64] of f32, S with 256 bytes, all of the body given. */
static const char head[] =
    "; tilec 0.1, level KERNEL, target sm_80\n"
    "source \"hand.tile\"\n\n"
    "function hand unit hand doc \"hand()\" buffers 5 {\n"
    "    tensor X:f32[64] strides [1] id 0\n"
    "    tensor Y:f32[64] strides [1] id 1 written\n"
    "    tensor Z:f32[64] strides [1] id 3 written\n"
    "    param tensor X = X\n"
    "    param tensor Y = Y\n"
    "    param tensor Z = Z\n"
    "    kernel hand_kernel grid [bx:index[0,%d] = %d] threads 64 [64, 1, 1] "
    "thread thread:index[0,63] shared_bytes 256 {\n"
    "        shared S:f32[64] id 2 layout [64@off:1] offset 0\n"
    "        registers 20\n"
    "        widest X 4\n"
    "        widest Y 4\n"
    "        widest Z 4\n";

struct outcome {
    enum sim_kind kind;
    int line, other;
    float y[64];
    struct sim_cost cost[4];
    int costs;
};

static struct outcome run(const char *body, int blocks, const struct sim_options *how) {
    struct arena *a = arena_new();
    struct text t = text_new(a);
    text_printf(&t, head, blocks - 1, blocks);
    text_puts(&t, body);
    text_puts(&t, "    }\n}\n");
    struct interns *names = interns_new(a);
    struct source *s = source_of_text(a, "hand.ir", t.at, t.length);
    struct diag *d = diag_new(a, s);
    struct module *m = kernel_read(a, names, d, s);
    struct outcome o = {.kind = SIM_KINDS};
    if (!m) {
        struct text out = text_new(a);
        diag_print_text(d, &out, false);
        fail_msg("%s", out.at);
    }
    const char *why = NULL;
    struct function_ir *f = m->functions.at[0];
    struct sim_data *data = sim_data_new(a, f, NULL, 1, &why);
    for (int i = 0; i < 64; i++) ((float *)(void *)data->args.tensor[0]->data)[i] = (float)i;
    for (int i = 0; i < 64; i++) ((float *)(void *)data->args.tensor[2]->data)[i] = 0;
    struct sim_result r;
    sim_run(m, f, &data->args, how, &r);
    o.kind = r.fault.kind;
    o.line = r.fault.at.end ? source_position(m->source, r.fault.at.begin).line : 0;
    o.other = r.fault.other.end ? source_position(m->source, r.fault.other.begin).line : 0;
    o.costs = r.costs.count;
    for (int i = 0; i < o.costs && i < 4; i++) o.cost[i] = r.costs.at[i];
    memcpy(o.y, data->args.tensor[1]->data, sizeof o.y);
    arena_free(a);
    return o;
}

/* -- checks
 * ---------------------------------------------------------------------------------------- */
#define LOAD "load f32 4 var let x:f32 = X[thread] align 4 const ; line 1\n"
#define PUT  "store f32 4 S[(thread * 4)] align 4 = x ; line 2\n"
#define GET  "load f32 4 var let y:f32 = S[(252 - (thread * 4))] align 4 ; line 4\n"
#define OUT  "store f32 4 Y[thread] align 4 = y ; line 5\n"
#define COPY "cp_async 4 S[(thread * 4)] align 4 = X[thread] align 4 ; line 2\n"

static const struct {
    const char *name, *body;
    enum sim_kind kind;
    int line, other;
} checks[] = {
    {"right", LOAD PUT "barrier 0 0 ; line 3\n" GET OUT, SIM_FINE, 0, 0},
    {"no barrier between warps", LOAD PUT GET OUT, SIM_RACE, 4, 2},
    {"a copy, waited for and met", COPY "commit\nwait 0\nbarrier 0 0\n" GET OUT, SIM_FINE, 0, 0},
    {"a copy without its wait", COPY "commit\nbarrier 0 0\n" GET OUT, SIM_IN_FLIGHT, 4, 2},
    {"a copy that no commit closed", COPY "wait 0\nbarrier 0 0\n" GET OUT, SIM_IN_FLIGHT, 4, 2},
    {"a wait for too few", COPY "commit\nwait 1\nbarrier 0 0\n" GET OUT, SIM_IN_FLIGHT, 4, 2},
    {"a copy that only its thread waited for", COPY "commit\nwait 0\n" GET OUT, SIM_RACE, 4, 2},
    {"a copy at the end", COPY "commit ; line 3\n", SIM_IN_FLIGHT, 2, 0},
    {"storage nobody wrote", GET OUT, SIM_UNWRITTEN, 5, 0},
    {"a register nobody wrote",
     "array r f32 f32 [2] ; line 1\nstore f32 4 Y[thread] align 4 = r{1} ; line 2\n", SIM_UNWRITTEN,
     2, 0},
    {"what is not chosen need not be written",
     "array r f32 f32 [1]\nput r[0] = 2.0:f32\narray q f32 f32 [1]\nstore f32 4 Y[thread] align 4 "
     "= select((thread < 64), r{0}, q{0})\n",
     SIM_FINE, 0, 0},
    {"behind the tensor", LOAD "store f32 4 Y[(thread + 1)] align 4 = x ; line 2\n", SIM_OUTSIDE, 2,
     0},
    {"before the tensor", "load f32 4 var let x:f32 = X[(thread - 1)] align 4 const ; line 1\n",
     SIM_OUTSIDE, 1, 0},
    {"behind the shared buffer", LOAD "store f32 4 S[((thread * 4) + 4)] align 4 = x ; line 2\n",
     SIM_OUTSIDE, 2, 0},
    {"not aligned", LOAD "store f32 4 S[((thread * 3) + 0)] align 4 = x ; line 2\n", SIM_MISALIGNED,
     2, 0},
    {"a barrier for half of a warp",
     "if ((thread % 32) < 16) { ; line 1\nbarrier 0 0 ; line 2\n}\n", SIM_DIVERGENCE, 2, 0},
    {"a barrier for one warp", "if (thread < 32) { ; line 1\nbarrier 0 0 ; line 2\n}\n",
     SIM_DEADLOCK, 2, 0},
    {"different barriers",
     "if (thread < 32) { ; line 1\nbarrier 0 0 ; line 2\n}\nelse {\nbarrier 0 0 ; line 3\n}\n",
     SIM_DIVERGENCE, 3, 2},
    {"a shuffle for half of a warp",
     LOAD "if ((thread % 32) < 16) { ; line 2\nvar let z:f32 = `shuffle_xor`:f32(x, 1:u32) ; line "
          "3\n}\n",
     SIM_DIVERGENCE, 3, 0},
    {"a variable out of its range", "var let v:index[0,62] = thread ; line 1\n", SIM_RANGE, 1, 0},
    {"an assertion", "assert \"small\" test (thread < 63) ; line 1\n", SIM_ASSERT, 1, 0},
    {"two lanes, one place",
     "var let v:index[0,31] = (thread // 2) ; line 1\n" LOAD
     "store f32 4 S[(v * 4)] align 4 = x ; line 2\n",
     SIM_RACE, 2, 2},
    {"two lanes, one place, one value",
     "var let v:index[0,31] = (thread // 2) ; line 1\nstore f32 4 S[(v * 4)] align 4 = 1.0:f32 ; "
     "line 2\n",
     SIM_FINE, 0, 0},
    {"lanes of a warp without __syncwarp",
     LOAD PUT "load f32 4 var let y:f32 = S[((thread * 4) ^ 4)] align 4 ; line 4\n", SIM_RACE, 4,
     2},
    {"lanes of a warp with __syncwarp",
     LOAD PUT "sync_warp\nload f32 4 var let y:f32 = S[((thread * 4) ^ 4)] align 4 ; line 4\n",
     SIM_FINE, 0, 0},
    {"a tensor written twice",
     LOAD "store f32 4 Y[thread] align 4 = x ; line 2\n"
          "store f32 4 Y[(63 - thread)] align 4 = x ; line 3\n",
     SIM_RACE, 3, 2},
    {"a tensor written twice, in order",
     LOAD "store f32 4 Y[thread] align 4 = x ; line 2\nbarrier 0 0\n"
          "store f32 4 Y[(63 - thread)] align 4 = x ; line 3\n",
     SIM_FINE, 0, 0},
    {"written while others read",
     LOAD PUT "barrier 0 0\n" GET "store f32 4 S[(thread * 4)] align 4 = y ; line 5\n", SIM_RACE, 5,
     4},
};

static void test_checks(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        for (int early = 0; early < 2; early++) {
            struct outcome o = run(checks[i].body, 1, &(struct sim_options){.early = early});
            bool lines = o.line == checks[i].line && o.other == checks[i].other;
            bool turned = o.line == checks[i].other && o.other == checks[i].line;
            if (o.kind != checks[i].kind || !(lines || turned))
                fail_msg("%s: %s on lines %d and %d, not %s on %d and %d", checks[i].name,
                         sim_kind_name(o.kind), o.line, o.other, sim_kind_name(checks[i].kind),
                         checks[i].line, checks[i].other);
        }
}

/* -- blocks of one launch
 * --------------------------------------------------------------------------- */
#define FIRST    "if (thread < 1) { ; line 1\n"
#define WRITE(i) "store f32 4 Y[" i "] align 4 = x ; line 2\n"
#define READ(i)  "load f32 4 var let y:f32 = Y[" i "] align 4 ; line 7\n"
#define KEEP     "store f32 4 S[(thread * 4)] align 4 = y ; line 8\n"
#define ATOMIC(order, to, line) \
    "atomic add " order " f32 " to " align 4 = 1.0:f32 ; line " line "\n"

/* Each block writes an element, then counts itself; the last one reads all. */
#define LAST(order)                                                                            \
    "var let x:f32 = f32(bx)\nif (thread == 33) {\n" WRITE(                                    \
        "bx") "}\nbarrier 0 0\n" FIRST "atomic add " order                                     \
              " f32 Z[0] align 4 = 1.0:f32 previous let p:f32 ; line 3\n"                      \
              "store f32 4 S[0] align 4 = p\n}\nbarrier 0 0\nload f32 4 var let q:f32 = S[0] " \
              "align 4\n"                                                                      \
              "barrier 0 0\nif ((q == 2.0:f32) and (thread < 3)) {\n" READ("thread") KEEP "}\n"

static const struct {
    const char *name, *body;
    enum sim_kind kind;
    int line, other;
} grids[] = {
    {"each its own", "var let x:f32 = f32(bx)\n" FIRST WRITE("bx") "}\n", SIM_FINE, 0, 0},
    {"all the same", "var let x:f32 = f32(bx)\n" FIRST WRITE("0") "}\n", SIM_RACE, 2, 2},
    {"all the same value", "var let x:f32 = 1.0:f32\n" FIRST WRITE("0") "}\n", SIM_FINE, 0, 0},
    {"read what others write",
     "var let x:f32 = f32(bx)\n" FIRST WRITE("bx") READ("(2 - bx)") KEEP "}\n", SIM_RACE, 7, 2},
    {"write what others read",
     "var let x:f32 = (f32(bx) + 9.0:f32)\n" FIRST READ("(2 - bx)") KEEP WRITE("bx") "}\n",
     SIM_RACE, 2, 7},
    {"read by all, written by one",
     "var let x:f32 = 9.0:f32\n" FIRST READ("0") KEEP
     "}\nif ((bx != 1) and (thread < 1)) {\n" WRITE("0") "}\n",
     SIM_RACE, 2, 7},
    {"atomics of all", FIRST ATOMIC("relaxed", "Y[0]", "3") "}\n", SIM_FINE, 0, 0},
    {"an atomic and a store",
     "var let x:f32 = f32(bx)\n" FIRST ATOMIC("relaxed", "Y[0]", "3") WRITE("0") "}\n", SIM_RACE, 3,
     2},
    {"an atomic and a load", FIRST ATOMIC("relaxed", "Y[0]", "3") READ("0") KEEP "}\n", SIM_RACE, 3,
     7},
    {"the last block reads what all released", LAST("acq_rel"), SIM_FINE, 0, 0},
    {"in every order", LAST("seq_cst"), SIM_FINE, 0, 0},
    {"nothing is released", LAST("acquire"), SIM_RACE, 7, 2},
    {"nothing is acquired", LAST("release"), SIM_RACE, 7, 2},
    {"nothing is ordered", LAST("relaxed"), SIM_RACE, 7, 2},
};

static void test_blocks(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++)
        for (int shuffle = 0; shuffle < 4; shuffle++) {
            const struct sim_options how = {.shuffle = (uint64_t)shuffle};
            struct outcome o = run(grids[i].body, 3, &how);
            bool lines = o.line == grids[i].line && o.other == grids[i].other;
            bool turned = o.line == grids[i].other && o.other == grids[i].line;
            if (o.kind != grids[i].kind || !(lines || turned))
                fail_msg("%s, order %d: %s on lines %d and %d, not %s on %d and %d", grids[i].name,
                         shuffle, sim_kind_name(o.kind), o.line, o.other,
                         sim_kind_name(grids[i].kind), grids[i].line, grids[i].other);
        }
}

/* -- divergence
 * ------------------------------------------------------------------------------------ */
/* Lane l counts to l % 5, leaves out 2, and stops at 3. */
static void test_divergence(void **state) {
    struct outcome o = run("var mutable n:i32 = 0:i32\n"
                           "for loop i:index[0,4] = 0 .. (thread % 5) unroll 1 {\n"
                           "if (i == 2) {\ncontinue\n}\n"
                           "if (i == 3) {\nset n = (n + 10:i32)\nbreak\n}\n"
                           "set n = (n + 1:i32)\n}\n"
                           "store f32 4 Y[thread] align 4 = f32(n)\n",
                           1, NULL);
    (void)state;
    assert_int_equal(o.kind, SIM_FINE);
    static const float want[] = {0, 1, 2, 2, 12};
    for (int i = 0; i < 64; i++) assert_true(o.y[i] == want[i % 5]);
}

/* -- counters: what two warps ask for in one statement
 * ----------------------------------------------------------------------------------- */
static const struct {
    const char *name, *body;
    int requests, cost, least;
} costs[] = {
    {"lanes side by side", "load f32 4 var let x:f32 = X[thread] align 4 const\n", 2, 8, 8},
    {"every other", "load f32 4 var let x:f32 = X[((thread * 2) % 64)] align 4 const\n", 2, 16, 8},
    {"all the same", "load f32 4 var let x:f32 = X[0] align 4 const\n", 2, 2, 2},
    {"one lane of each warp",
     "if ((thread % 32) == 5) {\nload f32 4 var let x:f32 = X[thread] align 4 const\n}\n", 2, 2, 2},
    {"wide", "array r f32 f32 [4]\nload f32 16 r[0] = X[((thread % 16) * 4)] align 16 const\n", 2,
     16, 16},
    {"banks side by side", "store f32 4 S[((thread % 32) * 4)] align 4 = 1.0:f32\n", 2, 2, 2},
    {"two words a bank", "store f32 4 S[(thread * 4)] align 4 = 1.0:f32\n", 2, 2, 2},
    {"every other word", "store f32 4 S[((thread % 32) * 8)] align 4 = 1.0:f32\n", 2, 4, 2},
    {"two words in one bank", "store f32 4 S[((thread % 2) * 128)] align 4 = 1.0:f32\n", 2, 4, 2},
    {"one word for all", "store f32 4 S[0] align 4 = 1.0:f32\n", 2, 2, 2},
};

static void test_costs(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        const struct sim_options how = {.count = true};
        struct outcome o = run(costs[i].body, 1, &how);
        if (o.kind != SIM_FINE || o.costs != 1 || o.cost[0].requests != costs[i].requests ||
            o.cost[0].cost != costs[i].cost || o.cost[0].least != costs[i].least)
            fail_msg("%s: [%s] %d rows, %lld requests cost %lld, at least %lld", costs[i].name,
                     sim_kind_name(o.kind), o.costs, (long long)o.cost[0].requests,
                     (long long)o.cost[0].cost, (long long)o.cost[0].least);
    }
    struct outcome o = run(LOAD COPY "commit\nwait 0\n", 1, &(struct sim_options){.count = true});
    assert_int_equal(o.costs, 3); /* a copy reaches two memories */
    assert_int_equal(run(LOAD, 1, NULL).costs, 0);
}

/* -- conversions
 * ----------------------------------------------------------------------------------- */
static void check_half(float v) {
    union scalar s = {.f = (double)v};
    union scalar r = {.f = scalar_round(s.f, DTYPE_F16)};
    uint64_t want = scalar_bits(r, DTYPE_F16);
    if (half_of_float(v) != want)
        fail_msg("%a is %x as f16, not %x", (double)v, half_of_float(v), (unsigned)want);
}

static void test_half(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 0x20000; i++) {
        uint32_t bits = i << 15;
        for (int k = -1; k <= 1; k++) {
            uint32_t near = bits + (uint32_t)k;
            float v;
            memcpy(&v, &near, sizeof v);
            check_half(v);
        }
        bits = 0x38000000 + (i << 9) + (i & 0x1ff);
        float v;
        memcpy(&v, &bits, sizeof v);
        check_half(v);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_checks), cmocka_unit_test(test_blocks),
                                       cmocka_unit_test(test_divergence),
                                       cmocka_unit_test(test_costs), cmocka_unit_test(test_half)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
