/* persist.c: a kernel whose blocks have an SM for themselves takes several tiles a block in turn.
 *
 * Where the fragments let one block on an SM, nothing runs while the block waits for its tile, and
 * no load is under way while it computes. So the block takes C neighbouring tiles, one after the
 * other, in a pipelined loop: the copies from tensors to shared memory become a ring, and the next
 * tile is on its way while this one is worked on. That asks for shared memory of two tiles, for
 * blocks that do not wait for each other, and for so many tiles that all SMs stay busy. */
#include "layout/plan.h"

enum {
    SLOTS = 2,
    TILES_MOST = 16,
    TILES_PER_SM = 4,        /* at least, in the grid */
    REGISTERS_BASE = 24,     /* a thread, beside its fragments: addresses and temporaries */
    REGISTERS_UNIT = 8,      /* in which a thread gets them */
    SHARED_RESERVED = 1024,  /* that CUDA takes of each block */
    SCRATCH_ESTIMATE = 8192, /* for exchanges between warps that place will add */
};

struct persister {
    struct plan p;
    bool fits;                 /* so far */
    VEC(struct stmt *) loads;  /* copies from tensors to shared memory that can run ahead */
    int64_t load_bytes;        /* that they bring a tile */
    const struct stmt *load;   /* whose copy is being checked */
    bool passed;               /* the walk has passed it */
    int64_t registers, blocks; /* estimates: a thread, an SM */
    bool alone;                /* no second block fits on an SM */
    int64_t grid, others;      /* blocks along x and along the other axes */
};

/* -- May blocks run in turn? ------------------------------------------------------------------- */

/* Blocks that wait for others, or tell them something, may depend on which run together. A kernel
 * that overlaps its loads with its work already, or lives in tensor cores, is left alone. */
static void note_statement(struct stmt *s, void *data) {
    struct persister *c = data;
    if (s->kind == STMT_WHILE || s->kind == STMT_GEMM) c->fits = false;
    if (s->kind == STMT_FOR && s->loop.kind == LOOP_PIPELINED) c->fits = false;
    if (s->kind == STMT_ATOMIC && (s->atomic.order != ORDER_RELAXED || s->atomic.previous))
        c->fits = false;
}

static bool blocks_independent(struct persister *c) {
    const struct kernel *k = c->p.k;
    if (!k->block[0] || k->swizzle_panel || k->min_blocks > 1) return false;
    if (!expr_is_int(k->grid[0], &c->grid)) return false;
    c->others = 1;
    for (int i = 1; i < 3; i++) {
        int64_t n = 1;
        if (k->block[i] && k->grid[i] && !expr_is_int(k->grid[i], &n)) return false;
        c->others *= n;
    }
    c->fits = true;
    block_walk(&c->p.k->body, note_statement, c);
    return c->fits;
}

/* -- Loads that can run ahead ------------------------------------------------------------------ */

static void note_access(const struct access *a, void *data) {
    struct persister *c = data;
    const struct buffer *to = c->load->copy.dst.buffer;
    bool writes = a->kind & ACCESS_WRITE;
    if (writes && buffers_meet(a->buffer, c->load->copy.src.buffer)) c->fits = false;
    if (a->buffer->alias == to) c->fits = false;
    if (a->buffer != to || a->stmt == c->load) return;
    bool whole =
        a->stmt->kind == STMT_REDUCE || a->stmt->kind == STMT_PRINT || a->stmt->kind == STMT_ATOMIC;
    if (writes || whole || !c->passed) c->fits = false;
}

static bool is_zero(const struct expr *e) {
    int64_t i;
    return e->kind == EXPR_FLOAT ? e->number == 0 : expr_is_int(e, &i) && i == 0;
}

static bool known_before(const struct region *r) {
    for (int i = 0; i < r->buffer->rank; i++)
        if (expr_has_load(r->base[i]) || expr_uses_kind(r->base[i], VAR_LET) ||
            expr_uses_kind(r->base[i], VAR_MUTABLE))
            return false;
    return true;
}

/* It fills all of the buffer, by cp.async, and nothing else does. */
static bool can_run_ahead(struct persister *c, const struct stmt *s) {
    if (s->kind != STMT_COPY) return false;
    const struct buffer *from = s->copy.src.buffer, *to = s->copy.dst.buffer;
    if (from->scope != SCOPE_GLOBAL || to->scope != SCOPE_SHARED || from->dtype != to->dtype)
        return false;
    if (from->safe_value && !is_zero(from->safe_value)) return false;
    if (to->alias || to->rank == TILE_RANK || !region_is_whole(&s->copy.dst)) return false;
    if (!known_before(&s->copy.src)) return false;
    c->load = s;
    c->passed = false;
    c->fits = true;
    for (struct stmt *x = c->p.k->body.first; x; x = x->next) {
        stmt_accesses(c->p.m, x, note_access, c);
        c->passed |= x == s;
    }
    return c->fits;
}

