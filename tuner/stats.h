/* Statistics of timing samples (GSL). */
#ifndef KERNWRIGHT_TUNER_STATS_H
#define KERNWRIGHT_TUNER_STATS_H

#include <stddef.h>

typedef struct stats_summary {
    size_t n;
    double median, lo,
        hi; /* ns; lo..hi: order-statistic confidence interval of the median, >= 95% where n allows, else min..max */
    double min, max, mean;
} stats_summary;

/* `samples` need not be sorted and is not changed. n == 0 gives all zeros. */
stats_summary stats_of(const double *samples, size_t n);

#endif
