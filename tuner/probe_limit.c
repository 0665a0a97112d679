/* How long a run takes at least, by the figures of the probe. */
#include "tuner/probe.h"

#include <math.h>
#include <string.h>

#define MIB 1048576.0

/* A time is implausible below this share of the bound. On a CPU the clock of a few busy cores is higher than that of
 * all, and other programs run beside the probe: the share is smaller there. */
#define GPU_SHARE 0.8
#define CPU_SHARE 0.5
/* When the same kernel's times differ by more than this, figures are no limits. */
#define BUSY_NOISE 0.1

#define TIMED_SETS 64 /* as many buffer sets a cold timing rotates over, at most */

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* ---- what has to be done ---- */

typedef enum rate_kind { RATE_NONE, RATE_F32, RATE_F64, RATE_OTHER } rate_kind;

/* The one type that all of the task's elements and sums have; RATE_OTHER if there are several, or another. */
static rate_kind kind_of(const probe_case *c)
{
    bool f32 = true, f64 = true;
    for (size_t i = 0; i < c->t->n_types; i++) {
        f32 = f32 && c->types->of[i] == DTYPE_F32;
        f64 = f64 && c->types->of[i] == DTYPE_F64;
    }
    for (size_t i = 0; i < c->t->n_tensors; i++) {
        dtype type = task_tensor_type(c->t, c->types, i);
        f32 = f32 && type == DTYPE_F32;
        f64 = f64 && type == DTYPE_F64;
    }
    return c->t->n_tensors == 0 ? RATE_OTHER : f32 ? RATE_F32 : f64 ? RATE_F64 : RATE_OTHER;
}

/* Bytes of the tensors that are read, or written; of both, once. */
static double tensor_bytes(const probe_case *c, bool written_only)
{
    double sum = 0;
    for (size_t i = 0; i < c->t->n_tensors; i++) {
        uint64_t n;
        if (written_only && c->t->tensors[i].access == TASK_IN)
            continue;
        if (task_tensor_elements(c->t, c->types, c->shape, i, &n, NULL) == KW_OK)
            sum += (double)n * (double)dtype_bytes(task_tensor_type(c->t, c->types, i));
    }
    return sum;
}

/* ---- caches ---- */

/* The last-level cache, as timing takes it to be. */
static double cache_bytes(const device_limits *l)
{
    return l->cache_bytes > 0 ? (double)l->cache_bytes : l->is_cpu ? 32 * MIB : 64 * MIB;
}

/* How much may lie in caches at most: drivers name one of several caches, or none. */
static double most_cached(const device_limits *l)
{
    return l->is_cpu ? larger(8 * (double)l->cache_bytes, 256 * MIB)
                     : larger(2 * (double)l->cache_bytes, l->cache_bytes > 0 ? 0 : 256 * MIB);
}

/* Do the tensors still lie in the cache when a run begins? */
static bool starts_cached(const probe_case *c, double bytes)
{
    double cache = cache_bytes(c->limits);
    return c->cold ? TIMED_SETS * bytes < 2 * cache : bytes <= cache;
}

/* ---- the limit ---- */

static void take_longer(probe_limit *limit, double ns, const char *by)
{
    if (!isfinite(ns) || ns <= 0 || (limit->by && ns <= limit->ns))
        return;
    limit->ns = ns;
    limit->by = by;
}

static double ratio_ns(double amount, double per_second)
{
    return amount > 0 && per_second > 0 ? amount / per_second * 1e9 : 0;
}

/* Bandwidth for a mixture of reading and writing: a copy's, unless nearly all is one of them. */
static double bandwidth(const probe_case *c, double bytes)
{
    const probe_figures *f = c->figures;
    double written = tensor_bytes(c, true) / bytes;
    return written < 0.25 ? larger(f->copy, f->read) : written > 0.75 ? larger(f->copy, f->write) : f->copy;
}

probe_limit probe_limit_of(const probe_case *c, const char *method)
{
    const probe_figures *f = c->figures;
    const probe_limit unknown = {NAN, NULL};
    probe_limit limit = unknown;
    double bytes = task_bytes(c->t, c->types, c->shape), flops = task_flops(c->t, c->types, c->shape);
    if (bytes > 0) {
        bool cached = starts_cached(c, bytes);
        take_longer(&limit, ratio_ns(bytes, cached ? larger(f->cache_copy, f->cache_read) : bandwidth(c, bytes)),
                    cached ? "cache" : "memory");
    }
    rate_kind kind = kind_of(c);
    if (kind == RATE_OTHER) {
        /* No rate to compare with, as for matrix units: only what is surely bound by memory has a limit. */
        if (flops > 0 && !(limit.ns >= ratio_ns(flops, larger(f->fma_f16, f->fma_f32))))
            return unknown;
    } else {
        take_longer(&limit, ratio_ns(flops, kind == RATE_F32 ? f->fma_f32 : f->fma_f64), "fma");
    }
    take_longer(&limit, method && strcmp(method, "batch") == 0 ? f->launch_batch_ns : f->launch_event_ns, "launch");
    return limit;
}

