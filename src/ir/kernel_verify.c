/* kernel_verify.c: what must hold of Kernel IR, checked after every pass that makes it.
 *
 * Ranges of the expressions prove register numbers; whether a barrier is met by all threads is
 * decided by which variables may differ between them. */
#include "ir/kernel.h"
#include <string.h>

struct check {
    struct module *m;
    struct kernel *k;
    const char *why; /* NULL while all is well */
    VEC(struct var *) defined;
    VEC(struct var *) varying;                /* may differ between threads */
    VEC(const struct array *) varying_arrays; /* some register may */
    VEC(struct array *) arrays;
    int divergent, loops;
};

static void fail(struct check *c, const char *format, const char *name, long long number) {
    if (!c->why)
        c->why = arena_printf(c->m->arena, "kernel '%s': %s '%s' (%lld)", c->k->name->text, format,
                              name, number);
}

static bool has_var(struct var *const *at, int count, const struct var *v) {
    int i;

    for (i = count - 1; i >= 0; i--)
        if (at[i] == v) return true;
    return false;
}

static bool is_given(const struct check *c, const struct var *v) {
    return v->kind == VAR_BLOCK || v->kind == VAR_DIM || v->kind == VAR_PARAM ||
           v == c->k->code->thread;
}

static bool array_varies(const struct check *c, const struct array *a) {
    int i;

    for (i = 0; i < c->varying_arrays.count; i++)
        if (c->varying_arrays.at[i] == a) return true;
    return false;
}

/* The threads put values of their own into registers of the array. */
static void vary_array(struct check *c, const struct array *a) {
    if (!array_varies(c, a)) vec_push(c->m->arena, &c->varying_arrays, a);
}

static bool is_varying(const struct check *c, const struct expr *e) {
    int i;

    if (e->kind == EXPR_ELEMENT && array_varies(c, e->array)) return true;
    if (e->kind == EXPR_VAR)
        return e->var->kind == VAR_THREAD || e->var->kind == VAR_LANE || e->var->kind == VAR_WARP ||
               has_var(c->varying.at, c->varying.count, e->var);
    if (e->kind == EXPR_OP && e->fn == FN_ANY) return true;
    for (i = 0; i < e->count; i++)
        if (is_varying(c, e->args[i])) return true;
    return false;
}

static void check_array(struct check *c, const struct array *a) {
    int i;

    for (i = c->arrays.count - 1; i >= 0; i--)
        if (c->arrays.at[i] == a) return;
    fail(c, "an array is used before its declaration", a->name->text, a->count);
}

/* Known when loops are unrolled? */
static bool is_static(const struct expr *e) {
    int i;

    if (e->kind == EXPR_VAR) return e->var->kind == VAR_LOOP && e->var->unrolled;
    if (e->kind == EXPR_LOAD || e->kind == EXPR_ELEMENT) return false;
    for (i = 0; i < e->count; i++)
        if (!is_static(e->args[i])) return false;
    return true;
}

static void check_expr(struct check *c, const struct expr *e);

static void check_registers(struct check *c, const struct array *a, const struct expr *index,
                            int32_t count) {
    check_array(c, a);
    check_expr(c, index);
    if (!is_static(index)) fail(c, "a register number that is not known", a->name->text, index->lo);
    if (index->lo < 0 || index->hi > a->count - count)
        fail(c, "a register outside of array", a->name->text, index->hi);
}

static void check_expr(struct check *c, const struct expr *e) {
    int i;

    if (e->kind == EXPR_LOAD) fail(c, "an element of a tile is left", e->buffer->name->text, e->id);
    if (e->kind == EXPR_VAR && !is_given(c, e->var) &&
        !has_var(c->defined.at, c->defined.count, e->var))
        fail(c, "a variable is used before it is set", e->var->name->text, e->var->id);
    if (e->kind == EXPR_ELEMENT) {
        check_registers(c, e->array, e->args[0], 1);
        if (e->dtype != e->array->dtype)
            fail(c, "an element read with another type", e->array->name->text, e->id);
        return;
    }
    if (e->kind == EXPR_OP && function_row(e->fn)->types <= TYPES_COMPARE)
        for (i = 1; i < e->count; i++)
            if (e->args[i]->dtype != e->args[0]->dtype)
                fail(c, "operands of two types in", function_row(e->fn)->name, e->id);
    for (i = 0; i < e->count; i++) check_expr(c, e->args[i]);
}

