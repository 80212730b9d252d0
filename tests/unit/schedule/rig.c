/* rig.c: builds small placed kernels by hand for the tests of src/schedule. */
#include "rig.h"
#include "schedule/schedule.h"

static const struct span NOWHERE = {0, 0};

struct rig rig_new(const char *target, int threads) {
    struct rig r = {.arena = arena_new()};
    const struct source *s = source_of_text(r.arena, "test.tile", "\n\n", 2);
    struct interns *names = interns_new(r.arena);
    r.m = module_new(r.arena, names, diag_new(r.arena, s), s, target_find(target));
    r.m->level = LEVEL_PLACED;
    r.f = arena_make(r.arena, struct function_ir);
    r.k = arena_make(r.arena, struct kernel);
    r.f->name = r.f->unit = r.k->name = intern_text(names, "test");
    r.f->doc = "test";
    r.k->function = r.f;
    r.k->threads = r.k->thread_extent[0] = threads;
    r.k->thread_extent[1] = r.k->thread_extent[2] = 1;
    r.k->grid_rank = 1;
    for (int i = 0; i < 3; i++) r.k->grid[i] = expr_index(r.m->exprs, 1);
    vec_push(r.arena, &r.m->functions, r.f);
    vec_push(r.arena, &r.f->kernels, r.k);
    r.at = &r.k->body;
    return r;
}

void rig_free(struct rig *r) { arena_free(r->arena); }

struct expr *rig_int(struct rig *r, int64_t v) {
    return expr_index(r->m->exprs, v);
}

struct expr *rig_add(struct rig *r, struct expr *a, struct expr *b) {
    return expr_binary(r->m->exprs, FN_ADD, a, b);
}

/* -- Buffers --------------------------------------------------------------------------------------
 */

struct buffer *rig_global(struct rig *r, const char *name, enum dtype t, int rows, int columns) {
    struct sym *sym = intern_text(r->m->names, name);
    struct buffer *b = buffer_new(r->m, r->f, NULL, SCOPE_GLOBAL, sym, t, 2, NULL);
    b->dim[0] = rig_int(r, rows);
    b->dim[1] = rig_int(r, columns);
    b->stride[0] = rig_int(r, columns);
    b->stride[1] = rig_int(r, 1);
    struct param p = {.kind = PARAM_TENSOR, .name = sym, .buffer = b};
    vec_push(r->arena, &r->f->params, p);
    b->written = true;
    return b;
}

static struct buffer *tile(struct rig *r, enum scope scope, const char *name, enum dtype t,
                           int rows, int columns) {
    int32_t e[2] = {rows, columns};
    return buffer_new(r->m, r->f, r->k, scope, intern_text(r->m->names, name), t, 2, e);
}

struct buffer *rig_shared(struct rig *r, const char *name, enum dtype t, int rows, int columns) {
    struct buffer *b = tile(r, SCOPE_SHARED, name, t, rows, columns);
    b->layout = layout_swizzled(2, b->extent, dtype_bytes(t));
    return b;
}

static struct layout by_rows(struct rig *r, const int32_t *extent, enum dtype t) {
    int vector = 16 / dtype_bytes(t), columns = 1;
    while (vector > 1 && extent[1] % vector) vector /= 2;
    while (columns < 32 && columns * vector * 2 <= extent[1]) columns *= 2;
    return layout_blocked(2, extent, vector, columns, r->k->threads / 32);
}

struct buffer *rig_fragment(struct rig *r, const char *name, enum dtype t, int rows, int columns) {
    struct buffer *b = tile(r, SCOPE_FRAGMENT, name, t, rows, columns);
    b->layout = by_rows(r, b->extent, t);
    return b;
}

static struct layout instruction(struct rig *r, const char *text, const int32_t *extent,
                                 struct digit rows, struct digit columns, struct digit copies) {
    struct cursor c = cursor_new(r->arena, text, strlen(text));
    struct layout atom = layout_none();
    layout_read(&c, &atom);
    struct digit warp[2] = {rows, columns};
    return layout_fragment(&atom, extent, warp, copies);
}

