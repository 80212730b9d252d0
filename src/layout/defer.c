/* defer.c: a reduction that only accumulates over a loop moves behind it.
 *
 *   for …: reduce(x, s, clear=False)      becomes      a = identity
 *                                                      for …: a = a op x
 *                                                      reduce(a, s, clear=False)
 *
 * where nothing else in the loop touches s. Each thread keeps its own partial results, so the
 * shuffles, and the exchange between warps where there is one, happen once. The order of a
 * reduction is nobody's promise, and sums of partial sums are the more accurate ones. */
#include "layout/plan.h"
#include <math.h>

enum { BYTES_A_THREAD = 128 };

struct user {
    const struct buffer *b;
    int uses;
};

static void count_use(const struct access *a, void *data) {
    struct user *u = data;
    u->uses += a->buffer == u->b;
}

/* Accesses of b in the statement; a merging REDUCE itself makes two. */
static int uses_in(struct plan *p, const struct stmt *s, const struct buffer *b) {
    struct user u = {b, 0};
    stmt_accesses(p->m, s, count_use, &u);
    return u.uses;
}

/* Merging what a reduction begins with changes what was there: fmax(NaN, -inf) is -inf, and the
 * largest absolute value begins with zero. Then it has to be known that it runs. */
static bool begins_anew(const struct stmt *r) {
    bool real = dtype_is_float(r->reduce.dst.buffer->dtype);
    if (r->reduce.op == REDUCE_ABSMAX) return true;
    return real && !r->reduce.nan && (r->reduce.op == REDUCE_MAX || r->reduce.op == REDUCE_MIN);
}

static void find_leave(struct stmt *s, void *data) {
    bool *found = data;
    *found |= s->kind == STMT_BREAK || s->kind == STMT_CONTINUE;
}

static bool surely_runs(struct stmt *loop) {
    bool leaves = false;
    block_walk(&loop->loop.body, find_leave, &leaves);
    return !leaves && loop->loop.lo->hi < loop->loop.hi->lo;
}

static bool may_defer(struct plan *p, struct stmt *loop, const struct stmt *r) {
    const struct buffer *src = r->reduce.src.buffer, *dst = r->reduce.dst.buffer;
    int64_t lo, hi;
    if (r->reduce.clear || src->scope != SCOPE_FRAGMENT || dst->scope != SCOPE_FRAGMENT)
        return false;
    if (!region_is_whole(&r->reduce.src) || !region_is_whole(&r->reduce.dst)) return false;
    if (buffer_elements(src) * dtype_bytes(dst->dtype) > (int64_t)BYTES_A_THREAD * p->k->threads)
        return false;
    if (expr_is_int(loop->loop.lo, &lo) && expr_is_int(loop->loop.hi, &hi) &&
        hi - lo <= loop->loop.step)
        return false;
    if (begins_anew(r) && !surely_runs(loop)) return false;
    return uses_in(p, loop, dst) == uses_in(p, r, dst);
}

enum function reduce_function(const struct stmt *r) {
    bool nan = r->reduce.nan && dtype_is_float(r->reduce.dst.buffer->dtype);
    switch (r->reduce.op) {
    case REDUCE_SUM:
    case REDUCE_ABSSUM: return FN_ADD;
    case REDUCE_MAX:
    case REDUCE_ABSMAX: return nan ? FN_MAX_NAN : FN_MAX;
    case REDUCE_MIN: return nan ? FN_MIN_NAN : FN_MIN;
    case REDUCE_BITAND: return FN_AND;
    case REDUCE_BITOR: return FN_OR;
    case REDUCE_BITXOR: return FN_XOR;
    }
    return FN_ADD;
}

/* The least (or greatest) value of an integer type. */
static int64_t integer_end(enum dtype t, bool greatest) {
    int bits = dtype_bits(t);
    if (t == DTYPE_BOOL) return greatest;
    if (dtype_class_of(t) != CLASS_UINT) {
        uint64_t most = ~(uint64_t)0 >> (65 - bits);
        return greatest ? (int64_t)most : -(int64_t)most - 1;
    }
    return greatest ? (int64_t)(~(uint64_t)0 >> (64 - bits)) : 0;
}

