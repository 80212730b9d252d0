/* test_make.c: partitions and fragments over a table of tiles, element sizes and warps. */
#include "samples.h"
#include <stdlib.h>

static const int32_t tiles[][3] = {
    {64, 128, 0}, {64, 96, 0},  {32, 160, 0}, {16, 576, 0}, {64, 36, 0},
    {64, 100, 0}, {4, 1000, 0}, {1, 1024, 0}, {7, 8, 0},    {3, 5, 0},
    {1, 1, 0},    {2, 24, 40},  {3, 16, 32},  {256, 1, 0},  {100, 100, 0},
};
static const int warp_counts[] = {1, 2, 4, 8, 12};
enum {
    TILES = sizeof tiles / sizeof tiles[0],
    WARPS = sizeof warp_counts / sizeof warp_counts[0],
    THREADS = 1024
};

static int rank_of(const int32_t *tile) { return tile[2] ? 3 : 2; }

/* The product of the radices over a space is the whole of it: 32 lanes, the block's warps. */
static void check_full(const struct layout *l, int warps) {
    int64_t product[SPACE_COUNT] = {1, 1, 1, 1};
    for (int a = 0; a < l->rank; a++)
        for (int i = 0; i < l->axis[a].count; i++)
            product[l->axis[a].digit[i].space] *= l->axis[a].digit[i].radix;
    for (int i = 0; i < l->reps; i++) product[l->rep[i].space] *= l->rep[i].radix;
    assert_int_equal(product[SPACE_LANE], 32);
    assert_int_equal(product[SPACE_WARP], warps);
    assert_int_equal(product[SPACE_REG], layout_span(l, SPACE_REG));
    assert_int_equal(product[SPACE_OFF], 1);
}

static void check_partition(const struct layout *l, const int32_t *tile, int warps) {
    for (int a = 0; a < l->rank; a++) assert_int_equal(l->axis[a].extent, tile[a]);
    check_full(l, warps);
    check_layout(l);
    int64_t registers = layout_span(l, SPACE_REG);
    int32_t *element = contents_of(l, registers);
    bool *seen = calloc((size_t)element_count(l), sizeof *seen);
    for (int64_t i = 0; i < THREADS * registers; i++)
        if (element[i] >= 0) seen[element[i]] = true;
    for (int64_t i = 0; i < element_count(l); i++) assert_true(seen[i]);
    free(element);
    free(seen);
}

/* As the compiler asks: the widest vector of at most 16 bytes that divides the row. */
static int vector_for(int32_t columns, int bytes) {
    int vector = 16 / bytes;
    while (columns % vector) vector /= 2;
    return vector;
}

static void test_blocked(void **state) {
    (void)state;
    for (int t = 0; t < TILES; t++)
        for (int w = 0; w < WARPS; w++)
            for (int bytes = 1; bytes <= 8; bytes *= 2) {
                int rank = rank_of(tiles[t]), columns = 1 << (t + w + bytes) % 6;
                int vector = vector_for(tiles[t][rank - 1], bytes);
                struct layout l = layout_blocked(rank, tiles[t], vector, columns, warp_counts[w]);
                check_partition(&l, tiles[t], warp_counts[w]);
                if (vector > 1) assert_int_equal(l.axis[rank - 1].digit[0].stride, 1);
            }
}

