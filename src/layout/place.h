/* place.h: chooses instructions and layouts: TILE to PLACED. */
#ifndef TILEC_PLACE_H
#define TILEC_PLACE_H
#include "ir/tile.h"

/* coarsen.c: gives thin blocks (little work, no shared memory, fragments or order between blocks)
 * several neighbouring tiles: one more domain axis in every MAP/COPY, a smaller grid. TILE. */
void coarsen(struct module *m);

/* persist.c, run by coarsen: a kernel whose blocks have an SM for themselves takes 2 to 16
 * neighbouring tiles along x a block, in a PIPELINED loop around its whole body (2 slots). TILE.
 * It does so where all of this holds:
 *   - the body has, at its top, COPYs of one element type from a tensor that the kernel does not
 *     write to all of a shared buffer that nothing else writes, from a place that is known when
 *     the block starts (cp.async on the target);
 *   - fragments (the most that live at once, and 24 registers beside them), threads or shared
 *     memory let one block on an SM;
 *   - two slots of those buffers, all others and 8192 bytes for exchanges fit into shared memory;
 *   - blocks do not depend on each other: no WHILE, no atomics but relaxed ones whose old value is
 *     not used, no T.use_swizzle, no more than one block an SM asked for;
 *   - no pipelined loop and no gemm in it, which overlap their loads by themselves;
 *   - the grid is known and has 4 tiles or more for each SM of the usual device.
 * The count is that with the least turns * (2 * tiles + 1) for the busiest SM: the first load of a
 * block is waited for, the others are not. The loop has a `why`, for nobody wrote it. */

/* forward.c: a shared tile that every reader reads just where the same iteration wrote it becomes
 * a fragment. TILE. */
void forward(struct module *m);

/* atoms.c: chooses the mma row and the warp partition of each gemm, pads small tiles. TILE. */
void atoms(struct module *m);

/* Rules of PLACED that lower relies on:
 *   - Every fragment access is in place: each thread that runs an iteration holds the element, in a
 *     register that does not depend on the thread; axes of a constant index lie in registers only.
 *     A write reaches all copies. Everything else has been turned into accesses of shared scratch.
 *   - Threads whose Rep coordinate in a domain is not 0 run the iteration too (they keep their
 *     copies of fragments current), but what they store to memory, their atomics and prints do not
 *     happen: memory sees an iteration once. Padded iterations do not happen at all.
 *   - A MAP that uses the old value of an atomic, or writes fragments and both reads and writes a
 *     buffer in memory, has a domain without Reps.
 *   - Padded places of a fragment hold nothing: a reduction leaves them out, a gemm may read
 *     anything there that does not reach a place with an element (rows and columns beyond m and n).
 *   - A gemm without an instruction (atom -1) reads a and b from shared memory; c has any layout.
 *   - src and dst of a REDUCE are whole fragments of one element type; dst has the layout that
 *     falls out of src's (layout_drop), or with `parts` keeps the warps of the axis.
 *
 * place.c (with candidates.c, cost.c, solve.c, convert.c): a layout for every fragment and shared
 * buffer, a domain layout for every MAP and COPY; where two uses disagree a conversion (COPYs
 * through a scratch buffer, or registers) is inserted; reductions that cross warps become explicit
 * exchanges. TILE to PLACED. Never fails for lack of a layout. */
void place(struct module *m);

#endif
