/* relate.c: layouts seen through views: the domain that a fragment wants, the slice that a domain
 * gives a fragment, and whether an access is in place.
 *
 * In place is stricter than "no exchange between threads": which register holds the element must
 * not depend on the lane, so register digits of the fragment must be register digits of the
 * domain. */
#include "layout/plan.h"

/* -- From a fragment to a domain and back ------------------------------------------------------ */

static bool is_thread(const struct digit *d) {
    return d->space == SPACE_LANE || d->space == SPACE_WARP;
}

/* Register digits that an axis shorter than the fragment's never counts are no iterations. */
static void trim_axis(struct layout_axis *a) {
    int64_t weight = 1;
    int kept = 0;
    for (int i = 0; i < a->count; i++) {
        struct digit d = a->digit[i];
        bool idle = weight >= a->extent && d.space == SPACE_REG;
        weight *= d.radix;
        if (!idle) a->digit[kept++] = d;
    }
    for (int i = kept; i < a->count; i++) a->digit[i] = (struct digit){0};
    a->count = kept;
}

/* Numbers the registers without gaps, in the same order. */
static void close_registers(struct layout *l) {
    struct digit *digit[LAYOUT_RANK * LAYOUT_DIGITS];
    int count = 0;
    for (int a = 0; a < l->rank; a++)
        for (int i = 0; i < l->axis[a].count; i++)
            if (l->axis[a].digit[i].space == SPACE_REG) digit[count++] = &l->axis[a].digit[i];
    int32_t next = 1;
    for (int done = 0; done < count; done++) {
        int least = done;
        for (int i = done + 1; i < count; i++)
            if (digit[i]->stride < digit[least]->stride) least = i;
        struct digit *d = digit[least];
        digit[least] = digit[done];
        d->stride = next;
        next *= d->radix;
    }
}

struct layout domain_of_view(const struct domain *d, const struct view *v, const struct layout *l) {
    struct layout out = *l;
    int order[TILE_RANK] = {0};
    for (int k = v->buffer->rank - 1; k >= 0; k--)
        if (v->axis[k] < 0) out = layout_drop(&out, k);
    int kept[TILE_RANK], count = 0; /* buffer axes left, as axes of `out` */
    for (int k = 0; k < v->buffer->rank; k++)
        if (v->axis[k] >= 0) kept[count++] = v->axis[k];
    int rank = count;
    for (int a = 0; a < d->rank; a++) {
        bool found = false;
        for (int i = 0; i < count && !found; i++)
            if (kept[i] == a) {
                order[a] = i;
                found = true;
            }
        if (found) continue;
        out = layout_insert(&out, rank, 1);
        order[a] = rank++;
    }
    out = layout_permute(&out, order);
    bool shorter = false;
    for (int a = 0; a < d->rank; a++) {
        if (d->extent[a] >= out.axis[a].extent) continue;
        shorter = true;
        out.axis[a].extent = d->extent[a];
        if (d->extent[a] > 1) trim_axis(&out.axis[a]);
    }
    if (shorter) close_registers(&out);
    return layout_canonical(&out);
}

struct layout view_of_domain(const struct view *v, const struct layout *domain) {
    struct layout out = *domain;
    int at[TILE_RANK]; /* axis of `out` for each domain axis */
    for (int a = 0; a < domain->rank; a++) at[a] = a;
    for (int a = domain->rank - 1; a >= 0; a--) {
        bool used = false;
        for (int k = 0; k < v->buffer->rank; k++) used |= v->axis[k] == a;
        if (used) continue;
        out = layout_drop(&out, a);
        for (int b = a + 1; b < domain->rank; b++) at[b]--;
    }
    int order[TILE_RANK] = {0};
    int rank = out.rank;
    for (int k = 0; k < v->buffer->rank; k++) {
        if (v->axis[k] >= 0) {
            order[k] = at[v->axis[k]];
            continue;
        }
        out = layout_insert(&out, rank, 1);
        order[k] = rank++;
    }
    out = layout_permute(&out, order);
    for (int k = 0; k < v->buffer->rank; k++) out.axis[k].extent = v->buffer->extent[k];
    return layout_canonical(&out);
}

/* -- In place? --------------------------------------------------------------------------------- */