/* What a reduction begins with. */
static struct expr *identity(struct plan *p, enum reduce_op op, enum dtype t) {
    struct exprs *x = p->m->exprs;
    bool ends = op == REDUCE_MAX || op == REDUCE_MIN;
    if (dtype_is_float(t))
        return expr_float(x,
                          !ends              ? 0
                          : op == REDUCE_MIN ? (double)INFINITY
                                             : -(double)INFINITY,
                          t);
    if (op == REDUCE_BITAND)
        return expr_int(x, dtype_class_of(t) == CLASS_UINT ? integer_end(t, true) : -1, t);
    return expr_int(x, ends ? integer_end(t, op == REDUCE_MIN) : 0, t);
}

static struct stmt *fill(struct plan *p, struct buffer *a, struct expr *value, struct span span) {
    struct stmt *map = new_map(p, a, span);
    struct expr *index[TILE_RANK];
    domain_indices(p, &map->map.domain, index);
    block_append(&map->map.body, new_store(p, a, index, value, span));
    return map;
}

/* a = a op |x| */
static struct stmt *accumulate(struct plan *p, struct buffer *a, const struct stmt *r) {
    struct exprs *x = p->m->exprs;
    struct buffer *src = r->reduce.src.buffer;
    struct stmt *map = new_map(p, a, r->span);
    struct expr *index[TILE_RANK];
    domain_indices(p, &map->map.domain, index);
    struct expr *value = expr_cast(x, expr_load(x, src, src->rank, index), a->dtype);
    if (r->reduce.op == REDUCE_ABSSUM || r->reduce.op == REDUCE_ABSMAX)
        value = expr_unary(x, FN_ABS, value);
    value = expr_binary(x, reduce_function(r), expr_load(x, a, a->rank, index), value);
    block_append(&map->map.body, new_store(p, a, index, value, r->span));
    map->why = "each thread's part of the reduction, completed after the loop";
    return map;
}

static void defer_one(struct plan *p, const struct nest *loop, struct stmt *r) {
    struct buffer like = *r->reduce.src.buffer;
    like.dtype = r->reduce.dst.buffer->dtype;
    struct text name = text_new(p->arena);
    text_printf(&name, "%s_parts", r->reduce.dst.buffer->name->text);
    struct buffer *a = new_buffer(p, SCOPE_FRAGMENT, name.at, &like);
    a->span = r->reduce.dst.buffer->span;
    block_insert_before(loop->block, loop->stmt,
                        fill(p, a, identity(p, r->reduce.op, a->dtype), r->span));
    struct block *body = &loop->stmt->loop.body;
    block_insert_before(body, r, accumulate(p, a, r));
    block_remove(body, r);
    block_insert_after(loop->block, loop->stmt, r);
    r->reduce.src = region_whole(p->m, a);
    if (r->reduce.op == REDUCE_ABSSUM) r->reduce.op = REDUCE_SUM;
    if (r->reduce.op == REDUCE_ABSMAX) r->reduce.op = REDUCE_MAX;
    diag_remark(p->m->diag, r->span, "layout",
                "'%s' accumulates in each thread over the loop and is reduced once behind it",
                r->reduce.dst.buffer->name->text);
}

static void defer_block(struct plan *p, struct block *b);

/* Inner loops first, so that a reduction climbs out of all loops that allow it. */
static void defer_loop(struct plan *p, struct block *b, struct stmt *loop) {
    struct nest at = {loop, b, NULL};
    defer_block(p, &loop->loop.body);
    for (struct stmt *s = loop->loop.body.first, *next; s; s = next) {
        next = s->next;
        if (s->kind == STMT_REDUCE && may_defer(p, loop, s)) defer_one(p, &at, s);
    }
}

static void defer_block(struct plan *p, struct block *b) {
    for (struct stmt *s = b->first; s; s = s->next) {
        if (s->kind == STMT_FOR) defer_loop(p, b, s);
        if (s->kind == STMT_WHILE) defer_block(p, &s->repeat.body);
        if (s->kind != STMT_IF) continue;
        defer_block(p, &s->branch.then);
        defer_block(p, &s->branch.otherwise);
    }
}

void defer(struct plan *p) { defer_block(p, &p->k->body); }
