/* What a retune is worth, by replay: usage retune BUDGET SHARE SEEDS SHAPES ARMS [MATRIX.jsonl.gz ...] -- [SPACE ...]
 *
 * A device is retuned from what another one's full tune taught: `auto` with BUDGET evaluations of each shape, and its
 * results, nothing else, are the lessons. Transfers are all ordered pairs of devices among the matrices (results text
 * of one task, several shapes on each device, at most SHAPES of them evenly chosen) and among recorded spaces of one
 * kernel (by the name before "__"). A transfer's shapes are retuned one after the other, in the order that the tool
 * takes them, and teach those that follow.
 * Arms, compared by seed:
 *
 *   full      auto, BUDGET evaluations of each shape (all that there are, if there are no more)
 *   cold      auto, SHARE of them
 *   prior     what `kernwright retune` does, SHARE of them in all: the first shape gets twice as many
 *   mean      the same, but the lessons are the mean of a Gaussian process from the start, and it alone chooses
 *   order     the same, but the lessons give the order of the first half, and auto, which hears of no lesson, goes on
 *   hints     auto with the same lessons as strategy_prior
 *   reversed, shuffled       prior, with the ranks of the other device's times turned round, or mixed
 *   stop, stop_reversed      prior and reversed, ended by the expected gain (below 1%) instead of SHARE
 */
#include "bench/retune.h"

#include "base/counter_rng.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "tuner/informed_internal.h"
#include "tuner/lessons.h"
#include "tuner/recorded.h"
#include "tuner/strategy.h"

#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THRESHOLD 0.01

typedef enum arm { FULL, COLD, PRIOR, MEAN, ORDER, HINTS, REVERSED, SHUFFLED, STOP, STOP_REVERSED, ARMS } arm;
static const char *const arm_names[ARMS] = {"full",  "cold",     "prior",    "mean", "order",
                                            "hints", "reversed", "shuffled", "stop", "stop_reversed"};

static size_t budget, seeds;
static double share;
static bool with[ARMS];
static double *found, *used; /* [seed][result][arm]: best time, evaluations */

/* ---- runs ---- */

typedef struct history {
    uint32_t *configs;
    double *ns;
    size_t n;
} history;

static double time_of(const site *s, const uint32_t *config)
{
    uint64_t rank;
    return space_rank(s->space, config, &rank) ? s->ns[rank] : (double)NAN;
}

/* Asks `st` until `most` are known; fills h, and best[] after each evaluation. */
static void run_strategy(const site *s, strategy *st, size_t most, history *h)
{
    const size_t width = space_params(s->space);
    while (h->n < most && strategy_ask(st, h->configs + h->n * width)) {
        const uint32_t *config = h->configs + h->n * width;
        h->ns[h->n] = time_of(s, config);
        strategy_tell(st, config, !isnan(h->ns[h->n]), h->ns[h->n]);
        h->n++;
    }
}

/* Evaluations of a full tune; of the others. */
static size_t full_of(const site *s)
{
    return s->n < budget ? s->n : budget;
}

static size_t few_of(const site *s)
{
    size_t n = (size_t)(share * (double)full_of(s));
    return n > 1 ? n : 1;
}

static history history_new(const site *s)
{
    return (history){mem_alloc((budget + 1) * space_params(s->space) * sizeof(uint32_t)),
                     mem_alloc((budget + 1) * sizeof(double)), 0};
}

static void history_free(history *h)
{
    free(h->configs);
    free(h->ns);
}

static double best_of(const site *s, const history *h, size_t n)
{
    double best = s->worst;
    for (size_t i = 0; i < h->n && i < n; i++)
        best = fmin(best, h->ns[i]);
    return best;
}

static history run_auto(const site *s, uint64_t seed)
{
    kw_error err;
    const strategy_options o = {.seed = seed, .budget = budget};
    strategy *st = strategy_start(strategy_find("auto", &err), s->space, &o);
    history h = history_new(s);
    run_strategy(s, st, budget, &h);
    strategy_stop(st);
    return h;
}

