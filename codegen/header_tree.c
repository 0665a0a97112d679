/* The tree layer of a header: nodes, leaves and reach of the devices' trees, and the function that asks them. */
/* First: its parameters must not be taken for names of ours. */
#include "codegen/runtime/select.h"
#include "codegen/runtime/tree.h"

#include "codegen/header_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

_Static_assert(HEADER_TREE_RANKED == KW_TREE_RANKED && HEADER_TREE_LEAVES == KW_TREE_LEAVES,
               "leaves as the header has them");

#define THOUSANDTHS 1000.0

/* ---- checks ---- */

static kw_code tree_error(const header_device *d, kw_error *err, const char *what)
{
    return kw_error_set(err, KW_BAD_INPUT, "the tree of device %s: %s", d->key, what);
}

/* One that is a constant in the text cannot serve shapes that nobody knows yet. */
static bool serves_any_shape(const task *t, const variant *v)
{
    for (size_t i = 0; i < t->n_dims; i++)
        if (v->fixed_dims[i] >= 0)
            return false;
    return true;
}

static kw_code check_leaf(const writer *w, const header_device *d, const header_leaf *leaf, kw_error *err)
{
    for (size_t i = 0; i < HEADER_TREE_RANKED; i++) {
        const int v = leaf->variants[i];
        if (v < -1 || v >= (int)w->m->n_variants)
            return tree_error(d, err, "a leaf names a variant that is not in the model");
        if (v >= 0 && !serves_any_shape(w->m->task, w->m->variants[v]))
            return tree_error(d, err, "a leaf names a variant that is made for one shape");
        if (v >= 0 && (!isfinite(leaf->expected_regret[i]) || leaf->expected_regret[i] < 0))
            return tree_error(d, err, "an expected regret is not a number of at least 0");
    }
    return KW_OK;
}

/* Children stand behind their parent, each has one. */
static bool children_are_valid(const header_tree *t)
{
    unsigned char *parents = mem_calloc(t->n_nodes + t->n_leaves + 1, 1);
    bool valid = true;
    for (size_t i = 0; i < t->n_nodes && valid; i++)
        for (int c = 0; c < 2 && valid; c++) {
            const int next = t->nodes[i].next[c];
            const size_t number = next < 0 ? -1 - (size_t)next : (size_t)next;
            const size_t place = next < 0 ? t->n_nodes + number : number;
            valid = next < 0 ? number < t->n_leaves : number > i && number < t->n_nodes;
            valid = valid && parents[place]++ == 0;
        }
    free(parents);
    return valid;
}

static kw_code check_tree(writer *w, const header_device *d, kw_error *err)
{
    const header_tree *t = d->tree;
    kw_code code = KW_OK;
    if (t->n_leaves == 0 || t->n_leaves > (t->grid ? (size_t)UINT16_MAX : KW_TREE_LEAVES))
        return tree_error(d, err, "it has no leaf, or more than a header takes");
    for (size_t i = 0; i < t->n_nodes; i++) {
        if (t->nodes[i].feature < 0 || (size_t)t->nodes[i].feature >= w->features.n)
            return tree_error(d, err, "a node asks for a feature that the task does not have");
        w->feature_used[t->nodes[i].feature] = true;
    }
    if (t->grid) {
        if (t->n_nodes > 0)
            return tree_error(d, err, "it has nodes and a grid");
        code = header_check_grid(w, d, err);
    } else if (t->n_leaves != t->n_nodes + 1 || !children_are_valid(t))
        return tree_error(d, err, "its nodes do not make up a tree");
    for (size_t i = 0; i < t->n_leaves && code == KW_OK; i++)
        code = check_leaf(w, d, &t->leaves[i], err);
    return code;
}

kw_code header_check_trees(writer *w, kw_error *err)
{
    kw_code code = KW_OK;
    size_t n_leaves = 0;
    features_of_task(w->m->task, &w->features);
    for (size_t i = 0; i < w->m->n_devices && code == KW_OK; i++) {
        const header_tree *t = w->m->devices[i].tree;
        if (!t)
            continue;
        code = check_tree(w, &w->m->devices[i], err);
        w->n_trees++;
        w->n_grids += t->grid != NULL;
        w->n_nodes += t->n_nodes;
        n_leaves += t->n_leaves;
    }
    if (code == KW_OK && (w->n_nodes > INT32_MAX || n_leaves > INT32_MAX))
        code = kw_error_set(err, KW_BAD_INPUT, "%zu nodes of trees: too many for a header", w->n_nodes);
    return code;
}

/* ---- tables ---- */

/* The leaves below a node, in the order in which the header has them: `place` by number. */
static uint32_t leaves_below(const header_tree *t, int node, const unsigned *place)
{
    if (node < 0)
        return UINT32_C(1) << place[~node];
    return leaves_below(t, t->nodes[node].next[0], place) | leaves_below(t, t->nodes[node].next[1], place);
}

