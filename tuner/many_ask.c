/* The model of many shapes: what is measured next. */
#include "tuner/many_internal.h"

#include "base/counter_rng.h"
#include "base/mem.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What one shape sees of the observations, gathered by configuration. */
typedef struct view {
    float *pull, *own;      /* sums of alpha: of what configurations share, of each alone */
    float *most, *most_own; /* covariance with the most similar evaluation, in the same parts */
    double level;           /* of this shape, the same for all configurations */
    bool *observed;
} view;

static void look(const many *m, size_t shape, view *v)
{
    memset(v->pull, 0, m->n_configs * sizeof *v->pull);
    memset(v->own, 0, m->n_configs * sizeof *v->own);
    memset(v->most, 0, m->n_configs * sizeof *v->most);
    memset(v->most_own, 0, m->n_configs * sizeof *v->most_own);
    memset(v->observed, 0, m->n_configs * sizeof *v->observed);
    v->level = 0;
    for (size_t i = 0; i < m->n; i++) {
        const size_t s = m->of_shape[i], c = m->of_config[i];
        const double alike = m->alike[shape * m->n_shapes + s];
        const float shared = (float)(m->k.local * alike + m->k.global);
        const float own = (float)(m->k.local_own * alike + m->k.global_own);
        v->pull[c] += shared * (float)m->alpha[i];
        v->own[c] += own * (float)m->alpha[i];
        v->most[c] = shared > v->most[c] ? shared : v->most[c];
        v->most_own[c] = own > v->most_own[c] ? own : v->most_own[c];
        v->observed[c] = true;
        v->level += LEVEL * (m->near[shape * m->n_shapes + s] + (s == shape)) * m->alpha[i];
    }
}

static void predict(const many *m, const view *v, size_t c, double *mean, double *deviation)
{
    double sum = v->own[c];
    float most = v->observed[c] ? v->most[c] + v->most_own[c] : 0;
    for (size_t i = 0; i < m->n_configs; i++) {
        if (!v->observed[i])
            continue;
        const float near = i < c ? m->configs[c].near[i] : m->configs[i].near[c];
        const float k = near * v->most[i];
        sum += near * v->pull[i];
        most = k > most ? k : most;
    }
    const double r = most / m->prior;
    *mean = m->mean + v->level + sum;
    *deviation = sqrt(m->scale * (m->prior * fmax(0, 1 - r * r) + m->k.noise));
}

static double expected_improvement(double best, double mean, double deviation)
{
    double z = (best - mean) / deviation;
    return (best - mean) * gsl_cdf_ugaussian_P(z) + deviation * gsl_ran_ugaussian_pdf(z);
}

/* The best that is free on this shape. */
static pick pick_of_shape(const many *m, size_t shape, view *v)
{
    const shape_state *s = &m->shapes[shape];
    pick best = {-1, shape, SIZE_MAX};
    look(m, shape, v);
    for (size_t c = 0; c < m->n_configs; c++) {
        double mean, deviation;
        if (s->pairs[c] != PAIR_FREE)
            continue;
        predict(m, v, c, &mean, &deviation);
        double least = s->best == SIZE_MAX ? m->mean + v->level : s->log_time[s->best];
        double gain = expected_improvement(least, mean, deviation);
        if (gain > best.gain)
            best = (pick){gain, shape, c};
    }
    if (best.config != SIZE_MAX && m->weights && s->best != SIZE_MAX)
        best.gain *= m->weights[shape] * exp(s->log_time[s->best]); /* a share of the time, as time */
    return best;
}

static int by_gain(const void *a, const void *b)
{
    const pick *x = a, *y = b;
    if (x->gain != y->gain)
        return x->gain > y->gain ? -1 : 1;
    return (x->shape > y->shape) - (x->shape < y->shape);
}

/* One pick per shape. The better half is used before the model is asked again. */
static void refresh(many *m)
{
    const size_t n = m->n_configs + 1;
    view v = {.pull = mem_alloc(n * sizeof *v.pull),
              .own = mem_alloc(n * sizeof *v.own),
              .most = mem_alloc(n * sizeof *v.most),
              .most_own = mem_alloc(n * sizeof *v.most_own),
              .observed = mem_alloc(n * sizeof *v.observed)};
    many_solve(m);
    m->n_picks = m->next_pick = 0;
    for (size_t i = 0; i < m->n_shapes; i++) {
        pick p = pick_of_shape(m, i, &v);
        if (p.config != SIZE_MAX)
            m->picks[m->n_picks++] = p;
    }
    qsort(m->picks, m->n_picks, sizeof *m->picks, by_gain);
    m->n_picks = (m->n_picks + 1) / 2;
    free(v.pull);
    free(v.own);
    free(v.most);
    free(v.most_own);
    free(v.observed);
}

/* Any that is free; SIZE_MAX when there is none. */
static size_t draw(many *m, const shape_state *s)
{
    size_t n = 0, found = SIZE_MAX;
    for (size_t c = 0; c < m->n_configs; c++) /* each of n with probability 1/n */
        if (s->pairs[c] == PAIR_FREE && counter_rng_u64(m->seed, 77, m->draws++) % ++n == 0)
            found = c;
    return found;
}

static bool take(many *m, size_t shape, size_t config_index, size_t *s, size_t *c)
{
    many_claim(m, shape, config_index);
    *s = shape;
    *c = config_index;
    return true;
}

/* The first pick that still holds; NULL when none does. */
static const pick *next_pick(many *m)
{
    for (int fresh = 0; fresh < 2; fresh++) {
        for (; m->next_pick < m->n_picks; m->next_pick++) {
            const pick *p = &m->picks[m->next_pick];
            if (m->shapes[p->shape].pairs[p->config] == PAIR_FREE)
                return p;
        }
        if (fresh == 0)
            refresh(m);
    }
    return NULL;
}

bool many_ask(many *m, size_t start, size_t *shape, size_t *config_index)
{
    for (size_t round = 0; round < start; round++)
        for (size_t i = 0; i < m->n_shapes; i++) {
            size_t c = m->shapes[i].n == round ? draw(m, &m->shapes[i]) : SIZE_MAX;
            if (c != SIZE_MAX)
                return take(m, i, c, shape, config_index);
        }
    const pick *p = next_pick(m);
    if (!p)
        return false;
    m->next_pick++;
    return take(m, p->shape, p->config, shape, config_index);
}

size_t many_next_shape(many *m, size_t start)
{
    size_t least = 0;
    for (size_t i = 1; i < m->n_shapes; i++)
        if (m->shapes[i].n < m->shapes[least].n)
            least = i;
    if (m->shapes[least].n < start)
        return least;
    const pick *p = next_pick(m);
    if (!p)
        return least;
    m->next_pick++; /* the next one is for another shape */
    return p->shape;
}
