/* test_run.c: what small programs compute, run by the evaluator of tile IR. */
#include "parser/parser.h"
#include "sema/sema.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

/* X[i, j] = 10*i + j, F[i] = i - 3.5, n = 5; Y is what comes out, -1 where nothing is written. */
static const char head[] =
    "@T.prim_func\n"
    "def k(X: T.Tensor((8, 8), 'int32'), F: T.Tensor((8,), 'float32'), n: T.int32,\n"
    "      Y: T.Tensor((16,), 'float32')):\n"
    "    with T.Kernel(1, threads=32) as bx:\n";

enum { RESULTS = 16 };

struct run_case {
    const char *text; /* statements of the kernel */
    const char *want; /* the first elements of Y; the rest is not looked at */
};

static const struct run_case copies[] = {
    {"t = T.alloc_shared((3, 3), 'int32')\nT.copy(X[6, 6], t)\n"
     "for i, j in T.Parallel(3, 3):\n    Y[i * 3 + j] = t[i, j]",
     "66 67 0 76 77 0 0 0 0"},
    {"t = T.alloc_fragment((4,), 'int32')\nT.copy(X[2, 0:4], t)\nT.copy(t, Y[0:4])", "20 21 22 23"},
    {"t = T.alloc_fragment((4,), 'int32')\nT.copy(X[0:4, 3], t)\nT.copy(t, Y[0])", "3 13 23 33"},
    {"t = T.alloc_shared((8,), 'int32')\nT.copy(F, t)\nT.copy(t, Y[0])", "-3 -2 -1 0 0 1 2 3"},
    {"t = T.alloc_shared((4, 2), 'int32')\nT.copy(X[0:2, :][0, 4], t[1, 1])\nT.copy(t[1, 1], Y[2])",
     "-1 -1 4"},
    {"t = T.alloc_shared((8,), 'int32')\nT.fill(t, 9)\nT.copy(t, Y[12])\nT.copy(X[0, 0:4], Y[0:4])",
     "0 1 2 3 -1 -1 -1 -1 -1 -1 -1 -1 9 9 9 9"},
    {"t = T.alloc_shared((4, 4), 'int32')\nT.copy(X[0, 0], t)\nf = T.alloc_fragment((2, 4), "
     "'int32')\n"
     "T.copy(t[2:4, :], f)\nT.copy(f[1, :], Y[0:4])",
     "30 31 32 33"},
    {"T.annotate_safe_value({X: 7})\nt = T.alloc_shared((3,), 'int32')\nT.copy(X[7, 6:9], t)\n"
     "T.copy(t, Y[0:3])\nY[3] = X[0, 8] + X[-1, -1]",
     "76 77 7 84"},
    {"p = T.alloc_local((3,), 'float32')\nT.copy(X[1, 6], p)\nY[0] = p[0]\nY[1] = p[2]", "16 0"},
    {"f = T.alloc_fragment((4, 4), 'float32')\nT.clear(f)\nT.fill(f[1:3, 2], 5)\nT.copy(f[:, 2], "
     "Y[0:4])",
     "0 5 5 0"},
    {"s = T.alloc_shared((8,), 'int32')\n"
     "T.copy(X[1, :], s)\n"
     "T.copy(s[0:5], s[2:7])\n"
     "T.copy(s, Y[0:8])\n"
     "p = T.alloc_local((4,), 'int32')\n"
     "for i in range(4):\n"
     "    p[i] = X[2, i]\n"
     "T.copy(p[1:4], p[0:3])\n"
     "T.copy(p[0:3], p[1:4])\n"
     "T.reduce_sum(p, p[3:4])\n"
     "T.copy(p, Y[8:12])",
     "10 11 10 11 12 13 14 17 21 21 22 87"},
};

