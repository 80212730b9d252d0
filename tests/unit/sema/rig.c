/* rig.c: programs in, values, tile IR or diagnostics out. */
#include "rig.h"
#include "parser/parser.h"
#include "sema/state.h"

struct run {
    struct arena *arena;
    struct interns *names;
    struct source *source;
    struct diag *diag;
    struct ast_module *ast;
};

static struct run parsed(struct arena *a, const char *text) {
    struct run r = {.arena = a, .names = interns_new(a)};
    r.source = source_of_text(a, "t.tile", text, strlen(text));
    r.diag = diag_new(a, r.source);
    r.ast = parse(a, r.names, r.source, lex(a, r.names, r.source, r.diag), r.diag);
    return r;
}

/* "t.tile:1:5: error: TEXT [CODE]" becomes "CODE: TEXT". */
static void shorten(struct text *out, const char *printed) {
    const char *error = strstr(printed, "error: ");
    const char *end = error ? error + strcspn(error, "\n") : NULL;
    if (!error || end[-1] != ']') {
        text_puts(out, printed);
        return;
    }
    text_printf(out, "%.5s: %.*s", end - 6, (int)(end - error) - 15, error + 7);
}

struct text value_of(struct arena *a, const char *text, const char *name) {
    struct run r = parsed(a, text);
    struct text out = text_new(a);
    if (!diag_errors(r.diag)) {
        static const struct sema_options options = {.prefix = ""};
        struct module *m = module_new(a, r.names, r.diag, r.source, target_find("sm_80"));
        struct evaluator *e = evaluator_new(m, &options);
        struct value v;
        e->module_level = true;
        exec_block(&e->sema, e->sema.globals, r.ast->body);
        if (diag_errors(r.diag))
            text_puts(&out, "");
        else if (env_lookup(e->sema.globals, intern_text(r.names, name), &v))
            text_puts(&out, value_text(&e->sema, v));
        else
            text_puts(&out, "unbound");
    }
    if (diag_errors(r.diag)) {
        struct text all = text_new(a);
        diag_print_text(r.diag, &all, false);
        shorten(&out, all.at);
    }
    return out;
}

static const char *word(struct arena *a, const char **at) {
    *at += strspn(*at, " ");
    size_t n = strcspn(*at, " ");
    const char *w = arena_strndup(a, *at, n);
    *at += n;
    return w;
}

static struct sym **words(struct run *r, const char *text, int *count) {
    VEC(struct sym *) list = {0};
    for (const char *at = text ? text : ""; at[strspn(at, " ")];)
        vec_push(r->arena, &list, intern_text(r->names, word(r->arena, &at)));
    *count = list.count;
    return list.at;
}

static struct definition definition_of(struct run *r, const char *text) {
    const char *equals = strchr(text, '='), *dot = strchr(text, '.');
    struct definition d = {.text = text};
    const char *name = text;
    if (dot && dot < equals) {
        d.unit = intern(r->names, text, (size_t)(dot - text));
        name = dot + 1;
    }
    d.name = intern(r->names, name, (size_t)(equals - name));
    struct source *s = source_of_text(r->arena, "-D", equals + 1, strlen(equals + 1));
    d.value = parse_expression(r->arena, r->names, s, r->diag);
    return d;
}

struct text analysed(struct arena *a, const struct program *p) {
    struct run r = parsed(a, p->text);
    struct sema_options o = {.prefix = p->prefix ? p->prefix : ""};
    VEC(struct definition) list = {0};
    for (const char *at = p->definitions ? p->definitions : ""; at[strspn(at, " ")];)
        vec_push(a, &list, definition_of(&r, word(a, &at)));
    o.definitions = list.at;
    o.definition_count = list.count;
    o.entries = words(&r, p->entries, &o.entry_count);
    o.kernels = words(&r, p->kernels, &o.kernel_count);
    struct text out = text_new(a);
    if (!diag_errors(r.diag)) {
        struct module *m = analyse(a, r.names, r.diag, r.ast, target_find("sm_80"), &o);
        if (!diag_errors(r.diag)) tile_print(&out, m);
    }
    diag_print_text(r.diag, &out, false);
    return out;
}