/* The whole tree is nodes[0]'s, or leaf 0. */
static int root_of(const header_tree *t)
{
    return t->n_nodes > 0 ? 0 : ~0;
}

/* From the yes side to the no side; returns how many there are so far. */
static unsigned place_leaves(const header_tree *t, int node, unsigned n, unsigned *place)
{
    if (node < 0) {
        place[~node] = n;
        return n + 1;
    }
    return place_leaves(t, t->nodes[node].next[1], place_leaves(t, t->nodes[node].next[0], n, place), place);
}

/* A header computes only the features that its trees ask for. */
static size_t feature_place(const writer *w, size_t number)
{
    size_t place = 0;
    for (size_t i = 0; i < number; i++)
        place += w->feature_used[i];
    return place;
}

static void put_node(writer *w, const header_tree *t, size_t node, const unsigned *place)
{
    const header_node *n = &t->nodes[node];
    strb note = STRB_INIT;
    features_print(&w->features, (size_t)n->feature, n->at_most, &note);
    strb_printf(&w->out, "    {%" PRId32 ", %zu, {0xffffffff, 0x%08" PRIx32 "}}, /* ", n->at_most,
                feature_place(w, (size_t)n->feature), ~leaves_below(t, n->next[0], place));
    header_put_comment(&w->out, strb_text(&note));
    strb_add(&w->out, " */\n");
    strb_clear(&note);
}

static void put_nodes(writer *w)
{
    header_put(w, &w->out, "static const kw_tree_node @_nodes[] = {\n");
    for (size_t i = 0; i < w->m->n_devices; i++) {
        const header_tree *t = w->m->devices[i].tree;
        unsigned place[KW_TREE_LEAVES];
        if (!t || t->n_nodes == 0)
            continue;
        (void)place_leaves(t, root_of(t), 0, place);
        strb_printf(&w->out, "    /* %zu: */\n", i);
        for (size_t k = 0; k < t->n_nodes; k++)
            put_node(w, t, k, place);
    }
    strb_add(&w->out, "};\n\n");
}

static void put_leaf(writer *w, const header_leaf *leaf)
{
    strb_add(&w->out, "    {{");
    for (size_t i = 0; i < HEADER_TREE_RANKED; i++)
        if (leaf->variants[i] < 0)
            strb_printf(&w->out, "%sKW_TREE_NONE", i > 0 ? ", " : "");
        else
            strb_printf(&w->out, "%s%d", i > 0 ? ", " : "", leaf->variants[i]);
    strb_add(&w->out, "}, {");
    for (size_t i = 0; i < HEADER_TREE_RANKED; i++)
        strb_printf(&w->out, "%s%.0f", i > 0 ? ", " : "",
                    leaf->variants[i] < 0 ? 0.0 : fmin(THOUSANDTHS * (double)leaf->expected_regret[i], UINT16_MAX));
    strb_add(&w->out, "}},\n");
}

static void put_leaves(writer *w)
{
    header_put(w, &w->out, "static const kw_tree_leaf @_leaves[] = {\n");
    for (size_t i = 0; i < w->m->n_devices; i++) {
        const header_tree *t = w->m->devices[i].tree;
        unsigned place[KW_TREE_LEAVES];
        size_t number[KW_TREE_LEAVES];
        for (size_t k = 0; t && t->grid && k < t->n_leaves; k++)
            put_leaf(w, &t->leaves[k]);
        if (!t || t->grid)
            continue;
        (void)place_leaves(t, root_of(t), 0, place);
        for (size_t k = 0; k < t->n_leaves; k++)
            number[place[k]] = k;
        for (size_t k = 0; k < t->n_leaves; k++)
            put_leaf(w, &t->leaves[number[k]]);
    }
    strb_add(&w->out, "};\n\n");
}

static void put_bounds(writer *w, const int64_t *bounds)
{
    const char *comma = "";
    strb_add(&w->out, "{");
    for (size_t i = 0; i < w->m->task->n_dims; i++) {
        if (!w->m->task->dims[i].is_key)
            continue;
        strb_printf(&w->out, "%sINT64_C(%" PRId64 ")", comma, bounds[i]);
        comma = ", ";
    }
    strb_add(&w->out, "}");
}

static size_t count_keys(const task *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_dims; i++)
        n += t->dims[i].is_key;
    return n;
}