static const struct run_case control[] = {
    {"for i in T.Parallel(n):\n    Y[i] = X[0, i]", "0 1 2 3 4 -1"},
    {"g = T.alloc_shared((2,), 'int32')\nT.fill(g, 0)\nfor i in T.Parallel(n):\n    if i < 2:\n"
     "        g[i] = i\n    Y[i] = 7\nfor i in T.Parallel(n - 3):\n    Y[8 + i] = g[i]",
     "7 7 7 7 7 -1 -1 -1 0 1 -1"},
    {"for i in range(7, 0, -3):\n    Y[i] = i", "-1 1 -1 -1 4 -1 -1 7 -1"},
    {"for i in T.serial(1, 8, 3):\n    Y[i] = i", "-1 1 -1 -1 4 -1 -1 7 -1"},
    {"for i in T.Pipelined(3, num_stages=2):\n    Y[i] = i\nfor i in T.unroll(4, 6):\n    Y[i] = i",
     "0 1 2 -1 4 5 -1"},
    {"v = T.alloc_var('int32', 0)\nwhile v < n:\n    Y[v] = v\n    v += 2", "0 -1 2 -1 4 -1"},
    {"for i in range(n):\n    if i == 1:\n        continue\n    if i == 3:\n        break\n    "
     "Y[i] = i",
     "0 -1 2 -1"},
    {"for i in T.Parallel(4):\n    for j in T.Parallel(2):\n        Y[i * 2 + j] = X[i, j]",
     "0 1 10 11 20 21 30 31"},
    {"for i in T.Parallel(3):\n    Y[i] = 5\n    for j in T.Parallel(2):\n        Y[8 + i * 2 + j] "
     "= Y[i] + j\n"
     "    Y[i] = 6",
     "6 6 6 -1 -1 -1 -1 -1 5 6 5 6 5 6"},
    {"for i in T.Parallel(4):\n    for j in T.Parallel(i):\n        Y[i * 4 + j] = j",
     "-1 -1 -1 -1 0 -1 -1 -1 0 1"},
    {"t = Y[0]\nY[0] = 3\nY[1] = t", "3 -1"},
    {"a = X[0, 1]\nb = X[0, 2]\na, b = b, a\nY[0] = a\nY[1] = b", "2 1"},
    {"Y[0] = 1 if n > 4 else 2\nY[1] = n < 6 <= 7\nY[2] = not (n == 5 or X[0, 0] > 0)", "1 1 0"},
    {"g = T.alloc_fragment((4,), 'float32')\nT.clear(g)\ng[1] = 2\ng[n - 2] += 3\nT.copy(g, Y[0])",
     "0 2 0 3"},
    {"if n > 3:\n    Y[0] = 1\nelif n > 2:\n    Y[0] = 2\nelse:\n    Y[0] = 3\nif n > 8:\n    Y[1] "
     "= 1\n"
     "else:\n    Y[1] = 4",
     "1 4"},
    {"for i in T.Parallel(8):\n    v = T.alloc_var('float32', 0)\n    for j in range(i):\n        "
     "v += X[i, j]\n"
     "    Y[i] = v",
     "0 10 41 93 166 260 375 511"},
    {"i = 1\nfor i, j in T.grid(2, 3):\n    Y[i * 3 + j] = i - j", "0 -1 -2 1 0 -1"},
};

static const struct run_case arithmetic[] = {
    {"for i in T.Parallel(6):\n    Y[i] = (i - 3) // 2\n    Y[i + 6] = (i - 3) % 2",
     "-2 -1 -1 0 0 1 1 0 1 0 1 0"},
    {"Y[0] = T.truncdiv(n - 12, 2)\nY[1] = T.truncmod(n - 12, 2)", "-3 -1"},
    {"Y[0] = T.cast(n * 60, 'int8')\nY[1] = T.cast(n * 60, 'uint8')\nY[2] = T.cast(F[0], 'int32')",
     "44 44 -3"},
    {"Y[0] = T.clamp(F[0], -1, 1)\nY[1] = T.clamp(F[4], -1, 1)\nY[2] = T.max(F[0], F[1])",
     "-1 0.5 -2.5"},
    {"Y[0] = T.round(F[3])\nY[1] = T.rint(F[3])\nY[2] = T.rint(F[5])\nY[3] = T.floor(F[0])\nY[4] = "
     "T.ceil(F[0])",
     "-1 0 2 -4 -3"},
    {"Y[0] = T.abs(F[0])\nY[1] = -F[1]\nY[2] = F[0] ** 2\nY[3] = F[0] ** 0\nY[4] = n ** 3",
     "3.5 2.5 12.25 1 125"},
    {"Y[0] = n << 2\nY[1] = n >> 1\nY[2] = n & 4\nY[3] = n | 2\nY[4] = n ^ 1\nY[5] = ~n",
     "20 2 4 7 4 -6"},
    {"Y[0] = T.ceildiv(n, 2)\nY[1] = T.align_up(n, 4)\nY[2] = T.floordiv(n, 2)\nY[3] = "
     "T.ceildiv(7, 2)",
     "3 8 2 4"},
    {"Y[0] = T.if_then_else(n > 4, X[1, 1], X[100, 100])\nY[1] = T.Select(n > 5, 1.5, 2.5)",
     "11 2.5"},
    {"Y[0] = T.exp2(F[5] + 0.5)\nY[1] = T.sqrt(F[4] * 2)\nY[2] = T.pow(F[7], 2.0)", "4 1 12.25"},
    {"Y[0] = T.min_value('int8')\nY[1] = T.max_value('uint16')\nY[2] = "
     "T.isinf(T.infinity('float32'))",
     "-128 65535 1"},
};

