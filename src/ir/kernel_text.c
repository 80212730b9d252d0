/* kernel_text.c: Kernel IR printed; kernel_read.c reads it back. */
#include "ir/internal.h"
#include "ir/kernel.h"

static void print_expr(struct tile_printer *p, const struct expr *e) {
    if (e)
        expr_print_named(p->t, e, p->names);
    else
        text_puts(p->t, "-");
}

static void print_address(struct tile_printer *p, const struct address *a) {
    text_printf(p->t, "%s[", name_of_buffer(p->names, a->buffer));
    print_expr(p, a->index);
    text_printf(p->t, "] align %d", a->alignment);
}

static void print_operand(struct tile_printer *p, const struct operand *o) {
    text_printf(p->t, "%s[", name_of_array(p->names, o->array));
    print_expr(p, o->index);
    text_puts(p->t, "]");
}

static void print_variable(struct tile_printer *p, const struct var *v) {
    text_printf(p->t, "%s %s", words_at(WORDS_VAR, (int)v->kind), name_of_var(p->names, v));
    var_print_type(p->t, v);
}

static void print_block(struct tile_printer *p, const struct kblock *b);

static void open_block(struct tile_printer *p, const struct kstmt *s) {
    text_puts(p->t, " {");
    print_line_end(p->t, p->m, s->span);
    p->t->indent++;
}

static void close_block(struct tile_printer *p) {
    p->t->indent--;
    text_puts(p->t, "}\n");
}

static void print_loop(struct tile_printer *p, const struct kstmt *s) {
    text_puts(p->t, "for ");
    print_variable(p, s->loop.var);
    text_puts(p->t, " = ");
    print_expr(p, s->loop.lo);
    text_puts(p->t, " .. ");
    print_expr(p, s->loop.hi);
    if (s->loop.step != 1) text_printf(p->t, " step %lld", (long long)s->loop.step);
    text_printf(p->t, " unroll %d%s", s->loop.unroll, s->loop.apart ? " apart" : "");
    open_block(p, s);
    print_block(p, &s->loop.body);
    close_block(p);
}

static void print_branch(struct tile_printer *p, const struct kstmt *s) {
    text_puts(p->t, "if ");
    print_expr(p, s->branch.test);
    open_block(p, s);
    print_block(p, &s->branch.then);
    close_block(p);
    if (s->branch.otherwise.first) {
        text_puts(p->t, "else");
        open_block(p, s);
        print_block(p, &s->branch.otherwise);
        close_block(p);
    }
}

static void print_load(struct tile_printer *p, const struct kstmt *s) {
    text_printf(p->t, "load %s %d ", dtype_letter(s->memory.memory), s->memory.bytes);
    if (s->memory.data.array) {
        print_operand(p, &s->memory.data);
    } else {
        text_puts(p->t, "var ");
        print_variable(p, s->memory.var);
    }
    text_puts(p->t, " = ");
    print_address(p, &s->memory.address);
    if (s->memory.read_only) text_puts(p->t, " const");
}

static void print_store(struct tile_printer *p, const struct kstmt *s) {
    text_printf(p->t, "store %s %d ", dtype_letter(s->memory.memory), s->memory.bytes);
    print_address(p, &s->memory.address);
    if (s->memory.data.array) {
        text_puts(p->t, " = registers ");
        print_operand(p, &s->memory.data);
    } else {
        text_puts(p->t, " = ");
        print_expr(p, s->memory.value);
    }
}

static void print_atomic(struct tile_printer *p, const struct kstmt *s) {
    text_printf(p->t, "atomic %s %s %s ", words_at(WORDS_ATOMIC, (int)s->atomic.op),
                words_at(WORDS_ORDER, (int)s->atomic.order), dtype_letter(s->atomic.dtype));
    print_address(p, &s->atomic.address);
    text_puts(p->t, " = ");
    print_expr(p, s->atomic.value);
    if (s->atomic.previous) {
        text_puts(p->t, " previous ");
        print_variable(p, s->atomic.previous);
    }
}

static void print_cp_async(struct tile_printer *p, const struct kstmt *s) {
    text_printf(p->t, "cp_async %d ", s->cp_async.bytes);
    print_address(p, &s->cp_async.to);
    text_puts(p->t, " = ");
    print_address(p, &s->cp_async.from);
    if (s->cp_async.source_bytes) {
        text_puts(p->t, " bytes ");
        print_expr(p, s->cp_async.source_bytes);
    }
    if (s->cp_async.guard) {
        text_puts(p->t, " guard ");
        print_expr(p, s->cp_async.guard);
    }
}

