/* tile_text.c: any bytes for the reader of tile IR. */
#include "target.h"
#include "texts.h"

static bool sound(struct module *m) {
    const char *why = NULL;
    return m->level < LEVEL_KERNEL && tile_verify(m, m->level, &why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_text(data, size, &(struct text_form){tile_read, sound, tile_print});
    return 0;
}
