/* hazard.c: which accesses to memory that threads share nothing orders.
 *
 * The kernel is run abstractly: the state is the set of accesses ("events") that no barrier has
 * closed yet. A barrier closes all but copies still under way; a WAIT turns copies whose group is
 * old enough into ordinary writes. Loops run until their entry state stops growing, so what one
 * iteration leaves behind meets the next. Two accesses are a hazard if they may touch the same
 * element, one writes, and different threads may do them.
 *
 * Slots of a ring are told apart by their counters: a counter holds (iterations + phase) mod slots,
 * so an event keeps the distance of its slot from the iteration, which falls by one at the back
 * edge. Other indices that a loop changes are forgotten there: they may be anything. */
#include "hazard.h"
#include <limits.h>

enum { COMPLETE = INT32_MAX };

static bool writes(const struct use *u) { return u->kind & ACCESS_WRITE; }

/* -- Slots ------------------------------------------------------------------------------------- */

static const struct counter *counter_of(const struct hazards *h, const struct expr *e) {
    if (e->kind != EXPR_VAR) return NULL;
    for (int i = 0; i < h->counters.count; i++)
        if (h->counters.at[i].var == e->var) return &h->counters.at[i];
    return NULL;
}

static struct slot slot_now(const struct hazards *h, const struct use *u) {
    struct slot s = {.kind = SLOT_ANY};
    int64_t value;
    if (u->root->ring <= 0 || u->access.buffer != u->root) return s;
    const struct expr *e = use_slot(u);
    if (expr_is_int(e, &value)) return (struct slot){.kind = SLOT_CONSTANT, .value = (int)value};
    const struct counter *c = counter_of(h, e);
    if (!c || !c->active) return s;
    return (struct slot){
        .kind = SLOT_COUNTED, .loop = c->loop, .value = (c->phase + c->advanced) % c->slots};
}

/* Do counters of the loop select slots of the buffer? */
static bool is_counted(const struct hazards *h, const struct buffer *root, int loop) {
    for (int i = 0; i < h->counted.count; i++)
        if (h->counted.at[i].root == root && h->counted.at[i].loop == loop) return true;
    return false;
}

static bool slots_differ(struct slot a, struct slot b) {
    if (a.kind == SLOT_ANY || a.kind != b.kind || a.loop != b.loop) return false;
    return a.value != b.value;
}

/* -- Conflicts --------------------------------------------------------------------------------- */

/* The axes along which they never meet while the indices mean the same. */
static unsigned axes_apart(const struct use *x, const struct use *y) {
    unsigned axes = 0;
    if (x->access.buffer != y->access.buffer) return 0;
    for (int i = 0; i < x->access.buffer->rank; i++)
        if (axis_apart(x, y, i)) axes |= 1u << i;
    return axes;
}

/* Does one thread touch an element in both, while the indices along *fixed mean the same? */
static bool same_threads(const struct use *x, const struct use *y, unsigned *fixed) {
    *fixed = 0;
    if (x->access.buffer != y->access.buffer || x->map.kind != y->map.kind) return false;
    if (x->map.kind == MAP_UNKNOWN) return false;
    for (int i = 0; i < x->access.buffer->rank; i++) {
        if (x->map.axis[i] < 0 && y->map.axis[i] < 0) continue;
        if (x->map.axis[i] < 0 || y->map.axis[i] < 0) return false;
        if (x->map.base[i] != y->map.base[i]) return false;
        *fixed |= 1u << i;
    }
    return x->map.kind == MAP_THREAD || thread_layouts_equal(x->map.layout, y->map.layout);
}

/* Atomics of one operation may come in any order, unless somebody looks at what was there. */
static bool commute(const struct use *x, const struct use *y) {
    if (!x->atomic || !y->atomic) return false;
    const struct stmt *a = x->access.stmt, *b = y->access.stmt;
    return a->atomic.op == b->atomic.op && !a->atomic.previous && !b->atomic.previous;
}

static struct relation relation_of(const struct use *x, const struct use *y) {
    struct relation r = {.meet = (writes(x) || writes(y)) && x->root == y->root && !commute(x, y)};
    if (!r.meet) return r;
    r.apart = axes_apart(x, y);
    r.own = same_threads(x, y, &r.fixed);
    return r;
}

/* The same pairs meet in every run. */
static const struct relation *relation(struct hazards *h, int first, int second) {
    uint64_t pair = (uint64_t)first * (uint64_t)h->uses.count + (uint64_t)second;
    struct related *known = &h->related[pair & (uint64_t)(h->related_room - 1)];
    if (known->first != first + 1 || known->second != second)
        *known = (struct related){first + 1, second,
                                  relation_of(&h->uses.at[first], &h->uses.at[second])};
    return &known->relation;
}

