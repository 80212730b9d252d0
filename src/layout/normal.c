/* normal.c: rewrites after which a fragment is met only in forms that layouts speak about.
 *
 * Operands of gemm and reduce become whole fragments; what single threads store into a fragment
 * becomes a guarded MAP; a view of a fragment becomes accesses of the fragment itself. */
#include "layout/plan.h"

struct normaliser {
    struct plan *p;
    struct block *block;
};

static bool is_fragment(const struct buffer *b) { return b->scope == SCOPE_FRAGMENT; }

/* -- Views (T.reshape) of fragments ------------------------------------------------------------ */

static struct buffer *view_root(struct buffer *b) {
    while (b->alias) b = b->alias;
    return b;
}

static bool is_view(const struct buffer *b) { return is_fragment(b) && b->alias; }

/* The root's indices of element `index` of the view: both count elements row by row. */
static void root_index(struct plan *p, const struct buffer *view, struct expr *const *index,
                       struct expr **out) {
    struct exprs *x = p->m->exprs;
    struct buffer *root = view_root((struct buffer *)view);
    struct expr *flat = expr_index(x, 0);
    for (int k = 0; k < view->rank; k++) {
        flat = expr_binary(x, FN_MUL, flat, expr_index(x, view->extent[k]));
        flat = expr_binary(x, FN_ADD, flat, index[k]);
    }
    for (int k = root->rank - 1; k >= 0; k--) {
        struct expr *extent = expr_index(x, root->extent[k]);
        out[k] = k ? expr_binary(x, FN_FLOORMOD, flat, extent) : flat;
        flat = expr_binary(x, FN_FLOORDIV, flat, extent);
    }
}

static struct expr *root_load(struct expr *e, void *data) {
    struct plan *p = data;
    if (e->kind != EXPR_LOAD || !is_view(e->buffer)) return NULL;
    struct expr *index[TILE_RANK];
    struct buffer *root = view_root(e->buffer);
    root_index(p, e->buffer, e->args, index);
    return expr_load(p->m->exprs, root, root->rank, index);
}

static void root_expression(struct expr **e, void *data) {
    struct plan *p = data;
    *e = expr_rewrite_where(p->m->exprs, *e, HOLDS_LOAD, root_load, p);
}

static void root_statement(struct stmt *s, void *data) {
    struct plan *p = data;
    stmt_expressions(s, root_expression, p);
    if (s->kind != STMT_STORE || !is_view(s->store.buffer)) return;
    struct expr *index[TILE_RANK];
    struct buffer *root = view_root(s->store.buffer);
    root_index(p, s->store.buffer, s->store.index, index);
    s->store.buffer = root;
    s->store.count = root->rank;
    for (int k = 0; k < root->rank; k++) s->store.index[k] = index[k];
}

static bool refuse_reinterpretation(struct plan *p) {
    for (int i = 0; i < p->k->buffers.count; i++) {
        struct buffer *b = p->k->buffers.at[i];
        if (!is_view(b) || b->dtype == view_root(b)->dtype) continue;
        diag_report(
            p->m->diag, b->span, E0401,
            "'%s' views the fragment '%s' as %s; a fragment keeps its element type %s: copy "
            "it to shared memory first",
            b->name->text, view_root(b)->name->text, dtype_spelling(b->dtype),
            dtype_spelling(view_root(b)->dtype));
        return true;
    }
    return false;
}

static void drop_views(struct plan *p) {
    int kept = 0;
    for (int i = 0; i < p->k->buffers.count; i++)
        if (!is_view(p->k->buffers.at[i])) p->k->buffers.at[kept++] = p->k->buffers.at[i];
    p->k->buffers.count = kept;
}

/* -- Operands ---------------------------------------------------------------------------------- */

static void insert_copy(struct normaliser *n, struct stmt *at, const struct region *from,
                        const struct region *to, bool before) {
    struct stmt *copy = new_copy(n->p, from, to, at->span);
    if (before)
        block_insert_before(n->block, at, copy);
    else
        block_insert_after(n->block, at, copy);
}

/* `r` becomes a whole fragment: filled before `at` if `in`, stored back after it if `out`. */
static void make_whole(struct normaliser *n, struct stmt *at, struct region *r, int rank,
                       const bool *in_out) {
    if (is_fragment(r->buffer) && region_is_whole(r) && !r->buffer->alias) return;
    struct region old = *r;
    struct buffer *t = new_fragment(n->p, old.buffer->name->text, &old, rank);
    *r = region_whole(n->p->m, t);
    if (in_out[0]) insert_copy(n, at, &old, r, true);
    if (in_out[1]) insert_copy(n, at, r, &old, false);
}

