/* exchange.c: reductions whose axis is divided over warps.
 *
 * Each warp reduces its part to a partial fragment with one element a warp, stores it to scratch,
 * and every holder of a result combines the few partial values itself: one exchange, one barrier,
 * and the result may have any layout. Old contents of the result join there, once. */
#include "layout/plan.h"

static bool reduces_plainly(const struct layout *l, int axis) {
    int32_t parts, weight;
    return axis_warps(l, axis, &parts, &weight);
}

/* The source in the cheapest layout that a reduction can work on. */
static void relayout_source(struct plan *p, struct site *s) {
    struct buffer *src = s->stmt->reduce.src.buffer;
    struct candidates all = {0};
    add_partitions(p, &all, src->rank, src->extent, 1u << (src->rank - 1));
    int best = 0;
    for (int i = 1; i < all.layouts.count; i++)
        if (reduce_cost(p, &all.layouts.at[i], s->stmt->reduce.axis) <
            reduce_cost(p, &all.layouts.at[best], s->stmt->reduce.axis))
            best = i;
    struct buffer *t = new_buffer(p, SCOPE_FRAGMENT, src->name->text, src);
    t->layout = all.layouts.at[best];
    move_fragment(p, s, src, t, true);
    s->stmt->reduce.src.buffer = t;
}

/* The result in the layout that falls out of the source's. */
static void detach_result(struct plan *p, struct site *s, const struct layout *natural) {
    struct stmt *r = s->stmt;
    struct buffer *dst = r->reduce.dst.buffer;
    struct buffer *t = new_buffer(p, SCOPE_FRAGMENT, dst->name->text, dst);
    t->layout = *natural;
    if (!r->reduce.clear) move_fragment(p, s, dst, t, true);
    move_fragment(p, s, t, dst, false);
    r->reduce.dst.buffer = t;
}

/* Combines elements [from, from + count) of the scratch's part axis as a balanced tree. */
struct tree {
    struct plan *p;
    struct buffer *scratch;
    struct expr *index[TILE_RANK];
    int axis;
    enum function fn;
};

static struct expr *combine(struct tree *t, int from, int count) {
    if (count == 1) {
        t->index[t->axis] = expr_index(t->p->m->exprs, from);
        return expr_load(t->p->m->exprs, t->scratch, t->scratch->rank, t->index);
    }
    struct expr *low = combine(t, from, count / 2);
    struct expr *high = combine(t, from + count / 2, count - count / 2);
    return expr_binary(t->p->m->exprs, t->fn, low, high);
}

static struct stmt *combine_map(struct plan *p, const struct stmt *r, struct buffer *dst,
                                struct buffer *scratch, int parts) {
    struct stmt *map = new_map(p, dst, r->span);
    struct tree t = {.p = p, .scratch = scratch, .axis = r->reduce.axis, .fn = reduce_function(r)};
    struct expr *index[TILE_RANK];
    domain_indices(p, &map->map.domain, index);
    bool unit = dst->rank == scratch->rank;
    for (int k = 0, from = 0; k < scratch->rank; k++)
        t.index[k] = k == t.axis && !unit ? NULL : index[from++];
    struct expr *value = combine(&t, 0, parts);
    if (!r->reduce.clear)
        value =
            expr_binary(p->m->exprs, t.fn, expr_load(p->m->exprs, dst, dst->rank, index), value);
    block_append(&map->map.body, new_store(p, dst, index, value, r->span));
    map->map.domain.layout = dst->layout;
    map->why = "combines what the warps reduced";
    return map;
}

static struct buffer *partial_buffer(struct plan *p, const struct stmt *r, int parts,
                                     enum scope scope) {
    const struct buffer *src = r->reduce.src.buffer, *dst = r->reduce.dst.buffer;
    struct buffer like = *src;
    like.dtype = dst->dtype;
    like.extent[r->reduce.axis] = parts;
    struct text name = text_new(p->arena);
    text_printf(&name, "%s_%s", dst->name->text, scope == SCOPE_SHARED ? "scratch" : "partial");
    struct buffer *b = new_buffer(p, scope, name.at, &like);
    b->span = dst->span;
    return b;
}

static void cross_warps(struct plan *p, struct site *s, int32_t parts, int32_t weight) {
    struct stmt *r = s->stmt;
    struct buffer *dst = r->reduce.dst.buffer;
    struct buffer *partial = partial_buffer(p, r, parts, SCOPE_FRAGMENT);
    struct buffer *scratch = partial_buffer(p, r, parts, SCOPE_SHARED);
    partial->layout = partial_layout(&r->reduce.src.buffer->layout, r->reduce.axis, parts);
    put_after(s, combine_map(p, r, dst, scratch, parts));
    put_after(s, store_copy(p, partial, scratch, r->span));
    diag_remark(p->m->diag, r->span, "layout",
                "'%s' is reduced by %d warps together: one exchange through shared memory",
                r->reduce.src.buffer->name->text, parts);
    r->reduce.dst = region_whole(p->m, partial);
    r->reduce.parts = parts;
    r->reduce.part_weight = weight;
    r->reduce.clear = true;
    r->why = "each warp's part";
}

void exchange(struct plan *p, struct site *s) {
    struct stmt *r = s->stmt;
    if (r->reduce.src.buffer->scope != SCOPE_FRAGMENT) return;
    if (!reduces_plainly(&r->reduce.src.buffer->layout, r->reduce.axis)) relayout_source(p, s);
    const struct layout *src = &r->reduce.src.buffer->layout;
    struct buffer *dst = r->reduce.dst.buffer;
    int32_t parts, weight;
    axis_warps(src, r->reduce.axis, &parts, &weight);
    if (parts > 1) {
        cross_warps(p, s, parts, weight);
        return;
    }
    struct layout l = reduced_layout(src, r->reduce.axis, dst->rank == r->reduce.src.buffer->rank);
    if (!layout_equal(&l, &dst->layout)) detach_result(p, s, &l);
}
