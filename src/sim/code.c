/* code.c: expressions as flat code over slots, each node once a statement. */
#include "sim/internal.h"

static slot_t constant(struct coder *c, union scalar v) {
    struct machine *s = c->s;
    for (int i = 0; i < s->constants.count; i++)
        if (s->constants.at[i].at[0].i == v.i) return i;
    struct lanes l;
    for (int i = 0; i < LANES; i++) l.at[i] = v;
    vec_push(s->arena, &s->constants, l);
    return s->constants.count - 1;
}

/* Temporaries are numbered from 0 here and moved behind the constants by program_of_kernel. */
enum { TEMPORARY = 1 << 24 };

static slot_t temporary(struct coder *c) {
    slot_t t = TEMPORARY + c->temporaries++;
    int32_t used = c->temporaries;
    if (used > c->p->machine_slots) c->p->machine_slots = used;
    return t;
}

static slot_t *cell(struct coder *c, bool spread, const struct expr *e) {
    while (c->plain.count <= e->id) {
        vec_push(c->s->arena, &c->plain, NO_SLOT);
        vec_push(c->s->arena, &c->spread, NO_SLOT);
    }
    return spread ? &c->spread.at[e->id] : &c->plain.at[e->id];
}

void code_reset(struct coder *c) {
    for (int i = 0; i < c->touched.count; i++)
        *cell(c, false, c->touched.at[i]) = *cell(c, true, c->touched.at[i]) = NO_SLOT;
    c->touched.count = 0;
    c->temporaries = 0;
}

/* -- one node
 * ------------------------------------------------------------------------------------ */
/* The fast form of an operation on two integers; -1 if there is none. */
static int integer_code(const struct expr *e, enum dtype t, struct op *o) {
    static const uint8_t sums[3][3] = {{OP_ADD_64, OP_SUB_64, OP_MUL_64},
                                       {OP_ADD_I32, OP_SUB_I32, OP_MUL_I32},
                                       {OP_ADD_U32, OP_SUB_U32, OP_MUL_U32}};
    int width = t == DTYPE_INDEX || t == DTYPE_I64 ? 0
                : t == DTYPE_I32                   ? 1
                : t == DTYPE_U32                   ? 2
                                                   : -1;
    int64_t by;
    if (width < 0) return -1;
    switch (e->fn) {
    case FN_ADD: return sums[width][0];
    case FN_SUB: return sums[width][1];
    case FN_MUL: return sums[width][2];
    case FN_AND: return OP_BIT_AND;
    case FN_OR: return OP_BIT_OR;
    case FN_XOR: return OP_BIT_XOR;
    case FN_LT: return OP_LT;
    case FN_LE: return OP_LE;
    case FN_EQ: return OP_EQ;
    case FN_NE: return OP_NE;
    case FN_FLOORDIV:
    case FN_FLOORMOD:
        if (!expr_is_int(e->args[1], &by) || by < 1 || (by & (by - 1))) return -1;
        o->amount = e->fn == FN_FLOORMOD ? (int32_t)(by - 1) : __builtin_ctzll((uint64_t)by);
        if (by > (int64_t)1 << 30) return -1;
        return e->fn == FN_FLOORMOD ? OP_LOW_BITS : OP_SHIFT_DOWN;
    default: return -1;
    }
}

static int special_code(const struct expr *e, struct op *o) {
    int64_t part = 0;
    switch (e->fn) {
    case FN_SHUFFLE_XOR: return OP_SHUFFLE_XOR;
    case FN_SHUFFLE: return OP_SHUFFLE;
    case FN_ANY: return OP_ANY;
    case FN_LAND: return OP_AND;
    case FN_LOR: return OP_OR;
    case FN_F16_TO_F32: return OP_F16_TO_F32;
    case FN_BF16_TO_F32: return OP_BF16_TO_F32;
    case FN_PACK_F16: return OP_PACK_F16;
    case FN_PACK_BF16: return OP_PACK_BF16;
    case FN_PACK_16: return OP_PACK_16;
    case FN_PART_16:
    case FN_PART_8:
        if (!expr_is_int(e->args[1], &part)) return -1;
        o->amount = (int32_t)part;
        return e->fn == FN_PART_16 ? OP_PART_16 : OP_PART_8;
    default: return -1;
    }
}

