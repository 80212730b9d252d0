/* eval_tile.c: COPY, GEMM and REDUCE, each once a block.
 *
 * A product is accumulated in the accumulator's type in order of k. For f32 each step is
 * (float)((double)acc + (double)a * b): the product is exact and the sum is rounded to double, then
 * to float, which differs from one fma only where the first rounding makes a tie. */
#include "ir/eval_state.h"
#include <float.h>
#include <math.h>
#include <string.h>

static void region_base(struct eval *s, const struct region *r, int thread, int64_t *base) {
    for (int i = 0; i < r->buffer->rank; i++) base[i] = eval_integer(s, r->base[i], thread);
}

/* The next coordinate, last axis fastest; false after the last. */
static bool advance(int64_t *at, const int32_t *extent, int rank) {
    for (int i = rank - 1; i >= 0; i--) {
        if (++at[i] < extent[i]) return true;
        at[i] = 0;
    }
    return false;
}

/* -- copy
 * ------------------------------------------------------------------------------------------ */
struct side { /* of a copy: where a coordinate of the domain lies */
    const struct memory *m;
    int64_t base[TILE_RANK];
    const int32_t *axis_of;
};

/* NULL if the element lies outside. */
static uint8_t *locate(const struct side *side, const int64_t *at, int rank, int thread) {
    const struct memory *m = side->m;
    int64_t index[TILE_RANK], offset = 0;
    for (int i = 0; i < m->rank; i++) index[i] = side->base[i];
    for (int k = 0; k < rank; k++)
        if (side->axis_of[k] >= 0) index[side->axis_of[k]] += at[k];
    for (int i = 0; i < m->rank; i++) {
        if (index[i] < 0 || index[i] >= m->extent[i]) return NULL;
        offset += index[i] * m->stride[i];
    }
    return m->data + offset * m->element + m->thread_bytes * thread;
}

static uint64_t copied_bits(const struct memory *from, const uint8_t *at, enum dtype to) {
    uint64_t bits = 0;
    if (at && from->dtype == to) {
        memcpy(&bits, at, (size_t)from->element);
        return bits;
    }
    union scalar v = at ? element_read(at, from->dtype) : from->safe;
    return scalar_bits(scalar_cast(v, from->dtype, to), to);
}

static void copy_elements(struct eval *s, const struct stmt *st, const struct side *src,
                          const struct side *dst, int thread) {
    const struct domain *d = &st->copy.domain;
    int64_t at[TILE_RANK] = {0};
    bool late = st->copy.async && s->options && s->options->poison;
    for (int i = 0; i < d->rank; i++)
        if (d->extent[i] < 1) return;
    do {
        uint8_t *to = locate(dst, at, d->rank, thread);
        s->steps++;
        if (!to) continue;
        uint64_t bits = copied_bits(src->m, locate(src, at, d->rank, thread), dst->m->dtype);
        size_t bytes = (size_t)dst->m->element;
        if (late) {
            struct pending p = {to, bits, (int32_t)bytes, -1};
            vec_push(s->arena, &s->pending, p);
            memset(to, 0xff, bytes);
        } else {
            memcpy(to, &bits, bytes);
        }
    } while (advance(at, d->extent, d->rank));
}

void eval_copy(struct eval *s, const struct stmt *st, int thread) {
    struct side src = {.m = eval_memory(s, st->copy.src.buffer), .axis_of = st->copy.src_axis};
    struct side dst = {.m = eval_memory(s, st->copy.dst.buffer), .axis_of = st->copy.dst_axis};
    if (st->copy.guard && !eval_test(s, st->copy.guard, thread)) return;
    bool private = src.m->thread_bytes || dst.m->thread_bytes;
    for (int t = private ? 0 : thread; t < (private ? s->threads : thread + 1); t++) {
        region_base(s, &st->copy.src, t, src.base);
        region_base(s, &st->copy.dst, t, dst.base);
        copy_elements(s, st, &src, &dst, t);
    }
}

