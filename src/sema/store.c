/* store.c: subscripts, element stores, variables and lets. */
#include "sema/builder.h"

struct expr *buffer_dim(struct sema *s, const struct buffer *b, int axis) {
    return b->scope == SCOPE_GLOBAL ? b->dim[axis] : expr_index(s->exprs, b->extent[axis]);
}

void mark_written(struct buffer *b) {
    if (b->scope == SCOPE_GLOBAL) b->written = true;
}

/* -- Subscripts ----------------------------------------------------------------------------------
 */
/* What lies outside a tensor reads as its safe value; a tile has no outside. */
bool check_index(struct sema *s, const struct buffer *b, int axis, struct expr *index,
                 struct span span) {
    int64_t n;
    if (b->scope == SCOPE_GLOBAL || !expr_is_int(index, &n)) return true;
    if (n >= 0 && n < b->extent[axis]) return true;
    sema_error(s, span, E0310,
               "index %lld of axis %d lies outside '%s'; it has %d entries, %d to %d", (long long)n,
               axis, b->name->text, b->extent[axis], n < 0 ? -b->extent[axis] : 0,
               b->extent[axis] - 1);
    return false;
}

static struct expr *plus(struct sema *s, struct expr *a, struct expr *b) {
    return expr_binary(s->exprs, FN_ADD, a, b);
}

static bool is_left_out(struct value v) { return v.kind == VALUE_ABSENT || v.kind == VALUE_NONE; }

static bool slice_axis(struct sema *s, struct subscript *out, int axis, const struct slice *sl) {
    struct expr *dim = buffer_dim(s, out->buffer, axis);
    struct expr *lo = expr_index(s->exprs, 0), *hi = dim;
    if (!is_left_out(sl->step) && !(sl->step.kind == VALUE_INT && sl->step.integer == 1)) {
        sema_error(s, out->span, E0314, "a slice of '%s' has a step; only lo:hi is possible",
                   out->buffer->name->text);
        return false;
    }
    if (!is_left_out(sl->lo) && !(lo = value_index(s, sl->lo, out->span))) return false;
    if (!is_left_out(sl->hi) && !(hi = value_index(s, sl->hi, out->span))) return false;
    bool hi_wraps = hi->hi < 0, open = is_left_out(sl->hi);
    if (lo->hi < 0 && (open || hi_wraps)) lo = plus(s, lo, dim);
    if (hi_wraps) hi = plus(s, hi, dim);
    out->range[axis] = true;
    out->lo[axis] = lo;
    out->hi[axis] = hi;
    return true;
}

static bool point_axis(struct sema *s, struct subscript *out, int axis, struct value v) {
    struct expr *index = value_index(s, v, out->span);
    if (!index) return false;
    struct expr *dim = buffer_dim(s, out->buffer, axis), *from_end = plus(s, index, dim);
    if (index->hi < 0 && from_end->hi >= 0) index = from_end;
    out->range[axis] = false;
    out->lo[axis] = index;
    out->hi[axis] = plus(s, index, expr_index(s->exprs, 1));
    return check_index(s, out->buffer, axis, index, out->span);
}

/* One more subscript of a slice counts from the slice's start. */
static bool within(struct sema *s, struct subscript *out, int axis, const struct subscript *base) {
    if (!base) return true;
    out->lo[axis] = plus(s, out->lo[axis], base->lo[axis]);
    out->hi[axis] = plus(s, out->hi[axis], base->lo[axis]);
    return true;
}

static bool entry(struct sema *s, struct subscript *out, int axis, struct value v,
                  const struct subscript *base) {
    struct slice all = {{.kind = VALUE_ABSENT}, {.kind = VALUE_ABSENT}, {.kind = VALUE_ABSENT}};
    if (value_is_bad(v)) return false;
    if (v.kind != VALUE_SLICE) return point_axis(s, out, axis, v) && within(s, out, axis, base);
    bool whole = is_left_out(v.slice->lo) && is_left_out(v.slice->hi);
    if (base && whole) return true; /* the base's own range */
    return slice_axis(s, out, axis, whole ? &all : v.slice) && within(s, out, axis, base);
}

/* The axes that entries apply to: all of a buffer, the ranges of a slice. */
static int open_axes(const struct subscript *out, bool is_base, int *axis) {
    int count = 0;
    for (int i = 0; i < out->buffer->rank; i++)
        if (!is_base || out->range[i]) axis[count++] = i;
    return count;
}

