/* front.c: any bytes as a .tile file: scanner, parser, analysis; diagnostics are printed in both
 * forms, and the tree and the tile IR as text. */
#include "lexer/lexer.h"
#include "parser/parser.h"
#include "sema/sema.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena *a = arena_new();
    struct interns *names = interns_new(a);
    struct source *s = source_of_text(a, "fuzz.tile", (const char *)data, size);
    struct diag *d = diag_new(a, s);
    struct text out = text_new(a);
    const struct sema_options options = {.prefix = ""};
    diag_set_limit(d, 20);
    struct tokens *t = lex(a, names, s, d);
    tokens_print(&out, t, s);
    struct ast_module *ast = parse(a, names, s, t, d);
    if (!diag_errors(d)) {
        ast_print(&out, ast);
        struct module *m = analyse(a, names, d, ast, target_find("sm_80"), &options);
        const char *why = NULL;
        if (!diag_errors(d)) {
            if (!tile_verify(m, LEVEL_TILE, &why)) __builtin_trap();
            tile_print(&out, m);
        }
    }
    diag_print_text(d, &out, true);
    diag_print_json(d, &out);
    arena_free(a);
    return 0;
}
