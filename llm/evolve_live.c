#include "llm/evolve_live.h"

static const double NS_PER_SECOND = 1e9;

static void add_time_left(const evolve_live *l, const evolve_progress *p, int64_t now_ns, strb *out)
{
    if (p->tried <= l->tried_before || p->tried >= p->budget)
        return;
    double each = (double)(now_ns - l->start_ns) / (double)(p->tried - l->tried_before);
    double seconds = each * (double)(p->budget - p->tried) / NS_PER_SECOND;
    if (seconds < 90)
        strb_printf(out, ", about %.0f s left", seconds);
    else if (seconds < 5400)
        strb_printf(out, ", about %.0f min left", seconds / 60);
    else
        strb_printf(out, ", about %.1f h left", seconds / 3600);
}

void evolve_live_line(evolve_live *l, const evolve_progress *p, int64_t now_ns, strb *out)
{
    const elite *best = archive_best(p->archive);
    if (!l->started) {
        l->started = true;
        l->start_ns = now_ns;
        l->tried_before = p->tried;
    }
    strb_printf(out, "%llu of %llu asked, %zu out, %zu waiting, %zu cells, best %.3f, %lld tokens",
                (unsigned long long)p->asked, (unsigned long long)p->budget, p->in_flight, p->waiting,
                archive_occupied(p->archive), best ? best->best.fitness : 0.0,
                (long long)llm_tokens_used(&p->totals.usage));
    if (p->totals.cost > 0 && p->totals.unpriced == 0)
        strb_printf(out, ", %.4g in money", p->totals.cost);
    add_time_left(l, p, now_ns, out);
    strb_printf(out, "  %s", p->last);
}

bool evolve_live_map_changed(evolve_live *l, const evolve_progress *p)
{
    const elite *best = archive_best(p->archive);
    size_t cells = archive_occupied(p->archive);
    double fitness = best ? best->best.fitness : 0;
    bool changed = cells != l->cells || fitness > l->best;
    l->cells = cells;
    l->best = fitness;
    return changed && cells > 0;
}