typedef struct timed {
    double ns;
    size_t at;
} timed;

static int by_ns(const void *a, const void *b)
{
    const timed *x = a, *y = b;
    return x->ns != y->ns ? (x->ns > y->ns) - (x->ns < y->ns) : (x->at > y->at) - (x->at < y->at);
}

typedef enum twist { STRAIGHT, TURNED, MIXED } twist;

/* The times of h, in another order. */
static void teach(lesson *l, const site *s, const history *h, twist how, uint64_t seed)
{
    const size_t width = space_params(s->space);
    timed *rows = mem_alloc((h->n + 1) * sizeof *rows);
    size_t n = 0;
    for (size_t i = 0; i < h->n; i++) {
        if (isnan(h->ns[i]))
            lesson_add(l, 0, width, h->configs + i * width, false, 0);
        else
            rows[n++] = (timed){h->ns[i], i};
    }
    qsort(rows, n, sizeof *rows, by_ns);
    size_t *order = mem_alloc((n + 1) * sizeof *order);
    for (size_t i = 0; i < n; i++)
        order[i] = how == TURNED ? n - 1 - i : i;
    for (size_t i = n; how == MIXED && i > 1; i--) {
        size_t k = counter_rng_u64(seed, 9, i) % i, other = order[k];
        order[k] = order[i - 1];
        order[i - 1] = other;
    }
    for (size_t i = 0; i < n; i++)
        lesson_add(l, 0, width, h->configs + rows[i].at * width, true, rows[order[i]].ns);
    free(order);
    free(rows);
}

/* One search: the informed one, auto, or both. */
typedef struct run {
    const site *s;
    informed *x;
    strategy *st;
    history h;
} run;

static bool step(run *r, bool from_strategy)
{
    size_t family;
    uint32_t *config = r->h.configs + r->h.n * space_params(r->s->space);
    if (from_strategy ? !strategy_ask(r->st, config) : !informed_ask(r->x, &family, config))
        return false;
    const double ns = r->h.ns[r->h.n++] = time_of(r->s, config);
    informed_tell(r->x, 0, config, !isnan(ns), ns);
    if (from_strategy)
        strategy_tell(r->st, config, !isnan(ns), ns);
    else
        strategy_known(r->st, config, !isnan(ns), ns);
    return true;
}

static void search(run *r, arm a, size_t most)
{
    const bool stops = a == STOP || a == STOP_REVERSED;
    while (r->h.n < most && !(stops && informed_is_done(r->x, THRESHOLD))) {
        bool from_strategy = a == ORDER ? r->h.n >= most / 2 : a == MEAN ? false : informed_defers(r->x);
        if (!step(r, from_strategy) && !step(r, !from_strategy))
            return;
    }
}

/* The first shape gets twice as many: the others learn from it. */
static size_t allotment(const transfer *t, size_t i, size_t turn)
{
    const size_t n = t->n_target, one = few_of(&sites[t->target + i]), all = full_of(&sites[t->target + i]);
    const double share_of_one = turn == 0 ? 2 : (double)(n - 2) / (double)(n - 1);
    const size_t most = n < 4 ? one : (size_t)lround((double)one * share_of_one);
    return most < all ? most : all;
}

static double *nothing(void)
{
    static double dims[RETUNE_DIMS];
    return dims;
}

static void give_hints(lessons *b, strategy *st, const site *s)
{
    const space *const spaces[] = {s->space};
    informed *x = informed_new(spaces, 1, 0); /* only to see what it would be taught */
    lessons_teach(b, s->device, s->dims, NULL, x);
    for (size_t i = 0; i < x->n_lessons; i++) {
        lesson *l = x->lessons[i].lesson;
        for (size_t k = 0; k < lesson_size(l, 0); k++)
            strategy_prior(st, lesson_best(l, 0, k), lesson_relative(l, 0, k), x->lessons[i].likeness);
    }
    informed_free(x);
}

