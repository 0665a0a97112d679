/* The grids of a header: a table of cells for each device that has one, and how it is asked. */
#include "codegen/header_internal.h"

#include <inttypes.h>

#define LINE 24 /* cells */

size_t header_grid_cells(const writer *w, const header_grid *g)
{
    size_t n = 1;
    for (size_t i = 0; i < w->m->task->n_dims; i++)
        if (w->m->task->dims[i].is_key)
            n *= (size_t)g->n[i];
    return n;
}

static kw_code grid_error(const header_device *d, kw_error *err, const char *what)
{
    return kw_error_set(err, KW_BAD_INPUT, "the grid of device %s: %s", d->key, what);
}

kw_code header_check_grid(const writer *w, const header_device *d, kw_error *err)
{
    const header_grid *g = d->tree->grid;
    size_t n = 1;
    if (g->shift < 4 || g->shift > 12)
        return grid_error(d, err, "its cells are wider or narrower than a header takes");
    for (size_t i = 0; i < w->m->task->n_dims; i++) {
        if (!w->m->task->dims[i].is_key)
            continue;
        if (g->n[i] < 1 || (size_t)g->n[i] > HEADER_GRID_CELLS / n)
            return grid_error(d, err, "it has no cell, or more than a header takes");
        n *= (size_t)g->n[i];
    }
    for (size_t i = 0; i < n; i++)
        if (g->leaf[i] >= d->tree->n_leaves)
            return grid_error(d, err, "a cell names a leaf that it does not have");
    return KW_OK;
}

void header_put_cells(writer *w)
{
    header_put(w, &w->out, "/* The leaf of each cell of the devices' grids. */\nstatic const uint16_t @_cells[] = {");
    for (size_t i = 0; i < w->m->n_devices; i++) {
        const header_tree *t = w->m->devices[i].tree;
        const size_t n = t && t->grid ? header_grid_cells(w, t->grid) : 0;
        for (size_t k = 0; k < n; k++)
            strb_printf(&w->out, "%s%u,", k % LINE == 0 ? "\n    " : "", (unsigned)t->grid->leaf[k]);
    }
    strb_add(&w->out, "\n};\n\n");
}

static void put_numbers(writer *w, const int32_t *numbers)
{
    const char *comma = "";
    strb_add(&w->out, "{");
    for (size_t i = 0; i < w->m->task->n_dims; i++) {
        if (!w->m->task->dims[i].is_key)
            continue;
        strb_printf(&w->out, "%s%" PRId32, comma, numbers ? numbers[i] : 0);
        comma = ", ";
    }
    strb_add(&w->out, "}, ");
}

void header_put_grid(writer *w, const header_grid *g, size_t first_cell)
{
    strb_printf(&w->out, "%d, %zu, ", g ? g->shift : 0, first_cell);
    put_numbers(w, g ? g->first : NULL);
    put_numbers(w, g ? g->n : NULL);
}

/* The offset of the cell, Horner's way. */
void header_put_grid_lookup(writer *w)
{
    const bool all = w->n_grids == w->n_trees;
    const char *indent = all ? "    " : "        ";
    size_t key = 0;
    strb_printf(&w->out, "%s%sint32_t at = 0;\n", all ? "" : "    if (t->shift > 0) {\n", indent);
    for (size_t i = 0; i < w->m->task->n_dims; i++) {
        if (!w->m->task->dims[i].is_key)
            continue;
        strb_printf(&w->out, "%sat = at * t->n[%zu] + kw_grid_cell(l%zu, t->shift, t->first[%zu], t->n[%zu]);\n",
                    indent, key, i, key, key);
        key++;
    }
    header_put_f(w, &w->out, "%sreturn &@_leaves[t->first_leaf + @_cells[t->first_cell + at]];\n%s", indent,
                 all ? "" : "    }\n");
}
