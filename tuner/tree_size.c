/* How many variants are worth having: what is held out, asked of grids over portfolios of several sizes. */
#include "base/mem.h"
#include "tuner/tree.h"

#include <math.h>
#include <stdlib.h>

#define MAX_FOLDS 16

static const size_t sizes[TREE_SIZES] = {PORTFOLIO_DEFAULT, 12, 16, 24, 32};

static void try_fold(const cost_table *m, shape_grid *g, const bool *used, double *ratios, tree_sizes *out)
{
    for (size_t k = 0; k < out->n; k++) {
        portfolio p;
        portfolio_choose(m, out->variants[k], used, &p);
        grid_hold_out(g, m, &p, used, ratios);
        for (size_t i = 0; i < m->n_shapes; i++)
            if (!used[i])
                regret_add(&out->held_out[k], ratios[i], m->shapes[i].weight);
    }
}

static void recommend(tree_sizes *out)
{
    double mean = INFINITY, worst = INFINITY;
    size_t k = 0;
    for (size_t i = 0; i < out->n; i++) {
        mean = fmin(mean, regret_mean(&out->held_out[i]));
        worst = fmin(worst, out->held_out[i].worst);
    }
    while (k + 1 < out->n &&
           (regret_mean(&out->held_out[k]) > mean + TREE_SIZE_GAIN || out->held_out[k].worst > worst * TREE_SIZE_WORST))
        k++;
    out->recommended = out->variants[k];
}

void tree_try_sizes(const cost_table *m, costmodel *c, tree_sizes *out)
{
    const size_t n = m->n_shapes, folds = n < MAX_FOLDS ? n : MAX_FOLDS;
    *out = (tree_sizes){0};
    shape_grid *g = c && n >= 2 && m->n_variants > 0 ? grid_new(c) : NULL;
    if (!g)
        return;
    for (size_t k = 0; k < TREE_SIZES && (k == 0 || sizes[k - 1] < m->n_variants); k++)
        out->variants[out->n++] = sizes[k] < m->n_variants ? sizes[k] : m->n_variants;
    bool *used = mem_calloc(n, sizeof *used);
    double *ratios = mem_calloc(n, sizeof *ratios);
    size_t *order = tree_shuffled(n);
    for (size_t fold = 0; fold < folds; fold++) {
        for (size_t i = 0; i < n; i++)
            used[order[i]] = i % folds != fold;
        try_fold(m, g, used, ratios, out);
    }
    recommend(out);
    free(order);
    free(ratios);
    free(used);
    grid_free(g);
}
