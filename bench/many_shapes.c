/* Tuning many shapes at once, replayed on a recorded matrix: usage many_shapes FILE[.gz] BUDGET SHARE SEEDS
 *
 * Compared by seed, with the same start: every shape by itself with BUDGET evaluations (the same model, told of one
 * shape only), all shapes together with SHARE of those evaluations, and uniformly random with both numbers. The ratio of a
 * run is its best time over the best time that the matrix has for that shape; printed is the geometric mean over shapes.
 * A configuration that does not fit a shape costs nothing, a failed one costs an evaluation.
 */
#include "base/counter_rng.h"
#include "base/mem.h"
#include "tuner/many.h"
#include "tuner/results_groups.h"

#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define START 3
#define MAX_PARAMS 64

typedef struct recorded {
    size_t n_shapes, n_configs, n_params, n_dims;
    double *log_dims; /* n_shapes x n_dims */
    double *features; /* n_configs x n_params */
    double *ns;       /* n_shapes x n_configs; 0: not in the matrix; infinite: failed */
    double *best;     /* n_shapes */
    char **configs;
    size_t capacity;
} recorded;

static void stop(const kw_error *err)
{
    fprintf(stderr, "many_shapes: %s\n", err->message);
    exit(err->code);
}

/* ---- the matrix ---- */

static size_t config_index(recorded *r, const char *text)
{
    for (size_t i = 0; i < r->n_configs; i++)
        if (strcmp(r->configs[i], text) == 0)
            return i;
    r->configs = mem_grow(r->configs, &r->capacity, r->n_configs + 1, sizeof *r->configs);
    r->configs[r->n_configs] = mem_strdup(text);
    return r->n_configs++;
}

static json *parse(const char *text)
{
    kw_error err;
    json *j = json_parse(text, strlen(text), "matrix", 1, 1, &err);
    if (!j)
        stop(&err);
    return j;
}

static char *value_text(const json *j)
{
    strb text = STRB_INIT;
    json_print(j, &text);
    return strb_take(&text);
}

static int by_number(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    double p = strtod(x, NULL), q = strtod(y, NULL);
    return p != q ? (p > q) - (p < q) : strcmp(x, y);
}

/* The place of each value among all that the parameter has here, 0..1. */
static void make_features(recorded *r)
{
    char **all = mem_calloc(r->n_configs, sizeof *all), **sorted = mem_calloc(r->n_configs, sizeof *sorted);
    json *first = parse(r->configs[0]);
    r->n_params = json_count(first) < MAX_PARAMS ? json_count(first) : MAX_PARAMS;
    r->features = mem_calloc(r->n_configs * r->n_params, sizeof *r->features);
    size_t p = 0;
    for (const json *key = json_first(first); key && p < r->n_params; key = json_next(key), p++) {
        for (size_t c = 0; c < r->n_configs; c++) {
            json *j = parse(r->configs[c]);
            sorted[c] = all[c] = value_text(json_get(j, json_key(key)));
            json_free(j);
        }
        qsort(sorted, r->n_configs, sizeof *sorted, by_number);
        size_t n = 1;
        for (size_t c = 1; c < r->n_configs; c++)
            if (strcmp(sorted[c], sorted[n - 1]) != 0)
                sorted[n++] = sorted[c];
        for (size_t c = 0; c < r->n_configs; c++)
            for (size_t v = 0; v < n; v++)
                if (strcmp(sorted[v], all[c]) == 0)
                    r->features[c * r->n_params + p] = n > 1 ? (double)v / (double)(n - 1) : 0;
        for (size_t c = 0; c < r->n_configs; c++)
            free(all[c]);
    }
    json_free(first);
    free(sorted);
    free(all);
}

static void add_dims(recorded *r, size_t shape, const char *text)
{
    json *j = parse(text);
    r->n_dims = json_count(j);
    r->log_dims = mem_realloc(r->log_dims, (shape + 1) * r->n_dims * sizeof *r->log_dims);
    size_t d = 0;
    for (const json *v = json_first(j); v; v = json_next(v)) {
        int64_t x = 0;
        json_int(v, &x);
        r->log_dims[shape * r->n_dims + d++] = log2(1 + (double)x);
    }
    json_free(j);
}

/* The groups of the first context that there are the most of: one per shape. */
static void load(const char *path, recorded *r)
{
    kw_error err;
    store *s;
    size_t n_lines;
    results_groups groups;
    const store_query all = {.task = NULL};
    memset(r, 0, sizeof *r);
    if (store_open(":memory:", false, &s, &err) != KW_OK || results_import(s, path, &n_lines, &err) != KW_OK ||
        results_groups_load(s, &all, false, &groups, &err) != KW_OK)
        stop(&err);
    for (size_t i = 0; i < groups.n && results_same_context(&groups.items[0], &groups.items[i]); i++, r->n_shapes++)
        for (size_t k = 0; k < groups.items[i].ledger.n; k++)
            config_index(r, groups.items[i].ledger.entries[k].config);
    if (r->n_shapes == 0 || r->n_configs == 0) {
        kw_error_set(&err, KW_BAD_INPUT, "%s holds no matrix", path);
        stop(&err);
    }
    r->ns = mem_calloc(r->n_shapes * r->n_configs, sizeof *r->ns);
    r->best = mem_calloc(r->n_shapes, sizeof *r->best);
    for (size_t i = 0; i < r->n_shapes; i++) {
        const results_group *g = &groups.items[i];
        add_dims(r, i, g->shape);
        r->best[i] = INFINITY;
        for (size_t k = 0; k < g->ledger.n; k++) {
            const ledger_entry *e = &g->ledger.entries[k];
            double ns = e->ok && e->time.n > 0 ? e->time.median : INFINITY;
            r->ns[i * r->n_configs + config_index(r, e->config)] = ns;
            r->best[i] = fmin(r->best[i], ns);
        }
    }
    make_features(r);
    results_groups_clear(&groups);
    store_close(s);
}

