/* mma.c: tensor-core instructions from the PTX ISA's definition of their fragments.
 *
 * With g = lane / 4, t = lane % 4, and p elements in a 32-bit word (1 for wider ones), element e is
 * part j = e % p of word w = e / p, and lies at
 *   a (m = 16)  row g + 8 (w % 2), column p t + j + 4 p (w / 2)
 *   a (m = 8)   row g, column p t + j + 4 p w
 *   b           row p t + j + 4 p w, column g
 *   d           row g + 8 (e / 2), column 2 t + e % 2
 * This is written from the manual, not from the layouts of mma.def that the compiler uses. Sums
 * are formed in order of k as the evaluator's products are (ir/eval_tile.c), so that the two agree
 * bit for bit; the hardware's own order and rounding inside an instruction is not public. */
#include "sim/internal.h"
#include <math.h>

enum { MOST_M = 16, MOST_N = 8, MOST_K = 32 };

struct product {
    const struct mma_row *row;
    union scalar a[MOST_M][MOST_K], b[MOST_K][MOST_N], d[MOST_M][MOST_N];
    bool row_known[MOST_M], column_known[MOST_N], known[MOST_M][MOST_N];
};

static int parts_of(enum dtype t) {
    int bits = t == DTYPE_TF32 ? 32 : dtype_bits(t);
    return bits < 32 ? 32 / bits : 1;
}

/* Element e of a fragment whose first register is `first`, in lane l. */
static union scalar element(struct machine *s, slot_t first, enum dtype t, int e, int l) {
    int p = parts_of(t);
    union scalar v = lanes_of(s, first - e / p)[l];
    if (t == DTYPE_F64 || t == DTYPE_F32 || t == DTYPE_I32) return v;
    uint64_t bits = (uint64_t)v.i;
    if (t == DTYPE_TF32) return scalar_of_bits(bits & 0xffffe000u, DTYPE_F32);
    int width = dtype_bits(t);
    return scalar_of_bits(bits >> (width * (e % p)) & ((1u << width) - 1), t);
}

static bool element_known(struct machine *s, slot_t first, enum dtype t, int e, int l) {
    int p = parts_of(t), bytes = 4 / p;
    const struct known *k = known_of(s, first - e / p);
    bool all = true;
    for (int b = 0; b < bytes; b++) all &= k->byte[(e % p) * bytes + b] >> l & 1;
    return all;
}

static void read_a(struct machine *s, struct product *x, slot_t first) {
    enum dtype t = x->row->a;
    int p = parts_of(t), count = x->row->m * x->row->k / LANES;
    for (int l = 0; l < LANES; l++)
        for (int e = 0; e < count; e++) {
            int w = e / p, j = e % p, tall = x->row->m == 16;
            int i = l / 4 + (tall ? 8 * (w % 2) : 0);
            int k = p * (l % 4) + j + 4 * p * (tall ? w / 2 : w);
            x->a[i][k] = element(s, first, t, e, l);
            x->row_known[i] &= element_known(s, first, t, e, l);
        }
}

static void read_b(struct machine *s, struct product *x, slot_t first) {
    enum dtype t = x->row->b;
    int p = parts_of(t), count = x->row->n * x->row->k / LANES;
    for (int l = 0; l < LANES; l++)
        for (int e = 0; e < count; e++) {
            int k = p * (l % 4) + e % p + 4 * p * (e / p);
            x->b[k][l / 4] = element(s, first, t, e, l);
            x->column_known[l / 4] &= element_known(s, first, t, e, l);
        }
}

static void d_place(int l, int e, int *i, int *j) {
    *i = l / 4 + 8 * (e / 2);
    *j = 2 * (l % 4) + e % 2;
}

