/* verify_sizes.c: --sweep over sizes known at compile time.
 *
 * A size is a parameter of a unit, a name of T.const or a constant of the module that stands in the
 * shape of a tensor, by itself or by way of assignments. Each gets values around its tile, which is
 * what T.ceildiv divides it by, or 1 where it is an extent of the grid; an extent that is not
 * divided gets its default and values around 32. The sizes of a unit are tried together, a value
 * each, so that in a few compilations every pair of values occurs; then each of them is zero once.
 * What the compiler refuses counts as refused. */
#include "driver/verify.h"
#include <stdio.h>
#include <stdlib.h>

enum {
    MOST_SIZES = 8,
    VALUES = 5,
    MOST_ROWS = 15,
    MOST_NAMES = 256,
    MOST_TILE = 4096,
    MOST_WORK = 1 << 24
};

struct size {
    struct sym *name;
    bool constant; /* of the module; else of the unit */
    int64_t value[VALUES];
    int values;
};

struct unit {
    struct sym *name;
    struct size size[MOST_SIZES];
    int count;
};

/* -- walking the tree
 * ----------------------------------------------------------------------------- */
struct walk {
    bool (*visit)(struct walk *w, const struct ast_expr *e); /* false: not into it */
    const struct ast_module *module;
    const struct ast_def *def;
    struct verify *v;
    struct sym *names[MOST_NAMES]; /* found so far */
    int count;
    struct sym *name; /* looked for */
    int64_t tile;
    bool grows;
};

static void walk_expr(struct walk *w, const struct ast_expr *e);

static void walk_list(struct walk *w, const struct ast_expr *e) {
    for (; e; e = e->next) walk_expr(w, e);
}

static void walk_parts(struct walk *w, const struct ast_expr *e) {
    switch (e->kind) {
    case AST_TUPLE:
    case AST_LIST:
    case AST_SET:
    case AST_STARRED: walk_list(w, e->items); break;
    case AST_UNARY: walk_expr(w, e->unary.operand); break;
    case AST_BINARY:
        walk_expr(w, e->binary.lhs);
        walk_expr(w, e->binary.rhs);
        break;
    case AST_CHOICE:
        walk_expr(w, e->choice.test);
        walk_expr(w, e->choice.then);
        walk_expr(w, e->choice.otherwise);
        break;
    case AST_CALL:
        for (const struct ast_argument *a = e->call.arguments; a; a = a->next)
            walk_expr(w, a->value);
        break;
    case AST_INDEX:
        walk_expr(w, e->index.base);
        for (const struct ast_slice *s = e->index.at; s; s = s->next) {
            walk_expr(w, s->lo);
            walk_expr(w, s->hi);
        }
        break;
    default: break;
    }
}

static void walk_expr(struct walk *w, const struct ast_expr *e) {
    if (e && w->visit(w, e)) walk_parts(w, e);
}

static void walk_block(struct walk *w, const struct ast_stmt *s);

static void walk_def(struct walk *w, const struct ast_def *d) {
    for (const struct ast_parameter *p = d->parameters; p; p = p->next) walk_expr(w, p->annotation);
    walk_block(w, d->body);
}

static void walk_with(struct walk *w, const struct ast_stmt *s) {
    for (const struct ast_with *i = s->with.items; i; i = i->next) walk_expr(w, i->value);
    walk_block(w, s->with.body);
}

static void walk_stmt(struct walk *w, const struct ast_stmt *s) {
    switch (s->kind) {
    case AST_EXPR_STMT:
    case AST_RETURN: walk_expr(w, s->value); break;
    case AST_ASSIGN: walk_expr(w, s->assign.value); break;
    case AST_ANNOTATED:
        walk_expr(w, s->annotated.annotation);
        walk_expr(w, s->annotated.value);
        break;
    case AST_IF:
        walk_block(w, s->branch.then);
        walk_block(w, s->branch.otherwise);
        break;
    case AST_FOR:
        walk_expr(w, s->loop.source);
        walk_block(w, s->loop.body);
        break;
    case AST_WITH: walk_with(w, s); break;
    case AST_DEF: walk_def(w, s->def); break;
    default: break;
    }
}

static void walk_block(struct walk *w, const struct ast_stmt *s) {
    for (; s; s = s->next) walk_stmt(w, s);
}

/* -- names that shapes depend on
 * ----------------------------------------------------------------- */
static bool has(const struct walk *w, const struct sym *name) {
    for (int i = 0; i < w->count; i++)
        if (w->names[i] == name) return true;
    return false;
}

