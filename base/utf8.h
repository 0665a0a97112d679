/* UTF-8, as far as the edges need it. */
#ifndef KERNWRIGHT_BASE_UTF8_H
#define KERNWRIGHT_BASE_UTF8_H

#include "base/strb.h"

#include <stddef.h>

/* Bytes (1-4) of the character at text[0], of which `left` bytes are there; 0 if they are not valid UTF-8
 * (overlong forms, surrogates and values over U+10FFFF are not). */
size_t utf8_length(const char *text, size_t left);

void utf8_add(strb *out, unsigned long code_point);

/* Appends `text` with every byte that is not part of a valid character replaced by U+FFFD. */
void utf8_add_valid(strb *out, const char *text, size_t n);

#endif
