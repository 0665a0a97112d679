/* The model of many shapes: what it knows, and how it learns. */
#include "tuner/many_internal.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The one of the largest likelihood is used; asked when the observations have doubled. The first one until then. */
static const kernel kernels[] = {
    {3, 4, 0.5, 0.5, 0.5, 0.15, 0.07},  {3, 4, 0.5, 0.5, 0.5, 0.15, 0.01}, {1.5, 4, 0.7, 0.3, 0.5, 0.15, 0.07},
    {6, 4, 0.5, 0.5, 0.5, 0.15, 0.07},  {3, 8, 0.7, 0.7, 0.2, 0.05, 0.02}, {3, 2, 0.4, 0.4, 0.6, 0.3, 0.07},
    {1.5, 8, 1.0, 0.4, 0.3, 0.1, 0.02}, {3, 4, 0.3, 0.9, 0.3, 0.3, 0.07},  {3, 8, 0.5, 0.5, 0.3, 0.1, 0.3},
};
#define N_KERNELS (sizeof kernels / sizeof *kernels)

#define LEVEL_LENGTH 2.0
#define FIRST_CHOICE 48 /* observations; then twice as many, and so on */
#define LAST_CHOICE 1000
#define MAX_OBSERVED 6000 /* later ones are not learnt from */
#define SCALE_BEFORE 0.2  /* variance of log times in units of the covariance, before there are any: as if */
#define SCALE_WEIGHT 4    /* so many had shown it */

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

void many_solve(many *m)
{
    if (m->n >= m->next_choice)
        choose_kernel(m);
    fit(m);
    const size_t n = m->n;
    if (n > 0)
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