static bool add_names(struct walk *w, const struct ast_expr *e) {
    if (e->kind != AST_NAME || has(w, e->name) || w->count == MOST_NAMES) return true;
    w->names[w->count++] = e->name;
    w->grows = true;
    return true;
}

static void take_names(struct walk *w, const struct ast_expr *e) {
    bool (*before)(struct walk *, const struct ast_expr *) = w->visit;
    w->visit = add_names;
    walk_expr(w, e);
    w->visit = before;
}

static const char *called(const struct ast_expr *e) {
    if (e->kind == AST_ATTRIBUTE) return e->attribute.name->text;
    return e->kind == AST_NAME ? e->name->text : "";
}

static bool decorated(const struct ast_def *d, const char *word) {
    for (const struct ast_expr *e = d->decorators; e; e = e->next)
        if (!strcmp(called(e->kind == AST_CALL ? e->call.callee : e), word)) return true;
    return false;
}

static bool makes_tensor(const char *name) {
    static const char *const names[] = {"Tensor", "StridedTensor", "Buffer", "empty"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i])) return true;
    return false;
}

/* T.Tensor(shape, dtype), T.Tensor[shape, dtype] and T.empty(shape, dtype). */
static bool find_shapes(struct walk *w, const struct ast_expr *e) {
    const struct ast_argument *a = e->kind == AST_CALL ? e->call.arguments : NULL;
    if (a && makes_tensor(called(e->call.callee))) {
        while (a->keyword && strcmp(a->keyword->text, "shape") != 0 && a->next) a = a->next;
        take_names(w, a->value);
    }
    if (e->kind == AST_INDEX && e->index.at && makes_tensor(called(e->index.base)) &&
        e->index.at->lo)
        take_names(w, e->index.at->lo);
    return true;
}

static bool names_one(const struct walk *w, const struct ast_expr *e) {
    if (e->kind == AST_NAME) return has(w, e->name);
    if (e->kind != AST_TUPLE && e->kind != AST_LIST) return false;
    for (const struct ast_expr *i = e->items; i; i = i->next)
        if (names_one(w, i)) return true;
    return false;
}

/* name = value: what the value names counts as well. */
static void follow(struct walk *w, const struct ast_stmt *s) {
    for (; s; s = s->next) {
        if (s->kind == AST_IF) {
            follow(w, s->branch.then);
            follow(w, s->branch.otherwise);
        }
        if (s->kind == AST_DEF && s->def == w->def) follow(w, s->def->body);
        if (s->kind != AST_ASSIGN) continue;
        for (const struct ast_expr *t = s->assign.targets; t; t = t->next)
            if (names_one(w, t)) take_names(w, s->assign.value);
    }
}

/* -- tiles
 * ---------------------------------------------------------------------------------------- */
static const struct ast_expr *constant_of(const struct ast_module *m, const struct sym *name) {
    for (const struct ast_stmt *s = m->body; s; s = s->next)
        if (s->kind == AST_ASSIGN && s->assign.targets->kind == AST_NAME &&
            s->assign.targets->name == name && s->assign.value->kind == AST_INTEGER)
            return s->assign.value;
    return NULL;
}

/* NAME=VALUE or UNIT.NAME=VALUE of the user; NULL: none. */
static const char *defined(const struct walk *w, const struct sym *name) {
    const struct options *o = w->v->options;
    for (int i = 0; i < o->definitions.count + o->sizes.count; i++) {
        const char *word =
            i < o->definitions.count ? o->definitions.at[i] : o->sizes.at[i - o->definitions.count];
        const char *equal = strchr(word, '=');
        const char *dot = equal ? memchr(word, '.', (size_t)(equal - word)) : NULL;
        const char *unit = w->def->name->text;
        if (!equal || (dot && (strlen(unit) != (size_t)(dot - word) ||
                               strncmp(word, unit, (size_t)(dot - word)) != 0)))
            continue;
        word = dot ? dot + 1 : word;
        if (strlen(name->text) == (size_t)(equal - word) &&
            !strncmp(word, name->text, (size_t)(equal - word)))
            return equal + 1;
    }
    return NULL;
}

/* The number that an expression stands for; 0 if that is not plain to see. */
static int64_t number_of(const struct walk *w, const struct ast_expr *e) {
    if (e->kind == AST_INTEGER) return e->integer;
    if (e->kind != AST_NAME) return 0;
    const char *text = defined(w, e->name);
    if (text) return strtoll(text, NULL, 10);
    for (const struct ast_parameter *p = w->def->parameters; p; p = p->next)
        if (p->name == e->name && p->preset) return number_of(w, p->preset);
    const struct ast_expr *c = constant_of(w->module, e->name);
    return c ? c->integer : 0;
}

