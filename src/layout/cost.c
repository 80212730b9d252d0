/* cost.c: what a site costs under a layout, in issue slots of one block.
 *
 * Counted for the first warp and its first registers, then multiplied: all other accesses of a
 * partition are translations of these. A sector of global memory counts two slots (an SM receives
 * about 16 bytes a cycle from device memory and issues four instructions), half of that if the tile
 * reads it again and a cache holds it; each 128-byte line of a request one; a shuffle with its
 * operation four. Idle warps count as if they worked, so an uneven spread costs time. */
#include "layout/plan.h"

enum {
    COST_SECTOR = 2,
    COST_SHUFFLE = 4,
    COST_BARRIER = 400, /* two barriers around an exchange, during which the block stands */
    REGISTERS_SOFT = 160
};

/* -- Memory ------------------------------------------------------------------------------------ */

int view_vector(const struct view *v, const struct layout *domain) {
    if (v->run_axis < 0 || domain->axis[v->run_axis].count == 0) return 1;
    struct digit low = domain->axis[v->run_axis].digit[0];
    if (low.space != SPACE_REG || low.stride != 1) return 1;
    int bytes = dtype_bytes(v->buffer->dtype), n = 1;
    while (n * 2 * bytes <= 16 && low.radix % (n * 2) == 0 && v->alignment % (n * 2) == 0) n *= 2;
    return n;
}

/* A lane digit of a domain, and what one step of it moves. */
struct lane_step {
    int32_t stride, radix, weight;
    int axis; /* -1: a copy */
};

struct lane_steps {
    int count;
    struct lane_step at[LAYOUT_RANK * LAYOUT_DIGITS + LAYOUT_REPS];
};

static struct lane_steps lane_steps(const struct layout *l) {
    struct lane_steps s = {.count = 0};
    for (int a = 0; a < l->rank; a++) {
        int32_t weight = 1;
        for (int i = 0; i < l->axis[a].count; i++) {
            const struct digit *d = &l->axis[a].digit[i];
            if (d->space == SPACE_LANE)
                s.at[s.count++] = (struct lane_step){d->stride, d->radix, weight, a};
            weight *= d->radix;
        }
    }
    for (int i = 0; i < l->reps; i++)
        if (l->rep[i].space == SPACE_LANE)
            s.at[s.count++] = (struct lane_step){l->rep[i].stride, l->rep[i].radix, 0, -1};
    return s;
}

/* The offset in elements at which lane `lane` of warp 0 starts; false outside the tile. */
static bool lane_start(const struct layout *l, const struct lane_steps *s, const struct view *v,
                       int lane, int64_t *offset) {
    int64_t coordinate[LAYOUT_RANK] = {0};
    *offset = 0;
    for (int i = 0; i < s->count; i++) {
        const struct lane_step *step = &s->at[i];
        int32_t digit = lane / step->stride % step->radix;
        if (!digit) continue;
        if (step->axis < 0) return false;
        int64_t moved = (int64_t)digit * step->weight;
        coordinate[step->axis] += moved;
        *offset += moved * v->coefficient[step->axis];
        if (coordinate[step->axis] >= l->axis[step->axis].extent) return false;
    }
    return true;
}

/* Iterations of some axis read the same element again. */
static bool is_reread(const struct view *v, const struct layout *domain) {
    for (int a = 0; a < domain->rank; a++)
        if (domain->axis[a].extent > 1 && v->coefficient[a] == 0) return true;
    return false;
}

/* Lines of 128 bytes; most addresses ascend, so that only the line before need be looked at. */
static int lines_of(const int64_t *address, int lanes) {
    int lines = 0;
    bool ascending = true;
    for (int i = 0; i < lanes; i++) {
        int64_t line = address[i] / 128;
        if (i > 0 && line == address[i - 1] / 128) continue;
        bool seen = false;
        ascending &= i == 0 || address[i] > address[i - 1];
        for (int j = 0; j < i && !ascending && !seen; j++) seen = address[j] / 128 == line;
        lines += !seen;
    }
    return lines;
}

