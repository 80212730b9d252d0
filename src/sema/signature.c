/* signature.c: parameters of kernels: tensor types, dimensions, and the order in the launcher. */
#include "sema/host.h"

/* -- Tensor types
 * -------------------------------------------------------------------------------------- */

/* An extent or stride: an int or an integer expression of dimensions. */
static bool take_extent(struct sema *s, struct value v, struct span span, const char *what,
                        struct value *out) {
    int64_t i;
    if (value_is_scalar_ir(v) && v.kind == VALUE_IR) {
        *out = v;
        return true;
    }
    if (!want_int(s, v, span, what, &i)) return false;
    if (i < 0) {
        sema_error(s, span, E0214, "'%s' holds %lld; the least is 0", what, (long long)i);
        return false;
    }
    *out = value_int(i);
    return true;
}

static int take_extents(struct sema *s, struct value v, struct span span, const char *what,
                        struct value *out) {
    int count = is_sequence(v) ? v.sequence->items.count : 1;
    if (v.kind == VALUE_BAD) return -1;
    if (count < 1 || count > TILE_RANK - 1) {
        sema_error(s, span, E0214, "'%s' has %d axes; 1 to %d are possible", what, count,
                   TILE_RANK - 1);
        return -1;
    }
    for (int i = 0; i < count; i++)
        if (!take_extent(s, is_sequence(v) ? v.sequence->items.at[i] : v, span, what, &out[i]))
            return -1;
    return count;
}

static struct value tensor_value(struct sema *s, const struct call *c, int kind, int dtype_at) {
    struct tensor_type *t = arena_make(s->arena, struct tensor_type);
    if (c->arg[dtype_at].kind == VALUE_TENSOR_TYPE)
        return sema_bad(s, c->arg_span[dtype_at], E0401,
                        "tensors of pointers are not supported yet");
    t->dtype = c->arg[dtype_at].kind == VALUE_ABSENT
                   ? DTYPE_F32
                   : want_dtype(s, c->arg[dtype_at], c->arg_span[dtype_at], "dtype");
    t->kind = kind;
    t->rank = take_extents(s, c->arg[0], c->arg_span[0], "shape", t->dim);
    if (t->dtype == DTYPE_NONE || t->rank < 0) return value_bad();
    return (struct value){.kind = VALUE_TENSOR_TYPE, .tensor_type = t};
}

struct value sign_tensor(struct sema *s, const struct call *c) {
    if (c->arg[2].kind != VALUE_ABSENT)
        return sema_bad(s, c->span, E0401,
                        "a T.Tensor over the data of another is not supported yet; use T.reshape");
    return tensor_value(s, c, TENSOR_PLAIN, 1);
}

struct value sign_strided(struct sema *s, const struct call *c) {
    struct value v = tensor_value(s, c, TENSOR_STRIDED, 2);
    if (v.kind == VALUE_BAD) return v;
    struct tensor_type *t = v.tensor_type;
    int count = take_extents(s, c->arg[1], c->arg_span[1], "strides", t->stride);
    if (count >= 0 && count != t->rank)
        return sema_bad(s, c->span, E0214, "the tensor has %d axes and %d strides", t->rank, count);
    return count < 0 ? value_bad() : v;
}

struct value sign_shared(struct sema *s, const struct call *c) {
    return tensor_value(s, c, TENSOR_SHARED, 1);
}
struct value sign_fragment(struct sema *s, const struct call *c) {
    return tensor_value(s, c, TENSOR_FRAGMENT, 1);
}
struct value sign_local(struct sema *s, const struct call *c) {
    return tensor_value(s, c, TENSOR_LOCAL, 1);
}

struct value sign_dtype(struct sema *s, const struct call *c) {
    enum dtype t = want_dtype(s, c->arg[0], c->arg_span[0], "name");
    return t == DTYPE_NONE ? value_bad() : value_dtype(t);
}

struct value sign_compile_flags(struct sema *s, const struct call *c) {
    (void)s, (void)c;
    return value_none();
}

struct value sign_pass_configs(struct sema *s, const struct call *c) {
    if (s->build) apply_pass_configs(s, &s->build->options, c->arg[0], c->arg_span[0]);
    if (s->build && s->build->options.fast_math) s->function->fast_math = true;
    return value_none();
}

/* -- Dimensions
 * ------------------------------------------------------------------------------------------ */

/* The names in "M, N K". */
static int split_names(struct sema *s, const char *text, struct sym **out, int room) {
    int count = 0;
    for (const char *at = text; *(at += strspn(at, " ,\t\n"));) {
        size_t n = strcspn(at, " ,\t\n");
        if (count < room) out[count++] = intern(s->names, at, n);
        at += n;
    }
    return count;
}

