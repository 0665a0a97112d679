/* Nanoseconds per select of a header with many rows, shapes in random order, each call's input depending on the
 * answer of the one before, so that calls do not overlap. Beside it a hash map of the usual kind that holds the same
 * rows. */
#define _POSIX_C_SOURCE 200112L
#define KW_NO_LAUNCH
#include "kw_gemm.h"

#include <stdlib.h>
#include <time.h>

enum { CALLS = 1 << 14, ROUNDS = 500 }; /* short rounds: the best one is then one that nothing interrupted */
#define N_ROWS (sizeof kw_gemm_rows / sizeof *kw_gemm_rows)

typedef struct query {
    const kw_device *device;
    kw_gemm_shape shape;
} query;

static kw_device devices[KW_GEMM_DEVICES], strangers[KW_GEMM_DEVICES];
static query *queries;
static volatile size_t zero = 0; /* so that no compiler can know it */

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* Keys as bench/select_header.c makes them; a stranger has the architecture but is another model. */
static void make_devices(void)
{
    char key[64];
    int i;
    for (i = 0; i < KW_GEMM_DEVICES; i++) {
        (void)snprintf(key, sizeof key, "vendor%d/arch%d/device%d/%d", i % 4, i % 10, i, i + 1);
        (void)kw_device_from_key(&devices[i], key, NULL);
        (void)snprintf(key, sizeof key, "vendor%d/arch%d/stranger%d/%d", i % 4, i % 10, i, i + 1);
        (void)kw_device_from_key(&strangers[i], key, NULL);
    }
}

/* Queries in random order: of known shapes, or (`shift`) of shapes that are in no row. */
static void make_queries(const kw_device *from, int64_t shift)
{
    uint64_t state = 1;
    size_t i;
    for (i = 0; i < CALLS; i++) {
        const kw_gemm_row *r = &kw_gemm_rows[next_random(&state) % N_ROWS];
        queries[i].device = &from[r->of_device];
        queries[i].shape.M = r->M;
        queries[i].shape.N = r->N;
        queries[i].shape.K = r->K + shift;
    }
}

/* Best of some rounds. *hits counts answers of the exact layer. */
static double time_select(size_t *hits)
{
    const size_t nothing = zero;
    double best = 1e30;
    int round;
    for (round = 0; round < ROUNDS; round++) {
        size_t i, at = 0;
        double start = now_ns(), time;
        *hits = 0;
        for (i = 0; i < CALLS; i++) {
            const kw_gemm_choice c = kw_gemm_select(queries[at].device, &queries[at].shape);
            *hits += c.layer == KW_LAYER_EXACT;
            at = i + 1 + ((size_t)c.variant & nothing); /* always i + 1, but the processor must wait for the answer */
        }
        time = (now_ns() - start) / CALLS;
        best = time < best ? time : best;
    }
    return best;
}

/* The same loop without select: what the measurement itself costs. */
static double time_loop(void)
{
    const size_t nothing = zero;
    double best = 1e30;
    int round;
    for (round = 0; round < ROUNDS; round++) {
        size_t i, at = 0;
        double start = now_ns(), time;
        for (i = 0; i < CALLS; i++)
            at = i + 1 + ((size_t)(queries[at].shape.M + queries[at].shape.N + queries[at].shape.K) & nothing) +
                 ((size_t)queries[at].device->key_hash & nothing);
        time = (now_ns() - start) / CALLS;
        if (at != CALLS)
            exit(1);
        best = time < best ? time : best;
    }
    return best;
}

/* ---- the map ---- */

typedef struct node {
    struct node *next;
    uint64_t device;
    int64_t dims[3];
    int variant;
} node;

static node *buckets[16384];

static size_t bucket_of(uint64_t device, const int64_t *dims)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325) ^ device;
    int i, b;
    for (i = 0; i < 3; i++)
        for (b = 0; b < 8; b++)
            h = (h ^ (((uint64_t)dims[i] >> (8 * b)) & 0xff)) * UINT64_C(0x100000001b3);
    return (size_t)(h ^ (h >> 32)) & 16383;
}

static void fill_map(void)
{
    size_t i;
    for (i = 0; i < N_ROWS; i++) {
        node *n = (node *)malloc(sizeof *n);
        size_t at;
        if (!n)
            exit(1);
        n->device = devices[kw_gemm_rows[i].of_device].key_hash;
        n->dims[0] = kw_gemm_rows[i].M;
        n->dims[1] = kw_gemm_rows[i].N;
        n->dims[2] = kw_gemm_rows[i].K;
        n->variant = kw_gemm_rows[i].runs;
        at = bucket_of(n->device, n->dims);
        n->next = buckets[at];
        buckets[at] = n;
    }
}

static double time_map(void)
{
    const size_t nothing = zero;
    double best = 1e30;
    int round;
    for (round = 0; round < ROUNDS; round++) {
        size_t i, at = 0;
        double start = now_ns(), time;
        for (i = 0; i < CALLS; i++) {
            const int64_t dims[3] = {queries[at].shape.M, queries[at].shape.N, queries[at].shape.K};
            const node *n = buckets[bucket_of(queries[at].device->key_hash, dims)];
            while (n && (n->device != queries[at].device->key_hash || memcmp(n->dims, dims, sizeof dims) != 0))
                n = n->next;
            at = i + 1 + ((size_t)(n ? n->variant : 0) & nothing);
        }
        time = (now_ns() - start) / CALLS;
        best = time < best ? time : best;
    }
    return best;
}

int main(void)
{
    size_t hits;
    double exact, arch, tree, map;
    queries = (query *)malloc((CALLS + 1) * sizeof *queries);
    if (!queries)
        return 1;
    make_devices();
    make_queries(devices, 0);
    queries[CALLS] = queries[0];
    exact = time_select(&hits);
    if (hits != CALLS)
        return 1;
    fill_map();
    map = time_map();
    make_queries(strangers, 0);
    arch = time_select(&hits);
    if (hits == 0)
        return 1;
    make_queries(devices, 100000);
    tree = time_select(&hits);
    if (hits != 0)
        return 1;
    printf("ns_loop=%.1f ns_exact=%.1f ns_tree=%.1f ns_other_model=%.1f ns_hash_map=%.1f\n", time_loop(), exact, tree,
           arch, map);
    return 0;
}
