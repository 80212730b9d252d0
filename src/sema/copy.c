/* copy.c: T.copy, T.fill and T.clear. */
#include "sema/builder.h"

/* -- Copies of one element -----------------------------------------------------------------------
 */
static bool is_scalar_side(struct value v) {
    if (v.kind == VALUE_VAR || v.kind == VALUE_REF) return true;
    return v.kind == VALUE_ACCESS && access_is_element(v.subscript);
}

static void copy_scalar(struct sema *s, const struct call *c) {
    if (!call_in_kernel(s, c)) return;
    if (c->arg[1].kind == VALUE_VAR)
        form_set(s, c->arg[1], c->arg[0], c->span);
    else
        form_store(s, c->arg[1], c->arg[0], c->span);
}

/* -- Private arrays: every thread copies for itself ----------------------------------------------
 */
static void loop_nest(struct sema *s, const struct pairing *p, struct domain *d,
                      struct block **into, struct span span) {
    static const char *const names[TILE_RANK] = {"i", "j", "k", "l", "m", "n"};
    d->rank = p->rank;
    for (int k = 0; k < p->rank; k++) {
        struct stmt *loop = serial_loop(s, *into, names[k], p->extent[k], span);
        d->axis[k] = loop->loop.var;
        *into = &loop->loop.body;
    }
}

struct expr *guarded_load(struct sema *s, const struct region *r, struct expr *const *index) {
    struct expr *test = NULL, *load = expr_load(s->exprs, r->buffer, r->buffer->rank, index);
    if (r->buffer->scope == SCOPE_GLOBAL) return load;
    for (int i = 0; i < r->buffer->rank; i++)
        test = in_bounds(s, test, index[i], buffer_dim(s, r->buffer, i));
    if (!test) return load;
    struct expr *zero = expr_cast(s->exprs, expr_index(s->exprs, 0), r->buffer->dtype);
    return expr_select(s->exprs, test, load, zero);
}

static void copy_private(struct sema *s, const struct operand *src, const struct operand *dst,
                         const struct pairing *p, struct span span) {
    struct block *into = s->block, *outer = s->block;
    struct domain d = {0};
    struct expr *from[TILE_RANK], *to[TILE_RANK], *test = NULL;
    struct buffer *b = dst->region.buffer;
    loop_nest(s, p, &d, &into, span);
    region_index(s, &src->region, p->src_axis, &d, from);
    region_index(s, &dst->region, p->dst_axis, &d, to);
    for (int i = 0; b->scope != SCOPE_GLOBAL && i < b->rank; i++)
        test = in_bounds(s, test, to[i], buffer_dim(s, b, i));
    if (test) into = &wrap_if(s, test, span, into)->branch.then;
    struct expr *value = expr_cast(s->exprs, guarded_load(s, &src->region, from), b->dtype);
    s->block = into;
    store_element(s, b, to, value, span);
    s->block = outer;
}

/* -- Copies of tiles -----------------------------------------------------------------------------
 */
/* The argument is left out or one of three words; after another error it is not looked at. */
static void check_word(struct sema *s, const struct call *c, const char *parameter,
                       const char *const word[3], bool *good) {
    int at = call_find(c, parameter);
    const char *given = call_string(s, c, at, word[0], good);
    for (int i = 0; i < 3; i++)
        if (!*good || !strcmp(given, word[i])) return;
    sema_error(s, c->arg_span[at], E0404, "'%s' is \"%s\", \"%s\" or \"%s\", not \"%s\"", parameter,
               word[0], word[1], word[2], given);
    *good = false;
}

static bool copy_options(struct sema *s, const struct call *c, int32_t *width) {
    bool good = true;
    int at = call_find(c, "coalesced_width");
    int64_t n = call_int(s, c, at, 0, &good);
    if (good && call_given(c, at) && (n < 1 || n > 16 || (n & (n - 1)))) {
        sema_error(s, c->arg_span[at], E0404,
                   "'coalesced_width' of %lld elements is not possible; 1, 2, 4, 8 or 16 are",
                   (long long)n);
        good = false;
    }
    *width = (int32_t)n;
    static const char *const policies[] = {"evict_normal", "evict_first", "evict_last"};
    static const char *const instructions[] = {"tma", "cp_async", "sync"};
    check_word(s, c, "eviction_policy", policies, &good);
    check_word(s, c, "prefer_instruction", instructions, &good);
    return good;
}

