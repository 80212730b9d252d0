/* loops.c: iterators, loops, branches and assertions of a kernel. */
#include "sema/builder.h"

static bool is_left_out(struct value v) { return v.kind == VALUE_ABSENT || v.kind == VALUE_NONE; }

/* Bounds are evaluated once, where the iterator is made. */
static void fix_bounds(struct sema *s, struct loop_form *form) {
    struct sym *name = intern_text(s->names, "bound");
    for (int i = 0; i < form->rank; i++) {
        struct value lo = form_let(s, name, value_ir(form->lo[i]), DTYPE_NONE, form->span);
        struct value hi = form_let(s, name, value_ir(form->hi[i]), DTYPE_NONE, form->span);
        if (lo.kind == VALUE_IR) form->lo[i] = lo.expr;
        if (hi.kind == VALUE_IR) form->hi[i] = hi.expr;
    }
}

static struct value iterator_new(struct sema *s, struct loop_form form, int rank) {
    struct iterator *it = arena_make(s->arena, struct iterator);
    it->rank = rank;
    it->form = arena_make(s->arena, struct loop_form);
    *it->form = form;
    it->form->rank = rank;
    if (s->block && s->kernel) fix_bounds(s, it->form);
    return (struct value){.kind = VALUE_ITERATOR, .iterator = it};
}

/* -- Iterators -----------------------------------------------------------------------------------
 */
/* (stop) or (start, stop) into form; false after a report. */
static bool set_bounds(struct sema *s, struct loop_form *form, struct value start,
                       struct value stop, struct span span) {
    if (value_is_bad(start) || value_is_bad(stop)) return false;
    bool single = is_left_out(stop);
    form->lo[0] = single ? expr_index(s->exprs, 0) : value_index(s, start, span);
    form->hi[0] = value_index(s, single ? start : stop, span);
    return form->lo[0] && form->hi[0];
}

static bool set_step(struct sema *s, struct loop_form *form, struct value step, struct span span) {
    form->step = 1;
    if (is_left_out(step)) return true;
    if (value_is_bad(step)) return false;
    if (step.kind != VALUE_INT || step.integer == 0) {
        sema_error(s, span, E0410, "the step of a loop is a compile-time int other than 0, not %s",
                   step.kind == VALUE_INT ? "0" : value_kind_name(step));
        return false;
    }
    form->step = step.integer;
    return true;
}

struct value iterator_of_range(struct sema *s, int count, const struct value *bounds,
                               struct span span) {
    struct loop_form form = {
        .kind = LOOP_FORM_FOR, .loop = LOOP_SERIAL, .stages = -1, .span = span};
    struct value absent = {.kind = VALUE_ABSENT};
    if (count < 1 || count > 3)
        return sema_bad(s, span, E0404, "range takes 1 to 3 arguments, got %d", count);
    if (!set_bounds(s, &form, bounds[0], count > 1 ? bounds[1] : absent, span) ||
        !set_step(s, &form, count > 2 ? bounds[2] : absent, span))
        return value_bad();
    struct value v = iterator_new(s, form, 1);
    struct iterator *it = v.iterator;
    it->host = expr_is_int(form.lo[0], &it->lo) && expr_is_int(form.hi[0], &it->hi);
    it->step = form.step;
    return v;
}

static struct value simple_loop(struct sema *s, const struct call *c, enum loop_kind kind,
                                int step) {
    struct loop_form form = {.kind = LOOP_FORM_FOR, .loop = kind, .stages = -1, .span = c->span};
    struct value absent = {.kind = VALUE_ABSENT};
    if (!set_bounds(s, &form, c->arg[0], c->arg[1], c->span) ||
        !set_step(s, &form, step < 0 ? absent : c->arg[step], c->span))
        return value_bad();
    return iterator_new(s, form, 1);
}

struct value build_serial(struct sema *s, const struct call *c) {
    return simple_loop(s, c, LOOP_SERIAL, 2);
}

struct value build_unroll(struct sema *s, const struct call *c) {
    bool good = true;
    int at = call_find(c, "unroll_factor");
    int64_t factor = call_int(s, c, at, 0, &good);
    if (good && call_given(c, at) && (factor < 1 || factor > 1024))
        return sema_bad(s, c->arg_span[at], E0404, "'unroll_factor' is 1 to 1024, not %lld",
                        (long long)factor);
    struct value v = good ? simple_loop(s, c, LOOP_UNROLL, 2) : value_bad();
    if (v.kind == VALUE_ITERATOR) v.iterator->form->factor = (int32_t)factor;
    return v;
}

