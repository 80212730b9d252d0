/* npy.c: .npy files: what is read, what is refused and how that is said, and files that lie: every
 * truncation and many changed bytes must give an array or a reason. usage: npy DIRECTORY */
#include "driver/verify.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
/* behind what it needs */
#include <cmocka.h>

static const char *path;

static void write_bytes(const void *data, size_t length) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, length, f), length);
    fclose(f);
}

/* A file of the given version, dictionary and data. */
static size_t make(uint8_t *to, int version, const char *dictionary, size_t data) {
    size_t length = strlen(dictionary) + 1, at = version == 1 ? 10 : 12;
    memcpy(to, "\x93NUMPY", 6);
    to[6] = (uint8_t)version;
    to[7] = 0;
    for (size_t i = 8; i < at; i++) to[i] = (uint8_t)(length >> (8 * (i - 8)));
    memcpy(to + at, dictionary, length - 1);
    to[at + length - 1] = '\n';
    for (size_t i = 0; i < data; i++) to[at + length + i] = (uint8_t)i;
    return at + length + data;
}

#define DICT(type, order, shape) \
    "{'descr': '" type "', 'fortran_order': " order ", 'shape': " shape ", }"

static const struct {
    const char *dictionary;
    int version;
    size_t data;
    const char *refusal; /* NULL: it is read */
} files[] = {
    {DICT("<f4", "False", "(2, 3)"), 1, 24, NULL},
    {DICT("<f4", "False", "(2, 3)"), 2, 24, NULL},
    {DICT("<f4", "False", "(2, 3)"), 3, 24, NULL},
    {"{\"shape\":(2,3),\"descr\":\"<f4\",\"fortran_order\":False}", 1, 24, NULL},
    {DICT("=f4", "False", "(6L,)"), 1, 24, NULL},
    {DICT("|b1", "False", "()"), 1, 1, NULL},
    {DICT("<f8", "False", "(0, 7)"), 1, 0, NULL},
    {DICT("<f4", "True", "(6,)"), 1, 24, NULL},
    {DICT("<f4", "True", "(6, 1)"), 1, 24, NULL},
    {DICT("<f4", "True", "(2, 3)"), 1, 24, "it is in Fortran order"},
    {DICT(">f4", "False", "(2, 3)"), 1, 24, "big-endian"},
    {DICT("<f4", "False", "(2, 3)"), 4, 24, "its version is 4.0"},
    {DICT("<f4", "False", "(2, 3)"), 1, 23, "ask for 24 bytes, 23 follow"},
    {DICT("<f4", "False", "(2, 3)"), 1, 25, "ask for 24 bytes, 25 follow"},
    {DICT("", "False", "(2, 3)"), 1, 24, "elements of type ''"},
    {DICT("<f", "False", "(2, 3)"), 1, 24, "elements of type '<f'"},
    {DICT("<f4x", "False", "(2, 3)"), 1, 24, "elements of type '<f4x'"},
    {DICT("<f99999999999999999999", "False", "(2, 3)"), 1, 24, "elements of type"},
    {DICT("<f4", "No", "(2, 3)"), 1, 24, "neither True nor False"},
    {DICT("<f4", "False", "(-2, 3)"), 1, 24, "no proper shape"},
    {DICT("<f4", "False", "(2 3)"), 1, 24, "no proper shape"},
    {DICT("<f4", "False", "2"), 1, 24, "no proper shape"},
    {DICT("<f4", "False", "(99999999999999999999,)"), 1, 24, "beyond 64 bits"},
    {DICT("<f4", "False", "(4294967296, 4294967296)"), 1, 24, "beyond 64 bits"},
    {DICT("<f4", "False", "(4611686018427387904, 1)"), 1, 24, "more than the 2 GiB"},
    {DICT("<f4", "False", "(1000000, 1000)"), 1, 24, "more than the 2 GiB"},
    {DICT("<f4", "False", "(1000000, 100)"), 1, 24, "ask for 400000000 bytes, 24 follow"},
    {DICT("<f4", "False", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"), 1,
     24, "more than 32 axes"},
    {"{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (6,)}", 1, 24, "it holds records"},
    {"{'descr': '<f4', 'shape': (6,)}", 1, 24, "lacks one of"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,), 'more': 1}", 1, 24,
     "an unknown entry 'more'"},
    {"{'descr", 1, 24, "no dictionary"},
    {"{", 1, 24, "no dictionary"},
    {"", 1, 24, "no dictionary"},
    {"[]", 1, 24, "no dictionary"},
};

