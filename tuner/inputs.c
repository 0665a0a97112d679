/* Input generators. */
#include "tuner/inputs.h"

#include "base/counter_rng.h"
#include "base/mem.h"
#include "tuner/inputs_mixed.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define MOST_THREADS 8
#define ELEMENTS_A_THREAD ((uint64_t)1 << 20)

/* How one tensor is drawn. */
typedef struct generator {
    distribution dist;
    uint64_t seed, stream;
    uint64_t shared;    /* the seed that this one is near, else the same */
    bool integers;      /* only whole numbers: integer types, or DIST_INTEGERS */
    double low, high;   /* domain */
    double spike;       /* largest whole number of DIST_INTEGERS; 0: small ones only */
    double peak;        /* DIST_PEAKS: the least of them */
    bool narrow;        /* DIST_PEAKS: eighths of the domain, which has no room for whole numbers */
    double large;       /* DIST_LARGE: magnitudes of integer types, or number of doublings of real ones */
    unsigned thin;      /* DIST_INTEGERS: one element in 2^thin is not zero */
    uint64_t row;       /* DIST_ROWS, DIST_OFFSET: elements that share a value, or lie close together */
    uint64_t used;      /* DIST_PEAKS: of a row, the rest is a gap */
    double last_digits; /* DIST_OFFSET: what differences are to their numbers */
    int powers;         /* DIST_SCALED: of two; DIST_OFFSET: at most so many */
    bool at_end;        /* DIST_SCALED: close to what the type ends at, and nothing below it */
    uint64_t elements;
    uint64_t apart;   /* the element, or row, that always differs between seeds that are near each other */
    mixed_rule mixed; /* DIST_MIXED */
    double reach;     /* DIST_MIXED: no great number is beyond, none below its half */
    double least;     /* DIST_MIXED: what `bell` is multiplied by for a small real number */
    uint64_t indices; /* "init": {"generator": "index"}: values 0..indices-1; 0: not an index tensor */
} generator;

/* DIST_INTEGERS: terms of a sum that are not zero. So many of at most 3 add up exactly, also in products. */
#define EXACT_TERMS 16384
#define FULL_ENDS 64

/* DIST_SCALED: powers of two up or down. */
#define MOST_POWERS 50
#define MOST_POWERS_EXACT 110
#define MOST_POWERS_HALF 3
/* Where the type ends: twice the greatest number is still one, half the least one still has all its digits. */
#define GREATEST_POWER 126
#define LEAST_POWER (-125)
/* DIST_OFFSET: powers of two that a row is away from zero, at most. */
#define FAR 16
#define FAR_HALF 3

/* DIST_PEAKS: whole numbers beyond the rest by so much that exp() of the difference is no f32. Sums of some hundred
 * products of the others are within a half. */
#define PEAK 120
#define PEAK_NARROW 15
#define NARROW 8

/* Of a tensor that has no rows. */
#define SHORT_ROW 37

/* Streams of a second number for the same element lie behind those of all tensors. */
#define SECOND_STREAM 1000
#define NEAR_STREAM 3000
#define ALMOST_SHARE 0x1p-9 /* two halves can differ by so little */

/* Of seeds that inputs_near_seed made: what no other seed begins with, but for one in 65,536, and the rest. */
#define NEAR_MARK ((uint64_t)0x6e65 << 48)
#define NEAR_REST (((uint64_t)1 << 48) - 1)

/* Bell-shaped with mean 0 and variance 1: the sum of four uniform 16-bit numbers. Needs no libm, whose last digits
 * differ between machines. */
static double bell(uint64_t bits)
{
    const double deviation = 37837.226849; /* sqrt(4 (65536^2 - 1) / 12) */
    uint64_t pairs = (bits & 0x0000ffff0000ffff) + (bits >> 16 & 0x0000ffff0000ffff);
    int64_t sum = (int64_t)((pairs & 0xffffffff) + (pairs >> 32));
    return (double)(sum - 2 * 65535) / deviation;
}

/* -reach..reach */
static double whole(uint64_t bits, unsigned reach)
{
    return (double)(int64_t)(bits % (2 * reach + 1)) - reach;
}

