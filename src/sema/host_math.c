/* host_math.c: the module math on compile-time numbers. */
#include "sema/host.h"
#include <math.h>

struct unary_row {
    const char *name;
    double (*call)(double);
};
struct binary_row {
    const char *name;
    double (*call)(double, double);
};

static bool number(struct sema *s, const struct call *c, int i, double *out) {
    if (!value_is_static(c->arg[i])) {
        sema_error(s, c->arg_span[i], E0207,
                   "'math.%s' works on compile-time numbers; on the device write T.%s",
                   c->row->name, c->row->name);
        return false;
    }
    return want_float(s, c->arg[i], c->arg_span[i], "x", out);
}

/* A finite argument with a result that is none: outside the function's domain, or overflow. */
static struct value checked(struct sema *s, const struct call *c, double x, double result) {
    if (isfinite(x) && !isfinite(result))
        return sema_bad(s, c->span, E0203, "'math.%s' has no value at %g", c->row->name, x);
    return value_float(result);
}

struct value math_unary(struct sema *s, const struct call *c) {
    static const struct unary_row rows[] = {
        {"acos", acos},   {"asin", asin},   {"atan", atan}, {"cbrt", cbrt}, {"cos", cos},
        {"cosh", cosh},   {"erf", erf},     {"exp", exp},   {"exp2", exp2}, {"fabs", fabs},
        {"log10", log10}, {"log1p", log1p}, {"log2", log2}, {"sin", sin},   {"sinh", sinh},
        {"sqrt", sqrt},   {"tan", tan},     {"tanh", tanh}};
    double x;
    if (!number(s, c, 0, &x)) return value_bad();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].name, c->row->name)) return checked(s, c, x, rows[i].call(x));
    return value_bad();
}

struct value math_binary(struct sema *s, const struct call *c) {
    static const struct binary_row rows[] = {
        {"atan2", atan2}, {"copysign", copysign}, {"fmod", fmod}, {"hypot", hypot}, {"pow", pow}};
    double x, y;
    if (!number(s, c, 0, &x) || !number(s, c, 1, &y)) return value_bad();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].name, c->row->name))
            return isfinite(y) ? checked(s, c, x, rows[i].call(x, y))
                               : value_float(rows[i].call(x, y));
    return value_bad();
}

struct value math_log(struct sema *s, const struct call *c) {
    double x, base;
    if (!number(s, c, 0, &x)) return value_bad();
    if (c->arg[1].kind == VALUE_ABSENT) return checked(s, c, x, log(x));
    if (!number(s, c, 1, &base)) return value_bad();
    return checked(s, c, x, log(x) / log(base));
}

static struct value to_int(struct sema *s, const struct call *c, double (*round_to)(double)) {
    double x;
    if (c->arg[0].kind == VALUE_INT || c->arg[0].kind == VALUE_BOOL)
        return value_int(value_as_int(c->arg[0]));
    return number(s, c, 0, &x) ? host_truncated(s, round_to(x), c->span) : value_bad();
}

struct value math_ceil(struct sema *s, const struct call *c) {
    return to_int(s, c, ceil);
}
struct value math_floor(struct sema *s, const struct call *c) {
    return to_int(s, c, floor);
}
struct value math_trunc(struct sema *s, const struct call *c) {
    return to_int(s, c, trunc);
}

struct value math_isnan(struct sema *s, const struct call *c) {
    double x;
    return number(s, c, 0, &x) ? value_bool(isnan(x)) : value_bad();
}
struct value math_isinf(struct sema *s, const struct call *c) {
    double x;
    return number(s, c, 0, &x) ? value_bool(isinf(x)) : value_bad();
}
struct value math_isfinite(struct sema *s, const struct call *c) {
    double x;
    return number(s, c, 0, &x) ? value_bool(isfinite(x)) : value_bad();
}

static uint64_t magnitude(int64_t i) { return i < 0 ? 0 - (uint64_t)i : (uint64_t)i; }

static uint64_t gcd(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static struct value fitting(struct sema *s, const struct call *c, uint64_t u) {
    return u > INT64_MAX
               ? sema_bad(s, c->span, E0203, "the result of 'math.%s' does not fit into 64 bits",
                          c->row->name)
               : value_int((int64_t)u);
}

struct value math_gcd(struct sema *s, const struct call *c) {
    uint64_t all = 0;
    for (int i = 0; i < c->rest.list.count; i++) {
        int64_t v;
        if (!want_int(s, c->rest.list.at[i].value, c->rest.list.at[i].span, "gcd", &v))
            return value_bad();
        all = gcd(all, magnitude(v));
    }
    return fitting(s, c, all);
}

struct value math_lcm(struct sema *s, const struct call *c) {
    uint64_t all = 1;
    for (int i = 0; i < c->rest.list.count; i++) {
        int64_t v;
        if (!want_int(s, c->rest.list.at[i].value, c->rest.list.at[i].span, "lcm", &v))
            return value_bad();
        if (v == 0) return value_int(0);
        if (__builtin_mul_overflow(all / gcd(all, magnitude(v)), magnitude(v), &all))
            all = UINT64_MAX;
        if (all > INT64_MAX) break;
    }
    return fitting(s, c, all);
}

struct value math_isqrt(struct sema *s, const struct call *c) {
    int64_t n;
    if (!want_int(s, c->arg[0], c->arg_span[0], "n", &n)) return value_bad();
    if (n < 0)
        return sema_bad(s, c->span, E0203, "'math.isqrt' has no value at %lld", (long long)n);
    uint64_t r = (uint64_t)sqrt((double)n); /* at most one off; its square fits into 64 bits */
    while (r > 0 && r * r > (uint64_t)n) r--;
    while ((r + 1) * (r + 1) <= (uint64_t)n) r++;
    return value_int((int64_t)r);
}
