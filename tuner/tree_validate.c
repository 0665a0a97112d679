/* Cross-validation of portfolio and tree together. */
#include "tuner/tree.h"

#include "base/counter_rng.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* From what says least to what says most. */
static const double prices[] = {INFINITY, 1, 0.5, 0.25, 0.12, 0.06, 0.03, 0.015};
static const double priors[] = {4, 2, 1, 0.25};
#define N_PRICES (sizeof prices / sizeof *prices)
#define N_PRIORS (sizeof priors / sizeof *priors)
#define NEAR 0.002  /* mean regrets as near as this are equal */
#define CLEARLY 0.5 /* standard errors */
/* The tree that the model has to beat is the best of many settings, so its mean is partly luck. */
#define MODEL_CLEARLY 1.0

size_t *tree_shuffled(size_t n)
{
    size_t *order = mem_calloc(n + 1, sizeof *order);
    for (size_t i = 0; i < n; i++) {
        const size_t k = (size_t)(counter_rng_u64(17, 5, i) % (i + 1));
        order[i] = order[k];
        order[k] = i;
    }
    return order;
}

/* With a model noise is no longer in the data, and a tree, where there is no grid, may be as fine as a header takes. */
static const tree_settings model_settings = {.leaf_price = 0.015, .prior = 0.25, .by_model = true};

/* The ratios of the shapes that are left out, for all settings; prices go up, since a tree can only lose leaves. */
static void measured_fold(const cost_table *m, const shape_features *f, const portfolio *p, const bool *used,
                          double *ratios)
{
    tree *t = tree_grow(m, f, p, used);
    for (size_t a = N_PRICES; a-- > 0;)
        for (size_t b = 0; b < N_PRIORS; b++) {
            tree_settle(t, (tree_settings){prices[a], priors[b], false});
            for (size_t i = 0; i < m->n_shapes; i++)
                if (!used[i])
                    ratios[(a * N_PRIORS + b) * m->n_shapes + i] = tree_ratio(t, i);
        }
    tree_free(t);
}

/* The same of a tree that is fitted to the shapes that the model draws, too. */
static void model_fold(const cost_table *m, const shape_features *f, const portfolio *p, costmodel *c, const bool *used,
                       double *ratios)
{
    const cost_table *dense = costmodel_dense(c);
    bool *rows = mem_calloc(dense->n_shapes + 1, sizeof *rows);
    costmodel_fill(c, p, used);
    for (size_t i = 0; i < dense->n_shapes; i++)
        rows[i] = i >= m->n_shapes || used[i];
    tree *t = tree_fit(dense, f, p, rows, model_settings);
    for (size_t i = 0; i < m->n_shapes; i++)
        if (!used[i])
            ratios[i] = tree_ratio(t, i);
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
static void choose_settings(const cost_table *m, const double *ratios, tree_estimate *out)
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
    for (; chosen < best; chosen++)
        if (difference(m, &ratios[chosen * m->n_shapes], &ratios[best * m->n_shapes], &error) <= NEAR + CLEARLY * error)
            break;
    out->settings = (tree_settings){prices[chosen / N_PRIORS], priors[chosen % N_PRIORS], false};
    out->held_out = regret_of(m, &ratios[chosen * m->n_shapes]);
    memcpy(out->ratios, &ratios[chosen * m->n_shapes], m->n_shapes * sizeof *ratios);
}

/* The model is taken unless the tree of measured shapes alone is clearly better, or as good on every shape. */
static void consider_model(const cost_table *m, const double *by_model, tree_estimate *out)
{
    double error;
    const double worse = difference(m, by_model, out->ratios, &error);
    if (worse > NEAR + MODEL_CLEARLY * error || (worse >= 0 && error <= 0))
        return;
    out->settings = model_settings;
    out->held_out = regret_of(m, by_model);
    memcpy(out->ratios, by_model, m->n_shapes * sizeof *by_model);
}

void tree_cross_validate(const cost_table *m, const shape_features *f, size_t k, costmodel *c, tree_estimate *out)
{
    const size_t n = m->n_shapes;
    *out = (tree_estimate){.settings = {INFINITY, 1, false}, .ratios = mem_calloc(n + 1, sizeof(double))};
    if (n < 2 || m->n_variants == 0)
        return;
    out->folds = n <= TREE_LEAVE_ONE_OUT ? n : n <= 256 ? 16 : 8;
    double *ratios = mem_calloc(N_PRICES * N_PRIORS * n, sizeof *ratios), *by_model = mem_calloc(n, sizeof *by_model);
    bool *used = mem_calloc(n, sizeof *used);
    size_t *order = tree_shuffled(n);
    shape_grid *g = c ? grid_new(c) : NULL;
    for (size_t fold = 0; fold < out->folds; fold++) {
        portfolio p;
        for (size_t i = 0; i < n; i++)
            used[order[i]] = i % out->folds != fold;
        portfolio_choose(m, k, used, &p);
        measured_fold(m, f, &p, used, ratios);
        if (g)
            grid_hold_out(g, m, &p, used, by_model);
        else if (c)
            model_fold(m, f, &p, c, used, by_model);
    }
    choose_settings(m, ratios, out);
    if (c)
        consider_model(m, by_model, out);
    grid_free(g);
    free(order);
    free(used);
    free(ratios);
    free(by_model);
}

tree *tree_choose(const cost_table *m, const shape_features *f, size_t k, costmodel *c, portfolio *p,
                  tree_estimate *out)
{
    tree_cross_validate(m, f, k, c, out);
    portfolio_choose(m, k, NULL, p);
    shape_grid *g = out->settings.by_model ? grid_new(c) : NULL;
    if (g) {
        grid_leaves leaves;
        grid_fit(g, p, NULL);
        grid_settle(g, &leaves);
        grid_free(g);
        return tree_of_grid(m, f, p, &leaves);
    }
    if (out->settings.by_model)
        costmodel_fill(c, p, NULL);
    return tree_fit(out->settings.by_model ? costmodel_dense(c) : m, f, p, NULL, out->settings);
}
