#include "tuner/simulate.h"

#include "base/counter_rng.h"
#include "base/mem.h"
#include "base/parallel.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_SEED, STREAM_ORDER, STREAM_NOISE };

typedef struct replay {
    recorded *const *spaces;
    uint32_t **configs; /* per space: all, by rank */
    const simulate_options *options;
    simulation *out;
} replay;

/* ---- what a strategy sees ---- */

typedef struct view {
    const recorded *real;
    space *space;
    space_param *params;
    char (*names)[24];
    value *values;
    size_t *order;    /* parameter of the view -> of the recorded space */
    uint32_t *config; /* of the recorded space */
} view;

static void shuffle_order(size_t *order, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = n; i > 1; i--) {
        size_t k = (size_t)(counter_rng_unit(seed, STREAM_ORDER, i) * (double)i);
        size_t other = order[k];
        order[k] = order[i - 1];
        order[i - 1] = other;
    }
}

static void make_params(view *v)
{
    size_t n = v->real->n_params, most = 0;
    v->params = mem_calloc(n, sizeof *v->params);
    v->names = mem_calloc(n, sizeof *v->names);
    for (size_t i = 0; i < n; i++)
        most = v->real->params[i].n_values > most ? v->real->params[i].n_values : most;
    v->values = mem_alloc(most * sizeof *v->values);
    for (size_t i = 0; i < most; i++)
        v->values[i] = value_int((int64_t)i);
    for (size_t i = 0; i < n; i++) {
        snprintf(v->names[i], sizeof v->names[i], "p%zu", i);
        v->params[i] = (space_param){.name = v->names[i],
                                     .values = v->values,
                                     .n_values = v->real->params[v->order[i]].n_values,
                                     .slot = (int)i};
    }
}

static void view_make(view *v, const recorded *r, const uint32_t *configs, uint64_t seed)
{
    size_t n = r->n_params;
    *v = (view){.real = r, .order = mem_alloc(n * sizeof *v->order), .config = mem_alloc(n * sizeof *v->config)};
    shuffle_order(v->order, n, seed);
    make_params(v);
    uint32_t *rows = mem_alloc(r->n * n * sizeof *rows);
    for (size_t i = 0; i < r->n; i++)
        for (size_t k = 0; k < n; k++)
            rows[i * n + k] = configs[i * n + v->order[k]];
    space_of_list(v->params, n, rows, r->n, &v->space, NULL); /* cannot fail: the real space was made of this list */
    free(rows);
}

static void view_clear(view *v)
{
    space_free(v->space);
    free(v->params);
    free(v->names);
    free(v->values);
    free(v->order);
    free(v->config);
}

static double view_time(view *v, const uint32_t *config)
{
    double time_ns = NAN;
    for (size_t i = 0; i < v->real->n_params; i++)
        v->config[v->order[i]] = config[i];
    recorded_time(v->real, v->config, &time_ns);
    return time_ns;
}

/* ---- runs ---- */

/* Noise of the i-th measurement of a run, by a stream of its own: strategies with the same seed see other noise. */
typedef struct noise {
    double sd;
    uint64_t seed;
} noise;

static double noisy(const noise *n, double time_ns, size_t i)
{
    double u = counter_rng_unit(n->seed, STREAM_NOISE, i);
    return n->sd > 0 ? time_ns * exp(n->sd * gsl_cdf_ugaussian_Pinv(u + 0x1p-54)) : time_ns;
}

static void run_strategy(view *v, const strategy_ops *ops, uint64_t seed, const noise *n, size_t budget, double *curve)
{
    strategy_options o = {.seed = seed, .budget = budget};
    strategy *st = strategy_start(ops, v->space, &o);
    uint32_t *config = mem_alloc(v->real->n_params * sizeof *config);
    double best = INFINITY, winner = v->real->worst_ns;
    bool more = true;
    for (size_t i = 0; i < budget; i++) {
        more = more && strategy_ask(st, config);
        if (more) {
            double time_ns = view_time(v, config), told = noisy(n, time_ns, i);
            strategy_tell(st, config, !isnan(time_ns), isnan(time_ns) ? 0 : told);
            if (told < best) {
                best = told;
                winner = time_ns;
            }
        }
        curve[i] = winner / v->real->best_ns;
    }
    free(config);
    strategy_stop(st);
}

