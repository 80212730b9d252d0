/* kernel.c: builders and walks of Kernel IR. */
#include "ir/kernel.h"

struct kstmt *kstmt_new(struct module *m, enum kstmt_kind kind, struct span span) {
    struct kstmt *s = arena_make(m->arena, struct kstmt);

    s->kind = kind;
    s->span = span;
    return s;
}

void kblock_append(struct kblock *b, struct kstmt *s) {
    s->next = NULL;
    if (b->last)
        b->last->next = s;
    else
        b->first = s;
    b->last = s;
}

void kblock_insert_before(struct kblock *b, struct kstmt *at, struct kstmt *s) {
    struct kstmt **link = &b->first;
    while (*link != at) link = &(*link)->next;
    s->next = at;
    *link = s;
}

struct array *array_new(struct module *m, struct kernel *k, const char *name, enum dtype dtype,
                        enum dtype element, int32_t count, struct span span) {
    struct array *a = arena_make(m->arena, struct array);

    a->name = intern_text(m->names, name);
    a->id = k->code->arrays.count;
    a->dtype = dtype;
    a->element = element;
    a->count = count;
    a->span = span;
    vec_push(m->arena, &k->code->arrays, a);
    return a;
}

void kblock_walk(struct kblock *b, void (*visit)(struct kstmt *s, void *data), void *data) {
    struct kstmt *s, *next;

    for (s = b->first; s; s = next) {
        next = s->next;
        visit(s, data);
        if (s->kind == K_FOR) {
            kblock_walk(&s->loop.body, visit, data);
        } else if (s->kind == K_WHILE) {
            kblock_walk(&s->repeat.body, visit, data);
        } else if (s->kind == K_IF) {
            kblock_walk(&s->branch.then, visit, data);
            kblock_walk(&s->branch.otherwise, visit, data);
        }
    }
}

int32_t kstmt_registers(const struct kstmt *s) {
    const struct array *a = s->memory.data.array;
    int bits = a->element == a->dtype ? dtype_bits(a->dtype) : dtype_bits(a->element);

    if (bits < 32 && a->dtype == DTYPE_U32) return (s->memory.bytes + 3) / 4;
    return s->memory.bytes / dtype_bytes(s->memory.memory);
}

struct visitor {
    void (*visit)(struct expr **e, void *data);
    void *data;
};

static void one(const struct visitor *v, struct expr **e) {
    if (*e) v->visit(e, v->data);
}

static void memory_expressions(struct kstmt *s, const struct visitor *v) {
    one(v, &s->memory.address.index);
    if (s->memory.data.array) one(v, &s->memory.data.index);
    if (s->kind == K_STORE) one(v, &s->memory.value);
}

static void copy_expressions(struct kstmt *s, const struct visitor *v) {
    one(v, &s->cp_async.to.index);
    one(v, &s->cp_async.from.index);
    one(v, &s->cp_async.source_bytes);
    one(v, &s->cp_async.guard);
}

static void tensor_expressions(struct kstmt *s, const struct visitor *v) {
    if (s->kind == K_MMA) {
        one(v, &s->mma.d.index);
        one(v, &s->mma.a.index);
        one(v, &s->mma.b.index);
    } else {
        one(v, &s->matrix.address.index);
        one(v, &s->matrix.data.index);
    }
}

void kstmt_expressions(struct kstmt *s, void (*visit)(struct expr **e, void *data), void *data) {
    struct visitor v = {visit, data};

    switch (s->kind) {
    case K_VAR:
    case K_SET: one(&v, &s->set.value); break;
    case K_PUT:
        one(&v, &s->put.to.index);
        one(&v, &s->put.value);
        break;
    case K_FOR:
        one(&v, &s->loop.lo);
        one(&v, &s->loop.hi);
        break;
    case K_WHILE: one(&v, &s->repeat.test); break;
    case K_IF: one(&v, &s->branch.test); break;
    case K_LOAD:
    case K_STORE: memory_expressions(s, &v); break;
    case K_ATOMIC:
        one(&v, &s->atomic.address.index);
        one(&v, &s->atomic.value);
        break;
    case K_CP_ASYNC: copy_expressions(s, &v); break;
    case K_LDMATRIX:
    case K_STMATRIX:
    case K_MMA: tensor_expressions(s, &v); break;
    case K_PRINT:
    case K_ASSERT:
        one(&v, &s->print.value);
        one(&v, &s->print.test);
        break;
    case K_ARRAY:
    case K_BREAK:
    case K_CONTINUE:
    case K_COMMIT:
    case K_WAIT:
    case K_BARRIER:
    case K_SYNC_WARP:
    case K_COMMENT: break;
    }
}
