/* decorators.c: def statements: plain functions, factories, macros, prim_funcs and eager kernels.
 */
#include "sema/state.h"
#include <strings.h>

/* -- What a body holds
 * ------------------------------------------------------------------------------- */

static const char *last_name(const struct ast_expr *x) {
    if (x->kind == AST_CALL) x = x->call.callee;
    if (x->kind == AST_INDEX) x = x->index.base;
    return x->kind == AST_ATTRIBUTE ? x->attribute.name->text
           : x->kind == AST_NAME    ? x->name->text
                                    : "";
}

static bool decorated(const struct ast_def *d, const char *name) {
    for (const struct ast_expr *x = d->decorators; x; x = x->next)
        if (!strcmp(last_name(x), name)) return true;
    return false;
}

/* Is there a statement, outside nested functions, that the question says yes to? */
static bool any_stmt(const struct ast_stmt *st, bool (*question)(const struct ast_stmt *st)) {
    for (; st; st = st->next) {
        if (question(st)) return true;
        bool inside = false;
        if (st->kind == AST_IF)
            inside =
                any_stmt(st->branch.then, question) || any_stmt(st->branch.otherwise, question);
        else if (st->kind == AST_FOR)
            inside = any_stmt(st->loop.body, question);
        else if (st->kind == AST_WHILE)
            inside = any_stmt(st->repeat.body, question);
        else if (st->kind == AST_WITH)
            inside = any_stmt(st->with.body, question);
        if (inside) return true;
    }
    return false;
}

static bool defines_prim_func(const struct ast_stmt *st) {
    return st->kind == AST_DEF && decorated(st->def, "prim_func");
}

static bool is_kernel_text(const struct ast_stmt *st) {
    return st->kind == AST_WITH || (st->kind == AST_ANNOTATED && !st->annotated.value);
}

bool body_has_prim_func(const struct ast_stmt *body) { return any_stmt(body, defines_prim_func); }

bool is_runtime_annotation(const struct ast_expr *x) {
    static const char *const tensors[] = {"Tensor", "StridedTensor", "Buffer", "ptr"};
    if (!x || (x->kind != AST_CALL && x->kind != AST_INDEX && x->kind != AST_ATTRIBUTE))
        return false;
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        if (!strcmp(last_name(x), tensors[i])) return true;
    return x->kind == AST_ATTRIBUTE && dtype_find(x->attribute.name->text) != DTYPE_NONE;
}

static bool is_eager_text(const struct ast_def *d) {
    for (const struct ast_parameter *p = d->parameters; p; p = p->next)
        if (is_runtime_annotation(p->annotation)) return true;
    return any_stmt(d->body, is_kernel_text);
}

/* -- @tilelang.jit(…)
 * ---------------------------------------------------------------------------------- */

static void take_out_idx(struct sema *s, struct unit_options *o, struct value v, struct span span) {
    int count = is_sequence(v) ? v.sequence->items.count : 1;
    if (v.kind == VALUE_NONE) return;
    o->has_out_idx = true;
    o->out_span = span;
    for (int i = 0; i < count; i++) {
        int64_t at;
        if (want_int(s, is_sequence(v) ? v.sequence->items.at[i] : v, span, "out_idx", &at))
            vec_push(s->arena, &o->out_idx, at);
    }
}

/* Pass configs that change meaning and are not compiled yet; the others are hints or about
 * TileLang. */
static bool config_is(const char *key, const char *name) {
    const char *dot = strrchr(key, '.');
    key = dot ? dot + 1 : key;
    if (!strncmp(key, "TL_", 3) || !strncmp(key, "tl_", 3)) key += 3;
    return !strcasecmp(key, name);
}

static void take_config(struct sema *s, struct unit_options *o, const char *key, struct value v,
                        struct span span) {
    static const char *const semantic[] = {"DISABLE_SAFE_MEMORY_ACCESS",
                                           "DISABLE_SAFE_MEMORY_LEGALIZE",
                                           "DISABLE_THREAD_STORAGE_SYNC"};
    bool on = false;
    for (size_t i = 0; i < sizeof semantic / sizeof *semantic; i++)
        if (config_is(key, semantic[i]) && value_truth(s, v, span, &on) && on)
            sema_error(s, span, E0401, "the pass config '%s' is not supported yet", key);
    if (config_is(key, "ENABLE_FAST_MATH") && value_truth(s, v, span, &on)) o->fast_math = on;
    bool known = !strncmp(key, "TL_", 3) || !strncmp(key, "TIR_", 4) || !strncmp(key, "CUDA_", 5) ||
                 !strncmp(key, "tl.", 3) || !strncmp(key, "tir.", 4) || !strncmp(key, "cuda.", 5);
    if (!known)
        sema_error(s, span, E0206,
                   "'%s' is no pass config; their names begin with 'tl.' or stand in "
                   "tilelang.PassConfigKey",
                   key);
}

