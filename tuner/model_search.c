/* The search guided by a Gaussian process.
 *
 * A design of a few configurations far from each other comes first. Then, for each proposal, the model is brought up to
 * date and the candidate with the largest expected improvement, times the probability that it does not fail, is proposed.
 * The model is made anew, with new hyper-parameters and new candidates, while it is young, after each tenth more
 * observations, and (with the old hyper-parameters) when there is a new best; between these it only grows.
 */
#include "tuner/model_search.h"

#include "base/mem.h"
#include "tuner/model_prior.h"
#include "tuner/observations.h"
#include "tuner/strategy_moves.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STREAM 1
#define YOUNG 20         /* successes until which the hyper-parameters follow each of them */
#define GROWTH 1.1       /* and after this growth later */
#define MAX_FITTED 160   /* observations that hyper-parameters are fitted to */
#define MAX_MODELLED 256 /* that the model is conditioned on */
#define ROOM 48          /* of them, left for those to come when it is made anew */
#define ITERATIONS 10
#define LEAST_OK 2    /* successes that make a model */
#define PATIENCE 1000 /* samples in a row that were all proposed before */
#define TRUST 0.7     /* slope on knowledge from elsewhere before anything was seen, */
#define TRUST_SD 0.5  /* and its standard deviation */

const model_settings model_default_settings = {
    .design = 8,
    .spread = 5,
    .pool = 2500,
    .elites = 5,
    .bend = 1.5,
    .tail = 0.5,
    .fail_reach = 1.5,
    .gp = &gp_default_prior,
};

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
    double trust;
};

model_search *model_search_start(const space *s, const strategy_options *o, const model_settings *settings)
{
    model_search *x = mem_calloc(1, sizeof *x);
    x->settings = *settings;
    x->budget = o->budget;
    observations_init(&x->seen, s);
    moves_init(&x->moves, s, o->seed, STREAM);
    size_t n = space_params(s);
    size_t *n_values = mem_calloc(n, sizeof *n_values);
    for (size_t i = 0; i < n; i++)
        n_values[i] = space_param_at(s, i)->n_values;
    x->gp = gp_new(n, n_values, settings->gp);
    free(n_values);
    x->best_at = SIZE_MAX;
    return x;
}

void model_search_stop(void *m)
{
    model_search *x = m;
    observations_clear(&x->seen);
    moves_clear(&x->moves);
    gp_free(x->gp);
    model_prior_free(x->prior);
    free(x->modelled);
    free(x->is_modelled);
    free(x->y);
    free(x->pool);
    free(x->gone);
    free(x->mu);
    free(x->variance);
    free(x->offset);
    free(x->fine);
    free(x->failing);
    free(x);
}

/* ---- what is told ---- */

static void note_offset(model_search *x, size_t i)
{
    float offset = 0;
    if (x->prior)
        model_prior_predict(x->prior, observations_config(&x->seen, i), 1, &offset);
    x->seen.items[i].offset = offset;
}

void model_search_tell(void *m, const uint32_t *config, bool ok, double time_ns)
{
    model_search *x = m;
    bool was = observations_has(&x->seen, config);
    size_t i = observations_tell(&x->seen, config, ok, time_ns);
    if (!was)
        note_offset(x, i);
    if (i < x->is_capacity && x->is_modelled[i] && x->seen.items[i].state == OBSERVATION_FAILED)
        x->best_at = SIZE_MAX; /* a belief that came to nothing */
}

void model_search_prior(void *m, const uint32_t *config, double relative, double weight)
{
    model_search *x = m;
    if (!x->prior)
        x->prior = model_prior_new(x->seen.space, x->settings.gp);
    model_prior_add(x->prior, config, relative, weight);
    x->best_at = SIZE_MAX;
}

/* ---- design ---- */

/* Every other one is what was best elsewhere. */
static bool propose_known(model_search *x, uint32_t *config)
{
    if (!x->prior || x->seen.n % 2 == 1)
        return false;
    while (x->prior_next < model_prior_size(x->prior)) {
        const uint32_t *next = model_prior_best(x->prior, x->prior_next++);
        if (!observations_has(&x->seen, next)) {
            memcpy(config, next, x->seen.n_params * sizeof *config);
            return true;
        }
    }
    return false;
}

static bool propose_far(model_search *x, uint32_t *config)
{
    double farthest = -1;
    for (size_t k = 0; k < x->settings.spread || (farthest < 0 && k < PATIENCE); k++) {
        moves_sample(&x->moves, x->moves.working);
        double nearest = observations_has(&x->seen, x->moves.working) ? -1 : INFINITY;
        for (size_t i = 0; i < x->seen.n && nearest > farthest; i++)
            nearest = fmin(nearest, moves_distance(&x->moves, x->moves.working, observations_config(&x->seen, i)));
        if (nearest > farthest) {
            farthest = nearest;
            memcpy(config, x->moves.working, x->seen.n_params * sizeof *config);
        }
    }
    return farthest >= 0;
}

/* ---- targets ---- */

