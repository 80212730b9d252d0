/* mutate.c: faults planted one at a time into correct kernels: the model must find each, and must
 * say the right kind; the kernels as they are must pass.
 *
 * A mutation is a rule that changes one statement of Kernel IR; it is applied at the first, the
 * middle and the last statement that it fits, in each kernel. */
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

enum {
    DIFFERENCE = 1 << SIM_KINDS,
    /* Some statements may change so without a difference in meaning: a guard of what is masked
     * again, a maximum that only scales, a group that joins the next. */
    MAY_AGREE = 1 << (SIM_KINDS + 1)
};
#define BIT(kind) (1u << SIM_##kind)

/* -- rules
 * ------------------------------------------------------------------------------------------ */
struct rule {
    const char *name;
    unsigned kinds; /* with which it may be found */
    bool (*fits)(struct module *m, struct kstmt *s);
    void (*apply)(struct module *m, struct kstmt *s);
};

static void drop(struct module *m, struct kstmt *s) {
    (void)m;
    s->kind = K_COMMENT;
    s->comment = "dropped";
}

static bool is_barrier(struct module *m, struct kstmt *s) { return (void)m, s->kind == K_BARRIER; }
static bool is_wait(struct module *m, struct kstmt *s) { return (void)m, s->kind == K_WAIT; }
static bool is_commit(struct module *m, struct kstmt *s) { return (void)m, s->kind == K_COMMIT; }
static bool is_copy(struct module *m, struct kstmt *s) { return (void)m, s->kind == K_CP_ASYNC; }
static bool is_ldmatrix(struct module *m, struct kstmt *s) {
    return (void)m, s->kind == K_LDMATRIX;
}
static bool is_mma(struct module *m, struct kstmt *s) { return (void)m, s->kind == K_MMA; }

static bool reaches(const struct kstmt *s, enum kstmt_kind kind, enum scope scope) {
    return s->kind == kind && s->memory.address.buffer->scope == scope;
}

static bool stores_global(struct module *m, struct kstmt *s) {
    return (void)m, reaches(s, K_STORE, SCOPE_GLOBAL);
}
static bool stores_shared(struct module *m, struct kstmt *s) {
    return (void)m, reaches(s, K_STORE, SCOPE_SHARED);
}
static bool loads_shared(struct module *m, struct kstmt *s) {
    return (void)m, reaches(s, K_LOAD, SCOPE_SHARED);
}
static bool loads_global(struct module *m, struct kstmt *s) {
    return (void)m, reaches(s, K_LOAD, SCOPE_GLOBAL);
}
static bool loads_array(struct module *m, struct kstmt *s) {
    return (void)m, reaches(s, K_LOAD, SCOPE_GLOBAL) && s->memory.data.array;
}

static struct expr *plus(struct module *m, struct expr *e, int64_t n) {
    return expr_binary(m->exprs, FN_ADD, e, expr_int(m->exprs, n, e->dtype));
}
static struct expr *flipped(struct module *m, struct expr *e, int64_t bit) {
    return expr_binary(m->exprs, FN_XOR, e, expr_int(m->exprs, bit, e->dtype));
}

