/* pipeline.c: pipelined loops become serial ones whose loads run ahead.
 *
 * With S slots the loads of iteration k + S - 1 are issued while iteration k computes:
 *
 *     load(0) … load(S-2)                      each closed by a COMMIT
 *     for k: WAIT(S-2)  [barrier]  load(k+S-1)  COMMIT  compute(k)
 *
 * One barrier an iteration serves both sides: what has arrived is visible to all, and the slot that
 * is refilled has been read by all. A load beyond the last iteration copies nothing but closes its
 * group, so the count of open groups stays exact. Loops whose body is one gemm take the form of
 * mainloop.c. With one slot the loads stay where they are. */
#include "internal.h"
#include "schedule.h"

enum { MAX_UNROLL = 4 };

struct plan { /* one pipelined loop */
    struct stmt *loop;
    struct block *block;
    struct loads loads;
    int asked, slots;
};

struct plans {
    struct place_in in;
    struct uniformity *uniform;
    VEC(struct plan) at;
};

/* -- Loads ------------------------------------------------------------------------------------- */

/* value < hi, or > hi for a negative step; NULL where that is certain. */
static struct expr *in_range(struct module *m, const struct stmt *loop, struct expr *value) {
    struct expr *a = loop->loop.step > 0 ? value : loop->loop.hi;
    struct expr *b = loop->loop.step > 0 ? loop->loop.hi : value;
    return expr_proves_lt(m->exprs, a, b) ? NULL : expr_binary(m->exprs, FN_LT, a, b);
}

static struct expr *both(struct module *m, struct expr *a, struct expr *b) {
    if (!a || !b) return a ? a : b;
    return expr_binary(m->exprs, FN_LAND, a, b);
}

static struct stmt *only_if(struct module *m, struct expr *test, struct stmt *s) {
    if (!test) return s;
    struct stmt *branch = stmt_new(m, STMT_IF, s->span);
    branch->branch.test = test;
    block_append(&branch->branch.then, s);
    return branch;
}

static struct stmt *load_at(struct module *m, const struct stmt *loop, const struct loads *loads,
                            const struct load *l, struct expr *value) {
    struct stmt *s = load_early(m, loads, l);
    struct block one = {.first = s, .last = s};
    struct var *from[1] = {loop->loop.var};
    struct expr *to[1] = {value}, *guard = l->guard;
    int64_t known;
    block_substitute(m, &one, 1, from, to);
    if (guard) guard = expr_substitute(m->exprs, guard, 1, from, to);
    guard = both(m, in_range(m, loop, value), guard);
    if (guard && expr_is_int(guard, &known) && known) guard = NULL;
    if (s->kind == STMT_MAP) return only_if(m, guard, s);
    s->copy.guard = guard;
    s->copy.async = l->async;
    return s;
}

void append_fill(struct place_in in, struct block *to, const struct stmt *loop,
                 const struct loads *loads, struct expr *value, struct expr *slot) {
    struct module *m = in.module;
    for (int i = 0; i < loads->at.count; i++) {
        const struct load *l = &loads->at.at[i];
        struct stmt *s = load_at(m, loop, loads, l, value);
        ring_select(m, &(struct block){s, s}, l->to.buffer, slot);
        block_append(to, s);
    }
    if (loads->async) block_append(to, stmt_new(m, STMT_COMMIT, loop->span));
}

/* -- The general form -------------------------------------------------------------------------- */

static void insert_all(struct block *b, struct stmt *at, struct block *made) {
    for (struct stmt *s = made->first, *next; s; s = next) {
        next = s->next;
        block_insert_before(b, at, s);
    }
}

static struct expr *ahead(struct module *m, const struct stmt *loop, struct expr *from,
                          int iterations) {
    return index_sum(m, from, index_of(m, iterations * loop->loop.step));
}

static void remove_loads(struct stmt *loop, const struct loads *loads) {
    for (int i = 0; i < loads->at.count; i++)
        block_remove(loads->at.at[i].block, loads->at.at[i].at);
    for (struct stmt *s = loop->loop.body.first, *next; s; s = next) {
        next = s->next;
        if (s->kind == STMT_IF && !s->branch.then.first && !s->branch.otherwise.first)
            block_remove(&loop->loop.body, s);
    }
}

