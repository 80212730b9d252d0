/* build.c: makes Kernel IR statements and the small expressions everything needs. */
#include "internal.h"

struct kstmt *add(struct lowering *l, enum kstmt_kind kind) {
    struct kstmt *s = kstmt_new(l->m, kind, l->span);

    kblock_append(l->out, s);
    return s;
}

struct var *add_var(struct lowering *l, const char *name, enum dtype t, struct expr *value) {
    struct var *v = var_new(l->x, VAR_LET, intern_text(l->m->names, name), t, l->span);
    struct kstmt *s;

    if (value && dtype_is_integer(t)) {
        v->lo = value->lo;
        v->hi = value->hi;
        v->divisor = value->divisor;
    }
    s = add(l, K_VAR);
    s->set.var = v;
    s->set.value = value;
    return v;
}

struct array *add_array(struct lowering *l, const char *name, enum dtype t, enum dtype of,
                        int32_t count) {
    struct array *a = array_new(l->m, l->k, name, t, of, count, l->span);

    add(l, K_ARRAY)->array = a;
    return a;
}

void add_put(struct lowering *l, struct array *a, struct expr *index, struct expr *value) {
    struct kstmt *s = add(l, K_PUT);

    s->put.to.array = a;
    s->put.to.index = index;
    s->put.value = value;
}

struct kblock *add_if(struct lowering *l, struct expr *test) {
    struct kblock *saved = l->out;
    struct kstmt *s = add(l, K_IF);

    s->branch.test = test;
    l->out = &s->branch.then;
    return saved;
}

/* The other arm of the branch whose first arm is open; `saved` is what add_if returned. */
struct kblock *add_else(struct lowering *l, struct kblock *saved) {
    l->out = &saved->last->branch.otherwise;
    return saved;
}

struct var *loop_var(struct lowering *l, int32_t count) {
    static const char *const names[] = {"i", "j", "k", "u", "v", "w"};
    int32_t n = l->loops < 6 ? l->loops : 5;
    struct var *v =
        var_new(l->x, VAR_LOOP, intern_text(l->m->names, names[n]), DTYPE_INDEX, l->span);

    v->lo = 0;
    v->hi = count - 1;
    v->unrolled = true;
    return v;
}

struct kblock *add_unrolled(struct lowering *l, struct var *v, int32_t count) {
    struct kblock *saved = l->out;
    struct kstmt *s = add(l, K_FOR);

    s->loop.var = v;
    s->loop.lo = ix(l, 0);
    s->loop.hi = ix(l, count);
    s->loop.step = 1;
    s->loop.unroll = 0;
    l->out = &s->loop.body;
    l->loops++;
    return saved;
}

void out_leave(struct lowering *l, struct kblock *saved) {
    if (saved->last->kind == K_FOR && l->loops > 0) l->loops--;
    l->out = saved;
}

/* The first line of the source statement, once, and what was decided about it. */
void comment(struct lowering *l, struct span span, const char *why) {
    const struct source *source = l->m->source;
    const char *line;
    struct span text;
    int number;

    if (source && span.end > span.begin && span.end <= source->length) {
        number = source_position(source, span.begin).line;
        text = source_line(source, number);
        while (text.begin < text.end &&
               (source->text[text.begin] == ' ' || source->text[text.begin] == '\t'))
            text.begin++;
        if (number != l->commented_line) {
            line = arena_strndup(l->m->arena, source->text + text.begin, text.end - text.begin);
            add(l, K_COMMENT)->comment = line;
        }
        l->commented_line = number;
    }
    if (why) add(l, K_COMMENT)->comment = why;
}

void fault(struct lowering *l, const char *what) {
    diag_report(l->m->diag, l->span, E0701, "this statement cannot be turned into thread code: %s",
                what);
}

/* Moves all statements to the end of another list. */
void block_splice(struct kblock *to, struct kblock *from) {
    if (!from->first) return;
    if (to->last)
        to->last->next = from->first;
    else
        to->first = from->first;
    to->last = from->last;
}

struct expr *ix(struct lowering *l, int64_t value) {
    return expr_index(l->x, value);
}

struct expr *plus(struct lowering *l, struct expr *a, struct expr *b) {
    if (!a) return b;
    return b ? expr_binary(l->x, FN_ADD, a, b) : a;
}

struct expr *times(struct lowering *l, struct expr *a, int64_t b) {
    return b == 1 ? a : expr_binary(l->x, FN_MUL, a, ix(l, b));
}

struct expr *both(struct lowering *l, struct expr *a, struct expr *b) {
    if (!a || !b || a == b) return a ? a : b;
    return expr_binary(l->x, FN_LAND, a, b);
}

struct expr *element(struct lowering *l, struct array *a, struct expr *index) {
    return expr_element(l->x, a, index, a->dtype);
}

struct substitution {
    const struct env *env;
    bool source;
};

static struct expr *replace(struct expr *e, void *data) {
    const struct substitution *s = data;
    const struct env *env;

    if (e->kind != EXPR_VAR) return NULL;
    for (env = s->env; env; env = env->outer)
        if (env->var == e->var) return s->source && !env->source ? NULL : env->value;
    return NULL;
}

struct expr *bind(struct lowering *l, struct expr *e, const struct env *env) {
    struct substitution s = {env, false};

    return env ? expr_rewrite_where(l->x, e, HOLDS_VAR, replace, &s) : e;
}

struct expr *bind_source(struct lowering *l, struct expr *e, const struct env *env) {
    struct substitution s = {env, true};

    return env ? expr_rewrite_where(l->x, e, HOLDS_VAR, replace, &s) : e;
}