void apply_pass_configs(struct sema *s, struct unit_options *o, struct value v, struct span span) {
    if (v.kind == VALUE_NONE) return;
    if (v.kind != VALUE_DICT) {
        sema_error(s, span, E0210, "'pass_configs' has to be a dict, not %s", value_a_kind(v));
        return;
    }
    for (int i = 0; i < v.dict->keys.count; i++) {
        const char *key = want_string(s, v.dict->keys.at[i], span, "pass_configs");
        if (key) take_config(s, o, key, v.dict->values.at[i], span);
    }
}

static void take_jit(struct sema *s, struct env *e, const struct ast_expr *x,
                     struct unit_options *o) {
    static const char *const accepted[] = {"out_idx",           "pass_configs",   "target",
                                           "target_host",       "compile_flags",  "verbose",
                                           "execution_backend", "debug_root_path"};
    enum { ACCEPTED = sizeof accepted / sizeof *accepted };
    struct arguments a = {.span = x->span};
    o->jit = true;
    if (x->kind != AST_CALL || !eval_arguments(s, e, x->call.arguments, &a)) return;
    for (int i = 0; i < a.list.count; i++) {
        const struct argument *arg = &a.list.at[i];
        const char *name = arg->keyword ? arg->keyword->text : "";
        int known = 0;
        while (known < ACCEPTED && strcmp(accepted[known], name) != 0) known++;
        const char *near = nearest_word(name, ACCEPTED, accepted);
        if (!arg->keyword)
            sema_error(s, arg->span, E0206, "'tilelang.jit' takes its options by keyword");
        else if (known == ACCEPTED)
            sema_error(s, arg->span, E0206, "'tilelang.jit' has no option '%s'%s%s%s", name,
                       near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
        else if (known == 0)
            take_out_idx(s, o, arg->value, arg->span);
        else if (known == 1)
            apply_pass_configs(s, o, arg->value, arg->span);
    }
}

/* -- The statement
 * ------------------------------------------------------------------------------------------ */

static struct value apply_user_decorator(struct sema *s, struct env *e, const struct ast_expr *x,
                                         struct value f) {
    struct value decorator = eval_expr(s, e, x);
    if (decorator.kind == VALUE_BAD) return decorator;
    if (decorator.kind != VALUE_FUNCTION)
        return sema_bad(s, x->span, E0207,
                        "this is no decorator; known are T.prim_func, T.macro, tilelang.jit and "
                        "tilelang.autotune");
    struct arguments a = {.span = x->span};
    vec_push(s->arena, &a.list, (struct argument){.value = f, .span = x->span});
    return call_value(s, decorator, &a, x->span);
}

static struct value decorate(struct sema *s, struct env *e, const struct ast_expr *x,
                             struct value f) {
    if (!x || f.kind == VALUE_BAD) return f;
    f = decorate(s, e, x->next, f); /* the lowest first */
    const char *name = last_name(x);
    struct closure *c = f.closure;
    if (f.kind == VALUE_BAD || !strcmp(name, "autotune")) /* only supplies values; here -D does */
        return f;
    if (!strcmp(name, "prim_func")) {
        f.kind = VALUE_PRIM_FUNC;
        c->around = env_body(e)->kind == ENV_MODULE ? NULL : e;
        c->at = c->around ? env_remember(s, e) : 0;
        c->env = env_snapshot(s, e); /* what is bound later is not seen, as in TileLang */
        c->factory = s->frame ? s->frame->closure : NULL;
        return f;
    }
    if (!strcmp(name, "macro") || !strcmp(name, "inline")) {
        f.kind = VALUE_MACRO;
        return f;
    }
    if (strcmp(name, "jit") != 0 && strcmp(name, "lazy_jit") != 0)
        return apply_user_decorator(s, e, x, f);
    c->options = arena_make(s->arena, struct unit_options);
    take_jit(s, e, x, c->options);
    if (f.kind == VALUE_FUNCTION && !body_has_prim_func(c->body) && is_eager_text(c->def))
        f.kind = VALUE_EAGER;
    return f;
}

void exec_def(struct sema *s, struct env *e, const struct ast_stmt *st) {
    struct ast_def *d = st->def;
    struct closure *c = closure_new(s, e, d->parameters, d->name_span);
    c->name = d->name;
    c->body = d->body;
    c->def = d;
    struct value f =
        decorate(s, e, d->decorators, (struct value){.kind = VALUE_FUNCTION, .closure = c});
    env_bind(s, e, d->name, f, d->name_span);
    bool own = f.kind == VALUE_FUNCTION || f.kind == VALUE_EAGER || f.kind == VALUE_PRIM_FUNC;
    if (!evaluator_of(s)->module_level || !own || !is_unit(f.closure, f.kind)) return;
    if (f.kind == VALUE_PRIM_FUNC && evaluator_of(s)->units.loop_values.count)
        sema_error(s, d->name_span, E0213,
                   "the kernel '%s' is defined in a loop; define a factory and call it in the loop",
                   d->name->text);
    else
        register_unit(s, f.closure, f.kind);
}

bool is_unit(const struct closure *c, enum value_kind kind) {
    if (!c->def || env_body(c->env)->kind != ENV_MODULE) return false;
    return kind == VALUE_EAGER || kind == VALUE_PRIM_FUNC ||
           (kind == VALUE_FUNCTION && (c->options || body_has_prim_func(c->body)));
}
