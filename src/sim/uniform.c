/* uniform.c: which variables have one value in a whole warp.
 *
 * Everything counts as uniform until an assignment shows otherwise; passes over the kernel repeat
 * until nothing changes. A variable that is assigned where only some lanes may be active varies; a
 * constant one does not, since nobody reads it outside of its branch. */
#include "sim/internal.h"

struct finder {
    struct program *p;
    bool divergent, changed;
};

static void mark(struct finder *f, const struct var *v) {
    if (f->p->varying[v->id]) return;
    f->p->varying[v->id] = true;
    f->changed = true;
}

/* thread // 32k. */
static bool is_warp_number(const struct expr *e) {
    int64_t by;
    return e->kind == EXPR_OP && e->fn == FN_FLOORDIV && e->args[0]->kind == EXPR_VAR &&
           e->args[0]->var->kind == VAR_THREAD && expr_is_int(e->args[1], &by) && by > 0 &&
           by % LANES == 0;
}

bool uniform_expr(const struct program *p, const struct expr *e) {
    if (e->kind == EXPR_VAR) return !p->varying[e->var->id];
    if (e->kind == EXPR_ELEMENT) return false;
    if (is_warp_number(e)) return true;
    if (e->kind == EXPR_OP && e->fn == FN_ANY) return true;
    for (int i = 0; i < e->count; i++)
        if (!uniform_expr(p, e->args[i])) return false;
    return true;
}

static void visit(struct finder *f, const struct kblock *b);

/* May some lanes leave an iteration before the others? */
static bool leaves_early(const struct program *p, const struct kblock *b, bool divergent) {
    for (const struct kstmt *s = b->first; s; s = s->next) {
        if ((s->kind == K_BREAK || s->kind == K_CONTINUE) && divergent) return true;
        if (s->kind != K_IF) continue;
        bool inner = divergent || !uniform_expr(p, s->branch.test);
        if (leaves_early(p, &s->branch.then, inner) || leaves_early(p, &s->branch.otherwise, inner))
            return true;
    }
    return false;
}

static void visit_body(struct finder *f, const struct kblock *b, bool divergent) {
    bool was = f->divergent;
    f->divergent = was || divergent || leaves_early(f->p, b, false);
    visit(f, b);
    f->divergent = was;
}

static void visit_assignment(struct finder *f, const struct kstmt *s) {
    bool changes = s->set.var->kind == VAR_MUTABLE;
    if (s->set.value && !uniform_expr(f->p, s->set.value)) mark(f, s->set.var);
    if (changes && f->divergent) mark(f, s->set.var);
}

static void visit_branch(struct finder *f, const struct kstmt *s) {
    bool was = f->divergent;
    f->divergent = was || !uniform_expr(f->p, s->branch.test);
    visit(f, &s->branch.then);
    visit(f, &s->branch.otherwise);
    f->divergent = was;
}

static void visit(struct finder *f, const struct kblock *b) {
    for (const struct kstmt *s = b->first; s; s = s->next) switch (s->kind) {
        case K_VAR:
        case K_SET: visit_assignment(f, s); break;
        case K_LOAD:
            if (s->memory.var) mark(f, s->memory.var);
            break;
        case K_ATOMIC:
            if (s->atomic.previous) mark(f, s->atomic.previous);
            break;
        case K_IF: visit_branch(f, s); break;
        case K_FOR:
            if (!uniform_expr(f->p, s->loop.lo)) mark(f, s->loop.var);
            visit_body(f, &s->loop.body,
                       !uniform_expr(f->p, s->loop.lo) || !uniform_expr(f->p, s->loop.hi));
            break;
        case K_WHILE: visit_body(f, &s->repeat.body, !uniform_expr(f->p, s->repeat.test)); break;
        default: break;
        }
}

void uniform_find(struct program *p, const struct kernel *k, int32_t vars) {
    struct finder f = {.p = p};
    (void)vars;
    if (k->code->thread) p->varying[k->code->thread->id] = true;
    do {
        f.changed = false;
        visit(&f, &k->code->body);
    } while (f.changed);
}
