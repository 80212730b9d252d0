/* cursor.c: the few functions with which our own texts are read back. */
#include "cursor.h"
#include "internal.h"
#include "vec.h"
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct cursor cursor_new(struct arena *a, const char *text, size_t length) {
    return (struct cursor){.arena = a, .start = text, .at = text, .end = text + length};
}

static const char *after_blanks(const struct cursor *c) {
    const char *p = c->at;
    while (p < c->end && (*p == ' ' || *p == '\t' || *p == '\r')) p++;
    return p;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool starts_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == '$';
}
static bool in_name(char c) { return starts_name(c) || is_digit(c); }

void cursor_blank(struct cursor *c) {
    if (!c->error) c->at = after_blanks(c);
}

bool cursor_line_end(struct cursor *c) {
    if (c->error) return false;
    const char *p = after_blanks(c);
    if (p < c->end && *p == ';')
        while (p < c->end && *p != '\n') p++;
    if (p < c->end) {
        if (*p != '\n') return false;
        c->at = p + 1;
        return true;
    }
    bool owed = !c->ended && c->end > c->start && c->end[-1] != '\n';
    c->at = p;
    c->ended = true;
    return owed;
}

static const char *after(const struct cursor *c, const char *s) {
    const char *p = after_blanks(c);
    size_t length = strlen(s);
    if (c->error || (size_t)(c->end - p) < length || memcmp(p, s, length) != 0) return NULL;
    return p + length;
}

bool cursor_at(const struct cursor *c, const char *s) { return after(c, s) != NULL; }

bool cursor_take(struct cursor *c, const char *s) {
    const char *p = after(c, s);
    if (p) c->at = p;
    return p != NULL;
}

bool cursor_take_word(struct cursor *c, const char *s) {
    const char *p = after(c, s);
    if (!p || (p < c->end && in_name(*p))) return false;
    c->at = p;
    return true;
}

bool cursor_expect(struct cursor *c, const char *s) {
    if (cursor_take(c, s)) return true;
    if (c->error) return false;
    const char *p = after_blanks(c), *q = p;
    while (q < c->end && *q != '\n' && q - p < 20) q++;
    if (q == p)
        cursor_fail(c, "expected '%s' before the end of the line", s);
    else
        cursor_fail(c, "expected '%s' at '%.*s'", s, (int)(q - p), p);
    return false;
}

const char *cursor_word(struct cursor *c) {
    const char *p = after_blanks(c), *q = p;
    if (c->error || p == c->end || !starts_name(*p)) return NULL;
    while (q < c->end && in_name(*q)) q++;
    c->at = q;
    return arena_strndup(c->arena, p, (size_t)(q - p));
}

bool cursor_integer(struct cursor *c, int64_t *value) {
    const char *p = after_blanks(c);
    *value = 0;
    if (c->error) return false;
    bool minus = p < c->end && *p == '-';
    if (p < c->end && (*p == '-' || *p == '+')) p++;
    if (p == c->end || !is_digit(*p)) return false;
    uint64_t sum = 0, limit = (uint64_t)INT64_MAX + (minus ? 1 : 0);
    for (; p < c->end && is_digit(*p); p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (sum > (limit - digit) / 10) {
            cursor_fail(c, "the integer does not fit into 64 bits");
            return false;
        }
        sum = sum * 10 + digit;
    }
    c->at = p;
    *value = minus ? (int64_t)(0 - sum) : (int64_t)sum;
    return true;
}

static const char *after_digits(const char *p, const char *end) {
    while (p < end && is_digit(*p)) p++;
    return p;
}

/* The end of the number at p, or p. */
static const char *after_number(const char *p, const char *end) {
    const char *start = p;
    if (p < end && (*p == '-' || *p == '+')) p++;
    if (end - p >= 3 && (!memcmp(p, "inf", 3) || !memcmp(p, "nan", 3)))
        return end - p > 3 && in_name(p[3]) ? start : p + 3;
    const char *digits = p;
    p = after_digits(p, end);
    bool some = p > digits;
    if (p < end && *p == '.') {
        digits = ++p;
        p = after_digits(p, end);
        some = some || p > digits;
    }
    if (!some) return start;
    if (p < end && (*p == 'e' || *p == 'E')) {
        const char *q = p + 1;
        if (q < end && (*q == '-' || *q == '+')) q++;
        if (q < end && is_digit(*q)) p = after_digits(q, end);
    }
    return p;
}

bool cursor_number(struct cursor *c, double *value) {
    const char *p = after_blanks(c), *q = after_number(p, c->end);
    *value = 0;
    if (c->error || q == p) return false;
    *value = strtod(arena_strndup(c->arena, p, (size_t)(q - p)), NULL);
    c->at = q;
    return true;
}

const char *cursor_string(struct cursor *c) {
    const char *p = after_blanks(c);
    if (c->error || p == c->end || *p != '"') return NULL;
    VEC(char) text = {0};
    for (p++; p < c->end && *p != '"' && *p != '\n'; p++) {
        char character = *p;
        if (character == '\\' && p + 1 < c->end) {
            p++;
            character = *p == 'n' ? '\n' : *p;
        }
        vec_push(c->arena, &text, character);
    }
    if (p == c->end || *p != '"') {
        cursor_fail(c, "the string is not closed");
        return NULL;
    }
    c->at = p + 1;
    vec_push(c->arena, &text, 0);
    return text.at;
}

void cursor_fail(struct cursor *c, const char *format, ...) {
    if (c->error) return;
    va_list arguments;
    va_start(arguments, format);
    c->error = arena_vprintf(c->arena, format, arguments);
    va_end(arguments);
    c->error_line = 1;
    for (const char *p = c->start; p < c->at; p++) c->error_line += *p == '\n';
}
