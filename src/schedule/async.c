/* async.c: which copies cp.async can do.
 *
 * It moves 4, 8 or 16 bytes a thread, unchanged, from an address in global memory to one in shared
 * memory, both aligned to that size, and fills with zeroes what lies outside. So: one element type,
 * zero as the safe value, and four bytes that stand together on both sides. */
#include "internal.h"

static int64_t gcd(int64_t a, int64_t b) {
    while (b != 0) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a < 0 ? -a : a;
}

/* Elements of the domain's axis that one thread copies next to each other in shared memory. */
static int run_in_shared(const struct stmt *s, int axis) {
    const struct layout_axis *mine = &s->copy.domain.layout.axis[axis];
    const struct layout *l = &s->copy.dst.buffer->layout;
    if (layout_is_none(l) || mine->count == 0) return 1;
    const struct layout_axis *memory = &l->axis[s->copy.dst_axis[axis]];
    if (memory->count == 0 || mine->digit[0].space != SPACE_REG || mine->digit[0].stride != 1)
        return 1;
    if (memory->digit[0].space != SPACE_OFF || memory->digit[0].stride != 1) return 1;
    int64_t run = gcd(mine->digit[0].radix, memory->digit[0].radix);
    for (int i = 0; i < l->xors; i++) run = gcd(run, (int64_t)1 << l->xor_term[i].target);
    return (int)run;
}

/* A known divisor of the element offset of where the copy's vectors of `run` begin. */
static int64_t offset_divisor(const struct stmt *s, int axis, int64_t run) {
    const struct region *r = &s->copy.src;
    int64_t divisor = run;
    for (int i = 0; i < r->buffer->rank; i++) {
        bool walked = false;
        for (int k = 0; k < s->copy.domain.rank; k++) walked |= s->copy.src_axis[k] == i;
        int64_t stride = r->buffer->stride[i]->divisor, base = r->base[i]->divisor;
        if (i == s->copy.src_axis[axis])
            divisor = gcd(divisor, base);
        else if (walked || base == 0 || stride == 0 || base > INT64_MAX / stride)
            divisor = gcd(divisor, walked ? stride : gcd(base, stride) * (base && stride ? 1 : 0));
        else
            divisor = gcd(divisor, base * stride);
    }
    return divisor;
}

/* The base in shared memory, of the axis along which vectors run. */
static int64_t shared_divisor(const struct stmt *s, int axis, int64_t run) {
    return gcd(run, s->copy.dst.base[s->copy.dst_axis[axis]]->divisor);
}

static bool four_bytes_together(const struct stmt *s, int bytes) {
    for (int a = 0; a < s->copy.domain.rank; a++) {
        int64_t stride;
        int src = s->copy.src_axis[a];
        if (!expr_is_int(s->copy.src.buffer->stride[src], &stride) || stride != 1) continue;
        int64_t run = run_in_shared(s, a);
        run = gcd(offset_divisor(s, a, run), shared_divisor(s, a, run));
        if (run * bytes % 4 == 0) return true;
    }
    return false;
}

static bool is_zero(const struct expr *e) {
    int64_t i;
    return e->kind == EXPR_FLOAT ? e->number == 0 : expr_is_int(e, &i) && i == 0;
}

bool copy_can_be_async(const struct module *m, const struct stmt *s, const char **why) {
    const struct buffer *from = s->copy.src.buffer, *to = s->copy.dst.buffer;
    *why = NULL;
    if (from->scope != SCOPE_GLOBAL || to->scope != SCOPE_SHARED)
        *why = "it does not go from a tensor to shared memory";
    else if (!module_has(m, FEATURE_CP_ASYNC))
        *why = "the target has no asynchronous copies";
    else if (from->dtype != to->dtype)
        *why = "it converts its elements";
    else if (from->safe_value && !is_zero(from->safe_value))
        *why = "the tensor has a safe value other than zero";
    else if (layout_is_none(&s->copy.domain.layout))
        *why = "its threads are not decided";
    else if (dtype_bytes(from->dtype) < 4 && !four_bytes_together(s, dtype_bytes(from->dtype)))
        *why = "its rows are not known to be aligned to 4 bytes";
    return *why == NULL;
}

/* -- Copies that stand outside rings ----------------------------------------------------------- */

static void fill_block(struct module *m, struct block *b) {
    for (struct stmt *s = b->first, *next; s; s = next) {
        const char *why;
        next = s->next;
        if (s->kind == STMT_FOR) fill_block(m, &s->loop.body);
        if (s->kind == STMT_WHILE) fill_block(m, &s->repeat.body);
        if (s->kind == STMT_IF) {
            fill_block(m, &s->branch.then);
            fill_block(m, &s->branch.otherwise);
        }
        if (s->kind != STMT_COPY || s->copy.async || !copy_can_be_async(m, s, &why)) continue;
        s->copy.async = true;
        bool more = next && next->kind == STMT_COPY &&
                    (next->copy.async || copy_can_be_async(m, next, &why));
        if (!more) block_insert_after(b, s, stmt_new(m, STMT_COMMIT, s->span));
    }
}

void async_fills(struct module *m, struct kernel *k) { fill_block(m, &k->body); }