struct value build_vectorized(struct sema *s, const struct call *c) {
    struct value v = simple_loop(s, c, LOOP_VECTOR, -1);
    int64_t n;
    if (v.kind != VALUE_ITERATOR) return v;
    struct loop_form *form = v.iterator->form;
    if (!expr_is_int(expr_binary(s->exprs, FN_SUB, form->hi[0], form->lo[0]), &n))
        return sema_bad(s, c->span, E0410,
                        "'T.vectorized' needs a constant extent; T.serial takes any");
    return v;
}

static bool refuse_given(struct sema *s, const struct call *c, const char *name) {
    int at = call_find(c, name);
    if (!call_given(c, at)) return true;
    sema_error(s, c->arg_span[at], E0401, "'%s' of T.%s is not supported yet; leave it out", name,
               c->row->name);
    return false;
}

struct value build_pipelined(struct sema *s, const struct call *c) {
    static const char *const manual[] = {"order", "stage", "sync", "group"};
    bool good = true;
    int at = call_find(c, "num_stages");
    int64_t stages = call_int(s, c, at, -1, &good);
    for (size_t i = 0; i < sizeof manual / sizeof *manual; i++)
        good &= refuse_given(s, c, manual[i]);
    if (good && call_given(c, at) && (stages < 0 || stages > 8))
        return sema_bad(s, c->arg_span[at], E0404,
                        "'num_stages' of T.Pipelined is %lld; 0 to 8 are possible",
                        (long long)stages);
    struct value v = good ? simple_loop(s, c, LOOP_PIPELINED, -1) : value_bad();
    if (v.kind == VALUE_ITERATOR) v.iterator->form->stages = (int32_t)stages;
    return v;
}

static struct value many_loops(struct sema *s, const struct call *c, int kind) {
    struct loop_form form = {.loop = LOOP_SERIAL, .stages = -1, .step = 1, .span = c->span};
    int rank = c->rest.list.count;
    form.kind = kind;
    if (rank < 1 || rank > 5)
        return sema_bad(s, c->span, E0404, "'T.%s' takes 1 to 5 extents, got %d", c->row->name,
                        rank);
    for (int i = 0; i < rank; i++) {
        const struct argument *a = &c->rest.list.at[i];
        form.lo[i] = expr_index(s->exprs, 0);
        form.hi[i] = value_index(s, a->value, a->span);
        if (!form.hi[i]) return value_bad();
    }
    return iterator_new(s, form, rank);
}

struct value build_grid(struct sema *s, const struct call *c) {
    return many_loops(s, c, LOOP_FORM_GRID);
}

struct value build_parallel(struct sema *s, const struct call *c) {
    if (!refuse_given(s, c, "loop_layout")) return value_bad();
    return many_loops(s, c, LOOP_FORM_PARALLEL);
}

/* -- Loops ---------------------------------------------------------------------------------------
 */
struct sym *target_name(struct sema *s, const struct ast_expr *target, int i) {
    bool list = target->kind == AST_TUPLE || target->kind == AST_LIST;
    const struct ast_expr *item = list ? target->items : target;
    for (int k = 0; list && item && k < i; k++) item = item->next;
    if (item && item->kind == AST_NAME) return item->name;
    return intern_text(s->names, "i");
}

/* Several names for the one variable of a loop of one axis? More axes are counted where the tuple
 * is taken apart. */
static bool names_fit(struct sema *s, const struct ast_expr *target, const struct loop_form *form) {
    bool list = target->kind == AST_TUPLE || target->kind == AST_LIST;
    int count = 0;
    for (const struct ast_expr *item = list ? target->items : NULL; item; item = item->next)
        count++;
    if (form->rank > 1 || !list) return true;
    sema_error(s, target->span, E0208, "this loop gives one variable, not a tuple of %d", count);
    return false;
}

