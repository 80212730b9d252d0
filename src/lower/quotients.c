/* quotients.c: f32 divisions that stand together share one test.
 *
 * Takes:  Kernel IR with several DIV or DIVIDE_BY in neighbouring statements, none of which needs
 *         what another of the statements changes.
 * Leaves: all their quotients by QUOTIENT_BY, and one branch, almost never taken, that divides
 *         properly where the way by the reciprocal is not sure to be right.
 * Why so: a division that stands alone tests its operands and branches around a call; the branches
 *         cost as many instructions as the arithmetic, and keep the divisions from overlapping. */
#include "lower/internal.h"

enum { GROUP = 8 };

struct one_division {
    struct expr *e; /* to be replaced */
    struct expr *dividend, *divisor, *reciprocal, *quotient;
    bool own; /* the reciprocal is the division's own: it says nothing about the divisor */
};

struct grouping {
    struct module *m;
    struct kblock *block;
    struct kstmt *first; /* of the statements */
    struct kstmt *at;    /* the one that is being rewritten */
    int count;
    bool full;
    struct one_division division[GROUP];
};

/* -- Finding --------------------------------------------------------------------------------------
 */
static bool is_division(const struct expr *e) {
    return e->kind == EXPR_OP && e->dtype == DTYPE_F32 &&
           (e->fn == FN_DIV || e->fn == FN_DIVIDE_BY);
}

static bool has_division(const struct expr *e) {
    if (is_division(e)) return true;
    for (int i = 0; i < e->count; i++)
        if (has_division(e->args[i])) return true;
    return false;
}

/* Does a statement of the group so far change what e reads? */
static bool is_changed(const struct grouping *g, const struct kstmt *until, const struct expr *e) {
    for (struct kstmt *s = g->first; s != until; s = s->next)
        if (kstmt_changes(s, e)) return true;
    return false;
}

static void note_division(struct grouping *g, const struct kstmt *s, struct expr *e) {
    for (int i = 0; i < e->count; i++)
        if (has_division(e->args[i])) return;
    if (g->count == GROUP || is_changed(g, s, e)) {
        g->full = true;
        return;
    }
    for (int i = 0; i < g->count; i++)
        if (g->division[i].e == e) return;
    g->division[g->count++] = (struct one_division){.e = e};
}

/* Divisions that happen whatever the conditions in e say. */
static void find_divisions(struct grouping *g, const struct kstmt *s, struct expr *e) {
    bool choice =
        e->kind == EXPR_SELECT || (e->kind == EXPR_OP && (e->fn == FN_LAND || e->fn == FN_LOR));
    for (int i = 0; i < (choice ? 1 : e->count); i++) find_divisions(g, s, e->args[i]);
    if (is_division(e)) note_division(g, s, e);
}

static struct expr *value_of(const struct kstmt *s) {
    if (s->kind == K_PUT) return s->put.value;
    return s->kind == K_VAR || s->kind == K_SET ? s->set.value : NULL;
}

/* Statements that a division may be moved in front of. */
static bool is_plain(const struct kstmt *s) {
    switch (s->kind) {
    case K_VAR:
    case K_SET:
    case K_PUT:
    case K_ARRAY:
    case K_LOAD:
    case K_STORE:
    case K_COMMENT: return true;
    default: return false;
    }
}

/* Takes statements from `first` on; returns the one behind the last. */
static struct kstmt *find_group(struct grouping *g) {
    struct kstmt *s;
    int count = 0;
    for (s = g->first; s && is_plain(s); s = s->next) {
        count = g->count;
        if (value_of(s)) find_divisions(g, s, value_of(s));
        if (g->full) break;
        count = g->count;
    }
    g->count = count;
    return s;
}

/* -- Making
 * ----------------------------------------------------------------------------------------
 */
static struct var *put_var(struct grouping *g, const char *name, struct expr *value) {
    struct kstmt *s = kstmt_new(g->m, K_VAR, g->first->span);
    s->set.var =
        var_new(g->m->exprs, VAR_LET, intern_text(g->m->names, name), DTYPE_F32, g->first->span);
    s->set.value = value;
    kblock_insert_before(g->block, g->first, s);
    return s->set.var;
}

static struct expr *held(struct grouping *g, const char *name, struct expr *e) {
    if (e->kind == EXPR_VAR || e->kind == EXPR_ELEMENT || e->kind == EXPR_FLOAT) return e;
    return expr_var(g->m->exprs, put_var(g, name, e));
}

/* Equal divisors share their reciprocal. */
static struct expr *reciprocal_of(struct grouping *g, int at) {
    struct expr *divisor = g->division[at].divisor;
    for (int i = 0; i < at; i++)
        if (g->division[i].own && g->division[i].divisor == divisor)
            return g->division[i].reciprocal;
    return expr_var(
        g->m->exprs,
        put_var(g, "inverse", expr_op(g->m->exprs, FN_NEAR_RECIPROCAL, DTYPE_F32, 1, &divisor)));
}

