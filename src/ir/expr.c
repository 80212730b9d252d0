/* expr.c: the hash-consing table and the constructors of expressions. */
#include "ir/expr.h"
#include "base/vec.h"
#include "ir/internal.h"
#include "ir/tile.h"
#include <string.h>

struct result { /* of an operation on one or two arguments */
    struct expr *args[2], *e;
    enum function fn;
    enum dtype dtype;
};

enum { RECENT_INDICES = 256, RESULTS = 1024 };

struct exprs {
    struct arena *arena;
    struct expr **slot; /* open addressing, room is a power of two */
    uint32_t room, used;
    struct result results[RESULTS];      /* what came last at its place: a cache */
    struct expr *recent[RECENT_INDICES]; /* constants of type INDEX, likewise */
    VEC(struct var *) vars;              /* by id */
    struct expr **memo;                  /* of rewriting: result by expression id, … */
    uint32_t *memo_run;                  /* … valid if this is the current run */
    uint32_t memo_room, run;
};

struct arena *exprs_arena(const struct exprs *x) { return x->arena; }
int exprs_vars(const struct exprs *x) { return x->vars.count; }
struct var *exprs_var(const struct exprs *x, int id) {
    return x->vars.at[id];
}

struct exprs *exprs_new(struct arena *a) {
    struct exprs *x = arena_make(a, struct exprs);
    x->arena = a;
    x->room = 256;
    x->slot = arena_array(a, struct expr *, x->room);
    return x;
}

struct exprs *exprs_fork(const struct exprs *x) {
    struct exprs *n = arena_make(x->arena, struct exprs);
    *n = *x;
    n->slot = arena_array(x->arena, struct expr *, x->room);
    memcpy(n->slot, x->slot, sizeof *n->slot * x->room);
    n->vars.at = arena_array(x->arena, struct var *, x->vars.room + 1);
    if (x->vars.count) memcpy(n->vars.at, x->vars.at, sizeof *n->vars.at * (size_t)x->vars.count);
    n->memo = NULL;
    n->memo_run = NULL;
    n->memo_room = 0;
    return n;
}

struct var *var_new(struct exprs *x, enum var_kind kind, struct sym *name, enum dtype dtype,
                    struct span span) {
    struct var *v = arena_make(x->arena, struct var);
    struct interval whole = interval_type(dtype);
    *v = (struct var){.name = name,
                      .kind = kind,
                      .dtype = dtype,
                      .id = x->vars.count,
                      .lo = whole.lo,
                      .hi = whole.hi,
                      .divisor = 1,
                      .span = span};
    vec_push(x->arena, &x->vars, v);
    return v;
}

struct var *var_like(struct exprs *x, const struct var *v) {
    struct var *w = var_new(x, v->kind, v->name, v->dtype, v->span);
    w->lo = v->lo;
    w->hi = v->hi;
    w->divisor = v->divisor;
    w->unrolled = v->unrolled;
    return w;
}

/* -- the table
 * ------------------------------------------------------------------------------------- */
static uint64_t payload_bits(const struct expr *e) {
    switch (e->kind) {
    case EXPR_FLOAT: return scalar_bits((union scalar){.f = e->number}, DTYPE_F64);
    case EXPR_INT: return (uint64_t)e->integer;
    case EXPR_VAR: return (uint64_t)e->var->id;
    case EXPR_LOAD: return (uint64_t)(uintptr_t)e->buffer;
    case EXPR_ELEMENT: return (uint64_t)(uintptr_t)e->array;
    default: return 0;
    }
}

static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

static uint32_t hash_of(const struct expr *e) {
    uint64_t h = mix((uint64_t)e->kind * 64 + (uint64_t)e->dtype, payload_bits(e));
    h = mix(h, (uint64_t)e->fn * 8 + (uint64_t)e->count);
    for (int i = 0; i < e->count; i++) h = mix(h, (uint64_t)e->args[i]->id);
    return (uint32_t)h;
}

static bool same_args(const struct expr *e, int count, struct expr *const *args) {
    if (e->count != count) return false;
    for (int i = 0; i < count; i++)
        if (e->args[i] != args[i]) return false;
    return true;
}

