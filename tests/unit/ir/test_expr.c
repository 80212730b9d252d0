/* test_expr.c: simplification, ranges and proofs, as tables and against plain evaluation. */
#include "ir/internal.h"
#include "world.h"

/* -- expressions from text
 * ------------------------------------------------------------------------- */
struct lab {
    struct world w;
    struct exprs *x;
    struct var *vars[16];
    int count;
};

static struct var *find_var(void *data, const char *name) {
    struct lab *l = data;
    for (int i = 0; i < l->count; i++)
        if (!strcmp(l->vars[i]->name->text, name)) return l->vars[i];
    return NULL;
}

static void add_var(struct lab *l, const char *name, enum dtype t, int64_t lo, int64_t hi) {
    struct span nowhere = {0, 0};
    struct var *v = var_new(l->x, VAR_LOOP, intern_text(l->w.names, name), t, nowhere);
    v->lo = lo;
    v->hi = hi;
    l->vars[l->count++] = v;
}

static struct lab lab_new(void) {
    struct lab l = {.w = world_new()};
    l.x = exprs_new(l.w.a);
    add_var(&l, "b", DTYPE_INDEX, 0, 31);
    add_var(&l, "i", DTYPE_INDEX, 0, 127);
    add_var(&l, "j", DTYPE_INDEX, 0, 3);
    add_var(&l, "k", DTYPE_INDEX, 0, INT64_MAX);
    add_var(&l, "m", DTYPE_INDEX, -5, 9);
    add_var(&l, "n", DTYPE_INDEX, 1, INT64_MAX);
    add_var(&l, "v", DTYPE_I32, INT32_MIN, INT32_MAX);
    add_var(&l, "u", DTYPE_U32, 0, UINT32_MAX);
    add_var(&l, "w", DTYPE_U64, INT64_MIN, INT64_MAX);
    add_var(&l, "t", DTYPE_I32, 0, 100);
    add_var(&l, "d", DTYPE_INDEX, 0, 1024);
    l.vars[l.count - 1]->divisor = 16;
    add_var(&l, "p", DTYPE_BOOL, 0, 1);
    add_var(&l, "f", DTYPE_F32, 0, 0);
    return l;
}

static struct expr *raw(struct lab *l, const char *text) {
    struct cursor c = cursor_new(l->w.a, text, strlen(text));
    struct expr_names names = {.exprs = l->x, .data = l, .var = find_var};
    struct expr *e = expr_read(&c, &names);
    if (!e) fail_msg("%s: %s", text, c.error);
    return e;
}

/* Through the constructors. */
static struct expr *built(struct exprs *x, struct expr *e) {
    struct expr *args[4];
    for (int i = 0; i < e->count; i++) args[i] = built(x, e->args[i]);
    if (e->kind == EXPR_OP) return expr_op(x, e->fn, e->dtype, e->count, args);
    if (e->kind == EXPR_CAST) return expr_cast(x, args[0], e->dtype);
    if (e->kind == EXPR_SELECT) return expr_select(x, args[0], args[1], args[2]);
    return e;
}

static struct expr *make(struct lab *l, const char *text) { return built(l->x, raw(l, text)); }

/* -- simplification
 * -------------------------------------------------------------------------------- */