static double draw_integer(const generator *g, uint64_t bits)
{
    switch (g->dist) {
    case DIST_LARGE:
        return whole(bits >> 8, (unsigned)g->large);
    case DIST_SPARSE:
        return bits & 15 ? 0 : whole(bits >> 8, (unsigned)g->large);
    case DIST_INTEGERS:
        /* One in eight is large and odd: a type with fewer digits than the tensor's cannot hold it. */
        if (g->spike > 0 && (bits & 7) == 0) {
            double magnitude = g->spike - 2 * (double)(bits >> 8 & 15);
            return bits >> 16 & 1 ? magnitude : -magnitude;
        }
        return whole(bits >> 8, 3);
    case DIST_NEGATIVE:
        return -1 - (double)(bits >> 8 & 7);
    case DIST_ROWS:
        return bits & 3 ? whole(bits >> 8, 8) : 0;
    case DIST_OFFSET: /* whole numbers have neither fractions nor far more room */
    case DIST_SCALED:
    case DIST_MIXED: /* have functions of their own */
    case DIST_PEAKS:
    case DIST_NORMAL:
    case DIST_COUNT:
        break;
    }
    return whole(bits >> 8, 8);
}

/* A row is so far from zero that its elements differ in their last digits only, or by about 1; or it is of zeros, whose
 * sign does not matter; or only its beginning is far away: up to 32 elements, by which the rest may be judged. */
static double draw_offset(const generator *g, uint64_t bits, uint64_t i)
{
    const uint64_t of_row = counter_rng_u64(g->shared, g->stream + SECOND_STREAM, i / g->row);
    if ((of_row >> 4 & 7) == 0)
        return bits & 1 ? 0.0 : -0.0;
    const bool begins = (of_row >> 4 & 7) <= 3;
    if (begins && i % g->row >= (uint64_t)4 << (of_row >> 24 & 3))
        return bell(bits);
    const int powers = begins ? g->powers - (int)(of_row >> 16 & 3) : (int)((of_row >> 16) % ((uint64_t)g->powers + 1));
    const double far = ldexp(1 + (double)(of_row >> 8 & 7) / 8, powers);
    const double around = of_row & 2 ? bell(bits) : far * g->last_digits * bell(bits);
    return (of_row & 1 ? far : -far) + around;
}

/* 1.25 to 2, of either sign */
static double at_the_end(uint64_t bits)
{
    const double x = 1.25 + 0.75 * (double)(bits >> 40) * 0x1p-24;
    return bits & 1 ? x : -x;
}

static double draw_real(const generator *g, uint64_t bits, uint64_t i)
{
    switch (g->dist) {
    case DIST_LARGE: {
        uint64_t more = counter_rng_u64(g->shared, g->stream + SECOND_STREAM, i);
        return ldexp(bell(bits), (int)(more % ((uint64_t)g->large + 1)));
    }
    case DIST_SPARSE:
        return bits & 15 ? 0 : 8 * bell(counter_mix(bits));
    case DIST_NEGATIVE:
        return -0.015625 - fabs(bell(bits)); /* 0.015625 is 1/64 */
    case DIST_ROWS:
        return bits & 3 ? bell(counter_mix(bits)) : 0;
    case DIST_OFFSET:
        return draw_offset(g, bits, i);
    case DIST_SCALED: {
        const uint64_t of_row = counter_rng_u64(g->shared, g->stream + SECOND_STREAM, i / g->row);
        const double x = g->at_end ? at_the_end(bits) : bell(bits);
        return ldexp(of_row & 3 ? x : -fabs(x), g->powers);
    }
    case DIST_MIXED:
    case DIST_PEAKS:
    case DIST_INTEGERS:
    case DIST_NORMAL:
    case DIST_COUNT:
        break;
    }
    return bell(bits);
}

/* Reflects at the one bound of a half-open domain, wraps round in a bounded one. `step` is 1 for whole numbers. */
static double into_domain(double x, double low, double high, double step)
{
    if (x >= low && x <= high)
        return x;
    if (low >= high)
        return low; /* one value */
    if (isinf(high))
        x = low + (low - x);
    else if (isinf(low))
        x = high - (x - high);
    else
        x = low + fmod(fabs(x - low), high - low + step);
    return x < low ? low : x > high ? high : x;
}

/* How element i of inputs that are near others differs from theirs: one in 64 is another number, and one for certain;
 * one in 64 is almost the same number. */
typedef enum nearness { THE_SAME, ALMOST, ANOTHER } nearness;

static nearness nearness_at(const generator *g, uint64_t i)
{
    const uint64_t bits = counter_rng_u64(g->shared, g->stream + NEAR_STREAM, i) & 63;
    return i == g->apart || bits == 0 ? ANOTHER : bits == 1 && !g->integers ? ALMOST : THE_SAME;
}

