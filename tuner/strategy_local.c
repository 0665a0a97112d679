/* Greedy local search guided by what was measured nearby.
 *
 * After some uniform samples, the candidates are the neighbours of the few best configurations (one parameter changed)
 * and some random ones. The one that promises the least time is proposed: a mean over the nearest measured
 * configurations, less a little for being far from all of them. Nothing waits for an answer: what is proposed but not
 * told is only left out of the candidates. Failures count as the worst time seen.
 */
#include "tuner/strategy_internal.h"

#include "base/counter_rng.h"
#include "base/mem.h"

#include <gsl/gsl_rng.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIN_START 5 /* samples before the search: two fifths of the budget, within these bounds */
#define MAX_START 20
#define ELITES 3 /* whose neighbours are candidates */
#define RANDOM_CANDIDATES 10
#define MAX_NEIGHBOURS 160 /* of one elite; a random choice if it has more */
#define MAX_CANDIDATES (ELITES * MAX_NEIGHBOURS + RANDOM_CANDIDATES)
#define NEAREST 5
#define MAX_COMPARED 1024 /* measured configurations that one prediction looks at */
#define CURIOSITY 0.1     /* share of the spread that a distance of one changed parameter is worth */

typedef struct measured {
    uint32_t *config;
    bool ok;
    double log_time; /* of a success */
} measured;

typedef struct local {
    const space *space;
    size_t n_params;
    gsl_rng *random;
    uint64_t n_start;
    key_set proposed, told;
    measured *items; /* successes by time, then failures */
    size_t n, n_ok, capacity;
    uint32_t *neighbours; /* working memory */
    size_t neighbours_capacity;
    uint32_t *candidates;
    size_t n_candidates;
} local;

static uint64_t random64(void *cookie)
{
    const local *l = cookie;
    uint64_t high = gsl_rng_get(l->random);
    return high << 32 | gsl_rng_get(l->random);
}

static void *start(const space *s, const strategy_options *o)
{
    local *l = mem_calloc(1, sizeof *l);
    l->space = s;
    l->n_params = space_params(s);
    l->random = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(l->random, (unsigned long)counter_mix(o->seed + 1));
    l->n_start = o->budget < MAX_START / 2 * 5 ? o->budget * 2 / 5 : MAX_START;
    if (l->n_start < MIN_START)
        l->n_start = MIN_START;
    l->candidates = mem_alloc(MAX_CANDIDATES * l->n_params * sizeof *l->candidates);
    return l;
}

static void stop(void *state)
{
    local *l = state;
    for (size_t i = 0; i < l->n; i++)
        free(l->items[i].config);
    free(l->items);
    free(l->neighbours);
    free(l->candidates);
    key_set_clear(&l->proposed);
    key_set_clear(&l->told);
    gsl_rng_free(l->random);
    free(l);
}

/* ---- what was measured ---- */

static void forget(local *l, const uint32_t *config)
{
    for (size_t i = 0; i < l->n; i++) {
        if (memcmp(l->items[i].config, config, l->n_params * sizeof *config) != 0)
            continue;
        free(l->items[i].config);
        l->n_ok -= l->items[i].ok;
        memmove(l->items + i, l->items + i + 1, (--l->n - i) * sizeof *l->items);
        return;
    }
}

static void tell(void *state, const uint32_t *config, bool ok, double time_ns)
{
    local *l = state;
    uint64_t key = strategy_key(l->space, config);
    key_set_add(&l->proposed, key);
    if (!key_set_add(&l->told, key))
        forget(l, config);
    measured m = {mem_alloc(l->n_params * sizeof *config), ok && time_ns > 0 && isfinite(time_ns), 0};
    memcpy(m.config, config, l->n_params * sizeof *config);
    size_t at = l->n;
    if (m.ok) {
        m.log_time = log(time_ns);
        for (at = l->n_ok; at > 0 && l->items[at - 1].log_time > m.log_time; at--)
            ;
        l->n_ok++;
    }
    l->items = mem_grow(l->items, &l->capacity, l->n + 1, sizeof *l->items);
    memmove(l->items + at + 1, l->items + at, (l->n++ - at) * sizeof *l->items);
    l->items[at] = m;
}

/* ---- what it promises ---- */

/* One changed parameter counts 0.5 for the next value of its list up to 1 for the other end; what does not exist in one
 * of the two is no difference. */
