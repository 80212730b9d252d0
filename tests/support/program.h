/* program.h: a .tile text compiled in the test's process and run by the evaluator on the way.
 *
 * What a text may do is compile and compute the same after every pass, or be refused with a
 * diagnostic; anything else is a fault of tilec and comes back as text. */
#ifndef TILEC_TEST_PROGRAM_H
#define TILEC_TEST_PROGRAM_H
#include "ir/tile.h"

enum { PROGRAM_PARAMS = 12 };

struct program {
    struct arena *arena;
    struct diag *diag;
    struct module *m;
    struct function_ir *f;                 /* the first function; NULL after an error */
    struct tensor *tensor[PROGRAM_PARAMS]; /* by parameter; NULL for scalars */
    uint8_t *start[PROGRAM_PARAMS];        /* what each tensor holds before a run */
    union scalar scalar[PROGRAM_PARAMS];
    double tolerance; /* of the comparison between passes, relative; 0: the same bits */
    bool quick;       /* evaluate only as built and as scheduled */
    const char *(*scheduled)(struct program *p); /* a check of one's own at SCHEDULED, or NULL */
};

/* Lexes, parses and analyses. */
struct program *program_new(const char *text, const char *target);
void program_free(struct program *p);

/* All diagnostics if there is an error, else NULL. */
const char *program_refusal(const struct program *p);

/* Gives scalars and run-time dimensions their values, before program_tensors. */
void program_scalar(struct program *p, const char *name, int64_t value);
void program_real(struct program *p, const char *name, double value);

/* Makes the tensors: small whole numbers in -4 … 4, and a sentinel in those that are written. */
void program_tensors(struct program *p);

struct tensor *program_tensor(struct program *p, const char *name);
int64_t tensor_elements(const struct tensor *t);
union scalar tensor_get(const struct tensor *t, int64_t i); /* i counts in storage order */
double tensor_value(const struct tensor *t, int64_t i);
void tensor_set(struct tensor *t, int64_t i, union scalar v);
void tensor_put(struct tensor *t, int64_t i, double value); /* rounded to its type */

/* Runs the program as it is on the tensors; NULL or what the evaluator says. */
const char *program_evaluate(struct program *p);

/* Evaluates as analysed, then runs all passes through tidy, verifies after each, evaluates again
 * where tile IR can be and compares. NULL: all agree, or there is a refusal to be read with
 * program_refusal. The tensors hold the results. */
const char *program_run(struct program *p);

/* Runs all passes without evaluating, for tensors too large to exist. */
const char *program_compile(struct program *p);

#endif
