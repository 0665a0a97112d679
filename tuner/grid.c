/* First: its parameters must not be taken for names of ours. */
#include "codegen/runtime/select.h"
#include "codegen/runtime/tree.h"

#include "tuner/grid_internal.h"

#include "base/mem.h"
#include "base/strb.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST_DIM (INT64_C(1) << 61)
#define LARGEST_ALIGN 16

/* ---- axes ---- */

/* The largest dim whose logarithm is at most this; at least 0. */
static int64_t largest_with(int32_t log2_256)
{
    int64_t low = 0, high = LARGEST_DIM;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (kw_log2_256(middle) <= log2_256)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The samples of a cell: its largest value, a multiple of up to LARGEST_ALIGN in its middle, an odd number there. A
 * cell that has no whole number has the one below it. */
static uint8_t fill_values(const shape_grid *g, const task_dim *d, int32_t cell, int64_t values[GRID_VALUES])
{
    const int32_t end = (int32_t)((uint32_t)(cell + 1) << g->shift) - 0x100000; /* as kw_grid_cell counts */
    int64_t high = largest_with(end), low = largest_with(end - (1 << g->shift)) + 1, align = LARGEST_ALIGN;
    high = high > d->max ? d->max : high < 1 ? 1 : high;
    low = low > high ? high : low;
    const int64_t middle = low + (high - low) / 2, odd = middle | 1;
    while (align > 1 && (middle / align * align < low || 2 * align > high))
        align /= 2;
    uint8_t n = 0;
    const int64_t wanted[GRID_VALUES] = {high, middle / align * align, odd > high ? low : odd};
    for (size_t i = 0; i < GRID_VALUES; i++) {
        bool seen = false;
        for (size_t k = 0; k < n; k++)
            seen |= values[k] == wanted[i];
        if (!seen && wanted[i] >= d->min)
            values[n++] = wanted[i];
    }
    if (n == 0)
        values[n++] = d->min;
    for (size_t i = n; i < GRID_VALUES; i++)
        values[i] = values[0];
    return n;
}

static int32_t number_of(int64_t dim, int shift)
{
    return kw_grid_cell(kw_log2_256(dim > 0 ? dim : 1), shift, 0, INT32_MAX);
}

static size_t set_shift(shape_grid *g, int shift, const int64_t *low, const int64_t *high)
{
    size_t cells = 1;
    g->shift = shift;
    for (size_t i = 0; i < g->n_axes; i++) {
        g->axes[i].first = number_of(low[i], shift);
        g->axes[i].n = number_of(high[i], shift) - g->axes[i].first + 1;
        cells *= (size_t)g->axes[i].n;
    }
    return cells;
}

static bool find_axes(shape_grid *g, size_t most)
{
    const cost_table *m = g->c->m;
    int64_t low[GRID_MAX_KEYS], high[GRID_MAX_KEYS];
    for (size_t d = 0; d < m->task->n_dims; d++) {
        if (!m->task->dims[d].is_key) {
            g->has_others = true;
            continue;
        }
        if (g->n_axes == GRID_MAX_KEYS)
            return false;
        low[g->n_axes] = INT64_MAX;
        high[g->n_axes] = 0;
        for (size_t i = 0; i < m->n_shapes; i++) {
            const int64_t x = m->shapes[i].dims[d];
            low[g->n_axes] = x < low[g->n_axes] ? x : low[g->n_axes];
            high[g->n_axes] = x > high[g->n_axes] ? x : high[g->n_axes];
        }
        if (high[g->n_axes] > LARGEST_DIM / 2)
            return false;
        g->axes[g->n_axes++].dim = d;
    }
    int shift = GRID_FINEST;
    while (shift <= GRID_COARSEST && set_shift(g, shift, low, high) > most)
        shift++;
    return g->n_axes > 0 && m->n_shapes > 0 && shift <= GRID_COARSEST;
}

/* ---- shapes ---- */

bool grid_shape(const shape_grid *g, const grid_sample *x, task_shape *out)
{
    const task *t = g->c->m->task;
    *out = g->base;
    for (size_t i = 0; i < g->n_axes; i++)
        out->dims[g->axes[i].dim] = g->axes[i].values[x->at[i]];
    if (!g->has_others)
        return true;
    strb text = STRB_INIT;
    kw_error err;
    for (size_t i = 0; i < g->n_axes; i++)
        strb_printf(&text, "%s%s=%" PRId64, i > 0 ? "," : "", t->dims[g->axes[i].dim].name, out->dims[g->axes[i].dim]);
    const bool ok = task_shape_parse(t, strb_text(&text), out, &err) == KW_OK;
    strb_clear(&text);
    return ok;
}

/* Of so many columns one at least is a product, or none is taken to be. */
#define LOOKED_AT 8

static shape_grid *new_grid(costmodel *c, size_t most)
{
    shape_grid *g = mem_calloc(1, sizeof *g);
    *g = (shape_grid){.c = c};
    if (!find_axes(g, most)) {
        grid_free(g);
        return NULL;
    }
    g->base = c->m->shapes[0];
    for (size_t i = 0; i < g->n_axes; i++) {
        grid_axis *a = &g->axes[i];
        a->values = mem_calloc((size_t)a->n * GRID_VALUES, sizeof *a->values);
        a->n_values = mem_calloc((size_t)a->n, sizeof *a->n_values);
        for (size_t k = 0; k < (size_t)a->n; k++)
            a->n_values[k] =
                fill_values(g, &c->m->task->dims[a->dim], a->first + (int32_t)k, &a->values[k * GRID_VALUES]);
        g->base.dims[a->dim] = a->values[0];
    }
    g->factors = mem_calloc(c->m->n_variants + 1, sizeof *g->factors);
    g->used = mem_calloc(c->m->n_shapes, sizeof *g->used);
    g->is_fitted = mem_calloc(c->m->n_variants + 1, sizeof *g->is_fitted);
    g->all_fits = mem_calloc(c->m->n_variants * COSTMODEL_TERMS + 1, sizeof *g->all_fits);
    return g;
}

shape_grid *grid_new(costmodel *c)
{
    shape_grid *g = new_grid(c, GRID_CELLS);
    bool fast = false;
    for (size_t v = 0; g && v < c->m->n_variants && v < LOOKED_AT && !fast; v++)
        fast = grid_is_product(g, v);
    if (!g || fast || grid_cells(g) <= GRID_CELLS_SLOW)
        return g;
    grid_free(g);
    return new_grid(c, GRID_CELLS_SLOW);
}

void grid_free(shape_grid *g)
{
    if (!g)
        return;
    for (size_t v = 0; g->factors && v < g->c->m->n_variants; v++)
        for (size_t i = 0; i < g->n_axes; i++)
            free(g->factors[v].of[i]);
    for (size_t i = 0; i < g->n_axes; i++) {
        free(g->axes[i].values);
        free(g->axes[i].n_values);
    }
    free(g->factors);
    free(g->used);
    free(g->is_fitted);
    free(g->all_fits);
    free(g);
}

/* Other shapes than the last time: all fits are void. */
static void begin_fits(shape_grid *g, const bool *used)
{
    bool same = true;
    for (size_t i = 0; i < g->c->m->n_shapes; i++) {
        same = same && g->used[i] == (!used || used[i]);
        g->used[i] = !used || used[i];
    }
    if (!same)
        memset(g->is_fitted, 0, g->c->m->n_variants * sizeof *g->is_fitted);
}

static const double *fit_of(shape_grid *g, size_t v, const bool *used)
{
    double *fit = &g->all_fits[v * COSTMODEL_TERMS];
    if (!g->is_fitted[v])
        costmodel_fit(g->c, v, used, fit);
    g->is_fitted[v] = true;
    return fit;
}

void grid_fit(shape_grid *g, const portfolio *p, const bool *used)
{
    const cost_table *m = g->c->m;
    double mean[PORTFOLIO_MAX] = {0};
    g->p = *p;
    begin_fits(g, used);
    for (size_t k = 0; k < p->n; k++) {
        memcpy(g->fits[k], fit_of(g, p->variants[k], used), sizeof g->fits[k]);
        for (size_t i = 0; i < m->n_shapes; i++)
            mean[k] += !used || used[i] ? m->shapes[i].weight * m->ratio[i * m->n_variants + p->variants[k]] : 0;
        size_t at = k;
        for (; at > 0 && mean[g->by_mean[at - 1]] > mean[k]; at--)
            g->by_mean[at] = g->by_mean[at - 1];
        g->by_mean[at] = k;
    }
}

size_t grid_cells(const shape_grid *g)
{
    size_t n = 1;
    for (size_t i = 0; i < g->n_axes; i++)
        n *= (size_t)g->axes[i].n;
    return n;
}

size_t grid_cell(const shape_grid *g, const int64_t *dims)
{
    size_t at = 0;
    for (size_t i = 0; i < g->n_axes; i++) {
        const grid_axis *a = &g->axes[i];
        at = at * (size_t)a->n + (size_t)kw_grid_cell(kw_log2_256(dims[a->dim]), g->shift, a->first, a->n);
    }
    return at;
}

/* ---- leaves ---- */

static header_grid *empty_grid(const shape_grid *g)
{
    header_grid *h = mem_calloc(1, sizeof *h);
    *h = (header_grid){.shift = g->shift, .leaf = mem_calloc(grid_cells(g), sizeof *h->leaf)};
    for (size_t i = 0; i < g->n_axes; i++) {
        h->first[g->axes[i].dim] = g->axes[i].first;
        h->n[g->axes[i].dim] = g->axes[i].n;
    }
    return h;
}

/* The leaf with this ranking, a new one if there is none. */
static size_t find_leaf(grid_leaves *l, size_t *capacity, const size_t *ranked)
{
    for (size_t i = 0; i < l->n; i++)
        if (memcmp(l->items[i].ranked, ranked, sizeof l->items[i].ranked) == 0)
            return i;
    if (l->n == UINT16_MAX)
        return l->n - 1;
    l->items = mem_grow(l->items, capacity, l->n + 1, sizeof *l->items);
    grid_leaf *x = &l->items[l->n];
    memset(x, 0, sizeof *x);
    memcpy(x->ranked, ranked, sizeof x->ranked);
    return l->n++;
}

typedef struct numbered {
    grid_leaf leaf;
    size_t number;
} numbered;

static int by_cells(const void *a, const void *b)
{
    const numbered *x = a, *y = b;
    if (x->leaf.n_cells != y->leaf.n_cells)
        return x->leaf.n_cells > y->leaf.n_cells ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* Those of many cells first: a header then has short numbers. */
static void sort_leaves(grid_leaves *l, size_t n_cells)
{
    numbered *order = mem_calloc(l->n + 1, sizeof *order);
    uint16_t *number = mem_calloc(l->n + 1, sizeof *number);
    for (size_t i = 0; i < l->n; i++)
        order[i] = (numbered){l->items[i], i};
    qsort(order, l->n, sizeof *order, by_cells);
    for (size_t i = 0; i < l->n; i++) {
        l->items[i] = order[i].leaf;
        number[order[i].number] = (uint16_t)i;
    }
    for (size_t i = 0; i < n_cells; i++)
        l->grid->leaf[i] = number[l->grid->leaf[i]];
    free(order);
    free(number);
}

void grid_settle(shape_grid *g, grid_leaves *out)
{
    size_t capacity = 0;
    *out = (grid_leaves){.grid = empty_grid(g)};
    for (size_t cell = 0; cell < grid_cells(g); cell++) {
        size_t ranked[HEADER_TREE_RANKED];
        double ratio[HEADER_TREE_RANKED];
        grid_rank(g, cell, ranked, ratio);
        const size_t leaf = find_leaf(out, &capacity, ranked);
        out->grid->leaf[cell] = (uint16_t)leaf;
        out->items[leaf].n_cells++;
        for (size_t k = 0; k < HEADER_TREE_RANKED; k++)
            out->items[leaf].ratio[k] += ratio[k];
    }
    for (size_t i = 0; i < out->n; i++)
        for (size_t k = 0; k < HEADER_TREE_RANKED; k++)
            out->items[i].ratio[k] /= (double)out->items[i].n_cells;
    sort_leaves(out, grid_cells(g));
}

void grid_leaves_clear(grid_leaves *l)
{
    free(l->items);
    if (l->grid)
        free(l->grid->leaf);
    free(l->grid);
    *l = (grid_leaves){0};
}

size_t grid_leaf_of(const grid_leaves *l, const task *t, const int64_t *dims)
{
    const header_grid *h = l->grid;
    size_t at = 0;
    for (size_t d = 0; d < t->n_dims; d++)
        if (t->dims[d].is_key)
            at = at * (size_t)h->n[d] + (size_t)kw_grid_cell(kw_log2_256(dims[d]), h->shift, h->first[d], h->n[d]);
    return h->leaf[at];
}
