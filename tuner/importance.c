#include "tuner/importance.h"

#include "base/counter_rng.h"
#include "base/mem.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REPLICATES 24
#define TREES 8         /* of each replicate */
#define LEAST_LEAF 3    /* configurations, on all their shapes */
#define MOST_LEAVES 400 /* about: leaves get larger where there are many rows */
#define LOW_QUANTILE 0.05

/* A leaf: for each parameter the values that end there, as bits. */
typedef struct leaf {
    double mean;
    uint64_t *allowed;
} leaf;

typedef struct tree {
    const importance_data *d;
    leaf *leaves;
    size_t n, capacity;
    size_t least_leaf;
    double *predicted; /* for each row; the trees of a replicate add up */
} tree;

/* Rows of a node: those that the tree grows from, and those that its replicate has not seen. */
typedef struct node {
    size_t *seen, *unseen;
    size_t n_seen, n_unseen;
} node;

typedef struct stream {
    uint64_t seed, at;
} stream;

static uint64_t below(stream *r, uint64_t n)
{
    return counter_rng_u64(r->seed, 4242, r->at++) % n;
}

static uint32_t value_of(const importance_data *d, size_t row, size_t param)
{
    return d->values[row * d->n_params + param];
}

/* ---- growing a tree ---- */

typedef struct split {
    double gain;
    size_t param;
    uint32_t last; /* values up to here go left */
} split;

/* The best cut of one parameter: the largest drop of the sum of squares. */
static void try_param(const tree *t, const size_t *rows, size_t n, size_t param, split *best)
{
    double sum[IMPORTANCE_MAX_VALUES] = {0}, total = 0;
    size_t count[IMPORTANCE_MAX_VALUES] = {0};
    for (size_t i = 0; i < n; i++) {
        uint32_t v = value_of(t->d, rows[i], param);
        sum[v] += t->d->response[rows[i]];
        count[v]++;
        total += t->d->response[rows[i]];
    }
    double left = 0;
    size_t n_left = 0;
    for (uint32_t v = 0; v + 1 < t->d->n_values[param]; v++) {
        left += sum[v];
        n_left += count[v];
        if (count[v] == 0 || n_left < t->least_leaf || n - n_left < t->least_leaf)
            continue;
        double right = total - left;
        double gain = left * left / (double)n_left + right * right / (double)(n - n_left) - total * total / (double)n;
        if (gain > best->gain)
            *best = (split){gain, param, v};
    }
}

/* Five sixths of the parameters, drawn anew for each node as in the paper; the others when none of those can be cut. */
static split find_split(const tree *t, const size_t *rows, size_t n, stream *random)
{
    split best = {1e-12, SIZE_MAX, 0};
    const size_t p = t->d->n_params, wanted = (5 * p + 5) / 6;
    size_t *order = mem_alloc(p * sizeof *order);
    for (size_t i = 0; i < p; i++)
        order[i] = i;
    for (size_t i = 0; i < p && (i < wanted || best.param == SIZE_MAX); i++) {
        size_t k = i + (size_t)below(random, p - i), chosen = order[k];
        order[k] = order[i];
        order[i] = chosen;
        if (t->d->n_values[chosen] > 1)
            try_param(t, rows, n, chosen, &best);
    }
    free(order);
    return best;
}

static void add_leaf(tree *t, node at, const uint64_t *allowed)
{
    double sum = 0;
    for (size_t i = 0; i < at.n_seen; i++)
        sum += t->d->response[at.seen[i]];
    t->leaves = mem_grow(t->leaves, &t->capacity, t->n + 1, sizeof *t->leaves);
    leaf *l = &t->leaves[t->n++];
    l->mean = sum / (double)at.n_seen;
    l->allowed = mem_alloc(t->d->n_params * sizeof *l->allowed);
    memcpy(l->allowed, allowed, t->d->n_params * sizeof *allowed);
    for (size_t i = 0; i < at.n_unseen; i++)
        t->predicted[at.unseen[i]] += l->mean;
}

static uint64_t bits_up_to(uint32_t last)
{
    return last >= 63 ? UINT64_MAX : ((uint64_t)2 << last) - 1;
}

/* Moves the rows that go left to the front; returns how many. */
static size_t part_rows(const tree *t, split s, size_t *rows, size_t n)
{
    size_t n_left = 0;
    for (size_t i = 0; i < n; i++) {
        if (value_of(t->d, rows[i], s.param) > s.last)
            continue;
        size_t swap = rows[i];
        rows[i] = rows[n_left];
        rows[n_left++] = swap;
    }
    return n_left;
}

