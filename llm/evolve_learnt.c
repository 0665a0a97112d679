/* What a run has learnt, for its end: which moves helped, and how the best came about. */
#include "llm/evolve_internal.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static evolve_move *move_of(evolve_result *r, const char *name)
{
    for (size_t i = 0; i < r->n_moves; i++) {
        if (strcmp(r->moves[i].name, name) == 0)
            return &r->moves[i];
    }
    if (r->n_moves == sizeof r->moves / sizeof *r->moves)
        return NULL;
    evolve_move *m = &r->moves[r->n_moves++];
    *m = (evolve_move){.asked = 0, .best_gain = NAN};
    (void)snprintf(m->name, sizeof m->name, "%s", name);
    return m;
}

void evolve_note_move(evolution *e, const attempt *a, const trial_result *r)
{
    evolve_move *m = a->choice.move ? move_of(e->result, a->choice.move) : NULL;
    if (!m)
        return;
    m->asked++;
    if (!r || r->outcome != OUTCOME_OK)
        return;
    const double gain = r->fitness - a->parent_fitness;
    m->right++;
    m->better += gain > 0;
    m->best_gain = m->right == 1 ? gain : fmax(m->best_gain, gain);
}

void evolve_trace_best(const evolution *e, const char *hash, evolve_result *r)
{
    /* From the best back to its seed; a text is tried once, and after its parent. */
    for (const candidate_kept *k = evolve_find(e, hash); k;
         k = *k->parent_hash ? evolve_find(e, k->parent_hash) : NULL) {
        if (r->n_lineage == EVOLVE_MOST_STEPS)
            memmove(r->lineage, r->lineage + 1, --r->n_lineage * sizeof *r->lineage); /* the oldest are told */
        evolve_step *s = &r->lineage[r->n_lineage++];
        *s = (evolve_step){.fitness = k->result.fitness};
        (void)snprintf(s->key, sizeof s->key, "%s", k->key);
        (void)snprintf(s->move, sizeof s->move, "%s", k->move ? k->move : "");
    }
    for (size_t i = 0; i < r->n_lineage / 2; i++) {
        evolve_step swap = r->lineage[i];
        r->lineage[i] = r->lineage[r->n_lineage - 1 - i];
        r->lineage[r->n_lineage - 1 - i] = swap;
    }
}

double evolve_speed_up(const trial_result *r)
{
    double sum = 0;
    for (size_t i = 0; i < r->n_shapes; i++)
        sum += log(r->shapes[i].base_ns / r->shapes[i].best_ns); /* NaN where either is not known */
    return r->n_shapes > 0 ? exp(sum / (double)r->n_shapes) : NAN;
}