/* A value is that of the moment at which Python would have it. */
static const struct run_case moments[] = {
    {"v = T.alloc_var('int32', 5)\n@T.macro\ndef m(to: T.Ref, x, at):\n    to = to + 100\n"
     "    Y[at] = x\nm(v, v + 1, 0)\nm(v, v * 2, 1)\nm(v, v, 2)\nY[3] = v",
     "6 210 205 305"},
    {"v = T.alloc_var('int32', 5)\nw = T.alloc_var('int32', 0)\nY[0] = 7\nY[0] = x = Y[0] + 1\n"
     "Y[1] = x\nv = w = v + 1\nY[2] = v\nY[3] = w",
     "8 8 6 6"},
    {"v = T.alloc_var('int32', 5)\nl = [v]\nl += [v + 1]\nl.extend((v + 2, [v + 3]))\n"
     "l.append((v + 4, 0))\nd = {'a': v}\nd.update({'b': v + 1})\nd['c'] = (v + 2,)\nv = 0\n"
     "Y[0] = l[0]\nY[1] = l[1]\nY[2] = l[2]\nY[3] = l[3][0]\nY[4] = l[4][0]\nY[5] = d['a']\n"
     "Y[6] = d['b']\nY[7] = d['c'][0]",
     "5 6 7 8 9 5 6 7"},
    {"v = T.alloc_var('int32', 5)\nj = 0\nfor x in (v, v + 1, v + 2):\n    v = v + 100\n"
     "    Y[j] = x\n    j += 1\nfor a, b in [(v, 0), (v + 1, 1)]:\n    v = 0\n    Y[j + b] = a",
     "5 6 7 305 306"},
    {"v = T.alloc_var('int32', 5)\ndef f(i, x=v + 1, *, y=(v,)):\n    return i + x + y[0]\n"
     "v = 100\nY[0] = f(0)\nY[1] = f(1, v)",
     "11 106"},
    {"s = T.alloc_shared((4, 3), 'int32')\n"
     "for r, i in T.Parallel(4, 3):\n"
     "    s[r, i] = r * 10 + i\n"
     "j = T.alloc_var('int32', 1)\n"
     "row = s[j, :]\n"
     "part = s[j:j + 2, :]\n"
     "l = [s[j, :]]\n"
     "@T.macro\n"
     "def m(j: T.Ref, cell: T.Ref, row):\n"
     "    j = 3\n"
     "    cell = cell + 50\n"
     "    T.copy(row, Y[4:7])\n"
     "p = T.alloc_local((4,), 'int32')\np[1] = 4\np[3] = 5\nm(j, p[j], s[j, :])\n"
     "Y[0] = row[0]\n"
     "Y[1] = part[1, 1]\n"
     "Y[2] = p[1] + p[3]\n"
     "T.copy(l[0], Y[7:10])\n"
     "Y[3] = s[j, 2]",
     "10 21 59 32 10 11 12 10 11 12"},
    {"l = [1, 2]\nl += l\nl.extend(l)\nY[0] = len(l)\nY[1] = l[5]", "8 2"},
    {"@T.macro\n"
     "def bump(v: T.Ref):\n"
     "    v = v + 1\n"
     "    return v\n"
     "vs = [T.alloc_var('int32', 10 * i) for i in range(3)]\n"
     "Y[0] = bump(vs[1])\n"
     "Y[1] = vs[1]\n"
     "x = vs[2]\n"
     "x += 5\n"
     "Y[2] = vs[2]\n"
     "d = {'a': T.alloc_var('int32', 4)}\n"
     "bump(d['a'])\n"
     "bump(x)\n"
     "Y[3] = d['a'] * 100 + x",
     "11 11 25 526"},
    {"v = T.alloc_var('int32', 2)\n"
     "r = range(v, v + 2)\n"
     "g = T.grid(v, v)\n"
     "v = 7\n"
     "for i in r:\n"
     "    Y[i] = i\n"
     "for i, j in g:\n"
     "    Y[4 + i * 2 + j] = i + j + v",
     "-1 -1 2 3 7 8 8 9"},
};