static bool same(const struct expr *a, const struct expr *b) {
    return a->hash == b->hash && a->kind == b->kind && a->dtype == b->dtype && a->fn == b->fn &&
           payload_bits(a) == payload_bits(b) && same_args(a, b->count, b->args);
}

static uint32_t find_slot(const struct exprs *x, const struct expr *shape) {
    uint32_t at = shape->hash & (x->room - 1);
    while (x->slot[at] && !same(x->slot[at], shape)) at = (at + 1) & (x->room - 1);
    return at;
}

static void grow(struct exprs *x) {
    struct expr **old = x->slot;
    uint32_t count = x->room;
    x->room *= 2;
    x->slot = arena_array(x->arena, struct expr *, x->room);
    for (uint32_t i = 0; i < count; i++) {
        if (!old[i]) continue;
        uint32_t at = old[i]->hash & (x->room - 1);
        while (x->slot[at]) at = (at + 1) & (x->room - 1);
        x->slot[at] = old[i];
    }
}

static void summarise(struct expr *e) {
    bool logic = e->kind == EXPR_OP && (e->fn == FN_LAND || e->fn == FN_LOR);
    e->holds = 1u << e->kind;
    if (logic || e->kind == EXPR_SELECT) e->holds |= HOLDS_CHOICE;
    if (e->kind == EXPR_OP && e->fn == FN_DIV) e->holds |= HOLDS_DIVISION;
    if (e->kind == EXPR_VAR) {
        e->uses_kinds = 1u << e->var->kind;
        e->uses_vars = (uint64_t)1 << (e->var->id & 63);
    }
    if (e->kind == EXPR_LOAD) e->uses_buffers = (uint64_t)1 << (e->buffer->id & 63);
    for (int i = 0; i < e->count; i++) {
        e->holds |= e->args[i]->holds;
        e->uses_kinds |= e->args[i]->uses_kinds;
        e->uses_vars |= e->args[i]->uses_vars;
        e->uses_buffers |= e->args[i]->uses_buffers;
    }
}

static struct expr *enter(struct exprs *x, uint32_t at, const struct expr *shape) {
    struct expr *e = arena_make(x->arena, struct expr);
    *e = *shape;
    e->id = (int32_t)x->used++;
    if (e->count) {
        e->args = arena_array(x->arena, struct expr *, e->count);
        memcpy(e->args, shape->args, sizeof *e->args * (size_t)e->count);
    }
    struct interval known = interval_node(e);
    e->lo = known.lo;
    e->hi = known.hi;
    e->divisor = known.divisor;
    summarise(e);
    x->slot[at] = e;
    if (x->used * 2 > x->room) grow(x);
    return e;
}

struct expr *expr_raw(struct exprs *x, struct expr *shape) {
    shape->hash = hash_of(shape);
    uint32_t at = find_slot(x, shape);
    return x->slot[at] ? x->slot[at] : enter(x, at, shape);
}

/* Most are there already, so the shape is made only where it is new. */
struct expr *expr_raw_op(struct exprs *x, enum function fn, enum dtype t, int count,
                         struct expr *const *args) {
    uint64_t h = mix((uint64_t)EXPR_OP * 64 + (uint64_t)t, 0);
    h = mix(h, (uint64_t)fn * 8 + (uint64_t)count);
    for (int i = 0; i < count; i++) h = mix(h, (uint64_t)args[i]->id);
    uint32_t hash = (uint32_t)h, at = hash & (x->room - 1);
    for (struct expr *e; (e = x->slot[at]); at = (at + 1) & (x->room - 1))
        if (e->hash == hash && e->kind == EXPR_OP && e->fn == fn && e->dtype == t &&
            same_args(e, count, args))
            return e;
    struct expr shape = {.kind = EXPR_OP, .dtype = t, .fn = fn, .count = count, .hash = hash};
    shape.args = (struct expr **)(uintptr_t)args;
    return enter(x, at, &shape);
}

/* -- leaves
 * ---------------------------------------------------------------------------------------- */
struct expr *expr_int(struct exprs *x, int64_t value, enum dtype dtype) {
    struct expr shape = {.kind = EXPR_INT, .dtype = dtype};
    shape.integer = integer_wrap(value, dtype);
    return expr_raw(x, &shape);
}

