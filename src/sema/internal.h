/* internal.h: the contract between the two halves of sema.
 *
 * The evaluator (values.c names.c fold.c eval.c exec.c calls_user.c host.c units.c signature.c
 * analyse.c) runs the program as Python would run it: everything known at compile time is a plain
 * value and just executes. The builder (types.c calls.c forms.c copy.c gemm.c parallel.c store.c …)
 * makes tile IR of what is left: it gets values, and appends statements to the open block s->block.
 * The evaluator calls the builder through the functions of the last section, and the builder calls
 * back to run the bodies of loops and branches.
 *
 * Errors: a function that fails has reported and returns VALUE_BAD (or NULL, false). VALUE_BAD
 * agrees with everything and is never reported again. */
#ifndef TILEC_SEMA_INTERNAL_H
#define TILEC_SEMA_INTERNAL_H
#include "sema/sema.h"

struct sema;
struct env;

/* -- Values --------------------------------------------------------------------------------------
 */
enum value_kind {
    VALUE_ABSENT, /* argument not given, name not found; never a user-visible value */
    VALUE_BAD,    /* already reported */
    VALUE_NONE,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_FLOAT,
    VALUE_STRING,
    VALUE_ELLIPSIS,
    VALUE_DTYPE,
    VALUE_TUPLE,
    VALUE_LIST,
    VALUE_DICT,
    VALUE_SLICE,       /* lo:hi:step of compile-time values: only inside a subscript */
    VALUE_FUNCTION,    /* def or lambda with its captured names; factories too */
    VALUE_MACRO,       /* @T.macro */
    VALUE_PRIM_FUNC,   /* @T.prim_func */
    VALUE_EAGER,       /* @tilelang.jit kernel in eager style */
    VALUE_INSTANCE,    /* result of calling an eager kernel at module level */
    VALUE_BUILTIN,     /* row of builtins.def or host.def */
    VALUE_METHOD,      /* obj.name that is to be called */
    VALUE_MODULE,      /* T, tilelang, math, T.layout, T.GemmWarpPolicy … */
    VALUE_TENSOR_TYPE, /* T.Tensor(shape, dtype) … */
    VALUE_POLICY,      /* T.GemmWarpPolicy.X */
    VALUE_IR,          /* scalar expression; a T.dynamic dimension is the IR of its VAR_DIM */
    VALUE_VAR,         /* alloc_var: reading gives its value at that point, assigning stores */
    VALUE_REF,         /* T.Ref parameter bound to a buffer element: as VALUE_VAR */
    VALUE_BUFFER,
    VALUE_ACCESS,   /* buffer[…]: an element if all entries are points, else a region */
    VALUE_ITERATOR, /* T.Parallel(…), T.Pipelined(…), range(…), T.grid(…) */
    VALUE_LAUNCH,   /* T.Kernel(…) */
    VALUE_LAYOUT    /* layout object of T.annotate_layout */
};

struct value {
    enum value_kind kind;
    union {
        bool boolean;
        int64_t integer;
        double number;
        struct sym *string;
        enum dtype dtype;
        struct sequence *sequence; /* TUPLE LIST; shared: a list is mutable */
        struct dict *dict;
        struct slice *slice;
        struct closure *closure; /* FUNCTION MACRO PRIM_FUNC EAGER */
        struct instance *instance;
        const struct builtin *builtin;
        struct method *method;
        const char *path; /* MODULE: "T", "math", "T.layout" … in canonical form */
        struct tensor_type *tensor_type;
        enum gemm_policy policy;
        struct expr *expr;           /* IR */
        struct mutable *mutable;     /* VAR */
        struct subscript *subscript; /* ACCESS, REF */
        struct buffer *buffer;
        struct iterator *iterator;    /* made and read by the builder only, except `rank` */
        struct launch *launch;        /* the builder's own */
        struct layout_object *layout; /* the builder's own */
    };
};

struct sequence {
    VEC(struct value) items;
    int64_t made, changed; /* the evaluator's clock then; changed: 0 if it never did */
};
struct dict {
    VEC(struct value) keys;
    VEC(struct value) values;
    int64_t made, changed;
}; /* order of insertion */
struct slice {
    struct value lo, hi, step;
}; /* VALUE_ABSENT where left out */
struct method {
    struct value self;
    struct sym *name;
    struct span span;
};
struct mutable {
    struct var *var;
    bool bound; /* a name was given: assigning to that name now stores. The builder leaves it false
                 */
};

