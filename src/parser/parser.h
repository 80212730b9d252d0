/* parser.h: parse(): tokens in, tree out; ast_print(): the tree back as source. */
#ifndef TILEC_PARSER_H
#define TILEC_PARSER_H
#include "lexer/lexer.h"
#include "parser/ast.h"

/* Reports each unrelated mistake once and goes on; never NULL. Expression nesting is limited (an
 * error beyond it), so later stages may recurse over the tree. */
struct ast_module *parse(struct arena *a, struct interns *names, const struct source *s,
                         const struct tokens *tokens, struct diag *d);

/* Parses one expression, for -D NAME=VALUE. NULL after a report. */
struct ast_expr *parse_expression(struct arena *a, struct interns *names, const struct source *s,
                                  struct diag *d);

void ast_print(struct text *t, const struct ast_module *m);
void ast_expr_print(struct text *t, const struct ast_expr *e);

#endif
