/* sim.h: runs Kernel IR on a model of the GPU, so that lowered code is checked without one. */
#ifndef TILEC_SIM_H
#define TILEC_SIM_H
#include "ir/kernel.h"

enum sim_kind {
    SIM_FINE,
    SIM_RACE,      /* two accesses of shared memory or a tensor, one a write, unordered */
    SIM_IN_FLIGHT, /* bytes that an asynchronous copy may still write; exit before it is complete */
    SIM_UNWRITTEN, /* a value that depends on storage nothing wrote reaches memory, an address or
                      a condition */
    SIM_OUTSIDE,   /* out of bounds in any space */
    SIM_MISALIGNED,
    SIM_DIVERGENCE, /* a barrier or warp-wide instruction that only some of its threads reach */
    SIM_DEADLOCK,
    SIM_RANGE,  /* an integer leaves the range that the compiler proved for its variable */
    SIM_ASSERT, /* an assertion of the program, or a check of the launcher */
    SIM_STEPS,  /* more work than the limit */
    SIM_UNSUPPORTED,
    SIM_KINDS
};

struct sim_fault { /* the first one; kind SIM_FINE: none */
    enum sim_kind kind;
    struct span at, other; /* the statement, and the other party's if there is one */
    const struct kernel *kernel;
    int64_t block[3];
    int32_t thread; /* -1: no one in particular */
    const char *message;
};

struct sim_counters {
    int64_t instructions;                 /* statements and operations, times active lanes */
    int64_t statements[K_COMMENT + 1];    /* by kind, a warp each */
    int64_t shared_accesses, bank_passes; /* requests, and the passes they take */
    int64_t global_accesses, sectors;     /* requests, and the 32-byte sectors they touch */
    int64_t blocks;
};

/* Of the statements of one line that reach one buffer in one way, with `count`. */
struct sim_cost {
    const struct kernel *kernel;
    const struct buffer *buffer;
    struct span at;
    enum kstmt_kind kind;
    int64_t requests; /* a warp each */
    int64_t cost;     /* passes over the banks of shared memory, or sectors */
    int64_t least;    /* the fewest that the same bytes could take */
};

struct sim_options {
    /* Called behind each launch for every statement that ran; for an if: that some lane did not
     * enter. */
    void (*ran)(const struct kstmt *s, void *data);
    void *data;
    bool early;       /* cp.async data arrives at once; otherwise as late as the waits allow */
    bool backward;    /* warps run in descending order between barriers */
    uint64_t shuffle; /* blocks run in an order drawn from this seed; 0: ascending */
    bool count;       /* bank conflicts and sectors too */
    int64_t limit;    /* of instructions; 0: 2^36 */
};

struct sim_result {
    struct sim_fault fault;
    struct sim_counters counters;
    VEC(struct sim_cost) costs; /* in the order of the program */
};

/* Runs all launches of f, which is at KERNEL. False if there was a fault. Messages live in m. */
bool sim_run(struct module *m, struct function_ir *f, const struct eval_args *args,
             const struct sim_options *options, struct sim_result *out);

/* The value of an expression over parameters and dimensions, as the launcher computes it. */
int64_t sim_host_value(const struct function_ir *f, const struct eval_args *args,
                       const struct expr *e);

const char *sim_kind_name(enum sim_kind k); /* "race": for messages and tests */

#endif