static void check_address(struct check *c, const struct address *a, int32_t bytes) {
    const struct buffer *b = a->buffer;
    int32_t unit = b->scope == SCOPE_SHARED ? 1 : dtype_bytes(b->dtype);

    check_expr(c, a->index);
    if (a->alignment < bytes) fail(c, "an access that is not aligned", b->name->text, bytes);
    if (a->index->divisor != 0 && a->index->divisor * unit % bytes != 0)
        fail(c, "an offset that is not aligned", b->name->text, bytes);
    if (b->scope == SCOPE_GLOBAL && c->k->code->alignment[b->id] < bytes)
        fail(c, "an access wider than the launcher knows", b->name->text, bytes);
}

static void define(struct check *c, struct var *v, bool varying) {
    vec_push(c->m->arena, &c->defined, v);
    if (varying) vec_push(c->m->arena, &c->varying, v);
}

/* -- statements
 * ---------------------------------------------------------------------------------------- */
static void check_block(struct check *c, struct kblock *b);

static bool loads_varying(const struct check *c, const struct address *a) {
    return c->divergent || a->buffer->scope == SCOPE_LOCAL || is_varying(c, a->index);
}

static void check_memory(struct check *c, struct kstmt *s) {
    const struct array *a = s->memory.data.array;

    check_address(c, &s->memory.address, s->memory.bytes);
    if (a) {
        check_registers(c, a, s->memory.data.index, kstmt_registers(s));
        if (s->kind == K_LOAD && loads_varying(c, &s->memory.address)) vary_array(c, a);
    } else if (s->kind == K_STORE) {
        check_expr(c, s->memory.value);
    } else {
        define(c, s->memory.var, loads_varying(c, &s->memory.address));
    }
}

static void check_mma(struct check *c, const struct kstmt *s) {
    const struct mma_row *row = mma_row(s->mma.row);
    int32_t acc = row->m * row->n / 32 * dtype_bits(row->acc) / 32;
    int32_t a = row->m * row->k / 32 * dtype_bits(row->a) / 32;
    int32_t b = row->k * row->n / 32 * dtype_bits(row->b) / 32;

    if (dtype_bits(row->a) == 64) {
        acc = row->m * row->n / 32;
        a = row->m * row->k / 32;
        b = row->k * row->n / 32;
    }
    check_registers(c, s->mma.d.array, s->mma.d.index, acc);
    check_registers(c, s->mma.a.array, s->mma.a.index, a);
    check_registers(c, s->mma.b.array, s->mma.b.index, b);
    vary_array(c, s->mma.d.array);
    if (c->divergent)
        fail(c, "a tensor-core instruction that only some threads reach", row->name, 0);
}

static void check_assignment(struct check *c, struct kstmt *s) {
    struct var *v = s->set.var;

    if (s->set.value) {
        check_expr(c, s->set.value);
        if (s->set.value->dtype != v->dtype)
            fail(c, "a value of another type is assigned to", v->name->text, s->set.value->id);
    }
    if (s->kind == K_VAR)
        define(c, v, s->set.value && is_varying(c, s->set.value));
    else if (!has_var(c->defined.at, c->defined.count, v))
        fail(c, "a variable is assigned before its declaration", v->name->text, v->id);
    else if (c->divergent || is_varying(c, s->set.value))
        vec_push(c->m->arena, &c->varying, v);
}

static void check_put(struct check *c, const struct kstmt *s) {
    check_registers(c, s->put.to.array, s->put.to.index, 1);
    check_expr(c, s->put.value);
    if (c->divergent || is_varying(c, s->put.value)) vary_array(c, s->put.to.array);
    if (s->put.value->dtype != s->put.to.array->dtype)
        fail(c, "a value of another type is put into", s->put.to.array->name->text,
             s->put.value->id);
}

static void check_loop(struct check *c, struct kstmt *s) {
    bool varying = is_varying(c, s->loop.lo) || is_varying(c, s->loop.hi);

    check_expr(c, s->loop.lo);
    check_expr(c, s->loop.hi);
    if (s->loop.step == 0) fail(c, "a loop with step 0", s->loop.var->name->text, 0);
    define(c, s->loop.var, varying);
    c->divergent += varying;
    c->loops++;
    check_block(c, &s->loop.body);
    c->loops--;
    c->divergent -= varying;
}

