/* escape.c: values that left the loop, branch or launch that binds them.
 *
 * The scopes of names (names.c) catch `t` after the loop that binds it; a list, a dict or a closure
 * can still carry the value of `t` out. So the finished code is walked once: every variable that an
 * expression reads has to be bound around it or written somewhere, and what a launch allocates is
 * used in it alone. */
#include "sema/state.h"

struct escape {
    struct sema *s;
    const struct kernel *kernel;
    int32_t number;    /* of the kernel, from 1 */
    VEC(bool) bound;   /* by the variables' ids */
    VEC(bool) written; /* T.alloc_var, likewise */
    VEC(int32_t) home; /* the kernel in which a T.alloc_var was first met, by its id; 0: none */
    struct span span;
    bool reported;
};

static void set_bound(struct escape *k, const struct var *v, bool bound) {
    if (!v) return;
    while (k->bound.count <= v->id) vec_push(k->s->arena, &k->bound, false);
    k->bound.at[v->id] = bound;
}

static void note_write(struct stmt *st, void *data) {
    struct escape *k = data;
    const struct var *v = st->kind == STMT_SET      ? st->let.var
                          : st->kind == STMT_ATOMIC ? st->atomic.previous
                                                    : NULL;
    if (!v) return;
    while (k->written.count <= v->id) vec_push(k->s->arena, &k->written, false);
    k->written.at[v->id] = true;
}

static bool is_written(const struct escape *k, const struct var *v) {
    return v->kind != VAR_MUTABLE || (v->id < k->written.count && k->written.at[v->id]);
}

static bool is_at_home(struct escape *k, const struct var *v) {
    while (k->home.count <= v->id) vec_push(k->s->arena, &k->home, 0);
    int32_t *home = &k->home.at[v->id];
    if (!*home) *home = k->number;
    return *home == k->number;
}

static bool is_bound(struct escape *k, const struct var *v) {
    switch (v->kind) {
    case VAR_LET:
    case VAR_LOOP:
    case VAR_AXIS: return v->id < k->bound.count && k->bound.at[v->id];
    case VAR_THREAD: return v == k->kernel->thread;
    case VAR_MUTABLE: return is_at_home(k, v);
    case VAR_BLOCK:
        for (int i = 0; i < k->kernel->grid_rank; i++)
            if (k->kernel->block[i] == v) return true;
        return false;
    default: return true;
    }
}

static void report(struct escape *k, const char *name, struct span where) {
    k->reported = true;
    sema_error(
        k->s, k->span, E0202,
        "the value of '%s' is used here, outside the loop, branch or launch that computes it; "
        "use a T.alloc_var or a buffer",
        name);
    diag_note(k->s->diag, where, "'%s' is bound here", name);
}

static void report_unwritten(struct escape *k, const struct var *v) {
    k->reported = true;
    sema_error(k->s, k->span, E0322,
               "'%s' is read here, but nothing in this launch writes it; give T.alloc_var a second "
               "argument to begin with",
               v->name->text);
    diag_note(k->s->diag, v->span, "'%s' is allocated here", v->name->text);
}

static void check_buffer(const struct access *a, void *data) {
    struct escape *k = data;
    const struct buffer *b = a->buffer;
    if (k->reported || b->scope == SCOPE_GLOBAL) return;
    for (int i = 0; i < k->kernel->buffers.count; i++)
        if (k->kernel->buffers.at[i] == b) return;
    k->reported = true;
    sema_error(k->s, k->span, E0202, "'%s' is used here, outside the launch that allocates it",
               b->name->text);
    diag_note(k->s->diag, b->span, "'%s' is allocated here", b->name->text);
}

static void check_expr(struct escape *k, const struct expr *x) {
    if (!x || k->reported || !sema_charge(k->s, 1)) return;
    const struct var *v = x->kind == EXPR_VAR ? x->var : NULL;
    if (v && !is_bound(k, v)) {
        report(k, v->name->text, v->span);
        return;
    }
    if (v && !is_written(k, v)) {
        report_unwritten(k, v);
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
    case STMT_SET:
        if (!k->reported && !is_at_home(k, st->let.var))
            report(k, st->let.var->name->text, st->let.var->span);
        break;
    case STMT_ATOMIC: set_bound(k, st->atomic.previous, true); break;
    default: break;
    }
}

static void check_block(struct escape *k, const struct block *b) {
    for (struct stmt *st = b->first; st && !k->reported; st = st->next) {
        k->span = st->span;
        stmt_expressions(st, check_held, k);
        bool nests = st->kind == STMT_FOR || st->kind == STMT_WHILE || st->kind == STMT_IF ||
                     st->kind == STMT_MAP;
        if (!nests && k->kernel->function->kernels.count > 1)
            stmt_buffers(k->s->module, st, check_buffer, k);
        check_nested(k, st);
    }
    for (const struct stmt *st = b->first; st; st = st->next) { /* what it bound ends with it */
        if (st->kind == STMT_LET) set_bound(k, st->let.var, false);
        if (st->kind == STMT_ATOMIC) set_bound(k, st->atomic.previous, false);
    }
}

void check_escapes(struct sema *s, struct function_ir *f) {
    struct escape k = {.s = s};
    for (int i = 0; i < f->kernels.count; i++) block_walk(&f->kernels.at[i]->body, note_write, &k);
    for (int i = 0; i < f->kernels.count && !k.reported; i++) {
        k.kernel = f->kernels.at[i];
        k.number = i + 1;
        check_block(&k, &f->kernels.at[i]->body);
    }
}
