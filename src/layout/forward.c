/* forward.c: shared tiles that never change threads become fragments.
 *
 * A shared tile that every statement touches element by element, over its whole extent, in the
 * order of its own axes or a permutation of them, needs no exchange as long as one distribution
 * suits all its accesses: then it lives in registers and its barriers are gone. It stays where its
 * statements run along different axes of memory (it is there to turn a tile around), where a
 * pipelined loop fills it (asynchronous copies need shared memory) and where registers run short.
 */
#include "layout/plan.h"

enum { BYTES_A_THREAD = 128 };

struct forwarder {
    struct plan p;
    struct buffer *b;
    bool fits;      /* so far */
    bool pipelined; /* inside a pipelined loop */
    int run_axis;   /* axis of b along which memory is contiguous; -1 unknown yet */
    int uses;
};

/* -- May it? ----------------------------------------------------------------------------------- */

static bool worth_trying(const struct forwarder *f) {
    const struct buffer *b = f->b;
    if (b->scope != SCOPE_SHARED || b->alias || !layout_is_none(&b->annotation)) return false;
    for (int i = 0; i < f->p.k->buffers.count; i++)
        if (f->p.k->buffers.at[i]->alias == b) return false;
    return buffer_elements(b) * dtype_bytes(b->dtype) <= (int64_t)BYTES_A_THREAD * f->p.k->threads;
}

static void note_access(const struct access *a, void *data) {
    struct forwarder *f = data;
    if (a->buffer == f->b) f->fits = false;
}

static void note_copy(struct forwarder *f, const struct stmt *s) {
    bool from_memory = s->copy.src.buffer->scope == SCOPE_GLOBAL;
    if (f->pipelined && from_memory && s->copy.dst.buffer == f->b) f->fits = false;
}

static void note_atomic(struct stmt *s, void *data) { /* registers have none */
    struct forwarder *f = data;
    if (s->kind == STMT_ATOMIC && s->atomic.buffer == f->b) f->fits = false;
}

static void check_block(struct forwarder *f, struct block *b) {
    for (struct stmt *s = b->first; s; s = s->next) {
        bool outer = f->pipelined;
        if (s->kind == STMT_FOR) {
            f->pipelined |= s->loop.kind == LOOP_PIPELINED;
            check_block(f, &s->loop.body);
            f->pipelined = outer;
        } else if (s->kind == STMT_WHILE) {
            check_block(f, &s->repeat.body);
        } else if (s->kind == STMT_IF) {
            check_block(f, &s->branch.then);
            check_block(f, &s->branch.otherwise);
        } else if (s->kind == STMT_COPY) {
            note_copy(f, s);
        } else if (s->kind == STMT_MAP) {
            block_walk(&s->map.body, note_atomic, f);
        } else if (s->kind != STMT_REDUCE) {
            stmt_accesses(f->p.m, s, note_access, f);
        }
    }
}

/* -- One distribution for all? ----------------------------------------------------------------- */

static bool covers_tile(const struct view *v, const struct domain *d) {
    if (!v->full) return false;
    for (int k = 0; k < v->buffer->rank; k++)
        if (v->axis[k] >= 0 && d->extent[v->axis[k]] != v->buffer->extent[k]) return false;
    return true;
}

struct product {
    const struct buffer *b;
    bool found;
};

static void find_product(struct stmt *s, void *data) {
    struct product *p = data;
    if (s->kind == STMT_GEMM && s->gemm.c.buffer == p->b) p->found = true;
}

/* The axis of the domain along which neighbours lie together: in memory, or in the registers that a
 * product leaves, where they are columns. */
static int run_of(struct forwarder *f, const struct view *v) {
    struct product p = {v->buffer, false};
    if (v->run_axis >= 0 || v->buffer->scope != SCOPE_FRAGMENT) return v->run_axis;
    block_walk(&f->p.k->body, find_product, &p);
    return p.found ? v->axis[v->buffer->rank - 1] : -1;
}

static void note_runs(struct forwarder *f, const struct site *s, const struct view *mine) {
    for (int i = 0; i < s->views.count; i++) {
        int run = run_of(f, &s->views.at[i]);
        for (int k = 0; k < f->b->rank && run >= 0; k++) {
            if (mine->axis[k] != run) continue;
            if (f->run_axis >= 0 && f->run_axis != k) f->fits = false;
            f->run_axis = k;
        }
    }
}