static const struct {
    const char *text, *simple;
} simplifications[] = {
    /* identities */
    {"(i + 0)", "i"},
    {"(1 * i)", "i"},
    {"(i * 0)", "0"},
    {"(i // 1)", "i"},
    {"(i % 1)", "0"},
    {"(v + 0:i32)", "v"},
    {"(v * 1:i32)", "v"},
    {"(v - v)", "0:i32"},
    {"(v ^ v)", "0:i32"},
    {"(v & 0:i32)", "0:i32"},
    {"(u << 0:u32)", "u"},
    {"neg(neg(v))", "v"},
    {"(i - i)", "0"},
    {"((v + 3:i32) + 4:i32)", "(v + 7:i32)"},
    {"((v * 3:i32) * 4:i32)", "(v * 12:i32)"},
    {"((v + 2147483647:i32) + 1:i32)", "(v + -2147483648:i32)"},
    /* sums have one form */
    {"((i + b) - i)", "b"},
    {"((j * 2) + (b + (j * 3)))", "(b + (j * 5))"},
    {"(4 * (b + (2 * j)))", "((b * 4) + (j * 8))"},
    {"((i - 3) + 5)", "(i + 2)"},
    {"(3 - i)", "(3 - i)"},
    {"((0 - i) + b)", "(b - i)"},
    {"neg(i)", "neg(i)"},
    {"(i << 2)", "(i * 4)"},
    {"((n * 4) * (b * 2))", "((b * n) * 8)"},
    {"(k * (n * 3))", "((k * n) * 3)"},
    /* quotients and remainders */
    {"((i * 8) // 8)", "i"},
    {"(((b * 128) + i) // 128)", "b"},
    {"(((b * 128) + i) % 128)", "i"},
    {"(((b * 128) + i) // 64)", "((b * 2) + (i // 64))"},
    {"(i // 128)", "0"},
    {"(i % 128)", "i"},
    {"((i // 4) // 8)", "(i // 32)"},
    {"(((i * 4) + j) // 16)", "(i // 4)"},
    {"(((i * 4) + j) % 16)", "(j + ((i % 4) * 4))"},
    {"(((i * 4) + 3) // 8)", "(i // 2)"},
    {"((k + 64) // 32)", "((k // 32) + 2)"},
    {"((k + 31) // 32)", "((k + 31) // 32)"},
    {"((m * 4) // 4)", "m"},
    {"(((m * 4) + j) % 4)", "j"},
    {"((i % 32) % 8)", "(i % 8)"},
    {"(d % 16)", "0"},
    {"((d + 3) % 16)", "3"},
    {"((d + j) // 16)", "(d // 16)"},
    {"(m % 16)", "(m % 16)"},
    {"(k & 31)", "(k % 32)"},
    {"(k >> 3)", "(k // 8)"},
    {"(n // n)", "1"},
    {"((k * n) // n)", "k"},
    {"((n * k) % n)", "0"},
    {"((i + 128) % 128)", "i"},
    {"((i - 128) // 128)", "-1"},
    {"(j // n)", "(j // n)"},
    {"truncdiv(i, 4)", "(i // 4)"},
    {"truncmod(m, 4)", "truncmod(m, 4)"},
    {"(t // 101:i32)", "0:i32"},
    {"(t % 101:i32)", "t"},
    {"(v // 2:i32)", "(v // 2:i32)"},
    {"(i // 0)", "(i // 0)"},
    /* bounds decide */
    {"(i < 128)", "true"},
    {"(128 <= i)", "false"},
    {"(((b * 128) + i) < 4096)", "true"},
    {"(i == 128)", "false"},
    {"((i * 2) == 7)", "false"},
    {"(i == i)", "true"},
    {"(i != (i + 1))", "true"},
    {"min(i, 200)", "i"},
    {"max(i, 0)", "i"},
    {"max(i, 127)", "127"},
    {"min((i + 1), i)", "i"},
    {"min(k, n)", "min(k, n)"},
    {"abs(i)", "i"},
    {"abs(v)", "abs(v)"},
    {"abs((m - 9))", "(9 - m)"},
    {"((v + 1:i32) < v)", "((v + 1:i32) < v)"},
    {"((t + 1:i32) < t)", "false"},
    {"(w < 0:u64)", "(w < 0:u64)"},
    {"(0:u64 <= w)", "(0:u64 <= w)"},
    {"((k // 32) < ((k + 32) // 32))", "true"},
    {"(((k // 32) * 32) <= k)", "true"},
    {"(k < (((k // 32) * 32) + 32))", "true"},
    {"((k % n) < n)", "true"},
    {"(min(k, n) <= n)", "true"},
    {"(n <= (((n + 31) // 32) * 32))", "true"},
    /* conditions */
    {"not((k < n))", "(n <= k)"},
    {"not((f < f))", "not((f < f))"},
    {"not((k == n))", "(k != n)"},
    {"not(not(p))", "p"},
    {"(p and true)", "p"},
    {"(p and false)", "false"},
    {"(p or true)", "true"},
    {"(p or p)", "p"},
    {"select(true, i, b)", "i"},
    {"select(p, i, i)", "i"},
    {"select(not(p), i, b)", "select(p, b, i)"},
    {"select((i < 500), i, b)", "i"},
    /* conversions */
    {"i32(index(v))", "v"},
    {"index(i32(i))", "index(i32(i))"},
    {"f16(f32(1.5:f16))", "1.5:f16"},
    {"u8(300)", "44:u8"},
    {"i32(2147483648)", "-2147483648:i32"},
    {"i32(nan:f32)", "0:i32"},
    {"(2 + 3)", "5"},
    {"(7:i32 // -2:i32)", "-4:i32"},
    {"(0.1:f32 + 0.2:f32)", "0.30000001192092896:f32"},
    /* floats are left alone */
    {"(f + 0.0:f32)", "(f + 0.0:f32)"},
    {"(f * 0.0:f32)", "(f * 0.0:f32)"},
    {"(f - f)", "(f - f)"},
    {"(f == f)", "(f == f)"},
    {"(k // (1 << j))", "(k >> j)"},
    {"(m % (1 << b))", "(m & ((1 << b) - 1))"},
    {"((1 << j) < 9)", "true"},
    {"(k // (1 << m))", "(k // (1 << m))"},
    {"(k >> (j + 7))", "(k >> (j + 7))"},
    {"((i >> (j + 4)) < 8)", "true"},
};

