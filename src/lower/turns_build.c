/* turns_build.c: makes the turn that stores what it computes. */
#include "turns.h"

/* -- Building
 * ------------------------------------------------------------------------------------------ */
struct copying {
    struct turns *t;
    struct array *array; /* of the turn's own, for what it puts */
    bool put[PART_ELEMENTS];
    const struct reads *reads; /* the loop that is copied; NULL: the turns' own */
    int copy;
    int32_t built; /* loops that store */
    int depth;     /* of branches */
    bool fails;
    VEC(struct var *) from;
    VEC(struct expr *) to;
    VEC(struct array *) arrays, copies; /* declared in the copied block */
};

/* Where a register lies from the window's base. */
static bool offset_of(const struct copying *c, const struct expr *index, int64_t *offset) {
    const struct turns *t = c->t;
    struct linear l;
    if (!c->reads) return affine_difference(index, t->window->base, offset);
    if (!linear_of(&c->reads->nest, index, &l)) return false;
    *offset =
        value_at(&c->reads->nest, &l, c->reads->turn[c->copy]) - value_at(&t->nest, &t->base, 0);
    return true;
}

static struct expr *substituted(struct copying *c, struct expr *e) {
    return expr_substitute(c->t->m->exprs, e, c->from.count, c->from.at, c->to.at);
}

/* A register of the window that the turn has put (or puts now) is one of its own. */
static bool is_put(struct copying *c, const struct operand *o, bool put, int64_t *place) {
    const struct part_window *w = c->t->window;
    int64_t offset = 0;
    if (o->array != w->array || !offset_of(c, o->index, &offset)) return false;
    *place = 0;
    for (int j = 0; j < w->count; *place += w->out[j++])
        if (w->offset[j] == offset) {
            c->fails |= put && !c->put[j] && c->depth > 0; /* else it keeps what it was */
            c->put[j] |= put;
            return w->out[j] && c->put[j];
        }
    return false;
}

static struct operand copy_operand(struct copying *c, const struct operand *o, bool put) {
    int64_t place;
    if (is_put(c, o, put, &place))
        return (struct operand){c->array, expr_index(c->t->m->exprs, place)};
    for (int i = 0; i < c->arrays.count; i++)
        if (c->arrays.at[i] == o->array)
            return (struct operand){c->copies.at[i], substituted(c, o->index)};
    return (struct operand){o->array, substituted(c, o->index)};
}

static struct expr *copy_element(struct expr *e, void *data) {
    struct copying *c = data;
    if (e->kind != EXPR_ELEMENT) return NULL;
    struct operand from = {e->array, e->args[0]}, to = copy_operand(c, &from, false);
    return to.array == e->array ? NULL : expr_element(c->t->m->exprs, to.array, to.index, e->dtype);
}

static struct expr *copy_expr(struct copying *c, struct expr *e) {
    if (!e) return NULL;
    return substituted(c, expr_rewrite_where(c->t->m->exprs, e, HOLDS_ELEMENT, copy_element, c));
}

static void copy_variable(struct copying *c, struct kstmt *s) {
    const struct var *old = s->set.var;
    struct exprs *x = c->t->m->exprs;
    struct var *v = var_new(x, old->kind, old->name, old->dtype, old->span);
    v->lo = old->lo;
    v->hi = old->hi;
    v->divisor = old->divisor;
    vec_push(c->t->m->arena, &c->from, s->set.var);
    vec_push(c->t->m->arena, &c->to, expr_var(x, v));
    s->set.var = v;
}

static void copy_array(struct copying *c, struct kstmt *s) {
    const struct array *a = s->array;
    vec_push(c->t->m->arena, &c->arrays, s->array);
    s->array = array_new(c->t->m, c->t->k, a->name->text, a->dtype, a->element, a->count, a->span);
    vec_push(c->t->m->arena, &c->copies, s->array);
}

