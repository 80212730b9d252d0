/* analyse.c: runs the module, finds what it exports, and instantiates that. */
#include "sema/state.h"

static struct units *units_of(struct sema *s) { return &evaluator_of(s)->units; }

/* -- Units and exports
 * --------------------------------------------------------------------------------- */

void register_unit(struct sema *s, struct closure *c, enum value_kind kind) {
    struct units *u = units_of(s);
    for (int i = 0; i < u->list.count; i++)
        if (u->list.at[i]->name == c->name) {
            u->list.at[i] = c;
            u->kinds.at[i] = kind;
            return;
        }
    vec_push(s->arena, &u->list, c);
    vec_push(s->arena, &u->kinds, kind);
}

struct value unit_call(struct sema *s, struct closure *c, enum value_kind kind, struct arguments *a,
                       struct span span) {
    if (s->function)
        return sema_bad(s, span, E0207,
                        "'%s' makes a kernel; inside a kernel only functions and macros are called",
                        c->name->text);
    struct instance *in = arena_make(s->arena, struct instance);
    *in = (struct instance){.unit = c, .kind = kind, .arguments = *a, .call = span};
    for (int i = 0; i < in->arguments.list.count; i++)
        in->arguments.list.at[i].value = value_copied(s, in->arguments.list.at[i].value);
    in->at = s->globals->as_of ? s->globals->as_of : env_remember(s, s->globals);
    return (struct value){.kind = VALUE_INSTANCE, .instance = in};
}

