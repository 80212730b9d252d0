/* test_mma.c: the fragments of the tensor-core rows against the formulas of the PTX ISA.
 *
 * The formulas are written as the ISA gives them (groupID = lane >> 2, threadID_in_group =
 * lane % 4, one row and column for each element i of each fragment), not as digits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "layout/algebra/layout.h"
#include "target/target.h"

struct cell {
    int row, column;
};

/* -- A: rows m, columns k ---------------------------------------------------------------------- */

static struct cell a_16x8_of_16(int g, int q, int i) {
    return (struct cell){i < 2 ? g : g + 8, q * 2 + (i & 1)};
}
static struct cell a_16x16_of_16(int g, int q, int i) {
    int row = (i >= 0 && i < 2) || (i >= 4 && i < 6) ? g : g + 8;
    return (struct cell){row, i < 4 ? q * 2 + (i & 1) : q * 2 + (i & 1) + 8};
}
static struct cell a_16x4_of_32(int g, int q, int i) {
    return (struct cell){i == 0 ? g : g + 8, q};
}
static struct cell a_16x8_of_32(int g, int q, int i) {
    return (struct cell){i == 0 || i == 2 ? g : g + 8, i == 0 || i == 1 ? q : q + 4};
}
static struct cell a_8x16_of_8(int g, int q, int i) { return (struct cell){g, q * 4 + (i & 3)}; }
static struct cell a_16x16_of_8(int g, int q, int i) {
    return (struct cell){i < 4 ? g : g + 8, q * 4 + (i & 3)};
}
static struct cell a_16x32_of_8(int g, int q, int i) {
    int row = i < 4 || (i >= 8 && i < 12) ? g : g + 8;
    return (struct cell){row, i < 8 ? q * 4 + (i & 3) : q * 4 + (i & 3) + 16};
}
static struct cell a_8x4_of_64(int g, int q, int i) { return (struct cell){g + 0 * i, q}; }
static struct cell a_16x16_of_64(int g, int q, int i) {
    return (struct cell){i % 2 == 0 ? g : g + 8, i % 2 == 0 ? i * 2 + q : i * 2 - 2 + q};
}

/* -- B: rows k, columns n ---------------------------------------------------------------------- */

static struct cell b_8x8_of_16(int g, int q, int i) { return (struct cell){q * 2 + i, g}; }
static struct cell b_16x8_of_16(int g, int q, int i) {
    return (struct cell){i < 2 ? q * 2 + (i & 1) : q * 2 + (i & 1) + 8, g};
}
static struct cell b_4x8(int g, int q, int i) { return (struct cell){q + 0 * i, g}; }
static struct cell b_8x8_of_32(int g, int q, int i) { return (struct cell){i == 0 ? q : q + 4, g}; }
static struct cell b_16x8_of_8(int g, int q, int i) { return (struct cell){q * 4 + i, g}; }
static struct cell b_32x8_of_8(int g, int q, int i) {
    return (struct cell){i < 4 ? q * 4 + (i & 3) : q * 4 + (i & 3) + 16, g};
}
static struct cell b_16x8_of_64(int g, int q, int i) { return (struct cell){q + i * 4, g}; }

/* -- D: rows m, columns n ---------------------------------------------------------------------- */

static struct cell d_16x8(int g, int q, int i) {
    return (struct cell){i < 2 ? g : g + 8, q * 2 + (i & 1)};
}
static struct cell d_8x8(int g, int q, int i) { return (struct cell){g, q * 2 + i}; }

/* -- The comparison ---------------------------------------------------------------------------- */

typedef struct cell formula(int g, int q, int i);

