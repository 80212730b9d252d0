/* expr.c: expressions as CUDA, by template.
 *
 * Exact integers (INDEX) are written in `int` where the range of the expression and of its parts
 * fits, in `long long` elsewhere; the host writes them in int64_t throughout. Integers of the
 * language wrap, which C++ leaves undefined for signed types, so their sums are made unsigned. */
#include "emit_cuda/internal.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct form {
    const char *integer, *f32, *f64, *needs;
};

static const struct form forms[FN_COUNT] = {
#define CUDA(id, integer, f32, f64, needs) [FN_##id] = {integer, f32, f64, needs},
#include "cuda.def"
};

static const struct form host_forms[FN_COUNT] = {
#define HOST(id, f32, f64) [FN_##id] = {"", f32, f64, ""},
#include "cuda.def"
};

static bool in_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* The words before a '(' of one template. */
static void form_calls(struct arena *a, const char *form,
                       void (*visit)(const char *name, void *data), void *data) {
    for (const char *p = form; p && (p = strchr(p, '(')); p++) {
        const char *begin = p;
        while (begin > form && in_word(begin[-1])) begin--;
        if (begin < p) visit(arena_strndup(a, begin, (size_t)(p - begin)), data);
    }
}

void expr_each_call(struct arena *a, void (*visit)(const char *name, void *data), void *data) {
    for (int i = 0; i < FN_COUNT; i++) {
        form_calls(a, forms[i].integer, visit, data);
        form_calls(a, forms[i].f32, visit, data);
        form_calls(a, forms[i].f64, visit, data);
    }
}

/* C's precedence of what is being written; an operand below what its place asks for is bracketed.
 */
enum prec {
    PREC_ANY,
    PREC_CHOICE,
    PREC_LOR,
    PREC_LAND,
    PREC_OR,
    PREC_XOR,
    PREC_AND,
    PREC_EQ,
    PREC_LT,
    PREC_SHIFT,
    PREC_ADD,
    PREC_MUL,
    PREC_UNARY,
    PREC_ATOM
};

static void emit_at(struct emitter *e, const struct expr *x, enum prec outer, bool wide);

bool fits_int(int64_t lo, int64_t hi) { return lo >= INT32_MIN && hi <= INT32_MAX; }

/* Can the whole expression be computed in 32 bits? */
static bool narrow(const struct expr *x) {
    if (x->dtype != DTYPE_INDEX) return true;
    if (!fits_int(x->lo, x->hi)) return false;
    if (x->kind == EXPR_CAST) return true;
    for (int i = x->kind == EXPR_SELECT; i < x->count; i++)
        if (x->kind != EXPR_ELEMENT && !narrow(x->args[i])) return false;
    return true;
}

const char *emit_type(const struct emitter *e, enum dtype t, int64_t lo, int64_t hi) {
    switch (dtype_class_of(t)) {
    case CLASS_BOOL: return "bool";
    case CLASS_INDEX: return e->host ? "int64_t" : fits_int(lo, hi) ? "int" : "long long";
    case CLASS_FLOAT: return t == DTYPE_F64 ? "double" : "float";
    case CLASS_INT:
        if (t == DTYPE_I64) return "long long";
        return t == DTYPE_I32 ? "int" : dtype_device_type(t);
    case CLASS_UINT: return t == DTYPE_U64 ? "unsigned long long" : dtype_device_type(t);
    case CLASS_NONE: break;
    }
    return "void";
}

const char *var_name(struct emitter *e, const struct var *v) {
    return names_of(e->names, v, v->name ? v->name->text : "v");
}

const char *buffer_name(struct emitter *e, const struct buffer *b) {
    while (b->alias) b = b->alias; /* a view has no storage of its own */
    return names_of(e->names, b, b->name ? b->name->text : "b");
}

const char *array_name(struct emitter *e, const struct array *a) {
    return names_of(e->names, a, a->name ? a->name->text : "r");
}

/* -- Literals ------------------------------------------------------------------------------------
 */