struct value subscript_of(struct sema *s, struct value base, int count, const struct value *entries,
                          struct span span) {
    struct subscript *out = arena_make(s->arena, struct subscript);
    bool is_base = base.kind == VALUE_ACCESS;
    int axis[TILE_RANK], used = 0;
    struct slice all = {{.kind = VALUE_ABSENT}, {.kind = VALUE_ABSENT}, {.kind = VALUE_ABSENT}};
    struct value full = {.kind = VALUE_SLICE, .slice = &all};
    if (is_base)
        *out = *base.subscript;
    else
        out->buffer = base.buffer;
    out->span = span;
    out->count = out->buffer->rank;
    out->given = (is_base ? base.subscript->given : 0) + count;
    int open = open_axes(out, is_base, axis);
    if (count > open)
        return sema_bad(s, span, E0311, "'%s' has %d axes, got %d indices", out->buffer->name->text,
                        open, count);
    for (int i = 0; i < count; i++) {
        bool dots = entries[i].kind == VALUE_ELLIPSIS;
        int fill = dots ? open - (count - 1) : 1;
        for (int k = 0; k < fill; k++, used++)
            if (!entry(s, out, axis[used], dots ? full : entries[i],
                       is_base ? base.subscript : NULL))
                return value_bad();
    }
    for (; used < open; used++)
        if (!entry(s, out, axis[used], full, is_base ? base.subscript : NULL)) return value_bad();
    return (struct value){.kind = VALUE_ACCESS, .subscript = out};
}

static struct expr *fixed(struct sema *s, struct expr *e, struct span span) {
    if (!expr_has_load(e) && !expr_uses_kind(e, VAR_MUTABLE)) return e;
    struct value v = form_let(s, intern_text(s->names, "at"), value_ir(e), DTYPE_NONE, span);
    return v.kind == VALUE_IR ? v.expr : e;
}

struct subscript *access_fixed(struct sema *s, const struct subscript *a, struct span span) {
    struct subscript *out = arena_make(s->arena, struct subscript);
    *out = *a;
    for (int i = 0; s->block && i < a->count; i++) {
        struct expr *length = expr_binary(s->exprs, FN_SUB, a->hi[i], a->lo[i]);
        out->lo[i] = fixed(s, a->lo[i], span);
        out->hi[i] =
            length->kind == EXPR_INT ? plus(s, out->lo[i], length) : fixed(s, a->hi[i], span);
    }
    return out;
}

bool access_is_element(const struct subscript *a) {
    for (int i = 0; i < a->count; i++)
        if (a->range[i]) return false;
    return true;
}

struct expr *access_load(struct sema *s, const struct subscript *a) {
    return expr_load(s->exprs, a->buffer, a->count, a->lo);
}

/* -- Stores --------------------------------------------------------------------------------------
 */
struct stmt *wrap_if(struct sema *s, struct expr *test, struct span span, struct block *into) {
    struct stmt *st = stmt_new(s->module, STMT_IF, span);
    st->branch.test = test;
    block_append(into, st);
    return st;
}

static void put(struct sema *s, struct buffer *b, struct expr *const *index, struct expr *value,
                struct span span) {
    struct stmt *st = append(s, STMT_STORE, span);
    st->store.buffer = b;
    st->store.count = b->rank;
    for (int i = 0; i < b->rank; i++) st->store.index[i] = index[i];
    st->store.value = value;
}

struct renaming { /* loads at these indices become loads at the axes */
    struct sema *s;
    const struct buffer *like;
    struct expr *const *index;
    struct expr **axis;
};

static struct expr *rename_load(struct expr *e, void *data) {
    const struct renaming *r = data;
    if (e->kind != EXPR_LOAD || e->buffer->scope != SCOPE_FRAGMENT) return NULL;
    if (e->count != r->like->rank) return NULL;
    for (int i = 0; i < e->count; i++)
        if (e->args[i] != r->index[i] || e->buffer->extent[i] != r->like->extent[i]) return NULL;
    return expr_load(r->s->exprs, e->buffer, e->count, r->axis);
}

