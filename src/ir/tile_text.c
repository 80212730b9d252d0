/* tile_text.c: prints modules; tile_read.c reads them back.
 *
 * A line is a word, its operands and then attributes, each a word with a value, left out where it
 * has its usual value. `; line 14` behind it is the line of the source. */
#include "ir/internal.h"
#include "ir/tile.h"
#include <string.h>

static const char *const levels[] = {"NONE", "TILE", "PLACED", "SCHEDULED", "KERNEL", NULL};
static const char *const var_kinds[] = {"axis", "loop",  "block", "thread",  "lane", "warp",
                                        "dim",  "param", "let",   "mutable", NULL};
static const char *const scopes[] = {"tensor", "shared", "fragment", "local", NULL};
static const char *const loops[] = {"serial", "unroll", "vector", "pipelined", NULL};
static const char *const atomics[] = {"add", "max", "min", NULL};
static const char *const orders[] = {"relaxed", "acquire", "release", "acq_rel", "seq_cst", NULL};
static const char *const policies[] = {"square", "full_row", "full_col", NULL};
static const char *const reductions[] = {"sum",    "max",   "min",    "absmax", "abssum",
                                         "bitand", "bitor", "bitxor", NULL};
static const char *const *const word_sets[] = {levels,  var_kinds, scopes,   loops,
                                               atomics, orders,    policies, reductions};

const char *words_at(enum words set, int i) { return word_sets[set][i]; }

int words_find(enum words set, const char *word) {
    for (int i = 0; word && word_sets[set][i]; i++)
        if (!strcmp(word_sets[set][i], word)) return i;
    return -1;
}

/* -- pieces
 * ---------------------------------------------------------------------------------------- */
void print_string(struct text *t, const char *s) {
    text_puts(t, "\"");
    for (; *s; s++) {
        char one[2] = {*s, 0};
        if (*s == '"')
            text_puts(t, "\\\"");
        else if (*s == '\\')
            text_puts(t, "\\\\");
        else if (*s == '\n')
            text_puts(t, "\\n");
        else
            text_puts(t, one);
    }
    text_puts(t, "\"");
}

void print_line_end(struct text *t, const struct module *m, struct span span) {
    if (m->source && span.end > 0)
        text_printf(t, " ; line %d", source_position(m->source, span.begin).line);
    text_puts(t, "\n");
}

static void print_expr(struct tile_printer *p, const struct expr *e) {
    expr_print_named(p->t, e, p->names);
}

static void print_exprs(struct tile_printer *p, struct expr *const *e, int count) {
    text_puts(p->t, "[");
    for (int i = 0; i < count; i++) {
        if (i) text_puts(p->t, ", ");
        print_expr(p, e[i]);
    }
    text_puts(p->t, "]");
}

static void print_ints(struct tile_printer *p, const int32_t *value, int count) {
    text_puts(p->t, "[");
    for (int i = 0; i < count; i++) text_printf(p->t, i ? ", %d" : "%d", value[i]);
    text_puts(p->t, "]");
}

static void print_binding(struct tile_printer *p, const struct var *v) {
    text_puts(p->t, name_of_var(p->names, v));
    var_print_type(p->t, v);
}

static void print_flag(struct tile_printer *p, bool set, const char *word) {
    if (set) text_printf(p->t, " %s", word);
}

static void print_number(struct tile_printer *p, const char *word, int64_t value, int64_t usual) {
    if (value != usual) text_printf(p->t, " %s %lld", word, (long long)value);
}

static void print_layout(struct tile_printer *p, const char *word, const struct layout *l) {
    if (layout_is_none(l)) return;
    text_printf(p->t, " %s ", word);
    layout_print(p->t, l);
}

static void print_optional(struct tile_printer *p, const char *word, const struct expr *e) {
    if (!e) return;
    text_printf(p->t, " %s ", word);
    print_expr(p, e);
}

static void end_line(struct tile_printer *p, struct span span) { print_line_end(p->t, p->m, span); }

/* -- statements
 * ------------------------------------------------------------------------------------ */
static void print_block(struct tile_printer *p, const struct block *b);

static void open_block(struct tile_printer *p, const struct stmt *s) {
    if (s->why) {
        text_puts(p->t, " why ");
        print_string(p->t, s->why);
    }
    text_puts(p->t, " {");
    end_line(p, s->span);
    p->t->indent++;
}

static void close_block(struct tile_printer *p) {
    p->t->indent--;
    text_puts(p->t, "}\n");
}

static void print_region(struct tile_printer *p, const struct region *r) {
    text_printf(p->t, " %s[", name_of_buffer(p->names, r->buffer));
    for (int i = 0; i < r->buffer->rank; i++) {
        if (i) text_puts(p->t, ", ");
        print_expr(p, r->base[i]);
        text_printf(p->t, " +%d", r->extent[i]);
    }
    text_puts(p->t, "]");
}

