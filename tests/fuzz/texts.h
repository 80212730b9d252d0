/* texts.h: a text of tile IR or Kernel IR: read, verified, printed, and read again. */
#ifndef TILEC_TESTS_FUZZ_TEXTS_H
#define TILEC_TESTS_FUZZ_TEXTS_H
#include "ir/kernel.h"

struct text_form {
    struct module *(*read)(struct arena *a, struct interns *names, struct diag *d,
                           const struct source *s);
    bool (*sound)(struct module *m);
    void (*print)(struct text *t, const struct module *m);
};

/* Ends the process if a sound module's text is not read back as the same. */
void fuzz_text(const uint8_t *data, size_t size, const struct text_form *form);

#endif
