/* counters.c: what the memory requests of a warp cost: passes over the banks, sectors; in all, and
 * by statement with the fewest that the same bytes could take. */
#include "sim/internal.h"

enum { BANKS = 32, WORD = 4, SECTOR = 32, MOST_WORDS = 4 * LANES };

static int distinct(int64_t *seen, int count, int64_t v) {
    for (int i = 0; i < count; i++)
        if (seen[i] == v) return count;
    seen[count] = v;
    return count + 1;
}

/* Passes of the lanes [from, to): the most different words that one bank is asked for. */
static int passes(const struct request *r, int from, int to) {
    int64_t words[BANKS][LANES];
    int count[BANKS] = {0}, most = 0;
    for (int l = from; l < to; l++) {
        if (!(r->lanes >> l & 1)) continue;
        for (int64_t at = r->at[l] / WORD; at * WORD < r->at[l] + r->bytes; at++) {
            int bank = (int)(at % BANKS);
            count[bank] = distinct(words[bank], count[bank], at);
            if (count[bank] > most) most = count[bank];
        }
    }
    return most;
}

/* Units of `unit` bytes that the request touches. */
static int units(const struct request *r, int unit) {
    int64_t seen[MOST_WORDS];
    int count = 0;
    for (int l = 0; l < LANES; l++) {
        if (!(r->lanes >> l & 1)) continue;
        for (int64_t at = r->at[l] / unit; at * unit < r->at[l] + r->bytes; at++)
            count = distinct(seen, count, at);
    }
    return count;
}

/* Different places times their bytes: what had to be moved. */
static int bytes_of(const struct request *r) {
    int64_t seen[LANES];
    int count = 0;
    for (int l = 0; l < LANES; l++)
        if (r->lanes >> l & 1) count = distinct(seen, count, r->at[l]);
    return count * r->bytes;
}

static int over_banks(const struct request *r) {
    /* lanes of one pass without conflict */
    int group = r->bytes >= 16 ? 8 : r->bytes == 8 ? 16 : 32, sum = 0;
    for (int l = 0; l < LANES; l += group) sum += passes(r, l, l + group);
    return sum;
}

static void add_cost(struct machine *s, const struct buffer *b, int cost, int least) {
    struct sim_cost *c = &s->costs[2 * s->step + (b->scope == SCOPE_GLOBAL)];
    const struct kstmt *st = step_at(s, s->step)->st;
    c->kernel = s->kernel;
    c->buffer = b;
    c->at = st->span;
    c->kind = st->kind;
    c->requests++;
    c->cost += cost;
    c->least += least;
}

void request_count(struct machine *s, const struct request *r, const struct buffer *b) {
    struct sim_counters *n = &s->out->counters;
    if (!s->costs || s->failed || !r->lanes || b->scope == SCOPE_LOCAL) return;
    if (b->scope == SCOPE_GLOBAL) {
        int sectors = units(r, SECTOR);
        n->global_accesses++;
        n->sectors += sectors;
        add_cost(s, b, sectors, (bytes_of(r) + SECTOR - 1) / SECTOR);
    } else {
        int most = over_banks(r);
        n->shared_accesses++;
        n->bank_passes += most;
        add_cost(s, b, most, (units(r, WORD) + BANKS - 1) / BANKS);
    }
}

/* -- by line
 * -------------------------------------------------------------------------------------- */
void costs_begin(struct machine *s) {
    s->costs = NULL;
    if (s->options->count)
        s->costs = arena_array(s->arena, struct sim_cost, 2 * s->program->steps.count);
}

static bool alike(const struct machine *s, const struct sim_cost *a, const struct sim_cost *b) {
    const struct source *text = s->m->source;
    if (a->kernel != b->kernel || a->buffer != b->buffer || a->kind != b->kind) return false;
    if (a->at.begin == b->at.begin || !text || !a->at.end || !b->at.end)
        return a->at.begin == b->at.begin;
    return source_position(text, a->at.begin).line == source_position(text, b->at.begin).line;
}

void costs_end(struct machine *s) {
    struct sim_result *out = s->out;
    for (int i = 0; s->costs && i < 2 * s->program->steps.count; i++) {
        const struct sim_cost *c = &s->costs[i];
        int at = 0;
        if (!c->requests) continue;
        while (at < out->costs.count && !alike(s, &out->costs.at[at], c)) at++;
        if (at == out->costs.count) {
            vec_push(s->m->arena, &out->costs, *c);
            continue;
        }
        out->costs.at[at].requests += c->requests;
        out->costs.at[at].cost += c->cost;
        out->costs.at[at].least += c->least;
    }
}
