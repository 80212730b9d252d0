/* sim.c: launches, blocks and barriers: blocks run one after another, the warps of a block in turn
 * from barrier to barrier. */
#include "sim/internal.h"
#include <string.h>

enum {
    MOST_SHADOWED = 1 << 24, /* bytes of a tensor whose accesses are watched */
    MOST_SHUFFLED = 1 << 22  /* blocks */
};

/* -- the launcher's arithmetic
 * ----------------------------------------------------------------------- */
static union scalar host_scalar(const struct function_ir *f, const struct eval_args *args,
                                const struct expr *e) {
    union scalar a[4] = {{0}};
    if (e->kind == EXPR_INT) return (union scalar){.i = e->integer};
    if (e->kind == EXPR_FLOAT) return (union scalar){.f = e->number};
    if (e->kind == EXPR_VAR) {
        for (int i = 0; i < f->params.count; i++)
            if (f->params.at[i].var == e->var) return args->scalar[i];
        return a[0];
    }
    for (int i = 0; i < e->count && i < 4; i++) a[i] = host_scalar(f, args, e->args[i]);
    if (e->kind == EXPR_SELECT) return a[0].i ? a[1] : a[2];
    if (e->kind == EXPR_CAST) return scalar_cast(a[0], e->args[0]->dtype, e->dtype);
    return scalar_op(e->fn, e->args[0]->dtype, a);
}

int64_t sim_host_value(const struct function_ir *f, const struct eval_args *args,
                       const struct expr *e) {
    return host_scalar(f, args, e).i;
}

/* -- spaces
 * ------------------------------------------------------------------------------------------ */
static const struct buffer *root_of(const struct buffer *b) {
    while (b->alias) b = b->alias;
    return b;
}

/* From the first element to the end of the last. */
static int64_t tensor_bytes(struct machine *s, const struct buffer *b) {
    int64_t last = 0;
    for (int i = 0; i < b->rank; i++) {
        int64_t extent = sim_host_value(s->f, s->args, b->dim[i]);
        if (extent <= 0) return 0;
        last += (extent - 1) * sim_host_value(s->f, s->args, b->stride[i]);
    }
    return (last + 1) * dtype_bytes(b->dtype);
}

/* Tensors that the function writes; elements of one size, so each is a granule. */
static struct shadows *shadows_of(struct machine *s, const struct area *p) {
    if (!p->buffer->written || p->bytes > MOST_SHADOWED) return NULL;
    struct shadows *x = arena_make(s->arena, struct shadows);
    x->granule = p->element;
    x->data = p->data;
    x->name = p->buffer->name->text;
    x->at = arena_array(s->arena, struct shadow, p->bytes / p->element + 1);
    x->traces = arena_array(s->arena, struct trace, p->bytes / p->element + 1);
    return x;
}

static void add_tensors(struct machine *s) {
    for (int i = 0; i < s->f->params.count; i++) {
        const struct buffer *b = s->f->params.at[i].buffer;
        if (!b) continue;
        struct area *p = &s->spaces[b->id];
        *p = (struct area){.data = s->args->tensor[i]->data,
                           .buffer = b,
                           .element = dtype_bytes(b->dtype),
                           .bytes = tensor_bytes(s, b)};
        p->shadows = shadows_of(s, p);
    }
    for (int i = 0; i < s->f->globals.count; i++) {
        const struct buffer *b = s->f->globals.at[i], *root = root_of(b);
        if (b == root) continue;
        s->spaces[b->id] = s->spaces[root->id];
        s->spaces[b->id].element = dtype_bytes(b->dtype);
    }
}

static int64_t storage_bytes(const struct buffer *b) {
    int64_t count = buffer_elements(b);
    if (b->scope == SCOPE_SHARED && !layout_is_none(&b->layout)) {
        int64_t span = layout_span(&b->layout, SPACE_OFF);
        if (span > count) count = span;
    }
    return count * dtype_bytes(b->dtype);
}