static double *curve_of(const simulation *s, size_t which, size_t kind, size_t run)
{
    return s->values + s->offsets[which] + (kind * s->repeat + run) * s->budgets[which];
}

const double *simulation_curve(const simulation *s, size_t which, size_t kind, size_t run)
{
    return curve_of(s, which, kind, run);
}

/* One item: one run of a seed on one space, all strategies. */
static void run_item(size_t i, void *cookie)
{
    replay *p = cookie;
    size_t which = i / p->out->repeat, repeat = i % p->out->repeat, run = repeat % p->out->runs;
    uint64_t seed = counter_rng_u64(p->options->seed, STREAM_SEED, repeat / p->out->runs);
    const noise n = {p->options->noise, counter_rng_u64(seed, STREAM_NOISE, run)};
    view v;
    view_make(&v, p->spaces[which], p->configs[which], seed);
    for (size_t k = 0; k < p->options->n_strategies; k++)
        run_strategy(&v, p->options->strategies[k], seed, &n, p->out->budgets[which],
                     curve_of(p->out, which, k, repeat));
    view_clear(&v);
}

static void report(size_t done, void *cookie)
{
    const replay *p = cookie;
    p->options->progress(done, p->out->n_spaces * p->out->repeat, p->options->cookie);
}

static uint32_t *list_configs(const recorded *r)
{
    uint32_t *configs = mem_alloc(r->n * r->n_params * sizeof *configs);
    for (size_t i = 0; i < r->n; i++)
        space_unrank(r->space, i, configs + i * r->n_params);
    return configs;
}

/* May be more than any machine has: of each space as many numbers as strategies, runs of all seeds and evaluations. */
static bool count_values(size_t n, const simulate_options *o, simulation *out)
{
    bool fits = true;
    for (size_t i = 0; i < n; i++) {
        size_t m;
        out->budgets[i] = o->budgets[i];
        out->offsets[i] = out->n_values;
        fits = fits && !__builtin_mul_overflow(out->repeat, o->n_strategies * o->budgets[i], &m) &&
               !__builtin_add_overflow(out->n_values, m, &out->n_values) &&
               out->n_values <= SIZE_MAX / sizeof *out->values;
    }
    return fits;
}

static kw_code make_room(size_t n, const simulate_options *o, simulation *out, kw_error *err)
{
    size_t runs = o->runs > 0 ? o->runs : 1;
    *out = (simulation){.n_spaces = n, .n_strategies = o->n_strategies, .repeat = o->repeat * runs, .runs = runs};
    out->budgets = mem_alloc(n * sizeof *out->budgets);
    out->offsets = mem_alloc(n * sizeof *out->offsets);
    const bool fits = count_values(n, o, out);
    out->values = fits ? parallel_alloc(out->n_values * sizeof *out->values) : NULL;
    if (out->values)
        return KW_OK;
    kw_error_set(err, KW_ENVIRONMENT,
                 "no memory for the results of %zu runs of each strategy; give fewer seeds or evaluations",
                 out->repeat);
    out->n_values = 0;
    simulation_clear(out);
    return KW_ENVIRONMENT;
}

kw_code simulate_run(recorded *const *spaces, size_t n, const simulate_options *o, simulation *out, kw_error *err)
{
    kw_code code = make_room(n, o, out, err);
    if (code != KW_OK)
        return code;
    replay p = {spaces, mem_calloc(n, sizeof *p.configs), o, out};
    for (size_t i = 0; i < n; i++)
        p.configs[i] = list_configs(spaces[i]);
    const parallel_work w = {n * out->repeat, o->jobs, run_item, o->progress ? report : NULL, &p};
    code = parallel_run(&w, err);
    for (size_t i = 0; i < n; i++)
        free(p.configs[i]);
    free(p.configs);
    if (code != KW_OK)
        simulation_clear(out);
    return code;
}

void simulation_clear(simulation *s)
{
    parallel_free(s->values, s->n_values * sizeof *s->values);
    free(s->budgets);
    free(s->offsets);
    *s = (simulation){0};
}