/* A function sees the names of the one around it as they are when it is called. */
static const struct run_case closures[] = {
    {"k = 1\ndef f(x):\n    return x * k\nfor i in T.serial(3):\n    k = i + 1\n    Y[i] = f(10)",
     "10 20 30"},
    {"k = 1\nf = lambda x: x * k\nif n > 3:\n    k = 2\n    Y[0] = f(10)\nelse:\n    k = 3\n"
     "    Y[0] = f(10)\nfor i in T.Parallel(2):\n    for k in range(i):\n        Y[1 + i] = f(1) + "
     "5",
     "20 -1 5"},
    {"k = 1\n@T.macro\ndef put(at, x):\n    Y[at] = x * k\ndef g(x):\n    k = 50\n"
     "    put(0, x)\n    return h() + k\ndef h():\n    return k\nfor k in range(4, 5):\n"
     "    put(1, 10)\n    Y[2] = g(2)",
     "8 40 54"},
    {"v = T.alloc_var('int32', 1)\nfor i in range(2):\n    w = T.alloc_var('int32', 7)\n"
     "    def f():\n        return w + v\n    w = 8 + i\n    if i > 0:\n        v = 2\n"
     "        Y[i] = f()\n    else:\n        Y[i] = f()",
     "9 11"},
    {"def f(i):\n"
     "    x = X[0, i]\n"
     "    return x + 1\n"
     "@T.macro\n"
     "def m(at, i):\n"
     "    x = f(i) * 2\n"
     "    for y in range(2):\n"
     "        x = f(y)\n"
     "        Y[at + y] = x\n"
     "for i in range(2):\n"
     "    x = T.alloc_var('int32', 7)\n"
     "    y = T.alloc_var('int32', i)\n"
     "    x = f(i + 3) + x * 0\n"
     "    if y > 0:\n"
     "        m(0, 3)\n"
     "        Y[2] = x + y",
     "1 2 6"},
    {"v = T.alloc_var('int32', 1)\n"
     "w = T.alloc_var('int32', 2)\n"
     "l = [v * 2 + w for v, w in ((1, 2), (3, w))]\n"
     "Y[0] = l[0]\n"
     "Y[1] = l[1]\n"
     "Y[2] = v",
     "4 8 1"},
};

