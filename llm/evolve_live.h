/* What is said of a run of evolution while it goes on: one line. */
#ifndef KERNWRIGHT_LLM_EVOLVE_LIVE_H
#define KERNWRIGHT_LLM_EVOLVE_LIVE_H

#include "base/strb.h"
#include "llm/evolve.h"

/* Zeros at first. Keeps what the rest of the time is reckoned from, and what was shown of the archive. */
typedef struct evolve_live {
    bool started;
    int64_t start_ns;
    uint64_t tried_before; /* candidates that an earlier part of the run had tried: they took no time of this one */
    size_t cells;
    double best;
} evolve_live;

/* Appends the line: asked, out, waiting, cells, best, tokens, cost where prices are known, time left where candidates
 * were tried, and what happened last. `now_ns` is of base/clock.h. */
void evolve_live_line(evolve_live *l, const evolve_progress *p, int64_t now_ns, strb *out);
/* Has the archive a new cell or a better best since this was asked last? Then its map is worth showing. */
bool evolve_live_map_changed(evolve_live *l, const evolve_progress *p);

#endif
