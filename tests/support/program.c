/* program.c: a .tile text compiled in the test's process and run by the evaluator on the way. */
#include "program.h"
#include "parser/parser.h"
#include "passes.h"
#include "sema/sema.h"
#include <math.h>
#include <string.h>

struct program *program_new(const char *text, const char *target) {
    struct arena *a = arena_new();
    struct program *p = arena_make(a, struct program);
    p->arena = a;
    struct interns *names = interns_new(a);
    struct source *s = source_of_text(a, "test.tile", text, strlen(text));
    p->diag = diag_new(a, s);
    struct ast_module *ast = parse(a, names, s, lex(a, names, s, p->diag), p->diag);
    if (diag_errors(p->diag)) return p;
    struct sema_options *options = arena_make(a, struct sema_options);
    options->prefix = "";
    p->m = analyse(a, names, p->diag, ast, target_find(target), options);
    if (!diag_errors(p->diag) && p->m->functions.count) p->f = p->m->functions.at[0];
    return p;
}

void program_free(struct program *p) { arena_free(p->arena); }

const char *program_refusal(const struct program *p) {
    if (!diag_errors(p->diag)) return NULL;
    struct text t = text_new(p->arena);
    diag_print_text(p->diag, &t, false);
    return t.at;
}

/* -- Arguments --------------------------------------------------------------------------------- */

static int param_named(const struct program *p, const char *name) {
    for (int i = 0; p->f && i < p->f->params.count; i++)
        if (!strcmp(p->f->params.at[i].name->text, name)) return i;
    return -1;
}

void program_scalar(struct program *p, const char *name, int64_t value) {
    int i = param_named(p, name);
    if (i >= 0) p->scalar[i].i = value;
}

void program_real(struct program *p, const char *name, double value) {
    int i = param_named(p, name);
    if (i >= 0) p->scalar[i].f = value;
}

/* An extent or stride with the run-time dimensions at their values. */
static int64_t extent_of(struct program *p, struct expr *e) {
    struct var *from[PROGRAM_PARAMS];
    struct expr *to[PROGRAM_PARAMS];
    int count = 0;
    for (int i = 0; i < p->f->params.count; i++) {
        const struct param *param = &p->f->params.at[i];
        if (!param->var || dtype_is_float(param->var->dtype)) continue;
        from[count] = param->var;
        to[count++] = expr_int(p->m->exprs, p->scalar[i].i, param->var->dtype);
    }
    int64_t value = 0;
    expr_is_int(expr_substitute(p->m->exprs, e, count, from, to), &value);
    return value;
}

int64_t tensor_elements(const struct tensor *t) {
    int64_t last = 0;
    for (int k = 0; k < t->rank; k++) {
        if (t->extent[k] == 0) return 0;
        last += (t->extent[k] - 1) * t->stride[k];
    }
    return last + 1;
}

union scalar tensor_get(const struct tensor *t, int64_t i) {
    uint64_t bits = 0;
    int bytes = dtype_bytes(t->dtype);
    memcpy(&bits, t->data + i * bytes, (size_t)bytes);
    return scalar_of_bits(bits, t->dtype);
}

double tensor_value(const struct tensor *t, int64_t i) {
    union scalar v = tensor_get(t, i);
    if (dtype_is_float(t->dtype)) return v.f;
    bool large = t->dtype == DTYPE_U64 && v.i < 0;
    return large ? (double)(uint64_t)v.i : (double)v.i;
}

void tensor_set(struct tensor *t, int64_t i, union scalar v) {
    uint64_t bits = scalar_bits(v, t->dtype);
    int bytes = dtype_bytes(t->dtype);
    memcpy(t->data + i * bytes, &bits, (size_t)bytes);
}

void tensor_put(struct tensor *t, int64_t i, double value) {
    union scalar v = {.i = 0};
    if (dtype_is_float(t->dtype))
        v.f = scalar_round(value, t->dtype);
    else
        v = scalar_cast((union scalar){.i = (int64_t)value}, DTYPE_I64, t->dtype);
    tensor_set(t, i, v);
}

static int small(int64_t i, int salt) {
    uint32_t x = (uint32_t)i * 2654435761u + (uint32_t)salt * 40503u;
    x ^= x >> 15;
    x *= 2246822519u;
    return (int)(x >> 13) % 9 - 4;
}

static struct tensor *make_tensor(struct program *p, const struct buffer *b, int salt) {
    struct tensor *t = arena_make(p->arena, struct tensor);
    t->dtype = b->dtype;
    t->rank = b->rank;
    for (int k = 0; k < b->rank; k++) {
        t->extent[k] = extent_of(p, b->dim[k]);
        t->stride[k] = extent_of(p, b->stride[k]);
    }
    int64_t n = tensor_elements(t);
    size_t bytes = (size_t)(n * dtype_bytes(t->dtype));
    t->data = arena_alloc(p->arena, bytes + 1);
    memset(t->data, b->dtype == DTYPE_BOOL ? 1 : 0xA5, bytes);
    bool natural = dtype_class_of(b->dtype) == CLASS_UINT;
    for (int64_t i = 0; i < n && !b->written; i++) {
        int v = small(i, salt);
        tensor_put(t, i, b->dtype == DTYPE_BOOL ? v > 0 : natural ? v + 4 : v);
    }
    return t;
}

