/* uses.c: what the body of a kernel refers to; nvcc warns of declarations that nothing uses. */
#include "emit_cuda/internal.h"

struct search {
    const struct var *var;
    const struct buffer *buffer;
    bool found, declared;
};

static void look_in_expr(struct expr **x, void *data) {
    struct search *s = data;
    if (s->var && expr_uses_var(*x, s->var)) s->found = true;
}

static const struct buffer *storage(const struct buffer *b) {
    while (b && b->alias) b = b->alias;
    return b;
}

static void look_at_address(struct search *s, const struct address *a) {
    if (s->buffer && storage(a->buffer) == s->buffer) s->found = true;
}

static void look_in_stmt(struct kstmt *k, void *data) {
    struct search *s = data;
    if (s->var) kstmt_expressions(k, look_in_expr, s);
    if (k->kind == K_VAR && k->set.var == s->var) s->declared = true;
    switch (k->kind) {
    case K_LOAD:
    case K_STORE: look_at_address(s, &k->memory.address); break;
    case K_ATOMIC: look_at_address(s, &k->atomic.address); break;
    case K_LDMATRIX:
    case K_STMATRIX: look_at_address(s, &k->matrix.address); break;
    case K_CP_ASYNC:
        look_at_address(s, &k->cp_async.to);
        look_at_address(s, &k->cp_async.from);
        break;
    default: break;
    }
}

bool kernel_uses_var(const struct kernel *k, const struct var *v) {
    struct search s = {.var = v};
    kblock_walk(&k->code->body, look_in_stmt, &s);
    return s.found;
}

bool kernel_declares_var(const struct kernel *k, const struct var *v) {
    struct search s = {.var = v};
    kblock_walk(&k->code->body, look_in_stmt, &s);
    return s.declared;
}

bool kernel_uses_shared(const struct kernel *k, const struct buffer *b) {
    struct search s = {.buffer = storage(b)};
    kblock_walk(&k->code->body, look_in_stmt, &s);
    return s.found;
}

/* Is e a word of which some parts are those of the array? */
static bool keeps_parts(const struct expr *e, const struct array *a) {
    if (e->kind != EXPR_OP) return false;
    for (int i = 0; i < e->count; i++) {
        const struct expr *x = e->args[i];
        if (x->kind == EXPR_OP && (x->fn == FN_PART_8 || x->fn == FN_PART_16) &&
            x->args[0]->kind == EXPR_ELEMENT && x->args[0]->array == a)
            return true;
    }
    return false;
}

static void look_at_put(struct kstmt *k, void *data) {
    bool *by_parts = data;
    if (k->kind == K_PUT && keeps_parts(k->put.value, k->put.to.array))
        by_parts[k->put.to.array->id] = true;
}

const bool *arrays_by_parts(struct arena *a, const struct kernel *k) {
    int most = 0;
    for (int i = 0; i < k->code->arrays.count; i++)
        if (k->code->arrays.at[i]->id > most) most = k->code->arrays.at[i]->id;
    bool *by_parts = arena_array(a, bool, most + 1);
    kblock_walk(&k->code->body, look_at_put, by_parts);
    return by_parts;
}
