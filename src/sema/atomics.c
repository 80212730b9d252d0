/* atomics.c: T.atomic_add, T.atomic_max and T.atomic_min, on an element or on each of a tile. */
#include "sema/builder.h"

/* -- Checks --------------------------------------------------------------------------------------
 */
static bool has_atomic(enum atomic_op op, enum dtype t) {
    switch (t) {
    case DTYPE_I32:
    case DTYPE_U32:
    case DTYPE_I64:
    case DTYPE_U64:
    case DTYPE_F16:
    case DTYPE_BF16:
    case DTYPE_F32:
    case DTYPE_F64: return true;
    default: (void)op; return false;
    }
}

static bool destination_fits(struct sema *s, const struct call *c, const struct buffer *b,
                             enum atomic_op op) {
    if (b->scope != SCOPE_GLOBAL && b->scope != SCOPE_SHARED) {
        sema_error(s, c->arg_span[0], E0315,
                   "'%s' belongs to single threads; T.%s works on global tensors and shared tiles",
                   b->name->text, c->row->name);
        return false;
    }
    if (has_atomic(op, b->dtype)) return true;
    sema_error(s, c->arg_span[0], E0315,
               "'%s' holds '%s'; T.%s works on 32- and 64-bit types, float16 and bfloat16",
               b->name->text, dtype_spelling(b->dtype), c->row->name);
    return false;
}

static bool read_order(struct sema *s, const struct call *c, enum memory_order *order) {
    static const struct {
        const char *name;
        enum memory_order order;
    } orders[] = {
        {"relaxed", ORDER_RELAXED}, {"consume", ORDER_ACQUIRE}, {"acquire", ORDER_ACQUIRE},
        {"release", ORDER_RELEASE}, {"acq_rel", ORDER_ACQ_REL}, {"seq_cst", ORDER_SEQ_CST},
    };
    int at = call_find(c, "memory_order");
    bool good = true;
    const char *name = call_string(s, c, at, "relaxed", &good);
    for (size_t i = 0; good && i < sizeof orders / sizeof *orders; i++) {
        if (strcmp(orders[i].name, name)) continue;
        *order = orders[i].order;
        return true;
    }
    if (good)
        sema_error(s, c->arg_span[at], E0404,
                   "'memory_order' is relaxed, acquire, release, acq_rel or seq_cst, not \"%s\"",
                   name);
    return false;
}

/* -- One element ---------------------------------------------------------------------------------
 */
static struct stmt *atomic(struct sema *s, struct buffer *b, struct expr *const *index,
                           struct expr *value, struct span span) {
    struct stmt *st = append(s, STMT_ATOMIC, span);
    st->atomic.buffer = b;
    st->atomic.count = b->rank;
    for (int i = 0; i < b->rank; i++) st->atomic.index[i] = index[i];
    st->atomic.value = value;
    mark_written(b);
    return st;
}

static struct value on_element(struct sema *s, const struct call *c, enum atomic_op op,
                               enum memory_order order, bool previous) {
    struct subscript *a = c->arg[0].subscript;
    struct expr *value = value_expr_as(s, c->arg[1], a->buffer->dtype, c->arg_span[1]);
    if (!value) return value_bad();
    struct stmt *st = atomic(s, a->buffer, a->lo, value, c->span);
    st->atomic.op = op;
    st->atomic.order = order;
    if (!previous) return value_none();
    struct sym *name = c->naming ? c->naming : intern_text(s->names, "previous");
    st->atomic.previous = var_new(s->exprs, VAR_LET, name, a->buffer->dtype, c->span);
    note_divergent_var(s, st->atomic.previous);
    return value_ir(expr_var(s->exprs, st->atomic.previous));
}

/* -- Tiles ---------------------------------------------------------------------------------------
 */
/* The whole destination as a pairing with itself, for a value that is the same everywhere. */
static void pair_alone(const struct operand *dst, struct pairing *p) {
    memset(p, 0, sizeof *p);
    for (int i = 0; i < dst->region.buffer->rank; i++) {
        if (dst->region.extent[i] == 1) continue;
        p->extent[p->rank] = dst->region.extent[i];
        p->dst_axis[p->rank++] = i;
    }
}