enum { NAMES = 64 };

static bool good_identifier(const char *n) {
    for (const char *p = n; *p; p++)
        if (!(*p == '_' || (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
              (p > n && *p >= '0' && *p <= '9')))
            return false;
    return *n;
}

static struct value dimension(struct sema *s, struct sym *name, int64_t most, struct span span) {
    struct units *u = &evaluator_of(s)->units;
    if (!good_identifier(name->text))
        return sema_bad(s, span, E0214, "'%s' is no name of a dimension", name->text);
    for (int i = 0; i < u->dims.count; i++) {
        struct var *v = u->dims.at[i];
        if (v->name == name && v->hi == most) return value_ir(expr_var(s->exprs, v));
    }
    struct var *v = var_new(s->exprs, VAR_DIM, name, DTYPE_INDEX, span);
    v->lo = 0;
    v->hi = most;
    v->divisor = 1;
    vec_push(s->arena, &u->dims, v);
    return value_ir(expr_var(s->exprs, v));
}

struct value sign_dynamic(struct sema *s, const struct call *c) {
    struct sym *names[NAMES];
    const char *text = want_string(s, c->arg[0], c->arg_span[0], "names");
    enum dtype t = c->arg[1].kind == VALUE_ABSENT
                       ? DTYPE_I32
                       : want_dtype(s, c->arg[1], c->arg_span[1], "dtype");
    int count = text ? split_names(s, text, names, NAMES) : 0;
    if (!text || t == DTYPE_NONE) return value_bad();
    if (t != DTYPE_I32 && t != DTYPE_I64)
        return sema_bad(s, c->arg_span[1], E0214, "a dimension is int32 or int64, not %s",
                        dtype_spelling(t));
    if (!count) return sema_bad(s, c->span, E0214, "'%s' without a name", c->row->name);
    struct value dims = value_sequence(s, VALUE_TUPLE, 0, NULL);
    for (int i = 0; i < count; i++) {
        struct value v = dimension(s, names[i], t == DTYPE_I32 ? INT32_MAX : INT64_MAX, c->span);
        if (v.kind == VALUE_BAD) return v;
        sequence_push(s, dims, v);
    }
    return count == 1 ? dims.sequence->items.at[0] : dims;
}

struct value sign_const(struct sema *s, const struct call *c) {
    struct sym *names[NAMES];
    const char *text = want_string(s, c->arg[0], c->arg_span[0], "names");
    int count = text ? split_names(s, text, names, NAMES) : 0;
    if (!text) return value_bad();
    if (!s->build || !s->build->eager || s->frame->closure != s->build->closure)
        return sema_bad(s, c->span, E0214, "T.const belongs into the body of an eager kernel");
    struct value values = value_sequence(s, VALUE_TUPLE, 0, NULL);
    for (int i = 0; i < count; i++) {
        struct value v = {.kind = VALUE_ABSENT};
        for (int k = 0; k < s->build->constants.count; k++)
            if (s->build->constants.at[k].name == names[i]) v = s->build->constants.at[k].value;
        if (v.kind == VALUE_ABSENT)
            return sema_bad(s, c->span, E0212, "'%s' has no value; add -D %s=…", names[i]->text,
                            names[i]->text);
        sequence_push(s, values, v);
    }
    return count == 1 ? values.sequence->items.at[0] : values;
}

/* -- Tensors of the function
 * ------------------------------------------------------------------------------- */

static bool size_fits(struct sema *s, const struct tensor_type *t, struct sym *name,
                      struct span span) {
    int64_t bytes = dtype_bytes(t->dtype);
    bool empty = false, fits = true;
    for (int i = 0; i < t->rank; i++) {
        int64_t e = t->dim[i].kind == VALUE_INT ? t->dim[i].integer : 1;
        empty = empty || e == 0;
        fits = fits && !__builtin_mul_overflow(bytes, e ? e : 1, &bytes);
    }
    if (!fits && !empty)
        sema_error(s, span, E0214, "'%s' would have more than 2^63 bytes", name->text);
    return fits || empty;
}

static struct buffer *tensor_buffer(struct sema *s, struct sym *name, const struct tensor_type *t,
                                    struct span span) {
    static const int32_t none[TILE_RANK];
    if (!size_fits(s, t, name, span)) return NULL;
    struct buffer *b =
        buffer_new(s->module, s->function, NULL, SCOPE_GLOBAL, name, t->dtype, t->rank, none);
    b->span = span;
    struct expr *stride = expr_index(s->exprs, 1);
    for (int i = t->rank; i-- > 0;) {
        b->dim[i] = value_index(s, t->dim[i], span);
        if (!b->dim[i]) return NULL;
        b->stride[i] = t->kind == TENSOR_STRIDED ? value_index(s, t->stride[i], span) : stride;
        stride = expr_binary(s->exprs, FN_MUL, stride, b->dim[i]);
        if (!b->stride[i] || !stride) return NULL;
    }
    return b;
}

static void declare(struct sema *s, struct env *e, struct param p, struct value v) {
    vec_push(s->arena, &s->build->declared, p);
    env_bind(s, e, p.name, v, p.span);
}

void declare_parameter(struct sema *s, struct env *e, const struct ast_parameter *p,
                       struct value type) {
    struct param param = {.name = p->name, .span = p->span};
    struct value v = value_bad();
    if (type.kind == VALUE_TENSOR_TYPE && type.tensor_type->kind <= TENSOR_STRIDED) {
        param.kind = PARAM_TENSOR;
        param.buffer = tensor_buffer(s, p->name, type.tensor_type, p->span);
        v = value_buffer(param.buffer);
    } else if (type.kind == VALUE_TENSOR_TYPE && type.tensor_type->kind == TENSOR_POINTER) {
        v = sema_bad(s, p->span, E0401,
                     "the raw pointer '%s' (T.ptr) is not supported yet; declare a T.Tensor",
                     p->name->text);
    } else if (type.kind == VALUE_DTYPE || type.kind == VALUE_STRING ||
               type.kind == VALUE_BUILTIN) {
        enum dtype t = want_dtype(s, type, p->span, p->name->text);
        param.kind = PARAM_SCALAR;
        param.var = t == DTYPE_NONE ? NULL : var_new(s->exprs, VAR_PARAM, p->name, t, p->span);
        v = param.var ? value_ir(expr_var(s->exprs, param.var)) : v;
    } else if (type.kind != VALUE_BAD) {
        v = sema_bad(s, p->span, E0214,
                     "'%s' has to be a T.Tensor or a dtype such as T.int32, not %s", p->name->text,
                     value_a_kind(type));
    }
    declare(s, e, param, v);
}

/* A: T.Tensor(…) as a statement in an eager kernel declares the parameter A. */
bool declare_in_body(struct sema *s, struct env *e, const struct ast_stmt *st) {
    const struct ast_expr *target = st->annotated.target;
    if (!s->build || !s->frame || s->frame->closure != s->build->closure ||
        target->kind != AST_NAME)
        return true;
    const struct ast_parameter *p = s->build->closure->parameters;
    while (p && p->name != target->name) p = p->next;
    if (!p || !is_runtime_annotation(st->annotated.annotation)) return true;
    if (s->kernel) {
        sema_error(s, st->span, E0214,
                   "the parameter '%s' is declared inside T.Kernel; declare it before",
                   p->name->text);
        return false;
    }
    for (int i = 0; i < s->build->declared.count; i++)
        if (s->build->declared.at[i].name == p->name) {
            sema_error(s, st->span, E0214, "the parameter '%s' is declared twice", p->name->text);
            return false;
        }
    struct ast_parameter here = *p;
    here.span = target->span;
    declare_parameter(s, env_body(e), &here, eval_expr(s, e, st->annotated.annotation));
    return true;
}

struct value sign_empty(struct sema *s, const struct call *c) {
    int count = c->rest.list.count;
    struct value shape = count ? c->rest.list.at[0].value : value_none(), type = c->arg[0];
    if (!s->build || !s->build->eager || s->kernel || s->build->options.has_out_idx)
        return sema_bad(
            s, c->span, E0214,
            "T.empty makes an output of an eager kernel, before T.Kernel and without out_idx");
    if (is_sequence(shape) && count == 2 && type.kind == VALUE_ABSENT)
        type = c->rest.list.at[1].value;
    else if (!is_sequence(shape) || count != 1) {
        shape = value_sequence(s, VALUE_TUPLE, 0, NULL);
        for (int i = 0; i < count; i++) sequence_push(s, shape, c->rest.list.at[i].value);
    }
    struct tensor_type t = {.kind = TENSOR_PLAIN, .dtype = DTYPE_F32};
    if (type.kind != VALUE_ABSENT) t.dtype = want_dtype(s, type, c->span, "dtype");
    t.rank = take_extents(s, shape, c->span, "shape", t.dim);
    if (t.dtype == DTYPE_NONE || t.rank < 0) return value_bad();
    struct sym *name =
        c->naming ? c->naming
                  : intern_text(s->names, arena_printf(s->arena, "out%d", s->build->empties.count));
    struct buffer *b = tensor_buffer(s, name, &t, c->span);
    if (!b) return value_bad();
    b->output = true;
    vec_push(s->arena, &s->build->empties, b);
    return value_buffer(b);
}
