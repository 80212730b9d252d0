/* map.c: MAP: each thread runs its iterations, several elements at a time.
 *
 * A body of plain assignments is run statement by statement for a vector of elements, so that
 * neighbouring reads and writes become one instruction; any other body runs element by element.
 * Reads of global memory go ahead of the computation for several vectors, so that enough bytes are
 * in flight. */
#include "internal.h"

enum { IN_FLIGHT = 8, STAGED_LOADS = 8, STAGED_REGISTERS = 64 };
enum { QUOTIENTS = 8 }; /* elements with divisions that are better done side by side */

struct survey {
    struct lowering *l;
    bool simple, stores_memory, writes_registers;
    int32_t bytes; /* of the narrowest element in memory; 16: none */
    int32_t parts; /* elements a word of the most packed fragment */
    bool divides;
    const struct domain *domain; /* for the next */
    unsigned divisor_axes;       /* bit i: some divisor depends on axis i */
};

static void survey_buffer(struct survey *v, const struct buffer *b) {
    int32_t bytes = dtype_bytes(b->dtype);

    if (in_memory(v->l, b))
        v->bytes = bytes < v->bytes ? bytes : v->bytes;
    else if (b->scope == SCOPE_FRAGMENT && array_parts(v->l->arrays[b->id]) > v->parts)
        v->parts = array_parts(v->l->arrays[b->id]);
}

static void survey_divisor(struct survey *v, const struct expr *divisor) {
    int i;

    v->divides = true;
    for (i = 0; i < v->domain->rank; i++)
        if (expr_uses_kind(divisor, VAR_LET) || expr_uses_var(divisor, v->domain->axis[i]))
            v->divisor_axes |= 1u << i;
}

static struct expr *survey_node(struct expr *e, void *data) {
    struct survey *v = data;

    if (e->kind == EXPR_LOAD) survey_buffer(v, e->buffer);
    if (e->kind == EXPR_OP && e->fn == FN_DIV) survey_divisor(v, e->args[1]);
    return NULL;
}

static void survey_expression(struct expr **e, void *data) {
    struct survey *v = data;

    if (expr_has_load(*e))
        expr_rewrite_where(v->l->x, *e, HOLDS_LOAD | HOLDS_DIVISION, survey_node, v);
}

/* -- branches whose arms may be computed whether they are taken or not
 * ------------------------------- */
static struct expr *look_for_unsafe(struct expr *e, void *data) {
    struct survey *v = data;

    if (e->kind == EXPR_LOAD && in_memory(v->l, e->buffer) && !load_is_safe(v->l, e))
        v->simple = false;
    return NULL;
}

static void unsafe_expression(struct expr **e, void *data) {
    if (expr_has_load(*e))
        expr_rewrite_where(((struct survey *)data)->l->x, *e, HOLDS_LOAD, look_for_unsafe, data);
}

static void unsafe_statement(struct stmt *t, void *data) {
    struct survey *v = data;

    stmt_expressions(t, unsafe_expression, v);
    if (t->kind != STMT_STORE && t->kind != STMT_LET && t->kind != STMT_IF) v->simple = false;
}

static bool branch_is_simple(struct lowering *l, struct stmt *t) {
    struct survey v = {.l = l, .simple = true};

    block_walk(&t->branch.then, unsafe_statement, &v);
    block_walk(&t->branch.otherwise, unsafe_statement, &v);
    return v.simple;
}

static void survey_statement(struct stmt *t, void *data) {
    struct survey *v = data;
    bool memory = t->kind == STMT_STORE && in_memory(v->l, t->store.buffer);

    stmt_expressions(t, survey_expression, v);
    switch (t->kind) {
    case STMT_STORE:
        survey_buffer(v, t->store.buffer);
        if (memory && t->store.buffer->scope != SCOPE_LOCAL)
            v->stores_memory = true;
        else
            v->writes_registers = true;
        v->simple &= t->store.buffer->scope != SCOPE_LOCAL;
        break;
    case STMT_LET: break;
    case STMT_IF:
        if (branch_is_simple(v->l, t)) break;
        v->simple = false;
        v->writes_registers = true;
        break;
    case STMT_ATOMIC: v->stores_memory = true; break;
    default: v->simple = false; v->writes_registers = true;
    }
}

/* -- loops whose variable would choose the part of a packed word --------------------------------
 */
struct packing {
    struct plan *plan;
    struct lowering *l;
};

