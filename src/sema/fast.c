/* fast.c: what -ffast-math makes of an f32 operation.
 *
 * Functions become their approximations. An exponential becomes 2 to the power of its argument
 * times log2(e), and that factor is moved inward, as far as constants and differences: the usual
 * exp((s - m) * scale) of a softmax is then one fma and one ex2 an element, and the product with m
 * is common to a row. */
#include "ir/expr.h"
#include "sema/builder.h"
#include "sema/internal.h"

static enum function fast_form(enum function fn) {
    static const enum function form[][2] = {
        {FN_EXP2, FN_FAST_EXP2},   {FN_LOG, FN_FAST_LOG}, {FN_LOG2, FN_FAST_LOG2},
        {FN_LOG10, FN_FAST_LOG10}, {FN_SIN, FN_FAST_SIN}, {FN_COS, FN_FAST_COS},
        {FN_TAN, FN_FAST_TAN},     {FN_DIV, FN_FAST_DIV}, {FN_TANH, FN_FAST_TANH},
    };
    for (size_t i = 0; i < sizeof form / sizeof *form; i++)
        if (form[i][0] == fn) return form[i][1];
    return fn;
}

/* e * factor. */
static struct expr *scaled(struct exprs *x, struct expr *e, double factor) {
    if (e->kind == EXPR_FLOAT) return expr_float(x, e->number * factor, DTYPE_F32);
    bool op = e->kind == EXPR_OP && e->dtype == DTYPE_F32;
    if (op && e->fn == FN_NEG) return scaled(x, e->args[0], -factor);
    if (op && e->fn == FN_MUL && e->args[1]->kind == EXPR_FLOAT)
        return scaled(x, e->args[0], factor * e->args[1]->number);
    if (op && e->fn == FN_MUL && e->args[0]->kind == EXPR_FLOAT)
        return scaled(x, e->args[1], factor * e->args[0]->number);
    struct expr *c = expr_float(x, factor, DTYPE_F32);
    if (!op || (e->fn != FN_SUB && e->fn != FN_ADD)) return expr_binary(x, FN_MUL, e, c);
    struct expr *rest = scaled(x, e->args[1], e->fn == FN_SUB ? -factor : factor);
    return expr_op(x, FN_FMA, DTYPE_F32, 3, (struct expr *[]){e->args[0], c, rest});
}

struct expr *fast_operation(struct exprs *x, enum function fn, int count,
                            struct expr *const *args) {
    static const double log2_e = 1.4426950408889634, log2_10 = 3.3219280948873623;
    if (fn == FN_EXP || fn == FN_EXP10) {
        struct expr *power = scaled(x, args[0], fn == FN_EXP ? log2_e : log2_10);
        return expr_unary(x, FN_FAST_EXP2, power);
    }
    return expr_op(x, fast_form(fn), DTYPE_F32, count, args);
}
