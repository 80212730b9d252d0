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

/* -- What comes round ----------------------------------------------------------------------------
 */
/* While a loop's body was built, only what stands before was known to differ between threads. What
 * a round leaves behind decides in the next one, and threads that left a loop do not come to the
 * start of its body again. So the finished text is walked until nothing new differs, and then for
 * operations that need all threads where only some come. */
struct comings {
    struct sema *s;
    const struct kernel *kernel;
    int32_t some; /* branches and loops around that only some threads take */
    bool left;    /* some threads have left the rest of the loop's body, */
    bool gone;    /* or the loop */
    bool changed, report;
};

static void comings_block(struct comings *w, const struct block *b);

static bool var_is_noted(const struct sema *s, const struct var *v) {
    for (int i = 0; i < s->tile->divergent_vars.count; i++)
        if (s->tile->divergent_vars.at[i] == v) return true;
    return false;
}

static bool buffer_is_noted(const struct sema *s, const struct buffer *b) {
    for (int i = 0; i < s->tile->divergent_buffers.count; i++)
        if (s->tile->divergent_buffers.at[i] == b) return true;
    return false;
}

static void comings_value(struct comings *w, const struct stmt *st) {
    struct sema *s = w->s;
    bool some = w->some || w->left;
    if (st->kind == STMT_STORE) {
        bool differs = some || is_divergent(s, st->store.value);
        for (int i = 0; i < st->store.count; i++) differs |= is_divergent(s, st->store.index[i]);
        if (!differs || st->store.buffer->scope != SCOPE_LOCAL) return;
        if (buffer_is_noted(s, st->store.buffer)) return;
        note_divergent_buffer(s, st->store.buffer);
    } else {
        if (!some && !is_divergent(s, st->let.value)) return;
        if (var_is_noted(s, st->let.var)) return;
        note_divergent_var(s, st->let.var);
    }
    w->changed = true;
}

/* After a loop all threads are together again. In a loop that some leave earlier, the body is for
 * some. */
static void comings_loop(struct comings *w, const struct block *body, bool differs) {
    bool left = w->left, gone = w->gone;
    for (int round = 0; round < 2; round++) {
        w->gone = w->left = false;
        w->some += differs;
        comings_block(w, body);
        w->some -= differs;
        if (!w->gone || differs) break;
        differs = true;
    }
    w->left = left;
    w->gone = gone;
}

static void comings_branch(struct comings *w, const struct stmt *st) {
    bool differs = is_divergent(w->s, st->branch.test), left = w->left;
    w->some += differs;
    comings_block(w, &st->branch.then);
    bool then_left = w->left;
    w->left = left;
    comings_block(w, &st->branch.otherwise);
    w->left |= then_left;
    w->some -= differs;
}

static void comings_tile(struct comings *w, const struct stmt *st) {
    if (!w->report || !(w->some || w->left)) return;
    sema_error(w->s, st->span, E0411,
               "this needs all %d threads of the block, but only some threads come here after the "
               "first round of a loop around it",
               w->kernel->threads);
    w->report = false;
}

static void comings_stmt(struct comings *w, const struct stmt *st) {
    switch (st->kind) {
    case STMT_FOR:
        comings_loop(w, &st->loop.body,
                     is_divergent(w->s, st->loop.lo) || is_divergent(w->s, st->loop.hi));
        break;
    case STMT_WHILE: comings_loop(w, &st->repeat.body, is_divergent(w->s, st->repeat.test)); break;
    case STMT_IF: comings_branch(w, st); break;
    case STMT_BREAK:
    case STMT_CONTINUE:
        w->left |= w->some || w->left;
        w->gone |= st->kind == STMT_BREAK && w->left;
        break;
    case STMT_LET:
    case STMT_SET:
    case STMT_STORE: comings_value(w, st); break;
    case STMT_MAP:
    case STMT_COPY:
    case STMT_GEMM:
    case STMT_REDUCE: comings_tile(w, st); break;
    default: break;
    }
}