static size_t n_fit(const recorded *r, size_t shape)
{
    size_t n = 0;
    for (size_t c = 0; c < r->n_configs; c++)
        n += r->ns[shape * r->n_configs + c] > 0;
    return n;
}

/* ---- runs; each gives log(best found / best there is) of every shape ---- */

/* Shapes from..from+n-1 together, `total` evaluations. */
static void run(const recorded *r, size_t from, size_t n, size_t total, uint64_t seed, double *loss)
{
    many *m = many_new(n, r->n_dims, r->log_dims + from * r->n_dims, NULL, seed);
    double *found = mem_alloc(n * sizeof *found);
    for (size_t c = 0; c < r->n_configs; c++)
        many_add_config(m, 0, r->n_params, r->features + c * r->n_params);
    for (size_t i = 0; i < n; i++) {
        found[i] = INFINITY;
        for (size_t c = 0; c < r->n_configs; c++)
            if (r->ns[(from + i) * r->n_configs + c] > 0)
                many_allow(m, i, c);
    }
    size_t i, c;
    for (size_t k = 0; k < total && many_ask(m, START, &i, &c); k++) {
        double ns = r->ns[(from + i) * r->n_configs + c];
        many_tell(m, i, c, isfinite(ns), ns);
        found[i] = fmin(found[i], ns);
    }
    for (i = 0; i < n; i++)
        loss[i] = log(found[i] / r->best[from + i]);
    free(found);
    many_free(m);
}

static void run_random(const recorded *r, size_t shape, size_t total, uint64_t seed, double *loss)
{
    double found = INFINITY;
    size_t *order = mem_alloc(r->n_configs * sizeof *order), n = 0;
    for (size_t c = 0; c < r->n_configs; c++)
        if (r->ns[shape * r->n_configs + c] > 0)
            order[n++] = c;
    for (size_t k = 0; k < n && k < total; k++) {
        size_t j = k + counter_rng_u64(seed, shape, k) % (n - k), c = order[j];
        order[j] = order[k];
        found = fmin(found, r->ns[shape * r->n_configs + c]);
    }
    *loss = log(found / r->best[shape]);
    free(order);
}

typedef enum way { SEPARATE, TOGETHER, RANDOM, RANDOM_FEW, WAYS } way;

int main(int argc, char **argv)
{
    recorded r;
    if (argc != 5) {
        fprintf(stderr, "usage: many_shapes FILE BUDGET SHARE SEEDS\n");
        return KW_BAD_INPUT;
    }
    const size_t budget = strtoul(argv[2], NULL, 10), seeds = strtoul(argv[4], NULL, 10);
    const double share = strtod(argv[3], NULL);
    load(argv[1], &r);
    size_t separate = 0;
    for (size_t i = 0; i < r.n_shapes; i++)
        separate += n_fit(&r, i) < budget ? n_fit(&r, i) : budget;
    const size_t together = (size_t)(share * (double)separate);
    double *mean[WAYS], *loss = mem_calloc(r.n_shapes, sizeof *loss), *difference = mem_calloc(seeds, sizeof(double));
    double worst = 0;
    for (size_t w = 0; w < WAYS; w++)
        mean[w] = mem_calloc(seeds, sizeof(double));
    for (size_t k = 0; k < seeds; k++) {
        for (size_t w = 0; w < WAYS; w++) {
            if (w == TOGETHER)
                run(&r, 0, r.n_shapes, together, k, loss);
            for (size_t i = 0; i < r.n_shapes && w != TOGETHER; i++) {
                size_t n = w == RANDOM_FEW ? together / r.n_shapes : budget;
                if (w == SEPARATE)
                    run(&r, i, 1, n, k, loss + i);
                else
                    run_random(&r, i, n, k, loss + i);
            }
            mean[w][k] = gsl_stats_mean(loss, 1, r.n_shapes);
            for (size_t i = 0; i < r.n_shapes && w == TOGETHER; i++)
                worst = fmax(worst, loss[i]);
        }
        difference[k] = mean[TOGETHER][k] - mean[SEPARATE][k];
        fprintf(stderr, "seed %zu: separate %.4f, together %.4f\n", k, exp(mean[SEPARATE][k]), exp(mean[TOGETHER][k]));
    }
    const double mean_loss = gsl_stats_mean(difference, 1, seeds);
    const double half = seeds > 1 ? 1.96 * gsl_stats_sd(difference, 1, seeds) / sqrt((double)seeds) : INFINITY;
    printf("many_shapes: shapes=%zu configs=%zu separate_evaluations=%zu together_evaluations=%zu seeds=%zu "
           "separate=%.4f together=%.4f together_worst=%.3f random=%.4f random_few=%.4f loss_percent=%.2f "
           "loss_lo=%.2f loss_hi=%.2f\n",
           r.n_shapes, r.n_configs, separate, together, seeds, exp(gsl_stats_mean(mean[SEPARATE], 1, seeds)),
           exp(gsl_stats_mean(mean[TOGETHER], 1, seeds)), exp(worst), exp(gsl_stats_mean(mean[RANDOM], 1, seeds)),
           exp(gsl_stats_mean(mean[RANDOM_FEW], 1, seeds)), 100 * (exp(mean_loss) - 1),
           100 * (exp(mean_loss - half) - 1), 100 * (exp(mean_loss + half) - 1));
    return 0;
}
