/* closures.c: calls: arguments to parameters, bodies of functions and macros run where they are
 * called. */
#include "sema/state.h"

struct closure *closure_new(struct sema *s, struct env *e, const struct ast_parameter *p,
                            struct span span) {
    struct closure *c = arena_make(s->arena, struct closure);
    c->span = span;
    c->env = e;
    c->parameters = (struct ast_parameter *)p;
    for (; p; p = p->next)
        vec_push(s->arena, &c->presets,
                 p->preset ? value_snapshot(s, eval_expr(s, e, p->preset), p->preset->span)
                           : (struct value){.kind = VALUE_ABSENT});
    return c;
}

/* -- Parameters of user functions
 * --------------------------------------------------------------------- */

static const char *near_parameter(struct sema *s, const struct closure *c, const char *word) {
    VEC(const char *) names = {0};
    for (const struct ast_parameter *p = c->parameters; p; p = p->next)
        vec_push(s->arena, &names, p->name->text);
    return nearest_word(word, names.count, names.at);
}

static void unknown_keyword(struct sema *s, const char *callee, const struct argument *a,
                            const char *near) {
    sema_error(s, a->span, E0206, "'%s' has no parameter '%s'%s%s%s", callee, a->keyword->text,
               near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static int parameter_at(const struct closure *c, const struct sym *name) {
    int i = 0;
    for (const struct ast_parameter *p = c->parameters; p; p = p->next, i++)
        if (p->name == name && !p->stars) return i;
    return -1;
}

/* The n-th argument without keyword goes to the n-th parameter before '*'; -1: there is none. */
static int positional_at(const struct closure *c, int n, int *rest) {
    int i = 0;
    *rest = -1;
    for (const struct ast_parameter *p = c->parameters; p; p = p->next, i++) {
        if (p->stars == 1) *rest = i;
        if (p->stars || p->keyword_only) continue;
        if (n-- == 0) return i;
    }
    return -1;
}

static int collector(const struct closure *c, int stars) {
    int i = 0;
    for (const struct ast_parameter *p = c->parameters; p; p = p->next, i++)
        if (p->stars == stars) return i;
    return -1;
}

/* Sorts the arguments into one slot a parameter; false after a report. */
static bool distribute(struct sema *s, struct closure *c, struct arguments *a, struct value *slot) {
    int position = 0, rest;
    for (int i = 0; i < a->list.count; i++) {
        const struct argument *arg = &a->list.at[i];
        int at = arg->keyword ? parameter_at(c, arg->keyword) : positional_at(c, position++, &rest);
        if (at >= 0 && slot[at].kind != VALUE_ABSENT) {
            const struct ast_parameter *p = c->parameters;
            for (int k = 0; k < at; k++) p = p->next;
            sema_error(s, arg->span, E0206, "'%s' gets its parameter '%s' twice", c->name->text,
                       p->name->text);
            return false;
        }
        if (at >= 0) {
            slot[at] = arg->value;
            continue;
        }
        int into = arg->keyword ? collector(c, 2) : rest;
        if (into < 0 && arg->keyword)
            unknown_keyword(s, c->name->text, arg, near_parameter(s, c, arg->keyword->text));
        else if (into < 0)
            sema_error(s, arg->span, E0206,
                       "'%s' takes %d arguments by position, and this is one more", c->name->text,
                       position - 1);
        if (into < 0) return false;
        if (arg->keyword)
            dict_set(s, slot[into].dict,
                     (struct value){.kind = VALUE_STRING, .string = arg->keyword}, arg->value);
        else
            sequence_push(s, slot[into], arg->value);
    }
    return true;
}

static bool fill_presets(struct sema *s, struct closure *c, struct arguments *a,
                         struct value *slot) {
    struct text missing = text_new(s->arena);
    int i = 0, count = 0;
    for (const struct ast_parameter *p = c->parameters; p; p = p->next, i++) {
        if (slot[i].kind == VALUE_ABSENT) slot[i] = c->presets.at[i];
        if (slot[i].kind == VALUE_ABSENT)
            text_printf(&missing, "%s'%s'", count++ ? ", " : "", p->name->text);
    }
    if (count)
        sema_error(s, a->span, E0206, "the call of '%s' lacks %s", c->name->text, missing.at);
    return count == 0;
}

static bool is_reference(const struct ast_parameter *p) {
    const struct ast_expr *x = p->annotation;
    return x && x->kind == AST_ATTRIBUTE &&
           (!strcmp(x->attribute.name->text, "Ref") || !strcmp(x->attribute.name->text, "Var"));
}

/* How a value enters a function: device scalars by value into macros, variables by value anywhere.
 */
static struct value passed(struct sema *s, const struct ast_parameter *p, enum value_kind kind,
                           struct value v, struct span span) {
    if (kind == VALUE_MACRO && is_reference(p)) {
        if (v.kind == VALUE_ACCESS && value_is_scalar_ir(v))
            return (struct value){.kind = VALUE_REF,
                                  .subscript = access_fixed(s, v.subscript, span)};
        if (v.kind == VALUE_VAR) { /* that of a list has no name yet; here it has one */
            struct value named = {.kind = VALUE_VAR,
                                  .mutable = arena_make(s->arena, struct mutable)};
            *named.mutable = (struct mutable){.var = v.mutable->var, .bound = true};
            return named;
        }
        if (v.kind == VALUE_REF) return v;
        return sema_bad(s, span, E0206,
                        "'%s' is passed by reference: it takes a T.alloc_var or an element, not %s",
                        p->name->text, value_a_kind(v));
    }
    bool device = v.kind == VALUE_VAR || v.kind == VALUE_REF || v.kind == VALUE_ACCESS;
    if (kind != VALUE_MACRO && is_reference(p) && device)
        return sema_bad(s, span, E0206,
                        "'%s' is a T.Ref, but only a T.macro takes arguments by reference; write "
                        "@T.macro in front of the function",
                        p->name->text);
    if (v.kind == VALUE_ACCESS && !value_is_scalar_ir(v)) return value_snapshot(s, v, span);
    bool variable = v.kind == VALUE_VAR || v.kind == VALUE_REF;
    bool snapshot = variable || (kind == VALUE_MACRO && value_is_scalar_ir(v));
    bool fixed = v.kind == VALUE_IR && !expr_has_load(v.expr) &&
                 !expr_uses_kind(v.expr, VAR_MUTABLE); /* the same whenever it is computed */
    return snapshot && s->block && !fixed ? form_let(s, p->name, v, DTYPE_NONE, span) : v;
}

struct env *bind_parameters(struct sema *s, struct closure *c, enum value_kind kind,
                            struct arguments *a, struct env *env) {
    int count = c->presets.count, i = 0;
    struct value *slot = arena_array(s->arena, struct value, count + 1);
    for (const struct ast_parameter *p = c->parameters; p; p = p->next, i++) {
        if (p->stars == 1) slot[i] = value_sequence(s, VALUE_TUPLE, 0, NULL);
        if (p->stars == 2) slot[i] = value_dict(s);
    }
    sema_charge(s, count);
    if (!distribute(s, c, a, slot) || !fill_presets(s, c, a, slot)) return NULL;
    i = 0;
    for (const struct ast_parameter *p = c->parameters; p; p = p->next, i++) {
        struct value v = passed(s, p, kind, slot[i], a->span);
        if (v.kind == VALUE_BAD) return NULL;
        env_bind(s, env, p->name, v, p->span);
    }
    return env;
}

/* -- Running
 * ---------------------------------------------------------------------------------------------- */

struct value run_body(struct sema *s, struct closure *c, struct env *env, bool device,
                      struct span call) {
    if (s->depth >= SEMA_DEPTH) {
        sema_stop(s, call, "calls nest deeper than %d; '%s' seems to call itself without end",
                  SEMA_DEPTH, c->name->text);
        return value_bad();
    }
    struct evaluator *v = evaluator_of(s);
    bool module_level = v->module_level;
    v->module_level = false;
    struct frame frame = {
        .up = s->frame, .closure = c, .call = call, .result = value_none(), .device = device};
    s->frame = &frame;
    s->depth++;
    if (c->result)
        frame.result = eval_expr(s, env, c->result);
    else if (exec_block(s, env, c->body) == FLOW_STOP)
        frame.result = value_bad();
    s->depth--;
    s->frame = frame.up;
    v->module_level = module_level;
    return frame.result;
}

struct value call_closure(struct sema *s, struct closure *c, enum value_kind kind,
                          struct arguments *a, struct span span) {
    bool macro = kind == VALUE_MACRO;
    if (macro && !s->function)
        return sema_bad(s, span, E0207, "the macro '%s' is called outside a kernel function",
                        c->name->text);
    struct env *env = env_new(s, macro ? ENV_KERNEL : ENV_FUNCTION, c->env, c->span);
    env->opened = ++evaluator_of(s)->clock;
    if (!bind_parameters(s, c, kind, a, env)) return value_bad();
    return run_body(s, c, env, macro, span);
}

/* -- Builtins
 * ------------------------------------------------------------------------------------------------
 */

struct parameter { /* of a row's text */
    const char *name;
    int length, stars;
    bool keyword_only, optional;
};

/* The next parameter of the text; false at its end. A bare '*' gives stars 1 and length 0. */
static bool next_parameter(const char **at, struct parameter *p) {
    const char *c = *at;
    while (*c == ' ' || *c == ',') c++;
    if (!*c) return false;
    p->stars = 0;
    for (; *c == '*'; c++) p->stars++;
    p->name = c;
    p->length = (int)strcspn(c, ",= ");
    c += p->length;
    p->optional = *c == '=';
    char quote = 0;
    for (int depth = 0; *c && (quote || depth || *c != ','); c++) {
        if (quote)
            quote = *c == quote ? 0 : quote;
        else if (*c == '\'' || *c == '"')
            quote = *c;
        else
            depth += (*c == '(' || *c == '[' || *c == '{') - (*c == ')' || *c == ']' || *c == '}');
    }
    *at = c;
    return true;
}

static int list_parameters(const char *text, struct parameter *out, int room, int *rest,
                           int *keywords) {
    struct parameter p = {0};
    bool keyword_only = false;
    int count = 0;
    *rest = *keywords = 0;
    while (next_parameter(&text, &p)) {
        if (p.stars) {
            keyword_only = true;
            *rest |= p.stars == 1 && p.length;
            *keywords |= p.stars == 2;
            continue;
        }
        p.keyword_only = keyword_only;
        if (count < room) out[count++] = p;
    }
    return count;
}

enum { PARAMETERS = 32 };

static int parameter_named(const struct parameter *p, int count, const char *name) {
    for (int i = 0; i < count; i++)
        if ((int)strlen(name) == p[i].length && !memcmp(p[i].name, name, (size_t)p[i].length))
            return i;
    return -1;
}

static const char *near_builtin_parameter(struct sema *s, const struct parameter *p, int count,
                                          const char *word) {
    const char *names[PARAMETERS];
    for (int i = 0; i < count; i++)
        names[i] = arena_strndup(s->arena, p[i].name, (size_t)p[i].length);
    return nearest_word(word, count, names);
}

static bool builtin_lacks(struct sema *s, const struct parameter *p, int count, struct call *out) {
    struct text missing = text_new(s->arena);
    int lacking = 0;
    for (int i = 0; i < count; i++)
        if (!p[i].optional && out->arg[i].kind == VALUE_ABSENT)
            text_printf(&missing, "%s'%.*s'", lacking++ ? ", " : "", p[i].length, p[i].name);
    if (lacking)
        sema_error(s, out->span, E0206, "the call of '%s' lacks %s", out->row->name, missing.at);
    return lacking > 0;
}

/* Where one argument goes: a parameter's number, count for the rest, -1 after a report. */
static int place_argument(struct sema *s, const struct builtin *row, const struct argument *a,
                          int *position, const struct parameter *p) {
    int rest, keywords,
        count = list_parameters(row->parameters, (struct parameter[PARAMETERS]){{0}}, PARAMETERS,
                                &rest, &keywords);
    if (a->keyword) {
        int at = parameter_named(p, count, a->keyword->text);
        if (at < 0 && !keywords)
            unknown_keyword(s, row->name, a, near_builtin_parameter(s, p, count, a->keyword->text));
        return at >= 0 ? at : keywords ? count : -1;
    }
    if (*position < count && !p[*position].keyword_only) return (*position)++;
    if (!rest)
        sema_error(
            s, a->span, E0206,
            "'%s' takes %d arguments by position, and this is one more; its parameters are (%s)",
            row->name, *position, row->parameters);
    return rest ? count : -1;
}

bool bind_builtin(struct sema *s, const struct builtin *row, struct arguments *a,
                  struct call *out) {
    struct parameter p[PARAMETERS];
    int rest, keywords, position = 0,
                        count = list_parameters(row->parameters, p, PARAMETERS, &rest, &keywords);
    *out = (struct call){.row = row, .span = a->span, .count = count, .naming = s->naming};
    out->arg = arena_array(s->arena, struct value, count + 1);
    out->arg_span = arena_array(s->arena, struct span, count + 1);
    out->rest.span = a->span;
    for (int i = 0; i < count; i++) out->arg_span[i] = a->span;
    for (int i = 0; i < a->list.count; i++) {
        const struct argument *arg = &a->list.at[i];
        int at = place_argument(s, row, arg, &position, p);
        if (at < 0) return false;
        if (at == count) {
            vec_push(s->arena, &out->rest.list, *arg);
            continue;
        }
        if (out->arg[at].kind != VALUE_ABSENT) {
            sema_error(s, arg->span, E0206, "'%s' gets its parameter '%.*s' twice", row->name,
                       p[at].length, p[at].name);
            return false;
        }
        out->arg[at] = arg->value;
        out->arg_span[at] = arg->span;
    }
    return !builtin_lacks(s, p, count, out);
}

static struct value call_builtin(struct sema *s, const struct builtin *row, struct arguments *a,
                                 struct span span) {
    struct call call;
    if (!row->call)
        return sema_bad(s, span, E0401, "'%s%s%s' is not supported yet: %s", row->module,
                        *row->module ? "." : "", row->name, row->doc);
    if (!bind_builtin(s, row, a, &call)) return value_bad();
    return row->call(s, &call);
}

/* -- Any callee
 * --------------------------------------------------------------------------------------------------
 */

struct value call_value(struct sema *s, struct value callee, struct arguments *a,
                        struct span span) {
    struct sym *naming = s->naming;
    switch (callee.kind) {
    case VALUE_BAD: return callee;
    case VALUE_BUILTIN: return call_builtin(s, callee.builtin, a, span);
    case VALUE_DTYPE: return call_dtype(s, callee.dtype, a, span);
    case VALUE_METHOD:
        if (on_device(callee.method->self)) return call_method(s, callee.method, a, span);
        return call_static_method(s, callee.method, a, span);
    case VALUE_FUNCTION:
    case VALUE_EAGER:
    case VALUE_MACRO: break;
    case VALUE_PRIM_FUNC:
        return sema_bad(s, span, E0207,
                        "'%s' is a kernel; its launcher is called from C, not from the text",
                        callee.closure->name->text);
    default: return sema_bad(s, span, E0207, "%s cannot be called", value_a_kind(callee));
    }
    if (is_unit(callee.closure, callee.kind))
        return unit_call(s, callee.closure, callee.kind, a, span);
    s->naming = NULL;
    struct value v = call_closure(s, callee.closure, callee.kind, a, span);
    s->naming = naming;
    return v;
}
