/* check.c: what differs between threads, and what T.Parallel leaves behind in private storage. */
#include "sema/builder.h"

/* -- Divergence ----------------------------------------------------------------------------------
 */
void note_divergent_var(struct sema *s, struct var *v) {
    vec_push(s->arena, &s->tile->divergent_vars, v);
}

void note_divergent_buffer(struct sema *s, struct buffer *b) {
    vec_push(s->arena, &s->tile->divergent_buffers, b);
}

bool is_divergent(struct sema *s, struct expr *e) {
    if (expr_uses_kind(e, VAR_THREAD)) return true;
    for (int i = 0; i < s->tile->divergent_vars.count; i++)
        if (expr_uses_var(e, s->tile->divergent_vars.at[i])) return true;
    for (int i = 0; i < s->tile->divergent_buffers.count; i++)
        if (expr_uses_buffer(e, s->tile->divergent_buffers.at[i])) return true;
    return false;
}

void check_private(struct sema *s, struct kernel *k) {
    (void)s;
    (void)k;
}
