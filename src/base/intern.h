/* intern.h: one struct sym per spelling; equal names are equal pointers. */
#ifndef TILEC_INTERN_H
#define TILEC_INTERN_H
#include "arena.h"
#include <stdint.h>

struct sym {
    const char *text; /* ends in NUL */
    uint32_t length;
    uint32_t id; /* order of first appearance: a deterministic sort key */
};

struct interns;

struct interns *interns_new(struct arena *a);
struct sym *intern(struct interns *s, const char *text, size_t length);
struct sym *intern_text(struct interns *s, const char *text);

#endif
