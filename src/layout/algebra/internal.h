/* internal.h: the digits of one space, whichever axis they belong to. */
#ifndef TILEC_ALGEBRA_INTERNAL_H
#define TILEC_ALGEBRA_INTERNAL_H
#include "layout/algebra/layout.h"

enum { TERMS = LAYOUT_RANK * LAYOUT_DIGITS + LAYOUT_REPS };

/* A digit with what it counts: (coordinate[axis] / weight) % radix, where extent is
 * the axis'. */
struct term {
    int64_t radix, stride, weight, extent;
    int axis; /* REP: a copy, any value */
};
enum { REP = -1 };

/* The digits of a space by ascending stride. */
int layout_terms(const struct layout *l, enum space s, struct term *out);

/* The offset after, and before, the XOR terms. */
int64_t layout_xor_offset(const struct layout *l, int64_t offset);
int64_t layout_unxor_offset(const struct layout *l, int64_t offset);

/* Adds a digit above the others of the axis; radix 1 adds nothing. */
void layout_push(struct layout_axis *axis, struct digit d);
void layout_push_rep(struct layout *l, struct digit d);

#endif
