/* names.c: C identifiers: names of the source kept, clashes numbered. */
#include "base/vec.h"
#include "emit_cuda/internal.h"
#include <ctype.h>

struct named {
    const void *key;
    const char *name;
};

enum { WORD_RESERVED = 1, WORD_CALLED = 2, WORD_USED = 4 };

struct word {
    const char *text; /* NULL: free */
    unsigned is;
    int numbered; /* names tried that add a number to this one */
};

struct names {
    struct arena *arena;
    const struct names *like; /* whose words count too; NULL: none */
    VEC(struct named) list;
    int32_t *slot; /* by key: 1 + its place in the list; 0: free. Only looked up, never walked */
    uint32_t slots;
    struct word *words; /* open addressing by text, at most half full */
    uint32_t word_room, word_count;
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

static struct word *find_word(const struct names *n, const char *text) {
    uint32_t hash = 2166136261u;
    for (const char *c = text; *c; c++) hash = (hash ^ (unsigned char)*c) * 16777619u;
    uint32_t at = hash & (n->word_room - 1);
    while (n->words[at].text && strcmp(n->words[at].text, text)) at = (at + 1) & (n->word_room - 1);
    return &n->words[at];
}

static unsigned uses_of(const struct names *n, const char *text) {
    return find_word(n, text)->is | (n->like ? find_word(n->like, text)->is : 0);
}

static void grow_words(struct names *n) {
    struct word *old = n->words;
    uint32_t room = n->word_room;
    n->word_room *= 2;
    n->words = arena_array(n->arena, struct word, n->word_room);
    for (uint32_t i = 0; i < room; i++)
        if (old[i].text) *find_word(n, old[i].text) = old[i];
}

/* The word's entry until the next one is entered. */
static struct word *enter_word(struct names *n, const char *text) {
    struct word *w = find_word(n, text);
    if (w->text) return w;
    if (++n->word_count * 2 > n->word_room) {
        grow_words(n);
        w = find_word(n, text);
    }
    w->text = text;
    return w;
}

static void add_called(const char *name, void *data) { enter_word(data, name)->is |= WORD_CALLED; }

struct names *names_new(struct arena *a) {
    struct names *n = arena_make(a, struct names);
    n->arena = a;
    n->word_room = 1024;
    n->words = arena_array(a, struct word, n->word_room);
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        enter_word(n, reserved[i])->is |= WORD_RESERVED;
    for (int i = 0; i < helper_count(); i++) enter_word(n, helper_name(i))->is |= WORD_RESERVED;
    expr_each_call(a, add_called, n);
    return n;
}

struct names *names_like(const struct names *n) {
    struct names *copy = arena_make(n->arena, struct names);
    copy->arena = n->arena;
    copy->like = n;
    copy->word_room = 64;
    copy->words = arena_array(n->arena, struct word, copy->word_room);
    return copy;
}

void names_reserve(struct names *n, const char *word) { enter_word(n, word)->is |= WORD_USED; }

static bool begins_with(const char *name, const char *begin) {
    while (*begin && *name == *begin) name++, begin++;
    return !*begin;
}

static bool begins_reserved(const char *name) {
    for (size_t i = 0; i < sizeof reserved_begin / sizeof *reserved_begin; i++)
        if (begins_with(name, reserved_begin[i])) return true;
    return false;
}

static bool is_word(const struct names *n, const char *name, unsigned kinds) {
    return (uses_of(n, name) & kinds) != 0 || begins_reserved(name);
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

const char *names_of(struct names *n, const void *key, const char *wanted) {
    int known = n->slots ? n->slot[slot_of(n, key)] : 0;
    if (known) return n->list.at[known - 1].name;
    const char *base = identifier(n->arena, wanted), *name = base;
    if (is_word(n, base, WORD_RESERVED | WORD_CALLED))
        base = name = arena_printf(n->arena, "v_%s", base);
    while (is_word(n, name, WORD_RESERVED | WORD_USED))
        name = arena_printf(n->arena, "%s_%d", base, ++enter_word(n, base)->numbered);
    enter_word(n, name)->is |= WORD_USED;
    enter(n, key, name);
    return name;
}
