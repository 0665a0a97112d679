#include "tuner/many.h"

#include "base/counter_rng.h"
#include "base/mem.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The covariance of two pairs (s, c), (s', c'), in units of the variance that the data have:
 *
 *     (LOCAL S + GLOBAL) C + (LOCAL_OWN S + GLOBAL_OWN) [c = c'] + LEVEL (S_near + [s = s'])
 *
 * S, S_near: exp(-d^2 / 2 l^2), d the distance of log2 dims, l the kernel's or LEVEL_LENGTH; C: exp(-D / length), D
 * the number of different parameters, neighbouring values counting half. */
typedef struct kernel {
    double shape_length, config_length;
    double local, global, local_own, global_own;
    double noise; /* variance of a time, and of what the model cannot say */
} kernel;

/* The one of the largest likelihood is used; asked when the observations have doubled. The first one until then. */
static const kernel kernels[] = {
    {3, 4, 0.5, 0.5, 0.5, 0.15, 0.07},  {3, 4, 0.5, 0.5, 0.5, 0.15, 0.01}, {1.5, 4, 0.7, 0.3, 0.5, 0.15, 0.07},
    {6, 4, 0.5, 0.5, 0.5, 0.15, 0.07},  {3, 8, 0.7, 0.7, 0.2, 0.05, 0.02}, {3, 2, 0.4, 0.4, 0.6, 0.3, 0.07},
    {1.5, 8, 1.0, 0.4, 0.3, 0.1, 0.02}, {3, 4, 0.3, 0.9, 0.3, 0.3, 0.07},  {3, 8, 0.5, 0.5, 0.3, 0.1, 0.3},
};
#define N_KERNELS (sizeof kernels / sizeof *kernels)

#define LEVEL 4.0
#define LEVEL_LENGTH 2.0
#define FIRST_CHOICE 48 /* observations; then twice as many, and so on */
#define LAST_CHOICE 1000
#define MAX_OBSERVED 6000 /* later ones are not learnt from */
#define SCALE_BEFORE 0.2  /* variance of log times in units of the covariance, before there are any: as if */
#define SCALE_WEIGHT 4    /* so many had shown it */

typedef struct known_config {
    int family;
    size_t n;
    double *features;
    bool forgotten;
    float *apart; /* D to every configuration before it, and itself; infinite: another family */
    float *near;  /* C likewise */
} known_config;

/* A pair of shape and configuration. */
typedef enum pair_state { PAIR_NOT_ALLOWED, PAIR_FREE, PAIR_OUT, PAIR_OK, PAIR_FAILED } pair_state;

typedef struct shape_state {
    unsigned char *pairs; /* pair_state of each configuration */
    double *log_time;
    size_t n, best; /* evaluations, those that are out included; best: SIZE_MAX */
} shape_state;

typedef struct pick {
    double gain;
    size_t shape, config;
} pick;

struct many {
    size_t n_shapes;
    double *weights;              /* NULL: all alike */
    double *apart, *alike, *near; /* d^2, S and S_near: n_shapes^2 */
    kernel k;
    double prior; /* variance of a pair less that of its level */
    size_t next_choice;
    shape_state *shapes;
    known_config *configs;
    size_t n_configs, capacity, pairs_capacity;
    uint64_t seed, draws;
    /* The model: observations, the factor of their covariance by rows, and the weights that predict. */
    size_t *of_shape, *of_config;
    double *y, *factor, *alpha, *work;
    size_t n, n_capacity;
    double mean, scale;
    pick *picks; /* the best of each shape, largest gain first; taken from the front */
    size_t n_picks, next_pick;
};

static double covariance(const many *m, size_t s, size_t c, size_t s2, size_t c2)
{
    const double alike = m->alike[s * m->n_shapes + s2];
    const double near = c > c2 ? m->configs[c].near[c2] : m->configs[c2].near[c];
    double k = (m->k.local * alike + m->k.global) * near + LEVEL * (m->near[s * m->n_shapes + s2] + (s == s2));
    return c == c2 ? k + m->k.local_own * alike + m->k.global_own : k;
}

