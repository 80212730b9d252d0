/* memory.c: addresses, loads, stores and atomics of one warp. */
#include "sim/internal.h"
#include <string.h>

static const char *scope_name(enum scope scope) {
    return scope == SCOPE_GLOBAL   ? "tensor"
           : scope == SCOPE_SHARED ? "shared buffer"
                                   : "local buffer";
}

uint8_t *memory_at(struct machine *s, const struct address *a, int64_t index, int32_t bytes,
                   int lane) {
    const struct area *p = &s->spaces[a->buffer->id];
    enum scope scope = a->buffer->scope;
    int64_t unit = scope == SCOPE_SHARED ? 1 : p->element;
    int64_t at = index * unit;
    if (index < 0 || index > p->bytes / unit || at > p->bytes - bytes) {
        sim_fail(s, SIM_OUTSIDE, lane, "%d bytes at %s %lld of %s '%s', which has %lld bytes",
                 bytes, unit == 1 ? "byte" : "element", (long long)index, scope_name(scope),
                 a->buffer->name->text, (long long)p->bytes);
        return NULL;
    }
    int64_t place = at + (scope == SCOPE_SHARED ? p->offset : 0);
    if (place % bytes) {
        sim_fail(s, SIM_MISALIGNED, lane,
                 "%d bytes at %s %lld of %s '%s' are not aligned to %d bytes", bytes,
                 unit == 1 ? "byte" : "element", (long long)index, scope_name(scope),
                 a->buffer->name->text, bytes);
        return NULL;
    }
    if (scope == SCOPE_SHARED) return s->shared + place;
    if (scope == SCOPE_GLOBAL) return p->data + at;
    return s->warp->local + (int64_t)lane * s->program->local_bytes + p->offset + at;
}

/* The bytes that say what is known of a piece of memory; NULL: all is. */
static uint8_t *known_at(struct machine *s, enum scope scope, uint8_t *at) {
    if (scope == SCOPE_SHARED) return s->shared_known + (at - s->shared);
    if (scope == SCOPE_LOCAL) return at + (int64_t)LANES * s->program->local_bytes;
    return NULL;
}

struct touch touch_of(struct machine *s, const struct address *a, const uint8_t *at, int32_t bytes,
                      int lane) {
    struct area *p = &s->spaces[a->buffer->id];
    if (a->buffer->scope == SCOPE_SHARED)
        return (struct touch){&s->shadows, at - s->shared, bytes, lane};
    if (!p->shadows) return (struct touch){0};
    return (struct touch){p->shadows, at - p->data, bytes, lane};
}

bool operand_slot(struct machine *s, const struct operand *o, slot_t index, int32_t count,
                  slot_t *first) {
    int64_t at = lanes_of(s, index)[0].i;
    if (at < 0 || at + count > o->array->count) {
        sim_fail(s, SIM_OUTSIDE, -1, "registers %lld to %lld of array '%s', which has %d",
                 (long long)at, (long long)at + count - 1, o->array->name->text, o->array->count);
        return false;
    }
    *first = s->program->registers[o->array->id] - (slot_t)at;
    return true;
}

/* -- what an access moves
 * --------------------------------------------------------------------------- */
struct access_form {
    enum dtype reg, memory;
    int32_t registers, bytes; /* bytes of a register's share */
    bool element;             /* one element, converted; otherwise raw words */
};

static struct access_form form_of(const struct kstmt *s) {
    const struct array *a = s->memory.data.array;
    struct access_form f = {.memory = s->memory.memory};
    f.reg = a ? a->dtype : s->kind == K_STORE ? s->memory.value->dtype : s->memory.var->dtype;
    int32_t width = dtype_bytes(f.reg) == 8 ? 8 : 4;
    f.registers = a && s->memory.bytes > width ? s->memory.bytes / width : 1;
    f.bytes = s->memory.bytes / f.registers;
    bool bits = f.reg == DTYPE_U32 && dtype_is_float(f.memory);
    f.element = f.registers == 1 && f.bytes == dtype_bytes(f.memory) && !bits;
    return f;
}

