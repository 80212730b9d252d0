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

static void grow(struct text *t, size_t more) {
    size_t before = t->room;
    while (t->length + more >= t->room) t->room *= 2;
    if (arena_extend(t->arena, t->at, before, t->room)) return;
    char *grown = arena_alloc(t->arena, t->room);
    memcpy(grown, t->at, t->length + 1);
    t->at = grown;
}

static void reserve(struct text *t, size_t more) {
    if (t->length + more >= t->room) grow(t, more);
}

static void begin_line(struct text *t) {
    size_t width = 4 * (size_t)(t->indent > 0 ? t->indent : 0);
    t->line_begun = true;
    reserve(t, width);
    memset(t->at + t->length, ' ', width);
    t->length += width;
}

enum { SHORT = 16 }; /* characters: most pieces are, and a loop is faster than functions for them */

/* Copies up to the end of the line, or all. Gives the number of characters. */
static size_t copy_line(char *to, const char *s, size_t length) {
    size_t count = 0;
    if (length <= SHORT) {
        while (count < length && (to[count] = s[count]) != '\n') count++;
        return count + (count < length);
    }
    const char *line_end = memchr(s, '\n', length);
    count = line_end ? (size_t)(line_end - s) + 1 : length;
    memcpy(to, s, count);
    return count;
}

static size_t copy_all(char *to, const char *s, size_t length) {
    if (length > SHORT) {
        memcpy(to, s, length);
    } else {
        for (size_t i = 0; i < length; i++) to[i] = s[i];
    }
    return length;
}

void text_write(struct text *t, const char *s, size_t length) {
    while (length > 0) {
        if (!t->line_begun && *s != '\n') begin_line(t);
        reserve(t, length);
        char *to = t->at + t->length;
        size_t count = t->indent > 0 ? copy_line(to, s, length) : copy_all(to, s, length);
        t->line_begun = to[count - 1] != '\n';
        to[count] = 0;
        t->length += count;
        s += count;
        length -= count;
    }
}

void text_puts(struct text *t, const char *s) { text_write(t, s, strlen(s)); }

/* Most pieces of a format are a few characters within a line that has begun. */
static inline void put(struct text *t, const char *s, size_t length) {
    size_t count = 0;
    if (length <= SHORT && t->line_begun && t->length + length < t->room) {
        char *to = t->at + t->length;
        for (; count < length && s[count] != '\n'; count++) to[count] = s[count];
        to[count] = 0;
        t->length += count;
    }
    if (count < length) text_write(t, s + count, length - count);
}

static void put_integer(struct text *t, long long value) {
    char digits[24], *at = digits + sizeof digits;
    unsigned long long rest = value < 0 ? 0 - (unsigned long long)value : (unsigned long long)value;
    do *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0) *--at = '-';
    put(t, at, (size_t)(digits + sizeof digits - at));
}

/* Writes what the directive at `p` says, and gives its last character. NULL: not one of %s, %.*s,
 * %c, %d and %lld, which make up most formats, and for which printf's machinery is too slow. */
static const char *put_plain(struct text *t, const char *p, va_list *arguments) {
    char c;
    int length;
    const char *word;
    switch (*p) {
    case 's':
        word = va_arg(*arguments, const char *);
        if (!word) word = "(null)";
        put(t, word, strlen(word));
        return p;
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
        word = va_arg(*arguments, const char *);
        text_write(t, word, length < 0 ? strlen(word) : strnlen(word, (size_t)length));
        return p + 2;
    default: return NULL;
    }
}

static void print_rest(struct text *t, const char *format, va_list arguments) {
    char small[512];
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(small, sizeof small, format, arguments);
    if (length >= 0 && (size_t)length < sizeof small) {
        text_write(t, small, (size_t)length);
    } else if (length >= 0) {
        char *large = arena_alloc(t->arena, (size_t)length + 1);
        vsnprintf(large, (size_t)length + 1, format, again);
        text_write(t, large, (size_t)length);
    }
    va_end(again);
}

static void print(struct text *t, const char *format, va_list *arguments) {
    while (*format) {
        const char *p = format, *last;
        while (*p && *p != '%') p++;
        put(t, format, (size_t)(p - format));
        if (!*p) return;
        last = put_plain(t, p + 1, arguments);
        if (!last) {
            print_rest(t, p, *arguments);
            return;
        }
        format = last + 1;
    }
}

void text_printf(struct text *t, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print(t, format, &arguments);
    va_end(arguments);
}

char *arena_vprintf(struct arena *a, const char *format, va_list arguments) {
    struct text t = text_new(a);
    va_list own; /* as a parameter it is a pointer where the type is an array */
    va_copy(own, arguments);
    print(&t, format, &own);
    va_end(own);
    arena_trim(a, t.at, t.room, t.length + 1);
    return t.at;
}

char *arena_printf(struct arena *a, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = arena_vprintf(a, format, arguments);
    va_end(arguments);
    return text;
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
