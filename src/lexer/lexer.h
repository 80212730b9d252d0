/* lexer.h: lex(): source in, array of tokens out, indentation explicit. */
#ifndef TILEC_LEXER_H
#define TILEC_LEXER_H
#include "base/diag.h"
#include "base/intern.h"
#include "base/vec.h"

enum token_kind {
#define TOKEN(id, spelling, group) TOK_##id,
#include "tokens.def"
    TOK_COUNT
};

struct token {
    enum token_kind kind;
    struct span span;
    union {
        struct sym *name;   /* TOK_NAME */
        int64_t integer;    /* TOK_INTEGER; literals above INT64_MAX are reported */
        double number;      /* TOK_FLOAT */
        struct sym *string; /* TOK_STRING, TOK_FSTRING: the characters, escapes resolved (an
                               f-string keeps its braces; the parser splits it) */
    } as;
};

struct tokens {
    VEC(struct token) list; /* ends with TOK_END */
    VEC(uint32_t)
    bad; /* where something was reported, ascending: the parser keeps silent in
            that statement */
};

/* Never fails: what cannot be a token is reported and skipped. Nesting of blocks and brackets is
 * limited to 200; beyond it an error. */
struct tokens *lex(struct arena *a, struct interns *names, const struct source *s, struct diag *d);

/* The tokens of one expression that stands in bytes `part` of the source, as in an f-string: line
 * ends are blanks, TOK_END is the only token added. */
struct tokens *lex_expression(struct arena *a, struct interns *names, const struct source *s,
                              struct span part, struct diag *d);

/* How a string literal is spelled: its quotes and prefix taken off. */
struct literal {
    struct span content; /* between the quotes */
    bool raw;
};
struct literal literal_of(const struct source *s, struct span token);

/* What bytes `part` of a literal mean, escapes resolved unless raw. */
struct sym *literal_value(struct arena *a, struct interns *names, const struct source *s,
                          struct literal part, struct diag *d);

enum { NESTING_LIMIT = 200 }; /* of brackets, and of blocks */

const char *token_text(enum token_kind k); /* "'('", "name", "end of line": for messages */
void tokens_print(struct text *t, const struct tokens *tokens, const struct source *s);

#endif