struct buffer *rig_accumulator(struct rig *r, const char *name, const struct mma_row *row, int rows,
                               int columns, int row_warps) {
    struct buffer *b = tile(r, SCOPE_FRAGMENT, name, row->acc, rows, columns);
    int column_warps = r->k->threads / 32 / row_warps;
    struct digit d0 = {.radix = row_warps, .stride = column_warps, .space = SPACE_WARP};
    struct digit d1 = {.radix = column_warps, .stride = 1, .space = SPACE_WARP};
    struct digit none = {.radix = 1, .stride = 1, .space = SPACE_WARP};
    b->layout = instruction(r, row->d_layout, b->extent, d0, d1, none);
    return b;
}

struct region rig_region(struct buffer *b, struct expr *i, struct expr *j, int rows, int columns) {
    return (struct region){.buffer = b, .base = {i, j}, .extent = {rows, columns}};
}

struct region rig_whole(struct rig *r, struct buffer *b) {
    return region_whole(r->m, b);
}

/* -- Statements -------------------------------------------------------------------------------- */

static struct var *new_var(struct rig *r, const char *name, enum var_kind kind, int64_t hi) {
    struct var *v =
        var_new(r->m->exprs, kind, intern_text(r->m->names, name), DTYPE_INDEX, NOWHERE);
    v->lo = 0;
    v->hi = hi;
    v->divisor = 1;
    return v;
}

static struct domain domain_of(struct rig *r, const int32_t *extent, struct layout l) {
    struct domain d = {.rank = 2, .layout = l};
    for (int i = 0; i < 2; i++) {
        d.extent[i] = extent[i];
        d.axis[i] = new_var(r, i ? "j" : "i", VAR_AXIS, extent[i] - 1);
    }
    return d;
}

struct stmt *rig_copy(struct rig *r, struct region src, struct region dst) {
    struct stmt *s = stmt_new(r->m, STMT_COPY, NOWHERE);
    s->copy.src = src;
    s->copy.dst = dst;
    struct layout l = by_rows(r, dst.extent, dst.buffer->dtype);
    if (src.buffer->scope == SCOPE_FRAGMENT) l = src.buffer->layout;
    if (dst.buffer->scope == SCOPE_FRAGMENT) l = dst.buffer->layout;
    s->copy.domain = domain_of(r, dst.extent, l);
    for (int i = 0; i < 2; i++) s->copy.src_axis[i] = s->copy.dst_axis[i] = i;
    block_append(r->at, s);
    return s;
}

struct stmt *rig_gemm(struct rig *r, struct region a, struct region b, struct region c,
                      const struct mma_row *row, int row_warps) {
    struct stmt *s = stmt_new(r->m, STMT_GEMM, NOWHERE);
    s->gemm.a = a;
    s->gemm.b = b;
    s->gemm.c = c;
    s->gemm.m = c.extent[0];
    s->gemm.n = c.extent[1];
    s->gemm.k = a.extent[1];
    s->gemm.atom = row ? row->id : -1;
    s->gemm.row_warps = row_warps;
    s->gemm.column_warps = r->k->threads / 32 / row_warps;
    block_append(r->at, s);
    return s;
}

struct stmt *rig_map(struct rig *r, const struct buffer *b, struct expr **i, struct expr **j) {
    struct stmt *s = stmt_new(r->m, STMT_MAP, NOWHERE);
    struct layout l = b->scope == SCOPE_FRAGMENT ? b->layout : by_rows(r, b->extent, b->dtype);
    s->map.domain = domain_of(r, b->extent, l);
    *i = expr_var(r->m->exprs, s->map.domain.axis[0]);
    *j = expr_var(r->m->exprs, s->map.domain.axis[1]);
    block_append(r->at, s);
    return s;
}

void rig_store(struct rig *r, struct stmt *map, struct buffer *b, struct expr *i, struct expr *j,
               struct expr *value) {
    struct stmt *s = stmt_new(r->m, STMT_STORE, NOWHERE);
    s->store.buffer = b;
    s->store.count = 2;
    s->store.index[0] = i;
    s->store.index[1] = j;
    s->store.value = value;
    block_append(map ? &map->map.body : r->at, s);
}

struct expr *rig_load(struct rig *r, struct buffer *b, struct expr *i, struct expr *j) {
    return expr_load(r->m->exprs, b, 2, (struct expr *[]){i, j});
}

