/* test_axes.c: canonical form, inverse, and surgery on axes, against enumeration. */
#include "samples.h"
#include <stdlib.h>

enum { ROUNDS = 200 };

static void test_random_layouts_are_one_to_one(void **state) {
    (void)state;
    struct random r = {1};
    for (int i = 0; i < ROUNDS; i++) {
        struct layout f = random_fragment(&r, 1 + i % 3, NULL), m = random_memory(&r, 1 + i % 3);
        check_layout(&f);
        check_layout(&m);
    }
}

/* However the digits are cut, the canonical form is the same. */
static void test_canonical_undoes_splits(void **state) {
    (void)state;
    struct random r = {2};
    for (int i = 0; i < ROUNDS; i++) {
        struct layout l = i % 2 ? random_fragment(&r, 2, NULL) : random_memory(&r, 2), s = l;
        for (int j = 0; j < 4; j++) {
            int axis = random_below(&r, 2);
            int32_t weight = 1 + random_below(&r, l.axis[axis].extent);
            struct layout before = s;
            if (!layout_split(&s, axis, weight)) assert_memory_equal(&s, &before, sizeof s);
        }
        int64_t x[LAYOUT_RANK] = {0};
        do {
            struct place p = layout_place(&l, x), q = layout_place(&s, x);
            assert_memory_equal(&p, &q, sizeof p);
        } while (next_coordinate(&l, x));
        struct layout c = layout_canonical(&s);
        assert_same(&c, &l);
    }
}

static void test_canonical_drops_and_fuses(void **state) {
    (void)state;
    static const char *const table[][2] = {
        {"[1@reg:7 2@reg:1 4@reg:2]", "[8@reg:1]"},
        {"[2@reg:1 2@lane:1 2@reg:2]", "[2@reg:1 2@lane:1 2@reg:2]"},
        {"[2@lane:16] rep [4@warp:1 8@lane:2 1@reg:9 2@lane:1]",
         "[2@lane:16] rep [16@lane:1 4@warp:1]"},
        {"[1@off:5, 3@off:1]", "[1, 3@off:1]"},
        {"[64@off:64, 64@off:1] xor [3,6,3]", "[64@off:64, 64@off:1] xor [3,6,3]"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct layout l = layout_of(table[i][0]);
        assert_layout(&l, table[i][1]);
    }
}

static void test_places_outside(void **state) {
    (void)state;
    static const struct place outside[] = {
        {4, 0, 0, 0},  {0, 32, 0, 0}, {0, 0, 4, 0},         {0, 0, 0, 1},
        {-1, 0, 0, 0}, {0, -1, 0, 0}, {0, 0, 0, INT64_MAX}, {INT64_MAX, 0, 0, 0},
    };
    struct layout l = layout_of("[8@lane:4 2@reg:2, 2@reg:1 4@lane:1] rep [4@warp:1]");
    int64_t x[LAYOUT_RANK];
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++)
        assert_false(layout_coordinate(&l, outside[i], x));
    struct layout gap = layout_of("[4@off:10, 8@off:1]");
    assert_true(layout_coordinate(&gap, (struct place){.off = 17}, x));
    assert_false(layout_coordinate(&gap, (struct place){.off = 18}, x));
}

static void test_split(void **state) {
    (void)state;
    static const struct {
        const char *before;
        int32_t weight;
        const char *after; /* NULL: refused */
    } table[] = {
        {"[8@reg:1]", 1, "[8@reg:1]"},
        {"[8@reg:1]", 2, "[2@reg:1 4@reg:2]"},
        {"[8@reg:1]", 3, NULL},
        {"[8@reg:1]", 8, "[8@reg:1]"},
        {"[4@lane:1 6@reg:1]", 8, "[4@lane:1 2@reg:1 3@reg:2]"},
        {"[4@lane:1 6@reg:1]", 12, "[4@lane:1 3@reg:1 2@reg:3]"},
        {"[4@lane:1 6@reg:1]", 16, NULL},
        {"[4@lane:1 6@reg:1]", 6, NULL},
        {"[4@lane:1 6@reg:1]", 24, "[4@lane:1 6@reg:1]"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct layout l = layout_of(table[i].before);
        bool done = layout_split(&l, 0, table[i].weight);
        assert_int_equal(done, table[i].after != NULL);
        assert_layout(&l, done ? table[i].after : table[i].before);
    }
}

static void test_permute(void **state) {
    (void)state;
    struct random r = {3};
    static const int orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}};
    for (int i = 0; i < ROUNDS; i++) {
        struct layout l = random_fragment(&r, 3, NULL);
        const int *order = orders[i % 3];
        struct layout p = layout_permute(&l, order);
        int64_t x[LAYOUT_RANK] = {0};
        do {
            int64_t y[3] = {x[order[0]], x[order[1]], x[order[2]]};
            struct place a = layout_place(&l, x), b = layout_place(&p, y);
            assert_memory_equal(&a, &b, sizeof a);
        } while (next_coordinate(&l, x));
    }
}

