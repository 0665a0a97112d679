/* Bayesian optimisation as it is usually done: a Gaussian process and expected improvement (tuner/model_search.h). */
#include "tuner/model_search.h"
#include "tuner/strategy_internal.h"

static void *start(const space *s, const strategy_options *o)
{
    return model_search_start(s, o, &model_bayes_settings);
}

const strategy_ops strategy_bayes = {.name = "bayes",
                                     .doc = "Bayesian optimisation: Gaussian process, expected improvement",
                                     .start = start,
                                     .ask = model_search_ask,
                                     .tell = model_search_tell,
                                     .stop = model_search_stop,
                                     .prior = model_search_prior};
