/* test_addresses.c: offsets and row addresses of lowered code against the layouts, for every lane.
 *
 * Small kernels are lowered; then the index expressions of their accesses are computed for each
 * lane, warp and loop value and compared with layout_place. */
#include "lower/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { VARIABLES = 16 };

struct bench {
    struct arena *arena;
    struct module *m;
    struct function_ir *f;
    struct kernel *k;
    struct var *var[VARIABLES]; /* what an expression is computed for */
    int64_t value[VARIABLES];
    int count;
};

static struct bench bench_new(int threads) {
    struct bench b = {.arena = arena_new()};
    struct interns *names = interns_new(b.arena);
    struct source *s = source_of_text(b.arena, "test.tile", "\n", 1);

    b.m = module_new(b.arena, names, diag_new(b.arena, s), NULL, target_find("sm_80"));
    b.f = arena_make(b.arena, struct function_ir);
    b.f->name = intern_text(names, "test");
    b.k = arena_make(b.arena, struct kernel);
    b.k->name = b.f->name;
    b.k->function = b.f;
    b.k->threads = threads;
    vec_push(b.arena, &b.m->functions, b.f);
    vec_push(b.arena, &b.f->kernels, b.k);
    return b;
}

static struct layout layout_of(struct bench *b, const char *text) {
    struct cursor c = cursor_new(b->arena, text, strlen(text));
    struct layout l;

    assert_true(layout_read(&c, &l));
    return l;
}

static struct buffer *buffer_of(struct bench *b, enum scope scope, const char *name, enum dtype t,
                                const char *layout) {
    struct layout l = layout_of(b, layout);
    int32_t extent[TILE_RANK];
    struct buffer *buffer;
    int i;

    for (i = 0; i < l.rank; i++) extent[i] = l.axis[i].extent;
    buffer = buffer_new(b->m, b->f, b->k, scope, intern_text(b->m->names, name), t, l.rank, extent);
    buffer->layout = l;
    return buffer;
}

static void bind_value(struct bench *b, struct var *v, int64_t value) {
    int i;

    for (i = 0; i < b->count && b->var[i] != v; i++)
        ;
    assert_true(i < VARIABLES);
    b->var[i] = v;
    b->value[i] = value;
    if (i == b->count) b->count++;
}

static int64_t compute(const struct bench *b, const struct expr *e) {
    union scalar args[4];
    int i;

    if (e->kind == EXPR_INT) return e->integer;
    if (e->kind == EXPR_VAR) {
        for (i = 0; i < b->count; i++)
            if (b->var[i] == e->var) return b->value[i];
        fail_msg("a variable without value: %s", e->var->name->text);
    }
    assert_int_equal(e->kind, EXPR_OP);
    for (i = 0; i < e->count; i++) args[i].i = compute(b, e->args[i]);
    return scalar_op(e->fn, e->args[0]->dtype, args).i;
}

/* The whole buffer copied to a fragment over the fragment's layout. */
static struct stmt *copy_whole(struct bench *b, struct buffer *src, struct buffer *dst) {
    struct stmt *s = stmt_new(b->m, STMT_COPY, (struct span){0, 0});
    struct domain *d = &s->copy.domain;
    int i;

    s->copy.src = region_whole(b->m, src);
    s->copy.dst = region_whole(b->m, dst);
    d->rank = dst->rank;
    d->layout = dst->scope == SCOPE_FRAGMENT ? dst->layout : src->layout;
    for (i = 0; i < dst->rank; i++) {
        d->extent[i] = dst->extent[i];
        s->copy.src_axis[i] = s->copy.dst_axis[i] = i;
    }
    block_append(&b->k->body, s);
    return s;
}

/* -- plain accesses: each element of the fragment comes from its place
 * ----------------------------------- */
struct moved {
    struct bench *b;
    struct buffer *memory, *fragment;
    int64_t lane, warp;
    int64_t accesses; /* elements seen */
    struct kstmt *s;
};

