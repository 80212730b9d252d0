/* clone.c: copies of statements: renamed, with variables replaced, or a COPY written as its MAP. */
#include "ir/tile.h"

/* -- replacing variables
 * --------------------------------------------------------------------------- */
struct replacement {
    struct module *m;
    int count;
    struct var *const *from;
    struct expr *const *to;
};

static void replace_expression(struct expr **e, void *data) {
    const struct replacement *r = data;
    *e = expr_substitute(r->m->exprs, *e, r->count, r->from, r->to);
}

static void replace_statement(struct stmt *s, void *data) {
    stmt_expressions(s, replace_expression, data);
}

void block_substitute(struct module *m, struct block *b, int count, struct var *const *from,
                      struct expr *const *to) {
    struct replacement r = {m, count, from, to};
    if (count) block_walk(b, replace_statement, &r);
}

/* -- cloning
 * --------------------------------------------------------------------------------------- */
struct cloning {
    struct module *m;
    VEC(struct var *) from;
    VEC(struct expr *) to;
};

static struct var *renamed(struct cloning *c, struct var *v) {
    if (!v || v->kind == VAR_MUTABLE) return v;
    struct var *w = var_like(c->m->exprs, v);
    vec_push(c->m->arena, &c->from, v);
    vec_push(c->m->arena, &c->to, expr_var(c->m->exprs, w));
    return w;
}

static void rename_axes(struct cloning *c, struct domain *d) {
    for (int i = 0; i < d->rank; i++) d->axis[i] = renamed(c, d->axis[i]);
}

static struct block clone_block(struct cloning *c, const struct block *b);

static struct stmt *clone_stmt(struct cloning *c, const struct stmt *s) {
    struct stmt *n = stmt_new(c->m, s->kind, s->span);
    *n = *s;
    switch (s->kind) {
    case STMT_FOR:
        n->loop.var = renamed(c, s->loop.var);
        n->loop.body = clone_block(c, &s->loop.body);
        break;
    case STMT_WHILE: n->repeat.body = clone_block(c, &s->repeat.body); break;
    case STMT_IF:
        n->branch.then = clone_block(c, &s->branch.then);
        n->branch.otherwise = clone_block(c, &s->branch.otherwise);
        break;
    case STMT_LET: n->let.var = renamed(c, s->let.var); break;
    case STMT_ATOMIC: n->atomic.previous = renamed(c, s->atomic.previous); break;
    case STMT_MAP:
        rename_axes(c, &n->map.domain);
        n->map.body = clone_block(c, &s->map.body);
        break;
    case STMT_COPY: rename_axes(c, &n->copy.domain); break;
    default: break;
    }
    return n;
}

static struct block clone_block(struct cloning *c, const struct block *b) {
    struct block out = {0};
    for (const struct stmt *s = b->first; s; s = s->next) block_append(&out, clone_stmt(c, s));
    return out;
}

struct block block_clone(struct module *m, const struct block *b) {
    struct cloning c = {.m = m};
    struct block out = clone_block(&c, b);
    block_substitute(m, &out, c.from.count, c.from.at, c.to.at);
    return out;
}

void loop_set_unrolled(struct module *m, struct stmt *loop, bool unrolled) {
    struct var *from = loop->loop.var;
    if (from->unrolled == unrolled) return;
    loop->loop.var = var_like(m->exprs, from);
    loop->loop.var->unrolled = unrolled;
    block_substitute(m, &loop->loop.body, 1, &from,
                     (struct expr *[]){expr_var(m->exprs, loop->loop.var)});
}

/* -- COPY as MAP
 * ----------------------------------------------------------------------------------- */
/* The element of region r that iteration (axes of d) means; `axis_of` maps domain axes to its. */
static void element_index(struct module *m, const struct region *r, const struct domain *d,
                          const int32_t *axis_of, struct expr **index) {
    for (int i = 0; i < r->buffer->rank; i++) index[i] = r->base[i];
    for (int k = 0; k < d->rank; k++) {
        int32_t i = axis_of[k];
        if (i >= 0)
            index[i] = expr_binary(m->exprs, FN_ADD, index[i], expr_var(m->exprs, d->axis[k]));
    }
}

/* That the index lies in the buffer, as far as it is not proven. Accesses to tensors need none. */
static struct expr *inside(struct module *m, const struct buffer *b, struct expr *const *index) {
    struct exprs *x = m->exprs;
    struct expr *all = expr_bool(x, true);
    for (int i = 0; i < b->rank && b->scope != SCOPE_GLOBAL; i++) {
        struct expr *low = expr_binary(x, FN_LE, expr_index(x, 0), index[i]);
        struct expr *high = expr_binary(x, FN_LT, index[i], expr_index(x, b->extent[i]));
        all = expr_binary(x, FN_LAND, all, expr_binary(x, FN_LAND, low, high));
    }
    return all;
}

static struct stmt *under(struct module *m, struct expr *test, struct stmt *s) {
    int64_t known;
    if (expr_is_int(test, &known) && known) return s;
    struct stmt *branch = stmt_new(m, STMT_IF, s->span);
    branch->branch.test = test;
    block_append(&branch->branch.then, s);
    return branch;
}

static struct expr *zero_of(struct module *m, enum dtype t) {
    return dtype_is_float(t) ? expr_float(m->exprs, 0, t) : expr_int(m->exprs, 0, t);
}

struct stmt *copy_as_map(struct module *m, const struct stmt *copy) {
    const struct region *src = &copy->copy.src, *dst = &copy->copy.dst;
    struct expr *from[TILE_RANK], *to[TILE_RANK];
    struct stmt *map = stmt_new(m, STMT_MAP, copy->span);
    map->why = copy->why;
    map->map.domain = copy->copy.domain;
    element_index(m, src, &map->map.domain, copy->copy.src_axis, from);
    element_index(m, dst, &map->map.domain, copy->copy.dst_axis, to);
    struct stmt *store = stmt_new(m, STMT_STORE, copy->span);
    struct expr *value = expr_load(m->exprs, src->buffer, src->buffer->rank, from);
    value =
        expr_select(m->exprs, inside(m, src->buffer, from), value, zero_of(m, src->buffer->dtype));
    store->store.buffer = dst->buffer;
    store->store.count = dst->buffer->rank;
    for (int i = 0; i < dst->buffer->rank; i++) store->store.index[i] = to[i];
    store->store.value = expr_cast(m->exprs, value, dst->buffer->dtype);
    struct expr *test = inside(m, dst->buffer, to);
    if (copy->copy.guard) test = expr_binary(m->exprs, FN_LAND, copy->copy.guard, test);
    block_append(&map->map.body, under(m, test, store));
    return map;
}
