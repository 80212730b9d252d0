/* host_items.c: Python's functions on sequences. */
#include "sema/host.h"

static struct value listed(struct sema *s, const struct call *c, enum value_kind kind) {
    struct sequence *items;
    if (c->arg[0].kind == VALUE_ABSENT) return value_sequence(s, kind, 0, NULL);
    if (!iterate(s, c->arg[0], c->arg_span[0], &items)) return value_bad();
    return (struct value){.kind = kind, .sequence = items};
}

struct value host_list(struct sema *s, const struct call *c) {
    return listed(s, c, VALUE_LIST);
}
struct value host_tuple(struct sema *s, const struct call *c) {
    return listed(s, c, VALUE_TUPLE);
}

static uint64_t range_count(const struct iterator *it) {
    bool up = it->step > 0;
    if (up ? it->lo >= it->hi : it->lo <= it->hi) return 0;
    uint64_t gap = up ? (uint64_t)it->hi - (uint64_t)it->lo : (uint64_t)it->lo - (uint64_t)it->hi;
    uint64_t step = up ? (uint64_t)it->step : 0 - (uint64_t)it->step;
    return gap / step + (gap % step != 0);
}

struct value host_len(struct sema *s, const struct call *c) {
    struct value v = c->arg[0];
    if (v.kind == VALUE_STRING) return value_int(v.string->length);
    if (v.kind == VALUE_BUFFER)
        return sema_bad(s, c->span, E0207, "'len' of a buffer; write %s.shape[0]",
                        v.buffer->name->text);
    if (v.kind == VALUE_ITERATOR && v.iterator->host) {
        uint64_t count = range_count(v.iterator);
        if (count > INT64_MAX)
            return sema_bad(s, c->span, E0203, "the length does not fit into 64 bits");
        return value_int((int64_t)count);
    }
    struct sequence *items;
    return iterate(s, v, c->arg_span[0], &items) ? value_int(items->items.count) : value_bad();
}

struct value host_enumerate(struct sema *s, const struct call *c) {
    struct sequence *items;
    int64_t start = 0;
    if (!iterate(s, c->arg[0], c->arg_span[0], &items)) return value_bad();
    if (c->arg[1].kind != VALUE_ABSENT && !want_int(s, c->arg[1], c->arg_span[1], "start", &start))
        return value_bad();
    struct value out = value_sequence(s, VALUE_LIST, 0, NULL);
    for (int i = 0; i < items->items.count; i++) {
        struct value number = fold_binary(s, AST_ADD, value_int(start), value_int(i), c->span);
        struct value pair[2] = {number, items->items.at[i]};
        sequence_push(s, out, value_sequence(s, VALUE_TUPLE, 2, pair));
    }
    return out;
}

struct value host_reversed(struct sema *s, const struct call *c) {
    struct sequence *items;
    if (!iterate(s, c->arg[0], c->arg_span[0], &items)) return value_bad();
    struct value out = value_sequence(s, VALUE_LIST, 0, NULL);
    for (int i = items->items.count; i-- > 0;) sequence_push(s, out, items->items.at[i]);
    return out;
}

/* Merges two sorted runs of `from` into `to`; stable. False after a report. */
static bool merge(struct sema *s, const struct value *from, struct value *to, const int *cut,
                  struct span span) {
    int i = cut[0], j = cut[1];
    for (int k = cut[0]; k < cut[2]; k++) {
        bool second = i >= cut[1];
        if (!second && j < cut[2]) {
            struct value less = fold_compare(s, AST_LT, from[j], from[i], span);
            if (less.kind == VALUE_BAD) return false;
            second = less.boolean;
        }
        to[k] = second ? from[j++] : from[i++];
    }
    return true;
}

struct value host_sorted(struct sema *s, const struct call *c) {
    struct sequence *items;
    bool reverse = false;
    if (!iterate(s, c->arg[0], c->arg_span[0], &items)) return value_bad();
    if (c->arg[1].kind != VALUE_ABSENT &&
        !want_bool(s, c->arg[1], c->arg_span[1], "reverse", &reverse))
        return value_bad();
    int n = items->items.count;
    struct value *from = items->items.at, *to = arena_array(s->arena, struct value, n + 1);
    for (int width = 1; width < n; width *= 2) {
        sema_charge(s, n);
        for (int lo = 0; lo < n; lo += 2 * width) {
            int middle = lo + width < n ? lo + width : n,
                hi = lo + 2 * width < n ? lo + 2 * width : n;
            if (!merge(s, from, to, (int[]){lo, middle, hi}, c->span)) return value_bad();
        }
        struct value *other = from;
        from = to;
        to = other;
    }
    struct value out = value_sequence(s, VALUE_LIST, 0, NULL);
    for (int i = 0; i < n; i++) sequence_push(s, out, from[reverse ? n - 1 - i : i]);
    return out;
}

static struct value accumulate(struct sema *s, const struct call *c, enum ast_operator op,
                               int64_t start) {
    struct sequence *items;
    if (!iterate(s, c->arg[0], c->arg_span[0], &items)) return value_bad();
    struct value total = c->arg[1].kind == VALUE_ABSENT ? value_int(start) : c->arg[1];
    int first = 0;
    bool preset = c->arg[1].kind == VALUE_ABSENT;
    if (preset && items->items.count && !value_is_static(items->items.at[0]))
        total = items->items.at[first++]; /* 0 + x would cost an operation on the device */
    for (int i = first; i < items->items.count && total.kind != VALUE_BAD; i++)
        total = binary(s, op, total, items->items.at[i], c->span);
    return total;
}

struct value host_sum(struct sema *s, const struct call *c) {
    return accumulate(s, c, AST_ADD, 0);
}
struct value math_prod(struct sema *s, const struct call *c) {
    return accumulate(s, c, AST_MUL, 1);
}

struct value host_zip(struct sema *s, const struct call *c) {
    int columns = c->rest.list.count, rows = columns ? SEMA_ITEMS : 0;
    struct sequence **items = arena_array(s->arena, struct sequence *, columns + 1);
    for (int k = 0; k < columns; k++) {
        if (!iterate(s, c->rest.list.at[k].value, c->rest.list.at[k].span, &items[k]))
            return value_bad();
        rows = items[k]->items.count < rows ? items[k]->items.count : rows;
    }
    struct value out = value_sequence(s, VALUE_LIST, 0, NULL);
    for (int i = 0; i < rows && sema_charge(s, columns); i++) {
        struct value row = value_sequence(s, VALUE_TUPLE, 0, NULL);
        for (int k = 0; k < columns; k++) sequence_push(s, row, items[k]->items.at[i]);
        sequence_push(s, out, row);
    }
    return out;
}
