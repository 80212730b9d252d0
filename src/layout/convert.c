/* convert.c: makes explicit what is not held in place, through scratch copies in shared memory.
 *
 * A read that is not in place becomes a read of a scratch copy made just before the statement; a
 * write becomes a write of the scratch, copied back after it. A gemm takes the scratch itself as
 * its operand, so the exchange of a register operand costs no registers. */
#include "layout/plan.h"

/* -- Copies with their domains ----------------------------------------------------------------- */

/* Lays the domain of a whole copy after its fragment. */
static void place_copy(struct plan *p, struct stmt *s, struct buffer *fragment) {
    struct domain *d = s->kind == STMT_MAP ? &s->map.domain : &s->copy.domain;
    struct view v = {.buffer = fragment, .kind = ACCESS_READ};
    for (int k = 0, a = 0; k < fragment->rank; k++) {
        bool axis = s->kind == STMT_MAP || fragment->extent[k] != 1;
        v.index[k] = axis ? expr_var(p->m->exprs, d->axis[a++]) : expr_index(p->m->exprs, 0);
    }
    view_classify(&v, d);
    d->layout = domain_of_view(d, &v, &fragment->layout);
}

struct stmt *store_copy(struct plan *p, struct buffer *fragment, struct buffer *scratch,
                        struct span span) {
    struct stmt *s = copy_shaped(p, fragment, scratch, span);
    place_copy(p, s, fragment);
    s->why = "exchange between threads";
    return s;
}

static struct stmt *load_copy(struct plan *p, struct buffer *scratch, struct buffer *fragment,
                              struct span span) {
    struct stmt *s = copy_shaped(p, scratch, fragment, span);
    place_copy(p, s, fragment);
    s->why = "exchange between threads";
    return s;
}

static struct buffer *scratch_of(struct plan *p, const struct buffer *fragment) {
    struct text name = text_new(p->arena);
    text_printf(&name, "%s_scratch", fragment->name->text);
    struct buffer *b = new_buffer(p, SCOPE_SHARED, name.at, fragment);
    diag_remark(p->m->diag, fragment->span, "layout",
                "'%s' is exchanged between threads through shared memory, %lld bytes",
                fragment->name->text, (long long)buffer_elements(b) * dtype_bytes(b->dtype));
    return b;
}

/* -- Where the copy goes ----------------------------------------------------------------------- */

/* Outside of the loops that leave the fragment as it is. */
static struct site hoisted(struct plan *p, const struct site *s, const struct buffer *fragment) {
    struct site at = *s;
    for (const struct nest *n = s->nest; n; n = n->outer) {
        if (n->stmt->kind == STMT_IF) continue;
        if (stmt_writes(p->m, n->stmt, fragment)) break;
        at.stmt = n->stmt;
        at.block = n->block;
        at.nest = n->outer;
    }
    return at;
}

/* A scratch copy made earlier in the block that is still up to date. */
static struct buffer *staged_already(struct plan *p, const struct site *at,
                                     const struct buffer *fragment) {
    struct buffer *scratch = NULL;
    for (const struct stmt *s = at->block->first; s && s != at->stmt; s = s->next) {
        if (stmt_writes(p->m, s, fragment)) scratch = NULL;
        for (int i = 0; i < p->staged.count; i++)
            if (p->staged.at[i].stmt == s && p->staged.at[i].fragment == fragment)
                scratch = p->staged.at[i].scratch;
    }
    return scratch;
}

/* A scratch that holds the fragment when the site runs; only to be read. */
static struct buffer *stage_before(struct plan *p, struct site *s, struct buffer *fragment) {
    struct site at = hoisted(p, s, fragment);
    struct buffer *scratch = staged_already(p, &at, fragment);
    if (scratch) return scratch;
    scratch = scratch_of(p, fragment);
    struct stmt *copy = store_copy(p, fragment, scratch, s->stmt->span);
    put_before(&at, copy);
    struct staged entry = {copy, fragment, scratch};
    vec_push(p->arena, &p->staged, entry);
    return scratch;
}

/* -- Loads and stores of a statement ----------------------------------------------------------- */

