/* gemm.c: GEMM on register fragments: one tensor-core instruction for each pair of atoms.
 *
 * The fragments' layouts are an atom (the instruction's own fragment), warps, and repeats in
 * registers; the repeats become loops, rows outside, so that an A fragment is used for a whole row
 * of B fragments. */
#include "internal.h"

/* The register repeats of one axis of a fragment above the atom. */
struct repeats {
    int count;
    int32_t total; /* product of the radices */
    struct digit digit[LAYOUT_DIGITS];
};

static bool find_repeats(const struct layout *layout, int axis, int32_t atom, struct repeats *out) {
    struct layout y = *layout;
    int64_t weight = 1;
    int j;

    memset(out, 0, sizeof *out);
    out->total = 1;
    if (!layout_split(&y, axis, atom)) return false;
    for (j = 0; j < y.axis[axis].count; weight *= y.axis[axis].digit[j++].radix) {
        if (weight < atom || y.axis[axis].digit[j].space != SPACE_REG) continue;
        out->digit[out->count++] = y.axis[axis].digit[j];
        out->total *= y.axis[axis].digit[j].radix;
    }
    return true;
}

/* Register offset of repeat number `i`, in units of `unit` elements. */
static struct expr *repeat_offset(struct lowering *l, const struct repeats *r, struct expr *i,
                                  int32_t unit) {
    struct expr *sum = NULL, *digit;
    int32_t below = 1;
    int j;

    for (j = 0; j < r->count; below *= r->digit[j++].radix) {
        digit = below > 1 ? expr_binary(l->x, FN_FLOORDIV, i, ix(l, below)) : i;
        if (j + 1 < r->count)
            digit = expr_binary(l->x, FN_FLOORMOD, digit, ix(l, r->digit[j].radix));
        sum = plus(l, sum, times(l, digit, r->digit[j].stride / unit));
    }
    return sum;
}

struct side { /* an operand */
    struct array *array;
    struct expr *base; /* register of the first atom */
    int32_t unit;      /* elements a register */
    struct repeats row, column;
};

static int matrix_axis(const struct region *r, int which) { return r->buffer->rank - 2 + which; }

static bool side_make(struct lowering *l, const struct region *r, bool transposed,
                      const int32_t *atom, struct side *out) {
    struct coordinate c[TILE_RANK];
    struct site s = {.env = l->env};
    struct slot slot;
    int i;

    if (r->buffer->scope != SCOPE_FRAGMENT || r->buffer->rank < 2) return false;
    for (i = 0; i < r->buffer->rank; i++)
        c[i] = coordinate_of(l, value_lower(l, &s, bind_source(l, r->base[i], l->env)));
    if (!fragment_slot(l, r->buffer, c, &slot) || slot.part != 0) return false;
    out->array = slot.array;
    out->base = slot.word;
    out->unit = array_parts(slot.array);
    return find_repeats(&r->buffer->layout, matrix_axis(r, transposed), atom[0], &out->row) &&
           find_repeats(&r->buffer->layout, matrix_axis(r, !transposed), atom[1], &out->column);
}

static struct operand operand_at(struct lowering *l, const struct side *s, struct expr *row,
                                 struct expr *column) {
    struct operand o = {s->array, s->base};

    if (row) o.index = plus(l, o.index, repeat_offset(l, &s->row, row, s->unit));
    if (column) o.index = plus(l, o.index, repeat_offset(l, &s->column, column, s->unit));
    return o;
}

/* -- the part of the last atom beyond k counts as zero
 * --------------------------------------------- */
struct tail {
    const struct layout *atom; /* of the operand */
    int axis;                  /* of k in the atom */
    int32_t k, registers, unit;
};

/* Clears, in a copy of the operand's registers, what lies at k coordinates outside. */
static struct operand mask_tail(struct lowering *l, const struct tail *t, struct operand o) {
    struct array *copy = add_array(l, "tail", o.array->dtype, o.array->element, t->registers);
    struct expr *value, *word, *parts[4], *zero = expr_int(l->x, 0, DTYPE_U32), *inside;
    const struct layout_axis *a = &t->atom->axis[t->axis];
    int32_t r, p, e;
    struct coordinate c;
    int64_t weight;
    int j;

    for (r = 0; r < t->registers; r++) {
        word = element(l, o.array, plus(l, o.index, ix(l, r)));
        for (p = 0; p < t->unit; p++) {
            e = r * t->unit + p;
            c = (struct coordinate){.count = 0};
            for (j = 0, weight = 1; j < a->count; weight *= a->digit[j++].radix)
                coordinate_add(
                    &c, (struct field){.kind = a->digit[j].space == SPACE_LANE ? FIELD_LANE
                                                                               : FIELD_CONSTANT,
                                       .radix = a->digit[j].radix,
                                       .stride = a->digit[j].stride,
                                       .weight = weight,
                                       .value = ix(l, e / a->digit[j].stride % a->digit[j].radix)});
            coordinate_finish(l, &c);
            inside = expr_binary(l->x, FN_LT, c.value, ix(l, t->k));
            value = word;
            if (t->unit > 1)
                value = expr_op(l->x, t->unit == 2 ? FN_PART_16 : FN_PART_8, DTYPE_U32, 2,
                                (struct expr *[]){word, expr_int(l->x, p, DTYPE_U32)});
            parts[p] = expr_select(
                l->x, inside, value,
                o.array->dtype == DTYPE_U32 ? zero : expr_float(l->x, 0.0, o.array->dtype));
        }
        add_put(l, copy, ix(l, r),
                t->unit == 1 ? parts[0]
                             : expr_op(l->x, t->unit == 2 ? FN_PACK_16 : FN_PACK_8, DTYPE_U32,
                                       t->unit, parts));
    }
    return (struct operand){copy, ix(l, 0)};
}

