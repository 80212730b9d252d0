/* test_diag.c: what diagnostics look like, what they count, and what switches them. */
#include "base/diag.h"
#include "base/vec.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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

static struct diag *on(void **state, const char *text) {
    return diag_new(*state, source_of_text(*state, "f.tile", text, strlen(text)));
}

static const char *text_of(void **state, struct diag *d) {
    struct text t = text_new(*state);
    diag_print_text(d, &t, false);
    return t.at;
}

/* Each row reports one error at [begin, end) and looks at the caret. */
static void carets_stand_under_what_they_mean(void **state) {
    static const struct {
        const char *source;
        uint32_t begin, end;
        const char *written;
    } rows[] = {
        {"x = abc\n", 4, 7, "f.tile:1:5: error: m [E0101]\n    1 | x = abc\n      |     ^~~\n"},
        {"x", 1, 1, "f.tile:1:2: error: m [E0101]\n    1 | x\n      |  ^\n"},
        {"a\n\tb\n", 3, 4, "f.tile:2:9: error: m [E0101]\n    2 |         b\n      |         ^\n"},
        {"\xe6\x97\xa5 b", 4, 5,
         "f.tile:1:4: error: m [E0101]\n    1 | \xe6\x97\xa5 b\n      |    ^\n"},
        {"e\xcc\x81 b", 4, 5, "f.tile:1:3: error: m [E0101]\n    1 | e\xcc\x81 b\n      |   ^\n"},
        {"ab \ncd", 1, 6, "f.tile:1:2: error: m [E0101]\n    1 | ab \n      |  ^\n"},
        {"a\r\nb", 0, 1, "f.tile:1:1: error: m [E0101]\n    1 | a\n      | ^\n"},
        {"\x1b[m x", 4, 5,
         "f.tile:1:5: error: m [E0101]\n    1 | \xef\xbf\xbd[m x\n      |     ^\n"},
        {"\xff x", 2, 3, "f.tile:1:3: error: m [E0101]\n    1 | \xef\xbf\xbd x\n      |   ^\n"},
        {"x", 0, 0, "f.tile: error: m [E0101]\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct diag *d = on(state, rows[i].source);
        diag_report(d, (struct span){rows[i].begin, rows[i].end}, E0101, "m");
        assert_string_equal(text_of(state, d),
                            arena_printf(*state, "%s1 error\n", rows[i].written));
    }
}

static void long_lines_show_the_neighbourhood(void **state) {
    enum { LENGTH = 10000000 };
    char *line = arena_alloc(*state, LENGTH + 1);
    memset(line, 'a', LENGTH);
    line[LENGTH - 1000] = 'b';
    struct diag *d = on(state, line);
    diag_report(d, (struct span){LENGTH - 1000, LENGTH}, E0101, "m");
    const char *text = text_of(state, d), *shown = strchr(text, '|'), *caret = strchr(text, '^');
    assert_true(strlen(text) < 500);
    const char *second = strchr(shown + 1, '|');
    assert_int_equal(strchr(shown, 'b') - shown, caret - second);
}

static void notes_and_fixes_follow(void **state) {
    struct diag *d = on(state, "x = q k\n");
    diag_report(d, (struct span){4, 5}, E0101, "m");
    diag_note(d, (struct span){0, 1}, "here");
    diag_note(d, (struct span){0, 0}, "anywhere");
    diag_fix(d, (struct span){6, 6}, "* ", "multiply");
    assert_string_equal(text_of(state, d), "f.tile:1:5: error: m [E0101]\n"
                                           "    1 | x = q k\n"
                                           "      |     ^\n"
                                           "f.tile:1:1: note: here\n"
                                           "    1 | x = q k\n"
                                           "      | ^\n"
                                           "f.tile: note: anywhere\n"
                                           "    1 | x = q * k\n"
                                           "      |       ++ help: multiply\n"
                                           "1 error\n");
}

static void repetitions_are_dropped(void **state) {
    struct diag *d = on(state, "abc");
    for (int i = 0; i < 3; i++) {
        diag_report(d, (struct span){0, 1}, E0101, "m");
        diag_note(d, (struct span){0, 1}, "n%d", i);
    }
    diag_report(d, (struct span){1, 2}, E0101, "m");
    diag_report(d, (struct span){0, 1}, E0102, "m");
    assert_int_equal(diag_errors(d), 5);
    assert_null(strstr(text_of(state, d), "n1"));
}

static void errors_stop_at_the_limit(void **state) {
    struct diag *d = on(state, "abc");
    for (int i = 0; i < 50; i++) {
        assert_int_equal(diag_full(d), i >= 20);
        diag_report(d, (struct span){0, 1}, E0101, "%d", i);
    }
    assert_int_equal(diag_errors(d), 50);
    assert_non_null(strstr(text_of(state, d), "20 errors; the limit of errors is reached\n"));
    d = on(state, "abc");
    diag_set_limit(d, 0);
    for (int i = 0; i < 5000; i++) diag_report(d, (struct span){0, 1}, E0101, "%d", i);
    assert_int_equal(diag_errors(d), 5000);
    assert_false(diag_full(d));
}

struct switching {
    const char *name;
    enum diag_state state;
};

static void warnings_obey_switches(void **state) {
    static const struct {
        struct switching switches[3];
        const char *written; /* what stands in brackets, NULL: nothing is reported */
    } rows[] = {
        {{{0}}, "[-Wstages]"},
        {{{"stages", DIAG_OFF}}, NULL},
        {{{"all", DIAG_OFF}}, NULL},
        {{{"all", DIAG_AS_ERROR}}, "[-Werror=stages]"},
        {{{"stages", DIAG_OFF}, {"all", DIAG_AS_ERROR}}, NULL},
        {{{"all", DIAG_AS_ERROR}, {"stages", DIAG_ON}}, "[-Wstages]"},
        {{{"stages", DIAG_AS_ERROR}}, "[-Werror=stages]"},
        {{{"perf", DIAG_AS_ERROR}}, "[-Wstages]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct diag *d = on(state, "abc");
        for (int j = 0; j < 3 && rows[i].switches[j].name; j++)
            assert_true(diag_set(d, rows[i].switches[j].name, rows[i].switches[j].state));
        diag_report(d, (struct span){0, 1}, W_STAGES, "m");
        const char *text = text_of(state, d);
        if (rows[i].written)
            assert_non_null(strstr(text, rows[i].written));
        else
            assert_string_equal(text, "");
        bool promoted = rows[i].written && strstr(rows[i].written, "error");
        assert_int_equal(diag_errors(d), promoted);
    }
    assert_false(diag_set(on(state, ""), "no-such-warning", DIAG_ON));
    assert_false(diag_set(on(state, ""), "syntax", DIAG_OFF));
}

/* Whatever rows the table has, plain -Werror leaves the group perf as warnings. */
static void advice_on_speed_is_promoted_by_name_only(void **state) {
    for (int code = 0; code < DIAG_CODE_COUNT; code++) {
        const char *name = diag_code_text((enum diag_code)code);
        if (strncmp(name, "perf", 4) != 0) continue;
        struct diag *d = on(state, "abc");
        diag_set(d, "all", DIAG_AS_ERROR);
        diag_report(d, (struct span){0, 1}, (enum diag_code)code, "m");
        assert_int_equal(diag_errors(d), 0);
        assert_int_equal(diag_warnings(d), 1);
        diag_set(d, "perf", DIAG_AS_ERROR);
        diag_report(d, (struct span){1, 2}, (enum diag_code)code, "m");
        assert_int_equal(diag_errors(d), 1);
    }
}

static void json_is_one_line_each(void **state) {
    struct diag *d = on(state, "x = \xe6\x97\xa5 k\n");
    diag_report(d, (struct span){8, 9}, E0101, "a \"b\" \x01\xff");
    diag_note(d, (struct span){0, 1}, "n");
    diag_fix(d, (struct span){8, 9}, "z\n", "f");
    diag_report(d, (struct span){0, 1}, W_SIGN, "w");
    struct text t = text_new(*state);
    diag_print_json(d, &t);
    const char *expected =
        "{\"type\":\"diagnostic\",\"severity\":\"error\",\"code\":\"E0101\",\"name\":\"syntax\","
        "\"message\":\"a \\\"b\\\" \\u0001\\ufffd\",\"spans\":[{\"file\":\"f.tile\",\"line\":1,"
        "\"col\":9,\"end_line\":1,\"end_col\":10,\"byte\":8,\"end_byte\":9,\"primary\":true,"
        "\"label\":null}],\"notes\":[{\"message\":\"n\",\"spans\":[{\"file\":\"f.tile\"";
    assert_memory_equal(t.at, expected, strlen(expected));
    assert_non_null(strstr(t.at, "\"edits\":[{\"byte\":8,\"end_byte\":9,\"text\":\"z\\n\"}]"));
    int lines = 0;
    for (const char *p = t.at; *p; p++) lines += *p == '\n';
    assert_int_equal(lines, 2);
}

static void remarks_are_kept_apart(void **state) {
    struct diag *d = on(state, "abc");
    diag_remark(d, (struct span){1, 2}, "layout", "r%d", 1);
    diag_remark(d, (struct span){2, 3}, "shared", "r2");
    assert_string_equal(text_of(state, d), "");
    struct text t = text_new(*state), all = text_new(*state);
    diag_print_remarks(d, &t, "shared");
    assert_string_equal(t.at, "f.tile:1:3: remark: r2 [shared]\n");
    diag_print_remarks(d, &all, "all");
    assert_string_equal(all.at, "f.tile:1:2: remark: r1 [layout]\n"
                                "f.tile:1:3: remark: r2 [shared]\n");
}

static void remarks_name_their_programs(void **state) {
    static const char *const names[] = {"sm_75", "sm_80", "sm_90a"};
    struct diag *d = on(state, "abc");
    diag_remark(d, (struct span){0, 1}, "layout", "before all");
    for (int i = 0; i < 3; i++) {
        diag_remarks_of(d, names[i]);
        diag_remark(d, (struct span){1, 2}, "layout", "the same");
        diag_remark(d, (struct span){1, 2}, "layout", i ? "later" : "first");
        if (i == 2) diag_remark(d, (struct span){2, 3}, "layout", "once");
    }
    struct text t = text_new(*state);
    diag_print_remarks(d, &t, "all");
    assert_string_equal(t.at, "f.tile:1:1: remark: before all [layout]\n"
                              "f.tile:1:2: remark: the same [layout]\n"
                              "f.tile:1:2: remark: first [layout, sm_75]\n"
                              "f.tile:1:2: remark: later [layout, sm_80, sm_90a]\n"
                              "f.tile:1:3: remark: once [layout, sm_90a]\n");
}

/* Messages hold spellings of the source; a terminal must not obey them. */
static void messages_are_harmless(void **state) {
    struct diag *d = on(state, "abc");
    diag_report(d, (struct span){0, 1}, E0101, "'\x1b[31m'\ntable");
    assert_null(strchr(text_of(state, d), '\x1b'));
    assert_non_null(strstr(text_of(state, d), "'\xef\xbf\xbd[31m'\ntable [E0101]\n"));
}

/* The driver's way with several architectures: errors of one that failed become warnings while
 * others may succeed, and errors again if none did. */
static void demoted_errors_come_back_once(void **state) {
    struct diag *d = on(state, "abc");
    diag_report(d, (struct span){1, 2}, W_SIGN, "w");
    int mark = diag_mark(d);
    diag_report(d, (struct span){0, 1}, E0101, "m");
    diag_note(d, (struct span){0, 1}, "n");
    diag_demote(d, mark, W_ARCH, "left out: ");
    assert_int_equal(diag_errors(d), 0);
    assert_int_equal(diag_warnings(d), 2);
    assert_non_null(strstr(text_of(state, d), "warning: left out: m [-Warch]"));
    diag_report(d, (struct span){0, 1}, E0101, "m");
    diag_report(d, (struct span){0, 1}, E0101, "other");
    assert_int_equal(diag_errors(d), 2);
    diag_restore(d);
    assert_int_equal(diag_errors(d), 2);
    assert_int_equal(diag_warnings(d), 1);
    const char *text = text_of(state, d);
    assert_null(strstr(text, "left out"));
    assert_non_null(strstr(text, "error: m [E0101]"));
    assert_non_null(strstr(text, "note: n"));
    assert_null(strstr(strstr(text, "error: m") + 1, "error: m"));
}

/* Switched off, they are neither shown nor counted, and still come back. */
static void demoted_errors_can_be_switched_off(void **state) {
    struct diag *d = on(state, "abc");
    diag_set(d, "all", DIAG_OFF);
    diag_report(d, (struct span){0, 1}, E0101, "m");
    diag_demote(d, 0, W_ARCH, "left out: ");
    assert_int_equal(diag_warnings(d), 0);
    assert_string_equal(text_of(state, d), "");
    diag_restore(d);
    assert_int_equal(diag_errors(d), 1);
    assert_int_equal(diag_warnings(d), 0);
    assert_non_null(strstr(text_of(state, d), "error: m [E0101]"));
}

/* Who makes a warning an error wants no success without what it says. */
static void promoted_warnings_stay_errors(void **state) {
    struct diag *d = on(state, "abc");
    diag_set(d, "stages", DIAG_AS_ERROR);
    diag_report(d, (struct span){0, 1}, W_STAGES, "m");
    diag_demote(d, 0, W_ARCH, "left out: ");
    assert_int_equal(diag_errors(d), 1);
    assert_int_equal(diag_warnings(d), 0);
    assert_non_null(strstr(text_of(state, d), "error: m [-Werror=stages]"));
    diag_restore(d);
    assert_int_equal(diag_errors(d), 1);
}

static void codes_are_found_by_their_text(void **state) {
    (void)state;
    for (int i = 0; i < DIAG_CODE_COUNT; i++) {
        assert_int_equal(diag_code_find(diag_code_text((enum diag_code)i)), i);
        assert_true(strlen(diag_code_page((enum diag_code)i)) > 10);
    }
    assert_int_equal(diag_code_find("E9999"), -1);
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(carets_stand_under_what_they_mean),
        T(long_lines_show_the_neighbourhood),
        T(notes_and_fixes_follow),
        T(repetitions_are_dropped),
        T(errors_stop_at_the_limit),
        T(warnings_obey_switches),
        T(advice_on_speed_is_promoted_by_name_only),
        T(json_is_one_line_each),
        T(remarks_are_kept_apart),
        T(remarks_name_their_programs),
        T(messages_are_harmless),
        T(demoted_errors_come_back_once),
        T(demoted_errors_can_be_switched_off),
        T(promoted_warnings_stay_errors),
        T(codes_are_found_by_their_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
