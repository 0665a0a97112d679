#include "tuner/cases_internal.h"

#include "base/counter_rng.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A case above this many operations or elements is compared by samples and with the trusted output. */
#define FULL_REFERENCE_OPERATIONS 1e8
#define FULL_REFERENCE_ELEMENTS (1u << 22)
/* Small shapes stay below these, so that a hidden shape costs a worker milliseconds. */
#define SMALL_OPERATIONS 8e6
#define SMALL_ELEMENTS (1u << 19)
#define GENERAL_RANDOM 20
#define HIDDEN_SHAPES 3
/* Of a general verification, besides edge shapes and random ones: two around the tiles, one that is larger. */
#define FURTHER_SHAPES 3
#define LARGER_OPERATIONS 5e7
#define LARGER_ELEMENTS (1u << 21)
#define LARGEST_TILE (1 << 20) /* no shape around a larger one is small */
/* Inputs of the target, and of the target as its own hidden case, are those of no other case. */
#define TARGET_SEED 0x7a26e7u
#define OTHER_SEED 0xc0deu

/* The same for every variant without constants, of which a search asks for thousands. */
struct case_draws {
    task_shape *shapes;
    bool *small;
    size_t n, capacity, small_capacity;
};

kw_code case_source_init(case_source *s, const task *t, const task_types *types, const device_limits *limits,
                         const variant *trusted, uint64_t seed, kw_error *err)
{
    memset(s, 0, sizeof *s);
    s->task = t;
    s->types = types;
    s->limits = limits;
    s->trusted = trusted;
    s->seed = seed;
    s->draws = mem_calloc(1, sizeof *s->draws);
    if (!t->edge_shapes_file)
        return KW_OK;
    return task_shapes_load(t, t->edge_shapes_file, &s->edges, &s->n_edges, err);
}

void case_source_clear(case_source *s)
{
    free(s->edges);
    if (s->draws) {
        free(s->draws->shapes);
        free(s->draws->small);
    }
    free(s->draws);
    memset(s, 0, sizeof *s);
}

void cases_cost(const case_source *s, const task_shape *shape, double *operations, double *elements)
{
    *elements = 0;
    for (size_t i = 0; i < s->task->n_tensors; i++) {
        uint64_t n;
        kw_error ignored;
        if (task_tensor_elements(s->task, s->types, shape, i, &n, &ignored) != KW_OK)
            *elements = INFINITY;
        else
            *elements += (double)n;
    }
    double flops = task_flops(s->task, s->types, shape);
    *operations = isnan(flops) ? *elements : flops;
}

bool cases_has_empty(const case_source *s, const task_shape *shape)
{
    bool empty = false;
    for (size_t i = 0; i < s->task->n_tensors; i++) {
        uint64_t n;
        kw_error ignored;
        empty = empty || task_tensor_elements(s->task, s->types, shape, i, &n, &ignored) != KW_OK || n == 0;
    }
    return empty;
}

bool cases_is_small(const case_source *s, const task_shape *shape)
{
    double operations, elements;
    cases_cost(s, shape, &operations, &elements);
    return operations <= SMALL_OPERATIONS && elements <= SMALL_ELEMENTS;
}

/* The k-th combination of scalar values, counted like digits; 0 is the timed one. */
static void scalars_of(const task *t, size_t k, double *out)
{
    for (size_t i = 0; i < t->n_scalars; i++) {
        out[i] = t->scalars[i].values[k % t->scalars[i].n_values];
        k /= t->scalars[i].n_values;
    }
}

/* How many combinations of scalar values there are. */
static size_t scalar_combinations(const task *t)
{
    size_t n = 1;
    for (size_t i = 0; i < t->n_scalars; i++)
        n *= t->scalars[i].n_values;
    return n;
}

static size_t common_divisor(size_t a, size_t b)
{
    return b == 0 ? a : common_divisor(b, a % b);
}

/* Case k has distribution k modulo their number; the scalars go round as well, one step more after every full round, so
 * that after as many cases as there are pairs every combination of scalars has met every distribution. */
static size_t scalars_ordinal(const task *t, size_t k)
{
    const size_t n = scalar_combinations(t), round = DIST_ROUND / common_divisor(DIST_ROUND, n) * n;
    return k + k / round;
}

