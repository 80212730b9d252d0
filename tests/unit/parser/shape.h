/* shape.h: a tree as one text without spans, so that two trees can be compared. */
#ifndef TILEC_SHAPE_H
#define TILEC_SHAPE_H
#include "base/text.h"
#include "parser/ast.h"

void shape_of_module(struct text *t, const struct ast_module *m);
void shape_of_expr(struct text *t, const struct ast_expr *e);

#endif