static void print_domain(struct tile_printer *p, const struct domain *d) {
    text_puts(p->t, " [");
    for (int i = 0; i < d->rank; i++) {
        if (i) text_puts(p->t, ", ");
        print_binding(p, d->axis[i]);
        text_printf(p->t, " = %d", d->extent[i]);
    }
    text_puts(p->t, "]");
    print_layout(p, "layout", &d->layout);
}

static void print_for(struct tile_printer *p, const struct stmt *s) {
    text_printf(p->t, "for %s ", words_at(WORDS_LOOP, (int)s->loop.kind));
    print_binding(p, s->loop.var);
    text_puts(p->t, " = ");
    print_expr(p, s->loop.lo);
    text_puts(p->t, " .. ");
    print_expr(p, s->loop.hi);
    print_number(p, "step", s->loop.step, 1);
    print_number(p, "stages", s->loop.stages, -1);
    print_number(p, "factor", s->loop.factor, 0);
    open_block(p, s);
    print_block(p, &s->loop.body);
    close_block(p);
}

static void print_if(struct tile_printer *p, const struct stmt *s) {
    text_puts(p->t, "if ");
    print_expr(p, s->branch.test);
    open_block(p, s);
    print_block(p, &s->branch.then);
    if (s->branch.otherwise.first) {
        p->t->indent--;
        text_puts(p->t, "} else {\n");
        p->t->indent++;
        print_block(p, &s->branch.otherwise);
    }
    close_block(p);
}

static void print_copy(struct tile_printer *p, const struct stmt *s) {
    const struct domain *d = &s->copy.domain;
    text_puts(p->t, "copy");
    print_region(p, &s->copy.src);
    text_puts(p->t, " ->");
    print_region(p, &s->copy.dst);
    text_puts(p->t, " over");
    print_domain(p, d);
    text_puts(p->t, " axes ");
    print_ints(p, s->copy.src_axis, d->rank);
    text_puts(p->t, " ");
    print_ints(p, s->copy.dst_axis, d->rank);
    print_number(p, "width", s->copy.width, 0);
    print_flag(p, s->copy.async, "async");
    print_optional(p, "guard", s->copy.guard);
}

static void print_gemm(struct tile_printer *p, const struct stmt *s) {
    text_puts(p->t, "gemm");
    print_region(p, &s->gemm.a);
    print_region(p, &s->gemm.b);
    text_puts(p->t, " ->");
    print_region(p, &s->gemm.c);
    text_printf(p->t, " size [%d, %d, %d]", s->gemm.m, s->gemm.n, s->gemm.k);
    print_flag(p, s->gemm.transpose_a, "transpose_a");
    print_flag(p, s->gemm.transpose_b, "transpose_b");
    if (s->gemm.policy)
        text_printf(p->t, " policy %s", words_at(WORDS_POLICY, (int)s->gemm.policy));
    print_optional(p, "clear", s->gemm.clear);
    print_number(p, "atom", s->gemm.atom, -1);
    if (s->gemm.row_warps || s->gemm.column_warps)
        text_printf(p->t, " warps [%d, %d]", s->gemm.row_warps, s->gemm.column_warps);
}

static void print_reduce(struct tile_printer *p, const struct stmt *s) {
    text_printf(p->t, "reduce %s", words_at(WORDS_REDUCE, (int)s->reduce.op));
    print_region(p, &s->reduce.src);
    text_puts(p->t, " ->");
    print_region(p, &s->reduce.dst);
    text_printf(p->t, " axis %d", s->reduce.axis);
    print_flag(p, s->reduce.clear, "clear");
    print_flag(p, s->reduce.nan, "nan");
    print_number(p, "parts", s->reduce.parts, 0);
    print_number(p, "weight", s->reduce.part_weight, 0);
}

static void print_element(struct tile_printer *p, const struct buffer *b, struct expr *const *index,
                          int count) {
    text_puts(p->t, name_of_buffer(p->names, b));
    print_exprs(p, index, count);
}

static void print_atomic(struct tile_printer *p, const struct stmt *s) {
    text_printf(p->t, "atomic %s %s ", words_at(WORDS_ATOMIC, (int)s->atomic.op),
                words_at(WORDS_ORDER, (int)s->atomic.order));
    print_element(p, s->atomic.buffer, s->atomic.index, s->atomic.count);
    text_puts(p->t, " = ");
    print_expr(p, s->atomic.value);
    if (!s->atomic.previous) return;
    text_puts(p->t, " -> ");
    print_binding(p, s->atomic.previous);
}

static void print_message(struct tile_printer *p, const char *message) {
    text_puts(p->t, " ");
    if (message)
        print_string(p->t, message);
    else
        text_puts(p->t, "-");
}