void eval_commit(struct eval *s) {
    for (int i = s->pending.count - 1; i >= 0 && s->pending.at[i].group < 0; i--)
        s->pending.at[i].group = s->groups;
    s->groups++;
}

/* All groups but the newest `groups` arrive, in order. */
void eval_wait(struct eval *s, int32_t groups) {
    int kept = 0;
    for (int i = 0; i < s->pending.count; i++) {
        struct pending p = s->pending.at[i];
        if (p.group >= 0 && p.group < s->groups - groups)
            memcpy(p.to, &p.bits, (size_t)p.bytes);
        else
            s->pending.at[kept++] = p;
    }
    s->pending.count = kept;
}

/* -- gemm
 * ------------------------------------------------------------------------------------------ */
struct matrix {
    const struct memory *m;
    uint8_t *first;      /* element (0, 0) */
    int64_t row, column; /* bytes */
};

/* The matrix of the last two axes, `rows` x `columns`, checked to lie inside. */
static struct matrix matrix_of(struct eval *s, const struct region *r, int32_t rows,
                               int32_t columns, int thread) {
    struct matrix x = {.m = eval_memory(s, r->buffer)};
    int64_t base[TILE_RANK], last[TILE_RANK];
    int rank = r->buffer->rank;
    region_base(s, r, thread, base);
    memcpy(last, base, sizeof last);
    last[rank - 2] += rows - 1;
    last[rank - 1] += columns - 1;
    x.first = eval_address(s, x.m, base, thread);
    if (!eval_address(s, x.m, last, thread)) x.first = NULL;
    if (!x.first)
        eval_fail(s, r->buffer->span, "the product's operand lies outside '%s'",
                  r->buffer->name->text);
    x.row = x.m->stride[rank - 2] * x.m->element;
    x.column = x.m->stride[rank - 1] * x.m->element;
    return x;
}

static struct matrix transposed(struct matrix x) {
    struct matrix y = x;
    y.row = x.column;
    y.column = x.row;
    return y;
}

static void read_matrix(const struct matrix *x, int32_t rows, int32_t columns, bool tf32,
                        union scalar *out) {
    for (int32_t i = 0; i < rows; i++)
        for (int32_t j = 0; j < columns; j++) {
            union scalar v = element_read(x->first + i * x->row + j * x->column, x->m->dtype);
            if (tf32) v.f = scalar_round(v.f, DTYPE_TF32);
            *out++ = v;
        }
}

/* f32 operands are rounded where a TF32 instruction takes them; before `atoms` chose, where one
 * could. */
static bool rounds_to_tf32(const struct eval *s, const struct stmt *st) {
    enum dtype a = st->gemm.a.buffer->dtype, b = st->gemm.b.buffer->dtype;
    if (a != DTYPE_F32 || b != DTYPE_F32) return false;
    if (st->gemm.atom >= 0) return mma_row(st->gemm.atom)->a == DTYPE_TF32;
    if (s->m->level > LEVEL_TILE || !s->m->target) return false;
    for (int i = 0; i < mma_count(); i++) {
        const struct mma_row *row = mma_row(i);
        if (row->a == DTYPE_TF32 && row->capability <= s->m->target->capability &&
            st->gemm.k % row->k == 0)
            return true;
    }
    return false;
}

static void multiply_f32(const struct stmt *st, const union scalar *a, const union scalar *b,
                         union scalar *c) {
    for (int32_t i = 0; i < st->gemm.m; i++)
        for (int32_t k = 0; k < st->gemm.k; k++) {
            double x = a[(int64_t)i * st->gemm.k + k].f;
            const union scalar *row = b + (int64_t)k * st->gemm.n;
            union scalar *sum = c + (int64_t)i * st->gemm.n;
            for (int32_t j = 0; j < st->gemm.n; j++)
                sum[j].f = (double)(float)(sum[j].f + x * row[j].f);
        }
}

