/* exec.c: statements. Conditions and loops that are known at compile time just run; the others are
 * handed to the builder, which calls back for their bodies. */
#include "sema/state.h"

/* -- Where are we?
 * ---------------------------------------------------------------------------------- */

/* The innermost loop around within the function; *crossed: a device branch lies between. NULL:
 * none. */
static const struct env *loop_around(struct env *e, bool *crossed) {
    *crossed = false;
    for (const struct env *body = env_body(e); e != body; e = e->parent) {
        if (e->kind == ENV_LOOP || e->kind == ENV_UNROLLED) return e;
        *crossed = *crossed || e->kind == ENV_BRANCH;
    }
    return NULL;
}

static const char *device_region(struct env *e) {
    for (const struct env *body = env_body(e); e != body; e = e->parent) {
        if (e->kind == ENV_LOOP) return "a loop that runs on the device";
        if (e->kind == ENV_BRANCH) return "a branch that the device decides";
        if (e->kind == ENV_WITH) return "the body of T.Kernel";
    }
    return NULL;
}

/* -- if, while, for
 * ------------------------------------------------------------------------------------- */

static enum flow exec_if(struct sema *s, struct env *e, const struct ast_stmt *st) {
    struct value test = eval_expr(s, e, st->branch.test);
    bool truth;
    if (test.kind == VALUE_BAD) return skip_failed(s, e, st);
    if (!value_is_scalar_ir(test)) {
        if (!value_truth(s, test, st->branch.test->span, &truth)) return skip_failed(s, e, st);
        return exec_block(s, e, truth ? st->branch.then : st->branch.otherwise);
    }
    if (s->block) {
        form_if(s, e, st, test);
        return FLOW_NEXT;
    }
    sema_error(s, st->span, E0217,
               "this condition is known on the device only, and stands outside T.Kernel");
    return skip_failed(s, e, st);
}

static enum flow after_iteration(enum flow f) { return f == FLOW_CONTINUE ? FLOW_NEXT : f; }

static enum flow exec_while(struct sema *s, struct env *e, const struct ast_stmt *st) {
    struct env *inner = env_new(s, ENV_UNROLLED, e, st->span);
    for (int64_t round = 0; !s->stopped; round++) {
        int64_t before = ++evaluator_of(s)->clock;
        struct part part = part_of(s, e, st->repeat.test, NULL);
        struct value test = part.value;
        bool truth;
        if (value_is_scalar_ir(test) && s->block && round == 0) {
            evaluator_of(s)->since =
                before; /* the body comes before the next reading of the test */
            form_while(s, e, st, &part);
            evaluator_of(s)->since = 0;
            return FLOW_NEXT;
        }
        part_join(s, &part);
        if (test.kind == VALUE_BAD) return skip_failed(s, e, st);
        if (value_is_scalar_ir(test)) {
            sema_error(
                s, st->span, E0217,
                "this loop cannot run at compile time: its condition is known on the device only");
            return skip_failed(s, e, st);
        }
        if (!value_truth(s, test, st->repeat.test->span, &truth)) return skip_failed(s, e, st);
        if (!truth) return FLOW_NEXT;
        if (s->block && s->frame && s->frame->device && round == 0) {
            sema_error(
                s, st->span, E0217,
                "the condition of this loop is always true, so it never ends on the device; a "
                "T.alloc_var in it can change there");
            return skip_failed(s, e, st);
        }
        enum flow f = after_iteration(exec_block(s, inner, st->repeat.body));
        if (f != FLOW_NEXT) return f == FLOW_BREAK ? FLOW_NEXT : f;
    }
    return FLOW_STOP;
}

static enum flow run_items(struct sema *s, struct env *e, const struct ast_stmt *st,
                           struct value source) {
    struct evaluator *v = evaluator_of(s);
    struct sequence *items;
    source = value_snapshot(s, source, st->loop.source->span);
    if (!iterate(s, source, st->loop.source->span, &items)) return skip_failed(s, e, st);
    struct env *inner = env_new(s, ENV_UNROLLED, e, st->span);
    bool module_level = v->module_level;
    for (int i = 0; i < items->items.count && sema_charge(s, 1); i++) {
        assign_target(s, inner, st->loop.target, items->items.at[i]);
        if (module_level) vec_push(s->arena, &v->units.loop_values, items->items.at[i]);
        enum flow f = after_iteration(exec_block(s, inner, st->loop.body));
        if (module_level) v->units.loop_values.count--;
        if (f != FLOW_NEXT) return f == FLOW_BREAK ? FLOW_NEXT : f;
    }
    if (st->loop.otherwise && !s->stopped) return exec_block(s, e, st->loop.otherwise);
    return s->stopped ? FLOW_STOP : FLOW_NEXT;
}

