#include "tuner/informed_internal.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_POOL 5000 /* candidates of a family that are drawn at first; all valid ones if there are no more */
#define TAUGHT 4      /* the best of so many of each lesson are candidates with their neighbours */
#define STREAM 5
#define ORDER_SPREAD 1e-3
#define MISLED_EVERY 5   /* proposals of which one is still of lessons that mislead */
#define SHRINK 2         /* results that count as none */
#define LEAST_TO_STOP 12 /* successes before the expected gain is believed */
#define LOW_TO_STOP 2    /* times in a row */

informed_settings informed_defaults = {
    .doubt = 4,
    .sharpness = 3,
    .trust = 0.8,
    .trust_sd = 0.5,
    .disagree = 0.5,
    .jitter = 0.3,
    .jitter_until = 60,
    .in_order = 6,
    .keep_every = 2,
    .least_agreement = -0.1,
    .spread = 0.25,
};

informed *informed_new(const space *const *spaces, size_t n_families, uint64_t seed)
{
    informed *x = mem_calloc(1, sizeof *x);
    x->settings = informed_defaults;
    x->n_families = n_families;
    x->seed = seed;
    x->best = SIZE_MAX;
    x->pools = mem_calloc(n_families + 1, sizeof *x->pools);
    x->seen_configs = mem_calloc(n_families + 1, sizeof *x->seen_configs);
    x->seen_n = mem_calloc(n_families + 1, sizeof *x->seen_n);
    x->seen_n_capacity = mem_calloc(n_families + 1, sizeof *x->seen_n_capacity);
    for (size_t f = 0; f < n_families; f++) {
        family_pool *p = &x->pools[f];
        p->space = spaces[f];
        if (!p->space)
            continue;
        p->n_params = space_params(p->space);
        moves_init(&p->moves, p->space, seed, STREAM + f);
        size_t *n_values = mem_calloc(p->n_params + 1, sizeof *n_values);
        for (size_t i = 0; i < p->n_params; i++)
            n_values[i] = space_param_at(p->space, i)->n_values;
        p->gp = gp_new(p->n_params, n_values, &gp_default_prior);
        free(n_values);
    }
    return x;
}

static void clear_pool(informed *x, family_pool *p)
{
    if (!p->space)
        return;
    for (size_t i = 0; p->says && i < x->n_lessons; i++)
        free(p->says[i]);
    free(p->says);
    moves_clear(&p->moves);
    key_set_clear(&p->keys);
    gp_free(p->gp);
    free(p->configs);
    free(p->gone);
    free(p->mean);
    free(p->variance);
    free(p->prior);
    free(p->differ);
}

void informed_free(informed *x)
{
    if (!x)
        return;
    for (size_t f = 0; f < x->n_families; f++) {
        clear_pool(x, &x->pools[f]);
        free(x->seen_configs[f]);
    }
    for (size_t i = 0; i < x->n_seen; i++)
        free(x->seen[i].says);
    free(x->pools);
    free(x->lessons);
    free(x->seen);
    free(x->seen_configs);
    free(x->seen_n);
    free(x->seen_n_capacity);
    free(x);
}

void informed_teach(informed *x, lesson *l, double likeness)
{
    x->lessons = mem_grow(x->lessons, &x->lessons_capacity, x->n_lessons + 1, sizeof *x->lessons);
    x->lessons[x->n_lessons++] = (told_lesson){.lesson = l, .likeness = likeness};
}

bool informed_knows(const informed *x, size_t family)
{
    for (size_t i = 0; i < x->n_lessons; i++)
        if (lesson_knows(x->lessons[i].lesson, family))
            return true;
    return false;
}

/* ---- candidates ---- */

static void add_candidate(family_pool *p, const uint32_t *config)
{
    if (!key_set_add(&p->keys, strategy_key(p->space, config)))
        return;
    p->configs = mem_grow(p->configs, &p->configs_capacity, p->m + 1, (p->n_params + 1) * sizeof *p->configs);
    p->gone = mem_grow(p->gone, &p->gone_capacity, p->m + 1, sizeof *p->gone);
    if (p->n_params > 0)
        memcpy(p->configs + p->m * p->n_params, config, p->n_params * sizeof *config);
    p->gone[p->m++] = false;
}

static void add_with_neighbours(family_pool *p, const uint32_t *config)
{
    add_candidate(p, config);
    size_t n = moves_neighbours(&p->moves, config, SPACE_HAMMING);
    for (size_t i = 0; i < n; i++)
        add_candidate(p, p->moves.neighbours + i * p->n_params);
}