static double draw_mixed(const generator *g, uint64_t bits, uint64_t i)
{
    const mixed_size size = mixed_size_at(&g->mixed, i);
    if (size == MIXED_ZERO)
        return 0;
    if (size == MIXED_SMALL)
        return g->integers ? whole(bits >> 8, 3) : g->least * bell(bits);
    double x = g->reach * (0.5 + (double)(bits >> 12) * 0x1p-53);
    x = g->integers ? floor(x) : x;
    x = size == MIXED_GREAT_NEGATIVE ? -x : x;
    return (x > g->high && -x >= g->low) || (x < g->low && -x <= g->high) ? -x : x;
}

/* Where a row of so many elements has its peak: mostly at the ends, where loops go wrong. `elements`: it has none. */
static uint64_t peak_of(uint64_t of_row, uint64_t elements)
{
    const uint64_t ends = elements / 16 + 1, r = of_row >> 8;
    switch (of_row & 7) {
    case 0:
    case 1:
        return elements - 1;
    case 2:
        return elements > 1 ? elements - 2 : 0;
    case 3:
    case 4:
        return 0;
    case 5:
        return elements - 1 - r % ends;
    case 6:
        return r % elements;
    default:
        return elements;
    }
}

/* No zeros, and beside and below each other no two that are the same: whatever is left out, doubled, or exchanged with
 * its neighbour shows. Two in three peaks are above the rest of their row. */
static double draw_peaks(const generator *g, uint64_t bits, uint64_t i)
{
    const uint64_t row = i / g->row, column = i % g->row;
    const uint64_t of_row = counter_rng_u64(g->shared, g->stream + SECOND_STREAM, row);
    if (column == peak_of(of_row, g->used)) {
        const double peak = g->peak + (double)(bits >> 8 & 7);
        if (g->narrow)
            return (of_row >> 3) % 3 == 0 ? g->low : g->high;
        return (of_row >> 3) % 3 == 0 ? -peak : peak;
    }
    const double x = (double)(1 + 3 * ((row + column) & 1) + (bits >> 8) % 3);
    return g->narrow ? g->low + (g->high - g->low) * x / 8 : bits & 1 ? x : -x;
}

static double draw(const generator *g, uint64_t i)
{
    const uint64_t at = g->dist == DIST_ROWS && g->indices == 0 ? i / g->row : i;
    const nearness near = g->seed != g->shared ? nearness_at(g, at) : THE_SAME;
    uint64_t bits = counter_rng_u64(near == ANOTHER ? g->seed : g->shared, g->stream, at);
    if (g->thin > 0 && g->indices == 0) {
        /* Most are zero, but none at the ends, where loops go wrong. */
        const bool end = i < FULL_ENDS || i + FULL_ENDS >= g->elements;
        if (end || bits >> (64 - g->thin) != 0)
            return into_domain(end ? 1 + (double)(bits % 3) : 0, g->low, g->high, 1) + 0.0;
    }
    if (g->indices > 0)
        return (double)(bits % g->indices);
    double x = g->dist == DIST_MIXED   ? draw_mixed(g, bits, i)
               : g->dist == DIST_PEAKS ? draw_peaks(g, bits, i)
               : g->integers           ? draw_integer(g, bits)
                                       : draw_real(g, bits, i);
    if (near == ALMOST)
        x -= x * ALMOST_SHARE;
    x = into_domain(x, g->low, g->high, g->integers ? 1 : 0);
    return g->dist == DIST_OFFSET && g->low < 0 ? x : x + 0.0; /* else no negative zero */
}

/* Of DIST_MIXED. A half scaled so that the greatest element is near its limit of 2^16 keeps steps of 2^-24: 2^-32 of
 * the greatest is no more than a few of them, also where two halves are added. Squares of squares still are numbers. */
#define GREATEST 0x1p26
#define GREATEST_HALF 32.0 /* sums of a thousand are within the type */
#define SMALL_SHARE 0x1p-32
#define SMALL_SHARE_HALF 0x1p-12

static void set_up_mixed(dtype type, generator *g)
{
    const bool half = type == DTYPE_F16;
    const double bound = fmax(fabs(g->low), fabs(g->high));
    g->reach = fmin(dtype_is_float(type) ? half ? GREATEST_HALF : GREATEST : g->large, bound);
    g->least = g->reach * (half ? SMALL_SHARE_HALF : SMALL_SHARE);
}

static bool is_unsigned(dtype t)
{
    return t == DTYPE_U8 || t == DTYPE_U16 || t == DTYPE_U32 || t == DTYPE_U64;
}

