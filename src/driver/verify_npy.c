/* verify_npy.c: numpy's .npy files, versions 1 to 3, read from anyone and written as numpy does.
 *
 * A file is a magic word, the length of a header, the header, the elements. The header is a Python
 * dictionary of three entries, padded with blanks. Nothing in it is trusted: lengths and products
 * are checked before memory is asked for. */
#include "driver/verify.h"
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

static const int64_t MOST_HEADER = 1 << 16, MOST_DATA = (int64_t)1 << 31;

/* -- types
 * ----------------------------------------------------------------------------------------- */
/* What numpy has no type for is kept as its bits; ml_dtypes writes V2, V1 or f1 for those. */
static const struct type_row {
    enum dtype dtype;
    const char *spelling;
    char kind, others[3];
    int size;
} types[] = {
    {DTYPE_BOOL, "|b1", 'b', "", 1},   {DTYPE_I8, "|i1", 'i', "", 1},
    {DTYPE_I16, "<i2", 'i', "", 2},    {DTYPE_I32, "<i4", 'i', "", 4},
    {DTYPE_I64, "<i8", 'i', "", 8},    {DTYPE_U8, "|u1", 'u', "", 1},
    {DTYPE_U16, "<u2", 'u', "", 2},    {DTYPE_U32, "<u4", 'u', "", 4},
    {DTYPE_U64, "<u8", 'u', "", 8},    {DTYPE_F16, "<f2", 'f', "", 2},
    {DTYPE_F32, "<f4", 'f', "", 4},    {DTYPE_F64, "<f8", 'f', "", 8},
    {DTYPE_TF32, "<f4", 'f', "", 4},   {DTYPE_BF16, "<u2", 'u', "V", 2},
    {DTYPE_E4M3, "|u1", 'u', "Vf", 1}, {DTYPE_E5M2, "|u1", 'u', "Vf", 1},
};

static const struct type_row *row_of(enum dtype t) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].dtype == t) return &types[i];
    return NULL;
}

bool npy_holds(const struct npy *x, enum dtype t) {
    const struct type_row *r = row_of(t);
    if (!r || x->size != r->size) return false;
    return x->kind == r->kind || strchr(r->others, x->kind) != NULL;
}

const char *npy_type(enum dtype t) {
    const struct type_row *r = row_of(t);
    return r ? r->spelling : "nothing that numpy has";
}

/* -- the dictionary
 * ------------------------------------------------------------------------------- */
struct reading {
    struct arena *arena;
    const char *at, *end;
    const char *why;
    bool fortran, has_type, has_order, has_shape;
    struct npy *array;
};

static bool wrong(struct reading *r, const char *why) {
    if (!r->why) r->why = why;
    return false;
}

static char peek(struct reading *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n')) r->at++;
    return r->at < r->end ? *r->at : '\0';
}

static bool take_char(struct reading *r, char c) {
    if (peek(r) != c) return false;
    r->at++;
    return true;
}

static bool take_word(struct reading *r, const char *word) {
    size_t n = strlen(word);
    if (!peek(r) || (size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0) return false;
    r->at += n;
    return true;
}

/* 'text'; NULL if there is none. */
static const char *take_string(struct reading *r) {
    char quote = peek(r);
    if (quote != '\'' && quote != '"') return NULL;
    const char *begin = ++r->at;
    while (r->at < r->end && *r->at != quote) r->at++;
    if (r->at == r->end) return NULL;
    return arena_strndup(r->arena, begin, (size_t)(r->at++ - begin));
}

/* "<f4": byte order, kind, size. */
static bool read_type(struct reading *r) {
    if (peek(r) == '[') return wrong(r, "it holds records, not a plain array");
    const char *s = take_string(r);
    int64_t size = 0;
    if (!s) return wrong(r, "its header names no type of elements");
    r->array->type = s;
    bool order = *s && strchr("<>=|", *s);
    if (*s == '>')
        return wrong(r, "its elements are big-endian; save x.astype(x.dtype.newbyteorder('<'))");
    s += order;
    r->array->kind = *s ? *s++ : '\0';
    for (; *s >= '0' && *s <= '9' && size < 1 << 20; s++) size = 10 * size + (*s - '0');
    if (*s || !r->array->kind || size < 1)
        return wrong(
            r, arena_printf(r->arena, "elements of type '%s' are not supported", r->array->type));
    r->array->size = (int32_t)size;
    return r->has_type = true;
}

static bool read_extent(struct reading *r) {
    int64_t n = 0;
    if (peek(r) < '0' || *r->at > '9') return wrong(r, "its header gives no proper shape");
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *r->at - '0', &n))
            return wrong(r, "its shape is beyond 64 bits");
    take_char(r, 'L'); /* of Python 2 */
    if (r->array->rank == NPY_RANK)
        return wrong(r, arena_printf(r->arena, "it has more than %d axes", NPY_RANK));
    r->array->extent[r->array->rank++] = n;
    return true;
}

static bool read_shape(struct reading *r) {
    r->array->rank = 0;
    if (!take_char(r, '(')) return wrong(r, "its header gives no proper shape");
    while (peek(r) != ')')
        if (!read_extent(r) || (!take_char(r, ',') && peek(r) != ')'))
            return wrong(r, "its header gives no proper shape");
    r->at++;
    return r->has_shape = true;
}

static bool read_order(struct reading *r) {
    r->fortran = take_word(r, "True");
    if (!r->fortran && !take_word(r, "False"))
        return wrong(r, "its header says neither True nor False of its order");
    return r->has_order = true;
}

