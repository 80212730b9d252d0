/* eval_memory.c: the storage of tensors and buffers, element by element. */
#include "ir/eval_state.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void eval_fail(struct eval *s, struct span span, const char *format, ...) {
    char message[400];
    va_list arguments;
    if (s->why) return;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (s->m->source && span.end)
        s->why = arena_printf(s->m->arena, "line %d: %s",
                              source_position(s->m->source, span.begin).line, message);
    else
        s->why = arena_printf(s->m->arena, "%s", message);
}

/* -- elements
 * -------------------------------------------------------------------------------------- */
union scalar element_read(const uint8_t *at, enum dtype t) {
    if (t == DTYPE_F32) {
        float v;
        memcpy(&v, at, sizeof v);
        return (union scalar){.f = (double)v};
    }
    uint64_t bits = 0;
    memcpy(&bits, at, (size_t)dtype_bytes(t)); /* little-endian hosts */
    return scalar_of_bits(bits, t);
}

void element_write(uint8_t *at, enum dtype t, union scalar v) {
    if (t == DTYPE_F32) {
        float single = (float)v.f;
        memcpy(at, &single, sizeof single);
        return;
    }
    uint64_t bits = scalar_bits(v, t);
    memcpy(at, &bits, (size_t)dtype_bytes(t));
}

static void report_outside(struct eval *s, const struct memory *m, int axis, int64_t index) {
    eval_fail(s, m->buffer->span, "index %lld of axis %d lies outside buffer '%s' (extent %lld)",
              (long long)index, axis, m->buffer->name->text, (long long)m->extent[axis]);
}

uint8_t *eval_address(struct eval *s, const struct memory *m, const int64_t *index, int thread) {
    int64_t offset = 0;
    for (int i = 0; i < m->rank; i++) {
        if (index[i] < 0 || index[i] >= m->extent[i]) {
            if (!m->outside_ok) report_outside(s, m, i, index[i]);
            return NULL;
        }
        offset += index[i] * m->stride[i];
    }
    return m->data + offset * m->element + m->thread_bytes * thread;
}

int64_t eval_elements(const struct memory *m) {
    int64_t last = 0;
    for (int i = 0; i < m->rank; i++) last += (m->extent[i] - 1) * m->stride[i];
    return last + 1;
}

/* -- tensors
 * --------------------------------------------------------------------------------------- */
static struct memory *memory_of(struct eval *s, struct buffer *b) {
    struct memory *m = arena_make(s->arena, struct memory);
    m->buffer = b;
    m->rank = b->rank;
    m->dtype = b->dtype;
    m->element = dtype_bytes(b->dtype);
    s->memories[b->id] = m;
    return m;
}

static void add_tensor(struct eval *s, struct buffer *b, const struct tensor *t) {
    struct memory *m = memory_of(s, b);
    m->data = t->data;
    m->outside_ok = true;
    for (int i = 0; i < b->rank; i++) {
        m->extent[i] = t->extent[i];
        m->stride[i] = t->stride[i];
    }
    if (t->dtype != b->dtype || t->rank != b->rank)
        eval_fail(s, b->span, "tensor '%s' has another type or rank", b->name->text);
}

bool eval_add_memories(struct eval *s, const struct eval_args *args) {
    const struct function_ir *f = s->f;
    if (args->count != f->params.count) {
        eval_fail(s, f->span, "%d arguments for %d parameters", args->count, f->params.count);
        return false;
    }
    for (int i = 0; i < args->count; i++) {
        const struct param *p = &f->params.at[i];
        if (p->kind == PARAM_TENSOR)
            add_tensor(s, p->buffer, args->tensor[i]);
        else
            eval_bind(s, p->var, args->scalar[i], 0);
    }
    for (int i = 0; i < f->globals.count && !s->why; i++) {
        struct buffer *b = f->globals.at[i];
        struct buffer *root = b;
        while (root->alias) root = root->alias;
        if (!s->memories[b->id] && root != b && s->memories[root->id]) {
            struct memory *m = memory_of(s, b);
            m->data = s->memories[root->id]->data;
            m->outside_ok = true;
            for (int k = b->rank - 1; k >= 0; k--) {
                m->extent[k] = eval_integer(s, b->dim[k], 0);
                m->stride[k] = eval_integer(s, b->stride[k], 0);
            }
        }
        if (!s->memories[b->id])
            eval_fail(s, b->span, "tensor '%s' is no parameter", b->name->text);
        else if (b->safe_value)
            s->memories[b->id]->safe = eval_value(s, b->safe_value, 0);
    }
    return !s->why;
}

/* -- buffers of a kernel
 * --------------------------------------------------------------------------- */
static int64_t storage_elements(const struct buffer *b) {
    int64_t count = buffer_elements(b);
    if (b->scope != SCOPE_SHARED || layout_is_none(&b->layout)) return count;
    int64_t span = layout_span(&b->layout, SPACE_OFF);
    return span > count ? span : count;
}

static bool offsets_known(const struct kernel *k) {
    bool some = false;
    for (int i = 0; i < k->buffers.count; i++) {
        const struct buffer *b = k->buffers.at[i];
        if (b->scope != SCOPE_SHARED || b->alias) continue;
        if (b->offset < 0) return false;
        some = true;
    }
    return some;
}

/* One array for all, so that buffers that share bytes overwrite each other. */
static void place_shared(struct eval *s, const struct kernel *k) {
    s->shared = NULL;
    s->shared_bytes = 0;
    if (!offsets_known(k)) return;
    for (int i = 0; i < k->buffers.count; i++) {
        const struct buffer *b = k->buffers.at[i];
        if (b->scope != SCOPE_SHARED || b->alias) continue;
        int64_t end = b->offset + storage_elements(b) * dtype_bytes(b->dtype);
        if (end > s->shared_bytes) s->shared_bytes = end;
    }
    s->shared = arena_alloc(s->arena, (size_t)s->shared_bytes);
}

static void add_buffer(struct eval *s, struct buffer *b) {
    struct memory *m = memory_of(s, b);
    int64_t stride = 1;
    for (int i = b->rank - 1; i >= 0; i--) {
        m->extent[i] = b->extent[i];
        m->stride[i] = stride;
        stride *= b->extent[i];
    }
    const struct memory *root = b->alias ? s->memories[b->alias->id] : NULL;
    if (root) {
        m->data = root->data;
        m->thread_bytes = root->thread_bytes;
        return;
    }
    if (s->shared && b->scope == SCOPE_SHARED) {
        m->data = s->shared + b->offset;
        return;
    }
    m->bytes = storage_elements(b) * m->element;
    if (b->scope == SCOPE_LOCAL) {
        m->thread_bytes = m->bytes;
        m->bytes *= s->threads;
    }
    m->data = arena_alloc(s->arena, (size_t)m->bytes);
}

void eval_add_buffers(struct eval *s, const struct kernel *k) {
    place_shared(s, k);
    for (int i = 0; i < k->buffers.count; i++) add_buffer(s, k->buffers.at[i]);
}

void eval_fill(struct eval *s, const struct kernel *k) {
    bool poison = s->options && s->options->poison;
    if (s->shared) memset(s->shared, poison ? 0xff : 0, (size_t)s->shared_bytes);
    for (int i = 0; i < k->buffers.count; i++) {
        struct memory *m = eval_memory(s, k->buffers.at[i]);
        if (m->added) memset(m->added, 0, (size_t)eval_elements(m) * sizeof *m->added);
        int byte = !poison ? 0 : dtype_is_float(m->dtype) ? 0xff : 0xa5;
        if (m->bytes) memset(m->data, byte, (size_t)m->bytes);
    }
}
