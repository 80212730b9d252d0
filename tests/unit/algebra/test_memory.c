/* test_memory.c: swizzles, vector widths, bank conflicts and sectors. */
#include "samples.h"

/* -- Swizzles ---------------------------------------------------------------------------------- */

static int64_t address_of(const struct layout *l, int64_t row, int64_t column, int bytes) {
    int64_t x[LAYOUT_RANK] = {0};
    x[l->rank - 2] = row;
    x[l->rank - 1] = column;
    return layout_place(l, x).off * bytes;
}

/* ldmatrix: 8 rows of one chunk in each phase, 4 matrices side by side or below one another. */
static int matrix_conflicts(const struct layout *l, int bytes) {
    int rows = l->axis[l->rank - 2].extent, chunk = 16 / bytes, total = 0;
    for (int row = 0; row + 8 <= rows; row += 8)
        for (int column = 0; column < l->axis[l->rank - 1].extent; column += chunk) {
            int64_t address[8];
            for (int i = 0; i < 8; i++) address[i] = address_of(l, row + i, column, bytes);
            total += layout_bank_conflicts(address, 8, 16);
        }
    return total;
}

/* cp.async: lanes take neighbouring chunks of a row, the power-of-two part of a row each. */
static int copy_conflicts(const struct layout *l, int bytes) {
    int rows = l->axis[l->rank - 2].extent, columns = l->axis[l->rank - 1].extent;
    int chunk = 16 / bytes, width = 1, total = 0;
    while (width < 8 && columns % (2 * width * chunk) == 0) width *= 2;
    for (int row = 0; row + 8 / width <= rows; row += 8 / width)
        for (int column = 0; column < columns; column += width * chunk) {
            int64_t address[8];
            for (int i = 0; i < 8; i++)
                address[i] = address_of(l, row + i / width, column + i % width * chunk, bytes);
            total += layout_bank_conflicts(address, 8, 16);
        }
    return total;
}

static void check_chunks_stay(const struct layout *l, int bytes) {
    int columns = l->axis[l->rank - 1].extent, rows = l->axis[l->rank - 2].extent;
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < columns; column++) {
            int64_t address = address_of(l, row, column, bytes);
            assert_int_equal(address % 16, column * bytes % 16);
            assert_true(address >= (int64_t)row * columns * bytes &&
                        address < (int64_t)(row + 1) * columns * bytes);
        }
}

static void test_swizzled_without_conflicts(void **state) {
    (void)state;
    static const int32_t widths[] = {8,  16,  24,  32,  40,  48,  56,  64,  72,  80,
                                     96, 112, 128, 160, 192, 224, 256, 320, 512, 576};
    static const int32_t heights[] = {8, 16, 32, 64, 128, 72, 20};
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
        for (size_t h = 0; h < sizeof heights / sizeof heights[0]; h++)
            for (int bytes = 1; bytes <= 8; bytes *= 2) {
                int32_t extent[] = {heights[h], widths[w] * 2 / bytes};
                if (bytes == 8 && extent[1] * 8 % 16) continue;
                struct layout l = layout_swizzled(2, extent, bytes);
                if (matrix_conflicts(&l, bytes) || copy_conflicts(&l, bytes))
                    print_error("%d x %d of %d bytes\n", extent[0], extent[1], bytes);
                assert_int_equal(matrix_conflicts(&l, bytes), 0);
                assert_int_equal(copy_conflicts(&l, bytes), 0);
                check_chunks_stay(&l, bytes);
                if (element_count(&l) <= 8192) check_layout(&l);
            }
}

