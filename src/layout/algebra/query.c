/* query.c: what moving between two layouts takes, vector widths, bank conflicts, sectors.
 *
 * Classification looks at one space at a time. Both layouts write the space as a number; where
 * their digits stand at the same strides, they agree for all elements exactly if each digit of the
 * target counts the same thing as the source's digit there, or meets a copy in the source. A digit
 * that differs is seen by the element at its weight; a digit whose weight is beyond the extent is
 * always 0 and counts as absent. Strides that do not divide one another are settled by enumeration.
 */
#include "layout/algebra/internal.h"
#include <string.h>

/* -- Classification ---------------------------------------------------------------------------- */

enum verdict { FOLLOWS, DIFFERS, UNDECIDED };

/* Is the term 0 for every element? */
static bool is_idle(struct term t) { return t.axis != REP && t.weight >= t.extent; }

/* Does the higher term begin where the lower one ends, or at a multiple of that? */
static bool stacks(struct term low, struct term high) {
    int64_t end = low.stride * low.radix;
    return high.stride >= end && high.stride % end == 0;
}

/* The lower `radix` values of a term leave it; what stays counts the rest. */
static struct term cut(struct term *t, int64_t radix) {
    struct term low = *t;
    low.radix = radix;
    t->radix /= radix;
    t->stride *= radix;
    t->weight *= radix;
    return low;
}

/* May the source's term, or its absence, show what the target's does? */
static bool matches(const struct term *from, const struct term *to) {
    if (from && from->axis == REP) return true;
    if (from && is_idle(*from)) from = NULL;
    if (to && is_idle(*to)) to = NULL;
    if (!from || !to) return !from && !to;
    return from->axis == to->axis && from->weight == to->weight;
}

/* How many values of `t` lie below `other`, which begins within t or stacks on it; 0: neither. */
static int64_t values_below(struct term t, const struct term *other) {
    if (!other || stacks(t, *other)) return t.radix;
    int64_t values = other->stride / t.stride;
    return other->stride % t.stride == 0 && t.radix % values == 0 ? values : 0;
}

/* A walk over both lists by stride, cutting terms where the other list has a boundary. */
static enum verdict compare_terms(struct term *from, int from_count, struct term *to,
                                  int to_count) {
    enum verdict result = FOLLOWS;
    struct term last = {.radix = 1, .stride = 1};
    for (int i = 0, j = 0; i < from_count || j < to_count;) {
        struct term *f = i < from_count ? &from[i] : NULL, *t = j < to_count ? &to[j] : NULL;
        const struct term *above = NULL;
        if (f && t && f->stride < t->stride)
            above = t, t = NULL;
        else if (f && t && t->stride < f->stride)
            above = f, f = NULL;
        int64_t radix =
            f && t ? (f->radix < t->radix ? f->radix : t->radix) : values_below(f ? *f : *t, above);
        if (!stacks(last, f ? *f : *t) || radix == 0 || (f && f->radix % radix != 0) ||
            (t && t->radix % radix != 0))
            return UNDECIDED;
        struct term low_from = f ? cut(f, radix) : last, low_to = t ? cut(t, radix) : last;
        if (!matches(f ? &low_from : NULL, t ? &low_to : NULL)) result = DIFFERS;
        i += f && f->radix == 1;
        j += t && t->radix == 1;
        last = f ? low_from : low_to;
    }
    return result;
}

/* Is `value` a sum of copies? */
static bool copies_reach(const struct term *terms, int count, int64_t value) {
    for (int i = count - 1; i >= 0 && value >= 0; i--) {
        if (terms[i].axis != REP) continue;
        int64_t digit = value / terms[i].stride;
        if (digit >= terms[i].radix) return false;
        value -= digit * terms[i].stride;
    }
    return value == 0;
}

static int64_t terms_value(const struct term *terms, int count, const int64_t *x) {
    int64_t value = 0;
    for (int i = 0; i < count; i++)
        if (terms[i].axis != REP)
            value += x[terms[i].axis] / terms[i].weight % terms[i].radix * terms[i].stride;
    return value;
}

/* Advances digits like an odometer; false after the last. */
static bool next(int64_t *digit, const int64_t *limit, int count) {
    for (int i = count - 1; i >= 0; i--) {
        if (++digit[i] < limit[i]) return true;
        digit[i] = 0;
    }
    return false;
}

static bool element_follows(const struct term *from, int from_count, const struct term *to,
                            int to_count, const int64_t *x) {
    int64_t digit[TERMS] = {0}, limit[TERMS], stride[TERMS];
    int64_t apart = terms_value(to, to_count, x) - terms_value(from, from_count, x);
    int copies = 0;
    for (int i = 0; i < to_count; i++) {
        if (to[i].axis != REP) continue;
        limit[copies] = to[i].radix;
        stride[copies++] = to[i].stride;
    }
    do {
        int64_t value = apart;
        for (int i = 0; i < copies; i++) value += digit[i] * stride[i];
        if (!copies_reach(from, from_count, value)) return false;
    } while (next(digit, limit, copies));
    return true;
}

