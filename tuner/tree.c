#include "tuner/tree.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 12
#define LEAST_GAIN 1e-9 /* of a node's cost: below is rounding */

typedef struct node {
    int feature; /* -1: leaf */
    int32_t at_most;
    size_t next[2];
    size_t leaf;   /* number, when it is one */
    double cost;   /* of its shapes when run by their best variant */
    double weight; /* of its shapes */
    double *sum;   /* per member of the portfolio: its ratios, weighted */
    double *mean;  /* per member: its mean ratio, shrunk */
} node;

struct tree {
    const cost_table *m;
    const shape_features *f;
    portfolio p;
    node *nodes;
    size_t n_nodes, capacity;
    size_t *leaves; /* their nodes */
    size_t n_leaves;
    double mean_weight; /* of a shape */
    int64_t low[TASK_MAX_DIMS], high[TASK_MAX_DIMS];
    grid_leaves grid; /* without nodes and leaves of its own; grid NULL: none */
};

typedef struct sample {
    size_t shape;
    int32_t value; /* of the feature that is looked at */
} sample;

/* The work of one fit. Shapes are sorted once by each feature; a node has the same range of all these lists, and a
 * split parts it in each of them without disturbing the order (as in SLIQ: Mehta, Agrawal, Rissanen, EDBT 1996). */
typedef struct grower {
    tree *t;
    const int32_t *values; /* [shape * n features + feature] */
    size_t n;              /* shapes */
    sample *samples;       /* [feature * n + place]; the last list: by the feature that made the node */
    sample *parted;        /* room for n */
    bool *second;          /* by shape: it goes to the second part */
    double *costs;         /* [shape * members + member]: its ratio, weighted */
    double *before, *all;  /* sums per member, while a feature is scanned */
} grower;

typedef struct split {
    int feature;
    int32_t at_most;
    double cost;
} split;

static double ratio_of(const tree *t, size_t shape, size_t member)
{
    return t->m->ratio[shape * t->m->n_variants + t->p.variants[member]];
}

static double weight_of(const tree *t, size_t shape)
{
    return t->m->shapes[shape].weight;
}

static double least(const double *costs, size_t n)
{
    double best = INFINITY;
    for (size_t k = 0; k < n; k++)
        best = costs[k] < best ? costs[k] : best;
    return best;
}

/* ---- splitting ---- */

static int by_value(const void *a, const void *b)
{
    const sample *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return (x->shape > y->shape) - (x->shape < y->shape);
}

static void sort_samples(grower *g)
{
    for (size_t feature = 0; feature < g->t->f->n; feature++) {
        sample *list = &g->samples[feature * g->n];
        memcpy(list, &g->samples[g->t->f->n * g->n], g->n * sizeof *list);
        for (size_t i = 0; i < g->n; i++)
            list[i].value = g->values[list[i].shape * g->t->f->n + feature];
        qsort(list, g->n, sizeof *list, by_value);
    }
}

/* Parts a node's range of every list; returns the size of the first part. */
static size_t part(grower *g, size_t first, size_t n, const split *s)
{
    const size_t n_features = g->t->f->n;
    size_t n_first = 0;
    for (size_t i = first; i < first + n; i++) {
        const sample *x = &g->samples[(size_t)s->feature * g->n + i];
        g->second[x->shape] = x->value > s->at_most;
        n_first += !g->second[x->shape];
    }
    for (size_t list = 0; list < n_features; list++) {
        sample *x = &g->samples[list * g->n + first];
        size_t a = 0, b = n_first;
        for (size_t i = 0; i < n; i++)
            g->parted[g->second[x[i].shape] ? b++ : a++] = x[i];
        memcpy(x, g->parted, n * sizeof *x);
    }
    memcpy(&g->samples[n_features * g->n + first], &g->samples[(size_t)s->feature * g->n + first],
           n * sizeof *g->samples);
    return n_first;
}