static enum flow exec_for(struct sema *s, struct env *e, const struct ast_stmt *st) {
    struct value source = eval_expr(s, e, st->loop.source);
    if (source.kind == VALUE_BAD) return skip_failed(s, e, st);
    bool device_range = s->block && s->frame && s->frame->device;
    if (source.kind != VALUE_ITERATOR || (source.iterator->host && !device_range))
        return run_items(s, e, st, source);
    if (!s->block) {
        sema_error(s, st->span, E0217, "a loop that runs on the device stands outside T.Kernel");
        return skip_failed(s, e, st);
    }
    if (st->loop.otherwise)
        sema_error(s, st->span, E0217, "a loop that runs on the device has no 'else'");
    form_for(s, e, st, source);
    return FLOW_NEXT;
}

static enum flow exec_break(struct sema *s, struct env *e, const struct ast_stmt *st) {
    bool crossed, next = st->kind == AST_CONTINUE;
    const struct env *loop = loop_around(e, &crossed);
    if (!loop) {
        sema_error(s, st->span, E0217, "'%s' outside a loop", next ? "continue" : "break");
        return FLOW_NEXT;
    }
    if (loop->kind == ENV_LOOP) {
        form_break(s, next, st->span);
        return FLOW_STOP; /* what follows in this block is never reached */
    }
    if (crossed) {
        sema_error(
            s, st->span, E0217,
            "'%s' of a loop that runs at compile time, under a condition that the device decides",
            next ? "continue" : "break");
        return FLOW_NEXT;
    }
    return next ? FLOW_CONTINUE : FLOW_BREAK;
}

/* -- assert, raise, return, expressions
 * --------------------------------------------------------------------- */

static const char *message_of(struct sema *s, struct env *e, const struct ast_expr *x) {
    struct value v = x ? eval_expr(s, e, x) : value_none();
    return x && v.kind != VALUE_BAD ? value_str(s, v) : NULL;
}

static const char *source_text(struct sema *s, struct span span) {
    return arena_strndup(s->arena, s->module->source->text + span.begin, span.end - span.begin);
}

/* What of x only a device computes, for messages; NULL: nothing. */
static const char *device_only(struct sema *s, const struct expr *x) {
    bool narrow = dtype_is_float(x->dtype) && x->dtype != DTYPE_F32 && x->dtype != DTYPE_F64;
    bool bits = x->kind == EXPR_OP && (x->fn == FN_POPCOUNT || x->fn == FN_CLZ);
    bool to_integer =
        x->kind == EXPR_CAST && dtype_is_integer(x->dtype) && dtype_is_float(x->args[0]->dtype);
    if (expr_has_load(x)) return "reads a tensor";
    if (narrow) return arena_printf(s->arena, "computes with '%s'", dtype_spelling(x->dtype));
    if (bits) return arena_printf(s->arena, "uses T.%s", function_row(x->fn)->name);
    if (to_integer) return "makes an integer of a float";
    for (int i = 0; i < x->count; i++) {
        const char *found = device_only(s, x->args[i]);
        if (found) return found;
    }
    return NULL;
}

/* An assert outside every launch: the launcher checks it. */
static void assert_on_host(struct sema *s, struct expr *test, const char *message,
                           const struct ast_stmt *st) {
    const char *found = device_only(s, test);
    if (found)
        sema_error(s, st->assertion.test->span, E0217,
                   "this condition %s, which the host cannot; assert it inside T.Kernel", found);
    else if (s->function)
        vec_push(s->arena, &s->function->checks,
                 (struct host_check){.test = test, .message = message, .span = st->span});
    else
        sema_error(s, st->span, E0217,
                   "this condition is known at the call of a kernel only, and no kernel is being "
                   "built here");
}

static enum flow exec_assert(struct sema *s, struct env *e, const struct ast_stmt *st) {
    struct value test = eval_expr(s, e, st->assertion.test);
    struct span span = st->assertion.test->span;
    bool truth;
    if (test.kind == VALUE_BAD) return FLOW_NEXT;
    if (!value_is_scalar_ir(test)) {
        if (!value_truth(s, test, span, &truth)) return FLOW_NEXT;
        if (truth) return FLOW_NEXT;
        const char *message = message_of(s, e, st->assertion.message);
        sema_error(s, st->span, E0209, "assertion failed: %s",
                   message ? message : source_text(s, span));
        return FLOW_STOP;
    }
    const char *message = message_of(s, e, st->assertion.message);
    message = message ? message : source_text(s, span);
    if (s->block) {
        form_assert(s, test, message, st->span);
        return FLOW_NEXT;
    }
    struct expr *condition = value_condition(s, test, span);
    if (condition) assert_on_host(s, condition, message, st);
    return FLOW_NEXT;
}

