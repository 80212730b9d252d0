/* params.c: the parameters of the launcher: out_idx, the order, and names that C can bear. */
#include "sema/state.h"
#include <ctype.h>

/* -- Names in C
 * ------------------------------------------------------------------------------------------ */

/* Words of C and C++, and what the headers that the C header includes define. */
// clang-format off
static const char *const words[] = {
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break",
    "case", "catch", "char", "class", "co_await", "co_return", "co_yield", "compl", "concept",
    "const", "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype", "default",
    "delete", "do", "double", "dynamic_cast", "else", "enum", "errno", "explicit", "export",
    "extern", "false", "float", "for", "friend", "goto", "i386", "if", "inline", "int", "int16_t",
    "int32_t", "int64_t", "int8_t", "intptr_t", "linux", "long", "main", "mutable", "namespace",
    "new", "noexcept", "not", "not_eq", "NULL", "nullptr", "operator", "or", "or_eq", "private",
    "protected", "ptrdiff_t", "public", "register", "reinterpret_cast", "requires", "restrict",
    "return", "short", "signed", "size_t", "sizeof", "static", "static_assert", "static_cast",
    "struct", "switch", "template", "this", "thread_local", "throw", "true", "try", "typedef",
    "typeid", "typename", "typeof", "typeof_unqual", "uint16_t", "uint32_t", "uint64_t", "uint8_t",
    "uintptr_t", "union", "unix", "unsigned", "using", "virtual", "void", "volatile", "wchar_t",
    "while", "xor", "xor_eq",
};

/* Functions with C linkage in the headers of C and CUDA, without those in f and l. */
static const char *const functions[] = {
    "abort", "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "atexit", "atof",
    "atoi", "atol", "atoll", "bcmp", "bcopy", "bsearch", "bzero", "calloc", "cbrt", "ceil",
    "clearerr", "clock", "copysign", "cos", "cosh", "cospi", "ctime", "difftime", "div", "erf",
    "erfc", "erfcinv", "erfcx", "erfinv", "exit", "exp", "exp10", "exp2", "expm1", "fabs", "fclose",
    "fdim", "fdivide", "feof", "ferror", "fflush", "ffs", "fgetc", "fgets", "finite", "floor",
    "fma", "fmax", "fmin", "fmod", "fopen", "fprintf", "fputc", "fputs", "fread", "free", "frexp",
    "fscanf", "fseek", "ftell", "fwrite", "gamma", "getc", "getchar", "getenv", "getline", "gmtime",
    "hypot", "ilogb", "index", "isalnum", "isalpha", "isdigit", "isinf", "islower", "isnan",
    "isspace", "isupper", "j0", "j1", "jn", "labs", "ldexp", "ldiv", "lgamma", "llabs", "lldiv",
    "llmax", "llmin", "llrint", "llround", "localtime", "log", "log10", "log1p", "log2", "logb",
    "lrint", "lround", "malloc", "max", "memccpy", "memcmp", "memcpy", "memmem", "memmove",
    "mempcpy", "memset", "min", "mktime", "modf", "nan", "nearbyint", "nextafter", "norm", "norm3d",
    "norm4d", "normcdf", "normcdfinv", "perror", "popen", "pow", "printf", "putc", "putchar",
    "putenv", "puts", "qsort", "quick_exit", "rand", "random", "rcbrt", "realloc", "realpath",
    "remainder", "remove", "remquo", "rename", "rewind", "rhypot", "rindex", "rint", "rnorm",
    "round", "rsqrt", "scalb", "scalbln", "scalbn", "scanf", "select", "setbuf", "setenv",
    "setvbuf", "sin", "sincos", "sincospi", "sinh", "sinpi", "snprintf", "sprintf", "sqrt", "srand",
    "srandom", "sscanf", "strcat", "strchr", "strcmp", "strcpy", "strdup", "strerror", "strlen",
    "strncat", "strncmp", "strncpy", "strnlen", "strrchr", "strstr", "strtod", "strtof", "strtok",
    "strtol", "strtoll", "strtoul", "system", "tan", "tanh", "tgamma", "time", "tmpfile", "tmpnam",
    "tolower", "toupper", "trunc", "umax", "umin", "ungetc", "unsetenv", "vfprintf", "vprintf",
    "vsnprintf", "vsprintf", "y0", "y1", "yn",
};
// clang-format on

