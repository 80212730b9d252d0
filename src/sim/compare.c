/* compare.c: two results of one function, element by element, and the bytes between. */
#include "sim/trial.h"
#include <math.h>
#include <string.h>

/* -- how far apart right results may lie
 * ----------------------------------------------------------- */
struct sums {
    bool found;
    double widest; /* step that a result may differ by, of its largest */
};

static void visit_reduce(struct sums *t, const struct stmt *s) {
    const struct buffer *dst = s->reduce.dst.buffer;
    if (!dtype_is_float(dst->dtype) ||
        (s->reduce.op != REDUCE_SUM && s->reduce.op != REDUCE_ABSSUM))
        return;
    double step = dtype_step(dst->dtype) * sqrt(s->reduce.src.extent[s->reduce.axis]);
    t->found = true;
    if (step > t->widest) t->widest = step;
}

static void visit(struct stmt *s, void *data) {
    struct sums *t = data;
    if (s->kind == STMT_GEMM) t->found |= dtype_is_float(s->gemm.c.buffer->dtype);
    if (s->kind == STMT_REDUCE) visit_reduce(t, s);
    if (s->kind == STMT_ATOMIC)
        t->found |= s->atomic.op == ATOMIC_ADD && dtype_is_float(s->atomic.buffer->dtype);
}

/* Sums whose order is free differ by the rounding of the accumulation, which grows with the root of
 * the terms, and by a step of the narrowest type that an intermediate result passes through. Those
 * of atomics may cancel after many terms: their part is known from the run. */
struct sim_tolerance sim_tolerance_of(const struct function_ir *f,
                                      const struct sim_data *expected) {
    struct sim_tolerance t = {0, 0, expected->reordered};
    struct sums sums = {false, 0x1p-19};
    for (int i = 0; i < f->kernels.count; i++) {
        struct kernel *k = f->kernels.at[i];
        block_walk(&k->body, visit, &sums);
        for (int b = 0; b < k->buffers.count; b++) {
            double step = dtype_step(k->buffers.at[b]->dtype);
            if (k->buffers.at[b]->scope != SCOPE_SHARED && step > sums.widest) sums.widest = step;
        }
    }
    if (!sums.found) return t;
    t.relative = 4;
    t.absolute = sums.widest;
    return t;
}

/* -- elements
 * -------------------------------------------------------------------------------------- */
static uint64_t element_bits(const struct tensor *t, const int64_t *at) {
    uint64_t bits = 0;
    int64_t offset = 0;
    for (int i = 0; i < t->rank; i++) offset += at[i] * t->stride[i];
    memcpy(&bits, t->data + offset * dtype_bytes(t->dtype), (size_t)dtype_bytes(t->dtype));
    return bits;
}

double sim_element(const struct tensor *t, const int64_t *at) {
    union scalar v = scalar_of_bits(element_bits(t, at), t->dtype);
    return dtype_is_float(t->dtype) ? v.f : (double)v.i;
}

static bool next(const struct tensor *t, int64_t *at) {
    for (int i = t->rank - 1; i >= 0; i--) {
        if (++at[i] < t->extent[i]) return true;
        at[i] = 0;
    }
    return false;
}

static bool is_empty(const struct tensor *t) {
    for (int i = 0; i < t->rank; i++)
        if (t->extent[i] < 1) return true;
    return false;
}

static double largest(const struct tensor *t) {
    int64_t at[TILE_RANK] = {0};
    double most = 0;
    do {
        double v = fabs(sim_element(t, at));
        if (isfinite(v) && v > most) most = v;
    } while (next(t, at));
    return most;
}

static bool same(const struct tensor *x, const struct tensor *y, const int64_t *at, double relative,
                 double absolute) {
    if (element_bits(x, at) == element_bits(y, at)) return true;
    if (!dtype_is_float(x->dtype)) return false;
    double a = sim_element(x, at), b = sim_element(y, at);
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
    if (a == b) return relative > 0 || signbit(a) == signbit(b);
    return fabs(a - b) <= relative * fabs(a) + absolute;
}

/* The bytes that belong to no element are still those of before. */
static bool surroundings_kept(struct tensor *t, uint8_t *memory, int64_t bytes) {
    static const uint8_t blank[8] = {255, 255, 255, 255, 255, 255, 255, 255};
    struct arena *a = arena_new();
    uint8_t *rest = arena_alloc(a, (size_t)bytes);
    int64_t at[TILE_RANK] = {0}, size = dtype_bytes(t->dtype);
    bool kept = true;
    memcpy(rest, memory, (size_t)bytes);
    if (!is_empty(t)) do {
            int64_t offset = 0;
            for (int i = 0; i < t->rank; i++) offset += at[i] * t->stride[i];
            memcpy(rest + (t->data - memory) + offset * size, blank, (size_t)size);
        } while (next(t, at));
    for (int64_t i = 0; i < bytes; i++) kept &= rest[i] == 0xff;
    arena_free(a);
    return kept;
}

/* What a result may have been summed from: the largest element of what the function writes. */
static double scale_of(const struct function_ir *f, const struct sim_data *d) {
    double most = 0;
    for (int i = 0; i < f->params.count; i++) {
        const struct tensor *x = d->args.tensor[i];
        if (!x || !f->params.at[i].buffer->written || !dtype_is_float(x->dtype)) continue;
        double v = is_empty(x) ? 0 : largest(x);
        if (v > most) most = v;
    }
    return most;
}

static void compare_tensor(const struct tensor *x, const struct tensor *y, struct sim_tolerance t,
                           struct sim_difference *d) {
    int64_t at[TILE_RANK] = {0};
    if (is_empty(x)) return;
    double relative = t.relative * dtype_step(x->dtype), absolute = t.absolute;
    do {
        if (same(x, y, at, relative, absolute)) continue;
        if (!d->count++) {
            memcpy(d->at, at, sizeof at);
            d->expected = sim_element(x, at);
            d->actual = sim_element(y, at);
        }
    } while (next(x, at));
}

struct sim_difference sim_compare(const struct function_ir *f, const struct sim_data *expected,
                                  const struct sim_data *actual, struct sim_tolerance t) {
    struct sim_difference d = {.buffer = NULL};
    if (t.absolute > 0) t.absolute = t.absolute * scale_of(f, expected) + t.reordered;
    for (int i = 0; i < f->params.count && !d.buffer; i++) {
        struct tensor *x = expected->args.tensor[i], *y = actual->args.tensor[i];
        if (!x) continue;
        compare_tensor(x, y, t, &d);
        d.outside = !d.count && !surroundings_kept(y, actual->memory[i], actual->bytes[i]);
        if (d.count || d.outside) d.buffer = f->params.at[i].buffer;
    }
    return d;
}
