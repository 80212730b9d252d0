/* staged.c: loads that cp.async cannot do run ahead through registers.
 *
 * A plain load from global to shared memory waits for its data. So it is cut in two: the loads into
 * a fragment are issued before an iteration computes, the stores into the slot follow after it.
 * Where the registers for that are missing, the load is done at once. */
#include "internal.h"

static const struct domain *domain_of(const struct stmt *load) {
    return load->kind == STMT_COPY ? &load->copy.domain : &load->map.domain;
}

static int staged_registers(const struct load *l) {
    const struct layout *d = &domain_of(l->at)->layout;
    const struct buffer *b = l->at->kind == STMT_COPY ? l->at->copy.src.buffer : l->to.buffer;
    if (layout_is_none(d)) return 0;
    return (int)((layout_span(d, SPACE_REG) * dtype_bytes(b->dtype) + 3) / 4);
}

static int most_live(struct place_in in, const struct block *b) {
    int most = 0;
    for (const struct stmt *s = b->first; s; s = s->next) {
        int live = live_registers(in.module, in.kernel, s);
        if (live > most) most = live;
    }
    return most;
}

/* What the body's gemms need beside their accumulators. */
static int most_fragments(struct place_in in, const struct block *b) {
    int most = 0;
    for (const struct stmt *s = b->first; s; s = s->next) {
        if (s->kind != STMT_GEMM || s->gemm.atom < 0) continue;
        struct steps steps = steps_of(in, s);
        int need = steps_registers(&steps);
        if (need > most) most = need;
    }
    return most;
}

bool staged_fits(struct place_in in, const struct stmt *loop, const struct loads *loads) {
    int need = 0;
    for (int i = 0; i < loads->at.count; i++)
        if (!loads->at.at[i].async) need += staged_registers(&loads->at.at[i]);
    if (need == 0) return false;
    need += most_live(in, &loop->loop.body) + most_fragments(in, &loop->loop.body) + REGISTERS_BASE;
    return module_at_least(in.module, TRAIT_REGISTERS_THREAD, need);
}

static struct buffer *staging(struct place_in in, const struct stmt *load, const struct buffer *to,
                              enum dtype t) {
    struct module *m = in.module;
    const struct domain *d = domain_of(load);
    const char *base = arena_printf(m->arena, "%s_ahead", to->name->text);
    bool single = d->rank == 0; /* a copy of one element: buffers have at least one axis */
    struct buffer *f = buffer_new(m, in.function, in.kernel, SCOPE_FRAGMENT, module_name(m, base),
                                  t, single ? 1 : d->rank, single ? (int32_t[]){1} : d->extent);
    f->layout = single ? layout_insert(&d->layout, 0, 1) : d->layout;
    f->span = load->span;
    return f;
}

static struct stmt *copy_cut(struct place_in in, struct stmt *copy) {
    struct module *m = in.module;
    struct buffer *f = staging(in, copy, copy->copy.dst.buffer, copy->copy.src.buffer->dtype);
    struct stmt shape = *copy;
    struct block one = {&shape, &shape};
    shape.next = NULL;
    struct stmt *store = block_clone(m, &one).first;
    struct region all = region_whole(m, f);
    store->copy.src = all;
    copy->copy.dst = all;
    for (int i = 0; i < f->rank; i++) store->copy.src_axis[i] = copy->copy.dst_axis[i] = i;
    return store;
}

void staged_cut(struct place_in in, struct stmt *load, struct block *stores) {
    struct stmt *first = load->kind == STMT_IF ? load->branch.then.first : load, *store;
    if (first->kind == STMT_COPY) {
        store = copy_cut(in, first);
    } else {
        const struct buffer *b = map_target(first);
        store = map_cut(in.module, first, staging(in, first, b, b->dtype));
        if (load != first) store->copy.guard = load->branch.test;
    }
    first->why = "for a later iteration, stored after this one has computed";
    block_append(stores, store);
}