static void print_plain(struct tile_printer *p, const struct stmt *s) {
    struct text *t = p->t;
    switch (s->kind) {
    case STMT_LET:
        text_puts(t, "let ");
        print_binding(p, s->let.var);
        text_puts(t, " = ");
        print_expr(p, s->let.value);
        break;
    case STMT_SET:
        text_printf(t, "set %s = ", name_of_var(p->names, s->let.var));
        print_expr(p, s->let.value);
        break;
    case STMT_STORE:
        text_puts(t, "store ");
        print_element(p, s->store.buffer, s->store.index, s->store.count);
        text_puts(t, " = ");
        print_expr(p, s->store.value);
        break;
    case STMT_ATOMIC: print_atomic(p, s); break;
    case STMT_PRINT:
        text_puts(t, "print");
        print_message(p, s->print.message);
        print_optional(p, "value", s->print.value);
        if (s->print.buffer)
            text_printf(t, " buffer %s", name_of_buffer(p->names, s->print.buffer));
        break;
    default:
        text_puts(t, "assert");
        print_message(p, s->assertion.message);
        print_optional(p, "test", s->assertion.test);
        break;
    }
}

static void print_simple(struct tile_printer *p, const struct stmt *s) {
    switch (s->kind) {
    case STMT_BREAK: text_puts(p->t, "break"); break;
    case STMT_CONTINUE: text_puts(p->t, "continue"); break;
    case STMT_COPY: print_copy(p, s); break;
    case STMT_GEMM: print_gemm(p, s); break;
    case STMT_REDUCE: print_reduce(p, s); break;
    case STMT_BARRIER: text_printf(p->t, "barrier %d %d", s->barrier.id, s->barrier.threads); break;
    case STMT_COMMIT: text_puts(p->t, "commit"); break;
    case STMT_WAIT: text_printf(p->t, "wait %d", s->wait.groups); break;
    default: print_plain(p, s); break;
    }
    if (s->why) {
        text_puts(p->t, " why ");
        print_string(p->t, s->why);
    }
    end_line(p, s->span);
}

static void print_stmt(struct tile_printer *p, const struct stmt *s) {
    switch (s->kind) {
    case STMT_FOR: print_for(p, s); break;
    case STMT_IF: print_if(p, s); break;
    case STMT_WHILE:
        text_puts(p->t, "while ");
        print_expr(p, s->repeat.test);
        open_block(p, s);
        print_block(p, &s->repeat.body);
        close_block(p);
        break;
    case STMT_MAP:
        text_puts(p->t, "map");
        print_domain(p, &s->map.domain);
        open_block(p, s);
        print_block(p, &s->map.body);
        close_block(p);
        break;
    default: print_simple(p, s); break;
    }
}

static void print_block(struct tile_printer *p, const struct block *b) {
    for (const struct stmt *s = b->first; s; s = s->next) print_stmt(p, s);
}

/* -- buffers and variables
 * ------------------------------------------------------------------------- */
static void print_buffer(struct tile_printer *p, const struct buffer *b) {
    text_printf(p->t, "%s %s:%s", words_at(WORDS_SCOPE, (int)b->scope), name_of_buffer(p->names, b),
                dtype_letter(b->dtype));
    if (b->scope == SCOPE_GLOBAL) {
        print_exprs(p, b->dim, b->rank);
        text_puts(p->t, " strides ");
        print_exprs(p, b->stride, b->rank);
    } else {
        print_ints(p, b->extent, b->rank);
    }
    text_printf(p->t, " id %d", b->id);
    print_optional(p, "safe", b->safe_value);
    print_flag(p, b->output, "output");
    print_flag(p, b->written, "written");
    print_flag(p, b->no_restrict, "no_restrict");
    print_flag(p, b->parallel_private, "private");
    print_flag(p, b->static_shared, "static");
    print_flag(p, b->scratch, "scratch");
    print_layout(p, "annotation", &b->annotation);
    print_layout(p, "layout", &b->layout);
    print_number(p, "ring", b->ring, 0);
    print_number(p, "offset", b->offset, -1);
    if (b->alias) text_printf(p->t, " alias %s", name_of_buffer(p->names, b->alias));
    end_line(p, b->span);
}

/* Mutable variables have no statement that binds them: they are declared in front of the body. */
struct mutables {
    struct arena *arena;
    VEC(struct var *) vars;
};

static void add_mutable(struct mutables *set, struct var *v) {
    for (int i = 0; i < set->vars.count; i++)
        if (set->vars.at[i] == v) return;
    vec_push(set->arena, &set->vars, v);
}

static void find_in_expr(struct mutables *set, struct expr *e) {
    if (!expr_uses_kind(e, VAR_MUTABLE)) return;
    if (e->kind == EXPR_VAR) add_mutable(set, e->var);
    for (int i = 0; i < e->count; i++) find_in_expr(set, e->args[i]);
}

