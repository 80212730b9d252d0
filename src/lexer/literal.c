/* literal.c: what string literals mean: prefixes, quotes, escapes. */
#include "base/utf8.h"
#include "internal.h"

struct literal literal_of(const struct source *s, struct span token) {
    struct literal l = {.content = token};
    const char *text = s->text;
    for (; text[l.content.begin] != '"' && text[l.content.begin] != '\''; l.content.begin++)
        l.raw = l.raw || text[l.content.begin] == 'r' || text[l.content.begin] == 'R';
    char quote = text[l.content.begin];
    bool triple = token.end - l.content.begin >= 6 && text[l.content.begin + 1] == quote &&
                  text[l.content.begin + 2] == quote;
    l.content.begin += triple ? 3 : 1;
    l.content.end -= triple ? 3 : 1;
    return l;
}

struct reader {
    struct arena *arena;
    const struct source *source;
    struct diag *diag;
    uint32_t at, end;
    VEC(char) value;
};

static void put(struct reader *r, char c) { vec_push(r->arena, &r->value, c); }

static void put_point(struct reader *r, uint32_t point) {
    static const struct {
        uint32_t above;
        int bytes;
        uint32_t mark;
    } forms[] = {{0x10000, 4, 0xf0}, {0x800, 3, 0xe0}, {0x80, 2, 0xc0}, {0, 1, 0}};
    int f = 0;
    while (point < forms[f].above) f++;
    int shift = 6 * (forms[f].bytes - 1);
    put(r, (char)(forms[f].mark | point >> shift));
    for (shift -= 6; shift >= 0; shift -= 6) put(r, (char)(0x80 | (point >> shift & 0x3f)));
}

static int hex_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* \xHH \uHHHH \UHHHHHHHH; `begin` is where the backslash stands. */
static void read_hex(struct reader *r, uint32_t begin, int digits) {
    uint32_t point = 0;
    int i = 0;
    for (; i < digits && r->at < r->end && hex_of(r->source->text[r->at]) >= 0; i++)
        point = point << 4 | (uint32_t)hex_of(r->source->text[r->at++]);
    struct span span = {begin, r->at};
    if (i < digits)
        diag_report(r->diag, span, E0107, "the escape wants %d hexadecimal digits and has %d",
                    digits, i);
    else if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
        diag_report(r->diag, span, E0107,
                    "the escape names no character; the last one is 0x10ffff");
    else
        put_point(r, point);
}

static void read_octal(struct reader *r) {
    uint32_t point = 0;
    for (int i = 0; i < 3 && r->at < r->end; i++) {
        char c = r->source->text[r->at];
        if (c < '0' || c > '7') break;
        point = point << 3 | (uint32_t)(c - '0');
        r->at++;
    }
    put_point(r, point);
}

static void read_escape(struct reader *r) {
    static const char from[] = "abfnrtv\\'\"", to[] = "\a\b\f\n\r\t\v\\'\"";
    uint32_t begin = r->at++;
    char c = r->at < r->end ? r->source->text[r->at] : '\\';
    if (c >= '0' && c <= '7') {
        read_octal(r);
        return;
    }
    r->at++;
    const char *simple = c ? strchr(from, c) : NULL;
    if (simple) put(r, to[simple - from]);
    if (simple || c == '\n') return;
    switch (c) {
    case '\r':
        if (r->at < r->end && r->source->text[r->at] == '\n') r->at++;
        break;
    case 'x': read_hex(r, begin, 2); break;
    case 'u': read_hex(r, begin, 4); break;
    case 'U': read_hex(r, begin, 8); break;
    case 'N':
        diag_report(r->diag, (struct span){begin, begin + 2}, E0401,
                    "escapes by character name, '\\N', are not supported; write the character");
        break;
    default: put(r, '\\'); put(r, c);
    }
}

struct sym *literal_value(struct arena *a, struct interns *names, const struct source *s,
                          struct literal part, struct diag *d) {
    uint32_t length = part.content.end - part.content.begin;
    const char *text = s->text + part.content.begin;
    if ((part.raw || !memchr(text, '\\', length)) && !memchr(text, '\r', length))
        return intern(names, text, length);
    struct reader r = {
        .arena = a, .source = s, .diag = d, .at = part.content.begin, .end = part.content.end};
    while (r.at < r.end) {
        char c = s->text[r.at];
        if (c == '\\' && !part.raw) {
            read_escape(&r);
            continue;
        }
        r.at++;
        if (c != '\r' || r.at == r.end || s->text[r.at] != '\n') put(&r, c);
    }
    return intern(names, r.value.count ? r.value.at : "", (size_t)r.value.count);
}
