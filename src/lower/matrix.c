/* matrix.c: COPY from shared memory to an mma operand fragment by ldmatrix.
 *
 * ldmatrix brings 8 rows of 16 bytes, and gives lane 4r+c the 32-bit word c of row r; transposed
 * (16-bit elements only) it gives elements 2c and 2c+1 of column r. A fragment takes it where its
 * layout says just that: along axis p a word of registers and then 4@lane:1, along axis r 8@lane:4.
 * Two further register digits of radix 2 choose among four matrices; their row addresses come from
 * the lanes 8i … 8i+7, so the digits become fields of the lane in the address. */
#include "internal.h"

struct matrix {
    int p, r;     /* axes of the domain */
    int32_t word; /* elements of a 32-bit register */
    bool transpose;
    int32_t matrices;
    struct plan plan; /* REG digits that are loops; the vector is not used */
    struct {
        int axis;
        int64_t weight;
    } choice[2]; /* which matrix: lane / 8 % 2 and lane / 16 % 2 */
    const struct region *src, *dst;
    const int32_t *src_axis, *dst_axis;
    bool fits;
};

static bool is_digit(const struct digit *d, enum space space, int32_t radix, int32_t stride) {
    return d->space == space && d->radix == radix && d->stride == stride;
}

/* Is axis i one of words along the registers and then 4 lanes? Cuts its digits there. */
static bool is_word_axis(struct layout *y, int i, int32_t word) {
    struct layout cut = *y;
    int at = word > 1;

    if (!layout_split(&cut, i, word) || !layout_split(&cut, i, 4 * word) ||
        cut.axis[i].count <= at || !is_digit(&cut.axis[i].digit[at], SPACE_LANE, 4, 1) ||
        (word > 1 && !is_digit(&cut.axis[i].digit[0], SPACE_REG, word, 1)))
        return false;
    *y = cut;
    return true;
}

static bool is_row_axis(struct layout *y, int i) {
    struct layout cut = *y;

    if (!layout_split(&cut, i, 8) || cut.axis[i].count == 0 ||
        !is_digit(&cut.axis[i].digit[0], SPACE_LANE, 8, 4))
        return false;
    *y = cut;
    return true;
}

bool matrix_axes(struct layout *y, int32_t word, int *p, int *r) {
    int i;

    *p = *r = -1;
    for (i = 0; i < y->rank; i++)
        if (*p < 0 && is_word_axis(y, i, word))
            *p = i;
        else if (*r < 0 && is_row_axis(y, i))
            *r = i;
    return *p >= 0 && *r >= 0;
}

static void add_loop(struct plan *p, struct plan_loop loop) {
    int i = p->loops++;

    for (; i > 0 && p->loop[i - 1].stride < loop.stride; i--) p->loop[i] = p->loop[i - 1];
    p->loop[i] = loop;
}

/* The register digits above a matrix, as loops over words, lowest stride last. */
static bool find_loops(const struct layout *y, struct matrix *m) {
    const struct digit *d;
    int64_t weight;
    int i, j, skip;

    for (i = 0; i < y->rank; i++) {
        skip = i == m->p ? 1 + (m->word > 1) : i == m->r ? 1 : 0;
        for (j = 0, weight = 1; j < y->axis[i].count; weight *= y->axis[i].digit[j++].radix) {
            d = &y->axis[i].digit[j];
            if (j < skip || d->space == SPACE_WARP) continue;
            if (d->space != SPACE_REG || d->stride % m->word != 0 || m->plan.loops == LOOPS)
                return false;
            add_loop(&m->plan, (struct plan_loop){.radix = d->radix,
                                                  .axis = i,
                                                  .stride = d->stride / m->word,
                                                  .weight = weight});
        }
    }
    return true;
}

/* Takes a factor 2 off the innermost loop if its words are `stride` apart. */
static bool take_choice(struct matrix *m, int which) {
    struct plan *p = &m->plan;
    struct plan_loop *last;

    if (p->loops == 0) return false;
    last = &p->loop[p->loops - 1];
    if (last->stride != 1 << which || last->radix % 2 != 0) return false;
    m->choice[which].axis = last->axis;
    m->choice[which].weight = last->weight;
    last->radix /= 2;
    last->weight *= 2;
    last->stride *= 2;
    if (last->radix == 1) p->loops--;
    m->matrices *= 2;
    return true;
}

