/* operators.c: the operators, attributes and methods of values that are known at run time only. */
#include "sema/builder.h"

struct operator_row {
    enum function fn;
    enum { ON_NUMBERS, ON_FLOATS, ON_INTEGERS, ON_BITS, ON_SHIFT, ON_NOTHING } domain;
};

static struct operator_row operator_row(enum ast_operator op) {
    switch (op) {
    case AST_ADD: return (struct operator_row){FN_ADD, ON_NUMBERS};
    case AST_SUB: return (struct operator_row){FN_SUB, ON_NUMBERS};
    case AST_MUL: return (struct operator_row){FN_MUL, ON_NUMBERS};
    case AST_DIV: return (struct operator_row){FN_DIV, ON_FLOATS};
    case AST_FLOORDIV: return (struct operator_row){FN_FLOORDIV, ON_INTEGERS};
    case AST_MOD: return (struct operator_row){FN_FLOORMOD, ON_INTEGERS};
    case AST_BITAND: return (struct operator_row){FN_AND, ON_BITS};
    case AST_BITOR: return (struct operator_row){FN_OR, ON_BITS};
    case AST_BITXOR: return (struct operator_row){FN_XOR, ON_BITS};
    case AST_SHL: return (struct operator_row){FN_SHL, ON_SHIFT};
    case AST_SHR: return (struct operator_row){FN_SHR, ON_SHIFT};
    default: return (struct operator_row){FN_ADD, ON_NOTHING};
    }
}

static struct value undefined(struct sema *s, enum ast_operator op, enum dtype type,
                              struct span span) {
    const char *hint = dtype_is_float(type) ? "it is for integers" : "it is for floats";
    return sema_bad(s, span, E0305, "'%s' is not defined for '%s'; %s", ast_operator_text(op),
                    dtype_spelling(type), hint);
}

static struct value shift(struct sema *s, enum ast_operator op, enum function fn,
                          const struct value *v, struct span span) {
    struct expr *arg[2];
    enum dtype type;
    if (is_literal(v[0])) {
        type = unify(s, 2, v, arg, (struct site){ast_operator_text(op), span});
        if (type == DTYPE_NONE) return value_bad();
    } else {
        type = unify(s, 1, v, arg, (struct site){ast_operator_text(op), span});
        if (type == DTYPE_NONE) return value_bad();
        arg[1] = value_index(s, v[1], span);
        if (!arg[1]) return value_bad();
    }
    if (!dtype_is_integer(type)) return undefined(s, op, type, span);
    int64_t by;
    if (expr_is_int(arg[1], &by) && (by < 0 || by >= dtype_bits(type)))
        return sema_bad(s, span, E0305, "a shift by %lld leaves '%s'; 0 to %d are possible",
                        (long long)by, dtype_spelling(type), dtype_bits(type) - 1);
    return scalar_value(s, operation(s, fn, type, 2, arg), span);
}

/* x ** n for a small n is a product: exact for squares, and defined for integers. */
static struct value power(struct sema *s, const struct value *v, struct span span) {
    struct expr *arg[2];
    enum dtype type = unify(s, 1, v, arg, (struct site){"**", span});
    if (type == DTYPE_NONE) return value_bad();
    if (v[1].kind == VALUE_INT && !is_literal(v[0]) && v[1].integer >= 0 && v[1].integer <= 8) {
        struct expr *result =
            dtype_is_float(type) ? expr_float(s->exprs, 1, type) : expr_int(s->exprs, 1, type);
        for (int64_t i = 0; i < v[1].integer; i++)
            result = i ? expr_binary(s->exprs, FN_MUL, result, arg[0]) : arg[0];
        return scalar_value(s, result, span);
    }
    type = unify(s, 2, v, arg, (struct site){"**", span});
    if (type == DTYPE_NONE) return value_bad();
    if (!dtype_is_float(type))
        return sema_bad(
            s, span, E0305,
            "'**' of integers needs a compile-time exponent from 0 to 8; cast to a float");
    return scalar_value(s, operation(s, FN_POW, type, 2, arg), span);
}

static bool zero_divisor(const struct expr *e) {
    int64_t n;
    return expr_is_int(e, &n) && n == 0;
}

static struct value logic(struct sema *s, enum ast_operator op, const struct value *v,
                          struct span span) {
    struct expr *a = value_condition(s, v[0], span), *b = value_condition(s, v[1], span);
    if (!a || !b) return value_bad();
    return scalar_value(s, expr_binary(s->exprs, op == AST_AND ? FN_LAND : FN_LOR, a, b), span);
}

