/* tile_verify.c: what must hold of tile IR at each level, a rule a function.
 *
 * A violation is a fault of the pass that ran last, never of the user's text. */
#include "ir/internal.h"
#include "ir/tile.h"
#include "ir/verify.h"
#include <stdarg.h>
#include <stdio.h>

void verify_fail(struct verifier *v, struct span span, const char *format, ...) {
    char message[300];
    va_list arguments;
    if (v->why) return;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    int line = v->m->source && span.end ? source_position(v->m->source, span.begin).line : 0;
    v->why = arena_printf(v->m->arena, "kernel '%s', line %d: %s",
                          v->k && v->k->name ? v->k->name->text : "-", line, message);
}

/* -- expressions
 * ----------------------------------------------------------------------------------- */
static bool is_bound(const struct verifier *v, const struct var *var) {
    switch (var->kind) {
    case VAR_DIM:
    case VAR_PARAM:
    case VAR_MUTABLE: return true;
    case VAR_THREAD: return v->k && v->k->thread == var;
    case VAR_BLOCK:
        for (int i = 0; v->k && i < v->k->grid_rank; i++)
            if (v->k->block[i] == var) return true;
        return false;
    default: return var->id < v->bound_room && v->bound[var->id];
    }
}

static bool is_known(const struct verifier *v, const struct buffer *b) {
    for (int i = 0; i < v->f->globals.count; i++)
        if (v->f->globals.at[i] == b) return true;
    for (int i = 0; v->k && i < v->k->buffers.count; i++)
        if (v->k->buffers.at[i] == b) return true;
    return false;
}

static const char *kind_name(const struct var *var) { return words_at(WORDS_VAR, (int)var->kind); }

/* Every variable is bound and every buffer belongs to the kernel where an expression uses it. */
static struct expr *check_leaf(struct expr *e, void *data) {
    struct verifier *v = data;
    if (e->kind == EXPR_VAR && !is_bound(v, e->var))
        verify_fail(v, v->span, "%s variable '%s' is used outside its scope", kind_name(e->var),
                    e->var->name->text);
    if (e->kind == EXPR_ELEMENT) verify_fail(v, v->span, "a register array in tile IR");
    if (e->kind != EXPR_LOAD) return NULL;
    if (!is_known(v, e->buffer))
        verify_fail(v, v->span, "buffer '%s' is none of this kernel", e->buffer->name->text);
    if (e->count != e->buffer->rank)
        verify_fail(v, v->span, "'%s' has %d axes, not %d", e->buffer->name->text, e->buffer->rank,
                    e->count);
    return NULL;
}

static void check_expr(struct verifier *v, struct expr *e) {
    expr_rewrite_where(v->m->exprs, e, HOLDS_VAR | HOLDS_LOAD | HOLDS_ELEMENT, check_leaf, v);
}

static void check_each(struct expr **e, void *data) {
    struct verifier *v = data;
    check_expr(v, *e);
    if (*e && !v->why && v->level >= LEVEL_PLACED) verify_loads(v, *e);
}

static void check_type(struct verifier *v, const struct expr *e, enum dtype t, const char *what) {
    if (e && e->dtype != t)
        verify_fail(v, v->span, "%s is %s, not %s", what, dtype_letter(e->dtype), dtype_letter(t));
}

static void check_indices(struct verifier *v, const struct buffer *b, struct expr *const *index,
                          int count) {
    if (count != b->rank)
        verify_fail(v, v->span, "'%s' has %d axes, not %d", b->name->text, b->rank, count);
    for (int i = 0; i < count; i++)
        if (!index[i] || !dtype_is_integer(index[i]->dtype))
            verify_fail(v, v->span, "index %d of '%s' is no integer", i, b->name->text);
    if (!is_known(v, b))
        verify_fail(v, v->span, "buffer '%s' is none of this kernel", b->name->text);
}

/* -- regions
 * --------------------------------------------------------------------------------------- */
/* A region has a base and a positive extent an axis; where nothing clips it, it fits its buffer. */
static void check_region(struct verifier *v, const struct region *r, bool clipped) {
    const struct buffer *b = r->buffer;
    check_indices(v, b, r->base, b->rank);
    for (int i = 0; i < b->rank && !v->why; i++) {
        if (r->extent[i] < 1)
            verify_fail(v, v->span, "axis %d of a region of '%s' has extent %d", i, b->name->text,
                        r->extent[i]);
        if (!clipped && b->scope != SCOPE_GLOBAL && r->extent[i] > b->extent[i])
            verify_fail(v, v->span, "axis %d of a region of '%s' has extent %d of %d", i,
                        b->name->text, r->extent[i], b->extent[i]);
    }
}

