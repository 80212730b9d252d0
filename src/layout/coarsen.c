/* coarsen.c: gives thin blocks several neighbouring tiles.
 *
 * A block that moves a few bytes a thread pays more for its launch than for its work and cannot
 * use 16-byte accesses. Where a kernel only maps tensors to tensors, blocks are independent: the
 * block number becomes number * tiles + t with t one more axis of every domain, and the grid
 * shrinks. Tiles beyond the old grid must not happen: either the grid divides, or what they would
 * store lies outside the tensor and is dropped, or a test guards them. */
#include "layout/plan.h"

enum {
    VECTORS = 4, /* 16-byte accesses a thread should make to each tensor */
    TILES_MAX = 64,
    BLOCKS_PER_SM = 4 /* kept, so that a small problem still fills the machine */
};

struct coarsener {
    struct plan p;
    bool plain;       /* only MAPs and COPYs from tensors to tensors */
    int64_t elements; /* of the largest domain */
    int bytes;        /* of the narrowest element */
    VEC(struct buffer *) read, written;
    int64_t grid; /* blocks along x; -1 unknown */
    int32_t tiles;
    struct var *old_block, *new_block;
};

/* -- May it? ----------------------------------------------------------------------------------- */

static void note_buffer(const struct access *a, void *data) {
    struct coarsener *c = data;
    if (a->buffer->scope != SCOPE_GLOBAL) c->plain = false;
    int bytes = dtype_bytes(a->buffer->dtype);
    if (bytes < c->bytes) c->bytes = bytes;
    if (a->kind & ACCESS_READ)
        vec_push(c->p.arena, &c->read, a->buffer);
    else
        vec_push(c->p.arena, &c->written, a->buffer);
}

static void note_variables(struct expr **e, void *data) {
    struct coarsener *c = data;
    if (expr_uses_kind(*e, VAR_THREAD) || expr_uses_kind(*e, VAR_MUTABLE)) c->plain = false;
}

static void note_statement(struct stmt *s, void *data) {
    struct coarsener *c = data;
    stmt_expressions(s, note_variables, c);
    if (s->kind != STMT_MAP && s->kind != STMT_COPY && s->kind != STMT_STORE &&
        s->kind != STMT_LET && s->kind != STMT_IF)
        c->plain = false;
}

static void note_domain(struct coarsener *c, const struct domain *d) {
    int64_t n = 1;
    for (int a = 0; a < d->rank; a++) n *= d->extent[a];
    if (n > c->elements) c->elements = n;
    if (d->rank >= TILE_RANK - 1) c->plain = false;
}

static bool is_plain(struct coarsener *c) {
    c->plain = c->p.k->block[0] != NULL && !c->p.k->swizzle_panel;
    c->bytes = 16;
    for (struct stmt *s = c->p.k->body.first; s && c->plain; s = s->next) {
        if (s->kind == STMT_MAP)
            note_domain(c, &s->map.domain);
        else if (s->kind == STMT_COPY)
            note_domain(c, &s->copy.domain);
        else
            c->plain = false;
        stmt_accesses(c->p.m, s, note_buffer, c);
    }
    block_walk(&c->p.k->body, note_statement, c);
    for (int i = 0; i < c->read.count; i++)
        for (int j = 0; j < c->written.count; j++)
            if (buffers_meet(c->read.at[i], c->written.at[j])) c->plain = false;
    return c->plain && c->elements > 0;
}

/* -- How many? --------------------------------------------------------------------------------- */

static int64_t other_blocks(const struct kernel *k) {
    int64_t n = 1, value;
    for (int i = 1; i < 3; i++)
        if (k->block[i] && k->grid[i] && expr_is_int(k->grid[i], &value)) n *= value;
    return n;
}

static int32_t choose_tiles(struct coarsener *c) {
    int64_t wanted = (int64_t)VECTORS * 16 / c->bytes * c->p.k->threads;
    if (!expr_is_int(c->p.k->grid[0], &c->grid)) c->grid = -1;
    int32_t tiles = 1;
    while (tiles < TILES_MAX && c->elements * tiles * 2 <= wanted) {
        int64_t each = c->grid * other_blocks(c->p.k) / (2 * tiles * BLOCKS_PER_SM);
        if (c->grid >= 0 && module_at_least(c->p.m, TRAIT_SM_COUNT, each + 1)) break;
        tiles *= 2;
    }
    return tiles;
}

/* -- Tiles beyond the grid --------------------------------------------------------------------- */

struct beyond {
    struct coarsener *c;
    bool dropped; /* all stores so far lie outside from the first tile beyond the grid on */
};

/* grid >= dim / step, where the grid is ceildiv(dim, step) of a dimension known at run time. */
static bool grid_covers(const struct coarsener *c, const struct expr *dim, int64_t step) {
    const struct expr *g = c->p.k->grid[0];
    int64_t divisor, difference;
    if (g->kind != EXPR_OP || g->fn != FN_FLOORDIV) return false;
    if (!expr_is_int(g->args[1], &divisor) || divisor != step) return false;
    return affine_difference(g->args[0], dim, &difference) && difference == divisor - 1;
}

