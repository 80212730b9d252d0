/* pairs.c: arithmetic of two 16-bit floats in one word, where a packed word holds the operands.
 *
 * Two neighbouring elements of a vector body have values of one shape. Where such a pair of values
 * is an f16 or bf16 operation, it becomes one instruction on the word that holds the operands, and
 * its results are the parts of the word that this gives. The bits are those of the way through f32:
 * f32 has more than twice the fraction bits of f16 and two more, so rounding to it first is no
 * second rounding. (Not so for FMA, which stays.) */
#include "internal.h"

struct pair_op {
    enum function fn; /* on f32 */
    enum function f16, bf16;
    bool rounds;    /* the f32 way rounds to the type behind it */
    int capability; /* from which on, for f16; bf16: sm_80 */
};

static const struct pair_op pair_ops[] = {
    {FN_ADD, FN_ADD_F16X2, FN_ADD_BF16X2, true, 0},
    {FN_SUB, FN_SUB_F16X2, FN_SUB_BF16X2, true, 0},
    {FN_MUL, FN_MUL_F16X2, FN_MUL_BF16X2, true, 0},
    {FN_MIN, FN_MIN_F16X2, FN_MIN_BF16X2, false, 80},
    {FN_MAX, FN_MAX_F16X2, FN_MAX_BF16X2, false, 80},
};

static bool is_op(const struct expr *e, enum function fn) {
    return e->kind == EXPR_OP && e->fn == fn;
}

static enum function widening(enum dtype t) {
    return t == DTYPE_F16 ? FN_F16_TO_F32 : FN_BF16_TO_F32;
}

static enum function narrowing(enum dtype t) {
    return t == DTYPE_F16 ? FN_F32_TO_F16 : FN_F32_TO_BF16;
}

static struct expr *binary_of(struct lowering *l, enum function fn, struct expr *a,
                              struct expr *b) {
    struct expr *args[2] = {a, b};

    return expr_op(l->x, fn, DTYPE_U32, 2, args);
}

static const struct pair_op *pair_op_of(struct lowering *l, const struct expr *e, enum dtype t) {
    int count = sizeof pair_ops / sizeof *pair_ops, i;

    for (i = 0; e->kind == EXPR_OP && i < count; i++)
        if (pair_ops[i].fn == e->fn)
            return module_at_least(l->m, TRAIT_CAPABILITY,
                                   t == DTYPE_F16 ? pair_ops[i].capability : 80)
                       ? &pair_ops[i]
                       : NULL;
    return NULL;
}

/* The word whose parts these values are; NULL if there is none. */
static struct expr *word_at_hand(struct expr *const v[2], enum dtype t) {
    const struct expr *bits;
    struct expr *word = NULL;
    int64_t which;
    int i;

    for (i = 0; i < 2; i++) {
        if (!is_op(v[i], widening(t))) return NULL;
        bits = v[i]->args[0];
        if (!is_op(bits, FN_PART_16) || !expr_is_int(bits->args[1], &which) || which != i ||
            (word && bits->args[0] != word))
            return NULL;
        word = bits->args[0];
    }
    return word;
}

/* What the f32 operation is, without the rounding behind it. */
static bool unround(struct expr *const v[2], enum dtype t, struct expr *out[2]) {
    int i;

    for (i = 0; i < 2; i++) {
        if (!is_op(v[i], widening(t)) || !is_op(v[i]->args[0], narrowing(t))) return false;
        out[i] = v[i]->args[0]->args[0];
    }
    return true;
}

/* Is the f32 value e surely one of t? */
static bool holds(const struct expr *e, enum dtype t) {
    bool narrow = t == DTYPE_F16 || t == DTYPE_BF16;

    if (e->kind == EXPR_CAST) return e->args[0]->kind == EXPR_VAR && e->args[0]->dtype == t;
    if (e->kind == EXPR_FLOAT) return scalar_round(e->number, t) == e->number;
    if (e->kind == EXPR_SELECT) return holds(e->args[1], t) && holds(e->args[2], t);
    if (e->kind != EXPR_OP) return false;
    switch (e->fn) {
    case FN_E4M3_TO_F32:
    case FN_E5M2_TO_F32: return narrow;
    case FN_NEG:
    case FN_ABS:
    case FN_FLOOR:
    case FN_CEIL:
    case FN_TRUNC: return holds(e->args[0], t);
    case FN_MIN:
    case FN_MAX: return holds(e->args[0], t) && holds(e->args[1], t);
    default: return e->fn == widening(t);
    }
}

static struct expr *pair_word(struct lowering *l, struct expr *const v[2], enum dtype t);

/* Sign operations are bit operations. */
static struct expr *sign_word(struct lowering *l, struct expr *const v[2], enum dtype t) {
    struct expr *arg[2], *word;

    if (!(is_op(v[0], FN_NEG) && is_op(v[1], FN_NEG)) &&
        !(is_op(v[0], FN_ABS) && is_op(v[1], FN_ABS)))
        return NULL;
    arg[0] = v[0]->args[0];
    arg[1] = v[1]->args[0];
    word = pair_word(l, arg, t);
    if (!word) return NULL;
    return v[0]->fn == FN_NEG ? binary_of(l, FN_XOR, word, expr_int(l->x, 0x80008000, DTYPE_U32))
                              : binary_of(l, FN_AND, word, expr_int(l->x, 0x7fff7fff, DTYPE_U32));
}

