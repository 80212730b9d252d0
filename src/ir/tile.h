/* tile.h: tile IR: buffers, regions, tile operations and control, at three levels.
 *
 *   TILE       typed, no layouts: what sema builds
 *   PLACED     every fragment and shared buffer has a layout, every MAP and COPY a domain layout,
 *              exchanges between warps are explicit copies through scratch buffers
 *   SCHEDULED  async copies, waits and barriers are explicit; every hazard is ordered; each gemm
 *              reads register fragments of one instruction step; shared buffers have offsets
 *
 * The fourth level, KERNEL, is in kernel.h. tile_verify() states what must hold at each. */
#ifndef TILEC_TILE_H
#define TILEC_TILE_H
#include "base/diag.h"
#include "base/intern.h"
#include "base/vec.h"
#include "ir/expr.h"
#include "layout/algebra/layout.h"
#include "target/target.h"

enum { TILE_RANK = 6 }; /* 5 of the language + the slot axis of a ring */
enum level { LEVEL_NONE, LEVEL_TILE, LEVEL_PLACED, LEVEL_SCHEDULED, LEVEL_KERNEL };

/* -- Buffers ------------------------------------------------------------------------------------- */
enum scope {
    SCOPE_GLOBAL,   /* a tensor parameter, in device memory */
    SCOPE_SHARED,   /* one a block */
    SCOPE_FRAGMENT, /* a tile spread over the block's registers */
    SCOPE_LOCAL     /* a private array of each thread */
};

struct buffer {
    struct sym *name;
    struct span span;
    int32_t id; /* dense within its function */
    enum scope scope;
    enum dtype dtype;
    int32_t rank;
    int32_t extent[TILE_RANK];        /* not GLOBAL */
    struct expr *dim[TILE_RANK];      /* GLOBAL: extents, INDEX, over DIM and PARAM variables */
    struct expr *stride[TILE_RANK];   /* GLOBAL: in elements */
    struct expr *safe_value;          /* GLOBAL: of reads outside; NULL is zero */
    bool output;                      /* GLOBAL: made by T.empty or named by out_idx */
    bool written;                     /* GLOBAL: some statement writes it (not const in C) */
    bool no_restrict;                 /* GLOBAL: may alias others */
    bool parallel_private;            /* LOCAL: allocated inside T.Parallel: one an iteration */
    bool static_shared;               /* SHARED: scope="shared" asked */
    bool scratch;                     /* SHARED: added by the compiler for an exchange */
    struct layout annotation;         /* T.annotate_layout; layout_none() without */
    struct layout layout;             /* FRAGMENT, SHARED: from PLACED on */
    int32_t ring;                     /* SHARED: slots; axis 0 is the slot axis if ring > 0 */
    int32_t offset;                   /* SHARED: byte offset from SCHEDULED (pass shared) on; -1 */
    struct buffer *alias;             /* a view (T.reshape/T.view) of this buffer, same storage */
};

/* A box of a buffer. Axis k covers [base[k], base[k] + extent[k]). */
struct region {
    struct buffer *buffer;
    struct expr *base[TILE_RANK]; /* INDEX */
    int32_t extent[TILE_RANK];
};

/* -- Statements ---------------------------------------------------------------------------------- */
enum stmt_kind {
    /* control */
    STMT_FOR, STMT_WHILE, STMT_IF, STMT_BREAK, STMT_CONTINUE,
    /* what each thread does: inside a MAP's body for each iteration; outside in every thread */
    STMT_LET, STMT_SET, STMT_STORE, STMT_ATOMIC, STMT_PRINT, STMT_ASSERT,
    /* what a block does together */
    STMT_MAP, STMT_COPY, STMT_GEMM, STMT_REDUCE,
    /* order, from SCHEDULED on */
    STMT_BARRIER, STMT_COMMIT, STMT_WAIT
};

enum loop_kind { LOOP_SERIAL, LOOP_UNROLL, LOOP_VECTOR, LOOP_PIPELINED };

enum atomic_op { ATOMIC_ADD, ATOMIC_MAX, ATOMIC_MIN };
enum memory_order { ORDER_RELAXED, ORDER_ACQUIRE, ORDER_RELEASE, ORDER_ACQ_REL, ORDER_SEQ_CST };
enum gemm_policy { POLICY_SQUARE, POLICY_FULL_ROW, POLICY_FULL_COL };
enum reduce_op {
    REDUCE_SUM, REDUCE_MAX, REDUCE_MIN, REDUCE_ABSMAX, REDUCE_ABSSUM,
    REDUCE_BITAND, REDUCE_BITOR, REDUCE_BITXOR
};

