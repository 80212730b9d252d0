/* outline.c: the statements of a kernel as a numbered tree, and when each buffer's contents matter.
 *
 * The order is that of the text; a MAP is a leaf, since what happens inside it has no order that
 * the schedule could use. A lifetime is a range of numbers: it covers a loop wholly if a value may
 * be carried around the loop's back edge. */
#include "internal.h"

bool stmt_is_control(const struct stmt *s) {
    return s->kind == STMT_FOR || s->kind == STMT_WHILE || s->kind == STMT_IF;
}

struct flatten {
    struct arena *arena;
    struct outline *outline;
};

static void flatten(const struct flatten *f, struct block *b, struct node shape) {
    struct outline *o = f->outline;
    for (struct stmt *s = b->first; s; s = s->next) {
        int at = o->nodes.count;
        struct node n = shape;
        n.stmt = s;
        n.block = b;
        vec_push(f->arena, &o->nodes, n);
        struct node inner = {.parent = at, .depth = shape.depth + (s->kind != STMT_IF)};
        if (s->kind == STMT_FOR) flatten(f, &s->loop.body, inner);
        if (s->kind == STMT_WHILE) flatten(f, &s->repeat.body, inner);
        if (s->kind == STMT_IF) {
            flatten(f, &s->branch.then, inner);
            inner.otherwise = true;
            flatten(f, &s->branch.otherwise, inner);
        }
        o->nodes.at[at].end = o->nodes.count;
    }
}

struct outline outline_of(struct arena *a, struct kernel *k) {
    struct outline o = {0};
    struct flatten f = {.arena = a, .outline = &o};
    flatten(&f, &k->body, (struct node){.parent = -1});
    return o;
}

/* -- Accesses ---------------------------------------------------------------------------------- */

struct reads {
    struct module *module;
    const struct stmt *stmt;
    void (*visit)(const struct access *a, void *data);
    void *data;
};

static void reads_of(struct reads *r, const struct expr *e) {
    for (int i = 0; i < e->count; i++) reads_of(r, e->args[i]);
    if (e->kind != EXPR_LOAD) return;
    struct access a = {.buffer = e->buffer, .kind = ACCESS_READ, .index = e->args, .stmt = r->stmt};
    a.region.buffer = e->buffer;
    for (int i = 0; i < e->count; i++) {
        a.region.base[i] = e->args[i];
        a.region.extent[i] = 1;
    }
    a.exact = true;
    r->visit(&a, r->data);
}

static void visit_reads(struct expr **e, void *data) {
    if (*e) reads_of(data, *e);
}

void node_accesses(struct module *m, const struct node *n,
                   void (*visit)(const struct access *a, void *data), void *data) {
    if (!stmt_is_control(n->stmt)) {
        stmt_accesses(m, n->stmt, visit, data);
        return;
    }
    struct reads r = {.module = m, .stmt = n->stmt, .visit = visit, .data = data};
    stmt_expressions(n->stmt, visit_reads, &r);
}

/* -- Lifetimes --------------------------------------------------------------------------------- */

struct touch { /* one access, or none before the first */
    int node;
    bool whole; /* writes all of the buffer without reading it */
};

struct survey {
    const struct kernel *kernel;
    int node;
    struct lifetime *life; /* first and last access */
    struct touch *first;
};

static void survey_access(const struct access *a, void *data) {
    struct survey *s = data;
    const struct buffer *root = buffer_storage(a->buffer);
    for (int i = 0; i < s->kernel->buffers.count; i++) {
        if (s->kernel->buffers.at[i] != root) continue;
        if (s->life[i].begin > s->life[i].end) {
            s->life[i].begin = s->node;
            s->first[i].node = s->node;
            s->first[i].whole = a->kind == ACCESS_WRITE && a->exact && a->buffer == root &&
                                region_is_whole(&a->region);
        }
        s->life[i].end = s->node;
    }
}

/* The innermost control statement around both nodes, -1 for the kernel. Different branches of an IF
 * count as one place. */
static int around(const struct outline *o, int a, int b) {
    int p = o->nodes.at[a].parent;
    while (p >= 0 && b >= o->nodes.at[p].end) p = o->nodes.at[p].parent;
    return p;
}

static bool is_loop(const struct stmt *s) { return s->kind == STMT_FOR || s->kind == STMT_WHILE; }

/* Grows the range over each loop that it enters or leaves. */
static void cover_loops(const struct outline *o, struct lifetime *life, int inside) {
    for (int end = 0; end < 2; end++)
        for (int p = o->nodes.at[end ? life->end : life->begin].parent; p != inside && p >= 0;
             p = o->nodes.at[p].parent) {
            if (!is_loop(o->nodes.at[p].stmt)) continue;
            if (p < life->begin) life->begin = p;
            if (o->nodes.at[p].end - 1 > life->end) life->end = o->nodes.at[p].end - 1;
        }
}

/* Of the nodes inside an IF: in the same of its branches? */
static bool same_branch(const struct outline *o, int inside, int a, int b) {
    while (o->nodes.at[a].parent != inside) a = o->nodes.at[a].parent;
    while (o->nodes.at[b].parent != inside) b = o->nodes.at[b].parent;
    return o->nodes.at[a].otherwise == o->nodes.at[b].otherwise;
}

/* What is not written afresh in each iteration may be carried around the loops outside. */
static void carry(const struct outline *o, struct lifetime *life, const struct touch *first) {
    int inside = around(o, life->begin, life->end);
    cover_loops(o, life, inside);
    if (first->whole && o->nodes.at[first->node].parent == inside &&
        same_branch(o, inside, first->node, life->end))
        return;
    for (int p = inside; p >= 0; p = o->nodes.at[p].parent) {
        if (!is_loop(o->nodes.at[p].stmt)) continue;
        life->begin = p;
        life->end = o->nodes.at[p].end - 1;
    }
}

struct lifetime *lifetimes_of(struct module *m, struct arena *a, const struct outline *o,
                              const struct kernel *k) {
    struct survey s = {.kernel = k,
                       .life = arena_array(a, struct lifetime, k->buffers.count + 1),
                       .first = arena_array(a, struct touch, k->buffers.count + 1)};
    for (int i = 0; i < k->buffers.count; i++) s.life[i] = (struct lifetime){1, 0};
    for (int i = 0; i < o->nodes.count; i++) {
        s.node = i;
        node_accesses(m, &o->nodes.at[i], survey_access, &s);
    }
    for (int i = 0; i < k->buffers.count; i++)
        if (s.life[i].begin <= s.life[i].end) carry(o, &s.life[i], &s.first[i]);
    return s.life;
}
