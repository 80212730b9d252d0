/* test_base.c: arena, names, source, text and cursor, each by a table of its kinds of mistakes. */
#include "base/cursor.h"
#include "base/intern.h"
#include "base/source.h"
#include "base/text.h"
#include "base/utf8.h"
#include "base/vec.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int set_up(void **state) {
    *state = arena_new();
    return 0;
}

static int tear_down(void **state) {
    arena_free(*state);
    return 0;
}

/* -- Arena and vectors ----------------------------------------------------------------------------
 */

static void arena_gives_zeroed_aligned_memory(void **state) {
    static const size_t sizes[] = {0, 1, 15, 16, 17, 1000, 70000, 5, 1 << 23, 3};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *memory = arena_alloc(*state, sizes[i]);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % 16, 0);
        for (size_t j = 0; j < sizes[i]; j++) assert_int_equal(memory[j], 0);
        memset(memory, 0xff, sizes[i]);
    }
    assert_true(arena_bytes(*state) > 1 << 23);
}

static void vectors_keep_their_items(void **state) {
    VEC(int) v = {0};
    for (int i = 0; i < 100000; i++) vec_push(*state, &v, i);
    assert_int_equal(v.count, 100000);
    for (int i = 0; i < v.count; i++) assert_int_equal(v.at[i], i);
}

static void copies_end_in_nul(void **state) {
    assert_string_equal(arena_strndup(*state, "abcdef", 3), "abc");
    assert_string_equal(arena_printf(*state, "%d-%s", 7, "x"), "7-x");
    char *copy = arena_strndup(*state, "a\0b", 3);
    assert_memory_equal(copy, "a\0b", 4);
}

/* -- Names
 * ------------------------------------------------------------------------------------------ */

static void equal_names_are_equal_pointers(void **state) {
    struct interns *names = interns_new(*state);
    struct sym *first[5000];
    char name[16];
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof name, "n%d", i);
        first[i] = intern_text(names, name);
        assert_int_equal(first[i]->id, i);
    }
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof name, "n%d", i);
        assert_ptr_equal(intern_text(names, name), first[i]);
        assert_string_equal(first[i]->text, name);
    }
    assert_ptr_not_equal(intern(names, "a\0b", 3), intern(names, "a\0c", 3));
    assert_ptr_equal(intern(names, "", 0), intern_text(names, ""));
}

/* -- Source
 * ----------------------------------------------------------------------------------------- */

