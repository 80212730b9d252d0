/* combine.c: lanes that hold copies of a result share the reads that make it.
 *
 * A reduction across warps ends in a MAP that combines one value a warp, read from shared memory,
 * as a balanced tree. The layout of its result often has copies in neighbouring lanes; where each
 * of them would read everything, and that is much, each reads its part instead and a butterfly of
 * shuffles does the rest: the tree that was asked for, with fewer reads and registers. */
#include "internal.h"

enum { LEAST_READS = 64 }; /* a thread; below, the reads are few and shuffles take longer */

struct tree {
    enum function fn;
    struct buffer *buffer;
    struct expr *first; /* the load of element 0 */
    int axis;           /* along which the loads step */
    int32_t loads;
};

/* Is it the read of element `at` along the axis? */
static bool is_leaf(struct tree *t, const struct expr *e, int32_t at) {
    int64_t index;

    if (e->kind != EXPR_LOAD || e->buffer != t->buffer) return false;
    for (int i = 0; i < e->count; i++)
        if (i != t->axis && e->args[i] != t->first->args[i]) return false;
    return expr_is_int(e->args[t->axis], &index) && index == at;
}

static bool is_tree(struct tree *t, const struct expr *e, int32_t at, int32_t count) {
    if (count == 1) return is_leaf(t, e, at);
    return e->kind == EXPR_OP && e->fn == t->fn && e->count == 2 &&
           is_tree(t, e->args[0], at, count / 2) &&
           is_tree(t, e->args[1], at + count / 2, count / 2);
}

static bool find_tree(struct tree *t, struct expr *e) {
    int64_t index;

    *t = (struct tree){.fn = e->fn, .axis = -1, .loads = 1};
    for (t->first = e; t->first->kind == EXPR_OP && t->first->fn == t->fn;
         t->first = t->first->args[0])
        if (t->loads < 1024) t->loads *= 2;
    if (t->first->kind != EXPR_LOAD) return false;
    t->buffer = t->first->buffer;
    for (int i = 0; i < t->first->count; i++)
        if (expr_is_int(t->first->args[i], &index) && t->buffer->extent[i] == t->loads) t->axis = i;
    return t->axis >= 0 && t->buffer->scope == SCOPE_SHARED && t->loads > 1 &&
           is_tree(t, e, 0, t->loads);
}

/* The other indices are the axes of the domain in their order, each over the whole buffer. */
static bool reads_whole(const struct tree *t, const struct domain *d) {
    int at = 0;

    for (int i = 0; i < t->buffer->rank; i++) {
        if (i == t->axis) continue;
        if (at >= d->rank || t->first->args[i]->kind != EXPR_VAR ||
            t->first->args[i]->var != d->axis[at] || d->extent[at] != t->buffer->extent[i])
            return false;
        at++;
    }
    return at == d->rank && t->buffer->rank == d->rank + 1;
}

static bool stores_whole(const struct stmt *s, const struct domain *d) {
    if (s->store.count != d->rank || s->store.buffer->rank != d->rank) return false;
    for (int i = 0; i < d->rank; i++)
        if (s->store.index[i]->kind != EXPR_VAR || s->store.index[i]->var != d->axis[i] ||
            s->store.buffer->extent[i] != d->extent[i])
            return false;
    return layout_equal(&s->store.buffer->layout, &d->layout);
}

/* dst[…] op tree: what is left of the operand is the old value of the result. */
static struct expr *without_old(const struct stmt *s, struct expr *value) {
    const struct expr *old;

    if (value->kind != EXPR_OP || value->count != 2) return NULL;
    old = value->args[0];
    if (old->kind != EXPR_LOAD || old->buffer != s->store.buffer || old->count != s->store.count)
        return NULL;
    for (int i = 0; i < old->count; i++)
        if (old->args[i] != s->store.index[i]) return NULL;
    return value->args[1];
}

static bool reduction_of(enum function fn, struct stmt *r) {
    switch (fn) {
    case FN_ADD: r->reduce.op = REDUCE_SUM; return true;
    case FN_MAX: r->reduce.op = REDUCE_MAX; return true;
    case FN_MIN: r->reduce.op = REDUCE_MIN; return true;
    default: return false;
    }
}

static bool is_power(int32_t v) { return v > 0 && (v & (v - 1)) == 0; }