/* At least `low` and below `high`. */
static int32_t middle(int32_t low, int32_t high)
{
    return (int32_t)(low + ((int64_t)high - low) / 2);
}

/* Tries all places of one feature. */
static void scan_feature(grower *g, size_t first, size_t n, size_t feature, split *best)
{
    const size_t members = g->t->p.n;
    const sample *list = &g->samples[feature * g->n + first];
    memset(g->before, 0, members * sizeof *g->before);
    for (size_t i = 0; i + 1 < n; i++) {
        const sample *x = &list[i];
        const double *costs = &g->costs[x->shape * members];
        double left = INFINITY, right = INFINITY;
        for (size_t k = 0; k < members; k++) {
            const double before = g->before[k] + costs[k], after = g->all[k] - before;
            g->before[k] = before;
            left = before < left ? before : left;
            right = after < right ? after : right;
        }
        if (x[1].value == x->value || left + right >= best->cost)
            continue;
        *best = (split){(int)feature, middle(x->value, x[1].value), left + right};
    }
}

static split find_split(grower *g, size_t first, size_t n, double cost)
{
    split best = {-1, 0, cost * (1 - LEAST_GAIN)};
    memset(g->all, 0, g->t->p.n * sizeof *g->all);
    const sample *shapes = &g->samples[g->t->f->n * g->n];
    for (size_t i = first; i < first + n; i++)
        for (size_t k = 0; k < g->t->p.n; k++)
            g->all[k] += g->costs[shapes[i].shape * g->t->p.n + k];
    for (size_t i = 0; i < g->t->f->n; i++)
        scan_feature(g, first, n, i, &best);
    return best;
}

/* ---- growing ---- */

static size_t add_node(grower *g, size_t first, size_t n)
{
    tree *t = g->t;
    t->nodes = mem_grow(t->nodes, &t->capacity, t->n_nodes + 1, sizeof *t->nodes);
    node *x = &t->nodes[t->n_nodes];
    *x = (node){.feature = -1};
    x->sum = mem_calloc(t->p.n + 1, sizeof *x->sum);
    x->mean = mem_calloc(t->p.n + 1, sizeof *x->mean);
    for (size_t i = first; i < first + n; i++) {
        const size_t shape = g->samples[t->f->n * g->n + i].shape;
        x->weight += weight_of(t, shape);
        for (size_t k = 0; k < t->p.n; k++)
            x->sum[k] += g->costs[shape * t->p.n + k];
    }
    x->cost = n > 0 ? least(x->sum, t->p.n) : 0;
    return t->n_nodes++;
}

static void grow(grower *g, size_t at, size_t first, size_t n, int depth)
{
    if (n < 2 || depth == MAX_DEPTH)
        return;
    const split s = find_split(g, first, n, g->t->nodes[at].cost);
    if (s.feature < 0)
        return;
    const size_t n_first = part(g, first, n, &s);
    const size_t a = add_node(g, first, n_first), b = add_node(g, first + n_first, n - n_first);
    g->t->nodes[at].feature = s.feature;
    g->t->nodes[at].at_most = s.at_most;
    g->t->nodes[at].next[0] = a;
    g->t->nodes[at].next[1] = b;
    grow(g, a, first, n_first, depth + 1);
    grow(g, b, first + n_first, n - n_first, depth + 1);
}

/* Cost of the best pruned subtree, leaves at their price included. */
static double prune(tree *t, size_t at, double price)
{
    node *x = &t->nodes[at];
    if (x->feature < 0)
        return x->cost + price;
    const double below = prune(t, x->next[0], price) + prune(t, x->next[1], price);
    if (below < (x->cost + price) * (1 - LEAST_GAIN))
        return below;
    x->feature = -1;
    return x->cost + price;
}

static size_t count_leaves(const tree *t, size_t at)
{
    const node *x = &t->nodes[at];
    return x->feature < 0 ? 1 : count_leaves(t, x->next[0]) + count_leaves(t, x->next[1]);
}

