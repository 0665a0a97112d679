/* Source text without what a compiler does not see. */
#include "codegen/expand.h"

#include <stdlib.h>
#include <string.h>

typedef struct strip {
    const char *at;
    char *out;         /* as large as the text: every newline put in stands for one that was there */
    size_t length;     /* of what is in `out` */
    bool blank;        /* blanks or a comment wait to become one space */
    bool line_start;   /* only blanks so far on this line */
    bool preprocessor; /* in a line that starts with # */
} strip;

static bool at_line_begin(const strip *s)
{
    return s->length == 0 || s->out[s->length - 1] == '\n';
}

static void put(strip *s, const char *text, size_t n)
{
    if (s->blank && !at_line_begin(s))
        s->out[s->length++] = ' ';
    s->blank = false;
    s->line_start = false;
    memcpy(s->out + s->length, text, n);
    s->length += n;
    s->at += n;
}

/* Length of the string or character literal at p; it ends with its line at the latest. */
static size_t literal_length(const char *p)
{
    size_t n = 1;
    while (p[n] != '\0' && p[n] != *p && p[n] != '\n')
        n += p[n] == '\\' && p[n + 1] != '\0' ? 2 : 1;
    return p[n] == *p ? n + 1 : n;
}

/* Length of the comment at p; a line comment ends before its newline, unless a backslash continues it. */
static size_t comment_length(const char *p)
{
    if (p[1] == '*') {
        const char *end = strstr(p + 2, "*/");
        return end != NULL ? (size_t)(end + 2 - p) : strlen(p);
    }
    size_t n = 2;
    while (p[n] != '\0' && (p[n] != '\n' || p[n - 1] == '\\'))
        n++;
    return n;
}

static void newline(strip *s)
{
    if (s->preprocessor) {
        s->out[s->length++] = '\n';
        s->blank = false;
    } else {
        s->blank = true;
    }
    s->preprocessor = false;
    s->line_start = true;
    s->at++;
}

static void begin_preprocessor(strip *s)
{
    if (!at_line_begin(s))
        s->out[s->length++] = '\n';
    s->blank = false;
    s->preprocessor = true;
    put(s, "#", 1);
}

/* Letters, digits and punctuation up to the next character that needs a look. */
static size_t plain_length(const char *p)
{
    return 1 + strcspn(p + 1, " \t\r\n\f\v\\/\"'#");
}

void source_strip(const char *text, strb *out)
{
    strip s = {.at = text, .out = mem_alloc(strlen(text) + 1), .line_start = true};
    while (*s.at != '\0') {
        switch (*s.at) {
        case '\n':
            newline(&s);
            break;
        case ' ':
        case '\t':
        case '\r':
        case '\f':
        case '\v':
            s.blank = true;
            s.at++;
            break;
        case '\\':
            if (s.at[1] == '\n') {
                s.blank = true;
                s.at += 2;
            } else {
                put(&s, s.at, 1);
            }
            break;
        case '/':
            if (s.at[1] == '/' || s.at[1] == '*') {
                s.blank = true;
                s.at += comment_length(s.at);
            } else {
                put(&s, s.at, 1);
            }
            break;
        case '"':
        case '\'':
            put(&s, s.at, literal_length(s.at));
            break;
        case '#':
            if (s.line_start)
                begin_preprocessor(&s);
            else
                put(&s, s.at, 1);
            break;
        default:
            put(&s, s.at, plain_length(s.at));
            break;
        }
    }
    strb_add_n(out, s.out, s.length);
    free(s.out);
}