static void read_d(struct machine *s, struct product *x, slot_t first) {
    for (int l = 0; l < LANES; l++)
        for (int e = 0; e < x->row->m * x->row->n / LANES; e++) {
            int i, j;
            d_place(l, e, &i, &j);
            x->d[i][j] = element(s, first, x->row->acc, e, l);
            x->known[i][j] = element_known(s, first, x->row->acc, e, l);
        }
}

static void write_d(struct machine *s, const struct product *x, slot_t first) {
    enum dtype t = x->row->acc;
    int p = parts_of(t), bytes = 4 / p;
    for (int l = 0; l < LANES; l++)
        for (int e = 0; e < x->row->m * x->row->n / LANES; e++) {
            int i, j;
            d_place(l, e, &i, &j);
            union scalar *word = &lanes_of(s, first - e / p)[l];
            if (p == 1) {
                *word = x->d[i][j];
            } else {
                uint64_t bits = scalar_bits(x->d[i][j], t), mask = 0xffffu;
                int shift = 16 * (e % p);
                word->i = (int64_t)(((uint64_t)word->i & ~(mask << shift)) | bits << shift);
            }
            struct known *k = known_of(s, first - e / p);
            bool yes = x->known[i][j] && x->row_known[i] && x->column_known[j];
            for (int b = (e % p) * bytes; b < (e % p + 1) * bytes; b++)
                k->byte[b] = yes ? k->byte[b] | 1u << l : k->byte[b] & ~(1u << l);
        }
}

static union scalar add_product(union scalar sum, union scalar a, union scalar b, enum dtype t) {
    if (!dtype_is_float(t)) {
        uint64_t v = (uint64_t)sum.i + (uint64_t)a.i * (uint64_t)b.i;
        return scalar_cast((union scalar){.i = (int64_t)v}, DTYPE_I64, t);
    }
    if (t == DTYPE_F64) return (union scalar){.f = fma(a.f, b.f, sum.f)};
    return (union scalar){.f = scalar_round((double)(float)(sum.f + a.f * b.f), t)};
}

static void multiply_f32(struct product *x) {
    for (int i = 0; i < x->row->m; i++)
        for (int k = 0; k < x->row->k; k++) {
            double a = x->a[i][k].f;
            for (int j = 0; j < MOST_N; j++)
                x->d[i][j].f = (double)(float)(x->d[i][j].f + a * x->b[k][j].f);
        }
}

static void multiply(struct product *x) {
    enum dtype t = x->row->acc;
    if (t == DTYPE_F32) {
        multiply_f32(x);
        return;
    }
    for (int i = 0; i < x->row->m; i++)
        for (int j = 0; j < x->row->n; j++)
            for (int k = 0; k < x->row->k; k++)
                x->d[i][j] = add_product(x->d[i][j], x->a[i][k], x->b[k][j], t);
}

static int32_t registers_of(int elements, enum dtype t) { return elements / LANES / parts_of(t); }

void mma_run(struct machine *s, const struct step *p) {
    const struct kstmt *st = p->st;
    const struct mma_row *row = mma_row(st->mma.row);
    slot_t a, b, d;
    if (s->warp->active != FULL_MASK) {
        sim_fail(s, SIM_DIVERGENCE, first_lane(s->warp->active),
                 "a tensor-core instruction that only some lanes of the warp reach");
        return;
    }
    if (!operand_slot(s, &st->mma.d, p->value[0], registers_of(row->m * row->n, row->acc), &d) ||
        !operand_slot(s, &st->mma.a, p->value[1], registers_of(row->m * row->k, row->a), &a) ||
        !operand_slot(s, &st->mma.b, p->value[2], registers_of(row->n * row->k, row->b), &b))
        return;
    struct product x = {.row = row};
    for (int i = 0; i < MOST_M; i++) x.row_known[i] = true;
    for (int j = 0; j < MOST_N; j++) x.column_known[j] = true;
    read_a(s, &x, a);
    read_b(s, &x, b);
    read_d(s, &x, d);
    multiply(&x);
    write_d(s, &x, d);
}