/* One step in any other accumulator type. */
static union scalar accumulate(union scalar sum, union scalar a, union scalar b, enum dtype t) {
    if (!dtype_is_float(t)) {
        uint64_t v = (uint64_t)sum.i + (uint64_t)a.i * (uint64_t)b.i;
        return (union scalar){.i = integer_wrap((int64_t)v, t)};
    }
    if (t == DTYPE_F64) return (union scalar){.f = fma(a.f, b.f, sum.f)};
    return (union scalar){.f = scalar_round((double)(float)(sum.f + a.f * b.f), t)};
}

static void multiply(const struct stmt *st, enum dtype t, const union scalar *a,
                     const union scalar *b, union scalar *c) {
    for (int32_t i = 0; i < st->gemm.m; i++)
        for (int32_t j = 0; j < st->gemm.n; j++) {
            union scalar *sum = &c[(int64_t)i * st->gemm.n + j];
            for (int32_t k = 0; k < st->gemm.k; k++)
                *sum = accumulate(*sum, a[(int64_t)i * st->gemm.k + k],
                                  b[(int64_t)k * st->gemm.n + j], t);
        }
}

/* The operands, copied out of their buffers. */
struct product {
    struct matrix a, b, c;
    union scalar *values; /* of a, then b, then c */
};

static void compute(struct eval *s, const struct stmt *st, struct product *p, int thread) {
    int32_t m = st->gemm.m, n = st->gemm.n, k = st->gemm.k;
    bool tf32 = rounds_to_tf32(s, st);
    enum dtype t = p->c.m->dtype;
    union scalar *a = p->values, *b = a + (int64_t)m * k, *c = b + (int64_t)k * n;
    read_matrix(&p->a, m, k, tf32, a);
    read_matrix(&p->b, k, n, tf32, b);
    read_matrix(&p->c, m, n, false, c);
    if (st->gemm.clear && eval_test(s, st->gemm.clear, thread))
        memset(c, 0, sizeof *c * (size_t)m * (size_t)n);
    if (t == DTYPE_F32)
        multiply_f32(st, a, b, c);
    else
        multiply(st, t, a, b, c);
    for (int32_t i = 0; i < m; i++)
        for (int32_t j = 0; j < n; j++)
            element_write(p->c.first + i * p->c.row + j * p->c.column, t, *c++);
    s->steps += (int64_t)m * n * k;
}

void eval_gemm(struct eval *s, const struct stmt *st, int thread) {
    int32_t m = st->gemm.m, n = st->gemm.n, k = st->gemm.k;
    bool ta = st->gemm.transpose_a, tb = st->gemm.transpose_b;
    struct product p;
    if (m < 1 || n < 1) return;
    p.a = matrix_of(s, &st->gemm.a, ta ? k : m, ta ? m : k, thread);
    p.b = matrix_of(s, &st->gemm.b, tb ? n : k, tb ? k : n, thread);
    p.c = matrix_of(s, &st->gemm.c, m, n, thread);
    if (s->why) return;
    if (ta) p.a = transposed(p.a);
    if (tb) p.b = transposed(p.b);
    int64_t count = (int64_t)m * k + (int64_t)k * n + (int64_t)m * n;
    if (count > s->product_room) {
        s->product_room = count;
        s->product = arena_array(s->arena, union scalar, count);
    }
    p.values = s->product;
    compute(s, st, &p, thread);
}

/* -- reduce
 * ---------------------------------------------------------------------------------------- */
static union scalar identity(enum reduce_op op, enum dtype t) {
    bool is_float = dtype_is_float(t);
    struct interval whole = interval_type(t);
    if (t == DTYPE_U64) whole = (struct interval){0, -1, 1};
    double largest = is_float ? scalar_round((double)INFINITY, t) : 0;
    switch (op) {
    case REDUCE_MAX:
        return is_float ? (union scalar){.f = -largest} : (union scalar){.i = whole.lo};
    case REDUCE_MIN: return is_float ? (union scalar){.f = largest} : (union scalar){.i = whole.hi};
    case REDUCE_BITAND: return (union scalar){.i = integer_wrap(-1, t)};
    default: return (union scalar){.i = 0}; /* zero bits are 0.0 as well */
    }
}

