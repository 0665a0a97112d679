/* The rules that bench/dispatch.c compares. */
#include "bench/dispatch.h"

#include <math.h>

const char *const rule_names[RULES] = {"header",  "measured", "model",   "volume",
                                       "nearest", "single",   "clblast", "portfolio"};

static double distance(const task *t, const int64_t *a, const int64_t *b, rule r)
{
    double sum = 0, p = 1, q = 1;
    for (size_t i = 0; i < t->n_dims; i++) {
        if (!t->dims[i].is_key)
            continue;
        const double x = (double)a[i], y = (double)b[i], step = log(fmax(x, 0.5)) - log(fmax(y, 0.5));
        sum += step * step;
        p *= x;
        q *= y;
    }
    return r == RULE_VOLUME ? fabs(p - q) : sum;
}

/* The best variant that can run `shape`, by the times of another shape, or (from SIZE_MAX) by the mean of all. */
size_t best_variant(const cost_table *train, size_t from, const cost_table *m, size_t shape)
{
    size_t best = SIZE_MAX;
    double least = INFINITY;
    for (size_t v = 0; v < m->n_variants; v++) {
        double cost = 0;
        if (!costs_runs(m, shape, v))
            continue;
        if (from != SIZE_MAX)
            cost = train->ratio[from * m->n_variants + v];
        for (size_t i = 0; from == SIZE_MAX && i < train->n_shapes; i++)
            cost += train->shapes[i].weight * train->ratio[i * m->n_variants + v];
        if (cost < least) {
            least = cost;
            best = v;
        }
    }
    return best;
}

size_t nearest_shape(const cost_table *train, const int64_t *dims, rule r)
{
    size_t best = 0;
    for (size_t i = 1; i < train->n_shapes; i++)
        if (distance(train->task, train->shapes[i].dims, dims, r) <
            distance(train->task, train->shapes[best].dims, dims, r))
            best = i;
    return best;
}

size_t by_tree(const tree *t, const cost_table *m, size_t shape)
{
    for (size_t place = 0;; place++) {
        const size_t v = tree_variant(t, m->shapes[shape].dims, place);
        if (v == SIZE_MAX || costs_runs(m, shape, v))
            return v;
    }
}

/* The best that the portfolio could do. */
size_t by_portfolio(const portfolio *p, const cost_table *m, size_t shape)
{
    size_t best = p->variants[0];
    for (size_t k = 1; k < p->n; k++)
        if (m->ratio[shape * m->n_variants + p->variants[k]] < m->ratio[shape * m->n_variants + best])
            best = p->variants[k];
    return best;
}

/* The member that is fastest by the model of times, as if a header could ask it. */
size_t by_model(const costmodel *c, const portfolio *p, double (*fits)[COSTMODEL_TERMS], const cost_table *m,
                size_t shape)
{
    size_t best = SIZE_MAX;
    double least = INFINITY;
    for (size_t k = 0; k < p->n; k++) {
        const double ns = costmodel_ns(c, p->variants[k], fits[k], &m->shapes[shape]);
        if (costs_runs(m, shape, p->variants[k]) && ns < least) {
            least = ns;
            best = p->variants[k];
        }
    }
    return best;
}

/* ---- CLBlast ---- */

static double volume(const task *t, const int64_t *dims)
{
    double v = 1;
    for (size_t i = 0; i < t->n_dims; i++)
        v *= t->dims[i].is_key ? (double)dims[i] : 1;
    return v;
}

static size_t nearest_cube(const cost_table *train, int64_t side)
{
    int64_t dims[TASK_MAX_DIMS] = {0};
    for (size_t i = 0; i < train->task->n_dims; i++)
        dims[i] = side;
    return nearest_shape(train, dims, RULE_NEAREST);
}

size_t by_clblast(const two_by_volume *x, const cost_table *train, const cost_table *m, size_t shape)
{
    const size_t v = volume(m->task, m->shapes[shape].dims) < x->from ? x->small : x->large;
    /* None of those that were known runs everywhere: what is best on the mean. */
    return v != SIZE_MAX && costs_runs(m, shape, v) ? v : best_variant(train, SIZE_MAX, m, shape);
}

/* The fastest there of those that run all known shapes: CLBlast's kernels pad, or check bounds. */
static size_t unconditional(const cost_table *train, size_t shape)
{
    size_t best = SIZE_MAX;
    for (size_t v = 0; v < train->n_variants; v++) {
        size_t i = 0;
        while (i < train->n_shapes && costs_runs(train, i, v))
            i++;
        if (i == train->n_shapes && (best == SIZE_MAX || train->ratio[shape * train->n_variants + v] <
                                                             train->ratio[shape * train->n_variants + best]))
            best = v;
    }
    return best != SIZE_MAX ? best : best_variant(train, shape, train, shape);
}

two_by_volume clblast_of(const cost_table *train)
{
    two_by_volume best = {unconditional(train, nearest_cube(train, 1024)),
                          unconditional(train, nearest_cube(train, 256)), 0};
    double least = INFINITY;
    for (size_t i = 0; i <= train->n_shapes; i++) {
        two_by_volume x = best;
        double sum = 0;
        x.from = i < train->n_shapes ? volume(train->task, train->shapes[i].dims) : INFINITY;
        for (size_t s = 0; s < train->n_shapes; s++) {
            const size_t v = by_clblast(&x, train, train, s);
            sum +=
                train->shapes[s].weight * (v == SIZE_MAX ? COSTS_MAX_RATIO : train->ratio[s * train->n_variants + v]);
        }
        if (sum < least) {
            least = sum;
            best = x;
        }
    }
    return best;
}
