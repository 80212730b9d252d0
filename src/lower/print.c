/* print.c: T.print of a value, or of a buffer element by element by those who hold them. */
#include "internal.h"

static void print_one(struct lowering *l, const char *message, struct expr *value,
                      struct expr *test) {
    struct kstmt *s = add(l, K_PRINT);

    s->print.message = message;
    s->print.value = value;
    s->print.test = test;
}

struct printed {
    struct stmt *t;
    struct expr *load;
};

static void print_element(struct lowering *l, struct plan *p, void *data) {
    struct printed *d = data;
    struct site s = {.plan = p, .element = 0, .env = plan_env(l, p, 0)};

    print_one(l, d->t->print.message, value_lower(l, &s, d->load), both(l, p->owner, p->inside));
}

/* A buffer that every thread can read is printed by the first. */
static struct layout print_layout(struct lowering *l, const struct buffer *b) {
    struct layout y;
    int i;

    if (b->scope == SCOPE_FRAGMENT) return b->layout;
    y = layout_replicated(b->rank, b->extent, l->k->threads / 32);
    for (i = 0; i < b->rank && b->scope == SCOPE_LOCAL; i++) y.reps = 0;
    return y;
}

static void print_buffer(struct lowering *l, struct stmt *t) {
    struct buffer *b = t->print.buffer;
    struct domain d = {.rank = b->rank, .layout = print_layout(l, b)};
    struct printed data = {t, NULL};
    struct expr *index[TILE_RANK];
    struct plan p;
    int i;

    for (i = 0; i < b->rank; i++) {
        d.extent[i] = b->extent[i];
        d.axis[i] = var_new(l->x, VAR_AXIS, intern_text(l->m->names, "x"), DTYPE_INDEX, t->span);
        d.axis[i]->lo = 0;
        d.axis[i]->hi = b->extent[i] - 1;
        d.axis[i]->divisor = 1;
        index[i] = expr_var(l->x, d.axis[i]);
    }
    data.load = expr_load(l->x, b, b->rank, index);
    plan_make(l, &p, &d, 1);
    for (i = 0; i < p.loops; i++)
        p.loop[i].expanded = b->scope == SCOPE_FRAGMENT && dtype_bits(b->dtype) < 32;
    nest_run(l, &(struct nest){&p, 0, p.loops, print_element, &data});
}

void lower_print(struct lowering *l, struct site *s, struct stmt *t) {
    if (t->print.buffer && t->print.buffer->scope != SCOPE_GLOBAL)
        print_buffer(l, t);
    else if (t->print.value)
        print_one(l, t->print.message, value_lower(l, s, t->print.value),
                  s->plan ? s->plan->owner : NULL);
    else
        print_one(l, t->print.message, NULL, s->plan ? s->plan->owner : NULL);
}
