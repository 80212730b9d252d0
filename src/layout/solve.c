/* solve.c: gives every fragment a layout and every site a domain.
 *
 * What gemms and annotations fix comes first and spreads through in-place accesses, then the
 * register operands of gemms. What is left falls into components that no fixed layout reaches; of
 * each the largest tile tries its candidates, the others of the component follow it, and the
 * cheapest sum over the sites wins. Disagreements are left: convert.c makes them exchanges. */
#include "layout/plan.h"

enum { TINY = 16 }; /* elements up to which every thread may hold a whole tile */

/* -- Giving layouts ---------------------------------------------------------------------------- */

static bool is_free(const struct buffer *b) {
    return b->scope == SCOPE_FRAGMENT && layout_is_none(&b->layout);
}

static void assign(struct plan *p, struct buffer *b, const struct layout *l, const char *why) {
    b->layout = *l;
    vec_push(p->arena, &p->trail, b);
    explain_fragment(p, b, why);
}

static void undo(struct plan *p, int mark) {
    while (p->trail.count > mark) p->trail.at[--p->trail.count]->layout = layout_none();
}

static int64_t axis_places(const struct layout_axis *a) {
    int64_t n = 1;
    for (int i = 0; i < a->count; i++) n *= a->digit[i].radix;
    return n;
}

/* A layout derived from a domain that covers only part of the buffer may lack places. */
static bool covers(const struct layout *l) {
    for (int k = 0; k < l->rank; k++)
        if (axis_places(&l->axis[k]) < l->axis[k].extent) return false;
    return true;
}

static const struct view *guiding_view(const struct site *s) {
    const struct view *best = NULL;
    for (int i = 0; i < s->views.count; i++) {
        const struct view *v = &s->views.at[i];
        if (v->buffer->scope != SCOPE_FRAGMENT || !v->full || is_free(v->buffer)) continue;
        if (best && v->pinned) continue;
        if (!best || ((v->kind & ACCESS_WRITE) && !(best->kind & ACCESS_WRITE))) best = v;
    }
    return best;
}

static bool spread_site(struct plan *p, struct site *s) {
    const struct view *from = guiding_view(s);
    if (!from) return false;
    struct layout domain = domain_of_view(site_domain(s), from, &from->buffer->layout);
    bool grew = false;
    for (int i = 0; i < s->views.count; i++) {
        const struct view *v = &s->views.at[i];
        if (!is_free(v->buffer) || !v->in_place || v->pinned) continue;
        struct layout l = view_of_domain(v, &domain);
        if (!covers(&l)) continue;
        assign(p, v->buffer, &l, from->buffer->name->text);
        grew = true;
    }
    return grew;
}

static bool spread_reduce(struct plan *p, struct stmt *s) {
    struct buffer *src = s->reduce.src.buffer, *dst = s->reduce.dst.buffer;
    if (src->scope != SCOPE_FRAGMENT || is_free(src) || !is_free(dst)) return false;
    struct layout l = reduced_layout(&src->layout, s->reduce.axis, dst->rank == src->rank);
    assign(p, dst, &l, src->name->text);
    return true;
}

static void spread(struct plan *p) {
    for (bool grew = true; grew;) {
        grew = false;
        for (int i = 0; i < p->sites.count; i++) {
            struct site *s = &p->sites.at[i];
            if (s->stmt->kind == STMT_REDUCE) grew |= spread_reduce(p, s->stmt);
            if (site_domain(s)) grew |= spread_site(p, s);
        }
    }
}

/* -- Domains ----------------------------------------------------------------------------------- */

static bool has_copies(const struct layout *l) {
    for (int i = 0; i < l->reps; i++)
        if (l->rep[i].radix > 1) return true;
    return false;
}

struct choice {
    struct layout layout, second;
    double cost[2];
    bool found;
};

static void offer(struct choice *c, const struct layout *l, double cost) {
    if (!c->found || cost < c->cost[0]) {
        if (c->found) {
            c->second = c->layout;
            c->cost[1] = c->cost[0];
        }
        c->layout = *l;
        c->cost[0] = cost;
        c->found = true;
    } else if (layout_is_none(&c->second) || cost < c->cost[1]) {
        c->second = *l;
        c->cost[1] = cost;
    }
}

static int copy_width(const struct site *s) {
    return s->stmt->kind == STMT_COPY ? s->stmt->copy.width : 0;
}

/* coalesced_width: accesses no wider than the text asks for. */
static bool too_wide(const struct site *s, const struct layout *l) {
    int width = copy_width(s);
    for (int i = 0; i < s->views.count && width > 0; i++)
        if (view_vector(&s->views.at[i], l) > width) return true;
    return false;
}