static double memory_cost(const struct plan *p, const struct view *v, const struct layout *domain) {
    double registers = (double)layout_span(domain, SPACE_REG);
    int bytes = dtype_bytes(v->buffer->dtype);
    if (!v->affine) return p->warps * registers * (1 + 32.0 * COST_SECTOR);
    int vector = view_vector(v, domain);
    int64_t address[32], at;
    int lanes = 0;
    struct lane_steps steps = lane_steps(domain);
    for (int lane = 0; lane < 32; lane++)
        if (lane_start(domain, &steps, v, lane, &at)) address[lanes++] = at * bytes;
    if (v->buffer->scope == SCOPE_SHARED) {
        double wavefronts = lanes * bytes * vector / 128.0;
        return p->warps * registers / vector * (1 + (wavefronts < 1 ? 1 : wavefronts));
    }
    double sector_cost = is_reread(v, domain) ? COST_SECTOR / 2.0 : COST_SECTOR;
    int64_t lowest = 0;
    for (int i = 0; i < lanes; i++) lowest = address[i] < lowest ? address[i] : lowest;
    for (int i = 0; i < lanes; i++) address[i] -= lowest;
    int sectors = layout_sectors(address, lanes, bytes * vector);
    double request = 1 + sector_cost * sectors + lines_of(address, lanes);
    return p->warps * registers / vector * request;
}

double convert_cost(const struct plan *p, const struct buffer *b) {
    double bytes = 1;
    for (int k = 0; k < b->rank; k++) bytes *= b->extent[k];
    bytes *= dtype_bytes(b->dtype);
    return COST_BARRIER + p->warps * 4 + bytes / 16;
}

/* -- Sites ------------------------------------------------------------------------------------- */

static double pressure(const struct layout *l, int bytes) {
    double registers = (double)layout_span(l, SPACE_REG) * bytes / 4;
    return registers > REGISTERS_SOFT ? (registers - REGISTERS_SOFT) * 200 : 0;
}

/* Views of different tensors that move alike cost alike. */
static bool moves_alike(const struct view *a, const struct view *b) {
    if (a->buffer->scope != b->buffer->scope || a->affine != b->affine ||
        dtype_bytes(a->buffer->dtype) != dtype_bytes(b->buffer->dtype) ||
        a->alignment != b->alignment || a->run_axis != b->run_axis)
        return false;
    for (int k = 0; k < TILE_RANK; k++)
        if (a->coefficient[k] != b->coefficient[k]) return false;
    return true;
}

double domain_cost(const struct plan *p, const struct site *s, const struct layout *domain) {
    double cost = p->warps * (double)layout_span(domain, SPACE_REG) * s->work, staged = 0, last = 0;
    const struct view *counted = NULL; /* `last` is its cost */
    for (int i = 0; i < s->views.count; i++) {
        const struct view *v = &s->views.at[i];
        double times = v->kind == (ACCESS_READ | ACCESS_WRITE) ? 2 : 1;
        if (v->buffer->scope != SCOPE_FRAGMENT) {
            if (!counted || !moves_alike(counted, v)) last = memory_cost(p, v, domain);
            counted = v;
            cost += last * times;
        } else if (!layout_is_none(&v->buffer->layout)) {
            cost += pressure(&v->buffer->layout, dtype_bytes(v->buffer->dtype));
            if (!held_in_place(domain, v, &v->buffer->layout))
                staged += convert_cost(p, v->buffer) * times * v->stage_weight;
        }
    }
    return cost * s->weight + staged;
}

double reduce_cost(const struct plan *p, const struct layout *src, int axis) {
    struct layout dst = reduced_layout(src, axis, false);
    double elements = (double)layout_span(src, SPACE_REG);
    double results = (double)layout_span(&dst, SPACE_REG);
    double rounds = 0, parts = 1;
    for (int i = 0; i < src->axis[axis].count; i++) {
        const struct digit *d = &src->axis[axis].digit[i];
        if (d->space == SPACE_LANE)
            for (int32_t r = d->radix; r > 1; r /= 2) rounds++;
        if (d->space == SPACE_WARP) parts *= d->radix;
    }
    double cost = p->warps * (elements + results * rounds * COST_SHUFFLE);
    if (parts > 1) cost += COST_BARRIER + p->warps * results * (2 + parts);
    return cost;
}
