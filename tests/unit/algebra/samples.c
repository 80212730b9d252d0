/* samples.c: random layouts from a fixed seed, and what tests enumerate of any layout. */
#include "samples.h"
#include <stdlib.h>
#include <string.h>

enum { BLOCK_THREADS = 1024 };

/* -- Random layouts ---------------------------------------------------------------------------- */

int random_below(struct random *r, int limit) {
    r->state = r->state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (int)((r->state >> 33) % (uint64_t)limit);
}

static void place_digit(struct random *r, struct layout *l, struct digit d, bool may_copy) {
    if (d.radix == 1) return;
    if (may_copy && random_below(r, 4) == 0 && l->reps < 4) {
        l->rep[l->reps++] = d;
        return;
    }
    struct layout_axis *axis = &l->axis[random_below(r, l->rank)];
    int at = random_below(r, axis->count + 1);
    for (int i = axis->count++; i > at; i--) axis->digit[i] = axis->digit[i - 1];
    axis->digit[at] = d;
}

static int64_t size_of(const struct layout_axis *axis) {
    int64_t size = 1;
    for (int i = 0; i < axis->count; i++) size *= axis->digit[i].radix;
    return size;
}

/* Extents as asked (a REG digit on top where the digits do not reach), or at random below the
 * product. */
static void set_extents(struct random *r, struct layout *l, const int32_t *extent, int32_t reg) {
    for (int a = 0; a < l->rank; a++) {
        struct layout_axis *axis = &l->axis[a];
        int64_t size = size_of(axis);
        axis->extent = extent ? extent[a] : (int32_t)size;
        if (!extent && random_below(r, 3) == 0) axis->extent -= random_below(r, (int)size);
        if (axis->extent <= size) continue;
        int32_t radix = (int32_t)((axis->extent + size - 1) / size);
        axis->digit[axis->count++] = (struct digit){radix, reg, SPACE_REG};
        reg *= radix;
    }
}

struct layout random_fragment(struct random *r, int rank, const int32_t *extent) {
    static const int warps[][2] = {{1, 1}, {2, 1}, {4, 1}, {2, 2}, {4, 2}, {4, 3}, {3, 4}};
    struct layout l = {.rank = rank};
    int32_t stride = 1;
    while (stride < 32) {
        int32_t radix = 2 << random_below(r, 2);
        if (stride * radix > 32) radix = 2;
        place_digit(r, &l, (struct digit){radix, stride, SPACE_LANE}, true);
        stride *= radix;
    }
    const int *w = warps[random_below(r, 7)];
    place_digit(r, &l, (struct digit){w[0], 1, SPACE_WARP}, true);
    place_digit(r, &l, (struct digit){w[1], w[0], SPACE_WARP}, true);
    stride = 1;
    for (int i = random_below(r, 4); i > 0; i--) {
        int32_t radix = 2 + random_below(r, 3);
        place_digit(r, &l, (struct digit){radix, stride, SPACE_REG}, random_below(r, 4) == 0);
        stride *= radix;
    }
    set_extents(r, &l, extent, stride);
    return layout_canonical(&l);
}

struct layout random_memory(struct random *r, int rank) {
    struct layout l = {.rank = rank};
    int32_t stride = 1;
    for (int i = 1 + random_below(r, 5); i > 0; i--) {
        int32_t radix = 1 << (1 + random_below(r, 3));
        if (random_below(r, 4) == 0) radix = 3 + 2 * random_below(r, 2);
        place_digit(r, &l, (struct digit){radix, stride, SPACE_OFF}, false);
        stride *= radix;
        if (random_below(r, 3) == 0) stride += 1 << random_below(r, 4);
    }
    if (random_below(r, 2)) {
        int length = 1 + random_below(r, 3), target = random_below(r, 4);
        l.xors = 1;
        l.xor_term[0] = (struct layout_xor){
            (uint8_t)target, (uint8_t)(target + length + random_below(r, 3)), (uint8_t)length};
    }
    set_extents(r, &l, NULL, 1);
    return layout_canonical(&l);
}

/* -- Text -------------------------------------------------------------------------------------- */

struct layout layout_of(const char *text) {
    struct arena *a = arena_new();
    struct cursor c = cursor_new(a, text, strlen(text));
    struct layout l;
    bool read = layout_read(&c, &l);
    if (!read) print_error("%s: %s\n", text, c.error ? c.error : "no reason");
    arena_free(a);
    assert_true(read);
    return l;
}

void assert_layout(const struct layout *l, const char *text) {
    struct arena *a = arena_new();
    struct text t = text_new(a);
    layout_print(&t, l);
    assert_string_equal(t.at, text);
    arena_free(a);
}

