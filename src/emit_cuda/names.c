/* names.c: C identifiers: names of the source kept, clashes numbered. */
#include "base/vec.h"
#include "emit_cuda/internal.h"
#include <ctype.h>

struct named {
    const void *key;
    const char *name;
};

struct series { /* the next number to try behind a name that is taken */
    const char *base;
    int next;
};

struct names {
    struct arena *arena;
    VEC(struct named) list;
    int32_t *slot; /* by key: 1 + its place in the list; 0: free. Only looked up, never walked */
    uint32_t slots;
    VEC(struct series) numbered;
};

/* What a local name must not be: words of C++, macros and types of the headers that are included,
 * and the names the kernels use themselves. Helpers and functions of CUDA are looked up in their
 * tables. */
static const char *const reserved[] = {
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
    "asm",
    "linux",
    "unix",
    "i386",
    "errno",
    "stdin",
    "stdout",
    "stderr",
    "NULL",
    "INFINITY",
    "NAN",
    "EOF",
    "BUFSIZ",
    "NZERO",
    "MAXFLOAT",
    "BIG_ENDIAN",
    "LITTLE_ENDIAN",
    "BYTE_ORDER",
    "CHAR_BIT",
    "RAND_MAX",
    "int8_t",
    "int16_t",
    "int32_t",
    "int64_t",
    "uint8_t",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "float2",
    "float4",
    "double2",
    "double4",
    "int2",
    "int4",
    "uint2",
    "uint4",
    "longlong2",
    "ulonglong2",
    "dim3",
    "threadIdx",
    "blockIdx",
    "blockDim",
    "gridDim",
    "warpSize",
    "min",
    "max",
    "abs",
    "isnan",
    "printf",
    "main",
    "args",
    "smem",
    "smem_base",
    "block_number",
    "block_panel",
    "block_rest",
    "block_height",
};

/* Families of macros and of helpers that are made from patterns. */
static const char *const reserved_begin[] = {
    "__",         "tilec_",     "TILEC_",     "cuda",       "M_",          "FP_",
    "INT_",       "UINT_",      "LONG_",      "CLOCK_",     "HUGE_VAL",    "SNAN",
    "SEEK_",      "make_",      "mma_m",      "atomic_",    "load_const_", "load_f32x",
    "load_f64x",  "load_i32x",  "load_i64x",  "load_u32x",  "load_u64x",   "store_f32x",
    "store_f64x", "store_i32x", "store_i64x", "store_u32x", "store_u64x",
};

struct names *names_new(struct arena *a) {
    struct names *n = arena_make(a, struct names);
    n->arena = a;
    return n;
}

void names_reserve(struct names *n, const char *word) {
    vec_push(n->arena, &n->list, ((struct named){.key = NULL, .name = word}));
}

static bool is_reserved(const char *name) {
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (!strcmp(reserved[i], name)) return true;
    for (size_t i = 0; i < sizeof reserved_begin / sizeof *reserved_begin; i++)
        if (!strncmp(reserved_begin[i], name, strlen(reserved_begin[i]))) return true;
    return helper_exists(name);
}

static bool is_taken(const struct names *n, const char *name) {
    if (is_reserved(name)) return true;
    for (int i = 0; i < n->list.count; i++)
        if (!strcmp(n->list.at[i].name, name)) return true;
    return false;
}

/* Letters, digits and underscores; never a leading digit or two underscores, never empty. */
static char *identifier(struct arena *a, const char *wanted) {
    bool good = *wanted && !isdigit((unsigned char)*wanted) && strncmp(wanted, "__", 2);
    char *s = arena_printf(a, "%s%s", good ? "" : "v", wanted);
    for (char *c = s; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_') *c = '_';
    return s;
}

static uint32_t slot_of(const struct names *n, const void *key) {
    uint32_t at = (uint32_t)(((uintptr_t)key >> 4) * 2654435761u) & (n->slots - 1);
    while (n->slot[at] && n->list.at[n->slot[at] - 1].key != key) at = (at + 1) & (n->slots - 1);
    return at;
}

static void enter(struct names *n, const void *key, const char *name) {
    vec_push(n->arena, &n->list, ((struct named){.key = key, .name = name}));
    if ((uint32_t)n->list.count * 2 <= n->slots) {
        n->slot[slot_of(n, key)] = n->list.count;
        return;
    }
    n->slots = n->slots ? n->slots * 2 : 256;
    n->slot = arena_array(n->arena, int32_t, n->slots);
    for (int i = 0; i < n->list.count; i++)
        if (n->list.at[i].key) n->slot[slot_of(n, n->list.at[i].key)] = i + 1;
}

static int *next_number(struct names *n, const char *base) {
    for (int i = 0; i < n->numbered.count; i++)
        if (!strcmp(n->numbered.at[i].base, base)) return &n->numbered.at[i].next;
    vec_push(n->arena, &n->numbered, ((struct series){base, 1}));
    return &n->numbered.at[n->numbered.count - 1].next;
}

const char *names_of(struct names *n, const void *key, const char *wanted) {
    int known = n->slots ? n->slot[slot_of(n, key)] : 0;
    if (known) return n->list.at[known - 1].name;
    const char *base = identifier(n->arena, wanted), *name = base;
    if (is_reserved(base) || expr_calls(base)) base = name = arena_printf(n->arena, "v_%s", base);
    while (is_taken(n, name))
        name = arena_printf(n->arena, "%s_%d", base, (*next_number(n, base))++);
    enter(n, key, name);
    return name;
}
