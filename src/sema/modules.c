/* modules.c: what `T`, `tilelang`, `math` and the modules below them hold. */
#include "sema/host.h"
#include <math.h>

static const struct builtin host_rows[] = {
#define BUILTIN(module, name, parameters, call, doc) {module, name, parameters, call, doc},
#include "sema/host.def"
};

int host_count(void) { return (int)(sizeof host_rows / sizeof *host_rows); }
const struct builtin *host_row(int i) { return &host_rows[i]; }

const struct builtin *builtin_find(const char *module, const char *name) {
    for (int i = 0; i < host_count(); i++)
        if (builtin_is(&host_rows[i], module, name)) return &host_rows[i];
    return builtin_of_kernels(module, name);
}

/* -- Paths ----------------------------------------------------------------------------------------
 */

/* Every spelling of a module and its canonical path; a member that leads to a path is one too. */
static const struct {
    const char *path, *canonical;
} paths[] = {
    {"T", "T"},
    {"T.layout", "T.layout"},
    {"T.GemmWarpPolicy", "T.GemmWarpPolicy"},
    {"T.math", "T.math"},
    {"math", "math"},
    {"tilelang", "tilelang"},
    {"tilelang.language", "T"},
    {"tilelang.layout", "T.layout"},
    {"tilelang.math", "T.math"},
    {"tilelang.intrinsics", "T.layout"},
    {"tilelang.PassConfigKey", "tilelang.PassConfigKey"},
    {"torch", "torch"},
    {"tvm", "tvm"},
    {"tvm.tirx", "T"},
    {"tvm.tir", "T"},
};

static const char *canonical(const char *path) {
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (!strcmp(paths[i].path, path)) return paths[i].canonical;
    return NULL;
}

static struct value module_value(const char *path) {
    return (struct value){.kind = VALUE_MODULE, .path = path};
}

struct value module_named(struct sema *s, const char *name) {
    (void)s;
    static const char *const predeclared[] = {"T", "tilelang", "math"};
    for (size_t i = 0; i < sizeof predeclared / sizeof *predeclared; i++)
        if (!strcmp(predeclared[i], name)) return module_value(predeclared[i]);
    return (struct value){.kind = VALUE_ABSENT};
}

/* -- Constants
 * -------------------------------------------------------------------------------------- */

static struct value math_constant(const char *name) {
    static const struct {
        const char *name;
        double value;
    } rows[] = {{"pi", 3.14159265358979323846},
                {"e", 2.7182818284590452354},
                {"tau", 6.28318530717958647692},
                {"inf", HUGE_VAL},
                {"nan", NAN}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].name, name)) return value_float(rows[i].value);
    return (struct value){.kind = VALUE_ABSENT};
}

static struct value policy_constant(const char *name) {
    static const char *const names[] = {
        [POLICY_SQUARE] = "Square", [POLICY_FULL_ROW] = "FullRow", [POLICY_FULL_COL] = "FullCol"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name))
            return (struct value){.kind = VALUE_POLICY, .policy = (enum gemm_policy)i};
    return (struct value){.kind = VALUE_ABSENT};
}

