/* judge.c: see judge.h.
 *
 * The evaluator says what the program means; the machine model runs its code. Both must agree under
 * every variant, and variants that differ in nothing but stages must agree to the last bit. */
#include "judge.h"
#include "shrink.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char *judge_text(struct arena *a, const char *body, const struct variant *v) {
    return arena_printf(a, "threads = %d\nstages = %d\n%s", v->threads, v->stages, body);
}

static void fail(struct finding *f, enum outcome o, const char *kind, const char *message) {
    f->outcome = o;
    snprintf(f->kind, sizeof f->kind, "%s", kind);
    snprintf(f->message, sizeof f->message, "%s", message);
}

/* -- one variant
 * ----------------------------------------------------------------------------------- */
struct trial {
    struct arena *arena;
    struct module *meaning, *code;
    struct sim_data *start, *expected, *actual;
};

static bool is_fault(const char *errors) {
    return strstr(errors, "a rule of its level") || strstr(errors, "[E07");
}

/* Meaning and code; false if either is refused. */
static bool compile(struct trial *t, const char *text, const struct plan *p,
                    const struct variant *v, struct finding *f) {
    const char *errors = NULL;
    struct program_text source = {text, NULL, v->target};
    if (t->code) return true;
    if (!t->meaning) t->meaning = rig_compile(t->arena, &source, false, &errors);
    if (t->meaning) t->code = rig_compile(t->arena, &source, true, &errors);
    if (t->code && p->spoil) p->spoil(t->code);
    if (t->code) return true;
    bool fault = is_fault(errors);
    fail(f, fault ? DIFFERS : REFUSED, fault ? "passes" : "refused", errors);
    return false;
}

static struct function_ir *function_of(const struct module *m) { return m->functions.at[0]; }

static bool evaluate(struct trial *t, struct sim_data *x, bool poison, struct finding *f) {
    const char *why = "?";
    if (sim_evaluate(t->meaning, function_of(t->meaning), x, poison, &why)) return true;
    fail(f, DIFFERS, "evaluator", why);
    return false;
}

static void say_difference(struct finding *f, const char *kind, const struct sim_difference *d) {
    char line[300];
    snprintf(line, sizeof line, "'%s'[%lld, %lld, %lld] is %.9g instead of %.9g, %lld differ%s",
             d->buffer->name->text, (long long)d->at[0], (long long)d->at[1], (long long)d->at[2],
             d->actual, d->expected, (long long)d->count, d->outside ? ", or bytes around it" : "");
    fail(f, DIFFERS, kind, line);
}

static const struct sim_tolerance same_bits = {0, 0, 0};

/* What the program means must not depend on what memory holds in the beginning. */
static bool is_defined(struct trial *t, struct finding *f) {
    struct function_ir *fn = function_of(t->meaning);
    struct sim_data *other = sim_data_copy(t->arena, fn, t->start);
    if (!evaluate(t, other, false, f)) return false;
    struct sim_difference d = sim_compare(fn, t->expected, other, same_bits);
    if (!d.buffer) return true;
    say_difference(f, "undefined", &d);
    f->outcome = UNDEFINED;
    return false;
}

static bool expect(struct trial *t, const struct plan *p, bool check, struct finding *f) {
    struct function_ir *fn = function_of(t->meaning);
    const char *why = "?";
    if (t->expected) return true;
    t->start = sim_data_new(t->arena, fn, NULL, p->seed, &why);
    if (!t->start) {
        fail(f, REFUSED, "data", why);
        return false;
    }
    t->expected = sim_data_copy(t->arena, fn, t->start);
    return evaluate(t, t->expected, true, f) && (!check || is_defined(t, f));
}

/* What an earlier variant has worked out is not done again. */
static void share(struct trial *x, const struct trial *t, const struct plan *p, int i) {
    const struct variant *v = &p->at[i];
    for (int k = 0; k < i; k++) {
        const struct variant *o = &p->at[k];
        if (strcmp(o->target, v->target) != 0 || o->threads != v->threads) continue;
        x->meaning = t[k].meaning; /* stages mean nothing */
        x->start = t[k].start;
        x->expected = t[k].expected;
        if (o->stages == v->stages) x->code = t[k].code;
    }
}

static bool run_code(struct trial *t, const struct variant *v, struct finding *f) {
    const struct sim_options how = {.early = v->early, .backward = v->early};
    struct sim_result r;
    struct function_ir *fn = function_of(t->meaning);
    t->actual = sim_data_copy(t->arena, fn, t->start);
    if (!sim_run(t->code, function_of(t->code), &t->actual->args, &how, &r)) {
        int line = r.fault.at.end ? source_position(t->code->source, r.fault.at.begin).line : 0;
        fail(f, DIFFERS, sim_kind_name(r.fault.kind),
             arena_printf(t->arena, "line %d: %s", line, r.fault.message));
        return false;
    }
    struct sim_difference d =
        sim_compare(fn, t->expected, t->actual, sim_tolerance_of(fn, t->expected));
    if (d.buffer) say_difference(f, "value", &d);
    return !d.buffer;
}

/* -- all variants
 * ---------------------------------------------------------------------------------- */
