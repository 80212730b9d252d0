/* tile_read.c: reads what tile_text.c prints.
 *
 * Lines of the source are all a text keeps of it, so the module gets a stand-in source of empty
 * lines: the span of line n is the byte that ends it. */
#include "ir/internal.h"
#include "ir/tile.h"
#include <string.h>

enum { DEEPEST = 300, MOST_LINES = 10000000 };

/* -- pieces
 * ---------------------------------------------------------------------------------------- */
static uint32_t symbol_of(struct tile_reader *r, const char *name) {
    return intern_text(r->m->names, name)->id;
}

static struct var *find_var(void *data, const char *name) {
    struct tile_reader *r = data;
    uint32_t id = symbol_of(r, name);
    return (uint32_t)r->vars.count > id ? r->vars.at[id] : NULL;
}

static struct buffer *find_buffer(void *data, const char *name) {
    struct tile_reader *r = data;
    uint32_t id = symbol_of(r, name);
    return (uint32_t)r->buffers.count > id ? r->buffers.at[id] : NULL;
}

static bool take(struct tile_reader *r, const char *word) { return cursor_take_word(&r->c, word); }
static bool expect(struct tile_reader *r, const char *s) { return cursor_expect(&r->c, s); }

static const char *read_name(struct tile_reader *r) {
    const char *word = cursor_word(&r->c);
    if (!word) cursor_fail(&r->c, "a name is expected here");
    return word;
}

static struct sym *read_symbol(struct tile_reader *r) {
    const char *word = read_name(r);
    return word ? intern_text(r->m->names, word) : NULL;
}

bool read_int32(struct tile_reader *r, int32_t *value) {
    int64_t wide;
    if (!cursor_integer(&r->c, &wide) || wide < INT32_MIN || wide > INT32_MAX) {
        cursor_fail(&r->c, "an integer of 32 bits is expected here");
        return false;
    }
    *value = (int32_t)wide;
    return true;
}

static bool read_number(struct tile_reader *r, const char *word, int32_t *value) {
    return !take(r, word) || read_int32(r, value);
}

static const char *read_string(struct tile_reader *r) {
    const char *s = cursor_string(&r->c);
    if (!s) cursor_fail(&r->c, "a string is expected here");
    return s;
}

int read_word(struct tile_reader *r, enum words set) {
    const char *word = cursor_word(&r->c);
    int i = words_find(set, word);
    if (i < 0) cursor_fail(&r->c, "unknown word '%s'", word ? word : "");
    return i;
}

struct expr *read_expr(struct tile_reader *r) {
    return expr_read(&r->c, &r->names);
}

bool read_line_end(struct tile_reader *r, struct span *span) {
    int32_t line;
    *span = (struct span){0, 0};
    if (cursor_take(&r->c, ";")) {
        if (!take(r, "line") || !read_int32(r, &line)) return false;
        if (line < 1 || line > MOST_LINES) return cursor_fail(&r->c, "line %d", line), false;
        *span = (struct span){(uint32_t)line - 1, (uint32_t)line};
        if (line > r->lines) r->lines = line;
    }
    if (!cursor_line_end(&r->c)) cursor_fail(&r->c, "unexpected text at the end of the line");
    return !r->c.error;
}

static struct var *bind(struct tile_reader *r, struct var *v) {
    while ((uint32_t)r->vars.count <= v->name->id) vec_push(r->m->arena, &r->vars, NULL);
    return r->vars.at[v->name->id] = v;
}

struct var *read_var(struct tile_reader *r, enum var_kind kind) {
    struct var shape = {0};
    struct sym *name = read_symbol(r);
    if (!name || !var_read_type(&r->c, &shape)) return NULL;
    struct var *v = var_new(r->m->exprs, kind, name, shape.dtype, (struct span){0, 0});
    v->lo = shape.lo;
    v->hi = shape.hi;
    v->divisor = shape.divisor;
    v->unrolled = shape.unrolled;
    return bind(r, v);
}

