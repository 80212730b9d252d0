/* names.c: scopes. A name bound inside a loop, branch or launch of the device ends with it, and the
 * scope around remembers that, so that a later use can be told why the name is gone. */
#include "sema/state.h"

enum { LINEAR = 12 };

struct env *env_new(struct sema *s, enum env_kind kind, struct env *parent, struct span span) {
    struct env *e = arena_make(s->arena, struct env);
    e->kind = kind;
    e->parent = parent;
    e->span = span;
    return e;
}

/* -- Looking up ---------------------------------------------------------------------------------
 */

static int slot_of(const struct env *e, const struct sym *name) {
    uint32_t mask = (uint32_t)e->slot_count - 1, at = (name->id * 2654435761u) & mask;
    while (e->slots[at] && e->list.at[e->slots[at] - 1].name != name) at = (at + 1) & mask;
    return (int)at;
}

struct binding *env_own(struct env *e, struct sym *name) {
    if (e->slots) {
        int at = e->slots[slot_of(e, name)];
        return at ? &e->list.at[at - 1] : NULL;
    }
    for (int i = 0; i < e->list.count; i++)
        if (e->list.at[i].name == name) return &e->list.at[i];
    return NULL;
}

static void rehash(struct sema *s, struct env *e) {
    e->slot_count = e->slot_count ? e->slot_count * 2 : 64;
    e->slots = arena_array(s->arena, int32_t, e->slot_count);
    for (int i = 0; i < e->list.count; i++) e->slots[slot_of(e, e->list.at[i].name)] = i + 1;
}

static struct binding *env_add(struct sema *s, struct env *e, struct sym *name) {
    vec_push(s->arena, &e->list, (struct binding){.name = name});
    if (e->list.count > LINEAR && e->list.count * 2 > e->slot_count)
        rehash(s, e);
    else if (e->slots)
        e->slots[slot_of(e, name)] = e->list.count;
    return &e->list.at[e->list.count - 1];
}

static bool is_body(const struct env *e) {
    return e->kind == ENV_FUNCTION || e->kind == ENV_KERNEL || e->kind == ENV_MODULE;
}

struct env *env_body(struct env *e) {
    while (!is_body(e)) e = e->parent;
    return e;
}

/* A function sees the names of the one around it as they are when it is called: those that regions
 * opened since its definition bind, too. */
struct env *env_around(struct env *body) {
    struct env *up = body->parent, *open = up ? env_body(up)->innermost : NULL;
    for (struct env *e = open; e; e = is_body(e) ? NULL : e->parent)
        if (e == up) return open;
    return up;
}

static struct binding *visible_in(struct env *e, struct sym *name, const struct env **where) {
    for (; e; e = is_body(e) ? env_around(e) : e->parent) {
        struct binding *b = env_own(e, name);
        *where = e;
        if (b) return b;
    }
    return NULL;
}

struct binding *env_visible(struct env *e, struct sym *name) {
    const struct env *where;
    return visible_in(e, name, &where);
}

struct binding *env_in_function(struct env *e, struct sym *name) {
    for (struct env *body = env_body(e);; e = e->parent) {
        struct binding *b = env_own(e, name);
        if (b || e == body) return b;
    }
}

static struct value value_then(const struct binding *b, int64_t as_of) {
    for (int i = as_of ? b->past.count - 1 : -1; i >= 0; i--) {
        const struct past *p = &b->past.at[i];
        if (b->from <= as_of && b->from > p->from) break;
        if (p->from <= as_of) return p->value;
    }
    return b->value; /* also what was bound later: a kernel may stand in front of its constants */
}

bool env_lookup(struct env *e, struct sym *name, struct value *out) {
    const struct env *where;
    const struct binding *b = visible_in(e, name, &where);
    if (!b || b->ended != ENV_MODULE) return false;
    *out = value_then(b, where->as_of);
    return true;
}

/* -- Errors
 * ----------------------------------------------------------------------------------------- */