static void make_operands(struct grouping *g, int at) {
    struct one_division *d = &g->division[at];
    struct expr *divisor = d->e->args[1];
    d->own = d->e->fn == FN_DIV;
    d->dividend = held(g, "dividend", d->e->args[0]);
    d->divisor = NULL;
    for (int i = 0; i < at && !d->divisor; i++)
        if (g->division[i].e->args[1] == divisor) d->divisor = g->division[i].divisor;
    if (!d->divisor) d->divisor = held(g, "divisor", divisor);
    d->reciprocal = d->own ? reciprocal_of(g, at) : d->e->args[2];
}

/* A bound below e unless e is NaN; -1: none is known. */
static double bound_below(const struct expr *e) {
    if (e->kind == EXPR_FLOAT) return e->number >= 0 ? e->number : -1;
    if (e->kind != EXPR_OP) return -1;
    switch (e->fn) {
    case FN_EXP:
    case FN_EXP2:
    case FN_EXP10:
    case FN_SQRT:
    case FN_ABS: return 0;
    case FN_MUL: return e->args[0] == e->args[1] ? 0 : -1;
    case FN_ADD: {
        double a = bound_below(e->args[0]), b = bound_below(e->args[1]);
        return a < 0 || b < 0 ? -1 : a > b ? a : b;
    }
    case FN_MAX: { /* a NaN loses */
        bool first = e->args[0]->kind == EXPR_FLOAT, second = e->args[1]->kind == EXPR_FLOAT;
        return first ? bound_below(e->args[0]) : second ? bound_below(e->args[1]) : -1;
    }
    default: return -1;
    }
}

static struct expr *at_least(struct exprs *x, struct expr *e, double least) {
    return expr_binary(x, FN_LE, expr_float(x, least, DTYPE_F32), expr_unary(x, FN_ABS, e));
}

static struct expr *join(struct exprs *x, struct expr *a, struct expr *b) {
    return a ? expr_binary(x, FN_AND, a, b) : b;
}

/* That each quotient is right: see quotient_by in device.def. If the divisor is at least 2^-40, a
 * quotient of 2^-60 has a dividend of 2^-100. */
static struct expr *test_of(struct grouping *g) {
    struct exprs *x = g->m->exprs;
    struct expr *test = NULL;
    for (int i = 0; i < g->count; i++) {
        test = join(x, test, at_least(x, g->division[i].quotient, 0x1p-60));
        if (g->division[i].own && bound_below(g->division[i].e->args[1]) < 0x1p-40)
            test = join(x, test, at_least(x, g->division[i].dividend, 0x1p-100));
    }
    return test;
}

static void make_quotient(struct grouping *g, struct one_division *d) {
    struct expr *args[] = {d->dividend, d->divisor, d->reciprocal};
    struct var *v =
        put_var(g, "quotient", expr_op(g->m->exprs, FN_QUOTIENT_BY, DTYPE_F32, 3, args));
    v->kind = VAR_MUTABLE;
    d->quotient = expr_var(g->m->exprs, v);
}

static void make_branch(struct grouping *g) {
    struct kstmt *branch = kstmt_new(g->m, K_IF, g->first->span);
    branch->branch.test = expr_unary(g->m->exprs, FN_LNOT, test_of(g));
    for (int i = 0; i < g->count; i++) {
        struct one_division *d = &g->division[i];
        struct kstmt *s = kstmt_new(g->m, K_SET, g->first->span);
        struct expr *args[] = {d->dividend, d->divisor};
        s->set.var = d->quotient->var;
        s->set.value = expr_op(g->m->exprs, FN_DIVIDE, DTYPE_F32, 2, args);
        kblock_append(&branch->branch.then, s);
    }
    kblock_insert_before(g->block, g->first, branch);
}

/* One in the arm of a SELECT was not noted: its operands may have changed on the way. */
static struct expr *replace(struct expr *e, void *data) {
    struct grouping *g = data;
    for (int i = 0; i < g->count; i++)
        if (g->division[i].e == e && !is_changed(g, g->at, e)) return g->division[i].quotient;
    return NULL;
}

static void make_group(struct grouping *g, struct kstmt *end) {
    for (int i = 0; i < g->count; i++) make_operands(g, i);
    for (int i = 0; i < g->count; i++) make_quotient(g, &g->division[i]);
    make_branch(g);
    for (struct kstmt *s = g->first; s != end; s = s->next) {
        struct expr **value = s->kind == K_PUT ? &s->put.value : &s->set.value;
        g->at = s;
        if (value_of(s)) *value = expr_rewrite(g->m->exprs, *value, replace, g);
    }
}

static void group_from(struct module *m, struct kblock *b, struct kstmt *s) {
    struct grouping g;
    struct kstmt *end;
    if (!is_plain(s) || !value_of(s) || !has_division(value_of(s))) return;
    do { /* divisions of quotients come next */
        g = (struct grouping){.m = m, .block = b, .first = s};
        end = find_group(&g);
        if (g.count > 1) make_group(&g, end);
    } while (g.count > 1);
}

void quotients(struct module *m, struct kblock *b) {
    for (struct kstmt *s = b->first; s; s = s->next) {
        switch (s->kind) {
        case K_FOR: quotients(m, &s->loop.body); break;
        case K_WHILE: quotients(m, &s->repeat.body); break;
        case K_IF:
            quotients(m, &s->branch.then);
            quotients(m, &s->branch.otherwise);
            break;
        default: group_from(m, b, s);
        }
    }
}
