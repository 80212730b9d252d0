/* steps.c: a gemm as steps of one instruction depth on register fragments.
 *
 * An operand in shared memory gets a fragment [slots, rows, columns] of one step, or of all steps
 * where it is loaded once before a loop. Its COPY brings it into the order (m,k) or (k,n) whatever
 * the order in memory. Where the depth of the tile is no multiple of the instruction's, both
 * operands of the last step are filled with zeroes first: the rest of a register is not zero by
 * itself, and 0 times a NaN would be one. */
#include "internal.h"

/* The two axes of the region with these extents: the last two, unless axes of extent 1 follow. */
static void matrix_axes(const struct region *r, int rows, int columns, int axis[2]) {
    int rank = r->buffer->rank;
    axis[0] = rank - 2;
    axis[1] = rank - 1;
    if (r->extent[axis[0]] == rows && r->extent[axis[1]] == columns) return;
    int found = 0, first = -1, second = -1;
    for (int i = 0; i < rank; i++) {
        if (r->extent[i] == 1) continue;
        if (found++ == 0) first = i;
        second = i;
    }
    if (found == 2) {
        axis[0] = first;
        axis[1] = second;
    }
}

static struct operand_plan plan_of(const struct region *r, int rows, int columns, bool transpose) {
    int axis[2];
    matrix_axes(r, transpose ? columns : rows, transpose ? rows : columns, axis);
    struct operand_plan p = {.row_axis = axis[transpose ? 1 : 0],
                             .column_axis = axis[transpose ? 0 : 1]};
    return p;
}

struct steps steps_of(struct place_in in, const struct stmt *gemm) {
    struct steps s = {.in = in, .gemm = gemm};
    if (gemm->gemm.atom >= 0) {
        s.row = mma_row(gemm->gemm.atom);
        s.count = (gemm->gemm.k + s.row->k - 1) / s.row->k;
        s.rest = gemm->gemm.k % s.row->k;
    }
    s.a = plan_of(&gemm->gemm.a, gemm->gemm.m, gemm->gemm.k, gemm->gemm.transpose_a);
    s.b = plan_of(&gemm->gemm.b, gemm->gemm.k, gemm->gemm.n, gemm->gemm.transpose_b);
    return s;
}

static const struct region *operand(const struct steps *s, bool b) {
    return b ? &s->gemm->gemm.b : &s->gemm->gemm.a;
}

static enum dtype operand_type(const struct steps *s, bool b) { return b ? s->row->b : s->row->a; }

/* An operand that is a fragment of the right type is used where it stands. */
static bool in_place(const struct steps *s, bool b) {
    const struct buffer *x = operand(s, b)->buffer;
    return x->scope == SCOPE_FRAGMENT && x->dtype == operand_type(s, b) && s->rest == 0;
}

/* -- Layouts ----------------------------------------------------------------------------------- */

/* Warps beyond those that the gemm divides hold further copies. */
static void add_copies(const struct steps *s, struct layout *l) {
    int used = s->gemm->gemm.row_warps * s->gemm->gemm.column_warps;
    int more = used > 0 ? s->in.kernel->threads / 32 / used : 1;
    if (more <= 1 || l->reps == LAYOUT_REPS) return;
    l->rep[l->reps++] = (struct digit){.radix = more, .stride = used, .space = SPACE_WARP};
    *l = layout_canonical(l);
}

/* Of `depth` elements along k; the warps are numbered as tile.h says of gemm. */
static struct layout operand_layout(const struct steps *s, bool b, int depth) {
    const char *text = b ? s->row->b_layout : s->row->a_layout;
    struct cursor c = cursor_new(s->in.module->arena, text, strlen(text));
    struct layout atom = layout_none();
    layout_read(&c, &atom);
    const struct digit none = {.radix = 1, .stride = 1, .space = SPACE_WARP};
    struct digit rows = {.radix = s->gemm->gemm.row_warps,
                         .stride = s->gemm->gemm.column_warps,
                         .space = SPACE_WARP};
    struct digit columns = {.radix = s->gemm->gemm.column_warps, .stride = 1, .space = SPACE_WARP};
    int32_t extent[2] = {b ? depth : s->gemm->gemm.m, b ? s->gemm->gemm.n : depth};
    struct digit warp[2] = {b ? none : rows, b ? columns : none};
    struct layout l = layout_fragment(&atom, extent, warp, b ? rows : columns);
    add_copies(s, &l);
    return l;
}

static int operand_registers(const struct steps *s, bool b, int depth) {
    struct layout l = operand_layout(s, b, depth);
    return (int)((layout_span(&l, SPACE_REG) * dtype_bytes(operand_type(s, b)) + 3) / 4);
}

int steps_registers(const struct steps *s) {
    int sum = 0;
    for (int b = 0; b < 2; b++)
        if (!in_place(s, b)) sum += operand_registers(s, b, s->row->k);
    return sum;
}

int steps_whole_registers(const struct steps *s, bool b) {
    return operand_registers(s, b, s->count * s->row->k);
}

