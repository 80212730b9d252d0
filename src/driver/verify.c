/* verify.c: `tilec verify`: what a program means, computed by the evaluator, against what its
 * lowered code does on the machine model, on seeded random data. */
#include "driver/driver.h"
#include "sim/trial.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct verify {
    struct compilation *c;
    const struct options *options;
    uint64_t seed;
    bool sweep, count;
    struct text out;
    int status, runs;
};

struct trial { /* one function, one architecture, one choice of data */
    struct function_ir *meaning, *code;
    struct module *tile, *kernel;
    const int64_t *given;
    uint64_t seed;
    struct sim_options how;
};

static int line_of(const struct verify *v, struct span s) {
    return s.end ? source_position(v->c->source, s.begin).line : 0;
}

static void worse(struct verify *v, int status) {
    if (status > v->status) v->status = status;
}

/* -- reports
 * --------------------------------------------------------------------------------------- */
static void json_string(struct text *t, const char *s) {
    text_puts(t, "\"");
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            text_printf(t, "\\%c", *s);
        else if ((unsigned char)*s < 32)
            text_printf(t, "\\u%04x", *s);
        else
            text_printf(t, "%c", *s);
    }
    text_puts(t, "\"");
}

static void describe(struct verify *v, const struct trial *t, const char *result) {
    if (v->options->json) {
        text_printf(&v->out, "{\"function\":");
        json_string(&v->out, t->code->name->text);
        text_printf(&v->out, ",\"arch\":\"%s\",\"seed\":%llu,\"result\":\"%s\"",
                    t->kernel->target->name, (unsigned long long)t->seed, result);
        return;
    }
    text_printf(&v->out, "%s %s: %s", t->code->name->text, t->kernel->target->name, result);
}

static void print_dims(struct verify *v, const struct trial *t, const struct sim_data *d) {
    const char *before = v->options->json ? ",\"dims\":{" : " with ";
    bool some = false;
    for (int i = 0; i < t->code->params.count; i++) {
        const struct param *p = &t->code->params.at[i];
        if (!p->var) continue;
        text_puts(&v->out, some ? "," : before);
        if (v->options->json) {
            json_string(&v->out, p->name->text);
            text_puts(&v->out, ":");
        } else {
            text_printf(&v->out, "%s%s=", some ? " " : "", p->name->text);
        }
        if (dtype_is_float(p->var->dtype))
            text_double(&v->out, d->args.scalar[i].f);
        else
            text_printf(&v->out, "%lld", (long long)d->args.scalar[i].i);
        some = true;
    }
    if (some && v->options->json) text_puts(&v->out, "}");
}

static void report_pass(struct verify *v, const struct trial *t, const struct sim_data *d,
                        const struct sim_result *r) {
    const struct sim_counters *n = &r->counters;
    describe(v, t, "pass");
    print_dims(v, t, d);
    if (v->options->json) {
        text_printf(&v->out, ",\"blocks\":%lld,\"instructions\":%lld", (long long)n->blocks,
                    (long long)n->instructions);
        if (v->count)
            text_printf(&v->out,
                        ",\"shared_requests\":%lld,\"bank_passes\":%lld,\"global_requests\":%lld,"
                        "\"sectors\":%lld,\"mma\":%lld,\"barriers\":%lld",
                        (long long)n->shared_accesses, (long long)n->bank_passes,
                        (long long)n->global_accesses, (long long)n->sectors,
                        (long long)n->statements[K_MMA], (long long)n->statements[K_BARRIER]);
        text_puts(&v->out, "}\n");
        return;
    }
    text_printf(&v->out, " (%lld blocks, %lld thread instructions", (long long)n->blocks,
                (long long)n->instructions);
    if (v->count)
        text_printf(
            &v->out,
            "; shared memory: %lld requests in %lld passes; global: %lld requests, %lld sectors",
            (long long)n->shared_accesses, (long long)n->bank_passes, (long long)n->global_accesses,
            (long long)n->sectors);
    text_puts(&v->out, ")\n");
}

static void report_fault(struct verify *v, const struct trial *t, const struct sim_fault *f) {
    int line = line_of(v, f->at), other = line_of(v, f->other);
    worse(v, f->kind == SIM_ASSERT ? EXIT_SOURCE : EXIT_INTERNAL);
    describe(v, t, "fault");
    if (v->options->json) {
        text_printf(&v->out,
                    ",\"kind\":\"%s\",\"line\":%d,\"other_line\":%d,\"thread\":%d,\"block\":[%lld,%"
                    "lld,%lld],\"message\":",
                    sim_kind_name(f->kind), line, other, f->thread, (long long)f->block[0],
                    (long long)f->block[1], (long long)f->block[2]);
        json_string(&v->out, f->message);
        text_puts(&v->out, "}\n");
        return;
    }
    text_printf(&v->out, " [%s] %s:%d: ", sim_kind_name(f->kind), v->c->source->path, line);
    if (f->thread >= 0) text_printf(&v->out, "thread %d ", f->thread);
    text_printf(&v->out, "of block (%lld, %lld, %lld): %s\n", (long long)f->block[0],
                (long long)f->block[1], (long long)f->block[2], f->message);
}

