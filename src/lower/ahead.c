/* ahead.c: a short serial loop whose fragments come from global memory reads them all at first.
 *
 * nvcc unrolls such a loop but does not move reads across the branches of its body (a division has
 * some), so each iteration would wait for memory. With one slot of registers an iteration the reads
 * stand in a loop of their own in front. A later loop that would read the same again takes the
 * registers of the first. */
#include "internal.h"

enum { AHEAD_REGISTERS = 64, AHEAD_COPIES = 4 };

static bool is_whole(const struct region *r) {
    int64_t base;
    int i;

    for (i = 0; i < r->buffer->rank; i++)
        if (!expr_is_int(r->base[i], &base) || base != 0 || r->extent[i] != r->buffer->extent[i])
            return false;
    return true;
}

/* -- what becomes of a value behind the loop
 * ------------------------------------------------------- */
enum fate { FATE_UNTOUCHED, FATE_OVERWRITTEN, FATE_READ };

struct search {
    struct module *m;
    const struct buffer *buffer;
    const struct stmt *loop;
    bool found;
};

static void look_in(struct expr **e, void *data) {
    struct search *s = data;

    if (*e && expr_uses_buffer(*e, s->buffer)) s->found = true;
}

static void look_at(const struct access *a, void *data) {
    struct search *s = data;

    if (buffers_meet(a->buffer, s->buffer)) s->found = true;
}

static enum fate fate_in(struct search *s, struct stmt *first);

/* What a loop or a branch overwrites it may as well leave alone. */
static enum fate fate_of_control(struct search *s, struct stmt *t) {
    enum fate then, otherwise;

    s->found = false;
    stmt_expressions(t, look_in, s);
    if (s->found) return FATE_READ;
    if (t->kind != STMT_IF)
        return fate_in(s, t->kind == STMT_FOR ? t->loop.body.first : t->repeat.body.first) ==
                       FATE_READ
                   ? FATE_READ
                   : FATE_UNTOUCHED;
    then = fate_in(s, t->branch.then.first);
    otherwise = fate_in(s, t->branch.otherwise.first);
    if (then == FATE_READ || otherwise == FATE_READ) return FATE_READ;
    return then == otherwise ? then : FATE_UNTOUCHED;
}

static enum fate fate_of(struct search *s, struct stmt *t) {
    if (t == s->loop) return FATE_OVERWRITTEN;
    if (t->kind == STMT_FOR || t->kind == STMT_WHILE || t->kind == STMT_IF)
        return fate_of_control(s, t);
    if (t->kind == STMT_COPY && t->copy.dst.buffer == s->buffer && is_whole(&t->copy.dst) &&
        t->copy.src.buffer->scope == SCOPE_GLOBAL && !t->copy.guard)
        return FATE_OVERWRITTEN;
    s->found = false;
    stmt_buffers(s->m, t, look_at, s);
    return s->found ? FATE_READ : FATE_UNTOUCHED;
}

static enum fate fate_in(struct search *s, struct stmt *first) {
    enum fate f = FATE_UNTOUCHED;

    for (; first && f == FATE_UNTOUCHED; first = first->next) f = fate_of(s, first);
    return f;
}

/* Is the value that the loop leaves read? False if the loop is not in the block. */
static bool fate_behind(struct search *s, struct block *b, enum fate *f) {
    struct stmt *t;

    for (t = b->first; t; t = t->next) {
        bool repeats = t->kind == STMT_FOR || t->kind == STMT_WHILE, inside;
        struct block *body = t->kind == STMT_FOR     ? &t->loop.body
                             : t->kind == STMT_WHILE ? &t->repeat.body
                                                     : &t->branch.then;

        if (t == s->loop) {
            *f = fate_in(s, t->next);
            return true;
        }
        if (!repeats && t->kind != STMT_IF) continue;
        inside = fate_behind(s, body, f) ||
                 (t->kind == STMT_IF && fate_behind(s, &t->branch.otherwise, f));
        if (!inside) continue;
        if (*f == FATE_UNTOUCHED && repeats && fate_of_control(s, t) == FATE_READ) *f = FATE_READ;
        if (*f == FATE_UNTOUCHED) *f = fate_in(s, t->next);
        return true;
    }
    return false;
}

