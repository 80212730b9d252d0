/* sync.c: the fewest barriers that order every hazard, and exact waits for asynchronous copies.
 *
 * A hazard is an interval between two accesses that some barrier must cut. Of the places that would
 * cut one (in front of the second access, or of a loop or branch around it that does not hold the
 * first) the one that leaves the fewest hazards is taken, then again; at the end every barrier that
 * the later ones made unnecessary goes. A copy by cp.async also needs a WAIT in front of the
 * barrier: those come first, with the number of groups that may stay open counted exactly. */
#include "internal.h"
#include "schedule.h"
#include <limits.h>
#include <stdlib.h>

static bool encloses(const struct outline *o, int outer, int node) {
    return outer < node && node < o->nodes.at[outer].end;
}

/* Where a fence cuts all ways from `first` to `second` and runs seldom: in front of the ancestor of
 * `second` (or itself) in the innermost block around both. The test of a WHILE follows the end of
 * its body. */
static int lifted(const struct outline *o, int first, int second) {
    if (encloses(o, second, first) && o->nodes.at[second].stmt->kind == STMT_WHILE)
        return second + o->nodes.count;
    int at = second;
    for (int p = o->nodes.at[at].parent; p >= 0; p = o->nodes.at[at].parent) {
        if (p == first || encloses(o, p, first)) return at;
        at = p;
    }
    return at;
}

/* -- Waits ------------------------------------------------------------------------------------- */

static bool add_wait(struct fence *f, int groups, bool commit) {
    struct fence before = *f;
    f->commit |= commit;
    if (f->wait < 0 || groups < f->wait) f->wait = groups;
    return before.wait != f->wait || before.commit != f->commit;
}

/* The groups that may stay open are counted at the second access: between the place and that one
 * more may be opened. */
static bool wait_more(struct fence *f) {
    if (f->wait <= 0) return false;
    f->wait--;
    return true;
}

static bool wait_for(struct hazards *h, const struct hazard *z) {
    struct fence *f = hazards_fence(h, lifted(hazards_outline(h), z->first, z->second));
    return add_wait(f, z->groups, z->uncommitted) || wait_more(f) || add_wait(f, 0, true) ||
           add_wait(hazards_fence(h, z->second), 0, true);
}

/* One at a time, since a wait may serve later accesses too. Returns the hazards that are left. */
static int place_waits(struct hazards *h, struct hazard const **left) {
    const struct hazard *list;
    int count = 0;
    for (bool changed = true; changed;) {
        count = hazards_find(h, &list);
        changed = false;
        for (int i = 0; i < count && !changed; i++)
            changed = list[i].groups >= 0 && wait_for(h, &list[i]);
    }
    *left = list;
    return count;
}

/* -- Barriers ---------------------------------------------------------------------------------- */

struct choice {
    int place, left; /* hazards that remain */
};

static int depth_of(const struct outline *o, int place) {
    int n = o->nodes.count;
    return place < n ? o->nodes.at[place].depth : o->nodes.at[place - n].depth + 1;
}

static bool better(const struct outline *o, struct choice a, struct choice b) {
    if (b.place < 0 || a.left != b.left) return b.place < 0 || a.left < b.left;
    int x = depth_of(o, a.place), y = depth_of(o, b.place);
    return x != y ? x < y : a.place > b.place;
}

static void try_place(struct hazards *h, int place, bool *tried, struct choice *best) {
    struct fence *f = hazards_fence(h, place);
    if (tried[place] || f->barrier) return;
    tried[place] = true;
    f->barrier = true;
    int enough = best->place < 0 ? INT_MAX : best->left; /* more is no better */
    struct choice c = {.place = place, .left = hazards_count(h, enough)};
    f->barrier = false;
    if (better(hazards_outline(h), c, *best)) *best = c;
}

/* In front of the second access, or of what holds it, up to the block that holds both; beyond an IF
 * whose branches hold one each. */
static void try_places(struct hazards *h, const struct hazard *z, bool *tried,
                       struct choice *best) {
    const struct outline *o = hazards_outline(h);
    int top = lifted(o, z->first, z->second);
    try_place(h, top, tried, best);
    if (top >= o->nodes.count) {
        /* A `continue` passes the end by: any place after the first access may do. */
        for (int i = z->second + 1; i < o->nodes.at[z->second].end; i = o->nodes.at[i].end)
            if (i > z->first) try_place(h, i, tried, best);
        return;
    }
    for (int at = z->second; at >= 0; at = o->nodes.at[at].parent) {
        try_place(h, at, tried, best);
        int p = o->nodes.at[at].parent;
        if (at <= top && (p < 0 || o->nodes.at[p].stmt->kind != STMT_IF)) return;
    }
}

enum { MANY = 192 }; /* hazards, from which on trials take too long */

static int by_end(const void *a, const void *b) {
    const struct hazard *x = a, *y = b;
    return x->second != y->second ? x->second - y->second : y->first - x->first;
}

/* The hazard that ends first is cut as late as possible, then the next that this leaves: what is
 * best in straight-line code, found without trials. Returns the last new place, -1: none. */
static int place_in_order(struct hazards *h, const struct hazard *list, int count,
                          struct arena *scratch) {
    struct hazard *sorted = arena_array(scratch, struct hazard, count);
    int last = -1;
    memcpy(sorted, list, sizeof *list * (size_t)count);
    qsort(sorted, (size_t)count, sizeof *sorted, by_end);
    for (int i = 0; i < count; i++) {
        const struct hazard *z = &sorted[i];
        if (z->first < last && last <= z->second) continue;
        int place = lifted(hazards_outline(h), z->first, z->second);
        if (hazards_fence(h, place)->barrier) continue;
        hazards_fence(h, place)->barrier = true;
        last = place;
    }
    return last;
}