/* Recursive: a tree is some tens deep. */
static void grow(tree *t, node at, uint64_t *allowed, stream *random)
{
    split s = at.n_seen >= 2 * t->least_leaf ? find_split(t, at.seen, at.n_seen, random) : (split){0, SIZE_MAX, 0};
    if (s.param == SIZE_MAX) {
        add_leaf(t, at, allowed);
        return;
    }
    size_t n = part_rows(t, s, at.seen, at.n_seen), m = part_rows(t, s, at.unseen, at.n_unseen);
    const uint64_t before = allowed[s.param];
    allowed[s.param] = before & bits_up_to(s.last);
    grow(t, (node){at.seen, at.unseen, n, m}, allowed, random);
    allowed[s.param] = before & ~bits_up_to(s.last);
    grow(t, (node){at.seen + n, at.unseen + m, at.n_seen - n, at.n_unseen - m}, allowed, random);
    allowed[s.param] = before;
}

static void clear_tree(tree *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->leaves[i].allowed);
    free(t->leaves);
}

/* ---- variance of a tree ---- */

/* Sums over trees; shares[i * n_params + k]: of a pair, i < k; of one alone, i == k. */
typedef struct sums {
    double *shares;
    double *marginal; /* n_params x IMPORTANCE_MAX_VALUES: marginal means, less the tree's mean */
    size_t n;
} sums;

/* What leaf l has of the values of p. */
static double part(const tree *t, const leaf *l, size_t p)
{
    return (double)__builtin_popcountll(l->allowed[p]) / (double)t->d->n_values[p];
}

static double weight(const tree *t, const leaf *l)
{
    double w = 1;
    for (size_t p = 0; p < t->d->n_params; p++)
        w *= part(t, l, p);
    return w;
}

static double main_effect(const tree *t, const double *w, double mean, size_t p, double *m)
{
    const size_t n = t->d->n_values[p];
    double variance = 0;
    for (size_t v = 0; v < n; v++)
        m[v] = -mean;
    for (size_t i = 0; i < t->n; i++) {
        double rest = w[i] / part(t, &t->leaves[i], p) * t->leaves[i].mean;
        for (size_t v = 0; v < n; v++)
            m[v] += t->leaves[i].allowed[p] >> v & 1 ? rest : 0;
    }
    for (size_t v = 0; v < n; v++)
        variance += m[v] * m[v] / (double)n;
    return variance;
}

/* Beyond both main effects; m: the marginal means of all parameters. */
static double pair_effect(const tree *t, const double *w, double mean, size_t a, size_t b, const double *ma,
                          const double *mb)
{
    static const size_t most = IMPORTANCE_MAX_VALUES;
    const size_t na = t->d->n_values[a], nb = t->d->n_values[b];
    double *joint = mem_calloc(most * most, sizeof *joint), variance = 0;
    for (size_t i = 0; i < t->n; i++) {
        const leaf *l = &t->leaves[i];
        double rest = w[i] / (part(t, l, a) * part(t, l, b)) * l->mean;
        for (size_t v = 0; v < na; v++)
            for (size_t u = 0; u < nb && (l->allowed[a] >> v & 1); u++)
                joint[v * most + u] += l->allowed[b] >> u & 1 ? rest : 0;
    }
    for (size_t v = 0; v < na; v++)
        for (size_t u = 0; u < nb; u++) {
            double beyond = joint[v * most + u] - mean - ma[v] - mb[u];
            variance += beyond * beyond / (double)(na * nb);
        }
    free(joint);
    return variance;
}

static bool is_cut(const tree *t, size_t p)
{
    for (size_t i = 0; i < t->n; i++)
        if ((size_t)__builtin_popcountll(t->leaves[i].allowed[p]) != t->d->n_values[p])
            return true;
    return false;
}

