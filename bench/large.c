/* Searches repeated in a space too large to be recorded: usage large MATRIX[.gz] TEMPLATE DIMS BUDGET DEPTH NOISE
 * LANDSCAPES SEEDS REPEATS STRATEGY
 *
 * The times come from a random function: one drawn from a Gaussian process that is conditioned on what was measured of
 * the template at these sizes. So it has the measured times where something was measured and, elsewhere, what is as
 * rough and as far from additive as they are. Drawn by random features (Rahimi, Recht, NIPS 2007) and conditioned along
 * the path (Wilson et al., ICML 2020). What the process calls noise is a constant of each configuration here.
 *
 * A repeat has the same seed of the strategy and another of the noise of a measurement (log-normal). DEPTH proposals
 * are under way at once. Printed: what the winners truly take over the best that was measured, and how far the
 * repeats' winners are apart. No configuration is faster than FLOOR times the best that was measured: what is random is the
 * logarithm of the time above that, since a device has a limit and a Gaussian process has none.
 */
#include "base/counter_rng.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "codegen/task.h"
#include "tuner/gp_internal.h"
#include "tuner/recorded.h"
#include "tuner/strategy.h"

#include <gsl/gsl_cblas.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FEATURES = 1500, FIT_STEPS = 60, MAX_PARAMS = 64, MAX_COUNTS = 16 };
enum { STREAM_IN = 1, STREAM_READING, STREAM_WAVE, STREAM_PHASE, STREAM_NUGGET, STREAM_NOISE, STREAM_STRATEGY };
#define FLOOR 0.95 /* of the best that was measured: no configuration is faster */
enum { READ_ORDER, READ_NAME, READ_SECOND, READ_FOURTH, READ_POWER };

static void stop(const kw_error *err)
{
    fprintf(stderr, "large: %s\n", err->message);
    exit(err->code);
}

/* ---- what was measured ---- */

typedef struct measured {
    template *template;
    space *space;
    size_t n, n_params;
    uint32_t *configs;
    double *y, mean, sd; /* standardised logarithms of time over the floor less 1 */
    double best_ns, floor_ns;
} measured;

static bool to_indices(const recorded *r, const template *p, const uint32_t *from, uint32_t *to)
{
    for (size_t i = 0; i < p->n_params; i++) {
        size_t k = 0, v = 0;
        while (k < r->n_params && strcmp(r->params[k].name, p->params[i].name) != 0)
            k++;
        while (k < r->n_params && v < p->params[i].n_values &&
               !value_equal(p->params[i].values[v], r->params[k].values[from[k]]))
            v++;
        if (k == r->n_params || v == p->params[i].n_values)
            return false;
        to[i] = (uint32_t)v;
    }
    return true;
}

static void take(measured *m, const recorded *r)
{
    uint32_t from[MAX_PARAMS];
    m->configs = mem_alloc(r->n * m->n_params * sizeof *m->configs);
    m->y = mem_alloc(r->n * sizeof *m->y);
    for (uint64_t i = 0; i < r->n; i++) {
        space_unrank(r->space, i, from);
        uint32_t *to = m->configs + m->n * m->n_params;
        if (!isnan(r->times_ns[i]) && to_indices(r, m->template, from, to) && space_contains(m->space, to))
            m->y[m->n++] = log(r->times_ns[i]);
    }
    m->best_ns = r->best_ns;
    m->floor_ns = FLOOR * r->best_ns;
    for (size_t i = 0; i < m->n; i++)
        m->y[i] = log(exp(m->y[i]) / m->floor_ns - 1);
    m->mean = gsl_stats_mean(m->y, 1, m->n);
    m->sd = gsl_stats_sd(m->y, 1, m->n);
    for (size_t i = 0; i < m->n; i++)
        m->y[i] = (m->y[i] - m->mean) / m->sd;
}

static void load(const char *matrix, const char *path, const char *dims, measured *m)
{
    kw_error err = {0};
    char *name;
    task *t;
    task_types types;
    task_shape shape;
    recorded_list list = {0};
    const recorded_options o = {0};
    if (template_task_name(path, &name, &err) != KW_OK || task_load(name, &t, &err) != KW_OK ||
        task_types_parse(t, NULL, &types, &err) != KW_OK || template_load(path, t, &m->template, &err) != KW_OK ||
        task_shape_parse(t, dims, &shape, &err) != KW_OK ||
        space_of_template(m->template, &types, limits_of_typical_gpu(), &shape, &m->space, &err) != KW_OK ||
        recorded_read(matrix, &o, &list, &err) != KW_OK)
        stop(&err);
    m->n_params = m->template->n_params;
    for (size_t i = 0; i < list.n && m->n == 0; i++)
        if (strstr(list.items[i]->name, dims) && strstr(list.items[i]->name, m->template->name))
            take(m, list.items[i]);
    if (m->n < 20) {
        fprintf(stderr, "large: %s has no 20 times of %s at %s\n", matrix, m->template->name, dims);
        exit(2);
    }
}

