/* What the files of the informed search share: informed.c (what it is asked and told, candidates), informed_model.c
 * (what it believes). */
#ifndef KERNWRIGHT_TUNER_INFORMED_INTERNAL_H
#define KERNWRIGHT_TUNER_INFORMED_INTERNAL_H

#include "tuner/gp.h"
#include "tuner/informed.h"
#include "tuner/strategy_internal.h"
#include "tuner/strategy_moves.h"

/* Knobs; bench/retune.c tries others. */
typedef struct informed_settings {
    double doubt;     /* results that the expected correlation of a lesson counts as */
    double sharpness; /* exponent of the correlation in a lesson's weight */
    double trust;     /* slope on the lessons' mean before anything was seen, */
    double trust_sd;  /* and its standard deviation */
    double disagree;  /* share of the variance among lessons that counts as doubt */
    double jitter;    /* of hyper-parameters, in standard deviations of their priors */
    size_t jitter_until;
    size_t in_order;        /* so many of the first follow the lessons alone */
    size_t keep_every;      /* later on one of so many does, the others come from elsewhere; 0: all do */
    double least_agreement; /* of lessons and results; below, most come from elsewhere */
    double spread;          /* standard deviation of what lessons do not say, in logarithms, before results tell */
} informed_settings;

extern informed_settings informed_defaults;

/* One candidate of a family. */
typedef struct family_pool {
    const space *space; /* NULL: none here */
    size_t n_params;
    moves moves;
    uint32_t *configs;
    size_t m, configs_capacity;
    bool *gone; /* proposed or known */
    size_t gone_capacity;
    key_set keys;                            /* of the candidates */
    float **says;                            /* per lesson, of each candidate; NULL: it does not know the family */
    float *mean, *variance, *prior, *differ; /* of each candidate: residual, what lessons say, their variance */
    gp *gp;
} family_pool;

typedef struct seen {
    size_t family, at; /* `at`: among the family's seen configurations */
    bool done, ok;
    double log_time;
    float *says; /* per lesson; NaN where it knows nothing */
} seen;

typedef struct told_lesson {
    lesson *lesson;
    double likeness;
    double weight; /* by the evidence so far */
} told_lesson;

struct informed {
    informed_settings settings;
    size_t n_families;
    family_pool *pools;
    told_lesson *lessons;
    size_t n_lessons, lessons_capacity;
    seen *seen;
    size_t n_seen, n_ok, n_failed, seen_capacity;
    uint32_t **seen_configs; /* per family */
    size_t *seen_n, *seen_n_capacity;
    uint64_t seed;
    bool pools_made, stale;
    size_t low_at, n_low; /* results when the gain was low last, and how often in a row it was */
    size_t best;          /* of seen; SIZE_MAX */
    /* model */
    double level, slope, scale, bend, agreement;
    double spread; /* in use: the settings', or none while lessons alone decide */
};

/* Brings the model up to date: means and variances of all candidates, in log time over the best. */
void informed_believe(informed *x);
double informed_improvement(const informed *x, const family_pool *p, size_t j);
const uint32_t *informed_seen_config(const informed *x, size_t i);
/* Log time over the best, compressed. */
double informed_target(const informed *x, size_t i);

#endif
