/* What was recorded: files of one kernel on several devices become sites, with values numbered alike, and transfers. */
#include "bench/retune.h"

#include "base/mem.h"
#include "tuner/recorded.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PARAMS 64

site *sites;
size_t n_sites;
transfer *transfers;
size_t n_transfers, n_results;
static size_t sites_capacity, transfers_capacity;

void stop(const kw_error *err)
{
    fprintf(stderr, "retune: %s\n", err->message);
    exit(err->code);
}

static bool same_value(const value *a, const value *b)
{
    strb x = STRB_INIT, y = STRB_INIT;
    value_print(*a, &x);
    value_print(*b, &y);
    bool same = strcmp(strb_text(&x), strb_text(&y)) == 0;
    strb_clear(&x);
    strb_clear(&y);
    return same;
}

static double as_number(const value *v)
{
    strb x = STRB_INIT;
    value_print(*v, &x);
    double number = strtod(strb_text(&x), NULL);
    strb_clear(&x);
    return number;
}

/* The parameters of a kernel with the values of all its recordings, so that one index means one value everywhere. */
typedef struct kernel {
    const char *name;
    space_param params[MAX_PARAMS];
    size_t n_params;
} kernel;

static void merge_values(kernel *k, const recorded *r)
{
    if (k->n_params == 0) {
        k->n_params = r->n_params;
        for (size_t p = 0; p < r->n_params; p++)
            k->params[p] = (space_param){.name = r->params[p].name, .slot = (int)p};
    }
    for (size_t p = 0; p < r->n_params; p++) {
        space_param *q = &k->params[p];
        if (strcmp(q->name, r->params[p].name) != 0) {
            fprintf(stderr, "retune: %s has other parameters than its namesakes\n", r->name);
            exit(KW_BAD_INPUT);
        }
        value *all = mem_alloc((q->n_values + r->params[p].n_values) * sizeof *all);
        size_t n = q->n_values;
        if (n > 0)
            memcpy(all, q->values, n * sizeof *all);
        for (size_t v = 0; v < r->params[p].n_values; v++) {
            bool known = false;
            for (size_t i = 0; i < n && !known; i++)
                known = same_value(&all[i], &r->params[p].values[v]);
            size_t at = n;
            if (known)
                continue;
            while (at > 0 && as_number(&all[at - 1]) > as_number(&r->params[p].values[v])) {
                all[at] = all[at - 1];
                at--;
            }
            all[at] = r->params[p].values[v];
            n++;
        }
        q->values = all;
        q->n_values = n;
    }
}

static uint32_t index_of(const space_param *q, const value *v)
{
    for (uint32_t i = 0; i < q->n_values; i++)
        if (same_value(&q->values[i], v))
            return i;
    abort();
}

static void parse_dims(site *s, const char *text)
{
    for (const char *p = text; s->n_dims < RETUNE_DIMS; p++) {
        p += strcspn(p, ":=");
        if (*p != '=')
            break;
        s->dims[s->n_dims++] = log2(1 + strtod(p + 1, NULL));
    }
}

/* Without its folder, so that no two devices share what looks like an architecture. */
static char *file_name(const char *path)
{
    const char *base = strrchr(path, '/');
    return mem_strdup(base ? base + 1 : path);
}

static void add_site(const kernel *k, const recorded *r, const char *device)
{
    sites = mem_grow(sites, &sites_capacity, n_sites + 1, sizeof *sites);
    site *s = &sites[n_sites++];
    *s = (site){.device = file_name(device), .kernel = mem_strdup(k->name), .n = r->n};
    const char *dims = strchr(r->name, ':');
    uint32_t *rows = mem_alloc(r->n * r->n_params * sizeof *rows);
    uint32_t **map = mem_calloc(r->n_params, sizeof *map);
    for (size_t p = 0; p < r->n_params; p++) {
        map[p] = mem_alloc(r->params[p].n_values * sizeof **map);
        for (size_t v = 0; v < r->params[p].n_values; v++)
            map[p][v] = index_of(&k->params[p], &r->params[p].values[v]);
    }
    if (dims)
        parse_dims(s, dims + 1);
    for (size_t i = 0; i < r->n; i++) {
        space_unrank(r->space, i, rows + i * r->n_params);
        for (size_t p = 0; p < r->n_params; p++)
            rows[i * r->n_params + p] = map[p][rows[i * r->n_params + p]];
    }
    kw_error err;
    if (space_of_list(k->params, k->n_params, rows, r->n, &s->space, &err) != KW_OK)
        stop(&err);
    s->ns = mem_alloc(r->n * sizeof *s->ns);
    for (size_t i = 0; i < r->n; i++) {
        uint64_t rank;
        space_rank(s->space, rows + i * r->n_params, &rank);
        s->ns[rank] = r->times_ns[i];
    }
    s->best = r->best_ns;
    s->worst = r->worst_ns;
    for (size_t p = 0; p < r->n_params; p++)
        free(map[p]);
    free(map);
    free(rows);
}

static void read_all(const char *path, recorded_list *list)
{
    kw_error err;
    if (recorded_read(path, &(const recorded_options){.unit_ns = 0}, list, &err) != KW_OK)
        stop(&err);
}

static void add_transfers(size_t first)
{
    for (size_t t = first; t < n_sites; t++) {
        for (size_t s = first; s < n_sites; s++) {
            bool starts = t == first || strcmp(sites[t].device, sites[t - 1].device) != 0;
            bool starts_too = s == first || strcmp(sites[s].device, sites[s - 1].device) != 0;
            if (!starts || !starts_too || strcmp(sites[s].device, sites[t].device) == 0)
                continue;
            transfers = mem_grow(transfers, &transfers_capacity, n_transfers + 1, sizeof *transfers);
            transfer *x = &transfers[n_transfers++];
            *x = (transfer){.target = t, .source = s};
            while (t + x->n_target < n_sites && strcmp(sites[t + x->n_target].device, sites[t].device) == 0)
                x->n_target++;
            while (s + x->n_source < n_sites && strcmp(sites[s + x->n_source].device, sites[s].device) == 0)
                x->n_source++;
            n_results += x->n_target;
        }
    }
}

void load_kernel(const char *name, char *const *paths, size_t n, size_t most)
{
    recorded_list *lists = mem_calloc(n, sizeof *lists);
    kernel *k = mem_calloc(1, sizeof *k);
    k->name = name;
    const size_t first = n_sites;
    for (size_t i = 0; i < n; i++) {
        read_all(paths[i], &lists[i]);
        for (size_t j = 0; j < lists[i].n; j++)
            merge_values(k, lists[i].items[j]);
    }
    for (size_t i = 0; i < n; i++) {
        const size_t all = lists[i].n, take = all < most ? all : most;
        for (size_t j = 0; j < take; j++)
            add_site(k, lists[i].items[j * all / take], paths[i]);
    }
    add_transfers(first);
}

char *kernel_name(const char *path)
{
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    const char *end = strstr(base, "__");
    return mem_strndup(base, end ? (size_t)(end - base) : strlen(base));
}