static void wait_more(struct module *m, struct kstmt *s) { (void)m, s->wait.groups++; }
static void copy_swizzle(struct module *m, struct kstmt *s) {
    s->cp_async.to.index = flipped(m, s->cp_async.to.index, 16);
}
static void copy_from_next(struct module *m, struct kstmt *s) {
    s->cp_async.from.index = plus(m, s->cp_async.from.index, 1);
}
static void copy_from_far(struct module *m, struct kstmt *s) {
    s->cp_async.from.index = plus(m, s->cp_async.from.index, 1 << 20);
}
static void copy_half(struct module *m, struct kstmt *s) {
    s->cp_async.source_bytes = expr_index(m->exprs, s->cp_async.bytes / 2);
}
static void copy_to_far(struct module *m, struct kstmt *s) {
    s->cp_async.to.index = plus(m, s->cp_async.to.index, 1 << 20);
}
static bool has_source_bytes(struct module *m, struct kstmt *s) {
    return is_copy(m, s) && s->cp_async.source_bytes;
}
static void never_copy(struct module *m, struct kstmt *s) {
    s->cp_async.guard = expr_bool(m->exprs, false);
}
static void other_side(struct module *m, struct kstmt *s) {
    (void)m;
    s->matrix.transpose = !s->matrix.transpose;
}
static void matrix_row(struct module *m, struct kstmt *s) {
    s->matrix.address.index = flipped(m, s->matrix.address.index, 16);
}
static void matrix_unaligned(struct module *m, struct kstmt *s) {
    s->matrix.address.index = plus(m, s->matrix.address.index, 2);
}
static void matrix_fewer(struct module *m, struct kstmt *s) {
    (void)m;
    s->matrix.matrices /= 2;
}
static bool several(struct module *m, struct kstmt *s) {
    return is_ldmatrix(m, s) && s->matrix.matrices > 1;
}
static bool mma_moves_a(struct module *m, struct kstmt *s) {
    return (void)m, s->kind == K_MMA && s->mma.a.index->hi > s->mma.a.index->lo;
}
static void mma_first_a(struct module *m, struct kstmt *s) {
    s->mma.a.index = expr_index(m->exprs, 0);
}
static bool mma_moves_b(struct module *m, struct kstmt *s) {
    return (void)m, s->kind == K_MMA && s->mma.b.index->hi > s->mma.b.index->lo;
}
static void mma_first_b(struct module *m, struct kstmt *s) {
    s->mma.b.index = expr_index(m->exprs, 0);
}
static void mma_first_d(struct module *m, struct kstmt *s) {
    s->mma.d.index = expr_index(m->exprs, 0);
}
static bool mma_moves_d(struct module *m, struct kstmt *s) {
    return (void)m, s->kind == K_MMA && s->mma.d.index->hi > s->mma.d.index->lo;
}
static void store_elsewhere(struct module *m, struct kstmt *s) {
    int32_t n = s->memory.bytes / dtype_bytes(s->memory.memory);
    s->memory.address.index = plus(m, s->memory.address.index, n);
}
static void store_far(struct module *m, struct kstmt *s) {
    s->memory.address.index = plus(m, s->memory.address.index, 1 << 28);
}
static void store_unaligned(struct module *m, struct kstmt *s) {
    s->memory.address.index = plus(m, s->memory.address.index, 1);
}
static bool stores_vector(struct module *m, struct kstmt *s) {
    return stores_global(m, s) && s->memory.bytes > dtype_bytes(s->memory.memory);
}
static void shared_off(struct module *m, struct kstmt *s) {
    s->memory.address.index = plus(m, s->memory.address.index, s->memory.bytes);
}

/* -- loops, branches, variables, expressions */
static bool copies_in_loop(struct module *m, struct kstmt *s) {
    (void)m;
    if (s->kind != K_FOR || s->loop.unroll == 0) return false;
    for (struct kstmt *t = s->loop.body.first; t; t = t->next)
        if (t->kind == K_BARRIER || t->kind == K_WAIT) return true;
    return false;
}
static void one_less(struct module *m, struct kstmt *s) { s->loop.hi = plus(m, s->loop.hi, -1); }

static void find_global(struct kstmt *s, void *data) {
    bool *found = data;
    *found |= reaches(s, K_STORE, SCOPE_GLOBAL) || reaches(s, K_LOAD, SCOPE_GLOBAL);
}
/* A condition on this thread's element that keeps an access inside its tensor. */
static bool is_guard(struct module *m, struct kstmt *s) {
    bool found = false;
    (void)m;
    if (s->kind != K_IF || s->branch.otherwise.first) return false;
    kblock_walk(&s->branch.then, find_global, &found);
    return found;
}
static void always(struct module *m, struct kstmt *s) {
    s->branch.test = expr_bool(m->exprs, true);
}

