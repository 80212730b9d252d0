/* make_control.c: loops, branches, macros; launches; the whole program. */
#include "maker.h"
#include <stdio.h>
#include <string.h>

/* -- blocks
 * ---------------------------------------------------------------------------------------- */
/* What a loop or branch writes first may not have happened behind it. */
static void block(struct maker *g, int statements) {
    bool before[TILES];
    int tiles = g->tile_count;
    for (int i = 0; i < tiles; i++) before[i] = g->tiles[i].written;
    g->t.indent++;
    g->depth++;
    size_t length = g->t.length;
    random_statements(g, statements);
    if (g->t.length == length) say(g, "T.clear(%s)", g->tiles[0].name);
    g->depth--;
    g->t.indent--;
    for (int i = 0; i < tiles; i++) g->tiles[i].written = before[i];
    while (g->scalar_count && g->scalars[g->scalar_count - 1].indent > g->t.indent)
        g->scalar_count--;
}

static void loop_block(struct maker *g, const char *k, int statements) {
    g->t.indent++;
    if (k) scalar_new(g, k, "int64", false);
    g->t.indent--;
    block(g, statements);
}

static const char *trips(struct maker *g) {
    switch (below(g, 6)) {
    case 0: return "n";
    case 1: return arena_printf(g->arena, "bx + %u", below(g, 3));
    case 2: return arena_printf(g->arena, "T.ceildiv(K, %d)", PICK(g, 32, 64));
    default: return PICK_TEXT(g, "0", "1", "2", "3", "5");
    }
}

static void serial(struct maker *g, const char *k) {
    switch (below(g, 6)) {
    case 0: say(g, "for %s in range(%u, -1, -1):", k, below(g, 4)); break;
    case 1: say(g, "for %s in T.unroll(%u):", k, 1 + below(g, 4)); break;
    case 2: say(g, "for %s in T.serial(%u, n):", k, below(g, 4)); break;
    case 3: say(g, "for %s in range(%s):", k, trips(g)); break;
    default: say(g, "for %s in T.serial(%s):", k, trips(g)); break;
    }
}

static void loop(struct maker *g) {
    const char *k = name_new(g, "k");
    if (chance(g, 15)) { /* its own end */
        const char *v = name_new(g, "v");
        say(g, "%s = T.alloc_var(\"int32\", %s)", v, PICK_TEXT(g, "0", "1", "2", "n", "bx"));
        say(g, "while %s > 0:", v);
        loop_block(g, NULL, 1 + (int)below(g, 3));
        say(g, "    %s = %s - 1", v, v);
        return;
    }
    if (chance(g, 50))
        say(g, "for %s in T.Pipelined(%s%s, num_stages=%s):", k, chance(g, 15) ? "1, " : "",
            trips(g), PICK_TEXT(g, "stages", "stages", "2", "0", "stages + 1"));
    else
        serial(g, k);
    if (chance(g, 12)) {
        say(g, "    if %s:", uniform_condition(g));
        say(g, "        %s", chance(g, 50) ? "break" : "continue");
    }
    loop_block(g, k, 1 + (int)below(g, 4));
}

static void branch(struct maker *g) {
    say(g, "if %s:", uniform_condition(g));
    block(g, 1 + (int)below(g, 2));
    if (chance(g, 20)) {
        say(g, "elif %s:", uniform_condition(g));
        block(g, 1);
    }
    if (chance(g, 30)) {
        say(g, "else:");
        block(g, 1 + (int)below(g, 2));
    }
}

/* -- macros
 * ---------------------------------------------------------------------------------------- */
static void declare_macros(struct maker *g) {
    text_puts(&g->head, "@T.macro\n"
                        "def weigh(x, rows, columns, f):\n"
                        "    for i, j in T.Parallel(rows, columns):\n"
                        "        if (i + j) % 3 != 0:\n"
                        "            x[i, j] = x[i, j] * f\n\n"
                        "@T.macro\n"
                        "def exchange(x, y, rows, columns):\n"
                        "    z = T.alloc_fragment((rows, columns), x.dtype)\n"
                        "    T.copy(x, z)\n"
                        "    T.copy(y, x)\n"
                        "    T.copy(z, y)\n\n");
}

static void call_macro(struct maker *g) {
    struct tile *x = tile_choose(g, 2, WRITTEN), *y = x ? tile_alike(g, x, WRITTEN) : NULL;
    if (!x || is_narrow(x->dtype)) return;
    if (y && !strcmp(x->dtype, y->dtype) && chance(g, 50))
        say(g, "exchange(%s, %s, %s)", x->name, y->name, tile_shape(g, x));
    else
        say(g, "weigh(%s, %s, %s)", x->name, tile_shape(g, x), is_real(x->dtype) ? "0.5" : "3");
}

/* -- statements
 * ------------------------------------------------------------------------------------ */
