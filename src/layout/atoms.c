/* atoms.c: the tensor-core instruction and the warp partition of each gemm.
 *
 * A warp reads (M / row warps + N / column warps) * K operand elements from shared memory for its
 * part of a tile, so square warp tiles cost least. Two things weigh more: an accumulator that is
 * reduced along an axis should not be divided along it, else every reduction crosses warps; and an
 * accumulator that becomes the A operand of another gemm stays in registers only if both gemms
 * divide rows alike. */
#include "layout/plan.h"

enum { WARPS_MAX = 32 };

/* What the partition of one accumulator depends on. */
struct group {
    struct buffer *accumulator;
    struct stmt *first;
    const struct mma_row *row; /* of the last gemm of it that has an instruction, or NULL */
    int rows, columns;         /* instruction tiles along m and n */
    int m, n, depth;
    bool reduced[2];   /* reduced along axis 0, 1 */
    bool feeds, fed;   /* becomes an A operand; has a register A operand */
    unsigned policies; /* bits by gemm_policy */
    int row_warps, column_warps;
};

struct work {
    struct module *m;
    struct kernel *k;
    VEC(struct stmt *) gemms;
    VEC(struct stmt *) others; /* MAP COPY REDUCE */
    VEC(struct group) groups;
};

static void collect(struct stmt *s, void *data) {
    struct work *w = data;
    if (s->kind == STMT_GEMM) vec_push(w->m->arena, &w->gemms, s);
    if (s->kind == STMT_MAP || s->kind == STMT_COPY || s->kind == STMT_REDUCE)
        vec_push(w->m->arena, &w->others, s);
}

/* -- Instructions ------------------------------------------------------------------------------ */

/* The widest row whose depth divides k; rows of the same types differ in depth only as far as the
 * gemm is concerned. */
static const struct mma_row *choose_row(const struct module *m, const struct stmt *s) {
    const struct mma_row *widest =
        module_mma(m, s->gemm.a.buffer->dtype, s->gemm.b.buffer->dtype, s->gemm.c.buffer->dtype);
    if (!widest || s->gemm.k % widest->k == 0) return widest;
    const struct mma_row *best = NULL;
    for (int i = 0; i < mma_count(); i++) {
        const struct mma_row *r = mma_row(i);
        if (r->a != widest->a || r->b != widest->b || r->acc != widest->acc) continue;
        if (!module_at_least(m, TRAIT_CAPABILITY, r->capability) || s->gemm.k % r->k) continue;
        if (!best || r->m * r->n * r->k > best->m * best->n * best->k) best = r;
    }
    return best;
}

static void warn_plain(struct module *m, const struct stmt *s) {
    const struct buffer *a = s->gemm.a.buffer, *b = s->gemm.b.buffer, *c = s->gemm.c.buffer;
    const struct mma_row *row = module_mma(m, a->dtype, b->dtype, c->dtype);
    if (row)
        diag_report(m->diag, s->span, W_PERF_NO_MMA,
                    "the product depth %d of '%s' and '%s' is no multiple of a tensor-core depth "
                    "for %s; it is computed with plain multiply-adds; %d would do",
                    s->gemm.k, a->name->text, b->name->text, dtype_spelling(a->dtype),
                    (s->gemm.k + row->k - 1) / row->k * row->k);
    else
        diag_report(m->diag, s->span, W_PERF_NO_MMA,
                    "%s has no tensor-core instruction for %s times %s into %s; '%s' is computed "
                    "with plain multiply-adds",
                    module_target_name(m), dtype_spelling(a->dtype), dtype_spelling(b->dtype),
                    dtype_spelling(c->dtype), c->name->text);
}

/* -- Groups ------------------------------------------------------------------------------------ */

static bool same_region(const struct region *a, const struct region *b) {
    if (a->buffer != b->buffer) return false;
    for (int i = 0; i < a->buffer->rank; i++)
        if (a->extent[i] != b->extent[i]) return false;
    return true;
}

static struct group *group_of(struct work *w, const struct stmt *s) {
    for (int i = 0; i < w->groups.count; i++)
        if (same_region(&w->groups.at[i].first->gemm.c, &s->gemm.c)) return &w->groups.at[i];
    return NULL;
}

