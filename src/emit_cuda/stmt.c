/* stmt.c: statements of Kernel IR as CUDA, one to one. */
#include "emit_cuda/internal.h"
#include <string.h>

const char *array_type(enum dtype t) {
    switch (t) {
    case DTYPE_F64: return "double";
    case DTYPE_F32:
    case DTYPE_TF32: return "float";
    case DTYPE_I64: return "long long";
    case DTYPE_U64: return "unsigned long long";
    case DTYPE_I32: return "int";
    case DTYPE_BOOL: return "bool";
    default: return dtype_device_type(t);
    }
}

/* `#line` where the source line changes, so that debuggers and profilers show the .tile. */
static void emit_line(struct emitter *e, const struct kstmt *s) {
    if (e->options->line != LINE_TILE || !s->span.end || s->kind == K_COMMENT) return;
    int line = source_position(e->module->source, s->span.begin).line;
    if (line == e->line) return;
    e->line = line;
    int indent = e->out->indent;
    e->out->indent = 0;
    text_printf(e->out, "#line %d ", line);
    emit_quoted(e->out, e->options->source_name);
    text_puts(e->out, "\n");
    e->out->indent = indent;
}

static void emit_body(struct emitter *e, const struct kblock *b) {
    text_puts(e->out, " {\n");
    e->out->indent++;
    emit_kblock(e, b);
    e->out->indent--;
    text_puts(e->out, "}");
}

static void emit_set(struct emitter *e, const struct kstmt *s) {
    struct var *v = s->set.var;
    if (s->kind == K_VAR) {
        const char *constant = s->set.value && v->kind != VAR_MUTABLE ? "const " : "";
        text_printf(e->out, "%s%s ", constant, emit_type(e, v->dtype, v->lo, v->hi));
    }
    text_puts(e->out, var_name(e, v));
    if (s->set.value) {
        text_puts(e->out, " = ");
        emit_expr(e, s->set.value);
    }
    text_puts(e->out, ";\n");
}

static void emit_for(struct emitter *e, const struct kstmt *s) {
    struct var *v = s->loop.var; /* it also holds the first value past the end */
    int64_t lo = v->lo, hi = v->hi, step = s->loop.step;
    bool overflow =
        step > 0 ? __builtin_add_overflow(hi, step, &hi) : __builtin_add_overflow(lo, step, &lo);
    const char *name = var_name(e, v);
    const char *type = emit_type(e, v->dtype, overflow ? INT64_MIN : lo, overflow ? INT64_MAX : hi);
    if (s->loop.unroll == 0)
        text_puts(e->out, "#pragma unroll\n");
    else
        text_printf(e->out, "#pragma unroll %d\n", s->loop.unroll);
    text_printf(e->out, "for (%s %s = ", type, name);
    emit_expr(e, s->loop.lo);
    text_printf(e->out, "; %s %s ", name, s->loop.step > 0 ? "<" : ">");
    emit_expr(e, s->loop.hi);
    if (s->loop.step == 1)
        text_printf(e->out, "; ++%s)", name);
    else
        text_printf(e->out, "; %s += %lld)", name, (long long)s->loop.step);
    if (s->loop.apart) {
        text_puts(e->out, " {\n");
        e->out->indent++;
        if (!emit_turn(e, s)) emit_kblock(e, &s->loop.body);
        e->out->indent--;
        text_puts(e->out, "}\n");
        return;
    }
    emit_body(e, &s->loop.body);
    text_puts(e->out, "\n");
}

static void emit_if(struct emitter *e, const struct kstmt *s) {
    text_puts(e->out, "if (");
    emit_expr(e, s->branch.test);
    text_puts(e->out, ")");
    emit_body(e, &s->branch.then);
    if (s->branch.otherwise.first) {
        text_puts(e->out, " else");
        emit_body(e, &s->branch.otherwise);
    }
    text_puts(e->out, "\n");
}

/* A C string literal; '%' doubled where printf reads it. */
static void emit_string(struct emitter *e, const char *s) {
    text_puts(e->out, "\"");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\' || (c == '?' && s[1] == '?'))
            text_printf(e->out, "\\%c", c);
        else if (c == '%')
            text_puts(e->out, "%%");
        else if (c < 32 || c > 126)
            text_printf(e->out, "\\%03o", c);
        else
            text_printf(e->out, "%c", c);
    }
    text_puts(e->out, "\"");
}

