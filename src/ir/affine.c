/* affine.c: integer expressions as constant + sum of coefficient * atom; proofs of inequalities.
 *
 * The affine form is also the canonical form of INDEX sums: expr_op builds them through
 * affine_expr, so equal sums are equal pointers. */
#include "ir/expr.h"
#include "ir/internal.h"
#include <string.h>

/* -- the fixed order
 * ------------------------------------------------------------------------------- */
static int rank_of_var(enum var_kind k) {
    static const signed char rank[] = {
        [VAR_AXIS] = 6, [VAR_LOOP] = 5, [VAR_BLOCK] = 0, [VAR_THREAD] = 3, [VAR_LANE] = 4,
        [VAR_WARP] = 2, [VAR_DIM] = 1,  [VAR_PARAM] = 1, [VAR_LET] = 7,    [VAR_MUTABLE] = 7};
    return rank[k];
}

static int compare_vars(const struct var *a, const struct var *b) {
    if (a == b) return 0;
    int order = rank_of_var(a->kind) - rank_of_var(b->kind);
    if (!order) order = strcmp(a->name->text, b->name->text);
    return order ? order : a->id - b->id;
}

/* Variables first, then by shape; ids decide only between things of one name. */
int expr_compare(const struct expr *a, const struct expr *b) {
    if (a == b) return 0;
    if (a->kind == EXPR_VAR && b->kind == EXPR_VAR) return compare_vars(a->var, b->var);
    if ((a->kind == EXPR_VAR) != (b->kind == EXPR_VAR)) return a->kind == EXPR_VAR ? -1 : 1;
    int order = (int)a->kind - (int)b->kind;
    if (!order) order = (int)a->fn - (int)b->fn;
    if (!order) order = a->count - b->count;
    for (int i = 0; i < a->count && !order; i++) order = expr_compare(a->args[i], b->args[i]);
    if (!order && a->kind == EXPR_INT)
        order = (a->integer > b->integer) - (a->integer < b->integer);
    return order ? order : a->id - b->id;
}

/* -- building
 * -------------------------------------------------------------------------------------- */
static bool add_term(struct affine *s, struct expr *atom, int64_t coefficient) {
    int at = 0;
    while (at < s->count && expr_compare(s->atom[at], atom) < 0) at++;
    if (at < s->count && s->atom[at] == atom) {
        if (__builtin_add_overflow(s->coefficient[at], coefficient, &s->coefficient[at]))
            return false;
        if (s->coefficient[at]) return true;
        s->count--;
        for (; at < s->count; at++) {
            s->atom[at] = s->atom[at + 1];
            s->coefficient[at] = s->coefficient[at + 1];
        }
        return true;
    }
    if (coefficient == 0) return true;
    if (s->count == AFFINE_TERMS) return false;
    for (int i = s->count++; i > at; i--) {
        s->atom[i] = s->atom[i - 1];
        s->coefficient[i] = s->coefficient[i - 1];
    }
    s->atom[at] = atom;
    s->coefficient[at] = coefficient;
    return true;
}

static bool add_constant(struct affine *sum, int64_t constant, int64_t factor) {
    int64_t scaled;
    return !__builtin_mul_overflow(constant, factor, &scaled) &&
           !__builtin_add_overflow(sum->constant, scaled, &sum->constant);
}

bool affine_add_scaled(struct affine *sum, const struct affine *a, int64_t factor) {
    int64_t scaled;
    if (!add_constant(sum, a->constant, factor)) return false;
    for (int i = 0; i < a->count; i++)
        if (__builtin_mul_overflow(a->coefficient[i], factor, &scaled) ||
            !add_term(sum, a->atom[i], scaled))
            return false;
    return true;
}

/* The affine form of an expression that was made from it, kept with the expression: most questions
 * are about such sums. */
struct sum {
    int64_t constant;
    int count;
    struct term {
        struct expr *atom;
        int64_t coefficient;
    } term[];
};

