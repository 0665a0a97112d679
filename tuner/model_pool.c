/* The candidates of a search guided by a model, and how likely they are to fail. */
#include "tuner/model_internal.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_candidate(model_search *x, const uint32_t *config)
{
    if (observations_has(&x->seen, config))
        return;
    x->pool = mem_grow(x->pool, &x->pool_capacity, x->m + 1, x->seen.n_params * sizeof *x->pool);
    memcpy(x->pool + x->m++ * x->seen.n_params, config, x->seen.n_params * sizeof *config);
}

bool model_is_large(const model_search *x)
{
    return space_count(x->seen.space) > x->settings.large;
}

static void fill_pool(model_search *x)
{
    const space *s = x->seen.space;
    x->m = 0;
    if (space_count(s) <= x->settings.pool) {
        for (uint64_t rank = 0; rank < space_count(s); rank++) {
            space_unrank(s, rank, x->moves.working);
            add_candidate(x, x->moves.working);
        }
        return;
    }
    size_t n_random = model_is_large(x) ? x->settings.few : x->settings.pool;
    for (size_t i = 0; i < n_random; i++) {
        moves_sample(&x->moves, x->moves.working);
        add_candidate(x, x->moves.working);
    }
    size_t *elites = mem_alloc(x->settings.elites * sizeof *elites);
    size_t n = observations_elites(&x->seen, elites, x->settings.elites);
    for (size_t i = 0; i < n; i++) {
        size_t k = moves_neighbours(&x->moves, observations_config(&x->seen, elites[i]), SPACE_HAMMING);
        for (size_t j = 0; j < k; j++)
            add_candidate(x, x->moves.neighbours + j * x->seen.n_params);
    }
    free(elites);
}

void model_new_pool(model_search *x)
{
    fill_pool(x);
    size_t bytes = x->m * sizeof(float) + 1;
    x->mu = mem_realloc(x->mu, bytes);
    x->variance = mem_realloc(x->variance, bytes);
    x->offset = mem_realloc(x->offset, bytes);
    x->fine = mem_realloc(x->fine, bytes);
    x->failing = mem_realloc(x->failing, bytes);
    x->gone = mem_realloc(x->gone, x->m * sizeof *x->gone + 1);
    memset(x->gone, 0, x->m * sizeof *x->gone);
    memset(x->offset, 0, bytes);
    memset(x->failing, 0, bytes);
    for (size_t j = 0; j < x->m; j++)
        x->fine[j] = 1;
    x->weighed = 0;
    gp_watch(x->gp, x->pool, x->m);
    if (x->prior)
        model_prior_predict(x->prior, x->pool, x->m, x->offset);
}

/* Adds exp(-reach * distance) to one configuration, for every candidate: a product of factors by value. */
static void add_nearness(model_search *x, const uint32_t *at, float *sum)
{
    float *factor = mem_alloc(x->n_values * sizeof *factor);
    for (size_t p = 0; p < x->seen.n_params; p++) {
        size_t n = space_param_at(x->seen.space, p)->n_values;
        for (size_t v = 0; v < n; v++) {
            double steps = v > at[p] ? (double)(v - at[p]) : (double)(at[p] - v);
            double d = steps > 0 ? 0.5 + 0.5 * steps / (double)(n - 1) : 0;
            factor[x->first_value[p] + v] = (float)exp(-x->settings.fail_reach * d);
        }
    }
    for (size_t j = 0; j < x->m; j++) {
        const uint32_t *config = x->pool + j * x->seen.n_params;
        float nearness = 1;
        for (size_t p = 0; p < x->seen.n_params; p++)
            nearness *= factor[x->first_value[p] + config[p]];
        sum[j] += nearness;
    }
    free(factor);
}

/* Successes and failures, weighted by nearness; only once there are failures. */
void model_weigh_failures(model_search *x)
{
    for (; x->seen.n_failed > 0 && x->weighed < x->seen.n; x->weighed++) {
        observation_state state = x->seen.items[x->weighed].state;
        if (state == OBSERVATION_PENDING)
            break;
        add_nearness(x, observations_config(&x->seen, x->weighed), state == OBSERVATION_OK ? x->fine : x->failing);
    }
}
