/* units.c: instances: the values of a unit's parameters, its run, and the function_ir it becomes.
 */
#include "sema/state.h"

/* -- Parameters of a unit
 * ---------------------------------------------------------------------------- */

/* A parameter is bound at compile time unless it is part of the kernel's own signature. */
static bool declared_in(const struct ast_stmt *st, const struct sym *name) {
    for (; st; st = st->next) {
        if (st->kind == AST_ANNOTATED && !st->annotated.value &&
            st->annotated.target->kind == AST_NAME && st->annotated.target->name == name &&
            is_runtime_annotation(st->annotated.annotation))
            return true;
        if (st->kind == AST_IF &&
            (declared_in(st->branch.then, name) || declared_in(st->branch.otherwise, name)))
            return true;
    }
    return false;
}

static bool is_runtime(const struct closure *c, enum value_kind kind,
                       const struct ast_parameter *p) {
    return kind == VALUE_PRIM_FUNC ||
           (kind == VALUE_EAGER &&
            (is_runtime_annotation(p->annotation) || declared_in(c->body, p->name)));
}

/* The names of T.const("M, N") in the assignments of a body. */
static void const_names(struct sema *s, const struct ast_stmt *st, struct sym **out, int room,
                        int *count) {
    for (; st; st = st->next) {
        if (st->kind == AST_IF) {
            const_names(s, st->branch.then, out, room, count);
            const_names(s, st->branch.otherwise, out, room, count);
        }
        const struct ast_expr *x = st->kind == AST_ASSIGN ? st->assign.value : NULL;
        if (!x || x->kind != AST_CALL || x->call.callee->kind != AST_ATTRIBUTE ||
            strcmp(x->call.callee->attribute.name->text, "const") != 0 || !x->call.arguments ||
            x->call.arguments->value->kind != AST_STRING)
            continue;
        for (const char *at = x->call.arguments->value->string->text;
             *(at += strspn(at, " ,\t"));) {
            size_t n = strcspn(at, " ,\t");
            if (*count < room) out[(*count)++] = intern(s->names, at, n);
            at += n;
        }
    }
}

enum { CONSTANTS = 64 };

static const struct argument *argument_named(const struct arguments *a, const struct sym *name) {
    for (int i = 0; i < a->list.count; i++)
        if (a->list.at[i].keyword == name) return &a->list.at[i];
    return NULL;
}

/* The text wins, then -D; the default is filled in later. ABSENT: neither. */
static struct value given_value(struct sema *s, const struct instance *in, struct sym *name,
                                int position) {
    const struct argument *a = argument_named(&in->arguments, name);
    struct value v = {.kind = VALUE_ABSENT};
    struct definition *d = definition_always(s, in->unit, name);
    if (d) return definition_value(s, d);
    if (a) return a->value;
    for (int i = 0; i < in->arguments.list.count; i++)
        if (!in->arguments.list.at[i].keyword && position-- == 0)
            return in->arguments.list.at[i].value;
    d = definition_find(s, in->unit, name);
    return d ? definition_value(s, d) : v;
}

void missing_parameters(struct sema *s, struct instance *in, struct sym **out, int *count) {
    int i = 0, position = 0;
    for (const struct ast_parameter *p = in->unit->parameters; p; p = p->next, i++) {
        if (p->stars || is_runtime(in->unit, in->kind, p)) continue;
        bool absent = given_value(s, in, p->name, position++).kind == VALUE_ABSENT;
        if (absent && in->unit->presets.at[i].kind == VALUE_ABSENT && *count < CONSTANTS)
            out[(*count)++] = p->name;
    }
    struct sym *names[CONSTANTS];
    int constants = 0;
    if (in->kind == VALUE_EAGER) const_names(s, in->unit->body, names, CONSTANTS, &constants);
    for (int k = 0; k < constants; k++)
        if (given_value(s, in, names[k], INT32_MAX).kind == VALUE_ABSENT && *count < CONSTANTS)
            out[(*count)++] = names[k];
}

/* -- Binding
 * ---------------------------------------------------------------------------------------------- */

/* Which argument of the text a parameter gets; -1: none. */
static int argument_at(const struct arguments *a, const struct sym *name, int position) {
    for (int i = 0; i < a->list.count; i++)
        if (a->list.at[i].keyword ? a->list.at[i].keyword == name : position-- == 0) return i;
    return -1;
}

