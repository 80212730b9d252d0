/* atomic.c: element atomics on shared and global memory. */
#include "internal.h"

static struct kstmt *atomic_at(struct lowering *l, const struct stmt *t, struct expr *offset,
                               struct expr *value, struct var *previous) {
    struct buffer *b = t->atomic.buffer;
    struct kstmt *s = add(l, K_ATOMIC);

    s->atomic.op = t->atomic.op;
    s->atomic.order = t->atomic.order;
    s->atomic.address = address_at(l, b, offset, dtype_bytes(b->dtype));
    s->atomic.dtype = b->dtype;
    s->atomic.value = value;
    s->atomic.previous = previous;
    return s;
}

/* The old value, zero where the atomic does not happen. */
static struct var *previous_variable(struct lowering *l, struct stmt *t, struct site *s) {
    enum dtype type = register_type(t->atomic.buffer->dtype);
    struct expr *zero =
        dtype_is_float(type) ? expr_float(l->x, 0.0, type) : expr_int(l->x, 0, type);
    struct var *v = add_var(l, t->atomic.previous->name->text, type, zero);
    struct env *env = arena_make(l->m->arena, struct env);

    v->kind = VAR_MUTABLE;
    v->lo = INT64_MIN;
    v->hi = INT64_MAX;
    v->divisor = 1;
    env->outer = s->env;
    env->var = t->atomic.previous;
    env->value = expr_var(l->x, v);
    s->env = env;
    if (!s->plan) l->env = env;
    return v;
}

void lower_atomic(struct lowering *l, struct site *s, struct stmt *t) {
    struct expr *value = value_lower(l, s, t->atomic.value), *test, *owner;
    struct var *previous = NULL, *old = NULL;
    struct place_at p = place_of(l, s, t->atomic.buffer, t->atomic.index);
    struct kblock *saved = NULL;
    struct kstmt *k;

    value = value_cast(l, value, t->atomic.value->dtype, t->atomic.buffer->dtype);
    if (t->atomic.previous) previous = previous_variable(l, t, s);
    owner = s->plan ? s->plan->owner : NULL;
    test = both(l, owner, place_test(l, &p));
    if (test) saved = add_if(l, test);
    if (previous) old = var_new(l->x, VAR_LET, previous->name, previous->dtype, t->span);
    atomic_at(l, t, p.offset, value, old);
    if (previous) {
        k = add(l, K_SET);
        k->set.var = previous;
        k->set.value = expr_var(l->x, old);
    }
    if (test) out_leave(l, saved);
    forget_loads(l, t->atomic.buffer);
}
