/* internal.h: what the files of src/ir share. */
#ifndef TILEC_IR_INTERNAL_H
#define TILEC_IR_INTERNAL_H
#include "ir/expr.h"

/* -- arith.c: v reduced to the width of an integer type ------------------------------------------- */
int64_t integer_wrap(int64_t v, enum dtype t);

/* -- range.c: what is known of an integer --------------------------------------------------------- */
struct interval { /* as in struct var */
    int64_t lo, hi, divisor;
};
struct interval interval_of(const struct expr *e);
struct interval interval_type(enum dtype t);        /* every value of the type */
struct interval interval_node(const struct expr *e); /* of a node, from its arguments' */
struct interval interval_add(struct interval a, struct interval b);
struct interval interval_scale(struct interval a, int64_t factor);
/* The integer sum, difference, product … e cannot leave its type. */
bool op_is_exact(const struct expr *e);
int64_t gcd64(int64_t a, int64_t b); /* of the absolute values; gcd(0, x) = |x| */
int64_t floor_div(int64_t a, int64_t b); /* b > 0 */

/* -- expr.c ---------------------------------------------------------------------------------------- */
struct arena *exprs_arena(struct exprs *x);
/* The node with this kind, type, function, payload and arguments as it stands, not simplified. */
struct expr *expr_raw(struct exprs *x, const struct expr *shape);
struct expr *expr_raw_op(struct exprs *x, enum function fn, enum dtype t, int count,
                         struct expr *const *args);
/* A fixed order that does not depend on when expressions were made, as far as names differ. */
int expr_compare(const struct expr *a, const struct expr *b);
int exprs_vars(const struct exprs *x); /* ids handed out */
struct var *exprs_var(const struct exprs *x, int id);

/* -- simplify.c: the simpler equal of an operation, NULL if there is none ------------------------- */
struct expr *simplify_op(struct exprs *x, enum function fn, enum dtype t, struct expr *const *args);

/* -- affine.c: the range of the whole sum --------------------------------------------------------- */
struct interval affine_interval(const struct affine *a);
bool affine_add_scaled(struct affine *sum, const struct affine *a, int64_t factor);

#endif
