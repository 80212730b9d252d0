/* types.c: the types of elements: where two meet, what a literal becomes, how a value is read.
 *
 * A number of compile time has no type of its own; it adopts the type of what it meets, and is an
 * error if it does not fit there. Everything else follows lang/reference.md, "Types". */
#include "sema/builder.h"
#include <math.h>

bool type_is_fp8(enum dtype t) { return dtype_is_float(t) && dtype_bits(t) == 8; }

static enum dtype meet_floats(enum dtype a, enum dtype b) {
    if (type_is_fp8(a) || type_is_fp8(b)) return DTYPE_NONE;
    if (dtype_bits(a) == dtype_bits(b)) return dtype_bits(a) == 32 ? DTYPE_F32 : DTYPE_NONE;
    return dtype_bits(a) > dtype_bits(b) ? a : b;
}

static enum dtype meet_integers(enum dtype a, enum dtype b) {
    if (a == DTYPE_INDEX) return dtype_bits(b) == 64 ? b : a;
    if (b == DTYPE_INDEX) return dtype_bits(a) == 64 ? a : b;
    if (dtype_bits(a) != dtype_bits(b)) return dtype_bits(a) > dtype_bits(b) ? a : b;
    return dtype_class_of(a) == CLASS_UINT ? a : b;
}

enum dtype type_meet(enum dtype a, enum dtype b) {
    if (a == b) return a;
    if (a == DTYPE_BOOL) return b;
    if (b == DTYPE_BOOL) return a;
    if (dtype_is_float(a)) return dtype_is_float(b) ? meet_floats(a, b) : a;
    return dtype_is_float(b) ? b : meet_integers(a, b);
}

/* -- Literals ------------------------------------------------------------------------------------
 */
bool is_literal(struct value v) {
    return v.kind == VALUE_BOOL || v.kind == VALUE_INT || v.kind == VALUE_FLOAT;
}

static double literal_number(struct value v) {
    if (v.kind == VALUE_FLOAT) return v.number;
    return v.kind == VALUE_INT ? (double)v.integer : (double)v.boolean;
}

static int64_t literal_integer(struct value v) {
    return v.kind == VALUE_INT ? v.integer : v.boolean;
}

static bool integer_fits(int64_t value, enum dtype type) {
    int bits = dtype_bits(type);
    if (dtype_class_of(type) == CLASS_UINT)
        return value >= 0 && (bits == 64 || value < (int64_t)1 << bits);
    return bits == 64 || (value >= -((int64_t)1 << (bits - 1)) && value < (int64_t)1 << (bits - 1));
}

static struct expr *misfit(struct sema *s, struct value v, enum dtype type, struct span span) {
    const char *text = value_text(s, v), *name = dtype_spelling(type);
    sema_error(
        s, span, E0303,
        "the literal %s does not fit '%s'; write a value in its range, or T.cast(%s, \"%s\")", text,
        name, text, name);
    return NULL;
}

struct expr *literal(struct sema *s, struct value v, enum dtype type, struct span span) {
    if (type == DTYPE_BOOL) return expr_bool(s->exprs, literal_number(v) != 0);
    if (dtype_is_float(type)) {
        double number = literal_number(v), rounded = scalar_round(number, type);
        /* An fp8 type without infinity saturates when it rounds: more than half a step is lost. */
        bool lost = type_is_fp8(type) && isfinite(number) &&
                    fabs(number - rounded) > fabs(rounded) / 8 + 0.01;
        if ((isfinite(number) && !isfinite(rounded)) || lost) return misfit(s, v, type, span);
        return expr_float(s->exprs, number, type);
    }
    if (v.kind == VALUE_FLOAT) {
        sema_error(s, span, E0303,
                   "the float literal %s does not fit '%s'; write T.cast(%s, \"%s\")",
                   value_text(s, v), dtype_spelling(type), value_text(s, v), dtype_spelling(type));
        return NULL;
    }
    if (!integer_fits(literal_integer(v), type)) return misfit(s, v, type, span);
    return expr_int(s->exprs, literal_integer(v), type);
}

static bool is_exact_in_index(const struct expr *e) {
    bool narrow = dtype_class_of(e->dtype) == CLASS_INT && dtype_bits(e->dtype) <= 32;
    if (!narrow && e->dtype != DTYPE_INDEX) return false;
    switch (e->fn) {
    case FN_ADD:
    case FN_SUB:
    case FN_MUL:
    case FN_NEG:
    case FN_MIN:
    case FN_MAX:
    case FN_FLOORDIV:
    case FN_FLOORMOD: return true;
    default: return false;
    }
}

