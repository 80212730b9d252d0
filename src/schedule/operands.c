/* operands.c: each gemm on shared operands becomes steps on register fragments.
 *
 * Fragments are not double-buffered within a gemm: its steps are unrolled, and ptxas spreads the
 * loads between the multiplications by itself (mma-skeleton.md, facts 4 and 14); the double buffer
 * that pays is the one across the back edge, which mainloop.c makes. */
#include "internal.h"
#include "schedule.h"

struct scope_of_loop {   /* the innermost loop around what is being rewritten */
    struct stmt *loop;   /* NULL: none */
    struct block *block; /* that holds the loop */
};

/* -- Operands that do not change in the loop --------------------------------------------------- */

static bool varies_in(struct stmt *loop, const struct expr *e) {
    if (expr_has_load(e)) return true;
    if (loop->kind == STMT_FOR && expr_uses_var(e, loop->loop.var)) return true;
    return block_binds(loop->kind == STMT_FOR ? &loop->loop.body : &loop->repeat.body, e);
}

static bool invariant(struct module *m, struct stmt *loop, const struct region *r) {
    struct block *body = loop->kind == STMT_FOR ? &loop->loop.body : &loop->repeat.body;
    if (r->buffer->scope != SCOPE_SHARED || block_writes(m, body, r->buffer)) return false;
    for (int i = 0; i < r->buffer->rank; i++)
        if (varies_in(loop, r->base[i])) return false;
    return true;
}

/* Loads an operand that stays the same once before the loop, if the registers for it are there. */
static void hoist(struct steps *s, struct scope_of_loop around, bool b) {
    struct module *m = s->in.module;
    const struct region *r = b ? &s->gemm->gemm.b : &s->gemm->gemm.a;
    if (!around.loop || !invariant(m, around.loop, r)) return;
    int need = live_registers(m, s->in.kernel, s->gemm) + steps_whole_registers(s, b) +
               steps_registers(s) + REGISTERS_BASE;
    if (!module_at_least(m, TRAIT_REGISTERS_THREAD, need)) {
        diag_remark(
            m->diag, s->gemm->span, "schedule",
            "'%s' is read from shared memory in each iteration: keeping it would need about "
            "%d registers a thread, the limit is %d",
            r->buffer->name->text, need, (int)target_trait(m->target, TRAIT_REGISTERS_THREAD));
        return;
    }
    steps_make_whole(s, b);
    struct block fetched = {0};
    steps_fetch_whole(s, &fetched, b);
    for (struct stmt *x = fetched.first, *next; x; x = next) {
        next = x->next;
        x->why = "the same in every iteration: loaded once";
        block_insert_before(around.block, around.loop, x);
    }
    diag_remark(m->diag, s->gemm->span, "schedule",
                "'%s' does not change in the loop: kept in %d registers a thread",
                r->buffer->name->text, steps_whole_registers(s, b));
}

/* -- Tensor-core gemms ------------------------------------------------------------------------- */

/* Steps run unrolled: register fragments that hold them all need constant indices, and the loads
 * of a step pass the products of the one before. Long loops on shared memory alone unroll by four:
 * more copies only cost nvcc time (64x512 keys: 5.2 to 3.8 s of it). */
enum { LONG_LOOP = 16, PARTLY = 4 };

static void unrolled_steps(const struct steps *s, struct block *to, int count) {
    struct module *m = s->in.module;
    struct expr *zero = index_of(m, 0);
    if (count == 1) {
        steps_fetch(s, to, zero, s->row->k, zero);
        steps_multiply(s, to, zero, zero);
        return;
    }
    struct stmt *loop = stmt_new(m, STMT_FOR, s->gemm->span);
    struct var *v =
        var_new(m->exprs, VAR_LOOP, intern_text(m->names, "kk"), DTYPE_INDEX, s->gemm->span);
    v->lo = 0;
    v->hi = count - 1;
    v->divisor = 1;
    bool partly = count >= LONG_LOOP && count % PARTLY == 0 && s->a.step && s->b.step;
    v->unrolled = !partly;
    loop->loop.kind = LOOP_UNROLL;
    loop->loop.factor = partly ? PARTLY : 0;
    loop->loop.var = v;
    loop->loop.lo = zero;
    loop->loop.hi = index_of(m, count);
    loop->loop.step = 1;
    loop->loop.stages = -1;
    steps_fetch(s, &loop->loop.body, expr_var(m->exprs, v), s->row->k, zero);
    steps_multiply(s, &loop->loop.body, expr_var(m->exprs, v), zero);
    block_append(to, loop);
}

static void tensor_core(struct steps *s, struct block *to) {
    struct module *m = s->in.module;
    steps_make_fragments(s, 1);
    int full = s->rest ? s->count - 1 : s->count;
    if (full > 0) unrolled_steps(s, to, full);
    if (!s->rest) return;
    struct expr *last = index_of(m, full);
    steps_fetch(s, to, last, s->rest, index_of(m, 0));
    steps_multiply(s, to, last, index_of(m, 0));
}

/* -- Plain FMA --------------------------------------------------------------------------------- */

static struct expr *element(struct steps *s, bool b, struct expr *row, struct expr *column) {
    struct module *m = s->in.module;
    const struct region *r = b ? &s->gemm->gemm.b : &s->gemm->gemm.a;
    const struct operand_plan *p = b ? &s->b : &s->a;
    struct expr *index[TILE_RANK];
    for (int i = 0; i < r->buffer->rank; i++) index[i] = r->base[i];
    index[p->row_axis] = index_sum(m, index[p->row_axis], row);
    index[p->column_axis] = index_sum(m, index[p->column_axis], column);
    return expr_cast(m->exprs, expr_load(m->exprs, r->buffer, r->buffer->rank, index),
                     s->gemm->gemm.c.buffer->dtype);
}

