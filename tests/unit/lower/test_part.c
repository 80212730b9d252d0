/* test_part.c: which registers go into a turn of a loop and which come out; what is no turn. */
#include "ir/kernel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct rig {
    struct arena *arena;
    struct module m;
    struct kstmt *loop;
    struct var *turn, *scalar;
    struct array a, b;
};

static struct var *variable(struct rig *r, enum var_kind kind, enum dtype t, const char *name) {
    struct interns *names = r->m.names;
    return var_new(r->m.exprs, kind, intern_text(names, name), t, (struct span){0, 0});
}

static void set_up(struct rig *r) {
    *r = (struct rig){.arena = arena_new()};
    r->m.arena = r->arena;
    r->m.names = interns_new(r->arena);
    r->m.exprs = exprs_new(r->arena);
    r->loop = kstmt_new(&r->m, K_FOR, (struct span){0, 0});
    r->turn = variable(r, VAR_LOOP, DTYPE_INDEX, "i");
    r->turn->unrolled = true;
    r->turn->lo = 0;
    r->turn->hi = 15;
    r->scalar = variable(r, VAR_LET, DTYPE_F32, "s");
    r->loop->loop.var = r->turn;
    r->a = (struct array){.id = 0, .dtype = DTYPE_F32, .element = DTYPE_F32, .count = 256};
    r->b = (struct array){.id = 1, .dtype = DTYPE_F32, .element = DTYPE_F32, .count = 256};
}

static struct expr *at(struct rig *r, int64_t factor, int64_t offset) {
    struct exprs *x = r->m.exprs;
    struct expr *turn = expr_binary(x, FN_MUL, expr_var(x, r->turn), expr_index(x, factor));
    return expr_binary(x, FN_ADD, turn, expr_index(x, offset));
}

static struct expr *read(struct rig *r, struct array *a, int64_t factor, int64_t offset) {
    return expr_element(r->m.exprs, a, at(r, factor, offset), a->dtype);
}

static void put(struct rig *r, struct kblock *b, struct operand to, struct expr *value) {
    struct kstmt *s = kstmt_new(&r->m, K_PUT, (struct span){0, 0});
    s->put.to = to;
    s->put.value = value;
    kblock_append(b, s);
}

static struct expr *sum(struct rig *r, struct expr *a, struct expr *b) {
    return expr_binary(r->m.exprs, FN_ADD, a, b);
}

/* a[8i+3] = b[2i] + s; if a[8i+3] < s { a[8i] = s }; a[8i+5] = a[8i+3] */
static void registers_go_in_and_out(void **state) {
    static const bool in[] = {true, false, false};
    static const int64_t offset[] = {0, 3, 5};
    struct rig r;
    struct part p;
    (void)state;
    set_up(&r);
    struct kblock *body = &r.loop->loop.body;
    struct expr *s = expr_var(r.m.exprs, r.scalar);
    put(&r, body, (struct operand){&r.a, at(&r, 8, 3)}, sum(&r, read(&r, &r.b, 2, 0), s));
    struct kstmt *branch = kstmt_new(&r.m, K_IF, (struct span){0, 0});
    branch->branch.test = expr_binary(r.m.exprs, FN_LT, read(&r, &r.a, 8, 3), s);
    put(&r, &branch->branch.then, (struct operand){&r.a, at(&r, 8, 0)}, s);
    kblock_append(body, branch);
    put(&r, body, (struct operand){&r.a, at(&r, 8, 5)}, read(&r, &r.a, 8, 3));
    assert_true(part_find(&r.m, r.loop, &p));
    assert_int_equal(p.windows, 2);
    assert_int_equal(p.scalars, 1);
    assert_ptr_equal(p.scalar[0], r.scalar);
    assert_ptr_equal(p.window[0].array, &r.b);
    assert_true(p.window[0].in[0] && !p.window[0].out[0]);
    assert_int_equal(p.window[1].count, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(p.window[1].offset[i], offset[i]);
        assert_int_equal(p.window[1].in[i], in[i]);
        assert_true(p.window[1].out[i]);
    }
    arena_free(r.arena);
}

static struct kstmt *store(struct rig *r, struct buffer *to, struct expr *index,
                           struct operand from, int32_t bytes) {
    struct kstmt *s = kstmt_new(&r->m, K_STORE, (struct span){0, 0});
    s->memory.address = (struct address){to, index, bytes};
    s->memory.memory = DTYPE_F32;
    s->memory.bytes = bytes;
    s->memory.data = from;
    return s;
}