static void test_blocked_form(void **state) {
    (void)state;
    static const struct {
        int rank;
        int32_t extent[3];
        int vector, columns, warps;
        const char *want;
    } table[] = {
        {1, {1024}, 4, 32, 4, "[4@reg:1 32@lane:1 4@warp:1 2@reg:4]"},
        {1, {1024}, 4, 8, 1, "[4@reg:1 8@lane:1 32@reg:4] rep [4@lane:8]"},
        {2, {64, 576}, 8, 8, 4, "[4@lane:8 4@warp:1 4@reg:72, 8@reg:1 8@lane:1 9@reg:8]"},
        {2, {8, 64}, 8, 8, 12, "[4@lane:8 2@warp:1, 8@reg:1 8@lane:1] rep [6@warp:2]"},
        {2, {12, 768}, 8, 32, 12, "[12@warp:1, 8@reg:1 32@lane:1 3@reg:8]"},
        {2, {8, 768}, 8, 32, 12, "[4@warp:1 2@reg:8, 8@reg:1 32@lane:1 3@warp:4]"},
        {2, {128, 36}, 4, 4, 4, "[8@lane:4 4@warp:1 4@reg:12, 36: 4@reg:1 4@lane:1 3@reg:4]"},
        {2, {10, 8}, 8, 1, 1, "[10: 16@lane:1, 8@reg:1] rep [2@lane:16]"},
        {3, {2, 4, 8}, 1, 8, 2, "[2@warp:1, 4@lane:8, 8@lane:1]"},
        {0, {0}, 1, 1, 4, "[] rep [32@lane:1 4@warp:1]"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct layout l = layout_blocked(table[i].rank, table[i].extent, table[i].vector,
                                         table[i].columns, table[i].warps);
        assert_layout(&l, table[i].want);
    }
}

static void test_replicated(void **state) {
    (void)state;
    for (int w = 0; w < WARPS; w++) {
        int32_t tile[] = {3, 5};
        struct layout l = layout_replicated(2, tile, warp_counts[w]);
        check_partition(&l, tile, warp_counts[w]);
        assert_int_equal(layout_span(&l, SPACE_REG), 15);
    }
}

/* -- Fragments --------------------------------------------------------------------------------- */

static const char accumulator[] = "[8@lane:4 2@reg:2, 2@reg:1 4@lane:1]";
static const char operand_a[] = "[8@lane:4 2@reg:2, 2@reg:1 4@lane:1 2@reg:4]";
static const char operand_b[] = "[2@reg:1 4@lane:1 2@reg:2, 8@lane:4]";

static struct layout fragment(const char *atom, const int32_t *extent, int rows, int columns,
                              int copies) {
    struct layout l = layout_of(atom);
    struct digit warp[2] = {{rows, 1, SPACE_WARP}, {columns, rows, SPACE_WARP}};
    return layout_fragment(&l, extent, warp, (struct digit){copies, rows * columns, SPACE_WARP});
}

static void test_fragment_tiles(void **state) {
    (void)state;
    static const int splits[][3] = {{1, 1, 1}, {2, 1, 1}, {4, 1, 1}, {2, 2, 1}, {4, 2, 1},
                                    {4, 3, 1}, {4, 1, 3}, {1, 8, 1}, {1, 1, 4}};
    static const char *const atoms[] = {accumulator, operand_a, operand_b};
    for (int t = 0; t < TILES; t++)
        for (size_t s = 0; s < sizeof splits / sizeof splits[0]; s++)
            for (int a = 0; a < 3; a++) {
                if (rank_of(tiles[t]) != 2) continue;
                const int *split = splits[s];
                struct layout l = fragment(atoms[a], tiles[t], split[0], split[1], split[2]);
                check_partition(&l, tiles[t], split[0] * split[1] * split[2]);
            }
}

static void test_fragment_form(void **state) {
    (void)state;
    static const struct {
        const char *atom;
        int32_t extent[2];
        int rows, columns, copies;
        const char *want;
    } table[] = {
        {accumulator, {64, 64}, 4, 1, 1, "[8@lane:4 2@reg:2 4@warp:1, 2@reg:1 4@lane:1 8@reg:4]"},
        {accumulator,
         {64, 64},
         2,
         2,
         1,
         "[8@lane:4 2@reg:2 2@warp:1 2@reg:16, 2@reg:1 4@lane:1 2@warp:2 4@reg:4]"},
        {operand_a,
         {64, 16},
         4,
         1,
         2,
         "[8@lane:4 2@reg:2 4@warp:1, 2@reg:1 4@lane:1 2@reg:4] rep [2@warp:4]"},
        {operand_b,
         {16, 576},
         1,
         1,
         4,
         "[2@reg:1 4@lane:1 2@reg:2, 8@lane:4 72@reg:4] rep [4@warp:1]"},
        {accumulator, {1, 8}, 1, 1, 1, "[1: 8@lane:4 2@reg:2, 2@reg:1 4@lane:1]"},
        {accumulator,
         {36, 100},
         1,
         1,
         1,
         "[36: 8@lane:4 2@reg:2 3@reg:52, 100: 2@reg:1 4@lane:1 13@reg:4]"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct layout l = fragment(table[i].atom, table[i].extent, table[i].rows, table[i].columns,
                                   table[i].copies);
        assert_layout(&l, table[i].want);
    }
}

/* Attention's P: scores as accumulators are, register for register, the next gemm's operand. */
static void test_scores_are_operands(void **state) {
    (void)state;
    static const int32_t table[][3] = {{16, 16, 1}, {64, 16, 4}, {16, 128, 1}, {64, 64, 4}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct layout scores = fragment(accumulator, table[i], table[i][2], 1, 1);
        struct layout operand = fragment(operand_a, table[i], table[i][2], 1, 1);
        assert_same(&scores, &operand);
        assert_int_equal(layout_classify(&scores, &operand), MOVE_NONE);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocked),       cmocka_unit_test(test_blocked_form),
        cmocka_unit_test(test_replicated),    cmocka_unit_test(test_fragment_tiles),
        cmocka_unit_test(test_fragment_form), cmocka_unit_test(test_scores_are_operands),
    };
    return cmocka_run_group_tests_name("make", tests, NULL, NULL);
}
