/* kernel_text.c: any bytes for the reader of Kernel IR. */
#include "target.h"
#include "texts.h"

static bool sound(struct module *m) {
    const char *why = NULL;
    return m->level == LEVEL_KERNEL && kernel_verify(m, &why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_text(data, size, &(struct text_form){kernel_read, sound, kernel_print});
    return 0;
}
