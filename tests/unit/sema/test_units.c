/* test_units.c: what a file exports and how its kernels are called: units, -D, names, signatures.
 */
#include "table.h"
#include <stddef.h>

/* A factory, an eager kernel and a bare prim_func of a few lines. */
#define FACTORY                                                           \
    "def make_add(N, block=64, dtype='float32'):\n"                       \
    "    @T.prim_func\n"                                                  \
    "    def main(A: T.Tensor((N,), dtype), B: T.Tensor((N,), dtype)):\n" \
    "        with T.Kernel(T.ceildiv(N, block), threads=64) as bx:\n"     \
    "            for i in T.Parallel(block):\n"                           \
    "                B[bx * block + i] = A[bx * block + i] + 1\n"         \
    "    return main\n"
#define EAGER                                      \
    "@tilelang.jit\n"                              \
    "def add(A, B, block: int = 64):\n"            \
    "    M, N = T.const('M, N')\n"                 \
    "    dtype = T.float16\n"                      \
    "    A: T.Tensor((M, N), dtype)\n"             \
    "    B: T.Tensor[[M, N], dtype]\n"             \
    "    C = T.empty((M, N), T.float32)\n"         \
    "    with T.Kernel(M, threads=64) as bx:\n"    \
    "        for i in T.Parallel(N):\n"            \
    "            C[bx, i] = A[bx, i] + B[bx, i]\n" \
    "    return C\n"
#define BODY                                    \
    "    with T.Kernel(1, threads=32) as bx:\n" \
    "        for i in T.Parallel(32):\n"        \
    "            A[i] = 0\n"
#define BARE(parameters) "@T.prim_func\ndef k(" parameters "):\n" BODY

