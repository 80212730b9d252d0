/* ring.c: shared buffers with a slot axis in front, and the accesses to them. */
#include "internal.h"

int shared_alignment(const struct buffer *b) {
    int64_t span = dtype_bytes(b->dtype);
    for (int i = 0; i < b->layout.xors; i++) {
        const struct layout_xor *x = &b->layout.xor_term[i];
        int64_t pattern = (int64_t)dtype_bytes(b->dtype) << (x->source + x->length);
        if (pattern > span) span = pattern;
    }
    if (b->layout.xors == 0) return 128;
    return span > 512 ? 1024 : span > 256 ? 512 : span > 128 ? 256 : 128;
}

static int64_t round_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

static int64_t slot_bytes(const struct buffer *b) {
    int64_t elements =
        layout_is_none(&b->layout) ? buffer_elements(b) : layout_span(&b->layout, SPACE_OFF);
    return elements * dtype_bytes(b->dtype);
}

int64_t shared_bytes_of(const struct buffer *b, int slots) {
    if (b->ring > 0 || slots <= 1) return slot_bytes(b);
    return round_up(slot_bytes(b), shared_alignment(b)) * (slots - 1) + slot_bytes(b);
}

static void add_axis(struct buffer *b, int slots) {
    int alignment = shared_alignment(b);
    if (!layout_is_none(&b->layout)) {
        int64_t stride = round_up(slot_bytes(b), alignment) / dtype_bytes(b->dtype);
        struct digit d = {.radix = slots, .stride = (int32_t)stride, .space = SPACE_OFF};
        int order[LAYOUT_RANK] = {b->rank};
        for (int i = 0; i < b->rank; i++) order[i + 1] = i;
        b->layout = layout_append_axis(&b->layout, slots, d);
        b->layout = layout_permute(&b->layout, order);
    }
    for (int i = b->rank; i > 0; i--) b->extent[i] = b->extent[i - 1];
    b->extent[0] = slots;
    b->rank++;
    b->ring = slots;
}

/* -- Accesses ---------------------------------------------------------------------------------- */

struct slots {
    struct module *module;
    struct buffer *buffer;
    struct expr *slot;
    bool insert; /* there is no slot index yet */
};

static void put_index(const struct slots *r, struct expr **index, int count) {
    if (r->insert)
        for (int i = count; i > 0; i--) index[i] = index[i - 1];
    index[0] = r->slot;
}

static struct expr *change_load(struct expr *e, void *data) {
    const struct slots *r = data;
    struct expr *index[TILE_RANK];
    if (e->kind != EXPR_LOAD || e->buffer != r->buffer) return NULL;
    /* A rewritten load is not visited again, but the same node may be met twice. */
    for (int i = 0; i < e->count; i++) index[i] = e->args[i];
    put_index(r, index, e->count);
    return expr_load(r->module->exprs, e->buffer, e->count + r->insert, index);
}

static void change_expression(struct expr **e, void *data) {
    const struct slots *r = data;
    if (*e && expr_uses_buffer(*e, r->buffer))
        *e = expr_rewrite_where(r->module->exprs, *e, HOLDS_LOAD, change_load, data);
}

/* The region's extents are those before the axis was added. */
static void change_region(const struct slots *r, struct region *region, int32_t *axes,
                          int axis_count) {
    if (region->buffer != r->buffer) return;
    if (r->insert) {
        for (int i = r->buffer->rank - 1; i > 0; i--) region->extent[i] = region->extent[i - 1];
        region->extent[0] = 1;
        for (int i = 0; i < axis_count; i++) axes[i]++;
    }
    put_index(r, region->base, r->buffer->rank - 1);
}

static void change_stmt(struct stmt *s, void *data) {
    const struct slots *r = data;
    if (s->kind == STMT_COPY) {
        change_region(r, &s->copy.src, s->copy.src_axis, s->copy.domain.rank);
        change_region(r, &s->copy.dst, s->copy.dst_axis, s->copy.domain.rank);
    }
    if (s->kind == STMT_GEMM) {
        change_region(r, &s->gemm.a, NULL, 0);
        change_region(r, &s->gemm.b, NULL, 0);
        change_region(r, &s->gemm.c, NULL, 0);
    }
    if (s->kind == STMT_STORE && s->store.buffer == r->buffer) {
        put_index(r, s->store.index, s->store.count);
        s->store.count += r->insert;
    }
    if (s->kind == STMT_ATOMIC && s->atomic.buffer == r->buffer) {
        put_index(r, s->atomic.index, s->atomic.count);
        s->atomic.count += r->insert;
    }
    stmt_expressions(s, change_expression, data);
}

void ring_select(struct module *m, struct block *body, struct buffer *b, struct expr *slot) {
    struct slots r = {.module = m, .buffer = b, .slot = slot};
    block_walk(body, change_stmt, &r);
}

void ring_add(struct module *m, struct kernel *k, struct buffer *b, int slots) {
    struct slots r = {.module = m, .buffer = b, .slot = index_of(m, 0), .insert = true};
    add_axis(b, slots);
    block_walk(&k->body, change_stmt, &r);
}
