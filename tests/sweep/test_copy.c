/* test_copy.c: copies of windows: over edges, through unit axes, between all scopes and types.
 *
 * A window of G goes into a window of a tile, the tile through others, and a window of it into a
 * window of O. The expected O is computed here on plain arrays. */
#include "sweep.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANK = 4, BOX = 3, CELLS = 1 << 16, FILLED = 9, BEFORE = 77, RUN_TIME = 5 };

/* One side of a copy: extents of the buffer and the window in it. */
struct side {
    int rank;
    int dim[RANK], base[RANK], extent[RANK];
    bool sliced[RANK];   /* written lo:hi although the extent is 1 */
    bool run_time[RANK]; /* the base depends on the parameter n */
};

struct job {
    int box_rank, box[BOX];
    struct side in, tile, tile_out, out; /* tile and tile_out are windows of one tile */
    int threads;
    const char *in_type, *tile_type, *out_type;
    const char *scope, *middle; /* of the tile, and of what it passes through or NULL */
    bool element;               /* G by its corner, the whole tile */
};

static const int lengths[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 31, 32, 33, 40, 63, 64, 100};
static const int thread_counts[] = {32, 64, 96, 128, 160, 256, 544};
static const char *const types[] = {"float32", "float16", "bfloat16", "int8",    "int32",
                                    "float64", "int64",   "int16",    "float32", "float16"};
static const char *const scopes[] = {"shared", "shared", "fragment"};
static const char *const middles[] = {NULL, "shared", "fragment"};
static const char *const targets[] = {"sm_80", "sm_75", "sm_90a"};

static int64_t cells(const struct side *s) {
    int64_t n = 1;
    for (int k = 0; k < s->rank; k++) n *= s->dim[k];
    return n;
}

/* Puts the box on axes of a buffer, with unit axes between; windows of tensors may hang over. */
static struct side make_side(struct sweep *s, const struct job *j, bool tensor) {
    struct side d = {.rank = j->box_rank + pick(s, RANK - j->box_rank + 1)};
    int units = d.rank - j->box_rank, at = 0;
    for (int k = 0; k < d.rank; k++) {
        bool unit = at == j->box_rank || (units > 0 && pick(s, 2));
        units -= unit;
        d.extent[k] = unit ? 1 : j->box[at++];
        d.dim[k] = d.extent[k] + (pick(s, 2) ? pick(s, 5) : 0);
        d.base[k] = pick(s, d.dim[k] - d.extent[k] + 1);
        if (tensor && pick(s, 3) == 0) d.base[k] += pick(s, 4);
        if (tensor && pick(s, 6) == 0 && d.dim[k] > 2) d.dim[k] -= pick(s, 3);
        d.sliced[k] = d.extent[k] > 1 || pick(s, 3) == 0;
        d.run_time[k] = pick(s, 4) == 0;
        if (tensor && d.run_time[k] && pick(s, 3) == 0) d.base[k] -= 3;
    }
    return d;
}

/* Another window of the same buffer. */
static struct side other_window(struct sweep *s, const struct side *tile) {
    struct side d = *tile;
    for (int k = 0; k < d.rank; k++) d.base[k] = pick(s, d.dim[k] - d.extent[k] + 1);
    return d;
}

static void write_base(struct text *t, const struct side *d, int k, int more) {
    if (d->run_time[k])
        text_printf(t, "n + %d", d->base[k] + more - RUN_TIME);
    else
        text_printf(t, "%d", d->base[k] + more);
}

static void write_window(struct text *t, const char *name, const struct side *d, bool corner) {
    text_printf(t, "%s[", name);
    for (int k = 0; k < d->rank; k++) {
        if (k) text_puts(t, ", ");
        write_base(t, d, k, 0);
        if (corner || !d->sliced[k]) continue;
        text_puts(t, ":");
        write_base(t, d, k, d->extent[k]);
    }
    text_puts(t, "]");
}

static void write_shape(struct text *t, const struct side *d) {
    for (int k = 0; k < d->rank; k++) text_printf(t, "%d, ", d->dim[k]);
}

static const char *text_of(struct arena *a, const struct job *j) {
    struct text t = text_new(a);
    text_puts(&t, "@T.prim_func\ndef k(G: T.Tensor((");
    write_shape(&t, &j->in);
    text_printf(&t, "), \"%s\"), n: T.int32, O: T.Tensor((", j->in_type);
    write_shape(&t, &j->out);
    text_printf(&t, "), \"%s\")):\n    with T.Kernel(1, threads=%d) as bx:\n", j->out_type,
                j->threads);
    text_printf(&t, "        t = T.alloc_%s((", j->scope);
    write_shape(&t, &j->tile);
    text_printf(&t, "), \"%s\")\n        T.fill(t, %d)\n        T.copy(", j->tile_type, FILLED);
    write_window(&t, "G", &j->in, j->element);
    text_puts(&t, ", ");
    j->element ? text_puts(&t, "t") : write_window(&t, "t", &j->tile, false);
    text_puts(&t, ")\n");
    if (j->middle) {
        text_printf(&t, "        u = T.alloc_%s((", j->middle);
        write_shape(&t, &j->tile);
        text_printf(&t, "), \"%s\")\n        T.copy(t, u)\n", j->tile_type);
    }
    text_puts(&t, "        T.copy(");
    write_window(&t, j->middle ? "u" : "t", &j->tile_out, false);
    text_puts(&t, ", ");
    write_window(&t, "O", &j->out, false);
    text_puts(&t, ")\n");
    return t.at;
}

