/* part.c: a turn of an unrolled loop as a function of its own: which registers go in and out.
 *
 * The body may only compute and store to tensors: variables and registers of its own, registers of
 * the kernel and branches. Of each array of the kernel it must touch a few elements at constant
 * distances, the same ones relative to the turn; what else it uses are scalars that it does not
 * change. Those that differ from turn to turn (where it stores, say) are variables set at its
 * beginning, from the loops' variables: the caller sets them. */
#include "ir/kernel.h"

struct finder {
    struct exprs *x;
    struct part *part;
    int depth; /* of branches */
    bool fits;
    VEC(struct var *) own; /* declared in the body */
    VEC(struct array *) own_arrays;
    struct arena *arena;
};

/* A rough number of instructions. */
static int32_t cost_of(enum function fn) {
    if (fn == FN_LOG || fn == FN_LOG2 || fn == FN_LOG10 || fn == FN_LOG1P) return 24;
    if (fn >= FN_SQRT && fn <= FN_NEXTAFTER) return 10;
    if (fn == FN_DIV || fn == FN_DIVIDE_BY || fn == FN_DIVIDE) return 8;
    return fn == FN_QUOTIENT_BY || fn == FN_NEAR_RECIPROCAL ? 3 : 1;
}

static bool is_turn_index(const struct affine *a) {
    for (int i = 0; i < a->count; i++)
        if (a->atom[i]->kind != EXPR_VAR || !a->atom[i]->var->unrolled) return false;
    return true;
}

static struct part_window *window_of(struct part *p, struct array *a) {
    for (int i = 0; i < p->windows; i++)
        if (p->window[i].array == a) return &p->window[i];
    return NULL;
}

/* The place of an offset in a window, which stays in order; -1: no room. */
static int place_of(struct part_window *w, int64_t offset) {
    int at = 0;
    while (at < w->count && w->offset[at] < offset) at++;
    if (at < w->count && w->offset[at] == offset) return at;
    if (w->count == PART_ELEMENTS) return -1;
    for (int i = w->count++; i > at; i--) {
        w->offset[i] = w->offset[i - 1];
        w->in[i] = w->in[i - 1];
        w->out[i] = w->out[i - 1];
        w->set[i] = w->set[i - 1];
    }
    w->offset[at] = offset;
    w->in[at] = w->out[at] = w->set[at] = false;
    return at;
}

static bool is_own_array(const struct finder *f, const struct array *a) {
    for (int i = 0; i < f->own_arrays.count; i++)
        if (f->own_arrays.at[i] == a) return true;
    return false;
}

static void note_element(struct finder *f, struct array *array, const struct expr *index,
                         bool put) {
    struct part *p = f->part;
    int64_t known;
    if (is_own_array(f, array)) {
        f->fits &= expr_is_int(index, &known);
        return;
    }
    struct part_window *w = window_of(p, array);
    struct affine a;
    if (!affine_of(index, &a) || !is_turn_index(&a) || (!w && p->windows == PART_WINDOWS)) {
        f->fits = false;
        return;
    }
    int64_t offset = a.constant;
    a.constant = 0;
    struct expr *base = affine_expr(f->x, &a);
    if (!w) {
        w = &p->window[p->windows++];
        *w = (struct part_window){.array = array, .base = base};
    }
    int at = w->base == base ? place_of(w, offset) : -1;
    if (at < 0) {
        f->fits = false;
    } else if (put) {
        w->in[at] |= f->depth > 0 && !w->set[at];
        w->out[at] = true;
        w->set[at] |= f->depth == 0;
    } else {
        w->in[at] |= !w->set[at];
    }
}

static void note_variable(struct finder *f, struct var *v) {
    struct part *p = f->part;
    for (int i = 0; i < f->own.count; i++)
        if (f->own.at[i] == v) return;
    for (int i = 0; i < p->scalars; i++)
        if (p->scalar[i] == v) return;
    if (v->kind == VAR_LOOP || p->scalars == PART_SCALARS)
        f->fits = false;
    else
        p->scalar[p->scalars++] = v;
}

static void find_in(struct finder *f, struct expr *e) {
    bool lanes =
        e->kind == EXPR_OP && (e->fn == FN_SHUFFLE || e->fn == FN_SHUFFLE_XOR || e->fn == FN_ANY);
    f->fits &= e->kind != EXPR_LOAD && !lanes;
    if (e->kind == EXPR_ELEMENT) {
        note_element(f, e->array, e->args[0], false);
        return;
    }
    if (e->kind == EXPR_VAR) note_variable(f, e->var);
    if (e->kind == EXPR_OP) f->part->cost += cost_of(e->fn);
    for (int i = 0; i < e->count; i++) find_in(f, e->args[i]);
}

static bool is_own(const struct finder *f, const struct var *v) {
    for (int i = 0; i < f->own.count; i++)
        if (f->own.at[i] == v) return true;
    return false;
}

static void find_store(struct finder *f, struct kstmt *s) {
    struct part *p = f->part;
    struct buffer *b = s->memory.address.buffer;
    int known = 0;
    while (known < p->tensors && p->tensor[known] != b) known++;
    if (b->scope != SCOPE_GLOBAL || known == PART_TENSORS) {
        f->fits = false;
        return;
    }
    if (known == p->tensors) p->tensor[p->tensors++] = b;
    p->cost++;
    find_in(f, s->memory.address.index);
    if (s->memory.value) find_in(f, s->memory.value);
    struct operand *o = &s->memory.data;
    for (int i = 0; o->array && i < kstmt_registers(s); i++)
        note_element(f, o->array, expr_binary(f->x, FN_ADD, o->index, expr_index(f->x, i)), false);
}

static void find_block(struct finder *f, struct kstmt *first) {
    for (struct kstmt *s = first; s && f->fits; s = s->next) {
        switch (s->kind) {
        case K_VAR:
        case K_SET:
            if (s->set.value) find_in(f, s->set.value);
            if (s->kind == K_VAR) vec_push(f->arena, &f->own, s->set.var);
            f->fits &= is_own(f, s->set.var);
            break;
        case K_PUT:
            find_in(f, s->put.value);
            note_element(f, s->put.to.array, s->put.to.index, true);
            break;
        case K_IF:
            find_in(f, s->branch.test);
            f->depth++;
            find_block(f, s->branch.then.first);
            find_block(f, s->branch.otherwise.first);
            f->depth--;
            break;
        case K_ARRAY: vec_push(f->arena, &f->own_arrays, s->array); break;
        case K_STORE: find_store(f, s); break;
        case K_COMMENT: break;
        default: f->fits = false;
        }
    }
}

/* A value that differs from turn to turn and needs no register. */
static bool is_callers(const struct kstmt *s) {
    const struct expr *e = s->set.value;
    return s->kind == K_VAR && e && s->set.var->kind == VAR_LET && expr_uses_kind(e, VAR_LOOP) &&
           !(e->holds & (HOLDS_ELEMENT | HOLDS_LOAD));
}

bool part_find(struct module *m, struct kstmt *loop, struct part *out) {
    struct finder f = {.x = m->exprs, .part = out, .fits = true, .arena = m->arena};
    *out = (struct part){.windows = 0};
    out->first = loop->loop.body.first;
    while (out->first && is_callers(out->first)) out->first = out->first->next;
    find_block(&f, out->first);
    return f.fits && out->windows > 0;
}
