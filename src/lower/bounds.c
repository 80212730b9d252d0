/* bounds.c: which accesses of global tensors need a guard, and one test for all of them.
 *
 * The lattice of the expressions proves most bounds. Where it cannot, a tile operation gets a test
 * that is the same for the whole block (is this tile wholly inside?) with a fast path behind it,
 * and a path that guards each access. */
#include "internal.h"

/* A fact index' < dim with index <= index' proves it. */
static bool known_fact(const struct lowering *l, const struct expr *index, const struct expr *dim) {
    int64_t distance;
    int i;

    for (i = 0; i < l->facts.count; i++)
        if (l->facts.at[i].dim == dim &&
            (l->facts.at[i].index == index ||
             (affine_difference(index, l->facts.at[i].index, &distance) && distance <= 0)))
            return true;
    return false;
}

static struct expr *clip_variable(struct expr *e, void *data) {
    struct lowering *l = data;
    int i;

    if (e->kind != EXPR_VAR) return NULL;
    for (i = l->clips.count - 1; i >= 0; i--)
        if (l->clips.at[i].var == e->var) return l->clips.at[i].clipped;
    return NULL;
}

static bool proves_below(struct lowering *l, struct expr *index, struct expr *dim) {
    struct expr *clipped = index;

    if (known_fact(l, index, dim) || expr_proves_lt(l->x, index, dim)) return true;
    if (l->clips.count > 0) clipped = expr_rewrite_where(l->x, index, HOLDS_VAR, clip_variable, l);
    return clipped != index && expr_proves_lt(l->x, clipped, dim);
}

static bool proves_positive(struct lowering *l, struct expr *index) {
    if (expr_proves_le(l->x, ix(l, 0), index)) return true;
    return l->clips.count > 0 &&
           expr_proves_le(l->x, ix(l, 0),
                          expr_rewrite_where(l->x, index, HOLDS_VAR, clip_variable, l));
}

static bool proven(struct lowering *l, const struct buffer *b, int axis, struct expr *index) {
    return proves_below(l, index, b->dim[axis]) && proves_positive(l, index);
}

/* coefficient * v + constant <= 0 for one variable: its range shrinks. */
static void clip_by(struct lowering *l, const struct affine *a) {
    struct var *v, *n;
    int64_t c = a->coefficient[0];

    if (a->count != 1 || a->atom[0]->kind != EXPR_VAR || (c != 1 && c != -1)) return;
    v = a->atom[0]->var;
    n = var_like(l->x, v);
    if (c == 1 && -a->constant < n->hi) n->hi = -a->constant;
    if (c == -1 && a->constant > n->lo) n->lo = a->constant;
    if (n->lo <= n->hi) vec_push(l->m->arena, &l->clips, ((struct clip){v, expr_var(l->x, n)}));
}

static void assume_test(struct lowering *l, struct expr *test) {
    struct affine a;

    if (test->kind != EXPR_OP) return;
    if (test->fn == FN_LAND) {
        assume_test(l, test->args[0]);
        assume_test(l, test->args[1]);
        return;
    }
    if ((test->fn != FN_LT && test->fn != FN_LE) || !dtype_is_integer(test->args[0]->dtype)) return;
    if (test->fn == FN_LT)
        vec_push(l->m->arena, &l->facts, ((struct fact){test->args[0], test->args[1]}));
    if (affine_of(expr_binary(l->x, FN_SUB, test->args[0], test->args[1]), &a)) {
        a.constant += test->fn == FN_LT;
        clip_by(l, &a);
    }
}

struct assumed assume(struct lowering *l, struct expr *test) {
    struct assumed before = {l->facts.count, l->clips.count};

    if (test) assume_test(l, test);
    return before;
}

void assume_end(struct lowering *l, struct assumed before) {
    l->facts.count = before.facts;
    l->clips.count = before.clips;
}

struct expr *bounds_test(struct lowering *l, const struct buffer *b, int axis,
                         struct expr *original, struct expr *index) {
    struct expr *test = NULL;

    if (proven(l, b, axis, original) || proven(l, b, axis, index)) return NULL;
    if (!proves_below(l, original, b->dim[axis]) && !proves_below(l, index, b->dim[axis]))
        test = expr_binary(l->x, FN_LT, index, b->dim[axis]);
    if (!proves_positive(l, original) && !proves_positive(l, index))
        test = both(l, expr_binary(l->x, FN_LE, ix(l, 0), index), test);
    return test;
}

struct scan {
    const struct domain *domain;
    VEC(struct var *) inner; /* of loops within the iterations */
    struct expr *test;
    bool possible;
};

static bool is_inner(const struct scan *s, const struct var *v) {
    int i;

    for (i = 0; i < s->inner.count; i++)
        if (s->inner.at[i] == v) return true;
    return false;
}

