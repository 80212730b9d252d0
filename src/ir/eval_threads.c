/* eval_threads.c: statements outside MAPs, in all threads of a block at once.
 *
 * Like the machine: a statement runs in all active threads before the next one starts, and control
 * that differs between threads narrows the active set. A set is a byte a thread; NULL means all. */
#include "ir/eval_state.h"
#include <string.h>

/* -- what differs between threads
 * ------------------------------------------------------------------ */
static bool leaf_varies(const struct eval *s, const struct expr *e) {
    if (e->kind == EXPR_VAR) return s->slots[e->var->id].stride != 0;
    return e->kind == EXPR_LOAD && eval_memory(s, e->buffer)->thread_bytes;
}

static bool varies(struct eval *s, struct expr *e) {
    if (!e || (!e->uses_vars && !e->uses_buffers)) return false;
    if (e->id >= s->varies_room) {
        int32_t room = e->id * 2 + 64;
        uint8_t *grown = arena_alloc(s->arena, (size_t)room);
        if (s->varies_room) memcpy(grown, s->varies, (size_t)s->varies_room);
        s->varies = grown;
        s->varies_room = room;
    }
    if (s->varies[e->id]) return s->varies[e->id] == 2;
    bool yes = leaf_varies(s, e);
    for (int i = 0; i < e->count && !yes; i++) yes = varies(s, e->args[i]);
    s->varies[e->id] = yes ? 2 : 1;
    return yes;
}

static void add_slot(struct eval *s, const struct var *v, bool each_thread) {
    struct slot *slot = &s->slots[v->id];
    if (slot->at) return;
    slot->stride = each_thread;
    slot->at = arena_array(s->arena, union scalar, each_thread ? s->threads : 1);
}

static void prepare_list(struct eval *s, const struct block *b, bool inside_map);

static void add_axes(struct eval *s, const struct domain *d) {
    for (int i = 0; i < d->rank; i++) add_slot(s, d->axis[i], false);
}

static void prepare_stmt(struct eval *s, const struct stmt *st, bool inside_map) {
    bool outside = !inside_map;
    switch (st->kind) {
    case STMT_FOR:
        add_slot(s, st->loop.var, outside && (varies(s, st->loop.lo) || varies(s, st->loop.hi)));
        prepare_list(s, &st->loop.body, inside_map);
        break;
    case STMT_WHILE: prepare_list(s, &st->repeat.body, inside_map); break;
    case STMT_IF:
        prepare_list(s, &st->branch.then, inside_map);
        prepare_list(s, &st->branch.otherwise, inside_map);
        break;
    case STMT_LET: add_slot(s, st->let.var, outside && varies(s, st->let.value)); break;
    case STMT_ATOMIC:
        if (st->atomic.previous) add_slot(s, st->atomic.previous, outside);
        break;
    case STMT_MAP:
        add_axes(s, &st->map.domain);
        prepare_list(s, &st->map.body, true);
        break;
    case STMT_COPY: add_axes(s, &st->copy.domain); break;
    default: break;
    }
}

static void prepare_list(struct eval *s, const struct block *b, bool inside_map) {
    for (const struct stmt *st = b->first; st; st = st->next) prepare_stmt(s, st, inside_map);
}

void eval_prepare(struct eval *s, const struct kernel *k) {
    int count = exprs_vars(s->m->exprs);
    for (int i = 0; i < count; i++) { /* what an earlier kernel bound is gone */
        const struct var *v = exprs_var(s->m->exprs, i);
        if (v->kind == VAR_DIM || v->kind == VAR_PARAM) continue;
        s->slots[i].at = NULL;
        if (v->kind == VAR_MUTABLE || v->kind == VAR_LANE || v->kind == VAR_WARP)
            add_slot(s, v, true);
    }
    for (int i = 0; i < k->grid_rank; i++)
        if (k->block[i]) add_slot(s, k->block[i], false);
    if (k->thread) {
        add_slot(s, k->thread, true);
        for (int t = 0; t < s->threads; t++) s->slots[k->thread->id].at[t].i = t;
    }
    prepare_list(s, &k->body, false);
    for (int i = 0; i < count; i++) add_slot(s, exprs_var(s->m->exprs, i), false);
}

