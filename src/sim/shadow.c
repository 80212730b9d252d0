/* shadow.c: who read and wrote each piece of shared memory and of written tensors, and whether the
 * next access is ordered behind them.
 *
 * A warp has a clock that moves at each barrier and __syncwarp; warp w has seen the accesses of
 * warp v before v's clock seen[w][v]. Lanes of one warp count as unordered until the clock moves:
 * nothing promises that they run in step. A shuffle has all lanes at one place as well: what a lane
 * read before it has its value, whatever is written behind it; it does not show writes to others.
 * Two writes of the same bytes with the same value are no race: a plain store is carried out by
 * every thread. */
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

static const char *buffer_there(const struct machine *s, const struct shadows *in, int64_t at) {
    if (in->name) return in->name;
    const struct kernel *k = s->kernel;
    for (int i = 0; i < k->buffers.count; i++) {
        const struct buffer *b = k->buffers.at[i];
        if (b->scope != SCOPE_SHARED || b->alias) continue;
        const struct area *p = &s->spaces[b->id];
        if (at >= p->offset && at < p->offset + p->bytes) return b->name->text;
    }
    return "shared memory";
}

static const char *memory_name(const struct shadows *in) {
    return in->name ? "the tensor" : "shared memory";
}

static void report(struct machine *s, const struct touch *x, const char *what, int64_t at,
                   int32_t step, const char *did) {
    sim_fail(s, SIM_RACE, x->lane,
             "%s byte %lld of %s ('%s'), which line %d %s: nothing orders the two", what,
             (long long)at, memory_name(x->in), buffer_there(s, x->in, at), sim_line(s, step), did);
    sim_blame(s, step);
}

static bool pending(struct machine *s, const struct touch *x, const struct shadow *h, int64_t at,
                    const char *what) {
    if (!h->pending) return false;
    sim_fail(s, SIM_IN_FLIGHT, x->lane,
             "%s byte %lld of shared memory ('%s'), which the asynchronous copy of line %d may "
             "still write",
             what, (long long)at, buffer_there(s, x->in, at), sim_line(s, h->pending - 1));
    sim_blame(s, h->pending - 1);
    return true;
}

struct shadow *shadow_at(const struct machine *s, struct shadows *in, int64_t granule) {
    struct shadow *h = &in->at[granule];
    if (h->block == s->block_number) return h;
    memset(h, 0, sizeof *h);
    h->block = s->block_number;
    return h;
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

static bool read_before(const struct machine *s, const struct shadow *h, int i, int lane) {
    const struct warp *w = s->warp;
    if (h->read_warp[i] == w->id && h->read_shuffles[i] < w->shuffles) return true;
    return ordered(s, reader(h, i), lane);
}

/* One reader of this warp and one of another are kept. */
static void note_read(struct machine *s, struct shadow *h, int lane) {
    const struct warp *w = s->warp;
    int i = 0;
    if (h->read_clock[0] && h->read_warp[0] != w->id) i = ordered(s, reader(h, 0), lane) ? 0 : 1;
    bool same = h->read_clock[i] == w->clock && h->read_warp[i] == w->id &&
                h->read_shuffles[i] == w->shuffles;
    if (same && h->read_lane[i] != lane) lane = MANY_LANES;
    h->read_clock[i] = w->clock;
    h->read_shuffles[i] = w->shuffles;
    h->read_warp[i] = (uint8_t)w->id;
    h->read_lane[i] = (uint8_t)lane;
    h->read_step[i] = s->step;
}

bool shadow_read(struct machine *s, struct touch x) {
    int32_t granule = x.in->granule;
    for (int64_t i = x.at / granule; i * granule < x.at + x.bytes; i++) {
        struct shadow *h = shadow_at(s, x.in, i);
        if (pending(s, &x, h, i * granule, "reads")) return false;
        if (!ordered(s, writer(h), x.lane)) {
            report(s, &x, "reads", i * granule, h->write_step, "wrote");
            return false;
        }
        note_read(s, h, x.lane);
        if (x.in->traces && !blocks_read(s, &x, i)) return false;
    }
    return true;
}

static bool write_one(struct machine *s, const struct touch *x, int64_t i, const uint8_t *data) {
    int32_t granule = x->in->granule;
    struct shadow *h = shadow_at(s, x->in, i);
    bool atomic = is_atomic(s), both = atomic && h->atomic;
    if (pending(s, x, h, i * granule, "writes")) return false;
    bool equal =
        data && !memcmp(x->in->data + i * granule, data + (i * granule - x->at), (size_t)granule);
    if (!ordered(s, writer(h), x->lane) && !equal && !both) {
        report(s, x, "writes", i * granule, h->write_step, "wrote");
        return false;
    }
    for (int r = 0; r < 2; r++) {
        if (read_before(s, h, r, x->lane)) continue;
        report(s, x, "writes", i * granule, h->read_step[r], "read");
        return false;
    }
    if (x->in->traces && !blocks_write(s, x, i, atomic, equal)) return false;
    h->read_clock[0] = h->read_clock[1] = 0;
    h->write_clock = s->warp->clock;
    h->write_warp = (uint8_t)s->warp->id;
    h->write_lane = (uint8_t)x->lane;
    h->write_step = s->step;
    h->atomic = atomic;
    return true;
}

bool shadow_write(struct machine *s, struct touch x, const uint8_t *data) {
    int32_t granule = x.in->granule;
    for (int64_t i = x.at / granule; i * granule < x.at + x.bytes; i++)
        if (!write_one(s, &x, i, data)) return false;
    return true;
}
