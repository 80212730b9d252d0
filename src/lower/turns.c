/* turns.c: the turns of an epilogue that are functions also store what they compute.
 *
 * An epilogue computes registers in one loop and stores them in a later one. Each turn of the
 * second reads what one turn of the first has put; where every turn of the first is read by as
 * many, and the variables of the second are sums of multiples of those of the first (or of their
 * digits), the stores move into the first. The registers then end with the turn: it puts into
 * registers of its own. Nothing between the loops may notice that the stores come earlier. */
#include "turns.h"

/* -- Nests
 * ---------------------------------------------------------------------------------------- */
static bool unrolls_from_zero(const struct kstmt *s, int64_t *count) {
    int64_t lo;
    return s->kind == K_FOR && s->loop.unroll == 0 && s->loop.step == 1 && s->loop.var->unrolled &&
           expr_is_int(s->loop.lo, &lo) && lo == 0 && expr_is_int(s->loop.hi, count) && *count > 0;
}

/* What a loop's body is around: `values` may stand in front of it, otherwise tests around it. */
static struct kstmt *inner_of(struct rolled *n, struct kstmt *loop, bool values) {
    struct kstmt *s = loop->loop.body.first;
    int64_t unused;
    int tests = n->tests;
    while (values && s && s->kind == K_VAR && s->next) s = s->next;
    while (!values && s && !s->next && s->kind == K_IF && !s->branch.otherwise.first &&
           tests < DEPTH) {
        n->test[tests++] = s->branch.test;
        s = s->branch.then.first;
    }
    if (!s || s->next || !unrolls_from_zero(s, &unused)) return NULL;
    n->tests = tests;
    return s;
}

static bool nest_find(struct kstmt *s, struct rolled *n, bool values) {
    int64_t count;
    *n = (struct rolled){.turns = 1};
    for (; s; s = inner_of(n, s, values)) {
        if (n->depth == DEPTH || !unrolls_from_zero(s, &count) || n->turns * count > TURNS)
            return false;
        n->loop[n->depth] = s;
        n->extent[n->depth++] = count;
        n->turns *= count;
    }
    return n->depth > 0;
}

static int level_of(const struct rolled *n, const struct expr *e) {
    for (int i = 0; i < n->depth; i++)
        if (e->kind == EXPR_VAR && e->var == n->loop[i]->loop.var) return i;
    return -1;
}

bool linear_of(const struct rolled *n, const struct expr *e, struct linear *out) {
    struct affine a;
    if (!affine_of(e, &a)) return false;
    *out = (struct linear){.constant = a.constant};
    for (int i = 0; i < a.count; i++) {
        int level = level_of(n, a.atom[i]);
        if (level < 0) return false;
        out->factor[level] = a.coefficient[i];
    }
    return true;
}

static int64_t coordinate(const struct rolled *n, int64_t turn, int level) {
    for (int i = n->depth - 1; i > level; i--) turn /= n->extent[i];
    return turn % n->extent[level];
}

int64_t value_at(const struct rolled *n, const struct linear *l, int64_t turn) {
    int64_t sum = l->constant;
    for (int i = 0; i < n->depth; i++) sum += l->factor[i] * coordinate(n, turn, i);
    return sum;
}

/* -- The first loop: which turn puts which register
 * --------------------------------------------------------------------------------- */
static bool find_owners(struct turns *t) {
    struct part *p = &t->part;
    for (int i = 0; i < p->windows; i++)
        for (int j = 0; j < p->window[i].count; j++) {
            if (!p->window[i].out[j]) continue;
            if (!p->window[i].set[j] || (t->window && t->window != &p->window[i])) return false;
            t->window = &p->window[i];
        }
    const struct part_window *w = t->window;
    if (!w || !linear_of(&t->nest, w->base, &t->base)) return false;
    t->owner = arena_array(t->m->arena, int32_t, w->array->count);
    for (int i = 0; i < w->array->count; i++) t->owner[i] = -1;
    for (int64_t turn = 0; turn < t->nest.turns; turn++)
        for (int j = 0; j < w->count; j++) {
            int64_t at = value_at(&t->nest, &t->base, turn) + w->offset[j];
            if (at < 0 || at >= w->array->count) return false;
            if (!w->out[j]) continue;
            if (t->owner[at] >= 0) return false;
            t->owner[at] = (int32_t)turn;
        }
    for (int64_t turn = 0; turn < t->nest.turns; turn++) /* no turn reads what another has put */
        for (int j = 0; j < w->count; j++) {
            int32_t owner = t->owner[value_at(&t->nest, &t->base, turn) + w->offset[j]];
            if (owner >= 0 && owner != turn) return false;
        }
    return true;
}