static bool mentions(const struct walk *w, const struct ast_expr *e) {
    struct walk inner = {.visit = add_names};
    walk_expr(&inner, e);
    return has(&inner, w->name);
}

/* T.Kernel(size, …) */
static bool find_grid(struct walk *w, const struct ast_expr *e) {
    bool kernel = e->kind == AST_CALL && !strcmp(called(e->call.callee), "Kernel");
    for (const struct ast_argument *a = kernel ? e->call.arguments : NULL; a; a = a->next)
        if (!a->keyword && a->value->kind == AST_NAME && a->value->name == w->name) w->tile = 1;
    return true;
}

/* T.ceildiv(size, tile), size // tile */
static bool find_tile(struct walk *w, const struct ast_expr *e) {
    const struct ast_expr *by = NULL;
    const struct ast_argument *a = e->kind == AST_CALL ? e->call.arguments : NULL;
    if (e->kind == AST_BINARY && e->binary.op == AST_FLOORDIV && mentions(w, e->binary.lhs))
        by = e->binary.rhs;
    if (a && a->next && strstr(called(e->call.callee), "div") && mentions(w, a->value))
        by = a->next->value;
    if (by && !w->tile) w->tile = number_of(w, by);
    return !w->tile;
}

static int64_t tile_of(const struct walk *w, struct sym *name) {
    struct walk inner = *w;
    inner.name = name;
    inner.visit = find_grid;
    walk_def(&inner, w->def);
    inner.visit = find_tile;
    if (!inner.tile) walk_def(&inner, w->def);
    return inner.tile;
}

static void add_value(struct size *z, int64_t value) {
    for (int i = 0; i < z->values; i++)
        if (z->value[i] == value) return;
    if (value > 0) z->value[z->values++] = value;
}

/* -- the sizes of a unit
 * ------------------------------------------------------------------------- */
static void add_size(struct walk *w, struct unit *u, struct sym *name, bool constant) {
    if (u->count == MOST_SIZES || !has(w, name) || defined(w, name)) return;
    struct size *z = &u->size[u->count++];
    *z = (struct size){.name = name, .constant = constant};
    int64_t t = tile_of(w, name),
            whole = number_of(w, &(struct ast_expr){.kind = AST_NAME, .name = name});
    if (t > 0 && t <= MOST_TILE) {
        const int64_t values[VALUES] = {t + 1, 1, t > 1 ? 2 * t + 3 : 3, t - 1, t};
        for (int i = 0; i < VALUES; i++) add_value(z, values[i]);
    } else {
        const int64_t values[VALUES] = {whole > 0 && whole <= MOST_TILE ? whole : 64, 1, 67, 32,
                                        33};
        for (int i = 0; i < VALUES; i++) add_value(z, values[i]);
    }
}

static bool may_be_integer(const struct ast_parameter *p) {
    bool typed = !p->annotation ||
                 (p->annotation->kind == AST_NAME && !strcmp(p->annotation->name->text, "int"));
    return typed && !p->stars && (!p->preset || p->preset->kind == AST_INTEGER);
}

/* M, N = T.const("M, N") */
static void add_constants(struct walk *w, struct unit *u, const struct ast_stmt *s) {
    for (; s; s = s->next) {
        const struct ast_expr *x = s->kind == AST_ASSIGN ? s->assign.value : NULL;
        if (!x || x->kind != AST_CALL || strcmp(called(x->call.callee), "const") != 0) continue;
        for (const struct ast_expr *t = s->assign.targets; t; t = t->next) {
            if (t->kind == AST_NAME) add_size(w, u, t->name, false);
            const struct ast_expr *i = t->kind == AST_TUPLE ? t->items : NULL;
            for (; i; i = i->next)
                if (i->kind == AST_NAME) add_size(w, u, i->name, false);
        }
    }
}

static void find_sizes(struct verify *v, const struct ast_module *m, const struct ast_def *d,
                       struct unit *u) {
    struct walk w = {.visit = find_shapes, .module = m, .def = d, .v = v};
    *u = (struct unit){.name = d->name};
    walk_def(&w, d);
    do {
        w.grows = false;
        follow(&w, m->body);
    } while (w.grows);
    for (const struct ast_parameter *p = d->parameters; p; p = p->next)
        if (may_be_integer(p) && !decorated(d, "prim_func")) add_size(&w, u, p->name, false);
    add_constants(&w, u, d->body);
    for (const struct ast_stmt *s = m->body; s; s = s->next)
        if (s->kind == AST_ASSIGN && s->assign.targets->kind == AST_NAME &&
            constant_of(m, s->assign.targets->name))
            add_size(&w, u, s->assign.targets->name, true);
}