static void visit_expr(struct expr **e, void *data) { find_in_expr(data, *e); }

static void visit_stmt(struct stmt *s, void *data) {
    if (s->kind == STMT_SET) add_mutable(data, s->let.var);
    stmt_expressions(s, visit_expr, data);
}

static void print_body(struct tile_printer *p, const struct kernel *k) {
    struct mutables set = {.arena = p->m->arena};
    struct block body = k->body;
    block_walk(&body, visit_stmt, &set);
    for (int i = 0; i < set.vars.count; i++) {
        text_printf(p->t, "var %s ", words_at(WORDS_VAR, (int)set.vars.at[i]->kind));
        print_binding(p, set.vars.at[i]);
        end_line(p, set.vars.at[i]->span);
    }
    print_block(p, &k->body);
}

/* -- functions
 * ------------------------------------------------------------------------------------- */
static void print_launch(struct tile_printer *p, const struct kernel *k) {
    text_printf(p->t, "kernel %s grid [", k->name->text);
    for (int i = 0; i < k->grid_rank; i++) {
        if (i) text_puts(p->t, ", ");
        if (k->block[i])
            print_binding(p, k->block[i]);
        else
            text_puts(p->t, "_");
        text_puts(p->t, " = ");
        print_expr(p, k->grid[i]);
    }
    text_printf(p->t, "] threads %d ", k->threads);
    print_ints(p, k->thread_extent, 3);
    if (k->thread) {
        text_puts(p->t, " thread ");
        print_binding(p, k->thread);
    }
    print_number(p, "panel", k->swizzle_panel, 0);
    print_flag(p, k->swizzle_column, "column");
    print_number(p, "min_blocks", k->min_blocks, 0);
    print_number(p, "shared_bytes", k->shared_bytes, 0);
    text_puts(p->t, " {");
    end_line(p, k->span);
}

static void print_param(struct tile_printer *p, const struct param *q) {
    static const char *const kinds[] = {"tensor", "scalar", "dim"};
    text_printf(p->t, "param %s %s = %s", kinds[q->kind], q->name->text,
                q->kind == PARAM_TENSOR ? name_of_buffer(p->names, q->buffer)
                                        : name_of_var(p->names, q->var));
    end_line(p, q->span);
}

/* Variables first: the tensors' extents use them. */
static void print_interface(struct tile_printer *p, const struct function_ir *f) {
    for (int i = 0; i < f->params.count; i++) {
        const struct var *v = f->params.at[i].var;
        if (!v) continue;
        text_printf(p->t, "var %s ", words_at(WORDS_VAR, (int)v->kind));
        print_binding(p, v);
        end_line(p, v->span);
    }
    for (int i = 0; i < f->globals.count; i++) print_buffer(p, f->globals.at[i]);
    for (int i = 0; i < f->params.count; i++) print_param(p, &f->params.at[i]);
    for (int i = 0; i < f->checks.count; i++) {
        text_puts(p->t, "check");
        print_message(p, f->checks.at[i].message);
        print_optional(p, "test", f->checks.at[i].test);
        end_line(p, f->checks.at[i].span);
    }
}

static void print_function(struct tile_printer *p, const struct function_ir *f,
                           void (*body)(struct tile_printer *p, const struct kernel *k)) {
    text_printf(p->t, "\nfunction %s unit %s", f->name->text, f->unit ? f->unit->text : "-");
    if (f->doc) {
        text_puts(p->t, " doc ");
        print_string(p->t, f->doc);
    }
    text_printf(p->t, " buffers %d {", f->buffer_count);
    end_line(p, f->span);
    p->t->indent++;
    print_interface(p, f);
    for (int i = 0; i < f->kernels.count; i++) {
        const struct kernel *k = f->kernels.at[i];
        print_launch(p, k);
        p->t->indent++;
        for (int j = 0; j < k->buffers.count; j++) print_buffer(p, k->buffers.at[j]);
        body(p, k);
        close_block(p);
    }
    close_block(p);
}

void module_print(struct text *t, const struct module *m,
                  void (*body)(struct tile_printer *p, const struct kernel *k)) {
    text_puts(t, "; tilec 0.1");
    if (m->after) text_printf(t, " after %s", m->after);
    text_printf(t, ", level %s, target %s\n", words_at(WORDS_LEVEL, (int)m->level),
                m->target ? m->target->name : "none");
    if (m->source) {
        text_puts(t, "source ");
        print_string(t, m->source->path);
        text_puts(t, "\n");
    }
    if (m->fast_math) text_puts(t, "fast_math\n");
    for (int i = 0; i < m->functions.count; i++) {
        struct tile_printer p = {t, m, name_table_new(m->arena, m->names)};
        print_function(&p, m->functions.at[i], body);
    }
}

void tile_print(struct text *t, const struct module *m) { module_print(t, m, print_body); }
