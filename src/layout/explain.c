/* explain.c: remarks on the layouts, for --explain=layout. */
#include "layout/plan.h"

static const char *layout_words(struct plan *p, const struct layout *l) {
    struct text t = text_new(p->arena);
    layout_print(&t, l);
    return t.at;
}

static const char *shape_words(struct plan *p, const struct buffer *b) {
    struct text t = text_new(p->arena);
    for (int k = 0; k < b->rank; k++) text_printf(&t, "%s%d", k ? "x" : "", b->extent[k]);
    return t.at;
}

void explain_fragment(struct plan *p, const struct buffer *b, const char *why) {
    if (p->trying) return;
    diag_remark(p->m->diag, b->span, "layout", "'%s' %s %s: %s", b->name->text, shape_words(p, b),
                why, layout_words(p, &b->layout));
}

void explain_choice(struct plan *p, const struct buffer *b, const struct layout *second,
                    const double *cost) {
    if (layout_is_none(second)) {
        diag_remark(p->m->diag, b->span, "layout", "'%s' %s: %s, the only candidate", b->name->text,
                    shape_words(p, b), layout_words(p, &b->layout));
        return;
    }
    diag_remark(p->m->diag, b->span, "layout", "'%s' %s: %s, cost %.0f; next best %s, cost %.0f",
                b->name->text, shape_words(p, b), layout_words(p, &b->layout), cost[0],
                layout_words(p, second), cost[1]);
}
