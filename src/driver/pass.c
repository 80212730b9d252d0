/* pass.c: runs the passes of the table; verifies, dumps, times and stops.
 *
 * No pass prints, times or verifies itself. */
#include "driver/driver.h"
#include "ir/kernel.h"
#include "layout/place.h"
#include "lower/lower.h"
#include "schedule/schedule.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum form { FORM_TOKENS, FORM_AST, FORM_TILE, FORM_KERNEL, FORM_CUDA };

struct pass_row {
    const char *name, *summary;
    enum form form;
    enum level level;
};

static const struct pass_row passes[PASS_COUNT] = {
#define PASS(name, summary, form, level) {#name, summary, FORM_##form, LEVEL_##level},
#include "driver/passes.def"
};

/* The passes on a module, by number; the ones before have types of their own. */
static void (*const run_module[PASS_COUNT])(struct module *) = {
    [PASS_coarsen] = coarsen, [PASS_forward] = forward,   [PASS_atoms] = atoms,
    [PASS_place] = place,     [PASS_pipeline] = pipeline, [PASS_operands] = operands,
    [PASS_sync] = sync,       [PASS_shared] = shared,     [PASS_lower] = lower,
    [PASS_tidy] = tidy,
};

int pass_find(const char *name) {
    for (int i = 0; i < PASS_COUNT; i++)
        if (!strcmp(passes[i].name, name)) return i;
    return -1;
}

void passes_list(struct text *out) {
    for (int i = 0; i < PASS_COUNT; i++)
        text_printf(out, "%-9s %s\n", passes[i].name, passes[i].summary);
}

/* -- Dumps
 * --------------------------------------------------------------------------------------------- */
static void print_state(struct text *out, const struct compilation *c, int pass,
                        const struct module *m) {
    switch (passes[pass].form) {
    case FORM_TOKENS: tokens_print(out, c->tokens, c->source); break;
    case FORM_AST: ast_print(out, c->ast); break;
    case FORM_TILE: tile_print(out, m); break;
    case FORM_KERNEL: kernel_print(out, m); break;
    case FORM_CUDA: break;
    }
}

static void dump(const struct compilation *c, int pass, const char *word, const struct module *m) {
    struct text out = text_new(c->arena);
    bool code = passes[pass].form >= FORM_TILE;
    text_printf(&out, "%s %s %s%s%s\n", code ? ";" : "#", word, passes[pass].name, m ? ", " : "",
                m ? m->target->name : "");
    print_state(&out, c, pass, m);
    fputs(out.at, stderr);
}

/* -- Our own faults
 * -------------------------------------------------------------------------------------- */
static void internal_fault(const struct compilation *c, int pass, const struct module *m,
                           const char *why) {
    if (c->options->dump_after[pass]) dump(c, pass, "after", m);
    fprintf(stderr,
            "tilec: internal error: after pass '%s' for %s%s%s: %s\n"
            "This is a fault of tilec, not of %s. Please report it with the output of "
            "--dump-after=%s.\n",
            passes[pass].name, m->target->name, c->sizes ? " with " : "", c->sizes ? c->sizes : "",
            why, c->source->path, passes[pass].name);
    exit(EXIT_INTERNAL);
}

void pass_verify(const struct compilation *c, int pass, struct module *m) {
    const char *why = NULL;
    m->level = passes[pass].level;
    bool sound = m->level == LEVEL_KERNEL ? kernel_verify(m, &why) : tile_verify(m, m->level, &why);
    if (!sound) internal_fault(c, pass, m, why ? why : "the program breaks a rule of its level");
}

/* -- Running
 * ------------------------------------------------------------------------------------------------
 */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool pass_is_last(const struct compilation *c, int pass) { return c->options->stop_after == pass; }

static void after(struct compilation *c, int pass, const struct module *m, double begin) {
    if (c->options->time_passes) c->seconds[pass] += now() - begin;
    if (c->options->dump_after[pass]) dump(c, pass, "after", m);
    if (m && c->ir_pass == pass) {
        text_printf(&c->ir, "; after %s, %s\n", passes[pass].name, m->target->name);
        print_state(&c->ir, c, pass, m);
    }
}

/* The text that a later pass takes, read back; its header says level and target. What a person may
 * have changed is checked like what a pass leaves, but the fault is not ours. */
static struct module *read_module(struct compilation *c, int start) {
    static const char *const names[] = {"none", "TILE", "PLACED", "SCHEDULED", "KERNEL"};
    bool kernel = passes[start - 1].form == FORM_KERNEL;
    enum level level = passes[start - 1].level;
    struct module *m = kernel ? kernel_read(c->arena, c->names, c->diag, c->source)
                              : tile_read(c->arena, c->names, c->diag, c->source);
    const char *why = NULL;
    if (!m) return NULL;
    if (m->level != level)
        diag_report(c->diag, (struct span){0, 0}, E0801,
                    "pass '%s' takes a program of level %s, the text holds one of level %s",
                    passes[start].name, names[level], names[m->level]);
    else if (kernel ? !kernel_verify(m, &why) : !tile_verify(m, level, &why))
        diag_report(c->diag, (struct span){0, 0}, E0801, "the text breaks a rule of its level: %s",
                    why ? why : "unknown");
    return diag_errors(c->diag) ? NULL : m;
}

bool pass_run(struct compilation *c, int pass, struct module *m) {
    double begin = now();
    int errors = diag_errors(m->diag);
    if (c->options->dump_before[pass]) dump(c, pass - 1, "before", m);
    run_module[pass](m);
    if (diag_errors(m->diag) > errors) return false;
    pass_verify(c, pass, m);
    after(c, pass, m, begin);
    return true;
}

struct module *pass_analyse(struct compilation *c, const struct target *t) {
    double begin = now();
    int errors = diag_errors(c->diag);
    struct module *m = analyse(c->arena, c->names, c->diag, c->ast, t, &c->sema);
    if (diag_errors(c->diag) > errors) return NULL;
    pass_verify(c, PASS_analyse, m);
    after(c, PASS_analyse, m, begin);
    return m;
}

static bool run_front(struct compilation *c) {
    double begin = now();
    c->tokens = lex(c->arena, c->names, c->source, c->diag);
    after(c, PASS_lex, NULL, begin);
    if (pass_is_last(c, PASS_lex)) return false;
    begin = now();
    c->ast = parse(c->arena, c->names, c->source, c->tokens, c->diag);
    after(c, PASS_parse, NULL, begin);
    return !pass_is_last(c, PASS_parse) && !diag_errors(c->diag);
}

static void print_times(const struct compilation *c) {
    double sum = 0;
    for (int i = 0; i < PASS_emit; i++) sum += c->seconds[i];
    for (int i = 0; i < PASS_emit; i++)
        fprintf(stderr, "%-9s %8.3f ms\n", passes[i].name, 1e3 * c->seconds[i]);
    fprintf(stderr, "%-9s %8.3f ms\n", "all", 1e3 * sum);
}

static bool run_from(struct compilation *c, struct module *m, int first) {
    for (int i = first; i < PASS_emit; i++) {
        if (!pass_run(c, i, m)) return false;
        if (pass_is_last(c, i)) break;
    }
    return true;
}

bool passes_run(struct compilation *c) {
    if (c->options->start_at > PASS_analyse) {
        struct module *m = read_module(c, c->options->start_at);
        if (m && run_from(c, m, c->options->start_at)) c->modules[c->module_count++] = m;
    } else if (run_front(c)) {
        targets_run(c);
    }
    if (c->options->time_passes) print_times(c);
    return !diag_errors(c->diag);
}
