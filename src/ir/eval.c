/* eval.c: runs a function of tile IR on the CPU: launches in order, block after block. */
#include "ir/eval_state.h"

static void run_block(struct eval *s, const struct kernel *k, const int64_t *at) {
    for (int i = 0; i < k->grid_rank; i++)
        if (k->block[i]) eval_bind(s, k->block[i], (union scalar){.i = at[i]}, 0);
    s->pending.count = 0;
    s->groups = 0;
    eval_fill(s, k);
    eval_body(s, k);
}

static void run_kernel(struct eval *s, const struct kernel *k) {
    int64_t grid[3] = {1, 1, 1}, at[3];
    s->threads = k->threads;
    eval_add_buffers(s, k);
    eval_prepare(s, k);
    for (int i = 0; i < k->grid_rank; i++) grid[i] = eval_integer(s, k->grid[i], 0);
    for (at[2] = 0; at[2] < grid[2]; at[2]++)
        for (at[1] = 0; at[1] < grid[1]; at[1]++)
            for (at[0] = 0; at[0] < grid[0] && !s->why; at[0]++) run_block(s, k, at);
}

/* Parameters and dimensions are the same everywhere; the rest gets its slots with the kernel. */
static void add_interface(struct eval *s) {
    s->slots = arena_array(s->arena, struct slot, exprs_vars(s->m->exprs) + 1);
    for (int i = 0; i < s->f->params.count; i++) {
        const struct var *v = s->f->params.at[i].var;
        if (v) s->slots[v->id].at = arena_array(s->arena, union scalar, 1);
    }
    s->memories = arena_array(s->arena, struct memory *, s->f->buffer_count + 1);
}

bool tile_eval(struct module *m, struct function_ir *f, const struct eval_args *args,
               const struct eval_options *options, const char **why) {
    struct eval s = {.m = m, .f = f, .options = options, .threads = 1};
    s.arena = arena_new();
    add_interface(&s);
    if (eval_add_memories(&s, args)) {
        for (int i = 0; i < f->checks.count && !s.why; i++)
            if (!eval_test(&s, f->checks.at[i].test, 0))
                eval_fail(&s, f->checks.at[i].span, "check failed: %s",
                          f->checks.at[i].message ? f->checks.at[i].message : "");
        for (int i = 0; i < f->kernels.count && !s.why; i++) run_kernel(&s, f->kernels.at[i]);
    }
    arena_free(s.arena);
    if (why) *why = s.why;
    return !s.why;
}