/* Walks two digit lists of one axis together; `same` judges each common piece. */
struct piece {
    const struct layout_axis *axis;
    int at;
    int32_t used; /* of the current digit */
};

static int32_t piece_left(const struct piece *p) {
    return p->at < p->axis->count ? p->axis->digit[p->at].radix / p->used : 0;
}

static struct digit piece_take(struct piece *p, int32_t radix) {
    struct digit d = p->axis->digit[p->at];
    d.stride *= p->used;
    d.radix = radix;
    p->used *= radix;
    if (p->used >= p->axis->digit[p->at].radix) {
        p->at++;
        p->used = 1;
    }
    return d;
}

static bool piece_agrees(struct digit domain, struct digit held) {
    if (held.space == SPACE_REG) return domain.space == SPACE_REG;
    return domain.space == held.space && domain.stride == held.stride;
}

static bool axis_agrees(const struct layout_axis *domain, const struct layout_axis *held) {
    struct piece d = {domain, 0, 1}, h = {held, 0, 1};
    for (;;) {
        int32_t left_d = piece_left(&d), left_h = piece_left(&h);
        if (!left_d || !left_h) break;
        int32_t take = left_d < left_h ? left_d : left_h;
        if (left_d % take || left_h % take) return false;
        struct digit from = piece_take(&d, take), to = piece_take(&h, take);
        if (!piece_agrees(from, to)) return false;
    }
    return true; /* what is left on either side is 0 for all elements */
}

/* Is the thread digit `d` part of one of the copies in `reps`? */
static bool rep_covers(const struct layout *l, const struct digit *d) {
    for (int i = 0; i < l->reps; i++) {
        const struct digit *r = &l->rep[i];
        if (r->space != d->space || r->stride > d->stride || d->stride % r->stride) continue;
        int32_t up = d->stride / r->stride * d->radix;
        if (up <= r->radix && r->radix % up == 0) return true;
    }
    return false;
}

/* A lane digit may span several reps: lanes are bits. */
static unsigned lane_bits(const struct digit *d) {
    return d->space == SPACE_LANE ? ((unsigned)d->radix - 1) * (unsigned)d->stride : 0;
}

static unsigned rep_lanes(const struct layout *l) {
    unsigned bits = 0;
    for (int i = 0; i < l->reps; i++) bits |= lane_bits(&l->rep[i]);
    return bits;
}

static bool copies_cover(const struct layout *outer, const struct layout *inner) {
    unsigned lanes = rep_lanes(outer);
    for (int i = 0; i < inner->reps; i++) {
        const struct digit *d = &inner->rep[i];
        if (!is_thread(d)) continue;
        if (d->space == SPACE_LANE ? (lane_bits(d) & ~lanes) != 0 : !rep_covers(outer, d))
            return false;
    }
    return true;
}

static bool drops_padding(const struct view *v, const struct layout *domain) {
    for (int a = 0; a < domain->rank; a++) {
        bool used = false;
        for (int k = 0; k < v->buffer->rank; k++) used |= v->axis[k] == a;
        int64_t places = 1;
        for (int i = 0; i < domain->axis[a].count; i++) places *= domain->axis[a].digit[i].radix;
        if (!used && places != domain->axis[a].extent) return true;
    }
    return false;
}

/* Is the element with a constant index in one register of every thread? A unit axis with places
 * is padded: its other places are no copies. */
static bool in_registers(const struct layout_axis *a, int32_t extent) {
    for (int i = 0; i < a->count; i++)
        if (extent == 1 || a->digit[i].space != SPACE_REG) return false;
    return true;
}

bool held_in_place(const struct layout *domain, const struct view *v, const struct layout *l) {
    if (!v->in_place || layout_is_none(l)) return false;
    bool write = (v->kind & ACCESS_WRITE) != 0;
    struct layout slice = view_of_domain(v, domain);
    if (layout_equal(&slice, l)) return !write || !drops_padding(v, domain);
    for (int k = 0; k < v->buffer->rank; k++) {
        if (v->axis[k] < 0 && !in_registers(&l->axis[k], v->buffer->extent[k])) return false;
        if (v->axis[k] >= 0 && !axis_agrees(&slice.axis[k], &l->axis[k])) return false;
    }
    if (!copies_cover(l, &slice)) return false;
    return !write || (copies_cover(&slice, l) && !drops_padding(v, domain));
}

