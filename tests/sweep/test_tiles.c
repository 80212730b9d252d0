/* test_tiles.c: elementwise work and reductions over tiles of all shapes and thread counts.
 *
 * X, a tensor with ragged edges, is copied to a tile, changed in place, reduced along any axis, and
 * the result is used again for every element. All numbers are small and whole. */
#include "sweep.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANK = 3, CELLS = 8192 };

enum op { SUM, MAX, MIN, ABSMAX, ABSSUM, BITAND, BITOR, BITXOR };
static const char *const op_names[] = {"sum",    "max",    "min",   "absmax",
                                       "abssum", "bitand", "bitor", "bitxor"};

struct job {
    int rank, extent[RANK], ragged[RANK]; /* the tensor is smaller by so much */
    int axis, blocks, threads;
    enum op op;
    bool clear, keeps, negative_axis, shared, result_shared;
    const char *type, *result; /* of the tile, of the reduction's result */
};

static const int lengths[] = {1,  2,  3,  4,   7,   8,   15,  16,  17,  24,  31,  32,  33,  36,
                              48, 64, 96, 100, 104, 120, 127, 128, 160, 192, 229, 257, 576, 768};
static const int thread_counts[] = {32, 64, 96, 128, 160, 192, 256, 384, 512, 544, 1024};
static const char *const targets[] = {"sm_80", "sm_75"};
struct pair {
    const char *tile, *result;
    bool whole; /* bit operations are possible */
};
static const struct pair pairs[] = {
    {"float32", "float32", false},  {"float16", "float32", false}, {"float16", "float16", false},
    {"bfloat16", "float32", false}, {"float64", "float64", false}, {"int32", "int32", true},
    {"int8", "int32", true},        {"int8", "int8", true},        {"int64", "int64", true},
    {"int16", "int16", true},       {"float32", "float32", false}, {"uint8", "uint8", true},
};

static int64_t cells(const struct job *j) {
    int64_t n = 1;
    for (int k = 0; k < j->rank; k++) n *= j->extent[k];
    return n;
}

/* -- The text ---------------------------------------------------------------------------------- */

static const char *const names[] = {"i", "j", "k"};

/* "(2, 3, )" with one axis left out (-1: none) or 1 there, and `more` added. */
static void write_shape(struct text *t, const struct job *j, int without, const int *less) {
    text_puts(t, "(");
    for (int k = 0; k < j->rank; k++) {
        int extent = j->extent[k] * (k == 0 && less ? j->blocks : 1) - (less ? less[k] : 0);
        if (k == without && !j->keeps && j->rank > 1) continue;
        text_printf(t, "%d, ", k == without ? 1 : extent);
    }
    text_puts(t, ")");
}

static void write_index(struct text *t, const struct job *j, int without, bool tensor) {
    text_puts(t, "[");
    bool first = true;
    for (int k = 0; k < j->rank; k++) {
        if (k == without && !j->keeps && j->rank > 1) continue;
        text_puts(t, first ? "" : ", ");
        first = false;
        if (tensor && k == 0 && k != without) text_printf(t, "bx * %d + ", j->extent[0]);
        text_puts(t, k == without ? tensor ? "bx" : "0" : names[k]);
    }
    text_puts(t, "]");
}

static void write_loop(struct text *t, const struct job *j) {
    text_puts(t, "        for ");
    for (int k = 0; k < j->rank; k++) text_printf(t, "%s%s", k ? ", " : "", names[k]);
    text_puts(t, " in T.Parallel(");
    for (int k = 0; k < j->rank; k++) text_printf(t, "%s%d", k ? ", " : "", j->extent[k]);
    text_puts(t, "):\n            ");
}

static const char *scope(bool shared) { return shared ? "shared" : "fragment"; }

static void write_head(struct text *t, const struct job *j) {
    text_puts(t, "@T.prim_func\ndef k(X: T.Tensor(");
    write_shape(t, j, -1, j->ragged);
    text_printf(t, ", \"%s\"), Y: T.Tensor(", j->type);
    write_shape(t, j, -1, j->ragged);
    text_printf(t, ", \"%s\")):\n    with T.Kernel(%d, threads=%d) as bx:\n        t = T.alloc_%s(",
                j->result, j->blocks, j->threads, scope(j->shared));
    write_shape(t, j, -1, NULL);
    text_printf(t, ", \"%s\")\n        r = T.alloc_%s(", j->type, scope(j->result_shared));
    write_shape(t, j, j->axis, NULL);
    text_printf(t, ", \"%s\")\n", j->result);
}

static const char *text_of(struct arena *a, const struct job *j) {
    struct text t = text_new(a);
    write_head(&t, j);
    text_printf(&t, "        T.copy(X[bx * %d%s], t)\n", j->extent[0],
                j->rank == 3   ? ", 0, 0"
                : j->rank == 2 ? ", 0"
                               : "");
    write_loop(&t, j);
    text_puts(&t, "t");
    write_index(&t, j, -1, false);
    text_puts(&t, " = t");
    write_index(&t, j, -1, false);
    text_puts(&t, " + 1\n");
    if (!j->clear) text_puts(&t, "        T.fill(r, 2)\n");
    text_printf(&t, "        T.reduce_%s(t, r, dim=%d%s)\n", op_names[j->op],
                j->negative_axis ? j->axis - j->rank : j->axis, j->clear ? "" : ", clear=False");
    write_loop(&t, j);
    text_puts(&t, "Y");
    write_index(&t, j, -1, true);
    text_puts(&t, " = r");
    write_index(&t, j, j->axis, false);
    text_puts(&t, " - t");
    write_index(&t, j, -1, false);
    text_puts(&t, "\n");
    return t.at;
}

