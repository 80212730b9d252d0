/* ops.c: runs the ops of an expression on all lanes of the warp.
 *
 * Both sides of a selection are computed, so an op never fails: what it makes of storage that
 * nothing wrote is "not known", and matters where a statement needs it. */
#include "sim/internal.h"
#include <math.h>
#include <string.h>

/* r[l] = value for every lane, or for lane 0 alone. */
#define EACH(value)                                    \
    do {                                               \
        if (o->uniform) {                              \
            const int l = 0;                           \
            value;                                     \
        } else {                                       \
            for (int l = 0; l < LANES; l++) { value; } \
        }                                              \
    } while (0)
#define WRAP(a, sign, b) ((int64_t)((uint64_t)(a)sign(uint64_t)(b)))

static uint32_t all_if(bool yes) { return yes ? FULL_MASK : 0; }

/* What is known of an argument, as seen by this op. */
static struct known argument_known(struct machine *s, const struct op *o, int i) {
    struct known k = *known_of(s, o->arg[i]);
    if (o->uniform)
        for (int b = 0; b < 4; b++) k.byte[b] = all_if(k.byte[b] & 1);
    return k;
}

static void known_from_all(struct machine *s, const struct op *o) {
    struct known all = known_in(FULL_MASK);
    for (int i = 0; i < o->count; i++) {
        struct known k = argument_known(s, o, i);
        for (int b = 0; b < 4; b++) all.byte[b] &= k.byte[b];
    }
    *known_of(s, o->to) = known_in(known_lanes(&all));
}

static void run_general(struct machine *s, const struct op *o) {
    union scalar *r = lanes_of(s, o->to);
    const union scalar *arg[4] = {0};
    for (int i = 0; i < o->count; i++) arg[i] = lanes_of(s, o->arg[i]);
    for (int l = 0; l < (o->uniform ? 1 : LANES); l++) {
        union scalar a[4] = {{0}};
        for (int i = 0; i < o->count; i++) a[i] = arg[i][l];
        r[l] = scalar_op((enum function)o->fn, (enum dtype)o->type, a);
    }
}

/* -- choices: what is not chosen need not be known
 * --------------------------------------------------- */
static void run_select(struct machine *s, const struct op *o) {
    union scalar *r = lanes_of(s, o->to);
    const union scalar *c = lanes_of(s, o->arg[0]), *a = lanes_of(s, o->arg[1]),
                       *b = lanes_of(s, o->arg[2]);
    uint32_t chosen = 0;
    EACH(chosen |= (uint32_t)(c[l].i != 0) << l);
    EACH(r[l] = c[l].i ? a[l] : b[l]);
    if (o->uniform) chosen = all_if(chosen);
    struct known kc = argument_known(s, o, 0), ka = argument_known(s, o, 1),
                 kb = argument_known(s, o, 2);
    uint32_t decided = known_lanes(&kc);
    struct known *k = known_of(s, o->to);
    for (int i = 0; i < 4; i++)
        k->byte[i] = decided & ((chosen & ka.byte[i]) | (~chosen & kb.byte[i]));
}

static void run_logic(struct machine *s, const struct op *o) {
    union scalar *r = lanes_of(s, o->to);
    const union scalar *a = lanes_of(s, o->arg[0]), *b = lanes_of(s, o->arg[1]);
    struct known k1 = argument_known(s, o, 0), k2 = argument_known(s, o, 1);
    uint32_t holds = 0;
    EACH(holds |= (uint32_t)(a[l].i != 0) << l);
    if (o->code == OP_AND)
        EACH(r[l].i = a[l].i && b[l].i);
    else
        EACH(r[l].i = a[l].i || b[l].i);
    if (o->uniform) holds = all_if(holds);
    uint32_t decided = o->code == OP_AND ? ~holds : holds; /* by the first alone */
    *known_of(s, o->to) = known_in(known_lanes(&k1) & (decided | known_lanes(&k2)));
}

