/* escape.c: values that left the loop or branch that binds them.
 *
 * The scopes of names (names.c) catch `t` after the loop that binds it; a list, a dict or a closure
 * can still carry the value of `t` out. So the finished code is walked once: every variable that an
 * expression reads has to be bound around it. */
#include "sema/state.h"

struct escape {
    struct sema *s;
    VEC(bool) bound; /* by the variables' ids */
    struct span span;
    bool reported;
};

static void set_bound(struct escape *k, const struct var *v, bool bound) {
    if (!v) return;
    while (k->bound.count <= v->id) vec_push(k->s->arena, &k->bound, false);
    k->bound.at[v->id] = bound;
}

static bool needs_binding(const struct var *v) {
    return v->kind == VAR_LET || v->kind == VAR_LOOP || v->kind == VAR_AXIS;
}

static void check_expr(struct escape *k, const struct expr *x) {
    if (!x || k->reported || !sema_charge(k->s, 1)) return;
    const struct var *v = x->kind == EXPR_VAR ? x->var : NULL;
    if (v && needs_binding(v) && !(v->id < k->bound.count && k->bound.at[v->id])) {
        k->reported = true;
        sema_error(
            k->s, k->span, E0202,
            "the value of '%s' is used here, outside the loop, branch or launch that computes it; "
            "use a T.alloc_var or a buffer",
            v->name->text);
        diag_note(k->s->diag, v->span, "'%s' is bound here", v->name->text);
        return;
    }
    for (int i = 0; i < x->count; i++) check_expr(k, x->args[i]);
}

static void check_held(struct expr **x, void *data) { check_expr(data, *x); }

static void check_block(struct escape *k, const struct block *b);

static void check_nested(struct escape *k, const struct stmt *st) {
    switch (st->kind) {
    case STMT_FOR:
        set_bound(k, st->loop.var, true);
        check_block(k, &st->loop.body);
        set_bound(k, st->loop.var, false);
        break;
    case STMT_WHILE: check_block(k, &st->repeat.body); break;
    case STMT_IF:
        check_block(k, &st->branch.then);
        check_block(k, &st->branch.otherwise);
        break;
    case STMT_MAP:
        for (int i = 0; i < st->map.domain.rank; i++) set_bound(k, st->map.domain.axis[i], true);
        check_block(k, &st->map.body);
        for (int i = 0; i < st->map.domain.rank; i++) set_bound(k, st->map.domain.axis[i], false);
        break;
    case STMT_LET: set_bound(k, st->let.var, true); break;
    case STMT_ATOMIC: set_bound(k, st->atomic.previous, true); break;
    default: break;
    }
}

static void check_block(struct escape *k, const struct block *b) {
    for (struct stmt *st = b->first; st && !k->reported; st = st->next) {
        k->span = st->span;
        stmt_expressions(st, check_held, k);
        check_nested(k, st);
    }
    for (const struct stmt *st = b->first; st; st = st->next) { /* what it bound ends with it */
        if (st->kind == STMT_LET) set_bound(k, st->let.var, false);
        if (st->kind == STMT_ATOMIC) set_bound(k, st->atomic.previous, false);
    }
}

void check_escapes(struct sema *s, struct function_ir *f) {
    struct escape k = {.s = s};
    for (int i = 0; i < f->kernels.count && !k.reported; i++)
        check_block(&k, &f->kernels.at[i]->body);
}
