/* make_moves.c: copies, fills, reductions and scalars. */
#include "maker.h"
#include <string.h>

/* -- loads
 * ----------------------------------------------------------------------------------------- */
static const char *loop_variable(struct maker *g) {
    for (int i = g->scalar_count - 1; i >= 0; i--)
        if (g->scalars[i].name[0] == 'k' && g->scalars[i].indent <= g->t.indent)
            return g->scalars[i].name;
    return NULL;
}

/* A place that stands in a tensor, also outside of the one it is meant for. */
static const char *place_of(struct maker *g) {
    const char *k = loop_variable(g), *p = name_new(g, "P");
    text_printf(&g->parameters, "%s: T.Tensor((3,), \"int32\"), ", p);
    if (k && chance(g, 70)) return arena_printf(g->arena, "%s[%s]", p, k);
    return arena_printf(g->arena, "%s[%s]", p, PICK_TEXT(g, "0", "2", "bx", "by % 3"));
}

static const char *row_of(struct maker *g) {
    const char *k = loop_variable(g);
    if (chance(g, 8)) return place_of(g);
    if (k && chance(g, 30))
        return arena_printf(g->arena, "by * %d + %s * %d", g->rows, k, PICK(g, 1, 3, g->rows));
    if (chance(g, 15)) return arena_printf(g->arena, "by * %d + %u", g->rows, below(g, 7));
    return arena_printf(g->arena, "by * %d", g->rows);
}

static const char *column_of(struct maker *g) {
    const char *k = loop_variable(g);
    if (chance(g, 5)) return arena_printf(g->arena, "%s * 8", place_of(g));
    if (k && chance(g, 70))
        return arena_printf(g->arena, "bx * %d + %s * %d", g->columns, k,
                            PICK(g, 1, 4, 8, 16, 5, g->columns));
    if (chance(g, 15)) return arena_printf(g->arena, "bx * %d + %u", g->columns, below(g, 9));
    return arena_printf(g->arena, "bx * %d", g->columns);
}

static const char *box(struct maker *g, const struct input *t, const struct tile *x) {
    const char *row = row_of(g), *column = column_of(g);
    const char *r = arena_printf(g->arena, "%s:%s + %d", row, row, x->dim[x->rank > 1]);
    const char *c = arena_printf(g->arena, "%s:%s + %d", column, column, x->dim[x->rank - 1]);
    if (x->rank == 3) return arena_printf(g->arena, "0:%d, %s, %s", x->dim[0], r, c);
    if (x->rank == 2)
        return corner(g, t, arena_printf(g->arena, "%s:%s + %d", row, row, x->dim[0]), c);
    if (t->rank == 2 && chance(g, 30)) /* a column */
        return arena_printf(g->arena, "%s:%s + %d, %s", row, row, x->dim[0], column);
    return corner(g, t, row, c);
}

void random_load(struct maker *g) {
    struct tile *x = tile_choose(g, 0, ANY);
    if (g->loose && !is_real(x->dtype)) return;
    int rank = x->rank + (x->rank < 3 && chance(g, 25));
    const struct input *t =
        input_choose(g, rank, chance(g, 50) && !is_narrow(x->dtype) ? x->dtype : NULL);
    if (!t) return;
    const char *at =
        chance(g, 50) || x->rank != 2 ? box(g, t, x) : corner(g, t, row_of(g), column_of(g));
    say(g, "T.copy(%s[%s], %s)", t->name, at, x->name);
    x->written = true;
}

