/* eval_expr.c: expressions as flat code for a stack machine, compiled once an expression. */
#include "ir/eval_state.h"
#include <string.h>

/* -- compiling
 * ------------------------------------------------------------------------------------- */
struct compiler {
    struct eval *s;
    VEC(struct instruction) code;
    VEC(struct expr *) seen; /* nodes met, … */
    VEC(int32_t) uses;       /* … how often they are used */
    VEC(int32_t) kept;       /* … and the number of the kept value, -1 */
    int32_t kept_count;
    int32_t depth, deepest;
    int32_t conditional; /* inside something that may be skipped */
};

static int find(const struct compiler *c, const struct expr *e) {
    for (int i = c->seen.count - 1; i >= 0; i--)
        if (c->seen.at[i] == e) return i;
    return -1;
}

static void count_uses(struct compiler *c, struct expr *e) {
    if (e->count == 0) return;
    int at = find(c, e);
    if (at >= 0) {
        c->uses.at[at]++;
        return;
    }
    vec_push(c->s->arena, &c->seen, e);
    vec_push(c->s->arena, &c->uses, 1);
    vec_push(c->s->arena, &c->kept, -1);
    for (int i = 0; i < e->count; i++) count_uses(c, e->args[i]);
}

/* Appends; `change` is what it does to the height of the stack. */
static int emit(struct compiler *c, struct instruction i, int change) {
    vec_push(c->s->arena, &c->code, i);
    c->depth += change;
    if (c->depth > c->deepest) c->deepest = c->depth;
    return c->code.count - 1;
}

static void compile(struct compiler *c, struct expr *e);

static void compile_choice(struct compiler *c, struct expr *e) {
    compile(c, e->args[0]);
    int unless = emit(c, (struct instruction){.opcode = CODE_UNLESS}, -1);
    c->conditional++;
    compile(c, e->args[1]);
    int jump = emit(c, (struct instruction){.opcode = CODE_JUMP}, -1);
    c->code.at[unless].target = c->code.count;
    compile(c, e->args[2]);
    c->conditional--;
    c->code.at[jump].target = c->code.count;
}

static void compile_logic(struct compiler *c, struct expr *e) {
    compile(c, e->args[0]);
    uint8_t opcode = e->fn == FN_LAND ? CODE_AND : CODE_OR;
    int jump = emit(c, (struct instruction){.opcode = opcode}, -1);
    c->conditional++;
    compile(c, e->args[1]);
    c->conditional--;
    c->code.at[jump].target = c->code.count;
}

static uint8_t quick_opcode(const struct expr *e) {
    enum dtype t = e->args[0]->dtype;
    bool index = t == DTYPE_INDEX || t == DTYPE_I64;
    switch (e->fn) {
    case FN_ADD: return index ? CODE_ADD_INDEX : t == DTYPE_F32 ? CODE_ADD_F32 : CODE_OP;
    case FN_SUB: return index ? CODE_SUB_INDEX : t == DTYPE_F32 ? CODE_SUB_F32 : CODE_OP;
    case FN_MUL: return index ? CODE_MUL_INDEX : t == DTYPE_F32 ? CODE_MUL_F32 : CODE_OP;
    case FN_LT: return index || dtype_class_of(t) == CLASS_INT ? CODE_LESS_INDEX : CODE_OP;
    default: return CODE_OP;
    }
}

static void compile_op(struct compiler *c, struct expr *e) {
    enum function_types types = function_row(e->fn)->types;
    enum dtype type = types == TYPES_COMPARE || types == TYPES_TEST ? e->args[0]->dtype : e->dtype;
    for (int i = 0; i < e->count; i++) compile(c, e->args[i]);
    emit(c,
         (struct instruction){.opcode = quick_opcode(e),
                              .dtype = (uint8_t)type,
                              .fn = (int16_t)e->fn,
                              .arity = (uint8_t)e->count},
         1 - e->count);
}

static void compile_compound(struct compiler *c, struct expr *e) {
    struct instruction i = {.dtype = (uint8_t)e->dtype, .arity = (uint8_t)e->count};
    switch (e->kind) {
    case EXPR_SELECT: compile_choice(c, e); return;
    case EXPR_OP:
        if (e->fn == FN_LAND || e->fn == FN_LOR)
            compile_logic(c, e);
        else
            compile_op(c, e);
        return;
    case EXPR_CAST:
        i.opcode = CODE_CAST;
        i.from = (uint8_t)e->args[0]->dtype;
        break;
    default:
        i.opcode = CODE_LOAD;
        i.memory = eval_memory(c->s, e->buffer);
        break;
    }
    for (int k = 0; k < e->count; k++) compile(c, e->args[k]);
    emit(c, i, 1 - e->count);
}

/* A value that is used again is kept, if it is computed whatever the conditions are. */
static void compile(struct compiler *c, struct expr *e) {
    struct instruction i = {.opcode = CODE_CONSTANT};
    if (e->kind == EXPR_VAR) {
        i.opcode = CODE_VAR;
        i.slot = &c->s->slots[e->var->id];
        emit(c, i, 1);
        return;
    }
    if (e->kind == EXPR_INT || e->kind == EXPR_FLOAT) {
        if (e->kind == EXPR_INT)
            i.value.i = e->integer;
        else
            i.value.f = e->number;
        emit(c, i, 1);
        return;
    }
    int at = find(c, e);
    if (at >= 0 && c->kept.at[at] >= 0) {
        emit(c, (struct instruction){.opcode = CODE_TEMP, .target = c->kept.at[at]}, 1);
        return;
    }
    compile_compound(c, e);
    if (at < 0 || c->uses.at[at] < 2 || c->conditional) return;
    c->kept.at[at] = c->kept_count++;
    emit(c, (struct instruction){.opcode = CODE_KEEP, .target = c->kept.at[at]}, 0);
}

