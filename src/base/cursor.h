/* cursor.h: the few functions with which our own texts are read back.
 *
 * A failed expectation records the first error and makes every later call fail quietly, so a
 * reader needs one check at its end. Only cursor_expect and cursor_fail record an error (and a
 * number or string that begins but is malformed); the other functions only say what stands here. */
#ifndef TILEC_CURSOR_H
#define TILEC_CURSOR_H
#include "arena.h"
#include <stdbool.h>
#include <stdint.h>

struct cursor {
    struct arena *arena;
    const char *start, *at, *end;
    const char *error; /* NULL while all went well */
    int error_line;
    bool ended; /* the end of a last line without '\n' has been taken */
};

struct cursor cursor_new(struct arena *a, const char *text, size_t length);

void cursor_blank(struct cursor *c); /* skips blanks, not line ends */

/* Takes blanks, a comment ("; …") and '\n'. The end of the text counts once if '\n' lacks there. */
bool cursor_line_end(struct cursor *c);

bool cursor_at(const struct cursor *c, const char *s);  /* after blanks: does s stand here? */
bool cursor_take(struct cursor *c, const char *s);      /* takes s if it stands here */
bool cursor_expect(struct cursor *c, const char *s);    /* takes s or fails */
bool cursor_take_word(struct cursor *c, const char *s); /* s not followed by a name character */
const char *cursor_word(struct cursor *c); /* [A-Za-z_.$][A-Za-z0-9_.$]*, NULL if none */
bool cursor_integer(struct cursor *c, int64_t *value); /* with sign */
bool cursor_number(struct cursor *c, double *value);   /* any double text_double printed */
const char *cursor_string(struct cursor *c);           /* "…" with \" \\ \n */
void cursor_fail(struct cursor *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
