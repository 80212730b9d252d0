/* gemm.c: T.gemm: shapes, types and scopes of a tile product. */
#include "sema/builder.h"

/* -- Types ---------------------------------------------------------------------------------------
 */
static bool legal_types(enum dtype a, enum dtype b, enum dtype acc) {
    bool bytes =
        dtype_is_integer(a) && dtype_is_integer(b) && dtype_bits(a) == 8 && dtype_bits(b) == 8;
    if (bytes) return acc == DTYPE_I32;
    if (type_is_fp8(a) && type_is_fp8(b)) return acc == DTYPE_F32 || acc == DTYPE_F16;
    bool tf32 = (a == DTYPE_F32 || a == DTYPE_TF32) && (b == DTYPE_F32 || b == DTYPE_TF32);
    if (tf32) return acc == DTYPE_F32;
    if (a != b) return false;
    switch (a) {
    case DTYPE_F16: return acc == DTYPE_F16 || acc == DTYPE_F32;
    case DTYPE_BF16: return acc == DTYPE_F32;
    case DTYPE_F64: return acc == DTYPE_F64;
    default: return false;
    }
}

static const char *wanted_accumulator(enum dtype a, enum dtype b) {
    static const enum dtype choice[] = {DTYPE_F32, DTYPE_I32, DTYPE_F64};
    for (size_t i = 0; i < sizeof choice / sizeof *choice; i++)
        if (legal_types(a, b, choice[i])) return dtype_spelling(choice[i]);
    return NULL;
}

static bool check_types(struct sema *s, const struct operand *o, struct span span) {
    enum dtype a = o[0].region.buffer->dtype, b = o[1].region.buffer->dtype;
    enum dtype acc = o[2].region.buffer->dtype;
    if (legal_types(a, b, acc)) return true;
    const char *want = wanted_accumulator(a, b);
    if (want)
        sema_error(s, span, E0308, "no product of '%s' and '%s' is summed in '%s'; '%s' needs '%s'",
                   dtype_spelling(a), dtype_spelling(b), dtype_spelling(acc),
                   o[2].region.buffer->name->text, want);
    else if (a == b)
        sema_error(s, span, E0308,
                   "T.gemm has no product of '%s'; it multiplies int8, uint8, fp8, float16, "
                   "bfloat16, tfloat32, float32 and float64",
                   dtype_spelling(a));
    else
        sema_error(s, span, E0308,
                   "'%s' of '%s' and '%s' of '%s' have no product; cast one to the other's type",
                   o[0].region.buffer->name->text, dtype_spelling(a),
                   o[1].region.buffer->name->text, dtype_spelling(b));
    return false;
}

/* -- Scopes and shapes ---------------------------------------------------------------------------
 */
static const char *scope_name(enum scope scope) {
    switch (scope) {
    case SCOPE_GLOBAL: return "global";
    case SCOPE_SHARED: return "shared";
    case SCOPE_FRAGMENT: return "fragment";
    case SCOPE_LOCAL: return "private";
    }
    return "";
}

static bool check_scope(struct sema *s, const struct operand *o, bool result, const char *what) {
    enum scope scope = o->region.buffer->scope;
    if (scope == SCOPE_FRAGMENT || (scope == SCOPE_SHARED && !result)) return true;
    sema_error(s, o->span, E0318, "'%s' is %s; %s of T.gemm is a %s", o->region.buffer->name->text,
               scope_name(scope), what, result ? "fragment" : "shared tile or a fragment");
    return false;
}

static bool check_result_apart(struct sema *s, const struct operand *o, const struct operand *c) {
    if (o->region.buffer != c->region.buffer) return true;
    sema_error(s, o->span, E0318,
               "'%s' is read and summed into by one T.gemm; copy it to another fragment first",
               o->region.buffer->name->text);
    return false;
}

/* The last two axes are the matrix; extents before them are 1. */
static bool matrix_of(struct sema *s, const struct operand *o, int32_t *rows, int32_t *columns) {
    const struct region *r = &o->region;
    int rank = r->buffer->rank;
    bool good = rank >= 2;
    for (int i = 0; i < rank - 2; i++) good &= r->extent[i] == 1;
    if (!good) {
        sema_error(
            s, o->span, E0307,
            "'%s' %s is no matrix: T.gemm takes the last two axes, with 1 in all before them",
            r->buffer->name->text, extents_text(s, rank, r->extent));
        return false;
    }
    *rows = r->extent[rank - 2];
    *columns = r->extent[rank - 1];
    return true;
}

