/* held.c: checks placed kernels by enumeration of threads and registers.
 *
 * Nothing of src/layout is used: for each thread and register of a domain the iteration is looked
 * up, and with it the element that each access touches; the thread must hold it, in a register
 * that does not depend on the thread, and a write must reach every copy. */
#include "held.h"
#include <stdlib.h>

struct holder { /* register of each element in each thread, -1 where it is not */
    int16_t *at;
    int64_t elements;
    int threads;
};

struct check {
    struct rig *r;
    const char *why;
    const struct domain *d;
    const struct stmt *s;
    struct holder *held; /* by buffer id */
};

static int64_t elements_of(const struct buffer *b) {
    int64_t n = 1;
    for (int k = 0; k < b->rank; k++) n *= b->extent[k];
    return n;
}

static int64_t number_of(const struct buffer *b, const int64_t *x) {
    int64_t n = 0;
    for (int k = 0; k < b->rank; k++) n = n * b->extent[k] + x[k];
    return n;
}

static void fail(struct check *c, const struct buffer *b, const char *what) {
    if (!c->why) c->why = arena_printf(c->r->arena, "'%s' %s", b->name->text, what);
}

static struct holder *holder_of(struct check *c, const struct buffer *b) {
    struct holder *h = &c->held[b->id];
    if (h->at) return h;
    h->elements = elements_of(b);
    h->threads = c->r->k->threads;
    h->at = malloc(sizeof(int16_t) * (size_t)(h->elements * h->threads));
    for (int64_t i = 0; i < h->elements * h->threads; i++) h->at[i] = -1;
    int64_t registers = layout_span(&b->layout, SPACE_REG);
    for (int t = 0; t < h->threads; t++)
        for (int64_t g = 0; g < registers; g++) {
            int64_t x[LAYOUT_RANK];
            struct place p = {.reg = g, .lane = t % 32, .warp = t / 32};
            if (!layout_coordinate(&b->layout, p, x)) continue;
            h->at[t * h->elements + number_of(b, x)] = (int16_t)g;
        }
    return h;
}

/* The value of an index expression that is a sum of axes and constants. */
static bool index_value(const struct domain *d, const struct expr *e, const int64_t *x,
                        int64_t *value) {
    struct affine f;
    if (!affine_of(e, &f)) return false;
    *value = f.constant;
    for (int i = 0; i < f.count; i++) {
        int axis = -1;
        for (int a = 0; a < d->rank; a++)
            if (f.atom[i]->kind == EXPR_VAR && f.atom[i]->var == d->axis[a]) axis = a;
        if (axis < 0) return false;
        *value += f.coefficient[i] * x[axis];
    }
    return true;
}

static void check_access(struct check *c, const struct buffer *b, struct expr *const *index,
                         bool write) {
    const struct domain *d = c->d;
    struct holder *h = holder_of(c, b);
    int64_t registers = layout_span(&d->layout, SPACE_REG);
    char *written = calloc((size_t)(h->elements * h->threads), 1);
    char *touched = calloc((size_t)h->elements, 1);
    for (int64_t g = 0; g < registers; g++) {
        int found = -1;
        for (int t = 0; t < h->threads; t++) {
            int64_t x[LAYOUT_RANK], at[TILE_RANK];
            struct place p = {.reg = g, .lane = t % 32, .warp = t / 32};
            if (!layout_coordinate(&d->layout, p, x)) continue;
            for (int k = 0; k < b->rank; k++)
                if (!index_value(d, index[k], x, &at[k])) fail(c, b, "has a strange index");
            if (c->why) break;
            int64_t n = number_of(b, at);
            int reg = h->at[t * h->elements + n];
            if (reg < 0) fail(c, b, "is not held where it is used");
            if (found >= 0 && reg != found) fail(c, b, "has a register that depends on the thread");
            found = reg;
            written[t * h->elements + n] = touched[n] = 1;
        }
    }
    for (int64_t i = 0; i < h->elements * h->threads && write && !c->why; i++)
        if (h->at[i] >= 0 && touched[i % h->elements] && !written[i])
            fail(c, b, "keeps an old copy");
    free(written);
    free(touched);
}

