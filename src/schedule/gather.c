/* gather.c: MAPs that load: each iteration works out one element of a shared tile from tensors.
 *
 * What no copy says (windows of an image, rows that a list names, a mask beside the data) is a
 * T.Parallel over the tile. It may run ahead of the iteration that reads the tile like a copy, and
 * is cut in two like a plain one: values into a fragment first, the stores into the slot later. */
#include "internal.h"

/* -- Which MAPs ----------------------------------------------------------------------------------
 */

struct filling {
    struct buffer *to; /* the tile; NULL before the first store */
    const struct domain *domain;
    int axis[TILE_RANK]; /* of the domain, for each of the tile's */
    bool fits, loads;
};

static int axis_of(const struct domain *d, const struct expr *e) {
    for (int i = 0; i < d->rank; i++)
        if (e->kind == EXPR_VAR && e->var == d->axis[i]) return i;
    return -1;
}

/* One element an iteration, each of another: the indices are the axes of the domain. */
static void note_store(struct filling *f, const struct stmt *s) {
    unsigned used = 0;
    bool first = !f->to;
    if (first) f->to = s->store.buffer;
    f->fits &= s->store.buffer == f->to && f->to->scope == SCOPE_SHARED && !f->to->alias &&
               s->store.count == f->domain->rank;
    for (int i = 0; i < s->store.count && f->fits; i++) {
        int axis = axis_of(f->domain, s->store.index[i]);
        f->fits &= axis >= 0 && !(used >> axis & 1) && (first || f->axis[i] == axis);
        if (!f->fits) return;
        used |= 1u << axis;
        f->axis[i] = axis;
    }
}

/* Does every way through the statements store? Notes in f what else they do. */
static bool always_stores(struct filling *f, const struct block *b) {
    bool stored = false;
    for (const struct stmt *s = b->first; s && f->fits; s = s->next) {
        if (s->kind == STMT_STORE) {
            note_store(f, s);
            stored = true;
        } else if (s->kind == STMT_IF) {
            bool then = always_stores(f, &s->branch.then);
            stored |= always_stores(f, &s->branch.otherwise) && then;
        } else if (s->kind != STMT_LET || s->let.var->kind != VAR_LET) {
            f->fits = false;
        }
    }
    return stored;
}

static void note_read(const struct access *a, void *data) {
    struct filling *f = data;
    if (a->kind != ACCESS_READ) return;
    f->fits &= a->buffer->scope == SCOPE_GLOBAL;
    f->loads = true;
}

bool map_fills(struct module *m, const struct stmt *s, struct region *to) {
    struct filling f = {.domain = &s->map.domain, .fits = true};
    if (s->kind != STMT_MAP || layout_is_none(&s->map.domain.layout)) return false;
    if (!always_stores(&f, &s->map.body) || !f.fits) return false;
    stmt_buffers(m, s, note_read, &f);
    if (!f.fits || !f.loads) return false;
    *to = region_whole(m, f.to);
    for (int i = 0; i < f.to->rank; i++) to->extent[i] = f.domain->extent[f.axis[i]];
    return true;
}

/* -- In two parts --------------------------------------------------------------------------------
 */

static void find_target(struct stmt *s, void *data) {
    const struct buffer **b = data;
    if (s->kind == STMT_STORE) *b = s->store.buffer;
}

const struct buffer *map_target(struct stmt *map) {
    const struct buffer *b = NULL;
    block_walk(&map->map.body, find_target, &b);
    return b;
}

struct turning { /* stores to the slot become stores to the fragment */
    struct module *m;
    const struct domain *domain;
    struct buffer *fragment;
    struct region to;      /* the slot, as the stores name it */
    struct copy_axes axes; /* fragment -> slot */
};

static void turn_store(struct stmt *s, void *data) {
    struct turning *t = data;
    if (s->kind != STMT_STORE) return;
    t->to = region_whole(t->m, s->store.buffer);
    for (int i = 0; i < s->store.count; i++) {
        int axis = axis_of(t->domain, s->store.index[i]);
        t->to.extent[i] = axis < 0 ? 1 : t->domain->extent[axis];
        if (axis < 0)
            t->to.base[i] = s->store.index[i];
        else
            t->axes.dst[axis] = i;
    }
    s->store.buffer = t->fragment;
    s->store.count = t->domain->rank;
    for (int i = 0; i < s->store.count; i++)
        s->store.index[i] = expr_var(t->m->exprs, t->domain->axis[i]);
}

struct stmt *map_cut(struct module *m, struct stmt *map, struct buffer *fragment) {
    struct turning t = {m, &map->map.domain, fragment, .axes = {.rank = map->map.domain.rank}};
    for (int i = 0; i < t.axes.rank; i++) t.axes.src[i] = i;
    block_walk(&map->map.body, turn_store, &t);
    struct region all = region_whole(m, fragment);
    return schedule_copy(m, map->span, &all, &t.to, &t.axes);
}