static void add_buffer(struct machine *s, const struct buffer *b) {
    struct area *p = &s->spaces[b->id];
    const struct buffer *root = root_of(b);
    if (b != root) {
        *p = s->spaces[root->id];
        p->element = dtype_bytes(b->dtype);
        return;
    }
    *p = (struct area){.buffer = b, .element = dtype_bytes(b->dtype), .bytes = storage_bytes(b)};
    if (b->scope == SCOPE_SHARED) {
        p->offset = b->offset;
        if (p->offset + p->bytes > s->shared_bytes) s->shared_bytes = p->offset + p->bytes;
    } else {
        p->offset = s->program->local_bytes;
        s->program->local_bytes += (int32_t)((p->bytes + 15) / 16 * 16);
    }
}

static void add_buffers(struct machine *s, const struct kernel *k) {
    s->shared_bytes = 0;
    for (int i = 0; i < k->buffers.count; i++)
        if (k->buffers.at[i]->scope != SCOPE_FRAGMENT &&
            (k->buffers.at[i]->scope == SCOPE_LOCAL || root_of(k->buffers.at[i])->offset >= 0))
            add_buffer(s, k->buffers.at[i]);
    size_t bytes = (size_t)s->shared_bytes + 16;
    s->shared = arena_alloc(s->arena, bytes);
    s->shared_known = arena_alloc(s->arena, bytes);
    size_t count = bytes / (size_t)s->program->granule + 1;
    s->shadows = (struct shadows){.at = arena_array(s->arena, struct shadow, count),
                                  .data = s->shared,
                                  .granule = s->program->granule};
}

/* -- warps
 * ------------------------------------------------------------------------------------------- */
static void add_warps(struct machine *s, const struct kernel *k) {
    const struct program *p = s->program;
    s->warp_count = k->threads / LANES;
    s->warps = arena_array(s->arena, struct warp, s->warp_count);
    for (int i = 0; i < s->warp_count; i++) {
        struct warp *w = &s->warps[i];
        w->id = i;
        w->file = arena_array(s->arena, struct lanes, p->warp_slots + 1);
        w->known = arena_array(s->arena, struct known, p->warp_slots + 1);
        w->local = arena_alloc(s->arena, (size_t)p->local_bytes * LANES * 2 + 16);
    }
}

static void give(struct machine *s, const struct var *v, int64_t first, int64_t step) {
    if (!v || s->program->variable[v->id] == NO_SLOT) return;
    slot_t slot = s->program->variable[v->id];
    for (int l = 0; l < LANES; l++) lanes_of(s, slot)[l].i = first + l * step;
    *known_of(s, slot) = known_in(FULL_MASK);
}

static void begin_warp(struct machine *s, struct warp *w) {
    const struct kernel *k = s->kernel;
    s->warp = w;
    w->pc = 0;
    w->state = WARP_RUNS;
    w->active = FULL_MASK;
    w->depth = 0;
    w->clock = 1;
    w->groups = w->transfers.count = w->knows.count = 0;
    memset(w->seen, 0, sizeof w->seen);
    memset(w->known, 0, sizeof *w->known * (size_t)s->program->warp_slots);
    if (s->program->local_bytes)
        memset(w->local + (size_t)s->program->local_bytes * LANES, 0,
               (size_t)s->program->local_bytes * LANES);
    for (int i = 0; i < 3; i++) give(s, k->block[i], s->block[i], 0);
    give(s, k->code->thread, w->id * LANES, 1);
    for (int i = 0; i < s->f->params.count; i++)
        give(s, s->f->params.at[i].var, s->args->scalar ? s->args->scalar[i].i : 0, 0);
}

/* -- barriers
 * ---------------------------------------------------------------------------------------- */
