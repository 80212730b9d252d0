/* value.c: scalar expressions of the tile level as expressions on one thread's values.
 *
 * f16, bf16, fp8 and tf32 values are f32 scalars that the narrow type represents exactly: every
 * operation on them is done in f32 and rounded by a round trip through the storage bits. */
#include "internal.h"

enum dtype register_type(enum dtype t) {
    switch (t) {
    case DTYPE_F16:
    case DTYPE_BF16:
    case DTYPE_E4M3:
    case DTYPE_E5M2:
    case DTYPE_TF32: return DTYPE_F32;
    default: return t;
    }
}

static enum function to_float(enum dtype t) {
    switch (t) {
    case DTYPE_F16: return FN_F16_TO_F32;
    case DTYPE_BF16: return FN_BF16_TO_F32;
    case DTYPE_E4M3: return FN_E4M3_TO_F32;
    case DTYPE_E5M2: return FN_E5M2_TO_F32;
    default: return FN_F32_BITS;
    }
}

static enum function to_bits(enum dtype t) {
    switch (t) {
    case DTYPE_F16: return FN_F32_TO_F16;
    case DTYPE_BF16: return FN_F32_TO_BF16;
    case DTYPE_E4M3: return FN_F32_TO_E4M3;
    case DTYPE_E5M2: return FN_F32_TO_E5M2;
    default: return FN_F32_TO_TF32;
    }
}

static struct expr *call(struct lowering *l, enum function fn, enum dtype t, struct expr *a) {
    return expr_op(l->x, fn, t, 1, &a);
}

static bool is_call(const struct expr *e, enum function fn) {
    return e->kind == EXPR_OP && e->fn == fn;
}

struct expr *value_of_bits(struct lowering *l, struct expr *bits, enum dtype t) {
    if (register_type(t) == t) return bits->dtype == t ? bits : expr_cast(l->x, bits, t);
    if (t == DTYPE_TF32 && bits->dtype == DTYPE_F32) return bits;
    return call(l, to_float(t), DTYPE_F32, bits);
}

/* Is v a value of t already? Then its bits are at hand. */
static bool is_exact(const struct expr *v, enum dtype t) { return is_call(v, to_float(t)); }

static struct expr *constant_bits(struct lowering *l, const struct expr *v, enum dtype t) {
    union scalar s = {.f = scalar_round(v->number, t)};

    return expr_int(l->x, (int64_t)scalar_bits(s, t), DTYPE_U32);
}

struct expr *value_bits(struct lowering *l, struct expr *v, enum dtype t) {
    if (register_type(t) == t) return v;
    if (is_exact(v, t)) return v->args[0];
    if (v->kind == EXPR_FLOAT && t != DTYPE_TF32) return constant_bits(l, v, t);
    return call(l, to_bits(t), DTYPE_U32, v);
}

struct expr *value_round(struct lowering *l, struct expr *v, enum dtype t) {
    if (register_type(t) == t || is_exact(v, t)) return v;
    if (v->kind == EXPR_FLOAT) return expr_float(l->x, scalar_round(v->number, t), DTYPE_F32);
    return call(l, to_float(t), DTYPE_F32, call(l, to_bits(t), DTYPE_U32, v));
}

/* Every value of `from` is one of `to`. */
static bool widens(enum dtype from, enum dtype to) {
    if (from == to) return true;
    if (to == DTYPE_F16) return from == DTYPE_E4M3 || from == DTYPE_E5M2;
    if (to == DTYPE_BF16 || to == DTYPE_TF32)
        return from == DTYPE_E4M3 || from == DTYPE_E5M2 || (to == DTYPE_TF32 && from != DTYPE_F32);
    return false;
}

struct expr *value_cast(struct lowering *l, struct expr *v, enum dtype from, enum dtype to) {
    if (from == DTYPE_F64 && register_type(to) != to) /* rounds once */
        v = call(l, FN_F64_TO_ODD, DTYPE_F32, v);
    else
        v = expr_cast(l->x, v, register_type(to));
    if (register_type(to) == to || widens(from, to)) return v;
    return value_round(l, v, to);
}

struct expr *value_part(struct lowering *l, struct array *a, struct expr *word, int32_t part) {
    struct expr *args[2] = {element(l, a, word), expr_int(l->x, part, DTYPE_U32)}, *bits;
    int32_t parts = array_parts(a);

    if (parts == 1) return value_of_bits(l, args[0], a->element);
    bits = expr_op(l->x, parts == 2 ? FN_PART_16 : FN_PART_8, DTYPE_U32, 2, args);
    return value_of_bits(l, bits, a->element);
}

/* Bits of a part of a packed word, as the packing functions take them. */
static struct expr *part_bits(struct lowering *l, struct expr *v, enum dtype t) {
    struct expr *bits = value_bits(l, v, t);

