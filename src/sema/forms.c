/* forms.c: launches, their indices, and allocation. */
#include "sema/builder.h"

void builder_begin(struct sema *s) {
    s->tile = arena_make(s->arena, struct tile_state);
    s->map = NULL;
}

void builder_end(struct sema *s) {
    for (int i = 0; i < s->function->kernels.count; i++)
        check_private(s, s->function->kernels.at[i]);
}

/* -- T.Kernel ------------------------------------------------------------------------------------
 */
static const int64_t grid_limit[3] = {INT32_MAX, 65535, 65535};

static bool grid_extent(struct sema *s, const struct argument *a, int axis, struct launch *l) {
    struct expr *e = value_index(s, a->value, a->span);
    int64_t n;
    if (!e) return false;
    if (expr_is_int(e, &n) && (n < 0 || n > grid_limit[axis])) {
        sema_error(s, a->span, E0403, "grid axis %d has %lld blocks; 0 to %lld are possible", axis,
                   (long long)n, (long long)grid_limit[axis]);
        return false;
    }
    if (expr_has_load(e) || expr_uses_kind(e, VAR_MUTABLE)) {
        sema_error(s, a->span, E0403,
                   "grid axis %d depends on the contents of a buffer; only "
                   "dimensions and scalar parameters are known at the launch",
                   axis);
        return false;
    }
    l->grid[axis] = e;
    return true;
}

static int read_threads(struct sema *s, struct value v, struct span span, struct launch *l) {
    bool list = v.kind == VALUE_TUPLE || v.kind == VALUE_LIST;
    int count = list ? v.sequence->items.count : 1;
    if (count < 1 || count > 3) {
        sema_error(s, span, E0402, "'threads' has %d extents; 1 to 3 are possible", count);
        return 0;
    }
    for (int i = 0; i < count; i++) {
        int64_t n;
        if (!want_int(s, list ? v.sequence->items.at[i] : v, span, "threads", &n)) return 0;
        if (n < 1 || n > 1024) {
            sema_error(s, span, E0402, "%lld threads on an axis; a block has 32 to 1024 in all",
                       (long long)n);
            return 0;
        }
        l->thread_extent[i] = (int32_t)n;
    }
    return count;
}

static bool launch_threads(struct sema *s, const struct call *c, struct launch *l) {
    int at = call_find(c, "threads");
    l->thread_extent[0] = 128;
    l->thread_extent[1] = l->thread_extent[2] = 1;
    l->thread_rank = 1;
    if (!call_given(c, at)) return true;
    if (value_is_bad(c->arg[at])) return false;
    l->thread_rank = read_threads(s, c->arg[at], c->arg_span[at], l);
    if (!l->thread_rank) return false;
    int64_t total = (int64_t)l->thread_extent[0] * l->thread_extent[1] * l->thread_extent[2];
    if (total % 32 == 0 && total <= 1024) return true;
    int64_t up = (total + 31) / 32 * 32;
    sema_error(
        s, c->arg_span[at], E0402,
        "a block of %lld threads is not possible; %lld is the nearest multiple of 32 up to 1024",
        (long long)total, (long long)(up > 1024 ? 1024 : up));
    return false;
}

struct value build_kernel(struct sema *s, const struct call *c) {
    struct launch *l = arena_make(s->arena, struct launch);
    int rank = c->rest.list.count, prelude = call_find(c, "prelude");
    l->span = c->span;
    l->rank = rank;
    if (call_given(c, prelude))
        return sema_bad(s, c->arg_span[prelude], E0401,
                        "'prelude' of T.Kernel is not supported yet");
    if (rank > 3)
        return sema_bad(s, c->span, E0403, "'T.Kernel' takes at most 3 grid extents, got %d", rank);
    if (rank == 0) { /* one block */
        l->rank = 1;
        l->grid[0] = expr_index(s->exprs, 1);
    }
    for (int i = 0; i < rank; i++)
        if (value_is_bad(c->rest.list.at[i].value) || !grid_extent(s, &c->rest.list.at[i], i, l))
            return value_bad();
    if (!launch_threads(s, c, l)) return value_bad();
    return (struct value){.kind = VALUE_LAUNCH, .launch = l};
}

