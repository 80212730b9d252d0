/* test_device.c: every statement, function row, helper row and tensor-core row that an architecture
 * has becomes CUDA that nvcc takes without a warning. */
#include "rig.h"
#include <stdio.h>

static const char *const archs[] = {"sm_75", "sm_80", "sm_89", "sm_90a"};
enum { ARCHS = sizeof archs / sizeof *archs };

static void check(struct rig *r, const char *arch) {
    write_file("hand.h", header_text(r));
    write_file("hand.cu", cuda_text(r));
    if (nvcc_compiles("hand.cu", arch)) return;
    print_error("%s\n", cuda_text(r));
    fail_msg("nvcc refuses this for %s", arch);
}

/* A value computed and stored, so that nothing is left out as unused. */
static void keep(struct rig *r, struct buffer *out, int at, struct expr *value) {
    struct kstmt *s = add(r, K_STORE);

    s->memory.address = (struct address){out, ix(r, at), dtype_bytes(out->dtype)};
    s->memory.memory = out->dtype;
    s->memory.bytes = dtype_bytes(out->dtype);
    s->memory.value = value;
}

static struct expr *load(struct rig *r, struct buffer *from, const char *name, enum dtype t) {
    struct kstmt *s = add(r, K_LOAD);

    s->memory.address = (struct address){from, ix(r, 3), dtype_bytes(from->dtype)};
    s->memory.memory = from->dtype;
    s->memory.bytes = dtype_bytes(from->dtype);
    s->memory.var = variable(r, VAR_LET, name, t);
    s->memory.read_only = !from->written && from->scope == SCOPE_GLOBAL;
    return of(r, s->memory.var);
}

/* -- Functions -----------------------------------------------------------------------------------
 */
struct typed {
    enum dtype type;
    struct buffer *in, *out;
};

static void one_function(struct rig *r, enum function fn, const struct typed *t, int *number) {
    enum function_types types = function_row(fn)->types;
    bool is_float = dtype_is_float(t->type), is_int = dtype_is_integer(t->type);
    struct expr *args[4], *e;
    int i;

    if (types == TYPES_SPECIAL || types == TYPES_LOGIC) return;
    if ((types == TYPES_FLOAT || types == TYPES_TEST) && !is_float) return;
    if ((types == TYPES_INTEGER || types == TYPES_SHIFT) && !is_int) return;
    for (i = 0; i < 4; i++)
        args[i] = load(r, t->in, arena_printf(r->arena, "x%d", ++*number), t->type);
    e = expr_op(r->x, fn, types == TYPES_COMPARE || types == TYPES_TEST ? DTYPE_BOOL : t->type,
                function_row(fn)->arity, args);
    keep(r, t->out, ++*number, expr_cast(r->x, e, t->type));
    if (is_int && e->dtype == t->type) /* as an operand: overloads go by its type */
        keep(r, t->out, ++*number, expr_binary(r->x, FN_MAX, e, expr_int(r->x, 3, t->type)));
    if (function_row(fn)->arity != 2) return;
    for (i = 0; i < 2; i++) { /* the overloads for literals */
        args[i] = is_float ? expr_float(r->x, 3.0, t->type) : expr_int(r->x, 3, t->type);
        e = expr_op(r->x, fn, types == TYPES_COMPARE ? DTYPE_BOOL : t->type, 2, args);
        keep(r, t->out, ++*number, expr_cast(r->x, e, t->type));
    }
}

static void every_function_row(void **state) {
    static const enum dtype types[] = {DTYPE_F32, DTYPE_F64, DTYPE_I32, DTYPE_I64, DTYPE_U32,
                                       DTYPE_U64, DTYPE_I8,  DTYPE_U8,  DTYPE_I16, DTYPE_U16};
    struct rig r = rig_new("sm_75");
    int number = 0, fn;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof types / sizeof *types; i++) {
        const char *letter = dtype_letter(types[i]);
        struct typed t = {types[i],
                          tensor(&r, arena_printf(r.arena, "in_%s", letter), types[i], 9, false),
                          tensor(&r, arena_printf(r.arena, "out_%s", letter), types[i], 9, true)};

        for (fn = 0; fn < FN_COUNT; fn++) one_function(&r, (enum function)fn, &t, &number);
    }
    check(&r, "sm_75");
    rig_free(&r);
}

