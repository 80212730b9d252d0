/* text.c: growing text with indentation; every dump and all CUDA goes through it. */
#include "text.h"
#include "internal.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text text_new(struct arena *a) {
    struct text t = {.arena = a, .room = 64};
    t.at = arena_alloc(a, t.room);
    return t;
}

static void reserve(struct text *t, size_t more) {
    if (t->length + more < t->room) return;
    size_t before = t->room;
    while (t->length + more >= t->room) t->room *= 2;
    if (arena_extend(t->arena, t->at, before, t->room)) return;
    char *grown = arena_alloc(t->arena, t->room);
    memcpy(grown, t->at, t->length + 1);
    t->at = grown;
}

static void begin_line(struct text *t) {
    size_t width = 4 * (size_t)(t->indent > 0 ? t->indent : 0);
    t->line_begun = true;
    reserve(t, width);
    memset(t->at + t->length, ' ', width);
    t->length += width;
}

enum { SHORT = 16 }; /* characters: most pieces are, and a loop is faster than functions for them */

/* Copies up to the end of the line, or all. */
static char *copy_line(char *to, const char *s, const char *end) {
    if (end - s <= SHORT) {
        while (s < end && *s != '\n') *to++ = *s++;
        return to;
    }
    const char *line_end = memchr(s, '\n', (size_t)(end - s));
    size_t length = (size_t)((line_end ? line_end : end) - s);
    memcpy(to, s, length);
    return to + length;
}

void text_write(struct text *t, const char *s, size_t length) {
    const char *end = s + length;
    while (s < end) {
        if (*s != '\n' && !t->line_begun) begin_line(t);
        reserve(t, (size_t)(end - s));
        char *to = copy_line(t->at + t->length, s, end);
        s += to - (t->at + t->length);
        if (s < end) {
            *to++ = *s++;
            t->line_begun = false;
        }
        *to = 0;
        t->length = (size_t)(to - t->at);
    }
}

void text_puts(struct text *t, const char *s) { text_write(t, s, strlen(s)); }

static void put_integer(struct text *t, long long value) {
    char digits[24], *at = digits + sizeof digits;
    unsigned long long rest = value < 0 ? 0 - (unsigned long long)value : (unsigned long long)value;
    do *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0) *--at = '-';
    text_write(t, at, (size_t)(digits + sizeof digits - at));
}

/* Writes what the directive at `p` says, and gives its last character. NULL: not one of %s, %.*s,
 * %c, %d and %lld, which make up most formats, and for which printf's machinery is too slow. */
static const char *put_plain(struct text *t, const char *p, va_list *arguments) {
    char c;
    int length;
    switch (*p) {
    case 's': text_puts(t, va_arg(*arguments, const char *)); return p;
    case 'd': put_integer(t, va_arg(*arguments, int)); return p;
    case 'c':
        c = (char)va_arg(*arguments, int);
        text_write(t, &c, c != 0);
        return p;
    case 'l':
        if (p[1] != 'l' || p[2] != 'd') return NULL;
        put_integer(t, va_arg(*arguments, long long));
        return p + 2;
    case '.':
        if (p[1] != '*' || p[2] != 's') return NULL;
        length = va_arg(*arguments, int);
        const char *s = va_arg(*arguments, const char *);
        text_write(t, s, length < 0 ? strlen(s) : strnlen(s, (size_t)length));
        return p + 2;
    default: return NULL;
    }
}

static void print_rest(struct text *t, const char *format, va_list arguments) {
    char small[512];
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(small, sizeof small, format, arguments);
    if (length >= 0 && (size_t)length < sizeof small)
        text_puts(t, small);
    else
        text_puts(t, arena_vprintf(t->arena, format, again));
    va_end(again);
}

void text_printf(struct text *t, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    while (*format) {
        const char *p = format, *last;
        while (*p && *p != '%') p++;
        text_write(t, format, (size_t)(p - format));
        if (!*p) break;
        last = put_plain(t, p + 1, &arguments);
        if (!last) {
            print_rest(t, p, arguments);
            break;
        }
        format = last + 1;
    }
    va_end(arguments);
}

void text_double(struct text *t, double value) {
    char number[40];
    if (isnan(value)) {
        text_puts(t, "nan");
        return;
    }
    if (isinf(value)) {
        text_puts(t, value < 0 ? "-inf" : "inf");
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(number, sizeof number, "%.*g", digits, value);
        double back = strtod(number, NULL);
        if (!memcmp(&back, &value, sizeof value)) break;
    }
    text_puts(t, number);
    if (!strpbrk(number, ".e")) text_puts(t, ".0");
}