static union scalar combine(const struct stmt *st, enum dtype t, union scalar sum, union scalar v) {
    union scalar args[2] = {sum, v};
    bool nan = st->reduce.nan && dtype_is_float(t);
    switch (st->reduce.op) {
    case REDUCE_SUM:
    case REDUCE_ABSSUM: return scalar_op(FN_ADD, t, args);
    case REDUCE_MAX:
    case REDUCE_ABSMAX: return scalar_op(nan ? FN_MAX_NAN : FN_MAX, t, args);
    case REDUCE_MIN: return scalar_op(nan ? FN_MIN_NAN : FN_MIN, t, args);
    case REDUCE_BITAND: return scalar_op(FN_AND, t, args);
    case REDUCE_BITOR: return scalar_op(FN_OR, t, args);
    default: return scalar_op(FN_XOR, t, args);
    }
}

/* The element of dst that takes what lies at `at` (axis `axis` being 0) of src's region. */
static uint8_t *result_address(struct eval *s, const struct stmt *st, const int64_t *at,
                               int thread) {
    const struct region *dst = &st->reduce.dst;
    int64_t index[TILE_RANK];
    bool kept = dst->buffer->rank == st->reduce.src.buffer->rank;
    region_base(s, dst, thread, index);
    for (int i = 0, k = 0; i < st->reduce.src.buffer->rank; i++) {
        if (i == st->reduce.axis && !kept) continue;
        if (k < dst->buffer->rank) index[k++] += at[i]; /* on the axis: the part */
    }
    return eval_address(s, eval_memory(s, dst->buffer), index, thread);
}

struct line { /* of the source: where it starts, and the part that counts */
    int64_t index[TILE_RANK], part;
    int thread;
};

static union scalar reduce_line(struct eval *s, const struct stmt *st, const struct line *line) {
    union scalar sum = identity(st->reduce.op, st->reduce.dst.buffer->dtype);
    const struct memory *src = eval_memory(s, st->reduce.src.buffer);
    enum dtype t = st->reduce.dst.buffer->dtype;
    int64_t from[TILE_RANK];
    memcpy(from, line->index, sizeof from);
    int32_t parts = st->reduce.parts > 1 ? st->reduce.parts : 1;
    bool absolute = st->reduce.op == REDUCE_ABSMAX || st->reduce.op == REDUCE_ABSSUM;
    for (int32_t i = 0; i < st->reduce.src.extent[st->reduce.axis]; i++) {
        if (parts > 1 && i / st->reduce.part_weight % parts != line->part) {
            from[st->reduce.axis]++;
            continue;
        }
        const uint8_t *at = eval_address(s, src, from, line->thread);
        union scalar v = at ? element_read(at, src->dtype) : src->safe;
        v = scalar_cast(v, src->dtype, t);
        sum = combine(st, t, sum, absolute ? scalar_op(FN_ABS, t, &v) : v);
        from[st->reduce.axis]++;
        s->steps++;
    }
    return sum;
}

void eval_reduce(struct eval *s, const struct stmt *st, int thread) {
    const struct region *src = &st->reduce.src;
    enum dtype t = st->reduce.dst.buffer->dtype;
    int64_t base[TILE_RANK] = {0}, at[TILE_RANK] = {0};
    struct line line = {.thread = thread};
    int32_t extent[TILE_RANK];
    region_base(s, src, thread, base);
    for (int i = 0; i < src->buffer->rank; i++) {
        extent[i] = src->extent[i];
        if (extent[i] < 1) return;
    }
    extent[st->reduce.axis] = st->reduce.parts > 1 ? st->reduce.parts : 1;
    do {
        for (int i = 0; i < src->buffer->rank; i++)
            line.index[i] = base[i] + (i == st->reduce.axis ? 0 : at[i]);
        line.part = at[st->reduce.axis];
        uint8_t *to = result_address(s, st, at, thread);
        if (!to || s->why) return;
        union scalar sum = reduce_line(s, st, &line);
        element_write(to, t, st->reduce.clear ? sum : combine(st, t, element_read(to, t), sum));
    } while (advance(at, extent, src->buffer->rank) && !s->why);
}