static void emit_integer(struct emitter *e, const struct expr *x, bool wide) {
    int64_t v = x->integer;
    wide |= x->dtype == DTYPE_I64; /* overloads go by the type of a literal, too */
    if (x->dtype == DTYPE_BOOL) {
        text_puts(e->out, v ? "true" : "false");
    } else if (dtype_class_of(x->dtype) == CLASS_UINT && dtype_bits(x->dtype) >= 32) {
        text_printf(e->out, (uint64_t)v > 0xffff ? "0x%llx%s" : "%llu%s", (unsigned long long)v,
                    x->dtype == DTYPE_U64 ? "ull" : "u");
    } else if (v == INT64_MIN) {
        text_puts(e->out, "(-0x7fffffffffffffffLL - 1)");
    } else if (v == INT32_MIN && !wide) {
        text_puts(e->out, "(-0x7fffffff - 1)");
    } else {
        text_printf(e->out, v < 0 ? "(%lld%s)" : "%lld%s", (long long)v,
                    wide || !fits_int(v, v) ? "LL" : "");
    }
}

static const char *shortest_double(struct emitter *e, double v) {
    struct text number = text_new(e->arena);
    text_double(&number, v);
    return number.at;
}

/* The fewest digits that give the same float: 0.1f, not the double next to it. */
static const char *shortest_float(struct emitter *e, float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    struct spelling *known = &e->spelled[bits * 2654435761u / (UINT32_MAX / SPELLINGS + 1)];
    if (known->text && known->bits == bits) return known->text;
    const char *s = "";
    for (int digits = 1; digits <= 9; digits++) {
        s = arena_printf(e->arena, "%.*g", digits, (double)v);
        if (strtof(s, NULL) == v) break;
    }
    *known = (struct spelling){bits, strpbrk(s, ".e") ? s : arena_printf(e->arena, "%s.0", s)};
    return known->text;
}

static void emit_float(struct emitter *e, const struct expr *x) {
    double v = x->number;
    bool is_double = x->dtype == DTYPE_F64;
    if (e->host && (isnan(v) || isinf(v))) {
        text_puts(e->out, isnan(v) ? "NAN" : v > 0 ? "INFINITY" : "(-INFINITY)");
    } else if (isnan(v)) {
        text_puts(e->out, is_double ? "__longlong_as_double(0x7fffffffffffffffLL)"
                                    : "__int_as_float(0x7fffffff)");
    } else if (isinf(v)) {
        const char *bits = is_double ? (v > 0 ? "0x7ff0000000000000LL" : "0xfff0000000000000LL")
                                     : (v > 0 ? "0x7f800000" : "0xff800000");
        text_printf(e->out, is_double ? "__longlong_as_double(%s)" : "__int_as_float(%s)", bits);
    } else {
        const char *number = is_double ? shortest_double(e, v) : shortest_float(e, (float)v);
        text_printf(e->out, v < 0 || (v == 0 && signbit(v)) ? "(%s%s)" : "%s%s", number,
                    is_double ? "" : "f");
    }
}

/* -- Operators
 * ------------------------------------------------------------------------------------- */
static void open(struct emitter *e, bool on) {
    if (on) text_puts(e->out, "(");
}

static void close(struct emitter *e, bool on) {
    if (on) text_puts(e->out, ")");
}

/* What an operand must bind by to stand without brackets. Where C's own order is little known, and
 * compilers warn, more is asked than C asks. */
static enum prec operand_prec(const struct expr *x, int i, enum prec own) {
    const struct expr *a = x->args[i];
    bool chain = i == 0 && a->kind == EXPR_OP && a->fn == x->fn;
    switch (own) {
    case PREC_LOR: return chain ? own : PREC_OR;
    case PREC_LAND: return chain ? own : PREC_OR;
    case PREC_OR:
    case PREC_XOR:
    case PREC_AND: return chain ? own : PREC_UNARY;
    case PREC_EQ:
    case PREC_LT: return PREC_SHIFT;
    case PREC_SHIFT: return PREC_MUL;
    default: return i ? own + 1 : own;
    }
}

static void emit_infix(struct emitter *e, const struct expr *x, const char *sign, enum prec own,
                       enum prec outer, bool wide) {
    open(e, own < outer);
    emit_at(e, x->args[0], operand_prec(x, 0, own), wide);
    text_printf(e->out, " %s ", sign);
    emit_at(e, x->args[1], operand_prec(x, 1, own), wide);
    close(e, own < outer);
}

/* The type in which a helper computes: 32 bits at least. */
static const char *helper_type(const struct expr *x, bool wide) {
    bool is_unsigned = dtype_class_of(x->dtype) == CLASS_UINT;
    if (x->dtype == DTYPE_INDEX) return wide ? "long long" : "int";
    if (dtype_bits(x->dtype) == 64) return is_unsigned ? "unsigned long long" : "long long";
    return is_unsigned ? "unsigned" : "int";
}

