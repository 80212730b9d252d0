/* host.c: Python's functions on single compile-time values. */
#include "sema/host.h"
#include <errno.h>
#include <math.h>

static bool given(struct value v) { return v.kind != VALUE_ABSENT; }

/* Python's numeric functions do not take device values; the dialect has its own for them. */
static bool refuse_device(struct sema *s, const struct call *c, struct value v,
                          const char *instead) {
    if (value_is_static(v)) return false;
    sema_error(s, c->span, E0207, "'%s' works on compile-time values; on the device write %s",
               c->row->name, instead);
    return true;
}

struct value host_abs(struct sema *s, const struct call *c) {
    struct value v = c->arg[0];
    if (refuse_device(s, c, v, "T.abs(x)")) return value_bad();
    if (!value_is_number(v))
        return sema_bad(s, c->arg_span[0], E0204, "'abs' is not defined for %s", value_a_kind(v));
    if (v.kind == VALUE_FLOAT) return value_float(fabs(v.number));
    return value_as_int(v) < 0 ? fold_unary(s, AST_NEG, v, c->span) : value_int(value_as_int(v));
}

struct value host_bool(struct sema *s, const struct call *c) {
    bool truth = false;
    if (given(c->arg[0]) && refuse_device(s, c, c->arg[0], "a comparison")) return value_bad();
    if (given(c->arg[0]) && !value_truth(s, c->arg[0], c->span, &truth)) return value_bad();
    return value_bool(truth);
}

static struct value decide(struct sema *s, const struct call *c, bool stop_at) {
    struct sequence *items;
    if (!iterate(s, c->arg[0], c->arg_span[0], &items)) return value_bad();
    for (int i = 0; i < items->items.count; i++) {
        bool truth;
        if (refuse_device(s, c, items->items.at[i], stop_at ? "'or'" : "'and'")) return value_bad();
        if (!value_truth(s, items->items.at[i], c->span, &truth)) return value_bad();
        if (truth == stop_at) return value_bool(stop_at);
    }
    return value_bool(!stop_at);
}

struct value host_all(struct sema *s, const struct call *c) {
    return decide(s, c, false);
}
struct value host_any(struct sema *s, const struct call *c) {
    return decide(s, c, true);
}

struct value host_dict(struct sema *s, const struct call *c) {
    struct value out = value_dict(s);
    for (int i = 0; i < c->rest.list.count; i++) {
        const struct argument *a = &c->rest.list.at[i];
        dict_set(s, out.dict, (struct value){.kind = VALUE_STRING, .string = a->keyword}, a->value);
    }
    return out;
}

struct value host_divmod(struct sema *s, const struct call *c) {
    struct value pair[2] = {binary(s, AST_FLOORDIV, c->arg[0], c->arg[1], c->span),
                            binary(s, AST_MOD, c->arg[0], c->arg[1], c->span)};
    return pair[0].kind == VALUE_BAD || pair[1].kind == VALUE_BAD
               ? value_bad()
               : value_sequence(s, VALUE_TUPLE, 2, pair);
}

static const char *trimmed(struct sema *s, struct sym *text) {
    const char *at = text->text + strspn(text->text, " \t\n");
    size_t n = strlen(at);
    while (n && strchr(" \t\n", at[n - 1])) n--;
    return arena_strndup(s->arena, at, n);
}

static struct value parse_float(struct sema *s, struct value v, struct span span) {
    const char *text = trimmed(s, v.string);
    char *end;
    double x = strtod(text, &end);
    if (!*text || *end || strpbrk(text, "xXpP("))
        return sema_bad(s, span, E0203, "%s is not a number", value_text(s, v));
    return value_float(x);
}

struct value host_float(struct sema *s, const struct call *c) {
    struct value v = c->arg[0];
    if (!given(v)) return value_float(0);
    if (refuse_device(s, c, v, "T.cast(x, T.float32)")) return value_bad();
    if (v.kind == VALUE_STRING) return parse_float(s, v, c->span);
    double x;
    return want_float(s, v, c->arg_span[0], "x", &x) ? value_float(x) : value_bad();
}

struct value host_truncated(struct sema *s, double x, struct span span) {
    if (!(x >= -9223372036854775808.0 && x < 9223372036854775808.0))
        return sema_bad(s, span, E0203, "%g does not fit into 64 bits", x);
    return value_int((int64_t)x);
}

struct value host_int(struct sema *s, const struct call *c) {
    struct value v = c->arg[0];
    if (!given(v)) return value_int(0);
    if (refuse_device(s, c, v, "T.cast(x, T.int32)")) return value_bad();
    if (v.kind == VALUE_STRING) {
        const char *text = trimmed(s, v.string);
        char *end;
        errno = 0;
        long long i = strtoll(text, &end, 10);
        if (!*text || *end || errno)
            return sema_bad(s, c->span, E0203, "%s is not an int of 64 bits", value_text(s, v));
        return value_int(i);
    }
    if (v.kind == VALUE_FLOAT) return host_truncated(s, trunc(v.number), c->span);
    int64_t i;
    return want_int(s, v, c->arg_span[0], "x", &i) ? value_int(i) : value_bad();
}

struct value host_str(struct sema *s, const struct call *c) {
    if (!given(c->arg[0])) return value_string(s, "");
    return value_string(s, value_str(s, c->arg[0]));
}

