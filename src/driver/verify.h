/* verify.h: what the files of `tilec verify` share: its options, arrays of .npy files, trials. */
#ifndef TILEC_VERIFY_H
#define TILEC_VERIFY_H
#include "driver/driver.h"
#include "sim/trial.h"

/* -- verify_options.c
 * ------------------------------------------------------------------------------ */
struct named_file {                     /* [FUNCTION.]NAME=FILE */
    const char *function, *name, *file; /* function NULL: every one that has the tensor */
    const struct npy *array;            /* of an input */
    bool used;
};

struct verify_options {
    VEC(struct named_file) inputs, outputs;
    uint64_t seed;
    bool sweep, count, random_order;
    bool explain; /* --explain=counters */
};

/* -- verify_npy.c
 * ---------------------------------------------------------------------------------- */
enum { NPY_RANK = 32 }; /* numpy's own limit before 2.0 */

struct npy {
    const char *type; /* as the file spells it: "<f4" */
    char kind;
    int32_t size; /* bytes of an element */
    int32_t rank;
    int64_t extent[NPY_RANK], count;
    const uint8_t *data; /* C order */
};

/* The array of a file; NULL with *why, which names no file. */
const struct npy *npy_read(struct arena *a, const char *path, const char **why);
/* Does an element of the file hold one of type t? */
bool npy_holds(const struct npy *x, enum dtype t);
const char *npy_type(enum dtype t); /* what a file of such elements says: "<f4" */
/* The file's bytes up to the data. */
struct text npy_header(struct arena *a, enum dtype t, int rank, const int64_t *extent);

/* -- verify.c
 * -------------------------------------------------------------------------------------- */
struct verify {
    struct compilation *c; /* of the sizes being tried */
    const struct options *options;
    struct verify_options *how;
    const char *sizes; /* compile-time sizes being tried, "M=1, N=0"; NULL: those of the text */
    int number;        /* of the combination of sizes */
    bool keeps;        /* the runs of this architecture write the outputs */
    struct text out;   /* of one trial */
    int status, passed, refused, failed;
};

struct trial { /* one function, one architecture, one choice of data */
    struct function_ir *meaning, *code;
    struct module *tile, *kernel;
    struct sim_choice *given; /* by parameter */
    uint64_t seed;
    struct sim_options how;
};

int verify_module(struct verify *v, struct module *kernel); /* gives how many kernels ran */

/* -- verify_arrays.c
 * ------------------------------------------------------------------------------- */
/* Reads the files of --input. False after a message. */
bool arrays_read(struct verify *v);
/* Every name of --input and --output fits a tensor, and one output one kernel. */
bool arrays_fit(struct verify *v, const struct module *m);
/* Dimensions that the shapes of the inputs determine. False with *why. */
bool arrays_bind(struct verify *v, const struct trial *t, const char **why);
bool arrays_fill(struct verify *v, const struct trial *t, struct sim_data *d, const char **why);
/* Writes the outputs. False after a message. */
bool arrays_keep(struct verify *v, const struct trial *t, const struct sim_data *d);

/* -- verify_report.c
 * ------------------------------------------------------------------------------- */
void report_pass(struct verify *v, const struct trial *t, const struct sim_data *d,
                 const struct sim_result *r);
void report_fault(struct verify *v, const struct trial *t, const struct sim_data *d,
                  const struct sim_fault *f);
void report_difference(struct verify *v, const struct trial *t, const struct sim_difference *d,
                       const struct sim_data *expected, const struct sim_data *actual);
void report_error(struct verify *v, const struct trial *t, const char *why, int status);
/* The launcher refuses these dimensions: a failure where a user chose them. */
void report_unlaunched(struct verify *v, const struct trial *t, const struct sim_data *d,
                       const char *check);
/* The compiler refuses these sizes; `first` is its message, "FILE:LINE:COLUMN: error: …". */
void report_refused(struct verify *v, const char *unit, const char *target, const char *first);
void report_summary(struct verify *v);

/* -- verify_counters.c
 * ----------------------------------------------------------------------------- */
/* The counters of a run: --explain=counters. */
void put_explanation(struct verify *v, const struct sim_result *r);

/* -- verify_sizes.c
 * -------------------------------------------------------------------------------- */
/* Sweeps the compile-time sizes of every unit that has some; false if none has, or if the source
 * has errors (then *status is set). */
bool sizes_sweep(struct verify *v, int *status);

#endif
