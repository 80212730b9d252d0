/* make_values.c: expressions of a type, from tiles, tensors, indices and names in scope.
 *
 * Values stay small, so that narrow types hold them. Where sums come in any order (`loose`) a float
 * decides nothing: no comparison, no rounding to a whole number, nothing steep. */
#include "maker.h"
#include <string.h>

/* -- leaves
 * ---------------------------------------------------------------------------------------- */
static int axis_of_extent(const struct maker *g, int extent, unsigned used) {
    for (int a = 0; a < g->axes; a++)
        if (g->extent[a] == extent && !(used >> a & 1)) return a;
    return -1;
}

/* By axes of the same extents, each at most once: in place, permuted or a broadcast. */
static const char *index_in_place(struct maker *g, const struct tile *x) {
    const char *out = NULL;
    unsigned used = 0;
    for (int k = 0; k < x->rank; k++) {
        int a = axis_of_extent(g, x->dim[k], used);
        bool own = x->rank == g->axes && g->extent[k] == x->dim[k] && !(used >> k & 1);
        if (own) a = k;
        if (x->target && !own) return NULL;
        if (a < 0) return NULL;
        used |= 1u << a;
        out = out ? arena_printf(g->arena, "%s, %s", out, g->axis[a]) : g->axis[a];
    }
    return out;
}

static const char *from_tensor(struct maker *g, const char *dtype);

/* A whole number that the iteration works out: a name's, or a tensor's element. */
static const char *worked_out(struct maker *g) {
    if (chance(g, 40)) return from_tensor(g, "int32");
    if (!g->scalar_count) return NULL;
    const struct known *s = &g->scalars[below(g, (uint32_t)g->scalar_count)];
    if (s->indent > g->t.indent || is_real(s->dtype)) return NULL;
    return arena_printf(g->arena, "T.cast(%s, \"int32\")", s->name);
}

static const char *index_part(struct maker *g, int dim) {
    int a = (int)below(g, (uint32_t)g->axes);
    const char *i = g->axis[a], *e = chance(g, 25) ? worked_out(g) : NULL;
    int room = dim - g->extent[a];
    if (e) return arena_printf(g->arena, "(%s + %s) %% %d", e, chance(g, 50) ? i : "1", dim);
    if (room >= 0 && chance(g, 50)) {
        if (chance(g, 40)) return arena_printf(g->arena, "%d - %s", dim - 1, i);
        return arena_printf(g->arena, "%s + %u", i, below(g, (uint32_t)room + 1));
    }
    switch (below(g, 4)) {
    case 0: return arena_printf(g->arena, "%u", below(g, (uint32_t)dim));
    case 1: return arena_printf(g->arena, "(%s // %u) %% %d", i, 2 + below(g, 3), dim);
    default:
        return arena_printf(g->arena, "(%s * %u + %u) %% %d", i, 1 + below(g, 5), below(g, 7), dim);
    }
}

static const char *index_anywhere(struct maker *g, const struct tile *x) {
    const char *out = index_part(g, x->dim[0]);
    for (int k = 1; k < x->rank; k++)
        out = arena_printf(g->arena, "%s, %s", out, index_part(g, x->dim[k]));
    return out;
}

const char *converted(struct maker *g, const char *e, const char *from, const char *to) {
    if (!strcmp(from, to)) return e;
    if (g->loose && !is_real(from) && is_real(to))
        return arena_printf(g->arena, "T.cast(%s %% 16, \"%s\")", e, to);
    if (chance(g, 15)) return arena_printf(g->arena, "(%s).astype(\"%s\")", e, to);
    return arena_printf(g->arena, "T.cast(%s, \"%s\")", e, to);
}

static bool convertible(const struct maker *g, const char *from, const char *to) {
    return !g->loose || !is_real(from) || is_real(to);
}

static const char *from_tile(struct maker *g, const char *dtype) {
    struct tile *x = tile_choose(g, 0, WRITTEN);
    if (!x || !g->axes || !convertible(g, x->dtype, dtype)) return NULL;
    const char *index = index_in_place(g, x);
    bool far = chance(g, x->shared ? 40 : 6);
    if (!x->target && (far || (!index && x->shared))) index = index_anywhere(g, x);
    if (!index) return NULL;
    return converted(g, arena_printf(g->arena, "%s[%s]", x->name, index), x->dtype, dtype);
}

