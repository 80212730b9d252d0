/* parallel.c: T.Parallel becomes MAPs.
 *
 * The body is built once with an axis variable a loop variable. Perfectly nested T.Parallel loops
 * become more axes of one MAP; others become MAPs of their own where nothing but memory connects
 * them with the statements around, else a serial loop of each iteration. An extent
 * that is known at run time only becomes that of the tile indexed by the axis, or of its known
 * bound, with a guard; otherwise a serial loop over chunks. */
#include "sema/builder.h"

enum { PADDED = 1024, CHUNK = 4 }; /* iterations worth guarding; elements of a thread in a chunk */

struct stmt *map_new(struct sema *s, struct domain domain, struct span span) {
    struct stmt *map = append(s, STMT_MAP, span);
    map->map.domain = domain;
    return map;
}

/* -- Nested loops --------------------------------------------------------------------------------
 */
static bool is_inner(const struct parallel *p, const struct stmt *st) {
    for (int i = 0; i < p->inner.count; i++)
        if (p->inner.at[i] == st) return true;
    return false;
}

static bool may_fuse(struct parallel *p, struct block *body) {
    struct stmt *st = body->first;
    if (!st || st != body->last || !is_inner(p, st) || p->rank >= 5) return false;
    if (expr_has_load(st->loop.hi) || expr_uses_kind(st->loop.hi, VAR_MUTABLE)) return false;
    for (int i = 0; i < p->rank; i++)
        if (expr_uses_var(st->loop.hi, p->axis[i].var)) return false;
    return true;
}

static struct var *axis_var(struct sema *s, struct sym *name, struct expr *extent,
                            struct span span) {
    struct var *v = var_new(s->exprs, VAR_AXIS, name, DTYPE_INDEX, span);
    v->lo = 0;
    if (extent->hi != INT64_MAX) v->hi = extent->hi > 0 ? extent->hi - 1 : 0;
    v->divisor = v->hi == 0 ? 0 : 1;
    return v;
}

static void fuse_inner(struct sema *s, struct parallel *p, struct block *body) {
    while (may_fuse(p, body)) {
        struct stmt *st = body->first;
        struct axis *a = &p->axis[p->rank++];
        a->extent = st->loop.hi;
        a->var = axis_var(s, st->loop.var->name, a->extent, st->span);
        struct expr *to = expr_var(s->exprs, a->var);
        *body = st->loop.body;
        block_substitute(s->module, body, 1, &st->loop.var, &to);
    }
}

/* -- Run-time extents ----------------------------------------------------------------------------
 */
struct bound_search {
    struct expr *axis;
    int64_t bound; /* 0: none */
};

static void meet_bound(struct bound_search *b, const struct buffer *buffer, int count,
                       struct expr *const *index) {
    if (buffer->scope == SCOPE_GLOBAL) return;
    for (int i = 0; i < count; i++)
        if (index[i] == b->axis && (!b->bound || buffer->extent[i] < b->bound))
            b->bound = buffer->extent[i];
}

/* What is evaluated only under a condition bounds nothing. */
static void search_expr(const struct expr *e, struct bound_search *b) {
    bool lazy = e->kind == EXPR_SELECT;
    if (e->kind == EXPR_OP) lazy = e->fn == FN_LAND || e->fn == FN_LOR;
    if (e->kind == EXPR_LOAD) meet_bound(b, e->buffer, e->count, e->args);
    for (int i = 0; i < (lazy ? 1 : e->count); i++) search_expr(e->args[i], b);
}

static void visit_expr(struct expr **e, void *data) {
    if (*e) search_expr(*e, data);
}

static void search_body(const struct block *body, struct bound_search *b) {
    for (struct stmt *st = body->first; st; st = st->next) {
        if (st->kind == STMT_STORE)
            meet_bound(b, st->store.buffer, st->store.count, st->store.index);
        stmt_expressions(st, visit_expr, b);
    }
}

/* A tile indexed by the axis is in bounds by contract, so its extent bounds the loop. */
static int64_t padded_extent(struct sema *s, struct block *body, const struct axis *a) {
    struct bound_search b = {expr_var(s->exprs, a->var), 0};
    search_body(body, &b);
    if (!b.bound && a->extent->hi > 0 && a->extent->hi <= PADDED) b.bound = a->extent->hi;
    return b.bound;
}

static void rename_axis(struct sema *s, struct block *body, struct var *from, struct expr *to) {
    block_substitute(s->module, body, 1, &from, &to);
}

