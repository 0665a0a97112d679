/* What a dispatch table loses on shapes that were never tuned, by replay of a recorded matrix (shapes x variants):
 *
 *   dispatch TASK RESULTS [--shapes FILE] [--variants K|auto] [--device KEY] [--type T] [--known N] [--again FILE]
 *   dispatch gemm synthetic [--shapes FILE] [--variants K|auto] [--seed N]
 *
 * Shapes are left out in ten folds (or those of FILE, in one; then only variants count that were timed on some of
 * them); portfolio and grid or tree are made from the others, as emit makes them, and asked for those left out. Beside
 * it, from the same shapes: the best variant of the shape with the nearest volume (product of dims), of the nearest
 * shape in log space, the one variant that is best on the mean, and CLBlast's two; "measured": a tree of the measured
 * shapes alone; "model": the member of the portfolio that the model of times (tuner/costmodel.h) finds fastest, as if a
 * header could ask it. --known N: only so many of the others are known.
 *
 * Regret is time over the best of everything that was timed on the shape. The best of hundreds of medians is partly
 * luck. With --again, results of the best variants measured once more (only they count then), two more figures judge the
 * header by these second times: over the best of the finalists, which are the portfolio and the winner of the first times
 * ("again": regret is at least 1), and over that winner alone ("tuned": what tuning this very shape would have won; it
 * may be below 1). Last line: "dispatch: key=value ...".
 *
 * "synthetic" is a model of a tiled matrix product on a GPU of 132 units (dispatch_data.c): to try the method without a
 * device. Its numbers say nothing of any device. */
#include "bench/dispatch.h"

#include "base/counter_rng.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDS 10
#define LONG_NS 30000.0 /* shapes over this are reported by themselves */

typedef struct options {
    const char *task, *results, *again, *shapes, *device_key, *type;
    size_t n_variants, n_known; /* n_variants 0: as recommended; n_known: at most so many of the shapes not left out are
                                   known, 0: all */
    uint64_t seed;
} options;

void need(kw_code code, const kw_error *err)
{
    if (code == KW_OK)
        return;
    fprintf(stderr, "dispatch: %s\n", err->message);
    exit(code == KW_BAD_INPUT ? 2 : 1);
}

/* ---- the replay ---- */

typedef struct score {
    regret_sum all, longer;
    size_t n, n_longer, unknown; /* unknown: nobody timed the choice there, or it cannot run */
} score;

static void count(score *s, const cost_table *m, size_t shape, double ratio)
{
    s->n++;
    regret_add(&s->all, ratio, 1);
    if (m->best_ns[shape] > LONG_NS) {
        s->n_longer++;
        regret_add(&s->longer, ratio, 1);
    }
}

static void add_score(score *s, const matrix_data *d, size_t shape, size_t v)
{
    const cost_table *m = &d->m;
    const double ratio = v == SIZE_MAX ? COSTS_MAX_RATIO : m->ratio[shape * m->n_variants + v];
    s->unknown += v == SIZE_MAX || !costs_known(m, shape, v);
    count(s, m, shape, ratio);
}

typedef struct replay {
    score of[RULES], again, tuned;
    double log_luck; /* sum over the shapes of `tuned`: the first winner's second time over its first */
    size_t leaves, members, beyond, folds, by_model; /* beyond: shapes out of reach; by_model: folds that have a grid */
} replay;

/* By the second times, where there are all that it takes. */
static void judge_again(const matrix_data *d, const portfolio *p, size_t shape, size_t chosen, replay *r)
{
    const size_t n = d->m.n_variants;
    const double *again = &d->again_ns[shape * n];
    size_t winner = SIZE_MAX;
    for (size_t v = 0; v < n; v++)
        if (costs_known(&d->m, shape, v) &&
            (winner == SIZE_MAX || d->m.ratio[shape * n + v] < d->m.ratio[shape * n + winner]))
            winner = v;
    if (winner == SIZE_MAX || chosen == SIZE_MAX || isnan(again[winner]) || isnan(again[chosen]))
        return;
    double best = fmin(again[winner], again[chosen]);
    for (size_t k = 0; k < p->n; k++)
        if (!isnan(again[p->variants[k]]))
            best = fmin(best, again[p->variants[k]]);
    count(&r->again, &d->m, shape, again[chosen] / best);
    count(&r->tuned, &d->m, shape, again[chosen] / again[winner]);
    r->log_luck += log(again[winner] / d->m.ns[shape * n + winner]);
}

