/* memory.c: layouts of shared buffers, by the bank conflicts of their actual accesses.
 *
 * Operands of gemms are swizzled: ldmatrix reads 16-byte rows of a column of chunks. Other tiles
 * try row-major, swizzled and padded rows against every access of the kernel. */
#include "layout/plan.h"

enum { CHUNK = 16 }; /* bytes that a swizzle moves together */

static bool is_operand(const struct plan *p, const struct buffer *b) {
    for (int i = 0; i < p->sites.count; i++) {
        const struct stmt *s = p->sites.at[i].stmt;
        if (s->kind == STMT_GEMM && s->gemm.atom >= 0 &&
            (s->gemm.a.buffer == b || s->gemm.b.buffer == b))
            return true;
    }
    return false;
}

static bool has_views(const struct plan *p, const struct buffer *b) {
    if (b->alias) return true;
    for (int i = 0; i < p->k->buffers.count; i++)
        if (p->k->buffers.at[i]->alias == b) return true;
    return false;
}

/* -- Conflicts of one access ------------------------------------------------------------------- */

static bool lane_coordinates(const struct layout *domain, int lane, int64_t *coordinate) {
    struct place at = {.lane = lane};
    return layout_coordinate(domain, at, coordinate);
}

/* The value of an index for these domain coordinates, all else being 0. */
static int64_t index_value(const struct domain *d, const struct expr *e, const int64_t *x) {
    struct affine f;
    if (!affine_of(e, &f)) return 0;
    int64_t value = 0;
    for (int i = 0; i < f.count; i++)
        for (int a = 0; a < d->rank; a++)
            if (f.atom[i]->kind == EXPR_VAR && f.atom[i]->var == d->axis[a])
                value += f.coefficient[i] * x[a];
    return value;
}

static double view_conflicts(const struct site *s, const struct view *v, const struct layout *l) {
    const struct domain *d = site_domain((struct site *)s);
    int vector = view_vector(v, &d->layout), bytes = dtype_bytes(v->buffer->dtype);
    int64_t address[32], x[LAYOUT_RANK], at[LAYOUT_RANK];
    int lanes = 0;
    for (int lane = 0; lane < 32; lane++) {
        if (!lane_coordinates(&d->layout, lane, x)) continue;
        for (int k = 0; k < v->buffer->rank; k++) {
            at[k] = index_value(d, v->index[k], x);
            if (at[k] < 0 || at[k] >= v->buffer->extent[k]) at[k] = 0;
        }
        address[lanes++] = layout_place(l, at).off * bytes;
    }
    double accesses = (double)layout_span(&d->layout, SPACE_REG) / vector;
    return layout_bank_conflicts(address, lanes, bytes * vector) * accesses * s->weight;
}

static double conflicts(const struct plan *p, const struct buffer *b, const struct layout *l) {
    double total = 0;
    for (int i = 0; i < p->sites.count; i++) {
        const struct site *s = &p->sites.at[i];
        for (int j = 0; j < s->views.count; j++)
            if (s->views.at[j].buffer == b) total += view_conflicts(s, &s->views.at[j], l);
    }
    return total;
}

/* -- One buffer -------------------------------------------------------------------------------- */

static void choose(struct plan *p, struct buffer *b) {
    int bytes = dtype_bytes(b->dtype);
    const struct layout forms[3] = {
        layout_row_major(b->rank, b->extent, 0),
        layout_swizzled(b->rank, b->extent, bytes),
        layout_row_major(b->rank, b->extent, CHUNK / bytes > 0 ? CHUNK / bytes : 1),
    };
    static const char *const names[3] = {"row-major", "swizzled", "padded rows"};
    double cost[3];
    int best = 0;
    for (int i = 0; i < 3; i++) {
        cost[i] = conflicts(p, b, &forms[i]);
        if (cost[i] < cost[best]) best = i;
    }
    b->layout = forms[best];
    diag_remark(p->m->diag, b->span, "layout",
                "'%s' in shared memory: %s; bank conflicts row-major %.0f, swizzled %.0f, padded "
                "%.0f",
                b->name->text, names[best], cost[0], cost[1], cost[2]);
}

static void place_buffer(struct plan *p, struct buffer *b) {
    int bytes = dtype_bytes(b->dtype);
    if (has_views(p, b)) { /* which all count its elements row by row */
        b->layout = layout_row_major(b->rank, b->extent, 0);
    } else if (!layout_is_none(&b->annotation)) {
        b->layout = b->annotation;
    } else if (b->rank < 2) {
        b->layout = layout_row_major(b->rank, b->extent, 0);
    } else if (is_operand(p, b)) {
        b->layout = layout_swizzled(b->rank, b->extent, bytes);
        diag_remark(p->m->diag, b->span, "layout",
                    "'%s' in shared memory: swizzled, an operand of a matrix product",
                    b->name->text);
    } else {
        choose(p, b);
    }
}

void place_shared(struct plan *p) {
    for (int i = 0; i < p->k->buffers.count; i++)
        if (p->k->buffers.at[i]->scope == SCOPE_SHARED) place_buffer(p, p->k->buffers.at[i]);
}
