/* test_driver.c: the command as a user meets it: exit statuses, files written or not, dependency
 * files, diagnostics. usage: test_driver TILEC */
#define _XOPEN_SOURCE 700 /* realpath */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *tilec;
static char directory[] = "/tmp/tilec-driver-XXXXXX";
static char captured[1 << 20];

static const char good[] =
    "def make(N: int, block: int = 256):\n"
    "    @T.prim_func\n"
    "    def main(A: T.Tensor((N,), 'float32'), B: T.Tensor((N,), 'float32')):\n"
    "        with T.Kernel(T.ceildiv(N, block), threads=128) as bx:\n"
    "            for i in T.Parallel(block):\n"
    "                B[bx * block + i] = A[bx * block + i]\n"
    "    return main\n";

/* A product whose warps divide no tile, said by a pass that runs for each architecture. */
static const char warps[] = "@T.prim_func\ndef k(A: T.Tensor((64, 64), 'float32')):\n"
                            "    with T.Kernel(1, threads=96) as bx:\n"
                            "        a = T.alloc_shared((64, 16), 'float16')\n"
                            "        c = T.alloc_fragment((64, 64), 'float32')\n"
                            "        T.clear(a)\n        T.clear(c)\n"
                            "        T.gemm(a, a, c, transpose_B=True)\n        T.copy(c, A)\n";

/* A tile that fits sm_90a alone. */
static const char large[] =
    "@T.prim_func\ndef k(X: T.Tensor((128, 400), 'float32'), Y: T.Tensor((128, 400), 'float32')):\n"
    "    with T.Kernel(1, threads=128) as bx:\n"
    "        s = T.alloc_shared((128, 400), 'float32')\n        T.copy(X, s)\n"
    "        for i, j in T.Parallel(128, 400):\n            Y[i, j] = s[127 - i, j]\n";

