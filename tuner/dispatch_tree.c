/* The tree layer of a dispatch table: from what was measured on a device to its portfolio and tree. */
#include "base/mem.h"
#include "tuner/dispatch_choose.h"

#include <stdlib.h>
#include <string.h>

/* A leaf's own held-out shapes are few: this many of the mean shape stand beside them. */
#define LEAF_PRIOR 2.0

/* ---- the matrix ---- */

bool may_be_in_tree(const choice *c, const ledger_entry *e)
{
    const known_variant *x = find_known(&c->known, e->source_hash);
    return e->ok && e->time.n > 0 && e->verified == VERIFIED_GENERAL && x && x->v && x->is_opencl &&
           serves_all_shapes(x->v);
}

/* The general variants of the device, in the order of their hashes. */
static void find_columns(const choice *c, chosen_device *d)
{
    bool *seen = mem_calloc(c->known.n + 1, sizeof *seen);
    for (size_t i = 0; i < d->n_rows; i++) {
        const ledger *l = &d->rows[i].group->ledger;
        for (size_t k = 0; k < l->n; k++)
            if (may_be_in_tree(c, &l->entries[k]))
                seen[find_known(&c->known, l->entries[k].source_hash) - c->known.items] = true;
    }
    d->columns = mem_calloc(c->known.n + 1, sizeof *d->columns);
    for (size_t k = 0; k < c->known.n; k++)
        if (seen[k])
            d->columns[d->n_columns++] = &c->known.items[k];
    free(seen);
}

/* What the shapes list says of it; 1 if it is not in the list. */
static double weight_of(const choice *c, const task_shape *shape)
{
    for (size_t i = 0; i < c->n_shapes; i++)
        if (memcmp(c->shapes[i].dims, shape->dims, c->t->n_dims * sizeof *shape->dims) == 0)
            return c->shapes[i].weight > 0 ? c->shapes[i].weight : 1;
    return 1;
}

static void fill_matrix(const choice *c, const chosen_device *d, cost_table *m)
{
    costs_init(m, c->t, d->n_rows, d->n_columns);
    for (size_t i = 0; i < d->n_rows; i++) {
        const ledger *l = &d->rows[i].group->ledger;
        m->shapes[i] = d->rows[i].shape;
        m->shapes[i].weight = weight_of(c, &d->rows[i].shape);
        costs_note_best(m, i, d->rows[i].source->newest.time.median);
        for (size_t k = 0; k < d->n_columns; k++) {
            const ledger_entry *e = ledger_find(l, d->columns[k]->hash);
            if (!variant_fits(d->columns[k]->v, &m->shapes[i], NULL, NULL))
                costs_exclude(m, i, k);
            else if (e && e->ok && e->time.n > 0)
                costs_set(m, i, k, e->time.median);
        }
    }
    costs_finish(m);
}

/* ---- the model of times ---- */

static bool plan_of(void *cookie, size_t v, const task_shape *s, costmodel_plan *out)
{
    const chosen_device *d = cookie;
    return costmodel_plan_variant(d->columns[v]->v, s, out);
}

static bool runs(void *cookie, size_t v, const task_shape *s)
{
    const chosen_device *d = cookie;
    return variant_fits(d->columns[v]->v, s, NULL, NULL);
}

static costmodel *new_model(chosen_device *d, const cost_table *m)
{
    const costmodel_source source = {
        .cookie = d, .plan = plan_of, .runs = runs, .types = d->columns[0]->v->types, .units = costmodel_units(d->key)};
    return costmodel_new(m, &source);
}

/* ---- the tree ---- */

/* What is to be expected in each leaf: the held-out ratios of its shapes. */
static double *leaf_regrets(const cost_table *m, const tree *t, const tree_estimate *e)
{
    const double mean = regret_mean(&e->held_out);
    double mean_weight = 0;
    for (size_t i = 0; i < m->n_shapes; i++)
        mean_weight += m->shapes[i].weight / (double)m->n_shapes;
    double *sum = mem_calloc(tree_leaves(t), sizeof *sum), *weight = mem_calloc(tree_leaves(t), sizeof *weight);
    for (size_t i = 0; i < m->n_shapes; i++) {
        const size_t leaf = tree_leaf(t, m->shapes[i].dims);
        sum[leaf] += m->shapes[i].weight * e->ratios[i];
        weight[leaf] += m->shapes[i].weight;
    }
    for (size_t k = 0; k < tree_leaves(t); k++)
        sum[k] = (sum[k] + LEAF_PRIOR * mean_weight * mean) / (weight[k] + LEAF_PRIOR * mean_weight);
    free(weight);
    return sum;
}

static void report_curve(const cost_table *m, dispatch_report *r)
{
    portfolio curve[DISPATCH_CURVE];
    r->n_curve = portfolio_curve(m, DISPATCH_CURVE, curve);
    for (size_t i = 0; i < r->n_curve; i++) {
        r->curve[i].mean = regret_mean(&curve[i].regret);
        r->curve[i].geomean = regret_geomean(&curve[i].regret);
        r->curve[i].worst = curve[i].regret.worst;
    }
    r->recommended = portfolio_recommend(curve, r->n_curve);
}

static void choose_tree(const choice *c, chosen_device *d)
{
    cost_table *m = &d->costs;
    shape_features f;
    tree_estimate e;
    portfolio p;
    find_columns(c, d);
    d->report = (dispatch_report){.device_key = d->key, .n_shapes = d->n_rows, .n_general = d->n_columns};
    if (d->n_rows < DISPATCH_TREE_SHAPES || d->n_columns == 0)
        return;
    fill_matrix(c, d, m);
    features_of_task(c->t, &f);
    report_curve(m, &d->report);
    costmodel *model = new_model(d, m);
    tree_try_sizes(m, model, &d->report.sizes);
    if (d->report.sizes.recommended > DISPATCH_VARIANTS)
        d->report.recommended = d->report.sizes.recommended;
    else if (d->report.recommended > DISPATCH_VARIANTS && d->report.sizes.n > 0)
        d->report.recommended = DISPATCH_VARIANTS; /* more would only seem to help */
    size_t wanted = c->n_portfolio;
    if (wanted == DISPATCH_AUTO)
        wanted = d->report.recommended > DISPATCH_VARIANTS ? d->report.recommended : DISPATCH_VARIANTS;
    tree *t = tree_choose(m, &f, wanted, model, &p, &e);
    double *regrets = leaf_regrets(m, t, &e);
    tree_export(t, regrets, &d->tree);
    d->has_tree = true;
    d->report.n_portfolio = p.n;
    d->report.n_leaves = tree_leaves(t);
    d->report.n_cells = tree_cells(t);
    d->report.folds = e.folds;
    d->report.held_out = (dispatch_regret){regret_mean(&e.held_out), regret_geomean(&e.held_out), e.held_out.worst};
    free(regrets);
    free(e.ratios);
    tree_free(t);
    costmodel_free(model);
}

void choose_trees(choice *c)
{
    for (size_t i = 0; c->n_portfolio > 0 && i < c->n_devices; i++)
        choose_tree(c, &c->devices[i]);
}

bool tree_names(const chosen_device *d, const known_variant *x)
{
    for (size_t i = 0; d->has_tree && i < d->tree.n_leaves; i++)
        for (size_t k = 0; k < HEADER_TREE_RANKED; k++)
            if (d->tree.leaves[i].variants[k] >= 0 && d->columns[d->tree.leaves[i].variants[k]] == x)
                return true;
    return false;
}
