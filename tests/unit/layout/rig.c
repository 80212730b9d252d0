/* rig.c: builds small kernels by hand for the tests of src/layout. */
#include "rig.h"
#include "layout/place.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const struct span NOWHERE = {0, 0};

struct rig rig_new(const char *target, int threads) {
    struct rig r = {.arena = arena_new()};
    const struct source *s = source_of_text(r.arena, "test.tile", "", 0);
    struct interns *names = interns_new(r.arena);
    r.m = module_new(r.arena, names, diag_new(r.arena, s), s, target_find(target));
    r.f = arena_make(r.arena, struct function_ir);
    r.k = arena_make(r.arena, struct kernel);
    r.f->name = r.f->unit = r.k->name = intern_text(names, "test");
    r.f->doc = "test";
    r.k->function = r.f;
    r.k->threads = r.k->thread_extent[0] = threads;
    r.k->thread_extent[1] = r.k->thread_extent[2] = 1;
    r.k->grid_rank = 3;
    for (int i = 0; i < 3; i++) r.k->grid[i] = expr_index(r.m->exprs, 1);
    vec_push(r.arena, &r.m->functions, r.f);
    vec_push(r.arena, &r.f->kernels, r.k);
    r.at = &r.k->body;
    r.zero = expr_float(r.m->exprs, 0, DTYPE_F32);
    r.one = expr_float(r.m->exprs, 1, DTYPE_F32);
    return r;
}

void rig_free(struct rig *r) { arena_free(r->arena); }

struct expr *rig_int(struct rig *r, int64_t v) {
    return expr_index(r->m->exprs, v);
}
struct expr *rig_var(struct rig *r, struct var *v) {
    return expr_var(r->m->exprs, v);
}

struct buffer *rig_global(struct rig *r, const char *name, enum dtype t, int rank, const int *dim) {
    struct sym *sym = intern_text(r->m->names, name);
    struct buffer *b = buffer_new(r->m, r->f, NULL, SCOPE_GLOBAL, sym, t, rank, NULL);
    int64_t stride = 1;
    for (int k = rank - 1; k >= 0; k--) {
        b->dim[k] = rig_int(r, dim[k]);
        b->stride[k] = rig_int(r, stride);
        stride *= dim[k];
    }
    struct param p = {.kind = PARAM_TENSOR, .name = sym, .buffer = b};
    vec_push(r->arena, &r->f->params, p);
    b->written = true;
    return b;
}

struct buffer *rig_buffer(struct rig *r, enum scope scope, const char *name, enum dtype t, int rank,
                          const int *extent) {
    int32_t e[TILE_RANK];
    for (int k = 0; k < rank; k++) e[k] = extent[k];
    return buffer_new(r->m, r->f, r->k, scope, intern_text(r->m->names, name), t, rank, e);
}

struct region rig_region(struct rig *r, struct buffer *b, struct expr *const *base,
                         const int *extent) {
    struct region g = {.buffer = b};
    for (int k = 0; k < b->rank; k++) {
        g.base[k] = base ? base[k] : rig_int(r, 0);
        g.extent[k] = extent ? extent[k] : b->extent[k];
    }
    return g;
}

struct expr *rig_block(struct rig *r, int axis, int64_t count, int64_t scale) {
    if (!r->k->block[axis]) {
        static const char *const names[] = {"bx", "by", "bz"};
        struct var *v = var_new(r->m->exprs, VAR_BLOCK, intern_text(r->m->names, names[axis]),
                                DTYPE_INDEX, NOWHERE);
        v->lo = 0;
        v->hi = count - 1;
        v->divisor = 1;
        r->k->block[axis] = v;
        r->k->grid[axis] = rig_int(r, count);
    }
    return expr_binary(r->m->exprs, FN_MUL, rig_var(r, r->k->block[axis]), rig_int(r, scale));
}