static struct sym *block_name(struct sema *s, const struct ast_expr *target, int i) {
    static const char *const names[3] = {"bx", "by", "bz"};
    bool list = target && (target->kind == AST_TUPLE || target->kind == AST_LIST);
    if (!target || (!list && target->kind != AST_NAME)) return intern_text(s->names, names[i]);
    return target_name(s, target, i);
}

static struct kernel *kernel_new(struct sema *s, const struct launch *l,
                                 const struct ast_with *item) {
    struct kernel *k = arena_make(s->arena, struct kernel);
    const struct sym *name = s->function->name ? s->function->name : s->function->unit;
    k->name =
        module_name(s->module, arena_printf(s->arena, "%s_kernel", name ? name->text : "tile"));
    k->span = item->value->span;
    k->function = s->function;
    k->grid_rank = l->rank;
    k->threads = 1;
    for (int i = 0; i < 3; i++) {
        k->thread_extent[i] = l->thread_extent[i];
        k->threads *= l->thread_extent[i];
        if (i >= l->rank) continue;
        struct var *v =
            var_new(s->exprs, VAR_BLOCK, block_name(s, item->target, i), DTYPE_INDEX, l->span);
        k->grid[i] = l->grid[i];
        k->block[i] = v;
        v->lo = 0;
        v->hi = l->grid[i]->hi < grid_limit[i] ? l->grid[i]->hi - 1 : grid_limit[i] - 1;
        if (v->hi < 0) v->hi = 0;
        v->divisor = v->hi == 0 ? 0 : 1;
    }
    vec_push(s->arena, &s->function->kernels, k);
    return k;
}

/* One axis gives a variable, or a 1-tuple where the target is one. */
static struct value block_variables(struct sema *s, const struct kernel *k,
                                    const struct ast_expr *target) {
    struct value item[3];
    for (int i = 0; i < k->grid_rank; i++) item[i] = value_ir(expr_var(s->exprs, k->block[i]));
    bool list = target && (target->kind == AST_TUPLE || target->kind == AST_LIST);
    if (k->grid_rank == 1 && !list) return item[0];
    return value_sequence(s, VALUE_TUPLE, k->grid_rank, item);
}

void form_with(struct sema *s, struct env *e, const struct ast_stmt *with) {
    const struct ast_with *item = with->with.items;
    struct value v = eval_expr(s, e, item->value);
    if (value_is_bad(v)) return;
    if (v.kind != VALUE_LAUNCH || item->next) {
        sema_error(s, item->next ? with->span : item->value->span, E0413,
                   "'with' opens one T.Kernel(…) here, not %s",
                   item->next ? "several things" : value_kind_name(v));
        return;
    }
    if (s->kernel || !s->function) {
        sema_error(s, with->span, E0412,
                   s->kernel ? "a T.Kernel stands inside another one"
                             : "a T.Kernel stands outside a T.prim_func");
        return;
    }
    struct kernel *k = kernel_new(s, v.launch, item);
    s->kernel = k;
    memset(s->tile, 0, sizeof *s->tile);
    struct env *inner = region_open(s, ENV_WITH, e, &k->body, with->span);
    if (item->target) assign_target(s, inner, item->target, block_variables(s, k, item->target));
    exec_block(s, inner, with->with.body);
    region_close(s, inner);
    check_comings(s, k);
    s->kernel = NULL;
}

/* -- Indices of the launch -----------------------------------------------------------------------
 */
static int kernel_thread_rank(const struct kernel *k) {
    return k->thread_extent[2] > 1 ? 3 : k->thread_extent[1] > 1 ? 2 : 1;
}

static struct expr *thread_index(struct sema *s, int dim) {
    struct kernel *k = s->kernel;
    struct exprs *x = s->exprs;
    if (!k->thread) {
        k->thread = var_new(x, VAR_THREAD, intern_text(s->names, "tx"), DTYPE_INDEX, k->span);
        k->thread->lo = 0;
        k->thread->hi = k->threads - 1;
        k->thread->divisor = 1;
    }
    int32_t below = dim == 0   ? 1
                    : dim == 1 ? k->thread_extent[0]
                               : k->thread_extent[0] * k->thread_extent[1];
    struct expr *e = expr_binary(x, FN_FLOORDIV, expr_var(x, k->thread), expr_index(x, below));
    bool last = (int64_t)below * k->thread_extent[dim] == k->threads;
    return last ? e : expr_binary(x, FN_FLOORMOD, e, expr_index(x, k->thread_extent[dim]));
}