/* Operands that are evaluated only sometimes, again in each round, or after others. */
static const struct run_case operands[] = {
    {"v = T.alloc_var('int32', 0)\n"
     "@T.macro\n"
     "def bump(v: T.Ref):\n"
     "    v = v + 1\n"
     "    return v\n"
     "for i in T.serial(6):\n"
     "    Y[i] = bump(v) if i < 3 else v * 10\n"
     "Y[6] = v",
     "1 2 3 30 30 30 3"},
    {"v = T.alloc_var('int32', 0)\n"
     "@T.macro\n"
     "def bump(v: T.Ref):\n"
     "    v = v + 1\n"
     "    return v\n"
     "for i in T.serial(4):\n"
     "    Y[i] = 0\n"
     "    if i < 2 and bump(v) > 1:\n"
     "        Y[i] = 1\n"
     "    if i > 1 or bump(v) > 100:\n"
     "        Y[i] = 2\n"
     "Y[4] = v",
     "0 1 2 2 4"},
    {"s = T.alloc_shared((4,), 'int32')\n"
     "for i in T.Parallel(4):\n"
     "    s[i] = i + 5\n"
     "def g(i):\n"
     "    x = s[i - 1]\n"
     "    return x + 1\n"
     "for i in T.Parallel(4):\n"
     "    Y[i] = g(i) if i > 0 else 0\n"
     "    if i > 0 and g(i) > 6:\n"
     "        Y[4 + i] = 1",
     "0 6 7 8 -1 -1 1 1"},
    {"v = T.alloc_var('int32', 0)\n"
     "@T.macro\n"
     "def bump(v: T.Ref):\n"
     "    v = v + 1\n"
     "    return v\n"
     "w = T.alloc_var('int32', 0)\n"
     "while bump(v) < 5:\n"
     "    if v == 2:\n"
     "        continue\n"
     "    if v == 4:\n"
     "        break\n"
     "    w = w * 10 + v\n"
     "Y[0] = w\n"
     "Y[1] = v\n"
     "def row(i):\n"
     "    x = X[0, i]\n"
     "    return x\n"
     "v = 0\n"
     "while row(v) < 3:\n"
     "    v += 2\n"
     "Y[2] = v",
     "13 4 4"},
    {"v = T.alloc_var('int32', 1)\n"
     "@T.macro\n"
     "def bump(v: T.Ref):\n"
     "    v = v + 1\n"
     "    return v\n"
     "v += bump(v)\n"
     "Y[0] = v\n"
     "Y[1] = v * 10 + bump(v)\n"
     "Y[2] = bump(v) + v\n"
     "Y[3] = v < bump(v)\n"
     "Y[4] = Y[0]\n"
     "@T.macro\n"
     "def put(x):\n"
     "    Y[4] = x\n"
     "    return 1\n"
     "Y[4] += put(50)",
     "3 34 10 1 4"},
    {"v = T.alloc_var('int32', 1)\n"
     "@T.macro\n"
     "def bump(v: T.Ref):\n"
     "    v = v + 1\n"
     "    return v\n"
     "for i in T.serial(3):\n"
     "    Y[i] = (bump(v) if n > 3 else 0) if i == 1 else (0.5 if i > 1 else bump(v))\n"
     "Y[3] = v",
     "2 3 0.5 3"},
    {"v = T.alloc_var('int32', 1)\n"
     "@T.macro\n"
     "def bump(v: T.Ref):\n"
     "    v = v + 1\n"
     "    return v\n"
     "a, b = v, bump(v)\n"
     "Y[0] = a\n"
     "Y[1] = b\n"
     "t = (v + 1, bump(v), v)\n"
     "Y[2] = t[0]\n"
     "Y[3] = t[2]\n"
     "def f(x, y):\n"
     "    return x * 10 + y\n"
     "Y[4] = f(v * 2, bump(v))\n"
     "(p, q), r = (v, T.alloc_var('int32', 9)), bump(v)\n"
     "q = q + 1\n"
     "Y[5] = p\n"
     "Y[6] = q",
     "1 2 3 3 64 4 10"},
    {"v = T.alloc_var('int32', 1)\n"
     "@T.macro\n"
     "def bump(v: T.Ref):\n"
     "    v = v + 1\n"
     "    return v\n"
     "Y[0] = T.if_then_else(n > 9, bump(v), 7)\n"
     "Y[1] = T.if_then_else(n > 3, bump(v), bump(v))\n"
     "Y[2] = T.if_then_else(False, none, v)\n"
     "Y[3] = T.Select(n > 9, 3, v)",
     "7 2 2 2"},
};