/* ---- the landscape ---- */

typedef struct feature {
    size_t n; /* parameters that take part */
    uint8_t param[MAX_PARAMS], reading[MAX_PARAMS];
    double wave[MAX_PARAMS], phase;
    uint64_t seed;
} feature;

typedef struct landscape {
    const measured *m;
    gp *model;
    feature *features;
    double scale, noise, *factor, *pull;
    uint64_t seed;
} landscape;

static double normal(uint64_t seed, uint64_t stream, uint64_t i)
{
    return gsl_cdf_ugaussian_Pinv(counter_rng_unit(seed, stream, i) * (1 - 1e-12) + 5e-13);
}

static uint64_t hash_of(uint64_t seed, const uint32_t *config, size_t n)
{
    for (size_t i = 0; i < n; i++)
        seed = counter_rng_u64(seed, 0, config[i]);
    return seed;
}

static int draw_reading(const double *weight, size_t n, double u)
{
    double total = 0;
    for (size_t i = 0; i < n; i++)
        total += weight[i];
    int i = 0;
    for (u *= total; i + 1 < (int)n && u >= weight[i]; i++)
        u -= weight[i];
    return i;
}

/* Spectral density of Matern 5/2: Student's t with 5 degrees of freedom. */
static double draw_wave(uint64_t seed, uint64_t i)
{
    double chi = 0;
    for (uint64_t k = 0; k < 5; k++)
        chi += pow(normal(seed, STREAM_WAVE, 8 * i + k), 2);
    return normal(seed, STREAM_WAVE, 8 * i + 7) / sqrt(chi / 5);
}

static void draw_feature(const landscape *l, size_t j)
{
    const gp *g = l->model;
    const double *shared = g->hyper + gp_hyper_at(g, GP_NAMES, 0);
    double period = exp(shared[1]), weight[] = {1, exp(shared[0]), period / 2, period / 2, exp(shared[2])};
    feature *f = &l->features[j];
    f->n = 0;
    f->seed = counter_rng_u64(l->seed, 0, j);
    f->phase = 2 * M_PI * counter_rng_unit(f->seed, STREAM_PHASE, 0);
    for (size_t p = 0; p < g->n_params; p++) {
        double t = exp(g->hyper[gp_hyper_at(g, GP_WEIGHT, p)]), length = exp(g->hyper[gp_hyper_at(g, GP_LENGTH, p)]);
        if (g->n_values[p] < 2 || counter_rng_unit(f->seed, STREAM_IN, p) >= t / (1 + t))
            continue;
        f->param[f->n] = (uint8_t)p;
        f->reading[f->n] = (uint8_t)draw_reading(weight, g->n_values[p] >= GP_LONG_LIST ? 5 : 2,
                                                 counter_rng_unit(f->seed, STREAM_READING, p));
        f->wave[f->n++] = draw_wave(f->seed, p) / length / (double)(g->n_values[p] - 1);
    }
}

/* sqrt(2) cos(w x + b): its covariance is that of the ordered readings, and zero where another reading differs. */
static double feature_at(const feature *f, const uint32_t *config)
{
    double angle = f->phase;
    uint64_t other = f->seed;
    for (size_t i = 0; i < f->n; i++) {
        uint32_t v = config[f->param[i]];
        switch (f->reading[i]) {
        case READ_ORDER:
            angle += f->wave[i] * v;
            break;
        case READ_NAME:
            other = counter_rng_u64(other, i, v);
            break;
        case READ_SECOND:
            other = counter_rng_u64(other, i, v % 2);
            break;
        case READ_FOURTH:
            other = counter_rng_u64(other, i, v % 4);
            break;
        default:
            other = counter_rng_u64(other, i, ((v + 1) & v) == 0);
        }
    }
    angle += 2 * M_PI * counter_rng_unit(other, STREAM_PHASE, 1);
    return sqrt(2) * cos(angle);
}

static double drawn(const landscape *l, const uint32_t *config)
{
    double sum = 0;
    for (size_t j = 0; j < FEATURES; j++)
        sum += feature_at(&l->features[j], config);
    return sum * sqrt(l->scale / FEATURES);
}

