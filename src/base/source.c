/* source.c: a file's text, spans of it, and the line of a span. */
#include "source.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void find_lines(struct arena *a, struct source *s) {
    const char *end = s->text + s->length;
    s->lines = 1;
    for (const char *p = s->text; (p = memchr(p, '\n', (size_t)(end - p))); p++) s->lines++;
    s->line_start = arena_array(a, uint32_t, s->lines);
    int line = 1;
    for (const char *p = s->text; (p = memchr(p, '\n', (size_t)(end - p))); line++)
        s->line_start[line] = (uint32_t)(++p - s->text);
}

struct source *source_of_text(struct arena *a, const char *path, const char *text, size_t length) {
    struct source *s = arena_make(a, struct source);
    s->path = arena_strndup(a, path, strlen(path));
    s->text = arena_strndup(a, text, length);
    s->length = (uint32_t)length;
    find_lines(a, s);
    return s;
}

enum { LARGEST_FILE = 0x7fff0000 };

/* The whole stream in memory of malloc; NULL with *why set if that fails. */
static char *read_all(FILE *file, size_t *length, const char **why) {
    size_t room = 1 << 16;
    char *text = malloc(room);
    *length = 0;
    while (text) {
        size_t got = fread(text + *length, 1, room - *length, file);
        *length += got;
        if (*length > LARGEST_FILE) {
            *why = "the file is larger than 2 GiB";
            break;
        }
        if (*length < room) {
            if (!ferror(file)) return text;
            *why = strerror(errno);
            break;
        }
        char *grown = realloc(text, room *= 2);
        if (!grown) *why = strerror(ENOMEM);
        if (!grown) break;
        text = grown;
    }
    if (!text) *why = strerror(ENOMEM);
    free(text);
    return NULL;
}

struct source *source_read(struct arena *a, const char *path, const char **why) {
    bool standard = !strcmp(path, "-");
    FILE *file = standard ? stdin : fopen(path, "rb");
    if (!file) {
        *why = strerror(errno);
        return NULL;
    }
    size_t length;
    char *text = read_all(file, &length, why);
    if (!standard) fclose(file);
    if (!text) return NULL;
    struct source *s = source_of_text(a, standard ? "<stdin>" : path, text, length);
    free(text);
    return s;
}

struct position source_position(const struct source *s, uint32_t offset) {
    if (offset > s->length) offset = s->length;
    int low = 0, high = s->lines; /* the line is in [low, high) */
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (s->line_start[middle] <= offset)
            low = middle;
        else
            high = middle;
    }
    return (struct position){low + 1, (int)(offset - s->line_start[low]) + 1};
}

struct span source_line(const struct source *s, int line) {
    if (line < 1) line = 1;
    if (line > s->lines) line = s->lines;
    uint32_t begin = s->line_start[line - 1];
    uint32_t end = line < s->lines ? s->line_start[line] - 1 : s->length;
    if (end > begin && s->text[end - 1] == '\r') end--;
    return (struct span){begin, end};
}

struct span span_join(struct span a, struct span b) {
    if (!a.begin && !a.end) return b;
    if (!b.begin && !b.end) return a;
    return (struct span){a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end};
}