/* More stages move no operation: the same bits, but for atomics that come in any order. */
static void look(struct stmt *s, void *data) {
    bool *found = data;
    *found |= s->kind == STMT_ATOMIC && s->atomic.op == ATOMIC_ADD &&
              dtype_is_float(s->atomic.buffer->dtype);
}

static bool adds_in_any_order(struct function_ir *f) {
    bool found = false;
    for (int i = 0; i < f->kernels.count; i++) block_walk(&f->kernels.at[i]->body, look, &found);
    return found;
}

static bool agree(const struct plan *p, struct trial *t, int i, int k, struct finding *f) {
    const struct variant *x = &p->at[i], *y = &p->at[k];
    if (strcmp(x->target, y->target) != 0 || x->threads != y->threads) return true;
    if (!t[k].actual || adds_in_any_order(function_of(t[i].meaning))) return true;
    struct sim_difference d =
        sim_compare(function_of(t[i].meaning), t[k].actual, t[i].actual, same_bits);
    if (!d.buffer) return true;
    say_difference(f, "stages", &d);
    f->other = k;
    return false;
}

struct finding judge(const char *body, const struct plan *p) {
    struct finding f = {.outcome = AGREES, .other = -1};
    struct trial t[MOST_VARIANTS] = {0};
    struct arena *a = arena_new();
    bool checked = false;
    for (int i = 0; i < p->count && f.outcome != DIFFERS && f.outcome != UNDEFINED; i++) {
        struct trial *x = &t[i];
        x->arena = a;
        share(x, t, p, i);
        f.variant = i;
        if (!compile(x, judge_text(a, body, &p->at[i]), p, &p->at[i], &f)) {
            f.refused += f.outcome == REFUSED;
            continue;
        }
        f.outcome = AGREES;
        if (!expect(x, p, !checked, &f) || !run_code(x, &p->at[i], &f)) break;
        checked = true;
        for (int k = 0; k < i && f.outcome == AGREES; k++) agree(p, t, i, k, &f);
    }
    if (f.outcome == REFUSED && f.refused < p->count) f.outcome = AGREES;
    arena_free(a);
    return f;
}

/* -- a process of its own
 * -------------------------------------------------------------------------- */
static void read_finding(int pipe_end, struct finding *f) {
    size_t got = 0;
    while (got < sizeof *f) {
        ssize_t n = read(pipe_end, (char *)f + got, sizeof *f - got);
        if (n <= 0) break;
        got += (size_t)n;
    }
    if (got < sizeof *f) *f = (struct finding){.outcome = DIFFERS, .other = -1};
}

struct finding judge_apart(const char *body, const struct plan *p, unsigned seconds) {
    struct finding f = {.outcome = DIFFERS, .kind = "no process", .other = -1};
    int ends[2], status = 0;
    fflush(stdout);
    if (pipe(ends)) return f;
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        alarm(seconds);
        f = judge(body, p);
        ssize_t written = write(ends[1], &f, sizeof f);
        _exit(written == (ssize_t)sizeof f ? 0 : 3);
    }
    close(ends[1]);
    if (child > 0) read_finding(ends[0], &f);
    close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) < 0) return f;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return f;
    bool late = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    fail(&f, DIFFERS, late ? "no end" : "crash", late ? "no end" : "the process died");
    return f;
}

/* -- shrinking
 * ------------------------------------------------------------------------------------- */
struct hunt {
    struct plan plan;
    const char *kind;
};

static bool still_fails(const char *body, void *data) {
    const struct hunt *h = data;
    struct finding f = judge_apart(body, &h->plan, 10);
    return f.outcome == DIFFERS && !strcmp(f.kind, h->kind);
}

static bool with_schedule(struct hunt *h, const char *body, int threads, int stages) {
    struct plan before = h->plan;
    for (int i = 0; i < h->plan.count; i++) {
        h->plan.at[i].threads = threads;
        if (stages >= 0) h->plan.at[i].stages = stages;
    }
    if (still_fails(body, h)) return true;
    h->plan = before;
    return false;
}

static void shrink_schedule(struct hunt *h, const char *body) {
    static const int counts[] = {32, 64, 128, 256};
    for (int i = 0; i < 4 && counts[i] < h->plan.at[0].threads; i++)
        if (with_schedule(h, body, counts[i], -1)) break;
    for (int n = 0; h->plan.count == 1 && n < h->plan.at[0].stages; n++)
        if (with_schedule(h, body, h->plan.at[0].threads, n)) break;
}

const char *judge_shrunk(struct arena *a, const char *body, const struct plan *p,
                         const struct finding *found, struct plan *left) {
    struct hunt h = {.kind = found->kind, .plan = {.seed = p->seed, .spoil = p->spoil, .count = 1}};
    if (found->other >= 0) h.plan.at[0] = p->at[found->other];
    h.plan.count += found->other >= 0;
    h.plan.at[h.plan.count - 1] = p->at[found->variant];
    struct shrink_goal goal = {.shows = still_fails, .data = &h, .most = 3000};
    shrink_schedule(&h, body);
    const char *small = shrink(a, body, &goal);
    shrink_schedule(&h, small);
    *left = h.plan;
    return small;
}
