/* field.c: coordinates as sums of fields, so that digits of layouts are read off, not computed.
 *
 * A coordinate of a tile is value_0 * weight_0 + value_1 * weight_1 + …, where each value stays
 * below its radix and no field reaches into the next. A digit of a layout, (x / w) % r, is then the
 * part of the fields between the weights w and w * r: no carries, hence exact. What has no such
 * form is one opaque field, from which digits are computed by division. */
#include "internal.h"

enum { UNBOUNDED = INT32_MAX };

static struct expr *digit_of(struct lowering *l, struct expr *v, int64_t by, int64_t modulus) {
    if (by > 1) v = expr_binary(l->x, FN_FLOORDIV, v, ix(l, by));
    if (modulus > 0 && !(v->lo >= 0 && v->hi < modulus))
        v = expr_binary(l->x, FN_FLOORMOD, v, ix(l, modulus));
    return v;
}

/* Digit (f / a) % b of a field; b 0: all that is left. */
static struct expr *field_part(struct lowering *l, const struct field *f, int64_t a, int64_t b) {
    struct expr *whole;

    if (f->kind == FIELD_LANE || f->kind == FIELD_WARP) {
        whole = f->kind == FIELD_LANE ? l->lane : l->warp;
        return digit_of(l, whole, f->stride * a, b ? b : (f->radix + a - 1) / a);
    }
    if (f->kind == FIELD_UNIFORM) return digit_of(l, f->value, a, b);
    return digit_of(l, f->value, a, b && a * b < f->radix ? b : 0);
}

struct expr *field_value(struct lowering *l, const struct field *f) {
    return field_part(l, f, 1, f->kind == FIELD_UNIFORM ? 0 : f->radix);
}

struct coordinate coordinate_of(struct lowering *l, struct expr *value) {
    struct coordinate c = {.count = 0, .value = value};
    int64_t constant;

    if (expr_is_int(value, &constant) && constant >= 0 && constant < UNBOUNDED) {
        if (constant > 0)
            coordinate_add(&c, (struct field){.kind = FIELD_CONSTANT,
                                              .radix = (int32_t)constant + 1,
                                              .weight = 1,
                                              .value = ix(l, constant)});
    } else {
        coordinate_add(
            &c,
            (struct field){.kind = FIELD_UNIFORM, .radix = UNBOUNDED, .weight = 1, .value = value});
    }
    return c;
}

/* Keeps fields in order of weight. */
void coordinate_add(struct coordinate *c, struct field f) {
    int i = c->count;

    if (c->count == FIELDS) return;
    for (; i > 0 && c->field[i - 1].weight > f.weight; i--) c->field[i] = c->field[i - 1];
    c->field[i] = f;
    c->count++;
}

void coordinate_finish(struct lowering *l, struct coordinate *c) {
    struct expr *sum = NULL;
    int i;

    for (i = c->count - 1; i >= 0; i--)
        sum = plus(l, sum, times(l, field_value(l, &c->field[i]), c->field[i].weight));
    c->value = sum ? sum : ix(l, 0);
}

static int64_t field_end(const struct field *f) {
    return f->kind == FIELD_UNIFORM ? INT64_MAX : f->weight * f->radix;
}

/* Puts the constant into the gaps between the fields. */
static bool add_constant(struct lowering *l, struct coordinate *c, int64_t constant) {
    struct coordinate out;
    int64_t at = 1, gap, part;
    int i;

    if (constant == 0) return c->count < FIELDS;
    out = *c;
    for (i = 0; i < c->count && constant > 0; i++) {
        gap = c->field[i].weight / at;
        if (c->field[i].weight % at != 0 || constant % at != 0) return false;
        part = constant / at % gap;
        if (part > 0)
            coordinate_add(&out, (struct field){.kind = FIELD_CONSTANT,
                                                .radix = (int32_t)gap,
                                                .weight = at,
                                                .value = ix(l, part)});
        constant -= part * at;
        at = field_end(&c->field[i]);
        if (constant > 0 && (at == INT64_MAX || constant % at != 0)) return false;
    }
    if (constant > 0)
        coordinate_add(&out, (struct field){.kind = FIELD_CONSTANT,
                                            .radix = (int32_t)(constant / at) + 1,
                                            .weight = at,
                                            .value = ix(l, constant / at)});
    *c = out;
    return out.count < FIELDS;
}