struct placed {
    int left, last; /* hazards that nothing cuts; the barrier placed last, -1: none */
};

static struct placed place_barriers(struct hazards *h, int count, const struct hazard *list,
                                    struct arena *scratch) {
    struct placed p = {count, -1};
    while (p.left > 0) {
        struct choice best = {.place = -1};
        if (p.left > MANY && place_in_order(h, list, p.left, scratch) >= 0) {
            p = (struct placed){hazards_find(h, &list), -1};
            continue;
        }
        bool *tried = arena_array(scratch, bool, 2 * hazards_outline(h)->nodes.count);
        for (int i = 0; i < p.left; i++) try_places(h, &list[i], tried, &best);
        if (best.place < 0 || best.left >= p.left) break;
        hazards_fence(h, best.place)->barrier = true;
        p = (struct placed){best.left, best.place};
        if (p.left > 0) hazards_find(h, &list);
    }
    return p;
}

/* All barriers are needed if hazards are left, and so is the last: it cut what all others had not.
 */
static void drop_needless(struct hazards *h, struct placed p) {
    const struct outline *o = hazards_outline(h);
    hazards_widen(h);
    for (int i = 0; i < 2 * o->nodes.count && p.left == 0; i++) {
        struct fence *f = hazards_fence(h, i);
        if (!f->barrier || i == p.last) continue;
        f->barrier = false;
        f->barrier = hazards_count(h, 0) > 0;
    }
}

/* -- The pass ---------------------------------------------------------------------------------- */

struct site {
    struct block *block;
    struct stmt *before; /* NULL: at the end of the block */
    struct span span;
};

static struct site site_of(const struct outline *o, int place) {
    if (place < o->nodes.count) {
        const struct node *n = &o->nodes.at[place];
        return (struct site){n->block, n->stmt, n->stmt->span};
    }
    struct stmt *loop = o->nodes.at[place - o->nodes.count].stmt;
    struct block *body = loop->kind == STMT_FOR ? &loop->loop.body : &loop->repeat.body;
    return (struct site){body, NULL, loop->span};
}

static void put(struct module *m, const struct site *at, enum stmt_kind kind, int groups) {
    struct stmt *s = stmt_new(m, kind, at->span);
    if (kind == STMT_WAIT) s->wait.groups = groups;
    if (at->before)
        block_insert_before(at->block, at->before, s);
    else
        block_append(at->block, s);
}

static void insert_fences(struct module *m, struct hazards *h) {
    const struct outline *o = hazards_outline(h);
    for (int i = 0; i < 2 * o->nodes.count; i++) {
        const struct fence *f = hazards_fence(h, i);
        struct site at = site_of(o, i);
        if (f->commit) put(m, &at, STMT_COMMIT, 0);
        if (f->wait >= 0) put(m, &at, STMT_WAIT, f->wait);
        if (!f->barrier) continue;
        put(m, &at, STMT_BARRIER, 0);
        diag_remark(m->diag, at.span, "schedule", "a barrier in front of this");
    }
}

/* A `continue` may pass by the only place where a barrier could stand. */
static void report_rest(struct module *m, struct hazards *h) {
    const struct hazard *list;
    hazards_find(h, &list);
    const struct outline *o = hazards_outline(h);
    diag_report(
        m->diag, o->nodes.at[list[0].second].stmt->span, E0601,
        "threads exchange data through memory here, but no place in front of this is passed by "
        "all of them; a continue in the loop is in the way");
    diag_note(m->diag, o->nodes.at[list[0].first].stmt->span, "the other access is here");
}

static void settle(struct module *m, struct hazards *h, struct arena *scratch) {
    const struct hazard *list;
    int count = place_waits(h, &list);
    struct placed p = place_barriers(h, count, list, scratch);
    drop_needless(h, p);
    if (p.left > 0) report_rest(m, h);
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

/* May a copy be on its way behind the block, if one may be (`before`) in front of it? */
static bool copies_run(const struct block *b, bool before) {
    bool some = before;
    for (const struct stmt *s = b->first; s; s = s->next) {
        bool in = some;
        if (s->kind == STMT_COPY && s->copy.async) some = true;
        if (s->kind == STMT_WAIT && s->wait.groups == 0) some = false;
        if (s->kind == STMT_FOR) some = copies_run(&s->loop.body, in) || in;
        if (s->kind == STMT_WHILE) some = copies_run(&s->repeat.body, in) || in;
        if (s->kind == STMT_IF)
            some = copies_run(&s->branch.then, in) || copies_run(&s->branch.otherwise, in);
    }
    return some;
}

/* What nobody reads is still complete when the kernel ends. */
static void finish_copies(struct module *m, struct kernel *k) {
    if (copies_run(&k->body, false)) block_append(&k->body, stmt_new(m, STMT_WAIT, k->span));
}

static void sync_kernel(struct module *m, struct kernel *k) {
    if (!split_maps(m, k)) return;
    struct arena *scratch = arena_new();
    struct hazards *h = hazards_new(m, scratch, k);
    if (hazards_report_divergent(h) == 0) settle(m, h, scratch);
    finish_copies(m, k);
    arena_free(scratch);
}

void sync(struct module *m) {
    for (int f = 0; f < m->functions.count; f++)
        for (int k = 0; k < m->functions.at[f]->kernels.count; k++)
            sync_kernel(m, m->functions.at[f]->kernels.at[k]);
}