static kw_code read_indices(const task *t, const task_types *types, const task_shape *shape, const task_tensor *x,
                            generator *g, kw_error *err)
{
    int64_t limit = 0;
    value *env = mem_calloc((size_t)expr_scope_size(t->scope) + 1, sizeof *env);
    task_fill(t, types, shape, NULL, env);
    kw_code code = x->init_limit ? expr_eval_int(x->init_limit, env, &limit, err)
                                 : kw_error_set(err, KW_BAD_INPUT, "\"init\" gives no limit");
    free(env);
    if (code == KW_OK && limit < 1)
        code = kw_error_set(err, KW_BAD_INPUT, "\"init\": there is no index below %lld", (long long)limit);
    if (code != KW_OK)
        return kw_error_prefix(err, "tensor %s", x->name);
    g->indices = (uint64_t)limit;
    return KW_OK;
}

bool inputs_only_exact(const task *t)
{
    bool exact = true;
    for (size_t i = 0; i < t->n_tensors; i++)
        exact = exact && (t->tensors[i].access == TASK_IN || t->tensors[i].compare == TASK_COMPARE_EXACT);
    return exact;
}

/* Squares and products of two numbers, some thousands of them added, are still in the type. */
static int scaled_powers(const task *t, uint64_t seed, size_t tensor, dtype type)
{
    const int most = type == DTYPE_F16 ? MOST_POWERS_HALF : inputs_only_exact(t) ? MOST_POWERS_EXACT : MOST_POWERS;
    const int powers = most >> (seed >> 1 & 3);
    const bool left_out = tensor > 0 && (seed >> 1 & 3) != 0 && (seed >> (3 + tensor) & 1) != 0;
    return left_out ? 0 : seed & 1 ? -powers : powers;
}

static kw_code set_up(const task *t, const task_types *types, const task_shape *shape, size_t tensor, distribution dist,
                      uint64_t seed, dtype type, generator *g, kw_error *err)
{
    const task_tensor *x = &t->tensors[tensor];
    const bool real = dtype_is_float(type);
    *g = (generator){.dist = dist,
                     .seed = seed,
                     .shared = (seed & ~NEAR_REST) == NEAR_MARK ? seed & NEAR_REST : seed,
                     .stream = tensor,
                     .integers = !real || dist == DIST_INTEGERS || dist == DIST_PEAKS,
                     .low = x->domain_min,
                     .high = x->domain_max};
    if (is_unsigned(type))
        g->low = fmax(g->low, 0);
    g->narrow = real && g->high - g->low < NARROW;
    if (g->narrow && dist == DIST_PEAKS)
        g->integers = false;
    if (g->integers && (!real || ceil(g->low) <= floor(g->high))) {
        g->low = ceil(g->low);
        g->high = floor(g->high);
    } else {
        g->integers = false; /* a domain such as 0.2..0.8 has no whole numbers */
    }
    if (!(g->low <= g->high))
        return kw_error_set(err, KW_BAD_INPUT, "tensor %s: no %s lies in its domain", x->name,
                            g->integers ? "whole number" : "number");
    /* Large whole numbers in every other tensor, so that products of two of them do not fill the mantissa at once. */
    if (tensor % 2 == 0)
        g->spike = real ? fmin(floor(sqrt(dtype_max_exact_int(type))) - 1, 0x1p26) : dtype_bytes(type) == 1 ? 31 : 99;
    if (g->spike > 0 && fmod(g->spike, 2) == 0)
        g->spike -= 1;
    for (double terms = task_reduction_length(t, types, shape);
         dist == DIST_INTEGERS && terms > EXACT_TERMS && g->thin < 40; terms /= 2)
        g->thin++;
    if (g->thin > 0)
        g->spike = 0;
    if (real)
        g->large = type == DTYPE_F16 ? 3 : 10;
    else
        g->large = dtype_bytes(type) == 1 ? 100 : 1000;
    g->peak = type == DTYPE_F16 || dtype_bytes(type) == 1 ? PEAK_NARROW : PEAK;
    g->powers = type == DTYPE_F16 ? FAR_HALF : FAR;
    g->last_digits = type == DTYPE_F16 ? 0x1p-8 : 0x1p-21;
    if (dist == DIST_SCALED) {
        g->powers = scaled_powers(t, seed, tensor, type);
        g->at_end = abs(g->powers) == MOST_POWERS_EXACT && dtype_bytes(type) >= 4;
        if (g->at_end)
            g->powers = g->powers > 0 ? GREATEST_POWER : LEAST_POWER;
    }
    set_up_mixed(type, g);
    if (strcmp(x->init ? x->init : "", "index") == 0)
        return read_indices(t, types, shape, x, g, err);
    return KW_OK;
}

