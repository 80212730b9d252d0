/* make_maps.c: loops over tiles, what may stand in their bodies, and atomics. */
#include "maker.h"
#include <string.h>

void parallel_begin(struct maker *g, int rank, const int *dim) {
    static const char *const names[] = {"i", "j", "l"};
    const char *axes = "i", *extents = arena_printf(g->arena, "%d", dim[0]);
    for (int k = 1; k < rank; k++) {
        axes = arena_printf(g->arena, "%s, %s", axes, names[k]);
        extents = arena_printf(g->arena, "%s, %d", extents, dim[k]);
    }
    say(g, "for %s in T.Parallel(%s):", axes, extents);
    g->t.indent++;
    g->axes = rank;
    for (int k = 0; k < rank; k++) {
        g->axis[k] = names[k];
        g->extent[k] = dim[k];
    }
}

void parallel_end(struct maker *g) {
    g->t.indent--;
    g->axes = 0;
    for (int i = 0; i < g->tile_count; i++) g->tiles[i].target = false;
    while (g->scalar_count && g->scalars[g->scalar_count - 1].indent > g->t.indent)
        g->scalar_count--;
}

static const char *axes_of(const struct tile *x) {
    static const char *const axes[] = {"i", "i, j", "i, j, l"};
    return axes[x->rank - 1];
}

/* -- values of one iteration
 * ----------------------------------------------------------------------- */
/* A sum over a serial loop, in the order of the loop. */
static void private_sum(struct maker *g, const char *dtype) {
    const char *v = name_new(g, "v"), *q = name_new(g, "q");
    say(g, "%s = T.alloc_var(\"%s\", 0)", v, dtype);
    say(g, "for %s in %s(%d):", q, PICK_TEXT(g, "T.serial", "T.unroll", "range"),
        PICK(g, 1, 2, 3, 5));
    g->t.indent++;
    if (chance(g, 25)) {
        say(g, "if %s > %u:", q, below(g, 3));
        say(g, "    %s", chance(g, 50) ? "break" : "continue");
    }
    const char *counter = arena_printf(g->arena, "T.cast(%s, \"%s\") %s", q, dtype,
                                       is_real(dtype) ? "* 0.25" : "+ 1");
    g->counter = q;
    say(g, "%s = %s + %s", v, v, chance(g, 70) ? value(g, dtype, 1) : counter);
    g->counter = NULL;
    g->t.indent--;
    scalar_new(g, v, dtype, true);
}

static void private_array(struct maker *g, const char *dtype) {
    const char *v = name_new(g, "p"), *q = name_new(g, "q"), *x = name_new(g, "e");
    say(g, "%s = T.alloc_local((4,), \"%s\")", v, dtype);
    say(g, "for %s in %s(4):", q, PICK_TEXT(g, "T.serial", "T.unroll", "T.vectorized"));
    say(g, "    %s[%s] = %s + T.cast(%s, \"%s\")", v, q, value(g, dtype, 1), q, dtype);
    if (chance(g, 60))
        say(g, "%s = %s[%u] + %s[3]", x, v, below(g, 4), v);
    else
        say(g, "%s = %s[(%s + %u) %% 4]", x, v, g->axis[g->axes - 1], below(g, 4));
    scalar_new(g, x, dtype, false);
}

static void prelude(struct maker *g, const char *dtype) {
    if (is_narrow(dtype)) dtype = "float32";
    switch (below(g, 8)) {
    case 0: private_sum(g, dtype); break;
    case 1:
        if (chance(g, 60)) private_array(g, dtype);
        break;
    case 2:
    case 3: {
        const char *x = name_new(g, "e");
        say(g, "%s = %s", x, value(g, dtype, 1));
        scalar_new(g, x, dtype, false);
        break;
    }
    case 4: {
        const char *x = name_new(g, "e");
        say(g, "%s = %s", x, value(g, "int32", 1));
        scalar_new(g, x, "int32", false);
        break;
    }
    default: break;
    }
}

/* -- stores
 * ---------------------------------------------------------------------------------------- */
static void store(struct maker *g, struct tile *x, int depth) {
    const char *sign = is_real(x->dtype) ? "*" : "+";
    const char *factor = is_real(x->dtype) ? "0.5" : "3";
    if (x->written && !is_narrow(x->dtype) && chance(g, 12))
        say(g, "%s[%s] %s= %s", x->name, axes_of(x), sign, factor);
    else
        say(g, "%s[%s] = %s", x->name, axes_of(x), value(g, x->dtype, depth));
}

static bool writes_all(struct maker *g, struct tile *x, int depth) {
    bool was = x->written;
    if (!chance(g, 30)) {
        store(g, x, depth);
        return true;
    }
    bool other = chance(g, 40);
    say(g, "if %s:", condition(g, 1));
    g->t.indent++;
    store(g, x, depth);
    g->t.indent--;
    if (other) {
        say(g, "else:");
        g->t.indent++;
        store(g, x, 1);
        g->t.indent--;
    }
    return was || other;
}

