/* builder.h: what the files of the builder share. */
#ifndef TILEC_SEMA_BUILDER_H
#define TILEC_SEMA_BUILDER_H
#include "sema/internal.h"

struct loop_form { /* of an iterator */
    enum { LOOP_FORM_FOR, LOOP_FORM_GRID, LOOP_FORM_PARALLEL } kind;
    enum loop_kind loop;
    int32_t rank;
    struct sym *name[TILE_RANK]; /* of the loop variables, once a target is known */
    struct expr *lo[TILE_RANK], *hi[TILE_RANK];
    int64_t step;
    int32_t stages, factor;
    struct span span;
};

/* -- State ---------------------------------------------------------------------------------------
 */
struct axis { /* of a T.Parallel in construction */
    struct var *var;
    struct expr *extent; /* INDEX, constant or not */
};

struct parallel { /* an open T.Parallel */
    struct stmt *map;
    struct axis axis[TILE_RANK];
    int32_t rank;
    VEC(struct stmt *) inner; /* FORs that were written as T.Parallel inside */
};

struct tile_state {
    struct parallel *parallel;        /* NULL outside T.Parallel */
    int32_t loops;                    /* device loops around, within the parallel if one is open */
    struct stmt *loop;                /* the innermost of them if it is a FOR */
    int32_t loop_rank;                /* how many loops its statement in the source is */
    int32_t divergent;                /* branches and loops around that only some threads take */
    int32_t branches;                 /* branches, loops and launches around */
    VEC(struct var *) divergent_vars; /* lets and variables that differ between threads */
    VEC(struct buffer *) divergent_buffers;
};

/* -- builtins.c ----------------------------------------------------------------------------------
 */

bool call_given(const struct call *c, int i); /* neither left out nor None */
int64_t call_int(struct sema *s, const struct call *c, int i, int64_t otherwise, bool *good);
bool call_bool(struct sema *s, const struct call *c, int i, bool otherwise, bool *good);
const char *call_string(struct sema *s, const struct call *c, int i, const char *otherwise,
                        bool *good);
int call_find(const struct call *c, const char *name); /* the parameter's number */
/* Reports and says false outside a launch, inside T.Parallel, or where only some threads come. */
bool call_as_tile(struct sema *s, const struct call *c);
/* Reports and says false outside a launch. */
bool call_in_kernel(struct sema *s, const struct call *c);
struct stmt *append(struct sema *s, enum stmt_kind kind, struct span span);

/* -- types.c -------------------------------------------------------------------------------------
 */
/* The type that both meet in; DTYPE_NONE if there is none. */
enum dtype type_meet(enum dtype a, enum dtype b);
bool type_is_fp8(enum dtype t);
/* Brings scalars to one type that has arithmetic; NONE after a report.
 */
struct site { /* of an operation: its name for messages, its place */
    const char *what;
    struct span span;
};
enum dtype unify(struct sema *s, int count, const struct value *v, struct expr **out,
                 struct site at);
/* The same without arithmetic: fp8 and bool stay. */
enum dtype unify_values(struct sema *s, int count, const struct value *v, struct expr **out,
                        struct span span);
/* A number as literal of a type; NULL after a report if it does not fit. */
struct expr *literal(struct sema *s, struct value v, enum dtype type, struct span span);
/* One operation on arguments of one type, with fusion and fast math. */
struct expr *operation(struct sema *s, enum function fn, enum dtype type, int count,
                       struct expr *const *args);
/* fast.c: the f32 operation as -ffast-math has it. */
struct expr *fast_operation(struct exprs *x, enum function fn, int count, struct expr *const *args);
bool is_literal(struct value v);
int expr_size(const struct expr *e, int limit);
/* The value of a result; an error if it has grown beyond all measure. */
struct value scalar_value(struct sema *s, struct expr *e, struct span span);

/* -- operand.c -----------------------------------------------------------------------------------
 */
enum operand_form { OPERAND_WHOLE, OPERAND_SLICE, OPERAND_ELEMENT };
struct operand { /* of a tile operation */
    enum operand_form form;
    struct region region;
    struct span span;
};
bool operand_of(struct sema *s, struct value v, struct span span, const char *what,
                struct operand *out);
/* Reports a region of more elements than a domain holds. */
bool size_fits(struct sema *s, const struct operand *o);
/* Reports what lies outside the tile: an operation that does not clip would use what is not there.
 */
bool operand_inside(struct sema *s, const struct operand *o, enum diag_code code);
const char *extents_text(struct sema *s, int rank, const int32_t *extent); /* "(64, 32)" */
/* The extents of a pair by the rules of T.copy, and the axes of the iteration. */
struct pairing {
    int32_t rank;
    int32_t extent[TILE_RANK];
    int32_t src_axis[TILE_RANK], dst_axis[TILE_RANK];
};
bool pair_operands(struct sema *s, struct operand *src, struct operand *dst, struct pairing *out,
                   struct span span);
/* A domain of new axes. */
struct domain domain_new(struct sema *s, int rank, const int32_t *extent, struct span span);
/* region's element at the domain's point; domain axis k is the region's axis[k]. */
void region_index(struct sema *s, const struct region *r, const int32_t *axis,
                  const struct domain *d, struct expr **index);