static void append_copy(struct sema *s, const struct operand *src, const struct operand *dst,
                        const struct pairing *p, const struct call *c) {
    struct stmt *st = append(s, STMT_COPY, c->span);
    st->copy.src = src->region;
    st->copy.dst = dst->region;
    st->copy.domain = domain_new(s, p->rank, p->extent, c->span);
    for (int k = 0; k < p->rank; k++) {
        st->copy.src_axis[k] = p->src_axis[k];
        st->copy.dst_axis[k] = p->dst_axis[k];
    }
    copy_options(s, c, &st->copy.width);
    mark_written(dst->region.buffer);
}

/* May an element that is written be another one's source? Not if the slices are one or apart. */
static bool overlap(struct sema *s, const struct operand *src, const struct operand *dst) {
    const struct region *a = &src->region, *b = &dst->region;
    bool one = true;
    if (a->buffer != b->buffer) return false;
    for (int i = 0; i < a->buffer->rank; i++) {
        struct exprs *x = s->exprs;
        struct expr *end_a = expr_binary(x, FN_ADD, a->base[i], expr_index(x, a->extent[i]));
        struct expr *end_b = expr_binary(x, FN_ADD, b->base[i], expr_index(x, b->extent[i]));
        if (expr_proves_le(x, end_a, b->base[i]) || expr_proves_le(x, end_b, a->base[i]))
            return false;
        one &= a->base[i] == b->base[i] && a->extent[i] == b->extent[i];
    }
    return !one;
}

/* A tile that is copied into itself is read before it is written: through another one. */
static void copy_apart(struct sema *s, const struct operand *src, const struct operand *dst,
                       const struct pairing *p, const struct call *c) {
    const struct buffer *b = src->region.buffer;
    bool private = b->scope == SCOPE_LOCAL;
    struct sym *name = module_name(s->module, arena_printf(s->arena, "%s_part", b->name->text));
    struct operand between = {.form = OPERAND_WHOLE, .span = c->span};
    struct pairing in = *p, out = *p;
    struct buffer *t =
        buffer_new(s->module, s->function, s->kernel, private ? SCOPE_LOCAL : SCOPE_FRAGMENT, name,
                   b->dtype, p->rank, p->extent);
    t->span = c->span;
    t->parallel_private = private && s->tile->parallel;
    between.region = region_whole(s->module, t);
    for (int k = 0; k < p->rank; k++) in.dst_axis[k] = out.src_axis[k] = k;
    if (private) {
        copy_private(s, src, &between, &in, c->span);
        copy_private(s, &between, dst, &out, c->span);
    } else {
        append_copy(s, src, &between, &in, c);
        append_copy(s, &between, dst, &out, c);
    }
}

static void copy_tile(struct sema *s, const struct call *c, struct operand *src,
                      struct operand *dst) {
    struct pairing p;
    int32_t width;
    bool private_side =
        src->region.buffer->scope == SCOPE_LOCAL || dst->region.buffer->scope == SCOPE_LOCAL;
    bool fragment_side =
        src->region.buffer->scope == SCOPE_FRAGMENT || dst->region.buffer->scope == SCOPE_FRAGMENT;
    if (!copy_options(s, c, &width) || !pair_operands(s, src, dst, &p, c->span)) return;
    if (private_side && fragment_side) {
        sema_error(s, c->span, E0401,
                   "a copy between the fragment and the private array of '%s' and '%s' is not "
                   "supported yet; go through shared memory",
                   src->region.buffer->name->text, dst->region.buffer->name->text);
        return;
    }
    if (!private_side && !call_as_tile(s, c)) return;
    if (p.rank && overlap(s, src, dst))
        copy_apart(s, src, dst, &p, c);
    else if (private_side)
        copy_private(s, src, dst, &p, c->span);
    else
        append_copy(s, src, dst, &p, c);
}

struct value build_copy(struct sema *s, const struct call *c) {
    struct operand src, dst;
    bool good = true;
    if (value_is_bad(c->arg[0]) || value_is_bad(c->arg[1])) return value_bad();
    if (is_scalar_side(c->arg[1]) && (is_scalar_side(c->arg[0]) || c->arg[0].kind == VALUE_IR)) {
        copy_scalar(s, c);
        return value_none();
    }
    if (!call_in_kernel(s, c)) return value_none();
    good &= operand_of(s, c->arg[0], c->arg_span[0], "src", &src);
    good &= operand_of(s, c->arg[1], c->arg_span[1], "dst", &dst);
    if (good) copy_tile(s, c, &src, &dst);
    return value_none();
}