static struct kblock copy_block(struct copying *c, const struct kblock *b) {
    struct kblock out = {NULL, NULL};
    for (const struct kstmt *from = b->first; from; from = from->next) {
        struct kstmt *s = kstmt_new(c->t->m, from->kind, from->span);
        *s = *from;
        switch (s->kind) {
        case K_VAR:
            s->set.value = copy_expr(c, s->set.value);
            copy_variable(c, s);
            break;
        case K_SET:
            s->set.value = copy_expr(c, s->set.value);
            for (int i = 0; i < c->from.count; i++)
                if (c->from.at[i] == s->set.var) s->set.var = c->to.at[i]->var;
            break;
        case K_ARRAY: copy_array(c, s); break;
        case K_PUT:
            s->put.value = copy_expr(c, s->put.value);
            s->put.to = copy_operand(c, &s->put.to, true);
            break;
        case K_IF:
            s->branch.test = copy_expr(c, s->branch.test);
            c->depth++;
            s->branch.then = copy_block(c, &s->branch.then);
            s->branch.otherwise = copy_block(c, &s->branch.otherwise);
            c->depth--;
            break;
        case K_STORE:
            s->memory.address.index = copy_expr(c, s->memory.address.index);
            s->memory.value = copy_expr(c, s->memory.value);
            if (s->memory.data.array) s->memory.data = copy_operand(c, &s->memory.data, false);
            break;
        default: break;
        }
        kblock_append(&out, s);
    }
    return out;
}

static struct expr *fitted(struct turns *t, const struct fit *f) {
    struct exprs *x = t->m->exprs;
    struct expr *sum = expr_index(x, f->linear.constant), *digit;
    for (int i = 0; i < t->nest.depth; i++)
        sum = expr_binary(x, FN_ADD, sum,
                          expr_binary(x, FN_MUL, expr_var(x, t->nest.loop[i]->loop.var),
                                      expr_index(x, f->linear.factor[i])));
    digit = expr_var(x, t->nest.loop[f->level]->loop.var);
    digit = expr_binary(x, FN_FLOORDIV, digit, expr_index(x, f->divide));
    digit = expr_binary(x, FN_FLOORMOD, digit, expr_index(x, f->modulo));
    return expr_binary(x, FN_ADD, sum, expr_binary(x, FN_MUL, digit, expr_index(x, f->factor)));
}

static void append_copies(struct turns *t, const struct reads *r, struct copying *c,
                          struct kblock *body) {
    for (int copy = 0; copy < r->count; copy++) {
        c->reads = r;
        c->copy = copy;
        c->from.count = c->to.count = c->arrays.count = c->copies.count = 0;
        for (int v = 0; v < r->nest.depth; v++) {
            vec_push(t->m->arena, &c->from, r->nest.loop[v]->loop.var);
            vec_push(t->m->arena, &c->to, fitted(t, &r->fit[copy][v]));
        }
        struct kblock one = copy_block(c, rolled_body(&r->nest));
        for (int i = r->nest.tests - 1; i >= 0; i--) {
            struct kstmt *branch = kstmt_new(t->m, K_IF, r->nest.loop[0]->span);
            branch->branch.test = copy_expr(c, r->nest.test[i]);
            branch->branch.then = one;
            one = (struct kblock){branch, branch};
        }
        block_splice(body, &one);
    }
}

static void append_stores(struct copying *c, const struct kstmt *s, struct kblock *body) {
    struct turns *t = c->t;
    if (s->kind == K_FOR)
        for (int i = 0; i < t->follows; i++)
            if (t->follow[i].nest.loop[0] == s) {
                append_copies(t, &t->follow[i], c, body);
                c->built++;
            }
    if (s->kind != K_IF) return;
    struct kstmt *branch = kstmt_new(t->m, K_IF, s->span);
    branch->branch.test = s->branch.test;
    for (const struct kstmt *i = s->branch.then.first; i; i = i->next)
        append_stores(c, i, &branch->branch.then);
    for (const struct kstmt *i = s->branch.otherwise.first; i; i = i->next)
        append_stores(c, i, &branch->branch.otherwise);
    kblock_append(body, branch);
}

/* With the comments that the statements had. */
static void append_tops(struct copying *c, struct kblock *body) {
    struct turns *t = c->t;
    for (int i = 0; i < t->tops.count; i++) {
        if (t->notes.at[i]) {
            struct kstmt *note = kstmt_new(t->m, K_COMMENT, t->notes.at[i]->span);
            note->comment = t->notes.at[i]->comment;
            kblock_append(body, note);
        }
        append_stores(c, t->tops.at[i], body);
    }
}

/* -- What differs from turn to turn gets a name at the turn's beginning
 * -------------------------------------------------------------- */
struct naming {
    struct module *m;
    struct kblock head;    /* the variables */
    const char *name;      /* of the next one */
    VEC(struct var *) own; /* set in the turn so far: what uses them is no caller's */
};

