/* hoist.c: names the parts of addresses that are the same for a thread's whole life.
 *
 * Of the sum that is an address, the terms that depend on the thread, the block and the arguments
 * alone become a variable, declared before the first statement of the kernel that uses it: not
 * earlier, so that an epilogue's addresses do not live through the main loop. */
#include "internal.h"

struct hoisted {
    struct expr *value;
    const struct buffer *buffer; /* of the addresses; NULL: of several */
    int32_t uses;
    int first; /* top-level statement */
    bool in_loop;
    struct var *var;
};

struct hoister {
    struct module *m;
    struct exprs *x;
    struct kernel *k;
    VEC(struct hoisted) found;
    const struct buffer *buffer; /* of the address at hand */
    int at, depth;
    bool replace;
};

/* Only what never changes while the kernel runs: no register, also not in a condition. */
static bool is_lasting(const struct expr *e) {
    unsigned bad = 1u << VAR_LOOP | 1u << VAR_LET | 1u << VAR_MUTABLE | 1u << VAR_AXIS;

    return dtype_is_integer(e->dtype) && !(e->uses_kinds & bad) &&
           !(e->holds & (HOLDS_ELEMENT | HOLDS_LOAD));
}

static int cost_of(const struct expr *e) {
    int i, sum = e->kind == EXPR_OP || e->kind == EXPR_SELECT;

    for (i = 0; i < e->count; i++) sum += cost_of(e->args[i]);
    return sum;
}

static struct hoisted *find(struct hoister *h, struct expr *e) {
    int i;

    for (i = 0; i < h->found.count; i++)
        if (h->found.at[i].value == e) return &h->found.at[i];
    return NULL;
}

static struct expr *take(struct hoister *h, struct expr *e) {
    struct hoisted *d;

    if (cost_of(e) < 2) return e;
    d = find(h, e);
    if (h->replace) return d && d->var ? expr_var(h->x, d->var) : e;
    if (!d) {
        vec_push(h->m->arena, &h->found,
                 ((struct hoisted){.value = e, .buffer = h->buffer, .first = h->at}));
        d = &h->found.at[h->found.count - 1];
    }
    d->uses++;
    d->in_loop |= h->depth > 0;
    if (d->buffer != h->buffer) d->buffer = NULL;
    return e;
}

static struct expr *hoist_in(struct hoister *h, struct expr *e);

/* Splits a sum: the lasting terms become one variable. */
static struct expr *hoist_sum(struct hoister *h, struct expr *e, const struct affine *a) {
    struct affine lasting = {.constant = 0}, rest = {.constant = a->constant};
    struct expr *fixed, *other, *atom;
    int i;

    for (i = 0; i < a->count; i++) {
        if (is_lasting(a->atom[i])) {
            lasting.atom[lasting.count] = a->atom[i];
            lasting.coefficient[lasting.count++] = a->coefficient[i];
            continue;
        }
        rest.atom[rest.count] = hoist_in(h, a->atom[i]);
        rest.coefficient[rest.count++] = a->coefficient[i];
    }
    if (lasting.count == 0 && !h->replace) return e;
    if (rest.count == 0 && rest.constant == 0) return take(h, e);
    other = expr_index(h->x, rest.constant);
    for (i = 0; i < rest.count; i++) { /* an atom may be narrower than its products */
        atom = expr_cast(h->x, rest.atom[i], DTYPE_INDEX);
        other = expr_binary(h->x, FN_ADD, other,
                            expr_binary(h->x, FN_MUL, atom, expr_index(h->x, rest.coefficient[i])));
    }
    if (lasting.count == 0) return other;
    fixed = take(h, affine_expr(h->x, &lasting));
    return h->replace ? expr_binary(h->x, FN_ADD, fixed, other) : e;
}

static struct expr *hoist_in(struct hoister *h, struct expr *e) {
    struct expr *args[4];
    struct affine a;
    int i;

