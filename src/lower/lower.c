/* lower.c: a kernel from tile operations to one thread's code: registers first, then statements. */
#include "internal.h"
#include <string.h>

static struct array *registers_of(struct lowering *l, const struct buffer *b) {
    enum dtype t = register_type(b->dtype);
    int64_t count =
        b->scope == SCOPE_LOCAL ? buffer_elements(b) : layout_span(&b->layout, SPACE_REG);
    int bits = dtype_bits(b->dtype);

    if (b->scope == SCOPE_LOCAL) return add_array(l, b->name->text, t, t, (int32_t)count);
    if (bits < 32)
        return add_array(l, b->name->text, DTYPE_U32, b->dtype,
                         (int32_t)((count * bits + 31) / 32));
    if (b->dtype == DTYPE_TF32)
        return add_array(l, b->name->text, DTYPE_U32, DTYPE_TF32, (int32_t)count);
    return add_array(l, b->name->text, b->dtype, b->dtype, (int32_t)count);
}

void lower_grow(struct lowering *l, int32_t before) {
    int32_t count = l->k->function->buffer_count + 1, i;
    struct array **arrays = arena_array(l->m->arena, struct array *, count);
    void *ahead = arena_alloc(l->m->arena, sizeof *l->ahead * (size_t)count);

    for (i = 0; i < before; i++) arrays[i] = l->arrays[i];
    memcpy(ahead, l->ahead, sizeof *l->ahead * (size_t)before);
    l->arrays = arrays;
    l->ahead = ahead;
}

/* -- private arrays: registers if every index is known once loops are unrolled
 * ----------------------- */
struct indexed {
    bool *dynamic; /* by buffer id */
};

static bool known_when_unrolled(const struct expr *e) {
    int i;

    if (e->kind == EXPR_VAR) return e->var->kind == VAR_LOOP && e->var->unrolled;
    if (e->kind != EXPR_INT && e->kind != EXPR_OP && e->kind != EXPR_CAST) return false;
    for (i = 0; i < e->count; i++)
        if (!known_when_unrolled(e->args[i])) return false;
    return true;
}

static void note_index(struct indexed *x, const struct buffer *b, struct expr *const *index) {
    int i;

    if (b->scope != SCOPE_LOCAL) return;
    for (i = 0; i < b->rank; i++)
        if (!known_when_unrolled(index[i])) x->dynamic[b->id] = true;
}

static void index_expression(struct indexed *x, const struct expr *e) {
    int i;

    if (!expr_has_load(e)) return;
    if (e->kind == EXPR_LOAD) note_index(x, e->buffer, e->args);
    for (i = 0; i < e->count; i++) index_expression(x, e->args[i]);
}

static void index_held(struct expr **e, void *data) { index_expression(data, *e); }

static void index_statement(struct stmt *t, void *data) {
    struct indexed *x = data;

    if (t->kind == STMT_STORE) note_index(x, t->store.buffer, t->store.index);
    if (t->kind == STMT_ATOMIC) note_index(x, t->atomic.buffer, t->atomic.index);
    if (t->kind == STMT_COPY && t->copy.src.buffer->scope == SCOPE_LOCAL)
        x->dynamic[t->copy.src.buffer->id] = true;
    if (t->kind == STMT_COPY && t->copy.dst.buffer->scope == SCOPE_LOCAL)
        x->dynamic[t->copy.dst.buffer->id] = true;
    stmt_expressions(t, index_held, x);
}

static void mark_unrolled(struct stmt *t, void *data) {
    if (t->kind == STMT_FOR &&
        (t->loop.kind == LOOP_VECTOR || (t->loop.kind == LOOP_UNROLL && t->loop.factor == 0)))
        loop_set_unrolled(data, t, t->loop.lo->kind == EXPR_INT && t->loop.hi->kind == EXPR_INT);
}

/* -- mutable variables that no LET declares
 * ----------------------------------------------------------- */
struct declared {
    struct lowering *l;
    VEC(struct var *) lets, sets;
};

static void note_variable(struct stmt *t, void *data) {
    struct declared *d = data;

    if (t->kind == STMT_LET)
        vec_push(d->l->m->arena, &d->lets, t->let.var);
    else if (t->kind == STMT_SET)
        vec_push(d->l->m->arena, &d->sets, t->let.var);
}

