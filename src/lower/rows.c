/* rows.c: a MAP of one STORE to 16-bit shared memory by stmatrix.
 *
 * stmatrix is ldmatrix turned round: lanes hold matrices of 8x8 elements as mma instructions leave
 * them, and give the addresses of rows of 8 elements. So there are two plans of one domain: `held`
 * is who has the elements, `rows` is who gives which address, with the 8 elements of a row as its
 * vector. Up to two register digits choose among four matrices; in `rows` they are lanes. The loops
 * around are those of `rows`; the reads take their variables. */
#include "internal.h"

struct rows {
    struct stmt *store;
    struct plan held, rows;
    struct domain domain; /* of rows */
    bool transpose;
    int32_t choices, choice[2]; /* loops of `held`; 1 << choices matrices */
    bool fits;
};

/* Cuts the loop `at` so that its innermost factor 2 stands by itself, as loop at + 1. */
static bool cut_pair(struct plan *p, int at) {
    int i;

    if (p->loops == LOOPS) return false;
    for (i = p->loops++; i > at; i--) p->loop[i] = p->loop[i - 1];
    p->loop[at].radix /= 2;
    p->loop[at].weight *= 2;
    p->loop[at].stride *= 2;
    p->loop[at + 1].radix = 2;
    return true;
}

static void find_choices(struct rows *q) {
    struct plan *p = &q->held;
    int at = p->loops - 1;

    for (; q->choices < 2 && at >= 0 && p->loop[at].radix % 2 == 0; at--) {
        if (p->loop[at].radix > 2) {
            if (!cut_pair(p, at)) return;
            if (q->choices > 0) q->choice[0]++;
            at++;
        }
        q->choice[q->choices++] = at;
    }
}

static bool is_choice(const struct rows *q, int loop) {
    int i;

    for (i = 0; i < q->choices; i++)
        if (q->choice[i] == loop) return true;
    return false;
}

/* Digits of an axis by weight. */
struct weighted {
    int count;
    int64_t weight[LAYOUT_DIGITS];
    struct digit digit[LAYOUT_DIGITS];
};

static bool add_digit(struct weighted *w, int64_t weight, struct digit d) {
    int at = w->count;

    if (w->count == LAYOUT_DIGITS) return false;
    for (w->count++; at > 0 && w->weight[at - 1] > weight; at--) {
        w->weight[at] = w->weight[at - 1];
        w->digit[at] = w->digit[at - 1];
    }
    w->weight[at] = weight;
    w->digit[at] = d;
    return true;
}

/* The digits above a matrix: warps as they are, choices as lanes, loops as registers. */
static bool upper_digits(const struct rows *q, int axis, struct weighted *w) {
    const struct layout_axis *a = &q->held.domain->layout.axis[axis];
    int64_t weight = 1;
    int32_t stride = 8;
    int i, j;

    for (j = 0; j < a->count; weight *= a->digit[j++].radix)
        if (a->digit[j].space == SPACE_WARP && !add_digit(w, weight, a->digit[j])) return false;
    for (i = q->held.loops - 1; i >= 0; i--) {
        struct digit d = {q->held.loop[i].radix, stride, SPACE_REG};

        if (is_choice(q, i))
            d = (struct digit){2, i == q->choice[0] ? 8 : 16, SPACE_LANE};
        else
            stride *= d.radix;
        if (q->held.loop[i].axis == axis && !add_digit(w, q->held.loop[i].weight, d)) return false;
    }
    return true;
}

/* Who gives the addresses: lane 8i + k that of row k of matrix i. */
static bool make_domain(struct rows *q, int p, int r) {
    const struct digit lanes = {8, 1, SPACE_LANE}, run = {8, 1, SPACE_REG};
    int32_t given = 8 << q->choices;
    struct layout *y = &q->domain.layout;
    struct weighted w;
    int i, j;

    q->domain = *q->held.domain;
    for (i = 0; i < q->domain.rank; i++) {
        w = (struct weighted){.count = 0};
        if (i == p) add_digit(&w, 1, q->transpose ? lanes : run);
        if (i == r) add_digit(&w, 1, q->transpose ? run : lanes);
        if (!upper_digits(q, i, &w)) return false;
        y->axis[i].count = w.count;
        for (j = 0; j < w.count; j++) y->axis[i].digit[j] = w.digit[j];
    }
    if (given < 32) {
        if (y->reps == LAYOUT_REPS) return false;
        y->rep[y->reps++] = (struct digit){32 / given, given, SPACE_LANE};
    }
    return true;
}

/* The loops of both plans that are one. */
static void share_loops(struct rows *q, bool expansion) {
    int i, j;

    for (i = 0; i < q->held.loops; i++)
        for (j = 0; j < q->rows.loops && !is_choice(q, i); j++) {
            if (q->held.loop[i].axis != q->rows.loop[j].axis ||
                q->held.loop[i].weight != q->rows.loop[j].weight)
                continue;
            if (expansion)
                q->rows.loop[j].expanded = q->held.loop[i].expanded;
            else
                q->held.loop[i].value = q->rows.loop[j].value;
        }
}

static struct expr *matrix_word(struct lowering *l, struct rows *q, int32_t matrix) {
    struct expr *value = q->store->store.value, *pair[2];
    enum dtype t = q->store->store.buffer->dtype;
    struct group g = {.plan = &q->held, .count = 2};
    struct site s = {&q->held, 0, NULL};
    int known = l->loaded.count;
    int32_t e;