static const struct {
    enum function fn;
    enum dtype argument, result;
} specials[] = {
    {FN_PACK_F16, DTYPE_F32, DTYPE_U32},    {FN_PACK_BF16, DTYPE_F32, DTYPE_U32},
    {FN_PACK_16, DTYPE_U32, DTYPE_U32},     {FN_PACK_8, DTYPE_U32, DTYPE_U32},
    {FN_F16_TO_F32, DTYPE_U32, DTYPE_F32},  {FN_BF16_TO_F32, DTYPE_U32, DTYPE_F32},
    {FN_E4M3_TO_F32, DTYPE_U32, DTYPE_F32}, {FN_E5M2_TO_F32, DTYPE_U32, DTYPE_F32},
    {FN_F32_TO_F16, DTYPE_F32, DTYPE_U32},  {FN_F32_TO_BF16, DTYPE_F32, DTYPE_U32},
    {FN_F32_TO_E4M3, DTYPE_F32, DTYPE_U32}, {FN_F32_TO_E5M2, DTYPE_F32, DTYPE_U32},
    {FN_F32_TO_TF32, DTYPE_F32, DTYPE_U32}, {FN_BITS_F32, DTYPE_F32, DTYPE_U32},
    {FN_F32_BITS, DTYPE_U32, DTYPE_F32},    {FN_SHUFFLE_XOR, DTYPE_F32, DTYPE_F32},
    {FN_SHUFFLE_XOR, DTYPE_I64, DTYPE_I64}, {FN_SHUFFLE_XOR, DTYPE_F64, DTYPE_F64},
    {FN_SHUFFLE, DTYPE_U32, DTYPE_U32},     {FN_SHUFFLE_XOR, DTYPE_I32, DTYPE_I32},
    {FN_SHUFFLE_XOR, DTYPE_U64, DTYPE_U64},
};

static void machine_functions(struct rig *r) {
    size_t i;
    int k;

    for (i = 0; i < sizeof specials / sizeof *specials; i++) {
        bool lanes = specials[i].fn == FN_SHUFFLE || specials[i].fn == FN_SHUFFLE_XOR;
        enum dtype t = specials[i].argument;
        struct buffer *in = tensor(r, arena_printf(r->arena, "i%d", (int)i), t, 9, false);
        struct buffer *out =
            tensor(r, arena_printf(r->arena, "o%d", (int)i), specials[i].result, 9, true);
        struct expr *args[4];

        for (k = 0; k < 4; k++) args[k] = load(r, in, "x", t);
        if (lanes) args[1] = ix(r, 5);
        keep(r, out, 0,
             expr_op(r->x, specials[i].fn, specials[i].result, function_row(specials[i].fn)->arity,
                     args));
    }
}

static void every_machine_function(void **state) {
    int a;

    (void)state;
    for (a = 0; a < ARCHS; a++) {
        struct rig r = rig_new(archs[a]);

        machine_functions(&r);
        check(&r, archs[a]);
        rig_free(&r);
    }
}

/* -- Statements ----------------------------------------------------------------------------------
 */
static void control(struct rig *r, struct buffer *out) {
    struct kblock *outer = r->out;
    struct var *count = variable(r, VAR_MUTABLE, "count", DTYPE_I32), *i = ranged(r, "i", 0, 7);
    struct kstmt *s = add(r, K_VAR);

    s->set.var = count;
    s->set.value = expr_int(r->x, 0, DTYPE_I32);
    s = add(r, K_FOR);
    i->kind = VAR_LOOP;
    s->loop.var = i;
    s->loop.lo = ix(r, 0);
    s->loop.hi = ix(r, 8);
    s->loop.step = 2;
    s->loop.unroll = 1;
    r->out = &s->loop.body;
    s = add(r, K_IF);
    s->branch.test = expr_binary(r->x, FN_LT, ix(r, 4), of(r, i));
    r->out = &s->branch.then;
    add(r, K_BREAK);
    r->out = &s->branch.otherwise;
    add(r, K_CONTINUE);
    r->out = outer;
    s = add(r, K_WHILE);
    s->repeat.test = expr_binary(r->x, FN_LT, of(r, count), expr_int(r->x, 3, DTYPE_I32));
    r->out = &s->repeat.body;
    s = add(r, K_SET);
    s->set.var = count;
    s->set.value = expr_binary(r->x, FN_ADD, of(r, count), expr_int(r->x, 1, DTYPE_I32));
    r->out = outer;
    keep(r, out, 0, expr_cast(r->x, of(r, count), DTYPE_F32));
}