struct buffer *read_buffer_name(struct tile_reader *r) {
    const char *name = read_name(r);
    struct buffer *b = name ? find_buffer(r, name) : NULL;
    if (name && !b) cursor_fail(&r->c, "no buffer '%s'", name);
    return b;
}

/* "[e, e]", exactly `count` if that is not negative. The number read, -1 after an error. */
static int read_exprs(struct tile_reader *r, struct expr **e, int count) {
    int n = 0;
    if (!expect(r, "[")) return -1;
    if (!cursor_take(&r->c, "]")) {
        do {
            if (n == TILE_RANK) return cursor_fail(&r->c, "too many axes"), -1;
            if (!(e[n++] = read_expr(r))) return -1;
        } while (cursor_take(&r->c, ","));
        if (!expect(r, "]")) return -1;
    }
    if (count >= 0 && n != count) return cursor_fail(&r->c, "%d axes are needed", count), -1;
    return n;
}

static int read_ints(struct tile_reader *r, int32_t *value, int most) {
    int n = 0;
    if (!expect(r, "[")) return -1;
    if (cursor_take(&r->c, "]")) return 0;
    do {
        if (n == most) return cursor_fail(&r->c, "more than %d numbers", most), -1;
        if (!read_int32(r, &value[n++])) return -1;
    } while (cursor_take(&r->c, ","));
    return expect(r, "]") ? n : -1;
}

static bool read_layout(struct tile_reader *r, const char *word, struct layout *l) {
    return !take(r, word) || layout_read(&r->c, l);
}

static bool read_optional(struct tile_reader *r, const char *word, struct expr **e) {
    return !take(r, word) || (*e = read_expr(r));
}

/* -- statements
 * ------------------------------------------------------------------------------------ */
static bool read_block(struct tile_reader *r, struct block *b);

static bool read_why(struct tile_reader *r, struct stmt *s) {
    return !take(r, "why") || (s->why = read_string(r));
}

/* The rest of a head line and the statements up to "}". */
static bool read_body(struct tile_reader *r, struct stmt *s, struct block *b) {
    return read_why(r, s) && expect(r, "{") && read_line_end(r, &s->span) && read_block(r, b);
}

static bool end_block(struct tile_reader *r) {
    struct span nowhere;
    return expect(r, "}") && read_line_end(r, &nowhere);
}

static bool read_region(struct tile_reader *r, struct region *g) {
    struct buffer *b = g->buffer = read_buffer_name(r);
    if (!b || !expect(r, "[")) return false;
    for (int i = 0; i < b->rank; i++) {
        if (i && !expect(r, ",")) return false;
        if (!(g->base[i] = read_expr(r)) || !expect(r, "+") || !read_int32(r, &g->extent[i]))
            return false;
    }
    return expect(r, "]");
}

static bool read_domain(struct tile_reader *r, struct domain *d) {
    if (!expect(r, "[")) return false;
    while (!cursor_take(&r->c, "]")) {
        if (d->rank == TILE_RANK) return cursor_fail(&r->c, "too many axes"), false;
        if (d->rank && !expect(r, ",")) return false;
        if (!(d->axis[d->rank] = read_var(r, VAR_AXIS)) || !expect(r, "=") ||
            !read_int32(r, &d->extent[d->rank]))
            return false;
        d->rank++;
    }
    return read_layout(r, "layout", &d->layout);
}

static bool read_for(struct tile_reader *r, struct stmt *s) {
    int kind = read_word(r, WORDS_LOOP);
    int32_t step = 1;
    if (kind < 0 || !(s->loop.var = read_var(r, VAR_LOOP)) || !expect(r, "=") ||
        !(s->loop.lo = read_expr(r)) || !expect(r, "..") || !(s->loop.hi = read_expr(r)) ||
        !read_number(r, "step", &step) || !read_number(r, "stages", &s->loop.stages) ||
        !read_number(r, "factor", &s->loop.factor))
        return false;
    s->loop.kind = (enum loop_kind)kind;
    s->loop.step = step;
    return read_body(r, s, &s->loop.body) && end_block(r);
}

