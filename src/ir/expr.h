/* expr.h: scalar expressions, shared by tile IR and Kernel IR.
 *
 * Hash-consed and immutable: within one module equal expressions are equal pointers, so that
 * affine analysis may take any non-affine subexpression as an atom by its address. An expression
 * is only what to compute; when it is computed is said by the statement that holds it (loads see
 * memory as it is when that statement runs).
 *
 * Integer expressions carry a range and a known divisor from construction on. That lattice is the
 * compiler's only prover: bounds, alignment and overflow are answered "yes" or "unknown". */
#ifndef TILEC_EXPR_H
#define TILEC_EXPR_H
#include "base/cursor.h"
#include "base/intern.h"
#include "base/source.h"
#include "target/target.h"

enum expr_kind {
    EXPR_INT,    /* integer, bool */
    EXPR_FLOAT,
    EXPR_VAR,
    EXPR_OP,     /* function of functions.def applied to arguments */
    EXPR_CAST,   /* one argument, converted to dtype */
    EXPR_SELECT, /* arguments: condition, then, otherwise; only the chosen one is evaluated */
    EXPR_LOAD,   /* element of a buffer; arguments are the indices, one an axis (TILE … SCHEDULED) */
    EXPR_ELEMENT /* element of a register array; one argument, the index (KERNEL) */
};

/* One enumerator a row of functions.def: operators and elementwise functions alike. */
enum function {
#define FUNCTION(id, name, arity, types, flags, doc) FN_##id,
#include "functions.def"
    FN_COUNT
};

enum function_types {
    TYPES_SAME, TYPES_FLOAT, TYPES_INTEGER, TYPES_COMPARE, TYPES_LOGIC, TYPES_SHIFT, TYPES_TEST,
    TYPES_SPECIAL
};
enum { FLAG_ZERO = 0, FLAG_INFIX = 1, FLAG_LANGUAGE = 2 };
struct function_row {
    const char *name;
    int arity;
    enum function_types types;
    unsigned flags;
    const char *doc;
};
const struct function_row *function_row(enum function fn); /* functions.c */
int function_find(const char *name);                       /* by `name`; -1 if unknown */

enum var_kind {
    VAR_AXIS,     /* iteration axis of a MAP/COPY domain: 0 … extent-1 */
    VAR_LOOP,     /* FOR */
    VAR_BLOCK,    /* blockIdx.x y z */
    VAR_THREAD,   /* threadIdx.x, flattened */
    VAR_LANE,     /* thread % 32 (KERNEL) */
    VAR_WARP,     /* thread / 32 (KERNEL) */
    VAR_DIM,      /* a dimension known at run time, a launcher argument */
    VAR_PARAM,    /* scalar parameter */
    VAR_LET,      /* bound once by LET */
    VAR_MUTABLE   /* alloc_var; and counters the schedule adds */
};

struct var {
    struct sym *name; /* source name; printers number clashes */
    enum var_kind kind;
    enum dtype dtype;
    int32_t id;       /* dense within the module, order of creation */
    int64_t lo, hi;   /* inclusive range, INT64_MIN/MAX if unknown */
    int64_t divisor;  /* known divisor, at least 1; 0 for "the constant zero" */
    struct span span;
    bool unrolled;    /* VAR_LOOP of an unrolled loop: a constant for each copy of the body */
};

/* What is in an expression, itself included: bits by expr_kind, and two more. */
enum {
    HOLDS_VAR = 1 << EXPR_VAR,
    HOLDS_LOAD = 1 << EXPR_LOAD,
    HOLDS_ELEMENT = 1 << EXPR_ELEMENT,
    HOLDS_DIVISION = 1 << 8, /* FN_DIV */
    HOLDS_CHOICE = 1 << 9    /* SELECT, and, or: not all of it may be evaluated */
};

struct buffer; /* tile.h */
struct array;  /* kernel.h */

struct sum; /* affine.c */

struct expr {
    enum expr_kind kind;
    enum dtype dtype;
    int32_t id;           /* dense, order of creation */
    enum function fn;     /* OP */
    int32_t count;        /* arguments */
    unsigned holds;       /* what is in it: HOLDS_… */
    struct expr **args;
    union {
        int64_t integer;
        double number;
        struct var *var;
        struct buffer *buffer;
        struct array *array;
    };
    const struct sum *sum; /* its affine form, where it was made from one; else NULL */
    int64_t lo, hi, divisor; /* integers: as in struct var */
    uint32_t hash;           /* of what tells it from others */
    uint32_t uses_kinds;     /* summaries that make the questions below cheap: bits by var_kind, */
    uint64_t uses_vars, uses_buffers; /* by id modulo 64 */
};

struct exprs; /* the hash-consing table, one a module */

/* -- expr.c -------------------------------------------------------------------------------------- */
struct exprs *exprs_new(struct arena *a);
struct exprs *exprs_fork(const struct exprs *x); /* what one adds from here on the other lacks */
int exprs_vars(const struct exprs *x); /* ids handed out */
struct var *var_new(struct exprs *x, enum var_kind kind, struct sym *name, enum dtype dtype,
                    struct span span);
struct var *var_like(struct exprs *x, const struct var *v); /* another one of which the same is known */