/* buffer[…] as written. Missing trailing entries are filled with full ranges by subscript_of, so
 * count is the buffer's rank; `given` says how many the user wrote. */
struct subscript {
    struct buffer *buffer;
    int32_t count, given;
    bool range[TILE_RANK];      /* lo:hi, else a point at lo */
    struct expr *lo[TILE_RANK]; /* INDEX */
    struct expr *hi[TILE_RANK]; /* of a range: exclusive end */
    struct span span;
};

struct tensor_type {
    enum {
        TENSOR_PLAIN,
        TENSOR_STRIDED,
        TENSOR_POINTER,
        TENSOR_SHARED,
        TENSOR_FRAGMENT,
        TENSOR_LOCAL
    } kind;
    int32_t rank;
    struct value dim[TILE_RANK];    /* int or IR over dimensions */
    struct value stride[TILE_RANK]; /* STRIDED */
    enum dtype dtype;
};

struct iterator {
    int32_t rank; /* loop variables it yields */
    bool host;    /* range(…) with compile-time bounds: lo, hi, step below are set, and the
                     evaluator may run it at compile time (outside kernels, in plain functions) */
    int64_t lo, hi, step;
    struct loop_form *form; /* the builder's own description; NULL for a range the builder has not
                               seen: iterator_of_range makes it */
};

/* def or lambda. The captured names are those of `env`. */
struct closure {
    struct sym *name; /* "<lambda>" */
    struct span span; /* of the name */
    struct ast_parameter *parameters;
    struct ast_stmt *body;   /* def */
    struct ast_expr *result; /* lambda */
    struct ast_def *def;     /* NULL for a lambda */
    struct env *env;
    VEC(struct value) presets;    /* evaluated at the def, one a parameter, ABSENT without */
    struct unit_options *options; /* what @tilelang.jit(…) said; NULL without */
    struct env *around;           /* PRIM_FUNC: where it was defined, */
    int64_t at;                   /* and the clock then */
    struct closure *factory; /* PRIM_FUNC: the function whose call made it; NULL at module level */
    const char *doc;         /* PRIM_FUNC: "make_matmul(M=2048, …)" */
};

/* -- Arguments and builtins
 * ------------------------------------------------------------------------ */
struct argument {
    struct sym *keyword; /* NULL: positional */
    struct value value;
    struct span span;
};
struct arguments {
    VEC(struct argument) list;
    struct span span; /* of the whole call */
};

/* A call of a builtin, bound to the names in the row's `parameters`. */
struct call {
    const struct builtin *row;
    struct span span;
    int32_t count;     /* parameters without the variadic one */
    struct value *arg; /* VALUE_ABSENT where left out; elements (x[i]) arrive as ACCESS */
    struct span *arg_span;
    struct arguments rest; /* what *name or **name collected */
    struct sym *naming;    /* x in `x = T.alloc_shared(…)`; NULL elsewhere */
};

/* Row of a table of functions.
 * builtins.def (builder):  BUILTIN(module, name, parameters, call, doc)
 * host.def (evaluator):    the same columns: Python's functions (module ""), math, the signature
 *                          vocabulary (T.Tensor, T.StridedTensor, T.Buffer, T.dynamic, T.symbolic,
 *                          T.const, T.empty, T.prim_func, T.macro, tilelang.jit,
 * annotate_compile_flags …) module      "T", "T.layout", "math", "": canonical (tilelang.layout is
 * T.layout, tilelang.language is T) parameters  as Python writes them: "src, dst, *,
 * coalesced_width=None", "*blocks, threads=None"; the default's text is for the documentation: what
 * is left out arrives as ABSENT call        struct value call(struct sema *s, const struct call
 * *c); NULL: known, but not supported yet (E0401 is reported for it) */
struct builtin {
    const char *module, *name, *parameters;
    struct value (*call)(struct sema *s, const struct call *c);
    const char *doc;
};

/* -- Names
 * ----------------------------------------------------------------------------------------- */