struct value value_binary(struct sema *s, enum ast_operator op, struct value a, struct value b,
                          struct span span) {
    struct value v[2] = {a, b};
    struct expr *arg[2];
    if (value_is_bad(a) || value_is_bad(b)) return value_bad();
    if (op == AST_AND || op == AST_OR) return logic(s, op, v, span);
    if (op == AST_POW) return power(s, v, span);
    struct operator_row row = operator_row(op);
    if (row.domain == ON_NOTHING)
        return sema_bad(s, span, E0305, "'%s' is not defined for run-time values%s",
                        ast_operator_text(op), op == AST_MATMUL ? "; T.gemm multiplies tiles" : "");
    if (row.domain == ON_SHIFT) return shift(s, op, row.fn, v, span);
    enum dtype type = row.domain == ON_BITS
                          ? unify_values(s, 2, v, arg, span)
                          : unify(s, 2, v, arg, (struct site){ast_operator_text(op), span});
    if (type == DTYPE_NONE) return value_bad();
    if (row.domain == ON_BITS && type != DTYPE_BOOL && !dtype_is_integer(type))
        return undefined(s, op, type, span);
    if (row.domain == ON_FLOATS && !dtype_is_float(type))
        return sema_bad(
            s, span, E0304,
            "'/' of '%s' is not a float; write '//', or T.cast(…, \"float32\") on one side",
            dtype_spelling(type));
    if (row.domain == ON_INTEGERS && !dtype_is_integer(type))
        return sema_bad(s, span, E0305, "'%s' of '%s' is for integers; write %s",
                        ast_operator_text(op), dtype_spelling(type),
                        op == AST_MOD ? "T.fmod(a, b)" : "T.floor(a / b)");
    if (row.domain == ON_INTEGERS && zero_divisor(arg[1]))
        return sema_bad(s, span, E0317, "the divisor of '%s' is 0", ast_operator_text(op));
    return scalar_value(s, operation(s, row.fn, type, 2, arg), span);
}

struct value value_unary(struct sema *s, enum ast_operator op, struct value a, struct span span) {
    struct expr *e;
    if (value_is_bad(a)) return a;
    if (op == AST_NOT) {
        e = value_condition(s, a, span);
        return e ? value_ir(expr_unary(s->exprs, FN_LNOT, e)) : value_bad();
    }
    if (op == AST_INVERT) {
        enum dtype type = unify_values(s, 1, &a, &e, span);
        if (type == DTYPE_NONE) return value_bad();
        if (type == DTYPE_BOOL) return value_ir(expr_unary(s->exprs, FN_LNOT, e));
        if (!dtype_is_integer(type)) return undefined(s, op, type, span);
        return value_ir(expr_unary(s->exprs, FN_NOT, e));
    }
    if (unify(s, 1, &a, &e, (struct site){ast_operator_text(op), span}) == DTYPE_NONE)
        return value_bad();
    return value_ir(op == AST_NEG ? expr_unary(s->exprs, FN_NEG, e) : e);
}

struct value value_compare(struct sema *s, enum ast_operator op, struct value a, struct value b,
                           struct span span) {
    if (value_is_bad(a) || value_is_bad(b)) return value_bad();
    if (op == AST_IS || op == AST_IS_NOT) { /* a run-time value is never None */
        bool none = a.kind == VALUE_NONE || b.kind == VALUE_NONE;
        if (none) return value_bool(op == AST_IS_NOT);
    }
    bool swap = op == AST_GT || op == AST_GE;
    struct value v[2] = {swap ? b : a, swap ? a : b};
    struct expr *arg[2];
    enum function fn;
    switch (op) {
    case AST_LT:
    case AST_GT: fn = FN_LT; break;
    case AST_LE:
    case AST_GE: fn = FN_LE; break;
    case AST_EQ: fn = FN_EQ; break;
    case AST_NE: fn = FN_NE; break;
    default:
        return sema_bad(s, span, E0305, "'%s' is not defined for run-time values",
                        ast_operator_text(op));
    }
    if (unify(s, 2, v, arg, (struct site){ast_operator_text(op), span}) == DTYPE_NONE)
        return value_bad();
    return scalar_value(s, expr_binary(s->exprs, fn, arg[0], arg[1]), span);
}

struct value value_select(struct sema *s, struct value test, struct value a, struct value b,
                          struct span span) {
    if (value_is_bad(test) || value_is_bad(a) || value_is_bad(b)) return value_bad();
    struct expr *c = value_condition(s, test, span);
    struct value v[2] = {a, b};
    struct expr *arg[2];
    if (!c || unify_values(s, 2, v, arg, span) == DTYPE_NONE) return value_bad();
    return scalar_value(s, expr_select(s->exprs, c, arg[0], arg[1]), span);
}

/* -- Types as functions --------------------------------------------------------------------------
 */
/* An explicit conversion of a number wraps or saturates as the conversion at run time does. */
static struct value typed_literal(struct sema *s, struct value v, enum dtype type) {
    bool real = v.kind == VALUE_FLOAT;
    union scalar from;
    if (real)
        from.f = v.number;
    else
        from.i = v.kind == VALUE_INT ? v.integer : v.boolean;
    union scalar to = scalar_cast(from, real ? DTYPE_F64 : DTYPE_I64, type);
    return value_ir(dtype_is_float(type) ? expr_float(s->exprs, to.f, type)
                                         : expr_int(s->exprs, to.i, type));
}