static void messages(struct rig *r) {
    struct kstmt *s = add(r, K_PRINT);

    s->print.message = "100% \"quoted\" \\ \n end";
    s->print.value = expr_int(r->x, -3, DTYPE_I32);
    s->print.test = expr_bool(r->x, true);
    add(r, K_PRINT)->print.message = "%d %s";
    s = add(r, K_ASSERT);
    s->print.test = expr_binary(r->x, FN_LT, of(r, r->kernel->code->thread), ix(r, 64));
    s->print.message = "50% of \"it\"\n";
    add(r, K_COMMENT)->comment = "ends in a backslash \\";
    add(r, K_COMMENT)->comment = "two\nlines */ and more";
}

static void vectors(struct rig *r, enum dtype t, enum dtype element) {
    const char *letter = dtype_letter(element);
    struct buffer *in =
        tensor(r, arena_printf(r->arena, "vector_in_%s", letter), element, 64, false);
    struct buffer *out =
        tensor(r, arena_printf(r->arena, "vector_out_%s", letter), element, 64, true);
    struct array *a = registers(r, "words", t, element, 4);
    int bytes, k;

    for (bytes = dtype_bytes(t); bytes <= 16; bytes *= 2)
        for (k = 0; k < 3; k++) {
            struct kstmt *s = add(r, k < 2 ? K_LOAD : K_STORE);

            s->memory.address = (struct address){k == 1 ? out : k ? out : in, ix(r, 16), bytes};
            s->memory.memory = element;
            s->memory.bytes = bytes;
            s->memory.data = (struct operand){a, ix(r, 0)};
            s->memory.read_only = k == 0;
        }
}

static void atomics(struct rig *r, enum dtype t) {
    struct buffer *b = tensor(r, arena_printf(r->arena, "atomic_%s", dtype_letter(t)), t, 64, true);
    enum dtype held = dtype_is_float(t) && t != DTYPE_F64 ? DTYPE_F32 : t;
    int op, order;

    for (op = ATOMIC_ADD; op <= ATOMIC_MIN; op++)
        for (order = ORDER_RELAXED; order <= ORDER_SEQ_CST; order += 4) {
            struct kstmt *s = add(r, K_ATOMIC);

            s->atomic.op = (enum atomic_op)op;
            s->atomic.order = (enum memory_order)order;
            s->atomic.address = (struct address){b, ix(r, 2), dtype_bytes(t)};
            s->atomic.dtype = t;
            s->atomic.value =
                dtype_is_float(t) ? expr_float(r->x, 1.5, held) : expr_int(r->x, 3, t);
            if (order == ORDER_RELAXED) continue;
            s->atomic.previous = variable(r, VAR_LET, "before", held);
            keep(r,
                 tensor(r, arena_printf(r->arena, "kept_%s_%d", dtype_letter(t), op), DTYPE_F32, 4,
                        true),
                 0, expr_cast(r->x, of(r, s->atomic.previous), DTYPE_F32));
        }
}

static void ordering(struct rig *r) {
    struct kstmt *s = add(r, K_BARRIER);

    s->barrier.id = 0;
    s = add(r, K_BARRIER);
    s->barrier.id = 1;
    s->barrier.threads = 32;
    add(r, K_SYNC_WARP);
}