static void statement(struct maker *g) {
    uint32_t what = below(g, 100);
    bool deep = g->depth >= 2 || g->t.length > 6000;
    if (g->products && what < 22 && g->depth < 2) {
        if (chance(g, 75))
            random_product(g);
        else
            random_chain(g);
    } else if (what < 40)
        random_map(g);
    else if (what < 43)
        random_gather(g);
    else if (what < 54)
        random_load(g);
    else if (what < 58)
        random_move(g);
    else if (what < 63)
        random_slice(g);
    else if (what < 72)
        random_reduce(g);
    else if (what < 76)
        random_fill(g);
    else if (what < 80)
        random_scalar(g);
    else if (what < 83)
        random_atomics(g);
    else if (what < 86)
        call_macro(g);
    else if (what < 89)
        random_places(g);
    else if (what < 96 && !deep)
        loop(g);
    else if (!deep)
        branch(g);
    else
        random_map(g);
}

/* Not every statement finds what it needs. */
void random_statements(struct maker *g, int count) {
    for (int i = 0; i < count; i++) {
        size_t length = g->t.length;
        for (int tries = 0; tries < 5 && g->t.length == length; tries++) statement(g);
    }
}

/* -- launches
 * -------------------------------------------------------------------------------------- */
static const char *type_new(struct maker *g) {
    if (g->integers)
        return PICK_TEXT(g, "int32", "int32", "int8", "int16", "uint8", "int64", "uint32",
                         "uint16");
    if (chance(g, 8)) return PICK_TEXT(g, "float64", "float8_e4m3", "float8_e5m2", "int32");
    return PICK_TEXT(g, "float32", "float32", "float16", "bfloat16");
}

static void some_tiles(struct maker *g) {
    int plane[2] = {g->rows, g->columns}, turned[2] = {g->columns, g->rows};
    int cube[3] = {PICK(g, 2, 3, 4), g->rows, g->columns};
    int n = 2 + (int)below(g, 3);
    for (int i = 0; i < n; i++)
        tile_new(g, 2, plane,
                 i             ? type_new(g)
                 : g->integers ? "int32"
                               : "float32",
                 i && chance(g, 45));
    tile_new(g, 1, plane, g->integers ? "int32" : "float32", chance(g, 20));
    if (chance(g, 40)) tile_new(g, 1, turned, g->integers ? "int32" : "float32", chance(g, 30));
    if (chance(g, 25)) tile_new(g, 2, turned, type_new(g), chance(g, 60));
    if (chance(g, 25) && g->rows * g->columns <= 2048)
        tile_new(g, 3, cube, type_new(g), chance(g, 50));
}

/* What changes no result, and what reads outside of a tensor give. */
static void notes(struct maker *g) {
    if (chance(g, 8)) say(g, "T.use_swizzle(%d)", PICK(g, 2, 4, 10));
    for (int i = 0; i < g->tile_count; i++)
        if (g->tiles[i].shared && g->tiles[i].rank == 2 && chance(g, 12))
            say(g, "T.annotate_layout({%s: T.layout.make_%s_layout(%s)})", g->tiles[i].name,
                PICK_TEXT(g, "swizzled", "linear", "half_bank_swizzled"), g->tiles[i].name);
    if (g->input_count && chance(g, 10))
        say(g, "T.annotate_safe_value({%s: 1})", g->inputs[0].name);
}

static const char *output(struct maker *g, int rank, const char *dtype) {
    const char *x = name_new(g, "C"), *b = g->batch ? arena_printf(g->arena, "%d, ", g->batch) : "";
    if (rank == 2)
        text_printf(&g->parameters, "%s: T.Tensor((%sM, N), \"%s\"), ", x, b, dtype);
    else
        text_printf(&g->parameters, "%s: T.Tensor((%sN, M), \"%s\"), ", x, b, dtype);
    if (rank == 2 && !g->batch && g->output_count < TENSORS)
        g->outputs[g->output_count++] = (struct input){x, dtype, 2};
    return x;
}

static void write_plane(struct maker *g, const struct tile *x) {
    const char *out = is_narrow(x->dtype) || (chance(g, 30) && is_real(x->dtype))
                          ? PICK_TEXT(g, "float32", "float16")
                          : x->dtype;
    const char *c = output(g, 2, out), *b = g->batch ? "bz, " : "";
    if (chance(g, 60)) {
        say(g, "T.copy(%s, %s[%sby * %d, bx * %d])", x->name, c, b, g->rows, g->columns);
        return;
    }
    const char *at =
        arena_printf(g->arena, "%s[%sby * %d + i, bx * %d + j]", c, b, g->rows, g->columns);
    parallel_begin(g, 2, x->dim);
    if (!strcmp(out, x->dtype) && !is_narrow(out) && chance(g, 30))
        say(g, "%s = %s %s %s[i, j]", at, at, is_real(out) ? "* 0.5 +" : "^", x->name);
    else
        say(g, "%s = %s", at,
            converted(g, arena_printf(g->arena, "%s[i, j]", x->name), x->dtype, out));
    parallel_end(g);
}

