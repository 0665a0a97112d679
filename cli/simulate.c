#include "cli/cli.h"
#include "cli/options.h"
#include "cli/table.h"

#include "base/interrupt.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "tuner/recorded.h"
#include "tuner/simulate.h"
#include "tuner/simulate_stats.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COUNTS 64
#define MAX_EVALUATIONS 10000000
#define RUNS_WITH_NOISE 5

typedef struct simulate_cli {
    const char *strategies, *at, *unit, *noise_text;
    int64_t repeat, runs, seed, jobs;
    double noise;
    bool json, score, curves;
    const strategy_ops **chosen; /* the last is random search if it was not asked for */
    size_t n_chosen, n_shown, random;
    size_t counts[MAX_COUNTS], n_counts;
    recorded_list spaces;
    score_rule *rules;
    simulation replays, scored;
} simulate_cli;

/* ---- options ---- */

static void choose(simulate_cli *c, const strategy_ops *ops)
{
    for (size_t i = 0; i < c->n_chosen; i++)
        if (c->chosen[i] == ops)
            return;
    c->chosen = mem_realloc(c->chosen, (c->n_chosen + 1) * sizeof(const strategy_ops *));
    c->chosen[c->n_chosen++] = ops;
}

static kw_code choose_strategies(simulate_cli *c, kw_error *err)
{
    char *copy = mem_strdup(c->strategies), *save = NULL;
    kw_code code = KW_OK;
    for (char *name = strtok_r(copy, ",", &save); name && code == KW_OK; name = strtok_r(NULL, ",", &save)) {
        if (strcmp(name, "all") == 0) {
            for (size_t i = 0; strategy_table[i]; i++)
                choose(c, strategy_table[i]);
            continue;
        }
        const strategy_ops *ops = strategy_find(name, err);
        if (ops)
            choose(c, ops);
        else
            code = KW_BAD_INPUT;
    }
    free(copy);
    if (code == KW_OK && c->n_chosen == 0)
        code = kw_error_set(err, KW_BAD_INPUT, "--strategy names no strategy");
    c->n_shown = c->n_chosen;
    if (code == KW_OK)
        choose(c, strategy_find("random", NULL));
    while (code == KW_OK && strcmp(c->chosen[c->random]->name, "random") != 0)
        c->random++;
    return code;
}