static bool read_if(struct tile_reader *r, struct stmt *s) {
    struct span nowhere;
    if (!(s->branch.test = read_expr(r)) || !read_body(r, s, &s->branch.then) || !expect(r, "}"))
        return false;
    if (take(r, "else") && (!expect(r, "{") || !read_line_end(r, &nowhere) ||
                            !read_block(r, &s->branch.otherwise) || !expect(r, "}")))
        return false;
    return read_line_end(r, &nowhere);
}

static bool read_copy(struct tile_reader *r, struct stmt *s) {
    struct domain *d = &s->copy.domain;
    if (!read_region(r, &s->copy.src) || !expect(r, "->") || !read_region(r, &s->copy.dst) ||
        !expect(r, "over") || !read_domain(r, d) || !expect(r, "axes") ||
        read_ints(r, s->copy.src_axis, TILE_RANK) != d->rank ||
        read_ints(r, s->copy.dst_axis, TILE_RANK) != d->rank)
        return cursor_fail(&r->c, "the axes do not fit the domain"), false;
    for (int i = 0; i < d->rank; i++)
        if (s->copy.src_axis[i] >= s->copy.src.buffer->rank ||
            s->copy.dst_axis[i] >= s->copy.dst.buffer->rank)
            return cursor_fail(&r->c, "no such axis"), false;
    if (!read_number(r, "width", &s->copy.width)) return false;
    s->copy.async = take(r, "async");
    return read_optional(r, "guard", &s->copy.guard);
}

static bool read_gemm(struct tile_reader *r, struct stmt *s) {
    int32_t size[3], warps[2] = {0, 0};
    int policy = 0;
    if (!read_region(r, &s->gemm.a) || !read_region(r, &s->gemm.b) || !expect(r, "->") ||
        !read_region(r, &s->gemm.c) || !expect(r, "size") || read_ints(r, size, 3) != 3)
        return false;
    s->gemm.m = size[0];
    s->gemm.n = size[1];
    s->gemm.k = size[2];
    s->gemm.transpose_a = take(r, "transpose_a");
    s->gemm.transpose_b = take(r, "transpose_b");
    if (take(r, "policy") && (policy = read_word(r, WORDS_POLICY)) < 0) return false;
    s->gemm.policy = (enum gemm_policy)policy;
    if (!read_optional(r, "clear", &s->gemm.clear) || !read_number(r, "atom", &s->gemm.atom))
        return false;
    if (take(r, "warps") && read_ints(r, warps, 2) != 2) return false;
    s->gemm.row_warps = warps[0];
    s->gemm.column_warps = warps[1];
    return true;
}

static bool read_reduce(struct tile_reader *r, struct stmt *s) {
    int op = read_word(r, WORDS_REDUCE);
    if (op < 0 || !read_region(r, &s->reduce.src) || !expect(r, "->") ||
        !read_region(r, &s->reduce.dst) || !expect(r, "axis") || !read_int32(r, &s->reduce.axis))
        return false;
    if (s->reduce.axis < 0 || s->reduce.axis >= s->reduce.src.buffer->rank)
        return cursor_fail(&r->c, "no such axis"), false;
    s->reduce.op = (enum reduce_op)op;
    s->reduce.clear = take(r, "clear");
    s->reduce.nan = take(r, "nan");
    return read_number(r, "parts", &s->reduce.parts) &&
           read_number(r, "weight", &s->reduce.part_weight);
}