static void add_tree(const tree *t, sums *out)
{
    const size_t p = t->d->n_params;
    double *w = mem_alloc(t->n * sizeof *w), *m = mem_calloc(p * IMPORTANCE_MAX_VALUES, sizeof *m);
    double mean = 0, total = 0;
    for (size_t i = 0; i < t->n; i++) {
        w[i] = weight(t, &t->leaves[i]);
        mean += w[i] * t->leaves[i].mean;
    }
    for (size_t i = 0; i < t->n; i++)
        total += w[i] * (t->leaves[i].mean - mean) * (t->leaves[i].mean - mean);
    bool *cut = mem_calloc(p, sizeof *cut);
    for (size_t a = 0; a < p && total > 0; a++) {
        cut[a] = is_cut(t, a);
        if (cut[a])
            out->shares[a * p + a] += main_effect(t, w, mean, a, m + a * IMPORTANCE_MAX_VALUES) / total;
    }
    for (size_t a = 0; a < p; a++)
        for (size_t b = a + 1; b < p && cut[a]; b++)
            if (cut[b])
                out->shares[a * p + b] +=
                    pair_effect(t, w, mean, a, b, m + a * IMPORTANCE_MAX_VALUES, m + b * IMPORTANCE_MAX_VALUES) / total;
    for (size_t i = 0; i < p * IMPORTANCE_MAX_VALUES; i++)
        out->marginal[i] += m[i];
    out->n++;
    free(cut);
    free(w);
    free(m);
}

/* ---- forests ---- */

/* Errors on what a replicate has not seen, against those of the mean of all. */
typedef struct unseen {
    double squares, squares_of_mean;
} unseen;

typedef struct replicate {
    size_t *drawn;     /* n_configs of them, with replacement */
    bool *is_drawn;    /* for each configuration */
    size_t *times;     /* of each in the tree at work */
    double *predicted; /* for each row that it has not seen: sum over the trees */
} replicate;

/* The rows, as often as the tree draws their configuration. */
static node rows_of(const importance_data *d, const replicate *r)
{
    node at = {.seen = NULL};
    for (size_t i = 0; i < d->n_rows; i++)
        at.n_seen += r->times[d->config[i]];
    at.seen = mem_alloc((at.n_seen + 1) * sizeof *at.seen);
    at.unseen = mem_alloc((d->n_rows + 1) * sizeof *at.unseen);
    at.n_seen = 0;
    for (size_t i = 0; i < d->n_rows; i++) {
        if (!r->is_drawn[d->config[i]])
            at.unseen[at.n_unseen++] = i;
        for (size_t k = 0; k < r->times[d->config[i]]; k++)
            at.seen[at.n_seen++] = i;
    }
    return at;
}

static void one_tree(const importance_data *d, const replicate *r, stream *random, sums *out)
{
    node at = rows_of(d, r);
    const size_t least = (LEAST_LEAF * d->n_rows + d->n_configs - 1) / d->n_configs, other = at.n_seen / MOST_LEAVES;
    tree t = {.d = d, .least_leaf = other > least ? other : least, .predicted = r->predicted};
    uint64_t *allowed = mem_alloc(d->n_params * sizeof *allowed);
    for (size_t p = 0; p < d->n_params; p++)
        allowed[p] = bits_up_to((uint32_t)d->n_values[p] - 1);
    grow(&t, at, allowed, random);
    add_tree(&t, out);
    clear_tree(&t);
    free(allowed);
    free(at.seen);
    free(at.unseen);
}

/* Each tree grows from a sample, with replacement, of what the replicate drew. */
static void one_replicate(const importance_data *d, stream *random, sums *out, unseen *u)
{
    const size_t n = d->n_configs;
    replicate r = {.drawn = mem_calloc(n, sizeof *r.drawn),
                   .is_drawn = mem_calloc(n, sizeof *r.is_drawn),
                   .times = mem_calloc(n, sizeof *r.times),
                   .predicted = mem_calloc(d->n_rows, sizeof *r.predicted)};
    for (size_t i = 0; i < n; i++) {
        r.drawn[i] = (size_t)below(random, n);
        r.is_drawn[r.drawn[i]] = true;
    }
    for (size_t k = 0; k < TREES; k++) {
        memset(r.times, 0, n * sizeof *r.times);
        for (size_t i = 0; i < n; i++)
            r.times[r.drawn[below(random, n)]]++;
        one_tree(d, &r, random, out);
    }
    const double mean = gsl_stats_mean(d->response, 1, d->n_rows);
    for (size_t i = 0; i < d->n_rows; i++) {
        if (r.is_drawn[d->config[i]])
            continue;
        u->squares += pow(d->response[i] - r.predicted[i] / TREES, 2);
        u->squares_of_mean += pow(d->response[i] - mean, 2);
    }
    free(r.drawn);
    free(r.is_drawn);
    free(r.times);
    free(r.predicted);
}

/* ---- the result ---- */

