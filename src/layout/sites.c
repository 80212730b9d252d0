/* sites.c: reads a kernel into sites and views. */
#include "layout/plan.h"

enum { LOOP_WEIGHT = 8 }; /* a loop runs so often, for all that is known */

/* -- How an access looks from the domain ------------------------------------------------------- */

static int axis_index(const struct domain *d, const struct expr *e) {
    if (e->kind == EXPR_CAST) return axis_index(d, e->args[0]);
    if (e->kind != EXPR_VAR) return -1;
    for (int a = 0; a < d->rank; a++)
        if (d->axis[a] == e->var) return a;
    return -1;
}

/* A constant index: the element lies in a fixed register if the axis is spread over registers
 * only. */
static void classify_constant(struct view *v, int k) {
    int64_t value;
    if (!expr_is_int(v->index[k], &value) || value < 0 || value >= v->buffer->extent[k])
        v->in_place = false;
    else if (v->buffer->extent[k] > 1)
        v->pinned = true;
}

static void classify_fragment(struct view *v, const struct domain *d) {
    unsigned seen = 0;
    v->in_place = true;
    v->pinned = false;
    for (int k = 0; k < v->buffer->rank; k++) {
        v->axis[k] = axis_index(d, v->index[k]);
        if (v->axis[k] < 0) {
            classify_constant(v, k);
            continue;
        }
        unsigned bit = 1u << v->axis[k];
        if ((seen & bit) || d->extent[v->axis[k]] > v->buffer->extent[k]) v->in_place = false;
        seen |= bit;
    }
    v->full = v->in_place;
    for (int a = 0; a < d->rank; a++)
        if (d->extent[a] > 1 && !(seen & (1u << a))) v->full = false;
}

