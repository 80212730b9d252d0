/* uses.c: the accesses of a kernel to memory that its threads share, and who does them. */
#include "hazard.h"

/* -- Threads ----------------------------------------------------------------------------------- */

struct owner_digit {
    int64_t weight;
    struct digit digit;
};

/* The digits of an axis that say which thread. */
static int owner_digits(const struct layout_axis *a, struct owner_digit *out) {
    int count = 0;
    int64_t weight = 1;
    for (int i = 0; i < a->count; i++) {
        if (a->digit[i].space == SPACE_LANE || a->digit[i].space == SPACE_WARP)
            out[count++] = (struct owner_digit){weight, a->digit[i]};
        weight *= a->digit[i].radix;
    }
    return count;
}

static bool has_copies(const struct layout *l) {
    for (int i = 0; i < l->reps; i++)
        if (l->rep[i].space != SPACE_REG) return true;
    return false;
}

bool thread_layouts_equal(const struct layout *a, const struct layout *b) {
    if (a->rank != b->rank || has_copies(a) || has_copies(b)) return false;
    for (int i = 0; i < a->rank; i++) {
        struct owner_digit x[LAYOUT_DIGITS], y[LAYOUT_DIGITS];
        int count = owner_digits(&a->axis[i], x);
        if (owner_digits(&b->axis[i], y) != count) return false;
        for (int k = 0; k < count; k++)
            if (x[k].weight != y[k].weight || x[k].digit.radix != y[k].digit.radix ||
                x[k].digit.space != y[k].digit.space || x[k].digit.stride != y[k].digit.stride)
                return false;
    }
    return true;
}

/* The domain's layout with axes order[0 … count-1]; the others become copies. */
static const struct layout *owners_of(struct arena *scratch, const struct domain *d, int *order,
                                      int count) {
    bool same = count == d->rank;
    for (int i = 0; i < count; i++) same &= order[i] == i;
    if (same) return &d->layout;
    struct layout *l = arena_make(scratch, struct layout);
    *l = d->layout;
    for (int a = d->rank - 1; a >= 0; a--) {
        bool used = false;
        for (int k = 0; k < count; k++) used |= order[k] == a;
        if (used) continue;
        *l = layout_drop(l, a);
        for (int k = 0; k < count; k++) order[k] -= order[k] > a;
    }
    *l = layout_permute(l, order);
    return l;
}

/* Axes of the domain in the order of the buffer's axes. */
static void map_domain(struct thread_map *t, struct arena *scratch, const struct domain *d,
                       int rank) {
    int order[TILE_RANK], count = 0;
    if (layout_is_none(&d->layout)) return;
    for (int i = 0; i < rank; i++)
        if (t->axis[i] >= 0) {
            for (int k = 0; k < count; k++)
                if (order[k] == t->axis[i]) return;
            order[count] = t->axis[i];
            t->axis[i] = count++;
        }
    t->layout = owners_of(scratch, d, order, count);
    t->kind = MAP_DOMAIN;
}

static bool has_lanes(const struct layout *l, int32_t radix, int32_t stride) {
    for (int i = 0; i < l->rank; i++)
        for (int k = 0; k < l->axis[i].count; k++) {
            const struct digit *d = &l->axis[i].digit[k];
            if (d->space == SPACE_LANE && d->radix == radix && d->stride == stride) return true;
        }
    return false;
}

/* Into the fragments that ldmatrix fills, a lane brings what other lanes of its warp get. */
static bool crosses_lanes(const struct module *m, const struct stmt *s) {
    const struct layout *l = &s->copy.domain.layout;
    return s->copy.src.buffer->scope == SCOPE_SHARED &&
           s->copy.dst.buffer->scope == SCOPE_FRAGMENT && module_has(m, FEATURE_LDMATRIX) &&
           has_lanes(l, 4, 1) && has_lanes(l, 8, 4);
}

