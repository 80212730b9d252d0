/* apart.c: operands that are evaluated only where another one says so, or again in each round.
 *
 * What calls of macros and functions in such an operand leave as statements stands under the same
 * condition: `f(x) if c else 0` becomes a branch that sets a variable, unless all it leaves are
 * values that can be computed anyway. */
#include "sema/builder.h"

/* -- Building ------------------------------------------------------------------------------------
 */
struct part part_of(struct sema *s, struct env *e, const struct ast_expr *x,
                    struct expr *condition) {
    struct part p = {.span = x->span};
    if (!s->block || !s->kernel) {
        p.value = eval_expr(s, e, x);
        return p;
    }
    if (!condition) {
        struct block *outer = s->block;
        s->block = &p.code;
        p.value = eval_expr(s, e, x);
        s->block = outer;
        return p;
    }
    bool differs = is_divergent(s, condition);
    struct env *inner = region_open(s, ENV_BRANCH, e, &p.code, x->span);
    s->tile->divergent += differs;
    s->tile->branches++;
    p.value = eval_expr(s, inner, x);
    s->tile->branches--;
    s->tile->divergent -= differs;
    region_close(s, inner);
    return p;
}

void part_join(struct sema *s, struct part *p) {
    while (p->code.first) {
        struct stmt *st = p->code.first;
        block_remove(&p->code, st);
        block_append(s->block, st);
    }
}

/* -- What may be computed anyway -----------------------------------------------------------------
 */
/* A tensor has a value outside its bounds; of a tile the index must be known to be inside. */
static bool loads_anywhere(const struct expr *e) {
    if (!expr_has_load(e)) return true;
    for (int i = 0; i < e->count; i++) {
        bool tile = e->kind == EXPR_LOAD && e->buffer->scope != SCOPE_GLOBAL;
        if (tile && (e->args[i]->lo < 0 || e->args[i]->hi >= e->buffer->extent[i])) return false;
        if (!loads_anywhere(e->args[i])) return false;
    }
    return true;
}

bool part_is_harmless(const struct part *p) {
    for (const struct stmt *st = p->code.first; st; st = st->next)
        if (st->kind != STMT_LET || !loads_anywhere(st->let.value)) return false;
    return true;
}

/* -- What an operand changes ---------------------------------------------------------------------
 */
struct change_search {
    const struct expr *read;
    bool found;
};

static void search_set(struct stmt *st, void *data) {
    struct change_search *c = data;
    if (st->kind == STMT_SET) c->found |= expr_uses_var(c->read, st->let.var);
}

static bool writes_what_loads(struct sema *s, const struct block *code, const struct expr *e) {
    if (!expr_has_load(e)) return false;
    if (e->kind == EXPR_LOAD && block_writes(s->module, code, e->buffer)) return true;
    for (int i = 0; i < e->count; i++)
        if (writes_what_loads(s, code, e->args[i])) return true;
    return false;
}

/* v + f(v): the left operand is read before the right one changes it. */
void part_reads(struct sema *s, const struct part *p, struct value *v) {
    if (v->kind == VALUE_TUPLE && p->code.first)
        for (int i = 0; i < v->sequence->items.count; i++)
            part_reads(s, p, &v->sequence->items.at[i]);
    struct expr *read = value_is_scalar_ir(*v) ? value_expr(s, *v, p->span) : NULL;
    if (!read) return;
    struct block code = p->code;
    struct change_search c = {read, writes_what_loads(s, &code, read)};
    block_walk(&code, search_set, &c);
    if (c.found) *v = value_snapshot(s, *v, p->span);
}

void part_follows(struct sema *s, struct part *p, struct value *before, int count) {
    for (int i = 0; i < count && p->code.first; i++) part_reads(s, p, &before[i]);
    part_join(s, p);
}

struct value operand_after(struct sema *s, struct env *e, const struct ast_expr *x,
                           struct value *before, int count) {
    struct part p = part_of(s, e, x, NULL);
    part_follows(s, &p, before, count);
    return p.value;
}

/* -- Joining -------------------------------------------------------------------------------------
 */
static struct var *result_new(struct sema *s, enum dtype type, bool differs, struct span span) {
    struct var *v = var_new(s->exprs, VAR_MUTABLE, intern_text(s->names, "value"), type, span);
    if (differs || s->tile->divergent || s->tile->parallel) note_divergent_var(s, v);
    return v;
}

static void set_result(struct sema *s, struct block *into, struct var *v, struct expr *value,
                       struct span span) {
    struct stmt *st = stmt_new(s->module, STMT_SET, span);
    st->let.var = v;
    st->let.value = value;
    block_append(into, st);
}

struct value part_select(struct sema *s, struct expr *condition, struct part *a, struct part *b,
                         struct span span) {
    struct value v[2] = {a->value, b->value};
    int64_t known;
    if (expr_is_int(condition, &known)) {
        part_join(s, known ? a : b);
        return value_select(s, value_ir(condition), v[0], v[1], span);
    }
    if (part_is_harmless(a) && part_is_harmless(b)) {
        part_join(s, a);
        part_join(s, b);
        return value_select(s, value_ir(condition), v[0], v[1], span);
    }
    struct expr *arg[2];
    enum dtype type = unify_values(s, 2, v, arg, span);
    if (type == DTYPE_NONE) return value_bad();
    bool differs = is_divergent(s, condition) || is_divergent(s, arg[0]) || is_divergent(s, arg[1]);
    struct var *result = result_new(s, type, differs, span);
    set_result(s, &a->code, result, arg[0], span);
    set_result(s, &b->code, result, arg[1], span);
    struct stmt *st = wrap_if(s, condition, span, s->block);
    st->branch.then = a->code;
    st->branch.otherwise = b->code;
    return value_ir(expr_var(s->exprs, result));
}

struct value part_logic(struct sema *s, enum ast_operator op, struct expr *first, struct part *b,
                        struct span span) {
    struct expr *second = value_condition(s, b->value, b->span);
    if (!second) return value_bad();
    if (part_is_harmless(b)) {
        part_join(s, b);
        return value_binary(s, op, value_ir(first), value_ir(second), span);
    }
    bool differs = is_divergent(s, first) || is_divergent(s, second);
    struct var *result = result_new(s, DTYPE_BOOL, differs, span);
    struct expr *test = expr_var(s->exprs, result);
    set_result(s, s->block, result, first, span);
    set_result(s, &b->code, result, second, span);
    wrap_if(s, op == AST_AND ? test : expr_unary(s->exprs, FN_LNOT, test), span, s->block)
        ->branch.then = b->code;
    return value_ir(test);
}

/* The while loop of a condition that takes statements: they stand at the start of each round. */
struct block *part_rounds(struct sema *s, struct part *test, struct expr *condition) {
    struct var *go = result_new(s, DTYPE_BOOL, is_divergent(s, condition), test->span);
    set_result(s, s->block, go, expr_bool(s->exprs, true), test->span);
    struct stmt *loop = append(s, STMT_WHILE, test->span);
    loop->repeat.test = expr_var(s->exprs, go);
    loop->repeat.body = test->code;
    set_result(s, &loop->repeat.body, go, condition, test->span);
    return &wrap_if(s, loop->repeat.test, test->span, &loop->repeat.body)->branch.then;
}
