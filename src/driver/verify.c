/* verify.c: `tilec verify`: what a program means, computed by the evaluator, against what its
 * lowered code does on the machine model, on seeded random data or on arrays from files. */
#include "driver/verify.h"
#include "schedule/schedule.h"
#include <stdio.h>
#include <stdlib.h>

/* -- one run
 * -------------------------------------------------------------------------------------- */
static void judge(struct verify *v, const struct trial *t, struct sim_data *expected,
                  struct arena *a) {
    const char *why = NULL;
    struct sim_result r;
    struct sim_data *actual = sim_data_copy(a, t->meaning, expected);
    if (!sim_evaluate(t->tile, t->meaning, expected, true, &why)) {
        report_error(v, t, why, EXIT_SOURCE);
        return;
    }
    if (!sim_run(t->kernel, t->code, &actual->args, &t->how, &r)) {
        report_fault(v, t, actual, &r.fault);
        return;
    }
    struct sim_difference d =
        sim_compare(t->meaning, expected, actual, sim_tolerance_of(t->meaning, expected));
    if (d.buffer)
        report_difference(v, t, &d, expected, actual);
    else
        report_pass(v, t, actual, &r);
    if (v->keeps && !arrays_keep(v, t, actual)) v->status = EXIT_USAGE;
}

/* The launcher refuses these dimensions: its message, or NULL. */
static const char *failed_check(const struct trial *t, const struct sim_data *d) {
    const struct function_ir *f = t->meaning;
    for (int i = 0; i < f->checks.count; i++) {
        const struct host_check *c = &f->checks.at[i];
        if (!sim_host_value(f, &d->args, c->test)) return c->message ? c->message : "an assertion";
    }
    return NULL;
}

static void run_trial(struct verify *v, const struct trial *t) {
    struct arena *a = arena_new();
    const char *why = NULL;
    struct sim_data *d = sim_data_new(a, t->meaning, t->given, t->seed, &why);
    const char *check = d ? failed_check(t, d) : NULL;
    if (check)
        report_unlaunched(v, t, d, check);
    else if (!d || !arrays_fill(v, t, d, &why))
        report_error(v, t, why, EXIT_USAGE);
    else
        judge(v, t, d, a);
    arena_free(a);
}

/* -- run-time sizes
 * ------------------------------------------------------------------------------- */
static bool read_value(const char *text, enum dtype t, union scalar *value) {
    char *end;
    if (dtype_is_float(t))
        value->f = scalar_round(strtod(text, &end), t);
    else if (t == DTYPE_BOOL && (!strcmp(text, "True") || !strcmp(text, "False")))
        return value->i = !strcmp(text, "True"), true;
    else
        value->i = strtoll(text, &end, 10);
    return *text && !*end;
}

/* The values of parameters that -D or --size names; the others are chosen. */
static struct sim_choice *given_values(struct verify *v, const struct function_ir *f) {
    struct sim_choice *given = arena_array(v->c->arena, struct sim_choice, f->params.count + 1);
    for (int i = 0; i < f->params.count; i++)
        for (int k = 0; k < v->c->sema.definition_count; k++) {
            const struct param *p = &f->params.at[i];
            struct definition *d = &v->c->sema.definitions[k];
            union scalar value = {.i = 0};
            if (!p->var || d->name != p->name || (d->unit && d->unit != f->unit)) continue;
            if (!read_value(strchr(d->text, '=') + 1, p->var->dtype, &value)) continue;
            given[i] = (struct sim_choice){true, value};
            d->used = true;
        }
    return given;
}

/* The next legal value from n on. */
static int64_t fitted(const struct var *v, int64_t n) {
    int64_t by = v->divisor > 1 ? v->divisor : 1;
    if (n < v->lo) n = v->lo;
    int64_t over = n % by;
    if (over > 0) n += by - over;
    return n > v->hi ? v->hi / by * by : n;
}

/* Run n of a sweep has its own data, and early copies, backward warps and a random order of blocks
 * in turn. */
static void vary(const struct verify *v, struct trial *t, int n) {
    t->seed = v->how->seed + (uint64_t)n;
    t->how.early = n & 1;
    t->how.backward = n & 2;
    t->how.shuffle = n & 4 || v->how->random_order ? t->seed : 0;
}

/* Is the parameter free to choose? A dimension that is only a stride follows from the extents, a
 * scalar counts where it is an extent. */
static bool is_size(const struct function_ir *f, const struct param *p) {
    bool stride = false;
    if (p->kind == PARAM_TENSOR || dtype_is_float(p->var->dtype)) return false;
    for (int i = 0; i < f->globals.count; i++) {
        const struct buffer *b = f->globals.at[i];
        for (int k = 0; k < b->rank; k++) {
            if (expr_uses_var(b->dim[k], p->var)) return true;
            stride |= b->stride[k] && expr_uses_var(b->stride[k], p->var);
        }
    }
    return p->kind == PARAM_DIM && !stride;
}

