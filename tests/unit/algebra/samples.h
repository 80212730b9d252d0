/* samples.h: random layouts from a fixed seed, and what tests enumerate of any layout. */
#ifndef TILEC_TEST_SAMPLES_H
#define TILEC_TEST_SAMPLES_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "layout/algebra/layout.h"

struct random {
    uint64_t state;
};
int random_below(struct random *r, int limit);

/* A fragment of at most 4096 elements with padding, copies and odd radices; with `extent` the axes
 * get these extents. */
struct layout random_fragment(struct random *r, int rank, const int32_t *extent);
/* Memory with gaps between digits and, at times, an XOR term. */
struct layout random_memory(struct random *r, int rank);

struct layout layout_of(const char *text); /* fails the test if it does not read */
void assert_layout(const struct layout *l, const char *text);
void assert_same(const struct layout *a, const struct layout *b);

/* Steps through all coordinates; start from zeros, false after the last. */
bool next_coordinate(const struct layout *l, int64_t *x);
int64_t element_number(const struct layout *l, const int64_t *x);
int64_t element_count(const struct layout *l);

/* All places of an element by the definition, copies included; returns how many. */
enum { PLACES = 4096 };
int places_of(const struct layout *l, const int64_t *x, struct place *out);

/* Element of each (warp * 32 + lane) * registers + reg, -1 where there is none; fails the test if
 * two elements share a place. */
int32_t *contents_of(const struct layout *l, int64_t registers);

/* What every layout must satisfy: validity, canonical form, places back to coordinates. */
void check_layout(const struct layout *l);

#endif