static struct expr *operation_word(struct lowering *l, const struct pair_op *row,
                                   struct expr *const v[2], enum dtype t) {
    struct expr *arg[2][2], *operand[2];
    int i;

    for (i = 0; i < 2; i++) {
        arg[i][0] = v[0]->args[i];
        arg[i][1] = v[1]->args[i];
        if (!holds(arg[i][0], t) || !holds(arg[i][1], t)) return NULL;
        operand[i] = pair_word(l, arg[i], t);
    }
    if (!operand[0] && !operand[1]) return NULL;
    for (i = 0; i < 2; i++)
        if (!operand[i]) operand[i] = value_pack(l, arg[i], t);
    return binary_of(l, t == DTYPE_F16 ? row->f16 : row->bf16, operand[0], operand[1]);
}

/* The word of a pair of operations on values of t, or the word that the pair comes from; NULL if
 * the pair is better left as it is. */
static struct expr *pair_word(struct lowering *l, struct expr *const v[2], enum dtype t) {
    struct expr *word = word_at_hand(v, t), *inner[2] = {v[0], v[1]};
    const struct pair_op *row;
    bool rounds;

    if (word || v[0] == v[1]) return word;
    rounds = unround(v, t, inner);
    row = pair_op_of(l, inner[0], t);
    if (!row) return rounds ? NULL : sign_word(l, v, t);
    if (!is_op(inner[1], inner[0]->fn) || (row->rounds && !rounds)) return NULL;
    return operation_word(l, row, inner, t);
}

struct rewriting {
    struct lowering *l;
    enum dtype t;
    const char *name; /* of the words */
    int depth;
};

static bool rewrite(struct rewriting *r, struct expr *v[2]);

static struct expr *rebuild(struct lowering *l, const struct expr *e, struct expr *const *args) {
    if (e->kind == EXPR_CAST) return expr_cast(l->x, args[0], e->dtype);
    if (e->kind == EXPR_SELECT) return expr_select(l->x, args[0], args[1], args[2]);
    return expr_op(l->x, e->fn, e->dtype, e->count, args);
}

static bool rewrite_arguments(struct rewriting *r, struct expr *v[2]) {
    struct expr *args[2][4], *both[2];
    bool changed = false;
    int i;

    if (v[0]->kind != EXPR_OP && v[0]->kind != EXPR_CAST && v[0]->kind != EXPR_SELECT) return false;
    if (v[0] == v[1] || v[0]->kind != v[1]->kind || v[0]->count != v[1]->count ||
        v[0]->dtype != v[1]->dtype || v[0]->count > 4 ||
        (v[0]->kind == EXPR_OP && v[0]->fn != v[1]->fn))
        return false;
    r->depth++;
    for (i = 0; i < v[0]->count; i++) {
        both[0] = v[0]->args[i];
        both[1] = v[1]->args[i];
        changed |= rewrite(r, both);
        args[0][i] = both[0];
        args[1][i] = both[1];
    }
    r->depth--;
    if (!changed) return false;
    for (i = 0; i < 2; i++) v[i] = rebuild(r->l, v[i], args[i]);
    return true;
}

/* The values of the parts of a word. */
static void parts_of(struct lowering *l, struct expr *word, enum dtype t, struct expr *out[2]) {
    struct expr *bits;
    int i;

    for (i = 0; i < 2; i++) {
        bits = binary_of(l, FN_PART_16, word, expr_int(l->x, i, DTYPE_U32));
        out[i] = expr_op(l->x, widening(t), DTYPE_F32, 1, &bits);
    }
}

/* A sign that f32 arithmetic takes is free there. */
static bool rewrite(struct rewriting *r, struct expr *v[2]) {
    bool sign = is_op(v[0], FN_NEG) || is_op(v[0], FN_ABS);
    struct expr *word;

    if (word_at_hand(v, r->t)) return false;
    word = sign && r->depth > 0 ? NULL : pair_word(r->l, v, r->t);
    if (!word) return rewrite_arguments(r, v);
    parts_of(r->l, expr_var(r->l->x, add_var(r->l, r->name, DTYPE_U32, word)), r->t, v);
    return true;
}

void pairs_make(struct lowering *l, const char *name, struct expr **values, int32_t count) {
    struct rewriting f16 = {l, DTYPE_F16, name, 0}, bf16 = {l, DTYPE_BF16, name, 0};
    int32_t e;

    for (e = 0; e + 1 < count; e += 2) {
        rewrite(&f16, values + e);
        rewrite(&bf16, values + e);
    }
}

bool pair_held(struct lowering *l, const char *name, struct expr *values[2], enum dtype t) {
    struct expr *word;

    if (t != DTYPE_F16 && t != DTYPE_BF16) return false;
    word = word_at_hand(values, t);
    if (!word) return false;
    if (word->kind != EXPR_VAR) word = expr_var(l->x, add_var(l, name, DTYPE_U32, word));
    parts_of(l, word, t, values);
    return true;
}
