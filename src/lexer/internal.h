/* internal.h: what scan.l, indent.c, literal.c and lexer.c share. */
#ifndef TILEC_LEXER_INTERNAL_H
#define TILEC_LEXER_INTERNAL_H
#include "lexer.h"

struct bracket {
    enum token_kind kind;
    struct span span;
};

struct lexer {
    struct arena *arena;
    struct interns *names;
    const struct source *source;
    struct diag *diag;
    struct tokens *tokens;
    uint32_t offset;              /* of the next byte */
    struct span here;             /* of the text that matched */
    VEC(struct bracket) brackets; /* open ones */
    VEC(int) columns;             /* of the enclosing blocks; the outermost is 0 */
    bool expression;              /* no lines: a line end is a blank */
    bool line_inside;             /* this line began inside brackets and has no token yet */
    bool tab_reported;
    bool stopped;                  /* nothing more is wanted */
    enum token_kind first_of[128]; /* the first token that is spelled with this character first */
    enum token_kind next_of[TOK_COUNT];
};

/* scan.l */
void scan(struct lexer *x, struct span part);

/* lexer.c */
void lexer_push(struct lexer *x, struct token t);
void lexer_bad(struct lexer *x, uint32_t offset); /* notes that something was reported there */
void lexer_name(struct lexer *x, const char *text, size_t length);
void lexer_mark(struct lexer *x, const char *text, size_t length);
void lexer_string(struct lexer *x);
void lexer_unclosed_string(struct lexer *x);
void lexer_stray(struct lexer *x, const char *text, size_t length);

/* indent.c */
void line_ends(struct lexer *x);
void line_begins(struct lexer *x, const char *blanks, size_t length);
void line_resumes(struct lexer *x); /* a statement begins where a bracket was still open */
void file_ends(struct lexer *x);

/* number.c */
void lexer_integer(struct lexer *x, const char *text, size_t length);
void lexer_float(struct lexer *x, const char *text, size_t length);

#endif
