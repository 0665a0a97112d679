/* What a dispatch table loses on shapes that were never tuned, by replay of a recorded matrix (shapes x variants):
 *
 *   dispatch TASK RESULTS [--shapes FILE] [--variants K] [--device KEY] [--type T] [--known N]
 *   dispatch gemm synthetic [--shapes FILE] [--variants K] [--seed N]
 *
 * Shapes are left out in ten folds (or those of FILE, in one); portfolio and tree are made from the others, as emit
 * makes them, and asked for those left out. Beside it, from the same shapes: the best variant of the shape with the
 * nearest volume (product of dims), of the nearest shape in log space, and the one variant that is best on the mean;
 * "measured": a tree of the measured shapes alone; "model": the member of the portfolio that the model of times
 * (tuner/costmodel.h) finds fastest, as if a header could ask it. --known N: only so many of the others are known.
 * Regret is time over the best of everything that was timed on the shape. Last line: "dispatch: key=value ...".
 *
 * "synthetic" is a model of a tiled matrix product on a GPU of 132 units, see model_ns: to try the method without a
 * device. Its numbers say nothing of any device. */
#include "base/counter_rng.h"
#include "base/mem.h"
#include "tuner/results_groups.h"
#include "tuner/tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDS 10
#define LONG_NS 30000.0 /* shapes over this are reported by themselves */

typedef struct options {
    const char *task, *results, *shapes, *device_key, *type;
    size_t n_variants, n_known; /* n_known: at most so many of the shapes not left out are known; 0: all */
    uint64_t seed;
} options;

static void need(kw_code code, const kw_error *err)
{
    if (code == KW_OK)
        return;
    fprintf(stderr, "dispatch: %s\n", err->message);
    exit(code == KW_BAD_INPUT ? 2 : 1);
}

/* ---- the model ---- */

enum { UNITS = 132, SYNTHETIC_SHAPES = 150 };

typedef struct tile {
    int m, n, split, vector;
} tile;

static size_t make_tiles(tile *out)
{
    static const int sizes[] = {8, 16, 32, 64, 128}, splits[] = {1, 4, 16}, vectors[] = {1, 4};
    size_t n = 0;
    for (size_t a = 0; a < 5; a++)
        for (size_t b = 0; b < 5; b++)
            for (size_t c = 0; c < 3; c++)
                for (size_t d = 0; d < 2; d++)
                    out[n++] = (tile){sizes[a], sizes[b], splits[c], vectors[d]};
    return n;
}

/* Tiles run in waves over the units. A tile costs the larger of its arithmetic, the better reused the larger it is, and
 * its loads, cheaper as vectors; splitting the sum makes more tiles and adds a second pass. Nanoseconds. */
static double model_ns(const tile *t, const int64_t *dims)
{
    const double M = (double)dims[0], N = (double)dims[1], K = (double)dims[2];
    const double tiles = ceil(M / t->m) * ceil(N / t->n) * t->split, k = ceil(K / t->split);
    const double area = (double)t->m * t->n, reuse = area / (area + 24.0 * (t->m + t->n));
    const double per_unit = fmin(4, 16384.0 / area), waves = ceil(tiles / (UNITS * per_unit));
    const double arithmetic = 2 * area * k / (400 * reuse) * per_unit;
    const double loads = 4 * k * (t->m + t->n) / (t->vector == 4 ? 30.0 : 18.0) * per_unit;
    const double memory = 4 * (M * K + K * N + M * N) / 4000.0;
    const double sum = t->split > 1 ? 2500 + 4 * M * N * (t->split + 1) / 3000.0 : 0;
    return 2500 + fmax(waves * (600 + fmax(arithmetic, loads)), memory) + sum;
}

