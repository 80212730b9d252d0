/* control.c: statement lists, loops, branches and what every thread does by itself. */
#include "internal.h"

static void lower_list(struct lowering *l, struct site *s, struct block *b);

/* The variable of a LET, f16 and the like in a register of f32. */
static void lower_let(struct lowering *l, struct site *s, struct stmt *t) {
    struct var *v = t->let.var;
    enum dtype type = register_type(v->dtype);
    struct expr *value = t->let.value ? value_lower(l, s, t->let.value) : NULL;
    struct kstmt *k;
    struct env *env;
    struct var *w;

    if (type == v->dtype && !s->plan) {
        k = add(l, K_VAR);
        k->set.var = v;
        k->set.value = value;
        return;
    }
    env = arena_make(l->m->arena, struct env);
    env->outer = s->env;
    env->var = v;
    w = add_var(l, v->name->text, type, value);
    if (v->kind == VAR_MUTABLE) { /* before an expression holds what is known of it */
        w->kind = VAR_MUTABLE;
        w->lo = v->lo;
        w->hi = v->hi;
        w->divisor = v->divisor;
    }
    env->value = expr_var(l->x, w);
    s->env = env;
    if (!s->plan) l->env = env;
}

static struct var *target_of(const struct site *s, struct var *v) {
    const struct env *env;

    for (env = s->env; env; env = env->outer)
        if (env->var == v && env->value->kind == EXPR_VAR) return env->value->var;
    return v;
}

static void lower_set(struct lowering *l, struct site *s, struct stmt *t) {
    struct expr *value =
        value_cast(l, value_lower(l, s, t->let.value), t->let.value->dtype, t->let.var->dtype);
    struct kstmt *k = add(l, K_SET);

    k->set.var = target_of(s, t->let.var);
    k->set.value = value;
}

static void lower_store(struct lowering *l, struct site *s, struct stmt *t) {
    struct group g = {.plan = s->plan, .count = 1};

    g.env[0] = s->env;
    store_make(l, &g, t);
}

static bool block_has(struct block *b, enum stmt_kind kind) {
    struct stmt *t;

    for (t = b->first; t; t = t->next)
        if (t->kind == kind || (t->kind == STMT_FOR && block_has(&t->loop.body, kind)) ||
            (t->kind == STMT_WHILE && block_has(&t->repeat.body, kind)) ||
            (t->kind == STMT_IF &&
             (block_has(&t->branch.then, kind) || block_has(&t->branch.otherwise, kind))))
            return true;
    return false;
}

/* -- serial loops that pay to unroll: light bodies whose reads then overlap
 * -------------------------- */
enum { LONGEST_UNROLLED = 32, UNROLLED_REGISTERS = 512, PARTLY_REGISTERS = 64 };

struct weight {
    int64_t registers; /* elements that a thread handles in one iteration */
    bool heavy;        /* loops, tensor cores or barriers inside */
};

static void weigh(struct stmt *t, void *data) {
    struct weight *w = data;

    switch (t->kind) {
    case STMT_FOR:
    case STMT_WHILE:
    case STMT_GEMM:
    case STMT_BARRIER:
    case STMT_WAIT:
    case STMT_COMMIT:
    case STMT_BREAK:
    case STMT_CONTINUE:
    case STMT_PRINT: w->heavy = true; break;
    case STMT_MAP: w->registers += layout_span(&t->map.domain.layout, SPACE_REG); break;
    case STMT_COPY: w->registers += layout_span(&t->copy.domain.layout, SPACE_REG); break;
    default: w->registers++;
    }
}

static int32_t serial_unroll(struct stmt *t) {
    struct weight w = {0, false};
    int64_t lo, hi, trips;

    block_walk(&t->loop.body, weigh, &w);
    if (w.heavy || w.registers == 0) return 1;
    if (!expr_is_int(t->loop.lo, &lo) || !expr_is_int(t->loop.hi, &hi) || t->loop.step != 1)
        return w.registers <= PARTLY_REGISTERS / 4 ? 4 : 1;
    trips = hi - lo;
    if (trips <= LONGEST_UNROLLED && trips * w.registers <= UNROLLED_REGISTERS) return 0;
    return w.registers <= PARTLY_REGISTERS / 4 ? 4 : w.registers <= PARTLY_REGISTERS / 2 ? 2 : 1;
}

static int32_t unroll_of(struct stmt *t) {
    switch (t->loop.kind) {
    case LOOP_UNROLL: return t->loop.factor;
    case LOOP_VECTOR: return 0;
    default: return serial_unroll(t);
    }
}

