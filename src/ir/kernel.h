/* kernel.h: Kernel IR: what one thread does; exactly what is printed as CUDA.
 *
 * Storage: scalar variables (struct var) and register arrays (struct array). Array indices are
 * constants or expressions over unrolled loop variables only, so every element is a register.
 * 16- and 8-bit elements of fragments live packed in 32-bit words: an array of dtype U32 whose
 * `element` is the packed type; element e is part e % parts of word e / parts. Expressions on them
 * use FN_PACK2/FN_UNPACK… of functions.def; everything else computes in 32-bit (or wider) scalars.
 * f16, bf16 and fp8 values that are not packed are f32 scalars between a conversion from and one
 * to the storage type.
 *
 * Memory is reached only by LOAD, STORE, ATOMIC and the copy statements, at explicit addresses. */
#ifndef TILEC_KERNEL_H
#define TILEC_KERNEL_H
#include "ir/tile.h"

struct array {
    struct sym *name;
    int32_t id;         /* dense within the kernel */
    enum dtype dtype;   /* of a register: U32 for packed and mma operand words, F32, I32, … */
    enum dtype element; /* what it holds: dtype itself, or the packed type */
    int32_t count;      /* registers */
    struct span span;
};

/* An address: element `index` of a tensor, or byte `index` of a shared buffer's storage.
 * Alignment is the known one of the whole address in bytes. */
struct address {
    struct buffer *buffer; /* GLOBAL, SHARED or LOCAL */
    struct expr *index;    /* GLOBAL: element offset from the tensor's first element (already times
                              strides); SHARED: byte offset within the buffer (swizzle applied) */
    int32_t alignment;
};

enum kstmt_kind {
    K_VAR,       /* declares (and sets) a scalar variable */
    K_ARRAY,     /* declares a register array, uninitialised */
    K_SET,       /* variable = value */
    K_PUT,       /* array[index] = value */
    K_FOR, K_WHILE, K_IF, K_BREAK, K_CONTINUE,
    K_LOAD,      /* `count` registers from memory into an array or a variable */
    K_STORE,     /* the reverse */
    K_ATOMIC,
    K_CP_ASYNC,  /* global to shared, 4 8 or 16 bytes */
    K_COMMIT, K_WAIT, K_BARRIER, K_SYNC_WARP,
    K_LDMATRIX,  /* 1, 2 or 4 8x8 matrices of 16 bits */
    K_STMATRIX,
    K_MMA,       /* one tensor-core instruction */
    K_PRINT, K_ASSERT,
    K_COMMENT    /* a line for the reader: the source statement that follows, a decision */
};

struct kstmt;
struct kblock {
    struct kstmt *first, *last;
};

struct operand { /* `count` registers of an array from `index` on */
    struct array *array;
    struct expr *index;
};

struct kstmt {
    enum kstmt_kind kind;
    struct span span; /* the source statement it came from */
    struct kstmt *next;
    union {
        struct { struct var *var; struct expr *value; } set;      /* VAR (value may be NULL) SET */
        struct array *array;                                      /* ARRAY */
        struct { struct operand to; struct expr *value; } put;    /* PUT */
        struct { struct var *var; struct expr *lo, *hi; int64_t step; int32_t unroll; bool apart; struct kblock body; } loop; /* unroll: 1 not, 0 fully, n; apart: each turn calls one function (part.c) */
        struct { struct expr *test; struct kblock body; } repeat; /* WHILE */
        struct { struct expr *test; struct kblock then, otherwise; } branch;
        struct {
            struct address address;
            enum dtype memory;     /* element type in memory */
            int32_t bytes;         /* of the access: 1 2 4 8 16 */
            struct operand data;   /* array NULL: see var/value */
            struct var *var;       /* LOAD of one element: the variable that receives it (declared here), value in registers' type (storage bits for 16/8-bit floats) */
            struct expr *value;    /* STORE of one element: storage bits likewise */
            bool read_only;        /* LOAD: the kernel never writes the tensor or what may overlap it (ld.global.nc) */
        } memory;                                                 /* LOAD STORE */
        struct { enum atomic_op op; enum memory_order order; struct address address; enum dtype dtype; struct expr *value; struct var *previous; } atomic; /* 16-bit floats come and go as f32 */
        struct {
            struct address to, from;
            int32_t bytes;             /* 4 8 16 */
            struct expr *source_bytes; /* the rest is zero-filled; NULL: all. 0: nothing is read */
            struct expr *guard;        /* false: nothing happens; NULL: always */
        } cp_async;
        struct { int32_t groups; } wait;
        struct { int32_t id, threads; } barrier;
        struct { struct address address; struct operand data; int32_t matrices; bool transpose; } matrix; /* address: of this lane's row */
        struct { int32_t row; struct operand d, a, b; } mma;      /* mma_row id */
        struct { const char *message; struct expr *value; struct expr *test; } print; /* PRINT (test: this thread prints) ASSERT (test must hold) */
        const char *comment;
    };
};

