/* make_places.c: places that an iteration chooses: by a condition, or by a counter that a branch
 * around the write keeps inside. */
#include "maker.h"
#include <string.h>

static const char *first_axis(const struct maker *g) { return g->batch ? "bz, " : ""; }

/* A tensor that one statement of this launch writes, each element of the block's tile in its own
 * `places`. */
static const char *places_new(struct maker *g, const char *dtype, int places) {
    const char *x = name_new(g, "P");
    if (g->batch)
        text_printf(&g->parameters, "%s: T.Tensor((%d, M, N, %d), \"%s\"), ", x, g->batch, places,
                    dtype);
    else
        text_printf(&g->parameters, "%s: T.Tensor((M, N, %d), \"%s\"), ", x, places, dtype);
    return x;
}

static void scatter(struct maker *g, struct tile *x, const char *place) {
    const char *dtype = is_narrow(x->dtype) ? "float32" : x->dtype, *to = places_new(g, dtype, 3);
    parallel_begin(g, 2, x->dim);
    if (!place) place = "0";
    say(g, "%s[%sby * %d + i, bx * %d + j, %s] = %s", to, first_axis(g), g->rows, g->columns, place,
        value(g, dtype, 1));
    parallel_end(g);
}

static const char *chosen_place(struct maker *g, const struct tile *x) {
    const char *dims[] = {"i", "j"};
    const char *place;
    g->axes = 2;
    for (int k = 0; k < 2; k++) g->axis[k] = dims[k], g->extent[k] = x->dim[k];
    switch (below(g, 3)) {
    case 0: place = arena_printf(g->arena, "T.if_then_else(%s, 2, 0)", condition(g, 1)); break;
    case 1: place = arena_printf(g->arena, "T.cast(%s, \"int32\") + 1", condition(g, 0)); break;
    default:
        place = arena_printf(g->arena, "T.if_then_else(%s, 1, T.if_then_else(%s, 0, 2))",
                             condition(g, 0), condition(g, 0));
    }
    g->axes = 0;
    return place;
}

/* The same choice twice, with something between that may change what it depends on. */
static void scatter_twice(struct maker *g) {
    struct tile *x = tile_choose(g, 2, WRITTEN);
    if (!x || x->dim[0] != g->rows || x->dim[1] != g->columns) return;
    struct tile own = *x; /* tiles may be added meanwhile */
    const char *place = chosen_place(g, &own);
    scatter(g, &own, place);
    if (chance(g, 70)) random_map(g);
    if (chance(g, 70)) scatter(g, &own, place);
}

/* A few columns that a counter fills, one a turn, and what else a turn does where it fills none. */
static void fill_columns(struct maker *g) {
    const char *dtype = g->integers ? "int32" : PICK_TEXT(g, "float32", "float16", "int32");
    int dim[2] = {g->rows, PICK(g, 3, 4)};
    if (g->tile_count == TILES) return;
    struct tile *x = tile_new(g, 2, dim, dtype, chance(g, 25));
    const char *q = name_new(g, "q"), *to = places_new(g, dtype, 8), *place;
    say(g, "T.fill(%s, %d)", x->name, (int)below(g, 2));
    place = chance(g, 60) ? q : arena_printf(g->arena, "(%s + %s)", q, whole(g, 3));
    say(g, "for %s in T.serial(%d):", q, PICK(g, 3, 5, 6));
    g->t.indent++;
    parallel_begin(g, 1, dim);
    x->target = true;
    if (chance(g, 80))
        say(g, "if %s < %d%s:", place, dim[1],
            chance(g, 30) ? arena_printf(g->arena, " and %s", condition(g, 0)) : "");
    else
        say(g, "if %s < %d and i >= %u:", place, dim[1], below(g, 4));
    say(g, "    %s[i, %s] = %s", x->name, place, value(g, dtype, 1));
    if (chance(g, 80))
        say(g, "%s[%sby * %d + i, bx * %d, %s] = %s", to, first_axis(g), g->rows, g->columns, q,
            value(g, dtype, 1));
    parallel_end(g);
    g->t.indent--;
    x->written = true;
}

void random_places(struct maker *g) {
    if (g->depth || g->axes) return;
    if (chance(g, 50))
        scatter_twice(g);
    else
        fill_columns(g);
}
