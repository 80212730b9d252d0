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
    while (t->length + more >= t->room) t->room *= 2;
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

void text_puts(struct text *t, const char *s) {
    while (*s) {
        const char *end = strchr(s, '\n');
        size_t length = end ? (size_t)(end - s) : strlen(s);
        if (length && !t->line_begun) begin_line(t);
        append(t, s, length);
        s += length;
        if (!end) break;
        append(t, "\n", 1);
        t->line_begun = false;
        s++;
    }
}

void text_printf(struct text *t, const char *format, ...) {
    char small[512];
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(small, sizeof small, format, arguments);
    if (length >= 0 && (size_t)length < sizeof small)
        text_puts(t, small);
    else
        text_puts(t, arena_vprintf(t->arena, format, again));
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
