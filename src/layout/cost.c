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

/* The coordinate of each axis that lane `lane` of warp 0 starts at; false outside the tile. */
static bool lane_start(const struct layout *l, int lane, int64_t *coordinate) {
    for (int a = 0; a < l->rank; a++) {
        int64_t weight = 1;
        coordinate[a] = 0;
        for (int i = 0; i < l->axis[a].count; i++) {
            const struct digit *d = &l->axis[a].digit[i];
            if (d->space == SPACE_LANE) coordinate[a] += lane / d->stride % d->radix * weight;
            weight *= d->radix;
        }
        if (coordinate[a] >= l->axis[a].extent) return false;
    }
    for (int i = 0; i < l->reps; i++)
        if (l->rep[i].space == SPACE_LANE && lane / l->rep[i].stride % l->rep[i].radix)
            return false;
    return true;
}

/* Iterations of some axis read the same element again. */
static bool is_reread(const struct view *v, const struct layout *domain) {
    for (int a = 0; a < domain->rank; a++)
        if (domain->axis[a].extent > 1 && v->coefficient[a] == 0) return true;
    return false;
}

static int lines_of(const int64_t *address, int lanes) {
    int lines = 0;
    for (int i = 0; i < lanes; i++) {
        bool seen = false;
        for (int j = 0; j < i && !seen; j++) seen = address[i] / 128 == address[j] / 128;
        lines += !seen;
    }
    return lines;
}

static double memory_cost(const struct plan *p, const struct view *v, const struct layout *domain) {
    double registers = (double)layout_span(domain, SPACE_REG);
    int bytes = dtype_bytes(v->buffer->dtype);
    if (!v->affine) return p->warps * registers * (1 + 32.0 * COST_SECTOR);
    int vector = view_vector(v, domain);
    int64_t address[32], coordinate[LAYOUT_RANK];
    int lanes = 0;
    for (int lane = 0; lane < 32; lane++) {
        if (!lane_start(domain, lane, coordinate)) continue;
        int64_t at = 0;
        for (int a = 0; a < domain->rank; a++) at += coordinate[a] * v->coefficient[a];
        address[lanes++] = at * bytes;
    }
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

double domain_cost(const struct plan *p, const struct site *s, const struct layout *domain) {
    double cost = p->warps * (double)layout_span(domain, SPACE_REG) * s->work, staged = 0;
    for (int i = 0; i < s->views.count; i++) {
        const struct view *v = &s->views.at[i];
        double times = v->kind == (ACCESS_READ | ACCESS_WRITE) ? 2 : 1;
        if (v->buffer->scope != SCOPE_FRAGMENT) {
            cost += memory_cost(p, v, domain) * times;
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
