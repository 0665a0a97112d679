/* The candidates of a search guided by a model, and how likely they are to fail. */
#include "tuner/model_internal.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CLIMBERS 64
#define CLIMB_STEPS 20

static void add_candidate(model_search *x, const uint32_t *config)
{
    if (observations_has(&x->seen, config))
        return;
    x->pool = mem_grow(x->pool, &x->pool_capacity, x->m + 1, x->seen.n_params * sizeof *x->pool);
    memcpy(x->pool + x->m++ * x->seen.n_params, config, x->seen.n_params * sizeof *config);
}

static void fill_pool(model_search *x)
{
    const space *s = x->seen.space;
    x->m = 0;
    if (space_count(s) <= 2500) {
        for (uint64_t rank = 0; rank < space_count(s); rank++) {
            space_unrank(s, rank, x->moves.working);
            add_candidate(x, x->moves.working);
        }
        return;
    }
    for (size_t i = 0; i < x->settings.pool; i++) {
        moves_sample(&x->moves, x->moves.working);
        add_candidate(x, x->moves.working);
    }
    x->n_random = x->m;
    size_t *elites = mem_alloc(x->settings.elites * sizeof *elites);
    size_t n = observations_elites(&x->seen, elites, x->settings.elites);
    for (size_t i = 0; i < n; i++) {
        size_t k = moves_neighbours(&x->moves, observations_config(&x->seen, elites[i]), SPACE_HAMMING);
        for (size_t j = 0; j < k; j++)
            add_candidate(x, x->moves.neighbours + j * x->seen.n_params);
    }
    free(elites);
}

/* Room for what is known of the candidates from `first` on, and that. */
static void note_candidates(model_search *x, size_t first)
{
    size_t bytes = x->m * sizeof(float) + 1;
    x->mu = mem_realloc(x->mu, bytes);
    x->variance = mem_realloc(x->variance, bytes);
    x->offset = mem_realloc(x->offset, bytes);
    x->fine = mem_realloc(x->fine, bytes);
    x->failing = mem_realloc(x->failing, bytes);
    x->gone = mem_realloc(x->gone, x->m * sizeof *x->gone + 1);
    for (size_t j = first; j < x->m; j++) {
        x->gone[j] = false;
        x->offset[j] = x->failing[j] = 0;
        x->fine[j] = 1;
    }
    if (x->prior && first < x->m)
        model_prior_predict(x->prior, x->pool + first * x->seen.n_params, x->m - first, x->offset + first);
}

/* Adds exp(-reach * distance) to one configuration, for every candidate from `first` on: a product of factors by
 * value. */
static void add_nearness(model_search *x, const uint32_t *at, size_t first, float *sum)
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
    for (size_t j = first; j < x->m; j++) {
        const uint32_t *config = x->pool + j * x->seen.n_params;
        float nearness = 1;
        for (size_t p = 0; p < x->seen.n_params; p++)
            nearness *= factor[x->first_value[p] + config[p]];
        sum[j] += nearness;
    }
    free(factor);
}

static void weigh(model_search *x, size_t i, size_t first)
{
    bool ok = x->seen.items[i].state == OBSERVATION_OK;
    add_nearness(x, observations_config(&x->seen, i), first, ok ? x->fine : x->failing);
}

/* Successes and failures, weighted by nearness; only once there are failures. */
void model_weigh_failures(model_search *x)
{
    for (; x->seen.n_failed > 0 && x->weighed < x->seen.n; x->weighed++) {
        if (x->seen.items[x->weighed].state == OBSERVATION_PENDING)
            break;
        weigh(x, x->weighed, 0);
    }
}

/* ---- climbing ---- */

typedef struct climb {
    key_set known;                /* candidates */
    size_t at[MAX_CLIMBERS], n;   /* the best so far, the best first */
    double gain[MAX_CLIMBERS];
    bool left[MAX_CLIMBERS];      /* their neighbours are candidates */
} climb;

static void climb_note(model_search *x, climb *c, size_t first)
{
    for (size_t j = first; j < x->m; j++) {
        double gain = getenv("K_MEAN") ? -x->mu[j] : model_gain(x, j);
        if (c->n == x->settings.climbers && gain <= c->gain[c->n - 1])
            continue;
        size_t at = c->n < x->settings.climbers ? c->n++ : c->n - 1;
        for (; at > 0 && c->gain[at - 1] < gain; at--) {
            c->at[at] = c->at[at - 1];
            c->gain[at] = c->gain[at - 1];
            c->left[at] = c->left[at - 1];
        }
        c->at[at] = j;
        c->gain[at] = gain;
        c->left[at] = false;
    }
}

/* The neighbours of the best candidates become candidates, until none of them is better. */
static void climb_from_best(model_search *x)
{
    climb c = {0};
    for (size_t j = 0; j < x->m; j++)
        key_set_add(&c.known, strategy_key(x->seen.space, x->pool + j * x->seen.n_params));
    model_predict(x);
    climb_note(x, &c, getenv("K_LOCAL") ? x->n_random : 0);
    for (int step = 0; step < (getenv("K_STEPS") ? atoi(getenv("K_STEPS")) : CLIMB_STEPS); step++) {
        size_t first = x->m;
        for (size_t i = 0; i < c.n; i++) {
            if (c.left[i])
                continue;
            c.left[i] = true;
            size_t n = moves_neighbours(&x->moves, x->pool + c.at[i] * x->seen.n_params, SPACE_HAMMING);
            for (size_t k = 0; k < n; k++) {
                const uint32_t *config = x->moves.neighbours + k * x->seen.n_params;
                if (key_set_add(&c.known, strategy_key(x->seen.space, config)))
                    add_candidate(x, config);
            }
        }
        if (x->m == first)
            break;
        note_candidates(x, first);
        for (size_t i = 0; i < x->weighed; i++)
            weigh(x, i, first);
        gp_watch_more(x->gp, x->pool, x->m);
        model_predict(x);
        climb_note(x, &c, first);
    }
    key_set_clear(&c.known);
}

void model_new_pool(model_search *x)
{
    fill_pool(x);
    note_candidates(x, 0);
    x->weighed = 0;
    gp_watch(x->gp, x->pool, x->m);
    if (x->settings.climbers > 0 && space_count(x->seen.space) > 2500)
        climb_from_best(x);
}
