/* counters.c: what the memory requests of a warp cost: passes over the banks, sectors. */
#include "sim/internal.h"

enum { BANKS = 32, SECTOR = 32 };

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
        for (int64_t at = r->at[l] / 4; at * 4 < r->at[l] + r->bytes; at++) {
            int bank = (int)(at % BANKS);
            count[bank] = distinct(words[bank], count[bank], at);
            if (count[bank] > most) most = count[bank];
        }
    }
    return most;
}

static void count_sectors(struct machine *s, const struct request *r) {
    int64_t seen[LANES];
    int count = 0;
    for (int l = 0; l < LANES; l++)
        if (r->lanes >> l & 1) count = distinct(seen, count, r->at[l] / SECTOR);
    s->out->counters.global_accesses++;
    s->out->counters.sectors += count;
}

void request_count(struct machine *s, const struct request *r, enum scope scope) {
    if (!s->options->count || scope == SCOPE_LOCAL) return;
    if (scope == SCOPE_GLOBAL) {
        count_sectors(s, r);
        return;
    }
    int group = r->bytes >= 16  ? 8
                : r->bytes == 8 ? 16
                                : 32; /* lanes of one pass without conflict */
    s->out->counters.shared_accesses++;
    for (int l = 0; l < LANES; l += group) s->out->counters.bank_passes += passes(r, l, l + group);
}