/* `used` says which shapes are known, `left_out` which are asked for. */
static void one_fold(const matrix_data *d, const bool *used, const bool *left_out, size_t k, replay *r)
{
    const cost_table *m = &d->m;
    cost_table train;
    shape_features f;
    tree_estimate e;
    portfolio p;
    double fits[PORTFOLIO_MAX][COSTMODEL_TERMS];
    costs_subset(m, used, &train);
    features_of_task(m->task, &f);
    costmodel *c = costmodel_new(&train, &d->source);
    if (k == 0) {
        tree_sizes sizes;
        tree_try_sizes(&train, c, &sizes);
        k = sizes.n > 0 ? sizes.recommended : PORTFOLIO_DEFAULT;
    }
    tree *t = tree_choose(&train, &f, k, NULL, &p, &e), *measured = t;
    if (c) {
        free(e.ratios);
        t = tree_choose(&train, &f, k, c, &p, &e);
    }
    for (size_t i = 0; c && i < p.n; i++)
        costmodel_fit(c, p.variants[i], NULL, fits[i]);
    const two_by_volume clblast = clblast_of(&train);
    r->leaves += tree_leaves(t);
    r->members += p.n;
    r->by_model += e.settings.by_model;
    r->folds++;
    for (size_t i = 0; i < m->n_shapes; i++) {
        if (!left_out[i])
            continue;
        const size_t single = best_variant(&train, SIZE_MAX, m, i);
        const size_t chosen = by_tree(t, m, i), before = by_tree(measured, m, i);
        r->beyond += chosen == SIZE_MAX;
        add_score(&r->of[RULE_TREE], d, i, chosen == SIZE_MAX ? single : chosen);
        judge_again(d, &p, i, chosen == SIZE_MAX ? single : chosen, r);
        add_score(&r->of[RULE_MEASURED], d, i, before == SIZE_MAX ? single : before);
        if (c)
            add_score(&r->of[RULE_MODEL], d, i, by_model(c, &p, fits, m, i));
        add_score(&r->of[RULE_SINGLE], d, i, single);
        add_score(&r->of[RULE_CLBLAST], d, i, by_clblast(&clblast, &train, m, i));
        add_score(&r->of[RULE_PORTFOLIO], d, i, by_portfolio(&p, m, i));
        for (rule q = RULE_VOLUME; q <= RULE_NEAREST; q++)
            add_score(&r->of[q], d, i, best_variant(&train, nearest_shape(&train, m->shapes[i].dims, q), m, i));
    }
    free(e.ratios);
    tree_free(t);
    if (measured != t)
        tree_free(measured);
    costmodel_free(c);
    costs_clear(&train);
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

static void run_folds(const matrix_data *d, const task_shape *list, size_t n_list, const options *o, replay *r)
{
    const cost_table *m = &d->m;
    bool *used = mem_calloc(m->n_shapes + 1, sizeof *used), *left_out = mem_calloc(m->n_shapes + 1, sizeof *left_out);
    size_t *fold = mem_calloc(m->n_shapes + 1, sizeof *fold);
    size_t n_left_out = 0;
    for (size_t i = 0; i < m->n_shapes; i++) /* shuffled: neighbours in the file are often alike */
        fold[i] = (size_t)(counter_rng_u64(3, 9, i) % FOLDS);
    for (size_t f = 0; f < (n_list > 0 ? 1 : FOLDS); f++) {
        for (size_t i = 0; i < m->n_shapes; i++) {
            left_out[i] = n_list > 0 ? is_listed(m, m->shapes[i].dims, list, n_list) : fold[i] == f;
            used[i] = !left_out[i];
            n_left_out += left_out[i];
        }
        if (o->n_known > 0)
            keep_some(m->n_shapes, used, o->n_known, f);
        one_fold(d, used, left_out, o->n_variants, r);
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

static void print_score(const char *name, const score *s)
{
    printf("%-10s %8.3f %8.3f %8.3f %10.3f %10.3f %8zu\n", name, regret_geomean(&s->all), regret_mean(&s->all),
           s->all.worst, regret_geomean(&s->longer), s->longer.worst, s->unknown);
}

static void print_all(const matrix_data *d, const replay *r, const options *o)
{
    const cost_table *m = &d->m;
    printf("%-10s %8s %8s %8s %10s %10s %8s\n", "rule", "geomean", "mean", "worst", "geo >30us", "worst >30us",
           "not timed");
    for (rule q = 0; q < RULES; q++)
        print_score(rule_names[q], &r->of[q]);
    if (r->again.n > 0) {
        printf("the header by second times, %zu shapes, %zu over 30 us:\n", r->again.n, r->again.n_longer);
        print_score("again", &r->again);
        print_score("tuned", &r->tuned);
    }
    printf(
        "dispatch: matrix=%s shapes=%zu shapes_left_out=%zu shapes_over_30us=%zu variants=%zu portfolio=%.1f folds=%zu "
        "leaves_mean=%.1f beyond_reach=%zu folds_by_model=%zu luck_expected=%.4f",
        strcmp(o->results, "synthetic") == 0 ? "synthetic" : "recorded", m->n_shapes, r->of[0].n, r->of[0].n_longer,
        m->n_variants, (double)r->members / (double)r->folds, r->folds, (double)r->leaves / (double)r->folds, r->beyond,
        r->by_model, d->luck_expected);
    for (rule q = 0; q < RULES; q++)
        printf(" %s_geomean=%.4f %s_worst=%.3f %s_geomean_30us=%.4f %s_worst_30us=%.3f", rule_names[q],
               regret_geomean(&r->of[q].all), rule_names[q], r->of[q].all.worst, rule_names[q],
               regret_geomean(&r->of[q].longer), rule_names[q], r->of[q].longer.worst);
    if (r->again.n > 0)
        printf(
            " shapes_again=%zu luck=%.4f again_geomean=%.4f again_worst=%.3f again_geomean_30us=%.4f "
            "again_worst_30us=%.3f tuned_geomean=%.4f tuned_worst=%.3f tuned_geomean_30us=%.4f tuned_worst_30us=%.3f",
            r->again.n, exp(r->log_luck / (double)r->again.n), regret_geomean(&r->again.all), r->again.all.worst,
            regret_geomean(&r->again.longer), r->again.longer.worst, regret_geomean(&r->tuned.all), r->tuned.all.worst,
            regret_geomean(&r->tuned.longer), r->tuned.longer.worst);
    printf("\n");
}

static void load_groups(const char *path, const store_query *q, store **s, results_groups *groups)
{
    kw_error err = {0};
    need(results_open(path, NULL, s, &err), &err);
    need(results_groups_load(*s, q, false, groups, &err), &err);
}

/* The run of groups that are of one context with this one. */
static size_t count_same(const results_groups *g, size_t first)
{
    size_t n = 1;
    while (first + n < g->n && results_same_context(&g->items[first], &g->items[first + n]))
        n++;
    return n;
}

static void replay_recorded(const task *t, const options *o, const task_shape *list, size_t n_list)
{
    kw_error err = {0};
    store *s = NULL, *s_again = NULL;
    results_groups groups = {0}, again = {0};
    task_types types;
    strb types_text = STRB_INIT;
    need(task_types_parse(t, o->type, &types, &err), &err);
    task_types_print(t, &types, &types_text);
    const store_query q = {.task_hash = t->hash, .types = strb_text(&types_text), .device_key = o->device_key};
    load_groups(o->results, &q, &s, &groups);
    if (o->again)
        load_groups(o->again, &q, &s_again, &again);
    for (size_t i = 0, n; i < groups.n; i += n) {
        matrix_data d;
        replay r = {0};
        size_t first = 0, n_again = 0;
        n = count_same(&groups, i);
        for (; first < again.n && n_again == 0; first += n_again > 0 ? 0 : 1)
            n_again = results_same_context(&groups.items[i], &again.items[first]) ? count_same(&again, first) : 0;
        printf("%s, %s caches\n", groups.items[i].device_key, groups.items[i].mode);
        recorded_matrix(t, &types, &groups.items[i], n, list, n_list, &again.items[first], n_again, &d);
        run_folds(&d, list, n_list, o, &r);
        print_all(&d, &r, o);
        matrix_data_clear(&d);
    }
    if (groups.n == 0)
        fprintf(stderr, "dispatch: %s holds nothing of this task as it is now, of these types and device\n",
                o->results);
    results_groups_clear(&groups);
    results_groups_clear(&again);
    strb_clear(&types_text);
    store_close(s);
    store_close(s_again);
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
                "usage: dispatch TASK RESULTS|synthetic [--shapes FILE] [--variants K|auto] [--device KEY] [--type T] "
                "[--seed N] [--known N] [--again FILE]\n");
        return 2;
    }
    const char *variants = value_of(argc, argv, "--variants", "8");
    const options o = {.task = argv[1],
                       .results = argv[2],
                       .again = value_of(argc, argv, "--again", NULL),
                       .shapes = value_of(argc, argv, "--shapes", NULL),
                       .device_key = value_of(argc, argv, "--device", NULL),
                       .type = value_of(argc, argv, "--type", ""),
                       .n_variants = strtoul(variants, NULL, 10),
                       .n_known = strtoul(value_of(argc, argv, "--known", "0"), NULL, 10),
                       .seed = strtoull(value_of(argc, argv, "--seed", "1"), NULL, 10)};
    if (strcmp(variants, "auto") != 0 && (o.n_variants < 1 || o.n_variants > PORTFOLIO_MAX)) {
        fprintf(stderr, "dispatch: --variants: 1 to %d, or auto\n", PORTFOLIO_MAX);
        return 2;
    }
    need(task_load(o.task, &t, &err), &err);
    if (o.shapes)
        need(task_shapes_load(t, o.shapes, &list, &n_list, &err), &err);
    if (strcmp(o.results, "synthetic") == 0) {
        matrix_data d;
        replay r = {0};
        synthetic_matrix(t, o.type, o.seed, list, n_list, &d);
        run_folds(&d, list, n_list, &o, &r);
        print_all(&d, &r, &o);
        matrix_data_clear(&d);
    } else {
        replay_recorded(t, &o, list, n_list);
    }
    free(list);
    task_free(t);
    return 0;
}