static struct expr *named(struct naming *n, struct expr *value) {
    for (struct kstmt *s = n->head.first; s; s = s->next)
        if (s->set.value == value) return expr_var(n->m->exprs, s->set.var);
    struct kstmt *s = kstmt_new(n->m, K_VAR, (struct span){0, 0});
    s->set.var = var_new(n->m->exprs, VAR_LET, intern_text(n->m->names, n->name), value->dtype,
                         (struct span){0, 0});
    s->set.var->lo = value->lo;
    s->set.var->hi = value->hi;
    s->set.var->divisor = value->divisor;
    s->set.value = value;
    kblock_append(&n->head, s);
    return expr_var(n->m->exprs, s->set.var);
}

static bool uses_own(const struct naming *n, const struct expr *e) {
    for (int i = 0; i < n->own.count; i++)
        if (expr_uses_var(e, n->own.at[i])) return true;
    return false;
}

/* Indices that use a loop's variable: all but their constant. */
static struct expr *name_in(struct naming *n, struct expr *e) {
    struct expr *args[4];
    struct affine a;
    if (!expr_uses_kind(e, VAR_LOOP) || e->kind == EXPR_ELEMENT || e->count > 4) return e;
    if (e->dtype == DTYPE_INDEX && !(e->holds & HOLDS_ELEMENT) && !uses_own(n, e) &&
        affine_of(e, &a)) {
        struct expr *constant = expr_index(n->m->exprs, a.constant);
        a.constant = 0;
        return expr_binary(n->m->exprs, FN_ADD, named(n, affine_expr(n->m->exprs, &a)), constant);
    }
    for (int i = 0; i < e->count; i++) args[i] = name_in(n, e->args[i]);
    if (e->kind == EXPR_SELECT) return expr_select(n->m->exprs, args[0], args[1], args[2]);
    return e->kind == EXPR_OP ? expr_op(n->m->exprs, e->fn, e->dtype, e->count, args) : e;
}

static void name_block(struct naming *n, struct kblock *b) {
    for (struct kstmt *s = b->first; s; s = s->next) {
        if (s->kind == K_STORE) {
            n->name = arena_printf(n->m->arena, "%s_at", s->memory.address.buffer->name->text);
            s->memory.address.index = name_in(n, s->memory.address.index);
        } else if (s->kind == K_VAR) {
            n->name = s->set.var->name->text;
            if (s->set.value) s->set.value = name_in(n, s->set.value);
            vec_push(n->m->arena, &n->own, s->set.var);
        } else if (s->kind == K_IF) {
            n->name = "at";
            s->branch.test = name_in(n, s->branch.test);
            name_block(n, &s->branch.then);
            name_block(n, &s->branch.otherwise);
        }
    }
}

/* -- Branches
 * ---------------------------------------------------------------------------- */
static bool share_test(const struct kstmt *a, const struct kstmt *b) {
    const struct expr *test = b->branch.test;
    return a && a->kind == K_IF && a->branch.test == test && !a->branch.otherwise.first &&
           !b->branch.otherwise.first && !(test->holds & HOLDS_ELEMENT) &&
           !expr_uses_kind(test, VAR_MUTABLE);
}

/* Neighbours under one condition share the branch; what always holds needs none. */
static void join_branches(struct kblock *b) {
    struct kblock out = {NULL, NULL};
    int64_t known;
    for (struct kstmt *s = b->first, *next; s; s = next) {
        next = s->next;
        if (s->kind != K_IF) {
            kblock_append(&out, s);
        } else if (expr_is_int(s->branch.test, &known)) {
            struct kblock *taken = known ? &s->branch.then : &s->branch.otherwise;
            join_branches(taken);
            block_splice(&out, taken);
        } else if (share_test(out.last, s)) {
            block_splice(&out.last->branch.then, &s->branch.then);
            join_branches(&out.last->branch.then);
        } else {
            join_branches(&s->branch.then);
            join_branches(&s->branch.otherwise);
            kblock_append(&out, s);
        }
    }
    *b = out;
}

/* -- Variables of the loops around the turn
 * ------------------------------------------------- */
