/* Writes what a community might have measured, for bench/results.sh: results_lines FOLDER LINES FILES. 20 tasks, of
 * which gemm is a real one with variants that can be emitted; devices and shapes in the proportion of 4 to 1, as many
 * as make LINES. Each of FILES contributors measured every device's winners that fall to it; a tenth of the devices was
 * measured by three, of whom one in fifty is far off. A tenth of the lines is in all files, as after an earlier merge.
 * Prints the lines written into all files together, and how many of them are different. */
#include "base/counter_rng.h"
#include "base/hash.h"
#include "base/mem.h"
#include "codegen/template.h"
#include "tuner/job.h"
#include "tuner/results_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS = 20, VARIANTS = 32, MOST_FILES = 64, MOST_LINE = 2048 };

typedef struct community {
    size_t n_devices, n_shapes, n_files;
    char (*devices)[64], (*shapes)[64]; /* sorted */
    task *task;
    task_types types;
    variant *variants[VARIANTS];
    char *configs[VARIANTS];
    FILE *files[MOST_FILES];
    size_t n_written, n_different;
} community;

static void need(kw_code code, const kw_error *err)
{
    if (code == KW_OK)
        return;
    fprintf(stderr, "results_lines: %s\n", err->message);
    exit(1);
}

static uint64_t draw(uint64_t stream, uint64_t i, uint64_t below)
{
    return counter_rng_u64(3, stream, i) % below;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

static int by_pointer(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* ---- what there is to measure ---- */

static void make_shapes(community *c)
{
    c->shapes = mem_calloc(c->n_shapes, sizeof *c->shapes);
    for (size_t i = 0; i < c->n_shapes; i++) {
        const int m = (int)pow(2, 13 * (double)draw(1, i, 1000) / 1000);
        const int n = (int)pow(2, 13 * (double)draw(2, i, 1000) / 1000);
        snprintf(c->shapes[i], sizeof c->shapes[i], "{\"M\":%d,\"N\":%d,\"K\":%zu}", m, n, i + 1);
    }
    qsort(c->shapes, c->n_shapes, sizeof *c->shapes, by_text);
}

static void make_devices(community *c)
{
    c->devices = mem_calloc(c->n_devices, sizeof *c->devices);
    for (size_t i = 0; i < c->n_devices; i++)
        snprintf(c->devices[i], sizeof c->devices[i], "vendor%zu/arch%zu/device%04zu/%zu", i % 4, i % 16, i,
                 8 + i % 125);
    qsort(c->devices, c->n_devices, sizeof *c->devices, by_text);
}

/* A random configuration that most devices take and that runs every shape. */
static variant *draw_variant(const community *c, const template *t, uint64_t *at)
{
    const device_limits limits = {
        .max_work_group_size = 1024, .max_work_item_size = {1024, 1024, 64}, .local_mem_bytes = 49152};
    static const char *const fixed[] = {"SPEC=false", "BOUNDS=true", "SPLITK=1", "VGA=1", "VGB=1"};
    value *env = mem_calloc((size_t)expr_scope_size(t->scope), sizeof *env);
    uint32_t *config = mem_calloc(t->n_params, sizeof *config);
    kw_error err = {0};
    variant *v = NULL;
    do {
        for (size_t i = 0; i < t->n_params; i++)
            config[i] = (uint32_t)draw(4, ++*at, t->params[i].n_values);
        for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
            need(template_set(t, fixed[i], config, &err), &err);
        template_fill(t, &c->types, &limits, NULL, config, env);
    } while (template_rejects(t, env, false, NULL));
    need(variant_expand(t, &c->types, config, NULL, &v, &err), &err);
    free(config);
    free(env);
    return v;
}

static void make_variants(community *c)
{
    kw_error err = {0};
    template *naive, *tiled;
    uint64_t at = 0;
    need(task_load("gemm", &c->task, &err), &err);
    need(task_types_parse(c->task, "", &c->types, &err), &err);
    need(template_load("templates/gemm_naive.cl", c->task, &naive, &err), &err);
    need(template_load("templates/gemm_tiled.cl", c->task, &tiled, &err), &err);
    uint32_t *config = mem_calloc(naive->n_params + 1, sizeof *config);
    template_default(naive, config);
    need(variant_expand(naive, &c->types, config, NULL, &c->variants[0], &err), &err);
    for (size_t i = 1; i < VARIANTS; i++)
        c->variants[i] = draw_variant(c, tiled, &at);
    for (size_t i = 0; i < VARIANTS; i++) {
        json *j = variant_to_json(c->variants[i]);
        strb text = STRB_INIT;
        json_print(json_get(j, "config"), &text);
        c->configs[i] = strb_take(&text);
        json_free(j);
    }
    free(config);
    template_free(naive);
    template_free(tiled);
}

/* ---- lines ---- */

static void write_line(community *c, const char *line, size_t file, bool everywhere)
{
    for (size_t i = 0; i < c->n_files; i++) {
        if (!everywhere && i != file)
            continue;
        fputs(line, c->files[i]);
        fputc('\n', c->files[i]);
        c->n_written++;
    }
    c->n_different++;
}

/* As `results export` writes them, pooled. */
static void make_line(const community *c, const char *task_name, const char *task_hash, size_t shape, size_t device,
                      size_t contributor, uint64_t number, char line[MOST_LINE])
{
    const size_t v = (size_t)draw(6, shape * 31 + device % 16, VARIANTS);
    const bool off = number % 50 == 49;
    const double ns = (off ? 0.3 : 1) * (1e4 + 1e3 * (double)draw(7, shape, 10000)) *
                      (1 + 0.1 * (double)(device % 40)) * (1 + 1e-5 * (double)draw(8, number, 1000));
    snprintf(line, MOST_LINE,
             "{\"measurement\":{\"task\":\"%s\",\"task_hash\":\"%s\",\"types\":\"T=f32,ACC=f32\",\"shape\":%s,"
             "\"scalars\":{\"alpha\":1,\"beta\":0},\"device_key\":\"%s\",\"api\":\"opencl\",\"mode\":\"cold\","
             "\"timing_version\":%d,\"source_hash\":\"%s\",\"template\":\"%s\",\"config\":%s,\"outcome\":\"ok\","
             "\"stage\":\"done\",\"verified\":\"general\",\"method\":\"events\",\"n\":%d,\"median_ns\":%.1f,"
             "\"lo_ns\":%.1f,\"hi_ns\":%.1f,\"compile_ms\":%.2f,\"verify_ms\":%.2f,\"time_ms\":%.2f,"
             "\"registers\":64,\"local_bytes\":16384,\"worst_error\":0.0625,\"noise\":0.01,\"device_name\":\"Device "
             "%zu\",\"driver\":\"%zu.%zu\",\"host\":\"host%zu\",\"run\":\"2026-11-%02zuT10:00:00Z-%zu\","
             "\"date\":\"2026-11-%02zuT10:%02zu:00Z\",\"tool_version\":\"0.1.0\",\"contributor\":\"contributor%zu\"}}",
             task_name, task_hash, c->shapes[shape], c->devices[device], TIMING_VERSION, c->variants[v]->hash,
             c->variants[v]->template_name, c->configs[v], (int)(5 + draw(9, number, 40)), ns, 0.995 * ns, 1.005 * ns,
             (double)draw(10, number, 90000) / 100, (double)draw(11, number, 9000) / 100,
             (double)draw(12, number, 9000) / 100, device, 500 + device % 60, device % 7, contributor,
             1 + contributor % 28, 1000 + device, 1 + contributor % 28, device % 60, contributor);
}

static void write_shape(community *c, const char *task_name, const char *task_hash, size_t shape)
{
    char lines[3][MOST_LINE];
    for (size_t device = 0; device < c->n_devices; device++) {
        const size_t n = device % 10 == 0 ? 3 : 1;
        char *sorted[3];
        for (size_t k = 0; k < n; k++) {
            sorted[k] = lines[k];
            make_line(c, task_name, task_hash, shape, device, device + 1000 * k, c->n_different + k, lines[k]);
        }
        qsort(sorted, n, sizeof *sorted, by_pointer);
        for (size_t k = 0; k < n; k++)
            write_line(c, sorted[k], (device + (size_t)(sorted[k] - lines[0]) / MOST_LINE) % c->n_files,
                       c->n_different % 10 == 0);
    }
}

/* The real ones, and for the other tasks text that nobody will look at. */
static void write_variants(community *c, char hashes[TASKS][HASH_HEX_SIZE], char names[TASKS][16])
{
    char *sorted[VARIANTS];
    for (size_t t = 0; t < TASKS; t++) {
        for (size_t i = 0; i < VARIANTS; i++) {
            json *j = variant_to_json(c->variants[i]);
            strb text = STRB_INIT, line = STRB_INIT;
            json_print(j, &text);
            const store_variant_row row = {.task = names[t],
                                           .task_hash = hashes[t],
                                           .source_hash = c->variants[i]->hash,
                                           .json_text = strb_text(&text)};
            results_variant_print(&row, &line);
            sorted[i] = strb_take(&line);
            strb_clear(&text);
            json_free(j);
        }
        qsort(sorted, VARIANTS, sizeof *sorted, by_pointer);
        for (size_t i = 0; i < VARIANTS; i++) {
            write_line(c, sorted[i], 0, true);
            free(sorted[i]);
        }
    }
}

static void write_all(community *c, const char *folder)
{
    char hashes[TASKS][HASH_HEX_SIZE], names[TASKS][16];
    for (size_t i = 0; i < c->n_files; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/contributor%zu.jsonl", folder, i);
        c->files[i] = fopen(path, "w");
        if (!c->files[i] || fputs("{\"kernwright\":\"results\",\"schema\":1}\n", c->files[i]) == EOF) {
            perror(path);
            exit(3);
        }
    }
    for (size_t t = 0; t < TASKS; t++) {
        snprintf(names[t], sizeof names[t], t == 0 ? "gemm" : "task%02zu", t);
        hash_hex(names[t], strlen(names[t]), hashes[t]);
        if (t == 0)
            memcpy(hashes[t], c->task->hash, HASH_HEX_SIZE);
        for (size_t shape = 0; shape < c->n_shapes; shape++)
            write_shape(c, names[t], hashes[t], shape);
    }
    write_variants(c, hashes, names);
    for (size_t i = 0; i < c->n_files; i++)
        if (fclose(c->files[i]) == EOF) {
            perror("results_lines");
            exit(3);
        }
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: results_lines FOLDER LINES FILES\n");
        return 2;
    }
    community c = {.n_files = strtoul(argv[3], NULL, 10)};
    const double per_task = strtod(argv[2], NULL) / TASKS / 1.2; /* a tenth of the devices has three lines */
    c.n_shapes = (size_t)fmax(1, round(sqrt(per_task / 4)));
    c.n_devices = (size_t)fmax(1, round(per_task / (double)c.n_shapes));
    if (c.n_files < 1 || c.n_files > MOST_FILES) {
        fprintf(stderr, "results_lines: 1 to %d files\n", MOST_FILES);
        return 2;
    }
    make_shapes(&c);
    make_devices(&c);
    make_variants(&c);
    write_all(&c, argv[1]);
    printf("%zu %zu %zu %zu\n", c.n_written, c.n_different, c.n_devices, c.n_shapes);
    for (size_t i = 0; i < VARIANTS; i++) {
        variant_free(c.variants[i]);
        free(c.configs[i]);
    }
    free(c.devices);
    free(c.shapes);
    task_free(c.task);
    return 0;
}