/* -- sets of threads
 * ------------------------------------------------------------------------------- */
struct loop {     /* the innermost loop around */
    uint8_t *off; /* by thread: 1 goes on with the next iteration, 2 has left the loop */
    bool changed; /* some thread went off */
};

static bool active(const uint8_t *set, int t) { return !set || set[t]; }

static int first_active(const struct eval *s, const uint8_t *set) {
    for (int t = 0; set && t < s->threads; t++)
        if (set[t]) return t;
    return set ? -1 : 0;
}

static uint8_t *new_set(struct eval *s) { return arena_alloc(s->arena, (size_t)s->threads); }

/* The threads of `set` that are still in the loop. */
static const uint8_t *remaining(struct eval *s, const uint8_t *set, const struct loop *l) {
    uint8_t *left = new_set(s);
    for (int t = 0; t < s->threads; t++) left[t] = active(set, t) && !l->off[t];
    return left;
}

/* The threads of `set` where the test gives `wanted`: `set` itself if all do, else *mixed. */
static const uint8_t *where(struct eval *s, struct expr *test, const uint8_t *set, bool *none) {
    int first = first_active(s, set);
    *none = false;
    if (!varies(s, test)) {
        *none = !eval_test(s, test, first);
        return set;
    }
    uint8_t *chosen = new_set(s);
    int yes = 0, all = 0;
    for (int t = 0; t < s->threads; t++) {
        if (!active(set, t)) continue;
        all++;
        yes += chosen[t] = eval_test(s, test, t);
    }
    *none = yes == 0;
    return yes == all ? set : chosen;
}

/* -- statements
 * ------------------------------------------------------------------------------------ */
static void run_list(struct eval *s, const struct block *b, const uint8_t *set, struct loop *l);

static void in_each(struct eval *s, const struct stmt *st, const uint8_t *set) {
    for (int t = 0; t < s->threads && !s->why; t++)
        if (active(set, t)) eval_plain(s, st, t);
}

static bool index_varies(struct eval *s, struct expr *const *index, int count) {
    for (int i = 0; i < count; i++)
        if (varies(s, index[i])) return true;
    return false;
}

/* Does one run stand for all threads? */
static bool once(struct eval *s, const struct stmt *st) {
    switch (st->kind) {
    case STMT_LET: return s->slots[st->let.var->id].stride == 0;
    case STMT_STORE:
        return st->store.buffer->scope != SCOPE_LOCAL && !varies(s, st->store.value) &&
               !index_varies(s, st->store.index, st->store.count);
    case STMT_ASSERT: return !varies(s, st->assertion.test);
    case STMT_PRINT: return true;
    default: return false;
    }
}

/* After an iteration: who stays in the loop. NULL set and *empty false: all. */
static const uint8_t *next_round(struct eval *s, const uint8_t *set, struct loop *l, bool *empty) {
    if (!l->changed) return set;
    uint8_t *left = new_set(s);
    *empty = true;
    for (int t = 0; t < s->threads; t++) {
        left[t] = active(set, t) && l->off[t] != 2;
        if (left[t]) *empty = false;
        if (l->off[t] == 1) l->off[t] = 0;
    }
    l->changed = false;
    return left;
}

static bool give_up(struct eval *s) {
    if (s->steps > (int64_t)1 << 40) eval_fail(s, (struct span){0, 0}, "more than 2^40 steps");
    return s->why != NULL;
}

static bool in_range(int64_t i, int64_t hi, int64_t step) { return step > 0 ? i < hi : i > hi; }

static void run_for(struct eval *s, const struct stmt *st, const uint8_t *set) {
    struct loop l = {.off = new_set(s)};
    int first = first_active(s, set);
    int64_t hi = eval_integer(s, st->loop.hi, first), step = st->loop.step;
    bool empty = false;
    for (int64_t i = eval_integer(s, st->loop.lo, first); in_range(i, hi, step); i += step) {
        eval_bind(s, st->loop.var, (union scalar){.i = i}, first);
        run_list(s, &st->loop.body, set, &l);
        set = next_round(s, set, &l, &empty);
        s->steps++;
        if (empty || give_up(s)) break;
    }
}

