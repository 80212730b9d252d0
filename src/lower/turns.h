/* turns.h: what turns.c finds and turns_build.c makes of it. */
#ifndef TILEC_LOWER_TURNS_H
#define TILEC_LOWER_TURNS_H
#include "lower/internal.h"

enum { DEPTH = 4, TURNS = 512, FOLLOW = 4, COPIES = 16, WRITES = 256 };

struct rolled { /* loops that unroll, each around the next alone */
    int32_t depth;
    struct kstmt *loop[DEPTH];
    int64_t extent[DEPTH], turns;
    int32_t tests;
    struct expr *test[DEPTH]; /* of branches between the loops */
};

struct linear { /* of a nest's variables */
    int64_t constant, factor[DEPTH];
};

/* A variable of one nest by those of another: the sum, and factor * (one of them / divide %
 * modulo). */
struct fit {
    struct linear linear;
    int level;
    int64_t factor, divide, modulo;
};

struct stored { /* where a statement stores */
    const struct buffer *buffer;
    struct expr *index;
    struct linear linear; /* what of the index differs between turns */
    int64_t *at;          /* that, by turn */
    int64_t width;        /* elements */
};

struct reads { /* loops that store registers of the turns */
    struct rolled nest;
    VEC(struct linear) of; /* the registers that one turn of it reads */
    VEC(struct stored) to;
    VEC(struct array *) own; /* declared in it */
    VEC(struct var *) own_vars;
    int32_t count;                 /* turns of it for one of the first loop */
    int32_t *turn;                 /* which: count for each turn of the first loop */
    struct fit fit[COPIES][DEPTH]; /* its variables, of the first loop's */
};

struct turns {
    struct module *m;
    struct kernel *k;
    struct rolled nest;
    struct part part;
    const struct part_window *window; /* what the turns put */
    struct linear base;               /* of its index */
    int32_t *owner;                   /* by register: the turn that puts it, or -1 */
    struct reads follow[FOLLOW];
    int32_t follows;
    VEC(struct kstmt *) tops;       /* statements of the block that hold them */
    VEC(struct kstmt *) notes;      /* the comment of each, or NULL */
    VEC(struct var *) between;      /* declared between the loops */
    VEC(struct kstmt *) moved;      /* declarations that the stores need earlier */
    VEC(const struct buffer *) met; /* read or written between them */
    bool fits;
    bool sunk; /* variables of the outer loops are the turn's own now */
};

/* -- turns.c -- */
static inline struct kblock *rolled_body(const struct rolled *n) {
    return &n->loop[n->depth - 1]->loop.body;
}

bool linear_of(const struct rolled *n, const struct expr *e, struct linear *out);
int64_t value_at(const struct rolled *n, const struct linear *l, int64_t turn);

/* -- turns_build.c -- */
/* Makes the turn that also stores and puts it in place; false: it would be no function. */
bool turns_build(struct turns *t, struct kblock *b);
#endif