struct swap {
    struct plan *p;
    const struct domain *domain; /* NULL: every load */
    struct buffer *from, *to;
    bool all; /* also what is held in place */
};

static bool load_held(const struct domain *d, const struct expr *e) {
    struct view v = {.buffer = e->buffer, .kind = ACCESS_READ};
    for (int k = 0; k < e->count; k++) v.index[k] = e->args[k];
    view_classify(&v, d);
    return held_in_place(&d->layout, &v, &e->buffer->layout);
}

static struct expr *swap_load(struct expr *e, void *data) {
    struct swap *w = data;
    if (e->kind != EXPR_LOAD || e->buffer != w->from) return NULL;
    if (!w->all && load_held(w->domain, e)) return NULL;
    return expr_load(w->p->m->exprs, w->to, e->count, e->args);
}

static void swap_expression(struct expr **e, void *data) {
    struct swap *w = data;
    *e = expr_rewrite_where(w->p->m->exprs, *e, HOLDS_LOAD, swap_load, w);
}

static void swap_statement(struct stmt *s, void *data) {
    struct swap *w = data;
    stmt_expressions(s, swap_expression, w);
    if (w->all && s->kind == STMT_STORE && s->store.buffer == w->from) s->store.buffer = w->to;
    if (w->all && s->kind == STMT_ATOMIC && s->atomic.buffer == w->from) s->atomic.buffer = w->to;
}

/* -- MAP --------------------------------------------------------------------------------------- */

enum need { NEED_NOTHING, NEED_READ, NEED_ALL };

/* A read behind a store of b in the text that meets another iteration's element: it is what that
 * one stored, not what was there before the MAP. */
struct later_read {
    const struct domain *domain;
    const struct buffer *b;
    bool written, found;
};

static void find_later_read(const struct access *a, void *data) {
    struct later_read *l = data;
    if (a->buffer != l->b || !a->index) return;
    struct view v = {.buffer = a->buffer, .kind = ACCESS_READ};
    for (int k = 0; k < a->buffer->rank; k++) v.index[k] = a->index[k];
    view_classify(&v, l->domain);
    if ((a->kind & ACCESS_READ) && !held_in_place(&l->domain->layout, &v, &a->buffer->layout))
        l->found |= l->written;
    l->written |= (a->kind & ACCESS_WRITE) != 0;
}

static enum need need_of(struct plan *p, const struct site *s, const struct buffer *b) {
    enum need need = NEED_NOTHING;
    const struct layout *domain = &s->stmt->map.domain.layout;
    for (int i = 0; i < s->views.count; i++) {
        const struct view *v = &s->views.at[i];
        if (v->buffer != b || held_in_place(domain, v, &b->layout)) continue;
        if (v->kind & ACCESS_WRITE) return NEED_ALL;
        need = NEED_READ;
    }
    struct later_read l = {.domain = &s->stmt->map.domain, .b = b};
    if (need == NEED_READ) stmt_accesses(p->m, s->stmt, find_later_read, &l);
    return l.found ? NEED_ALL : need;
}

/* The MAP stores every element of b and reads none. */
static bool overwrites(const struct site *s, const struct buffer *b) {
    const struct domain *d = &s->stmt->map.domain;
    for (int i = 0; i < s->views.count; i++)
        if (s->views.at[i].buffer == b && (s->views.at[i].kind & ACCESS_READ)) return false;
    for (const struct stmt *t = s->stmt->map.body.first; t; t = t->next) {
        if (t->kind != STMT_STORE || t->store.buffer != b) continue;
        for (int i = 0; i < s->views.count; i++) {
            const struct view *v = &s->views.at[i];
            bool whole = v->buffer == b && v->in_place;
            for (int k = 0; k < b->rank && whole; k++)
                whole = v->index[k] == t->store.index[k] &&
                        (v->axis[k] < 0 || d->extent[v->axis[k]] == b->extent[k]);
            if (whole) return true;
        }
    }
    return false;
}