static union scalar value_of(const struct access_form *f, const uint8_t *at) {
    uint64_t bits = 0;
    memcpy(&bits, at, (size_t)f->bytes);
    if (!f->element) return scalar_of_bits(bits, f->reg);
    return scalar_cast(scalar_of_bits(bits, f->memory), f->memory, f->reg);
}

static uint64_t bits_of(const struct access_form *f, union scalar v) {
    if (!dtype_is_float(f->reg)) return (uint64_t)v.i;
    if (f->element && f->memory != f->reg)
        return scalar_bits(scalar_cast(v, f->reg, f->memory), f->memory);
    return scalar_bits(v, f->reg);
}

/* A register's knowledge in one lane, from its bytes in memory. */
static void set_known(struct known *k, const struct access_form *f, const uint8_t *bytes,
                      int lane) {
    uint32_t bit = 1u << lane, all = 1;
    for (int i = 0; bytes && i < f->bytes; i++) all &= bytes[i];
    for (int b = 0; b < 4; b++) {
        bool yes = all;
        if (bytes && f->reg == DTYPE_U32 && !f->element) yes = b >= f->bytes || bytes[b];
        k->byte[b] = yes ? k->byte[b] | bit : k->byte[b] & ~bit;
    }
}

void memory_load(struct machine *s, const struct step *p) {
    const struct kstmt *st = p->st;
    enum scope scope = st->memory.address.buffer->scope;
    struct access_form f = form_of(st);
    slot_t first = p->variable;
    struct request r = {.lanes = s->warp->active, .bytes = st->memory.bytes};
    if (!sim_needs(s, p->value[0], p->uniform[0], "the address")) return;
    if (st->memory.data.array &&
        !operand_slot(s, &st->memory.data, p->value[1], f.registers, &first))
        return;
    const union scalar *index = lanes_of(s, p->value[0]);
    for (uint32_t left = s->warp->active; left; left &= left - 1) {
        int l = first_lane(left);
        int64_t i = index[p->uniform[0] ? 0 : l].i;
        uint8_t *at = memory_at(s, &st->memory.address, i, st->memory.bytes, l);
        if (!at) return;
        r.at[l] = scope == SCOPE_SHARED ? at - s->shared : i * dtype_bytes(f.memory);
        struct touch x = touch_of(s, &st->memory.address, at, st->memory.bytes, l);
        if (x.in && !shadow_read(s, x)) return;
        uint8_t *known = known_at(s, scope, at);
        for (int32_t k = 0; k < f.registers; k++) {
            lanes_of(s, first - k)[l] = value_of(&f, at + k * f.bytes);
            set_known(known_of(s, first - k), &f, known ? known + k * f.bytes : NULL, l);
        }
    }
    request_count(s, &r, st->memory.address.buffer);
}

/* -- stores
 * ------------------------------------------------------------------------------------------ */
struct outgoing { /* of one lane */
    uint8_t data[16], known[16];
};

/* Lane l's registers as bytes; false if a byte is not known. */
static bool gather(struct machine *s, const struct access_form *f, slot_t first, int l,
                   bool uniform, struct outgoing *o) {
    bool all = true;
    for (int32_t k = 0; k < f->registers; k++) {
        int from = uniform ? 0 : l;
        uint64_t bits = bits_of(f, lanes_of(s, first - k)[from]);
        const struct known *known = known_of(s, first - k);
        memcpy(o->data + k * f->bytes, &bits, (size_t)f->bytes);
        uint32_t whole = known_lanes(known) >> from & 1;
        for (int32_t b = 0; b < f->bytes; b++) {
            bool yes = f->reg == DTYPE_U32 && b < 4 ? known->byte[b] >> from & 1 : whole;
            o->known[k * f->bytes + b] = yes;
            all &= yes;
        }
    }
    return all;
}

