/* sema.c: the state, its limits, and errors that say through which calls they were reached. */
#include "sema/state.h"
#include <stdarg.h>

enum { NEST_LIMIT = 1500, NOTE_LIMIT = 8, EXPR_DEPTH = 1000, EXPR_NODES = 50000 };

struct evaluator *evaluator_of(struct sema *s) {
    return (struct evaluator *)s; /* sema is its first member, and none is made otherwise */
}

struct evaluator *evaluator_new(struct module *m, const struct sema_options *options) {
    struct evaluator *v = arena_make(m->arena, struct evaluator);
    v->sema.module = m;
    v->sema.arena = m->arena;
    v->sema.diag = m->diag;
    v->sema.names = m->names;
    v->sema.exprs = m->exprs;
    v->sema.target = m->target;
    v->sema.options = options;
    v->sema.globals = env_new(&v->sema, ENV_MODULE, NULL, (struct span){0, 0});
    return v;
}

static void note_frames(struct sema *s) {
    int notes = 0;
    for (const struct frame *f = s->frame; f; f = f->up) {
        if (f->call.begin == f->call.end || ++notes > NOTE_LIMIT) continue;
        diag_note(s->diag, f->call, "in %s'%s', called from here",
                  f->up ? "" : "the instantiation of ", f->closure->name->text);
    }
    if (notes > NOTE_LIMIT)
        diag_note(s->diag, s->frame->call, "and %d more calls", notes - NOTE_LIMIT);
}

static void report(struct sema *s, struct span span, enum diag_code code, const char *format,
                   va_list args) {
    char message[1024];
    vsnprintf(message, sizeof message, format, args);
    diag_report(s->diag, span, code, "%s", message);
    note_frames(s);
}

void sema_error(struct sema *s, struct span span, enum diag_code code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    report(s, span, code, format, args);
    va_end(args);
}

struct value sema_bad(struct sema *s, struct span span, enum diag_code code, const char *format,
                      ...) {
    va_list args;
    va_start(args, format);
    report(s, span, code, format, args);
    va_end(args);
    return value_bad();
}

void sema_stop(struct sema *s, struct span span, const char *format, ...) {
    if (s->stopped) return;
    s->stopped = true;
    if (span.begin == span.end && s->frame) span = s->frame->call;
    va_list args;
    va_start(args, format);
    report(s, span.begin == span.end ? evaluator_of(s)->here : span, E0211, format, args);
    va_end(args);
}

bool sema_charge(struct sema *s, int64_t steps) {
    s->steps += steps;
    if (s->steps > SEMA_STEPS)
        sema_stop(s, evaluator_of(s)->here, "compile-time evaluation does not end within %d steps",
                  SEMA_STEPS);
    return !s->stopped;
}

bool sema_enter(struct sema *s, struct span span) {
    struct evaluator *v = evaluator_of(s);
    v->here = span;
    if (!sema_charge(s, 1)) return false;
    if (v->nest >= NEST_LIMIT) {
        sema_stop(s, span, "compile-time evaluation nests deeper than %d levels", NEST_LIMIT);
        return false;
    }
    v->nest++;
    return true;
}

void sema_leave(struct sema *s) { evaluator_of(s)->nest--; }

/* -- Size of expressions
 * ---------------------------------------------------------------------------- */

/* Compile-time loops can build expressions of any size, and shared parts make trees that are
 * exponentially larger than their memory. Later passes walk them as trees, so both the depth and
 * the number of nodes, counted as a tree, have a limit. Sizes are kept by the expression's number.
 */
static struct measure measure_of(struct evaluator *v, const struct expr *x) {
    while (v->measures.count <= x->id) vec_push(v->sema.arena, &v->measures, (struct measure){0});
    struct measure m = v->measures.at[x->id];
    if (m.depth) return m;
    m = (struct measure){.depth = 1, .nodes = 1};
    for (int i = 0; i < x->count; i++) { /* the arguments were measured when they were made */
        struct measure a = measure_of(v, x->args[i]);
        m.depth = a.depth + 1 > m.depth ? a.depth + 1 : m.depth;
        m.nodes = m.nodes + a.nodes > EXPR_NODES ? EXPR_NODES + 1 : m.nodes + a.nodes;
    }
    v->measures.at[x->id] = m;
    return m;
}

struct value sema_measured(struct sema *s, struct value v, struct span span) {
    if (v.kind != VALUE_IR) return v;
    struct measure m = measure_of(evaluator_of(s), v.expr);
    if (m.depth <= EXPR_DEPTH && m.nodes <= EXPR_NODES) return v;
    return sema_bad(s, span, E0211,
                    "the expression grew to more than %d %s; compute it in steps inside the kernel",
                    m.depth > EXPR_DEPTH ? EXPR_DEPTH : EXPR_NODES,
                    m.depth > EXPR_DEPTH ? "levels" : "operations");
}