static void make_synthetic(const task *t, const options *o, const task_shape *more, size_t n_more, cost_table *m)
{
    tile tiles[256];
    const size_t n_tiles = make_tiles(tiles);
    uint64_t c = 0;
    costs_init(m, t, SYNTHETIC_SHAPES + n_more, n_tiles);
    for (size_t i = 0; i < m->n_shapes; i++) {
        for (size_t d = 0; d < 3; d++) {
            const int64_t x = (int64_t)pow(2, 13 * counter_rng_unit(o->seed, 1, c++));
            m->shapes[i].dims[d] = counter_rng_unit(o->seed, 1, c++) < 0.5 ? x : (x + 7) / 8 * 8;
        }
        if (i >= SYNTHETIC_SHAPES)
            memcpy(m->shapes[i].dims, more[i - SYNTHETIC_SHAPES].dims, sizeof more->dims);
        for (size_t v = 0; v < n_tiles; v++) {
            const int64_t *dims = m->shapes[i].dims;
            const double noise = exp(0.02 * (counter_rng_unit(o->seed, 2, i * n_tiles + v) - 0.5));
            if (tiles[v].vector == 4 && (dims[1] % 4 != 0 || dims[2] % 4 != 0))
                costs_exclude(m, i, v);
            else
                costs_set(m, i, v, model_ns(&tiles[v], dims) * noise);
        }
    }
    costs_finish(m);
}

/* ---- plans, for the model of times ---- */

/* What the columns are: tiles of the synthetic model, or variants expanded from today's templates. */
typedef struct columns {
    tile tiles[256];
    variant **variants; /* NULL: tiles */
    size_t n;
} columns;

static bool plan_of(void *cookie, size_t v, const task_shape *s, costmodel_plan *out)
{
    const columns *c = cookie;
    if (c->variants)
        return costmodel_plan_variant(c->variants[v], s, out);
    const double M = (double)s->dims[0], N = (double)s->dims[1];
    const tile *x = &c->tiles[v];
    *out = (costmodel_plan){ceil(M / x->m) * ceil(N / x->n) * x->split, x->split > 1 ? 4 * M * N * x->split : 0};
    return true;
}

static bool runs(void *cookie, size_t v, const task_shape *s)
{
    const columns *c = cookie;
    if (c->variants)
        return c->variants[v] && variant_fits(c->variants[v], s, NULL, NULL);
    return c->tiles[v].vector != 4 || (s->dims[1] % 4 == 0 && s->dims[2] % 4 == 0);
}

/* NULL where the template is gone or expands to another text now. */
static variant *expand_entry(template *const *templates, size_t n, const task_types *types, const ledger_entry *e)
{
    variant *v = NULL;
    kw_error err;
    for (size_t i = 0; i < n; i++) {
        const template *p = templates[i];
        if (strcmp(p->name, e->template_name) != 0)
            continue;
        uint32_t *config = mem_calloc(p->n_params + 1, sizeof *config);
        json *j = json_parse(e->config, strlen(e->config), "config", 1, 1, &err);
        if (j && template_config_from_json(p, j, config, &err) == KW_OK &&
            variant_expand(p, types, config, NULL, &v, &err) == KW_OK && strcmp(v->hash, e->source_hash) != 0) {
            variant_free(v);
            v = NULL;
        }
        json_free(j);
        free(config);
    }
    return v;
}

/* ---- the rules ---- */

typedef enum rule {
    RULE_TREE,
    RULE_MEASURED,
    RULE_MODEL,
    RULE_VOLUME,
    RULE_NEAREST,
    RULE_SINGLE,
    RULE_PORTFOLIO,
    RULES
} rule;
static const char *const rule_names[RULES] = {"tree", "measured", "model", "volume", "nearest", "single", "portfolio"};

static double distance(const task *t, const int64_t *a, const int64_t *b, rule r)
{
    double sum = 0, p = 1, q = 1;
    for (size_t i = 0; i < t->n_dims; i++) {
        if (!t->dims[i].is_key)
            continue;
        const double x = (double)a[i], y = (double)b[i], step = log(fmax(x, 0.5)) - log(fmax(y, 0.5));
        sum += step * step;
        p *= x;
        q *= y;
    }
    return r == RULE_VOLUME ? fabs(p - q) : sum;
}

