/* table.c: rows of programs and the parts that their output must hold, in order. */
#include "table.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

struct job {
    const struct row *row;
    const char *before;
};

/* The first part of `wanted` that is not in the text after those before it; NULL: all are. */
static const char *missing_part(struct arena *a, const char *text, const char *wanted) {
    for (const char *w = wanted; *w; w += *w == '|') {
        size_t n = strcspn(w, "|");
        const char *part = arena_strndup(a, w, n);
        text = strstr(text, part);
        if (!text) return part;
        text += n;
        w += n;
    }
    return NULL;
}

static void check_row(void **state) {
    const struct job *j = *state;
    struct arena *a = arena_new();
    struct program p = j->row->program;
    p.text = arena_printf(a, "%s%s", j->before, p.text);
    struct text got = analysed(a, &p);
    const char *missing = missing_part(a, got.at, j->row->wanted);
    bool extra = j->row->unwanted && strstr(got.at, j->row->unwanted);
    if (missing) print_error("%s: lacks '%s'\n%s\n", j->row->name, missing, got.at);
    if (extra) print_error("%s: holds '%s'\n%s\n", j->row->name, j->row->unwanted, got.at);
    arena_free(a);
    if (missing || extra) fail();
}

int run_rows(const char *group, const struct row *rows, int count, const char *before) {
    struct CMUnitTest *tests = calloc((size_t)count, sizeof *tests);
    struct job *jobs = calloc((size_t)count, sizeof *jobs);
    for (int i = 0; i < count; i++) {
        jobs[i] = (struct job){.row = &rows[i], .before = before};
        tests[i] = (struct CMUnitTest){
            .name = rows[i].name, .test_func = check_row, .initial_state = &jobs[i]};
    }
    int failed = _cmocka_run_group_tests(group, tests, (size_t)count, NULL, NULL);
    free(tests);
    free(jobs);
    return failed;
}
