/* commands.c: `tilec verify` as a user meets it: arrays in and out, sizes, exit statuses, what is
 * said as text and as JSON. usage: commands TILEC */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *tilec;
static char directory[] = "/tmp/tilec-verify-XXXXXX";
static char said[1 << 16];

/* Y = 2 X, rows with a pitch, a factor that is a parameter. */
static const char scale[] =
    "n = T.dynamic('n')\nm = T.dynamic('m')\n@T.prim_func\n"
    "def scale(X: T.Tensor((m, n), 'float32'), Y: T.Tensor((m, n), 'float32'), by: 'float32'):\n"
    "    with T.Kernel(T.ceildiv(n, 32), T.ceildiv(m, 4), threads=128) as (bx, by_):\n"
    "        for i, j in T.Parallel(4, 32):\n"
    "            Y[by_ * 4 + i, bx * 32 + j] = X[by_ * 4 + i, bx * 32 + j] * by\n";

/* Shapes that are sums, and one dimension in two tensors. */
static const char halves[] =
    "n = T.dynamic('n')\n@T.prim_func\n"
    "def halves(X: T.Tensor((2 * n + 1,), 'int32'), Y: T.Tensor((n,), 'int32')):\n"
    "    with T.Kernel(T.ceildiv(n, 64), threads=64) as bx:\n"
    "        for i in T.Parallel(64):\n"
    "            Y[bx * 64 + i] = X[2 * (bx * 64 + i) + 1]\n";

static const char families[] =
    "def make(M: int, N: int, flag: bool = True, block: int = 32):\n"
    "    assert N % 4 == 0 or N < 64, 'N is odd and large'\n    shape = (M, N)\n\n"
    "    @T.prim_func\n"
    "    def twice(X: T.Tensor(shape, 'int32'), Y: T.Tensor(shape, 'int32')):\n"
    "        with T.Kernel(T.ceildiv(N, block), M, threads=32) as (bx, by):\n"
    "            for i in T.Parallel(block):\n"
    "                Y[by, bx * block + i] = X[by, bx * block + i] * 2\n    return twice\n\n"
    "wide = make(4096, 4096)\nnarrow = make(4096, 64, flag=False)\n";

/* A dimension known at run time that -D does not replace in the text. */
static const char dimension[] =
    "def make(k: int = 5):\n    n = T.dynamic('n', 'int32')\n\n    @T.prim_func\n"
    "    def main(X: T.Tensor((k, n), 'float32'), Y: T.Tensor((k, n), 'float32')):\n"
    "        T.assume(n % 8 == 0)\n"
    "        with T.Kernel(T.ceildiv(n, 32), k, threads=32) as (bx, by):\n"
    "            for i in T.Parallel(32):\n"
    "                Y[by, bx * 32 + i] = X[by, bx * 32 + i]\n    return main\n";

static const char checked[] =
    "def make():\n    n = T.dynamic('n')\n\n    @T.prim_func\n"
    "    def main(X: T.Tensor((n,), 'float32'), Y: T.Tensor((n,), 'float32')):\n"
    "        assert n % 8 == 0, 'n is no multiple of 8'\n"
    "        with T.Kernel(T.ceildiv(n, 32), threads=32) as bx:\n"
    "            for i in T.Parallel(32):\n                Y[bx * 32 + i] = X[bx * 32 + i]\n"
    "    return main\n";

/* Two blocks of a grid that write one place. */
static const char clash[] =
    "@T.prim_func\ndef clash(X: T.Tensor((64,), 'int32'), Y: T.Tensor((32,), 'int32')):\n"
    "    with T.Kernel(2, threads=32) as bx:\n        for i in T.Parallel(32):\n"
    "            Y[i] = X[bx * 32 + i]\n";

/* What a block writes depends on how many came before it. */
static const char turns[] =
    "@T.prim_func\ndef turns(n: T.Tensor((1,), 'int32'), Y: T.Tensor((3, 4), 'int32')):\n"
    "    with T.Kernel(4, threads=32) as bx:\n        tx = T.get_thread_binding()\n"
    "        if tx == 0:\n"
    "            Y[1, bx] = T.atomic_add(n[0], 1, return_prev=True)\n"
    "            Y[0, bx] = 0\n            Y[2, bx] = 7\n";

static void write_file(const char *name, const void *data, size_t length) {
    FILE *f = fopen(name, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, length, f), length);
    fclose(f);
}