/* -- The reference ----------------------------------------------------------------------------- */

/* Where element `x` of the box lies in a window's buffer; -1: outside. */
static int64_t cell(const struct side *d, const int *x) {
    int64_t at = 0;
    int axis = 0;
    for (int k = 0; k < d->rank; k++) {
        int i = d->base[k] + (d->extent[k] > 1 ? x[axis++] : 0);
        if (i < 0 || i >= d->dim[k]) return -1;
        at = at * d->dim[k] + i;
    }
    return at;
}

static void copy_window(const double *from, const struct side *f, double *to,
                        const struct side *d) {
    int extents[RANK], count = 0, x[RANK] = {0};
    for (int k = 0; k < d->rank; k++)
        if (d->extent[k] > 1) extents[count++] = d->extent[k];
    for (;;) {
        int64_t source = cell(f, x), target = cell(d, x);
        if (target >= 0) to[target] = source >= 0 ? from[source] : 0;
        int k = count - 1;
        while (k >= 0 && ++x[k] == extents[k]) x[k--] = 0;
        if (k < 0) return;
    }
}

static const char *check_copy(struct program *p, const void *data) {
    const struct job *j = data;
    const struct tensor *g = program_tensor(p, "G"), *o = program_tensor(p, "O");
    double *from = arena_array(p->arena, double, cells(&j->in));
    double *tile = arena_array(p->arena, double, cells(&j->tile));
    double *to = arena_array(p->arena, double, cells(&j->out));
    for (int64_t i = 0; i < cells(&j->in); i++) from[i] = tensor_value(g, i);
    for (int64_t i = 0; i < cells(&j->tile); i++) tile[i] = FILLED;
    for (int64_t i = 0; i < cells(&j->out); i++) to[i] = BEFORE;
    copy_window(from, &j->in, tile, &j->tile);
    copy_window(tile, &j->tile_out, to, &j->out);
    for (int64_t i = 0; i < cells(&j->out); i++)
        if (tensor_value(o, i) != to[i])
            return arena_printf(p->arena, "O at %lld is %g, not %g", (long long)i,
                                tensor_value(o, i), to[i]);
    return NULL;
}

static void give_n(struct program *p, const void *data) {
    (void)data;
    program_scalar(p, "n", RUN_TIME);
}

static void fill_tensors(struct program *p, const void *data) {
    (void)data;
    struct tensor *g = program_tensor(p, "G"), *o = program_tensor(p, "O");
    for (int64_t i = 0; i < tensor_elements(g); i++) tensor_put(g, i, (double)(i * 7 % 113) - 50);
    for (int64_t i = 0; i < tensor_elements(o); i++) tensor_put(o, i, BEFORE);
}

/* -- Samples ----------------------------------------------------------------------------------- */

static struct job sample(struct sweep *s) {
    struct job j;
    do {
        j = (struct job){.box_rank = 1 + pick(s, BOX)};
        for (int k = 0; k < j.box_rank; k++) j.box[k] = pick_of(s, lengths);
        j.element = pick(s, 4) == 0;
        j.in = make_side(s, &j, true);
        j.tile = make_side(s, &j, false);
        j.tile_out = other_window(s, &j.tile);
        j.out = make_side(s, &j, true);
        j.threads = pick_of(s, thread_counts);
        j.in_type = pick_of(s, types);
        j.tile_type = pick(s, 2) ? j.in_type : pick_of(s, types);
        j.out_type = pick(s, 2) ? j.tile_type : pick_of(s, types);
        j.scope = pick_of(s, scopes);
        j.middle = pick_of(s, middles);
    } while (cells(&j.in) > CELLS || cells(&j.tile) > 4096 || cells(&j.out) > CELLS);
    return j;
}

/* The corner form spans the last axes; the whole tile takes part. */
static bool as_element(struct job *j) {
    if (j->in.rank < j->tile.rank) return false;
    for (int k = 0; k < j->tile.rank; k++) {
        j->tile.base[k] = 0;
        j->tile.extent[k] = j->tile.dim[k];
        j->tile.run_time[k] = false;
    }
    for (int k = 0; k < j->in.rank; k++) {
        int other = k - (j->in.rank - j->tile.rank);
        j->in.extent[k] = other < 0 ? 1 : j->tile.dim[other];
    }
    return true;
}

static void test_windows(void **state) {
    (void)state;
    struct sweep s = sweep_new(3);
    for (int i = 0; i < sweep_count(4000); i++) {
        struct job j = sample(&s);
        if (j.element) j.element = as_element(&j);
        struct arena *a = arena_new();
        struct trial t = {.text = text_of(a, &j),
                          .target = pick_of(&s, targets),
                          .prepare = give_n,
                          .fill = fill_tensors,
                          .check = check_copy,
                          .data = &j};
        sweep_try(&s, &t);
        arena_free(a);
    }
    sweep_end(&s, "windows", 4000, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_windows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