/* The order of the shapes, as `kernwright retune` takes them. */
static void order_shapes(const transfer *t, size_t *order)
{
    const size_t n = t->n_target, n_dims = sites[t->target].n_dims;
    double *dims = mem_calloc(n * n_dims + 1, sizeof *dims);
    bool *taken = mem_calloc(n, sizeof *taken);
    for (size_t i = 0; i < n; i++)
        memcpy(dims + i * n_dims, sites[t->target + i].dims, n_dims * sizeof *dims);
    for (size_t k = 0; k < n; k++) {
        order[k] = lessons_next_shape(dims, n, n_dims, taken);
        taken[order[k]] = true;
    }
    free(taken);
    free(dims);
}

/* One search, of `most` evaluations. */
static history search_shape(lessons *b, const site *s, arm a, size_t most, uint64_t seed)
{
    const space *const spaces[] = {s->space};
    const strategy_options o = {.seed = seed, .budget = most};
    kw_error err;
    run r = {.s = s,
             .x = informed_new(spaces, 1, seed),
             .st = strategy_start(strategy_find("auto", &err), s->space, &o),
             .h = history_new(s)};
    if (a == MEAN)
        r.x->settings.in_order = 0;
    if (a == HINTS) {
        give_hints(b, r.st, s);
        run_strategy(s, r.st, most, &r.h);
    } else {
        lessons_teach(b, s->device, s->dims, NULL, r.x);
        search(&r, a, most);
    }
    informed_free(r.x);
    strategy_stop(r.st);
    return r.h;
}

/* All shapes of the target, one after the other. */
static void run_device(const transfer *t, arm a, const history *sources, size_t result, double *best, double *n_used,
                       uint64_t seed)
{
    const twist how = a == REVERSED || a == STOP_REVERSED ? TURNED : a == SHUFFLED ? MIXED : STRAIGHT;
    const bool stops = a == STOP || a == STOP_REVERSED;
    lessons *b = lessons_new(1, sites[t->target].n_dims);
    size_t *order = mem_alloc(t->n_target * sizeof *order);
    order_shapes(t, order);
    for (size_t i = 0; i < t->n_source; i++) {
        const site *s = &sites[t->source + i];
        teach(lessons_add(b, s->device, s->n_dims ? s->dims : nothing()), s, &sources[i], how, seed);
    }
    for (size_t k = 0; k < t->n_target; k++) {
        const size_t i = order[k];
        const site *s = &sites[t->target + i];
        history h = search_shape(b, s, a, stops ? full_of(s) : allotment(t, i, k), seed + i);
        teach(lessons_add(b, s->device, s->dims), s, &h, STRAIGHT, seed);
        best[(result + i) * ARMS + a] = best_of(s, &h, SIZE_MAX);
        n_used[(result + i) * ARMS + a] = (double)h.n;
        history_free(&h);
    }
    free(order);
    lessons_free(b);
}

/* Full tunes of all sites, by seed: what targets are compared with, and, of the next seed, what sources know. */
static uint32_t *tuned; /* [seed][site][budget]: ranks, UINT32_MAX behind the last */

static void run_full(size_t k, void *cookie)
{
    (void)cookie;
    for (size_t i = 0; i < n_sites; i++) {
        history h = run_auto(&sites[i], counter_rng_u64(k, 1, i));
        uint32_t *ranks = tuned + (k * n_sites + i) * budget;
        for (size_t e = 0; e < budget; e++) {
            uint64_t rank = UINT32_MAX;
            if (e < h.n)
                space_rank(sites[i].space, h.configs + e * space_params(sites[i].space), &rank);
            ranks[e] = (uint32_t)rank;
        }
        history_free(&h);
    }
}

