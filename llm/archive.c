#include "llm/archive.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct archive {
    elite cells[BEHAVIOUR_CELLS];
};

archive *archive_new(void)
{
    return mem_calloc(1, sizeof(archive));
}

void archive_free(archive *a)
{
    if (!a)
        return;
    for (int i = 0; i < BEHAVIOUR_CELLS; i++)
        free(a->cells[i].best.config);
    free(a);
}

/* The elite keeps its count of visits: they belong to the cell. */
static void settle(elite *e, const offer *o, uint64_t ordinal)
{
    free(e->best.config);
    e->best = *o;
    e->best.config = mem_strdup(o->config ? o->config : "{}");
    e->occupied = true;
    e->since = ordinal;
    e->tries = 0;
}

archive_verdict archive_offer(archive *a, const offer *o, uint64_t ordinal, bool retimed)
{
    elite *e = &a->cells[behaviour_cell(&o->where)];
    if (!isfinite(o->fitness))
        return ARCHIVE_WORSE;
    if (!e->occupied) {
        settle(e, o, ordinal);
        return ARCHIVE_NEW;
    }
    double gain = o->fitness - e->best.fitness, noise = fmax(o->rel_noise, e->best.rel_noise);
    if (!(gain > 0) || strcmp(o->source_hash, e->best.source_hash) == 0)
        return ARCHIVE_WORSE;
    if (!retimed && gain <= noise)
        return ARCHIVE_UNSURE;
    settle(e, o, ordinal);
    return ARCHIVE_REPLACED;
}

void archive_retime(archive *a, int cell, double fitness)
{
    if (a->cells[cell].occupied && isfinite(fitness))
        a->cells[cell].best.fitness = fitness;
}

void archive_visit(archive *a, int cell)
{
    a->cells[cell].visits++;
    a->cells[cell].tries++;
}

const elite *archive_cell(const archive *a, int cell)
{
    return &a->cells[cell];
}

size_t archive_occupied(const archive *a)
{
    size_t n = 0;
    for (int i = 0; i < BEHAVIOUR_CELLS; i++)
        n += a->cells[i].occupied;
    return n;
}

const elite *archive_best(const archive *a)
{
    const elite *best = NULL;
    for (int i = 0; i < BEHAVIOUR_CELLS; i++) {
        const elite *e = &a->cells[i];
        if (e->occupied && (!best || e->best.fitness > best->best.fitness))
            best = e;
    }
    return best;
}

json *archive_to_json(const archive *a)
{
    json *all = json_new_array();
    for (int i = 0; i < BEHAVIOUR_CELLS; i++) {
        const elite *e = &a->cells[i];
        if (!e->occupied)
            continue;
        json *one = json_new_object(), *cell = json_new_array();
        for (int d = 0; d < BEHAVIOUR_DIMS; d++)
            json_append(cell, json_new_int(e->best.where.level[d]));
        json_set(one, "cell", cell);
        json_set_number(one, "fitness", e->best.fitness);
        json_set_string(one, "template_hash", e->best.template_hash);
        json_set_string(one, "source_hash", e->best.source_hash);
        json *config = json_parse(e->best.config, strlen(e->best.config), NULL, 1, 1, NULL);
        json_set(one, "config", config ? config : json_new_object());
        json_set_bool(one, "from_artefact", e->best.where.from_artefact);
        json_set_int(one, "since", (int64_t)e->since);
        json_set_int(one, "visits", (int64_t)e->visits);
        json_append(all, one);
    }
    return all;
}

void archive_print(const archive *a, strb *out)
{
    strb_add(out, "memory");
    for (int p = 0; p < BEHAVIOUR_LEVELS; p++)
        strb_printf(out, "   parallelism %d      ", p);
    strb_add(out, "\n");
    for (int m = BEHAVIOUR_LEVELS - 1; m >= 0; m--) {
        strb_printf(out, "  %d   ", m);
        for (int p = 0; p < BEHAVIOUR_LEVELS; p++) {
            for (int c = 0; c < BEHAVIOUR_LEVELS; c++) {
                const elite *e = &a->cells[(m * BEHAVIOUR_LEVELS + c) * BEHAVIOUR_LEVELS + p];
                if (e->occupied)
                    strb_printf(out, " %4.2f", e->best.fitness);
                else
                    strb_add(out, "    .");
            }
            strb_add(out, "  ");
        }
        strb_add(out, "\n");
    }
    strb_add(out, "compute");
    for (int p = 0; p < BEHAVIOUR_LEVELS; p++)
        strb_add(out, "   0    1    2    3  ");
    strb_add(out, "\n");
}
