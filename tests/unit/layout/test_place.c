/* test_place.c: the layouts of the founding kernels. */
#include "layout/place.h"
#include "rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void say(struct rig *r) {
    if (getenv("TILEC_TEST_DUMP")) puts(rig_dump(r));
}

static void test_vector_add(void **state) {
    (void)state;
    struct rig r = rig_new("sm_90a", 256);
    build_vector_add(&r, 4096, 1024);
    assert_int_equal(rig_place(&r), 0);
    say(&r);
    const struct layout *l = &r.k->body.first->map.domain.layout;
    assert_int_equal(layout_span(l, SPACE_REG), 4);
    assert_int_equal(l->axis[0].digit[0].radix, 4);
    assert_int_equal(l->axis[0].digit[0].space, SPACE_REG);
    rig_free(&r);
}

/* Sixteen-byte accesses need four tiles a thread. */
static void test_vector_add_coarse(void **state) {
    static const struct {
        int n, block, threads, tiles, branches;
    } cases[] = {
        {1 << 28, 256, 256, 16, 0}, {(1 << 28) + 5, 256, 256, 16, 0}, {1000, 256, 256, 1, 0},
        {1 << 26, 1024, 128, 2, 0}, {1 << 26, 2048, 128, 1, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rig r = rig_new("sm_90a", cases[i].threads);
        build_vector_add(&r, cases[i].n, cases[i].block);
        coarsen(r.m);
        assert_int_equal(rig_place(&r), 0);
        say(&r);
        const struct domain *d = &r.k->body.first->map.domain;
        assert_int_equal(d->rank == 2 ? d->extent[0] : 1, cases[i].tiles);
        if (cases[i].tiles > 1) assert_int_equal(d->layout.axis[1].digit[0].radix, 4);
        assert_int_equal(count_kind(&r, STMT_IF), cases[i].branches);
        rig_free(&r);
    }
}

static void test_matmul(void **state) {
    (void)state;
    struct rig r = rig_new("sm_90a", 128);
    build_matmul(&r, 128, 128, 32, 3, POLICY_SQUARE);
    assert_int_equal(rig_place(&r), 0);
    say(&r);
    assert_int_equal(count_scratch(&r), 0);
    assert_int_equal(layout_span(&find_buffer(&r, "C_local")->layout, SPACE_REG), 128);
    assert_int_equal(find_buffer(&r, "A_shared")->layout.xors, 1);
    assert_int_equal(find_buffer(&r, "B_shared")->layout.xors, 1);
    rig_free(&r);
}

static void test_softmax(void **state) {
    (void)state;
    struct rig r = rig_new("sm_90a", 128);
    build_softmax(&r, 4, 1024, false);
    assert_int_equal(rig_place(&r), 0);
    say(&r);
    assert_int_equal(count_scratch(&r), 0);
    const struct layout *l = &find_buffer(&r, "X_local")->layout;
    assert_int_equal(l->axis[1].digit[0].radix, 8);
    assert_int_equal(l->axis[0].digit[0].space, SPACE_WARP);
    rig_free(&r);
}

/* The shared tile of the seed is read only where it was written. */
static void test_softmax_forward(void **state) {
    (void)state;
    struct rig r = rig_new("sm_90a", 128);
    build_softmax(&r, 4, 1024, true);
    forward(r.m);
    assert_null(find_buffer(&r, "X_shared"));
    assert_int_equal(count_kind(&r, STMT_COPY), 2);
    assert_int_equal(rig_place(&r), 0);
    say(&r);
    assert_int_equal(find_buffer(&r, "X_local")->layout.axis[1].digit[0].radix, 8);
    rig_free(&r);
}

static void test_softmax_long_row(void **state) {
    (void)state;
    struct rig r = rig_new("sm_90a", 1024);
    build_softmax(&r, 1, 32768, false);
    assert_int_equal(rig_place(&r), 0);
    say(&r);
    assert_int_equal(count_scratch(&r), 2);
    rig_free(&r);
}

static void test_attention(void **state) {
    (void)state;
    struct rig r = rig_new("sm_90a", 128);
    build_attention(&r, 64, 64, 64);
    assert_int_equal(rig_place(&r), 0);
    say(&r);
    assert_int_equal(count_scratch(&r), 0);
    assert_true(
        layout_equal(&find_buffer(&r, "acc_s")->layout, &find_buffer(&r, "acc_s_cast")->layout));
    rig_free(&r);
}

static void test_mla(void **state) {
    (void)state;
    struct rig r = rig_new("sm_90a", 256);
    build_mla(&r, 64, 64, 512);
    assert_int_equal(rig_place(&r), 0);
    say(&r);
    assert_int_equal(count_scratch(&r), 3); /* maximum, sum, P */
    rig_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vector_add),        cmocka_unit_test(test_matmul),
        cmocka_unit_test(test_vector_add_coarse), cmocka_unit_test(test_softmax_forward),
        cmocka_unit_test(test_softmax),           cmocka_unit_test(test_softmax_long_row),
        cmocka_unit_test(test_attention),         cmocka_unit_test(test_mla),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
