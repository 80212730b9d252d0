/* utf8.c: code points of UTF-8 text and the terminal cells they take. */
#include "utf8.h"
#include <stdbool.h>
#include <stddef.h>

int utf8_decode(const char *at, const char *end, uint32_t *point) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = (unsigned char)*at;
    int bytes = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    *point = first;
    if (bytes == 1) return 1;
    if (!bytes || first > 0xf4 || end - at < bytes) return 0;
    uint32_t sum = first & (0x7fu >> bytes);
    for (int i = 1; i < bytes; i++) {
        unsigned char next = (unsigned char)at[i];
        if ((next & 0xc0) != 0x80) return 0;
        sum = sum << 6 | (next & 0x3f);
    }
    if (sum < least[bytes] || sum > 0x10ffff || (sum >= 0xd800 && sum < 0xe000)) return 0;
    *point = sum;
    return bytes;
}

struct range {
    uint32_t first, last;
};

static const struct range combining[] = {
    {0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},     {0x610, 0x61a},   {0x64b, 0x65f},
    {0x6d6, 0x6dc},   {0x900, 0x902},   {0x93c, 0x93c},     {0x941, 0x948},   {0x1ab0, 0x1aff},
    {0x1dc0, 0x1dff}, {0x200b, 0x200d}, {0x20d0, 0x20ff},   {0x3099, 0x309a}, {0xfe00, 0xfe0f},
    {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0xe0100, 0xe01ef},
};
static const struct range wide[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},   {0x23e9, 0x23ec},
    {0x2614, 0x2615},   {0x26a1, 0x26a1},   {0x2705, 0x2705},   {0x274c, 0x274c},
    {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xa960, 0xa97c},   {0xac00, 0xd7a3},
    {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
    {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
};
static const struct range hidden[] = {
    {0, 0x1f}, {0x7f, 0x9f}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069},
};

static bool in_ranges(const struct range *r, size_t count, uint32_t point) {
    for (size_t i = 0; i < count && r[i].first <= point; i++)
        if (point <= r[i].last) return true;
    return false;
}

int utf8_width(uint32_t point) {
    if (point >= 0x20 && point < 0x7f) return 1;
    if (in_ranges(hidden, sizeof hidden / sizeof *hidden, point)) return -1;
    if (in_ranges(combining, sizeof combining / sizeof *combining, point)) return 0;
    return in_ranges(wide, sizeof wide / sizeof *wide, point) ? 2 : 1;
}