struct expr *rig_load(struct rig *r, struct buffer *b, struct expr *i, struct expr *j) {
    struct expr *index[2] = {i, j};
    return expr_load(r->m->exprs, b, b->rank, index);
}

static struct var *axis_var(struct rig *r, const char *name, enum var_kind kind, int64_t count) {
    struct var *v =
        var_new(r->m->exprs, kind, intern_text(r->m->names, name), DTYPE_INDEX, NOWHERE);
    v->lo = 0;
    v->hi = count - 1;
    v->divisor = 1;
    return v;
}

struct stmt *rig_copy(struct rig *r, struct region src, struct region dst) {
    struct stmt *s = stmt_new(r->m, STMT_COPY, NOWHERE);
    struct domain *d = &s->copy.domain;
    s->copy.src = src;
    s->copy.dst = dst;
    int n = 0;
    for (int k = 0; k < src.buffer->rank; k++)
        if (src.extent[k] != 1) {
            d->extent[d->rank] = src.extent[k];
            d->axis[d->rank] = axis_var(r, d->rank ? "j" : "i", VAR_AXIS, src.extent[k]);
            s->copy.src_axis[d->rank++] = k;
        }
    for (int k = 0; k < dst.buffer->rank; k++)
        if (dst.extent[k] != 1) s->copy.dst_axis[n++] = k;
    block_append(r->at, s);
    return s;
}

struct stmt *rig_gemm(struct rig *r, struct buffer *a, struct buffer *b, struct buffer *c,
                      bool transpose_b, enum gemm_policy policy) {
    struct stmt *s = stmt_new(r->m, STMT_GEMM, NOWHERE);
    s->gemm.a = rig_region(r, a, NULL, NULL);
    s->gemm.b = rig_region(r, b, NULL, NULL);
    s->gemm.c = rig_region(r, c, NULL, NULL);
    s->gemm.m = c->extent[0];
    s->gemm.n = c->extent[1];
    s->gemm.k = a->extent[1];
    s->gemm.transpose_b = transpose_b;
    s->gemm.policy = policy;
    block_append(r->at, s);
    return s;
}

struct stmt *rig_reduce(struct rig *r, struct buffer *src, struct buffer *dst, int axis,
                        enum reduce_op op, bool clear) {
    struct stmt *s = stmt_new(r->m, STMT_REDUCE, NOWHERE);
    s->reduce.src = rig_region(r, src, NULL, NULL);
    s->reduce.dst = rig_region(r, dst, NULL, NULL);
    s->reduce.axis = axis;
    s->reduce.op = op;
    s->reduce.clear = clear;
    block_append(r->at, s);
    return s;
}

struct stmt *rig_map(struct rig *r, int rank, const int *extent, struct expr **i, struct expr **j) {
    struct stmt *s = stmt_new(r->m, STMT_MAP, NOWHERE);
    s->map.domain.rank = rank;
    for (int a = 0; a < rank; a++) {
        s->map.domain.extent[a] = extent[a];
        s->map.domain.axis[a] = axis_var(r, a ? "j" : "i", VAR_AXIS, extent[a]);
    }
    *i = rig_var(r, s->map.domain.axis[0]);
    if (j) *j = rank > 1 ? rig_var(r, s->map.domain.axis[1]) : NULL;
    block_append(r->at, s);
    return s;
}

struct stmt *rig_store(struct rig *r, struct block *in, struct buffer *b, struct expr *i,
                       struct expr *j, struct expr *value) {
    struct stmt *s = stmt_new(r->m, STMT_STORE, NOWHERE);
    s->store.buffer = b;
    s->store.count = b->rank;
    s->store.index[0] = i;
    s->store.index[1] = j;
    s->store.value = expr_cast(r->m->exprs, value, b->dtype);
    block_append(in, s);
    return s;
}