void assert_same(const struct layout *a, const struct layout *b) {
    struct arena *arena = arena_new();
    struct text t = text_new(arena);
    layout_print(&t, b);
    assert_layout(a, t.at);
    arena_free(arena);
    assert_true(layout_equal(a, b));
}

/* -- Enumeration ------------------------------------------------------------------------------- */

bool next_coordinate(const struct layout *l, int64_t *x) {
    for (int a = l->rank - 1; a >= 0; a--) {
        if (++x[a] < l->axis[a].extent) return true;
        x[a] = 0;
    }
    return false;
}

int64_t element_number(const struct layout *l, const int64_t *x) {
    int64_t n = 0;
    for (int a = 0; a < l->rank; a++) n = n * l->axis[a].extent + x[a];
    return n;
}

int64_t element_count(const struct layout *l) {
    int64_t n = 1;
    for (int a = 0; a < l->rank; a++) n *= l->axis[a].extent;
    return n;
}

static void add_digit(struct place *p, struct digit d, int64_t value) {
    int64_t *space[] = {&p->reg, &p->lane, &p->warp, &p->off};
    *space[d.space] += value * d.stride;
}

int places_of(const struct layout *l, const int64_t *x, struct place *out) {
    out[0] = (struct place){0};
    for (int a = 0; a < l->rank; a++) {
        int64_t weight = 1;
        for (int i = 0; i < l->axis[a].count; i++) {
            struct digit d = l->axis[a].digit[i];
            add_digit(&out[0], d, x[a] / weight % d.radix);
            weight *= d.radix;
        }
    }
    for (int i = 0; i < l->xors; i++) {
        struct layout_xor t = l->xor_term[i];
        for (int b = 0; b < t.length; b++)
            out[0].off ^= (out[0].off >> (t.source + b) & 1) << (t.target + b);
    }
    int count = 1;
    for (int i = 0; i < l->reps; i++) {
        int before = count;
        for (int v = 1; v < l->rep[i].radix; v++)
            for (int j = 0; j < before; j++) {
                assert_true(count < PLACES);
                out[count] = out[j];
                add_digit(&out[count++], l->rep[i], v);
            }
    }
    return count;
}

int32_t *contents_of(const struct layout *l, int64_t registers) {
    int64_t room = BLOCK_THREADS * registers;
    int32_t *element = malloc((size_t)room * sizeof *element);
    memset(element, 0xff, (size_t)room * sizeof *element);
    int64_t x[LAYOUT_RANK] = {0};
    static struct place places[PLACES];
    do {
        int count = places_of(l, x, places);
        for (int i = 0; i < count; i++) {
            struct place p = places[i];
            assert_true(p.lane < 32 && p.warp < 32 && p.reg < registers);
            int32_t *e = &element[(p.warp * 32 + p.lane) * registers + p.reg];
            assert_int_equal(*e, -1);
            *e = (int32_t)element_number(l, x);
        }
    } while (next_coordinate(l, x));
    return element;
}

/* Each place reads back as its element, and all places of the spans that hold something are those
 * of elements. */
static void check_inverse(const struct layout *l) {
    static struct place places[PLACES];
    int64_t x[LAYOUT_RANK] = {0}, back[LAYOUT_RANK], held = 0;
    int64_t spans[SPACE_COUNT];
    for (int s = 0; s < SPACE_COUNT; s++) spans[s] = layout_span(l, (enum space)s);
    do {
        int count = places_of(l, x, places);
        struct place p = layout_place(l, x);
        assert_memory_equal(&p, &places[0], sizeof p);
        for (int i = 0; i < count; i++) {
            assert_true(layout_coordinate(l, places[i], back));
            assert_memory_equal(back, x, sizeof back[0] * (size_t)l->rank);
            p = places[i];
            assert_true(p.reg < spans[0] && p.lane < spans[1] && p.warp < spans[2] &&
                        p.off < spans[3]);
        }
        held += count;
    } while (next_coordinate(l, x));
    for (struct place p = {0}; p.warp < spans[SPACE_WARP]; p.warp++)
        for (p.lane = 0; p.lane < spans[SPACE_LANE]; p.lane++)
            for (p.reg = 0; p.reg < spans[SPACE_REG]; p.reg++)
                for (p.off = 0; p.off < spans[SPACE_OFF]; p.off++)
                    held -= layout_coordinate(l, p, back);
    assert_int_equal(held, 0);
}

void check_layout(const struct layout *l) {
    const char *why = NULL;
    assert_true(layout_valid(l, &why));
    struct layout c = layout_canonical(l);
    assert_same(&c, l);
    check_inverse(l);
}