kw_code cases_make(const case_source *s, const variant *v, const task_shape *shape, size_t ordinal, distribution d,
                   const double *scalars, job_case *out, kw_error *err)
{
    memset(out, 0, sizeof *out);
    out->shape = *shape;
    if (scalars)
        memcpy(out->scalars, scalars, s->task->n_scalars * sizeof *scalars);
    else
        scalars_of(s->task, scalars_ordinal(s->task, ordinal), out->scalars);
    out->dist = d;
    out->seed = counter_mix(s->seed ^ (0x5eedu + ordinal));
    kw_code code = plan_make(v, shape, out->scalars, s->limits, &out->plan, err);
    if (code != KW_OK)
        return code;
    double operations, elements;
    cases_cost(s, shape, &operations, &elements);
    out->sampled = operations > FULL_REFERENCE_OPERATIONS || elements > FULL_REFERENCE_ELEMENTS;
    if (out->sampled && s->trusted && variant_fits(s->trusted, shape, s->limits, NULL) &&
        plan_make(s->trusted, shape, out->scalars, s->limits, &out->trusted_plan, NULL) != KW_OK)
        out->trusted_plan.n_launches = 0;
    return KW_OK;
}

static kw_code make_case(const case_source *s, const variant *v, const task_shape *shape, size_t ordinal,
                         distribution d, job_case *out, kw_error *err)
{
    return cases_make(s, v, shape, ordinal, d, NULL, out, err);
}

void cases_fill_defaults(const case_source *s, task_shape *shape)
{
    value env[256];
    if ((size_t)expr_scope_size(s->task->scope) > sizeof env / sizeof *env)
        return;
    memset(env, 0, sizeof env);
    task_fill(s->task, s->types, shape, NULL, env);
    for (size_t d = 0; d < s->task->n_dims; d++)
        if (s->task->dims[d].fallback)
            expr_eval_int(s->task->dims[d].fallback, env, &shape->dims[d], NULL);
}

/* Dims are drawn from ranges that tiles meet in different ways: anything small, powers of two, multiples of 8, one off
 * a power of two. Constants of a specialised variant stay. */
static void random_shape(const case_source *s, const variant *v, uint64_t draw, task_shape *out)
{
    memset(out, 0, sizeof *out);
    out->weight = 1;
    for (size_t d = 0; d < s->task->n_dims; d++) {
        const task_dim *dim = &s->task->dims[d];
        uint64_t r = counter_rng_u64(s->seed, 977 + draw, d);
        int64_t power = (int64_t)1 << (r >> 8) % 10, x;
        switch (r % 8) {
        case 0:
        case 1:
            x = 1 + (int64_t)((r >> 16) % 200);
            break;
        case 2:
        case 3:
            x = power;
            break;
        case 4:
            x = power + ((r >> 20) & 1 ? 1 : -1);
            break;
        default:
            x = 8 * (1 + (int64_t)((r >> 16) % 40));
        }
        if (x < dim->min)
            x = dim->min;
        if (x > dim->max)
            x = dim->max;
        out->dims[d] = x;
        if (v && v->fixed_dims[d] >= 0)
            out->dims[d] = v->fixed_dims[d];
    }
    cases_fill_defaults(s, out);
}

static bool has_constants(const case_source *s, const variant *v)
{
    bool found = false;
    for (size_t d = 0; v && d < s->task->n_dims; d++)
        found = found || v->fixed_dims[d] >= 0;
    return found;
}

bool cases_random_small(const case_source *s, const variant *v, uint64_t draw, task_shape *out)
{
    case_draws *d = s->draws;
    if (has_constants(s, v)) {
        random_shape(s, v, draw, out);
        return cases_is_small(s, out);
    }
    while (d->n <= draw) {
        d->shapes = mem_grow(d->shapes, &d->capacity, d->n + 1, sizeof *d->shapes);
        d->small = mem_grow(d->small, &d->small_capacity, d->n + 1, sizeof *d->small);
        random_shape(s, NULL, d->n, &d->shapes[d->n]);
        d->small[d->n] = cases_is_small(s, &d->shapes[d->n]);
        d->n++;
    }
    if (d->small[draw])
        *out = d->shapes[draw];
    return d->small[draw];
}

static bool same_dims(const case_source *s, const task_shape *a, const task_shape *b)
{
    return memcmp(a->dims, b->dims, s->task->n_dims * sizeof *a->dims) == 0;
}

bool cases_seen(const case_source *s, const job_case *cases, size_t n, const task_shape *shape)
{
    for (size_t i = 0; i < n; i++)
        if (same_dims(s, &cases[i].shape, shape))
            return true;
    return false;
}

/* Up to `wanted` random shapes that v takes, other than `target` (NULL: none). The draws are the same for every
 * variant. */
