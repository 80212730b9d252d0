/* kernel_text.c: Kernel IR printed; kernel_read.c reads it back. */
#include "ir/kernel.h"

struct printer {
    struct text *t;
    struct name_table *names;
};

static void print_expr(struct printer *p, const struct expr *e) {
    if (e)
        expr_print_named(p->t, e, p->names);
    else
        text_puts(p->t, "-");
}

static void print_address(struct printer *p, const struct address *a) {
    text_printf(p->t, "%s[", name_of_buffer(p->names, a->buffer));
    print_expr(p, a->index);
    text_printf(p->t, "] align %d", a->alignment);
}

static void print_operand(struct printer *p, const struct operand *o) {
    text_printf(p->t, "%s[", name_of_array(p->names, o->array));
    print_expr(p, o->index);
    text_puts(p->t, "]");
}

static void print_variable(struct printer *p, const struct var *v) {
    text_puts(p->t, name_of_var(p->names, v));
    var_print_type(p->t, v);
}

static const char *const order_names[] = {"relaxed", "acquire", "release", "acq_rel", "seq_cst"};
static const char *const atomic_names[] = {"add", "max", "min"};

static void print_block(struct printer *p, const struct kblock *b);

static void print_loop(struct printer *p, const struct kstmt *s) {
    text_puts(p->t, "for ");
    print_variable(p, s->loop.var);
    text_puts(p->t, " = ");
    print_expr(p, s->loop.lo);
    text_puts(p->t, " .. ");
    print_expr(p, s->loop.hi);
    if (s->loop.step != 1) text_printf(p->t, " step %lld", (long long)s->loop.step);
    text_printf(p->t, " unroll %d {\n", s->loop.unroll);
    print_block(p, &s->loop.body);
    text_puts(p->t, "}\n");
}

static void print_branch(struct printer *p, const struct kstmt *s) {
    text_puts(p->t, "if ");
    print_expr(p, s->branch.test);
    text_puts(p->t, " {\n");
    print_block(p, &s->branch.then);
    if (s->branch.otherwise.first) {
        text_puts(p->t, "} else {\n");
        print_block(p, &s->branch.otherwise);
    }
    text_puts(p->t, "}\n");
}

static void print_load(struct printer *p, const struct kstmt *s) {
    text_printf(p->t, "load.%s.%d%s ", dtype_letter(s->memory.memory), s->memory.bytes,
                s->memory.read_only ? ".const" : "");
    if (s->memory.data.array)
        print_operand(p, &s->memory.data);
    else
        print_variable(p, s->memory.var);
    text_puts(p->t, " = ");
    print_address(p, &s->memory.address);
    text_puts(p->t, "\n");
}

static void print_store(struct printer *p, const struct kstmt *s) {
    text_printf(p->t, "store.%s.%d ", dtype_letter(s->memory.memory), s->memory.bytes);
    print_address(p, &s->memory.address);
    text_puts(p->t, " = ");
    if (s->memory.data.array)
        print_operand(p, &s->memory.data);
    else
        print_expr(p, s->memory.value);
    text_puts(p->t, "\n");
}

static void print_atomic(struct printer *p, const struct kstmt *s) {
    if (s->atomic.previous) {
        print_variable(p, s->atomic.previous);
        text_puts(p->t, " = ");
    }
    text_printf(p->t, "atomic.%s.%s.%s ", atomic_names[s->atomic.op], order_names[s->atomic.order],
                dtype_letter(s->atomic.dtype));
    print_address(p, &s->atomic.address);
    text_puts(p->t, " = ");
    print_expr(p, s->atomic.value);
    text_puts(p->t, "\n");
}

static void print_cp_async(struct printer *p, const struct kstmt *s) {
    text_printf(p->t, "cp_async.%d ", s->cp_async.bytes);
    print_address(p, &s->cp_async.to);
    text_puts(p->t, " = ");
    print_address(p, &s->cp_async.from);
    if (s->cp_async.source_bytes) {
        text_puts(p->t, " bytes ");
        print_expr(p, s->cp_async.source_bytes);
    }
    if (s->cp_async.guard) {
        text_puts(p->t, " if ");
        print_expr(p, s->cp_async.guard);
    }
    text_puts(p->t, "\n");
}

static void print_matrix(struct printer *p, const struct kstmt *s) {
    bool load = s->kind == K_LDMATRIX;

    text_printf(p->t, "%s.x%d%s ", load ? "ldmatrix" : "stmatrix", s->matrix.matrices,
                s->matrix.transpose ? ".trans" : "");
    if (load)
        print_operand(p, &s->matrix.data);
    else
        print_address(p, &s->matrix.address);
    text_puts(p->t, " = ");
    if (load)
        print_address(p, &s->matrix.address);
    else
        print_operand(p, &s->matrix.data);
    text_puts(p->t, "\n");
}

