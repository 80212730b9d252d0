/* candidates.c: the layouts worth trying for a tile whose layout nothing fixes. */
#include "layout/plan.h"

/* -- One partition ----------------------------------------------------------------------------- */

/* Hands out strides of the three thread spaces in order. */
struct builder {
    struct layout l;
    int32_t next[SPACE_COUNT];
};

static void take(struct builder *b, int axis, enum space space, int32_t radix) {
    struct layout_axis *a = &b->l.axis[axis];
    if (radix <= 1) return;
    a->digit[a->count++] = (struct digit){radix, b->next[space], (uint8_t)space};
    b->next[space] *= radix;
}

static struct builder builder_new(int rank, const int32_t *extent) {
    struct builder b = {.next = {1, 1, 1, 1}};
    b.l.rank = rank;
    for (int i = 0; i < rank; i++) b.l.axis[i].extent = extent[i];
    return b;
}

static int32_t divide_up(int32_t a, int32_t b) { return (a + b - 1) / b; }

struct layout split_layout(int rank, const int32_t *extent, const struct split *s) {
    struct builder b = builder_new(rank, extent);
    if (rank) take(&b, s->fast, SPACE_REG, s->vector);
    for (int i = 0; i < rank; i++) {
        int axis = i == 0 ? s->fast : rank - i - (rank - i <= s->fast ? 1 : 0);
        int32_t vector = axis == s->fast ? s->vector : 1;
        take(&b, axis, SPACE_LANE, s->lanes[axis]);
        take(&b, axis, SPACE_WARP, s->warps[axis]);
        take(&b, axis, SPACE_REG,
             divide_up(extent[axis], vector * s->lanes[axis] * s->warps[axis]));
    }
    return layout_canonical(&b.l);
}

/* -- All partitions ---------------------------------------------------------------------------- */

static int32_t power_up(int32_t n) {
    int32_t p = 1;
    while (p < n) p *= 2;
    return p;
}

/* The largest divisor of n up to `limit`. */
static int32_t divisor_up_to(int32_t n, int32_t limit) {
    for (int32_t d = limit < n ? limit : n; d > 1; d--)
        if (n % d == 0) return d;
    return 1;
}

/* Spreads the lanes and warps that `fast` does not take over the other axes, fastest first. */
static void spread(struct split *s, int rank, const int32_t *extent, int32_t lanes, int32_t warps) {
    int last = s->fast;
    for (int a = rank - 1; a >= 0; a--) {
        if (a == s->fast) continue;
        int32_t room = power_up(extent[a]);
        s->lanes[a] = lanes < room ? lanes : room;
        lanes /= s->lanes[a];
        s->warps[a] = divisor_up_to(warps, divide_up(extent[a], s->lanes[a]));
        warps /= s->warps[a];
        last = a;
    }
    s->lanes[last] *= lanes;
    s->warps[last] *= warps;
}

static double places(int rank, const int32_t *extent, const struct split *s) {
    double n = 1;
    for (int a = 0; a < rank; a++) {
        int32_t step = (a == s->fast ? s->vector : 1) * s->lanes[a] * s->warps[a];
        n *= (double)divide_up(extent[a], step) * step;
    }
    return n;
}

static uint64_t hash_of(const struct layout *l) {
    uint64_t hash = (uint64_t)l->reps;
    for (int a = 0; a < l->rank; a++)
        for (int i = 0; i < l->axis[a].count; i++) {
            const struct digit *d = &l->axis[a].digit[i];
            hash = (hash ^ (uint64_t)d->radix << 32 ^ (uint64_t)d->stride << 4 ^ d->space) *
                   0x9e3779b97f4a7c15u;
        }
    return hash;
}

void add_candidate(struct plan *p, struct candidates *c, const struct layout *l) {
    uint64_t hash = hash_of(l);
    for (int i = 0; i < c->layouts.count; i++)
        if (c->hashes.at[i] == hash && layout_equal(&c->layouts.at[i], l)) return;
    vec_push(p->arena, &c->layouts, *l);
    vec_push(p->arena, &c->hashes, hash);
}

struct sweep {
    struct plan *p;
    struct candidates *out;
    int rank;
    const int32_t *extent;
    double fewest;  /* places of the tightest partition */
    bool measuring; /* first round: find `fewest` only */
};

static void consider(struct sweep *w, const struct split *s) {
    double n = places(w->rank, w->extent, s);
    if (w->measuring) {
        if (w->fewest <= 0 || n < w->fewest) w->fewest = n;
        return;
    }
    if (n > 2 * w->fewest) return;
    struct layout l = split_layout(w->rank, w->extent, s);
    add_candidate(w->p, w->out, &l);
}