static size_t add_random(const case_source *s, const variant *v, size_t wanted, const task_shape *target,
                         job_case *cases, size_t *n)
{
    size_t found = 0;
    for (uint64_t draw = 0; draw < CASES_RANDOM_TRIES && found < wanted && *n < JOB_MAX_CASES - 1; draw++) {
        task_shape shape;
        if (!cases_random_small(s, v, draw, &shape) || !variant_fits(v, &shape, s->limits, NULL) ||
            cases_seen(s, cases, *n, &shape) || (target && same_dims(s, target, &shape)))
            continue;
        if (make_case(s, v, &shape, *n, (distribution)(*n % DIST_ROUND), &cases[*n], NULL) == KW_OK) {
            found++;
            ++*n;
        }
    }
    return found;
}

/* The first edge shape of some size: a smoke test that more than one work-item takes part in. */
static void add_smoke(const case_source *s, const variant *v, job_case *cases, size_t *n)
{
    for (size_t i = 0; i < s->n_edges; i++) {
        double operations, elements;
        cases_cost(s, &s->edges[i], &operations, &elements);
        if (elements < 64 || !cases_is_small(s, &s->edges[i]) || !variant_fits(v, &s->edges[i], s->limits, NULL))
            continue;
        if (make_case(s, v, &s->edges[i], *n, DIST_NORMAL, &cases[*n], NULL) == KW_OK) {
            ++*n;
            return;
        }
    }
}

kw_code cases_target_only(const case_source *s, const variant *v, const task_shape *target, job_case *cases, size_t *n,
                          kw_error *err)
{
    if (!variant_fits(v, target, s->limits, err))
        return kw_error_prefix(err, "rejected");
    kw_code code = make_case(s, v, target, 0, DIST_NORMAL, &cases[*n], err);
    cases[*n].seed = counter_mix(s->seed ^ TARGET_SEED);
    if (code == KW_OK)
        ++*n;
    return code;
}

void cases_cube(const case_source *s, const variant *v, int64_t size, task_shape *out)
{
    memset(out, 0, sizeof *out);
    out->weight = 1;
    for (size_t d = 0; d < s->task->n_dims; d++) {
        const task_dim *dim = &s->task->dims[d];
        int64_t x = size < dim->min ? dim->min : size > dim->max ? dim->max : size;
        out->dims[d] = v->fixed_dims[d] >= 0 ? v->fixed_dims[d] : x;
    }
    cases_fill_defaults(s, out);
}

void cases_slab(const case_source *s, const variant *v, size_t along, int64_t size, int64_t other, task_shape *out)
{
    cases_cube(s, v, other, out);
    const task_dim *dim = &s->task->dims[along];
    if (v->fixed_dims[along] < 0 && size >= dim->min && size <= dim->max)
        out->dims[along] = size;
    cases_fill_defaults(s, out);
}

/* The largest parameters of the variant below `limit`; 0: none. */
static int64_t largest_parameter(const variant *v, int64_t limit)
{
    int64_t largest = 0;
    for (const json *x = json_first(v->config); x; x = json_next(x)) {
        int64_t n = 0;
        if (json_kind_of(x) == JSON_NUMBER && json_int(x, &n) && n < limit && n > largest)
            largest = n;
    }
    return largest;
}

/* Shapes just around the variant's own tiles: every dim a little more, then a little less, than its largest parameter
 * that leaves the shape small. The same size for all dims, so that candidates share them: parameters have few values,
 * and are mostly powers of two, of which the largest is a multiple of the others. */
static void add_around_tiles(const case_source *s, const variant *v, const task_shape *target, job_case *cases,
                             size_t *n)
{
    static const int64_t steps[] = {1, 2, 4, 8};
    for (int sign = 1; sign >= -1; sign -= 2) {
        bool found = false;
        for (int64_t p = largest_parameter(v, LARGEST_TILE); p > 1 && !found; p = largest_parameter(v, p)) {
            for (size_t i = 0; i < sizeof steps / sizeof *steps && !found; i++) {
                task_shape shape;
                if (p + sign * steps[i] < 1)
                    continue;
                cases_cube(s, v, p + sign * steps[i], &shape);
                found = cases_is_small(s, &shape) && variant_fits(v, &shape, s->limits, NULL) &&
                        !cases_seen(s, cases, *n, &shape) && !(target && same_dims(s, target, &shape)) &&
                        *n < JOB_MAX_CASES - 1 &&
                        make_case(s, v, &shape, *n, (distribution)(*n % DIST_ROUND), &cases[*n], NULL) == KW_OK;
                *n += found;
            }
        }
    }
}

