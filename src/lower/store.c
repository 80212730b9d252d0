/* store.c: assignments of a vector body: to registers, packed words included, and to memory. */
#include "internal.h"

/* Consecutive registers of one array? Then an instruction can take them where they are. */
bool word_run(struct lowering *l, struct expr *const *words, int32_t count, struct operand *out) {
    int64_t distance;
    int32_t i;

    (void)l;
    if (words[0]->kind != EXPR_ELEMENT) return false;
    for (i = 1; i < count; i++)
        if (words[i]->kind != EXPR_ELEMENT || words[i]->array != words[0]->array ||
            !affine_difference(words[i]->args[0], words[0]->args[0], &distance) || distance != i)
            return false;
    out->array = words[0]->array;
    out->index = words[0]->args[0];
    return true;
}

/* The words of `width` elements, gathered into neighbouring registers where they are not. */
static struct operand gather(struct lowering *l, const struct vector *v,
                             struct expr *const *values) {
    enum dtype t = v->buffer->dtype;
    int32_t parts = v->packed ? 32 / dtype_bits(t) : 1, count = v->width / parts, i;
    struct expr *words[VECTOR];
    struct operand run;
    const char *name;

    for (i = 0; i < count; i++)
        words[i] = v->packed ? value_pack(l, values + i * parts, t) : value_bits(l, values[i], t);
    if (word_run(l, words, count, &run)) return run;
    name = arena_printf(l->m->arena, "%s_v", v->buffer->name->text);
    run.array = add_array(l, name, words[0]->dtype, v->packed ? t : words[0]->dtype, count);
    run.index = ix(l, 0);
    for (i = 0; i < count; i++) add_put(l, run.array, ix(l, i), words[i]);
    return run;
}

static void store_run(struct lowering *l, const struct vector *v, const struct place_at *p,
                      struct expr *const *values) {
    int32_t bytes = v->width * dtype_bytes(v->buffer->dtype);
    struct operand data = {NULL, NULL};
    struct kstmt *s;

    if (v->width > 1) data = gather(l, v, values);
    s = add(l, K_STORE);
    s->memory.address = address_at(l, v->buffer, p->offset, bytes);
    s->memory.memory = v->buffer->dtype;
    s->memory.bytes = bytes;
    s->memory.data = data;
    if (v->width == 1) s->memory.value = value_bits(l, values[0], v->buffer->dtype);
}

void vector_store(struct lowering *l, const struct vector *v, struct expr *const *values) {
    int32_t e = v->broadcast ? v->count - 1 : 0;
    struct kblock *saved;
    struct expr *test;
    int64_t known;

    for (; e < v->count; e += v->width) {
        test = place_test(l, &v->at[e]);
        if (test && expr_is_int(test, &known)) {
            if (!known) continue;
            test = NULL;
        }
        saved = test ? add_if(l, test) : NULL;
        store_run(l, v, &v->at[e], values + e);
        if (test) out_leave(l, saved);
    }
}

void forget_loads(struct lowering *l, const struct buffer *written) {
    int i, kept = 0;

    for (i = 0; i < l->loaded.count; i++)
        if (!expr_reads(l->loaded.at[i].load, written)) l->loaded.at[kept++] = l->loaded.at[i];
    l->loaded.count = kept;
}

static void put_parts(struct lowering *l, const struct slot *slot, struct expr *const *values,
                      uint32_t given) {
    struct array *a = slot->array;
    int32_t parts = array_parts(a), i;
    struct expr *all[4];

    for (i = 0; i < parts; i++)
        all[i] = given & 1u << i ? values[i] : value_part(l, a, slot->word, i);
    add_put(l, a, slot->word, value_pack(l, all, a->element));
}

/* Elements that lie in one word are written together. */
static void put_slots(struct lowering *l, const struct slot *slots, struct expr *const *values,
                      int32_t count) {
    struct expr *word[4];
    uint32_t given, done = 0;
    int32_t e, f;

    for (e = 0; e < count; e++) {
        if (done & 1u << e) continue;
        if (array_parts(slots[e].array) == 1) {
            add_put(l, slots[e].array, slots[e].word,
                    value_bits(l, values[e], slots[e].array->element));
            continue;
        }
        for (f = e, given = 0; f < count; f++) {
            if (slots[f].word != slots[e].word) continue;
            word[slots[f].part] = values[f];
            given |= 1u << slots[f].part;
            done |= 1u << f;
        }
        put_parts(l, &slots[e], word, given);
    }
}

static bool slots_of(struct lowering *l, const struct group *g, const struct stmt *store,
                     struct slot *slots) {
    struct coordinate c[TILE_RANK];
    int32_t e;
    int i;

    for (e = 0; e < g->count; e++) {
        for (i = 0; i < store->store.buffer->rank; i++)
            c[i] = plan_index(l, g->plan, bind_source(l, store->store.index[i], g->env[e]), e);
        if (!fragment_slot(l, store->store.buffer, c, &slots[e])) {
            fault(l, "a register number that depends on the thread");
            return false;
        }
    }
    return true;
}

