/* pass.c: runs the passes of the table for each architecture; verifies, dumps, times and stops.
 *
 * No pass prints, times or verifies itself. Architectures that would answer all that the passes
 * ask in the same way travel together: the program of the first is right for them. Where one would
 * answer differently it goes on by itself from a copy of the program, kept in front of the passes
 * that ask most. */
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

static void verify(const struct compilation *c, int pass, struct module *m) {
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

static bool stops_after(const struct compilation *c, int pass) {
    return c->options->stop_after == pass;
}

static void after(struct compilation *c, int pass, const struct module *m, double begin) {
    c->seconds[pass] += now() - begin;
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

/* An architecture that waits, while one before it runs. */
struct traveller {
    const struct target *target;
    bool along;            /* has answered alike so far */
    struct module *parted; /* the program where it did not; NULL: from the text on */
    int pass;              /* that comes next */
};

struct party { /* the one that runs, and those that wait */
    struct traveller *lead, *end;
    struct module *kept; /* a copy in front of pass kept_at; NULL: none */
    int kept_at;
};

static bool has_company(const struct party *p) {
    for (struct traveller *t = p->lead + 1; t < p->end; t++)
        if (t->along) return true;
    return false;
}

/* What stages fit and which instructions there are differs most. */
static bool asks_much(int pass) { return pass == PASS_pipeline || pass == PASS_lower; }

static void part_ways(struct party *p, const struct module *m) {
    for (struct traveller *t = p->lead + 1; t < p->end; t++) {
        if (!t->along || answers_alike(m->answers, m->target, t->target)) continue;
        t->along = false;
        t->parted = p->kept;
        t->pass = p->kept_at;
    }
}

/* Runs passes first … tidy on m. NULL if one reported an error. */
static struct module *run_from(struct compilation *c, struct module *m, int first,
                               struct party *p) {
    int errors = diag_errors(c->diag);
    for (int i = first; i < PASS_emit; i++) {
        if (c->options->dump_before[i]) dump(c, i - 1, "before", m);
        double begin = now();
        if (asks_much(i) && i > first && has_company(p)) {
            p->kept = module_fork(m);
            p->kept_at = i;
        }
        run_module[i](m);
        if (diag_errors(c->diag) > errors) return NULL;
        verify(c, i, m);
        part_ways(p, m);
        after(c, i, m, begin);
        if (stops_after(c, i)) break;
    }
    return m;
}

static struct module *run_target(struct compilation *c, struct party *p) {
    double begin = now();
    int errors = diag_errors(c->diag);
    struct module *m = analyse(c->arena, c->names, c->diag, c->ast, p->lead->target, &c->sema);
    if (diag_errors(c->diag) > errors) return NULL;
    verify(c, PASS_analyse, m);
    after(c, PASS_analyse, m, begin);
    return stops_after(c, PASS_analyse) ? m : run_from(c, m, PASS_coarsen, p);
}

/* Nobody looks at the programs between the passes or asks for reasons, which name numbers of one
 * architecture. */
static bool may_travel(const struct options *o) {
    for (int i = 0; i < PASS_COUNT; i++)
        if (o->dump_after[i] || o->dump_before[i]) return false;
    for (int i = 0; i < o->emissions.count; i++)
        if (o->emissions.at[i].kind == EMIT_IR) return false;
    return !o->explain && o->stop_after < 0;
}

/* Runs the first of the party. Those that come all the way get its program, in `done` (with
 * --explain nobody does: each one's remarks bear its name). */
static void run_party(struct compilation *c, struct party *p, struct module **done) {
    struct traveller *lead = p->lead;
    diag_remarks_of(c->diag, c->options->arch_count > 1 ? lead->target->name : NULL);
    for (struct traveller *t = lead + 1; t < p->end; t++)
        t->along = may_travel(c->options) && !done[t - lead] && t->parted == lead->parted;
    if (lead->parted) {
        lead->parted->target = lead->target;
        done[0] = run_from(c, lead->parted, lead->pass, p);
    } else {
        done[0] = run_target(c, p);
    }
    for (struct traveller *t = lead + 1; t < p->end; t++) {
        if (!t->along) continue;
        t->parted = NULL;
        if (!done[0]) continue;
        done[t - lead] = module_for(done[0], t->target);
        verify(c, PASS_tidy, done[t - lead]);
    }
}

static bool run_front(struct compilation *c) {
    double begin = now();
    c->tokens = lex(c->arena, c->names, c->source, c->diag);
    after(c, PASS_lex, NULL, begin);
    if (stops_after(c, PASS_lex)) return false;
    begin = now();
    c->ast = parse(c->arena, c->names, c->source, c->tokens, c->diag);
    after(c, PASS_parse, NULL, begin);
    return !stops_after(c, PASS_parse) && !diag_errors(c->diag);
}

/* Each architecture by itself. Of the default list those that fail are left out with a warning, as
 * long as one succeeds. */
static void run_targets(struct compilation *c) {
    const struct options *o = c->options;
    int mark[MAX_ARCHS + 1], failed = 0;
    struct traveller archs[MAX_ARCHS] = {{0}};
    struct module *done[MAX_ARCHS] = {NULL};
    for (int i = 0; i < o->arch_count; i++) archs[i].target = o->archs[i];
    for (int i = 0; i < o->arch_count; i++) {
        mark[i] = diag_mark(c->diag);
        struct party p = {.lead = &archs[i], .end = archs + o->arch_count};
        if (!done[i]) run_party(c, &p, &done[i]);
        failed += !done[i];
        if (done[i])
            c->modules[c->module_count++] = done[i];
        else if (!o->archs_named && i + 1 < o->arch_count)
            diag_demote(c->diag, mark[i], W_ARCH,
                        arena_printf(c->arena, "left out of %s: ", o->archs[i]->name));
    }
    int last = o->arch_count - 1;
    if (!o->archs_named && last > 0 && !done[last] && failed <= last)
        diag_demote(c->diag, mark[last], W_ARCH,
                    arena_printf(c->arena, "left out of %s: ", o->archs[last]->name));
    if (failed == o->arch_count) diag_restore(c->diag);
}

static void print_times(const struct compilation *c) {
    double sum = 0;
    for (int i = 0; i < PASS_emit; i++) sum += c->seconds[i];
    for (int i = 0; i < PASS_emit; i++)
        fprintf(stderr, "%-9s %8.3f ms\n", passes[i].name, 1e3 * c->seconds[i]);
    fprintf(stderr, "%-9s %8.3f ms\n", "all", 1e3 * sum);
}

bool passes_run(struct compilation *c) {
    if (c->options->start_at > PASS_analyse) {
        struct module *m = read_module(c, c->options->start_at);
        struct traveller alone = {.target = m ? m->target : NULL};
        struct party p = {.lead = &alone, .end = &alone + 1};
        if (m) m = run_from(c, m, c->options->start_at, &p);
        if (m) c->modules[c->module_count++] = m;
    } else if (run_front(c)) {
        run_targets(c);
    }
    if (c->options->time_passes) print_times(c);
    return !diag_errors(c->diag);
}
