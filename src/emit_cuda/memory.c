/* memory.c: loads, stores, atomics, asynchronous copies and matrix instructions as CUDA. */
#include "emit_cuda/internal.h"
#include <string.h>

/* -- Addresses
 * ------------------------------------------------------------------------------------- */
/* " + index", nothing for 0; in brackets unless it is a sum or product. */
static void emit_offset(struct emitter *e, const struct expr *index) {
    int64_t at;
    if (expr_is_int(index, &at) && at == 0) return;
    text_puts(e->out, " + ");
    bool sum = index->kind == EXPR_OP && (index->fn == FN_ADD || index->fn == FN_MUL);
    if (sum)
        emit_expr(e, index);
    else
        emit_operand(e, index);
}

void emit_operand_pointer(struct emitter *e, const struct operand *o) {
    text_puts(e->out, array_name(e, o->array));
    emit_offset(e, o->index);
}

/* A shared buffer's name is its byte offset, a constant of the kernel. */
void emit_shared_address(struct emitter *e, const struct address *a, bool pointer) {
    text_printf(e->out, "%s + %s", pointer ? "smem" : "smem_base", buffer_name(e, a->buffer));
    emit_offset(e, a->index);
}

static void emit_global_address(struct emitter *e, const struct address *a) {
    text_puts(e->out, buffer_name(e, a->buffer));
    emit_offset(e, a->index);
}

/* A pointer expression to the address, of `type` ("const uint4") or untyped. */
static void emit_pointer(struct emitter *e, const struct address *a) {
    if (a->buffer->scope == SCOPE_SHARED)
        emit_shared_address(e, a, true);
    else
        emit_global_address(e, a);
}

/* -- Vectors
 * ------------------------------------------------------------------------------------------- */
struct lane_type {
    const char *scalar, *vector, *suffix;
};

static struct lane_type lane_type_of(enum dtype t) {
    switch (t) {
    case DTYPE_F32:
    case DTYPE_TF32: return (struct lane_type){"float", "float", "f32"};
    case DTYPE_F64: return (struct lane_type){"double", "double", "f64"};
    case DTYPE_I64: return (struct lane_type){"long long", "longlong", "i64"};
    case DTYPE_U64: return (struct lane_type){"unsigned long long", "ulonglong", "u64"};
    case DTYPE_I32: return (struct lane_type){"int", "int", "i32"};
    default: return (struct lane_type){"uint32_t", "uint", "u32"};
    }
}

static const char *const part[] = {"x", "y", "z", "w"};

/* `count` registers of one type moved by one access; the registers are named one by one so that
 * they stay registers. */
static const char *vector_helper(struct emitter *e, enum dtype t, int count, bool store,
                                 bool constant) {
    struct lane_type l = lane_type_of(t);
    const char *name = arena_printf(e->arena, "%s%s_%sx%d", store ? "store" : "load",
                                    constant ? "_const" : "", l.suffix, count);
    struct text body = text_new(e->arena);
    text_puts(&body, "static __device__ __forceinline__ ");
    if (store) {
        text_printf(&body, "void %s(void *to, const %s *r)\n{\n    *(%s%d *)to = make_%s%d(", name,
                    l.scalar, l.vector, count, l.vector, count);
        for (int i = 0; i < count; i++) text_printf(&body, "%sr[%d]", i ? ", " : "", i);
        text_puts(&body, ");\n}\n");
    } else {
        text_printf(&body, "void %s(%s *r, const void *from)\n{\n    const %s%d v = ", name,
                    l.scalar, l.vector, count);
        text_printf(&body, constant ? "__ldg((const %s%d *)from);\n" : "*(const %s%d *)from;\n",
                    l.vector, count);
        text_puts(&body, "   ");
        for (int i = 0; i < count; i++) text_printf(&body, " r[%d] = v.%s;", i, part[i]);
        text_puts(&body, "\n}\n");
    }
    return helper_make(e->helpers, name, body.at);
}

/* The C type in memory of an element that the register holds as its bits or its value. */
static const char *memory_type(enum dtype memory, enum dtype reg) {
    if (reg == DTYPE_U32 && dtype_is_float(memory) && memory != DTYPE_F64) {
        int bytes = dtype_bytes(memory);
        return bytes == 4 ? "uint32_t" : bytes == 2 ? "uint16_t" : "uint8_t";
    }
    switch (memory) {
    case DTYPE_I64: return "long long";
    case DTYPE_U64: return "unsigned long long";
    default: return dtype_device_type(memory);
    }
}

