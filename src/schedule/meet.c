/* meet.c: which accesses of a MAP different iterations may make to one element, by trying them all.
 *
 * The lattice of the expressions cannot tell butterflies or permutations apart: s[t ^ d] and s[t]
 * with t < t ^ d. But their indices depend on little: the axes, and loops around the MAP whose
 * bounds are known. So every iteration is run for every turn of those loops, and notes who touches
 * which element. Conditions count where they can be evaluated; axes of a buffer whose index cannot
 * be are taken to meet. Where that would take too long everything may meet. */
#include "hazard.h"

enum { MOST_STEPS = 1 << 21, MOST_ELEMENTS = 1 << 14, MOST_VALUES = 1 << 12, MEMOS = 64 };

struct guard { /* the test holds, or does not */
    const struct expr *test;
    bool holds;
};

struct spot { /* an access */
    struct access access;
    VEC(struct guard) guards;
    int64_t *toucher; /* by element: turn * iterations + iteration + 1 of the last touch */
    int64_t *several; /* by element: the last turn, + 1, in which several iterations touched it */
};

struct known { /* the value of a variable now */
    bool set;
    int64_t value;
};

struct memo { /* the value of an operation in this iteration */
    const struct expr *e;
    int64_t when;
    bool known;
    union scalar value;
};

struct free_var { /* a variable that the indices depend on */
    struct var *var;
    const struct stmt *loop; /* around the MAP; NULL: it is none of a loop */
};

struct meetings {
    struct arena *arena;
    struct module *module;
    struct stmt *map;
    VEC(struct spot) spots;
    VEC(struct guard) around; /* conditions around the MAP */
    VEC(const struct stmt *) loops;
    VEC(struct free_var) free;
    struct known *known; /* by variable */
    struct memo *memo;   /* of operations, by number modulo MEMOS */
    bool *met;           /* by both spots; NULL: not known yet */
    int64_t steps, turn, iterations, now;
    unsigned countable; /* axes of the buffer that is being looked at */
    const struct buffer *buffer;
};

struct meetings *meetings_new(struct module *m, struct arena *scratch, struct stmt *map,
                              const struct path *path) {
    struct meetings *w = arena_make(scratch, struct meetings);
    w->module = m;
    w->arena = scratch;
    w->map = map;
    w->iterations = 1;
    for (int k = 0; k < map->map.domain.rank; k++) w->iterations *= map->map.domain.extent[k];
    for (; path; path = path->outer) {
        if (path->stmt->kind == STMT_FOR) vec_push(scratch, &w->loops, path->stmt);
        if (path->stmt->kind != STMT_IF) continue;
        vec_push(scratch, &w->around, ((struct guard){path->stmt->branch.test, !path->otherwise}));
    }
    return w;
}

/* The conditions of the block under which the statement runs. */
static void gather_guards(struct meetings *w, struct spot *spot, const struct block *b) {
    for (const struct stmt *s = b->first; s; s = s->next) {
        if (!stmt_holds(s, spot->access.stmt)) continue;
        if (s->kind == STMT_FOR) gather_guards(w, spot, &s->loop.body);
        if (s->kind == STMT_WHILE) gather_guards(w, spot, &s->repeat.body);
        if (s->kind != STMT_IF) continue;
        if (s == spot->access.stmt) return; /* its test reads */
        bool then = block_holds(&s->branch.then, spot->access.stmt);
        vec_push(w->arena, &spot->guards, ((struct guard){s->branch.test, then}));
        gather_guards(w, spot, then ? &s->branch.then : &s->branch.otherwise);
    }
}

void meetings_add(struct meetings *w, const struct access *a) {
    struct spot s = {.access = *a};
    gather_guards(w, &s, &w->map->map.body);
    vec_push(w->arena, &w->spots, s);
}

/* -- Values ------------------------------------------------------------------------------------ */

static bool value_of(const struct meetings *w, const struct expr *e, union scalar *out);

/* and, or: one side may decide alone. */
static bool value_of_logic(const struct meetings *w, const struct expr *e, union scalar *out) {
    union scalar side;
    bool all = true, decides = e->fn == FN_LOR;
    *out = (union scalar){.i = !decides};
    for (int i = 0; i < 2; i++) {
        if (!value_of(w, e->args[i], &side)) {
            all = false;
        } else if ((side.i != 0) == decides) {
            *out = (union scalar){.i = decides};
            return true;
        }
    }
    return all;
}