static bool slots_run(const struct slot *slots, int32_t count) {
    int32_t parts = array_parts(slots[0].array), e;
    int64_t distance;

    if (slots[0].part != 0) return false;
    for (e = 1; e < count; e++)
        if (slots[e].part != e % parts ||
            !affine_difference(slots[e].word, slots[0].word, &distance) || distance != e / parts)
            return false;
    return true;
}

/* A fragment that receives memory as it is: the registers are loaded in place. */
static bool load_in_place(struct lowering *l, struct group *g, const struct stmt *store,
                          const struct slot *slots) {
    struct expr *load = store->store.value;
    struct vector v;
    int i;

    if (load->kind != EXPR_LOAD || !in_memory(l, load->buffer) ||
        load->buffer->dtype != store->store.buffer->dtype || load->dtype == DTYPE_TF32)
        return false;
    for (i = 0; i < l->loaded.count; i++)
        if (l->loaded.at[i].load == load) return false;
    v = vector_of(l, g, load->buffer, load->args);
    if (v.broadcast || v.packed != (array_parts(slots[0].array) > 1) || !slots_run(slots, g->count))
        return false;
    vector_load(l, &v, slots[0].array, slots[0].word);
    return true;
}

static void values_of(struct lowering *l, struct group *g, struct expr *value, enum dtype t,
                      struct expr **values) {
    struct site s = {g->plan, 0, NULL};
    int32_t e;

    group_loads(l, g, value);
    for (e = 0; e < g->count; e++) {
        s.element = e;
        s.env = g->env[e];
        values[e] = value_cast(l, value_lower(l, &s, value), value->dtype, t);
    }
    pairs_make(l, "pair", values, g->count);
}

static void store_local(struct lowering *l, struct group *g, struct stmt *store,
                        struct expr *const *values) {
    struct buffer *b = store->store.buffer;
    struct site s = {g->plan, 0, NULL};
    struct expr *index;
    int32_t e;
    int i;

    for (e = 0; e < g->count; e++) {
        s.element = e;
        s.env = g->env[e];
        for (i = 0, index = NULL; i < b->rank; i++)
            index = plus(l, index ? times(l, index, b->extent[i]) : NULL,
                         value_lower(l, &s, store->store.index[i]));
        add_put(l, l->arrays[b->id], index ? index : ix(l, 0), values[e]);
    }
}

/* Runs of elements that have one guard stay together. */
static struct vector guarded_vector(struct lowering *l, const struct group *g, struct buffer *b,
                                    struct expr *const *index) {
    struct vector v = vector_of(l, g, b, index);
    bool one = true;
    int32_t e;

    for (e = 0; e < g->count; e++) {
        v.at[e].guard = g->guard[e];
        one &= g->guard[e] == g->guard[0];
    }
    if (one) return v;
    v.broadcast = v.packed = false;
    v.width = 1;
    return v;
}

static void store_memory(struct lowering *l, struct group *g, struct stmt *store,
                         struct expr *const *values) {
    struct buffer *b = store->store.buffer;
    struct expr *owner = g->plan && b->scope != SCOPE_LOCAL ? g->plan->owner : NULL;
    int known = l->loaded.count, i;
    struct kblock *saved = NULL;
    struct vector v;

    if (owner) saved = add_if(l, owner);
    for (i = 0; i < b->rank; i++) group_loads(l, g, store->store.index[i]);
    v = guarded_vector(l, g, b, store->store.index);
    vector_store(l, &v, values);
    if (owner) {
        out_leave(l, saved);
        l->loaded.count = known;
    }
}

static void store_now(struct lowering *l, struct group *g, struct stmt *store) {
    struct buffer *b = store->store.buffer;
    struct expr *values[VECTOR];
    struct slot slots[VECTOR];
    int32_t e;

    if (b->scope == SCOPE_FRAGMENT) {
        if (!g->plan) {
            fault(l, "a fragment element assigned outside T.Parallel");
            return;
        }
        if (!slots_of(l, g, store, slots)) return;
        if (!g->guard[0] && load_in_place(l, g, store, slots)) return;
    }
    values_of(l, g, store->store.value, b->dtype, values);
    if (b->scope == SCOPE_FRAGMENT)
        for (e = 0; e < g->count; e++)
            if (g->guard[e])
                values[e] =
                    expr_select(l->x, g->guard[e], values[e],
                                value_part(l, slots[e].array, slots[e].word, slots[e].part));
    if (b->scope == SCOPE_FRAGMENT)
        put_slots(l, slots, values, g->count);
    else if (!in_memory(l, b))
        store_local(l, g, store, values);
    else
        store_memory(l, g, store, values);
}

void store_make(struct lowering *l, struct group *g, struct stmt *store) {
    store_now(l, g, store);
    forget_loads(l, store->store.buffer);
}
