/* run.c: runs a kernel before and after place and compares what it leaves in the tensors. */
#include "run.h"
#include "held.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int64_t constant(const struct expr *e) {
    int64_t v = 0;
    expr_is_int(e, &v);
    return v;
}

static struct tensor *tensor_of(struct rig *r, const struct buffer *b, uint32_t seed) {
    struct tensor *t = arena_make(r->arena, struct tensor);
    int64_t n = 1;
    t->dtype = b->dtype;
    t->rank = b->rank;
    for (int k = 0; k < b->rank; k++) {
        t->extent[k] = constant(b->dim[k]);
        t->stride[k] = constant(b->stride[k]);
        n *= t->extent[k];
    }
    int bytes = dtype_bytes(b->dtype);
    t->data = arena_alloc(r->arena, (size_t)(n * bytes));
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        int small = (int)(seed >> 24) % 9 - 4;
        union scalar v = {.i = small};
        if (dtype_is_float(b->dtype)) v.f = small;
        uint64_t bits = scalar_bits(v, b->dtype);
        memcpy(t->data + i * bytes, &bits, (size_t)bytes);
    }
    return t;
}

static const char *run(struct rig *r, struct eval_args *args) {
    int n = r->f->params.count;
    args->count = n;
    args->tensor = arena_array(r->arena, struct tensor *, n);
    args->scalar = arena_array(r->arena, union scalar, n);
    for (int i = 0; i < n; i++)
        args->tensor[i] = tensor_of(r, r->f->params.at[i].buffer, 17u * (uint32_t)i + 1);
    struct eval_options options = {.poison = true};
    const char *why = NULL;
    return tile_eval(r->m, r->f, args, &options, &why) ? NULL : why ? why : "failed";
}

static double value_at(const struct tensor *t, int64_t i) {
    uint64_t bits = 0;
    memcpy(&bits, t->data + i * dtype_bytes(t->dtype), (size_t)dtype_bytes(t->dtype));
    union scalar v = scalar_of_bits(bits, t->dtype);
    return dtype_is_float(t->dtype) ? v.f : (double)v.i;
}

static bool near(double a, double b, double tolerance) {
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
    return a == b || fabs(a - b) <= tolerance * (fabs(a) + fabs(b));
}

static const char *compare(struct rig *r, const struct eval_args *a, const struct eval_args *b,
                           double tolerance) {
    for (int i = 0; i < a->count; i++) {
        const struct tensor *s = a->tensor[i], *t = b->tensor[i];
        int64_t n = 1;
        for (int k = 0; k < s->rank; k++) n *= s->extent[k];
        for (int64_t e = 0; e < n; e++)
            if (!near(value_at(s, e), value_at(t, e), tolerance))
                return arena_printf(r->arena, "%s element %lld: %g before, %g after",
                                    r->f->params.at[i].name->text, (long long)e, value_at(s, e),
                                    value_at(t, e));
    }
    return NULL;
}

const char *same_before_and_after(build_kernel *build, const int *shape, int threads,
                                  double tolerance) {
    static char message[65536];
    struct rig before = rig_new("sm_80", threads), after = rig_new("sm_80", threads);
    struct eval_args a, b;
    build(&before, shape);
    build(&after, shape);
    coarsen(after.m);
    forward(after.m);
    const char *why = rig_place(&after) ? "refused" : NULL;
    if (!why) why = held_everywhere(&after);
    if (!why) why = run(&before, &a);
    if (!why) why = run(&after, &b);
    if (!why) why = compare(&before, &a, &b, tolerance);
    if (why) snprintf(message, sizeof message, "%s\n%s\n", why, rig_dump(&after));
    rig_free(&before);
    rig_free(&after);
    return why ? message : NULL;
}
