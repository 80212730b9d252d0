/* quads.c: accumulators to 16-bit global memory by 16-byte stores.
 *
 * Of an accumulator row a lane holds two neighbouring columns in each of several tiles, and four
 * lanes hold a tile. Before the store they trade words, a 4x4 transposition in two steps of
 * exchanges between lanes, after which each lane holds eight neighbouring columns of one tile. */
#include "internal.h"

enum { TILES = 4 };

struct quads {
    struct stmt *store;
    struct plan held, wide; /* who holds the elements, who stores them */
    struct domain wide_domain;
    int tile;            /* loop of `held` that is the tile in a group of four */
    int32_t lane_stride; /* of the lanes that hold a tile */
    bool fits;
};

/* [2@reg:1 4@lane:s … 4n@reg:r …]: pairs of columns, the lanes of a tile, tiles. */
static bool find_digits(const struct domain *d, int axis, struct layout_axis *cut, int *tile) {
    const struct layout_axis *a = &d->layout.axis[axis];
    int j;

    if (a->count < 3 || a->digit[0].space != SPACE_REG || a->digit[0].radix != 2 ||
        a->digit[1].space != SPACE_LANE || a->digit[1].radix != 4)
        return false;
    for (j = 2; j < a->count; j++)
        if (a->digit[j].space == SPACE_REG && a->digit[j].radix % TILES == 0) break;
    *cut = *a;
    *tile = j;
    return j < a->count && a->count < LAYOUT_DIGITS;
}

/* The domain after the exchange: the lanes of a tile and the tiles of a group change places. */
static void exchange_digits(struct quads *q, const struct domain *d, int axis,
                            const struct layout_axis *cut, int tile) {
    struct layout_axis *a = &q->wide_domain.layout.axis[axis];
    struct digit lanes = cut->digit[1];
    int i, j;

    q->wide_domain = *d;
    *a = *cut;
    if (a->digit[tile].radix > TILES) {
        for (j = a->count++; j > tile + 1; j--) a->digit[j] = a->digit[j - 1];
        a->digit[tile + 1] = a->digit[tile];
        a->digit[tile + 1].radix /= TILES;
        a->digit[tile + 1].stride *= TILES;
    }
    a->digit[tile] = lanes;
    for (i = 0; i < d->rank; i++)
        for (j = 0; j < q->wide_domain.layout.axis[i].count; j++)
            if (q->wide_domain.layout.axis[i].digit[j].space == SPACE_REG)
                q->wide_domain.layout.axis[i].digit[j].stride *= TILES;
    a->digit[0] = (struct digit){2 * TILES, 1, SPACE_REG};
    for (j = 1; j + 1 < a->count; j++) a->digit[j] = a->digit[j + 1];
    a->count--;
    q->lane_stride = lanes.stride;
}

/* In the plan of who holds what, the loop over a group's four tiles stands by itself. */
static bool find_tile_loop(struct quads *q, int axis, int64_t weight) {
    struct plan *p = &q->held;
    int i, j;

    for (i = 0; i < p->loops; i++)
        if (p->loop[i].axis == axis && p->loop[i].weight == weight) break;
    if (i == p->loops || p->loops == LOOPS) return false;
    if (p->loop[i].radix > TILES) {
        for (j = p->loops++; j > i; j--) p->loop[j] = p->loop[j - 1];
        p->loop[i].radix /= TILES;
        p->loop[i].weight *= TILES;
        p->loop[i].stride *= TILES;
        i++;
        p->loop[i].radix = TILES;
    }
    q->tile = i;
    return true;
}

/* The loops around are those of the stores; the reads take their variables. */
static void share_loops(struct quads *q) {
    int i, j;

    for (i = 0; i < q->held.loops; i++)
        for (j = 0; j < q->wide.loops; j++)
            if (q->held.loop[i].axis == q->wide.loop[j].axis &&
                q->held.loop[i].weight == q->wide.loop[j].weight && i != q->tile)
                q->held.loop[i].value = q->wide.loop[j].value;
}

static struct expr *tile_word(struct lowering *l, struct quads *q, int32_t tile) {
    struct expr *value = q->store->store.value, *pair[2];
    struct group g = {.plan = &q->held, .count = 2};
    struct site s = {&q->held, 0, NULL};
    int known = l->loaded.count;
    int32_t e;

    q->held.loop[q->tile].value = ix(l, tile);
    for (e = 0; e < 2; e++) g.env[e] = plan_env(l, &q->held, e);
    group_loads(l, &g, value);
    for (e = 0; e < 2; e++) {
        s.element = e;
        s.env = g.env[e];
        pair[e] =
            value_cast(l, value_lower(l, &s, value), value->dtype, q->store->store.buffer->dtype);
    }
    l->loaded.count = known;
    return value_pack(l, pair, q->store->store.buffer->dtype);
}

static struct expr *choose(struct lowering *l, struct expr *test, struct expr *a, struct expr *b) {
    return expr_select(l->x, test, a, b);
}

