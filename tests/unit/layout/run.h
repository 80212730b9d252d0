/* run.h: runs a kernel before and after place and compares what it leaves in the tensors. */
#ifndef TILEC_TEST_RUN_H
#define TILEC_TEST_RUN_H
#include "layout/place.h"
#include "rig.h"

/* Builds the kernel twice, places one of them, and runs both on the same small integers. NULL if
 * all tensors agree within `tolerance` (relative; 0: bits), else what differs. */
typedef void build_kernel(struct rig *r, const int *shape);
const char *same_before_and_after(build_kernel *build, const int *shape, int threads,
                                  double tolerance);

#endif
