/* methods.c: attributes and methods of compile-time values. */
#include "sema/state.h"
#include <ctype.h>

static struct value method_of(struct sema *s, struct value self, struct sym *name,
                              struct span span) {
    struct method *m = arena_make(s->arena, struct method);
    *m = (struct method){.self = self, .name = name, .span = span};
    return (struct value){.kind = VALUE_METHOD, .method = m};
}

static bool among(const char *name, const char *const *names) {
    for (; *names; names++)
        if (!strcmp(*names, name)) return true;
    return false;
}

struct value static_attribute(struct sema *s, struct value v, struct sym *name, struct span span) {
    static const char *const of_list[] = {"append", "extend", "index", "count",
                                          "insert", "pop",    "copy",  NULL};
    static const char *const of_tuple[] = {"index", "count", NULL};
    static const char *const of_dict[] = {"get", "items", "keys", "values", "update", "copy", NULL};
    static const char *const of_string[] = {"join",  "startswith", "endswith", "lower",  "upper",
                                            "split", "replace",    "strip",    "format", NULL};
    struct value none = {.kind = VALUE_ABSENT};
    switch (v.kind) {
    case VALUE_LIST: return among(name->text, of_list) ? method_of(s, v, name, span) : none;
    case VALUE_TUPLE: return among(name->text, of_tuple) ? method_of(s, v, name, span) : none;
    case VALUE_DICT: return among(name->text, of_dict) ? method_of(s, v, name, span) : none;
    case VALUE_STRING:
        if (dtype_find(v.string->text) == DTYPE_NONE || among(name->text, of_string))
            return among(name->text, of_string) ? method_of(s, v, name, span) : none;
        v = value_dtype(dtype_find(v.string->text));
        break;
    case VALUE_DTYPE: break;
    case VALUE_FUNCTION:
    case VALUE_PRIM_FUNC:
    case VALUE_MACRO:
    case VALUE_EAGER:
        return !strcmp(name->text, "__name__")
                   ? (struct value){.kind = VALUE_STRING, .string = v.closure->name}
                   : none;
    default: return none;
    }
    if (!strcmp(name->text, "bits")) return value_int(dtype_bits(v.dtype));
    if (!strcmp(name->text, "bytes") || !strcmp(name->text, "itemsize"))
        return value_int(dtype_bytes(v.dtype));
    if (!strcmp(name->text, "as_torch")) return method_of(s, v, name, span);
    static const char *const of_name[] = {"startswith", "endswith", NULL};
    return among(name->text, of_name)
               ? method_of(s, value_string(s, dtype_spelling(v.dtype)), name, span)
               : none;
}

/* -- Lists
 * ------------------------------------------------------------------------------------------ */

/* `items` may be those of the list itself: then they are the ones it had. */
void sequence_extend(struct sema *s, struct value list, const struct sequence *items,
                     struct span span) {
    for (int i = 0, n = items->items.count; i < n && !s->stopped; i++)
        sequence_push(s, list, value_snapshot(s, items->items.at[i], span));
}

static struct value list_find(struct sema *s, struct value list, struct value item, bool count,
                              struct span span) {
    if (!value_is_static(list) || !value_is_static(item))
        return sema_bad(
            s, span, E0204,
            "'%s' compares at compile time, and some items are known on the device only",
            count ? "count" : "index");
    int64_t found = 0;
    sema_charge(s, list.sequence->items.count / 4);
    for (int i = 0; i < list.sequence->items.count; i++) {
        if (!value_equal(list.sequence->items.at[i], item)) continue;
        if (!count) return value_int(i);
        found++;
    }
    return count ? value_int(found)
                 : sema_bad(s, span, E0205, "%s is not in the %s", value_text(s, item),
                            value_kind_name(list));
}

static struct value list_insert(struct sema *s, struct value list, struct value at,
                                struct value item, struct span span) {
    int64_t i;
    int count = list.sequence->items.count;
    if (!want_int(s, at, span, "index", &i)) return value_bad();
    i = i < 0 ? i + count : i;
    i = i < 0 ? 0 : i > count ? count : i;
    sequence_push(s, list, value_snapshot(s, item, span));
    item = list.sequence->items.at[list.sequence->items.count - 1];
    if (s->stopped) return value_bad();
    sema_charge(s, count / 16);
    struct value *items = list.sequence->items.at;
    memmove(items + i + 1, items + i, sizeof *items * (size_t)(count - i));
    items[i] = item;
    return value_none();
}

static struct value list_pop(struct sema *s, struct value list, struct arguments *a) {
    int at, count = list.sequence->items.count;
    struct value index = a->list.count ? a->list.at[0].value : value_int(-1);
    if (!sequence_index(s, index, count, a->span, &at)) return value_bad();
    struct value *items = list.sequence->items.at, v = items[at];
    memmove(items + at, items + at + 1, sizeof *items * (size_t)(count - 1 - at));
    list.sequence->items.count--;
    return v;
}