/* The loads of iteration k + S - 1 at the top of the loop; what is staged is stored at its end. */
static void build_top(struct place_in in, const struct plan *p, struct var *load_slot,
                      struct block *top, struct block *bottom) {
    struct module *m = in.module;
    struct expr *next = ahead(m, p->loop, expr_var(m->exprs, p->loop->loop.var), p->slots - 1);
    bool staged = staged_fits(in, p->loop, &p->loads);
    struct block fill = {0};
    if (p->loads.async) block_append(top, build_wait(m, p->loop->span, p->slots - 2));
    append_fill(in, &fill, p->loop, &p->loads, next, expr_var(m->exprs, load_slot));
    for (struct stmt *s = fill.first, *after; s; s = after) {
        after = s->next;
        bool plain = s->kind != STMT_COMMIT && !(s->kind == STMT_COPY && s->copy.async);
        if (staged && plain) staged_cut(in, s, bottom);
        block_append(top, s);
    }
    block_append(bottom,
                 build_set(m, p->loop->span, load_slot, counter_next(m, load_slot, p->slots)));
}

static void build_ring(struct place_in in, const struct plan *p) {
    struct module *m = in.module;
    struct stmt *loop = p->loop;
    struct var *slot = build_counter(m, "slot", p->slots, loop->span);
    struct var *load_slot = build_counter(m, "load_slot", p->slots, loop->span);
    struct block before = {0}, top = {0}, bottom = {0};
    block_append(&before, build_let(m, loop->span, slot, index_of(m, 0)));
    block_append(&before, build_let(m, loop->span, load_slot, index_of(m, p->slots - 1)));
    for (int i = 0; i < p->slots - 1; i++)
        append_fill(in, &before, loop, &p->loads, ahead(m, loop, loop->loop.lo, i), index_of(m, i));
    build_top(in, p, load_slot, &top, &bottom);
    remove_loads(loop, &p->loads);
    for (int i = 0; i < p->loads.buffers.count; i++)
        ring_select(m, &loop->loop.body, p->loads.buffers.at[i], expr_var(m->exprs, slot));
    block_append(&bottom, build_set(m, loop->span, slot, counter_next(m, slot, p->slots)));
    insert_all(&loop->loop.body, loop->loop.body.first, &top);
    for (struct stmt *s = bottom.first, *after; s; s = after) {
        after = s->next;
        block_append(&loop->loop.body, s);
    }
    insert_all(p->block, loop, &before);
    if (p->loads.async) block_insert_after(p->block, loop, build_wait(m, loop->span, 0));
    loop->loop.kind = LOOP_SERIAL;
}

static void make_serial(struct module *m, struct stmt *loop) {
    int64_t trip = loop_trip(loop);
    bool unroll = trip > 0 && trip <= MAX_UNROLL && !loop_jumps(&loop->loop.body);
    loop->loop.kind = unroll ? LOOP_UNROLL : LOOP_SERIAL;
    loop->loop.factor = 0;
    loop_set_unrolled(m, loop, unroll);
}

/* -- How many slots ---------------------------------------------------------------------------- */

static void slots_by_buffer(const struct plans *all, int *slots) {
    const struct kernel *k = all->in.kernel;
    for (int i = 0; i < k->buffers.count; i++) slots[i] = 0;
    for (int p = 0; p < all->at.count; p++)
        for (int b = 0; b < all->at.at[p].loads.buffers.count; b++)
            for (int i = 0; i < k->buffers.count; i++)
                if (k->buffers.at[i] == all->at.at[p].loads.buffers.at[b] &&
                    slots[i] < all->at.at[p].slots)
                    slots[i] = all->at.at[p].slots;
}

static void report_fewer(const struct plans *all, const struct plan *p, const int *asked,
                         int64_t bytes) {
    struct module *m = all->in.module;
    if (p->loop->why) { /* a loop that nobody wrote */
        diag_remark(m->diag, p->loop->span, "schedule",
                    "the tiles of a block do not overlap: %d slots need %lld bytes of shared "
                    "memory, %s has %d for a block",
                    p->asked, (long long)bytes, m->target->name,
                    (int)target_trait(m->target, TRAIT_SHARED_BLOCK));
        return;
    }
    diag_report(
        m->diag, p->loop->span, W_STAGES,
        "num_stages=%d reduced to %d: %d stages need %lld bytes of shared memory, %s has %d for "
        "a block",
        p->asked, p->slots, p->asked, (long long)bytes, module_target_name(m),
        (int)target_trait(m->target, TRAIT_SHARED_BLOCK));
    shared_table(m, all->in.kernel, asked);
}

