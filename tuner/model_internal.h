/* What the files of the search guided by a model share: model_search.c (design, proposals), model_targets.c (what the
 * model is told), model_pool.c (candidates). */
#ifndef KERNWRIGHT_TUNER_MODEL_INTERNAL_H
#define KERNWRIGHT_TUNER_MODEL_INTERNAL_H

#include "tuner/model_prior.h"
#include "tuner/model_search.h"
#include "tuner/observations.h"
#include "tuner/strategy_moves.h"

struct model_search {
    model_settings settings;
    observations seen;
    moves moves;
    uint64_t budget;
    /* model */
    gp *gp;
    size_t *modelled; /* indices of observations, in the order of the model's */
    bool *is_modelled;
    size_t n_modelled, modelled_capacity, is_capacity;
    double *y;
    size_t fitted_at;      /* successes at the last fit */
    size_t best_at;        /* the best when the model was made; SIZE_MAX: make it anew */
    size_t made_at;        /* observations then */
    double mean, sd, bend; /* of the targets */
    /* candidates */
    uint32_t *pool;
    size_t m, pool_capacity;
    bool *gone; /* proposed since */
    float *mu, *variance, *offset, *fine, *failing;
    size_t weighed; /* observations that are in fine and failing */
    /* knowledge from elsewhere */
    model_prior *prior;
    size_t prior_next;
    bool prior_changed;            /* since the offsets were noted */
    size_t *first_value, n_values; /* of each parameter, in tables by value */
    double trust;
};

/* Chooses the scale of the targets, and how much of the knowledge from elsewhere holds. There must be a success. */
void model_scale_targets(model_search *x);
/* Of an observation, on the scale of the model: standardised, without what is known from elsewhere. */
double model_target(const model_search *x, size_t i);

bool model_is_large(const model_search *x); /* the space, as the settings say */
/* New candidates. */
void model_new_pool(model_search *x);
/* Brings the candidates' chance of success up to date. */
void model_weigh_failures(model_search *x);

#endif