static void find_put(struct kstmt *s, void *data) { *(bool *)data |= s->kind == K_PUT; }
/* The loop that clears an accumulator. */
static bool clears(struct module *m, struct kstmt *s) {
    bool found = false;
    (void)m;
    if (s->kind != K_FOR || !s->loop.body.first || s->loop.body.first->next) return false;
    find_put(s->loop.body.first, &found);
    return found && s->loop.body.first->put.value->kind == EXPR_FLOAT;
}

static bool sets_slot(struct module *m, struct kstmt *s) {
    (void)m;
    return s->kind == K_VAR && s->set.var->kind == VAR_MUTABLE && s->set.value &&
           strstr(s->set.var->name->text, "slot");
}
static void other_slot(struct module *m, struct kstmt *s) {
    int64_t at;
    if (!expr_is_int(s->set.value, &at)) return;
    s->set.value = expr_index(m->exprs, at == s->set.var->hi ? 0 : at + 1);
}
static void slot_too_far(struct module *m, struct kstmt *s) {
    s->set.value = expr_index(m->exprs, s->set.var->hi + 1);
}

static struct expr *change_shuffle(struct expr *e, void *data) {
    struct module *m = data;
    if (e->kind != EXPR_OP || e->fn != FN_SHUFFLE_XOR) return NULL;
    struct expr *args[2] = {
        e->args[0], expr_int(m->exprs, e->args[1]->integer == 1 ? 2 : 1, e->args[1]->dtype)};
    return expr_op(m->exprs, FN_SHUFFLE_XOR, e->dtype, 2, args);
}
static bool uses(const struct expr *e, enum function fn) {
    if (e->kind == EXPR_OP && e->fn == fn) return true;
    for (int i = 0; i < e->count; i++)
        if (uses(e->args[i], fn)) return true;
    return false;
}
static struct expr **value_of(struct kstmt *s) {
    if (s->kind == K_VAR || s->kind == K_SET) return &s->set.value;
    return s->kind == K_PUT ? &s->put.value : NULL;
}
static bool applies(struct kstmt *s, enum function fn) {
    struct expr **e = value_of(s);
    return e && *e && uses(*e, fn);
}
static bool shuffles(struct module *m, struct kstmt *s) {
    return (void)m, applies(s, FN_SHUFFLE_XOR) && applies(s, FN_ADD);
}
static void wrong_lane(struct module *m, struct kstmt *s) {
    struct expr **e = value_of(s);
    *e = expr_rewrite(m->exprs, *e, change_shuffle, m);
}
static bool packs(struct module *m, struct kstmt *s) { return (void)m, applies(s, FN_PACK_F16); }
static struct expr *swap_pack(struct expr *e, void *data) {
    struct module *m = data;
    if (e->kind != EXPR_OP || e->fn != FN_PACK_F16) return NULL;
    struct expr *args[2] = {e->args[1], e->args[0]};
    return expr_op(m->exprs, FN_PACK_F16, e->dtype, 2, args);
}
static void swapped(struct module *m, struct kstmt *s) {
    struct expr **e = value_of(s);
    *e = expr_rewrite(m->exprs, *e, swap_pack, m);
}
static bool unpacks(struct module *m, struct kstmt *s) { return (void)m, applies(s, FN_PART_16); }
static struct expr *other_part(struct expr *e, void *data) {
    struct module *m = data;
    if (e->kind != EXPR_OP || e->fn != FN_PART_16) return NULL;
    struct expr *args[2] = {e->args[0],
                            expr_int(m->exprs, 1 - e->args[1]->integer, e->args[1]->dtype)};
    return expr_op(m->exprs, FN_PART_16, e->dtype, 2, args);
}
static void wrong_part(struct module *m, struct kstmt *s) {
    struct expr **e = value_of(s);
    *e = expr_rewrite(m->exprs, *e, other_part, m);
}