/* Matrix rows are 16 bytes of the axis that is contiguous in memory. */
static bool find_direction(struct matrix *m) {
    const struct buffer *b = m->src->buffer;
    int32_t run = 16 / dtype_bytes(b->dtype), shift = 0, i;
    int along[2] = {m->src_axis[m->p], m->src_axis[m->r]};
    struct layout y = b->layout;
    int k;

    while (1 << shift < run) shift++;
    for (i = 0; i < y.xors; i++)
        if (y.xor_term[i].target < shift) return false;
    for (k = 0; k < (m->word == 2 ? 2 : 1); k++) {
        if (!layout_split(&y, along[k], run) ||
            !is_digit(&y.axis[along[k]].digit[0], SPACE_OFF, run, 1))
            continue;
        m->transpose = k == 1;
        return true;
    }
    return false;
}

/* Coordinate of this lane's row address along a domain axis. */
static struct coordinate row_coordinate(struct lowering *l, const struct matrix *m, int axis) {
    const struct layout_axis *a = &m->plan.domain->layout.axis[axis];
    struct coordinate c = {.count = 0};
    int64_t weight = 1;
    int j;

    if (axis == (m->transpose ? m->p : m->r))
        coordinate_add(&c,
                       (struct field){.kind = FIELD_LANE, .radix = 8, .stride = 1, .weight = 1});
    for (j = 0; j < 2; j++)
        if (m->matrices > 1 << j && m->choice[j].axis == axis)
            coordinate_add(&c, (struct field){.kind = FIELD_LANE,
                                              .radix = 2,
                                              .stride = 8 << j,
                                              .weight = m->choice[j].weight});
    for (j = 0; j < m->plan.loops; j++)
        if (m->plan.loop[j].axis == axis)
            coordinate_add(&c, (struct field){.kind = FIELD_LOOP,
                                              .radix = m->plan.loop[j].radix,
                                              .weight = m->plan.loop[j].weight,
                                              .value = m->plan.loop[j].value});
    for (j = 0; j < a->count; weight *= a->digit[j++].radix)
        if (a->digit[j].space == SPACE_WARP)
            coordinate_add(&c, (struct field){.kind = FIELD_WARP,
                                              .radix = a->digit[j].radix,
                                              .stride = a->digit[j].stride,
                                              .weight = weight});
    coordinate_finish(l, &c);
    return c;
}

static struct expr *row_address(struct lowering *l, const struct matrix *m) {
    struct coordinate c[TILE_RANK];
    const struct region *r = m->src;
    struct site s = {.env = l->env};
    struct expr *base;
    int i, k;

    for (i = 0; i < r->buffer->rank; i++) {
        base = value_lower(l, &s, bind_source(l, r->base[i], l->env));
        for (k = 0; k < m->plan.domain->rank && m->src_axis[k] != i; k++)
            ;
        if (k == m->plan.domain->rank) {
            c[i] = coordinate_of(l, base);
            continue;
        }
        c[i] = row_coordinate(l, m, k);
        if (!coordinate_base(l, &c[i], base))
            c[i] = coordinate_of(l, plus(l, c[i].value, base));
        else
            coordinate_finish(l, &c[i]);
    }
    return shared_offset(l, r->buffer, c);
}

/* Where the words go: the slot of the fragment, and the loops. */
static struct expr *word_index(struct lowering *l, const struct matrix *m) {
    const struct region *r = m->dst;
    struct coordinate c[TILE_RANK];
    struct site s = {.env = l->env};
    struct expr *index = NULL;
    struct slot slot;
    int i;

    for (i = 0; i < r->buffer->rank; i++)
        c[i] = coordinate_of(l, value_lower(l, &s, bind_source(l, r->base[i], l->env)));
    if (!fragment_slot(l, r->buffer, c, &slot) || slot.part != 0) return NULL;
    for (i = 0; i < m->plan.loops; i++)
        index = plus(l, index, times(l, m->plan.loop[i].value, m->plan.loop[i].stride));
    return plus(l, slot.word, index);
}