/* ---- the floor ---- */

/* OpenCL C reaches matrix units by inline assembly or by functions of the vendor's. */
static bool may_use_matrix_units(const char *source)
{
    static const char *const signs[] = {"asm", "matrix_mad", "__builtin", "__nvvm"};
    for (size_t i = 0; source && i < sizeof signs / sizeof *signs; i++)
        if (strstr(source, signs[i]))
            return true;
    return false;
}

/* Multiply-adds of halves (or bfloat16) that matrix units do in a clock, over those of f32 that the same units of the
 * device do without them: at most 32 in the vendors' tables, where the newest stand (docs/measurement.md). */
#define MATRIX_16_BITS 32.0
/* A product of f32 within the bound takes at least three of narrower numbers: high by high, high by low, low by high.
 * Slices of 8 bits are twice as fast, and six are needed. */
#define MATRIX_F32 (MATRIX_16_BITS / 3)
/* f64: matrix units of that type are twice as fast as multiply-adds; of 53 bits in slices of 8 come 28 products. */
#define MATRIX_F64 2.0
#define MATRIX_F64_OF_F32 3.0

/* Some type of the task is whole numbers: 1-bit and 4-bit units may be at work, of which nothing is known. */
static bool has_integers(const probe_case *c)
{
    bool found = false;
    for (size_t i = 0; i < c->t->n_types; i++)
        found = found || !dtype_is_float(c->types->of[i]);
    for (size_t i = 0; i < c->t->n_tensors; i++)
        found = found || !dtype_is_float(task_tensor_type(c->t, c->types, i));
    return found;
}

/* No kernel that uses matrix units does more operations a second. 0: not known. */
static double matrix_rate(const probe_case *c, rate_kind kind)
{
    const probe_figures *f = c->figures;
    if (!(f->fma_f32 > 0))
        return 0;
    switch (kind) {
    case RATE_F32:
        return MATRIX_F32 * f->fma_f32;
    case RATE_F64:
        return f->fma_f64 > 0 ? larger(MATRIX_F64 * f->fma_f64, MATRIX_F64_OF_F32 * f->fma_f32) : 0;
    case RATE_OTHER:
        return has_integers(c) ? 0 : larger(MATRIX_16_BITS * f->fma_f32, MATRIX_F64 * f->fma_f64);
    case RATE_NONE:
        break;
    }
    return 0;
}

bool probe_was_busy(const probe_figures *f)
{
    for (int k = 0; k < PROBE_RULERS; k++)
        if (f->noise[k][PROBE_LENGTHS - 1].noise > BUSY_NOISE)
            return true;
    return false;
}

probe_limit probe_floor_of(const probe_case *c, const char *source)
{
    const probe_figures *f = c->figures;
    probe_limit floor = {NAN, NULL};
    if (probe_was_busy(f))
        return floor;
    double share = c->limits->is_cpu ? CPU_SHARE : GPU_SHARE;
    /* The task's formula may count twice what can be kept; its tensors may be larger than what is used of them. */
    double bytes = fmin(task_bytes(c->t, c->types, c->shape), tensor_bytes(c, false));
    double memory = larger(f->copy, larger(f->read, f->write)), cache = larger(f->cache_copy, f->cache_read);
    cache = larger(cache, memory);
    if (bytes > 0 && cache > 0 && memory > 0) {
        double cached = fmin(bytes, most_cached(c->limits));
        double ns = ratio_ns(cached, cache) + ratio_ns(bytes - cached, memory);
        take_longer(&floor, share * ns, cached < bytes ? "memory" : "cache");
    }
    const rate_kind kind = kind_of(c);
    const double flops = task_flops(c->t, c->types, c->shape);
    if (kind == RATE_OTHER || may_use_matrix_units(source))
        take_longer(&floor, share * ratio_ns(flops, matrix_rate(c, kind)), "matrix");
    else
        take_longer(&floor, share * ratio_ns(flops, kind == RATE_F32 ? f->fma_f32 : f->fma_f64), "fma");
    return floor;
}

/* ---- noise ---- */

double probe_noise_of(const probe_figures *f, double ns)
{
    int length = 0;
    double noise = NAN;
    /* The border between two lengths is their geometric mean. */
    while (length + 1 < PROBE_LENGTHS && ns > sqrt(probe_length_ns[length] * probe_length_ns[length + 1]))
        length++;
    for (int k = 0; k < PROBE_RULERS; k++) {
        const probe_noise *n = &f->noise[k][length];
        if (n->median_ns > 0 && !(noise >= n->noise))
            noise = n->noise;
    }
    return noise;
}
