/* walk.c: the expressions of a statement, and the parts of buffers that it touches.
 *
 * For an access inside loops and MAPs the region is the box over all their iterations: in the
 * affine form of each index, terms of variables bound inside the statement become extent, the rest
 * stays as the base. */
#include "ir/internal.h"
#include "ir/tile.h"
#include <stdlib.h>

/* -- statements and expressions
 * -------------------------------------------------------------------- */
void block_walk(struct block *b, void (*visit)(struct stmt *s, void *data), void *data) {
    for (struct stmt *s = b->first, *next; s; s = next) {
        next = s->next;
        visit(s, data);
        switch (s->kind) {
        case STMT_FOR: block_walk(&s->loop.body, visit, data); break;
        case STMT_WHILE: block_walk(&s->repeat.body, visit, data); break;
        case STMT_IF:
            block_walk(&s->branch.then, visit, data);
            block_walk(&s->branch.otherwise, visit, data);
            break;
        case STMT_MAP: block_walk(&s->map.body, visit, data); break;
        default: break;
        }
    }
}

struct visitor {
    void (*visit)(struct expr **e, void *data);
    void *data;
};

static void visit_expr(const struct visitor *v, struct expr **e) {
    if (*e) v->visit(e, v->data);
}

static void visit_list(const struct visitor *v, struct expr **e, int count) {
    for (int i = 0; i < count; i++) visit_expr(v, &e[i]);
}

static void visit_region(const struct visitor *v, struct region *r) {
    visit_list(v, r->base, r->buffer->rank);
}

void stmt_expressions(struct stmt *s, void (*visit)(struct expr **e, void *data), void *data) {
    struct visitor v = {visit, data};
    switch (s->kind) {
    case STMT_FOR:
        visit_expr(&v, &s->loop.lo);
        visit_expr(&v, &s->loop.hi);
        break;
    case STMT_WHILE: visit_expr(&v, &s->repeat.test); break;
    case STMT_IF: visit_expr(&v, &s->branch.test); break;
    case STMT_LET:
    case STMT_SET: visit_expr(&v, &s->let.value); break;
    case STMT_STORE:
        visit_list(&v, s->store.index, s->store.count);
        visit_expr(&v, &s->store.value);
        break;
    case STMT_ATOMIC:
        visit_list(&v, s->atomic.index, s->atomic.count);
        visit_expr(&v, &s->atomic.value);
        break;
    case STMT_PRINT: visit_expr(&v, &s->print.value); break;
    case STMT_ASSERT: visit_expr(&v, &s->assertion.test); break;
    case STMT_COPY:
        visit_expr(&v, &s->copy.guard);
        visit_region(&v, &s->copy.src);
        visit_region(&v, &s->copy.dst);
        break;
    case STMT_GEMM:
        visit_expr(&v, &s->gemm.clear);
        visit_region(&v, &s->gemm.a);
        visit_region(&v, &s->gemm.b);
        visit_region(&v, &s->gemm.c);
        break;
    case STMT_REDUCE:
        visit_region(&v, &s->reduce.src);
        visit_region(&v, &s->reduce.dst);
        break;
    case STMT_BREAK:
    case STMT_CONTINUE:
    case STMT_MAP:
    case STMT_BARRIER:
    case STMT_COMMIT:
    case STMT_WAIT: break;
    }
}

/* -- accesses
 * -------------------------------------------------------------------------------------- */
struct bound { /* a variable of the statement's own loops and domains */
    struct var *var;
    int64_t lo, hi;
    bool full; /* takes every value of the range */
};

struct walk {
    struct module *m;
    void (*visit)(const struct access *a, void *data);
    void *data;
    bool plain; /* indices do not matter */
    VEC(struct bound) bounds;
    VEC(struct var *) lets; /* LETs met so far, replaced in indices by … */
    VEC(struct expr *) values;
    int guards; /* branches and loops of unknown course around */
    int nested;
    const struct stmt *stmt;
    uint64_t used; /* bounds that an axis of the current access already uses */
};

struct box { /* one axis */
    struct expr *base;
    int32_t extent;
    bool exact;
};

static struct box whole_axis(const struct walk *w, struct buffer *b, int axis) {
    struct region r = region_whole(w->m, b);
    return (struct box){r.base[axis], r.extent[axis], false};
}

