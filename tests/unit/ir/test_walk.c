/* test_walk.c: what statements touch, cloning, and copies written as MAPs. */
#include "world.h"

#define HEAD                                                                                      \
    "; tilec 0.1, level TILE, target sm_80\nfunction f unit f buffers 6 {\n  var dim "            \
    "N:index[1,*]\n"                                                                              \
    "  tensor A:f32[N, 64] strides [64, 1] id 0\n  tensor I:i32[N] strides [1] id 1\n"            \
    "  param tensor A = A\n  param tensor I = I\n  param dim N = N\n"                             \
    "  kernel k grid [bx:index[0,7] = 8] threads 32 [32, 1, 1] {\n  shared S:f32[64, 64] id 2\n"  \
    "  fragment F:f32[64] id 3\n  shared R:f32[2, 64, 64] id 4 ring 2\n  shared T:f32[64] id 5\n" \
    "  var mutable x:index\n"

struct notes {
    struct text t;
};

static void note(const struct access *a, void *data) {
    struct notes *n = data;
    text_printf(&n->t, "%s%s%s[", n->t.length ? " " : "", a->kind == ACCESS_READ ? "r" : "w",
                a->buffer->name->text);
    for (int i = 0; i < a->buffer->rank; i++) {
        if (i) text_puts(&n->t, ",");
        expr_print(&n->t, a->region.base[i]);
        if (a->region.extent[i] == INT32_MAX)
            text_puts(&n->t, "+*");
        else
            text_printf(&n->t, "+%d", a->region.extent[i]);
    }
    text_puts(&n->t, a->exact ? "]" : "]?");
}

/* The first statement of a body and its accesses; a '?' marks a superset. */
static const struct {
    const char *body, *accesses;
} cases[] = {
    {"map [i:index = 64] {\n store F[i] = S[i, 3]\n }\n", "rS[0+64,3+1] wF[0+64]"},
    {"map [i:index = 32, j:index = 2] {\n store F[((i * 2) + j)] = S[i, (j + 1)]\n }\n",
     "rS[0+32,1+2] wF[0+64]"},
    {"map [i:index = 32] {\n store F[(i * 2)] = 0.0:f32\n }\n", "wF[0+63]?"},
    {"map [i:index = 64] {\n store S[i, i] = 0.0:f32\n }\n", "wS[0+64,0+64]?"},
    {"map [i:index = 8] {\n store F[(63 - i)] = 0.0:f32\n }\n", "wF[56+8]"},
    {"map [i:index = 8] {\n store S[(bx + i), (bx * 8)] = 0.0:f32\n }\n", "wS[bx+8,(bx * 8)+1]"},
    {"map [i:index = 8] {\n if (i < bx) {\n store F[i] = 0.0:f32\n }\n }\n", "wF[0+8]?"},
    {"map [i:index = 8] {\n store F[i] = select((i < bx), T[i], 0.0:f32)\n }\n",
     "rT[0+8]? wF[0+8]"},
    {"map [i:index = 8] {\n store F[i] = A[index(I[i]), 0]\n }\n", "rI[0+8] rA[0+*,0+1]? wF[0+8]"},
    {"map [i:index = 8] {\n let p:index[0,15] = (i * 2)\n store T[(p + 1)] = 0.0:f32\n }\n",
     "wT[1+15]?"},
    {"map [i:index[0,7] = 8] {\n store T[(i // 2)] = 0.0:f32\n }\n", "wT[0+4]?"},
    {"for serial k:index[0,3] = 0 .. 4 {\n copy A[(k * 16) +16, 0 +64] -> S[(k * 16) +16, 0 +64] "
     "over "
     "[i:index = 16, j:index = 64] axes [0, 1] [0, 1]\n }\n",
     "rA[0+64,0+64] wS[0+64,0+64]"},
    {"for serial k:index[0,*] = 0 .. N {\n copy A[(bx * 64) +64, 0 +64] -> R[(k % 2) +1, 0 +64, 0 "
     "+64] "
     "over [i:index = 64, j:index = 64] axes [0, 1] [1, 2]\n }\n",
     "rA[(bx * 64)+64,0+64] wR[0+2,0+64,0+64]?"},
    {"copy A[(bx * 64) +64, 0 +64] -> R[(x % 2) +1, 0 +64, 0 +64] over [i:index = 64, j:index = "
     "64] axes "
     "[0, 1] [1, 2] guard (bx < 3)\n",
     "rA[(bx * 64)+64,0+64]? wR[(x % 2)+1,0+64,0+64]?"},
    {"gemm S[0 +64, 0 +64] R[1 +1, 0 +64, 0 +64] -> S[0 +64, 0 +64] size [64, 64, 64]\n",
     "rS[0+64,0+64] rR[1+1,0+64,0+64] rS[0+64,0+64] wS[0+64,0+64]"},
    {"gemm S[0 +64, 0 +64] R[1 +1, 0 +64, 0 +64] -> S[0 +64, 0 +64] size [64, 64, 64] clear true\n",
     "rS[0+64,0+64] rR[1+1,0+64,0+64] wS[0+64,0+64]"},
    {"reduce max S[0 +64, 0 +64] -> F[0 +64] axis 1\n", "rS[0+64,0+64] rF[0+64] wF[0+64]"},
    {"reduce max S[0 +64, 0 +64] -> F[0 +64] axis 1 clear\n", "rS[0+64,0+64] wF[0+64]"},
    {"atomic add relaxed T[bx] = A[0, 1]\n", "rA[0+1,1+1] rT[bx+1] wT[bx+1]"},
    {"while (T[0] < 1.0:f32) {\n store T[x] = 0.0:f32\n }\n", "rT[0+1] wT[0+64]?"},
    {"print - buffer T\n", "rT[0+64]"},
    {"let y:f32 = (T[3] + T[3])\n", "rT[3+1]"},
};