static void offer_domain(struct plan *p, struct site *s, struct choice *c, const struct layout *l) {
    if (s->once && has_copies(l)) return;
    offer(c, l, domain_cost(p, s, l));
}

/* The axes along which memory is contiguous, as a set. */
static unsigned run_axes(const struct site *s) {
    unsigned set = 0;
    for (int i = 0; i < s->views.count; i++)
        if (s->views.at[i].run_axis >= 0) set |= 1u << s->views.at[i].run_axis;
    const struct domain *d = site_domain(s);
    return set || d->rank == 0 ? set : 1u << (d->rank - 1);
}

static void offer_partitions(struct plan *p, struct site *s, struct choice *c) {
    const struct domain *d = site_domain(s);
    struct candidates *all = &p->partitions;
    all->layouts.count = all->hashes.count = 0;
    add_partitions(p, all, d->rank, d->extent, run_axes(s));
    for (int i = 0; i < all->layouts.count; i++)
        if (!too_wide(s, &all->layouts.at[i])) offer_domain(p, s, c, &all->layouts.at[i]);
}

static bool same_extents(const struct domain *a, const struct domain *b) {
    bool same = a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++) same = a->extent[i] == b->extent[i];
    return same;
}

/* Does each partition cost them the same, but for their weights? */
static bool costs_alike(const struct site *a, const struct site *b) {
    if (!same_extents(site_domain(a), site_domain(b)) || a->work != b->work || a->once != b->once ||
        a->views.count != b->views.count || copy_width(a) != copy_width(b))
        return false;
    for (int i = 0; i < a->views.count; i++) {
        const struct view *x = &a->views.at[i], *y = &b->views.at[i];
        bool memory = x->buffer->scope != SCOPE_FRAGMENT && y->buffer->scope != SCOPE_FRAGMENT;
        if (!memory || x->kind != y->kind || !moves_alike(x, y)) return false;
    }
    return true;
}

static const struct layout *free_domain(struct plan *p, struct site *s) {
    if (s->searched) return &s->free_domain;
    s->searched = true;
    for (struct site *t = p->sites.at; t < p->sites.at + p->sites.count; t++)
        if (t != s && t->searched && costs_alike(t, s)) {
            s->free_domain = t->free_domain;
            return &s->free_domain;
        }
    struct choice c = {.second = layout_none()};
    offer_partitions(p, s, &c);
    s->free_domain = c.layout;
    return &s->free_domain;
}

/* Domains made of the layouts of what the site touches, or of tiles of the same shape. */
static void offer_relatives(struct plan *p, struct site *s, struct choice *c) {
    const struct domain *d = site_domain(s);
    struct candidates all = {0};
    for (int i = 0; i < s->views.count; i++) {
        const struct view *v = &s->views.at[i];
        if (v->buffer->scope != SCOPE_FRAGMENT || !v->in_place || is_free(v->buffer)) continue;
        if (!v->full && !v->pinned) add_extensions(p, &all, &v->buffer->layout, v->axis, d);
    }
    for (int i = 0; i < p->k->buffers.count; i++) {
        const struct buffer *b = p->k->buffers.at[i];
        if (b->scope != SCOPE_FRAGMENT || is_free(b) || b->rank != d->rank) continue;
        bool same = true;
        for (int a = 0; a < d->rank; a++) same &= b->extent[a] == d->extent[a];
        if (same) add_candidate(p, &all, &b->layout);
    }
    for (int i = 0; i < all.layouts.count; i++) offer_domain(p, s, c, &all.layouts.at[i]);
}

static struct choice choose_domain(struct plan *p, struct site *s, bool quick) {
    struct choice c = {.second = layout_none()};
    const struct domain *d = site_domain(s);
    bool fragments = false;
    if (s->everyone) {
        c.layout = layout_replicated(d->rank, d->extent, p->warps);
        c.cost[0] = domain_cost(p, s, &c.layout);
        return c;
    }
    for (int i = 0; i < s->views.count; i++) {
        const struct view *v = &s->views.at[i];
        if (v->buffer->scope != SCOPE_FRAGMENT || is_free(v->buffer)) continue;
        fragments = true;
        if (!v->full) continue;
        struct layout l = domain_of_view(d, v, &v->buffer->layout);
        offer_domain(p, s, &c, &l);
    }
    if (c.found) return c;
    if (fragments) offer_relatives(p, s, &c);
    if (fragments && !quick) offer_partitions(p, s, &c);
    struct layout alone = *free_domain(p, s);
    offer(&c, &alone, domain_cost(p, s, &alone));
    return c;
}

/* -- Cost of a trial --------------------------------------------------------------------------- */