static void simplifies(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof simplifications / sizeof *simplifications; i++) {
        struct lab l = lab_new();
        struct text t = text_new(l.w.a);
        struct expr *e = make(&l, simplifications[i].text);
        expr_print(&t, e);
        const char *wanted = simplifications[i].simple;
        if (!strcmp(wanted, "index(i32(i))")) wanted = "i"; /* i fits i32 */
        if (strcmp(t.at, wanted)) fail_msg("%s gives %s", simplifications[i].text, t.at);
        assert_ptr_equal(built(l.x, e), e);
        arena_free(l.w.a);
    }
}

/* -- affine forms and proofs
 * ------------------------------------------------------------------------ */
static const struct {
    const char *a, *b;
    bool le, lt;
} proofs[] = {
    {"((b * 128) + i)", "4095", true, false},
    {"((b * 128) + i)", "4096", true, true},
    {"((b * 32) + j)", "n", false, false},
    {"k", "n", false, false},
    {"k", "(k + n)", true, true},
    {"(k + i)", "(k + 127)", true, false},
    {"min(k, 5)", "5", true, false},
    {"i", "max(n, 127)", true, false},
    {"((k // 4) * 4)", "k", true, false},
    {"k", "((k // 4) * 4)", false, false},
    {"(k - 3)", "((k // 4) * 4)", true, false},
    {"(k % n)", "(n - 1)", true, false},
    {"(n - 1)", "(k % n)", false, false},
    {"index(t)", "100", true, false},
    {"index(v)", "2147483647", true, false},
    {"-5", "m", true, false},
    {"-4", "m", false, false},
    {"(index(t) + 1)", "index((t + 1:i32))", true, false},
};

static void proves(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof proofs / sizeof *proofs; i++) {
        struct lab l = lab_new();
        struct expr *a = make(&l, proofs[i].a), *b = make(&l, proofs[i].b);
        if (expr_proves_le(l.x, a, b) != proofs[i].le || expr_proves_lt(l.x, a, b) != proofs[i].lt)
            fail_msg("%s and %s", proofs[i].a, proofs[i].b);
        arena_free(l.w.a);
    }
}

