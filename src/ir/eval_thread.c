/* eval_thread.c: plain statements in one thread, and the iterations of MAPs.
 *
 * Iterations run in order, each in the thread that owns it: by the domain's layout; without one by
 * number, if there are as many iterations as threads. What an iteration writes to variables and
 * local arrays lasts for that iteration, unless there are as many iterations as threads. */
#include "ir/eval_state.h"
#include <math.h>
#include <string.h>

/* -- plain statements
 * ------------------------------------------------------------------------------ */
static uint8_t *element_of(struct eval *s, const struct memory *m, struct expr *const *index,
                           int thread) {
    int64_t at[TILE_RANK];
    for (int i = 0; i < m->rank; i++) at[i] = eval_integer(s, index[i], thread);
    return s->why ? NULL : eval_address(s, m, at, thread);
}

static void run_store(struct eval *s, const struct stmt *st, int thread) {
    const struct memory *m = eval_memory(s, st->store.buffer);
    union scalar v = eval_value(s, st->store.value, thread);
    uint8_t *to = element_of(s, m, st->store.index, thread);
    if (to) element_write(to, m->dtype, scalar_cast(v, st->store.value->dtype, m->dtype));
}

/* Each addition rounds the sum that it finds by half a step at most; n of them in another order lie
 * about sqrt(n) times that apart, in sums as large as all terms together: four times as much is
 * never seen. */
static void note_added(struct eval *s, struct memory *m, const uint8_t *at, double term) {
    double *most = s->options ? s->options->reordered : NULL;
    if (!most || !dtype_is_float(m->dtype) || !isfinite(term)) return;
    if (!m->added) m->added = arena_array(s->arena, struct added, eval_elements(m));
    struct added *sum = &m->added[(at - m->data) / m->element];
    double before = element_read(at, m->dtype).f;
    if (sum->terms++ == 0 && isfinite(before)) sum->magnitude = fabs(before);
    sum->magnitude += fabs(term);
    double apart = 2 * sqrt(sum->terms) * sum->magnitude * dtype_step(m->dtype);
    if (apart > *most) *most = apart;
}

static void run_atomic(struct eval *s, const struct stmt *st, int thread) {
    static const enum function functions[] = {
        [ATOMIC_ADD] = FN_ADD, [ATOMIC_MAX] = FN_MAX, [ATOMIC_MIN] = FN_MIN};
    struct memory *m = eval_memory(s, st->atomic.buffer);
    union scalar v = eval_value(s, st->atomic.value, thread), args[2] = {m->safe, {0}};
    uint8_t *at = element_of(s, m, st->atomic.index, thread);
    args[1] = scalar_cast(v, st->atomic.value->dtype, m->dtype);
    if (at) {
        args[0] = element_read(at, m->dtype);
        if (st->atomic.op == ATOMIC_ADD) note_added(s, m, at, args[1].f);
        element_write(at, m->dtype, scalar_op(functions[st->atomic.op], m->dtype, args));
    }
    if (st->atomic.previous)
        eval_bind(s, st->atomic.previous,
                  scalar_cast(args[0], m->dtype, st->atomic.previous->dtype), thread);
}

void eval_plain(struct eval *s, const struct stmt *st, int thread) {
    s->steps++;
    switch (st->kind) {
    case STMT_LET:
    case STMT_SET: eval_bind(s, st->let.var, eval_value(s, st->let.value, thread), thread); break;
    case STMT_STORE: run_store(s, st, thread); break;
    case STMT_ATOMIC: run_atomic(s, st, thread); break;
    case STMT_ASSERT:
        if (!eval_test(s, st->assertion.test, thread))
            eval_fail(s, st->span, "assertion failed: %s",
                      st->assertion.message ? st->assertion.message : "");
        break;
    case STMT_PRINT: break;
    default: eval_fail(s, st->span, "an operation of the whole block stands inside a MAP"); break;
    }
}

/* -- control inside an iteration
 * ------------------------------------------------------------------- */
enum flow { FLOW_ON, FLOW_BREAK, FLOW_CONTINUE };

static enum flow run_list(struct eval *s, const struct block *b, int thread);

static bool give_up(struct eval *s) {
    if (s->steps > (int64_t)1 << 40) eval_fail(s, (struct span){0, 0}, "more than 2^40 steps");
    return s->why != NULL;
}

static void run_for(struct eval *s, const struct stmt *st, int thread) {
    int64_t lo = eval_integer(s, st->loop.lo, thread), hi = eval_integer(s, st->loop.hi, thread);
    int64_t step = st->loop.step;
    for (int64_t i = lo; step > 0 ? i < hi : i > hi; i += step) {
        eval_bind(s, st->loop.var, (union scalar){.i = i}, thread);
        if (run_list(s, &st->loop.body, thread) == FLOW_BREAK || give_up(s)) break;
    }
}

static void run_while(struct eval *s, const struct stmt *st, int thread) {
    while (eval_test(s, st->repeat.test, thread)) {
        s->steps++;
        if (run_list(s, &st->repeat.body, thread) == FLOW_BREAK || give_up(s)) break;
    }
}

