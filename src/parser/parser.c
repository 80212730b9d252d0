/* parser.c: parse(): tokens in, tree out. */
#include "parser.h"
#include "internal.h"

struct ast_module *parse(struct arena *a, struct interns *names, const struct source *s,
                         const struct tokens *tokens, struct diag *d) {
    struct parser p = {.arena = a, .names = names, .source = s, .tokens = tokens, .diag = d};
    struct ast_module *m = arena_make(a, struct ast_module);
    parse_tokens(&p);
    *m = (struct ast_module){s, p.body};
    return m;
}

struct ast_expr *parse_expression(struct arena *a, struct interns *names, const struct source *s,
                                  struct diag *d) {
    int errors = diag_errors(d);
    struct parser p = {.arena = a, .names = names, .source = s, .diag = d};
    p.tokens = lex_expression(a, names, s, (struct span){0, s->length}, d);
    parse_expression_tokens(&p);
    return diag_errors(d) == errors ? p.expression : NULL;
}