/* Leaves that are not worth their price go; more of them if a header could not take the rest. */
static void prune_all(tree *t, double price)
{
    (void)prune(t, 0, price * t->mean_weight);
    while (count_leaves(t, 0) > HEADER_TREE_LEAVES) {
        price = 1.5 * price + 0.01;
        (void)prune(t, 0, price * t->mean_weight);
    }
}

static void number_leaves(tree *t, size_t at)
{
    node *x = &t->nodes[at];
    if (x->feature >= 0) {
        number_leaves(t, x->next[0]);
        number_leaves(t, x->next[1]);
        return;
    }
    x->leaf = t->n_leaves;
    t->leaves[t->n_leaves++] = at;
}

/* Means, each shrunk towards its parent's: `prior` is the weight of that. */
static void shrink(tree *t, size_t at, double prior, const double *parent)
{
    node *x = &t->nodes[at];
    const double own = parent ? prior : 0;
    for (size_t k = 0; k < t->p.n; k++)
        x->mean[k] = x->weight + own > 0 ? (x->sum[k] + own * (parent ? parent[k] : 0)) / (x->weight + own) : 1;
    for (int c = 0; c < 2 && x->feature >= 0; c++)
        shrink(t, x->next[c], prior, x->mean);
}

/* ---- the reach ---- */

static void find_bounds(tree *t, const sample *samples, size_t n, int64_t reach)
{
    for (size_t d = 0; d < t->m->task->n_dims; d++) {
        int64_t low = INT64_MAX, high = 0;
        for (size_t i = 0; i < n; i++) {
            const int64_t x = t->m->shapes[samples[i].shape].dims[d];
            low = x < low ? x : low;
            high = x > high ? x : high;
        }
        t->low[d] = low == INT64_MAX ? 0 : (low + reach - 1) / reach;
        t->high[d] = high > INT64_MAX / reach ? INT64_MAX : high * reach;
    }
}

/* ---- entry points ---- */

static int32_t *all_values(const cost_table *m, const shape_features *f)
{
    int32_t *values = mem_calloc(m->n_shapes * f->n + 1, sizeof *values);
    for (size_t i = 0; i < m->n_shapes; i++)
        features_compute(f, m->shapes[i].dims, &values[i * f->n]);
    return values;
}

static void fill_costs(grower *g)
{
    const tree *t = g->t;
    for (size_t i = 0; i < t->m->n_shapes; i++)
        for (size_t k = 0; k < t->p.n; k++)
            g->costs[i * t->p.n + k] = weight_of(t, i) * ratio_of(t, i, k);
}

tree *tree_grow(const cost_table *m, const shape_features *f, const portfolio *p, const bool *used)
{
    tree *t = mem_calloc(1, sizeof *t);
    *t = (tree){.m = m, .f = f, .p = *p};
    int32_t *values = all_values(m, f);
    grower g = {.t = t, .values = values};
    for (size_t i = 0; i < m->n_shapes; i++)
        g.n += !used || used[i];
    g.samples = mem_calloc((f->n + 1) * g.n + 1, sizeof *g.samples);
    g.parted = mem_calloc(g.n + 1, sizeof *g.parted);
    g.second = mem_calloc(m->n_shapes + 1, sizeof *g.second);
    g.costs = mem_calloc(m->n_shapes * p->n + 1, sizeof *g.costs);
    g.before = mem_calloc(p->n + 1, sizeof *g.before);
    g.all = mem_calloc(p->n + 1, sizeof *g.all);
    sample *shapes = &g.samples[f->n * g.n];
    size_t n = 0;
    for (size_t i = 0; i < m->n_shapes; i++)
        if (!used || used[i]) {
            shapes[n++].shape = i;
            t->mean_weight += m->shapes[i].weight;
        }
    t->mean_weight /= n > 0 ? (double)n : 1;
    find_bounds(t, shapes, n, TREE_REACH);
    fill_costs(&g);
    sort_samples(&g);
    grow(&g, add_node(&g, 0, n), 0, n, 0);
    t->leaves = mem_calloc(t->n_nodes, sizeof *t->leaves);
    free(g.samples);
    free(g.parted);
    free(g.second);
    free(g.costs);
    free(g.before);
    free(g.all);
    free(values);
    return t;
}

