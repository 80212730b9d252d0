/* kernel_read.c: reads what kernel_text.c prints. */
#include "ir/internal.h"
#include "ir/kernel.h"
#include <string.h>

static bool take(struct tile_reader *r, const char *word) { return cursor_take_word(&r->c, word); }

static struct array *find_array(void *data, const char *name) {
    const struct kernel_code *code = ((struct tile_reader *)data)->k->code;
    int i;

    for (i = code->arrays.count - 1; i >= 0; i--)
        if (!strcmp(code->arrays.at[i]->name->text, name)) return code->arrays.at[i];
    return NULL;
}

static bool read_operand(struct tile_reader *r, struct operand *o) {
    const char *name = cursor_word(&r->c);

    o->array = name ? find_array(r, name) : NULL;
    if (!o->array) cursor_fail(&r->c, "no array '%s'", name ? name : "");
    return !r->c.error && cursor_expect(&r->c, "[") && (o->index = read_expr(r)) &&
           cursor_expect(&r->c, "]");
}

static bool read_address(struct tile_reader *r, struct address *a) {
    return (a->buffer = read_buffer_name(r)) && cursor_expect(&r->c, "[") &&
           (a->index = read_expr(r)) && cursor_expect(&r->c, "]") &&
           cursor_expect(&r->c, "align") && read_int32(r, &a->alignment);
}

static bool read_type(struct tile_reader *r, enum dtype *t) {
    const char *word = cursor_word(&r->c);

    *t = word ? dtype_find(word) : DTYPE_NONE;
    if (*t == DTYPE_NONE) cursor_fail(&r->c, "no type '%s'", word ? word : "");
    return *t != DTYPE_NONE;
}

static struct var *read_bound(struct tile_reader *r) {
    int kind = read_word(r, WORDS_VAR);
    struct var *v = kind < 0 ? NULL : read_var(r, (enum var_kind)kind);

    if (v && v->kind == VAR_LANE) r->k->code->lane = v;
    if (v && v->kind == VAR_WARP) r->k->code->warp = v;
    return v;
}

static bool read_optional(struct tile_reader *r, const char *word, struct expr **e) {
    return !take(r, word) || (*e = read_expr(r));
}

static bool read_variable(struct tile_reader *r, struct kstmt *s) {
    s->kind = K_VAR;
    if (!(s->set.var = read_bound(r))) return false;
    return !cursor_take(&r->c, "=") || (s->set.value = read_expr(r));
}

static bool read_set(struct tile_reader *r, struct kstmt *s) {
    const char *name = cursor_word(&r->c);

    s->kind = K_SET;
    s->set.var = name ? r->names.var(r->names.data, name) : NULL;
    if (!s->set.var) cursor_fail(&r->c, "no variable '%s'", name ? name : "");
    return s->set.var && cursor_expect(&r->c, "=") && (s->set.value = read_expr(r));
}

static bool read_put(struct tile_reader *r, struct kstmt *s) {
    s->kind = K_PUT;
    return read_operand(r, &s->put.to) && cursor_expect(&r->c, "=") &&
           (s->put.value = read_expr(r));
}

static bool read_array(struct tile_reader *r, struct kstmt *s) {
    const char *name = cursor_word(&r->c);
    enum dtype t, element;
    int32_t count;

    s->kind = K_ARRAY;
    if (!name || !read_type(r, &t) || !read_type(r, &element) || !cursor_expect(&r->c, "[") ||
        !read_int32(r, &count) || !cursor_expect(&r->c, "]"))
        return false;
    s->array = array_new(r->m, r->k, name, t, element, count, s->span);
    return true;
}

static bool read_load(struct tile_reader *r, struct kstmt *s) {
    s->kind = K_LOAD;
    if (!read_type(r, &s->memory.memory) || !read_int32(r, &s->memory.bytes)) return false;
    if (take(r, "var") ? !(s->memory.var = read_bound(r)) : !read_operand(r, &s->memory.data))
        return false;
    if (!cursor_expect(&r->c, "=") || !read_address(r, &s->memory.address)) return false;
    s->memory.read_only = take(r, "const");
    return true;
}

static bool read_store(struct tile_reader *r, struct kstmt *s) {
    s->kind = K_STORE;
    if (!read_type(r, &s->memory.memory) || !read_int32(r, &s->memory.bytes) ||
        !read_address(r, &s->memory.address) || !cursor_expect(&r->c, "="))
        return false;
    if (take(r, "registers")) return read_operand(r, &s->memory.data);
    return (s->memory.value = read_expr(r)) != NULL;
}

