/* internal.h: what the files of src/schedule share. */
#ifndef TILEC_SCHEDULE_INTERNAL_H
#define TILEC_SCHEDULE_INTERNAL_H
#include "ir/tile.h"

/* -- build.c: statements and index arithmetic -----------------------------------------------------
 */
struct place_in { /* where new statements and buffers belong */
    struct module *module;
    struct function_ir *function;
    struct kernel *kernel;
};

struct expr *index_of(struct module *m, int64_t value);
struct expr *index_sum(struct module *m, struct expr *a, struct expr *b);
struct expr *index_times(struct module *m, struct expr *a, int64_t factor);

struct stmt *build_wait(struct module *m, struct span span, int groups);
struct stmt *build_let(struct module *m, struct span span, struct var *v, struct expr *value);
struct stmt *build_set(struct module *m, struct span span, struct var *v, struct expr *value);

/* A COPY between two regions over the axes `axis` (of src, of dst) with the domain `layout`. */
struct copy_axes {
    int rank;
    int src[TILE_RANK], dst[TILE_RANK];
};
struct stmt *schedule_copy(struct module *m, struct span span, const struct region *src,
                           const struct region *dst, const struct copy_axes *axes);
/* A MAP that sets `r`, part of a fragment, to zero. */
struct stmt *build_zero(struct module *m, struct span span, const struct region *r);
struct domain build_domain(struct module *m, int rank, const int32_t *extent,
                           const struct layout *layout);

/* The number of iterations, -1 if it is not a constant. */
int64_t loop_trip(const struct stmt *loop);
/* A counter 0 … slots-1 and its successor; sync.c knows this form. */
struct var *build_counter(struct module *m, const char *name, int slots, struct span span);
struct expr *counter_next(struct module *m, struct var *v, int slots);

const struct buffer *buffer_storage(const struct buffer *b); /* views looked through */
/* Is s the statement, or a part of it that is not inside a MAP? */
bool stmt_holds(const struct stmt *outer, const struct stmt *s);
bool block_holds(const struct block *b, const struct stmt *s);
/* Does the expression use a variable that the block binds or changes? */
bool block_binds(struct block *b, const struct expr *e);

/* -- outline.c: the statements of a kernel as a numbered tree -------------------------------------
 */
struct node {
    struct stmt *stmt;
    struct block *block; /* that holds stmt */
    int parent;          /* -1: the kernel's body */
    int end;        /* first node after its descendants; children of i: i+1, node[i+1].end … */
    int depth;      /* loops around it */
    bool otherwise; /* in the second branch of an IF */
};
struct outline { /* MAPs are leaves */
    VEC(struct node) nodes;
};
struct outline outline_of(struct arena *a, struct kernel *k);
bool stmt_is_control(const struct stmt *s); /* FOR, WHILE, IF: nested statements are nodes */
/* The accesses of node's statement itself: a control statement's own expressions, all else whole.
 */
void node_accesses(struct module *m, const struct node *n,
                   void (*visit)(const struct access *a, void *data), void *data);

/* When a buffer's contents matter, as a range of nodes. */
struct lifetime {
    int begin, end; /* inclusive; begin > end: never */
};
/* One an entry of k->buffers. */
struct lifetime *lifetimes_of(struct module *m, struct arena *a, const struct outline *o,
                              const struct kernel *k);

/* -- registers.c: estimates in 32-bit registers a thread --------------------------------------- */
enum { REGISTERS_BASE = 50 }; /* addresses, counters, temporaries (measured: 40 to 52) */
int fragment_registers(const struct buffer *b);
/* Registers of the fragments and locals that live while `at` runs. */
int live_registers(struct module *m, struct kernel *k, const struct stmt *at);

/* -- async.c ----------------------------------------------------------------------------------- */
/* May the COPY be done by cp.async? If not, *why says so in words. */
bool copy_can_be_async(const struct module *m, const struct stmt *copy, const char **why);
/* Makes the copies that fill shared memory asynchronous wherever they stand, each run of them
 * closed by a COMMIT. */
void async_fills(struct module *m, struct kernel *k);

