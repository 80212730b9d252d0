/* maker.h: well-typed tile programs made at random, and what the parts of the maker share. */
#ifndef TILEC_TESTS_VERIFY_MAKER_H
#define TILEC_TESTS_VERIFY_MAKER_H
#include "base/text.h"
#include <stdint.h>

struct made {
    const char *body; /* uses the names `threads` and `stages` */
    const char *family;
};
/* Always the same program for a seed. */
struct made make_program(struct arena *a, uint64_t seed);

/* -- inside of the maker
 * --------------------------------------------------------------------------- */
enum { TILES = 24, AXES = 3, SCALARS = 12, TENSORS = 16 };

struct tile {
    const char *name, *dtype;
    int rank, dim[AXES];
    bool shared, written;
    bool target; /* of the T.Parallel now being made: read it only where it is written */
};

struct known { /* a name whose value all threads know */
    const char *name, *dtype;
    int indent; /* of the block that it is known in */
    bool variable;
};

struct input { /* a tensor that no statement of this launch writes */
    const char *name, *dtype;
    int rank;
};

struct maker {
    struct arena *arena;
    uint64_t state;
    struct text head, parameters, t; /* of the module, of the signature, of the launches */
    bool loose;   /* has sums in any order: nothing may depend on the last bits of a float */
    bool dynamic; /* some extents of tensors are known at the launch */
    bool products, integers;
    int batch; /* extent of the grid's third axis, 0: there is none */
    int rows, columns;
    struct tile tiles[TILES];
    struct known scalars[SCALARS];
    struct input inputs[TENSORS], outputs[TENSORS];
    int tile_count, scalar_count, input_count, output_count;
    int names, depth;           /* used up; of loops and branches */
    const char *axis[AXES + 1]; /* of the T.Parallel now being made */
    int extent[AXES], axes;
    const char *counter; /* of the loop within an iteration that is being made; NULL: none */
};

/* maker.c */
uint32_t below(struct maker *g, uint32_t n);
bool chance(struct maker *g, uint32_t percent);
int pick_int(struct maker *g, const int *from, int count);
const char *pick_text(struct maker *g, const char *const *from, int count);
#define PICK(g, ...) \
    pick_int(g, (const int[]){__VA_ARGS__}, (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)))
#define PICK_TEXT(g, ...)                            \
    pick_text(g, (const char *const[]){__VA_ARGS__}, \
              (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)))
void say(struct maker *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *name_new(struct maker *g, const char *stem);
bool is_real(const char *dtype);
bool is_narrow(const char *dtype); /* an 8-bit float: only stored, copied and cast */
bool is_unsigned(const char *dtype);

struct tile *tile_new(struct maker *g, int rank, const int *dim, const char *dtype, bool shared);
enum wanted { ANY, WRITTEN };
/* A tile of `rank` (0: of any), or NULL. */
struct tile *tile_choose(struct maker *g, int rank, enum wanted w);
struct tile *tile_alike(struct maker *g, const struct tile *x, enum wanted w); /* another one */
const char *tile_shape(struct maker *g, const struct tile *x);                 /* "64, 32" */
const struct input *input_choose(struct maker *g, int rank, const char *dtype);
/* An index of a tensor of rank 2 or 3 for the block's tile, `more` on the last axis. */
const char *corner(struct maker *g, const struct input *x, const char *row, const char *column);
void scalar_new(struct maker *g, const char *name, const char *dtype, bool variable);

/* make_values.c: expressions at one iteration, or outside of loops over tiles if axes == 0 */
const char *value(struct maker *g, const char *dtype, int depth);
const char *whole(struct maker *g, uint32_t below_it); /* an index type's value that is uniform */
const char *condition(struct maker *g, int depth);     /* at one iteration */
const char *uniform_condition(struct maker *g);
const char *converted(struct maker *g, const char *e, const char *from, const char *to);

/* make_maps.c, make_places.c, make_moves.c, make_products.c: one statement or a few */
void random_map(struct maker *g);
void random_atomics(struct maker *g);
void random_places(struct maker *g);
void random_load(struct maker *g);
void random_gather(struct maker *g);
void random_move(struct maker *g);
void random_slice(struct maker *g);
void random_fill(struct maker *g);
void random_reduce(struct maker *g);
void random_scalar(struct maker *g);
void random_product(struct maker *g);
void random_chain(struct maker *g);
void parallel_begin(struct maker *g, int rank, const int *dim);
void parallel_end(struct maker *g);

/* make_control.c */
void random_statements(struct maker *g, int count);

#endif