struct stmt *rig_zero(struct rig *r, struct buffer *b) {
    struct expr *i, *j;
    struct stmt *s = rig_map(r, b, &i, &j);
    struct expr *zero = dtype_is_float(b->dtype) ? expr_float(r->m->exprs, 0, b->dtype)
                                                 : expr_int(r->m->exprs, 0, b->dtype);
    rig_store(r, s, b, i, j, zero);
    return s;
}

struct stmt *rig_loop(struct rig *r, enum loop_kind kind, struct expr *hi, int stages,
                      struct expr **var) {
    struct stmt *s = stmt_new(r->m, STMT_FOR, NOWHERE);
    int64_t count;
    s->loop.kind = kind;
    s->loop.lo = rig_int(r, 0);
    s->loop.hi = hi;
    s->loop.step = 1;
    s->loop.stages = stages;
    s->loop.var = new_var(r, "k", VAR_LOOP, expr_is_int(hi, &count) ? count - 1 : 1 << 20);
    *var = expr_var(r->m->exprs, s->loop.var);
    block_append(r->at, s);
    r->at = &s->loop.body;
    return s;
}

struct expr *rig_dim(struct rig *r, const char *name) {
    struct var *v = new_var(r, name, VAR_DIM, 1 << 20);
    struct param p = {.kind = PARAM_DIM, .name = v->name, .var = v};
    vec_push(r->arena, &r->f->params, p);
    return expr_var(r->m->exprs, v);
}

/* -- Founding kernels -------------------------------------------------------------------------- */

static struct expr *times(struct rig *r, struct expr *a, int b) {
    return expr_binary(r->m->exprs, FN_MUL, a, rig_int(r, b));
}

static struct expr *trip_of(struct rig *r, const struct shape *s) {
    if (s->dynamic) return rig_dim(r, "trip");
    return rig_int(r, (s->k + s->block_k - 1) / s->block_k);
}

static struct buffer *accumulator(struct rig *r, const struct shape *s, const struct mma_row *row) {
    if (!s->plain) return rig_accumulator(r, "C_local", row, s->block_m, s->block_n, s->row_warps);
    return rig_fragment(r, "C_local", DTYPE_F32, s->block_m, s->block_n);
}

struct rig build_matmul(const struct shape *s) {
    struct rig r = rig_new(s->target ? s->target : "sm_80", s->threads);
    const struct mma_row *row =
        s->plain ? NULL : mma_find(r.m->target, DTYPE_F16, DTYPE_F16, DTYPE_F32);
    bool ta = s->transpose_a, tb = s->transpose_b;
    struct buffer *a = rig_global(&r, "A", DTYPE_F16, ta ? s->k : s->m, ta ? s->m : s->k);
    struct buffer *b = rig_global(&r, "B", DTYPE_F16, tb ? s->n : s->k, tb ? s->k : s->n);
    struct buffer *c = rig_global(&r, "C", DTYPE_F32, s->m, s->n);
    struct expr *trip = trip_of(&r, s), *k;
    int am = ta ? s->block_k : s->block_m, ak = ta ? s->block_m : s->block_k;
    int bk = tb ? s->block_n : s->block_k, bn = tb ? s->block_k : s->block_n;
    struct buffer *as = rig_shared(&r, "A_shared", DTYPE_F16, am, ak);
    struct buffer *bs = rig_shared(&r, "B_shared", DTYPE_F16, bk, bn);
    struct buffer *cl = accumulator(&r, s, row);
    rig_zero(&r, cl);
    rig_loop(&r, LOOP_PIPELINED, trip, s->stages, &k);
    struct expr *zero = rig_int(&r, 0), *at = times(&r, k, s->block_k);
    rig_copy(&r, rig_region(a, ta ? at : zero, ta ? zero : at, am, ak), rig_whole(&r, as));
    rig_copy(&r, rig_region(b, tb ? zero : at, tb ? at : zero, bk, bn), rig_whole(&r, bs));
    struct stmt *g =
        rig_gemm(&r, rig_whole(&r, as), rig_whole(&r, bs), rig_whole(&r, cl), row, s->row_warps);
    g->gemm.k = s->block_k;
    g->gemm.transpose_a = ta;
    g->gemm.transpose_b = tb;
    r.at = &r.k->body;
    rig_copy(&r, rig_whole(&r, cl), rig_region(c, zero, zero, s->block_m, s->block_n));
    return r;
}