static float near_of(const many *m, float apart)
{
    return isfinite(apart) ? (float)exp(-apart / m->k.config_length) : 0;
}

static void use_kernel(many *m, const kernel *k)
{
    m->k = *k;
    m->prior = k->local + k->global + k->local_own + k->global_own;
    for (size_t i = 0; i < m->n_shapes * m->n_shapes; i++)
        m->alike[i] = exp(-m->apart[i] / (2 * k->shape_length * k->shape_length));
    for (size_t c = 0; c < m->n_configs; c++)
        for (size_t i = 0; i <= c; i++)
            m->configs[c].near[i] = near_of(m, m->configs[c].apart[i]);
}

/* ---- shapes and configurations ---- */

many *many_new(size_t n_shapes, size_t n_dims, const double *log2_dims, const double *weights, uint64_t seed)
{
    many *m = mem_calloc(1, sizeof *m);
    m->n_shapes = n_shapes;
    m->seed = seed;
    m->apart = mem_alloc(n_shapes * n_shapes * sizeof *m->apart);
    m->alike = mem_alloc(n_shapes * n_shapes * sizeof *m->alike);
    m->near = mem_alloc(n_shapes * n_shapes * sizeof *m->near);
    m->shapes = mem_calloc(n_shapes, sizeof *m->shapes);
    m->picks = mem_calloc(n_shapes, sizeof *m->picks);
    if (weights) {
        m->weights = mem_alloc(n_shapes * sizeof *m->weights);
        memcpy(m->weights, weights, n_shapes * sizeof *m->weights);
    }
    for (size_t i = 0; i < n_shapes; i++) {
        m->shapes[i].best = SIZE_MAX;
        for (size_t k = 0; k < n_shapes; k++) {
            double d = 0;
            for (size_t x = 0; x < n_dims; x++)
                d += pow(log2_dims[i * n_dims + x] - log2_dims[k * n_dims + x], 2);
            m->apart[i * n_shapes + k] = d;
            m->near[i * n_shapes + k] = exp(-d / (2 * LEVEL_LENGTH * LEVEL_LENGTH));
        }
    }
    m->next_choice = FIRST_CHOICE;
    use_kernel(m, &kernels[0]);
    return m;
}

void many_free(many *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->n_shapes; i++) {
        free(m->shapes[i].pairs);
        free(m->shapes[i].log_time);
    }
    for (size_t i = 0; i < m->n_configs; i++) {
        free(m->configs[i].features);
        free(m->configs[i].apart);
        free(m->configs[i].near);
    }
    void *const parts[] = {m->weights,   m->apart, m->alike,  m->near,  m->shapes, m->configs, m->of_shape,
                           m->of_config, m->y,     m->factor, m->alpha, m->work,   m->picks};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        free(parts[i]);
    free(m);
}

static double distance(const known_config *a, const known_config *b)
{
    if (a->family != b->family || a->n != b->n)
        return INFINITY;
    double d = 0;
    for (size_t i = 0; i < a->n; i++)
        if (a->features[i] != b->features[i])
            d += 0.5 + 0.5 * fabs(a->features[i] - b->features[i]);
    return d;
}

static void grow_pairs(many *m)
{
    if (m->n_configs <= m->pairs_capacity)
        return;
    const size_t before = m->pairs_capacity;
    m->pairs_capacity = before ? 2 * before : 64;
    for (size_t i = 0; i < m->n_shapes; i++) {
        shape_state *s = &m->shapes[i];
        s->pairs = mem_realloc(s->pairs, m->pairs_capacity);
        memset(s->pairs + before, PAIR_NOT_ALLOWED, m->pairs_capacity - before);
        s->log_time = mem_realloc(s->log_time, m->pairs_capacity * sizeof *s->log_time);
    }
}

