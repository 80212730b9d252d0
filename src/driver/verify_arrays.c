/* verify_arrays.c: --input and --output: arrays of .npy files as tensors, and back.
 *
 * The shape of an input determines the dimensions that its tensor's extents name; whether all
 * shapes, -D and the text agree is asked once, when the extents of the tensors are known. */
#include "driver/verify.h"
#include <stdio.h>

bool arrays_read(struct verify *v) {
    for (int i = 0; i < v->how->inputs.count; i++) {
        struct named_file *n = &v->how->inputs.at[i];
        const char *why = NULL;
        n->array = npy_read(v->options->arena, n->file, &why);
        if (n->array) continue;
        fprintf(stderr, "tilec: error: cannot read '%s' for tensor '%s': %s\n", n->file, n->name,
                why);
        return false;
    }
    return true;
}

/* -- names
 * ---------------------------------------------------------------------------------------- */
static bool is_of(const struct named_file *n, const struct function_ir *f) {
    return !n->function || !strcmp(n->function, f->name->text) ||
           !strcmp(n->function, f->unit->text);
}

static int tensor_named(const struct named_file *n, const struct function_ir *f) {
    for (int i = 0; i < f->params.count && is_of(n, f); i++)
        if (f->params.at[i].buffer && !strcmp(f->params.at[i].name->text, n->name)) return i;
    return -1;
}

static const struct named_file *input_of(const struct verify *v, const struct function_ir *f,
                                         int param) {
    const struct named_file *best = NULL;
    for (int i = 0; i < v->how->inputs.count; i++)
        if (tensor_named(&v->how->inputs.at[i], f) == param) best = &v->how->inputs.at[i];
    return best;
}

static void list_tensors(const struct module *m) {
    for (int i = 0; i < m->functions.count; i++) {
        const struct function_ir *f = m->functions.at[i];
        fprintf(stderr, "tilec: note: tensors of '%s':", f->name->text);
        for (int k = 0; k < f->params.count; k++)
            if (f->params.at[k].buffer) fprintf(stderr, " %s", f->params.at[k].name->text);
        fprintf(stderr, "\n");
    }
}

static int kernels_with(const struct named_file *n, const struct module *m) {
    int count = 0;
    for (int i = 0; i < m->functions.count; i++) count += tensor_named(n, m->functions.at[i]) >= 0;
    return count;
}

static bool fits(const struct named_file *n, const char *option, const struct module *m) {
    if (kernels_with(n, m)) return true;
    fprintf(stderr, "tilec: error: %s: no tensor is called '%s%s%s'\n", option,
            n->function ? n->function : "", n->function ? "." : "", n->name);
    list_tensors(m);
    return false;
}

static bool is_single(const struct named_file *n, const struct module *m) {
    if (kernels_with(n, m) == 1) return true;
    fprintf(stderr,
            "tilec: error: --output: %d kernels have a tensor '%s'; say which:", kernels_with(n, m),
            n->name);
    for (int i = 0; i < m->functions.count; i++)
        if (tensor_named(n, m->functions.at[i]) >= 0)
            fprintf(stderr, " %s.%s", m->functions.at[i]->name->text, n->name);
    fprintf(stderr, "\n");
    return false;
}

static bool same_names(const struct named_file *a, const struct named_file *b) {
    return !strcmp(a->name, b->name) &&
           (a->function && b->function ? !strcmp(a->function, b->function)
                                       : a->function == b->function);
}

static bool once(const struct verify *v, int at) {
    const struct named_file *n = &v->how->inputs.at[at];
    for (int k = 0; k < at; k++) {
        if (!same_names(n, &v->how->inputs.at[k])) continue;
        fprintf(stderr, "tilec: error: --input gives tensor '%s' twice: '%s' and '%s'\n", n->name,
                v->how->inputs.at[k].file, n->file);
        return false;
    }
    return true;
}

static bool may_write(const struct verify *v, int at) {
    const char *file = v->how->outputs.at[at].file;
    const char *why = !strcmp(file, "-") ? "is standard output, where the report goes"
                      : file_is_input(v->options, file) ? "would replace the input"
                                                        : NULL;
    for (int k = 0; k < at && !why; k++)
        if (!strcmp(file, v->how->outputs.at[k].file)) why = "would hold two outputs";
    if (!why) return true;
    fprintf(stderr, "tilec: error: --output: '%s' %s\n", file, why);
    return false;
}

