/* warp.c: runs one warp until it stands at a barrier or ends.
 *
 * Lanes that take different ways are kept apart by masks: an if runs its branches one after the
 * other, a loop goes on until no lane is left. A lane that breaks is out of every if up to its loop
 * and comes back behind it; one that continues comes back at the loop's end. */
#include "sim/internal.h"
#include <string.h>

void warp_assign(struct machine *s, slot_t to, bool uniform, slot_t from, bool from_uniform) {
    struct warp *w = s->warp;
    union scalar *r = lanes_of(s, to);
    const union scalar *v = lanes_of(s, from);
    struct known *k = known_of(s, to), known = *known_of(s, from);
    if (from_uniform)
        for (int b = 0; b < 4; b++) known.byte[b] = known.byte[b] & 1 ? FULL_MASK : 0;
    if (uniform) {
        r[0] = v[0];
        *k = known;
        return;
    }
    if (w->active == FULL_MASK && !from_uniform) {
        memmove(r, v, sizeof(struct lanes));
        *k = known;
        return;
    }
    for (uint32_t left = w->active; left; left &= left - 1) {
        int l = first_lane(left);
        r[l] = v[from_uniform ? 0 : l];
    }
    for (int b = 0; b < 4; b++)
        k->byte[b] = (k->byte[b] & ~w->active) | (known.byte[b] & w->active);
}

/* Integers stay in the range on which the compiler built its proofs. */
static bool in_range(struct machine *s, const struct var *v, slot_t slot, bool uniform) {
    if (dtype_is_float(v->dtype) || v->dtype == DTYPE_BOOL || v->dtype == DTYPE_U64) return true;
    uint32_t known = known_lanes(known_of(s, slot));
    const union scalar *r = lanes_of(s, slot);
    for (uint32_t left = s->warp->active & known; left; left &= left - 1) {
        int l = uniform ? 0 : first_lane(left);
        if (r[l].i < v->lo || r[l].i > v->hi) {
            sim_fail(s, SIM_RANGE, l, "'%s' is %lld, outside of %lld … %lld", v->name->text,
                     (long long)r[l].i, (long long)v->lo, (long long)v->hi);
            return false;
        }
        if (uniform) break;
    }
    return true;
}

static void run_set(struct machine *s, const struct step *p) {
    if (p->value[0] == NO_SLOT) {
        *known_of(s, p->variable) = known_in(0);
        return;
    }
    warp_assign(s, p->variable, p->variable_uniform, p->value[0], p->uniform[0]);
    in_range(s, p->st->set.var, p->variable, p->variable_uniform);
}

static void run_put(struct machine *s, const struct step *p) {
    slot_t to;
    if (!operand_slot(s, &p->st->put.to, p->value[1], 1, &to)) return;
    warp_assign(s, to, false, p->value[0], p->uniform[0]);
}

static void run_array(struct machine *s, const struct array *a) {
    for (int32_t i = 0; i < a->count; i++)
        *known_of(s, s->program->registers[a->id] - i) = known_in(0);
}

static void run_assert(struct machine *s, const struct step *p) {
    const union scalar *t = lanes_of(s, p->value[0]);
    if (!sim_needs(s, p->value[0], p->uniform[0], "an asserted condition")) return;
    for (uint32_t left = s->warp->active; left; left &= left - 1) {
        int l = first_lane(left);
        if (t[p->uniform[0] ? 0 : l].i) continue;
        sim_fail(s, SIM_ASSERT, l, "assertion failed: %s",
                 p->st->print.message ? p->st->print.message : "");
        return;
    }
}

static void run_barrier(struct machine *s) {
    struct warp *w = s->warp;
    if (w->active != FULL_MASK) {
        sim_fail(s, SIM_DIVERGENCE, first_lane(w->active),
                 "a barrier that only some lanes of the warp reach");
        return;
    }
    w->state = WARP_WAITS;
    w->wait_step = s->step;
}

static void run_sync_warp(struct machine *s) {
    if (s->warp->active != FULL_MASK)
        sim_fail(s, SIM_DIVERGENCE, first_lane(s->warp->active),
                 "a __syncwarp that only some lanes of the warp reach");
    s->warp->clock++;
}

/* -- jumps
 * -------------------------------------------------------------------------------------------- */
static void leave(struct warp *w, bool again) {
    uint32_t mask = w->active;
    int i = w->depth - 1;
    for (; i >= 0 && !w->frames[i].loop; i--) {
        w->frames[i].outer &= ~mask;
        w->frames[i].other &= ~mask;
    }
    if (i >= 0 && again) w->frames[i].skipped |= mask;
    w->active = 0;
}

static void run_statement(struct machine *s, const struct step *p) {
    switch (p->st->kind) {
    case K_VAR:
    case K_SET: run_set(s, p); break;
    case K_ARRAY: run_array(s, p->st->array); break;
    case K_PUT: run_put(s, p); break;
    case K_BREAK: leave(s->warp, false); break;
    case K_CONTINUE: leave(s->warp, true); break;
    case K_LOAD: memory_load(s, p); break;
    case K_STORE: memory_store(s, p); break;
    case K_ATOMIC: memory_atomic(s, p); break;
    case K_CP_ASYNC: async_copy(s, p); break;
    case K_COMMIT: async_commit(s); break;
    case K_WAIT: async_wait(s, p->st->wait.groups); break;
    case K_BARRIER: run_barrier(s); break;
    case K_SYNC_WARP: run_sync_warp(s); break;
    case K_LDMATRIX:
    case K_STMATRIX: matrix_run(s, p); break;
    case K_MMA: mma_run(s, p); break;
    case K_ASSERT: run_assert(s, p); break;
    default: break;
    }
}

