/* Writes headers with synthetic rows for bench/select.sh: select_header FILE ROWS DEVICES VARIANTS tree|grid. Shapes are
 * log-uniform, each row runs one of VARIANTS random configurations of gemm_tiled; devices have trees of 16 leaves or
 * grids as emit makes them, of half octaves. Prints the milliseconds that the
 * writer took, and the bytes of kernel text in the header. */
/* First: its parameters must not be taken for names of ours. */
#include "codegen/runtime/select.h"
#include "codegen/runtime/tree.h"

#include "base/clock.h"
#include "base/counter_rng.h"
#include "base/fs.h"
#include "codegen/features.h"
#include "codegen/header.h"
#include "codegen/task.h"
#include "codegen/template.h"
#include "codegen/variant.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct synthetic {
    task *task;
    task_types types;
    template *naive, *tiled;
    variant **variants;
    header_device *devices;
    header_tree *trees;
    header_row *rows;
    uint64_t counter;
} synthetic;

static void need(kw_code code, const kw_error *err)
{
    if (code == KW_OK)
        return;
    fprintf(stderr, "select_header: %s\n", err->message);
    exit(1);
}

static uint64_t draw(synthetic *s, uint64_t below)
{
    return counter_rng_u64(7, 3, s->counter++) % below;
}

/* Log-uniform in 1..8192. */
static int64_t draw_dim(synthetic *s)
{
    return (int64_t)floor(pow(2, 13 * (double)draw(s, 1u << 20) / (1u << 20)));
}

/* A random configuration that some device takes and that runs every shape: bounds checks, scalar loads. */
static variant *draw_variant(synthetic *s, uint32_t *config)
{
    const template *t = s->tiled;
    device_limits limits = {
        .max_work_group_size = 1024, .max_work_item_size = {1024, 1024, 64}, .local_mem_bytes = 49152};
    value *env = mem_calloc((size_t)expr_scope_size(t->scope), sizeof *env);
    kw_error err = {0};
    variant *v = NULL;
    do {
        for (size_t i = 0; i < t->n_params; i++)
            config[i] = (uint32_t)draw(s, t->params[i].n_values);
        need(template_set(t, "SPEC=false", config, &err), &err);
        need(template_set(t, "BOUNDS=true", config, &err), &err);
        need(template_set(t, "SPLITK=1", config, &err), &err);
        need(template_set(t, "VGA=1", config, &err), &err);
        need(template_set(t, "VGB=1", config, &err), &err);
        template_fill(t, &s->types, &limits, NULL, config, env);
    } while (template_rejects(t, env, false, NULL));
    need(variant_expand(t, &s->types, config, NULL, &v, &err), &err);
    free(env);
    return v;
}

enum { TREE_DEPTH = 4, TREE_NODES = (1 << TREE_DEPTH) - 1 };

/* A full tree that asks for a random feature at each node. It is asked for every shape. */
static void draw_tree(synthetic *s, header_tree *t, size_t n_variants)
{
    shape_features f;
    features_of_task(s->task, &f);
    *t = (header_tree){.n_nodes = TREE_NODES, .n_leaves = TREE_NODES + 1};
    t->nodes = mem_calloc(t->n_nodes, sizeof *t->nodes);
    t->leaves = mem_calloc(t->n_leaves, sizeof *t->leaves);
    for (size_t i = 0; i < t->n_nodes; i++) {
        int32_t values[FEATURES_MAX];
        const int64_t dims[TASK_MAX_DIMS] = {draw_dim(s), draw_dim(s), draw_dim(s)};
        features_compute(&f, dims, values); /* a value that occurs */
        t->nodes[i].feature = (int)draw(s, f.n);
        t->nodes[i].at_most = values[t->nodes[i].feature];
        for (size_t k = 0; k < 2; k++) {
            const size_t child = 2 * i + 1 + k;
            t->nodes[i].next[k] = child < t->n_nodes ? (int)child : ~(int)(child - t->n_nodes);
        }
    }
    for (size_t i = 0; i < t->n_leaves; i++)
        for (size_t k = 0; k < HEADER_TREE_RANKED; k++) {
            t->leaves[i].variants[k] = (int)(1 + draw(s, n_variants));
            t->leaves[i].expected_regret[k] = 1.0f + 0.1f * (float)k;
        }
    for (size_t i = 0; i < TASK_MAX_DIMS; i++)
        t->high[i] = INT64_MAX;
}

enum { GRID_CELLS = 26, GRID_LEAVES = 200 };