static void write_file(const char *name, const char *text) {
    FILE *f = fopen(name, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static const char *read_file(const char *name) {
    FILE *f = fopen(name, "r");
    size_t n = 0;

    if (f) n = fread(captured, 1, sizeof captured - 1, f), fclose(f);
    captured[n] = '\0';
    return captured;
}

static bool exists(const char *name) {
    struct stat st;

    return !lstat(name, &st);
}

/* The command's exit status; "tilec" in front stands for the program. */
static int run(const char *command) {
    char line[4096];
    int status;

    snprintf(line, sizeof line, "tilec() { '%s' \"$@\"; }; %s", tilec, command);
    status = system(line);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A directory of its own for each test, with good.tile and bad.tile. */
static int fresh(void **state) {
    (void)state;
    if (chdir(directory) || system("rm -rf work && mkdir work") || chdir("work")) return 1;
    write_file("good.tile", good);
    write_file("large.tile", large);
    write_file("warps.tile", warps);
    write_file("bad.tile", "x = 1 +\n");
    return 0;
}

/* -- Exit statuses and what is said --------------------------------------------------------------
 */
static const struct {
    const char *command;
    int status;
    const char *said; /* in both outputs together */
} runs[] = {
    {"tilec -D N=1000 good.tile", 0, ""},
    {"tilec bad.tile", 1, "bad.tile:1:"},
    {"tilec good.tile", 1, "'N' without a value"},
    {"tilec", 2, "no input file"},
    {"tilec absent.tile", 2, "cannot read 'absent.tile': No such file"},
    {"tilec .", 2, "cannot read '.'"},
    {"tilec --emitt=cu good.tile", 2, "did you mean '--emit'?"},
    {"tilec --hedaer good.tile", 2, "did you mean '--header'?"},
    {"tilec --zzzzzzzz good.tile", 2, "unknown option '--zzzzzzzz'"},
    {"tilec good.tile good.tile", 2, "a second input file"},
    {"tilec -o", 2, "no argument behind '-o'"},
    {"tilec --arch=sm_90 -D N=1 good.tile", 2, "sm_90a"},
    {"tilec --arch=sm_12345 -D N=1 good.tile", 2, "unknown architecture 'sm_12345'"},
    {"tilec --emit=exe good.tile", 2, "unknown kind of output 'exe'"},
    {"tilec --emit=ir:nopass good.tile", 2, "nopass"},
    {"tilec -D N=1 -D Q=1 good.tile", 2, "-D Q=1"},
    {"tilec -D N good.tile", 2, "not of the form NAME=VALUE"},
    {"tilec -Wnothing -D N=1 good.tile", 2, "unknown warning '-Wnothing'"},
    {"tilec --prefix=1x -D N=1 good.tile", 2, "no beginning of a C name '1x'"},
    {"tilec --prefix='a b' -D N=1 good.tile", 2, "no beginning of a C name 'a b'"},
    {"tilec --file-prefix-map=abc -D N=1 good.tile", 2, "not of the form OLD=NEW 'abc'"},
    {"tilec --max-errors=x good.tile", 2, "not a number 'x'"},
    {"tilec --arch=sm_80,sm_90a warps.tile", 1, "3 warps) do not divide"}, /* the same for both */
    {"tilec --arch=all --max-errors=1 warps.tile", 1, "the limit of errors is reached"},
    {"tilec warps.tile", 1, "3 warps) do not divide"},
    {"tilec --arch=sm_80,sm_90a large.tile", 1, "needs 204800 bytes of shared memory, sm_80"},
    {"tilec --emit=none large.tile", 0, "left out of sm_80"}, /* the other one takes it */
    {"tilec - < good.tile", 2, "no output file for the input '-'"},
    {"cp good.tile in.tile; tilec -D N=1 -o in.tile in.tile", 2, "would replace the input"},
    {"cp good.tile in.tile; tilec -D N=1 --header=./in.tile in.tile", 2, "would replace the input"},
    {"cp good.tile in.tile; tilec -D N=1 -MD -MF in.tile in.tile", 2, "would replace the input"},
    {"tilec -D N=1 -o absent/x.cu good.tile", 2, "cannot write 'absent/x.cu'"},
    {"tilec -D N=1 -o /dev/full good.tile", 2, "cannot write '/dev/full'"},
    {"tilec -D N=1 -o - good.tile > /dev/full", 2, "cannot write"},
    {"tilec --help > /dev/full", 2, "cannot write standard output"},
    {"tilec -D N=1 --emit=cubin --nvcc=/absent/nvcc good.tile", 3, "/absent/nvcc"},
    {"tilec -D N=1 --emit=ptx --nvcc=false good.tile", 3, "'false' failed"},
    {"tilec -D N=1 --emit=cubin=x --arch=all --nvcc=true good.tile", 2, "two outputs"},
    {"tilec --explain=E0101", 0, "E0101: "},
    {"tilec --explain=E9999", 2, "nothing to explain under 'E9999'"},
    {"tilec --version", 0, "tilec 0.1.0"},
    {"tilec --print=archs", 0, "sm_90a"},
    {"tilec --print=codes", 0, "E0101"},
    {"tilec --print=options", 0, "--max-errors=N"},
    {"tilec --print=warnings", 0, "stages"},
    {"tilec --print=builtins", 0, "T.gemm"},
    {"tilec --print=passes", 0, "analyse"},
    {"tilec --print=nothing", 2, "nothing to print under 'nothing'"},
    {"tilec --list-passes", 0, "tidy"},
    {"tilec --help", 0, "--file-prefix-map=OLD=NEW"},
    {"tilec -D N=1 -o - - < good.tile", 0, "__global__"},
    {"tilec -D N=1 --emit=cubin --dry-run -v good.tile", 0, "-cubin"},
    {"tilec -D N=1 --emit=none good.tile", 0, ""},
};

static void statuses(void **state) {
    char line[512];
    size_t i;
    int status;

    for (i = 0; i < sizeof runs / sizeof *runs; i++) {
        fresh(state);
        snprintf(line, sizeof line, "( %s ) > said 2>&1", runs[i].command);
        if (strstr(runs[i].command, "> /dev/full"))
            snprintf(line, sizeof line, "( %s ) 2> said", runs[i].command);
        status = run(line);
        if (status != runs[i].status || !strstr(read_file("said"), runs[i].said))
            fail_msg("'%s' ends with %d, not %d, and says\n%s", runs[i].command, status,
                     runs[i].status, read_file("said"));
    }
}

/* -- Files ---------------------------------------------------------------------------------------
 */
static void default_names(void **state) {
    (void)state;
    assert_int_equal(run("mkdir sub && cp good.tile sub/k.tile && tilec -D N=1 sub/k.tile"), 0);
    assert_true(exists("k.cu") && exists("k.h") && !exists("sub/k.cu"));
    assert_int_equal(run("tilec -D N=1 --manifest -o out.cu --no-header good.tile"), 0);
    assert_true(exists("out.cu") && exists("out.json") && !exists("out.h"));
    assert_int_equal(run("tilec -D N=1 --emit=header=h.h,ir=x.ir good.tile && python3 -m json.tool "
                         "out.json > json"),
                     0);
    assert_true(exists("h.h") && exists("x.ir") && !exists("good.cu"));
}

static void nothing_half_written(void **state) {
    (void)state;
    assert_int_equal(run("tilec -o x.cu bad.tile 2> said"), 1);
    assert_int_equal(run("tilec -D N=1 -o y.cu --header=absent/y.h good.tile 2> said"), 2);
    assert_int_equal(
        run("tilec -D N=1 -M good.tile > rule && tilec -D N=1 --dry-run -o z.cu good.tile"), 0);
    assert_int_equal(run("test \"$(ls | tr '\\n' ' ')\" = 'bad.tile good.tile large.tile rule said "
                         "warps.tile '"),
                     0);
}

static void devices_stay(void **state) {
    struct stat st;

    (void)state;
    assert_int_equal(run("mkfifo pipe && { cat pipe > copy & } && tilec -D N=1 --no-header -o pipe "
                         "good.tile && wait"),
                     0);
    assert_int_equal(stat("pipe", &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
    assert_non_null(strstr(read_file("copy"), "__global__"));
    assert_int_equal(run("tilec -D N=1 -o /dev/full good.tile 2> said; test -c /dev/full"), 0);
}

static void dependencies(void **state) {
    (void)state;
    assert_int_equal(run("cp good.tile 'a b#$.tile' && tilec -D N=1 -M 'a b#$.tile' > rule"), 0);
    assert_string_equal(read_file("rule"), "a\\ b\\#$$.cu a\\ b\\#$$.h: a\\ b\\#$$.tile\n");
    assert_int_equal(run("tilec -D N=1 -MD good.tile"), 0);
    assert_string_equal(read_file("good.d"), "good.cu good.h: good.tile\n");
    assert_int_equal(run("tilec -D N=1 -MD -MP -MF d -MT all -o q.cu good.tile"), 0);
    assert_string_equal(read_file("d"), "all: good.tile\ngood.tile:\n");
    assert_int_equal(run("tilec -D N=1 -MD -MF d2 --no-header -o - good.tile > cu"), 0);
    assert_string_equal(read_file("d2"), "good.cu: good.tile\n");
}

/* Nothing but the input and the options shows in the output. */
static void same_bytes(void **state) {
    (void)state;
    assert_int_equal(
        run("mkdir a b && cp good.tile a && cp good.tile b && "
            "(cd a && LC_ALL=C tilec -D N=1000 --manifest good.tile) && "
            "(cd b && LC_ALL=de_DE.UTF-8 TZ=Asia/Tokyo tilec -D N=1000 --manifest good.tile) && "
            "diff -r a b && cp -r a c && (cd a && tilec -D N=1000 --manifest good.tile) && diff -r "
            "a c"),
        0);
    assert_int_equal(
        run("tilec -D N=1 --no-header --file-prefix-map=$PWD=/src -o - $PWD/good.tile > mapped && "
            "grep -q '#line .*\"/src/good.tile\"' mapped && ! grep -q $PWD mapped"),
        0);
}

/* -- Diagnostics ---------------------------------------------------------------------------------
 */
static void forms_of_diagnostics(void **state) {
    (void)state;
    assert_int_equal(run("tilec --diagnostics=json bad.tile 2> json"), 1);
    assert_int_equal(run("test -s json && while read -r line; do printf '%s\n' \"$line\" | python3 "
                         "-m json.tool > out || "
                         "exit 1; done < json"),
                     0);
    assert_int_equal(run("tilec bad.tile 2> plain; NO_COLOR=1 CLICOLOR_FORCE=1 tilec bad.tile 2> "
                         "plain2; cmp plain plain2"),
                     0);
    assert_int_equal(run("tilec --color=always bad.tile 2> colour; ! cmp -s plain colour && grep "
                         "-q '\033\\[' colour"),
                     0);
    assert_int_equal(run("! grep -q '\033' plain"), 0);
    assert_int_equal(run("CLICOLOR_FORCE=1 tilec bad.tile 2> colour2; cmp colour colour2"), 0);
}

/* What a pass leaves is what the next takes. */
static void restart(void **state) {
    (void)state;
    assert_int_equal(run("tilec -D N=1000 --arch=sm_80 --emit=ir:place=p.tir good.tile && "
                         "tilec --start-at=pipeline --emit=ir:place=p2.tir p.tir && "
                         "tilec --stop-after=parse -D N=1 good.tile"),
                     0);
    assert_int_equal(run("echo 'garbage' > g.tir; tilec --start-at=lower g.tir 2> said"), 1);
}

static int remove_all(void **state) {
    (void)state;
    return chdir("/") || run("rm -rf \"$DIRECTORY\"");
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statuses),
        cmocka_unit_test_setup(default_names, fresh),
        cmocka_unit_test_setup(nothing_half_written, fresh),
        cmocka_unit_test_setup(devices_stay, fresh),
        cmocka_unit_test_setup(dependencies, fresh),
        cmocka_unit_test_setup(same_bytes, fresh),
        cmocka_unit_test_setup(forms_of_diagnostics, fresh),
        cmocka_unit_test_setup(restart, fresh),
    };

    tilec = argc > 1 ? realpath(argv[1], NULL) : NULL;
    if (!tilec || !mkdtemp(directory)) return 2;
    setenv("DIRECTORY", directory, 1);
    unsetenv("NO_COLOR");
    unsetenv("CLICOLOR_FORCE");
    return cmocka_run_group_tests(tests, NULL, remove_all);
}
