/* program.c: a kernel as a flat list of steps with jumps. */
#include "sim/internal.h"

static int32_t add_step(struct coder *c, enum step_kind kind, const struct kstmt *st) {
    struct step p = {.kind = kind, .st = st, .target = -1, .variable = NO_SLOT};
    for (int i = 0; i < 4; i++) p.value[i] = NO_SLOT;
    p.code.first = p.code.end = c->p->ops.count;
    vec_push(c->s->arena, &c->p->steps, p);
    return c->p->steps.count - 1;
}

/* Computes e for step i; NULL leaves NO_SLOT. */
static void want(struct coder *c, int32_t i, int which, const struct expr *e) {
    bool uniform = false;
    if (!e) return;
    slot_t slot = code_value(c, e, &uniform);
    struct step *p = &c->p->steps.at[i];
    p->value[which] = slot;
    p->uniform[which] = uniform || e->kind == EXPR_INT || e->kind == EXPR_FLOAT;
    p->code.end = c->p->ops.count;
}

static void sets(struct coder *c, int32_t i, const struct var *v) {
    if (!v) return;
    c->p->steps.at[i].variable = c->p->variable[v->id];
    c->p->steps.at[i].variable_uniform = !c->p->varying[v->id];
}

/* -- statements
 * -------------------------------------------------------------------------------------- */
static void code_block(struct coder *c, const struct kblock *b);

static void code_for(struct coder *c, const struct kstmt *s) {
    int32_t begin = add_step(c, STEP_FOR, s);
    want(c, begin, 0, s->loop.lo);
    sets(c, begin, s->loop.var);
    code_reset(c);
    int32_t test = add_step(c, STEP_FOR_TEST, s);
    want(c, test, 0, s->loop.hi);
    sets(c, test, s->loop.var);
    c->p->steps.at[test].step = s->loop.step;
    code_reset(c);
    code_block(c, &s->loop.body);
    int32_t next = add_step(c, STEP_NEXT, s);
    sets(c, next, s->loop.var);
    c->p->steps.at[next].step = s->loop.step;
    c->p->steps.at[next].target = test;
    c->p->steps.at[test].target = next + 1;
}

static void code_while(struct coder *c, const struct kstmt *s) {
    add_step(c, STEP_WHILE, s);
    int32_t test = add_step(c, STEP_WHILE_TEST, s);
    want(c, test, 0, s->repeat.test);
    code_reset(c);
    code_block(c, &s->repeat.body);
    int32_t next = add_step(c, STEP_NEXT, s);
    c->p->steps.at[next].target = test;
    c->p->steps.at[test].target = next + 1;
}

static void code_if(struct coder *c, const struct kstmt *s) {
    int32_t test = add_step(c, STEP_IF, s);
    want(c, test, 0, s->branch.test);
    code_reset(c);
    code_block(c, &s->branch.then);
    int32_t other = add_step(c, STEP_ELSE, s);
    c->p->steps.at[test].target = other;
    code_block(c, &s->branch.otherwise);
    int32_t end = add_step(c, STEP_END_IF, s);
    c->p->steps.at[other].target = end;
}

static void code_memory(struct coder *c, const struct kstmt *s) {
    int32_t i = add_step(c, STEP_STATEMENT, s);
    want(c, i, 0, s->memory.address.index);
    if (s->memory.data.array)
        want(c, i, 1, s->memory.data.index);
    else if (s->kind == K_STORE)
        want(c, i, 1, s->memory.value);
    if (s->kind == K_LOAD && !s->memory.data.array) sets(c, i, s->memory.var);
}

static void code_machine(struct coder *c, const struct kstmt *s) {
    int32_t i = add_step(c, STEP_STATEMENT, s);
    switch (s->kind) {
    case K_ATOMIC:
        want(c, i, 0, s->atomic.address.index);
        want(c, i, 1, s->atomic.value);
        sets(c, i, s->atomic.previous);
        break;
    case K_CP_ASYNC:
        want(c, i, 0, s->cp_async.to.index);
        want(c, i, 1, s->cp_async.from.index);
        want(c, i, 2, s->cp_async.source_bytes);
        want(c, i, 3, s->cp_async.guard);
        break;
    case K_LDMATRIX:
    case K_STMATRIX:
        want(c, i, 0, s->matrix.address.index);
        want(c, i, 1, s->matrix.data.index);
        break;
    case K_MMA:
        want(c, i, 0, s->mma.d.index);
        want(c, i, 1, s->mma.a.index);
        want(c, i, 2, s->mma.b.index);
        break;
    case K_PRINT:
    case K_ASSERT: want(c, i, 0, s->print.test); break;
    default: break;
    }
}

static void code_statement(struct coder *c, const struct kstmt *s) {
    int32_t i;
    switch (s->kind) {
    case K_COMMENT: break;
    case K_FOR: code_for(c, s); break;
    case K_WHILE: code_while(c, s); break;
    case K_IF: code_if(c, s); break;
    case K_VAR:
    case K_SET:
        i = add_step(c, STEP_STATEMENT, s);
        want(c, i, 0, s->set.value);
        sets(c, i, s->set.var);
        break;
    case K_PUT:
        i = add_step(c, STEP_STATEMENT, s);
        want(c, i, 0, s->put.value);
        want(c, i, 1, s->put.to.index);
        break;
    case K_LOAD:
    case K_STORE: code_memory(c, s); break;
    default: code_machine(c, s); break;
    }
    code_reset(c);
}

