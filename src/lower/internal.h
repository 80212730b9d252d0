/* internal.h: what the files of lower share: the state, iteration plans, coordinates, values. */
#ifndef TILEC_LOWER_INTERNAL_H
#define TILEC_LOWER_INTERNAL_H
#include "lower/lower.h"

/* A binding of a tile-level variable to what replaces it; lists share their tails. */
struct env {
    struct env *outer;
    struct var *var;
    struct expr *value;
    bool source; /* the value is still tile level: an integer LET without loads */
};

/* A bound that the code being made may rely on: index is in 0 … dim-1. */
struct fact {
    struct expr *index, *dim;
};

/* Inside a branch a variable may have a smaller range: `clipped` stands for it in proofs. */
struct clip {
    struct var *var;
    struct expr *clipped;
};

/* The value of a memory read that has been made already, for one element of the vector body. */
struct loaded {
    struct expr *load;
    int32_t element;
    struct expr *value;
};

/* A loop's reads that stay in registers behind it. */
struct kept {
    const struct stmt *loop, *copy;
    struct array *array;
};

struct lowering {
    struct module *m;
    struct exprs *x;
    struct kernel *k;
    struct kernel_code *code;
    struct kblock *out;       /* where statements go */
    struct span span;         /* of the source statement being lowered */
    struct expr *lane, *warp; /* INDEX */
    struct array **arrays;    /* by buffer id: registers of fragments and small locals */
    struct {                  /* by buffer id: registers that a loop has read ahead; array NULL */
        struct array *array;
        struct expr *base; /* of this iteration's */
    } *ahead;
    struct env *env;          /* variables that changed their type or value */
    VEC(struct kept) kept;
    VEC(struct fact) facts;
    VEC(struct clip) clips;
    VEC(struct loaded) loaded;
    int32_t commented_line; /* of the last comment */
    int32_t loops;          /* depth of unrolled loops, for names of their variables */
    int32_t depth;            /* loops of the text around this statement */
    int32_t main_loop;      /* loops with a gemm around this statement */
};

/* -- emit.c: statements
 * ------------------------------------------------------------------------------ */
struct kstmt *add(struct lowering *l, enum kstmt_kind kind);
struct var *add_var(struct lowering *l, const char *name, enum dtype t, struct expr *value);
struct array *add_array(struct lowering *l, const char *name, enum dtype t, enum dtype element,
                        int32_t count);
void add_put(struct lowering *l, struct array *a, struct expr *index, struct expr *value);
/* Opens the body of a new statement; close with out_leave. */
struct kblock *add_if(struct lowering *l, struct expr *test);
struct kblock *add_else(struct lowering *l, struct kblock *then);
struct kblock *add_unrolled(struct lowering *l, struct var *v, int32_t count);
void out_leave(struct lowering *l, struct kblock *saved);
struct var *loop_var(struct lowering *l, int32_t count);
void comment(struct lowering *l, struct span span, const char *why);
void fault(struct lowering *l, const char *what); /* E0701: a statement that cannot be lowered */

struct expr *ix(struct lowering *l, int64_t value);
struct expr *plus(struct lowering *l, struct expr *a, struct expr *b);
struct expr *times(struct lowering *l, struct expr *a, int64_t b);
struct expr *both(struct lowering *l, struct expr *a, struct expr *b); /* either may be NULL */
struct expr *element(struct lowering *l, struct array *a, struct expr *index);
struct expr *bind(struct lowering *l, struct expr *e, const struct env *env);
/* Replaces only what is still tile level. */
struct expr *bind_source(struct lowering *l, struct expr *e, const struct env *env);

/* -- field.c: coordinates as digits
 * -------------------------------------------------------------------- A coordinate is a sum of
 * fields, each value * weight with 0 <= value < radix, no field reaching into another: then the
 * digits of any layout are read off exactly. */
enum field_kind { FIELD_LANE, FIELD_WARP, FIELD_LOOP, FIELD_CONSTANT, FIELD_UNIFORM };
enum { FIELDS = 24, PIECES = 48 };

