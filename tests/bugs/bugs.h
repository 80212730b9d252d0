/* bugs.h: kernels after public bug reports, and what each must give.
 *
 * A number is that of the report in the list the project keeps of faults of neighbouring compilers.
 * A kernel's result is the tensor Y; where nothing is written Y holds -1. */
#ifndef TILEC_TEST_BUGS_H
#define TILEC_TEST_BUGS_H
#include "program.h"

struct bug {
    const char *name;                             /* "2 block_K no multiple of 16" */
    const char *text;                             /* the file */
    double (*want)(struct program *p, int64_t i); /* element i of Y; NULL: see below */
    void (*fill)(struct program *p);              /* more contents of tensors; may be NULL */
    const char *values;  /* without `want`: the first elements of Y, apart by blanks */
    const char *refused; /* a part of the message, or "[E0123]"; for all targets */
    int64_t n;           /* the scalar or dimension n */
    bool either;         /* exact or refused with a rule */
};

/* Each bug on sm_75, sm_80 and sm_90a. */
int run_bugs(const char *group, const struct bug *bugs, int count);
#define RUN_BUGS(group, list) run_bugs(group, list, (int)(sizeof(list) / sizeof *(list)))

/* For checks of their own. */
double at2(struct program *p, const char *tensor, int64_t i, int64_t j);
double at1(struct program *p, const char *tensor, int64_t i);

#endif
