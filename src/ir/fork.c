/* fork.c: a second module with the same program, which goes its own way from here.
 *
 * What passes change in place is copied: functions, kernels, statements, buffers, and with these
 * the expressions that load from them. Variables and all other expressions are shared; the table
 * that finds them is copied, so that ids and names go on as if there were no other module. */
#include "ir/internal.h"
#include "ir/tile.h"

struct forking {
    struct module *m;        /* the new one */
    struct buffer **buffers; /* by id in the function: the copies */
};

static void fork_buffers(struct forking *f, struct buffer *const *from, struct buffer **to,
                         int count) {
    for (int i = 0; i < count; i++) {
        struct buffer *b = arena_make(f->m->arena, struct buffer);
        *b = *from[i];
        f->buffers[b->id] = to[i] = b;
    }
}

static struct buffer *copy_of(const struct forking *f, const struct buffer *b) {
    return b ? f->buffers[b->id] : NULL;
}

/* -- Expressions ------------------------------------------------------------------------------- */

static struct expr *replace_load(struct expr *e, void *data) {
    const struct forking *f = data;
    if (e->kind != EXPR_LOAD) return NULL;
    return expr_load(f->m->exprs, copy_of(f, e->buffer), e->count, e->args);
}

static void replace_loads(struct expr **e, void *data) {
    const struct forking *f = data;
    if (*e && expr_has_load(*e))
        *e = expr_rewrite_where(f->m->exprs, *e, HOLDS_LOAD, replace_load, data);
}

/* -- Statements -------------------------------------------------------------------------------- */

static void replace_buffers(const struct forking *f, struct stmt *s) {
    switch (s->kind) {
    case STMT_STORE: s->store.buffer = copy_of(f, s->store.buffer); break;
    case STMT_ATOMIC: s->atomic.buffer = copy_of(f, s->atomic.buffer); break;
    case STMT_PRINT: s->print.buffer = copy_of(f, s->print.buffer); break;
    case STMT_COPY:
        s->copy.src.buffer = copy_of(f, s->copy.src.buffer);
        s->copy.dst.buffer = copy_of(f, s->copy.dst.buffer);
        break;
    case STMT_GEMM:
        s->gemm.a.buffer = copy_of(f, s->gemm.a.buffer);
        s->gemm.b.buffer = copy_of(f, s->gemm.b.buffer);
        s->gemm.c.buffer = copy_of(f, s->gemm.c.buffer);
        break;
    case STMT_REDUCE:
        s->reduce.src.buffer = copy_of(f, s->reduce.src.buffer);
        s->reduce.dst.buffer = copy_of(f, s->reduce.dst.buffer);
        break;
    default: break;
    }
}

static void fork_block(struct forking *f, struct block *b) {
    struct block from = *b;
    *b = (struct block){0};
    for (const struct stmt *s = from.first; s; s = s->next) {
        struct stmt *n = arena_make(f->m->arena, struct stmt);
        *n = *s;
        replace_buffers(f, n);
        stmt_expressions(n, replace_loads, f);
        if (n->kind == STMT_FOR) fork_block(f, &n->loop.body);
        if (n->kind == STMT_WHILE) fork_block(f, &n->repeat.body);
        if (n->kind == STMT_MAP) fork_block(f, &n->map.body);
        if (n->kind == STMT_IF) {
            fork_block(f, &n->branch.then);
            fork_block(f, &n->branch.otherwise);
        }
        block_append(b, n);
    }
}

/* -- Functions --------------------------------------------------------------------------------- */

/* A list of its own with the same items. */
#define fork_list(f, list, type)                                                            \
    do {                                                                                    \
        type *items = arena_array((f)->m->arena, type, (list)->count + 1);                  \
        if ((list)->count) memcpy(items, (list)->at, sizeof *items *(size_t)(list)->count); \
        (list)->at = items;                                                                 \
        (list)->room = (list)->count + 1;                                                   \
    } while (0)

static struct kernel *fork_kernel(struct forking *f, const struct kernel *from,
                                  struct function_ir *function) {
    struct kernel *k = arena_make(f->m->arena, struct kernel);
    *k = *from;
    k->function = function;
    fork_list(f, &k->buffers, struct buffer *);
    fork_buffers(f, from->buffers.at, k->buffers.at, k->buffers.count);
    for (int i = 0; i < k->buffers.count; i++)
        k->buffers.at[i]->alias = copy_of(f, k->buffers.at[i]->alias);
    fork_block(f, &k->body);
    return k;
}

static struct function_ir *fork_function(struct module *m, const struct function_ir *from) {
    struct forking f = {.m = m};
    struct function_ir *n = arena_make(m->arena, struct function_ir);
    *n = *from;
    f.buffers = arena_array(m->arena, struct buffer *, n->buffer_count + 1);
    fork_list(&f, &n->params, struct param);
    fork_list(&f, &n->globals, struct buffer *);
    fork_list(&f, &n->checks, struct host_check);
    fork_list(&f, &n->kernels, struct kernel *);
    fork_buffers(&f, from->globals.at, n->globals.at, n->globals.count);
    for (int i = 0; i < n->params.count; i++)
        n->params.at[i].buffer = copy_of(&f, n->params.at[i].buffer);
    for (int i = 0; i < n->kernels.count; i++)
        n->kernels.at[i] = fork_kernel(&f, from->kernels.at[i], n);
    return n;
}

struct module *module_fork(const struct module *m) {
    struct module *n = arena_make(m->arena, struct module);
    struct forking f = {.m = n};
    *n = *m;
    n->exprs = exprs_fork(m->exprs);
    n->answers = arena_make(m->arena, struct answers);
    *n->answers = *m->answers;
    fork_list(&f, &n->issued, struct sym *);
    fork_list(&f, &n->functions, struct function_ir *);
    for (int i = 0; i < n->functions.count; i++)
        n->functions.at[i] = fork_function(n, m->functions.at[i]);
    return n;
}

struct module *module_for(const struct module *m, const struct target *t) {
    struct module *n = arena_make(m->arena, struct module);
    *n = *m;
    n->target = t;
    return n;
}
