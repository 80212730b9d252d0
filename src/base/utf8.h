/* utf8.h: code points of UTF-8 text and the terminal cells they take. */
#ifndef TILEC_UTF8_H
#define TILEC_UTF8_H
#include <stdint.h>

/* The bytes of the code point at `at`, 0 if they are not UTF-8 (overlong and surrogates included).
 */
int utf8_decode(const char *at, const char *end, uint32_t *point);

/* 0 for combining marks, 2 for wide characters, -1 for what must not reach a terminal as it is:
 * controls and the marks that reverse the direction of text. */
int utf8_width(uint32_t point);

#endif