static history full_tune(size_t k, size_t i)
{
    const uint32_t *ranks = tuned + (k * n_sites + i) * budget;
    history h = history_new(&sites[i]);
    for (; h.n < budget && ranks[h.n] != UINT32_MAX; h.n++) {
        space_unrank(sites[i].space, ranks[h.n], h.configs + h.n * space_params(sites[i].space));
        h.ns[h.n] = sites[i].ns[ranks[h.n]];
    }
    return h;
}

/* One seed: every transfer. */
static void run_seed(size_t k, void *cookie)
{
    (void)cookie;
    history *full = mem_calloc(n_sites, sizeof *full), *source = mem_calloc(n_sites, sizeof *source);
    double *best = found + k * n_results * ARMS, *n_used = used + k * n_results * ARMS;
    for (size_t i = 0; i < n_sites; i++) {
        full[i] = full_tune(k, i);
        source[i] = full_tune((k + 1) % seeds, i);
    }
    size_t result = 0;
    for (size_t t = 0; t < n_transfers; t++) {
        const transfer *x = &transfers[t];
        for (size_t i = 0; i < x->n_target; i++) {
            const site *s = &sites[x->target + i];
            const history *h = &full[x->target + i];
            const size_t at = (result + i) * ARMS;
            best[at + FULL] = best_of(s, h, SIZE_MAX);
            best[at + COLD] = best_of(s, h, few_of(s));
            n_used[at + FULL] = (double)h->n;
            n_used[at + COLD] = (double)few_of(s);
        }
        for (arm a = PRIOR; a < ARMS; a++)
            if (with[a])
                run_device(x, a, source + x->source, result, best, n_used, counter_rng_u64(k, 3, t));
        result += x->n_target;
    }
    for (size_t i = 0; i < n_sites; i++) {
        history_free(&full[i]);
        history_free(&source[i]);
    }
    free(full);
    free(source);
}

static void report(size_t done, void *cookie)
{
    (void)cookie;
    fprintf(stderr, "retune: seed %zu of %zu\n", done, seeds);
}

/* ---- figures ---- */

/* Geometric mean of time(b) / time(a) over the results from..to, with a 95% interval over seeds. */
static void compare(size_t from, size_t to, arm a, arm b, double out[3])
{
    double *by_seed = mem_calloc(seeds, sizeof *by_seed);
    for (size_t k = 0; k < seeds; k++)
        for (size_t r = from; r < to; r++)
            by_seed[k] += log(found[(k * n_results + r) * ARMS + b] / found[(k * n_results + r) * ARMS + a]) /
                          (double)(to - from);
    const double mean = gsl_stats_mean(by_seed, 1, seeds);
    const double half = seeds > 1 ? 1.96 * gsl_stats_sd(by_seed, 1, seeds) / sqrt((double)seeds) : INFINITY;
    out[0] = exp(mean);
    out[1] = exp(mean - half);
    out[2] = exp(mean + half);
    free(by_seed);
}

static double share_used(size_t from, size_t to, arm a)
{
    double sum = 0, all = 0;
    for (size_t k = 0; k < seeds; k++)
        for (size_t r = from; r < to; r++) {
            sum += used[(k * n_results + r) * ARMS + a];
            all += used[(k * n_results + r) * ARMS + FULL];
        }
    return sum / all;
}

static void print_part(const char *name, size_t from, size_t to)
{
    printf("%-44s %3zu", name, to - from);
    for (arm a = COLD; a < ARMS; a++) {
        double r[3];
        if (!with[a])
            continue;
        compare(from, to, a, FULL, r);
        printf("  %s %.3f (%.2f)", arm_names[a], r[0], share_used(from, to, a));
    }
    printf("\n");
}

static const char *short_name(const char *path)
{
    const char *base = strrchr(path, '/');
    return base ? base + 1 : path;
}