static void join_group(struct work *w, struct stmt *s) {
    struct group *g = group_of(w, s);
    if (!g) {
        struct group fresh = {.accumulator = s->gemm.c.buffer,
                              .first = s,
                              .m = s->gemm.m,
                              .n = s->gemm.n,
                              .rows = 1,
                              .columns = 1};
        vec_push(w->m->arena, &w->groups, fresh);
        g = &w->groups.at[w->groups.count - 1];
    }
    g->policies |= 1u << s->gemm.policy;
    g->depth += s->gemm.k;
    if (s->gemm.a.buffer->scope == SCOPE_FRAGMENT) g->fed = true;
    if (s->gemm.atom < 0) return;
    const struct mma_row *r = mma_row(s->gemm.atom);
    g->row = r;
    g->rows = (s->gemm.m + r->m - 1) / r->m;
    g->columns = (s->gemm.n + r->n - 1) / r->n;
}

/* -- Where an accumulator goes ----------------------------------------------------------------- */

struct flow {
    struct work *w;
    bool *reached; /* by buffer id */
    const struct stmt *stmt;
    bool reads, grew;
};

static void note_read(const struct access *a, void *data) {
    struct flow *f = data;
    if ((a->kind & ACCESS_READ) && f->reached[a->buffer->id] && a->buffer->scope == SCOPE_FRAGMENT)
        f->reads = true;
}

static void note_write(const struct access *a, void *data) {
    struct flow *f = data;
    if (!(a->kind & ACCESS_WRITE) || a->buffer->scope != SCOPE_FRAGMENT) return;
    if (a->buffer->rank < 2 || f->reached[a->buffer->id]) return;
    f->reached[a->buffer->id] = true;
    f->grew = true;
}

/* Marks the fragments that elementwise operations make from the accumulator. */
static void follow(struct work *w, bool *reached) {
    struct flow f = {.w = w, .reached = reached, .grew = true};
    while (f.grew) {
        f.grew = false;
        for (int i = 0; i < w->others.count; i++) {
            if (w->others.at[i]->kind == STMT_REDUCE) continue;
            f.reads = false;
            stmt_buffers(w->m, w->others.at[i], note_read, &f);
            if (f.reads) stmt_buffers(w->m, w->others.at[i], note_write, &f);
        }
    }
}

static void trace_group(struct work *w, struct group *g) {
    bool *reached = arena_array(w->m->arena, bool, w->k->function->buffer_count + 1);
    reached[g->accumulator->id] = true;
    follow(w, reached);
    for (int i = 0; i < w->others.count; i++) {
        const struct stmt *s = w->others.at[i];
        if (s->kind != STMT_REDUCE || !reached[s->reduce.src.buffer->id]) continue;
        int from_end = s->reduce.src.buffer->rank - 1 - s->reduce.axis;
        if (from_end <= 1) g->reduced[1 - from_end] = true;
    }
    for (int i = 0; i < w->gemms.count; i++)
        if (reached[w->gemms.at[i]->gemm.a.buffer->id]) g->feeds = true;
}

/* -- Partitions -------------------------------------------------------------------------------- */

static bool policy_allows(unsigned policies, int rows, int columns) {
    if ((policies & (1u << POLICY_FULL_ROW)) && columns != 1) return false;
    if ((policies & (1u << POLICY_FULL_COL)) && rows != 1) return false;
    return true;
}

static bool split_legal(const struct group *g, int rows, int columns) {
    return g->rows % rows == 0 && g->columns % columns == 0;
}

static double partition_cost(const struct group *g, int rows, int columns) {
    double a = (double)g->m / rows, b = (double)g->n / columns;
    double cost = a + b + 0.001 * rows; /* a tie goes to warp tiles with more rows */
    double crossing = (double)(g->m + g->n) * 8;
    if (g->reduced[1] && columns > 1) cost += crossing;
    if (g->reduced[0] && rows > 1) cost += crossing;
    if ((g->feeds || g->fed) && columns > 1) cost += crossing / 2;
    return cost;
}

static bool choose_partition(struct group *g, int warps, unsigned policies) {
    double best = 0;
    bool found = false;
    for (int rows = 1; rows <= warps; rows++) {
        if (warps % rows) continue;
        int columns = warps / rows;
        if (!policy_allows(policies, rows, columns) || !split_legal(g, rows, columns)) continue;
        double cost = partition_cost(g, rows, columns);
        if (found && cost >= best) continue;
        best = cost;
        found = true;
        g->row_warps = rows;
        g->column_warps = columns;
    }
    return found;
}

static bool divides(const struct group *g, int warps) {
    struct group trial = *g;
    return !g->row || choose_partition(&trial, warps, g->policies);
}

static bool divides_all(const struct work *w, int warps) {
    for (int i = 0; i < w->groups.count; i++)
        if (!divides(&w->groups.at[i], warps)) return false;
    return true;
}

