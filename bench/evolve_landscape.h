/* Simulated landscapes: templates of known quality, and a scripted model that changes them. For bench/evolve.c. */
#ifndef KERNWRIGHT_BENCH_EVOLVE_LANDSCAPE_H
#define KERNWRIGHT_BENCH_EVOLVE_LANDSCAPE_H

#include "llm/behaviour.h"
#include "llm/evolve_report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HIDDEN = 5, LOCI = BEHAVIOUR_DIMS + HIDDEN, ALLELES = BEHAVIOUR_LEVELS };

/* A template: three levels that the archive sees, and what it does not see. */
typedef struct individual {
    int locus[LOCI]; /* the first three: its cell */
    double rest;     /* "recorded" only: what its fitness has beyond its cell's */
} individual;

typedef enum landscape_kind {
    LANDSCAPE_CELLS,    /* the levels carry most of the quality */
    LANDSCAPE_VALLEY,   /* a near basin and a better one, behind cells that are worse than both */
    LANDSCAPE_BLIND,    /* the levels carry none */
    LANDSCAPE_RECORDED, /* levels, changes and failures as in recorded runs */
    LANDSCAPES
} landscape_kind;
extern const char *const landscape_names[LANDSCAPES];

typedef struct scripted_model {
    double fail;   /* share of candidates that are not right, with sections of quality 0.5 */
    double follow; /* share of the right ones that go where they are sent */
    double skill;  /* share of its changes that are the better of two, with sections of quality 0.5 */
} scripted_model;

typedef struct landscape landscape;
/* runs (n_runs of one task): for LANDSCAPE_RECORDED only. NULL when they hold no right candidate. */
landscape *landscape_new(landscape_kind kind, uint64_t seed, const recorded_run *runs, size_t n_runs);
void landscape_free(landscape *l);

individual landscape_start(const landscape *l); /* the plain kernel: fitness 1 */
double landscape_fitness(const landscape *l, const individual *x);
double landscape_best(const landscape *l); /* of all that there are */
int individual_cell(const individual *x);
bool individual_same(const individual *a, const individual *b);

/* One answer. target -1: none was asked for. quality: of the prompt's sections, 0..1. inspirations: n of them. Decided by
 * (seed of the landscape, ordinal) and the arguments alone. Returns true when it is right, with the child in *out;
 * else *failed is its fitness: 0 no code, 0.1 .. 0.4. */
bool model_answer(const landscape *l, const scripted_model *m, const individual *parent, int target,
                  const individual *inspirations, size_t n, double quality, uint64_t ordinal, individual *out,
                  double *failed);

/* Uniform in 0..1, and standard normal. */
double draw_unit(uint64_t seed, uint64_t stream, uint64_t i);
double draw_normal(uint64_t seed, uint64_t stream, uint64_t i);

#endif