struct stmt;
struct block { /* a statement list */
    struct stmt *first, *last;
};

/* The iteration domain of a MAP or COPY: axis variables 0 … extent-1, and from PLACED on which
 * thread and register does which iteration (spaces REG, LANE, WARP; reps: done by several). */
struct domain {
    int32_t rank;
    struct var *axis[TILE_RANK]; /* VAR_AXIS */
    int32_t extent[TILE_RANK];
    struct layout layout;
};

struct stmt {
    enum stmt_kind kind;
    struct span span;
    struct stmt *next;
    const char *why; /* what the compiler decided here, one line for dumps and the .cu; may be NULL */
    union {
        struct {
            enum loop_kind kind;
            struct var *var;        /* VAR_LOOP */
            struct expr *lo, *hi;   /* half-open for a positive step; INDEX */
            int64_t step;           /* not 0 */
            int32_t stages;         /* PIPELINED: num_stages as written; -1 absent */
            int32_t factor;         /* UNROLL: 0 fully */
            struct block body;
        } loop;
        struct { struct expr *test; struct block body; } repeat; /* WHILE */
        struct { struct expr *test; struct block then, otherwise; } branch;
        struct { struct var *var; struct expr *value; } let; /* LET and SET (var is MUTABLE) */
        struct { struct buffer *buffer; int32_t count; struct expr *index[TILE_RANK]; struct expr *value; } store;
        struct {
            enum atomic_op op; enum memory_order order;
            struct buffer *buffer; int32_t count; struct expr *index[TILE_RANK]; struct expr *value;
            struct var *previous; /* LET-bound old value, or NULL */
        } atomic;
        struct { const char *message; struct expr *value; struct buffer *buffer; } print; /* one of value, buffer */
        struct { struct expr *test; const char *message; } assertion;
        struct { struct domain domain; struct block body; } map;
        struct {
            /* dst[x] = cast(src[x]) over the domain; its axes are the extents other than 1 of
             * either region, in order: domain axis k is axis src_axis[k] of src, dst_axis[k] of
             * dst. Reads outside src's buffer give its safe value (0), writes outside dst's are
             * dropped, in every scope. */
            struct region src, dst;
            struct domain domain;
            int32_t src_axis[TILE_RANK], dst_axis[TILE_RANK];
            int32_t width;       /* coalesced_width as written, 0 absent */
            bool async;          /* SCHEDULED: cp.async, completed by COMMIT and WAIT */
            struct expr *guard;  /* SCHEDULED: uniform; false: nothing is copied. NULL: always */
        } copy;
        struct {
            /* c += op(a) * op(b). The last two axes of each region with extents above … are the
             * matrix; axes before them have extent 1. m n k are the logical sizes. */
            struct region a, b, c;
            int32_t m, n, k;
            bool transpose_a, transpose_b;
            enum gemm_policy policy;
            struct expr *clear;       /* bool; c counts as 0 where true; NULL: false */
            int32_t atom;             /* PLACED: mma_row id; -1: plain FMA */
            int32_t row_warps, column_warps; /* PLACED; warp = row * column_warps + column: WARP
                                                digits {row_warps, stride column_warps} along m,
                                                {column_warps, stride 1} along n */
        } gemm;
        struct {
            /* dst = combine over axis `axis` of src (and the old dst unless clear). dst has src's
             * axes without it, or with extent 1 there. At PLACED src's layout has no WARP digit on
             * the axis: what crosses warps has been made explicit. */
            struct region src, dst;
            int32_t axis;
            enum reduce_op op;
            bool clear, nan;
            /* PLACED, parts > 1: dst keeps the axis with extent `parts` (one element a warp that
             * shares the axis); element p combines the src elements j with
             * j / part_weight % parts == p. 0: an ordinary reduction. */
            int32_t parts, part_weight;
        } reduce;
        struct { int32_t id, threads; } barrier; /* 0, 0: the whole block */
        struct { int32_t groups; } wait;         /* at most so many cp.async groups still open */
    };
};