static void guard(struct sema *s, struct block *body, struct expr *e, struct expr *extent,
                  struct span span) {
    struct block inside = *body;
    *body = (struct block){NULL, NULL};
    wrap_if(s, expr_binary(s->exprs, FN_LT, e, extent), span, body)->branch.then = inside;
}

static struct stmt *outer_loop(struct sema *s, const struct axis *a, struct expr *hi,
                               struct block **into, struct span span) {
    struct stmt *loop = serial_loop(s, *into, a->var->name->text, 1, span);
    loop->loop.hi = hi;
    loop->loop.var->hi = hi->hi == INT64_MAX ? INT64_MAX : hi->hi > 0 ? hi->hi - 1 : 0;
    loop->loop.var->divisor = 1;
    *into = &loop->loop.body;
    return loop;
}

/* Gives axis i a constant extent; loops that this needs are opened in *into. An axis that became a
 * serial loop altogether has extent 0. */
static int32_t settle_axis(struct sema *s, struct parallel *p, int i, struct block **into,
                           bool *chunked) {
    struct block *body = &p->map->map.body;
    struct axis *a = &p->axis[i];
    struct span span = p->map->span;
    struct exprs *x = s->exprs;
    int64_t n;
    if (expr_is_int(a->extent, &n)) return (int32_t)n;
    if ((n = padded_extent(s, body, a)) > 0) {
        struct var *tight = axis_var(s, a->var->name, expr_index(x, n), span);
        rename_axis(s, body, a->var, expr_var(x, tight));
        guard(s, body, expr_var(x, tight), a->extent, span);
        a->var = tight;
        return (int32_t)n;
    }
    if (*chunked) {
        struct stmt *loop = outer_loop(s, a, a->extent, into, span);
        rename_axis(s, body, a->var, expr_var(x, loop->loop.var));
        return 0;
    }
    *chunked = true;
    int32_t chunk = CHUNK * s->kernel->threads;
    struct expr *size = expr_index(x, chunk);
    struct expr *up = expr_binary(x, FN_ADD, a->extent, expr_index(x, chunk - 1));
    struct stmt *loop = outer_loop(s, a, expr_binary(x, FN_FLOORDIV, up, size), into, span);
    struct var *within = axis_var(s, a->var->name, size, span);
    struct expr *start = expr_binary(x, FN_MUL, expr_var(x, loop->loop.var), size);
    struct expr *e = expr_binary(x, FN_ADD, start, expr_var(x, within));
    rename_axis(s, body, a->var, e);
    guard(s, body, e, a->extent, span);
    a->var = within;
    return chunk;
}

static void finish_map(struct sema *s, struct parallel *p) {
    struct stmt *map = p->map;
    struct block *into = s->block;
    bool chunked = false;
    fuse_inner(s, p, &map->map.body);
    map->map.domain.layout = layout_none();
    int32_t extent[TILE_RANK];
    int64_t total = 1;
    for (int i = p->rank - 1; i >= 0; i--) extent[i] = settle_axis(s, p, i, &into, &chunked);
    struct domain *d = &map->map.domain;
    for (int i = 0; i < p->rank; i++) {
        if (!extent[i]) continue;
        d->axis[d->rank] = p->axis[i].var;
        d->extent[d->rank++] = extent[i];
        total = total > INT32_MAX ? total : total * extent[i];
    }
    if (total > INT32_MAX)
        sema_error(s, map->span, E0404, "this T.Parallel has more than %d iterations a block",
                   INT32_MAX);
    block_append(into, map);
}

/* -- Parts ----------------------------------------------------------------------------------------
 */
/* Statements whose results other parts of the body may use: then the body stays one MAP. */
static bool binds_nothing(const struct stmt *st) {
    switch (st->kind) {
    case STMT_STORE: return st->store.buffer->scope != SCOPE_LOCAL;
    case STMT_ATOMIC: return !st->atomic.previous;
    case STMT_FOR:
    case STMT_IF:
    case STMT_PRINT:
    case STMT_ASSERT: return true;
    default: return false;
    }
}

static void search_private(struct stmt *st, void *data) {
    bool *found = data;
    if (st->kind == STMT_SET) *found = true;
    if (st->kind == STMT_STORE && st->store.buffer->scope == SCOPE_LOCAL) *found = true;
}

static bool may_split(const struct parallel *p, struct block *body) {
    bool inner = false, private = false;
    for (struct stmt *st = body->first; st; st = st->next) {
        if (!binds_nothing(st)) return false;
        inner |= is_inner(p, st);
    }
    block_walk(body, search_private, &private);
    return inner && body->first != body->last && !private;
}

