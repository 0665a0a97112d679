/* Build logs: finding the line that matters, and what NVIDIA's compiler tells about a kernel. */
#include "device/opencl.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool has_word(const char *line, size_t length, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= length; i++)
        if (strncasecmp(line + i, word, n) == 0)
            return true;
    return false;
}

/* "Error(s) while linking:" says nothing without the line after it. */
static void append_next_line(const char *after, char *out, size_t size)
{
    size_t used = strlen(out);
    after += strspn(after, " \t\r\n");
    while (used > 0 && isspace((unsigned char)out[used - 1]))
        used--;
    snprintf(out + used, size - used, " %.*s", (int)strcspn(after, "\r\n"), after);
}

void opencl_hide_temporaries(char *log)
{
    static const char stem[] = "/tempfile_", suffix[] = ".cl", name[] = "kernel";
    char *p = log;
    while ((p = strstr(p, stem)) != NULL) {
        char *start = p, *end = strstr(p, suffix);
        while (start > log && !isspace((unsigned char)start[-1]))
            start--;
        if (!end || strcspn(p, " \t\r\n:") < (size_t)(end - p) || end - start < (ptrdiff_t)sizeof stem) {
            p += strlen(stem);
            continue;
        }
        memcpy(start, name, sizeof name - 1); // NOLINT(bugprone-not-null-terminated-result): text follows
        p = start + sizeof name - 1;
        memmove(p, end, strlen(end) + 1);
    }
}

void opencl_first_line(const char *log, char *out, size_t size)
{
    const char *best = NULL;
    size_t best_length = 0;
    for (const char *line = log; *line;) {
        const char *text = line + strspn(line, " \t\r");
        size_t length = strcspn(text, "\r\n");
        bool says_error = has_word(text, length, "error");
        if (length > 0 && (!best || says_error)) {
            best = text;
            best_length = length;
            if (says_error)
                break;
        }
        line = text + length;
        while (*line == '\n' || *line == '\r')
            line++;
    }
    snprintf(out, size, "%.*s", (int)(best_length < size ? best_length : size - 1), best ? best : "");
    while (best_length > 0 && isspace((unsigned char)best[best_length - 1]))
        best_length--;
    if (best_length > 0 && best[best_length - 1] == ':')
        append_next_line(best + best_length, out, size);
}

/* The number in front of `words`, as in "8 bytes spill stores"; the largest of all places. -1 if there is none. */
static int64_t number_before(const char *log, const char *words)
{
    int64_t most = -1;
    for (const char *p = log; (p = strstr(p, words)) != NULL; p += strlen(words)) {
        const char *q = p;
        while (q > log && isspace((unsigned char)q[-1]))
            q--;
        const char *end = q;
        while (q > log && isdigit((unsigned char)q[-1]))
            q--;
        int64_t n = q < end ? strtoll(q, NULL, 10) : -1;
        if (n > most)
            most = n;
    }
    return most;
}

void opencl_parse_nvidia_log(const char *log, int64_t *registers, int64_t *spill_bytes)
{
    *registers = number_before(log, "registers");
    *spill_bytes = number_before(log, "bytes spill stores");
}