static bool enumerate_follows(const struct layout *from, const struct layout *to, enum space s) {
    struct term a[TERMS], b[TERMS];
    int m = layout_terms(from, s, a), n = layout_terms(to, s, b);
    int64_t x[LAYOUT_RANK] = {0}, limit[LAYOUT_RANK];
    for (int i = 0; i < from->rank; i++) limit[i] = from->axis[i].extent;
    do {
        if (!element_follows(a, m, b, n, x)) return false;
    } while (next(x, limit, from->rank));
    return true;
}

/* Does every place of `to` have its element in `from` at the same value of the space? */
static bool follows(const struct layout *from, const struct layout *to, enum space s) {
    struct term a[TERMS], b[TERMS];
    int m = layout_terms(from, s, a), n = layout_terms(to, s, b);
    enum verdict v = compare_terms(a, m, b, n);
    return v == UNDECIDED ? enumerate_follows(from, to, s) : v == FOLLOWS;
}

enum move_class layout_classify(const struct layout *from, const struct layout *to) {
    if (layout_equal(from, to)) return MOVE_NONE;
    if (!follows(from, to, SPACE_WARP)) return MOVE_BLOCK;
    if (!follows(from, to, SPACE_LANE)) return MOVE_WARP;
    return follows(from, to, SPACE_REG) ? MOVE_NONE : MOVE_REGISTERS;
}

/* -- Vector width ------------------------------------------------------------------------------ */

/* Does the layout keep aligned runs of `run` together in the space, all other strides aligned? */
static bool keeps_runs(const struct layout *l, int axis, enum space s, int run) {
    const struct layout_axis *x = &l->axis[axis];
    if (!x->count || x->digit[0].space != s || x->digit[0].stride != 1) return false;
    if (x->digit[0].radix % run != 0) return false;
    struct term terms[TERMS];
    int count = layout_terms(l, s, terms);
    for (int i = 0; i < count; i++)
        if (terms[i].stride > 1 && terms[i].stride % run != 0) return false;
    for (int i = 0; s == SPACE_OFF && i < l->xors; i++)
        if (run > 1 << l->xor_term[i].target) return false;
    return true;
}

int layout_vector_run(const struct layout *fragment, const struct layout *memory, int axis,
                      int limit) {
    int run = 1;
    while (2 * run <= limit && fragment->axis[axis].extent % (2 * run) == 0 &&
           keeps_runs(fragment, axis, SPACE_REG, 2 * run) &&
           keeps_runs(memory, axis, SPACE_OFF, 2 * run))
        run *= 2;
    return run;
}

/* -- Shared and global memory ------------------------------------------------------------------ */

enum { BANKS = 32, BANK_BYTES = 4, SECTOR_BYTES = 32, LANES = 32, WIDEST = 16 };

/* Adds the value if it is new; the number of distinct values. */
static int add_distinct(int64_t *seen, int count, int64_t value) {
    for (int i = 0; i < count; i++)
        if (seen[i] == value) return count;
    seen[count] = value;
    return count + 1;
}

/* Distinct words of the fullest bank. */
static int wavefronts(const int64_t *address, int lanes, int bytes) {
    int64_t words[LANES * (WIDEST / BANK_BYTES + 1)];
    int count = 0, hits[BANKS] = {0}, most = 1;
    for (int i = 0; i < lanes; i++) {
        if (address[i] < 0) continue;
        for (int64_t w = address[i] / BANK_BYTES; w <= (address[i] + bytes - 1) / BANK_BYTES; w++)
            count = add_distinct(words, count, w);
    }
    for (int i = 0; i < count; i++)
        if (++hits[words[i] % BANKS] > most) most = hits[words[i] % BANKS];
    return most;
}

int layout_bank_conflicts(const int64_t *address, int lanes, int bytes) {
    int phase = bytes <= BANK_BYTES ? LANES : LANES * BANK_BYTES / bytes, extra = 0;
    for (int first = 0; first < lanes; first += phase) {
        int n = lanes - first < phase ? lanes - first : phase;
        extra += wavefronts(address + first, n, bytes) - 1;
    }
    return extra;
}

int layout_sectors(const int64_t *address, int lanes, int bytes) {
    int64_t sectors[LANES * (WIDEST / SECTOR_BYTES + 2)];
    int count = 0;
    int64_t highest = -1; /* addresses mostly ascend: what lies above is new */
    for (int i = 0; i < lanes; i++) {
        if (address[i] < 0) continue;
        int64_t end = (address[i] + bytes - 1) / SECTOR_BYTES;
        for (int64_t s = address[i] / SECTOR_BYTES; s <= end; s++) {
            if (s <= highest)
                count = add_distinct(sectors, count, s);
            else
                sectors[count++] = highest = s;
        }
    }
    return count;
}
