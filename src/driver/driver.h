/* driver.h: what one run of the command owns; the only place with files and a command line. */
#ifndef TILEC_DRIVER_H
#define TILEC_DRIVER_H
#include "emit_cuda/emit.h"
#include "lexer/lexer.h"
#include "parser/parser.h"
#include "sema/sema.h"

#define TILEC_VERSION "0.1.0"

enum exit_status {
    EXIT_DONE = 0,
    EXIT_SOURCE = 1,   /* the source has errors */
    EXIT_USAGE = 2,    /* bad option, unreadable or unwritable file */
    EXIT_TOOL = 3,     /* a downstream tool is missing or failed */
    EXIT_INTERNAL = 70 /* our own fault */
};

/* -- options.c
 * ------------------------------------------------------------------------------------- */
enum option_id {
#define OPTION(id, spelling, argument, group, help) OPT_##id,
#include "options.def"
    OPT_COUNT
};

enum emit_kind {
    EMIT_CU,
    EMIT_PTX,
    EMIT_CUBIN,
    EMIT_HEADER,
    EMIT_MANIFEST,
    EMIT_TOKENS,
    EMIT_AST,
    EMIT_IR,
    EMIT_NONE
};

struct emission {
    enum emit_kind kind;
    const char *file; /* NULL: by default */
    int pass;         /* EMIT_IR: after which */
};

enum { MAX_ARCHS = 16, MAX_PASSES = 32 };

struct options {
    struct arena *arena;
    const char *input, *output;
    VEC(struct emission) emissions;
    bool header, no_header, manifest;
    const char *header_file, *manifest_file;
    const char *prefix;
    VEC(const char *) kernels, entries, definitions, warnings, prefix_maps, depend_targets;
    const struct target *archs[MAX_ARCHS];
    int arch_count;
    bool archs_named; /* by --arch: what one of them cannot take is an error */
    bool line_none, fast_math;
    bool depend_only, depend, depend_phony;
    const char *depend_file;
    bool no_warnings, json;
    int max_errors;
    enum { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER } color;
    const char *explain;
    bool dump_after[MAX_PASSES], dump_before[MAX_PASSES];
    int start_at, stop_after; /* -1: not given */
    bool time_passes, dry_run, verbose;
    const char *nvcc, *ptxas;
    struct verify_options *verify; /* NULL outside of `tilec verify` */
    VEC(const char *) sizes;       /* of verify: [UNIT.]NAME=VALUE, stronger than the text */
};

/* Reads the command line. A request that prints and ends (--help, --print=…) or a usage error sets
 * *status and gives false. */
bool options_parse(struct options *o, int argc, char **argv, int *status);
const char *options_spelling(enum option_id id);
void options_help(struct text *out);
void options_list(struct text *out); /* one a line, for --print=options */
void options_man(struct text *out);  /* the man page's list, in roff */

/* -- pass.c
 * ---------------------------------------------------------------------------------------- */
enum pass_id {
#define PASS(name, summary, form, level) PASS_##name,
#include "passes.def"
    PASS_COUNT
};

struct compilation {
    struct arena *arena;
    struct interns *names;
    struct source *source; /* NULL: to be read from the options' input */
    struct diag *diag;
    const struct options *options;
    struct sema_options sema;
    struct tokens *tokens;
    struct ast_module *ast;
    struct module *modules[MAX_ARCHS]; /* those that succeeded, ascending capability */
    int module_count;
    const char *sizes; /* of a sweep, for messages about our own faults; NULL: none */
    double seconds[PASS_COUNT];
    struct text ir; /* what --emit=ir asked for */
    int ir_pass;    /* -1: none */
};

int pass_find(const char *name); /* -1 if unknown */

/* Runs all passes before emit for each architecture. False if there are errors. */
bool passes_run(struct compilation *c);
void passes_list(struct text *out);

/* -- main.c
 * ---------------------------------------------------------------------------------------- */
/* Reads the source, runs all passes and prints the diagnostics. Gives an exit status. */
int compile_modules(struct compilation *c);
int compile_silently(struct compilation *c); /* the same, nothing printed about the source */

/* -- verify.c
 * -------------------------------------------------------------------------------------- */
/* `tilec verify …`: argv[0] is "verify". Gives an exit status. */
int verify_main(struct arena *a, int argc, char **argv);
/* One of the options that only verify has; false with *status after a message. */
bool verify_option(struct options *o, enum option_id id, const char *value, int *status);

/* -- files.c
 * --------------------------------------------------------------------------------------- */
/* Writes by way of a temporary name, so that a failure leaves no half file. "-": standard output.
 */
bool file_write(const char *path, const char *data, size_t length);
bool file_is_input(const struct options *o, const char *path); /* whatever it is called */
void file_discard(const char *path); /* removes an output of a run that failed; no device or link */
const char *file_base(struct arena *a, const char *path); /* without directories */
const char *file_with_suffix(struct arena *a, const char *path, const char *suffix);
const char *file_mapped(struct arena *a, const char *path, const struct options *o);
void depend_rule(struct text *out, const struct options *o, const char *const *outputs, int count);

/* -- outputs.c
 * ------------------------------------------------------------------------------------- */
/* Emits everything asked for. Gives an exit status. */
int outputs_write(struct compilation *c);

/* -- tools.c
 * --------------------------------------------------------------------------------------- */
struct device_job {
    const struct target *target;
    enum emit_kind kind; /* EMIT_PTX EMIT_CUBIN */
    const char *cu;
    size_t length;
    const char *output; /* "-": standard output */
};

/* Runs the tools. Gives an exit status. */
int tool_compile(struct compilation *c, const struct device_job *j);

#endif