static void normalise_gemm(struct normaliser *n, struct stmt *s) {
    int64_t clear = 0;
    bool cleared = s->gemm.clear && expr_is_int(s->gemm.clear, &clear) && clear;
    const bool read[2] = {true, false}, update[2] = {!cleared, true};
    if (is_fragment(s->gemm.a.buffer)) make_whole(n, s, &s->gemm.a, 2, read);
    if (is_fragment(s->gemm.b.buffer)) make_whole(n, s, &s->gemm.b, 2, read);
    make_whole(n, s, &s->gemm.c, 2, update);
}

/* Sums are made in the type of the result: the source is cast first. */
static void cast_source(struct normaliser *n, struct stmt *s) {
    struct region old = s->reduce.src;
    struct buffer *t = new_fragment(n->p, old.buffer->name->text, &old, old.buffer->rank);
    t->dtype = s->reduce.dst.buffer->dtype;
    s->reduce.src = region_whole(n->p->m, t);
    insert_copy(n, s, &old, &s->reduce.src, true);
}

static void normalise_reduce(struct normaliser *n, struct stmt *s) {
    const struct buffer *src = s->reduce.src.buffer, *dst = s->reduce.dst.buffer;
    if (src->scope == SCOPE_LOCAL || dst->scope == SCOPE_LOCAL) return;
    const bool read[2] = {true, false}, update[2] = {!s->reduce.clear, true};
    if (src->dtype != dst->dtype) cast_source(n, s);
    make_whole(n, s, &s->reduce.src, src->rank, read);
    make_whole(n, s, &s->reduce.dst, dst->rank, update);
}

/* -- COPY -------------------------------------------------------------------------------------- */

static bool inside(const struct region *r) {
    for (int k = 0; k < r->buffer->rank; k++) {
        int64_t base;
        if (!expr_is_int(r->base[k], &base) || base < 0) return false;
        if (base + r->extent[k] > r->buffer->extent[k]) return false;
    }
    return true;
}

static bool same_shape(const struct buffer *a, const struct buffer *b) {
    if (a->rank != b->rank) return false;
    for (int k = 0; k < a->rank; k++)
        if (a->extent[k] != b->extent[k]) return false;
    return true;
}

/* The indices of the side that does not lead the domain. */
static void paired_index(struct plan *p, const struct stmt *s, bool dst_leads,
                         struct expr *const *lead, struct expr **out) {
    const struct region *r = dst_leads ? &s->copy.src : &s->copy.dst;
    const int32_t *mine = dst_leads ? s->copy.src_axis : s->copy.dst_axis;
    const int32_t *other = dst_leads ? s->copy.dst_axis : s->copy.src_axis;
    for (int k = 0; k < r->buffer->rank; k++) out[k] = r->base[k];
    for (int a = 0; a < s->copy.domain.rank; a++)
        out[mine[a]] = expr_binary(p->m->exprs, FN_ADD, out[mine[a]], lead[other[a]]);
}

/* Unit axes of a padded fragment have places: only a MAP over them too says which threads hold
 * the element. */
static void copy_with_units(struct normaliser *n, struct stmt *s) {
    const struct region *src = &s->copy.src, *dst = &s->copy.dst;
    bool dst_leads = is_fragment(dst->buffer) && has_unit_axis(dst->buffer);
    const struct region *lead = dst_leads ? dst : src, *other = dst_leads ? src : dst;
    if (!is_fragment(lead->buffer) || !has_unit_axis(lead->buffer)) return;
    if (!region_is_whole(lead) || other->buffer->scope == SCOPE_LOCAL) return;
    if (other->buffer->scope != SCOPE_GLOBAL && !inside(other)) return;
    struct stmt *map = new_map(n->p, lead->buffer, s->span);
    struct expr *index[TILE_RANK], *paired[TILE_RANK];
    domain_indices(n->p, &map->map.domain, index);
    if (same_shape(src->buffer, dst->buffer) && region_is_whole(other))
        memcpy(paired, index, sizeof index);
    else
        paired_index(n->p, s, dst_leads, index, paired);
    struct expr *value =
        expr_load(n->p->m->exprs, src->buffer, src->buffer->rank, dst_leads ? paired : index);
    value = expr_cast(n->p->m->exprs, value, dst->buffer->dtype);
    block_append(&map->map.body,
                 new_store(n->p, dst->buffer, dst_leads ? index : paired, value, s->span));
    block_insert_before(n->block, s, map);
    block_remove(n->block, s);
}

static void normalise_copy(struct normaliser *n, struct stmt *s) {
    if (!is_view(s->copy.src.buffer) && !is_view(s->copy.dst.buffer)) {
        copy_with_units(n, s);
        return;
    }
    struct stmt *map = copy_as_map(n->p->m, s);
    block_walk(&map->map.body, root_statement, n->p);
    block_insert_before(n->block, s, map);
    block_remove(n->block, s);
}