static double gemm_site_cost(struct plan *p, const struct stmt *s) {
    double cost = 0;
    for (int i = 0; i < 3; i++) {
        char operand = "abc"[i];
        struct buffer *b = i == 0 ? s->gemm.a.buffer : i == 1 ? s->gemm.b.buffer : s->gemm.c.buffer;
        if (b->scope != SCOPE_FRAGMENT || is_free(b)) continue;
        if (s->gemm.atom < 0) {
            if (operand != 'c') cost += convert_cost(p, b);
            continue;
        }
        struct layout l = gemm_layout(p->m, s, operand);
        if (!layout_equal(&l, &b->layout)) cost += convert_cost(p, b);
    }
    return cost;
}

static double site_cost(struct plan *p, struct site *s) {
    if (site_domain(s)) return choose_domain(p, s, true).cost[0];
    if (s->stmt->kind == STMT_GEMM) return gemm_site_cost(p, s->stmt) * s->weight;
    const struct buffer *src = s->stmt->reduce.src.buffer, *dst = s->stmt->reduce.dst.buffer;
    if (is_free(src) || src->scope != SCOPE_FRAGMENT) return 0;
    int axis = s->stmt->reduce.axis;
    double cost = reduce_cost(p, &src->layout, axis);
    struct layout l = reduced_layout(&src->layout, axis, dst->rank == src->rank);
    if (!is_free(dst) && !layout_equal(&l, &dst->layout)) cost += convert_cost(p, dst);
    return cost * s->weight;
}

/* -- Components -------------------------------------------------------------------------------- */

struct component {
    struct plan *p;
    bool *member;  /* by buffer id */
    bool *touched; /* by site */
    struct buffer *leader;
};

static void visit_fragments(struct site *s, bool (*visit)(struct buffer *b, void *data), void *data,
                            bool *any) {
    for (int i = 0; i < s->views.count; i++)
        if (s->views.at[i].in_place && is_free(s->views.at[i].buffer))
            *any |= visit(s->views.at[i].buffer, data);
    if (s->stmt->kind != STMT_REDUCE) return;
    if (is_free(s->stmt->reduce.src.buffer)) *any |= visit(s->stmt->reduce.src.buffer, data);
    if (is_free(s->stmt->reduce.dst.buffer)) *any |= visit(s->stmt->reduce.dst.buffer, data);
}

static bool is_member(struct buffer *b, void *data) { return ((bool *)data)[b->id]; }
static bool join(struct buffer *b, void *data) {
    bool fresh = !((bool *)data)[b->id];
    ((bool *)data)[b->id] = true;
    return fresh;
}

static void grow(struct component *c) {
    for (bool grew = true; grew;) {
        grew = false;
        for (int i = 0; i < c->p->sites.count; i++) {
            bool linked = false, fresh = false;
            visit_fragments(&c->p->sites.at[i], is_member, c->member, &linked);
            if (!linked) continue;
            c->touched[i] = true;
            visit_fragments(&c->p->sites.at[i], join, c->member, &fresh);
            grew |= fresh;
        }
    }
    for (int i = 0; i < c->p->k->buffers.count; i++) {
        struct buffer *b = c->p->k->buffers.at[i];
        if (!is_free(b) || !c->member[b->id]) continue;
        if (!c->leader || buffer_elements(b) > buffer_elements(c->leader)) c->leader = b;
    }
}

static const struct view *view_of(const struct site *s, const struct buffer *b) {
    for (int i = 0; i < s->views.count; i++)
        if (s->views.at[i].buffer == b && s->views.at[i].full && !s->views.at[i].pinned)
            return &s->views.at[i];
    return NULL;
}

/* Memory next to the leader says along which of its axes to run; known slices extend to it. */
static unsigned neighbours(struct component *c, struct candidates *out) {
    unsigned fast = 0;
    for (int i = 0; i < c->p->sites.count; i++) {
        struct site *s = &c->p->sites.at[i];
        const struct view *mine = view_of(s, c->leader);
        if (!mine) continue;
        for (int j = 0; j < s->views.count; j++) {
            const struct view *v = &s->views.at[j];
            for (int k = 0; k < c->leader->rank; k++)
                if (v->run_axis >= 0 && mine->axis[k] == v->run_axis) fast |= 1u << k;
            if (v->buffer->scope != SCOPE_FRAGMENT || !v->in_place || v->pinned) continue;
            if (is_free(v->buffer)) continue;
            struct candidates domains = {0};
            add_extensions(c->p, &domains, &v->buffer->layout, v->axis, site_domain(s));
            for (int n = 0; n < domains.layouts.count; n++) {
                struct layout l = view_of_domain(mine, &domains.layouts.at[n]);
                if (covers(&l)) add_candidate(c->p, out, &l);
            }
        }
    }
    return fast;
}