/* -- Reductions -------------------------------------------------------------------------------- */

struct layout reduced_layout(const struct layout *src, int axis, bool keep_unit) {
    struct layout out = layout_drop(src, axis);
    return keep_unit ? layout_insert(&out, axis, 1) : out;
}

bool axis_warps(const struct layout *l, int axis, int32_t *parts, int32_t *weight) {
    const struct layout_axis *a = &l->axis[axis];
    int32_t w = 1;
    *parts = 1;
    *weight = 1;
    for (int i = 0; i < a->count; i++) {
        if (a->digit[i].space == SPACE_WARP) {
            if (*parts > 1) return false;
            *parts = a->digit[i].radix;
            *weight = w;
        }
        w *= a->digit[i].radix;
    }
    return true;
}

struct layout partial_layout(const struct layout *src, int axis, int32_t parts) {
    struct layout out = layout_drop(src, axis);
    struct digit warp = {.radix = 1, .stride = 1, .space = SPACE_WARP};
    for (int i = 0; i < src->axis[axis].count; i++)
        if (src->axis[axis].digit[i].space == SPACE_WARP) warp = src->axis[axis].digit[i];
    /* The warps of the axis are no copies here: they are its elements. */
    struct layout kept = out;
    kept.reps = 0;
    for (int i = 0; i < out.reps; i++) {
        struct digit d = out.rep[i];
        if (d.space != SPACE_WARP || !rep_covers(&out, &warp) || warp.stride < d.stride ||
            warp.stride >= d.stride * d.radix) {
            kept.rep[kept.reps++] = d;
            continue;
        }
        int32_t below = warp.stride / d.stride, above = d.radix / (below * warp.radix);
        if (below > 1) kept.rep[kept.reps++] = (struct digit){below, d.stride, SPACE_WARP};
        if (above > 1)
            kept.rep[kept.reps++] = (struct digit){above, warp.stride * warp.radix, SPACE_WARP};
    }
    for (int i = kept.reps; i < LAYOUT_REPS; i++) kept.rep[i] = (struct digit){0};
    kept = layout_append_axis(&kept, parts, warp);
    int order[TILE_RANK];
    for (int a = 0, from = 0; a < kept.rank; a++) order[a] = a == axis ? kept.rank - 1 : from++;
    kept = layout_permute(&kept, order);
    return layout_canonical(&kept);
}

/* -- Operands of a matrix product -------------------------------------------------------------- */

static struct layout atom_layout(const struct module *m, const char *words) {
    struct cursor c = cursor_new(m->arena, words, strlen(words));
    struct layout l = layout_none();
    layout_read(&c, &l);
    return l;
}

struct layout gemm_layout(const struct module *m, const struct stmt *gemm, char operand) {
    const struct mma_row *r = mma_row(gemm->gemm.atom);
    const struct digit rows = {gemm->gemm.row_warps, gemm->gemm.column_warps, SPACE_WARP};
    const struct digit columns = {gemm->gemm.column_warps, 1, SPACE_WARP};
    const struct digit none = {1, 1, SPACE_WARP};
    const char *words = operand == 'a' ? r->a_layout : operand == 'b' ? r->b_layout : r->d_layout;
    const struct region *region = operand == 'a'   ? &gemm->gemm.a
                                  : operand == 'b' ? &gemm->gemm.b
                                                   : &gemm->gemm.c;
    int32_t extent[2] = {operand == 'b' ? gemm->gemm.k : gemm->gemm.m,
                         operand == 'a' ? gemm->gemm.k : gemm->gemm.n};
    struct digit warp[2] = {operand == 'b' ? none : rows, operand == 'a' ? none : columns};
    struct digit copies = operand == 'a' ? columns : operand == 'b' ? rows : none;
    struct layout atom = atom_layout(m, words);
    struct layout l = layout_fragment(&atom, extent, warp, copies);
    bool transposed = operand == 'a'   ? gemm->gemm.transpose_a
                      : operand == 'b' ? gemm->gemm.transpose_b
                                       : false;
    if (transposed) l = layout_permute(&l, (const int[]){1, 0});
    for (int i = region->buffer->rank; i > 2; i--) l = layout_insert(&l, 0, 1);
    return layout_canonical(&l);
}
