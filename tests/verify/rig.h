/* rig.h: programs compiled in memory: their meaning and their code. */
#ifndef TILEC_TESTS_VERIFY_RIG_H
#define TILEC_TESTS_VERIFY_RIG_H
#include "sema/sema.h"
#include "sim/trial.h"

struct program_text {
    const char *text;
    const char *const *definitions; /* "NAME=VALUE" …, NULL */
    const char *target;
};

/* The module after `analyse`, and with `code` also after tidy. NULL if the source has errors; their
 * text is then in *errors. */
struct module *rig_compile(struct arena *a, const struct program_text *p, bool code,
                           const char **errors);

struct verdict {
    enum sim_kind kind; /* of a fault */
    bool evaluated;     /* the evaluator came to an end */
    const char *why;    /* one line; NULL: all agrees */
    struct sim_difference difference;
    int64_t instructions;
    int line, other; /* of the fault */
};
/* Runs function 0 of the meaning on the evaluator and of the code on the model. */
struct verdict rig_judge(struct arena *a, struct module *meaning, struct module *code,
                         uint64_t seed, const struct sim_options *how);

#endif