/* Does index >= dim hold in tile `grid` and, since it grows with the tile, in all after it? */
static bool outside(const struct coarsener *c, const struct expr *index, const struct expr *dim) {
    struct affine f;
    int64_t bound;
    if (!affine_of(index, &f)) return false;
    int64_t step = affine_coefficient(&f, c->old_block), least = f.constant;
    if (step <= 0) return false;
    for (int i = 0; i < f.count; i++) {
        const struct expr *a = f.atom[i];
        if (a->kind == EXPR_VAR && a->var == c->old_block) continue;
        if (expr_uses_var(a, c->old_block)) return false;
        int64_t end = f.coefficient[i] > 0 ? a->lo : a->hi;
        if (end == INT64_MIN || end == INT64_MAX) return false;
        least += f.coefficient[i] * end;
    }
    if (c->grid >= 0 && expr_is_int(dim, &bound)) return least + step * c->grid >= bound;
    return least >= 0 && grid_covers(c, dim, step);
}

static void check_store(struct stmt *s, void *data) {
    struct beyond *b = data;
    if (s->kind != STMT_STORE) return;
    bool any = false;
    for (int k = 0; k < s->store.count; k++)
        any |= outside(b->c, s->store.index[k], s->store.buffer->dim[k]);
    b->dropped &= any;
}

static bool needs_guard(struct coarsener *c) {
    if (c->grid >= 0 && c->grid % c->tiles == 0) return false;
    struct beyond b = {c, true};
    block_walk(&c->p.k->body, check_store, &b);
    return !b.dropped;
}

/* -- The change -------------------------------------------------------------------------------- */

static struct expr *index_op(struct coarsener *c, enum function fn, struct expr *a, int64_t b) {
    return expr_binary(c->p.m->exprs, fn, a, expr_index(c->p.m->exprs, b));
}

static void copies_to_maps(struct coarsener *c) {
    struct block *b = &c->p.k->body;
    for (struct stmt *s = b->first, *next; s; s = next) {
        next = s->next;
        if (s->kind != STMT_COPY) continue;
        block_insert_before(b, s, copy_as_map(c->p.m, s));
        block_remove(b, s);
    }
}

/* number * tiles + t takes the place of the block number. */
static void widen_map(struct coarsener *c, struct stmt *s, bool guard) {
    struct exprs *x = c->p.m->exprs;
    struct domain *d = &s->map.domain;
    for (int a = d->rank; a > 0; a--) {
        d->axis[a] = d->axis[a - 1];
        d->extent[a] = d->extent[a - 1];
    }
    d->rank++;
    d->axis[0] = new_axis(&c->p, 0, c->tiles, s->span);
    d->axis[0]->name = intern_text(c->p.m->names, "tile");
    d->extent[0] = c->tiles;
    struct expr *tile = index_op(c, FN_MUL, expr_var(x, c->new_block), c->tiles);
    tile = expr_binary(x, FN_ADD, tile, expr_var(x, d->axis[0]));
    block_substitute(c->p.m, &s->map.body, 1, &c->old_block, &tile);
    if (!guard) return;
    struct stmt *test = stmt_new(c->p.m, STMT_IF, s->span);
    test->branch.test = expr_binary(x, FN_LT, tile, c->p.k->grid[0]);
    test->branch.then = s->map.body;
    s->map.body = (struct block){test, test};
}

static void widen_block(struct coarsener *c, struct block *b, bool guard) {
    for (struct stmt *s = b->first; s; s = s->next) widen_map(c, s, guard);
}

/* Only the last block has tiles beyond the grid: all others run without the test. */
static void split_last_block(struct coarsener *c) {
    struct exprs *x = c->p.m->exprs;
    struct kernel *k = c->p.k;
    struct stmt *branch = stmt_new(c->p.m, STMT_IF, k->body.first->span);
    struct expr *end = index_op(c, FN_MUL, expr_var(x, c->new_block), c->tiles);
    branch->branch.test = expr_binary(x, FN_LE, index_op(c, FN_ADD, end, c->tiles), k->grid[0]);
    branch->branch.otherwise = block_clone(c->p.m, &k->body);
    branch->branch.then = k->body;
    widen_block(c, &branch->branch.then, false);
    widen_block(c, &branch->branch.otherwise, true);
    k->body = (struct block){branch, branch};
}

static void new_grid(struct coarsener *c) {
    struct kernel *k = c->p.k;
    c->old_block = k->block[0];
    c->new_block = var_new(c->p.m->exprs, VAR_BLOCK, c->old_block->name, c->old_block->dtype,
                           c->old_block->span);
    c->new_block->lo = 0;
    c->new_block->hi = c->old_block->hi == INT64_MAX ? INT64_MAX : c->old_block->hi / c->tiles;
    c->new_block->divisor = 1;
    k->block[0] = c->new_block;
}

static void coarsen_kernel(struct module *m, struct function_ir *f, struct kernel *k) {
    struct coarsener c = {.p = {.m = m, .f = f, .k = k, .arena = m->arena}};
    if (!is_plain(&c)) {
        persist(m, f, k);
        return;
    }
    c.tiles = choose_tiles(&c);
    if (c.tiles < 2) return;
    copies_to_maps(&c);
    new_grid(&c);
    bool guard = needs_guard(&c);
    if (guard)
        split_last_block(&c);
    else
        widen_block(&c, &k->body, false);
    k->grid[0] = index_op(&c, FN_FLOORDIV, index_op(&c, FN_ADD, k->grid[0], c.tiles - 1), c.tiles);
    diag_remark(
        m->diag, k->span, "schedule",
        "each block of '%s' takes %d neighbouring tiles: %lld elements a block were too few",
        k->name->text, c.tiles, (long long)c.elements);
}

void coarsen(struct module *m) {
    for (int i = 0; i < m->functions.count; i++)
        for (int j = 0; j < m->functions.at[i]->kernels.count; j++)
            coarsen_kernel(m, m->functions.at[i], m->functions.at[i]->kernels.at[j]);
}
