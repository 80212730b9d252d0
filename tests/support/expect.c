/* expect.c: expectations written as comments where a diagnostic points. */
#include "expect.h"
#include "base/vec.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct expectation {
    bool error, met;
    int line, column; /* column 0: any */
    const char *text, *code;
};

struct expectations {
    struct arena *arena;
    VEC(struct expectation) list;
};

static const char *trimmed(struct arena *a, const char *begin, const char *end) {
    while (begin < end && (*begin == ' ' || *begin == '\t')) begin++;
    while (end > begin && strchr(" \t\r", end[-1])) end--;
    return arena_strndup(a, begin, (size_t)(end - begin));
}

/* The next comment that expects something, in [at, end). */
static const char *find_mark(const char *at, const char *end, struct expectation *x) {
    for (; at < end; at++) {
        if (*at != '#') continue;
        const char *word = at + 1;
        while (word < end && *word == ' ') word++;
        size_t left = (size_t)(end - word);
        bool error = left > 5 && !strncmp(word, "error", 5);
        bool warning = left > 7 && !strncmp(word, "warning", 7);
        const char *behind = word + (error ? 5 : 7);
        if ((!error && !warning) || (*behind != ':' && *behind != '@')) continue;
        x->error = error;
        return at;
    }
    return NULL;
}

static void read_expectation(struct expectations *e, struct expectation x, const char *mark,
                             const char *end) {
    const char *text = strpbrk(mark, ":@");
    if (*text == '@') {
        x.column = atoi(text + 1);
        text = strchr(text, ':');
        if (!text || text >= end) return;
    }
    text++;
    const char *open = NULL;
    while (end > text && strchr(" \t\r", end[-1])) end--;
    if (end > text && end[-1] == ']')
        for (const char *p = text; p < end; p++)
            if (*p == '[' && p[-1] == ' ') open = p;
    x.code = open ? arena_strndup(e->arena, open + 1, (size_t)(end - open - 2)) : NULL;
    x.text = trimmed(e->arena, text, open ? open : end);
    vec_push(e->arena, &e->list, x);
}

struct expectations *expectations_of(struct arena *a, const char *source) {
    struct expectations *e = arena_make(a, struct expectations);
    e->arena = a;
    int line = 1;
    for (const char *at = source, *end; *at; at = *end ? end + 1 : end, line++) {
        end = at + strcspn(at, "\n");
        struct expectation x = {.line = line};
        for (const char *mark = find_mark(at, end, &x), *next; mark; mark = next) {
            struct expectation after = {.line = line};
            next = find_mark(mark + 1, end, &after);
            read_expectation(e, x, mark, next ? next : end);
            x = after;
        }
    }
    return e;
}

int expectation_count(const struct expectations *e) { return e->list.count; }

bool expects_errors(const struct expectations *e) {
    for (int i = 0; i < e->list.count; i++)
        if (e->list.at[i].error) return true;
    return false;
}

/* "PATH:LINE:COLUMN: error: TEXT [CODE]" */
static bool read_written(struct arena *a, const char *path, const char *at, const char *end,
                         struct expectation *x) {
    size_t length = strlen(path);
    int used = 0;
    if ((size_t)(end - at) <= length || strncmp(at, path, length) != 0) return false;
    at += length;
    if (sscanf(at, ":%d:%d: %n", &x->line, &x->column, &used) < 2 || !used)
        if (sscanf(at, ": %n", &used) < 0 || !used) return false;
    at += used;
    x->error = !strncmp(at, "error: ", 7);
    if (!x->error && strncmp(at, "warning: ", 9) != 0) return false;
    at += x->error ? 7 : 9;
    const char *open = end;
    while (open > at && *open != '[') open--;
    if (open == at) open = end;
    x->text = trimmed(a, at, open);
    x->code = open < end ? arena_strndup(a, open + 1, (size_t)(end - open - 2)) : "";
    return true;
}

static bool code_agrees(const char *wanted, const char *code) {
    if (!wanted || !strcmp(wanted, code)) return true;
    size_t n = strlen(code); /* lengths first: gcc warns with sanitizers otherwise */
    if (n >= 2 && !strncmp(code, "-W", 2) && !strcmp(wanted, code + 2)) return true;
    return n >= 8 && !strncmp(code, "-Werror=", 8) && !strcmp(wanted, code + 8);
}

static bool take(struct expectations *e, const struct expectation *w) {
    for (int i = 0; i < e->list.count; i++) {
        struct expectation *x = &e->list.at[i];
        if (x->met || x->error != w->error || x->line != w->line) continue;
        if (x->column && x->column != w->column) continue;
        if (!code_agrees(x->code, w->code) || !strstr(w->text, x->text)) continue;
        return x->met = true;
    }
    return false;
}

bool expectations_meet(struct expectations *e, const char *path, const char *written,
                       struct text *out) {
    bool good = true;
    for (const char *at = written, *end; *at; at = *end ? end + 1 : end) {
        end = at + strcspn(at, "\n");
        struct expectation w = {0};
        if (!read_written(e->arena, path, at, end, &w) || take(e, &w)) continue;
        good = false;
        text_printf(out, "not expected: %s\n", trimmed(e->arena, at, end));
    }
    for (int i = 0; i < e->list.count; i++) {
        const struct expectation *x = &e->list.at[i];
        if (x->met) continue;
        good = false;
        text_printf(out, "%s:%d: expected but not given: %s: %s [%s]\n", path, x->line,
                    x->error ? "error" : "warning", x->text, x->code ? x->code : "any");
    }
    return good;
}