static void check_while(struct check *c, struct kstmt *s) {
    bool varying = is_varying(c, s->repeat.test);

    check_expr(c, s->repeat.test);
    c->divergent += varying;
    c->loops++;
    check_block(c, &s->repeat.body);
    c->loops--;
    c->divergent -= varying;
}

static void check_branch(struct check *c, struct kstmt *s) {
    bool varying = is_varying(c, s->branch.test);

    check_expr(c, s->branch.test);
    c->divergent += varying;
    check_block(c, &s->branch.then);
    check_block(c, &s->branch.otherwise);
    c->divergent -= varying;
}

static void check_cp_async(struct check *c, const struct kstmt *s) {
    check_address(c, &s->cp_async.to, s->cp_async.bytes);
    check_address(c, &s->cp_async.from, s->cp_async.bytes);
    if (s->cp_async.source_bytes) check_expr(c, s->cp_async.source_bytes);
    if (s->cp_async.guard) check_expr(c, s->cp_async.guard);
}

static void check_order(struct check *c, const struct kstmt *s) {
    if (s->kind == K_BARRIER && s->barrier.threads == 0 && c->divergent)
        fail(c, "a barrier that only some threads reach", "barrier", s->barrier.id);
    if ((s->kind == K_BREAK || s->kind == K_CONTINUE) && c->loops == 0)
        fail(c, "a jump outside of any loop", "break", 0);
}

/* 16-bit floats come and go as f32. */
static void check_atomic(struct check *c, struct kstmt *s) {
    enum dtype t = s->atomic.dtype;
    enum dtype in = t == DTYPE_F16 || t == DTYPE_BF16 ? DTYPE_F32 : t;

    check_address(c, &s->atomic.address, dtype_bytes(t));
    check_expr(c, s->atomic.value);
    if (s->atomic.value->dtype != in || (s->atomic.previous && s->atomic.previous->dtype != in))
        fail(c, "an atomic operation on values of another type", dtype_letter(t), 0);
    if (s->atomic.previous) define(c, s->atomic.previous, true);
}

static void check_rest(struct check *c, struct kstmt *s) {
    switch (s->kind) {
    case K_ATOMIC: check_atomic(c, s); break;
    case K_LDMATRIX:
    case K_STMATRIX:
        check_address(c, &s->matrix.address, 16);
        vary_array(c, s->matrix.data.array);
        check_registers(c, s->matrix.data.array, s->matrix.data.index, s->matrix.matrices);
        break;
    case K_PRINT:
    case K_ASSERT:
        if (s->print.value) check_expr(c, s->print.value);
        if (s->print.test) check_expr(c, s->print.test);
        break;
    default: check_order(c, s);
    }
}

static void check_statement(struct check *c, struct kstmt *s) {
    switch (s->kind) {
    case K_VAR:
    case K_SET: check_assignment(c, s); break;
    case K_ARRAY: vec_push(c->m->arena, &c->arrays, s->array); break;
    case K_PUT: check_put(c, s); break;
    case K_FOR: check_loop(c, s); break;
    case K_WHILE: check_while(c, s); break;
    case K_IF: check_branch(c, s); break;
    case K_LOAD:
    case K_STORE: check_memory(c, s); break;
    case K_CP_ASYNC: check_cp_async(c, s); break;
    case K_MMA: check_mma(c, s); break;
    default: check_rest(c, s);
    }
}

static void check_block(struct check *c, struct kblock *b) {
    int defined = c->defined.count, arrays = c->arrays.count;
    struct kstmt *s;

    for (s = b->first; s && !c->why; s = s->next) check_statement(c, s);
    c->defined.count = defined;
    c->arrays.count = arrays;
}

bool kernel_verify(struct module *m, const char **why) {
    struct check c;
    int i, j;

    for (i = 0; i < m->functions.count; i++)
        for (j = 0; j < m->functions.at[i]->kernels.count; j++) {
            memset(&c, 0, sizeof c);
            c.m = m;
            c.k = m->functions.at[i]->kernels.at[j];
            if (!c.k->code)
                c.why = arena_printf(m->arena, "kernel '%s' has no code", c.k->name->text);
            else
                check_block(&c, &c.k->code->body);
            if (c.why) {
                *why = c.why;
                return false;
            }
        }
    return true;
}