struct field {
    enum field_kind kind;
    int32_t radix;  /* UNIFORM: INT32_MAX, unbounded */
    int32_t stride; /* LANE, WARP: value is (lane / stride) % radix */
    int64_t weight;
    struct expr *value; /* the others */
};

struct coordinate {
    int32_t count;
    struct field field[FIELDS];
    struct expr *value; /* the coordinate as an expression */
};

/* Part of an offset: value * scale, 0 <= value < radix. */
struct piece {
    enum field_kind kind;
    int64_t radix, scale;
    struct expr *value;
};
struct pieces {
    int32_t count;
    struct piece at[PIECES];
};

struct expr *field_value(struct lowering *l, const struct field *f);
struct coordinate coordinate_of(struct lowering *l, struct expr *value); /* opaque */
void coordinate_add(struct coordinate *c, struct field f);
void coordinate_finish(struct lowering *l, struct coordinate *c); /* sorts, makes value */
/* c * factor + constant; false if fields would overlap. */
bool coordinate_shift(struct lowering *l, struct coordinate *c, int64_t factor, int64_t constant);
bool coordinate_base(struct lowering *l, struct coordinate *c, struct expr *base);

/* Pieces of the digits of one space; false if a digit cuts a field (then use an opaque one). */
bool layout_pieces(struct lowering *l, const struct layout *layout, enum space space,
                   const struct coordinate *c, struct pieces *out);

/* -- fit.c: offsets and registers
 * -------------------------------------------------------------------------- */
/* Byte offset in a shared buffer of the element at these coordinates. */
struct expr *shared_offset(struct lowering *l, const struct buffer *b, const struct coordinate *c);

struct slot { /* a register element: part `part` of word `word` */
    struct array *array;
    struct expr *word;
    int32_t part;
};
int32_t array_parts(const struct array *a);
/* False if the part is not the same for all values of the loop variables. */
bool fragment_slot(struct lowering *l, const struct buffer *b, const struct coordinate *c,
                   struct slot *out);

/* -- plan.c: how a thread walks its share of a domain
 * ----------------------------------------------------------- */
enum { LOOPS = 16 };
enum { VECTOR = 16 };
struct plan_loop {
    struct var *var;
    struct expr *value; /* the variable, or a constant while it is expanded */
    int32_t radix, axis, stride;
    int64_t weight;
    bool expanded; /* by copies of the body instead of a loop */
};

struct plan_envs { /* those of the elements while the loops stand at these values */
    struct env *outer;
    int32_t loops;
    struct expr *value[LOOPS];
    struct env *at[VECTOR]; /* NULL: not asked for yet */
};

struct plan {
    const struct domain *domain;
    int32_t axis;   /* of the vector; -1: none */
    int32_t vector; /* consecutive elements along it that the body handles together */
    int32_t loops;  /* outermost first */
    struct plan_loop loop[LOOPS];
    struct expr *owner;  /* who does the side effects; NULL: everyone */
    struct expr *inside; /* iteration of element 0 is no padding; NULL: always */
    struct plan_envs envs;
};

void plan_make(struct lowering *l, struct plan *p, const struct domain *d, int32_t limit);
void plan_inside(struct lowering *l, struct plan *p);
struct coordinate plan_axis(struct lowering *l, const struct plan *p, int axis, int32_t e);
/* The environment of element e: axis variables bound to their coordinates. */
struct env *plan_env(struct lowering *l, struct plan *p, int32_t e);
/* The index of an access at element e as fields; opaque where it has no such form. */
struct coordinate plan_index(struct lowering *l, struct plan *p, struct expr *index, int32_t e);

/* Marks loops whose variable would choose the part of a packed word that the block reads or
 * writes. */
void plan_expand(struct lowering *l, struct plan *p, struct block *b);

/* Runs body inside the nest from loop `first` on. */
struct nest {
    struct plan *plan;
    int32_t from, to; /* loops */
    void (*body)(struct lowering *l, struct plan *p, void *data);
    void *data;
};
void nest_run(struct lowering *l, const struct nest *n);

/* -- value.c: expressions
 * ------------------------------------------------------------------------------------------ */
