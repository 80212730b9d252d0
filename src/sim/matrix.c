/* matrix.c: ldmatrix and stmatrix: 8x8 matrices of 16-bit elements between shared memory and the
 * registers of a warp.
 *
 * Row r of matrix i lies at the address that lane 8i + r gives. Lane l holds of each matrix the
 * elements 2(l % 4) and 2(l % 4) + 1 of row l / 4; transposed, of column l / 4. */
#include "sim/internal.h"
#include <string.h>

struct matrices {
    uint8_t data[4][8][16], known[4][8][16];
    int64_t at[LANES];
};

static bool whole_warp(struct machine *s, const char *what) {
    if (s->warp->active == FULL_MASK) return true;
    sim_fail(s, SIM_DIVERGENCE, first_lane(s->warp->active),
             "%s that only some lanes of the warp reach", what);
    return false;
}

/* The rows' places in shared memory. */
static bool rows_of(struct machine *s, const struct step *p, struct matrices *x) {
    const struct kstmt *st = p->st;
    const union scalar *index = lanes_of(s, p->value[0]);
    uint32_t known = known_lanes(known_of(s, p->value[0]));
    if (p->uniform[0]) known = known & 1 ? FULL_MASK : 0;
    for (int l = 0; l < 8 * st->matrix.matrices; l++) {
        if (!(known >> l & 1)) {
            sim_fail(s, SIM_UNWRITTEN, l, "the address depends on storage that nothing wrote");
            return false;
        }
        uint8_t *at = memory_at(s, &st->matrix.address, index[p->uniform[0] ? 0 : l].i, 16, l);
        if (!at) return false;
        x->at[l] = at - s->shared;
    }
    return true;
}

static void place_of(int l, int e, bool transpose, int *row, int *byte) {
    int major = l / 4, minor = 2 * (l % 4) + e;
    *row = transpose ? minor : major;
    *byte = 2 * (transpose ? major : minor);
}

static void load_lane(struct machine *s, const struct matrices *x, const struct kstmt *st,
                      slot_t first, int l) {
    for (int i = 0; i < st->matrix.matrices; i++) {
        uint32_t word = 0;
        struct known *k = known_of(s, first - i);
        for (int e = 0; e < 2; e++) {
            int row, byte;
            place_of(l, e, st->matrix.transpose, &row, &byte);
            const uint8_t *from = &x->data[i][row][byte];
            word |= (uint32_t)(from[0] | from[1] << 8) << (16 * e);
            for (int b = 0; b < 2; b++) {
                uint32_t *lanes = &k->byte[2 * e + b], bit = 1u << l;
                *lanes = x->known[i][row][byte + b] ? *lanes | bit : *lanes & ~bit;
            }
        }
        lanes_of(s, first - i)[l].i = word;
    }
}

static void load(struct machine *s, const struct step *p, slot_t first) {
    struct matrices x;
    int rows = 8 * p->st->matrix.matrices;
    if (!rows_of(s, p, &x)) return;
    for (int r = 0; r < rows; r++) {
        if (!shadow_read(s, (struct touch){&s->shadows, x.at[r], 16, MANY_LANES})) return;
        memcpy(x.data[r / 8][r % 8], s->shared + x.at[r], 16);
        memcpy(x.known[r / 8][r % 8], s->shared_known + x.at[r], 16);
    }
    for (int l = 0; l < LANES; l++) load_lane(s, &x, p->st, first, l);
}

static void store_lane(struct machine *s, struct matrices *x, const struct kstmt *st, slot_t first,
                       int l) {
    for (int i = 0; i < st->matrix.matrices; i++) {
        uint64_t word = (uint64_t)lanes_of(s, first - i)[l].i;
        const struct known *k = known_of(s, first - i);
        for (int e = 0; e < 2; e++) {
            int row, byte;
            place_of(l, e, st->matrix.transpose, &row, &byte);
            for (int b = 0; b < 2; b++) {
                x->data[i][row][byte + b] = (uint8_t)(word >> (16 * e + 8 * b));
                x->known[i][row][byte + b] = k->byte[2 * e + b] >> l & 1;
            }
        }
    }
}

static void store(struct machine *s, const struct step *p, slot_t first) {
    struct matrices x;
    int rows = 8 * p->st->matrix.matrices;
    if (!rows_of(s, p, &x)) return;
    for (int l = 0; l < LANES; l++) store_lane(s, &x, p->st, first, l);
    for (int r = 0; r < rows; r++) {
        if (!shadow_write(s, (struct touch){&s->shadows, x.at[r], 16, MANY_LANES},
                          x.data[r / 8][r % 8]))
            return;
        memcpy(s->shared + x.at[r], x.data[r / 8][r % 8], 16);
        memcpy(s->shared_known + x.at[r], x.known[r / 8][r % 8], 16);
    }
}

static void count_rows(struct machine *s, const struct step *p) {
    struct request r = {.bytes = 16};
    const union scalar *index = lanes_of(s, p->value[0]);
    if (!s->options->count || s->failed) return;
    for (int l = 0; l < 8 * p->st->matrix.matrices; l++) {
        r.lanes |= 1u << l;
        r.at[l] =
            index[p->uniform[0] ? 0 : l].i + s->spaces[p->st->matrix.address.buffer->id].offset;
    }
    request_count(s, &r, p->st->matrix.address.buffer);
}

void matrix_run(struct machine *s, const struct step *p) {
    const struct kstmt *st = p->st;
    slot_t first;
    bool loads = st->kind == K_LDMATRIX;
    if (!whole_warp(s, loads ? "an ldmatrix" : "an stmatrix")) return;
    if (!operand_slot(s, &st->matrix.data, p->value[1], st->matrix.matrices, &first)) return;
    if (loads)
        load(s, p, first);
    else
        store(s, p, first);
    count_rows(s, p);
}