static struct thread_map map_of_copy(const struct hazards *h, const struct stmt *s,
                                     const struct access *a) {
    struct thread_map t = {0};
    if (crosses_lanes(h->module, s)) return t;
    const struct domain *d = &s->copy.domain;
    const int32_t *axes = a->kind == ACCESS_READ ? s->copy.src_axis : s->copy.dst_axis;
    const struct region *r = a->kind == ACCESS_READ ? &s->copy.src : &s->copy.dst;
    for (int i = 0; i < a->buffer->rank; i++) {
        t.axis[i] = -1;
        for (int k = 0; k < d->rank; k++)
            if (axes[k] == i) t.axis[i] = k;
        t.base[i] = r->base[i];
    }
    map_domain(&t, h->arena, d, a->buffer->rank);
    return t;
}

/* index = base + one axis variable, or no axis variable at all */
static bool split_index(struct module *m, const struct domain *d, struct expr *index, int *axis,
                        struct expr **base) {
    struct affine f;
    *axis = -1;
    *base = index;
    if (!expr_uses_kind(index, VAR_AXIS)) return true;
    if (!affine_of(index, &f)) return false;
    for (int k = 0; k < d->rank; k++) {
        int64_t c = affine_coefficient(&f, d->axis[k]);
        if (c == 0) continue;
        if (c != 1 || *axis >= 0) return false;
        *axis = k;
    }
    if (*axis < 0) return false;
    *base = expr_binary(m->exprs, FN_SUB, index, expr_var(m->exprs, d->axis[*axis]));
    return !expr_uses_kind(*base, VAR_AXIS);
}

/* Axes of one element are always 0; a COPY has none, so both forms compare equal. */
static struct expr *without_units(struct module *m, const struct domain *d, struct expr *index) {
    struct expr *zero = expr_index(m->exprs, 0);
    for (int k = 0; k < d->rank; k++)
        if (d->extent[k] == 1 && expr_uses_var(index, d->axis[k]))
            index = expr_substitute(m->exprs, index, 1, (struct var *const *)&d->axis[k], &zero);
    return index;
}

static struct thread_map map_of_map(const struct hazards *h, const struct stmt *s,
                                    const struct access *a) {
    struct module *m = h->module;
    struct thread_map t = {0};
    for (int i = 0; i < a->buffer->rank; i++) {
        struct expr *index = without_units(m, &s->map.domain, a->index[i]);
        if (!split_index(m, &s->map.domain, index, &t.axis[i], &t.base[i])) return t;
    }
    map_domain(&t, h->arena, &s->map.domain, a->buffer->rank);
    return t;
}

/* The element is a one-to-one function of the thread's number. */
static struct thread_map map_of_thread(const struct hazards *h, const struct access *a) {
    struct thread_map t = {0};
    bool one_to_one = false;
    for (int i = 0; i < a->buffer->rank; i++) {
        struct affine f;
        t.base[i] = a->index[i];
        if (!affine_of(a->index[i], &f)) continue;
        bool plain = true;
        for (int k = 0; k < f.count; k++) {
            bool is_thread = f.atom[k]->kind == EXPR_VAR && f.atom[k]->var == h->kernel->thread;
            plain &= is_thread || expr_is_uniform(h->uniformity, f.atom[k]);
        }
        one_to_one |= plain && h->kernel->thread && affine_coefficient(&f, h->kernel->thread) != 0;
    }
    if (one_to_one) t.kind = MAP_THREAD;
    return t;
}

struct thread_map map_of_access(const struct hazards *h, const struct stmt *s,
                                const struct access *a) {
    if (s->kind == STMT_COPY && !a->index) return map_of_copy(h, s, a);
    if (s->kind == STMT_MAP && a->index) return map_of_map(h, s, a);
    if (s->kind != STMT_MAP && s->kind != STMT_COPY && a->index) return map_of_thread(h, a);
    return (struct thread_map){0};
}

/* -- Uses -------------------------------------------------------------------------------------- */

struct seen {
    int node;
    struct access access;
};

struct gather {
    struct hazards *hazards;
    int node, unit;
    VEC(struct seen) seen; /* all accesses, by node */
    unsigned *kinds;       /* of each global tensor: how it is accessed, */
    int *writes; /* and by how many statements written; one that meets itself counts twice */
    const struct buffer
        *overlapping; /* stands for all tensors that may overlap; NULL: none so far */
};

