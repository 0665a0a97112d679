/* What kind of kernel it is: levels 0-3 of memory, compute and parallelism. docs/evolution.md has the meaning of
 * each. */
#ifndef KERNWRIGHT_LLM_BEHAVIOUR_H
#define KERNWRIGHT_LLM_BEHAVIOUR_H

#include "base/strb.h"
#include "device/artefact.h"

#include <stdbool.h>
#include <stddef.h>

#define BEHAVIOUR_DIMS 3
#define BEHAVIOUR_LEVELS 4
#define BEHAVIOUR_CELLS 64

typedef enum behaviour_dim { BEHAVIOUR_MEMORY, BEHAVIOUR_COMPUTE, BEHAVIOUR_PARALLELISM } behaviour_dim;
extern const char *const behaviour_dim_names[BEHAVIOUR_DIMS];

typedef struct behaviour {
    int level[BEHAVIOUR_DIMS];
    bool from_artefact; /* else from the source */
} behaviour;

int behaviour_cell(const behaviour *b); /* 0..63: memory * 16 + compute * 4 + parallelism */
behaviour behaviour_of_cell(int cell);

/* From expanded kernel text (OpenCL C) and the number of launches of its plan. why (NULL: not wanted): which features
 * decided, a line for each dimension. */
behaviour behaviour_of_source(const char *source, size_t n_launches, strb *why);
/* From the counts of the compiled program, which must be known. */
behaviour behaviour_of_artefact(const artefact *a, size_t n_launches, strb *why);

#endif
