#include "tuner/costs.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void costs_init(cost_table *m, const task *t, size_t n_shapes, size_t n_variants)
{
    *m = (cost_table){.task = t, .n_shapes = n_shapes, .n_variants = n_variants};
    m->shapes = mem_calloc(n_shapes + 1, sizeof *m->shapes);
    m->best_ns = mem_calloc(n_shapes + 1, sizeof *m->best_ns);
    m->ns = mem_calloc(n_shapes * n_variants + 1, sizeof *m->ns);
    m->ratio = mem_calloc(n_shapes * n_variants + 1, sizeof *m->ratio);
    for (size_t i = 0; i < n_shapes; i++) {
        m->shapes[i].weight = 1;
        m->best_ns[i] = INFINITY;
    }
    for (size_t i = 0; i < n_shapes * n_variants; i++)
        m->ns[i] = NAN;
}

void costs_clear(cost_table *m)
{
    free(m->shapes);
    free(m->best_ns);
    free(m->ns);
    free(m->ratio);
    memset(m, 0, sizeof *m);
}

void costs_note_best(cost_table *m, size_t shape, double ns)
{
    if (isfinite(ns) && ns > 0 && ns < m->best_ns[shape])
        m->best_ns[shape] = ns;
}

void costs_set(cost_table *m, size_t shape, size_t variant, double ns)
{
    if (!isfinite(ns) || ns <= 0)
        return;
    m->ns[shape * m->n_variants + variant] = ns;
    costs_note_best(m, shape, ns);
}

void costs_exclude(cost_table *m, size_t shape, size_t variant)
{
    m->ns[shape * m->n_variants + variant] = INFINITY;
}

void costs_subset(const cost_table *m, const bool *used, cost_table *out)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n_shapes; i++)
        n += used[i];
    costs_init(out, m->task, n, m->n_variants);
    n = 0;
    for (size_t i = 0; i < m->n_shapes; i++) {
        if (!used[i])
            continue;
        out->shapes[n] = m->shapes[i];
        out->best_ns[n] = m->best_ns[i];
        memcpy(&out->ns[n * m->n_variants], &m->ns[i * m->n_variants], m->n_variants * sizeof *m->ns);
        n++;
    }
    costs_finish(out);
}

bool costs_runs(const cost_table *m, size_t shape, size_t variant)
{
    return !isinf(m->ns[shape * m->n_variants + variant]);
}

bool costs_known(const cost_table *m, size_t shape, size_t variant)
{
    return isfinite(m->ns[shape * m->n_variants + variant]);
}

void costs_finish(cost_table *m)
{
    for (size_t s = 0; s < m->n_shapes; s++) {
        const double best = m->best_ns[s];
        const double *ns = &m->ns[s * m->n_variants];
        double *ratio = &m->ratio[s * m->n_variants], hole = COSTS_HOLE_RATIO;
        for (size_t v = 0; v < m->n_variants; v++) {
            ratio[v] = isfinite(ns[v]) ? fmin(ns[v] / best, COSTS_MAX_RATIO) : 0;
            hole = fmax(hole, ratio[v]);
        }
        for (size_t v = 0; v < m->n_variants; v++)
            if (!isfinite(ns[v]))
                ratio[v] = isfinite(best) ? hole : 1;
    }
}

void regret_add(regret_sum *r, double ratio, double weight)
{
    r->sum += weight * ratio;
    r->log_sum += weight * log(ratio);
    r->weight += weight;
    r->worst = fmax(r->worst, ratio);
}

double regret_mean(const regret_sum *r)
{
    return r->weight > 0 ? r->sum / r->weight : 1;
}

double regret_geomean(const regret_sum *r)
{
    return r->weight > 0 ? exp(r->log_sum / r->weight) : 1;
}
