#include "llm/trial_point.h"

#include "base/json.h"
#include "base/mem.h"
#include "llm/trial_importance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* {"artefact": {...}} of a measurement. */
void trial_point_note(trial_point *x, const measurement *m)
{
    x->registers = m->registers;
    x->spill_bytes = m->spill_bytes;
    json *extra = m->extra ? json_parse(m->extra, strlen(m->extra), NULL, 1, 1, NULL) : NULL;
    if (extra && !x->made.known)
        artefact_from_json(json_get(extra, "artefact"), &x->made);
    json_free(extra);
}

/* Geometric mean over the shapes that it was measured on; NaN: none. */
static double relative_time(const trial_point *x, const trial_result *r)
{
    double sum = 0, n = 0;
    for (size_t k = 0; k < r->n_shapes; k++) {
        double ratio = x->ns[k] / r->shapes[k].best_ns;
        if (isfinite(ratio) && ratio > 0) {
            sum += log(ratio);
            n += 1;
        }
    }
    return n > 0 ? exp(sum / n) : NAN;
}

char *trial_what_mattered(const template *p, const trial_point *points, size_t n, const trial_result *r)
{
    trial_row *rows = mem_calloc(n + 1, sizeof *rows);
    double least = INFINITY;
    for (size_t i = 0; i < n; i++) {
        rows[i] = (trial_row){.config = points[i].config, .relative = relative_time(&points[i], r)};
        least = fmin(least, rows[i].relative);
    }
    for (size_t i = 0; i < n; i++)
        rows[i].relative /= least;
    char *text = trial_importance(p, rows, n);
    free(rows);
    return text;
}

/* Of the configuration that is the best on the first shape: what a model may want to know of its registers. */
char *trial_what_was_made(const trial_point *points, size_t n)
{
    const trial_point *best = NULL;
    strb text = STRB_INIT;
    for (size_t i = 0; i < n; i++) {
        if (isfinite(points[i].ns[0]) && (!best || points[i].ns[0] < best->ns[0]))
            best = &points[i];
    }
    if (best && best->registers > 0)
        strb_printf(&text, "%lld registers for a work-item", (long long)best->registers);
    if (best && best->spill_bytes > 0)
        strb_printf(&text, ", %lld bytes of them spilled", (long long)best->spill_bytes);
    if (best && best->made.known) {
        strb_add(&text, text.length ? "; in the text of the program (a loop counts once) " : "");
        artefact_print(&best->made, &text);
    }
    if (text.length > 0)
        return strb_take(&text);
    strb_clear(&text);
    return NULL;
}