/* All warps in `who` have seen what each of them did; they go on. */
static void release(struct machine *s, uint32_t who) {
    for (uint32_t i = who; i; i &= i - 1) s->warps[first_lane(i)].clock++;
    for (uint32_t i = who; i; i &= i - 1) {
        struct warp *w = &s->warps[first_lane(i)];
        for (uint32_t k = who; k; k &= k - 1) {
            const struct warp *v = &s->warps[first_lane(k)];
            w->seen[v->id] = v->clock;
            for (int x = 0; x < s->warp_count; x++)
                if (v->id != x && v->seen[x] > w->seen[x]) w->seen[x] = v->seen[x];
            knowledge_join(s, &w->knows, &v->knows);
        }
        w->state = WARP_RUNS;
    }
}

static const struct kstmt *waits_at(const struct machine *s, const struct warp *w) {
    return step_at(s, w->wait_step)->st;
}

/* Releases the barrier at which the warp waits if it is full. */
static bool try_release(struct machine *s, const struct warp *w) {
    const struct kstmt *st = waits_at(s, w);
    int32_t need = st->barrier.threads ? st->barrier.threads : s->warp_count * LANES;
    uint32_t who = 0;
    for (int i = 0; i < s->warp_count; i++) {
        const struct warp *v = &s->warps[i];
        if (v->state != WARP_WAITS || waits_at(s, v)->barrier.id != st->barrier.id) continue;
        if (v->wait_step != w->wait_step) {
            s->warp = &s->warps[i];
            s->step = v->wait_step;
            sim_fail(s, SIM_DIVERGENCE, 0,
                     "one warp waits at this barrier while another waits at the one of line %d",
                     sim_line(s, w->wait_step));
            sim_blame(s, w->wait_step);
            return false;
        }
        who |= 1u << i;
    }
    if (__builtin_popcount(who) * LANES < need) return false;
    release(s, who);
    return true;
}

static bool all_ended(const struct machine *s) {
    for (int i = 0; i < s->warp_count; i++)
        if (s->warps[i].state != WARP_ENDED) return false;
    return true;
}

static void pass_barriers(struct machine *s) {
    bool some = false;
    for (int i = 0; i < s->warp_count && !s->failed; i++)
        if (s->warps[i].state == WARP_WAITS) some |= try_release(s, &s->warps[i]);
    if (some || s->failed || all_ended(s)) return;
    for (int i = 0; i < s->warp_count; i++) {
        if (s->warps[i].state != WARP_WAITS) continue;
        s->warp = &s->warps[i];
        s->step = s->warp->wait_step;
        sim_fail(s, SIM_DEADLOCK, 0, "warp %d waits at a barrier that the other warps never reach",
                 i);
    }
}

/* -- running
 * ---------------------------------------------------------------------------------------- */
/* What a warp misses another may be about to write: the other warps go on to their next barrier,
 * and a race that shows there is the better answer. */
static void run_warp(struct machine *s, struct warp *w) {
    warp_run(s, w);
    if (!s->failed || s->suspect || s->out->fault.kind != SIM_UNWRITTEN) return;
    s->suspect = true;
    s->failed = false;
    w->state = WARP_ENDED;
}

static void run_block(struct machine *s) {
    memset(s->shared, 0xff, (size_t)s->shared_bytes);
    memset(s->shared_known, 0, (size_t)s->shared_bytes);
    for (int i = 0; i < s->warp_count; i++) begin_warp(s, &s->warps[i]);
    while (!s->failed && !all_ended(s)) {
        for (int i = 0; i < s->warp_count && !s->failed; i++) {
            struct warp *w = &s->warps[s->options->backward ? s->warp_count - 1 - i : i];
            if (w->state == WARP_RUNS) run_warp(s, w);
        }
        s->failed |= s->suspect;
        if (!s->failed) pass_barriers(s);
    }
    s->out->counters.blocks++;
}