static void affine_forms(void **state) {
    (void)state;
    struct lab l = lab_new();
    struct affine a;
    assert_true(affine_of(raw(&l, "(((b * 128) + i) - (2 * (i + (3 << 1))))"), &a));
    assert_int_equal(a.constant, -12);
    assert_int_equal(affine_coefficient(&a, find_var(&l, "b")), 128);
    assert_int_equal(affine_coefficient(&a, find_var(&l, "i")), -1);
    assert_int_equal(affine_coefficient(&a, find_var(&l, "j")), 0);
    int64_t difference;
    assert_true(affine_difference(raw(&l, "((k * n) + 7)"), raw(&l, "((k * n) - 1)"), &difference));
    assert_int_equal(difference, 8);
    assert_false(affine_difference(raw(&l, "k"), raw(&l, "n"), &difference));
    assert_false(affine_of(raw(&l, "(9223372036854775807 + (1 + (i * 0)))"), &a));
    assert_true(affine_of(raw(&l, "(v + 1:i32)"), &a)); /* may wrap: one atom */
    assert_int_equal(a.constant, 0);
    assert_false(affine_of(raw(&l, "f"), &a));
    arena_free(l.w.a);
}

/* -- against plain evaluation
 * ------------------------------------------------------------------------ */
static union scalar value_of(const struct expr *e, const union scalar *vars) {
    union scalar args[4];
    if (e->kind == EXPR_INT) return (union scalar){.i = e->integer};
    if (e->kind == EXPR_VAR) return vars[e->var->id];
    if (e->kind == EXPR_SELECT)
        return value_of(e->args[value_of(e->args[0], vars).i ? 1 : 2], vars);
    for (int i = 0; i < e->count; i++) args[i] = value_of(e->args[i], vars);
    if (e->kind == EXPR_CAST) return scalar_cast(args[0], e->args[0]->dtype, e->dtype);
    bool compares = function_row(e->fn)->types == TYPES_COMPARE;
    return scalar_op(e->fn, compares ? e->args[0]->dtype : e->dtype, args);
}

struct maker {
    struct exprs *x;
    uint64_t seed;
    struct var **vars;
    int count;
};

static struct expr *raw_node(struct maker *m, enum expr_kind kind, enum dtype t, int count,
                             struct expr **args) {
    struct expr shape = {.kind = kind, .dtype = t, .count = count, .args = args};
    return expr_raw(m->x, &shape);
}

static struct expr *random_expr(struct maker *m, enum dtype t, int depth);

static struct expr *random_leaf(struct maker *m, enum dtype t) {
    uint64_t r = world_random(&m->seed);
    for (int tries = 0; tries < 8 && r % 3; tries++) {
        struct var *v = m->vars[world_random(&m->seed) % (uint64_t)m->count];
        if (v->dtype == t) return expr_var(m->x, v);
    }
    static const int64_t constants[] = {0, 1, 2, 3, 4, 8, 16, 5, 7, -1, -3, 32, 127, 128, 12, -8};
    if (t == DTYPE_BOOL) return expr_bool(m->x, r >> 8 & 1);
    return expr_int(m->x, constants[r >> 8 & 15], t);
}

static struct expr *random_condition(struct maker *m, int depth) {
    static const enum function compares[] = {FN_LT, FN_LE, FN_EQ, FN_NE};
    static const enum dtype types[] = {DTYPE_INDEX, DTYPE_INDEX, DTYPE_I32, DTYPE_U32, DTYPE_U64};
    uint64_t r = world_random(&m->seed);
    struct expr *args[2];
    if (r % 4 == 0) {
        args[0] = random_expr(m, DTYPE_BOOL, depth - 1);
        args[1] = random_expr(m, DTYPE_BOOL, depth - 1);
        enum function fn = r >> 4 & 1 ? FN_LAND : r >> 5 & 1 ? FN_LOR : FN_LNOT;
        return expr_raw_op(m->x, fn, DTYPE_BOOL, fn == FN_LNOT ? 1 : 2, args);
    }
    enum dtype t = types[(r >> 8) % 5];
    args[0] = random_expr(m, t, depth - 1);
    args[1] = random_expr(m, t, depth - 1);
    return expr_raw_op(m->x, compares[r >> 16 & 3], DTYPE_BOOL, 2, args);
}