/* -- Kernels and functions ------------------------------------------------------------------------- */
struct kernel { /* one launch */
    struct sym *name;         /* C name */
    struct span span;
    struct function_ir *function;
    int32_t grid_rank;
    struct expr *grid[3];     /* extents, over DIM and PARAM variables */
    struct var *block[3];     /* VAR_BLOCK; ranges 0 … grid-1 where known. NULL: unused axis */
    int32_t threads;          /* flattened, a multiple of 32 */
    int32_t thread_extent[3]; /* as written; product = threads */
    struct var *thread;       /* VAR_THREAD, created on demand */
    int32_t swizzle_panel;    /* T.use_swizzle; 0: none */
    bool swizzle_column;
    int32_t min_blocks;       /* annotate_min_blocks_per_sm, or chosen; 0: none */
    struct block body;
    VEC(struct buffer *) buffers; /* SHARED FRAGMENT LOCAL, in order of allocation */
    int32_t shared_bytes;     /* after pass shared */
    struct kernel_code *code; /* KERNEL: kernel.h */
};

enum param_kind { PARAM_TENSOR, PARAM_SCALAR, PARAM_DIM };
struct param { /* of the C launcher, in its order */
    enum param_kind kind;
    struct sym *name;
    struct buffer *buffer; /* TENSOR */
    struct var *var;       /* SCALAR (VAR_PARAM), DIM (VAR_DIM) */
    struct span span;
};

struct host_check { /* an assert outside T.Kernel on run-time dimensions: false is TILEC_E_ASSUME */
    struct expr *test;
    const char *message;
    struct span span;
};

struct function_ir { /* one exported instance: one launcher */
    struct sym *name;     /* C name, prefix included */
    struct sym *unit;     /* name in the text */
    struct span span;     /* of the unit's def */
    const char *doc;      /* "matmul(M=2048, N=2048, …)": the bound parameters, for comments */
    VEC(struct param) params;
    VEC(struct buffer *) globals; /* buffers of TENSOR params, by id */
    VEC(struct host_check) checks;
    VEC(struct kernel *) kernels; /* launches in order */
    int32_t buffer_count; /* ids handed out */
    bool fast_math;       /* asked for by the options or the unit's pass configs */
};

struct module {
    struct arena *arena;
    struct diag *diag;
    struct interns *names;
    struct exprs *exprs;
    const struct source *source;
    const struct target *target; /* passes ask module_has and its like, which keep … */
    struct answers *answers;
    enum level level;
    const char *after; /* name of the pass that ran last, for the header line of texts; may be NULL */
    bool fast_math;
    VEC(struct sym *) issued; /* names module_name gave out */
    VEC(struct function_ir *) functions;
};

/* -- tile.c: builders ------------------------------------------------------------------------------ */
struct module *module_new(struct arena *a, struct interns *names, struct diag *d,
                          const struct source *s, const struct target *t);
struct buffer *buffer_new(struct module *m, struct function_ir *f, struct kernel *k,
                          enum scope scope, struct sym *name, enum dtype dtype, int rank,
                          const int32_t *extent); /* k NULL: a global of f; dims set by the caller */
struct stmt *stmt_new(struct module *m, enum stmt_kind kind, struct span span);
void block_append(struct block *b, struct stmt *s);
void block_insert_before(struct block *b, struct stmt *at, struct stmt *s);
void block_insert_after(struct block *b, struct stmt *at, struct stmt *s);
void block_remove(struct block *b, struct stmt *s);
/* Deep copies with variables bound inside renamed. */
struct block block_clone(struct module *m, const struct block *b);
/* Replaces variables in all expressions of the statements, nested ones included. */
void block_substitute(struct module *m, struct block *b, int count, struct var *const *from,
                      struct expr *const *to);
/* Gives a FOR a variable that is marked so or not: its own may be another program's, too. */
void loop_set_unrolled(struct module *m, struct stmt *loop, bool unrolled);
struct region region_whole(struct module *m, struct buffer *b);
bool region_is_whole(const struct region *r); /* all of its buffer, not GLOBAL */
int64_t buffer_elements(const struct buffer *b); /* not GLOBAL; slots of a ring included */
/* May a write of one change what is read of the other? Views of one buffer and tensors of which the
 * text says that they overlap (no_restrict). */
