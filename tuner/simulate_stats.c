#include "tuner/simulate_stats.h"

#include "base/counter_rng.h"
#include "base/mem.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sf_gamma.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RESAMPLES 2000
#define LEVEL 0.95

/* ---- intervals ---- */

static int compare_doubles(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The percentile interval of `n` resampled statistics, which are sorted. */
static void set_percentiles(estimate *e, double *resampled, size_t n)
{
    qsort(resampled, n, sizeof *resampled, compare_doubles);
    e->lo = gsl_stats_quantile_from_sorted_data(resampled, 1, n, (1 - LEVEL) / 2);
    e->hi = gsl_stats_quantile_from_sorted_data(resampled, 1, n, (1 + LEVEL) / 2);
}

static double resampled_mean(const double *x, size_t n, uint64_t seed, uint64_t stream)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[(size_t)(counter_rng_unit(seed, stream, i) * (double)n)];
    return sum / (double)n;
}

estimate estimate_mean(const double *x, size_t n, uint64_t seed)
{
    estimate e = {gsl_stats_mean(x, 1, n), 0, 0};
    double means[RESAMPLES];
    for (size_t b = 0; b < RESAMPLES; b++)
        means[b] = resampled_mean(x, n, seed, b);
    set_percentiles(&e, means, RESAMPLES);
    return e;
}

/* Mean and its standard error. */
static estimate student(double mean, double error, double freedom)
{
    double width = error > 0 ? gsl_cdf_tdist_Pinv((1 + LEVEL) / 2, freedom) * error : 0;
    return (estimate){mean, mean - width, mean + width};
}

static double error_of_mean(const double *x, size_t n)
{
    return gsl_stats_sd(x, 1, n) / sqrt((double)n);
}

estimate estimate_paired(const double *x, size_t n)
{
    double mean = gsl_stats_mean(x, 1, n);
    if (n < 2)
        return (estimate){mean, -INFINITY, INFINITY};
    return student(mean, error_of_mean(x, n), (double)(n - 1));
}

/* ---- ratios ---- */

static double value_at(const simulation *s, size_t which, size_t kind, size_t seed, size_t at)
{
    size_t last = at < s->budgets[which] ? at : s->budgets[which];
    return simulation_curve(s, which, kind, seed)[last - 1];
}

static void take_ratios(const simulation *s, size_t which, size_t kind, size_t at, double *x)
{
    for (size_t i = 0; i < s->repeat; i++)
        x[i] = value_at(s, which, kind, i, at);
}

static void take_differences(const simulation *s, size_t which, size_t kind, size_t random, size_t at, double *x)
{
    for (size_t i = 0; i < s->repeat; i++)
        x[i] = log(value_at(s, which, kind, i, at) / value_at(s, which, random, i, at));
}

simulate_cell simulate_cell_of(const simulation *s, size_t which, size_t kind, size_t random, size_t at)
{
    simulate_cell c = {{NAN, NAN, NAN}, {NAN, NAN, NAN}};
    double *x = mem_alloc(s->repeat * sizeof *x);
    take_ratios(s, which, kind, at, x);
    c.ratio = estimate_mean(x, s->repeat, at);
    if (random < s->n_strategies) {
        take_differences(s, which, kind, random, at, x);
        c.vs_random = estimate_paired(x, s->repeat);
    }
    free(x);
    return c;
}

static estimate geometric_mean(const simulation *s, size_t kind, size_t at)
{
    estimate e = {0, 0, 0};
    double logs[RESAMPLES] = {0};
    double *x = mem_alloc(s->repeat * sizeof *x);
    for (size_t i = 0; i < s->n_spaces; i++) {
        take_ratios(s, i, kind, at, x);
        e.mean += log(gsl_stats_mean(x, 1, s->repeat)) / (double)s->n_spaces;
        for (size_t b = 0; b < RESAMPLES; b++)
            logs[b] += log(resampled_mean(x, s->repeat, i, b)) / (double)s->n_spaces;
    }
    free(x);
    set_percentiles(&e, logs, RESAMPLES);
    return (estimate){exp(e.mean), exp(e.lo), exp(e.hi)};
}

static estimate mean_difference(const simulation *s, size_t kind, size_t random, size_t at)
{
    double *x = mem_alloc(s->repeat * sizeof *x);
    double mean = 0, variance = 0, n = (double)s->n_spaces;
    for (size_t i = 0; i < s->n_spaces; i++) {
        take_differences(s, i, kind, random, at, x);
        mean += gsl_stats_mean(x, 1, s->repeat) / n;
        double error = s->repeat > 1 ? error_of_mean(x, s->repeat) : INFINITY;
        variance += error * error / (n * n);
    }
    free(x);
    if (s->repeat < 2)
        return (estimate){mean, -INFINITY, INFINITY};
    return student(mean, sqrt(variance), (double)(s->repeat - 1));
}

simulate_cell simulate_cell_of_all(const simulation *s, size_t kind, size_t random, size_t at)
{
    simulate_cell c = {geometric_mean(s, kind, at), {NAN, NAN, NAN}};
    if (random < s->n_strategies)
        c.vs_random = mean_difference(s, kind, random, at);
    return c;
}

/* ---- runs of one seed ---- */