static void check_site(struct forwarder *f, const struct site *s) {
    const struct stmt *t = s->stmt;
    if (t->kind == STMT_REDUCE) {
        if (t->reduce.src.buffer == f->b) f->fits &= region_is_whole(&t->reduce.src);
        if (t->reduce.dst.buffer == f->b) f->fits &= region_is_whole(&t->reduce.dst);
        f->uses += t->reduce.src.buffer == f->b || t->reduce.dst.buffer == f->b;
    }
    for (int i = 0; i < s->views.count; i++) {
        if (s->views.at[i].buffer != f->b) continue;
        f->fits &= covers_tile(&s->views.at[i], site_domain((struct site *)s));
        f->uses++;
        note_runs(f, s, &s->views.at[i]);
    }
}

/* The views are read as if the tile were a fragment already. */
static bool suits(struct forwarder *f) {
    f->fits = true;
    f->pipelined = false;
    f->run_axis = -1;
    f->uses = 0;
    check_block(f, &f->p.k->body);
    if (!f->fits) return false;
    f->b->scope = SCOPE_FRAGMENT;
    collect_sites(&f->p);
    for (int i = 0; i < f->p.sites.count && f->fits; i++) check_site(f, &f->p.sites.at[i]);
    f->b->scope = SCOPE_SHARED;
    return f->fits && f->uses > 0;
}

/* -- Chains: global -> tile -> fragment -------------------------------------------------------- */

struct uses {
    const struct buffer *b;
    int count;
};

static void count_use(const struct access *a, void *data) {
    struct uses *u = data;
    u->count += a->buffer == u->b;
}

static int uses_of(struct plan *p, const struct buffer *b) {
    struct uses u = {b, 0};
    for (struct stmt *s = p->k->body.first; s; s = s->next) stmt_accesses(p->m, s, count_use, &u);
    return u.count;
}

static void remove_buffer(struct kernel *k, const struct buffer *b) {
    int kept = 0;
    for (int i = 0; i < k->buffers.count; i++)
        if (k->buffers.at[i] != b) k->buffers.at[kept++] = k->buffers.at[i];
    k->buffers.count = kept;
}

/* COPY x -> b; COPY b -> y, b used nowhere else and of x's type: COPY x -> y. */
static bool join_chain(struct plan *p, struct block *at, struct stmt *first, struct buffer *b) {
    struct stmt *second = first->next;
    if (!second || first->kind != STMT_COPY || second->kind != STMT_COPY) return false;
    if (first->copy.dst.buffer != b || second->copy.src.buffer != b) return false;
    if (first->copy.src.buffer->dtype != b->dtype ||
        first->copy.domain.rank != second->copy.domain.rank)
        return false;
    if (!region_is_whole(&first->copy.dst) || !region_is_whole(&second->copy.src)) return false;
    if (!region_is_whole(&second->copy.dst) || uses_of(p, b) != 2) return false;
    struct stmt *joined = new_copy(p, &first->copy.src, &second->copy.dst, second->span);
    block_insert_before(at, first, joined);
    block_remove(at, first);
    block_remove(at, second);
    remove_buffer(p->k, b);
    return true;
}

static bool join_in(struct plan *p, struct block *at, struct buffer *b) {
    for (struct stmt *s = at->first; s; s = s->next) {
        if (join_chain(p, at, s, b)) return true;
        if (s->kind == STMT_FOR && join_in(p, &s->loop.body, b)) return true;
        if (s->kind == STMT_WHILE && join_in(p, &s->repeat.body, b)) return true;
        if (s->kind == STMT_IF &&
            (join_in(p, &s->branch.then, b) || join_in(p, &s->branch.otherwise, b)))
            return true;
    }
    return false;
}

/* -- All --------------------------------------------------------------------------------------- */

static void forward_kernel(struct module *m, struct function_ir *fn, struct kernel *k) {
    struct forwarder f = {
        .p = {.m = m, .f = fn, .k = k, .arena = m->arena, .warps = k->threads / 32}};
    for (int i = 0; i < k->buffers.count; i++) {
        f.b = k->buffers.at[i];
        if (!worth_trying(&f) || !suits(&f)) continue;
        f.b->scope = SCOPE_FRAGMENT;
        diag_remark(m->diag, f.b->span, "layout",
                    "'%s' stays in registers: each thread reads what it wrote", f.b->name->text);
        if (join_in(&f.p, &k->body, f.b)) i--;
    }
}

void forward(struct module *m) {
    for (int i = 0; i < m->functions.count; i++)
        for (int j = 0; j < m->functions.at[i]->kernels.count; j++)
            forward_kernel(m, m->functions.at[i], m->functions.at[i]->kernels.at[j]);
}