static const struct row rows[] = {
    {"a factory by -D",
     {.text = FACTORY, .definitions = "N=100"},
     "function add unit make_add doc \"make_add(N=100, block=64, dtype='float32')\"|tensor "
     "A:f32[100]|kernel add_kernel grid [bx:index[0,1] = 2]",
     NULL},
    {"-D of one unit",
     {.text = FACTORY, .definitions = "N=100 make_add.N=7"},
     "tensor A:f32[7]",
     NULL},
    {"-D over the default",
     {.text = FACTORY, .definitions = "N=100 block=32 dtype=float16"},
     "tensor A:f16[100]|= 4]",
     NULL},
    {"-D of another unit",
     {.text = FACTORY, .definitions = "other.N=100"},
     "'N' without a value: add -D N=",
     NULL},
    {"the text over -D",
     {.text = FACTORY "k = make_add(10)\n", .definitions = "N=100 block=32"},
     "function k unit make_add|tensor A:f32[10]|= 1] threads",
     NULL},
    {"an instance sees the module as it is at the call",
     {.text = "S, L, d = 1, [1], {'a': [1]}\n"
              "def h():\n    return S + 100\n"
              "def make(n, l=None):\n"
              "    @T.prim_func\n    def main(A: T.Tensor((32,), 'int32')):\n"
              "        with T.Kernel(1, threads=32) as bx:\n"
              "            A[0] = S\n            A[1] = L[0]\n            A[2] = d['a'][0]\n"
              "            A[3] = h()\n            A[4] = n[0]\n            A[5] = later\n"
              "    return main\n"
              "n = [7]\n"
              "one = make(n)\nS = 2\nL[0] = 3\nn[0] = 8\nd['a'].append(0)\nd['a'] = [4]\n"
              "two = make(n)\n"
              "def h():\n    return 9\nS = 5\nlater = 6\nthree = make(n)\nlater = 7\n"},
     "store A[0] = 1:i32|store A[1] = 1:i32|store A[2] = 1:i32|store A[3] = 101:i32|"
     "store A[4] = 7:i32|store A[5] = 7:i32|"
     "store A[0] = 2:i32|store A[1] = 3:i32|store A[2] = 4:i32|store A[3] = 102:i32|"
     "store A[4] = 8:i32|store A[5] = 7:i32|"
     "store A[0] = 5:i32|store A[1] = 3:i32|store A[2] = 4:i32|store A[3] = 9:i32|"
     "store A[4] = 8:i32|store A[5] = 6:i32",
     NULL},
    {"a kernel and its macros see the factory as it is at the definition",
     {.text = "def make(n):\n"
              "    k = 1\n"
              "    l = [5]\n"
              "    def h():\n"
              "        return k * 100 + l[0]\n"
              "    @T.macro\n"
              "    def m(B):\n"
              "        B[0] = k\n"
              "        B[1] = l[0]\n"
              "        B[2] = h()\n"
              "    k = 2\n"
              "    @T.prim_func\n"
              "    def main(B: T.Tensor((64,), 'int32')):\n"
              "        with T.Kernel(1, threads=32) as bx:\n"
              "            m(B)\n"
              "            B[3] = k\n"
              "            B[4] = l[0]\n"
              "    k = 3\n"
              "    l[0] = 6\n"
              "    return main\n"
              "k1 = make(4)\n"},
     "store B[0] = 2:i32|store B[1] = 5:i32|store B[2] = 205:i32|store B[3] = 2:i32|"
     "store B[4] = 5:i32",
     NULL},
    {"eager instances of a loop",
     {.text = "@tilelang.jit\ndef k(A, n: int):\n    A: T.Tensor((32,), 'int32')\n"
              "    with T.Kernel(1, threads=32) as bx:\n        A[0] = S * 10 + n\n"
              "for S in (3, 4):\n    a = k(n=S + 1)\n"},
     "store A[0] = 34:i32|store A[0] = 45:i32",
     NULL},
    {"-D of a module constant",
     {.text = "K = 5\n" FACTORY "k = make_add(K)\n", .definitions = "K=9"},
     "tensor A:f32[9]",
     NULL},
    {"-D of a tuple of constants",
     {.text = "J, K = 4, 5\n" FACTORY "k = make_add(K)\n", .definitions = "K=9"},
     "tensor A:f32[9]",
     NULL},
    {"-D that is no literal",
     {.text = FACTORY, .definitions = "N=1+1"},
     "-D N=1+1: the value has to be a literal",
     NULL},
    {"-D word",
     {.text = FACTORY, .definitions = "N=4 dtype=bfloat"},
     "'bfloat' is no dtype, and other strings are quoted",
     NULL},
    {"missing parameters of all units",
     {.text = FACTORY "def make_b(K, N):\n    @T.prim_func\n    def main(A: T.Tensor((K,), "
                      "'float32')):\n        pass\n    return main\n"},
     "t.tile:1:5|'N' and 'K' without a value: add -D N=… -D K=…|E0212",
     NULL},
    {"missing in an exported instance",
     {.text = FACTORY "k = make_add()\n"},
     "t.tile:8:5|the call of 'make_add' lacks 'N'|E0206",
     NULL},
    {"two exports",
     {.text = FACTORY "a = make_add(10)\nb = make_add(20, dtype='float16')\n"},
     "function a |f32[10]|function b |f16[20]",
     "function add"},
    {"a family in a loop",
     {.text = FACTORY
      "for n, d in ((8, 'float16'), (16, 'float32')):\n    mm = make_add(n, dtype=d)\n"},
     "function mm_8_float16|function mm_16_float32",
     NULL},
    {"a family in a dict and a list",
     {.text = FACTORY "k = {}\nfor n in (8, 16):\n    k[n] = make_add(n)\nl = [make_add(4)]\n"},
     "function k_8|function k_16|function l_0",
     NULL},
    {"an instance without a name",
     {.text = FACTORY "make_add(4)\n"},
     "t.tile:8:1|has no name; assign it to export it",
     NULL},
    {"clash of C names",
     {.text = FACTORY "def f():\n    global_k = 1\n    return make_add(3)\nk = make_add(2)\nl = "
                      "[f()]\nl_0 = make_add(5)\n"},
     "two kernels would be called 'l_0' in C|E0216|the other one",
     NULL},
    {"reserved suffix",
     {.text = FACTORY "k = make_add(2)\nk_launch = make_add(3)\n"},
     "'k_launch' and 'k' clash",
     NULL},
    {"C keyword",
     {.text = FACTORY "double = make_add(2)\n"},
     "'double' cannot be the name of a C function|E0216",
     NULL},
    {"the name of another's kernel",
     {.text = FACTORY "k = make_add(2)\nk_kernel__sm80 = make_add(3)\n"},
     "names with '__sm' and a number are those of kernels",
     NULL},
    {"functions of C",
     {.text = FACTORY "exp = make_add(2)\nsqrtf = make_add(3)\n"},
     "'exp' cannot be the name of a C function|'sqrtf' cannot be",
     NULL},
    {"a prefix",
     {.text = FACTORY "double = make_add(2)\n", .prefix = "my_"},
     "function my_double",
     NULL},
    {"--entry",
     {.text = FACTORY EAGER, .definitions = "M=4 N=8", .entries = "add"},
     "function add unit add ",
     "make_add"},
    {"--entry beside exports",
     {.text = FACTORY EAGER "k = make_add(4)\n", .definitions = "M=4 N=8", .entries = "add"},
     "function add unit add ",
     "unit make_add"},
    {"--entry misspelt",
     {.text = FACTORY, .definitions = "N=4", .entries = "make_ad"},
     "--entry=make_ad: the file has no such unit; did you mean 'make_add'?",
     NULL},
    {"--kernels",
     {.text = FACTORY "a = make_add(10)\nb = make_add(20)\n", .kernels = "b"},
     "function b ",
     "function a "},
    {"--kernels by prim_func",
     {.text = FACTORY EAGER, .definitions = "N=4", .kernels = "add"},
     "'M' without a value",
     NULL},
    {"--kernels unknown",
     {.text = FACTORY "a = make_add(10)\n", .kernels = "zz"},
     "--kernels=zz: the file makes no kernel",
     NULL},
    {"nothing to compile", {.text = "x = 1\n"}, "the file holds no kernel", NULL},
    {"globals below",
     {.text = "def make(n):\n    @T.prim_func\n    def k(A: T.Tensor((M,), 'float32')):\n    "
              "    with T.Kernel(1, threads=32) as bx:\n            for i in T.Parallel(32):\n     "
              "           A[i] = n\n    return k\nk1 = make(3)\nM = 77\n"},
     "tensor A:f32[77]",
     NULL},
    {"one of several prim_funcs",
     {.text = "def make(n):\n    @T.prim_func\n    def one(A: T.Tensor((4,), 'float32')):\n        "
              "with T.Kernel(1) as bx:\n            A[0] = 1\n    @T.prim_func\n    def two(A: "
              "T.Tensor((nosuch,), 'float32')):\n        with T.Kernel(1) as bx:\n            A[0] "
              "= 2\n    return one if n == 1 else two\n",
      .definitions = "n=1"},
     "function one unit make",
     "two"},
    {"a prim_func sees what was bound before it",
     {.text =
          "def make():\n    c = 1\n    @T.prim_func\n    def k(A: T.Tensor((c,), 'float32')):\n    "
          "    with T.Kernel(1) as bx:\n            A[0] = c\n    c = 2\n    return k\n"},
     "A:f32[1]|store A[0] = 1.0",
     NULL},
    {"a factory that returns another's call",
     {.text = FACTORY
      "def make_fp16(n):\n    return make_add(n, dtype='float16')\nk = make_fp16(12)\n"},
     "function k unit make_add|f16[12]",
     NULL},
    {"a factory that returns nothing",
     {.text = "@tilelang.jit\ndef make(n):\n    return n\nk = make(1)\n"},
     "'make' returns an int; a factory returns one @T.prim_func|E0213",
     NULL},
    {"a unit that launches nothing",
     {.text = "@T.prim_func\ndef k(A: T.Tensor((4,), 'float32')):\n    pass\n"},
     "'k' launches nothing|E0213",
     NULL},
    {"options of jit",
     {.text =
          "@tilelang.jit(out_idx=[-1], pass_configs={tilelang.PassConfigKey.TL_ENABLE_FAST_MATH: "
          "True}, compile_flags=['-O3'])\n" FACTORY,
      .definitions = "N=4"},
     "tensor A:f32[4]|tensor B:f32[4] strides [1] id 1 output",
     "A:f32[4] strides [1] id 0 output"},
    {"unknown option of jit",
     {.text = "@tilelang.jit(out_index=[-1])\n" FACTORY, .definitions = "N=4"},
     "'tilelang.jit' has no option 'out_index'; did you mean 'out_idx'?|E0206",
     NULL},
    {"unsafe pass config",
     {.text = "@tilelang.jit(pass_configs={'tl.disable_safe_memory_legalize': True})\n" FACTORY,
      .definitions = "N=4"},
     "E0401",
     NULL},
    {"out_idx outside",
     {.text = "@tilelang.jit(out_idx=2)\n" FACTORY, .definitions = "N=4"},
     "out_idx 2: the kernel has 2 parameters|E0214",
     NULL},
    {"autotune",
     {.text = "@autotune(configs=get_configs())\n@tilelang.jit\n" FACTORY, .definitions = "N=4"},
     "function add",
     NULL},
    {"unknown decorator",
     {.text = "@tilelang.git\n" FACTORY, .definitions = "N=4"},
     "'tilelang' has no 'git'; did you mean 'tilelang.jit'?",
     NULL},
    /* eager */
    {"an eager kernel by keyword",
     {.text = EAGER "mm = add(M=4, N=8)\n"},
     "function mm unit add doc \"add(M=4, N=8, block=64)\"|tensor A:f16[4, 8]|param tensor A = "
     "A|param "
     "tensor B = B|param tensor C = C",
     NULL},
    {"an eager kernel by -D",
     {.text = EAGER, .definitions = "M=4 N=8"},
     "function add |f32[4, 8]",
     NULL},
    {"missing T.const",
     {.text = EAGER, .definitions = "M=4"},
     "'N' without a value: add -D N=",
     NULL},
    {"eager with a position",
     {.text = EAGER "mm = add(3, M=4, N=8)\n"},
     "an eager kernel is instantiated by keyword|E0206",
     NULL},
    {"eager with an unknown keyword",
     {.text = EAGER "mm = add(M=4, N=8, K=3)\n"},
     "'add' has no compile-time parameter 'K'",
     NULL},
    {"an output that is not returned",
     {.text = "@tilelang.jit\ndef add(A):\n    A: T.Tensor((4,), 'float32')\n    C = T.empty(4)\n  "
              "  with T.Kernel(1) as bx:\n        C[0] = A[0]\n"},
     "'C' is made by T.empty but not returned|E0214",
     NULL},
    {"outputs in the order of return",
     {.text = "@tilelang.jit\ndef f(A):\n    n = T.dynamic('n')\n    A: T.Tensor((n,), "
              "'float32')\n    C, D = T.empty(4), T.empty(n, dtype=T.int32)\n    with T.Kernel(1) "
              "as bx:\n        C[0] = A[0]\n        D[0] = 1\n    return D, C\n"},
     "param tensor A|param tensor D|param tensor C|param dim n",
     NULL},
    {"in-place eager",
     {.text = "@tilelang.jit\ndef f(A: T.Tensor((8,), 'float32'), s: T.float32, n=2):\n    with "
              "T.Kernel(1) as bx:\n        A[0] = s * n\n"},
     "param tensor A|param scalar s",
     NULL},
    {"out_idx with an eager kernel",
     {.text = "@tilelang.jit(out_idx=[0])\ndef f(A):\n    A: T.Tensor((8,), 'float32')\n    with "
              "T.Kernel(1) as bx:\n        A[0] = 1\n"},
     "out_idx belongs to factories|E0214",
     NULL},
    /* signatures */
    {"dynamic dimensions in order",
     {.text = "n, m = T.dynamic('n, m')\nb = T.dynamic('b', 'int64')\n@T.prim_func\ndef k(s: "
              "T.int32, A: T.Tensor((m, n), 'float32'), B: T.StridedTensor((n, 4), (b, 1), "
              "'float16')):\n    with T.Kernel(n) as bx:\n        A[0, bx] = s\n"},
     "param scalar s|param tensor A|param tensor B|param dim m|param dim n|param dim b",
     NULL},
    {"strides are exact",
     {.text = BARE("A: T.Tensor((32,), 'float32'), C: T.Tensor((3, 5, 7), 'float32'), B: "
                   "T.Tensor(6, 'int8')")},
     "C:f32[3, 5, 7] strides [35, 7, 1]|B:i8[6]",
     NULL},
    {"a dimension and a tensor of one name",
     {.text = "A = T.dynamic('A')\nn = A\n" BARE("A: T.Tensor((n,), 'float32')")},
     "the tensor and the dimension of the launcher are both called 'A'|E0216",
     NULL},
    {"a parameter with a C keyword",
     {.text = "@T.prim_func\ndef k(double: T.Tensor((n,), 'float32')):\n    pass\nn = 3\n"},
     "the tensor 'double' has a name that the C header cannot use; write 'double_'",
     NULL},
    {"a parameter called stream",
     {.text = BARE("A: T.Tensor((32,), 'float32'), stream: T.int32")},
     "the scalar 'stream' has a name",
     NULL},
    {"no annotation",
     {.text = BARE("A: T.Tensor((32,), 'float32'), b")},
     "the parameter 'b' of a prim_func needs a type|E0214",
     NULL},
    {"a bad annotation",
     {.text = BARE("A: T.Tensor((32,), 'float32'), b: 5")},
     "'b' has to be a T.Tensor or a dtype such as T.int32, not an int|E0214",
     NULL},
    {"a bad dtype",
     {.text = BARE("A: T.Tensor((32,), 'float23')")},
     "'float23' is no dtype; did you mean 'float16'?|E0210",
     NULL},
    {"a negative extent",
     {.text = BARE("A: T.Tensor((32, -1), 'float32')")},
     "'shape' holds -1; the least is 0|E0214",
     NULL},
    {"too many axes",
     {.text = BARE("A: T.Tensor((1, 2, 3, 4, 5, 6), 'float32')")},
     "'shape' has 6 axes; 1 to 5 are possible|E0214",
     NULL},
    {"more than 2^63 bytes",
     {.text = BARE("A: T.Tensor((2 ** 40, 2 ** 22), 'float32')")},
     "'A' would have more than 2^63 bytes|E0214",
     NULL},
    {"strides of another rank",
     {.text = BARE("A: T.StridedTensor((4, 4), (4,), 'float32')")},
     "the tensor has 2 axes and 1 strides|E0214",
     NULL},
    {"a raw pointer", {.text = BARE("A: T.ptr")}, "T.ptr) is not supported yet|E0401", NULL},
    {"a scalar in a shape",
     {.text = BARE("A: T.Tensor((n,), 'float32'), n: T.int32")},
     "param tensor A|param scalar n",
     NULL},
    {"a host check",
     {.text = "n = T.dynamic('n')\n@T.prim_func\ndef k(A: T.Tensor((n,), 'float32')):\n    assert "
              "n % 8 == 0, 'n by 8'\n" BODY},
     "check|n by 8",
     NULL},
    {"several launches",
     {.text = "@T.prim_func\ndef k(A: T.Tensor((32,), 'float32')):\n" BODY BODY},
     "kernel k_kernel_0|kernel k_kernel_1",
     NULL},
    {"notes say the call",
     {.text = FACTORY "\nk = make_add('x')\n"},
     "'shape' has to be an int, not the string 'x'|in the instantiation of 'make_add'",
     NULL},
};

int main(void) { return run_rows("units", rows, sizeof rows / sizeof *rows, ""); }