static bool is_function(const char *name) {
    size_t length = strlen(name);
    bool suffixed = length > 1 && (name[length - 1] == 'f' || name[length - 1] == 'l');
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        size_t n = strlen(functions[i]);
        if (!strncmp(functions[i], name, n) && (n == length || (suffixed && n + 1 == length)))
            return true;
    }
    return false;
}

bool c_name_reserved(const char *name) {
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i], name)) return true;
    return false;
}

/* The kernel of a function K is K_kernel__sm80 in the .cu. */
static bool like_a_kernel(const char *name) {
    const char *arch = strstr(name, "__sm");
    return arch && isdigit((unsigned char)arch[4]);
}

/* What the header declares for a function K besides K itself. */
static bool same_but_suffix(const char *longer, const char *shorter) {
    static const char *const suffixes[] = {"_launch", "_query", "_explain", "_args"};
    size_t n = strlen(shorter);
    if (strncmp(longer, shorter, n) != 0) return false;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (!strcmp(longer + n, suffixes[i])) return true;
    return false;
}

struct sym *unit_c_name(struct sema *s, struct sym *wanted, struct span span) {
    const char *prefix = s->options->prefix ? s->options->prefix : "";
    struct sym *name = intern_text(s->names, arena_printf(s->arena, "%s%s", prefix, wanted->text));
    const char *n = name->text;
    if (c_name_reserved(n) || is_function(n) || !strncmp(n, "tilec_", 6) ||
        !strncmp(n, "TILEC_", 6) || *n == '_') {
        sema_error(s, span, E0216,
                   "'%s' cannot be the name of a C function; use another, such as 'kernel_%s', or "
                   "--prefix",
                   n, *n == '_' ? n + 1 : n);
        return NULL;
    }
    if (like_a_kernel(n)) {
        sema_error(s, span, E0216,
                   "'%s' cannot be the name of a C function: names with '__sm' and a number are "
                   "those of kernels; use another",
                   n);
        return NULL;
    }
    for (int i = 0; i < s->module->functions.count; i++) {
        const struct function_ir *f = s->module->functions.at[i];
        if (f->name == name) {
            sema_error(
                s, span, E0216,
                "two kernels would be called '%s' in C; assign one to another name: '%s_2 = …'", n,
                n);
            diag_note(s->diag, f->span, "the other one");
            return NULL;
        }
        if (same_but_suffix(f->name->text, n) || same_but_suffix(n, f->name->text)) {
            sema_error(
                s, span, E0216,
                "'%s' and '%s' clash: the suffixes _launch, _query, _explain and _args are taken",
                n, f->name->text);
            return NULL;
        }
    }
    return name;
}

/* -- Dimensions
 * ------------------------------------------------------------------------------------------ */

struct found {
    struct sema *s;
    VEC(struct var *) vars;
};

static void find_dims(struct found *f, const struct expr *x) {
    if (!x || !sema_charge(f->s, 1)) return;
    if (x->kind == EXPR_VAR && x->var->kind == VAR_DIM) {
        for (int i = 0; i < f->vars.count; i++)
            if (f->vars.at[i] == x->var) return;
        vec_push(f->s->arena, &f->vars, x->var);
    }
    for (int i = 0; i < x->count; i++) find_dims(f, x->args[i]);
}

static void find_in_expr(struct expr **x, void *data) { find_dims(data, *x); }
static void find_in_stmt(struct stmt *st, void *data) { stmt_expressions(st, find_in_expr, data); }

/* Shapes first, in the order of the parameters; then what only the code uses. */
static void find_all(struct sema *s, struct function_ir *f, struct found *found) {
    for (int i = 0; i < f->params.count; i++) {
        const struct buffer *b =
            f->params.at[i].kind == PARAM_TENSOR ? f->params.at[i].buffer : NULL;
        for (int k = 0; b && k < b->rank; k++) find_dims(found, b->dim[k]);
        for (int k = 0; b && k < b->rank; k++) find_dims(found, b->stride[k]);
    }
    for (int i = 0; i < f->checks.count; i++) find_dims(found, f->checks.at[i].test);
    for (int i = 0; i < f->kernels.count; i++) {
        struct kernel *k = f->kernels.at[i];
        for (int d = 0; d < k->grid_rank; d++) find_dims(found, k->grid[d]);
        block_walk(&k->body, find_in_stmt, found);
    }
    (void)s;
}