/* The same axes anew, for a MAP of its own. */
static struct parallel part_new(struct sema *s, const struct parallel *p) {
    struct parallel part = *p;
    part.map = stmt_new(s->module, STMT_MAP, p->map->span);
    for (int i = 0; i < p->rank; i++)
        part.axis[i].var = axis_var(s, p->axis[i].var->name, p->axis[i].extent, p->map->span);
    return part;
}

static void finish_part(struct sema *s, const struct parallel *p, struct block statements) {
    struct parallel part = part_new(s, p);
    part.map->map.body = statements;
    for (int i = 0; i < p->rank; i++)
        rename_axis(s, &part.map->map.body, p->axis[i].var, expr_var(s->exprs, part.axis[i].var));
    finish_map(s, &part);
}

/* Iterations are independent, so each inner T.Parallel may run as a MAP of its own, between those
 * of the statements around it. */
static void finish(struct sema *s, struct parallel *p) {
    struct block *body = &p->map->map.body;
    if (!may_split(p, body)) {
        finish_map(s, p);
        return;
    }
    struct stmt *st = body->first, *next;
    while (st) {
        struct block part = {NULL, NULL};
        bool inner = is_inner(p, st);
        do {
            next = st->next;
            st->next = NULL;
            block_append(&part, st);
            st = next;
        } while (st && !inner && !is_inner(p, st));
        finish_part(s, p, part);
    }
}

/* -- The loop ------------------------------------------------------------------------------------
 */
static void inner_for(struct sema *s, struct env *e, const struct ast_stmt *loop,
                      const struct loop_form *form) {
    struct block *into = s->block;
    struct stmt *made[TILE_RANK];
    struct value target = bind_loops(s, form, &into, made);
    for (int i = 0; i < form->rank; i++) vec_push(s->arena, &s->tile->parallel->inner, made[i]);
    int32_t loops = s->tile->loops;
    s->tile->loops = 0;
    struct env *inner = region_open(s, ENV_LOOP, e, into, loop->span);
    assign_target(s, inner, loop->loop.target, target);
    exec_block(s, inner, loop->loop.body);
    region_close(s, inner);
    s->tile->loops = loops;
}

static bool may_open(struct sema *s, const struct loop_form *form, struct span span, bool *empty) {
    *empty = false;
    for (int i = 0; i < form->rank; i++) {
        int64_t n;
        if (!expr_is_int(form->hi[i], &n)) continue;
        *empty |= n <= 0;
        if (n > INT32_MAX) {
            sema_error(s, span, E0404, "extent %lld of T.Parallel exceeds %d", (long long)n,
                       INT32_MAX);
            return false;
        }
    }
    if (!s->tile->parallel && s->tile->divergent) {
        sema_error(
            s, span, E0411,
            "'T.Parallel' needs all %d threads of the block, but only some threads come here",
            s->kernel->threads);
        return false;
    }
    return true;
}

static void outer_for(struct sema *s, struct env *e, const struct ast_stmt *loop,
                      const struct loop_form *form) {
    struct parallel p = {.map = stmt_new(s->module, STMT_MAP, loop->span), .rank = form->rank};
    struct value item[TILE_RANK];
    for (int i = 0; i < form->rank; i++) {
        p.axis[i].extent = form->hi[i];
        p.axis[i].var = axis_var(s, form->name[i], form->hi[i], loop->span);
        item[i] = value_ir(expr_var(s->exprs, p.axis[i].var));
    }
    int32_t loops = s->tile->loops;
    s->tile->loops = 0;
    s->tile->parallel = &p;
    s->map = p.map;
    struct env *inner = region_open(s, ENV_LOOP, e, &p.map->map.body, loop->span);
    assign_target(s, inner, loop->loop.target,
                  form->rank == 1 ? item[0] : value_sequence(s, VALUE_TUPLE, form->rank, item));
    exec_block(s, inner, loop->loop.body);
    region_close(s, inner);
    s->map = NULL;
    s->tile->parallel = NULL;
    s->tile->loops = loops;
    if (p.map->map.body.first) finish(s, &p);
}

void parallel_for(struct sema *s, struct env *e, const struct ast_stmt *loop,
                  const struct loop_form *form) {
    bool empty;
    if (!may_open(s, form, loop->span, &empty) || empty) return;
    if (s->tile->parallel)
        inner_for(s, e, loop, form);
    else
        outer_for(s, e, loop, form);
}
