/* "Did you mean": the nearest name by edit distance. */
#include "base/json.h"
#include "base/mem.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST 200 /* characters; longer names get no suggestion */

/* Costs of one edit; a letter of the other case is half a mistake. */
enum { EDIT = 2, OTHER_CASE = 1 };

static int substitution(char a, char b)
{
    if (a == b)
        return 0;
    return tolower((unsigned char)a) == tolower((unsigned char)b) ? OTHER_CASE : EDIT;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Insertions, deletions, substitutions and swaps of neighbours between a and b (optimal string alignment). */
static int distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b), width = m + 1;
    int *d = mem_alloc((n + 1) * width * sizeof *d);
    for (size_t i = 0; i <= n; i++)
        d[i * width] = (int)i * EDIT;
    for (size_t j = 0; j <= m; j++)
        d[j] = (int)j * EDIT;
    for (size_t i = 1; i <= n; i++) {
        for (size_t j = 1; j <= m; j++) {
            int best = d[(i - 1) * width + j - 1] + substitution(a[i - 1], b[j - 1]);
            best = smaller(best, d[(i - 1) * width + j] + EDIT);
            best = smaller(best, d[i * width + j - 1] + EDIT);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = smaller(best, d[(i - 2) * width + j - 2] + EDIT);
            d[i * width + j] = best;
        }
    }
    int result = d[n * width + m];
    free(d);
    return result;
}

const char *json_nearest(const char *name, const char *const *candidates, size_t n)
{
    size_t length = strlen(name);
    int limit = (int)((length + 2) / 3) * EDIT;
    const char *best = NULL;
    if (length > LONGEST)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        size_t other = strlen(candidates[i]);
        if (other > LONGEST)
            continue;
        int d = distance(name, candidates[i]);
        /* Two names that share nothing are not near, however short they are. */
        if (d <= limit && d < (int)(length > other ? length : other) * EDIT) {
            best = candidates[i];
            limit = d - 1;
        }
    }
    return best;
}