/* -- one compilation
 * ----------------------------------------------------------------------------- */
static const char *first_error(struct compilation *c) {
    struct text t = text_new(c->arena);
    diag_print_text(c->diag, &t, false);
    const char *at = strstr(t.at, ": error: ");
    if (!at) return "no reason is given";
    while (at > t.at && at[-1] != '\n') at--;
    return arena_strndup(c->arena, at, strcspn(at, "\n"));
}

struct sweep {
    struct verify *v;
    struct source *source;
    const char *refusal; /* the first one */
    bool *used;          /* by definition of the user */
    bool wanted;         /* the unit makes kernels that are selected */
};

static void note_used(struct sweep *s, const struct compilation *c) {
    const struct options *o = s->v->options;
    for (int i = 0; i < o->definitions.count + o->sizes.count; i++)
        s->used[i] |= c->sema.definitions[i].used;
}

static void begin_compilation(const struct sweep *s, struct compilation *c, struct options *o) {
    struct arena *a = arena_new();
    *o = *s->v->options;
    o->arena = a;
    o->kernels.count = 0; /* which unit makes them is not known yet */
    *c = (struct compilation){
        .arena = a, .names = interns_new(a), .options = o, .source = s->source};
}

/* Those that compile run; for the others the compiler has said why not. */
static void run_modules(struct sweep *s, struct compilation *c, const char *unit) {
    struct verify *v = s->v;
    v->c = c;
    for (int i = 0; i < c->options->arch_count; i++) {
        struct module *m = NULL;
        for (int k = 0; k < c->module_count; k++)
            if (c->modules[k]->target == c->options->archs[i]) m = c->modules[k];
        if (m) s->wanted |= verify_module(v, m) > 0;
        if (m || !s->wanted) continue;
        const char *why = first_error(c);
        report_refused(v, unit, c->options->archs[i]->name, why);
        if (!s->refusal) s->refusal = arena_printf(v->options->arena, "%s", why);
    }
    if (c->sema.definitions) note_used(s, c);
}

/* Large tiles of several axes would take too long together: the largest size becomes small. */
static void limit_work(const struct unit *u, int64_t *value) {
    for (;;) {
        int64_t product = 1;
        int most = 0;
        for (int i = 0; i < u->count; i++) {
            product = product > MOST_WORK ? product : product * (value[i] ? value[i] : 1);
            if (value[i] > value[most]) most = i;
        }
        if (product <= MOST_WORK || value[most] <= 3) return;
        value[most] = 3;
    }
}

/* Sizes of the unit: value[i] for each. */
static void try_sizes(struct sweep *s, const struct unit *u, int64_t *value) {
    struct compilation c;
    struct options o;
    begin_compilation(s, &c, &o);
    struct text said = text_new(o.arena);
    limit_work(u, value);
    const char *unit = u->name->text;
    const char *const *given = o.sizes.at;
    int count = o.sizes.count;
    o.sizes.at = NULL;
    o.sizes.count = o.sizes.room = o.entries.count = o.entries.room = 0;
    for (int i = 0; i < count; i++) vec_push(o.arena, &o.sizes, given[i]);
    for (int i = 0; i < u->count; i++) {
        const char *name = u->size[i].name->text;
        const char *of = u->size[i].constant ? "" : unit, *dot = u->size[i].constant ? "" : ".";
        vec_push(o.arena, &o.sizes,
                 arena_printf(o.arena, "%s%s%s=%lld", of, dot, name, (long long)value[i]));
        text_printf(&said, "%s%s=%lld", i ? ", " : "", name, (long long)value[i]);
    }
    o.entries.at = NULL;
    vec_push(o.arena, &o.entries, unit);
    o.archs_named = true; /* each says why it refuses */
    c.sizes = s->v->sizes = said.at;
    compile_silently(&c);
    run_modules(s, &c, unit);
    s->v->sizes = NULL;
    arena_free(c.arena);
}

/* All first values; then values (r + slope * i) of size i: with five values each, each pair occurs
 * within five rows. */
