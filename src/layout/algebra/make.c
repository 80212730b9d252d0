/* make.c: the layouts that the compiler starts from: memory, partitions, fragments. */
#include "layout/algebra/internal.h"
#include <assert.h>

static struct digit digit_of(int64_t radix, int64_t stride, enum space s) {
    return (struct digit){(int32_t)radix, (int32_t)stride, (uint8_t)s};
}

static struct layout empty(int rank, const int32_t *extent) {
    struct layout l = {.rank = rank};
    assert(rank >= 0 && rank <= LAYOUT_RANK);
    for (int a = 0; a < rank; a++) l.axis[a].extent = extent[a];
    return l;
}

static int64_t divide_up(int64_t value, int64_t by) { return (value + by - 1) / by; }

/* -- Memory ------------------------------------------------------------------------------------ */

struct layout layout_row_major(int rank, const int32_t *extent, int32_t pad) {
    struct layout l = empty(rank, extent);
    int64_t stride = 1;
    for (int a = rank - 1; a >= 0; a--) {
        layout_push(&l.axis[a], digit_of(extent[a], stride, SPACE_OFF));
        stride *= extent[a];
        if (a == rank - 1) stride += pad;
    }
    return layout_canonical(&l);
}

/* Rows of `chunks` 16-byte chunks, 8 of which fill the 32 banks once. */
struct matrix {
    int rows, chunks;
    struct layout_xor term; /* on the number of a chunk; length 0: none */
};

static int bank_group(const struct matrix *m, int row, int chunk) {
    int q = row * m->chunks + chunk;
    struct layout_xor x = m->term;
    if (x.length) q ^= ((q >> x.source) & ((1 << x.length) - 1)) << x.target;
    return q & 7;
}

static int power_part(int n, int limit) {
    int p = 1;
    while (p < limit && n % (2 * p) == 0) p *= 2;
    return p;
}

/* Wavefronts beyond one when 8 lanes take the chunks from (row, chunk) on, `width` of a row. */
static int phase_cost(const struct matrix *m, int row, int chunk, int width) {
    int hits[8] = {0}, most = 1;
    for (int lane = 0; lane < 8; lane++) {
        int r = row + lane / width;
        if (r >= m->rows) break;
        int *h = &hits[bank_group(m, r, chunk + lane % width)];
        if (++*h > most) most = *h;
    }
    return most - 1;
}

/* ldmatrix takes one chunk of 8 rows a phase; an asynchronous copy takes neighbours in a row, as
 * many as a power of two divides the row into. The chunks that a term permutes among themselves
 * fare alike (all of a row without a term), so one stands for them; patterns repeat after 64 rows
 * at the latest for the terms that are tried. The count stops at `enough`. */
static int64_t matrix_cost(const struct matrix *m, int64_t enough) {
    int64_t cost = 0;
    int width = power_part(m->chunks, 8), alike = m->term.length ? 1 << m->term.length : m->chunks;
    for (int row = 0; row < m->rows && row < 64 && cost < enough; row += 8)
        for (int chunk = 0; chunk < m->chunks && cost < enough; chunk += alike) {
            cost += (int64_t)phase_cost(m, row, chunk, 1) * alike;
            if (chunk % width == 0) cost += phase_cost(m, row, chunk, width);
        }
    return cost;
}

/* The term that does best where a row is a power of two: as many bits as a row has to give, up to
 * all 8 groups, from those that count rows. */
static struct layout_xor likely_term(const struct matrix *m) {
    struct layout_xor x = {0, 0, 0};
    while (x.length < 3 && m->chunks % (2 << x.length) == 0) x.length++;
    while (m->chunks % (2 << x.source) == 0) x.source++;
    return x;
}

/* The cheapest term; the fewest and lowest bits among equals. A term permutes aligned groups of
 * chunks that divide a row, so that a chunk stays in its row. What the likely term costs bounds
 * the search. */
static struct layout_xor best_term(struct matrix m) {
    struct layout_xor best = {0};
    m.term = likely_term(&m);
    if (!m.term.length) return best;
    int64_t bound = matrix_cost(&m, INT64_MAX) + 1;
    m.term = best;
    int64_t least = matrix_cost(&m, bound);
    for (int length = 1; length <= 3 && m.chunks % (1 << length) == 0; length++)
        for (int source = length; (1 << source) < m.chunks * 8 && least > 0; source++) {
            m.term = (struct layout_xor){0, (uint8_t)source, (uint8_t)length};
            int64_t cost = matrix_cost(&m, least < bound ? least : bound);
            if (cost >= least || cost >= bound) continue;
            least = cost;
            best = m.term;
        }
    return best;
}