bool arrays_fit(struct verify *v, const struct module *m) {
    for (int i = 0; i < v->how->inputs.count; i++)
        if (!fits(&v->how->inputs.at[i], "--input", m) || !once(v, i)) return false;
    for (int i = 0; i < v->how->outputs.count; i++) {
        const struct named_file *n = &v->how->outputs.at[i];
        if (!fits(n, "--output", m) || !is_single(n, m) || !may_write(v, i)) return false;
    }
    return true;
}

/* -- dimensions
 * ----------------------------------------------------------------------------------- */
static int param_of(const struct function_ir *f, const struct var *x) {
    for (int i = 0; i < f->params.count; i++)
        if (f->params.at[i].var == x) return i;
    return -1;
}

/* Parameters without a value in e: their number, and the last one. */
static int open_in(const struct trial *t, const struct expr *e, int *param) {
    int p = e->kind == EXPR_VAR ? param_of(t->meaning, e->var) : -1, count = 0;
    if (p >= 0 && !t->given[p].set) {
        *param = p;
        return 1;
    }
    for (int i = 0; i < e->count; i++) count += open_in(t, e->args[i], param);
    return count;
}

/* The one open parameter of `e`, so that e == extent; a dimension that does not come out whole
 * stays open. True if a value was found. */
static bool solve(struct arena *a, const struct trial *t, const struct expr *e, int64_t extent) {
    const struct function_ir *f = t->meaning;
    struct affine form;
    int param = -1;
    if (!e || open_in(t, e, &param) != 1 || !affine_of(e, &form)) return false;
    int64_t by = affine_coefficient(&form, f->params.at[param].var), rest;
    union scalar *values = arena_array(a, union scalar, f->params.count + 1);
    for (int i = 0; i < f->params.count; i++)
        if (t->given[i].set) values[i] = t->given[i].value;
    const struct eval_args args = {.count = f->params.count, .scalar = values};
    rest = sim_host_value(f, &args, e); /* with 0 for the open one */
    if (by < 1 || __builtin_sub_overflow(extent, rest, &rest) || rest % by) return false;
    t->given[param] = (struct sim_choice){true, {.i = rest / by}};
    return true;
}

static bool bind_some(struct arena *a, const struct verify *v, const struct trial *t) {
    const struct function_ir *f = t->meaning;
    bool some = false;
    for (int i = 0; i < f->params.count; i++) {
        const struct named_file *n = input_of(v, f, i);
        const struct buffer *b = f->params.at[i].buffer;
        for (int k = 0; n && k < b->rank; k++) some |= solve(a, t, b->dim[k], n->array->extent[k]);
    }
    return some;
}

static const char *misfit(struct arena *a, const struct named_file *n, const struct buffer *b) {
    if (n->array->rank != b->rank)
        return arena_printf(a, "tensor '%s' has %d axes, '%s' has %d", n->name, b->rank, n->file,
                            n->array->rank);
    if (!npy_holds(n->array, b->dtype))
        return arena_printf(a, "tensor '%s' has elements of %s ('%s'), '%s' has '%s'", n->name,
                            dtype_spelling(b->dtype), npy_type(b->dtype), n->file, n->array->type);
    return NULL;
}

/* What the program says of a value that a user gives. */
static const char *illegal(struct arena *a, const struct param *p, int64_t value) {
    const struct var *x = p->var;
    if (value < x->lo || value > x->hi)
        return arena_printf(a, "'%s' is %lld, outside of %lld to %lld", p->name->text,
                            (long long)value, (long long)x->lo, (long long)x->hi);
    if (x->divisor > 1 && value % x->divisor)
        return arena_printf(a, "'%s' is %lld, no multiple of %lld", p->name->text, (long long)value,
                            (long long)x->divisor);
    return NULL;
}