/* A part of a tensor, for one thread. */
typedef struct part {
    generator g;
    const tensor_layout *layout;
    unsigned char *native;
    double *values;
    uint64_t from, to;
} part;

static void *fill_part(void *cookie)
{
    const part p = *(const part *)cookie; /* no write below can change it */
    const size_t size = dtype_bytes(p.layout->type);
    for (uint64_t i = p.from; i < p.to; i++) {
        unsigned char cell[8];
        double x = draw(&p.g, i);
        if (p.layout->type == DTYPE_F32) { /* the common case, some hundred million times */
            float f = (float)x;
            memcpy(cell, &f, sizeof f);
            x = (double)f;
        } else {
            dtype_store(p.layout->type, cell, 0, x);
            x = dtype_load(p.layout->type, cell, 0);
        }
        if (p.native)
            memcpy(p.native + i * size, cell, size);
        if (p.values)
            p.values[i] = x;
    }
    return NULL;
}

/* Of large tensors; the device waits for them. */
static size_t threads_for(uint64_t elements)
{
    cpu_set_t set;
    const uint64_t wanted = elements / ELEMENTS_A_THREAD;
    const int there = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    const uint64_t most = there < MOST_THREADS ? (uint64_t)there : MOST_THREADS;
    return wanted < 1 ? 1 : wanted < most ? (size_t)wanted : (size_t)most;
}

/* Every element follows from its place alone. A thread that cannot be had is done without. */
static void fill_parts(const part *whole, size_t n)
{
    part parts[MOST_THREADS];
    pthread_t threads[MOST_THREADS];
    bool started[MOST_THREADS] = {false};
    for (size_t k = 0; k < n; k++) {
        parts[k] = *whole;
        parts[k].from = whole->to / n * k;
        parts[k].to = k + 1 == n ? whole->to : whole->to / n * (k + 1);
        started[k] = k + 1 < n && pthread_create(&threads[k], NULL, fill_part, &parts[k]) == 0;
        if (!started[k])
            fill_part(&parts[k]);
    }
    for (size_t k = 0; k < n; k++)
        if (started[k])
            pthread_join(threads[k], NULL);
}

kw_code inputs_fill(const task *t, const task_types *types, const task_shape *shape, size_t tensor, distribution dist,
                    uint64_t seed, const tensor_layout *l, void *native, double *values, kw_error *err)
{
    part whole = {.layout = l, .native = native, .values = values, .to = l->elements};
    kw_code code = set_up(t, types, shape, tensor, dist, seed, l->type, &whole.g, err);
    if (code != KW_OK)
        return code;
    const bool has_rows = l->rank > 1 && l->stride[l->rank - 2] > 1;
    if (dist == DIST_ROWS || dist == DIST_OFFSET || dist == DIST_SCALED || dist == DIST_PEAKS)
        whole.g.row = has_rows ? (uint64_t)l->stride[l->rank - 2] : SHORT_ROW;
    if (dist == DIST_PEAKS && !has_rows && l->elements > 0) /* one row */
        whole.g.row = l->elements;
    whole.g.used = has_rows && l->shape[l->rank - 1] > 0 ? (uint64_t)l->shape[l->rank - 1] : whole.g.row;
    whole.g.elements = l->elements;
    const uint64_t places = dist == DIST_ROWS && l->elements > 0 ? (l->elements - 1) / whole.g.row + 1 : l->elements;
    whole.g.apart = places > 0 ? counter_rng_u64(seed, NEAR_STREAM, tensor) % places : 0;
    if (dist == DIST_MIXED)
        whole.g.mixed = mixed_rule_of(t, tensor, l, whole.g.shared);
    fill_parts(&whole, threads_for(l->elements));
    return KW_OK;
}

uint64_t inputs_scaled_seed(uint64_t seed, uint64_t way)
{
    return (seed & ~(uint64_t)7) | (way & 1) | (way / 2 & 3) << 1;
}

uint64_t inputs_near_base(uint64_t seed)
{
    return seed & NEAR_REST;
}

uint64_t inputs_near_seed(uint64_t base)
{
    return base | NEAR_MARK;
}

uint64_t inputs_probe_seed(uint64_t seed)
{
    return counter_mix(seed ^ 0x70726f6265ull); /* "probe" */
}
