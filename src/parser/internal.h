/* internal.h: what grammar.y, build.c, check.c and fstring.c share. */
#ifndef TILEC_PARSER_INTERNAL_H
#define TILEC_PARSER_INTERNAL_H
#include "parser.h"

struct parser {
    struct arena *arena;
    struct interns *names;
    const struct source *source;
    const struct tokens *tokens;
    struct diag *diag;
    int at;                /* the next token */
    int current;           /* the one the grammar looks at */
    int start;             /* what is parsed: a grammar token before all others, 0 once taken */
    bool line_owed;        /* a line end is to be made up, see report_syntax */
    struct span broken;    /* an f-string with an error: the rest of its line may be its victim */
    bool deep;             /* a nesting error was reported */
    bool in_match;         /* a 'match' was reported: its cases need no report */
    struct ast_stmt *body; /* the result */
    struct ast_expr *expression; /* or this */
};

/* Lists under construction. */
struct expr_list {
    struct ast_expr *first, *last;
    bool comma; /* ends in ',' */
};
struct stmt_list {
    struct ast_stmt *first, *last;
};
struct argument_list {
    struct ast_argument *first, *last;
};
struct parameter_list {
    struct ast_parameter *first, *last;
    bool keyword_only; /* a '*' was seen */
};
struct slice_list {
    struct ast_slice *first, *last;
    bool comma;
};
struct with_list {
    struct ast_with *first, *last;
};
struct dict_list {
    struct ast_expr *keys, *last_key, *values, *last_value;
};

/* grammar.y */
void parse_tokens(struct parser *p);            /* a file */
void parse_expression_tokens(struct parser *p); /* one expression */

/* build.c: nodes. Each takes the span of the whole. */
struct ast_expr *make_expr(struct parser *p, struct ast_expr e);
struct ast_expr *make_atom(struct parser *p, enum ast_expr_kind kind, struct span span);
struct ast_expr *make_name(struct parser *p, struct token name);
struct ast_expr *make_unary(struct parser *p, enum ast_operator op, struct ast_expr *operand,
                            struct span span);
struct ast_expr *make_binary(struct parser *p, enum ast_operator op, struct ast_expr *lhs,
                             struct ast_expr *rhs);
struct ast_expr *make_comparison(struct parser *p, enum ast_operator op, struct ast_expr *lhs,
                                 struct ast_expr *rhs);
struct ast_expr *extend_comparison(struct parser *p, struct ast_expr *chain, enum ast_operator op,
                                   struct ast_expr *rhs);
struct ast_expr *finish_comparison(struct ast_expr *chain);
struct ast_expr *make_items(struct parser *p, enum ast_expr_kind kind, struct expr_list items,
                            struct span span);
struct ast_expr *tuple_or_one(struct parser *p, struct expr_list items, struct span span);
struct ast_expr *make_choice(struct parser *p, struct ast_expr *then, struct ast_expr *test,
                             struct ast_expr *otherwise);
struct ast_expr *make_call(struct parser *p, struct ast_expr *callee,
                           struct argument_list arguments, struct span span);
struct ast_expr *make_index(struct parser *p, struct ast_expr *base, struct slice_list at,
                            struct span span);
struct ast_expr *make_attribute(struct parser *p, struct ast_expr *base, struct token name);
struct ast_expr *make_lambda(struct parser *p, struct parameter_list parameters,
                             struct ast_expr *body, struct span span);
struct ast_expr *make_comprehension(struct parser *p, struct ast_expr *item, struct ast_expr *loop,
                                    struct span span, char bracket);
struct ast_expr *make_dict(struct parser *p, struct dict_list d, struct span span);
struct ast_expr *make_starred(struct parser *p, struct ast_expr *value, struct span span);

struct expr_list expr_append(struct expr_list l, struct ast_expr *e);
struct stmt_list stmt_append(struct stmt_list l, struct ast_stmt *s);
struct stmt_list stmt_concat(struct stmt_list a, struct stmt_list b);
struct argument_list argument_append(struct argument_list l, struct ast_argument *a);
struct parameter_list parameter_append(struct parser *p, struct parameter_list l,
                                       struct ast_parameter *q);
struct slice_list slice_append(struct slice_list l, struct ast_slice *s);
struct with_list with_append(struct with_list l, struct ast_with *w);
struct dict_list dict_append(struct dict_list l, struct ast_expr *key, struct ast_expr *value);

struct ast_argument *make_argument(struct parser *p, struct sym *keyword, struct ast_expr *value,
                                   struct span span);
struct ast_parameter *make_parameter(struct parser *p, struct token name,
                                     struct ast_expr *annotation, struct ast_expr *preset,
                                     struct span span);
struct ast_slice *make_slice(struct parser *p, struct ast_slice s);
struct ast_with *make_with(struct parser *p, struct ast_expr *value, struct ast_expr *target);

struct ast_stmt *make_stmt(struct parser *p, struct ast_stmt s);
struct ast_stmt *make_assignment(struct parser *p, struct expr_list sides, struct span span);
struct ast_stmt *make_if(struct parser *p, struct ast_expr *test, struct stmt_list then,
                         struct ast_stmt *otherwise, struct span span);
struct ast_stmt *make_import(struct parser *p, struct sym *module, struct sym *as,
                             struct span span);
struct stmt_list import_from(struct parser *p, struct sym *module, struct stmt_list names);
struct sym *join_names(struct parser *p, struct sym *a, struct sym *b); /* a.b */
struct sym *join_path(struct parser *p, struct expr_list names);        /* a.b.c… */

/* check.c: what a grammar cannot say, and how errors are said. */
struct ast_expr *check_target(struct parser *p, struct ast_expr *e);
void check_parameters(struct parser *p, const struct ast_parameter *first);
void check_arguments(struct parser *p, const struct ast_argument *first);
void report_unsupported(struct parser *p, struct span span, const char *what);
void report_deep(struct parser *p, struct span span);
void report_syntax(struct parser *p, int found, const int *expected, int count);

/* fstring.c: neighbouring literals become one node. */
struct ast_expr *make_string(struct parser *p, struct token t);
struct ast_expr *join_strings(struct parser *p, struct expr_list literals, struct span span);

#endif