struct expr *expr_int(struct exprs *x, int64_t value, enum dtype dtype);
struct expr *expr_index(struct exprs *x, int64_t value); /* expr_int of type INDEX */
struct expr *expr_bool(struct exprs *x, bool value);
struct expr *expr_float(struct exprs *x, double value, enum dtype dtype); /* rounded to dtype */
struct expr *expr_var(struct exprs *x, struct var *v);
/* Argument types already agree as the row asks (sema inserts casts). Constants are folded with the
 * same arithmetic as the evaluator; integer identities (x+0, x*1, x//1, c*(a+b) with constants …)
 * are simplified; floating-point operations are only folded, never reassociated. */
struct expr *expr_op(struct exprs *x, enum function fn, enum dtype result, int count,
                     struct expr *const *args);
struct expr *expr_unary(struct exprs *x, enum function fn, struct expr *a);  /* result type by row */
struct expr *expr_binary(struct exprs *x, enum function fn, struct expr *a, struct expr *b);
struct expr *expr_cast(struct exprs *x, struct expr *a, enum dtype to); /* a itself if equal */
struct expr *expr_select(struct exprs *x, struct expr *c, struct expr *a, struct expr *b);
struct expr *expr_load(struct exprs *x, struct buffer *b, int count, struct expr *const *index);
struct expr *expr_element(struct exprs *x, struct array *a, struct expr *index, enum dtype dtype);

bool expr_is_int(const struct expr *e, int64_t *value); /* an integer or bool constant */
bool expr_has_load(const struct expr *e);
bool expr_uses_var(const struct expr *e, const struct var *v);
bool expr_uses_kind(const struct expr *e, enum var_kind k);
bool expr_uses_buffer(const struct expr *e, const struct buffer *b);

/* Replaces variables: from[i] by to[i]. */
struct expr *expr_substitute(struct exprs *x, struct expr *e, int count, struct var *const *from,
                             struct expr *const *to);
/* Rebuilds e bottom-up: visit returns a replacement or NULL to keep the (rebuilt) node. */
struct expr *expr_rewrite(struct exprs *x, struct expr *e,
                          struct expr *(*visit)(struct expr *e, void *data), void *data);
/* The same where `holds` is met: parts that hold none of it stay as they are, unvisited. */
struct expr *expr_rewrite_where(struct exprs *x, struct expr *e, unsigned holds,
                                struct expr *(*visit)(struct expr *e, void *data), void *data);

/* -- affine.c ------------------------------------------------------------------------------------ */
enum { AFFINE_TERMS = 16 };
/* constant + sum of coefficient * atom; atoms are distinct non-affine expressions or variables, in
 * a fixed order (block and thread variables first, then by name and structure). */
struct affine {
    int64_t constant;
    int32_t count;
    struct expr *atom[AFFINE_TERMS];
    int64_t coefficient[AFFINE_TERMS];
};
/* False if e is no integer, has more terms, or overflows. Looks through casts between integers
 * that keep every value of the operand's range. */
bool affine_of(const struct expr *e, struct affine *out);
struct expr *affine_expr(struct exprs *x, const struct affine *a);
int64_t affine_coefficient(const struct affine *a, const struct var *v);
/* a - b is the constant *difference. */
bool affine_difference(const struct expr *a, const struct expr *b, int64_t *difference);
/* Proves a <= b (of the expressions' whole range, after cancelling equal terms). */
bool expr_proves_le(struct exprs *x, struct expr *a, struct expr *b);
bool expr_proves_lt(struct exprs *x, struct expr *a, struct expr *b);

/* -- expr_text.c --------------------------------------------------------------------------------- */
void expr_print(struct text *t, const struct expr *e); /* the texts' own syntax, source names */

/* Names that tell apart what has one name in the source: "i", then "i_1"… in order of first use. */
struct name_table;
struct name_table *name_table_new(struct arena *a, struct interns *names);
const char *name_of_var(struct name_table *n, const struct var *v);
const char *name_of_buffer(struct name_table *n, const struct buffer *b);
const char *name_of_array(struct name_table *n, const struct array *a);
void expr_print_named(struct text *t, const struct expr *e, struct name_table *n);
/* ":index[0,31]/4": type, range and divisor of a variable where it is bound. */
void var_print_type(struct text *t, const struct var *v);
bool var_read_type(struct cursor *c, struct var *v);

/* Reads what expr_print_named wrote, node for node; NULL after cursor_fail. */
struct expr_names {
    struct exprs *exprs;
    void *data;
    struct var *(*var)(void *data, const char *name);       /* NULL if unknown */
    struct buffer *(*buffer)(void *data, const char *name);
    struct array *(*array)(void *data, const char *name);   /* may be NULL */
};
struct expr *expr_read(struct cursor *c, const struct expr_names *names);

/* -- arith.c: element arithmetic as the GPU does it --------------------------------------- */
union scalar {
    int64_t i;  /* integers: sign- or zero-extended; bool 0/1 */
    double f;   /* floats: a value that the dtype represents exactly */
};
/* `type` is that of the arguments (COMPARE, TEST, LOGIC included). */
union scalar scalar_op(enum function fn, enum dtype type, const union scalar *args);
union scalar scalar_cast(union scalar v, enum dtype from, enum dtype to);
double scalar_round(double value, enum dtype to); /* nearest even, in range of the float type */
uint64_t scalar_bits(union scalar v, enum dtype t);      /* storage bits */
union scalar scalar_of_bits(uint64_t bits, enum dtype t);

#endif
