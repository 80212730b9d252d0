/* source.h: a file's text, spans of it, and the line of a span. */
#ifndef TILEC_SOURCE_H
#define TILEC_SOURCE_H
#include "arena.h"
#include <stdbool.h>
#include <stdint.h>

/* Bytes [begin, end) of the source; begin == end == 0 means "nowhere". */
struct span {
    uint32_t begin, end;
};

struct source {
    const char *path; /* as the user gave it */
    const char *text; /* ends in NUL, which is not counted */
    uint32_t length;
    uint32_t *line_start; /* byte offset of each line */
    int lines;
};

/* Lines and columns count from 1; the column counts bytes. */
struct position {
    int line, column;
};

struct source *source_of_text(struct arena *a, const char *path, const char *text, size_t length);

/* Reads `path` ("-" is standard input). NULL with *why set if that fails or the file exceeds 2 GiB.
 */
struct source *source_read(struct arena *a, const char *path, const char **why);

struct position source_position(const struct source *s, uint32_t offset);
struct span source_line(const struct source *s, int line); /* without its line end */
struct span span_join(struct span a, struct span b);

#endif