/* Index arithmetic is exact: the operations of a narrow signed type are done in 64 bits. */
static struct expr *widen(struct sema *s, struct expr *e) {
    struct exprs *x = s->exprs;
    bool integers = e->kind == EXPR_CAST && dtype_class_of(e->args[0]->dtype) == CLASS_INT;
    if (integers && dtype_bits(e->args[0]->dtype) <= dtype_bits(e->dtype))
        return widen(s, e->args[0]); /* keeps the value */
    if (e->kind == EXPR_SELECT && dtype_class_of(e->dtype) == CLASS_INT)
        return expr_select(x, e->args[0], widen(s, e->args[1]), widen(s, e->args[2]));
    if (e->kind != EXPR_OP || !is_exact_in_index(e)) return expr_cast(x, e, DTYPE_INDEX);
    struct expr *arg[2];
    for (int i = 0; i < e->count; i++) arg[i] = widen(s, e->args[i]);
    return expr_op(x, e->fn, DTYPE_INDEX, e->count, arg);
}

/* -- Values as expressions -----------------------------------------------------------------------
 */
struct expr *value_expr(struct sema *s, struct value v, struct span span) {
    switch (v.kind) {
    case VALUE_BOOL: return expr_bool(s->exprs, v.boolean);
    case VALUE_INT: return expr_index(s->exprs, v.integer);
    case VALUE_FLOAT: return literal(s, v, DTYPE_F32, span);
    case VALUE_IR: return v.expr;
    case VALUE_VAR: return expr_var(s->exprs, v.mutable->var);
    case VALUE_ACCESS:
    case VALUE_REF:
        if (access_is_element(v.subscript)) return access_load(s, v.subscript);
        sema_error(s, span, E0312,
                   "'%s' with %d of %d indices is a tile; a scalar needs an index for each axis",
                   v.subscript->buffer->name->text, v.subscript->given, v.subscript->buffer->rank);
        return NULL;
    case VALUE_BUFFER:
        sema_error(
            s, span, E0312,
            "'%s' is a buffer of %d axes; a scalar is an element of it, with an index for each",
            v.buffer->name->text, v.buffer->rank);
        return NULL;
    case VALUE_BAD: return NULL;
    default:
        sema_error(s, span, E0312, "a scalar is needed here, got %s", value_kind_name(v));
        return NULL;
    }
}

struct expr *value_expr_as(struct sema *s, struct value v, enum dtype type, struct span span) {
    if (is_literal(v) && !(v.kind == VALUE_FLOAT && !dtype_is_float(type)))
        return literal(s, v, type, span);
    struct expr *e = value_expr(s, v, span);
    return e ? expr_cast(s->exprs, e, type) : NULL;
}

struct expr *value_index(struct sema *s, struct value v, struct span span) {
    struct expr *e = value_expr(s, v, span);
    if (!e) return NULL;
    if (dtype_is_integer(e->dtype) || e->dtype == DTYPE_BOOL) return widen(s, e);
    sema_error(s, span, E0320, "an integer is needed here, not '%s'; write T.cast(…, \"int32\")",
               dtype_spelling(e->dtype));
    return NULL;
}

struct expr *value_condition(struct sema *s, struct value v, struct span span) {
    struct expr *e = value_expr(s, v, span);
    if (!e || e->dtype == DTYPE_BOOL) return e;
    if (dtype_is_integer(e->dtype))
        return expr_binary(s->exprs, FN_NE, e, expr_int(s->exprs, 0, e->dtype));
    sema_error(s, span, E0305, "a condition is a bool or an integer, not '%s'; compare it with 0",
               dtype_spelling(e->dtype));
    return NULL;
}

/* -- Unification ---------------------------------------------------------------------------------
 */
static void warn_sign(struct sema *s, const struct expr *a, const struct expr *b,
                      struct span span) {
    if (dtype_bits(a->dtype) != dtype_bits(b->dtype)) return;
    bool ua = dtype_class_of(a->dtype) == CLASS_UINT, ub = dtype_class_of(b->dtype) == CLASS_UINT;
    const struct expr *signed_side = ua ? b : a;
    if (ua == ub || !dtype_is_integer(signed_side->dtype) || signed_side->lo >= 0) return;
    diag_report(s->diag, span, W_SIGN, "'%s' meets '%s'; the result is '%s' and wraps",
                dtype_spelling(a->dtype), dtype_spelling(b->dtype),
                dtype_spelling(ua ? a->dtype : b->dtype));
}

static void no_common_type(struct sema *s, enum dtype a, enum dtype b, struct span span) {
    if (type_is_fp8(a) || type_is_fp8(b))
        sema_error(s, span, E0302, "'%s' has no arithmetic; write T.cast(…, \"float16\") first",
                   dtype_spelling(type_is_fp8(a) ? a : b));
    else
        sema_error(s, span, E0301,
                   "'%s' and '%s' have no common type; write T.cast(…, \"float32\") on one side",
                   dtype_spelling(a), dtype_spelling(b));
}