static void run_spread(struct machine *s, const struct op *o) {
    union scalar *r = lanes_of(s, o->to), v = lanes_of(s, o->arg[0])[0];
    for (int l = 0; l < LANES; l++) r[l] = v;
    struct known k = *known_of(s, o->arg[0]);
    for (int b = 0; b < 4; b++) k.byte[b] = all_if(k.byte[b] & 1);
    *known_of(s, o->to) = k;
}

static void run_element(struct machine *s, const struct op *o) {
    int64_t index = lanes_of(s, o->arg[0])[0].i;
    if (index < 0 || index >= o->amount) {
        sim_fail(s, SIM_OUTSIDE, -1, "register %lld of an array of %d", (long long)index,
                 o->amount);
        return;
    }
    slot_t from = o->arg[1] - (slot_t)index;
    memcpy(lanes_of(s, o->to), lanes_of(s, from), sizeof(struct lanes));
    *known_of(s, o->to) = *known_of(s, from);
}

/* -- between lanes
 * ---------------------------------------------------------------------------------- */
static void run_shuffle(struct machine *s, const struct op *o) {
    union scalar *r = lanes_of(s, o->to);
    const union scalar *v = lanes_of(s, o->arg[0]), *which = lanes_of(s, o->arg[1]);
    struct known from = *known_of(s, o->arg[0]), k = known_in(0);
    uint32_t sure = known_lanes(known_of(s, o->arg[1]));
    if (s->warp->active != FULL_MASK) {
        sim_fail(s, SIM_DIVERGENCE, first_lane(s->warp->active),
                 "a shuffle that only some lanes of the warp reach");
        return;
    }
    s->warp->shuffles++;
    for (int l = 0; l < LANES; l++) {
        int source = (int)(o->code == OP_SHUFFLE_XOR ? l ^ which[l].i : which[l].i) & (LANES - 1);
        r[l] = v[source];
        for (int b = 0; b < 4; b++) k.byte[b] |= (from.byte[b] >> source & 1) << l;
    }
    for (int b = 0; b < 4; b++) k.byte[b] &= sure;
    *known_of(s, o->to) = k;
}

static void run_any(struct machine *s, const struct op *o) {
    const union scalar *v = lanes_of(s, o->arg[0]);
    bool some = false;
    if (s->warp->active != FULL_MASK)
        sim_fail(s, SIM_DIVERGENCE, first_lane(s->warp->active),
                 "a vote that only some lanes of the warp reach");
    for (int l = 0; l < LANES; l++) some |= v[l].i != 0;
    lanes_of(s, o->to)[0].i = some;
    *known_of(s, o->to) = known_in(all_if(known_lanes(known_of(s, o->arg[0])) == FULL_MASK));
}

/* -- packed words
 * ----------------------------------------------------------------------------------- */
uint32_t half_of_float(float v) {
    uint32_t u, sign;
    memcpy(&u, &v, sizeof u);
    sign = u >> 16 & 0x8000;
    u &= 0x7fffffff;
    if (u > 0x7f800000) return 0x7fff;
    if (u >= 0x477ff000) return sign | 0x7c00; /* halfway above 65504 and more */
    if (u < 0x38800000) {                      /* below 2^-14: the sum rounds where f16 does */
        float magnitude, base = 0.5f;
        memcpy(&magnitude, &u, sizeof u);
        magnitude += base;
        memcpy(&u, &magnitude, sizeof u);
        return sign | (u - 0x3f000000);
    }
    return sign | ((u - 0x38000000 + 0xfff + (u >> 13 & 1)) >> 13);
}

static uint32_t bf16_of_float(float v) {
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    if ((u & 0x7fffffff) > 0x7f800000) return 0x7fff;
    return (u + 0x7fff + (u >> 16 & 1)) >> 16;
}

static float float_of_half(uint32_t h) {
    uint32_t u = (h & 0x7fff) << 13;
    float v;
    bool special = (h & 0x7c00) == 0x7c00;
    if (special) u |= 0x7f800000;
    memcpy(&v, &u, sizeof v);
    if (!special) v *= 0x1p112f;
    return h & 0x8000 ? -v : v;
}

static float float_of_bf16(uint32_t h) {
    uint32_t u = h << 16;
    float v;
    memcpy(&v, &u, sizeof v);
    return v;
}