static int distance(const char *a, const char *b, int limit) {
    enum { LONGEST = 40 };
    int la = (int)strlen(a), lb = (int)strlen(b), row[LONGEST + 1];
    if (la > LONGEST || lb > LONGEST || abs(la - lb) > limit) return limit + 1;
    for (int j = 0; j <= lb; j++) row[j] = j;
    for (int i = 1; i <= la; i++) {
        int corner = row[0]; /* of the row before, one to the left */
        row[0] = i;
        for (int j = 1; j <= lb; j++) {
            int change = corner + (a[i - 1] != b[j - 1]);
            corner = row[j];
            int add = (row[j - 1] < corner ? row[j - 1] : corner) + 1;
            row[j] = change < add ? change : add;
        }
    }
    return row[lb];
}

const char *nearest_word(const char *word, int count, const char *const *candidates) {
    int length = (int)strlen(word), limit = length <= 3 ? 1 : length <= 6 ? 2 : 3;
    const char *best = NULL;
    for (int i = 0; i < count; i++) {
        int d = distance(word, candidates[i], limit);
        if (d > limit || d >= length) continue;
        best = candidates[i];
        limit = d - 1; /* only nearer ones from here on */
        if (limit < 0) break;
    }
    return best;
}

static const char *nearest_name(struct sema *s, struct env *e, const char *word) {
    VEC(const char *) names = {0};
    if (diag_full(s->diag) || !sema_charge(s, 100)) return NULL;
    for (; e; e = e->parent)
        for (int i = 0; i < e->list.count; i++)
            if (e->list.at[i].ended == ENV_MODULE)
                vec_push(s->arena, &names, e->list.at[i].name->text);
    for (int i = 0; i < host_count(); i++)
        if (!*host_row(i)->module) vec_push(s->arena, &names, host_row(i)->name);
    return nearest_word(word, names.count, names.at);
}

static struct value unknown_name(struct sema *s, struct env *e, struct sym *name,
                                 struct span span) {
    const struct closure *kernel = s->build ? s->build->closure : NULL;
    for (const struct ast_parameter *p = kernel ? kernel->parameters : NULL; p; p = p->next)
        if (p->name == name)
            return sema_bad(s, span, E0201, "the parameter '%s' is used before it is declared",
                            name->text);
    const char *near = nearest_name(s, e, name->text);
    const struct builtin *row = builtin_find("T", name->text);
    if (!near && row)
        return sema_bad(s, span, E0201, "'%s' is not defined; did you mean 'T.%s'?", name->text,
                        name->text);
    if (!near) return sema_bad(s, span, E0201, "'%s' is not defined", name->text);
    struct value v =
        sema_bad(s, span, E0201, "'%s' is not defined; did you mean '%s'?", name->text, near);
    diag_fix(s->diag, span, near, "write '%s'", near);
    return v;
}

static struct value ended_name(struct sema *s, const struct binding *b, struct span span) {
    const char *where = b->ended == ENV_LOOP     ? "a loop that runs on the device"
                        : b->ended == ENV_BRANCH ? "a branch that the device decides"
                                                 : "the body of T.Kernel";
    struct value v = sema_bad(
        s, span, E0202, "'%s' is bound inside %s and ends with it; use a T.alloc_var or a buffer",
        b->name->text, where);
    diag_note(s->diag, b->span, "'%s' is bound here", b->name->text);
    return v;
}

struct value env_find(struct sema *s, struct env *e, struct sym *name, struct span span) {
    const struct env *where;
    struct binding *b = visible_in(e, name, &where);
    if (b && b->ended != ENV_MODULE) return ended_name(s, b, span);
    if (b) {
        b->read_at = ++evaluator_of(s)->clock;
        return value_then(b, where->as_of);
    }
    struct value v = module_named(s, name->text);
    if (v.kind != VALUE_ABSENT) return v;
    const struct builtin *row = builtin_find("", name->text);
    return row ? (struct value){.kind = VALUE_BUILTIN, .builtin = row}
               : unknown_name(s, e, name, span);
}

/* -- Binding
 * ------------------------------------------------------------------------------------------ */