static void print_mma(struct printer *p, const struct kstmt *s) {
    text_printf(p->t, "mma %s ", mma_row(s->mma.row)->name);
    print_operand(p, &s->mma.d);
    text_puts(p->t, " += ");
    print_operand(p, &s->mma.a);
    text_puts(p->t, " * ");
    print_operand(p, &s->mma.b);
    text_puts(p->t, "\n");
}

static void print_quoted(struct text *t, const char *s) {
    text_puts(t, "\"");
    for (; s && *s; s++) {
        if (*s == '"' || *s == '\\')
            text_printf(t, "\\%c", *s);
        else if (*s == '\n')
            text_puts(t, "\\n");
        else
            text_printf(t, "%c", *s);
    }
    text_puts(t, "\"");
}

static void print_message(struct printer *p, const struct kstmt *s) {
    text_puts(p->t, s->kind == K_PRINT ? "print " : "assert ");
    print_quoted(p->t, s->print.message);
    if (s->print.value) {
        text_puts(p->t, " value ");
        print_expr(p, s->print.value);
    }
    if (s->print.test) {
        text_puts(p->t, " if ");
        print_expr(p, s->print.test);
    }
    text_puts(p->t, "\n");
}

static void print_assignment(struct printer *p, const struct kstmt *s) {
    if (s->kind == K_VAR) {
        text_puts(p->t, "var ");
        print_variable(p, s->set.var);
    } else if (s->kind == K_SET) {
        text_printf(p->t, "set %s", name_of_var(p->names, s->set.var));
    } else {
        text_puts(p->t, "put ");
        print_operand(p, &s->put.to);
    }
    if (s->kind == K_PUT || s->set.value) {
        text_puts(p->t, " = ");
        print_expr(p, s->kind == K_PUT ? s->put.value : s->set.value);
    }
    text_puts(p->t, "\n");
}

static void print_array(struct printer *p, const struct array *a) {
    text_printf(p->t, "array %s:%s", name_of_array(p->names, a), dtype_letter(a->dtype));
    if (a->element != a->dtype) text_printf(p->t, "(%s)", dtype_letter(a->element));
    text_printf(p->t, "[%d]\n", a->count);
}

static void print_order(struct printer *p, const struct kstmt *s) {
    switch (s->kind) {
    case K_BREAK: text_puts(p->t, "break\n"); break;
    case K_CONTINUE: text_puts(p->t, "continue\n"); break;
    case K_COMMIT: text_puts(p->t, "commit\n"); break;
    case K_WAIT: text_printf(p->t, "wait %d\n", s->wait.groups); break;
    case K_BARRIER: text_printf(p->t, "barrier %d %d\n", s->barrier.id, s->barrier.threads); break;
    default: text_puts(p->t, "sync_warp\n");
    }
}

static void print_statement(struct printer *p, const struct kstmt *s) {
    switch (s->kind) {
    case K_VAR:
    case K_SET:
    case K_PUT: print_assignment(p, s); break;
    case K_ARRAY: print_array(p, s->array); break;
    case K_FOR: print_loop(p, s); break;
    case K_WHILE:
        text_puts(p->t, "while ");
        print_expr(p, s->repeat.test);
        text_puts(p->t, " {\n");
        print_block(p, &s->repeat.body);
        text_puts(p->t, "}\n");
        break;
    case K_IF: print_branch(p, s); break;
    case K_LOAD: print_load(p, s); break;
    case K_STORE: print_store(p, s); break;
    case K_ATOMIC: print_atomic(p, s); break;
    case K_CP_ASYNC: print_cp_async(p, s); break;
    case K_LDMATRIX:
    case K_STMATRIX: print_matrix(p, s); break;
    case K_MMA: print_mma(p, s); break;
    case K_PRINT:
    case K_ASSERT: print_message(p, s); break;
    case K_COMMENT:
        text_puts(p->t, "comment ");
        print_quoted(p->t, s->comment);
        text_puts(p->t, "\n");
        break;
    default: print_order(p, s);
    }
}

static void print_block(struct printer *p, const struct kblock *b) {
    const struct kstmt *s;

    p->t->indent++;
    for (s = b->first; s; s = s->next) print_statement(p, s);
    p->t->indent--;
}

static void print_kernel(struct printer *p, const struct kernel *k) {
    text_printf(p->t, "kernel %s threads %d shared %d registers %d {\n", k->name->text, k->threads,
                k->shared_bytes, k->code->registers);
    print_block(p, &k->code->body);
    text_puts(p->t, "}\n");
}

void kernel_print(struct text *t, const struct module *m) {
    struct printer p = {t, NULL};
    int i, j;

    for (i = 0; i < m->functions.count; i++) {
        p.names = name_table_new(m->arena, m->names);
        text_printf(t, "function %s\n", m->functions.at[i]->name->text);
        for (j = 0; j < m->functions.at[i]->kernels.count; j++)
            print_kernel(&p, m->functions.at[i]->kernels.at[j]);
    }
}
