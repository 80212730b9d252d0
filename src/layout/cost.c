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

/* The coordinates along an axis at which lanes of warp 0 start; those inside the tile are kept. */
static int lane_coordinates(const struct layout_axis *a, int64_t *coordinate) {
    int count = 1, kept = 0;
    int64_t weight = 1;
    coordinate[0] = 0;
    for (int i = 0; i < a->count; i++) {
        const struct digit *d = &a->digit[i];
        for (int n = count, step = 1; d->space == SPACE_LANE && step < d->radix; step++)
            for (int j = 0; j < n; j++) coordinate[count++] = coordinate[j] + step * weight;
        weight *= d->radix;
    }
    for (int i = 0; i < count; i++)
        if (coordinate[i] < a->extent) coordinate[kept++] = coordinate[i];
    return kept;
}

/* How many lanes of warp 0 have work; copies do not count. */
static int lanes_at_work(const struct layout *l) {
    int64_t coordinate[32];
    int lanes = 1;
    for (int a = 0; a < l->rank; a++) lanes *= lane_coordinates(&l->axis[a], coordinate);
    return lanes;
}

/* The offsets in elements at which they start. Later axes innermost: so most ascend. */
static int lane_offsets(const struct layout *l, const struct view *v, int64_t *offset) {
    int64_t coordinate[32];
    int lanes = 1;
    offset[0] = 0;
    for (int a = l->rank - 1; a >= 0; a--) {
        int count = lane_coordinates(&l->axis[a], coordinate), n = lanes;
        for (int i = 1; i < count; i++)
            for (int j = 0; j < n; j++)
                offset[lanes++] = offset[j] + coordinate[i] * v->coefficient[a];
    }
    return lanes;
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
    int64_t address[32];
    if (v->buffer->scope == SCOPE_SHARED) {
        double wavefronts = lanes_at_work(domain) * bytes * vector / 128.0;
        return p->warps * registers / vector * (1 + (wavefronts < 1 ? 1 : wavefronts));
    }
    double sector_cost = is_reread(v, domain) ? COST_SECTOR / 2.0 : COST_SECTOR;
    int64_t lowest = 0;
    int lanes = lane_offsets(domain, v, address);
    for (int i = 0; i < lanes; i++) lowest = address[i] < lowest ? address[i] : lowest;
    for (int i = 0; i < lanes; i++) address[i] = (address[i] - lowest) * bytes;
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

bool moves_alike(const struct view *a, const struct view *b) {
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