static struct stmt *first_of(struct world *w, const char *body, struct module **m) {
    *m = world_read(w, arena_printf(w->a, HEAD "%s}\n}\n", body));
    return (*m)->functions.at[0]->kernels.at[0]->body.first;
}

static void finds_accesses(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world w = world_new();
        struct module *m;
        struct stmt *s = first_of(&w, cases[i].body, &m);
        struct notes n = {text_new(w.a)};
        stmt_accesses(m, s, note, &n);
        if (strcmp(n.t.at, cases[i].accesses)) fail_msg("%s gives\n%s", cases[i].body, n.t.at);
        arena_free(w.a);
    }
}

/* -- copies as MAPs
 * ---------------------------------------------------------------------------------- */
static const struct {
    const char *copy, *map;
} copies[] = {
    {"copy A[(bx * 64) +64, 0 +64] -> S[0 +64, 0 +64] over [i:index[0,63] = 64, j:index[0,63] = "
     "64] axes "
     "[0, 1] [0, 1]\n",
     "store S[i, j] = A[((bx * 64) + i), j]\n"},
    {"copy T[0 +64] -> S[5 +1, 0 +64] over [i:index[0,63] = 64] axes [0] [1]\n",
     "store S[5, i] = T[i]\n"},
    {"copy T[8 +64] -> A[bx +1, 0 +64] over [i:index[0,63] = 64] axes [0] [1]\n",
     "store A[bx, i] = select(((i + 8) < 64), T[(i + 8)], 0.0:f32)\n"},
    {"copy T[0 +8] -> T[-2 +8] over [i:index[0,7] = 8] axes [0] [0]\n",
     "if (0 <= (i - 2)) {\n    store T[(i - 2)] = T[i]\n}\n"},
    {"copy I[0 +64] -> T[0 +64] over [i:index[0,63] = 64] axes [0] [0] guard (bx < 2)\n",
     "if (bx < 2) {\n    store T[i] = f32(I[i])\n}\n"},
};

