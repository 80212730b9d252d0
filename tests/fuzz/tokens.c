/* tokens.c: any bytes for the scanner: tokens lie in order within the text and end with one end. */
#include "lexer/lexer.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena *a = arena_new();
    struct interns *names = interns_new(a);
    struct source *s = source_of_text(a, "fuzz.tile", (const char *)data, size);
    struct diag *d = diag_new(a, s);
    struct text out = text_new(a);
    struct tokens *t = lex(a, names, s, d);
    uint32_t end = 0;
    if (!t->list.count || t->list.at[t->list.count - 1].kind != TOK_END) __builtin_trap();
    for (int i = 0; i < t->list.count; i++) {
        struct span at = t->list.at[i].span;
        if (at.begin > at.end || at.end > s->length || at.begin < end) __builtin_trap();
        end = at.end;
    }
    tokens_print(&out, t, s);
    diag_print_text(d, &out, true);
    arena_free(a);
    return 0;
}
