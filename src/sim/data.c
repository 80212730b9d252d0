/* data.c: seeded random arguments, with NaN around every tensor, and what they become. */
#include "sim/trial.h"
#include <string.h>

enum { MARGIN = 256 };
static const int64_t MOST_BYTES = (int64_t)1 << 31;
static const char too_large[] = "is larger than the 2 GiB that a check on the CPU takes";

static uint64_t random_next(uint64_t *state) { /* splitmix64 */
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static union scalar random_value(uint64_t *state, enum dtype t) {
    uint64_t r = random_next(state);
    if (dtype_is_float(t)) {
        double v = (double)(int64_t)(r >> 11) * 0x1p-52 - 1; /* -1 … 1 */
        return (union scalar){.f = scalar_round((double)(float)v, t)};
    }
    if (t == DTYPE_BOOL) return (union scalar){.i = (int64_t)(r & 1)};
    bool is_unsigned = dtype_class_of(t) == CLASS_UINT;
    return (union scalar){.i = (int64_t)(r % 17) - (is_unsigned ? 0 : 8)};
}

/* -- dimensions and strides
 * ------------------------------------------------------------------------ */
static int param_of(const struct function_ir *f, const struct var *v) {
    for (int i = 0; i < f->params.count; i++)
        if (f->params.at[i].var == v) return i;
    return -1;
}

static int64_t fitted(const struct var *v, int64_t value) {
    int64_t by = v->divisor > 1 ? v->divisor : 1;
    if (v->lo != INT64_MIN && value < v->lo) value = v->lo;
    int64_t over = value % by;
    if (over > 0) value += by - over;
    if (v->hi != INT64_MAX && value > v->hi) value = v->hi / by * by;
    return value;
}

static bool is_extent(const struct function_ir *f, const struct var *v) {
    for (int i = 0; i < f->globals.count; i++)
        for (int k = 0; k < f->globals.at[i]->rank; k++)
            if (expr_uses_var(f->globals.at[i]->dim[k], v)) return true;
    return false;
}

static void choose_scalars(const struct function_ir *f, struct sim_data *d,
                           const struct sim_choice *given, uint64_t *state) {
    static const int64_t usual[] = {37, 50, 19, 66, 5};
    for (int i = 0, n = 0; i < f->params.count; i++) {
        const struct param *p = &f->params.at[i];
        if (!p->var) continue;
        if (given && given[i].set)
            d->args.scalar[i] = given[i].value;
        else if (dtype_is_float(p->var->dtype))
            d->args.scalar[i] = random_value(state, p->var->dtype);
        else
            d->args.scalar[i].i = fitted(p->var, p->kind == PARAM_DIM ? usual[n++ % 5] : 3);
    }
}

/* A dimension that is only a stride: rows lie one behind the other, with room between them. */
static void choose_strides(const struct function_ir *f, struct sim_data *d,
                           const struct sim_choice *given) {
    for (int i = 0; i < f->globals.count; i++) {
        const struct buffer *b = f->globals.at[i];
        int64_t dense = 1;
        for (int k = b->rank - 1; k >= 0; k--) {
            const struct expr *e = b->stride[k];
            int p = e->kind == EXPR_VAR ? param_of(f, e->var) : -1;
            if (p >= 0 && !(given && given[p].set) && !is_extent(f, e->var))
                d->args.scalar[p].i = fitted(e->var, dense + (k < b->rank - 1 ? 16 : 0));
            dense = sim_host_value(f, &d->args, e) * sim_host_value(f, &d->args, b->dim[k]);
        }
    }
}

/* -- tensors
 * --------------------------------------------------------------------------------------- */
static void write_element(const struct tensor *t, int64_t offset, union scalar v) {
    uint64_t bits = scalar_bits(v, t->dtype);
    memcpy(t->data + offset * dtype_bytes(t->dtype), &bits, (size_t)dtype_bytes(t->dtype));
}

static void fill(const struct tensor *t, uint64_t *state) {
    int64_t at[TILE_RANK] = {0};
    for (int i = 0; i < t->rank; i++)
        if (t->extent[i] < 1) return;
    for (;;) {
        int64_t offset = 0;
        for (int i = 0; i < t->rank; i++) offset += at[i] * t->stride[i];
        write_element(t, offset, random_value(state, t->dtype));
        int i = t->rank - 1;
        while (i >= 0 && ++at[i] == t->extent[i]) at[i--] = 0;
        if (i < 0) return;
    }
}

/* The tensor's extents and strides; why they cannot be, or NULL. */
static const char *measure(const struct function_ir *f, const struct sim_data *d,
                           const struct buffer *b, struct tensor *t, int64_t *last) {
    for (int k = 0; k < b->rank; k++) {
        t->extent[k] = sim_host_value(f, &d->args, b->dim[k]);
        t->stride[k] = sim_host_value(f, &d->args, b->stride[k]);
        if (t->extent[k] < 0 || t->stride[k] < 0) return "has an extent or stride below zero";
        if (t->extent[k] > MOST_BYTES || t->stride[k] > MOST_BYTES) return too_large;
        if (t->extent[k] > 0) *last += (t->extent[k] - 1) * t->stride[k];
        if ((*last + 1) > MOST_BYTES / dtype_bytes(b->dtype)) return too_large;
    }
    return NULL;
}

static const char *add_tensor(struct arena *a, const struct function_ir *f, struct sim_data *d,
                              int i, uint64_t *state) {
    const struct buffer *b = f->params.at[i].buffer;
    struct tensor *t = arena_make(a, struct tensor);
    int64_t last = 0;
    t->dtype = b->dtype;
    t->rank = b->rank;
    const char *why = measure(f, d, b, t, &last);
    if (why) return why;
    d->bytes[i] = (last + 1) * dtype_bytes(b->dtype) + 2 * MARGIN;
    d->memory[i] = arena_alloc(a, (size_t)d->bytes[i]);
    memset(d->memory[i], 0xff, (size_t)d->bytes[i]);
    t->data = d->memory[i] + MARGIN;
    if (!b->output) fill(t, state);
    d->args.tensor[i] = t;
    return NULL;
}

struct sim_data *sim_data_new(struct arena *a, const struct function_ir *f,
                              const struct sim_choice *given, uint64_t seed, const char **why) {
    struct sim_data *d = arena_make(a, struct sim_data);
    int n = f->params.count;
    uint64_t state = seed;
    d->args.count = n;
    d->args.tensor = arena_array(a, struct tensor *, n + 1);
    d->args.scalar = arena_array(a, union scalar, n + 1);
    d->memory = arena_array(a, uint8_t *, n + 1);
    d->bytes = arena_array(a, int64_t, n + 1);
    choose_scalars(f, d, given, &state);
    choose_strides(f, d, given);
    for (int i = 0; i < n; i++) {
        if (f->params.at[i].kind != PARAM_TENSOR) continue;
        const char *wrong = add_tensor(a, f, d, i, &state);
        if (!wrong) continue;
        *why = arena_printf(a, "tensor '%s' %s", f->params.at[i].name->text, wrong);
        return NULL;
    }
    return d;
}

struct sim_data *sim_data_copy(struct arena *a, const struct function_ir *f,
                               const struct sim_data *from) {
    struct sim_data *d = arena_make(a, struct sim_data);
    int n = f->params.count;
    *d = *from;
    d->args.tensor = arena_array(a, struct tensor *, n + 1);
    d->memory = arena_array(a, uint8_t *, n + 1);
    for (int i = 0; i < n; i++) {
        if (!from->args.tensor[i]) continue;
        d->args.tensor[i] = arena_make(a, struct tensor);
        *d->args.tensor[i] = *from->args.tensor[i];
        d->memory[i] = arena_alloc(a, (size_t)from->bytes[i]);
        memcpy(d->memory[i], from->memory[i], (size_t)from->bytes[i]);
        d->args.tensor[i]->data = d->memory[i] + MARGIN;
    }
    return d;
}

bool sim_evaluate(struct module *m, struct function_ir *f, struct sim_data *x, bool poison,
                  const char **why) {
    const struct eval_options how = {.poison = poison, .reordered = &x->reordered};
    return tile_eval(m, f, &x->args, &how, why);
}