/* where = 16i + s; own[2] = a[8i+1]; t[where + 4] = own[2..4), t[where] = a[8i+3..5) */
static void a_turn_stores(void **state) {
    static const int64_t offset[] = {1, 3, 4};
    struct buffer tensor = {.scope = SCOPE_GLOBAL, .dtype = DTYPE_F32};
    struct array own = {.id = 2, .dtype = DTYPE_F32, .element = DTYPE_F32, .count = 4};
    struct rig r;
    struct part p;
    (void)state;
    set_up(&r);
    struct kblock *body = &r.loop->loop.body;
    struct exprs *x = r.m.exprs;
    struct kstmt *where = kstmt_new(&r.m, K_VAR, (struct span){0, 0});
    where->set.var = variable(&r, VAR_LET, DTYPE_INDEX, "where");
    where->set.value = at(&r, 16, 0);
    kblock_append(body, where);
    struct kstmt *array = kstmt_new(&r.m, K_ARRAY, (struct span){0, 0});
    array->array = &own;
    kblock_append(body, array);
    put(&r, body, (struct operand){&own, expr_index(x, 2)}, read(&r, &r.a, 8, 1));
    struct expr *to = expr_var(x, where->set.var);
    kblock_append(body, store(&r, &tensor, sum(&r, to, expr_index(x, 4)),
                              (struct operand){&own, expr_index(x, 2)}, 8));
    kblock_append(body, store(&r, &tensor, to, (struct operand){&r.a, at(&r, 8, 3)}, 8));
    assert_true(part_find(&r.m, r.loop, &p));
    assert_ptr_equal(p.first, array);
    assert_int_equal(p.scalars, 1);
    assert_ptr_equal(p.scalar[0], where->set.var);
    assert_int_equal(p.tensors, 1);
    assert_ptr_equal(p.tensor[0], &tensor);
    assert_int_equal(p.windows, 1);
    assert_int_equal(p.window[0].count, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(p.window[0].offset[i], offset[i]);
        assert_true(p.window[0].in[i] && !p.window[0].out[i]);
    }
    arena_free(r.arena);
}

enum fault {
    SHARED_STORE,
    TURN_IN_ADDRESS,
    OWN_BY_TURN,
    TWO_STEPS,
    TURN_IN_VALUE,
    TOO_MANY,
    LANES,
    OUTER_VARIABLE,
    MEMORY,
    FAULTS
};

static void plant(struct rig *r, enum fault f) {
    struct exprs *x = r->m.exprs;
    struct kblock *body = &r->loop->loop.body;
    struct expr *s = expr_var(x, r->scalar), *value = s;
    struct kstmt *k;
    static struct buffer shared = {.scope = SCOPE_SHARED, .dtype = DTYPE_F32},
                         tensor = {.scope = SCOPE_GLOBAL, .dtype = DTYPE_F32};
    static struct array own = {.id = 2, .dtype = DTYPE_F32, .element = DTYPE_F32, .count = 16};
    switch (f) {
    case SHARED_STORE:
        kblock_append(body,
                      store(r, &shared, expr_index(x, 0), (struct operand){&r->a, at(r, 8, 0)}, 4));
        break;
    case TURN_IN_ADDRESS:
        kblock_append(body,
                      store(r, &tensor, at(r, 4, 0), (struct operand){&r->a, at(r, 8, 0)}, 4));
        break;
    case OWN_BY_TURN:
        k = kstmt_new(&r->m, K_ARRAY, (struct span){0, 0});
        k->array = &own;
        kblock_append(body, k);
        put(r, body, (struct operand){&own, at(r, 1, 0)}, s);
        break;
    case TWO_STEPS: value = read(r, &r->a, 4, 0); break;
    case TURN_IN_VALUE: value = expr_cast(x, expr_var(x, r->turn), DTYPE_F32); break;
    case TOO_MANY:
        for (int i = 0; i <= PART_ELEMENTS; i++) value = sum(r, value, read(r, &r->b, 32, i));
        break;
    case LANES:
        value = expr_op(x, FN_SHUFFLE_XOR, DTYPE_F32, 2,
                        (struct expr *[]){s, expr_int(x, 1, DTYPE_U32)});
        break;
    case OUTER_VARIABLE:
        k = kstmt_new(&r->m, K_SET, (struct span){0, 0});
        k->set.var = r->scalar;
        k->set.value = value;
        kblock_append(body, k);
        break;
    default: kblock_append(body, kstmt_new(&r->m, K_BARRIER, (struct span){0, 0}));
    }
    put(r, body, (struct operand){&r->a, at(r, 8, 0)}, value);
}

static void other_bodies_are_no_turns(void **state) {
    (void)state;
    for (int f = 0; f < FAULTS; f++) {
        struct rig r;
        struct part p;
        set_up(&r);
        plant(&r, (enum fault)f);
        if (part_find(&r.m, r.loop, &p)) fail_msg("fault %d is taken for a turn", f);
        arena_free(r.arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(registers_go_in_and_out),
                                       cmocka_unit_test(a_turn_stores),
                                       cmocka_unit_test(other_bodies_are_no_turns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
