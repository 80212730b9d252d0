/* held.h: checks placed kernels by enumeration of threads and registers. */
#ifndef TILEC_TEST_HELD_H
#define TILEC_TEST_HELD_H
#include "rig.h"

/* NULL if every fragment access of every tile operation is in place; else what is wrong. */
const char *held_everywhere(struct rig *r);

#endif
