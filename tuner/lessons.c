#include "tuner/lessons.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEAREST 8       /* lessons of this device, and as many of all others */
#define MAX_POOLS 8     /* devices that have one */
#define SHAPE_REACH 3.0 /* in powers of two */
#define LEAST_WEIGHT 1e-3
/* Rank correlations to be expected of the same shape, before anything is known. */
#define THIS_DEVICE 0.8
#define THIS_ARCHITECTURE 0.6
#define OTHER_DEVICE 0.5

typedef struct entry {
    lesson *lesson;
    char *device_key;
    double *dims;
    lesson *base; /* what other devices taught of its shape; NULL: not asked yet, or nothing */
} entry;

struct lessons {
    size_t n_families, n_dims;
    entry *items;
    size_t n, capacity;
    lesson *pools[MAX_POOLS]; /* of the latest search taught */
    size_t n_pools;
    lesson *others; /* of the latest search: all of other devices */
    char *based_on; /* device whose lessons have bases */
};

lessons *lessons_new(size_t n_families, size_t n_dims)
{
    lessons *b = mem_calloc(1, sizeof *b);
    b->n_families = n_families;
    b->n_dims = n_dims;
    return b;
}

static void free_pools(lessons *b)
{
    for (size_t i = 0; i < b->n_pools; i++)
        lesson_free(b->pools[i]);
    b->n_pools = 0;
    lesson_free(b->others);
    b->others = NULL;
}

/* What bases are made of has changed. */
static void forget_bases(lessons *b)
{
    for (size_t i = 0; i < b->n; i++) {
        lesson_rest_on(b->items[i].lesson, NULL);
        lesson_free(b->items[i].base);
        b->items[i].base = NULL;
    }
    free(b->based_on);
    b->based_on = NULL;
}

void lessons_free(lessons *b)
{
    if (!b)
        return;
    free_pools(b);
    forget_bases(b);
    for (size_t i = 0; i < b->n; i++) {
        lesson_free(b->items[i].lesson);
        free(b->items[i].device_key);
        free(b->items[i].dims);
    }
    free(b->items);
    free(b);
}

lesson *lessons_add(lessons *b, const char *device_key, const double *log2_dims)
{
    if (b->based_on && strcmp(b->based_on, device_key) != 0)
        forget_bases(b);
    b->items = mem_grow(b->items, &b->capacity, b->n + 1, sizeof *b->items);
    entry *e = &b->items[b->n++];
    *e = (entry){.lesson = lesson_new(b->n_families),
                 .device_key = mem_strdup(device_key),
                 .dims = mem_alloc((b->n_dims + 1) * sizeof *e->dims)};
    memcpy(e->dims, log2_dims, b->n_dims * sizeof *e->dims);
    return e->lesson;
}

void lessons_remove(lessons *b, const lesson *l)
{
    for (size_t i = 0; l && i < b->n; i++) {
        entry *e = &b->items[i];
        if (e->lesson != l)
            continue;
        if (b->based_on && strcmp(b->based_on, e->device_key) != 0)
            forget_bases(b);
        lesson_free(e->lesson);
        lesson_free(e->base);
        free(e->device_key);
        free(e->dims);
        memmove(e, e + 1, (--b->n - i) * sizeof *e);
        return;
    }
}

size_t lessons_count(const lessons *b)
{
    return b->n;
}

/* ---- likeness ---- */

/* "vendor/arch/" of a device key. */
static size_t architecture_length(const char *key)
{
    const char *vendor = strchr(key, '/'), *arch = vendor ? strchr(vendor + 1, '/') : NULL;
    return arch ? (size_t)(arch + 1 - key) : strlen(key) + 1;
}

static double device_likeness(const char *a, const char *b)
{
    if (strcmp(a, b) == 0)
        return THIS_DEVICE;
    return strncmp(a, b, architecture_length(a)) == 0 ? THIS_ARCHITECTURE : OTHER_DEVICE;
}

static double shape_likeness(const lessons *b, const double *x, const double *y)
{
    double d = 0;
    for (size_t i = 0; i < b->n_dims; i++)
        d += (x[i] - y[i]) * (x[i] - y[i]);
    return exp(-d / (2 * SHAPE_REACH * SHAPE_REACH));
}

typedef struct candidate {
    const entry *entry;
    double likeness;
    bool here;
} candidate;

static int by_likeness(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->likeness != y->likeness)
        return x->likeness < y->likeness ? 1 : -1;
    return (x->entry > y->entry) - (x->entry < y->entry);
}

/* ---- teaching ---- */