bool arrays_bind(struct verify *v, const struct trial *t, const char **why) {
    const struct function_ir *f = t->meaning;
    struct arena *a = v->c->arena;
    *why = NULL;
    for (int i = 0; i < f->params.count && !*why; i++) {
        const struct named_file *n = input_of(v, f, i);
        if (n) *why = misfit(a, n, f->params.at[i].buffer);
    }
    while (!*why && bind_some(a, v, t)) {}
    for (int i = 0; i < f->params.count && !*why; i++)
        if (t->given[i].set && !dtype_is_float(f->params.at[i].var->dtype))
            *why = illegal(a, &f->params.at[i], t->given[i].value.i);
    return !*why;
}

/* -- elements
 * ------------------------------------------------------------------------------------- */
/* Calls move(tensor's bytes, array's bytes, count) for each run of elements that lie together. */
static void each_run(const struct tensor *t, uint8_t *array,
                     void (*move)(uint8_t *element, uint8_t *item, size_t bytes)) {
    int64_t at[TILE_RANK] = {0}, size = dtype_bytes(t->dtype);
    int last = t->rank - 1;
    bool dense = last >= 0 && t->stride[last] == 1;
    int64_t run = dense ? t->extent[last] : 1;
    for (int i = 0; i < t->rank; i++)
        if (t->extent[i] < 1) return;
    for (;;) {
        int64_t offset = 0;
        for (int i = 0; i < t->rank; i++) offset += at[i] * t->stride[i];
        move(t->data + offset * size, array, (size_t)(run * size));
        array += run * size;
        int i = dense ? last - 1 : last;
        while (i >= 0 && ++at[i] == t->extent[i]) at[i--] = 0;
        if (i < 0) return;
    }
}

static void put(uint8_t *element, uint8_t *item, size_t bytes) { memcpy(element, item, bytes); }
static void get(uint8_t *element, uint8_t *item, size_t bytes) { memcpy(item, element, bytes); }
static void put_bool(uint8_t *element, uint8_t *item, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) element[i] = item[i] != 0;
}

static const char *axis_name(const struct buffer *b, int k) {
    const struct expr *e = b->dim[k];
    return e && e->kind == EXPR_VAR ? e->var->name->text : NULL;
}

bool arrays_fill(struct verify *v, const struct trial *t, struct sim_data *d, const char **why) {
    const struct function_ir *f = t->meaning;
    for (int i = 0; i < f->params.count; i++) {
        const struct named_file *n = input_of(v, f, i);
        const struct tensor *x = n ? d->args.tensor[i] : NULL;
        for (int k = 0; x && k < x->rank; k++) {
            if (x->extent[k] == n->array->extent[k]) continue;
            const char *name = axis_name(f->params.at[i].buffer, k);
            *why = arena_printf(v->c->arena,
                                "axis %d of tensor '%s'%s%s%s has %lld elements, '%s' has %lld", k,
                                n->name, name ? " ('" : "", name ? name : "", name ? "')" : "",
                                (long long)x->extent[k], n->file, (long long)n->array->extent[k]);
            return false;
        }
        uint8_t *data = n ? (uint8_t *)(uintptr_t)n->array->data : NULL;
        if (x) each_run(x, data, x->dtype == DTYPE_BOOL ? put_bool : put);
    }
    return true;
}

bool arrays_keep(struct verify *v, const struct trial *t, const struct sim_data *d) {
    struct arena *a = arena_new();
    bool ok = true;
    for (int i = 0; i < v->how->outputs.count && ok; i++) {
        const struct named_file *n = &v->how->outputs.at[i];
        int p = tensor_named(n, t->meaning);
        if (p < 0) continue;
        const struct tensor *x = d->args.tensor[p];
        struct text header = npy_header(a, x->dtype, x->rank, x->extent);
        size_t bytes = (size_t)dtype_bytes(x->dtype);
        for (int k = 0; k < x->rank; k++) bytes *= (size_t)x->extent[k];
        uint8_t *file = arena_alloc(a, header.length + bytes + 1);
        memcpy(file, header.at, header.length);
        each_run(x, file + header.length, get);
        ok = file_write(n->file, (const char *)file, header.length + bytes);
    }
    arena_free(a);
    return ok;
}
