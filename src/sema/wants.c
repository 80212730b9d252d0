/* wants.c: reading values as what an argument has to be, with the error that says so. */
#include "sema/state.h"

static bool bad_want(struct sema *s, struct value v, struct span span, const char *what,
                     const char *wanted) {
    if (v.kind == VALUE_BAD) return false;
    if (value_is_static(v))
        sema_error(s, span, E0210, "'%s' has to be %s, not the %s %s", what, wanted,
                   value_kind_name(v), value_text(s, v));
    else if (v.kind == VALUE_IR && v.expr->kind == EXPR_VAR)
        sema_error(s, span, E0210,
                   "'%s' has to be %s that is known at compile time; '%s' is known when the kernel "
                   "runs",
                   what, wanted, v.expr->var->name->text);
    else
        sema_error(s, span, E0210, "'%s' has to be %s that is known at compile time, not %s", what,
                   wanted, value_a_kind(v));
    return false;
}

/* A typed literal such as T.int32(4) is an IR constant. */
static bool constant_ir(struct value v, int64_t *out) {
    return v.kind == VALUE_IR && expr_is_int(v.expr, out);
}

bool want_int(struct sema *s, struct value v, struct span span, const char *what, int64_t *out) {
    if (v.kind == VALUE_INT || v.kind == VALUE_BOOL) {
        *out = value_as_int(v);
        return true;
    }
    if (constant_ir(v, out)) return true;
    return bad_want(s, v, span, what, "an int");
}

bool want_bool(struct sema *s, struct value v, struct span span, const char *what, bool *out) {
    int64_t i;
    if (v.kind == VALUE_BOOL || v.kind == VALUE_INT) {
        *out = value_as_int(v) != 0;
        return true;
    }
    if (constant_ir(v, &i)) {
        *out = i != 0;
        return true;
    }
    return bad_want(s, v, span, what, "True or False");
}

bool want_float(struct sema *s, struct value v, struct span span, const char *what, double *out) {
    if (value_is_number(v)) {
        *out = value_as_double(v);
        return true;
    }
    if (v.kind == VALUE_IR && v.expr->kind == EXPR_FLOAT) {
        *out = v.expr->number;
        return true;
    }
    return bad_want(s, v, span, what, "a number");
}

const char *want_string(struct sema *s, struct value v, struct span span, const char *what) {
    if (v.kind == VALUE_STRING) return v.string->text;
    bad_want(s, v, span, what, "a string");
    return NULL;
}

static const char *nearest_dtype(const char *word) {
    const char *names[DTYPE_COUNT];
    int count = 0;
    for (int t = DTYPE_NONE + 1; t < DTYPE_COUNT; t++)
        names[count++] = dtype_spelling((enum dtype)t);
    return nearest_word(word, count, names);
}