struct rig build_attention(const struct shape *s) {
    struct rig r = rig_new(s->target ? s->target : "sm_80", s->threads);
    const struct mma_row *row = mma_find(r.m->target, DTYPE_F16, DTYPE_F16, DTYPE_F32);
    struct buffer *q = rig_global(&r, "Q", DTYPE_F16, s->m, s->k),
                  *kk = rig_global(&r, "K", DTYPE_F16, s->n, s->k);
    struct buffer *v = rig_global(&r, "V", DTYPE_F16, s->n, s->k),
                  *o = rig_global(&r, "O", DTYPE_F32, s->m, s->k);
    struct buffer *qs = rig_shared(&r, "Q_shared", DTYPE_F16, s->block_m, s->k);
    struct buffer *ks = rig_shared(&r, "K_shared", DTYPE_F16, s->block_n, s->k);
    struct buffer *vs = rig_shared(&r, "V_shared", DTYPE_F16, s->block_n, s->k);
    struct buffer *acc = rig_accumulator(&r, "acc_s", row, s->block_m, s->block_n, s->row_warps);
    struct buffer *out = rig_accumulator(&r, "acc_o", row, s->block_m, s->k, s->row_warps);
    struct buffer *p = tile(&r, SCOPE_FRAGMENT, "P", DTYPE_F16, s->block_m, s->block_n);
    struct digit rows = {.radix = s->row_warps, .stride = 1, .space = SPACE_WARP},
                 none = {1, 1, SPACE_WARP};
    p->layout = instruction(&r, row->a_layout, p->extent, rows, none, none);
    struct expr *zero = rig_int(&r, 0), *k, *i, *j;
    rig_copy(&r, rig_region(q, zero, zero, s->block_m, s->k), rig_whole(&r, qs));
    rig_zero(&r, out);
    rig_loop(&r, LOOP_PIPELINED, rig_int(&r, (s->n + s->block_n - 1) / s->block_n), s->stages, &k);
    struct expr *at = times(&r, k, s->block_n);
    rig_copy(&r, rig_region(kk, at, zero, s->block_n, s->k), rig_whole(&r, ks));
    rig_zero(&r, acc);
    struct stmt *g =
        rig_gemm(&r, rig_whole(&r, qs), rig_whole(&r, ks), rig_whole(&r, acc), row, s->row_warps);
    g->gemm.transpose_b = true;
    rig_copy(&r, rig_region(v, at, zero, s->block_n, s->k), rig_whole(&r, vs));
    struct stmt *map = rig_map(&r, p, &i, &j);
    rig_store(&r, map, p, i, j, expr_cast(r.m->exprs, rig_load(&r, acc, i, j), DTYPE_F16));
    rig_gemm(&r, rig_whole(&r, p), rig_whole(&r, vs), rig_whole(&r, out), row, s->row_warps);
    r.at = &r.k->body;
    rig_copy(&r, rig_whole(&r, out), rig_region(o, zero, zero, s->block_m, s->k));
    return r;
}

/* -- Looking at the result --------------------------------------------------------------------- */

void run_schedule(struct rig *r) {
    pipeline(r->m);
    operands(r->m);
    sync(r->m);
    shared(r->m);
}

const char *rig_dump(struct rig *r) {
    struct text t = text_new(r->arena);
    tile_print(&t, r->m);
    return t.at;
}

int count_kind(const struct block *b, enum stmt_kind kind, bool direct) {
    int count = 0;
    for (const struct stmt *s = b->first; s; s = s->next) {
        count += s->kind == kind;
        if (s->kind == STMT_FOR && !direct) count += count_kind(&s->loop.body, kind, direct);
        if (s->kind == STMT_IF) {
            count += count_kind(&s->branch.then, kind, direct);
            count += count_kind(&s->branch.otherwise, kind, direct);
        }
    }
    return count;
}

struct stmt *find_loop(const struct block *b) {
    for (struct stmt *s = b->first; s; s = s->next)
        if (s->kind == STMT_FOR && s->loop.kind != LOOP_UNROLL) return s;
    return NULL;
}

struct buffer *find_buffer(struct rig *r, const char *name) {
    for (int i = 0; i < r->k->buffers.count; i++)
        if (!strcmp(r->k->buffers.at[i]->name->text, name)) return r->k->buffers.at[i];
    return NULL;
}
