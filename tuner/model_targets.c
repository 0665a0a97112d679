/* What the Gaussian process is told of a time. */
#include "tuner/model_internal.h"

#include "base/mem.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdlib.h>

#define TRUST 0.7    /* slope on knowledge from elsewhere before anything was seen, */
#define TRUST_SD 0.5 /* and its standard deviation */

/* Log time over the best, large ones compressed: what is bad need not be known exactly, and outliers bend the model. */
static double target_of(const model_search *x, const observation *o)
{
    double above = o->log_time - x->seen.items[x->seen.best].log_time;
    if (above > x->bend)
        above = x->bend * (1 + x->settings.tail * log(above / x->bend));
    return above - x->trust * o->offset;
}

static double raw_target(const model_search *x, size_t i)
{
    return target_of(x, &x->seen.items[i]);
}

/* How much of what was known elsewhere holds here: ridge regression towards TRUST. */
static void weigh_prior(model_search *x)
{
    double n = 0, mo = 0, my = 0, oo = 0, oy = 0, rest = 0;
    x->trust = 0;
    for (size_t i = 0; i < x->seen.n; i++) {
        if (x->seen.items[i].state != OBSERVATION_OK)
            continue;
        n++;
        mo += x->seen.items[i].offset;
        my += raw_target(x, i);
    }
    for (size_t i = 0; i < x->seen.n; i++) {
        if (x->seen.items[i].state != OBSERVATION_OK)
            continue;
        double o = x->seen.items[i].offset - mo / n, y = raw_target(x, i) - my / n;
        oo += o * o;
        oy += o * y;
        rest += (y - TRUST * o) * (y - TRUST * o);
    }
    double ridge = rest / n / (TRUST_SD * TRUST_SD) + 1e-12;
    x->trust = fmin(fmax((oy + ridge * TRUST) / (oo + ridge), 0), 1.2);
}

/* Of the first successes, as many as the design: later ones lie near the best, and their median would tell little of
 * the space. */
static double design_median(const model_search *x)
{
    double *times = mem_alloc(x->seen.n_ok * sizeof *times);
    size_t n = 0;
    for (size_t i = 0; i < x->seen.n && n < x->settings.design; i++)
        if (x->seen.items[i].state == OBSERVATION_OK)
            times[n++] = x->seen.items[i].log_time;
    gsl_sort(times, 1, n);
    double median = gsl_stats_median_from_sorted_data(times, 1, n);
    free(times);
    return median;
}

void model_scale_targets(model_search *x)
{
    double n = 0, sum = 0, squares = 0;
    x->bend = x->settings.bend * (design_median(x) - x->seen.items[x->seen.best].log_time) + 1e-9;
    if (x->prior)
        weigh_prior(x);
    for (size_t i = 0; i < x->seen.n; i++) {
        if (x->seen.items[i].state != OBSERVATION_OK)
            continue;
        double y = raw_target(x, i);
        n++;
        sum += y;
        squares += y * y;
    }
    x->mean = sum / n;
    x->sd = sqrt(fmax(squares / n - x->mean * x->mean, 0)) + 1e-9;
}

double model_target(const model_search *x, size_t i)
{
    const observation *o = &x->seen.items[i];
    return o->state == OBSERVATION_OK ? (raw_target(x, i) - x->mean) / x->sd : o->belief;
}
