/* shadow.c: who read and wrote each piece of shared memory, and whether the next access is ordered
 * behind them.
 *
 * A warp has a clock that moves at each barrier and __syncwarp; warp w has seen the accesses of
 * warp v before v's clock seen[w][v]. Lanes of one warp count as unordered until the clock moves:
 * nothing promises that they run in step. Two writes of the same bytes with the same value are no
 * race (README decision 37: a plain store is carried out by every thread). */
#include "sim/internal.h"
#include <string.h>

struct party {
    int warp, lane;
    uint32_t clock;
};

static bool ordered(const struct machine *s, struct party then, int lane) {
    const struct warp *w = s->warp;
    if (!then.clock) return true;
    if (then.warp == w->id) return then.lane == lane || then.clock < w->clock;
    return then.clock < w->seen[then.warp];
}

static const char *buffer_there(const struct machine *s, int64_t at) {
    const struct kernel *k = s->kernel;
    for (int i = 0; i < k->buffers.count; i++) {
        const struct buffer *b = k->buffers.at[i];
        if (b->scope != SCOPE_SHARED || b->alias) continue;
        const struct area *p = &s->spaces[b->id];
        if (at >= p->offset && at < p->offset + p->bytes) return b->name->text;
    }
    return "shared memory";
}

static void report(struct machine *s, const char *what, int64_t at, int32_t step, int lane,
                   const char *did) {
    sim_fail(s, SIM_RACE, lane,
             "%s byte %lld of shared memory ('%s'), which line %d %s: nothing orders the two", what,
             (long long)at, buffer_there(s, at), sim_line(s, step), did);
    sim_blame(s, step);
}

static bool pending(struct machine *s, const struct shadow *h, int64_t at, const char *what,
                    int lane) {
    if (!h->pending) return false;
    sim_fail(s, SIM_IN_FLIGHT, lane,
             "%s byte %lld of shared memory ('%s'), which the asynchronous copy of line %d may "
             "still write",
             what, (long long)at, buffer_there(s, at), sim_line(s, h->pending - 1));
    sim_blame(s, h->pending - 1);
    return true;
}

static bool is_atomic(const struct machine *s) {
    const struct kstmt *st = step_at(s, s->step)->st;
    return st && st->kind == K_ATOMIC;
}

static struct party writer(const struct shadow *h) {
    return (struct party){h->write_warp, h->write_lane, h->write_clock};
}

static struct party reader(const struct shadow *h, int i) {
    return (struct party){h->read_warp[i], h->read_lane[i], h->read_clock[i]};
}

/* One reader of this warp and one of another are kept. */
static void note_read(struct machine *s, struct shadow *h, int lane) {
    const struct warp *w = s->warp;
    int i = 0;
    if (h->read_clock[0] && h->read_warp[0] != w->id) i = ordered(s, reader(h, 0), lane) ? 0 : 1;
    bool same = h->read_clock[i] == w->clock && h->read_warp[i] == w->id;
    if (same && h->read_lane[i] != lane) lane = MANY_LANES;
    h->read_clock[i] = w->clock;
    h->read_warp[i] = (uint8_t)w->id;
    h->read_lane[i] = (uint8_t)lane;
    h->read_step[i] = s->step;
}

bool shadow_read(struct machine *s, int64_t at, int32_t bytes, int lane) {
    int32_t granule = s->program->granule;
    for (int64_t i = at / granule; i * granule < at + bytes; i++) {
        struct shadow *h = &s->shadow[i];
        if (pending(s, h, i * granule, "reads", lane)) return false;
        if (!ordered(s, writer(h), lane)) {
            report(s, "reads", i * granule, h->write_step, lane, "wrote");
            return false;
        }
        note_read(s, h, lane);
    }
    return true;
}

bool shadow_write(struct machine *s, int64_t at, int32_t bytes, int lane, const uint8_t *data) {
    int32_t granule = s->program->granule;
    bool atomic = is_atomic(s);
    for (int64_t i = at / granule; i * granule < at + bytes; i++) {
        struct shadow *h = &s->shadow[i];
        if (pending(s, h, i * granule, "writes", lane)) return false;
        bool equal =
            data && !memcmp(s->shared + i * granule, data + (i * granule - at), (size_t)granule);
        if (!ordered(s, writer(h), lane) && !equal && !(atomic && h->atomic)) {
            report(s, "writes", i * granule, h->write_step, lane, "wrote");
            return false;
        }
        for (int r = 0; r < 2; r++) {
            if (ordered(s, reader(h, r), lane)) continue;
            report(s, "writes", i * granule, h->read_step[r], lane, "read");
            return false;
        }
        h->read_clock[0] = h->read_clock[1] = 0;
        h->write_clock = s->warp->clock;
        h->write_warp = (uint8_t)s->warp->id;
        h->write_lane = (uint8_t)lane;
        h->write_step = s->step;
        h->atomic = atomic;
    }
    return true;
}
