/* test_classify.c: what a move takes, against a comparison of what each thread holds. */
#include "samples.h"
#include <stdlib.h>
#include <string.h>

enum { THREADS = 1024, LANES = 32 };

struct held {
    int64_t registers;
    int32_t *element;
};

static struct held hold(const struct layout *l) {
    int64_t registers = layout_span(l, SPACE_REG);
    return (struct held){registers, contents_of(l, registers)};
}

/* Do the threads [first, first + count) of `h` hold the element? */
static bool found(struct held h, int first, int count, int32_t element) {
    for (int64_t i = first * h.registers; i < (first + count) * h.registers; i++)
        if (h.element[i] == element) return true;
    return false;
}

static enum move_class class_of_place(struct held from, int thread, int64_t reg, int32_t element) {
    if (reg < from.registers && from.element[thread * from.registers + reg] == element)
        return MOVE_NONE;
    if (found(from, thread, 1, element)) return MOVE_REGISTERS;
    return found(from, thread / LANES * LANES, LANES, element) ? MOVE_WARP : MOVE_BLOCK;
}

static enum move_class enumerated(const struct layout *from, const struct layout *to) {
    struct held a = hold(from), b = hold(to);
    enum move_class worst = MOVE_NONE;
    for (int thread = 0; thread < THREADS; thread++)
        for (int64_t reg = 0; reg < b.registers; reg++) {
            int32_t element = b.element[thread * b.registers + reg];
            if (element < 0) continue;
            enum move_class c = class_of_place(a, thread, reg, element);
            if (c > worst) worst = c;
        }
    free(a.element);
    free(b.element);
    return worst;
}

/* Changes one thing of a layout, so that near misses are common. */
static struct layout nudge(struct random *r, struct layout l) {
    struct layout_axis *axis = &l.axis[random_below(r, l.rank)];
    if (axis->count > 0 && random_below(r, 2)) {
        struct digit *x = &axis->digit[random_below(r, axis->count)];
        struct digit *y = &axis->digit[random_below(r, axis->count)];
        struct digit d = *x;
        if (x->radix == y->radix) *x = *y, *y = d;
    } else if (l.reps > 0) {
        layout_split(&l, 0, 2);
        l.reps--;
    }
    return layout_canonical(&l);
}

static void test_random_pairs(void **state) {
    (void)state;
    struct random r = {5};
    int seen[MOVE_BLOCK + 1] = {0};
    static const int32_t extents[][2] = {{16, 16}, {12, 10}, {33, 7}, {64, 8}, {1, 96}};
    for (int i = 0; i < 400; i++) {
        const int32_t *extent = extents[i % 5];
        struct layout a = random_fragment(&r, 2, extent), b = random_fragment(&r, 2, extent);
        if (i % 2) b = nudge(&r, a);
        for (int swap = 0; swap < 2; swap++) {
            enum move_class want = enumerated(swap ? &b : &a, swap ? &a : &b);
            assert_int_equal(layout_classify(swap ? &b : &a, swap ? &a : &b), want);
            seen[want]++;
        }
    }
    for (int c = 0; c <= MOVE_BLOCK; c++) assert_true(seen[c] > 10);
}

static void test_known_moves(void **state) {
    (void)state;
    static const struct {
        const char *from, *to;
        enum move_class want;
    } table[] = {
        /* registers renamed; a transpose of registers */
        {"[32@lane:1, 2@reg:1 4@reg:2]", "[32@lane:1, 4@reg:2 2@reg:1]", MOVE_REGISTERS},
        /* all hold everything: any layout is a choice of it */
        {"[8@reg:1] rep [32@lane:1]", "[8@lane:1] rep [4@lane:8]", MOVE_REGISTERS},
        {"[8@lane:1] rep [4@lane:8]", "[8@lane:1]", MOVE_NONE},
        {"[8@lane:1]", "[8@lane:1] rep [4@lane:8]", MOVE_WARP},
        /* fewer warps hold it afterwards, or more */
        {"[32@lane:1] rep [4@warp:1]", "[32@lane:1]", MOVE_NONE},
        {"[32@lane:1]", "[32@lane:1] rep [4@warp:1]", MOVE_BLOCK},
        {"[32@lane:1] rep [4@warp:1]", "[32@lane:1] rep [2@warp:2]", MOVE_NONE},
        /* 12 warps cut as 4 x 3 and 3 x 4: no common boundary */
        {"[4@warp:1 32@lane:1, 3@warp:4]", "[4@warp:3 32@lane:1, 3@warp:1]", MOVE_BLOCK},
        {"[32@lane:1] rep [12@warp:1]", "[32@lane:1] rep [3@warp:4]", MOVE_NONE},
        /* padding: what no element reaches does not count */
        {"[4: 8@reg:1, 32@lane:1]", "[4@reg:1, 32@lane:1]", MOVE_NONE},
        {"[4: 4@reg:1 4@lane:8, 8@lane:1]", "[4@reg:1, 8@lane:1]", MOVE_NONE},
        {"[5: 8@reg:1, 32@lane:1]", "[5@reg:1, 32@lane:1]", MOVE_NONE},
        {"[5@reg:1, 2@lane:1]", "[5@reg:1, 2@reg:5]", MOVE_WARP},
        /* an accumulator to a one-row-a-lane layout */
        {"[8@lane:4 2@reg:2, 2@reg:1 4@lane:1]", "[16@lane:1, 8@reg:1] rep [2@lane:16]", MOVE_WARP},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct layout from = layout_of(table[i].from), to = layout_of(table[i].to);
        assert_int_equal(enumerated(&from, &to), table[i].want);
        assert_int_equal(layout_classify(&from, &to), table[i].want);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_pairs),
        cmocka_unit_test(test_known_moves),
    };
    return cmocka_run_group_tests_name("classify", tests, NULL, NULL);
}