static void positions_and_lines(void **state) {
    static const struct {
        const char *text;
        uint32_t offset;
        int line, column;
        const char *shown;
    } rows[] = {
        {"", 0, 1, 1, ""},          {"abc", 0, 1, 1, "abc"},
        {"abc", 3, 1, 4, "abc"},    {"a\nbc\n", 1, 1, 2, "a"},
        {"a\nbc\n", 2, 2, 1, "bc"}, {"a\nbc\n", 5, 3, 1, ""},
        {"a\r\nb", 0, 1, 1, "a"},   {"\n\n\n", 2, 3, 1, ""},
        {"abc", 99, 1, 4, "abc"},   {"a\r\nb\r\n", 3, 2, 1, "b"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct source *s = source_of_text(*state, "f", rows[i].text, strlen(rows[i].text));
        struct position at = source_position(s, rows[i].offset);
        assert_int_equal(at.line, rows[i].line);
        assert_int_equal(at.column, rows[i].column);
        struct span line = source_line(s, at.line);
        assert_string_equal(arena_strndup(*state, s->text + line.begin, line.end - line.begin),
                            rows[i].shown);
    }
}

static void spans_join(void **state) {
    (void)state;
    struct span nowhere = {0, 0}, a = {3, 5}, b = {8, 9};
    struct span j = span_join(b, a);
    assert_int_equal(j.begin, 3);
    assert_int_equal(j.end, 9);
    assert_int_equal(span_join(nowhere, a).begin, 3);
    assert_int_equal(span_join(a, nowhere).end, 5);
}

static void unreadable_files_say_why(void **state) {
    const char *why = NULL;
    assert_null(source_read(*state, "/no/such/file.tile", &why));
    assert_non_null(why);
    why = NULL;
    assert_null(source_read(*state, "/", &why));
    assert_non_null(why);
}

/* -- Text
 * ------------------------------------------------------------------------------------------- */

static void text_indents_lines_that_have_text(void **state) {
    struct text t = text_new(*state);
    text_puts(&t, "a\n");
    t.indent = 1;
    text_puts(&t, "b\n\nc");
    text_printf(&t, "%d\n", 4);
    t.indent = 0;
    text_puts(&t, "d");
    assert_string_equal(t.at, "a\n    b\n\n    c4\nd");
    assert_int_equal(t.length, strlen(t.at));
}

static void long_lines_are_not_cut(void **state) {
    struct text t = text_new(*state);
    char *word = arena_alloc(*state, 5001);
    memset(word, 'x', 5000);
    for (int i = 0; i < 10; i++) text_printf(&t, "%s", word);
    assert_int_equal(strlen(t.at), 50000);
}

static void doubles_read_back(void **state) {
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        {0, "0.0"},
        {-0.0, "-0.0"},
        {1, "1.0"},
        {0.1, "0.1"},
        {1e-5, "1e-05"},
        {-1.0e30, "-1e+30"},
        {1e15, "1e+15"},
        {1234567, "1234567.0"},
        {1.4426950408889634, "1.4426950408889634"},
        {5e-324, "5e-324"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
        {NAN, "nan"},
        {-NAN, "nan"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct text t = text_new(*state);
        text_double(&t, rows[i].value);
        assert_string_equal(t.at, rows[i].text);
        struct cursor c = cursor_new(*state, t.at, t.length);
        double back;
        assert_true(cursor_number(&c, &back));
        assert_true(isnan(back) ? isnan(rows[i].value) != 0
                                : !memcmp(&back, &rows[i].value, sizeof back));
        assert_ptr_equal(c.at, c.end);
    }
}

/* -- Cursor
 * ----------------------------------------------------------------------------------------- */

static struct cursor on(void **state, const char *text) {
    return cursor_new(*state, text, strlen(text));
}

static void words_and_marks(void **state) {
    struct cursor c = on(state, "  for i8 = T.x$1 ; comment\n forth");
    assert_true(cursor_at(&c, "for"));
    assert_true(cursor_take_word(&c, "for"));
    assert_string_equal(cursor_word(&c), "i8");
    assert_false(cursor_take(&c, "=="));
    assert_true(cursor_expect(&c, "="));
    assert_string_equal(cursor_word(&c), "T.x$1");
    assert_true(cursor_line_end(&c));
    assert_false(cursor_take_word(&c, "for"));
    assert_string_equal(cursor_word(&c), "forth");
    assert_null(c.error);
    assert_true(cursor_line_end(&c)); /* the end of the text counts once */
    assert_false(cursor_line_end(&c));
}

static void integers_are_checked(void **state) {
    static const struct {
        const char *text;
        bool good, failed;
        int64_t value;
    } rows[] = {
        {"0", true, false, 0},
        {" -7x", true, false, -7},
        {"+7", true, false, 7},
        {"9223372036854775807", true, false, INT64_MAX},
        {"-9223372036854775808", true, false, INT64_MIN},
        {"9223372036854775808", false, true, 0},
        {"-9223372036854775809", false, true, 0},
        {"x", false, false, 0},
        {"-", false, false, 0},
        {"", false, false, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cursor c = on(state, rows[i].text);
        int64_t value;
        assert_int_equal(cursor_integer(&c, &value), rows[i].good);
        assert_int_equal(value, rows[i].value);
        assert_int_equal(c.error != NULL, rows[i].failed);
    }
}

static void strings_are_read(void **state) {
    struct cursor c = on(state, " \"a\\\"b\\\\c\\n\" \"open\n");
    assert_string_equal(cursor_string(&c), "a\"b\\c\n");
    assert_null(c.error);
    assert_null(cursor_string(&c));
    assert_non_null(c.error);
}

static void the_first_failure_stays(void **state) {
    struct cursor c = on(state, "a\nb c");
    cursor_word(&c);
    cursor_line_end(&c);
    assert_false(cursor_expect(&c, "="));
    assert_string_equal(c.error, "expected '=' at 'b c'");
    assert_int_equal(c.error_line, 2);
    const char *at = c.at;
    cursor_fail(&c, "another");
    assert_null(cursor_word(&c));
    assert_false(cursor_take(&c, "b"));
    assert_false(cursor_line_end(&c));
    assert_string_equal(c.error, "expected '=' at 'b c'");
    assert_ptr_equal(c.at, at);
}

/* -- UTF-8
 * ------------------------------------------------------------------------------------------ */

static void utf8_is_strict(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        int taken, width;
    } rows[] = {
        {"a", 1, 1},        {"\xc3\xa9", 2, 1},         {"\xe6\x97\xa5", 3, 2},
        {"\xcc\x81", 2, 0}, {"\xf0\x9f\x98\x80", 4, 2}, {"\xe2\x80\xae", 3, -1},
        {"\x1b", 1, -1},    {"\xc0\x80", 0, 0},         {"\xed\xa0\x80", 0, 0},
        {"\x80", 0, 0},     {"\xf4\x90\x80\x80", 0, 0}, {"\xe6\x97", 0, 0},
        {"\xff", 0, 0},     {"\xe0\x80\x80", 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t point;
        const char *s = rows[i].bytes;
        assert_int_equal(utf8_decode(s, s + strlen(s), &point), rows[i].taken);
        if (rows[i].taken) assert_int_equal(utf8_width(point), rows[i].width);
    }
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(arena_gives_zeroed_aligned_memory),
        T(vectors_keep_their_items),
        T(copies_end_in_nul),
        T(equal_names_are_equal_pointers),
        T(positions_and_lines),
        T(spans_join),
        T(unreadable_files_say_why),
        T(text_indents_lines_that_have_text),
        T(long_lines_are_not_cut),
        T(doubles_read_back),
        T(words_and_marks),
        T(integers_are_checked),
        T(strings_are_read),
        T(the_first_failure_stays),
        T(utf8_is_strict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
