/* test_text.c: every form of tile IR text survives reading and printing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on
#include "ir/tile.h"

static const char everything[] =
    "; tilec 0.1 after place, level PLACED, target sm_80\n"
    "source \"dir/every \\\"thing\\\".tile\"\n"
    "fast_math\n"
    "\n"
    "function every unit make_every doc \"every(M=3)\" buffers 9 { ; line 2\n"
    "    var dim N:index[1,*]/8 ; line 3\n"
    "    var param alpha:f32 ; line 3\n"
    "    tensor A:f16[N, 64] strides [64, 1] id 0 safe 1.5:f16 no_restrict ; line 4\n"
    "    tensor C:f32[(N + 1), 64] strides [64, 1] id 1 output written ; line 5\n"
    "    param tensor A = A ; line 4\n"
    "    param tensor C = C ; line 5\n"
    "    param dim N = N\n"
    "    param scalar alpha = alpha\n"
    "    check \"N is odd\" test ((N % 2) == 0) ; line 6\n"
    "    kernel every_kernel grid [bx:index[0,*] = ((N + 63) // 64), _ = 2] threads 128 [64, 2, 1] "
    "thread tx:index[0,127] panel 10 column min_blocks 2 shared_bytes 4096 { ; line 7\n"
    "        shared S:f16[2, 64, 64] id 2 static scratch layout [2@off:4096, 64@off:64, 64@off:1] "
    "ring 2 offset 1024 ; line 8\n"
    "        fragment F:f32[64, 64] id 3 annotation [16@reg:1 4@warp:1, 32@lane:1 2@reg:16] layout "
    "[16@reg:1 4@warp:1, 32@lane:1 2@reg:16] ; line 9\n"
    "        fragment P:f32[64] id 4\n"
    "        local L:i32[4] id 5 private\n"
    "        shared V:f16[4096] id 6 alias S\n"
    "        fragment G:f16[64, 64] id 7\n"
    "        var mutable x:i32 ; line 10\n"
    "        var mutable done:bool\n"
    "        set x = 5:i32 ; line 10\n"
    "        for pipelined k:index[0,*] = 0 .. ((N + 63) // 64) stages 3 { ; line 11\n"
    "            for unroll u:index[-3,9]! = -3 .. 10 step 3 factor 2 why \"because \\\\ and\\n\" "
    "{\n"
    "                if (x < 7:i32) { ; line 12\n"
    "                    break\n"
    "                } else {\n"
    "                    continue ; line 14\n"
    "                }\n"
    "            }\n"
    "            copy A[(k * 64) +64, 0 +64] -> S[(k % 2) +1, 0 +64, 0 +64] over "
    "[i:index[0,63] = 64, j:index[0,63] = 64] layout [16@reg:1 4@warp:1, 32@lane:1 2@reg:16] axes "
    "[0, 1] [1, 2] width 8 async guard (k < 7) why \"cp.async\" ; line 15\n"
    "            commit\n"
    "            wait 1\n"
    "            barrier 0 0\n"
    "            gemm G[0 +64, 0 +64] S[(k % 2) +1, 0 +64, 0 +64] -> F[0 +64, 0 +64] size [64, 64, "
    "64] "
    "transpose_a transpose_b policy full_col clear (k == 0) atom 3 warps [2, 2] ; line 16\n"
    "        }\n"
    "        while not(done) {\n"
    "            let y:f32 = select((alpha < 0.0:f32), neg(alpha), __exp(fma(alpha, alpha, "
    "-inf:f32)))\n"
    "            set done = ((y <= nan:f32) or (isnan(y) and (y < y)))\n"
    "            let z:f16 = (f16(y) + A[bx, i32(tx)])\n"
    "            store L[(tx % 4)] = ((i32(z) >> 3:i32) & bitwise_not(x))\n"
    "            atomic max acq_rel C[0, (tx // 2)] = y -> old:f32\n"
    "            atomic add relaxed C[0, 1] = (old / y)\n"
    "        }\n"
    "        map [i_1:index[0,63] = 64, j_1:index[0,63] = 64] layout [16@reg:1 4@warp:1, 32@lane:1 "
    "2@reg:16] "
    "{ ; line 20\n"
    "            store F[i_1, j_1] = max(F[i_1, j_1], f32(G[j_1, i_1]))\n"
    "        }\n"
    "        reduce absmax F[0 +64, 0 +64] -> P[0 +64] axis 1 clear nan ; line 21\n"
    "        print \"x \" value x\n"
    "        print - buffer P\n"
    "        assert \"x is 5\" test (x == 5:i32)\n"
    "    }\n"
    "}\n"
    "\n"
    "function empty unit - buffers 0 {\n"
    "}\n";

struct world {
    struct arena *a;
    struct interns *names;
    struct diag *d;
};

static struct module *read_text(struct world *w, const char *text) {
    struct source *s = source_of_text(w->a, "test.tir", text, strlen(text));
    w->d = diag_new(w->a, s);
    struct module *m = tile_read(w->a, w->names, w->d, s);
    if (!m) {
        struct text out = text_new(w->a);
        diag_print_text(w->d, &out, false);
        fprintf(stderr, "%s", out.at);
    }
    return m;
}

static void round_trip(void **state) {
    struct world w = {.a = arena_new()};
    (void)state;
    w.names = interns_new(w.a);
    struct module *m = read_text(&w, everything);
    assert_non_null(m);
    struct text out = text_new(w.a);
    tile_print(&out, m);
    assert_string_equal(out.at, everything);
    struct block copy = block_clone(m, &m->functions.at[0]->kernels.at[0]->body);
    m->functions.at[0]->kernels.at[0]->body = copy; /* the clone prints alike */
    struct text again = text_new(w.a);
    tile_print(&again, m);
    assert_string_equal(again.at, everything);
    m = read_text(&w, arena_printf(w.a, "; after place, sm_80\n\n%s", everything));
    assert_int_equal(m->level, LEVEL_PLACED); /* comments may stand in front */
    arena_free(w.a);
}

/* Every prefix and every text with one byte gone is read or refused, never more. */
static void damaged(void **state) {
    (void)state;
    size_t length = strlen(everything);
    for (size_t i = 0; i < length; i += 3) {
        struct world w = {.a = arena_new()};
        w.names = interns_new(w.a);
        char *text = arena_strndup(w.a, everything, length);
        if (i % 2)
            memmove(text + i, text + i + 1, length - i);
        else
            text[i] = 0;
        struct source *s = source_of_text(w.a, "test.tir", text, strlen(text));
        w.d = diag_new(w.a, s);
        struct module *m = tile_read(w.a, w.names, w.d, s);
        assert_true(m != NULL || diag_errors(w.d) == 1);
        arena_free(w.a);
    }
}

/* Two things of one name in the source are told apart. */
static void clashes(void **state) {
    (void)state;
    struct arena *a = arena_new();
    struct interns *names = interns_new(a);
    struct exprs *x = exprs_new(a);
    struct name_table *n = name_table_new(a, names);
    struct span nowhere = {0, 0};
    const char *const source[] = {"i", "i", "i_1", "f32", "inf"};
    const char *const printed[] = {"i", "i_1", "i_1_1", "f32_1", "inf_1"};
    for (int i = 0; i < 5; i++) {
        struct var *v = var_new(x, VAR_LET, intern_text(names, source[i]), DTYPE_INDEX, nowhere);
        assert_string_equal(name_of_var(n, v), printed[i]);
        assert_string_equal(name_of_var(n, v), printed[i]);
    }
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(round_trip), cmocka_unit_test(damaged),
                                       cmocka_unit_test(clashes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
