/* fit.c: offsets in shared memory and numbers of registers, split by what they depend on.
 *
 * A swizzled offset is T ^ L + A: T depends on the thread alone and is computed once, L and A are
 * constants once the loops are unrolled, L touching only bits that an XOR term can change. That
 * holds where the digits are powers of two: then every field has bits of its own, and the XOR terms
 * are linear over them. Anything else computes the offset and applies the XOR terms to it. */
#include "internal.h"

int32_t array_parts(const struct array *a) {
    return a->dtype == a->element || a->dtype != DTYPE_U32 ? 1 : 32 / dtype_bits(a->element);
}

static int log2_of(int64_t v) {
    int n = 0;

    while (v > 1 && v % 2 == 0) {
        v /= 2;
        n++;
    }
    return v == 1 ? n : -1;
}

/* offset ^ … for each XOR term, in bytes. */
static struct expr *apply_xors(struct lowering *l, const struct layout *layout, int shift,
                               struct expr *offset) {
    const struct layout_xor *t;
    struct expr *bits;
    int i;

    for (i = 0; i < layout->xors; i++) {
        t = &layout->xor_term[i];
        bits = expr_binary(l->x, FN_FLOORDIV, offset, ix(l, (int64_t)1 << (t->source + shift)));
        bits = expr_binary(l->x, FN_FLOORMOD, bits, ix(l, (int64_t)1 << t->length));
        bits = times(l, bits, (int64_t)1 << (t->target + shift));
        offset = expr_binary(l->x, FN_XOR, offset, bits);
    }
    return offset;
}

static uint64_t xor_bits(const struct layout *layout, int shift, uint64_t bits) {
    uint64_t mask;
    int i;

    for (i = 0; i < layout->xors; i++) {
        mask = (((uint64_t)1 << layout->xor_term[i].length) - 1)
               << (layout->xor_term[i].source + shift);
        bits |= (bits & mask) >> (layout->xor_term[i].source - layout->xor_term[i].target);
    }
    return bits;
}

/* Does some XOR term read these bits? */
static bool xor_reads(const struct layout *layout, int shift, uint64_t bits) {
    uint64_t mask;
    int i;

    for (i = 0; i < layout->xors; i++) {
        mask = (((uint64_t)1 << layout->xor_term[i].length) - 1)
               << (layout->xor_term[i].source + shift);
        if (bits & mask) return true;
    }
    return false;
}

/* All bits that XOR terms read or write lie below 1 << top. */
static int xor_top(const struct layout *layout, int shift) {
    int top = 0, i, end;

    for (i = 0; i < layout->xors; i++) {
        end = layout->xor_term[i].source + layout->xor_term[i].length + shift;
        top = end > top ? end : top;
    }
    return top;
}

/* No bit below is changed by an XOR term. */
static int xor_bottom(const struct layout *layout, int shift) {
    int bottom = 62, i;

    for (i = 0; i < layout->xors; i++)
        if (layout->xor_term[i].target + shift < bottom)
            bottom = layout->xor_term[i].target + shift;
    return bottom;
}

static uint64_t piece_bits(const struct piece *p) {
    int low = log2_of(p->scale), width = 0;

    while (((int64_t)1 << width) < p->radix) width++;
    return (((uint64_t)1 << width) - 1) << low;
}

/* Do all pieces that XOR terms can see have bits of their own? */
static bool pieces_linear(const struct pieces *p, int top) {
    uint64_t used = 0, bits;
    int i;

    for (i = 0; i < p->count; i++) {
        if (p->at[i].scale % ((int64_t)1 << top) == 0) continue;
        if (p->at[i].kind == FIELD_UNIFORM || log2_of(p->at[i].scale) < 0) return false;
        bits = piece_bits(&p->at[i]);
        if (used & bits) return false;
        used |= bits;
    }
    return true;
}

static bool of_thread(const struct piece *p) {
    return p->kind == FIELD_LANE || p->kind == FIELD_WARP;
}

/* Cuts pieces that are no thread's at a bit, so that one side of it needs no XOR. */
static bool split_pieces(struct lowering *l, struct pieces *p, int bit) {
    struct piece *low, high;
    int64_t below;
    int i, count = p->count;

    for (i = 0; i < count; i++) {
        low = &p->at[i];
        below = ((int64_t)1 << bit) / low->scale;
        if (of_thread(low) || low->kind == FIELD_UNIFORM || below <= 1 || low->radix <= below)
            continue;
        if (p->count == PIECES) return false;
        high = *low;
        high.scale *= below;
        high.radix = (high.radix + below - 1) / below;
        high.value = expr_binary(l->x, FN_FLOORDIV, low->value, ix(l, below));
        low->value = expr_binary(l->x, FN_FLOORMOD, low->value, ix(l, below));
        low->radix = below;
        p->at[p->count++] = high;
    }
    return true;
}

static struct expr *add_piece(struct lowering *l, struct expr *sum, const struct piece *p) {
    return plus(l, sum, times(l, p->value, p->scale));
}

