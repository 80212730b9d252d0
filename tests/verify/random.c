/* random.c: well-typed tile programs made at random: evaluator and machine model must agree on
 * each, for every target, thread count and number of stages.
 *
 * random FIRST COUNT [print]: the programs of the seeds FIRST … FIRST + COUNT - 1, each in a
 * process of its own, so that a crash or a hang is one more finding. */
#include "rig.h"
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TILES = 12 };

struct tile {
    char name[8];
    int rows, columns; /* columns 0: a vector */
    const char *dtype;
    bool shared, written;
};

struct maker {
    struct text t;
    uint64_t state;
    int rows, columns, depth; /* of a block's tile */
    int m, n, k;              /* of the tensors */
    const char *dtype, *out;
    struct tile tiles[TILES];
    int count, loops, names;
    bool fresh; /* inside of a pipelined loop: its number is the loop's variable */
};

static uint32_t below(struct maker *g, uint32_t n) {
    g->state = g->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(g->state >> 33) % n;
}
static bool chance(struct maker *g, uint32_t percent) { return below(g, 100) < percent; }
static int pick(struct maker *g, const int *from, int count) {
    return from[below(g, (uint32_t)count)];
}
#define PICK(g, ...) \
    pick(g, (const int[]){__VA_ARGS__}, (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)))

