/* Time to expand each template at random valid configurations, and at the largest text found. One line a template. */
#include "base/clock.h"
#include "base/counter_rng.h"
#include "codegen/task.h"
#include "codegen/template.h"
#include "codegen/variant.h"
#include "tuner/space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIGURATIONS = 200 };

static uint64_t next_random(void *cookie)
{
    uint64_t *i = cookie;
    return counter_rng_u64(1, 0, (*i)++);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double worst_median_ms, worst_max_ms;

static int bench_template(const template *p, const task_types *types, const task_shape *shape)
{
    static const device_limits gpu = {.max_work_group_size = 1024,
                                      .max_work_item_size = {1024, 1024, 64},
                                      .local_mem_bytes = 48 << 10,
                                      .max_alloc_bytes = 1ll << 34,
                                      .global_mem_bytes = 1ll << 36,
                                      .compute_units = 132,
                                      .preferred_multiple = 32,
                                      .is_gpu = 1};
    kw_error err;
    space *s;
    if (space_of_template(p, types, &gpu, shape, &s, &err) != KW_OK) {
        printf("%-18s no valid configuration for this shape\n", p->name);
        return 0;
    }
    uint32_t *config = calloc(p->n_params + 1, sizeof *config);
    double ms[CONFIGURATIONS];
    size_t longest = 0;
    uint64_t draw = 0;
    int status = 0;
    for (int i = 0; i < CONFIGURATIONS && status == 0; i++) {
        variant *v;
        space_sample(s, next_random, &draw, config);
        int64_t from = clock_now_ns();
        status = variant_expand(p, types, config, shape, &v, &err) != KW_OK;
        ms[i] = (double)(clock_now_ns() - from) / 1e6;
        if (status) {
            fprintf(stderr, "%s: %s\n", p->name, err.message);
            break;
        }
        longest = strlen(v->source) > longest ? strlen(v->source) : longest;
        variant_free(v);
    }
    if (status == 0) {
        qsort(ms, CONFIGURATIONS, sizeof *ms, by_value);
        double median = ms[CONFIGURATIONS / 2], max = ms[CONFIGURATIONS - 1];
        printf("%-18s median %.3f ms, max %.3f ms, text up to %zu bytes\n", p->name, median, max, longest);
        worst_median_ms = median > worst_median_ms ? median : worst_median_ms;
        worst_max_ms = max > worst_max_ms ? max : worst_max_ms;
    }
    free(config);
    space_free(s);
    return status;
}

int main(void)
{
    char **names;
    size_t n_tasks;
    kw_error err;
    int status = task_names(&names, &n_tasks, &err) != KW_OK;
    for (size_t i = 0; status == 0 && i < n_tasks; i++) {
        task *t = NULL;
        task_types types;
        task_shape *shapes = NULL;
        template **all = NULL;
        size_t n = 0, n_shapes = 0;
        status = task_load(names[i], &t, &err) != KW_OK || task_types_parse(t, NULL, &types, &err) != KW_OK ||
                 task_shapes_load(t, t->shapes_file, &shapes, &n_shapes, &err) != KW_OK ||
                 template_find(t, NULL, 0, &all, &n, &err) != KW_OK;
        if (status)
            fprintf(stderr, "%s: %s\n", names[i], err.message);
        for (size_t k = 0; k < n; k++) {
            status = status || bench_template(all[k], &types, &shapes[0]);
            template_free(all[k]);
        }
        free(all);
        free(shapes);
        task_free(t);
        free(names[i]);
    }
    free(names);
    printf("expand: worst_median_ms=%.3f worst_max_ms=%.3f\n", worst_median_ms, worst_max_ms);
    return status;
}