static struct expr *product_sum(struct module *m, struct expr *a, struct expr *b, struct expr *c) {
    if (dtype_is_float(c->dtype))
        return expr_op(m->exprs, FN_FMA, c->dtype, 3, (struct expr *[]){a, b, c});
    return expr_binary(m->exprs, FN_ADD, expr_binary(m->exprs, FN_MUL, a, b), c);
}

/* build_zero walks just the elements of c; its store becomes the sum. */
static struct stmt *fma_map(struct steps *s, struct expr *k) {
    struct module *m = s->in.module;
    const struct region *c = &s->gemm->gemm.c;
    struct stmt *map = build_zero(m, s->gemm->span, c);
    struct stmt *store = map->map.body.first;
    if (store->kind == STMT_IF) store = store->branch.then.first;
    int rank = c->buffer->rank;
    struct operand_plan plan = {.row_axis = rank - 2, .column_axis = rank - 1};
    struct expr *i =
        expr_binary(m->exprs, FN_SUB, store->store.index[plan.row_axis], c->base[plan.row_axis]);
    struct expr *j = expr_binary(m->exprs, FN_SUB, store->store.index[plan.column_axis],
                                 c->base[plan.column_axis]);
    struct expr *old = expr_load(m->exprs, c->buffer, rank, store->store.index);
    store->store.value = product_sum(m, element(s, false, i, k), element(s, true, k, j), old);
    return map;
}

static void plain_fma(struct steps *s, struct block *to) {
    struct module *m = s->in.module;
    struct stmt *loop = stmt_new(m, STMT_FOR, s->gemm->span);
    struct var *v =
        var_new(m->exprs, VAR_LOOP, intern_text(m->names, "kk"), DTYPE_INDEX, s->gemm->span);
    v->lo = 0;
    v->hi = s->gemm->gemm.k - 1;
    v->divisor = 1;
    loop->loop.kind = s->gemm->gemm.k <= 4 ? LOOP_UNROLL : LOOP_SERIAL;
    v->unrolled = loop->loop.kind == LOOP_UNROLL;
    loop->loop.var = v;
    loop->loop.lo = index_of(m, 0);
    loop->loop.hi = index_of(m, s->gemm->gemm.k);
    loop->loop.step = 1;
    loop->loop.stages = -1;
    block_append(&loop->loop.body, fma_map(s, expr_var(m->exprs, v)));
    block_append(to, loop);
}

/* -- The pass ---------------------------------------------------------------------------------- */

static void clear_first(struct module *m, const struct stmt *gemm, struct block *to) {
    struct expr *clear = gemm->gemm.clear;
    int64_t known;
    if (!clear || (expr_is_int(clear, &known) && !known)) return;
    struct stmt *zero = build_zero(m, gemm->span, &gemm->gemm.c);
    if (!expr_is_int(clear, &known)) {
        struct stmt *branch = stmt_new(m, STMT_IF, gemm->span);
        branch->branch.test = clear;
        block_append(&branch->branch.then, zero);
        zero = branch;
    }
    block_append(to, zero);
}

static bool is_one_step(const struct stmt *g) {
    return g->gemm.atom >= 0 && !g->gemm.clear && g->gemm.k == mma_row(g->gemm.atom)->k &&
           g->gemm.a.buffer->scope == SCOPE_FRAGMENT && g->gemm.b.buffer->scope == SCOPE_FRAGMENT;
}

static void rewrite_gemm(struct place_in in, struct block *b, struct stmt *gemm,
                         struct scope_of_loop around) {
    if (is_one_step(gemm)) return;
    struct block made = {0};
    clear_first(in.module, gemm, &made);
    struct steps s = steps_of(in, gemm);
    if (s.row) {
        hoist(&s, around, false);
        hoist(&s, around, true);
        tensor_core(&s, &made);
    } else {
        plain_fma(&s, &made);
    }
    for (struct stmt *x = made.first, *next; x; x = next) {
        next = x->next;
        block_insert_before(b, gemm, x);
    }
    block_remove(b, gemm);
}

static void rewrite(struct place_in in, struct block *b, struct scope_of_loop around) {
    for (struct stmt *s = b->first, *next; s; s = next) {
        next = s->next;
        struct scope_of_loop inner = {.loop = s, .block = b};
        if (s->kind == STMT_FOR) rewrite(in, &s->loop.body, inner);
        if (s->kind == STMT_WHILE) rewrite(in, &s->repeat.body, inner);
        if (s->kind == STMT_IF) {
            rewrite(in, &s->branch.then, around);
            rewrite(in, &s->branch.otherwise, around);
        }
        if (s->kind == STMT_GEMM) rewrite_gemm(in, b, s, around);
    }
}

void operands(struct module *m) {
    for (int f = 0; f < m->functions.count; f++)
        for (int k = 0; k < m->functions.at[f]->kernels.count; k++) {
            struct function_ir *function = m->functions.at[f];
            struct kernel *kernel = function->kernels.at[k];
            struct place_in in = {.module = m, .function = function, .kernel = kernel};
            rewrite(in, &kernel->body, (struct scope_of_loop){0});
        }
}