struct expr *expr_index(struct exprs *x, int64_t value) {
    struct expr **known = &x->recent[(uint64_t)value % RECENT_INDICES];
    if (!*known || (*known)->integer != value) *known = expr_int(x, value, DTYPE_INDEX);
    return *known;
}
struct expr *expr_bool(struct exprs *x, bool value) {
    return expr_int(x, value, DTYPE_BOOL);
}

struct expr *expr_float(struct exprs *x, double value, enum dtype dtype) {
    struct expr shape = {.kind = EXPR_FLOAT, .dtype = dtype};
    shape.number = value != value ? __builtin_nan("") : scalar_round(value, dtype);
    return expr_raw(x, &shape);
}

static struct expr *expr_constant(struct exprs *x, union scalar v, enum dtype t) {
    return dtype_is_float(t) ? expr_float(x, v.f, t) : expr_int(x, v.i, t);
}

static bool constant(const struct expr *e, union scalar *v) {
    if (e->kind == EXPR_INT)
        v->i = e->integer;
    else if (e->kind == EXPR_FLOAT)
        v->f = e->number;
    return e->kind == EXPR_INT || e->kind == EXPR_FLOAT;
}

/* The value of an integer that its range pins down. */
static struct expr *pinned(struct exprs *x, struct expr *e) {
    bool known = e->lo == e->hi && dtype_is_integer(e->dtype);
    return known ? expr_int(x, e->lo, e->dtype) : e;
}

struct expr *expr_var(struct exprs *x, struct var *v) {
    struct expr shape = {.kind = EXPR_VAR, .dtype = v->dtype};
    shape.var = v;
    return expr_raw(x, &shape);
}

/* -- operations
 * ------------------------------------------------------------------------------------ */
static bool foldable(enum function fn) {
    return fn != FN_SHUFFLE && fn != FN_SHUFFLE_XOR && fn != FN_ANY;
}

static struct expr *fold(struct exprs *x, enum function fn, enum dtype result, int count,
                         struct expr *const *args) {
    union scalar value[4] = {{0}};
    if (!foldable(fn)) return NULL;
    for (int i = 0; i < count; i++)
        if (!constant(args[i], &value[i])) return NULL;
    enum function_types types = function_row(fn)->types;
    enum dtype type = types == TYPES_COMPARE || types == TYPES_TEST ? args[0]->dtype : result;
    return expr_constant(x, scalar_op(fn, type, value), result);
}

static struct expr *make_op(struct exprs *x, enum function fn, enum dtype result, int count,
                            struct expr *const *args) {
    struct expr *e = fold(x, fn, result, count, args);
    if (!e) e = simplify_op(x, fn, result, args);
    if (!e) e = pinned(x, expr_raw_op(x, fn, result, count, args));
    return e;
}

/* The result depends on nothing but the arguments, and the same sums are asked for again and again.
 */
struct expr *expr_op(struct exprs *x, enum function fn, enum dtype result, int count,
                     struct expr *const *args) {
    if (count < 1 || count > 2) return make_op(x, fn, result, count, args);
    struct expr *second = count == 2 ? args[1] : NULL;
    uint64_t hash = mix((uint64_t)args[0]->id << 32 | (uint32_t)(second ? second->id : -1),
                        (uint64_t)fn * 64 + (uint64_t)result);
    struct result *known = &x->results[hash % RESULTS];
    if (known->e && known->fn == fn && known->dtype == result && known->args[0] == args[0] &&
        known->args[1] == second)
        return known->e;
    struct expr *e = make_op(x, fn, result, count, args);
    *known = (struct result){{args[0], second}, e, fn, result};
    return e;
}

static enum dtype row_result(enum function fn, const struct expr *a) {
    enum function_types types = function_row(fn)->types;
    bool condition = types == TYPES_COMPARE || types == TYPES_LOGIC || types == TYPES_TEST;
    return condition ? DTYPE_BOOL : a->dtype;
}

struct expr *expr_unary(struct exprs *x, enum function fn, struct expr *a) {
    return expr_op(x, fn, row_result(fn, a), 1, &a);
}

struct expr *expr_binary(struct exprs *x, enum function fn, struct expr *a, struct expr *b) {
    struct expr *args[2] = {a, b};
    return expr_op(x, fn, row_result(fn, a), 2, args);
}