struct site {          /* where an expression is computed */
    struct plan *plan; /* NULL outside MAP */
    int32_t element;   /* of the vector body */
    struct env *env;   /* the element's variables */
};
enum dtype register_type(enum dtype t); /* of a scalar variable that holds a t */
struct expr *value_lower(struct lowering *l, const struct site *s, struct expr *e);
struct expr *value_round(struct lowering *l, struct expr *v, enum dtype t);
struct expr *value_cast(struct lowering *l, struct expr *v, enum dtype from, enum dtype to);
struct expr *value_of_bits(struct lowering *l, struct expr *bits, enum dtype t);
struct expr *value_bits(struct lowering *l, struct expr *v, enum dtype t);        /* storage bits */
struct expr *value_pack(struct lowering *l, struct expr *const *v, enum dtype t); /* a word */
struct expr *value_part(struct lowering *l, struct array *a, struct expr *word, int32_t part);
struct expr *value_safe(struct lowering *l, const struct buffer *b); /* in register_type */

/* -- pairs.c: two 16-bit floats in one word
 * ------------------------------------------------------------------------ */
/* Values of neighbouring elements: f16 and bf16 operations on packed words become one a word, held
 * in variables of this name. */
void pairs_make(struct lowering *l, const char *name, struct expr **values, int32_t count);
/* Two values that are the parts of a word: the word goes into a variable, the values are its parts. */
bool pair_held(struct lowering *l, const char *name, struct expr *values[2], enum dtype t);

/* -- memory.c: where accesses lie, and wide reads and writes
 * -------------------------------------------- */
struct place_at {        /* where an access lies */
    struct expr *offset; /* GLOBAL, LOCAL: elements; SHARED: bytes */
    int32_t unit;        /* of the offset, in bytes */
    struct expr *index[TILE_RANK];
    struct expr *test[TILE_RANK]; /* that the index is in bounds; NULL: proven */
    struct expr *guard;           /* that the element is stored at all; NULL: always */
};
struct vector { /* an access by `count` elements of the vector body */
    struct buffer *buffer;
    int32_t count, width; /* elements; elements an instruction */
    bool broadcast;       /* one element serves all */
    bool packed;          /* the registers are packed words */
    int32_t registers;
    struct place_at at[VECTOR];
};
struct group { /* elements that are lowered together, each with its environment */
    struct plan *plan;
    int32_t count;
    bool partial; /* a run may end inside a vector: the caller takes care of the tests */
    struct env *env[VECTOR];
    struct expr *guard[VECTOR]; /* under which the element is assigned; NULL: always */
};
struct expr *place_test(struct lowering *l, const struct place_at *p);
bool tests_cover(const struct buffer *b, const struct place_at *p, int32_t width);
struct vector vector_of(struct lowering *l, const struct group *g, struct buffer *b,
                        struct expr *const *index);
struct array *vector_array(struct lowering *l, const struct vector *v);
void vector_load(struct lowering *l, const struct vector *v, struct array *a, struct expr *base);
void vector_loaded(struct lowering *l, const struct vector *v, struct expr *load, struct array *a,
                   struct expr *base);
void vector_store(struct lowering *l, const struct vector *v, struct expr *const *values);

/* All memory reads of e that happen whatever the conditions in it say. */
void group_loads(struct lowering *l, struct group *g, struct expr *e);
void group_each_load(struct lowering *l, struct expr *e,
                     void (*visit)(struct lowering *l, struct expr *load, void *data), void *data);
/* May it be read whatever the conditions around it say? */
bool load_is_safe(struct lowering *l, const struct expr *load);
struct expr *scalar_load(struct lowering *l, const struct site *s, struct expr *load);
struct place_at place_of(struct lowering *l, const struct site *s, struct buffer *b,
                         struct expr *const *index);
bool in_memory(const struct lowering *l, const struct buffer *b);
int32_t known_alignment(const struct expr *offset, int32_t unit, int32_t limit);
void note_alignment(struct lowering *l, const struct buffer *b, int32_t bytes);
struct expr *global_offset(struct lowering *l, const struct buffer *b, struct expr *const *index);
struct address address_at(struct lowering *l, struct buffer *b, struct expr *offset, int32_t bytes);