static struct value list_method(struct sema *s, struct value list, const char *name,
                                struct arguments *a) {
    struct value first = a->list.count ? a->list.at[0].value : value_none();
    struct sequence *items;
    if (!strcmp(name, "copy") && iterate(s, list, a->span, &items))
        return (struct value){.kind = VALUE_LIST, .sequence = items};
    if (!strcmp(name, "pop")) return list_pop(s, list, a);
    if (!strcmp(name, "insert")) return list_insert(s, list, first, a->list.at[1].value, a->span);
    if (!strcmp(name, "index") || !strcmp(name, "count"))
        return list_find(s, list, first, *name == 'c', a->span);
    if (!strcmp(name, "append")) {
        sequence_push(s, list, value_snapshot(s, first, a->span));
        return value_none();
    }
    if (!iterate(s, first, a->span, &items)) return value_bad();
    sequence_extend(s, list, items, a->span);
    return value_none();
}

/* -- Dicts
 * --------------------------------------------------------------------------------------------- */

static struct value dict_listing(struct sema *s, const struct dict *d, const char *name) {
    struct value out = value_sequence(s, VALUE_LIST, 0, NULL);
    for (int i = 0; i < d->keys.count && !s->stopped; i++) {
        struct value pair[2] = {d->keys.at[i], d->values.at[i]};
        sequence_push(s, out,
                      *name == 'i' ? value_sequence(s, VALUE_TUPLE, 2, pair) : pair[*name == 'v']);
    }
    return out;
}

static struct value dict_method(struct sema *s, struct value self, const char *name,
                                struct arguments *a) {
    struct dict *d = self.dict;
    if (!strcmp(name, "items") || !strcmp(name, "keys") || !strcmp(name, "values"))
        return dict_listing(s, d, name);
    if (!strcmp(name, "get")) {
        if (!good_key(s, a->list.at[0].value, a->span)) return value_bad();
        int at = dict_find(d, a->list.at[0].value);
        return at >= 0 ? d->values.at[at] : a->list.count > 1 ? a->list.at[1].value : value_none();
    }
    struct value into = self;
    const struct dict *from = d;
    if (!strcmp(name, "copy")) {
        into = value_dict(s);
    } else {
        if (a->list.at[0].value.kind != VALUE_DICT)
            return sema_bad(s, a->span, E0210, "'update' takes a dict, not %s",
                            value_a_kind(a->list.at[0].value));
        from = a->list.at[0].value.dict;
    }
    for (int i = 0, n = from->keys.count; i < n && !s->stopped; i++)
        dict_set(s, into.dict, from->keys.at[i], value_snapshot(s, from->values.at[i], a->span));
    return from == d ? into : value_none();
}

/* -- Strings
 * --------------------------------------------------------------------------------------------- */

static struct value string_join(struct sema *s, struct sym *glue, struct value v,
                                struct span span) {
    struct sequence *items;
    if (!iterate(s, v, span, &items)) return value_bad();
    struct text t = text_new(s->arena);
    for (int i = 0; i < items->items.count && t.length < SEMA_ITEMS; i++) {
        if (items->items.at[i].kind != VALUE_STRING)
            return sema_bad(s, span, E0210, "'join' takes strings, not %s",
                            value_a_kind(items->items.at[i]));
        text_printf(&t, "%s%s", i ? glue->text : "", items->items.at[i].string->text);
    }
    return value_string(s, t.at);
}

static struct value string_split(struct sema *s, struct sym *self, const char *cut) {
    struct value out = value_sequence(s, VALUE_LIST, 0, NULL);
    const char *at = self->text, *blanks = " \t\n";
    while (!s->stopped) {
        if (!cut) at += strspn(at, blanks);
        if (!cut && !*at) break;
        size_t n = cut ? (strstr(at, cut) ? (size_t)(strstr(at, cut) - at) : strlen(at))
                       : strcspn(at, blanks);
        sequence_push(s, out, value_string(s, arena_strndup(s->arena, at, n)));
        at += n;
        if (cut && !*at) break;
        at += cut ? strlen(cut) : 0;
    }
    return out;
}

static struct value string_replace(struct sema *s, struct sym *self, const char *from,
                                   const char *to, struct span span) {
    struct text t = text_new(s->arena);
    if (!*from) return sema_bad(s, span, E0210, "'replace' needs something to look for");
    const char *at = self->text;
    for (const char *hit; (hit = strstr(at, from)) && t.length < SEMA_ITEMS && sema_charge(s, 1);
         at = hit + strlen(from)) {
        text_puts(&t, arena_strndup(s->arena, at, (size_t)(hit - at)));
        text_puts(&t, to);
    }
    text_puts(&t, at);
    return value_string(s, t.at);
}

static struct value string_case(struct sema *s, struct sym *self, bool upper) {
    char *copy = arena_strndup(s->arena, self->text, self->length);
    for (char *p = copy; *p; p++)
        *p = (char)(upper ? toupper((unsigned char)*p) : tolower((unsigned char)*p));
    return value_string(s, copy);
}