static enum flow exec_raise(struct sema *s, struct env *e, const struct ast_stmt *st) {
    const struct ast_expr *x = st->value;
    const char *message = NULL;
    if (x && x->kind == AST_CALL && x->call.arguments)
        message = message_of(s, e, x->call.arguments->value);
    bool decided_by_device = false;
    for (const struct env *body = env_body(e), *up = e; up != body; up = up->parent)
        decided_by_device = decided_by_device || up->kind == ENV_BRANCH;
    if (decided_by_device)
        sema_error(s, st->span, E0217,
                   "'raise' in a branch that the device decides; write T.device_assert(False, …)");
    else
        sema_error(s, st->span, E0209, "raised: %s",
                   message ? message
                   : x     ? source_text(s, x->span)
                           : "an error");
    return FLOW_STOP;
}

static enum flow exec_return(struct sema *s, struct env *e, const struct ast_stmt *st) {
    const char *region = device_region(e);
    if (!s->frame) {
        sema_error(s, st->span, E0217, "'return' outside a function");
        return FLOW_STOP;
    }
    if (region) {
        sema_error(s, st->span, E0217,
                   "'return' in %s; a function that is called at compile time returns at its end, "
                   "so write the choice as 'a if c else b'",
                   region);
        return FLOW_STOP;
    }
    s->frame->result = st->value ? eval_expr(s, e, st->value) : value_none();
    if (s->build && s->frame->closure == s->build->closure && st->value) {
        s->build->has_return = true;
        s->build->return_span = st->span;
    }
    return s->stopped ? FLOW_STOP : FLOW_RETURN;
}

static void exec_value(struct sema *s, struct env *e, const struct ast_stmt *st) {
    struct value v = eval_expr(s, e, st->value);
    if (v.kind == VALUE_INSTANCE && evaluator_of(s)->module_level)
        sema_error(s, st->span, E0213,
                   "this instance has no name; assign it to export it: 'name = %s(…)'",
                   v.instance->unit->name->text);
    bool variable = v.kind == VALUE_VAR && !v.mutable->bound;
    if (variable || (v.kind == VALUE_LAUNCH && s->block == NULL))
        sema_error(s, st->span, E0217,
                   variable ? "this variable has no name; assign it"
                            : "T.Kernel(…) belongs into 'with T.Kernel(…) as …:'");
}

/* T, tilelang and math are there anyway; an import may give them, or what they hold, other names.
 */
static void exec_import(struct sema *s, struct env *e, const struct ast_stmt *st) {
    const char *module = st->import.module->text;
    struct sym *as = st->import.as ? st->import.as : st->import.module;
    struct value v = module_imported(s, module);
    if (v.kind != VALUE_ABSENT && !strchr(as->text, '.')) env_bind(s, e, as, v, st->span);
}

static enum flow exec_with(struct sema *s, struct env *e, const struct ast_stmt *st) {
    if (s->function)
        form_with(s, e, st);
    else
        sema_error(s, st->span, E0217, "'with' outside a kernel function");
    return FLOW_NEXT;
}

/* -- All kinds
 * ---------------------------------------------------------------------------------------------------
 */

static enum flow exec_stmt(struct sema *s, struct env *e, const struct ast_stmt *st) {
    switch (st->kind) {
    case AST_EXPR_STMT: exec_value(s, e, st); return FLOW_NEXT;
    case AST_ASSIGN: exec_assign(s, e, st); return FLOW_NEXT;
    case AST_AUGMENTED: exec_augmented(s, e, st); return FLOW_NEXT;
    case AST_ANNOTATED:
        if (!st->annotated.value) {
            declare_in_body(s, e, st);
            return FLOW_NEXT;
        }
        assign_typed(s, e, st);
        return FLOW_NEXT;
    case AST_IF: return exec_if(s, e, st);
    case AST_FOR: return exec_for(s, e, st);
    case AST_WHILE: return exec_while(s, e, st);
    case AST_WITH: return exec_with(s, e, st);
    case AST_DEF: exec_def(s, e, st); return FLOW_NEXT;
    case AST_RETURN: return exec_return(s, e, st);
    case AST_ASSERT: return exec_assert(s, e, st);
    case AST_RAISE: return exec_raise(s, e, st);
    case AST_PASS: return FLOW_NEXT;
    case AST_BREAK:
    case AST_CONTINUE: return exec_break(s, e, st);
    case AST_IMPORT: exec_import(s, e, st); return FLOW_NEXT;
    }
    return FLOW_NEXT;
}

/* In a device region a failed statement does not end the block: the next ones may hold other
 * mistakes. */
enum flow exec_block(struct sema *s, struct env *e, const struct ast_stmt *first) {
    enum flow flow = FLOW_NEXT;
    if (first && !sema_enter(s, first->span)) return FLOW_STOP;
    for (const struct ast_stmt *st = first; st && flow == FLOW_NEXT; st = st->next) {
        if (!sema_charge(s, 1)) {
            flow = FLOW_STOP;
            break;
        }
        flow = exec_stmt(s, e, st);
    }
    if (first) sema_leave(s);
    return s->stopped ? FLOW_STOP : flow;
}