/* A loop over a tile that brings what no copy does: it may run ahead like one. */
void random_gather(struct maker *g) {
    struct tile *x = tile_choose(g, 2, ANY);
    if (!x || (g->loose && !is_real(x->dtype))) return;
    const struct input *t = input_choose(g, 2 + (int)below(g, 2),
                                         chance(g, 50) && !is_narrow(x->dtype) ? x->dtype : NULL);
    if (!t || (g->loose && !is_real(t->dtype))) return;
    const char *row = arena_printf(g->arena, "%s + i", row_of(g));
    const char *column = arena_printf(g->arena, "%s + j * %d", column_of(g), PICK(g, 1, 1, 2));
    const char *e =
        converted(g, arena_printf(g->arena, "%s[%s]", t->name, corner(g, t, row, column)), t->dtype,
                  x->dtype);
    const char *zero = arena_printf(g->arena, "T.cast(0, \"%s\")", x->dtype);
    parallel_begin(g, 2, x->dim);
    x->target = true;
    if (chance(g, 30)) {
        say(g, "if %s:", condition(g, 0));
        say(g, "    %s[i, j] = %s", x->name, e);
        say(g, "else:");
        say(g, "    %s[i, j] = %s", x->name, zero);
    } else if (chance(g, 50)) {
        say(g, "%s[i, j] = T.if_then_else(%s, %s, %s)", x->name, condition(g, 0), e, zero);
    } else {
        say(g, "%s[i, j] = %s", x->name, e);
    }
    parallel_end(g);
    x->written = true;
}

/* -- between tiles
 * --------------------------------------------------------------------------------- */
static bool may_convert(const struct maker *g, const struct tile *x, const struct tile *y) {
    return !g->loose || is_real(y->dtype) || !is_real(x->dtype);
}

void random_move(struct maker *g) {
    struct tile *x = tile_choose(g, 0, WRITTEN), *y = x ? tile_alike(g, x, ANY) : NULL;
    if (!y || !may_convert(g, x, y)) return;
    say(g, "T.copy(%s, %s)", x->name, y->name);
    y->written = true;
}

/* A window of one tile becomes a window of another, or comes from a tensor. */
void random_slice(struct maker *g) {
    struct tile *x = tile_choose(g, 2, WRITTEN), *y = tile_choose(g, 2, WRITTEN);
    if (!x || x == y || !may_convert(g, x, y)) return;
    int rows = x->dim[0] < y->dim[0] ? x->dim[0] : y->dim[0];
    int columns = x->dim[1] < y->dim[1] ? x->dim[1] : y->dim[1];
    rows = 1 + (int)below(g, (uint32_t)rows);
    if (chance(g, 50)) columns = 1 + (int)below(g, (uint32_t)columns);
    int r = (int)below(g, (uint32_t)(y->dim[0] - rows + 1));
    int c = (int)below(g, (uint32_t)(y->dim[1] - columns + 1));
    const char *to =
        arena_printf(g->arena, "%s[%d:%d, %d:%d]", y->name, r, r + rows, c, c + columns);
    if (chance(g, 40)) {
        const struct input *t = input_choose(g, 2, NULL);
        if (!t || (g->loose && !is_real(y->dtype))) return;
        const char *row = row_of(g), *column = column_of(g);
        say(g, "T.copy(%s[%s:%s + %d, %s:%s + %d], %s)", t->name, row, row, rows, column, column,
            columns, to);
        return;
    }
    int r0 = (int)below(g, (uint32_t)(x->dim[0] - rows + 1));
    int c0 = (int)below(g, (uint32_t)(x->dim[1] - columns + 1));
    say(g, "T.copy(%s[%d:%d, %d:%d], %s)", x->name, r0, r0 + rows, c0, c0 + columns, to);
}

void random_fill(struct maker *g) {
    struct tile *x = tile_choose(g, 0, ANY);
    if (is_narrow(x->dtype)) return;
    const char *v = is_real(x->dtype) ? PICK_TEXT(g, "0.75", "-1.0", "0.0") : "5";
    if (chance(g, 40)) {
        say(g, "T.clear(%s)", x->name);
    } else if (chance(g, 25) && x->rank == 2 && x->written) {
        int r = (int)below(g, (uint32_t)x->dim[0]);
        say(g, "T.fill(%s[%d:%d, :], %s)", x->name, r, x->dim[0], v);
    } else {
        say(g, "T.fill(%s, %s)", x->name, v);
    }
    x->written = true;
}

/* -- reductions
 * ------------------------------------------------------------------------------------ */