/* A word of which one part comes to be before the others. */
static void by_parts(struct rig *r, struct buffer *out) {
    struct array *a = registers(r, "parts", DTYPE_U32, DTYPE_I16, 1);
    struct expr *args[2] = {expr_element(r->x, a, ix(r, 0), DTYPE_U32),
                            expr_int(r->x, 0, DTYPE_U32)};
    struct kstmt *s = add(r, K_PUT);

    args[0] = expr_op(r->x, FN_PART_16, DTYPE_U32, 2, args);
    args[1] = expr_int(r->x, 7, DTYPE_U32);
    s->put.to = (struct operand){a, ix(r, 0)};
    s->put.value = expr_op(r->x, FN_PACK_16, DTYPE_U32, 2, args);
    keep(r, out, 0, expr_cast(r->x, expr_element(r->x, a, ix(r, 0), DTYPE_U32), DTYPE_F32));
}

static void every_statement(void **state) {
    static const struct {
        enum dtype held, element;
    } moved[] = {{DTYPE_U32, DTYPE_F16}, {DTYPE_F32, DTYPE_F32}, {DTYPE_F64, DTYPE_F64},
                 {DTYPE_I32, DTYPE_I32}, {DTYPE_I64, DTYPE_I64}, {DTYPE_U64, DTYPE_U64},
                 {DTYPE_U32, DTYPE_I8},  {DTYPE_U32, DTYPE_U32}};
    static const enum dtype added[] = {DTYPE_F32, DTYPE_F64, DTYPE_I32, DTYPE_U32,
                                       DTYPE_I64, DTYPE_U64, DTYPE_F16, DTYPE_BF16};
    int a;
    size_t i;

    (void)state;
    for (a = 0; a < ARCHS; a += 3) {
        struct rig r = rig_new(archs[a]);
        struct var *t = variable(&r, VAR_THREAD, "tx", DTYPE_INDEX);

        t->lo = 0;
        t->hi = 63;
        r.kernel->code->thread = t;
        control(&r, tensor(&r, "out", DTYPE_F32, 4, true));
        by_parts(&r, tensor(&r, "words", DTYPE_F32, 4, true));
        messages(&r);
        for (i = 0; i < sizeof moved / sizeof *moved; i++)
            vectors(&r, moved[i].held, moved[i].element);
        for (i = 0; i < sizeof added / sizeof *added; i++) atomics(&r, added[i]);
        ordering(&r);
        check(&r, archs[a]);
        rig_free(&r);
    }
}

/* -- Copies and matrices -------------------------------------------------------------------------
 */
static void copies(struct rig *r) {
    struct buffer *from = tensor(r, "from", DTYPE_F16, 4096, false);
    struct buffer *to = shared(r, "tile", DTYPE_F16, 4096);
    int bytes, form;

    for (bytes = 4; bytes <= 16; bytes *= 2)
        for (form = 0; form < 4; form++) {
            struct kstmt *s = add(r, K_CP_ASYNC);

            s->cp_async.to = (struct address){to, ix(r, 64), bytes};
            s->cp_async.from = (struct address){from, ix(r, 32), bytes};
            s->cp_async.bytes = bytes;
            if (form & 1) s->cp_async.source_bytes = ix(r, bytes / 2);
            if (form & 2) s->cp_async.guard = expr_bool(r->x, true);
        }
    add(r, K_COMMIT);
    add(r, K_WAIT)->wait.groups = 2;
}

static void matrices(struct rig *r, bool store) {
    struct buffer *tile = shared(r, "matrices", DTYPE_F16, 4096);
    struct array *a = registers(r, "fragment", DTYPE_U32, DTYPE_F16, 8);
    int count, transpose;

    for (count = 1; count <= 4; count *= 2)
        for (transpose = 0; transpose < 2; transpose++) {
            struct kstmt *s = add(r, store ? K_STMATRIX : K_LDMATRIX);

            s->matrix.address = (struct address){tile, ix(r, 0), 16};
            s->matrix.data = (struct operand){a, ix(r, 4)};
            s->matrix.matrices = count;
            s->matrix.transpose = transpose;
        }
}

static int registers_of(int elements, enum dtype t) {
    int bits = dtype_bits(t);

    return bits == 64 ? elements / 32 : elements * bits / 32 / 32;
}

