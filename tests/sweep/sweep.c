/* sweep.c: the loop of a sweep: sampled programs, each exact or refused, never a third thing. */
#include "sweep.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SHOWN = 8 }; /* faults that are printed whole */

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
    print_message("%s: %d exact, %d refused, %d faults\n", what, s->exact, s->refused, s->faults);
    assert_int_equal(s->faults, 0);
    assert_true(s->exact >= exact);
    assert_true(s->refused >= refused);
}
