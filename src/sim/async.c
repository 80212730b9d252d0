/* async.c: cp.async: copies that arrive when the program must wait for them, or at once.
 *
 * From the copy to the wait nobody may touch the bytes; at the wait they count as written by the
 * thread that asked, so the others need a barrier behind it. */
#include "sim/internal.h"
#include <string.h>

static void arrive(struct machine *s, const struct transfer *t) {
    memset(s->shared + t->to, 0, (size_t)t->bytes);
    if (t->source_bytes) memcpy(s->shared + t->to, t->from, (size_t)t->source_bytes);
    memset(s->shared_known + t->to, 1, (size_t)t->bytes);
}

static void mark(struct machine *s, const struct transfer *t, int32_t pending) {
    int32_t granule = s->program->granule;
    for (int64_t i = t->to / granule; i * granule < t->to + t->bytes; i++)
        shadow_at(s, &s->shadows, i)->pending = pending;
}

struct requests { /* of one copy statement */
    struct request from, to;
};

static bool copy_lane(struct machine *s, const struct step *p, int l, struct requests *r) {
    const struct kstmt *st = p->st;
    int32_t bytes = st->cp_async.bytes;
    struct transfer t = {
        .bytes = bytes, .source_bytes = bytes, .group = -1, .lane = l, .step = s->step};
    if (p->value[2] != NO_SLOT)
        t.source_bytes = (int32_t)lanes_of(s, p->value[2])[p->uniform[2] ? 0 : l].i;
    if (t.source_bytes < 0 || t.source_bytes > bytes) {
        sim_fail(s, SIM_OUTSIDE, l, "an asynchronous copy of %d bytes reads %d", bytes,
                 t.source_bytes);
        return false;
    }
    int64_t to = lanes_of(s, p->value[0])[p->uniform[0] ? 0 : l].i;
    int64_t from = lanes_of(s, p->value[1])[p->uniform[1] ? 0 : l].i;
    const struct area *source = &s->spaces[st->cp_async.from.buffer->id];
    uint8_t *at = memory_at(s, &st->cp_async.to, to, bytes, l);
    if (!at) return false;
    if (from * source->element % bytes) {
        sim_fail(s, SIM_MISALIGNED, l, "an asynchronous copy of %d bytes from element %lld of '%s'",
                 bytes, (long long)from, st->cp_async.from.buffer->name->text);
        return false;
    }
    if (t.source_bytes) {
        int64_t first = from * source->element;
        if (first < 0 || first + t.source_bytes > source->bytes) {
            sim_fail(s, SIM_OUTSIDE, l,
                     "an asynchronous copy reads %d bytes at element %lld of tensor '%s', which "
                     "has %lld bytes",
                     t.source_bytes, (long long)from, st->cp_async.from.buffer->name->text,
                     (long long)source->bytes);
            return false;
        }
        t.from = source->data + first;
        r->from.at[l] = first;
        r->from.lanes |= 1u << l;
        struct touch x = touch_of(s, &st->cp_async.from, t.from, t.source_bytes, l);
        if (x.in && !shadow_read(s, x)) return false;
    }
    t.to = (int32_t)(at - s->shared);
    r->to.at[l] = t.to;
    r->to.lanes |= 1u << l;
    if (!shadow_write(s, (struct touch){&s->shadows, t.to, bytes, l}, NULL)) return false;
    memset(s->shared_known + t.to, 0, (size_t)bytes);
    memset(s->shared + t.to, 0xff, (size_t)bytes);
    mark(s, &t, s->step + 1);
    if (s->options->early) arrive(s, &t);
    vec_push(s->arena, &s->warp->transfers, t);
    return true;
}

void async_copy(struct machine *s, const struct step *p) {
    static const char *const what[] = {
        "the target of an asynchronous copy", "the source of an asynchronous copy",
        "the size of an asynchronous copy", "the guard of an asynchronous copy"};
    for (int i = 3; i >= 0; i--)
        if (p->value[i] != NO_SLOT && !sim_needs(s, p->value[i], p->uniform[i], what[i])) return;
    int32_t bytes = p->st->cp_async.bytes;
    struct requests r = {.from = {.bytes = bytes}, .to = {.bytes = bytes}};
    for (uint32_t left = s->warp->active; left; left &= left - 1) {
        int l = first_lane(left);
        if (p->value[3] != NO_SLOT && !lanes_of(s, p->value[3])[p->uniform[3] ? 0 : l].i) continue;
        if (!copy_lane(s, p, l, &r)) return;
    }
    request_count(s, &r.from, p->st->cp_async.from.buffer);
    request_count(s, &r.to, p->st->cp_async.to.buffer);
}

static bool whole_warp(struct machine *s, const char *what) {
    if (s->warp->active == FULL_MASK) return true;
    sim_fail(s, SIM_UNSUPPORTED, first_lane(s->warp->active), "%s that only some lanes reach",
             what);
    return false;
}

void async_commit(struct machine *s) {
    struct warp *w = s->warp;
    if (!whole_warp(s, "a commit")) return;
    for (int i = w->transfers.count - 1; i >= 0 && w->transfers.at[i].group < 0; i--) {
        w->transfers.at[i].group = w->groups;
        s->ran[s->step] = true;
    }
    w->groups++;
}

/* The data is there, written by the lane that asked. */
static void complete(struct machine *s, const struct transfer *t) {
    int32_t granule = s->program->granule, step = s->step;
    mark(s, t, 0);
    if (!s->options->early) arrive(s, t);
    s->step = t->step;
    for (int64_t i = t->to / granule; i * granule < t->to + t->bytes; i++) {
        struct shadow *h = shadow_at(s, &s->shadows, i);
        h->write_clock = s->warp->clock;
        h->write_warp = (uint8_t)s->warp->id;
        h->write_lane = (uint8_t)t->lane;
        h->write_step = t->step;
        h->atomic = false;
    }
    s->step = step;
}

void async_wait(struct machine *s, int32_t groups) {
    struct warp *w = s->warp;
    int kept = 0;
    if (!whole_warp(s, "a wait")) return;
    for (int i = 0; i < w->transfers.count; i++) {
        struct transfer t = w->transfers.at[i];
        if (t.group >= 0 && t.group < w->groups - groups)
            complete(s, &t);
        else
            w->transfers.at[kept++] = t;
    }
    s->ran[s->step] |= kept < w->transfers.count;
    w->transfers.count = kept;
}

void async_end(struct machine *s) {
    struct warp *w = s->warp;
    if (!w->transfers.count) return;
    const struct transfer *t = &w->transfers.at[0];
    int32_t step = t->step;
    s->step = step;
    sim_fail(s, SIM_IN_FLIGHT, t->lane,
             "the kernel ends while this asynchronous copy may still write");
}