/* Log time over the best, large ones compressed: what is bad need not be known exactly, and outliers bend the model. */
static double target_of(const model_search *x, const observation *o)
{
    double above = o->log_time - x->seen.items[x->seen.best].log_time;
    if (above > x->bend)
        above = x->bend * (1 + x->settings.tail * log(above / x->bend));
    return above - x->trust * o->offset;
}

static double raw_target(const model_search *x, size_t i)
{
    return target_of(x, &x->seen.items[i]);
}

/* How much of what was known elsewhere holds here: ridge regression towards TRUST. */
static void weigh_prior(model_search *x)
{
    double n = 0, mo = 0, my = 0, oo = 0, oy = 0, rest = 0;
    x->trust = 0;
    for (size_t i = 0; i < x->seen.n; i++) {
        if (x->seen.items[i].state != OBSERVATION_OK)
            continue;
        n++;
        mo += x->seen.items[i].offset;
        my += raw_target(x, i);
    }
    for (size_t i = 0; i < x->seen.n; i++) {
        if (x->seen.items[i].state != OBSERVATION_OK)
            continue;
        double o = x->seen.items[i].offset - mo / n, y = raw_target(x, i) - my / n;
        oo += o * o;
        oy += o * y;
        rest += (y - TRUST * o) * (y - TRUST * o);
    }
    double ridge = rest / n / (TRUST_SD * TRUST_SD) + 1e-12;
    x->trust = fmin(fmax((oy + ridge * TRUST) / (oo + ridge), 0), 1.2);
}

static void scale_targets(model_search *x)
{
    double n = 0, sum = 0, squares = 0;
    x->bend = x->settings.bend * (observations_median(&x->seen) - x->seen.items[x->seen.best].log_time) + 1e-9;
    if (x->prior)
        weigh_prior(x);
    for (size_t i = 0; i < x->seen.n; i++) {
        if (x->seen.items[i].state != OBSERVATION_OK)
            continue;
        double y = raw_target(x, i);
        n++;
        sum += y;
        squares += y * y;
    }
    x->mean = sum / n;
    x->sd = sqrt(fmax(squares / n - x->mean * x->mean, 0)) + 1e-9;
}

static double scaled(const model_search *x, size_t i)
{
    const observation *o = &x->seen.items[i];
    return o->state == OBSERVATION_OK ? (raw_target(x, i) - x->mean) / x->sd : o->belief;
}

/* ---- the model ---- */

static void add_modelled(model_search *x, size_t i)
{
    x->modelled = mem_grow(x->modelled, &x->modelled_capacity, x->n_modelled + 1, sizeof *x->modelled);
    x->modelled[x->n_modelled++] = i;
    x->is_modelled[i] = true;
}

/* All, or the better half of what there is room for and the latest of the others. Pending ones with a belief come last. */
static void choose_modelled(model_search *x, size_t room)
{
    memset(x->is_modelled, 0, x->is_capacity * sizeof *x->is_modelled);
    x->n_modelled = 0;
    if (x->seen.n_ok > room) {
        size_t *elites = mem_alloc(room / 2 * sizeof *elites);
        size_t n = observations_elites(&x->seen, elites, room / 2);
        for (size_t i = 0; i < n; i++)
            add_modelled(x, elites[i]);
        free(elites);
    }
    for (size_t i = x->seen.n; i-- > 0 && x->n_modelled < room;)
        if (x->seen.items[i].state == OBSERVATION_OK && !x->is_modelled[i])
            add_modelled(x, i);
}

static size_t gather(model_search *x, uint32_t **configs)
{
    size_t n = x->n_modelled, width = x->seen.n_params;
    *configs = mem_alloc(n * width * sizeof **configs);
    x->y = mem_realloc(x->y, n * sizeof *x->y);
    for (size_t i = 0; i < n; i++) {
        memcpy(*configs + i * width, observations_config(&x->seen, x->modelled[i]), width * sizeof **configs);
        x->y[i] = scaled(x, x->modelled[i]);
    }
    return n;
}

static void fit(model_search *x)
{
    uint32_t *configs;
    choose_modelled(x, MAX_FITTED);
    size_t n = gather(x, &configs);
    gp_fit(x->gp, configs, x->y, n, ITERATIONS);
    free(configs);
    x->fitted_at = x->seen.n_ok;
}

static void condition(model_search *x)
{
    uint32_t *configs;
    choose_modelled(x, MAX_MODELLED - ROOM);
    size_t n = gather(x, &configs);
    gp_condition(x->gp, configs, x->y, NULL, n);
    free(configs);
}