/* What the lessons say of the candidates from the `from`-th on. */
static void hear_lessons(informed *x, size_t family, size_t from)
{
    family_pool *p = &x->pools[family];
    const size_t bytes = p->m * sizeof(float) + 1;
    p->mean = mem_realloc(p->mean, bytes);
    p->variance = mem_realloc(p->variance, bytes);
    p->prior = mem_realloc(p->prior, bytes);
    p->differ = mem_realloc(p->differ, bytes);
    for (size_t i = 0; i < x->n_lessons; i++) {
        lesson *l = x->lessons[i].lesson;
        if (!lesson_knows(l, family))
            continue;
        p->says[i] = mem_realloc(p->says[i], bytes);
        if (p->m > from)
            lesson_predict(l, family, p->space, p->configs + from * p->n_params, p->m - from, p->says[i] + from);
    }
}

static void add_taught(informed *x, size_t family)
{
    family_pool *p = &x->pools[family];
    for (size_t i = 0; i < x->n_lessons; i++) {
        lesson *l = x->lessons[i].lesson;
        for (size_t k = 0; k < TAUGHT && k < lesson_size(l, family); k++)
            if (space_contains(p->space, lesson_best(l, family, k)))
                add_with_neighbours(p, lesson_best(l, family, k));
    }
}

static void make_pools(informed *x)
{
    if (x->pools_made)
        return;
    x->pools_made = true;
    for (size_t f = 0; f < x->n_families; f++) {
        family_pool *p = &x->pools[f];
        if (!p->space)
            continue;
        p->says = mem_calloc(x->n_lessons + 1, sizeof *p->says);
        if (space_count(p->space) <= MAX_POOL) {
            for (uint64_t rank = 0; rank < space_count(p->space); rank++) {
                space_unrank(p->space, rank, p->moves.working);
                add_candidate(p, p->moves.working);
            }
        } else {
            for (size_t i = 0; i < MAX_POOL; i++) {
                moves_sample(&p->moves, p->moves.working);
                add_candidate(p, p->moves.working);
            }
            add_taught(x, f);
        }
        hear_lessons(x, f, 0);
    }
}

static size_t find_seen(const informed *x, size_t family, const uint32_t *config)
{
    for (size_t i = 0; i < x->n_seen; i++)
        if (x->seen[i].family == family &&
            memcmp(informed_seen_config(x, i), config, x->pools[family].n_params * sizeof *config) == 0)
            return i;
    return SIZE_MAX;
}

const uint32_t *informed_seen_config(const informed *x, size_t i)
{
    const seen *s = &x->seen[i];
    return x->seen_configs[s->family] + s->at * x->pools[s->family].n_params;
}

/* The neighbours of a new best are candidates from now on. */
static void welcome(informed *x, size_t family, const uint32_t *config)
{
    family_pool *p = &x->pools[family];
    const size_t before = p->m;
    if (space_count(p->space) > MAX_POOL && space_contains(p->space, config))
        add_with_neighbours(p, config);
    if (p->m > before)
        hear_lessons(x, family, before);
}

/* ---- what it is told ---- */

static size_t note(informed *x, size_t family, const uint32_t *config)
{
    family_pool *p = &x->pools[family];
    const size_t n = p->n_params;
    make_pools(x);
    x->seen_configs[family] = mem_grow(x->seen_configs[family], &x->seen_n_capacity[family], x->seen_n[family] + 1,
                                       (n + 1) * sizeof **x->seen_configs);
    memcpy(x->seen_configs[family] + x->seen_n[family] * n, config, n * sizeof *config);
    x->seen = mem_grow(x->seen, &x->seen_capacity, x->n_seen + 1, sizeof *x->seen);
    seen *s = &x->seen[x->n_seen];
    *s = (seen){.family = family, .at = x->seen_n[family]++, .says = mem_alloc((x->n_lessons + 1) * sizeof *s->says)};
    for (size_t i = 0; i < x->n_lessons; i++) {
        s->says[i] = NAN;
        if (lesson_knows(x->lessons[i].lesson, family))
            lesson_predict(x->lessons[i].lesson, family, p->space, config, 1, &s->says[i]);
    }
    for (size_t j = 0; j < p->m; j++)
        if (memcmp(p->configs + j * n, config, n * sizeof *config) == 0)
            p->gone[j] = true;
    x->stale = true;
    return x->n_seen++;
}