enum dtype want_dtype(struct sema *s, struct value v, struct span span, const char *what) {
    if (v.kind == VALUE_DTYPE) return v.dtype;
    if (v.kind == VALUE_BUILTIN) { /* Python's own names of types */
        const char *n = v.builtin->name;
        if (!strcmp(n, "int")) return DTYPE_I32;
        if (!strcmp(n, "float")) return DTYPE_F32;
        if (!strcmp(n, "bool")) return DTYPE_BOOL;
    }
    if (v.kind != VALUE_STRING) {
        bad_want(s, v, span, what, "a dtype");
        return DTYPE_NONE;
    }
    enum dtype t = dtype_find(v.string->text);
    if (t != DTYPE_NONE && t != DTYPE_INDEX) return t;
    const char *near = nearest_dtype(v.string->text);
    if (unsupported_dtype(v.string->text))
        sema_error(s, span, E0401, "the dtype '%s' is not supported yet", v.string->text);
    else
        sema_error(s, span, E0210, "'%s' is no dtype%s%s%s", v.string->text,
                   near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    return DTYPE_NONE;
}

int want_shape(struct sema *s, struct value v, struct span span, const char *what,
               int32_t *extent) {
    int count = is_sequence(v) ? v.sequence->items.count : 1;
    if (count < 1 || count > TILE_RANK - 1) {
        sema_error(s, span, E0210, "'%s' has %d axes; 1 to %d are possible", what, count,
                   TILE_RANK - 1);
        return -1;
    }
    for (int i = 0; i < count; i++) {
        int64_t e;
        if (!want_int(s, is_sequence(v) ? v.sequence->items.at[i] : v, span, what, &e)) return -1;
        if (e < 1 || e > INT32_MAX) {
            sema_error(s, span, E0210, "axis %d of '%s' is %lld; it has to be from 1 to %d", i,
                       what, (long long)e, INT32_MAX);
            return -1;
        }
        extent[i] = (int32_t)e;
    }
    return count;
}

bool is_sequence(struct value v) { return v.kind == VALUE_TUPLE || v.kind == VALUE_LIST; }

bool value_truth(struct sema *s, struct value v, struct span span, bool *out) {
    switch (v.kind) {
    case VALUE_BAD: return false;
    case VALUE_NONE: *out = false; return true;
    case VALUE_BOOL:
    case VALUE_INT: *out = value_as_int(v) != 0; return true;
    case VALUE_FLOAT: *out = v.number != 0; return true;
    case VALUE_STRING: *out = v.string->length > 0; return true;
    case VALUE_TUPLE:
    case VALUE_LIST: *out = v.sequence->items.count > 0; return true;
    case VALUE_DICT: *out = v.dict->keys.count > 0; return true;
    case VALUE_ITERATOR:
    case VALUE_LAUNCH:
    case VALUE_ACCESS:
        sema_error(s, span, E0204, "%s is neither true nor false", value_a_kind(v));
        return false;
    case VALUE_BUFFER: /* `if bias:` asks whether it was given; say it as Python would allow */
        sema_error(s, span, E0204, "buffer '%s' is neither true nor false; ask 'is not None'",
                   v.buffer->name->text);
        return false;
    default: *out = true; return true;
    }
}

static struct sequence *range_items(struct sema *s, const struct iterator *it) {
    struct value list = value_sequence(s, VALUE_LIST, 0, NULL);
    for (int64_t i = it->lo; it->step > 0 ? i < it->hi : i > it->hi;) {
        sequence_push(s, list, value_int(i));
        if (s->stopped || __builtin_add_overflow(i, it->step, &i)) break;
    }
    return list.sequence;
}

static struct sequence *string_items(struct sema *s, struct sym *string) {
    struct value list = value_sequence(s, VALUE_LIST, 0, NULL);
    for (uint32_t i = 0; i < string->length && !s->stopped; i++)
        sequence_push(s, list, value_string(s, arena_strndup(s->arena, string->text + i, 1)));
    return list.sequence;
}

bool iterate(struct sema *s, struct value v, struct span span, struct sequence **out) {
    *out = NULL;
    if (is_sequence(v)) /* a copy: the body may append */
        *out =
            value_sequence(s, VALUE_LIST, v.sequence->items.count, v.sequence->items.at).sequence;
    else if (v.kind == VALUE_DICT)
        *out = value_sequence(s, VALUE_LIST, v.dict->keys.count, v.dict->keys.at).sequence;
    else if (v.kind == VALUE_STRING)
        *out = string_items(s, v.string);
    else if (v.kind == VALUE_ITERATOR && v.iterator->host)
        *out = range_items(s, v.iterator);
    else if (v.kind == VALUE_DTYPE)
        *out = string_items(s, intern_text(s->names, dtype_spelling(v.dtype)));
    else if (v.kind == VALUE_ITERATOR)
        sema_error(s, span, E0207,
                   "this loop runs on the device; here only what is known at compile time can be "
                   "iterated");
    else if (v.kind != VALUE_BAD)
        sema_error(s, span, E0207, "%s cannot be iterated over", value_a_kind(v));
    if (*out) sema_charge(s, (*out)->items.count / 4);
    return *out && !s->stopped;
}

bool sequence_index(struct sema *s, struct value index, int count, struct span span, int *out) {
    int64_t i;
    if (!want_int(s, index, span, "index", &i)) return false;
    int64_t at = i < 0 ? i + count : i;
    if (at < 0 || at >= count) {
        if (count == 0)
            sema_error(s, span, E0205, "index %lld into an empty sequence", (long long)i);
        else
            sema_error(s, span, E0205, "index %lld is outside a sequence of %d; legal are %d to %d",
                       (long long)i, count, -count, count - 1);
        return false;
    }
    *out = (int)at;
    return true;
}

bool good_key(struct sema *s, struct value key, struct span span) {
    if (key.kind == VALUE_BAD) return false;
    bool mutable = key.kind == VALUE_LIST || key.kind == VALUE_DICT;
    if (key.kind == VALUE_BUFFER || (!mutable && value_is_static(key))) return true;
    if (mutable)
        sema_error(s, span, E0204, "%s cannot be a key; use a tuple", value_a_kind(key));
    else
        sema_error(s, span, E0204,
                   "a dict is looked up at compile time, and this key is known on the device only");
    return false;
}
