/* split.c: divides MAPs whose iterations exchange data through shared memory.
 *
 * Hand-indexed shared memory has the order of the text, also within
 * T.Parallel: `S[i] = x` before `y = S[n - i]` means all stores before all loads. No barrier can
 * stand inside a MAP, so it becomes two with the statements before and after. LETs that both need
 * are computed twice; what cannot be computed twice, or an exchange within one branch, is an error.
 * Accesses that cannot be told apart otherwise are tried out (meet.c). */
#include "hazard.h"
#include "schedule.h"

struct touch { /* an access to shared memory in the body */
    int at;    /* statement of the body */
    struct use use;
};

struct steady {
    const struct expr *e;
    bool changes;
};

struct division {
    struct hazards *hazards; /* only its module */
    struct meetings *meetings;
    struct block *block;
    struct stmt *map;
    struct arena *scratch;
    VEC(struct stmt *) body;
    VEC(struct touch) touches;
    VEC(int) cuts; /* in front of these statements */
    bool meaning;  /* whatever threads do the iterations: fragments are exchanged, too */
};

/* -- What the iterations exchange -------------------------------------------------------------- */

static void gather(const struct access *a, void *data) {
    struct division *d = data;
    const struct buffer *root = buffer_storage(a->buffer);
    bool fragment = root->scope == SCOPE_FRAGMENT && d->meaning;
    if ((root->scope != SCOPE_SHARED && !fragment) || !a->index) return;
    struct touch t = {.use = {.access = *a, .root = root, .kind = a->kind}};
    t.use.atomic = a->stmt->kind == STMT_ATOMIC && a->stmt->atomic.buffer == a->buffer;
    t.use.map = map_of_access(d->hazards, d->map, a);
    for (int i = 0; i < d->body.count; i++)
        if (stmt_holds(d->body.at[i], a->stmt)) t.at = i;
    vec_push(d->scratch, &d->touches, t);
    meetings_add(d->meetings, a);
}

static void reads_written(const struct access *a, void *data) {
    struct steady *s = data;
    if ((a->kind & ACCESS_WRITE) && expr_reads(s->e, a->buffer)) s->changes = true;
}

static void sets_variable(struct stmt *t, void *data) {
    struct steady *s = data;
    if (t->kind == STMT_SET && expr_uses_var(s->e, t->let.var)) s->changes = true;
}

/* Has the expression one value throughout an iteration? */
static bool is_steady(const struct division *d, const struct expr *e) {
    struct steady s = {.e = e};
    block_walk(&d->map->map.body, sets_variable, &s);
    if (expr_has_load(e)) stmt_buffers(d->hazards->module, d->map, reads_written, &s);
    return !s.changes;
}

static bool same_index(const struct division *d, const struct access *a, const struct access *b) {
    if (a->buffer != b->buffer) return false;
    for (int i = 0; i < a->buffer->rank; i++)
        if (a->index[i] != b->index[i] || !is_steady(d, a->index[i])) return false;
    return true;
}

static bool exchange(const struct division *d, int x, int y) {
    const struct use *a = &d->touches.at[x].use, *b = &d->touches.at[y].use;
    return uses_exchange(a, b) && !same_index(d, &a->access, &b->access) &&
           meetings_may(d->meetings, x, y);
}

static void report_inside(struct division *d, const struct touch *x, const struct touch *y) {
    struct diag *g = d->hazards->module->diag;
    diag_report(
        g, y->use.access.stmt->span, E0601,
        "'%s' is exchanged between iterations of T.Parallel inside a branch or loop of it, where "
        "no barrier can stand; end the branch between the two accesses",
        x->use.root->name->text);
    diag_note(g, x->use.access.stmt->span, "the other access is here");
}

/* How many elements both touch, of those that one surely does; 0 where that is not known. */
static int64_t surely_common(const struct access *x, const struct access *y) {
    int64_t count = 1, a, b;
    if (!x->exact || !y->exact || x->buffer != y->buffer) return 0;
    for (int i = 0; i < x->buffer->rank; i++) {
        if (!expr_is_int(x->region.base[i], &a) || !expr_is_int(y->region.base[i], &b)) return 0;
        int64_t end_a = a + x->region.extent[i], end_b = b + y->region.extent[i];
        int64_t from = a > b ? a : b, to = end_a < end_b ? end_a : end_b;
        count *= to > from ? to - from : 0;
    }
    return count;
}

