/* test_lex.c: tokens of small texts, and what is said about texts that hold none. */
#include "lexer/lexer.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct lexed {
    struct source *source;
    struct diag *diag;
    struct tokens *tokens;
};

static int set_up(void **state) {
    *state = arena_new();
    return 0;
}

static int tear_down(void **state) {
    arena_free(*state);
    return 0;
}

static struct lexed lex_bytes(void **state, const char *text, size_t length) {
    struct lexed x = {.source = source_of_text(*state, "t", text, length)};
    x.diag = diag_new(*state, x.source);
    x.tokens = lex(*state, interns_new(*state), x.source, x.diag);
    return x;
}

/* The kinds in one line: marks and keywords as spelled, classes by a letter or sign. */
static const char *kinds_of(void **state, const struct tokens *tokens) {
    static const char *const classes[] = {
        [TOK_END] = "$",    [TOK_LINE] = ";",   [TOK_INDENT] = ">",
        [TOK_DEDENT] = "<", [TOK_NAME] = "n",   [TOK_INTEGER] = "i",
        [TOK_FLOAT] = "d",  [TOK_STRING] = "s", [TOK_FSTRING] = "f"};
    struct text t = text_new(*state);
    for (int i = 0; i < tokens->list.count; i++) {
        enum token_kind k = tokens->list.at[i].kind;
        const char *text = token_text(k);
        if (i) text_puts(&t, " ");
        if (k <= TOK_FSTRING)
            text_puts(&t, classes[k]);
        else
            text_printf(&t, "%.*s", (int)strlen(text) - 2, text + 1);
    }
    return t.at;
}