/* The best variant that can run `shape`, by the times of another shape, or (from SIZE_MAX) by the mean of all. */
static size_t best_variant(const cost_table *train, size_t from, const cost_table *m, size_t shape)
{
    size_t best = SIZE_MAX;
    double least = INFINITY;
    for (size_t v = 0; v < m->n_variants; v++) {
        double cost = 0;
        if (!costs_runs(m, shape, v))
            continue;
        if (from != SIZE_MAX)
            cost = train->ratio[from * m->n_variants + v];
        for (size_t i = 0; from == SIZE_MAX && i < train->n_shapes; i++)
            cost += train->shapes[i].weight * train->ratio[i * m->n_variants + v];
        if (cost < least) {
            least = cost;
            best = v;
        }
    }
    return best;
}

static size_t nearest(const cost_table *train, const int64_t *dims, rule r)
{
    size_t best = 0;
    for (size_t i = 1; i < train->n_shapes; i++)
        if (distance(train->task, train->shapes[i].dims, dims, r) <
            distance(train->task, train->shapes[best].dims, dims, r))
            best = i;
    return best;
}

static size_t by_tree(const tree *t, const cost_table *m, size_t shape)
{
    for (size_t place = 0;; place++) {
        const size_t v = tree_variant(t, m->shapes[shape].dims, place);
        if (v == SIZE_MAX || costs_runs(m, shape, v))
            return v;
    }
}

/* The best that the portfolio could do. */
static size_t by_portfolio(const portfolio *p, const cost_table *m, size_t shape)
{
    size_t best = p->variants[0];
    for (size_t k = 1; k < p->n; k++)
        if (m->ratio[shape * m->n_variants + p->variants[k]] < m->ratio[shape * m->n_variants + best])
            best = p->variants[k];
    return best;
}

/* ---- the replay ---- */

typedef struct score {
    regret_sum all, longer;
    size_t n, n_longer, unknown; /* unknown: nobody timed the choice there, or it cannot run */
} score;

static void add_score(score *s, const cost_table *m, size_t shape, size_t v)
{
    const double ratio = v == SIZE_MAX ? COSTS_MAX_RATIO : m->ratio[shape * m->n_variants + v];
    s->unknown += v == SIZE_MAX || !costs_known(m, shape, v);
    s->n++;
    regret_add(&s->all, ratio, 1);
    if (m->best_ns[shape] > LONG_NS) {
        s->n_longer++;
        regret_add(&s->longer, ratio, 1);
    }
}

typedef struct replay {
    score of[RULES];
    size_t leaves, beyond, folds, by_model; /* beyond: shapes out of the tree's reach; by_model: folds whose tree is */
} replay;

/* The member that is fastest by the model of times, as if a header could ask it. */
static size_t by_model(const costmodel *c, const portfolio *p, double (*fits)[COSTMODEL_TERMS], const cost_table *m,
                       size_t shape)
{
    size_t best = SIZE_MAX;
    double least = INFINITY;
    for (size_t k = 0; k < p->n; k++) {
        const double ns = costmodel_ns(c, p->variants[k], fits[k], &m->shapes[shape]);
        if (costs_runs(m, shape, p->variants[k]) && ns < least) {
            least = ns;
            best = p->variants[k];
        }
    }
    return best;
}

