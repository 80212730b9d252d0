/* target.h: what each GPU can do, as rows of tables; and the element types. Data only. */
#ifndef TILEC_TARGET_H
#define TILEC_TARGET_H
#include "base/text.h"
#include <stdint.h>

/* -- element types (dtypes.def) ---------------------------------------------------------------- */
enum dtype {
    DTYPE_NONE, /* "no type yet", also the type of a poisoned expression */
#define DTYPE(id, spelling, aliases, bits, class, header, device, letter) DTYPE_##id,
#include "dtypes.def"
    DTYPE_COUNT
};
enum dtype_class { CLASS_NONE, CLASS_BOOL, CLASS_INT, CLASS_UINT, CLASS_FLOAT, CLASS_INDEX };

int dtype_bits(enum dtype t);
int dtype_bytes(enum dtype t); /* storage of one element */
enum dtype_class dtype_class_of(enum dtype t);
const char *dtype_spelling(enum dtype t);    /* "float16": for messages */
const char *dtype_letter(enum dtype t);      /* "f16": for our texts */
const char *dtype_header_type(enum dtype t); /* for the C header */
const char *dtype_device_type(enum dtype t); /* for the emitted CUDA */
enum dtype dtype_find(const char *spelling); /* any spelling, aliases and letters; else DTYPE_NONE */
bool dtype_is_float(enum dtype t);
bool dtype_is_integer(enum dtype t); /* INT, UINT or INDEX */
double dtype_step(enum dtype t);     /* floats: from 1 to the next value; else 0 */

/* -- targets (targets.def) ---------------------------------------------------------------------- */
enum feature {
    FEATURE_CP_ASYNC = 1 << 0, /* cp.async, sm_80 */
    FEATURE_LDMATRIX = 1 << 1, /* sm_75 */
    FEATURE_STMATRIX = 1 << 2, /* sm_90 */
    FEATURE_BF16 = 1 << 3,     /* bf16 mma and cvt, sm_80 */
    FEATURE_FP8 = 1 << 4,      /* fp8 mma and cvt, sm_89 */
    FEATURE_TMA = 1 << 5,      /* sm_90 */
    FEATURE_WGMMA = 1 << 6,    /* sm_90a only */
    FEATURE_CLUSTER = 1 << 7   /* sm_90 */
};

struct target {
    const char *name; /* "sm_90a" */
    int capability;   /* 90 */
    bool exact;       /* the 'a' of sm_90a: code runs on just this capability */
    int shared_block; /* bytes of shared memory one block may ask for (opt-in limit) */
    int shared_sm;    /* bytes an SM has for all its blocks; each block also pays 1024 from sm_80 on */
    int threads_sm, blocks_sm;
    int registers_sm, registers_thread; /* 65536, 255 */
    unsigned features;                  /* enum feature */
    int sm_count;                       /* of the usual device: for cost estimates only */
};

const struct target *target_find(const char *name); /* NULL if unknown */
const struct target *target_nearest(const char *name);
int target_count(void);
const struct target *target_row(int i); /* ascending capability */
bool target_has(const struct target *t, enum feature f);

/* -- answers: what passes ask of a target ----------------------------------------------------------
 * A program depends on its target by the answers alone: for all targets that give the same ones it
 * is the same program. So passes ask here (by way of their module, tile.h) and read no field. */
enum trait {
    TRAIT_CAPABILITY, TRAIT_SHARED_BLOCK, TRAIT_SHARED_SM, TRAIT_THREADS_SM, TRAIT_REGISTERS_SM,
    TRAIT_REGISTERS_THREAD, TRAIT_SM_COUNT, TRAIT_COUNT
};
int64_t target_trait(const struct target *t, enum trait k); /* not kept: for --explain alone */

struct answers { /* given so far: any value of a trait between these would have given them */
    int64_t least[TRAIT_COUNT], most[TRAIT_COUNT];
    unsigned features; /* asked for */
};
struct answers answers_none(void);
bool answer_at_least(struct answers *a, const struct target *t, enum trait k, int64_t n);
int64_t answer_value(struct answers *a, const struct target *t, enum trait k);
bool answer_has(struct answers *a, const struct target *t, enum feature f);
/* Would `other` have answered as t did? */
bool answers_alike(const struct answers *a, const struct target *t, const struct target *other);

/* -- tensor-core instructions (mma.def) ----------------------------------------------------------
 * One warp computes d[m,n] += a[m,k] * b[k,n]. The fragments are stated as layout text (see
 * layout/algebra/layout.h) over the axes (m,k), (k,n), (m,n), one warp, REG counting elements. */
struct mma_row {
    int id;
    const char *name; /* "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" */
    int capability;   /* from which on */
    enum dtype a, b, acc;
    int m, n, k;
    const char *a_layout, *b_layout, *d_layout;
    double rate; /* multiply-adds per SM and cycle on its best target, for estimates */
};

int mma_count(void);
const struct mma_row *mma_row(int id);

/* The widest row for these types on the target, NULL if there is none; float32 operands look for
 * TF32 rows. */
const struct mma_row *mma_find(const struct target *t, enum dtype a, enum dtype b, enum dtype acc);

#endif