/* S[i] = S[n - i]: the elements that a statement writes are surely those that other iterations read
 * in it. (Of two elements at least one is not an iteration's own; where loops or conditions of the
 * iteration choose elements nothing is sure.) */
static bool report_within(struct division *d) {
    for (int i = 0; i < d->touches.count; i++)
        for (int k = 0; k < d->touches.count; k++) {
            const struct access *w = &d->touches.at[i].use.access;
            const struct access *r = &d->touches.at[k].use.access;
            if (!(w->kind & ACCESS_WRITE) || !(r->kind & ACCESS_READ) || w->stmt != r->stmt ||
                w->stmt->kind != STMT_STORE || w->stmt != d->body.at[d->touches.at[i].at] ||
                same_index(d, w, r) || surely_common(w, r) < 2)
                continue;
            diag_report(d->hazards->module->diag, w->stmt->span, E0601,
                        "the iterations of T.Parallel read elements of '%s' that others write in "
                        "this statement, where no barrier can stand; keep the new values in a "
                        "fragment and store them in another loop",
                        w->buffer->name->text);
            return false;
        }
    return true;
}

/* As few cuts as possible, each as late as possible; false after a report. */
static bool find_cuts(struct division *d) {
    int start = 0;
    if (!report_within(d)) return false;
    for (int at = 0; at < d->body.count; at++)
        for (int i = 0; i < d->touches.count; i++)
            for (int k = 0; k < d->touches.count; k++) {
                const struct touch *x = &d->touches.at[i], *y = &d->touches.at[k];
                if (y->at != at || x->at < start || x->at > at || !exchange(d, i, k)) continue;
                if (x->at == at) {
                    report_inside(d, x, y);
                    return false;
                }
                vec_push(d->scratch, &d->cuts, at);
                start = at;
            }
    return true;
}

/* -- What crosses a cut ------------------------------------------------------------------------ */

struct crossing {
    const struct var *var;
    const struct buffer *buffer;
    bool found;
};

static void use_in(struct expr **e, void *data) {
    struct crossing *c = data;
    if (!*e) return;
    if (c->var && expr_uses_var(*e, c->var)) c->found = true;
    if (c->buffer && expr_uses_buffer(*e, c->buffer)) c->found = true;
}

static void use_in_stmt(struct stmt *s, void *data) {
    struct crossing *c = data;
    if ((s->kind == STMT_SET || s->kind == STMT_LET) && s->let.var == c->var) c->found = true;
    if (s->kind == STMT_STORE && s->store.buffer == c->buffer) c->found = true;
    stmt_expressions(s, use_in, data);
}

static bool used_from(const struct division *d, int from, const struct var *v,
                      const struct buffer *b) {
    struct crossing c = {.var = v, .buffer = b};
    for (int i = from; i < d->body.count; i++) {
        struct stmt alone = *d->body.at[i];
        alone.next = NULL;
        struct block one = {&alone, &alone};
        block_walk(&one, use_in_stmt, &c);
    }
    return c.found;
}

/* Does the LET give the same value after the statements in front of the cut? */
static bool repeatable(const struct division *d, const struct stmt *let) {
    return let->kind == STMT_LET && let->let.var->kind == VAR_LET && is_steady(d, let->let.value);
}

static const struct var *bound_by(const struct stmt *s) {
    if (s->kind == STMT_LET || s->kind == STMT_SET) return s->let.var;
    return s->kind == STMT_ATOMIC ? s->atomic.previous : NULL;
}

/* Which statements in front of the cut bind what those behind it need, themselves or for a LET that
 * is computed again there. */
static bool *needed_from(const struct division *d, int cut) {
    bool *needed = arena_array(d->scratch, bool, cut + 1);
    for (int i = cut - 1; i >= 0; i--) {
        const struct var *v = bound_by(d->body.at[i]);
        needed[i] = v && used_from(d, cut, v, NULL);
        for (int k = i + 1; v && k < cut && !needed[i]; k++)
            needed[i] = needed[k] && repeatable(d, d->body.at[k]) &&
                        expr_uses_var(d->body.at[k]->let.value, v);
    }
    return needed;
}

struct keeping {
    const struct division *division;
    int cut;
    const struct buffer *found; /* private to an iteration */
};

static void find_kept(struct stmt *s, void *data) {
    struct keeping *k = data;
    if (s->kind == STMT_STORE && s->store.buffer->parallel_private &&
        used_from(k->division, k->cut, NULL, s->store.buffer))
        k->found = s->store.buffer;
}