/* buffer[index] where the type in memory is the pointer's own; through a cast otherwise. */
static void emit_element(struct emitter *e, const struct kstmt *s, enum dtype reg, bool constant) {
    const struct address *a = &s->memory.address;
    const char *own = memory_type(a->buffer->dtype, DTYPE_NONE);
    const char *wanted = memory_type(s->memory.memory, reg);
    if (s->memory.bytes != dtype_bytes(s->memory.memory)) /* a word of packed elements */
        wanted = s->memory.bytes == 4 ? "uint32_t" : s->memory.bytes == 2 ? "uint16_t" : "uint8_t";
    bool plain = a->buffer->scope != SCOPE_SHARED && !strcmp(own, wanted);
    if (a->buffer->scope == SCOPE_LOCAL || (plain && !constant)) {
        text_printf(e->out, "%s[", buffer_name(e, a->buffer));
        emit_expr(e, a->index);
        text_puts(e->out, "]");
        return;
    }
    const char *qualifier = s->kind == K_LOAD ? "const " : "";
    text_puts(e->out, constant ? "__ldg(" : "*");
    if (!plain) text_printf(e->out, "(%s%s *)(", qualifier, wanted);
    emit_pointer(e, a);
    text_printf(e->out, "%s%s", plain ? "" : ")", constant ? ")" : "");
}

static int register_bytes(enum dtype t) { return dtype_bytes(t) == 8 ? 8 : 4; }

static void emit_vector(struct emitter *e, const struct kstmt *s, int count) {
    bool store = s->kind == K_STORE;
    const struct operand *o = &s->memory.data;
    text_printf(e->out, "%s(",
                vector_helper(e, o->array->dtype, count, store, !store && s->memory.read_only));
    if (!store) {
        emit_operand_pointer(e, o);
        text_puts(e->out, ", ");
    }
    emit_pointer(e, &s->memory.address);
    if (store) {
        text_puts(e->out, ", ");
        emit_operand_pointer(e, o);
    }
    text_puts(e->out, ");\n");
}

void emit_memory(struct emitter *e, const struct kstmt *s) {
    bool store = s->kind == K_STORE, constant = !store && s->memory.read_only;
    const struct operand *o = &s->memory.data;
    enum dtype reg = o->array ? o->array->dtype
                     : store  ? s->memory.value->dtype
                              : s->memory.var->dtype;
    int count = o->array ? s->memory.bytes / register_bytes(reg) : 1;
    if (count > 1) {
        emit_vector(e, s, count);
        return;
    }
    if (store) {
        emit_element(e, s, reg, false);
        text_puts(e->out, " = ");
        if (o->array) text_printf(e->out, "%s[", array_name(e, o->array));
        emit_expr(e, o->array ? o->index : s->memory.value);
        text_puts(e->out, o->array ? "];\n" : ";\n");
        return;
    }
    if (o->array) {
        text_printf(e->out, "%s[", array_name(e, o->array));
        emit_expr(e, o->index);
        text_puts(e->out, "] = ");
    } else {
        struct var *v = s->memory.var;
        text_printf(e->out, "const %s %s = ", emit_type(e, v->dtype, v->lo, v->hi), var_name(e, v));
    }
    emit_element(e, s, reg, constant);
    text_puts(e->out, ";\n");
}

/* -- Atomics
 * -------------------------------------------------------------------------------------------- */
/* A 16-bit float has no max, min or (before sm_90, bf16) add: compare and swap on its bits. The
 * value comes and the old one goes as f32. */
static const char *small_float_helper(struct emitter *e, enum atomic_op op, enum dtype t) {
    const char *type = dtype_letter(t);
    const char *verb = op == ATOMIC_ADD ? "add" : op == ATOMIC_MAX ? "max" : "min";
    const char *name = arena_printf(e->arena, "atomic_%s_%s", verb, type);
    const char *from = t == DTYPE_F16 ? helper_use(e->helpers, "f16_to_f32") : NULL;
    const char *to = helper_use(e->helpers, t == DTYPE_F16 ? "f32_to_f16" : "f32_to_bf16");
    const char *seen = from ? "f16_to_f32(seen)" : "__uint_as_float((uint32_t)seen << 16)";
    const char *result = op == ATOMIC_ADD   ? "%s + x"
                         : op == ATOMIC_MAX ? "fmaxf(%s, x)"
                                            : "fminf(%s, x)";
    struct text body = text_new(e->arena);
    text_printf(&body, "static __device__ __forceinline__ float %s(uint16_t *p, float x)\n{\n",
                name);
    text_puts(&body, "    unsigned short old = *(volatile unsigned short *)p, seen;\n    do {\n    "
                     "    seen = old;\n");
    text_printf(&body, "        old = atomicCAS((unsigned short *)p, seen, (unsigned short)%s(",
                to);
    for (const char *c = result; *c; c++) {
        if (*c == '%')
            text_puts(&body, seen), c++;
        else
            text_printf(&body, "%c", *c);
    }
    text_puts(&body, "));\n    } while (old != seen);\n    return ");
    text_puts(&body, from ? "f16_to_f32(old);\n}\n" : "__uint_as_float((uint32_t)old << 16);\n}\n");
    return helper_make(e->helpers, name, body.at);
}