/* A value of a loop as part of a name: 1024, m4 for -4, 0_5 for 0.5, float16, true. */
static void append_part(struct sema *s, struct text *t, struct value v, int depth) {
    if (is_sequence(v) && depth < 4) {
        for (int i = 0; i < v.sequence->items.count && t->length < 200; i++)
            append_part(s, t, v.sequence->items.at[i], depth + 1);
        return;
    }
    text_puts(t, "_");
    for (const char *c = value_str(s, v); *c && t->length < 200; c++) {
        bool word =
            (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
        text_printf(t, "%c", word ? *c : *c == '-' ? 'm' : '_');
    }
}

static struct sym *export_name(struct sema *s, struct sym *name) {
    const struct units *u = units_of(s);
    struct text t = text_new(s->arena);
    text_puts(&t, name->text);
    for (int i = 0; i < u->loop_values.count; i++) append_part(s, &t, u->loop_values.at[i], 0);
    return intern_text(s->names, t.at);
}

static void export_items(struct sema *s, struct sym *name, struct value v, struct span span,
                         int depth) {
    struct units *u = units_of(s);
    if (v.kind == VALUE_INSTANCE && !v.instance->exported) {
        v.instance->exported = true;
        vec_push(
            s->arena, &u->exports,
            (struct export){
                .name = export_name(s, name), .span = span, .instance = v.instance, .named = true});
    }
    bool dict = v.kind == VALUE_DICT;
    int count = depth > 3        ? 0
                : dict           ? v.dict->keys.count
                : is_sequence(v) ? v.sequence->items.count
                                 : 0;
    for (int i = 0; i < count; i++) {
        struct value item = dict ? v.dict->values.at[i] : v.sequence->items.at[i];
        if (item.kind != VALUE_INSTANCE && !is_sequence(item) && item.kind != VALUE_DICT) continue;
        struct text t = text_new(s->arena);
        text_puts(&t, name->text);
        append_part(s, &t, dict ? v.dict->keys.at[i] : value_int(i), 0);
        export_items(s, intern_text(s->names, t.at), item, span, depth + 1);
    }
}

/* name = value at module level. */
void export_value(struct sema *s, struct sym *name, struct value v, struct span span) {
    if (v.kind == VALUE_PRIM_FUNC && is_unit(v.closure, v.kind)) {
        struct arguments none = {.span = span};
        v = unit_call(s, v.closure, v.kind, &none, span);
    }
    export_items(s, name, v, span, 0);
}

/* -- Selection
 * ------------------------------------------------------------------------------------------------
 */

static bool entry_selected(const struct sema_options *o, const struct sym *unit) {
    for (int i = 0; i < o->entry_count; i++)
        if (o->entries[i] == unit) return true;
    return o->entry_count == 0;
}

static void check_entries(struct sema *s) {
    const struct units *u = units_of(s);
    const char **names = arena_array(s->arena, const char *, u->list.count + 1);
    for (int i = 0; i < u->list.count; i++) names[i] = u->list.at[i]->name->text;
    for (int i = 0; i < s->options->entry_count; i++) {
        const char *entry = s->options->entries[i]->text;
        bool found = false;
        for (int k = 0; k < u->list.count; k++) found = found || !strcmp(names[k], entry);
        const char *near = found ? NULL : nearest_word(entry, u->list.count, names);
        if (!found)
            sema_error(s, (struct span){0, 0}, E0219, "--entry=%s: the file has no such unit%s%s%s",
                       entry, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
}

static bool unit_exported(const struct units *u, const struct closure *c) {
    for (int i = 0; i < u->exports.count; i++)
        if (u->exports.at[i].instance->unit == c) return true;
    return false;
}

/* Without exports every unit is instantiated once; one that --entry names and nothing exports, too.
 */
static void add_defaults(struct sema *s) {
    struct units *u = units_of(s);
    bool all = u->exports.count == 0;
    for (int i = 0; i < u->list.count; i++) {
        struct closure *c = u->list.at[i];
        if (all ? !entry_selected(s->options, c->name)
                : s->options->entry_count == 0 || !entry_selected(s->options, c->name) ||
                      unit_exported(u, c))
            continue;
        struct instance *in = arena_make(s->arena, struct instance);
        *in = (struct instance){.unit = c, .kind = u->kinds.at[i]};
        vec_push(s->arena, &u->exports, (struct export){.span = c->span, .instance = in});
    }
}

/* C names that an export may get, without running it. */
static bool may_be_named(struct sema *s, const struct export *x, const char *c_name);

static bool nested_may_be_named(const struct ast_stmt *st, const char *unit, const char *wanted) {
    for (; st; st = st->next) {
        if (st->kind == AST_IF && (nested_may_be_named(st->branch.then, unit, wanted) ||
                                   nested_may_be_named(st->branch.otherwise, unit, wanted)))
            return true;
        if (st->kind != AST_DEF) continue;
        const char *name = strcmp(st->def->name->text, "main") != 0 ? st->def->name->text
                           : strncmp(unit, "make_", 5)              ? unit
                                                                    : unit + 5;
        if (!strcmp(name, wanted)) return true;
    }
    return false;
}

static bool may_be_named(struct sema *s, const struct export *x, const char *c_name) {
    const char *prefix = s->options->prefix ? s->options->prefix : "";
    if (strncmp(c_name, prefix, strlen(prefix)) != 0) return false;
    c_name += strlen(prefix);
    const struct closure *c = x->instance->unit;
    if (x->name) return !strcmp(x->name->text, c_name);
    return !strcmp(c->name->text, c_name) || c->options ||
           nested_may_be_named(c->body, c->name->text, c_name);
}

static bool selected(struct sema *s, const struct export *x) {
    const struct sema_options *o = s->options;
    bool wanted = o->kernel_count == 0;
    for (int i = 0; i < o->kernel_count && !wanted; i++)
        wanted = may_be_named(s, x, o->kernels[i]->text);
    return wanted && entry_selected(o, x->instance->unit->name);
}

static void check_kernels(struct sema *s) {
    int count = s->module->functions.count;
    const char **names = arena_array(s->arena, const char *, count + 1);
    for (int i = 0; i < count; i++) names[i] = s->module->functions.at[i]->name->text;
    for (int i = 0; i < s->options->kernel_count; i++) {
        const char *wanted = s->options->kernels[i]->text;
        bool found = false;
        for (int k = 0; k < count; k++) found = found || !strcmp(names[k], wanted);
        if (!found)
            sema_error(s, (struct span){0, 0}, E0219,
                       "--kernels=%s: the file makes no kernel of this C name", wanted);
    }
}

/* -- Missing parameters
 * ---------------------------------------------------------------------------------------- */

enum { MISSING = 256 };

/* One error that lists everything without a value, over all units that would be built. */
static bool check_missing(struct sema *s) {
    struct units *u = units_of(s);
    struct sym *all[MISSING];
    int count = 0, first = -1;
    bool lacking[MISSING] = {false};
    for (int i = 0; i < u->exports.count; i++) {
        struct sym *names[64];
        int n = 0;
        if (u->exports.at[i].named || !selected(s, &u->exports.at[i])) continue;
        missing_parameters(s, u->exports.at[i].instance, names, &n);
        first = n && first < 0 ? i : first;
        if (i < MISSING) lacking[i] = n > 0;
        for (int k = 0; k < n; k++) {
            int at = 0;
            while (at < count && all[at] != names[k]) at++;
            if (at == count && count < MISSING) all[count++] = names[k];
        }
    }
    if (!count) return true;
    struct text list = text_new(s->arena), flags = text_new(s->arena);
    for (int k = 0; k < count; k++) {
        text_printf(&list, "%s'%s'", k == 0 ? "" : k + 1 < count ? ", " : " and ", all[k]->text);
        text_printf(&flags, " -D %s=…", all[k]->text);
    }
    const struct closure *c = u->exports.at[first].instance->unit;
    sema_error(s, c->span, E0212,
               "%s without a value: add%s, or write an instance into the file: name = %s(…)",
               list.at, flags.at, c->name->text);
    for (int i = first + 1; i < u->exports.count && i < MISSING; i++)
        if (lacking[i])
            diag_note(s->diag, u->exports.at[i].instance->unit->span, "'%s' needs some of them too",
                      u->exports.at[i].instance->unit->name->text);
    return false;
}

/* -- The whole
 * -----------------------------------------------------------------------------------------------------
 */

static void build_all(struct sema *s) {
    struct units *u = units_of(s);
    check_entries(s);
    add_defaults(s);
    if (!u->list.count) {
        if (!diag_errors(s->diag))
            sema_error(
                s, (struct span){0, 0}, E0219,
                "the file holds no kernel: no @T.prim_func, factory or @tilelang.jit function");
        return;
    }
    if (!check_missing(s)) return;
    for (int i = 0; i < u->exports.count && !s->stopped && !diag_full(s->diag); i++)
        if (selected(s, &u->exports.at[i])) instantiate(s, &u->exports.at[i]);
    if (!diag_errors(s->diag)) check_kernels(s);
}

struct module *analyse(struct arena *a, struct interns *names, struct diag *d,
                       const struct ast_module *ast, const struct target *target,
                       const struct sema_options *options) {
    struct module *m = module_new(a, names, d, ast->source, target);
    m->level = LEVEL_TILE;
    m->fast_math = options->fast_math;
    struct evaluator *v = evaluator_new(m, options);
    struct sema *s = &v->sema;
    struct span nowhere = {0, 0};
    /* "if __name__ == '__main__':" holds a script, which is not for us */
    env_bind(s, s->globals, intern_text(names, "__name__"), value_string(s, "tilec"), nowhere);
    v->module_level = true;
    exec_block(s, s->globals, ast->body);
    v->module_level = false;
    if (!s->stopped) build_all(s);
    return m;
}
