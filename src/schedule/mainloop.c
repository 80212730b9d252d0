/* mainloop.c: the loop of a matrix product, fragments double-buffered across its back edge.
 *
 *     load(0) … load(S-1)  WAIT(S-1)  [barrier]  fetch(0)
 *     for k, for each step: (last step: WAIT(S-2)  [barrier]  load(k+S)  next slot)
 *                           fetch(next step)  multiply(this step)
 *
 * At the last step all fragments of the slot are in registers, so the barrier that shows the next
 * slot to all also frees this one, and its refill starts at once. Against the general form this
 * gains 13 to 30 % for warp tiles of 64 x 64 and nothing for small ones, where more blocks on an SM
 * do more (mma-skeleton.md, facts 4 to 6, H200). */
#include "internal.h"

/* The one gemm of the body; NULL if there is anything else that computes. */
static struct stmt *only_gemm(const struct stmt *loop, const struct loads *loads) {
    struct stmt *gemm = NULL;
    for (struct stmt *s = loop->loop.body.first; s; s = s->next) {
        bool load = false;
        for (int i = 0; i < loads->at.count; i++) load |= loads->at.at[i].at == s;
        if (load || s->kind == STMT_LET) continue;
        if (s->kind != STMT_GEMM || gemm) return NULL;
        gemm = s;
    }
    return gemm;
}

static bool is_loaded(const struct loads *loads, const struct buffer *b) {
    for (int i = 0; i < loads->buffers.count; i++)
        if (loads->buffers.at[i] == b) return true;
    return false;
}

enum {
    SMALL_TILE = 64,  /* accumulators below which more blocks do more than the double buffer */
    DOUBLE_BASE = 16, /* registers beside accumulators and fragments (measured: 16 to 28) */
    SINGLE_BASE = 12
};

/* Do registers, threads and the rings in shared memory leave room for a second block on an SM? */
static bool two_blocks_fit(const struct place_in *in, const struct loads *loads, int registers) {
    const struct module *m = in->module;
    int64_t each = (int64_t)(registers + 7) / 8 * 8 * in->kernel->threads, bytes = 1024;
    for (int i = 0; i < loads->buffers.count; i++)
        bytes += shared_bytes_of(loads->buffers.at[i], 0);
    return each > 0 && module_at_least(m, TRAIT_REGISTERS_SM, 2 * each) &&
           module_at_least(m, TRAIT_SHARED_SM, 2 * bytes) &&
           module_at_least(m, TRAIT_THREADS_SM, 2 * in->kernel->threads);
}

/* The double buffer pays for large warp tiles, if it costs neither a spill nor the second block. */
static bool registers_allow(const struct place_in *in, const struct stmt *gemm,
                            const struct loads *loads, const struct steps *s) {
    int accumulators = fragment_registers(gemm->gemm.c.buffer), fragments = steps_registers(s);
    int live = live_registers(in->module, in->kernel, gemm);
    if (accumulators < SMALL_TILE) return false;
    int need = live + 2 * fragments + REGISTERS_BASE;
    if (!module_at_least(in->module, TRAIT_REGISTERS_THREAD, need)) return false;
    return two_blocks_fit(in, loads, live + 2 * fragments + DOUBLE_BASE) ||
           !two_blocks_fit(in, loads, live + fragments + SINGLE_BASE);
}

static bool is_fixed(const struct region *r) {
    int64_t value;
    for (int i = 0; i < r->buffer->rank; i++)
        if (!expr_is_int(r->base[i], &value)) return false;
    return true;
}

bool mainloop_fits(struct place_in in, const struct stmt *loop, const struct loads *loads,
                   int slots) {
    struct stmt *gemm = only_gemm(loop, loads);
    int64_t clear = 0;
    if (!gemm || slots < 2 || gemm->gemm.atom < 0) return false;
    if (gemm->gemm.clear && (!expr_is_int(gemm->gemm.clear, &clear) || clear)) return false;
    if (!is_loaded(loads, gemm->gemm.a.buffer) || !is_loaded(loads, gemm->gemm.b.buffer))
        return false;
    for (int i = 0; i < loads->at.count; i++)
        if (!loads->at.at[i].async) return false;
    if (!is_fixed(&gemm->gemm.a) || !is_fixed(&gemm->gemm.b)) return false;
    struct steps s = steps_of(in, gemm);
    return s.rest == 0 && s.count % 2 == 0 && registers_allow(&in, gemm, loads, &s);
}

static void read_slot(struct stmt *gemm, struct expr *slot) {
    gemm->gemm.a.base[0] = slot;
    gemm->gemm.b.base[0] = slot;
}

static void build_body(const struct steps *s, struct stmt *loop, const struct loads *loads,
                       struct var *slot, int slots) {
    struct module *m = s->in.module;
    struct block body = {0};
    struct expr *x = expr_var(m->exprs, slot);
    struct expr *later =
        index_sum(m, expr_var(m->exprs, loop->loop.var), index_of(m, slots * loop->loop.step));
    for (int i = 0; i < s->count; i++) {
        if (i == s->count - 1) {
            block_append(&body, build_wait(m, loop->span, slots - 2));
            append_fill(s->in, &body, loop, loads, later, x);
            block_append(&body, build_set(m, loop->span, slot, counter_next(m, slot, slots)));
        }
        steps_fetch(s, &body, index_of(m, (i + 1) % s->count), s->row->k, index_of(m, (i + 1) % 2));
        steps_multiply(s, &body, index_of(m, i), index_of(m, i % 2));
    }
    loop->loop.body = body;
}

void mainloop_build(struct place_in in, struct block *b, struct stmt *loop,
                    const struct loads *loads, int slots) {
    struct module *m = in.module;
    struct stmt *gemm = only_gemm(loop, loads);
    struct var *slot = build_counter(m, "slot", slots, loop->span);
    struct steps s = steps_of(in, gemm);
    struct block before = {0};
    steps_make_fragments(&s, 2);
    block_append(&before, build_let(m, loop->span, slot, index_of(m, 0)));
    for (int i = 0; i < slots; i++) {
        struct expr *value = index_sum(m, loop->loop.lo, index_of(m, i * loop->loop.step));
        append_fill(in, &before, loop, loads, value, index_of(m, i));
    }
    block_append(&before, build_wait(m, loop->span, slots - 1));
    read_slot(gemm, index_of(m, 0));
    steps_fetch(&s, &before, index_of(m, 0), s.row->k, index_of(m, 0));
    read_slot(gemm, expr_var(m->exprs, slot));
    build_body(&s, loop, loads, slot, slots);
    for (struct stmt *x = before.first, *next; x; x = next) {
        next = x->next;
        block_insert_before(b, loop, x);
    }
    block_insert_after(b, loop, build_wait(m, loop->span, 0));
    loop->loop.kind = LOOP_SERIAL;
}