static int operation_code(const struct expr *e, struct op *o) {
    enum dtype t = e->args[0]->dtype;
    int code = special_code(e, o);
    if (code >= 0) return code;
    if (t == DTYPE_F32 && e->fn == FN_ADD) return OP_ADD_F32;
    if (t == DTYPE_F32 && e->fn == FN_SUB) return OP_SUB_F32;
    if (t == DTYPE_F32 && e->fn == FN_MUL) return OP_MUL_F32;
    if (t == DTYPE_F32 && e->fn == FN_FMA) return OP_FMA_F32;
    code = integer_code(e, t, o);
    return code >= 0 ? code : OP_GENERAL;
}

static slot_t emit(struct coder *c, struct op o) {
    o.to = temporary(c);
    vec_push(c->s->arena, &c->p->ops, o);
    return o.to;
}

static slot_t node(struct coder *c, const struct expr *e, bool *uniform);

/* The value in all lanes. */
static slot_t spread(struct coder *c, const struct expr *e) {
    bool uniform;
    slot_t plain = node(c, e, &uniform);
    if (!uniform || e->kind == EXPR_INT || e->kind == EXPR_FLOAT) return plain;
    slot_t known = *cell(c, true, e);
    if (known != NO_SLOT) return known;
    slot_t made = emit(c, (struct op){.code = OP_SPREAD, .count = 1, .arg = {plain}});
    *cell(c, true, e) = made;
    return made;
}

static slot_t element(struct coder *c, const struct expr *e) {
    int64_t index;
    bool uniform;
    slot_t first = c->p->registers[e->array->id];
    if (expr_is_int(e->args[0], &index) && index >= 0 && index < e->array->count)
        return first - (slot_t)index;
    slot_t at = node(c, e->args[0], &uniform);
    struct op o = {.code = OP_ELEMENT, .count = 1, .arg = {at, first}, .amount = e->array->count};
    if (!uniform) o.code = OP_GENERAL, o.fn = -1; /* reported when it runs */
    return emit(c, o);
}

static slot_t operation(struct coder *c, const struct expr *e, bool uniform) {
    struct op o = {.code = OP_GENERAL, .count = (uint8_t)e->count, .uniform = uniform};
    o.type = (uint8_t)e->dtype;
    if (e->kind == EXPR_OP) {
        o.fn = (int16_t)e->fn;
        o.type = (uint8_t)e->args[0]->dtype;
        o.code = (uint8_t)operation_code(e, &o);
    } else if (e->kind == EXPR_CAST) {
        o.code = OP_CAST;
        o.from = (uint8_t)e->args[0]->dtype;
    } else {
        o.code = OP_SELECT;
    }
    bool warp_wide = o.code == OP_SHUFFLE_XOR || o.code == OP_SHUFFLE || o.code == OP_ANY;
    if (warp_wide) o.uniform = o.code == OP_ANY;
    bool ignored;
    for (int i = 0; i < e->count; i++)
        o.arg[i] = uniform && !warp_wide ? node(c, e->args[i], &ignored) : spread(c, e->args[i]);
    return emit(c, o);
}

/* thread // 32k is read from lane 0. */
static slot_t make(struct coder *c, const struct expr *e, bool uniform) {
    switch (e->kind) {
    case EXPR_INT: return constant(c, (union scalar){.i = e->integer});
    case EXPR_FLOAT: return constant(c, (union scalar){.f = e->number});
    case EXPR_VAR: return c->p->variable[e->var->id];
    case EXPR_ELEMENT: return element(c, e);
    default: return operation(c, e, uniform);
    }
}

static slot_t node(struct coder *c, const struct expr *e, bool *uniform) {
    *uniform = uniform_expr(c->p, e);
    slot_t known = *cell(c, false, e);
    if (known != NO_SLOT) return known;
    slot_t made = make(c, e, *uniform);
    /* what is uniform for its arguments only as a shuffle has all lanes */
    *cell(c, false, e) = made;
    vec_push(c->s->arena, &c->touched, (struct expr *)(uintptr_t)e);
    return made;
}

slot_t code_value(struct coder *c, const struct expr *e, bool *uniform) {
    return node(c, e, uniform);
}
