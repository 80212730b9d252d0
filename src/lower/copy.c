/* copy.c: COPY: chooses the instruction; what no special one fits is the MAP that means the same.
 */
#include "internal.h"

static bool region_inside(struct lowering *l, const struct region *r) {
    int i;

    if (r->buffer->scope == SCOPE_GLOBAL) return true;
    for (i = 0; i < r->buffer->rank; i++)
        if (!expr_proves_le(l->x, ix(l, 0), r->base[i]) ||
            !expr_proves_le(l->x, plus(l, r->base[i], ix(l, r->extent[i])),
                            ix(l, r->buffer->extent[i])))
            return false;
    return true;
}

static void region_index(struct lowering *l, const struct region *r, const struct domain *d,
                         const int32_t *axis, struct expr **index) {
    int i, k;

    for (i = 0; i < r->buffer->rank; i++) {
        index[i] = r->base[i];
        for (k = 0; k < d->rank; k++)
            if (axis[k] == i) index[i] = plus(l, index[i], expr_var(l->x, d->axis[k]));
    }
}

struct stmt *copy_store(struct lowering *l, struct stmt *copy) {
    struct stmt *s = stmt_new(l->m, STMT_STORE, copy->span);
    struct domain *d = &copy->copy.domain;
    struct expr *index[TILE_RANK];
    int i;

    for (i = 0; i < d->rank; i++) {
        if (d->axis[i]) continue;
        d->axis[i] =
            var_new(l->x, VAR_AXIS, intern_text(l->m->names, "x"), DTYPE_INDEX, copy->span);
        d->axis[i]->lo = 0;
        d->axis[i]->hi = d->extent[i] - 1;
        d->axis[i]->divisor = 1;
    }
    region_index(l, &copy->copy.src, d, copy->copy.src_axis, index);
    s->store.value = expr_load(l->x, copy->copy.src.buffer, copy->copy.src.buffer->rank, index);
    s->store.value = expr_cast(l->x, s->store.value, copy->copy.dst.buffer->dtype);
    s->store.buffer = copy->copy.dst.buffer;
    s->store.count = s->store.buffer->rank;
    region_index(l, &copy->copy.dst, d, copy->copy.dst_axis, s->store.index);
    return s;
}

static void copy_plain(struct lowering *l, struct stmt *t) {
    struct block body = {NULL, NULL};
    struct stmt *map;

    if (!region_inside(l, &t->copy.src) || !region_inside(l, &t->copy.dst)) {
        map = copy_as_map(l->m, t);
        lower_map(l, &map->map.domain, &map->map.body);
        return;
    }
    block_append(&body, copy_store(l, t));
    lower_map(l, &t->copy.domain, &body);
}

static const struct buffer *loads_from(const struct expr *e) { /* the first that it reads */
    const struct buffer *b = e->kind == EXPR_LOAD ? e->buffer : NULL;
    int i;

    for (i = 0; i < e->count && !b; i++) b = loads_from(e->args[i]);
    return b;
}

static bool is_global(const struct expr *e) {
    int i;

    if (e->kind == EXPR_LOAD && e->buffer->scope != SCOPE_GLOBAL) return false;
    for (i = 0; i < e->count; i++)
        if (!is_global(e->args[i])) return false;
    return true;
}

static struct expr *read_first(struct lowering *l, struct site *s, struct expr *base) {
    struct stmt *let = stmt_new(l->m, STMT_LET, l->span);
    struct var *v = var_new(l->x, VAR_LET, loads_from(base)->name, base->dtype, l->span);

    v->lo = base->lo;
    v->hi = base->hi;
    v->divisor = base->divisor;
    let->let.var = v;
    let->let.value = base;
    lower_plain(l, s, let);
    return expr_var(l->x, v);
}

/* Where a region begins may stand in a tensor (the page of a cache, the rows of an expert): read
 * once in front of the copy and of its guard, since a read outside gives the safe value. */
static void place_first(struct lowering *l, struct site *s, struct region *r) {
    int i;

    for (i = 0; i < r->buffer->rank; i++)
        if (expr_has_load(r->base[i]) && is_global(r->base[i]))
            r->base[i] = read_first(l, s, r->base[i]);
}

void lower_copy(struct lowering *l, struct stmt *tile) {
    struct kblock *saved = NULL;
    struct stmt own = *tile, *t = &own; /* a loop may lower it again */
    struct site s = {.env = l->env};
    struct assumed before;
    bool special;

    place_first(l, &s, &t->copy.src);
    place_first(l, &s, &t->copy.dst);
    before = assume(l, t->copy.guard);
    special = region_inside(l, &t->copy.src) && region_inside(l, &t->copy.dst);
    if (!(t->copy.async && special && copy_async(l, t))) {
        if (t->copy.guard) saved = add_if(l, value_lower(l, &s, t->copy.guard));
        if (!(special && copy_matrix(l, t))) copy_plain(l, t);
        if (t->copy.guard) out_leave(l, saved);
    }
    assume_end(l, before);
}