static void put_roots(writer *w)
{
    const size_t n_keys = count_keys(w->m->task);
    size_t first_node = 0, first_leaf = 0, first_cell = 0;
    header_put(
        w, &w->out,
        "/* What a device's shapes are told apart by, and those that are near enough to measured ones to ask it. */\n"
        "typedef struct @_tree {\n");
    if (w->n_nodes > 0)
        strb_add(&w->out, "    int32_t first_node, n_nodes;\n");
    if (w->n_grids > 0)
        strb_printf(&w->out,
                    "    int32_t shift, first_cell; /* of a grid; shift 0: there is none */\n"
                    "    int32_t first[%zu], n[%zu];\n",
                    n_keys, n_keys);
    header_put_f(w, &w->out,
                 "    int32_t first_leaf;\n    int64_t low[%zu], high[%zu];\n} @_tree;\n\n"
                 "static const @_tree @_trees[] = {\n",
                 n_keys, n_keys);
    for (size_t i = 0; i < w->m->n_devices; i++) {
        const header_tree *t = w->m->devices[i].tree;
        if (!t)
            continue;
        strb_add(&w->out, "    {");
        if (w->n_nodes > 0)
            strb_printf(&w->out, "%zu, %zu, ", first_node, t->n_nodes);
        if (w->n_grids > 0)
            header_put_grid(w, t->grid, first_cell);
        strb_printf(&w->out, "%zu, ", first_leaf);
        put_bounds(w, t->low);
        strb_add(&w->out, ", ");
        put_bounds(w, t->high);
        strb_add(&w->out, "},\n");
        first_node += t->n_nodes;
        first_leaf += t->n_leaves;
        first_cell += t->grid ? header_grid_cells(w, t->grid) : 0;
    }
    strb_add(&w->out, "};\n\n");
}

/* ---- the function ---- */

static bool log_is_used(const writer *w, size_t dim)
{
    if (w->n_grids > 0 && w->m->task->dims[dim].is_key)
        return true;
    for (size_t k = 0; k < w->features.n; k++)
        if (w->feature_used[k] && w->features.items[k].sign[dim] != 0)
            return true;
    return false;
}

static void put_logs(writer *w)
{
    for (size_t i = 0; i < w->m->task->n_dims; i++)
        if (log_is_used(w, i))
            strb_printf(&w->out, "    const int32_t l%zu = kw_log2_256(s->%s);\n", i, w->dim_names[i]);
}

/* The same arithmetic as features_compute. */
static void put_features(writer *w)
{
    const task *t = w->m->task;
    strb *out = &w->out;
    for (size_t k = 0; k < w->features.n; k++) {
        const shape_feature *x = &w->features.items[k];
        bool first = true;
        if (!w->feature_used[k])
            continue;
        strb_printf(out, "    f[%zu] = ", feature_place(w, k));
        if (x->align >= 0)
            strb_printf(out, "kw_twos(s->%s)", w->dim_names[x->align]);
        for (size_t i = 0; x->align < 0 && i < t->n_dims; i++) {
            if (x->sign[i] == 0)
                continue;
            strb_printf(out, "%sl%zu", x->sign[i] < 0 ? (first ? "-" : " - ") : (first ? "" : " + "), i);
            first = false;
        }
        strb_add(out, ";\n");
    }
}

static void put_leaf_function(writer *w)
{
    const task *t = w->m->task;
    strb *out = &w->out;
    size_t key = 0;
    header_put(
        w, out,
        "/* What this device's tree says of a full shape; NULL: there is none, or the shape is too far from those "
        "that it knows. */\n"
        "static inline const kw_tree_leaf *@_find_leaf(int tree, const @_shape *s)\n{\n"
        "    const @_tree *t = &@_trees[tree < 0 ? 0 : tree];\n");
    put_logs(w);
    if (w->n_nodes > 0)
        strb_printf(out, "    int32_t f[%zu];\n", feature_place(w, w->features.n));
    strb_add(out, "    if (tree < 0");
    for (size_t i = 0; i < t->n_dims; i++) {
        if (!t->dims[i].is_key)
            continue;
        strb_printf(out, " || s->%s < t->low[%zu] || s->%s > t->high[%zu]", w->dim_names[i], key, w->dim_names[i], key);
        key++;
    }
    strb_add(out, ")\n        return NULL;\n");
    if (w->n_grids > 0)
        header_put_grid_lookup(w);
    if (w->n_nodes > 0) {
        put_features(w);
        header_put(w, out,
                   "    return &@_leaves[t->first_leaf + kw_tree_ask(@_nodes + t->first_node, t->n_nodes, f)];\n");
    } else if (w->n_grids < w->n_trees) {
        header_put(w, out, "    return &@_leaves[t->first_leaf];\n");
    }
    strb_add(out, "}\n\n");
}

void header_put_trees(writer *w)
{
    if (w->n_trees == 0) {
        header_put(w, &w->out,
                   "/* No device has a tree. */\n"
                   "static inline const kw_tree_leaf *@_find_leaf(int tree, const @_shape *s)\n{\n"
                   "    (void)tree;\n    (void)s;\n    return NULL;\n}\n\n");
        return;
    }
    if (w->n_nodes > 0)
        put_nodes(w);
    if (w->n_grids > 0)
        header_put_cells(w);
    put_leaves(w);
    put_roots(w);
    put_leaf_function(w);
}
