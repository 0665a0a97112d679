/* The settings of the strategy auto, chosen with each family of kernels left out.
 *
 * usage: auto_settings SEEDS FILE...
 * Replays every setting of a small grid on recorded spaces. A family is what stands before "__" in the names of files:
 * convolution_milo__A100 and convolution_milo__MI250X are of one. For each family, the setting with the least
 * geometric mean on the other families is chosen, over the counts 50, 100 and 200 alike, and what it gives on the
 * family is printed beside what the shipped setting gives.
 */
#include "base/log.h"
#include "base/mem.h"
#include "tuner/model_search.h"
#include "tuner/simulate_stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_COUNTS = 4, N_SETTINGS = 9, BUDGET = 200 };

static const size_t counts[N_COUNTS] = {25, 50, 100, 200};

/* What is shipped, and one change each. */
static model_settings setting(int i)
{
    model_settings s = model_auto_settings;
    switch (i) {
    case 1:
        s.design = 8;
        break;
    case 2:
        s.design = 12;
        break;
    case 3:
        s.spread = 1;
        break;
    case 4:
        s.bend = 0.8;
        break;
    case 5:
        s.bend = 2.5;
        break;
    case 6:
        s.tail = 1;
        break;
    case 7:
        s.doubt_until = 0;
        break;
    case 8:
        s.doubt_until = 120;
        break;
    default:
        break;
    }
    return s;
}

static const char *const setting_names[N_SETTINGS] = {"as shipped", "design 8", "design 12", "spread 1",    "bend 0.8",
                                                      "bend 2.5",   "tail 1",   "no doubt",  "doubt to 120"};

#define START(i) \
    static void *start_##i(const space *s, const strategy_options *o) \
    { \
        model_settings chosen = setting(i); \
        return model_search_start(s, o, &chosen); \
    }
START(0)
START(1)
START(2)
START(3) START(4) START(5) START(6) START(7) START(8)

#define OPS(i) \
    { \
        .name = #i, .doc = "", .start = start_##i, .ask = model_search_ask, .tell = model_search_tell, \
        .stop = model_search_stop \
    }
    static const strategy_ops ops[N_SETTINGS] = {OPS(0), OPS(1), OPS(2), OPS(3), OPS(4),
                                                 OPS(5), OPS(6), OPS(7), OPS(8)};

static bool same_family(const recorded *a, const recorded *b)
{
    const char *x = strstr(a->name, "__"), *y = strstr(b->name, "__");
    size_t n = x ? (size_t)(x - a->name) : strlen(a->name);
    return n == (y ? (size_t)(y - b->name) : strlen(b->name)) && strncmp(a->name, b->name, n) == 0;
}

/* Of the spaces that are (or are not) of the family of `of`, the geometric mean of best/optimum at a count. */
static double mean_of(const recorded_list *l, const simulation *s, const recorded *of, bool inside, int kind, size_t at)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        if (same_family(l->items[i], of) != inside)
            continue;
        sum += log(simulate_cell_of(s, i, (size_t)kind, SIZE_MAX, at).ratio.mean);
        n++;
    }
    return n ? exp(sum / (double)n) : NAN;
}

static int choose_without(const recorded_list *l, const simulation *s, const recorded *of)
{
    int best = 0;
    double least = INFINITY;
    for (int k = 0; k < N_SETTINGS; k++) {
        double loss = 0;
        for (size_t c = 1; c < N_COUNTS; c++)
            loss += log(mean_of(l, s, of, false, k, counts[c]));
        if (loss < least) {
            least = loss;
            best = k;
        }
    }
    return best;
}

static void print_row(const char *label, const recorded_list *l, const simulation *s, const recorded *of, int kind)
{
    printf("%-24s %-12s", label, setting_names[kind]);
    for (size_t c = 0; c < N_COUNTS; c++)
        printf(" %7.4f", mean_of(l, s, of, true, kind, counts[c]));
    printf("\n");
}

static void report(const recorded_list *l, const simulation *s)
{
    double chosen[N_COUNTS] = {0};
    printf("%-24s %-12s %7s %7s %7s %7s\n", "family left out", "setting", "25", "50", "100", "200");
    for (size_t i = 0; i < l->n; i++) {
        int kind = choose_without(l, s, l->items[i]);
        bool first = true;
        for (size_t j = 0; j < i; j++)
            first = first && !same_family(l->items[j], l->items[i]);
        for (size_t c = 0; c < N_COUNTS; c++)
            chosen[c] += log(simulate_cell_of(s, i, (size_t)kind, SIZE_MAX, counts[c]).ratio.mean) / (double)l->n;
        if (!first)
            continue;
        char family[64];
        snprintf(family, sizeof family, "%.*s", (int)strcspn(l->items[i]->name, " "), l->items[i]->name);
        if (strstr(family, "__"))
            *strstr(family, "__") = '\0';
        print_row(family, l, s, l->items[i], kind);
        if (kind != 0)
            print_row(family, l, s, l->items[i], 0);
    }
    printf("auto_settings: spaces=%zu seeds=%zu", l->n, s->repeat);
    for (size_t c = 0; c < N_COUNTS; c++)
        printf(" left_out_at_%zu=%.4f", counts[c], exp(chosen[c]));
    printf("\n");
}

int main(int argc, char **argv)
{
    recorded_list l = {0};
    kw_error err;
    const strategy_ops *kinds[N_SETTINGS];
    if (argc < 3) {
        fprintf(stderr, "usage: auto_settings SEEDS FILE...\n");
        return 2;
    }
    for (int i = 2; i < argc; i++) {
        if (recorded_read(argv[i], &(recorded_options){0}, &l, &err) != KW_OK) {
            fprintf(stderr, "auto_settings: %s\n", err.message);
            return 2;
        }
    }
    for (int k = 0; k < N_SETTINGS; k++)
        kinds[k] = &ops[k];
    size_t *budgets = mem_alloc(l.n * sizeof *budgets);
    for (size_t i = 0; i < l.n; i++)
        budgets[i] = BUDGET;
    simulate_options o = {.strategies = kinds,
                          .n_strategies = N_SETTINGS,
                          .repeat = strtoul(argv[1], NULL, 10),
                          .seed = 1000, /* others than the figures are reported with */
                          .budgets = budgets};
    simulation s;
    if (simulate_run(l.items, l.n, &o, &s, &err) != KW_OK) {
        fprintf(stderr, "auto_settings: %s\n", err.message);
        return 1;
    }
    report(&l, &s);
    simulation_clear(&s);
    recorded_list_clear(&l);
    free(budgets);
    return 0;
}
