/* algebra.c: canonical form, validity, places and their inverse, and surgery on axes.
 *
 * The digits of a space are positional, so a place is read like a number: by the largest stride
 * first, the quotient is the digit. */
#include "layout/algebra/internal.h"
#include <assert.h>
#include <string.h>

/* The terms of a space fit a block: 32 lanes, 32 warps; the others 31 bits. */
static const int64_t widest_span[SPACE_COUNT] = {
    [SPACE_REG] = INT32_MAX, [SPACE_LANE] = 32, [SPACE_WARP] = 32, [SPACE_OFF] = INT32_MAX};

struct layout layout_none(void) {
    return (struct layout){.rank = -1};
}
bool layout_is_none(const struct layout *l) { return l->rank < 0; }

/* -- Digits ------------------------------------------------------------------------------------ */

void layout_push(struct layout_axis *axis, struct digit d) {
    if (d.radix == 1) return;
    assert(axis->count < LAYOUT_DIGITS);
    axis->digit[axis->count++] = d;
}

void layout_push_rep(struct layout *l, struct digit d) {
    if (d.radix == 1) return;
    assert(l->reps < LAYOUT_REPS);
    l->rep[l->reps++] = d;
}

static int insert_term(struct term *out, int count, struct term t) {
    int i = count;
    for (; i > 0 && out[i - 1].stride > t.stride; i--) out[i] = out[i - 1];
    out[i] = t;
    return count + 1;
}

int layout_terms(const struct layout *l, enum space s, struct term *out) {
    int count = 0;
    for (int a = 0; a < l->rank; a++) {
        int64_t weight = 1;
        for (int i = 0; i < l->axis[a].count; i++) {
            struct digit d = l->axis[a].digit[i];
            if (d.space == s && d.radix > 1)
                count = insert_term(out, count,
                                    (struct term){d.radix, d.stride, weight, l->axis[a].extent, a});
            weight *= d.radix;
        }
    }
    for (int i = 0; i < l->reps; i++)
        if (l->rep[i].space == s && l->rep[i].radix > 1)
            count = insert_term(out, count,
                                (struct term){l->rep[i].radix, l->rep[i].stride, 0, 0, REP});
    return count;
}

static bool fuses(struct digit low, struct digit high) {
    return low.space == high.space && high.stride == (int64_t)low.stride * low.radix;
}

/* Drops radix 1, fuses neighbours, clears what is left over; returns the new count. */
static int fuse_digits(struct digit *d, int count, int room) {
    int n = 0;
    for (int i = 0; i < count; i++) {
        if (d[i].radix == 1) continue;
        if (n > 0 && fuses(d[n - 1], d[i]))
            d[n - 1].radix *= d[i].radix;
        else
            d[n++] = d[i];
    }
    for (int i = n; i < room; i++) d[i] = (struct digit){0};
    return n;
}

static void sort_reps(struct layout *l) {
    for (int i = 1; i < l->reps; i++) {
        struct digit d = l->rep[i];
        int j = i;
        for (; j > 0 && (l->rep[j - 1].space > d.space ||
                         (l->rep[j - 1].space == d.space && l->rep[j - 1].stride > d.stride));
             j--)
            l->rep[j] = l->rep[j - 1];
        l->rep[j] = d;
    }
}

/* -- Canonical form ---------------------------------------------------------------------------- */

struct layout layout_canonical(const struct layout *l) {
    if (l->rank < 0) return layout_none();
    struct layout c = *l;
    for (int a = 0; a < c.rank; a++)
        c.axis[a].count = fuse_digits(c.axis[a].digit, c.axis[a].count, LAYOUT_DIGITS);
    for (int a = c.rank; a < LAYOUT_RANK; a++) c.axis[a] = (struct layout_axis){0};
    sort_reps(&c);
    c.reps = fuse_digits(c.rep, c.reps, LAYOUT_REPS);
    for (int i = c.xors; i < LAYOUT_XORS; i++) c.xor_term[i] = (struct layout_xor){0};
    return c;
}