simulate_apart simulate_apart_of(const simulation *s, size_t which, size_t kind, size_t at)
{
    size_t n = s->repeat / s->runs;
    double *apart = mem_alloc(n * sizeof *apart);
    for (size_t i = 0; i < n; i++) {
        double least = INFINITY, most = 0;
        for (size_t k = 0; k < s->runs; k++) {
            double x = value_at(s, which, kind, i * s->runs + k, at);
            least = fmin(least, x);
            most = fmax(most, x);
        }
        apart[i] = most / least - 1;
    }
    qsort(apart, n, sizeof *apart, compare_doubles);
    simulate_apart a = {gsl_stats_median_from_sorted_data(apart, 1, n), gsl_stats_mean(apart, 1, n), apart[n - 1]};
    free(apart);
    return a;
}

/* ---- random search in closed form ---- */

static double *sorted_times(const recorded *r)
{
    double *times = mem_alloc(r->n_ok * sizeof *times);
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++)
        if (!isnan(r->times_ns[i]))
            times[n++] = r->times_ns[i];
    qsort(times, n, sizeof *times, compare_doubles);
    return times;
}

/* log of "n choose k" */
static double log_choose(size_t n, size_t k)
{
    return gsl_sf_lngamma((double)n + 1) - gsl_sf_lngamma((double)k + 1) - gsl_sf_lngamma((double)(n - k) + 1);
}

/* The i-th best of n (from 0) is the best of k draws with probability C(n-1-i, k-1) / C(n, k). */
double simulate_random_ratio(const recorded *r, size_t draws)
{
    if (draws == 0)
        return r->worst_ns / r->best_ns;
    if (draws >= r->n)
        return 1;
    double *times = sorted_times(r), all = log_choose(r->n, draws), expected = 0;
    for (size_t i = 0; i < r->n_ok && r->n - 1 - i >= draws - 1; i++)
        expected += times[i] * exp(log_choose(r->n - 1 - i, draws - 1) - all);
    if (r->n_failed >= draws)
        expected += r->worst_ns * exp(log_choose(r->n_failed, draws) - all);
    free(times);
    return expected / r->best_ns;
}

/* ---- the methodology's score ---- */

/* Where in the n valid times, the worst first, random search is expected to be after m evaluations (Willemsen et al.,
 * "A methodology for comparing auto-tuning optimization algorithms", 2024). Halves are rounded to even. */
static size_t expected_place(size_t m, size_t n)
{
    double place = rint((double)m * (double)(n + 1) / (double)(m + 1));
    return place < (double)(n - 1) ? (size_t)place : n - 1;
}

/* Evaluations after which it is expected at place i. */
static size_t evaluations_to(size_t i, size_t n)
{
    return (i + (n - i)) / (n + 1 - i);
}

/* The first place, the worst first, whose time is at most this. `ascending`: the best first. */
static size_t place_of(const double *ascending, size_t n, double limit)
{
    size_t i = 0;
    while (i + 1 < n && ascending[n - 1 - i] > limit)
        i++;
    return i;
}

score_rule score_rule_of(const recorded *r)
{
    score_rule rule = {1, 0, NULL};
    double gap = r->median_ns - r->best_ns;
    if (!(gap > 0))
        return rule;
    double *times = sorted_times(r);
    size_t n = r->n_ok;
    size_t first = evaluations_to(place_of(times, n, r->median_ns - SCORE_START * gap), n);
    rule.last = evaluations_to(place_of(times, n, r->median_ns - SCORE_CUTOFF * gap), n);
    rule.first = first > 1 ? first : 1;
    /* Where the baseline is at the optimum nothing can be said against it. */
    while (rule.last >= rule.first && times[n - 1 - expected_place(rule.last, n)] <= r->best_ns)
        rule.last--;
    rule.baseline = mem_alloc((rule.last + 1) * sizeof *rule.baseline);
    for (size_t m = 1; m <= rule.last; m++)
        rule.baseline[m - 1] = times[n - 1 - expected_place(m, n)] / r->best_ns;
    free(times);
    return rule;
}

void score_rule_clear(score_rule *rule)
{
    free(rule->baseline);
    rule->baseline = NULL;
}

double score_of(const score_rule *rule, const double *curve)
{
    double sum = 0;
    for (size_t m = rule->first; m <= rule->last; m++)
        sum += (rule->baseline[m - 1] - curve[m - 1]) / (rule->baseline[m - 1] - 1);
    return sum / (double)(rule->last - rule->first + 1);
}

estimate simulate_score(const simulation *s, const score_rule *rules, size_t kind, estimate *per_space)
{
    estimate all = {0, 0, 0};
    double sums[RESAMPLES] = {0};
    double *x = mem_alloc(s->repeat * sizeof *x);
    size_t n = 0;
    for (size_t i = 0; i < s->n_spaces; i++) {
        per_space[i] = (estimate){NAN, NAN, NAN};
        if (rules[i].last < rules[i].first)
            continue;
        n++;
        for (size_t k = 0; k < s->repeat; k++)
            x[k] = score_of(&rules[i], simulation_curve(s, i, kind, k));
        per_space[i] = estimate_mean(x, s->repeat, i);
        all.mean += per_space[i].mean;
        for (size_t b = 0; b < RESAMPLES; b++)
            sums[b] += resampled_mean(x, s->repeat, i, b);
    }
    free(x);
    if (n == 0)
        return (estimate){NAN, NAN, NAN};
    for (size_t b = 0; b < RESAMPLES; b++)
        sums[b] /= (double)n;
    set_percentiles(&all, sums, RESAMPLES);
    all.mean /= (double)n;
    return all;
}