static bool read_entry(struct reading *r) {
    const char *key = take_string(r);
    if (!key || !take_char(r, ':')) return wrong(r, "its header is no dictionary");
    if (!strcmp(key, "descr")) return read_type(r);
    if (!strcmp(key, "fortran_order")) return read_order(r);
    if (!strcmp(key, "shape")) return read_shape(r);
    return wrong(r, arena_printf(r->arena, "its header has an unknown entry '%.40s'", key));
}

static bool read_dictionary(struct reading *r) {
    if (!take_char(r, '{')) return wrong(r, "its header is no dictionary");
    while (peek(r) != '}')
        if (!read_entry(r) || (!take_char(r, ',') && peek(r) != '}'))
            return wrong(r, "its header is no dictionary");
    return (r->has_type && r->has_order && r->has_shape) ||
           wrong(r, "its header lacks one of 'descr', 'fortran_order' and 'shape'");
}

/* -- the file
 * ------------------------------------------------------------------------------------- */
static bool count_elements(struct reading *r) {
    struct npy *x = r->array;
    int64_t bytes;
    x->count = 1;
    for (int i = 0; i < x->rank; i++)
        if (__builtin_mul_overflow(x->count, x->extent[i], &x->count))
            return wrong(r, "its shape is beyond 64 bits");
    if (__builtin_mul_overflow(x->count, (int64_t)x->size, &bytes) || bytes > MOST_DATA)
        return wrong(r, "it holds more than the 2 GiB that a check on the CPU takes");
    int long_axes = 0;
    for (int i = 0; i < x->rank; i++) long_axes += x->extent[i] > 1;
    if (r->fortran && long_axes > 1 && x->count > 0)
        return wrong(r, "it is in Fortran order; save numpy.ascontiguousarray(x)");
    return true;
}

/* The length of the header; -1 after a report. */
static int64_t read_start(struct reading *r, FILE *f) {
    uint8_t start[12];
    if (fread(start, 1, 8, f) != 8 || memcmp(start, "\x93NUMPY", 6) != 0)
        return wrong(r, "it is no .npy file"), -1;
    if (start[6] < 1 || start[6] > 3)
        return wrong(r, arena_printf(r->arena, "its version is %d.%d; 1.0 to 3.0 are known",
                                     start[6], start[7])),
               -1;
    size_t width = start[6] == 1 ? 2 : 4;
    if (fread(start + 8, 1, width, f) != width) return wrong(r, "it ends within its header"), -1;
    int64_t length = 0;
    for (size_t i = 0; i < width; i++) length |= (int64_t)start[8 + i] << (8 * i);
    if (length > MOST_HEADER)
        return wrong(r,
                     arena_printf(r->arena, "its header is %lld bytes long; at most %lld are read",
                                  (long long)length, (long long)MOST_HEADER)),
               -1;
    return length;
}

/* A plain file is as long as its header says, so that no memory is asked for in vain. */
static bool check_length(struct reading *r, FILE *f, int64_t wanted) {
    struct stat st;
    off_t at = ftello(f);
    if (fstat(fileno(f), &st) || !S_ISREG(st.st_mode) || at < 0) return true;
    int64_t there = (int64_t)st.st_size - (int64_t)at;
    return there == wanted ||
           wrong(r, arena_printf(r->arena,
                                 "its shape and type ask for %lld bytes, %lld follow its header",
                                 (long long)wanted, (long long)there));
}

static bool read_data(struct reading *r, FILE *f) {
    int64_t bytes = r->array->count * r->array->size;
    if (!check_length(r, f, bytes)) return false;
    uint8_t *data = arena_alloc(r->arena, (size_t)bytes + 1);
    size_t got = fread(data, 1, (size_t)bytes + 1, f);
    r->array->data = data;
    if (got == (size_t)bytes) return true;
    return wrong(r,
                 got > (size_t)bytes
                     ? arena_printf(r->arena,
                                    "its shape and type ask for %lld bytes, more follow its header",
                                    (long long)bytes)
                     : arena_printf(r->arena,
                                    "its shape and type ask for %lld bytes, %zu follow its header",
                                    (long long)bytes, got));
}

static bool read_file(struct reading *r, FILE *f) {
    int64_t length = read_start(r, f);
    if (length < 0) return false;
    char *header = arena_alloc(r->arena, (size_t)length + 1);
    if (fread(header, 1, (size_t)length, f) != (size_t)length)
        return wrong(r, "it ends within its header");
    r->at = header;
    r->end = header + length;
    return read_dictionary(r) && count_elements(r) && read_data(r, f);
}

const struct npy *npy_read(struct arena *a, const char *path, const char **why) {
    struct reading r = {.arena = a, .array = arena_make(a, struct npy)};
    errno = 0;
    FILE *f = fopen(path, "rb");
    if (!f) {
        *why = strerror(errno);
        return NULL;
    }
    bool ok = read_file(&r, f);
    if (ferror(f) && errno) r.why = strerror(errno), ok = false;
    fclose(f);
    *why = r.why;
    return ok ? r.array : NULL;
}

/* -- writing
 * -------------------------------------------------------------------------------------- */
struct text npy_header(struct arena *a, enum dtype t, int rank, const int64_t *extent) {
    struct text body = text_new(a), out = text_new(a);
    text_printf(&body, "{'descr': '%s', 'fortran_order': False, 'shape': (", npy_type(t));
    for (int i = 0; i < rank; i++)
        text_printf(&body, rank == 1 ? "%lld," : i ? ", %lld" : "%lld", (long long)extent[i]);
    text_puts(&body, "), }");
    while ((10 + body.length + 1) % 64) text_puts(&body, " ");
    text_puts(&body, "\n");
    const char start[10] = {
        '\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, (char)(body.length & 255), (char)(body.length >> 8)};
    text_write(&out, start, sizeof start);
    text_write(&out, body.at, body.length);
    return out;
}
