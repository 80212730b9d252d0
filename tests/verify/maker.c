/* maker.c: see maker.h: choices, names, tiles and tensors. */
#include "maker.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

uint32_t below(struct maker *g, uint32_t n) {
    g->state = g->state * 6364136223846793005u + 1442695040888963407u;
    return n ? (uint32_t)(g->state >> 33) % n : 0;
}

bool chance(struct maker *g, uint32_t percent) { return below(g, 100) < percent; }

int pick_int(struct maker *g, const int *from, int count) {
    return from[below(g, (uint32_t)count)];
}

const char *pick_text(struct maker *g, const char *const *from, int count) {
    return from[below(g, (uint32_t)count)];
}

void say(struct maker *g, const char *format, ...) {
    char line[4000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    text_printf(&g->t, "%s\n", line);
}

const char *name_new(struct maker *g, const char *stem) {
    return arena_printf(g->arena, "%s%d", stem, g->names++);
}

/* -- types
 * ----------------------------------------------------------------------------------------- */
bool is_real(const char *dtype) { return strstr(dtype, "float") != NULL; }
bool is_narrow(const char *dtype) { return !strncmp(dtype, "float8", 6); }
bool is_unsigned(const char *dtype) { return dtype[0] == 'u'; }

/* -- tiles
 * ----------------------------------------------------------------------------------------- */
const char *tile_shape(struct maker *g, const struct tile *x) {
    const char *s = arena_printf(g->arena, "%d", x->dim[0]);
    for (int k = 1; k < x->rank; k++) s = arena_printf(g->arena, "%s, %d", s, x->dim[k]);
    return s;
}

struct tile *tile_new(struct maker *g, int rank, const int *dim, const char *dtype, bool shared) {
    struct tile *x = &g->tiles[g->tile_count++];
    *x = (struct tile){
        .name = name_new(g, shared ? "s" : "f"), .dtype = dtype, .rank = rank, .shared = shared};
    memcpy(x->dim, dim, (size_t)rank * sizeof *dim);
    say(g, "%s = T.alloc_%s((%s,), \"%s\")", x->name, shared ? "shared" : "fragment",
        tile_shape(g, x), dtype);
    return x;
}

struct tile *tile_choose(struct maker *g, int rank, enum wanted w) {
    int start = (int)below(g, (uint32_t)g->tile_count);
    for (int i = 0; i < g->tile_count; i++) {
        struct tile *x = &g->tiles[(start + i) % g->tile_count];
        if ((!rank || x->rank == rank) && (w == ANY || x->written)) return x;
    }
    return NULL;
}

struct tile *tile_alike(struct maker *g, const struct tile *x, enum wanted w) {
    int start = (int)below(g, (uint32_t)g->tile_count);
    for (int i = 0; i < g->tile_count; i++) {
        struct tile *y = &g->tiles[(start + i) % g->tile_count];
        bool same = y->rank == x->rank;
        for (int k = 0; k < x->rank; k++) same &= y->dim[k] == x->dim[k];
        if (same && y != x && (w == ANY || y->written)) return y;
    }
    return NULL;
}

/* -- tensors and scalars
 * --------------------------------------------------------------------------- */
static const char *extents(struct maker *g, int rank) {
    const char *m = chance(g, 50) ? "M" : "K", *n = chance(g, 60) ? "N" : "K";
    switch (rank) {
    case 1: return arena_printf(g->arena, "%s", m);
    case 2: return arena_printf(g->arena, "%s, %s", m, n);
    default: return arena_printf(g->arena, "%u, %s, %s", 1 + below(g, 3), m, n);
    }
}

static void declare_input(struct maker *g, const struct input *x) {
    const char *shape = extents(g, x->rank);
    if (x->rank == 2 && chance(g, 12))
        text_printf(&g->parameters, "%s: T.StridedTensor((%s), (%s + %d, 1), \"%s\"), ", x->name,
                    shape, shape + 3, PICK(g, 1, 8, 13), x->dtype);
    else
        text_printf(&g->parameters, "%s: T.Tensor((%s,), \"%s\"), ", x->name, shape, x->dtype);
}

const struct input *input_choose(struct maker *g, int rank, const char *dtype) {
    int start = (int)below(g, (uint32_t)g->input_count);
    for (int i = 0; i < g->input_count && chance(g, 85); i++) {
        struct input *x = &g->inputs[(start + i) % g->input_count];
        if (x->rank == rank && (!dtype || !strcmp(x->dtype, dtype))) return x;
    }
    if (g->input_count == TENSORS) {
        for (int i = 0; i < TENSORS; i++)
            if (g->inputs[i].rank == rank && (!dtype || !strcmp(g->inputs[i].dtype, dtype)))
                return &g->inputs[i];
        return NULL;
    }
    struct input *x = &g->inputs[g->input_count++];
    if (!dtype) dtype = g->integers ? "int32" : PICK_TEXT(g, "float32", "float16", "bfloat16");
    *x = (struct input){name_new(g, "X"), dtype, rank};
    declare_input(g, x);
    return x;
}

const char *corner(struct maker *g, const struct input *x, const char *row, const char *column) {
    if (x->rank == 1) return column;
    if (x->rank == 2) return arena_printf(g->arena, "%s, %s", row, column);
    const char *first = g->batch ? "bz" : arena_printf(g->arena, "%u", below(g, 3));
    return arena_printf(g->arena, "%s, %s, %s", first, row, column);
}

void scalar_new(struct maker *g, const char *name, const char *dtype, bool variable) {
    if (g->scalar_count == SCALARS) return;
    g->scalars[g->scalar_count++] = (struct known){name, dtype, g->t.indent, variable};
}
