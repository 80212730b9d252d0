/* notes.c: what a kernel tells the compiler or the person who runs it: annotations, T.assume,
 * T.print, T.device_assert. */
#include "sema/builder.h"

struct value build_hint(struct sema *s, const struct call *c) {
    (void)s;
    (void)c;
    return value_none();
}

struct value build_evaluate(struct sema *s, const struct call *c) {
    (void)s;
    return value_is_bad(c->arg[0]) ? value_bad() : value_none();
}

/* -- Launch --------------------------------------------------------------------------------------
 */
struct value build_use_swizzle(struct sema *s, const struct call *c) {
    bool good = call_in_kernel(s, c);
    int64_t panel = call_int(s, c, 0, 1, &good);
    const char *order = call_string(s, c, 1, "row", &good);
    bool enable = call_bool(s, c, 2, true, &good);
    if (!good) return value_none();
    bool column = !strcmp(order, "column") || !strcmp(order, "col");
    if (!strcmp(order, "mlx"))
        return sema_bad(s, c->arg_span[1], E0401,
                        "order \"mlx\" of T.use_swizzle is not supported yet");
    if (!column && strcmp(order, "row"))
        return sema_bad(s, c->arg_span[1], E0404,
                        "'order' of T.use_swizzle is \"row\" or \"column\", not \"%s\"", order);
    if (panel < 1 || panel > 1024)
        return sema_bad(s, c->arg_span[0], E0404,
                        "'panel_size' of T.use_swizzle is 1 to 1024, not %lld", (long long)panel);
    if (!enable) return value_none();
    s->kernel->swizzle_panel = (int32_t)panel;
    s->kernel->swizzle_column = column;
    return value_none();
}

struct value build_annotate_min_blocks(struct sema *s, const struct call *c) {
    bool good = call_in_kernel(s, c);
    int64_t n = call_int(s, c, 0, 1, &good);
    if (!good) return value_none();
    if (n < 1 || n > 32)
        return sema_bad(s, c->arg_span[0], E0404, "an SM takes 1 to 32 blocks, not %lld",
                        (long long)n);
    s->kernel->min_blocks = (int32_t)n;
    return value_none();
}

/* -- Tensors -------------------------------------------------------------------------------------
 */
struct value build_annotate_restrict(struct sema *s, const struct call *c) {
    for (int i = 0; i < c->rest.list.count; i++) {
        struct value v = c->rest.list.at[i].value;
        if (value_is_bad(v)) continue;
        if (v.kind == VALUE_BUFFER)
            v.buffer->no_restrict = true;
        else
            sema_error(s, c->rest.list.at[i].span, E0319, "a tensor is needed here, got %s",
                       value_kind_name(v));
    }
    return value_none();
}

static bool want_dict(struct sema *s, const struct call *c) {
    if (c->arg[0].kind == VALUE_DICT) return true;
    if (!value_is_bad(c->arg[0]))
        sema_error(s, c->arg_span[0], E0404, "'T.%s' takes a dict {buffer: …}, got %s",
                   c->row->name, value_kind_name(c->arg[0]));
    return false;
}

struct value build_annotate_safe_value(struct sema *s, const struct call *c) {
    if (!want_dict(s, c)) return value_none();
    const struct dict *d = c->arg[0].dict;
    for (int i = 0; i < d->keys.count; i++) {
        struct value key = d->keys.at[i];
        if (value_is_bad(key)) continue;
        if (key.kind != VALUE_BUFFER || key.buffer->scope != SCOPE_GLOBAL) {
            sema_error(s, c->arg_span[0], E0318,
                       "a safe value belongs to a global tensor, not to %s",
                       key.kind == VALUE_BUFFER ? key.buffer->name->text : value_kind_name(key));
            continue;
        }
        struct expr *e = value_expr_as(s, d->values.at[i], key.buffer->dtype, c->arg_span[0]);
        if (e && (expr_has_load(e) || e->kind == EXPR_VAR ||
                  (e->kind != EXPR_INT && e->kind != EXPR_FLOAT)))
            sema_error(s, c->arg_span[0], E0404, "the safe value of '%s' is a compile-time number",
                       key.buffer->name->text);
        else if (e)
            key.buffer->safe_value = e;
    }
    return value_none();
}

