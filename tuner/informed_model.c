/* What the informed search believes: the weights of the lessons, the slope on what they say, the rest. */
#include "tuner/informed_internal.h"

#include "base/mem.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIT_FROM 5 /* results of a family from which hyper-parameters are fitted */
#define ITERATIONS 8
#define BEND 1.5
#define TAIL 0.5
#define NO_TEMPLATE 0.5 /* what lessons say of a template that none of them knows, in logarithms over the best */
#define FAIL_REACH 1.5
#define SCALE_WEIGHT 4 /* results that the assumed spread counts as */

double informed_target(const informed *x, size_t i)
{
    double above = x->seen[i].log_time - x->seen[x->best].log_time;
    return above > x->bend ? x->bend * (1 + TAIL * log(above / x->bend)) : above;
}

static void choose_bend(informed *x)
{
    double *above = mem_alloc((x->n_ok + 1) * sizeof *above);
    size_t n = 0;
    for (size_t i = 0; i < x->n_seen; i++)
        if (x->seen[i].ok)
            above[n++] = x->seen[i].log_time - x->seen[x->best].log_time;
    gsl_sort(above, 1, n);
    x->bend = BEND * fmax(above[n / 2], 0.1);
    free(above);
}

/* Weighted Kendall correlation of what was measured with `says`, one number per result; failures are the slowest.
 * *n: results that took part. */
static double correlation(const informed *x, const double *says, size_t *n)
{
    double agree = 0, all = 0, worst = 0;
    *n = 0;
    for (size_t i = 0; i < x->n_seen; i++) {
        *n += x->seen[i].done && !isnan(says[i]);
        if (x->seen[i].ok)
            worst = fmax(worst, informed_target(x, i));
    }
    for (size_t i = 0; i < x->n_seen; i++) {
        for (size_t k = 0; k < i; k++) {
            if (!x->seen[i].done || !x->seen[k].done || isnan(says[i]) || isnan(says[k]))
                continue;
            double d =
                (x->seen[i].ok ? informed_target(x, i) : worst) - (x->seen[k].ok ? informed_target(x, k) : worst);
            double e = says[i] - says[k];
            all += fabs(d);
            agree += e == 0 ? 0 : (d > 0) == (e > 0) ? fabs(d) : -fabs(d);
        }
    }
    return all > 0 ? agree / all : 0;
}

static void weigh_lessons(informed *x)
{
    double *says = mem_alloc((x->n_seen + 1) * sizeof *says);
    for (size_t l = 0; l < x->n_lessons; l++) {
        told_lesson *t = &x->lessons[l];
        size_t n = 0;
        for (size_t i = 0; i < x->n_seen; i++)
            says[i] = x->seen[i].says[l];
        double c = x->best == SIZE_MAX ? 0 : correlation(x, says, &n);
        n = n > 0 ? n - 1 : 0; /* one result ranks nothing */
        double expected = (x->settings.doubt * t->likeness + (double)n * c) / (x->settings.doubt + (double)n);
        t->weight = expected > 0 ? pow(expected, x->settings.sharpness) : 0;
    }
    free(says);
}

/* Weighted mean and variance of what lessons say; says[l] is NULL where one knows nothing. */
static void combine(const informed *x, const float *const *says, size_t j, float *mean, float *variance)
{
    double w = 0, m = 0, v = 0;
    for (size_t l = 0; l < x->n_lessons; l++) {
        if (!says[l])
            continue;
        w += x->lessons[l].weight;
        m += x->lessons[l].weight * says[l][j];
    }
    if (w <= 0) {
        *mean = NO_TEMPLATE;
        *variance = 0;
        return;
    }
    m /= w;
    for (size_t l = 0; l < x->n_lessons; l++)
        if (says[l])
            v += x->lessons[l].weight * pow(says[l][j] - m, 2);
    *mean = (float)m;
    *variance = (float)(v / w);
}

/* What the lessons together say of what was measured. */
static void combine_seen(const informed *x, double *prior)
{
    const float **says = mem_calloc(x->n_lessons + 1, sizeof *says);
    for (size_t i = 0; i < x->n_seen; i++) {
        float mean, ignored;
        for (size_t l = 0; l < x->n_lessons; l++)
            says[l] = isnan(x->seen[i].says[l]) ? NULL : &x->seen[i].says[l];
        combine(x, says, 0, &mean, &ignored);
        prior[i] = mean;
    }
    free(says);
}

/* Level and slope by ridge regression towards the trust that their agreement deserves. */
static void regress(informed *x, const double *prior)
{
    double n = 0, mp = 0, my = 0, pp = 0, py = 0, rest = 0;
    const double trust = x->settings.trust, sd = x->settings.trust_sd;
    for (size_t i = 0; i < x->n_seen; i++) {
        if (!x->seen[i].ok)
            continue;
        n++;
        mp += prior[i];
        my += informed_target(x, i);
    }
    for (size_t i = 0; i < x->n_seen; i++) {
        if (!x->seen[i].ok)
            continue;
        double p = prior[i] - mp / n, y = informed_target(x, i) - my / n;
        pp += p * p;
        py += p * y;
        rest += (y - trust * p) * (y - trust * p);
    }
    rest = (rest + SCALE_WEIGHT * pow(x->spread, 2)) / (n + SCALE_WEIGHT);
    const double ridge = rest / (sd * sd);
    x->slope = fmin(fmax((py + ridge * trust) / (pp + ridge), 0), 1.2);
    x->level = (my - x->slope * mp) / n;
    double squares = 0;
    for (size_t i = 0; i < x->n_seen; i++)
        if (x->seen[i].ok)
            squares += pow(informed_target(x, i) - x->level - x->slope * prior[i], 2);
    x->scale = sqrt((squares + SCALE_WEIGHT * pow(x->spread, 2)) / (n + SCALE_WEIGHT));
}