static void products(struct rig *r) {
    int i;

    for (i = 0; i < mma_count(); i++) {
        const struct mma_row *m = mma_row(i);
        enum dtype d = m->acc == DTYPE_F16 ? DTYPE_U32 : m->acc;
        enum dtype ab = m->a == DTYPE_F64 ? DTYPE_F64 : DTYPE_U32;
        struct kstmt *s;

        if (m->capability > r->module->target->capability) continue;
        struct array *arrays[3] = {registers(r, "d", d, m->acc, registers_of(m->m * m->n, m->acc)),
                                   registers(r, "a", ab, m->a, registers_of(m->m * m->k, m->a)),
                                   registers(r, "b", ab, m->b, registers_of(m->k * m->n, m->b))};
        s = add(r, K_MMA);
        s->mma.row = i;
        s->mma.d = (struct operand){arrays[0], ix(r, 0)};
        s->mma.a = (struct operand){arrays[1], ix(r, 0)};
        s->mma.b = (struct operand){arrays[2], ix(r, 0)};
    }
}

static void every_copy_and_matrix(void **state) {
    int a;

    (void)state;
    for (a = 0; a < ARCHS; a++) {
        struct rig r = rig_new(archs[a]);

        if (target_has(r.module->target, FEATURE_CP_ASYNC)) copies(&r);
        matrices(&r, false);
        if (target_has(r.module->target, FEATURE_STMATRIX)) matrices(&r, true);
        products(&r);
        check(&r, archs[a]);
        rig_free(&r);
    }
}

/* -- Names, arguments, the thread's place --------------------------------------------------------
 */
static void awkward_names(void **state) {
    static const char *const words[] = {
        "lane",   "warp",   "smem",         "out",    "kernel", "launch", "f",
        "union_", "exp",    "floordiv",     "ex2",    "isnan",  "linux",  "M_PI",
        "uint4",  "make_x", "block_number", "printf", "tilec_x"};
    struct rig r = rig_new("sm_80");
    struct buffer *sink = tensor(&r, "sink", DTYPE_F32, 4, true);
    struct var *thread = ranged(&r, "thread", 0, 63);
    struct expr *sum = (thread->kind = VAR_THREAD, of(&r, thread));
    size_t i;

    (void)state;
    r.kernel->code->thread = thread;
    for (i = 0; i < sizeof words / sizeof *words; i++) {
        struct kstmt *s = add(&r, K_VAR);

        s->set.var = ranged(&r, words[i], -1000, 1000);
        s->set.value = ix(&r, (int64_t)i);
        sum = expr_binary(r.x, FN_ADD, sum, of(&r, s->set.var));
    }
    keep(&r, sink, 0,
         expr_unary(r.x, FN_EXP,
                    expr_cast(r.x, expr_binary(r.x, FN_FLOORDIV, sum, ix(&r, -3)), DTYPE_F32)));
    check(&r, "sm_80");
    rig_free(&r);
}

static void scalars_of_every_type(void **state) {
    static const enum dtype types[] = {DTYPE_F16, DTYPE_BF16, DTYPE_E4M3, DTYPE_E5M2,
                                       DTYPE_F32, DTYPE_F64,  DTYPE_I8,   DTYPE_U16,
                                       DTYPE_I32, DTYPE_U64,  DTYPE_BOOL};
    struct rig r = rig_new("sm_80");
    struct buffer *sink = tensor(&r, "sink", DTYPE_F32, 64, true);
    size_t i;

    (void)state;
    for (i = 0; i < sizeof types / sizeof *types; i++) {
        struct var *v = scalar(&r, arena_printf(r.arena, "s%d", (int)i), types[i]);

        scalar(&r, arena_printf(r.arena, "unused%d", (int)i), types[i]);
        keep(&r, sink, (int)i,
             dtype_bits(types[i]) < 32 && dtype_is_float(types[i])
                 ? expr_binary(r.x, FN_ADD, of(&r, v), of(&r, v))
                 : expr_cast(r.x, of(&r, v), DTYPE_F32));
    }
    check(&r, "sm_80");
    rig_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_row), cmocka_unit_test(every_machine_function),
        cmocka_unit_test(every_statement),    cmocka_unit_test(every_copy_and_matrix),
        cmocka_unit_test(awkward_names),      cmocka_unit_test(scalars_of_every_type)};
    int status = has_tool("nvcc") ? cmocka_run_group_tests(tests, NULL, NULL) : SKIPPED;

    rig_clean();
    return status;
}