/* Each axis of a copy's domain is an axis of both sides with its extent; other axes have 1. */
static void check_copy_side(struct verifier *v, const struct region *r, const int32_t *axis_of,
                            const struct domain *d) {
    bool seen[TILE_RANK] = {false};
    for (int k = 0; k < d->rank; k++) {
        int32_t i = axis_of[k];
        if (i < 0) continue;
        if (i >= r->buffer->rank || seen[i] || r->extent[i] != d->extent[k]) {
            verify_fail(v, v->span, "axis %d of the copy does not fit axis %d of '%s'", k, i,
                        r->buffer->name->text);
            return;
        }
        seen[i] = true;
    }
    for (int i = 0; i < r->buffer->rank; i++)
        if (!seen[i] && r->extent[i] != 1)
            verify_fail(v, v->span, "the copy leaves out axis %d of '%s'", i,
                        r->buffer->name->text);
}

static void check_copy(struct verifier *v, const struct stmt *s) {
    check_region(v, &s->copy.src, true);
    check_region(v, &s->copy.dst, true);
    if (v->why) return;
    check_copy_side(v, &s->copy.src, s->copy.src_axis, &s->copy.domain);
    check_copy_side(v, &s->copy.dst, s->copy.dst_axis, &s->copy.domain);
    check_type(v, s->copy.guard, DTYPE_BOOL, "the guard");
    if (v->level >= LEVEL_PLACED) verify_domain(v, &s->copy.domain);
    if (s->copy.async &&
        (s->copy.dst.buffer->scope != SCOPE_SHARED || s->copy.src.buffer->scope != SCOPE_GLOBAL))
        verify_fail(v, v->span, "an async copy goes from a tensor to shared memory");
}

/* The last two axes of a product's operand are its matrix, the others have extent 1. */
static void check_matrix(struct verifier *v, const struct region *r, int32_t rows,
                         int32_t columns) {
    int rank = r->buffer->rank;
    check_region(v, r, false);
    if (rank < 2 || r->extent[rank - 2] < rows || r->extent[rank - 1] < columns)
        verify_fail(v, v->span, "'%s' does not hold a %d x %d matrix", r->buffer->name->text, rows,
                    columns);
    for (int i = 0; i < rank - 2; i++)
        if (r->extent[i] != 1)
            verify_fail(v, v->span, "axis %d of '%s' belongs to no matrix", i,
                        r->buffer->name->text);
}

static void check_gemm(struct verifier *v, const struct stmt *s) {
    int32_t m = s->gemm.m, n = s->gemm.n, k = s->gemm.k;
    bool ta = s->gemm.transpose_a, tb = s->gemm.transpose_b;
    check_matrix(v, &s->gemm.a, ta ? k : m, ta ? m : k);
    check_matrix(v, &s->gemm.b, tb ? n : k, tb ? k : n);
    check_matrix(v, &s->gemm.c, m, n);
    check_type(v, s->gemm.clear, DTYPE_BOOL, "the clear condition");
    if (s->gemm.atom < -1 || s->gemm.atom >= mma_count())
        verify_fail(v, v->span, "no instruction %d", s->gemm.atom);
    if (v->level < LEVEL_SCHEDULED) return;
    if (s->gemm.a.buffer->scope != SCOPE_FRAGMENT || s->gemm.b.buffer->scope != SCOPE_FRAGMENT ||
        s->gemm.c.buffer->scope != SCOPE_FRAGMENT) {
        if (s->gemm.atom >= 0) verify_fail(v, v->span, "a product reads registers by now");
    } else if (s->gemm.atom >= 0 && k != mma_row(s->gemm.atom)->k) {
        verify_fail(v, v->span, "a product of depth %d is not one instruction deep", k);
    }
}

/* dst has src's axes without the reduced one, or with its extent (1, or the parts) there. */
static void check_reduce_shape(struct verifier *v, const struct stmt *s) {
    const struct region *src = &s->reduce.src, *dst = &s->reduce.dst;
    bool kept = dst->buffer->rank == src->buffer->rank;
    int32_t parts = s->reduce.parts > 1 ? s->reduce.parts : 1;
    if (s->reduce.axis < 0 || s->reduce.axis >= src->buffer->rank ||
        (!kept && dst->buffer->rank != src->buffer->rank - 1)) {
        verify_fail(v, v->span, "a reduction of %d axes to %d", src->buffer->rank,
                    dst->buffer->rank);
        return;
    }
    for (int i = 0, k = 0; i < src->buffer->rank; i++) {
        int32_t wanted = i == s->reduce.axis ? parts : src->extent[i];
        if (i == s->reduce.axis && !kept) continue;
        if (dst->extent[k++] != wanted)
            verify_fail(v, v->span, "axis %d of '%s' has extent %d, not %d", k - 1,
                        dst->buffer->name->text, dst->extent[k - 1], wanted);
    }
}