static struct tile *without_axis(struct maker *g, const struct tile *x, int axis) {
    for (int i = 0; i < g->tile_count; i++) {
        struct tile *y = &g->tiles[(i + (int)below(g, TILES)) % g->tile_count];
        bool fits = y->rank == x->rank - 1 && !strcmp(y->dtype, x->dtype);
        for (int k = 0, to = 0; k < x->rank && fits; k++)
            if (k != axis) fits = y->dim[to++] == x->dim[k];
        if (fits) return y;
    }
    int dim[AXES] = {1}, to = 0;
    for (int k = 0; k < x->rank; k++)
        if (k != axis) dim[to++] = x->dim[k];
    if (g->tile_count == TILES || g->depth) return NULL;
    return tile_new(g, to ? to : 1, dim, x->dtype, false);
}

static const char *reduction(struct maker *g, const struct tile *x, bool *sum) {
    const char *op;
    do {
        op = is_real(x->dtype) ? PICK_TEXT(g, "max", "min", "absmax", "sum", "sum", "abssum")
                               : PICK_TEXT(g, "sum", "max", "min", "bitand", "bitor", "bitxor",
                                           "abssum", "absmax");
        *sum = is_real(x->dtype) && strstr(op, "sum");
    } while (*sum && (!g->loose || strcmp(x->dtype, "float32") != 0));
    return op;
}

void random_reduce(struct maker *g) {
    struct tile *x = tile_choose(g, 0, WRITTEN);
    if (!x || is_narrow(x->dtype)) return;
    int axis = (int)below(g, (uint32_t)x->rank);
    struct tile *y = without_axis(g, x, axis);
    if (!y) return;
    bool sum, clear = !y->written || chance(g, 60);
    const char *op = reduction(g, x, &sum);
    const char *tail = "";
    if (strcmp(op, "abssum") != 0) tail = clear ? "" : ", clear=False";
    say(g, "T.reduce_%s(%s, %s, dim=%d%s)", op, x->name, y->name,
        chance(g, 20) ? axis - x->rank : axis, tail);
    y->written = true;
    if (!sum) return;
    parallel_begin(g, y->rank, y->dim);
    const char *at = y->rank == 1 ? "i" : "i, j";
    say(g, "%s[%s] = %s[%s] * 0.03125", y->name, at, y->name, at);
    parallel_end(g);
}

/* -- scalars of all threads
 * ------------------------------------------------------------------------ */
/* One element of a shared tile; every thread writes the same. */
static void set_element(struct maker *g, const struct tile *x) {
    const char *at = "0";
    for (int k = 1; k < x->rank; k++)
        at = arena_printf(g->arena, "%s, %u", at, below(g, (uint32_t)x->dim[k]));
    say(g, "%s[%s] = %s", x->name, at, value(g, x->dtype, 1));
}

void random_scalar(struct maker *g) {
    struct tile *x = tile_choose(g, 0, WRITTEN);
    const struct input *t = input_choose(g, 2, NULL);
    if (chance(g, 40) && g->scalar_count) {
        const struct known *s = &g->scalars[below(g, (uint32_t)g->scalar_count)];
        if (s->variable && s->indent <= g->t.indent) say(g, "%s = %s + 1", s->name, s->name);
        return;
    }
    if (x && x->shared && !is_narrow(x->dtype) && chance(g, 30)) {
        set_element(g, x);
    } else if (x && x->shared && !is_narrow(x->dtype) && chance(g, 50)) { /* a snapshot */
        const char *e = name_new(g, "e"), *at = "0";
        for (int k = 1; k < x->rank; k++)
            at = arena_printf(g->arena, "%s, %u", at, below(g, (uint32_t)x->dim[k]));
        say(g, "%s = %s[%s]", e, x->name, at);
        scalar_new(g, e, x->dtype, false);
    } else if (t && chance(g, 50)) {
        const char *e = name_new(g, "e");
        say(g, "%s = %s[by, bx + %u]", e, t->name, below(g, 9));
        scalar_new(g, e, t->dtype, false);
    } else {
        const char *v = name_new(g, "v"), *dtype = PICK_TEXT(g, "int32", "int32", "float32");
        say(g, "%s = T.alloc_var(\"%s\", %u)", v, dtype, below(g, 4));
        scalar_new(g, v, dtype, true);
    }
}