static int find_bound(const struct walk *w, const struct expr *e) {
    for (int i = w->bounds.count - 1; i >= 0; i--)
        if (e->kind == EXPR_VAR && w->bounds.at[i].var == e->var) return i;
    return -1;
}

/* Does the atom change while the statement runs? */
static bool varies(const struct walk *w, const struct expr *e) {
    if (!w->nested) return false;
    if (expr_has_load(e) || expr_uses_kind(e, VAR_MUTABLE)) return true;
    if (expr_uses_kind(e, VAR_LET))
        for (int i = 0; i < w->lets.count; i++)
            if (expr_uses_var(e, w->lets.at[i])) return true;
    for (int i = 0; i < w->bounds.count; i++)
        if (expr_uses_var(e, w->bounds.at[i].var)) return true;
    return false;
}

struct stretch { /* a varying term */
    int64_t coefficient, lo, hi;
    bool full;
};

static int by_coefficient(const void *a, const void *b) {
    int64_t p = llabs(((const struct stretch *)a)->coefficient);
    int64_t q = llabs(((const struct stretch *)b)->coefficient);
    return (p > q) - (p < q);
}

static struct stretch stretch_of(struct walk *w, const struct expr *atom, int64_t coefficient) {
    int at = find_bound(w, atom);
    if (at < 0) return (struct stretch){coefficient, atom->lo, atom->hi, false};
    const struct bound *b = &w->bounds.at[at];
    bool fresh = at < 64 && !(w->used >> at & 1);
    if (at < 64) w->used |= (uint64_t)1 << at;
    return (struct stretch){coefficient, b->lo, b->hi, b->full && fresh};
}

/* Adds the varying terms to the box [0, *extent); false if it has no end. */
static bool stretch_box(struct stretch *s, int count, int64_t *low, int64_t *extent, bool *exact) {
    if (count > 1) qsort(s, (size_t)count, sizeof *s, by_coefficient);
    for (int i = 0; i < count; i++) {
        int64_t c = s[i].coefficient, first, last, size = llabs(c);
        if (s[i].lo == INT64_MIN || s[i].hi == INT64_MAX || c == INT64_MIN ||
            __builtin_mul_overflow(c, c < 0 ? s[i].hi : s[i].lo, &first) ||
            __builtin_mul_overflow(c, c < 0 ? s[i].lo : s[i].hi, &last) ||
            __builtin_add_overflow(*low, first, low) || last < first || last - first > INT32_MAX)
            return false;
        if (!s[i].full || size > *extent) *exact = false;
        *extent += last - first;
    }
    return *extent <= INT32_MAX;
}

/* What the accesses at [index, index + extent) touch over all iterations. */
static struct box widen(struct walk *w, struct buffer *b, int axis, struct expr *index,
                        int32_t extent) {
    struct affine a, base = {0};
    struct stretch s[AFFINE_TERMS];
    int count = 0;
    if (index->kind == EXPR_INT && index->dtype == DTYPE_INDEX)
        return (struct box){index, extent, true};
    for (int i = w->lets.count - 1; i >= 0; i--)
        index = expr_substitute(w->m->exprs, index, 1, &w->lets.at[i], &w->values.at[i]);
    if (!affine_of(index, &a))
        return w->nested ? whole_axis(w, b, axis) : (struct box){index, extent, true};
    for (int i = 0; i < a.count; i++) {
        if (varies(w, a.atom[i]))
            s[count++] = stretch_of(w, a.atom[i], a.coefficient[i]);
        else {
            base.atom[base.count] = a.atom[i];
            base.coefficient[base.count++] = a.coefficient[i];
        }
    }
    int64_t size = extent;
    bool exact = true;
    base.constant = a.constant;
    if (!stretch_box(s, count, &base.constant, &size, &exact)) return whole_axis(w, b, axis);
    if (b->scope != SCOPE_GLOBAL && base.count == 0 && count) { /* in bounds by contract */
        int64_t end = base.constant + size;
        if (base.constant < 0) base.constant = 0;
        if (end > b->extent[axis]) end = b->extent[axis];
        if (end <= base.constant) return whole_axis(w, b, axis);
        size = end - base.constant;
    }
    return (struct box){affine_expr(w->m->exprs, &base), (int32_t)size, exact};
}

static void emit(struct walk *w, struct buffer *b, unsigned kinds, const struct access *shape) {
    struct access a = *shape;
    a.buffer = b;
    a.stmt = w->stmt;
    for (unsigned k = ACCESS_READ; k <= ACCESS_WRITE; k *= 2) {
        if (!(kinds & k)) continue;
        a.kind = (enum access_kind)k;
        w->visit(&a, w->data);
    }
}