/* By shape and bits of the operands. */
static const struct {
    int m, n, k, bits;
    formula *a, *b, *d;
} shapes[] = {
    {16, 8, 8, 16, a_16x8_of_16, b_8x8_of_16, d_16x8},
    {16, 8, 16, 16, a_16x16_of_16, b_16x8_of_16, d_16x8},
    {16, 8, 4, 32, a_16x4_of_32, b_4x8, d_16x8},
    {16, 8, 8, 32, a_16x8_of_32, b_8x8_of_32, d_16x8},
    {8, 8, 16, 8, a_8x16_of_8, b_16x8_of_8, d_8x8},
    {16, 8, 16, 8, a_16x16_of_8, b_16x8_of_8, d_16x8},
    {16, 8, 32, 8, a_16x32_of_8, b_32x8_of_8, d_16x8},
    {8, 8, 4, 64, a_8x4_of_64, b_4x8, d_8x8},
    {16, 8, 4, 64, a_16x4_of_32, b_4x8, d_16x8},
    {16, 8, 8, 64, a_16x8_of_32, b_8x8_of_32, d_16x8},
    {16, 8, 16, 64, a_16x16_of_64, b_16x8_of_64, d_16x8},
};

static struct layout layout_of(struct arena *a, const char *text) {
    struct cursor c = cursor_new(a, text, strlen(text));
    struct layout l;
    assert_true(layout_read(&c, &l));
    return l;
}

/* One element for each lane and register, and the one that the formula says. */
static void check_fragment(const char *text, int rows, int columns, formula *f) {
    struct arena *arena = arena_new();
    struct layout l = layout_of(arena, text);
    assert_int_equal(l.rank, 2);
    assert_int_equal(l.axis[0].extent, rows);
    assert_int_equal(l.axis[1].extent, columns);
    assert_int_equal(l.reps, 0);
    int registers = rows * columns / 32;
    assert_int_equal(layout_span(&l, SPACE_REG), registers);
    assert_int_equal(layout_span(&l, SPACE_LANE), 32);
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < registers; i++) {
            struct cell c = f(lane >> 2, lane % 4, i);
            int64_t x[LAYOUT_RANK];
            struct place p = {.reg = i, .lane = lane};
            assert_true(layout_coordinate(&l, p, x));
            assert_int_equal(x[0], c.row);
            assert_int_equal(x[1], c.column);
            p = layout_place(&l, x);
            assert_true(p.reg == i && p.lane == lane && p.warp == 0 && p.off == 0);
        }
    arena_free(arena);
}

static void test_fragments(void **state) {
    (void)state;
    for (int id = 0; id < mma_count(); id++) {
        const struct mma_row *r = mma_row(id);
        assert_int_equal(r->id, id);
        size_t s = 0;
        while (s < sizeof shapes / sizeof shapes[0] &&
               (shapes[s].m != r->m || shapes[s].n != r->n || shapes[s].k != r->k ||
                shapes[s].bits != dtype_bits(r->a)))
            s++;
        assert_true(s < sizeof shapes / sizeof shapes[0]);
        assert_int_equal(dtype_bits(r->b), dtype_bits(r->a));
        check_fragment(r->a_layout, r->m, r->k, shapes[s].a);
        check_fragment(r->b_layout, r->k, r->n, shapes[s].b);
        check_fragment(r->d_layout, r->m, r->n, shapes[s].d);
        assert_true(r->rate > 0);
    }
}

/* PTX writes signed integers as s8 and s32; our texts as i8 and i32. */
static void add_type(char *name, enum dtype t) {
    size_t end = strlen(name);
    strcat(strcat(name, "."), dtype_letter(t));
    if (name[end + 1] == 'i') name[end + 1] = 's';
}

static void test_names_agree_with_the_row(void **state) {
    (void)state;
    for (int id = 0; id < mma_count(); id++) {
        const struct mma_row *r = mma_row(id);
        char name[80];
        snprintf(name, sizeof name, "mma.sync.aligned.m%dn%dk%d.row.col", r->m, r->n, r->k);
        add_type(name, r->acc);
        add_type(name, r->a);
        add_type(name, r->b);
        add_type(name, r->acc);
        assert_string_equal(r->name, name);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fragments),
        cmocka_unit_test(test_names_agree_with_the_row),
    };
    return cmocka_run_group_tests_name("mma", tests, NULL, NULL);
}
