/* make_products.c: matrix products: types, transposes, operands in shared memory, in fragments and
 * as windows of larger tiles, several into one accumulator, one behind the other. */
#include "maker.h"
#include <string.h>

struct kind {
    const char *a, *b, *acc;
};

static struct kind kind_of(struct maker *g) {
    static const struct kind kinds[] = {
        {"float16", "float16", "float32"},         {"bfloat16", "bfloat16", "float32"},
        {"float16", "float16", "float32"},         {"float32", "float32", "float32"},
        {"float16", "float16", "float16"},         {"float8_e4m3", "float8_e4m3", "float32"},
        {"float8_e5m2", "float8_e4m3", "float32"}, {"float64", "float64", "float64"}};
    static const struct kind whole[] = {
        {"int8", "int8", "int32"}, {"uint8", "uint8", "int32"}, {"int8", "uint8", "int32"}};
    return g->integers ? whole[below(g, 3)] : kinds[below(g, 8)];
}

struct product {
    struct kind kind;
    const char *a, *b, *acc, *k;
    bool ta, tb, fragment_a, fragment_b, wide_a;
    int depth, number;
};

static const char *type_of_input(struct maker *g, const char *dtype) {
    if (is_narrow(dtype) || chance(g, 20)) return is_real(dtype) ? "float16" : "int8";
    return dtype;
}

static const char *window(struct maker *g, const char *row, int rows, const char *column,
                          int columns) {
    return arena_printf(g->arena, "%s:%s + %d, %s:%s + %d", row, row, rows, column, column,
                        columns);
}

static void allocate(struct maker *g, struct product *p) {
    int r = g->rows, c = g->columns, d = p->depth, more = p->wide_a ? 16 : 0;
    p->a = name_new(g, "a");
    p->b = name_new(g, "b");
    say(g, "%s = T.alloc_%s((%d, %d), \"%s\")", p->a, p->fragment_a ? "fragment" : "shared",
        p->ta ? d : r, (p->ta ? r : d) + more, p->kind.a);
    say(g, "%s = T.alloc_%s((%d, %d), \"%s\")", p->b, p->fragment_b ? "fragment" : "shared",
        p->tb ? c : d, p->tb ? d : c, p->kind.b);
}

static void load_operands(struct maker *g, const struct product *p) {
    struct arena *x = g->arena;
    int r = g->rows, c = g->columns, d = p->depth;
    const struct input *s = input_choose(g, 2, type_of_input(g, p->kind.a));
    const struct input *t = input_choose(g, 2, type_of_input(g, p->kind.b));
    if (!s || !t) { /* as many tensors as there may be, none of this type */
        say(g, "T.fill(%s, 1)", p->a);
        say(g, "T.fill(%s, 1)", p->b);
        return;
    }
    const char *along = arena_printf(x, "%s * %d", p->k, d);
    const char *row = arena_printf(x, "by * %d", r), *column = arena_printf(x, "bx * %d", c);
    const char *at = p->ta ? window(g, along, d, row, r) : window(g, row, r, along, d);
    if (p->wide_a)
        say(g, "T.copy(%s[%s], %s[:, 0:%d])", s->name, at, p->a, p->ta ? r : d);
    else
        say(g, "T.copy(%s[%s], %s)", s->name, at, p->a);
    if (chance(g, 50))
        at = p->tb ? window(g, column, c, along, d) : window(g, along, d, column, c);
    else
        at = p->tb ? arena_printf(x, "%s, %s", column, along)
                   : arena_printf(x, "%s, %s", along, column);
    say(g, "T.copy(%s[%s], %s)", t->name, at, p->b);
}

static void multiply(struct maker *g, const struct product *p, const char *more) {
    const char *a = p->a;
    if (p->wide_a) a = arena_printf(g->arena, "%s[:, 0:%d]", a, p->ta ? g->rows : p->depth);
    const char *policy = chance(g, 15) ? PICK_TEXT(g, ", policy=T.GemmWarpPolicy.FullRow",
                                                   ", policy=T.GemmWarpPolicy.FullCol")
                                       : "";
    say(g, "T.gemm(%s, %s, %s%s%s%s%s)", a, p->b, p->acc, p->ta ? ", transpose_A=True" : "",
        p->tb ? ", transpose_B=True" : "", policy, more);
}

/* What the block changes between the load and the product. */
static void touch(struct maker *g, const struct product *p) {
    if (is_narrow(p->kind.a) || p->wide_a) return;
    int dim[2] = {p->ta ? p->depth : g->rows, p->ta ? g->rows : p->depth};
    say(g, "for i, j in T.Parallel(%d, %d):", dim[0], dim[1]);
    if (is_real(p->kind.a))
        say(g, "    %s[i, j] = %s[i, j] * 0.5", p->a, p->a);
    else
        say(g, "    %s[i, j] = %s[i, j] + 1", p->a, p->a);
}

