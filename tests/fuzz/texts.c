/* texts.c: see texts.h. */
#include "texts.h"
#include <string.h>

static struct module *read_module(struct arena *a, const char *text, size_t size,
                                  const struct text_form *form) {
    struct source *s = source_of_text(a, "fuzz.ir", text, size);
    struct diag *d = diag_new(a, s);
    struct text said = text_new(a);
    struct module *m = form->read(a, interns_new(a), d, s);
    diag_print_text(d, &said, false);
    return m && !diag_errors(d) && form->sound(m) ? m : NULL;
}

void fuzz_text(const uint8_t *data, size_t size, const struct text_form *form) {
    struct arena *a = arena_new();
    struct module *m = read_module(a, (const char *)data, size, form);
    if (m) {
        struct text first = text_new(a), second = text_new(a);
        form->print(&first, m);
        m = read_module(a, first.at, first.length, form);
        if (!m) __builtin_trap();
        form->print(&second, m);
        if (strcmp(first.at, second.at) != 0) __builtin_trap();
    }
    arena_free(a);
}