static bool pair_folded(const struct hazards *h, const struct use *x, const struct use *y) {
    return (x->root == h->fold[0] && y->root == h->fold[1]) ||
           (x->root == h->fold[1] && y->root == h->fold[0]);
}

enum conflict { CONFLICT_NONE, CONFLICT_OWN, CONFLICT_THREADS };

static enum conflict conflict_folded(const struct hazards *h, const struct event *e, int second) {
    const struct use *x = &h->uses.at[e->use], *y = &h->uses.at[second];
    bool folded = (writes(x) || writes(y)) && pair_folded(h, x, y);
    return folded ? CONFLICT_THREADS : CONFLICT_NONE;
}

/* `slot` is that of the second use now. */
static enum conflict conflict(struct hazards *h, const struct event *e, int second,
                              struct slot slot) {
    if (h->fold[0]) return conflict_folded(h, e, second);
    const struct relation *r = relation(h, e->use, second);
    if (!r->meet || r->apart & ~e->forgotten || slots_differ(e->slot, slot)) return CONFLICT_NONE;
    return r->own && !(r->fixed & e->forgotten) ? CONFLICT_OWN : CONFLICT_THREADS;
}

static int *find_slot(const struct hazards *h, int first, int second) {
    unsigned at = (unsigned)first * 2654435761u ^ (unsigned)second * 40503u;
    for (at ^= at >> 15;; at++) {
        int *slot = &h->found_slot[at & (unsigned)(h->found_room - 1)];
        if (!*slot) return slot;
        const struct hazard *f = &h->found.at[*slot - 1];
        if (f->first == first && f->second == second) return slot;
    }
}

static void grow_slots(struct hazards *h) {
    h->found_room *= 2;
    h->found_slot = arena_array(h->arena, int, h->found_room);
    for (int i = 0; i < h->found.count; i++)
        *find_slot(h, h->found.at[i].first, h->found.at[i].second) = i + 1;
}

static void record(struct hazards *h, const struct event *e, int second, enum conflict c) {
    const struct use *x = &h->uses.at[e->use], *y = &h->uses.at[second];
    bool late = e->open != COMPLETE;
    if (c == CONFLICT_OWN && !late) return;
    h->met[e->use] = h->met[second] = true;
    struct hazard found = {
        .first = x->node, .second = y->node, .groups = -1, .barrier = c == CONFLICT_THREADS};
    if (late) {
        found.uncommitted = e->open == 0;
        found.groups = e->open == 0 ? 0 : e->open - 1;
    }
    int *slot = find_slot(h, found.first, found.second);
    if (*slot) {
        struct hazard *f = &h->found.at[*slot - 1];
        if (found.groups >= 0 && (f->groups < 0 || found.groups < f->groups))
            f->groups = found.groups;
        f->uncommitted |= found.uncommitted;
        f->barrier |= found.barrier;
        return;
    }
    vec_push(h->arena, &h->found, found);
    *slot = h->found.count;
    if (h->found.count * 2 > h->found_room) grow_slots(h);
}

/* -- States ------------------------------------------------------------------------------------ */

static bool event_equal(const struct event *a, const struct event *b) {
    return a->use == b->use && a->forgotten == b->forgotten && a->slot.kind == b->slot.kind &&
           a->slot.loop == b->slot.loop && a->slot.value == b->slot.value;
}

/* No way leads here yet, and nothing has happened. */
static struct state state_new(struct hazards *h) {
    if (h->spare.count) return h->spare.at[--h->spare.count];
    return (struct state){.dead = true, .last = arena_array(h->arena, int, h->uses.count)};
}

static void state_clear(const struct hazards *h, struct state *s) {
    memset(s->last, 0, sizeof *s->last * (size_t)h->uses.count);
    s->events.count = 0;
    s->dead = true;
    s->mixed = false;
}

static void state_free(struct hazards *h, struct state *s) {
    state_clear(h, s);
    vec_push(h->arena, &h->spare, *s);
}

static void state_append(struct hazards *h, struct state *s, const struct event *e) {
    vec_push(h->arena, &s->events, *e);
    s->events.at[s->events.count - 1].before = s->last[e->use];
    s->last[e->use] = s->events.count;
}

