/* sema.h: analyse(): syntax tree in, tile IR out. */
#ifndef TILEC_SEMA_H
#define TILEC_SEMA_H
#include "ir/tile.h"
#include "parser/ast.h"

struct definition { /* -D [UNIT.]NAME=VALUE */
    struct sym *unit; /* NULL: every unit that has the parameter, or a module constant */
    struct sym *name;
    struct ast_expr *value; /* a literal; a bare dtype name is a string */
    bool always;      /* also where the text gives the parameter a value */
    bool used;        /* set by analyse: the driver reports what fits nothing */
    const char *text; /* as written, for messages */
};

struct sema_options {
    struct definition *definitions;
    int definition_count;
    struct sym **entries; /* --entry: unit names; none: all */
    int entry_count;
    struct sym **kernels; /* --kernels: C names */
    int kernel_count;
    const char *prefix;   /* put before every C name; "" without */
    bool fast_math;
};

/* Evaluates the module's compile-time code, instantiates units and builds one function_ir an
 * instance, at LEVEL_TILE. Reports through the diag; never NULL. The target is what T.target-like
 * compile-time queries see. */
struct module *analyse(struct arena *a, struct interns *names, struct diag *d,
                       const struct ast_module *ast, const struct target *target,
                       const struct sema_options *options);

/* The vocabulary as Markdown: lang/builtins.md. */
void builtins_print(struct text *t);

#endif