void program_tensors(struct program *p) {
    for (int i = 0; p->f && i < p->f->params.count && i < PROGRAM_PARAMS; i++)
        if (p->f->params.at[i].kind == PARAM_TENSOR)
            p->tensor[i] = make_tensor(p, p->f->params.at[i].buffer, i + 1);
}

struct tensor *program_tensor(struct program *p, const char *name) {
    int i = param_named(p, name);
    return i < 0 ? NULL : p->tensor[i];
}

/* -- Runs -------------------------------------------------------------------------------------- */

static size_t bytes_of(const struct tensor *t) {
    return (size_t)(tensor_elements(t) * dtype_bytes(t->dtype));
}

static void keep_start(struct program *p) {
    for (int i = 0; i < PROGRAM_PARAMS; i++) {
        if (!p->tensor[i]) continue;
        p->start[i] = arena_alloc(p->arena, bytes_of(p->tensor[i]) + 1);
        memcpy(p->start[i], p->tensor[i]->data, bytes_of(p->tensor[i]));
    }
}

static void back_to_start(struct program *p) {
    for (int i = 0; i < PROGRAM_PARAMS; i++)
        if (p->tensor[i]) memcpy(p->tensor[i]->data, p->start[i], bytes_of(p->tensor[i]));
}

const char *program_evaluate(struct program *p) {
    struct eval_args args = {.count = p->f->params.count, .tensor = p->tensor, .scalar = p->scalar};
    struct eval_options options = {.poison = true};
    const char *why = NULL;
    if (tile_eval(p->m, p->f, &args, &options, &why)) return NULL;
    return why ? why : "the evaluator gave up";
}

static bool same(double a, double b, double tolerance) {
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
    return a == b || fabs(a - b) <= tolerance * fmax(fabs(a), fabs(b));
}

static const char *compare(struct program *p, uint8_t *const *before) {
    for (int i = 0; i < PROGRAM_PARAMS; i++) {
        const struct tensor *t = p->tensor[i];
        if (!t || (p->tolerance == 0 && !memcmp(before[i], t->data, bytes_of(t)))) continue;
        struct tensor old = *t;
        old.data = before[i];
        for (int64_t k = 0; k < tensor_elements(t); k++) {
            size_t n = (size_t)dtype_bytes(t->dtype);
            bool bits = !memcmp(before[i] + (size_t)k * n, t->data + (size_t)k * n, n);
            double a = tensor_value(&old, k), b = tensor_value(t, k);
            if (bits || (p->tolerance > 0 && same(a, b, p->tolerance))) continue;
            return arena_printf(p->arena, "%s[%lld] is %.9g, as analysed it is %.9g",
                                p->f->params.at[i].name->text, (long long)k, b, a);
        }
    }
    return NULL;
}

static const char *complain(struct program *p, const char *stage, const char *why) {
    struct text t = text_new(p->arena);
    text_printf(&t, "after %s for %s: %s\n", stage, p->m->target->name, why);
    p->m->level < LEVEL_KERNEL ? tile_print(&t, p->m) : kernel_print(&t, p->m);
    return t.at;
}

static const char *verify(struct program *p, const struct stage *s) {
    const char *why = NULL;
    p->m->level = s->level;
    bool sound =
        s->level == LEVEL_KERNEL ? kernel_verify(p->m, &why) : tile_verify(p->m, s->level, &why);
    return sound ? NULL : complain(p, s->name, why ? why : "breaks a rule of its level");
}

/* One pass: verified, evaluated where tile IR can be and asked for, compared. */
static const char *step(struct program *p, const struct stage *s, uint8_t *const *first) {
    s->run(p->m);
    if (diag_errors(p->diag)) return NULL;
    const char *why = verify(p, s);
    if (why || s->level == LEVEL_KERNEL) return why;
    if (s->waits || (p->quick && s->level != LEVEL_SCHEDULED)) return NULL;
    back_to_start(p);
    why = program_evaluate(p);
    if (!why) why = compare(p, first);
    if (!why && p->scheduled && s->level == LEVEL_SCHEDULED) why = p->scheduled(p);
    return why ? complain(p, s->name, why) : NULL;
}

const char *program_run(struct program *p) {
    uint8_t *first[PROGRAM_PARAMS] = {NULL};
    if (diag_errors(p->diag)) return NULL;
    const char *why = verify(p, &(struct stage){"analyse", NULL, LEVEL_TILE, false});
    if (why) return why;
    keep_start(p);
    why = program_evaluate(p);
    if (why) return complain(p, "analyse", why);
    for (int i = 0; i < PROGRAM_PARAMS; i++) {
        if (!p->tensor[i]) continue;
        first[i] = arena_alloc(p->arena, bytes_of(p->tensor[i]) + 1);
        memcpy(first[i], p->tensor[i]->data, bytes_of(p->tensor[i]));
    }
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        why = step(p, &stages[i], first);
        if (why || diag_errors(p->diag)) return why;
    }
    return NULL;
}

const char *program_compile(struct program *p) {
    const char *why = NULL;
    for (size_t i = 0; i < sizeof stages / sizeof *stages && !why && !diag_errors(p->diag); i++) {
        stages[i].run(p->m);
        if (!diag_errors(p->diag)) why = verify(p, &stages[i]);
    }
    return why;
}
