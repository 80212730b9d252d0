/* operand.c: the tiles that an operation works on, and how two of them pair. */
#include "sema/builder.h"

const char *extents_text(struct sema *s, int rank, const int32_t *extent) {
    struct text t = text_new(s->arena);
    text_puts(&t, "(");
    for (int i = 0; i < rank; i++) text_printf(&t, i ? ", %d" : "%d", extent[i]);
    text_puts(&t, rank == 1 ? ",)" : ")");
    return t.at;
}

/* -- Operands ------------------------------------------------------------------------------------
 */
static bool set_extent(struct sema *s, struct operand *out, int axis, struct expr *lo,
                       struct expr *hi) {
    struct expr *length = expr_binary(s->exprs, FN_SUB, hi, lo);
    const char *name = out->region.buffer->name->text;
    int64_t n;
    if (!expr_is_int(length, &n) && !affine_difference(hi, lo, &n)) {
        sema_error(s, out->span, E0314,
                   "the extent of axis %d of '%s' is not known at compile time; write lo:lo + N "
                   "with a constant N",
                   axis, name);
        return false;
    }
    if (n < 1 || n > INT32_MAX) {
        sema_error(s, out->span, E0314,
                   "axis %d of the slice of '%s' has %lld entries; 1 to %d are possible", axis,
                   name, (long long)n, INT32_MAX);
        return false;
    }
    out->region.extent[axis] = (int32_t)n;
    return true;
}

static bool whole_of(struct sema *s, struct operand *out) {
    struct buffer *b = out->region.buffer;
    struct expr *zero = expr_index(s->exprs, 0);
    out->form = OPERAND_WHOLE;
    for (int i = 0; i < b->rank; i++) {
        out->region.base[i] = zero;
        if (!set_extent(s, out, i, zero, buffer_dim(s, b, i))) return false;
    }
    return true;
}

/* A corner that leaves axes out is hardly meant as a row of everything behind it. */
static bool corner_is_complete(struct sema *s, const struct subscript *a, struct span span) {
    const struct buffer *b = a->buffer;
    int points = 0;
    while (points < a->count && !a->range[points]) points++;
    if (a->given >= b->rank || points < a->given) return true;
    sema_error(
        s, span, E0311,
        "'%s' has %d axes, got %d indices; a tile's corner has an index for each, a slice ':'",
        b->name->text, b->rank, a->given);
    return false;
}

static bool access_of(struct sema *s, const struct subscript *a, struct operand *out) {
    if (!corner_is_complete(s, a, out->span)) return false;
    out->form = access_is_element(a) ? OPERAND_ELEMENT : OPERAND_SLICE;
    for (int i = 0; i < a->count; i++) {
        out->region.base[i] = a->lo[i];
        out->region.extent[i] = 1;
        if (a->range[i] && !set_extent(s, out, i, a->lo[i], a->hi[i])) return false;
    }
    return true;
}

bool operand_of(struct sema *s, struct value v, struct span span, const char *what,
                struct operand *out) {
    memset(out, 0, sizeof *out);
    out->span = span;
    if (value_is_bad(v)) return false;
    if (v.kind == VALUE_BUFFER) {
        out->region.buffer = v.buffer;
        return whole_of(s, out);
    }
    if (v.kind == VALUE_ACCESS || v.kind == VALUE_REF) {
        out->region.buffer = v.subscript->buffer;
        return access_of(s, v.subscript, out);
    }
    sema_error(s, span, E0319, "'%s' is a buffer or a slice of one, got %s", what,
               value_kind_name(v));
    return false;
}

bool operand_inside(struct sema *s, const struct operand *o, enum diag_code code) {
    const struct region *r = &o->region;
    for (int i = 0; i < r->buffer->rank; i++) {
        int64_t base = 0;
        bool known = expr_is_int(r->base[i], &base);
        if (base >= 0 && base + r->extent[i] <= r->buffer->extent[i]) continue;
        if (known)
            sema_error(s, o->span, code,
                       "entries %lld to %lld of axis %d lie outside '%s', which has %d",
                       (long long)base, (long long)(base + r->extent[i] - 1), i,
                       r->buffer->name->text, r->buffer->extent[i]);
        else
            sema_error(s, o->span, code, "%d entries of axis %d are more than '%s' has, %d",
                       r->extent[i], i, r->buffer->name->text, r->buffer->extent[i]);
        return false;
    }
    return true;
}

bool size_fits(struct sema *s, const struct operand *o) {
    const struct region *r = &o->region;
    int64_t count = 1;
    for (int i = 0; i < r->buffer->rank && count <= INT32_MAX; i++) count *= r->extent[i];
    if (count <= INT32_MAX) return true;
    sema_error(s, o->span, E0404, "%s elements of '%s' are more than one block takes at once, %d",
               extents_text(s, r->buffer->rank, r->extent), r->buffer->name->text, INT32_MAX);
    return false;
}

/* -- Pairing -------------------------------------------------------------------------------------
 */
static int above_one(const struct operand *o) {
    int count = 0;
    for (int i = 0; i < o->region.buffer->rank; i++) count += o->region.extent[i] > 1;
    return count;
}

/* Nearer to the registers: its ranges are the iteration. */
static int nearness(const struct operand *o) {
    enum scope scope = o->region.buffer->scope;
    return scope == SCOPE_GLOBAL ? 0 : scope == SCOPE_SHARED ? 1 : 2;
}