/* A case for each elementwise function of the language. */
static const struct run_case functions[] = {
    {"Y[0] = T.exp(F[4])", "1.64872127"},
    {"Y[0] = T.exp2(F[4])", "1.41421356"},
    {"Y[0] = T.exp10(F[4])", "3.16227766"},
    {"Y[0] = T.log(F[4])", "-0.693147181"},
    {"Y[0] = T.log2(F[4])", "-1"},
    {"Y[0] = T.log10(F[4])", "-0.301029996"},
    {"Y[0] = T.log1p(F[4])", "0.405465108"},
    {"Y[0] = T.sin(F[4])", "0.479425539"},
    {"Y[0] = T.cos(F[4])", "0.877582562"},
    {"Y[0] = T.tan(F[4])", "0.54630249"},
    {"Y[0] = T.asin(F[4])", "0.523598776"},
    {"Y[0] = T.acos(F[4])", "1.04719755"},
    {"Y[0] = T.atan(F[4])", "0.463647609"},
    {"Y[0] = T.sinh(F[4])", "0.521095305"},
    {"Y[0] = T.cosh(F[4])", "1.12762597"},
    {"Y[0] = T.tanh(F[4])", "0.462117157"},
    {"Y[0] = T.asinh(F[4])", "0.481211825"},
    {"Y[0] = T.atanh(F[4])", "0.549306144"},
    {"Y[0] = T.erf(F[4])", "0.520499878"},
    {"Y[0] = T.sigmoid(F[4])", "0.622459331"},
    {"Y[0] = T.sqrt(F[4])", "0.707106781"},
    {"Y[0] = T.rsqrt(F[4])", "1.41421356"},
    {"Y[0] = T.floor(F[4])", "0"},
    {"Y[0] = T.ceil(F[4])", "1"},
    {"Y[0] = T.trunc(F[4])", "0"},
    {"Y[0] = T.round(F[4])", "1"},
    {"Y[0] = T.rint(F[4])", "0"},
    {"Y[0] = T.nearbyint(F[4])", "0"},
    {"Y[0] = T.abs(F[4])", "0.5"},
    {"Y[0] = T.__exp(F[4])", "1.64872127"},
    {"Y[0] = T.__exp10(F[4])", "3.16227766"},
    {"Y[0] = T.__log(F[4])", "-0.693147181"},
    {"Y[0] = T.__log2(F[4])", "-1"},
    {"Y[0] = T.__log10(F[4])", "-0.301029996"},
    {"Y[0] = T.__sin(F[4])", "0.479425539"},
    {"Y[0] = T.__cos(F[4])", "0.877582562"},
    {"Y[0] = T.__tan(F[4])", "0.54630249"},
    {"Y[0] = T.fast_rcp(F[4])", "2"},
    {"Y[0] = T.acosh(F[5])", "0.96242365"},
    {"Y[0] = T.atan2(F[4], F[5])", "0.321750554"},
    {"Y[0] = T.pow(F[4], F[5])", "0.353553391"},
    {"Y[0] = T.fmod(F[4], F[5])", "0.5"},
    {"Y[0] = T.copysign(F[4], F[5])", "0.5"},
    {"Y[0] = T.hypot(F[4], F[5])", "1.58113883"},
    {"Y[0] = T.min(F[4], F[5])", "0.5"},
    {"Y[0] = T.max(F[4], F[5])", "1.5"},
    {"Y[0] = T.ldexp(F[4], T.cast(F[5] + 0.5, 'float32'))", "2"},
    {"Y[0] = T.nextafter(F[4], F[5])", "0.50000006"},
    {"Y[0] = T.isnan(F[4])", "0"},
    {"Y[0] = T.isinf(F[4])", "0"},
    {"Y[0] = T.isfinite(F[4])", "1"},
    {"Y[0] = T.truncdiv(n - 12, 2)", "-3"},
    {"Y[0] = T.truncmod(n - 12, 4)", "-3"},
    {"Y[0] = T.popcount(n)", "2"},
    {"Y[0] = T.clz(n)", "29"},
    {"Y[0] = T.bitwise_not(n)", "-6"},
};

