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

static void append(struct text *t, const char *s, size_t length) {
    reserve(t, length);
    memcpy(t->at + t->length, s, length);
    t->length += length;
    t->at[t->length] = 0;
}

static void begin_line(struct text *t) {
    t->line_begun = true;
    for (int i = 0; i < t->indent; i++) append(t, "    ", 4);
}

void text_write(struct text *t, const char *s, size_t length) {
    const char *end = s + length;
    while (s < end) {
        const char *line_end = memchr(s, '\n', (size_t)(end - s));
        size_t part = (size_t)((line_end ? line_end : end) - s);
        if (part && !t->line_begun) begin_line(t);
        append(t, s, part + (line_end != NULL));
        s += part;
        if (!line_end) break;
        t->line_begun = false;
        s++;
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

/* Most formats hold nothing but %s, %c, %d and %lld, for which printf's machinery is too slow. */
static bool is_plain(const char *format) {
    for (const char *p = format; (p = strchr(p, '%')); p++) {
        p++;
        if (!strncmp(p, "lld", 3))
            p += 2;
        else if (*p != 's' && *p != 'c' && *p != 'd')
            return false;
    }
    return true;
}

static void print_plain(struct text *t, const char *format, va_list arguments) {
    for (const char *p; (p = strchr(format, '%')); format = p + 1) {
        text_write(t, format, (size_t)(p - format));
        char c;
        switch (*++p) {
        case 's': text_puts(t, va_arg(arguments, const char *)); break;
        case 'd': put_integer(t, va_arg(arguments, int)); break;
        case 'l':
            p += 2;
            put_integer(t, va_arg(arguments, long long));
            break;
        default:
            c = (char)va_arg(arguments, int);
            text_write(t, &c, c != 0);
            break;
        }
    }
    text_puts(t, format);
}

void text_printf(struct text *t, const char *format, ...) {
    char small[512];
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    if (is_plain(format)) {
        print_plain(t, format, arguments);
    } else {
        int length = vsnprintf(small, sizeof small, format, arguments);
        if (length >= 0 && (size_t)length < sizeof small)
            text_puts(t, small);
        else
            text_puts(t, arena_vprintf(t->arena, format, again));
    }
    va_end(again);
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
