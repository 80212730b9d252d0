/* whole.c: any bytes as a .tile file that goes all the way to CUDA: what sema lets through is
 * refused by a rule or compiles, and every pass leaves what its level promises. */
#include "../support/passes.h"
#include "emit_cuda/emit.h"
#include "lexer/lexer.h"
#include "parser/parser.h"
#include "sema/sema.h"
#include "target.h"
#include <string.h>

static void finish(struct module *m, struct diag *d, struct text *out) {
    static const struct emit_options options = {
        .version = "0", .source_name = "fuzz.tile", .header_name = "fuzz.h", .stem = "fuzz"};
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        const char *why = NULL;
        stages[i].run(m);
        if (diag_errors(d)) return;
        m->level = stages[i].level;
        bool sound =
            m->level == LEVEL_KERNEL ? kernel_verify(m, &why) : tile_verify(m, m->level, &why);
        if (!sound) __builtin_trap();
    }
    emit_cuda(out, &m, 1, &options);
    emit_header(out, &m, 1, &options);
    emit_manifest(out, &m, 1, &options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena *a = arena_new();
    struct interns *names = interns_new(a);
    struct source *s = source_of_text(a, "fuzz.tile", (const char *)data, size);
    struct diag *d = diag_new(a, s);
    struct text out = text_new(a), said = text_new(a);
    const struct sema_options options = {.prefix = ""};
    struct ast_module *ast = parse(a, names, s, lex(a, names, s, d), d);
    if (!diag_errors(d)) {
        struct module *m = analyse(a, names, d, ast, target_find("sm_80"), &options);
        if (!diag_errors(d)) finish(m, d, &out);
    }
    text_puts(&said, "");
    diag_print_json(d, &said); /* where quotes of the source are escaped */
    if (strstr(said.at, "\"code\":\"E07"))
        __builtin_trap(); /* a fault of tilec that it noticed itself */
    arena_free(a);
    return 0;
}