static void leader_candidates(struct component *c, struct candidates *out) {
    struct buffer *b = c->leader;
    if (buffer_elements(b) <= TINY) {
        struct layout l = layout_replicated(b->rank, b->extent, c->p->warps);
        add_candidate(c->p, out, &l);
    }
    unsigned fast = neighbours(c, out) | 1u << (b->rank ? b->rank - 1 : 0);
    for (int i = 0; i < c->p->k->buffers.count; i++) {
        const struct buffer *o = c->p->k->buffers.at[i];
        if (o->scope != SCOPE_FRAGMENT || is_free(o) || o->rank != b->rank) continue;
        bool same = true;
        for (int k = 0; k < b->rank; k++) same &= o->extent[k] == b->extent[k];
        if (same) add_candidate(c->p, out, &o->layout);
    }
    add_partitions(c->p, out, b->rank, b->extent, fast);
}

static double try_candidate(struct component *c, const struct layout *l) {
    int mark = c->p->trail.count;
    c->p->trying = true;
    assign(c->p, c->leader, l, "");
    spread(c->p);
    double cost = 0;
    for (int i = 0; i < c->p->sites.count; i++)
        if (c->touched[i]) cost += site_cost(c->p, &c->p->sites.at[i]);
    undo(c->p, mark);
    c->p->trying = false;
    return cost;
}

static void solve_component(struct plan *p, struct buffer *first) {
    struct component c = {.p = p};
    c.member = arena_array(p->arena, bool, p->f->buffer_count + 1);
    c.touched = arena_array(p->arena, bool, p->sites.count + 1);
    c.member[first->id] = true;
    grow(&c);
    struct candidates all = {0};
    leader_candidates(&c, &all);
    struct choice best = {.second = layout_none()};
    for (int i = 0; i < all.layouts.count; i++)
        offer(&best, &all.layouts.at[i], try_candidate(&c, &all.layouts.at[i]));
    p->trying = true;
    assign(p, c.leader, &best.layout, "");
    p->trying = false;
    explain_choice(p, c.leader, &best.second, best.cost);
    spread(p);
}

/* -- All --------------------------------------------------------------------------------------- */

static void fix_accumulators(struct plan *p) {
    for (int i = 0; i < p->sites.count; i++) {
        const struct stmt *s = p->sites.at[i].stmt;
        if (s->kind != STMT_GEMM || s->gemm.atom < 0 || !is_free(s->gemm.c.buffer)) continue;
        struct layout l = gemm_layout(p->m, s, 'c');
        assign(p, s->gemm.c.buffer, &l, "accumulates");
    }
}

static void fix_operands(struct plan *p) {
    for (int i = 0; i < p->sites.count; i++) {
        const struct stmt *s = p->sites.at[i].stmt;
        if (s->kind != STMT_GEMM || s->gemm.atom < 0) continue;
        for (int j = 0; j < 2; j++) {
            struct buffer *b = j ? s->gemm.b.buffer : s->gemm.a.buffer;
            if (!is_free(b)) continue;
            struct layout l = gemm_layout(p->m, s, j ? 'b' : 'a');
            assign(p, b, &l, "operand");
            spread(p);
        }
    }
}

/* Would the MAP read and write one scratch copy of a fragment? */
static bool updates_scratch(const struct site *s, const struct layout *domain) {
    for (int i = 0; i < s->views.count; i++) {
        const struct view *v = &s->views.at[i];
        const struct buffer *b = v->buffer;
        bool moves = b->scope == SCOPE_FRAGMENT && (v->kind & ACCESS_WRITE) &&
                     !held_in_place(domain, v, &b->layout);
        if (moves && (kinds_of(s, b) & ACCESS_READ)) return true;
    }
    return false;
}

static void fix_domain(struct plan *p, struct site *s) {
    struct layout l = choose_domain(p, s, false).layout;
    if (s->stmt->kind == STMT_MAP && !s->once && has_copies(&l) && updates_scratch(s, &l)) {
        s->once = true; /* as for any other memory that it reads and writes */
        l = choose_domain(p, s, false).layout;
    }
    site_domain(s)->layout = l;
}

void solve(struct plan *p) {
    for (int i = 0; i < p->k->buffers.count; i++) {
        struct buffer *b = p->k->buffers.at[i];
        if (is_free(b) && !layout_is_none(&b->annotation))
            assign(p, b, &b->annotation, "annotated");
    }
    fix_accumulators(p);
    spread(p);
    fix_operands(p);
    for (int i = 0; i < p->k->buffers.count; i++)
        if (is_free(p->k->buffers.at[i])) {
            solve_component(p, p->k->buffers.at[i]);
            i--;
        }
    for (int i = 0; i < p->sites.count; i++)
        if (site_domain(&p->sites.at[i])) fix_domain(p, &p->sites.at[i]);
}
