/* A bandit over strategies: each proposal is made by one of them, chosen by how often its recent proposals were among
 * the best tenth of what had been measured, plus a bonus for having been asked seldom (UCB1 over a sliding window).
 * All of them are told everything.
 * Source: Auer, Cesa-Bianchi, Fischer, Machine Learning 47, 2002; such a choice for autotuning: OpenTuner (Ansel et
 * al., PACT 2014). */
#include "tuner/observations.h"

#include "base/counter_rng.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

#define WINDOW 60 /* proposals that count */
#define BONUS 0.35
#define SUCCESS 0.1 /* the share of all that counts as success */
#define REPEATS 50  /* proposals in a row of one strategy that another has made */

static const strategy_ops *const arms[] = {&strategy_local,     &strategy_genetic, &strategy_tabu,
                                           &strategy_evolution, &strategy_bayes,   &strategy_random};

enum { N_ARMS = sizeof arms / sizeof *arms };

typedef struct bandit {
    observations seen;
    void *states[N_ARMS];
    bool out_of_ideas[N_ARMS];
    unsigned char *arm; /* of each observation; N_ARMS: none */
    size_t arm_capacity;
    unsigned char window_arm[WINDOW];
    bool window_success[WINDOW];
    size_t n_window; /* all that ever entered */
    size_t n_asked[N_ARMS];
} bandit;

static void *start(const space *s, const strategy_options *o)
{
    bandit *b = mem_calloc(1, sizeof *b);
    observations_init(&b->seen, s);
    for (size_t i = 0; i < N_ARMS; i++) {
        strategy_options own = {.seed = counter_rng_u64(o->seed, 9, i), .budget = o->budget};
        b->states[i] = arms[i]->start(s, &own);
    }
    return b;
}

static double merit(const bandit *b, size_t arm)
{
    size_t n = b->n_window < WINDOW ? b->n_window : WINDOW, tried = 0, successes = 0;
    for (size_t i = 0; i < n; i++) {
        tried += b->window_arm[i] == arm;
        successes += b->window_arm[i] == arm && b->window_success[i];
    }
    size_t pending = b->n_asked[arm]; /* asked but not told yet: counted as tried in vain */
    double trials = (double)(tried + pending) + 1e-3;
    return (double)successes / trials + BONUS * sqrt(log((double)n + 2) / trials);
}

static bool ask_arm(bandit *b, size_t arm, uint32_t *config)
{
    for (int k = 0; k < REPEATS; k++) {
        if (!arms[arm]->ask(b->states[arm], config))
            return false;
        if (!observations_has(&b->seen, config))
            return true;
    }
    return false;
}

static void note_arm(bandit *b, size_t i, size_t arm)
{
    b->arm = mem_grow(b->arm, &b->arm_capacity, i + 1, sizeof *b->arm);
    b->arm[i] = (unsigned char)arm;
}

static bool ask(void *state, uint32_t *config)
{
    bandit *b = state;
    for (;;) {
        size_t best = N_ARMS;
        double most = -1;
        for (size_t i = 0; i < N_ARMS; i++) {
            double m = b->out_of_ideas[i] ? -1 : merit(b, i);
            if (m > most) {
                most = m;
                best = i;
            }
        }
        if (best == N_ARMS)
            return false;
        if (ask_arm(b, best, config)) {
            note_arm(b, observations_propose(&b->seen, config), best);
            b->n_asked[best]++;
            return true;
        }
        b->out_of_ideas[best] = true;
    }
}

static bool is_success(const bandit *b, size_t i)
{
    if (b->seen.items[i].state != OBSERVATION_OK)
        return false;
    size_t faster = 0;
    for (size_t k = 0; k < b->seen.n; k++)
        faster += b->seen.items[k].state == OBSERVATION_OK && b->seen.items[k].log_time < b->seen.items[i].log_time;
    return (double)faster < SUCCESS * (double)b->seen.n_ok;
}

static void tell(void *state, const uint32_t *config, bool ok, double time_ns)
{
    bandit *b = state;
    size_t before = b->seen.n;
    bool pending = observations_has(&b->seen, config);
    size_t i = observations_tell(&b->seen, config, ok, time_ns);
    if (b->seen.n > before)
        note_arm(b, i, N_ARMS);
    if (pending && b->arm[i] < N_ARMS) {
        b->window_arm[b->n_window % WINDOW] = b->arm[i];
        b->window_success[b->n_window++ % WINDOW] = is_success(b, i);
        b->n_asked[b->arm[i]]--;
        b->arm[i] = N_ARMS;
    }
    for (size_t k = 0; k < N_ARMS; k++)
        arms[k]->tell(b->states[k], config, ok, time_ns);
}

static void stop(void *state)
{
    bandit *b = state;
    for (size_t i = 0; i < N_ARMS; i++)
        arms[i]->stop(b->states[i]);
    observations_clear(&b->seen);
    free(b->arm);
    free(b);
}

static void prior(void *state, const uint32_t *config, double relative, double weight)
{
    bandit *b = state;
    for (size_t i = 0; i < N_ARMS; i++)
        if (arms[i]->prior)
            arms[i]->prior(b->states[i], config, relative, weight);
}

const strategy_ops strategy_bandit = {.name = "bandit",
                                      .doc = "asks the other strategies, mostly those that found good ones lately",
                                      .start = start,
                                      .ask = ask,
                                      .tell = tell,
                                      .stop = stop,
                                      .prior = prior};
