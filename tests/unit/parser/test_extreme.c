/* test_extreme.c: texts nobody writes: cut off, random, huge, deep. They end with errors or
 * without, but they end. */
#include "files.h"
#include "parser/parser.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *seeds_directory;

/* Reads the text as the compiler would, to the last caret; returns the number of errors. */
static int survive(const char *text, size_t length) {
    struct arena *a = arena_new();
    struct source *s = source_of_text(a, "t", text, length);
    struct diag *d = diag_new(a, s);
    struct interns *names = interns_new(a);
    struct ast_module *m = parse(a, names, s, lex(a, names, s, d), d);
    struct text out = text_new(a);
    if (!diag_errors(d)) ast_print(&out, m);
    diag_print_text(d, &out, true);
    diag_print_json(d, &out);
    int errors = diag_errors(d);
    arena_free(a);
    return errors;
}

static void seeds_cut_off_anywhere(void **state) {
    (void)state;
    struct arena *a = arena_new();
    const char **names;
    int count = list_files(a, seeds_directory, ".tile", &names);
    assert_true(count >= 8);
    for (int i = 0; i < count; i++) {
        struct source *s = read_file(a, seeds_directory, names[i]);
        for (uint32_t end = 0; end < s->length; end += 97)
            assert_in_range(survive(s->text, end), 0, 3);
    }
    arena_free(a);
}

static void seeds_with_bytes_changed(void **state) {
    (void)state;
    static const char bytes[] = "()[]{}\"'\\#:,=\n\t \xff\0x0@";
    struct arena *a = arena_new();
    const char **names;
    int count = list_files(a, seeds_directory, ".tile", &names);
    uint64_t seed = 1;
    for (int i = 0; i < count; i++) {
        struct source *s = read_file(a, seeds_directory, names[i]);
        char *text = arena_strndup(a, s->text, s->length);
        for (int round = 0; round < 60; round++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            uint32_t at = (uint32_t)(seed >> 33) % s->length;
            char kept = text[at];
            text[at] = bytes[(seed >> 20) % (sizeof bytes - 1)];
            survive(text, s->length);
            if (round % 3) text[at] = kept; /* every third change stays */
        }
    }
    arena_free(a);
}

static void random_bytes(void **state) {
    (void)state;
    enum { LENGTH = 4000 };
    static char text[LENGTH];
    uint64_t seed = 7;
    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < LENGTH; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            unsigned byte = (unsigned)(seed >> 40) & 0xff;
            text[i] = (char)(round % 2 ? byte : 0x20 + byte % 0x5f);
        }
        assert_true(survive(text, LENGTH) > 0);
    }
    memset(text, 0, LENGTH);
    assert_int_equal(survive(text, LENGTH), 1);
}

/* begin, many times unit, end. */
static const struct huge {
    const char *begin, *unit, *end;
    int errors; /* -1: any number */
} rows[] = {
    {"", "x = a[i] + f(b, c=3)\n", "", 0},
    {"x = [", "1, ", "]\n", 0},
    {"x = '''", "a\n", "'''\n", 0},
    {"# ", "c", "", 0},
    {"", "\n", "", 0},
    {"x = ", "'a' ", "\n", 0},
    {"x = ", "a < ", "b\n", 0},
    {"x = ", "a = ", "b\n", 0},
    {"x = f'", "{a}b", "'\n", 0},
    {"", "x; ", "\n", 0},
    {"x = a", " + b", "\n", 1},
    {"x = a", ".b", "\n", 1},
    {"x = a", "[0]", "\n", 1},
    {"x = a", "()", "\n", 1},
    {"x = ", "(", "", 1},
    {"x = ", "[", "", 1},
    {"x = ", "f({", "", 1},
    {"x = ", "-", "a\n", 1},
    {"x = ", "not ", "a\n", 1},
    {"x = ", "a ** ", "b\n", 1},
    {"x = ", "lambda: ", "b\n", 1},
    {"x = ", "a if b else ", "c\n", 1},
    {"x = ", "lambda a=", "c\n", -1},
    {"if a:\n  b\n", "elif a:\n  b\n", "", 1},
    {"", "@a\n", "def f(): pass\n", 0},
    {"def f(a", ", a", "): pass\n", -1},
    {"f(a=1", ", a=1", ")\n", -1},
    {"", "@", "\n", 1},
    {"", "\"\"\"", "", -1},
    {"", "\xff", "", 1},
    {"", "\xe6\x97\xa5", "", 1},
    {"", "$ ", "", 20},
    {"", "if a: ", "b\n", 1},
    {"", "\\\n", "", 0},
    {"a", " \\\n", "", 0},
    {"import a", ".b", "\n", 0},
    {"", "1 ", "\n", 1},
    {"", ")", "", 20},
    {"", "= \n", "", 20},
    {"", "if a\n  b\n", "", 20},
    {"x = f'", "{", "'\n", -1},
    {"x = ", "f'{", "\n", -1},
};