/* What stands between the braces of the only MAP, its indentation taken off. */
static const char *body_text(struct world *w, struct module *m) {
    struct text t = text_new(w->a), out = text_new(w->a);
    tile_print(&t, m);
    const char *at = strchr(strstr(t.at, "        map ["), '\n') + 1;
    while (!strncmp(at, "            ", 12)) {
        const char *end = strchr(at, '\n') + 1;
        text_puts(&out, arena_strndup(w->a, at + 12, (size_t)(end - at - 12)));
        at = end;
    }
    return out.at;
}

static void copies_as_maps(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
        struct world w = world_new();
        struct module *m;
        struct stmt *copy = first_of(&w, copies[i].copy, &m);
        struct block *body = &m->functions.at[0]->kernels.at[0]->body;
        block_insert_after(body, copy, copy_as_map(m, copy));
        block_remove(body, copy);
        const char *text = body_text(&w, m);
        if (strcmp(text, copies[i].map)) fail_msg("%s gives\n%s", copies[i].copy, text);
        arena_free(w.a);
    }
}

/* -- lists
 * ------------------------------------------------------------------------------------------- */
static void edits_lists(void **state) {
    (void)state;
    struct world w = world_new();
    struct module *m;
    struct block b = {0};
    struct stmt *s[4];
    first_of(&w, "", &m);
    for (int i = 0; i < 4; i++) s[i] = stmt_new(m, STMT_COMMIT, (struct span){0, 0});
    block_append(&b, s[1]);
    block_insert_before(&b, s[1], s[0]);
    block_insert_after(&b, s[1], s[3]);
    block_insert_before(&b, s[3], s[2]);
    const struct stmt *at = b.first;
    for (int i = 0; i < 4; i++, at = at->next) assert_ptr_equal(at, s[i]);
    assert_null(at);
    assert_ptr_equal(b.last, s[3]);
    block_remove(&b, s[3]);
    block_remove(&b, s[0]);
    assert_ptr_equal(b.first, s[1]);
    assert_ptr_equal(b.last, s[2]);
    block_remove(&b, s[1]);
    block_remove(&b, s[2]);
    assert_null(b.first);
    assert_null(b.last);
    assert_string_equal(module_name(m, "T")->text, "T_1");
    assert_string_equal(module_name(m, "T")->text, "T_2");
    assert_string_equal(module_name(m, "fresh")->text, "fresh");
    arena_free(w.a);
}

/* -- programs that go their own way ------------------------------------------------------------ */
static const char *program_text(struct world *w, const struct module *m) {
    struct text out = text_new(w->a);
    tile_print(&out, m);
    return out.at;
}

/* What a pass decides of a loop for one program is not seen by another, whose variables it shares.
 */
static void forks_decide_for_themselves(void **state) {
    (void)state;
    struct world w = world_new();
    struct module *m, *n;
    struct stmt *loop = first_of(&w,
                                 "for serial k:index[0,3] = 0 .. 4 {\n map [i:index = 64] {\n "
                                 "store T[i] = S[k, i]\n }\n }\n",
                                 &m);
    const char *before = program_text(&w, m);
    n = module_fork(m);
    assert_string_equal(program_text(&w, n), before);
    struct stmt *other = n->functions.at[0]->kernels.at[0]->body.first;
    loop_set_unrolled(n, other, true);
    assert_true(other->loop.var->unrolled);
    assert_false(loop->loop.var->unrolled);
    assert_string_equal(program_text(&w, m), before);
    assert_string_not_equal(program_text(&w, n), before);
    loop_set_unrolled(n, other, false);
    assert_string_equal(program_text(&w, n), before);
    const struct var *v = other->loop.var;
    loop_set_unrolled(n, other, false);
    assert_ptr_equal(other->loop.var, v);
    arena_free(w.a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_accesses), cmocka_unit_test(copies_as_maps),
        cmocka_unit_test(edits_lists), cmocka_unit_test(forks_decide_for_themselves)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
