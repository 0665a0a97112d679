/* Uniformly at random without replacement: a random order of all ranks. Where ranks do not reach every configuration
 * (more than 2^64), independent samples: one that comes twice is skipped by the caller. */
#include "tuner/strategy_internal.h"

#include "base/counter_rng.h"
#include "base/mem.h"
#include "tuner/strategy_shuffle.h"

#include <stdlib.h>

typedef struct random_order {
    const space *space;
    shuffle order;
    uint64_t next, seed;
} random_order;

static uint64_t next64(void *cookie)
{
    random_order *r = cookie;
    return counter_rng_u64(r->seed, 0, r->next++);
}

static void *start(const space *s, const strategy_options *o)
{
    random_order *r = mem_calloc(1, sizeof *r);
    r->space = s;
    r->seed = o->seed;
    r->order = shuffle_of(space_count(s), o->seed);
    return r;
}

static bool ask(void *state, uint32_t *config)
{
    random_order *r = state;
    if (r->order.count == UINT64_MAX) {
        space_sample(r->space, next64, r, config);
        return true;
    }
    if (r->next >= r->order.count)
        return false;
    space_unrank(r->space, shuffle_at(&r->order, r->next++), config);
    return true;
}

static void tell(void *state, const uint32_t *config, bool ok, double time_ns)
{
    (void)state;
    (void)config;
    (void)ok;
    (void)time_ns;
}

const strategy_ops strategy_random = {.name = "random",
                                      .doc = "uniformly at random, each configuration once",
                                      .start = start,
                                      .ask = ask,
                                      .tell = tell,
                                      .stop = free};