/* Lanes that differ in one bit trade words a and b: the upper lane gives a, the lower gives b. */
static void trade(struct lowering *l, struct array *w, int32_t a, int32_t b, struct expr *upper,
                  int32_t lanes) {
    struct expr *wa = element(l, w, ix(l, a)), *wb = element(l, w, ix(l, b)), *got;
    struct expr *args[2] = {choose(l, upper, wa, wb), expr_int(l->x, lanes, DTYPE_U32)};

    got = expr_op(l->x, FN_SHUFFLE_XOR, DTYPE_U32, 2, args);
    got = expr_var(l->x, add_var(l, "got", DTYPE_U32, got));
    add_put(l, w, ix(l, a), choose(l, upper, got, wa));
    add_put(l, w, ix(l, b), choose(l, upper, wb, got));
}

static struct expr *lane_bit(struct lowering *l, int32_t stride) {
    struct field f = {.kind = FIELD_LANE, .radix = 2, .stride = stride};

    return expr_binary(l->x, FN_EQ, field_value(l, &f), ix(l, 1));
}

static void store_group(struct lowering *l, struct plan *p, void *data) {
    struct quads *q = data;
    enum dtype t = q->store->store.buffer->dtype;
    struct group g = {.plan = p, .count = 2 * TILES};
    struct expr *values[2 * TILES];
    struct kblock *saved = NULL;
    struct vector v;
    struct array *w;
    int32_t i;

    share_loops(q);
    for (i = 0; i < g.count; i++) g.env[i] = plan_env(l, p, i);
    v = vector_of(l, &g, q->store->store.buffer, q->store->store.index);
    q->fits &= v.width == 2 * TILES;
    if (!q->fits) return;
    w = add_array(l, "quad", DTYPE_U32, t, TILES);
    for (i = 0; i < TILES; i++) add_put(l, w, ix(l, i), tile_word(l, q, i));
    trade(l, w, 0, 1, lane_bit(l, q->lane_stride), q->lane_stride);
    trade(l, w, 2, 3, lane_bit(l, q->lane_stride), q->lane_stride);
    trade(l, w, 0, 2, lane_bit(l, 2 * q->lane_stride), 2 * q->lane_stride);
    trade(l, w, 1, 3, lane_bit(l, 2 * q->lane_stride), 2 * q->lane_stride);
    for (i = 0; i < 2 * TILES; i++) values[i] = value_part(l, w, ix(l, i / 2), i % 2);
    if (p->inside) saved = add_if(l, p->inside);
    vector_store(l, &v, values);
    if (p->inside) out_leave(l, saved);
}

/* Loops that would choose the part of a packed word that is read are unrolled. */
static void unroll_parts(struct lowering *l, struct quads *q) {
    struct block body = {q->store, q->store};
    int i, j;

    plan_expand(l, &q->held, &body);
    for (i = 0; i < q->held.loops; i++)
        for (j = 0; j < q->wide.loops && i != q->tile; j++)
            if (q->held.loop[i].axis == q->wide.loop[j].axis &&
                q->held.loop[i].weight == q->wide.loop[j].weight)
                q->wide.loop[j].expanded |= q->held.loop[i].expanded;
}

/* Every lane must take part in the exchange, so padding along other axes is fine, owners are not.
 */
static bool quads_make(struct lowering *l, const struct domain *d, struct stmt *store,
                       struct quads *q) {
    struct layout_axis cut;
    int64_t weight = 1;
    int axis, tile, j;

    *q = (struct quads){.store = store, .fits = true};
    plan_make(l, &q->held, d, 2);
    axis = q->held.axis;
    if (axis < 0 || q->held.vector != 2 || q->held.owner || !find_digits(d, axis, &cut, &tile))
        return false;
    if (cut.digit[1].stride & (cut.digit[1].stride - 1)) return false;
    for (j = 0; j < tile; j++) weight *= cut.digit[j].radix;
    exchange_digits(q, d, axis, &cut, tile);
    plan_make(l, &q->wide, &q->wide_domain, 2 * TILES);
    if (q->wide.axis != axis || q->wide.vector != 2 * TILES || !find_tile_loop(q, axis, weight))
        return false;
    unroll_parts(l, q);
    return true;
}

static bool is_candidate(const struct lowering *l, const struct stmt *store) {
    const struct buffer *b = store->store.buffer;

    return b->scope == SCOPE_GLOBAL && dtype_bits(b->dtype) == 16 &&
           expr_has_load(store->store.value) && l->k->threads >= 32;
}

bool store_quads(struct lowering *l, const struct domain *d, struct stmt *store) {
    struct kblock *saved = l->out, *branch = NULL, scratch = {NULL, NULL};
    struct block body = {store, store};
    int facts = l->facts.count;
    struct expr *test;
    struct quads q;
    bool possible;

    if (l->main_loop || !is_candidate(l, store) || !quads_make(l, d, store, &q)) return false;
    test = bounds_uniform(l, d, &body, &possible);
    l->out = &scratch;
    if (possible) nest_run(l, &(struct nest){&q.wide, 0, q.wide.loops, store_group, &q});
    l->out = saved;
    l->facts.count = facts;
    if (!possible || !q.fits) return false;
    if (test) branch = add_if(l, test);
    block_splice(l->out, &scratch);
    if (test) {
        add_else(l, branch);
        l->main_loop++;
        lower_map(l, d, &body);
        l->main_loop--;
        out_leave(l, branch);
    }
    return true;
}
