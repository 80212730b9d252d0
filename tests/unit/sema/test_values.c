/* test_values.c: compile-time evaluation, one table: statements, the value of x, or the error. */
#include "rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

struct row {
    const char *text, *expected; /* the value of x; an error as "E0203: part of the message" */
};

static const struct row rows[] = {
    /* arithmetic as Python does it */
    {"x = 7 // 2, -7 // 2, 7 // -2, -7 // -2", "(3, -4, -4, 3)"},
    {"x = 7 % 3, -7 % 3, 7 % -3, -7 % -3", "(1, 2, -2, -1)"},
    {"x = 7 / 2, 8 / 2, -1 / 4", "(3.5, 4.0, -0.25)"},
    {"x = 1.0 // 0.1, -1.0 // 0.1, 0.3 // 0.1, 1.0 % 0.1, 4503599627370497.0 // 1.0",
     "(9.0, -10.0, 2.0, 0.09999999999999995, 4503599627370497.0)"},
    {"x = 7.5 // 2, -7.5 // 2, -7.5 % 2, 7.5 % -2", "(3.0, -4.0, 0.5, -0.5)"},
    {"x = 2 ** 10, 2 ** -1, 0 ** 0, (-3) ** 3, 2.0 ** 0.5",
     "(1024, 0.5, 1, -27, 1.4142135623730951)"},
    {"x = -2 ** 2", "-4"},
    {"x = 1 << 62, -1 << 63, -8 >> 1, 1 >> 80, -1 >> 80",
     "(4611686018427387904, -9223372036854775808, -4, 0, -1)"},
    {"x = 6 & 3, 6 | 3, 6 ^ 3, ~6, True & False, True | 2", "(2, 7, 5, -7, False, 3)"},
    {"x = True + True, -True, +True, not 3, not 0", "(2, -1, 1, False, True)"},
    {"x = 9223372036854775807 + 1", "E0203: 9223372036854775807 + 1 does not fit into 64 bits"},
    {"x = 3037000500 * 3037000500", "E0203: does not fit into 64 bits"},
    {"x = 2 ** 63", "E0203: 2 ** 63 does not fit"},
    {"x = 1 << 63", "E0203: does not fit"},
    {"x = 2 ** 62 * 2 - 1", "E0203: does not fit"},
    {"x = (-9223372036854775807 - 1) // -1", "E0203: does not fit"},
    {"x = (-9223372036854775807 - 1) % -1", "0"},
    {"x = -(-9223372036854775807 - 1)", "E0203: does not fit"},
    {"x = 1 // 0", "E0203: the right side of '//' is zero"},
    {"x = 1 % 0", "E0203: the right side of '%' is zero"},
    {"x = 1 / 0", "E0203: the right side of '/' is zero"},
    {"x = 1.0 / 0.0", "E0203: the right side of '/' is zero"},
    {"x = 0 ** -1", "E0203: zero"},
    {"x = (-8.0) ** 0.5", "E0203: no real power"},
    {"x = 1 << -1", "E0203: negative count -1"},
    {"x = 1.5 & 1", "E0204: '&' is not defined for a float and an int"},
    {"x = 'a' - 'b'", "E0204: '-' is not defined for a string and a string"},
    {"x = ~1.0", "E0204: '~' is not defined for a float"},
    {"x = 1e300 * 1e300, 0.1 + 0.2, 1e16, 1e-5, 100.0, 123456.789",
     "(inf, 0.30000000000000004, 1e+16, 1e-05, 100.0, 123456.789)"},
    /* comparison, membership, identity, short circuit */
    {"x = 1 < 2 < 3, 1 < 3 < 2, 3 > 2 >= 2, 1 == 1.0, 2 != 2", "(True, False, True, True, False)"},
    {"x = 1 in (1, 2), 3 not in [1, 2], 'b' in 'abc', 'k' in {'k': 1}", "(True, True, True, True)"},
    {"x = None is None, 1 is not None, True == 1", "(True, True, True)"},
    {"x = (1, 2) < (1, 3), [1] < [1, 0], 'a' < 'b', 'Z' < 'a'", "(True, True, True, True)"},
    {"x = 1 < 'a'", "E0204: '<' is not defined for an int and a string"},
    {"x = 0 or 5, 3 and 4, 0 and 1 // 0, 1 or 1 // 0, '' or None", "(5, 4, 0, 1, None)"},
    {"x = 1 > 2 > 1 // 0", "False"},
    {"x = 5 if 1 else 1 // 0", "5"},
    {"x = float('nan') == float('nan'), float('nan') < 1", "(False, False)"},
    {"x = 1 in 5", "E0204: 'in' needs a tuple, list, dict or string on its right, not an int"},
    /* dtypes equal their names */
    {"x = T.float16 == 'float16', 'half' == T.float16, T.float32 != 'half', T.float32 == 'float'",
     "(True, True, True, True)"},
    {"x = {T.float32: 4, T.float16: 2}['float16']", "2"},
    {"x = T.float16.bits, T.float16.bytes, T.bool, T.dtype('half')", "(16, 2, bool, float16)"},
    {"x = T.float17", "E0205: 'T' has no 'float17'; did you mean 'T.float16'?"},
    {"x = T.float8_e8m0fnu", "E0401: the dtype 'float8_e8m0fnu' is not supported yet"},
    {"x = T.coppy", "E0205: did you mean 'T.copy'?"},
    {"x = T.GemmWarpPolicy.FullRow == T.GemmWarpPolicy.FullRow, T.GemmWarpPolicy.FullRow == "
     "T.GemmWarpPolicy.Square",
     "(True, False)"},
    {"x = T.GemmWarpPolicy.FulRow", "E0205: did you mean 'T.GemmWarpPolicy.FullRow'?"},
    /* sequences */
    {"x = (1, 2) + (3,), [1] * 3, 2 * 'ab', 'a' 'b', ()",
     "((1, 2, 3), [1, 1, 1], 'abab', 'ab', ())"},
    {"x = [1, 2, 3][-1], (1, 2)[0], 'abc'[1]", "(3, 1, 'b')"},
    {"x = [1, 2, 3][3]", "E0205: index 3 is outside a sequence of 3; legal are -3 to 2"},
    {"x = [0, 1, 2, 3, 4][1:3], [0, 1, 2, 3][::-1], (0, 1, 2)[-2:], 'hello'[1:-1], [1][5:]",
     "([1, 2], [3, 2, 1, 0], (1, 2), 'ell', [])"},
    {"x = [0, 1, 2, 3, 4, 5][4:1:-2], [0, 1, 2][::2], [0, 1, 2][:-9], [0, 1][9::-1]",
     "([4, 2], [0, 2], [], [1, 0])"},
    {"x = [1][::0]", "E0203: the step of a slice is zero"},
    {"x = {'a': 1, 'b': [2]}['b']", "[2]"},
    {"x = {'a': 1}['b']", "E0205: the dict has no key 'b'; it has ['a']"},
    {"x = {(1, 2): 3}[1, 2]", "3"},
    {"x = {[1]: 2}", "E0204: a list cannot be a key"},
    {"x = [*range(3), 7], (*'ab', 1)", "([0, 1, 2, 7], ('a', 'b', 1))"},
    {"x = 5[0]", "E0207: an int cannot be subscripted"},
    {"x = [1]\nx.append(2)\nx[0] = 9\nx += [3]\nx.insert(0, 8)", "[8, 9, 2, 3]"},
    {"x = [1, 2]\ny = x\ny.append(3)", "[1, 2, 3]"},
    {"d = {'a': 1}\nd['b'] = 2\nd['a'] += 5\nx = d, list(d.items()), d.get('z', 7), d.get('q')",
     "({'a': 6, 'b': 2}, [('a', 6), ('b', 2)], 7, None)"},
    {"x = (1, 2)\nx[0] = 3", "E0218: an item of a tuple cannot be assigned to"},
    {"x = ','.join(['a', 'b']), 'A-b'.lower(), 'a b'.split(), 'a,b'.split(','), 'xay'.replace('a', "
     "'bb')",
     "('a,b', 'a-b', ['a', 'b'], ['a', 'b'], 'xbby')"},
    {"x = '{} of {1} {{}}'.format(1, 2), 'float16'.startswith('float'), ' a '.strip()",
     "('1 of 2 {}', True, 'a')"},
    {"x = [1].push(2)", "E0205: a list has no attribute 'push'"},
    /* functions of Python and math */
    {"x = len([1, 2]), len('abc'), len(range(2, 10, 3)), len({}), len(range(5, 0, -2))",
     "(2, 3, 3, 0, 3)"},
    {"x = min(3, 1, 2), max([3, 1]), min((2.5, 2)), abs(-3), abs(-2.5), sum([1, 2, 3]), sum([0.5], "
     "1)",
     "(1, 3, 2, 3, 2.5, 6, 1.5)"},
    {"x = max()", "E0206: 'max' of nothing"},
    {"x = int(3.9), int(-3.9), int('12'), float(2), float('1e3'), str(1.5), bool([]), int(True)",
     "(3, -3, 12, 2.0, 1000.0, '1.5', False, 1)"},
    {"x = int(1e30)", "E0203: 1e+30 does not fit into 64 bits"},
    {"x = int('4x')", "E0203: '4x' is not an int"},
    {"x = round(2.5), round(3.5), round(-2.5), round(2.675, 2), round(1234, -2)",
     "(2, 4, -2, 2.67, 1234)"},
    {"x = isinstance(1, int), isinstance(True, int), isinstance('a', (int, str)), isinstance(1.0, "
     "int)",
     "(True, True, True, False)"},
    {"x = list(range(3)), tuple([1]), list(enumerate('ab', 1)), list(zip((1, 2), 'ab')), "
     "list(reversed([1, 2]))",
     "([0, 1, 2], (1,), [(1, 'a'), (2, 'b')], [(1, 'a'), (2, 'b')], [2, 1])"},
    {"x = sorted([3, 1, 2]), sorted((2, 1), reverse=True), divmod(-7, 2), pow(2, 5), all([1, 0]), "
     "any([0, 2])",
     "([1, 2, 3], [2, 1], (-4, 1), 32, False, True)"},
    {"x = math.sqrt(16), math.ceil(1.2), math.floor(-1.2), math.log2(8), math.gcd(12, 18), "
     "math.prod([2, 3]), math.isqrt(17)",
     "(4.0, 2, -2, 3.0, 6, 6, 4)"},
    {"x = math.sqrt(-1)", "E0203: 'math.sqrt' has no value at -1"},
    {"x = math.log(0)", "E0203: 'math.log' has no value at 0"},
    {"x = math.pi, math.inf, -math.inf, math.log(8, 2)", "(3.141592653589793, inf, -inf, 3.0)"},
    {"x = tilelang.cdiv(7, 2), T.ceildiv(8, 2), tilelang.next_power_of_2(5), "
     "tilelang.math.next_power_of_2(8)",
     "(4, 4, 8, 8)"},
    {"x = [i * i for i in range(4) if i % 2], sum(i for i in [1, 2]), [a + b for a, b in [(1, 2)]]",
     "([1, 9], 3, [3])"},
    {"i = 5\ny = [i for i in range(3)]\nx = i", "5"},
    {"x = f'{1 + 1} and {\"s\"} and {(1, None)}'", "'2 and s and (1, None)'"},
    /* names, assignment */
    {"a, b = 1, 2\na, b = b, a\nx = (a, b)", "(2, 1)"},
    {"a = b = [1]\nx = a is b", "True"},
    {"a, (b, *c) = 1, (2, 3, 4)\nx = a, b, c", "(1, 2, [3, 4])"},
    {"a, b = 1, 2, 3\nx = 0", "E0208: 3 values for 2 names"},
    {"x: int = 4\nx //= 3", "1"},
    {"x = lenght", "E0201: 'lenght' is not defined"},
    {"length = 1\nx = lenght", "E0201: 'lenght' is not defined; did you mean 'length'?"},
    {"x = copy", "E0201: 'copy' is not defined; did you mean 'T.copy'?"},
    {"x = nosuchthing", "E0201: 'nosuchthing' is not defined"},
    {"x = T\nx.y = 3", "E0218: the attribute 'y' cannot be assigned to"},
    /* control */
    {"x = 0\nfor i in range(10):\n    if i == 3:\n        continue\n    if i == 6:\n        "
     "break\n    x += i\n",
     "12"},
    {"x = 0\nfor a, b in [(1, 2), (3, 4)]:\n    x += a * b\n", "14"},
    {"from math import sqrt, pi as p\nimport tilelang.language as L\nx = sqrt(4), p > 3, L.int8",
     "(2.0, True, int8)"},
    {"x = 1\nwhile x < 100:\n    x *= 3\n", "243"},
    {"if None:\n    x = 1\nelif '':\n    x = 2\nelse:\n    x = 3\n", "3"},
    {"x = 0\nwhile True:\n    x += 1\n    if x > 4:\n        break\n", "5"},
    {"while True:\n    pass\n", "E0211: does not end within"},
    {"x = [1]\nwhile True:\n    x = x + x\n", "E0211:"},
    {"x = 'a'\nwhile True:\n    x = x + x\n", "E0211: a string of more than"},
    {"x = [0] * 99999999999", "E0211: a sequence of more than"},
    {"for i in range(10 ** 15):\n    pass\n", "E0211:"},
    {"x = []\nx.append(x)\ny = []\ny.append(y)\nx = x == y", "False"},
    {"a = [1]\nfor i in range(60):\n    a = [a, a]\nb = [1]\nfor i in range(60):\n    b = [b, "
     "b]\nx = a == b",
     "False"},
    {"break", "E0217: 'break' outside a loop"},
    {"return 1", "E0217: 'return' outside a function"},
    {"assert 1 == 1\nx = 1", "1"},
    {"assert 1 == 2, f'no {1 + 1}'", "E0209: assertion failed: no 2"},
    {"assert 3 > 4", "E0209: assertion failed: 3 > 4"},
    {"raise ValueError('wrong')", "E0209: raised: wrong"},
    {"for i in 5:\n    pass\n", "E0207: an int cannot be iterated over"},
    /* functions */
    {"def f(a, b=2, *rest, c=3, **more):\n    return a, b, rest, c, more\nx = f(1), f(1, 5, 6, 7, "
     "c=8, d=9)",
     "((1, 2, (), 3, {}), (1, 5, (6, 7), 8, {'d': 9}))"},
    {"def f(a, *, b):\n    return a + b\nx = f(1, b=2), f(*[3], **{'b': 4})", "(3, 7)"},
    {"def f(a, b):\n    return a\nx = f(1)", "E0206: the call of 'f' lacks 'b'"},
    {"def f(a):\n    return a\nx = f(1, 2)",
     "E0206: 'f' takes 1 arguments by position, and this is one more"},
    {"def f(block):\n    return 1\nx = f(blok=2)",
     "E0206: 'f' has no parameter 'blok'; did you mean 'block'?"},
    {"def f(a):\n    return a\nx = f(1, a=2)", "E0206: 'f' gets its parameter 'a' twice"},
    {"x = len()", "E0206: the call of 'len' lacks 'x'"},
    {"x = len([1], [2])", "E0206: 'len' takes 1 arguments by position"},
    {"x = sorted([1], revers=True)",
     "E0206: 'sorted' has no parameter 'revers'; did you mean 'reverse'?"},
    {"def f(n):\n    return 1 if n < 2 else n * f(n - 1)\nx = f(10)", "3628800"},
    {"def f(n):\n    return f(n + 1)\nx = f(0)", "E0211:"},
    {"def f():\n    g = 5\n    def h(k):\n        return g + k\n    g = 6\n    return h\nx = "
     "f()(1)",
     "7"},
    {"x = (lambda a, b=3: a * b)(2)", "6"},
    {"def f():\n    return later\nlater = 4\nx = f()", "4"},
    {"def f(l=[]):\n    l.append(1)\n    return len(l)\nf()\nx = f()", "2"},
    {"n = 3\ndef f():\n    n = 4\n    return n\nf()\nx = n", "3"},
    {"def f():\n    pass\nx = f()", "None"},
    {"def f():\n    for i in range(9):\n        if i == 4:\n            return i\nx = f()", "4"},
    {"x = 3(4)", "E0207: an int cannot be called"},
    {"def twice(f):\n    return lambda a: f(f(a))\n@twice\ndef g(a):\n    return a + 1\nx = g(1)",
     "3"},
    {"import math\nimport torch\nimport numpy as np\nfrom tilelang import language as T\nimport "
     "tilelang as tl\nx = tl.cdiv(3, 2), torch.float16",
     "(2, float16)"},
    {"x = T.copy(1", "E0104:"},
};

static void check_row(void **state) {
    const struct row *r = *state;
    struct arena *a = arena_new();
    struct text got = value_of(a, r->text, "x");
    bool error = r->expected[0] == 'E' && r->expected[1] == '0';
    bool good = error ? !strncmp(got.at, r->expected, 6) &&
                            strstr(got.at + 6, r->expected[6] ? r->expected + 7 : "")
                      : !strcmp(got.at, r->expected);
    if (!good) print_error("%s\n  expected %s\n  got      %s\n", r->text, r->expected, got.at);
    arena_free(a);
    if (!good) fail();
}

int main(void) {
    enum { ROWS = sizeof rows / sizeof *rows };
    struct CMUnitTest tests[ROWS];
    for (int i = 0; i < ROWS; i++) {
        union {
            const void *in;
            void *out;
        } state = {.in = &rows[i]};
        tests[i] = (struct CMUnitTest){
            .name = rows[i].text, .test_func = check_row, .initial_state = state.out};
    }
    return _cmocka_run_group_tests("values", tests, ROWS, NULL, NULL);
}