static void comings_block(struct comings *w, const struct block *b) {
    for (const struct stmt *st = b->first; st; st = st->next) comings_stmt(w, st);
}

void check_comings(struct sema *s, const struct kernel *k) {
    struct comings w = {.s = s, .kernel = k, .changed = true};
    while (w.changed) {
        w.changed = false;
        comings_block(&w, &k->body);
    }
    w.report = true;
    comings_block(&w, &k->body);
}

/* -- Private storage written in T.Parallel -------------------------------------------------------
 */
/* What an iteration leaves in a variable or private array belongs to whichever element the thread
 * did last. A reading that may see it is an error, unless every thread does one element in both
 * loops. The walk follows the text; a loop around is walked twice, for what comes round. */
struct storage { /* a variable or a private array that some T.Parallel wrote */
    const struct var *var;
    const struct buffer *buffer;
    const struct stmt *map; /* the last T.Parallel that wrote it; NULL: overwritten since */
    bool reported;
};

struct walk {
    struct sema *s;
    struct kernel *kernel;
    const struct stmt *map; /* the T.Parallel we are in */
    const struct stmt *at;  /* the statement that reads */
    int32_t conditional;    /* branches and loops around, that may not be executed */
    int32_t depth;
    VEC(struct storage) list;
    VEC(struct storage) here; /* written earlier in this iteration */
};

static bool is_same(const struct storage *a, const struct var *var, const struct buffer *buffer) {
    return a->var == var && a->buffer == buffer;
}

static struct storage *storage_of(struct walk *w, const struct var *var,
                                  const struct buffer *buffer) {
    for (int i = 0; i < w->list.count; i++)
        if (is_same(&w->list.at[i], var, buffer)) return &w->list.at[i];
    struct storage new = {.var = var, .buffer = buffer};
    vec_push(w->s->arena, &w->list, new);
    return &w->list.at[w->list.count - 1];
}

static bool one_element_a_thread(const struct walk *w, const struct stmt *map) {
    int64_t count = 1;
    for (int i = 0; i < map->map.domain.rank; i++) count *= map->map.domain.extent[i];
    return count == w->kernel->threads;
}

struct write_search {
    const struct var *var;
    const struct buffer *buffer;
    bool found;
};

static void search_write(struct stmt *st, void *data) {
    struct write_search *w = data;
    if (st->kind == STMT_SET && w->var && st->let.var == w->var) w->found = true;
    if (st->kind == STMT_STORE && w->buffer && st->store.buffer == w->buffer) w->found = true;
}

static const struct stmt *culprit(struct walk *w, const struct storage *known,
                                  const struct var *var, const struct buffer *buffer) {
    if (w->map) {
        for (int i = 0; i < w->here.count; i++)
            if (is_same(&w->here.at[i], var, buffer)) return NULL;
        struct write_search search = {var, buffer, false};
        struct block body = w->map->map.body;
        block_walk(&body, search_write, &search);
        if (search.found && !one_element_a_thread(w, w->map)) return w->map;
    }
    if (!known->map) return NULL;
    bool same_element =
        w->map && one_element_a_thread(w, w->map) && one_element_a_thread(w, known->map);
    return same_element ? NULL : known->map;
}

static void read_storage(struct walk *w, const struct var *var, const struct buffer *buffer) {
    struct storage *known = storage_of(w, var, buffer);
    const struct stmt *map = culprit(w, known, var, buffer);
    if (!map || known->reported) return;
    known->reported = true;
    const char *name = var ? var->name->text : buffer->name->text;
    sema_error(w->s, w->at->span, E0409,
               "'%s' is written in a T.Parallel and lives for one of its iterations; this reads it "
               "%s; a fragment keeps a value for each element",
               name, map == w->map ? "before the iteration writes it" : "after the loop");
    diag_note(w->s->diag, map->span, "the loop that writes '%s'", name);
}