/* -- The order
 * -----------------------------------------------------------------------------------------------
 */

static const struct param *declared_named(const struct build *b, const struct sym *name) {
    for (int i = 0; i < b->declared.count; i++)
        if (b->declared.at[i].name == name) return &b->declared.at[i];
    return NULL;
}

static void take_declared(struct sema *s, struct function_ir *f) {
    for (const struct ast_parameter *p = s->build->closure->parameters; p; p = p->next) {
        const struct param *d = declared_named(s->build, p->name);
        if (d && (d->buffer || d->var)) vec_push(s->arena, &f->params, *d);
    }
}

static void take_empties(struct sema *s, struct function_ir *f) {
    const struct build *b = s->build;
    for (int i = 0; i < b->returned.count; i++) {
        struct buffer *out =
            b->returned.at[i].kind == VALUE_BUFFER ? b->returned.at[i].buffer : NULL;
        if (out && out->output)
            vec_push(
                s->arena, &f->params,
                (struct param){
                    .kind = PARAM_TENSOR, .name = out->name, .buffer = out, .span = out->span});
    }
}

static void take_dims(struct sema *s, struct function_ir *f) {
    struct found found = {.s = s};
    find_all(s, f, &found);
    for (int i = 0; i < found.vars.count; i++) {
        struct var *v = found.vars.at[i];
        vec_push(s->arena, &f->params,
                 (struct param){.kind = PARAM_DIM, .name = v->name, .var = v, .span = v->span});
    }
}

static void mark_outputs(struct sema *s, struct function_ir *f, int declared) {
    const struct unit_options *o = &s->build->options;
    for (int i = 0; i < o->out_idx.count; i++) {
        int64_t at = o->out_idx.at[i] < 0 ? o->out_idx.at[i] + declared : o->out_idx.at[i];
        if (at < 0 || at >= declared)
            sema_error(s, o->out_span, E0214, "out_idx %lld: the kernel has %d parameters",
                       (long long)o->out_idx.at[i], declared);
        else if (f->params.at[at].kind != PARAM_TENSOR)
            sema_error(s, o->out_span, E0214, "out_idx %lld names '%s', which is no tensor",
                       (long long)o->out_idx.at[i], f->params.at[at].name->text);
        else
            f->params.at[at].buffer->output = true;
    }
}

static bool taken(const char *name) {
    static const char *const own[] = {"stream", "workspace", "workspace_bytes", "args_"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!strcmp(own[i], name)) return true;
    if (!strncmp(name, "tilec_", 6) || !strncmp(name, "TILEC_", 6)) return true;
    return c_name_reserved(name);
}

static void check_names(struct sema *s, const struct function_ir *f) {
    static const char *const what[] = {
        [PARAM_TENSOR] = "tensor", [PARAM_SCALAR] = "scalar", [PARAM_DIM] = "dimension"};
    for (int i = 0; i < f->params.count; i++) {
        const struct param *p = &f->params.at[i];
        if (taken(p->name->text)) {
            sema_error(s, p->span, E0216,
                       "the %s '%s' has a name that the C header cannot use; write '%s_'",
                       what[p->kind], p->name->text, p->name->text);
            continue;
        }
        for (int k = 0; k < i; k++) {
            const struct param *q = &f->params.at[k];
            if (q->name != p->name) continue;
            sema_error(s, p->span, E0216,
                       "the %s and the %s of the launcher are both called '%s'; rename one, such "
                       "as '%s_%s'",
                       what[q->kind], what[p->kind], p->name->text, p->name->text,
                       p->kind == PARAM_DIM ? "dim" : "out");
            diag_note(s->diag, q->span, "the %s '%s'", what[q->kind], q->name->text);
        }
    }
}

void finish_signature(struct sema *s, struct span span) {
    struct function_ir *f = s->function;
    (void)span;
    take_declared(s, f);
    mark_outputs(s, f, f->params.count);
    take_empties(s, f);
    take_dims(s, f);
    check_names(s, f);
}