static bool read_atomic(struct tile_reader *r, struct stmt *s) {
    int op = read_word(r, WORDS_ATOMIC), order = op < 0 ? -1 : read_word(r, WORDS_ORDER);
    struct buffer *b = order < 0 ? NULL : read_buffer_name(r);
    if (!b) return false;
    s->atomic.op = (enum atomic_op)op;
    s->atomic.order = (enum memory_order)order;
    s->atomic.buffer = b;
    s->atomic.count = read_exprs(r, s->atomic.index, b->rank);
    if (s->atomic.count < 0 || !expect(r, "=") || !(s->atomic.value = read_expr(r))) return false;
    return !cursor_take(&r->c, "->") || (s->atomic.previous = read_var(r, VAR_LET));
}

static bool read_store(struct tile_reader *r, struct stmt *s) {
    struct buffer *b = s->store.buffer = read_buffer_name(r);
    s->store.count = b ? read_exprs(r, s->store.index, b->rank) : -1;
    return s->store.count >= 0 && expect(r, "=") && (s->store.value = read_expr(r));
}

/* A mutable variable with an initial value is declared in front of the body already. */
static bool read_let(struct tile_reader *r, struct stmt *s) {
    struct cursor start = r->c;
    const char *name = read_name(r);
    struct var *v = name ? find_var(r, name) : NULL;
    if (v && v->kind == VAR_MUTABLE) {
        struct var ignored;
        s->let.var = v;
        if (!var_read_type(&r->c, &ignored)) return false;
    } else {
        if (!r->c.error) r->c = start;
        s->let.var = read_var(r, VAR_LET);
    }
    return s->let.var && expect(r, "=") && (s->let.value = read_expr(r));
}

static bool read_set(struct tile_reader *r, struct stmt *s) {
    const char *name = read_name(r);
    s->let.var = name ? find_var(r, name) : NULL;
    if (name && !s->let.var) cursor_fail(&r->c, "no variable '%s'", name);
    return s->let.var && expect(r, "=") && (s->let.value = read_expr(r));
}

static bool read_message(struct tile_reader *r, const char **message) {
    return cursor_take(&r->c, "-") || (*message = read_string(r));
}

static bool read_print(struct tile_reader *r, struct stmt *s) {
    if (!read_message(r, &s->print.message) || !read_optional(r, "value", &s->print.value))
        return false;
    return !take(r, "buffer") || (s->print.buffer = read_buffer_name(r));
}

static bool read_assert(struct tile_reader *r, struct stmt *s) {
    return read_message(r, &s->assertion.message) && read_optional(r, "test", &s->assertion.test);
}

static bool read_while(struct tile_reader *r, struct stmt *s) {
    return (s->repeat.test = read_expr(r)) && read_body(r, s, &s->repeat.body) && end_block(r);
}

static bool read_map(struct tile_reader *r, struct stmt *s) {
    return read_domain(r, &s->map.domain) && read_body(r, s, &s->map.body) && end_block(r);
}

static bool read_barrier(struct tile_reader *r, struct stmt *s) {
    return read_int32(r, &s->barrier.id) && read_int32(r, &s->barrier.threads);
}

static bool read_nothing(struct tile_reader *r, struct stmt *s) { return !r->c.error && s; }
static bool read_wait(struct tile_reader *r, struct stmt *s) {
    return read_int32(r, &s->wait.groups);
}

struct form {
    const char *word;
    enum stmt_kind kind;
    bool (*read)(struct tile_reader *r, struct stmt *s);
    bool whole; /* reads its own line end */
};