static enum flow run_stmt(struct eval *s, const struct stmt *st, int thread) {
    switch (st->kind) {
    case STMT_FOR: run_for(s, st, thread); return FLOW_ON;
    case STMT_WHILE: run_while(s, st, thread); return FLOW_ON;
    case STMT_IF: {
        bool then = eval_test(s, st->branch.test, thread);
        return run_list(s, then ? &st->branch.then : &st->branch.otherwise, thread);
    }
    case STMT_BREAK: return FLOW_BREAK;
    case STMT_CONTINUE: return FLOW_CONTINUE;
    default: eval_plain(s, st, thread); return FLOW_ON;
    }
}

static enum flow run_list(struct eval *s, const struct block *b, int thread) {
    for (const struct stmt *st = b->first; st && !s->why; st = st->next) {
        enum flow f = run_stmt(s, st, thread);
        if (f != FLOW_ON) return f;
    }
    return FLOW_ON;
}

/* -- what lasts for one iteration
 * ------------------------------------------------------------------ */
static void note_written(struct stmt *st, void *data) {
    struct eval *s = data;
    if (st->kind == STMT_SET || (st->kind == STMT_LET && st->let.var->kind == VAR_MUTABLE)) {
        for (int i = 0; i < s->written.count; i++)
            if (s->written.at[i] == st->let.var) return;
        vec_push(s->arena, &s->written, st->let.var);
    }
    if (st->kind != STMT_STORE || st->store.buffer->scope != SCOPE_LOCAL) return;
    struct memory *m = eval_memory(s, st->store.buffer);
    for (int i = 0; i < s->locals.count; i++)
        if (s->locals.at[i] == m) return;
    vec_push(s->arena, &s->locals, m);
}

static void find_written(struct eval *s, const struct stmt *map) {
    struct block body = map->map.body;
    s->written.count = s->locals.count = 0;
    block_walk(&body, note_written, s);
}

/* Swaps values out (save) and back in. */
static void exchange(struct eval *s, int thread, bool save) {
    size_t at = 0;
    for (int i = 0; i < s->written.count; i++) {
        struct slot *slot = &s->slots[s->written.at[i]->id];
        union scalar *v = &slot->at[slot->stride * thread];
        memcpy(save ? (void *)&s->saved.at[at] : (void *)v, save ? (void *)v : &s->saved.at[at],
               sizeof *v);
        at += sizeof *v;
    }
    for (int i = 0; i < s->locals.count; i++) {
        const struct memory *m = s->locals.at[i];
        uint8_t *data = m->data + m->thread_bytes * thread;
        memcpy(save ? &s->saved.at[at] : data, save ? data : &s->saved.at[at],
               (size_t)m->thread_bytes);
        at += (size_t)m->thread_bytes;
    }
}

static void make_room(struct eval *s) {
    size_t bytes = sizeof(union scalar) * (size_t)s->written.count;
    for (int i = 0; i < s->locals.count; i++) bytes += (size_t)s->locals.at[i]->thread_bytes;
    while ((size_t)s->saved.count < bytes) vec_push(s->arena, &s->saved, 0);
}

/* -- iterations
 * ------------------------------------------------------------------------------------ */
static int owner(struct eval *s, const struct domain *d, const int64_t *at, int64_t number) {
    if (layout_is_none(&d->layout)) return (int)number;
    struct place p = layout_place(&d->layout, at);
    int64_t thread = 32 * p.warp + p.lane;
    if (thread < s->threads) return (int)thread;
    eval_fail(s, (struct span){0, 0}, "a domain's layout names thread %lld of %d",
              (long long)thread, s->threads);
    return 0;
}

static void run_iteration(struct eval *s, const struct stmt *st, int thread, bool restore) {
    if (restore) exchange(s, thread, true);
    run_list(s, &st->map.body, thread);
    if (restore) exchange(s, thread, false);
}

static bool advance(struct eval *s, const struct domain *d, int64_t *at) {
    for (int i = d->rank - 1; i >= 0; i--) {
        at[i]++;
        if (at[i] == d->extent[i]) at[i] = 0;
        s->slots[d->axis[i]->id].at[0].i = at[i];
        if (at[i]) return true;
    }
    return false;
}

void eval_map(struct eval *s, const struct stmt *st, int thread) {
    const struct domain *d = &st->map.domain;
    int64_t at[TILE_RANK] = {0}, total = 1, number = 0;
    for (int i = 0; i < d->rank; i++) {
        total *= d->extent[i];
        s->slots[d->axis[i]->id].at[0].i = 0;
    }
    if (total < 1) return;
    find_written(s, st);
    make_room(s);
    bool matched = total == s->threads;
    bool restore = !matched && (s->written.count || s->locals.count);
    bool owned = matched || !layout_is_none(&d->layout);
    do {
        run_iteration(s, st, owned ? owner(s, d, at, number++) : thread, restore);
        s->steps++;
    } while (advance(s, d, at) && !give_up(s));
}