static void sweep_unit(struct sweep *s, const struct unit *u) {
    int64_t value[MOST_SIZES];
    s->wanted = !s->v->options->kernels.count;
    int rows = VALUES * u->count < MOST_ROWS ? VALUES * u->count : MOST_ROWS;
    s->v->number = 0;
    for (int r = u->count > 1 ? -1 : 0; r < rows; r++, s->v->number++) {
        for (int i = 0; i < u->count; i++) {
            const struct size *z = &u->size[i];
            int at = r < 0 ? 0 : r + (r / VALUES + 1) * i;
            value[i] = z->value[at % z->values];
        }
        try_sizes(s, u, value);
    }
    for (int zero = 0; zero < u->count; zero++, s->v->number++) {
        for (int i = 0; i < u->count; i++)
            value[i] = i == zero ? 0 : u->size[i].value[(zero + i) % u->size[i].values];
        try_sizes(s, u, value);
    }
}

/* A unit without such sizes. */
static void sweep_plain(struct sweep *s, const char *unit) {
    struct compilation c;
    struct options o;
    begin_compilation(s, &c, &o);
    o.entries.at = NULL;
    o.entries.count = o.entries.room = 0;
    vec_push(o.arena, &o.entries, unit);
    int status = compile_modules(&c);
    s->v->c = &c;
    for (int i = 0; i < c.module_count; i++) verify_module(s->v, c.modules[i]);
    if (status > s->v->status) s->v->status = status;
    if (c.sema.definitions) note_used(s, &c);
    arena_free(c.arena);
}

/* -- the file
 * ------------------------------------------------------------------------------------- */
static bool makes_kernel(const struct ast_def *d) {
    for (const struct ast_stmt *s = d->body; s; s = s->next)
        if (s->kind == AST_DEF && decorated(s->def, "prim_func")) return true;
    return false;
}

/* What may be a kernel's text: a factory, an eager kernel, a bare prim_func. */
static bool is_unit(const struct ast_def *d) {
    return decorated(d, "prim_func") || decorated(d, "jit") ||
           (!decorated(d, "macro") && makes_kernel(d));
}

static bool selected(const struct options *o, const struct ast_def *d) {
    for (int i = 0; i < o->entries.count; i++)
        if (!strcmp(o->entries.at[i], d->name->text)) return true;
    return !o->entries.count;
}

static bool all_used(const struct sweep *s) {
    const struct options *o = s->v->options;
    for (int i = 0; i < o->definitions.count + o->sizes.count; i++) {
        if (s->used[i]) continue;
        bool always = i >= o->definitions.count;
        fprintf(stderr, "tilec: error: %s %s fits no parameter, module constant or dimension\n",
                always ? "--size" : "-D",
                always ? o->sizes.at[i - o->definitions.count] : o->definitions.at[i]);
        return false;
    }
    return true;
}

static int conclude(const struct sweep *s) {
    const struct verify *v = s->v;
    if (!v->passed && !v->failed && s->refusal) {
        fprintf(stderr, "tilec: error: every size that was tried is refused; the first: %s\n",
                s->refusal);
        return EXIT_SOURCE;
    }
    if (!v->passed && !v->failed && v->status == EXIT_DONE) {
        fprintf(stderr, "tilec: error: --kernels and --entry name no kernel of '%s'\n",
                v->options->input);
        return EXIT_USAGE;
    }
    return v->passed && !all_used(s) ? EXIT_USAGE : v->status;
}

bool sizes_sweep(struct verify *v, int *status) {
    struct compilation *c = v->c;
    const struct options *o = v->options;
    struct options front = *o;
    struct unit *u = arena_make(o->arena, struct unit);
    struct sweep s = {.v = v};
    bool some = false;
    front.stop_after = PASS_parse;
    c->options = &front;
    *status = compile_modules(c);
    c->options = o;
    if (*status != EXIT_DONE) return true;
    s.source = c->source;
    s.used = arena_array(o->arena, bool, o->definitions.count + o->sizes.count + 1);
    const struct ast_module *m = c->ast;
    for (const struct ast_stmt *st = m->body; st && !some; st = st->next) {
        if (st->kind != AST_DEF || !is_unit(st->def)) continue;
        find_sizes(v, m, st->def, u);
        some = u->count > 0;
    }
    if (!some) return false;
    for (const struct ast_stmt *st = m->body; st; st = st->next) {
        if (st->kind != AST_DEF || !is_unit(st->def) || !selected(o, st->def)) continue;
        find_sizes(v, m, st->def, u);
        if (u->count)
            sweep_unit(&s, u);
        else
            sweep_plain(&s, u->name->text);
    }
    *status = conclude(&s);
    return true;
}
