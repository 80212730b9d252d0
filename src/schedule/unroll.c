/* unroll.c: short serial loops run unrolled, so that their loads overlap.
 *
 * A loop over the chunks of a row (a norm, a softmax in two passes) has one load in flight an
 * iteration; unrolled, nvcc moves the loads of all chunks to the front. Only where the trip count
 * is a small constant and the body is small too: the unrolled text is what nvcc has to chew. */
#include "schedule/internal.h"

enum { MAX_TRIP = 16, MAX_WORK = 1024 /* element operations of a thread in the unrolled loop */ };

static int64_t body_work(const struct block *b, int threads);

static int64_t domain_work(const struct domain *d, int threads) {
    int64_t elements = 1;
    for (int i = 0; i < d->rank; i++) elements *= d->extent[i];
    return (elements + threads - 1) / threads;
}

/* Element operations a thread does for s; more than MAX_WORK if it must not be repeated. */
static int64_t stmt_work(const struct stmt *s, int threads) {
    switch (s->kind) {
    case STMT_MAP: return domain_work(&s->map.domain, threads) * body_work(&s->map.body, threads);
    case STMT_COPY: return domain_work(&s->copy.domain, threads);
    case STMT_REDUCE: {
        int64_t elements = 1;
        for (int i = 0; i < s->reduce.src.buffer->rank; i++) elements *= s->reduce.src.extent[i];
        return (elements + threads - 1) / threads;
    }
    case STMT_IF:
        return body_work(&s->branch.then, threads) + body_work(&s->branch.otherwise, threads);
    case STMT_FOR: {
        int64_t trip = loop_trip(s);
        return trip < 0 || trip > MAX_TRIP ? MAX_WORK + 1
                                           : trip * body_work(&s->loop.body, threads);
    }
    case STMT_GEMM:
    case STMT_WHILE:
    case STMT_BREAK:
    case STMT_CONTINUE:
    case STMT_PRINT: return MAX_WORK + 1;
    default: return 1;
    }
}

static int64_t body_work(const struct block *b, int threads) {
    int64_t work = 0;
    for (const struct stmt *s = b->first; s && work <= MAX_WORK; s = s->next)
        work += stmt_work(s, threads);
    return work;
}

static void consider(struct stmt *s, void *data) {
    const struct kernel *k = data;
    if (s->kind != STMT_FOR || s->loop.kind != LOOP_SERIAL) return;
    int64_t trip = loop_trip(s);
    if (trip <= 0 || trip > MAX_TRIP || trip * body_work(&s->loop.body, k->threads) > MAX_WORK)
        return;
    s->loop.kind = LOOP_UNROLL;
    s->loop.factor = 0;
    s->loop.var->unrolled = true;
}

void unroll_short_loops(struct kernel *k) { block_walk(&k->body, consider, k); }
