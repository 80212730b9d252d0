/* test_builtins.c: the table of builtins is consistent, and lang/builtins.md is what it prints. */
#include "base/source.h"
#include "parser/parser.h"
#include "sema/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

static const char *list_path;

static void names_are_unique(void **state) {
    (void)state;
    for (int i = 0; i < builtin_count(); i++)
        for (int k = 0; k < i; k++) {
            const struct builtin *a = builtin_row(i), *b = builtin_row(k);
            if (!strcmp(a->name, b->name) && !strcmp(a->module, b->module))
                fail_msg("%s.%s has two rows", a->module, a->name);
        }
}

static void rows_are_filled(void **state) {
    (void)state;
    for (int i = 0; i < builtin_count(); i++) {
        const struct builtin *b = builtin_row(i);
        assert_non_null(b->parameters);
        if (!*b->doc || b->doc[strlen(b->doc) - 1] == '.') fail_msg("doc of %s", b->name);
    }
}

static bool is_refused(struct arena *a, const struct builtin *b) {
    const char *program = arena_printf(a,
                                       "@T.prim_func\ndef k(A: T.Tensor((8,), 'float32')):\n"
                                       "    with T.Kernel(1) as bx:\n        %s.%s(A)\n",
                                       b->module, b->name);
    struct source *s = source_of_text(a, "case.tile", program, strlen(program));
    struct interns *names = interns_new(a);
    struct diag *d = diag_new(a, s);
    struct ast_module *ast = parse(a, names, s, lex(a, names, s, d), d);
    analyse(a, names, d, ast, target_find("sm_80"), &(struct sema_options){.prefix = ""});
    struct text t = text_new(a);
    diag_print_text(d, &t, false);
    return strstr(t.at, b->name) && strstr(t.at, "[E0401]");
}

static void missing_names_are_refused(void **state) {
    (void)state;
    for (int i = 0; i < builtin_count(); i++) {
        struct arena *a = arena_new();
        const struct builtin *b = builtin_row(i);
        if (!b->call && !is_refused(a, b)) fail_msg("%s.%s is not refused", b->module, b->name);
        arena_free(a);
    }
}

static void list_is_printed_from_the_table(void **state) {
    (void)state;
    struct arena *a = arena_new();
    const char *why = "";
    struct text t = text_new(a);
    builtins_print(&t);
    struct source *s = source_read(a, list_path, &why);
    if (!s) fail_msg("%s: %s", list_path, why);
    if (strcmp(s->text, t.at)) fail_msg("%s is not what the table prints", list_path);
    arena_free(a);
}

int main(int count, char **arguments) {
    list_path = count > 1 ? arguments[1] : "lang/builtins.md";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_unique),
        cmocka_unit_test(rows_are_filled),
        cmocka_unit_test(missing_names_are_refused),
        cmocka_unit_test(list_is_printed_from_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