static const int64_t sizes[] = {1, 2, 7, 16, 33, 64, 100, 129, 0};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Run n: sizes[…] for each dimension that is free. True if there is one. */
static bool choose_sizes(const struct trial *t, const struct sim_choice *fixed, int n) {
    const struct function_ir *f = t->code;
    bool some = false;
    for (int i = 0, k = 0; i < f->params.count; i++) {
        const struct param *p = &f->params.at[i];
        t->given[i] = fixed[i];
        if (fixed[i].set || !is_size(f, p)) continue;
        t->given[i] =
            (struct sim_choice){true, {.i = fitted(p->var, sizes[(n + 4 * k++) % SIZES])}};
        some = true;
    }
    return some;
}

static void sweep(struct verify *v, struct trial t) {
    const struct sim_choice *fixed = t.given;
    t.given = arena_array(v->c->arena, struct sim_choice, t.code->params.count + 1);
    for (int n = 0; n < SIZES; n++) {
        bool some = choose_sizes(&t, fixed, n);
        if (!some && n >= 5) return; /* as often as `vary` has something new */
        vary(v, &t, n);
        run_trial(v, &t);
    }
}

/* -- functions
 * ------------------------------------------------------------------------------------ */
static void verify_function(struct verify *v, struct trial t) {
    const char *why = NULL;
    t.given = given_values(v, t.code);
    if (!arrays_bind(v, &t, &why)) {
        report_error(v, &t, why, EXIT_USAGE);
    } else if (v->sizes) { /* one run a combination of sizes */
        const struct sim_choice *fixed = t.given;
        t.given = arena_array(v->c->arena, struct sim_choice, t.code->params.count + 1);
        choose_sizes(&t, fixed, v->number);
        vary(v, &t, v->number);
        run_trial(v, &t);
    } else if (v->how->sweep) {
        sweep(v, t);
    } else {
        if (v->how->random_order) t.how.shuffle = t.seed;
        run_trial(v, &t);
    }
}

/* --kernels; a sweep compiles more than it names. */
static bool selected(const struct verify *v, const struct function_ir *f) {
    for (int i = 0; i < v->options->kernels.count; i++)
        if (!strcmp(v->options->kernels.at[i], f->name->text)) return true;
    return !v->options->kernels.count;
}

int verify_module(struct verify *v, struct module *kernel) {
    struct diag *own = diag_new(v->c->arena, v->c->source);
    struct module *tile =
        analyse(v->c->arena, v->c->names, own, v->c->ast, kernel->target, &v->c->sema);
    int count = 0;
    order_of_text(tile); /* what that reports, compiling has reported where it is so */
    for (int i = 0; i < kernel->functions.count; i++) {
        if (!selected(v, kernel->functions.at[i])) continue;
        count++;
        struct trial t = {.code = kernel->functions.at[i],
                          .kernel = kernel,
                          .tile = tile,
                          .seed = v->how->seed,
                          .how = {.count = v->how->count || v->how->explain}};
        for (int k = 0; k < tile->functions.count; k++)
            if (tile->functions.at[k]->name == t.code->name) t.meaning = tile->functions.at[k];
        verify_function(v, t);
    }
    return count;
}

/* -- the command
 * ---------------------------------------------------------------------------------- */
static int usage(const char *what) {
    fprintf(stderr, "tilec: error: verify: %s\n", what);
    return EXIT_USAGE;
}

static bool definitions_used(const struct verify *v) {
    for (int i = 0; i < v->c->sema.definition_count; i++) {
        const struct definition *d = &v->c->sema.definitions[i];
        if (d->used) continue;
        fprintf(stderr, "tilec: error: %s %s fits no parameter, module constant or dimension\n",
                d->always ? "--size" : "-D", d->text);
        return false;
    }
    return true;
}

/* What does not go together. */
static int check_options(const struct options *o, const struct verify_options *how) {
    if (o->start_at >= 0 || o->stop_after >= 0)
        return usage("--start-at and --stop-after do not go with it");
    if (how->sweep && (how->inputs.count || how->outputs.count))
        return usage("--input and --output take arrays of one size, --sweep tries many");
    return EXIT_DONE;
}

static int verify_once(struct verify *v) {
    struct compilation *c = v->c;
    int status = compile_modules(c);
    if (status != EXIT_DONE) return status;
    if (c->module_count && !arrays_fit(v, c->modules[0])) return EXIT_USAGE;
    for (int i = 0; i < c->module_count; i++) {
        v->keeps = i == 0 && v->how->outputs.count;
        verify_module(v, c->modules[i]);
    }
    return definitions_used(v) ? v->status : EXIT_USAGE;
}

int verify_main(struct arena *a, int argc, char **argv) {
    struct verify_options how = {.seed = 1};
    struct options options = {.arena = a, .verify = &how};
    struct compilation c = {.arena = a, .names = interns_new(a), .options = &options};
    struct verify v = {.c = &c, .options = &options, .how = &how, .out = text_new(a)};
    int status = EXIT_DONE;
    if (!options_parse(&options, argc, argv, &status)) return status;
    status = check_options(&options, &how);
    if (status != EXIT_DONE) return status;
    how.explain = options.explain &&
                  (!strcmp(options.explain, "counters") || !strcmp(options.explain, "all"));
    if (!arrays_read(&v)) return EXIT_USAGE;
    if (!how.sweep || !sizes_sweep(&v, &status)) status = verify_once(&v);
    int runs = v.passed + v.refused + v.failed;
    if (runs > 1 || (runs && options.json)) report_summary(&v);
    return status;
}