kw_code cases_for_target(const case_source *s, const variant *v, const task_shape *target, job_case *cases, size_t *n,
                         kw_error *err)
{
    *n = 0;
    if (!variant_fits(v, target, s->limits, err))
        return kw_error_prefix(err, "rejected");
    add_smoke(s, v, cases, n);
    add_random(s, v, HIDDEN_SHAPES, target, cases, n);
    add_around_tiles(s, v, target, cases, n);
    if (*n < DIST_ROUND)
        add_random(s, v, DIST_ROUND - *n, target, cases, n); /* no tiles: every distribution all the same */
    if (*n == 0) {
        /* Every dim is a constant: the target with other inputs and scalars is all there is to try. */
        kw_code code = make_case(s, v, target, scalar_combinations(s->task) - 1, DIST_INTEGERS, &cases[*n], err);
        if (code != KW_OK)
            return code;
        cases[*n].seed = counter_mix(s->seed ^ OTHER_SEED);
        ++*n;
    }
    return cases_target_only(s, v, target, cases, n, err);
}

/* One shape that is larger than the others: more groups than a device has units, offsets that small ones do not
 * reach. */
static void add_larger(const case_source *s, const variant *v, job_case *cases, size_t *n)
{
    for (uint64_t draw = 0; draw < CASES_RANDOM_TRIES; draw++) {
        task_shape shape;
        double operations, elements;
        const int64_t factor = (int64_t)2 << draw % 12; /* tasks of one dim need a large one */
        random_shape(s, v, draw, &shape);
        for (size_t d = 0; d < s->task->n_dims; d++)
            if (v->fixed_dims[d] < 0 && shape.dims[d] <= s->task->dims[d].max / factor)
                shape.dims[d] *= factor;
        cases_fill_defaults(s, &shape);
        cases_cost(s, &shape, &operations, &elements);
        if (cases_is_small(s, &shape) || operations > LARGER_OPERATIONS || elements > LARGER_ELEMENTS ||
            !variant_fits(v, &shape, s->limits, NULL) || cases_seen(s, cases, *n, &shape))
            continue;
        if (make_case(s, v, &shape, *n, (distribution)(*n % DIST_ROUND), &cases[*n], NULL) == KW_OK) {
            ++*n;
            return;
        }
    }
}

kw_code cases_general(const case_source *s, const variant *v, job_case *cases, size_t *n, bool *complete, kw_error *err)
{
    *n = 0;
    *complete = true;
    for (size_t d = 0; d < s->task->n_dims; d++)
        if (v->fixed_dims[d] >= 0)
            *complete = false;
    for (size_t i = 0; i < s->n_edges; i++) {
        if (!variant_fits(v, &s->edges[i], s->limits, NULL))
            continue;
        if (*n >= JOB_MAX_CASES - GENERAL_RANDOM - FURTHER_SHAPES - 1) {
            *complete = false; /* more edge shapes than a job holds */
            break;
        }
        kw_code code = make_case(s, v, &s->edges[i], *n, (distribution)(*n % DIST_ROUND), &cases[*n], err);
        if (code != KW_OK)
            return code;
        ++*n;
    }
    if (add_random(s, v, GENERAL_RANDOM, NULL, cases, n) < GENERAL_RANDOM)
        *complete = false;
    add_around_tiles(s, v, NULL, cases, n);
    add_larger(s, v, cases, n);
    cases_add_edges_again(s, v, cases, n);
    cases_add_long(s, v, cases, n);
    cases_add_numbers(s, v, cases, n);
    cases_add_ranges(s, v, cases, n);
    if (*n == 0)
        return kw_error_set(err, KW_FAILED, "no small shape satisfies the variant's requires");
    return KW_OK;
}

/* ---- for the task itself ---- */

#define TASK_CASES 8
#define TASK_OPERATIONS 1e5
#define TASK_ELEMENTS 5000

size_t cases_for_task(const case_source *s, job_case *cases)
{
    size_t n = 0, combinations = scalar_combinations(s->task), wanted = TASK_CASES;
    if (wanted < combinations)
        wanted = combinations < JOB_MAX_CASES ? combinations : JOB_MAX_CASES;
    for (uint64_t draw = 0; draw < CASES_RANDOM_TRIES && n < wanted; draw++) {
        task_shape shape;
        double operations, elements;
        random_shape(s, NULL, draw, &shape);
        cases_cost(s, &shape, &operations, &elements);
        if (operations > TASK_OPERATIONS || elements > TASK_ELEMENTS || cases_has_empty(s, &shape))
            continue;
        job_case *c = &cases[n];
        memset(c, 0, sizeof *c);
        c->shape = shape;
        scalars_of(s->task, n, c->scalars);
        c->dist = n % 2 ? DIST_INTEGERS : DIST_NORMAL;
        c->seed = counter_mix(s->seed ^ (0x7a5cu + n));
        n++;
    }
    return n;
}