static void run_widen(struct machine *s, const struct op *o) {
    union scalar *r = lanes_of(s, o->to);
    const union scalar *a = lanes_of(s, o->arg[0]);
    if (o->code == OP_F16_TO_F32)
        EACH(r[l].f = (double)float_of_half((uint32_t)a[l].i & 0xffff));
    else
        EACH(r[l].f = (double)float_of_bf16((uint32_t)a[l].i & 0xffff));
    struct known k = argument_known(s, o, 0);
    *known_of(s, o->to) = known_in(k.byte[0] & k.byte[1]);
}

static void run_pack(struct machine *s, const struct op *o) {
    union scalar *r = lanes_of(s, o->to);
    const union scalar *a = lanes_of(s, o->arg[0]), *b = lanes_of(s, o->arg[1]);
    struct known ka = argument_known(s, o, 0), kb = argument_known(s, o, 1);
    uint32_t low = known_lanes(&ka), high = known_lanes(&kb);
    if (o->code == OP_PACK_F16) {
        EACH(r[l].i = half_of_float((float)a[l].f) | (int64_t)half_of_float((float)b[l].f) << 16);
    } else if (o->code == OP_PACK_BF16) {
        EACH(r[l].i = bf16_of_float((float)a[l].f) | (int64_t)bf16_of_float((float)b[l].f) << 16);
    } else {
        EACH(r[l].i = (a[l].i & 0xffff) | (b[l].i & 0xffff) << 16);
        low = ka.byte[0] & ka.byte[1];
        high = kb.byte[0] & kb.byte[1];
    }
    *known_of(s, o->to) = (struct known){{low, low, high, high}};
}

/* A part of a word: the low bytes of the result; the rest is zero. */
static void run_part(struct machine *s, const struct op *o) {
    union scalar *r = lanes_of(s, o->to);
    const union scalar *a = lanes_of(s, o->arg[0]);
    struct known k = argument_known(s, o, 0);
    uint32_t part;
    if (o->code == OP_PART_16) {
        int shift = 16 * (o->amount & 1);
        EACH(r[l].i = (int64_t)((uint64_t)a[l].i >> shift & 0xffff));
        part = k.byte[shift / 8] & k.byte[shift / 8 + 1];
    } else {
        int shift = 8 * (o->amount & 3);
        EACH(r[l].i = (int64_t)((uint64_t)a[l].i >> shift & 0xff));
        part = k.byte[shift / 8];
    }
    *known_of(s, o->to) = known_in(part);
}

static void run_pack_8(struct machine *s, const struct op *o) {
    struct known *k = known_of(s, o->to);
    run_general(s, o);
    for (int b = 0; b < 4; b++) k->byte[b] = argument_known(s, o, b).byte[0];
}

/* -- arithmetic
 * -------------------------------------------------------------------------------------- */
static void run_integer(struct machine *s, const struct op *o) {
    union scalar *r = lanes_of(s, o->to);
    const union scalar *a = lanes_of(s, o->arg[0]), *b = lanes_of(s, o->arg[o->count > 1]);
    switch (o->code) {
    case OP_ADD_64: EACH(r[l].i = WRAP(a[l].i, +, b[l].i)); break;
    case OP_SUB_64: EACH(r[l].i = WRAP(a[l].i, -, b[l].i)); break;
    case OP_MUL_64: EACH(r[l].i = WRAP(a[l].i, *, b[l].i)); break;
    case OP_ADD_I32: EACH(r[l].i = (int32_t)WRAP(a[l].i, +, b[l].i)); break;
    case OP_SUB_I32: EACH(r[l].i = (int32_t)WRAP(a[l].i, -, b[l].i)); break;
    case OP_MUL_I32: EACH(r[l].i = (int32_t)WRAP(a[l].i, *, b[l].i)); break;
    case OP_ADD_U32: EACH(r[l].i = (uint32_t)WRAP(a[l].i, +, b[l].i)); break;
    case OP_SUB_U32: EACH(r[l].i = (uint32_t)WRAP(a[l].i, -, b[l].i)); break;
    case OP_MUL_U32: EACH(r[l].i = (uint32_t)WRAP(a[l].i, *, b[l].i)); break;
    case OP_BIT_AND: EACH(r[l].i = a[l].i & b[l].i); break;
    case OP_BIT_OR: EACH(r[l].i = a[l].i | b[l].i); break;
    case OP_BIT_XOR: EACH(r[l].i = a[l].i ^ b[l].i); break;
    case OP_LOW_BITS: EACH(r[l].i = a[l].i & o->amount); break;
    default: EACH(r[l].i = a[l].i >> o->amount); break;
    }
}

