/* sync.c: the fewest barriers that order every hazard, and exact waits for asynchronous copies.
 *
 * A hazard is an interval between two accesses that some barrier must cut. Of the places that would
 * cut one (in front of the second access, or of a loop or branch around it that does not hold the
 * first) the one that leaves the fewest hazards is taken, then again; at the end every barrier that
 * the later ones made unnecessary goes. A copy by cp.async also needs a WAIT in front of the
 * barrier: those come first, with the number of groups that may stay open counted exactly. */
#include "internal.h"
#include "schedule.h"

/* The ancestor of `node` (or itself) that stands in the innermost block around both. */
static int lifted(const struct outline *o, int first, int node) {
    int at = node;
    while (at >= 0) {
        int p = o->nodes.at[at].parent;
        if (p < 0 || (p <= first && first < o->nodes.at[p].end)) return at;
        at = p;
    }
    return node;
}

/* -- Waits ------------------------------------------------------------------------------------- */

static void add_wait(struct hazards *h, const struct hazard *z) {
    struct fence *f = hazards_fence(h, lifted(hazards_outline(h), z->first, z->second));
    f->commit |= z->uncommitted;
    if (f->wait < 0 || z->groups < f->wait) f->wait = z->groups;
}

/* One at a time: a wait may serve later accesses too. Falls back to waiting right at the access. */
static void place_waits(struct hazards *h) {
    const struct hazard *list;
    for (int round = 0; round < 1000; round++) {
        int count = hazards_find(h, &list), late = -1;
        for (int i = 0; i < count && late < 0; i++)
            if (list[i].groups >= 0) late = i;
        if (late < 0) return;
        struct fence before =
            *hazards_fence(h, lifted(hazards_outline(h), list[late].first, list[late].second));
        add_wait(h, &list[late]);
        struct fence after =
            *hazards_fence(h, lifted(hazards_outline(h), list[late].first, list[late].second));
        if (before.wait != after.wait || before.commit != after.commit) continue;
        struct fence *f = hazards_fence(h, list[late].second);
        if (f->wait == 0 && f->commit) return;
        f->wait = 0;
        f->commit = true;
    }
}

/* -- Barriers ---------------------------------------------------------------------------------- */

struct choice {
    int node, left; /* hazards that remain */
};

static bool better(const struct outline *o, struct choice a, struct choice b) {
    if (b.node < 0 || a.left != b.left) return b.node < 0 || a.left < b.left;
    if (o->nodes.at[a.node].depth != o->nodes.at[b.node].depth)
        return o->nodes.at[a.node].depth < o->nodes.at[b.node].depth;
    return a.node > b.node;
}

static void try_place(struct hazards *h, int node, bool *tried, struct choice *best) {
    struct fence *f = hazards_fence(h, node);
    if (tried[node] || f->barrier) return;
    tried[node] = true;
    f->barrier = true;
    struct choice c = {.node = node, .left = hazards_find(h, NULL)};
    f->barrier = false;
    if (better(hazards_outline(h), c, *best)) *best = c;
}

static void place_barriers(struct hazards *h, struct arena *scratch) {
    const struct outline *o = hazards_outline(h);
    const struct hazard *list;
    for (int count; (count = hazards_find(h, &list)) > 0;) {
        struct choice best = {.node = -1};
        bool *tried = arena_array(scratch, bool, o->nodes.count);
        for (int i = 0; i < count; i++) {
            int top = lifted(o, list[i].first, list[i].second);
            for (int at = list[i].second; at >= 0; at = o->nodes.at[at].parent) {
                try_place(h, at, tried, &best);
                if (at <= top && o->nodes.at[at].parent >= 0 &&
                    o->nodes.at[o->nodes.at[at].parent].stmt->kind != STMT_IF)
                    break;
                if (at <= top && o->nodes.at[at].parent < 0) break;
            }
        }
        if (best.node < 0 || best.left >= count) return;
        hazards_fence(h, best.node)->barrier = true;
    }
}

static void drop_needless(struct hazards *h) {
    const struct outline *o = hazards_outline(h);
    for (int i = 0; i < o->nodes.count; i++) {
        struct fence *f = hazards_fence(h, i);
        if (!f->barrier) continue;
        f->barrier = false;
        f->barrier = hazards_find(h, NULL) > 0;
    }
}

/* -- The pass ---------------------------------------------------------------------------------- */

static void put(struct module *m, const struct node *n, enum stmt_kind kind, int groups) {
    struct stmt *s = stmt_new(m, kind, n->stmt->span);
    if (kind == STMT_WAIT) s->wait.groups = groups;
    block_insert_before(n->block, n->stmt, s);
}

static void insert_fences(struct module *m, struct hazards *h) {
    const struct outline *o = hazards_outline(h);
    for (int i = 0; i < o->nodes.count; i++) {
        const struct fence *f = hazards_fence(h, i);
        if (f->commit) put(m, &o->nodes.at[i], STMT_COMMIT, 0);
        if (f->wait >= 0) put(m, &o->nodes.at[i], STMT_WAIT, f->wait);
        if (!f->barrier) continue;
        put(m, &o->nodes.at[i], STMT_BARRIER, 0);
        diag_remark(m->diag, o->nodes.at[i].stmt->span, "schedule", "a barrier in front of this");
    }
}

static void settle(struct module *m, struct hazards *h, struct arena *scratch) {
    place_waits(h);
    place_barriers(h, scratch);
    drop_needless(h);
    insert_fences(m, h);
}

void sync_order(struct module *m, struct kernel *k, const struct buffer *x,
                const struct buffer *y) {
    struct arena *scratch = arena_new();
    struct hazards *h = hazards_new(m, scratch, k);
    hazards_fold(h, x, y);
    settle(m, h, scratch);
    arena_free(scratch);
}

static void sync_kernel(struct module *m, struct kernel *k) {
    if (!split_maps(m, k)) return;
    struct arena *scratch = arena_new();
    struct hazards *h = hazards_new(m, scratch, k);
    if (hazards_report_divergent(h) == 0) settle(m, h, scratch);
    arena_free(scratch);
}

void sync(struct module *m) {
    for (int f = 0; f < m->functions.count; f++)
        for (int k = 0; k < m->functions.at[f]->kernels.count; k++)
            sync_kernel(m, m->functions.at[f]->kernels.at[k]);
}