static void expand_for(struct lowering *l, struct plan *p, struct buffer *b,
                       struct expr *const *index) {
    struct coordinate c[TILE_RANK];
    struct slot slot;
    int at, i;

    if (b->scope != SCOPE_FRAGMENT || array_parts(l->arrays[b->id]) == 1) return;
    for (at = 0; at < p->loops; at++) {
        for (i = 0; i < p->loops; i++) p->loop[i].value = ix(l, 0);
        p->loop[at].value = expr_var(l->x, loop_var(l, p->loop[at].radix));
        for (i = 0; i < b->rank; i++) c[i] = plan_index(l, p, bind_source(l, index[i], l->env), 0);
        if (!fragment_slot(l, b, c, &slot)) p->loop[at].expanded = true;
    }
}

static struct expr *expand_load(struct expr *e, void *data) {
    struct packing *k = data;

    if (e->kind == EXPR_LOAD) expand_for(k->l, k->plan, e->buffer, e->args);
    return NULL;
}

static void expand_expression(struct expr **e, void *data) {
    if (expr_has_load(*e))
        expr_rewrite_where(((struct packing *)data)->l->x, *e, HOLDS_LOAD, expand_load, data);
}

static void expand_statement(struct stmt *t, void *data) {
    struct packing *k = data;

    stmt_expressions(t, expand_expression, data);
    if (t->kind == STMT_STORE) expand_for(k->l, k->plan, t->store.buffer, t->store.index);
}

void plan_expand(struct lowering *l, struct plan *p, struct block *b) {
    struct packing k = {p, l};

    block_walk(b, expand_statement, &k);
}

/* -- the body ------------------------------------------------------------------------------------
 */
static bool depends_on_state(const struct expr *e) {
    return expr_has_load(e) || expr_uses_kind(e, VAR_MUTABLE);
}

static void let_bind(struct lowering *l, struct group *g, int32_t e, const struct stmt *t,
                     struct expr *value) {
    struct env *env = arena_make(l->m->arena, struct env);

    env->outer = g->env[e];
    env->var = t->let.var;
    env->value = value;
    g->env[e] = env;
}

/* The values in variables, two in one where they are the parts of a word. */
static void let_values(struct lowering *l, struct group *g, struct stmt *t) {
    struct site s = {g->plan, 0, NULL};
    enum dtype type = register_type(t->let.var->dtype);
    const char *name = t->let.var->name->text;
    struct expr *values[VECTOR];
    int32_t e;

    for (e = 0; e < g->count; e++) {
        s.element = e;
        s.env = g->env[e];
        values[e] = value_lower(l, &s, t->let.value);
    }
    pairs_make(l, name, values, g->count);
    for (e = 0; e < g->count; e++) {
        if (e + 1 < g->count && pair_held(l, name, values + e, t->let.var->dtype)) {
            let_bind(l, g, e, t, values[e]);
            e++;
        } else {
            values[e] = expr_var(l->x, add_var(l, name, type, values[e]));
        }
        let_bind(l, g, e, t, values[e]);
    }
}

static void let_make(struct lowering *l, struct group *g, struct stmt *t) {
    int32_t e;

    group_loads(l, g, t->let.value);
    if (!dtype_is_integer(t->let.var->dtype) || depends_on_state(t->let.value)) {
        let_values(l, g, t);
        return;
    }
    for (e = 0; e < g->count; e++) {
        let_bind(l, g, e, t, bind_source(l, t->let.value, g->env[e]));
        g->env[e]->source = true;
    }
}

struct map_body {
    struct block *block;
    bool simple;
};

static void run_vector(struct lowering *l, struct group *g, struct block *b);

static bool still_loaded(const struct lowering *l, const struct loaded *read) {
    int i;

    for (i = 0; i < l->loaded.count; i++)
        if (l->loaded.at[i].load == read->load && l->loaded.at[i].element == read->element &&
            l->loaded.at[i].value == read->value)
            return true;
    return false;
}

/* What an arm reads and names is its own; what it writes is not known any more behind it. */
static void run_arm(struct lowering *l, struct group *g, struct block *arm) {
    struct group own = *g;
    int count = l->loaded.count, kept = 0, i;
    struct loaded *before = arena_array(l->m->arena, struct loaded, count + 1);

    for (i = 0; i < count; i++) before[i] = l->loaded.at[i];
    run_vector(l, &own, arm);
    for (i = 0; i < count; i++)
        if (still_loaded(l, &before[i])) before[kept++] = before[i];
    for (i = 0; i < kept; i++) l->loaded.at[i] = before[i];
    l->loaded.count = kept;
}