static bool is_sum(const struct expr *e) {
    return e->kind == EXPR_OP &&
           (e->fn == FN_ADD || e->fn == FN_SUB || e->fn == FN_MUL || e->fn == FN_NEG);
}

static void keep_sum(struct exprs *x, struct expr *e, const struct affine *a) {
    if (e->sum || !is_sum(e)) return;
    size_t terms = sizeof(struct term) * (size_t)a->count;
    struct sum *s = arena_alloc(exprs_arena(x), sizeof *s + terms);
    s->constant = a->constant;
    s->count = a->count;
    for (int i = 0; i < a->count; i++) s->term[i] = (struct term){a->atom[i], a->coefficient[i]};
    e->sum = s;
}

static bool add_sum(struct affine *to, const struct sum *s, int64_t factor) {
    int64_t scaled;
    if (!add_constant(to, s->constant, factor)) return false;
    for (int i = 0; i < s->count; i++)
        if (__builtin_mul_overflow(s->term[i].coefficient, factor, &scaled) ||
            !add_term(to, s->term[i].atom, scaled))
            return false;
    return true;
}

static void take_sum(struct affine *out, const struct sum *s) {
    out->constant = s->constant;
    out->count = s->count;
    for (int i = 0; i < s->count; i++) {
        out->atom[i] = s->term[i].atom;
        out->coefficient[i] = s->term[i].coefficient;
    }
}

/* A conversion between integers that changes no value. */
static bool transparent_cast(const struct expr *e) {
    if (e->kind != EXPR_CAST) return false;
    const struct expr *a = e->args[0];
    if (!dtype_is_integer(e->dtype) || !dtype_is_integer(a->dtype)) return false;
    if ((a->dtype == DTYPE_U64 || e->dtype == DTYPE_U64) && a->lo < 0) return false;
    if (dtype_bits(e->dtype) >= 64) return true;
    struct interval whole = interval_type(e->dtype);
    return a->lo >= whole.lo && a->hi <= whole.hi;
}

static bool add_scaled(struct affine *s, struct expr *e, int64_t factor);

/* Sums, differences and products with a constant; `taken` says whether e is one. */
static bool add_operation(struct affine *s, struct expr *e, int64_t factor, bool *taken) {
    int64_t c, scaled;
    *taken = true;
    switch (e->fn) {
    case FN_ADD: return add_scaled(s, e->args[0], factor) && add_scaled(s, e->args[1], factor);
    case FN_SUB:
        return factor != INT64_MIN && add_scaled(s, e->args[0], factor) &&
               add_scaled(s, e->args[1], -factor);
    case FN_NEG: return factor != INT64_MIN && add_scaled(s, e->args[0], -factor);
    case FN_MUL: {
        int which = expr_is_int(e->args[1], &c) ? 0 : expr_is_int(e->args[0], &c) ? 1 : -1;
        if (which < 0) break;
        return !__builtin_mul_overflow(factor, c, &scaled) && add_scaled(s, e->args[which], scaled);
    }
    case FN_SHL:
        if (!expr_is_int(e->args[1], &c) || c < 0 || c > 62) break;
        return !__builtin_mul_overflow(factor, (int64_t)1 << c, &scaled) &&
               add_scaled(s, e->args[0], scaled);
    default: break;
    }
    *taken = false;
    return true;
}

static bool add_scaled(struct affine *s, struct expr *e, int64_t factor) {
    int64_t scaled;
    if (factor == 0) return true;
    while (transparent_cast(e)) e = e->args[0];
    if (e->sum) return add_sum(s, e->sum, factor);
    if (e->kind == EXPR_INT)
        return !__builtin_mul_overflow(e->integer, factor, &scaled) &&
               !__builtin_add_overflow(s->constant, scaled, &s->constant);
    if (op_is_exact(e)) {
        bool taken;
        bool good = add_operation(s, e, factor, &taken);
        if (taken || !good) return good;
    }
    return add_term(s, e, factor);
}

