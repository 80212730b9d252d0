/* header.c: the C header: C99 and C++11, no CUDA header needed. */
#include "emit_cuda/internal.h"
#include <ctype.h>
#include <string.h>

/* Identical in every header of ABI 1, so that several can be included together. */
static const char abi[] =
    "#ifndef TILEC_ABI_1 /* common block, identical in every header of ABI 1 */\n"
    "#define TILEC_ABI_1 1\n"
    "#if defined(__cplusplus) && __cplusplus >= 201703L\n"
    "#define TILEC_NODISCARD [[nodiscard]]\n"
    "#elif defined(__GNUC__)\n"
    "#define TILEC_NODISCARD __attribute__((warn_unused_result))\n"
    "#else\n"
    "#define TILEC_NODISCARD\n"
    "#endif\n"
    "struct CUstream_st; /* cudaStream_t and CUstream both point to this */\n"
    "enum {\n"
    "    TILEC_OK = 0,            /* a status > 0 is the cudaError_t that CUDA returned */\n"
    "    TILEC_E_NULL = -1,       /* a pointer is null */\n"
    "    TILEC_E_DIM = -2,        /* a dimension is negative or too large */\n"
    "    TILEC_E_STRIDE = -3,     /* a stride is negative or too large */\n"
    "    TILEC_E_ALIGN = -4,      /* a pointer is not aligned as its comment says */\n"
    "    TILEC_E_ASSUME = -5,     /* an assert of the kernel's text does not hold */\n"
    "    TILEC_E_ARCH = -6,       /* no code for this device */\n"
    "    TILEC_E_LIMIT = -7,      /* the grid exceeds a limit of CUDA */\n"
    "    TILEC_E_WORKSPACE = -8,\n"
    "    TILEC_E_VARIANT = -9,    /* no such variant */\n"
    "    TILEC_E_DRIVER = -10\n"
    "};\n"
    "typedef struct tilec_f16 { uint16_t bits; } tilec_f16;\n"
    "typedef struct tilec_bf16 { uint16_t bits; } tilec_bf16;\n"
    "typedef struct tilec_e4m3 { uint8_t bits; } tilec_e4m3;\n"
    "typedef struct tilec_e5m2 { uint8_t bits; } tilec_e5m2;\n"
    "typedef struct tilec_config {\n"
    "    uint32_t size;           /* the caller sets sizeof(tilec_config) */\n"
    "    int32_t variant, sm;\n"
    "    uint32_t grid[3], block[3], cluster[3];\n"
    "    uint32_t smem_dynamic, smem_static;\n"
    "    uint64_t workspace;\n"
    "    int32_t launch;          /* the caller sets which of the function's launches */\n"
    "    int32_t launches;        /* how many there are */\n"
    "} tilec_config;\n"
    "#endif\n";

/* "a-b" and "a_b" are different guards. */
static void guard_name(struct text *out, const char *stem) {
    text_puts(out, "TILEC_");
    for (const char *c = stem; *c; c++) {
        unsigned char u = (unsigned char)*c;
        text_printf(out, isalnum(u) || u == '_' ? "%c" : "_X%02X_", isalnum(u) ? toupper(u) : u);
    }
    text_puts(out, "_H_INCLUDED");
}

static void print_signature(struct text *out, struct module *const *modules, int count,
                            const struct function_ir *f) {
    int line = source_position(modules[0]->source, f->span.begin).line;
    text_puts(out, "/* ");
    emit_comment(out, f->doc ? f->doc : f->name->text);
    text_printf(out, "   line %d\n", line);
    for (int i = 0; i < f->params.count; i++) {
        const struct param *p = &f->params.at[i];
        if (p->kind != PARAM_TENSOR) continue;
        const struct buffer *b = p->buffer;
        text_printf(out, " * %s: %s[", p->name->text, dtype_letter(b->dtype));
        for (int j = 0; j < b->rank; j++) {
            if (j) text_puts(out, ", ");
            expr_print(out, b->dim[j]);
        }
        text_printf(out, "], %d-byte aligned%s\n", tensor_alignment(modules, count, f, b),
                    b->output    ? ", output"
                    : b->written ? ", written"
                                 : "");
    }
    text_puts(out, " */\n");
}

static void print_parameters(struct text *out, const struct function_ir *f) {
    for (int i = 0; i < f->params.count; i++) {
        const struct param *p = &f->params.at[i];
        const char *constant = p->kind == PARAM_TENSOR && !p->buffer->written ? "const " : "";
        text_printf(out, "%s%s %s%s, ", constant, prototype_type(p),
                    p->kind == PARAM_TENSOR ? "*" : "", p->name->text);
    }
    text_puts(out, "struct CUstream_st *stream");
}

static void print_function(struct text *out, struct module *const *modules, int count,
                           const struct function_ir *f) {
    const char *n = f->name->text;
    print_signature(out, modules, count, f);
    emit_args_struct(out, f);
    text_printf(out,
                "TILEC_NODISCARD int %s_launch(const %s_args *args, int variant, struct "
                "CUstream_st *stream);\n",
                n, n);
    text_printf(out,
                "TILEC_NODISCARD int %s_query(const %s_args *args, int variant, int sm, "
                "tilec_config *out);\n",
                n, n);
    text_printf(out,
                "size_t %s_explain(int status, const %s_args *args, char *text, size_t size);\n", n,
                n);
    text_printf(out, "TILEC_NODISCARD static inline int %s(", n);
    print_parameters(out, f);
    text_printf(out, ")\n{\n    %s_args args_;\n", n);
    for (int i = 0; i < f->params.count; i++)
        text_printf(out, "    args_.%s = %s;\n", f->params.at[i].name->text,
                    f->params.at[i].name->text);
    if (!f->params.count) text_puts(out, "    args_.unused = 0;\n");
    text_printf(out, "    return %s_launch(&args_, -1, stream);\n}\n\n", n);
}

void emit_header(struct text *out, struct module *const *modules, int count,
                 const struct emit_options *o) {
    struct function_ir **functions;
    int n = all_functions(out->arena, modules, count, &functions);
    text_puts(out, "/* Launchers for the kernels of ");
    emit_comment(out, o->source_name);
    text_printf(out,
                ", made by tilec %s; do not edit.\n"
                " * tilec claims no rights in its output; the support code it copies in is 0BSD. "
                "*/\n#ifndef ",
                o->version);
    guard_name(out, o->stem);
    text_puts(out, "\n#define ");
    guard_name(out, o->stem);
    text_printf(out,
                "\n#include <stddef.h>\n#include <stdint.h>\n\n%s\n#ifdef __cplusplus\nextern "
                "\"C\" {\n#endif\n\n",
                abi);
    for (int i = 0; i < n; i++) print_function(out, modules, count, functions[i]);
    text_puts(out, "#ifdef __cplusplus\n}\n#endif\n#endif\n");
}
