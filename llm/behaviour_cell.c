/* Cells of the archive as numbers. */
#include "llm/behaviour.h"

const char *const behaviour_dim_names[BEHAVIOUR_DIMS] = {"memory", "compute", "parallelism"};

int behaviour_cell(const behaviour *b)
{
    int cell = 0;
    for (int d = 0; d < BEHAVIOUR_DIMS; d++)
        cell = cell * BEHAVIOUR_LEVELS + b->level[d];
    return cell;
}

behaviour behaviour_of_cell(int cell)
{
    behaviour b = {.from_artefact = false};
    for (int d = BEHAVIOUR_DIMS - 1; d >= 0; d--) {
        b.level[d] = cell % BEHAVIOUR_LEVELS;
        cell /= BEHAVIOUR_LEVELS;
    }
    return b;
}