struct gemm {
    const struct mma_row *row;
    struct layout a_atom, b_atom, c_atom;
    struct side a, b, c;
    int32_t k_steps, k_tail; /* instructions along k; k of the last one, 0: all of it */
    int32_t rows, columns;   /* atoms of c a warp */
};

static bool read_layout(struct lowering *l, const char *text, struct layout *out) {
    struct cursor c = cursor_new(l->m->arena, text, strlen(text));

    return layout_read(&c, out);
}

static int32_t operand_registers(const struct layout *atom, int32_t unit) {
    return (int32_t)layout_span(atom, SPACE_REG) / unit;
}

static void multiply(struct lowering *l, const struct gemm *g, struct expr *i, struct expr *j,
                     int32_t step) {
    struct expr *k = ix(l, step);
    struct operand a = operand_at(l, &g->a, i, k), b = operand_at(l, &g->b, k, j);
    struct tail t = {&g->a_atom, 1, g->k_tail, 0, g->a.unit};
    struct kstmt *s;

    if (g->k_tail > 0 && step + 1 == g->k_steps) {
        t.registers = operand_registers(&g->a_atom, g->a.unit);
        a = mask_tail(l, &t, a);
        t = (struct tail){&g->b_atom, 0, g->k_tail, operand_registers(&g->b_atom, g->b.unit),
                          g->b.unit};
        b = mask_tail(l, &t, b);
    }
    s = add(l, K_MMA);
    s->mma.row = g->row->id;
    s->mma.d = operand_at(l, &g->c, i, j);
    s->mma.a = a;
    s->mma.b = b;
}

/* c of this region is zero from here on. */
static void clear_atom(struct lowering *l, const struct gemm *g, struct expr *i, struct expr *j) {
    struct operand d = operand_at(l, &g->c, i, j);
    struct kblock *loop;
    struct var *v;

    v = loop_var(l, operand_registers(&g->c_atom, g->c.unit));
    loop = add_unrolled(l, v, (int32_t)v->hi + 1);
    add_put(l, d.array, plus(l, d.index, expr_var(l->x, v)),
            dtype_is_float(d.array->dtype) ? expr_float(l->x, 0.0, d.array->dtype)
                                           : expr_int(l->x, 0, d.array->dtype));
    out_leave(l, loop);
}

static void each_k(struct lowering *l, const struct gemm *g, struct expr *i, struct expr *j) {
    int32_t step;

    for (step = 0; step < g->k_steps; step++) multiply(l, g, i, j, step);
}

/* Runs `body` for each atom of c. */
static void each_atom(struct lowering *l, const struct gemm *g,
                      void (*body)(struct lowering *l, const struct gemm *g, struct expr *i,
                                   struct expr *j)) {
    struct kblock *rows = NULL, *columns = NULL;
    struct expr *i = ix(l, 0), *j = i;
    struct var *v;

    if (g->rows > 1) {
        v = loop_var(l, g->rows);
        i = expr_var(l->x, v);
        rows = add_unrolled(l, v, g->rows);
    }
    if (g->columns > 1) {
        v = loop_var(l, g->columns);
        j = expr_var(l->x, v);
        columns = add_unrolled(l, v, g->columns);
    }
    body(l, g, i, j);
    if (columns) out_leave(l, columns);
    if (rows) out_leave(l, rows);
}

static void clear_accumulators(struct lowering *l, const struct gemm *g, struct expr *test) {
    struct kblock *saved = NULL;
    bool always = test->kind == EXPR_INT;

    if (always && test->integer == 0) return;
    if (!always) saved = add_if(l, test);
    each_atom(l, g, clear_atom);
    if (!always) out_leave(l, saved);
}

/* Atoms that a warp has along one axis of the region, given those of the whole fragment. */
static int32_t atoms_of(const struct region *r, int axis, int32_t atom, int32_t warps,
                        int32_t total) {
    int32_t here = (r->extent[axis] + atom * warps - 1) / (atom * warps);

    return here < total ? here : total;
}

static bool gemm_make(struct lowering *l, const struct stmt *t, struct gemm *g) {
    int32_t m, n, k;

    if (t->gemm.atom < 0) return false;
    g->row = mma_row(t->gemm.atom);
    m = g->row->m;
    n = g->row->n;
    k = g->row->k;
    g->k_steps = (t->gemm.k + k - 1) / k;
    g->k_tail = t->gemm.k % k;
    if (!read_layout(l, g->row->a_layout, &g->a_atom) ||
        !read_layout(l, g->row->b_layout, &g->b_atom) ||
        !read_layout(l, g->row->d_layout, &g->c_atom) ||
        !side_make(l, &t->gemm.a, t->gemm.transpose_a, (int32_t[]){m, k}, &g->a) ||
        !side_make(l, &t->gemm.b, t->gemm.transpose_b, (int32_t[]){k, n}, &g->b) ||
        !side_make(l, &t->gemm.c, false, (int32_t[]){m, n}, &g->c))
        return false;
    g->rows =
        atoms_of(&t->gemm.c, matrix_axis(&t->gemm.c, 0), m, t->gemm.row_warps, g->c.row.total);
    g->columns = atoms_of(&t->gemm.c, matrix_axis(&t->gemm.c, 1), n, t->gemm.column_warps,
                          g->c.column.total);
    return true;
}

void lower_gemm(struct lowering *l, struct stmt *t) {
    struct site s = {.env = l->env};
    struct gemm g;

    if (!gemm_make(l, t, &g)) {
        fault(l, "a gemm whose operands are not in registers");
        return;
    }
    if (t->gemm.clear) clear_accumulators(l, &g, value_lower(l, &s, t->gemm.clear));
    each_atom(l, &g, each_k);
}