bool unsupported_dtype(const char *name) {
    static const char *const prefixes[] = {"float4", "float6", "float8_", "int4",
                                           "uint4",  "int1",   "handle"};
    static const char *const vectors[] = {"float16x", "bfloat16x", "float32x", "int8x",
                                          "int32x",   "uint8x",    "uint32x"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (!strncmp(name, prefixes[i], strlen(prefixes[i])) && strcmp(name, "int16") &&
            strcmp(name, "uint16"))
            return true;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        if (!strncmp(name, vectors[i], strlen(vectors[i]))) return true;
    return false;
}

static struct value dtype_member(const char *name) {
    enum dtype t = dtype_find(name);
    if (t == DTYPE_NONE || t == DTYPE_INDEX) return (struct value){.kind = VALUE_ABSENT};
    bool letter = !strcmp(name, dtype_letter(t)) && strcmp(name, dtype_spelling(t)) != 0;
    return letter ? (struct value){.kind = VALUE_ABSENT}
                  : value_dtype(t); /* T.f16 is nobody's name */
}

/* What modules hold besides functions. */
static struct value constant_member(struct sema *s, const char *path, const char *name) {
    if (!strcmp(path, "math")) return math_constant(name);
    if (!strcmp(path, "T.GemmWarpPolicy")) return policy_constant(name);
    if (!strcmp(path, "tilelang.PassConfigKey")) return value_string(s, name);
    if (!strcmp(path, "T") && !strcmp(name, "ptr")) {
        struct tensor_type *t = arena_make(s->arena, struct tensor_type);
        t->kind = TENSOR_POINTER;
        return (struct value){.kind = VALUE_TENSOR_TYPE, .tensor_type = t};
    }
    return !strcmp(path, "T") || !strcmp(path, "torch") ? dtype_member(name)
                                                        : (struct value){.kind = VALUE_ABSENT};
}

/* -- Members
 * ------------------------------------------------------------------------------------------ */

static void collect(struct sema *s, const char *path, int count, const struct builtin *(*row)(int),
                    const char ***names, int *used) {
    for (int i = 0; i < count; i++)
        if (!strcmp(row(i)->module, path)) (*names)[(*used)++] = row(i)->name;
    (void)s;
}

static const char *nearest_member(struct sema *s, const char *path, const char *word) {
    static const char *const policies[] = {"Square", "FullRow", "FullCol"};
    if (!strcmp(path, "T.GemmWarpPolicy")) return nearest_word(word, 3, policies);
    const char **names =
        arena_array(s->arena, const char *, host_count() + builtin_count() + DTYPE_COUNT);
    int used = 0;
    collect(s, path, host_count(), host_row, &names, &used);
    collect(s, path, builtin_count(), builtin_row, &names, &used);
    for (int t = DTYPE_NONE + 1; t < DTYPE_INDEX && !strcmp(path, "T"); t++)
        names[used++] = dtype_spelling((enum dtype)t);
    return nearest_word(word, used, names);
}

static struct value no_member(struct sema *s, const char *path, struct sym *name,
                              struct span span) {
    if (!strcmp(path, "T") && unsupported_dtype(name->text))
        return sema_bad(s, span, E0401, "the dtype '%s' is not supported yet", name->text);
    const char *near =
        sema_charge(s, 1000) && !diag_full(s->diag) ? nearest_member(s, path, name->text) : NULL;
    if (!near) return sema_bad(s, span, E0205, "'%s' has no '%s'", path, name->text);
    struct value v = sema_bad(s, span, E0205, "'%s' has no '%s'; did you mean '%s.%s'?", path,
                              name->text, path, near);
    diag_fix(s->diag, span, near, "write '%s'", near);
    return v;
}

struct value module_member(struct sema *s, const char *path, struct sym *name, struct span span) {
    const char *below = canonical(arena_printf(s->arena, "%s.%s", path, name->text));
    if (below) return module_value(below);
    const struct builtin *row = builtin_find(path, name->text);
    if (!row && !strcmp(path, "tilelang")) /* tilelang.cdiv is T.cdiv */
        row = builtin_find("T", name->text);
    if (!row && !strcmp(path, "T.math")) row = builtin_find(path = "math", name->text);
    if (row) return (struct value){.kind = VALUE_BUILTIN, .builtin = row};
    struct value v = constant_member(s, path, name->text);
    return v.kind == VALUE_ABSENT ? no_member(s, path, name, span) : v;
}

/* import a.b.c as x, from a.b import c as x: a module, or a member of one. */
struct value module_imported(struct sema *s, const char *dotted) {
    const char *path = canonical(dotted), *dot = strrchr(dotted, '.');
    struct value none = {.kind = VALUE_ABSENT};
    if (path) return module_value(path);
    path = dot ? canonical(arena_strndup(s->arena, dotted, (size_t)(dot - dotted))) : NULL;
    if (!path) return none;
    const struct builtin *row = builtin_find(path, dot + 1);
    if (!row && (!strcmp(path, "tilelang") || !strcmp(path, "T.math")))
        row = builtin_find(*path == 't' ? "T" : "math", dot + 1);
    return row ? (struct value){.kind = VALUE_BUILTIN, .builtin = row}
               : constant_member(s, path, dot + 1);
}
