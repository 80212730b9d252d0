/* host.c: the launcher of one function: checks, choice of architecture, launch.
 *
 * Launchers keep no state, call only what stream capture allows, and check nothing twice: one
 * function finds the first fault of the arguments, and both launch and explain use it. The
 * attribute for large shared memory is set at every launch; it costs less than remembering it per
 * device would in trouble. */
#include "emit_cuda/internal.h"
#include <string.h>

/* Once a file: what every launcher needs. */
const char host_support[] =
    "struct tilec_fault {\n    int status;\n    const char *what;\n    long long value;\n"
    "    bool valued; // does the text end with the value?\n};\n"
    "static inline int tilec_error(cudaError_t e)\n{\n"
    "    if (e != cudaSuccess) (void)cudaGetLastError();\n    return (int)e;\n}\n"
    "static inline int tilec_device(int *sm)\n{\n"
    "    int device, major, minor;\n"
    "    cudaError_t e = cudaGetDevice(&device);\n"
    "    if (e == cudaSuccess) e = cudaDeviceGetAttribute(&major, "
    "cudaDevAttrComputeCapabilityMajor, device);\n"
    "    if (e == cudaSuccess) e = cudaDeviceGetAttribute(&minor, "
    "cudaDevAttrComputeCapabilityMinor, device);\n"
    "    if (e == cudaSuccess) *sm = 10 * major + minor;\n    return tilec_error(e);\n}\n"
    "static inline int tilec_grid(const tilec_config *c)\n{\n"
    "    if (c->grid[0] > 2147483647u || c->grid[1] > 65535u || c->grid[2] > 65535u) return "
    "TILEC_E_LIMIT;\n"
    "    return TILEC_OK;\n}\n"
    "// an extent of the grid; what CUDA cannot launch becomes the largest number, which "
    "tilec_grid refuses\n"
    "static inline uint32_t tilec_extent(int64_t n)\n{\n"
    "    return n < 0 ? 0 : n > 0xffffffffLL ? 0xffffffffu : (uint32_t)n;\n}\n";

/* -- Checks
 * ----------------------------------------------------------------------------------------- */
/* Words that the launcher's functions use themselves. */
static struct names *host_names(const struct emitter *e) {
    static const char *const words[] = {"out",  "kernel",  "launch", "sm",     "f",      "none",
                                        "text", "size",    "status", "length", "params", "c",
                                        "args", "variant", "stream", "fault"};
    struct names *n = names_like(e->words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) names_reserve(n, words[i]);
    return n;
}

static bool grid_uses(const struct function_ir *f, const struct var *v) {
    for (int i = 0; i < f->kernels.count; i++)
        for (int j = 0; j < f->kernels.at[i]->grid_rank; j++)
            if (expr_uses_var(f->kernels.at[i]->grid[j], v)) return true;
    return false;
}

/* Every dimension is checked itself. */
static bool check_uses(const struct function_ir *f, const struct param *p) {
    bool used = p->kind == PARAM_DIM;
    for (int i = 0; i < f->params.count; i++) {
        const struct buffer *b = f->params.at[i].buffer;
        for (int j = 0; b && j < b->rank; j++) used |= expr_uses_var(b->dim[j], p->var);
    }
    for (int i = 0; i < f->checks.count; i++) used |= expr_uses_var(f->checks.at[i].test, p->var);
    return used;
}

/* The dimensions and scalars that the expressions below use, by their names; integers that do not
 * wrap have 64 bits. */
static void bind_dims(struct emitter *e, const struct function_ir *f, bool grid) {
    for (int i = 0; i < f->params.count; i++) {
        const struct param *p = &f->params.at[i];
        if (p->kind == PARAM_TENSOR || param_is_bits(p)) continue;
        if (grid ? !grid_uses(f, p->var) : !check_uses(f, p)) continue;
        const char *name = var_name(e, p->var);
        enum dtype_class class = dtype_class_of(p->var->dtype);
        bool wide = class == CLASS_INT || class == CLASS_INDEX;
        const char *type = wide ? "int64_t" : param_type(e, p);
        text_printf(e->out, "const %s %s = args->%s;\n", type, name, p->name->text);
    }
}

