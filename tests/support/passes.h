/* passes.h: the passes on a module, coarsen to tidy, for tests that run them in their own process. */
#ifndef TILEC_TEST_PASSES_H
#define TILEC_TEST_PASSES_H
#include "ir/kernel.h"
#include "layout/place.h"
#include "lower/lower.h"
#include "schedule/schedule.h"

static const struct stage {
    const char *name;
    void (*run)(struct module *m);
    enum level level; /* afterwards */
    bool waits; /* copies were made asynchronous, and sync has not yet placed their waits */
} stages[] = {
    {"coarsen", coarsen, LEVEL_TILE, false},    {"forward", forward, LEVEL_TILE, false},
    {"atoms", atoms, LEVEL_TILE, false},        {"place", place, LEVEL_PLACED, false},
    {"pipeline", pipeline, LEVEL_PLACED, true}, {"operands", operands, LEVEL_PLACED, true},
    {"sync", sync, LEVEL_PLACED, false},        {"shared", shared, LEVEL_SCHEDULED, false},
    {"lower", lower, LEVEL_KERNEL, false},      {"tidy", tidy, LEVEL_KERNEL, false}};

#endif
