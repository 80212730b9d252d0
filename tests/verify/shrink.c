/* shrink.c: see shrink.h.
 *
 * Works on lines and their indentation, so that it knows no more of the language than blocks,
 * brackets, numbers and type names: whatever it makes of a program, the goal decides. Each kind of
 * change is tried at every place, coarse ones first, until none of them helps any more. */
#include "shrink.h"
#include "base/text.h"
#include "base/vec.h"
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct line {
    int indent;
    const char *text;
};

struct lines {
    VEC(struct line) list;
};

struct shrinker {
    struct arena *arena;
    struct shrink_goal *goal;
    struct lines now; /* shows it */
};

/* -- lines
 * ----------------------------------------------------------------------------------------- */
/* Brackets that stay open on the line; those in strings and comments are rare enough. */
static int depth_of(const char *s, size_t length) {
    int depth = 0;
    for (size_t i = 0; i < length; i++) {
        depth += strchr("([{", s[i]) != NULL;
        depth -= strchr(")]}", s[i]) != NULL;
    }
    return depth;
}

/* Splits at line ends outside of brackets; leaves out empty lines and comments. */
static struct lines split(struct arena *a, const char *text) {
    struct lines out = {0};
    while (*text) {
        size_t indent = strspn(text, " "), length = strcspn(text, "\n");
        const char *joined = arena_strndup(a, text + indent, length - indent);
        text += length + (text[length] == '\n');
        while (*text && depth_of(joined, strlen(joined)) > 0) {
            size_t blank = strspn(text, " ");
            length = strcspn(text, "\n");
            joined = arena_printf(a, "%s %.*s", joined, (int)(length - blank), text + blank);
            text += length + (text[length] == '\n');
        }
        if (*joined && *joined != '#') vec_push(a, &out.list, (struct line){(int)indent, joined});
    }
    return out;
}

static const char *join(struct arena *a, const struct lines *l) {
    struct text t = text_new(a);
    for (int i = 0; i < l->list.count; i++)
        text_printf(&t, "%*s%s\n", l->list.at[i].indent, "", l->list.at[i].text);
    return t.at;
}

/* The first line behind `i` that is not inside of its block. */
static int block_end(const struct lines *l, int i) {
    int end = i + 1;
    while (end < l->list.count && l->list.at[end].indent > l->list.at[i].indent) end++;
    return end;
}

/* -- trials
 * ---------------------------------------------------------------------------------------- */
static bool spent(const struct shrinker *s) {
    return s->goal->most && s->goal->trials >= s->goal->most;
}

static bool try_lines(struct shrinker *s, struct lines candidate) {
    if (spent(s)) return false;
    s->goal->trials++;
    if (!s->goal->shows(join(s->arena, &candidate), s->goal->data)) return false;
    s->now = candidate;
    return true;
}

static bool try_line(struct shrinker *s, int i, const char *text) {
    struct lines candidate = {0};
    for (int k = 0; k < s->now.list.count; k++)
        vec_push(s->arena, &candidate.list, s->now.list.at[k]);
    candidate.list.at[i].text = text;
    return try_lines(s, candidate);
}

/* -- whole lines
 * ----------------------------------------------------------------------------------- */
static bool without(struct shrinker *s, int from, int to) {
    struct lines candidate = {0};
    for (int k = 0; k < s->now.list.count; k++)
        if (k < from || k >= to) vec_push(s->arena, &candidate.list, s->now.list.at[k]);
    return candidate.list.count && try_lines(s, candidate);
}