static bool state_add(struct hazards *h, struct state *s, const struct event *e) {
    for (int i = s->last[e->use]; i; i = s->events.at[i - 1].before) {
        struct event *old = &s->events.at[i - 1];
        if (!event_equal(old, e)) continue;
        if (old->open <= e->open) return false;
        old->open = e->open;
        return true;
    }
    state_append(h, s, e);
    return true;
}

/* Most states that meet come from one, and hold what came from there at the same places. */
static bool holds_at(const struct state *s, int i, const struct event *e) {
    return i < s->events.count && event_equal(&s->events.at[i], e) &&
           s->events.at[i].open <= e->open;
}

/* True if `into` grew. */
static bool state_join(struct hazards *h, struct state *into, const struct state *from) {
    if (from->dead) return false;
    bool grew = into->dead;
    into->dead = false;
    for (int i = 0; i < from->events.count; i++) {
        const struct event *e = &from->events.at[i];
        if (!holds_at(into, i, e)) grew |= state_add(h, into, e);
    }
    return grew;
}

static struct state state_copy(struct hazards *h, const struct state *s) {
    struct state copy = state_new(h);
    int count = s->events.count;
    if (copy.events.room < count) {
        copy.events.room = 2 * count;
        copy.events.at = arena_array(h->arena, struct event, copy.events.room);
    }
    if (count) memcpy(copy.events.at, s->events.at, sizeof *copy.events.at * (size_t)count);
    memcpy(copy.last, s->last, sizeof *copy.last * (size_t)h->uses.count);
    copy.events.count = count;
    copy.dead = s->dead;
    copy.mixed = s->mixed;
    return copy;
}

/* Events that have become alike are one again. */
static void state_merge(struct hazards *h, struct state *s) {
    if (!s->mixed) return;
    struct state merged = state_new(h);
    for (int i = 0; i < s->events.count; i++) state_add(h, &merged, &s->events.at[i]);
    merged.dead = s->dead;
    state_free(h, s);
    *s = merged;
}

static void state_wait(struct state *s, int groups) {
    for (int i = 0; i < s->events.count; i++) {
        struct event *e = &s->events.at[i];
        if (e->open != COMPLETE && e->open - 1 >= groups) e->open = COMPLETE;
    }
}

static void state_commit(struct state *s) {
    for (int i = 0; i < s->events.count; i++)
        if (s->events.at[i].open != COMPLETE) s->events.at[i].open++;
}

static void state_barrier(struct state *s) {
    int kept = 0, count = s->events.count;
    for (int i = 0; i < count; i++) s->last[s->events.at[i].use] = 0;
    for (int i = 0; i < count; i++) {
        struct event e = s->events.at[i];
        if (e.open == COMPLETE) continue;
        e.before = s->last[e.use];
        s->events.at[kept++] = e;
        s->last[e.use] = kept;
    }
    s->events.count = kept;
}

/* Indices that use the variable mean something else from now on; v NULL: all that are not fixed for
 * the whole kernel. */
static void state_forget(struct hazards *h, struct state *s, const struct var *v) {
    for (int i = 0; i < s->events.count; i++) {
        struct event *e = &s->events.at[i];
        const struct use *u = &h->uses.at[e->use];
        unsigned before = e->forgotten;
        if (!v) e->forgotten |= u->moving;
        for (int k = 0; v && k < u->access.buffer->rank; k++) {
            const struct expr *base = u->map.kind == MAP_UNKNOWN ? NULL : u->map.base[k];
            if (expr_uses_var(u->access.region.base[k], v) || (base && expr_uses_var(base, v)))
                e->forgotten |= 1u << k;
        }
        s->mixed |= e->forgotten != before;
    }
}

struct writing {
    struct hazards *hazards;
    struct state *state;
};

/* Indices that are read from what is written mean something else from now on. */
static void forget_written(const struct access *a, void *data) {
    struct writing *w = data;
    if (!(a->kind & ACCESS_WRITE)) return;
    for (int i = 0; i < w->state->events.count; i++) {
        struct event *e = &w->state->events.at[i];
        const struct use *u = &w->hazards->uses.at[e->use];
        unsigned before = e->forgotten;
        for (int k = 0; k < u->access.buffer->rank; k++) {
            const struct expr *base = u->map.kind == MAP_UNKNOWN ? NULL : u->map.base[k];
            if (expr_reads(u->access.region.base[k], a->buffer) ||
                (base && expr_reads(base, a->buffer)))
                e->forgotten |= 1u << k;
        }
        w->state->mixed |= e->forgotten != before;
    }
}

/* -- Running ----------------------------------------------------------------------------------- */

struct jumps { /* of the loop around */
    struct state leave, again;
};