static void texts_become_tokens(void **state) {
    static const struct {
        const char *text, *kinds;
    } rows[] = {
        /* indentation */
        {"", "$"},
        {"\n\n", "$"},
        {"a", "n ; $"},
        {"a\n", "n ; $"},
        {"a\r\nb\r\n", "n ; n ; $"},
        {"  \n# c\n   # d\na\n", "n ; $"},
        {"if a:\n  b\nc\n", "if n : ; > n ; < n ; $"},
        {"if a:\n  b\n\n # c\n  d", "if n : ; > n ; n ; < $"},
        {"if a:\n  if b:\n    c\nd\n", "if n : ; > if n : ; > n ; < < n ; $"},
        {"if a:\n  if b:\n    c\n  d", "if n : ; > if n : ; > n ; < n ; < $"},
        {"if a:\n  b", "if n : ; > n ; < $"},
        {"if a:\n  b\n    ", "if n : ; > n ; < $"},
        {"  a\n", "> n ; < $"},
        {"\xef\xbb\xbf"
         "a",
         "n ; $"},
        /* joined lines */
        {"a(\n  b,\n\n# c\n c)\nd", "n ( n , n ) ; n ; $"},
        {"a = \\\n  b\n", "n = n ; $"},
        {"a \\\r\n b", "n n ; $"},
        {"[{(\n)}\n]", "[ { ( ) } ] ; $"},
        {"a # c", "n ; $"},
        /* marks, the longest first */
        {"a**=b//=c<<=d>>=e", "n **= n //= n <<= n >>= n ; $"},
        {"->:=...**//<<>>", "-> := ... ** // << >> ; $"},
        {"<= >= == != < > = + - * / % @ & | ^ ~ , : ; .",
         "<= >= == != < > = + - * / % @ & | ^ ~ , : ; . ; $"},
        {"+= -= *= /= %= @= &= |= ^=", "+= -= *= /= %= @= &= |= ^= ; $"},
        {"a.b..c", "n . n . . n ; $"},
        /* names and keywords */
        {"is isnt in inn not nota", "is n in n not n ; $"},
        {"True true None _ __a A9", "True n None n n n ; $"},
        {"class async await del match case", "class async await del n n ; $"},
        /* numbers */
        {"0 7 1_000 0x1F 0o17 0b11 0X_f 00", "i i i i i i i i ; $"},
        {"1. .5 1.5 1e5 1E-5 1_0.0_1e+1_0", "d d d d d d ; $"},
        {"a[1:2]", "n [ i : i ] ; $"},
        {"1..real", "d . n ; $"},
        /* strings */
        {"'a' \"b\" '' \"\" 'a\\'b' \"\\\"\"", "s s s s s s ; $"},
        {"'''a\nb''' \"\"\"c \"\" d\"\"\"", "s s ; $"},
        {"'''a''b'c''' ''''d'''", "s s ; $"},
        {"r'\\d' R\"a\" f'{a}' rf'a' fR\"b\" u'c'", "s s f f f s ; $"},
        {"'a\\\nb'", "s ; $"},
        {"'a#b' # 'c'", "s ; $"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct lexed x = lex_bytes(state, rows[i].text, strlen(rows[i].text));
        assert_string_equal(kinds_of(state, x.tokens), rows[i].kinds);
        struct text t = text_new(*state);
        diag_print_text(x.diag, &t, false);
        assert_string_equal(t.at, "");
    }
}

static void integers_have_values(void **state) {
    static const struct {
        const char *text;
        int64_t value;
    } rows[] = {{"0", 0},      {"00", 0},    {"1_000", 1000}, {"0x7fff_ffff_ffff_ffff", INT64_MAX},
                {"0XfF", 255}, {"0o17", 15}, {"0b1011", 11},  {"9223372036854775807", INT64_MAX},
                {"0b0", 0},    {"10", 10},   {"0_0", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct lexed x = lex_bytes(state, rows[i].text, strlen(rows[i].text));
        assert_int_equal(diag_errors(x.diag), 0);
        assert_int_equal(x.tokens->list.at[0].kind, TOK_INTEGER);
        assert_true(x.tokens->list.at[0].as.integer == rows[i].value);
    }
}

static void floats_have_values(void **state) {
    static const struct {
        const char *text;
        double value;
    } rows[] = {{"1.", 1},        {".5", .5},        {"1_0.2_5", 10.25}, {"1e-30", 1e-30},
                {"1.5E+3", 1500}, {"-1.0e30", 1e30}, {"5e-324", 5e-324}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct lexed x = lex_bytes(state, rows[i].text, strlen(rows[i].text));
        struct token t = x.tokens->list.at[*rows[i].text == '-'];
        assert_int_equal(t.kind, TOK_FLOAT);
        assert_memory_equal(&t.as.number, &rows[i].value, sizeof(double));
    }
}

static void strings_have_values(void **state) {
    static const struct {
        const char *text, *value;
    } rows[] = {
        {"'abc'", "abc"},
        {"''", ""},
        {"'a\\n\\t\\\\\\'\\\"'", "a\n\t\\'\""},
        {"'\\x41\\u00e9\\U0001F600'", "A\xc3\xa9\xf0\x9f\x98\x80"},
        {"'\\101\\7'", "A\a"},
        {"'\\q\\{'", "\\q\\{"},
        {"r'\\n\\''", "\\n\\'"},
        {"'a\\\nb'", "ab"},
        {"'a\\\r\nb'", "ab"},
        {"'''a\r\nb\n'''", "a\nb\n"},
        {"'''''a'''", "''a"},
        {"f'{{a}} {b}'", "{{a}} {b}"},
        {"u\"\xe6\x97\xa5\"", "\xe6\x97\xa5"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct lexed x = lex_bytes(state, rows[i].text, strlen(rows[i].text));
        assert_int_equal(diag_errors(x.diag), 0);
        assert_string_equal(x.tokens->list.at[0].as.string->text, rows[i].value);
    }
    struct lexed x = lex_bytes(state, "'a\\0b'", 6);
    assert_int_equal(x.tokens->list.at[0].as.string->length, 3);
}

/* Whatever is wrong, each mistake is said once and the rest is read. */
static void mistakes_are_said_once(void **state) {
    static const struct {
        const char *text, *kinds, *said;
        size_t length; /* 0: up to the NUL */
    } rows[] = {
        {"a = $ b", "n = n ; $", "1:5 E0102", 0},
        {"a\0b", "n n ; $", "1:2 E0102", 3},
        {"# \0", "$", "1:3 E0102", 3},
        {"a\xff", "n ; $", "1:2 E0102", 0},
        {"'\xc0\x80'", "s ; $", "1:2 E0102", 0},
        {"a\rb", "n n ; $", "1:2 E0102", 0},
        {"(a", "( n ; $", "1:1 E0104", 0},
        {"(a]\nb", "( n ) ; n ; $", "1:3 E0101", 0},
        {"a)\nb", "n ; n ; $", "1:2 E0101", 0},
        {"f(a\nreturn b", "n ( n ; return n ; $", "1:2 E0104", 0},
        {"if a:\n  f(b\n  c(\nwith d", "if n : ; > n ( n n ( ; < with n ; $",
         "2:4 E0104, 3:4 E0104", 0},
        {"f(a\nfor b in c)", "n ( n for n in n ) ; $", "", 0},
        {"'a", "s ; $", "1:1 E0104", 0},
        {"'a\nb", "s ; n ; $", "1:1 E0104", 0},
        {"rf'''a\nb", "s ; $", "1:1 E0104", 0},
        {"'a\\", "s ; $", "1:1 E0104, 1:3 E0102", 0},
        {"if a:\n    b\n  c\nd", "if n : ; > n ; < n ; n ; $", "3:3 E0103", 0},
        {"if a:\n\tb\n\tc", "if n : ; > n ; n ; < $", "2:1 E0103", 0},
        {"0x 08 1e 99999999999999999999", "i i i i ; $",
         "1:1 E0105, 1:4 E0105, 1:7 E0105, 1:10 E0105", 0},
        {"'\\x1'", "s ; $", "1:2 E0107", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t length = rows[i].length ? rows[i].length : strlen(rows[i].text);
        struct lexed x = lex_bytes(state, rows[i].text, length);
        assert_string_equal(kinds_of(state, x.tokens), rows[i].kinds);
        struct text t = text_new(*state), said = text_new(*state);
        diag_print_json(x.diag, &t);
        for (const char *p = t.at; (p = strstr(p, "\"type\"")); p++) {
            int line = 0, column = 0;
            const char *code = strstr(p, "\"code\":\"") + 8;
            sscanf(strstr(p, "\"line\":"), "\"line\":%d,\"col\":%d", &line, &column);
            text_printf(&said, "%s%d:%d %.5s", said.length ? ", " : "", line, column, code);
        }
        assert_string_equal(said.at, rows[i].said);
    }
}

static void nesting_is_limited(void **state) {
    enum { DEEP = 100000 };
    static const char marks[] = "([{";
    for (const char *m = marks; *m; m++) {
        char *text = arena_alloc(*state, DEEP + 1);
        memset(text, *m, DEEP);
        struct lexed x = lex_bytes(state, text, DEEP);
        assert_int_equal(diag_errors(x.diag), 1);
        assert_int_equal(x.tokens->list.count, NESTING_LIMIT + 2);
    }
    struct text t = text_new(*state);
    for (int i = 0; i <= NESTING_LIMIT; i++) text_printf(&t, "%*sif a:\n", i, "");
    struct lexed x = lex_bytes(state, t.at, t.length);
    assert_int_equal(diag_errors(x.diag), 0);
    text_printf(&t, "%*sb\n", NESTING_LIMIT + 1, "");
    x = lex_bytes(state, t.at, t.length);
    assert_int_equal(diag_errors(x.diag), 1);
}

static void spans_cover_the_spelling(void **state) {
    const char *text = "if  abc:\n  x = 'd'\n";
    struct lexed x = lex_bytes(state, text, strlen(text));
    struct text t = text_new(*state);
    tokens_print(&t, x.tokens, x.source);
    assert_string_equal(t.at, "1:1 'if'\n"
                              "1:5 a name abc\n"
                              "1:8 ':'\n"
                              "1:9 end of line\n"
                              "2:3 an indented block\n"
                              "2:3 a name x\n"
                              "2:5 '='\n"
                              "2:7 a string 'd'\n"
                              "2:10 end of line\n"
                              "3:1 end of the block\n"
                              "3:1 end of file\n");
}

static void expressions_have_no_lines(void **state) {
    const char *text = "xx a +\n b# c\n yy";
    struct source *s = source_of_text(*state, "t", text, strlen(text));
    struct diag *d = diag_new(*state, s);
    struct tokens *tokens = lex_expression(*state, interns_new(*state), s, (struct span){2, 13}, d);
    assert_string_equal(kinds_of(state, tokens), "n + n $");
    assert_int_equal(tokens->list.at[2].span.begin, 8);
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(texts_become_tokens),      T(integers_have_values),      T(floats_have_values),
        T(strings_have_values),      T(mistakes_are_said_once),    T(nesting_is_limited),
        T(spans_cover_the_spelling), T(expressions_have_no_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