/* -- The reference ----------------------------------------------------------------------------- */

static int64_t wrap(int64_t v, const char *type) {
    enum dtype t = dtype_find(type);
    return dtype_is_float(t) ? v : scalar_cast((union scalar){.i = v}, DTYPE_I64, t).i;
}

static int64_t combine(const struct job *j, int64_t a, int64_t b) {
    int64_t size = wrap(b < 0 ? -b : b, j->result);
    switch (j->op) {
    case SUM: return wrap(a + b, j->result);
    case MAX: return a > b ? a : b;
    case MIN: return a < b ? a : b;
    case ABSMAX: return a > size ? a : size;
    case ABSSUM: return wrap(a + size, j->result);
    case BITAND: return a & b;
    case BITOR: return a | b;
    default: return a ^ b;
    }
}

/* X with zeros around, plus 1, at coordinates of a block. */
static int64_t changed(struct program *p, const struct job *j, int block, const int *x) {
    const struct tensor *t = program_tensor(p, "X");
    int64_t at = 0;
    bool inside = true;
    for (int k = 0; k < j->rank; k++) {
        int64_t i = x[k] + (k == 0 ? (int64_t)block * j->extent[0] : 0);
        inside &= i < t->extent[k];
        at += i * t->stride[k];
    }
    return wrap((inside ? (int64_t)tensor_value(t, at) : 0) + 1, j->type);
}

static int64_t reduced(struct program *p, const struct job *j, int block, const int *x) {
    int y[RANK] = {x[0], x[1], x[2]};
    int64_t sum = 2;
    for (int i = 0; i < j->extent[j->axis]; i++) {
        y[j->axis] = i;
        int64_t v = wrap(changed(p, j, block, y), j->result);
        bool first = i == 0 && j->clear;
        sum = !first                               ? combine(j, sum, v)
              : j->op == ABSMAX || j->op == ABSSUM ? wrap(v < 0 ? -v : v, j->result)
                                                   : v;
    }
    return sum;
}

static const char *check_line(struct program *p, const struct job *j, int block, int *x) {
    const struct tensor *y = program_tensor(p, "Y");
    int64_t all = reduced(p, j, block, x);
    for (x[j->axis] = 0; x[j->axis] < j->extent[j->axis]; x[j->axis]++) {
        int64_t at = 0;
        bool inside = true;
        for (int k = 0; k < j->rank; k++) {
            int64_t i = x[k] + (k == 0 ? (int64_t)block * j->extent[0] : 0);
            inside &= i < y->extent[k];
            at += i * y->stride[k];
        }
        int64_t want = wrap(all - changed(p, j, block, x), j->result);
        if (inside && tensor_value(y, at) != (double)want)
            return arena_printf(p->arena, "block %d: Y[%d, %d, %d] is %g, not %lld", block, x[0],
                                x[1], x[2], tensor_value(y, at), (long long)want);
    }
    x[j->axis] = 0;
    return NULL;
}

static const char *check_tiles(struct program *p, const void *data) {
    const struct job *j = data;
    int outer = (int)(cells(j) / j->extent[j->axis]);
    for (int block = 0; block < j->blocks; block++)
        for (int n = 0; n < outer; n++) {
            int x[RANK] = {0}, rest = n;
            for (int k = 0; k < j->rank; k++) {
                if (k == j->axis) continue;
                x[k] = rest % j->extent[k];
                rest /= j->extent[k];
            }
            const char *why = check_line(p, j, block, x);
            if (why) return why;
        }
    return NULL;
}

/* -- Samples ----------------------------------------------------------------------------------- */

static struct job sample(struct sweep *s) {
    struct job j;
    do {
        j = (struct job){.rank = 1 + pick(s, RANK), .blocks = 1 + pick(s, 2)};
        for (int k = 0; k < j.rank; k++) {
            j.extent[k] = pick_of(s, lengths);
            if (pick(s, 3) == 0 && j.extent[k] > 1) j.ragged[k] = pick(s, j.extent[k]);
        }
    } while (cells(&j) > CELLS);
    const struct pair *types = &pairs[pick(s, (int)(sizeof pairs / sizeof *pairs))];
    j.axis = pick(s, j.rank);
    j.threads = pick_of(s, thread_counts);
    j.op = (enum op)pick(s, types->whole ? BITXOR + 1 : ABSSUM + 1);
    j.clear = j.op == ABSSUM || pick(s, 2);
    j.keeps = pick(s, 3) == 0;
    j.negative_axis = pick(s, 2);
    j.shared = pick(s, 3) == 0;
    j.result_shared = pick(s, 4) == 0;
    j.type = types->tile;
    j.result = types->result;
    return j;
}

static void test_tiles(void **state) {
    (void)state;
    struct sweep s = sweep_new(4);
    for (int i = 0; i < sweep_count(3000); i++) {
        struct job j = sample(&s);
        struct arena *a = arena_new();
        struct trial t = {.text = text_of(a, &j),
                          .target = pick_of(&s, targets),
                          .check = check_tiles,
                          .data = &j};
        sweep_try(&s, &t);
        arena_free(a);
    }
    sweep_end(&s, "tiles", 2900, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tiles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
