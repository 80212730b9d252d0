/* test_value.c: the text of each operation and conversion, compiled for the host, computes what
 * arith.c says. Signed overflow and bad shifts in the text stop the program. */
#include "host.h"
#include "rig.h"
#include <dlfcn.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

struct device_row {
    const char *name, *text;
};
static const struct device_row device_rows[] = {
#define DEVICE(name, needs, text) {name, text},
#include "emit_cuda/device.def"
};

/* -- Cases ---------------------------------------------------------------------------------------
 */
struct test_case {
    enum function fn;    /* or a conversion: */
    enum dtype from, to; /* from DTYPE_NONE: an operation */
    enum dtype arg[4], result;
    int count, fixed;    /* argument `fixed` is a literal; -1: none */
    enum function outer; /* applied to the operation and a last argument, if `nested` */
    bool nested;
    union scalar literal;
    const char *text;
};

static VEC(struct test_case) cases;
static struct rig rig;

static const int64_t integers[] = {0,
                                   1,
                                   -1,
                                   2,
                                   3,
                                   -3,
                                   7,
                                   8,
                                   31,
                                   32,
                                   63,
                                   64,
                                   -64,
                                   100,
                                   127,
                                   -128,
                                   128,
                                   255,
                                   -129,
                                   32767,
                                   -32768,
                                   65535,
                                   65536,
                                   INT32_MAX,
                                   INT32_MIN,
                                   UINT32_MAX,
                                   INT64_MAX,
                                   INT64_MIN,
                                   0x123456789abcdef};
