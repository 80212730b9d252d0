/* place.c: TILE to PLACED: the order of the steps. */
#include "layout/plan.h"

static void forget(struct kernel *k) {
    for (int i = 0; i < k->buffers.count; i++) k->buffers.at[i]->layout = layout_none();
}

static void place_kernel(struct module *m, struct function_ir *f, struct kernel *k) {
    struct plan p = {.m = m, .f = f, .k = k, .arena = m->arena, .warps = k->threads / 32};
    normalise(&p);
    if (diag_errors(m->diag)) return;
    forget(k);
    collect_sites(&p);
    solve(&p);
    convert(&p);
    collect_sites(&p);
    place_shared(&p);
}

void place(struct module *m) {
    for (int i = 0; i < m->functions.count; i++)
        for (int j = 0; j < m->functions.at[i]->kernels.count; j++)
            place_kernel(m, m->functions.at[i], m->functions.at[i]->kernels.at[j]);
    if (!diag_errors(m->diag)) m->level = LEVEL_PLACED;
}