size_t many_add_config(many *m, int family, size_t n, const double *features)
{
    m->configs = mem_grow(m->configs, &m->capacity, m->n_configs + 1, sizeof *m->configs);
    known_config *c = &m->configs[m->n_configs];
    *c = (known_config){.family = family, .n = n, .features = mem_alloc((n + 1) * sizeof *features)};
    memcpy(c->features, features, n * sizeof *features);
    c->apart = mem_alloc((m->n_configs + 1) * sizeof *c->apart);
    c->near = mem_alloc((m->n_configs + 1) * sizeof *c->near);
    for (size_t i = 0; i <= m->n_configs; i++) {
        c->apart[i] = (float)distance(c, &m->configs[i]);
        c->near[i] = near_of(m, c->apart[i]);
    }
    m->n_configs++;
    grow_pairs(m);
    return m->n_configs - 1;
}

void many_allow(many *m, size_t shape, size_t config_index)
{
    unsigned char *state = &m->shapes[shape].pairs[config_index];
    if (*state == PAIR_NOT_ALLOWED && !m->configs[config_index].forgotten)
        *state = PAIR_FREE;
}

void many_forget(many *m, size_t config_index)
{
    m->configs[config_index].forgotten = true;
    for (size_t i = 0; i < m->n_shapes; i++)
        if (m->shapes[i].pairs[config_index] == PAIR_FREE)
            m->shapes[i].pairs[config_index] = PAIR_NOT_ALLOWED;
}

bool many_is_free(const many *m, size_t shape, size_t config_index)
{
    return m->shapes[shape].pairs[config_index] == PAIR_FREE;
}

void many_claim(many *m, size_t shape, size_t config_index)
{
    m->shapes[shape].pairs[config_index] = PAIR_OUT;
    m->shapes[shape].n++;
}

size_t many_count(const many *m, size_t shape)
{
    return m->shapes[shape].n;
}

size_t many_best(const many *m, size_t shape)
{
    return m->shapes[shape].best;
}

double many_relative(const many *m, size_t shape, size_t config_index)
{
    const shape_state *s = &m->shapes[shape];
    return s->pairs[config_index] == PAIR_OK ? exp(s->log_time[config_index] - s->log_time[s->best]) : (double)NAN;
}

double many_alike(const many *m, size_t a, size_t b)
{
    return m->alike[a * m->n_shapes + b];
}

/* ---- learning ---- */

static void grow_observed(many *m)
{
    if (m->n < m->n_capacity)
        return;
    size_t n = m->n_capacity = m->n_capacity ? 2 * m->n_capacity : 256;
    m->of_shape = mem_realloc(m->of_shape, n * sizeof *m->of_shape);
    m->of_config = mem_realloc(m->of_config, n * sizeof *m->of_config);
    m->y = mem_realloc(m->y, n * sizeof *m->y);
    m->alpha = mem_realloc(m->alpha, n * sizeof *m->alpha);
    m->work = mem_realloc(m->work, n * sizeof *m->work);
    m->factor = mem_realloc(m->factor, n * (n + 1) / 2 * sizeof *m->factor);
}

static double *row_of(const many *m, size_t i)
{
    return m->factor + i * (i + 1) / 2;
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum[4] = {0}; /* four sums at a time: the order of additions is fixed, and pipelines are kept busy */
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t k = 0; k < 4; k++)
            sum[k] += a[i + k] * b[i + k];
    for (; i < n; i++)
        sum[0] += a[i] * b[i];
    return sum[0] + sum[1] + (sum[2] + sum[3]);
}