/* A grid of random leaves over dims of 1 to 8192. */
static void draw_grid(synthetic *s, header_tree *t, size_t n_variants)
{
    const size_t n = (size_t)GRID_CELLS * GRID_CELLS * GRID_CELLS;
    header_grid *g = mem_calloc(1, sizeof *g);
    *t = (header_tree){.n_leaves = GRID_LEAVES, .grid = g};
    t->leaves = mem_calloc(t->n_leaves, sizeof *t->leaves);
    *g = (header_grid){.shift = 7, .leaf = mem_calloc(n, sizeof *g->leaf)};
    for (size_t i = 0; i < TASK_MAX_DIMS; i++) {
        g->n[i] = GRID_CELLS;
        g->first[i] = kw_grid_cell(0, g->shift, 0, INT32_MAX);
        t->high[i] = INT64_MAX;
    }
    for (size_t i = 0; i < n; i++)
        g->leaf[i] = (uint16_t)draw(s, t->n_leaves);
    for (size_t i = 0; i < t->n_leaves; i++)
        for (size_t k = 0; k < HEADER_TREE_RANKED; k++) {
            t->leaves[i].variants[k] = (int)(1 + draw(s, n_variants));
            t->leaves[i].expected_regret[k] = 1.0f + 0.1f * (float)k;
        }
}

static void make(synthetic *s, size_t n_rows, size_t n_devices, size_t n_variants, bool grids)
{
    kw_error err = {0};
    need(task_load("gemm", &s->task, &err), &err);
    need(task_types_parse(s->task, "", &s->types, &err), &err);
    need(template_load("templates/gemm_naive.cl", s->task, &s->naive, &err), &err);
    need(template_load("templates/gemm_tiled.cl", s->task, &s->tiled, &err), &err);
    uint32_t *config = mem_calloc(s->tiled->n_params + s->naive->n_params, sizeof *config);
    s->variants = mem_calloc(n_variants + 1, sizeof(variant *));
    template_default(s->naive, config);
    need(variant_expand(s->naive, &s->types, config, NULL, &s->variants[0], &err), &err);
    for (size_t i = 1; i <= n_variants; i++)
        s->variants[i] = draw_variant(s, config);
    s->devices = mem_calloc(n_devices, sizeof *s->devices);
    s->trees = mem_calloc(n_devices, sizeof *s->trees);
    for (size_t i = 0; i < n_devices; i++) {
        char *key = mem_alloc(64);
        (void)snprintf(key, 64, "vendor%zu/arch%zu/device%zu/%zu", i % 4, i % 10, i, i + 1);
        if (grids)
            draw_grid(s, &s->trees[i], n_variants);
        else
            draw_tree(s, &s->trees[i], n_variants);
        s->devices[i] = (header_device){key, "synthetic", (int)(1 + i % n_variants), &s->trees[i]};
    }
    s->rows = mem_calloc(n_rows, sizeof *s->rows);
    for (size_t i = 0; i < n_rows; i++) {
        header_row *r = &s->rows[i];
        r->device = (int)(i % n_devices);
        r->dims[0] = draw_dim(s);
        r->dims[1] = draw_dim(s);
        r->dims[2] = (draw_dim(s) & ~INT64_C(1023)) + 1 + (int64_t)(i / n_devices % 1024); /* never the same twice */
        r->variant = (int)(1 + draw(s, n_variants));
        r->expected_regret = 1;
    }
    free(config);
}

static void finish(synthetic *s, size_t n_devices, size_t n_variants)
{
    for (size_t i = 0; i <= n_variants; i++)
        variant_free(s->variants[i]);
    for (size_t i = 0; i < n_devices; i++) {
        free((char *)(uintptr_t)s->devices[i].key);
        free(s->trees[i].nodes);
        free(s->trees[i].leaves);
        if (s->trees[i].grid)
            free(s->trees[i].grid->leaf);
        free(s->trees[i].grid);
    }
    free(s->trees);
    free(s->variants);
    free(s->devices);
    free(s->rows);
    template_free(s->naive);
    template_free(s->tiled);
    task_free(s->task);
}

int main(int argc, char **argv)
{
    synthetic s = {0};
    strb out = STRB_INIT;
    kw_error err = {0};
    size_t text = 0;
    if (argc != 6) {
        fprintf(stderr, "usage: select_header FILE ROWS DEVICES VARIANTS tree|grid\n");
        return 2;
    }
    const size_t n_rows = strtoul(argv[2], NULL, 10), n_devices = strtoul(argv[3], NULL, 10),
                 n_variants = strtoul(argv[4], NULL, 10);
    make(&s, n_rows, n_devices, n_variants, strcmp(argv[5], "grid") == 0);
    const header_model m = {.task = s.task,
                            .types = s.types,
                            .prefix = "kw_",
                            .variants = (const variant *const *)s.variants,
                            .n_variants = n_variants + 1,
                            .devices = s.devices,
                            .n_devices = n_devices,
                            .rows = s.rows,
                            .n_rows = n_rows,
                            .default_variant = 0,
                            .tool_version = "bench"};
    const int64_t start = clock_now_ns();
    need(header_write(&m, &out, &err), &err);
    need(fs_write(argv[1], out.data, out.length, &err), &err);
    const int64_t end = clock_now_ns();
    const char *from = strstr(out.data, "static const char *const kw_gemm_pieces[]");
    const char *to = strstr(out.data, "static const uint32_t kw_gemm_piece_list[]");
    if (from && to)
        text = (size_t)(to - from);
    printf("%.1f %zu %zu\n", (double)(end - start) / 1e6, out.length, text);
    strb_clear(&out);
    finish(&s, n_devices, n_variants);
    return 0;
}
