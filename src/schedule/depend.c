/* depend.c: which loads of a loop may run ahead of the iterations that use them.
 *
 * A pipelined loop means what the serial one means. So a buffer becomes a ring only if each
 * iteration fills afresh all that it reads, by copies (or MAPs that do the like) that nothing in
 * the loop can change: neither their source, nor their indices, nor, between copy and read, the
 * buffer itself; and if no value leaves the loop in it. Everything else keeps one slot, and a
 * remark says which statements are in the way. */
#include "internal.h"

struct finder {
    struct place_in in;
    struct stmt *loop;
    struct uniformity *uniform;
    struct loads found; /* candidates; the lets directly in the body, so far */
};

/* -- Jumps and writes -------------------------------------------------------------------------- */

bool loop_jumps(const struct block *body) {
    for (const struct stmt *s = body->first; s; s = s->next) {
        if (s->kind == STMT_BREAK || s->kind == STMT_CONTINUE) return true;
        if (s->kind == STMT_IF && (loop_jumps(&s->branch.then) || loop_jumps(&s->branch.otherwise)))
            return true;
    }
    return false;
}

/* -- Expressions that mean the same one iteration earlier -------------------------------------- */

static bool loads_change(const struct finder *f, const struct expr *e) {
    if (e->kind == EXPR_LOAD) {
        if (e->buffer->scope != SCOPE_GLOBAL && e->buffer->scope != SCOPE_SHARED) return true;
        if (block_writes(f->in.module, &f->loop->loop.body, e->buffer)) return true;
    }
    for (int i = 0; i < e->count; i++)
        if (loads_change(f, e->args[i])) return true;
    return false;
}

static bool may_run_ahead(const struct finder *f, const struct expr *e) {
    return !block_binds(&f->loop->loop.body, e) && !(expr_has_load(e) && loads_change(f, e));
}

static struct expr *fold_lets(const struct finder *f, struct expr *e) {
    for (int i = f->found.lets.count - 1; i >= 0; i--) {
        struct stmt *let = f->found.lets.at[i];
        if (expr_uses_var(e, let->let.var))
            e = expr_substitute(f->in.module->exprs, e, 1, &let->let.var, &let->let.value);
    }
    return e;
}

/* -- Candidates -------------------------------------------------------------------------------- */

static void refuse(const struct finder *f, const struct buffer *b, const struct stmt *at,
                   const struct stmt *other, const char *why) {
    struct module *m = f->in.module;
    int line = other ? source_position(m->source, other->span.begin).line : 0;
    diag_remark(m->diag, at->span, "schedule", "'%s' keeps one slot: %s%s", b->name->text, why,
                other ? arena_printf(m->arena, " (line %d)", line) : "");
}

struct stmt *load_early(struct module *m, const struct loads *loads, const struct load *l) {
    struct stmt only = *l->at;
    only.next = NULL;
    struct block copy = block_clone(m, &(struct block){&only, &only});
    for (int i = l->lets - 1; i >= 0; i--) {
        struct stmt *let = loads->lets.at[i];
        block_substitute(m, &copy, 1, &let->let.var, &let->let.value);
    }
    return copy.first;
}

static void candidate(struct finder *f, struct stmt *s, struct block *b, struct expr *test) {
    struct module *m = f->in.module;
    struct load l = {.at = s, .block = b, .test = test, .lets = f->found.lets.count};
    const char *why;
    if (s->kind == STMT_COPY) {
        if (s->copy.dst.buffer->scope != SCOPE_SHARED || s->copy.src.buffer->scope != SCOPE_GLOBAL)
            return;
        struct stmt *early = load_early(m, &f->found, &l);
        l.to = early->copy.dst;
        l.async = copy_can_be_async(m, early, &why);
    } else if (!map_fills(m, s, &l.to)) {
        return;
    }
    l.guard = test ? fold_lets(f, test) : NULL;
    vec_push(m->arena, &f->found.at, l);
}

static void find_candidates(struct finder *f) {
    for (struct stmt *s = f->loop->loop.body.first; s; s = s->next) {
        if (s->kind == STMT_LET && s->let.var->kind == VAR_LET)
            vec_push(f->in.module->arena, &f->found.lets, s);
        candidate(f, s, &f->loop->loop.body, NULL);
        if (s->kind != STMT_IF || s->branch.otherwise.first ||
            !expr_is_uniform(f->uniform, s->branch.test))
            continue;
        for (struct stmt *x = s->branch.then.first; x; x = x->next)
            candidate(f, x, &s->branch.then, s->branch.test);
    }
}

/* The load that s is, or a part of. */
static const struct load *load_of(const struct finder *f, const struct stmt *s) {
    for (int i = 0; i < f->found.at.count; i++) {
        const struct stmt *at = f->found.at.at[i].at;
        if (at == s || (at->kind == STMT_MAP && block_holds(&at->map.body, s)))
            return &f->found.at.at[i];
    }
    return NULL;
}

