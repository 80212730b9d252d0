/* test_kernel_text.c: the text of Kernel IR: every seed's code reads back to the same text, and
 * faults put into a small kernel's text are found by kernel_verify. */
#include "layout/place.h"
#include "lower/lower.h"
#include "program.h"
#include "schedule/schedule.h"
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const char *directory; /* of the seeds */

/* -- round trip -----------------------------------------------------------------------------------
 */
static const struct {
    const char *file, *instance;
} seeds[] = {
    {"vector_add", "k = make_vector_add(1000)"},
    {"matmul", "k = make_matmul(130, 72, 96, block_M=64, block_N=64)"},
    {"matmul_bias_gelu", "k = make_matmul_bias_gelu(130, 72, 96)"},
    {"matmul_relu", "k = matmul(256, 256, 256, 128, 128, 32)"},
    {"flash_attn", "k = make_flash_attn(1, 2, 100, 32)"},
    {"softmax", "k = make_softmax(10, 1000)"},
    {"rms_norm_silu", "k = make_rms_norm_silu(10, 512)"},
    {"mla_decode", "k = make_mla_combine(1, 16, 2)"},
};
static const char *const targets[] = {"sm_75", "sm_80", "sm_90a"};

static void run_passes(struct module *m) {
    coarsen(m);
    forward(m);
    atoms(m);
    place(m);
    pipeline(m);
    operands(m);
    sync(m);
    shared(m);
    lower(m);
    tidy(m);
    m->level = LEVEL_KERNEL;
}

static const char *printed(struct arena *a, const struct module *m) {
    struct text t = text_new(a);

    kernel_print(&t, m);
    return t.at;
}

static const char *seed_text(struct arena *a, int i) {
    const char *error;
    struct source *s =
        source_read(a, arena_printf(a, "%s/%s.tile", directory, seeds[i].file), &error);

    assert_non_null(s);
    return arena_printf(a, "%.*s\n%s\n", (int)s->length, s->text, seeds[i].instance);
}

static void round_trip(int i, const char *target) {
    struct arena *a = arena_new();
    struct program *p = program_new(seed_text(a, i), target);
    const char *first, *why = "";
    struct module *again;
    struct diag *d;
    struct source *s;

    assert_null(program_refusal(p));
    run_passes(p->m);
    assert_null(program_refusal(p));
    assert_true(kernel_verify(p->m, &why));
    first = printed(a, p->m);
    s = source_of_text(a, "again.kir", first, strlen(first));
    d = diag_new(a, s);
    again = kernel_read(a, interns_new(a), d, s);
    assert_int_equal(diag_errors(d), 0);
    assert_true(kernel_verify(again, &why));
    assert_string_equal(printed(a, again), first);
    program_free(p);
    arena_free(a);
}

static void seeds_read_back(void **state) {
    size_t i, t;

    (void)state;
    for (i = 0; i < sizeof seeds / sizeof *seeds; i++)
        for (t = 0; t < sizeof targets / sizeof *targets; t++) round_trip((int)i, targets[t]);
}

/* -- faults
 * -----------------------------------------------------------------------------------------
 */
static const char *const head = "; tilec 0.1, level KERNEL, target sm_80\nsource \"t.tile\"\n"
                                "function f unit f doc \"f\" buffers 3 {\n"
                                "    tensor A:f16[64, 32] strides [32, 1] id 0\n"
                                "    tensor C:f32[64] strides [1] id 1 written\n"
                                "    param tensor A = A\n"
                                "    param tensor C = C\n"
                                "    kernel f_kernel grid [b:index[0,0]/0 = 1] threads 64 [64, 1, "
                                "1] thread thread:index[0,63] {\n"
                                "        registers 40\n"
                                "        widest A 16\n"
                                "        widest C 4\n"
                                "        var lane lane:index[0,31] = (thread % 32)\n"
                                "        array a u32 f16 [8]\n"
                                "        array x f32 f32 [4]\n";
static const char *const tail = "    }\n}\n";

static const struct {
    const char *body, *why; /* NULL: nothing is wrong */
} bodies[] = {
    {"for loop i:index[0,1]! = 0 .. 2 unroll 0 {\nload f16 16 a[(i * 4)] = A[((i * 512) + (lane * "
     "8))] "
     "align 16 const\n}\n",
     NULL},
    {"if (lane == 0) {\nput x[3] = 1.0:f32\n}\nelse {\nput x[0] = x{3}\n}\n", NULL},
    {"load f16 16 a[5] = A[(lane * 8)] align 16 const\n", "a register outside of array 'a'"},
    {"put x[4] = 1.0:f32\n", "a register outside of array 'x'"},
    {"put x[0] = x{4}\n", "a register outside of array 'x'"},
    {"put x[lane] = 1.0:f32\n", "a register number that is not known 'x'"},
    {"put x[0] = 1:u32\n", "a value of another type is put into 'x'"},
    {"load f16 16 a[0] = A[(lane * 4)] align 16 const\n", "an offset that is not aligned 'A'"},
    {"load f16 16 a[0] = A[(lane * 8)] align 8 const\n", "an access that is not aligned 'A'"},
    {"store f32 8 C[(lane * 2)] align 8 = registers x[0]\n",
     "an access wider than the launcher knows 'C'"},
    {"if (lane == 0) {\nbarrier 0 0\n}\n", "a barrier that only some threads reach"},
    {"var mutable v:f32 = 0.0:f32\nset v = 1:u32\n", "a value of another type is assigned to 'v'"},
    {"if (b == 0) {\nvar let v:f32 = 0.0:f32\n}\nput x[0] = v\n",
     "a variable is used before it is set 'v'"},
    {"if (b == 0) {\narray y f32 f32 [1]\n}\nput y[0] = 0.0:f32\n",
     "an array is used before its declaration 'y'"},
    {"break\n", "a jump outside of any loop"},
};

static void faults_are_found(void **state) {
    size_t i;

    (void)state;
    for (i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct arena *a = arena_new();
        const char *text = arena_printf(a, "%s%s%s", head, bodies[i].body, tail), *why = NULL;
        struct source *s = source_of_text(a, "t.kir", text, strlen(text));
        struct diag *d = diag_new(a, s);
        struct module *m = kernel_read(a, interns_new(a), d, s);
        bool right;

        if (diag_errors(d)) {
            print_error("%s: not read\n", bodies[i].body);
            fail();
        }
        right = kernel_verify(m, &why) ? !bodies[i].why
                                       : bodies[i].why && strstr(why, bodies[i].why) != NULL;
        if (!right) print_error("%s: %s\n", bodies[i].body, why ? why : "nothing found");
        assert_true(right);
        arena_free(a);
    }
}

int main(int count, char **arguments) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seeds_read_back),
        cmocka_unit_test(faults_are_found),
    };

    if (count < 2) return 1;
    directory = arguments[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