static const char *atomic_name(struct emitter *e, enum atomic_op op, enum dtype t) {
    if (t == DTYPE_F16 || t == DTYPE_BF16) return small_float_helper(e, op, t);
    if (op == ATOMIC_ADD) return "atomicAdd";
    if (t == DTYPE_F32)
        return helper_use(e->helpers, op == ATOMIC_MAX ? "atomic_max_f32" : "atomic_min_f32");
    if (t == DTYPE_F64)
        return helper_use(e->helpers, op == ATOMIC_MAX ? "atomic_max_f64" : "atomic_min_f64");
    return op == ATOMIC_MAX ? "atomicMax" : "atomicMin";
}

static const char *atomic_pointer(enum dtype t) {
    switch (t) {
    case DTYPE_F16:
    case DTYPE_BF16: return "uint16_t";
    case DTYPE_U32: return "unsigned";
    case DTYPE_I64: return "long long";
    case DTYPE_U64: return "unsigned long long";
    default: return dtype_device_type(t);
    }
}

void emit_atomic(struct emitter *e, const struct kstmt *s) {
    enum memory_order order = s->atomic.order;
    enum dtype t = s->atomic.dtype;
    const struct var *old = s->atomic.previous;
    /* signed 64-bit addition has no overload; the unsigned one has the same bits */
    bool as_unsigned = t == DTYPE_I64 && s->atomic.op == ATOMIC_ADD;
    if (order != ORDER_RELAXED && order != ORDER_ACQUIRE) text_puts(e->out, "__threadfence();\n");
    if (old) {
        const char *type = emit_type(e, old->dtype, old->lo, old->hi);
        text_printf(e->out, "const %s %s = %s", type, var_name(e, old),
                    as_unsigned ? "(long long)" : "");
    }
    text_printf(e->out, "%s((%s *)(", atomic_name(e, s->atomic.op, t),
                as_unsigned ? "unsigned long long" : atomic_pointer(t));
    emit_pointer(e, &s->atomic.address);
    text_puts(e->out, as_unsigned ? "), (unsigned long long)" : "), ");
    if (as_unsigned)
        emit_operand(e, s->atomic.value);
    else
        emit_expr(e, s->atomic.value);
    text_puts(e->out, ");\n");
    if (order != ORDER_RELAXED && order != ORDER_RELEASE) text_puts(e->out, "__threadfence();\n");
}

/* -- Asynchronous copies and matrices
 * -------------------------------------------------------------------- */
void emit_async(struct emitter *e, const struct kstmt *s) {
    bool whole = !s->cp_async.source_bytes;
    const char *kind = !whole ? "part_" : s->cp_async.guard ? "if_" : "";
    const char *name = arena_printf(e->arena, "cp_async_%s%d", kind, s->cp_async.bytes);
    text_printf(e->out, "%s(", helper_use(e->helpers, name));
    emit_shared_address(e, &s->cp_async.to, false);
    text_puts(e->out, ", ");
    emit_global_address(e, &s->cp_async.from);
    if (!whole) {
        text_puts(e->out, ", ");
        emit_expr(e, s->cp_async.source_bytes);
    }
    if (s->cp_async.guard || !whole) text_puts(e->out, ", ");
    if (s->cp_async.guard)
        emit_expr(e, s->cp_async.guard);
    else if (!whole)
        text_puts(e->out, "true");
    text_puts(e->out, ");\n");
}

