/* hazard.h: what hazard.c and uses.c share: the accesses of a kernel and the state between them. */
#ifndef TILEC_SCHEDULE_HAZARD_H
#define TILEC_SCHEDULE_HAZARD_H
#include "internal.h"

enum map_kind {
    MAP_UNKNOWN,
    MAP_DOMAIN, /* the element's place in a domain says which thread */
    MAP_THREAD  /* every thread accesses the one element that its number gives */
};

struct thread_map {
    enum map_kind kind;
    int axis[TILE_RANK];          /* of the layout, for each axis of the buffer; -1: none */
    struct expr *base[TILE_RANK]; /* index = base + coordinate */
    const struct layout *layout;  /* of a MAP_DOMAIN */
};

struct use { /* one access to memory that threads share */
    int node;
    struct access access;
    const struct buffer *root; /* the storage: views looked through */
    unsigned kind;
    bool async, atomic;
    unsigned moving;   /* axes whose index is not fixed for the whole kernel */
    unsigned personal; /* axes whose index is not the same in all threads */
    struct thread_map map;
};

enum slot_kind { SLOT_ANY, SLOT_CONSTANT, SLOT_COUNTED };
struct slot { /* COUNTED: (iteration of the loop + value) mod the counter's slots */
    enum slot_kind kind;
    int loop, value;
};

struct counter { /* LET v = phase; FOR { … SET v = next(v) … } */
    const struct var *var;
    int loop, slots, phase;
    bool active; /* within the loop */
    int advanced;
};

struct counted { /* the loop's counters select slots of the buffer */
    const struct buffer *root;
    int loop;
};

struct event {
    int use, root; /* root: id of the use's */
    int open;      /* copies under way: COMMITs since; INT32_MAX: done */
    struct slot slot;
    unsigned forgotten; /* axes whose index no longer means the same */
    int before;         /* 1 + place of the event before it that is of the same use; 0: none */
};

struct state {
    bool dead;  /* no way leads here */
    bool mixed; /* events may have become alike */
    VEC(struct event) events;
    int *last; /* by use: 1 + place of its last event; NULL while there was no event */
};

/* What two uses have to do with each other, whatever came between them. */
struct relation {
    bool meet;      /* both may touch an element, and one writes */
    bool own;       /* the same thread does, as long as the indices along `fixed` mean the same */
    unsigned apart; /* axes that keep them apart as long as their indices mean the same */
    unsigned fixed;
};
struct related {
    int first, second; /* use + 1, use */
    struct relation relation;
};
enum { MOST_RELATED = 1 << 13 };

struct hazards {
    struct module *module;
    struct arena *arena;
    struct kernel *kernel;
    struct outline outline;
    struct uniformity *uniformity;
    struct fence *fences;
    bool *divergent; /* by node: the outermost branch or loop that not all threads take */
    int *first_use;  /* by node, and one more */
    VEC(struct use) uses;
    bool meaning; /* of split.c: fragments are exchanged, too */
    bool reading; /* some index is read from memory */
    bool *idle;   /* by use: part of no hazard as long as fences are only added */
    bool *met;    /* by use: part of one that a run found */
    VEC(struct counted) counted;
    VEC(struct counter) counters;
    VEC(struct hazard) found;
    int *found_slot; /* by both nodes: 1 + place in `found`; open addressing, at most half full */
    int found_room;
    int enough;              /* a run ends when it has found more */
    struct related *related; /* by pair of uses, what came last at its place: a cache */
    int related_room;
    VEC(struct state) spare;      /* storage of states that are no longer needed */
    const struct buffer *fold[2]; /* only hazards between these two count; NULL: all */
};

const struct expr *use_slot(const struct use *u); /* of an access to a ring */
/* Who does an access of the statement, which is no part of a MAP. */
struct thread_map map_of_access(const struct hazards *h, const struct stmt *s,
                                const struct access *a);
/* Axis k never meets that of the other while the indices mean the same, in whatever thread. */
bool axis_apart(const struct use *x, const struct use *y, int k);
/* May accesses of two statements meet in an element that different threads touch? */
bool uses_exchange(const struct use *x, const struct use *y);
bool thread_layouts_equal(const struct layout *a, const struct layout *b);

#endif