/* `value` is shown behind the text; NULL: there is none. */
static void fault(struct emitter *e, const char *status, const char *what, const char *value) {
    text_printf(e->out, "{\n    const struct tilec_fault f = {%s, ", status);
    emit_quoted(e->out, what);
    if (value)
        text_printf(e->out, ", (long long)(%s), true};\n    return f;\n}\n", value);
    else
        text_puts(e->out, ", 0, false};\n    return f;\n}\n");
}

/* Sums and small multiples of dimensions then stay within 64 bits. */
static const int64_t LARGEST_DIM = (int64_t)1 << 56;

static void check_dim(struct emitter *e, const struct param *p) {
    const char *name = var_name(e, p->var), *n = p->name->text;
    int64_t lo = p->var->lo < 0 ? 0 : p->var->lo, hi = p->var->hi;
    text_printf(e->out, "if (%s < %lld) ", name, (long long)lo);
    fault(e, "TILEC_E_DIM",
          lo ? arena_printf(e->arena, "%s is below %lld:", n, (long long)lo)
             : arena_printf(e->arena, "%s is negative:", n),
          name);
    if (p->var->dtype == DTYPE_I32 && hi > INT32_MAX) hi = INT32_MAX;
    if (hi > LARGEST_DIM) hi = LARGEST_DIM;
    text_printf(e->out, "if (%s > %lld) ", name, (long long)hi);
    fault(e, "TILEC_E_DIM",
          hi == INT32_MAX ? arena_printf(e->arena, "%s exceeds 32 bits:", n)
                          : arena_printf(e->arena, "%s exceeds %lld:", n, (long long)hi),
          name);
}

/* Are all extents known, and none zero? */
static bool has_elements(const struct buffer *b) {
    int64_t n, all = 1;
    for (int i = 0; i < b->rank; i++)
        if (!expr_is_int(b->dim[i], &n) || n <= 0 || __builtin_mul_overflow(all, n, &all))
            return false;
    return all <= (int64_t)1 << 60;
}

static void count_elements(struct emitter *e, const struct buffer *b, const char *count) {
    text_printf(e->out, "int64_t %s = 1;\n", count);
    for (int i = 0; i < b->rank; i++) {
        text_printf(e->out, "%s = %s(%s, ", count, helper_use(e->helpers, "tilec_times"), count);
        emit_expr(e, b->dim[i]);
        text_puts(e->out, ");\n");
    }
}

/* A tensor without elements may be null or anywhere. */
static void check_tensor(struct emitter *e, const struct param *p, int alignment) {
    const struct buffer *b = p->buffer;
    const char *n = p->name->text, *some = "";
    if (!has_elements(b)) {
        const char *count = names_of(e->names, b, arena_printf(e->arena, "%s_elements", n));
        count_elements(e, b, count);
        text_printf(e->out, "if (%s < 0) ", count);
        fault(e, "TILEC_E_DIM",
              arena_printf(e->arena, "%s has a negative extent or too many elements", n), NULL);
        some = arena_printf(e->arena, "%s > 0 && ", count);
    }
    text_printf(e->out, "if (%s!args->%s) ", some, n);
    fault(e, "TILEC_E_NULL", arena_printf(e->arena, "%s is null", n), NULL);
    if (alignment <= 1) return;
    text_printf(e->out, "if (%s((uintptr_t)args->%s & %d) != 0) ", some, n, alignment - 1);
    fault(e, "TILEC_E_ALIGN",
          arena_printf(e->arena, "%s is not aligned to %d bytes; its address modulo %d is", n,
                       alignment, alignment),
          arena_printf(e->arena, "(uintptr_t)args->%s & %d", n, alignment - 1));
}

static void check_assumption(struct emitter *e, const struct host_check *c) {
    text_puts(e->out, "if (!(");
    emit_expr(e, c->test);
    text_puts(e->out, ")) ");
    fault(e, "TILEC_E_ASSUME", c->message ? c->message : "an assert does not hold", NULL);
}