    if (e->kind == EXPR_INT || e->kind == EXPR_VAR) return e;
    if (e->dtype == DTYPE_INDEX && is_lasting(e)) return take(h, e);
    if (e->dtype == DTYPE_INDEX && e->kind == EXPR_OP && (e->fn == FN_ADD || e->fn == FN_SUB) &&
        affine_of(e, &a) && a.count > 1)
        return hoist_sum(h, e, &a);
    if ((e->kind != EXPR_OP && e->kind != EXPR_SELECT) || e->count > 4) return e;
    for (i = 0; i < e->count; i++) args[i] = hoist_in(h, e->args[i]);
    if (!h->replace) return e;
    if (e->kind == EXPR_SELECT) return expr_select(h->x, args[0], args[1], args[2]);
    return expr_op(h->x, e->fn, e->dtype, e->count, args);
}

static void hoist_address(struct hoister *h, struct address *a) {
    h->buffer = a->buffer;
    a->index = hoist_in(h, a->index);
}

static void hoist_statement(struct hoister *h, struct kstmt *s) {
    switch (s->kind) {
    case K_LOAD:
    case K_STORE: hoist_address(h, &s->memory.address); break;
    case K_ATOMIC: hoist_address(h, &s->atomic.address); break;
    case K_CP_ASYNC:
        hoist_address(h, &s->cp_async.to);
        hoist_address(h, &s->cp_async.from);
        break;
    case K_LDMATRIX:
    case K_STMATRIX: hoist_address(h, &s->matrix.address); break;
    default: break;
    }
}

static void hoist_block(struct hoister *h, struct kblock *b) {
    struct kstmt *s;

    for (s = b->first; s; s = s->next) {
        hoist_statement(h, s);
        if (s->kind == K_FOR || s->kind == K_WHILE) {
            h->depth++;
            hoist_block(h, s->kind == K_FOR ? &s->loop.body : &s->repeat.body);
            h->depth--;
        } else if (s->kind == K_IF) {
            hoist_block(h, &s->branch.then);
            hoist_block(h, &s->branch.otherwise);
        }
    }
}

static void run_over(struct hoister *h) {
    struct kblock one;
    struct kstmt *s, *next;

    h->at = 0;
    for (s = h->k->code->body.first; s; s = next, h->at++) {
        next = s->next;
        s->next = NULL;
        one.first = one.last = s;
        hoist_block(h, &one);
        s->next = next;
    }
}

static void declare(struct hoister *h, struct hoisted *d) {
    const char *name =
        d->buffer ? arena_printf(h->m->arena, "%s_at", d->buffer->name->text) : "offset";

    if (d->uses < 2 && !d->in_loop) return;
    d->var = var_new(h->x, VAR_LET, intern_text(h->m->names, name), DTYPE_INDEX, h->k->span);
    d->var->lo = d->value->lo;
    d->var->hi = d->value->hi;
    d->var->divisor = d->value->divisor;
}

/* Each variable in front of the statement that needs it first. */
static void insert_declarations(struct hoister *h) {
    struct kblock out = {NULL, NULL};
    struct kstmt *s, *next, *v;
    int at = 0, i;

    for (s = h->k->code->body.first; s; s = next, at++) {
        next = s->next;
        for (i = 0; i < h->found.count; i++) {
            if (!h->found.at[i].var || h->found.at[i].first != at) continue;
            v = kstmt_new(h->m, K_VAR, s->span);
            v->set.var = h->found.at[i].var;
            v->set.value = h->found.at[i].value;
            kblock_append(&out, v);
        }
        kblock_append(&out, s);
    }
    h->k->code->body = out;
}

void hoist(struct module *m, struct kernel *k) {
    struct hoister h = {.m = m, .x = m->exprs, .k = k};
    int i;

    run_over(&h);
    for (i = 0; i < h.found.count; i++) declare(&h, &h.found.at[i]);
    h.replace = true;
    run_over(&h);
    insert_declarations(&h);
}
