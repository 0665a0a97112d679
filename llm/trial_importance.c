/* Which parameters mattered in a trial: told from the few configurations that were measured, so it is a hint and no
 * analysis (tuner/importance.h has that). */
#include "llm/trial_importance.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/strb.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Values of one parameter; more are not shown. */
enum { MOST_VALUES = 24 };
/* What is less than the noise of times usually is. */
static const double LEAST_DIFFERENCE = 1.03;

typedef struct seen {
    char *value;
    double best;
} seen;

static void note(seen *values, size_t *n, const json *one, double relative)
{
    strb text = STRB_INIT;
    json_print(one, &text);
    size_t i = 0;
    while (i < *n && strcmp(values[i].value, strb_text(&text)) != 0)
        i++;
    if (i == *n && *n < MOST_VALUES)
        values[(*n)++] = (seen){.value = mem_strdup(strb_text(&text)), .best = relative};
    else if (i < *n)
        values[i].best = fmin(values[i].best, relative);
    strb_clear(&text);
}

static int by_time(const void *a, const void *b)
{
    double x = ((const seen *)a)->best, y = ((const seen *)b)->best;
    return (x > y) - (x < y);
}

static void describe(const char *name, seen *values, size_t n, strb *out)
{
    if (n == 0)
        return;
    qsort(values, n, sizeof *values, by_time);
    if (n > 1 && values[n - 1].best / values[0].best > LEAST_DIFFERENCE) {
        strb_printf(out, "- %s:", name);
        for (size_t i = 0; i < n; i++)
            strb_printf(out, "%s %s: %.2f", i ? "," : "", values[i].value, values[i].best);
        strb_add_char(out, '\n');
    }
    for (size_t i = 0; i < n; i++)
        free(values[i].value);
}

char *trial_importance(const template *p, const trial_row *rows, size_t n)
{
    strb text = STRB_INIT;
    json **configs = mem_calloc(n + 1, sizeof *configs);
    for (size_t i = 0; i < n; i++)
        configs[i] = json_parse(rows[i].config, strlen(rows[i].config), NULL, 1, 1, NULL);
    for (size_t k = 0; k < p->n_params; k++) {
        seen values[MOST_VALUES];
        size_t n_values = 0;
        for (size_t i = 0; i < n; i++) {
            const json *one = configs[i] ? json_get(configs[i], p->params[k].name) : NULL;
            if (one && isfinite(rows[i].relative))
                note(values, &n_values, one, rows[i].relative);
        }
        describe(p->params[k].name, values, n_values, &text);
    }
    for (size_t i = 0; i < n; i++)
        json_free(configs[i]);
    free(configs);
    if (text.length > 0)
        return strb_take(&text);
    strb_clear(&text);
    return NULL;
}