/* Rows of expected and actual values around the element, along the last two axes. */
static void print_around(struct verify *v, const char *title, const struct tensor *t,
                         const int64_t *at) {
    int64_t p[TILE_RANK];
    int last = t->rank - 1;
    memcpy(p, at, sizeof p);
    text_printf(&v->out, "  %s\n", title);
    for (int64_t i = -1; i <= 1; i++) {
        if (last > 0) p[last - 1] = at[last - 1] + i;
        if (last > 0 ? p[last - 1] < 0 || p[last - 1] >= t->extent[last - 1] : i != 0) continue;
        text_puts(&v->out, "   ");
        for (int64_t j = -2; j <= 2; j++) {
            p[last] = at[last] + j;
            if (p[last] >= 0 && p[last] < t->extent[last])
                text_printf(&v->out, " %12.6g", sim_element(t, p));
        }
        text_puts(&v->out, "\n");
    }
}

static void report_difference(struct verify *v, const struct trial *t,
                              const struct sim_difference *d, const struct sim_data *expected,
                              const struct sim_data *actual) {
    int param = 0;
    worse(v, EXIT_INTERNAL);
    while (t->meaning->params.at[param].buffer != d->buffer) param++;
    describe(v, t, "difference");
    if (v->options->json) {
        text_puts(&v->out, ",\"tensor\":");
        json_string(&v->out, d->buffer->name->text);
        text_printf(&v->out, ",\"outside\":%s,\"count\":%lld,\"index\":[",
                    d->outside ? "true" : "false", (long long)d->count);
        for (int i = 0; i < d->buffer->rank; i++)
            text_printf(&v->out, "%s%lld", i ? "," : "", (long long)d->at[i]);
        text_printf(&v->out, "],\"expected\":\"%.9g\",\"actual\":\"%.9g\"}\n", d->expected,
                    d->actual);
        return;
    }
    print_dims(v, t, expected);
    if (d->outside) {
        text_printf(&v->out, ": bytes around tensor '%s' were overwritten\n",
                    d->buffer->name->text);
        return;
    }
    text_printf(&v->out, ": '%s'[", d->buffer->name->text);
    for (int i = 0; i < d->buffer->rank; i++)
        text_printf(&v->out, "%s%lld", i ? ", " : "", (long long)d->at[i]);
    text_printf(&v->out, "] is %.9g instead of %.9g; %lld elements differ\n", d->actual,
                d->expected, (long long)d->count);
    print_around(v, "expected", expected->args.tensor[param], d->at);
    print_around(v, "actual", actual->args.tensor[param], d->at);
}

static void report_plain(struct verify *v, const struct trial *t, const char *why, int status) {
    worse(v, status);
    describe(v, t, "error");
    if (v->options->json) {
        text_puts(&v->out, ",\"message\":");
        json_string(&v->out, why);
        text_puts(&v->out, "}\n");
    } else {
        text_printf(&v->out, ": %s\n", why);
    }
}

/* -- running
 * --------------------------------------------------------------------------------------- */
static void run_trial(struct verify *v, const struct trial *t) {
    struct arena *a = arena_new();
    const struct eval_options poison = {.poison = true};
    const char *why = NULL;
    struct sim_result r;
    struct sim_data *expected = sim_data_new(a, t->meaning, t->given, t->seed, &why), *actual;
    v->runs++;
    if (!expected) {
        report_plain(v, t, why, EXIT_USAGE);
    } else {
        actual = sim_data_copy(a, t->meaning, expected);
        if (!tile_eval(t->tile, t->meaning, &expected->args, &poison, &why)) {
            report_plain(v, t, why, EXIT_SOURCE);
        } else if (!sim_run(t->kernel, t->code, &actual->args, &t->how, &r)) {
            report_fault(v, t, &r.fault);
        } else {
            struct sim_difference d =
                sim_compare(t->meaning, expected, actual, sim_tolerance_of(t->meaning));
            if (d.buffer)
                report_difference(v, t, &d, expected, actual);
            else
                report_pass(v, t, actual, &r);
        }
    }
    arena_free(a);
}