static void find_loads(struct persister *c) {
    if (!module_has(c->p.m, FEATURE_CP_ASYNC)) return;
    for (struct stmt *s = c->p.k->body.first; s; s = s->next) {
        if (!can_run_ahead(c, s)) continue;
        const struct buffer *b = s->copy.dst.buffer;
        vec_push(c->p.arena, &c->loads, s);
        c->load_bytes += buffer_elements(b) * dtype_bytes(b->dtype);
    }
}

/* -- How many blocks has an SM? ---------------------------------------------------------------- */

struct life { /* of a buffer: statements of the body, by number */
    const struct buffer *buffer;
    int number, first, last;
};

static void note_life(const struct access *a, void *data) {
    struct life *l = data;
    if (a->buffer != l->buffer && a->buffer->alias != l->buffer) return;
    if (l->first < 0) l->first = l->number;
    l->last = l->number;
}

static struct life life_of(struct persister *c, const struct buffer *b) {
    struct life l = {.buffer = b, .first = -1, .last = -1};
    for (struct stmt *s = c->p.k->body.first; s; s = s->next, l.number++)
        stmt_accesses(c->p.m, s, note_life, &l);
    return l;
}

static int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

static int64_t fragment_registers(const struct persister *c, const struct buffer *b) {
    return divide_up(buffer_elements(b) * dtype_bytes(b->dtype), 4 * (int64_t)c->p.k->threads);
}

/* The most that fragments need at one statement of the body, spread evenly. */
static int64_t most_registers(struct persister *c) {
    int count = 0;
    for (struct stmt *s = c->p.k->body.first; s; s = s->next) count++;
    int64_t *live = arena_array(c->p.arena, int64_t, count + 1), most = 0;
    for (int i = 0; i < c->p.k->buffers.count; i++) {
        const struct buffer *b = c->p.k->buffers.at[i];
        if (b->scope != SCOPE_FRAGMENT || b->alias) continue;
        struct life l = life_of(c, b);
        for (int n = l.first; n >= 0 && n <= l.last; n++) live[n] += fragment_registers(c, b);
    }
    for (int n = 0; n < count; n++)
        if (live[n] > most) most = live[n];
    return most;
}

static int64_t shared_bytes(const struct persister *c) {
    int64_t bytes = SCRATCH_ESTIMATE;
    for (int i = 0; i < c->p.k->buffers.count; i++) {
        const struct buffer *b = c->p.k->buffers.at[i];
        if (b->scope == SCOPE_SHARED && !b->alias)
            bytes += buffer_elements(b) * dtype_bytes(b->dtype);
    }
    return bytes;
}

static void count_blocks(struct persister *c) {
    const struct target *t = c->p.m->target;
    int64_t threads = c->p.k->threads;
    c->registers = most_registers(c);
    int64_t each = divide_up(c->registers + REGISTERS_BASE, REGISTERS_UNIT) * REGISTERS_UNIT;
    int64_t by_registers = target_trait(t, TRAIT_REGISTERS_SM) / (each * threads);
    int64_t by_shared = target_trait(t, TRAIT_SHARED_SM) / (shared_bytes(c) + SHARED_RESERVED);
    c->blocks = target_trait(t, TRAIT_THREADS_SM) / threads;
    if (by_registers < c->blocks) c->blocks = by_registers;
    if (by_shared < c->blocks) c->blocks = by_shared;
    c->alone = !module_at_least(c->p.m, TRAIT_REGISTERS_SM, 2 * each * threads) ||
               !module_at_least(c->p.m, TRAIT_SHARED_SM, 2 * (shared_bytes(c) + SHARED_RESERVED)) ||
               !module_at_least(c->p.m, TRAIT_THREADS_SM, 2 * threads);
}

/* -- How many tiles a block? ------------------------------------------------------------------- */

/* Thirds of a tile's time that the busiest SM needs, one block at a time: the first load of each
 * block is waited for, which takes about one of them. */
static int64_t duration(const struct persister *c, int64_t tiles) {
    int64_t turns =
        divide_up(divide_up(c->grid, tiles) * c->others, module_trait(c->p.m, TRAIT_SM_COUNT));
    return turns * (2 * tiles + 1);
}

/* 1 if nothing is gained. */
static int32_t choose_tiles(const struct persister *c) {
    int32_t best = 1;
    for (int32_t n = 2; n <= TILES_MOST; n++)
        if (duration(c, n) <= duration(c, best)) best = n;
    return best;
}

/* -- The change -------------------------------------------------------------------------------- */