static void emit_check(struct emitter *e, struct module *const *modules, int count,
                       const struct function_ir *f) {
    text_printf(e->out, "static struct tilec_fault %s__check(const %s_args *args)\n{\n",
                f->name->text, f->name->text);
    e->out->indent++;
    text_puts(e->out, "if (!args) ");
    fault(e, "TILEC_E_NULL", "args is null", NULL);
    bind_dims(e, f, false);
    for (int i = 0; i < f->params.count; i++)
        if (f->params.at[i].kind == PARAM_DIM) check_dim(e, &f->params.at[i]);
    for (int i = 0; i < f->params.count; i++)
        if (f->params.at[i].kind == PARAM_TENSOR)
            check_tensor(e, &f->params.at[i],
                         tensor_alignment(modules, count, f, f->params.at[i].buffer));
    for (int i = 0; i < f->checks.count; i++) check_assumption(e, &f->checks.at[i]);
    text_puts(e->out,
              "const struct tilec_fault none = {TILEC_OK, \"\", 0, false};\nreturn none;\n");
    e->out->indent--;
    text_puts(e->out, "}\n\n");
}

/* -- Configuration
 * -------------------------------------------------------------------------------------- */
static const char *arch_choice(struct arena *a, const struct target *t) {
    if (t->exact) return arena_printf(a, "sm == %d", t->capability);
    return arena_printf(a, "sm >= %d && sm < %d", t->capability, t->capability / 10 * 10 + 10);
}

static void configure_launch(struct emitter *e, const struct module *m, const struct kernel *k,
                             int n) {
    text_printf(e->out, "case %d:\n", n);
    e->out->indent++;
    for (int i = 0; i < 3; i++) {
        text_printf(e->out, "out->grid[%d] = ", i);
        if (i < k->grid_rank) {
            text_puts(e->out, "tilec_extent(");
            emit_expr(e, k->grid[i]);
            text_puts(e->out, ");\n");
        } else {
            text_puts(e->out, "1;\n");
        }
    }
    for (int i = 0; i < 3; i++)
        text_printf(e->out, "out->block[%d] = %d;\n", i,
                    k->thread_extent[i] ? k->thread_extent[i] : 1);
    text_printf(e->out, "out->smem_dynamic = %d;\n*kernel = (const void *)%s;\nreturn TILEC_OK;\n",
                k->shared_bytes, kernel_symbol(e->arena, m, k));
    e->out->indent--;
}

static void emit_configure(struct emitter *e, struct module *const *modules, int count,
                           const struct function_ir *f) {
    text_printf(e->out,
                "static int %s__configure(const %s_args *args, int sm, int launch, tilec_config "
                "*out, const void **kernel)\n{\n",
                f->name->text, f->name->text);
    e->out->indent++;
    for (int i = count; i-- > 0;) { /* the newest architecture first */
        const struct function_ir *g = function_in(modules[i], f);
        if (!g) continue;
        text_printf(e->out, "if (%s) {\n", arch_choice(e->arena, modules[i]->target));
        e->out->indent++;
        e->names = host_names(e);
        bind_dims(e, g, true);
        text_puts(e->out, "switch (launch) {\n");
        for (int j = 0; j < g->kernels.count; j++)
            configure_launch(e, modules[i], g->kernels.at[j], j);
        text_puts(e->out, "default: return TILEC_E_VARIANT;\n}\n");
        e->out->indent--;
        text_puts(e->out, "}\n");
    }
    text_puts(e->out,
              "(void)args;\n(void)launch;\n(void)out;\n(void)kernel;\nreturn TILEC_E_ARCH;\n");
    e->out->indent--;
    text_puts(e->out, "}\n\n");
}

static bool can_be_empty(const struct function_ir *f) {
    bool can = true;
    for (int i = 0; i < f->kernels.count; i++) {
        bool always = true;
        for (int j = 0; j < f->kernels.at[i]->grid_rank; j++) {
            int64_t n;
            always &= expr_is_int(f->kernels.at[i]->grid[j], &n) && n > 0;
        }
        can &= !always;
    }
    return can;
}