/* -- Stores outside of MAPs -------------------------------------------------------------------- */

/* Every thread stores the same element: its holders do. */
static void normalise_store(struct normaliser *n, struct stmt *s) {
    struct exprs *x = n->p->m->exprs;
    struct buffer *b = s->store.buffer;
    struct stmt *map = new_map(n->p, b, s->span);
    struct expr *index[TILE_RANK], *test = expr_bool(x, true);
    domain_indices(n->p, &map->map.domain, index);
    for (int k = 0; k < b->rank; k++)
        test = expr_binary(
            x, FN_LAND, test,
            expr_binary(x, FN_EQ, index[k], expr_cast(x, s->store.index[k], DTYPE_INDEX)));
    struct stmt *guard = stmt_new(n->p->m, STMT_IF, s->span);
    guard->branch.test = test;
    block_append(&guard->branch.then, new_store(n->p, b, index, s->store.value, s->span));
    block_append(&map->map.body, guard);
    block_insert_before(n->block, s, map);
    block_remove(n->block, s);
}

/* -- Names for indices in MAPs ----------------------------------------------------------------- */

/* `row = bx * 4 + i` in a MAP: its uses get the value, so that indices show their axes. */
static void inline_lets(struct plan *p, struct stmt *map) {
    for (struct stmt *s = map->map.body.first; s; s = s->next) {
        if (s->kind != STMT_LET || !dtype_is_integer(s->let.var->dtype)) continue;
        struct expr *value = s->let.value;
        if (expr_has_load(value) || expr_uses_kind(value, VAR_MUTABLE)) continue;
        struct block rest = {s->next, map->map.body.last};
        if (s->next) block_substitute(p->m, &rest, 1, &s->let.var, &value);
    }
}

/* -- Writes of one element of an axis ---------------------------------------------------------- */

/* A MAP over i that writes f[i, k] with k the same for all iterations becomes a MAP over i and all
 * elements j of that axis, guarded by j == k: holders write their own element and nothing is
 * exchanged. */
struct pin {
    struct plan *p;
    const struct domain *d;
    struct buffer *b;              /* the only fragment that is written */
    struct expr *index[TILE_RANK]; /* the only index of its accesses */
    bool pinned[TILE_RANK];        /* axes of b that get an axis of the domain */
    bool alone;                    /* nothing else comes of an iteration than elements of b */
    bool fits;
};

static void note_pin(const struct access *a, void *data) {
    struct pin *n = data;
    if (a->buffer->scope != SCOPE_FRAGMENT) return;
    if ((a->kind & ACCESS_WRITE) && a->buffer != n->b) n->fits = false;
    for (int k = 0; a->buffer == n->b && k < n->b->rank; k++)
        if (a->index[k] != n->index[k]) n->fits = false;
}

static void first_write(const struct access *a, void *data) {
    struct pin *n = data;
    if (n->b || a->buffer->scope != SCOPE_FRAGMENT || !(a->kind & ACCESS_WRITE)) return;
    n->b = a->buffer;
    for (int k = 0; k < n->b->rank; k++) n->index[k] = a->index[k];
}

static bool is_axis(const struct domain *d, const struct expr *e) {
    for (int a = 0; a < d->rank; a++)
        if (e->kind == EXPR_VAR && e->var == d->axis[a]) return true;
    return false;
}

/* Known before the MAP starts: not bound or loaded inside. */
static bool is_invariant(const struct domain *d, const struct expr *e) {
    if (expr_has_load(e) || expr_uses_kind(e, VAR_MUTABLE) || expr_uses_kind(e, VAR_LET))
        return false;
    for (int a = 0; a < d->rank; a++)
        if (expr_uses_var(e, d->axis[a])) return false;
    return true;
}

static void find_inner_loop(struct stmt *s, void *data) {
    struct pin *n = data;
    for (int k = 0; s->kind == STMT_FOR && k < n->b->rank; k++)
        if (expr_uses_var(n->index[k], s->loop.var)) n->fits = false;
}

static void find_effect(struct stmt *s, void *data) {
    struct pin *n = data;
    bool other =
        s->kind == STMT_STORE && s->store.buffer != n->b && s->store.buffer->scope != SCOPE_LOCAL;
    if (other || s->kind == STMT_ATOMIC || s->kind == STMT_PRINT || s->kind == STMT_ASSERT)
        n->alone = false;
}

/* Where no element has this index, because a branch inside leaves the write out, the guard would
 * leave out all that the iteration does. */
static bool is_element(const struct expr *e, int32_t extent) {
    return e->lo >= 0 && e->hi < extent;
}

