/* Search/replace edits:
 *
 *     <<<<<<< SEARCH
 *     lines of the parent
 *     =======
 *     lines instead of them
 *     >>>>>>> REPLACE
 */
#include "llm/reply_internal.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* More would take longer to apply than a template is worth; a model that means it writes the whole. */
enum { MOST_EDITS = 256 };

typedef struct span {
    const char *start;
    size_t length;
} span;

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : line + strlen(line);
}

/* Is this line a mark of at least five of `c` and, behind blanks, `word` (or nothing where word is "")? */
static bool is_mark(const char *line, char c, const char *word)
{
    line += strspn(line, " \t");
    size_t n = 0;
    while (line[n] == c)
        n++;
    if (n < 5)
        return false;
    line += n + strspn(line + n, " \t");
    size_t w = strlen(word);
    return strncmp(line, word, w) == 0 &&
           (line[w + strspn(line + w, " \t\r")] == '\n' || !line[w + strspn(line + w, " \t\r")]);
}

/* The next edit from `at` on; returns where to go on, NULL if there is none. */
static const char *next_edit(const char *at, span *search, span *replace)
{
    for (; *at; at = next_line(at)) {
        if (!is_mark(at, '<', "SEARCH"))
            continue;
        const char *from = next_line(at), *middle = from;
        while (*middle && !is_mark(middle, '=', ""))
            middle = next_line(middle);
        const char *to = *middle ? next_line(middle) : middle, *end = to;
        while (*end && !is_mark(end, '>', "REPLACE"))
            end = next_line(end);
        if (!*end)
            return NULL;
        *search = (span){from, (size_t)(middle - from)};
        *replace = (span){to, (size_t)(end - to)};
        return next_line(end);
    }
    return NULL;
}

/* The one place of `what` in text; NULL and *several if it is there more than once. */
static const char *find_exact(const char *text, span what, bool *several)
{
    const char *found = NULL;
    *several = false;
    if (what.length == 0)
        return NULL;
    for (const char *at = text; (at = strchr(at, *what.start)); at++) {
        if (strncmp(at, what.start, what.length) != 0)
            continue;
        if (found) {
            *several = true;
            return NULL;
        }
        found = at;
    }
    return found;
}

static span trimmed(const char *line, const char *limit)
{
    const char *end = memchr(line, '\n', (size_t)(limit - line));
    end = end ? end : limit;
    while (line < end && strchr(" \t\r", *line))
        line++;
    while (end > line && strchr(" \t\r", end[-1]))
        end--;
    return (span){line, (size_t)(end - line)};
}

static bool same_line(span a, span b)
{
    return a.length == b.length && memcmp(a.start, b.start, a.length) == 0;
}

/* Where the lines of `what` begin at this line of the text, blanks at their ends ignored; NULL or the end. */
static const char *matches_here(const char *line, span what)
{
    const char *want = what.start, *limit = what.start + what.length;
    while (want < limit) {
        if (!*line || !same_line(trimmed(line, line + strlen(line)), trimmed(want, limit)))
            return NULL;
        line = next_line(line);
        want = next_line(want) < limit ? next_line(want) : limit;
    }
    return line;
}

static const char *find_loosely(const char *text, span what, const char **end)
{
    const char *found = NULL;
    while (what.length > 0 && strchr(" \t\r\n", what.start[what.length - 1]))
        what.length--;
    if (what.length == 0)
        return NULL;
    for (const char *line = text; *line; line = next_line(line)) {
        const char *stop = matches_here(line, what);
        if (!stop)
            continue;
        if (found)
            return NULL;
        found = line;
        *end = stop;
    }
    return found;
}

static void replace_in(strb *text, const char *from, const char *to, span by)
{
    strb changed = STRB_INIT;
    size_t start = (size_t)(from - strb_text(text)), stop = (size_t)(to - strb_text(text));
    strb_add_n(&changed, strb_text(text), start);
    strb_add_n(&changed, by.start, by.length);
    strb_add(&changed, strb_text(text) + stop);
    strb_clear(text);
    *text = changed;
}

static bool apply(strb *text, span search, span replace, const char **why)
{
    bool several;
    const char *end = NULL, *from = find_exact(strb_text(text), search, &several);
    if (from) {
        end = from + search.length;
    } else if (!several) {
        from = find_loosely(strb_text(text), search, &end);
    }
    if (!from) {
        *why = several ? "is there more than once" : search.length ? "is not there" : "is empty";
        return false;
    }
    replace_in(text, from, end, replace);
    return true;
}

size_t edits_apply(const char *reply, const char *parent, strb *out, size_t *n_failed, strb *problem)
{
    strb text = STRB_INIT;
    span search, replace;
    size_t n = 0;
    *n_failed = 0;
    strb_add(&text, parent);
    for (const char *at = reply; (at = next_edit(at, &search, &replace));) {
        const char *why;
        if (n == MOST_EDITS) {
            ++*n_failed;
            strb_printf(problem, "there are more than %d edits: write the whole template\n", MOST_EDITS);
            break;
        }
        n++;
        if (apply(&text, search, replace, &why))
            continue;
        ++*n_failed;
        span first = trimmed(search.start, search.start + search.length);
        strb_printf(problem, "edit %zu: its SEARCH text (\"%.*s\" ...) %s in the parent\n", n,
                    (int)(first.length < 60 ? first.length : 60), first.start, why);
    }
    strb_add(out, strb_text(&text));
    strb_clear(&text);
    return n;
}