struct stmt *rig_loop(struct rig *r, enum loop_kind kind, int64_t count, int stages) {
    struct stmt *s = stmt_new(r->m, STMT_FOR, NOWHERE);
    s->loop.kind = kind;
    s->loop.var = axis_var(r, "k", VAR_LOOP, count);
    s->loop.lo = rig_int(r, 0);
    s->loop.hi = rig_int(r, count);
    s->loop.step = 1;
    s->loop.stages = stages;
    block_append(r->at, s);
    return s;
}

int rig_place(struct rig *r) {
    atoms(r->m);
    if (diag_errors(r->m->diag)) return diag_errors(r->m->diag);
    place(r->m);
    return diag_errors(r->m->diag);
}

const char *rig_dump(struct rig *r) {
    struct text t = text_new(r->arena);
    tile_print(&t, r->m);
    diag_print_text(r->m->diag, &t, false);
    diag_print_remarks(r->m->diag, &t, "layout");
    return t.at;
}

/* -- Kernels ----------------------------------------------------------------------------------- */

static struct expr *sum(struct rig *r, struct expr *a, struct expr *b) {
    return expr_binary(r->m->exprs, FN_ADD, a, b);
}

static struct expr *product(struct rig *r, struct expr *a, struct expr *b) {
    return expr_binary(r->m->exprs, FN_MUL, a, b);
}

static struct expr *exponential(struct rig *r, struct expr *a, struct expr *b) {
    return expr_unary(r->m->exprs, FN_EXP, expr_binary(r->m->exprs, FN_SUB, a, b));
}

static void fill(struct rig *r, struct buffer *b, struct expr *value) {
    struct expr *i, *j;
    struct stmt *s = rig_map(r, b->rank, (const int[]){b->extent[0], b->extent[1]}, &i, &j);
    rig_store(r, &s->map.body, b, i, j, value);
}

void build_vector_add(struct rig *r, int n, int block) {
    struct buffer *t[3];
    for (int i = 0; i < 3; i++)
        t[i] = rig_global(r, (const char *[]){"A", "B", "C"}[i], DTYPE_F32, 1, &n);
    struct expr *i;
    struct expr *base = rig_block(r, 0, (n + block - 1) / block, block);
    struct stmt *s = rig_map(r, 1, &block, &i, NULL);
    i = sum(r, base, i);
    struct expr *value = sum(r, rig_load(r, t[0], i, NULL), rig_load(r, t[1], i, NULL));
    rig_store(r, &s->map.body, t[2], i, NULL, value);
}

static struct buffer *fragment(struct rig *r, const char *name, enum dtype t, int rows,
                               int columns) {
    const int extent[2] = {rows, columns};
    return rig_buffer(r, SCOPE_FRAGMENT, name, t, columns ? 2 : 1, extent);
}

static struct buffer *tile(struct rig *r, const char *name, enum dtype t, int rows, int columns) {
    return rig_buffer(r, SCOPE_SHARED, name, t, 2, (const int[]){rows, columns});
}

static void load_tile(struct rig *r, struct buffer *from, struct expr *row, struct expr *column,
                      struct buffer *to) {
    struct expr *base[2] = {row, column};
    const int extent[2] = {to->extent[0], to->extent[1]};
    rig_copy(r, rig_region(r, from, base, extent), rig_region(r, to, NULL, NULL));
}

static void store_tile(struct rig *r, struct buffer *from, struct buffer *to, struct expr *row,
                       struct expr *column) {
    struct expr *base[2] = {row, column};
    const int extent[2] = {from->extent[0], from->extent[1]};
    rig_copy(r, rig_region(r, from, NULL, NULL), rig_region(r, to, base, extent));
}

