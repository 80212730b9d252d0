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

/* The value of an index for these domain coordinates, all else being 0. */
static int64_t index_value(const struct domain *d, const struct affine *f, const int64_t *x) {
    int64_t value = 0;
    for (int i = 0; i < f->count; i++)
        for (int a = 0; a < d->rank; a++)
            if (f->atom[i]->kind == EXPR_VAR && f->atom[i]->var == d->axis[a])
                value += f->coefficient[i] * x[a];
    return value;
}

/* The elements that the lanes of the first warp access first. */
struct elements {
    int lanes;
    int64_t at[32][LAYOUT_RANK];
};

static struct elements elements_of(const struct domain *d, const struct view *v) {
    struct elements e = {.lanes = 0};
    struct affine index[TILE_RANK];
    int64_t x[LAYOUT_RANK];
    int rank = v->buffer->rank;
    for (int k = 0; k < rank; k++)
        if (!affine_of(v->index[k], &index[k])) index[k].count = 0;
    for (int lane = 0; lane < 32; lane++) {
        if (!layout_coordinate(&d->layout, (struct place){.lane = lane}, x)) continue;
        int64_t *at = e.at[e.lanes++];
        for (int k = 0; k < rank; k++) {
            at[k] = index_value(d, &index[k], x);
            if (at[k] < 0 || at[k] >= v->buffer->extent[k]) at[k] = 0;
        }
    }
    return e;
}

static int bank_conflicts(const struct elements *e, const struct layout *l, int bytes, int vector) {
    int64_t address[32];
    for (int i = 0; i < e->lanes; i++) address[i] = layout_place(l, e->at[i]).off * bytes;
    return layout_bank_conflicts(address, e->lanes, bytes * vector);
}

enum { FORMS = 3 }; /* layouts tried */

/* Adds the conflicts of all accesses to the buffer under each layout. */
static void add_conflicts(const struct plan *p, const struct buffer *b, const struct layout *forms,
                          double *cost) {
    int bytes = dtype_bytes(b->dtype);
    for (int i = 0; i < p->sites.count; i++) {
        const struct site *s = &p->sites.at[i];
        for (int j = 0; j < s->views.count; j++) {
            const struct view *v = &s->views.at[j];
            if (v->buffer != b) continue;
            const struct domain *d = site_domain(s);
            struct elements e = elements_of(d, v);
            int vector = view_vector(v, &d->layout);
            double accesses = (double)layout_span(&d->layout, SPACE_REG) / vector;
            for (int f = 0; f < FORMS; f++)
                cost[f] += bank_conflicts(&e, &forms[f], bytes, vector) * accesses * s->weight;
        }
    }
}

/* -- One buffer -------------------------------------------------------------------------------- */

static void choose(struct plan *p, struct buffer *b) {
    int bytes = dtype_bytes(b->dtype);
    const struct layout forms[FORMS] = {
        layout_row_major(b->rank, b->extent, 0),
        layout_swizzled(b->rank, b->extent, bytes),
        layout_row_major(b->rank, b->extent, CHUNK / bytes > 0 ? CHUNK / bytes : 1),
    };
    static const char *const names[FORMS] = {"row-major", "swizzled", "padded rows"};
    double cost[FORMS] = {0};
    int best = 0;
    add_conflicts(p, b, forms, cost);
    for (int i = 1; i < FORMS; i++)
        if (cost[i] < cost[best]) best = i;
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