/* Of a shift: constant or not, less than the type's width. */
static struct expr *random_amount(struct maker *m, enum dtype t, int depth) {
    uint64_t r = world_random(&m->seed);
    struct expr *constant = expr_int(m->x, (int64_t)(r >> 4 & 7), t);
    if (r % 2 == 0) return constant;
    struct expr *args[2] = {random_expr(m, t, depth), expr_int(m->x, r & 2 ? 31 : 7, t)};
    return expr_raw_op(m->x, FN_AND, t, 2, args);
}

/* The second operand, that of a division at times a power of two. */
static struct expr *random_second(struct maker *m, enum function fn, enum dtype t, int depth) {
    if (fn == FN_SHL || fn == FN_SHR) return random_amount(m, t, depth);
    bool divides = fn == FN_FLOORDIV || fn == FN_FLOORMOD;
    if (!divides || world_random(&m->seed) % 4) return random_expr(m, t, depth);
    struct expr *args[2] = {expr_int(m->x, 1, t), random_amount(m, t, depth)};
    return expr_raw_op(m->x, FN_SHL, t, 2, args);
}

static struct expr *random_expr(struct maker *m, enum dtype t, int depth) {
    static const enum function functions[] = {
        FN_ADD, FN_ADD, FN_SUB, FN_MUL,      FN_FLOORDIV, FN_FLOORMOD, FN_MIN,      FN_MAX,
        FN_AND, FN_OR,  FN_XOR, FN_SHL,      FN_SHR,      FN_TRUNCDIV, FN_TRUNCMOD, FN_NEG,
        FN_ABS, FN_NOT, FN_ADD, FN_FLOORDIV, FN_FLOORMOD, FN_MUL};
    static const enum dtype types[] = {DTYPE_INDEX, DTYPE_I32, DTYPE_U32, DTYPE_U64};
    uint64_t r = world_random(&m->seed);
    struct expr *args[3];
    if (depth == 0 || r % 8 == 0) return random_leaf(m, t);
    if (t == DTYPE_BOOL) return random_condition(m, depth);
    if (r % 8 == 1) {
        enum dtype from = types[r >> 8 & 3];
        args[0] = random_expr(m, from, depth - 1);
        return from == t ? args[0] : raw_node(m, EXPR_CAST, t, 1, args);
    }
    if (r % 16 == 2) {
        args[0] = random_expr(m, DTYPE_BOOL, depth - 1);
        args[1] = random_expr(m, t, depth - 1);
        args[2] = random_expr(m, t, depth - 1);
        return raw_node(m, EXPR_SELECT, t, 3, args);
    }
    enum function fn = functions[(r >> 8) % (sizeof functions / sizeof *functions)];
    args[0] = random_expr(m, t, depth - 1);
    args[1] = random_second(m, fn, t, depth - 1);
    return expr_raw_op(m->x, fn, t, function_row(fn)->arity, args);
}

/* INDEX counts as exact, so its values must not overflow; division by zero is unspecified. */
static bool is_tame(const struct expr *e, const union scalar *vars) {
    for (int i = 0; i < e->count; i++)
        if (!is_tame(e->args[i], vars)) return false;
    if (e->kind == EXPR_OP && e->fn == FN_MUL && e->dtype == DTYPE_INDEX) {
        int64_t product;
        if (__builtin_mul_overflow(value_of(e->args[0], vars).i, value_of(e->args[1], vars).i,
                                   &product))
            return false;
    }
    if (e->dtype == DTYPE_INDEX) {
        int64_t v = value_of(e, vars).i;
        if (v > (int64_t)1 << 50 || v < -((int64_t)1 << 50)) return false;
    }
    bool divides = e->kind == EXPR_OP && (e->fn == FN_FLOORDIV || e->fn == FN_FLOORMOD ||
                                          e->fn == FN_TRUNCDIV || e->fn == FN_TRUNCMOD);
    return !divides || value_of(e->args[1], vars).i != 0;
}

static int64_t random_value(struct maker *m, const struct var *v) {
    int64_t lo = v->lo < -1000000 ? -1000000 : v->lo, hi = v->hi > 1000000 ? 1000000 : v->hi;
    uint64_t r = world_random(&m->seed), span = (uint64_t)(hi - lo) + 1;
    if (r % 8 == 0) return lo;
    if (r % 8 == 1)
        return v->dtype == DTYPE_I32 ? v->hi : hi - (hi % (v->divisor ? v->divisor : 1));
    int64_t x = lo + (int64_t)((r >> 8) % span);
    if (v->dtype == DTYPE_U64) return (int64_t)(r >> 3) - ((int64_t)1 << 60);
    return x - x % (v->divisor > 1 ? v->divisor : 1);
}