/* Does the load itself mean the same when it runs earlier? */
static const char *copy_fault(const struct finder *f, const struct stmt *early) {
    const struct region *src = &early->copy.src, *dst = &early->copy.dst;
    for (int i = 0; i < src->buffer->rank; i++)
        if (!may_run_ahead(f, src->base[i]))
            return "where it is loaded from is computed in the loop";
    for (int i = 0; i < dst->buffer->rank; i++)
        if (!may_run_ahead(f, dst->base[i]) || expr_uses_var(dst->base[i], f->loop->loop.var))
            return "where it is loaded to changes in the loop";
    if (block_writes(f->in.module, &f->loop->loop.body, src->buffer))
        return "its source is written in the loop";
    return NULL;
}

struct steady {
    const struct finder *finder;
    bool all;
};

static void check_steady(struct expr **e, void *data) {
    struct steady *s = data;
    if (*e) s->all &= may_run_ahead(s->finder, *e);
}

static void check_statement(struct stmt *s, void *data) { stmt_expressions(s, check_steady, data); }

static const char *load_fault(const struct finder *f, const struct load *l) {
    struct stmt *early = load_early(f->in.module, &f->found, l);
    struct steady s = {f, true};
    if (l->guard && !may_run_ahead(f, l->guard))
        return "the condition of its load is computed in the loop";
    if (early->kind == STMT_COPY) return copy_fault(f, early);
    block_walk(&early->map.body, check_statement, &s);
    return s.all ? NULL : "what it is loaded from changes in the loop";
}

/* -- Reads and writes of one buffer ------------------------------------------------------------ */

static bool contains(const struct region *outer, const struct region *inner) {
    for (int i = 0; i < outer->buffer->rank; i++) {
        int64_t d;
        if (!affine_difference(inner->base[i], outer->base[i], &d)) return false;
        if (d < 0 || d + inner->extent[i] > outer->extent[i]) return false;
    }
    return true;
}

static bool regions_apart(const struct region *a, const struct region *b) {
    for (int i = 0; i < a->buffer->rank; i++) {
        int64_t d;
        if (!affine_difference(b->base[i], a->base[i], &d)) continue;
        if (d >= a->extent[i] || -d >= b->extent[i]) return true;
    }
    return false;
}

struct check {
    struct finder *finder;
    struct buffer *buffer;
    const struct expr *test; /* of the branch directly in the body that is being walked; NULL */
    uint64_t done;           /* loads of the buffer that the walk has passed */
    bool whole;              /* they fill all of the buffer */
    const struct stmt *at, *other;
    const char *fault;
};

static void fault(struct check *c, const struct stmt *at, const struct stmt *other,
                  const char *why) {
    if (c->fault) return;
    c->fault = why;
    c->at = at;
    c->other = other;
}

static const struct stmt *first_load(const struct check *c) {
    for (int i = 0; i < c->finder->found.at.count; i++)
        if (c->finder->found.at.at[i].to.buffer == c->buffer) return c->finder->found.at.at[i].at;
    return NULL;
}

/* A read sees only what the loads before it in this iteration wrote. */
static void check_read(struct check *c, const struct access *a) {
    bool covered = c->whole;
    for (int i = 0; i < c->finder->found.at.count; i++) {
        const struct load *l = &c->finder->found.at.at[i];
        if (l->to.buffer != c->buffer) continue;
        bool before = i < 64 && (c->done >> i & 1);
        if (!before && !regions_apart(&l->to, &a->region))
            fault(c, a->stmt, l->at, "it is read before its load in the same iteration");
        if (l->test && l->test != c->test)
            fault(c, a->stmt, l->at, "it is read where its load may not have happened");
        covered |= contains(&l->to, &a->region);
    }
    if (!covered) fault(c, a->stmt, first_load(c), "more of it is read than its load writes");
}

static void check_access(const struct access *a, void *data) {
    struct check *c = data;
    if (buffer_storage(a->buffer) != c->buffer) return;
    if (a->buffer != c->buffer) {
        fault(c, a->stmt, NULL, "it is also accessed under another shape");
        return;
    }
    if (a->stmt->kind == STMT_REDUCE || a->stmt->kind == STMT_PRINT ||
        a->stmt->kind == STMT_ATOMIC) {
        fault(c, a->stmt, NULL, "a statement accesses it that needs it in one piece");
        return;
    }
    const struct load *l = load_of(c->finder, a->stmt);
    if (a->kind == ACCESS_READ) {
        check_read(c, a);
    } else if (!l || l->to.buffer != c->buffer) {
        fault(c, a->stmt, first_load(c), "it is written here and by its load");
    } else {
        int i = (int)(l - c->finder->found.at.at);
        if (i < 64) c->done |= (uint64_t)1 << i;
    }
}

/* Do the loads write each element exactly once? */
static bool fills_whole(const struct finder *f, const struct buffer *b) {
    int64_t sum = 0;
    for (int i = 0; i < f->found.at.count; i++) {
        const struct region *r = &f->found.at.at[i].to;
        if (r->buffer != b) continue;
        int64_t volume = 1;
        for (int k = 0; k < b->rank; k++) {
            int64_t base;
            if (!expr_is_int(r->base[k], &base) || base < 0 || base + r->extent[k] > b->extent[k])
                return false;
            volume *= r->extent[k];
        }
        sum += volume;
    }
    return sum == buffer_elements(b);
}

