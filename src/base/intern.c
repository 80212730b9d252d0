/* intern.c: one struct sym per spelling; equal names are equal pointers. */
#include "intern.h"
#include <string.h>

struct entry {
    uint32_t hash;
    struct sym *sym;
};

struct interns {
    struct arena *arena;
    struct entry *table; /* open addressing, at most half full */
    uint32_t room;       /* a power of two */
    uint32_t count;
};

struct interns *interns_new(struct arena *a) {
    struct interns *s = arena_make(a, struct interns);
    s->arena = a;
    s->room = 256;
    s->table = arena_array(a, struct entry, s->room);
    return s;
}

static uint32_t hash_of(const char *text, size_t length) {
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash;
}

static void grow(struct interns *s) {
    struct entry *old = s->table;
    uint32_t old_room = s->room;
    s->room *= 2;
    s->table = arena_array(s->arena, struct entry, s->room);
    for (uint32_t i = 0; i < old_room; i++) {
        if (!old[i].sym) continue;
        uint32_t at = old[i].hash & (s->room - 1);
        while (s->table[at].sym) at = (at + 1) & (s->room - 1);
        s->table[at] = old[i];
    }
}

struct sym *intern(struct interns *s, const char *text, size_t length) {
    uint32_t hash = hash_of(text, length), at = hash & (s->room - 1);
    for (; s->table[at].sym; at = (at + 1) & (s->room - 1)) {
        struct sym *y = s->table[at].sym;
        if (s->table[at].hash == hash && y->length == length && !memcmp(y->text, text, length))
            return y;
    }
    struct sym *y = arena_make(s->arena, struct sym);
    *y = (struct sym){arena_strndup(s->arena, text, length), (uint32_t)length, s->count++};
    s->table[at] = (struct entry){hash, y};
    if (s->count * 2 > s->room) grow(s);
    return y;
}

struct sym *intern_text(struct interns *s, const char *text) {
    return intern(s, text, strlen(text));
}
