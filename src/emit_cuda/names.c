/* names.c: C identifiers: names of the source kept, clashes numbered. */
#include "base/vec.h"
#include "emit_cuda/internal.h"
#include <ctype.h>

struct named {
    const void *key;
    const char *name;
};

struct names {
    struct arena *arena;
    VEC(struct named) list;
};

/* What a local name must not be: words of C++ and CUDA, and the names the kernels use themselves.
 */
static const char *const reserved[] = {
    "alignas",  "alignof",  "and",      "asm",       "auto",     "bool",      "break",
    "case",     "catch",    "char",     "class",     "const",    "constexpr", "continue",
    "default",  "delete",   "do",       "double",    "else",     "enum",      "explicit",
    "export",   "extern",   "false",    "float",     "for",      "friend",    "goto",
    "if",       "inline",   "int",      "long",      "mutable",  "namespace", "new",
    "noexcept", "not",      "nullptr",  "operator",  "or",       "private",   "protected",
    "public",   "register", "return",   "short",     "signed",   "sizeof",    "static",
    "struct",   "switch",   "template", "this",      "throw",    "true",      "try",
    "typedef",  "typename", "union",    "unsigned",  "using",    "virtual",   "void",
    "volatile", "while",    "xor",      "threadIdx", "blockIdx", "blockDim",  "gridDim",
    "warpSize", "min",      "max",      "abs",       "smem",     "smem_base",
    "args",     "NULL",      "INFINITY", "NAN",       "main",
    "exp",      "log",      "sin",      "cos",       "tan",      "y0",        "y1",
    "j0",       "j1",
};

struct names *names_new(struct arena *a) {
    struct names *n = arena_make(a, struct names);
    n->arena = a;
    return n;
}

void names_reserve(struct names *n, const char *word) {
    vec_push(n->arena, &n->list, ((struct named){.key = NULL, .name = word}));
}

static bool is_taken(const struct names *n, const char *name) {
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (!strcmp(reserved[i], name)) return true;
    for (int i = 0; i < n->list.count; i++)
        if (!strcmp(n->list.at[i].name, name)) return true;
    return false;
}

/* Letters, digits and underscores; never a leading digit, never empty. */
static char *identifier(struct arena *a, const char *wanted) {
    char *s =
        arena_printf(a, "%s%s", *wanted && !isdigit((unsigned char)*wanted) ? "" : "v", wanted);
    for (char *c = s; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_') *c = '_';
    return s;
}

const char *names_of(struct names *n, const void *key, const char *wanted) {
    for (int i = 0; i < n->list.count; i++)
        if (n->list.at[i].key == key) return n->list.at[i].name;
    const char *base = identifier(n->arena, wanted), *name = base;
    for (int i = 1; is_taken(n, name); i++) name = arena_printf(n->arena, "%s_%d", base, i);
    vec_push(n->arena, &n->list, ((struct named){.key = key, .name = name}));
    return name;
}
