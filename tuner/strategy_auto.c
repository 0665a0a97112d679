/* The default. Bayesian optimisation with what helps on recorded tuning spaces: a spread design, times compressed
 * about the design's median, and hyper-parameters drawn about the fitted ones while there are few results (a stand-in
 * for the integral over them: Snoek, Larochelle, Adams, NIPS 2012). bench/auto_settings.c chooses its settings with
 * each family of kernels left out. */
#include "tuner/model_search.h"
#include "tuner/strategy_internal.h"

static void *start(const space *s, const strategy_options *o)
{
    return model_search_start(s, o, &model_auto_settings);
}

const strategy_ops strategy_auto = {.name = "auto",
                                    .doc = "Bayesian optimisation with a model made for tuning spaces",
                                    .start = start,
                                    .ask = model_search_ask,
                                    .tell = model_search_tell,
                                    .stop = model_search_stop,
                                    .prior = model_search_prior};
