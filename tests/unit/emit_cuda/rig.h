/* rig.h: programs of Kernel IR made by hand, and the tools that compile what they become. */
#ifndef EMIT_RIG_H
#define EMIT_RIG_H
/* cmocka.h needs these four first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "emit_cuda/internal.h"
#include <cmocka.h>
#include <string.h>

enum { SKIPPED = 77 }; /* the exit status that meson shows as "SKIP" */

struct rig {
    struct arena *arena;
    struct module *module;
    struct exprs *x;
    struct function_ir *function;
    struct kernel *kernel;
    struct kblock *out; /* where add() appends */
};

struct rig rig_new(const char *target);
void rig_free(struct rig *r);

/* -- The program */
struct buffer *tensor(struct rig *r, const char *name, enum dtype t, int64_t extent, bool written);
struct buffer *tensor_of(struct rig *r, const char *name, enum dtype t, struct expr *extent);
struct buffer *shared(struct rig *r, const char *name, enum dtype t, int32_t extent);
struct var *scalar(struct rig *r, const char *name, enum dtype t);
struct var *dimension(struct rig *r, const char *name, int64_t hi);
struct var *variable(struct rig *r, enum var_kind k, const char *name, enum dtype t);
struct var *ranged(struct rig *r, const char *name, int64_t lo, int64_t hi); /* an INDEX variable */
struct kstmt *add(struct rig *r, enum kstmt_kind kind);
struct array *registers(struct rig *r, const char *name, enum dtype t, enum dtype element,
                        int32_t count);
struct expr *ix(struct rig *r, int64_t value);
struct expr *of(struct rig *r, struct var *v);

/* -- Its texts */
const char *cuda_text(struct rig *r);
const char *header_text(struct rig *r);
const char *expr_text(struct rig *r, const struct expr *e, bool host);

/* -- Tools: files lie in a directory that rig_directory makes once and rig_clean removes */
const char *rig_directory(void);
void rig_clean(void);
void write_file(const char *name, const char *text);
int run(const char *format, ...) __attribute__((format(printf, 1, 2))); /* in the directory */
bool has_tool(const char *name);
bool nvcc_compiles(const char *file, const char *arch); /* "sm_80"; any warning is an error */

#endif