static void report_ran(const struct machine *s) {
    for (int i = 0; i < s->program->steps.count; i++) {
        const struct step *p = step_at(s, i);
        bool begins = p->kind == STEP_STATEMENT || p->kind == STEP_IF || p->kind == STEP_FOR ||
                      p->kind == STEP_WHILE;
        if (begins && s->ran[i]) s->options->ran(p->st, s->options->data);
    }
}

/* -- grids
 * ----------------------------------------------------------------------------------------- */
static int64_t blocks_of(const int64_t *grid) {
    int64_t n = 1;
    for (int i = 0; i < 3; i++) {
        if (grid[i] < 1) return 0;
        if (__builtin_mul_overflow(n, grid[i], &n)) n = INT64_MAX / 2;
    }
    return n;
}

static uint64_t next_random(uint64_t *state) { /* splitmix64 */
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* The blocks in a random order; none if they run in ascending order, or are too many. */
static void shuffle_blocks(struct machine *s, int64_t count) {
    uint64_t state = s->options->shuffle;
    s->order = NULL;
    if (!state || count > MOST_SHUFFLED || count < 2) return;
    s->order = arena_array(s->arena, int32_t, count);
    for (int32_t i = 0; i < count; i++) s->order[i] = i;
    for (int32_t i = (int32_t)count - 1; i > 0; i--) {
        int32_t other = (int32_t)(next_random(&state) % (uint64_t)(i + 1)), was = s->order[i];
        s->order[i] = s->order[other];
        s->order[other] = was;
    }
}

void block_coordinates(const struct machine *s, int32_t number, int64_t *at) {
    int64_t n = number - s->first_block - 1;
    if (s->order) n = s->order[n];
    at[0] = n % s->grid[0];
    at[1] = n / s->grid[0] % s->grid[1];
    at[2] = n / s->grid[0] / s->grid[1];
}

static void run_grid(struct machine *s) {
    int64_t count = blocks_of(s->grid);
    s->first_block = s->block_number;
    s->locations.count = 0;
    shuffle_blocks(s, count);
    for (int64_t i = 0; i < count && !s->failed; i++) {
        s->block_number++;
        block_coordinates(s, s->block_number, s->block);
        run_block(s);
    }
}

static void run_kernel(struct machine *s, const struct kernel *k) {
    s->kernel = k;
    s->program = program_of_kernel(s, k);
    s->ran = arena_array(s->arena, bool, s->program->steps.count);
    add_buffers(s, k);
    add_warps(s, k);
    costs_begin(s);
    for (int i = 0; i < 3; i++) s->grid[i] = 1;
    for (int i = 0; i < k->grid_rank; i++) s->grid[i] = sim_host_value(s->f, s->args, k->grid[i]);
    run_grid(s);
    costs_end(s);
    if (s->options->ran) report_ran(s);
}

static void run_checks(struct machine *s) {
    for (int i = 0; i < s->f->checks.count; i++) {
        const struct host_check *c = &s->f->checks.at[i];
        if (sim_host_value(s->f, s->args, c->test)) continue;
        sim_fail(s, SIM_ASSERT, -1, "check failed: %s", c->message ? c->message : "");
        s->out->fault.at = c->span;
    }
}

bool sim_run(struct module *m, struct function_ir *f, const struct eval_args *args,
             const struct sim_options *options, struct sim_result *out) {
    static const struct sim_options plain;
    struct machine s = {.m = m,
                        .f = f,
                        .args = args,
                        .options = options ? options : &plain,
                        .out = out,
                        .step = -1};
    memset(out, 0, sizeof *out);
    s.arena = arena_new();
    s.limit = s.options->limit ? s.options->limit : (int64_t)1 << 36;
    s.spaces = arena_array(s.arena, struct area, f->buffer_count + 1);
    add_tensors(&s);
    run_checks(&s);
    for (int i = 0; i < f->kernels.count && !s.failed; i++) run_kernel(&s, f->kernels.at[i]);
    arena_free(s.arena);
    return !s.failed;
}
