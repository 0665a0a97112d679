#include "tuner/crossover.h"

#include "base/mem.h"
#include "tuner/dispatch_choose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- comparing ---- */

/* The row of this shape; NULL if the device was not tuned for it. */
static const chosen_row *row_of(const task *t, const chosen_device *d, const task_shape *shape)
{
    for (size_t i = 0; i < d->n_rows; i++)
        if (memcmp(d->rows[i].shape.dims, shape->dims, t->n_dims * sizeof shape->dims[0]) == 0)
            return &d->rows[i];
    return NULL;
}

static bool same_method(const ledger_entry *a, const ledger_entry *b)
{
    return (!a->method && !b->method) || (a->method && b->method && strcmp(a->method, b->method) == 0);
}

static void compare_row(const chosen_row *own, const known_variant *other, crossover_cell *cell)
{
    const ledger *l = &own->group->ledger;
    const ledger_entry *best = ledger_find(l, own->variant->hash), *e = ledger_find(l, other->hash);
    cell->n_shapes++;
    if (e && !e->ok) {
        cell->n_failed++;
    } else if (!e || e->time.n == 0 || !same_method(e, best)) {
        cell->n_missing++;
    } else {
        cell->n_timed++;
        regret_add(&cell->slowdown, e->time.median / best->time.median, 1);
    }
}

static void compare_pair(const choice *c, const chosen_device *from, const chosen_device *on, crossover_cell *cell)
{
    for (size_t i = 0; i < from->n_rows; i++) {
        const chosen_row *own = row_of(c->t, on, &from->rows[i].shape);
        if (own)
            compare_row(own, from->rows[i].variant, cell);
    }
}

static void sum_up(crossover *out)
{
    double all = 0;
    size_t n_all = 0;
    for (size_t on = 0; on < out->n; on++) {
        double sum = 0;
        size_t n = 0;
        for (size_t from = 0; from < out->n; from++) {
            const crossover_cell *cell = &out->cells[from * out->n + on];
            if (from == on || cell->n_timed == 0)
                continue;
            sum += log(regret_geomean(&cell->slowdown));
            n++;
        }
        out->gain[on] = n > 0 ? exp(sum / (double)n) : 1;
        all += sum;
        n_all += n;
    }
    out->hardware_speedup = n_all > 0 ? exp(all / (double)n_all) : 1;
}

static kw_code load(choice *c, store *s, const task *t, const task_types *types, kw_error *err)
{
    strb text = STRB_INIT;
    *c = (choice){.t = t};
    task_types_print(t, types, &text);
    kw_code code = choose_load(c, s, strb_text(&text), NULL, err);
    strb_clear(&text);
    return code == KW_OK && c->groups.n > 0 ? choose_all(c, s, err) : code;
}

kw_code crossover_compare(store *s, const task *t, const task_types *types, crossover *out, kw_error *err)
{
    choice c;
    memset(out, 0, sizeof *out);
    kw_code code = load(&c, s, t, types, err);
    if (code == KW_OK && c.n_devices < 2)
        code =
            kw_error_set(err, KW_FAILED,
                         "%s has winners of %s for %zu device%s: crossover compares two or more; tune the same shapes "
                         "on another, or import its results",
                         store_path(s), t->name, c.n_devices, c.n_devices == 1 ? "" : "s");
    if (code == KW_OK) {
        out->n = c.n_devices;
        out->devices = mem_calloc(out->n, sizeof *out->devices);
        out->cells = mem_calloc(out->n * out->n, sizeof *out->cells);
        out->gain = mem_calloc(out->n, sizeof *out->gain);
        for (size_t i = 0; i < out->n; i++)
            out->devices[i] = mem_strdup(c.devices[i].key);
        for (size_t from = 0; from < out->n; from++)
            for (size_t on = 0; on < out->n; on++)
                compare_pair(&c, &c.devices[from], &c.devices[on], &out->cells[from * out->n + on]);
        sum_up(out);
    }
    choice_clear(&c);
    return code;
}

void crossover_clear(crossover *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->devices[i]);
    free(c->devices);
    free(c->cells);
    free(c->gain);
    memset(c, 0, sizeof *c);
}