/* -- Fill ----------------------------------------------------------------------------------------
 */
/* A slice of a fragment is the part of its whole domain that lies in the slice, so that each thread
 * stays with the elements that it holds. */
static struct expr *within_region(struct sema *s, const struct region *r, int axis,
                                  struct expr *e) {
    struct expr *from = expr_binary(s->exprs, FN_SUB, e, r->base[axis]);
    return in_bounds(s, NULL, from, expr_index(s->exprs, r->extent[axis]));
}

static void fill_fragment(struct sema *s, const struct region *r, struct expr *value,
                          struct span span) {
    struct buffer *b = r->buffer;
    struct domain d = domain_new(s, b->rank, b->extent, span);
    struct expr *index[TILE_RANK], *test = NULL;
    for (int i = 0; i < b->rank; i++) {
        index[i] = expr_var(s->exprs, d.axis[i]);
        struct expr *part = within_region(s, r, i, index[i]);
        if (part) test = test ? expr_binary(s->exprs, FN_LAND, test, part) : part;
    }
    struct block *outer = s->block;
    struct stmt *map = map_new(s, d, span);
    s->block = &map->map.body;
    if (test) s->block = &wrap_if(s, test, span, s->block)->branch.then;
    struct stmt *st = append(s, STMT_STORE, span);
    st->store.buffer = b;
    st->store.count = b->rank;
    memcpy(st->store.index, index, sizeof index);
    st->store.value = value;
    s->block = outer;
}

static void fill_region(struct sema *s, const struct region *r, struct expr *value,
                        struct span span) {
    struct buffer *b = r->buffer;
    struct pairing p = {0};
    struct block *outer = s->block, *into = s->block;
    for (int i = 0; i < b->rank; i++) {
        if (r->extent[i] == 1) continue;
        p.extent[p.rank] = r->extent[i];
        p.src_axis[p.rank++] = i;
    }
    struct domain d = {0};
    if (b->scope == SCOPE_LOCAL) {
        loop_nest(s, &p, &d, &into, span);
    } else {
        d = domain_new(s, p.rank, p.extent, span);
        into = &map_new(s, d, span)->map.body;
    }
    struct expr *index[TILE_RANK], *test = NULL;
    region_index(s, r, p.src_axis, &d, index);
    for (int i = 0; b->scope != SCOPE_GLOBAL && i < b->rank; i++)
        test = in_bounds(s, test, index[i], buffer_dim(s, b, i));
    if (test) into = &wrap_if(s, test, span, into)->branch.then;
    s->block = into;
    store_element(s, b, index, value, span);
    s->block = outer;
}

static void fill(struct sema *s, const struct call *c, struct value v) {
    struct operand dst;
    if (value_is_bad(c->arg[0]) || value_is_bad(v) || !call_in_kernel(s, c)) return;
    if (c->arg[0].kind == VALUE_VAR) {
        form_set(s, c->arg[0], v, c->span);
        return;
    }
    if (!operand_of(s, c->arg[0], c->arg_span[0], "dst", &dst) || !size_fits(s, &dst)) return;
    struct buffer *b = dst.region.buffer;
    if (dst.form == OPERAND_ELEMENT && (s->tile->parallel || b->scope == SCOPE_LOCAL)) {
        form_store(s, c->arg[0], v, c->span);
        return;
    }
    struct expr *value = value_expr_as(s, v, b->dtype, c->span);
    if (!value || (b->scope != SCOPE_LOCAL && !call_as_tile(s, c))) return;
    if (expr_has_load(value)) /* read once, before the first element is set */
        value = form_let(s, NULL, value_ir(value), DTYPE_NONE, c->span).expr;
    mark_written(b);
    if (b->scope == SCOPE_FRAGMENT) {
        fill_fragment(s, &dst.region, value, c->span);
        return;
    }
    struct parallel *open = s->tile->parallel, inside = {0};
    if (b->scope != SCOPE_LOCAL) s->tile->parallel = &inside;
    fill_region(s, &dst.region, value, c->span);
    s->tile->parallel = open;
}

struct value build_fill(struct sema *s, const struct call *c) {
    fill(s, c, c->arg[1]);
    return value_none();
}

struct value build_clear(struct sema *s, const struct call *c) {
    fill(s, c, value_int(0));
    return value_none();
}