static void code_block(struct coder *c, const struct kblock *b) {
    for (const struct kstmt *s = b->first; s; s = s->next) code_statement(c, s);
}

/* -- slots
 * ------------------------------------------------------------------------------------------- */
struct numbering {
    struct machine *s;
    struct program *p;
    int32_t vars;
};

static void number(struct numbering *n, const struct var *v) {
    if (v && n->p->variable[v->id] == NO_SLOT) n->p->variable[v->id] = ~n->p->warp_slots++;
}

static void number_expr(struct numbering *n, const struct expr *e) {
    if (e->kind == EXPR_VAR) number(n, e->var);
    for (int i = 0; i < e->count; i++) number_expr(n, e->args[i]);
}

static void visit_expr(struct expr **e, void *data) { number_expr(data, *e); }

static void visit(struct kstmt *s, void *data) {
    struct numbering *n = data;
    int32_t bytes;
    switch (s->kind) {
    case K_VAR:
    case K_SET: number(n, s->set.var); break;
    case K_FOR: number(n, s->loop.var); break;
    case K_LOAD: number(n, s->memory.var); break;
    case K_ATOMIC: number(n, s->atomic.previous); break;
    default: break;
    }
    if (code_memory_bytes(s, &bytes) && bytes < n->p->granule) n->p->granule = bytes;
    kstmt_expressions(s, visit_expr, n);
}

/* Block indices, dimensions and parameters are equal everywhere but live with the warp as well, so
 * that one numbering serves all. */
static void number_all(struct machine *s, struct program *p, const struct kernel *k) {
    struct numbering n = {.s = s, .p = p};
    for (int i = 0; i < 3; i++) number(&n, k->block[i]);
    number(&n, k->code->thread);
    for (int i = 0; i < s->f->params.count; i++) number(&n, s->f->params.at[i].var);
    kblock_walk(&k->code->body, visit, &n);
    p->registers = arena_array(s->arena, slot_t, k->code->arrays.count + 1);
    for (int i = 0; i < k->code->arrays.count; i++) {
        p->registers[k->code->arrays.at[i]->id] = ~p->warp_slots;
        p->warp_slots += k->code->arrays.at[i]->count;
    }
}

bool code_memory_bytes(const struct kstmt *s, int32_t *bytes) {
    const struct address *a = NULL;
    switch (s->kind) {
    case K_LOAD:
    case K_STORE: a = &s->memory.address, *bytes = s->memory.bytes; break;
    case K_ATOMIC: a = &s->atomic.address, *bytes = dtype_bytes(s->atomic.dtype); break;
    case K_CP_ASYNC: a = &s->cp_async.to, *bytes = s->cp_async.bytes; break;
    case K_LDMATRIX:
    case K_STMATRIX: a = &s->matrix.address, *bytes = 16; break;
    default: return false;
    }
    return a->buffer->scope == SCOPE_SHARED;
}

static void relocate(slot_t *slot, int32_t constants) {
    enum { TEMPORARY = 1 << 24 };
    if (*slot != NO_SLOT && *slot >= TEMPORARY) *slot += constants - TEMPORARY;
}

static void finish(struct machine *s, struct program *p) {
    int32_t constants = s->constants.count;
    for (int i = 0; i < p->ops.count; i++) {
        relocate(&p->ops.at[i].to, constants);
        for (int k = 0; k < 4; k++) relocate(&p->ops.at[i].arg[k], constants);
    }
    for (int i = 0; i < p->steps.count; i++)
        for (int k = 0; k < 4; k++) relocate(&p->steps.at[i].value[k], constants);
    p->machine_slots += constants;
    s->file = arena_array(s->arena, struct lanes, p->machine_slots + 1);
    s->known = arena_array(s->arena, struct known, p->machine_slots + 1);
    if (constants > 0) memcpy(s->file, s->constants.at, sizeof(struct lanes) * (size_t)constants);
    for (int i = 0; i < constants; i++) s->known[i] = known_in(FULL_MASK);
}

struct program *program_of_kernel(struct machine *s, const struct kernel *k) {
    struct program *p = arena_make(s->arena, struct program);
    struct coder c = {.s = s, .p = p};
    int32_t vars = exprs_vars(s->m->exprs);
    p->variable = arena_array(s->arena, slot_t, vars + 1);
    p->varying = arena_array(s->arena, bool, vars + 1);
    p->granule = 16;
    for (int i = 0; i <= vars; i++) p->variable[i] = NO_SLOT;
    s->constants.count = 0;
    number_all(s, p, k);
    uniform_find(p, k, vars);
    code_block(&c, &k->code->body);
    add_step(&c, STEP_EXIT, NULL);
    finish(s, p);
    return p;
}