/* Every launch has an empty grid: there is nothing to do, on any device or without one. */
static void emit_empty(struct emitter *e, const struct function_ir *f) {
    text_printf(e->out, "static bool %s__empty(const %s_args *args)\n{\n", f->name->text,
                f->name->text);
    e->out->indent++;
    e->names = host_names(e);
    text_puts(e->out, "(void)args;\n");
    bind_dims(e, f, true);
    text_puts(e->out, "return ");
    for (int i = 0; i < f->kernels.count; i++) {
        const struct kernel *k = f->kernels.at[i];
        text_printf(e->out, "%s(", i ? " && " : "");
        for (int j = 0; j < k->grid_rank; j++) {
            text_puts(e->out, j ? " || tilec_extent(" : "tilec_extent(");
            emit_expr(e, k->grid[j]);
            text_puts(e->out, ") == 0");
        }
        text_puts(e->out, k->grid_rank ? ")" : "false)");
    }
    text_puts(e->out, f->kernels.count ? ";\n" : "true;\n");
    e->out->indent--;
    text_puts(e->out, "}\n\n");
}

/* -- Entry points
 * -------------------------------------------------------------------------------------------- */
/* The kernel's parameters by address, each in the type of its signature. */
static void pack_params(struct emitter *e, const struct function_ir *f) {
    for (int i = 0; i < f->params.count; i++) {
        const struct param *p = &f->params.at[i];
        if (p->kind == PARAM_TENSOR) {
            text_printf(e->out, "const void *p%d = args->%s;\n", i, p->name->text);
            continue;
        }
        const char *type = param_type(e, p);
        text_printf(e->out, "%s p%d = (%s)args->%s%s;\n", type, i, type, p->name->text,
                    param_is_bits(p) ? ".bits" : "");
    }
    text_puts(e->out, "void *params[] = {");
    for (int i = 0; i < f->params.count; i++)
        text_printf(e->out, "%s(void *)&p%d", i ? ", " : "", i);
    text_puts(e->out, f->params.count ? "};\n" : "NULL};\n");
}

static void emit_launch(struct emitter *e, const struct function_ir *f) {
    const char *n = f->name->text;
    text_printf(e->out,
                "extern \"C\" int %s_launch(const %s_args *args, int variant, struct CUstream_st "
                "*stream)\n{\n",
                n, n);
    e->out->indent++;
    text_puts(e->out, "if (variant != -1 && variant != 0) return TILEC_E_VARIANT;\n");
    text_printf(e->out,
                "const struct tilec_fault fault = %s__check(args);\nif (fault.status) return "
                "fault.status;\n",
                n);
    if (can_be_empty(f)) text_printf(e->out, "if (%s__empty(args)) return TILEC_OK;\n", n);
    text_puts(e->out, "int sm = 0, status = tilec_device(&sm);\nif (status) return status;\n");
    pack_params(e, f);
    text_printf(e->out, "for (int launch = 0; launch < %d; launch++) {\n", f->kernels.count);
    e->out->indent++;
    text_puts(e->out, "tilec_config c = {};\nconst void *kernel = NULL;\n");
    text_printf(e->out, "status = %s__configure(args, sm, launch, &c, &kernel);\n", n);
    text_puts(
        e->out,
        "if (status) return status;\n"
        "if (!c.grid[0] || !c.grid[1] || !c.grid[2]) continue;\n"
        "if ((status = tilec_grid(&c)) != 0) return status;\n"
        "if (c.smem_dynamic > 49152 &&\n"
        "    (status = tilec_error(cudaFuncSetAttribute(kernel, "
        "cudaFuncAttributeMaxDynamicSharedMemorySize,\n"
        "                                               (int)c.smem_dynamic))) != 0)\n"
        "    return status;\n"
        "status = tilec_error(cudaLaunchKernel(kernel, dim3(c.grid[0], c.grid[1], c.grid[2]),\n"
        "                                      dim3(c.block[0], c.block[1], c.block[2]), params,\n"
        "                                      c.smem_dynamic, stream));\n"
        "if (status) return status;\n");
    e->out->indent--;
    text_puts(e->out, "}\nreturn TILEC_OK;\n");
    e->out->indent--;
    text_puts(e->out, "}\n\n");
}

