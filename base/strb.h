/* A growable string; all generated text is made with it. */
#ifndef KERNWRIGHT_BASE_STRB_H
#define KERNWRIGHT_BASE_STRB_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct strb {
    char *data;    /* NUL-terminated whenever length > 0; NULL when nothing was added yet */
    size_t length; /* bytes without the NUL */
    size_t capacity;
} strb;

#define STRB_INIT \
    { \
        0, 0, 0 \
    }

void strb_clear(strb *s); /* frees; s is empty and usable again */
void strb_reset(strb *s); /* empties, keeps the memory */
void strb_add(strb *s, const char *text);
void strb_add_n(strb *s, const char *text, size_t n);
void strb_add_char(strb *s, char c);
void strb_printf(strb *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void strb_vprintf(strb *s, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
void strb_truncate(strb *s, size_t length);
const char *strb_text(const strb *s); /* never NULL; valid until the next change */
char *strb_take(strb *s);             /* caller frees; s is empty afterwards */

#endif