/* -- conversions, choice, memory
 * ------------------------------------------------------------------- */
/* Every value of integer expression e is the same value in type t. */
static bool keeps_values(const struct expr *e, enum dtype t) {
    if (!dtype_is_integer(e->dtype) || !dtype_is_integer(t)) return false;
    if (e->dtype == DTYPE_U64 && e->lo < 0) return t == DTYPE_U64;
    struct interval whole = interval_type(t);
    if (dtype_bits(t) >= 64) return t != DTYPE_U64 || e->lo >= 0;
    return e->lo >= whole.lo && e->hi <= whole.hi;
}

/* Every value of float type `from` is a value of `to`. */
static bool widens(enum dtype from, enum dtype to) {
    if (!dtype_is_float(from) || !dtype_is_float(to)) return false;
    if (to == DTYPE_F64) return true;
    if (to == DTYPE_F32) return from != DTYPE_F64;
    return to == DTYPE_F16 && (from == DTYPE_E4M3 || from == DTYPE_E5M2);
}

struct expr *expr_cast(struct exprs *x, struct expr *a, enum dtype to) {
    if (a->dtype == to) return a;
    union scalar v;
    if (constant(a, &v)) return expr_constant(x, scalar_cast(v, a->dtype, to), to);
    if (a->kind == EXPR_CAST) {
        struct expr *inner = a->args[0];
        if (keeps_values(inner, a->dtype) && dtype_is_integer(to)) return expr_cast(x, inner, to);
        if (widens(inner->dtype, a->dtype) && inner->dtype == to) return inner;
    }
    struct expr shape = {.kind = EXPR_CAST, .dtype = to, .count = 1, .args = &a};
    return pinned(x, expr_raw(x, &shape));
}

struct expr *expr_select(struct exprs *x, struct expr *c, struct expr *a, struct expr *b) {
    int64_t known;
    if (expr_is_int(c, &known)) return known ? a : b;
    if (a == b) return a;
    if (c->kind == EXPR_OP && c->fn == FN_LNOT) return expr_select(x, c->args[0], b, a);
    if (a->dtype == DTYPE_BOOL && a->kind == EXPR_INT && b->kind == EXPR_INT)
        return a->integer ? c : expr_unary(x, FN_LNOT, c);
    struct expr *args[3] = {c, a, b};
    struct expr shape = {.kind = EXPR_SELECT, .dtype = a->dtype, .count = 3, .args = args};
    return expr_raw(x, &shape);
}

struct expr *expr_load(struct exprs *x, struct buffer *b, int count, struct expr *const *index) {
    struct expr *copy[TILE_RANK];
    memcpy(copy, index, sizeof *copy * (size_t)count);
    struct expr shape = {.kind = EXPR_LOAD, .dtype = b->dtype, .count = count, .args = copy};
    shape.buffer = b;
    return expr_raw(x, &shape);
}

struct expr *expr_element(struct exprs *x, struct array *a, struct expr *index, enum dtype dtype) {
    struct expr shape = {.kind = EXPR_ELEMENT, .dtype = dtype, .count = 1, .args = &index};
    shape.array = a;
    return expr_raw(x, &shape);
}

/* -- questions
 * ------------------------------------------------------------------------------------- */
bool expr_is_int(const struct expr *e, int64_t *value) {
    if (e->kind != EXPR_INT) return false;
    *value = e->integer;
    return true;
}

bool expr_has_load(const struct expr *e) { return e->uses_buffers != 0; }
bool expr_uses_kind(const struct expr *e, enum var_kind k) { return e->uses_kinds >> k & 1; }

bool expr_uses_var(const struct expr *e, const struct var *v) {
    if (!(e->uses_vars >> (v->id & 63) & 1)) return false;
    if (e->kind == EXPR_VAR && e->var == v) return true;
    for (int i = 0; i < e->count; i++)
        if (expr_uses_var(e->args[i], v)) return true;
    return false;
}

bool expr_uses_buffer(const struct expr *e, const struct buffer *b) {
    if (!(e->uses_buffers >> (b->id & 63) & 1)) return false;
    if (e->kind == EXPR_LOAD && e->buffer == b) return true;
    for (int i = 0; i < e->count; i++)
        if (expr_uses_buffer(e->args[i], b)) return true;
    return false;
}

