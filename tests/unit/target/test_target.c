/* test_target.c: element types, targets, and which tensor-core row a target offers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "target/target.h"

/* -- Element types ----------------------------------------------------------------------------- */

static void test_dtype_names(void **state) {
    (void)state;
    static const struct {
        const char *text;
        enum dtype want;
    } table[] = {
        {"float16", DTYPE_F16},      {"half", DTYPE_F16},    {"f16", DTYPE_F16},
        {"bfloat16", DTYPE_BF16},    {"float", DTYPE_F32},   {"float32", DTYPE_F32},
        {"double", DTYPE_F64},       {"int", DTYPE_I32},     {"uint8", DTYPE_U8},
        {"long", DTYPE_I64},         {"bool", DTYPE_BOOL},   {"float8_e4m3fn", DTYPE_E4M3},
        {"float8_e4m3", DTYPE_E4M3}, {"e5m2", DTYPE_E5M2},   {"tfloat32", DTYPE_TF32},
        {"index", DTYPE_INDEX},      {"", DTYPE_NONE},       {"none", DTYPE_NONE},
        {"Float16", DTYPE_NONE},     {"float1", DTYPE_NONE}, {"float160", DTYPE_NONE},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        assert_int_equal(dtype_find(table[i].text), table[i].want);
    for (enum dtype t = DTYPE_NONE + 1; t < DTYPE_COUNT; t++) {
        assert_int_equal(dtype_find(dtype_spelling(t)), t);
        assert_int_equal(dtype_find(dtype_letter(t)), t);
        assert_true(strlen(dtype_header_type(t)) > 0 && strlen(dtype_device_type(t)) > 0);
    }
}

static void test_dtype_facts(void **state) {
    (void)state;
    static const struct {
        enum dtype type;
        int bits;
        enum dtype_class class;
        bool is_float, is_integer;
    } table[] = {
        {DTYPE_NONE, 0, CLASS_NONE, false, false},   {DTYPE_BOOL, 8, CLASS_BOOL, false, false},
        {DTYPE_I8, 8, CLASS_INT, false, true},       {DTYPE_U32, 32, CLASS_UINT, false, true},
        {DTYPE_F16, 16, CLASS_FLOAT, true, false},   {DTYPE_BF16, 16, CLASS_FLOAT, true, false},
        {DTYPE_TF32, 32, CLASS_FLOAT, true, false},  {DTYPE_E4M3, 8, CLASS_FLOAT, true, false},
        {DTYPE_INDEX, 64, CLASS_INDEX, false, true}, {DTYPE_F64, 64, CLASS_FLOAT, true, false},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        enum dtype t = table[i].type;
        assert_int_equal(dtype_bits(t), table[i].bits);
        assert_int_equal(dtype_bytes(t) * 8, table[i].bits);
        assert_int_equal(dtype_class_of(t), table[i].class);
        assert_int_equal(dtype_is_float(t), table[i].is_float);
        assert_int_equal(dtype_is_integer(t), table[i].is_integer);
    }
}

/* -- Targets ----------------------------------------------------------------------------------- */

static void test_targets(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int capability, shared;
        bool exact, async, fp8, wgmma;
    } table[] = {
        {"sm_75", 75, 65536, false, false, false, false},
        {"sm_80", 80, 166912, false, true, false, false},
        {"sm_86", 86, 101376, false, true, false, false},
        {"sm_89", 89, 101376, false, true, true, false},
        {"sm_90a", 90, 232448, true, true, true, true},
    };
    assert_int_equal(target_count(), sizeof table / sizeof table[0]);
    for (int i = 0; i < target_count(); i++) {
        const struct target *t = target_find(table[i].name);
        assert_ptr_equal(t, target_row(i));
        assert_int_equal(t->capability, table[i].capability);
        assert_int_equal(t->shared_block, table[i].shared);
        assert_int_equal(t->exact, table[i].exact);
        assert_int_equal(target_has(t, FEATURE_CP_ASYNC), table[i].async);
        assert_int_equal(target_has(t, FEATURE_FP8), table[i].fp8);
        assert_int_equal(target_has(t, FEATURE_WGMMA), table[i].wgmma);
        assert_true(target_has(t, FEATURE_LDMATRIX));
        assert_int_equal(t->shared_sm, t->shared_block + (t->capability >= 80 ? 1024 : 0));
        assert_true(t->threads_sm % 512 == 0 && t->blocks_sm >= 16 && t->sm_count > 0);
        assert_true(t->registers_sm == 65536 && t->registers_thread == 255);
        if (i > 0) assert_true(t->capability > target_row(i - 1)->capability);
    }
    assert_null(target_find("sm_90"));
    assert_null(target_find(""));
}

