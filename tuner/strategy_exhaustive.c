/* Every configuration in the order of ranks. */
#include "tuner/strategy_internal.h"

#include "base/mem.h"

#include <stdlib.h>

typedef struct exhaustive {
    const space *space;
    uint64_t next;
} exhaustive;

static void *start(const space *s, const strategy_options *o)
{
    (void)o;
    exhaustive *e = mem_calloc(1, sizeof *e);
    e->space = s;
    return e;
}

static bool ask(void *state, uint32_t *config)
{
    exhaustive *e = state;
    if (e->next >= space_count(e->space))
        return false;
    space_unrank(e->space, e->next++, config);
    return true;
}

static void tell(void *state, const uint32_t *config, bool ok, double time_ns)
{
    (void)state;
    (void)config;
    (void)ok;
    (void)time_ns;
}

const strategy_ops strategy_exhaustive = {.name = "exhaustive",
                                          .doc = "every configuration, in a fixed order",
                                          .start = start,
                                          .ask = ask,
                                          .tell = tell,
                                          .stop = free};
