/* kernel.c: one __global__ function: signature, shared memory, block indices, body. */
#include "emit_cuda/internal.h"

/* "matmul__sm90a": profilers show which architecture's code ran. */
const char *kernel_symbol(struct arena *a, const struct module *m, const struct kernel *k) {
    const char *arch = m->target->name; /* "sm_90a" */
    return arena_printf(a, "%s__sm%s", k->name->text, arch + 3);
}

/* -- Signature
 * --------------------------------------------------------------------------------------- */
void emit_tensor_parameter(struct emitter *e, const struct buffer *b) {
    const char *type = b->dtype == DTYPE_I64   ? "long long"
                       : b->dtype == DTYPE_U64 ? "unsigned long long"
                                               : dtype_device_type(b->dtype);
    text_printf(e->out, "%s%s *%s%s", b->written ? "" : "const ", type,
                b->no_restrict ? "" : "__restrict__ ", buffer_name(e, b));
}

static void emit_parameter(struct emitter *e, const struct param *p) {
    if (p->kind == PARAM_TENSOR) {
        emit_tensor_parameter(e, p->buffer);
        return;
    }
    const struct var *v = p->var;
    text_printf(e->out, "%s %s%s", param_type(e, p), var_name(e, v),
                param_is_bits(p) ? "_bits" : "");
}

/* Scalars of 16 and 8 bits arrive as their bits, as tensors hold them. */
static void emit_scalar_params(struct emitter *e) {
    for (int i = 0; i < e->function->params.count; i++) {
        const struct param *p = &e->function->params.at[i];
        if (!param_is_bits(p) || !kernel_uses_var(e->kernel, p->var)) continue;
        const char *name = var_name(e, p->var), *letter = dtype_letter(p->var->dtype);
        text_printf(e->out, "const float %s = ", name);
        if (p->var->dtype == DTYPE_BF16)
            text_printf(e->out, "__uint_as_float((uint32_t)%s_bits << 16);\n", name);
        else
            text_printf(e->out, "%s(%s_bits);\n",
                        helper_use(e->helpers, arena_printf(e->arena, "%s_to_f32", letter)), name);
    }
}

static void emit_signature(struct emitter *e) {
    const struct kernel *k = e->kernel;
    text_puts(e->out, e->options->entry_points ? "extern \"C\" " : "static ");
    text_printf(e->out, "__global__ void __launch_bounds__(%d", k->threads);
    if (k->min_blocks) text_printf(e->out, ", %d", k->min_blocks);
    text_printf(e->out, ")\n%s(", kernel_symbol(e->arena, e->module, k));
    for (int i = 0; i < e->function->params.count; i++) {
        if (i) text_puts(e->out, ", ");
        emit_parameter(e, &e->function->params.at[i]);
    }
    text_puts(e->out, ")\n");
}

/* -- Block indices
 * -------------------------------------------------------------------------------------- */
static const char axis_name[] = "xyz";

static void emit_block_vars(struct emitter *e) {
    const struct kernel *k = e->kernel;
    for (int i = 0; i < k->grid_rank; i++) {
        if (!k->block[i] || !kernel_uses_var(k, k->block[i])) continue;
        text_printf(e->out, "const int %s = (int)blockIdx.%c;\n", var_name(e, k->block[i]),
                    axis_name[i]);
    }
}

/* Blocks that run at the same time share operands in L2 if they form a compact patch of the grid:
 * block numbers fill panels of `swizzle_panel` rows (or columns), column by column within a panel.
 * A bijection of the grid, whatever its extents. */
static void emit_swizzle(struct emitter *e) {
    const struct kernel *k = e->kernel;
    const char major = k->swizzle_column ? 'x' : 'y', minor = k->swizzle_column ? 'y' : 'x';
    const struct var *along = k->block[k->swizzle_column ? 1 : 0];
    const struct var *panel = k->block[k->swizzle_column ? 0 : 1];
    text_printf(e->out, "// panels of %d block %s\n", k->swizzle_panel,
                k->swizzle_column ? "columns" : "rows");
    text_puts(e->out, "const unsigned block_number = blockIdx.x + gridDim.x * blockIdx.y;\n");
    text_printf(e->out, "const unsigned block_panel = block_number / (%du * gridDim.%c);\n",
                k->swizzle_panel, minor);
    text_printf(e->out,
                "const unsigned block_rest = block_number - block_panel * (%du * gridDim.%c);\n",
                k->swizzle_panel, minor);
    text_printf(e->out, "const unsigned block_height = min(%du, gridDim.%c - %du * block_panel);\n",
                k->swizzle_panel, major, k->swizzle_panel);
    if (kernel_uses_var(k, along))
        text_printf(e->out, "const int %s = (int)(block_rest / block_height);\n",
                    var_name(e, along));
    if (kernel_uses_var(k, panel))
        text_printf(e->out,
                    "const int %s = (int)(%du * block_panel + block_rest %% block_height);\n",
                    var_name(e, panel), k->swizzle_panel);
    if (k->grid_rank == 3 && k->block[2] && kernel_uses_var(k, k->block[2]))
        text_printf(e->out, "const int %s = (int)blockIdx.z;\n", var_name(e, k->block[2]));
}