bool buffers_meet(const struct buffer *a, const struct buffer *b);
bool expr_reads(const struct expr *e, const struct buffer *b); /* or a buffer that meets b */
bool buffer_is_constant(const struct buffer *b); /* a tensor that nothing in its function writes */
/* A name not yet used: "acc_scratch", then "acc_scratch_1"… */
struct sym *module_name(struct module *m, const char *base);

/* What is so with the target; the answer is kept. */
bool module_has(const struct module *m, enum feature f);
bool module_at_least(const struct module *m, enum trait k, int64_t n);
int64_t module_trait(const struct module *m, enum trait k); /* only this value gives this program */
const struct mma_row *module_mma(const struct module *m, enum dtype a, enum dtype b,
                                 enum dtype acc);
/* For a report that names the target: no other's program has it. */
const char *module_target_name(const struct module *m);

/* -- fork.c ------------------------------------------------------------------------------------------ */
/* The program once more, to go its own way from here (up to SCHEDULED). */
struct module *module_fork(const struct module *m);
/* The same finished program for a target that gives the same answers. */
struct module *module_for(const struct module *m, const struct target *t);

/* The COPY as the MAP that means the same, guards for clipping included where bounds are not
 * proven; the domain (with its layout) is kept. */
struct stmt *copy_as_map(struct module *m, const struct stmt *copy);

/* -- walk.c: what a statement touches ------------------------------------------------------------------ */
enum access_kind { ACCESS_READ = 1, ACCESS_WRITE = 2 };
struct access {
    struct buffer *buffer;
    enum access_kind kind;     /* an update (gemm c, reduce dst without clear, atomic) gives two */
    struct region region;      /* the box touched by the whole statement, all iterations included */
    bool exact;                /* false: `region` is a superset (index not affine, guarded …) */
    struct expr *const *index; /* element accesses inside a MAP/STORE/LET: the indices; else NULL */
    const struct stmt *stmt;   /* the innermost statement */
};
/* Calls visit for each access of s, nested statements included, in execution order. */
void stmt_accesses(struct module *m, const struct stmt *s,
                   void (*visit)(const struct access *a, void *data), void *data);
/* The same without working out the boxes: `region` and `exact` say nothing. */
void stmt_buffers(struct module *m, const struct stmt *s,
                  void (*visit)(const struct access *a, void *data), void *data);
/* Does the statement, or one of the block, write b or a buffer that meets it? */
bool stmt_writes(struct module *m, const struct stmt *s, const struct buffer *b);
bool block_writes(struct module *m, const struct block *body, const struct buffer *b);
/* Calls visit for each expression held directly by s (not by nested statements). */
void stmt_expressions(struct stmt *s, void (*visit)(struct expr **e, void *data), void *data);
/* Calls visit for s and all nested statements, outermost first. */
void block_walk(struct block *b, void (*visit)(struct stmt *s, void *data), void *data);

/* -- tile_text.c --------------------------------------------------------------------------------------- */
void tile_print(struct text *t, const struct module *m);
/* Reads what tile_print wrote; NULL after a report. The header line gives level and target. */
struct module *tile_read(struct arena *a, struct interns *names, struct diag *d,
                         const struct source *s);

/* -- tile_verify.c -------------------------------------------------------------------------------------- */
/* Says the first violation of the level's rules in *why; an error here is a fault of the pass. */
bool tile_verify(struct module *m, enum level level, const char **why);

/* -- eval.c: runs tile IR on the CPU, the reference for every test ------------------------------------------ */
struct tensor { /* row-major, dense or with strides in elements */
    enum dtype dtype;
    int32_t rank;
    int64_t extent[TILE_RANK], stride[TILE_RANK];
    uint8_t *data;
};
struct eval_args {
    int count;              /* one an entry of function_ir.params, same order */
    struct tensor **tensor; /* TENSOR */
    union scalar *scalar;   /* SCALAR, DIM */
};
struct eval_options {
    bool poison; /* unwritten shared, fragment and local storage reads as NaN/0xA5; cp.async data
                    arrives as late as COMMIT/WAIT allow */
    double *reordered; /* not NULL: raised to how far an element that atomics sum in floats may lie
                          from its value when they come in another order */
};
/* Runs all launches, any level up to SCHEDULED. False with *why: an access outside a shared,
 * fragment or local buffer, a failed assert, more than 2^40 steps. */
bool tile_eval(struct module *m, struct function_ir *f, const struct eval_args *args,
               const struct eval_options *options, const char **why);

#endif