struct layout layout_swizzled(int rank, const int32_t *extent, int element_bytes) {
    struct layout l = layout_row_major(rank, extent, 0);
    if (rank < 2 || 16 % element_bytes != 0) return l;
    int64_t row_bytes = (int64_t)extent[rank - 1] * element_bytes;
    if (row_bytes % 16 != 0) return l;
    struct layout_xor term =
        best_term((struct matrix){extent[rank - 2], (int)(row_bytes / 16), {0}});
    if (!term.length) return l;
    for (int elements = 16 / element_bytes; elements > 1; elements /= 2) {
        term.target++;
        term.source++;
    }
    struct layout s = {.rank = 2, .xors = 1, .xor_term = {term}};
    s.axis[0] = l.axis[rank - 2];
    s.axis[1] = l.axis[rank - 1];
    for (int a = rank - 3; a >= 0; a--) s = layout_insert(&s, 0, extent[a]);
    return s;
}

/* -- Partitions -------------------------------------------------------------------------------- */

/* What is still to be given out while a partition is made. */
struct partition {
    struct layout l;
    int64_t left[LAYOUT_RANK]; /* of each axis, in units of what stands */
    int lane, warp;            /* strides of the next digits */
    int lanes, warps;          /* not yet given */
};

static void give(struct partition *p, int axis, enum space s, int radix) {
    int *stride = s == SPACE_LANE ? &p->lane : &p->warp;
    int *rest = s == SPACE_LANE ? &p->lanes : &p->warps;
    layout_push(&p->l.axis[axis], digit_of(radix, *stride, s));
    p->left[axis] = divide_up(p->left[axis], radix);
    *stride *= radix;
    *rest /= radix;
}

/* Lanes of the axes before the last: as many as the axis fills, rounded up to a power of two. */
static void give_lanes(struct partition *p) {
    for (int a = p->l.rank - 2; a >= 0; a--) {
        int take = 1;
        while (take < p->lanes && take < p->left[a]) take *= 2;
        give(p, a, SPACE_LANE, take);
    }
}

static int common_divisor(int64_t a, int64_t b) {
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return (int)a;
}

static int largest_divisor(int n, int64_t limit) {
    int d = n < limit ? n : (int)limit;
    while (n % d != 0) d--;
    return d;
}

/* First where warps divide what is left, then where they find work at all. */
static void give_warps(struct partition *p) {
    int rank = p->l.rank;
    for (int i = 1; i <= rank; i++) {
        int a = (2 * rank - 1 - i) % rank;
        give(p, a, SPACE_WARP, common_divisor(p->warps, p->left[a]));
    }
    for (int i = 1; i <= rank; i++) {
        int a = (2 * rank - 1 - i) % rank;
        give(p, a, SPACE_WARP, largest_divisor(p->warps, p->left[a]));
    }
}

static int64_t add_registers(struct layout_axis *axis, int64_t radix, int64_t stride) {
    layout_push(axis, digit_of(radix, stride, SPACE_REG));
    return radix * stride;
}

struct layout layout_blocked(int rank, const int32_t *extent, int vector, int columns, int warps) {
    struct partition p = {empty(rank, extent), {0}, 1, 1, 32, warps};
    assert(vector >= 1 && columns >= 1 && 32 % columns == 0 && warps >= 1);
    int64_t stride = 1;
    for (int a = 0; a < rank; a++) p.left[a] = extent[a];
    if (rank > 0) {
        stride = add_registers(&p.l.axis[rank - 1], vector, 1);
        p.left[rank - 1] = divide_up(p.left[rank - 1], vector);
        give(&p, rank - 1, SPACE_LANE, columns);
        give_lanes(&p);
        give_warps(&p);
    }
    for (int a = rank - 1; a >= 0; a--) stride = add_registers(&p.l.axis[a], p.left[a], stride);
    layout_push_rep(&p.l, digit_of(p.lanes, p.lane, SPACE_LANE));
    layout_push_rep(&p.l, digit_of(p.warps, p.warp, SPACE_WARP));
    return layout_canonical(&p.l);
}

struct layout layout_replicated(int rank, const int32_t *extent, int warps) {
    struct layout l = empty(rank, extent);
    int64_t stride = 1;
    for (int a = rank - 1; a >= 0; a--) stride = add_registers(&l.axis[a], extent[a], stride);
    layout_push_rep(&l, digit_of(32, 1, SPACE_LANE));
    layout_push_rep(&l, digit_of(warps, 1, SPACE_WARP));
    return layout_canonical(&l);
}

/* -- Fragments --------------------------------------------------------------------------------- */

struct layout layout_fragment(const struct layout *atom, const int32_t *extent,
                              const struct digit *warp, struct digit copies) {
    struct layout l = *atom;
    int64_t stride = layout_span(atom, SPACE_REG);
    assert(atom->rank == 2);
    for (int a = 1; a >= 0; a--) {
        int64_t repeats = divide_up(extent[a], atom->axis[a].extent);
        l.axis[a].extent = extent[a];
        layout_push(&l.axis[a], warp[a]);
        stride = add_registers(&l.axis[a], divide_up(repeats, warp[a].radix), stride);
    }
    layout_push_rep(&l, copies);
    return layout_canonical(&l);
}