/* "floordiv<int>(", or on the host, where all integers have 64 bits, "tilec_floordiv(". */
static void begin_helper(struct emitter *e, const struct expr *x, const char *name, bool wide) {
    if (e->host)
        text_printf(e->out, "%s(",
                    helper_use(e->helpers, arena_printf(e->arena, "tilec_%s", name)));
    else
        text_printf(e->out, "%s<%s>(", helper_use(e->helpers, name), helper_type(x, wide));
}

/* A helper's result may leave a narrow type's range. */
static void emit_integer_call(struct emitter *e, const struct expr *x, const char *name,
                              bool wide) {
    bool narrow_type = dtype_is_integer(x->dtype) && dtype_bits(x->dtype) < 32;
    if (narrow_type) text_printf(e->out, "(%s)", emit_type(e, x->dtype, x->lo, x->hi));
    begin_helper(e, x, name, wide);
    for (int i = 0; i < x->count; i++) {
        if (i) text_puts(e->out, ", ");
        emit_at(e, x->args[i], PREC_ANY, wide);
    }
    text_puts(e->out, ")");
}

static bool power_of_two(const struct expr *x, int *log) {
    int64_t v;
    if (!expr_is_int(x, &v) || v <= 0 || (v & (v - 1))) return false;
    for (*log = 0; v > 1; v >>= 1) ++*log;
    return true;
}

static const char *division_name(const struct emitter *e, const struct expr *x) {
    bool quotient = x->fn == FN_FLOORDIV || x->fn == FN_TRUNCDIV;
    bool floors = x->fn == FN_FLOORDIV || x->fn == FN_FLOORMOD;
    if (dtype_class_of(x->dtype) == CLASS_UINT && !e->host)
        return quotient ? "quotient" : "remainder_of";
    return floors ? quotient ? "floordiv" : "floormod" : quotient ? "truncdiv" : "truncmod";
}

/* Floor division and remainder: shifts and masks floor by themselves; C's own operators do where
 * both sides are known not to be negative. */
static void emit_division(struct emitter *e, const struct expr *x, enum prec outer, bool wide) {
    bool quotient = x->fn == FN_FLOORDIV;
    const struct expr *a = x->args[0], *b = x->args[1];
    int log;
    if (power_of_two(b, &log)) {
        enum prec own = quotient ? PREC_SHIFT : PREC_AND;
        open(e, own < outer);
        emit_at(e, a, operand_prec(x, 0, own), wide);
        if (quotient)
            text_printf(e->out, " >> %d", log);
        else
            text_printf(e->out, " & %lld", (long long)(((int64_t)1 << log) - 1));
        close(e, own < outer);
    } else if ((a->lo >= 0 || dtype_class_of(x->dtype) == CLASS_UINT) && b->lo > 0) {
        emit_infix(e, x, quotient ? "/" : "%", PREC_MUL, outer, wide);
    } else {
        open(e, PREC_UNARY < outer);
        emit_integer_call(e, x, division_name(e, x), wide);
        close(e, PREC_UNARY < outer);
    }
}

/* Sums, differences, products of the language's integers: unsigned, then back. */
static void emit_wrapping(struct emitter *e, const struct expr *x, const char *sign) {
    const char *type = emit_type(e, x->dtype, x->lo, x->hi);
    const char *wrap = dtype_bits(x->dtype) == 64 ? "unsigned long long" : "unsigned";
    text_printf(e->out, "(%s)((%s)", type, wrap);
    emit_at(e, x->args[0], PREC_UNARY, false);
    text_printf(e->out, " %s (%s)", sign, wrap);
    emit_at(e, x->args[1], PREC_UNARY, false);
    text_puts(e->out, ")");
}