bool affine_of(const struct expr *e, struct affine *out) {
    out->constant = 0;
    out->count = 0;
    if (e->sum) {
        take_sum(out, e->sum);
        return true;
    }
    if (!dtype_is_integer(e->dtype) || (e->dtype == DTYPE_U64 && e->lo < 0)) return false;
    return add_scaled(out, (struct expr *)(uintptr_t)e, 1);
}

/* -- back to an expression
 * ------------------------------------------------------------------------- */
static struct expr *index_op(struct exprs *x, enum function fn, struct expr *a, struct expr *b) {
    struct expr *args[2] = {a, b};
    return expr_raw_op(x, fn, DTYPE_INDEX, b ? 2 : 1, args);
}

static struct expr *term(struct exprs *x, struct expr *atom, int64_t coefficient) {
    if (atom->dtype != DTYPE_INDEX) {
        struct expr shape = {.kind = EXPR_CAST, .dtype = DTYPE_INDEX, .count = 1, .args = &atom};
        atom = expr_raw(x, &shape);
    }
    return coefficient == 1 ? atom : index_op(x, FN_MUL, atom, expr_index(x, coefficient));
}

/* The first positive term leads, so that a - b is written as that. */
static int leading_term(const struct affine *a) {
    for (int i = 0; i < a->count; i++)
        if (a->coefficient[i] > 0) return i;
    return -1;
}

static struct expr *plus_constant(struct exprs *x, struct expr *e, int64_t constant) {
    if (constant == 0) return e;
    if (constant > 0 || constant == INT64_MIN)
        return index_op(x, FN_ADD, e, expr_index(x, constant));
    return index_op(x, FN_SUB, e, expr_index(x, -constant));
}

static struct expr *expr_of(struct exprs *x, const struct affine *a) {
    int lead = leading_term(a);
    struct expr *sum = lead < 0 ? NULL : term(x, a->atom[lead], a->coefficient[lead]);
    int64_t constant = a->constant;
    if (!sum && (constant > 0 || a->count == 0)) {
        sum = expr_index(x, constant);
        constant = 0;
    }
    for (int i = 0; i < a->count; i++) {
        int64_t c = a->coefficient[i];
        if (i == lead) continue;
        if (!sum)
            sum = c == -1 ? index_op(x, FN_NEG, term(x, a->atom[i], 1), NULL)
                          : term(x, a->atom[i], c);
        else if (c > 0 || c == INT64_MIN)
            sum = index_op(x, FN_ADD, sum, term(x, a->atom[i], c));
        else
            sum = index_op(x, FN_SUB, sum, term(x, a->atom[i], -c));
    }
    return plus_constant(x, sum, constant);
}

struct expr *affine_expr(struct exprs *x, const struct affine *a) {
    struct expr *e = expr_of(x, a);
    keep_sum(x, e, a);
    return e;
}

/* A constant stands last, unless no term is positive. */
struct expr *affine_shifted(struct exprs *x, struct expr *e, int64_t constant) {
    struct affine a;
    if (!e->sum || constant == INT64_MIN) return NULL;
    take_sum(&a, e->sum);
    struct expr *terms = a.constant ? e->args[0] : e;
    if (leading_term(&a) < 0 || !add_constant(&a, constant, 1)) return NULL;
    struct expr *moved = plus_constant(x, terms, a.constant);
    keep_sum(x, moved, &a);
    return moved;
}

int64_t affine_coefficient(const struct affine *a, const struct var *v) {
    for (int i = 0; i < a->count; i++)
        if (a->atom[i]->kind == EXPR_VAR && a->atom[i]->var == v) return a->coefficient[i];
    return 0;
}

/* -- proofs
 * ---------------------------------------------------------------------------------------- */
