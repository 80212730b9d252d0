/* rig.c: see rig.h. */
#include "rig.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct rig rig_new(const char *target) {
    struct rig r = {.arena = arena_new()};
    struct interns *names = interns_new(r.arena);
    static const char text[] = "line 1\nline 2\nline 3\nline 4\n";
    struct source *s = source_of_text(r.arena, "hand.tile", text, sizeof text - 1);

    r.module = module_new(r.arena, names, diag_new(r.arena, s), s, target_find(target));
    r.module->level = LEVEL_KERNEL;
    r.x = r.module->exprs;
    r.function = arena_make(r.arena, struct function_ir);
    r.function->name = r.function->unit = intern_text(names, "hand");
    r.function->doc = "hand()";
    vec_push(r.arena, &r.module->functions, r.function);
    r.kernel = arena_make(r.arena, struct kernel);
    r.kernel->name = intern_text(names, "hand_kernel");
    r.kernel->function = r.function;
    r.kernel->grid_rank = 1;
    r.kernel->grid[0] = expr_index(r.x, 4);
    r.kernel->threads = r.kernel->thread_extent[0] = 64;
    r.kernel->thread_extent[1] = r.kernel->thread_extent[2] = 1;
    r.kernel->code = arena_make(r.arena, struct kernel_code);
    r.kernel->code->alignment = arena_array(r.arena, int32_t, 64);
    vec_push(r.arena, &r.function->kernels, r.kernel);
    r.out = &r.kernel->code->body;
    return r;
}

void rig_free(struct rig *r) { arena_free(r->arena); }

/* -- The program ---------------------------------------------------------------------------------
 */
static struct sym *sym(struct rig *r, const char *name) {
    return intern_text(r->module->names, name);
}

static void parameter(struct rig *r, struct param p) {
    vec_push(r->arena, &r->function->params, p);
}

struct buffer *tensor_of(struct rig *r, const char *name, enum dtype t, struct expr *extent) {
    struct buffer *b =
        buffer_new(r->module, r->function, NULL, SCOPE_GLOBAL, sym(r, name), t, 1, NULL);

    b->dim[0] = extent;
    b->stride[0] = expr_index(r->x, 1);
    parameter(r, (struct param){.kind = PARAM_TENSOR, .name = b->name, .buffer = b});
    return b;
}

struct buffer *tensor(struct rig *r, const char *name, enum dtype t, int64_t extent, bool written) {
    struct buffer *b = tensor_of(r, name, t, expr_index(r->x, extent));

    b->written = written;
    return b;
}

struct buffer *shared(struct rig *r, const char *name, enum dtype t, int32_t extent) {
    struct buffer *b =
        buffer_new(r->module, r->function, r->kernel, SCOPE_SHARED, sym(r, name), t, 1, &extent);

    b->offset = r->kernel->shared_bytes;
    r->kernel->shared_bytes += extent * dtype_bytes(t);
    return b;
}

struct var *variable(struct rig *r, enum var_kind k, const char *name, enum dtype t) {
    return var_new(r->x, k, sym(r, name), t, (struct span){0, 0});
}

struct var *ranged(struct rig *r, const char *name, int64_t lo, int64_t hi) {
    struct var *v = variable(r, VAR_LET, name, DTYPE_INDEX);

    v->lo = lo;
    v->hi = hi;
    return v;
}

struct var *scalar(struct rig *r, const char *name, enum dtype t) {
    struct var *v = variable(r, VAR_PARAM, name, t);

    parameter(r, (struct param){.kind = PARAM_SCALAR, .name = v->name, .var = v});
    return v;
}

struct var *dimension(struct rig *r, const char *name, int64_t hi) {
    struct var *v = variable(r, VAR_DIM, name, DTYPE_INDEX);

    v->lo = 0;
    v->hi = hi;
    parameter(r, (struct param){.kind = PARAM_DIM, .name = v->name, .var = v});
    return v;
}

struct kstmt *add(struct rig *r, enum kstmt_kind kind) {
    struct kstmt *s = kstmt_new(r->module, kind, (struct span){7, 13});

    kblock_append(r->out, s);
    return s;
}

struct array *registers(struct rig *r, const char *name, enum dtype t, enum dtype element,
                        int32_t count) {
    struct array *a = array_new(r->module, r->kernel, name, t, element, count, (struct span){0, 0});

    add(r, K_ARRAY)->array = a;
    return a;
}

struct expr *ix(struct rig *r, int64_t value) {
    return expr_index(r->x, value);
}

struct expr *of(struct rig *r, struct var *v) {
    return expr_var(r->x, v);
}

/* -- Its texts -----------------------------------------------------------------------------------
 */
static const struct emit_options options = {.version = "0",
                                            .source_name = "hand.tile",
                                            .header_name = "hand.h",
                                            .unit_name = "hand.cu",
                                            .stem = "hand"};

const char *cuda_text(struct rig *r) {
    struct text t = text_new(r->arena);

    emit_cuda(&t, &r->module, 1, &options);
    return t.at;
}

const char *header_text(struct rig *r) {
    struct text t = text_new(r->arena);

    emit_header(&t, &r->module, 1, &options);
    return t.at;
}

const char *expr_text(struct rig *r, const struct expr *e, bool host) {
    struct text t = text_new(r->arena);
    struct emitter m = {.arena = r->arena,
                        .out = &t,
                        .module = r->module,
                        .function = r->function,
                        .names = names_new(r->arena),
                        .helpers = helpers_new(r->arena),
                        .options = &options,
                        .host = host};

    emit_expr(&m, e);
    return t.at;
}

/* -- Tools ---------------------------------------------------------------------------------------
 */
static char directory[] = "/tmp/tilec-test-XXXXXX";
static bool made;

const char *rig_directory(void) {
    if (!made && !mkdtemp(directory)) exit(99);
    made = true;
    return directory;
}

void rig_clean(void) {
    char command[64];

    if (!made) return;
    snprintf(command, sizeof command, "rm -rf %s", directory);
    if (system(command)) fprintf(stderr, "%s is left\n", directory);
}

void write_file(const char *name, const char *text) {
    char path[256];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", rig_directory(), name);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

int run(const char *format, ...) {
    char command[4096];
    va_list arguments;
    int n = snprintf(command, sizeof command, "cd %s && ", rig_directory());

    va_start(arguments, format);
    vsnprintf(command + n, sizeof command - (size_t)n, format, arguments);
    va_end(arguments);
    return system(command);
}

bool has_tool(const char *name) { return !run("command -v %s >/dev/null 2>&1", name); }

bool nvcc_compiles(const char *file, const char *arch) {
    return !run("nvcc -Werror all-warnings -Xcompiler -Wall,-Wextra,-Werror "
                "-gencode arch=compute_%s,code=%s -c %s -o /dev/null",
                arch + 3, arch, file);
}
