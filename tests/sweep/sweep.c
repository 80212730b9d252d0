/* sweep.c: the loop of a sweep: sampled programs, each exact or refused, never a third thing.
 *
 * Exact means: the evaluator's values, as analysed and as scheduled, are those of a reference on
 * plain arrays, and the machine model's, which runs the lowered code, have the same bits. */
#include "sweep.h"
#include "sim/sim.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    SHOWN = 8,      /* faults that are printed whole */
    MODEL_EVERY = 1 /* so many cases, one runs on the model */
};

struct sweep sweep_new(uint64_t seed) {
    return (struct sweep){.state = seed * 2 + 1};
}

int sweep_count(int usual) {
    const char *more = getenv("TILEC_SWEEP");
    int times = more ? atoi(more) : 1;
    return usual * (times > 0 ? times : 1);
}

int pick(struct sweep *s, int count) {
    s->state = s->state * 6364136223846793005u + 1442695040888963407u;
    return (int)((s->state >> 33) % (uint64_t)count);
}

/* cmocka's own printing cuts at 1 KiB. TILEC_SWEEP_WHOLE shows the program of the pass, too. */
static void say(const struct sweep *s, const struct trial *t, const char *why) {
    if (s->faults > SHOWN) return;
    bool whole = getenv("TILEC_SWEEP_WHOLE");
    int length = whole ? (int)strlen(why) : (int)strcspn(why, "\n");
    fprintf(stderr, "case %d for %s:\n%s%.*s\n", s->number, t->target, t->text, length, why);
}

/* A refusal says where and which rule. */
static bool is_diagnostic(const char *text) {
    return strstr(text, "test.tile:") && strstr(text, "error: ") && strstr(text, " [E");
}

/* -- The model
 * ----------------------------------------------------------------------------------- */

static size_t bytes_of(const struct tensor *t) {
    return (size_t)(tensor_elements(t) * dtype_bytes(t->dtype));
}

/* Keeps what the tensors hold in `kept`; they get back what they held in the beginning. */
static void begin_again(struct program *p, uint8_t **kept) {
    for (int i = 0; i < PROGRAM_PARAMS; i++) {
        if (!p->tensor[i]) continue;
        kept[i] = arena_alloc(p->arena, bytes_of(p->tensor[i]) + 1);
        memcpy(kept[i], p->tensor[i]->data, bytes_of(p->tensor[i]));
        memcpy(p->tensor[i]->data, p->start[i], bytes_of(p->tensor[i]));
    }
}

static bool is_same(const struct tensor *t, const uint8_t *kept, int64_t i, double tolerance) {
    size_t size = (size_t)dtype_bytes(t->dtype);
    if (!memcmp(kept + (size_t)i * size, t->data + (size_t)i * size, size)) return true;
    if (tolerance == 0) return false;
    struct tensor old = *t;
    old.data = (uint8_t *)kept;
    double a = tensor_value(&old, i), b = tensor_value(t, i);
    return fabs(a - b) <= tolerance * fmax(fabs(a), fabs(b));
}

static const char *compare(struct program *p, uint8_t *const *kept) {
    for (int i = 0; i < PROGRAM_PARAMS; i++) {
        const struct tensor *t = p->tensor[i];
        for (int64_t k = 0; t && k < tensor_elements(t); k++)
            if (!is_same(t, kept[i], k, p->tolerance))
                return arena_printf(p->arena, "the model gives %.9g for %s[%lld]",
                                    tensor_value(t, k), p->f->params.at[i].name->text,
                                    (long long)k);
    }
    return NULL;
}

/* The lowered program on the model; copies arrive as late, and every other time as early, as they
 * may. */
static const char *run_model(const struct sweep *s, struct program *p) {
    uint8_t *kept[PROGRAM_PARAMS] = {NULL};
    bool early = s->number % 2;
    struct sim_options how = {.early = early, .backward = early, .limit = 20000000};
    struct eval_args args = {.count = p->f->params.count, .tensor = p->tensor, .scalar = p->scalar};
    struct sim_result r;
    begin_again(p, kept);
    if (sim_run(p->m, p->f, &args, &how, &r)) return compare(p, kept);
    if (r.fault.kind == SIM_STEPS) return NULL; /* too long for a sweep */
    return arena_printf(p->arena, "the model says [%s] %s", sim_kind_name(r.fault.kind),
                        r.fault.message);
}

enum verdict sweep_try(struct sweep *s, const struct trial *t) {
    s->number++;
    struct program *p = program_new(t->text, t->target);
    p->tolerance = t->tolerance;
    p->quick = true;
    p->scheduled = t->scheduled;
    const char *why = NULL, *refusal = program_refusal(p);
    if (!refusal) {
        if (t->prepare) t->prepare(p, t->data);
        program_tensors(p);
        if (t->fill) t->fill(p, t->data);
        why = program_run(p);
        refusal = program_refusal(p);
        if (!why && !refusal) why = t->check(p, t->data);
        bool model = !why && !refusal && s->number % MODEL_EVERY == 0;
        if (model) why = run_model(s, p);
        s->models += model;
    }
    if (!why && refusal && (!is_diagnostic(refusal) || strstr(refusal, "[E07")))
        why = arena_printf(p->arena, "refused without a rule: %s", refusal);
    if (!why && refusal) snprintf(s->refusal, sizeof s->refusal, "%s", refusal);
    if (!why && refusal && getenv("TILEC_SWEEP_REFUSED")) fputs(refusal, stderr);
    enum verdict v = why ? VERDICT_FAULT : refusal ? VERDICT_REFUSED : VERDICT_EXACT;
    s->faults += v == VERDICT_FAULT;
    s->refused += v == VERDICT_REFUSED;
    s->exact += v == VERDICT_EXACT;
    if (why) say(s, t, why);
    program_free(p);
    return v;
}

void sweep_end(const struct sweep *s, const char *what, int exact, int refused) {
    print_message("%s: %d exact (%d on the model), %d refused, %d faults\n", what, s->exact,
                  s->models, s->refused, s->faults);
    assert_int_equal(s->faults, 0);
    assert_true(s->exact >= exact);
    assert_true(s->refused >= refused);
}