/* Takes stages from the loop that has most until the buffers fit. */
static void fit(struct plans *all) {
    struct module *m = all->in.module;
    struct kernel *k = all->in.kernel;
    int *slots = arena_array(m->arena, int, k->buffers.count + 1);
    int *asked = arena_array(m->arena, int, k->buffers.count + 1);
    slots_by_buffer(all, asked);
    int64_t bytes = shared_estimate(m, k, asked), need = bytes;
    while (!module_at_least(m, TRAIT_SHARED_BLOCK, need)) {
        struct plan *most = NULL;
        for (int p = 0; p < all->at.count; p++)
            if (all->at.at[p].loads.at.count && all->at.at[p].slots > (most ? most->slots : 1))
                most = &all->at.at[p];
        if (!most) break;
        most->slots--;
        slots_by_buffer(all, slots);
        need = shared_estimate(m, k, slots);
    }
    if (!module_at_least(m, TRAIT_SHARED_BLOCK, need))
        return; /* shared.c reports that not even one stage fits */
    for (int p = 0; p < all->at.count; p++)
        if (all->at.at[p].loads.at.count && all->at.at[p].slots < all->at.at[p].asked)
            report_fewer(all, &all->at.at[p], asked, bytes);
}

/* -- The pass ---------------------------------------------------------------------------------- */

static void plan_loop(struct plans *all, struct block *b, struct stmt *loop) {
    struct plan p = {.loop = loop, .block = b, .asked = loop->loop.stages, .slots = 1};
    int64_t trip = loop_trip(loop);
    if (trip >= 0 && p.asked > trip) p.asked = (int)trip;
    if (p.asked > 1 && loop_jumps(&loop->loop.body)) {
        diag_remark(all->in.module->diag, loop->span, "schedule",
                    "the loop is not pipelined: a break or continue leaves its iterations");
    } else if (p.asked > 1) {
        p.loads = loop_loads(all->in, loop, all->uniform);
        if (p.loads.at.count)
            p.slots = p.asked;
        else
            diag_remark(all->in.module->diag, loop->span, "schedule",
                        "the loop is not pipelined: it has no load that could run ahead");
    }
    vec_push(all->in.module->arena, &all->at, p);
}

static void find_loops(struct plans *all, struct block *b) {
    for (struct stmt *s = b->first; s; s = s->next) {
        if (s->kind == STMT_WHILE) find_loops(all, &s->repeat.body);
        if (s->kind == STMT_IF) {
            find_loops(all, &s->branch.then);
            find_loops(all, &s->branch.otherwise);
        }
        if (s->kind != STMT_FOR) continue;
        find_loops(all, &s->loop.body);
        if (s->loop.kind == LOOP_PIPELINED) plan_loop(all, b, s);
    }
}

static void make_rings(struct plans *all) {
    struct kernel *k = all->in.kernel;
    int count = k->buffers.count;
    int *slots = arena_array(all->in.module->arena, int, count + 1);
    slots_by_buffer(all, slots);
    for (int i = 0; i < count; i++)
        if (slots[i] > 1) ring_add(all->in.module, k, k->buffers.at[i], slots[i]);
}

static void build(struct plans *all, const struct plan *p) {
    struct diag *d = all->in.module->diag;
    if (p->slots < 2) {
        make_serial(all->in.module, p->loop);
        return;
    }
    const char *form = p->loop->why ? p->loop->why : "loads run ahead by one barrier an iteration";
    if (mainloop_fits(all->in, p->loop, &p->loads, p->slots)) {
        form = "fragments of the next step are loaded during each step, across iterations";
        mainloop_build(all->in, p->block, p->loop, &p->loads, p->slots);
    } else {
        build_ring(all->in, p);
    }
    p->loop->why = arena_printf(all->in.module->arena, "%d stages: %s", p->slots, form);
    diag_remark(d, p->loop->span, "schedule", "%s", p->loop->why);
}

static void pipeline_kernel(struct place_in in) {
    struct arena *scratch = arena_new();
    struct plans all = {.in = in, .uniform = uniformity_of(in.module, scratch, in.kernel)};
    find_loops(&all, &in.kernel->body);
    fit(&all);
    make_rings(&all);
    for (int i = 0; i < all.at.count; i++) build(&all, &all.at.at[i]);
    async_fills(in.module, in.kernel);
    arena_free(scratch);
}

void pipeline(struct module *m) {
    for (int f = 0; f < m->functions.count; f++)
        for (int k = 0; k < m->functions.at[f]->kernels.count; k++) {
            struct function_ir *function = m->functions.at[f];
            pipeline_kernel((struct place_in){
                .module = m, .function = function, .kernel = function->kernels.at[k]});
        }
}