    if (bits->kind == EXPR_CAST && bits->args[0]->kind == EXPR_OP &&
        (bits->args[0]->fn == FN_PART_16 || bits->args[0]->fn == FN_PART_8))
        return bits->args[0];
    if (bits->dtype == DTYPE_U32) return bits;
    if (dtype_bits(t) == 16)
        bits = expr_cast(l->x, bits, DTYPE_U16);
    else if (t != DTYPE_BOOL)
        bits = expr_cast(l->x, bits, DTYPE_U8);
    return expr_cast(l->x, bits, DTYPE_U32);
}

/* All parts of one word in their places: the word itself. */
static struct expr *whole_word(struct expr *const *bits, int32_t parts) {
    enum function fn = parts == 2 ? FN_PART_16 : FN_PART_8;
    int64_t which;
    int32_t i;

    for (i = 0; i < parts; i++)
        if (!is_call(bits[i], fn) || bits[i]->args[0] != bits[0]->args[0] ||
            !expr_is_int(bits[i]->args[1], &which) || which != i)
            return NULL;
    return bits[0]->args[0];
}

static struct expr *unrounded(struct expr *bits, enum function fn) {
    return is_call(bits, fn) ? bits->args[0] : NULL;
}

/* The word of parts that are at hand as bits: held in one, or constants. NULL: they are not. */
static struct expr *known_word(struct lowering *l, struct expr *const *v, enum dtype t) {
    int32_t parts = 32 / dtype_bits(t), i;
    struct expr *bits[4], *word;
    uint64_t value = 0;
    int64_t part;

    for (i = 0; i < parts; i++) bits[i] = part_bits(l, v[i], t);
    word = whole_word(bits, parts);
    if (word) return word;
    for (i = 0; i < parts; i++) {
        if (!expr_is_int(bits[i], &part)) return NULL;
        value |= ((uint64_t)part & ((1u << dtype_bits(t)) - 1)) << (i * dtype_bits(t));
    }
    return expr_int(l->x, (int64_t)value, DTYPE_U32);
}

/* One condition chooses all parts: it chooses the word. */
static struct expr *chosen_word(struct lowering *l, struct expr *const *v, enum dtype t) {
    int32_t parts = 32 / dtype_bits(t), i, side;
    struct expr *word[2];

    for (i = 0; i < parts; i++)
        if (v[i]->kind != EXPR_SELECT || v[i]->args[0] != v[0]->args[0]) return NULL;
    for (side = 0; side < 2; side++) {
        struct expr *part[4];

        for (i = 0; i < parts; i++) part[i] = v[i]->args[1 + side];
        word[side] = known_word(l, part, t);
        if (!word[side]) return NULL;
    }
    return expr_select(l->x, v[0]->args[0], word[0], word[1]);
}

struct expr *value_pack(struct lowering *l, struct expr *const *v, enum dtype t) {
    int32_t parts = 32 / dtype_bits(t), i;
    struct expr *bits[4], *word = chosen_word(l, v, t), *wide[2];

    if (word) return word;
    for (i = 0; i < parts; i++) bits[i] = part_bits(l, v[i], t);
    word = whole_word(bits, parts);
    if (word) return word;
    if (t == DTYPE_F16 || t == DTYPE_BF16) {
        wide[0] = unrounded(bits[0], to_bits(t));
        wide[1] = unrounded(bits[1], to_bits(t));
        if (wide[0] && wide[1])
            return expr_op(l->x, t == DTYPE_F16 ? FN_PACK_F16 : FN_PACK_BF16, DTYPE_U32, 2, wide);
    }
    return expr_op(l->x, parts == 2 ? FN_PACK_16 : FN_PACK_8, DTYPE_U32, parts, bits);
}

struct expr *value_safe(struct lowering *l, const struct buffer *b) {
    enum dtype t = register_type(b->dtype);

    if (b->safe_value)
        return value_cast(l, value_lower(l, &(struct site){.env = l->env}, b->safe_value),
                          b->safe_value->dtype, b->dtype);
    return dtype_is_float(t) ? expr_float(l->x, 0.0, t)
           : t == DTYPE_BOOL ? expr_bool(l->x, false)
                             : expr_int(l->x, 0, t);
}

/* Results that need no rounding: one of the arguments, its sign changed, or an integer. */
static bool is_selection(enum function fn) {
    switch (fn) {
    case FN_NEG:
    case FN_ABS:
    case FN_MIN:
    case FN_MAX:
    case FN_MIN_NAN:
    case FN_MAX_NAN:
    case FN_FLOOR:
    case FN_CEIL:
    case FN_TRUNC:
    case FN_ROUND:
    case FN_RINT:
    case FN_NEARBYINT:
    case FN_COPYSIGN: return true;
    default: return false;
    }
}

static struct expr *lower_op(struct lowering *l, const struct site *s, struct expr *e) {
    enum dtype t = register_type(e->dtype);
    struct expr *args[4], *v;
    int i;

    for (i = 0; i < e->count && i < 4; i++) args[i] = value_lower(l, s, e->args[i]);
    v = expr_op(l->x, e->fn, t, e->count, args);
    return t == e->dtype || is_selection(e->fn) ? v : value_round(l, v, e->dtype);
}

static struct expr *lower_variable(struct lowering *l, const struct site *s, struct expr *e) {
    const struct env *env;

