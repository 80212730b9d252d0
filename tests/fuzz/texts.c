/* texts.c: any bytes as a text of tile IR or Kernel IR: read, verified, printed again. */
#include "ir/kernel.h"
#include "target.h"

static void try_text(const uint8_t *data, size_t size, bool kernel) {
    struct arena *a = arena_new();
    struct interns *names = interns_new(a);
    struct source *s = source_of_text(a, "fuzz.ir", (const char *)data, size);
    struct diag *d = diag_new(a, s);
    struct text out = text_new(a);
    struct module *m = kernel ? kernel_read(a, names, d, s) : tile_read(a, names, d, s);
    const char *why = NULL;
    if (m && m->level == LEVEL_KERNEL && kernel) {
        if (kernel_verify(m, &why)) kernel_print(&out, m);
    } else if (m && !kernel && m->level < LEVEL_KERNEL) {
        if (tile_verify(m, m->level, &why)) tile_print(&out, m);
    }
    diag_print_text(d, &out, false);
    arena_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    try_text(data, size, false);
    try_text(data, size, true);
    return 0;
}