static char *make(const struct huge *h, size_t bytes, size_t *length) {
    size_t begin = strlen(h->begin), unit = strlen(h->unit), end = strlen(h->end);
    size_t times = bytes / unit;
    char *text = malloc(begin + unit * times + end + 1);
    assert_non_null(text);
    memcpy(text, h->begin, begin);
    for (size_t i = 0; i < times; i++) memcpy(text + begin + i * unit, h->unit, unit);
    memcpy(text + begin + unit * times, h->end, end + 1);
    *length = begin + unit * times + end;
    return text;
}

static void check_huge(size_t bytes) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t length;
        char *text = make(&rows[i], bytes, &length);
        int errors = survive(text, length);
        free(text);
        if (rows[i].errors >= 0 && errors != rows[i].errors)
            print_error("%s%s…: %d errors\n", rows[i].begin, rows[i].unit, errors);
        if (rows[i].errors >= 0) assert_int_equal(errors, rows[i].errors);
    }
}

static void repeated_many_thousand_times(void **state) {
    (void)state;
    check_huge(120000);
}

static void ten_megabytes(void **state) {
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        size_t length;
        char *text = make(&rows[i], 10000000, &length);
        assert_int_equal(survive(text, length), 0);
        free(text);
    }
}

static void blocks_nest_two_hundred_deep(void **state) {
    (void)state;
    struct arena *a = arena_new();
    struct text t = text_new(a);
    for (int i = 0; i < 200; i++) text_printf(&t, "%*sif a:\n", i, "");
    size_t legal = t.length;
    text_printf(&t, "%*sb\n", 200, "");
    assert_int_equal(survive(t.at, t.length), 0);
    t.length = legal;
    text_printf(&t, "%*sif a:\n%*sb\n", 200, "", 201, "");
    assert_int_equal(survive(t.at, t.length), 1);
    arena_free(a);
}

/* In the deepest blocks the deepest brackets still fit the parser's stack. */
static void deepest_brackets_in_deepest_blocks(void **state) {
    (void)state;
    static const char *const openers[] = {"(", "[", "f(", "a[", "{1: ", "(lambda: ", "-(", "f(k=-"};
    for (size_t k = 0; k < sizeof openers / sizeof *openers; k++) {
        struct arena *a = arena_new();
        struct text t = text_new(a);
        for (int i = 0; i < 200; i++) text_printf(&t, "%*sif a:\n", i, "");
        text_printf(&t, "%*sx = ", 200, "");
        for (int i = 0; i < 150; i++) text_puts(&t, openers[k]);
        text_puts(&t, "1");
        for (int i = 0; i < 150; i++)
            text_puts(&t, strchr(openers[k], '(') ? ")" : strchr(openers[k], '[') ? "]" : "}");
        text_puts(&t, "\n");
        assert_int_equal(survive(t.at, t.length), 0);
        arena_free(a);
    }
}

int main(int count, char **arguments) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seeds_cut_off_anywhere),
        cmocka_unit_test(seeds_with_bytes_changed),
        cmocka_unit_test(random_bytes),
        cmocka_unit_test(repeated_many_thousand_times),
        cmocka_unit_test(ten_megabytes),
        cmocka_unit_test(blocks_nest_two_hundred_deep),
        cmocka_unit_test(deepest_brackets_in_deepest_blocks),
    };
    if (count < 2) return 2;
    seeds_directory = arguments[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