static void load_matrices(struct lowering *l, struct plan *p, void *data) {
    struct matrix *m = data;
    struct expr *address = row_address(l, m), *word = word_index(l, m);
    struct kstmt *s;

    (void)p;
    if (!word || known_alignment(address, 1, 16) < 16) {
        m->fits = false;
        return;
    }
    s = add(l, K_LDMATRIX);
    s->matrix.address = address_at(l, m->src->buffer, address, 16);
    s->matrix.data.array = l->arrays[m->dst->buffer->id];
    s->matrix.data.index = word;
    s->matrix.matrices = m->matrices;
    s->matrix.transpose = m->transpose;
}

/* f32 operands are rounded to tf32 after they have arrived. */
static void round_words(struct lowering *l, struct plan *p, void *data) {
    struct matrix *m = data;
    struct array *a = l->arrays[m->dst->buffer->id];
    struct expr *first = word_index(l, m), *at, *value;
    int i;

    (void)p;
    for (i = 0; i < m->matrices; i++) {
        at = plus(l, first, ix(l, i));
        value = expr_op(l->x, FN_F32_BITS, DTYPE_F32, 1, (struct expr *[]){element(l, a, at)});
        add_put(l, a, at, expr_op(l->x, FN_F32_TO_TF32, DTYPE_U32, 1, (struct expr *[]){value}));
    }
}

static bool types_fit(const struct stmt *t) {
    enum dtype from = t->copy.src.buffer->dtype, to = t->copy.dst.buffer->dtype;

    return t->copy.src.buffer->scope == SCOPE_SHARED &&
           t->copy.dst.buffer->scope == SCOPE_FRAGMENT && dtype_bits(to) <= 32 && to != DTYPE_I32 &&
           to != DTYPE_U32 && to != DTYPE_F32 &&
           (from == to || (from == DTYPE_F32 && to == DTYPE_TF32));
}

/* The fragment's own digits on the axes of the domain, where the base is a slot at most. */
static bool domain_is_fragment(const struct stmt *t) {
    const struct layout *d = &t->copy.domain.layout, *f = &t->copy.dst.buffer->layout;
    int64_t base;
    int i, k;

    for (k = 0; k < t->copy.domain.rank; k++) {
        i = t->copy.dst_axis[k];
        if (!expr_is_int(t->copy.dst.base[i], &base) || base != 0 ||
            memcmp(d->axis[k].digit, f->axis[i].digit, sizeof d->axis[k].digit) != 0 ||
            d->axis[k].count != f->axis[i].count)
            return false;
    }
    return true;
}

static bool is_padded(const struct domain *d) {
    int64_t span;
    int i, j;

    for (i = 0; i < d->rank; i++) {
        for (j = 0, span = 1; j < d->layout.axis[i].count; j++)
            span *= d->layout.axis[i].digit[j].radix;
        if (span > d->extent[i]) return true;
    }
    return false;
}

bool copy_matrix(struct lowering *l, struct stmt *t) {
    struct matrix m = {.matrices = 1, .fits = true};
    struct layout y = t->copy.domain.layout;
    struct kblock *saved = l->out, scratch = {NULL, NULL};
    struct nest n = {&m.plan, 0, 0, load_matrices, &m};
    struct plan first;

    if (!types_fit(t) || !module_has(l->m, FEATURE_LDMATRIX) ||
        is_padded(&t->copy.domain) || !domain_is_fragment(t))
        return false;
    m.word = 32 / dtype_bits(t->copy.dst.buffer->dtype);
    m.src = &t->copy.src;
    m.dst = &t->copy.dst;
    m.src_axis = t->copy.src_axis;
    m.dst_axis = t->copy.dst_axis;
    m.plan.domain = &t->copy.domain;
    m.plan.axis = -1;
    m.plan.vector = 1;
    if (!matrix_axes(&y, m.word, &m.p, &m.r) || !find_loops(&y, &m) || !find_direction(&m))
        return false;
    if (take_choice(&m, 0)) take_choice(&m, 1);
    first = m.plan;
    n.to = m.plan.loops;
    l->out = &scratch;
    nest_run(l, &n);
    if (m.fits && t->copy.src.buffer->dtype == DTYPE_F32) {
        m.plan = first;
        n.body = round_words;
        nest_run(l, &n);
    }
    l->out = saved;
    if (m.fits) block_splice(l->out, &scratch);
    return m.fits;
}