static double distance(const local *l, const uint32_t *a, const uint32_t *b)
{
    double d = 0;
    for (size_t i = 0; i < l->n_params; i++) {
        if (a[i] == b[i] || !space_param_exists(l->space, i, a) || !space_param_exists(l->space, i, b))
            continue;
        double steps = a[i] > b[i] ? a[i] - b[i] : b[i] - a[i];
        d += 0.5 + 0.5 * steps / (double)(space_param_at(l->space, i)->n_values - 1);
    }
    return d;
}

static double promise(const local *l, const uint32_t *config)
{
    double near[NEAREST] = {0}, log_time[NEAREST] = {0};
    double best = l->items[0].log_time, worst = l->items[l->n_ok - 1].log_time;
    double spread = l->items[l->n_ok / 2].log_time - best;
    size_t n = 0, stride = 1 + l->n / MAX_COMPARED;
    for (size_t i = 0; i < l->n; i += stride) {
        double d = distance(l, config, l->items[i].config);
        if (n == NEAREST && d >= near[n - 1])
            continue;
        size_t k = n < NEAREST ? n++ : n - 1;
        for (; k > 0 && near[k - 1] > d; k--) {
            near[k] = near[k - 1];
            log_time[k] = log_time[k - 1];
        }
        near[k] = d;
        log_time[k] = l->items[i].ok ? l->items[i].log_time : worst;
    }
    double weights = 0, sum = 0;
    for (size_t k = 0; k < n; k++) {
        double w = 1 / (near[k] * near[k] + 1e-3);
        weights += w;
        sum += w * log_time[k];
    }
    return sum / weights - CURIOSITY * spread * near[0];
}

/* ---- candidates ---- */

static uint32_t *candidate(const local *l, size_t i)
{
    return l->candidates + i * l->n_params;
}

static void add_candidate(local *l, const uint32_t *config)
{
    if (!key_set_has(&l->proposed, strategy_key(l->space, config)))
        memcpy(candidate(l, l->n_candidates++), config, l->n_params * sizeof *config);
}

static void add_neighbours(local *l, const uint32_t *of)
{
    size_t n = space_neighbours(l->space, of, SPACE_HAMMING, l->neighbours, l->neighbours_capacity);
    if (n > l->neighbours_capacity) {
        l->neighbours = mem_realloc(l->neighbours, n * l->n_params * sizeof *l->neighbours);
        l->neighbours_capacity = n;
        space_neighbours(l->space, of, SPACE_HAMMING, l->neighbours, n);
    }
    size_t wanted = n < MAX_NEIGHBOURS ? n : MAX_NEIGHBOURS;
    for (size_t i = 0; i < wanted; i++) {
        size_t k = n > wanted ? i + random64(l) % (n - i) : i;
        add_candidate(l, l->neighbours + k * l->n_params);
        if (k != i) /* not chosen again; what stood at i is still to come */
            memcpy(l->neighbours + k * l->n_params, l->neighbours + i * l->n_params, l->n_params * sizeof *of);
    }
}

static void add_candidates(local *l, uint32_t *working)
{
    l->n_candidates = 0;
    for (size_t i = 0; i < ELITES && i < l->n_ok; i++)
        add_neighbours(l, l->items[i].config);
    for (size_t i = 0; i < RANDOM_CANDIDATES; i++) {
        space_sample(l->space, random64, l, working);
        add_candidate(l, working);
    }
}

static bool ask(void *state, uint32_t *config)
{
    local *l = state;
    if (l->proposed.n < l->n_start || l->n_ok == 0) {
        space_sample(l->space, random64, l, config);
        key_set_add(&l->proposed, strategy_key(l->space, config));
        return true;
    }
    add_candidates(l, config);
    if (l->n_candidates == 0)
        return false;
    size_t best = 0;
    double least = INFINITY;
    for (size_t i = 0; i < l->n_candidates; i++) {
        double p = promise(l, candidate(l, i));
        if (p < least) {
            least = p;
            best = i;
        }
    }
    memcpy(config, candidate(l, best), l->n_params * sizeof *config);
    key_set_add(&l->proposed, strategy_key(l->space, config));
    return true;
}

const strategy_ops strategy_local = {.name = "local",
                                     .doc =
                                         "changes one parameter of the best so far, guided by what was measured nearby",
                                     .start = start,
                                     .ask = ask,
                                     .tell = tell,
                                     .stop = stop};