/* Each element assigns under its own condition. */
static void run_guarded(struct lowering *l, struct group *g, struct stmt *t,
                        struct expr *const *tests) {
    struct expr *not_taken[VECTOR], *held;
    struct group arm = *g;
    int32_t e;

    for (e = 0; e < g->count; e++) {
        held = tests[e]->kind == EXPR_INT
                   ? tests[e]
                   : expr_var(l->x, add_var(l, "taken", DTYPE_BOOL, tests[e]));
        arm.guard[e] = both(l, g->guard[e], held);
        not_taken[e] = both(l, g->guard[e], expr_unary(l->x, FN_LNOT, held));
    }
    run_arm(l, &arm, &t->branch.then);
    if (!t->branch.otherwise.first) return;
    for (e = 0; e < g->count; e++) arm.guard[e] = not_taken[e];
    run_arm(l, &arm, &t->branch.otherwise);
}

/* A condition that all elements share is a branch; else it guards the assignments. */
static void run_if(struct lowering *l, struct group *g, struct stmt *t) {
    struct site s = {g->plan, 0, NULL};
    struct expr *tests[VECTOR] = {NULL};
    struct kblock *saved;
    bool shared = true;
    int32_t e;

    group_loads(l, g, t->branch.test);
    for (e = 0; e < g->count; e++) {
        s.element = e;
        s.env = g->env[e];
        tests[e] = value_lower(l, &s, t->branch.test);
        shared &= tests[e] == tests[0];
    }
    if (!shared) {
        run_guarded(l, g, t, tests);
        return;
    }
    saved = add_if(l, tests[0]);
    run_arm(l, g, &t->branch.then);
    if (t->branch.otherwise.first) {
        add_else(l, saved);
        run_arm(l, g, &t->branch.otherwise);
    }
    out_leave(l, saved);
}

static void run_vector(struct lowering *l, struct group *g, struct block *b) {
    struct stmt *t;
    struct site s;
    int32_t e;

    for (t = b->first; t; t = t->next) {
        if (t->kind == STMT_STORE) {
            store_make(l, g, t);
        } else if (t->kind == STMT_LET) {
            let_make(l, g, t);
        } else if (t->kind == STMT_IF) {
            run_if(l, g, t);
        } else {
            for (e = 0; e < g->count; e++) {
                s = (struct site){g->plan, e, g->env[e]};
                lower_atomic(l, &s, t);
                g->env[e] = s.env;
            }
        }
    }
}

static void run_body(struct lowering *l, struct plan *p, void *data) {
    struct map_body *body = data;
    struct group g = {.plan = p, .count = p->vector};
    int known = l->loaded.count;
    struct kblock *saved = NULL;
    struct site s;
    struct stmt *t;
    int32_t e;

    if (p->inside) saved = add_if(l, p->inside);
    for (e = 0; e < p->vector; e++) g.env[e] = plan_env(l, p, e);
    if (body->simple) {
        run_vector(l, &g, body->block);
    } else {
        s = (struct site){p, 0, g.env[0]};
        for (t = body->block->first; t; t = t->next) lower_plain(l, &s, t);
    }
    if (p->inside) out_leave(l, saved);
    l->loaded.count = known;
}

/* -- reads ahead
 * ------------------------------------------------------------------------------------ */
struct ahead {
    struct plan *plan;
    struct map_body *body;
    int count, from; /* loads; the first loop that is run ahead */
    struct expr *load[STAGED_LOADS];
    struct array *array[STAGED_LOADS];
    int32_t registers[STAGED_LOADS];
};

static void find_ahead(struct lowering *l, struct expr *load, void *data) {
    struct ahead *a = data;
    int i;

    for (i = 0; i < a->count; i++)
        if (a->load[i] == load) return;
    for (i = 0; i < load->count; i++)
        if (depends_on_state(load->args[i]) || expr_uses_kind(load->args[i], VAR_LET)) return;
    if (load->buffer->scope == SCOPE_GLOBAL && a->count < STAGED_LOADS &&
        !block_writes(l->m, a->body->block, load->buffer))
        a->load[a->count++] = load;
}

static void find_loads(struct lowering *l, struct ahead *a, struct stmt *t) {
    if (t->kind == STMT_STORE)
        group_each_load(l, t->store.value, find_ahead, a);
    else if (t->kind == STMT_LET)
        group_each_load(l, t->let.value, find_ahead, a);
    else if (t->kind == STMT_ATOMIC)
        group_each_load(l, t->atomic.value, find_ahead, a);
}

