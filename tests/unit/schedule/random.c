/* random.c: programs of copies, exchanges, loops and branches on three shared tiles. */
#include "rig.h"

struct random {
    struct rig *rig;
    uint32_t seed;
    struct buffer *shared[3], *fragment[2], *tensor;
    int depth;
};

static uint32_t draw(struct random *x, uint32_t n) {
    x->seed = x->seed * 1664525u + 1013904223u;
    return (x->seed >> 8) % n;
}

static struct expr *minus(struct random *x, int a, struct expr *b) {
    return expr_binary(x->rig->m->exprs, FN_SUB, rig_int(x->rig, a), b);
}

/* A MAP from a fragment or shared tile to another, rows or columns turned around. */
static void random_map(struct random *x) {
    struct expr *i, *j;
    struct buffer *to = draw(x, 2) ? x->shared[draw(x, 3)] : x->fragment[draw(x, 2)];
    struct buffer *from =
        to->scope == SCOPE_SHARED ? x->fragment[draw(x, 2)] : x->shared[draw(x, 3)];
    const struct buffer *fragment = to->scope == SCOPE_SHARED ? from : to;
    struct stmt *map = rig_map(x->rig, fragment, &i, &j);
    uint32_t turn = draw(x, 4);
    struct expr *u = turn & 1 ? minus(x, 15, i) : i, *v = turn & 2 ? minus(x, 63, j) : j;
    bool write = to->scope == SCOPE_SHARED;
    struct expr *value = write ? rig_load(x->rig, from, i, j) : rig_load(x->rig, from, u, v);
    rig_store(x->rig, map, to, write ? u : i, write ? v : j,
              expr_cast(x->rig->m->exprs, value, to->dtype));
}

static void random_fill(struct random *x) {
    struct buffer *to = x->shared[draw(x, 3)];
    int part = 8 << draw(x, 2), at = part == 16 ? 0 : 8 * (int)draw(x, 2);
    struct expr *zero = rig_int(x->rig, 0);
    struct region from =
        rig_region(x->tensor, rig_int(x->rig, (int)draw(x, 4) * 16), zero, part, 64);
    rig_copy(x->rig, from, rig_region(to, rig_int(x->rig, at), zero, part, 64));
}

static void random_block(struct random *x, int count);

static void random_loop(struct random *x) {
    struct expr *k;
    struct block *outer = x->rig->at;
    enum loop_kind kind = draw(x, 2) ? LOOP_PIPELINED : LOOP_SERIAL;
    rig_loop(x->rig, kind, draw(x, 2) ? rig_int(x->rig, (int)draw(x, 5)) : rig_int(x->rig, 3),
             (int)draw(x, 4), &k);
    struct buffer *to = x->shared[draw(x, 3)];
    struct expr *row = expr_binary(x->rig->m->exprs, FN_MUL, k, rig_int(x->rig, 16));
    if (draw(x, 2))
        rig_copy(x->rig, rig_region(x->tensor, row, rig_int(x->rig, 0), 16, 64),
                 rig_whole(x->rig, to));
    random_block(x, 1 + (int)draw(x, 4));
    x->rig->at = outer;
}

static void random_branch(struct random *x) {
    struct block *outer = x->rig->at;
    struct stmt *s = stmt_new(x->rig->m, STMT_IF, (struct span){0, 0});
    struct expr *dim =
        expr_var(x->rig->m->exprs, x->rig->f->params.at[x->rig->f->params.count - 1].var);
    s->branch.test =
        expr_binary(x->rig->m->exprs, FN_LT, dim, rig_int(x->rig, 1 + (int)draw(x, 2)));
    block_append(outer, s);
    x->rig->at = &s->branch.then;
    random_block(x, 1 + (int)draw(x, 2));
    x->rig->at = &s->branch.otherwise;
    if (draw(x, 2)) random_block(x, 1 + (int)draw(x, 2));
    x->rig->at = outer;
}

static void random_block(struct random *x, int count) {
    x->depth++;
    for (int i = 0; i < count; i++) {
        uint32_t what = draw(x, 10);
        if (what < 5 || x->depth > 3)
            random_map(x);
        else if (what < 7)
            random_fill(x);
        else if (what < 9)
            random_loop(x);
        else
            random_branch(x);
    }
    x->depth--;
}

struct rig random_program(uint32_t seed) {
    struct rig r = rig_new(seed % 5 ? "sm_80" : "sm_75", 128);
    struct random x = {.rig = &r, .seed = seed};
    static const char *const names[] = {"S", "T", "U"};
    x.tensor = rig_global(&r, "X", DTYPE_F32, 128, 64);
    for (int i = 0; i < 3; i++) x.shared[i] = rig_shared(&r, names[i], DTYPE_F32, 16, 64);
    x.fragment[0] = rig_fragment(&r, "a", DTYPE_F32, 16, 64);
    x.fragment[1] = rig_fragment(&r, "b", DTYPE_F16, 16, 64);
    struct buffer *out = rig_global(&r, "Y", DTYPE_F32, 16, 64),
                  *half = rig_global(&r, "Z", DTYPE_F16, 16, 64);
    rig_dim(&r, "n");
    for (int i = 0; i < 3; i++) rig_zero(&r, x.shared[i]);
    for (int i = 0; i < 2; i++) rig_zero(&r, x.fragment[i]);
    random_block(&x, 6);
    struct expr *zero = rig_int(&r, 0);
    rig_copy(&r, rig_whole(&r, x.fragment[0]), rig_region(out, zero, zero, 16, 64));
    rig_copy(&r, rig_whole(&r, x.fragment[1]), rig_region(half, zero, zero, 16, 64));
    return r;
}