void memory_store(struct machine *s, const struct step *p) {
    const struct kstmt *st = p->st;
    const struct buffer *b = st->memory.address.buffer;
    struct access_form f = form_of(st);
    slot_t first = p->value[1];
    bool array = st->memory.data.array, uniform = !array && p->uniform[1];
    struct request r = {.lanes = s->warp->active, .bytes = st->memory.bytes};
    struct outgoing o;
    if (!sim_needs(s, p->value[0], p->uniform[0], "the address")) return;
    if (array && !operand_slot(s, &st->memory.data, p->value[1], f.registers, &first)) return;
    const union scalar *index = lanes_of(s, p->value[0]);
    for (uint32_t left = s->warp->active; left; left &= left - 1) {
        int l = first_lane(left);
        int64_t i = index[p->uniform[0] ? 0 : l].i;
        uint8_t *at = memory_at(s, &st->memory.address, i, st->memory.bytes, l);
        if (!at) return;
        bool known = gather(s, &f, first, l, uniform, &o);
        r.at[l] = b->scope == SCOPE_SHARED ? at - s->shared : i * dtype_bytes(f.memory);
        if (b->scope == SCOPE_GLOBAL && !known) {
            sim_fail(s, SIM_UNWRITTEN, l,
                     "what is stored to '%s' depends on storage that nothing wrote", b->name->text);
            return;
        }
        struct touch x = touch_of(s, &st->memory.address, at, st->memory.bytes, l);
        if (x.in && !shadow_write(s, x, o.data)) return;
        memcpy(at, o.data, (size_t)st->memory.bytes);
        uint8_t *to = known_at(s, b->scope, at);
        if (to) memcpy(to, o.known, (size_t)st->memory.bytes);
    }
    request_count(s, &r, b);
}

/* -- atomics
 * ----------------------------------------------------------------------------------------- */
/* 16-bit floats come and go as f32. */
static union scalar combined(const struct kstmt *st, union scalar old, union scalar v) {
    static const enum function ops[] = {FN_ADD, FN_MAX, FN_MIN};
    enum dtype t = st->atomic.dtype;
    enum dtype in = t == DTYPE_F16 || t == DTYPE_BF16 ? DTYPE_F32 : t;
    union scalar args[2] = {old, v};
    return scalar_cast(scalar_op(ops[st->atomic.op], in, args), in, t);
}

static bool atomic_lane(struct machine *s, const struct step *p, int l, struct request *r) {
    const struct kstmt *st = p->st;
    enum dtype t = st->atomic.dtype;
    int32_t bytes = dtype_bytes(t);
    enum scope scope = st->atomic.address.buffer->scope;
    int64_t index = lanes_of(s, p->value[0])[p->uniform[0] ? 0 : l].i;
    uint8_t *at = memory_at(s, &st->atomic.address, index, bytes, l);
    if (!at) return false;
    r->at[l] = scope == SCOPE_SHARED ? at - s->shared : index * bytes;
    struct touch x = touch_of(s, &st->atomic.address, at, bytes, l);
    if (x.in && !shadow_write(s, x, NULL)) return false;
    blocks_atomic(s, &x, st->atomic.order);
    uint8_t *known = known_at(s, scope, at);
    for (int b = 0; known && b < bytes; b++)
        if (!known[b]) {
            sim_fail(s, SIM_UNWRITTEN, l, "an atomic operation on storage that nothing wrote");
            return false;
        }
    uint64_t bits = 0;
    memcpy(&bits, at, (size_t)bytes);
    union scalar old = scalar_of_bits(bits, t);
    union scalar v = combined(st, old, lanes_of(s, p->value[1])[p->uniform[1] ? 0 : l]);
    bits = scalar_bits(v, t);
    memcpy(at, &bits, (size_t)bytes);
    if (p->variable == NO_SLOT) return true;
    lanes_of(s, p->variable)[l] = old;
    struct known *k = known_of(s, p->variable);
    for (int b = 0; b < 4; b++) k->byte[b] |= 1u << l;
    return true;
}

void memory_atomic(struct machine *s, const struct step *p) {
    if (!sim_needs(s, p->value[0], p->uniform[0], "the address") ||
        !sim_needs(s, p->value[1], p->uniform[1], "the operand of an atomic operation"))
        return;
    struct request r = {.lanes = s->warp->active, .bytes = dtype_bytes(p->st->atomic.dtype)};
    for (uint32_t left = s->warp->active; left; left &= left - 1)
        if (!atomic_lane(s, p, first_lane(left), &r)) return;
    request_count(s, &r, p->st->atomic.address.buffer);
}
