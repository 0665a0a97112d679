#include "tuner/observations.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void observations_init(observations *o, const space *s)
{
    *o = (observations){.space = s, .n_params = space_params(s), .best = SIZE_MAX};
}

void observations_clear(observations *o)
{
    free(o->items);
    free(o->configs);
    key_set_clear(&o->keys);
    *o = (observations){0};
}

bool observations_has(const observations *o, const uint32_t *config)
{
    return key_set_has(&o->keys, strategy_key(o->space, config));
}

size_t observations_find(const observations *o, const uint32_t *config)
{
    if (!observations_has(o, config))
        return SIZE_MAX;
    for (size_t i = o->n; i-- > 0;) /* mostly one of the last */
        if (memcmp(observations_config(o, i), config, o->n_params * sizeof *config) == 0)
            return i;
    return SIZE_MAX;
}

size_t observations_propose(observations *o, const uint32_t *config)
{
    o->items = mem_grow(o->items, &o->items_capacity, o->n + 1, sizeof *o->items);
    o->configs = mem_grow(o->configs, &o->configs_capacity, o->n + 1, o->n_params * sizeof *o->configs);
    memcpy(o->configs + o->n * o->n_params, config, o->n_params * sizeof *config);
    o->items[o->n] = (observation){.state = OBSERVATION_PENDING, .belief = NAN};
    key_set_add(&o->keys, strategy_key(o->space, config));
    return o->n++;
}

static void find_best(observations *o)
{
    o->best = SIZE_MAX;
    for (size_t i = 0; i < o->n; i++)
        if (o->items[i].state == OBSERVATION_OK &&
            (o->best == SIZE_MAX || o->items[i].log_time < o->items[o->best].log_time))
            o->best = i;
}

size_t observations_tell(observations *o, const uint32_t *config, bool ok, double time_ns)
{
    size_t i = observations_find(o, config);
    if (i == SIZE_MAX)
        i = observations_propose(o, config);
    observation *x = &o->items[i];
    o->n_ok -= x->state == OBSERVATION_OK;
    o->n_failed -= x->state == OBSERVATION_FAILED;
    ok = ok && time_ns > 0 && isfinite(time_ns);
    x->state = ok ? OBSERVATION_OK : OBSERVATION_FAILED;
    x->log_time = ok ? log(time_ns) : 0;
    o->n_ok += ok;
    o->n_failed += !ok;
    if (i == o->best) /* measured again, perhaps worse */
        find_best(o);
    else if (ok && (o->best == SIZE_MAX || x->log_time < o->items[o->best].log_time))
        o->best = i;
    return i;
}

size_t observations_elites(const observations *o, size_t *out, size_t k)
{
    size_t n = 0;
    for (size_t i = 0; i < o->n; i++) {
        if (o->items[i].state != OBSERVATION_OK)
            continue;
        if (n == k && o->items[out[n - 1]].log_time <= o->items[i].log_time)
            continue;
        size_t at = n < k ? n++ : n - 1;
        for (; at > 0 && o->items[out[at - 1]].log_time > o->items[i].log_time; at--)
            out[at] = out[at - 1];
        out[at] = i;
    }
    return n;
}
