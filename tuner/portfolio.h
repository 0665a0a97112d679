/* A portfolio: the few variants that together serve a set of shapes best. */
#ifndef KERNWRIGHT_TUNER_PORTFOLIO_H
#define KERNWRIGHT_TUNER_PORTFOLIO_H

#include "tuner/costs.h"

#define PORTFOLIO_MAX 32
#define PORTFOLIO_DEFAULT 8
/* A larger portfolio is recommended only if it lowers the mean regret by more than this. */
#define PORTFOLIO_GAIN 0.01

typedef struct portfolio {
    size_t variants[PORTFOLIO_MAX]; /* columns of the matrix, ascending */
    size_t n;
    regret_sum regret; /* when each shape runs the best of them */
} portfolio;

/* At most k (1 to PORTFOLIO_MAX) variants with the least weighted mean of the shapes' ratios, each shape served by the
 * best of them. Greedy, the best one first, which is within 1 - 1/e of the optimum since the gain is submodular (G. L.
 * Nemhauser, L. A. Wolsey, M. L. Fisher, An analysis of approximations for maximizing submodular set functions, 1978);
 * after each addition single members are exchanged as long as that helps, and where there are at most PORTFOLIO_EXACT
 * sets of that size all are tried. `used` (NULL: all) says which shapes count. Fewer than k where one more gains
 * nothing. */
#define PORTFOLIO_EXACT 3000
void portfolio_choose(const cost_table *m, size_t k, const bool *used, portfolio *out);

/* Portfolios of 1, 2, ... `k` variants into out[0..]; returns how many: fewer when one more gains nothing. */
size_t portfolio_curve(const cost_table *m, size_t k, portfolio *out);
/* The least size whose mean regret is within PORTFOLIO_GAIN of the largest one's. */
size_t portfolio_recommend(const portfolio *curve, size_t n);

#endif