static const struct run_case together[] = {
    {"f = T.alloc_fragment((8, 8), 'int32')\nr = T.alloc_fragment((8,), 'int32')\nT.copy(X, f)\n"
     "T.reduce_sum(f, r, dim=1)\nT.copy(r, Y[0:8])\nT.reduce_max(f, r, dim=0)\nT.copy(r, Y[8:16])",
     "28 108 188 268 348 428 508 588 70 71 72 73 74 75 76 77"},
    {"f = T.alloc_fragment((8,), 'float32')\nr = T.alloc_fragment((1,), 'float32')\nT.copy(F, "
     "f)\nT.fill(r, 10)\n"
     "T.reduce_sum(f, r, clear=False)\nT.copy(r, Y[0:1])\nT.reduce_absmax(f, r)\nT.copy(r, "
     "Y[1:2])\n"
     "T.reduce_abssum(f, r)\nT.copy(r, Y[2:3])\nT.reduce_min(f, r, dim=0)\nT.copy(r, Y[3:4])",
     "10 3.5 16 -3.5"},
    {"s = T.alloc_shared((8, 8), 'int32')\nr = T.alloc_shared((8,), 'int32')\nT.copy(X, "
     "s)\nT.fill(r, 1)\n"
     "T.reduce_sum(s, r, dim=-1, clear=False)\nT.copy(r, Y[0:8])",
     "29 109 189 269 349 429 509 589"},
    {"p = T.alloc_local((4,), 'int32')\nfor i in range(4):\n    p[i] = X[1, i]\nq = "
     "T.alloc_var('int32')\n"
     "T.reduce_bitor(p, q)\nY[0] = q\nT.reduce_max(p, q, clear=False)\nY[1] = "
     "q\nT.reduce_bitand(p, q)\nY[2] = q",
     "15 15 8"},
    {"f = T.alloc_fragment((2, 4), 'int32')\nT.copy(X[1:3, 0:4], f)\nT.reduce_sum(f, f[:, 0:1], "
     "dim=1)\n"
     "T.copy(f[0, :], Y[0:4])",
     "46 11 12 13"},
    {"f = T.alloc_fragment((4,), 'int32')\nT.copy(X[1, 0:4], f)\nT.fill(f, f[2])\nT.copy(f, "
     "Y[0:4])",
     "12 12 12 12"},
    {"Y[0] = 0\nT.atomic_add(Y[0], 1)", "32"},
    {"for i in T.Parallel(4):\n    Y[i] = 0\nfor i in T.Parallel(64):\n    T.atomic_add(Y[i % 4], "
     "i // 32)",
     "8 8 8 8"},
    {"f = T.alloc_fragment((8,), 'float32')\nT.copy(F, f)\nT.fill(Y, 0)\nT.atomic_max(Y[0:8], "
     "f)\nT.atomic_min(Y[8], f)\n"
     "T.atomic_add(Y[4:6], 1)",
     "0 0 0 0 1.5 2.5 2.5 3.5 -3.5 -2.5 -1.5 -0.5 0 0 0 0"},
    {"a = T.alloc_shared((16, 16), 'float16')\nc = T.alloc_fragment((16, 16), 'float32')\n"
     "for i, j in T.Parallel(16, 16):\n    a[i, j] = i - j\nT.clear(c)\nT.gemm(a, a, c)\n"
     "T.gemm(a, a, c, transpose_B=True, clear_accum=(n > 9))\nT.copy(c[3, :], Y[0:16])",
     "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"},
    {"a = T.alloc_shared((16, 16), 'float16')\nc = T.alloc_fragment((16, 16), 'float32')\n"
     "for i, j in T.Parallel(16, 16):\n    a[i, j] = T.if_then_else(i == j, 2, 0) + "
     "T.if_then_else(j == 0, i, 0)\n"
     "T.gemm(a, a, c, transpose_A=True, clear_accum=True)\nT.copy(c[0, :], Y[0:16])",
     "1244 2 4 6 8 10"},
};

/* -- The rig -------------------------------------------------------------------------------------
 */
static struct tensor *tensor_new(struct arena *a, enum dtype type, int rank, int64_t rows,
                                 int64_t columns) {
    struct tensor *t = arena_make(a, struct tensor);
    *t = (struct tensor){.dtype = type, .rank = rank};
    t->extent[0] = rows;
    t->extent[1] = columns;
    t->stride[0] = rank == 2 ? columns : 1;
    t->stride[1] = 1;
    t->data = arena_alloc(a, (size_t)(rows * (rank == 2 ? columns : 1)) * 4);
    return t;
}

