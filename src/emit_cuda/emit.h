/* emit.h: Kernel IR to a self-contained .cu and its C header. */
#ifndef TILEC_EMIT_H
#define TILEC_EMIT_H
#include "ir/kernel.h"

struct emit_options {
    const char *version;     /* "0.1.0" */
    const char *source_name; /* as #line and the head comment give it, prefix map applied */
    const char *header_name; /* what the .cu includes */
    const char *unit_name;   /* the .cu as its own #line give it; NULL: "launchers" */
    const char *stem;        /* for the include guard */
    enum { LINE_TILE, LINE_NONE, LINE_OUTPUT } line;
    bool entry_points; /* ptx/cubin output: extern "C" __global__, no launchers */
};

/* modules: the same source compiled for each architecture, ascending, all at KERNEL level; a
 * function that an architecture left out is missing there. */
void emit_cuda(struct text *out, struct module *const *modules, int count,
               const struct emit_options *options);
void emit_header(struct text *out, struct module *const *modules, int count,
                 const struct emit_options *options);
void emit_manifest(struct text *out, struct module *const *modules, int count,
                   const struct emit_options *options);

#endif
