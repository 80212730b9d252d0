/* plan.h: what the files of src/layout share: a kernel as sites (tile operations) and views (how a
 * site touches a buffer), and the questions asked of them. */
#ifndef TILEC_PLAN_H
#define TILEC_PLAN_H
#include "ir/tile.h"
#include "layout/place.h"

/* How a MAP or COPY touches a buffer. Views of one buffer with equal indices are one view. */
struct view {
    struct buffer *buffer;
    unsigned kind;       /* ACCESS_READ | ACCESS_WRITE */
    bool in_place;       /* FRAGMENT: each axis is a domain axis of its own or a constant */
    bool full;           /* in place, and every domain axis of more than one element occurs */
    bool pinned;         /* in place, and an axis of more than one element has a constant index */
    int axis[TILE_RANK]; /* in place: domain axis of each buffer axis; -1: constant */
    struct expr *index[TILE_RANK]; /* as written; for a COPY base + axis */
    double stage_weight; /* FRAGMENT only read: how often a scratch copy of it would be made */
    /* GLOBAL and SHARED: the element offset as a function of the domain axes. */
    bool affine;
    int64_t coefficient[TILE_RANK]; /* by domain axis, in elements; symbolic strides: a stand-in */
    int64_t alignment;              /* known divisor of all that does not move along `run_axis` */
    int run_axis;                   /* domain axis with coefficient 1, -1 without */
};

/* The statements around a site, innermost first. */
struct nest {
    struct stmt *stmt;   /* FOR, WHILE, IF */
    struct block *block; /* that holds it */
    struct nest *outer;
};

/* A statement that wants layouts. */
struct site {
    struct stmt *stmt;
    struct block *block;    /* that holds it */
    struct nest *nest;      /* NULL at the top */
    double weight;          /* guess at how often it runs a block */
    int work;               /* operations an iteration of a MAP */
    bool everyone;          /* COPY of a LOCAL array: every thread copies all of it */
    bool once;              /* MAP that no copies may run: it uses an atomic's old value, or reads
                               memory that it writes */
    VEC(struct view) views; /* MAP, COPY */
    bool searched;
    struct layout free_domain; /* the best domain as far as memory is concerned */
};

/* A fragment whose contents the copy `stmt` has put into `scratch`. */
struct staged {
    struct stmt *stmt;
    struct buffer *fragment, *scratch;
};

struct candidates {
    VEC(struct layout) layouts;
    VEC(uint64_t) hashes; /* of each; most layouts differ by them */
};

struct plan {
    struct module *m;
    struct function_ir *f;
    struct kernel *k;
    struct arena *arena;
    int warps;
    VEC(struct site) sites;
    VEC(struct buffer *) trail; /* fragments in the order in which they got their layout */
    struct candidates partitions; /* of the site last looked at */
    VEC(struct staged) staged;  /* scratch copies made so far */
    bool trying;                /* layouts are given on trial: nothing is remarked */
};

/* -- persist.c: blocks that take several tiles in turn ------------------------------------------ */
bool persist(struct module *m, struct function_ir *f, struct kernel *k);

/* -- normal.c: rewrites that leave gemm and reduce operands whole fragments -------------------- */
void normalise(struct plan *p);

/* -- defer.c: reductions that accumulate over a loop move behind it ---------------------------- */
void defer(struct plan *p);
enum function reduce_function(const struct stmt *r); /* what combines two elements */

/* -- make.c ------------------------------------------------------------------------------------ */
struct var *new_axis(struct plan *p, int number, int32_t extent, struct span span);
struct buffer *new_buffer(struct plan *p, enum scope scope, const char *base,
                          const struct buffer *like);
/* A fragment of a box's extents; unit axes before the last `least_rank` are left out. */
struct buffer *new_fragment(struct plan *p, const char *base, const struct region *box,
                            int least_rank);
struct stmt *new_copy(struct plan *p, const struct region *src, const struct region *dst,
                      struct span span);
struct stmt *copy_whole(struct plan *p, struct buffer *from, struct buffer *to, struct span span);
struct stmt *new_map(struct plan *p, const struct buffer *like, struct span span);
void domain_indices(struct plan *p, const struct domain *d, struct expr **index);
struct stmt *new_store(struct plan *p, struct buffer *b, struct expr *const *index,
                       struct expr *value, struct span span);
