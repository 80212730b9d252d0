/* memory.c: where accesses lie, and reads and writes as wide as alignment and bounds allow. */
#include "internal.h"

bool in_memory(const struct lowering *l, const struct buffer *b) { return !l->arrays[b->id]; }

/* Alignment in bytes of an offset, given that what it is an offset from is aligned to `limit`. */
int32_t known_alignment(const struct expr *offset, int32_t unit, int32_t limit) {
    int32_t a = unit;

    if (offset->divisor == 0) return limit;
    while (a < limit && offset->divisor % (2 * (int64_t)a / unit) == 0 && 2 * a % unit == 0) a *= 2;
    return a;
}

void note_alignment(struct lowering *l, const struct buffer *b, int32_t bytes) {
    if (b->scope == SCOPE_GLOBAL && l->code->alignment[b->id] < bytes)
        l->code->alignment[b->id] = bytes;
}

struct address address_at(struct lowering *l, struct buffer *b, struct expr *offset,
                          int32_t bytes) {
    struct address a = {b, offset, bytes};

    note_alignment(l, b, bytes);
    return a;
}

/* Terms that change in the same loops stand together, those that change least first. */
static int change_of(const struct expr *e) {
    int i, c, most = 0;

    if (e->kind == EXPR_VAR) {
        switch (e->var->kind) {
        case VAR_BLOCK:
        case VAR_DIM:
        case VAR_PARAM: return 0;
        case VAR_THREAD:
        case VAR_LANE:
        case VAR_WARP: return 1;
        case VAR_LOOP: return e->var->unrolled ? 3 : 2;
        default: return 2;
        }
    }
    if (e->kind == EXPR_ELEMENT) return 2;
    for (i = 0; i < e->count; i++) {
        c = change_of(e->args[i]);
        most = c > most ? c : most;
    }
    return most;
}

struct sum {
    struct expr *by_change[4];
    int64_t constant;
};

static void add_term(struct lowering *l, struct sum *s, struct expr *e) {
    int c = change_of(e);

    s->by_change[c] = plus(l, s->by_change[c], e);
}

/* index * stride, term by term. */
static void add_index(struct lowering *l, struct sum *s, struct expr *index, struct expr *stride) {
    struct affine a;
    struct expr *atom;
    int64_t constant;
    int i;

    if (!affine_of(index, &a)) {
        add_term(l, s, expr_binary(l->x, FN_MUL, index, stride));
        return;
    }
    if (expr_is_int(stride, &constant))
        s->constant += a.constant * constant;
    else if (a.constant != 0)
        add_term(l, s, times(l, stride, a.constant));
    for (i = 0; i < a.count; i++) { /* in 64 bits: the product leaves the range of a narrow atom */
        atom = expr_cast(l->x, a.atom[i], DTYPE_INDEX);
        add_term(l, s, times(l, expr_binary(l->x, FN_MUL, atom, stride), a.coefficient[i]));
    }
}

struct expr *global_offset(struct lowering *l, const struct buffer *b, struct expr *const *index) {
    struct sum s = {{NULL}, 0};
    struct expr *offset = NULL;
    int i;

    for (i = 0; i < b->rank; i++) add_index(l, &s, index[i], b->stride[i]);
    for (i = 0; i < 4; i++) offset = plus(l, offset, s.by_change[i]);
    if (s.constant != 0) offset = plus(l, offset, ix(l, s.constant));
    return offset ? offset : ix(l, 0);
}

/* Does the expression use what the element itself has computed? */
static bool uses_own_value(struct lowering *l, const struct site *s, const struct expr *e) {
    const struct env *env, *outer = plan_env(l, s->plan, s->element);

    for (env = s->env; env && env != outer; env = env->outer)
        if (!env->source && expr_uses_var(e, env->var)) return true;
    return false;
}

struct place_at place_of(struct lowering *l, const struct site *s, struct buffer *b,
                         struct expr *const *index) {
    struct place_at p = {NULL, dtype_bytes(b->dtype), {NULL}, {NULL}, NULL};
    struct coordinate c[TILE_RANK];
    struct expr *source;
    int i;

    for (i = 0; i < b->rank; i++) {
        source = bind_source(l, index[i], s->env);
        p.index[i] = value_lower(l, s, source);
        if (b->scope == SCOPE_GLOBAL)
            p.test[i] = bounds_test(l, b, i, source, p.index[i]);
        else if (b->scope == SCOPE_SHARED && s->plan && !expr_has_load(source) &&
                 !uses_own_value(l, s, source))
            c[i] = plan_index(l, s->plan, source, s->element);
        else
            c[i] = coordinate_of(l, p.index[i]);
    }
    if (b->scope == SCOPE_GLOBAL) {
        p.offset = global_offset(l, b, p.index);
    } else if (b->scope == SCOPE_SHARED) {
        p.offset = shared_offset(l, b, c);
        p.unit = 1;
    } else {
        for (i = 0; i < b->rank; i++)
            p.offset = plus(l, p.offset ? times(l, p.offset, b->extent[i]) : NULL, p.index[i]);
    }
    return p;
}

