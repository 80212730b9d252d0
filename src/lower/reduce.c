/* reduce.c: REDUCE of a fragment: within the thread, then between the lanes that share the axis.
 *
 * The exchange is a butterfly, after which every lane holds the same bits; where a lane digit is no
 * power of two, each lane adds up all of the group in one fixed order. Nothing crosses warps: that
 * has been made explicit before. */
#include "internal.h"
#include <math.h>

struct reduction {
    struct stmt *t;
    struct plan plan;
    int kept;       /* loops [0, kept) are of the other axes */
    int32_t chains; /* partial results in the thread, so that operations overlap */
    struct var *chain[4];
    struct coordinate part; /* of dst on the axis, if it keeps it */
};

static bool takes_absolute(enum reduce_op op) { return op == REDUCE_ABSMAX || op == REDUCE_ABSSUM; }

static enum function combiner(const struct stmt *t) {
    switch (t->reduce.op) {
    case REDUCE_SUM:
    case REDUCE_ABSSUM: return FN_ADD;
    case REDUCE_MAX:
    case REDUCE_ABSMAX:
        return t->reduce.nan && dtype_is_float(t->reduce.src.buffer->dtype) ? FN_MAX_NAN : FN_MAX;
    case REDUCE_MIN:
        return t->reduce.nan && dtype_is_float(t->reduce.src.buffer->dtype) ? FN_MIN_NAN : FN_MIN;
    case REDUCE_BITAND: return FN_AND;
    case REDUCE_BITOR: return FN_OR;
    case REDUCE_BITXOR: return FN_XOR;
    }
    return FN_ADD;
}

static struct expr *combine(struct lowering *l, const struct stmt *t, struct expr *a,
                            struct expr *b) {
    enum function fn = combiner(t);
    struct expr *v = expr_binary(l->x, fn, a, b);

    return fn == FN_ADD ? value_round(l, v, t->reduce.src.buffer->dtype) : v;
}

static int64_t integer_limit(enum dtype t, bool greatest) {
    bool is_signed = dtype_class_of(t) == CLASS_INT || dtype_class_of(t) == CLASS_INDEX;
    int bits = dtype_bits(t);

    if (t == DTYPE_BOOL) return greatest;
    if (is_signed)
        return greatest ? (int64_t)(~(uint64_t)0 >> (65 - bits))
                        : -(int64_t)(~(uint64_t)0 >> (65 - bits)) - 1;
    return greatest ? (int64_t)(~(uint64_t)0 >> (64 - bits)) : 0;
}

static struct expr *identity(struct lowering *l, const struct stmt *t) {
    enum dtype d = register_type(t->reduce.src.buffer->dtype);
    bool greatest = t->reduce.op == REDUCE_MIN;
    bool limit = greatest || t->reduce.op == REDUCE_MAX;

    if (dtype_is_float(d))
        return expr_float(l->x, !limit ? 0.0 : greatest ? (double)INFINITY : -(double)INFINITY, d);
    if (t->reduce.op == REDUCE_BITAND)
        return dtype_class_of(d) == CLASS_UINT || d == DTYPE_BOOL
                   ? expr_int(l->x, integer_limit(d, true), d)
                   : expr_int(l->x, -1, d);
    return expr_int(l->x, limit ? integer_limit(d, greatest) : 0, d);
}

static void set(struct lowering *l, struct var *v, struct expr *value) {
    struct kstmt *s = add(l, K_SET);

    s->set.var = v;
    s->set.value = value;
}

/* The element of src at the current iteration; the identity where that is padding. */
static struct expr *source_value(struct lowering *l, const struct reduction *r) {
    const struct region *src = &r->t->reduce.src;
    struct coordinate c[TILE_RANK];
    struct slot slot;
    struct expr *v;
    int i;

    for (i = 0; i < src->buffer->rank; i++) c[i] = plan_axis(l, &r->plan, i, 0);
    if (!fragment_slot(l, src->buffer, c, &slot)) {
        fault(l, "a reduced register number that depends on the thread");
        return identity(l, r->t);
    }
    v = value_part(l, slot.array, slot.word, slot.part);
    if (takes_absolute(r->t->reduce.op)) v = expr_unary(l->x, FN_ABS, v);
    return r->plan.inside ? expr_select(l->x, r->plan.inside, v, identity(l, r->t)) : v;
}

static void accumulate(struct lowering *l, struct plan *p, void *data) {
    struct reduction *r = data;
    struct var *chain = r->chain[0];
    int64_t which;

    (void)p;
    if (r->chains > 1 && expr_is_int(r->plan.loop[r->plan.loops - 1].value, &which))
        chain = r->chain[which];
    set(l, chain, combine(l, r->t, expr_var(l->x, chain), source_value(l, r)));
}