/* Over the edges as well: what is outside reads as zero. */
static const char *from_tensor(struct maker *g, const char *dtype) {
    if (!g->axes) return NULL;
    const struct input *x = input_choose(g, 1 + (int)below(g, 3), NULL);
    if (!x || !convertible(g, x->dtype, dtype)) return NULL;
    const char *i = g->axis[0], *j = g->axis[g->axes - 1];
    const char *row = arena_printf(g->arena, "by * %d + %s + %d", g->rows, i, PICK(g, 0, 0, 3, -2));
    const char *column =
        arena_printf(g->arena, "bx * %d + %s + %d", g->columns, j, PICK(g, 0, 0, 0, 1, 8, -1));
    if (g->counter && chance(g, 60)) row = arena_printf(g->arena, "%s * 2 + %s", g->counter, row);
    if (g->counter && chance(g, 40)) column = arena_printf(g->arena, "%s - %s", column, g->counter);
    if (chance(g, 10)) column = arena_printf(g->arena, "(%s) * %d", j, PICK(g, 2, 3));
    const char *e = arena_printf(g->arena, "%s[%s]", x->name, corner(g, x, row, column));
    return converted(g, e, x->dtype, dtype);
}

static const char *from_scalar(struct maker *g, const char *dtype) {
    if (!g->scalar_count) return NULL;
    const struct known *s = &g->scalars[below(g, (uint32_t)g->scalar_count)];
    if (s->indent > g->t.indent || !convertible(g, s->dtype, dtype)) return NULL;
    return converted(g, s->name, s->dtype, dtype);
}

static const char *from_index(struct maker *g, const char *dtype) {
    if (!g->axes) return arena_printf(g->arena, "T.cast(bx %% 5, \"%s\")", dtype);
    const char *i = g->axis[below(g, (uint32_t)g->axes)], *j = g->axis[g->axes - 1];
    return arena_printf(g->arena, "T.cast((%s * %u + %s) %% %u, \"%s\")", i, 1 + below(g, 5), j,
                        2 + below(g, 7), dtype);
}

static const char *literal(struct maker *g, const char *dtype) {
    if (is_real(dtype))
        return PICK_TEXT(g, "0.5", "1.0", "-0.75", "2.0", "0.1", "-1.5", "0.0", "0.0625");
    if (is_unsigned(dtype)) return PICK_TEXT(g, "1", "2", "3", "7", "0", "100");
    return PICK_TEXT(g, "1", "2", "-3", "7", "0", "-1", "100");
}

static const char *typed_literal(struct maker *g, const char *dtype) {
    return arena_printf(g->arena, "T.cast(%s, \"%s\")", literal(g, dtype), dtype);
}

static const char *leaf(struct maker *g, const char *dtype) {
    const char *e = NULL;
    for (int i = 0; i < 3 && !e; i++) {
        uint32_t way = below(g, 20);
        e = way < 11   ? from_tile(g, dtype)
            : way < 15 ? from_tensor(g, dtype)
            : way < 17 ? from_scalar(g, dtype)
                       : from_index(g, dtype);
    }
    return e ? e : typed_literal(g, dtype);
}

/* -- conditions
 * ------------------------------------------------------------------------------------ */
static const char *inside(struct maker *g) {
    return chance(g, 50) ? arena_printf(g->arena, "by * %d + %s < M", g->rows, g->axis[0])
                         : arena_printf(g->arena, "bx * %d + %s < N - %u", g->columns,
                                        g->axis[g->axes - 1], below(g, 4));
}

const char *condition(struct maker *g, int depth) {
    if (depth > 0 && chance(g, 40))
        return arena_printf(g->arena, "%s %s %s", condition(g, 0), chance(g, 60) ? "and" : "or",
                            condition(g, depth - 1));
    const char *i = g->axis[below(g, (uint32_t)g->axes)], *j = g->axis[g->axes - 1];
    const char *type = g->loose || chance(g, 30) ? "int32" : "float32";
    switch (below(g, 6)) {
    case 0: return inside(g);
    case 1: return arena_printf(g->arena, "%s %% %u != 1", i, 2 + below(g, 4));
    case 2: return arena_printf(g->arena, "%s + %u < %s", i, below(g, 9), j);
    case 3: return arena_printf(g->arena, "%s >= %u", j, below(g, 20));
    case 4: return uniform_condition(g);
    default:
        return arena_printf(g->arena, "%s %s %s", leaf(g, type), PICK_TEXT(g, ">", "<=", "!="),
                            literal(g, type));
    }
}

const char *uniform_condition(struct maker *g) {
    const struct known *s =
        g->scalar_count ? &g->scalars[below(g, (uint32_t)g->scalar_count)] : NULL;
    if (s && s->indent <= g->t.indent && (!g->loose || !is_real(s->dtype)) && chance(g, 50))
        return arena_printf(g->arena, "%s %s %s", s->name, PICK_TEXT(g, ">", "<", "!="),
                            literal(g, s->dtype));
    switch (below(g, 5)) {
    case 0: return arena_printf(g->arena, "bx %% 2 == %u", below(g, 2));
    case 1: return arena_printf(g->arena, "by * %d < M // 2", g->rows);
    case 2: return arena_printf(g->arena, "n > %u", below(g, 5));
    case 3: return arena_printf(g->arena, "not (bx + by < %u)", below(g, 3));
    default: return arena_printf(g->arena, "n == 3 and bx < %u", below(g, 3));
    }
}