/* The barrier stands where only warp 0, or only half of each warp, comes. */
static void in_branch(struct module *m, struct kstmt *s, bool warp) {
    struct kernel *k = m->functions.at[0]->kernels.at[0];
    struct kstmt *inner = kstmt_new(m, K_BARRIER, s->span);
    struct expr *thread = expr_var(m->exprs, k->code->thread);
    struct expr *number =
        warp ? thread : expr_binary(m->exprs, FN_FLOORMOD, thread, expr_index(m->exprs, 32));
    inner->barrier = s->barrier;
    s->kind = K_IF;
    s->branch.test = expr_binary(m->exprs, FN_LT, number, expr_index(m->exprs, warp ? 32 : 16));
    s->branch.then = (struct kblock){inner, inner};
    s->branch.otherwise = (struct kblock){NULL, NULL};
}
static bool barrier_of_many(struct module *m, struct kstmt *s) {
    struct kernel *k = m->functions.at[0]->kernels.at[0];
    return s->kind == K_BARRIER && k->code->thread && k->threads > 32;
}
static void one_warp(struct module *m, struct kstmt *s) { in_branch(m, s, true); }
static void half_warp(struct module *m, struct kstmt *s) { in_branch(m, s, false); }

static const struct rule rules[] = {
    {"barrier dropped", BIT(RACE) | BIT(IN_FLIGHT), is_barrier, drop},
    {"barrier in one warp only", BIT(DEADLOCK) | BIT(DIVERGENCE) | BIT(RACE) | BIT(IN_FLIGHT),
     barrier_of_many, one_warp},
    {"barrier in half of each warp", BIT(DIVERGENCE), barrier_of_many, half_warp},
    {"wait for one group less", BIT(IN_FLIGHT), is_wait, wait_more},
    {"wait dropped", BIT(IN_FLIGHT), is_wait, drop},
    {"commit dropped", MAY_AGREE | BIT(IN_FLIGHT), is_commit, drop},
    {"copy dropped", BIT(UNWRITTEN) | DIFFERENCE, is_copy, drop},
    {"copy never carried out", BIT(UNWRITTEN) | DIFFERENCE, is_copy, never_copy},
    {"swizzle of a copy off by one bit", DIFFERENCE | BIT(UNWRITTEN) | BIT(RACE) | BIT(IN_FLIGHT),
     is_copy, copy_swizzle},
    {"copy from one element further", BIT(MISALIGNED) | DIFFERENCE, is_copy, copy_from_next},
    {"copy from outside", BIT(OUTSIDE), is_copy, copy_from_far},
    {"copy to outside", BIT(OUTSIDE), is_copy, copy_to_far},
    {"copy of half the bytes", DIFFERENCE, has_source_bytes, copy_half},
    {"ldmatrix transposed", DIFFERENCE, is_ldmatrix, other_side},
    {"swizzle of ldmatrix off by one bit", DIFFERENCE | BIT(UNWRITTEN), is_ldmatrix, matrix_row},
    {"ldmatrix off its alignment", BIT(MISALIGNED) | BIT(OUTSIDE), is_ldmatrix, matrix_unaligned},
    {"ldmatrix of half the matrices", BIT(UNWRITTEN) | DIFFERENCE, several, matrix_fewer},
    {"wrong register of a", DIFFERENCE, mma_moves_a, mma_first_a},
    {"wrong register of b", DIFFERENCE, mma_moves_b, mma_first_b},
    {"wrong register of the sum", DIFFERENCE, mma_moves_d, mma_first_d},
    {"product dropped", DIFFERENCE, is_mma, drop},
    {"accumulator not cleared", BIT(UNWRITTEN), clears, drop},
    {"store dropped", DIFFERENCE, stores_global, drop},
    {"store to the neighbour", DIFFERENCE | BIT(OUTSIDE) | BIT(RACE), stores_global,
     store_elsewhere},
    {"store outside", BIT(OUTSIDE), stores_global, store_far},
    {"store off its alignment", BIT(MISALIGNED) | BIT(OUTSIDE), stores_vector, store_unaligned},
    {"load dropped", BIT(UNWRITTEN), loads_array, drop},
    {"load outside", BIT(OUTSIDE), loads_global, store_far},
    {"shared store dropped", BIT(UNWRITTEN) | DIFFERENCE, stores_shared, drop},
    {"shared store beside its place",
     BIT(RACE) | BIT(IN_FLIGHT) | BIT(UNWRITTEN) | BIT(OUTSIDE) | DIFFERENCE, stores_shared,
     shared_off},
    {"shared load beside its place",
     MAY_AGREE | BIT(RACE) | BIT(IN_FLIGHT) | BIT(UNWRITTEN) | BIT(OUTSIDE) | DIFFERENCE,
     loads_shared, shared_off},
    {"guard dropped", MAY_AGREE | BIT(OUTSIDE) | BIT(UNWRITTEN) | BIT(RACE) | DIFFERENCE, is_guard,
     always},
    {"main loop one short", DIFFERENCE | BIT(IN_FLIGHT), copies_in_loop, one_less},
    {"slot off by one", DIFFERENCE | BIT(IN_FLIGHT) | BIT(RACE) | BIT(UNWRITTEN), sets_slot,
     other_slot},
    {"slot outside of the ring", BIT(RANGE), sets_slot, slot_too_far},
    {"shuffle of the wrong lane", DIFFERENCE, shuffles, wrong_lane},
    {"packed the wrong way", DIFFERENCE, packs, swapped},
    {"wrong part of a word", MAY_AGREE | DIFFERENCE | BIT(UNWRITTEN), unpacks, wrong_part},
};
enum { RULES = sizeof rules / sizeof *rules };

