/* apart.c: long straight-line code after a main loop becomes calls of one function.
 *
 * Registers have no addresses, so a loop over them is unrolled; an epilogue with accurate
 * exponentials or divisions is then thousands of instructions that run once. nvcc takes as long for
 * them as for the rest of the kernel, and they fill the instruction cache. Where each turn does the
 * same to a few registers, all turns call one function: a call costs a move a register. */
#include "internal.h"

enum { LEAST_BODY = 48, LEAST_TOTAL = 1000, LEAST_CALLS = 4 }; /* instructions, roughly */

static void find_product(struct kstmt *s, void *data) {
    if (s->kind == K_MMA) *(bool *)data = true;
}

static void take_apart(struct module *m, struct kblock *b, int64_t copies) {
    struct kstmt *s;
    struct part p;
    int64_t lo, hi;

    for (s = b->first; s; s = s->next) {
        if (s->kind == K_IF) {
            take_apart(m, &s->branch.then, copies);
            take_apart(m, &s->branch.otherwise, copies);
        }
        if (s->kind != K_FOR || s->loop.unroll != 0 || s->loop.step != 1 ||
            !expr_is_int(s->loop.lo, &lo) || !expr_is_int(s->loop.hi, &hi) || hi <= lo)
            continue;
        if (part_find(m, s, &p))
            s->loop.apart = p.cost >= LEAST_BODY && p.cost * copies * (hi - lo) >= LEAST_TOTAL &&
                            copies * (hi - lo) >= LEAST_CALLS;
        else
            take_apart(m, &s->loop.body, copies * (hi - lo));
    }
}

/* Where products take the time; elsewhere such loops are what the kernel is for. */
void apart(struct module *m, struct kernel *k) {
    bool product = false;

    kblock_walk(&k->code->body, find_product, &product);
    if (product) take_apart(m, &k->code->body, 1);
}