static bool is_read_behind(struct search *s, struct block *b) {
    enum fate f = FATE_READ;

    fate_behind(s, b, &f);
    return f == FATE_READ;
}

/* -- the loop
 * ---------------------------------------------------------------------------------------- */
static bool is_known(const struct expr *e) {
    return !expr_has_load(e) && !expr_uses_kind(e, VAR_LET) && !expr_uses_kind(e, VAR_MUTABLE);
}

static bool is_candidate(struct lowering *l, struct stmt *loop, const struct stmt *t) {
    struct search held = {.m = l->m, .buffer = t->copy.dst.buffer, .loop = loop};
    int i;

    if (t->copy.src.buffer->scope != SCOPE_GLOBAL || t->copy.dst.buffer->scope != SCOPE_FRAGMENT ||
        t->copy.guard || !is_whole(&t->copy.dst))
        return false;
    for (i = 0; i < t->copy.src.buffer->rank; i++)
        if (!is_known(t->copy.src.base[i])) return false;
    return !block_writes(l->m, &loop->loop.body, t->copy.src.buffer) &&
           !is_read_behind(&held, &l->k->body);
}

/* How many of the first statements are such copies, within the registers there are. */
static int find_copies(struct lowering *l, struct stmt *loop, int64_t trips) {
    int64_t registers = 0;
    struct stmt *t;
    int count = 0;

    for (t = loop->loop.body.first; t && t->kind == STMT_COPY && count < AHEAD_COPIES;
         t = t->next) {
        if (!is_candidate(l, loop, t)) break;
        registers += trips * l->arrays[t->copy.dst.buffer->id]->count;
        if (registers > AHEAD_REGISTERS) break;
        count++;
    }
    return count;
}

static struct kblock *open_loop(struct lowering *l, const struct stmt *t) {
    struct kblock *saved = l->out;
    struct kstmt *k = add(l, K_FOR);

    k->loop.var = t->loop.var;
    k->loop.lo = t->loop.lo;
    k->loop.hi = t->loop.hi;
    k->loop.step = 1;
    l->out = &k->loop.body;
    return saved;
}

/* -- the same reads again
 * ----------------------------------------------------------------------------- */
/* Nothing but the copies changes the fragment, and nobody the tensor. */
static bool stays(struct lowering *l, struct stmt *loop, int copies, const struct buffer *fragment,
                  const struct buffer *read) {
    struct block rest = loop->loop.body;

    for (; copies > 0; copies--) rest.first = rest.first->next;
    return buffer_is_constant(read) && !block_writes(l->m, &rest, fragment);
}

static bool same_reads(struct lowering *l, const struct kept *k, const struct stmt *loop,
                       const struct stmt *t) {
    const struct stmt *c = k->copy;
    struct expr *var = expr_var(l->x, loop->loop.var);
    int i;

    if (c->copy.src.buffer != t->copy.src.buffer || c->copy.domain.rank != t->copy.domain.rank ||
        c->copy.dst.buffer->dtype != t->copy.dst.buffer->dtype ||
        !layout_equal(&c->copy.domain.layout, &t->copy.domain.layout) ||
        !layout_equal(&c->copy.dst.buffer->layout, &t->copy.dst.buffer->layout) ||
        k->loop->loop.lo != loop->loop.lo || k->loop->loop.hi != loop->loop.hi)
        return false;
    for (i = 0; i < t->copy.domain.rank; i++)
        if (c->copy.src_axis[i] != t->copy.src_axis[i] ||
            c->copy.dst_axis[i] != t->copy.dst_axis[i])
            return false;
    for (i = 0; i < t->copy.src.buffer->rank; i++)
        if (c->copy.src.extent[i] != t->copy.src.extent[i] ||
            expr_substitute(l->x, c->copy.src.base[i], 1, (struct var *[]){k->loop->loop.var},
                            &var) != t->copy.src.base[i])
            return false;
    return true;
}

static struct array *find_kept(struct lowering *l, const struct stmt *loop, const struct stmt *t) {
    int i;