static void write_vector(struct maker *g, const struct tile *x) {
    const char *c = output(g, 1, x->dtype), *b = g->batch ? "bz, " : "";
    parallel_begin(g, 1, x->dim);
    say(g, "if by * %d + i < M:", g->rows);
    say(g, "    %s[%sbx, by * %d + i] = %s[i]", c, b, g->rows, x->name);
    parallel_end(g);
}

/* Every tile that holds something goes out, so that nothing is computed in vain. */
static void write_all(struct maker *g) {
    int count = g->tile_count, written = 0;
    for (int i = 0; i < count; i++) {
        struct tile *x = &g->tiles[i];
        if (!x->written) continue;
        if (x->rank == 2 && x->dim[0] == g->rows && x->dim[1] == g->columns)
            write_plane(g, x);
        else if (x->rank == 1 && x->dim[0] == g->rows && !is_narrow(x->dtype))
            write_vector(g, x);
        else if (x->rank == 2 && x->dim[0] == g->columns && x->dim[1] == g->rows && x->shared) {
            struct tile y = *x;
            y.dim[0] = g->rows, y.dim[1] = g->columns;
            const char *dtype = is_narrow(x->dtype) ? "float32" : x->dtype,
                       *c = output(g, 2, dtype);
            parallel_begin(g, 2, y.dim);
            say(g, "%s[%sby * %d + i, bx * %d + j] = %s", c, g->batch ? "bz, " : "", g->rows,
                g->columns,
                converted(g, arena_printf(g->arena, "%s[j, i]", x->name), x->dtype, dtype));
            parallel_end(g);
        }
        written++;
    }
    if (written) return;
    say(g, "T.clear(%s)", g->tiles[0].name);
    write_plane(g, &g->tiles[0]);
}

static void launch(struct maker *g) {
    g->tile_count = g->scalar_count = 0;
    const char *threads = chance(g, 8) ? "(32, threads // 32)" : "threads";
    const char *x = arena_printf(g->arena, "T.ceildiv(N, %d)", g->columns);
    const char *y = arena_printf(g->arena, "T.ceildiv(M, %d)", g->rows);
    if (g->batch)
        say(g, "with T.Kernel(%s, %s, %d, threads=%s) as (bx, by, bz):", x, y, g->batch, threads);
    else
        say(g, "with T.Kernel(%s, %s, threads=%s) as (bx, by):", x, y, threads);
    g->t.indent++;
    some_tiles(g);
    notes(g);
    random_load(g);
    random_statements(g, chance(g, 30) ? 8 + (int)below(g, 8) : 3 + (int)below(g, 5));
    write_all(g);
    g->t.indent--;
}

/* -- programs
 * -------------------------------------------------------------------------------------- */
static void choose_sizes(struct maker *g) {
    g->rows = PICK(g, 8, 16, 32, 64, 64, 20, 33, 1, 4);
    g->columns = PICK(g, 8, 16, 32, 64, 64, 24, 40, 7, 128);
    if (g->products) {
        g->rows = PICK(g, 16, 32, 64, 64, 48, 128);
        g->columns = PICK(g, 16, 32, 64, 24, 32, 8);
    }
    int m = 1 + (int)below(g, 100), n = 1 + (int)below(g, 100), k = 1 + (int)below(g, 130);
    if (chance(g, 50)) n = n / 8 * 8 + 8, k = k / 8 * 8 + 8;
    const char *names = "MNK";
    int sizes[3] = {m, n, k};
    for (int i = 0; i < 3; i++)
        if (g->dynamic && chance(g, 60))
            text_printf(&g->head, "%c = T.dynamic(\"%c\")\n", names[i], names[i]);
        else
            text_printf(&g->head, "%c = %d\n", names[i], sizes[i]);
    text_puts(&g->head, "\n");
}

struct made make_program(struct arena *a, uint64_t seed) {
    struct maker *g = arena_make(a, struct maker);
    *g = (struct maker){.arena = a,
                        .state = seed * 0x9e3779b97f4a7c15u + 1,
                        .head = text_new(a),
                        .parameters = text_new(a),
                        .t = text_new(a)};
    for (int i = 0; i < 4; i++) below(g, 2);
    g->products = seed % 4 == 1 || seed % 8 == 2;
    g->integers = seed % 4 == 3 || seed % 16 == 1;
    g->loose = !g->integers && (g->products || chance(g, 40));
    g->dynamic = chance(g, 40);
    if (chance(g, 20)) g->batch = PICK(g, 1, 2);
    choose_sizes(g);
    declare_macros(g);
    g->t.indent = 1;
    launch(g);
    if (chance(g, 15)) {
        choose_sizes(g); /* the last definition of a name counts */
        for (int i = 0; i < g->output_count && g->input_count < TENSORS; i++)
            g->inputs[g->input_count++] = g->outputs[i];
        launch(g);
    }
    const char *body = arena_printf(a, "%s@T.prim_func\ndef program(%sn: T.int32):\n%s", g->head.at,
                                    g->parameters.at ? g->parameters.at : "", g->t.at);
    return (struct made){body, g->products ? "products" : g->integers ? "integers" : "tiles"};
}
