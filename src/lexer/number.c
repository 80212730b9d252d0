/* number.c: the values of number literals. */
#include "internal.h"
#include <stdlib.h>

static void report(struct lexer *x, const char *what, const char *text, size_t length) {
    int shown = length > 40 ? 40 : (int)length;
    diag_report(x->diag, x->here, E0105, "'%.*s%s' %s", shown, text, length > 40 ? "..." : "",
                what);
    lexer_bad(x, x->here.begin);
}

static int digit_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'z') return c - 'a' + 10;
    if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
    return 99;
}

static int base_of(const char *text, size_t length) {
    if (length < 2 || text[0] != '0') return 10;
    switch (text[1]) {
    case 'x':
    case 'X': return 16;
    case 'o':
    case 'O': return 8;
    case 'b':
    case 'B': return 2;
    }
    return 10;
}

/* What is wrong with the digits, NULL if nothing is. An underscore stands between two digits, or
 * after the base. */
static const char *digits_value(const char *text, size_t length, int base, int64_t *value) {
    uint64_t sum = 0;
    bool big = false, after_digit = base != 10;
    size_t start = base == 10 ? 0 : 2;
    if (start == length) return "lacks its digits";
    for (size_t i = start; i < length; i++) {
        if (text[i] == '_') {
            if (!after_digit || i + 1 == length) return "has a misplaced underscore";
            after_digit = false;
            continue;
        }
        int digit = digit_of(text[i]);
        if (base == 10 && digit == 'j' - 'a' + 10 && i + 1 == length)
            return "is imaginary; there are no complex numbers";
        if (digit >= base) return "is no number: a digit or letter does not belong there";
        big = big || sum > ((uint64_t)INT64_MAX - (uint64_t)digit) / (uint64_t)base;
        sum = big ? 0 : sum * (uint64_t)base + (uint64_t)digit;
        after_digit = true;
    }
    *value = (int64_t)sum;
    if (big) return "does not fit into 64 bits; the largest integer is 9223372036854775807";
    if (base == 10 && length > 1 && text[0] == '0' && sum)
        return "begins with 0; an octal number is written 0o17";
    return NULL;
}

void lexer_integer(struct lexer *x, const char *text, size_t length) {
    struct token t = {.kind = TOK_INTEGER, .span = x->here};
    const char *wrong = digits_value(text, length, base_of(text, length), &t.as.integer);
    if (wrong) {
        report(x, wrong, text, length);
        t.as.integer = 1;
    }
    lexer_push(x, t);
}

void lexer_float(struct lexer *x, const char *text, size_t length) {
    struct token t = {.kind = TOK_FLOAT, .span = x->here};
    char *plain = arena_alloc(x->arena, length + 1), *end = plain;
    for (size_t i = 0; i < length; i++)
        if (text[i] != '_') *end++ = text[i];
    char *read_to;
    t.as.number = strtod(plain, &read_to);
    if (read_to != end || text[length - 1] == '_')
        report(x,
               *read_to == 'j' ? "is imaginary; there are no complex numbers"
                               : "is no number: a letter does not belong there",
               text, length);
    lexer_push(x, t);
}
