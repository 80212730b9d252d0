/* text.h: growing text with indentation; every dump and all CUDA goes through it. */
#ifndef TILEC_TEXT_H
#define TILEC_TEXT_H
#include "arena.h"
#include <stdbool.h>

struct text {
    struct arena *arena;
    char *at; /* ends in NUL */
    size_t length, room;
    int indent;      /* levels of four spaces put in front of each line */
    bool line_begun; /* the current line already has its indentation */
};

struct text text_new(struct arena *a);

/* Appends; a '\n' inside ends a line, and the next line gets the indentation in force then. */
void text_printf(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_puts(struct text *t, const char *s);
void text_write(struct text *t, const char *s, size_t length);

/* A double so that reading it back gives the same bits, in the shortest decimal form; always with
 * a '.', an exponent, or one of "inf" "-inf" "nan". */
void text_double(struct text *t, double value);

#endif