static void run_children(struct hazards *h, int parent, bool otherwise, struct state *s,
                         struct jumps *j);

static void touch(struct hazards *h, int node, struct state *s) {
    int end = h->first_use[h->divergent[node] ? h->outline.nodes.at[node].end : node + 1];
    for (int i = h->first_use[node]; i < end; i++) {
        if (h->idle[i]) continue;
        struct slot slot = slot_now(h, &h->uses.at[i]);
        int root = h->uses.at[i].root->id;
        const struct event *e = s->events.at;
        for (int left = s->events.count; left > 0; left--, e++) {
            if (e->root != root && !h->fold[0]) continue;
            enum conflict c = conflict(h, e, i, slot);
            if (c != CONFLICT_NONE) record(h, e, i, c);
        }
    }
    for (int i = h->first_use[node]; i < end; i++) {
        if (h->idle[i]) continue;
        const struct use *u = &h->uses.at[i];
        struct event e = {.use = i, .root = u->root->id, .open = u->async ? 0 : COMPLETE};
        e.slot = slot_now(h, u);
        state_add(h, s, &e);
    }
}

/* The first entry: constant slots count from iteration 0 of this loop. */
static void enter_loop(struct hazards *h, int loop, struct state *s) {
    int slots = 0;
    for (int i = 0; i < h->counters.count; i++) {
        if (h->counters.at[i].loop != loop) continue;
        h->counters.at[i].active = true;
        slots = h->counters.at[i].slots;
    }
    for (int i = 0; slots && i < s->events.count; i++) {
        struct slot *x = &s->events.at[i].slot;
        const struct use *u = &h->uses.at[s->events.at[i].use];
        if (x->kind != SLOT_CONSTANT || x->value >= slots || !is_counted(h, u->root, loop))
            continue;
        *x = (struct slot){.kind = SLOT_COUNTED, .loop = loop, .value = x->value};
        s->mixed = true;
    }
}

static void back_edge(struct hazards *h, int loop, struct state *s) {
    int slots = 0;
    for (int i = 0; i < h->counters.count; i++)
        if (h->counters.at[i].loop == loop) slots = h->counters.at[i].slots;
    for (int i = 0; i < s->events.count; i++) {
        struct slot *x = &s->events.at[i].slot;
        if (x->kind != SLOT_COUNTED || x->loop != loop) continue;
        x->value = (x->value + slots - 1) % slots;
    }
    state_forget(h, s, NULL);
    state_merge(h, s);
}

static void leave_loop(struct hazards *h, int loop, struct state *s) {
    for (int i = 0; i < h->counters.count; i++)
        if (h->counters.at[i].loop == loop) h->counters.at[i].active = false;
    for (int i = 0; i < s->events.count; i++) {
        struct slot *x = &s->events.at[i].slot;
        if (x->kind != SLOT_COUNTED || x->loop != loop) continue;
        *x = (struct slot){.kind = SLOT_ANY};
        s->mixed = true;
    }
    state_merge(h, s);
}

static void run_fence(struct hazards *h, int place, struct state *s) {
    const struct fence *f = &h->fences[place];
    if (f->commit) state_commit(s);
    if (f->wait >= 0) state_wait(s, f->wait);
    if (f->barrier) state_barrier(s);
}

static void run_loop(struct hazards *h, int node, struct state *s) {
    const struct stmt *stmt = h->outline.nodes.at[node].stmt;
    bool always = stmt->kind == STMT_FOR && loop_trip(stmt) > 0;
    if (stmt->kind == STMT_FOR) touch(h, node, s);
    enter_loop(h, node, s);
    struct state head = state_copy(h, s), out = state_new(h);
    bool grew = true;
    for (int pass = 0; grew && h->found.count <= h->enough; pass++) {
        struct jumps j = {.leave = state_new(h), .again = state_new(h)};
        struct state body = state_copy(h, &head);
        for (int i = 0; i < h->counters.count; i++)
            if (h->counters.at[i].loop == node) h->counters.at[i].advanced = 0;
        if (stmt->kind == STMT_WHILE) touch(h, node, &body);
        if (pass == 0 && !always) state_join(h, &out, &body);
        run_children(h, node, false, &body, &j);
        if (!body.dead) run_fence(h, node + h->outline.nodes.count, &body);
        state_join(h, &body, &j.again);
        back_edge(h, node, &body);
        state_join(h, &out, &j.leave);
        state_join(h, &out, &body);
        grew = state_join(h, &head, &body);
        state_free(h, &j.leave);
        state_free(h, &j.again);
        state_free(h, &body);
    }
    leave_loop(h, node, &out);
    state_free(h, &head);
    state_free(h, s);
    *s = out;
}