    for (env = s->env; env; env = env->outer)
        if (env->var == e->var) return env->source ? value_lower(l, s, env->value) : env->value;
    return expr_cast(l->x, e, register_type(e->dtype));
}

static struct expr *fragment_value(struct lowering *l, const struct site *s, struct expr *load) {
    struct coordinate c[TILE_RANK];
    struct slot slot;
    int i;

    for (i = 0; i < load->count; i++)
        c[i] = s->plan ? plan_index(l, s->plan, bind_source(l, load->args[i], s->env), s->element)
                       : coordinate_of(l, value_lower(l, s, load->args[i]));
    if (!fragment_slot(l, load->buffer, c, &slot)) {
        fault(l, "a register number that depends on the thread");
        return value_safe(l, load->buffer);
    }
    return value_part(l, slot.array, slot.word, slot.part);
}

static struct expr *register_value(struct lowering *l, const struct site *s, struct expr *load) {
    struct array *a = l->arrays[load->buffer->id];
    struct expr *index = NULL;
    int i;

    if (load->buffer->scope == SCOPE_FRAGMENT) return fragment_value(l, s, load);
    for (i = 0; i < load->count; i++)
        index = plus(l, index ? times(l, index, load->buffer->extent[i]) : NULL,
                     value_lower(l, s, load->args[i]));
    return element(l, a, index ? index : ix(l, 0));
}

static struct expr *lower_load(struct lowering *l, const struct site *s, struct expr *load) {
    int i;

    if (!in_memory(l, load->buffer)) return register_value(l, s, load);
    for (i = l->loaded.count - 1; i >= 0; i--)
        if (l->loaded.at[i].load == load && l->loaded.at[i].element == s->element)
            return l->loaded.at[i].value;
    return scalar_load(l, s, load);
}

/* Are there memory reads that have not been made yet? */
struct pending {
    struct lowering *l;
    const struct site *s;
    bool found;
};

static struct expr *look_for_load(struct expr *e, void *data) {
    struct pending *p = data;
    int i;

    if (e->kind != EXPR_LOAD || !in_memory(p->l, e->buffer)) return NULL;
    for (i = 0; i < p->l->loaded.count; i++)
        if (p->l->loaded.at[i].load == e && p->l->loaded.at[i].element == p->s->element)
            return NULL;
    p->found = true;
    return NULL;
}

static bool has_pending(struct lowering *l, const struct site *s, struct expr *e) {
    struct pending p = {l, s, false};

    if (expr_has_load(e)) expr_rewrite_where(l->x, e, HOLDS_LOAD, look_for_load, &p);
    return p.found;
}

/* A choice whose arms read memory: a branch, so that only the chosen arm reads. */
static struct expr *lower_branch(struct lowering *l, const struct site *s, struct expr *test,
                                 struct expr *yes, struct expr *no) {
    struct var *v = add_var(l, "chosen", register_type(yes->dtype), NULL);
    struct expr *const arm[2] = {yes, no};
    struct kblock *saved = add_if(l, test);
    int known = l->loaded.count, i;
    struct kstmt *set;
    struct expr *value;

    for (i = 0; i < 2; i++) {
        if (i == 1) add_else(l, saved);
        value = value_lower(l, s, arm[i]);
        set = add(l, K_SET);
        set->set.var = v;
        set->set.value = value;
        l->loaded.count = known;
    }
    out_leave(l, saved);
    return expr_var(l->x, v);
}

static struct expr *lower_choice(struct lowering *l, const struct site *s, struct expr *e) {
    struct expr *test = value_lower(l, s, e->args[0]);

    if (e->kind == EXPR_SELECT) {
        if (has_pending(l, s, e->args[1]) || has_pending(l, s, e->args[2]))
            return lower_branch(l, s, test, e->args[1], e->args[2]);
        return expr_select(l->x, test, value_lower(l, s, e->args[1]),
                           value_lower(l, s, e->args[2]));
    }
    if (!has_pending(l, s, e->args[1]))
        return expr_binary(l->x, e->fn, test, value_lower(l, s, e->args[1]));
    if (e->fn == FN_LAND) return lower_branch(l, s, test, e->args[1], expr_bool(l->x, false));
    return lower_branch(l, s, test, expr_bool(l->x, true), e->args[1]);
}

struct expr *value_lower(struct lowering *l, const struct site *s, struct expr *e) {
    switch (e->kind) {
    case EXPR_INT: return e;
    case EXPR_FLOAT: return expr_float(l->x, e->number, register_type(e->dtype));
    case EXPR_VAR: return lower_variable(l, s, e);
    case EXPR_CAST:
        return value_cast(l, value_lower(l, s, e->args[0]), e->args[0]->dtype, e->dtype);
    case EXPR_SELECT: return lower_choice(l, s, e);
    case EXPR_LOAD: return lower_load(l, s, e);
    case EXPR_OP:
        if (e->fn == FN_LAND || e->fn == FN_LOR) return lower_choice(l, s, e);
        return lower_op(l, s, e);
    case EXPR_ELEMENT: break;
    }
    return e;
}