/* Arguments of the text and of -D together. */
static struct arguments all_arguments(struct sema *s, struct instance *in) {
    struct arguments all = {.span = in->call.end ? in->call : in->unit->span};
    int position = 0;
    for (int i = 0; i < in->arguments.list.count; i++)
        vec_push(s->arena, &all.list, in->arguments.list.at[i]);
    for (const struct ast_parameter *p = in->unit->parameters; p; p = p->next) {
        if (p->stars || is_runtime(in->unit, in->kind, p)) continue;
        int at = argument_at(&in->arguments, p->name, position++);
        struct definition *d = at >= 0 ? definition_always(s, in->unit, p->name)
                                       : definition_find(s, in->unit, p->name);
        if (d && at >= 0)
            all.list.at[at].value = definition_value(s, d);
        else if (d)
            vec_push(s->arena, &all.list,
                     (struct argument){
                         .keyword = p->name, .value = definition_value(s, d), .span = all.span});
    }
    return all;
}

/* "make_matmul(M=2048, …)"; an eager kernel's T.const values come first. */
static const char *describe(struct sema *s, const struct closure *c, struct env *env,
                            const struct build *build) {
    struct text t = text_new(s->arena);
    int count = 0;
    text_printf(&t, "%s(", c->name->text);
    for (int i = 0; build && i < build->constants.count; i++)
        text_printf(&t, "%s%s=%s", count++ ? ", " : "", build->constants.at[i].name->text,
                    value_text(s, build->constants.at[i].value));
    for (const struct ast_parameter *p = c->parameters; p; p = p->next) {
        struct value v;
        if (env_lookup(env, p->name, &v) && value_is_static(v))
            text_printf(&t, "%s%s=%s", count++ ? ", " : "", p->name->text, value_text(s, v));
    }
    text_puts(&t, ")");
    return t.at;
}

/* -- A function
 * ---------------------------------------------------------------------------------------------- */

struct job {                /* what is being built */
    struct closure *kernel; /* prim_func or eager kernel */
    struct instance *instance;
    struct export *export;
    const char *doc;
};

static struct sym *function_name(struct sema *s, const struct job *j) {
    const char *name = j->kernel->name->text;
    struct sym *wanted = j->export->name;
    if (!wanted && !strcmp(name, "main") && j->instance->unit != j->kernel) {
        name = j->instance->unit->name->text;
        name += strncmp(name, "make_", 5) || !name[5] ? 0 : 5;
    }
    struct span span = j->export->named ? j->export->span : j->kernel->span;
    return unit_c_name(s, wanted ? wanted : intern_text(s->names, name), span);
}

static bool kernel_selected(struct sema *s, struct sym *c_name) {
    const struct sema_options *o = s->options;
    for (int i = 0; i < o->kernel_count; i++)
        if (o->kernels[i] == c_name) return true;
    return o->kernel_count == 0;
}

static struct function_ir *function_begin(struct sema *s, const struct job *j,
                                          struct build *build) {
    struct sym *name = function_name(s, j);
    if (!name || !kernel_selected(s, name)) return NULL;
    struct function_ir *f = arena_make(s->arena, struct function_ir);
    f->name = name;
    f->unit = j->instance->unit->name;
    f->span = j->kernel->span;
    f->doc = j->doc;
    build->closure = j->kernel;
    const struct unit_options *o =
        j->instance->unit->options ? j->instance->unit->options : j->kernel->options;
    if (o) build->options = *o;
    f->fast_math = s->options->fast_math || build->options.fast_math;
    s->function = f;
    s->build = build;
    s->kernel = NULL;
    s->block = NULL;
    s->map = NULL;
    return f;
}

static void name_launches(struct sema *s, struct function_ir *f) {
    for (int i = 0; i < f->kernels.count; i++) {
        struct kernel *k = f->kernels.at[i];
        const char *number = f->kernels.count > 1 ? arena_printf(s->arena, "_%d", i) : "";
        k->name =
            intern_text(s->names, arena_printf(s->arena, "%s_kernel%s", f->name->text, number));
        k->function = f;
    }
}

