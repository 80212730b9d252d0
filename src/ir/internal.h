/* internal.h: what the files of src/ir share. */
#ifndef TILEC_IR_INTERNAL_H
#define TILEC_IR_INTERNAL_H
#include "ir/expr.h"
#include "ir/tile.h"

/* -- arith.c: v reduced to the width of an integer type -------------------------------------------
 */
int64_t integer_wrap(int64_t v, enum dtype t);

/* -- range.c: what is known of an integer ---------------------------------------------------------
 */
struct interval { /* as in struct var */
    int64_t lo, hi, divisor;
};
struct interval interval_of(const struct expr *e);
struct interval interval_type(enum dtype t);         /* every value of the type */
struct interval interval_node(const struct expr *e); /* of a node, from its arguments' */
struct interval interval_add(struct interval a, struct interval b);
struct interval interval_scale(struct interval a, int64_t factor);
/* The integer sum, difference, product … e cannot leave its type. */
bool op_is_exact(const struct expr *e);
int64_t gcd64(int64_t a, int64_t b);     /* of the absolute values; gcd(0, x) = |x| */
int64_t floor_div(int64_t a, int64_t b); /* b > 0 */

/* -- expr.c
 * ---------------------------------------------------------------------------------------- */
/* The node with this kind, type, function, payload and arguments as it stands, not simplified. */
struct expr *expr_raw(struct exprs *x, struct expr *shape);
struct expr *expr_raw_op(struct exprs *x, enum function fn, enum dtype t, int count,
                         struct expr *const *args);
/* A fixed order that does not depend on when expressions were made, as far as names differ. */
int expr_compare(const struct expr *a, const struct expr *b);
struct var *exprs_var(const struct exprs *x, int id);
struct arena *exprs_arena(const struct exprs *x);

/* -- simplify.c: the simpler equal of an operation, NULL if there is none -------------------------
 */
struct expr *simplify_op(struct exprs *x, enum function fn, enum dtype t, struct expr *const *args);

/* -- affine.c: the range of the whole sum ---------------------------------------------------------
 */
struct interval affine_interval(const struct affine *a);
bool affine_add_scaled(struct affine *sum, const struct affine *a, int64_t factor);
struct expr *affine_shifted(struct exprs *x, struct expr *e, int64_t constant); /* or NULL */

/* -- tile_text.c: what our texts of any level share
 * ------------------------------------------------- */
enum words { /* the spellings of an enum, in its order */
             WORDS_LEVEL,
             WORDS_VAR,
             WORDS_SCOPE,
             WORDS_LOOP,
             WORDS_ATOMIC,
             WORDS_ORDER,
             WORDS_POLICY,
             WORDS_REDUCE
};
const char *words_at(enum words set, int i); /* NULL behind the last */
int words_find(enum words set, const char *word);

void print_string(struct text *t, const char *s);
/* "; line 14" where the span is somewhere, and the end of the line. */
void print_line_end(struct text *t, const struct module *m, struct span span);

struct tile_printer {
    struct text *t;
    const struct module *m;
    struct name_table *names; /* of one function */
};
/* The module with `body` for what stands between a kernel's braces. */
void module_print(struct text *t, const struct module *m,
                  void (*body)(struct tile_printer *p, const struct kernel *k));

/* -- tile_read.c
 * ------------------------------------------------------------------------------------ */
struct tile_reader {
    struct cursor c;
    struct module *m;
    struct function_ir *f;
    struct kernel *k;
    struct expr_names
        names;              /* finds variables and buffers; `array` is free for the kernel reader */
    VEC(struct var *) vars; /* by symbol id */
    VEC(struct buffer *) buffers;
    int lines; /* largest line met */
    int depth;
};
struct module *module_read(struct arena *a, struct interns *names, struct diag *d,
                           const struct source *s, bool (*body)(struct tile_reader *r));
/* "name:type[lo,hi]": a variable bound here. NULL after an error. */
struct var *read_var(struct tile_reader *r, enum var_kind kind);
struct expr *read_expr(struct tile_reader *r);
struct buffer *read_buffer_name(struct tile_reader *r);
int read_word(struct tile_reader *r, enum words set); /* -1 after an error */
bool read_int32(struct tile_reader *r, int32_t *value);
/* The "; line 14" and the end of the line. */
bool read_line_end(struct tile_reader *r, struct span *span);

#endif
