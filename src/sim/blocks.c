/* blocks.c: which blocks of a launch read and wrote each element of a written tensor, and whether
 * atomic operations order the next access behind them.
 *
 * Nothing orders two blocks but an atomic operation that releases and, on the same address, a later
 * one that acquires: then what its block had seen of itself before the first is seen behind the
 * second. A warp knows how many releases of each address it has acquired; barriers pass that on
 * within a block, and a release passes it on between blocks. */
#include "sim/internal.h"
#include <string.h>

struct release {
    int32_t block, warp, lane;
    uint32_t clock, before[WARPS]; /* of its own warp; of the others */
};

struct location {
    VEC(struct release) releases;
    struct knowledge knows; /* what its releases passed on */
};

/* -- what a warp knows
 * ------------------------------------------------------------------------------ */
static void learn(struct machine *s, struct knowledge *to, int32_t location, int32_t count) {
    for (int i = 0; i < to->count; i++) {
        if (to->at[i].location != location) continue;
        if (to->at[i].count < count) to->at[i].count = count;
        return;
    }
    vec_push(s->arena, to, (struct acquired){location, count});
}

void knowledge_join(struct machine *s, struct knowledge *to, const struct knowledge *from) {
    for (int i = 0; to != from && i < from->count; i++)
        learn(s, to, from->at[i].location, from->at[i].count);
}

static int32_t location_of(struct machine *s, struct trace *t) {
    if (t->location && t->launch == s->first_block) return t->location - 1;
    vec_push(s->arena, &s->locations, arena_make(s->arena, struct location));
    t->location = s->locations.count;
    t->launch = s->first_block;
    return t->location - 1;
}

void blocks_atomic(struct machine *s, const struct touch *x, enum memory_order order) {
    struct warp *w = s->warp;
    if (order == ORDER_RELAXED || !x->in || !x->in->traces) return;
    int32_t place = location_of(s, &x->in->traces[x->at / x->in->granule]);
    struct location *l = s->locations.at[place];
    if (order != ORDER_RELEASE) {
        learn(s, &w->knows, place, l->releases.count);
        knowledge_join(s, &w->knows, &l->knows);
    }
    if (order == ORDER_ACQUIRE) return;
    struct release r = {s->block_number, w->id, x->lane, w->clock, {0}};
    memcpy(r.before, w->seen, sizeof r.before);
    vec_push(s->arena, &l->releases, r);
    knowledge_join(s, &l->knows, &w->knows);
}

static bool covers(const struct release *r, const struct visit *v) {
    if (r->block != v->block) return false;
    if (r->warp != v->warp) return v->clock < r->before[v->warp];
    return v->clock < r->clock || (v->clock == r->clock && v->lane == r->lane);
}

/* Happened what is known of before the running warp's next statement? */
static bool known_before(const struct machine *s, const struct visit *v) {
    const struct knowledge *k = &s->warp->knows;
    for (int i = 0; i < k->count; i++)
        for (int n = 0; n < k->at[i].count; n++)
            if (covers(&s->locations.at[k->at[i].location]->releases.at[n], v)) return true;
    return false;
}

/* -- accesses
 * ------------------------------------------------------------------------------------- */
static struct visit visit_of(const struct machine *s, int lane) {
    const struct warp *w = s->warp;
    return (struct visit){s->block_number, s->step, w->clock, (uint8_t)w->id, (uint8_t)lane, false};
}

static bool conflicts(const struct machine *s, const struct visit *v) {
    return v->block > s->first_block && v->block != s->block_number && !known_before(s, v);
}

static void report(struct machine *s, const struct touch *x, int64_t i, const char *what,
                   const struct visit *v) {
    int64_t other[3];
    block_coordinates(s, v->block, other);
    sim_fail(s, SIM_RACE, x->lane,
             "%s element %lld of tensor '%s', which block (%lld, %lld, %lld) %s line %d: nothing "
             "orders blocks of one launch",
             what, (long long)i, x->in->name, (long long)other[0], (long long)other[1],
             (long long)other[2], v->wrote ? "wrote at" : "read at", sim_line(s, v->step));
    sim_blame(s, v->step);
}

bool blocks_read(struct machine *s, const struct touch *x, int64_t i) {
    struct trace *t = &x->in->traces[i];
    struct visit v = visit_of(s, x->lane);
    if (conflicts(s, &t->write)) {
        report(s, x, i, "reads", &t->write);
        return false;
    }
    /* of readers in two blocks at least one is another than a later writer's */
    bool first = t->read[0].block == s->block_number || t->read[0].block <= s->first_block;
    t->read[first ? 0 : 1] = v;
    return true;
}

bool blocks_write(struct machine *s, const struct touch *x, int64_t i, bool atomic, bool equal) {
    struct trace *t = &x->in->traces[i];
    bool both = atomic && t->atomic;
    if (!both && !equal && conflicts(s, &t->write)) {
        report(s, x, i, "writes", &t->write);
        return false;
    }
    for (int r = 0; r < 2; r++) {
        if (equal || !conflicts(s, &t->read[r])) continue;
        report(s, x, i, "writes", &t->read[r]);
        return false;
    }
    t->write = visit_of(s, x->lane);
    t->write.wrote = true;
    t->atomic = atomic;
    return true;
}