static void test_swizzled_form(void **state) {
    (void)state;
    static const struct {
        int rank;
        int32_t extent[3];
        int bytes;
        const char *want;
    } table[] = {
        {2, {64, 64}, 2, "[64@off:64, 64@off:1] xor [3,6,3]"},
        {2, {64, 32}, 2, "[64@off:32, 32@off:1] xor [3,6,2]"},
        {2, {64, 16}, 2, "[64@off:16, 16@off:1] xor [3,6,1]"},
        {2, {64, 8}, 2, "[64@off:8, 8@off:1]"},
        {2, {64, 128}, 2, "[64@off:128, 128@off:1] xor [3,7,3]"},
        {2, {64, 32}, 4, "[64@off:32, 32@off:1] xor [2,5,3]"},
        {2, {64, 128}, 1, "[64@off:128, 128@off:1] xor [4,7,3]"},
        {2, {64, 72}, 2, "[64@off:72, 72@off:1]"},
        {2, {64, 100}, 2, "[64@off:100, 100@off:1]"},
        {1, {4096}, 2, "[4096@off:1]"},
        {3, {3, 64, 64}, 2, "[3@off:4096, 64@off:64, 64@off:1] xor [3,6,3]"},
        {3, {2, 4, 64}, 2, "[2@off:256, 4@off:64, 64@off:1] xor [3,6,2]"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct layout l = layout_swizzled(table[i].rank, table[i].extent, table[i].bytes);
        assert_layout(&l, table[i].want);
    }
}

/* Each matrix of a stack looks as it does alone. */
static void test_leading_axes_do_not_matter(void **state) {
    (void)state;
    static const int32_t widths[] = {32, 64, 96, 128, 160, 576};
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
        int32_t extent[] = {2, 3, 20, widths[w]};
        struct layout l = layout_swizzled(4, extent, 2), alone = layout_swizzled(2, extent + 2, 2);
        int64_t x[LAYOUT_RANK] = {0};
        do {
            int64_t corner[4] = {x[0], x[1], 0, 0};
            int64_t inside = layout_place(&l, x).off - layout_place(&l, corner).off;
            assert_int_equal(inside, layout_place(&alone, x + 2).off);
        } while (next_coordinate(&l, x));
    }
}

static void test_row_major(void **state) {
    (void)state;
    int32_t extent[] = {3, 5, 7};
    struct layout l = layout_row_major(3, extent, 0), padded = layout_row_major(3, extent, 1);
    assert_layout(&l, "[3@off:35, 5@off:7, 7@off:1]");
    assert_layout(&padded, "[3@off:40, 5@off:8, 7@off:1]");
    check_layout(&l);
    check_layout(&padded);
    int32_t thin[] = {1, 8, 1};
    l = layout_row_major(3, thin, 0);
    assert_layout(&l, "[1, 8@off:1, 1]");
}

/* -- Vector width ------------------------------------------------------------------------------ */

/* Are all aligned runs of `run` elements along the axis whole, consecutive and aligned in both? */
static bool is_run(const struct layout *f, const struct layout *m, int axis, int run) {
    int64_t x[LAYOUT_RANK] = {0};
    if (f->axis[axis].extent % run) return false;
    do {
        int64_t first[LAYOUT_RANK], i = x[axis] % run;
        for (int a = 0; a < f->rank; a++) first[a] = x[a] - (a == axis ? i : 0);
        struct place fp = layout_place(f, first), fx = layout_place(f, x);
        int64_t mp = layout_place(m, first).off, mx = layout_place(m, x).off;
        if (fp.reg % run || mp % run || mx != mp + i) return false;
        if (fx.reg != fp.reg + i || fx.lane != fp.lane || fx.warp != fp.warp) return false;
    } while (next_coordinate(f, x));
    return true;
}

static void test_vector_run(void **state) {
    (void)state;
    struct random r = {6};
    int wide = 0;
    for (int i = 0; i < 300; i++) {
        static const int32_t sizes[][2] = {{16, 64}, {9, 96}, {32, 36}, {12, 10}};
        struct layout m = i % 3   ? random_memory(&r, 2)
                          : i % 2 ? layout_swizzled(2, sizes[random_below(&r, 4)], 2)
                                  : layout_row_major(2, sizes[random_below(&r, 4)], i % 8);
        int32_t extent[] = {m.axis[0].extent, m.axis[1].extent};
        struct layout f = i % 2 ? random_fragment(&r, 2, extent)
                                : layout_blocked(2, extent, 1 << random_below(&r, 4), 4, 2);
        if (element_count(&f) > 20000) continue;
        for (int axis = 0; axis < 2; axis++) {
            int want = 1;
            while (want < 8 && is_run(&f, &m, axis, 2 * want)) want *= 2;
            int run = layout_vector_run(&f, &m, axis, 8);
            assert_true(run <= want);
            wide += run > 1;
            /* An axis with few values may look aligned by chance; never the other way round. */
            if (extent[0] > 8 && extent[1] > 8 && m.xors == 0 && i % 2 == 0)
                assert_int_equal(run, want);
        }
    }
    assert_true(wide > 20);
}

