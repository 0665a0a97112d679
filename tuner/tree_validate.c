/* Cross-validation of portfolio and tree together. */
#include "tuner/tree.h"

#include "base/counter_rng.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* From what says least to what says most. */
static const double prices[] = {INFINITY, 1, 0.5, 0.25, 0.12, 0.06, 0.03, 0.015};
static const double priors[] = {4, 2, 1, 0.25};
#define N_PRICES (sizeof prices / sizeof *prices)
#define N_PRIORS (sizeof priors / sizeof *priors)
#define NEAR 0.002  /* mean regrets as near as this are equal */
#define CLEARLY 0.5 /* standard errors */

/* A fixed permutation, so that neighbours in a sorted list do not share a fold. */
static size_t *shuffled(size_t n)
{
    size_t *order = mem_calloc(n + 1, sizeof *order);
    for (size_t i = 0; i < n; i++) {
        const size_t k = (size_t)(counter_rng_u64(17, 5, i) % (i + 1));
        order[i] = order[k];
        order[k] = i;
    }
    return order;
}

/* The ratios of the shapes that are left out, for all settings; prices go up, since a tree can only lose leaves. With a
 * model the tree is fitted to the shapes that it draws, too. */
static void one_fold(const cost_table *m, const shape_features *f, const portfolio *p, costmodel *c, const bool *used,
                     double *ratios)
{
    const cost_table *table = m;
    bool *rows = NULL;
    if (c) {
        table = costmodel_dense(c);
        costmodel_fill(c, p, used);
        rows = mem_calloc(table->n_shapes + 1, sizeof *rows);
        for (size_t i = 0; i < table->n_shapes; i++)
            rows[i] = i >= m->n_shapes || used[i];
    }
    tree *t = tree_grow(table, f, p, c ? rows : used);
    for (size_t a = N_PRICES; a-- > 0;)
        for (size_t b = 0; b < N_PRIORS; b++) {
            tree_settle(t, (tree_settings){.leaf_price = prices[a], .prior = priors[b]});
            for (size_t i = 0; i < m->n_shapes; i++)
                if (!used[i])
                    ratios[(a * N_PRIORS + b) * m->n_shapes + i] = tree_ratio(t, i);
        }
    tree_free(t);
    free(rows);
}

static regret_sum regret_of(const cost_table *m, const double *ratios)
{
    regret_sum r = {0};
    for (size_t i = 0; i < m->n_shapes; i++)
        regret_add(&r, ratios[i], m->shapes[i].weight);
    return r;
}

/* Mean of the differences between two settings, shape by shape, and its standard error. */
static double difference(const cost_table *m, const double *a, const double *b, double *error)
{
    double mean = 0, square = 0, weight = 0;
    for (size_t i = 0; i < m->n_shapes; i++) {
        mean += m->shapes[i].weight * (a[i] - b[i]);
        weight += m->shapes[i].weight;
    }
    mean /= weight;
    for (size_t i = 0; i < m->n_shapes; i++) {
        const double d = m->shapes[i].weight * (a[i] - b[i] - mean);
        square += d * d;
    }
    *error = sqrt(square) / weight;
    return mean;
}

/* The simplest settings that the best ones do not clearly beat: with so many to choose from, the least mean alone would
 * often be luck. */
static void choose_settings(const cost_table *m, const double *ratios, bool by_model, tree_estimate *out)
{
    size_t best = 0, chosen = 0;
    double best_mean = INFINITY, error;
    for (size_t i = 0; i < N_PRICES * N_PRIORS; i++) {
        const regret_sum r = regret_of(m, &ratios[i * m->n_shapes]);
        if (regret_mean(&r) < best_mean) {
            best_mean = regret_mean(&r);
            best = i;
        }
    }
    for (chosen = by_model ? best : 0; chosen < best; chosen++)
        if (difference(m, &ratios[chosen * m->n_shapes], &ratios[best * m->n_shapes], &error) <= NEAR + CLEARLY * error)
            break;
    out->settings = (tree_settings){prices[chosen / N_PRIORS], priors[chosen % N_PRIORS], by_model};
    out->held_out = regret_of(m, &ratios[chosen * m->n_shapes]);
    for (size_t i = 0; i < m->n_shapes; i++)
        out->ratios[i] = ratios[chosen * m->n_shapes + i];
}

void tree_cross_validate(const cost_table *m, const shape_features *f, size_t k, costmodel *c, tree_estimate *out)
{
    const size_t n = m->n_shapes, n_ratios = N_PRICES * N_PRIORS * n;
    *out = (tree_estimate){.settings = {INFINITY, 1, false}, .ratios = mem_calloc(n + 1, sizeof(double))};
    if (n < 2 || m->n_variants == 0)
        return;
    out->folds = n <= TREE_LEAVE_ONE_OUT ? n : n <= 256 ? 16 : 8;
    double *ratios = mem_calloc(n_ratios, sizeof *ratios), *by_model = mem_calloc(n_ratios, sizeof *by_model);
    bool *used = mem_calloc(n, sizeof *used);
    size_t *order = shuffled(n);
    for (size_t fold = 0; fold < out->folds; fold++) {
        portfolio p;
        for (size_t i = 0; i < n; i++)
            used[order[i]] = i % out->folds != fold;
        portfolio_choose(m, k, used, &p);
        one_fold(m, f, &p, NULL, used, ratios);
        if (c)
            one_fold(m, f, &p, c, used, by_model);
    }
    choose_settings(m, ratios, false, out);
    if (c) {
        tree_estimate with = {.folds = out->folds, .ratios = mem_calloc(n + 1, sizeof(double))};
        choose_settings(m, by_model, true, &with);
        const bool better = regret_mean(&with.held_out) <= regret_mean(&out->held_out);
        free(better ? out->ratios : with.ratios);
        if (better)
            *out = with;
    }
    free(order);
    free(used);
    free(ratios);
    free(by_model);
}

tree *tree_choose(const cost_table *m, const shape_features *f, size_t k, costmodel *c, portfolio *p, tree_estimate *out)
{
    tree_cross_validate(m, f, k, c, out);
    portfolio_choose(m, k, NULL, p);
    if (out->settings.by_model)
        costmodel_fill(c, p, NULL);
    return tree_fit(out->settings.by_model ? costmodel_dense(c) : m, f, p, NULL, out->settings);
}