static void emit_arithmetic(struct emitter *e, const struct expr *x, enum prec outer, bool wide) {
    const char *sign = x->fn == FN_ADD ? "+" : x->fn == FN_SUB ? "-" : "*";
    bool wraps = dtype_is_integer(x->dtype) && x->dtype != DTYPE_INDEX && x->dtype != DTYPE_U32 &&
                 x->dtype != DTYPE_U64;
    int64_t c;
    if (x->fn == FN_ADD && expr_is_int(x->args[1], &c) && c < 0 && c != INT64_MIN && !wraps &&
        x->dtype == DTYPE_INDEX) {
        open(e, PREC_ADD < outer);
        emit_at(e, x->args[0], PREC_ADD, wide);
        text_printf(e->out, " - %lld", (long long)-c);
        close(e, PREC_ADD < outer);
    } else if (wraps) {
        open(e, PREC_UNARY < outer);
        emit_wrapping(e, x, sign);
        close(e, PREC_UNARY < outer);
    } else {
        emit_infix(e, x, sign, x->fn == FN_MUL ? PREC_MUL : PREC_ADD, outer, wide);
    }
}

static void emit_template(struct emitter *e, const char *form, const struct expr *x, bool wide) {
    for (const char *c = form; *c; c++) {
        if (*c != '%' || c[1] < '0' || c[1] > '3') {
            text_printf(e->out, "%c", *c);
            continue;
        }
        bool alone =
            (c == form || c[-1] == '(' || (c[-1] == ' ' && c > form + 1 && c[-2] == ',')) &&
            (c[2] == ')' || c[2] == ',');
        emit_at(e, x->args[*++c - '0'], alone ? PREC_ANY : PREC_ATOM, wide);
    }
}

static void emit_part(struct emitter *e, const struct expr *x, enum prec outer) {
    int bits = x->fn == FN_PART_16 ? 16 : 8;
    int64_t part = 0;
    expr_is_int(x->args[1], &part);
    int shift = (int)part * bits;
    bool top = shift + bits == 32;
    enum prec own = top ? PREC_SHIFT : PREC_AND;
    open(e, own < outer);
    open(e, shift && !top);
    emit_at(e, x->args[0], PREC_UNARY, false);
    if (shift) text_printf(e->out, " >> %d", shift);
    close(e, shift && !top);
    if (!top) text_printf(e->out, " & 0x%xu", (1u << bits) - 1);
    close(e, own < outer);
}

/* CUDA counts bits in an int, whatever the argument; min and max go by the type. */
static void emit_bits(struct emitter *e, const struct expr *x, enum prec outer, bool wide) {
    int bits = dtype_bits(x->args[0]->dtype);
    bool is_64 = bits == 64, count = x->fn == FN_POPCOUNT;
    bool typed = x->dtype != DTYPE_INDEX && (is_64 || x->dtype == DTYPE_U32);
    open(e, typed && PREC_UNARY < outer);
    if (typed) text_printf(e->out, "(%s)", emit_type(e, x->dtype, x->lo, x->hi));
    open(e, !count);
    text_puts(e->out, count   ? is_64 ? "__popcll((unsigned long long)" : "__popc("
                      : is_64 ? "__clzll((long long)"
                              : "__clz((int)");
    if (bits < 32) text_printf(e->out, count ? "0x%xu & " : "(0x%xu & ", (1u << bits) - 1);
    if (!is_64 && (count || bits < 32)) text_puts(e->out, "(unsigned)");
    emit_at(e, x->args[0], PREC_UNARY, wide);
    text_puts(e->out, ")");
    if (!count && bits < 32) text_printf(e->out, ") - %d", 32 - bits);
    close(e, !count);
    close(e, typed && PREC_UNARY < outer);
}

/* Is the count known to be one that C defines? */
static bool shift_in_range(const struct emitter *e, const struct expr *x, bool wide) {
    const struct expr *n = x->args[1];
    int width =
        dtype_bits(x->dtype) == 64 && (wide || e->host || x->dtype != DTYPE_INDEX) ? 64 : 32;
    return n->lo >= 0 && n->hi < width;
}

/* A count that C does not define: everything is shifted out. */
static void emit_far_shift(struct emitter *e, const struct expr *x, bool wide) {
    bool left = x->fn == FN_SHL, is_unsigned = dtype_class_of(x->dtype) == CLASS_UINT;
    bool is_64 = dtype_bits(x->dtype) == 64 && (wide || e->host || x->dtype != DTYPE_INDEX);
    const char *type = is_64 ? "unsigned long long" : "unsigned";
    if (left || dtype_bits(x->dtype) < 32)
        text_printf(e->out, "(%s)", wide ? "long long" : emit_type(e, x->dtype, x->lo, x->hi));
    if (e->host || !left)
        begin_helper(e, x,
                     left                      ? "shift_left"
                     : is_unsigned && !e->host ? "shift_right_unsigned"
                                               : "shift_right",
                     wide);
    else
        text_printf(e->out, "%s<%s>((%s)", helper_use(e->helpers, "shift_left"), type, type);
    emit_at(e, x->args[0], left ? PREC_UNARY : PREC_ANY, wide);
    text_puts(e->out, ", ");
    emit_at(e, x->args[1], PREC_ANY, false);
    text_puts(e->out, ")");
}