/* Splits a loop in two, the inner of `inner` iterations. */
static void split_loop(struct plan *p, int at, int32_t inner) {
    int i;

    for (i = p->loops++; i > at; i--) p->loop[i] = p->loop[i - 1];
    p->loop[at].radix /= inner;
    p->loop[at].weight *= inner;
    p->loop[at].stride *= inner;
    p->loop[at + 1].radix = inner;
}

static int32_t largest_divisor(int32_t of, int32_t limit) {
    int32_t d = of < limit ? of : limit;

    while (of % d != 0) d--;
    return d;
}

/* Takes innermost loops as long as the registers of their reads suffice. */
static int32_t choose_ahead(struct ahead *a, int32_t registers) {
    struct plan *p = a->plan;
    int32_t room = STAGED_REGISTERS / (registers > 0 ? registers : 1), taken = 1, inner;

    room = room < IN_FLIGHT ? room : IN_FLIGHT;
    a->from = p->loops;
    while (a->from > 0 && room > 1) {
        inner = largest_divisor(p->loop[a->from - 1].radix, room);
        if (inner == 1) break;
        if (inner < p->loop[a->from - 1].radix) {
            if (p->loops == LOOPS) break;
            split_loop(p, a->from - 1, inner);
            a->from++;
        }
        a->from--;
        taken *= inner;
        room /= inner;
    }
    return taken;
}

/* The registers of this iteration's reads start here. */
static struct expr *ahead_base(struct lowering *l, const struct ahead *a, int which) {
    int64_t each = a->registers[which];
    struct expr *base = NULL;
    int i;

    for (i = a->plan->loops - 1; i >= a->from; i--) {
        base = plus(l, base, times(l, a->plan->loop[i].value, each));
        each *= a->plan->loop[i].radix;
    }
    return base ? base : ix(l, 0);
}

static struct group group_of(struct lowering *l, struct plan *p) {
    struct group g = {.plan = p, .count = p->vector};
    int32_t e;

    for (e = 0; e < p->vector; e++) g.env[e] = plan_env(l, p, e);
    return g;
}

static void load_ahead(struct lowering *l, struct plan *p, void *data) {
    struct ahead *a = data;
    struct group g = group_of(l, p);
    struct kblock *saved = NULL;
    struct vector v;
    int i;

    if (p->inside) saved = add_if(l, p->inside);
    for (i = 0; i < a->count; i++) {
        v = vector_of(l, &g, a->load[i]->buffer, a->load[i]->args);
        vector_load(l, &v, a->array[i], ahead_base(l, a, i));
    }
    if (p->inside) out_leave(l, saved);
}

static void run_behind(struct lowering *l, struct plan *p, void *data) {
    struct ahead *a = data;
    struct group g = group_of(l, p);
    int known = l->loaded.count, i;
    struct vector v;

    for (i = 0; i < a->count; i++) {
        v = vector_of(l, &g, a->load[i]->buffer, a->load[i]->args);
        vector_loaded(l, &v, a->load[i], a->array[i], ahead_base(l, a, i));
    }
    run_body(l, p, a->body);
    l->loaded.count = known;
}

static void run_ahead(struct lowering *l, struct plan *p, void *data) {
    struct ahead *a = data;
    struct group g;
    struct vector v;
    int32_t times_run = 1;
    int i;

    for (i = a->from; i < p->loops; i++) {
        p->loop[i].value = expr_var(l->x, loop_var(l, p->loop[i].radix));
        times_run *= p->loop[i].radix;
    }
    g = group_of(l, p);
    for (i = 0; i < a->count; i++) {
        v = vector_of(l, &g, a->load[i]->buffer, a->load[i]->args);
        v.registers *= times_run;
        a->array[i] = vector_array(l, &v);
    }
    nest_run(l, &(struct nest){p, a->from, p->loops, load_ahead, a});
    nest_run(l, &(struct nest){p, a->from, p->loops, run_behind, a});
}