static void visit_access(const struct access *a, void *data) {
    struct check *c = data;
    if (a->buffer->scope != SCOPE_FRAGMENT || c->why) return;
    check_access(c, a->buffer, a->index, a->kind == ACCESS_WRITE);
}

static void check_map(struct check *c, struct stmt *s) {
    c->d = &s->map.domain;
    for (struct stmt *b = s->map.body.first; b; b = b->next)
        stmt_accesses(c->r->m, b, visit_access, c);
}

static void check_side(struct check *c, const struct region *r, const int32_t *axis, bool write) {
    struct expr *index[TILE_RANK];
    if (r->buffer->scope != SCOPE_FRAGMENT) return;
    for (int k = 0; k < r->buffer->rank; k++) index[k] = r->base[k];
    for (int a = 0; a < c->d->rank; a++)
        index[axis[a]] = expr_binary(c->r->m->exprs, FN_ADD, index[axis[a]],
                                     expr_var(c->r->m->exprs, c->d->axis[a]));
    check_access(c, r->buffer, index, write);
}

static void check_copy(struct check *c, struct stmt *s) {
    c->d = &s->copy.domain;
    check_side(c, &s->copy.src, s->copy.src_axis, false);
    check_side(c, &s->copy.dst, s->copy.dst_axis, true);
}

/* Whoever holds an element of a row holds its result, and the warp of a holder of a result holds
 * the row (of its part). */
static void check_reduce(struct check *c, const struct stmt *s) {
    const struct buffer *src = s->reduce.src.buffer, *dst = s->reduce.dst.buffer;
    struct holder *from = holder_of(c, src), *to = holder_of(c, dst);
    int parts = s->reduce.parts > 1 ? s->reduce.parts : 1;
    char *seen = calloc((size_t)(to->elements * (to->threads / 32)), sizeof(int));
    int *count = (int *)(void *)seen;
    int64_t inner = 1;
    for (int k = s->reduce.axis + 1; k < src->rank; k++) inner *= src->extent[k];
    int64_t length = src->extent[s->reduce.axis];
    for (int t = 0; t < from->threads; t++)
        for (int64_t e = 0; e < from->elements; e++) {
            if (from->at[t * from->elements + e] < 0) continue;
            int64_t j = e / inner % length;
            int64_t part = parts > 1 ? j / s->reduce.part_weight % parts : 0;
            int64_t n = (e / inner / length * parts + part) * inner + e % inner;
            if (to->at[t * to->elements + n] < 0) fail(c, dst, "lacks a result");
            bool first = true; /* of the lanes of the warp that hold the element */
            for (int u = t / 32 * 32; u < t; u++) first &= from->at[u * from->elements + e] < 0;
            if (first) count[t / 32 * to->elements + n]++;
        }
    for (int t = 0; t < to->threads && !c->why; t++)
        for (int64_t n = 0; n < to->elements; n++) {
            if (to->at[t * to->elements + n] < 0) continue;
            int64_t part = n / inner % parts, expected = 0;
            for (int64_t j = 0; j < length; j++)
                expected += parts == 1 || j / s->reduce.part_weight % parts == part;
            if (count[t / 32 * to->elements + n] != expected) fail(c, dst, "misses elements");
        }
    free(seen);
}

static void check_statement(struct stmt *s, void *data) {
    struct check *c = data;
    if (c->why) return;
    c->s = s;
    if (s->kind == STMT_MAP) check_map(c, s);
    if (s->kind == STMT_COPY) check_copy(c, s);
    if (s->kind == STMT_REDUCE) check_reduce(c, s);
}

const char *held_everywhere(struct rig *r) {
    struct check c = {.r = r};
    c.held = calloc((size_t)r->f->buffer_count + 1, sizeof *c.held);
    block_walk(&r->k->body, check_statement, &c);
    for (int i = 0; i <= r->f->buffer_count; i++) free(c.held[i].at);
    free(c.held);
    return c.why;
}
