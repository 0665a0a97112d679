/* Reading Oclgrind's log. */
#include "tuner/oclgrind_log.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* How a heading begins. Of two that fit the first counts. */
static const struct {
    const char *start;
    oclgrind_kind kind;
} headings[] = {
    {"OCLGRIND FATAL ERROR", OCLGRIND_CANNOT},
    {"Unsupported ", OCLGRIND_CANNOT},
    {"Undefined external function", OCLGRIND_CANNOT},
    {"Invalid read", OCLGRIND_ACCESS},
    {"Invalid write", OCLGRIND_ACCESS},
    {"Invalid memory load", OCLGRIND_ACCESS},
    {"Invalid memory store", OCLGRIND_ACCESS},
    {"Read-write data race", OCLGRIND_RACE},
    {"Write-write data race", OCLGRIND_RACE},
    {"Work-group divergence", OCLGRIND_DIVERGENCE},
    {"Uninitialized ", OCLGRIND_UNINITIALIZED},
    {"Controlflow depends on uninitialized", OCLGRIND_UNINITIALIZED},
    {"Instruction depends on an uninitialized", OCLGRIND_UNINITIALIZED},
    /* A flat walk over an array of arrays stays inside of the whole: what leaves it is reported as "Invalid". */
    {"Index (", OCLGRIND_DOUBTFUL},
};

static bool begins(const char *text, size_t length, const char *start)
{
    size_t n = strlen(start);
    return length >= n && memcmp(text, start, n) == 0;
}

/* A vector of three is stored as one of four, the last element of which nobody has written. Clang calls it so. */
static bool is_padding(const char *message, size_t length)
{
    return memmem(message, length, " %extractVec", strlen(" %extractVec")) != NULL;
}

static bool kind_of(const char *message, size_t length, oclgrind_kind *kind)
{
    for (size_t i = 0; i < sizeof headings / sizeof *headings; i++) {
        if (!begins(message, length, headings[i].start))
            continue;
        *kind = headings[i].kind;
        if (*kind == OCLGRIND_UNINITIALIZED && is_padding(message, length))
            *kind = OCLGRIND_DOUBTFUL;
        return true;
    }
    return false;
}

/* The text behind `label` up to the end of its line; "" if there is no such line. */
static void field(const char *message, size_t length, const char *label, char *out, size_t size)
{
    const char *at = memmem(message, length, label, strlen(label));
    out[0] = '\0';
    if (!at)
        return;
    at += strlen(label);
    const char *end = memchr(at, '\n', (size_t)(message + length - at));
    size_t n = (size_t)((end ? end : message + length) - at);
    while (n > 0 && *at == ' ') {
        at++;
        n--;
    }
    snprintf(out, size, "%.*s", (int)(n < size ? n : size - 1), at);
}

/* "Invalid read of size 4 at global memory address 0x10: kernel k, line 3 (column 7)" */
static void describe(const char *message, size_t length, char *out, size_t size)
{
    char kernel[64], line[64];
    const char *end = memchr(message, '\n', length);
    int n = (int)(end ? end - message : (long)length);
    field(message, length, "Kernel:", kernel, sizeof kernel);
    field(message, length, "At line", line, sizeof line);
    char *file = strstr(line, " of ");
    if (file)
        *file = '\0';
    snprintf(out, size, "%.*s%s%s%s%s", n < 160 ? n : 160, message, kernel[0] ? ": kernel " : "", kernel,
             line[0] ? ", line " : "", line);
}

static void add_message(const char *message, size_t length, oclgrind_findings *out)
{
    oclgrind_kind kind;
    if (!kind_of(message, length, &kind))
        return;
    /* "FATAL ERROR (file:line)" is followed by a heading of its own that says what it was. */
    if (out->n[kind]++ == 0 || begins(out->first[kind], strlen(out->first[kind]), "OCLGRIND FATAL"))
        describe(message, length, out->first[kind], sizeof out->first[kind]);
}

/* The start of the next heading at or behind `from`: a line that is not empty and not indented. */
static size_t next_heading(const char *text, size_t length, size_t from)
{
    while (from < length && (text[from] == '\n' || text[from] == '\t' || text[from] == ' ')) {
        const char *end = memchr(text + from, '\n', length - from);
        from = end ? (size_t)(end - text) + 1 : length;
    }
    return from;
}

void oclgrind_log_read(const char *text, size_t length, oclgrind_findings *out)
{
    size_t at = next_heading(text, length, 0);
    while (at < length) {
        const char *end = memchr(text + at, '\n', length - at);
        size_t next = next_heading(text, length, end ? (size_t)(end - text) + 1 : length);
        add_message(text + at, next - at, out);
        at = next;
    }
}

/* A whole word that names a vector type of 16 elements, or the load of one. */
static bool has_vector_of_16(const char *source)
{
    static const char *const before[] = {"char", "short", "int", "long", "half", "float", "double", "vload"};
    for (const char *at = source; (at = strstr(at, "16")); at += 2) {
        if (isalnum((unsigned char)at[2]) || at[2] == '_')
            continue;
        for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
            const size_t n = strlen(before[i]);
            if ((size_t)(at - source) >= n && memcmp(at - n, before[i], n) == 0)
                return true;
        }
    }
    return false;
}

void oclgrind_excuse(const char *source, oclgrind_findings *f)
{
    if (f->n[OCLGRIND_UNINITIALIZED] == 0 || !has_vector_of_16(source))
        return;
    f->n[OCLGRIND_DOUBTFUL] += f->n[OCLGRIND_UNINITIALIZED];
    f->n[OCLGRIND_UNINITIALIZED] = 0;
}

bool oclgrind_judge(const oclgrind_findings *f, outcome *o, strb *detail)
{
    static const struct {
        oclgrind_kind kind;
        outcome outcome;
        const char *what;
    } order[] = {
        {OCLGRIND_ACCESS, OUTCOME_OUT_OF_BOUNDS, "access out of bounds"},
        {OCLGRIND_RACE, OUTCOME_NONDETERMINISTIC, "data race"},
        {OCLGRIND_DIVERGENCE, OUTCOME_NONDETERMINISTIC, "barrier that not all work-items reach"},
        {OCLGRIND_UNINITIALIZED, OUTCOME_NONDETERMINISTIC, "use of what was never written"},
        {OCLGRIND_CANNOT, OUTCOME_LAUNCH_ERROR, "the simulator cannot run it"},
    };
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        const size_t n = f->n[order[i].kind];
        if (n == 0)
            continue;
        *o = order[i].outcome;
        strb_printf(detail, "Oclgrind: %s: %s", order[i].what, f->first[order[i].kind]);
        if (n > 1)
            strb_printf(detail, "; %zu such reports", n);
        return true;
    }
    return false;
}