static int64_t gcd(int64_t a, int64_t b) {
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* The loop statement for form's axis i, appended to `into`. A negative step counts upwards, and the
 * value of the loop variable is computed from the count. */
static struct stmt *loop_open(struct sema *s, const struct loop_form *form, int i,
                              struct block *into, struct expr **value) {
    struct exprs *x = s->exprs;
    struct stmt *st = stmt_new(s->module, STMT_FOR, form->span);
    struct var *v = var_new(x, VAR_LOOP, form->name[i], DTYPE_INDEX, form->span);
    struct expr *lo = form->lo[i], *hi = form->hi[i];
    int64_t step = form->step ? form->step : 1;
    if (step < 0 && step != INT64_MIN) {
        struct expr *down = expr_binary(x, FN_SUB, lo, hi);
        down = expr_binary(x, FN_ADD, down, expr_index(x, -step - 1));
        hi = expr_binary(x, FN_FLOORDIV, down, expr_index(x, -step));
        lo = expr_index(x, 0);
    }
    st->loop.kind = s->tile->parallel && form->loop == LOOP_PIPELINED ? LOOP_SERIAL : form->loop;
    st->loop.var = v;
    st->loop.lo = lo;
    st->loop.hi = hi;
    st->loop.step = step < 0 ? 1 : step;
    st->loop.stages = form->stages;
    st->loop.factor = form->factor;
    int64_t n;
    bool constant = expr_is_int(expr_binary(x, FN_SUB, hi, lo), &n);
    if (form->loop == LOOP_UNROLL && !form->factor && !constant) st->loop.kind = LOOP_SERIAL;
    v->unrolled = st->loop.kind == LOOP_UNROLL && !form->factor;
    v->lo = lo->lo;
    if (hi->hi != INT64_MAX) v->hi = hi->hi > INT64_MIN ? hi->hi - 1 : hi->hi;
    if (v->hi < v->lo) v->hi = v->lo; /* an empty loop: the range must not be */
    v->divisor =
        st->loop.step == 1 ? 1 : gcd(st->loop.step, lo->divisor ? lo->divisor : st->loop.step);
    block_append(into, st);
    *value = expr_var(x, v);
    if (step < 0)
        *value = expr_binary(x, FN_SUB, form->lo[i],
                             expr_binary(x, FN_MUL, *value, expr_index(x, -step)));
    return st;
}

struct stmt *serial_loop(struct sema *s, struct block *into, const char *name, int64_t extent,
                         struct span span) {
    struct loop_form form = {.loop = LOOP_SERIAL, .stages = -1, .step = 1, .span = span};
    struct expr *value;
    form.lo[0] = expr_index(s->exprs, 0);
    form.hi[0] = expr_index(s->exprs, extent);
    form.name[0] = intern_text(s->names, name);
    return loop_open(s, &form, 0, into, &value);
}

struct value bind_loops(struct sema *s, const struct loop_form *form, struct block **into,
                        struct stmt **statements) {
    struct value item[TILE_RANK];
    for (int i = 0; i < form->rank; i++) {
        struct expr *value;
        struct stmt *st = loop_open(s, form, i, *into, &value);
        item[i] = value_ir(value);
        *into = &st->loop.body;
        statements[i] = st;
    }
    return form->rank == 1 ? item[0] : value_sequence(s, VALUE_TUPLE, form->rank, item);
}

static bool loop_is_divergent(struct sema *s, const struct loop_form *form) {
    bool differs = false;
    for (int i = 0; i < form->rank; i++)
        differs |= is_divergent(s, form->lo[i]) || is_divergent(s, form->hi[i]);
    return differs;
}

/* What a loop changes while its body is built. */
struct surroundings {
    struct stmt *loop;
    int32_t rank, divergent;
};

static struct surroundings loop_enter(struct tile_state *t, struct stmt *loop, int32_t rank,
                                      bool divergent) {
    struct surroundings around = {t->loop, t->loop_rank, t->divergent};
    t->loop = loop;
    t->loop_rank = rank;
    t->divergent += divergent;
    t->loops++;
    t->branches++;
    return around;
}

static void loop_leave(struct tile_state *t, struct surroundings around) {
    t->branches--;
    t->loops--;
    t->loop_rank = around.rank;
    t->loop = around.loop;
    t->divergent = around.divergent;
}

void form_for(struct sema *s, struct env *e, const struct ast_stmt *loop, struct value it) {
    if (value_is_bad(it)) return;
    if (!s->kernel || !s->block) {
        sema_error(s, loop->span, E0406,
                   "this loop stands outside a kernel; write it in a 'with T.Kernel(…)'");
        return;
    }
    if (!it.iterator->form) { /* a range of compile-time ints */
        struct value bounds[3] = {value_int(it.iterator->lo), value_int(it.iterator->hi),
                                  value_int(it.iterator->step)};
        it = iterator_of_range(s, 3, bounds, loop->span);
        if (value_is_bad(it)) return;
    }
    struct loop_form *form = arena_make(s->arena, struct loop_form);
    *form = *it.iterator->form;
    form->span = loop->span;
    for (int i = 0; i < form->rank; i++) form->name[i] = target_name(s, loop->loop.target, i);
    if (!names_fit(s, loop->loop.target, form)) return;
    if (form->kind == LOOP_FORM_PARALLEL) {
        parallel_for(s, e, loop, form);
        return;
    }
    struct block *into = s->block;
    struct stmt *made[TILE_RANK];
    struct value target = bind_loops(s, form, &into, made);
    struct surroundings around =
        loop_enter(s->tile, made[form->rank - 1], form->rank, loop_is_divergent(s, form));
    struct env *inner = region_open(s, ENV_LOOP, e, into, loop->span);
    assign_target(s, inner, loop->loop.target, target);
    exec_block(s, inner, loop->loop.body);
    region_close(s, inner);
    loop_leave(s->tile, around);
}

void form_while(struct sema *s, struct env *e, const struct ast_stmt *loop, struct part *test) {
    if (value_is_bad(test->value)) return;
    if (!s->kernel || !s->block) {
        sema_error(s, loop->span, E0406, "this loop stands outside a kernel");
        return;
    }
    struct expr *condition = value_condition(s, test->value, loop->repeat.test->span);
    int64_t n;
    if (!condition) return;
    if (expr_is_int(condition, &n)) {
        part_join(s, test);
        if (n)
            sema_error(
                s, loop->repeat.test->span, E0408,
                "the condition of this while loop is always true; use a variable that changes");
        return;
    }
    struct block *body;
    if (test->code.first) {
        body = part_rounds(s, test, condition);
    } else {
        struct stmt *st = append(s, STMT_WHILE, loop->span);
        st->repeat.test = condition;
        body = &st->repeat.body;
    }
    struct surroundings around = loop_enter(s->tile, NULL, 1, is_divergent(s, condition));
    struct env *inner = region_open(s, ENV_LOOP, e, body, loop->span);
    exec_block(s, inner, loop->repeat.body);
    region_close(s, inner);
    loop_leave(s->tile, around);
}

/* -- Branches ------------------------------------------------------------------------------------
 */
static void branch_body(struct sema *s, struct env *e, struct block *into,
                        const struct ast_stmt *body, struct span span) {
    struct env *inner = region_open(s, ENV_BRANCH, e, into, span);
    exec_block(s, inner, body);
    region_close(s, inner);
}

void form_if(struct sema *s, struct env *e, const struct ast_stmt *branch, struct value test) {
    if (value_is_bad(test)) return;
    if (!s->kernel || !s->block) {
        sema_error(s, branch->span, E0406,
                   "a condition on run-time values stands outside a kernel");
        return;
    }
    struct expr *condition = value_condition(s, test, branch->branch.test->span);
    int64_t known;
    if (!condition) return;
    if (expr_is_int(condition, &known)) {
        const struct ast_stmt *taken = known ? branch->branch.then : branch->branch.otherwise;
        if (taken) branch_body(s, e, s->block, taken, branch->span);
        return;
    }
    bool differs = is_divergent(s, condition);
    struct stmt *st = append(s, STMT_IF, branch->span);
    st->branch.test = condition;
    s->tile->divergent += differs;
    s->tile->branches++;
    branch_body(s, e, &st->branch.then, branch->branch.then, branch->span);
    if (branch->branch.otherwise)
        branch_body(s, e, &st->branch.otherwise, branch->branch.otherwise, branch->span);
    s->tile->branches--;
    s->tile->divergent -= differs;
}

/* After a break that only some threads take, the rest of the loop is not for all. */
static void leave(struct sema *s, enum stmt_kind kind, const char *what, struct span span) {
    if (!s->block || !s->kernel || s->tile->loops == 0) {
        sema_error(s, span, E0407, "'%s' stands in no serial or while loop of the kernel%s", what,
                   s->tile && s->tile->parallel ? "; T.Parallel has no order to leave" : "");
        return;
    }
    if (kind == STMT_BREAK && s->tile->loop_rank > 1) {
        sema_error(s, span, E0407, "'%s' would leave one of the %d loops of T.grid; nest T.serial",
                   what, s->tile->loop_rank);
        return;
    }
    append(s, kind, span);
    struct stmt *loop = s->tile->loop;
    if (loop) { /* pipelining and unrolling are wishes that a loop with exits does not meet */
        loop->loop.kind = LOOP_SERIAL;
        loop->loop.stages = -1;
        loop->loop.var->unrolled = false;
    }
    if (s->tile->divergent) s->tile->divergent++;
}

void form_break(struct sema *s, bool is_continue, struct span span) {
    leave(s, is_continue ? STMT_CONTINUE : STMT_BREAK, is_continue ? "continue" : "break", span);
}

struct value build_loop_break(struct sema *s, const struct call *c) {
    leave(s, STMT_BREAK, "T.loop_break", c->span);
    return value_none();
}

void form_assert(struct sema *s, struct value test, const char *message, struct span span) {
    if (value_is_bad(test)) return;
    struct expr *condition = value_condition(s, test, span);
    int64_t known;
    if (!condition || (expr_is_int(condition, &known) && known)) return;
    struct stmt *st = append(s, STMT_ASSERT, span);
    st->assertion.test = condition;
    st->assertion.message = message ? message : "assertion failed";
}
