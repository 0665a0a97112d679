/* How much of a best of many times is luck, from the intervals of the times. */
#include "bench/dispatch.h"

#include "base/counter_rng.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

#define DRAWS 200
#define SEED 31
/* The interval of a median (tuner/stats.h) over the standard deviation of that median, for normal samples: 5.9 for 7 of
 * them, 5.4 for 10. */
#define WIDTH_IN_SD 5.6
#define MOST_SD 0.1 /* of the median: one late sample of seven makes the interval very wide */

static double normal(uint64_t stream, uint64_t i)
{
    const double u = fmax(counter_rng_unit(SEED, stream, 2 * i), 1e-12), v = counter_rng_unit(SEED, stream, 2 * i + 1);
    return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v);
}

static double luck_of_shape(const double *ns, const double *sd, size_t n, uint64_t stream)
{
    double sum = 0;
    for (uint64_t draw = 0; draw < DRAWS; draw++) {
        double least = INFINITY, was = 0;
        for (size_t v = 0; v < n; v++) {
            const double drawn = ns[v] * (1 + sd[v] * normal(stream, draw * n + v));
            if (isfinite(ns[v]) && drawn < least) {
                least = drawn;
                was = ns[v];
            }
        }
        sum += was > 0 && least > 0 ? log(was / least) : 0;
    }
    return sum / DRAWS;
}

double luck_by_intervals(const cost_table *m, const results_group *g, const char *const *hashes)
{
    double *sd = mem_calloc(m->n_variants + 1, sizeof *sd), sum = 0;
    for (size_t i = 0; i < m->n_shapes; i++) {
        for (size_t v = 0; v < m->n_variants; v++) {
            const ledger_entry *e = ledger_find(&g[i].ledger, hashes[v]);
            const bool has = e && e->ok && e->time.n > 2 && e->time.median > 0;
            sd[v] = has ? fmin((e->time.hi - e->time.lo) / e->time.median / WIDTH_IN_SD, MOST_SD) : 0;
        }
        sum += luck_of_shape(&m->ns[i * m->n_variants], sd, m->n_variants, i);
    }
    free(sd);
    return m->n_shapes > 0 ? exp(sum / (double)m->n_shapes) : 1;
}
