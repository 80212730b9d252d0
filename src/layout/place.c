/* place.c: TILE to PLACED: the order of the steps. */
#include "layout/plan.h"

enum { REGISTERS = 255, REGISTERS_REFUSED = 2048 };

static void forget(struct kernel *k) {
    for (int i = 0; i < k->buffers.count; i++) k->buffers.at[i]->layout = layout_none();
}

/* What would do instead: enough threads for 128 registers each, if there are so many. */
static const char *advice(struct plan *p, int64_t registers) {
    int64_t threads = (registers * p->k->threads / 128 + 127) / 128 * 128;
    if (threads > 1024) return "a smaller tile would do";
    return arena_printf(p->arena, "%lld threads or a smaller tile would do", (long long)threads);
}

/* What is far beyond the registers of a thread cannot even be spilled sensibly. */
static bool check_registers(struct plan *p) {
    bool fits = true;
    for (int i = 0; i < p->k->buffers.count; i++) {
        const struct buffer *b = p->k->buffers.at[i];
        if (b->scope != SCOPE_FRAGMENT) continue;
        int64_t need = layout_span(&b->layout, SPACE_REG) * dtype_bytes(b->dtype) / 4;
        if (need <= REGISTERS) continue;
        fits &= need <= REGISTERS_REFUSED;
        diag_report(
            p->m->diag, b->span, need > REGISTERS_REFUSED ? E0502 : W_PERF_REGISTERS,
            "the fragment '%s' takes %lld registers of each of %d threads; a thread has %d: "
            "%s",
            b->name->text, (long long)need, p->k->threads, REGISTERS, advice(p, need));
    }
    return fits;
}

static void place_kernel(struct module *m, struct function_ir *f, struct kernel *k) {
    struct plan p = {.m = m, .f = f, .k = k, .arena = m->arena, .warps = k->threads / 32};
    int errors = diag_errors(m->diag); /* another architecture may have had some */
    normalise(&p);
    if (diag_errors(m->diag) > errors) return;
    defer(&p);
    forget(k);
    collect_sites(&p);
    solve(&p);
    if (!check_registers(&p)) return;
    convert(&p);
    collect_sites(&p);
    place_shared(&p);
}

void place(struct module *m) {
    int errors = diag_errors(m->diag);
    for (int i = 0; i < m->functions.count; i++)
        for (int j = 0; j < m->functions.at[i]->kernels.count; j++)
            place_kernel(m, m->functions.at[i], m->functions.at[i]->kernels.at[j]);
    if (diag_errors(m->diag) == errors) m->level = LEVEL_PLACED;
}