static bool compute_op(const struct meetings *w, const struct expr *e, union scalar *out) {
    union scalar args[4];
    if (e->fn == FN_LAND || e->fn == FN_LOR) return value_of_logic(w, e, out);
    if (e->count > 4) return false;
    for (int i = 0; i < e->count; i++)
        if (!value_of(w, e->args[i], &args[i])) return false;
    *out = scalar_op(e->fn, e->args[0]->dtype, args);
    return true;
}

static bool value_of_op(const struct meetings *w, const struct expr *e, union scalar *out) {
    struct memo *m = &w->memo[(unsigned)e->id % MEMOS];
    if (m->e != e || m->when != w->now) {
        struct memo fresh = {.e = e, .when = w->now};
        fresh.known = compute_op(w, e, &fresh.value);
        *m = fresh;
    }
    *out = m->value;
    return m->known;
}

/* False: not known. */
static bool value_of(const struct meetings *w, const struct expr *e, union scalar *out) {
    union scalar v;
    switch (e->kind) {
    case EXPR_INT: *out = (union scalar){.i = e->integer}; return true;
    case EXPR_FLOAT: *out = (union scalar){.f = e->number}; return true;
    case EXPR_VAR:
        *out = (union scalar){.i = w->known[e->var->id].value};
        return w->known[e->var->id].set;
    case EXPR_CAST:
        if (!value_of(w, e->args[0], &v)) return false;
        *out = scalar_cast(v, e->args[0]->dtype, e->dtype);
        return true;
    case EXPR_SELECT: return value_of(w, e->args[0], &v) && value_of(w, e->args[v.i ? 1 : 2], out);
    case EXPR_OP: return value_of_op(w, e, out);
    case EXPR_LOAD:
    case EXPR_ELEMENT: break;
    }
    return false;
}

static bool may_hold(const struct meetings *w, const struct guard *g, int count) {
    union scalar v;
    for (int i = 0; i < count; i++)
        if (value_of(w, g[i].test, &v) && (v.i != 0) != g[i].holds) return false;
    return true;
}

/* -- What the indices depend on ---------------------------------------------------------------- */

static bool is_axis(const struct meetings *w, const struct var *v) {
    for (int k = 0; k < w->map->map.domain.rank; k++)
        if (w->map->map.domain.axis[k] == v) return true;
    return false;
}

/* Is every variable of it an axis, or one of few values? Then those are noted. */
static bool is_countable(struct meetings *w, const struct expr *e) {
    struct free_var f = {.var = e->kind == EXPR_VAR ? e->var : NULL};
    if (e->kind == EXPR_LOAD || e->kind == EXPR_ELEMENT) return false;
    for (int i = 0; i < e->count; i++)
        if (!is_countable(w, e->args[i])) return false;
    if (!f.var || is_axis(w, f.var)) return true;
    if (!dtype_is_integer(f.var->dtype) || f.var->lo < -MOST_VALUES || f.var->hi > MOST_VALUES)
        return false;
    for (int i = 0; i < w->free.count; i++)
        if (w->free.at[i].var == f.var) return true;
    for (int i = 0; i < w->loops.count; i++)
        if (w->loops.at[i]->loop.var == f.var) f.loop = w->loops.at[i];
    vec_push(w->arena, &w->free, f);
    return true;
}

static void choose_axes(struct meetings *w) {
    w->free.count = 0;
    w->countable = 0;
    int64_t elements = 1;
    for (int k = 0; k < w->buffer->rank; k++) {
        bool all = elements * w->buffer->extent[k] <= MOST_ELEMENTS;
        int before = w->free.count;
        for (int i = 0; i < w->spots.count && all; i++) {
            const struct access *a = &w->spots.at[i].access;
            if (a->buffer != w->buffer) continue;
            all = !block_binds(&w->map->map.body, a->index[k]) && is_countable(w, a->index[k]);
        }
        if (!all) w->free.count = before;
        if (!all) continue;
        w->countable |= 1u << k;
        elements *= w->buffer->extent[k];
    }
    for (int i = 0; i < w->spots.count; i++) {
        if (w->spots.at[i].access.buffer != w->buffer) continue;
        w->spots.at[i].toucher = arena_array(w->arena, int64_t, (size_t)elements);
        w->spots.at[i].several = arena_array(w->arena, int64_t, (size_t)elements);
    }
}

/* Outer loops first: the bounds of inner ones may depend on them. */
static void order_loops(struct meetings *w) {
    int place = 0;
    for (int i = w->loops.count; i >= 0; i--)
        for (int k = place; k < w->free.count; k++) {
            struct free_var f = w->free.at[k];
            if (f.loop != (i < w->loops.count ? w->loops.at[i] : NULL)) continue;
            w->free.at[k] = w->free.at[place];
            w->free.at[place++] = f;
        }
}