/* The type of all that is not a literal; NONE after a report, *any false if all are literals. */
static enum dtype meet_all(struct sema *s, int count, struct expr *const *e, bool *any,
                           struct span span) {
    enum dtype type = DTYPE_NONE;
    const struct expr *last = NULL;
    *any = false;
    for (int i = 0; i < count; i++) {
        if (!e[i]) continue;
        if (*any) {
            enum dtype met = type_meet(type, e[i]->dtype);
            if (met == DTYPE_NONE) return no_common_type(s, type, e[i]->dtype, span), DTYPE_NONE;
            warn_sign(s, last, e[i], span);
            type = met;
        } else {
            type = e[i]->dtype;
        }
        last = e[i];
        *any = true;
    }
    return type;
}

/* A float literal turns integers into float32; without any typed side literals are INDEX or F32. */
static enum dtype adopt(int count, const struct value *v, enum dtype type, bool any) {
    bool real = false, whole = false;
    for (int i = 0; i < count; i++) {
        real |= v[i].kind == VALUE_FLOAT;
        whole |= v[i].kind == VALUE_INT;
    }
    if (!any) return real ? DTYPE_F32 : whole ? DTYPE_INDEX : DTYPE_BOOL;
    if (real && !dtype_is_float(type)) return DTYPE_F32;
    return whole && type == DTYPE_BOOL ? DTYPE_I32 : type;
}

enum dtype unify_values(struct sema *s, int count, const struct value *v, struct expr **out,
                        struct span span) {
    bool any;
    for (int i = 0; i < count; i++) {
        out[i] = NULL;
        if (is_literal(v[i])) continue;
        out[i] = value_expr(s, v[i], span);
        if (!out[i]) return DTYPE_NONE;
    }
    enum dtype type = meet_all(s, count, out, &any, span);
    if (any && type == DTYPE_NONE) return DTYPE_NONE;
    type = adopt(count, v, type, any);
    for (int i = 0; i < count; i++) {
        if (!out[i])
            out[i] = literal(s, v[i], type, span);
        else
            out[i] = type == DTYPE_INDEX ? widen(s, out[i]) : expr_cast(s->exprs, out[i], type);
        if (!out[i]) return DTYPE_NONE;
    }
    return type;
}

enum dtype unify(struct sema *s, int count, const struct value *v, struct expr **out,
                 struct site at) {
    enum dtype type = unify_values(s, count, v, out, at.span);
    if (type_is_fp8(type)) {
        sema_error(s, at.span, E0302,
                   "'%s' of '%s' is arithmetic; write T.cast(…, \"float16\") first", at.what,
                   dtype_spelling(type));
        return DTYPE_NONE;
    }
    enum dtype target = type == DTYPE_BOOL ? DTYPE_I32 : type == DTYPE_TF32 ? DTYPE_F32 : type;
    for (int i = 0; target != type && i < count; i++) out[i] = expr_cast(s->exprs, out[i], target);
    return target;
}

/* -- Operations ----------------------------------------------------------------------------------
 */
static bool is_product(const struct expr *e, enum dtype type) {
    return e->kind == EXPR_OP && e->fn == FN_MUL && e->dtype == type;
}

/* a*b ± c as one fma, so that its meaning is fixed here; the left product if both are. */
static struct expr *fuse(struct sema *s, enum function fn, enum dtype type, struct expr *a,
                         struct expr *b) {
    struct exprs *x = s->exprs;
    struct expr *three[3];
    if (is_product(a, type)) {
        three[0] = a->args[0];
        three[1] = a->args[1];
        three[2] = fn == FN_SUB ? expr_unary(x, FN_NEG, b) : b;
    } else if (is_product(b, type)) {
        three[0] = fn == FN_SUB ? expr_unary(x, FN_NEG, b->args[0]) : b->args[0];
        three[1] = b->args[1];
        three[2] = a;
    } else {
        return NULL;
    }
    return expr_op(x, FN_FMA, type, 3, three);
}

/* Operations of the expression written out as a tree, counted up to the limit. */
int expr_size(const struct expr *e, int limit) {
    int size = 1;
    for (int i = 0; i < e->count && size < limit; i++) size += expr_size(e->args[i], limit - size);
    return size;
}

struct value scalar_value(struct sema *s, struct expr *e, struct span span) {
    enum { MOST = 10000 };
    if (expr_size(e, MOST) < MOST) return value_ir(e);
    return sema_bad(
        s, span, E0321,
        "this expression has more than %d operations; give parts of it a name in the kernel", MOST);
}

struct expr *operation(struct sema *s, enum function fn, enum dtype type, int count,
                       struct expr *const *args) {
    if ((fn == FN_ADD || fn == FN_SUB) && (type == DTYPE_F32 || type == DTYPE_F64)) {
        struct expr *fused = fuse(s, fn, type, args[0], args[1]);
        if (fused) return fused;
    }
    bool fast = s->function ? s->function->fast_math : s->module->fast_math;
    if (fast && type == DTYPE_F32) return fast_operation(s->exprs, fn, count, args);
    return expr_op(s->exprs, fn, type, count, args);
}