/* -- Layouts of shared tiles ---------------------------------------------------------------------
 */
static struct value layout_value(struct sema *s, struct buffer *b, struct layout layout) {
    struct layout_object *o = arena_make(s->arena, struct layout_object);
    o->buffer = b;
    o->layout = layout;
    return (struct value){.kind = VALUE_LAYOUT, .layout = o};
}

static struct buffer *tile_argument(struct sema *s, const struct call *c) {
    struct value v = c->arg[0];
    if (v.kind == VALUE_BUFFER && v.buffer->scope != SCOPE_GLOBAL) return v.buffer;
    if (!value_is_bad(v))
        sema_error(s, c->arg_span[0], E0316, "'%s' lays out a tile, not %s", c->row->name,
                   v.kind == VALUE_BUFFER ? "a global tensor" : value_kind_name(v));
    return NULL;
}

struct value build_layout_swizzled(struct sema *s, const struct call *c) {
    struct buffer *b = tile_argument(s, c);
    if (!b) return value_bad();
    return layout_value(s, b, layout_swizzled(b->rank, b->extent, dtype_bytes(b->dtype)));
}

struct value build_layout_linear(struct sema *s, const struct call *c) {
    struct buffer *b = tile_argument(s, c);
    return b ? layout_value(s, b, layout_row_major(b->rank, b->extent, 0)) : value_bad();
}

static void annotate(struct sema *s, const struct call *c, struct value key, struct value v) {
    struct span span = c->arg_span[0];
    if (value_is_bad(key) || value_is_bad(v)) return;
    if (key.kind != VALUE_BUFFER) {
        sema_error(s, span, E0319, "the keys of T.annotate_layout are buffers, got %s",
                   value_kind_name(key));
        return;
    }
    struct buffer *b = key.buffer;
    if (v.kind != VALUE_LAYOUT) {
        sema_error(s, span, E0401,
                   "%s as the layout of '%s' is not supported yet; use a helper of T.layout",
                   value_kind_name(v), b->name->text);
        return;
    }
    if (b->scope == SCOPE_GLOBAL) {
        sema_error(s, span, E0401, "a layout of the global tensor '%s' is not supported yet",
                   b->name->text);
        return;
    }
    if (b->scope != SCOPE_SHARED) return; /* a hint that changes no result */
    const struct layout *l = &v.layout->layout;
    bool same = l->rank == b->rank;
    for (int i = 0; same && i < b->rank; i++) same = l->axis[i].extent == b->extent[i];
    if (!same) {
        sema_error(s, span, E0316, "the layout made for '%s' %s does not cover '%s' %s",
                   v.layout->buffer->name->text,
                   extents_text(s, v.layout->buffer->rank, v.layout->buffer->extent), b->name->text,
                   extents_text(s, b->rank, b->extent));
        return;
    }
    b->annotation = *l;
}

struct value build_annotate_layout(struct sema *s, const struct call *c) {
    if (!call_in_kernel(s, c) || !want_dict(s, c)) return value_none();
    const struct dict *d = c->arg[0].dict;
    for (int i = 0; i < d->keys.count; i++) annotate(s, c, d->keys.at[i], d->values.at[i]);
    return value_none();
}

/* -- Facts ---------------------------------------------------------------------------------------
 */
static void tighten(struct sema *s, struct var *v, int64_t lo, int64_t hi) {
    if (lo > v->lo) v->lo = lo;
    if (hi < v->hi) v->hi = hi;
    struct expr *e = expr_var(s->exprs, v);
    e->lo = v->lo;
    e->hi = v->hi;
}