/* All lessons of other devices than this, by likeness of shape. NULL: there are none. */
static lesson *pool_of_others(const lessons *b, const char *device_key, const double *log2_dims)
{
    const lesson **from = mem_alloc((b->n + 1) * sizeof *from);
    double *weights = mem_alloc((b->n + 1) * sizeof *weights);
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++) {
        const entry *e = &b->items[i];
        if (strcmp(e->device_key, device_key) == 0)
            continue;
        from[n] = e->lesson;
        weights[n++] = shape_likeness(b, e->dims, log2_dims) + LEAST_WEIGHT;
    }
    lesson *pool = n > 0 ? lesson_pool(from, weights, n) : NULL;
    free(weights);
    free(from);
    return pool;
}

/* What this device's lessons say where they have no rows is what other devices say of that shape. */
static void lay_bases(lessons *b, const char *device_key)
{
    if (!b->based_on || strcmp(b->based_on, device_key) != 0) {
        forget_bases(b);
        b->based_on = mem_strdup(device_key);
    }
    for (size_t i = 0; i < b->n; i++) {
        entry *e = &b->items[i];
        if (e->base || strcmp(e->device_key, device_key) != 0)
            continue;
        e->base = pool_of_others(b, device_key, e->dims);
        lesson_rest_on(e->lesson, e->base);
    }
}

static void teach_pool(lessons *b, const char *device_key, const char *of, const double *log2_dims,
                       const lesson *except, informed *x)
{
    const lesson **from = mem_alloc((b->n + 1) * sizeof *from);
    double *weights = mem_alloc((b->n + 1) * sizeof *weights);
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++) {
        const entry *e = &b->items[i];
        if (e->lesson == except || strcmp(e->device_key, of) != 0)
            continue;
        from[n] = e->lesson;
        weights[n++] = shape_likeness(b, e->dims, log2_dims) + LEAST_WEIGHT;
    }
    b->pools[b->n_pools] = lesson_pool(from, weights, n);
    if (strcmp(device_key, of) == 0)
        lesson_rest_on(b->pools[b->n_pools], b->others);
    if (n > 1) /* one lesson is its own pool */
        informed_teach(x, b->pools[b->n_pools], device_likeness(device_key, of));
    b->n_pools++;
    free(weights);
    free(from);
}

/* One pool for each device, those first that have the lesson most like this search. */
static void teach_pools(lessons *b, const char *device_key, const double *log2_dims, const candidate *all, size_t n,
                        const lesson *except, informed *x)
{
    const char *done[MAX_POOLS];
    for (size_t i = 0; i < n && b->n_pools < MAX_POOLS; i++) {
        bool known = false;
        for (size_t k = 0; k < b->n_pools; k++)
            known = known || strcmp(done[k], all[i].entry->device_key) == 0;
        if (known)
            continue;
        done[b->n_pools] = all[i].entry->device_key;
        teach_pool(b, device_key, all[i].entry->device_key, log2_dims, except, x);
    }
}

size_t lessons_teach(lessons *b, const char *device_key, const double *log2_dims, const lesson *except, informed *x)
{
    candidate *all = mem_calloc(b->n + 1, sizeof *all);
    size_t n = 0, taught[2] = {0, 0};
    free_pools(b);
    lay_bases(b, device_key);
    b->others = pool_of_others(b, device_key, log2_dims);
    for (size_t i = 0; i < b->n; i++) {
        const entry *e = &b->items[i];
        if (e->lesson == except)
            continue;
        all[n++] = (candidate){e, device_likeness(device_key, e->device_key) * shape_likeness(b, e->dims, log2_dims),
                               strcmp(device_key, e->device_key) == 0};
    }
    if (n > 0)
        qsort(all, n, sizeof *all, by_likeness);
    teach_pools(b, device_key, log2_dims, all, n, except, x);
    for (size_t i = 0; i < n; i++) {
        size_t *count = &taught[all[i].here];
        if (*count == NEAREST)
            continue;
        ++*count;
        informed_teach(x, all[i].entry->lesson, all[i].likeness);
    }
    free(all);
    return taught[0] + taught[1];
}

/* ---- order ---- */

static double distance(const double *x, const double *y, size_t n_dims)
{
    double d = 0;
    for (size_t i = 0; i < n_dims; i++)
        d += (x[i] - y[i]) * (x[i] - y[i]);
    return sqrt(d);
}

size_t lessons_next_shape(const double *log2_dims, size_t n, size_t n_dims, const bool *taken)
{
    size_t best = SIZE_MAX, n_taken = 0;
    double most = -INFINITY;
    for (size_t i = 0; i < n; i++)
        n_taken += taken[i];
    for (size_t i = 0; i < n; i++) {
        double nearest = INFINITY, sum = 0;
        if (taken[i])
            continue;
        for (size_t k = 0; k < n; k++) {
            const double d = distance(log2_dims + i * n_dims, log2_dims + k * n_dims, n_dims);
            sum += d;
            if (taken[k] && d < nearest)
                nearest = d;
        }
        const double worth = n_taken > 0 ? nearest : -sum;
        if (worth > most) {
            most = worth;
            best = i;
        }
    }
    return best;
}
