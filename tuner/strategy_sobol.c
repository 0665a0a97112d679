/* The Sobol sequence, one dimension per parameter, shifted by the seed (Cranley, Patterson 1976); a point that is no
 * valid configuration becomes a valid one near it. Dimensions beyond the 40 of GSL's generator are pseudo-random.
 * Source: Sobol, USSR Comput. Maths. Math. Phys. 7, 1967; Bratley, Fox, ACM TOMS algorithm 659, 1988 (gsl_qrng_sobol).
 * */
#include "tuner/strategy_internal.h"
#include "tuner/strategy_moves.h"

#include "base/mem.h"

#include <gsl/gsl_qrng.h>
#include <math.h>
#include <stdlib.h>

#define MAX_DIMENSIONS 40
#define STREAM 2

typedef struct sobol {
    moves moves;
    gsl_qrng *sequence;
    size_t n_sequence;
    double shift[MAX_DIMENSIONS], point[MAX_DIMENSIONS];
    double *wanted;
    uint32_t *from;
} sobol;

static void *start(const space *s, const strategy_options *o)
{
    sobol *q = mem_calloc(1, sizeof *q);
    moves_init(&q->moves, s, o->seed, STREAM);
    size_t n = q->moves.n_params;
    q->n_sequence = n < MAX_DIMENSIONS ? n : MAX_DIMENSIONS;
    q->sequence = gsl_qrng_alloc(gsl_qrng_sobol, n > 0 ? (unsigned)q->n_sequence : 1);
    for (size_t i = 0; i < q->n_sequence; i++)
        q->shift[i] = gsl_rng_uniform(q->moves.random);
    q->wanted = mem_alloc(n * sizeof *q->wanted);
    q->from = mem_alloc(n * sizeof *q->from);
    return q;
}

static bool ask(void *state, uint32_t *config)
{
    sobol *q = state;
    gsl_qrng_get(q->sequence, q->point);
    for (size_t i = 0; i < q->moves.n_params; i++) {
        double u = i < q->n_sequence ? q->point[i] + q->shift[i] : gsl_rng_uniform(q->moves.random);
        u -= floor(u);
        q->wanted[i] = floor(u * (double)space_param_at(q->moves.space, i)->n_values);
    }
    moves_sample(&q->moves, q->from);
    moves_nearest(&q->moves, q->wanted, q->from, config);
    return true;
}

static void tell(void *state, const uint32_t *config, bool ok, double time_ns)
{
    (void)state;
    (void)config;
    (void)ok;
    (void)time_ns;
}

static void stop(void *state)
{
    sobol *q = state;
    gsl_qrng_free(q->sequence);
    moves_clear(&q->moves);
    free(q->wanted);
    free(q->from);
    free(q);
}

const strategy_ops strategy_sobol = {.name = "sobol",
                                     .doc = "a quasi-random sequence that covers the space evenly",
                                     .start = start,
                                     .ask = ask,
                                     .tell = tell,
                                     .stop = stop};
