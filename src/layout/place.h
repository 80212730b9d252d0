/* place.h: chooses instructions and layouts: TILE to PLACED. */
#ifndef TILEC_PLACE_H
#define TILEC_PLACE_H
#include "ir/tile.h"

/* coarsen.c: gives thin blocks (little work, no shared memory, fragments or order between blocks)
 * several neighbouring tiles: one more domain axis in every MAP/COPY, a smaller grid. TILE. */
void coarsen(struct module *m);

/* forward.c: a shared tile that every reader reads just where the same iteration wrote it becomes
 * a fragment. TILE. */
void forward(struct module *m);

/* atoms.c: chooses the mma row and the warp partition of each gemm, pads small tiles. TILE. */
void atoms(struct module *m);

/* place.c (with candidates.c, cost.c, solve.c, convert.c): a layout for every fragment and shared
 * buffer, a domain layout for every MAP and COPY; where two uses disagree a conversion (COPYs
 * through a scratch buffer, or registers) is inserted; reductions that cross warps become explicit
 * exchanges. TILE to PLACED. Never fails for lack of a layout. */
void place(struct module *m);

#endif