bool has_unit_axis(const struct buffer *b);
struct stmt *copy_shaped(struct plan *p, struct buffer *from, struct buffer *to, struct span span);
void put_before(struct site *s, struct stmt *new_stmt);
void put_after(struct site *s, struct stmt *new_stmt);

/* -- sites.c ----------------------------------------------------------------------------------- */
void collect_sites(struct plan *p);
/* The domain of a MAP or COPY; NULL of others. */
struct domain *site_domain(const struct site *s);
unsigned kinds_of(const struct site *s, const struct buffer *b); /* enum access_kind, a set */
/* How `index` of a fragment looks from the domain. */
void view_classify(struct view *v, const struct domain *d);

/* -- candidates.c ------------------------------------------------------------------------------ */
/* A partition of a tile: `vector` registers along the axis `fast`, then lanes, warps, registers. */
struct split {
    int fast, vector;
    int lanes[TILE_RANK], warps[TILE_RANK];
};
struct layout split_layout(int rank, const int32_t *extent, const struct split *s);
/* Partitions of a tile along the axes of the bit set `fast`, without wasteful ones. */
void add_partitions(struct plan *p, struct candidates *c, int rank, const int32_t *extent,
                    unsigned fast);
/* Tiles of which `slice` (axis k of it is axis axis[k] of the tile) is the slice. */
void add_extensions(struct plan *p, struct candidates *c, const struct layout *slice,
                    const int *axis, const struct domain *tile);
void add_candidate(struct plan *p, struct candidates *c, const struct layout *l);

/* -- relate.c: layouts seen through views ------------------------------------------------------ */
struct layout domain_of_view(const struct domain *d, const struct view *v, const struct layout *l);
struct layout view_of_domain(const struct view *v, const struct layout *domain);
/* Every thread that runs an iteration holds the element the view touches, in a register known at
 * compile time; for a write also the reverse: all copies are written. */
bool held_in_place(const struct layout *domain, const struct view *v, const struct layout *l);
/* The result layouts of a reduction: complete, and with one element a warp that shares the axis. */
struct layout reduced_layout(const struct layout *src, int axis, bool keep_unit);
struct layout partial_layout(const struct layout *src, int axis, int32_t parts);
/* The WARP digit of an axis: radix (1 without) and weight; false if there are several. */
bool axis_warps(const struct layout *l, int axis, int32_t *parts, int32_t *weight);
/* The layout that the mma row wants of operand 'a', 'b' or 'c', in the buffer's own axes. */
struct layout gemm_layout(const struct module *m, const struct stmt *gemm, char operand);

/* -- cost.c: estimates in issue slots of one block --------------------------------------------- */
double domain_cost(const struct plan *p, const struct site *s, const struct layout *domain);
double reduce_cost(const struct plan *p, const struct layout *src, int axis);
double convert_cost(const struct plan *p, const struct buffer *b);
/* Views of different tensors that move alike cost alike. */
bool moves_alike(const struct view *a, const struct view *b);
int view_vector(const struct view *v, const struct layout *domain); /* elements an access */

/* -- solve.c: gives every fragment a layout and every site a domain ---------------------------- */
void solve(struct plan *p);

/* -- convert.c, exchange.c: makes explicit what is not held in place --------------------------- */
void convert(struct plan *p);
void exchange(struct plan *p, struct site *s); /* a REDUCE */
struct stmt *store_copy(struct plan *p, struct buffer *fragment, struct buffer *scratch,
                        struct span span);
/* Copies one fragment to another, through scratch where threads must exchange. */
void move_fragment(struct plan *p, struct site *s, struct buffer *from, struct buffer *to,
                   bool before);

/* -- memory.c: layouts of shared buffers ------------------------------------------------------- */
void place_shared(struct plan *p);

/* -- explain.c --------------------------------------------------------------------------------- */
void explain_fragment(struct plan *p, const struct buffer *b, const char *why);
void explain_choice(struct plan *p, const struct buffer *b, const struct layout *second,
                    const double *cost);

#endif
