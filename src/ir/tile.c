/* tile.c: builders of modules, buffers, statements and their lists. */
#include "ir/tile.h"
#include "ir/internal.h"

struct module *module_new(struct arena *a, struct interns *names, struct diag *d,
                          const struct source *s, const struct target *t) {
    struct module *m = arena_make(a, struct module);
    m->arena = a;
    m->names = names;
    m->diag = d;
    m->source = s;
    m->target = t;
    m->answers = arena_make(a, struct answers);
    *m->answers = answers_none();
    m->exprs = exprs_new(a);
    m->level = LEVEL_TILE;
    return m;
}

struct buffer *buffer_new(struct module *m, struct function_ir *f, struct kernel *k,
                          enum scope scope, struct sym *name, enum dtype dtype, int rank,
                          const int32_t *extent) {
    struct buffer *b = arena_make(m->arena, struct buffer);
    b->name = name;
    b->id = f->buffer_count++;
    b->scope = scope;
    b->dtype = dtype;
    b->rank = rank;
    for (int i = 0; i < rank && extent; i++) b->extent[i] = extent[i];
    b->annotation = b->layout = layout_none();
    b->offset = -1;
    if (k)
        vec_push(m->arena, &k->buffers, b);
    else
        vec_push(m->arena, &f->globals, b);
    return b;
}

struct stmt *stmt_new(struct module *m, enum stmt_kind kind, struct span span) {
    struct stmt *s = arena_make(m->arena, struct stmt);
    s->kind = kind;
    s->span = span;
    if (kind == STMT_MAP) s->map.domain.layout = layout_none();
    if (kind == STMT_COPY) s->copy.domain.layout = layout_none();
    if (kind == STMT_GEMM) s->gemm.atom = -1;
    if (kind == STMT_FOR) s->loop.stages = -1;
    return s;
}

/* -- lists
 * ----------------------------------------------------------------------------------------- */
void block_append(struct block *b, struct stmt *s) {
    s->next = NULL;
    if (b->last)
        b->last->next = s;
    else
        b->first = s;
    b->last = s;
}

static struct stmt *before(const struct block *b, const struct stmt *at) {
    struct stmt *s = b->first;
    if (s == at) return NULL;
    while (s && s->next != at) s = s->next;
    return s;
}

void block_insert_after(struct block *b, struct stmt *at, struct stmt *s) {
    s->next = at->next;
    at->next = s;
    if (b->last == at) b->last = s;
}

void block_insert_before(struct block *b, struct stmt *at, struct stmt *s) {
    struct stmt *previous = before(b, at);
    s->next = at;
    if (previous)
        previous->next = s;
    else
        b->first = s;
}

void block_remove(struct block *b, struct stmt *s) {
    struct stmt *previous = before(b, s);
    if (previous)
        previous->next = s->next;
    else
        b->first = s->next;
    if (b->last == s) b->last = previous;
    s->next = NULL;
}

/* -- buffers
 * --------------------------------------------------------------------------------------- */
/* A tensor's extent that is only known at run time counts as the largest it can be. */
static int32_t axis_extent(const struct buffer *b, int axis) {
    if (b->scope != SCOPE_GLOBAL) return b->extent[axis];
    int64_t most = b->dim[axis]->hi;
    return most > INT32_MAX ? INT32_MAX : most < 0 ? 0 : (int32_t)most;
}

struct region region_whole(struct module *m, struct buffer *b) {
    struct region r = {.buffer = b};
    for (int i = 0; i < b->rank; i++) {
        r.base[i] = expr_index(m->exprs, 0);
        r.extent[i] = axis_extent(b, i);
    }
    return r;
}

bool buffers_meet(const struct buffer *a, const struct buffer *b) {
    while (a->alias) a = a->alias;
    while (b->alias) b = b->alias;
    return a == b || (a->no_restrict && b->no_restrict);
}

bool expr_reads(const struct expr *e, const struct buffer *b) {
    if (e->kind == EXPR_LOAD && buffers_meet(e->buffer, b)) return true;
    for (int i = 0; i < e->count; i++)
        if (expr_reads(e->args[i], b)) return true;
    return false;
}

bool buffer_is_constant(const struct buffer *b) {
    return b->scope == SCOPE_GLOBAL && !b->written && !b->no_restrict;
}

int64_t buffer_elements(const struct buffer *b) {
    int64_t count = 1;
    for (int i = 0; i < b->rank; i++) count *= b->extent[i];
    return count;
}

/* -- the target
 * ------------------------------------------------------------------------------------------ */
bool module_has(const struct module *m, enum feature f) {
    return answer_has(m->answers, m->target, f);
}

bool module_at_least(const struct module *m, enum trait k, int64_t n) {
    return answer_at_least(m->answers, m->target, k, n);
}

int64_t module_trait(const struct module *m, enum trait k) {
    return answer_value(m->answers, m->target, k);
}

const struct mma_row *module_mma(const struct module *m, enum dtype a, enum dtype b,
                                 enum dtype acc) {
    enum dtype read = a == DTYPE_F32 ? DTYPE_TF32 : a; /* as mma_find has it */
    for (int i = 0; i < mma_count(); i++)              /* those that it may choose among */
        if (mma_row(i)->a == read) module_at_least(m, TRAIT_CAPABILITY, mma_row(i)->capability);
    return mma_find(m->target, a, b, acc);
}

const char *module_target_name(const struct module *m) {
    module_trait(m, TRAIT_CAPABILITY);
    return m->target->name;
}

/* -- names
 * ----------------------------------------------------------------------------------------- */
static bool kernel_uses(const struct kernel *k, const struct sym *name) {
    if (k->name == name) return true;
    for (int i = 0; i < k->buffers.count; i++)
        if (k->buffers.at[i]->name == name) return true;
    return false;
}

static bool function_uses(const struct function_ir *f, const struct sym *name) {
    for (int i = 0; i < f->params.count; i++)
        if (f->params.at[i].name == name) return true;
    for (int i = 0; i < f->kernels.count; i++)
        if (kernel_uses(f->kernels.at[i], name)) return true;
    return f->name == name;
}

static bool name_is_used(const struct module *m, const struct sym *name) {
    for (int i = 0; i < m->issued.count; i++)
        if (m->issued.at[i] == name) return true;
    for (int i = 0; i < exprs_vars(m->exprs); i++)
        if (exprs_var(m->exprs, i)->name == name) return true;
    for (int i = 0; i < m->functions.count; i++)
        if (function_uses(m->functions.at[i], name)) return true;
    return false;
}

struct sym *module_name(struct module *m, const char *base) {
    struct sym *name = intern_text(m->names, base);
    for (int i = 1; name_is_used(m, name); i++)
        name = intern_text(m->names, arena_printf(m->arena, "%s_%d", base, i));
    vec_push(m->arena, &m->issued, name);
    return name;
}

bool region_is_whole(const struct region *r) {
    for (int i = 0; i < r->buffer->rank; i++) {
        int64_t base = 0;
        if (r->extent[i] != r->buffer->extent[i]) return false;
        if (r->base[i] && (!expr_is_int(r->base[i], &base) || base != 0)) return false;
    }
    return true;
}