static bool read_atomic(struct tile_reader *r, struct kstmt *s) {
    int op = read_word(r, WORDS_ATOMIC), order = op < 0 ? -1 : read_word(r, WORDS_ORDER);

    s->kind = K_ATOMIC;
    if (order < 0 || !read_type(r, &s->atomic.dtype) || !read_address(r, &s->atomic.address) ||
        !cursor_expect(&r->c, "=") || !(s->atomic.value = read_expr(r)))
        return false;
    s->atomic.op = (enum atomic_op)op;
    s->atomic.order = (enum memory_order)order;
    return !take(r, "previous") || (s->atomic.previous = read_bound(r));
}

static bool read_cp_async(struct tile_reader *r, struct kstmt *s) {
    s->kind = K_CP_ASYNC;
    return read_int32(r, &s->cp_async.bytes) && read_address(r, &s->cp_async.to) &&
           cursor_expect(&r->c, "=") && read_address(r, &s->cp_async.from) &&
           read_optional(r, "bytes", &s->cp_async.source_bytes) &&
           read_optional(r, "guard", &s->cp_async.guard);
}

static bool read_matrix(struct tile_reader *r, struct kstmt *s) {
    if (!read_int32(r, &s->matrix.matrices) || !read_operand(r, &s->matrix.data) ||
        !cursor_expect(&r->c, "at") || !read_address(r, &s->matrix.address))
        return false;
    s->matrix.transpose = take(r, "trans");
    return true;
}

static bool read_ldmatrix(struct tile_reader *r, struct kstmt *s) {
    s->kind = K_LDMATRIX;
    return read_matrix(r, s);
}

static bool read_stmatrix(struct tile_reader *r, struct kstmt *s) {
    s->kind = K_STMATRIX;
    return read_matrix(r, s);
}

static bool read_mma(struct tile_reader *r, struct kstmt *s) {
    const char *name = cursor_word(&r->c);
    int i;

    s->kind = K_MMA;
    for (i = 0; name && i < mma_count(); i++)
        if (!strcmp(mma_row(i)->name, name)) break;
    if (!name || i == mma_count())
        return cursor_fail(&r->c, "no instruction '%s'", name ? name : ""), false;
    s->mma.row = i;
    return read_operand(r, &s->mma.d) && cursor_expect(&r->c, "+=") && read_operand(r, &s->mma.a) &&
           cursor_expect(&r->c, "*") && read_operand(r, &s->mma.b);
}

static bool read_message(struct tile_reader *r, struct kstmt *s) {
    s->print.message = cursor_string(&r->c);
    return s->print.message && read_optional(r, "value", &s->print.value) &&
           read_optional(r, "test", &s->print.test);
}

static bool read_print(struct tile_reader *r, struct kstmt *s) {
    s->kind = K_PRINT;
    return read_message(r, s);
}

static bool read_assert(struct tile_reader *r, struct kstmt *s) {
    s->kind = K_ASSERT;
    return read_message(r, s);
}

static bool read_wait(struct tile_reader *r, struct kstmt *s) {
    s->kind = K_WAIT;
    return read_int32(r, &s->wait.groups);
}

static bool read_barrier(struct tile_reader *r, struct kstmt *s) {
    s->kind = K_BARRIER;
    return read_int32(r, &s->barrier.id) && read_int32(r, &s->barrier.threads);
}

static bool read_comment(struct tile_reader *r, struct kstmt *s) {
    s->kind = K_COMMENT;
    return (s->comment = cursor_string(&r->c)) != NULL;
}

static const struct form {
    const char *word;
    bool (*read)(struct tile_reader *r, struct kstmt *s);
} forms[] = {
    {"var", read_variable},      {"set", read_set},           {"put", read_put},
    {"array", read_array},       {"load", read_load},         {"store", read_store},
    {"atomic", read_atomic},     {"cp_async", read_cp_async}, {"ldmatrix", read_ldmatrix},
    {"stmatrix", read_stmatrix}, {"mma", read_mma},           {"print", read_print},
    {"assert", read_assert},     {"wait", read_wait},         {"barrier", read_barrier},
    {"comment", read_comment},
};
static const struct word {
    const char *word;
    enum kstmt_kind kind;
} words[] = {
    {"break", K_BREAK}, {"continue", K_CONTINUE}, {"commit", K_COMMIT}, {"sync_warp", K_SYNC_WARP}};