void build_matmul(struct rig *r, int m, int n, int k, int stages, enum gemm_policy policy) {
    struct buffer *a = rig_global(r, "A", DTYPE_F16, 2, (const int[]){2 * m, 4 * k});
    struct buffer *b = rig_global(r, "B", DTYPE_F16, 2, (const int[]){4 * k, 2 * n});
    struct buffer *c = rig_global(r, "C", DTYPE_F16, 2, (const int[]){2 * m, 2 * n});
    struct buffer *as = tile(r, "A_shared", DTYPE_F16, m, k);
    struct buffer *bs = tile(r, "B_shared", DTYPE_F16, k, n);
    struct buffer *acc = fragment(r, "C_local", DTYPE_F32, m, n);
    struct expr *row = rig_block(r, 1, 2, m), *column = rig_block(r, 0, 2, n);
    fill(r, acc, r->zero);
    struct stmt *loop = rig_loop(r, LOOP_PIPELINED, 4, stages);
    r->at = &loop->loop.body;
    struct expr *ko = product(r, rig_var(r, loop->loop.var), rig_int(r, k));
    load_tile(r, a, row, ko, as);
    load_tile(r, b, ko, column, bs);
    rig_gemm(r, as, bs, acc, false, policy);
    r->at = &r->k->body;
    store_tile(r, acc, c, row, column);
}

/* x = exp(x - value) or x / value, by row */
static void by_row(struct rig *r, struct buffer *x, struct buffer *value, bool divide) {
    struct expr *i, *j;
    struct stmt *s = rig_map(r, 2, (const int[]){x->extent[0], x->extent[1]}, &i, &j);
    struct expr *a = rig_load(r, x, i, j), *b = rig_load(r, value, i, NULL);
    rig_store(r, &s->map.body, x, i, j,
              divide ? expr_binary(r->m->exprs, FN_DIV, a, b) : exponential(r, a, b));
}

void build_softmax(struct rig *r, int rows, int columns, bool shared) {
    struct buffer *x = rig_global(r, "X", DTYPE_F16, 2, (const int[]){2 * rows, columns});
    struct buffer *y = rig_global(r, "Y", DTYPE_F16, 2, (const int[]){2 * rows, columns});
    struct buffer *staged = shared ? tile(r, "X_shared", DTYPE_F16, rows, columns)
                                   : fragment(r, "X_half", DTYPE_F16, rows, columns);
    struct buffer *local = fragment(r, "X_local", DTYPE_F32, rows, columns);
    struct buffer *most = fragment(r, "row_max", DTYPE_F32, rows, 0);
    struct buffer *total = fragment(r, "row_sum", DTYPE_F32, rows, 0);
    struct expr *row = rig_block(r, 0, 2, rows);
    load_tile(r, x, row, rig_int(r, 0), staged);
    rig_copy(r, rig_region(r, staged, NULL, NULL), rig_region(r, local, NULL, NULL));
    rig_reduce(r, local, most, 1, REDUCE_MAX, true);
    by_row(r, local, most, false);
    rig_reduce(r, local, total, 1, REDUCE_SUM, true);
    by_row(r, local, total, true);
    store_tile(r, local, y, row, rig_int(r, 0));
}

/* out[i] = out[i] * a[i] + b[i] */
static void update_rows(struct rig *r, struct buffer *out, struct buffer *a, struct buffer *b) {
    struct expr *i;
    struct stmt *s = rig_map(r, 1, (const int[]){out->extent[0]}, &i, NULL);
    struct expr *scaled = product(r, rig_load(r, out, i, NULL), rig_load(r, a, i, NULL));
    rig_store(r, &s->map.body, out, i, NULL, sum(r, scaled, rig_load(r, b, i, NULL)));
}

/* alpha[i] = exp(old[i] - new[i]) */
static void rescale(struct rig *r, struct buffer *alpha, struct buffer *old, struct buffer *new) {
    struct expr *i;
    struct stmt *s = rig_map(r, 1, (const int[]){alpha->extent[0]}, &i, NULL);
    rig_store(r, &s->map.body, alpha, i, NULL,
              exponential(r, rig_load(r, old, i, NULL), rig_load(r, new, i, NULL)));
}

