#include "cli/evolve_report.h"

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "llm/evolve_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void add_share(table *t, const recorded_share *s)
{
    char text[64];
    if (s->of == 0)
        (void)snprintf(text, sizeof text, "-");
    else
        (void)snprintf(text, sizeof text, "%llu/%llu %.0f%% (%.0f-%.0f)", (unsigned long long)s->n,
                       (unsigned long long)s->of, 100 * s->share, 100 * s->lo, 100 * s->hi);
    table_text(t, text);
}

static void add_row(table *t, const char *name, const recorded_run *runs, size_t n)
{
    recorded_summary s = recorded_summary_of(runs, n);
    const recorded_share *shares[] = {&s.first_compiled, &s.compiled, &s.first_right, &s.right,
                                      &s.beat_parent,    &s.hit,      &s.moved,       &s.touched};
    table_text(t, name);
    table_number(t, n == 1 ? runs->base_fitness : NAN, 4);
    table_number(t, n == 1 ? runs->best_fitness : NAN, 4);
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        add_share(t, shares[i]);
    table_end_row(t);
}

static void print_table(const recorded_run *runs, size_t n)
{
    table *t = table_new("task|base|best|compile at once|compile|right at once|right|beat parent|target hit|"
                         "of moves|touched");
    for (size_t i = 0; i < n; i++)
        add_row(t, runs[i].task, &runs[i], 1);
    if (n > 1)
        add_row(t, "all", runs, n);
    table_print(t, stdout);
    table_free(t);
    recorded_summary all = recorded_summary_of(runs, n);
    printf("\n%llu of %llu candidates were texts that had been tried before: these count as none.\n",
           (unsigned long long)all.duplicates, (unsigned long long)all.attempts);
    puts("Shares are of all candidates asked for; in brackets 95% intervals. At once: without a repair. Target hit: of "
         "the\n"
         "right ones, the best configuration lies where it was sent; of moves: where that was another cell than the\n"
         "parent's; touched: any configuration lies there. Base and best: fitness.");
}

static json *share_json(const recorded_share *s)
{
    json *j = json_new_array();
    json_append(j, json_new_int((int64_t)s->n));
    json_append(j, json_new_int((int64_t)s->of));
    return j;
}

static void print_json_lines(const recorded_run *runs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        recorded_summary s = recorded_summary_of(&runs[i], 1);
        const struct {
            const char *name;
            const recorded_share *share;
        } shares[] = {{"compiled_at_once", &s.first_compiled}, {"compiled", &s.compiled},
                      {"right_at_once", &s.first_right},       {"right", &s.right},
                      {"beat_parent", &s.beat_parent},         {"target_hit", &s.hit},
                      {"target_hit_of_moves", &s.moved},       {"target_touched", &s.touched}};
        json *j = json_new_object();
        json_set_string(j, "task", runs[i].task);
        json_set_string(j, "device", runs[i].device);
        json_set_int(j, "attempts", (int64_t)s.attempts);
        json_set_int(j, "duplicates", (int64_t)s.duplicates);
        json_set_int(j, "measured", (int64_t)runs[i].measured);
        json_set_number(j, "base_fitness", runs[i].base_fitness);
        json_set_number(j, "best_fitness", runs[i].best_fitness);
        for (size_t k = 0; k < sizeof shares / sizeof *shares; k++)
            json_set(j, shares[k].name, share_json(shares[k].share));
        cli_print_json(j);
        json_free(j);
    }
}

kw_code print_evolve_report(const option_list *paths, bool as_json, kw_error *err)
{
    kw_code code = KW_OK;
    size_t n = 0;
    if (paths->n == 0)
        return kw_error_set(err, KW_BAD_INPUT, "--report: give folders of recorded runs, or journals");
    recorded_run *runs = mem_calloc(paths->n, sizeof *runs);
    while (n < paths->n && code == KW_OK) {
        code = recorded_run_read(paths->items[n], &runs[n], err);
        n += code == KW_OK;
    }
    if (code == KW_OK)
        as_json ? print_json_lines(runs, n) : print_table(runs, n);
    for (size_t i = 0; i < n; i++)
        recorded_run_clear(&runs[i]);
    free(runs);
    return code;
}
