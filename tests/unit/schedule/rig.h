/* rig.h: builds small placed kernels by hand for the tests of src/schedule. */
#ifndef TILEC_TEST_SCHEDULE_RIG_H
#define TILEC_TEST_SCHEDULE_RIG_H
#include "ir/tile.h"

struct rig {
    struct arena *arena;
    struct module *m;
    struct function_ir *f;
    struct kernel *k;
    struct block *at; /* where statements go */
};

struct rig rig_new(const char *target, int threads);
void rig_free(struct rig *r);

struct expr *rig_int(struct rig *r, int64_t v);
struct expr *rig_add(struct rig *r, struct expr *a, struct expr *b);
struct buffer *rig_global(struct rig *r, const char *name, enum dtype t, int rows, int columns);
struct buffer *rig_shared(struct rig *r, const char *name, enum dtype t, int rows, int columns);
/* A fragment laid out by rows of threads. */
struct buffer *rig_fragment(struct rig *r, const char *name, enum dtype t, int rows, int columns);
/* An accumulator of the row, divided over rows x columns of warps. */
struct buffer *rig_accumulator(struct rig *r, const char *name, const struct mma_row *row, int rows,
                               int columns, int row_warps);
struct region rig_region(struct buffer *b, struct expr *i, struct expr *j, int rows, int columns);
struct region rig_whole(struct rig *r, struct buffer *b);

/* The domain is that of the fragment, if there is one, else rows of threads. */
struct stmt *rig_copy(struct rig *r, struct region src, struct region dst);
struct stmt *rig_gemm(struct rig *r, struct region a, struct region b, struct region c,
                      const struct mma_row *row, int row_warps);
struct stmt *rig_zero(struct rig *r, struct buffer *b);
/* A MAP over the rows and columns of `b` in its own layout or by rows of threads. */
struct stmt *rig_map(struct rig *r, const struct buffer *b, struct expr **i, struct expr **j);
void rig_store(struct rig *r, struct stmt *map, struct buffer *b, struct expr *i, struct expr *j,
               struct expr *value);
struct expr *rig_load(struct rig *r, struct buffer *b, struct expr *i, struct expr *j);
struct stmt *rig_loop(struct rig *r, enum loop_kind kind, struct expr *hi, int stages,
                      struct expr **var);
struct expr *rig_dim(struct rig *r, const char *name);

/* -- founding kernels, placed --------------------------------------------------------------------
 */
struct shape {
    int m, n, k; /* of the problem */
    int block_m, block_n, block_k;
    int stages, threads, row_warps;
    bool transpose_a, transpose_b;
    const char *target;
    bool plain;   /* no tensor cores */
    bool dynamic; /* the trip count is a dimension */
};
struct rig build_matmul(const struct shape *s);
/* Q, K, V of rows x 64; scores are stored unnormalised: the point is who waits for whom. */
struct rig build_attention(const struct shape *s);

/* random.c: tiles S T U, fragments a b that it stores to Y and Z; a dimension n. */
struct rig random_program(uint32_t seed);

void run_schedule(struct rig *r); /* all four passes */
const char *rig_dump(struct rig *r);
/* Statements of the kind in the block, nested ones included; `direct` excludes those in loops. */
int count_kind(const struct block *b, enum stmt_kind kind, bool direct);
struct stmt *find_loop(const struct block *b); /* the first that is not unrolled */
struct buffer *find_buffer(struct rig *r, const char *name);

#endif
