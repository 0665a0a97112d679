/* Times on the samples of a grid. There are hundreds of thousands of them, and a plan takes microseconds, so what plans
 * say is looked up as a product of factors where it is one. */
#include "tuner/grid_internal.h"

#include "base/counter_rng.h"
#include "base/mem.h"

#include <math.h>

#define PROBES 8 /* samples on which a product is compared with the plan */
#define SEED 23
#define SAME 1e-9

static double product(double base, const double *of, size_t n)
{
    double x = base;
    for (size_t i = 0; i < n && base > 0; i++)
        x *= of[i] / base;
    return x;
}

static void multiply(const shape_grid *g, const grid_factors *f, const grid_sample *x, costmodel_facts *out)
{
    double groups[GRID_MAX_KEYS], temps[GRID_MAX_KEYS], work[GRID_MAX_KEYS];
    for (size_t i = 0; i < g->n_axes; i++) {
        const costmodel_facts *at = &f->of[i][x->at[i]];
        groups[i] = at->groups;
        temps[i] = at->temp_bytes;
        work[i] = at->work;
    }
    /* Groups are counted: a hair more than a whole number of rounds would be one round more. */
    *out = (costmodel_facts){nearbyint(product(f->base.groups, groups, g->n_axes)),
                             product(f->base.temp_bytes, temps, g->n_axes), product(f->base.work, work, g->n_axes)};
}

static bool same(double a, double b)
{
    return fabs(a - b) <= SAME * fmax(fabs(a), fabs(b));
}

static bool facts_at(const shape_grid *g, size_t v, const grid_sample *x, costmodel_facts *out)
{
    task_shape s;
    return grid_shape(g, x, &s) && costmodel_facts_of(g->c, v, &s, out);
}

static bool fill_axes(const shape_grid *g, size_t v, grid_factors *f)
{
    const grid_sample first = {0};
    if (!facts_at(g, v, &first, &f->base))
        return false;
    for (size_t i = 0; i < g->n_axes; i++)
        for (size_t k = 0; k < (size_t)g->axes[i].n * GRID_VALUES; k++) {
            grid_sample x = {0};
            x.at[i] = k;
            if (!facts_at(g, v, &x, &f->of[i][k]))
                return false;
        }
    return true;
}

static bool probes_agree(const shape_grid *g, size_t v, const grid_factors *f)
{
    for (uint64_t probe = 0; probe < PROBES; probe++) {
        grid_sample x = {0};
        costmodel_facts is, would;
        for (size_t i = 0; i < g->n_axes; i++)
            x.at[i] = (size_t)(counter_rng_u64(SEED, i, probe) % ((size_t)g->axes[i].n * GRID_VALUES));
        if (!facts_at(g, v, &x, &is))
            return false;
        multiply(g, f, &x, &would);
        if (!same(is.groups, would.groups) || !same(is.temp_bytes, would.temp_bytes) || !same(is.work, would.work))
            return false;
    }
    return true;
}

static const grid_factors *factors_of(shape_grid *g, size_t v)
{
    grid_factors *f = &g->factors[v];
    if (f->known)
        return f;
    f->known = true;
    for (size_t i = 0; i < g->n_axes; i++)
        f->of[i] = mem_calloc((size_t)g->axes[i].n * GRID_VALUES, sizeof *f->of[i]);
    f->is_product = fill_axes(g, v, f) && probes_agree(g, v, f);
    return f;
}

bool grid_is_product(shape_grid *g, size_t v)
{
    return factors_of(g, v)->is_product;
}

double grid_ns(shape_grid *g, size_t member, const grid_sample *x, const task_shape *s, double bytes)
{
    const size_t v = g->p.variants[member];
    const grid_factors *f = factors_of(g, v);
    costmodel_facts facts;
    double terms[COSTMODEL_TERMS];
    if (f->is_product)
        multiply(g, f, x, &facts);
    else if (!costmodel_facts_of(g->c, v, s, &facts))
        return INFINITY;
    costmodel_terms_of(g->c, &facts, bytes, terms);
    const double ns = costmodel_sum(g->fits[member], terms);
    return isnan(ns) ? INFINITY : ns;
}