static void on_tile(struct sema *s, const struct call *c, enum atomic_op op,
                    enum memory_order order) {
    struct operand src = {0}, dst;
    struct pairing p;
    bool scalar = is_literal(c->arg[1]) || value_is_scalar_ir(c->arg[1]);
    struct expr *value = NULL, *to[TILE_RANK], *from[TILE_RANK], *test = NULL;
    if (!call_as_tile(s, c) || !operand_of(s, c->arg[0], c->arg_span[0], "dst", &dst) ||
        !size_fits(s, &dst))
        return;
    struct buffer *b = dst.region.buffer;
    if (scalar) {
        value = value_expr_as(s, c->arg[1], b->dtype, c->arg_span[1]);
        if (!value) return;
        if (expr_has_load(value)) /* read once, before the first element changes */
            value = form_let(s, NULL, value_ir(value), DTYPE_NONE, c->span).expr;
        pair_alone(&dst, &p);
    } else {
        if (!operand_of(s, c->arg[1], c->arg_span[1], "value", &src) ||
            !pair_operands(s, &src, &dst, &p, c->span))
            return;
        if (src.region.buffer->scope == SCOPE_LOCAL) {
            sema_error(s, c->arg_span[1], E0318,
                       "'%s' is private to each thread; the value is a tile or a scalar",
                       src.region.buffer->name->text);
            return;
        }
    }
    struct domain d = domain_new(s, p.rank, p.extent, c->span);
    struct block *outer = s->block;
    struct stmt *map = map_new(s, d, c->span);
    region_index(s, &dst.region, p.dst_axis, &d, to);
    for (int i = 0; b->scope != SCOPE_GLOBAL && i < b->rank; i++)
        test = in_bounds(s, test, to[i], buffer_dim(s, b, i));
    if (!scalar) {
        region_index(s, &src.region, p.src_axis, &d, from);
        value = expr_cast(s->exprs, guarded_load(s, &src.region, from), b->dtype);
    }
    s->block = &map->map.body;
    if (test) s->block = &wrap_if(s, test, c->span, s->block)->branch.then;
    struct stmt *st = atomic(s, b, to, value, c->span);
    st->atomic.op = op;
    st->atomic.order = order;
    s->block = outer;
}

static struct value build_atomic(struct sema *s, const struct call *c, enum atomic_op op) {
    bool good = call_in_kernel(s, c);
    bool previous = call_bool(s, c, call_find(c, "return_prev"), false, &good);
    enum memory_order order;
    struct value to = c->arg[0], v = c->arg[1];
    if (!good || value_is_bad(to) || value_is_bad(v) || !read_order(s, c, &order))
        return value_bad();
    bool access = to.kind == VALUE_ACCESS || to.kind == VALUE_REF;
    if (!access && to.kind != VALUE_BUFFER)
        return sema_bad(s, c->arg_span[0], E0319,
                        "'dst' of T.%s is a buffer, a slice or an element, got %s", c->row->name,
                        value_kind_name(to));
    struct buffer *b = access ? to.subscript->buffer : to.buffer;
    if (!destination_fits(s, c, b, op)) return value_bad();
    bool scalar = is_literal(v) || value_is_scalar_ir(v);
    if (access && access_is_element(to.subscript) && scalar)
        return on_element(s, c, op, order, previous);
    if (previous)
        return sema_bad(s, c->span, E0404, "'return_prev' needs a single element as 'dst'");
    on_tile(s, c, op, order);
    return value_none();
}

struct value build_atomic_add(struct sema *s, const struct call *c) {
    return build_atomic(s, c, ATOMIC_ADD);
}

struct value build_atomic_max(struct sema *s, const struct call *c) {
    return build_atomic(s, c, ATOMIC_MAX);
}

struct value build_atomic_min(struct sema *s, const struct call *c) {
    return build_atomic(s, c, ATOMIC_MIN);
}
