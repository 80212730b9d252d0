/* judge.h: one program under several schedules: what it means, what its code does, what differs. */
#ifndef TILEC_TESTS_VERIFY_JUDGE_H
#define TILEC_TESTS_VERIFY_JUDGE_H
#include "rig.h"

/* How a program is compiled and run. Its text may use the names `threads` and `stages`. */
struct variant {
    const char *target;
    int threads, stages;
    bool early; /* asynchronous copies arrive at once, warps run backward */
};

enum { MOST_VARIANTS = 10 };
struct plan {
    uint64_t seed; /* of the data */
    struct variant at[MOST_VARIANTS];
    int count;
    void (*spoil)(struct module *code); /* plants a fault, for tests; or NULL */
};

enum outcome {
    AGREES,
    DIFFERS,
    REFUSED,   /* by a diagnostic, under each variant */
    UNDEFINED, /* what it means depends on storage that nothing wrote */
    OUTCOMES
};

struct finding {
    enum outcome outcome;
    char kind[32];      /* equal for the same kind of failure: "race", "value", "crash" … */
    char message[1500]; /* the first one of that kind */
    int variant, other; /* where; the other one of two that differ from each other, or -1 */
    int refused;        /* variants */
};

/* The program as it is compiled: `body` behind the two names. */
const char *judge_text(struct arena *a, const char *body, const struct variant *v);

struct finding judge(const char *body, const struct plan *p);

/* The same in a process of its own, so that a crash or no end is one more kind. */
struct finding judge_apart(const char *body, const struct plan *p, unsigned seconds);

/* The smallest program, and the fewest threads and stages, that fail in the same way: `found` is
 * what judge says of the body. *left is the plan that shows it. */
const char *judge_shrunk(struct arena *a, const char *body, const struct plan *p,
                         const struct finding *found, struct plan *left);

#endif