static void test_files(void **state) {
    static uint8_t file[4096];
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct arena *a = arena_new();
        const char *why = NULL;
        write_bytes(file, make(file, files[i].version, files[i].dictionary, files[i].data));
        const struct npy *x = npy_read(a, path, &why);
        if (!files[i].refusal && !x) fail_msg("%s: %s", files[i].dictionary, why);
        if (files[i].refusal && (x || !strstr(why, files[i].refusal)))
            fail_msg("%s: %s, not '%s'", files[i].dictionary, x ? "read" : why, files[i].refusal);
        for (int64_t k = 0; x && k < x->count * x->size; k++)
            assert_int_equal(x->data[k], (uint8_t)k);
        arena_free(a);
    }
}

static void read_any(const uint8_t *file, size_t length) {
    struct arena *a = arena_new();
    const char *why = NULL;
    write_bytes(file, length);
    const struct npy *x = npy_read(a, path, &why);
    assert_true(x ? !why : why && *why);
    arena_free(a);
}

static void test_lies(void **state) {
    static const uint8_t values[] = {0, '\'', ')', '9', 255};
    static uint8_t file[4096], changed[4096];
    (void)state;
    for (int version = 1; version < 3; version++) {
        size_t length = make(file, version, DICT("<f4", "False", "(2, 3)"), 24);
        for (size_t n = 0; n < length; n++) read_any(file, n);
        for (size_t at = 0; at < length - 24; at++)
            for (size_t k = 0; k < sizeof values; k++) {
                memcpy(changed, file, length);
                changed[at] = values[k];
                read_any(changed, length);
            }
    }
}

/* What is written is read, and says its type as numpy does. */
static void test_headers(void **state) {
    static const int64_t extents[] = {3, 100, 7, 1, 12};
    (void)state;
    for (int t = DTYPE_BOOL; t < DTYPE_INDEX; t++)
        for (int rank = 0; rank <= 5; rank++) {
            struct arena *a = arena_new();
            const char *why = NULL;
            int64_t count = 1;
            for (int i = 0; i < rank; i++) count *= extents[i];
            struct text h = npy_header(a, (enum dtype)t, rank, extents);
            size_t bytes = (size_t)count * (size_t)dtype_bytes((enum dtype)t);
            uint8_t *file = arena_alloc(a, h.length + bytes + 1);
            memcpy(file, h.at, h.length);
            write_bytes(file, h.length + bytes);
            const struct npy *x = npy_read(a, path, &why);
            if (!x) fail_msg("%s", why);
            assert_int_equal(h.length % 64, 0);
            assert_true(npy_holds(x, (enum dtype)t) && x->rank == rank && x->count == count);
            for (int i = 0; i < rank; i++) assert_int_equal(x->extent[i], extents[i]);
            arena_free(a);
        }
}

static void test_types(void **state) {
    static const struct {
        const char *type;
        char kind;
        int size;
        enum dtype dtype;
        bool holds;
    } rows[] = {
        {"<f2", 'f', 2, DTYPE_F16, true},  {"<f2", 'f', 2, DTYPE_BF16, false},
        {"<V2", 'V', 2, DTYPE_BF16, true}, {"<u2", 'u', 2, DTYPE_BF16, true},
        {"|V1", 'V', 1, DTYPE_E4M3, true}, {"<f1", 'f', 1, DTYPE_E5M2, true},
        {"|u1", 'u', 1, DTYPE_E4M3, true}, {"|i1", 'i', 1, DTYPE_E4M3, false},
        {"<i4", 'i', 4, DTYPE_U32, false}, {"<i8", 'i', 8, DTYPE_I32, false},
        {"|b1", 'b', 1, DTYPE_BOOL, true}, {"|u1", 'u', 1, DTYPE_BOOL, false},
        {"<f4", 'f', 4, DTYPE_TF32, true}, {"<f8", 'f', 8, DTYPE_F32, false},
        {"<c8", 'c', 8, DTYPE_F64, false}, {"<M8", 'M', 8, DTYPE_I64, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct npy x = {.type = rows[i].type, .kind = rows[i].kind, .size = rows[i].size};
        assert_int_equal(npy_holds(&x, rows[i].dtype), rows[i].holds);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_files), cmocka_unit_test(test_lies),
                                       cmocka_unit_test(test_headers),
                                       cmocka_unit_test(test_types)};
    char name[4096];
    if (argc < 2) return 2;
    snprintf(name, sizeof name, "%s/verify_npy_test.npy", argv[1]);
    path = name;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove(path);
    return failed;
}