static const struct buffer *root_of(struct gather *g, const struct buffer *b) {
    b = buffer_storage(b);
    if (!b->no_restrict) return b;
    if (!g->overlapping) g->overlapping = b;
    return g->overlapping;
}

/* The axis is moved by the loop, by no other loop around the statement, and by at least the extent
 * that is written: two iterations never meet there. */
static bool moved_apart(const struct outline *o, int node, int loop, const struct access *a,
                        int axis) {
    struct affine f;
    const struct stmt *l = o->nodes.at[loop].stmt;
    if (!affine_of(a->region.base[axis], &f)) return false;
    for (int i = o->nodes.at[node].parent; i >= 0; i = o->nodes.at[i].parent)
        if (i != loop && o->nodes.at[i].stmt->kind == STMT_FOR &&
            expr_uses_var(a->region.base[axis], o->nodes.at[i].stmt->loop.var))
            return false;
    for (int i = 0; i < f.count; i++)
        if (expr_has_load(f.atom[i]) ||
            block_binds(&o->nodes.at[loop].stmt->loop.body, f.atom[i]) ||
            (f.atom[i]->kind != EXPR_VAR && expr_uses_var(f.atom[i], l->loop.var)))
            return false;
    int64_t step = affine_coefficient(&f, l->loop.var) * l->loop.step;
    return step >= a->region.extent[axis] || -step >= a->region.extent[axis];
}

/* May two iterations of a loop around the statement write one element? */
static bool written_again(const struct outline *o, int node, const struct access *a) {
    for (int i = o->nodes.at[node].parent; i >= 0; i = o->nodes.at[i].parent) {
        if (o->nodes.at[i].stmt->kind == STMT_WHILE) return true;
        if (o->nodes.at[i].stmt->kind != STMT_FOR) continue;
        bool apart = false;
        for (int axis = 0; axis < a->buffer->rank; axis++)
            apart |= moved_apart(o, node, i, a, axis);
        if (!apart) return true;
    }
    return false;
}

static void note_access(const struct access *a, void *data) {
    struct gather *g = data;
    int id = root_of(g, a->buffer)->id;
    if (a->buffer->scope == SCOPE_GLOBAL || a->buffer->scope == SCOPE_SHARED)
        vec_push(g->hazards->arena, &g->seen, ((struct seen){g->node, *a}));
    if (a->buffer->scope != SCOPE_GLOBAL) return;
    g->kinds[id] |= a->kind;
    if (a->kind & ACCESS_WRITE)
        g->writes[id] += written_again(&g->hazards->outline, g->node, a) ? 2 : 1;
}

static bool is_shared(const struct gather *g, const struct buffer *root) {
    if (root->scope == SCOPE_SHARED) return true;
    if (root->scope != SCOPE_GLOBAL || !(g->kinds[root->id] & ACCESS_WRITE)) return false;
    return (g->kinds[root->id] & ACCESS_READ) || g->writes[root->id] > 1;
}

static unsigned moving_axes(const struct region *r) {
    unsigned axes = 0;
    for (int k = 0; k < r->buffer->rank; k++) {
        const struct expr *x = r->base[k];
        bool moves = expr_uses_kind(x, VAR_LOOP) || expr_uses_kind(x, VAR_LET) ||
                     expr_uses_kind(x, VAR_MUTABLE) || expr_has_load(x);
        if (moves) axes |= 1u << k;
    }
    return axes;
}

static void gather_use(struct gather *g, const struct access *a) {
    struct hazards *h = g->hazards;
    const struct stmt *s = h->outline.nodes.at[g->node].stmt;
    const struct buffer *root = root_of(g, a->buffer);
    if (!is_shared(g, root)) return;
    struct use u = {.node = g->unit, .access = *a, .root = root, .kind = a->kind};
    u.async = s->kind == STMT_COPY && s->copy.async && a->kind == ACCESS_WRITE && !a->index;
    u.atomic = a->stmt->kind == STMT_ATOMIC && a->stmt->atomic.buffer == a->buffer;
    u.moving = moving_axes(&a->region);
    u.map = map_of_access(h, s, a);
    for (int k = 0; k < a->buffer->rank; k++) {
        const struct expr *base = u.map.kind == MAP_UNKNOWN ? NULL : u.map.base[k];
        if (base && (expr_uses_kind(base, VAR_MUTABLE) || expr_has_load(base))) u.moving |= 1u << k;
        h->reading |= expr_has_load(a->region.base[k]) || (base && expr_has_load(base));
        if (!expr_is_uniform(h->uniformity, a->region.base[k])) u.personal |= 1u << k;
    }
    vec_push(h->arena, &h->uses, u);
}

