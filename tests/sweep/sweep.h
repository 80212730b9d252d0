/* sweep.h: the loop of a sweep: sampled programs, each exact or refused, never a third thing. */
#ifndef TILEC_TEST_SWEEP_H
#define TILEC_TEST_SWEEP_H
#include "program.h"

struct sweep {
    uint64_t state;                     /* of the generator */
    int exact, refused, faults, models; /* models: exact ones that ran on the machine model, too */
    int number;                         /* of the case now running */
    char refusal[1024];                 /* of the case refused last */
};

struct sweep sweep_new(uint64_t seed);
int sweep_count(int usual);           /* TILEC_SWEEP=N in the environment runs N times as many */
int pick(struct sweep *s, int count); /* 0 … count-1 */
#define pick_of(s, list) ((list)[pick((s), (int)(sizeof(list) / sizeof *(list)))])

/* Compiles and runs the text. `check` compares the results with what they must be: NULL or what
 * differs. It gets `data`; it is not called for a refusal. Says which. */
enum verdict { VERDICT_EXACT, VERDICT_REFUSED, VERDICT_FAULT };
struct trial {
    const char *text, *target;
    double tolerance;
    const char *(*scheduled)(struct program *p);          /* as in program.h */
    void (*prepare)(struct program *p, const void *data); /* scalars, before the tensors; or NULL */
    void (*fill)(struct program *p, const void *data);    /* more tensors' contents; or NULL */
    const char *(*check)(struct program *p, const void *data);
    const void *data;
};
enum verdict sweep_try(struct sweep *s, const struct trial *t);

/* Fails the test if there were faults, or fewer exact or refused cases than expected. */
void sweep_end(const struct sweep *s, const char *what, int exact, int refused);

#endif
