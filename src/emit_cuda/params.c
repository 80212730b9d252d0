/* params.c: the arguments of a launcher, as the header, the launcher and the kernel see them. */
#include "emit_cuda/internal.h"
#include <string.h>

const char *prototype_type(const struct param *p) {
    switch (p->kind) {
    case PARAM_TENSOR: return dtype_header_type(p->buffer->dtype);
    case PARAM_SCALAR: return dtype_header_type(p->var->dtype);
    case PARAM_DIM: break;
    }
    return "int64_t";
}

bool param_is_bits(const struct param *p) {
    return p->kind == PARAM_SCALAR && dtype_is_float(p->var->dtype) &&
           dtype_bits(p->var->dtype) < 32;
}

const char *param_type(const struct emitter *e, const struct param *p) {
    struct emitter device = *e;
    device.host = false;
    if (param_is_bits(p)) return dtype_device_type(p->var->dtype);
    return emit_type(&device, p->kind == PARAM_DIM ? DTYPE_INDEX : p->var->dtype, p->var->lo,
                     p->var->hi);
}

struct function_ir *function_in(const struct module *m, const struct function_ir *f) {
    for (int i = 0; i < m->functions.count; i++)
        if (!strcmp(m->functions.at[i]->name->text, f->name->text)) return m->functions.at[i];
    return NULL;
}

int all_functions(struct arena *a, struct module *const *modules, int count,
                  struct function_ir ***out) {
    VEC(struct function_ir *) list = {0};
    for (int i = 0; i < count; i++)
        for (int j = 0; j < modules[i]->functions.count; j++) {
            struct function_ir *f = modules[i]->functions.at[j];
            bool known = false;
            for (int k = 0; k < list.count; k++)
                known |= !strcmp(list.at[k]->name->text, f->name->text);
            if (!known) vec_push(a, &list, f);
        }
    *out = list.at;
    return list.count;
}

/* The widest access to the tensor in any kernel, at least the alignment of one element. */
int tensor_alignment(struct module *const *modules, int count, const struct function_ir *f,
                     const struct buffer *b) {
    int widest = dtype_bytes(b->dtype);
    for (int i = 0; i < count; i++) {
        const struct function_ir *g = function_in(modules[i], f);
        for (int j = 0; g && j < g->kernels.count; j++) {
            const struct kernel_code *code = g->kernels.at[j]->code;
            if (code && code->alignment && code->alignment[b->id] > widest)
                widest = code->alignment[b->id];
        }
    }
    return widest;
}

void emit_args_struct(struct text *out, const struct function_ir *f) {
    text_printf(out, "typedef struct %s_args {\n", f->name->text);
    out->indent++;
    for (int i = 0; i < f->params.count; i++) {
        const struct param *p = &f->params.at[i];
        const char *pointer = p->kind == PARAM_TENSOR ? "*" : "";
        const char *constant = p->kind == PARAM_TENSOR && !p->buffer->written ? "const " : "";
        text_printf(out, "%s%s %s%s;", constant, prototype_type(p), pointer, p->name->text);
        if (p->kind == PARAM_TENSOR) {
            text_puts(out, " /* [");
            for (int j = 0; j < p->buffer->rank; j++) {
                if (j) text_puts(out, ", ");
                expr_print(out, p->buffer->dim[j]);
            }
            text_puts(out, "] */");
        }
        text_puts(out, "\n");
    }
    if (!f->params.count) text_puts(out, "int unused;\n");
    out->indent--;
    text_printf(out, "} %s_args;\n", f->name->text);
}
