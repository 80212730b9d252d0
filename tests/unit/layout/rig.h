/* rig.h: builds small kernels by hand for the tests of src/layout. */
#ifndef TILEC_TEST_RIG_H
#define TILEC_TEST_RIG_H
#include "ir/tile.h"

struct rig {
    struct arena *arena;
    struct module *m;
    struct function_ir *f;
    struct kernel *k;
    struct block *at;        /* where statements go */
    struct expr *one, *zero; /* f32 */
};

struct rig rig_new(const char *target, int threads);
void rig_free(struct rig *r);

struct buffer *rig_global(struct rig *r, const char *name, enum dtype t, int rank, const int *dim);
struct buffer *rig_buffer(struct rig *r, enum scope scope, const char *name, enum dtype t, int rank,
                          const int *extent);
/* buffer[base… ] with these extents; base NULL: zeros, extent NULL: the whole buffer. */
struct region rig_region(struct rig *r, struct buffer *b, struct expr *const *base,
                         const int *extent);
struct expr *rig_int(struct rig *r, int64_t v);
struct expr *rig_var(struct rig *r, struct var *v);
struct expr *rig_block(struct rig *r, int axis, int64_t count,
                       int64_t scale); /* scale * blockIdx */
struct expr *rig_load(struct rig *r, struct buffer *b, struct expr *i, struct expr *j);

struct stmt *rig_copy(struct rig *r, struct region src, struct region dst);
struct stmt *rig_gemm(struct rig *r, struct buffer *a, struct buffer *b, struct buffer *c,
                      bool transpose_b, enum gemm_policy policy);
struct stmt *rig_reduce(struct rig *r, struct buffer *src, struct buffer *dst, int axis,
                        enum reduce_op op, bool clear);
/* A MAP; its axes as expressions in i and j (j NULL for rank 1). */
struct stmt *rig_map(struct rig *r, int rank, const int *extent, struct expr **i, struct expr **j);
struct stmt *rig_store(struct rig *r, struct block *in, struct buffer *b, struct expr *i,
                       struct expr *j, struct expr *value);
struct stmt *rig_loop(struct rig *r, enum loop_kind kind, int64_t count, int stages);

/* atoms and place; the errors they made. */
int rig_place(struct rig *r);
const char *rig_dump(struct rig *r);

/* -- the founding kernels ---------------------------------------------------------------------- */
void build_vector_add(struct rig *r, int n, int block);
void build_matmul(struct rig *r, int m, int n, int k, int stages, enum gemm_policy policy);
void build_softmax(struct rig *r, int rows, int columns, bool shared);
void build_attention(struct rig *r, int rows, int columns, int dim);
void build_mla(struct rig *r, int rows, int columns, int dim);

/* What the checks look for. */
int count_kind(struct rig *r, enum stmt_kind kind);
struct buffer *find_buffer(struct rig *r, const char *name);
int count_scratch(struct rig *r);

#endif