/* A left shift into the sign is undefined for signed types, and narrow types must wrap. */
static void emit_shift(struct emitter *e, const struct expr *x, enum prec outer, bool wide) {
    bool left = x->fn == FN_SHL, known = shift_in_range(e, x, wide);
    bool back = left && (dtype_class_of(x->dtype) == CLASS_INT || dtype_bits(x->dtype) < 32);
    enum prec own = back || !known ? PREC_UNARY : PREC_SHIFT;
    open(e, own < outer);
    if (!known) {
        emit_far_shift(e, x, wide);
        close(e, own < outer);
        return;
    }
    if (back)
        text_printf(e->out, "(%s)(%s", emit_type(e, x->dtype, x->lo, x->hi),
                    dtype_bits(x->dtype) == 64 ? "(unsigned long long)" : "(unsigned)");
    emit_at(e, x->args[0], back ? PREC_UNARY : PREC_MUL, wide);
    text_puts(e->out, left ? " << " : " >> ");
    emit_at(e, x->args[1], PREC_MUL, false);
    close(e, back);
    close(e, own < outer);
}

static void emit_compare(struct emitter *e, const struct expr *x, enum prec outer) {
    const char *sign = x->fn == FN_LT ? "<" : x->fn == FN_LE ? "<=" : x->fn == FN_EQ ? "==" : "!=";
    bool wide = !narrow(x->args[0]) || !narrow(x->args[1]);
    emit_infix(e, x, sign, x->fn == FN_EQ || x->fn == FN_NE ? PREC_EQ : PREC_LT, outer, wide);
}

static void use_needed(struct emitter *e, const char *name, enum dtype t) {
    const char *wide = t == DTYPE_F64 ? arena_printf(e->arena, "%s_f64", name) : name;
    helper_use(e->helpers, helper_exists(wide) ? wide : name);
}

static void emit_call(struct emitter *e, const struct expr *x, enum prec outer, bool wide) {
    bool own = e->host && host_forms[x->fn].f32;
    const struct form *f = own ? &host_forms[x->fn] : &forms[x->fn];
    enum dtype t = x->count ? x->args[0]->dtype : x->dtype;
    const char *form = dtype_is_float(t) ? (t == DTYPE_F64 ? f->f64 : f->f32) : f->integer;
    if (f->needs && *f->needs) use_needed(e, f->needs, t);
    (void)outer;
    if (e->host && !dtype_is_float(t)) {
        if (x->fn == FN_MIN) form = "tilec_min(%0, %1)", helper_use(e->helpers, "tilec_min");
        if (x->fn == FN_MAX) form = "tilec_max(%0, %1)", helper_use(e->helpers, "tilec_max");
    }
    emit_template(e, form ? form : "", x, wide);
}

/* -x of an integer that wraps. */
static void emit_negation(struct emitter *e, const struct expr *x, enum prec outer, bool wide) {
    bool wraps = dtype_is_integer(x->dtype) && x->dtype != DTYPE_INDEX;
    open(e, PREC_UNARY < outer);
    if (wraps)
        text_printf(e->out,
                    dtype_bits(x->dtype) == 64 ? "(%s)(0ull - (unsigned long long)"
                                               : "(%s)(0u - (unsigned)",
                    emit_type(e, x->dtype, x->lo, x->hi));
    else
        text_puts(e->out, "-");
    emit_at(e, x->args[0], wraps ? PREC_UNARY : PREC_ATOM, wide);
    close(e, wraps);
    close(e, PREC_UNARY < outer);
}

static void emit_complement(struct emitter *e, const struct expr *x, enum prec outer, bool wide) {
    bool narrow_type = dtype_class_of(x->dtype) == CLASS_UINT && dtype_bits(x->dtype) < 32;
    open(e, PREC_UNARY < outer);
    if (narrow_type) text_printf(e->out, "(%s)", emit_type(e, x->dtype, x->lo, x->hi));
    text_puts(e->out, x->dtype == DTYPE_BOOL ? "!" : "~");
    emit_at(e, x->args[0], PREC_UNARY, wide);
    close(e, PREC_UNARY < outer);
}