static int64_t gcd(int64_t a, int64_t b) {
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    while (b) {
        int64_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

/* The stride of a buffer axis in elements: what is known of it, and a number to count with. */
struct pitch {
    int64_t divisor, number;
};

static struct pitch pitch_of(const struct buffer *b, int axis) {
    struct pitch p = {1, 1};
    if (b->scope != SCOPE_GLOBAL) {
        for (int k = axis + 1; k < b->rank; k++) p.number *= b->extent[k];
        p.divisor = p.number;
        return p;
    }
    int64_t value;
    if (expr_is_int(b->stride[axis], &value)) return (struct pitch){value, value};
    p.divisor = b->stride[axis]->divisor;
    p.number = p.divisor * 1031; /* a run-time pitch is long and no power of two */
    return p;
}

static bool mentions_axis(const struct domain *d, const struct expr *e) {
    for (int a = 0; a < d->rank; a++)
        if (expr_uses_var(e, d->axis[a])) return true;
    return false;
}

/* Adds index k's part; `others` collects the divisor of what moves along other axes, per axis. */
static bool add_index(struct view *v, const struct domain *d, int k, int64_t *divisor) {
    struct affine f;
    struct pitch p = pitch_of(v->buffer, k);
    if (!affine_of(v->index[k], &f)) return !mentions_axis(d, v->index[k]);
    v->alignment = gcd(v->alignment, f.constant * p.divisor);
    for (int i = 0; i < f.count; i++) {
        int a = axis_index(d, f.atom[i]);
        if (a >= 0) {
            v->coefficient[a] += f.coefficient[i] * p.number;
            divisor[a] = gcd(divisor[a], f.coefficient[i] * p.divisor);
        } else if (mentions_axis(d, f.atom[i])) {
            return false;
        } else {
            v->alignment = gcd(v->alignment, f.coefficient[i] * f.atom[i]->divisor * p.divisor);
        }
    }
    return true;
}

static void classify_memory(struct view *v, const struct domain *d) {
    int64_t divisor[TILE_RANK] = {0};
    v->affine = true;
    v->alignment = 0;
    v->run_axis = -1;
    for (int a = 0; a < TILE_RANK; a++) v->coefficient[a] = 0;
    for (int k = 0; k < v->buffer->rank && v->affine; k++) v->affine = add_index(v, d, k, divisor);
    for (int a = 0; a < d->rank; a++)
        if (d->extent[a] > 1 && v->coefficient[a] == 1 && divisor[a] == 1) v->run_axis = a;
    for (int a = 0; a < d->rank; a++)
        if (a != v->run_axis) v->alignment = gcd(v->alignment, divisor[a]);
    if (!v->affine) v->run_axis = -1;
}

void view_classify(struct view *v, const struct domain *d) {
    for (int k = 0; k < TILE_RANK; k++) v->axis[k] = -1;
    v->run_axis = -1;
    if (v->buffer->scope == SCOPE_FRAGMENT) classify_fragment(v, d);
    if (v->buffer->scope == SCOPE_GLOBAL || v->buffer->scope == SCOPE_SHARED) classify_memory(v, d);
}

/* -- Collecting -------------------------------------------------------------------------------- */

struct collector {
    struct plan *p;
    struct site *site;
    struct block *block;
    struct nest *nest;
    double weight;
};

static void add_view(struct plan *p, struct site *s, struct view v) {
    for (int i = 0; i < s->views.count; i++) {
        struct view *old = &s->views.at[i];
        bool same = old->buffer == v.buffer;
        for (int k = 0; k < v.buffer->rank && same; k++) same = old->index[k] == v.index[k];
        if (!same) continue;
        old->kind |= v.kind;
        return;
    }
    view_classify(&v, site_domain(s));
    vec_push(p->arena, &s->views, v);
}

static void visit_access(const struct access *a, void *data) {
    struct collector *c = data;
    struct view v = {.buffer = a->buffer, .kind = a->kind};
    if (!a->index || a->buffer->scope == SCOPE_LOCAL) return;
    for (int k = 0; k < a->buffer->rank; k++) v.index[k] = a->index[k];
    add_view(c->p, c->site, v);
}

static void count_expression(struct expr **e, void *data) {
    struct site *s = data;
    struct expr *stack[64];
    int depth = 0;
    stack[depth++] = *e;
    while (depth) {
        struct expr *x = stack[--depth];
        if (x->kind == EXPR_OP && !dtype_is_integer(x->dtype)) s->work++;
        for (int i = 0; i < x->count && depth < 64; i++) stack[depth++] = x->args[i];
    }
}

static void visit_work(struct stmt *s, void *data) {
    struct site *site = data;
    if (s->kind == STMT_ATOMIC && s->atomic.previous) site->once = true;
    stmt_expressions(s, count_expression, site);
}

static void copy_views(struct plan *p, struct site *s) {
    struct stmt *c = s->stmt;
    for (int side = 0; side < 2; side++) {
        const struct region *r = side ? &c->copy.dst : &c->copy.src;
        const int32_t *axis = side ? c->copy.dst_axis : c->copy.src_axis;
        struct view v = {.buffer = r->buffer, .kind = side ? ACCESS_WRITE : ACCESS_READ};
        if (r->buffer->scope == SCOPE_LOCAL) {
            s->everyone = true;
            continue;
        }
        for (int k = 0; k < r->buffer->rank; k++) v.index[k] = r->base[k];
        for (int a = 0; a < c->copy.domain.rank; a++) {
            struct expr *x = expr_var(p->m->exprs, c->copy.domain.axis[a]);
            v.index[axis[a]] = expr_binary(p->m->exprs, FN_ADD, v.index[axis[a]], x);
        }
        add_view(p, s, v);
    }
}

unsigned kinds_of(const struct site *s, const struct buffer *b) {
    unsigned kinds = 0;
    for (int i = 0; i < s->views.count; i++)
        if (s->views.at[i].buffer == b) kinds |= (unsigned)s->views.at[i].kind;
    return kinds;
}

/* Copies of an iteration load from memory while the one that counts stores there: what they see
 * would be of before or after, as it happens. */
static bool copies_would_race(const struct site *s) {
    for (int i = 0; i < s->views.count; i++) {
        const struct buffer *b = s->views.at[i].buffer;
        bool memory = b->scope == SCOPE_GLOBAL || b->scope == SCOPE_SHARED;
        if (memory && kinds_of(s, b) == (ACCESS_READ | ACCESS_WRITE)) return true;
    }
    return false;
}

static void add_site(struct collector *c, struct stmt *s) {
    struct site site = {
        .stmt = s, .block = c->block, .nest = c->nest, .weight = c->weight, .work = 1};
    vec_push(c->p->arena, &c->p->sites, site);
    struct site *at = &c->p->sites.at[c->p->sites.count - 1];
    if (s->kind == STMT_COPY) copy_views(c->p, at);
    if (s->kind != STMT_MAP) return;
    c->site = at;
    for (struct stmt *b = s->map.body.first; b; b = b->next)
        stmt_accesses(c->p->m, b, visit_access, c);
    block_walk(&s->map.body, visit_work, at);
    at->once |= copies_would_race(at);
}

/* A copy of what a view reads is made outside of the loops that leave the fragment as it is. */
static void weigh_views(struct plan *p, struct site *s) {
    for (int i = 0; i < s->views.count; i++) {
        struct view *v = &s->views.at[i];
        v->stage_weight = s->weight;
        if (v->buffer->scope != SCOPE_FRAGMENT || (v->kind & ACCESS_WRITE)) continue;
        for (const struct nest *n = s->nest; n; n = n->outer) {
            if (n->stmt->kind == STMT_IF) continue;
            if (stmt_writes(p->m, n->stmt, v->buffer)) break;
            v->stage_weight /= LOOP_WEIGHT;
        }
    }
}

static void collect_block(struct collector *c, struct block *b);

static void enter(struct collector *c, struct stmt *s) {
    struct nest *n = arena_make(c->p->arena, struct nest);
    *n = (struct nest){s, c->block, c->nest};
    c->nest = n;
    if (s->kind == STMT_FOR || s->kind == STMT_WHILE) c->weight *= LOOP_WEIGHT;
}

static void collect_statement(struct collector *c, struct stmt *s) {
    struct collector outer = *c;
    if (s->kind == STMT_FOR || s->kind == STMT_WHILE || s->kind == STMT_IF) enter(c, s);
    if (s->kind == STMT_FOR) collect_block(c, &s->loop.body);
    if (s->kind == STMT_WHILE) collect_block(c, &s->repeat.body);
    if (s->kind == STMT_IF) {
        collect_block(c, &s->branch.then);
        collect_block(c, &s->branch.otherwise);
    }
    *c = outer;
    if (s->kind == STMT_MAP || s->kind == STMT_COPY || s->kind == STMT_GEMM ||
        s->kind == STMT_REDUCE)
        add_site(c, s);
}

static void collect_block(struct collector *c, struct block *b) {
    for (struct stmt *s = b->first; s; s = s->next) {
        c->block = b;
        collect_statement(c, s);
    }
}

void collect_sites(struct plan *p) {
    struct collector c = {.p = p, .weight = 1};
    p->sites.count = 0;
    collect_block(&c, &p->k->body);
    for (int i = 0; i < p->sites.count; i++) weigh_views(p, &p->sites.at[i]);
}

struct domain *site_domain(const struct site *s) {
    if (s->stmt->kind == STMT_MAP) return &s->stmt->map.domain;
    return s->stmt->kind == STMT_COPY ? &s->stmt->copy.domain : NULL;
}