static void read_expr(struct walk *w, const struct expr *e) {
    if (!(e->uses_kinds & 1u << VAR_MUTABLE) && !expr_has_load(e)) return;
    if (e->kind == EXPR_VAR && e->var->kind == VAR_MUTABLE) read_storage(w, e->var, NULL);
    if (e->kind == EXPR_LOAD && e->buffer->scope == SCOPE_LOCAL) read_storage(w, NULL, e->buffer);
    for (int i = 0; i < e->count; i++) read_expr(w, e->args[i]);
}

static void visit_read(struct expr **e, void *data) {
    if (*e) read_expr(data, *e);
}

static void write_storage(struct walk *w, const struct var *var, const struct buffer *buffer) {
    struct storage *known = storage_of(w, var, buffer);
    if (w->map) {
        known->map = w->map;
        struct storage written = {.var = var, .buffer = buffer};
        vec_push(w->s->arena, &w->here, written);
    } else if (!w->conditional) {
        known->map = NULL;
    }
}

static void walk_block(struct walk *w, struct block *b);

/* A body that may be left out: what it writes does not count as written afterwards. */
static void walk_maybe(struct walk *w, struct block *b, bool certain) {
    int32_t here = w->here.count;
    w->conditional += !certain;
    walk_block(w, b);
    w->conditional -= !certain;
    if (!certain) w->here.count = here;
}

static void walk_loop(struct walk *w, struct block *b, bool certain) {
    w->depth++;
    walk_maybe(w, b, certain);
    if (!w->map && w->depth <= 6) walk_maybe(w, b, certain);
    w->depth--;
}

static bool runs_once(const struct stmt *st) {
    int64_t lo, hi;
    return expr_is_int(st->loop.lo, &lo) && expr_is_int(st->loop.hi, &hi) && lo < hi;
}

static bool writes_directly(const struct block *b, const struct storage *what) {
    struct write_search search = {what->var, what->buffer, false};
    for (struct stmt *st = b->first; st; st = st->next) search_write(st, &search);
    return search.found;
}

/* What both branches write is written. */
static void walk_branch(struct walk *w, struct stmt *st) {
    walk_maybe(w, &st->branch.then, false);
    walk_maybe(w, &st->branch.otherwise, false);
    for (int i = 0; w->map && i < w->list.count; i++)
        if (writes_directly(&st->branch.then, &w->list.at[i]) &&
            writes_directly(&st->branch.otherwise, &w->list.at[i]))
            vec_push(w->s->arena, &w->here, w->list.at[i]);
}

static void walk_stmt(struct walk *w, struct stmt *st) {
    w->at = st;
    stmt_expressions(st, visit_read, w);
    switch (st->kind) {
    case STMT_FOR: walk_loop(w, &st->loop.body, runs_once(st)); break;
    case STMT_WHILE: walk_loop(w, &st->repeat.body, false); break;
    case STMT_IF: walk_branch(w, st); break;
    case STMT_MAP:
        w->map = st;
        w->here.count = 0;
        walk_block(w, &st->map.body);
        w->map = NULL;
        break;
    case STMT_SET: write_storage(w, st->let.var, NULL); break;
    case STMT_STORE:
        if (st->store.buffer->scope == SCOPE_LOCAL) write_storage(w, NULL, st->store.buffer);
        break;
    case STMT_PRINT:
        if (st->print.buffer && st->print.buffer->scope == SCOPE_LOCAL)
            read_storage(w, NULL, st->print.buffer);
        break;
    case STMT_BREAK:
    case STMT_CONTINUE:
    case STMT_LET:
    case STMT_ATOMIC:
    case STMT_ASSERT:
    case STMT_COPY:
    case STMT_GEMM:
    case STMT_REDUCE:
    case STMT_BARRIER:
    case STMT_COMMIT:
    case STMT_WAIT: break;
    }
}

static void walk_block(struct walk *w, struct block *b) {
    for (struct stmt *st = b->first; st; st = st->next) walk_stmt(w, st);
}

void check_private(struct sema *s, struct kernel *k) {
    struct walk w = {.s = s, .kernel = k};
    walk_block(&w, &k->body);
}