static void emit_absolute(struct emitter *e, const struct expr *x, enum prec outer, bool wide) {
    if (dtype_class_of(x->dtype) == CLASS_UINT || x->dtype == DTYPE_BOOL) {
        emit_at(e, x->args[0], outer, wide);
        return;
    }
    open(e, PREC_UNARY < outer);
    emit_integer_call(e, x, "absolute", wide);
    close(e, PREC_UNARY < outer);
}

static void emit_function(struct emitter *e, const struct expr *x, enum prec outer, bool wide) {
    switch (x->fn) {
    case FN_MUL:
        if (dtype_is_float(x->dtype)) {
            emit_call(e, x, outer, wide);
            return;
        }
        emit_arithmetic(e, x, outer, wide);
        return;
    case FN_ADD:
    case FN_SUB: emit_arithmetic(e, x, outer, wide); return;
    case FN_FLOORDIV:
    case FN_FLOORMOD: emit_division(e, x, outer, wide); return;
    case FN_AND: emit_infix(e, x, "&", PREC_AND, outer, wide); return;
    case FN_OR: emit_infix(e, x, "|", PREC_OR, outer, wide); return;
    case FN_XOR: emit_infix(e, x, "^", PREC_XOR, outer, wide); return;
    case FN_SHL:
    case FN_SHR: emit_shift(e, x, outer, wide); return;
    case FN_LT:
    case FN_LE:
    case FN_EQ:
    case FN_NE: emit_compare(e, x, outer); return;
    case FN_LAND: emit_infix(e, x, "&&", PREC_LAND, outer, false); return;
    case FN_LOR: emit_infix(e, x, "||", PREC_LOR, outer, false); return;
    case FN_LNOT:
        open(e, PREC_UNARY < outer);
        text_puts(e->out, "!");
        emit_at(e, x->args[0], PREC_UNARY, false);
        close(e, PREC_UNARY < outer);
        return;
    case FN_NEG: emit_negation(e, x, outer, wide); return;
    case FN_NOT: emit_complement(e, x, outer, wide); return;
    case FN_ABS:
        if (dtype_is_float(x->dtype))
            emit_call(e, x, outer, wide);
        else
            emit_absolute(e, x, outer, wide);
        return;
    case FN_TRUNCDIV:
    case FN_TRUNCMOD:
        open(e, PREC_UNARY < outer);
        emit_integer_call(e, x, division_name(e, x), wide);
        close(e, PREC_UNARY < outer);
        return;
    case FN_PART_16:
    case FN_PART_8: emit_part(e, x, outer); return;
    case FN_POPCOUNT:
    case FN_CLZ: emit_bits(e, x, outer, wide); return;
    default: emit_call(e, x, outer, wide); return;
    }
}

/* -- Conversions
 * ------------------------------------------------------------------------------------- */
static void int_range(enum dtype t, const char **lo, const char **hi) {
    switch (t) {
    case DTYPE_I8: *lo = "-128", *hi = "127"; break;
    case DTYPE_U8: *lo = "0", *hi = "255"; break;
    case DTYPE_I16: *lo = "-32768", *hi = "32767"; break;
    default: *lo = "0", *hi = "65535"; break;
    }
}

/* Float to integer truncates, saturates and takes NaN to 0. The cvt instructions do all of that
 * from f32 to 32 bits; elsewhere they take NaN to the smallest number. */
static void emit_truncation(struct emitter *e, const struct expr *x) {
    const struct expr *a = x->args[0];
    const char *lo, *hi, *name;
    switch (x->dtype) {
    case DTYPE_I32: name = a->dtype == DTYPE_F64 ? "to_i32_f64" : "__float2int_rz"; break;
    case DTYPE_U32: name = a->dtype == DTYPE_F64 ? "to_u32_f64" : "__float2uint_rz"; break;
    case DTYPE_I64:
    case DTYPE_INDEX: name = a->dtype == DTYPE_F64 ? "to_i64_f64" : "to_i64"; break;
    case DTYPE_U64: name = a->dtype == DTYPE_F64 ? "to_u64_f64" : "to_u64"; break;
    default: name = a->dtype == DTYPE_F64 ? "to_int_range_f64" : "to_int_range"; break;
    }
    if (*name != '_' && !e->host) helper_use(e->helpers, name);
    bool ranged = !strncmp(name, "to_int_range", 12);
    if (ranged) text_printf(e->out, "(%s)", emit_type(e, x->dtype, 0, 0));
    text_printf(e->out, "%s(", name);
    emit_at(e, a, PREC_ANY, false);
    if (ranged) {
        int_range(x->dtype, &lo, &hi);
        text_printf(e->out, ", %s, %s", lo, hi);
    }
    text_puts(e->out, ")");
}