/* Is the value the same in every thread, and known before the iterations begin? */
static bool is_uniform(const struct scan *s, const struct expr *e) {
    unsigned varying = 1u << VAR_AXIS | 1u << VAR_THREAD | 1u << VAR_LANE | 1u << VAR_WARP |
                       1u << VAR_LET | 1u << VAR_MUTABLE;
    int i;

    for (i = 0; i < s->inner.count; i++)
        if (expr_uses_var(e, s->inner.at[i])) return false;
    return !(e->uses_kinds & varying) && !expr_has_load(e);
}

/* The least and greatest value of what changes within the operation; false if they are unknown. */
static bool span_of(const struct scan *s, const struct expr *e, int64_t *lo, int64_t *hi) {
    int j;

    for (j = 0; e->kind == EXPR_VAR && j < s->domain->rank; j++)
        if (e->var == s->domain->axis[j]) {
            *lo = 0;
            *hi = s->domain->extent[j] - 1;
            return true;
        }
    *lo = e->lo;
    *hi = e->hi;
    return e->kind == EXPR_VAR && is_inner(s, e->var) && *lo > INT64_MIN && *hi < INT64_MAX;
}

static bool add_product(int64_t *sum, int64_t a, int64_t b) {
    int64_t product;

    return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(*sum, product, sum);
}

/* Splits an index into its least and greatest value over the operation, both uniform. */
static bool extremes(struct lowering *l, const struct scan *s, const struct affine *a,
                     struct expr **least, struct expr **most) {
    struct affine rest = *a;
    int64_t lo = a->constant, hi = a->constant, c, first, last;
    int i;

    rest.count = 0;
    for (i = 0; i < a->count; i++) {
        c = a->coefficient[i];
        if (span_of(s, a->atom[i], &first, &last)) {
            if (!add_product(&lo, c, c < 0 ? last : first) ||
                !add_product(&hi, c, c < 0 ? first : last))
                return false;
        } else if (is_uniform(s, a->atom[i])) {
            rest.atom[rest.count] = a->atom[i];
            rest.coefficient[rest.count++] = c;
        } else {
            return false;
        }
    }
    rest.constant = lo;
    *least = affine_expr(l->x, &rest);
    rest.constant = hi;
    *most = affine_expr(l->x, &rest);
    return true;
}

static void scan_index(struct lowering *l, struct scan *s, const struct buffer *b, int axis,
                       struct expr *index) {
    struct expr *least, *most, *test = NULL;
    struct affine a;
    int64_t never;

    index = bind_source(l, index, l->env);
    if (proven(l, b, axis, index)) return;
    if (!affine_of(index, &a) || !extremes(l, s, &a, &least, &most)) {
        s->possible = false;
        return;
    }
    if (!proves_positive(l, least)) test = expr_binary(l->x, FN_LE, ix(l, 0), least);
    if (!proves_below(l, most, b->dim[axis]))
        test = both(l, test, expr_binary(l->x, FN_LT, most, b->dim[axis]));
    if (test && expr_is_int(test, &never) && !never) return; /* masked on every path */
    s->test = both(l, s->test, test);
    vec_push(l->m->arena, &l->facts, ((struct fact){index, b->dim[axis]}));
}

struct visit {
    struct lowering *l;
    struct scan *s;
};

static struct expr *scan_load(struct expr *e, void *data) {
    struct visit *v = data;
    int i;

    if (e->kind == EXPR_LOAD && e->buffer->scope == SCOPE_GLOBAL)
        for (i = 0; i < e->count; i++) scan_index(v->l, v->s, e->buffer, i, e->args[i]);
    return NULL;
}

static void scan_expression(struct expr **e, void *data) {
    struct visit *v = data;

    if (expr_has_load(*e)) expr_rewrite_where(v->l->x, *e, HOLDS_LOAD, scan_load, v);
}

static void scan_statement(struct stmt *t, void *data) {
    struct visit *v = data;
    struct buffer *b = t->kind == STMT_STORE    ? t->store.buffer
                       : t->kind == STMT_ATOMIC ? t->atomic.buffer
                                                : NULL;
    int i;

    stmt_expressions(t, scan_expression, v);
    if (b && b->scope == SCOPE_GLOBAL)
        for (i = 0; i < b->rank; i++)
            scan_index(v->l, v->s, b, i,
                       t->kind == STMT_STORE ? t->store.index[i] : t->atomic.index[i]);
}

static void note_loop(struct stmt *t, void *data) {
    struct visit *v = data;

    if (t->kind == STMT_FOR) vec_push(v->l->m->arena, &v->s->inner, t->loop.var);
}

struct expr *bounds_uniform(struct lowering *l, const struct domain *d, struct block *body,
                            bool *possible) {
    struct scan s = {.domain = d, .possible = true};
    struct visit v = {l, &s};

    block_walk(body, note_loop, &v);
    block_walk(body, scan_statement, &v);
    *possible = s.possible;
    return s.test;
}