static bool is_power(int32_t v) { return v > 0 && (v & (v - 1)) == 0; }

/* All lanes that differ in this digit only: everyone gets the result. */
static void exchange(struct lowering *l, const struct reduction *r, struct var *v,
                     const struct digit *d) {
    struct field f = {.kind = FIELD_LANE, .radix = d->radix, .stride = d->stride};
    struct expr *value = expr_var(l->x, v), *args[2] = {value, NULL}, *sum = NULL, *first;
    struct var *mine;
    int32_t i;

    if (is_power(d->radix) && is_power(d->stride)) {
        for (i = 1; i < d->radix; i *= 2) {
            args[1] = expr_int(l->x, (int64_t)i * d->stride, DTYPE_U32);
            set(l, v, combine(l, r->t, value, expr_op(l->x, FN_SHUFFLE_XOR, v->dtype, 2, args)));
        }
        return;
    }
    mine = add_var(l, "mine", v->dtype, value);
    first = expr_binary(l->x, FN_SUB, l->lane, times(l, field_value(l, &f), d->stride));
    args[0] = expr_var(l->x, mine);
    for (i = 0; i < d->radix; i++) {
        args[1] = expr_cast(l->x, plus(l, first, ix(l, (int64_t)i * d->stride)), DTYPE_U32);
        sum = expr_op(l->x, FN_SHUFFLE, v->dtype, 2, args);
        set(l, v, i == 0 ? sum : combine(l, r->t, value, sum));
    }
}

static bool result_slot(struct lowering *l, const struct reduction *r, struct slot *slot) {
    const struct region *dst = &r->t->reduce.dst;
    struct coordinate c[TILE_RANK];
    bool keeps = dst->buffer->rank == r->t->reduce.src.buffer->rank;
    int i, at = 0;

    for (i = 0; i < r->t->reduce.src.buffer->rank; i++) {
        if (i != r->t->reduce.axis)
            c[at++] = plan_axis(l, &r->plan, i, 0);
        else if (keeps)
            c[at++] = r->part;
    }
    return at == dst->buffer->rank && fragment_slot(l, dst->buffer, c, slot);
}

static void put_result(struct lowering *l, const struct reduction *r, struct var *v) {
    struct expr *value = expr_var(l->x, v), *parts[4];
    struct slot slot;
    int i;

    if (!result_slot(l, r, &slot)) {
        fault(l, "a reduced register number that depends on the thread");
        return;
    }
    if (!r->t->reduce.clear)
        value = combine(l, r->t, value_part(l, slot.array, slot.word, slot.part), value);
    if (array_parts(slot.array) == 1) {
        add_put(l, slot.array, slot.word, value_bits(l, value, slot.array->element));
        return;
    }
    for (i = 0; i < array_parts(slot.array); i++)
        parts[i] = i == slot.part ? value : value_part(l, slot.array, slot.word, i);
    add_put(l, slot.array, slot.word, value_pack(l, parts, slot.array->element));
}

/* One element of dst. */
static void reduce_one(struct lowering *l, struct plan *p, void *data) {
    struct reduction *r = data;
    enum dtype t = register_type(r->t->reduce.src.buffer->dtype);
    const struct layout_axis *a = &p->domain->layout.axis[r->t->reduce.axis];
    const char *name = r->t->reduce.dst.buffer->name->text;
    int i, width;

    for (i = 0; i < r->chains; i++) {
        r->chain[i] = add_var(l, arena_printf(l->m->arena, "%s_part", name), t, identity(l, r->t));
        r->chain[i]->kind = VAR_MUTABLE;
        r->chain[i]->lo = INT64_MIN;
        r->chain[i]->hi = INT64_MAX;
        r->chain[i]->divisor = 1;
    }
    nest_run(l, &(struct nest){p, r->kept, p->loops, accumulate, r});
    for (width = r->chains / 2; width > 0; width /= 2)
        for (i = 0; i < width; i++)
            set(l, r->chain[i],
                combine(l, r->t, expr_var(l->x, r->chain[i]), expr_var(l->x, r->chain[i + width])));
    for (i = 0; i < a->count; i++)
        if (a->digit[i].space == SPACE_LANE) exchange(l, r, r->chain[0], &a->digit[i]);
    put_result(l, r, r->chain[0]);
}