static void lower_for(struct lowering *l, struct site *s, struct stmt *t) {
    struct expr *lo = value_lower(l, s, t->loop.lo), *hi = value_lower(l, s, t->loop.hi);
    struct kblock *saved = l->out;
    int32_t unroll = unroll_of(t);
    struct kstmt *k;
    int main_loop = block_has(&t->loop.body, STMT_GEMM);

    if (unroll == 0 && !s->plan && l->depth == 0 && t->loop.kind == LOOP_SERIAL &&
        lower_ahead(l, t))
        return;
    k = add(l, K_FOR);
    k->loop.var = t->loop.var;
    k->loop.lo = lo;
    k->loop.hi = hi;
    k->loop.step = t->loop.step;
    k->loop.unroll = unroll;
    l->out = &k->loop.body;
    l->main_loop += main_loop;
    l->depth++;
    lower_list(l, s, &t->loop.body);
    l->main_loop -= main_loop;
    l->depth--;
    l->out = saved;
}

/* The test may read memory, so it stands inside: while true: if not test: break. */
static void lower_while(struct lowering *l, struct site *s, struct stmt *t) {
    struct kblock *saved = l->out, *inner;
    struct kstmt *k = add(l, K_WHILE);
    struct expr *test;

    if (!expr_has_load(t->repeat.test)) {
        k->repeat.test = value_lower(l, s, t->repeat.test);
        l->out = &k->repeat.body;
    } else {
        k->repeat.test = expr_bool(l->x, true);
        l->out = &k->repeat.body;
        test = value_lower(l, s, t->repeat.test);
        inner = add_if(l, expr_unary(l->x, FN_LNOT, test));
        add(l, K_BREAK);
        out_leave(l, inner);
    }
    l->depth++;
    lower_list(l, s, &t->repeat.body);
    l->depth--;
    l->out = saved;
}

static void lower_if(struct lowering *l, struct site *s, struct stmt *t) {
    struct kblock *saved = add_if(l, value_lower(l, s, t->branch.test));
    struct assumed before = {0, 0};
    bool pure = !expr_has_load(t->branch.test) && !expr_uses_kind(t->branch.test, VAR_MUTABLE);

    if (pure) before = assume(l, bind_source(l, t->branch.test, s->env));
    lower_list(l, s, &t->branch.then);
    if (pure) assume_end(l, before);
    if (t->branch.otherwise.first) {
        add_else(l, saved);
        lower_list(l, s, &t->branch.otherwise);
    }
    out_leave(l, saved);
}

static void lower_assert(struct lowering *l, struct site *s, struct stmt *t) {
    struct expr *test = value_lower(l, s, t->assertion.test);
    struct kstmt *k = add(l, K_ASSERT);

    k->print.test = test;
    k->print.message = t->assertion.message;
}

/* A statement of a MAP's body for one iteration, or one that every thread runs. */
void lower_plain(struct lowering *l, struct site *s, struct stmt *t) {
    int known = l->loaded.count;

    l->span = t->span;
    switch (t->kind) {
    case STMT_FOR: lower_for(l, s, t); break;
    case STMT_WHILE: lower_while(l, s, t); break;
    case STMT_IF: lower_if(l, s, t); break;
    case STMT_BREAK: add(l, K_BREAK); break;
    case STMT_CONTINUE: add(l, K_CONTINUE); break;
    case STMT_LET: lower_let(l, s, t); break;
    case STMT_SET: lower_set(l, s, t); break;
    case STMT_STORE: lower_store(l, s, t); break;
    case STMT_ATOMIC: lower_atomic(l, s, t); break;
    case STMT_PRINT: lower_print(l, s, t); break;
    case STMT_ASSERT: lower_assert(l, s, t); break;
    default: fault(l, "a tile operation inside T.Parallel");
    }
    if (l->loaded.count > known) l->loaded.count = known;
}

static void lower_tile(struct lowering *l, struct stmt *t) {
    struct kstmt *k;

    l->span = t->span;
    switch (t->kind) {
    case STMT_MAP:
        if (!combine_lanes(l, t)) lower_map(l, &t->map.domain, &t->map.body);
        break;
    case STMT_COPY: lower_copy(l, t); break;
    case STMT_GEMM: lower_gemm(l, t); break;
    case STMT_REDUCE: lower_reduce(l, t); break;
    case STMT_BARRIER:
        k = add(l, K_BARRIER);
        k->barrier.id = t->barrier.id;
        k->barrier.threads = t->barrier.threads;
        break;
    case STMT_COMMIT: add(l, K_COMMIT); break;
    default: k = add(l, K_WAIT); k->wait.groups = t->wait.groups;
    }
}

static void lower_list(struct lowering *l, struct site *s, struct block *b) {
    struct env *env = s->env, *outer = l->env;
    struct stmt *t;

    for (t = b->first; t && !diag_full(l->m->diag); t = t->next) {
        if (!s->plan) comment(l, t->span, t->why);
        if (t->kind < STMT_MAP)
            lower_plain(l, s, t);
        else if (!s->plan)
            lower_tile(l, t);
        else
            lower_plain(l, s, t);
    }
    s->env = env;
    l->env = outer;
}

void lower_block(struct lowering *l, struct block *b) {
    struct site s = {.env = l->env};

    lower_list(l, &s, b);
}
