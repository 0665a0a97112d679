/* The model of many shapes: what learning and asking share. */
#ifndef KERNWRIGHT_TUNER_MANY_INTERNAL_H
#define KERNWRIGHT_TUNER_MANY_INTERNAL_H

#include "tuner/many.h"

/* The covariance of two pairs (s, c), (s', c'), in units of the variance that the data have:
 *
 *     (LOCAL S + GLOBAL) C + (LOCAL_OWN S + GLOBAL_OWN) [c = c'] + LEVEL (S_near + [s = s'])
 *
 * S, S_near: exp(-d^2 / 2 l^2), d the distance of log2 dims, l the kernel's or LEVEL_LENGTH; C: exp(-D / length), D
 * the number of different parameters, neighbouring values counting half. */
typedef struct kernel {
    double shape_length, config_length;
    double local, global, local_own, global_own;
    double noise; /* variance of a time, and of what the model cannot say */
} kernel;

#define LEVEL 4.0

typedef struct known_config {
    int family;
    size_t n;
    double *features;
    bool forgotten;
    float *apart; /* D to every configuration before it, and itself; infinite: another family */
    float *near;  /* C likewise */
} known_config;

/* A pair of shape and configuration. */
typedef enum pair_state { PAIR_NOT_ALLOWED, PAIR_FREE, PAIR_OUT, PAIR_OK, PAIR_FAILED } pair_state;

typedef struct shape_state {
    unsigned char *pairs; /* pair_state of each configuration */
    double *log_time;
    size_t n, best; /* evaluations, those that are out included; best: SIZE_MAX */
} shape_state;

typedef struct pick {
    double gain;
    size_t shape, config;
} pick;

struct many {
    size_t n_shapes;
    double *weights;              /* NULL: all alike */
    double *apart, *alike, *near; /* d^2, S and S_near: n_shapes^2 */
    kernel k;
    double prior; /* variance of a pair less that of its level */
    size_t next_choice;
    shape_state *shapes;
    known_config *configs;
    size_t n_configs, capacity, pairs_capacity;
    uint64_t seed, draws;
    /* The model: observations, the factor of their covariance by rows, and the weights that predict. */
    size_t *of_shape, *of_config;
    double *y, *factor, *alpha, *work;
    size_t n, n_capacity;
    double mean, scale;
    pick *picks; /* the best of each shape, largest gain first; taken from the front */
    size_t n_picks, next_pick;
};

/* The weights of all that was observed: alpha = K^-1 (y - mean). */
void many_solve(many *m);

#endif
