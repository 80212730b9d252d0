/* part.c: turns of a loop that call one function: the function, its registers, the call.
 *
 * The registers of a turn travel as one structure by value; ptxas keeps its members in registers.
 */
#include "emit_cuda/internal.h"

struct rename { /* elements of the kernel's arrays become those of the function's */
    struct emitter *e;
    const struct part *part;
    struct array *local[PART_WINDOWS];
    const char *member[PART_WINDOWS]; /* of the structure: the local array's name */
    const char *name;                 /* of the structure */
};

static int window_at(const struct part_window *w, const struct expr *index) {
    int64_t offset = 0;
    if (!affine_difference(index, w->base, &offset)) return 0;
    for (int i = 0; i < w->count; i++)
        if (w->offset[i] == offset) return i;
    return 0;
}

static struct expr *rename_element(struct expr *x, void *data) {
    const struct rename *r = data;
    struct exprs *all = r->e->module->exprs;
    if (x->kind != EXPR_ELEMENT) return NULL;
    for (int i = 0; i < r->part->windows; i++)
        if (r->part->window[i].array == x->array)
            return expr_element(all, r->local[i],
                                expr_index(all, window_at(&r->part->window[i], x->args[0])),
                                x->dtype);
    return NULL;
}

static struct operand rename_operand(const struct rename *r, const struct operand *o) {
    for (int i = 0; i < r->part->windows; i++)
        if (r->part->window[i].array == o->array)
            return (struct operand){
                r->local[i],
                expr_index(r->e->module->exprs, window_at(&r->part->window[i], o->index))};
    return *o;
}

static struct expr *rename_in(const struct rename *r, struct expr *x) {
    return x ? expr_rewrite_where(r->e->module->exprs, x, HOLDS_ELEMENT, rename_element, (void *)r)
             : NULL;
}

static struct kblock rename_block(const struct rename *r, const struct kstmt *first) {
    struct kblock out = {NULL, NULL};
    for (const struct kstmt *s = first; s; s = s->next) {
        struct kstmt *copy = arena_make(r->e->arena, struct kstmt);
        *copy = *s;
        switch (s->kind) {
        case K_VAR:
        case K_SET: copy->set.value = rename_in(r, s->set.value); break;
        case K_PUT:
            copy->put.to = rename_operand(r, &s->put.to);
            copy->put.value = rename_in(r, s->put.value);
            break;
        case K_STORE:
            copy->memory.address.index = rename_in(r, s->memory.address.index);
            copy->memory.value = rename_in(r, s->memory.value);
            if (s->memory.data.array) copy->memory.data = rename_operand(r, &s->memory.data);
            break;
        case K_IF:
            copy->branch.test = rename_in(r, s->branch.test);
            copy->branch.then = rename_block(r, s->branch.then.first);
            copy->branch.otherwise = rename_block(r, s->branch.otherwise.first);
            break;
        default: break;
        }
        kblock_append(&out, copy);
    }
    return out;
}

static void emit_structure(struct emitter *e, const struct rename *r) {
    text_printf(e->out, "struct %s {\n", r->name);
    for (int i = 0; i < r->part->windows; i++)
        text_printf(e->out, "    %s %s[%d];\n", array_type(r->local[i]->dtype), r->member[i],
                    r->local[i]->count);
    text_puts(e->out, "};\n");
}

static bool gives_back(const struct part *p) {
    for (int i = 0; i < p->windows; i++)
        for (int j = 0; j < p->window[i].count; j++)
            if (p->window[i].out[j]) return true;
    return false;
}

static void emit_function(struct emitter *e, const struct rename *r) {
    bool back = gives_back(r->part);
    text_printf(e->out, "static __device__ __noinline__ %s %s_turn(%s part",
                back ? r->name : "void", r->name, r->name);
    for (int i = 0; i < r->part->scalars; i++) {
        const struct var *v = r->part->scalar[i];
        text_printf(e->out, ", const %s %s", emit_type(e, v->dtype, v->lo, v->hi), var_name(e, v));
    }
    for (int i = 0; i < r->part->tensors; i++) {
        text_puts(e->out, ", ");
        emit_tensor_parameter(e, r->part->tensor[i]);
    }
    text_puts(e->out, ")\n{\n");
    e->out->indent++;
    for (int i = 0; i < r->part->windows; i++)
        text_printf(e->out, "%s (&%s)[%d] = part.%s;\n", array_type(r->local[i]->dtype),
                    r->member[i], r->local[i]->count, r->member[i]);
    struct kblock renamed = rename_block(r, r->part->first);
    emit_kblock(e, &renamed);
    if (back) text_puts(e->out, "return part;\n");
    e->out->indent--;
    text_puts(e->out, "}\n");
    if (e->line) emit_line_back(e);
}

