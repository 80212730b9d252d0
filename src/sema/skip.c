/* skip.c: statements that are not executed after a mistake: the names they would bind are poisoned,
 * so that one mistake is reported once and the code after it is still looked at. */
#include "sema/state.h"

static void poison_target(struct sema *s, struct env *e, const struct ast_expr *t) {
    if (!t) return;
    if (t->kind == AST_NAME) {
        struct binding *old = env_in_function(e, t->name);
        bool variable = old && (old->value.kind == VALUE_VAR || old->value.kind == VALUE_REF);
        if (!variable) env_bind(s, e, t->name, value_bad(), t->span);
    }
    if (t->kind == AST_TUPLE || t->kind == AST_LIST || t->kind == AST_STARRED)
        for (const struct ast_expr *i = t->items; i; i = i->next) poison_target(s, e, i);
}

static bool skip_one(struct sema *s, struct env *e, const struct ast_stmt *st) {
    switch (st->kind) {
    case AST_RETURN: return false;
    case AST_ASSIGN:
        for (const struct ast_expr *t = st->assign.targets; t; t = t->next) poison_target(s, e, t);
        return true;
    case AST_AUGMENTED: poison_target(s, e, st->augmented.target); return true;
    case AST_ANNOTATED: poison_target(s, e, st->annotated.target); return true;
    case AST_DEF: env_bind(s, e, st->def->name, value_bad(), st->def->name_span); return true;
    case AST_IF:
        return skip_statements(s, e, st->branch.then) & skip_statements(s, e, st->branch.otherwise);
    case AST_FOR: poison_target(s, e, st->loop.target); return skip_statements(s, e, st->loop.body);
    case AST_WHILE: return skip_statements(s, e, st->repeat.body);
    case AST_WITH:
        for (const struct ast_with *w = st->with.items; w; w = w->next)
            poison_target(s, e, w->target);
        return skip_statements(s, e, st->with.body);
    default: return true;
    }
}

bool skip_statements(struct sema *s, struct env *e, const struct ast_stmt *first) {
    bool falls_through = true;
    for (const struct ast_stmt *st = first; st && sema_charge(s, 1); st = st->next)
        falls_through = skip_one(s, e, st) && falls_through;
    return falls_through;
}

/* A statement that failed: what follows can still be looked at unless a return was skipped. */
enum flow skip_failed(struct sema *s, struct env *e, const struct ast_stmt *st) {
    return skip_one(s, e, st) && !s->stopped ? FLOW_NEXT : FLOW_STOP;
}
