/* plan.c: how a thread walks its share of an iteration domain.
 *
 * LANE and WARP digits of the domain layout become expressions of the thread, REG digits become
 * unrolled loops; the lowest digit of one axis is the vector, whose elements the body handles
 * together, so that it can use wide accesses and packed registers. */
#include "internal.h"

static bool first_is_register(const struct layout_axis *a) {
    return a->count > 0 && a->digit[0].space == SPACE_REG;
}

/* The axis whose lowest digit is the lowest register digit; else the last with a register digit. */
static int vector_axis(const struct domain *d) {
    int i, best = -1;

    for (i = 0; i < d->rank; i++) {
        if (!first_is_register(&d->layout.axis[i])) continue;
        if (best < 0 || d->layout.axis[i].digit[0].stride <= d->layout.axis[best].digit[0].stride)
            best = i;
    }
    return best;
}

static int32_t gcd(int32_t a, int32_t b) { return b ? gcd(b, a % b) : a; }

/* Padding begins at a whole vector, so that one test serves all its elements. */
static int32_t vector_width(const struct domain *d, int axis, int32_t limit) {
    int32_t width = gcd(d->layout.axis[axis].digit[0].radix, 16);

    if (d->layout.axis[axis].extent) width = gcd(width, d->layout.axis[axis].extent);
    while (width > limit) width /= 2;
    return width > 0 ? width : 1;
}

static void insert_loop(struct plan *p, struct plan_loop loop) {
    int i = p->loops++;

    for (; i > 0 && p->loop[i - 1].stride < loop.stride; i--) p->loop[i] = p->loop[i - 1];
    p->loop[i] = loop;
}

static void axis_loops(struct lowering *l, struct plan *p, int axis) {
    const struct layout_axis *a = &p->domain->layout.axis[axis];
    struct plan_loop loop;
    int64_t weight = 1;
    int j;

    for (j = 0; j < a->count; weight *= a->digit[j++].radix) {
        if (a->digit[j].space != SPACE_REG) continue;
        loop = (struct plan_loop){.radix = a->digit[j].radix,
                                  .axis = axis,
                                  .stride = a->digit[j].stride,
                                  .weight = weight,
                                  .value = ix(l, 0)};
        if (axis == p->axis && j == 0) {
            loop.radix /= p->vector;
            loop.weight *= p->vector;
            loop.stride *= p->vector;
        }
        if (loop.radix == 1) continue;
        if (p->loops == LOOPS) {
            fault(l, "more than 16 loops over registers");
            return;
        }
        insert_loop(p, loop);
    }
}

/* Copies of an iteration: only the one with every Rep digit 0 has side effects; lanes and warps
 * that lie beyond the digits repeat others and have none. */
static void plan_owner(struct lowering *l, struct plan *p) {
    const struct layout *y = &p->domain->layout;
    int64_t lanes = layout_span(y, SPACE_LANE), warps = layout_span(y, SPACE_WARP);
    struct field f;
    int i;

    for (i = 0; i < y->reps; i++) {
        if (y->rep[i].space != SPACE_LANE && y->rep[i].space != SPACE_WARP) continue;
        f = (struct field){.kind = y->rep[i].space == SPACE_LANE ? FIELD_LANE : FIELD_WARP,
                           .radix = y->rep[i].radix,
                           .stride = y->rep[i].stride};
        p->owner = both(l, p->owner, expr_binary(l->x, FN_EQ, field_value(l, &f), ix(l, 0)));
    }
    if (lanes < 32) p->owner = both(l, p->owner, expr_binary(l->x, FN_LT, l->lane, ix(l, lanes)));
    if (warps < l->k->threads / 32)
        p->owner = both(l, p->owner, expr_binary(l->x, FN_LT, l->warp, ix(l, warps)));
}

void plan_make(struct lowering *l, struct plan *p, const struct domain *d, int32_t limit) {
    int i;

    memset(p, 0, sizeof *p);
    p->domain = d;
    p->vector = 1;
    p->axis = vector_axis(d);
    if (p->axis >= 0) p->vector = vector_width(d, p->axis, limit);
    for (i = 0; i < d->rank; i++) axis_loops(l, p, i);
    plan_owner(l, p);
}

static void axis_fields(struct lowering *l, const struct plan *p, int axis, int32_t e,
                        struct coordinate *c) {
    const struct layout_axis *a = &p->domain->layout.axis[axis];
    int64_t weight = 1;
    int j;

    c->count = 0;
    c->value = NULL;
    for (j = 0; j < a->count; weight *= a->digit[j++].radix)
        if (a->digit[j].space == SPACE_LANE || a->digit[j].space == SPACE_WARP)
            coordinate_add(
                c, (struct field){.kind = a->digit[j].space == SPACE_LANE ? FIELD_LANE : FIELD_WARP,
                                  .radix = a->digit[j].radix,
                                  .stride = a->digit[j].stride,
                                  .weight = weight});
    for (j = 0; j < p->loops; j++)
        if (p->loop[j].axis == axis)
            coordinate_add(c, (struct field){.kind = FIELD_LOOP,
                                             .radix = p->loop[j].radix,
                                             .weight = p->loop[j].weight,
                                             .value = p->loop[j].value});
    if (axis == p->axis && p->vector > 1)
        coordinate_add(
            c, (struct field){
                   .kind = FIELD_CONSTANT, .radix = p->vector, .weight = 1, .value = ix(l, e)});
}

