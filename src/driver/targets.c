/* targets.c: the passes for several architectures.
 *
 * Architectures that would answer all that the passes ask in the same way travel together, a
 * party: the program of the first is right for them. Those that would answer differently part and
 * go on from a copy of the program, kept in front of the passes that ask most, on a thread of their
 * own. Programs share what no longer changes and nothing else, each thread reports to a collector
 * of its own, and these are joined in the order of the architectures: what comes out does not
 * depend on who is faster. */
#include "driver/driver.h"
#include <pthread.h>

enum { STACK = 8 << 20 }; /* bytes, as the main thread has by default */

typedef uint32_t arch_set; /* by place in the options' list */

struct party {
    struct travel *travel;
    int lead;         /* the architecture whose program it is, the first of … */
    arch_set members; /* … those that travel; none: failed */
    arch_set left;    /* who was left behind and has to begin again */
    struct module *m; /* in front of `pass` */
    int pass;
    struct module *kept; /* a copy from in front of the pass kept_at, for who parts; NULL: none */
    int kept_at;
    bool beside; /* on a thread of its own … */
    pthread_t thread;
    struct arena *arena; /* … with memory and diagnostics of its own */
    struct diag *diag;
};

struct travel {
    struct compilation *c;
    int count;                       /* of architectures */
    arch_set waiting;                /* they have no party */
    struct party parties[MAX_ARCHS]; /* by who leads; a party's thread writes its own and those that
                                        it starts, which come behind it */
};

static arch_set only(int arch) { return (arch_set)1 << arch; }

/* Nobody looks at the programs between the passes or asks for reasons, which name numbers of one
 * architecture. */
static bool may_travel(const struct options *o) {
    for (int i = 0; i < PASS_COUNT; i++)
        if (o->dump_after[i] || o->dump_before[i]) return false;
    for (int i = 0; i < o->emissions.count; i++)
        if (o->emissions.at[i].kind == EMIT_IR) return false;
    return !o->explain && o->stop_after < 0;
}

static bool has_company(const struct party *p) { return (p->members & ~only(p->lead)) != 0; }

/* What stages fit and which instructions there are differs most. */
static bool asks_much(int pass) { return pass == PASS_pipeline || pass == PASS_lower; }

static void *run_beside(void *data);

/* A failure to make a thread costs time only: the party then goes when its turn comes. With the
 * times of the passes asked for they follow each other. */
static void start(struct party *p) {
    pthread_attr_t a;
    if (p->travel->c->options->time_passes || pthread_attr_init(&a)) return;
    p->beside =
        !pthread_attr_setstacksize(&a, STACK) && !pthread_create(&p->thread, &a, run_beside, p);
    pthread_attr_destroy(&a);
}

/* Those that would have got another program from the last pass part, and go on together. */
static void part_ways(struct party *p) {
    struct travel *t = p->travel;
    const struct target *const *archs = t->c->options->archs;
    arch_set apart = 0;
    int lead = 0;
    for (int i = t->count - 1; i > p->lead; i--) {
        if (!(p->members & only(i)) || answers_alike(p->m->answers, p->m->target, archs[i]))
            continue;
        apart |= only(i);
        lead = i;
    }
    p->members &= ~apart;
    if (!p->kept) p->left |= apart;
    if (!apart || !p->kept) return;
    t->parties[lead] = (struct party){
        .travel = t, .lead = lead, .members = apart, .m = p->kept, .pass = p->kept_at};
    p->kept->target = archs[lead];
    p->kept = has_company(p) ? module_fork(p->kept) : NULL;
    start(&t->parties[lead]);
}

static void fail(struct party *p) {
    p->left |= p->members & ~only(p->lead);
    p->members = 0;
}

static void run(struct party *p) {
    struct compilation *c = p->travel->c;
    for (int first = p->pass; p->pass < PASS_emit; p->pass++) {
        if (asks_much(p->pass) && p->pass > first && has_company(p)) {
            p->kept = module_fork(p->m);
            p->kept_at = p->pass;
        }
        if (!pass_run(c, p->pass, p->m)) {
            fail(p);
            return;
        }
        part_ways(p);
        if (pass_is_last(c, p->pass)) return;
    }
}

static void *run_beside(void *data) {
    struct party *p = data;
    p->arena = arena_new_large();
    p->diag = diag_fork(p->travel->c->diag, p->arena);
    module_move(p->m, p->arena, p->diag);
    run(p);
    return NULL;
}

static void join(struct party *p) {
    struct compilation *c = p->travel->c;
    pthread_join(p->thread, NULL);
    diag_join(c->diag, p->diag);
    arena_join(c->arena, p->arena);
    module_move(p->m, c->arena, c->diag);
}

/* From the text on, with all that wait. */
static void begin(struct party *p) {
    struct compilation *c = p->travel->c;
    p->members = may_travel(c->options) ? p->travel->waiting : only(p->lead);
    p->travel->waiting &= ~p->members;
    p->m = pass_analyse(c, c->options->archs[p->lead]);
    p->pass = PASS_coarsen;
    if (!p->m)
        fail(p);
    else if (!pass_is_last(c, PASS_analyse))
        run(p);
}

/* Brings the party that i leads to its end. */
static void finish(struct travel *t, int i) {
    struct party *p = &t->parties[i];
    if (t->waiting & only(i)) {
        *p = (struct party){.travel = t, .lead = i};
        begin(p);
    } else if (p->beside) {
        join(p);
    } else {
        run(p);
    }
    t->waiting |= p->left;
}

/* The finished program of architecture i; NULL after errors. With --explain nobody travels: each
 * one's remarks bear its name. */
static struct module *program(struct travel *t, int i) {
    const struct target *const *archs = t->c->options->archs;
    diag_remarks_of(t->c->diag, t->count > 1 ? archs[i]->name : NULL);
    for (int lead = 0; lead < i; lead++) {
        const struct party *p = &t->parties[lead];
        if (!(p->members & only(i))) continue;
        struct module *m = module_for(p->m, archs[i]);
        pass_verify(t->c, PASS_tidy, m);
        return m;
    }
    finish(t, i);
    return t->parties[i].members ? t->parties[i].m : NULL;
}

/* Of the default list those that fail are left out with a warning, as long as one succeeds. */
void targets_run(struct compilation *c) {
    const struct options *o = c->options;
    struct travel t = {.c = c, .count = o->arch_count, .waiting = only(o->arch_count) - 1};
    int mark[MAX_ARCHS + 1], failed = 0;
    bool last = false;
    for (int i = 0; i < t.count; i++) {
        mark[i] = diag_mark(c->diag);
        struct module *m = program(&t, i);
        last = m != NULL;
        failed += !m;
        if (m)
            c->modules[c->module_count++] = m;
        else if (!o->archs_named && i + 1 < t.count)
            diag_demote(c->diag, mark[i], W_ARCH,
                        arena_printf(c->arena, "left out of %s: ", o->archs[i]->name));
    }
    int end = t.count - 1;
    if (!o->archs_named && end > 0 && !last && failed <= end)
        diag_demote(c->diag, mark[end], W_ARCH,
                    arena_printf(c->arena, "left out of %s: ", o->archs[end]->name));
    if (failed == t.count) diag_restore(c->diag);
}
