/* test_parse.c: how texts group, and that printed trees parse to the same trees. */
#include "files.h"
#include "parser/parser.h"
#include "shape.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *cases_directory, *seeds_directory;

static int set_up(void **state) {
    *state = arena_new();
    return 0;
}

static int tear_down(void **state) {
    arena_free(*state);
    return 0;
}

struct parsed {
    struct diag *diag;
    struct ast_module *module;
};

static struct parsed parse_source(void **state, const struct source *s) {
    struct parsed p = {diag_new(*state, s), NULL};
    struct interns *names = interns_new(*state);
    p.module = parse(*state, names, s, lex(*state, names, s, p.diag), p.diag);
    return p;
}

static struct parsed parse_text(void **state, const char *text) {
    return parse_source(state, source_of_text(*state, "t", text, strlen(text)));
}

static const char *shape(void **state, const struct ast_module *m) {
    struct text t = text_new(*state);
    shape_of_module(&t, m);
    return t.at;
}

static const char *print(void **state, const struct ast_module *m) {
    struct text t = text_new(*state);
    ast_print(&t, m);
    return t.at;
}

static void expect_silence(void **state, const struct diag *d) {
    struct text t = text_new(*state);
    diag_print_text(d, &t, false);
    assert_string_equal(t.at, "");
}

/* The property: what is printed parses to the same tree and prints the same again. */
static void check_round_trip(void **state, const struct source *s) {
    struct parsed first = parse_source(state, s);
    expect_silence(state, first.diag);
    const char *printed = print(state, first.module);
    struct parsed second = parse_text(state, printed);
    expect_silence(state, second.diag);
    assert_string_equal(shape(state, second.module), shape(state, first.module));
    assert_string_equal(print(state, second.module), printed);
}

/* -- Printing, which shows how operators group
 * ----------------------------------------------------- */