void random_map(struct maker *g) {
    struct tile *x = tile_choose(g, 0, ANY), *y = chance(g, 20) ? tile_alike(g, x, ANY) : NULL;
    if (g->loose && !is_real(x->dtype) && chance(g, 50)) return;
    parallel_begin(g, x->rank, x->dim);
    x->target = true;
    if (y) y->target = true;
    prelude(g, x->dtype);
    bool whole_x = writes_all(g, x, 1 + (int)below(g, 3));
    x->written |= whole_x;
    if (y) y->written |= writes_all(g, y, 1 + (int)below(g, 2));
    parallel_end(g);
}

/* -- atomics
 * --------------------------------------------------------------------------------------- */
static const char *accumulator(struct maker *g, const char *dtype, int length) {
    const char *x = name_new(g, "U");
    text_printf(&g->parameters, "%s: T.Tensor((%d,), \"%s\"), ", x, length, dtype);
    return x;
}

/* One operation for each element of a tensor: others would not commute. */
struct sum {
    const char *op, *dtype;
    int length;
};

static struct sum sum_new(struct maker *g, const struct tile *x) {
    bool real = g->loose && is_real(x->dtype) && chance(g, 60);
    const char *dtype = real ? PICK_TEXT(g, "float32", "float32", "float16", "bfloat16", "float64")
                             : PICK_TEXT(g, "int32", "int32", "uint32", "int64", "uint64");
    return (struct sum){PICK_TEXT(g, "add", "add", "max", "min"), dtype, PICK(g, 1, 3, 10, 12)};
}

static const char *term(struct maker *g, const struct sum *u, const struct tile *x) {
    if (is_real(u->dtype))
        return arena_printf(g->arena, "T.cast(%s[%s], \"%s\") * 0.125", x->name, axes_of(x),
                            u->dtype);
    return converted(g, value(g, "int32", 1), "int32", u->dtype);
}

static void add_terms(struct maker *g, const struct sum *u, const char *to, struct tile *x) {
    parallel_begin(g, x->rank, x->dim);
    bool guarded = chance(g, 50);
    if (guarded) say(g, "if %s:", condition(g, 1));
    g->t.indent += guarded;
    say(g, "T.atomic_%s(%s[(%s * %u + bx) %% %d], %s)", u->op, to, g->axis[0], 1 + below(g, 3),
        u->length, term(g, u, x));
    g->t.indent -= guarded;
    parallel_end(g);
}

static void add_elements(struct maker *g) {
    struct tile *x = tile_choose(g, 0, WRITTEN);
    if (!x) return;
    struct sum u = sum_new(g, x);
    add_terms(g, &u, accumulator(g, u.dtype, u.length), x);
}

/* Another operation on the block's own elements, which must come behind the first one; what it
 * found there, one iteration an element, is known as well. */
static void then_another(struct maker *g, struct sum u, const char *own, struct tile *x) {
    if (is_real(u.dtype) || chance(g, 40)) return;
    u.op = PICK_TEXT(g, "add", "max", "min");
    if (chance(g, 50)) {
        add_terms(g, &u, own, x);
        return;
    }
    const char *found = name_new(g, "e"), *to = accumulator(g, u.dtype, u.length);
    parallel_begin(g, 1, &u.length);
    say(g, "%s = T.atomic_%s(%s[%d - i], T.cast(i %% 5, \"%s\"), return_prev=True)", found, u.op,
        own, u.length - 1, u.dtype);
    say(g, "T.atomic_add(%s[i], %s)", to, found);
    parallel_end(g);
}

/* First the block's own in shared memory, then those of all blocks. */
static void add_by_block(struct maker *g) {
    struct tile *x = g->depth ? NULL : tile_choose(g, 0, WRITTEN);
    if (!x) return;
    struct sum u = sum_new(g, x);
    const char *all = accumulator(g, u.dtype, u.length), *own = name_new(g, "s");
    say(g, "%s = T.alloc_shared((%d,), \"%s\")", own, u.length, u.dtype);
    say(g, "T.fill(%s, %d)", own, (int)below(g, 3));
    add_terms(g, &u, own, x);
    then_another(g, u, own, x);
    parallel_begin(g, 1, &u.length);
    say(g, "T.atomic_%s(%s[i], %s[i])", u.op, all, own);
    parallel_end(g);
}

static void add_tile(struct maker *g) {
    struct tile *x = tile_choose(g, 2, WRITTEN);
    if (!x || x->dim[0] != g->rows || x->dim[1] != g->columns) return;
    bool sums = !is_real(x->dtype) || (g->loose && !strcmp(x->dtype, "float32"));
    if (!sums || (strcmp(x->dtype, "int32") != 0 && !is_real(x->dtype))) return;
    const char *u = name_new(g, "V");
    text_printf(&g->parameters, "%s: T.Tensor((M, N), \"%s\"), ", u, x->dtype);
    say(g, "T.atomic_%s(%s[by * %d, bx * %d], %s)", PICK_TEXT(g, "add", "add", "max"), u, g->rows,
        g->columns, x->name);
}

void random_atomics(struct maker *g) {
    if (chance(g, 50))
        add_elements(g);
    else if (chance(g, 40))
        add_by_block(g);
    else
        add_tile(g);
}