const char *whole(struct maker *g, uint32_t below_it) {
    switch (below(g, 5)) {
    case 0: return arena_printf(g->arena, "n %% %u", below_it);
    case 1: return arena_printf(g->arena, "(bx + %u) %% %u", below(g, 5), below_it);
    default: return arena_printf(g->arena, "%u", below(g, below_it));
    }
}

/* -- operators
 * ------------------------------------------------------------------------------------- */
static const char *smooth(struct maker *g, const char *a, const char *b, const char *dtype) {
    struct arena *x = g->arena;
    switch (below(g, 14)) {
    case 0: return arena_printf(x, "(%s + %s) * 0.5", a, b);
    case 1: return arena_printf(x, "(%s - %s) * 0.5", a, b);
    case 2: return arena_printf(x, "T.max(%s, %s)", a, b);
    case 3: return arena_printf(x, "T.min(%s, %s)", a, b);
    case 4: return arena_printf(x, "%s * 0.5 + %s * 0.25", a, b);
    case 5: return arena_printf(x, "T.exp(T.min(%s, 1.0))", a);
    case 6: return arena_printf(x, "(%s / (T.abs(%s) + 1.0))", a, b);
    case 7: return arena_printf(x, "T.abs(%s)", a);
    case 8: return arena_printf(x, "T.tanh(%s)", a);
    case 9: return arena_printf(x, "T.clamp(%s, -1.0, 1.0) * %s", a, b);
    case 10: return arena_printf(x, "(-(%s))", a);
    case 11: return arena_printf(x, "T.sigmoid(%s)", a);
    case 12: return arena_printf(x, "T.rsqrt(T.abs(%s) + 1.0)", a);
    default:
        return arena_printf(x, "(%s if %s else %s)", a,
                            g->axes ? condition(g, 0) : uniform_condition(g),
                            chance(g, 70) ? b : typed_literal(g, dtype));
    }
}

static const char *steep(struct maker *g, const char *a, const char *b) {
    struct arena *x = g->arena;
    switch (below(g, 6)) {
    case 0: return arena_printf(x, "T.floor(%s * 4.0)", a);
    case 1: return arena_printf(x, "T.sqrt(%s)", a);
    case 2: return arena_printf(x, "T.log(T.abs(%s))", a);
    case 3: return arena_printf(x, "(%s / %s)", a, b);
    case 4: return arena_printf(x, "T.round(%s) * %s", a, b);
    default: return arena_printf(x, "T.if_then_else(%s > %s, %s, 0.5)", a, b, a);
    }
}

static const char *integral(struct maker *g, const char *a, const char *b, const char *dtype) {
    struct arena *x = g->arena;
    switch (below(g, 16)) {
    case 0: return arena_printf(x, "(%s + %s)", a, b);
    case 1: return arena_printf(x, "(%s - %s)", a, b);
    case 2: return arena_printf(x, "(%s * %s)", a, b);
    case 3: return arena_printf(x, "(%s // %u)", a, 1 + below(g, 9));
    case 4: return arena_printf(x, "(%s %% %u)", a, 1 + below(g, 9));
    case 5: return arena_printf(x, "T.max(%s, %s)", a, b);
    case 6: return arena_printf(x, "T.min(%s, %s)", a, b);
    case 7: return arena_printf(x, "(%s ^ %s)", a, b);
    case 8: return arena_printf(x, "(%s & %s)", a, b);
    case 9: return arena_printf(x, "(%s | %s)", a, b);
    case 10: return arena_printf(x, "(%s >> %u)", a, below(g, 5));
    case 11: return arena_printf(x, "(%s << %u)", a, below(g, 4));
    case 12: return arena_printf(x, "T.bitwise_not(%s)", a);
    case 13: return arena_printf(x, "T.truncdiv(%s, %u)", a, 1 + below(g, 9));
    case 14: return arena_printf(x, "T.abs(%s)", a);
    default:
        return arena_printf(x, "T.if_then_else(%s < %s, %s, %s)", a, b, b, typed_literal(g, dtype));
    }
}

const char *value(struct maker *g, const char *dtype, int depth) {
    const char *type = is_narrow(dtype) ? "float32" : dtype;
    if (depth <= 0) return converted(g, leaf(g, type), type, dtype);
    if (chance(g, 15)) { /* another type inside */
        const char *inner = is_real(type) ? PICK_TEXT(g, "float32", "float16", "bfloat16")
                                          : PICK_TEXT(g, "int32", "int64", "int8", "uint16");
        return converted(g, value(g, inner, depth - 1), inner, dtype);
    }
    const char *a = value(g, type, depth - 1), *b = value(g, type, depth - 2);
    const char *e = !is_real(type)              ? integral(g, a, b, type)
                    : g->loose || chance(g, 75) ? smooth(g, a, b, type)
                                                : steep(g, a, b);
    return converted(g, e, type, dtype);
}
