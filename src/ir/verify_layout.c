/* verify_layout.c: the rules of tile IR that speak of layouts and addresses. */
#include "ir/internal.h"
#include "ir/verify.h"

/* -- layouts of buffers and domains
 * ---------------------------------------------------------------- */
/* Product of the radices of a space's digits, Rep digits included. */
static int64_t places(const struct layout *l, enum space space) {
    int64_t count = 1;
    for (int a = 0; a < l->rank; a++)
        for (int i = 0; i < l->axis[a].count; i++)
            if (l->axis[a].digit[i].space == space) count *= l->axis[a].digit[i].radix;
    for (int i = 0; i < l->reps; i++)
        if (l->rep[i].space == space) count *= l->rep[i].radix;
    return count;
}

static bool has_extents(const struct layout *l, int rank, const int32_t *extent) {
    if (l->rank != rank) return false;
    for (int i = 0; i < rank; i++)
        if (l->axis[i].extent != extent[i]) return false;
    return true;
}

/* A layout over threads covers the extents and names every lane and warp of the block. */
static void check_distributed(struct verifier *v, const struct layout *l, int rank,
                              const int32_t *extent, const char *what) {
    const char *why = "";
    if (layout_is_none(l))
        verify_fail(v, v->span, "%s has no layout", what);
    else if (!layout_valid(l, &why))
        verify_fail(v, v->span, "the layout of %s: %s", what, why);
    else if (!has_extents(l, rank, extent))
        verify_fail(v, v->span, "the layout of %s has other extents", what);
    else if (places(l, SPACE_LANE) != 32 || places(l, SPACE_WARP) != v->k->threads / 32)
        verify_fail(v, v->span, "the layout of %s has %lld lanes and %lld warps, not 32 and %d",
                    what, (long long)places(l, SPACE_LANE), (long long)places(l, SPACE_WARP),
                    v->k->threads / 32);
    else if (places(l, SPACE_OFF) != 1)
        verify_fail(v, v->span, "%s is no memory", what);
}

void verify_domain(struct verifier *v, const struct domain *d) {
    check_distributed(v, &d->layout, d->rank, d->extent, "a domain");
}

/* Shared memory: offsets only, over the buffer's extents. */
static void check_memory(struct verifier *v, const struct buffer *b) {
    const char *why = "", *name = b->name->text;
    const struct layout *l = &b->layout;
    if (layout_is_none(l))
        verify_fail(v, b->span, "'%s' has no layout", name);
    else if (!layout_valid(l, &why))
        verify_fail(v, b->span, "layout of '%s': %s", name, why);
    else if (!has_extents(l, b->rank, b->extent))
        verify_fail(v, b->span, "the layout of '%s' has other extents", name);
    else if (places(l, SPACE_LANE) != 1 || places(l, SPACE_WARP) != 1 || places(l, SPACE_REG) != 1)
        verify_fail(v, b->span, "the layout of '%s' names threads", name);
}

void verify_buffer(struct verifier *v, const struct buffer *b) {
    if (b->rank < 1 || b->rank > TILE_RANK)
        verify_fail(v, b->span, "'%s' has %d axes", b->name->text, b->rank);
    for (int i = 0; i < b->rank && b->scope != SCOPE_GLOBAL; i++)
        if (b->extent[i] < 1)
            verify_fail(v, b->span, "axis %d of '%s' has extent %d", i, b->name->text,
                        b->extent[i]);
    if (b->ring > 0 && b->extent[0] != b->ring)
        verify_fail(v, b->span, "ring '%s' of %d slots has %d", b->name->text, b->ring,
                    b->extent[0]);
    if (v->level < LEVEL_PLACED || v->why) return;
    v->span = b->span;
    if (b->scope == SCOPE_FRAGMENT)
        check_distributed(v, &b->layout, b->rank, b->extent, b->name->text);
    if (b->scope == SCOPE_SHARED && !b->alias) check_memory(v, b);
}

/* -- fragments in MAPs
 * ----------------------------------------------------------------------------- */
static int axis_of(const struct domain *d, const struct expr *e) {
    for (int i = 0; i < d->rank; i++)
        if (e->kind == EXPR_VAR && e->var == d->axis[i]) return i;
    return -1;
}

/* The fragment's layout over the domain axes that index it, and the domain's over the same ones.
 * False if the indices are anything but axis variables and, on register axes, uniform values. */
