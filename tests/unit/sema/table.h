/* table.h: rows of programs and the parts that their output must hold, in order. */
#ifndef TILEC_TEST_SEMA_TABLE_H
#define TILEC_TEST_SEMA_TABLE_H
#include "rig.h"

struct row {
    const char *name;
    struct program program;
    const char *wanted;   /* parts of the output in order, separated by '|' */
    const char *unwanted; /* a part that must not be there; may be NULL */
};

/* One test a row; the result is the exit status. `before` is put in front of each text. */
int run_rows(const char *group, const struct row *rows, int count, const char *before);

#endif
