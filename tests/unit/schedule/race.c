/* race.c: looks for unordered accesses to shared memory by running every thread of a kernel.
 *
 * Knows nothing of how the schedule decides: each access of each thread is noted for its bytes, as
 * the layouts and offsets give them, with the number of barriers passed. Two accesses of different
 * threads to one byte, one a write, between the same two barriers are a race. The bytes of an
 * asynchronous copy are under way until a WAIT that is late enough; then the write counts as done
 * there. Values are not looked at. Of threads that do the same iteration only the one whose Rep
 * coordinate is 0 writes. */
#include "race.h"
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 96 * 1024, NOBODY = -1, MANY = -2 };

struct byte {
    int wrote, write_epoch; /* the last write */
    int read, read_epoch;   /* the last reads; MANY: by several threads */
    int flying;             /* group number of the copy under way, 0: none */
    int flyer;
};

struct race {
    struct rig *rig;
    struct byte *bytes;
    int64_t value[4096]; /* of variables, by id */
    int64_t dim;
    int epoch, group, races, thread;
    bool repeats; /* an iteration that another thread does, too: what it writes does not count */
    bool keeps;   /* the MAP writes fragments: what its repeats read counts */
    const struct stmt *stmt;
    const char *why;
};

/* -- Values of indices ---------------------------------------------------------------------------
 */