static struct value string_strip(struct sema *s, struct sym *self) {
    const char *at = self->text + strspn(self->text, " \t\n\r");
    size_t n = strlen(at);
    while (n && strchr(" \t\n\r", at[n - 1])) n--;
    return value_string(s, arena_strndup(s->arena, at, n));
}

/* "{} of {}".format(a, b): plain and numbered braces. */
static struct value string_format(struct sema *s, struct sym *self, struct arguments *a) {
    struct text t = text_new(s->arena);
    long next = 0;
    for (const char *p = self->text; *p && t.length < SEMA_ITEMS; p++) {
        if ((*p == '{' || *p == '}') && p[1] == *p) {
            text_printf(&t, "%c", *p++);
            continue;
        }
        if (*p != '{') {
            text_printf(&t, "%c", *p);
            continue;
        }
        char *end;
        long at = isdigit((unsigned char)p[1]) ? strtol(p + 1, &end, 10)
                                               : (end = (char *)(uintptr_t)(p + 1), next++);
        if (*end != '}' || at < 0 || at >= a->list.count)
            return sema_bad(s, a->span, E0205, "'format' has no argument for the brace at '%.10s'",
                            p);
        text_puts(&t, value_str(s, a->list.at[at].value));
        p = end;
    }
    return value_string(s, t.at);
}

static bool has_end(const char *text, const char *part, bool at_start) {
    size_t n = strlen(text), m = strlen(part);
    return m <= n && !memcmp(text + (at_start ? 0 : n - m), part, m);
}

static struct value string_method(struct sema *s, struct sym *self, const char *name,
                                  struct arguments *a) {
    const char *text[2] = {NULL, NULL};
    if (!strcmp(name, "join")) return string_join(s, self, a->list.at[0].value, a->span);
    if (!strcmp(name, "format")) return string_format(s, self, a);
    for (int i = 0; i < a->list.count && i < 2; i++)
        if (!(text[i] = want_string(s, a->list.at[i].value, a->list.at[i].span, name)))
            return value_bad();
    if (!strcmp(name, "startswith") || !strcmp(name, "endswith"))
        return value_bool(has_end(self->text, text[0], *name == 's'));
    if (!strcmp(name, "split"))
        return text[0] && !*text[0] ? sema_bad(s, a->span, E0210, "'split' by an empty string")
                                    : string_split(s, self, text[0]);
    if (!strcmp(name, "replace")) return string_replace(s, self, text[0], text[1], a->span);
    return !strcmp(name, "strip") ? string_strip(s, self) : string_case(s, self, *name == 'u');
}

/* -- The call
 * ------------------------------------------------------------------------------------------------
 */

static bool argument_count(struct sema *s, const struct method *m, struct arguments *a) {
    static const struct {
        const char *name;
        int least, most;
    } rows[] = {{"append", 1, 1},     {"extend", 1, 1},   {"index", 1, 1},  {"count", 1, 1},
                {"insert", 2, 2},     {"pop", 0, 1},      {"copy", 0, 0},   {"get", 1, 2},
                {"items", 0, 0},      {"keys", 0, 0},     {"values", 0, 0}, {"update", 1, 1},
                {"join", 1, 1},       {"lower", 0, 0},    {"upper", 0, 0},  {"split", 0, 1},
                {"startswith", 1, 1}, {"endswith", 1, 1}, {"strip", 0, 0},  {"replace", 2, 2}};
    for (int i = 0; i < a->list.count; i++)
        if (a->list.at[i].keyword) {
            sema_error(s, a->list.at[i].span, E0206, "'%s' takes no keyword '%s'", m->name->text,
                       a->list.at[i].keyword->text);
            return false;
        }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].name, m->name->text) &&
            (a->list.count < rows[i].least || a->list.count > rows[i].most)) {
            sema_error(s, a->span, E0206, "'%s' takes %d to %d arguments, not %d", rows[i].name,
                       rows[i].least, rows[i].most, a->list.count);
            return false;
        }
    return true;
}

struct value call_static_method(struct sema *s, const struct method *m, struct arguments *a,
                                struct span span) {
    static const char *const changing[] = {"append", "extend", "insert", "pop", "update", NULL};
    if (!argument_count(s, m, a)) return value_bad();
    if (among(m->name->text, changing) && refuse_change(s, m->self, span)) {
        if (!strcmp(m->name->text, "append")) sequence_push(s, m->self, value_bad());
        return value_bad();
    }
    switch (m->self.kind) {
    case VALUE_LIST:
    case VALUE_TUPLE: return list_method(s, m->self, m->name->text, a);
    case VALUE_DICT: return dict_method(s, m->self, m->name->text, a);
    case VALUE_STRING: return string_method(s, m->self.string, m->name->text, a);
    default: return m->self; /* dtype.as_torch() */
    }
}