/* -- kernels
 * ---------------------------------------------------------------------------------------- */
struct subject {
    const char *file, *target;
    const char *definitions[12];
};

static const struct subject subjects[] = {
    {"matmul", "sm_80", {"M=130", "N=72", "K=100", "block_M=64", "block_N=64", NULL}},
    {"matmul",
     "sm_80",
     {"M=130", "N=70", "K=100", "block_M=64", "block_N=64", "num_stages=2", "dtype=float32", NULL}},
    {"matmul",
     "sm_75",
     {"M=66", "N=72", "K=100", "block_M=64", "block_N=64", "num_stages=2", NULL}},
    {"softmax", "sm_80", {"M=10", "N=100", NULL}},
    {"softmax", "sm_80", {"M=3", "N=3000", "threads=256", NULL}},
    {"rms_norm_silu", "sm_80", {"M=6", "C=512", "threads=128", NULL}},
    {"flash_attn", "sm_80", {"batch=1", "heads=1", "seq_len=100", "dim=32", "num_stages=2", NULL}},
    {"mla_decode", "sm_90a", {"batch=1", "heads=64", "kv_len=150", "num_split=1", NULL}},
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

static const char *directory;

static char *read_file(struct arena *a, const char *name) {
    const char *why = NULL;
    struct source *s = source_read(a, arena_printf(a, "%s/%s.tile", directory, name), &why);
    if (!s) fail_msg("%s: %s", name, why);
    return arena_strndup(a, s->text, s->length);
}

enum { MOST_SITES = 4096 };

struct site {
    struct module *m;
    const struct rule *rule;
    int wanted, count;
    const struct kstmt **ran; /* the statements that ran; NULL: count all */
    int ran_count;
    int list[MOST_SITES], listed; /* numbers of those that ran */
};

static void note(const struct kstmt *s, void *data) {
    struct site *x = data;
    x->ran[x->ran_count++] = s;
}

static bool has_run(const struct site *x, const struct kstmt *s) {
    for (int i = 0; i < x->ran_count; i++)
        if (x->ran[i] == s) return true;
    return false;
}

static void visit(struct kstmt *s, void *data) {
    struct site *x = data;
    if (!x->rule->fits(x->m, s)) return;
    if (x->ran && has_run(x, s) && x->listed < MOST_SITES) x->list[x->listed++] = x->count;
    if (x->count++ == x->wanted) x->rule->apply(x->m, s);
}

static void walk(struct site *x, const struct rule *r, int wanted) {
    x->rule = r;
    x->wanted = wanted;
    x->count = x->listed = 0;
    kblock_walk(&x->m->functions.at[0]->kernels.at[0]->code->body, visit, x);
}

struct tally {
    int planted, found, agreed, by_rule[RULES];
};

static unsigned kind_bit(const struct verdict *v) {
    if (v->kind != SIM_FINE) return 1u << v->kind;
    return v->difference.buffer ? DIFFERENCE : 0;
}

static void plant(const struct subject *s, const struct program_text *p, int rule, int at,
                  struct tally *t) {
    struct arena *a = arena_new();
    const char *errors;
    struct module *meaning = rig_compile(a, p, false, &errors);
    struct module *code = rig_compile(a, p, true, &errors);
    struct site *x = arena_make(a, struct site);
    x->m = code;
    walk(x, &rules[rule], at);
    struct verdict v = rig_judge(a, meaning, code, 7, NULL);
    bool found = kind_bit(&v) & rules[rule].kinds;
    if (!v.why && (rules[rule].kinds & MAY_AGREE)) {
        t->agreed++;
        arena_free(a);
        return;
    }
    t->planted++;
    t->found += found;
    t->by_rule[rule] += found;
    if (!found || getenv("MUTATE_VERBOSE"))
        print_message("%s %s %s, site %d: %s: %s\n", found ? "found" : "MISSED", s->file, s->target,
                      at, rules[rule].name, v.why ? v.why : "nothing found");
    arena_free(a);
}

static void run_subject(const struct subject *s, struct tally *t) {
    struct arena *a = arena_new();
    const char *errors;
    struct program_text p = {read_file(a, s->file), s->definitions, s->target};
    struct module *meaning = rig_compile(a, &p, false, &errors), *code = NULL;
    if (meaning) code = rig_compile(a, &p, true, &errors);
    if (!code) fail_msg("%s: %s", s->file, errors);
    struct site *x = arena_make(a, struct site);
    x->m = code;
    x->ran = arena_array(a, const struct kstmt *, 1 << 16);
    for (int i = 0; i < 3; i++) {
        struct sim_options how = {.early = i == 1, .backward = i == 2};
        if (i == 0) how.ran = note, how.data = x;
        struct verdict v = rig_judge(a, meaning, code, 7, &how);
        if (v.why) fail_msg("false alarm: %s %s: %s", s->file, s->target, v.why);
    }
    for (int r = 0; r < RULES; r++) {
        int last = -1;
        walk(x, &rules[r], -1);
        for (int i = 0; i < 3 && x->listed > 0; i++) {
            int at = x->list[i * (x->listed - 1) / 2];
            if (at != last) plant(s, &p, r, at, t);
            last = at;
        }
    }
    arena_free(a);
}

static void test_mutations(void **state) {
    struct tally t = {0};
    (void)state;
    for (int i = 0; i < SUBJECTS; i++) run_subject(&subjects[i], &t);
    for (int r = 0; r < RULES; r++)
        if (!t.by_rule[r]) fail_msg("never found: %s", rules[r].name);
    print_message("%d faults planted, %d found; %d changes without a change of meaning\n",
                  t.planted, t.found, t.agreed);
    assert_true(t.planted >= 40);
    assert_int_equal(t.planted, t.found);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mutations)};
    if (argc < 2) return 2;
    directory = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