static int64_t floor_quotient(int64_t a, int64_t b) {
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t value_of(struct race *r, const struct expr *e);

static int64_t value_of_op(struct race *r, const struct expr *e) {
    int64_t a = value_of(r, e->args[0]), b = e->count > 1 ? value_of(r, e->args[1]) : 0;
    switch (e->fn) {
    case FN_ADD: return a + b;
    case FN_SUB: return a - b;
    case FN_MUL: return a * b;
    case FN_FLOORDIV: return floor_quotient(a, b);
    case FN_FLOORMOD: return a - b * floor_quotient(a, b);
    case FN_MIN: return a < b ? a : b;
    case FN_MAX: return a > b ? a : b;
    case FN_LT: return a < b;
    case FN_LE: return a <= b;
    case FN_EQ: return a == b;
    case FN_NE: return a != b;
    case FN_LAND: return a && b;
    case FN_LOR: return a || b;
    case FN_LNOT: return !a;
    default: return 0;
    }
}

static int64_t value_of(struct race *r, const struct expr *e) {
    switch (e->kind) {
    case EXPR_INT: return e->integer;
    case EXPR_VAR:
        if (e->var->kind == VAR_DIM || e->var->kind == VAR_PARAM) return r->dim;
        return e->var->kind == VAR_THREAD ? r->thread : r->value[e->var->id];
    case EXPR_OP: return value_of_op(r, e);
    case EXPR_CAST: return value_of(r, e->args[0]);
    case EXPR_SELECT: return value_of(r, e->args[value_of(r, e->args[0]) ? 1 : 2]);
    default: return 0;
    }
}

/* -- Bytes ------------------------------------------------------------------------------------- */

static void report(struct race *r, const char *what, const struct buffer *b) {
    if (r->races++) return;
    r->why =
        arena_printf(r->rig->arena, "%s '%s' by thread %d after %d barriers, statement kind %d",
                     what, b->name->text, r->thread, r->epoch, (int)r->stmt->kind);
}

static void note_write(struct race *r, struct byte *x, const struct buffer *b, bool async) {
    if (x->flying && !(async && x->flyer == r->thread))
        report(r, "write under a copy under way to", b);
    if (x->write_epoch == r->epoch && x->wrote != r->thread) report(r, "two writes to", b);
    if (x->read_epoch == r->epoch && x->read != r->thread) report(r, "write beside a read of", b);
    x->wrote = r->thread;
    x->write_epoch = r->epoch;
    if (!async) return;
    x->flying = r->group + 1;
    x->flyer = r->thread;
}

static void note_read(struct race *r, struct byte *x, const struct buffer *b) {
    if (x->flying) report(r, "read under a copy under way to", b);
    if (x->write_epoch == r->epoch && x->wrote != r->thread) report(r, "read beside a write of", b);
    x->read = x->read_epoch == r->epoch && x->read != r->thread ? MANY : r->thread;
    x->read_epoch = r->epoch;
}

static void touch(struct race *r, const struct buffer *b, const int64_t *index, bool write,
                  bool async) {
    if (b->scope != SCOPE_SHARED || (write && r->repeats)) return;
    int64_t at = b->offset + layout_place(&b->layout, index).off * dtype_bytes(b->dtype);
    for (int i = 0; i < dtype_bytes(b->dtype) && at + i < BYTES; i++)
        if (write)
            note_write(r, &r->bytes[at + i], b, async);
        else
            note_read(r, &r->bytes[at + i], b);
}

static void land(struct race *r, int groups) {
    for (int i = 0; i < BYTES; i++) {
        struct byte *x = &r->bytes[i];
        if (!x->flying || x->flying > r->group - groups) continue;
        x->flying = 0;
        x->write_epoch = r->epoch;
    }
}

/* -- Statements -------------------------------------------------------------------------------- */

static void touch_loads(struct race *r, const struct expr *e) {
    for (int i = 0; i < e->count; i++) touch_loads(r, e->args[i]);
    if (e->kind != EXPR_LOAD) return;
    int64_t index[TILE_RANK];
    for (int i = 0; i < e->count; i++) index[i] = value_of(r, e->args[i]);
    touch(r, e->buffer, index, false, false);
}

static void run_store(struct race *r, const struct stmt *s) {
    int64_t index[TILE_RANK];
    if (r->repeats && s->store.buffer->scope != SCOPE_FRAGMENT)
        return; /* dropped, what it read, too */
    touch_loads(r, s->store.value);
    for (int i = 0; i < s->store.count; i++) index[i] = value_of(r, s->store.index[i]);
    touch(r, s->store.buffer, index, true, false);
}

static void run_thread(struct race *r, const struct block *b) {
    for (const struct stmt *s = b->first; s; s = s->next) {
        if (s->kind == STMT_STORE) run_store(r, s);
        if (s->kind == STMT_LET && (!r->repeats || r->keeps)) touch_loads(r, s->let.value);
        if (s->kind == STMT_IF) touch_loads(r, s->branch.test);
        if (s->kind == STMT_IF)
            run_thread(r, value_of(r, s->branch.test) ? &s->branch.then : &s->branch.otherwise);
    }
}

static bool is_repeat(const struct layout *l, const struct place *p) {
    for (int i = 0; i < l->reps; i++) {
        const struct digit *d = &l->rep[i];
        int64_t at = d->space == SPACE_LANE ? p->lane : d->space == SPACE_WARP ? p->warp : 0;
        if (at / d->stride % d->radix) return true;
    }
    return false;
}

/* Every thread does its iterations of the domain, copies included. */
static void run_domain(struct race *r, const struct domain *d,
                       void (*each)(struct race *r, const int64_t *x)) {
    int64_t registers = layout_span(&d->layout, SPACE_REG);
    for (r->thread = 0; r->thread < r->rig->k->threads; r->thread++)
        for (int64_t reg = 0; reg < registers; reg++) {
            struct place p = {.reg = reg, .lane = r->thread % 32, .warp = r->thread / 32};
            int64_t x[TILE_RANK] = {0};
            if (!layout_coordinate(&d->layout, p, x)) continue;
            for (int i = 0; i < d->rank; i++) r->value[d->axis[i]->id] = x[i];
            r->repeats = is_repeat(&d->layout, &p);
            each(r, x);
        }
    r->repeats = false;
}

static bool writes_fragments(const struct block *b) {
    for (const struct stmt *s = b->first; s; s = s->next) {
        if (s->kind == STMT_STORE && s->store.buffer->scope == SCOPE_FRAGMENT) return true;
        if (s->kind == STMT_IF && writes_fragments(&s->branch.then)) return true;
        if (s->kind == STMT_IF && writes_fragments(&s->branch.otherwise)) return true;
    }
    return false;
}

static void each_map(struct race *r, const int64_t *x) {
    (void)x;
    run_thread(r, &r->stmt->map.body);
}

static void touch_side(struct race *r, bool write, const int64_t *x) {
    const struct stmt *s = r->stmt;
    const struct region *g = write ? &s->copy.dst : &s->copy.src;
    const int32_t *axes = write ? s->copy.dst_axis : s->copy.src_axis;
    int64_t index[TILE_RANK];
    for (int i = 0; i < g->buffer->rank; i++) index[i] = value_of(r, g->base[i]);
    for (int i = 0; i < s->copy.domain.rank; i++) index[axes[i]] += x[i];
    touch(r, g->buffer, index, write, s->copy.async);
}

static void each_copy(struct race *r, const int64_t *x) {
    touch_side(r, false, x);
    touch_side(r, true, x);
}

static void run_all(struct race *r, const struct block *b) {
    for (r->thread = 0; r->thread < r->rig->k->threads; r->thread++) run_thread(r, b);
}

static void run(struct race *r, const struct block *b);

static void run_loop(struct race *r, const struct stmt *s) {
    int64_t hi = value_of(r, s->loop.hi);
    for (int64_t i = value_of(r, s->loop.lo); i < hi; i += s->loop.step) {
        r->value[s->loop.var->id] = i;
        run(r, &s->loop.body);
    }
}

static bool divergent(const struct stmt *s) { return expr_uses_kind(s->branch.test, VAR_THREAD); }

static void run_stmt(struct race *r, const struct stmt *s) {
    struct block one = {(struct stmt *)s, (struct stmt *)s};
    struct stmt alone = *s;
    r->stmt = s;
    alone.next = NULL;
    one.first = one.last = &alone;
    switch (s->kind) {
    case STMT_FOR: run_loop(r, s); break;
    case STMT_IF:
        if (divergent(s))
            run_all(r, &one);
        else
            run(r, value_of(r, s->branch.test) ? &s->branch.then : &s->branch.otherwise);
        break;
    case STMT_LET:
    case STMT_SET: r->value[s->let.var->id] = value_of(r, s->let.value); break;
    case STMT_STORE: run_all(r, &one); break;
    case STMT_MAP:
        r->keeps = writes_fragments(&s->map.body);
        run_domain(r, &s->map.domain, each_map);
        break;
    case STMT_COPY:
        if (!s->copy.guard || value_of(r, s->copy.guard)) run_domain(r, &s->copy.domain, each_copy);
        break;
    case STMT_BARRIER: r->epoch++; break;
    case STMT_COMMIT: r->group++; break;
    case STMT_WAIT: land(r, s->wait.groups); break;
    default: break;
    }
}

static void run(struct race *r, const struct block *b) {
    for (const struct stmt *s = b->first; s; s = s->next) run_stmt(r, s);
}

int count_races(struct rig *rig, int64_t dim, const char **why) {
    struct race *r = arena_make(rig->arena, struct race);
    r->rig = rig;
    r->dim = dim;
    r->bytes = arena_array(rig->arena, struct byte, BYTES);
    for (int i = 0; i < BYTES; i++)
        r->bytes[i] = (struct byte){NOBODY, NOBODY, NOBODY, NOBODY, 0, NOBODY};
    run(r, &rig->k->body);
    *why = r->why;
    return r->races;
}