struct expr *place_test(struct lowering *l, const struct place_at *p) {
    struct expr *test = p->guard;
    int i;

    for (i = 0; i < TILE_RANK; i++) test = both(l, test, p->test[i]);
    return test;
}

static bool multiple(const struct expr *e, int32_t of) {
    return e->divisor == 0 || e->divisor % of == 0;
}

/* Are the tests of a run of `width` elements all the same, or implied by that of the first? */
bool tests_cover(const struct buffer *b, const struct place_at *p, int32_t width) {
    int32_t i, e;

    for (e = 1; e < width; e++)
        if (p[e].guard != p[0].guard) return false;
    for (i = 0; i < b->rank; i++) {
        for (e = 1; e < width; e++)
            if (p[e].test[i] != p[0].test[i]) break;
        if (e < width && !(multiple(b->dim[i], width) && multiple(p[0].index[i], width)))
            return false;
    }
    return true;
}

static bool run_fits(const struct vector *v, int32_t first, int32_t width, bool partial) {
    int32_t bytes = dtype_bytes(v->buffer->dtype), e;
    const struct place_at *p = &v->at[first];
    int64_t distance;

    for (e = 1; e < width; e++)
        if (!affine_difference(p[e].offset, p[0].offset, &distance) ||
            distance != (int64_t)e * (bytes / p->unit))
            return false;
    if (v->buffer->scope == SCOPE_LOCAL && width > 1) return false;
    return known_alignment(p->offset, p->unit, 16) >= width * bytes &&
           (partial || tests_cover(v->buffer, p, width));
}

static int32_t widest(const struct vector *v, bool partial) {
    int32_t bytes = dtype_bytes(v->buffer->dtype), width = 16 / bytes, first;

    while (v->count % width != 0) width /= 2;
    for (; width > 1; width /= 2) {
        if (width * bytes < 4) continue;
        for (first = 0; first < v->count; first += width)
            if (!run_fits(v, first, width, partial)) break;
        if (first >= v->count) return width;
    }
    return 1;
}

struct vector vector_of(struct lowering *l, const struct group *g, struct buffer *b,
                        struct expr *const *index) {
    struct vector v = {.buffer = b, .count = g->count, .broadcast = g->count > 1};
    int32_t e, bits = dtype_bits(b->dtype);
    struct site s;

    for (e = 0; e < g->count; e++) {
        s = (struct site){g->plan, e, g->env[e]};
        v.at[e] = place_of(l, &s, b, index);
        v.broadcast &= v.at[e].offset == v.at[0].offset;
    }
    v.width = v.broadcast ? 1 : widest(&v, g->partial);
    v.packed = bits < 32 && v.width > 1;
    v.registers = v.broadcast ? 1 : v.packed ? v.count * bits / 32 : v.count;
    return v;
}

/* The type of the registers that an unpacked element of memory comes in. */
static enum dtype bits_type(enum dtype t) {
    if (register_type(t) == t) return t;
    return t == DTYPE_TF32 ? DTYPE_F32 : DTYPE_U32;
}

struct array *vector_array(struct lowering *l, const struct vector *v) {
    const char *name = arena_printf(l->m->arena, "%s_v", v->buffer->name->text);
    enum dtype t = v->packed ? DTYPE_U32 : bits_type(v->buffer->dtype);

    return add_array(l, name, t, v->packed ? v->buffer->dtype : t, v->registers);
}

static void set_safe(struct lowering *l, const struct vector *v, struct array *a, struct expr *base,
                     int32_t count) {
    struct expr *safe = value_safe(l, v->buffer), *parts[4] = {safe, safe, safe, safe};
    enum dtype t = v->buffer->dtype;
    bool as_float = bits_type(t) == DTYPE_F32;
    struct expr *one = v->packed  ? value_pack(l, parts, t)
                       : as_float ? value_round(l, safe, t)
                                  : value_bits(l, safe, t);
    int32_t i;

    for (i = 0; i < count; i++) add_put(l, a, plus(l, base, ix(l, i)), one);
}

static void load_run(struct lowering *l, const struct vector *v, const struct place_at *p,
                     struct array *a, struct expr *index) {
    int32_t bytes = v->width * dtype_bytes(v->buffer->dtype);
    struct kstmt *s = add(l, K_LOAD);

    s->memory.address = address_at(l, v->buffer, p->offset, bytes);
    s->memory.memory = v->buffer->dtype;
    s->memory.bytes = bytes;
    s->memory.data.array = a;
    s->memory.data.index = index;
    s->memory.read_only = buffer_is_constant(v->buffer);
}