static void print_matrix(struct tile_printer *p, const struct kstmt *s) {
    text_printf(p->t, "%s %d ", s->kind == K_LDMATRIX ? "ldmatrix" : "stmatrix",
                s->matrix.matrices);
    print_operand(p, &s->matrix.data);
    text_puts(p->t, " at ");
    print_address(p, &s->matrix.address);
    if (s->matrix.transpose) text_puts(p->t, " trans");
}

static void print_mma(struct tile_printer *p, const struct kstmt *s) {
    text_printf(p->t, "mma %s ", mma_row(s->mma.row)->name);
    print_operand(p, &s->mma.d);
    text_puts(p->t, " += ");
    print_operand(p, &s->mma.a);
    text_puts(p->t, " * ");
    print_operand(p, &s->mma.b);
}

static void print_message(struct tile_printer *p, const struct kstmt *s) {
    text_puts(p->t, s->kind == K_PRINT ? "print " : "assert ");
    print_string(p->t, s->print.message ? s->print.message : "");
    if (s->print.value) {
        text_puts(p->t, " value ");
        print_expr(p, s->print.value);
    }
    if (s->print.test) {
        text_puts(p->t, " test ");
        print_expr(p, s->print.test);
    }
}

static void print_assignment(struct tile_printer *p, const struct kstmt *s) {
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
}

static void print_array(struct tile_printer *p, const struct array *a) {
    text_printf(p->t, "array %s %s %s [%d]", name_of_array(p->names, a), dtype_letter(a->dtype),
                dtype_letter(a->element), a->count);
}

static void print_order(struct tile_printer *p, const struct kstmt *s) {
    switch (s->kind) {
    case K_BREAK: text_puts(p->t, "break"); break;
    case K_CONTINUE: text_puts(p->t, "continue"); break;
    case K_COMMIT: text_puts(p->t, "commit"); break;
    case K_WAIT: text_printf(p->t, "wait %d", s->wait.groups); break;
    case K_BARRIER: text_printf(p->t, "barrier %d %d", s->barrier.id, s->barrier.threads); break;
    case K_COMMENT:
        text_puts(p->t, "comment ");
        print_string(p->t, s->comment);
        break;
    default: text_puts(p->t, "sync_warp");
    }
}

static void print_simple(struct tile_printer *p, const struct kstmt *s) {
    switch (s->kind) {
    case K_VAR:
    case K_SET:
    case K_PUT: print_assignment(p, s); break;
    case K_ARRAY: print_array(p, s->array); break;
    case K_LOAD: print_load(p, s); break;
    case K_STORE: print_store(p, s); break;
    case K_ATOMIC: print_atomic(p, s); break;
    case K_CP_ASYNC: print_cp_async(p, s); break;
    case K_LDMATRIX:
    case K_STMATRIX: print_matrix(p, s); break;
    case K_MMA: print_mma(p, s); break;
    case K_PRINT:
    case K_ASSERT: print_message(p, s); break;
    default: print_order(p, s);
    }
    print_line_end(p->t, p->m, s->span);
}

static void print_block(struct tile_printer *p, const struct kblock *b) {
    const struct kstmt *s;

    for (s = b->first; s; s = s->next) {
        if (s->kind == K_FOR) {
            print_loop(p, s);
        } else if (s->kind == K_IF) {
            print_branch(p, s);
        } else if (s->kind == K_WHILE) {
            text_puts(p->t, "while ");
            print_expr(p, s->repeat.test);
            open_block(p, s);
            print_block(p, &s->repeat.body);
            close_block(p);
        } else {
            print_simple(p, s);
        }
    }
}

static void print_body(struct tile_printer *p, const struct kernel *k) {
    const struct function_ir *f = k->function;
    int i;

    text_printf(p->t, "registers %d\n", k->code->registers);
    for (i = 0; i < f->globals.count; i++)
        if (k->code->alignment[f->globals.at[i]->id] > 0)
            text_printf(p->t, "widest %s %d\n", name_of_buffer(p->names, f->globals.at[i]),
                        k->code->alignment[f->globals.at[i]->id]);
    for (i = 0; i < k->code->locals.count; i++)
        text_printf(p->t, "in_memory %s\n", name_of_buffer(p->names, k->code->locals.at[i]));
    print_block(p, &k->code->body);
}

void kernel_print(struct text *t, const struct module *m) { module_print(t, m, print_body); }
