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