/* -- uniform.c --------------------------------------------------------------------------------- */
struct uniformity;
struct uniformity *uniformity_of(struct module *m, struct arena *scratch, struct kernel *k);
bool expr_is_uniform(const struct uniformity *u, const struct expr *e);
bool loop_is_uniform(const struct uniformity *u, const struct stmt *s); /* all threads take all turns */

/* -- depend.c: which loads of a loop may run ahead --------------------------------------------- */
struct load {
    struct stmt *at;     /* the COPY or MAP as it stands in the loop */
    struct block *block; /* that holds it: the loop's body, or a branch in it */
    struct region to;    /* what it fills, before the slots are made */
    struct expr *guard;  /* the test around it, lets folded; NULL */
    struct expr *test;   /* the same as it stands there */
    int lets;            /* of those of the body, in front of it */
    bool async;
};
struct loads {
    VEC(struct load) at;
    VEC(struct buffer *) buffers; /* filled by them, each once */
    VEC(struct stmt *) lets;      /* of the body */
    bool async;                   /* some are */
};
/* The loads of `loop` (a statement of k's body) whose buffers can become rings. Says in notes of --explain=schedule why others cannot. */
struct loads loop_loads(struct place_in in, struct stmt *loop, struct uniformity *uniform);
/* A copy of the load that means the same in front of the body: its lets are folded in. */
struct stmt *load_early(struct module *m, const struct loads *loads, const struct load *l);
/* A BREAK or CONTINUE that leaves or skips an iteration of this very loop. */
bool loop_jumps(const struct block *body);

/* -- gather.c ------------------------------------------------------------------------------------ */
/* Is s a MAP that works out, from tensors alone, an element of a shared tile in each iteration? Then
 * `to` is what it fills. */
bool map_fills(struct module *m, const struct stmt *s, struct region *to);
const struct buffer *map_target(struct stmt *map); /* the tile */
/* Turns the stores of such a MAP to the fragment, which has its domain's layout; gives the COPY from
 * there to where they went. */
struct stmt *map_cut(struct module *m, struct stmt *map, struct buffer *fragment);

/* -- ring.c ------------------------------------------------------------------------------------ */
/* Gives the buffer `slots` slots: a new axis 0. All accesses in the kernel get slot 0. */
void ring_add(struct module *m, struct kernel *k, struct buffer *b, int slots);
/* Replaces the slot of every access to the buffer in the statements. */
void ring_select(struct module *m, struct block *body, struct buffer *b, struct expr *slot);
int64_t shared_bytes_of(const struct buffer *b, int slots); /* storage with so many slots */
int shared_alignment(const struct buffer *b);

/* -- steps.c: a gemm as steps of one instruction depth ----------------------------------------- */
struct operand_plan {
    struct buffer *step;  /* fragment [slots, rows, columns] of one step; NULL: none is needed */
    struct buffer *whole; /* fragment of all steps, filled before */
    int row_axis, column_axis; /* of the gemm's region: (m,k) of A, (k,n) of B */
};
struct steps {
    struct place_in in;
    const struct stmt *gemm;
    const struct mma_row *row; /* NULL: plain FMA, no steps */
    int count;
    int rest; /* depth of the last one where the instruction's does not divide k, else 0 */
    struct operand_plan a, b;
};
struct steps steps_of(struct place_in in, const struct stmt *gemm);
/* Registers of one step's A and B, before the fragments are made. */
int steps_registers(const struct steps *s);
int steps_whole_registers(const struct steps *s, bool b);
void steps_make_fragments(struct steps *s, int slots);
void steps_make_whole(struct steps *s, bool b);
/* Appends the COPYs that bring step `step` into slot `slot`, the rest's zeroes included. */
void steps_fetch(const struct steps *s, struct block *to, struct expr *step, int depth,
                 struct expr *slot);
/* Appends the COPY of a whole operand. */
void steps_fetch_whole(const struct steps *s, struct block *to, bool b);
void steps_multiply(const struct steps *s, struct block *to, struct expr *step, struct expr *slot);

