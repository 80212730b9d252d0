/* registers.c: how many registers a thread needs, as the schedule's decisions estimate it. */
#include "internal.h"

int fragment_registers(const struct buffer *b) {
    if (b->scope == SCOPE_LOCAL) return (int)((buffer_elements(b) * dtype_bytes(b->dtype) + 3) / 4);
    if (b->scope != SCOPE_FRAGMENT || layout_is_none(&b->layout)) return 0;
    return (int)((layout_span(&b->layout, SPACE_REG) * dtype_bytes(b->dtype) + 3) / 4);
}

/* A register array that dies within an elementwise statement hands its registers over one by one,
 * so only what lives through `at` counts. */
int live_registers(struct module *m, struct kernel *k, const struct stmt *at) {
    struct arena *scratch = arena_new();
    struct outline o = outline_of(scratch, k);
    struct lifetime *life = lifetimes_of(m, scratch, &o, k);
    int node = 0, sum = 0;
    for (int i = 0; i < o.nodes.count; i++)
        if (o.nodes.at[i].stmt == at) node = i;
    for (int i = 0; i < k->buffers.count; i++)
        if (life[i].begin <= node && node <= life[i].end)
            sum += fragment_registers(k->buffers.at[i]);
    arena_free(scratch);
    return sum;
}