static void online_softmax(struct rig *r, int rows, int columns, int dim, enum gemm_policy policy) {
    const int kv[2] = {4 * columns, dim};
    struct buffer *q = rig_global(r, "Q", DTYPE_F16, 2, (const int[]){2 * rows, dim});
    struct buffer *k = rig_global(r, "K", DTYPE_F16, 2, kv);
    struct buffer *v = rig_global(r, "V", DTYPE_F16, 2, kv);
    struct buffer *o = rig_global(r, "O", DTYPE_F16, 2, (const int[]){2 * rows, dim});
    struct buffer *qs = tile(r, "Q_shared", DTYPE_F16, rows, dim);
    struct buffer *ks = tile(r, "K_shared", DTYPE_F16, columns, dim);
    struct buffer *vs = tile(r, "V_shared", DTYPE_F16, columns, dim);
    struct buffer *s = fragment(r, "acc_s", DTYPE_F32, rows, columns);
    struct buffer *p = fragment(r, "acc_s_cast", DTYPE_F16, rows, columns);
    struct buffer *acc = fragment(r, "acc_o", DTYPE_F32, rows, dim);
    struct buffer *row[5];
    static const char *const names[5] = {"m_prev", "m_cur", "alpha", "p_sum", "logsum"};
    for (int i = 0; i < 5; i++) row[i] = fragment(r, names[i], DTYPE_F32, rows, 0);
    struct expr *base = rig_block(r, 0, 2, rows), *zero = rig_int(r, 0);
    load_tile(r, q, base, zero, qs);
    fill(r, acc, r->zero);
    fill(r, row[4], r->zero);
    fill(r, row[1], expr_float(r->m->exprs, -1e30, DTYPE_F32));
    struct stmt *loop = rig_loop(r, LOOP_PIPELINED, 4, 1);
    r->at = &loop->loop.body;
    struct expr *at = product(r, rig_var(r, loop->loop.var), rig_int(r, columns));
    load_tile(r, k, at, zero, ks);
    fill(r, s, r->zero);
    rig_gemm(r, qs, ks, s, true, policy);
    load_tile(r, v, at, zero, vs);
    rig_copy(r, rig_region(r, row[1], NULL, NULL), rig_region(r, row[0], NULL, NULL));
    rig_reduce(r, s, row[1], 1, REDUCE_MAX, false);
    rescale(r, row[2], row[0], row[1]);
    by_row(r, s, row[1], false);
    rig_reduce(r, s, row[3], 1, REDUCE_SUM, true);
    update_rows(r, row[4], row[2], row[3]);
    by_row(r, acc, row[2], true);
    rig_copy(r, rig_region(r, s, NULL, NULL), rig_region(r, p, NULL, NULL));
    rig_gemm(r, p, vs, acc, false, policy);
    r->at = &r->k->body;
    by_row(r, acc, row[4], true);
    store_tile(r, acc, o, base, zero);
}

void build_attention(struct rig *r, int rows, int columns, int dim) {
    online_softmax(r, rows, columns, dim, POLICY_SQUARE);
}

void build_mla(struct rig *r, int rows, int columns, int dim) {
    online_softmax(r, rows, columns, dim, POLICY_FULL_COL);
}

/* -- Looking ----------------------------------------------------------------------------------- */

struct counter {
    enum stmt_kind kind;
    int count;
};

static void count_one(struct stmt *s, void *data) {
    struct counter *c = data;
    c->count += s->kind == c->kind;
}

int count_kind(struct rig *r, enum stmt_kind kind) {
    struct counter c = {kind, 0};
    block_walk(&r->k->body, count_one, &c);
    return c.count;
}

struct buffer *find_buffer(struct rig *r, const char *name) {
    for (int i = 0; i < r->k->buffers.count; i++)
        if (!strcmp(r->k->buffers.at[i]->name->text, name)) return r->k->buffers.at[i];
    return NULL;
}

int count_scratch(struct rig *r) {
    int n = 0;
    for (int i = 0; i < r->k->buffers.count; i++) n += r->k->buffers.at[i]->scratch;
    return n;
}
