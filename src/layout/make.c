/* make.c: new buffers, copies and maps, with the domains they need. */
#include "layout/plan.h"

static const char *const AXIS_NAMES[TILE_RANK] = {"i", "j", "k", "l", "p", "q"};

struct var *new_axis(struct plan *p, int number, int32_t extent, struct span span) {
    struct sym *name = intern_text(p->m->names, AXIS_NAMES[number]);
    struct var *v = var_new(p->m->exprs, VAR_AXIS, name, DTYPE_INDEX, span);
    v->lo = 0;
    v->hi = extent - 1;
    v->divisor = 1;
    return v;
}

struct buffer *new_buffer(struct plan *p, enum scope scope, const char *base,
                          const struct buffer *like) {
    struct sym *name = module_name(p->m, base);
    struct buffer *b =
        buffer_new(p->m, p->f, p->k, scope, name, like->dtype, like->rank, like->extent);
    b->span = like->span;
    b->annotation = b->layout = layout_none();
    b->scratch = scope == SCOPE_SHARED;
    return b;
}

/* A fragment of the box's extents; a unit axis in front of the last two is left out. */
struct buffer *new_fragment(struct plan *p, const char *base, const struct region *box,
                            int least_rank) {
    int32_t extent[TILE_RANK];
    int rank = 0, drop = box->buffer->rank - least_rank;
    for (int k = 0; k < box->buffer->rank; k++)
        if (k >= drop || box->extent[k] != 1) extent[rank++] = box->extent[k];
    struct buffer *b = buffer_new(p->m, p->f, p->k, SCOPE_FRAGMENT, module_name(p->m, base),
                                  box->buffer->dtype, rank, extent);
    b->span = box->buffer->span;
    b->annotation = b->layout = layout_none();
    return b;
}

struct stmt *new_copy(struct plan *p, const struct region *src, const struct region *dst,
                      struct span span) {
    struct stmt *s = stmt_new(p->m, STMT_COPY, span);
    struct domain *d = &s->copy.domain;
    s->copy.src = *src;
    s->copy.dst = *dst;
    d->layout = layout_none();
    int n = 0;
    for (int k = 0; k < src->buffer->rank; k++)
        if (src->extent[k] != 1) {
            d->extent[d->rank] = src->extent[k];
            d->axis[d->rank] = new_axis(p, d->rank, src->extent[k], span);
            s->copy.src_axis[d->rank++] = k;
        }
    for (int k = 0; k < dst->buffer->rank; k++)
        if (dst->extent[k] != 1) s->copy.dst_axis[n++] = k;
    return s;
}

struct stmt *copy_whole(struct plan *p, struct buffer *from, struct buffer *to, struct span span) {
    struct region src = region_whole(p->m, from), dst = region_whole(p->m, to);
    return new_copy(p, &src, &dst, span);
}

/* A MAP over all elements of `like`, its body empty. */
struct stmt *new_map(struct plan *p, const struct buffer *like, struct span span) {
    struct stmt *s = stmt_new(p->m, STMT_MAP, span);
    struct domain *d = &s->map.domain;
    d->rank = like->rank;
    d->layout = layout_none();
    for (int a = 0; a < like->rank; a++) {
        d->extent[a] = like->extent[a];
        d->axis[a] = new_axis(p, a, like->extent[a], span);
    }
    return s;
}

void domain_indices(struct plan *p, const struct domain *d, struct expr **index) {
    for (int a = 0; a < d->rank; a++) index[a] = expr_var(p->m->exprs, d->axis[a]);
}

struct stmt *new_store(struct plan *p, struct buffer *b, struct expr *const *index,
                       struct expr *value, struct span span) {
    struct stmt *s = stmt_new(p->m, STMT_STORE, span);
    s->store.buffer = b;
    s->store.count = b->rank;
    for (int k = 0; k < b->rank; k++) s->store.index[k] = index[k];
    s->store.value = value;
    return s;
}

bool has_unit_axis(const struct buffer *b) {
    for (int k = 0; k < b->rank; k++)
        if (b->extent[k] == 1) return true;
    return false;
}

/* A whole buffer to another of its shape; as a MAP where unit axes have to be told apart. */
struct stmt *copy_shaped(struct plan *p, struct buffer *from, struct buffer *to, struct span span) {
    if (!has_unit_axis(from)) return copy_whole(p, from, to, span);
    struct stmt *map = new_map(p, from, span);
    struct expr *index[TILE_RANK];
    domain_indices(p, &map->map.domain, index);
    struct expr *value = expr_load(p->m->exprs, from, from->rank, index);
    value = expr_cast(p->m->exprs, value, to->dtype);
    block_append(&map->map.body, new_store(p, to, index, value, span));
    return map;
}

void put_before(struct site *s, struct stmt *new_stmt) {
    block_insert_before(s->block, s->stmt, new_stmt);
}

void put_after(struct site *s, struct stmt *new_stmt) {
    block_insert_after(s->block, s->stmt, new_stmt);
}
