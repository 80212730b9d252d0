/* schedule.h: decides what happens when: PLACED to SCHEDULED. */
#ifndef TILEC_SCHEDULE_H
#define TILEC_SCHEDULE_H
#include "ir/tile.h"

/* pipeline.c: PIPELINED loops become rings: slots for loaded buffers, a prologue, loads that run
 * ahead (by cp.async, else through fragments that it adds), exact waits. Leaves serial loops only.
 * Copies from tensors to shared memory elsewhere become asynchronous where they can. */
void pipeline(struct module *m);

/* operands.c: each gemm on shared operands becomes steps of one instruction depth: COPYs from
 * shared memory to register fragments and gemms on those; invariant operands are loaded before the
 * loop, and fragments are double-buffered across steps (and the loop's back edge) where the
 * register estimate allows. */
void operands(struct module *m);

/* split.c: divides each MAP whose iterations exchange data through a tile, whatever threads do them,
 * so that running a MAP iteration by iteration gives what the text says. TILE stays TILE; one that
 * cannot be divided stays whole and is reported. */
void order_of_text(struct module *m);

/* sync.c: the fewest barriers that order every hazard on shared memory. Leaves SCHEDULED. */
void sync(struct module *m);

/* shared.c: a byte offset for every shared buffer; reuse only where a barrier orders it. Reports
 * the budget table where it does not fit; fewer stages are tried first (W_STAGES). */
void shared(struct module *m);

#endif