void emit_matrix(struct emitter *e, const struct kstmt *s) {
    bool store = s->kind == K_STMATRIX;
    const char *name = arena_printf(e->arena, "%smatrix_%sx%d", store ? "st" : "ld",
                                    s->matrix.transpose ? "trans_" : "", s->matrix.matrices);
    text_printf(e->out, "%s(", helper_use(e->helpers, name));
    if (!store) {
        emit_operand_pointer(e, &s->matrix.data);
        text_puts(e->out, ", ");
    }
    emit_shared_address(e, &s->matrix.address, false);
    if (store) {
        text_puts(e->out, ", ");
        emit_operand_pointer(e, &s->matrix.data);
    }
    text_puts(e->out, ");\n");
}

/* -- Tensor cores
 * ------------------------------------------------------------------------------------------ */
/* Registers of one fragment of rows x columns elements: 32-bit words, or doubles. */
static int fragment_registers(int elements, enum dtype t) {
    int bits = t == DTYPE_TF32 ? 32 : dtype_bits(t);
    return bits == 64 ? elements / 32 : elements * bits / 32 / 32;
}

static char constraint(enum dtype t) { return t == DTYPE_F64 ? 'd' : t == DTYPE_F32 ? 'f' : 'r'; }

static void list_operands(struct text *t, int from, int count) {
    text_puts(t, "{");
    for (int i = 0; i < count; i++) text_printf(t, "%s%%%d", i ? ", " : "", from + i);
    text_puts(t, "}");
}

static void list_registers(struct text *t, const char *prefix, char c, const char *name,
                           int count) {
    for (int i = 0; i < count; i++)
        text_printf(t, "%s\"%s%c\"(%s[%d])", i ? ", " : "", prefix, c, name, i);
}

/* ptxas (CUDA 13.0) turns `d = first ? 0 : d` in front of a DMMA of 16 rows into the instruction's
 * predicate, and rows 8 to 15 of such a product are wrong on sm_90. It does not look through a sum;
 * d + -0 is d. tools/dmma_zero.cu shows it. */
static void keep_from_predicate(struct text *t, const struct mma_row *row, int count) {
    if (row->acc != DTYPE_F64 || row->m != 16) return;
    text_puts(
        t, "    // d itself, in a form that ptxas does not make a predicate of DMMA, which fails "
           "for rows 8 to 15\n");
    for (int i = 0; i < count; i++) text_printf(t, "    d[%d] = __dadd_rn(d[%d], -0.0);\n", i, i);
}

static const char *mma_helper(struct emitter *e, const struct mma_row *row) {
    const char *name =
        arena_printf(e->arena, "mma_m%dn%dk%d_%s_%s_%s", row->m, row->n, row->k,
                     dtype_letter(row->acc), dtype_letter(row->a), dtype_letter(row->b));
    int d = fragment_registers(row->m * row->n, row->acc);
    int a = fragment_registers(row->m * row->k, row->a),
        b = fragment_registers(row->k * row->n, row->b);
    char cd = constraint(row->acc), ca = row->a == DTYPE_F64 ? 'd' : 'r';
    const char *td = cd == 'd'               ? "double"
                     : cd == 'f'             ? "float"
                     : row->acc == DTYPE_I32 ? "int"
                                             : "uint32_t";
    const char *ta = ca == 'd' ? "double" : "uint32_t";
    struct text t = text_new(e->arena);
    text_printf(&t,
                "// d += a * b\nstatic __device__ __forceinline__ void %s(%s *d, const %s *a, "
                "const %s *b)\n{\n",
                name, td, ta, ta);
    keep_from_predicate(&t, row, d);
    text_printf(&t, "    asm volatile(\"%s \"\n                 \"", row->name);
    list_operands(&t, 0, d);
    text_puts(&t, ", ");
    list_operands(&t, d, a);
    text_puts(&t, ", ");
    list_operands(&t, d + a, b);
    text_puts(&t, ", ");
    list_operands(&t, 0, d);
    text_puts(&t, ";\"\n                 : ");
    list_registers(&t, "+", cd, "d", d);
    text_puts(&t, "\n                 : ");
    list_registers(&t, "", ca, "a", a);
    text_puts(&t, ", ");
    list_registers(&t, "", ca, "b", b);
    text_puts(&t, ");\n}\n");
    return helper_make(e->helpers, name, t.at);
}

void emit_mma(struct emitter *e, const struct kstmt *s) {
    text_printf(e->out, "%s(", mma_helper(e, mma_row(s->mma.row)));
    emit_operand_pointer(e, &s->mma.d);
    text_puts(e->out, ", ");
    emit_operand_pointer(e, &s->mma.a);
    text_puts(e->out, ", ");
    emit_operand_pointer(e, &s->mma.b);
    text_puts(e->out, ");\n");
}
