/* Questions to a finished space. */
#include "tuner/space_internal.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

size_t space_params(const space *s)
{
    return s->def.n_params;
}

const space_param *space_param_at(const space *s, size_t i)
{
    return &s->def.params[i];
}

uint64_t space_count(const space *s)
{
    return s->count;
}

double space_cartesian(const space *s)
{
    double product = 1;
    for (size_t i = 0; i < s->def.n_params; i++)
        product *= (double)s->def.params[i].n_values;
    return product;
}

size_t space_bytes(const space *s)
{
    return s->bytes;
}

const space_edge *space_find_edge(const space_level *level, uint32_t node, uint32_t wanted)
{
    const space_edge *edges = level->edges + level->first[node];
    uint32_t n = level->first[node + 1] - level->first[node];
    if (wanted < n && edges[wanted].value == wanted) /* no value before it is missing */
        return &edges[wanted];
    uint32_t lo = 0;
    while (n > 1) {
        uint32_t half = n / 2;
        lo += edges[lo + half].value <= wanted ? half : 0;
        n -= half;
    }
    return edges[lo].value == wanted ? &edges[lo] : NULL;
}

static bool fixed_agree(const space *s, const uint32_t *config)
{
    for (size_t i = 0; i < s->def.n_params; i++)
        if (s->fixed[i] != SPACE_VARIES && s->fixed[i] != config[i])
            return false;
    return true;
}

/* The rank of the configuration within a part. */
static bool part_rank(const space_part *part, const uint32_t *config, uint64_t *rank)
{
    uint32_t node = 0;
    *rank = 0;
    for (size_t k = 0; k < part->n_levels; k++) {
        const space_level *level = &part->levels[k];
        const space_edge *e = space_find_edge(level, node, config[level->param]);
        if (!e)
            return false;
        *rank = saturating_add(*rank, e->before);
        node = e->child;
    }
    return true;
}

bool space_rank(const space *s, const uint32_t *config, uint64_t *rank)
{
    uint64_t total = 0, within;
    if (!fixed_agree(s, config))
        return false;
    for (size_t i = 0; i < s->n_parts; i++) {
        if (!part_rank(&s->parts[i], config, &within))
            return false;
        total = saturating_add(saturating_mul(total, s->parts[i].count), within);
    }
    *rank = total;
    return true;
}

bool space_contains(const space *s, const uint32_t *config)
{
    uint64_t rank;
    return space_rank(s, config, &rank);
}

/* The last of the node's edges with before <= rank. */
static const space_edge *edge_of_rank(const space_level *level, uint32_t node, uint64_t rank)
{
    const space_edge *e = level->edges + level->first[node];
    uint32_t n = level->first[node + 1] - level->first[node];
    while (n > 1) {
        uint32_t half = n / 2;
        e += e[half].before <= rank ? half : 0;
        n -= half;
    }
    return e;
}

static void part_unrank(const space_part *part, uint64_t rank, uint32_t *config)
{
    uint32_t node = 0;
    for (size_t k = 0; k < part->n_levels; k++) {
        const space_level *level = &part->levels[k];
        const space_edge *e = edge_of_rank(level, node, rank);
        config[level->param] = e->value;
        rank -= e->before;
        node = e->child;
    }
}

void space_unrank(const space *s, uint64_t rank, uint32_t *config)
{
    memcpy(config, s->fixed, s->def.n_params * sizeof *config);
    for (size_t i = s->n_parts; i-- > 0;) {
        uint64_t count = s->parts[i].count;
        part_unrank(&s->parts[i], rank % count, config);
        rank /= count;
    }
}

/* Uniform in 0..n-1: random bits are thrown away while they lie in the incomplete last run of n. */
uint64_t space_random_below(uint64_t n, uint64_t (*random64)(void *), void *cookie)
{
    uint64_t incomplete = (UINT64_MAX % n + 1) % n;
    uint64_t bits;
    do
        bits = random64(cookie);
    while (bits > UINT64_MAX - incomplete);
    return bits % n;
}

/* For a part whose count does not fit: each step in proportion to the (rounded) number of configurations below. */
static void sample_by_weight(const space_part *part, uint64_t (*random64)(void *), void *cookie, uint32_t *config)
{
    uint32_t node = 0;
    for (size_t k = 0; k < part->n_levels; k++) {
        const space_level *level = &part->levels[k];
        const double *below_child = k + 1 < part->n_levels ? part->levels[k + 1].weight : NULL;
        const space_edge *e = level->edges + level->first[node];
        const space_edge *last = level->edges + level->first[node + 1] - 1;
        double left = (double)(random64(cookie) >> 11) * 0x1p-53 * level->weight[node];
        for (; e < last; e++) {
            left -= below_child ? below_child[e->child] : 1;
            if (left < 0)
                break;
        }
        config[level->param] = e->value;
        node = e->child;
    }
}

void space_sample(const space *s, uint64_t (*random64)(void *), void *cookie, uint32_t *config)
{
    if (s->count < UINT64_MAX) {
        space_unrank(s, space_random_below(s->count, random64, cookie), config);
        return;
    }
    memcpy(config, s->fixed, s->def.n_params * sizeof *config);
    for (size_t i = 0; i < s->n_parts; i++) {
        const space_part *part = &s->parts[i];
        if (part->count < UINT64_MAX)
            part_unrank(part, space_random_below(part->count, random64, cookie), config);
        else
            sample_by_weight(part, random64, cookie, config);
    }
}

void space_part_free(space_part *part)
{
    for (size_t k = 0; k < part->n_levels; k++) {
        free(part->levels[k].first);
        free(part->levels[k].edges);
        free(part->levels[k].weight);
        free(part->levels[k].child);
    }
    free(part->levels);
    part->levels = NULL;
    part->n_levels = 0;
}

size_t space_part_bytes(const space_part *part)
{
    size_t bytes = part->n_levels * sizeof *part->levels;
    for (size_t k = 0; k < part->n_levels; k++) {
        const space_level *level = &part->levels[k];
        bytes += (level->n_nodes + 1) * sizeof *level->first + level->first[level->n_nodes] * sizeof *level->edges;
        bytes += level->weight ? level->n_nodes * sizeof *level->weight : 0;
        bytes += level->child ? level->n_nodes * level->n_values * sizeof *level->child : 0;
    }
    return bytes;
}

static void index_level(space_level *level)
{
    size_t n = level->n_nodes * level->n_values;
    level->child = mem_alloc(n * sizeof *level->child);
    for (size_t i = 0; i < n; i++)
        level->child[i] = SPACE_NOWHERE;
    for (size_t node = 0; node < level->n_nodes; node++)
        for (uint32_t i = level->first[node]; i < level->first[node + 1]; i++)
            level->child[level->edges[i].value * level->n_nodes + node] = level->edges[i].child;
}

void space_part_index(space_part *part, const space_def *def, size_t max_bytes)
{
    size_t bytes = space_part_bytes(part);
    for (size_t k = 1; k < part->n_levels; k++) {
        space_level *level = &part->levels[k];
        level->n_values = def->params[level->param].n_values;
        size_t table = level->n_nodes * level->n_values * sizeof *level->child;
        if (table > level->first[level->n_nodes] * sizeof *level->edges || bytes + table > max_bytes)
            continue;
        index_level(level);
        bytes += table;
    }
}
