/* The search guided by a Gaussian process.
 *
 * A design of a few configurations far from each other comes first. Then, for each proposal, the model is brought up to
 * date and the candidate with the largest expected improvement, times the probability that it does not fail, is
 * proposed. The model is made anew, with new hyper-parameters and new candidates, while it is young, after each tenth
 * more observations, and (with the old hyper-parameters) when there is a new best or, in large spaces, after some
 * observations; between these it only grows.
 */
#include "tuner/model_internal.h"

#include "base/mem.h"

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

const model_settings model_bayes_settings = {
    .design = 12,
    .spread = 1,
    .pool = 2500,
    .large = 100000,
    .few = 500,
    .renew = 10,
    .elites = 5,
    .bend = 1.5,
    .tail = 1,
    .fail_reach = 1.5,
    .gp = &gp_default_prior,
};

const model_settings model_auto_settings = {
    .design = 5,
    .spread = 5,
    .pool = 2500,
    .large = 100000,
    .few = 500,
    .renew = 10,
    .elites = 5,
    .bend = 1.5,
    .tail = 0.5,
    .doubt_until = 60,
    .doubt = 0.4,
    .fail_reach = 1.5,
    .gp = &gp_default_prior,
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
    x->first_value = mem_calloc(n, sizeof *x->first_value);
    for (size_t i = 0; i < n; i++) {
        n_values[i] = space_param_at(s, i)->n_values;
        x->first_value[i] = x->n_values;
        x->n_values += n_values[i];
    }
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
    free(x->first_value);
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
    if (x->prior && !x->prior_changed)
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
    x->prior_changed = true;
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

/* ---- the model ---- */

static void add_modelled(model_search *x, size_t i)
{
    x->modelled = mem_grow(x->modelled, &x->modelled_capacity, x->n_modelled + 1, sizeof *x->modelled);
    x->modelled[x->n_modelled++] = i;
    x->is_modelled[i] = true;
}

/* All, or the better half of what there is room for and the latest of the others. Pending ones with a belief come
 * last. */
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
        x->y[i] = model_target(x, x->modelled[i]);
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

/* One fit to few results is too sure of itself: a search that believes it can stay in a corner for long. */
static void doubt_hypers(model_search *x)
{
    double *z = mem_alloc(gp_hypers(x->gp) * sizeof *z);
    for (size_t i = 0; i < gp_hypers(x->gp); i++)
        z[i] = gsl_ran_ugaussian(x->moves.random);
    gp_jitter(x->gp, z, x->settings.doubt);
    free(z);
}

static void condition(model_search *x)
{
    uint32_t *configs;
    choose_modelled(x, MAX_MODELLED - ROOM);
    size_t n = gather(x, &configs);
    if (x->seen.n_ok < x->settings.doubt_until)
        doubt_hypers(x);
    gp_condition(x->gp, configs, x->y, NULL, n);
    free(configs);
}

static void grow_model(model_search *x)
{
    bool changed = false;
    x->y = mem_realloc(x->y, (x->seen.n + 1) * sizeof *x->y);
    for (size_t i = 0; i < x->n_modelled; i++) {
        double y = model_target(x, x->modelled[i]);
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
        x->y[x->n_modelled] = model_target(x, i);
        gp_append(x->gp, observations_config(&x->seen, i), x->y[x->n_modelled]);
        add_modelled(x, i);
    }
}

/* ---- proposals ---- */

static void use_new_prior(model_search *x)
{
    x->prior_changed = false;
    for (size_t i = 0; i < x->seen.n; i++)
        note_offset(x, i);
    x->prior_next = 0;
    x->best_at = SIZE_MAX;
}

/* What the model says of the candidates. */
static void predict(model_search *x)
{
    model_weigh_failures(x);
    gp_predict(x->gp, x->mu, x->variance);
}

static void update(model_search *x)
{
    if (x->prior_changed)
        use_new_prior(x);
    if (x->seen.n > x->is_capacity) {
        size_t before = x->is_capacity;
        x->is_modelled = mem_grow(x->is_modelled, &x->is_capacity, x->seen.n, sizeof *x->is_modelled);
        memset(x->is_modelled + before, 0, (x->is_capacity - before) * sizeof *x->is_modelled);
    }
    bool to_fit = x->fitted_at == 0 || (x->seen.n_ok < YOUNG && x->seen.n_ok != x->fitted_at) ||
                  (double)x->seen.n_ok >= GROWTH * (double)x->fitted_at;
    if (to_fit || x->seen.n_ok < x->settings.doubt_until || x->best_at != x->seen.best ||
        (model_is_large(x) && x->seen.n >= x->made_at + x->settings.renew) || x->n_modelled + 1 >= MAX_MODELLED) {
        model_scale_targets(x);
        if (to_fit)
            fit(x);
        condition(x);
        model_new_pool(x);
        x->best_at = x->seen.best;
        x->made_at = x->seen.n;
    }
    grow_model(x);
    predict(x);
}

/* What was measured of the best, on the scale of the model plus what is known from elsewhere. */
static double least_target(const model_search *x)
{
    return model_target(x, x->seen.best) + x->trust * x->seen.items[x->seen.best].offset / x->sd;
}

/* Its logarithm is not needed: far from any improvement the order of the rest is that of z. */
static double expected_improvement(double least, double mean, double sd)
{
    double z = (least - mean) / sd;
    if (z < -6)
        return 1e-12 * exp(z);
    return sd * (z * gsl_cdf_ugaussian_P(z) + gsl_ran_ugaussian_pdf(z));
}

static size_t choose_best(model_search *x)
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
    return best;
}

static bool propose_candidate(model_search *x, uint32_t *config)
{
    size_t best = choose_best(x);
    if (best == SIZE_MAX) { /* all of them were proposed, and no success since that made others candidates */
        model_new_pool(x);
        predict(x);
        best = choose_best(x);
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
        return propose_candidate(x, config);
    }
    if (!propose_known(x, config) && !propose_far(x, config))
        return false;
    note_offset(x, observations_propose(&x->seen, config));
    return true;
}