/* -- The loops that store
 * ----------------------------------------------------------------------------------- */
static bool has_var(struct var *const *at, int count, const struct var *v) {
    for (int i = 0; i < count; i++)
        if (at[i] == v) return true;
    return false;
}

static bool is_lasting(const struct expr *e) {
    unsigned bad = 1u << VAR_LOOP | 1u << VAR_LET | 1u << VAR_MUTABLE | 1u << VAR_AXIS;
    return !(e->uses_kinds & bad) && !(e->holds & (HOLDS_ELEMENT | HOLDS_LOAD));
}

static bool is_own_array(const struct reads *r, const struct array *a) {
    for (int i = 0; i < r->own.count; i++)
        if (r->own.at[i] == a) return true;
    return false;
}

static bool note_register(struct turns *t, struct reads *r, const struct array *a,
                          const struct expr *index) {
    struct linear l;
    if (is_own_array(r, a)) return true;
    if (a != t->window->array || !linear_of(&r->nest, index, &l)) return false;
    vec_push(t->m->arena, &r->of, l);
    return true;
}

static bool storing_expr(struct turns *t, struct reads *r, const struct expr *e) {
    if (e->kind == EXPR_LOAD || (e->kind == EXPR_OP && e->fn == FN_ANY)) return false;
    if (e->kind == EXPR_ELEMENT) return note_register(t, r, e->array, e->args[0]);
    if (e->kind == EXPR_VAR && !has_var(r->own_vars.at, r->own_vars.count, e->var)) {
        if (e->var->kind == VAR_MUTABLE) return false;
        if (e->var->kind == VAR_LOOP) return level_of(&r->nest, e) >= 0;
        if (!has_var(t->between.at, t->between.count, e->var)) return true;
        for (int i = 0; i < t->moved.count; i++)
            if (t->moved.at[i]->set.var == e->var) return true;
        return false;
    }
    for (int i = 0; i < e->count; i++)
        if (!storing_expr(t, r, e->args[i])) return false;
    return true;
}

/* The same in all turns? */
static bool is_fixed(const struct reads *r, const struct expr *e) {
    if (e->kind == EXPR_VAR)
        return e->var->kind != VAR_LOOP && !has_var(r->own_vars.at, r->own_vars.count, e->var);
    if (e->kind == EXPR_ELEMENT) return false;
    for (int i = 0; i < e->count; i++)
        if (!is_fixed(r, e->args[i])) return false;
    return true;
}

static bool note_place(struct turns *t, struct reads *r, const struct kstmt *s) {
    struct stored p = {.buffer = s->memory.address.buffer, .index = s->memory.address.index};
    struct affine a;
    if (p.buffer->scope != SCOPE_GLOBAL || !affine_of(p.index, &a)) return false;
    p.width = s->memory.bytes / dtype_bytes(s->memory.memory);
    p.linear.constant = a.constant;
    for (int i = 0; i < a.count; i++) {
        int level = level_of(&r->nest, a.atom[i]);
        if (level >= 0)
            p.linear.factor[level] = a.coefficient[i];
        else if (!is_fixed(r, a.atom[i]))
            return false;
    }
    for (int i = 0; i < t->met.count; i++)
        if (buffers_meet(t->met.at[i], p.buffer)) return false;
    vec_push(t->m->arena, &r->to, p);
    return true;
}