static int compare_sizes(const void *a, const void *b)
{
    const size_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static kw_code read_counts(simulate_cli *c, kw_error *err)
{
    const char *at = c->at;
    for (;;) {
        char *end;
        errno = 0;
        long long n = strtoll(at, &end, 10);
        if (end == at || errno || n < 1 || n > MAX_EVALUATIONS || (*end != ',' && *end != '\0'))
            return kw_error_set(err, KW_BAD_INPUT, "--at wants counts from 1 to %d such as 25,50,100, not '%s'",
                                MAX_EVALUATIONS, c->at);
        if (c->n_counts == MAX_COUNTS)
            return kw_error_set(err, KW_BAD_INPUT, "--at takes %d counts at most", MAX_COUNTS);
        c->counts[c->n_counts++] = (size_t)n;
        if (*end == '\0')
            break;
        at = end + 1;
    }
    qsort(c->counts, c->n_counts, sizeof *c->counts, compare_sizes);
    return KW_OK;
}

static kw_code read_noise(simulate_cli *c, kw_error *err)
{
    char *end = NULL;
    if (c->noise_text) {
        c->noise = strtod(c->noise_text, &end);
        if (end == c->noise_text || *end || !(c->noise >= 0 && c->noise <= 1))
            return kw_error_set(err, KW_BAD_INPUT,
                                "--noise wants the standard deviation of a time as a share of it, from 0 to 1, such as "
                                "0.0005, not '%s'",
                                c->noise_text);
    }
    if (c->runs == 0)
        c->runs = c->noise > 0 ? RUNS_WITH_NOISE : 1;
    return KW_OK;
}

/* ---- running ---- */

static void show_progress(size_t done, size_t of, void *cookie)
{
    const char *what = cookie;
    if (done > 0)
        log_live("%s: %zu of %zu", what, done, of);
}

static kw_code run(simulate_cli *c, const size_t *budgets, const char *what, simulation *out, kw_error *err)
{
    char text[32];
    snprintf(text, sizeof text, "%s", what);
    simulate_options o = {.strategies = c->chosen,
                          .n_strategies = c->n_chosen,
                          .repeat = (size_t)c->repeat,
                          .seed = (uint64_t)c->seed,
                          .noise = c->noise,
                          .runs = (size_t)c->runs,
                          .jobs = (size_t)c->jobs,
                          .budgets = budgets,
                          .progress = show_progress,
                          .cookie = text};
    interrupt_watch();
    kw_code code = simulate_run(c->spaces.items, c->spaces.n, &o, out, err);
    interrupt_ignore();
    log_live_end();
    return code;
}

static kw_code run_all(simulate_cli *c, kw_error *err)
{
    size_t n = c->spaces.n, *budgets = mem_alloc(n * sizeof *budgets);
    for (size_t i = 0; i < n; i++)
        budgets[i] = c->counts[c->n_counts - 1];
    kw_code code = run(c, budgets, "replays", &c->replays, err);
    if (code == KW_OK && c->score) {
        c->rules = mem_calloc(n, sizeof *c->rules);
        for (size_t i = 0; i < n; i++) {
            c->rules[i] = score_rule_of(c->spaces.items[i]);
            budgets[i] = c->rules[i].last > 0 ? c->rules[i].last : 1;
        }
        code = run(c, budgets, "replays for the score", &c->scored, err);
    }
    free(budgets);
    return code;
}

/* ---- output for programs ---- */

static json *interval(const estimate *e)
{
    json *pair = json_new_array();
    json_append(pair, json_new_number(e->lo));
    json_append(pair, json_new_number(e->hi));
    return pair;
}

static void add_cells(const simulate_cli *c, json *j, size_t which, size_t kind)
{
    json *at = json_new_array(), *ratio = json_new_array(), *ci = json_new_array(), *random = json_new_array();
    for (size_t i = 0; i < c->n_counts; i++) {
        simulate_cell cell = simulate_cell_of(&c->replays, which, kind, c->random, c->counts[i]);
        json_append(at, json_new_int((int64_t)c->counts[i]));
        json_append(ratio, json_new_number(cell.ratio.mean));
        json_append(ci, interval(&cell.ratio));
        json *three = json_new_array();
        json_append(three, json_new_number(cell.vs_random.mean));
        json_append(three, json_new_number(cell.vs_random.lo));
        json_append(three, json_new_number(cell.vs_random.hi));
        json_append(random, three);
    }
    json_set(j, "at", at);
    json_set(j, "ratio", ratio);
    json_set(j, "ci", ci);
    json_set(j, "log_vs_random", random);
}

static void add_apart(const simulate_cli *c, json *j, size_t which, size_t kind)
{
    json *apart = json_new_array();
    for (size_t i = 0; i < c->n_counts; i++)
        json_append(apart, json_new_number(simulate_apart_of(&c->replays, which, kind, c->counts[i]).median));
    json_set(j, "apart", apart);
}

static json *curves_of(const simulation *s, size_t which, size_t kind)
{
    json *all = json_new_array();
    for (size_t i = 0; i < s->repeat; i++) {
        json *one = json_new_array();
        const double *curve = simulation_curve(s, which, kind, i);
        for (size_t k = 0; k < s->budgets[which]; k++)
            json_append(one, json_new_number(curve[k]));
        json_append(all, one);
    }
    return all;
}

static void print_json(const simulate_cli *c)
{
    estimate *scores = mem_alloc(c->spaces.n * sizeof *scores);
    const char *between = "[";
    for (size_t k = 0; k < c->n_shown; k++) {
        if (c->score)
            simulate_score(&c->scored, c->rules, k, scores);
        for (size_t i = 0; i < c->spaces.n; i++) {
            json *j = json_new_object();
            strb line = STRB_INIT;
            json_set_string(j, "space", c->spaces.items[i]->name);
            json_set_string(j, "strategy", c->chosen[k]->name);
            add_cells(c, j, i, k);
            if (c->runs > 1)
                add_apart(c, j, i, k);
            if (c->score) {
                json_set_number(j, "score", scores[i].mean);
                json_set(j, "score_ci", interval(&scores[i]));
                json_set_int(j, "score_evaluations", (int64_t)c->rules[i].last);
            }
            if (c->curves)
                json_set(j, "curves", curves_of(&c->replays, i, k));
            if (c->curves && c->score)
                json_set(j, "score_curves", curves_of(&c->scored, i, k));
            json_print(j, &line);
            printf("%s%s", between, strb_text(&line));
            between = ",\n ";
            strb_clear(&line);
            json_free(j);
        }
    }
    puts("]");
    free(scores);
}

/* ---- output for people ---- */

static table *start_table(const simulate_cli *c, const char *first, const char *last)
{
    strb titles = STRB_INIT;
    strb_add(&titles, first);
    for (size_t k = 0; k < c->n_shown; k++)
        strb_printf(&titles, "|%s", c->chosen[k]->name);
    strb_add(&titles, last);
    table *t = table_new(strb_text(&titles));
    strb_clear(&titles);
    return t;
}

static void put_interval(table *t, bool with_sign, const estimate *e)
{
    char text[80];
    if (with_sign)
        snprintf(text, sizeof text, "%+.3f..%+.3f", e->lo, e->hi);
    else
        snprintf(text, sizeof text, "%.3f..%.3f", e->lo, e->hi);
    table_text(t, isnan(e->lo) ? "-" : text);
}

static void put_number(table *t, double x)
{
    char text[40];
    snprintf(text, sizeof text, "%.3f", x);
    table_text(t, isnan(x) ? "-" : text);
}

static void print_count(const simulate_cli *c, size_t at)
{
    char title[64];
    double logs = 0;
    snprintf(title, sizeof title, "best/optimum at %zu", at);
    table *t = start_table(c, title, "|exact random");
    for (size_t i = 0; i < c->spaces.n; i++) {
        table_text(t, c->spaces.items[i]->name);
        for (size_t k = 0; k < c->n_shown; k++)
            put_number(t, simulate_cell_of(&c->replays, i, k, c->random, at).ratio.mean);
        double exact = simulate_random_ratio(c->spaces.items[i], at);
        logs += log(exact);
        put_number(t, exact);
        table_end_row(t);
    }
    simulate_cell *all = mem_alloc(c->n_shown * sizeof *all);
    table_text(t, "geometric mean");
    for (size_t k = 0; k < c->n_shown; k++) {
        all[k] = simulate_cell_of_all(&c->replays, k, c->random, at);
        put_number(t, all[k].ratio.mean);
    }
    put_number(t, exp(logs / (double)c->spaces.n));
    table_end_row(t);
    table_text(t, "  95% interval");
    for (size_t k = 0; k < c->n_shown; k++)
        put_interval(t, false, &all[k].ratio);
    table_text(t, "");
    table_end_row(t);
    table_text(t, "  log against random");
    for (size_t k = 0; k < c->n_shown; k++)
        put_interval(t, true, &all[k].vs_random);
    table_text(t, "");
    table_end_row(t);
    table_print(t, stdout);
    table_free(t);
    free(all);
}

/* How far the runs of one seed are apart. */
static void print_apart(const simulate_cli *c, size_t at)
{
    char title[80];
    snprintf(title, sizeof title, "winners of %zu runs apart at %zu, %%", (size_t)c->runs, at);
    table *t = start_table(c, title, "");
    for (size_t i = 0; i < c->spaces.n; i++) {
        table_text(t, c->spaces.items[i]->name);
        for (size_t k = 0; k < c->n_shown; k++) {
            simulate_apart a = simulate_apart_of(&c->replays, i, k, at);
            char text[80];
            snprintf(text, sizeof text, "%.2f (mean %.2f, most %.2f)", 100 * a.median, 100 * a.mean, 100 * a.most);
            table_text(t, text);
        }
        table_end_row(t);
    }
    table_print(t, stdout);
    table_free(t);
}

static void print_scores(const simulate_cli *c)
{
    size_t n = c->spaces.n;
    estimate *per_space = mem_alloc(n * c->n_shown * sizeof *per_space), *all = mem_alloc(c->n_shown * sizeof *all);
    for (size_t k = 0; k < c->n_shown; k++)
        all[k] = simulate_score(&c->scored, c->rules, k, per_space + k * n);
    table *t = start_table(c, "methodology score (evaluations)", "");
    for (size_t i = 0; i < n; i++) {
        char name[300];
        snprintf(name, sizeof name, "%.250s (%zu..%zu)", c->spaces.items[i]->name, c->rules[i].first, c->rules[i].last);
        table_text(t, name);
        for (size_t k = 0; k < c->n_shown; k++)
            put_number(t, per_space[k * n + i].mean);
        table_end_row(t);
    }
    table_text(t, "mean");
    for (size_t k = 0; k < c->n_shown; k++)
        put_number(t, all[k].mean);
    table_end_row(t);
    table_text(t, "  95% interval");
    for (size_t k = 0; k < c->n_shown; k++)
        put_interval(t, false, &all[k]);
    table_end_row(t);
    table_print(t, stdout);
    table_free(t);
    free(per_space);
    free(all);
}

static void print_text(const simulate_cli *c)
{
    for (size_t i = 0; i < c->n_counts; i++) {
        print_count(c, c->counts[i]);
        puts("");
        if (c->runs > 1) {
            print_apart(c, c->counts[i]);
            puts("");
        }
    }
    if (c->score)
        print_scores(c);
}

/* ---- the command ---- */

static void clear(simulate_cli *c)
{
    for (size_t i = 0; c->rules && i < c->spaces.n; i++)
        score_rule_clear(&c->rules[i]);
    free(c->rules);
    if (c->replays.values)
        simulation_clear(&c->replays);
    if (c->scored.values)
        simulation_clear(&c->scored);
    recorded_list_clear(&c->spaces);
    free(c->chosen);
}

static kw_code read_files(simulate_cli *c, const option_list *files, kw_error *err)
{
    recorded_options o = {0};
    kw_code code = c->unit ? recorded_unit(c->unit, &o.unit_ns, err) : KW_OK;
    for (size_t i = 0; i < files->n && code == KW_OK; i++)
        code = recorded_read(files->items[i], &o, &c->spaces, err);
    for (size_t i = 0; i < c->spaces.n && code == KW_OK; i++) {
        const recorded *r = c->spaces.items[i];
        log_info("%s: %s, %zu configurations, %zu failed, best %.6g ms%s%s", r->name, r->format, r->n, r->n_failed,
                 r->best_ns * 1e-6, r->notes[0] ? "; " : "", r->notes);
    }
    return code;
}

static kw_code simulate(simulate_cli *c, const option_list *files, kw_error *err)
{
    if (files->n == 0)
        return kw_error_set(err, KW_BAD_INPUT, "give at least one recorded space");
    kw_code code = choose_strategies(c, err);
    if (code == KW_OK)
        code = read_counts(c, err);
    if (code == KW_OK)
        code = read_noise(c, err);
    if (code == KW_OK)
        code = read_files(c, files, err);
    if (code == KW_OK)
        code = run_all(c, err);
    if (code != KW_OK)
        return code;
    if (c->json)
        print_json(c);
    else
        print_text(c);
    return KW_OK;
}

int cli_simulate(int argc, char **argv)
{
    simulate_cli c;
    memset(&c, 0, sizeof c);
    c.strategies = "all";
    c.at = "25,50,100,200";
    c.repeat = 50;
    c.seed = 1;
    const option_row rows[] = {
        {"--strategy", OPTION_TEXT, &c.strategies, "NAME,..", "strategies to compare; all (the default): every one"},
        {"--at", OPTION_TEXT, &c.at, "N,..", "counts of evaluations to report (25,50,100,200)"},
        {"--repeat", OPTION_LIMIT, &c.repeat, "N", "seeds per space (50)"},
        {"--seed", OPTION_COUNT, &c.seed, "N", "what the seeds are made from (1)"},
        {"--noise", OPTION_TEXT, &c.noise_text, "SD", "noise of a time as told, as a share of it: log-normal (0)"},
        {"--runs", OPTION_LIMIT, &c.runs, "N", "runs of each seed, with noise of their own (5 with --noise, else 1)"},
        {"--score", OPTION_FLAG, &c.score, NULL, "the autotuning methodology's score too: longer runs of their own"},
        {"--unit", OPTION_TEXT, &c.unit, "ns|us|ms|s", "the unit of recorded times, whatever the files say"},
        {"--jobs", OPTION_COUNT, &c.jobs, "N", "processes (one per core)"},
        {"--json", OPTION_FLAG, &c.json, NULL, "a JSON array with one object per space and strategy"},
        {"--curves", OPTION_FLAG, &c.curves, NULL, "with --json: best/optimum after each evaluation, of each seed"},
    };
    const option_set set = {
        "simulate", "FILE... [options]",
        "Replays recorded spaces: what each strategy would have found after so many evaluations, without a device.\n"
        "FILE is a Kernel Tuner cache, T4 results, KTT output, CLBlast tuner output or kernwright results, plain or\n"
        "gzipped; which of them is told by its content. Ratios are means over seeds of best/optimum. With --noise "
        "each\n"
        "seed is run several times, as a search is that is repeated, and it is said how far the winners are apart.",
        rows, sizeof rows / sizeof *rows};
    option_list files;
    bool helped;
    kw_error err;
    kw_error_clear(&err);
    if (options_parse(&set, argc, argv, &files, &helped, &err) != KW_OK)
        return cli_fail("simulate", &err);
    if (helped) {
        cli_print_strategies();
        return KW_OK;
    }
    kw_code code = simulate(&c, &files, &err);
    clear(&c);
    return code == KW_OK ? KW_OK : cli_fail("simulate", &err);
}