    for (i = 0; i < l->kept.count; i++)
        if (same_reads(l, &l->kept.at[i], loop, t)) return l->kept.at[i].array;
    return NULL;
}

static bool all_kept(struct lowering *l, const struct stmt *loop, int count) {
    const struct stmt *t = loop->loop.body.first;

    for (; count > 0; count--, t = t->next)
        if (!find_kept(l, loop, t)) return false;
    return true;
}

static void use_array(struct lowering *l, struct stmt *loop, struct stmt *t, struct array *a) {
    struct expr *at = expr_binary(l->x, FN_SUB, expr_var(l->x, loop->loop.var), loop->loop.lo);
    int32_t each = l->arrays[t->copy.dst.buffer->id]->count;

    l->ahead[t->copy.dst.buffer->id].base = times(l, at, each);
    l->ahead[t->copy.dst.buffer->id].array = a;
}

static void make_slots(struct lowering *l, struct stmt *loop, int count, int64_t trips) {
    struct stmt *t = loop->loop.body.first;
    struct array *a, *slots;
    int i;

    for (i = 0; i < count; i++, t = t->next) {
        a = l->arrays[t->copy.dst.buffer->id];
        slots = add_array(l, arena_printf(l->m->arena, "%s_ahead", a->name->text), a->dtype,
                          a->element, a->count * (int32_t)trips);
        use_array(l, loop, t, slots);
        if (l->out == &l->code->body &&
            stays(l, loop, count, t->copy.dst.buffer, t->copy.src.buffer))
            vec_push(l->m->arena, &l->kept, ((struct kept){loop, t, slots}));
    }
}

/* -- a variable of its own for the loop that reads
 * ---------------------------------------------------- */
struct renaming {
    struct exprs *x;
    struct var *from;
    struct expr *to;
};

static void rename_expression(struct expr **e, void *data) {
    struct renaming *r = data;

    if (*e) *e = expr_substitute(r->x, *e, 1, &r->from, &r->to);
}

static void rename_statement(struct kstmt *s, void *data) {
    kstmt_expressions(s, rename_expression, data);
}

static void rename_loop(struct lowering *l, struct kstmt *loop) {
    struct var *old = loop->loop.var, *v = var_like(l->x, old);
    struct renaming r = {l->x, old, NULL};

    v->unrolled = true;
    r.to = expr_var(l->x, v);
    loop->loop.var = v;
    kblock_walk(&loop->loop.body, rename_statement, &r);
}

static void read_ahead(struct lowering *l, struct stmt *loop, int count, int64_t trips) {
    struct block first = loop->loop.body;
    struct kblock *saved;
    struct stmt *t = first.first, *rest;
    int i;

    if (all_kept(l, loop, count)) {
        for (i = 0; i < count; i++, t = t->next) use_array(l, loop, t, find_kept(l, loop, t));
        return;
    }
    make_slots(l, loop, count, trips);
    for (i = 1; i < count; i++) t = t->next;
    first.last = t;
    rest = t->next;
    t->next = NULL;
    saved = open_loop(l, loop);
    lower_block(l, &first);
    t->next = rest;
    l->out = saved;
    rename_loop(l, saved->last);
}

bool lower_ahead(struct lowering *l, struct stmt *loop) {
    struct block rest = loop->loop.body;
    struct kblock *saved;
    struct stmt *t;
    int64_t lo, hi;
    int count, i;

    if (!expr_is_int(loop->loop.lo, &lo) || !expr_is_int(loop->loop.hi, &hi) || hi <= lo)
        return false;
    count = find_copies(l, loop, hi - lo);
    if (count == 0) return false;
    loop_set_unrolled(l->m, loop, true);
    read_ahead(l, loop, count, hi - lo);
    for (i = 0; i < count; i++) rest.first = rest.first->next;
    if (rest.first) {
        saved = open_loop(l, loop);
        lower_block(l, &rest);
        l->out = saved;
    }
    for (i = 0, t = loop->loop.body.first; i < count; i++, t = t->next)
        l->ahead[t->copy.dst.buffer->id].array = NULL;
    return true;
}