/* Two turns must not write one place: their order may change. */
static bool are_apart(struct turns *t, const struct reads *r, const struct stored *p,
                      const struct stored *q) {
    struct affine gap;
    int64_t turns = r->nest.turns;
    if (!buffers_meet(p->buffer, q->buffer)) return true;
    if (p->buffer != q->buffer) return false;
    if (!affine_of(expr_binary(t->m->exprs, FN_SUB, p->index, q->index), &gap)) return false;
    for (int i = 0; i < gap.count; i++)
        if (level_of(&r->nest, gap.atom[i]) < 0) return false;
    for (int64_t i = 0; i < turns; i++)
        for (int64_t j = 0; j < turns; j++) {
            int64_t d = p->at[i] - q->at[j];
            if (i != j && d < q->width && d > -p->width) return false;
        }
    return true;
}

static bool all_apart(struct turns *t, const struct reads *r) {
    int64_t turns = r->nest.turns;
    if (turns * r->to.count > WRITES) return false;
    for (int i = 0; i < r->to.count; i++) {
        struct stored *p = &r->to.at[i];
        p->at = arena_array(t->m->arena, int64_t, (int32_t)turns);
        for (int64_t k = 0; k < turns; k++) p->at[k] = value_at(&r->nest, &p->linear, k);
    }
    for (int i = 0; i < r->to.count; i++)
        for (int j = 0; j <= i; j++)
            if (!are_apart(t, r, &r->to.at[i], &r->to.at[j])) return false;
    return true;
}

static bool storing_block(struct turns *t, struct reads *r, struct kblock *b);

static bool storing(struct turns *t, struct reads *r, struct kstmt *s) {
    struct arena *arena = t->m->arena;
    switch (s->kind) {
    case K_COMMENT: return true;
    case K_ARRAY: vec_push(arena, &r->own, s->array); return true;
    case K_VAR:
        if (s->set.value && !storing_expr(t, r, s->set.value)) return false;
        vec_push(arena, &r->own_vars, s->set.var);
        return true;
    case K_PUT:
        return is_own_array(r, s->put.to.array) && storing_expr(t, r, s->put.to.index) &&
               storing_expr(t, r, s->put.value);
    case K_IF:
        return storing_expr(t, r, s->branch.test) && storing_block(t, r, &s->branch.then) &&
               storing_block(t, r, &s->branch.otherwise);
    case K_STORE: {
        struct operand *o = &s->memory.data;
        for (int i = 0; o->array && i < kstmt_registers(s); i++)
            if (!note_register(
                    t, r, o->array,
                    expr_binary(t->m->exprs, FN_ADD, o->index, expr_index(t->m->exprs, i))))
                return false;
        return storing_expr(t, r, s->memory.address.index) &&
               (o->array || storing_expr(t, r, s->memory.value)) && note_place(t, r, s);
    }
    default: return false;
    }
}

static bool storing_block(struct turns *t, struct reads *r, struct kblock *b) {
    for (struct kstmt *s = b->first; s; s = s->next)
        if (!storing(t, r, s)) return false;
    return true;
}

/* The turn that has put all that this one reads; -1: there is no such turn. */
static int32_t turn_read(const struct turns *t, const struct reads *r, int64_t turn) {
    int32_t found = -1;
    for (int i = 0; i < r->of.count; i++) {
        int64_t at = value_at(&r->nest, &r->of.at[i], turn);
        int32_t owner = at < 0 || at >= t->window->array->count ? -1 : t->owner[at];
        if (owner < 0 || (found >= 0 && owner != found)) return -1;
        found = owner;
    }
    return found;
}

static bool share_out(struct turns *t, struct reads *r) {
    int64_t turns = t->nest.turns;
    int32_t *given = arena_array(t->m->arena, int32_t, (int32_t)turns);
    r->count = (int32_t)(r->nest.turns / turns);
    if (r->count * turns != r->nest.turns || r->count > COPIES) return false;
    r->turn = arena_array(t->m->arena, int32_t, (int32_t)r->nest.turns);
    for (int64_t i = 0; i < turns; i++) given[i] = 0;
    for (int32_t i = 0; i < r->nest.turns; i++) {
        int32_t owner = turn_read(t, r, i);
        if (owner < 0 || given[owner] == r->count) return false;
        r->turn[owner * r->count + given[owner]++] = i;
    }
    return true;
}