/* From PLACED on a reduction does not cross warps, unless it keeps a part for each. */
static void check_reduce(struct verifier *v, const struct stmt *s) {
    check_region(v, &s->reduce.src, false);
    check_region(v, &s->reduce.dst, false);
    if (v->why) return;
    check_reduce_shape(v, s);
    const struct layout *l = &s->reduce.src.buffer->layout;
    bool placed = v->level >= LEVEL_PLACED && s->reduce.src.buffer->scope == SCOPE_FRAGMENT;
    if (v->why || !placed || s->reduce.parts > 1) return;
    for (int i = 0; i < l->axis[s->reduce.axis].count; i++)
        if (l->axis[s->reduce.axis].digit[i].space == SPACE_WARP)
            verify_fail(v, v->span, "a reduction over '%s' crosses warps",
                        s->reduce.src.buffer->name->text);
}

/* -- statements
 * ------------------------------------------------------------------------------------ */
static void check_block(struct verifier *v, const struct block *b);

static void set_bound(struct verifier *v, const struct var *var, bool bound) {
    if (var->id < v->bound_room) v->bound[var->id] = bound;
}

static void bind_axes(struct verifier *v, const struct domain *d, bool bound) {
    for (int i = 0; i < d->rank; i++) {
        set_bound(v, d->axis[i], bound);
        if (d->extent[i] < 1) verify_fail(v, v->span, "axis %d has extent %d", i, d->extent[i]);
    }
}

static void check_loop(struct verifier *v, const struct stmt *s) {
    check_type(v, s->loop.lo, DTYPE_INDEX, "a loop's start");
    check_type(v, s->loop.hi, DTYPE_INDEX, "a loop's end");
    if (s->loop.step == 0) verify_fail(v, v->span, "a loop's step is 0");
    if (v->level >= LEVEL_SCHEDULED && s->loop.kind == LOOP_PIPELINED)
        verify_fail(v, v->span, "a pipelined loop is left");
    set_bound(v, s->loop.var, true);
    v->loops++;
    check_block(v, &s->loop.body);
    v->loops--;
    set_bound(v, s->loop.var, false);
}

static void check_map(struct verifier *v, const struct stmt *s) {
    int loops = v->loops;
    if (v->map) verify_fail(v, v->span, "a MAP inside a MAP");
    bind_axes(v, &s->map.domain, true);
    if (v->level >= LEVEL_PLACED) verify_domain(v, &s->map.domain);
    v->map = s;
    v->loops = 0;
    check_block(v, &s->map.body);
    v->loops = loops;
    v->map = NULL;
    bind_axes(v, &s->map.domain, false);
}

static void check_let(struct verifier *v, const struct stmt *s) {
    check_type(v, s->let.value, s->let.var->dtype, "the value of a variable");
    if (s->kind == STMT_LET)
        set_bound(v, s->let.var, true);
    else if (s->let.var->kind != VAR_MUTABLE)
        verify_fail(v, v->span, "'%s' is set but not mutable", s->let.var->name->text);
}

static void check_atomic(struct verifier *v, const struct stmt *s) {
    enum scope scope = s->atomic.buffer->scope;
    if (scope != SCOPE_GLOBAL && scope != SCOPE_SHARED)
        verify_fail(v, v->span, "an atomic operation on '%s', which belongs to single threads",
                    s->atomic.buffer->name->text);
    check_indices(v, s->atomic.buffer, s->atomic.index, s->atomic.count);
    check_type(v, s->atomic.value, s->atomic.buffer->dtype, "an atomic's value");
    if (s->atomic.previous) set_bound(v, s->atomic.previous, true);
}

/* What is for one thread stands anywhere, what is for the block not inside a MAP. */
static void check_place(struct verifier *v, const struct stmt *s) {
    bool together = s->kind == STMT_COPY || s->kind == STMT_GEMM || s->kind == STMT_REDUCE ||
                    s->kind == STMT_BARRIER || s->kind == STMT_COMMIT || s->kind == STMT_WAIT;
    if (v->map && together) verify_fail(v, v->span, "an operation of the block inside a MAP");
    if (!v->loops && (s->kind == STMT_BREAK || s->kind == STMT_CONTINUE))
        verify_fail(v, v->span, "break or continue outside a loop");
}