/* Runs of lines, half of them at first, then single statements with what belongs to them. */
static bool drop_lines(struct shrinker *s) {
    bool better = false;
    for (int run = s->now.list.count / 2; run > 1; run /= 2)
        for (int i = s->now.list.count - run; i >= 0; i -= run)
            if (i + run <= s->now.list.count) better |= without(s, i, i + run);
    for (int i = s->now.list.count - 1; i >= 0; i--)
        if (i < s->now.list.count) better |= without(s, i, block_end(&s->now, i));
    return better;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* `text` with the word replaced wherever it stands alone. */
static const char *replace_word(struct arena *a, const char *text, const char *word,
                                const char *with) {
    struct text t = text_new(a);
    size_t n = strlen(word);
    text_puts(&t, "");
    for (const char *at = text; *at;) {
        bool here = !strncmp(at, word, n) && !is_word(at[n]) &&
                    (at == text || (!is_word(at[-1]) && at[-1] != '.'));
        if (here)
            text_puts(&t, with);
        else
            text_write(&t, at, 1);
        at += here ? n : 1;
    }
    return t.at ? t.at : "";
}

/* A loop's or branch's body without it; the loop's variable is zero. */
static bool unwrap(struct shrinker *s, int i) {
    const struct line *head = &s->now.list.at[i];
    bool loop = !strncmp(head->text, "for ", 4);
    if (!loop && strncmp(head->text, "if ", 3) != 0 && strncmp(head->text, "while ", 6) != 0)
        return false;
    const char *name =
        loop ? arena_strndup(s->arena, head->text + 4, strcspn(head->text + 4, " ")) : NULL;
    struct lines candidate = {0};
    int end = block_end(&s->now, i);
    for (int k = 0; k < s->now.list.count; k++) {
        struct line x = s->now.list.at[k];
        if (k > i && k < end) x.indent -= s->now.list.at[i + 1].indent - head->indent;
        if (k > i && k < end && loop) x.text = replace_word(s->arena, x.text, name, "0");
        if (k != i) vec_push(s->arena, &candidate.list, x);
    }
    return try_lines(s, candidate);
}

static bool unwrap_blocks(struct shrinker *s) {
    bool better = false;
    for (int i = s->now.list.count - 2; i >= 0; i--)
        if (i + 1 < s->now.list.count && block_end(&s->now, i) > i + 1) better |= unwrap(s, i);
    return better;
}

/* -- numbers
 * --------------------------------------------------------------------------------------- */
/* The integer that begins at `at`, or -1: part of a name, of a fraction or of a type. */
static int64_t number_at(const char *line, const char *at, size_t *length) {
    if (!isdigit((unsigned char)*at)) return -1;
    if (at > line && (is_word(at[-1]) || at[-1] == '.' || at[-1] == '"')) return -1;
    *length = strspn(at, "0123456789");
    if (*length > 9 || is_word(at[*length]) || at[*length] == '.') return -1;
    return strtoll(at, NULL, 10);
}

static const char *with_number(struct arena *a, const char *line, int64_t old, int64_t value) {
    struct text t = text_new(a);
    size_t length = 1;
    text_puts(&t, "");
    for (const char *at = line; *at; at += length) {
        if (number_at(line, at, &length) == old) {
            text_printf(&t, "%lld", (long long)value);
            continue;
        }
        text_write(&t, at, 1);
        length = 1;
    }
    return t.at ? t.at : "";
}

static bool try_number(struct shrinker *s, int64_t old, int64_t value) {
    struct lines candidate = {0};
    for (int k = 0; k < s->now.list.count; k++) {
        struct line x = s->now.list.at[k];
        x.text = with_number(s->arena, x.text, old, value);
        vec_push(s->arena, &candidate.list, x);
    }
    return try_lines(s, candidate);
}

static int by_size(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

/* The numbers of the program, the largest first, each once. */
static int numbers_of(struct shrinker *s, int64_t **out) {
    VEC(int64_t) list = {0};
    size_t length;
    for (int i = 0; i < s->now.list.count; i++)
        for (const char *line = s->now.list.at[i].text, *at = line; *at; at++) {
            int64_t v = number_at(line, at, &length);
            bool known = v < 1;
            for (int k = 0; k < list.count && !known; k++) known = list.at[k] == v;
            if (!known) vec_push(s->arena, &list, v);
        }
    if (list.count) qsort(list.at, (size_t)list.count, sizeof *list.at, by_size);
    *out = list.at;
    return list.count;
}

static const int64_t smaller[] = {0, 1, 2, 4, 8, 16, 32, 64, 128};
enum { SMALLER = sizeof smaller / sizeof *smaller };

/* A number of one meaning stands in many places: all that are equal change at once. */
static bool shrink_numbers(struct shrinker *s) {
    bool better = false;
    int64_t *list;
    int count = numbers_of(s, &list);
    for (int k = 0; k < count; k++) {
        bool done = false;
        for (int c = 0; c < SMALLER && !done && smaller[c] < list[k]; c++)
            done = try_number(s, list[k], smaller[c]);
        if (!done && list[k] > 3) done = try_number(s, list[k], list[k] / 2 + 1);
        better |= done;
    }
    return better;
}

/* Trips, extents of grids and constants of the module: alone, since nothing else has to agree.
 * Numbers in statements stay as they are: what an index says decides what the program means. */
static bool shrink_heads(struct shrinker *s) {
    bool better = false;
    for (int i = 0; i < s->now.list.count; i++) {
        const char *line = s->now.list.at[i].text;
        bool head = !s->now.list.at[i].indent || !strncmp(line, "for ", 4) ||
                    !strncmp(line, "with ", 5) || !strncmp(line, "if ", 3) ||
                    !strncmp(line, "while ", 6);
        size_t length;
        for (size_t at = 0; head && line[at]; at++) {
            int64_t v = number_at(line, line + at, &length);
            for (int c = 0; v > 0 && c < SMALLER && smaller[c] < v; c++) {
                const char *text = arena_printf(s->arena, "%.*s%lld%s", (int)at, line,
                                                (long long)smaller[c], line + at + length);
                if (!try_line(s, i, text)) continue;
                better = true;
                line = s->now.list.at[i].text;
                break;
            }
        }
    }
    return better;
}

/* -- expressions
 * ----------------------------------------------------------------------------------- */
static size_t closing(const char *line, size_t open) {
    int depth = 0;
    for (size_t i = open; line[i]; i++) {
        depth += strchr("([{", line[i]) != NULL;
        depth -= strchr(")]}", line[i]) != NULL;
        if (!depth) return i;
    }
    return open;
}

/* Behind the part that begins at `from`: a comma outside of brackets, or `end`. */
static size_t part_end(const char *line, size_t from, size_t end) {
    int depth = 0;
    for (size_t i = from; i < end; i++) {
        depth += strchr("([{", line[i]) != NULL;
        depth -= strchr(")]}", line[i]) != NULL;
        if (!depth && line[i] == ',') return i;
    }
    return end;
}

static bool splice(struct shrinker *s, int i, size_t from, size_t to, const char *with,
                   size_t length) {
    const char *line = s->now.list.at[i].text;
    return try_line(
        s, i, arena_printf(s->arena, "%.*s%.*s%s", (int)from, line, (int)length, with, line + to));
}

/* A call by one of its arguments, or without one of them. */
static bool simplify_call(struct shrinker *s, int i, size_t open) {
    const char *line = s->now.list.at[i].text;
    size_t end = closing(line, open), name = open;
    while (name > 0 && (is_word(line[name - 1]) || line[name - 1] == '.')) name--;
    for (size_t at = open + 1; at < end;) {
        size_t stop = part_end(line, at, end), next = stop + (line[stop] == ',');
        next += strspn(line + next, " ");
        if (splice(s, i, name, end + 1, line + at, stop - at)) return true;
        size_t from = stop == end && at > open + 1 ? at - 2 : at;
        if (name < open && splice(s, i, from, stop == end ? end : next, "", 0)) return true;
        at = stop == end ? end : next;
    }
    return false;
}

/* Where an operator between blanks begins at depth 0 in [from, to); `to` if there is none. */
static size_t operator_in(const char *line, size_t from, size_t to, size_t *length) {
    int depth = 0;
    for (size_t i = from; i + 2 < to; i++) {
        depth += strchr("([{", line[i]) != NULL;
        depth -= strchr(")]}", line[i]) != NULL;
        if (depth || line[i] != ' ') continue;
        *length = 2 + strcspn(line + i + 1, " ");
        bool word = !strncmp(line + i, " and ", 5) || !strncmp(line + i, " or ", 4);
        if (word || strchr("+-*/%^&|<>=", line[i + 1])) return i;
    }
    return to;
}

/* One side of an operator instead of both. */
static bool simplify_range(struct shrinker *s, int i, size_t from, size_t to) {
    const char *line = s->now.list.at[i].text;
    size_t length = 0;
    for (size_t at = operator_in(line, from, to, &length); at < to;
         at = operator_in(line, at + 1, to, &length)) {
        if (splice(s, i, from, to, line + from, at - from)) return true;
        if (splice(s, i, from, to, line + at + length, to - at - length)) return true;
    }
    return false;
}

static bool simplify_line(struct shrinker *s, int i) {
    const char *line = s->now.list.at[i].text;
    const char *equal = strstr(line, "] = ");
    if (equal && simplify_range(s, i, (size_t)(equal - line) + 4, strlen(line))) return true;
    if (!strncmp(line, "if ", 3) && simplify_range(s, i, 3, strlen(line) - 1)) return true;
    for (size_t at = 0; line[at]; at++) {
        if (line[at] != '(' || closing(line, at) == at) continue;
        if (simplify_call(s, i, at)) return true;
        if (simplify_range(s, i, at + 1, closing(line, at))) return true;
    }
    return false;
}

static bool simplify_expressions(struct shrinker *s) {
    bool better = false;
    for (int i = s->now.list.count - 1; i >= 0; i--)
        while (!spent(s) && simplify_line(s, i)) better = true;
    return better;
}

/* -- types
 * ----------------------------------------------------------------------------------------- */
static bool unify_types(struct shrinker *s) {
    static const char *const types[] = {"float16", "bfloat16", "float64", "int8",
                                        "uint8",   "int16",    "uint16",  "int64",
                                        "uint32",  "uint64",   "int32"};
    bool better = false;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        struct lines candidate = {0};
        bool some = false;
        for (int k = 0; k < s->now.list.count; k++) {
            struct line x = s->now.list.at[k];
            const char *text = replace_word(s->arena, x.text, types[t], "float32");
            some |= strcmp(text, x.text) != 0;
            x.text = text;
            vec_push(s->arena, &candidate.list, x);
        }
        if (some) better |= try_lines(s, candidate);
    }
    return better;
}

const char *shrink(struct arena *a, const char *text, struct shrink_goal *goal) {
    struct shrinker s = {.arena = a, .goal = goal};
    goal->trials = 0;
    if (!try_lines(&s, split(a, text))) return text;
    for (bool better = true; better && !spent(&s);) {
        better = drop_lines(&s);
        better |= unwrap_blocks(&s);
        better |= shrink_heads(&s);
        better |= shrink_numbers(&s);
        better |= simplify_expressions(&s);
        better |= unify_types(&s);
    }
    return join(a, &s.now);
}
