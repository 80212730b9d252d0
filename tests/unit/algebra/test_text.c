/* test_text.c: layouts printed and read back; texts that are refused. */
#include "samples.h"
#include <string.h>

static void test_round_trip(void **state) {
    (void)state;
    struct random r = {7};
    for (int i = 0; i < 300; i++) {
        struct layout l =
            i % 2 ? random_fragment(&r, 1 + i % 4, NULL) : random_memory(&r, 1 + i % 4);
        struct arena *a = arena_new();
        struct text t = text_new(a);
        layout_print(&t, &l);
        struct layout back = layout_of(t.at);
        assert_same(&back, &l);
        arena_free(a);
    }
}

static void test_printed_as_written(void **state) {
    (void)state;
    static const char *const table[] = {
        "none",
        "[]",
        "[] rep [32@lane:1]",
        "[1]",
        "[1, 1]",
        "[8@lane:4 2@reg:2, 2@reg:1 4@lane:1 8@reg:4] rep [4@warp:1]",
        "[128@off:32, 32@off:1] xor [3,6,2]",
        "[128@off:32, 32@off:1] xor [3,6,2 0,3,1]",
        "[100: 4@reg:1 32@lane:1]",
        "[1: 2@reg:1, 3@reg:2]",
        "[2147483647@off:1]",
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct layout l = layout_of(table[i]);
        assert_layout(&l, table[i]);
    }
}

static void test_refused(void **state) {
    (void)state;
    static const char *const table[] = {
        "",
        "[",
        "]",
        "[8]",
        "[8@]",
        "[8@reg]",
        "[8@reg:]",
        "[8@bank:1]",
        "[8@reg:1",
        "[8@reg:1,]",
        "[,8@reg:1]",
        "[0@reg:1]",
        "[-1@reg:1]",
        "[8@reg:0]",
        "[8@reg:-1]",
        "[0]",
        "[9: 8@reg:1]",
        "[0: 8@reg:1]",
        "[5:]",
        "[2@reg:1, 2@reg:1]",
        "[4@reg:1, 2@reg:2]",
        "[4@reg:1] rep [2@reg:3]",
        "[64@lane:1]",
        "[2@lane:32]",
        "[33@warp:1]",
        "[4@off:1] rep [2@off:4]",
        "[8@reg:1] rep",
        "[8@reg:1] rep [8]",
        "[8@reg:1] xor [3,4,2]",
        "[8@reg:1] xor [3,6,0]",
        "[8@reg:1] xor [3,6]",
        "[8@reg:1] xor [3,29,2]",
        "[8@reg:1] xor [0,1,1 2,3,1 4,5,1]",
        "[1, 1, 1, 1, 1, 1, 1]",
        "[99999999999999999999@reg:1]",
        "[65536@reg:1 65536@reg:65536]",
        "[2147483647@reg:2147483647]",
        "[65536@reg:1 65536@lane:1 65536@warp:1 65536@off:1 65536@off:9]",
        "[2@reg:1 2@reg:2 2@reg:4 2@reg:8 2@reg:16 2@reg:32 2@reg:64 2@reg:128 2@reg:256 2@reg:512 "
        "2@reg:1024 2@reg:2048 2@reg:4096]",
        "[1] rep [2@reg:1 2@reg:3 2@reg:7 2@reg:15 2@reg:31]",
        "nonesuch",
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct arena *a = arena_new();
        struct cursor c = cursor_new(a, table[i], strlen(table[i]));
        struct layout l;
        bool read = layout_read(&c, &l);
        if (read) print_error("%s was read\n", table[i]);
        assert_false(read);
        assert_non_null(c.error);
        assert_true(layout_is_none(&l));
        arena_free(a);
    }
}

/* Every prefix and every single changed character reads or fails, and never breaks. */
static void test_damaged(void **state) {
    (void)state;
    static const char text[] = "[100: 4@reg:1 32@lane:1, 2@off:1] rep [4@warp:1] xor [3,6,2]";
    static const char replaced[] = "[]:@,0 9-r";
    struct arena *a = arena_new();
    for (size_t i = 0; i < sizeof text; i++)
        for (size_t j = 0; j < sizeof replaced; j++) {
            char damaged[sizeof text];
            memcpy(damaged, text, sizeof text);
            damaged[i] = replaced[j];
            size_t length = j ? sizeof text - 1 : i;
            struct cursor c = cursor_new(a, damaged, length);
            struct layout l;
            if (layout_read(&c, &l)) {
                const char *why;
                assert_true(layout_valid(&l, &why));
            } else {
                assert_non_null(c.error);
            }
        }
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_printed_as_written),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