static bool digits_equal(const struct digit *a, const struct digit *b, int count) {
    for (int i = 0; i < count; i++)
        if (a[i].radix != b[i].radix || a[i].stride != b[i].stride || a[i].space != b[i].space)
            return false;
    return true;
}

/* Field by field: the padding of a struct has no defined value. */
bool layout_equal(const struct layout *a, const struct layout *b) {
    if (a->rank != b->rank) return false;
    if (a->rank < 0) return true;
    if (a->reps != b->reps || a->xors != b->xors) return false;
    for (int i = 0; i < a->rank; i++) {
        const struct layout_axis *x = &a->axis[i], *y = &b->axis[i];
        if (x->extent != y->extent || x->count != y->count) return false;
        if (!digits_equal(x->digit, y->digit, x->count)) return false;
    }
    for (int i = 0; i < a->xors; i++) {
        struct layout_xor x = a->xor_term[i], y = b->xor_term[i];
        if (x.target != y.target || x.source != y.source || x.length != y.length) return false;
    }
    return digits_equal(a->rep, b->rep, a->reps);
}

/* -- Validity ---------------------------------------------------------------------------------- */

static const char *digit_fault(struct digit d) {
    if (d.radix < 1) return "a radix below 1";
    if (d.stride < 1) return "a stride below 1";
    if (d.space >= SPACE_COUNT) return "an unknown space";
    return NULL;
}

static const char *axis_fault(const struct layout_axis *axis) {
    if (axis->extent < 1) return "an extent below 1";
    if (axis->count < 0 || axis->count > LAYOUT_DIGITS) return "too many digits";
    int64_t size = 1;
    for (int i = 0; i < axis->count; i++) {
        const char *fault = digit_fault(axis->digit[i]);
        if (fault) return fault;
        size *= axis->digit[i].radix;
        if (size > INT32_MAX) return "an axis beyond 31 bits";
    }
    return size < axis->extent ? "digits that do not reach the extent" : NULL;
}

/* REG copies are bounded so that those of LANE and WARP (4 each at most: 2@1 2@3 2@7 2@15) always
 * find room when an axis is dropped. */
static const char *rep_fault(const struct layout *l) {
    int registers = 0;
    if (l->reps < 0 || l->reps > LAYOUT_REPS) return "too many reps";
    for (int i = 0; i < l->reps; i++) {
        const char *fault = digit_fault(l->rep[i]);
        if (fault) return fault;
        if (l->rep[i].space == SPACE_OFF) return "copies in memory";
        registers += l->rep[i].space == SPACE_REG;
    }
    return registers > 4 ? "too many reps in registers" : NULL;
}

static const char *xor_fault(const struct layout *l) {
    if (l->xors < 0 || l->xors > LAYOUT_XORS) return "too many xor terms";
    for (int i = 0; i < l->xors; i++) {
        struct layout_xor x = l->xor_term[i];
        if (x.length < 1 || x.target + x.length > x.source || x.source + x.length > 30)
            return "an xor term whose bits overlap or are none";
    }
    return NULL;
}

static const char *space_fault(const struct layout *l, enum space s) {
    struct term terms[TERMS];
    int count = layout_terms(l, s, terms);
    int64_t span = 1;
    for (int i = 0; i < count; i++) {
        if (terms[i].stride < span) return "digits that overlap";
        span += (terms[i].radix - 1) * terms[i].stride;
        if (span > widest_span[s]) return "digits beyond the last place of their space";
    }
    return NULL;
}

bool layout_valid(const struct layout *l, const char **why) {
    *why = NULL;
    if (l->rank < 0) return true;
    if (l->rank > LAYOUT_RANK) *why = "too many axes";
    for (int a = 0; !*why && a < l->rank; a++) *why = axis_fault(&l->axis[a]);
    if (!*why) *why = rep_fault(l);
    if (!*why) *why = xor_fault(l);
    for (int s = 0; !*why && s < SPACE_COUNT; s++) *why = space_fault(l, (enum space)s);
    return !*why;
}