/* -- pipeline.c -------------------------------------------------------------------------------- */
/* Appends the loads of the iteration whose loop variable is `value` into slot `slot`, and a COMMIT
 * if they are asynchronous. Loads of an iteration beyond the last do nothing. */
void append_fill(struct place_in in, struct block *to, const struct stmt *loop,
                 const struct loads *loads, struct expr *value, struct expr *slot);

/* -- staged.c ---------------------------------------------------------------------------------- */
/* Are there plain loads, and registers to hold them while the body computes? */
bool staged_fits(struct place_in in, const struct stmt *loop, const struct loads *loads);
/* Makes a plain load, a COPY or a MAP perhaps in an IF, go into a fragment; its stores are appended
 * to the block. */
void staged_cut(struct place_in in, struct stmt *load, struct block *stores);

/* -- mainloop.c -------------------------------------------------------------------------------- */
/* Is the loop body one gemm on the loaded buffers for which fragments of the next step should be
 * loaded across the back edge? */
bool mainloop_fits(struct place_in in, const struct stmt *loop, const struct loads *loads,
                   int slots);
void mainloop_build(struct place_in in, struct block *b, struct stmt *loop,
                    const struct loads *loads, int slots);

/* -- hazard.c: which accesses nothing orders --------------------------------------------------- */
struct hazards;
struct hazard {
    int first, second; /* nodes */
    int groups;        /* what a WAIT before `second` must leave open at most; -1: none needed */
    bool uncommitted;  /* the copy's group was never closed */
    bool barrier;      /* other threads are involved */
};
struct hazards *hazards_new(struct module *m, struct arena *scratch, struct kernel *k);
const struct outline *hazards_outline(const struct hazards *h);
/* What is to be inserted in front of a node; at place node + (number of nodes): at the end of the
 * loop's body. */
struct fence {
    bool commit, barrier;
    int wait; /* -1: none */
};
struct fence *hazards_fence(struct hazards *h, int place);
/* Runs through the kernel with the fences; the hazards found are in *list, each pair once. More
 * fences leave no others, so later runs look at the accesses of these alone, until … */
int hazards_find(struct hazards *h, struct hazard const **list);
void hazards_widen(struct hazards *h); /* … this is called, before fences are taken away. */
/* Their number; one beyond `enough` may be too low. */
int hazards_count(struct hazards *h, int enough);
/* Could x and y share storage: does something order every access of one against each of the other?
 */
bool hazards_ordered(struct hazards *h, const struct buffer *x, const struct buffer *y);
/* From now on only hazards between x and y count, as if they were one; NULL, NULL: all, each buffer
 * by itself. */
void hazards_fold(struct hazards *h, const struct buffer *x, const struct buffer *y);
/* Reports exchanges between threads within branches that not all threads take; the number of them.
 */
int hazards_report_divergent(struct hazards *h);

/* -- meet.c ------------------------------------------------------------------------------------ */
struct path { /* the loops and branches around a statement, innermost first */
    const struct path *outer;
    const struct stmt *stmt;
    bool otherwise; /* the other branch */
};
struct meetings *meetings_new(struct module *m, struct arena *scratch, struct stmt *map,
                              const struct path *path);
void meetings_add(struct meetings *w, const struct access *a); /* of the MAP */
/* May different iterations touch one element by these two accesses, counted as they were added? */
bool meetings_may(struct meetings *w, int first, int second);

/* -- split.c ----------------------------------------------------------------------------------- */
/* Divides MAPs whose iterations exchange data; false after a report. */
bool split_maps(struct module *m, struct kernel *k);

/* -- sync.c ------------------------------------------------------------------------------------ */
/* Adds the barriers and waits that let x and y share storage. */
void sync_order(struct module *m, struct kernel *k, const struct buffer *x, const struct buffer *y);

/* -- shared.c ---------------------------------------------------------------------------------- */
/* Bytes that the shared buffers will take if buffer i of the kernel gets slots[i] slots (0: as it
 * is), reuse by lifetimes included. */
int64_t shared_estimate(struct module *m, struct kernel *k, const int *slots);
/* Appends the table of buffers, slots and bytes as notes to the last report. */
void shared_table(struct module *m, struct kernel *k, const int *slots);

#endif