/* The n-th row of the Cholesky factor, those before it are there. */
static void add_row(many *m, size_t n)
{
    double *row = row_of(m, n);
    for (size_t i = 0; i < n; i++) {
        const double *other = row_of(m, i);
        double k = covariance(m, m->of_shape[n], m->of_config[n], m->of_shape[i], m->of_config[i]);
        row[i] = (k - dot(row, other, i)) / other[i];
    }
    double left = m->prior + 2 * LEVEL + m->k.noise - dot(row, row, n);
    row[n] = sqrt(fmax(left, m->k.noise / 2));
}

static void observe(many *m, size_t shape, size_t config_index, double y)
{
    if (m->n >= MAX_OBSERVED)
        return;
    grow_observed(m);
    const size_t n = m->n++;
    m->of_shape[n] = shape;
    m->of_config[n] = config_index;
    m->y[n] = y;
    add_row(m, n);
}

/* The first triangle; the scale of all variances is the one of largest likelihood. Returns the logarithm of that. */
static double fit(many *m)
{
    const size_t n = m->n;
    m->mean = 0;
    for (size_t i = 0; i < n; i++)
        m->mean += m->y[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        m->work[i] = (m->y[i] - m->mean - dot(row_of(m, i), m->work, i)) / row_of(m, i)[i];
    m->scale = (dot(m->work, m->work, n) + SCALE_WEIGHT * SCALE_BEFORE) / (double)(n + SCALE_WEIGHT);
    double log_likelihood = -0.5 * (double)n * log(m->scale);
    for (size_t i = 0; i < n; i++)
        log_likelihood -= log(row_of(m, i)[i]);
    return log_likelihood;
}

static void choose_kernel(many *m)
{
    const kernel *best = NULL;
    double most = -INFINITY;
    for (size_t k = 0; k <= N_KERNELS; k++) { /* the best one once more, at the end */
        use_kernel(m, k < N_KERNELS ? &kernels[k] : best);
        for (size_t i = 0; i < m->n; i++)
            add_row(m, i);
        double likely = fit(m);
        if (!best || likely > most) {
            best = k < N_KERNELS ? &kernels[k] : best;
            most = likely;
        }
    }
    m->next_choice = 2 * m->n <= LAST_CHOICE ? 2 * m->n : SIZE_MAX;
}

/* alpha = K^-1 (y - mean). */
static void solve(many *m)
{
    if (m->n >= m->next_choice)
        choose_kernel(m);
    fit(m);
    const size_t n = m->n;
    memcpy(m->alpha, m->work, n * sizeof *m->alpha);
    for (size_t i = n; i-- > 0;) {
        const double *row = row_of(m, i);
        m->alpha[i] /= row[i];
        for (size_t k = 0; k < i; k++)
            m->alpha[k] -= row[k] * m->alpha[i];
    }
}

/* A time told again (timed longer) moves y, and the covariance stays. */
static bool replace(many *m, size_t shape, size_t config_index, double y)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->of_shape[i] == shape && m->of_config[i] == config_index) {
            m->y[i] = y;
            return true;
        }
    return false;
}

static void find_best(many *m, shape_state *s)
{
    s->best = SIZE_MAX;
    for (size_t c = 0; c < m->n_configs; c++)
        if (s->pairs[c] == PAIR_OK && (s->best == SIZE_MAX || s->log_time[c] < s->log_time[s->best]))
            s->best = c;
}

void many_tell(many *m, size_t shape, size_t config_index, bool ok, double time_ns)
{
    shape_state *s = &m->shapes[shape];
    const pair_state before = (pair_state)s->pairs[config_index];
    ok = ok && time_ns > 0 && isfinite(time_ns);
    s->n += before == PAIR_NOT_ALLOWED || before == PAIR_FREE;
    s->pairs[config_index] = (unsigned char)(ok ? PAIR_OK : PAIR_FAILED);
    if (ok) {
        double y = log(time_ns);
        s->log_time[config_index] = y;
        if (!replace(m, shape, config_index, y))
            observe(m, shape, config_index, y);
    }
    find_best(m, s);
}

/* ---- asking ---- */

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
    solve(m);
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