/* -- Places ------------------------------------------------------------------------------------ */

static int64_t xor_bits(struct layout_xor x, int64_t offset) {
    int64_t mask = ((int64_t)1 << x.length) - 1;
    return offset ^ (((offset >> x.source) & mask) << x.target);
}

int64_t layout_xor_offset(const struct layout *l, int64_t offset) {
    for (int i = 0; i < l->xors; i++) offset = xor_bits(l->xor_term[i], offset);
    return offset;
}

/* Each term leaves its source bits alone, so it undoes itself. */
int64_t layout_unxor_offset(const struct layout *l, int64_t offset) {
    for (int i = l->xors - 1; i >= 0; i--) offset = xor_bits(l->xor_term[i], offset);
    return offset;
}

struct place layout_place(const struct layout *l, const int64_t *coordinate) {
    int64_t value[SPACE_COUNT] = {0};
    for (int a = 0; a < l->rank; a++) {
        int64_t x = coordinate[a];
        for (int i = 0; i < l->axis[a].count; i++) {
            struct digit d = l->axis[a].digit[i];
            value[d.space] += x % d.radix * d.stride;
            x /= d.radix;
        }
    }
    return (struct place){value[SPACE_REG], value[SPACE_LANE], value[SPACE_WARP],
                          layout_xor_offset(l, value[SPACE_OFF])};
}

/* Adds to the coordinates what a value of one space says of them. */
static bool read_space(const struct layout *l, enum space s, int64_t value, int64_t *coordinate) {
    struct term terms[TERMS];
    if (value == 0) return true;
    for (int i = layout_terms(l, s, terms) - 1; i >= 0; i--) {
        int64_t digit = value / terms[i].stride;
        if (digit >= terms[i].radix) return false;
        value -= digit * terms[i].stride;
        if (terms[i].axis != REP) coordinate[terms[i].axis] += digit * terms[i].weight;
    }
    return value == 0;
}

bool layout_coordinate(const struct layout *l, struct place p, int64_t *coordinate) {
    if (p.reg < 0 || p.lane < 0 || p.warp < 0 || p.off < 0) return false;
    for (int a = 0; a < l->rank; a++) coordinate[a] = 0;
    if (!read_space(l, SPACE_REG, p.reg, coordinate) ||
        !read_space(l, SPACE_LANE, p.lane, coordinate) ||
        !read_space(l, SPACE_WARP, p.warp, coordinate) ||
        !read_space(l, SPACE_OFF, layout_unxor_offset(l, p.off), coordinate))
        return false;
    for (int a = 0; a < l->rank; a++)
        if (coordinate[a] >= l->axis[a].extent) return false;
    return true;
}

