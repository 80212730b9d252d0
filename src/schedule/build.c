/* build.c: statements that several passes of the schedule make, and index arithmetic. */
#include "internal.h"

struct expr *index_of(struct module *m, int64_t value) {
    return expr_index(m->exprs, value);
}

struct expr *index_sum(struct module *m, struct expr *a, struct expr *b) {
    return expr_binary(m->exprs, FN_ADD, a, b);
}

struct expr *index_times(struct module *m, struct expr *a, int64_t factor) {
    return expr_binary(m->exprs, FN_MUL, a, index_of(m, factor));
}

struct stmt *build_wait(struct module *m, struct span span, int groups) {
    struct stmt *s = stmt_new(m, STMT_WAIT, span);
    s->wait.groups = groups;
    return s;
}

struct stmt *build_let(struct module *m, struct span span, struct var *v, struct expr *value) {
    struct stmt *s = stmt_new(m, STMT_LET, span);
    s->let.var = v;
    s->let.value = value;
    return s;
}

struct stmt *build_set(struct module *m, struct span span, struct var *v, struct expr *value) {
    struct stmt *s = stmt_new(m, STMT_SET, span);
    s->let.var = v;
    s->let.value = value;
    return s;
}

/* -- Domains ----------------------------------------------------------------------------------- */

struct domain build_domain(struct module *m, int rank, const int32_t *extent,
                           const struct layout *layout) {
    static const char *const names[TILE_RANK] = {"i", "j", "u", "v", "w", "x"};
    struct domain d = {.rank = rank, .layout = *layout};
    for (int i = 0; i < rank; i++) {
        struct sym *name = intern_text(m->names, names[i]);
        d.axis[i] = var_new(m->exprs, VAR_AXIS, name, DTYPE_INDEX, (struct span){0, 0});
        d.axis[i]->lo = 0;
        d.axis[i]->hi = extent[i] - 1;
        d.axis[i]->divisor = 1;
        d.extent[i] = extent[i];
    }
    return d;
}

/* The part of a fragment's layout that its axes `axes` make, with the extents of the region. */
static struct layout layout_of_axes(const struct region *r, int rank, const int *axes) {
    struct layout l = r->buffer->layout;
    int kept[TILE_RANK], count = 0;
    for (int i = 0; i < l.rank; i++) kept[count++] = i;
    for (int i = count - 1; i >= 0; i--) {
        bool used = false;
        for (int j = 0; j < rank; j++) used |= axes[j] == i;
        if (used) continue;
        l = layout_drop(&l, i);
        for (int j = i; j + 1 < count; j++) kept[j] = kept[j + 1];
        count--;
    }
    int order[TILE_RANK];
    for (int j = 0; j < rank; j++)
        for (int i = 0; i < count; i++)
            if (kept[i] == axes[j]) order[j] = i;
    l = layout_permute(&l, order);
    for (int j = 0; j < rank; j++) l.axis[j].extent = r->extent[axes[j]];
    return l;
}

struct stmt *schedule_copy(struct module *m, struct span span, const struct region *src,
                           const struct region *dst, const struct copy_axes *axes) {
    struct stmt *s = stmt_new(m, STMT_COPY, span);
    s->copy.src = *src;
    s->copy.dst = *dst;
    int32_t extent[TILE_RANK];
    for (int i = 0; i < axes->rank; i++) {
        s->copy.src_axis[i] = axes->src[i];
        s->copy.dst_axis[i] = axes->dst[i];
        extent[i] = dst->extent[axes->dst[i]];
    }
    struct layout l = dst->buffer->scope == SCOPE_FRAGMENT
                          ? layout_of_axes(dst, axes->rank, axes->dst)
                          : layout_of_axes(src, axes->rank, axes->src);
    s->copy.domain = build_domain(m, axes->rank, extent, &l);
    return s;
}

/* base <= axis < base + extent for each axis that the region cuts; NULL: it cuts none. */
static struct expr *inside(struct module *m, const struct domain *d, const struct region *r,
                           const int *axes) {
    struct expr *all = NULL;
    for (int i = 0; i < d->rank; i++) {
        int a = axes[i];
        if (r->extent[a] == r->buffer->extent[a]) continue;
        struct expr *x = expr_var(m->exprs, d->axis[i]);
        struct expr *high = index_sum(m, r->base[a], index_of(m, r->extent[a]));
        struct expr *both =
            expr_binary(m->exprs, FN_LAND, expr_binary(m->exprs, FN_LE, r->base[a], x),
                        expr_binary(m->exprs, FN_LT, x, high));
        all = all ? expr_binary(m->exprs, FN_LAND, all, both) : both;
    }
    return all;
}