/* `used` says which shapes are known, `left_out` which are asked for. */
static void one_fold(const cost_table *m, const costmodel_source *source, const bool *used, const bool *left_out,
                     size_t k, replay *r)
{
    cost_table train;
    shape_features f;
    tree_estimate e;
    portfolio p;
    double fits[PORTFOLIO_MAX][COSTMODEL_TERMS];
    costs_subset(m, used, &train);
    features_of_task(m->task, &f);
    costmodel *c = costmodel_new(&train, source);
    tree *t = tree_choose(&train, &f, k, NULL, &p, &e), *measured = t;
    if (c) {
        free(e.ratios);
        t = tree_choose(&train, &f, k, c, &p, &e);
    }
    for (size_t i = 0; c && i < p.n; i++)
        costmodel_fit(c, p.variants[i], NULL, fits[i]);
    r->leaves += tree_leaves(t);
    r->by_model += e.settings.by_model;
    r->folds++;
    for (size_t i = 0; i < m->n_shapes; i++) {
        if (!left_out[i])
            continue;
        const size_t single = best_variant(&train, SIZE_MAX, m, i);
        const size_t chosen = by_tree(t, m, i), before = by_tree(measured, m, i);
        r->beyond += chosen == SIZE_MAX;
        add_score(&r->of[RULE_TREE], m, i, chosen == SIZE_MAX ? single : chosen);
        add_score(&r->of[RULE_MEASURED], m, i, before == SIZE_MAX ? single : before);
        if (c)
            add_score(&r->of[RULE_MODEL], m, i, by_model(c, &p, fits, m, i));
        add_score(&r->of[RULE_SINGLE], m, i, single);
        add_score(&r->of[RULE_PORTFOLIO], m, i, by_portfolio(&p, m, i));
        for (rule q = RULE_VOLUME; q <= RULE_NEAREST; q++)
            add_score(&r->of[q], m, i, best_variant(&train, nearest(&train, m->shapes[i].dims, q), m, i));
    }
    free(e.ratios);
    tree_free(t);
    if (measured != t)
        tree_free(measured);
    costmodel_free(c);
    costs_clear(&train);
}

static bool is_listed(const cost_table *m, size_t shape, const task_shape *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(m->shapes[shape].dims, list[i].dims, m->task->n_dims * sizeof list->dims[0]) == 0)
            return true;
    return false;
}

/* Of the shapes in `used` keeps `n`, drawn. */
static void keep_some(size_t n_shapes, bool *used, size_t n, uint64_t stream)
{
    size_t left = n_shapes, known = 0;
    for (size_t i = 0; i < n_shapes; i++)
        known += used[i];
    for (size_t i = 0; i < n_shapes; i++)
        if (used[i]) {
            used[i] = counter_rng_unit(4, stream, left) * (double)known < (double)n;
            n -= used[i];
            known--;
            left--;
        }
}

static void run_folds(const cost_table *m, const costmodel_source *source, const task_shape *list, size_t n_list,
                      const options *o, replay *r)
{
    bool *used = mem_calloc(m->n_shapes + 1, sizeof *used), *left_out = mem_calloc(m->n_shapes + 1, sizeof *left_out);
    size_t *fold = mem_calloc(m->n_shapes + 1, sizeof *fold);
    size_t n_left_out = 0;
    for (size_t i = 0; i < m->n_shapes; i++) /* shuffled: neighbours in the file are often alike */
        fold[i] = (size_t)(counter_rng_u64(3, 9, i) % FOLDS);
    for (size_t f = 0; f < (n_list > 0 ? 1 : FOLDS); f++) {
        for (size_t i = 0; i < m->n_shapes; i++) {
            left_out[i] = n_list > 0 ? is_listed(m, i, list, n_list) : fold[i] == f;
            used[i] = !left_out[i];
            n_left_out += left_out[i];
        }
        if (o->n_known > 0)
            keep_some(m->n_shapes, used, o->n_known, f);
        one_fold(m, source, used, left_out, o->n_variants, r);
    }
    if (n_left_out == 0) {
        fprintf(stderr, "dispatch: no shape of the list was measured\n");
        exit(2);
    }
    free(used);
    free(left_out);
    free(fold);
}

/* ---- input and output ---- */