static void check_loads(struct check *c) {
    const struct finder *f = c->finder;
    for (int i = 0; i < f->found.at.count; i++) {
        const struct load *l = &f->found.at.at[i];
        if (l->to.buffer != c->buffer) continue;
        const char *why = load_fault(f, l);
        if (why) fault(c, l->at, NULL, why);
        for (int k = i + 1; k < f->found.at.count; k++) {
            const struct load *o = &f->found.at.at[k];
            if (o->to.buffer == c->buffer && !regions_apart(&l->to, &o->to))
                fault(c, o->at, l->at, "it is loaded twice in one iteration");
        }
    }
}

static void check_body(struct check *c) {
    struct module *m = c->finder->in.module;
    for (struct stmt *s = c->finder->loop->loop.body.first; s; s = s->next) {
        if (s->kind != STMT_IF) {
            stmt_accesses(m, s, check_access, c);
            continue;
        }
        node_accesses(m, &(struct node){.stmt = s}, check_access, c);
        c->test = s->branch.test;
        for (const struct stmt *x = s->branch.then.first; x; x = x->next)
            stmt_accesses(m, x, check_access, c);
        c->test = NULL;
        for (const struct stmt *x = s->branch.otherwise.first; x; x = x->next)
            stmt_accesses(m, x, check_access, c);
    }
}

/* -- Values that leave the loop ---------------------------------------------------------------- */

struct flow {
    struct check *check;
    bool stale; /* the buffer may hold what the loop left in it */
};

static void flow_access(const struct access *a, void *data) {
    struct flow *w = data;
    if (buffer_storage(a->buffer) != w->check->buffer) return;
    if (a->kind == ACCESS_READ && w->stale)
        fault(w->check, w->check->finder->loop, a->stmt,
              "what its last iteration leaves is read after the loop");
    if (a->kind == ACCESS_WRITE && a->exact && a->buffer == w->check->buffer &&
        region_is_whole(&a->region))
        w->stale = false;
}

static void flow_block(struct flow *w, const struct block *b);

/* A jump out of a turn may leave what stands behind it undone. */
static void flow_inner(struct flow *w, const struct block *b, bool loop) {
    bool before = w->stale, inside = block_holds(b, w->check->finder->loop);
    w->stale = before || (loop && inside);
    flow_block(w, b);
    w->stale = before || (inside && (w->stale || (loop && loop_jumps(b))));
}

/* Bounds and conditions; that of a WHILE is looked at again behind each turn. */
static void flow_head(struct flow *w, struct stmt *s) {
    node_accesses(w->check->finder->in.module, &(struct node){.stmt = s}, flow_access, w);
}

static void flow_block(struct flow *w, const struct block *b) {
    for (struct stmt *s = b->first; s; s = s->next) {
        flow_head(w, s);
        if (s == w->check->finder->loop) {
            w->stale = true;
        } else if (s->kind == STMT_FOR) {
            flow_inner(w, &s->loop.body, true);
        } else if (s->kind == STMT_WHILE) {
            flow_inner(w, &s->repeat.body, true);
            flow_head(w, s);
        } else if (s->kind == STMT_IF) {
            flow_inner(w, &s->branch.then, false);
            flow_inner(w, &s->branch.otherwise, false);
        }
    }
}

/* -- The answer -------------------------------------------------------------------------------- */

static bool check_buffer(struct finder *f, struct buffer *b) {
    struct check c = {.finder = f, .buffer = b, .whole = fills_whole(f, b)};
    if (b->alias || b->rank == TILE_RANK)
        fault(&c, f->loop, NULL, "it is a view of another buffer");
    check_loads(&c);
    check_body(&c);
    struct flow w = {.check = &c};
    flow_block(&w, &f->in.kernel->body);
    if (c.fault) refuse(f, b, c.at, c.other, c.fault);
    return c.fault == NULL;
}

static bool listed(const struct loads *l, const struct buffer *b) {
    for (int i = 0; i < l->buffers.count; i++)
        if (l->buffers.at[i] == b) return true;
    return false;
}

struct loads loop_loads(struct place_in in, struct stmt *loop, struct uniformity *uniform) {
    struct finder f = {.in = in, .loop = loop, .uniform = uniform};
    struct loads ready = {0};
    find_candidates(&f);
    ready.lets.at = f.found.lets.at;
    ready.lets.count = f.found.lets.count;
    for (int i = 0; i < f.found.at.count; i++) {
        struct buffer *b = f.found.at.at[i].to.buffer;
        if (listed(&f.found, b)) continue;
        vec_push(in.module->arena, &f.found.buffers, b);
        if (check_buffer(&f, b)) vec_push(in.module->arena, &ready.buffers, b);
    }
    for (int i = 0; i < f.found.at.count; i++) {
        if (!listed(&ready, f.found.at.at[i].to.buffer)) continue;
        vec_push(in.module->arena, &ready.at, f.found.at.at[i]);
        ready.async |= f.found.at.at[i].async;
    }
    return ready;
}