static struct expr *zero_of(struct module *m, enum dtype t) {
    return dtype_is_float(t) ? expr_float(m->exprs, 0.0, t) : expr_int(m->exprs, 0, t);
}

static bool only_registers(const struct layout_axis *a) {
    for (int i = 0; i < a->count; i++)
        if (a->digit[i].space != SPACE_REG) return false;
    return true;
}

/* Leading axes that only choose registers (slots) are addressed by the region's base; the others
 * are walked whole, with a test where the region is a part of them. */
struct stmt *build_zero(struct module *m, struct span span, const struct region *r) {
    struct buffer *b = r->buffer;
    int axes[TILE_RANK], rank = 0;
    int32_t extent[TILE_RANK];
    struct region walked = *r;
    for (int i = 0; i < b->rank; i++) {
        if (r->extent[i] == 1 && i + 2 < b->rank && only_registers(&b->layout.axis[i])) continue;
        walked.base[i] = index_of(m, 0);
        walked.extent[i] = extent[rank] = b->extent[i];
        axes[rank++] = i;
    }
    struct stmt *s = stmt_new(m, STMT_MAP, span);
    struct layout l = layout_of_axes(&walked, rank, axes);
    s->map.domain = build_domain(m, rank, extent, &l);
    struct stmt *store = stmt_new(m, STMT_STORE, span);
    store->store.buffer = b;
    store->store.count = b->rank;
    store->store.value = zero_of(m, b->dtype);
    for (int i = 0; i < b->rank; i++) store->store.index[i] = r->base[i];
    for (int i = 0; i < rank; i++)
        store->store.index[axes[i]] = expr_var(m->exprs, s->map.domain.axis[i]);
    struct expr *test = inside(m, &s->map.domain, r, axes);
    if (test) {
        struct stmt *branch = stmt_new(m, STMT_IF, span);
        branch->branch.test = test;
        block_append(&branch->branch.then, store);
        store = branch;
    }
    block_append(&s->map.body, store);
    return s;
}

/* -- Loops ------------------------------------------------------------------------------------- */

int64_t loop_trip(const struct stmt *loop) {
    int64_t distance;
    if (!affine_difference(loop->loop.hi, loop->loop.lo, &distance)) return -1;
    int64_t step = loop->loop.step;
    if (step < 0) {
        step = -step;
        distance = -distance;
    }
    if (distance <= 0) return 0;
    return distance / step + (distance % step != 0);
}

struct var *build_counter(struct module *m, const char *name, int slots, struct span span) {
    struct var *v = var_new(m->exprs, VAR_MUTABLE, module_name(m, name), DTYPE_INDEX, span);
    v->lo = 0;
    v->hi = slots - 1;
    v->divisor = 1;
    return v;
}

struct expr *counter_next(struct module *m, struct var *v, int slots) {
    struct expr *x = expr_var(m->exprs, v);
    if (slots == 2) return expr_binary(m->exprs, FN_SUB, index_of(m, 1), x);
    struct expr *last = expr_binary(m->exprs, FN_EQ, x, index_of(m, slots - 1));
    return expr_select(m->exprs, last, index_of(m, 0), index_sum(m, x, index_of(m, 1)));
}

/* -- Questions --------------------------------------------------------------------------------- */

const struct buffer *buffer_storage(const struct buffer *b) {
    while (b->alias) b = b->alias;
    return b;
}

bool block_holds(const struct block *b, const struct stmt *s) {
    for (const struct stmt *x = b->first; x; x = x->next)
        if (stmt_holds(x, s)) return true;
    return false;
}

bool stmt_holds(const struct stmt *outer, const struct stmt *s) {
    if (outer == s) return true;
    if (outer->kind == STMT_FOR) return block_holds(&outer->loop.body, s);
    if (outer->kind == STMT_WHILE) return block_holds(&outer->repeat.body, s);
    if (outer->kind != STMT_IF) return false;
    return block_holds(&outer->branch.then, s) || block_holds(&outer->branch.otherwise, s);
}

struct binding {
    const struct expr *e;
    bool bound;
};

static void find_binding(struct stmt *s, void *data) {
    struct binding *b = data;
    const struct var *v = NULL;
    if (s->kind == STMT_FOR) v = s->loop.var;
    if (s->kind == STMT_LET || s->kind == STMT_SET) v = s->let.var;
    if (s->kind == STMT_ATOMIC) v = s->atomic.previous;
    if (v && expr_uses_var(b->e, v)) b->bound = true;
}

bool block_binds(struct block *b, const struct expr *e) {
    struct binding found = {.e = e};
    block_walk(b, find_binding, &found);
    return found.bound;
}