void vector_load(struct lowering *l, const struct vector *v, struct array *a, struct expr *base) {
    int32_t count = v->broadcast ? 1 : v->count, e;
    int32_t words = v->packed ? v->width * dtype_bits(v->buffer->dtype) / 32 : v->width;
    struct kblock *saved;
    struct expr *test, *index;

    for (e = 0; e < count; e += v->width) {
        test = place_test(l, &v->at[e]);
        index = plus(l, base, ix(l, e / v->width * words));
        if (!test) {
            load_run(l, v, &v->at[e], a, index);
            continue;
        }
        saved = add_if(l, test);
        load_run(l, v, &v->at[e], a, index);
        add_else(l, saved);
        set_safe(l, v, a, index, words);
        out_leave(l, saved);
    }
}

/* From now on the reads of `load` are these registers. */
void vector_loaded(struct lowering *l, const struct vector *v, struct expr *load, struct array *a,
                   struct expr *base) {
    int32_t parts = array_parts(a), e, at;
    struct expr *value;

    for (e = 0; e < v->count; e++) {
        at = v->broadcast ? 0 : e;
        value = value_part(l, a, plus(l, base, ix(l, at / parts)), at % parts);
        if (!v->packed)
            value = value_of_bits(l, element(l, a, plus(l, base, ix(l, at))), v->buffer->dtype);
        vec_push(l->m->arena, &l->loaded, ((struct loaded){load, e, value}));
    }
}

static bool is_loaded(const struct lowering *l, const struct expr *load, int32_t e) {
    int i;

    for (i = 0; i < l->loaded.count; i++)
        if (l->loaded.at[i].load == load && l->loaded.at[i].element == e) return true;
    return false;
}

/* Shared and local indices in a branch may be wrong where it is not taken. */
bool load_is_safe(struct lowering *l, const struct expr *load) {
    int i;

    if (load->buffer->scope == SCOPE_GLOBAL) return true;
    for (i = 0; i < load->count; i++)
        if (!expr_proves_le(l->x, ix(l, 0), load->args[i]) ||
            !expr_proves_lt(l->x, load->args[i], ix(l, load->buffer->extent[i])))
            return false;
    return true;
}

static void each_load(struct lowering *l, struct expr *e, bool certain,
                      void (*visit)(struct lowering *l, struct expr *load, void *data),
                      void *data) {
    bool choice =
        e->kind == EXPR_SELECT || (e->kind == EXPR_OP && (e->fn == FN_LAND || e->fn == FN_LOR));
    int i;

    if (!expr_has_load(e)) return;
    for (i = 0; i < e->count; i++)
        each_load(l, e->args[i], certain && (i == 0 || !choice), visit, data);
    if (e->kind == EXPR_LOAD && in_memory(l, e->buffer) && (certain || load_is_safe(l, e)))
        visit(l, e, data);
}

void group_each_load(struct lowering *l, struct expr *e,
                     void (*visit)(struct lowering *l, struct expr *load, void *data), void *data) {
    each_load(l, e, true, visit, data);
}

static void load_now(struct lowering *l, struct expr *load, void *data) {
    struct group *g = data;
    struct vector v;
    struct array *a;

    if (is_loaded(l, load, 0)) return;
    v = vector_of(l, g, load->buffer, load->args);
    a = vector_array(l, &v);
    vector_load(l, &v, a, ix(l, 0));
    vector_loaded(l, &v, load, a, ix(l, 0));
}

void group_loads(struct lowering *l, struct group *g, struct expr *e) {
    group_each_load(l, e, load_now, g);
}

/* One element, here and now. */
struct expr *scalar_load(struct lowering *l, const struct site *s, struct expr *load) {
    struct place_at p = place_of(l, s, load->buffer, load->args);
    struct vector v = {.buffer = load->buffer, .count = 1, .width = 1, .registers = 1};
    struct array *a;
    struct kstmt *k;

    v.at[0] = p;
    if (place_test(l, &p)) {
        a = vector_array(l, &v);
        vector_load(l, &v, a, ix(l, 0));
        return value_of_bits(l, element(l, a, ix(l, 0)), load->buffer->dtype);
    }
    k = add(l, K_LOAD);
    k->memory.address = address_at(l, load->buffer, p.offset, dtype_bytes(load->buffer->dtype));
    k->memory.memory = load->buffer->dtype;
    k->memory.bytes = dtype_bytes(load->buffer->dtype);
    k->memory.read_only = buffer_is_constant(load->buffer);
    k->memory.var = var_new(
        l->x, VAR_LET,
        intern_text(l->m->names, arena_printf(l->m->arena, "%s_v", load->buffer->name->text)),
        bits_type(load->buffer->dtype), l->span);
    return value_of_bits(l, expr_var(l->x, k->memory.var), load->buffer->dtype);
}