static void test_nearest(void **state) {
    (void)state;
    static const char *const table[][2] = {
        {"sm_90", "sm_90a"},
        {"sm90a", "sm_90a"},
        {"sm_70", "sm_75"},
        {"sm_87", "sm_86"},
        {"sm_100", "sm_90a"},
        {"SM_80", "sm_80"},
        {"sm_80a", "sm_80"},
        {"compute_89", "sm_89"},
        {"hopper", "sm_75"},
        {"", "sm_75"},
        {"sm_99999999999999999999999999999999999999999999999", "sm_90a"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        assert_string_equal(target_nearest(table[i][0])->name, table[i][1]);
}

/* -- Tensor cores ------------------------------------------------------------------------------ */

static void test_find(void **state) {
    (void)state;
    static const struct {
        const char *target;
        enum dtype a, b, acc;
        const char *want; /* shape and types; NULL: none */
    } table[] = {
        {"sm_75", DTYPE_F16, DTYPE_F16, DTYPE_F32, "m16n8k8.row.col.f32.f16.f16.f32"},
        {"sm_75", DTYPE_F16, DTYPE_F16, DTYPE_F16, "m16n8k8.row.col.f16.f16.f16.f16"},
        {"sm_80", DTYPE_F16, DTYPE_F16, DTYPE_F32, "m16n8k16.row.col.f32.f16.f16.f32"},
        {"sm_90a", DTYPE_F16, DTYPE_F16, DTYPE_F16, "m16n8k16.row.col.f16.f16.f16.f16"},
        {"sm_75", DTYPE_BF16, DTYPE_BF16, DTYPE_F32, NULL},
        {"sm_80", DTYPE_BF16, DTYPE_BF16, DTYPE_F32, "m16n8k16.row.col.f32.bf16.bf16.f32"},
        {"sm_80", DTYPE_BF16, DTYPE_BF16, DTYPE_BF16, NULL},
        {"sm_80", DTYPE_F16, DTYPE_BF16, DTYPE_F32, NULL},
        {"sm_80", DTYPE_F32, DTYPE_F32, DTYPE_F32, "m16n8k8.row.col.f32.tf32.tf32.f32"},
        {"sm_80", DTYPE_TF32, DTYPE_TF32, DTYPE_F32, "m16n8k8.row.col.f32.tf32.tf32.f32"},
        {"sm_75", DTYPE_F32, DTYPE_F32, DTYPE_F32, NULL},
        {"sm_75", DTYPE_I8, DTYPE_U8, DTYPE_I32, "m8n8k16.row.col.s32.s8.u8.s32"},
        {"sm_86", DTYPE_U8, DTYPE_I8, DTYPE_I32, "m16n8k32.row.col.s32.u8.s8.s32"},
        {"sm_86", DTYPE_I8, DTYPE_I8, DTYPE_F32, NULL},
        {"sm_86", DTYPE_E4M3, DTYPE_E4M3, DTYPE_F32, NULL},
        {"sm_89", DTYPE_E4M3, DTYPE_E5M2, DTYPE_F32, "m16n8k32.row.col.f32.e4m3.e5m2.f32"},
        {"sm_75", DTYPE_F64, DTYPE_F64, DTYPE_F64, NULL},
        {"sm_89", DTYPE_F64, DTYPE_F64, DTYPE_F64, "m8n8k4.row.col.f64.f64.f64.f64"},
        {"sm_90a", DTYPE_F64, DTYPE_F64, DTYPE_F64, "m16n8k16.row.col.f64.f64.f64.f64"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const struct mma_row *r =
            mma_find(target_find(table[i].target), table[i].a, table[i].b, table[i].acc);
        assert_int_equal(r != NULL, table[i].want != NULL);
        if (!r) continue;
        assert_memory_equal(r->name, "mma.sync.aligned.", 17);
        assert_string_equal(r->name + 17, table[i].want);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dtype_names), cmocka_unit_test(test_dtype_facts),
        cmocka_unit_test(test_targets),     cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_find),
    };
    return cmocka_run_group_tests_name("target", tests, NULL, NULL);
}