static void test_vector_run_table(void **state) {
    (void)state;
    static const struct {
        const char *fragment, *memory;
        int axis, limit, want;
    } table[] = {
        {"[32@lane:1, 64@reg:1]", "[32@off:64, 64@off:1]", 1, 8, 8},
        {"[32@lane:1, 64@reg:1]", "[32@off:64, 64@off:1]", 1, 4, 4},
        {"[32@lane:1, 64@reg:1]", "[32@off:64, 64@off:1]", 0, 8, 1},
        {"[32@lane:1, 64@reg:1]", "[32@off:64, 64@off:1] xor [2,6,3]", 1, 8, 4},
        {"[32@lane:1, 64@reg:1]", "[32@off:65, 64@off:1]", 1, 8, 1},
        {"[32@lane:1, 64@reg:1]", "[32@off:68, 64@off:1]", 1, 8, 4},
        {"[32@lane:1, 36@reg:1]", "[32@off:36, 36@off:1]", 1, 8, 4},
        {"[8@lane:4, 2@reg:1 4@lane:1 8@reg:2]", "[8@off:64, 64@off:1]", 1, 8, 2},
        {"[8@lane:4, 4@reg:2 2@reg:1]", "[8@off:8, 8@off:1]", 1, 8, 1},
        {"[32@lane:1, 8@reg:1]", "[32@off:1, 8@off:32]", 1, 8, 1},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct layout f = layout_of(table[i].fragment), m = layout_of(table[i].memory);
        assert_int_equal(layout_vector_run(&f, &m, table[i].axis, table[i].limit), table[i].want);
    }
}

/* -- Banks and sectors ------------------------------------------------------------------------- */

static void test_banks_and_sectors(void **state) {
    (void)state;
    static const struct {
        int step, bytes, lanes, conflicts, sectors;
    } table[] = {
        {4, 4, 32, 0, 4},     {0, 4, 32, 0, 1},  {128, 4, 32, 31, 32}, {8, 4, 32, 1, 8},
        {132, 4, 32, 0, 32},  {8, 8, 32, 0, 8},  {16, 16, 32, 0, 16},  {128, 16, 32, 28, 32},
        {144, 16, 32, 0, 32}, {2, 2, 32, 0, 2},  {1, 1, 32, 0, 1},     {128, 8, 32, 30, 32},
        {128, 16, 8, 7, 8},   {64, 16, 8, 3, 8}, {256, 2, 32, 31, 32}, {128, 4, 1, 0, 1},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        int64_t address[32];
        for (int lane = 0; lane < 32; lane++) address[lane] = (int64_t)lane * table[i].step;
        assert_int_equal(layout_bank_conflicts(address, table[i].lanes, table[i].bytes),
                         table[i].conflicts);
        assert_int_equal(layout_sectors(address, table[i].lanes, table[i].bytes), table[i].sectors);
    }
    int64_t idle[32] = {0, 128, -1, -1};
    for (int lane = 2; lane < 32; lane++) idle[lane] = -1;
    assert_int_equal(layout_bank_conflicts(idle, 32, 4), 1);
    assert_int_equal(layout_sectors(idle, 32, 4), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_swizzled_without_conflicts),
        cmocka_unit_test(test_swizzled_form),
        cmocka_unit_test(test_leading_axes_do_not_matter),
        cmocka_unit_test(test_row_major),
        cmocka_unit_test(test_vector_run),
        cmocka_unit_test(test_vector_run_table),
        cmocka_unit_test(test_banks_and_sectors),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