static void jitter(informed *x, gp *g)
{
    double *z = mem_alloc(gp_hypers(g) * sizeof *z);
    gsl_rng *random = x->pools[0].space ? x->pools[0].moves.random : NULL;
    for (size_t f = 1; !random; f++)
        random = x->pools[f].space ? x->pools[f].moves.random : NULL;
    for (size_t i = 0; i < gp_hypers(g); i++)
        z[i] = gsl_ran_ugaussian(random);
    gp_jitter(g, z, x->settings.jitter);
    free(z);
}

/* The Gaussian process of what the lessons do not say. Pending ones get what is believed of them, which is nothing
 * beyond the lessons. */
static void learn_family(informed *x, size_t family, const double *prior)
{
    family_pool *p = &x->pools[family];
    size_t n = 0, n_fit = 0;
    uint32_t *configs = mem_alloc((x->n_seen * p->n_params + 1) * sizeof *configs);
    double *y = mem_alloc((x->n_seen + 1) * sizeof *y);
    for (int pending = 0; pending < 2; pending++) {
        for (size_t i = 0; i < x->n_seen; i++) {
            const seen *s = &x->seen[i];
            if (s->family != family || (pending ? s->done : !s->ok))
                continue;
            memcpy(configs + n * p->n_params, informed_seen_config(x, i), p->n_params * sizeof *configs);
            y[n++] = pending ? 0 : (informed_target(x, i) - x->level - x->slope * prior[i]) / x->scale;
        }
        n_fit = pending ? n_fit : n;
    }
    if (n_fit >= FIT_FROM)
        gp_fit(p->gp, configs, y, n_fit, ITERATIONS);
    if (x->n_ok < x->settings.jitter_until && n_fit >= FIT_FROM)
        jitter(x, p->gp);
    gp_condition(p->gp, configs, y, NULL, n);
    gp_watch(p->gp, p->configs, p->m);
    gp_predict(p->gp, p->mean, p->variance);
    free(configs);
    free(y);
}

/* Chance that a candidate does not fail: successes and failures weighted by nearness. */
static void weigh_failures(informed *x, size_t family)
{
    family_pool *p = &x->pools[family];
    for (size_t j = 0; j < p->m && x->n_failed > 0; j++) {
        double fine = 1, failing = 0;
        if (p->gone[j])
            continue;
        for (size_t i = 0; i < x->n_seen; i++) {
            const seen *s = &x->seen[i];
            if (s->family != family || !s->done)
                continue;
            double near =
                exp(-FAIL_REACH * moves_distance(&p->moves, p->configs + j * p->n_params, informed_seen_config(x, i)));
            fine += s->ok ? near : 0;
            failing += s->ok ? 0 : near;
        }
        /* kept as a shift of the mean: what fails is worth nothing */
        p->mean[j] += (float)(3 * failing / (fine + failing));
    }
}

void informed_believe(informed *x)
{
    double *prior = mem_alloc((x->n_seen + 1) * sizeof *prior);
    x->stale = false;
    x->level = 0;
    x->slope = x->settings.trust;
    x->scale = x->spread;
    x->agreement = NAN;
    if (x->best != SIZE_MAX)
        choose_bend(x);
    weigh_lessons(x);
    combine_seen(x, prior);
    if (x->best != SIZE_MAX) {
        regress(x, prior);
        size_t n;
        double c = correlation(x, prior, &n);
        x->agreement = n > 1 && x->n_lessons > 0 ? c : (double)NAN;
    }
    for (size_t f = 0; f < x->n_families; f++) {
        family_pool *p = &x->pools[f];
        if (!p->space)
            continue;
        for (size_t j = 0; j < p->m; j++)
            combine(x, (const float *const *)p->says, j, &p->prior[j], &p->differ[j]);
        learn_family(x, f, prior);
        weigh_failures(x, f);
    }
    free(prior);
}

double informed_improvement(const informed *x, const family_pool *p, size_t j)
{
    const double mean = x->level + x->slope * p->prior[j] + x->scale * p->mean[j];
    const double sd =
        sqrt(x->scale * x->scale * p->variance[j] + x->settings.disagree * x->slope * x->slope * p->differ[j]);
    const double z = -mean / sd; /* the best is at 0 */
    if (x->best == SIZE_MAX)
        return 1e3 - mean; /* anything is an improvement: what is expected to be the fastest */
    return z < -6 ? 1e-12 * exp(z) : sd * (z * gsl_cdf_ugaussian_P(z) + gsl_ran_ugaussian_pdf(z));
}