static struct code *compile_expr(struct eval *s, struct expr *e) {
    struct compiler c = {.s = s};
    count_uses(&c, e);
    compile(&c, e);
    struct code *code = arena_make(s->arena, struct code);
    *code = (struct code){c.code.at, c.code.count, c.kept_count, c.deepest + c.kept_count + 1};
    if (code->depth > s->stack_room) {
        s->stack_room = code->depth * 2;
        s->stack = arena_array(s->arena, union scalar, s->stack_room);
    }
    return code;
}

static struct code *code_of(struct eval *s, struct expr *e) {
    if (e->id >= s->code_room) {
        int32_t room = e->id * 2 + 64;
        struct code **codes = arena_array(s->arena, struct code *, room);
        if (s->code_room) memcpy(codes, s->codes, sizeof *codes * (size_t)s->code_room);
        s->codes = codes;
        s->code_room = room;
    }
    if (!s->codes[e->id]) s->codes[e->id] = compile_expr(s, e);
    return s->codes[e->id];
}

/* -- running
 * --------------------------------------------------------------------------------------- */
static union scalar load(struct eval *s, const struct memory *m, const union scalar *index,
                         int thread) {
    int64_t at[TILE_RANK];
    for (int i = 0; i < m->rank; i++) at[i] = index[i].i;
    const uint8_t *p = eval_address(s, m, at, thread);
    return p ? element_read(p, m->dtype) : m->safe;
}

static int64_t wrapping(uint8_t opcode, int64_t a, int64_t b) {
    uint64_t p = (uint64_t)a, q = (uint64_t)b;
    return (int64_t)(opcode == CODE_ADD_INDEX ? p + q : opcode == CODE_SUB_INDEX ? p - q : p * q);
}

/* Binary operations worth a shortcut; the result goes to a. */
static void quick(const struct instruction *i, union scalar *a, const union scalar *b) {
    switch (i->opcode) {
    case CODE_ADD_F32: a->f = (double)(float)(a->f + b->f); break;
    case CODE_SUB_F32: a->f = (double)(float)(a->f - b->f); break;
    case CODE_MUL_F32: a->f = (double)(float)(a->f * b->f); break;
    case CODE_LESS_INDEX: a->i = a->i < b->i; break;
    default: a->i = wrapping(i->opcode, a->i, b->i); break;
    }
}

static union scalar run(struct eval *s, const struct code *code, int thread) {
    union scalar *kept = s->stack, *top = s->stack + code->kept; /* top: first free */
    for (int pc = 0; pc < code->count; pc++) {
        const struct instruction *i = &code->at[pc];
        switch ((enum opcode)i->opcode) {
        case CODE_CONSTANT: *top++ = i->value; break;
        case CODE_VAR: *top++ = i->slot->at[i->slot->stride * thread]; break;
        case CODE_TEMP: *top++ = kept[i->target]; break;
        case CODE_KEEP: kept[i->target] = top[-1]; break;
        case CODE_LOAD:
            top -= i->arity;
            *top = load(s, i->memory, top, thread);
            top++;
            break;
        case CODE_OP:
            top -= i->arity;
            *top = scalar_op((enum function)i->fn, (enum dtype)i->dtype, top);
            top++;
            break;
        case CODE_CAST:
            top[-1] = scalar_cast(top[-1], (enum dtype)i->from, (enum dtype)i->dtype);
            break;
        case CODE_JUMP: pc = i->target - 1; break;
        case CODE_UNLESS:
            if (!(--top)->i) pc = i->target - 1;
            break;
        case CODE_AND:
            if (top[-1].i)
                top--;
            else
                pc = i->target - 1;
            break;
        case CODE_OR:
            if (!top[-1].i)
                top--;
            else
                pc = i->target - 1;
            break;
        default:
            top--;
            quick(i, top - 1, top);
            break;
        }
    }
    return top[-1];
}

union scalar eval_value(struct eval *s, struct expr *e, int thread) {
    if (e->kind == EXPR_INT) return (union scalar){.i = e->integer};
    if (e->kind == EXPR_FLOAT) return (union scalar){.f = e->number};
    return run(s, code_of(s, e), thread);
}

/* The claimed range must hold: every proof rests on it. */
void eval_bind(struct eval *s, const struct var *v, union scalar value, int thread) {
    struct slot *slot = &s->slots[v->id];
    slot->at[slot->stride * thread] = value;
    if (!dtype_is_integer(v->dtype) || v->dtype == DTYPE_U64) return;
    if (value.i < v->lo || value.i > v->hi || (v->divisor > 1 && value.i % v->divisor))
        eval_fail(s, v->span, "variable '%s' is %lld, outside [%lld, %lld]/%lld", v->name->text,
                  (long long)value.i, (long long)v->lo, (long long)v->hi, (long long)v->divisor);
}