static bool in_place(const struct domain *d, const struct buffer *b, struct expr *const *index,
                     struct layout *fragment, struct layout *domain) {
    int used[TILE_RANK], count = 0;
    bool taken[TILE_RANK] = {false};
    *fragment = b->layout;
    *domain = d->layout;
    for (int i = b->rank - 1; i >= 0; i--) {
        int axis = axis_of(d, index[i]);
        if (axis >= 0 && taken[axis]) return false;
        if (axis >= 0) {
            taken[axis] = true;
            used[count++] = axis;
            continue;
        }
        if (expr_uses_kind(index[i], VAR_AXIS)) return false;
        for (int k = 0; k < b->layout.axis[i].count; k++)
            if (b->layout.axis[i].digit[k].space != SPACE_REG) return false;
        *fragment = layout_drop(fragment, i);
    }
    int order[TILE_RANK];
    for (int i = 0; i < count; i++) { /* rank of the axis among those kept */
        order[count - 1 - i] = 0;
        for (int k = 0; k < used[i]; k++) order[count - 1 - i] += taken[k];
    }
    for (int i = d->rank - 1; i >= 0; i--)
        if (!taken[i]) *domain = layout_drop(domain, i);
    *domain = layout_permute(domain, order);
    return true;
}

static bool held_by_all(const struct layout *l) {
    for (int i = 0; i < l->rank; i++)
        for (int k = 0; k < l->axis[i].count; k++)
            if (l->axis[i].digit[k].space != SPACE_REG) return false;
    return true;
}

static void check_holders(struct verifier *v, const struct buffer *b, const struct layout *fragment,
                          const struct layout *domain, bool write) {
    for (int i = 0; i < fragment->rank; i++) /* a part of the fragment: no two layouts to compare */
        if (fragment->axis[i].extent != domain->axis[i].extent) return;
    enum move_class move =
        write ? layout_classify(domain, fragment) : layout_classify(fragment, domain);
    if (move != MOVE_NONE && move != MOVE_REGISTERS)
        verify_fail(v, v->span, "'%s' is %s by threads that do not hold it", b->name->text,
                    write ? "written" : "read");
}

/* Is each axis of the fragment the domain's? So most are, and their layouts meet as they stand. */
static bool is_whole(const struct domain *d, const struct buffer *b, struct expr *const *index) {
    bool whole = b->rank == d->rank;
    for (int i = 0; whole && i < b->rank; i++) whole = axis_of(d, index[i]) == i;
    return whole;
}

/* In a MAP a fragment's element is touched by the very threads that hold it; what all hold may be
 * read anywhere. */
void verify_access(struct verifier *v, const struct buffer *b, struct expr *const *index,
                   bool write) {
    struct layout fragment, domain;
    if (b->scope != SCOPE_FRAGMENT || v->why) return;
    if (!v->map && !write && held_by_all(&b->layout)) return;
    if (!v->map) {
        verify_fail(v, v->span, "fragment '%s' is accessed outside a MAP", b->name->text);
        return;
    }
    if (is_whole(&v->map->map.domain, b, index)) {
        check_holders(v, b, &b->layout, &v->map->map.domain.layout, write);
        return;
    }
    if (!in_place(&v->map->map.domain, b, index, &fragment, &domain)) {
        verify_fail(v, v->span, "fragment '%s' is not accessed in place", b->name->text);
        return;
    }
    check_holders(v, b, &fragment, &domain, write);
}

static struct expr *check_load(struct expr *e, void *data) {
    if (e->kind == EXPR_LOAD) verify_access(data, e->buffer, e->args, false);
    return NULL;
}

void verify_loads(struct verifier *v, struct expr *e) {
    if (expr_has_load(e)) expr_rewrite_where(v->m->exprs, e, HOLDS_LOAD, check_load, v);
}

/* -- addresses
 * ------------------------------------------------------------------------------------- */
/* At SCHEDULED every shared buffer lies at a multiple of 16 bytes within the block's memory. */
void verify_offsets(struct verifier *v) {
    const struct kernel *k = v->k;
    for (int i = 0; i < k->buffers.count; i++) {
        const struct buffer *b = k->buffers.at[i];
        if (b->scope != SCOPE_SHARED || b->alias) continue;
        int64_t bytes = layout_span(&b->layout, SPACE_OFF) * dtype_bytes(b->dtype);
        if (b->offset < 0)
            verify_fail(v, b->span, "'%s' has no offset", b->name->text);
        else if (b->offset % 16)
            verify_fail(v, b->span, "'%s' lies at %d", b->name->text, b->offset);
        else if (b->offset + bytes > k->shared_bytes)
            verify_fail(v, b->span, "'%s' ends at %lld of %d bytes", b->name->text,
                        (long long)(b->offset + bytes), k->shared_bytes);
    }
    if (v->m->target && k->shared_bytes > v->m->target->shared_block)
        verify_fail(v, k->span, "%d bytes of shared memory, %d are there", k->shared_bytes,
                    v->m->target->shared_block);
}