static void print_all(const cost_table *m, const replay *r, const options *o)
{
    printf("%-10s %8s %8s %8s %10s %10s %8s\n", "rule", "geomean", "mean", "worst", "geo >30us", "worst >30us",
           "not timed");
    for (rule q = 0; q < RULES; q++) {
        const score *s = &r->of[q];
        printf("%-10s %8.3f %8.3f %8.3f %10.3f %10.3f %8zu\n", rule_names[q], regret_geomean(&s->all),
               regret_mean(&s->all), s->all.worst, regret_geomean(&s->longer), s->longer.worst, s->unknown);
    }
    printf(
        "dispatch: matrix=%s shapes=%zu shapes_left_out=%zu shapes_over_30us=%zu variants=%zu portfolio=%zu folds=%zu "
        "leaves_mean=%.1f beyond_reach=%zu folds_by_model=%zu",
        strcmp(o->results, "synthetic") == 0 ? "synthetic" : "recorded", m->n_shapes, r->of[0].n, r->of[0].n_longer,
        m->n_variants, o->n_variants, r->folds, (double)r->leaves / (double)r->folds, r->beyond, r->by_model);
    for (rule q = 0; q < RULES; q++)
        printf(" %s_geomean=%.4f %s_worst=%.3f %s_geomean_30us=%.4f %s_worst_30us=%.3f", rule_names[q],
               regret_geomean(&r->of[q].all), rule_names[q], r->of[q].all.worst, rule_names[q],
               regret_geomean(&r->of[q].longer), rule_names[q], r->of[q].longer.worst);
    printf("\n");
}

/* Places of general variants among all source hashes of a context. */
static size_t find_columns(const results_group *g, size_t n, const char **hashes, size_t capacity)
{
    size_t n_hashes = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < g[i].ledger.n; k++) {
            const ledger_entry *e = &g[i].ledger.entries[k];
            size_t h = 0;
            while (h < n_hashes && strcmp(hashes[h], e->source_hash) != 0)
                h++;
            if (h == n_hashes && n_hashes < capacity && e->ok && e->verified == VERIFIED_GENERAL)
                hashes[n_hashes++] = e->source_hash;
        }
    return n_hashes;
}

/* What was not timed counts as not able to run: a recorded matrix has every configuration on every shape that it
 * takes. */
static void read_context(const task *t, const task_types *types, const results_group *g, size_t n, cost_table *m,
                         columns *c)
{
    enum { MOST = 4096 };
    const char **hashes = mem_calloc(MOST, sizeof *hashes);
    kw_error err = {0};
    costs_init(m, t, n, find_columns(g, n, hashes, MOST));
    for (size_t i = 0; i < n; i++) {
        json *j = json_parse(g[i].shape, strlen(g[i].shape), "shape", 1, 1, &err);
        need(j ? task_shape_from_json(t, j, "shape", &m->shapes[i], &err) : KW_BAD_INPUT, &err);
        m->shapes[i].weight = 1;
        json_free(j);
        for (size_t k = 0; k < g[i].ledger.n; k++)
            if (g[i].ledger.entries[k].ok && g[i].ledger.entries[k].time.n > 0)
                costs_note_best(m, i, g[i].ledger.entries[k].time.median);
        for (size_t v = 0; v < m->n_variants; v++) {
            const ledger_entry *e = ledger_find(&g[i].ledger, hashes[v]);
            if (e && e->ok && e->time.n > 0)
                costs_set(m, i, v, e->time.median);
            else
                costs_exclude(m, i, v);
        }
    }
    costs_finish(m);
    template **templates;
    size_t n_templates;
    need(template_find(t, NULL, 0, &templates, &n_templates, &err), &err);
    *c = (columns){.variants = mem_calloc(m->n_variants + 1, sizeof *c->variants), .n = m->n_variants};
    for (size_t v = 0; v < m->n_variants; v++)
        for (size_t i = 0; i < n && !c->variants[v]; i++) {
            const ledger_entry *e = ledger_find(&g[i].ledger, hashes[v]);
            c->variants[v] = e ? expand_entry(templates, n_templates, types, e) : NULL;
        }
    for (size_t i = 0; i < n_templates; i++)
        template_free(templates[i]);
    free(templates);
    free(hashes);
}

