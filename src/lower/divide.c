/* divide.c: many quotients by one divisor share its reciprocal.
 *
 * Takes:  Kernel IR with DIV of f32 in unrolled loops.
 * Leaves: where the divisor is the same in all copies of the loop's body, its reciprocal stands in
 *         front of the loop and each quotient is DIVIDE_BY: two fma and a product instead of a
 *         division of its own. The result is the same correctly rounded quotient. A constant
 *         divisor has its reciprocal at once; a power of two is a product.
 * Why so: a row of a softmax or a norm divides thousands of elements by one sum, and a correctly
 *         rounded division occupies the unit of the exponentials twice. */
#include "lower/internal.h"
#include <math.h>

struct division {
    struct module *m;
    struct kblock *block; /* that holds the loop */
    struct kstmt *loop;
    struct expr *divisor, *reciprocal; /* of the last one replaced */
};

/* -- What a loop changes -------------------------------------------------------------------------
 */
struct change {
    const struct expr *e;
    bool found;
};

static bool reads_array(const struct expr *e, const struct array *a) {
    if (e->kind == EXPR_ELEMENT && e->array == a) return true;
    for (int i = 0; i < e->count; i++)
        if (reads_array(e->args[i], a)) return true;
    return false;
}

static void note_change(struct kstmt *s, void *data) {
    struct change *c = data;
    const struct var *set = NULL;
    const struct array *put = NULL;
    switch (s->kind) {
    case K_VAR:
    case K_SET: set = s->set.var; break;
    case K_FOR: set = s->loop.var; break;
    case K_LOAD: set = s->memory.var, put = s->memory.data.array; break;
    case K_ATOMIC: set = s->atomic.previous; break;
    case K_PUT: put = s->put.to.array; break;
    case K_LDMATRIX: put = s->matrix.data.array; break;
    case K_MMA: put = s->mma.d.array; break;
    case K_ARRAY: put = s->array; break;
    default: break;
    }
    if (set && expr_uses_var(c->e, set)) c->found = true;
    if (put && reads_array(c->e, put)) c->found = true;
}

/* May e read this register? */
static bool reads_register(const struct expr *e, const struct operand *at) {
    int64_t distance;
    if (e->kind == EXPR_ELEMENT && e->array == at->array &&
        !(affine_difference(e->args[0], at->index, &distance) && distance != 0))
        return true;
    for (int i = 0; i < e->count; i++)
        if (reads_register(e->args[i], at)) return true;
    return false;
}

bool kstmt_changes(struct kstmt *s, const struct expr *e) {
    if (s->kind == K_PUT) return reads_register(e, &s->put.to);
    struct change c = {.e = e};
    note_change(s, &c);
    return c.found;
}

static bool changes(struct kstmt *loop, const struct expr *e) {
    struct change c = {.e = e};
    if (expr_uses_var(e, loop->loop.var)) return true;
    kblock_walk(&loop->loop.body, note_change, &c);
    return c.found;
}

/* -- Replacing ------------------------------------------------------------------------------------
 */
static struct expr *reciprocal_of(struct division *d, struct expr *divisor) {
    if (d->divisor == divisor) return d->reciprocal;
    struct kstmt *s = kstmt_new(d->m, K_VAR, d->loop->span);
    struct sym *name = intern_text(d->m->names, "reciprocal");
    s->set.var = var_new(d->m->exprs, VAR_LET, name, DTYPE_F32, d->loop->span);
    s->set.value = expr_op(d->m->exprs, FN_RECIPROCAL, DTYPE_F32, 1, &divisor);
    kblock_insert_before(d->block, d->loop, s);
    d->divisor = divisor;
    d->reciprocal = expr_var(d->m->exprs, s->set.var);
    return d->reciprocal;
}

static struct expr *replace(struct expr *e, void *data) {
    struct division *d = data;
    bool quotient = e->kind == EXPR_OP && e->fn == FN_DIV && e->dtype == DTYPE_F32;
    if (!quotient || e->args[1]->kind == EXPR_FLOAT || changes(d->loop, e->args[1])) return NULL;
    struct expr *args[] = {e->args[0], e->args[1], reciprocal_of(d, e->args[1])};
    return expr_op(d->m->exprs, FN_DIVIDE_BY, DTYPE_F32, 3, args);
}

static void replace_in(struct expr **e, void *data) {
    struct division *d = data;
    if (*e) *e = expr_rewrite_where(d->m->exprs, *e, HOLDS_DIVISION, replace, d);
}

static void visit_stmt(struct kstmt *s, void *data) { kstmt_expressions(s, replace_in, data); }

/* The outermost loop that leaves the divisor alone comes first. */
static void divide_block(struct module *m, struct kblock *b) {
    for (struct kstmt *s = b->first; s; s = s->next) {
        struct division d = {.m = m, .block = b, .loop = s};
        if (s->kind == K_FOR && s->loop.unroll == 0) kblock_walk(&s->loop.body, visit_stmt, &d);
        if (s->kind == K_FOR) divide_block(m, &s->loop.body);
        if (s->kind == K_WHILE) divide_block(m, &s->repeat.body);
        if (s->kind == K_IF) {
            divide_block(m, &s->branch.then);
            divide_block(m, &s->branch.otherwise);
        }
    }
}

/* -- Constant divisors ----------------------------------------------------------------------------
 */
static struct expr *by_constant(struct expr *e, void *data) {
    struct module *m = data;
    if (e->kind != EXPR_OP || e->fn != FN_DIV || e->dtype != DTYPE_F32 ||
        e->args[1]->kind != EXPR_FLOAT || e->args[0]->kind == EXPR_FLOAT)
        return NULL;
    double s = e->args[1]->number;
    int exponent;
    if (!(fabs(s) >= 0x1p-30 && fabs(s) <= 0x1p30)) return NULL;
    if (fabs(frexp(s, &exponent)) == 0.5)
        return expr_binary(m->exprs, FN_MUL, e->args[0], expr_float(m->exprs, 1.0 / s, DTYPE_F32));
    struct expr *args[] = {e->args[0], e->args[1], NULL};
    args[2] = expr_op(m->exprs, FN_RECIPROCAL, DTYPE_F32, 1, &args[1]);
    return expr_op(m->exprs, FN_DIVIDE_BY, DTYPE_F32, 3, args);
}

static void constants_in(struct expr **e, void *data) {
    if (*e)
        *e = expr_rewrite_where(((struct module *)data)->exprs, *e, HOLDS_DIVISION, by_constant,
                                data);
}

static void visit_constants(struct kstmt *s, void *data) {
    kstmt_expressions(s, constants_in, data);
}

void divide(struct module *m) {
    for (int i = 0; i < m->functions.count; i++)
        for (int j = 0; j < m->functions.at[i]->kernels.count; j++) {
            struct kblock *body = &m->functions.at[i]->kernels.at[j]->code->body;
            kblock_walk(body, visit_constants, m);
            divide_block(m, body);
            quotients(m, body);
        }
}