static void emit_cast(struct emitter *e, const struct expr *x, enum prec outer, bool wide) {
    const struct expr *a = x->args[0];
    if (x->dtype == DTYPE_BOOL && a->dtype != DTYPE_BOOL) {
        open(e, PREC_EQ < outer);
        emit_at(e, a, PREC_LT, false);
        text_puts(e->out, dtype_is_float(a->dtype)
                              ? (a->dtype == DTYPE_F64 ? " != 0.0" : " != 0.0f")
                              : " != 0");
        close(e, PREC_EQ < outer);
    } else if (dtype_is_float(a->dtype) && !dtype_is_float(x->dtype)) {
        open(e, PREC_UNARY < outer);
        emit_truncation(e, x);
        close(e, PREC_UNARY < outer);
    } else {
        bool same =
            !strcmp(emit_type(e, x->dtype, x->lo, x->hi), emit_type(e, a->dtype, a->lo, a->hi));
        if (same && !wide) {
            emit_at(e, a, outer, wide);
            return;
        }
        open(e, PREC_UNARY < outer);
        text_printf(e->out, "(%s)", wide ? "long long" : emit_type(e, x->dtype, x->lo, x->hi));
        emit_at(e, a, PREC_UNARY, false);
        close(e, PREC_UNARY < outer);
    }
}

/* -- All
 * ---------------------------------------------------------------------------------------------- */
/* `wide`: an INDEX expression must come out as 64 bits; its leaves are widened. */
static void emit_leaf(struct emitter *e, const struct expr *x, const char *name, enum prec outer,
                      bool wide) {
    bool widen = wide && !e->host && x->dtype == DTYPE_INDEX && fits_int(x->lo, x->hi);
    open(e, widen && PREC_UNARY < outer);
    text_printf(e->out, "%s%s", widen ? "(long long)" : "", name);
    close(e, widen && PREC_UNARY < outer);
}

static void emit_at(struct emitter *e, const struct expr *x, enum prec outer, bool wide) {
    if (x->dtype != DTYPE_INDEX)
        wide = false;
    else if (!wide && !e->host && !narrow(x))
        wide = true;
    /* A narrow part of a wide expression is computed in 32 bits and widened once. */
    if (wide && !e->host && narrow(x) && (x->kind == EXPR_OP || x->kind == EXPR_SELECT)) {
        open(e, PREC_UNARY < outer);
        text_puts(e->out, "(long long)");
        emit_at(e, x, PREC_ATOM, false);
        close(e, PREC_UNARY < outer);
        return;
    }
    switch (x->kind) {
    case EXPR_INT: emit_integer(e, x, wide && !e->host); break;
    case EXPR_FLOAT: emit_float(e, x); break;
    case EXPR_VAR: emit_leaf(e, x, var_name(e, x->var), outer, wide); break;
    case EXPR_OP: emit_function(e, x, outer, wide); break;
    case EXPR_CAST: emit_cast(e, x, outer, wide); break;
    case EXPR_SELECT:
        open(e, PREC_CHOICE < outer);
        emit_at(e, x->args[0], PREC_LOR, false);
        text_puts(e->out, " ? ");
        emit_at(e, x->args[1], PREC_CHOICE, wide);
        text_puts(e->out, " : ");
        emit_at(e, x->args[2], PREC_CHOICE, wide);
        close(e, PREC_CHOICE < outer);
        break;
    case EXPR_ELEMENT:
        text_printf(e->out, "%s[", array_name(e, x->array));
        emit_at(e, x->args[0], PREC_ANY, false);
        text_puts(e->out, "]");
        break;
    case EXPR_LOAD: /* kernel_verify refuses it */ break;
    }
}

void emit_expr(struct emitter *e, const struct expr *x) { emit_at(e, x, PREC_ANY, false); }
void emit_operand(struct emitter *e, const struct expr *x) { emit_at(e, x, PREC_ATOM, false); }