static void make_locals(struct emitter *e, struct rename *r) {
    for (int i = 0; i < r->part->windows; i++) {
        r->local[i] = arena_make(e->arena, struct array);
        *r->local[i] = *r->part->window[i].array;
        r->local[i]->count = r->part->window[i].count;
        r->member[i] = array_name(e, r->local[i]);
    }
}

/* In front of the kernel, with names of its own. */
static void emit_definition(struct emitter *e, struct rename *r) {
    struct emitter before = *e;
    e->out = e->parts;
    e->names = names_like(e->words);
    e->line = 0;
    names_reserve(e->names, "part");
    make_locals(e, r);
    text_printf(e->out,
                "// One turn of a loop: written out for all turns it would be most of the "
                "kernel.\n#if defined(__CUDA_ARCH__) && %s\n",
                arch_test(e->arena, e->module->target));
    emit_structure(e, r);
    emit_function(e, r);
    text_puts(e->out, "#endif\n\n");
    e->out = before.out;
    e->names = before.names;
    e->line = before.line;
}

static void emit_element(struct emitter *e, const struct part_window *w, int at) {
    struct expr *offset = expr_index(e->module->exprs, w->offset[at]);
    text_printf(e->out, "%s[", array_name(e, w->array));
    emit_expr(e, expr_binary(e->module->exprs, FN_ADD, w->base, offset));
    text_puts(e->out, "]");
}

static void emit_moves(struct emitter *e, const struct rename *r, const char *held, bool in) {
    for (int i = 0; i < r->part->windows; i++) {
        const struct part_window *w = &r->part->window[i];
        for (int j = 0; j < w->count; j++) {
            if (!(in ? w->in[j] : w->out[j])) continue;
            if (in) text_printf(e->out, "%s.%s[%d] = ", held, r->member[i], j);
            emit_element(e, w, j);
            if (!in) text_printf(e->out, " = %s.%s[%d]", held, r->member[i], j);
            text_puts(e->out, ";\n");
        }
    }
}

static void emit_call(struct emitter *e, const struct rename *r, const char *held) {
    const struct part *p = r->part;
    bool back = gives_back(p);
    if (back) text_printf(e->out, "%s = ", held);
    text_printf(e->out, "%s_turn(%s", r->name, held);
    for (int i = 0; i < p->scalars; i++) text_printf(e->out, ", %s", var_name(e, p->scalar[i]));
    for (int i = 0; i < p->tensors; i++) text_printf(e->out, ", %s", buffer_name(e, p->tensor[i]));
    text_puts(e->out, ");\n");
    if (back) emit_moves(e, r, held, false);
}

bool emit_turn(struct emitter *e, const struct kstmt *loop) {
    struct part p;
    struct kstmt copy = *loop;
    if (!e->parts || !part_find(e->module, &copy, &p)) return false;
    const char *held = names_of(e->names, loop, "part");
    struct rename r = {.e = e, .part = &p};
    /* No name of the text begins so. */
    r.name = arena_printf(e->arena, "tilec_%s_part%d",
                          kernel_symbol(e->arena, e->module, e->kernel), e->part_count++);
    emit_definition(e, &r);
    struct kblock callers = {NULL, NULL};
    for (const struct kstmt *s = loop->loop.body.first; s != p.first; s = s->next) {
        struct kstmt *value = arena_make(e->arena, struct kstmt);
        *value = *s;
        kblock_append(&callers, value);
    }
    emit_kblock(e, &callers);
    text_printf(e->out, "%s %s;\n", r.name, held);
    emit_moves(e, &r, held, true);
    emit_call(e, &r, held);
    return true;
}
