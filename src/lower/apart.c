/* apart.c: long straight-line code after a main loop becomes calls of one function.
 *
 * Registers have no addresses, so a loop over them is unrolled; an epilogue with accurate
 * exponentials or divisions is then thousands of instructions that run once. nvcc takes as long for
 * them as for the rest of the kernel, and they fill the instruction cache. Where each turn does the
 * same to a few registers, all turns call one function: a call costs a move a register. Where a
 * later loop does nothing but store those registers the function stores them (turns.c). */
#include "internal.h"

enum { LEAST_BODY = 48, LEAST_TOTAL = 1000, LEAST_CALLS = 4 }; /* instructions, roughly */
enum { CALL = 3, LEAST_JOINING = 24, LEAST_GAIN = 64 };

static void find_product(struct kstmt *s, void *data) {
    if (s->kind == K_MMA) *(bool *)data = true;
}

static void mark(struct module *m, struct kblock *b, int64_t copies) {
    struct kstmt *s;
    struct part p;
    int64_t lo, hi;

    for (s = b->first; s; s = s->next) {
        if (s->kind == K_IF) {
            mark(m, &s->branch.then, copies);
            mark(m, &s->branch.otherwise, copies);
        }
        if (s->kind != K_FOR || s->loop.unroll != 0 || s->loop.step != 1 ||
            !expr_is_int(s->loop.lo, &lo) || !expr_is_int(s->loop.hi, &hi) || hi <= lo)
            continue;
        if (part_find(m, s, &p))
            s->loop.apart = p.cost >= LEAST_BODY && p.cost * copies * (hi - lo) >= LEAST_TOTAL &&
                            copies * (hi - lo) >= LEAST_CALLS;
        else
            mark(m, &s->loop.body, copies * (hi - lo));
    }
}

static bool has_apart(struct kstmt *s) {
    if (s->kind != K_FOR) return false;
    if (s->loop.apart) return true;
    for (struct kstmt *i = s->loop.body.first; i; i = i->next)
        if (has_apart(i)) return true;
    return false;
}

/* Instructions saved by n calls instead of n copies. */
static int64_t gain_of(const struct part *p, int64_t n, bool moves_back) {
    int64_t moves = p->scalars + CALL;

    for (int i = 0; i < p->windows; i++)
        for (int j = 0; j < p->window[i].count; j++)
            moves += p->window[i].in[j] + (moves_back && p->window[i].out[j]);
    return (n - 1) * p->cost - n * moves;
}

/* A loop that would not be worth a function alone, in a kernel that has one. */
static void join(struct module *m, struct kernel *k, struct kstmt *s) {
    struct part p;
    int64_t lo, hi;

    if (s->kind != K_FOR || s->loop.unroll != 0 || s->loop.step != 1 || s->loop.apart ||
        !expr_is_int(s->loop.lo, &lo) || !expr_is_int(s->loop.hi, &hi) || !part_find(m, s, &p) ||
        p.cost < LEAST_JOINING || gain_of(&p, hi - lo, false) < LEAST_GAIN)
        return;
    s->loop.apart = true;
    if (!turns_store(m, k, &k->code->body, s))
        s->loop.apart = gain_of(&p, hi - lo, true) >= LEAST_GAIN;
}

/* Where products take the time; elsewhere such loops are what the kernel is for. */
void apart(struct module *m, struct kernel *k) {
    bool product = false, any = false;
    struct kstmt *s;

    kblock_walk(&k->code->body, find_product, &product);
    if (!product) return;
    mark(m, &k->code->body, 1);
    for (s = k->code->body.first; s; s = s->next) {
        if (!has_apart(s)) continue;
        any = true;
        turns_store(m, k, &k->code->body, s);
    }
    for (s = k->code->body.first; any && s; s = s->next) join(m, k, s);
}