/* 32-bit elements 0, 1, 2 … of the type. */
static void write_array(const char *name, const char *type, const char *shape, int count) {
    uint8_t file[16384] = "\x93NUMPY\x01";
    char text[256];
    int n = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': %s}\n",
                     type, shape);
    file[8] = (uint8_t)n;
    memcpy(file + 10, text, (size_t)n);
    for (int i = 0; i < count; i++) {
        float real = (float)i;
        int32_t whole = i;
        memcpy(file + 10 + n + 4 * i, strchr(type, 'f') ? (void *)&real : (void *)&whole, 4);
    }
    write_file(name, file, (size_t)(10 + n + 4 * count));
}

static int run(const char *command) {
    char line[4096];
    snprintf(line, sizeof line, "(tilec() { '%s' \"$@\"; }; %s) > said 2>&1", tilec, command);
    int status = system(line);
    FILE *f = fopen("said", "r");
    size_t n = fread(said, 1, sizeof said - 1, f);
    fclose(f);
    said[n] = '\0';
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int fresh(void **state) {
    (void)state;
    if (chdir(directory) || system("rm -rf work && mkdir work") || chdir("work")) return 1;
    write_file("scale.tile", scale, strlen(scale));
    write_file("halves.tile", halves, strlen(halves));
    write_file("families.tile", families, strlen(families));
    write_file("free.tile", dimension, strlen(dimension));
    write_file("checked.tile", checked, strlen(checked));
    write_file("turns.tile", turns, strlen(turns));
    write_array("zero.npy", "<i4", "(1,)", 1);
    write_file("clash.tile", clash, strlen(clash));
    write_file("bad.tile", "x = 1 +\n", 8);
    write_array("x.npy", "<f4", "(5, 40)", 200);
    write_array("i.npy", "<i4", "(41,)", 41);
    write_array("even.npy", "<i4", "(40,)", 40);
    return 0;
}

static const struct {
    const char *command;
    int status;
    const char *said, *not_said;
} runs[] = {
    {"tilec verify scale.tile --input X=x.npy -D by=2.5", 0, "by=2.5, m=5, n=40", NULL},
    {"tilec verify scale.tile --input scale.X=x.npy", 0, "m=5, n=40", NULL},
    {"tilec verify scale.tile --input X=x.npy -D n=41", 2,
     "axis 1 of tensor 'X' has 41 elements, 'x.npy' has 40", NULL},
    {"tilec verify scale.tile --input X=x.npy -D n=40", 0, "pass", NULL},
    {"tilec verify scale.tile --input Z=x.npy", 2, "no tensor is called 'Z'", NULL},
    {"tilec verify scale.tile --input other.X=x.npy", 2, "no tensor is called 'other.X'", NULL},
    {"tilec verify scale.tile --input X=i.npy", 2, "has 2 axes, 'i.npy' has 1", NULL},
    {"tilec verify scale.tile --input X=absent.npy", 2, "cannot read 'absent.npy'", NULL},
    {"tilec verify scale.tile --input X=scale.tile", 2, "it is no .npy file", NULL},
    {"tilec verify scale.tile --input X=.", 2, "cannot read '.'", NULL},
    {"tilec verify scale.tile --input X", 2, "NAME=FILE.npy", NULL},
    {"tilec verify scale.tile --input =x.npy", 2, "NAME=FILE.npy", NULL},
    {"tilec verify scale.tile --input X=", 2, "NAME=FILE.npy", NULL},
    {"tilec verify scale.tile --output Y=absent/y.npy", 2, "cannot write 'absent/y.npy'", NULL},
    {"tilec verify scale.tile --output Y=y.npy --output X=y.npy", 2, "two outputs", NULL},
    {"tilec verify scale.tile --output Y=./scale.tile", 2, "would replace the input", NULL},
    {"tilec verify scale.tile --output Y=-", 2, "where the report goes", NULL},
    {"tilec verify scale.tile --input X=x.npy --input X=x.npy", 2, "tensor 'X' twice", NULL},
    {"tilec verify scale.tile --sweep --output Y=y.npy", 2, "--sweep tries many", NULL},
    {"tilec verify scale.tile -o scale.cu", 2, "it does not take '-o'", NULL},
    {"tilec verify scale.tile --emit=cubin", 2, "it does not take '--emit'", NULL},
    {"tilec verify scale.tile --size=n=3 --size n=4", 2, "a second value for the same name: 'n=4'",
     NULL},
    {"tilec verify scale.tile -Dn=3 -D n=3", 2, "a second value for the same name: 'n=3'", NULL},
    {"tilec verify scale.tile -D n=-1", 1, "'shape' holds -1", NULL},
    {"tilec verify free.tile -D n=-1", 2, "'n' is -1, outside of", NULL},
    {"tilec verify free.tile -D n=12", 2, "'n' is 12, no multiple of 8", NULL},
    {"tilec verify free.tile -D n=16", 0, "n=16", NULL},
    {"tilec verify free.tile --input X=x.npy", 0, "n=40", NULL},
    {"tilec verify free.tile --input X=x.npy -D n=48", 2,
     "axis 1 of tensor 'X' ('n') has 48 elements, 'x.npy' has 40", NULL},
    {"tilec verify scale.tile -D n=100000 -D m=100000", 2, "2 GiB", NULL},
    {"tilec verify scale.tile -D q=1", 2, "-D q=1 fits no", NULL},
    {"tilec verify scale.tile --seed=x", 2, "--seed takes a number", NULL},
    {"tilec verify scale.tile --order=up", 2, "ascending or random", NULL},
    {"tilec verify scale.tile --order=random", 0, "pass", NULL},
    {"tilec verify scale.tile --sweep", 0, "m=0, n=16", "fault"},
    {"tilec verify scale.tile --stop-after=lower", 2, "do not go with it", NULL},
    {"tilec verify - < scale.tile", 0, "pass", NULL},
    {"tilec verify --sweep - < families.tile", 0, "narrow sm_90a: pass with M=1, N=32", NULL},
    {"tilec verify bad.tile", 1, "bad.tile:1:", NULL},
    {"tilec verify --sweep bad.tile", 1, "bad.tile:1:", NULL},
    {"tilec verify", 2, "no input file", NULL},
    {"tilec verify halves.tile --input X=i.npy", 0, "n=20", NULL},
    {"tilec verify halves.tile --input X=even.npy", 2, "'even.npy' has 40", NULL},
    {"tilec verify checked.tile -D n=12", 2, "error with n=12: the launcher refuses this", NULL},
    {"tilec verify checked.tile --sweep", 0, "refused with n=7: the launcher refuses this",
     "fault"},
    {"tilec verify --sweep families.tile", 0, "wide sm_80: pass with M=2, N=1", "fault"},
    {"tilec verify --sweep families.tile", 0,
     "make sm_80: refused with M=1, N=67: families.tile:2:", "failed to"},
    {"tilec verify --sweep -D M=3 families.tile", 2, "-D M=3 fits no", NULL},
    {"tilec verify --sweep --size M=3 families.tile", 0, "pass with N=33", "M="},
    {"tilec verify --sweep --size M=3 --size make.N=7 families.tile", 0, "narrow sm_90a: pass",
     "N="},
    {"tilec verify --size M=3 --size N=7 families.tile", 0, "wide sm_80: pass (3 blocks", NULL},
    {"tilec verify --size M=3 --size N=67 families.tile", 1, "N is odd and large", NULL},
    {"tilec verify --sweep --kernels=narrow families.tile", 0, "narrow sm_80: pass", "wide"},
    {"tilec verify --sweep --kernels=absent families.tile", 2, "name no kernel of", NULL},
    {"tilec verify --sweep --entry=absent families.tile", 2, "name no kernel of", NULL},
    {"tilec verify --size M=x families.tile", 2, "--size takes a whole number", NULL},
    {"tilec verify --size Q=1 --size M=3 --size N=4 families.tile", 2, "--size Q=1 fits no", NULL},
    {"tilec verify --sweep --size N=67 families.tile", 1, "every size that was tried is refused",
     NULL},
    {"tilec verify scale.tile --diagnostics=json --input X=x.npy --arch=sm_80", 0,
     "{\"type\":\"verify\",\"function\":\"scale\",\"arch\":\"sm_80\",\"seed\":1,\"result\":"
     "\"pass\"",
     NULL},
    {"tilec verify scale.tile --diagnostics=json --input X=i.npy --arch=sm_80", 2,
     "\"result\":\"error\"", NULL},
    {"tilec verify --sweep --diagnostics=json families.tile", 0,
     "{\"type\":\"summary\",\"schema\":\"tilec-verify-1\",\"passed\":", NULL},
    {"tilec verify clash.tile --arch=sm_80", 1,
     "clash sm_80: fault [race]\nclash.tile:4: thread 0 of block (1, 0, 0): writes element 0 of "
     "tensor 'Y', which block (0, 0, 0) wrote at line 4: nothing orders blocks of one launch\n"
     "    4 |         for i in T.Parallel(32):\n",
     NULL},
    {"tilec verify clash.tile --arch=sm_80 --order=random --seed=2", 1, "fault [race]", NULL},
    {"tilec verify clash.tile --arch=sm_80 --diagnostics=json", 1,
     "\"kind\":\"race\",\"file\":\"clash.tile\",\"line\":4,\"other_line\":4,\"thread\":0,"
     "\"block\":[1,0,0]",
     NULL},
    {"tilec verify halves.tile --size n=64 --explain=counters --arch=sm_80", 0,
     "halves.tile:5: load 'X': 2 requests of 8.00 sectors, where 4.00 would do\n", NULL},
    {"tilec verify halves.tile --size n=64 --explain=counters --arch=sm_80 --diagnostics=json", 0,
     "\"kind\":\"load\",\"buffer\":\"X\",\"space\":\"global\",\"requests\":2,\"sectors\":16", NULL},
    {"tilec verify halves.tile --size n=64 --count --arch=sm_80", 0, "4 requests, 24 sectors",
     NULL},
    {"tilec halves.tile --explain=counters", 2, "nothing to explain under 'counters'", NULL},
    {"tilec verify turns.tile --input n=zero.npy --arch=sm_80", 0, "pass", NULL},
    {"tilec verify turns.tile --input n=zero.npy --arch=sm_80 --order=random --seed=3", 1,
     "turns sm_80: difference: 'Y'[1, 0] is 2 instead of 0; 4 elements differ\n  expected\n"
     "               0            0            0\n               0            1            2\n"
     "               7            7            7\n  actual\n"
     "               0            0            0\n               2            3            0\n"
     "               7            7            7\n",
     NULL},
    {"tilec verify turns.tile --input n=zero.npy --arch=sm_80 --order=random --seed=3 "
     "--diagnostics=json",
     1,
     "\"tensor\":\"Y\",\"outside\":false,\"count\":4,\"index\":[1,0],\"expected\":\"0\",\"actual\":"
     "\"2\",\"expected_around\":[[\"0\",\"0\",\"0\"],[\"0\",\"1\",\"2\"],[\"7\",\"7\",\"7\"]],"
     "\"actual_around\":[[",
     NULL},
    {"for o in '--sweep' '--input n=zero.npy --order=random --seed=3' '--explain=counters --count';"
     "do tilec verify turns.tile --arch=sm_80,sm_90a --diagnostics=json $o | while read -r l; do "
     "printf %s \"$l\" | python3 -m json.tool > /dev/null || echo WRONG; done; done; echo end",
     0, "end", "WRONG"},
    {"tilec scale.tile --sweep", 2, "only 'tilec verify' has the option '--sweep'", NULL},
};

static void test_runs(void **state) {
    int wrong = 0;
    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        int status = run(runs[i].command);
        bool right =
            strstr(said, runs[i].said) && (!runs[i].not_said || !strstr(said, runs[i].not_said));
        if (status == runs[i].status && right) continue;
        print_error("%s: %d, %.600s\n", runs[i].command, status, said);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

/* The output is what the kernel makes of the input; a fault leaves no file. */
static void test_output(void **state) {
    uint8_t file[4096];
    (void)state;
    assert_int_equal(
        run("tilec verify scale.tile --input X=x.npy -D by=2 --output Y=y.npy --output X=z.npy"),
        0);
    for (int which = 0; which < 2; which++) {
        FILE *f = fopen(which ? "y.npy" : "z.npy", "rb");
        assert_non_null(f);
        size_t n = fread(file, 1, sizeof file, f);
        fclose(f);
        assert_int_equal(n, 128 + 800);
        assert_non_null(strstr((char *)file + 10, "'shape': (5, 40)"));
        for (int i = 0; i < 200; i++) {
            float v;
            memcpy(&v, file + 128 + 4 * i, 4);
            assert_true(v == (float)i * (float)(which + 1));
        }
    }
    assert_int_not_equal(run("tilec verify scale.tile --input X=i.npy --output Y=n.npy"), 0);
    assert_int_not_equal(access("n.npy", F_OK), 0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(test_runs, fresh),
                                       cmocka_unit_test_setup(test_output, fresh)};
    char path[4096];
    if (argc < 2 || !realpath(argv[1], path) || !mkdtemp(directory)) return 2;
    tilec = path;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char line[128];
    snprintf(line, sizeof line, "rm -rf '%s'", directory);
    return chdir("/") || system(line) ? 2 : failed;
}