static bool is_divergent(const struct hazards *h, const struct stmt *s) {
    if (s->kind == STMT_IF) return !expr_is_uniform(h->uniformity, s->branch.test);
    return (s->kind == STMT_FOR || s->kind == STMT_WHILE) && !loop_is_uniform(h->uniformity, s);
}

static void gather_uses(struct hazards *h) {
    struct gather g = {.hazards = h};
    int count = h->outline.nodes.count, inside = 0;
    g.kinds = arena_array(h->arena, unsigned, h->kernel->function->buffer_count + 1);
    g.writes = arena_array(h->arena, int, h->kernel->function->buffer_count + 1);
    for (int i = 0; i < count; i++) {
        g.node = i;
        node_accesses(h->module, &h->outline.nodes.at[i], note_access, &g);
    }
    for (int i = 0, next = 0; i < count; i++) {
        if (i >= inside) {
            g.unit = i;
            h->divergent[i] = is_divergent(h, h->outline.nodes.at[i].stmt);
            if (h->divergent[i]) inside = h->outline.nodes.at[i].end;
        }
        g.node = i;
        h->first_use[i] = h->uses.count;
        for (; next < g.seen.count && g.seen.at[next].node == i; next++)
            gather_use(&g, &g.seen.at[next].access);
    }
    h->first_use[count] = h->uses.count;
}

/* Within a MAP the region is the box over all iterations; the slot is the same in all of them. */
const struct expr *use_slot(const struct use *u) {
    return u->access.index ? u->access.index[0] : u->access.region.base[0];
}

/* -- Counters ---------------------------------------------------------------------------------- */

static bool is_binding(const struct stmt *s, enum stmt_kind kind, const struct var *v) {
    return s->kind == kind && s->let.var == v;
}

/* The SET at `node` advances a counter; its LET stands beside the loop. */
static void find_counter(struct hazards *h, int node) {
    const struct node *n = &h->outline.nodes.at[node];
    struct var *v = n->stmt->let.var;
    int loop = n->parent, lets = 0, sets = 0;
    int64_t phase = 0;
    if (loop < 0 || h->outline.nodes.at[loop].stmt->kind != STMT_FOR || v->lo != 0 || v->hi < 1 ||
        v->hi > 64)
        return;
    int slots = (int)v->hi + 1;
    for (int i = 0; i < h->outline.nodes.count; i++) {
        const struct node *x = &h->outline.nodes.at[i];
        sets += is_binding(x->stmt, STMT_SET, v);
        if (!is_binding(x->stmt, STMT_LET, v)) continue;
        lets += x->parent == h->outline.nodes.at[loop].parent &&
                x->block == h->outline.nodes.at[loop].block &&
                expr_is_int(x->stmt->let.value, &phase);
    }
    if (lets != 1 || sets != 1 || n->stmt->let.value != counter_next(h->module, v, slots)) return;
    struct counter c = {.var = v, .loop = loop, .slots = slots, .phase = (int)phase};
    vec_push(h->arena, &h->counters, c);
}

static void find_counters(struct hazards *h) {
    for (int i = 0; i < h->outline.nodes.count; i++)
        if (h->outline.nodes.at[i].stmt->kind == STMT_SET) find_counter(h, i);
    for (int i = 0; i < h->uses.count; i++) {
        const struct use *u = &h->uses.at[i];
        if (u->root->ring <= 0 || u->access.buffer != u->root) continue;
        for (int c = 0; c < h->counters.count; c++)
            if (expr_uses_var(use_slot(u), h->counters.at[c].var))
                vec_push(h->arena, &h->counted,
                         ((struct counted){u->root, h->counters.at[c].loop}));
    }
}