/* The digit of lanes that hold copies and are a power of two; -1: none. */
static int find_copies(const struct layout *y) {
    for (int i = 0; i < y->reps; i++)
        if (y->rep[i].space == SPACE_LANE && is_power(y->rep[i].radix) &&
            is_power(y->rep[i].stride))
            return i;
    return -1;
}

/* The layout of what is read: the result's with one more axis, a part of it in each of the lanes.
 */
static struct layout layout_shared(const struct layout *result, int axis, int32_t loads, int rep) {
    struct layout y = *result;
    struct digit copies = y.rep[rep];
    int32_t lanes = copies.radix < loads ? copies.radix : loads, each = loads / lanes;
    struct layout_axis *a;

    y.rep[rep].radix /= lanes;
    y.rep[rep].stride *= lanes;
    for (int i = y.rank++; i > axis; i--) y.axis[i] = y.axis[i - 1];
    for (int i = 0; i < y.rank; i++)
        for (int j = 0; i != axis && j < y.axis[i].count; j++)
            if (y.axis[i].digit[j].space == SPACE_REG) y.axis[i].digit[j].stride *= each;
    a = &y.axis[axis];
    *a = (struct layout_axis){.extent = loads, .count = 2};
    a->digit[0] = (struct digit){each, 1, SPACE_REG};
    a->digit[1] = (struct digit){lanes, copies.stride, SPACE_LANE};
    return layout_canonical(&y);
}

static struct buffer *fragment_like(struct lowering *l, const struct tree *t,
                                    const struct layout *y) {
    struct function_ir *f = l->k->function;
    int32_t count = f->buffer_count;
    struct buffer *b =
        buffer_new(l->m, f, l->k, SCOPE_FRAGMENT,
                   module_name(l->m, arena_printf(l->m->arena, "%s_part", t->buffer->name->text)),
                   t->buffer->dtype, t->buffer->rank, t->buffer->extent);

    l->k->buffers.count--; /* no part of the kernel */
    b->layout = *y;
    b->span = t->buffer->span;
    lower_grow(l, count);
    l->arrays[b->id] =
        add_array(l, b->name->text, b->dtype, b->dtype, (int32_t)layout_span(y, SPACE_REG));
    return b;
}

static struct stmt *copy_of(struct lowering *l, struct buffer *from, struct buffer *to,
                            struct span span) {
    struct stmt *c = stmt_new(l->m, STMT_COPY, span);
    struct domain *d = &c->copy.domain;

    c->copy.src = region_whole(l->m, from);
    c->copy.dst = region_whole(l->m, to);
    d->rank = to->rank;
    d->layout = to->layout;
    for (int i = 0; i < d->rank; i++) {
        d->extent[i] = to->extent[i];
        c->copy.src_axis[i] = c->copy.dst_axis[i] = i;
    }
    return c;
}

bool combine_lanes(struct lowering *l, struct stmt *map) {
    const struct domain *d = &map->map.domain;
    struct stmt *s = map->map.body.first, *r;
    struct expr *value, *rest;
    struct buffer *read;
    struct layout y;
    struct tree t;
    int rep;

    if (!s || s->next || s->kind != STMT_STORE || s->store.buffer->scope != SCOPE_FRAGMENT ||
        dtype_bits(s->store.buffer->dtype) != 32 || s->store.buffer->dtype == DTYPE_TF32)
        return false;
    value = s->store.value;
    rest = without_old(s, value);
    r = stmt_new(l->m, STMT_REDUCE, map->span);
    if (value->kind != EXPR_OP || !reduction_of(value->fn, r) ||
        !find_tree(&t, rest ? rest : value) || t.fn != value->fn ||
        t.buffer->dtype != s->store.buffer->dtype || !reads_whole(&t, d) || !stores_whole(s, d))
        return false;
    rep = find_copies(&d->layout);
    if (rep < 0 || d->layout.rep[rep].radix < 2 || d->rank + 1 >= TILE_RANK ||
        layout_span(&d->layout, SPACE_REG) * t.loads < LEAST_READS)
        return false;
    y = layout_shared(&d->layout, t.axis, t.loads, rep);
    read = fragment_like(l, &t, &y);
    lower_copy(l, copy_of(l, t.buffer, read, map->span));
    r->reduce.src = region_whole(l->m, read);
    r->reduce.dst = region_whole(l->m, s->store.buffer);
    r->reduce.axis = t.axis;
    r->reduce.clear = !rest;
    lower_reduce(l, r);
    l->k->function->buffer_count = read->id; /* it was for the two of them only */
    return true;
}