static void touch_region(struct walk *w, const struct region *r, unsigned kinds, bool exact) {
    struct access a = {.region = *r, .exact = exact && !w->guards};
    w->used = 0;
    for (int i = 0; i < r->buffer->rank && !w->plain; i++) {
        struct box box = widen(w, r->buffer, i, r->base[i], r->extent[i]);
        a.region.base[i] = box.base;
        a.region.extent[i] = box.extent;
        a.exact &= box.exact;
    }
    emit(w, r->buffer, kinds, &a);
}

static void touch_element(struct walk *w, struct buffer *b, struct expr *const *index,
                          unsigned kinds, bool exact) {
    struct access a = {.exact = exact && !w->guards, .index = index};
    a.region.buffer = b;
    w->used = 0;
    for (int i = 0; i < b->rank && !w->plain; i++) {
        struct box box = widen(w, b, i, index[i], 1);
        a.region.base[i] = box.base;
        a.region.extent[i] = box.extent;
        a.exact &= box.exact;
    }
    emit(w, b, kinds, &a);
}

/* Each load of an expression once. A choice anywhere in it makes all of them supersets. */
struct loads {
    VEC(struct expr *) found;
    struct arena *arena;
};

static struct expr *find_loads(struct expr *e, void *data) {
    struct loads *l = data;
    if (e->kind == EXPR_LOAD) vec_push(l->arena, &l->found, e);
    return NULL;
}

static void touch_loads(struct walk *w, struct expr *e) {
    struct loads l = {.arena = w->m->arena};
    if (!e || !expr_has_load(e)) return;
    expr_rewrite_where(w->m->exprs, e, HOLDS_LOAD, find_loads, &l);
    bool always = !(e->holds & HOLDS_CHOICE);
    for (int i = 0; i < l.found.count; i++)
        touch_element(w, l.found.at[i]->buffer, l.found.at[i]->args, ACCESS_READ, always);
}

static void touch_list(struct walk *w, struct expr *const *e, int count) {
    for (int i = 0; i < count; i++) touch_loads(w, e[i]);
}

static void touch_bases(struct walk *w, const struct region *r) {
    touch_list(w, r->base, r->buffer->rank);
}

static void walk_list(struct walk *w, const struct block *b);

static void walk_loop(struct walk *w, const struct stmt *s) {
    touch_loads(w, s->loop.lo);
    touch_loads(w, s->loop.hi);
    const struct var *v = s->loop.var;
    int64_t lo, hi;
    bool full = expr_is_int(s->loop.lo, &lo) && expr_is_int(s->loop.hi, &hi) && s->loop.step == 1 &&
                v->lo == lo && v->hi == hi - 1 && lo < hi;
    vec_push(w->m->arena, &w->bounds, ((struct bound){s->loop.var, v->lo, v->hi, full}));
    w->nested++;
    walk_list(w, &s->loop.body);
    w->nested--;
    w->bounds.count--;
}

static void walk_map(struct walk *w, const struct stmt *s) {
    const struct domain *d = &s->map.domain;
    int count = w->bounds.count;
    for (int i = 0; i < d->rank; i++)
        vec_push(w->m->arena, &w->bounds, ((struct bound){d->axis[i], 0, d->extent[i] - 1, true}));
    w->nested++;
    walk_list(w, &s->map.body);
    w->nested--;
    w->bounds.count = count;
}

static void walk_branch(struct walk *w, const struct stmt *s) {
    touch_loads(w, s->branch.test);
    w->guards++;
    walk_list(w, &s->branch.then);
    walk_list(w, &s->branch.otherwise);
    w->guards--;
}

static void walk_while(struct walk *w, const struct stmt *s) {
    w->nested++;
    touch_loads(w, s->repeat.test);
    w->guards++;
    walk_list(w, &s->repeat.body);
    w->guards--;
    w->nested--;
}

static void walk_copy(struct walk *w, const struct stmt *s) {
    touch_loads(w, s->copy.guard);
    touch_bases(w, &s->copy.src);
    touch_bases(w, &s->copy.dst);
    touch_region(w, &s->copy.src, ACCESS_READ, !s->copy.guard);
    touch_region(w, &s->copy.dst, ACCESS_WRITE, !s->copy.guard);
}