/* -- control
 * ------------------------------------------------------------------------------------------ */
static bool push(struct machine *s, bool loop) {
    struct warp *w = s->warp;
    if (w->depth == FRAMES) {
        sim_fail(s, SIM_UNSUPPORTED, -1, "more than %d nested loops and conditions", FRAMES);
        return false;
    }
    w->frames[w->depth++] = (struct frame){.outer = w->active, .loop = loop};
    return true;
}

/* The active lanes in which value 0 holds. */
static uint32_t holding(struct machine *s, const struct step *p) {
    const union scalar *t = lanes_of(s, p->value[0]);
    uint32_t mask = 0;
    if (!s->warp->active) return 0;
    if (!sim_needs(s, p->value[0], p->uniform[0], "a condition")) return 0;
    if (p->uniform[0]) return t[0].i ? s->warp->active : 0;
    for (int l = 0; l < LANES; l++) mask |= (uint32_t)(t[l].i != 0) << l;
    return mask & s->warp->active;
}

static void run_if(struct machine *s, const struct step *p) {
    struct warp *w = s->warp;
    uint32_t then = holding(s, p);
    if (!push(s, false)) return;
    w->frames[w->depth - 1].other = w->active & ~then;
    w->active = then;
    if (!then) w->pc = p->target;
    if (w->frames[w->depth - 1].other) s->ran[s->step] = true;
}

/* The lanes whose variable is still below (above) the bound. */
static uint32_t counting(struct machine *s, const struct step *p) {
    struct warp *w = s->warp;
    uint32_t mask = 0;
    if (!w->active) return 0;
    if (!sim_needs(s, p->value[0], p->uniform[0], "the end of a loop") ||
        !sim_needs(s, p->variable, p->variable_uniform, "the start of a loop"))
        return 0;
    const union scalar *v = lanes_of(s, p->variable), *hi = lanes_of(s, p->value[0]);
    for (uint32_t left = w->active; left; left &= left - 1) {
        int l = first_lane(left);
        int64_t at = v[p->variable_uniform ? 0 : l].i, end = hi[p->uniform[0] ? 0 : l].i;
        bool goes = p->step > 0 ? at < end : at > end;
        if (p->uniform[0] && p->variable_uniform) return goes ? w->active : 0;
        mask |= (uint32_t)goes << l;
    }
    return mask;
}

static void run_test(struct machine *s, const struct step *p) {
    struct warp *w = s->warp;
    w->active = p->kind == STEP_FOR_TEST ? counting(s, p) : holding(s, p);
    if (!w->active) {
        w->active = w->frames[--w->depth].outer;
        w->pc = p->target;
    } else if (p->kind == STEP_FOR_TEST) {
        in_range(s, p->st->loop.var, p->variable, p->variable_uniform);
    }
}

static void run_next(struct machine *s, const struct step *p) {
    struct warp *w = s->warp;
    struct frame *f = &w->frames[w->depth - 1];
    w->active |= f->skipped;
    f->skipped = 0;
    w->pc = p->target;
    if (p->variable == NO_SLOT) return;
    union scalar *v = lanes_of(s, p->variable);
    if (p->variable_uniform) {
        v[0].i += p->step;
        return;
    }
    for (uint32_t left = w->active; left; left &= left - 1) v[first_lane(left)].i += p->step;
}

static void run_control(struct machine *s, const struct step *p) {
    struct warp *w = s->warp;
    switch (p->kind) {
    case STEP_IF: run_if(s, p); break;
    case STEP_ELSE:
        w->active = w->frames[w->depth - 1].other;
        if (!w->active) w->pc = p->target;
        break;
    case STEP_END_IF: w->active = w->frames[--w->depth].outer; break;
    case STEP_FOR:
        if (push(s, true) && w->active)
            warp_assign(s, p->variable, p->variable_uniform, p->value[0], p->uniform[0]);
        break;
    case STEP_WHILE: push(s, true); break;
    case STEP_NEXT: run_next(s, p); break;
    case STEP_EXIT:
        async_end(s);
        w->state = WARP_ENDED;
        break;
    default: run_test(s, p); break;
    }
}

static void count(struct machine *s, const struct step *p, uint32_t active) {
    struct sim_counters *c = &s->out->counters;
    c->instructions += (int64_t)(1 + p->code.end - p->code.first) * __builtin_popcount(active);
    if (p->st && p->kind != STEP_NEXT && p->kind != STEP_ELSE && p->kind != STEP_END_IF)
        c->statements[p->st->kind]++;
    bool own = p->kind == STEP_IF || (p->st && (p->st->kind == K_WAIT || p->st->kind == K_COMMIT));
    if (active && !own) s->ran[s->step] = true;
    if (c->instructions > s->limit)
        sim_fail(s, SIM_STEPS, -1, "more than %lld instructions", (long long)s->limit);
}

void warp_run(struct machine *s, struct warp *w) {
    s->warp = w;
    while (w->state == WARP_RUNS && !s->failed) {
        const struct step *p = step_at(s, w->pc);
        s->step = w->pc++;
        if (w->active || p->kind != STEP_STATEMENT) {
            count(s, p, w->active);
            if (w->active) ops_run(s, p->code);
            if (s->failed) return;
            if (p->kind == STEP_STATEMENT)
                run_statement(s, p);
            else
                run_control(s, p);
        }
    }
}