static int by_share(const void *a, const void *b)
{
    const importance_share *x = a, *y = b;
    if (x->share != y->share)
        return x->share > y->share ? -1 : 1;
    return x->a != y->a ? (x->a > y->a) - (x->a < y->a) : (x->b > y->b) - (x->b < y->b);
}

static importance_share summarise(const importance_data *d, const sums *replicates, size_t a, size_t b)
{
    double x[REPLICATES], mean = 0;
    for (size_t r = 0; r < REPLICATES; r++) {
        x[r] = replicates[r].shares[a * d->n_params + b] / (double)replicates[r].n;
        mean += x[r] / REPLICATES;
    }
    gsl_sort(x, 1, REPLICATES);
    return (importance_share){.a = a,
                              .b = a == b ? SIZE_MAX : b,
                              .share = mean,
                              .lo = fmin(mean, gsl_stats_quantile_from_sorted_data(x, 1, REPLICATES, LOW_QUANTILE)),
                              .hi =
                                  fmax(mean, gsl_stats_quantile_from_sorted_data(x, 1, REPLICATES, 1 - LOW_QUANTILE))};
}

static uint32_t best_value(const importance_data *d, const sums *replicates, size_t p)
{
    uint32_t best = 0;
    double least = INFINITY;
    for (uint32_t v = 0; v < d->n_values[p]; v++) {
        double sum = 0;
        for (size_t r = 0; r < REPLICATES; r++)
            sum += replicates[r].marginal[p * IMPORTANCE_MAX_VALUES + v];
        if (sum < least) {
            least = sum;
            best = v;
        }
    }
    return best;
}

static void collect(const importance_data *d, const sums *replicates, importance *out)
{
    const size_t p = d->n_params;
    out->mains = mem_calloc(p, sizeof *out->mains);
    out->pairs = mem_calloc(p * p / 2 + 1, sizeof *out->pairs);
    for (size_t a = 0; a < p; a++) {
        if (d->n_values[a] < 2)
            continue;
        out->mains[out->n_mains] = summarise(d, replicates, a, a);
        out->mains[out->n_mains++].best = best_value(d, replicates, a);
        for (size_t b = a + 1; b < p; b++)
            if (d->n_values[b] > 1)
                out->pairs[out->n_pairs++] = summarise(d, replicates, a, b);
    }
    qsort(out->mains, out->n_mains, sizeof *out->mains, by_share);
    if (out->n_pairs > 0)
        qsort(out->pairs, out->n_pairs, sizeof *out->pairs, by_share);
}

static kw_code check(const importance_data *d, kw_error *err)
{
    double least = INFINITY, most = -INFINITY;
    size_t varied = 0;
    for (size_t i = 0; i < d->n_rows; i++) {
        least = fmin(least, d->response[i]);
        most = fmax(most, d->response[i]);
    }
    for (size_t p = 0; p < d->n_params; p++)
        varied += d->n_values[p] > 1;
    if (d->n_configs < IMPORTANCE_LEAST_CONFIGS)
        return kw_error_set(err, KW_FAILED, "%zu configurations were timed; it takes at least %d to say what matters",
                            d->n_configs, IMPORTANCE_LEAST_CONFIGS);
    if (varied == 0 || !(most > least))
        return kw_error_set(err, KW_FAILED, "all of %zu configurations %s", d->n_configs,
                            varied == 0 ? "have the same values" : "take the same time");
    return KW_OK;
}

kw_code importance_of(const importance_data *d, uint64_t seed, importance *out, kw_error *err)
{
    memset(out, 0, sizeof *out);
    kw_code code = check(d, err);
    if (code != KW_OK)
        return code;
    sums replicates[REPLICATES];
    stream random = {.seed = seed, .at = 0};
    unseen u = {0, 0};
    for (size_t r = 0; r < REPLICATES; r++) {
        replicates[r] = (sums){.shares = mem_calloc(d->n_params * d->n_params, sizeof(double)),
                               .marginal = mem_calloc(d->n_params * IMPORTANCE_MAX_VALUES, sizeof(double))};
        one_replicate(d, &random, &replicates[r], &u);
    }
    collect(d, replicates, out);
    out->explained = u.squares_of_mean > 0 ? 1 - u.squares / u.squares_of_mean : 0;
    for (size_t r = 0; r < REPLICATES; r++) {
        free(replicates[r].shares);
        free(replicates[r].marginal);
    }
    return KW_OK;
}

void importance_clear(importance *i)
{
    free(i->mains);
    free(i->pairs);
    memset(i, 0, sizeof *i);
}