enum env_kind {
    ENV_MODULE,
    ENV_FUNCTION, /* body of a plain function or lambda: runs as Python */
    ENV_KERNEL,   /* body of a prim_func, eager kernel or macro: `range` is a device loop */
    ENV_LOOP,     /* body of a device loop: names bound inside end with it */
    ENV_BRANCH,   /* body of a device branch (if, while's once-run part, with T.ws …) */
    ENV_WITH,     /* body of `with T.Kernel`: names end with it */
    ENV_UNROLLED /* body of a loop that runs at compile time: names stay, break/continue are ours */
};

struct env; /* names.c */

/* -- State
 * ------------------------------------------------------------------------------------------- */
struct frame { /* one call in progress, for notes */
    struct frame *up;
    struct closure *closure;
    struct span call;
    struct value result; /* of return */
    bool device;         /* prim_func, eager kernel, macro */
};

enum { SEMA_STEPS = 10000000, SEMA_DEPTH = 200, SEMA_ITEMS = 1 << 20 };

struct sema {
    struct module *module;
    struct arena *arena;
    struct diag *diag;
    struct interns *names;
    struct exprs *exprs;
    const struct target *target;
    const struct sema_options *options;
    struct env *globals;
    struct frame *frame; /* innermost call */
    int32_t depth;
    int64_t steps;
    bool stopped;                 /* a limit was hit: everything unwinds */
    struct function_ir *function; /* being built; NULL at module level and in factories */
    struct kernel *kernel;        /* inside `with T.Kernel`, else NULL */
    struct block *block;          /* where statements are appended; NULL outside a kernel */
    struct stmt *map;        /* innermost open T.Parallel; NULL outside. The builder keeps it */
    struct sym *naming;      /* target of the assignment being evaluated, for names of buffers */
    struct build *build;     /* the evaluator's own state of the function being built */
    struct tile_state *tile; /* the builder's own state; builder_begin sets it */
};

/* Report at span with notes "in the instantiation of …, called from …". diag_note and diag_fix may
 * follow. */