static int count_pins(struct pin *n) {
    int pins = 0;
    for (int k = 0; k < n->b->rank && n->fits; k++) {
        if (is_axis(n->d, n->index[k])) continue;
        int64_t value;
        bool unit = n->b->extent[k] == 1 && expr_is_int(n->index[k], &value) && value == 0;
        if (unit) continue;
        n->fits = is_invariant(n->d, n->index[k]) &&
                  (n->alone || is_element(n->index[k], n->b->extent[k]));
        n->pinned[k] = true;
        pins++;
    }
    return pins;
}

static struct expr *pinned_load(struct expr *e, void *data) {
    struct pin *n = data;
    if (e->kind != EXPR_LOAD || e->buffer != n->b) return NULL;
    return expr_load(n->p->m->exprs, n->b, n->b->rank, n->index);
}

static void pinned_expression(struct expr **e, void *data) {
    struct pin *n = data;
    *e = expr_rewrite_where(n->p->m->exprs, *e, HOLDS_LOAD, pinned_load, n);
}

static void pinned_statement(struct stmt *s, void *data) {
    struct pin *n = data;
    stmt_expressions(s, pinned_expression, n);
    if (s->kind != STMT_STORE || s->store.buffer != n->b) return;
    for (int k = 0; k < n->b->rank; k++) s->store.index[k] = n->index[k];
}

static void widen_to_pins(struct pin *n, struct stmt *map) {
    struct exprs *x = n->p->m->exprs;
    struct domain *d = &map->map.domain;
    struct expr *test = expr_bool(x, true);
    for (int k = 0; k < n->b->rank; k++) {
        if (!n->pinned[k]) continue;
        struct var *v = new_axis(n->p, d->rank, n->b->extent[k], map->span);
        test = expr_binary(
            x, FN_LAND, test,
            expr_binary(x, FN_EQ, expr_var(x, v), expr_cast(x, n->index[k], DTYPE_INDEX)));
        n->index[k] = expr_var(x, v);
        d->extent[d->rank] = n->b->extent[k];
        d->axis[d->rank++] = v;
    }
    block_walk(&map->map.body, pinned_statement, n);
    struct stmt *guard = stmt_new(n->p->m, STMT_IF, map->span);
    guard->branch.test = test;
    guard->branch.then = map->map.body;
    map->map.body = (struct block){guard, guard};
}

static void pin_writes(struct plan *p, struct stmt *map) {
    struct pin n = {.p = p, .d = &map->map.domain, .alone = true, .fits = true};
    for (struct stmt *s = map->map.body.first; s; s = s->next)
        stmt_accesses(p->m, s, first_write, &n);
    if (!n.b) return;
    for (struct stmt *s = map->map.body.first; s; s = s->next) stmt_accesses(p->m, s, note_pin, &n);
    block_walk(&map->map.body, find_inner_loop, &n);
    block_walk(&map->map.body, find_effect, &n);
    int pins = n.fits ? count_pins(&n) : 0;
    if (pins && n.fits && n.d->rank + pins <= TILE_RANK) widen_to_pins(&n, map);
}

/* -- Walk -------------------------------------------------------------------------------------- */

static void normalise_block(struct normaliser *n, struct block *b) {
    for (struct stmt *s = b->first, *next; s; s = next) {
        next = s->next;
        n->block = b;
        switch (s->kind) {
        case STMT_FOR: normalise_block(n, &s->loop.body); break;
        case STMT_WHILE: normalise_block(n, &s->repeat.body); break;
        case STMT_IF:
            normalise_block(n, &s->branch.then);
            normalise_block(n, &s->branch.otherwise);
            break;
        case STMT_MAP:
            inline_lets(n->p, s);
            pin_writes(n->p, s);
            break;
        case STMT_GEMM: normalise_gemm(n, s); break;
        case STMT_REDUCE: normalise_reduce(n, s); break;
        case STMT_COPY: normalise_copy(n, s); break;
        case STMT_STORE:
            if (is_fragment(s->store.buffer)) normalise_store(n, s);
            break;
        case STMT_BREAK:
        case STMT_CONTINUE:
        case STMT_LET:
        case STMT_SET:
        case STMT_ATOMIC:
        case STMT_PRINT:
        case STMT_ASSERT:
        case STMT_BARRIER:
        case STMT_COMMIT:
        case STMT_WAIT: break;
        }
    }
}

void normalise(struct plan *p) {
    if (refuse_reinterpretation(p)) return;
    block_walk(&p->k->body, root_statement, p);
    struct normaliser n = {.p = p};
    normalise_block(&n, &p->k->body);
    /* Copies of operands that were views are new: one more round turns them into MAPs. */
    normalise_block(&n, &p->k->body);
    drop_views(p);
}