static void assume_compare(struct sema *s, enum function fn, const struct expr *a,
                           const struct expr *b) {
    int64_t n;
    bool flip = a->kind != EXPR_VAR;
    const struct expr *var = flip ? b : a, *bound = flip ? a : b;
    if (var->kind != EXPR_VAR || !expr_is_int(bound, &n) || n == INT64_MAX || n == INT64_MIN)
        return;
    enum var_kind kind = var->var->kind;
    if (kind != VAR_DIM && kind != VAR_PARAM) return;
    bool strict = fn == FN_LT;
    if (fn == FN_EQ)
        tighten(s, var->var, n, n);
    else if (flip)
        tighten(s, var->var, strict ? n + 1 : n, INT64_MAX);
    else
        tighten(s, var->var, INT64_MIN, strict ? n - 1 : n);
}

/* x % n == 0 */
static bool assume_multiple(struct sema *s, const struct expr *e) {
    int64_t n, zero;
    const struct expr *mod = e->args[0]->kind == EXPR_OP ? e->args[0] : e->args[1];
    const struct expr *other = mod == e->args[0] ? e->args[1] : e->args[0];
    if (mod->kind != EXPR_OP || mod->fn != FN_FLOORMOD || !expr_is_int(other, &zero) || zero)
        return false;
    const struct expr *x = mod->args[0];
    if (x->kind != EXPR_VAR || !expr_is_int(mod->args[1], &n) || n < 1) return false;
    if (x->var->kind != VAR_DIM && x->var->kind != VAR_PARAM) return false;
    if (x->var->divisor > 0 && n % x->var->divisor == 0) {
        x->var->divisor = n;
        expr_var(s->exprs, x->var)->divisor = n;
    }
    return true;
}

static void assume(struct sema *s, const struct expr *e) {
    if (e->kind != EXPR_OP) return;
    if (e->fn == FN_LAND) {
        assume(s, e->args[0]);
        assume(s, e->args[1]);
    } else if (e->fn == FN_EQ && assume_multiple(s, e)) {
        return;
    } else if (e->fn == FN_LT || e->fn == FN_LE || e->fn == FN_EQ) {
        assume_compare(s, e->fn, e->args[0], e->args[1]);
    }
}

struct value build_assume(struct sema *s, const struct call *c) {
    struct expr *e = value_condition(s, c->arg[0], c->arg_span[0]);
    if (e && s->tile && s->tile->branches == 0) assume(s, e);
    return value_none();
}

/* -- For the person ------------------------------------------------------------------------------
 */
struct value build_print(struct sema *s, const struct call *c) {
    bool good = call_in_kernel(s, c);
    const char *message = call_string(s, c, 1, "", &good);
    call_int(s, c, 2, 0, &good);
    call_int(s, c, 3, 0, &good);
    if (!good || value_is_bad(c->arg[0])) return value_none();
    if (c->arg[0].kind == VALUE_BUFFER) {
        if (c->arg[0].buffer->scope == SCOPE_GLOBAL)
            return sema_bad(s, c->arg_span[0], E0318,
                            "'%s' is a global tensor; T.print shows scalars and tiles",
                            c->arg[0].buffer->name->text);
        if (c->arg[0].buffer->scope != SCOPE_LOCAL && !call_as_tile(s, c)) return value_none();
        struct stmt *st = append(s, STMT_PRINT, c->span);
        st->print.message = message;
        st->print.buffer = c->arg[0].buffer;
        return value_none();
    }
    struct expr *e = value_expr(s, c->arg[0], c->arg_span[0]);
    if (!e) return value_none();
    struct stmt *st = append(s, STMT_PRINT, c->span);
    st->print.message = message;
    st->print.value = e;
    return value_none();
}

struct value build_device_assert(struct sema *s, const struct call *c) {
    bool good = call_in_kernel(s, c);
    const char *message = call_string(s, c, 1, "", &good);
    if (!good) return value_none();
    form_assert(s, c->arg[0], message[0] ? message : "device_assert", c->arg_span[0]);
    return value_none();
}