static void say(struct maker *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct maker *g, const char *format, ...) {
    char line[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    text_printf(&g->t, "%s\n", line);
}

/* -- tiles
 * ------------------------------------------------------------------------------------------ */
static struct tile *add_tile(struct maker *g, int rows, int columns, const char *dtype,
                             bool shared) {
    struct tile *x = &g->tiles[g->count];
    snprintf(x->name, sizeof x->name, "t%d", g->count++);
    x->rows = rows;
    x->columns = columns;
    x->dtype = dtype;
    x->shared = shared;
    x->written = false;
    const char *scope = shared ? "shared" : "fragment";
    if (columns)
        say(g, "%s = T.alloc_%s((%d, %d), \"%s\")", x->name, scope, rows, columns, dtype);
    else
        say(g, "%s = T.alloc_%s((%d,), \"%s\")", x->name, scope, rows, dtype);
    return x;
}

static struct tile *choose(struct maker *g, bool matrix, bool written) {
    int start = (int)below(g, (uint32_t)g->count);
    for (int i = 0; i < g->count; i++) {
        struct tile *x = &g->tiles[(start + i) % g->count];
        bool fits = matrix ? x->rows == g->rows && x->columns == g->columns
                           : !x->columns && x->rows == g->rows;
        if (fits && (!written || x->written)) return x;
    }
    return NULL;
}

/* -- expressions
 * ------------------------------------------------------------------------------------- */
/* An f32 expression over the tiles at [i, j]; values stay small. */
static void expression(struct maker *g, char *out, size_t room, int depth,
                       const struct tile *target) {
    char a[300], b[300];
    struct tile *x = choose(g, true, true), *v = choose(g, false, true);
    if (depth <= 0 || !x) {
        if (v && chance(g, 25))
            snprintf(out, room, "T.cast(%s[i], \"float32\")", v->name);
        else if (x && x->shared && x != target && chance(g, 25))
            snprintf(out, room, "T.cast(%s[(i + %u) %% %d, j], \"float32\")", x->name, below(g, 5),
                     g->rows);
        else if (x && x->shared && x != target && chance(g, 20))
            snprintf(out, room, "T.cast(%s[i, %d - j], \"float32\")", x->name, g->columns - 1);
        else if (x && chance(g, 85))
            snprintf(out, room, "T.cast(%s[i, j], \"float32\")", x->name);
        else
            snprintf(out, room, "T.cast((i * %u + j) %% %u, \"float32\")", 1 + below(g, 5),
                     2 + below(g, 7));
        return;
    }
    expression(g, a, sizeof a, depth - 1, target);
    expression(g, b, sizeof b, depth - 2, target);
    switch (below(g, 9)) {
    case 0: snprintf(out, room, "(%s + %s) * 0.5", a, b); break;
    case 1: snprintf(out, room, "(%s - %s) * 0.5", a, b); break;
    case 2: snprintf(out, room, "T.max(%s, %s)", a, b); break;
    case 3: snprintf(out, room, "T.min(%s, %s)", a, b); break;
    case 4: snprintf(out, room, "T.if_then_else(i + %u < j, %s, %s)", below(g, 9), a, b); break;
    case 5: snprintf(out, room, "T.exp(T.min(%s, 1.0))", a); break;
    case 6: snprintf(out, room, "%s / (T.abs(%s) + 1.0)", a, b); break;
    case 7: snprintf(out, room, "T.if_then_else(%s > 0.25, %s, 0.5)", a, b); break;
    default: snprintf(out, room, "T.abs(%s)", a); break;
    }
}

/* -- statements
 * --------------------------------------------------------------------------------------- */
static void map(struct maker *g) {
    char e[700];
    struct tile *x = choose(g, true, false);
    if (!x) return;
    bool guarded = x->written && chance(g, 30);
    expression(g, e, sizeof e, 1 + (int)below(g, 3), x);
    say(g, "for i, j in T.Parallel(%d, %d):", g->rows, g->columns);
    if (guarded) {
        say(g, "    if by * %d + i < M and j %% %u != 1:", g->rows, 2 + below(g, 4));
        g->t.indent++;
    }
    say(g, "    %s[i, j] = T.cast(%s, \"%s\")", x->name, e, x->dtype);
    if (guarded) g->t.indent--;
    x->written = true;
}

static void vector_map(struct maker *g) {
    struct tile *v = choose(g, false, true), *w = choose(g, false, false);
    if (!v || !w) return;
    say(g, "for i in T.Parallel(%d):", g->rows);
    say(g, "    %s[i] = T.cast(%s[i], \"float32\") * 0.5 + 0.25", w->name, v->name);
    w->written = true;
}

static void load(struct maker *g, bool in_loop) {
    struct tile *x = choose(g, true, false);
    if (!x) return;
    const char *tensor = chance(g, 50) ? "A" : "B";
    if (in_loop)
        say(g, "T.copy(%s[by * %d, bx * %d + k%d * %u], %s)", tensor, g->rows, g->columns, g->loops,
            1 + below(g, 9), x->name);
    else if (chance(g, 20))
        say(g, "T.copy(%s[by * %d + %u, bx * %d], %s)", tensor, g->rows, below(g, 7), g->columns,
            x->name);
    else
        say(g, "T.copy(%s[by * %d, bx * %d], %s)", tensor, g->rows, g->columns, x->name);
    x->written = true;
}

static void move(struct maker *g) {
    struct tile *x = choose(g, true, true), *y = choose(g, true, false);
    if (!x || !y || x == y) return;
    say(g, "T.copy(%s, %s)", x->name, y->name);
    y->written = true;
}

static void reduce(struct maker *g) {
    static const char *const ops[] = {"sum", "max", "min", "abssum", "absmax"};
    struct tile *x = choose(g, true, true), *v = choose(g, false, false);
    if (!x || !v || x->shared || v->shared || strcmp(x->dtype, v->dtype)) return;
    bool clear = !v->written || chance(g, 60);
    uint32_t op = below(g, 5);
    if (op > 2) /* these always begin anew */
        say(g, "T.reduce_%s(%s, %s, dim=1)", ops[op], x->name, v->name);
    else
        say(g, "T.reduce_%s(%s, %s, dim=1, clear=%s)", ops[op], x->name, v->name,
            clear ? "True" : "False");
    say(g, "for i in T.Parallel(%d):", g->rows);
    say(g, "    %s[i] = %s[i] * 0.125", v->name, v->name);
    v->written = true;
}

static void set(struct maker *g) {
    struct tile *x = &g->tiles[below(g, (uint32_t)g->count)];
    if (chance(g, 50))
        say(g, "T.clear(%s)", x->name);
    else
        say(g, "T.fill(%s, 0.75)", x->name);
    x->written = true;
}

static void statement(struct maker *g, bool in_loop) {
    switch (below(g, 10)) {
    case 0:
    case 1:
    case 2: map(g); break;
    case 3:
    case 4: load(g, in_loop); break;
    case 5: move(g); break;
    case 6:
    case 7: reduce(g); break;
    case 8: vector_map(g); break;
    default: set(g); break;
    }
}

/* What a loop or branch writes first may not have happened behind it. */
static void body(struct maker *g, int statements, bool in_loop) {
    bool before[TILES];
    for (int i = 0; i < TILES; i++) before[i] = g->tiles[i].written;
    g->t.indent++;
    size_t length = g->t.length;
    for (int i = 0; i < statements; i++) statement(g, in_loop);
    if (g->t.length == length) say(g, "T.clear(%s)", g->tiles[0].name);
    g->t.indent--;
    for (int i = 0; i < TILES; i++) g->tiles[i].written = before[i];
}

static void loop(struct maker *g) {
    int trips = PICK(g, 0, 1, 2, 3, 5);
    g->loops++;
    if (chance(g, 50))
        say(g, "for k%d in T.Pipelined(%d, num_stages=%d):", g->loops, trips,
            PICK(g, 0, 1, 2, 3, 4));
    else if (chance(g, 60))
        say(g, "for k%d in T.serial(%d):", g->loops, trips);
    else
        say(g, "for k%d in T.serial(bx + %d):", g->loops, trips);
    body(g, 2 + (int)below(g, 3), true);
}

static void branch(struct maker *g) {
    if (chance(g, 50))
        say(g, "if bx %% 2 == 0:");
    else
        say(g, "if by * %d < M // 2:", g->rows);
    body(g, 1 + (int)below(g, 2), false);
}

/* acc += A B over the tensors' depth. */
static void product(struct maker *g) {
    static const char *const widths[] = {"float16", "bfloat16", "float32"};
    struct tile *acc = choose(g, true, false);
    if (!acc || acc->shared || strcmp(acc->dtype, "float32") || g->count + 2 > TILES) return;
    const char *t = widths[below(g, 2)];
    (void)widths[2];
    bool ta = chance(g, 25), tb = chance(g, 25);
    int k = g->depth, n = ++g->names;
    say(g, "a%d = T.alloc_shared((%d, %d), \"%s\")", n, ta ? k : g->rows, ta ? g->rows : k, t);
    say(g, "b%d = T.alloc_shared((%d, %d), \"%s\")", n, tb ? g->columns : k, tb ? k : g->columns,
        t);
    if (!acc->written) say(g, "T.clear(%s)", acc->name);
    acc->written = true;
    g->loops++;
    say(g, "for k%d in T.Pipelined(T.ceildiv(%d, %d), num_stages=%d):", g->loops, g->k, k,
        PICK(g, 0, 1, 2, 3, 4));
    if (ta)
        say(g, "    T.copy(P[k%d * %d, by * %d], a%d)", g->loops, k, g->rows, n);
    else
        say(g, "    T.copy(A[by * %d, k%d * %d], a%d)", g->rows, g->loops, k, n);
    if (tb)
        say(g, "    T.copy(Q[bx * %d, k%d * %d], b%d)", g->columns, g->loops, k, n);
    else
        say(g, "    T.copy(B[k%d * %d, bx * %d], b%d)", g->loops, k, g->columns, n);
    say(g, "    T.gemm(a%d, b%d, %s%s%s)", n, n, acc->name, ta ? ", transpose_A=True" : "",
        tb ? ", transpose_B=True" : "");
    say(g, "for i, j in T.Parallel(%d, %d):", g->rows, g->columns);
    say(g, "    %s[i, j] = %s[i, j] * 0.0625", acc->name, acc->name);
}

/* Two products in a row: what the first leaves in registers is the second's left operand. */
static void chain(struct maker *g) {
    static const char *const widths[] = {"float16", "bfloat16"};
    struct tile *acc = choose(g, true, true), *to = choose(g, true, false);
    if (!acc || acc->shared || !to || to->shared || to == acc || strcmp(to->dtype, "float32"))
        return;
    const char *t = widths[below(g, 2)];
    int n = ++g->names, k = g->columns;
    bool tb = chance(g, 40);
    say(g, "h%d = T.alloc_fragment((%d, %d), \"%s\")", n, g->rows, k, t);
    say(g, "w%d = T.alloc_shared((%d, %d), \"%s\")", n, k, k, t);
    say(g, "T.copy(%s, h%d)", acc->name, n);
    g->loops++;
    say(g, "for k%d in T.Pipelined(%d, num_stages=%d):", g->loops, PICK(g, 1, 2, 3),
        PICK(g, 0, 1, 2, 3));
    say(g, "    T.copy(B[k%d * %d, bx * %d], w%d)", g->loops, k, g->columns, n);
    say(g, "    T.gemm(h%d, w%d, %s%s%s)", n, n, to->name, tb ? ", transpose_B=True" : "",
        to->written ? "" : ", clear_accum=True");
    to->written = true;
    say(g, "for i, j in T.Parallel(%d, %d):", g->rows, g->columns);
    say(g, "    %s[i, j] = %s[i, j] * 0.0625", to->name, to->name);
}

/* Sums and extremes of columns, and back. */
static void columns(struct maker *g) {
    struct tile *x = choose(g, true, true);
    if (!x || x->shared || strcmp(x->dtype, "float32")) return; /* sums of many need the width */
    int n = ++g->names;
    say(g, "c%d = T.alloc_fragment((%d,), \"%s\")", n, g->columns, x->dtype);
    say(g, "T.reduce_%s(%s, c%d, dim=0)", chance(g, 50) ? "max" : "sum", x->name, n);
    say(g, "for i, j in T.Parallel(%d, %d):", g->rows, g->columns);
    say(g, "    %s[i, j] = (%s[i, j] - c%d[j]) * 0.03125", x->name, x->name, n);
}

/* A private counter that decides when a loop ends. */
static void counted(struct maker *g) {
    struct tile *x = choose(g, true, true);
    int n = ++g->names;
    if (!x || x->shared) return;
    say(g, "v%d = T.alloc_var(\"int32\", 0)", n);
    g->loops++;
    say(g, "for k%d in T.serial(6):", g->loops);
    say(g, "    v%d = v%d + k%d", n, n, g->loops);
    if (chance(g, 60)) {
        say(g, "    if v%d > %u + bx:", n, below(g, 9));
        say(g, chance(g, 50) ? "        break" : "        continue");
    }
    say(g, "    for i, j in T.Parallel(%d, %d):", g->rows, g->columns);
    say(g, "        %s[i, j] = %s[i, j] * 0.5 + T.cast(v%d, \"%s\")", x->name, x->name, n,
        x->dtype);
}

static void finish(struct maker *g) {
    struct tile *x = choose(g, true, true), *v = choose(g, false, true);
    if (!x) {
        x = choose(g, true, false);
        say(g, "T.fill(%s, 0.5)", x->name);
    }
    if (chance(g, 70)) {
        say(g, "T.copy(%s, C[by * %d, bx * %d])", x->name, g->rows, g->columns);
    } else {
        say(g, "for i, j in T.Parallel(%d, %d):", g->rows, g->columns);
        say(g, "    C[by * %d + i, bx * %d + j] = T.cast(%s[i, j], \"%s\")", g->rows, g->columns,
            x->name, g->out);
    }
    if (!v) return;
    say(g, "for i in T.Parallel(%d):", g->rows);
    say(g, "    if by * %d + i < M:", g->rows);
    say(g, "        R[bx, by * %d + i] = T.cast(%s[i], \"float32\")", g->rows, v->name);
}

static int threads_of(struct maker *g) { return PICK(g, 32, 64, 128, 128, 256); }

static void program(struct maker *g) {
    static const char *const types[] = {"float32", "float16", "bfloat16"};
    g->rows = PICK(g, 8, 16, 32, 64, 64, 20, 33);
    g->columns = PICK(g, 8, 16, 32, 64, 64, 24, 40, 7);
    g->depth = PICK(g, 16, 32, 48, 64);
    g->m = 1 + (int)below(g, 100), g->n = 1 + (int)below(g, 100), g->k = 1 + (int)below(g, 130);
    if (chance(g, 50)) g->n = g->n / 8 * 8 + 8, g->k = g->k / 8 * 8 + 8;
    bool products = chance(g, 50);
    if (products) { /* whole instruction tiles */
        g->rows = PICK(g, 32, 64, 128);
        g->columns = PICK(g, 32, 64);
    }
    g->dtype = products ? types[1 + below(g, 2)] : types[below(g, 3)];
    g->out = types[below(g, 3)];
    say(g, "M, N, K = %d, %d, %d\n\n@T.prim_func", g->m, g->n, g->k);
    say(g,
        "def program(A: T.Tensor((M, K), \"%s\"), B: T.Tensor((K, N), \"%s\"), P: T.Tensor((K, M), "
        "\"%s\"),",
        g->dtype, g->dtype, g->dtype);
    say(g,
        "         Q: T.Tensor((N, K), \"%s\"), C: T.Tensor((M, N), \"%s\"), R: T.Tensor((%d, M), "
        "\"float32\")):",
        g->dtype, g->out, (g->n + g->columns - 1) / g->columns);
    g->t.indent = 1;
    say(g, "with T.Kernel(T.ceildiv(N, %d), T.ceildiv(M, %d), threads=%d) as (bx, by):", g->columns,
        g->rows, threads_of(g));
    g->t.indent = 2;
    int tiles = 2 + (int)below(g, 3);
    for (int i = 0; i < tiles; i++)
        add_tile(g, g->rows, g->columns, i ? types[below(g, 3)] : "float32", i && chance(g, 50));
    add_tile(g, g->rows, 0, "float32", false);
    if (chance(g, 50)) add_tile(g, g->rows, 0, "float32", chance(g, 50));
    int parts = 2 + (int)below(g, 5);
    for (int i = 0; i < parts; i++) {
        if (products && chance(g, 40))
            product(g);
        else if (products && chance(g, 20))
            chain(g);
        else if (chance(g, 10))
            columns(g);
        else if (chance(g, 10))
            counted(g);
        else if (chance(g, 25))
            loop(g);
        else if (chance(g, 12))
            branch(g);
        else
            statement(g, false);
    }
    finish(g);
}

/* -- a second family: one row of blocks over integers, atomics, private variables, run-time sizes
 * ------------------------------------------------------------------------------------------------
 */
static void integer_expression(struct maker *g, char *out, size_t room, int depth) {
    char a[300], b[300];
    if (depth <= 0) {
        switch (below(g, 5)) {
        case 0: snprintf(out, room, "%u", below(g, 20)); break;
        case 1: snprintf(out, room, "i"); break;
        case 2: snprintf(out, room, "Y[bx * %d + i]", g->rows); break;
        default: snprintf(out, room, "X[bx * %d + i + %u]", g->rows, below(g, 9)); break;
        }
        return;
    }
    integer_expression(g, a, sizeof a, depth - 1);
    integer_expression(g, b, sizeof b, depth - 1);
    switch (below(g, 10)) {
    case 0: snprintf(out, room, "(%s + %s)", a, b); break;
    case 1: snprintf(out, room, "(%s - %s)", a, b); break;
    case 2: snprintf(out, room, "(%s * %s)", a, b); break;
    case 3: snprintf(out, room, "(%s // %u)", a, 1 + below(g, 9)); break;
    case 4: snprintf(out, room, "(%s %% %u)", a, 1 + below(g, 9)); break;
    case 5: snprintf(out, room, "T.max(%s, %s)", a, b); break;
    case 6: snprintf(out, room, "(%s ^ %s)", a, b); break;
    case 7: snprintf(out, room, "(%s & %s)", a, b); break;
    case 8: snprintf(out, room, "T.if_then_else(%s < %s, %s, i)", a, b, b); break;
    default: snprintf(out, room, "(%s >> %u)", a, below(g, 5)); break;
    }
}

static void integer_body(struct maker *g, const char *type) {
    char e[2000];
    int n = g->rows;
    integer_expression(g, e, sizeof e, 1 + (int)below(g, 2));
    say(g, "for i in T.Parallel(%d):", n);
    switch (below(g, 5)) {
    case 0: say(g, "    Z[bx * %d + i] = T.cast(%s, \"%s\")", n, e, type); break;
    case 1:
        say(g, "    if bx * %d + i < N and i %% %u == 0:", n, 1 + below(g, 5));
        say(g, "        T.atomic_add(total[(bx * %d + i) %% 7], T.cast(%s, \"int32\"))", n, e);
        break;
    case 2:
        say(g, "    if bx * %d + i < N:", n);
        say(g, "        T.atomic_max(total[7 + i %% 3], T.cast(%s, \"int32\"))", e);
        break;
    case 3:
        say(g, "    s[i] = T.cast(%s, \"%s\")", e, type);
        say(g, "for i in T.Parallel(%d):", n);
        say(g, "    Z[bx * %d + i] = s[(i * %u + %u) %% %d]", n, 1 + below(g, 4), below(g, 9), n);
        break;
    default:
        say(g, "    f[i] = T.cast(%s, \"int32\")", e);
        say(g, "T.reduce_%s(f, r, dim=0)", below(g, 2) ? "max" : "sum");
        say(g, "for i in T.Parallel(%d):", n);
        say(g, "    Z[bx * %d + i] = T.cast(f[i] - r[0], \"%s\")", n, type);
        break;
    }
}

static void integer_program(struct maker *g) {
    static const char *const types[] = {"int32", "int8", "int16", "uint8", "int64", "uint32"};
    const char *type = types[below(g, 6)];
    bool dynamic = chance(g, 50);
    g->rows = PICK(g, 32, 64, 100, 128, 256, 33);
    if (dynamic)
        say(g, "N = T.dynamic(\"N\")\n\n@T.prim_func");
    else
        say(g, "N = %u\n\n@T.prim_func", 1 + below(g, 500));
    say(g,
        "def program(X: T.Tensor((N,), \"%s\"), Y: T.Tensor((N,), \"%s\"), Z: T.Tensor((N,), "
        "\"%s\"), total: T.Tensor((10,), \"int32\")):",
        type, type, type);
    g->t.indent = 1;
    say(g, "with T.Kernel(T.ceildiv(N, %d), threads=%d) as bx:", g->rows,
        PICK(g, 32, 64, 128, 256));
    g->t.indent = 2;
    say(g, "s = T.alloc_shared((%d,), \"%s\")", g->rows, type);
    say(g, "f = T.alloc_fragment((%d,), \"int32\")", g->rows);
    say(g, "r = T.alloc_fragment((1,), \"int32\")");
    int parts = 1 + (int)below(g, 3);
    for (int k = 0; k < parts; k++) {
        if (chance(g, 30)) {
            say(g, "for k%d in T.serial(%d):", k, PICK(g, 0, 1, 2, 3));
            g->t.indent++;
            integer_body(g, type);
            g->t.indent--;
        } else {
            integer_body(g, type);
        }
    }
}

/* -- one seed
 * ---------------------------------------------------------------------------------------- */
enum outcome { AGREES, DIFFERS, REFUSED, OUTCOMES };

static enum outcome judge(struct arena *a, const char *text, const char *target, uint64_t seed) {
    const char *errors;
    struct program_text p = {text, NULL, target};
    struct module *meaning = rig_compile(a, &p, false, &errors), *code = NULL;
    if (meaning) code = rig_compile(a, &p, true, &errors);
    if (!code) {
        printf("seed %llu %s is refused: %s\n", (unsigned long long)seed, target, errors);
        return strstr(errors, "a rule of its level") || strstr(errors, "E0701") ? DIFFERS : REFUSED;
    }
    for (int i = 0; i < 2; i++) {
        struct sim_options how = {.early = i, .backward = i};
        struct verdict v = rig_judge(a, meaning, code, seed, &how);
        if (!v.why) continue;
        printf("seed %llu %s %s: %s\n", (unsigned long long)seed, target, i ? "early" : "late",
               v.why);
        return DIFFERS;
    }
    return AGREES;
}

static enum outcome run_seed(uint64_t seed, bool print) {
    static const char *const targets[] = {"sm_75", "sm_80", "sm_89", "sm_90a"};
    struct arena *a = arena_new();
    struct maker g = {.t = text_new(a), .state = seed * 0x9e3779b97f4a7c15u + 1};
    for (int i = 0; i < 4; i++) below(&g, 2);
    const char *target = targets[below(&g, 4)];
    if (seed % 4 == 3)
        integer_program(&g);
    else
        program(&g);
    if (print) printf("# seed %llu, %s\n%s\n", (unsigned long long)seed, target, g.t.at);
    enum outcome o = judge(a, g.t.at, target, seed);
    arena_free(a);
    return o;
}

static enum outcome run_apart(uint64_t seed, bool print) {
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(120);
        enum outcome o = run_seed(seed, print);
        fflush(stdout);
        _exit((int)o);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0) return DIFFERS;
    if (WIFEXITED(status) && WEXITSTATUS(status) < OUTCOMES)
        return (enum outcome)WEXITSTATUS(status);
    printf("seed %llu: %s\n", (unsigned long long)seed,
           WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "no end" : "crash");
    return DIFFERS;
}

int main(int argc, char **argv) {
    int count[OUTCOMES] = {0};
    if (argc < 3) return 2;
    uint64_t first = strtoull(argv[1], NULL, 10), number = strtoull(argv[2], NULL, 10);
    for (uint64_t s = first; s < first + number; s++) count[run_apart(s, argc > 3)]++;
    printf("%d programs agree, %d differ, %d are refused\n", count[AGREES], count[DIFFERS],
           count[REFUSED]);
    return count[DIFFERS] > 0;
}