static void open_loop(struct maker *g, struct product *p) {
    p->k = name_new(g, "k");
    const char *trips = chance(g, 70)   ? arena_printf(g->arena, "T.ceildiv(K, %d)", p->depth)
                        : chance(g, 50) ? "n"
                                        : PICK_TEXT(g, "0", "1", "2", "4");
    if (chance(g, 80))
        say(g, "for %s in T.Pipelined(%s, num_stages=%s):", p->k, trips,
            PICK_TEXT(g, "stages", "stages", "stages + 1", "2", "0"));
    else
        say(g, "for %s in T.serial(%s):", p->k, trips);
    g->t.indent++;
}

static void scale(struct maker *g, const struct product *p) {
    if (!is_real(p->kind.acc)) return;
    say(g, "for i, j in T.Parallel(%d, %d):", g->rows, g->columns);
    say(g, "    %s[i, j] = %s[i, j] * 0.0625", p->acc, p->acc);
}

static struct tile *accumulator(struct maker *g, const char *dtype) {
    struct tile *x = tile_choose(g, 2, ANY);
    bool fits = x && !x->shared && !strcmp(x->dtype, dtype) && x->dim[0] == g->rows &&
                x->dim[1] == g->columns;
    if (fits) return x;
    if (g->tile_count == TILES || g->depth) return NULL;
    return tile_new(g, 2, (int[]){g->rows, g->columns}, dtype, false);
}

void random_product(struct maker *g) {
    struct product p = {.kind = kind_of(g)};
    struct tile *acc = accumulator(g, p.kind.acc);
    if (!acc) return;
    bool small = strcmp(p.kind.acc, "float64") == 0;
    p.acc = acc->name;
    p.depth = small ? PICK(g, 8, 16, 32) : PICK(g, 16, 32, 32, 48, 64, 96);
    p.ta = chance(g, 25);
    p.tb = chance(g, 40);
    p.wide_a = chance(g, 10);
    p.fragment_a = !p.wide_a && chance(g, 12);
    p.fragment_b = chance(g, 6);
    allocate(g, &p);
    bool first = chance(g, 15), anew = !acc->written && !first;
    if (anew) say(g, "T.clear(%s)", acc->name);
    if (!acc->written && first) say(g, "T.fill(%s, 1)", acc->name);
    acc->written = true;
    open_loop(g, &p);
    if (chance(g, 10)) { /* loads of some iterations only: the others use what is there */
        say(g, "if %s != 1:", p.k);
        g->t.indent++;
        load_operands(g, &p);
        g->t.indent--;
    } else {
        load_operands(g, &p);
    }
    if (chance(g, 15)) touch(g, &p);
    const char *clear = arena_printf(g->arena, ", clear_accum=(%s == 0)", p.k);
    multiply(g, &p, first ? clear : "");
    if (chance(g, 10)) multiply(g, &p, "");
    g->t.indent--;
    scale(g, &p);
}

/* What one product leaves in registers is the next one's left operand. */
void random_chain(struct maker *g) {
    if (g->integers) return;
    struct tile *from = tile_choose(g, 2, WRITTEN);
    if (!from || from->dim[0] != g->rows || from->dim[1] != g->columns || is_narrow(from->dtype))
        return;
    const char *t = PICK_TEXT(g, "float16", "bfloat16");
    struct product p = {.kind = {t, t, "float32"}, .depth = g->columns, .tb = chance(g, 40)};
    struct tile *to = accumulator(g, "float32");
    if (!to || to == from) return;
    p.acc = to->name;
    p.a = name_new(g, "h");
    p.b = name_new(g, "b");
    say(g, "%s = T.alloc_fragment((%d, %d), \"%s\")", p.a, g->rows, g->columns, t);
    say(g, "%s = T.alloc_shared((%d, %d), \"%s\")", p.b, g->columns, g->columns, t);
    say(g, "T.copy(%s, %s)", from->name, p.a);
    if (!to->written) say(g, "T.clear(%s)", to->name);
    to->written = true;
    p.k = name_new(g, "k");
    say(g, "for %s in T.Pipelined(%s, num_stages=stages):", p.k,
        PICK_TEXT(g, "0", "1", "2", "3", "n"));
    g->t.indent++;
    const struct input *s = input_choose(g, 2, t);
    if (s)
        say(g, "T.copy(%s[%s * %d, bx * %d], %s)", s->name, p.k, g->columns, g->columns, p.b);
    else
        say(g, "T.clear(%s)", p.b);
    multiply(g, &p, "");
    g->t.indent--;
    scale(g, &p);
}