static bool wanted_axis(struct sema *s, const struct call *c, int rank, int *dim) {
    bool good = call_in_kernel(s, c);
    int64_t n = call_int(s, c, 0, 0, &good);
    if (!good) return false;
    if (n < 0 || n >= rank) {
        sema_error(s, c->span, E0404, "axis %lld of 'T.%s'; this launch has %d", (long long)n,
                   c->row->name, rank);
        return false;
    }
    *dim = (int)n;
    return true;
}

struct value build_thread_binding_of(struct sema *s, const struct call *c) {
    int dim;
    return wanted_axis(s, c, 3, &dim) ? value_ir(thread_index(s, dim)) : value_bad();
}

struct value build_block_binding_of(struct sema *s, const struct call *c) {
    int dim, rank = s->kernel ? s->kernel->grid_rank : 3;
    if (!wanted_axis(s, c, rank, &dim)) return value_bad();
    return value_ir(expr_var(s->exprs, s->kernel->block[dim]));
}

static struct value all_axes(struct sema *s, const struct call *c, int rank,
                             struct value (*one)(struct sema *s, int dim)) {
    struct value item[3];
    if (!call_in_kernel(s, c)) return value_bad();
    for (int i = 0; i < rank; i++) item[i] = one(s, i);
    return value_sequence(s, VALUE_TUPLE, rank, item);
}

static struct value one_thread(struct sema *s, int dim) { return value_ir(thread_index(s, dim)); }

static struct value one_block(struct sema *s, int dim) {
    return value_ir(expr_var(s->exprs, s->kernel->block[dim]));
}

static struct value one_thread_extent(struct sema *s, int dim) {
    return value_int(s->kernel->thread_extent[dim]);
}

static struct value one_block_extent(struct sema *s, int dim) {
    int64_t n;
    struct expr *e = s->kernel->grid[dim];
    return expr_is_int(e, &n) ? value_int(n) : value_ir(e);
}

struct value build_thread_bindings(struct sema *s, const struct call *c) {
    return all_axes(s, c, s->kernel ? kernel_thread_rank(s->kernel) : 0, one_thread);
}

struct value build_block_bindings(struct sema *s, const struct call *c) {
    return all_axes(s, c, s->kernel ? s->kernel->grid_rank : 0, one_block);
}

struct value build_thread_extents(struct sema *s, const struct call *c) {
    return all_axes(s, c, s->kernel ? kernel_thread_rank(s->kernel) : 0, one_thread_extent);
}

struct value build_block_extents(struct sema *s, const struct call *c) {
    return all_axes(s, c, s->kernel ? s->kernel->grid_rank : 0, one_block_extent);
}

struct value build_thread_extent(struct sema *s, const struct call *c) {
    int dim;
    return wanted_axis(s, c, 3, &dim) ? one_thread_extent(s, dim) : value_bad();
}

struct value build_block_extent(struct sema *s, const struct call *c) {
    int dim, rank = s->kernel ? s->kernel->grid_rank : 3;
    return wanted_axis(s, c, rank, &dim) ? one_block_extent(s, dim) : value_bad();
}

/* -- Allocation ----------------------------------------------------------------------------------
 */
static struct buffer *allocate(struct sema *s, const struct call *c, enum scope scope,
                               const char *fallback) {
    int32_t extent[TILE_RANK];
    if (!call_in_kernel(s, c) || value_is_bad(c->arg[0]) || value_is_bad(c->arg[1])) return NULL;
    int rank = want_shape(s, c->arg[0], c->arg_span[0], "shape", extent);
    enum dtype type = want_dtype(s, c->arg[1], c->arg_span[1], "dtype");
    if (rank < 0 || type == DTYPE_NONE) return NULL;
    struct sym *name = c->naming ? c->naming : module_name(s->module, fallback);
    if (rank < 1 || rank > 5) {
        sema_error(s, c->arg_span[0], E0313, "'%s' has %d axes; 1 to 5 are possible", name->text,
                   rank);
        return NULL;
    }
    int64_t bytes = dtype_bytes(type);
    for (int i = 0; i < rank && bytes <= INT32_MAX; i++) bytes *= extent[i];
    if (bytes > INT32_MAX) {
        sema_error(s, c->arg_span[0], E0313, "'%s' %s of '%s' exceeds %d bytes", name->text,
                   extents_text(s, rank, extent), dtype_spelling(type), INT32_MAX);
        return NULL;
    }
    struct buffer *b =
        buffer_new(s->module, s->function, s->kernel, scope, name, type, rank, extent);
    b->span = c->span;
    return b;
}

