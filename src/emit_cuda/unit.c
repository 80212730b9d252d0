/* unit.c: the whole .cu file: head, device functions used, kernels, launchers. */
#include "emit_cuda/internal.h"

static void print_head(struct text *out, struct module *const *modules, int count,
                       const struct emit_options *o) {
    text_puts(out, "// Kernels of ");
    emit_comment(out, o->source_name);
    text_printf(out, ", made by tilec %s; do not edit.\n", o->version);
    text_puts(out, "// tilec claims no rights in its output; the support code it copies in is "
                   "0BSD.\n//\n// For");
    for (int i = 0; i < count; i++)
        text_printf(out, "%s %s", i ? "," : "", modules[i]->target->name);
    text_puts(out, ".\n");
}

/* Code for an architecture that was not asked for must not be made by accident. The compute_90 pass
 * that `nvcc -arch=sm_90a` adds is let through: its kernels trap and the launcher never picks them.
 */
static void print_guard(struct text *out, struct module *const *modules, int count) {
    text_puts(out, "#if defined(__CUDA_ARCH__)");
    for (int i = 0; i < count; i++)
        text_printf(out, " && __CUDA_ARCH__ != %d0", modules[i]->target->capability);
    text_puts(out, "\n#error \"this file holds code for");
    for (int i = 0; i < count; i++) text_printf(out, " %s", modules[i]->target->name);
    text_puts(
        out,
        " only: compile it with the matching -gencode, or run tilec with --arch\"\n#endif\n\n");
}

static bool uses_print(const struct kblock *b) {
    for (const struct kstmt *s = b->first; s; s = s->next) {
        if (s->kind == K_PRINT || s->kind == K_ASSERT) return true;
        if (s->kind == K_FOR && uses_print(&s->loop.body)) return true;
        if (s->kind == K_WHILE && uses_print(&s->repeat.body)) return true;
        if (s->kind == K_IF && (uses_print(&s->branch.then) || uses_print(&s->branch.otherwise)))
            return true;
    }
    return false;
}

/* The functions that it calls come first. */
static void emit_whole_kernel(struct emitter *e) {
    struct text *out = e->out, parts = text_new(e->arena), kernel = text_new(e->arena);
    e->parts = &parts;
    e->part_count = 0;
    e->out = &kernel;
    text_puts(e->out, "// ");
    emit_comment(e->out, e->function->doc ? e->function->doc : e->function->name->text);
    text_printf(e->out, ", %s, %d threads, %d bytes of shared memory\n", e->module->target->name,
                e->kernel->threads, e->kernel->shared_bytes);
    emit_kernel(e);
    text_puts(e->out, "\n");
    e->out = out;
    if (parts.length) text_puts(e->out, parts.at);
    text_puts(e->out, kernel.at);
}

static void emit_module(struct emitter *e, struct module *m) {
    e->module = m;
    for (int i = 0; i < m->functions.count; i++) {
        e->function = m->functions.at[i];
        for (int j = 0; j < e->function->kernels.count; j++) {
            e->kernel = e->function->kernels.at[j];
            e->names = names_like(e->words);
            emit_whole_kernel(e);
        }
    }
}

static bool any_print(struct module *const *modules, int count) {
    for (int i = 0; i < count; i++)
        for (int j = 0; j < modules[i]->functions.count; j++)
            for (int k = 0; k < modules[i]->functions.at[j]->kernels.count; k++)
                if (uses_print(&modules[i]->functions.at[j]->kernels.at[k]->code->body))
                    return true;
    return false;
}

static void print_includes(struct text *out, bool prints, const struct emit_options *o) {
    if (!o->entry_points) {
        text_puts(out, "#include ");
        emit_quoted(out, o->header_name);
        text_puts(out, "\n");
    }
    text_puts(out, "#include <cuda_runtime.h>\n#include <stdint.h>\n");
    if (prints || !o->entry_points) text_puts(out, "#include <stdio.h>\n");
    text_puts(out, "\n");
}

/* A helper that only some of the architectures use is no reason for a warning. */
static void print_helpers(const struct emitter *e, struct text *all) {
    struct text helpers = text_new(e->arena);
    helpers_print(e->helpers, &helpers, false);
    if (!helpers.length) return;
    text_puts(all, "#ifdef __NVCC__\n#pragma nv_diagnostic push\n"
                   "#pragma nv_diag_suppress 177 // not each architecture uses each function\n"
                   "#endif\n\n");
    text_puts(all, helpers.at);
    text_puts(all, "#ifdef __NVCC__\n#pragma nv_diagnostic pop\n#endif\n\n");
}

static void emit_launchers(struct emitter *e, struct text *all, struct module *const *modules,
                           int count) {
    struct text launchers = text_new(e->arena);
    struct function_ir **functions;
    int n = all_functions(e->arena, modules, count, &functions);
    e->out = &launchers;
    e->module = count ? modules[0] : NULL;
    for (int i = 0; i < n; i++) emit_launcher(e, modules, count, functions[i]);
    text_puts(all, host_support);
    text_puts(all, "\n");
    helpers_print(e->helpers, all, true);
    text_puts(all, launchers.at);
}

void emit_cuda(struct text *out, struct module *const *modules, int count,
               const struct emit_options *o) {
    struct text kernels = text_new(out->arena), all = text_new(out->arena);
    struct emitter e = {.arena = out->arena,
                        .out = &kernels,
                        .words = names_new(out->arena),
                        .helpers = helpers_new(out->arena),
                        .options = o};
    for (int i = 0; i < count; i++) emit_module(&e, modules[i]);
    print_head(&all, modules, count, o);
    print_guard(&all, modules, count);
    print_includes(&all, any_print(modules, count), o);
    print_helpers(&e, &all);
    text_puts(&all, kernels.at);
    if (!o->entry_points) emit_launchers(&e, &all, modules, count);
    resolve_lines(out, all.at, o->unit_name ? o->unit_name : "launchers");
}
