/* reduce.c: T.reduce_*: fragments as one REDUCE, shared tiles by way of fragments, private arrays
 * as loops of each thread. */
#include "sema/builder.h"
#include <math.h>

struct reduction {
    struct operand src, dst;
    struct mutable *variable; /* the result is an alloc_var: dst is unused */
    enum reduce_op op;
    int32_t axis;
    bool clear, nan;
    struct span span;
};

/* -- Checks --------------------------------------------------------------------------------------
 */
static bool bit_operation(enum reduce_op op) {
    return op == REDUCE_BITAND || op == REDUCE_BITOR || op == REDUCE_BITXOR;
}

static bool type_fits(struct sema *s, const struct call *c, const struct buffer *b,
                      enum reduce_op op) {
    if (type_is_fp8(b->dtype)) {
        sema_error(s, c->span, E0302,
                   "'T.%s' of '%s' is arithmetic on '%s'; copy it to a float16 tile first",
                   c->row->name, b->name->text, dtype_spelling(b->dtype));
        return false;
    }
    if (!bit_operation(op) || dtype_is_integer(b->dtype) || b->dtype == DTYPE_BOOL) return true;
    sema_error(s, c->span, E0305, "'T.%s' is for integers, '%s' holds '%s'", c->row->name,
               b->name->text, dtype_spelling(b->dtype));
    return false;
}

/* dst has src's extents without the axis, or with 1 there. */
static bool shape_fits(const struct region *src, const struct region *dst, int axis) {
    int rank = src->buffer->rank, own = dst->buffer->rank;
    if (own != rank && own != rank - 1) return false;
    for (int i = 0, k = 0; i < rank; i++) {
        if (i == axis && own == rank - 1) continue;
        if (dst->extent[k++] != (i == axis ? 1 : src->extent[i])) return false;
    }
    return true;
}

static bool check_shapes(struct sema *s, const struct call *c, struct reduction *r, int64_t dim) {
    const struct region *src = &r->src.region, *dst = &r->dst.region;
    int rank = src->buffer->rank;
    if (dim < -rank || dim >= rank) {
        sema_error(s, c->span, E0309, "'%s' has no axis %lld; %d to %d are possible",
                   src->buffer->name->text, (long long)dim, -rank, rank - 1);
        return false;
    }
    r->axis = (int32_t)(dim < 0 ? dim + rank : dim);
    if (r->variable) {
        int64_t count = 1;
        for (int i = 0; i < rank; i++) count *= i == r->axis ? 1 : src->extent[i];
        if (count == 1) return true;
        sema_error(s, c->span, E0309, "'%s' %s reduced along axis %d leaves more than one value",
                   src->buffer->name->text, extents_text(s, rank, src->extent), r->axis);
        return false;
    }
    if (shape_fits(src, dst, r->axis) ||
        (rank == 1 && dst->buffer->rank == 1 && dst->extent[0] == 1))
        return true;
    int32_t want[TILE_RANK], count = 0;
    for (int i = 0; i < rank; i++)
        if (i != r->axis) want[count++] = src->extent[i];
    if (!count) want[count++] = 1;
    sema_error(s, c->span, E0309,
               "'%s' %s reduced along axis %d does not fit '%s' %s; %s is needed",
               src->buffer->name->text, extents_text(s, rank, src->extent), r->axis,
               dst->buffer->name->text, extents_text(s, dst->buffer->rank, dst->extent),
               extents_text(s, count, want));
    return false;
}

/* -- Through fragments ---------------------------------------------------------------------------
 */
static void copy_region(struct sema *s, const struct region *from, const struct region *to,
                        struct span span) {
    struct pairing p = {0};
    for (int i = 0, n = 0; i < from->buffer->rank; i++)
        if (from->extent[i] > 1) p.src_axis[n++] = i;
    for (int i = 0; i < to->buffer->rank; i++) {
        if (to->extent[i] == 1) continue;
        p.extent[p.rank] = to->extent[i];
        p.dst_axis[p.rank++] = i;
    }
    struct stmt *st = append(s, STMT_COPY, span);
    st->copy.src = *from;
    st->copy.dst = *to;
    st->copy.domain = domain_new(s, p.rank, p.extent, span);
    memcpy(st->copy.src_axis, p.src_axis, sizeof p.src_axis);
    memcpy(st->copy.dst_axis, p.dst_axis, sizeof p.dst_axis);
}

static struct region staging(struct sema *s, const struct region *r, struct span span) {
    struct sym *name =
        module_name(s->module, arena_printf(s->arena, "%s_tile", r->buffer->name->text));
    struct buffer *b = buffer_new(s->module, s->function, s->kernel, SCOPE_FRAGMENT, name,
                                  r->buffer->dtype, r->buffer->rank, r->extent);
    b->span = span;
    return region_whole(s->module, b);
}

