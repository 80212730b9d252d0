/* test_builtins.c: the table of builtins is consistent, and lang/builtins.md is what it prints. */
#include "base/source.h"
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
        cmocka_unit_test(list_is_printed_from_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
