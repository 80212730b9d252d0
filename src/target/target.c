/* target.c: reads the tables of element types, GPUs and tensor-core instructions. */
#include "target/target.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_OF_NAMES = 32 };

/* -- Element types ----------------------------------------------------------------------------- */

struct dtype_row {
    const char *spelling, *aliases, *header, *device, *letter;
    int bits;
    enum dtype_class class;
};

static const struct dtype_row dtypes[DTYPE_COUNT] = {
    [DTYPE_NONE] = {"none", "", "void", "void", "none", 0, CLASS_NONE},
#define DTYPE(id, spelling, aliases, bits, class, header, device, letter) \
    [DTYPE_##id] = {spelling, aliases, header, device, letter, bits, CLASS_##class},
#include "dtypes.def"
};

int dtype_bits(enum dtype t) { return dtypes[t].bits; }
int dtype_bytes(enum dtype t) { return dtypes[t].bits / 8; }
enum dtype_class dtype_class_of(enum dtype t) { return dtypes[t].class; }
const char *dtype_spelling(enum dtype t) { return dtypes[t].spelling; }
const char *dtype_letter(enum dtype t) { return dtypes[t].letter; }
const char *dtype_header_type(enum dtype t) { return dtypes[t].header; }
const char *dtype_device_type(enum dtype t) { return dtypes[t].device; }
bool dtype_is_float(enum dtype t) { return dtypes[t].class == CLASS_FLOAT; }

bool dtype_is_integer(enum dtype t) {
    enum dtype_class c = dtypes[t].class;
    return c == CLASS_INT || c == CLASS_UINT || c == CLASS_INDEX;
}

double dtype_step(enum dtype t) {
    switch (t) {
    case DTYPE_F64: return 0x1p-52;
    case DTYPE_F16: return 0x1p-10;
    case DTYPE_BF16: return 0x1p-7;
    case DTYPE_E4M3: return 0x1p-3;
    case DTYPE_E5M2: return 0x1p-2;
    default: return dtype_is_float(t) ? 0x1p-23 : 0;
    }
}

enum dtype dtype_find(const char *spelling) {
    for (enum dtype t = DTYPE_NONE + 1; t < DTYPE_COUNT; t++) {
        const struct dtype_row *row = &dtypes[t];
        if (!strcmp(spelling, row->spelling) || !strcmp(spelling, row->letter) ||
            (row->aliases[0] && !strcmp(spelling, row->aliases)))
            return t;
    }
    return DTYPE_NONE;
}

/* -- Targets ----------------------------------------------------------------------------------- */

static const struct target targets[] = {
#define TARGET(name, capability, exact, block, sm, threads, blocks, features, sms) \
    {name, capability, exact, block, sm, threads, blocks, 65536, 255, features, sms},
#include "targets.def"
};

int target_count(void) { return (int)(sizeof targets / sizeof targets[0]); }
const struct target *target_row(int i) { return &targets[i]; }
bool target_has(const struct target *t, enum feature f) { return (t->features & (unsigned)f) != 0; }

const struct target *target_find(const char *name) {
    for (int i = 0; i < target_count(); i++)
        if (!strcmp(name, targets[i].name)) return &targets[i];
    return NULL;
}

/* -- Answers ----------------------------------------------------------------------------------- */

int64_t target_trait(const struct target *t, enum trait k) {
    switch (k) {
    case TRAIT_CAPABILITY: return t->capability;
    case TRAIT_SHARED_BLOCK: return t->shared_block;
    case TRAIT_SHARED_SM: return t->shared_sm;
    case TRAIT_THREADS_SM: return t->threads_sm;
    case TRAIT_REGISTERS_SM: return t->registers_sm;
    case TRAIT_REGISTERS_THREAD: return t->registers_thread;
    case TRAIT_SM_COUNT: return t->sm_count;
    case TRAIT_COUNT: break;
    }
    return 0;
}

struct answers answers_none(void) {
    struct answers a = {.features = 0};
    for (int k = 0; k < TRAIT_COUNT; k++) {
        a.least[k] = INT64_MIN;
        a.most[k] = INT64_MAX;
    }
    return a;
}

bool answer_at_least(struct answers *a, const struct target *t, enum trait k, int64_t n) {
    bool yes = target_trait(t, k) >= n;
    if (yes && a->least[k] < n) a->least[k] = n;
    if (!yes && a->most[k] >= n) a->most[k] = n - 1;
    return yes;
}

int64_t answer_value(struct answers *a, const struct target *t, enum trait k) {
    return a->least[k] = a->most[k] = target_trait(t, k);
}

bool answer_has(struct answers *a, const struct target *t, enum feature f) {
    a->features |= (unsigned)f;
    return target_has(t, f);
}

bool answers_alike(const struct answers *a, const struct target *t, const struct target *other) {
    bool alike = !((t->features ^ other->features) & a->features);
    for (int k = 0; k < TRAIT_COUNT && alike; k++) {
        int64_t value = target_trait(other, (enum trait)k);
        alike = a->least[k] <= value && value <= a->most[k];
    }
    return alike;
}

/* Levenshtein's distance; texts beyond LENGTH_OF_NAMES count with their first characters. */
static int edit_distance(const char *a, const char *b) {
    int row[LENGTH_OF_NAMES + 1];
    int n = (int)strlen(b) < LENGTH_OF_NAMES ? (int)strlen(b) : LENGTH_OF_NAMES;
    for (int j = 0; j <= n; j++) row[j] = j;
    for (int i = 0; a[i] && i < LENGTH_OF_NAMES; i++) {
        int diagonal = row[0];
        row[0] = i + 1;
        for (int j = 1; j <= n; j++) {
            int best = diagonal + (a[i] != b[j - 1]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[n];
}

/* The first number in the text, 0 without one. */
static long number_in(const char *text) {
    const char *digits = strpbrk(text, "0123456789");
    long value = digits ? strtol(digits, NULL, 10) : 0;
    return value > 9999 ? 9999 : value;
}

/* Equal distances are decided by the capability asked for: "sm_90" is one edit from sm_80 and from
 * sm_90a. */
const struct target *target_nearest(const char *name) {
    const struct target *nearest = NULL;
    long least = LONG_MAX, asked = number_in(name);
    for (int i = 0; i < target_count(); i++) {
        long cost = edit_distance(name, targets[i].name) * 100000L +
                    labs(asked - (long)targets[i].capability);
        if (cost < least) {
            least = cost;
            nearest = &targets[i];
        }
    }
    return nearest;
}

/* -- Tensor-core instructions ------------------------------------------------------------------ */

/* A row's id is its position, which the table does not repeat. */
enum mma_id {
#define MMA(shape, types, capability, a, b, acc, m, n, k, fragments, rate) \
    MMA_ID_##a##_##b##_##acc##_##m##_##n##_##k,
#include "mma.def"
    MMA_COUNT
};

static const struct mma_row rows[MMA_COUNT] = {
#define MMA(shape, types, capability, a, b, acc, m, n, k, fragments, rate) \
    {MMA_ID_##a##_##b##_##acc##_##m##_##n##_##k,                           \
     "mma.sync.aligned." shape ".row.col." types,                          \
     capability,                                                           \
     DTYPE_##a,                                                            \
     DTYPE_##b,                                                            \
     DTYPE_##acc,                                                          \
     m,                                                                    \
     n,                                                                    \
     k,                                                                    \
     fragments,                                                            \
     rate},
#include "mma.def"
};

int mma_count(void) { return MMA_COUNT; }
const struct mma_row *mma_row(int id) { return &rows[id]; }

static enum dtype operand_of(enum dtype t) { return t == DTYPE_F32 ? DTYPE_TF32 : t; }

const struct mma_row *mma_find(const struct target *t, enum dtype a, enum dtype b, enum dtype acc) {
    const struct mma_row *widest = NULL;
    a = operand_of(a);
    b = operand_of(b);
    for (const struct mma_row *r = rows; r < rows + MMA_COUNT; r++)
        if (r->capability <= t->capability && r->a == a && r->b == b && r->acc == acc &&
            (!widest || r->k > widest->k || (r->k == widest->k && r->m > widest->m)))
            widest = r;
    return widest;
}