/* After dropping an axis a thread holds y exactly if it held some (x, y) of the padded domain. */
static void check_drop(const struct layout *l, int axis) {
    struct layout d = layout_drop(l, axis), full = *l;
    check_layout(&d);
    int64_t size = 1, registers = layout_span(l, SPACE_REG), kept = layout_span(&d, SPACE_REG);
    for (int i = 0; i < l->axis[axis].count; i++) size *= l->axis[axis].digit[i].radix;
    full.axis[axis].extent = (int32_t)size;
    int32_t *before = contents_of(&full, registers), *after = contents_of(&d, kept);
    int64_t count = element_count(&d);
    int *had = calloc((size_t)count, sizeof *had);
    for (int thread = 0; thread < 1024; thread++) {
        for (int64_t e = 0; e < count; e++) had[e] = 0;
        for (int64_t i = 0; i < registers; i++) {
            int64_t x[LAYOUT_RANK] = {0}, y[LAYOUT_RANK] = {0};
            struct place p = {i, thread % 32, thread / 32, 0};
            if (before[thread * registers + i] < 0) continue;
            assert_true(layout_coordinate(&full, p, x));
            for (int a = 0; a < d.rank; a++) y[a] = x[a + (a >= axis)];
            had[element_number(&d, y)] = 1;
        }
        for (int64_t i = 0; i < kept; i++)
            if (after[thread * kept + i] >= 0) {
                assert_true(had[after[thread * kept + i]] > 0);
                had[after[thread * kept + i]] = 2;
            }
        for (int64_t e = 0; e < count; e++) assert_int_not_equal(had[e], 1);
    }
    free(had);
    free(before);
    free(after);
}

static void test_drop(void **state) {
    (void)state;
    struct random r = {4};
    for (int i = 0; i < ROUNDS / 4; i++) {
        struct layout l = random_fragment(&r, 2, NULL);
        check_drop(&l, i % 2);
    }
    struct layout acc = layout_of("[8@lane:4 2@reg:2 4@warp:1, 2@reg:1 4@lane:1 8@reg:4]");
    struct layout row = layout_drop(&acc, 1), column = layout_drop(&acc, 0);
    assert_layout(&row, "[8@lane:4 2@reg:1 4@warp:1] rep [4@lane:1]");
    assert_layout(&column, "[2@reg:1 4@lane:1 8@reg:2] rep [8@lane:4 4@warp:1]");
    struct layout shared = layout_of("[3@off:4096, 64@off:64, 64@off:1] xor [3,6,3]");
    struct layout slot = layout_drop(&shared, 0);
    assert_layout(&slot, "[64@off:64, 64@off:1] xor [3,6,3]");
}

static void test_insert_and_append(void **state) {
    (void)state;
    static const struct {
        const char *before;
        int axis;
        int32_t extent;
        const char *after;
    } table[] = {
        {"[64@off:64, 64@off:1]", 0, 3, "[3@off:4096, 64@off:64, 64@off:1]"},
        {"[64@off:64, 64@off:1]", 1, 1, "[64@off:64, 1, 64@off:1]"},
        {"[5@off:64, 64@off:1] xor [3,6,3]", 0, 2, "[2@off:512, 5@off:64, 64@off:1] xor [3,6,3]"},
        {"[8@lane:4, 2@reg:1 4@lane:1]", 0, 2, "[2@reg:2, 8@lane:4, 2@reg:1 4@lane:1]"},
        {"[1] rep [32@lane:1]", 1, 4, "[1, 4@reg:1] rep [32@lane:1]"},
        {"[]", 0, 1, "[1]"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct layout l = layout_of(table[i].before);
        struct layout r = layout_insert(&l, table[i].axis, table[i].extent);
        assert_layout(&r, table[i].after);
        check_layout(&r);
    }
    struct layout l = layout_of("[64@off:64, 64@off:1]");
    struct layout r = layout_append_axis(&l, 3, (struct digit){3, 4608, SPACE_OFF});
    assert_layout(&r, "[64@off:64, 64@off:1, 3@off:4608]");
    r = layout_append_axis(&l, 1, (struct digit){1, 1, SPACE_OFF});
    assert_layout(&r, "[64@off:64, 64@off:1, 1]");
}

static void test_span(void **state) {
    (void)state;
    static const struct {
        const char *layout;
        int64_t reg, lane, warp, off;
    } table[] = {
        {"[8@lane:4 2@reg:2 4@warp:1, 2@reg:1 4@lane:1 8@reg:4]", 32, 32, 4, 1},
        {"[4@off:68, 64@off:1]", 1, 1, 1, 268},
        {"[9@off:12, 12@off:1] xor [2,4,1]", 1, 1, 1, 112},
        {"[1] rep [32@lane:1 12@warp:1]", 1, 32, 12, 1},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct layout l = layout_of(table[i].layout);
        assert_int_equal(layout_span(&l, SPACE_REG), table[i].reg);
        assert_int_equal(layout_span(&l, SPACE_LANE), table[i].lane);
        assert_int_equal(layout_span(&l, SPACE_WARP), table[i].warp);
        assert_int_equal(layout_span(&l, SPACE_OFF), table[i].off);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_layouts_are_one_to_one),
        cmocka_unit_test(test_canonical_undoes_splits),
        cmocka_unit_test(test_canonical_drops_and_fuses),
        cmocka_unit_test(test_places_outside),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_permute),
        cmocka_unit_test(test_drop),
        cmocka_unit_test(test_insert_and_append),
        cmocka_unit_test(test_span),
    };
    return cmocka_run_group_tests_name("axes", tests, NULL, NULL);
}
