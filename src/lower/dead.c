/* dead.c: drops what computes values that nothing needs.
 *
 * What a thread does to memory or tells other threads is needed, and so is what goes into that, and
 * the branches and loops around it. This is found from the end backwards, until nothing is added:
 * a register that is only ever written, or only to compute itself, is not. The rest goes, with the
 * declarations, and with loops and branches that have become empty. */
#include "internal.h"

struct node {
    struct kstmt *s;
    int parent; /* -1: none */
    bool live;
};

struct life {
    struct kernel_code *code;
    struct arena *arena;
    bool *array, *var, *local; /* by id: somebody needs the value */
    VEC(struct node) nodes;    /* outermost first */
    int next;                  /* while dropping */
    bool grew;
};

static void add_nodes(struct life *l, struct kblock *b, int parent) {
    struct kstmt *s;
    int self;

    for (s = b->first; s; s = s->next) {
        self = l->nodes.count;
        vec_push(l->arena, &l->nodes, ((struct node){s, parent, false}));
        if (s->kind == K_FOR) {
            add_nodes(l, &s->loop.body, self);
        } else if (s->kind == K_WHILE) {
            add_nodes(l, &s->repeat.body, self);
        } else if (s->kind == K_IF) {
            add_nodes(l, &s->branch.then, self);
            add_nodes(l, &s->branch.otherwise, self);
        }
    }
}

/* -- what is needed
 * -------------------------------------------------------------------------------------- */
static void need_expression(struct life *l, const struct expr *e) {
    int i;

    if (e->kind == EXPR_ELEMENT) l->array[e->array->id] = true;
    if (e->kind == EXPR_VAR) l->var[e->var->id] = true;
    for (i = 0; i < e->count; i++) need_expression(l, e->args[i]);
}

static void need_each(struct expr **e, void *data) { need_expression(data, *e); }

static bool is_local(const struct address *a) { return a->buffer->scope == SCOPE_LOCAL; }

static void make_live(struct life *l, struct node *n) {
    struct kstmt *s = n->s;

    n->live = l->grew = true;
    kstmt_expressions(s, need_each, l);
    if (s->kind == K_STORE && s->memory.data.array) l->array[s->memory.data.array->id] = true;
    if (s->kind == K_STMATRIX) l->array[s->matrix.data.array->id] = true;
    if (s->kind == K_MMA) {
        l->array[s->mma.a.array->id] = true;
        l->array[s->mma.b.array->id] = true;
    }
    if (s->kind == K_LOAD && is_local(&s->memory.address))
        l->local[s->memory.address.buffer->id] = true;
    if (n->parent >= 0 && !l->nodes.at[n->parent].live) make_live(l, &l->nodes.at[n->parent]);
}

/* Does the loop around it run? */
static bool loop_lives(const struct life *l, const struct node *n) {
    int i = n->parent;

    while (i >= 0 && l->nodes.at[i].s->kind != K_FOR && l->nodes.at[i].s->kind != K_WHILE)
        i = l->nodes.at[i].parent;
    return i >= 0 && l->nodes.at[i].live;
}

static bool is_needed(const struct life *l, const struct node *n) {
    const struct kstmt *s = n->s;

    switch (s->kind) {
    case K_VAR:
    case K_SET: return l->var[s->set.var->id];
    case K_ARRAY: return l->array[s->array->id];
    case K_PUT: return l->array[s->put.to.array->id];
    case K_LOAD:
        return s->memory.data.array ? l->array[s->memory.data.array->id]
                                    : l->var[s->memory.var->id];
    case K_LDMATRIX: return l->array[s->matrix.data.array->id];
    case K_MMA: return l->array[s->mma.d.array->id];
    case K_STORE: return !is_local(&s->memory.address) || l->local[s->memory.address.buffer->id];
    case K_BREAK:
    case K_CONTINUE: return loop_lives(l, n);
    case K_FOR:
    case K_WHILE:
    case K_IF: /* for what is in them */
    case K_COMMENT: return false;
    default: return true;
    }
}

static void find_needed(struct life *l) {
    int i;

    do {
        l->grew = false;
        for (i = l->nodes.count - 1; i >= 0; i--)
            if (!l->nodes.at[i].live && is_needed(l, &l->nodes.at[i]))
                make_live(l, &l->nodes.at[i]);
    } while (l->grew);
}

/* -- dropping the rest
 * ----------------------------------------------------------------------------------- */
static void forget_variable(struct life *l, const struct kstmt *s) {
    if (s->kind != K_VAR) return;
    if (l->code->lane == s->set.var) l->code->lane = NULL;
    if (l->code->warp == s->set.var) l->code->warp = NULL;
}

/* A comment goes with all that it speaks of, if that was anything. */
static void drop_from(struct life *l, struct kblock *b) {
    struct kblock kept = {NULL, NULL};
    struct kstmt *s, *next, *comment = NULL;
    bool dropped = false, live;

    for (s = b->first; s; s = next) {
        next = s->next;
        live = l->nodes.at[l->next++].live;
        if (s->kind == K_FOR) {
            drop_from(l, &s->loop.body);
        } else if (s->kind == K_WHILE) {
            drop_from(l, &s->repeat.body);
        } else if (s->kind == K_IF) {
            drop_from(l, &s->branch.then);
            drop_from(l, &s->branch.otherwise);
        }
        if (s->kind == K_COMMENT || live) {
            if (comment && (live || !dropped)) kblock_append(&kept, comment);
            comment = s->kind == K_COMMENT ? s : NULL;
            dropped = false;
            if (live) kblock_append(&kept, s);
        } else {
            dropped = true;
            forget_variable(l, s);
        }
    }
    if (comment && !dropped) kblock_append(&kept, comment);
    *b = kept;
}

static void drop_locals(struct life *l) {
    int kept = 0, i;

    for (i = 0; i < l->code->locals.count; i++)
        if (l->local[l->code->locals.at[i]->id]) l->code->locals.at[kept++] = l->code->locals.at[i];
    l->code->locals.count = kept;
}

/* An atomic whose old value nobody needs does not ask for it. */
static void forget_previous(struct kstmt *s, void *data) {
    const struct life *l = data;

    if (s->kind == K_ATOMIC && s->atomic.previous && !l->var[s->atomic.previous->id])
        s->atomic.previous = NULL;
}

void drop_dead(struct module *m, struct kernel *k) {
    struct life l = {.code = k->code, .arena = arena_new()};

    l.array = arena_array(l.arena, bool, k->code->arrays.count + 1);
    l.var = arena_array(l.arena, bool, exprs_vars(m->exprs) + 1);
    l.local = arena_array(l.arena, bool, k->function->buffer_count + 1);
    add_nodes(&l, &k->code->body, -1);
    find_needed(&l);
    drop_from(&l, &k->code->body);
    drop_locals(&l);
    kblock_walk(&k->code->body, forget_previous, &l);
    if (k->code->thread && !l.var[k->code->thread->id]) k->code->thread = k->thread = NULL;
    arena_free(l.arena);
}
