/* arena.c: one bump arena per compilation; nothing is freed alone.
 *
 * Small blocks come from calloc. Large ones are mapped, so fresh memory is zero without touching
 * it, and lie in huge pages where the system has them: a compilation lasts milliseconds, of which
 * a fault for every 4 KiB would take a fifth. A request larger than a block gets a block of its
 * own and leaves the current one in use. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, madvise */
#include "arena.h"
#include "internal.h"
#include "vec.h"
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define POISON(at, bytes)   ASAN_POISON_MEMORY_REGION((at), (bytes))
#define UNPOISON(at, bytes) ASAN_UNPOISON_MEMORY_REGION((at), (bytes))
enum { RED_ZONE = 16 };
#else
#define POISON(at, bytes)   ((void)(at), (void)(bytes))
#define UNPOISON(at, bytes) ((void)(at), (void)(bytes))
enum { RED_ZONE = 0 };
#endif

enum { ALIGNMENT = 16, FIRST_BLOCK = 1 << 12, LARGEST_BLOCK = 1 << 22, HUGE_PAGE = 1 << 21 };

struct block {
    struct block *older;
    size_t bytes;  /* after the header */
    char *mapping; /* NULL: from calloc */
    size_t mapped; /* bytes */
    _Alignas(ALIGNMENT) char memory[];
};

struct arena {
    struct block *blocks;
    char *at, *end; /* free part of the block in use */
    size_t next_block, handed_out;
};

_Noreturn static void out_of_memory(void) {
    fputs("tilec: out of memory\n", stderr);
    exit(70);
}

struct arena *arena_new(void) {
    struct arena *a = calloc(1, sizeof *a);
    if (!a) out_of_memory();
    a->next_block = FIRST_BLOCK;
    return a;
}

struct arena *arena_new_large(void) {
    struct arena *a = arena_new();
    a->next_block = HUGE_PAGE;
    return a;
}

void arena_free(struct arena *a) {
    if (!a) return;
    for (struct block *b = a->blocks, *older; b; b = older) {
        older = b->older;
        UNPOISON(b->memory, b->bytes);
        if (b->mapping)
            munmap(b->mapping, b->mapped);
        else
            free(b);
    }
    free(a);
}

/* Zeroed, in whole huge pages: the mapping is larger by one, so that the block can begin where one
 * begins. */
static struct block *map_block(size_t size) {
    size_t mapped = size + HUGE_PAGE;
    char *mapping = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) out_of_memory();
    char *begin = mapping + (HUGE_PAGE - (uintptr_t)mapping % HUGE_PAGE) % HUGE_PAGE;
#ifdef MADV_HUGEPAGE
    madvise(begin, size, MADV_HUGEPAGE);
#endif
    struct block *b = (struct block *)(void *)begin;
    b->mapping = mapping;
    b->mapped = mapped;
    return b;
}

static struct block *new_block(struct arena *a, size_t size) {
    struct block *b = size % HUGE_PAGE == 0 ? map_block(size) : calloc(1, size);
    if (!b) out_of_memory();
    size_t bytes = size - sizeof *b;
    b->older = a->blocks;
    b->bytes = bytes;
    a->blocks = b;
    POISON(b->memory, bytes);
    return b;
}

static size_t room_for(size_t bytes) {
    return (bytes + !bytes + RED_ZONE + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

void *arena_alloc(struct arena *a, size_t bytes) {
    if (bytes > SIZE_MAX / 4) out_of_memory();
    size_t need = room_for(bytes);
    char *memory;
    a->handed_out += bytes;
    if (need <= (size_t)(a->end - a->at)) {
        memory = a->at;
        a->at += need;
    } else if (need > a->next_block / 4) {
        memory = new_block(a, sizeof(struct block) + need)->memory;
    } else {
        struct block *b = new_block(a, a->next_block);
        memory = b->memory;
        a->at = b->memory + need;
        a->end = b->memory + b->bytes;
        if (a->next_block < LARGEST_BLOCK) a->next_block *= 2;
    }
    UNPOISON(memory, bytes);
    return memory;
}

bool arena_extend(struct arena *a, void *memory, size_t bytes, size_t more) {
    char *begin = memory;
    size_t before = room_for(bytes), after = room_for(more);
    if (!begin || begin + before != a->at || after - before > (size_t)(a->end - a->at))
        return false;
    a->at = begin + after;
    a->handed_out += more - bytes;
    UNPOISON(begin, more);
    return true;
}

void arena_trim(struct arena *a, void *memory, size_t bytes, size_t fewer) {
    char *begin = memory;
    if (begin + room_for(bytes) != a->at) return;
    a->at = begin + room_for(fewer);
    a->handed_out -= bytes - fewer;
    POISON(begin + fewer, bytes - fewer);
}

char *arena_strndup(struct arena *a, const char *text, size_t length) {
    char *copy = arena_alloc(a, length + 1);
    if (length) memcpy(copy, text, length);
    return copy;
}

size_t arena_bytes(const struct arena *a) { return a->handed_out; }

void *vec_grow(struct arena *a, void *items, int count, int *room, size_t size) {
    if (*room > INT_MAX / 2) out_of_memory();
    size_t before = (size_t)*room * size;
    *room = *room ? *room * 2 : 8;
    if (before && arena_extend(a, items, before, (size_t)*room * size)) return items;
    void *grown = arena_alloc(a, (size_t)*room * size);
    if (count) memcpy(grown, items, (size_t)count * size);
    return grown;
}