bool informed_claim(informed *x, size_t family, const uint32_t *config)
{
    if (!x->pools[family].space || !space_contains(x->pools[family].space, config) ||
        find_seen(x, family, config) != SIZE_MAX)
        return false;
    note(x, family, config);
    return true;
}

void informed_tell(informed *x, size_t family, const uint32_t *config, bool ok, double time_ns)
{
    if (!x->pools[family].space || !space_contains(x->pools[family].space, config))
        return;
    size_t i = find_seen(x, family, config);
    if (i == SIZE_MAX)
        i = note(x, family, config);
    seen *s = &x->seen[i];
    if (s->done) {
        x->n_ok -= s->ok;
        x->n_failed -= !s->ok;
    }
    s->done = true;
    s->ok = ok && isfinite(time_ns) && time_ns > 0;
    s->log_time = s->ok ? log(time_ns) : INFINITY;
    x->n_ok += s->ok;
    x->n_failed += !s->ok;
    x->stale = true;
    const size_t before = x->best;
    x->best = SIZE_MAX;
    for (size_t k = 0; k < x->n_seen; k++)
        if (x->seen[k].ok && (x->best == SIZE_MAX || x->seen[k].log_time < x->seen[x->best].log_time))
            x->best = k;
    if (x->best == i && before != i)
        welcome(x, family, config);
}

/* ---- what it is asked ---- */

static bool propose(informed *x, size_t family, size_t j, size_t *out_family, uint32_t *config)
{
    const family_pool *p = &x->pools[family];
    memcpy(config, p->configs + j * p->n_params, p->n_params * sizeof *config);
    *out_family = family;
    note(x, family, config);
    return true;
}

/* The agreement that the results speak for: none while there are few. */
static double shown_agreement(informed *x)
{
    if (x->stale)
        informed_believe(x);
    const double n = (double)(x->n_ok + x->n_failed);
    return isnan(x->agreement) ? 0 : x->agreement * n / (n + SHRINK);
}

bool informed_defers(informed *x)
{
    const informed_settings *o = &x->settings;
    make_pools(x);
    if (x->n_lessons == 0)
        return true;
    if (o->keep_every == 0 || x->n_seen < o->in_order)
        return false;
    if (shown_agreement(x) < o->least_agreement)
        return x->n_seen % MISLED_EVERY != 0;
    return x->n_seen % o->keep_every != o->keep_every - 1;
}

bool informed_ask(informed *x, size_t *family, uint32_t *config)
{
    make_pools(x);
    const double spread = x->n_seen < x->settings.in_order ? ORDER_SPREAD : x->settings.spread;
    if (x->stale || x->n_seen == 0 || spread != x->spread) {
        x->spread = spread;
        informed_believe(x);
    }
    double most = -1;
    size_t best_family = 0, best = SIZE_MAX;
    for (size_t f = 0; f < x->n_families; f++) {
        const family_pool *p = &x->pools[f];
        for (size_t j = 0; p->space && j < p->m; j++) {
            double gain = p->gone[j] ? -1 : informed_improvement(x, p, j);
            if (gain > most) {
                most = gain;
                best_family = f;
                best = j;
            }
        }
    }
    return best != SIZE_MAX && propose(x, best_family, best, family, config);
}

double informed_gain(informed *x)
{
    double most = 0;
    make_pools(x);
    if (x->best == SIZE_MAX)
        return INFINITY;
    if (x->stale || x->spread != x->settings.spread) {
        x->spread = x->settings.spread;
        informed_believe(x);
    }
    for (size_t f = 0; f < x->n_families; f++) {
        const family_pool *p = &x->pools[f];
        for (size_t j = 0; p->space && j < p->m; j++)
            if (!p->gone[j])
                most = fmax(most, informed_improvement(x, p, j));
    }
    return most;
}

bool informed_is_done(informed *x, double gain)
{
    const size_t n = x->n_ok + x->n_failed;
    if (x->n_ok < LEAST_TO_STOP || informed_gain(x) >= gain) {
        x->n_low = 0;
        return false;
    }
    if (x->n_low == 0 || x->low_at != n)
        x->n_low++;
    x->low_at = n;
    return x->n_low >= LOW_TO_STOP;
}

double informed_agreement(const informed *x)
{
    return x->agreement;
}