static void function_end(struct sema *s, struct function_ir *f, const struct job *j, int errors) {
    finish_signature(s, j->kernel->span);
    if (!f->kernels.count && diag_errors(s->diag) == errors)
        sema_error(s, j->kernel->span, E0213,
                   "'%s' launches nothing; a kernel holds 'with T.Kernel(…) as …:'",
                   j->kernel->name->text);
    if (diag_errors(s->diag) == errors) check_escapes(s, f);
    builder_end(s);
    name_launches(s, f);
    s->function = NULL;
    s->build = NULL;
    vec_push(s->arena, &s->module->functions, f);
}

/* Scalars first, so that shapes may name them; `declared` is put into order at the end. */
static void declare_signature(struct sema *s, struct closure *c, struct env *env,
                              bool runtime_only) {
    for (int tensors = 0; tensors < 2; tensors++)
        for (const struct ast_parameter *p = c->parameters; p; p = p->next) {
            const struct ast_expr *a = p->annotation;
            bool tensor =
                a && a->kind != AST_NAME && a->kind != AST_STRING &&
                !(a->kind == AST_ATTRIBUTE && strcmp(a->attribute.name->text, "ptr") != 0);
            if ((runtime_only && !is_runtime_annotation(a)) || tensor != (tensors == 1)) continue;
            if (!a)
                sema_error(s, p->span, E0214,
                           "the parameter '%s' of a prim_func needs a type: T.Tensor(shape, dtype) "
                           "or a dtype",
                           p->name->text);
            declare_parameter(s, env, p, a ? eval_expr(s, env, a) : value_bad());
        }
}

/* The kernel and the macros beside it see their factory as it was at the kernel's definition. */
static void kernel_moment(struct sema *s, struct closure *kernel, int64_t moment) {
    int64_t module = s->globals->as_of;
    if (!kernel->around) return;
    env_return_to(kernel->env, moment);
    env_return_to(kernel->around, moment);
    s->globals->as_of = module;
}

static void build_prim_func(struct sema *s, const struct job *j) {
    struct build build = {0};
    struct closure *c = j->kernel;
    int errors = diag_errors(s->diag);
    struct frame outer = {.up = s->frame, .closure = j->instance->unit, .call = j->instance->call};
    struct function_ir *f = function_begin(s, j, &build);
    if (!f) return;
    s->frame = &outer;
    s->depth++;
    struct env *env = env_new(s, ENV_KERNEL, c->env, c->span);
    kernel_moment(s, c, c->at);
    declare_signature(s, c, env, false);
    builder_begin(s);
    run_body(s, c, env, true, (struct span){0, 0});
    kernel_moment(s, c, 0);
    if (build.has_return)
        sema_error(s, build.return_span, E0214,
                   "a prim_func returns nothing; what it computes it writes to its tensors");
    function_end(s, f, j, errors);
    s->depth--;
    s->frame = outer.up;
}

/* -- Eager kernels
 * ------------------------------------------------------------------------------------------------
 */

/* Compile-time parameters get their names; T.const values are kept for the body. */
static bool bind_eager(struct sema *s, struct instance *in, struct build *build, struct env *env) {
    struct closure *c = in->unit;
    struct sym *names[CONSTANTS];
    int count = 0, i = 0;
    const_names(s, c->body, names, CONSTANTS, &count);
    for (const struct argument *a = in->arguments.list.at;
         a < in->arguments.list.at + in->arguments.list.count; a++) {
        bool known = false;
        for (const struct ast_parameter *p = c->parameters; p; p = p->next)
            known = known || (p->name == a->keyword && !is_runtime(c, VALUE_EAGER, p));
        for (int k = 0; k < count; k++) known = known || names[k] == a->keyword;
        if (known) continue;
        if (a->keyword)
            sema_error(s, a->span, E0206, "'%s' has no compile-time parameter '%s'", c->name->text,
                       a->keyword->text);
        else
            sema_error(s, a->span, E0206,
                       "an eager kernel is instantiated by keyword, as in %s(block_M=128), without "
                       "tensors",
                       c->name->text);
        return false;
    }
    for (int k = 0; k < count; k++) {
        struct constant n = {
            .name = names[k], .value = given_value(s, in, names[k], INT32_MAX), .span = in->call};
        vec_push(s->arena, &build->constants, n);
    }
    for (const struct ast_parameter *p = c->parameters; p; p = p->next, i++) {
        if (is_runtime(c, VALUE_EAGER, p)) continue;
        struct value v = given_value(s, in, p->name, INT32_MAX);
        env_bind(s, env, p->name, v.kind == VALUE_ABSENT ? c->presets.at[i] : v, p->span);
    }
    return true;
}

