/* manifest.c: the JSON description of what was compiled (schema tilec-manifest-1). */
#include "emit_cuda/internal.h"
#include <string.h>

static void string(struct text *out, const char *s) {
    text_puts(out, "\"");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            text_printf(out, "\\%c", c);
        else if (c < 32)
            text_printf(out, "\\u%04x", c);
        else
            text_printf(out, "%c", c);
    }
    text_puts(out, "\"");
}

static void expression(struct text *out, const struct expr *x) {
    struct text t = text_new(out->arena);
    expr_print(&t, x);
    string(out, t.at);
}

static void parameter(struct text *out, struct module *const *modules, int count,
                      const struct function_ir *f, const struct param *p) {
    static const char *const role[] = {"tensor", "scalar", "dimension"};
    text_puts(out, "{\"name\": ");
    string(out, p->name->text);
    text_printf(out, ", \"role\": \"%s\", \"dtype\": \"%s\"", role[p->kind],
                p->kind == PARAM_TENSOR ? dtype_spelling(p->buffer->dtype)
                : p->kind == PARAM_DIM  ? "int64"
                                        : dtype_spelling(p->var->dtype));
    if (p->kind == PARAM_TENSOR) {
        const struct buffer *b = p->buffer;
        text_puts(out, ", \"dims\": [");
        for (int i = 0; i < b->rank; i++) {
            text_puts(out, i ? ", " : "");
            expression(out, b->dim[i]);
        }
        text_puts(out, "], \"strides\": [");
        for (int i = 0; i < b->rank; i++) {
            text_puts(out, i ? ", " : "");
            expression(out, b->stride[i]);
        }
        text_printf(out, "], \"alignment\": %d, \"const\": %s, \"output\": %s",
                    tensor_alignment(modules, count, f, b), b->written ? "false" : "true",
                    b->output ? "true" : "false");
    }
    text_puts(out, "}");
}

static void launches(struct text *out, const struct module *m, const struct function_ir *f) {
    for (int i = 0; i < f->kernels.count; i++) {
        const struct kernel *k = f->kernels.at[i];
        text_printf(out, "%s{\"symbol\": \"%s\", \"arch\": \"%s\", \"grid\": [",
                    i ? ",\n         " : "", kernel_symbol(out->arena, m, k), m->target->name);
        for (int j = 0; j < k->grid_rank; j++) {
            text_puts(out, j ? ", " : "");
            expression(out, k->grid[j]);
        }
        text_printf(out, "], \"block\": [%d, %d, %d], \"shared_bytes\": %d}", k->thread_extent[0],
                    k->thread_extent[1], k->thread_extent[2], k->shared_bytes);
    }
}

static void function(struct text *out, struct module *const *modules, int count,
                     const struct function_ir *f) {
    text_puts(out, "    {\"name\": ");
    string(out, f->name->text);
    text_puts(out, ", \"instance\": ");
    string(out, f->doc ? f->doc : f->name->text);
    text_printf(out, ", \"line\": %d,\n     \"parameters\": [",
                source_position(modules[0]->source, f->span.begin).line);
    for (int i = 0; i < f->params.count; i++) {
        text_puts(out, i ? ",\n         " : "\n         ");
        parameter(out, modules, count, f, &f->params.at[i]);
    }
    text_puts(out, "],\n     \"launches\": [\n         ");
    bool first = true;
    for (int i = 0; i < count; i++) {
        const struct function_ir *g = function_in(modules[i], f);
        if (!g) continue;
        text_puts(out, first ? "" : ",\n         ");
        first = false;
        launches(out, modules[i], g);
    }
    text_puts(out, "]}");
}

void emit_manifest(struct text *out, struct module *const *modules, int count,
                   const struct emit_options *o) {
    struct function_ir **functions;
    int n = all_functions(out->arena, modules, count, &functions);
    text_printf(out,
                "{\n  \"schema\": \"tilec-manifest-1\",\n  \"tilec\": \"%s\",\n  \"abi\": 1,\n  "
                "\"source\": ",
                o->version);
    string(out, o->source_name);
    text_puts(out, ",\n  \"header\": ");
    string(out, o->header_name);
    text_puts(out, ",\n  \"kernels\": [\n");
    for (int i = 0; i < n; i++) {
        text_puts(out, i ? ",\n" : "");
        function(out, modules, count, functions[i]);
    }
    text_puts(out, "\n  ]\n}\n");
}