/* What lies in these registers, by the layout, is what the address says. */
static void check_access(struct moved *m) {
    const struct layout *f = &m->fragment->layout, *y = &m->memory->layout;
    int32_t bytes = dtype_bytes(m->memory->dtype);
    int64_t offset = compute(m->b, m->s->memory.address.index), word, coordinate[LAYOUT_RANK];
    int32_t parts = array_parts(m->s->memory.data.array), e;
    struct place p = {0, 0, 0, 0};

    word = compute(m->b, m->s->memory.data.index);
    for (e = 0; e < m->s->memory.bytes / bytes; e++) {
        p = (struct place){word * parts + e, m->lane, m->warp, 0};
        assert_true(layout_coordinate(f, p, coordinate));
        assert_int_equal(layout_place(y, coordinate).off * bytes, offset + e * bytes);
        m->accesses++;
    }
}

static void visit_block(struct moved *m, struct kblock *block, void (*check)(struct moved *m)) {
    struct kstmt *s;
    int64_t v;

    for (s = block->first; s; s = s->next) {
        if (s->kind == K_FOR) {
            for (v = 0; v < compute(m->b, s->loop.hi); v++) {
                bind_value(m->b, s->loop.var, v);
                visit_block(m, &s->loop.body, check);
            }
        } else if (s->kind == K_VAR) {
            bind_value(m->b, s->set.var, compute(m->b, s->set.value));
        } else if (s->kind == K_LOAD || s->kind == K_LDMATRIX) {
            m->s = s;
            check(m);
        }
    }
}

static void each_thread(struct moved *m, void (*check)(struct moved *m)) {
    int t;

    for (t = 0; t < m->b->k->threads; t++) {
        m->lane = t % 32;
        m->warp = t / 32;
        m->b->count = 0;
        bind_value(m->b, m->b->k->code->thread, t);
        visit_block(m, &m->b->k->code->body, check);
    }
}

/* Somebody needs what has been loaded. */
static void store_arrays(struct bench *b) {
    struct kernel_code *code = b->k->code;
    struct kstmt *s;
    int i;

    for (i = 0; i < code->arrays.count; i++) {
        s = kstmt_new(b->m, K_STORE, (struct span){0, 0});
        s->memory.data.array = code->arrays.at[i];
        s->memory.data.index = expr_index(b->m->exprs, 0);
        s->memory.memory = code->arrays.at[i]->element;
        s->memory.bytes = 4;
        s->memory.address.buffer = buffer_of(b, SCOPE_SHARED, "all", DTYPE_F32, "[1]");
        s->memory.address.index = s->memory.data.index;
        s->memory.address.alignment = 4;
        kblock_append(&code->body, s);
    }
}

static void run_lower(struct bench *b, bool with_tidy) {
    const char *why = "";

    lower(b->m);
    if (with_tidy) store_arrays(b);
    if (with_tidy) tidy(b->m);
    assert_int_equal(diag_errors(b->m->diag), 0);
    if (!kernel_verify(b->m, &why)) fail_msg("%s", why);
}

static const struct pair {
    const char *memory, *fragment;
    enum dtype type;
    int threads;
} pairs[] = {
    /* row-major and swizzled, thread digits over rows and columns */
    {"[64@off:64, 64@off:1]", "[4@lane:8 4@warp:1 4@reg:8, 8@reg:1 8@lane:1]", DTYPE_F16, 128},
    {"[64@off:64, 64@off:1] xor [3,6,3]", "[4@lane:8 4@warp:1 4@reg:8, 8@reg:1 8@lane:1]",
     DTYPE_F16, 128},
    {"[128@off:32, 32@off:1] xor [3,6,2]", "[8@lane:4 4@warp:1 4@reg:8, 8@reg:1 4@lane:1]",
     DTYPE_F16, 128},
    /* register digits inside, across and above the swizzle's bits */
    {"[32@off:128, 128@off:1] xor [3,7,3]", "[32@reg:8, 8@reg:1 16@lane:1] rep [2@lane:16]",
     DTYPE_F16, 32},
    {"[32@off:128, 128@off:1] xor [3,7,3]", "[32@lane:1, 8@reg:1 16@reg:8]", DTYPE_F16, 32},
    {"[64@off:64, 64@off:1] xor [3,6,3]", "[8@lane:4 2@reg:2 4@warp:1, 2@reg:1 4@lane:1 8@reg:4]",
     DTYPE_F32, 128},
    {"[64@off:32, 32@off:1] xor [2,5,3]", "[2@reg:4 32@lane:1, 4@reg:1 8@reg:8]", DTYPE_F32, 32},
    /* extents that are no powers of two */
    {"[6@off:96, 96@off:1]", "[6@reg:4, 4@reg:1 8@lane:1 3@warp:1] rep [4@lane:8]", DTYPE_F32, 96},
    {"[160@off:1]", "[5@reg:1 32@lane:1]", DTYPE_F32, 32},
};

