/* lower.h: tile operations to per-thread code: SCHEDULED to KERNEL. */
#ifndef TILEC_LOWER_H
#define TILEC_LOWER_H
#include "ir/kernel.h"

/* Fills kernel->code of every kernel. */
void lower(struct module *m);

/* tidy.c: folds addresses, hoists what a loop does not change, drops dead code. KERNEL. */
void tidy(struct module *m);

#endif