struct kernel_code {
    struct kblock body;
    VEC(struct array *) arrays;
    struct var *thread; /* VAR_THREAD, set before the body; NULL if unused */
    struct var *lane, *warp; /* set by K_VARs at the body's start; NULL if unused */
    VEC(struct buffer *) locals; /* LOCAL buffers that are reached by address; others are arrays */
    int32_t registers; /* estimate, for launch bounds and --explain */
    /* by global buffer id: the widest access in bytes, 0 if none */
    int32_t *alignment;
};

/* -- kernel.c --------------------------------------------------------------------------------------- */
struct kstmt *kstmt_new(struct module *m, enum kstmt_kind kind, struct span span);
void kblock_append(struct kblock *b, struct kstmt *s);
void kblock_insert_before(struct kblock *b, struct kstmt *at, struct kstmt *s);
struct array *array_new(struct module *m, struct kernel *k, const char *name, enum dtype dtype,
                        enum dtype element, int32_t count, struct span span);
void kblock_walk(struct kblock *b, void (*visit)(struct kstmt *s, void *data), void *data);
int32_t kstmt_registers(const struct kstmt *s); /* that a LOAD or STORE moves, of its array */
void kstmt_expressions(struct kstmt *s, void (*visit)(struct expr **e, void *data), void *data);

/* -- part.c: a turn of a fully unrolled loop as a function ------------------------------------------- */
enum { PART_WINDOWS = 6, PART_ELEMENTS = 16, PART_SCALARS = 8, PART_TENSORS = 2 };
struct part_window { /* elements base + offset[i] of an array, in ascending order */
    struct array *array;
    struct expr *base;
    int32_t count;
    int64_t offset[PART_ELEMENTS];
    bool in[PART_ELEMENTS], out[PART_ELEMENTS]; /* read before it is written; written */
    bool set[PART_ELEMENTS];                    /* written whatever the conditions say */
};
struct part {
    int32_t windows, scalars, tensors, cost; /* cost: a rough number of instructions */
    struct part_window window[PART_WINDOWS];
    struct var *scalar[PART_SCALARS];    /* used and not changed */
    struct buffer *tensor[PART_TENSORS]; /* stored to */
    struct kstmt *first; /* of the function; variables before it are set by the caller */
};
/* False if the body is more than computing with a few registers and storing what comes out. */
bool part_find(struct module *m, struct kstmt *loop, struct part *out);

/* -- kernel_text.c ---------------------------------------------------------------------------------- */
void kernel_print(struct text *t, const struct module *m);
struct module *kernel_read(struct arena *a, struct interns *names, struct diag *d,
                           const struct source *s);

/* -- kernel_verify.c -------------------------------------------------------------------------------- */
/* Constant array indices in range, types agree, alignments suffice, barriers in uniform control
 * flow, every variable set before use, no statement of tile level left. */
bool kernel_verify(struct module *m, const char **why);

#endif