    for (e = 0; e < q->choices; e++) q->held.loop[q->choice[e]].value = ix(l, matrix >> e & 1);
    for (e = 0; e < 2; e++) g.env[e] = plan_env(l, &q->held, e);
    group_loads(l, &g, value);
    for (e = 0; e < 2; e++) {
        s.element = e;
        s.env = g.env[e];
        pair[e] = value_cast(l, value_lower(l, &s, value), value->dtype, t);
    }
    pairs_make(l, "pair", pair, 2);
    l->loaded.count = known;
    return value_pack(l, pair, t);
}

/* One row of each lane's matrix, with nothing to test. */
static bool find_row(struct lowering *l, struct rows *q, struct place_at *at) {
    struct group g = {.plan = &q->rows, .count = 8};
    struct buffer *b = q->store->store.buffer;
    struct vector v;
    int i;

    for (i = 0; i < g.count; i++) g.env[i] = plan_env(l, &q->rows, i);
    v = vector_of(l, &g, b, q->store->store.index);
    *at = v.at[0];
    return v.width == 8 && !v.broadcast && !place_test(l, at) &&
           known_alignment(at->offset, at->unit, 16) == 16;
}

static void store_matrices(struct lowering *l, struct plan *p, void *data) {
    struct rows *q = data;
    enum dtype t = q->store->store.buffer->dtype;
    int32_t count = 1 << q->choices, i;
    struct expr *word[4];
    struct place_at at;
    struct operand run;
    struct kstmt *s;

    if (p->inside || !find_row(l, q, &at)) q->fits = false;
    if (!q->fits) return;
    share_loops(q, false);
    for (i = 0; i < count; i++) word[i] = matrix_word(l, q, i);
    if (!word_run(l, word, count, &run)) {
        run = (struct operand){add_array(l, "matrix", DTYPE_U32, t, count), ix(l, 0)};
        for (i = 0; i < count; i++) add_put(l, run.array, ix(l, i), word[i]);
    }
    s = add(l, K_STMATRIX);
    s->matrix.address = address_at(l, q->store->store.buffer, at.offset, 16);
    s->matrix.data = run;
    s->matrix.matrices = count;
    s->matrix.transpose = q->transpose;
}

/* In one direction or the other. */
static bool rows_make(struct lowering *l, const struct domain *d, struct stmt *store, bool turned,
                      struct rows *q) {
    struct layout y = d->layout;
    struct block body = {store, store};
    int p, r;

    *q = (struct rows){.store = store, .transpose = turned, .fits = true};
    if (!matrix_axes(&y, 2, &p, &r)) return false;
    plan_make(l, &q->held, d, 2);
    if (q->held.axis != p || q->held.vector != 2) return false;
    find_choices(q);
    if (!make_domain(q, p, r)) return false;
    plan_make(l, &q->rows, &q->domain, 8);
    if (q->rows.axis != (turned ? r : p) || q->rows.vector != 8) return false;
    plan_expand(l, &q->held, &body);
    share_loops(q, true);
    return true;
}

static bool rows_run(struct lowering *l, struct rows *q) {
    struct kblock *saved = l->out, scratch = {NULL, NULL};
    struct kblock *branch = NULL;

    l->out = &scratch;
    nest_run(l, &(struct nest){&q->rows, 0, q->rows.loops, store_matrices, q});
    l->out = saved;
    if (!q->fits) return false;
    if (q->held.owner) branch = add_if(l, q->held.owner);
    block_splice(l->out, &scratch);
    if (q->held.owner) out_leave(l, branch);
    return true;
}

/* One matrix is written before the next is read: other lanes' elements must not lie there. */
static bool is_candidate(const struct lowering *l, const struct stmt *store) {
    const struct buffer *b = store->store.buffer;

    return !expr_reads(store->store.value, b) && b->scope == SCOPE_SHARED &&
           dtype_bits(b->dtype) == 16 && expr_has_load(store->store.value) &&
           module_has(l->m, FEATURE_STMATRIX);
}

static void explain(struct lowering *l, const struct rows *q) {
    diag_remark(l->m->diag, q->store->span, "layout",
                "'%s' is written by stmatrix, %d 8x8 matri%s at a time%s",
                q->store->store.buffer->name->text, 1 << q->choices, q->choices ? "ces" : "x",
                q->transpose ? ", turned" : "");
}

/* Other lanes' elements lie in a lane's rows, so what the warp did with its own elements before,
 * and does after, is ordered; tidy drops what a barrier orders as well. */
bool store_matrix(struct lowering *l, const struct domain *d, struct stmt *store) {
    struct kblock ordered = {NULL, NULL}, *saved = l->out;
    struct rows q;
    int turned;

    if (!is_candidate(l, store)) return false;
    for (turned = 0; turned < 2; turned++) {
        l->out = &ordered;
        bool done = rows_make(l, d, store, turned, &q) && rows_run(l, &q);
        l->out = saved;
        if (!done) continue;
        explain(l, &q);
        add(l, K_SYNC_WARP);
        block_splice(l->out, &ordered);
        add(l, K_SYNC_WARP);
        return true;
    }
    return false;
}
