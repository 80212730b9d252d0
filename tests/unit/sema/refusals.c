/* refusals.c: reads programs that must be refused; what is expected stands on the line itself:
 * `statement  # error: TEXT [E0123]`, TEXT being a part of the message. */
#include "base/diag.h"
#include "parser/parser.h"
#include "sema/sema.h"
#include "target/target.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

struct refusal {
    const char *path;
};

static struct text diagnostics_of(struct arena *a, const struct source *s) {
    struct interns *names = interns_new(a);
    struct diag *d = diag_new(a, s);
    diag_set_limit(d, 0);
    struct tokens *tokens = lex(a, names, s, d);
    struct ast_module *ast = parse(a, names, s, tokens, d);
    struct sema_options options = {.prefix = ""};
    analyse(a, names, d, ast, target_find("sm_80"), &options);
    struct text t = text_new(a);
    diag_print_text(d, &t, false);
    return t;
}

/* Takes the next line that reports an error; its line number and what follows "error: ". */
static const char *next_error(const char **at, const char *path, int *line) {
    size_t length = strlen(path);
    for (const char *p = *at; *p; p += strcspn(p, "\n"), p += *p == '\n') {
        if (strncmp(p, path, length) || p[length] != ':') continue;
        const char *end = p + strcspn(p, "\n"), *error = strstr(p, ": error: ");
        if (!error || error > end) continue;
        *line = atoi(p + length + 1);
        *at = end;
        return error + strlen(": error: ");
    }
    return NULL;
}

static bool line_expects(struct arena *a, const struct source *s, int line, const char **text,
                         const char **code) {
    struct span span = source_line(s, line);
    char *all = arena_strndup(a, s->text + span.begin, span.end - span.begin);
    char *mark = strstr(all, "# error: "), *bracket = mark ? strrchr(mark, '[') : NULL;
    if (!bracket) return false;
    *code = bracket;
    bracket[-1] = '\0';
    *text = mark + strlen("# error: ");
    return true;
}

/* Everything that is reported is expected, and everything expected is reported. */
static void check_refusals(void **state) {
    const struct refusal *r = *state;
    struct arena *a = arena_new();
    const char *why = "", *text, *code;
    struct source *s = source_read(a, r->path, &why);
    if (!s) fail_msg("%s: %s", r->path, why);
    struct text all = diagnostics_of(a, s);
    bool *seen = arena_array(a, bool, s->lines + 2);
    int line, faults = 0;
    const char *at = all.at;
    for (const char *error; (error = next_error(&at, r->path, &line));) {
        const char *message = arena_strndup(a, error, strcspn(error, "\n"));
        bool good = line_expects(a, s, line, &text, &code) && strstr(message, text) &&
                    strstr(message, code);
        if (!good) print_error("%s:%d: unexpected: %s\n", r->path, line, message);
        faults += !good;
        seen[line] = true;
    }
    for (int i = 1; i <= s->lines; i++) {
        if (seen[i] || !line_expects(a, s, i, &text, &code)) continue;
        print_error("%s:%d: not reported: %s %s\n", r->path, i, text, code);
        faults++;
    }
    arena_free(a);
    if (faults) fail_msg("%d differences in %s", faults, r->path);
}

int main(int count, char **path) {
    struct refusal *list = calloc((size_t)count, sizeof *list);
    struct CMUnitTest *tests = calloc((size_t)count, sizeof *tests);
    for (int i = 1; i < count; i++) {
        list[i].path = path[i];
        tests[i - 1] = (struct CMUnitTest){
            .name = path[i], .test_func = check_refusals, .initial_state = &list[i]};
    }
    int failed = _cmocka_run_group_tests("refusals", tests, (size_t)(count - 1), NULL, NULL);
    free(tests);
    free(list);
    return failed;
}