static struct expr *index_op(struct persister *c, enum function fn, struct expr *a, int64_t b) {
    return expr_binary(c->p.m->exprs, fn, a, expr_index(c->p.m->exprs, b));
}

static struct var *new_block(struct persister *c, int64_t count) {
    struct kernel *k = c->p.k;
    struct var *old = k->block[0];
    struct var *v = var_new(c->p.m->exprs, VAR_BLOCK, old->name, old->dtype, old->span);
    v->lo = 0;
    v->hi = count - 1;
    v->divisor = 1;
    k->block[0] = v;
    k->grid[0] = expr_index(c->p.m->exprs, count);
    return v;
}

static struct var *new_tile(struct persister *c, int32_t tiles) {
    struct var *v = var_new(c->p.m->exprs, VAR_LOOP, intern_text(c->p.m->names, "tile"),
                            DTYPE_INDEX, c->p.k->span);
    v->lo = 0;
    v->hi = tiles - 1;
    v->divisor = 1;
    return v;
}

static void wrap(struct persister *c, int32_t tiles) {
    struct exprs *x = c->p.m->exprs;
    struct kernel *k = c->p.k;
    struct stmt *loop = stmt_new(c->p.m, STMT_FOR, k->body.first->span);
    struct var *old = k->block[0], *block = new_block(c, divide_up(c->grid, tiles));
    struct expr *first = index_op(c, FN_MUL, expr_var(x, block), tiles);
    loop->loop.kind = LOOP_PIPELINED;
    loop->loop.stages = SLOTS;
    loop->loop.step = 1;
    loop->loop.var = new_tile(c, tiles);
    loop->loop.lo = expr_index(x, 0);
    loop->loop.hi = expr_index(x, tiles);
    if (c->grid % tiles != 0) {
        struct expr *rest = expr_binary(x, FN_SUB, expr_index(x, c->grid), first);
        loop->loop.hi = expr_binary(x, FN_MIN, loop->loop.hi, rest);
    }
    struct expr *tile = expr_binary(x, FN_ADD, first, expr_var(x, loop->loop.var));
    loop->loop.body = k->body;
    block_substitute(c->p.m, &loop->loop.body, 1, &old, &tile);
    loop->why = "tiles in turn, each loaded while the one before it is worked on";
    k->body = (struct block){loop, loop};
}

static void say_taken(const struct persister *c, int32_t tiles) {
    const struct kernel *k = c->p.k;
    diag_remark(c->p.m->diag, k->span, "schedule",
                "each block of '%s' takes %d of the %lld tiles in turn: its fragments need %lld "
                "registers of each of %d threads, so one block runs on an SM; the %lld bytes of "
                "the next tile are loaded meanwhile",
                k->name->text, tiles, (long long)(c->grid * c->others), (long long)c->registers,
                k->threads, (long long)c->load_bytes);
}

static void say_left(const struct persister *c, const char *why) {
    diag_remark(c->p.m->diag, c->p.k->span, "schedule", "each block of '%s' takes one tile: %s",
                c->p.k->name->text, why);
}

/* What is in the way of a kernel with loads that could run ahead; NULL if nothing is. */
static const char *obstacle(struct persister *c) {
    struct arena *a = c->p.arena;
    const struct target *t = c->p.m->target;
    if (!c->alone)
        return arena_printf(a, "%lld blocks of it fit on an SM and overlap", (long long)c->blocks);
    int64_t need = shared_bytes(c) + c->load_bytes * (SLOTS - 1);
    if (!module_at_least(c->p.m, TRAIT_SHARED_BLOCK, need))
        return arena_printf(a,
                            "%d slots of its %lld bytes need %lld bytes of shared memory, %s has "
                            "%d for a block",
                            SLOTS, (long long)c->load_bytes, (long long)need, t->name,
                            (int)target_trait(t, TRAIT_SHARED_BLOCK));
    int64_t tiles = c->grid * c->others;
    if (module_at_least(c->p.m, TRAIT_SM_COUNT, tiles / TILES_PER_SM + 1))
        return arena_printf(a, "%lld tiles are less than %d for each of %d SMs", (long long)tiles,
                            TILES_PER_SM, (int)target_trait(t, TRAIT_SM_COUNT));
    return NULL;
}

bool persist(struct module *m, struct function_ir *f, struct kernel *k) {
    struct persister c = {.p = {.m = m, .f = f, .k = k, .arena = m->arena}};
    if (!blocks_independent(&c)) return false;
    find_loads(&c);
    if (c.loads.count == 0) return false;
    count_blocks(&c);
    const char *why = obstacle(&c);
    int32_t tiles = why ? 1 : choose_tiles(&c);
    if (tiles < 2) {
        say_left(&c, why ? why : "more would leave SMs idle");
        return false;
    }
    wrap(&c, tiles);
    say_taken(&c, tiles);
    return true;
}