bool coordinate_shift(struct lowering *l, struct coordinate *c, int64_t factor, int64_t constant) {
    int i;

    if (factor <= 0 || constant < 0 || factor > UNBOUNDED || constant >= UNBOUNDED) return false;
    for (i = 0; i < c->count; i++) c->field[i].weight *= factor;
    return add_constant(l, c, constant);
}

/* c * loop variable of a known range: a field like those of register loops. */
static bool add_loop(struct coordinate *c, const struct affine *a, int64_t end) {
    const struct expr *v = a->atom[0];
    int64_t weight = a->coefficient[0];

    if (a->count != 1 || v->kind != EXPR_VAR || v->var->kind != VAR_LOOP || v->lo != 0 ||
        v->hi >= UNBOUNDED / 2 || weight <= 0 || weight % end != 0)
        return false;
    coordinate_add(c, (struct field){.kind = FIELD_LOOP,
                                     .radix = (int32_t)v->hi + 1,
                                     .weight = weight,
                                     .value = a->atom[0]});
    return true;
}

/* Adds an expression that is a multiple of all that the fields cover. */
bool coordinate_base(struct lowering *l, struct coordinate *c, struct expr *base) {
    int64_t end = c->count ? field_end(&c->field[c->count - 1]) : 1;
    struct affine a;

    if (!affine_of(base, &a) || a.constant < 0 || a.constant >= UNBOUNDED) return false;
    if (a.count == 0) return add_constant(l, c, a.constant);
    if (end == INT64_MAX) return false;
    if (add_loop(c, &a, end)) return c->count < FIELDS && add_constant(l, c, a.constant);
    if (base->lo < 0 || (base->divisor != 0 && base->divisor % end != 0)) return false;
    coordinate_add(c, (struct field){.kind = FIELD_UNIFORM,
                                     .radix = UNBOUNDED,
                                     .weight = end,
                                     .value = digit_of(l, base, end, 0)});
    return c->count < FIELDS;
}

/* The part of a field between the weights lo and hi, in units of lo. */
static bool cut(struct lowering *l, const struct field *f, int64_t lo, int64_t hi,
                struct piece *out) {
    int64_t end = field_end(f), from = lo > f->weight ? lo : f->weight, to = hi < end ? hi : end;

    out->radix = 0;
    if (from >= to) return true;
    if (from % f->weight != 0 || from % lo != 0) return false;
    out->kind = f->kind;
    out->scale = from / lo;
    if (to == INT64_MAX) {
        out->radix = UNBOUNDED;
        out->value = field_part(l, f, from / f->weight, 0);
        return true;
    }
    out->radix = (to + from - 1) / from;
    if (to % from != 0 && to != end) return false;
    out->value = field_part(l, f, from / f->weight, out->radix);
    return true;
}

static bool digit_pieces(struct lowering *l, const struct coordinate *c, int64_t lo, int64_t hi,
                         struct pieces *out) {
    struct piece p;
    int i;

    for (i = 0; i < c->count; i++) {
        if (!cut(l, &c->field[i], lo, hi, &p) || out->count == PIECES) return false;
        if (p.radix > 0) out->at[out->count++] = p;
    }
    return true;
}

bool layout_pieces(struct lowering *l, const struct layout *layout, enum space space,
                   const struct coordinate *c, struct pieces *out) {
    const struct layout_axis *axis;
    int64_t weight, end;
    int i, j, from;

    out->count = 0;
    for (i = 0; i < layout->rank; i++) {
        axis = &layout->axis[i];
        for (j = 0, weight = 1; j < axis->count; j++, weight = end) {
            end = weight * axis->digit[j].radix;
            if (axis->digit[j].space != space) continue;
            from = out->count;
            if (!digit_pieces(l, &c[i], weight,
                              j + 1 == axis->count && space == SPACE_OFF ? INT64_MAX : end, out))
                return false;
            for (; from < out->count; from++) out->at[from].scale *= axis->digit[j].stride;
        }
    }
    return true;
}