static void run_compare(struct machine *s, const struct op *o) {
    union scalar *r = lanes_of(s, o->to);
    const union scalar *a = lanes_of(s, o->arg[0]), *b = lanes_of(s, o->arg[1]);
    switch (o->code) {
    case OP_LT: EACH(r[l].i = a[l].i < b[l].i); break;
    case OP_LE: EACH(r[l].i = a[l].i <= b[l].i); break;
    case OP_EQ: EACH(r[l].i = a[l].i == b[l].i); break;
    default: EACH(r[l].i = a[l].i != b[l].i); break;
    }
}

static void run_float(struct machine *s, const struct op *o) {
    union scalar *r = lanes_of(s, o->to);
    const union scalar *a = lanes_of(s, o->arg[0]), *b = lanes_of(s, o->arg[1]);
    switch (o->code) {
    case OP_ADD_F32: EACH(r[l].f = (double)(float)(a[l].f + b[l].f)); break;
    case OP_SUB_F32: EACH(r[l].f = (double)(float)(a[l].f - b[l].f)); break;
    case OP_MUL_F32: EACH(r[l].f = (double)(float)(a[l].f * b[l].f)); break;
    default: {
        const union scalar *c = lanes_of(s, o->arg[2]);
        EACH(r[l].f = (double)fmaf((float)a[l].f, (float)b[l].f, (float)c[l].f));
        break;
    }
    }
}

static void run_cast(struct machine *s, const struct op *o) {
    union scalar *r = lanes_of(s, o->to);
    const union scalar *a = lanes_of(s, o->arg[0]);
    EACH(r[l] = scalar_cast(a[l], (enum dtype)o->from, (enum dtype)o->type));
}

/* True if the op has said itself what is known of its result. */
static bool run_other(struct machine *s, const struct op *o) {
    switch (o->code) {
    case OP_SELECT: run_select(s, o); return true;
    case OP_AND:
    case OP_OR: run_logic(s, o); return true;
    case OP_SPREAD: run_spread(s, o); return true;
    case OP_ELEMENT: run_element(s, o); return true;
    case OP_SHUFFLE_XOR:
    case OP_SHUFFLE: run_shuffle(s, o); return true;
    case OP_ANY: run_any(s, o); return true;
    case OP_F16_TO_F32:
    case OP_BF16_TO_F32: run_widen(s, o); return true;
    case OP_PACK_F16:
    case OP_PACK_BF16:
    case OP_PACK_16: run_pack(s, o); return true;
    case OP_PART_16:
    case OP_PART_8: run_part(s, o); return true;
    case OP_CAST: run_cast(s, o); return false;
    default:
        if (o->fn < 0) {
            sim_fail(s, SIM_UNSUPPORTED, -1, "a register number that differs between lanes");
            return true;
        }
        if (o->fn == FN_PACK_8) return run_pack_8(s, o), true;
        run_general(s, o);
        return false;
    }
}

void ops_run(struct machine *s, struct step_code code) {
    for (int32_t i = code.first; i < code.end && !s->failed; i++) {
        const struct op *o = &s->program->ops.at[i];
        if (o->code >= OP_ADD_64 && o->code <= OP_SHIFT_DOWN)
            run_integer(s, o);
        else if (o->code >= OP_LT && o->code <= OP_NE)
            run_compare(s, o);
        else if (o->code >= OP_ADD_F32 && o->code <= OP_FMA_F32)
            run_float(s, o);
        else if (run_other(s, o))
            continue;
        known_from_all(s, o);
    }
}
