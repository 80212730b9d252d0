/* quads.c: COPY of accumulators to 16-bit memory with 16-byte stores. */
#include "internal.h"

bool copy_quads(struct lowering *l, struct stmt *t) {
    (void)l;
    (void)t;
    return false;
}