/* Each thread counts from its own start to its own end. */
static void run_ragged_for(struct eval *s, const struct stmt *st, const uint8_t *set) {
    struct loop l = {.off = new_set(s)};
    int64_t *at = arena_array(s->arena, int64_t, s->threads);
    int64_t *hi = arena_array(s->arena, int64_t, s->threads);
    for (int t = 0; t < s->threads; t++) {
        if (!active(set, t)) continue;
        at[t] = eval_integer(s, st->loop.lo, t);
        hi[t] = eval_integer(s, st->loop.hi, t);
    }
    for (bool empty = false; !empty && !give_up(s);) {
        uint8_t *still = new_set(s);
        empty = true;
        for (int t = 0; t < s->threads; t++) {
            still[t] = active(set, t) && in_range(at[t], hi[t], st->loop.step);
            if (!still[t]) continue;
            empty = false;
            eval_bind(s, st->loop.var, (union scalar){.i = at[t]}, t);
            at[t] += st->loop.step;
        }
        if (empty) break;
        run_list(s, &st->loop.body, still, &l);
        set = next_round(s, still, &l, &empty);
        s->steps++;
    }
}

static void run_while(struct eval *s, const struct stmt *st, const uint8_t *set) {
    struct loop l = {.off = new_set(s)};
    bool none, empty = false;
    while (!empty && !give_up(s)) {
        set = where(s, st->repeat.test, set, &none);
        if (none) break;
        run_list(s, &st->repeat.body, set, &l);
        set = next_round(s, set, &l, &empty);
        s->steps++;
    }
}

static void run_if(struct eval *s, const struct stmt *st, const uint8_t *set, struct loop *l) {
    bool none;
    const uint8_t *then = where(s, st->branch.test, set, &none);
    if (none) {
        run_list(s, &st->branch.otherwise, set, l);
        return;
    }
    run_list(s, &st->branch.then, then, l);
    if (then == set || !st->branch.otherwise.first) return;
    uint8_t *otherwise = new_set(s);
    for (int t = 0; t < s->threads; t++) otherwise[t] = active(set, t) && !then[t];
    run_list(s, &st->branch.otherwise, otherwise, l);
}

static void leave(struct eval *s, const uint8_t *set, struct loop *l, uint8_t how) {
    if (!l) return;
    l->changed = true;
    for (int t = 0; t < s->threads; t++)
        if (active(set, t)) l->off[t] = how;
}

static void run_stmt(struct eval *s, const struct stmt *st, const uint8_t *set, struct loop *l) {
    int first = first_active(s, set);
    switch (st->kind) {
    case STMT_FOR:
        if (s->slots[st->loop.var->id].stride)
            run_ragged_for(s, st, set);
        else
            run_for(s, st, set);
        break;
    case STMT_WHILE: run_while(s, st, set); break;
    case STMT_IF: run_if(s, st, set, l); break;
    case STMT_BREAK: leave(s, set, l, 2); break;
    case STMT_CONTINUE: leave(s, set, l, 1); break;
    case STMT_MAP: eval_map(s, st, first); break;
    case STMT_COPY: eval_copy(s, st, first); break;
    case STMT_GEMM: eval_gemm(s, st, first); break;
    case STMT_REDUCE: eval_reduce(s, st, first); break;
    case STMT_BARRIER: break;
    case STMT_COMMIT: eval_commit(s); break;
    case STMT_WAIT: eval_wait(s, st->wait.groups); break;
    default:
        if (once(s, st))
            eval_plain(s, st, first);
        else
            in_each(s, st, set);
        break;
    }
}

static void run_list(struct eval *s, const struct block *b, const uint8_t *set, struct loop *l) {
    bool changed = false;
    for (const struct stmt *st = b->first; st && !s->why; st = st->next) {
        if (l && l->changed) changed = true;
        const uint8_t *now = changed ? remaining(s, set, l) : set;
        if (first_active(s, now) < 0) return;
        run_stmt(s, st, now, l);
    }
}

void eval_body(struct eval *s, const struct kernel *k) { run_list(s, &k->body, NULL, NULL); }