/* Cheap enough to be computed in each turn instead, and of nothing that the turns change? */
static bool sinks(const struct turns *t, const struct expr *e, int *ops) {
    bool heavy = e->kind == EXPR_OP && ((e->fn >= FN_SQRT && e->fn <= FN_NEXTAFTER) ||
                                        e->fn == FN_DIV || e->fn == FN_DIVIDE || e->fn == FN_ANY ||
                                        e->fn == FN_SHUFFLE || e->fn == FN_SHUFFLE_XOR);
    if (heavy || e->kind == EXPR_LOAD) return false;
    if (e->kind == EXPR_ELEMENT) return e->array != t->window->array;
    if (e->kind == EXPR_VAR) return e->var->kind != VAR_LOOP && e->var->kind != VAR_MUTABLE;
    if (++*ops > 6) return false;
    for (int i = 0; i < e->count; i++)
        if (!sinks(t, e->args[i], ops)) return false;
    return true;
}

/* A value that a few turns share is an argument of each; most are better computed anew. */
static void sink(struct turns *t, struct copying *c, struct kblock *body) {
    int ops = 0;
    for (int i = 0; i + 1 < t->nest.depth; i++)
        for (struct kstmt *s = t->nest.loop[i]->loop.body.first; s->kind == K_VAR; s = s->next)
            if (s->set.var->kind != VAR_LET || !s->set.value || !sinks(t, s->set.value, &ops))
                return;
    for (int i = 0; i + 1 < t->nest.depth; i++) {
        struct kblock *b = &t->nest.loop[i]->loop.body;
        struct kblock values = {b->first, b->last};
        for (struct kstmt *s = values.first; s != t->nest.loop[i + 1]; s = s->next) {
            struct kstmt alone = *s;
            struct kblock one = {&alone, &alone};
            alone.next = NULL;
            one = copy_block(c, &one);
            block_splice(body, &one);
        }
    }
    t->sunk = body->last != body->first;
}

/* -- Putting it in place
 * ----------------------------------------------------------------------------------- */
static void take_out(struct kblock *b, struct kstmt *out) {
    struct kblock kept = {NULL, NULL};
    for (struct kstmt *s = b->first, *next; s; s = next) {
        next = s->next;
        if (s != out) kblock_append(&kept, s);
    }
    *b = kept;
}

struct use {
    const struct var *var;
    bool found;
};

static void use_expression(struct expr **e, void *data) {
    struct use *u = data;
    u->found |= expr_uses_var(*e, u->var);
}

static void use_statement(struct kstmt *s, void *data) {
    kstmt_expressions(s, use_expression, data);
}

static bool turn_uses(const struct turns *t, const struct var *v) {
    struct use u = {v, false};
    kblock_walk(rolled_body(&t->nest), use_statement, &u);
    return u.found;
}

static bool put_in_place(struct turns *t, struct kblock *b, struct kblock body) {
    struct kstmt *inner = t->nest.loop[t->nest.depth - 1];
    struct kblock before = inner->loop.body;
    struct part p;
    inner->loop.body = body;
    if (!part_find(t->m, inner, &p)) {
        inner->loop.body = before;
        return false;
    }
    for (int i = 0; t->sunk && i + 1 < t->nest.depth; i++)
        t->nest.loop[i]->loop.body = (struct kblock){t->nest.loop[i + 1], t->nest.loop[i + 1]};
    for (int i = 0; i < t->tops.count; i++) {
        take_out(b, t->tops.at[i]);
        take_out(b, t->notes.at[i]);
    }
    for (int i = 0; i < t->moved.count; i++) {
        if (!turn_uses(t, t->moved.at[i]->set.var)) continue;
        take_out(b, t->moved.at[i]);
        kblock_insert_before(b, t->nest.loop[0], t->moved.at[i]);
    }
    return true;
}

bool turns_build(struct turns *t, struct kblock *b) {
    struct copying c = {.t = t};
    struct naming n = {.m = t->m};
    struct kblock body = {NULL, NULL};
    struct kstmt *own = kstmt_new(t->m, K_ARRAY, t->nest.loop[0]->span);
    int32_t count = 0;
    for (int j = 0; j < t->window->count; j++) count += t->window->out[j];
    const struct array *a = t->window->array;
    own->array = c.array = array_new(t->m, t->k, arena_printf(t->m->arena, "%s_out", a->name->text),
                                     a->dtype, a->element, count, a->span);
    kblock_append(&body, own);
    sink(t, &c, &body);
    struct kblock turn = copy_block(&c, rolled_body(&t->nest));
    block_splice(&body, &turn);
    append_tops(&c, &body);
    if (c.fails || c.built != t->follows) return false;
    name_block(&n, &body);
    join_branches(&body);
    block_splice(&n.head, &body);
    return put_in_place(t, b, n.head);
}