static void replay_recorded(const task *t, const options *o, const task_shape *list, size_t n_list)
{
    kw_error err = {0};
    store *s = NULL;
    results_groups groups = {0};
    task_types types;
    strb types_text = STRB_INIT;
    size_t n;
    need(task_types_parse(t, o->type, &types, &err), &err);
    task_types_print(t, &types, &types_text);
    need(results_open(o->results, NULL, &s, &err), &err);
    const store_query q = {.task_hash = t->hash, .types = strb_text(&types_text), .device_key = o->device_key};
    need(results_groups_load(s, &q, false, &groups, &err), &err);
    for (size_t i = 0; i < groups.n; i += n) {
        cost_table m;
        replay r = {0};
        for (n = 1; i + n < groups.n && results_same_context(&groups.items[i], &groups.items[i + n]);)
            n++;
        printf("%s, %s caches\n", groups.items[i].device_key, groups.items[i].mode);
        columns c;
        read_context(t, &types, &groups.items[i], n, &m, &c);
        const costmodel_source source = {&c, plan_of, runs, types, costmodel_units(groups.items[i].device_key)};
        run_folds(&m, &source, list, n_list, o, &r);
        print_all(&m, &r, o);
        for (size_t v = 0; v < c.n; v++)
            variant_free(c.variants[v]);
        free(c.variants);
        costs_clear(&m);
    }
    if (groups.n == 0)
        fprintf(stderr, "dispatch: %s holds nothing of this task as it is now, of these types and device\n",
                o->results);
    results_groups_clear(&groups);
    strb_clear(&types_text);
    store_close(s);
}

static const char *value_of(int argc, char **argv, const char *name, const char *otherwise)
{
    for (int i = 3; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return argv[i + 1];
    return otherwise;
}

int main(int argc, char **argv)
{
    kw_error err = {0};
    task *t = NULL;
    task_shape *list = NULL;
    size_t n_list = 0;
    if (argc < 3 || argc % 2 == 0) {
        fprintf(stderr,
                "usage: dispatch TASK RESULTS|synthetic [--shapes FILE] [--variants K] [--device KEY] [--type T] "
                "[--seed N] [--known N]\n");
        return 2;
    }
    const options o = {.task = argv[1],
                       .results = argv[2],
                       .shapes = value_of(argc, argv, "--shapes", NULL),
                       .device_key = value_of(argc, argv, "--device", NULL),
                       .type = value_of(argc, argv, "--type", ""),
                       .n_variants = strtoul(value_of(argc, argv, "--variants", "8"), NULL, 10),
                       .n_known = strtoul(value_of(argc, argv, "--known", "0"), NULL, 10),
                       .seed = strtoull(value_of(argc, argv, "--seed", "1"), NULL, 10)};
    if (o.n_variants < 1 || o.n_variants > PORTFOLIO_MAX) {
        fprintf(stderr, "dispatch: --variants: 1 to %d\n", PORTFOLIO_MAX);
        return 2;
    }
    need(task_load(o.task, &t, &err), &err);
    if (o.shapes)
        need(task_shapes_load(t, o.shapes, &list, &n_list, &err), &err);
    if (strcmp(o.results, "synthetic") == 0) {
        cost_table m;
        replay r = {0};
        columns c = {.n = 0};
        costmodel_source source = {.cookie = &c, .plan = plan_of, .runs = runs, .units = UNITS};
        need(task_types_parse(t, o.type, &source.types, &err), &err);
        (void)make_tiles(c.tiles);
        make_synthetic(t, &o, list, n_list, &m);
        run_folds(&m, &source, list, n_list, &o, &r);
        print_all(&m, &r, &o);
        costs_clear(&m);
    } else {
        replay_recorded(t, &o, list, n_list);
    }
    free(list);
    task_free(t);
    return 0;
}