static void declare_variable(struct lowering *l, struct var *v) {
    struct env *env;
    struct var *w;
    struct kstmt *k;

    if (register_type(v->dtype) == v->dtype) {
        k = add(l, K_VAR);
        k->set.var = v;
        return;
    }
    env = arena_make(l->m->arena, struct env);
    env->outer = l->env;
    env->var = v;
    w = add_var(l, v->name->text, DTYPE_F32, NULL);
    w->kind = VAR_MUTABLE; /* before an expression holds what is known of it */
    env->value = expr_var(l->x, w);
    l->env = env;
}

static void declare_variables(struct lowering *l) {
    struct declared d = {.l = l};
    int i, j;

    block_walk(&l->k->body, note_variable, &d);
    for (i = 0; i < d.sets.count; i++) {
        for (j = 0; j < d.lets.count && d.lets.at[j] != d.sets.at[i]; j++)
            ;
        if (j < d.lets.count) continue;
        declare_variable(l, d.sets.at[i]);
        vec_push(l->m->arena, &d.lets, d.sets.at[i]);
    }
}

/* -- the thread's place
 * ---------------------------------------------------------------------------------- */
static struct var *place_variable(struct lowering *l, enum var_kind kind, const char *name,
                                  int64_t count) {
    struct var *v = var_new(l->x, kind, intern_text(l->m->names, name), DTYPE_INDEX, l->k->span);

    v->lo = 0;
    v->hi = count - 1;
    v->divisor = 1;
    return v;
}

static struct expr *place_set(struct lowering *l, struct var *v, enum function fn) {
    struct kstmt *s = add(l, K_VAR);

    s->set.var = v;
    s->set.value = expr_binary(l->x, fn, expr_var(l->x, l->code->thread), ix(l, 32));
    return expr_var(l->x, v);
}

static void place_variables(struct lowering *l) {
    int threads = l->k->threads;

    l->code->thread = l->k->thread;
    if (!l->code->thread)
        l->code->thread = l->k->thread = place_variable(l, VAR_THREAD, "thread", threads);
    l->code->lane = place_variable(l, VAR_LANE, "lane", 32);
    l->lane = expr_var(l->x, l->code->thread);
    if (threads > 32) l->lane = place_set(l, l->code->lane, FN_FLOORMOD);
    l->warp = ix(l, 0);
    if (threads > 32) {
        l->code->warp = place_variable(l, VAR_WARP, "warp", threads / 32);
        l->warp = place_set(l, l->code->warp, FN_FLOORDIV);
    } else {
        l->code->lane = NULL;
    }
}

static void declare_arrays(struct lowering *l) {
    struct indexed x = {arena_array(l->m->arena, bool, l->k->function->buffer_count + 1)};
    struct buffer *b;
    int i;

    block_walk(&l->k->body, index_statement, &x);
    for (i = 0; i < l->k->buffers.count; i++) {
        b = l->k->buffers.at[i];
        if (b->alias) continue;
        if (b->scope == SCOPE_FRAGMENT || (b->scope == SCOPE_LOCAL && !x.dynamic[b->id]))
            l->arrays[b->id] = registers_of(l, b);
        else if (b->scope == SCOPE_LOCAL)
            vec_push(l->m->arena, &l->code->locals, b);
    }
    for (i = 0; i < l->k->buffers.count; i++)
        if (l->k->buffers.at[i]->alias)
            l->arrays[l->k->buffers.at[i]->id] = l->arrays[l->k->buffers.at[i]->alias->id];
}

static void lower_kernel(struct module *m, struct kernel *k) {
    struct lowering l = {.m = m, .x = m->exprs, .k = k, .span = k->span};
    int i;

    k->code = arena_make(m->arena, struct kernel_code);
    k->code->alignment = arena_array(m->arena, int32_t, k->function->buffer_count + 1);
    l.code = k->code;
    l.out = &k->code->body;
    l.arrays = arena_array(m->arena, struct array *, k->function->buffer_count + 1);
    l.ahead = arena_alloc(m->arena, sizeof *l.ahead * (size_t)(k->function->buffer_count + 1));
    place_variables(&l);
    block_walk(&k->body, mark_unrolled, m);
    declare_arrays(&l);
    declare_variables(&l);
    lower_block(&l, &k->body);
    for (i = 0; i < k->code->arrays.count; i++) k->code->registers += k->code->arrays.at[i]->count;
    k->code->registers += 40;
}

void lower(struct module *m) {
    int i, j;

    for (i = 0; i < m->functions.count; i++)
        for (j = 0; j < m->functions.at[i]->kernels.count; j++)
            lower_kernel(m, m->functions.at[i]->kernels.at[j]);
    m->level = LEVEL_KERNEL;
}