static int64_t round_up(int64_t value, int64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

/* The largest value that the digit adds to the space. */
static int64_t digit_reach(struct digit d, enum space s) {
    return d.space == s ? (int64_t)(d.radix - 1) * d.stride : 0;
}

int64_t layout_span(const struct layout *l, enum space s) {
    int64_t span = 1;
    for (int a = 0; a < l->rank; a++)
        for (int i = 0; i < l->axis[a].count; i++) span += digit_reach(l->axis[a].digit[i], s);
    for (int i = 0; i < l->reps; i++) span += digit_reach(l->rep[i], s);
    for (int i = 0; s == SPACE_OFF && i < l->xors; i++)
        span = round_up(span, (int64_t)1 << (l->xor_term[i].target + l->xor_term[i].length));
    return span;
}

/* -- Axes -------------------------------------------------------------------------------------- */

struct layout layout_permute(const struct layout *l, const int *axes) {
    struct layout p = *l;
    for (int a = 0; a < l->rank; a++) p.axis[a] = l->axis[axes[a]];
    return layout_canonical(&p);
}

/* Gives the REG digits that are left the strides they have without gaps. */
static void close_registers(struct layout *l) {
    struct digit *list[TERMS];
    int count = 0;
    for (int a = 0; a <= l->rank; a++) {
        struct digit *d = a < l->rank ? l->axis[a].digit : l->rep;
        int n = a < l->rank ? l->axis[a].count : l->reps;
        for (int i = 0; i < n; i++) {
            if (d[i].space != SPACE_REG) continue;
            int j = count++;
            for (; j > 0 && list[j - 1]->stride > d[i].stride; j--) list[j] = list[j - 1];
            list[j] = &d[i];
        }
    }
    int32_t stride = 1;
    for (int i = 0; i < count; i++) {
        list[i]->stride = stride;
        stride *= list[i]->radix;
    }
}

struct layout layout_drop(const struct layout *l, int axis) {
    struct layout r = *l;
    assert(axis >= 0 && axis < l->rank);
    for (int a = axis; a + 1 < l->rank; a++) r.axis[a] = l->axis[a + 1];
    r.axis[--r.rank] = (struct layout_axis){0};
    for (int i = 0; i < l->axis[axis].count; i++) {
        struct digit d = l->axis[axis].digit[i];
        if (d.space == SPACE_LANE || d.space == SPACE_WARP) layout_push_rep(&r, d);
    }
    close_registers(&r);
    return layout_canonical(&r);
}

static bool is_memory(const struct layout *l) {
    for (int a = 0; a < l->rank; a++)
        for (int i = 0; i < l->axis[a].count; i++)
            if (l->axis[a].digit[i].space != SPACE_OFF) return false;
    return l->reps == 0;
}

/* What slots of a ring are apart: the XOR terms see the same bits in each. */
static int64_t slot_stride(const struct layout *l, enum space s) {
    int64_t stride = layout_span(l, s);
    for (int i = 0; s == SPACE_OFF && i < l->xors; i++)
        stride = round_up(stride, (int64_t)1 << (l->xor_term[i].source + l->xor_term[i].length));
    return stride;
}

struct layout layout_insert(const struct layout *l, int axis, int32_t extent) {
    struct layout r = *l;
    assert(l->rank < LAYOUT_RANK && axis >= 0 && axis <= l->rank);
    for (int a = l->rank; a > axis; a--) r.axis[a] = l->axis[a - 1];
    r.rank++;
    enum space s = is_memory(l) ? SPACE_OFF : SPACE_REG;
    r.axis[axis] = (struct layout_axis){.extent = extent};
    layout_push(&r.axis[axis], (struct digit){extent, (int32_t)slot_stride(l, s), (uint8_t)s});
    return layout_canonical(&r);
}

struct layout layout_append_axis(const struct layout *l, int32_t extent, struct digit d) {
    struct layout r = *l;
    assert(l->rank < LAYOUT_RANK && d.radix >= extent);
    r.axis[r.rank] = (struct layout_axis){.extent = extent};
    layout_push(&r.axis[r.rank++], d);
    return layout_canonical(&r);
}

bool layout_split(struct layout *l, int axis, int32_t weight) {
    struct layout_axis *x = &l->axis[axis];
    int64_t below = 1;
    int i = 0;
    while (i < x->count && below * x->digit[i].radix <= weight) below *= x->digit[i++].radix;
    if (i == x->count || below == weight) return true;
    struct digit d = x->digit[i];
    if (weight % below != 0 || d.radix % (weight / below) != 0) return false;
    if (x->count == LAYOUT_DIGITS) return false;
    int32_t low = (int32_t)(weight / below);
    for (int j = x->count++; j > i + 1; j--) x->digit[j] = x->digit[j - 1];
    x->digit[i].radix = low;
    x->digit[i + 1] = (struct digit){d.radix / low, d.stride * low, d.space};
    return true;
}