static const int64_t literals[] = {0,    1,         -1,        3,         -4,       127,
                                   -128, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
static const double floats[] = {
    0.0,     -0.0,         1.0,          -1.0,  0.5,    -0.5,     1.5,       2.5,    -2.5,  0.1,
    3.0,     -7.25,        100.0,        127.9, -128.9, 255.5,    448.0,     464.0,  480.0, 57344.0,
    61440.0, 65504.0,      65520.0,      1e-8,  6e-8,   1e-5,     1e-40,     -1e-40, 1e10,  -1e10,
    3e38,    2147483648.0, 4294967296.0, 1e19,  1e300,  INFINITY, -INFINITY, NAN};
enum {
    INTEGERS = sizeof integers / sizeof *integers,
    FLOATS = sizeof floats / sizeof *floats,
    LITERALS = sizeof literals / sizeof *literals
};

static union scalar sample(enum dtype t, int i) {
    if (dtype_is_float(t)) return (union scalar){.f = scalar_round(floats[i % FLOATS], t)};
    return scalar_cast((union scalar){.i = integers[i % INTEGERS]}, DTYPE_I64, t);
}

static int samples(enum dtype t) {
    return t == DTYPE_BOOL ? 2 : dtype_is_float(t) ? FLOATS : INTEGERS;
}

static struct expr *literal(struct test_case *c, int i) {
    enum dtype t = c->arg[i];

    return dtype_is_float(t) ? expr_float(rig.x, c->literal.f, t)
                             : expr_int(rig.x, c->literal.i, t);
}

static void add_case(struct test_case c) {
    static const char *const name[] = {"a", "b", "c", "d"};
    struct expr *args[4], *e;
    int i;

    for (i = 0; i < c.count; i++)
        args[i] =
            i == c.fixed ? literal(&c, i) : of(&rig, variable(&rig, VAR_PARAM, name[i], c.arg[i]));
    if (c.from)
        e = expr_cast(rig.x, args[0], c.to);
    else
        e = expr_op(rig.x, c.fn, c.nested ? c.arg[0] : c.result, function_row(c.fn)->arity, args);
    if (c.nested) e = expr_op(rig.x, c.outer, c.result, 2, (struct expr *[]){e, args[c.count - 1]});
    c.text = expr_text(&rig, e, false);
    vec_push(rig.arena, &cases, c);
}

/* Inside another operation: its text has to be of its type there, not only of its value. */
static void add_nested(struct test_case c) {
    static const enum function outer[] = {FN_MAX, FN_LT, FN_SHR, FN_FLOORDIV};
    size_t i;

    c.nested = true;
    c.count++;
    for (i = 0; i < sizeof outer / sizeof *outer; i++) {
        c.outer = outer[i];
        c.result = outer[i] == FN_LT ? DTYPE_BOOL : c.arg[0];
        c.fixed = i == 0 ? c.count - 1 : -1;
        c.literal.i = 3;
        add_case(c);
    }
}

static void add_operation(enum function fn, enum dtype t, enum dtype result) {
    struct test_case c = {.fn = fn,
                          .arg = {t, t, t, t},
                          .result = result,
                          .count = function_row(fn)->arity,
                          .fixed = -1};
    int i, k;

    add_case(c);
    if (!dtype_is_float(t) && t != DTYPE_BOOL && t == result) add_nested(c);
    if (c.count != 2) return;
    for (k = 0; k < (dtype_is_float(t) ? FLOATS : LITERALS); k += dtype_is_float(t) ? 5 : 1)
        for (i = 0; i < 2; i++) {
            c.fixed = i;
            c.literal = dtype_is_float(t)
                            ? sample(t, k)
                            : scalar_cast((union scalar){.i = literals[k]}, DTYPE_I64, t);
            add_case(c);
        }
}

static const enum dtype integer_types[] = {DTYPE_I8, DTYPE_I16, DTYPE_I32, DTYPE_I64,
                                           DTYPE_U8, DTYPE_U16, DTYPE_U32, DTYPE_U64};
static const enum dtype float_types[] = {DTYPE_F32, DTYPE_F64};

static void add_row(enum function fn) {
    enum function_types types = function_row(fn)->types;
    bool condition = types == TYPES_COMPARE || types == TYPES_TEST;
    size_t i;

    if (types == TYPES_LOGIC) add_operation(fn, DTYPE_BOOL, DTYPE_BOOL);
    if (types == TYPES_SAME || types == TYPES_INTEGER || types == TYPES_COMPARE ||
        types == TYPES_SHIFT)
        for (i = 0; i < sizeof integer_types / sizeof *integer_types; i++)
            add_operation(fn, integer_types[i], condition ? DTYPE_BOOL : integer_types[i]);
    if (types == TYPES_SAME || types == TYPES_FLOAT || types == TYPES_COMPARE ||
        types == TYPES_TEST)
        for (i = 0; i < sizeof float_types / sizeof *float_types; i++)
            add_operation(fn, float_types[i], condition ? DTYPE_BOOL : float_types[i]);
}

/* SPECIAL rows have types of their own; those between lanes are not for one thread. */
static void add_special(enum function fn, enum dtype arg, enum dtype result) {
    struct test_case c = {.fn = fn,
                          .arg = {arg, arg, arg, arg},
                          .result = result,
                          .count = function_row(fn)->arity,
                          .fixed = -1};
    int part;

    if (fn != FN_PART_16 && fn != FN_PART_8) {
        add_case(c);
        return;
    }
    for (part = 0; part < (fn == FN_PART_16 ? 2 : 4); part++) {
        c.fixed = 1;
        c.literal.i = part;
        add_case(c);
    }
}

static void add_specials(void) {
    int fn;

    for (fn = FN_PACK_F16; fn <= FN_PACK_BF16; fn++)
        add_special((enum function)fn, DTYPE_F32, DTYPE_U32);
    for (fn = FN_PACK_16; fn <= FN_PART_8; fn++)
        add_special((enum function)fn, DTYPE_U32, DTYPE_U32);
    for (fn = FN_F16_TO_F32; fn <= FN_E5M2_TO_F32; fn++)
        add_special((enum function)fn, DTYPE_U32, DTYPE_F32);
    for (fn = FN_F32_TO_F16; fn <= FN_BITS_F32; fn++)
        if (fn != FN_F64_TO_ODD) add_special((enum function)fn, DTYPE_F32, DTYPE_U32);
    add_special(FN_F64_TO_ODD, DTYPE_F64, DTYPE_F32);
    add_special(FN_F32_BITS, DTYPE_U32, DTYPE_F32);
}

static void add_conversions(void) {
    static const enum dtype types[] = {DTYPE_BOOL, DTYPE_I8,    DTYPE_I16, DTYPE_I32,
                                       DTYPE_I64,  DTYPE_U8,    DTYPE_U16, DTYPE_U32,
                                       DTYPE_U64,  DTYPE_INDEX, DTYPE_F32, DTYPE_F64};
    size_t n = sizeof types / sizeof *types, i, k;

    for (i = 0; i < n; i++)
        for (k = 0; k < n; k++)
            if (i != k)
                add_case((struct test_case){.from = types[i],
                                            .to = types[k],
                                            .arg = {types[i]},
                                            .result = types[k],
                                            .count = 1,
                                            .fixed = -1});
}

/* -- One library of all texts --------------------------------------------------------------------
 */
static const char *c_type(enum dtype t) {
    switch (t) {
    case DTYPE_BOOL: return "bool";
    case DTYPE_INDEX:
    case DTYPE_I64: return "long long";
    case DTYPE_U64: return "unsigned long long";
    default: return dtype_device_type(t);
    }
}

static void print_case(struct text *t, const struct test_case *c, int number) {
    static const char *const name[] = {"a", "b", "c", "d"};
    int i;

    text_printf(t, "extern \"C\" uint64_t case_%d(const uint64_t *v)\n{\n    (void)v;\n", number);
    for (i = 0; i < c->count; i++)
        text_printf(t, "    %s %s; memcpy(&%s, v + %d, sizeof %s); (void)%s;\n", c_type(c->arg[i]),
                    name[i], name[i], i, name[i], name[i]);
    if (dtype_is_float(c->result))
        text_printf(
            t, "    const %s r = %s;\n    uint64_t u = 0; memcpy(&u, &r, sizeof r); return u;\n}\n",
            c_type(c->result), c->text);
    else /* as it stands in a larger expression, not yet converted to its type */
        text_printf(t, "    return (uint64_t)(long long)(%s);\n}\n", c->text);
}

static void write_library(void) {
    struct text t = text_new(rig.arena);
    size_t i;
    int k;

    text_puts(&t, host_prelude);
    for (i = 0; i < sizeof device_rows / sizeof *device_rows; i++) {
        const char *code = device_rows[i].text;
        bool usable = !strstr(code, "asm") || strstr(code, "#else");

        if (usable && strncmp(device_rows[i].name, "atomic", 6) &&
            strcmp(device_rows[i].name, "pack_f16") && strncmp(device_rows[i].name, "tilec_", 6))
            text_puts(&t, code);
    }
    for (k = 0; k < cases.count; k++) print_case(&t, &cases.at[k], k);
    write_file("values.cc", t.at);
}

/* -- Comparing -----------------------------------------------------------------------------------
 */
static const struct test_case *current;

static void overflow(int signal) {
    (void)signal;
    fprintf(stderr, "undefined arithmetic in: %s\n", current->text);
    _exit(1);
}

static float from_f16(uint32_t bits) { return (float)scalar_of_bits(bits, DTYPE_F16).f; }

static uint32_t to_f16(float x) {
    return (uint32_t)scalar_bits((union scalar){.f = scalar_round((double)x, DTYPE_F16)},
                                 DTYPE_F16);
}

static bool is_exact(const struct test_case *c) {
    if (c->from || function_row(c->fn)->types == TYPES_SPECIAL) return true;
    switch (c->fn) {
    case FN_ADD:
    case FN_SUB:
    case FN_MUL:
    case FN_DIV:
    case FN_MIN:
    case FN_MAX:
    case FN_MIN_NAN:
    case FN_MAX_NAN:
    case FN_ABS:
    case FN_FMA:
    case FN_FLOOR:
    case FN_CEIL:
    case FN_TRUNC:
    case FN_ROUND:
    case FN_RINT:
    case FN_NEARBYINT:
    case FN_SQRT:
    case FN_NEG:
    case FN_FMOD:
    case FN_COPYSIGN:
    case FN_NEXTAFTER: return true;
    default: return false;
    }
}

static bool same_float(const struct test_case *c, double got, double want) {
    double limit = c->result == DTYPE_F64 ? 1e-13 : 2e-5;

    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
    if (got == want) return true; /* zeros of both signs: CUDA leaves min(-0, +0) open */
    if (is_exact(c)) return false;
    return fabs(got - want) <= limit * fabs(want) + 1e-37;
}

/* Single-precision results that the host's double-rounded functions miss are no matter. */
static bool out_of_domain(const struct test_case *c, const union scalar *args) {
    if (c->from || !dtype_is_float(c->arg[0])) return false;
    return (c->fn >= FN_FAST_EXP && c->fn <= FN_FAST_TANH) || c->fn == FN_SIGMOID ||
           c->fn == FN_POW || (c->fn >= FN_SIN && c->fn <= FN_TAN && fabs(args[0].f) > 1e6) ||
           (c->fn == FN_HYPOT && c->result == DTYPE_F64);
}

static bool unspecified(const struct test_case *c, const union scalar *args) {
    bool division = c->fn == FN_FLOORDIV || c->fn == FN_FLOORMOD || c->fn == FN_TRUNCDIV ||
                    c->fn == FN_TRUNCMOD;

    if (c->nested && c->outer == FN_FLOORDIV && args[c->count - 1].i == 0) return true;
    return (!c->from && division && args[1].i == 0 && !dtype_is_float(c->arg[0])) ||
           out_of_domain(c, args);
}

static void check_values(const struct test_case *c, uint64_t (*call)(const uint64_t *),
                         const union scalar *args) {
    union scalar want, got;
    uint64_t bits[4] = {0}, raw;
    bool is_float = dtype_is_float(c->result);
    int i;

    for (i = 0; i < c->count; i++)
        bits[i] = dtype_is_float(c->arg[i]) ? scalar_bits(args[i], c->arg[i]) : (uint64_t)args[i].i;
    if (unspecified(c, args)) return;
    want = c->from ? scalar_cast(args[0], c->from, c->to) : scalar_op(c->fn, c->arg[0], args);
    if (c->nested)
        want = scalar_op(c->outer, c->arg[0], (union scalar[]){want, args[c->count - 1]});
    current = c;
    raw = call(bits);
    got = is_float ? scalar_of_bits(raw, c->result) : (union scalar){.i = (int64_t)raw};
    if (is_float ? same_float(c, got.f, want.f) : got.i == want.i) return;
    if (is_float)
        fail_msg("%s: of %.17g %.17g gives %.17g, not %.17g", c->text, args[0].f, args[1].f, got.f,
                 want.f);
    fail_msg("%s (%s): of %lld %lld (or %g %g) gives %lld, not %lld", c->text,
             dtype_letter(c->arg[0]), (long long)args[0].i, (long long)args[1].i, args[0].f,
             args[1].f, (long long)got.i, (long long)want.i);
}

static void check_one(const struct test_case *c, uint64_t (*call)(const uint64_t *),
                      const int *at) {
    union scalar args[4] = {{0}};
    int i;

    for (i = 0; i < c->count; i++) args[i] = i == c->fixed ? c->literal : sample(c->arg[i], at[i]);
    check_values(c, call, args);
}

/* All bit patterns of 16 bits, or all floats whose last bits decide on the rounding. */
static void sweep(const struct test_case *c, uint64_t (*call)(const uint64_t *)) {
    static const uint32_t low[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
    union scalar args[4] = {{0}};
    uint32_t high;
    size_t i;

    for (high = 0; high < 0x10000; high++) {
        if (c->arg[0] == DTYPE_U32) {
            args[0].i = high;
            check_values(c, call, args);
            continue;
        }
        for (i = 0; i < sizeof low / sizeof *low; i++) {
            args[0] = scalar_of_bits((uint64_t)high << 16 | low[i], DTYPE_F32);
            check_values(c, call, args);
        }
    }
}

static void check_case(const struct test_case *c, uint64_t (*call)(const uint64_t *)) {
    int at[4] = {0}, n[2] = {1, 1}, i;

    if (!c->from && function_row(c->fn)->types == TYPES_SPECIAL && c->count == 1 &&
        c->arg[0] != DTYPE_F64)
        sweep(c, call);
    for (i = 0; i < c->count && i < 2; i++) n[i] = i == c->fixed ? 1 : samples(c->arg[i]);
    for (at[0] = 0; at[0] < n[0]; at[0]++)
        for (at[1] = 0; at[1] < n[1]; at[1]++) {
            at[2] = at[0] + at[1];
            at[3] = at[0] * 7 + at[1];
            check_one(c, call, at);
        }
}

static void every_text_computes_its_value(void **state) {
    char path[64], name[32];
    void *library;
    int i;

    (void)state;
    snprintf(path, sizeof path, "%s/values.so", rig_directory());
    library = dlopen(path, RTLD_NOW);
    if (!library) fail_msg("%s", dlerror());
    *(float (**)(uint32_t))dlsym(library, "from_f16") = from_f16;
    *(uint32_t(**)(float))dlsym(library, "to_f16") = to_f16;
    signal(SIGILL, overflow);
    for (i = 0; i < cases.count; i++) {
        uint64_t (*call)(const uint64_t *);
        void *symbol;

        snprintf(name, sizeof name, "case_%d", i);
        symbol = dlsym(library, name);
        memcpy(&call, &symbol, sizeof call);
        check_case(&cases.at[i], call);
    }
    print_message("%d texts\n", cases.count);
    dlclose(library);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_text_computes_its_value)};
    int fn, status;

    if (!has_tool("g++")) return rig_clean(), SKIPPED;
    rig = rig_new("sm_80");
    for (fn = 0; fn < FN_COUNT; fn++) add_row((enum function)fn);
    add_specials();
    add_conversions();
    write_library();
    status =
        run("g++ -std=gnu++17 -O1 -w -ffp-contract=off -shared -fPIC "
            "-fsanitize=signed-integer-overflow,shift,"
            "integer-divide-by-zero -fsanitize-undefined-trap-on-error values.cc -o values.so");
    status = status ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
    rig_free(&rig);
    rig_clean();
    return status;
}