void env_bind(struct sema *s, struct env *e, struct sym *name, struct value v, struct span span) {
    while (e->kind == ENV_UNROLLED) e = e->parent;
    struct binding *b = env_own(e, name);
    if (!b)
        b = env_add(s, e, name);
    else if (b->from < evaluator_of(s)->called)
        vec_push(s->arena, &b->past, (struct past){b->value, b->from});
    b->value = v;
    b->from = ++evaluator_of(s)->clock;
    b->span = span;
    b->ended = ENV_MODULE;
    b->read_at = 0;
}

/* A list that collects instances grows with each of them, and is nothing that they compute with. */
static bool collects_instances(struct value v) {
    const struct value *last =
        v.kind == VALUE_DICT
            ? (v.dict->values.count ? &v.dict->values.at[v.dict->values.count - 1] : NULL)
        : v.sequence->items.count ? &v.sequence->items.at[v.sequence->items.count - 1]
                                  : NULL;
    return last && last->kind == VALUE_INSTANCE;
}

/* The last copy is still good if the container has not changed since. */
static void remember(struct sema *s, struct env *e, int64_t now) {
    sema_charge(s, 1 + e->list.count / 16);
    for (int i = 0; i < e->list.count; i++) {
        struct binding *b = &e->list.at[i];
        bool list = b->value.kind == VALUE_LIST, dict = b->value.kind == VALUE_DICT;
        const struct past *last = b->past.count ? &b->past.at[b->past.count - 1] : NULL;
        if ((!list && !dict) || b->ended != ENV_MODULE || collects_instances(b->value)) continue;
        int64_t changed = list ? b->value.sequence->changed : b->value.dict->changed;
        if (last && last->from > b->from && last->from > changed) continue;
        vec_push(s->arena, &b->past, (struct past){value_copied(s, b->value), now});
    }
}

int64_t env_remember(struct sema *s, struct env *e) {
    int64_t now = ++evaluator_of(s)->clock;
    evaluator_of(s)->called = now;
    for (; e; e = e->parent) remember(s, e, now);
    return now;
}

void env_return_to(struct env *e, int64_t moment) {
    for (; e; e = e->parent) e->as_of = moment;
}

struct env *env_snapshot(struct sema *s, struct env *e) {
    if (!e || e->kind == ENV_MODULE) return e;
    struct env *copy = env_new(s, e->kind, env_snapshot(s, e->parent), e->span);
    for (int i = 0; i < e->list.count; i++) *env_add(s, copy, e->list.at[i].name) = e->list.at[i];
    sema_charge(s, 1 + e->list.count / 4);
    return copy;
}

struct env *region_open(struct sema *s, enum env_kind kind, struct env *parent, struct block *into,
                        struct span span) {
    struct env *e = env_new(s, kind, parent, span);
    struct evaluator *v = evaluator_of(s);
    e->opened = v->since ? v->since : ++v->clock;
    v->since = 0;
    e->outer_region = v->region;
    if (kind != ENV_WITH) v->region = e->opened;
    e->outer_block = s->block;
    e->outer = env_body(parent)->innermost;
    env_body(parent)->innermost = e;
    s->block = into;
    return e;
}

void region_close(struct sema *s, struct env *e) {
    s->block = e->outer_block;
    env_body(e)->innermost = e->outer;
    evaluator_of(s)->region = e->outer_region;
    struct env *up = e->parent;
    while (up->kind == ENV_UNROLLED) up = up->parent;
    for (int i = 0; i < e->list.count; i++) {
        const struct binding *b = &e->list.at[i];
        if (e->kind == ENV_WITH && b->ended == ENV_MODULE && value_is_static(b->value)) {
            env_bind(s, up, b->name, b->value, b->span); /* it ran once: Python's own values stay */
            continue;
        }
        struct binding *old = env_own(up, b->name);
        if (!old) old = env_add(s, up, b->name);
        *old = *b;
        if (old->ended == ENV_MODULE) old->ended = e->kind;
    }
}
