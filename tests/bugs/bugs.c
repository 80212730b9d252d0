/* bugs.c: kernels after public bug reports, and what each must give. */
#include "bugs.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

double at2(struct program *p, const char *tensor, int64_t i, int64_t j) {
    const struct tensor *t = program_tensor(p, tensor);
    return tensor_value(t, i * t->stride[0] + j * t->stride[1]);
}

double at1(struct program *p, const char *tensor, int64_t i) {
    return tensor_value(program_tensor(p, tensor), i);
}

static const char *differs(struct program *p, int64_t i, double want) {
    double got = at1(p, "Y", i);
    if (got == want) return NULL;
    return arena_printf(p->arena, "Y at %lld is %.9g, not %.9g", (long long)i, got, want);
}

static const char *compare_values(struct program *p, const char *values) {
    const char *why = NULL;
    char *next;
    int64_t i = 0;
    for (const char *at = values; *at && !why; at = next + strspn(next, " "), i++)
        why = differs(p, i, strtod(at, &next));
    return why;
}

static const char *compare_all(struct program *p, const struct bug *b) {
    const char *why = NULL;
    int64_t n = tensor_elements(program_tensor(p, "Y"));
    for (int64_t i = 0; i < n && !why; i++) why = differs(p, i, b->want(p, i));
    return why;
}

static void prepare(struct program *p, const struct bug *b) {
    program_scalar(p, "n", b->n);
    program_tensors(p);
    struct tensor *y = program_tensor(p, "Y");
    for (int64_t i = 0; y && i < tensor_elements(y); i++) tensor_put(y, i, -1);
    if (b->fill) b->fill(p);
}

static const char *try_bug(struct program *p, const struct bug *b) {
    const char *refusal = program_refusal(p), *why = NULL;
    if (!refusal) {
        prepare(p, b);
        why = program_run(p);
        refusal = program_refusal(p);
    }
    if (why) return why;
    if (refusal && b->refused && strstr(refusal, b->refused)) return NULL;
    if (refusal && b->either && strstr(refusal, " [E0") && !strstr(refusal, "[E07")) return NULL;
    if (refusal) return refusal;
    if (b->refused) return "it is not refused";
    return b->want ? compare_all(p, b) : compare_values(p, b->values);
}

static void check_bug(void **state) {
    static const char *const targets[] = {"sm_75", "sm_80", "sm_90a"};
    const struct bug *b = *state;
    bool failed = false;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        struct program *p = program_new(b->text, targets[i]);
        const char *why = try_bug(p, b);
        if (why) print_error("%s, %s: %.700s\n", b->name, targets[i], why);
        failed |= why != NULL;
        program_free(p);
    }
    if (failed) fail();
}

int run_bugs(const char *group, const struct bug *bugs, int count) {
    struct CMUnitTest *tests = calloc((size_t)count, sizeof *tests);
    for (int i = 0; i < count; i++)
        tests[i] = (struct CMUnitTest){bugs[i].name, check_bug, NULL, NULL, (void *)&bugs[i]};
    int failed = _cmocka_run_group_tests(group, tests, (size_t)count, NULL, NULL);
    free(tests);
    return failed;
}