struct hazards *hazards_new(struct module *m, struct arena *scratch, struct kernel *k) {
    struct hazards *h = arena_make(scratch, struct hazards);
    h->module = m;
    h->arena = scratch;
    h->kernel = k;
    h->outline = outline_of(scratch, k);
    h->uniformity = uniformity_of(m, scratch, k);
    int count = h->outline.nodes.count;
    h->fences = arena_array(scratch, struct fence, 2 * count + 1);
    h->divergent = arena_array(scratch, bool, count + 1);
    h->first_use = arena_array(scratch, int, count + 1);
    for (int i = 0; i < 2 * count; i++) h->fences[i].wait = -1;
    gather_uses(h);
    int64_t pairs = (int64_t)h->uses.count * h->uses.count;
    for (h->related_room = 1; h->related_room < pairs && h->related_room < MOST_RELATED;)
        h->related_room *= 2;
    h->related = arena_array(scratch, struct related, h->related_room);
    h->idle = arena_array(scratch, bool, h->uses.count);
    h->met = arena_array(scratch, bool, h->uses.count);
    find_counters(h);
    return h;
}

const struct outline *hazards_outline(const struct hazards *h) { return &h->outline; }

struct fence *hazards_fence(struct hazards *h, int node) {
    return &h->fences[node];
}

/* -- Exchanges where no barrier can stand ------------------------------------------------------ */

bool axis_apart(const struct use *x, const struct use *y, int k) {
    const struct region *a = &x->access.region, *b = &y->access.region;
    int64_t d;
    if ((x->personal | y->personal) >> k & 1) {
        const struct expr *p = a->base[k], *q = b->base[k];
        if (p->hi == INT64_MAX || q->hi == INT64_MAX || p->lo == INT64_MIN || q->lo == INT64_MIN)
            return false;
        return p->hi + a->extent[k] <= q->lo || q->hi + b->extent[k] <= p->lo;
    }
    return affine_difference(b->base[k], a->base[k], &d) &&
           (d >= a->extent[k] || -d >= b->extent[k]);
}

static bool may_meet(const struct use *x, const struct use *y) {
    for (int i = 0; i < x->access.buffer->rank && x->access.buffer == y->access.buffer; i++)
        if (axis_apart(x, y, i)) return false;
    return true;
}

static bool own_element(const struct use *x, const struct use *y) {
    if (x->access.buffer != y->access.buffer || x->map.kind != y->map.kind) return false;
    for (int i = 0; i < x->access.buffer->rank; i++)
        if (x->map.base[i] != y->map.base[i] || x->map.axis[i] != y->map.axis[i]) return false;
    if (x->map.kind == MAP_DOMAIN) return thread_layouts_equal(x->map.layout, y->map.layout);
    return x->map.kind == MAP_THREAD;
}

bool uses_exchange(const struct use *x, const struct use *y) {
    if (x->root != y->root || x->access.stmt == y->access.stmt) return false;
    if (!((x->kind | y->kind) & ACCESS_WRITE) || (x->atomic && y->atomic)) return false;
    return may_meet(x, y) && !own_element(x, y);
}

static int report_unit(struct hazards *h, int node) {
    int begin = h->first_use[node], end = h->first_use[h->outline.nodes.at[node].end];
    for (int i = begin; i < end; i++)
        for (int k = i + 1; k < end; k++) {
            const struct use *x = &h->uses.at[i], *y = &h->uses.at[k];
            if (!uses_exchange(x, y)) continue;
            struct diag *d = h->module->diag;
            diag_report(d, y->access.stmt->span, E0601,
                        "'%s' is exchanged between threads inside a branch that only some of them "
                        "take, where no barrier can stand; end the branch between the two accesses",
                        x->root->name->text);
            diag_note(d, x->access.stmt->span, "the other access is here");
            diag_note(d, h->outline.nodes.at[node].stmt->span,
                      "the branch is decided by each thread here");
            return 1;
        }
    return 0;
}

int hazards_report_divergent(struct hazards *h) {
    int count = 0;
    for (int i = 0; i < h->outline.nodes.count; i++)
        if (h->divergent[i]) count += report_unit(h, i);
    return count;
}
