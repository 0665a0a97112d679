#include "base/utf8.h"

size_t utf8_length(const char *text, size_t left)
{
    const unsigned char *p = (const unsigned char *)text;
    if (left == 0)
        return 0;
    if (p[0] < 0x80)
        return 1;
    size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || left < n)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
        (p[0] == 0xf4 && p[1] > 0x8f))
        return 0;
    return n;
}

void utf8_add(strb *out, unsigned long c)
{
    if (c < 0x80) {
        strb_add_char(out, (char)c);
        return;
    }
    if (c < 0x800) {
        strb_add_char(out, (char)(0xc0 | c >> 6));
    } else if (c < 0x10000) {
        strb_add_char(out, (char)(0xe0 | c >> 12));
        strb_add_char(out, (char)(0x80 | (c >> 6 & 0x3f)));
    } else {
        strb_add_char(out, (char)(0xf0 | c >> 18));
        strb_add_char(out, (char)(0x80 | (c >> 12 & 0x3f)));
        strb_add_char(out, (char)(0x80 | (c >> 6 & 0x3f)));
    }
    strb_add_char(out, (char)(0x80 | (c & 0x3f)));
}

void utf8_add_valid(strb *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t m = utf8_length(text + i, n - i);
        if (m)
            strb_add_n(out, text + i, m);
        else
            utf8_add(out, 0xfffd);
        i += m ? m : 1;
    }
}
