/* layout.h: where the elements of a tile stand, as digits; pure arithmetic.
 *
 * A layout maps coordinates to places. Each axis is written as mixed-radix digits, least
 * significant first; a digit of radix r takes (x / weight) % r of its axis' coordinate, where
 * weight is the product of the radices before it, and adds digit * stride to one *space*:
 *   REG   register (element) number within a thread
 *   LANE  0..31 within a warp
 *   WARP  within the block
 *   OFF   element offset in a memory buffer
 * Rep digits are coordinates of LANE, WARP or REG that no axis uses: their places hold copies.
 * A memory layout may also XOR bits of the element offset (bank swizzle).
 * The radices of an axis multiply to at least its extent; the excess is a padded domain whose
 * places exist but hold no element.
 *
 * Text form, one group an axis (low digit first, `radix@space:stride`), then reps, then XORs:
 *   [8@lane:4 2@reg:2, 2@reg:1 4@lane:1 8@reg:4] rep [4@warp:1]
 *   [128@off:32, 32@off:1] xor [3,6,2]           offset ^= ((offset >> 6) & 3) << 3
 * An extent below the product of the radices is written in front: `[100: 4@reg:1 32@lane:1, …]`.
 * A unit axis without digits is `1`, a second XOR term follows within the brackets, no layout is
 * `none`.
 *
 * Every lane and warp appears: what no axis uses of the 32 lanes, and of the block's warps, are Rep
 * digits. The constructors that know the block's warps keep to this; a memory layout has OFF only.
 *
 * Tiles have fewer than 2^30 elements, padding included, so that strides fit; the stage that
 * accepts a tile sees to it.
 *
 * Invariant: the digits of each space are positional (sorted by stride, each stride at least the
 * span of those below), so a layout is one-to-one by construction and its inverse is the same
 * digits read backwards. Constructors and readers reject anything else. */
#ifndef TILEC_LAYOUT_H
#define TILEC_LAYOUT_H
#include "base/cursor.h"
#include "base/text.h"
#include <stdbool.h>
#include <stdint.h>

enum { LAYOUT_RANK = 6, LAYOUT_DIGITS = 12, LAYOUT_REPS = 14, LAYOUT_XORS = 2 };

enum space { SPACE_REG, SPACE_LANE, SPACE_WARP, SPACE_OFF, SPACE_COUNT };

struct digit {
    int32_t radix;
    int32_t stride;
    uint8_t space; /* enum space */
};

struct layout_axis {
    int32_t extent;
    int32_t count;
    struct digit digit[LAYOUT_DIGITS];
};

/* offset ^= ((offset >> source) & ((1 << length) - 1)) << target; target + length <= source */
struct layout_xor {
    uint8_t target, source, length;
};

struct layout {
    int32_t rank; /* -1: no layout (yet) */
    int32_t reps, xors;
    struct layout_axis axis[LAYOUT_RANK];
    struct digit rep[LAYOUT_REPS];
    struct layout_xor xor_term[LAYOUT_XORS];
};

struct place {
    int64_t reg, lane, warp, off;
};

/* -- algebra.c -----------------------------------------------------------------------------------
 */
struct layout layout_none(void);
bool layout_is_none(const struct layout *l);

/* The unique form of a layout: radix-1 digits dropped, neighbours with stride1 = stride0 * radix0
 * fused, reps sorted and fused, unused array entries zero. All functions but layout_split return
 * canonical forms, which equality and the queries take for granted. */
struct layout layout_canonical(const struct layout *l);
bool layout_equal(const struct layout *a, const struct layout *b);
bool layout_valid(const struct layout *l, const char **why); /* the invariant above */

/* The place of an element; of its copies the one with all Rep digits 0. */
struct place layout_place(const struct layout *l, const int64_t *coordinate);

/* The coordinates of a place; false if the place lies in the padded domain or is unused. For a
 * place of a Rep copy these are the coordinates of what it copies. */
bool layout_coordinate(const struct layout *l, struct place p, int64_t *coordinate);

/* Number of values of a space: 1 + the largest value. Registers a thread holds; OFF elements (with
 * XOR terms rounded up to what they permute). */
int64_t layout_span(const struct layout *l, enum space s);