/* -- rewriting
 * ------------------------------------------------------------------------------------- */
struct rewriting {
    struct exprs *x;
    struct expr *(*visit)(struct expr *e, void *data);
    void *data;
    uint32_t run;
    unsigned holds;
};

static struct expr *rebuilt(struct exprs *x, struct expr *e, struct expr **args) {
    switch (e->kind) {
    case EXPR_OP: return expr_op(x, e->fn, e->dtype, e->count, args);
    case EXPR_CAST: return expr_cast(x, args[0], e->dtype);
    case EXPR_SELECT: return expr_select(x, args[0], args[1], args[2]);
    case EXPR_LOAD: return expr_load(x, e->buffer, e->count, args);
    case EXPR_ELEMENT: return expr_element(x, e->array, args[0], e->dtype);
    default: return e;
    }
}

/* The memo survives visits that rewrite, too: an entry of another run just counts as absent. */
static void remember(struct exprs *x, const struct expr *e, struct expr *result, uint32_t run) {
    if ((uint32_t)e->id >= x->memo_room) {
        uint32_t room = x->used * 2 + 64;
        struct expr **memo = arena_array(x->arena, struct expr *, room);
        uint32_t *runs = arena_array(x->arena, uint32_t, room);
        if (x->memo_room) {
            memcpy(memo, x->memo, sizeof *memo * x->memo_room);
            memcpy(runs, x->memo_run, sizeof *runs * x->memo_room);
        }
        x->memo = memo;
        x->memo_run = runs;
        x->memo_room = room;
    }
    x->memo[e->id] = result;
    x->memo_run[e->id] = run;
}

static struct expr *rewrite(const struct rewriting *r, struct expr *e) {
    struct exprs *x = r->x;
    if (!(e->holds & r->holds)) return e;
    if ((uint32_t)e->id < x->memo_room && x->memo_run[e->id] == r->run) return x->memo[e->id];
    struct expr *args[TILE_RANK], *kept = e;
    bool changed = false;
    for (int i = 0; i < e->count; i++) {
        args[i] = rewrite(r, e->args[i]);
        changed |= args[i] != e->args[i];
    }
    if (changed) kept = rebuilt(x, e, args);
    struct expr *replacement = r->visit(kept, r->data);
    if (replacement) kept = replacement;
    remember(x, e, kept, r->run);
    return kept;
}

struct expr *expr_rewrite(struct exprs *x, struct expr *e,
                          struct expr *(*visit)(struct expr *e, void *data), void *data) {
    return expr_rewrite_where(x, e, ~0u, visit, data);
}

struct expr *expr_rewrite_where(struct exprs *x, struct expr *e, unsigned holds,
                                struct expr *(*visit)(struct expr *e, void *data), void *data) {
    struct rewriting r = {x, visit, data, ++x->run, holds};
    return rewrite(&r, e);
}

struct substitution {
    struct exprs *x;
    int count;
    struct var *const *from;
    struct expr *const *to;
    uint64_t vars; /* bits of from, as in struct expr */
    uint32_t run;
};

static struct expr *substitute(const struct substitution *s, struct expr *e) {
    struct exprs *x = s->x;
    if (!(e->uses_vars & s->vars)) return e;
    if ((uint32_t)e->id < x->memo_room && x->memo_run[e->id] == s->run) return x->memo[e->id];
    struct expr *result = e, *args[TILE_RANK];
    if (e->kind == EXPR_VAR) {
        for (int i = 0; i < s->count; i++)
            if (s->from[i] == e->var) result = s->to[i];
        return result;
    }
    bool changed = false;
    for (int i = 0; i < e->count; i++) {
        args[i] = substitute(s, e->args[i]);
        changed |= args[i] != e->args[i];
    }
    if (changed) result = rebuilt(x, e, args);
    remember(x, e, result, s->run);
    return result;
}

struct expr *expr_substitute(struct exprs *x, struct expr *e, int count, struct var *const *from,
                             struct expr *const *to) {
    struct substitution s = {x, count, from, to, 0, ++x->run};
    for (int i = 0; i < count; i++) s.vars |= (uint64_t)1 << (from[i]->id & 63);
    return substitute(&s, e);
}