static void emit_query(struct emitter *e, const struct function_ir *f) {
    const char *n = f->name->text;
    text_printf(e->out,
                "extern \"C\" int %s_query(const %s_args *args, int variant, int sm, tilec_config "
                "*out)\n{\n",
                n, n);
    e->out->indent++;
    text_puts(e->out, "if (variant != -1 && variant != 0) return TILEC_E_VARIANT;\n"
                      "if (!out || out->size < sizeof(tilec_config)) return TILEC_E_NULL;\n");
    text_printf(e->out,
                "const struct tilec_fault fault = %s__check(args);\nif (fault.status) return "
                "fault.status;\n",
                n);
    text_puts(e->out,
              "int status = sm ? TILEC_OK : tilec_device(&sm);\nif (status) return status;\n"
              "const int launch = out->launch;\nconst void *kernel = NULL;\n"
              "*out = tilec_config();\nout->size = sizeof(tilec_config);\n"
              "out->sm = sm;\nout->launch = launch;\n");
    text_printf(e->out,
                "out->launches = %d;\nout->cluster[0] = out->cluster[1] = out->cluster[2] = 1;\n",
                f->kernels.count);
    text_printf(e->out, "return %s__configure(args, sm, launch, out, &kernel);\n", n);
    e->out->indent--;
    text_puts(e->out, "}\n\n");
}

/* Statuses that say the same for every function. */
static const struct {
    const char *status, *text;
} plain_faults[] = {
    {"TILEC_OK", "ok"},
    {"TILEC_E_ARCH", "no code for this device"},
    {"TILEC_E_LIMIT", "the grid exceeds a limit of CUDA"},
    {"TILEC_E_VARIANT", "no such variant or launch"},
};

static void emit_explain(struct emitter *e, const struct function_ir *f) {
    const char *n = f->name->text;
    text_printf(e->out,
                "extern \"C\" size_t %s_explain(int status, const %s_args *args, char *text, "
                "size_t size)\n{\n",
                n, n);
    e->out->indent++;
    text_printf(e->out, "const struct tilec_fault f = %s__check(args);\nint length;\n", n);
    for (size_t i = 0; i < sizeof plain_faults / sizeof *plain_faults; i++)
        text_printf(e->out, "%sif (status == %s) length = snprintf(text, size, \"%s: %s\");\n",
                    i ? "else " : "", plain_faults[i].status, n, plain_faults[i].text);
    text_printf(e->out,
                "else if (status > 0) length = snprintf(text, size, \"%s: %%s\", "
                "cudaGetErrorString((cudaError_t)status));\n",
                n);
    text_printf(
        e->out,
        "else if (status != f.status) length = snprintf(text, size, \"%s: status %%d\", status);\n",
        n);
    text_printf(
        e->out,
        "else if (f.valued) length = snprintf(text, size, \"%s: %%s %%lld\", f.what, f.value);\n",
        n);
    text_printf(e->out, "else length = snprintf(text, size, \"%s: %%s\", f.what);\n", n);
    text_puts(e->out, "return length < 0 ? 0 : (size_t)length;\n");
    e->out->indent--;
    text_puts(e->out, "}\n\n");
}

void emit_launcher(struct emitter *e, struct module *const *modules, int count,
                   const struct function_ir *f) {
    e->host = true;
    e->kernel = NULL;
    e->names = host_names(e);
    emit_check(e, modules, count, f);
    emit_configure(e, modules, count, f);
    if (can_be_empty(f)) emit_empty(e, f);
    e->names = host_names(e);
    emit_launch(e, f);
    emit_query(e, f);
    emit_explain(e, f);
    e->host = false;
}