/* -- Shared memory
 * ----------------------------------------------------------------------------------------- */
static bool uses_shared(const struct kernel *k) {
    bool used = false;
    for (int i = 0; i < k->buffers.count; i++)
        used |= k->buffers.at[i]->scope == SCOPE_SHARED && kernel_uses_shared(k, k->buffers.at[i]);
    return used;
}

static void emit_shared(struct emitter *e) {
    const struct kernel *k = e->kernel;
    if (!uses_shared(k)) return;
    text_puts(e->out, "extern __shared__ __align__(1024) char smem[];\n");
    text_puts(e->out, "const uint32_t smem_base = (uint32_t)__cvta_generic_to_shared(smem);\n");
    text_puts(e->out, "(void)smem_base;\n");
    for (int i = 0; i < k->buffers.count; i++) {
        const struct buffer *b = k->buffers.at[i];
        if (b->scope != SCOPE_SHARED || b->alias || b->offset < 0 || !kernel_uses_shared(k, b))
            continue;
        text_printf(e->out, "constexpr int %s = %d; // %s[", buffer_name(e, b), b->offset,
                    dtype_letter(b->dtype));
        for (int j = 0; j < b->rank; j++) text_printf(e->out, "%s%d", j ? ", " : "", b->extent[j]);
        text_puts(e->out, "] ");
        layout_print(e->out, &b->layout);
        text_puts(e->out, "\n");
    }
}

static void emit_local(struct emitter *e) {
    const struct kernel *k = e->kernel;
    for (int i = 0; i < k->code->locals.count; i++) {
        const struct buffer *b = k->code->locals.at[i];
        const char *type = b->dtype == DTYPE_I64   ? "long long"
                           : b->dtype == DTYPE_U64 ? "unsigned long long"
                                                   : dtype_device_type(b->dtype);
        text_printf(e->out, "%s %s[%lld];\n", type, buffer_name(e, b),
                    (long long)buffer_elements(b));
    }
}

/* -- The function
 * ---------------------------------------------------------------------------------------------- */
static bool is_used(const struct emitter *e, const struct var *v) {
    return v && kernel_uses_var(e->kernel, v) && !kernel_declares_var(e->kernel, v);
}

/* The flat thread number, x fastest; the body derives lane and warp from it. */
static void emit_thread_vars(struct emitter *e) {
    const struct kernel_code *c = e->kernel->code;
    const int32_t *extent = e->kernel->thread_extent;
    if (!is_used(e, c->thread)) return;
    text_printf(e->out, "const int %s = (int)threadIdx.x", var_name(e, c->thread));
    if (extent[1] > 1) text_printf(e->out, " + %d * (int)threadIdx.y", extent[0]);
    if (extent[2] > 1) text_printf(e->out, " + %d * (int)threadIdx.z", extent[0] * extent[1]);
    text_puts(e->out, ";\n");
}

/* Where the body is compiled: nvcc runs it once per -gencode pair, and `-arch=sm_90a` adds a plain
 * compute_90 pass whose code never runs on the device that the launcher chooses. */
const char *arch_test(struct arena *a, const struct target *t) {
    if (t->exact)
        return arena_printf(a, "__CUDA_ARCH__ == %d0 && defined(__CUDA_ARCH_FEAT_SM%d_ALL)",
                            t->capability, t->capability);
    return arena_printf(a, "__CUDA_ARCH__ == %d0", t->capability);
}

void emit_kernel(struct emitter *e) {
    emit_signature(e);
    text_puts(e->out, "{\n");
    text_printf(e->out, "#if defined(__CUDA_ARCH__) && %s\n",
                arch_test(e->arena, e->module->target));
    e->out->indent++;
    e->line = 0;
    e->by_parts = arrays_by_parts(e->arena, e->kernel);
    emit_shared(e);
    if (e->kernel->swizzle_panel > 0 && e->kernel->grid_rank >= 2 && e->kernel->block[0] &&
        e->kernel->block[1])
        emit_swizzle(e);
    else
        emit_block_vars(e);
    emit_thread_vars(e);
    emit_scalar_params(e);
    emit_local(e);
    emit_kblock(e, &e->kernel->code->body);
    e->out->indent--;
    if (e->line) emit_line_back(e);
    text_puts(e->out, "#elif defined(__CUDA_ARCH__)\n    __trap();\n#endif\n}\n");
}