static void check_operation(struct verifier *v, const struct stmt *s) {
    switch (s->kind) {
    case STMT_FOR: check_loop(v, s); break;
    case STMT_WHILE:
        check_type(v, s->repeat.test, DTYPE_BOOL, "a condition");
        v->loops++;
        check_block(v, &s->repeat.body);
        v->loops--;
        break;
    case STMT_IF:
        check_type(v, s->branch.test, DTYPE_BOOL, "a condition");
        check_block(v, &s->branch.then);
        check_block(v, &s->branch.otherwise);
        break;
    case STMT_LET:
    case STMT_SET: check_let(v, s); break;
    case STMT_STORE:
        check_indices(v, s->store.buffer, s->store.index, s->store.count);
        check_type(v, s->store.value, s->store.buffer->dtype, "a stored value");
        break;
    case STMT_ATOMIC: check_atomic(v, s); break;
    case STMT_MAP: check_map(v, s); break;
    case STMT_COPY: check_copy(v, s); break;
    case STMT_GEMM: check_gemm(v, s); break;
    case STMT_REDUCE: check_reduce(v, s); break;
    default: break;
    }
}

static void check_stmt(struct verifier *v, const struct stmt *s) {
    if (s->span.end) v->span = s->span;
    check_place(v, s);
    stmt_expressions((struct stmt *)(uintptr_t)s, check_each, v); /* which writes nothing */
    if (v->why) return;
    check_operation(v, s);
    if (s->kind == STMT_STORE && v->level >= LEVEL_PLACED)
        verify_access(v, s->store.buffer, s->store.index, true);
    v->async |= s->kind == STMT_COPY && s->copy.async;
    v->commits |= s->kind == STMT_COMMIT;
    v->waits |= s->kind == STMT_WAIT;
}

static void unbind_list(struct verifier *v, const struct block *b) {
    for (const struct stmt *s = b->first; s; s = s->next) {
        if (s->kind == STMT_LET) set_bound(v, s->let.var, false);
        if (s->kind == STMT_ATOMIC && s->atomic.previous) set_bound(v, s->atomic.previous, false);
    }
}

static void check_block(struct verifier *v, const struct block *b) {
    const struct stmt *last = NULL;
    for (const struct stmt *s = b->first; s && !v->why; last = s, s = s->next) check_stmt(v, s);
    if (!v->why && last != b->last) verify_fail(v, v->span, "a statement list is broken");
    unbind_list(v, b);
}

/* -- kernels
 * --------------------------------------------------------------------------------------- */
static void check_threads(struct verifier *v) {
    const struct kernel *k = v->k;
    int64_t product = (int64_t)k->thread_extent[0] * k->thread_extent[1] * k->thread_extent[2];
    if (k->threads < 32 || k->threads % 32 || product != k->threads)
        verify_fail(v, k->span, "%d threads of %lld", k->threads, (long long)product);
}

/* At SCHEDULED what starts asynchronously is committed and waited for. */
static void check_async(struct verifier *v) {
    if (v->async && (!v->commits || !v->waits))
        verify_fail(v, v->k->span, "an async copy without COMMIT and WAIT");
}

static void check_kernel(struct verifier *v) {
    check_threads(v);
    for (int i = 0; i < v->k->buffers.count; i++) verify_buffer(v, v->k->buffers.at[i]);
    for (int i = 0; i < v->k->grid_rank; i++) check_expr(v, v->k->grid[i]);
    v->async = v->commits = v->waits = false;
    if (!v->why) check_block(v, &v->k->body);
    if (!v->why && v->level >= LEVEL_SCHEDULED) {
        check_async(v);
        verify_offsets(v);
    }
}

bool tile_verify(struct module *m, enum level level, const char **why) {
    struct verifier v = {.m = m, .level = level};
    v.bound_room = exprs_vars(m->exprs);
    v.bound = arena_array(m->arena, bool, v.bound_room + 1);
    for (int i = 0; i < m->functions.count; i++) {
        v.f = m->functions.at[i];
        for (int k = 0; k < v.f->kernels.count && !v.why; k++) {
            v.k = v.f->kernels.at[k];
            v.span = v.k->span;
            check_kernel(&v);
        }
    }
    if (why) *why = v.why;
    return !v.why;
}