static struct value convert(struct sema *s, struct value v, enum dtype type, struct span span) {
    if (is_literal(v)) return typed_literal(s, v, type);
    struct expr *e = value_expr(s, v, span);
    return e ? value_ir(expr_cast(s->exprs, e, type)) : value_bad();
}

struct value call_dtype(struct sema *s, enum dtype t, struct arguments *a, struct span span) {
    if (a->list.count != 1 || a->list.at[0].keyword)
        return sema_bad(s, span, E0404, "T.%s(x) converts one value, got %d", dtype_spelling(t),
                        a->list.count);
    return convert(s, a->list.at[0].value, t, a->list.at[0].span);
}

struct value build_cast(struct sema *s, const struct call *c) {
    int at = call_find(c, "value"), to = call_find(c, "dtype"), round = call_find(c, "round");
    bool good = true;
    if (round >= 0) {
        const char *mode = call_string(s, c, round, "", &good);
        if (good && mode[0])
            return sema_bad(s, c->arg_span[round], E0401,
                            "rounding mode '%s' of T.cast is not supported yet", mode);
        if (!call_bool(s, c, call_find(c, "sat"), true, &good) && good)
            return sema_bad(s, c->span, E0401, "T.cast with sat=False is not supported yet");
    }
    enum dtype type = want_dtype(s, c->arg[to], c->arg_span[to], "dtype");
    if (type == DTYPE_NONE || !good || value_is_bad(c->arg[at])) return value_bad();
    return convert(s, c->arg[at], type, c->arg_span[at]);
}

/* -- Attributes ----------------------------------------------------------------------------------
 */
static struct value shape_of(struct sema *s, struct buffer *b) {
    struct value item[TILE_RANK];
    for (int i = 0; i < b->rank; i++) {
        struct expr *e = buffer_dim(s, b, i);
        int64_t n;
        item[i] = expr_is_int(e, &n) ? value_int(n) : value_ir(e);
    }
    return value_sequence(s, VALUE_TUPLE, b->rank, item);
}

static struct value method_of(struct sema *s, struct value self, struct sym *name) {
    struct method *m = arena_make(s->arena, struct method);
    *m = (struct method){.self = self, .name = name};
    return (struct value){.kind = VALUE_METHOD, .method = m};
}

static enum dtype dtype_of(struct sema *s, struct value v) {
    (void)s;
    switch (v.kind) {
    case VALUE_BUFFER: return v.buffer->dtype;
    case VALUE_ACCESS:
    case VALUE_REF: return v.subscript->buffer->dtype;
    case VALUE_VAR: return v.mutable->var->dtype;
    case VALUE_IR: return v.expr->dtype == DTYPE_INDEX ? DTYPE_I32 : v.expr->dtype;
    default: return DTYPE_NONE;
    }
}

struct value value_attribute(struct sema *s, struct value v, struct sym *name, struct span span) {
    static const char *const missing[] = {"data",        "access_ptr", "strides",
                                          "elem_offset", "vload",      "vstore"};
    if (!strcmp(name->text, "dtype")) {
        enum dtype type = dtype_of(s, v);
        if (type != DTYPE_NONE) return value_dtype(type);
    }
    if (v.kind == VALUE_BUFFER) {
        if (!strcmp(name->text, "shape")) return shape_of(s, v.buffer);
        if (!strcmp(name->text, "scope")) return method_of(s, v, name);
        for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
            if (!strcmp(name->text, missing[i]))
                return sema_bad(s, span, E0401, "'.%s' of a buffer is not supported yet",
                                name->text);
        return (struct value){.kind = VALUE_ABSENT};
    }
    bool scalar = value_is_scalar_ir(v);
    if (scalar && !strcmp(name->text, "astype")) return method_of(s, v, name);
    return (struct value){.kind = VALUE_ABSENT};
}

static const char *scope_text(const struct buffer *b) {
    switch (b->scope) {
    case SCOPE_GLOBAL: return "global";
    case SCOPE_SHARED: return b->static_shared ? "shared" : "shared.dyn";
    case SCOPE_FRAGMENT: return "local.fragment";
    case SCOPE_LOCAL: return "local";
    }
    return "";
}

struct value call_method(struct sema *s, const struct method *m, struct arguments *a,
                         struct span span) {
    if (!strcmp(m->name->text, "scope") && m->self.kind == VALUE_BUFFER) {
        if (a->list.count) return sema_bad(s, span, E0404, "scope() takes no argument");
        return value_string(s, scope_text(m->self.buffer));
    }
    if (a->list.count != 1)
        return sema_bad(s, span, E0404, "astype(dtype) takes one type, got %d arguments",
                        a->list.count);
    enum dtype type = want_dtype(s, a->list.at[0].value, a->list.at[0].span, "dtype");
    return type == DTYPE_NONE ? value_bad() : convert(s, m->self, type, span);
}
