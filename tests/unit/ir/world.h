/* world.h: what the tests of src/ir share: a module from text, tensors, random numbers. */
#ifndef TEST_IR_WORLD_H
#define TEST_IR_WORLD_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// clang-format off
#include <cmocka.h>
// clang-format on
#include "ir/tile.h"
#include <stdio.h>
#include <string.h>

struct world {
    struct arena *a;
    struct interns *names;
    struct diag *d;
};

static inline struct world world_new(void) {
    struct world w = {.a = arena_new()};
    w.names = interns_new(w.a);
    return w;
}

static inline struct module *world_read(struct world *w, const char *text) {
    struct source *s = source_of_text(w->a, "test.tir", text, strlen(text));
    w->d = diag_new(w->a, s);
    struct module *m = tile_read(w->a, w->names, w->d, s);
    if (!m) {
        struct text out = text_new(w->a);
        diag_print_text(w->d, &out, false);
        fprintf(stderr, "%s", out.at);
    }
    assert_non_null(m);
    return m;
}

static inline uint64_t world_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static inline struct tensor *world_tensor(struct world *w, enum dtype t, int rank,
                                          const int64_t *extent) {
    struct tensor *x = arena_make(w->a, struct tensor);
    int64_t count = 1;
    x->dtype = t;
    x->rank = rank;
    for (int i = rank - 1; i >= 0; i--) {
        x->extent[i] = extent[i];
        x->stride[i] = count;
        count *= extent[i];
    }
    x->data = arena_alloc(w->a, (size_t)(count * dtype_bytes(t)) + 1);
    return x;
}

static inline double tensor_get(const struct tensor *x, int64_t at) {
    uint64_t bits = 0;
    memcpy(&bits, x->data + at * dtype_bytes(x->dtype), (size_t)dtype_bytes(x->dtype));
    union scalar v = scalar_of_bits(bits, x->dtype);
    return dtype_is_float(x->dtype) ? v.f : (double)v.i;
}

static inline void tensor_set(struct tensor *x, int64_t at, double value) {
    union scalar v = {.i = (int64_t)value};
    if (dtype_is_float(x->dtype)) v.f = scalar_round(value, x->dtype);
    uint64_t bits = scalar_bits(v, x->dtype);
    memcpy(x->data + at * dtype_bytes(x->dtype), &bits, (size_t)dtype_bytes(x->dtype));
}

#endif
