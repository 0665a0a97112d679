#include "tuner/stats.h"

#include "base/mem.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <stdlib.h>
#include <string.h>

#define CONFIDENCE 0.95

/* The largest r for which [X(r), X(n+1-r)] (order statistics, 1-based) holds the median with CONFIDENCE; 0 if even
 * the whole range does not. It misses when fewer than r samples fall on one side of the median: twice the binomial
 * tail P(B <= r-1), B ~ Binomial(n, 1/2), whatever the distribution of the samples. */
static size_t interval_rank(size_t n)
{
    size_t lo = 0, hi = n / 2; /* the tail grows with r */
    while (lo < hi) {
        size_t r = hi - (hi - lo) / 2;
        if (2 * gsl_cdf_binomial_P((unsigned)(r - 1), 0.5, (unsigned)n) <= 1 - CONFIDENCE)
            lo = r;
        else
            hi = r - 1;
    }
    return lo;
}

stats_summary stats_of(const double *samples, size_t n)
{
    stats_summary s = {0};
    if (n == 0)
        return s;
    double *sorted = mem_alloc(n * sizeof *sorted);
    memcpy(sorted, samples, n * sizeof *sorted);
    gsl_sort(sorted, 1, n);
    size_t r = interval_rank(n);
    s.n = n;
    s.min = sorted[0];
    s.max = sorted[n - 1];
    s.median = gsl_stats_median_from_sorted_data(sorted, 1, n);
    s.mean = gsl_stats_mean(sorted, 1, n);
    s.lo = sorted[r > 0 ? r - 1 : 0];
    s.hi = sorted[r > 0 ? n - r : n - 1];
    free(sorted);
    return s;
}