static bool read_simple(struct tile_reader *r, struct kstmt *s) {
    size_t i;

    for (i = 0; i < sizeof words / sizeof *words; i++)
        if (take(r, words[i].word)) {
            s->kind = words[i].kind;
            return true;
        }
    for (i = 0; i < sizeof forms / sizeof *forms; i++)
        if (take(r, forms[i].word)) return forms[i].read(r, s);
    cursor_fail(&r->c, "unknown statement");
    return false;
}

static bool read_list(struct tile_reader *r, struct kblock *b);

static bool read_block(struct tile_reader *r, struct kstmt *s, struct kblock *b) {
    struct span end;

    return cursor_expect(&r->c, "{") && read_line_end(r, &s->span) && read_list(r, b) &&
           cursor_expect(&r->c, "}") && read_line_end(r, &end);
}

static bool read_for(struct tile_reader *r, struct kstmt *s) {
    s->kind = K_FOR;
    s->loop.step = 1;
    return (s->loop.var = read_bound(r)) && cursor_expect(&r->c, "=") &&
           (s->loop.lo = read_expr(r)) && cursor_expect(&r->c, "..") &&
           (s->loop.hi = read_expr(r)) &&
           (!take(r, "step") || cursor_integer(&r->c, &s->loop.step)) &&
           cursor_expect(&r->c, "unroll") && read_int32(r, &s->loop.unroll) &&
           ((s->loop.apart = take(r, "apart")) || true) && read_block(r, s, &s->loop.body);
}

static bool read_if(struct tile_reader *r, struct kstmt *s) {
    s->kind = K_IF;
    if (!(s->branch.test = read_expr(r)) || !read_block(r, s, &s->branch.then)) return false;
    return !take(r, "else") || read_block(r, s, &s->branch.otherwise);
}

static bool read_while(struct tile_reader *r, struct kstmt *s) {
    s->kind = K_WHILE;
    return (s->repeat.test = read_expr(r)) && read_block(r, s, &s->repeat.body);
}

static bool read_statement(struct tile_reader *r, struct kstmt *s) {
    if (take(r, "for")) return read_for(r, s);
    if (take(r, "if")) return read_if(r, s);
    if (take(r, "while")) return read_while(r, s);
    return read_simple(r, s) && read_line_end(r, &s->span);
}

static bool read_list(struct tile_reader *r, struct kblock *b) {
    enum { DEEPEST = 300 };
    struct kstmt *s;

    if (++r->depth > DEEPEST) return cursor_fail(&r->c, "nested too deep"), false;
    while (!cursor_at(&r->c, "}")) {
        s = kstmt_new(r->m, K_COMMENT, (struct span){0, 0});
        if (!read_statement(r, s)) return cursor_fail(&r->c, "this is no statement"), false;
        kblock_append(b, s);
    }
    r->depth--;
    return true;
}

/* What a text says of the kernel in front of its body. */
static bool read_facts(struct tile_reader *r) {
    struct span span;
    struct buffer *b;
    int32_t widest;

    if (take(r, "registers") &&
        (!read_int32(r, &r->k->code->registers) || !read_line_end(r, &span)))
        return false;
    while (take(r, "widest")) {
        if (!(b = read_buffer_name(r)) || !read_int32(r, &widest) || !read_line_end(r, &span))
            return false;
        if (b->scope == SCOPE_GLOBAL) r->k->code->alignment[b->id] = widest;
    }
    while (take(r, "in_memory")) {
        if (!(b = read_buffer_name(r)) || !read_line_end(r, &span)) return false;
        vec_push(r->m->arena, &r->k->code->locals, b);
    }
    return true;
}

static bool read_kernel_code(struct tile_reader *r) {
    int32_t i, most = 0;

    for (i = 0; i < r->f->globals.count; i++)
        most = r->f->globals.at[i]->id > most ? r->f->globals.at[i]->id : most;
    r->k->code = arena_make(r->m->arena, struct kernel_code);
    r->k->code->alignment = arena_array(r->m->arena, int32_t, most + 1);
    r->k->code->thread = r->k->thread;
    r->names.array = find_array;
    return read_facts(r) && read_list(r, &r->k->code->body);
}

struct module *kernel_read(struct arena *a, struct interns *names, struct diag *d,
                           const struct source *s) {
    return module_read(a, names, d, s, read_kernel_code);
}