/* One element of a fragment belongs to some threads only: all look at all elements they hold. */
static void store_fragment(struct sema *s, struct buffer *b, struct expr *const *index,
                           struct expr *value, struct span span) {
    struct domain d = domain_new(s, b->rank, b->extent, span);
    struct expr *axis[TILE_RANK], *test = NULL;
    for (int i = 0; i < b->rank; i++) {
        axis[i] = expr_var(s->exprs, d.axis[i]);
        if (b->extent[i] == 1) continue;
        struct expr *same = expr_binary(s->exprs, FN_EQ, axis[i], index[i]);
        test = test ? expr_binary(s->exprs, FN_LAND, test, same) : same;
    }
    struct renaming r = {s, b, index, axis};
    value = expr_rewrite_where(s->exprs, value, HOLDS_LOAD, rename_load, &r);
    struct stmt *map = map_new(s, d, span);
    struct block *into = &map->map.body;
    if (test) into = &wrap_if(s, test, span, into)->branch.then;
    struct block *outer = s->block;
    s->block = into;
    put(s, b, axis, value, span);
    s->block = outer;
}

void store_element(struct sema *s, struct buffer *b, struct expr *const *index, struct expr *value,
                   struct span span) {
    mark_written(b);
    if (b->scope == SCOPE_FRAGMENT && !s->tile->parallel) {
        if (s->tile->divergent)
            sema_error(
                s, span, E0411,
                "'%s' is spread over all %d threads, but only some threads come to this store",
                b->name->text, s->kernel->threads);
        else
            store_fragment(s, b, index, value, span);
        return;
    }
    if (b->scope == SCOPE_LOCAL) {
        bool differs = s->tile->divergent || s->tile->parallel || is_divergent(s, value);
        for (int i = 0; i < b->rank; i++) differs |= is_divergent(s, index[i]);
        if (differs) note_divergent_buffer(s, b);
    }
    put(s, b, index, value, span);
}

void form_store(struct sema *s, struct value target, struct value v, struct span span) {
    struct subscript *a = target.subscript;
    if (value_is_bad(target) || value_is_bad(v)) return;
    if (!access_is_element(a)) {
        sema_error(s, span, a->given < a->buffer->rank ? E0311 : E0414,
                   "an assignment stores one element of '%s'; T.fill or T.copy store slices",
                   a->buffer->name->text);
        return;
    }
    if (!s->block || !s->kernel) {
        sema_error(s, span, E0406, "the store to '%s' stands outside a kernel",
                   a->buffer->name->text);
        return;
    }
    struct expr *value = value_expr_as(s, v, a->buffer->dtype, span);
    if (value) store_element(s, a->buffer, a->lo, value, span);
}

/* -- Variables -----------------------------------------------------------------------------------
 */
void form_set(struct sema *s, struct value target, struct value v, struct span span) {
    if (value_is_bad(target) || value_is_bad(v)) return;
    struct var *var = target.mutable->var;
    struct expr *value = value_expr_as(s, v, var->dtype, span);
    if (!value) return;
    if (s->tile->divergent || s->tile->parallel || is_divergent(s, value))
        note_divergent_var(s, var);
    struct stmt *st = append(s, STMT_SET, span);
    st->let.var = var;
    st->let.value = value;
}

enum { WRITTEN_OUT = 64 }; /* operations of a let that may stand at each of its uses */

/* Computed from what never changes: written out at each use it means the same. */
static bool is_pure_integer(const struct expr *e) {
    if (!dtype_is_integer(e->dtype) && e->dtype != DTYPE_BOOL) return false;
    return !expr_has_load(e) && !expr_uses_kind(e, VAR_MUTABLE) &&
           expr_size(e, WRITTEN_OUT) < WRITTEN_OUT;
}

struct value form_let(struct sema *s, struct sym *name, struct value v, enum dtype type,
                      struct span span) {
    if (value_is_bad(v)) return v;
    struct expr *e = type == DTYPE_NONE ? value_expr(s, v, span) : value_expr_as(s, v, type, span);
    if (!e) return value_bad();
    if (!s->block || is_pure_integer(e) || e->kind == EXPR_INT || e->kind == EXPR_FLOAT ||
        (e->kind == EXPR_VAR && e->var->kind != VAR_MUTABLE))
        return value_ir(e);
    if (!name) name = intern_text(s->names, "value");
    struct var *var = var_new(s->exprs, VAR_LET, name, e->dtype, span);
    if (dtype_is_integer(e->dtype)) {
        var->lo = e->lo;
        var->hi = e->hi;
        var->divisor = e->divisor;
    }
    if (s->tile->divergent || is_divergent(s, e)) note_divergent_var(s, var);
    struct stmt *st = append(s, STMT_LET, span);
    st->let.var = var;
    st->let.value = e;
    return value_ir(expr_var(s->exprs, var));
}