/* "32, 64 or 128": the thread counts that divide all tiles of the kernel; one warp does. */
static const char *legal_threads(const struct work *w) {
    struct text t = text_new(w->m->arena);
    int legal[WARPS_MAX], count = 0;
    for (int warps = 1; warps <= WARPS_MAX; warps++)
        if (divides_all(w, warps)) legal[count++] = warps;
    for (int i = 0; i < count; i++)
        text_printf(&t, "%s%d", i == 0 ? "" : i == count - 1 ? " or " : ", ", 32 * legal[i]);
    return t.at;
}

static const char *policy_name(unsigned policies) {
    if (policies & (1u << POLICY_FULL_ROW)) return "FullRow";
    return policies & (1u << POLICY_FULL_COL) ? "FullCol" : "Square";
}

static void refuse(struct work *w, const struct group *g) {
    struct diag *d = w->m->diag;
    const struct mma_row *r = g->row;
    diag_report(d, g->first->span, E0501,
                "%d threads (%d warps) do not divide the %dx%d tile of '%s' with policy %s: it has "
                "%d row%s and %d column%s of %dx%d instruction tiles; threads may be %s",
                w->k->threads, w->k->threads / 32, g->m, g->n, g->accumulator->name->text,
                policy_name(g->policies), g->rows, g->rows == 1 ? "" : "s", g->columns,
                g->columns == 1 ? "" : "s", r->m, r->n, legal_threads(w));
    struct group free_choice = *g;
    if (g->policies != 1u << POLICY_SQUARE && choose_partition(&free_choice, w->k->threads / 32, 0))
        diag_note(d, g->first->span, "policy Square divides it into %d x %d warps",
                  free_choice.row_warps, free_choice.column_warps);
}

/* Of two that contradict the first counts. */
static void settle_policies(struct group *g) {
    unsigned both = 1u << POLICY_FULL_ROW | 1u << POLICY_FULL_COL;
    if ((g->policies & both) == both) g->policies = 1u << g->first->gemm.policy;
}

static void partition_group(struct work *w, struct group *g) {
    int warps = w->k->threads / 32;
    if (!g->row) {
        g->row_warps = warps;
        g->column_warps = 1;
        return;
    }
    if (choose_partition(g, warps, g->policies)) return;
    refuse(w, g);
    g->row_warps = g->column_warps = 1;
}

static void remark(struct work *w, const struct stmt *s) {
    if (s->gemm.atom < 0) return;
    const struct mma_row *r = mma_row(s->gemm.atom);
    struct group *g = group_of(w, s);
    bool inside =
        (!g->reduced[1] || s->gemm.column_warps == 1) && (!g->reduced[0] || s->gemm.row_warps == 1);
    const char *why = "nearest to square";
    if (g->policies != 1u << POLICY_SQUARE)
        why = "as its policy asks";
    else if ((g->reduced[0] || g->reduced[1]) && inside)
        why = "the reduced axis stays inside a warp";
    else if ((g->feeds || g->fed) && s->gemm.column_warps == 1)
        why = "rows divided so that the product chain stays in registers";
    diag_remark(w->m->diag, s->span, "layout",
                "gemm %dx%dx%d into '%s': %s, warps %d x %d, %dx%d a warp, %s", s->gemm.m,
                s->gemm.n, s->gemm.k, s->gemm.c.buffer->name->text, r->name, s->gemm.row_warps,
                s->gemm.column_warps, s->gemm.m / s->gemm.row_warps,
                s->gemm.n / s->gemm.column_warps, why);
}

static void atoms_of_kernel(struct module *m, struct kernel *k) {
    struct work w = {.m = m, .k = k};
    block_walk(&k->body, collect, &w);
    for (int i = 0; i < w.gemms.count; i++) {
        struct stmt *s = w.gemms.at[i];
        const struct mma_row *row = choose_row(m, s);
        s->gemm.atom = row ? row->id : -1;
        if (!row) warn_plain(m, s);
        join_group(&w, s);
    }
    for (int i = 0; i < w.groups.count; i++) trace_group(&w, &w.groups.at[i]);
    for (int i = 0; i < w.groups.count; i++) settle_policies(&w.groups.at[i]);
    for (int i = 0; i < w.groups.count; i++) partition_group(&w, &w.groups.at[i]);
    for (int i = 0; i < w.gemms.count; i++) {
        struct stmt *s = w.gemms.at[i];
        s->gemm.row_warps = group_of(&w, s)->row_warps;
        s->gemm.column_warps = group_of(&w, s)->column_warps;
        remark(&w, s);
    }
}

void atoms(struct module *m) {
    for (int i = 0; i < m->functions.count; i++)
        for (int j = 0; j < m->functions.at[i]->kernels.count; j++)
            atoms_of_kernel(m, m->functions.at[i]->kernels.at[j]);
}
