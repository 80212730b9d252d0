/* rig.h: programs in, values, tile IR or diagnostics out. */
#ifndef TILEC_TEST_SEMA_RIG_H
#define TILEC_TEST_SEMA_RIG_H
#include "base/diag.h"
#include "base/text.h"

struct program {
    const char *text;
    const char *definitions; /* "N=3 dtype=float16 make_a.N=4", separated by blanks */
    const char *entries, *kernels, *prefix;
};

/* Runs the module's statements and writes the value of `name` as Python would; an error is written
 * as "E0203: message". */
struct text value_of(struct arena *a, const char *text, const char *name);

/* The tile IR of everything, or the diagnostics as they are printed. */
struct text analysed(struct arena *a, const struct program *p);

#endif
