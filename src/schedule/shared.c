/* shared.c: a byte offset for every shared buffer.
 *
 * Two buffers may share bytes if their contents never matter at the same time and a barrier stands
 * between every access of one and each of the other. If the kernel does not fit that way, the
 * barriers that are missing for more sharing are added. Few buffers are tried in every order, many
 * in three; the smallest total wins. */
#include "internal.h"
#include "schedule.h"

struct item {
    struct buffer *buffer;
    int64_t bytes, offset;
    int alignment;
    struct lifetime life;
};

struct packing {
    struct arena *arena;
    int count;
    struct item *items;
    bool *apart; /* count x count: the two must not overlap */
    int *order, *best;
    int64_t total;
};

static int64_t round_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

static bool meet(const struct packing *p, int a, int b) { return p->apart[a * p->count + b]; }

/* -- Offsets ----------------------------------------------------------------------------------- */

/* The lowest free place for item i among those placed already. */
static int64_t lowest(const struct packing *p, const int *order, int placed, int i) {
    int64_t at = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (int k = 0; k < placed; k++) {
            const struct item *x = &p->items[order[k]];
            if (!meet(p, i, order[k]) || at + p->items[i].bytes <= x->offset ||
                x->offset + x->bytes <= at)
                continue;
            at = round_up(x->offset + x->bytes, p->items[i].alignment);
            moved = true;
        }
    }
    return at;
}

static int64_t pack(struct packing *p, const int *order) {
    int64_t total = 0;
    for (int k = 0; k < p->count; k++) {
        struct item *x = &p->items[order[k]];
        x->offset = lowest(p, order, k, order[k]);
        if (x->offset + x->bytes > total) total = x->offset + x->bytes;
    }
    return total;
}

static void consider(struct packing *p, const int *order) {
    int64_t total = pack(p, order);
    if (p->total >= 0 && total >= p->total) return;
    p->total = total;
    memcpy(p->best, order, sizeof *order * (size_t)p->count);
}

static void permute(struct packing *p, int from) {
    if (from == p->count) {
        consider(p, p->order);
        return;
    }
    for (int i = from; i < p->count; i++) {
        int x = p->order[from];
        p->order[from] = p->order[i];
        p->order[i] = x;
        permute(p, from + 1);
        p->order[i] = p->order[from];
        p->order[from] = x;
    }
}

enum { RULE_SIZE, RULE_ALIGNMENT, RULE_TIME, RULES, FEW = 6 };

static bool goes_first(const struct item *a, const struct item *b, int rule) {
    if (rule == RULE_ALIGNMENT && a->alignment != b->alignment) return a->alignment > b->alignment;
    if (rule == RULE_TIME && a->life.begin != b->life.begin) return a->life.begin < b->life.begin;
    return a->bytes > b->bytes;
}

static void sorted(struct packing *p, int rule) {
    for (int i = 0; i < p->count; i++) {
        int k = i;
        for (; k > 0 && goes_first(&p->items[i], &p->items[p->order[k - 1]], rule); k--)
            p->order[k] = p->order[k - 1];
        p->order[k] = i;
    }
}

static void solve(struct packing *p) {
    p->total = -1;
    for (int rule = 0; rule < RULES; rule++) {
        sorted(p, rule);
        consider(p, p->order);
    }
    if (p->count <= FEW) permute(p, 0);
    pack(p, p->best);
}

/* -- What may overlap -------------------------------------------------------------------------- */

static bool lives_meet(const struct item *a, const struct item *b) {
    return a->life.begin <= b->life.end && b->life.begin <= a->life.end;
}

static struct packing packing_of(struct module *m, struct arena *scratch, struct kernel *k,
                                 const struct outline *o, const int *slots) {
    struct packing p = {.arena = scratch,
                        .items = arena_array(scratch, struct item, k->buffers.count + 1)};
    struct lifetime *life = lifetimes_of(m, scratch, o, k);
    for (int i = 0; i < k->buffers.count; i++) {
        struct buffer *b = k->buffers.at[i];
        if (b->scope != SCOPE_SHARED || b->alias || life[i].begin > life[i].end) continue;
        struct item x = {.buffer = b, .alignment = shared_alignment(b), .life = life[i]};
        x.bytes = shared_bytes_of(b, slots ? slots[i] : 0);
        p.items[p.count++] = x;
    }
    p.apart = arena_array(scratch, bool, p.count *p.count + 1);
    p.order = arena_array(scratch, int, p.count + 1);
    p.best = arena_array(scratch, int, p.count + 1);
    return p;
}

static void set_apart(struct packing *p, struct hazards *h) {
    for (int i = 0; i < p->count; i++)
        for (int k = 0; k < i; k++) {
            const struct item *a = &p->items[i], *b = &p->items[k];
            bool apart = lives_meet(a, b) || (h && !hazards_ordered(h, a->buffer, b->buffer));
            p->apart[i * p->count + k] = p->apart[k * p->count + i] = apart;
        }
}

/* A ring is alive from the loads before its loop on until the loop's end. */
static void cover_ring(const struct outline *o, struct item *x) {
    for (int p = x->life.begin; p >= 0; p = o->nodes.at[p].parent) {
        if (o->nodes.at[p].stmt->kind != STMT_FOR ||
            o->nodes.at[p].stmt->loop.kind != LOOP_PIPELINED)
            continue;
        if (p < x->life.begin) x->life.begin = p;
        if (o->nodes.at[p].end - 1 > x->life.end) x->life.end = o->nodes.at[p].end - 1;
    }
}