/* Finds the reads to run ahead and how far; false if there is nothing to gain. */
static bool ahead_make(struct lowering *l, struct plan *p, struct map_body *body, struct ahead *a) {
    struct stmt *t;
    struct group g;
    int32_t registers = 0;
    int i;

    *a = (struct ahead){.plan = p, .body = body};
    for (t = body->block->first; t; t = t->next) find_loads(l, a, t);
    for (i = 0; i < p->loops; i++) {
        if (p->loop[i].expanded) return false;
        p->loop[i].value = expr_var(l->x, loop_var(l, p->loop[i].radix));
    }
    g = group_of(l, p);
    for (i = 0; i < a->count; i++) {
        a->registers[i] = vector_of(l, &g, a->load[i]->buffer, a->load[i]->args).registers;
        registers += a->registers[i];
    }
    return a->count > 0 && choose_ahead(a, registers) > 1;
}

/* -- MAP
 * -----------------------------------------------------------------------------------------------
 */
static void run_nest(struct lowering *l, struct plan plan, struct map_body *body, bool stores) {
    struct ahead a;

    if (body->simple && stores && ahead_make(l, &plan, body, &a))
        nest_run(l, &(struct nest){&plan, 0, a.from, run_ahead, &a});
    else
        nest_run(l, &(struct nest){&plan, 0, plan.loops, run_body, body});
}

static void run_paths(struct lowering *l, const struct plan *plan, struct map_body *body,
                      bool stores) {
    int facts = l->facts.count;
    bool possible;
    struct expr *test = bounds_uniform(l, plan->domain, body->block, &possible);
    struct kblock *saved;

    if (!possible || (test && l->main_loop)) {
        l->facts.count = facts;
        run_nest(l, *plan, body, stores);
        return;
    }
    if (!test) {
        run_nest(l, *plan, body, stores);
        l->facts.count = facts;
        return;
    }
    saved = add_if(l, test);
    run_nest(l, *plan, body, stores);
    l->facts.count = facts;
    add_else(l, saved);
    run_nest(l, *plan, body, stores);
    out_leave(l, saved);
}

/* -- divisions in registers
 * --------------------------------------------------------------------- */
/* Loops that a divisor depends on stand outside: its reciprocal serves those within, of which the
 * number is returned. */
static int divisors_outside(struct plan *p, unsigned axes) {
    struct plan_loop within[LOOPS];
    int outside = 0, count = 0, i;

    for (i = 0; i < p->loops; i++)
        if (axes & 1u << p->loop[i].axis)
            p->loop[outside++] = p->loop[i];
        else
            within[count++] = p->loop[i];
    for (i = 0; i < count; i++) p->loop[outside + i] = within[i];
    return count;
}

/* The elements of several turns stand side by side, so that their quotients share a test. */
static void gather_quotients(struct plan *p, unsigned divisor_axes) {
    int within = divisors_outside(p, divisor_axes), at;
    int32_t wanted = QUOTIENTS / p->vector, turns;

    for (at = p->loops - 1; at >= 0 && wanted > 1; at--) {
        if (within > 0 && at < p->loops - within) return;
        turns = largest_divisor(p->loop[at].radix, wanted);
        if (turns == 1) return;
        if (turns < p->loop[at].radix) {
            if (p->loops == LOOPS) return;
            split_loop(p, at++, turns);
            p->loop[at].expanded = true;
            return;
        }
        p->loop[at].expanded = true;
        wanted /= turns;
    }
}

static int32_t vector_limit(const struct survey *v) {
    int32_t limit = v->bytes < 16 ? 16 / v->bytes : 1;

    if (!v->simple) return 1;
    if (v->divides && limit < QUOTIENTS) limit = QUOTIENTS;
    return limit > v->parts ? limit : v->parts;
}

void lower_map(struct lowering *l, const struct domain *d, struct block *block) {
    struct survey v = {.l = l, .simple = true, .bytes = 16, .parts = 1, .domain = d};
    struct map_body body = {block, false};
    struct kblock *saved = NULL;
    struct plan plan;

    if (block->first && !block->first->next && block->first->kind == STMT_STORE &&
        (store_quads(l, d, block->first) || store_matrix(l, d, block->first)))
        return;
    block_walk(block, survey_statement, &v);
    body.simple = v.simple;
    plan_make(l, &plan, d, vector_limit(&v));
    if (v.simple && v.divides && v.bytes == 16) gather_quotients(&plan, v.divisor_axes);
    plan_expand(l, &plan, block);
    if (plan.owner && v.stores_memory && !v.writes_registers) {
        saved = add_if(l, plan.owner);
        plan.owner = NULL;
    }
    run_paths(l, &plan, &body, v.stores_memory);
    if (saved) out_leave(l, saved);
}
