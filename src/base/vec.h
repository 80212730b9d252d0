/* vec.h: VEC(T), a typed growing array in an arena. */
#ifndef TILEC_VEC_H
#define TILEC_VEC_H
#include "arena.h"
#include <string.h>

/* A zeroed VEC is empty; vec_push(arena, &vec, item). Growth moves the items: keep indices, not
 * pointers, across a push. */
#define VEC(type)        \
    struct {             \
        type *at;        \
        int count, room; \
    }

void *vec_grow(struct arena *a, void *items, int count, int *room, size_t size); /* arena.c */

#define vec_push(a, v, ...)                                                                  \
    ((v)->count == (v)->room                                                                 \
         ? (void)((v)->at = vec_grow((a), (v)->at, (v)->count, &(v)->room, sizeof *(v)->at)) \
         : (void)0,                                                                          \
     (v)->at[(v)->count++] = (__VA_ARGS__))

#endif