static bool is_of_kind(struct sema *s, struct value v, struct value kind, struct span span,
                       bool *good) {
    static const struct {
        const char *name;
        enum value_kind kind;
    } rows[] = {{"int", VALUE_INT},    {"float", VALUE_FLOAT}, {"bool", VALUE_BOOL},
                {"str", VALUE_STRING}, {"tuple", VALUE_TUPLE}, {"list", VALUE_LIST},
                {"dict", VALUE_DICT},  {"dtype", VALUE_DTYPE}};
    if (kind.kind == VALUE_BUILTIN)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            if (!strcmp(kind.builtin->name, rows[i].name))
                return v.kind == rows[i].kind ||
                       (rows[i].kind == VALUE_INT && v.kind == VALUE_BOOL);
    sema_error(s, span, E0207,
               "'isinstance' knows int, float, bool, str, tuple, list, dict and T.dtype, not %s",
               value_text(s, kind));
    return *good = false;
}

struct value host_isinstance(struct sema *s, const struct call *c) {
    bool good = true, found = false;
    struct value kinds = c->arg[1];
    int count = is_sequence(kinds) ? kinds.sequence->items.count : 1;
    for (int i = 0; i < count && good && !found; i++)
        found = is_of_kind(s, c->arg[0], is_sequence(kinds) ? kinds.sequence->items.at[i] : kinds,
                           c->arg_span[1], &good);
    return good ? value_bool(found) : value_bad();
}

static struct value extreme(struct sema *s, const struct call *c, enum ast_operator better) {
    struct value list = value_sequence(s, VALUE_LIST, 0, NULL);
    for (int i = 0; i < c->rest.list.count; i++) sequence_push(s, list, c->rest.list.at[i].value);
    struct sequence *items = list.sequence;
    if (items->items.count == 1 && !iterate(s, items->items.at[0], c->span, &items))
        return value_bad();
    if (!items->items.count) return sema_bad(s, c->span, E0206, "'%s' of nothing", c->row->name);
    struct value best = items->items.at[0];
    for (int i = 0; i < items->items.count; i++) {
        struct value v = items->items.at[i];
        if (refuse_device(s, c, v, better == AST_LT ? "T.min(a, b)" : "T.max(a, b)"))
            return value_bad();
        struct value less = fold_compare(s, better, v, best, c->span);
        if (less.kind == VALUE_BAD) return less;
        best = less.boolean ? v : best;
    }
    return best;
}

struct value host_max(struct sema *s, const struct call *c) {
    return extreme(s, c, AST_GT);
}
struct value host_min(struct sema *s, const struct call *c) {
    return extreme(s, c, AST_LT);
}

struct value host_pow(struct sema *s, const struct call *c) {
    return binary(s, AST_POW, c->arg[0], c->arg[1], c->span);
}

struct value host_print(struct sema *s, const struct call *c) {
    (void)s, (void)c;
    return value_none();
}

struct value host_range(struct sema *s, const struct call *c) {
    int count = c->rest.list.count;
    if (count < 1 || count > 3)
        return sema_bad(s, c->span, E0206, "'range' takes 1 to 3 arguments, not %d", count);
    struct value bound[3];
    bool fixed = true;
    for (int i = 0; i < count; i++) {
        bound[i] = c->rest.list.at[i].value;
        fixed = fixed && value_is_static(bound[i]);
    }
    if (!fixed) return iterator_of_range(s, count, bound, c->span);
    struct iterator *it = arena_make(s->arena, struct iterator);
    *it = (struct iterator){.rank = 1, .host = true, .step = 1};
    int64_t *into[3] = {&it->lo, &it->hi, &it->step};
    for (int i = 0; i < count; i++)
        if (!want_int(s, bound[i], c->rest.list.at[i].span, "range", into[count == 1 ? 1 : i]))
            return value_bad();
    if (it->step == 0) return sema_bad(s, c->span, E0203, "the step of 'range' is zero");
    return (struct value){.kind = VALUE_ITERATOR, .iterator = it};
}

struct value host_round(struct sema *s, const struct call *c) {
    struct value v = c->arg[0];
    double x;
    int64_t digits = 0;
    if (refuse_device(s, c, v, "T.round(x)")) return value_bad();
    bool to_int = !given(c->arg[1]) || c->arg[1].kind == VALUE_NONE;
    if (!to_int && !want_int(s, c->arg[1], c->arg_span[1], "digits", &digits)) return value_bad();
    if (v.kind == VALUE_INT || v.kind == VALUE_BOOL) return value_int(value_as_int(v));
    if (!want_float(s, v, c->arg_span[0], "x", &x)) return value_bad();
    if (to_int) return host_truncated(s, nearbyint(x), c->span);
    if (digits > 300 || digits < -300 || !isfinite(x))
        return value_float(digits < -300 ? 0 * x : x);
    if (digits < 0)
        return value_float(nearbyint(x / pow(10, (double)-digits)) * pow(10, (double)-digits));
    return value_float(strtod(arena_printf(s->arena, "%.*f", (int)digits, x), NULL));
}

struct value host_next_power_of_2(struct sema *s, const struct call *c) {
    int64_t n, p = 1;
    if (!want_int(s, c->arg[0], c->arg_span[0], "n", &n)) return value_bad();
    if (n > INT64_C(1) << 62)
        return sema_bad(s, c->span, E0203, "no power of 2 of 64 bits is at least %lld",
                        (long long)n);
    while (p < n) p *= 2;
    return value_int(p);
}
