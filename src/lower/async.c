/* async.c: COPY from global to shared memory by cp.async.
 *
 * Bounds cost no branch: what lies outside the tensor is zero-filled by a smaller source size, so
 * that the loop around stays one basic block; the address is then that of the tensor itself. */
#include "internal.h"

struct async {
    struct group group;
    struct stmt *store;
    struct expr *guard; /* of the COPY */
    bool fits;
};

/* The run of elements [e, e + width) lies along this axis of the source; -1: none or several. */
static int run_axis(const struct buffer *b, const struct place_at *p) {
    int i, axis = -1;

    for (i = 0; i < b->rank; i++) {
        if (p[1].index[i] == p[0].index[i]) continue;
        if (axis >= 0) return -1;
        axis = i;
    }
    return axis;
}

/* Bytes to read of a run that may end outside: those below the limit of its axis. */
static struct expr *clamped(struct lowering *l, const struct buffer *b, struct expr *index,
                            int axis, int32_t bytes) {
    struct expr *left = expr_binary(l->x, FN_SUB, b->dim[axis], index);

    left = times(l, left, dtype_bytes(b->dtype));
    left = expr_binary(l->x, FN_MIN, left, ix(l, bytes));
    return expr_binary(l->x, FN_MAX, left, ix(l, 0));
}

/* How many bytes are read, and from where; false if the run begins before the tensor. */
static bool source_of(struct lowering *l, const struct buffer *b, const struct place_at *p,
                      int32_t width, struct kstmt *s) {
    int32_t bytes = width * dtype_bytes(b->dtype);
    int axis = width > 1 ? run_axis(b, p) : -1, i;
    struct expr *test = NULL, *size = ix(l, bytes);

    if (width > 1 && axis < 0) return false;
    for (i = 0; i < b->rank; i++) {
        if (i == axis && !tests_cover(b, p, width)) {
            if (p->index[i]->lo < 0) return false;
            size = clamped(l, b, p->index[i], i, bytes);
            test = both(l, test, expr_binary(l->x, FN_LT, p->index[i], b->dim[i]));
        } else {
            test = both(l, test, p->test[i]);
        }
    }
    s->cp_async.from = address_at(l, (struct buffer *)b, p->offset, bytes);
    if (!test) return true;
    s->cp_async.source_bytes = expr_select(l->x, test, size, ix(l, 0));
    s->cp_async.from.index = expr_select(l->x, test, p->offset, ix(l, 0));
    return true;
}

static void copy_runs(struct lowering *l, struct plan *p, void *data) {
    struct async *a = data;
    struct expr *load = a->store->store.value, *guard;
    struct vector to, from;
    struct kstmt *s;
    int32_t e, width, bytes = dtype_bytes(load->buffer->dtype);

    for (e = 0; e < p->vector; e++) a->group.env[e] = plan_env(l, p, e);
    to = vector_of(l, &a->group, a->store->store.buffer, a->store->store.index);
    from = vector_of(l, &a->group, load->buffer, load->args);
    width = to.width < from.width ? to.width : from.width;
    a->fits &= width * bytes >= 4 && !to.broadcast;
    guard = both(l, a->guard, both(l, p->owner, p->inside));
    for (e = 0; e < p->vector && a->fits; e += width) {
        s = kstmt_new(l->m, K_CP_ASYNC, l->span);
        s->cp_async.bytes = width * bytes;
        s->cp_async.guard = guard;
        s->cp_async.to = address_at(l, to.buffer, to.at[e].offset, width * bytes);
        a->fits &= source_of(l, load->buffer, &from.at[e], width, s);
        kblock_append(l->out, s);
    }
}

/* False, with nothing emitted, where an instruction would not fit. */
bool copy_async(struct lowering *l, struct stmt *t) {
    struct site s = {.env = l->env};
    struct kblock *saved = l->out, scratch = {NULL, NULL};
    struct async a = {.fits = true};
    int32_t bytes = dtype_bytes(t->copy.src.buffer->dtype), *widest, i;
    struct function_ir *f = l->k->function;
    struct plan p;

    if (t->copy.src.buffer->scope != SCOPE_GLOBAL || t->copy.dst.buffer->scope != SCOPE_SHARED ||
        t->copy.src.buffer->dtype != t->copy.dst.buffer->dtype || t->copy.src.buffer->safe_value ||
        !module_has(l->m, FEATURE_CP_ASYNC))
        return false;
    widest = arena_array(l->m->arena, int32_t, f->buffer_count + 1);
    for (i = 0; i < f->buffer_count; i++) widest[i] = l->code->alignment[i];
    a.store = copy_store(l, t);
    plan_make(l, &p, &t->copy.domain, 16 / bytes);
    a.group = (struct group){.plan = &p, .count = p.vector, .partial = true};
    l->out = &scratch;
    if (t->copy.guard) a.guard = value_lower(l, &s, t->copy.guard);
    nest_run(l, &(struct nest){&p, 0, p.loops, copy_runs, &a});
    l->out = saved;
    if (!a.fits) {
        memcpy(l->code->alignment, widest, sizeof *widest * (size_t)f->buffer_count);
        return false;
    }
    if (!scratch.first) return true;
    if (l->out->last)
        l->out->last->next = scratch.first;
    else
        l->out->first = scratch.first;
    l->out->last = scratch.last;
    return true;
}