static void print_all(void)
{
    size_t result = 0;
    printf("time of the full tune over that of each arm, geometric mean (share of its evaluations)\n");
    for (size_t t = 0; t < n_transfers; t++) {
        char name[128];
        snprintf(name, sizeof name, "%.20s <- %.20s", short_name(sites[transfers[t].target].device),
                 short_name(sites[transfers[t].source].device));
        print_part(name, result, result + transfers[t].n_target);
        for (size_t i = 0; getenv("EACH") && i < transfers[t].n_target; i++) {
            char each[64];
            snprintf(each, sizeof each, "   %zu of %zu", i, sites[transfers[t].target + i].n);
            print_part(each, result + i, result + i + 1);
        }
        result += transfers[t].n_target;
    }
    print_part("all", 0, n_results);
    printf("retune: transfers=%zu shapes=%zu seeds=%zu budget=%zu", n_transfers, n_results, seeds, budget);
    for (arm a = COLD; a < ARMS; a++) {
        double r[3];
        if (!with[a])
            continue;
        compare(0, n_results, a, FULL, r);
        printf(" %s=%.4f %s_lo=%.4f %s_hi=%.4f %s_share=%.3f", arm_names[a], r[0], arm_names[a], r[1], arm_names[a],
               r[2], arm_names[a], share_used(0, n_results, a));
    }
    for (arm a = PRIOR; a < ARMS; a++) {
        double r[3];
        if (!with[a])
            continue;
        compare(0, n_results, a, COLD, r);
        printf(" %s_over_cold=%.4f %s_over_cold_lo=%.4f", arm_names[a], r[0], arm_names[a], r[1]);
    }
    printf("\n");
}

static void choose_arms(const char *text)
{
    with[FULL] = with[COLD] = true;
    for (arm a = PRIOR; a < ARMS; a++) {
        const size_t n = strlen(arm_names[a]);
        with[a] = strcmp(text, "all") == 0;
        for (const char *at = text; *at; at += strcspn(at, ","), at += *at == ',')
            with[a] = with[a] || (strcspn(at, ",") == n && strncmp(at, arm_names[a], n) == 0);
    }
}

int main(int argc, char **argv)
{
    if (argc < 7) {
        fprintf(stderr, "usage: retune BUDGET SHARE SEEDS SHAPES ARMS [MATRIX ...] -- [SPACE ...]\n");
        return KW_BAD_INPUT;
    }
    budget = strtoul(argv[1], NULL, 10);
    share = strtod(argv[2], NULL);
    seeds = strtoul(argv[3], NULL, 10);
    const size_t max_shapes = strtoul(argv[4], NULL, 10);
    choose_arms(argv[5]);
    int i = 6, matrices = 0;
    while (i + matrices < argc && strcmp(argv[i + matrices], "--") != 0)
        matrices++;
    if (matrices > 0)
        load_kernel("matrix", argv + i, (size_t)matrices, max_shapes);
    for (i += matrices + 1; i < argc;) {
        char *name = kernel_name(argv[i]);
        int n = 1;
        while (i + n < argc) {
            char *other = kernel_name(argv[i + n]);
            bool same = strcmp(name, other) == 0;
            free(other);
            if (!same)
                break;
            n++;
        }
        if (n > 1)
            load_kernel(name, argv + i, (size_t)n, max_shapes);
        i += n;
    }
    if (n_transfers == 0) {
        fprintf(stderr, "retune: no two devices have a kernel in common\n");
        return KW_BAD_INPUT;
    }
    found = parallel_alloc(seeds * n_results * ARMS * sizeof *found);
    used = parallel_alloc(seeds * n_results * ARMS * sizeof *used);
    tuned = parallel_alloc(seeds * n_sites * budget * sizeof *tuned);
    kw_error err;
    const parallel_work first = {seeds, 0, run_full, report, NULL}, then = {seeds, 0, run_seed, report, NULL};
    if (parallel_run(&first, &err) != KW_OK || parallel_run(&then, &err) != KW_OK)
        stop(&err);
    print_all();
    return 0;
}
