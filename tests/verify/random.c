/* random.c: well-typed tile programs made at random: evaluator, machine model and schedules must
 * agree on each, for every target, thread count and number of stages.
 *
 * random FIRST COUNT: the programs of the seeds FIRST … FIRST + COUNT - 1, each in a process of its
 * own, so that a crash or a hang is one more finding. A failure is shrunk and printed with its
 * command line. random FIRST COUNT print shows the programs, too; random file FILE ARCH THREADS
 * STAGES [SEED] judges and shrinks a program from a file. */
#include "judge.h"
#include "maker.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECONDS = 120, VARIANTS = 5 };

/* -- schedules
 * ------------------------------------------------------------------------------------- */
static uint64_t next(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static const char *const targets[] = {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90a"};
static const int threads[] = {32, 64, 96, 128, 128, 256, 512};

/* One schedule in both orders of events, the same with other stages, and two that differ in all. */
static struct plan plan_of(uint64_t seed) {
    struct plan p = {.seed = seed, .count = VARIANTS};
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 77;
    next(&state);
    for (int i = 0; i < VARIANTS; i++)
        p.at[i] = (struct variant){targets[next(&state) % 5], threads[next(&state) % 7],
                                   (int)(next(&state) % 5), i % 2};
    int stages = p.at[0].stages;
    p.at[1] = p.at[2] = p.at[0];
    p.at[1].early = true;
    p.at[2].stages = stages ? 0 : 2;
    return p;
}

/* -- one program
 * ----------------------------------------------------------------------------------- */
static void show(const struct plan *p, const struct finding *f) {
    const struct variant *v = &p->at[f->variant];
    printf("[%s] %s, %d threads, %d stages, %s: %s\n", f->kind, v->target, v->threads, v->stages,
           v->early ? "early" : "late", f->message);
    if (f->other >= 0) printf("  differs from %d stages\n", p->at[f->other].stages);
}

static void reduce(const char *body, const struct plan *p, const struct finding *f) {
    struct arena *a = arena_new();
    struct plan left;
    const char *small = judge_shrunk(a, body, p, f, &left);
    struct finding g = judge_apart(small, &left, SECONDS);
    printf("shrunk: ");
    show(&left, &g);
    printf("%s\n", judge_text(a, small, &left.at[left.count - 1]));
    fflush(stdout);
    arena_free(a);
}

static enum outcome run_seed(const char *self, uint64_t seed, bool print) {
    struct arena *a = arena_new();
    struct made m = make_program(a, seed);
    struct plan p = plan_of(seed);
    if (print) printf("# seed %llu, %s\n%s\n", (unsigned long long)seed, m.family, m.body);
    struct finding f = judge_apart(m.body, &p, SECONDS);
    if (f.outcome != AGREES || (print && f.refused)) {
        printf("seed %llu (%s %llu 1 print) ", (unsigned long long)seed, self,
               (unsigned long long)seed);
        show(&p, &f);
    }
    if (f.outcome == DIFFERS) reduce(m.body, &p, &f);
    fflush(stdout);
    arena_free(a);
    return f.outcome;
}

/* -- the command line
 * ------------------------------------------------------------------------------ */
static int run_file(int argc, char **argv) {
    struct arena *a = arena_new();
    const char *why = NULL;
    struct source *s = source_read(a, argv[2], &why);
    if (!s) return 2;
    struct plan p = {.seed = argc > 6 ? strtoull(argv[6], NULL, 10) : 1, .count = 2};
    p.at[0] = p.at[1] = (struct variant){argv[3], atoi(argv[4]), atoi(argv[5]), false};
    p.at[1].early = true;
    struct finding f = judge_apart(s->text, &p, SECONDS);
    if (f.outcome != AGREES) show(&p, &f);
    if (f.outcome == DIFFERS) reduce(s->text, &p, &f);
    arena_free(a);
    return f.outcome == DIFFERS;
}

int main(int argc, char **argv) {
    int count[OUTCOMES] = {0};
    if (argc > 5 && !strcmp(argv[1], "file")) return run_file(argc, argv);
    if (argc < 3) return 2;
    uint64_t first = strtoull(argv[1], NULL, 10), number = strtoull(argv[2], NULL, 10);
    for (uint64_t s = first; s < first + number; s++) count[run_seed(argv[0], s, argc > 3)]++;
    printf("%d programs agree, %d differ, %d are refused, %d mean nothing definite\n",
           count[AGREES], count[DIFFERS], count[REFUSED], count[UNDEFINED]);
    return count[DIFFERS] > 0 || count[UNDEFINED] > 0;
}