static void sweep_axis(struct sweep *w, int fast) {
    int32_t extent = w->extent[fast];
    for (int32_t vector = 1; vector <= 16; vector *= 2) {
        if (extent % vector) break;
        int32_t rest = extent / vector;
        for (int32_t lanes = power_up(rest < 32 ? rest : 32); lanes >= 1; lanes /= 2)
            for (int32_t warps = 1; warps <= w->p->warps; warps++) {
                if (w->p->warps % warps || warps > divide_up(rest, lanes)) continue;
                struct split s = {.fast = fast, .vector = vector};
                for (int a = 0; a < TILE_RANK; a++) s.lanes[a] = s.warps[a] = 1;
                s.lanes[fast] = lanes;
                s.warps[fast] = warps;
                spread(&s, w->rank, w->extent, 32 / lanes, w->p->warps / warps);
                consider(w, &s);
            }
    }
}

void add_partitions(struct plan *p, struct candidates *c, int rank, const int32_t *extent,
                    unsigned fast) {
    if (rank == 0) {
        struct builder b = builder_new(0, extent);
        b.l.reps = p->warps > 1 ? 2 : 1;
        b.l.rep[0] = (struct digit){32, 1, SPACE_LANE};
        if (p->warps > 1) b.l.rep[1] = (struct digit){p->warps, 1, SPACE_WARP};
        b.l = layout_canonical(&b.l);
        add_candidate(p, c, &b.l);
        return;
    }
    struct sweep w = {.p = p, .out = c, .rank = rank, .extent = extent, .measuring = true};
    for (int a = 0; a < rank; a++)
        if (fast & (1u << a)) sweep_axis(&w, a);
    w.measuring = false;
    for (int a = 0; a < rank; a++)
        if (fast & (1u << a)) sweep_axis(&w, a);
}

/* -- Extensions of a slice --------------------------------------------------------------------- */

/* The axes that the slice lacks take over its copies: lanes and warps that hold the same element
 * of the slice hold different elements of the tile. */
static bool extend(struct builder *b, const struct layout *slice, const int *axis, int fast,
                   int32_t vector) {
    int32_t left = divide_up(b->l.axis[fast].extent, vector);
    take(b, fast, SPACE_REG, vector);
    for (int i = 0; i < slice->reps; i++) {
        struct digit d = slice->rep[i];
        if (d.space == SPACE_REG) return false;
        if (left <= 1 || b->l.axis[fast].count + 2 >= LAYOUT_DIGITS) {
            b->l.rep[b->l.reps++] = d;
            continue;
        }
        b->l.axis[fast].digit[b->l.axis[fast].count++] = d;
        left = divide_up(left, d.radix);
    }
    take(b, fast, SPACE_REG, left);
    for (int a = 0; a < b->l.rank; a++) {
        bool held = false;
        for (int k = 0; k < slice->rank; k++) held |= axis[k] == a;
        if (!held && a != fast) take(b, a, SPACE_REG, b->l.axis[a].extent);
    }
    for (int k = 0; k < slice->rank; k++) {
        b->l.axis[axis[k]] = slice->axis[k];
        for (int i = 0; i < slice->axis[k].count; i++)
            if (slice->axis[k].digit[i].space == SPACE_REG)
                b->l.axis[axis[k]].digit[i].stride *= b->next[SPACE_REG];
    }
    return true;
}

/* Axes of the fragment that the tile lacks: what lies along them are copies. */
static struct layout without_axes(const struct layout *l, const int *axis, int *kept) {
    struct layout out = *l;
    int count = 0;
    for (int k = l->rank - 1; k >= 0; k--)
        if (axis[k] < 0) out = layout_drop(&out, k);
    for (int k = 0; k < l->rank; k++)
        if (axis[k] >= 0) kept[count++] = axis[k];
    return out;
}

void add_extensions(struct plan *p, struct candidates *c, const struct layout *fragment,
                    const int *axes, const struct domain *tile) {
    int fast = -1, axis[TILE_RANK];
    const struct layout slice = without_axes(fragment, axes, axis);
    for (int a = 0; a < tile->rank; a++) {
        bool held = false;
        for (int k = 0; k < slice.rank; k++) held |= axis[k] == a;
        if (!held && tile->extent[a] > 1) fast = a;
    }
    if (fast < 0) return;
    for (int32_t vector = 1; vector <= 8 && tile->extent[fast] % vector == 0; vector *= 2) {
        struct builder b = builder_new(tile->rank, tile->extent);
        if (!extend(&b, &slice, axis, fast, vector)) return;
        for (int k = 0; k < slice.rank; k++) b.l.axis[axis[k]].extent = tile->extent[axis[k]];
        const char *why;
        if (!layout_valid(&b.l, &why)) continue;
        b.l = layout_canonical(&b.l);
        add_candidate(p, c, &b.l);
    }
}