struct coordinate plan_axis(struct lowering *l, const struct plan *p, int axis, int32_t e) {
    struct coordinate c;

    axis_fields(l, p, axis, e, &c);
    coordinate_finish(l, &c);
    return c;
}

static bool envs_hold(const struct plan *p, const struct env *outer) {
    int i;

    if (p->envs.outer != outer || p->envs.loops != p->loops) return false;
    for (i = 0; i < p->loops; i++)
        if (p->envs.value[i] != p->loop[i].value) return false;
    return true;
}

static void envs_begin(struct plan *p, struct env *outer) {
    int i;

    p->envs = (struct plan_envs){.outer = outer, .loops = p->loops};
    for (i = 0; i < p->loops; i++) p->envs.value[i] = p->loop[i].value;
}

static struct env *make_env(struct lowering *l, const struct plan *p, int32_t e) {
    struct env *env = l->env, *inner;
    int i;

    for (i = 0; i < p->domain->rank; i++) {
        if (!p->domain->axis[i]) continue;
        inner = arena_make(l->m->arena, struct env);
        inner->outer = env;
        inner->var = p->domain->axis[i];
        inner->value = plan_axis(l, p, i, e).value;
        env = inner;
    }
    return env;
}

/* Each access of each element asks for it. */
struct env *plan_env(struct lowering *l, struct plan *p, int32_t e) {
    if (!envs_hold(p, l->env)) envs_begin(p, l->env);
    if (!p->envs.at[e]) p->envs.at[e] = make_env(l, p, e);
    return p->envs.at[e];
}

/* Iterations in the padded domain do nothing. */
void plan_inside(struct lowering *l, struct plan *p) {
    const struct layout_axis *a;
    struct coordinate c;
    int64_t span;
    int i, j;

    p->inside = NULL;
    for (i = 0; i < p->domain->rank; i++) {
        a = &p->domain->layout.axis[i];
        for (j = 0, span = 1; j < a->count; j++) span *= a->digit[j].radix;
        if (span <= a->extent) continue;
        c = plan_axis(l, p, i, 0);
        p->inside = both(l, p->inside, expr_binary(l->x, FN_LT, c.value, ix(l, a->extent)));
    }
}

static int axis_of(const struct plan *p, const struct expr *e) {
    int i;

    for (i = 0; e->kind == EXPR_VAR && i < p->domain->rank; i++)
        if (p->domain->axis[i] == e->var) return i;
    return -1;
}

static bool uses_axis(const struct plan *p, const struct expr *e) {
    int i;

    for (i = 0; i < p->domain->rank; i++)
        if (p->domain->axis[i] && expr_uses_var(e, p->domain->axis[i])) return true;
    return false;
}

/* coefficient * axis + rest, as fields; the rest is the same in all iterations. */
static bool index_fields(struct lowering *l, const struct plan *p, const struct affine *a,
                         int32_t e, struct coordinate *c) {
    struct affine rest = *a;
    int i, axis, found = -1;

    rest.count = 0;
    for (i = 0; i < a->count; i++) {
        axis = axis_of(p, a->atom[i]);
        if (axis < 0 && uses_axis(p, a->atom[i])) return false;
        if (axis < 0) {
            rest.atom[rest.count] = a->atom[i];
            rest.coefficient[rest.count++] = a->coefficient[i];
        } else if (found >= 0) {
            return false;
        } else {
            found = i;
        }
    }
    if (found < 0) return false;
    axis_fields(l, p, axis_of(p, a->atom[found]), e, c);
    if (!coordinate_shift(l, c, a->coefficient[found], 0)) return false;
    return coordinate_base(l, c, bind(l, affine_expr(l->x, &rest), l->env));
}

struct coordinate plan_index(struct lowering *l, struct plan *p, struct expr *index, int32_t e) {
    struct expr *value = bind(l, index, plan_env(l, p, e));
    struct coordinate c;
    struct affine a;

    if (affine_of(index, &a) && index_fields(l, p, &a, e, &c)) {
        c.value = value;
        return c;
    }
    return coordinate_of(l, value);
}

static void nest_step(struct lowering *l, const struct nest *n, int at) {
    struct plan_loop *loop;
    struct kblock *saved;
    int32_t v;

    if (at == n->to) {
        plan_inside(l, n->plan);
        n->body(l, n->plan, n->data);
        return;
    }
    loop = &n->plan->loop[at];
    if (loop->expanded) {
        for (v = 0; v < loop->radix; v++) {
            loop->value = ix(l, v);
            nest_step(l, n, at + 1);
        }
        return;
    }
    loop->var = loop_var(l, loop->radix);
    loop->value = expr_var(l->x, loop->var);
    saved = add_unrolled(l, loop->var, loop->radix);
    nest_step(l, n, at + 1);
    out_leave(l, saved);
}

void nest_run(struct lowering *l, const struct nest *n) { nest_step(l, n, n->from); }