static void plain_accesses(void **state) {
    struct moved m;
    struct bench b;
    size_t i;
    int tidied;

    (void)state;
    for (i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (tidied = 0; tidied < 2; tidied++) {
            b = bench_new(pairs[i].threads);
            m = (struct moved){.b = &b};
            m.memory = buffer_of(&b, SCOPE_SHARED, "s", pairs[i].type, pairs[i].memory);
            m.fragment = buffer_of(&b, SCOPE_FRAGMENT, "f", pairs[i].type, pairs[i].fragment);
            copy_whole(&b, m.memory, m.fragment);
            run_lower(&b, tidied);
            each_thread(&m, check_access);
            assert_int_equal(m.accesses,
                             layout_span(&m.fragment->layout, SPACE_REG) * pairs[i].threads);
            arena_free(b.arena);
        }
}

/* -- ldmatrix: the row that a lane names is the one whose words other lanes receive
 * -------------------------- */
/* Matrix i, lane t gets of row t / 4 (of rows named by lanes 8i …) the word t % 4; transposed,
 * element t / 4 of the rows 2 (t % 4) and the next. */
static void check_matrix(struct moved *m) {
    const struct layout *f = &m->fragment->layout, *y = &m->memory->layout;
    int32_t bytes = dtype_bytes(m->memory->dtype), per_word = 4 / bytes, i, e, row, within;
    int64_t rows[32], coordinate[LAYOUT_RANK], word = compute(m->b, m->s->matrix.data.index);
    int64_t thread = m->warp * 32 + m->lane, t;

    for (t = 0; t < 32; t++) { /* this warp's addresses, at the same loop values */
        bind_value(m->b, m->b->k->code->thread, m->warp * 32 + t);
        if (m->b->k->code->lane) bind_value(m->b, m->b->k->code->lane, t);
        rows[t] = compute(m->b, m->s->matrix.address.index);
    }
    bind_value(m->b, m->b->k->code->thread, thread);
    if (m->b->k->code->lane) bind_value(m->b, m->b->k->code->lane, m->lane);
    for (i = 0; i < m->s->matrix.matrices; i++)
        for (e = 0; e < per_word; e++) {
            row = (int32_t)(m->s->matrix.transpose ? 2 * (m->lane % 4) + e : m->lane / 4);
            within = (int32_t)(m->s->matrix.transpose ? m->lane / 4 * bytes
                                                      : m->lane % 4 * 4 + e * bytes);
            assert_true(layout_coordinate(
                f, (struct place){(word + i) * per_word + e, m->lane, m->warp, 0}, coordinate));
            assert_int_equal(layout_place(y, coordinate).off * bytes, rows[8 * i + row] + within);
            m->accesses++;
        }
}

static const struct pair operands[] = {
    /* a of m16n8k16: rows of k */
    {"[64@off:64, 64@off:1] xor [3,6,3]",
     "[8@lane:4 2@reg:2 4@warp:1, 2@reg:1 4@lane:1 2@reg:4 4@reg:8]", DTYPE_F16, 128},
    {"[128@off:32, 32@off:1] xor [3,6,2]",
     "[8@lane:4 2@reg:2 2@warp:2 4@reg:16, 2@reg:1 4@lane:1 2@reg:4 2@reg:8] rep [2@warp:1]",
     DTYPE_F16, 128},
    /* b of m16n8k16 as [k][n]: transposed; as [n][k]: not */
    {"[32@off:128, 128@off:1] xor [3,7,3]",
     "[2@reg:1 4@lane:1 2@reg:2 2@reg:32, 8@lane:4 2@warp:1 8@reg:4] rep [2@warp:2]", DTYPE_F16,
     128},
    {"[16@off:64, 64@off:1] xor [3,6,3]",
     "[2@reg:1 4@lane:1 2@reg:2, 8@lane:4 8@reg:4] rep [4@warp:1]", DTYPE_F16, 128},
    {"[64@off:16, 16@off:1]", "[8@lane:4 8@reg:4, 2@reg:1 4@lane:1 2@reg:2]", DTYPE_F16, 32},
    /* a stored [k][m] */
    {"[16@off:64, 64@off:1] xor [3,6,3]", "[2@reg:1 4@lane:1 2@reg:4, 8@lane:4 2@reg:2 4@warp:1]",
     DTYPE_F16, 128},
    /* 8-bit and 32-bit elements by words */
    {"[64@off:64, 64@off:1] xor [4,6,2]",
     "[8@lane:4 2@reg:4 4@warp:1, 4@reg:1 4@lane:1 2@reg:8 2@reg:16]", DTYPE_I8, 128},
};

static void count_matrices(struct kstmt *s, void *data) { *(int *)data += s->kind == K_LDMATRIX; }

static void matrix_rows(void **state) {
    struct moved m;
    struct bench b;
    size_t i;
    int found;

    (void)state;
    for (i = 0; i < sizeof operands / sizeof *operands; i++) {
        b = bench_new(operands[i].threads);
        m = (struct moved){.b = &b};
        m.memory = buffer_of(&b, SCOPE_SHARED, "s", operands[i].type, operands[i].memory);
        m.fragment = buffer_of(&b, SCOPE_FRAGMENT, "f", operands[i].type, operands[i].fragment);
        copy_whole(&b, m.memory, m.fragment);
        run_lower(&b, false);
        found = 0;
        kblock_walk(&b.k->code->body, count_matrices, &found);
        assert_true(found > 0);
        each_thread(&m, check_matrix);
        assert_int_equal(m.accesses,
                         layout_span(&m.fragment->layout, SPACE_REG) * operands[i].threads);
        arena_free(b.arena);
    }
}

/* -- width of accesses
 * ----------------------------------------------------------------------------------------- */
static void find_bytes(struct kstmt *s, void *data) {
    if (s->kind == K_LOAD) *(int32_t *)data = s->memory.bytes;
}

static void widths(void **state) {
    static const struct {
        struct pair pair;
        int32_t bytes;
    } cases[] = {
        {{"[256@off:1]", "[8@reg:1 32@lane:1]", DTYPE_F16, 32}, 16},
        {{"[256@off:1]", "[8@reg:1 32@lane:1]", DTYPE_F32, 32}, 16},
        {{"[64@off:1]", "[2@reg:1 32@lane:1]", DTYPE_F32, 32}, 8},
        {{"[96@off:1]", "[3@reg:1 32@lane:1]", DTYPE_F32, 32}, 4},
        {{"[8@off:36, 32@off:1]", "[8@reg:4, 4@reg:1 8@lane:1] rep [4@lane:8]", DTYPE_F32, 32}, 16},
        {{"[8@off:33, 32@off:1]", "[8@reg:4, 4@reg:1 8@lane:1] rep [4@lane:8]", DTYPE_F32, 32}, 4},
        {{"[16@off:64, 64@off:1] xor [2,6,3]", "[16@reg:8, 8@reg:1 8@lane:1] rep [4@lane:8]",
          DTYPE_F16, 32},
         8},
    };
    struct buffer *memory, *fragment;
    struct bench b;
    int32_t bytes;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        b = bench_new(32);
        memory = buffer_of(&b, SCOPE_SHARED, "s", cases[i].pair.type, cases[i].pair.memory);
        fragment = buffer_of(&b, SCOPE_FRAGMENT, "f", cases[i].pair.type, cases[i].pair.fragment);
        copy_whole(&b, memory, fragment);
        run_lower(&b, true);
        bytes = 0;
        kblock_walk(&b.k->code->body, find_bytes, &bytes);
        assert_int_equal(bytes, cases[i].bytes);
        arena_free(b.arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_accesses),
        cmocka_unit_test(matrix_rows),
        cmocka_unit_test(widths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
