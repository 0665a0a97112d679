#include "tuner/model_search.h"
#include "tuner/strategy_internal.h"

static void *start(const space *s, const strategy_options *o)
{
    return model_search_start(s, o, &model_default_settings);
}

const strategy_ops strategy_auto = {.name = "auto",
                                    .doc = "the default",
                                    .start = start,
                                    .ask = model_search_ask,
                                    .tell = model_search_tell,
                                    .stop = model_search_stop,
                                    .prior = model_search_prior};
