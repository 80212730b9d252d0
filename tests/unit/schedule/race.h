/* race.h: looks for unordered accesses to shared memory by running every thread of a kernel. */
#ifndef TILEC_TEST_SCHEDULE_RACE_H
#define TILEC_TEST_SCHEDULE_RACE_H
#include "rig.h"

/* Runs the scheduled kernel with every DIM set to `dim`; the number of pairs of accesses to one
 * byte of shared memory that no barrier and no wait orders. The first is described in *why. */
int count_races(struct rig *r, int64_t dim, const char **why);

#endif