static void emit_print(struct emitter *e, const struct kstmt *s) {
    const struct expr *v = s->print.value;
    if (s->print.test) {
        text_puts(e->out, "if (");
        emit_expr(e, s->print.test);
        text_puts(e->out, ") ");
    }
    text_puts(e->out, "printf(");
    emit_string(e, s->print.message ? s->print.message : "");
    if (!v) {
        text_puts(e->out, " \"\\n\");\n");
        return;
    }
    bool is_float = dtype_is_float(v->dtype), is_unsigned = dtype_class_of(v->dtype) == CLASS_UINT;
    text_printf(e->out, " \"%s\\n\", (%s)",
                is_float      ? "%g"
                : is_unsigned ? "%llu"
                              : "%lld",
                is_float      ? "double"
                : is_unsigned ? "unsigned long long"
                              : "long long");
    emit_operand(e, v);
    text_puts(e->out, ");\n");
}

static void emit_assert(struct emitter *e, const struct kstmt *s) {
    text_puts(e->out, "if (!(");
    emit_expr(e, s->print.test);
    text_puts(e->out, ")) {\n");
    e->out->indent++;
    int line = s->span.end ? source_position(e->module->source, s->span.begin).line : 0;
    text_puts(e->out, "printf(");
    emit_string(e, arena_printf(e->arena, "%s:%d: assertion failed: %s", e->options->source_name,
                                line, s->print.message ? s->print.message : ""));
    text_puts(e->out, " \"\\n\");\n__trap();\n");
    e->out->indent--;
    text_puts(e->out, "}\n");
}

/* A word that comes to be part by part keeps what is not there yet; nvcc warns of that. */
static void emit_array(struct emitter *e, const struct array *a) {
    text_printf(e->out, "%s %s[%d]%s;", array_type(a->dtype), array_name(e, a), a->count,
                e->by_parts[a->id] ? " = {}" : "");
    if (a->element != a->dtype) text_printf(e->out, " // packed %s", dtype_letter(a->element));
    text_puts(e->out, "\n");
}

static void emit_kstmt(struct emitter *e, const struct kstmt *s) {
    switch (s->kind) {
    case K_VAR:
    case K_SET: emit_set(e, s); break;
    case K_ARRAY: emit_array(e, s->array); break;
    case K_PUT:
        text_printf(e->out, "%s[", array_name(e, s->put.to.array));
        emit_expr(e, s->put.to.index);
        text_puts(e->out, "] = ");
        emit_expr(e, s->put.value);
        text_puts(e->out, ";\n");
        break;
    case K_FOR: emit_for(e, s); break;
    case K_WHILE:
        text_puts(e->out, "while (");
        emit_expr(e, s->repeat.test);
        text_puts(e->out, ")");
        emit_body(e, &s->repeat.body);
        text_puts(e->out, "\n");
        break;
    case K_IF: emit_if(e, s); break;
    case K_BREAK: text_puts(e->out, "break;\n"); break;
    case K_CONTINUE: text_puts(e->out, "continue;\n"); break;
    case K_LOAD:
    case K_STORE: emit_memory(e, s); break;
    case K_ATOMIC: emit_atomic(e, s); break;
    case K_CP_ASYNC: emit_async(e, s); break;
    case K_COMMIT: text_printf(e->out, "%s();\n", helper_use(e->helpers, "cp_async_commit")); break;
    case K_WAIT:
        text_printf(e->out, "%s<%d>();\n", helper_use(e->helpers, "cp_async_wait"), s->wait.groups);
        break;
    case K_BARRIER:
        if (!s->barrier.threads)
            text_puts(e->out, "__syncthreads();\n");
        else
            text_printf(e->out, "%s(%d, %d);\n", helper_use(e->helpers, "barrier_sync"),
                        s->barrier.id, s->barrier.threads);
        break;
    case K_SYNC_WARP: text_puts(e->out, "__syncwarp();\n"); break;
    case K_LDMATRIX:
    case K_STMATRIX: emit_matrix(e, s); break;
    case K_MMA: emit_mma(e, s); break;
    case K_PRINT: emit_print(e, s); break;
    case K_ASSERT: emit_assert(e, s); break;
    case K_COMMENT:
        text_puts(e->out, "// ");
        emit_comment(e->out, s->comment);
        text_puts(e->out, "\n");
        break;
    }
}

void emit_kblock(struct emitter *e, const struct kblock *b) {
    for (const struct kstmt *s = b->first; s; s = s->next) {
        emit_line(e, s);
        emit_kstmt(e, s);
    }
}