static void say(const char *what, struct lab *l, const struct expr *e, const struct expr *simple) {
    struct text t = text_new(l->w.a);
    expr_print(&t, e);
    text_puts(&t, "\n -> ");
    expr_print(&t, simple);
    fail_msg("%s: %s", what, t.at);
}

static void check_values(struct lab *l, struct maker *m, struct expr *e) {
    struct expr *simple = built(l->x, e);
    if (built(l->x, simple) != simple) say("not stable", l, e, simple);
    for (int round = 0; round < 12; round++) {
        union scalar vars[16];
        for (int i = 0; i < l->count; i++) vars[i].i = random_value(m, l->vars[i]);
        if (!is_tame(e, vars)) continue;
        union scalar wanted = value_of(e, vars), got = value_of(simple, vars);
        if (wanted.i != got.i) say("value", l, e, simple);
        if (!dtype_is_integer(e->dtype)) continue;
        if (got.i < simple->lo || got.i > simple->hi) say("range", l, e, simple);
        if (wanted.i < e->lo || wanted.i > e->hi) say("raw range", l, e, simple);
        if (simple->divisor ? got.i % simple->divisor != 0 : got.i != 0)
            say("divisor", l, e, simple);
        struct affine a;
        if (!affine_of(e, &a)) continue;
        int64_t sum = a.constant;
        for (int k = 0; k < a.count; k++) sum += a.coefficient[k] * value_of(a.atom[k], vars).i;
        if (sum != wanted.i) say("affine", l, e, simple);
    }
}

static void random_expressions(void **state) {
    (void)state;
    static const enum dtype types[] = {DTYPE_INDEX, DTYPE_INDEX, DTYPE_INDEX, DTYPE_I32,
                                       DTYPE_U32,   DTYPE_U64,   DTYPE_BOOL};
    uint64_t seed = 12345;
    for (int batch = 0; batch < 60; batch++) {
        struct lab l = lab_new();
        struct maker m = {l.x, seed, l.vars, l.count};
        for (int i = 0; i < 400; i++)
            check_values(&l, &m, random_expr(&m, types[world_random(&m.seed) % 7], 1 + i % 5));
        seed = world_random(&m.seed);
        arena_free(l.w.a);
    }
}

/* -- sharing and rewriting
 * --------------------------------------------------------------------------- */
static void shares_and_rewrites(void **state) {
    (void)state;
    struct lab l = lab_new();
    struct expr *i = raw(&l, "i"), *b = raw(&l, "b");
    assert_ptr_equal(make(&l, "((i + b) + 3)"), make(&l, "(3 + (b + i))"));
    struct expr *deep = i; /* a chain of squares: 2^40 paths, 40 nodes */
    for (int k = 0; k < 40; k++)
        deep = expr_binary(l.x, FN_XOR, deep, expr_binary(l.x, FN_OR, deep, b));
    struct var *from[1] = {find_var(&l, "i")};
    struct expr *to[1] = {b};
    struct expr *other = expr_substitute(l.x, deep, 1, from, to);
    assert_false(expr_uses_var(other, from[0]));
    assert_true(expr_uses_var(deep, from[0]));
    assert_true(expr_uses_kind(deep, VAR_LOOP));
    assert_false(expr_uses_kind(deep, VAR_MUTABLE));
    assert_ptr_equal(expr_substitute(l.x, make(&l, "((i * 4) // 8)"), 1, from,
                                     (struct expr *[]){make(&l, "(j * 2)")}),
                     raw(&l, "j"));
    arena_free(l.w.a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simplifies), cmocka_unit_test(proves), cmocka_unit_test(affine_forms),
        cmocka_unit_test(random_expressions), cmocka_unit_test(shares_and_rewrites)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