static void convert_map_buffer(struct plan *p, struct site *s, struct buffer *b) {
    enum need need = need_of(p, s, b);
    if (need == NEED_NOTHING) return;
    struct buffer *scratch = need == NEED_READ ? stage_before(p, s, b) : scratch_of(p, b);
    if (need == NEED_ALL && !overwrites(s, b))
        put_before(s, store_copy(p, b, scratch, s->stmt->span));
    if (need == NEED_ALL) put_after(s, load_copy(p, scratch, b, s->stmt->span));
    struct swap w = {
        .p = p, .domain = &s->stmt->map.domain, .from = b, .to = scratch, .all = need == NEED_ALL};
    block_walk(&s->stmt->map.body, swap_statement, &w);
}

static void convert_map(struct plan *p, struct site *s) {
    for (int i = 0; i < s->views.count; i++) {
        struct buffer *b = s->views.at[i].buffer;
        bool first = b->scope == SCOPE_FRAGMENT;
        for (int j = 0; j < i; j++) first &= s->views.at[j].buffer != b;
        if (first) convert_map_buffer(p, s, b);
    }
}

/* -- COPY -------------------------------------------------------------------------------------- */

static void convert_copy(struct plan *p, struct site *s) {
    struct stmt *c = s->stmt;
    for (int i = 0; i < s->views.count; i++) {
        const struct view *v = &s->views.at[i];
        struct buffer *b = v->buffer;
        if (b->scope != SCOPE_FRAGMENT || held_in_place(&c->copy.domain.layout, v, &b->layout))
            continue;
        bool writes = (v->kind & ACCESS_WRITE) != 0, reads = (v->kind & ACCESS_READ) != 0;
        struct buffer *scratch = writes ? scratch_of(p, b) : stage_before(p, s, b);
        if (writes && (reads || !region_is_whole(&c->copy.dst)))
            put_before(s, store_copy(p, b, scratch, c->span));
        if (writes) put_after(s, load_copy(p, scratch, b, c->span));
        if (reads) c->copy.src.buffer = scratch;
        if (writes) c->copy.dst.buffer = scratch;
    }
}

/* -- GEMM -------------------------------------------------------------------------------------- */

/* Does every holder of `to` hold the element of `from`? */
static bool moves_directly(struct plan *p, const struct buffer *from, const struct stmt *copy) {
    const struct domain *d = copy->kind == STMT_MAP ? &copy->map.domain : &copy->copy.domain;
    struct view v = {.buffer = (struct buffer *)from, .kind = ACCESS_READ};
    for (int k = 0, a = 0; k < from->rank; k++) {
        bool axis = copy->kind == STMT_MAP || from->extent[k] != 1;
        v.index[k] = axis ? expr_var(p->m->exprs, d->axis[a++]) : expr_index(p->m->exprs, 0);
    }
    view_classify(&v, d);
    return held_in_place(&d->layout, &v, &from->layout);
}

void move_fragment(struct plan *p, struct site *s, struct buffer *from, struct buffer *to,
                   bool before) {
    struct stmt *direct = copy_shaped(p, from, to, s->stmt->span);
    place_copy(p, direct, to);
    if (moves_directly(p, from, direct)) {
        before ? put_before(s, direct) : put_after(s, direct);
        return;
    }
    struct buffer *scratch = scratch_of(p, from);
    struct stmt *out = store_copy(p, from, scratch, s->stmt->span);
    struct stmt *in = load_copy(p, scratch, to, s->stmt->span);
    if (before) {
        put_before(s, out);
        put_before(s, in);
    } else {
        put_after(s, in);
        put_after(s, out);
    }
}

static void convert_operand(struct plan *p, struct site *s, struct region *r, char operand) {
    if (r->buffer->scope != SCOPE_FRAGMENT) return;
    if (s->stmt->gemm.atom >= 0) {
        struct layout l = gemm_layout(p->m, s->stmt, operand);
        if (layout_equal(&l, &r->buffer->layout)) return;
    }
    r->buffer = stage_before(p, s, r->buffer);
}