/* test and (0 <= e < extent), leaving out what is proved; NULL is true. */
struct expr *in_bounds(struct sema *s, struct expr *test, struct expr *e, struct expr *extent);
struct expr *buffer_dim(struct sema *s, const struct buffer *b, int axis);

/* -- copy.c --------------------------------------------------------------------------------------
 */
/* The element, or 0 outside a tile. */
struct expr *guarded_load(struct sema *s, const struct region *r, struct expr *const *index);

/* -- store.c -------------------------------------------------------------------------------------
 */
void mark_written(struct buffer *b);
bool check_index(struct sema *s, const struct buffer *b, int axis, struct expr *index,
                 struct span span);
/* buffer[index] = value where the program stands, whatever the scope. */
void store_element(struct sema *s, struct buffer *b, struct expr *const *index, struct expr *value,
                   struct span span);
struct expr *access_load(struct sema *s, const struct subscript *a);
bool access_is_element(const struct subscript *a);
struct stmt *wrap_if(struct sema *s, struct expr *test, struct span span, struct block *into);

/* -- loops.c -------------------------------------------------------------------------------------
 */
/* A serial loop 0 … extent-1 appended to `into`; its variable. */
struct stmt *serial_loop(struct sema *s, struct block *into, const char *name, int64_t extent,
                         struct span span);
/* The name of loop variable i of a target. */
struct sym *target_name(struct sema *s, const struct ast_expr *target, int i);
/* Opens a loop an axis of the form, nested in *into; what the target receives. */
struct value bind_loops(struct sema *s, const struct loop_form *form, struct block **into,
                        struct stmt **statements);

/* -- parallel.c ----------------------------------------------------------------------------------
 */
void parallel_for(struct sema *s, struct env *e, const struct ast_stmt *loop,
                  const struct loop_form *form);
/* A MAP appended at s->block with new axes. */
struct stmt *map_new(struct sema *s, struct domain domain, struct span span);

/* -- check.c -------------------------------------------------------------------------------------
 */
void check_private(struct sema *s, struct kernel *k);
/* Reports operations of the block that only some threads come to. */
void check_comings(struct sema *s, const struct kernel *k);
bool is_divergent(struct sema *s, struct expr *e);
void note_divergent_var(struct sema *s, struct var *v);
void note_divergent_buffer(struct sema *s, struct buffer *b);

/* -- builders of the table -----------------------------------------------------------------------
 */
#define BUILDER(name) struct value name(struct sema *s, const struct call *c)
BUILDER(build_function); /* rows of functions.def */
BUILDER(build_align_up);
BUILDER(build_alloc_fragment);
BUILDER(build_alloc_local);
BUILDER(build_alloc_shared);
BUILDER(build_alloc_var);
BUILDER(build_annotate_layout);
BUILDER(build_annotate_min_blocks);
BUILDER(build_annotate_restrict);
BUILDER(build_annotate_safe_value);
BUILDER(build_assume);
BUILDER(build_atomic_add);
BUILDER(build_atomic_max);
BUILDER(build_atomic_min);
BUILDER(build_bitwise_and);
BUILDER(build_bitwise_or);
BUILDER(build_bitwise_xor);
BUILDER(build_block_binding_of);
BUILDER(build_block_bindings);
BUILDER(build_block_extent);
BUILDER(build_block_extents);
BUILDER(build_cast);
BUILDER(build_ceildiv);
BUILDER(build_clamp);
BUILDER(build_clear);
BUILDER(build_copy);
BUILDER(build_device_assert);
BUILDER(build_evaluate);
BUILDER(build_fill);
BUILDER(build_floordiv);
BUILDER(build_floormod);
BUILDER(build_gemm);
BUILDER(build_grid);
BUILDER(build_hint);
BUILDER(build_if_then_else);
BUILDER(build_infinity);
BUILDER(build_kernel);
BUILDER(build_layout_linear);
BUILDER(build_layout_swizzled);
BUILDER(build_loop_break);
BUILDER(build_max_value);
BUILDER(build_min_value);
BUILDER(build_next_power_of_2);
BUILDER(build_parallel);
BUILDER(build_pipelined);
BUILDER(build_print);
BUILDER(build_reduce_absmax);
BUILDER(build_reduce_abssum);
BUILDER(build_reduce_bitand);
BUILDER(build_reduce_bitor);
BUILDER(build_reduce_bitxor);
BUILDER(build_reduce_max);
BUILDER(build_reduce_min);
BUILDER(build_reduce_sum);
BUILDER(build_serial);
BUILDER(build_shift_left);
BUILDER(build_shift_right);
BUILDER(build_thread_binding_of);
BUILDER(build_thread_bindings);
BUILDER(build_thread_extent);
BUILDER(build_thread_extents);
BUILDER(build_unroll);
BUILDER(build_use_swizzle);
BUILDER(build_vectorized);

/* What T.Kernel gives to `with`. */
struct launch {
    int32_t rank;
    struct expr *grid[3];
    int32_t thread_rank;
    int32_t thread_extent[3];
    struct span span;
};

struct layout_object { /* what a layout helper gives */
    struct buffer *buffer;
    struct layout layout;
};

#endif