/* What the statement binds or keeps for itself and later statements need. */
static const char *carried(const struct division *d, int at, int cut, bool needed) {
    struct stmt s = *d->body.at[at];
    struct keeping kept = {d, cut, NULL};
    s.next = NULL;
    if (needed && !repeatable(d, &s)) return bound_by(&s)->name->text;
    block_walk(&(struct block){&s, &s}, find_kept, &kept);
    return kept.found ? kept.found->name->text : NULL;
}

static bool can_cross(const struct division *d) {
    struct diag *g = d->hazards->module->diag;
    for (int c = 0; c < d->cuts.count; c++) {
        const bool *needed = needed_from(d, d->cuts.at[c]);
        for (int i = 0; i < d->cuts.at[c]; i++) {
            const char *name = carried(d, i, d->cuts.at[c], needed[i]);
            if (!name) continue;
            diag_report(
                g, d->body.at[d->cuts.at[c]]->span, E0603,
                "the iterations of T.Parallel exchange data through shared memory in front of "
                "this, so the loop is divided here, but '%s' is private to an iteration; write "
                "two loops and keep '%s' in a fragment",
                name, name);
            diag_note(g, d->body.at[i]->span, "'%s' gets its value here", name);
            return false;
        }
    }
    return true;
}

/* -- Dividing ---------------------------------------------------------------------------------- */

static struct stmt *part(struct division *d, int from, int to) {
    struct module *m = d->hazards->module;
    struct stmt shape = *d->map;
    shape.next = NULL;
    shape.map.body = (struct block){0};
    const bool *needed = needed_from(d, from);
    for (int i = 0; i < to; i++) {
        struct stmt *s = d->body.at[i];
        if (i < from && !(needed[i] && repeatable(d, s))) continue;
        struct stmt *copy = arena_make(m->arena, struct stmt);
        *copy = *s;
        block_append(&shape.map.body, copy);
    }
    struct block one = {&shape, &shape};
    return block_clone(m, &one).first;
}

static void divide(struct division *d) {
    int from = 0;
    for (int c = 0; c <= d->cuts.count; c++) {
        int to = c < d->cuts.count ? d->cuts.at[c] : d->body.count;
        block_insert_before(d->block, d->map, part(d, from, to));
        from = to;
    }
    block_remove(d->block, d->map);
}

static bool split_map(struct hazards *h, struct block *b, struct stmt *map,
                      const struct path *path) {
    struct division d = {.hazards = h, .block = b, .map = map, .scratch = h->arena};
    d.meaning = h->meaning;
    d.meetings = meetings_new(h->module, h->arena, map, path);
    for (struct stmt *s = map->map.body.first; s; s = s->next) vec_push(d.scratch, &d.body, s);
    stmt_accesses(h->module, map, gather, &d);
    if (!find_cuts(&d)) return false;
    if (d.cuts.count == 0) return true;
    if (!can_cross(&d)) return false;
    divide(&d);
    return true;
}

static bool split_block(struct hazards *h, struct block *b, const struct path *path) {
    bool ok = true;
    for (struct stmt *s = b->first, *next; s; s = next) {
        struct path inner = {path, s, false};
        next = s->next;
        if (s->kind == STMT_MAP) ok &= split_map(h, b, s, path);
        if (s->kind == STMT_FOR) ok &= split_block(h, &s->loop.body, &inner);
        if (s->kind == STMT_WHILE) ok &= split_block(h, &s->repeat.body, &inner);
        if (s->kind != STMT_IF) continue;
        ok &= split_block(h, &s->branch.then, &inner);
        inner.otherwise = true;
        ok &= split_block(h, &s->branch.otherwise, &inner);
    }
    return ok;
}

static bool split_kernel(struct module *m, struct kernel *k, bool meaning) {
    struct arena *scratch = arena_new();
    struct hazards h = {.module = m, .arena = scratch, .kernel = k, .meaning = meaning};
    bool ok = split_block(&h, &k->body, NULL);
    arena_free(scratch);
    return ok;
}

bool split_maps(struct module *m, struct kernel *k) { return split_kernel(m, k, false); }

void order_of_text(struct module *m) {
    for (int i = 0; i < m->functions.count; i++)
        for (int k = 0; k < m->functions.at[i]->kernels.count; k++)
            split_kernel(m, m->functions.at[i]->kernels.at[k], true);
}