static void convert_gemm(struct plan *p, struct site *s) {
    struct stmt *g = s->stmt;
    convert_operand(p, s, &g->gemm.a, 'a');
    convert_operand(p, s, &g->gemm.b, 'b');
    if (g->gemm.atom < 0) return;
    struct buffer *c = g->gemm.c.buffer;
    struct layout l = gemm_layout(p->m, g, 'c');
    if (layout_equal(&l, &c->layout)) return;
    struct buffer *t = new_buffer(p, SCOPE_FRAGMENT, c->name->text, c);
    t->layout = l;
    int64_t clear = 0;
    if (!g->gemm.clear || !expr_is_int(g->gemm.clear, &clear) || !clear)
        move_fragment(p, s, c, t, true);
    move_fragment(p, s, t, c, false);
    g->gemm.c.buffer = t;
}

/* -- Statements that every thread runs --------------------------------------------------------- */

struct plain {
    struct plan *p;
    struct domain everyone;
    struct buffer *found; /* a fragment some thread lacks */
};

static struct expr *find_load(struct expr *e, void *data) {
    struct plain *w = data;
    if (e->kind == EXPR_LOAD && e->buffer->scope == SCOPE_FRAGMENT && !load_held(&w->everyone, e))
        w->found = e->buffer;
    return NULL;
}

static void find_expression(struct expr **e, void *data) {
    struct plain *w = data;
    (void)expr_rewrite_where(w->p->m->exprs, *e, HOLDS_LOAD, find_load, w);
}

/* The test of a WHILE is evaluated again at the end of its body and at each CONTINUE. */
static void refresh(struct plan *p, struct block *b, struct buffer *from, struct buffer *to,
                    bool outermost) {
    for (struct stmt *s = b->first; s; s = s->next) {
        if (s->kind == STMT_CONTINUE) block_insert_before(b, s, store_copy(p, from, to, s->span));
        if (s->kind == STMT_IF) {
            refresh(p, &s->branch.then, from, to, false);
            refresh(p, &s->branch.otherwise, from, to, false);
        }
    }
    if (outermost) {
        struct span nowhere = b->last ? b->last->span : (struct span){0, 0};
        block_append(b, store_copy(p, from, to, nowhere));
    }
}

static void convert_plain(struct plain *w, struct block *b, struct stmt *s) {
    for (;;) {
        w->found = NULL;
        stmt_expressions(s, find_expression, w);
        if (!w->found) return;
        struct buffer *scratch = scratch_of(w->p, w->found);
        block_insert_before(b, s, store_copy(w->p, w->found, scratch, s->span));
        struct swap swap = {.p = w->p, .domain = &w->everyone, .from = w->found, .to = scratch};
        stmt_expressions(s, swap_expression, &swap);
        if (s->kind == STMT_WHILE) refresh(w->p, &s->repeat.body, w->found, scratch, true);
    }
}

static void convert_plain_block(struct plain *w, struct block *b) {
    for (struct stmt *s = b->first; s; s = s->next) {
        if (s->kind == STMT_MAP) continue;
        convert_plain(w, b, s);
        if (s->kind == STMT_FOR) convert_plain_block(w, &s->loop.body);
        if (s->kind == STMT_WHILE) convert_plain_block(w, &s->repeat.body);
        if (s->kind != STMT_IF) continue;
        convert_plain_block(w, &s->branch.then);
        convert_plain_block(w, &s->branch.otherwise);
    }
}

/* -- All --------------------------------------------------------------------------------------- */

void convert(struct plan *p) {
    for (int i = 0; i < p->sites.count; i++) {
        struct site *s = &p->sites.at[i];
        if (s->stmt->kind == STMT_MAP) convert_map(p, s);
        if (s->stmt->kind == STMT_COPY) convert_copy(p, s);
        if (s->stmt->kind == STMT_GEMM) convert_gemm(p, s);
        if (s->stmt->kind == STMT_REDUCE) exchange(p, s);
    }
    struct plain w = {.p = p};
    struct candidates all = {0};
    add_partitions(p, &all, 0, NULL, 0);
    w.everyone.layout = all.layouts.at[0];
    convert_plain_block(&w, &p->k->body);
}