static void check_returned(struct sema *s, struct value result, struct span span) {
    struct build *b = s->build;
    int count = is_sequence(result) ? result.sequence->items.count : result.kind != VALUE_NONE;
    for (int i = 0; i < count; i++)
        vec_push(s->arena, &b->returned,
                 is_sequence(result) ? result.sequence->items.at[i] : result);
    for (int i = 0; i < count; i++) {
        struct value v = b->returned.at[i];
        if (v.kind != VALUE_BUFFER || !v.buffer->output) {
            sema_error(s, b->return_span, E0214,
                       "an eager kernel returns what T.empty made, not %s", value_a_kind(v));
            return;
        }
    }
    for (int i = 0; i < b->empties.count; i++) {
        bool found = false;
        for (int k = 0; k < count; k++)
            found = found || b->returned.at[k].buffer == b->empties.at[i];
        if (!found)
            sema_error(s, b->has_return ? b->return_span : span, E0214,
                       "'%s' is made by T.empty but not returned", b->empties.at[i]->name->text);
    }
}

static void build_eager(struct sema *s, struct export *x, struct instance *in) {
    struct build build = {.eager = true};
    struct closure *c = in->unit;
    struct env *env = env_new(s, ENV_KERNEL, c->env, c->span);
    if (!bind_eager(s, in, &build, env)) return;
    struct job j = {.kernel = c, .instance = in, .export = x, .doc = describe(s, c, env, &build)};
    int errors = diag_errors(s->diag);
    struct function_ir *f = function_begin(s, &j, &build);
    if (!f) return;
    if (build.options.has_out_idx)
        sema_error(s, build.options.out_span, E0214,
                   "out_idx belongs to factories; an eager kernel makes outputs with T.empty");
    declare_signature(s, c, env, true);
    builder_begin(s);
    struct value result = run_body(s, c, env, true, in->call);
    if (result.kind != VALUE_BAD && diag_errors(s->diag) == errors)
        check_returned(s, result, c->span);
    function_end(s, f, &j, errors);
}

/* -- Any unit
 * ---------------------------------------------------------------------------------------------------------
 */

static void build_factory(struct sema *s, struct export *x, struct instance *in) {
    for (int hops = 0; hops < 16; hops++) { /* a factory may return the call of another */
        struct arguments a = all_arguments(s, in);
        struct env *env = env_new(s, ENV_FUNCTION, in->unit->env, in->unit->span);
        int errors = diag_errors(s->diag);
        struct frame outer = {.up = s->frame, .closure = in->unit, .call = in->call};
        s->frame = &outer;
        bool bound = bind_parameters(s, in->unit, VALUE_FUNCTION, &a, env) != NULL;
        s->frame = outer.up;
        if (!bound) return;
        const char *doc = describe(s, in->unit, env, NULL);
        struct value v = run_body(s, in->unit, env, false, in->call);
        struct job j = {.kernel = v.closure, .instance = in, .export = x, .doc = doc};
        if (v.kind == VALUE_PRIM_FUNC)
            build_prim_func(s, &j);
        else if (v.kind != VALUE_INSTANCE && v.kind != VALUE_BAD && diag_errors(s->diag) == errors)
            sema_error(s, in->unit->span, E0213,
                       "'%s' returns %s; a factory returns one @T.prim_func", in->unit->name->text,
                       value_a_kind(v));
        if (v.kind != VALUE_INSTANCE) return;
        in = v.instance;
        if (in->kind != VALUE_FUNCTION) {
            struct export other = {
                .name = x->name, .span = x->span, .instance = in, .named = x->named};
            instantiate(s, &other);
            return;
        }
    }
    sema_error(s, in->unit->span, E0213, "factories that return calls of each other do not end");
}

/* As if it had been built where the text calls it. */
void instantiate(struct sema *s, struct export *x) {
    struct instance *in = x->instance;
    int64_t outer = s->globals->as_of;
    s->globals->as_of = in->at;
    if (in->kind == VALUE_FUNCTION) {
        build_factory(s, x, in);
    } else if (in->kind == VALUE_EAGER) {
        build_eager(s, x, in);
    } else {
        struct job j = {
            .kernel = in->unit, .instance = in, .export = x, .doc = in->unit->name->text};
        build_prim_func(s, &j);
    }
    s->globals->as_of = outer;
    s->function = NULL;
    s->build = NULL;
}