static bool fits(const struct turns *t, const struct reads *r, int copy, int v,
                 const struct fit *f) {
    for (int64_t i = 0; i < t->nest.turns; i++) {
        int64_t digit = coordinate(&t->nest, i, f->level) / f->divide % f->modulo;
        if (value_at(&t->nest, &f->linear, i) + f->factor * digit !=
            coordinate(&r->nest, r->turn[i * r->count + copy], v))
            return false;
    }
    return true;
}

static bool fit_sum(const struct turns *t, const struct reads *r, int copy, int v, struct fit *f) {
    int64_t step = 1, first = coordinate(&r->nest, r->turn[copy], v);
    *f = (struct fit){.linear.constant = first, .divide = 1, .modulo = 1};
    for (int i = t->nest.depth - 1; i >= 0; step *= t->nest.extent[i--])
        if (t->nest.extent[i] > 1)
            f->linear.factor[i] = coordinate(&r->nest, r->turn[step * r->count + copy], v) - first;
    return fits(t, r, copy, v, f);
}

/* Where one loop counts through what several do in the other nest. */
static bool fit_digit(const struct turns *t, const struct reads *r, int copy, int v,
                      struct fit *f) {
    int64_t step = 1, first = coordinate(&r->nest, r->turn[copy], v);
    for (int i = t->nest.depth - 1; i >= 0; step *= t->nest.extent[i--])
        for (int64_t divide = 1; divide < t->nest.extent[i]; divide++)
            for (int64_t modulo = 2; divide * modulo <= t->nest.extent[i]; modulo++) {
                if (t->nest.extent[i] % (divide * modulo)) continue;
                int64_t next = coordinate(&r->nest, r->turn[step * divide * r->count + copy], v);
                *f = (struct fit){{.constant = first}, i, next - first, divide, modulo};
                if (fits(t, r, copy, v, f)) return true;
            }
    return false;
}

/* The turn of it that a turn of the first loop gets as its copy-th: its variables, and that it
 * reads the same of the turn's registers. */
static bool fit_copy(const struct turns *t, struct reads *r, int copy) {
    for (int v = 0; v < r->nest.depth; v++)
        if (!fit_sum(t, r, copy, v, &r->fit[copy][v]) &&
            !fit_digit(t, r, copy, v, &r->fit[copy][v]))
            return false;
    for (int i = 0; i < r->of.count; i++) {
        int64_t offset =
            value_at(&r->nest, &r->of.at[i], r->turn[copy]) - value_at(&t->nest, &t->base, 0);
        for (int64_t k = 1; k < t->nest.turns; k++)
            if (value_at(&r->nest, &r->of.at[i], r->turn[k * r->count + copy]) -
                    value_at(&t->nest, &t->base, k) !=
                offset)
                return false;
    }
    return true;
}

static bool find_leaf(struct turns *t, struct kstmt *loop) {
    struct reads *r = &t->follow[t->follows];
    if (t->follows == FOLLOW) return false;
    *r = (struct reads){.count = 0};
    if (!nest_find(loop, &r->nest, false)) return false;
    for (int i = 0; i < r->nest.tests; i++)
        if (!storing_expr(t, r, r->nest.test[i])) return false;
    if (!storing_block(t, r, rolled_body(&r->nest)) || !r->to.count || !r->of.count ||
        !all_apart(t, r) || !share_out(t, r))
        return false;
    for (int i = 0; i < r->count; i++)
        if (!fit_copy(t, r, i)) return false;
    t->follows++;
    return true;
}

static bool find_reads(struct turns *t, struct kstmt *s);

/* Nothing, or one statement. */
static bool find_arm(struct turns *t, const struct kblock *b) {
    struct kstmt *found = NULL;
    for (struct kstmt *s = b->first; s; s = s->next) {
        if (s->kind == K_COMMENT) continue;
        if (found) return false;
        found = s;
    }
    return !found || find_reads(t, found);
}

/* A loop that stores, or a branch around one in each arm. */
static bool find_reads(struct turns *t, struct kstmt *s) {
    struct reads outside = {.count = 0};
    if (s->kind == K_FOR) return find_leaf(t, s);
    return s->kind == K_IF && storing_expr(t, &outside, s->branch.test) && !outside.of.count &&
           find_arm(t, &s->branch.then) && find_arm(t, &s->branch.otherwise);
}