void tree_settle(tree *t, tree_settings settings)
{
    prune_all(t, settings.leaf_price);
    t->n_leaves = 0;
    number_leaves(t, 0);
    shrink(t, 0, settings.prior * t->mean_weight, NULL);
}

tree *tree_fit(const cost_table *m, const shape_features *f, const portfolio *p, const bool *used,
               tree_settings settings)
{
    tree *t = tree_grow(m, f, p, used);
    tree_settle(t, settings);
    return t;
}

tree *tree_of_grid(const cost_table *m, const shape_features *f, const portfolio *p, grid_leaves *leaves)
{
    tree *t = mem_calloc(1, sizeof *t);
    *t = (tree){.m = m, .f = f, .p = *p, .n_leaves = leaves->n, .grid = *leaves};
    sample *all = mem_calloc(m->n_shapes + 1, sizeof *all);
    for (size_t i = 0; i < m->n_shapes; i++)
        all[i].shape = i;
    find_bounds(t, all, m->n_shapes, TREE_REACH * COSTMODEL_REACH);
    free(all);
    *leaves = (grid_leaves){0};
    return t;
}

void tree_free(tree *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n_nodes; i++) {
        free(t->nodes[i].sum);
        free(t->nodes[i].mean);
    }
    free(t->nodes);
    free(t->leaves);
    grid_leaves_clear(&t->grid);
    free(t);
}

size_t tree_leaf(const tree *t, const int64_t *dims)
{
    int32_t values[FEATURES_MAX];
    size_t at = 0;
    if (t->grid.grid)
        return grid_leaf_of(&t->grid, t->m->task, dims);
    features_compute(t->f, dims, values);
    while (t->nodes[at].feature >= 0)
        at = t->nodes[at].next[values[t->nodes[at].feature] > t->nodes[at].at_most];
    return t->nodes[at].leaf;
}

size_t tree_leaves(const tree *t)
{
    return t->n_leaves;
}

size_t tree_cells(const tree *t)
{
    size_t n = t->grid.grid ? 1 : 0;
    for (size_t i = 0; i < t->m->task->n_dims && n > 0; i++)
        n *= t->m->task->dims[i].is_key ? (size_t)t->grid.grid->n[i] : 1;
    return n;
}

/* The member that a leaf of nodes puts at this place, from 0; of equals the first. */
static size_t ranked(const tree *t, size_t leaf, size_t place)
{
    const double *mean = t->nodes[t->leaves[leaf]].mean;
    for (size_t k = 0; k < t->p.n; k++) {
        size_t before = 0;
        for (size_t i = 0; i < t->p.n; i++)
            before += mean[i] < mean[k] || (i < k && mean[i] == mean[k]);
        if (before == place)
            return k;
    }
    return 0;
}

size_t tree_variant(const tree *t, const int64_t *dims, size_t place)
{
    for (size_t i = 0; i < t->m->task->n_dims; i++)
        if (t->m->task->dims[i].is_key && (dims[i] < t->low[i] || dims[i] > t->high[i]))
            return SIZE_MAX;
    if (place >= t->p.n || place >= HEADER_TREE_RANKED)
        return SIZE_MAX;
    if (t->grid.grid)
        return t->grid.items[tree_leaf(t, dims)].ranked[place];
    return t->p.variants[ranked(t, tree_leaf(t, dims), place)];
}

