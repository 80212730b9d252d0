/* trial.h: data for a run, and the comparison of two runs: evaluator against model. */
#ifndef TILEC_SIM_TRIAL_H
#define TILEC_SIM_TRIAL_H
#include "sim/sim.h"

struct sim_data {
    struct eval_args args;
    uint8_t *
        *memory; /* by parameter: of a tensor, with NaN in front, behind and between its rows */
    int64_t *bytes;
    double reordered; /* how far sums by atomics may lie apart in another order (sim_evaluate) */
};

/* Seeded arguments for the parameters of f. given[i] says the value of parameter i if that is a
 * dimension or a scalar; what is not set there, or given NULL, is chosen. NULL with *why where no
 * data can be made. */
struct sim_choice {
    bool set;
    union scalar value;
};
struct sim_data *sim_data_new(struct arena *a, const struct function_ir *f,
                              const struct sim_choice *given, uint64_t seed, const char **why);
struct sim_data *sim_data_copy(struct arena *a, const struct function_ir *f,
                               const struct sim_data *from);

/* Turns the arguments into what f (at TILE) means; `poison` as in eval_options. False with *why
 * where it means nothing. */
bool sim_evaluate(struct module *m, struct function_ir *f, struct sim_data *x, bool poison,
                  const char **why);

/* How far apart two right results of f (at TILE) may lie: nothing where the order of all operations
 * is fixed. `expected` has been evaluated. */
struct sim_tolerance {
    double relative;  /* of the element */
    double absolute;  /* of the largest element that f writes */
    double reordered; /* of any element */
};
struct sim_tolerance sim_tolerance_of(const struct function_ir *f, const struct sim_data *expected);

struct sim_difference {
    const struct buffer *buffer; /* NULL: none */
    int64_t at[TILE_RANK];
    bool outside; /* bytes around the tensor changed; `at` is not set */
    double expected, actual;
    int64_t count; /* elements that differ in this tensor */
};
/* The first tensor and element that differ. */
struct sim_difference sim_compare(const struct function_ir *f, const struct sim_data *expected,
                                  const struct sim_data *actual, struct sim_tolerance t);
double sim_element(const struct tensor *t, const int64_t *at);

#endif
