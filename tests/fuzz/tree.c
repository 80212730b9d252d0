/* tree.c: any bytes for the parser; the text of a sound tree is read back as the same tree. */
#include "lexer/lexer.h"
#include "parser/parser.h"
#include "target.h"
#include <string.h>

static struct ast_module *read_tree(struct arena *a, struct diag **d, const char *text,
                                    size_t size) {
    struct interns *names = interns_new(a);
    struct source *s = source_of_text(a, "fuzz.tile", text, size);
    *d = diag_new(a, s);
    diag_set_limit(*d, 20);
    return parse(a, names, s, lex(a, names, s, *d), *d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena *a = arena_new();
    struct text first = text_new(a), second = text_new(a), said = text_new(a);
    struct diag *d;
    struct ast_module *tree = read_tree(a, &d, (const char *)data, size);
    diag_print_text(d, &said, false);
    diag_print_json(d, &said);
    if (!diag_errors(d)) {
        text_puts(&first, "");
        text_puts(&second, "");
        ast_print(&first, tree);
        tree = read_tree(a, &d, first.at ? first.at : "", first.length);
        if (diag_errors(d)) __builtin_trap();
        ast_print(&second, tree);
        if (first.length != second.length) __builtin_trap();
        if (first.length && memcmp(first.at, second.at, first.length) != 0) __builtin_trap();
    }
    arena_free(a);
    return 0;
}