/* Loops of the other axes go outside. */
static void order_loops(struct reduction *r) {
    struct plan *p = &r->plan;
    struct plan_loop moved;
    int i, j;

    for (i = 0; i < p->loops; i++) {
        if (p->loop[i].axis == r->t->reduce.axis) continue;
        moved = p->loop[i];
        for (j = i; j > r->kept; j--) p->loop[j] = p->loop[j - 1];
        p->loop[r->kept++] = moved;
    }
}

/* The innermost loop is cut so that up to four results grow side by side. */
static void cut_chains(struct reduction *r) {
    struct plan *p = &r->plan;
    struct plan_loop *last;
    int32_t total = 1;
    int i;

    r->chains = 1;
    if (p->loops == r->kept) return;
    last = &p->loop[p->loops - 1];
    for (i = r->kept; i < p->loops; i++) total *= p->loop[i].radix;
    r->chains = total < 8 || p->loops == LOOPS ? 1
                : last->radix % 4 == 0         ? 4
                : last->radix % 2 == 0         ? 2
                                               : 1;
    if (r->chains == 1) return;
    if (last->radix > r->chains) {
        last[1] = *last;
        last->radix /= r->chains;
        last->weight *= r->chains;
        last->stride *= r->chains;
        last++;
        p->loops++;
    }
    last->radix = r->chains;
    last->expanded = true;
}

static void expand_packed(struct reduction *r, const struct array *a) {
    int i;

    for (i = 0; i < r->plan.loops; i++)
        if (r->plan.loop[i].stride % array_parts(a) != 0) r->plan.loop[i].expanded = true;
}

/* How far the result's register number moves with a loop: dst numbers its own registers. */
static int64_t result_stride(const struct reduction *r, const struct plan_loop *loop) {
    const struct buffer *dst = r->t->reduce.dst.buffer;
    bool keeps = dst->rank == r->t->reduce.src.buffer->rank;
    int axis = loop->axis - (!keeps && loop->axis > r->t->reduce.axis), j;
    const struct layout_axis *a = &dst->layout.axis[axis];
    int64_t weight = 1, end;

    if (loop->axis == r->t->reduce.axis) return 0;
    for (j = 0; j < a->count; j++, weight = end) {
        end = weight * a->digit[j].radix;
        if (a->digit[j].space == SPACE_REG && loop->weight >= weight && loop->weight < end)
            return loop->weight / weight * a->digit[j].stride;
    }
    return 1;
}

static void expand_result(struct reduction *r, const struct array *a) {
    int i;

    for (i = 0; i < r->plan.loops; i++)
        if (result_stride(r, &r->plan.loop[i]) % array_parts(a) != 0)
            r->plan.loop[i].expanded = true;
}

/* dst keeps the axis as one element a warp: the warp digit is its coordinate. */
static void keep_part(struct lowering *l, struct reduction *r, struct layout *y) {
    const struct layout_axis *a = &y->axis[r->t->reduce.axis];
    int64_t weight = 1, low = r->t->reduce.part_weight;
    int j;

    r->part = coordinate_of(l, ix(l, 0));
    if (r->t->reduce.parts <= 1) return;
    layout_split(y, r->t->reduce.axis, (int32_t)low);
    layout_split(y, r->t->reduce.axis, (int32_t)low * r->t->reduce.parts);
    r->part.count = 0;
    for (j = 0; j < a->count; weight *= a->digit[j++].radix)
        if (weight >= low && weight < low * r->t->reduce.parts && a->digit[j].space == SPACE_WARP)
            coordinate_add(&r->part, (struct field){.kind = FIELD_WARP,
                                                    .radix = a->digit[j].radix,
                                                    .stride = a->digit[j].stride,
                                                    .weight = weight / low});
    coordinate_finish(l, &r->part);
}

void lower_reduce(struct lowering *l, struct stmt *t) {
    struct buffer *src = t->reduce.src.buffer;
    struct reduction r = {.t = t};
    struct domain d = {.rank = src->rank, .layout = src->layout};
    int i;

    if (src->scope != SCOPE_FRAGMENT || t->reduce.dst.buffer->scope != SCOPE_FRAGMENT) {
        fault(l, "a reduction of what is not in registers");
        return;
    }
    for (i = 0; i < src->rank; i++) d.extent[i] = src->extent[i];
    keep_part(l, &r, &d.layout);
    plan_make(l, &r.plan, &d, 1);
    order_loops(&r);
    expand_packed(&r, l->arrays[src->id]);
    expand_result(&r, l->arrays[t->reduce.dst.buffer->id]);
    if (array_parts(l->arrays[src->id]) == 1)
        cut_chains(&r);
    else
        r.chains = 1;
    nest_run(l, &(struct nest){&r.plan, 0, r.kept, reduce_one, &r});
}