static double nugget(const landscape *l, const uint32_t *config)
{
    return sqrt(l->noise) * normal(hash_of(l->seed, config, l->m->n_params), STREAM_NUGGET, 0);
}

static double log_time(const landscape *l, const uint32_t *config)
{
    const measured *m = l->m;
    double y = drawn(l, config) + nugget(l, config);
    for (size_t i = 0; i < m->n; i++)
        y += l->pull[i] * l->scale * gp_covariance(l->model, l->factor, config, m->configs + i * m->n_params);
    return log(m->floor_ns * (1 + exp(m->mean + m->sd * y)));
}

static landscape draw_landscape(const measured *m, gp *model, uint64_t seed)
{
    landscape l = {.m = m, .model = model, .seed = seed};
    l.features = mem_alloc(FEATURES * sizeof *l.features);
    l.factor = model->factor;
    l.scale = model->scale;
    l.noise = model->noise;
    for (size_t j = 0; j < FEATURES; j++)
        draw_feature(&l, j);
    l.pull = mem_alloc(m->n * sizeof *l.pull);
    for (size_t i = 0; i < m->n; i++) {
        const uint32_t *config = m->configs + i * m->n_params;
        l.pull[i] = m->y[i] - drawn(&l, config) - nugget(&l, config);
    }
    cblas_dtrsv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, (int)m->n, model->lower, (int)model->capacity,
                l.pull, 1);
    cblas_dtrsv(CblasRowMajor, CblasLower, CblasTrans, CblasNonUnit, (int)m->n, model->lower, (int)model->capacity,
                l.pull, 1);
    return l;
}

/* ---- searches ---- */

typedef struct plan {
    landscape *landscapes;
    size_t n_landscapes, n_seeds, n_repeats, budget, depth, counts[MAX_COUNTS], n_counts;
    double noise;
    const strategy_ops *ops;
    double *winners; /* shared: landscape, seed, repeat, count */
    double *cpu_s;   /* shared: per run, within the strategy */
} plan;

typedef struct pending {
    uint32_t config[MAX_PARAMS];
    double told, real;
} pending;

static double processor_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void run_one(size_t item, void *cookie)
{
    plan *p = cookie;
    size_t repeat = item % p->n_repeats, seed = item / p->n_repeats % p->n_seeds;
    const landscape *l = &p->landscapes[item / p->n_repeats / p->n_seeds];
    strategy_options o = {.seed = counter_rng_u64(1, STREAM_STRATEGY, seed), .budget = p->budget};
    strategy *st = strategy_start(p->ops, l->m->space, &o);
    pending *ring = mem_calloc(p->depth, sizeof *ring);
    double least_told = INFINITY, winner = INFINITY, in_strategy = 0;
    for (size_t i = 0, next = 0; i < p->budget + p->depth - 1; i++) {
        pending *x = &ring[i % p->depth];
        double from = processor_s();
        if (i >= p->depth)
            strategy_tell(st, x->config, true, x->told);
        if (i < p->budget)
            strategy_ask(st, x->config);
        in_strategy += processor_s() - from;
        if (i >= p->budget)
            continue;
        double at = log_time(l, x->config);
        x->real = exp(at);
        x->told = exp(at + p->noise * normal(counter_rng_u64(7, repeat, seed), STREAM_NOISE, i));
        if (x->told < least_told) {
            least_told = x->told;
            winner = x->real;
        }
        if (next < p->n_counts && i + 1 == p->counts[next])
            p->winners[item * p->n_counts + next++] = winner;
    }
    p->cpu_s[item] = in_strategy;
    free(ring);
    strategy_stop(st);
}

/* ---- figures ---- */

/* Of each landscape and seed, how far its repeats are apart after p->counts[c] evaluations, in percent; and the mean
 * logarithm of the winners over the best that was measured. */
static double repeats_apart(const plan *p, size_t c, double *apart)
{
    size_t n_groups = p->n_landscapes * p->n_seeds;
    double logs = 0;
    for (size_t g = 0; g < n_groups; g++) {
        double least = INFINITY, most = 0;
        for (size_t r = 0; r < p->n_repeats; r++) {
            double x = p->winners[(g * p->n_repeats + r) * p->n_counts + c];
            least = fmin(least, x);
            most = fmax(most, x);
            logs += log(x / p->landscapes[0].m->best_ns) / (double)(n_groups * p->n_repeats);
        }
        apart[g] = 100 * (most / least - 1);
    }
    gsl_sort(apart, 1, n_groups);
    return logs;
}

