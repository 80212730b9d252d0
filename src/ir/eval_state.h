/* eval_state.h: what the files of the evaluator share: the state of one block at work.
 *
 * A block runs statement by statement. Tile operations happen once; a plain statement runs in each
 * active thread, one thread after the other, before the next statement starts. Variables that may
 * differ between threads have a slot a thread; so have local buffers. */
#ifndef TILEC_EVAL_STATE_H
#define TILEC_EVAL_STATE_H
#include "ir/internal.h"
#include "ir/tile.h"

struct slot { /* values of one variable */
    union scalar *at;
    int32_t stride; /* 1: one a thread; 0: one for all */
};

struct added { /* to one element, by atomics in floats */
    double magnitude; /* of all terms: the sum of their absolute values */
    double terms;
};

struct memory { /* a buffer while it runs */
    struct buffer *buffer;
    uint8_t *data;
    int64_t extent[TILE_RANK], stride[TILE_RANK]; /* in elements */
    int64_t thread_bytes;                         /* LOCAL: of one thread's copy; else 0 */
    int64_t bytes;         /* to fill for each block; 0: not ours (alias, tensor) */
    int32_t rank, element; /* bytes of an element */
    enum dtype dtype;
    bool outside_ok; /* tensors: reads outside give `safe`, writes are dropped */
    union scalar safe;
    struct added *added; /* by offset of the element; NULL before the first */
};

enum opcode {
    CODE_CONSTANT,
    CODE_VAR,
    CODE_LOAD,
    CODE_OP,
    CODE_CAST,
    CODE_KEEP,
    CODE_TEMP,
    CODE_JUMP,
    CODE_UNLESS, /* jumps if the condition, which it takes, is false */
    CODE_AND,
    CODE_OR, /* jumps over the second operand if the first decides, else takes it */
    CODE_ADD_INDEX,
    CODE_SUB_INDEX,
    CODE_MUL_INDEX,
    CODE_LESS_INDEX,
    CODE_ADD_F32,
    CODE_SUB_F32,
    CODE_MUL_F32
};

struct instruction {
    uint8_t opcode, dtype, from, arity;
    int16_t fn;
    int32_t target; /* of jumps; number of a kept value */
    union {
        union scalar value;
        const struct slot *slot;
        struct memory *memory;
    };
};

struct code { /* an expression, flat, for a stack machine */
    struct instruction *at;
    int32_t count;
    int32_t kept;  /* values used more than once, in front of the stack */
    int32_t depth; /* of the stack, kept ones included */
};

struct pending { /* an element of a cp.async on its way */
    uint8_t *to;
    uint64_t bits;
    int32_t bytes, group;
};

struct eval {
    struct module *m;
    struct function_ir *f;
    const struct eval_options *options;
    struct arena *arena; /* freed when the run ends */
    const char *why;     /* the first failure */
    int64_t steps;
    int32_t threads;
    struct slot *slots;       /* by variable id */
    struct memory **memories; /* by buffer id */
    struct code **codes;      /* by expression id */
    int32_t code_room;
    union scalar *stack;
    int32_t stack_room;
    union scalar *product; /* operands of a gemm */
    int64_t product_room;
    uint8_t *varies; /* by expression id: 0 not yet known, 1 equal in all threads, 2 not */
    int32_t varies_room;
    VEC(const struct var *) written; /* mutable variables that a MAP sets, … */
    VEC(struct memory *) locals;     /* … and local buffers that it writes */
    VEC(uint8_t) saved;              /* their values before an iteration */
    VEC(struct pending) pending;
    int32_t groups;  /* committed so far */
    uint8_t *shared; /* all shared buffers, once they have offsets */
    int64_t shared_bytes;
};

/* -- eval_expr.c
 * ----------------------------------------------------------------------------------- */
union scalar eval_value(struct eval *s, struct expr *e, int thread);
static inline int64_t eval_integer(struct eval *s, struct expr *e, int thread) {
    return e->kind == EXPR_INT ? e->integer : eval_value(s, e, thread).i;
}
static inline bool eval_test(struct eval *s, struct expr *e, int thread) {
    return eval_integer(s, e, thread) != 0;
}
void eval_bind(struct eval *s, const struct var *v, union scalar value, int thread);

/* -- eval_memory.c
 * --------------------------------------------------------------------------------- */
void eval_fail(struct eval *s, struct span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool eval_add_memories(struct eval *s, const struct eval_args *args);
void eval_add_buffers(struct eval *s, const struct kernel *k);
void eval_fill(struct eval *s, const struct kernel *k); /* a new block: nothing is written yet */
/* Address of an element; NULL if it lies outside, which is a failure except for tensors. */
uint8_t *eval_address(struct eval *s, const struct memory *m, const int64_t *index, int thread);
int64_t eval_elements(const struct memory *m); /* from the first to the last, of one copy */
union scalar element_read(const uint8_t *at, enum dtype t);
void element_write(uint8_t *at, enum dtype t, union scalar v);
static inline struct memory *eval_memory(const struct eval *s, const struct buffer *b) {
    return s->memories[b->id];
}

/* -- eval_tile.c
 * ------------------------------------------------------------------------------------ */
void eval_copy(struct eval *s, const struct stmt *st, int thread);
void eval_gemm(struct eval *s, const struct stmt *st, int thread);
void eval_reduce(struct eval *s, const struct stmt *st, int thread);
void eval_commit(struct eval *s);
void eval_wait(struct eval *s, int32_t groups);

/* -- eval_threads.c: statements outside MAPs, in all threads
 * ------------------------------------------ */
void eval_prepare(struct eval *s, const struct kernel *k); /* slots of variables */
void eval_body(struct eval *s, const struct kernel *k);

/* -- eval_thread.c: what one thread does
 * -------------------------------------------------------------- */
void eval_map(struct eval *s, const struct stmt *st, int thread);
void eval_plain(struct eval *s, const struct stmt *st,
                int thread); /* LET SET STORE ATOMIC ASSERT */

#endif