static struct buffer *make_fragment(const struct steps *s, bool b, int slots, int depth) {
    struct module *m = s->in.module;
    const struct buffer *from = operand(s, b)->buffer;
    int32_t extent[3] = {slots, b ? depth : s->gemm->gemm.m, b ? s->gemm->gemm.n : depth};
    const char *base = arena_printf(m->arena, "%s_frag", from->name->text);
    struct buffer *f = buffer_new(m, s->in.function, s->in.kernel, SCOPE_FRAGMENT,
                                  module_name(m, base), operand_type(s, b), 3, extent);
    struct layout l = operand_layout(s, b, depth);
    struct digit slot = {
        .radix = slots, .stride = (int32_t)layout_span(&l, SPACE_REG), .space = SPACE_REG};
    l = layout_append_axis(&l, slots, slot);
    f->layout = layout_permute(&l, (const int[]){2, 0, 1});
    f->span = s->gemm->span;
    return f;
}

void steps_make_fragments(struct steps *s, int slots) {
    if (!in_place(s, false) && !s->a.whole) s->a.step = make_fragment(s, false, slots, s->row->k);
    if (!in_place(s, true) && !s->b.whole) s->b.step = make_fragment(s, true, slots, s->row->k);
}

void steps_make_whole(struct steps *s, bool b) {
    struct operand_plan *p = b ? &s->b : &s->a;
    p->whole = make_fragment(s, b, 1, s->count * s->row->k);
}

/* -- Statements -------------------------------------------------------------------------------- */

/* The fragment's part [slot, rows, columns], of which `depth` along k. */
static struct region part_of(const struct steps *s, struct buffer *f, struct expr *slot,
                             int depth) {
    struct module *m = s->in.module;
    struct region r = region_whole(m, f);
    r.base[0] = slot;
    r.extent[0] = 1;
    bool b = f == s->b.step || f == s->b.whole;
    r.extent[b ? 1 : 2] = depth;
    return r;
}

/* Copies `depth` elements along k from `from` on of the operand into the fragment. */
static void fetch(const struct steps *s, struct block *to, bool b, struct expr *from, int depth,
                  struct region part) {
    struct module *m = s->in.module;
    const struct operand_plan *p = b ? &s->b : &s->a;
    struct region src = *operand(s, b);
    int k_axis = b ? p->row_axis : p->column_axis;
    int part_axis = b ? 1 : 2;
    if (depth < part.buffer->extent[part_axis]) {
        struct region all = part;
        all.extent[part_axis] = part.buffer->extent[part_axis];
        block_append(to, build_zero(m, s->gemm->span, &all));
    }
    src.base[k_axis] = index_sum(m, src.base[k_axis], from);
    src.extent[k_axis] = depth;
    struct copy_axes axes = {.rank = 2, .src = {p->row_axis, p->column_axis}, .dst = {1, 2}};
    block_append(to, schedule_copy(m, s->gemm->span, &src, &part, &axes));
}

void steps_fetch(const struct steps *s, struct block *to, struct expr *step, int depth,
                 struct expr *slot) {
    struct expr *from = index_times(s->in.module, step, s->row->k);
    for (int b = 0; b < 2; b++) {
        struct buffer *f = b ? s->b.step : s->a.step;
        if (f) fetch(s, to, b, from, depth, part_of(s, f, slot, depth));
    }
}

void steps_fetch_whole(const struct steps *s, struct block *to, bool b) {
    struct buffer *f = b ? s->b.whole : s->a.whole;
    struct expr *zero = index_of(s->in.module, 0);
    fetch(s, to, b, zero, s->gemm->gemm.k, part_of(s, f, zero, s->gemm->gemm.k));
}

/* What step `step` of an operand reads: a step fragment's slot, or a slice of a larger fragment. */
static struct region source(const struct steps *s, bool b, struct expr *step, struct expr *slot) {
    struct module *m = s->in.module;
    const struct operand_plan *p = b ? &s->b : &s->a;
    if (p->step) return part_of(s, p->step, slot, s->row->k);
    struct expr *from = index_times(m, step, s->row->k);
    struct region r = *operand(s, b);
    int k_axis = b ? p->row_axis : p->column_axis;
    if (p->whole) {
        r = part_of(s, p->whole, index_of(m, 0), s->row->k);
        k_axis = b ? 1 : 2;
    }
    r.base[k_axis] = index_sum(m, r.base[k_axis], from);
    r.extent[k_axis] = s->row->k;
    return r;
}

void steps_multiply(const struct steps *s, struct block *to, struct expr *step, struct expr *slot) {
    struct stmt *g = stmt_new(s->in.module, STMT_GEMM, s->gemm->span);
    g->gemm = s->gemm->gemm;
    g->gemm.a = source(s, false, step, slot);
    g->gemm.b = source(s, true, step, slot);
    if (s->a.step || s->a.whole) g->gemm.transpose_a = false;
    if (s->b.step || s->b.whole) g->gemm.transpose_b = false;
    g->gemm.k = s->row->k;
    g->gemm.clear = NULL;
    block_append(to, g);
}