/* -- Running ----------------------------------------------------------------------------------- */

/* The element that the access touches now; false: none. */
static bool element_of(const struct meetings *w, const struct spot *s, int64_t *element) {
    union scalar v;
    *element = 0;
    if (!may_hold(w, s->guards.at, s->guards.count)) return false;
    for (int k = 0; k < w->buffer->rank; k++) {
        if (!(w->countable >> k & 1)) continue;
        if (!value_of(w, s->access.index[k], &v) || v.i < 0 || v.i >= w->buffer->extent[k])
            return false;
        *element = *element * w->buffer->extent[k] + v.i;
    }
    return true;
}

/* Every access of this iteration against all accesses of those before it. */
static void touch_all(struct meetings *w, int64_t iteration) {
    int64_t now = w->turn * w->iterations + iteration + 1, element;
    for (int i = 0; i < w->spots.count; i++) {
        struct spot *s = &w->spots.at[i];
        if (s->access.buffer != w->buffer || !element_of(w, s, &element)) continue;
        for (int k = 0; k < w->spots.count; k++) {
            const struct spot *o = &w->spots.at[k];
            if (o->access.buffer != w->buffer || o->toucher[element] <= w->turn * w->iterations)
                continue;
            if (o->toucher[element] == now && o->several[element] != w->turn + 1) continue;
            w->met[i * w->spots.count + k] = w->met[k * w->spots.count + i] = true;
        }
        if (s->toucher[element] > w->turn * w->iterations && s->toucher[element] != now)
            s->several[element] = w->turn + 1;
        s->toucher[element] = now;
    }
}

static void run_iterations(struct meetings *w, int axis, int64_t iteration) {
    const struct domain *d = &w->map->map.domain;
    if (axis == d->rank) {
        w->steps += w->spots.count;
        w->now++;
        touch_all(w, iteration);
        return;
    }
    struct known none, *k = d->axis[axis] ? &w->known[d->axis[axis]->id] : &none;
    k->set = true;
    for (k->value = 0; k->value < d->extent[axis] && w->steps < MOST_STEPS; k->value++)
        run_iterations(w, axis + 1, iteration * d->extent[axis] + k->value);
    k->set = false;
}

static void run_turns(struct meetings *w, int at) {
    if (at == w->free.count) {
        if (!may_hold(w, w->around.at, w->around.count)) return;
        run_iterations(w, 0, 0);
        w->turn++;
        return;
    }
    const struct free_var *f = &w->free.at[at];
    struct known *k = &w->known[f->var->id];
    union scalar lo = {.i = f->var->lo}, hi = {.i = f->var->hi}, v;
    if (f->loop && f->loop->loop.step > 0 && value_of(w, f->loop->loop.lo, &v)) lo.i = v.i;
    if (f->loop && f->loop->loop.step > 0 && value_of(w, f->loop->loop.hi, &v)) hi.i = v.i - 1;
    for (int64_t value = lo.i; value <= hi.i && w->steps < MOST_STEPS; value++) {
        *k = (struct known){true, value};
        w->steps++;
        w->now++;
        run_turns(w, at + 1);
    }
    k->set = false;
}

/* Everything may meet where not all iterations could be run. */
static void look_at(struct meetings *w, const struct buffer *b) {
    int64_t begin = w->steps;
    w->buffer = b;
    w->turn = 0;
    choose_axes(w);
    order_loops(w);
    if (w->countable) run_turns(w, 0);
    bool all = w->countable && w->steps < MOST_STEPS;
    for (int i = 0; i < w->spots.count && !all; i++)
        for (int k = 0; k < w->spots.count; k++)
            if (w->spots.at[i].access.buffer == b && w->spots.at[k].access.buffer == b)
                w->met[i * w->spots.count + k] = true;
    if (!all) w->steps = begin;
}

bool meetings_may(struct meetings *w, int first, int second) {
    if (w->spots.at[first].access.buffer != w->spots.at[second].access.buffer) return true;
    if (!w->met) {
        w->met = arena_array(w->arena, bool, w->spots.count * w->spots.count);
        w->known = arena_array(w->arena, struct known, exprs_vars(w->module->exprs));
        w->memo = arena_array(w->arena, struct memo, MEMOS);
        for (int i = 0; i < w->spots.count; i++) {
            bool seen = false;
            for (int k = 0; k < i; k++)
                seen |= w->spots.at[k].access.buffer == w->spots.at[i].access.buffer;
            if (!seen) look_at(w, w->spots.at[i].access.buffer);
        }
    }
    return w->met[first * w->spots.count + second];
}