double tree_ratio(const tree *t, size_t shape)
{
    const size_t leaf = tree_leaf(t, t->m->shapes[shape].dims);
    for (size_t place = 0; place < t->p.n && place < HEADER_TREE_RANKED; place++) {
        const size_t v = t->grid.grid ? t->grid.items[leaf].ranked[place] : t->p.variants[ranked(t, leaf, place)];
        if (v != SIZE_MAX && costs_runs(t->m, shape, v))
            return t->m->ratio[shape * t->m->n_variants + v];
    }
    return COSTS_MAX_RATIO;
}

/* ---- for the header ---- */

static void export_leaf(const tree *t, size_t i, double regret, header_leaf *out)
{
    const double *mean = t->nodes[t->leaves[i]].mean;
    for (size_t place = 0; place < HEADER_TREE_RANKED; place++) {
        out->variants[place] = -1;
        if (place >= t->p.n)
            continue;
        const size_t k = ranked(t, i, place);
        out->variants[place] = (int)t->p.variants[k];
        /* What is expected of the first, and as much worse as the others were. */
        out->expected_regret[place] = (float)(regret * mean[k] / mean[ranked(t, i, 0)]);
    }
}

/* What is expected of the first that runs, and of the others in proportion. */
static void export_grid(const tree *t, const double *leaf_regret, header_tree *out)
{
    const size_t n = tree_cells(t);
    out->grid = mem_calloc(1, sizeof *out->grid);
    *out->grid = *t->grid.grid;
    out->grid->leaf = mem_calloc(n, sizeof *out->grid->leaf);
    memcpy(out->grid->leaf, t->grid.grid->leaf, n * sizeof *out->grid->leaf);
    for (size_t i = 0; i < t->n_leaves; i++)
        for (size_t k = 0; k < HEADER_TREE_RANKED; k++) {
            const grid_leaf *x = &t->grid.items[i];
            const bool is_there = x->ranked[k] != SIZE_MAX;
            out->leaves[i].variants[k] = is_there ? (int)x->ranked[k] : -1;
            out->leaves[i].expected_regret[k] = is_there ? (float)(leaf_regret[i] * fmax(1, x->ratio[k])) : 0;
        }
}

void tree_export(const tree *t, const double *leaf_regret, header_tree *out)
{
    int *number = mem_calloc(t->n_nodes + 1, sizeof *number);
    size_t n = 0;
    *out = (header_tree){.n_leaves = t->n_leaves};
    for (size_t i = 0; i < t->n_nodes; i++)
        number[i] = -1;
    out->nodes = mem_calloc(t->n_nodes + 1, sizeof *out->nodes);
    out->leaves = mem_calloc(t->n_leaves + 1, sizeof *out->leaves);
    /* Parents stand before their children; what was pruned is reached by nobody. */
    bool *reached = mem_calloc(t->n_nodes + 1, sizeof *reached);
    if (t->n_nodes > 0)
        reached[0] = true;
    for (size_t i = 0; i < t->n_nodes; i++) {
        if (!reached[i] || t->nodes[i].feature < 0)
            continue;
        reached[t->nodes[i].next[0]] = reached[t->nodes[i].next[1]] = true;
        number[i] = (int)n++;
    }
    for (size_t i = 0; i < t->n_nodes; i++) {
        const node *x = &t->nodes[i];
        if (number[i] < 0)
            continue;
        header_node *h = &out->nodes[number[i]];
        h->feature = x->feature;
        h->at_most = x->at_most;
        for (int k = 0; k < 2; k++) {
            const size_t child = x->next[k];
            h->next[k] = number[child] >= 0 ? number[child] : ~(int)t->nodes[child].leaf;
        }
    }
    out->n_nodes = n;
    if (t->grid.grid)
        export_grid(t, leaf_regret, out);
    for (size_t i = 0; i < t->n_leaves && !t->grid.grid; i++)
        export_leaf(t, i, leaf_regret[i], &out->leaves[i]);
    memcpy(out->low, t->low, sizeof out->low);
    memcpy(out->high, t->high, sizeof out->high);
    free(number);
    free(reached);
}
