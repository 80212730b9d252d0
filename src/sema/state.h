/* state.h: what the files of the evaluator share among themselves; the builder sees internal.h. */
#ifndef TILEC_SEMA_STATE_H
#define TILEC_SEMA_STATE_H
#include "sema/internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- limits (sema.c) ------------------------------------------------------------------------------
 */
/* Counts work; at the limit an error is reported once and everything unwinds. False then. */
bool sema_charge(struct sema *s, int64_t steps);
bool sema_enter(struct sema *s,
                struct span span); /* nesting of evaluation; leave with sema_leave */
void sema_leave(struct sema *s);
/* v itself, or BAD after a report if its expression became too large for later passes. */
struct value sema_measured(struct sema *s, struct value v, struct span span);
void sema_stop(struct sema *s, struct span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* -- values.c
 * -------------------------------------------------------------------------------------- */
int64_t value_as_int(struct value v);                  /* BOOL, INT */
double value_as_double(struct value v);                /* numbers */
bool value_same(struct value a, struct value b);       /* Python's `is` */
const char *value_str(struct sema *s, struct value v); /* Python's str() */
struct value value_dict(struct sema *s);               /* an empty one */
int dict_find(const struct dict *d, struct value key);
void dict_set(struct sema *s, struct dict *d, struct value key, struct value item);

/* -- wants.c
 * ---------------------------------------------------------------------------------------- */
/* Truth of a compile-time value. False after a report if it has none. */
bool value_truth(struct sema *s, struct value v, struct span span, bool *out);
bool is_sequence(struct value v);
bool unsupported_dtype(const char *name); /* of the dialect, but not of tilec */
/* A key of a dict: immutable and known at compile time; reports. */
bool good_key(struct sema *s, struct value key, struct span span);
/* The items of something iterable at compile time (tuple, list, dict keys, string, range). */
bool iterate(struct sema *s, struct value v, struct span span, struct sequence **out);
bool sequence_index(struct sema *s, struct value index, int count, struct span span, int *out);

/* -- names.c
 * ---------------------------------------------------------------------------------------- */
struct past { /* what a name meant to what is built later */
    struct value value;
    int64_t from;
};
struct binding {
    struct sym *name;
    struct value value;
    int64_t from;          /* clock at which the name got it */
    VEC(struct past) past; /* in order of time */
    struct span span;      /* where bound */
    int64_t read_at;       /* clock of the last reading */
    enum env_kind ended;   /* ENV_LOOP, ENV_BRANCH, ENV_WITH: it was bound in one that is over; else
                              ENV_MODULE */
};
struct env {
    enum env_kind kind;
    struct env *parent;
    struct span span;
    int64_t opened; /* clock; of a function: of its call */
    struct block *outer_block;
    bool comprehension;    /* a body whose names are the targets of its own loop */
    struct env *innermost; /* of a body: its region that was opened last and is open; NULL: none */
    int64_t as_of;         /* names mean what they did then; 0: what they do now */
    struct env *outer;     /* of a region: what innermost was before, */
    int64_t outer_region;  /* and the evaluator's region */
    VEC(struct binding) list;
    int32_t *slots; /* open hashing of `list` by name id, once it is long */
    int32_t slot_count;
};
struct binding *env_own(struct env *e, struct sym *name); /* in e alone */
/* What is built later from what is called or defined now sees names as they are now: copies of
 * lists and dicts are kept. The moment. */
int64_t env_remember(struct sema *s, struct env *e);
void env_return_to(struct env *e, int64_t moment);            /* 0: to now */
struct value value_copied(struct sema *s, struct value v);    /* with the lists and dicts in it */
struct binding *env_visible(struct env *e, struct sym *name); /* from e outwards */
struct binding *env_in_function(struct env *e, struct sym *name); /* up to the enclosing body */
struct env *env_body(struct env *e); /* the enclosing FUNCTION, KERNEL, MODULE */
/* Where names are looked for after those of body: the function around, as it is now. */
struct env *env_around(struct env *body);
struct env *env_snapshot(struct sema *s, struct env *e); /* copies all but the module's names */
/* Assignment: lets, stores to variables, the rules for device regions. */
void assign_name(struct sema *s, struct env *e, struct sym *name, struct value v, struct span span);
void assign_typed(struct sema *s, struct env *e, const struct ast_stmt *st);
void exec_assign(struct sema *s, struct env *e, const struct ast_stmt *st);
bool refuse_change(struct sema *s, struct value v, struct span span);
void exec_augmented(struct sema *s, struct env *e, const struct ast_stmt *st);

/* -- eval.c and its parts
 * ---------------------------------------------------------------------------- */
bool on_device(struct value v); /* does an operator on v make device code? */
struct value eval_named(struct sema *s, struct env *e, const struct ast_expr *x,
                        struct sym *naming);
struct value eval_index(struct sema *s, struct env *e, const struct ast_expr *x);
struct value eval_attribute(struct sema *s, struct env *e, const struct ast_expr *x);
struct value eval_comprehension(struct sema *s, struct env *e, const struct ast_expr *x);
struct value eval_fstring(struct sema *s, struct env *e, const struct ast_expr *x);
struct value binary(struct sema *s, enum ast_operator op, struct value a, struct value b,
                    struct span span);
struct value index_value(struct sema *s, struct value base, int count, const struct value *entries,
                         struct span span);

/* -- modules.c
 * ----------------------------------------------------------------------------------------- */
struct value module_named(struct sema *s,
                          const char *name); /* predeclared T, tilelang, math; ABSENT */
struct value module_member(struct sema *s, const char *path, struct sym *name, struct span span);
struct value module_imported(struct sema *s,
                             const char *dotted); /* what `import dotted as x` binds */
const struct builtin *builtin_find(const char *module, const char *name);
int host_count(void);
const struct builtin *host_row(int i);

/* -- methods.c
 * ------------------------------------------------------------------------------------------ */
struct value static_attribute(struct sema *s, struct value v, struct sym *name, struct span span);
void sequence_extend(struct sema *s, struct value list, const struct sequence *items,
                     struct span span);
struct value call_static_method(struct sema *s, const struct method *m, struct arguments *a,
                                struct span span);

/* -- closures.c
 * ------------------------------------------------------------------------------------------ */
struct closure *closure_new(struct sema *s, struct env *e, const struct ast_parameter *p,
                            struct span span);
struct value call_closure(struct sema *s, struct closure *c, enum value_kind kind,
                          struct arguments *a, struct span span);
/* Parameters bound in a fresh env of the kind; NULL after a report. */
struct env *bind_parameters(struct sema *s, struct closure *c, enum value_kind kind,
                            struct arguments *a, struct env *env);
struct value run_body(struct sema *s, struct closure *c, struct env *env, bool device,
                      struct span call);

/* -- skip.c ---------------------------------------------------------------- */
/* False: a return is among them. */
bool skip_statements(struct sema *s, struct env *e, const struct ast_stmt *first);
enum flow skip_failed(struct sema *s, struct env *e, const struct ast_stmt *st);

/* -- escape.c -------------------------------------------------------------- */
void check_escapes(struct sema *s, struct function_ir *f);

/* -- decorators.c
 * ----------------------------------------------------------------------------------------- */
struct unit_options {
    bool jit;
    bool fast_math;
    bool has_out_idx;
    VEC(int64_t) out_idx;
    struct span out_span;
};
void exec_def(struct sema *s, struct env *e, const struct ast_stmt *st);
bool body_has_prim_func(const struct ast_stmt *body);
void apply_pass_configs(struct sema *s, struct unit_options *o, struct value configs,
                        struct span span);

/* -- units.c, signature.c, analyse.c
 * ------------------------------------------------------------------------ */
struct instance { /* a unit call: what to build, later */
    struct closure *unit;
    enum value_kind kind; /* FUNCTION (factory), EAGER, PRIM_FUNC */
    struct arguments arguments;
    struct span call;
    int64_t at; /* clock of the call; 0: at the end of the file */
    bool exported;
};
struct export {
    struct sym *name; /* NULL: from the unit */
    struct span span;
    struct instance *instance;
    bool named;
};
/* The function under construction: what its signature needs to know. */
struct constant {
    struct sym *name;
    struct value value;
    struct span span;
};
struct build {
    bool eager;
    struct closure *closure;
    struct unit_options options;
    VEC(struct constant) constants; /* values for T.const */
    VEC(struct param) declared;     /* tensors and scalars of the signature so far */
    VEC(struct buffer *) empties;   /* T.empty */
    VEC(struct value) returned;
    struct span return_span;
    bool has_return;
};
struct units {
    VEC(struct closure *) list;
    VEC(enum value_kind) kinds;
    VEC(struct export) exports;
    VEC(struct value) loop_values; /* of the module-level loops that are running */
    VEC(struct var *) dims;        /* T.dynamic, by name */
};
struct measure { /* of an expression, as a tree */
    int32_t depth, nodes;
};
struct evaluator { /* the whole state; sema is its first member */
    struct sema sema;
    int64_t clock;
    int64_t called; /* clock of the last call of a unit */
    int64_t region; /* clock at which the innermost loop or branch of the device began; 0: none */
    int64_t since;  /* clock at which the region that is opened next began; 0: when it is opened */
    int32_t nest;
    struct units units;
    bool module_level;            /* statements of the file itself are running */
    VEC(struct measure) measures; /* by the expressions' ids */
    struct span here;             /* of what is being evaluated */
};
struct evaluator *evaluator_of(struct sema *s);
struct evaluator *evaluator_new(struct module *m, const struct sema_options *options);

bool is_unit(const struct closure *c, enum value_kind kind);
void register_unit(struct sema *s, struct closure *c, enum value_kind kind);
struct value unit_call(struct sema *s, struct closure *c, enum value_kind kind, struct arguments *a,
                       struct span span);
void export_value(struct sema *s, struct sym *name, struct value v, struct span span);
/* -D for a parameter of the unit (NULL: a module constant); NULL if none. */
struct definition *definition_find(struct sema *s, const struct closure *unit, struct sym *name);
/* Of those that hold also where the text gives a value. */
struct definition *definition_always(struct sema *s, const struct closure *unit, struct sym *name);
struct value definition_value(struct sema *s, struct definition *d);
void instantiate(struct sema *s, struct export *x);
void missing_parameters(struct sema *s, struct instance *in, struct sym **out, int *count);

void declare_parameter(struct sema *s, struct env *e, const struct ast_parameter *p,
                       struct value type);
bool is_runtime_annotation(const struct ast_expr *annotation);
bool declare_in_body(struct sema *s, struct env *e, const struct ast_stmt *st);
void finish_signature(struct sema *s, struct span span);
struct sym *unit_c_name(struct sema *s, struct sym *wanted, struct span span);
bool c_name_reserved(const char *name);

#endif