void sema_error(struct sema *s, struct span span, enum diag_code code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
struct value sema_bad(struct sema *s, struct span span, enum diag_code code, const char *format,
                      ...)
    __attribute__((format(printf, 4, 5))); /* the same, returning VALUE_BAD */

/* ==== What the evaluator offers
 * ======================================================================= */

/* -- values.c
 * -------------------------------------------------------------------------------------- */
struct value value_bad(void);
struct value value_none(void);
struct value value_bool(bool b);
struct value value_int(int64_t i);
struct value value_float(double f);
struct value value_string(struct sema *s, const char *text);
struct value value_dtype(enum dtype t);
struct value value_ir(struct expr *e);
struct value value_buffer(struct buffer *b);
struct value value_sequence(struct sema *s, enum value_kind kind, int count,
                            const struct value *items);
void sequence_push(struct sema *s, struct value list, struct value item);

bool value_is_bad(struct value v);
bool value_is_number(struct value v);    /* bool, int, float of compile time */
bool value_is_scalar_ir(struct value v); /* IR, VAR, REF, and ACCESS whose entries are all points */
bool value_is_static(struct value v);    /* computes at compile time: none of the IR kinds */
bool value_equal(struct value a, struct value b);       /* Python ==; dtypes equal their names */
const char *value_kind_name(struct value v);            /* "int", "tuple", "buffer", for messages */
const char *value_a_kind(struct value v);               /* "an int", "a tuple", "None" */
const char *value_text(struct sema *s, struct value v); /* as Python's repr, shortened */

/* Readings of arguments, reporting "'what' must be …, got …" (E0210). `what` is the parameter's
 * name. */
bool want_int(struct sema *s, struct value v, struct span span, const char *what, int64_t *out);
bool want_bool(struct sema *s, struct value v, struct span span, const char *what, bool *out);
bool want_float(struct sema *s, struct value v, struct span span, const char *what, double *out);
const char *want_string(struct sema *s, struct value v, struct span span, const char *what);
enum dtype want_dtype(struct sema *s, struct value v, struct span span,
                      const char *what); /* NONE: failed */
/* int or tuple/list of ints, each at least 1: rank, or -1. */
int want_shape(struct sema *s, struct value v, struct span span, const char *what, int32_t *extent);

/* -- names.c
 * ---------------------------------------------------------------------------------------- */
struct env *env_new(struct sema *s, enum env_kind kind, struct env *parent, struct span span);
struct value env_find(struct sema *s, struct env *e, struct sym *name,
                      struct span span);                             /* reports */
bool env_lookup(struct env *e, struct sym *name, struct value *out); /* silent, no scoping errors */
void env_bind(struct sema *s, struct env *e, struct sym *name, struct value v, struct span span);
/* The nearest candidate to a misspelt word, NULL if none is near. */
const char *nearest_word(const char *word, int count, const char *const *candidates);

/* The body of a device loop, branch or launch: opens `into` as s->block and gives the names a
 * scope. */
struct env *region_open(struct sema *s, enum env_kind kind, struct env *parent, struct block *into,
                        struct span span);
void region_close(struct sema *s, struct env *e);

/* -- eval.c, exec.c, calls_user.c
 * ----------------------------------------------------------------------- */
struct value eval_expr(struct sema *s, struct env *e, const struct ast_expr *x);
enum flow { FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE, FLOW_RETURN, FLOW_STOP };
enum flow exec_block(struct sema *s, struct env *e, const struct ast_stmt *first);
/* target = value: names, tuples of targets, subscripts. */
void assign_target(struct sema *s, struct env *e, const struct ast_expr *target, struct value v);
/* A device scalar that goes into a list or dict, or waits for its use in another way, is evaluated
 * here, like one that gets a name; so are those that a list or dict holds. */
struct value value_snapshot(struct sema *s, struct value v, struct span span);
/* Calls a function, lambda, macro or builtin with evaluated arguments. */
struct value call_value(struct sema *s, struct value callee, struct arguments *a, struct span span);
/* Evaluates a call's arguments, *starred ones spread. False after a report. */
bool eval_arguments(struct sema *s, struct env *e, const struct ast_argument *first,
                    struct arguments *out);
/* Binds to "a, b, *, c=None"; false after a report (unknown keyword with the nearest one, missing,
 * twice, too many). */
bool bind_builtin(struct sema *s, const struct builtin *row, struct arguments *a, struct call *out);

/* -- fold.c
 * ------------------------------------------------------------------------------------------- */
/* Compile-time arithmetic with Python's meaning; overflow of 64 bits and division by zero are
 * reported. */
struct value fold_binary(struct sema *s, enum ast_operator op, struct value a, struct value b,
                         struct span span);
struct value fold_unary(struct sema *s, enum ast_operator op, struct value a, struct span span);
struct value fold_compare(struct sema *s, enum ast_operator op, struct value a, struct value b,
                          struct span span);

/* ==== What the builder offers
 * ========================================================================== */

/* A new function_ir / launch begins; s->function is set. */
void builder_begin(struct sema *s);
/* The function is complete: last checks (e.g. outputs never written). */
void builder_end(struct sema *s);

/* -- builtins.c
 * -------------------------------------------------------------------------------------- */
int builtin_count(void);
const struct builtin *builtin_row(int i);
bool builtin_is(const struct builtin *row, const char *module, const char *name);
const struct builtin *builtin_of_kernels(const char *module, const char *name); /* of these rows */

/* -- types.c
 * ------------------------------------------------------------------------------------------ */
/* A scalar value as expression: numbers become literals (int: INDEX, float: a literal that adopts
 * the other side's type, see value_binary), elements become loads, variables are read. NULL after a
 * report. */
struct expr *value_expr(struct sema *s, struct value v, struct span span);
struct expr *value_expr_as(struct sema *s, struct value v, enum dtype type,
                           struct span span);                               /* cast to type */
struct expr *value_index(struct sema *s, struct value v, struct span span); /* integer → INDEX */
struct expr *value_condition(struct sema *s, struct value v, struct span span); /* → BOOL */
/* One of the operands is IR. AND, OR and NOT included (both sides are conditions then). */
struct value value_binary(struct sema *s, enum ast_operator op, struct value a, struct value b,
                          struct span span);
struct value value_unary(struct sema *s, enum ast_operator op, struct value a, struct span span);
struct value value_compare(struct sema *s, enum ast_operator op, struct value a, struct value b,
                           struct span span);
/* a if test else b, where test is IR. */
struct value value_select(struct sema *s, struct value test, struct value a, struct value b,
                          struct span span);
/* T.float32(x), also of compile-time x: a typed literal. */
struct value call_dtype(struct sema *s, enum dtype t, struct arguments *a, struct span span);
/* buf.shape, buf.dtype, x.dtype, x.astype (a METHOD) of IR kinds; VALUE_ABSENT if there is none. */
struct value value_attribute(struct sema *s, struct value v, struct sym *name, struct span span);
struct value call_method(struct sema *s, const struct method *m, struct arguments *a,
                         struct span span);

/* -- store.c
 * ------------------------------------------------------------------------------------------- */
/* base[entries] where base is BUFFER or ACCESS; each entry is a scalar value or VALUE_SLICE. →
 * ACCESS */
struct value subscript_of(struct sema *s, struct value base, int count, const struct value *entries,
                          struct span span);
/* The same element or slice, whatever becomes of what its indices read. */
struct subscript *access_fixed(struct sema *s, const struct subscript *a, struct span span);
/* Kernel code only (s->block is set): */
void form_store(struct sema *s, struct value target, struct value v,
                struct span span); /* ACCESS or REF */
void form_set(struct sema *s, struct value target, struct value v, struct span span); /* VAR */
/* name = v with v a scalar IR kind: evaluated here. `type` NONE: v's own. → IR of the LET variable
 */
struct value form_let(struct sema *s, struct sym *name, struct value v, enum dtype type,
                      struct span span);

/* -- apart.c
 * ------------------------------------------------------------------------------------------- */
struct part {          /* an operand that is evaluated only sometimes, or again and again */
    struct block code; /* the statements of its evaluation */
    struct value value;
    struct span span;
};
/* x where condition holds (NULL: it may be evaluated more than once). Outside a kernel it leaves no
 * statements. */
struct part part_of(struct sema *s, struct env *e, const struct ast_expr *x,
                    struct expr *condition);
void part_join(struct sema *s, struct part *p); /* its statements come here, unconditionally */
bool part_is_harmless(const struct part *p);    /* they may: they are values of any moment */
struct value part_select(struct sema *s, struct expr *condition, struct part *a, struct part *b,
                         struct span span); /* a if condition else b */
struct value part_logic(struct sema *s, enum ast_operator op, struct expr *first, struct part *b,
                        struct span span); /* first and b, first or b */
/* v, which comes before p, is read now if p changes what it reads. */
void part_reads(struct sema *s, const struct part *p, struct value *v);
/* p joins what comes before it; what it changes, those `count` values have read already. */
void part_follows(struct sema *s, struct part *p, struct value *before, int count);
/* x, which is evaluated after the `count` values before: what x changes, they have read already. */
struct value operand_after(struct sema *s, struct env *e, const struct ast_expr *x,
                           struct value *before, int count);
struct block *part_rounds(struct sema *s, struct part *test, struct expr *condition);

/* -- forms.c
 * ------------------------------------------------------------------------------------------- */
/* range(lo, hi, step) with values of any kind; also where all are compile-time (sets host). */
struct value iterator_of_range(struct sema *s, int count, const struct value *bounds,
                               struct span span);
/* for target in it: body, as device loop: opens regions, binds the targets (assign_target),
 * exec_block. */
void form_for(struct sema *s, struct env *e, const struct ast_stmt *loop, struct value it);
void form_while(struct sema *s, struct env *e, const struct ast_stmt *loop, struct part *test);
void form_if(struct sema *s, struct env *e, const struct ast_stmt *branch,
             struct value test); /* test is IR */
/* with T.Kernel(…) as …: evaluates the items itself (eval_expr gives LAUNCH), sets s->kernel,
 * s->block. */
void form_with(struct sema *s, struct env *e, const struct ast_stmt *with);
void form_break(struct sema *s, bool is_continue, struct span span); /* of a device loop */
void form_assert(struct sema *s, struct value test, const char *message,
                 struct span span); /* inside a kernel */

#endif
