/* internal.h: what the files of emit_cuda share. */
#ifndef TILEC_EMIT_INTERNAL_H
#define TILEC_EMIT_INTERNAL_H
#include "base/text.h"
#include "emit_cuda/emit.h"

/* -- names.c: C identifiers
 * ------------------------------------------------------------------------- Names of the source are
 * kept; what clashes with C++ or another name gets a number. */
struct names;
struct names *names_new(struct arena *a);
struct names *names_like(const struct names *n); /* knows the same words, has given no names yet */
/* The identifier for `key` (a var, array or buffer), made from `wanted` on first use. */
const char *names_of(struct names *n, const void *key, const char *wanted);
void names_reserve(struct names *n, const char *word);

/* -- helpers.c: device functions, copied into the output where used
 * --------------------------------- */
struct helpers; /* the set of those used so far */
struct helpers *helpers_new(struct arena *a);
/* Marks a row of device.def as used (and what it needs); returns its name. */
const char *helper_use(struct helpers *h, const char *name);
/* Marks a helper that is made from a pattern; `body` is its whole text. Returns its name. */
const char *helper_make(struct helpers *h, const char *name, const char *body);
bool helper_exists(const char *name); /* a row of device.def */
int helper_count(void);               /* rows of device.def */
const char *helper_name(int row);
void helpers_print(const struct helpers *h, struct text *out, bool host); /* rows "tilec_…": host */

enum { SPELLINGS = 32 };
struct spelling { /* of a float, by its bits */
    uint32_t bits;
    const char *text; /* NULL: none */
};

/* -- One kernel under emission
 * ------------------------------------------------------------------------ */
struct emitter {
    struct arena *arena;
    struct text *out;
    struct text *parts; /* functions that the kernel at hand calls */
    int part_count;     /* of the kernel */
    struct module *module;
    struct function_ir *function;
    struct kernel *kernel; /* NULL on the host side */
    struct names *names;
    const struct names *words; /* none given: what names are made like */
    struct helpers *helpers;
    const bool *by_parts; /* arrays of the kernel, by id: see arrays_by_parts */
    struct spelling spelled[SPELLINGS]; /* what came last at its place: the same few come often */
    const struct emit_options *options;
    int line;  /* source line of the last #line, 0: none yet */
    bool host; /* expressions for the launcher: int64_t throughout */
};

/* -- expr.c
 * ------------------------------------------------------------------------------------------- */
void emit_expr(struct emitter *e, const struct expr *x);    /* as a full expression */
void emit_operand(struct emitter *e, const struct expr *x); /* in parentheses unless atomic */
const char *emit_type(const struct emitter *e, enum dtype t, int64_t lo,
                      int64_t hi); /* of a scalar */
bool fits_int(int64_t lo, int64_t hi);
/* The functions that the rows of cuda.def call, some of them several times. */
void expr_each_call(struct arena *a, void (*visit)(const char *name, void *data), void *data);
const char *var_name(struct emitter *e, const struct var *v);
const char *buffer_name(struct emitter *e, const struct buffer *b);
const char *array_name(struct emitter *e, const struct array *a);

/* -- uses.c: what a kernel's body refers to: what it does not is not declared */
bool kernel_declares_var(const struct kernel *k, const struct var *v);
bool kernel_uses_var(const struct kernel *k, const struct var *v);
bool kernel_uses_shared(const struct kernel *k, const struct buffer *b); /* aliases of b count */
/* By id of array: is a part of a packed word put while the others are kept? */
const bool *arrays_by_parts(struct arena *a, const struct kernel *k);

/* -- text.c: texts of the user inside comments, strings and directives */
void emit_comment(struct text *out, const char *s); /* stays one line, ends no comment */
void emit_quoted(struct text *out, const char *s);  /* a C string literal */
void emit_line_back(struct emitter *e);             /* #line back to the .cu itself */
/* Appends the text with its marks replaced. */
void resolve_lines(struct text *out, const char *text, const char *unit_name);

/* -- stmt.c, memory.c
 * ----------------------------------------------------------------------------------- */
void emit_kblock(struct emitter *e, const struct kblock *b);
const char *array_type(enum dtype t); /* of a register */
/* A turn of a loop as a call of a function made for it (part.c); false: it has to stand inline. */
bool emit_turn(struct emitter *e, const struct kstmt *loop);
void emit_memory(struct emitter *e, const struct kstmt *s); /* LOAD STORE */
void emit_atomic(struct emitter *e, const struct kstmt *s);
void emit_async(struct emitter *e, const struct kstmt *s);  /* CP_ASYNC */
void emit_matrix(struct emitter *e, const struct kstmt *s); /* LDMATRIX STMATRIX */
void emit_mma(struct emitter *e, const struct kstmt *s);
void emit_operand_pointer(struct emitter *e, const struct operand *o); /* "acc + 4 * i" */
void emit_shared_address(struct emitter *e, const struct address *a, bool pointer);

/* -- kernel.c, host.c
 * ------------------------------------------------------------------------------------- */
void emit_kernel(struct emitter *e); /* the __global__ function */
void emit_tensor_parameter(struct emitter *e, const struct buffer *b);
const char *kernel_symbol(struct arena *a, const struct module *m, const struct kernel *k);
const char *arch_test(struct arena *a, const struct target *t); /* for #if */
extern const char host_support[]; /* what every launcher of a file needs, once */
void emit_launcher(struct emitter *e, struct module *const *modules, int count,
                   const struct function_ir *f);
void emit_args_struct(struct text *out, const struct function_ir *f);
/* The same function in another architecture's module; NULL if it was left out there. */
struct function_ir *function_in(const struct module *m, const struct function_ir *f);
/* Functions of all modules, each once, in source order. */
int all_functions(struct arena *a, struct module *const *modules, int count,
                  struct function_ir ***out);
int tensor_alignment(struct module *const *modules, int count, const struct function_ir *f,
                     const struct buffer *b);
bool param_is_bits(const struct param *p); /* a scalar that the kernel takes as its bits */
const char *param_type(const struct emitter *e,
                       const struct param *p);     /* in a kernel's signature */
const char *prototype_type(const struct param *p); /* "const tilec_f16 *", "int64_t", "float" */

#endif