static bool shapes(struct sema *s, const struct operand *o, struct stmt *st, struct span span) {
    int32_t size[3][2];
    for (int i = 0; i < 3; i++)
        if (!matrix_of(s, &o[i], &size[i][0], &size[i][1]) || !operand_inside(s, &o[i], E0307))
            return false;
    bool ta = st->gemm.transpose_a, tb = st->gemm.transpose_b;
    int32_t m = size[0][ta], k = size[0][!ta], k2 = size[1][tb], n = size[1][!tb];
    st->gemm.m = m;
    st->gemm.n = n;
    st->gemm.k = k;
    if (k == k2 && size[2][0] == m && size[2][1] == n) return true;
    const char *fault = k != k2 ? "the inner extents differ" : "the result has another shape";
    sema_error(s, span, E0307, "'%s' (%d, %d)%s @ '%s' (%d, %d)%s -> '%s' (%d, %d): %s; %s",
               o[0].region.buffer->name->text, size[0][0], size[0][1], ta ? " transposed" : "",
               o[1].region.buffer->name->text, size[1][0], size[1][1], tb ? " transposed" : "",
               o[2].region.buffer->name->text, size[2][0], size[2][1], fault,
               k != k2 ? arena_printf(s->arena, "%d against %d", k, k2)
                       : arena_printf(s->arena, "(%d, %d) is needed", m, n));
    return false;
}

/* -- Options -------------------------------------------------------------------------------------
 */
static bool options(struct sema *s, const struct call *c, struct stmt *st) {
    bool good = true;
    int policy = call_find(c, "policy"), clear = call_find(c, "clear_accum"),
        mbar = call_find(c, "mbar");
    st->gemm.transpose_a = call_bool(s, c, call_find(c, "transpose_A"), false, &good);
    st->gemm.transpose_b = call_bool(s, c, call_find(c, "transpose_B"), false, &good);
    if (call_given(c, mbar)) {
        sema_error(s, c->arg_span[mbar], E0401, "'mbar' of T.gemm is not supported yet");
        good = false;
    }
    if (call_int(s, c, call_find(c, "k_pack"), 1, &good) != 1 && good) {
        sema_error(s, c->span, E0404, "'k_pack' of T.gemm is 1 on these targets");
        good = false;
    }
    if (call_given(c, policy)) {
        if (c->arg[policy].kind == VALUE_POLICY) {
            st->gemm.policy = c->arg[policy].policy;
        } else {
            if (!value_is_bad(c->arg[policy]))
                sema_error(s, c->arg_span[policy], E0404,
                           "'policy' is T.GemmWarpPolicy.Square, FullRow or FullCol, got %s",
                           value_kind_name(c->arg[policy]));
            good = false;
        }
    }
    if (call_given(c, clear)) {
        struct expr *e = value_condition(s, c->arg[clear], c->arg_span[clear]);
        int64_t known;
        good &= e != NULL;
        if (e && (!expr_is_int(e, &known) || known)) st->gemm.clear = e;
        if (e && is_divergent(s, e)) {
            sema_error(s, c->arg_span[clear], E0411,
                       "'clear_accum' differs between the threads of the block");
            good = false;
        }
    }
    return good;
}

struct value build_gemm(struct sema *s, const struct call *c) {
    static const char *const names[3] = {"A", "B", "C"};
    struct operand o[3];
    bool good = call_as_tile(s, c);
    for (int i = 0; good && i < 3; i++)
        good = operand_of(s, c->arg[i], c->arg_span[i], names[i], &o[i]);
    for (int i = 0; good && i < 3; i++) good = check_scope(s, &o[i], i == 2, names[i]);
    for (int i = 0; good && i < 2; i++) good = check_result_apart(s, &o[i], &o[2]);
    if (!good) return value_none();
    struct stmt *st = stmt_new(s->module, STMT_GEMM, c->span);
    st->gemm.atom = -1;
    st->gemm.policy = POLICY_SQUARE;
    if (!options(s, c, st) || !shapes(s, o, st, c->span) || !check_types(s, o, c->span))
        return value_none();
    st->gemm.a = o[0].region;
    st->gemm.b = o[1].region;
    st->gemm.c = o[2].region;
    block_append(s->block, st);
    return value_none();
}