struct layout layout_permute(const struct layout *l, const int *axes); /* result axis i = axes[i] */
struct layout layout_drop(const struct layout *l, int axis);           /* LANE/WARP digits -> rep;
                                     REG digits vanish and the REG digits above close up */
/* A new axis in front of `axis`: extent 1 adds no digit; otherwise slots of a ring, one after the
 * other in OFF (REG if `l` has LANE, WARP or REG digits). OFF slots are spaced so that each has the
 * same XOR pattern; for a spacing of your own append an axis and permute it to the front. */
struct layout layout_insert(const struct layout *l, int axis, int32_t extent);
struct layout layout_append_axis(const struct layout *l, int32_t extent, struct digit d);

/* Splits digits so that `weight` becomes a digit boundary of the axis; false, with nothing changed,
 * if it falls inside a digit that it does not divide. The result is not canonical. */
bool layout_split(struct layout *l, int axis, int32_t weight);

/* -- query.c -------------------------------------------------------------------------------------
 */
enum move_class {
    MOVE_NONE,      /* equal, or the target holds a subset of the copies */
    MOVE_REGISTERS, /* a renaming within each thread */
    MOVE_WARP,      /* between lanes of a warp */
    MOVE_BLOCK      /* between warps */
};
/* What it takes to bring a fragment laid out as `from` into `to` (same extents): the least class
 * such that every place of `to`, copies included, finds its element within its place, thread, warp
 * or block. */
enum move_class layout_classify(const struct layout *from, const struct layout *to);

/* How many consecutive elements along `axis` are consecutive in both: REG stride 1 of the fragment
 * and OFF stride 1 of the memory, not crossing an XOR; a power of two, at most `limit`. Every run
 * that starts at a multiple of its length is whole, and aligned to its length in registers and, if
 * the buffer is, in memory: it is the width of a vector access. */
int layout_vector_run(const struct layout *fragment, const struct layout *memory, int axis,
                      int limit);

/* Wavefronts beyond the fewest possible when the 32 lanes access `bytes` each at these byte
 * addresses (bank = address / 4 % 32; 8- and 16-byte accesses go in halves and quarters). A
 * negative address is an idle lane. */
int layout_bank_conflicts(const int64_t *address, int lanes, int bytes);
/* Distinct 32-byte sectors of the addresses. */
int layout_sectors(const int64_t *address, int lanes, int bytes);

/* -- make.c --------------------------------------------------------------------------------------
 */
/* Row-major memory; `pad` elements are added to each row of the last axis. */
struct layout layout_row_major(int rank, const int32_t *extent, int32_t pad);

/* Row-major memory with 16-byte chunks XORed by higher offset bits so that 8 rows of a column of
 * chunks touch all banks; plain row-major where that already holds (an odd number of chunks a row)
 * or where rows are no whole chunks. A chunk stays in its row, and the axes before the rows are
 * spaced so that every matrix has the same pattern. */
struct layout layout_swizzled(int rank, const int32_t *extent, int element_bytes);

/* A partition of a tile over `warps` warps: `vector` consecutive elements of the last axis a
 * register run, then `columns` lanes along the last axis (power of two; the rest of the 32 go to
 * the axes before, nearest first), then warps where they divide what is left (axes before first,
 * else where they fit), then registers (those of the last axis lowest). Excess is padded; lanes and
 * warps that find no work hold copies. */
struct layout layout_blocked(int rank, const int32_t *extent, int vector, int columns, int warps);

/* Everyone holds everything. */
struct layout layout_replicated(int rank, const int32_t *extent, int warps);

/* An mma fragment of one instruction tile (`atom`, rank 2, one warp) repeated over a tile of
 * extent[0] x extent[1]. warp[i] are WARP digits: the warps that divide axis i (radix 1: none);
 * `copies` is the WARP digit of warps that hold the same elements (radix 1: none). The remaining
 * repeats are registers, those of axis 1 below those of axis 0. Extents that the atom does not
 * divide are padded. */
struct layout layout_fragment(const struct layout *atom, const int32_t *extent,
                              const struct digit *warp, struct digit copies);

/* -- layout_text.c -------------------------------------------------------------------------------
 */
void layout_print(struct text *t, const struct layout *l);
bool layout_read(struct cursor *c, struct layout *l);

#endif