static bool known_scope(struct sema *s, const struct call *c, const char *const *known,
                        const char **scope) {
    bool good = true;
    *scope = call_string(s, c, 2, known[0], &good);
    if (!good) return false;
    for (int i = 0; known[i]; i++)
        if (!strcmp(*scope, known[i])) return true;
    sema_error(s, c->arg_span[2], E0404, "'T.%s' has no scope \"%s\"; \"%s\" is the usual one",
               c->row->name, *scope, known[0]);
    return false;
}

static bool not_in_parallel(struct sema *s, const struct call *c) {
    if (!s->tile->parallel) return true;
    sema_error(s, c->span, E0405,
               "'T.%s' belongs to the block and cannot stand in T.Parallel; write it "
               "before the loop",
               c->row->name);
    return false;
}

struct value build_alloc_shared(struct sema *s, const struct call *c) {
    static const char *const known[] = {"shared.dyn", "shared", NULL};
    const char *scope;
    if (!known_scope(s, c, known, &scope)) return value_bad();
    struct buffer *b = allocate(s, c, SCOPE_SHARED, "shared");
    if (!b || !not_in_parallel(s, c)) return value_bad();
    b->static_shared = !strcmp(scope, "shared") || b->dtype == DTYPE_BOOL;
    return value_buffer(b);
}

struct value build_alloc_fragment(struct sema *s, const struct call *c) {
    static const char *const known[] = {"local.fragment", "local", NULL};
    const char *scope;
    if (!known_scope(s, c, known, &scope)) return value_bad();
    bool private = !strcmp(scope, "local");
    struct buffer *b = allocate(s, c, private ? SCOPE_LOCAL : SCOPE_FRAGMENT, "fragment");
    if (!b || (!private && !not_in_parallel(s, c))) return value_bad();
    b->parallel_private = private && s->tile->parallel;
    return value_buffer(b);
}

struct value build_alloc_local(struct sema *s, const struct call *c) {
    static const char *const known[] = {"local", "local.var", NULL};
    const char *scope;
    if (!known_scope(s, c, known, &scope)) return value_bad();
    struct buffer *b = allocate(s, c, SCOPE_LOCAL, "local");
    if (!b) return value_bad();
    b->parallel_private = s->tile->parallel != NULL;
    return value_buffer(b);
}

struct value build_alloc_var(struct sema *s, const struct call *c) {
    struct value init = c->arg[1];
    if (!call_in_kernel(s, c) || value_is_bad(c->arg[0]) || value_is_bad(init)) return value_bad();
    enum dtype type = want_dtype(s, c->arg[0], c->arg_span[0], "dtype");
    if (type == DTYPE_NONE) return value_bad();
    if (init.kind == VALUE_STRING) { /* alloc_var(dtype, "local.var") */
        if (strncmp(init.string->text, "local", 5))
            return sema_bad(s, c->arg_span[1], E0404,
                            "'T.alloc_var' has no scope \"%s\"; \"local.var\" is the usual one",
                            init.string->text);
        init = c->arg[2].kind == VALUE_STRING ? value_none() : c->arg[2];
    }
    struct sym *name = c->naming ? c->naming : module_name(s->module, "var");
    struct mutable *m = arena_make(s->arena, struct mutable);
    m->var = var_new(s->exprs, VAR_MUTABLE, name, type, c->span);
    struct value v = {.kind = VALUE_VAR, .mutable = m};
    if (init.kind != VALUE_ABSENT && init.kind != VALUE_NONE) form_set(s, v, init, c->span);
    return v;
}