int64_t shared_estimate(struct module *m, struct kernel *k, const int *slots) {
    struct arena *scratch = arena_new();
    struct outline o = outline_of(scratch, k);
    struct packing p = packing_of(m, scratch, k, &o, slots);
    for (int i = 0, n = 0; i < k->buffers.count; i++) {
        if (n == p.count || k->buffers.at[i] != p.items[n].buffer) continue;
        if (slots[i] > 1) cover_ring(&o, &p.items[n]);
        n++;
    }
    set_apart(&p, NULL);
    solve(&p);
    int64_t total = p.total;
    arena_free(scratch);
    return total < 0 ? 0 : total;
}

/* -- Reports ----------------------------------------------------------------------------------- */

void shared_table(struct module *m, struct kernel *k, const int *slots) {
    for (int i = 0; i < k->buffers.count; i++) {
        const struct buffer *b = k->buffers.at[i];
        if (b->scope != SCOPE_SHARED || b->alias) continue;
        int count = b->ring > 0 ? b->ring : slots && slots[i] > 1 ? slots[i] : 1;
        long long bytes = (long long)shared_bytes_of(b, slots ? slots[i] : 0);
        diag_note(m->diag, b->span, "'%s': %d x %lld = %lld bytes%s", b->name->text, count,
                  bytes / count, bytes, b->scratch ? " (for an exchange between warps)" : "");
    }
}

static void report_too_large(struct module *m, struct kernel *k, int64_t total) {
    const struct buffer *largest = NULL;
    int64_t most = 0;
    for (int i = 0; i < k->buffers.count; i++) {
        const struct buffer *b = k->buffers.at[i];
        if (b->scope != SCOPE_SHARED || b->alias || shared_bytes_of(b, 0) <= most) continue;
        largest = b;
        most = shared_bytes_of(b, 0);
    }
    diag_report(
        m->diag, k->span, E0602,
        "kernel '%s' needs %lld bytes of shared memory, %s has %d for a block; make '%s' smaller",
        k->name->text, (long long)total, module_target_name(m),
        (int)target_trait(m->target, TRAIT_SHARED_BLOCK), largest ? largest->name->text : "");
    shared_table(m, k, NULL);
}

static void remark(struct module *m, struct kernel *k, const struct packing *p) {
    for (int i = 0; i < p->count; i++)
        diag_remark(m->diag, p->items[i].buffer->span, "shared", "'%s': bytes %lld to %lld",
                    p->items[i].buffer->name->text, (long long)p->items[i].offset,
                    (long long)(p->items[i].offset + p->items[i].bytes - 1));
    diag_remark(m->diag, k->span, "shared", "%lld bytes of %d", (long long)p->total,
                (int)target_trait(m->target, TRAIT_SHARED_BLOCK));
}

/* -- The pass ---------------------------------------------------------------------------------- */

static void add_orders(struct module *m, struct kernel *k, const struct packing *p) {
    for (int i = 0; i < p->count; i++)
        for (int j = 0; j < i; j++) {
            const struct item *a = &p->items[i], *b = &p->items[j];
            if (a->offset + a->bytes <= b->offset || b->offset + b->bytes <= a->offset) continue;
            sync_order(m, k, a->buffer, b->buffer);
        }
}

static void give_offsets(struct kernel *k, const struct packing *p) {
    for (int i = 0; i < k->buffers.count; i++)
        if (k->buffers.at[i]->scope == SCOPE_SHARED) k->buffers.at[i]->offset = 0;
    for (int i = 0; i < p->count; i++) p->items[i].buffer->offset = (int32_t)p->items[i].offset;
    for (int i = 0; i < k->buffers.count; i++) {
        struct buffer *b = k->buffers.at[i];
        if (b->scope == SCOPE_SHARED) b->offset = buffer_storage(b)->offset;
    }
}

/* Buffers that no statement touches need no bytes; neither do their views. */
static void drop_unused(struct module *m, struct arena *scratch, struct kernel *k) {
    struct outline o = outline_of(scratch, k);
    struct lifetime *life = lifetimes_of(m, scratch, &o, k);
    bool *used = arena_array(scratch, bool, k->buffers.count + 1);
    int kept = 0;
    for (int i = 0; i < k->buffers.count; i++)
        for (int j = 0; j < k->buffers.count; j++)
            used[i] |= k->buffers.at[j] == buffer_storage(k->buffers.at[i]) &&
                       life[j].begin <= life[j].end;
    for (int i = 0; i < k->buffers.count; i++)
        if (used[i] || k->buffers.at[i]->scope != SCOPE_SHARED)
            k->buffers.at[kept++] = k->buffers.at[i];
    k->buffers.count = kept;
}

static void shared_kernel(struct module *m, struct kernel *k) {
    struct arena *scratch = arena_new();
    drop_unused(m, scratch, k);
    struct hazards *h = hazards_new(m, scratch, k);
    struct packing p = packing_of(m, scratch, k, hazards_outline(h), NULL);
    set_apart(&p, h);
    solve(&p);
    if (!module_at_least(m, TRAIT_SHARED_BLOCK, p.total)) {
        set_apart(&p, NULL);
        solve(&p);
        if (module_at_least(m, TRAIT_SHARED_BLOCK, p.total)) add_orders(m, k, &p);
    }
    if (!module_at_least(m, TRAIT_SHARED_BLOCK, p.total))
        report_too_large(m, k, p.total);
    else
        remark(m, k, &p);
    give_offsets(k, &p);
    k->shared_bytes = p.total < 0 ? 0 : (int32_t)(p.total > INT32_MAX ? INT32_MAX : p.total);
    arena_free(scratch);
}

void shared(struct module *m) {
    for (int f = 0; f < m->functions.count; f++)
        for (int k = 0; k < m->functions.at[f]->kernels.count; k++)
            shared_kernel(m, m->functions.at[f]->kernels.at[k]);
    m->level = LEVEL_SCHEDULED;
}
