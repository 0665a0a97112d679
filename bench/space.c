/* One problem file: how long its space takes to build, and how many samples and neighbour queries a second it answers.
 * Prints one JSON line. Usage: space FILE REPEAT [ROUNDS of queries] */
#include "base/clock.h"
#include "base/counter_rng.h"
#include "tuner/problem.h"
#include "tuner/space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CONFIGURATIONS = 4096, BATCH = 100000 };

static uint64_t next_random(void *cookie)
{
    uint64_t *i = cookie;
    return counter_rng_u64(1, 0, (*i)++);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Time of this process on a processor: what other programs take from it does not count. */
static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double since_ms(int64_t from)
{
    return (double)(clock_now_ns() - from) / 1e6;
}

typedef struct rates {
    double samples, neighbour, lists, listed; /* per second of processor time */
} rates;

/* Each configuration is used in turn, so that no query finds its path in the cache of the one before. */
static rates measure(const space *s)
{
    size_t n = space_params(s), capacity = 4096;
    uint64_t random = 0, listed = 0;
    uint32_t *configs = malloc(CONFIGURATIONS * n * sizeof *configs), *out = malloc(capacity * n * sizeof *out);
    rates r;
    double from = cpu_ms();
    for (size_t i = 0; i < BATCH; i++)
        space_sample(s, next_random, &random, configs + i % CONFIGURATIONS * n);
    r.samples = BATCH / (cpu_ms() - from) * 1e3;
    from = cpu_ms();
    for (size_t i = 0; i < BATCH; i++)
        space_random_neighbour(s, configs + i % CONFIGURATIONS * n, next_random, &random, out);
    r.neighbour = BATCH / (cpu_ms() - from) * 1e3;
    from = cpu_ms();
    for (size_t i = 0; i < BATCH; i++)
        listed += space_neighbours(s, configs + i % CONFIGURATIONS * n, SPACE_HAMMING, out, capacity);
    double ms = cpu_ms() - from;
    r.lists = BATCH / ms * 1e3;
    r.listed = (double)listed / ms * 1e3;
    free(configs);
    free(out);
    return r;
}

static double median(double *x, size_t n)
{
    qsort(x, n, sizeof *x, by_value);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 4 || atoi(argv[2]) < 1) {
        fprintf(stderr, "usage: space FILE REPEAT [ROUNDS]\n");
        return 2;
    }
    size_t repeat = (size_t)atoi(argv[2]);
    problem p;
    kw_error err;
    if (problem_load(argv[1], &p, &err) != KW_OK) {
        fprintf(stderr, "%s\n", err.message);
        return err.code;
    }
    double *ms = malloc(repeat * sizeof *ms), all[4][64];
    space *s = NULL;
    double first_cpu = 0;
    for (size_t i = 0; i < repeat; i++) {
        space_free(s);
        double cpu = cpu_ms();
        int64_t from = clock_now_ns();
        if (space_new(&p.def, 0, &s, &err) != KW_OK) {
            fprintf(stderr, "%s\n", err.message);
            return err.code;
        }
        ms[i] = since_ms(from);
        first_cpu = i == 0 ? cpu_ms() - cpu : first_cpu;
    }
    size_t rounds = argc == 4 ? (size_t)atoi(argv[3]) : repeat;
    rounds = rounds < 64 ? rounds : 64;
    for (size_t i = 0; i < rounds; i++) {
        rates r = measure(s);
        all[0][i] = r.samples, all[1][i] = r.neighbour, all[2][i] = r.lists, all[3][i] = r.listed;
    }
    double first = ms[0], middle = median(ms, repeat);
    printf("{\"count\":%llu,\"cartesian\":%.17g,\"bytes\":%zu,\"cold_ms\":%.3f,\"cold_cpu_ms\":%.3f,\"median_ms\":%.3f,"
           "\"min_ms\":%.3f,"
           "\"samples_per_s\":%.0f,\"neighbours_per_s\":%.0f,\"lists_per_s\":%.0f,\"listed_per_s\":%.0f}\n",
           (unsigned long long)space_count(s), space_cartesian(s), space_bytes(s), first, first_cpu, middle, ms[0],
           median(all[0], rounds), median(all[1], rounds), median(all[2], rounds), median(all[3], rounds));
    free(ms);
    space_free(s);
    problem_clear(&p);
    return 0;
}