/* An element takes the other side's extents in its last axes. */
static bool attach(struct sema *s, struct operand *element, const struct operand *other,
                   struct span span) {
    int own = element->region.buffer->rank, rank = other->region.buffer->rank;
    for (int i = 0; i < rank; i++) {
        int at = own - rank + i;
        int32_t extent = other->region.extent[i];
        if (at >= 0) {
            element->region.extent[at] = extent;
        } else if (extent > 1) {
            sema_error(s, span, E0306,
                       "a tile of %s does not fit the last axes of '%s', which has %d",
                       extents_text(s, rank, other->region.extent),
                       element->region.buffer->name->text, own);
            return false;
        }
    }
    return true;
}

/* Aligned from the right, a 1 takes the other side's extent and two others their maximum. */
static void align(struct operand *a, struct operand *b) {
    int ra = a->region.buffer->rank, rb = b->region.buffer->rank;
    for (int i = 1; i <= ra && i <= rb; i++) {
        int32_t *x = &a->region.extent[ra - i], *y = &b->region.extent[rb - i];
        int32_t most = *x > *y ? *x : *y;
        *x = *y = most;
    }
}

static bool pairing_error(struct sema *s, const struct operand *src, const struct operand *dst,
                          const char *why, struct span span) {
    const struct buffer *a = src->region.buffer, *b = dst->region.buffer;
    sema_error(s, span, E0306, "'%s' %s does not pair with '%s' %s: %s", a->name->text,
               extents_text(s, a->rank, src->region.extent), b->name->text,
               extents_text(s, b->rank, dst->region.extent), why);
    return false;
}

static bool same_shape(const struct operand *a, const struct operand *b) {
    int rank = a->region.buffer->rank;
    if (rank != b->region.buffer->rank) return false;
    for (int i = 0; i < rank; i++)
        if (a->region.extent[i] != b->region.extent[i]) return false;
    return true;
}

static void axes_above_one(const struct operand *o, int32_t *axis) {
    for (int i = 0, n = 0; i < o->region.buffer->rank; i++)
        if (o->region.extent[i] > 1) axis[n++] = i;
}

bool pair_operands(struct sema *s, struct operand *src, struct operand *dst, struct pairing *out,
                   struct span span) {
    if (src->form == OPERAND_WHOLE && dst->form == OPERAND_WHOLE && !same_shape(src, dst))
        return pairing_error(s, src, dst, "whole buffers need equal shapes; slice one of them",
                             span);
    if (src->form == OPERAND_ELEMENT && !attach(s, src, dst, span)) return false;
    if (dst->form == OPERAND_ELEMENT && !attach(s, dst, src, span)) return false;
    if (above_one(src) != above_one(dst)) align(src, dst);
    out->rank = above_one(src);
    if (out->rank != above_one(dst))
        return pairing_error(s, src, dst, "the numbers of extents above 1 differ", span);
    axes_above_one(src, out->src_axis);
    axes_above_one(dst, out->dst_axis);
    bool by_src = nearness(src) >= nearness(dst);
    for (int k = 0; k < out->rank; k++) {
        int32_t *from = &src->region.extent[out->src_axis[k]];
        int32_t *to = &dst->region.extent[out->dst_axis[k]];
        out->extent[k] = by_src ? *from : *to;
        if (out->extent[k] < *from)
            return pairing_error(s, src, dst, "the destination is smaller than the source", span);
    }
    for (int k = 0; k < out->rank; k++) {
        src->region.extent[out->src_axis[k]] = out->extent[k];
        dst->region.extent[out->dst_axis[k]] = out->extent[k];
    }
    return size_fits(s, src);
}

/* -- Domains -------------------------------------------------------------------------------------
 */
struct domain domain_new(struct sema *s, int rank, const int32_t *extent, struct span span) {
    static const char *const names[TILE_RANK] = {"i", "j", "k", "l", "m", "n"};
    struct domain d = {.rank = rank, .layout = layout_none()};
    for (int i = 0; i < rank; i++) {
        d.axis[i] = var_new(s->exprs, VAR_AXIS, intern_text(s->names, names[i]), DTYPE_INDEX, span);
        d.axis[i]->lo = 0;
        d.axis[i]->hi = extent[i] - 1;
        d.axis[i]->divisor = extent[i] == 1 ? 0 : 1;
        d.extent[i] = extent[i];
    }
    return d;
}

void region_index(struct sema *s, const struct region *r, const int32_t *axis,
                  const struct domain *d, struct expr **index) {
    for (int i = 0; i < r->buffer->rank; i++) index[i] = r->base[i];
    for (int k = 0; k < d->rank; k++)
        index[axis[k]] =
            expr_binary(s->exprs, FN_ADD, r->base[axis[k]], expr_var(s->exprs, d->axis[k]));
}

struct expr *in_bounds(struct sema *s, struct expr *test, struct expr *e, struct expr *extent) {
    struct exprs *x = s->exprs;
    struct expr *zero = expr_index(x, 0), *part[2] = {NULL, NULL};
    if (!expr_proves_le(x, zero, e)) part[0] = expr_binary(x, FN_LE, zero, e);
    if (!expr_proves_lt(x, e, extent)) part[1] = expr_binary(x, FN_LT, e, extent);
    for (int i = 0; i < 2; i++)
        if (part[i]) test = test ? expr_binary(x, FN_LAND, test, part[i]) : part[i];
    return test;
}