struct interval affine_interval(const struct affine *a) {
    struct interval r = {a->constant, a->constant,
                         a->constant == INT64_MIN ? 1
                         : a->constant < 0        ? -a->constant
                                                  : a->constant};
    for (int i = 0; i < a->count; i++)
        r = interval_add(r, interval_scale(interval_of(a->atom[i]), a->coefficient[i]));
    return r;
}

static bool subtract(const struct expr *a, const struct expr *b, struct affine *d) {
    struct affine second;
    return affine_of(a, d) && affine_of(b, &second) && affine_add_scaled(d, &second, -1);
}

bool affine_difference(const struct expr *a, const struct expr *b, int64_t *difference) {
    struct affine d;
    if (!subtract(a, b, &d) || d.count) return false;
    *difference = d.constant;
    return true;
}

/* d with term i replaced by coefficient * e + extra. */
static bool replace_term(const struct affine *d, int i, const struct expr *e, struct affine *out) {
    struct affine part;
    *out = *d;
    int64_t coefficient = d->coefficient[i];
    return add_term(out, d->atom[i], -coefficient) && affine_of(e, &part) &&
           affine_add_scaled(out, &part, coefficient);
}

static bool not_negative(const struct affine *d, int depth);

/* c * (x // n) is at least c/n * (x - (n-1)) for positive c that n divides, at most c/n * x. */
static bool without_quotient(const struct affine *d, int i, int depth) {
    int64_t n, c = d->coefficient[i];
    struct affine next = *d, part;
    const struct expr *atom = d->atom[i];
    if (!expr_is_int(atom->args[1], &n) || n < 1 || c % n || !affine_of(atom->args[0], &part))
        return false;
    if (!add_term(&next, d->atom[i], -c) || !affine_add_scaled(&next, &part, c / n)) return false;
    if (c > 0 && __builtin_sub_overflow(next.constant, c / n * (n - 1), &next.constant))
        return false;
    return not_negative(&next, depth);
}

/* Tries what is known of one atom beyond its range. */
static bool by_atom(const struct affine *d, int i, int depth) {
    const struct expr *e = d->atom[i];
    struct affine next;
    if (e->kind != EXPR_OP) return false;
    bool negative = d->coefficient[i] < 0;
    if (e->fn == FN_FLOORDIV) return without_quotient(d, i, depth);
    if ((e->fn == FN_MIN && negative) || (e->fn == FN_MAX && !negative))
        return (replace_term(d, i, e->args[0], &next) && not_negative(&next, depth)) ||
               (replace_term(d, i, e->args[1], &next) && not_negative(&next, depth));
    if ((e->fn == FN_MIN && !negative) || (e->fn == FN_MAX && negative))
        return replace_term(d, i, e->args[0], &next) && not_negative(&next, depth) &&
               replace_term(d, i, e->args[1], &next) && not_negative(&next, depth);
    if (e->fn == FN_FLOORMOD && negative && e->args[1]->lo >= 1) { /* x % n <= n - 1 */
        int64_t c = d->coefficient[i];
        return replace_term(d, i, e->args[1], &next) &&
               !__builtin_sub_overflow(next.constant, c, &next.constant) &&
               not_negative(&next, depth);
    }
    return false;
}

static bool not_negative(const struct affine *d, int depth) {
    if (affine_interval(d).lo >= 0) return true;
    for (int i = 0; depth > 0 && i < d->count; i++)
        if (by_atom(d, i, depth - 1)) return true;
    return false;
}

static bool proves_distance(const struct expr *a, const struct expr *b, int64_t least) {
    struct affine d;
    if (!subtract(b, a, &d) || __builtin_sub_overflow(d.constant, least, &d.constant)) return false;
    return not_negative(&d, 3);
}

bool expr_proves_le(struct exprs *x, struct expr *a, struct expr *b) {
    (void)x;
    return proves_distance(a, b, 0);
}

bool expr_proves_lt(struct exprs *x, struct expr *a, struct expr *b) {
    (void)x;
    return proves_distance(a, b, 1);
}