static void report(const plan *p)
{
    size_t n_groups = p->n_landscapes * p->n_seeds;
    double *apart = mem_alloc(n_groups * sizeof *apart), cpu_s = 0;
    for (size_t i = 0; i < n_groups * p->n_repeats; i++)
        cpu_s += p->cpu_s[i];
    for (size_t c = 0; c < p->n_counts; c++) {
        double logs = repeats_apart(p, c, apart);
        printf("  at %zu: winners over the best measured %.4f; repeats apart %.2f%% (median; mean %.2f, most %.2f)\n",
               p->counts[c], exp(logs), gsl_stats_median_from_sorted_data(apart, 1, n_groups),
               gsl_stats_mean(apart, 1, n_groups), apart[n_groups - 1]);
    }
    double logs = repeats_apart(p, p->n_counts - 1, apart);
    printf("large: strategy=%s budget=%zu depth=%zu noise=%g landscapes=%zu seeds=%zu repeats=%zu over_measured=%.4f "
           "apart_median_percent=%.2f apart_mean_percent=%.2f apart_most_percent=%.2f cpu_ms_per_evaluation=%.2f\n",
           p->ops->name, p->budget, p->depth, p->noise, p->n_landscapes, p->n_seeds, p->n_repeats, exp(logs),
           gsl_stats_median_from_sorted_data(apart, 1, n_groups), gsl_stats_mean(apart, 1, n_groups),
           apart[n_groups - 1], 1e3 * cpu_s / (double)(n_groups * p->n_repeats * p->budget));
    free(apart);
}

/* ---- the whole ---- */

static size_t number(const char *text)
{
    char *end;
    unsigned long x = strtoul(text, &end, 10);
    if (*end || x == 0) {
        fprintf(stderr, "large: '%s' is no number from 1 up\n", text);
        exit(2);
    }
    return x;
}

/* The model of what was measured; noise a part of it. */
static gp *fit_model(const measured *m)
{
    size_t *n_values = mem_alloc(m->n_params * sizeof *n_values);
    for (size_t i = 0; i < m->n_params; i++)
        n_values[i] = space_param_at(m->space, i)->n_values;
    gp *model = gp_new(m->n_params, n_values, &gp_default_prior);
    gp_fit(model, m->configs, m->y, m->n, FIT_STEPS);
    gp_condition(model, m->configs, m->y, NULL, m->n);
    printf(
        "  %zu times of %llu valid configurations; logarithm of time above the floor: sd %.3f, of which by itself in "
        "each configuration %.3f\n",
        m->n, (unsigned long long)space_count(m->space), m->sd, sqrt(model->noise) * m->sd);
    free(n_values);
    return model;
}

static void run_all(plan *p)
{
    static const size_t usual[] = {50, 100, 200, 300, 500};
    kw_error err = {0};
    size_t n = p->n_landscapes * p->n_seeds * p->n_repeats;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (usual[i] < p->budget)
            p->counts[p->n_counts++] = usual[i];
    p->counts[p->n_counts++] = p->budget;
    p->winners = parallel_alloc(n * p->n_counts * sizeof *p->winners);
    p->cpu_s = parallel_alloc(n * sizeof *p->cpu_s);
    if (!p->winners || !p->cpu_s) {
        fprintf(stderr, "large: no memory\n");
        exit(3);
    }
    const parallel_work w = {.n = n, .item = run_one, .cookie = p};
    if (parallel_run(&w, &err) != KW_OK)
        stop(&err);
}

int main(int argc, char **argv)
{
    kw_error err = {0};
    measured m = {0};
    if (argc != 11) {
        fprintf(stderr, "usage: large MATRIX TEMPLATE DIMS BUDGET DEPTH NOISE LANDSCAPES SEEDS REPEATS STRATEGY\n");
        return 2;
    }
    plan p = {.budget = number(argv[4]),
              .depth = number(argv[5]),
              .noise = strtod(argv[6], NULL),
              .n_landscapes = number(argv[7]),
              .n_seeds = number(argv[8]),
              .n_repeats = number(argv[9]),
              .ops = strategy_find(argv[10], &err)};
    if (!p.ops)
        stop(&err);
    load(argv[1], argv[2], argv[3], &m);
    gp *model = fit_model(&m);
    p.landscapes = mem_alloc(p.n_landscapes * sizeof *p.landscapes);
    for (size_t i = 0; i < p.n_landscapes; i++)
        p.landscapes[i] = draw_landscape(&m, model, i + 1);
    run_all(&p);
    report(&p);
    return 0;
}
