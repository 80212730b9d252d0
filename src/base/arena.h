/* arena.h: one bump arena per compilation; nothing is freed alone. */
#ifndef TILEC_ARENA_H
#define TILEC_ARENA_H
#include <stddef.h>

struct arena;

struct arena *arena_new(void);
struct arena *arena_new_large(void); /* for what will take a megabyte and more */
void arena_free(struct arena *a);

/* Zeroed memory, aligned to 16 bytes, never NULL: out of memory ends the process with status 70. */
void *arena_alloc(struct arena *a, size_t bytes);

/* Copies of text that live as long as the arena. */
char *arena_strndup(struct arena *a, const char *text, size_t length);
char *arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Bytes handed out so far. */
size_t arena_bytes(const struct arena *a);

#define arena_make(a, type)         ((type *)arena_alloc((a), sizeof(type)))
#define arena_array(a, type, count) ((type *)arena_alloc((a), sizeof(type) * (size_t)(count)))

#endif
