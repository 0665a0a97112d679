/* Parts of bench/dispatch.c: where the matrix comes from, and the rules that choose. */
#ifndef BENCH_DISPATCH_H
#define BENCH_DISPATCH_H

#include "tuner/results_groups.h"
#include "tuner/tree.h"

typedef struct tile {
    int m, n, split, vector;
} tile;

/* What the columns are: tiles of the synthetic model, or variants expanded from today's templates. */
typedef struct columns {
    tile tiles[256];
    variant **variants; /* NULL: tiles */
    size_t n;
} columns;

/* A matrix. */
typedef struct matrix_data {
    cost_table m;
    columns c;
    costmodel_source source;
    double *again_ns;     /* [shape * variants + variant]: measured once more; NaN: it was not */
    double luck_expected; /* as luck_by_intervals; 1 for a model's matrix */
} matrix_data;

void need(kw_code code, const kw_error *err); /* or the program ends */

/* dispatch_data.c */
void synthetic_matrix(const task *t, const char *type, uint64_t seed, const task_shape *more, size_t n_more,
                      matrix_data *out);
/* n groups of one context. Columns that were timed on none of the listed shapes are left out (NULL: none are).
 * `again` (n_again groups, may be 0): rows of the same context, measured once more; of the others no column is kept. */
void recorded_matrix(const task *t, const task_types *types, const results_group *g, size_t n, const task_shape *list,
                     size_t n_list, const results_group *again, size_t n_again, matrix_data *out);
void matrix_data_clear(matrix_data *d);
bool is_listed(const cost_table *m, const int64_t *dims, const task_shape *list, size_t n);

/* dispatch_luck.c: by how much the best of noisy times is too good. Each recorded median gets noise as its interval says
 * (of the run that it was measured in: what differs between runs is not in it), and what is least then is compared with
 * what it was; geometric mean over shapes and draws. */
double luck_by_intervals(const cost_table *m, const results_group *g, const char *const *hashes);

/* dispatch_rules.c */
typedef enum rule {
    RULE_TREE,
    RULE_MEASURED,
    RULE_MODEL,
    RULE_VOLUME,
    RULE_NEAREST,
    RULE_SINGLE,
    RULE_CLBLAST,
    RULE_PORTFOLIO,
    RULES
} rule;
extern const char *const rule_names[RULES];

/* The best variant that can run `shape` of m, by the times of another shape of `train`, or (from SIZE_MAX) by the mean
 * of all. */
size_t best_variant(const cost_table *train, size_t from, const cost_table *m, size_t shape);
size_t nearest_shape(const cost_table *train, const int64_t *dims, rule r);
size_t by_tree(const tree *t, const cost_table *m, size_t shape);
size_t by_portfolio(const portfolio *p, const cost_table *m, size_t shape);
size_t by_model(const costmodel *c, const portfolio *p, double (*fits)[COSTMODEL_TERMS], const cost_table *m,
                size_t shape);

/* CLBlast's way: one configuration for large products, tuned at 1024^3, and one for small ones, tuned at 256^3, told
 * apart by a volume. Of the known shapes the nearest to those, and the threshold that is best for them. */
typedef struct two_by_volume {
    size_t large, small; /* columns */
    double from;         /* volume */
} two_by_volume;
two_by_volume clblast_of(const cost_table *train);
size_t by_clblast(const two_by_volume *x, const cost_table *train, const cost_table *m, size_t shape);

#endif