static void reduce_tile(struct sema *s, const struct reduction *r) {
    struct region src = r->src.region, dst = r->dst.region;
    if (src.buffer->scope == SCOPE_SHARED) {
        src = staging(s, &r->src.region, r->span);
        copy_region(s, &r->src.region, &src, r->span);
    }
    /* A tile that is reduced into itself is not overwritten before it is read. */
    bool apart = dst.buffer->scope == SCOPE_SHARED || dst.buffer == src.buffer;
    if (apart) {
        dst = staging(s, &r->dst.region, r->span);
        if (!r->clear) copy_region(s, &r->dst.region, &dst, r->span);
    }
    struct stmt *st = append(s, STMT_REDUCE, r->span);
    st->reduce.src = src;
    st->reduce.dst = dst;
    st->reduce.axis = r->axis;
    st->reduce.op = r->op;
    st->reduce.clear = r->clear;
    st->reduce.nan = r->nan;
    if (apart) copy_region(s, &dst, &r->dst.region, r->span);
}

/* -- Private arrays ------------------------------------------------------------------------------
 */
static struct expr *identity(struct sema *s, enum reduce_op op, enum dtype type) {
    struct exprs *x = s->exprs;
    bool real = dtype_is_float(type);
    int bits = dtype_bits(type);
    bool has_sign = dtype_class_of(type) != CLASS_UINT;
    switch (op) {
    case REDUCE_MAX:
        if (real) return expr_float(x, -INFINITY, type);
        return expr_int(x, has_sign ? (bits == 64 ? INT64_MIN : -((int64_t)1 << (bits - 1))) : 0,
                        type);
    case REDUCE_MIN:
        if (real) return expr_float(x, INFINITY, type);
        if (bits == 64) return expr_int(x, has_sign ? INT64_MAX : -1, type);
        return expr_int(x, ((int64_t)1 << (bits - has_sign)) - 1, type);
    case REDUCE_BITAND:
        return type == DTYPE_BOOL ? expr_bool(x, true)
                                  : expr_unary(x, FN_NOT, expr_int(x, 0, type));
    case REDUCE_SUM:
    case REDUCE_ABSMAX:
    case REDUCE_ABSSUM:
    case REDUCE_BITOR:
    case REDUCE_BITXOR: break;
    }
    return expr_cast(x, expr_index(x, 0), type);
}

static struct expr *combine(struct sema *s, const struct reduction *r, struct expr *a,
                            struct expr *b) {
    bool nan = r->nan && dtype_is_float(a->dtype);
    if (r->op == REDUCE_ABSMAX || r->op == REDUCE_ABSSUM) b = expr_unary(s->exprs, FN_ABS, b);
    enum function fn = FN_ADD;
    switch (r->op) {
    case REDUCE_SUM:
    case REDUCE_ABSSUM: break;
    case REDUCE_MAX:
    case REDUCE_ABSMAX: fn = nan ? FN_MAX_NAN : FN_MAX; break;
    case REDUCE_MIN: fn = nan ? FN_MIN_NAN : FN_MIN; break;
    case REDUCE_BITAND: fn = FN_AND; break;
    case REDUCE_BITOR: fn = FN_OR; break;
    case REDUCE_BITXOR: fn = FN_XOR; break;
    }
    return expr_binary(s->exprs, fn, a, b);
}

/* An array that is reduced into itself is not overwritten before it is read. */
static void own_result(struct sema *s, struct reduction *r) {
    if (r->variable || r->dst.region.buffer != r->src.region.buffer) return;
    r->variable = arena_make(s->arena, struct mutable);
    r->variable->var = var_new(s->exprs, VAR_MUTABLE, intern_text(s->names, "value"),
                               r->dst.region.buffer->dtype, r->span);
    if (s->tile->divergent || s->tile->parallel) note_divergent_var(s, r->variable->var);
}

static struct expr *read_result(struct sema *s, const struct reduction *r, struct expr *const *to) {
    if (r->variable) return expr_var(s->exprs, r->variable->var);
    return expr_load(s->exprs, r->dst.region.buffer, r->dst.region.buffer->rank, to);
}

static void write_result(struct sema *s, const struct reduction *r, struct expr *const *to,
                         struct expr *value) {
    struct value v = value_ir(value);
    if (r->variable)
        form_set(s, (struct value){.kind = VALUE_VAR, .mutable = r->variable}, v, r->span);
    else
        store_element(s, r->dst.region.buffer, to, value, r->span);
}