static struct expr *all_pieces(struct lowering *l, const struct pieces *p) {
    struct expr *sum = NULL;
    int i;

    for (i = p->count - 1; i >= 0; i--) sum = add_piece(l, sum, &p->at[i]);
    return sum ? sum : ix(l, 0);
}

struct swizzle {
    const struct layout *layout;
    int shift, top; /* of elements to bytes; bits that XOR terms see lie below top */
};

/* Must the piece be XORed to the thread's part, rather than added? */
static bool needs_xor(const struct swizzle *z, const struct pieces *p, int which, uint64_t thread) {
    uint64_t image = xor_bits(z->layout, z->shift, piece_bits(&p->at[which])), other;
    int i;

    if (image & thread) return true;
    for (i = 0; i < p->count; i++) {
        if (i == which || of_thread(&p->at[i]) || p->at[i].scale % ((int64_t)1 << z->top) == 0)
            continue;
        other = xor_bits(z->layout, z->shift, piece_bits(&p->at[i]));
        if (image & other) return true;
    }
    return xor_reads(z->layout, z->shift, piece_bits(&p->at[which]));
}

static struct expr *through_xors(struct lowering *l, const struct swizzle *z, struct expr *sum,
                                 uint64_t bits) {
    if (!sum || !xor_reads(z->layout, z->shift, bits)) return sum;
    return apply_xors(l, z->layout, z->shift, sum);
}

static struct expr *linear_offset(struct lowering *l, const struct swizzle *z,
                                  const struct pieces *p) {
    struct expr *thread = NULL, *mask = NULL, *rest = NULL;
    uint64_t low = 0, mask_low = 0, image;
    bool high;
    int i;

    for (i = p->count - 1; i >= 0; i--) {
        if (!of_thread(&p->at[i])) continue;
        thread = add_piece(l, thread, &p->at[i]);
        if (p->at[i].scale % ((int64_t)1 << z->top) != 0) low |= piece_bits(&p->at[i]);
    }
    image = xor_bits(z->layout, z->shift, low);
    for (i = p->count - 1; i >= 0; i--) {
        if (of_thread(&p->at[i])) continue;
        high = p->at[i].scale % ((int64_t)1 << z->top) == 0;
        if (!high && needs_xor(z, p, i, image)) {
            mask = add_piece(l, mask, &p->at[i]);
            mask_low |= piece_bits(&p->at[i]);
        } else {
            rest = add_piece(l, rest, &p->at[i]);
        }
    }
    thread = through_xors(l, z, thread, low);
    mask = through_xors(l, z, mask, mask_low);
    if (thread && mask)
        thread = expr_binary(l->x, FN_XOR, thread, mask);
    else
        thread = thread ? thread : mask;
    rest = plus(l, thread, rest);
    return rest ? rest : ix(l, 0);
}

struct expr *shared_offset(struct lowering *l, const struct buffer *b, const struct coordinate *c) {
    struct swizzle z = {&b->layout, log2_of(dtype_bytes(b->dtype)), 0};
    struct coordinate opaque[TILE_RANK];
    struct pieces p;
    int i;

    if (!layout_pieces(l, &b->layout, SPACE_OFF, c, &p)) {
        for (i = 0; i < b->rank; i++) opaque[i] = coordinate_of(l, c[i].value);
        if (!layout_pieces(l, &b->layout, SPACE_OFF, opaque, &p))
            fault(l, "a shared buffer with too many layout digits");
    }
    for (i = 0; i < p.count; i++) p.at[i].scale *= dtype_bytes(b->dtype);
    z.top = xor_top(&b->layout, z.shift);
    if (!pieces_linear(&p, z.top) || !split_pieces(l, &p, xor_bottom(&b->layout, z.shift)) ||
        !split_pieces(l, &p, z.top))
        return apply_xors(l, &b->layout, z.shift, all_pieces(l, &p));
    return linear_offset(l, &z, &p);
}

/* The register number: constants apart, which select the part of a packed word. */
bool fragment_slot(struct lowering *l, const struct buffer *b, const struct coordinate *c,
                   struct slot *out) {
    struct pieces p;
    int64_t constant = 0, value;
    int32_t parts;
    int i;

    out->array = l->arrays[b->id];
    out->word = NULL;
    if (l->ahead[b->id].array) {
        out->array = l->ahead[b->id].array;
        out->word = l->ahead[b->id].base;
    }
    parts = array_parts(out->array);
    if (!layout_pieces(l, &b->layout, SPACE_REG, c, &p)) return false;
    for (i = 0; i < p.count; i++) {
        if (expr_is_int(p.at[i].value, &value)) {
            constant += value * p.at[i].scale;
            continue;
        }
        if (p.at[i].scale % parts != 0) return false;
        out->word = plus(l, out->word, times(l, p.at[i].value, p.at[i].scale / parts));
    }
    out->part = (int32_t)(constant % parts);
    out->word =
        constant / parts || !out->word ? plus(l, out->word, ix(l, constant / parts)) : out->word;
    return true;
}