static void run_set(struct hazards *h, int node, struct state *s) {
    const struct stmt *stmt = h->outline.nodes.at[node].stmt;
    touch(h, node, s);
    for (int i = 0; i < h->counters.count; i++) {
        struct counter *c = &h->counters.at[i];
        if (c->var == stmt->let.var && stmt->kind == STMT_SET && c->active) {
            c->advanced++;
            return;
        }
    }
    state_forget(h, s, stmt->let.var);
}

static void run_branch(struct hazards *h, int node, struct state *s, struct jumps *j) {
    touch(h, node, s);
    struct state other = state_copy(h, s);
    run_children(h, node, false, s, j);
    run_children(h, node, true, &other, j);
    state_join(h, s, &other);
    state_free(h, &other);
}

static void run_node(struct hazards *h, int node, struct state *s, struct jumps *j) {
    const struct stmt *stmt = h->outline.nodes.at[node].stmt;
    run_fence(h, node, s);
    if (h->divergent[node]) { /* it may change any of the variables */
        touch(h, node, s);
        state_forget(h, s, NULL);
        return;
    }
    switch (stmt->kind) {
    case STMT_FOR:
    case STMT_WHILE: run_loop(h, node, s); return;
    case STMT_IF: run_branch(h, node, s, j); return;
    case STMT_BREAK:
    case STMT_CONTINUE:
        state_join(h, stmt->kind == STMT_BREAK ? &j->leave : &j->again, s);
        state_clear(h, s);
        return;
    case STMT_LET:
    case STMT_SET: run_set(h, node, s); return;
    case STMT_BARRIER: state_barrier(s); return;
    case STMT_COMMIT: state_commit(s); return;
    case STMT_WAIT: state_wait(s, stmt->wait.groups); return;
    case STMT_STORE:
    case STMT_ATOMIC:
    case STMT_PRINT:
    case STMT_ASSERT:
    case STMT_MAP:
    case STMT_COPY:
    case STMT_GEMM:
    case STMT_REDUCE:
        touch(h, node, s);
        if (h->reading) stmt_buffers(h->module, stmt, forget_written, &(struct writing){h, s});
        return;
    }
}

static void run_children(struct hazards *h, int parent, bool otherwise, struct state *s,
                         struct jumps *j) {
    int end = parent < 0 ? h->outline.nodes.count : h->outline.nodes.at[parent].end;
    for (int i = parent + 1; i < end && !s->dead && h->found.count <= h->enough;
         i = h->outline.nodes.at[i].end)
        if (h->outline.nodes.at[i].otherwise == otherwise) run_node(h, i, s, j);
}

/* -- Entry points ------------------------------------------------------------------------------ */

int hazards_count(struct hazards *h, int enough) {
    struct state s = state_new(h);
    struct jumps none = {.leave = state_new(h), .again = state_new(h)};
    s.dead = false;
    if (!h->found_room) {
        h->found_room = 64;
        h->found_slot = arena_array(h->arena, int, h->found_room);
    }
    memset(h->found_slot, 0, sizeof *h->found_slot * (size_t)h->found_room);
    h->found.count = 0;
    h->enough = enough;
    run_children(h, -1, false, &s, &none);
    state_free(h, &none.leave);
    state_free(h, &none.again);
    state_free(h, &s);
    return h->found.count;
}

int hazards_find(struct hazards *h, struct hazard const **list) {
    memset(h->met, 0, (size_t)h->uses.count);
    hazards_count(h, INT_MAX);
    for (int i = 0; i < h->uses.count; i++) h->idle[i] = !h->met[i];
    struct hazard *copy = arena_array(h->arena, struct hazard, h->found.count + 1);
    for (int i = 0; i < h->found.count; i++) copy[i] = h->found.at[i];
    *list = copy;
    return h->found.count;
}

void hazards_widen(struct hazards *h) {
    for (int i = 0; i < h->uses.count; i++) {
        const struct buffer *root = h->uses.at[i].root;
        h->idle[i] = h->fold[0] && root != h->fold[0] && root != h->fold[1];
    }
}

void hazards_fold(struct hazards *h, const struct buffer *x, const struct buffer *y) {
    h->fold[0] = x;
    h->fold[1] = y;
    hazards_widen(h);
}

bool hazards_ordered(struct hazards *h, const struct buffer *x, const struct buffer *y) {
    hazards_fold(h, x, y);
    int count = hazards_count(h, 0);
    hazards_fold(h, NULL, NULL);
    return count == 0;
}
