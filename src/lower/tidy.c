/* tidy.c: makes thread code shorter and says less twice: loops, addresses. */
#include "internal.h"

struct tidy {
    struct module *m;
    struct exprs *x;
};

/* -- nested unrolled loops that count through one range become one
 * ---------------------------------- */
struct merge {
    struct tidy *t;
    struct var *outer, *inner;
    struct expr *instead; /* of inner: merged - count * outer */
    bool commit, fits;
};

static void merge_expression(struct expr **e, void *data) {
    struct merge *g = data;
    struct expr *changed = expr_substitute(g->t->x, *e, 1, &g->inner, &g->instead);

    if (expr_uses_var(changed, g->outer)) g->fits = false;
    if (g->commit) *e = changed;
}

static void merge_statement(struct kstmt *s, void *data) {
    kstmt_expressions(s, merge_expression, data);
}

static bool counts_from_zero(const struct kstmt *s, int64_t *count) {
    int64_t lo;

    return s->kind == K_FOR && s->loop.unroll == 0 && s->loop.step == 1 &&
           expr_is_int(s->loop.lo, &lo) && lo == 0 && expr_is_int(s->loop.hi, count) &&
           s->loop.var->unrolled;
}

/* for o: for n: … c * (count * o + n) …, nothing else in o and n. */
static void merge_loops(struct tidy *t, struct kstmt *s) {
    struct kstmt *inner = s->loop.body.first;
    struct merge g = {.t = t, .fits = true};
    int64_t count, inner_count;
    struct expr *outer;
    struct var *v;

    if (!inner || inner->next || !counts_from_zero(s, &count) ||
        !counts_from_zero(inner, &inner_count))
        return;
    g.outer = s->loop.var;
    g.inner = inner->loop.var;
    v = var_new(t->x, VAR_LOOP, s->loop.var->name, DTYPE_INDEX, s->loop.var->span);
    v->lo = 0;
    v->hi = count * inner_count - 1;
    v->divisor = 1;
    v->unrolled = true;
    outer = expr_binary(t->x, FN_MUL, expr_var(t->x, g.outer), expr_index(t->x, inner_count));
    g.instead = expr_binary(t->x, FN_SUB, expr_var(t->x, v), outer);
    kblock_walk(&inner->loop.body, merge_statement, &g);
    if (!g.fits) return;
    g.commit = true;
    kblock_walk(&inner->loop.body, merge_statement, &g);
    s->loop.var = v;
    s->loop.hi = expr_index(t->x, count * inner_count);
    s->loop.body = inner->loop.body;
}

/* -- a test that a loop does not change stands around the loop
 * --------------------------------------- */
struct written {
    const struct expr *test;
    bool found;
};

static void test_written(struct kstmt *s, void *data) {
    struct written *w = data;

    if ((s->kind == K_SET || s->kind == K_VAR) && expr_uses_var(w->test, s->set.var))
        w->found = true;
}

static bool has_element(const struct expr *e) {
    int i;

    if (e->kind == EXPR_ELEMENT || (e->kind == EXPR_OP && e->fn == FN_ANY)) return true;
    for (i = 0; i < e->count; i++)
        if (has_element(e->args[i])) return true;
    return false;
}

static void lift_test(struct kstmt *s) {
    struct kstmt *inner = s->loop.body.first;
    struct kstmt loop = *s, branch;
    struct written w;

    if (!inner || inner->next || inner->kind != K_IF || inner->branch.otherwise.first) return;
    branch = *inner;
    w = (struct written){branch.branch.test, false};
    kblock_walk(&branch.branch.then, test_written, &w);
    if (w.found || has_element(w.test) || expr_uses_var(w.test, loop.loop.var)) return;
    loop.loop.body = branch.branch.then;
    loop.next = NULL;
    *inner = loop;
    branch.branch.then.first = branch.branch.then.last = inner;
    branch.next = s->next;
    *s = branch;
}

/* -- lanes that a barrier orders anyway
 * ------------------------------------------------------------- */
static bool touches_memory(const struct kstmt *s) {
    switch (s->kind) {
    case K_VAR:
    case K_SET:
    case K_PUT:
    case K_ARRAY:
    case K_COMMENT: return false;
    default: return true;
    }
}

static bool orders(const struct kstmt *s) {
    return s && (s->kind == K_BARRIER || s->kind == K_SYNC_WARP);
}

/* A sync_warp with no access to memory between it and a barrier says nothing. */
static void drop_syncs(struct kblock *b) {
    struct kblock kept = {NULL, NULL};
    struct kstmt *s, *next, *before = NULL, *after;

    for (s = b->first; s; s = next) {
        next = s->next;
        if (s->kind == K_SYNC_WARP) {
            for (after = next; after && !touches_memory(after); after = after->next)
                ;
            if (orders(before) || orders(after)) continue;
        }
        if (touches_memory(s)) before = s;
        kblock_append(&kept, s);
    }
    *b = kept;
}

static void tidy_block(struct tidy *t, struct kblock *b) {
    struct kstmt *s;

    drop_syncs(b);
    for (s = b->first; s; s = s->next) {
        if (s->kind == K_FOR) {
            tidy_block(t, &s->loop.body);
            merge_loops(t, s);
            lift_test(s);
        } else if (s->kind == K_WHILE) {
            tidy_block(t, &s->repeat.body);
        } else if (s->kind == K_IF) {
            tidy_block(t, &s->branch.then);
            tidy_block(t, &s->branch.otherwise);
        }
    }
}

void tidy(struct module *m) {
    struct tidy t = {m, m->exprs};
    struct kernel *k;
    int i, j;

    divide(m);
    for (i = 0; i < m->functions.count; i++)
        for (j = 0; j < m->functions.at[i]->kernels.count; j++) {
            k = m->functions.at[i]->kernels.at[j];
            tidy_block(&t, &k->code->body);
            hoist(m, k);
            drop_dead(m, k);
            apart(m, k);
        }
}