static const struct form *find_form(const char *word) {
    static const struct form forms[] = {{"for", STMT_FOR, read_for, true},
                                        {"while", STMT_WHILE, read_while, true},
                                        {"if", STMT_IF, read_if, true},
                                        {"map", STMT_MAP, read_map, true},
                                        {"break", STMT_BREAK, read_nothing, false},
                                        {"continue", STMT_CONTINUE, read_nothing, false},
                                        {"let", STMT_LET, read_let, false},
                                        {"set", STMT_SET, read_set, false},
                                        {"store", STMT_STORE, read_store, false},
                                        {"atomic", STMT_ATOMIC, read_atomic, false},
                                        {"print", STMT_PRINT, read_print, false},
                                        {"assert", STMT_ASSERT, read_assert, false},
                                        {"copy", STMT_COPY, read_copy, false},
                                        {"gemm", STMT_GEMM, read_gemm, false},
                                        {"reduce", STMT_REDUCE, read_reduce, false},
                                        {"barrier", STMT_BARRIER, read_barrier, false},
                                        {"commit", STMT_COMMIT, read_nothing, false},
                                        {"wait", STMT_WAIT, read_wait, false}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (!strcmp(forms[i].word, word)) return &forms[i];
    return NULL;
}

static bool read_stmt(struct tile_reader *r, struct block *b) {
    const char *word = read_name(r);
    const struct form *form = word ? find_form(word) : NULL;
    if (word && !form) cursor_fail(&r->c, "unknown statement '%s'", word);
    if (!form) return false;
    struct stmt *s = stmt_new(r->m, form->kind, (struct span){0, 0});
    if (!form->read(r, s)) return false;
    if (!form->whole && (!read_why(r, s) || !read_line_end(r, &s->span))) return false;
    block_append(b, s);
    return true;
}

static bool read_block(struct tile_reader *r, struct block *b) {
    if (++r->depth > DEEPEST) return cursor_fail(&r->c, "blocks nest too deep"), false;
    while (!cursor_at(&r->c, "}"))
        if (!read_stmt(r, b)) return false;
    r->depth--;
    return !r->c.error;
}

/* -- buffers and functions
 * ------------------------------------------------------------------------- */
static bool read_tensor_shape(struct tile_reader *r, struct buffer *b) {
    b->rank = read_exprs(r, b->dim, -1);
    return b->rank >= 0 && expect(r, "strides") && read_exprs(r, b->stride, b->rank) >= 0;
}

static bool read_buffer_attributes(struct tile_reader *r, struct buffer *b) {
    if (!read_optional(r, "safe", &b->safe_value)) return false;
    b->output = take(r, "output");
    b->written = take(r, "written");
    b->no_restrict = take(r, "no_restrict");
    b->parallel_private = take(r, "private");
    b->static_shared = take(r, "static");
    b->scratch = take(r, "scratch");
    return read_layout(r, "annotation", &b->annotation) && read_layout(r, "layout", &b->layout) &&
           read_number(r, "ring", &b->ring) && read_number(r, "offset", &b->offset) &&
           (!take(r, "alias") || (b->alias = read_buffer_name(r)));
}

static bool read_buffer(struct tile_reader *r, enum scope scope) {
    struct sym *name = read_symbol(r);
    const char *type = name && expect(r, ":") ? read_name(r) : NULL;
    enum dtype t = type ? dtype_find(type) : DTYPE_NONE;
    if (t == DTYPE_NONE) return cursor_fail(&r->c, "an element type is expected"), false;
    struct kernel *k = scope == SCOPE_GLOBAL ? NULL : r->k;
    if (scope != SCOPE_GLOBAL && !k) return cursor_fail(&r->c, "no kernel is open"), false;
    struct buffer *b = buffer_new(r->m, r->f, k, scope, name, t, 0, NULL);
    if (!k) {
        if (!read_tensor_shape(r, b)) return false;
    } else if ((b->rank = read_ints(r, b->extent, TILE_RANK)) < 0) {
        return false;
    }
    if (!read_number(r, "id", &b->id) || !read_buffer_attributes(r, b)) return false;
    while ((uint32_t)r->buffers.count <= name->id) vec_push(r->m->arena, &r->buffers, NULL);
    r->buffers.at[name->id] = b;
    return read_line_end(r, &b->span);
}

static bool read_declared_var(struct tile_reader *r) {
    int kind = read_word(r, WORDS_VAR);
    struct var *v = kind < 0 ? NULL : read_var(r, (enum var_kind)kind);
    return v && read_line_end(r, &v->span);
}

/* The buffers and variables of a kernel, in front of its body. */
static bool read_declarations(struct tile_reader *r) {
    for (;;) {
        bool good = true;
        if (take(r, "var"))
            good = read_declared_var(r);
        else if (take(r, "shared"))
            good = read_buffer(r, SCOPE_SHARED);
        else if (take(r, "fragment"))
            good = read_buffer(r, SCOPE_FRAGMENT);
        else if (take(r, "local"))
            good = read_buffer(r, SCOPE_LOCAL);
        else
            return !r->c.error;
        if (!good) return false;
    }
}

static bool read_grid(struct tile_reader *r, struct kernel *k) {
    if (!expect(r, "grid") || !expect(r, "[")) return false;
    while (!cursor_take(&r->c, "]")) {
        int i = k->grid_rank++;
        if (i == 3) return cursor_fail(&r->c, "a grid has at most 3 axes"), false;
        if (i && !expect(r, ",")) return false;
        if (!take(r, "_") && !(k->block[i] = read_var(r, VAR_BLOCK))) return false;
        if (!expect(r, "=") || !(k->grid[i] = read_expr(r))) return false;
    }
    return true;
}

static bool read_kernel(struct tile_reader *r, bool (*body)(struct tile_reader *r)) {
    struct kernel *k = r->k = arena_make(r->m->arena, struct kernel);
    k->function = r->f;
    vec_push(r->m->arena, &r->f->kernels, k);
    if (!(k->name = read_symbol(r)) || !read_grid(r, k) || !expect(r, "threads") ||
        !read_int32(r, &k->threads) || read_ints(r, k->thread_extent, 3) != 3)
        return false;
    if (take(r, "thread") && !(k->thread = read_var(r, VAR_THREAD))) return false;
    if (!read_number(r, "panel", &k->swizzle_panel)) return false;
    k->swizzle_column = take(r, "column");
    return read_number(r, "min_blocks", &k->min_blocks) &&
           read_number(r, "shared_bytes", &k->shared_bytes) && expect(r, "{") &&
           read_line_end(r, &k->span) && read_declarations(r) && body(r) && end_block(r);
}

static bool read_param(struct tile_reader *r) {
    struct param p = {0};
    if (take(r, "tensor"))
        p.kind = PARAM_TENSOR;
    else if (take(r, "scalar"))
        p.kind = PARAM_SCALAR;
    else if (take(r, "dim"))
        p.kind = PARAM_DIM;
    else
        return cursor_fail(&r->c, "unknown kind of parameter"), false;
    if (!(p.name = read_symbol(r)) || !expect(r, "=")) return false;
    if (p.kind == PARAM_TENSOR) {
        if (!(p.buffer = read_buffer_name(r))) return false;
    } else {
        const char *name = read_name(r);
        if (!name || !(p.var = find_var(r, name))) return cursor_fail(&r->c, "no variable"), false;
    }
    if (!read_line_end(r, &p.span)) return false;
    vec_push(r->m->arena, &r->f->params, p);
    return true;
}

static bool read_check(struct tile_reader *r) {
    struct host_check check = {0};
    if (!read_message(r, &check.message) || !read_optional(r, "test", &check.test) ||
        !read_line_end(r, &check.span))
        return false;
    vec_push(r->m->arena, &r->f->checks, check);
    return true;
}

static bool read_function(struct tile_reader *r, bool (*body)(struct tile_reader *r)) {
    struct function_ir *f = r->f = arena_make(r->m->arena, struct function_ir);
    vec_push(r->m->arena, &r->m->functions, f);
    r->vars.count = r->buffers.count = 0;
    r->k = NULL;
    int32_t buffers = 0;
    if (!(f->name = read_symbol(r)) || !expect(r, "unit")) return false;
    if (!cursor_take(&r->c, "-") && !(f->unit = read_symbol(r))) return false;
    if (take(r, "doc") && !(f->doc = read_string(r))) return false;
    if (!read_number(r, "buffers", &buffers) || !expect(r, "{") || !read_line_end(r, &f->span))
        return false;
    while (!cursor_at(&r->c, "}")) {
        bool good;
        if (take(r, "var"))
            good = read_declared_var(r);
        else if (take(r, "tensor"))
            good = read_buffer(r, SCOPE_GLOBAL);
        else if (take(r, "param"))
            good = read_param(r);
        else if (take(r, "check"))
            good = read_check(r);
        else if (take(r, "kernel"))
            good = read_kernel(r, body);
        else
            return cursor_fail(&r->c, "unknown line in a function"), false;
        if (!good) return false;
    }
    f->buffer_count = buffers;
    return end_block(r);
}

/* -- the module
 * ------------------------------------------------------------------------------------ */
static bool read_header(struct tile_reader *r) {
    struct module *m = r->m;
    while (r->c.at < r->c.end && !cursor_at(&r->c, "; tilec 0.") && cursor_line_end(&r->c)) {}
    if (!expect(r, ";") || !expect(r, "tilec") || !expect(r, "0.1")) return false;
    if (take(r, "after") && !(m->after = read_name(r))) return false;
    if (!expect(r, ",") || !expect(r, "level")) return false;
    int level = read_word(r, WORDS_LEVEL);
    const char *target = level >= 0 && expect(r, ",") && expect(r, "target") ? read_name(r) : NULL;
    if (!target) return false;
    m->level = (enum level)level;
    m->target = target_find(target);
    if (!m->target && strcmp(target, "none"))
        return cursor_fail(&r->c, "no target '%s'", target), false;
    return cursor_line_end(&r->c);
}

/* Empty lines, as many as the text speaks of. */
static const struct source *stand_in(struct tile_reader *r, const char *path) {
    char *lines = arena_array(r->m->arena, char, r->lines + 2);
    memset(lines, '\n', (size_t)r->lines + 1);
    return source_of_text(r->m->arena, path, lines, (size_t)r->lines + 1);
}

static bool read_module(struct tile_reader *r, bool (*body)(struct tile_reader *r)) {
    const char *path = NULL;
    if (!read_header(r)) return false;
    if (take(r, "source") && (!(path = read_string(r)) || !cursor_line_end(&r->c))) return false;
    if (take(r, "fast_math")) r->m->fast_math = cursor_line_end(&r->c);
    for (;;) {
        while (r->c.at < r->c.end && cursor_line_end(&r->c)) {}
        if (!take(r, "function")) break;
        if (!read_function(r, body)) return false;
    }
    cursor_blank(&r->c);
    if (r->c.at < r->c.end) return cursor_fail(&r->c, "a function is expected here"), false;
    r->m->source = path ? stand_in(r, path) : NULL;
    return !r->c.error;
}

struct module *module_read(struct arena *a, struct interns *names, struct diag *d,
                           const struct source *s, bool (*body)(struct tile_reader *r)) {
    struct tile_reader r = {.c = cursor_new(a, s->text, s->length)};
    r.m = module_new(a, names, d, NULL, NULL);
    r.names = (struct expr_names){
        .exprs = r.m->exprs, .data = &r, .var = find_var, .buffer = find_buffer};
    if (read_module(&r, body)) return r.m;
    int line = r.c.error_line < 1 ? 1 : r.c.error_line > s->lines ? s->lines : r.c.error_line;
    diag_report(d, source_line(s, line), E0101, "%s",
                r.c.error ? r.c.error : "this is no line of an IR text");
    return NULL;
}

static bool read_kernel_body(struct tile_reader *r) { return read_block(r, &r->k->body); }

struct module *tile_read(struct arena *a, struct interns *names, struct diag *d,
                         const struct source *s) {
    return module_read(a, names, d, s, read_kernel_body);
}