/* The values of parameters that -D names; the others are chosen. */
static int64_t *given_values(struct verify *v, const struct function_ir *f) {
    int64_t *given = arena_array(v->c->arena, int64_t, f->params.count + 1);
    for (int i = 0; i < f->params.count; i++) {
        given[i] = SIM_ANY;
        for (int k = 0; k < v->c->sema.definition_count; k++) {
            struct definition *d = &v->c->sema.definitions[k];
            if (d->name != f->params.at[i].name || !f->params.at[i].var) continue;
            char *end;
            long long value = strtoll(strchr(d->text, '=') + 1, &end, 10);
            if (*end) continue;
            given[i] = value;
            d->used = true;
        }
    }
    return given;
}

static int64_t rounded(const struct var *v, int64_t n) {
    int64_t by = v->divisor > 1 ? v->divisor : 1;
    return (n + by - 1) / by * by;
}

/* Small and ragged values of every dimension that is free, with early and late copies. */
static void sweep(struct verify *v, struct trial t) {
    static const int64_t sizes[] = {1, 2, 7, 16, 33, 64, 100, 129};
    const struct function_ir *f = t.code;
    int64_t *given = arena_array(v->c->arena, int64_t, f->params.count + 1);
    bool some = false;
    const int64_t *fixed = t.given;
    t.given = given;
    for (int n = 0; n < 8; n++) {
        for (int i = 0, k = 0; i < f->params.count; i++) {
            const struct var *x = f->params.at[i].var;
            bool free = f->params.at[i].kind == PARAM_DIM && fixed[i] == SIM_ANY &&
                        !strstr(f->params.at[i].name->text, "stride");
            given[i] = free ? rounded(x, sizes[(n + 3 * k++) % 8]) : fixed[i];
            some |= free;
        }
        t.seed = v->seed + (uint64_t)n;
        t.how.early = n & 1;
        t.how.backward = n & 2;
        run_trial(v, &t);
        if (!some && n == 3) return;
    }
}

static void verify_module(struct verify *v, struct module *kernel) {
    struct diag *own = diag_new(v->c->arena, v->c->source);
    struct module *tile =
        analyse(v->c->arena, v->c->names, own, v->c->ast, kernel->target, &v->c->sema);
    for (int i = 0; i < kernel->functions.count; i++) {
        struct trial t = {.code = kernel->functions.at[i],
                          .kernel = kernel,
                          .tile = tile,
                          .seed = v->seed,
                          .how = {.count = v->count}};
        for (int k = 0; k < tile->functions.count; k++)
            if (tile->functions.at[k]->name == t.code->name) t.meaning = tile->functions.at[k];
        t.given = given_values(v, t.code);
        if (v->sweep)
            sweep(v, t);
        else
            run_trial(v, &t);
    }
}

static int usage(const char *word) {
    fprintf(stderr,
            "tilec: error: '%s' is no option of verify\n"
            "usage: tilec verify FILE.tile [-D NAME=VALUE] [--arch=LIST] [--sweep] [--seed=N] "
            "[--count] [--diagnostics=json]\n",
            word);
    return EXIT_USAGE;
}

/* Takes out what only verify knows. */
static bool own_options(struct verify *v, int *argc, char **argv) {
    int kept = 1;
    for (int i = 1; i < *argc; i++) {
        char *end = NULL;
        if (!strcmp(argv[i], "--sweep")) {
            v->sweep = true;
        } else if (!strcmp(argv[i], "--count")) {
            v->count = true;
        } else if (!strncmp(argv[i], "--seed=", 7)) {
            v->seed = strtoull(argv[i] + 7, &end, 10);
            if (*end || !argv[i][7]) return usage(argv[i]), false;
        } else {
            argv[kept++] = argv[i];
        }
    }
    *argc = kept;
    return true;
}

static bool definitions_used(const struct verify *v) {
    for (int i = 0; i < v->c->sema.definition_count; i++) {
        if (v->c->sema.definitions[i].used) continue;
        fprintf(stderr, "tilec: error: -D %s fits no parameter, module constant or dimension\n",
                v->c->sema.definitions[i].text);
        return false;
    }
    return true;
}

int verify_main(struct arena *a, int argc, char **argv) {
    struct options options = {.arena = a};
    struct compilation c = {.arena = a, .names = interns_new(a), .options = &options};
    struct verify v = {.c = &c, .options = &options, .seed = 1};
    int status = EXIT_DONE;
    if (!own_options(&v, &argc, argv)) return EXIT_USAGE;
    if (!options_parse(&options, argc, argv, &status)) return status;
    if (options.start_at >= 0 || options.stop_after >= 0)
        return usage("--start-at or --stop-after");
    status = compile_modules(&c);
    if (status != EXIT_DONE) return status;
    v.out = text_new(a);
    for (int i = 0; i < c.module_count; i++) verify_module(&v, c.modules[i]);
    fputs(v.out.at, stdout);
    return definitions_used(&v) ? v.status : EXIT_USAGE;
}
