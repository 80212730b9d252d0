/* builtins.c: the table of the kernel vocabulary, and readings of a call's arguments. */
#include "sema/builder.h"
#include "sema/state.h"

/* Parameters of an elementwise function by its number of arguments. */
#define PARAMETERS_1 "x"
#define PARAMETERS_2 "x, y"
#define PARAMETERS_3 "x, y, z"
#define PARAMETERS_4 "a, b, c, d"

static const struct builtin elementwise[] = {
#define FUNCTION(id, name, arity, types, flags, doc) \
    {"T", name, PARAMETERS_##arity, build_function, doc},
#include "ir/functions.def"
};

static const struct builtin named[] = {
#define BUILTIN(module, name, parameters, call, doc) {module, name, parameters, call, doc},
#include "sema/builtins.def"
};

enum { NAMED = sizeof named / sizeof *named };

/* The elementwise functions that users call by name, in the order of the table. */
static const enum function language[] = {
#define LANGUAGE_ROW_LANGUAGE(id) FN_##id,
#define LANGUAGE_ROW_INFIX(id)
#define LANGUAGE_ROW_ZERO(id)
#define FUNCTION(id, name, arity, types, flags, doc) LANGUAGE_ROW_##flags(id)
#include "ir/functions.def"
};

enum { LANGUAGE = sizeof language / sizeof *language };

int builtin_count(void) { return NAMED + LANGUAGE; }

const struct builtin *builtin_row(int i) {
    return i < NAMED ? &named[i] : &elementwise[language[i - NAMED]];
}

bool builtin_is(const struct builtin *row, const char *module, const char *name) {
    return *row->name == *name && !strcmp(row->name, name) && !strcmp(row->module, module);
}

const struct builtin *builtin_of_kernels(const char *module, const char *name) {
    for (int i = 0; i < NAMED; i++)
        if (builtin_is(&named[i], module, name)) return &named[i];
    for (int i = 0; i < LANGUAGE; i++)
        if (builtin_is(&elementwise[language[i]], module, name)) return &elementwise[language[i]];
    return NULL;
}

/* -- The list ------------------------------------------------------------------------------------
 */
static void print_row(struct text *t, const struct builtin *b) {
    const char *dot = *b->module ? "." : "";
    if (b->call)
        text_printf(t, "- `%s%s%s(%s)`: %s.\n", b->module, dot, b->name, b->parameters, b->doc);
    else
        text_printf(t, "- `%s%s%s`: %s\n", b->module, dot, b->name, b->doc);
}

static void print_rows(struct text *t, int from, int to, bool supported) {
    for (int i = from; i < to; i++)
        if ((builtin_row(i)->call != NULL) == supported) print_row(t, builtin_row(i));
}

void builtins_print(struct text *t) {
    text_puts(t, "# Builtins\n\nPrinted by `tilec --print=builtins` from the compiler's tables.\n"
                 "\n## Kernels and tiles\n\n");
    print_rows(t, 0, NAMED, true);
    text_puts(t, "\n## Functions of elements\n\n");
    print_rows(t, NAMED, builtin_count(), true);
    text_puts(t, "\n## Modules, signatures and compile-time functions\n\n");
    for (int i = 0; i < host_count(); i++) print_row(t, host_row(i));
    text_puts(t, "\n## Known to the dialect, not supported yet (E0401)\n\n");
    print_rows(t, 0, NAMED, false);
}

/* -- Arguments -----------------------------------------------------------------------------------
 */
int call_find(const struct call *c, const char *name) {
    /* The names stand in `parameters` in order; '*' and '*rest' take no number. */
    size_t length = strlen(name);
    int number = 0;
    for (const char *p = c->row->parameters; *p;) {
        bool star = *p == '*';
        const char *end = p + strcspn(p, ",=");
        if (!star && (size_t)(end - p) == length && !memcmp(p, name, length)) return number;
        number += !star;
        p += strcspn(p, ",");
        p += strspn(p, ", ");
    }
    return -1;
}

bool call_given(const struct call *c, int i) {
    return i >= 0 && i < c->count && c->arg[i].kind != VALUE_ABSENT && c->arg[i].kind != VALUE_NONE;
}

static const char *parameter_name(struct sema *s, const struct call *c, int i) {
    const char *p = c->row->parameters;
    for (int number = 0; *p; p += strcspn(p, ","), p += strspn(p, ", ")) {
        if (*p == '*') continue;
        if (number++ == i) return arena_strndup(s->arena, p, strcspn(p, ",="));
    }
    return "argument";
}

int64_t call_int(struct sema *s, const struct call *c, int i, int64_t otherwise, bool *good) {
    int64_t out = otherwise;
    if (!call_given(c, i)) return otherwise;
    if (!want_int(s, c->arg[i], c->arg_span[i], parameter_name(s, c, i), &out)) *good = false;
    return out;
}

bool call_bool(struct sema *s, const struct call *c, int i, bool otherwise, bool *good) {
    bool out = otherwise;
    if (!call_given(c, i)) return otherwise;
    if (!want_bool(s, c->arg[i], c->arg_span[i], parameter_name(s, c, i), &out)) *good = false;
    return out;
}

const char *call_string(struct sema *s, const struct call *c, int i, const char *otherwise,
                        bool *good) {
    if (!call_given(c, i)) return otherwise;
    const char *out = want_string(s, c->arg[i], c->arg_span[i], parameter_name(s, c, i));
    if (!out) *good = false;
    return out ? out : otherwise;
}

/* -- Where a call may stand ----------------------------------------------------------------------
 */
bool call_in_kernel(struct sema *s, const struct call *c) {
    if (s->kernel && s->block) return true;
    sema_error(s, c->span, E0406,
               "'%s.%s' stands outside a kernel; write it in a 'with T.Kernel(…)'", c->row->module,
               c->row->name);
    return false;
}

bool call_as_tile(struct sema *s, const struct call *c) {
    if (!call_in_kernel(s, c)) return false;
    if (s->tile->parallel) {
        sema_error(
            s, c->span, E0405,
            "'%s.%s' works on whole tiles and cannot stand in T.Parallel; write it before or "
            "after the loop",
            c->row->module, c->row->name);
        return false;
    }
    if (s->tile->divergent) {
        sema_error(
            s, c->span, E0411,
            "'%s.%s' needs all %d threads of the block, but its branch depends on the thread",
            c->row->module, c->row->name, s->kernel->threads);
        return false;
    }
    return true;
}

struct stmt *append(struct sema *s, enum stmt_kind kind, struct span span) {
    struct stmt *st = stmt_new(s->module, kind, span);
    block_append(s->block, st);
    return st;
}
