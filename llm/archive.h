/* The archive (MAP-Elites, Mouret and Clune 2015): the best of every kind of kernel, for one task and device. */
#ifndef KERNWRIGHT_LLM_ARCHIVE_H
#define KERNWRIGHT_LLM_ARCHIVE_H

#include "base/hash.h"
#include "base/json.h"
#include "llm/behaviour.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A configuration of a template that asks for a place. Strings are borrowed while it is offered, owned in the
 * archive. */
typedef struct offer {
    behaviour where;
    double fitness;
    double rel_noise;                  /* of the times behind the fitness, in units of fitness */
    char template_hash[HASH_HEX_SIZE]; /* of the template's text: which candidate */
    char source_hash[HASH_HEX_SIZE];   /* of the configuration's expanded text */
    char *config;                      /* canonical JSON */
} offer;

typedef struct elite {
    bool occupied;
    offer best;
    uint64_t since;  /* ordinal of the attempt that brought it */
    uint64_t visits; /* how often the cell's elites were parents */
    uint64_t tries;  /* likewise, since this one is there */
} elite;

typedef struct archive archive;

typedef enum archive_verdict {
    ARCHIVE_NEW,      /* the cell was empty */
    ARCHIVE_REPLACED, /* better by more than noise */
    ARCHIVE_UNSURE,   /* better, but within noise: time both again, then offer once more with `retimed` */
    ARCHIVE_WORSE
} archive_verdict;

archive *archive_new(void);
void archive_free(archive *a);
/* retimed: both have been timed interleaved; the difference counts as it is. */
archive_verdict archive_offer(archive *a, const offer *o, uint64_t ordinal, bool retimed);
/* Corrects the fitness of a cell's elite after it was timed again. */
void archive_retime(archive *a, int cell, double fitness);
/* Counts the cell's elite as a parent once more. */
void archive_visit(archive *a, int cell);
const elite *archive_cell(const archive *a, int cell);
size_t archive_occupied(const archive *a);
const elite *archive_best(const archive *a); /* NULL when empty */
json *archive_to_json(const archive *a);     /* cells in order; what --measurements recorded compares byte for byte */
/* A map for a terminal: memory down, compute across, parallelism as four blocks side by side. */
void archive_print(const archive *a, strb *out);

#endif