static void reduce_private(struct sema *s, struct reduction *r) {
    struct block *outer = s->block;
    const struct region *src = &r->src.region, *dst = &r->dst.region;
    struct expr *from[TILE_RANK], *to[TILE_RANK] = {0};
    int rank = src->buffer->rank, own = r->variable ? 0 : dst->buffer->rank;
    enum dtype type = r->variable ? r->variable->var->dtype : dst->buffer->dtype;
    bool apart = !r->variable;
    for (int i = 0, k = 0; i < rank; i++) {
        struct expr *at = expr_index(s->exprs, 0);
        if (i != r->axis && src->extent[i] > 1) {
            struct stmt *loop = serial_loop(s, s->block, "i", src->extent[i], r->span);
            s->block = &loop->loop.body;
            at = expr_var(s->exprs, loop->loop.var);
        }
        from[i] = expr_binary(s->exprs, FN_ADD, src->base[i], at);
        if (i == r->axis && own != rank) continue;
        if (k < own) to[k] = expr_binary(s->exprs, FN_ADD, dst->base[k], at);
        k++;
    }
    if (own == 1 && rank == 1) to[0] = dst->base[0];
    struct expr *old = apart && !r->clear ? read_result(s, r, to) : NULL;
    own_result(s, r);
    apart &= r->variable != NULL;
    if (apart && old) write_result(s, r, to, old);
    if (r->clear) write_result(s, r, to, identity(s, r->op, type));
    struct stmt *loop = serial_loop(s, s->block, "k", src->extent[r->axis], r->span);
    from[r->axis] =
        expr_binary(s->exprs, FN_ADD, src->base[r->axis], expr_var(s->exprs, loop->loop.var));
    struct expr *element = expr_cast(s->exprs, expr_load(s->exprs, src->buffer, rank, from), type);
    struct block *around = s->block;
    s->block = &loop->loop.body;
    write_result(s, r, to, combine(s, r, read_result(s, r, to), element));
    s->block = around;
    if (apart) {
        struct expr *value = read_result(s, r, to);
        r->variable = NULL;
        write_result(s, r, to, value);
    }
    s->block = outer;
}

/* -- The builders --------------------------------------------------------------------------------
 */
static bool scope_fits(struct sema *s, const struct call *c, const struct operand *o) {
    if (o->region.buffer->scope != SCOPE_GLOBAL) return true;
    sema_error(s, o->span, E0318,
               "'%s' is a global tensor; T.%s works on tiles: T.copy it first, or its result after",
               o->region.buffer->name->text, c->row->name);
    return false;
}

static bool read_reduction(struct sema *s, const struct call *c, struct reduction *r) {
    bool good = call_in_kernel(s, c);
    if (!good || value_is_bad(c->arg[0]) || value_is_bad(c->arg[1])) return false;
    good &= operand_of(s, c->arg[0], c->arg_span[0], "buffer", &r->src);
    if (c->arg[1].kind == VALUE_VAR)
        r->variable = c->arg[1].mutable;
    else
        good &= operand_of(s, c->arg[1], c->arg_span[1], "out", &r->dst);
    int64_t dim = call_int(s, c, call_find(c, "dim"), -1, &good);
    r->clear = call_bool(s, c, call_find(c, "clear"), true, &good);
    r->nan = call_bool(s, c, call_find(c, "nan_propagate"), false, &good);
    call_int(s, c, call_find(c, "batch"), 1, &good);
    r->span = c->span;
    if (!good || !scope_fits(s, c, &r->src) || !type_fits(s, c, r->src.region.buffer, r->op))
        return false;
    if (!r->variable &&
        (!scope_fits(s, c, &r->dst) || !type_fits(s, c, r->dst.region.buffer, r->op)))
        return false;
    if (!operand_inside(s, &r->src, E0309) || (!r->variable && !operand_inside(s, &r->dst, E0309)))
        return false;
    return check_shapes(s, c, r, dim);
}

static struct value reduce(struct sema *s, const struct call *c, enum reduce_op op) {
    struct reduction r = {.op = op};
    if (!read_reduction(s, c, &r)) return value_none();
    bool from_private = r.src.region.buffer->scope == SCOPE_LOCAL;
    bool to_private = r.variable || r.dst.region.buffer->scope == SCOPE_LOCAL;
    if (from_private && to_private) {
        reduce_private(s, &r);
    } else if (from_private || to_private) {
        sema_error(s, c->span, E0318,
                   "'T.%s' goes from tile to tile, or from private array to private "
                   "array; '%s' and its result differ in that",
                   c->row->name, r.src.region.buffer->name->text);
    } else if (call_as_tile(s, c)) {
        reduce_tile(s, &r);
    }
    return value_none();
}

struct value build_reduce_sum(struct sema *s, const struct call *c) {
    return reduce(s, c, REDUCE_SUM);
}

struct value build_reduce_max(struct sema *s, const struct call *c) {
    return reduce(s, c, REDUCE_MAX);
}

struct value build_reduce_min(struct sema *s, const struct call *c) {
    return reduce(s, c, REDUCE_MIN);
}

struct value build_reduce_absmax(struct sema *s, const struct call *c) {
    return reduce(s, c, REDUCE_ABSMAX);
}

struct value build_reduce_abssum(struct sema *s, const struct call *c) {
    return reduce(s, c, REDUCE_ABSSUM);
}

struct value build_reduce_bitand(struct sema *s, const struct call *c) {
    return reduce(s, c, REDUCE_BITAND);
}

struct value build_reduce_bitor(struct sema *s, const struct call *c) {
    return reduce(s, c, REDUCE_BITOR);
}

struct value build_reduce_bitxor(struct sema *s, const struct call *c) {
    return reduce(s, c, REDUCE_BITXOR);
}
