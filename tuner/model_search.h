/* Bayesian optimisation over a discrete space: a Gaussian process of the logarithm of the time, expected improvement
 * over a pool of valid configurations. The strategies `bayes` and `auto` are settings of it.
 *
 * Expected improvement: Jones, Schonlau, Welch, J. Global Optimization 13, 1998; over the valid configurations of an
 * autotuning space: Willemsen, van Nieuwpoort, van Werkhoven, PMBS 2021. Pending proposals enter with the value that
 * the model believes ("kriging believer": Ginsbourger, Le Riche, Carraro, 2010). */
#ifndef KERNWRIGHT_TUNER_MODEL_SEARCH_H
#define KERNWRIGHT_TUNER_MODEL_SEARCH_H

#include "tuner/gp.h"
#include "tuner/strategy.h"

typedef struct model_settings {
    size_t design; /* proposals before there is a model */
    size_t spread; /* random configurations of which each of them is the one farthest from all before */
    size_t pool;   /* random configurations among the candidates; all valid ones if there are no more */
    /* In a space of more than `large` valid configurations only `few` random ones, and new candidates after each
     * `renew` observations. A random one there is hardly ever good, just far from all that is known: with many of them
     * the largest expected improvement is always somewhere else, and the search does not finish what it has begun. */
    size_t large, few, renew;
    size_t elites; /* the neighbours of the best are candidates too */
    double bend;   /* times beyond `bend` times the distance of the design's median from the best (in logarithms) */
    double tail;   /* are compressed: by this factor, and logarithmically */
    /* Before so many successes each proposal is made with hyper-parameters drawn about the fitted ones, with this share
     * of their priors' standard deviations. */
    size_t doubt_until;
    double doubt;
    double fail_reach;  /* decay of a failure's influence per changed parameter */
    const gp_prior *gp; /* borrowed */
} model_settings;

extern const model_settings model_bayes_settings, model_auto_settings;

typedef struct model_search model_search;

model_search *model_search_start(const space *s, const strategy_options *o, const model_settings *settings);
bool model_search_ask(void *m, uint32_t *config);
void model_search_tell(void *m, const uint32_t *config, bool ok, double time_ns);
void model_search_prior(void *m, const uint32_t *config, double relative, double weight);
void model_search_stop(void *m);

#endif
