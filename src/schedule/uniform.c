/* uniform.c: which expressions have one value in all threads of the block.
 *
 * A variable is not uniform if some binding of it is not, or happens where not all threads go, be
 * it that some have left a loop or its turn; a private array likewise, as a whole. Grown until
 * nothing changes. */
#include "internal.h"

struct uniformity {
    struct module *module;
    struct arena *arena;
    VEC(const struct var *) vars;       /* that are not uniform */
    VEC(const struct buffer *) buffers; /* LOCAL ones that are not uniform */
    bool grew;
};

static bool has_var(const struct uniformity *u, const struct var *v) {
    for (int i = 0; i < u->vars.count; i++)
        if (u->vars.at[i] == v) return true;
    return false;
}

static bool has_buffer(const struct uniformity *u, const struct buffer *b) {
    for (int i = 0; i < u->buffers.count; i++)
        if (u->buffers.at[i] == b) return true;
    return false;
}

bool expr_is_uniform(const struct uniformity *u, const struct expr *e) {
    for (int i = 0; i < e->count; i++)
        if (!expr_is_uniform(u, e->args[i])) return false;
    if (e->kind == EXPR_LOAD) {
        enum scope scope = e->buffer->scope;
        return scope != SCOPE_FRAGMENT && !(scope == SCOPE_LOCAL && has_buffer(u, e->buffer));
    }
    if (e->kind != EXPR_VAR) return true;
    enum var_kind kind = e->var->kind;
    if (kind == VAR_THREAD || kind == VAR_LANE || kind == VAR_WARP || kind == VAR_AXIS)
        return false;
    return !has_var(u, e->var);
}

static bool jumps_alone(const struct uniformity *u, const struct block *b, bool together) {
    for (const struct stmt *s = b->first; s; s = s->next) {
        if (s->kind == STMT_BREAK || s->kind == STMT_CONTINUE) return !together;
        if (s->kind != STMT_IF) continue;
        bool inside = together && expr_is_uniform(u, s->branch.test);
        if (jumps_alone(u, &s->branch.then, inside) || jumps_alone(u, &s->branch.otherwise, inside))
            return true;
    }
    return false;
}

bool loop_is_uniform(const struct uniformity *u, const struct stmt *s) {
    if (s->kind == STMT_WHILE)
        return expr_is_uniform(u, s->repeat.test) && !jumps_alone(u, &s->repeat.body, true);
    return expr_is_uniform(u, s->loop.lo) && expr_is_uniform(u, s->loop.hi) &&
           !jumps_alone(u, &s->loop.body, true);
}

static void add_var(struct uniformity *u, const struct var *v) {
    if (!v || has_var(u, v)) return;
    vec_push(u->arena, &u->vars, v);
    u->grew = true;
}

static void add_buffer(struct uniformity *u, const struct buffer *b) {
    if (b->scope != SCOPE_LOCAL || has_buffer(u, b)) return;
    vec_push(u->arena, &u->buffers, b);
    u->grew = true;
}

static void grow(struct uniformity *u, const struct block *b, bool together);

static void grow_store(struct uniformity *u, const struct stmt *s, bool together) {
    bool same = together && expr_is_uniform(u, s->store.value);
    for (int i = 0; i < s->store.count; i++) same = same && expr_is_uniform(u, s->store.index[i]);
    if (!same) add_buffer(u, s->store.buffer);
}

static void grow_stmt(struct uniformity *u, const struct stmt *s, bool together) {
    bool inside;
    switch (s->kind) {
    case STMT_FOR:
        if (!together || !expr_is_uniform(u, s->loop.lo) || !expr_is_uniform(u, s->loop.hi))
            add_var(u, s->loop.var);
        grow(u, &s->loop.body, together && loop_is_uniform(u, s));
        return;
    case STMT_WHILE: grow(u, &s->repeat.body, together && loop_is_uniform(u, s)); return;
    case STMT_IF:
        inside = together && expr_is_uniform(u, s->branch.test);
        grow(u, &s->branch.then, inside);
        grow(u, &s->branch.otherwise, inside);
        return;
    case STMT_MAP: grow(u, &s->map.body, false); return;
    case STMT_LET:
    case STMT_SET:
        if (!together || !expr_is_uniform(u, s->let.value)) add_var(u, s->let.var);
        return;
    case STMT_STORE: grow_store(u, s, together); return;
    case STMT_ATOMIC: add_var(u, s->atomic.previous); return;
    case STMT_COPY: add_buffer(u, s->copy.dst.buffer); return;
    case STMT_REDUCE: add_buffer(u, s->reduce.dst.buffer); return;
    case STMT_GEMM: add_buffer(u, s->gemm.c.buffer); return;
    case STMT_BREAK:
    case STMT_CONTINUE:
    case STMT_PRINT:
    case STMT_ASSERT:
    case STMT_BARRIER:
    case STMT_COMMIT:
    case STMT_WAIT: return;
    }
}

static void grow(struct uniformity *u, const struct block *b, bool together) {
    for (const struct stmt *s = b->first; s; s = s->next) grow_stmt(u, s, together);
}

struct uniformity *uniformity_of(struct module *m, struct arena *scratch, struct kernel *k) {
    struct uniformity *u = arena_make(scratch, struct uniformity);
    u->module = m;
    u->arena = scratch;
    do {
        u->grew = false;
        grow(u, &k->body, true);
    } while (u->grew);
    return u;
}