static void walk_gemm(struct walk *w, const struct stmt *s) {
    int64_t cleared = 0;
    touch_loads(w, s->gemm.clear);
    touch_bases(w, &s->gemm.a);
    touch_bases(w, &s->gemm.b);
    touch_bases(w, &s->gemm.c);
    touch_region(w, &s->gemm.a, ACCESS_READ, true);
    touch_region(w, &s->gemm.b, ACCESS_READ, true);
    bool writes_only = s->gemm.clear && expr_is_int(s->gemm.clear, &cleared) && cleared;
    touch_region(w, &s->gemm.c, writes_only ? ACCESS_WRITE : ACCESS_READ | ACCESS_WRITE, true);
}

static void walk_reduce(struct walk *w, const struct stmt *s) {
    touch_bases(w, &s->reduce.src);
    touch_bases(w, &s->reduce.dst);
    touch_region(w, &s->reduce.src, ACCESS_READ, true);
    touch_region(w, &s->reduce.dst, s->reduce.clear ? ACCESS_WRITE : ACCESS_READ | ACCESS_WRITE,
                 true);
}

static void walk_print(struct walk *w, const struct stmt *s) {
    touch_loads(w, s->print.value);
    if (!s->print.buffer) return;
    struct region r = region_whole(w->m, s->print.buffer);
    touch_region(w, &r, ACCESS_READ, true);
}

static void walk_let(struct walk *w, const struct stmt *s) {
    touch_loads(w, s->let.value);
    if (s->kind == STMT_SET || s->let.var->kind == VAR_MUTABLE) return;
    vec_push(w->m->arena, &w->lets, s->let.var);
    vec_push(w->m->arena, &w->values, s->let.value);
}

static void walk_stmt(struct walk *w, const struct stmt *s) {
    w->stmt = s;
    switch (s->kind) {
    case STMT_FOR: walk_loop(w, s); break;
    case STMT_WHILE: walk_while(w, s); break;
    case STMT_IF: walk_branch(w, s); break;
    case STMT_LET:
    case STMT_SET: walk_let(w, s); break;
    case STMT_STORE:
        touch_list(w, s->store.index, s->store.count);
        touch_loads(w, s->store.value);
        touch_element(w, s->store.buffer, s->store.index, ACCESS_WRITE, true);
        break;
    case STMT_ATOMIC:
        touch_list(w, s->atomic.index, s->atomic.count);
        touch_loads(w, s->atomic.value);
        touch_element(w, s->atomic.buffer, s->atomic.index, ACCESS_READ | ACCESS_WRITE, true);
        break;
    case STMT_PRINT: walk_print(w, s); break;
    case STMT_ASSERT: touch_loads(w, s->assertion.test); break;
    case STMT_MAP: walk_map(w, s); break;
    case STMT_COPY: walk_copy(w, s); break;
    case STMT_GEMM: walk_gemm(w, s); break;
    case STMT_REDUCE: walk_reduce(w, s); break;
    default: break;
    }
}

static void walk_list(struct walk *w, const struct block *b) {
    int lets = w->lets.count;
    for (const struct stmt *s = b->first; s; s = s->next) walk_stmt(w, s);
    w->lets.count = w->values.count = lets;
}

void stmt_accesses(struct module *m, const struct stmt *s,
                   void (*visit)(const struct access *a, void *data), void *data) {
    struct walk w = {.m = m, .visit = visit, .data = data};
    walk_stmt(&w, s);
}

void stmt_buffers(struct module *m, const struct stmt *s,
                  void (*visit)(const struct access *a, void *data), void *data) {
    struct walk w = {.m = m, .visit = visit, .data = data, .plain = true};
    walk_stmt(&w, s);
}

struct writes {
    const struct buffer *buffer;
    bool found;
};

static void note_write(const struct access *a, void *data) {
    struct writes *w = data;
    if ((a->kind & ACCESS_WRITE) && buffers_meet(a->buffer, w->buffer)) w->found = true;
}

bool stmt_writes(struct module *m, const struct stmt *s, const struct buffer *b) {
    struct writes w = {b, false};
    stmt_buffers(m, s, note_write, &w);
    return w.found;
}

bool block_writes(struct module *m, const struct block *body, const struct buffer *b) {
    bool found = false;
    for (const struct stmt *s = body->first; s && !found; s = s->next) found = stmt_writes(m, s, b);
    return found;
}