/* -- What stands between the loops, and after them
 * ------------------------------------------------------------------------------------ */
static void note_between(struct kstmt *s, void *data) {
    struct turns *t = data;
    switch (s->kind) {
    case K_VAR: vec_push(t->m->arena, &t->between, s->set.var); break;
    case K_LOAD:
        if (s->memory.var) vec_push(t->m->arena, &t->between, s->memory.var);
        vec_push(t->m->arena, &t->met, s->memory.address.buffer);
        break;
    case K_STORE: vec_push(t->m->arena, &t->met, s->memory.address.buffer); break;
    case K_SET:
    case K_PUT:
    case K_ARRAY:
    case K_FOR:
    case K_IF:
    case K_COMMENT: break;
    default: t->fits = false;
    }
}

struct touch {
    const struct array *array;
    bool found;
};

static bool reads_array(const struct expr *e, const struct array *a) {
    if (!(e->holds & HOLDS_ELEMENT)) return false;
    if (e->kind == EXPR_ELEMENT && e->array == a) return true;
    for (int i = 0; i < e->count; i++)
        if (reads_array(e->args[i], a)) return true;
    return false;
}

static void touch_expression(struct expr **e, void *data) {
    struct touch *u = data;
    u->found |= reads_array(*e, u->array);
}

static void touch_statement(struct kstmt *s, void *data) {
    struct touch *u = data;
    const struct array *a = u->array;
    kstmt_expressions(s, touch_expression, data);
    if (s->kind == K_PUT) u->found |= s->put.to.array == a;
    if (s->kind == K_LOAD || s->kind == K_STORE) u->found |= s->memory.data.array == a;
    if (s->kind == K_LDMATRIX || s->kind == K_STMATRIX) u->found |= s->matrix.data.array == a;
    if (s->kind == K_MMA)
        u->found |= s->mma.d.array == a || s->mma.a.array == a || s->mma.b.array == a;
}

static bool touches(struct kstmt *s, const struct array *a) {
    struct touch u = {a, false};
    struct kstmt alone = *s;
    struct kblock one = {&alone, &alone};
    alone.next = NULL;
    kblock_walk(&one, touch_statement, &u);
    return u.found;
}

/* Finds the loops that store; false if the registers are read in other ways as well. */
static bool scan(struct turns *t, struct kstmt *s) {
    struct kstmt *note = NULL;
    for (int i = 0; i < t->part.tensors; i++) vec_push(t->m->arena, &t->met, t->part.tensor[i]);
    for (; s; s = s->next) {
        struct kstmt alone = *s;
        struct kblock one = {&alone, &alone};
        alone.next = NULL;
        if (s->kind == K_COMMENT) note = s;
        if (s->kind == K_COMMENT) continue;
        if (touches(s, t->window->array)) {
            int known = t->follows;
            if (!t->fits || !find_reads(t, s)) return false;
            for (int i = known; i < t->follows; i++)
                for (int j = 0; j < t->follow[i].to.count; j++)
                    vec_push(t->m->arena, &t->met, t->follow[i].to.at[j].buffer);
            vec_push(t->m->arena, &t->notes, note);
            vec_push(t->m->arena, &t->tops, s);
            note = NULL;
            continue;
        }
        kblock_walk(&one, note_between, t);
        if (s->kind != K_VAR) note = NULL;
        if (s->kind == K_VAR && s->set.value && s->set.var->kind == VAR_LET &&
            is_lasting(s->set.value))
            vec_push(t->m->arena, &t->moved, s);
    }
    return t->follows > 0;
}

bool turns_store(struct module *m, struct kernel *k, struct kblock *b, struct kstmt *first) {
    struct turns t = {.m = m, .k = k, .fits = true};
    if (!nest_find(first, &t.nest, true) || !t.nest.loop[t.nest.depth - 1]->loop.apart ||
        !part_find(m, t.nest.loop[t.nest.depth - 1], &t.part) || !find_owners(&t))
        return false;
    return scan(&t, first->next) && turns_build(&t, b);
}