static void expressions_print_with_the_fewest_parentheses(void **state) {
    static const struct {
        const char *text, *printed; /* NULL: as it is */
    } rows[] = {
        {"a+b*c", "a + b * c"},
        {"(a+b)*c", "(a + b) * c"},
        {"a-b-c", "a - b - c"},
        {"a-(b-c)", "a - (b - c)"},
        {"-a**-b", "-a**-b"},
        {"(-a)**b", "(-a)**b"},
        {"a**b**c", "a**b**c"},
        {"(a**b)**c", "(a**b)**c"},
        {"2**-1", "2**-1"},
        {"not a==b", "not a == b"},
        {"(not a)==b", "(not a) == b"},
        {"a or b and not c", "a or b and not c"},
        {"(a or b) and c", "(a or b) and c"},
        {"a|b^c&d<<e+f", "a | b ^ c & d << e + f"},
        {"((a|b)^c)&d", "((a | b) ^ c) & d"},
        {"a<b<=c!=d", "a < b <= c != d"},
        {"(a<b)<c", "(a < b) < c"},
        {"a not in b is not c", NULL},
        {"a if b else c if d else e", NULL},
        {"(a if b else c) if d else e", NULL},
        {"a if (b if c else d) else e", NULL},
        {"lambda: a if b else c", NULL},
        {"(lambda x, y=1, *a, z, **k: x)(1)", NULL},
        {"lambda *, a: a", NULL},
        {"~-+a", NULL},
        {"a//b%c/d@e", "a // b % c / d @ e"},
        {"-1", NULL},
        {"(1).real", NULL},
        {"a.b[c](d).e", NULL},
        {"(a, b)", "a, b"},
        {"()", NULL},
        {"(a,)", "a,"},
        {"[(a, b), (), (c,)]", NULL},
        {"[*a, b]", NULL},
        {"{a: b, (c, d): e}", NULL},
        {"{}", NULL},
        {"{a, *b}", NULL},
        {"[i for i in a if b if c]", "[i for i in a if b and c]"},
        {"{i for i in a}", NULL},
        {"(i for i, j in a)", "(i for (i, j) in a)"},
        {"f(i for i in a)", NULL},
        {"f((i for i in a), b)", NULL},
        {"f(a, *b, c=d, **e)", NULL},
        {"a[1]", NULL},
        {"a[1,]", NULL},
        {"a[(1, 2)]", NULL},
        {"a[1, 2]", NULL},
        {"a[:, ::, 1:, :2, 1:2, ::3, 1:2:3, ...]", "a[:, :, 1:, :2, 1:2, ::3, 1:2:3, ...]"},
        {"a[*b]", NULL},
        {"a[*b, c]", NULL},
        {"'it\\'s \"x\" \\n\\\\'", "\"it's \\\"x\\\" \\n\\\\\""},
        {"'a' \"b\" r'\\c'", "\"ab\\\\c\""},
        {"'\\x00\\x1b\\x7f'", "\"\\x00\\x1b\\x7f\""},
        {"f'a{b}c{{d}}{e[\"k\"]}'", "f\"a{b}c{{d}}{e['k']}\""},
        {"f'{a + b}{(c, d)}{ {1: 2}[1] }'", "f\"{(a + b)}{((c, d))}{({1: 2}[1])}\""},
        {"f'' 'x' f'{a}' 'y'", "f\"x{a}y\""},
        {"f'{f\"{a}b\"}c'", "f\"{a}bc\""},
        {"f'\\'{a}\"'", "f\"\\x27{a}\\x22\""},
        {"f'{a!=b}{c==d}{e<=f}'", "f\"{(a != b)}{(c == d)}{(e <= f)}\""},
        {"1e999", NULL},
        {"0x10", "16"},
        {"1.5e10", "1.5e+10"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct parsed p = parse_text(state, rows[i].text);
        expect_silence(state, p.diag);
        const char *expected = rows[i].printed ? rows[i].printed : rows[i].text;
        assert_string_equal(print(state, p.module), arena_printf(*state, "%s\n", expected));
        check_round_trip(state, source_of_text(*state, "t", rows[i].text, strlen(rows[i].text)));
    }
}

static void statements_print(void **state) {
    static const char *const rows[] = {
        "x = y = a, b = f(1)\n",
        "x: T.int32\n",
        "x: T.Tensor((M, N), dtype) = None\n",
        "x[i, j] //= 3\n",
        "a, *b = c\n",
        "x @= y\n",
        "for i, j in T.Parallel(2, 3):\n    pass\n",
        "for (i,) in a:\n    continue\n",
        "for (a, b), c in d, e:\n    break\n",
        "while a and b:\n    x = 1\n",
        "with T.Kernel(1) as (bx, by), T.ws(0), f() as g:\n    return\n",
        "if a:\n    x = 1\nelif b:\n    x = 2\nelif c:\n    x = 3\nelse:\n    x = 4\n",
        "if a:\n    if b:\n        x = 1\nelse:\n    x = 2\n    y = 3\n",
        "@a\n@b.c(d=1)\ndef f(x: int, y=1, z: str = \"s\", *args, k, m: int = 2, **kw) -> T.X:\n"
        "    \"\"\"\"\"\"\n",
        "def f(*, a):\n    return a, b\n",
        "def f(*a: int, **b: str):\n    raise\n",
        "raise ValueError(f\"got {x}\")\n",
        "assert a % 2 == 0, f\"a is {a}\"\n",
        "import a.b\n",
        "import a.b as c\n",
        "from a.b import *\n",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct parsed p = parse_text(state, rows[i]);
        expect_silence(state, p.diag);
        if (!strstr(rows[i], "\"\"\"\"\"\"")) assert_string_equal(print(state, p.module), rows[i]);
        check_round_trip(state, source_of_text(*state, "t", rows[i], strlen(rows[i])));
    }
}

/* Pairs that are one tree in two spellings. */
static void spellings_of_one_tree(void **state) {
    static const char *const rows[][2] = {
        {"a = 1; b = 2;\n", "a = 1\nb = 2\n"},
        {"if a: b; c\n", "if a:\n    b\n    c\n"},
        {"def f(): return 1\n", "def f():\n\n  # c\n  return 1\n"},
        {"x = (a)\n", "x = a\n"},
        {"x = (a, b)\n", "x = a, b\n"},
        {"x = 'a' 'b'\n", "x = \"ab\"\n"},
        {"x = ('a'\n     'b')\n", "x = '''ab'''\n"},
        {"from a import b, c as d\n", "import a.b as b\nimport a.c as d\n"},
        {"from a import (b, c,)\n", "from a import b, c\n"},
        {"import a, b.c as d\n", "import a\nimport b.c as d\n"},
        {"if a:\n  b\nelse:\n  if c:\n    d\n", "if a:\n  b\nelif c:\n  d\n"},
        {"f(a,)\n", "f(a)\n"},
        {"for a, in b: c\n", "for (a,) in b: c\n"},
        {"for a, b, in c: d\n", "for (a, b) in c: d\n"},
        {"x = [a, b,]\n", "x = [a, b]\n"},
        {"f((a for b in c))\n", "f(a for b in c)\n"},
        {"with (a) as b: pass\n", "with a as (b): pass\n"},
        {"x = a \\\n  + b\n", "x = (a\n+ b)\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct parsed a = parse_text(state, rows[i][0]), b = parse_text(state, rows[i][1]);
        expect_silence(state, a.diag);
        expect_silence(state, b.diag);
        assert_string_equal(shape(state, a.module), shape(state, b.module));
    }
}

/* Pairs that look alike and are two trees. */
static void spellings_of_two_trees(void **state) {
    static const char *const rows[][2] = {
        {"a[1]", "a[1,]"},
        {"a[1, 2]", "a[(1, 2)]"},
        {"a < b < c", "(a < b) < c"},
        {"x = a,", "x = a"},
        {"a ** -b", "-a ** b"},
        {"a[:]", "a[None]"},
        {"not a in b", "a not in (not b)"},
        {"{a}", "{a: a}"},
        {"f'{a}'", "a"},
        {"[x for x in y]", "(x for x in y)"},
        {"1", "1.0"},
        {"a @ b * c", "a @ (b * c)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct parsed a = parse_text(state, rows[i][0]), b = parse_text(state, rows[i][1]);
        assert_string_not_equal(shape(state, a.module), shape(state, b.module));
    }
}

/* -- Round trips of files and of random trees
 * -------------------------------------------------------- */

static void check_directory(void **state, const char *directory, int at_least) {
    const char **names;
    int count = list_files(*state, directory, ".tile", &names);
    assert_true(count >= at_least);
    for (int i = 0; i < count; i++) check_round_trip(state, read_file(*state, directory, names[i]));
}

static void seeds_survive_printing(void **state) { check_directory(state, seeds_directory, 8); }
static void cases_survive_printing(void **state) { check_directory(state, cases_directory, 1); }

struct random {
    uint64_t state;
    struct text *out;
};

static unsigned roll(struct random *r, unsigned sides) {
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(r->state >> 33) % sides;
}

/* Writes random text of the grammar: '%' in a form is a smaller expression. */
static void grow(struct random *r, int depth) {
    static const char *const leaves[] = {"a",    "b",   "1",  "2.5", "'s'", "\"q'\"", "None",
                                         "True", "...", "()", "[]",  "{}",  "x.y",    "r'\\d'"};
    static const char *const forms[] = {
        "(%) + (%)",
        "% * (%)",
        "(%) ** (%)",
        "-(%)",
        "not (%)",
        "(%) and (%)",
        "(%) or (%)",
        "(%) < (%) >= (%)",
        "(%) in (%)",
        "(%) is not (%)",
        "(%) if (%) else (%)",
        "f(%, k=%)",
        "f(*(%), **(%))",
        "(%)[%]",
        "(%)[%:%, :%]",
        "(%)[%,]",
        "(%, %)",
        "(%,)",
        "[%, *(%)]",
        "{%: %, %: %}",
        "{%, %}",
        "(lambda p, q=%: %)",
        "[% for i in (%) if (%)]",
        "(% for i, j in (%))",
        "(%).m",
        "~(%)",
        "(%) // (%) % (%)",
        "(%) | (%) ^ (%) & (%)",
        "(%) << (%) - (%)",
        "f'a{(b)}{{}}'",
        "f\"{(c) + d}'\" 'e'",
    };
    if (!depth || !roll(r, 5)) {
        text_puts(r->out, leaves[roll(r, sizeof leaves / sizeof *leaves)]);
        return;
    }
    for (const char *p = forms[roll(r, sizeof forms / sizeof *forms)]; *p; p++) {
        bool operator= * p == '%' && p[1] == ' ' && p[2] == '(' && p[-1] == ' ';
        if (*p == '%' && !operator)
            grow(r, depth - 1);
        else
            text_printf(r->out, "%c", *p);
    }
}

static void random_trees_survive_printing(void **state) {
    for (uint64_t seed = 0; seed < 1500; seed++) {
        struct text t = text_new(*state);
        struct random r = {seed * 2654435761u + 1, &t};
        text_puts(&t, "x = ");
        grow(&r, 1 + (int)(seed % 5));
        text_puts(&t, "\n");
        check_round_trip(state, source_of_text(*state, "t", t.at, t.length));
    }
}

/* -- One expression
 * ----------------------------------------------------------------------------------- */

static void expressions_of_the_command_line(void **state) {
    static const struct {
        const char *text;
        bool good;
    } rows[] = {{"128", true},     {"-1", true},     {"'float16'", true}, {"(64, 128)", true},
                {"[1,\n2]", true}, {"None", true},   {"", false},         {"1 2", false},
                {"(1", false},     {"x = 1", false}, {"1)", false},       {"$", false},
                {"64,", true},     {"# c", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct source *s = source_of_text(*state, "-D", rows[i].text, strlen(rows[i].text));
        struct diag *d = diag_new(*state, s);
        struct ast_expr *e = parse_expression(*state, interns_new(*state), s, d);
        assert_int_equal(e != NULL, rows[i].good);
        assert_int_equal(diag_errors(d), !rows[i].good);
    }
}

/* Spans are what carets point at. */
static void spans_cover_the_text(void **state) {
    struct parsed p = parse_text(state, "@d\ndef f(a):\n    x = (a + 1) * b[2]\n");
    struct ast_stmt *def = p.module->body, *assign = def->def->body;
    const char *text = p.module->source->text;
    assert_int_equal(def->span.begin, 0);
    assert_int_equal(text[def->span.end - 1], ':');
    assert_int_equal(def->def->name_span.begin, 7);
    struct ast_expr *product = assign->assign.value;
    assert_int_equal(text[product->span.begin], '(');
    assert_int_equal(text[product->span.end - 1], ']');
    assert_int_equal(text[product->binary.lhs->span.end - 1], ')');
    assert_int_equal(text[product->binary.rhs->index.at->span.begin], '2');
}

int main(int count, char **arguments) {
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(expressions_print_with_the_fewest_parentheses),
        T(statements_print),
        T(spellings_of_one_tree),
        T(spellings_of_two_trees),
        T(seeds_survive_printing),
        T(cases_survive_printing),
        T(random_trees_survive_printing),
        T(expressions_of_the_command_line),
        T(spans_cover_the_text),
    };
    if (count < 3) return 2;
    seeds_directory = arguments[1];
    cases_directory = arguments[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