/* -- store.c: assignments
 * -------------------------------------------------------------------------------- */
void store_make(struct lowering *l, struct group *g, struct stmt *store);
/* What is known of memory contents ends when they, or an index into them, are written. */
void forget_loads(struct lowering *l, const struct buffer *written);
bool word_run(struct lowering *l, struct expr *const *words, int32_t count, struct operand *out);

/* -- bounds.c
 * --------------------------------------------------------------------------------------------------------------
 */
/* The condition under which a lowered index lies in axis k; NULL if proven. `original` is the
 * index before replacement, by which facts are known. */
struct expr *bounds_test(struct lowering *l, const struct buffer *b, int axis,
                         struct expr *original, struct expr *index);
/* Takes `test` for granted until the counts of facts and clips are set back. */
struct assumed {
    int facts, clips;
};
struct assumed assume(struct lowering *l, struct expr *test);
void assume_end(struct lowering *l, struct assumed before);
/* One condition, uniform over the block, under which all global accesses of the body are in bounds;
 * adds the facts it stands for. NULL: nothing to test; *possible false: there is none. */
struct expr *bounds_uniform(struct lowering *l, const struct domain *d, struct block *body,
                            bool *possible);

/* -- statements
 * ---------------------------------------------------------------------------------------------------------------
 */
void lower_block(struct lowering *l, struct block *b);                /* control.c */
void lower_plain(struct lowering *l, struct site *s, struct stmt *t); /* control.c */
bool lower_ahead(struct lowering *l, struct stmt *loop); /* false: not done */
void lower_map(struct lowering *l, const struct domain *d, struct block *body);
void lower_copy(struct lowering *l, struct stmt *t);
bool copy_async(struct lowering *l, struct stmt *t);
struct stmt *copy_store(struct lowering *l, struct stmt *copy); /* the STORE of one element */
bool copy_matrix(struct lowering *l, struct stmt *t);
/* The axes of an 8x8 matrix: p, of words along the registers and then 4 lanes, and r, of 8 lanes;
 * their digits are cut there. False: there are none. */
bool matrix_axes(struct layout *y, int32_t word, int *p, int *r);
/* The MAP of one STORE to shared 16-bit memory by stmatrix; false: not done. */
bool store_matrix(struct lowering *l, const struct domain *d, struct stmt *store);
/* The MAP of one STORE to 16-bit memory, by lanes that trade words first; false: not done. */
bool store_quads(struct lowering *l, const struct domain *d, struct stmt *store);
void block_splice(struct kblock *to, struct kblock *from);
/* The MAP that combines what warps reduced, by lanes that share its reads; false: not done. */
bool combine_lanes(struct lowering *l, struct stmt *map);
/* Room for the registers of buffers that were made since there were `before`. */
void lower_grow(struct lowering *l, int32_t before);
void lower_gemm(struct lowering *l, struct stmt *t);
void lower_reduce(struct lowering *l, struct stmt *t);
void lower_atomic(struct lowering *l, struct site *s, struct stmt *t);
void lower_print(struct lowering *l, struct site *s, struct stmt *t);

/* -- hoist.c: of tidy
 * ------------------------------------------------------------------------------ */
void hoist(struct module *m, struct kernel *k);

/* -- dead.c: of tidy
 * ------------------------------------------------------------------------------ */
void drop_dead(struct module *m, struct kernel *k);

/* -- divide.c: many quotients by one divisor share its reciprocal
 * ---------------------------------- */
void divide(struct module *m);
/* Does the statement itself (nothing inside it) change what e reads? */
bool kstmt_changes(struct kstmt *s, const struct expr *e);

/* -- apart.c: long straight-line code becomes calls; of tidy
 * ------------------------------------------------------------------------------- */
void apart(struct module *m, struct kernel *k);
/* turns.c: loops that store what the turns of `first` put join them; false: there are none, or the
 * registers are read in other ways too. b is the kernel's body. */
bool turns_store(struct module *m, struct kernel *k, struct kblock *b, struct kstmt *first);

/* -- quotients.c: divisions that stand together share one test
 * -------------------------------------- */
void quotients(struct module *m, struct kblock *b);

#endif