static const float *evaluate(struct module *m, struct arena *a, const char **why) {
    struct tensor *tensors[4] = {tensor_new(a, DTYPE_I32, 2, 8, 8),
                                 tensor_new(a, DTYPE_F32, 1, 8, 0), NULL,
                                 tensor_new(a, DTYPE_F32, 1, RESULTS, 0)};
    union scalar scalars[4] = {{0}, {0}, {.i = 5}, {0}};
    int32_t *x = (int32_t *)(void *)tensors[0]->data;
    float *f = (float *)(void *)tensors[1]->data, *y = (float *)(void *)tensors[3]->data;
    for (int i = 0; i < 64; i++) x[i] = i / 8 * 10 + i % 8;
    for (int i = 0; i < 8; i++) f[i] = (float)i - 3.5f;
    for (int i = 0; i < RESULTS; i++) y[i] = -1;
    struct eval_args args = {4, tensors, scalars};
    struct eval_options options = {.poison = true};
    return tile_eval(m, m->functions.at[0], &args, &options, why) ? y : NULL;
}

static int run_case(const struct run_case *c, struct arena *a) {
    struct text program = text_new(a), errors = text_new(a);
    text_puts(&program, head);
    for (const char *p = c->text; *p; p += *p == '\n') {
        size_t line = strcspn(p, "\n");
        text_puts(&program, "        ");
        text_write(&program, p, line);
        text_puts(&program, "\n");
        p += line;
    }
    struct source *s = source_of_text(a, "case.tile", program.at, program.length);
    struct interns *names = interns_new(a);
    struct diag *d = diag_new(a, s);
    struct ast_module *ast = parse(a, names, s, lex(a, names, s, d), d);
    struct sema_options options = {.prefix = ""};
    struct module *m = analyse(a, names, d, ast, target_find("sm_80"), &options);
    const char *why = "";
    diag_print_text(d, &errors, false);
    const float *y = diag_errors(d) ? NULL : evaluate(m, a, &why);
    if (!y) {
        print_error("%s\n  %s%s\n", c->text, errors.at, why);
        return 1;
    }
    const char *at = c->want;
    for (int i = 0; *at; i++) {
        char *end;
        double want = strtod(at, &end);
        double error = (double)y[i] - want, most = want < 0 ? -want : want;
        if (error < 0) error = -error;
        if (!(error <= 1e-6 * (most < 1 ? 1 : most))) {
            print_error("%s\n  Y[%d] is %g, not %g\n", c->text, i, (double)y[i], want);
            return 1;
        }
        at = end + strspn(end, " ");
    }
    return 0;
}

static void run_table(const struct run_case *cases, size_t count) {
    int faults = 0;
    for (size_t i = 0; i < count; i++) {
        struct arena *a = arena_new();
        faults += run_case(&cases[i], a);
        arena_free(a);
    }
    assert_int_equal(faults, 0);
}

#define TABLE(name)                                  \
    static void run_##name(void **state) {           \
        (void)state;                                 \
        run_table(name, sizeof name / sizeof *name); \
    }
TABLE(copies)
TABLE(control)
TABLE(arithmetic)
TABLE(moments)
TABLE(closures)
TABLE(operands)
TABLE(functions)
TABLE(together)

static void functions_are_complete(void **state) {
    (void)state;
    for (int fn = 0; fn < FN_COUNT; fn++) {
        const struct function_row *row = function_row((enum function)fn);
        bool found = !(row->flags & FLAG_LANGUAGE);
        struct arena *a = arena_new();
        const char *call = arena_printf(a, "T.%s(", row->name);
        for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
            found |= strstr(functions[i].text, call) != NULL;
        arena_free(a);
        if (!found) fail_msg("no case for T.%s", row->name);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run_copies),     cmocka_unit_test(run_control),
        cmocka_unit_test(run_arithmetic), cmocka_unit_test(run_moments),
        cmocka_unit_test(run_closures),   cmocka_unit_test(run_operands),
        cmocka_unit_test(run_functions),  cmocka_unit_test(functions_are_complete),
        cmocka_unit_test(run_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