static void grow_model(model_search *x)
{
    bool changed = false;
    x->y = mem_realloc(x->y, (x->seen.n + 1) * sizeof *x->y);
    for (size_t i = 0; i < x->n_modelled; i++) {
        double y = scaled(x, x->modelled[i]);
        changed = changed || y != x->y[i];
        x->y[i] = y;
    }
    if (changed)
        gp_retarget(x->gp, x->y);
    for (size_t i = 0; i < x->seen.n; i++) {
        const observation *o = &x->seen.items[i];
        if (x->is_modelled[i] || o->state == OBSERVATION_FAILED ||
            (o->state == OBSERVATION_PENDING && isnan(o->belief)))
            continue;
        if (x->seen.n_ok > MAX_MODELLED - ROOM && i + ROOM < x->seen.n) /* left out on purpose */
            continue;
        x->y[x->n_modelled] = scaled(x, i);
        gp_append(x->gp, observations_config(&x->seen, i), x->y[x->n_modelled]);
        add_modelled(x, i);
    }
}

/* ---- candidates ---- */

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
    if (space_count(s) <= x->settings.pool) {
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
    size_t *elites = mem_alloc(x->settings.elites * sizeof *elites);
    size_t n = observations_elites(&x->seen, elites, x->settings.elites);
    for (size_t i = 0; i < n; i++) {
        size_t k = moves_neighbours(&x->moves, observations_config(&x->seen, elites[i]), SPACE_HAMMING);
        for (size_t j = 0; j < k; j++)
            add_candidate(x, x->moves.neighbours + j * x->seen.n_params);
    }
    free(elites);
}

static void new_pool(model_search *x)
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

/* Successes and failures, weighted by nearness. Only once there are failures; the order does not matter. */
static void weigh_failures(model_search *x)
{
    for (; x->seen.n_failed > 0 && x->weighed < x->seen.n; x->weighed++) {
        observation_state state = x->seen.items[x->weighed].state;
        if (state == OBSERVATION_PENDING)
            break;
        float *sum = state == OBSERVATION_OK ? x->fine : x->failing;
        const uint32_t *at = observations_config(&x->seen, x->weighed);
        for (size_t j = 0; j < x->m; j++) {
            double d = moves_distance(&x->moves, at, x->pool + j * x->seen.n_params);
            sum[j] += (float)exp(-x->settings.fail_reach * d);
        }
    }
}

/* ---- proposals ---- */

static void update(model_search *x)
{
    if (x->seen.n > x->is_capacity) {
        size_t before = x->is_capacity;
        x->is_modelled = mem_grow(x->is_modelled, &x->is_capacity, x->seen.n, sizeof *x->is_modelled);
        memset(x->is_modelled + before, 0, (x->is_capacity - before) * sizeof *x->is_modelled);
    }
    bool to_fit = x->fitted_at == 0 || (x->seen.n_ok < YOUNG && x->seen.n_ok != x->fitted_at) ||
                  (double)x->seen.n_ok >= GROWTH * (double)x->fitted_at;
    if (to_fit || x->best_at != x->seen.best || x->n_modelled + 1 >= MAX_MODELLED) {
        scale_targets(x);
        if (to_fit)
            fit(x);
        condition(x);
        new_pool(x);
        x->best_at = x->seen.best;
    }
    grow_model(x);
    weigh_failures(x);
    gp_predict(x->gp, x->mu, x->variance);
}

/* What was measured of the best, on the scale of the model plus what is known from elsewhere. */
static double least_target(const model_search *x)
{
    return scaled(x, x->seen.best) + x->trust * x->seen.items[x->seen.best].offset / x->sd;
}

/* Its logarithm is not needed: far from any improvement the order of the rest is that of z. */
static double expected_improvement(double least, double mean, double sd)
{
    double z = (least - mean) / sd;
    if (z < -6)
        return 1e-12 * exp(z);
    return sd * (z * gsl_cdf_ugaussian_P(z) + gsl_ran_ugaussian_pdf(z));
}

static bool propose_best(model_search *x, uint32_t *config)
{
    double least = least_target(x), most = -1;
    size_t best = SIZE_MAX;
    for (size_t j = 0; j < x->m; j++) {
        if (x->gone[j])
            continue;
        double mean = x->mu[j] + x->trust * x->offset[j] / x->sd;
        double gain = expected_improvement(least, mean, sqrt(x->variance[j]));
        gain *= x->fine[j] / (x->fine[j] + x->failing[j]);
        if (gain > most && !observations_has(&x->seen, x->pool + j * x->seen.n_params)) {
            most = gain;
            best = j;
        }
    }
    if (best == SIZE_MAX)
        return false;
    memcpy(config, x->pool + best * x->seen.n_params, x->seen.n_params * sizeof *config);
    x->gone[best] = true;
    size_t i = observations_propose(&x->seen, config);
    x->seen.items[i].belief = x->mu[best];
    x->seen.items[i].offset = x->offset[best];
    return true;
}

bool model_search_ask(void *m, uint32_t *config)
{
    model_search *x = m;
    if (x->seen.n >= space_count(x->seen.space))
        return false;
    if (x->seen.n >= x->settings.design && x->seen.n_ok >= LEAST_OK) {
        update(x);
        return propose_best(x, config);
    }
    if (!propose_known(x, config) && !propose_far(x, config))
        return false;
    note_offset(x, observations_propose(&x->seen, config));
    return true;
}
