/* What steering is worth: llm/archive, llm/steer and llm/meta drive a scripted model on landscapes whose best is known,
 * each part switched off in turn, on the same seeds.
 *
 *   evolve [--seeds 50] [--first 0] [--budget 600] [--in-flight 4] [--rules N] [--from JOURNAL]...
 *          [--landscape NAME]... [--fail S] [--follow S] [--skill S]
 *
 * Without --from all journals in tests/recorded are read. Counted are candidates asked for until one has 95% of the
 * best fitness that there is. A run that does not get there counts as the whole budget (a mean restricted to it:
 * differences are then too small rather than too large) and as not reached. Differences are paired by seed: landscape
 * and random numbers of the model are the same. Intervals: 95%, bootstrap over seeds. Last line: "evolve: key=value
 * ...". */
#include "base/mem.h"
#include "bench/evolve_landscape.h"
#include "llm/archive.h"
#include "llm/meta.h"
#include "llm/steer.h"
#include "tuner/simulate_stats.h"

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REACHED 0.95
#define EARLY 48
#define NOISE 0.01          /* of a measured fitness, one standard deviation */
#define NOISE_RETIMED 0.003 /* of one that was timed in turns */

typedef struct arm {
    const char *name;
    bool archive, gradient, targets, meta;
} arm;

/* The first one is what the others are compared with. */
static const arm arms[] = {
    {"all", true, true, true, true},
    {"without archive", false, true, true, true},
    {"without gradient", true, false, true, true},
    {"without targets", true, true, false, true},
    {"without meta", true, true, true, false},
    {"archive alone", true, false, false, false},
    {"greedy best-of", false, false, false, false},
};
enum { ARMS = sizeof arms / sizeof *arms, MOST_RUNS = 64, STREAM_NOISE = 1 << 20, STREAM_META = 1 << 21 };

typedef struct options {
    uint64_t seeds, first, budget, in_flight;
    scripted_model model;
    int rules;
    bool wanted[LANDSCAPES];
    recorded_run runs[MOST_RUNS];
    size_t n_runs;
} options;

typedef struct outcome_of_run {
    double needed; /* candidates; the budget when it was not reached */
    bool reached;
    double early, final; /* true fitness of the best over the best that there is: after EARLY candidates, at the end */
    steer_report steering;
    uint64_t right;
} outcome_of_run;

/* One question that is out. */
typedef struct asked {
    steer_choice choice;
    individual parent, inspirations[3];
    size_t n_inspirations;
    double parent_fitness;
    int meta;
} asked;

typedef struct run {
    const options *o;
    const arm *arm;
    const landscape *l;
    uint64_t seed;
    archive *archive;
    steer *steer;
    meta *meta;
    asked *asked;         /* [ordinal - 1] */
    individual *made;     /* [ordinal]; 0 is the plain kernel */
    bool *is_right;       /* [ordinal] */
    double quality[4096]; /* hidden, of sets of sections, by id */
    outcome_of_run out;
} run;

static uint64_t ordinal_of(const offer *o)
{
    return strtoull(o->template_hash, NULL, 10);
}

static offer offer_of(const run *r, const individual *x, uint64_t ordinal)
{
    static char config[] = "{}";
    offer o = {.fitness = landscape_fitness(r->l, x) + NOISE * draw_normal(r->seed, STREAM_NOISE + ordinal, 0),
               .rel_noise = 2 * NOISE,
               .config = config};
    memcpy(o.where.level, x->locus, sizeof o.where.level);
    (void)snprintf(o.template_hash, sizeof o.template_hash, "%llu", (unsigned long long)ordinal);
    memcpy(o.source_hash, o.template_hash, sizeof o.source_hash);
    return o;
}

/* As the loop does: within noise both are timed again. */
static void offer_it(run *r, offer *o, uint64_t ordinal)
{
    if (archive_offer(r->archive, o, ordinal, false) != ARCHIVE_UNSURE)
        return;
    int cell = behaviour_cell(&o->where);
    const individual *held = &r->made[ordinal_of(&archive_cell(r->archive, cell)->best)], *now = &r->made[ordinal];
    archive_retime(r->archive, cell,
                   landscape_fitness(r->l, held) + NOISE_RETIMED * draw_normal(r->seed, STREAM_NOISE + ordinal, 1));
    offer again = *o;
    again.fitness = landscape_fitness(r->l, now) + NOISE_RETIMED * draw_normal(r->seed, STREAM_NOISE + ordinal, 2);
    archive_offer(r->archive, &again, ordinal, true);
}

static void ask(run *r, uint64_t ordinal)
{
    asked *a = &r->asked[ordinal - 1];
    a->choice = steer_choose(r->steer, r->archive, ordinal);
    steer_out(r->steer, &a->choice, ordinal);
    a->meta = r->arm->meta ? meta_choose(r->meta, ordinal) : 0;
    const elite *parent = archive_cell(r->archive, a->choice.parent_cell);
    a->parent = r->made[ordinal_of(&parent->best)];
    a->parent_fitness = parent->best.fitness;
    archive_visit(r->archive, a->choice.parent_cell);
    for (size_t i = 0; i < 3; i++) {
        int cell = a->choice.inspirations[i];
        if (cell >= 0)
            a->inspirations[a->n_inspirations++] = r->made[ordinal_of(&archive_cell(r->archive, cell)->best)];
    }
}

static bool is_known(const run *r, const individual *x, uint64_t ordinal)
{
    for (uint64_t i = 0; i < ordinal; i++) {
        if (r->is_right[i] && individual_same(x, &r->made[i]))
            return true;
    }
    return false;
}

/* The model's answer to a question about sections: an edit of one of them, whose worth nobody sees. */
static void ask_for_sections(run *r, uint64_t ordinal)
{
    strb question = STRB_INIT, reply = STRB_INIT, problem = STRB_INIT;
    int parent = meta_prompt(r->meta, &question);
    const char *text = meta_sections(r->meta, parent).pitfalls;
    int length = (int)strcspn(text, "\n");
    strb_printf(&reply, "SECTION: pitfalls\n<<<<<<< SEARCH\n%.*s\n=======\n- Advice number %llu.\n>>>>>>> REPLACE\n",
                length, text, (unsigned long long)ordinal);
    int id = meta_apply(r->meta, parent, strb_text(&reply), &problem);
    if (id > 0 && id < (int)(sizeof r->quality / sizeof *r->quality))
        r->quality[id] =
            fmax(0.05, fmin(0.95, r->quality[parent] + 0.04 + 0.15 * draw_normal(r->seed, STREAM_META + ordinal, 0)));
    strb_clear(&question);
    strb_clear(&reply);
    strb_clear(&problem);
}

static void take(run *r, uint64_t ordinal)
{
    const asked *a = &r->asked[ordinal - 1];
    double failed;
    steer_done(r->steer, ordinal);
    bool right = model_answer(r->l, &r->o->model, &a->parent, a->choice.target_cell, a->inspirations, a->n_inspirations,
                              r->quality[a->meta], ordinal, &r->made[ordinal], &failed);
    transition t = {.from = a->choice.parent_cell,
                    .to = -1,
                    .target = a->choice.target_cell,
                    .parent_fitness = a->parent_fitness,
                    .child_fitness = failed,
                    .ordinal = ordinal};
    if (right) {
        const individual *x = &r->made[ordinal];
        if (is_known(r, x, ordinal))
            return; /* a text that was tried before: nothing is learnt */
        r->is_right[ordinal] = true;
        offer o = offer_of(r, x, ordinal);
        double truth = landscape_fitness(r->l, x) / landscape_best(r->l);
        t.to = individual_cell(x);
        t.child_fitness = o.fitness;
        offer_it(r, &o, ordinal);
        r->out.right++;
        r->out.final = fmax(r->out.final, truth);
        if (ordinal <= EARLY)
            r->out.early = r->out.final;
        if (truth >= REACHED && !r->out.reached) {
            r->out.reached = true;
            r->out.needed = (double)ordinal;
        }
    }
    steer_learn(r->steer, r->archive, &t);
    meta_learn(r->meta, a->meta, t.child_fitness - t.parent_fitness, right, "simulated");
    if (r->arm->meta && meta_due(r->meta))
        ask_for_sections(r, ordinal);
}

static outcome_of_run run_one(const options *o, const arm *a, const landscape *l, uint64_t seed)
{
    steer_options so = {
        .archive = a->archive, .gradient = a->gradient, .targets = a->targets, .seed = seed, .rules = o->rules};
    run *r = mem_calloc(1, sizeof *r);
    *r = (run){.o = o, .arm = a, .l = l, .seed = seed, .quality = {0.5}, .out = {.needed = (double)o->budget}};
    r->archive = archive_new();
    r->steer = steer_new(&so);
    r->meta = meta_new(seed);
    r->asked = mem_calloc(o->budget, sizeof *r->asked);
    r->made = mem_calloc(o->budget + 1, sizeof *r->made);
    r->is_right = mem_calloc(o->budget + 1, sizeof *r->is_right);
    r->made[0] = landscape_start(l);
    r->is_right[0] = true;
    r->out.early = r->out.final = landscape_fitness(l, &r->made[0]) / landscape_best(l);
    if (r->out.final >= REACHED) { /* nothing is left to be found */
        r->out.reached = true;
        r->out.needed = 0;
    }
    offer first = offer_of(r, &r->made[0], 0);
    archive_offer(r->archive, &first, 0, false);
    for (uint64_t i = 1; i <= o->budget + o->in_flight - 1 && !r->out.reached; i++) {
        if (i <= o->budget)
            ask(r, i);
        if (i >= o->in_flight)
            take(r, i - o->in_flight + 1);
    }
    r->out.steering = steer_report_of(r->steer);
    outcome_of_run out = r->out;
    archive_free(r->archive);
    steer_free(r->steer);
    meta_free(r->meta);
    free(r->asked);
    free(r->made);
    free(r->is_right);
    free(r);
    return out;
}

/* ---- figures ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* "131", or ">240" when half of the runs did not get there. */
static void print_median(const outcome_of_run *r, uint64_t n, uint64_t budget)
{
    double *x = mem_calloc(n, sizeof *x);
    char text[32];
    for (uint64_t i = 0; i < n; i++)
        x[i] = r[i].reached ? r[i].needed : INFINITY;
    qsort(x, n, sizeof *x, by_value);
    double median = n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
    if (isfinite(median))
        (void)snprintf(text, sizeof text, "%.0f", median);
    else
        (void)snprintf(text, sizeof text, ">%llu", (unsigned long long)budget);
    printf(" %8s", text);
    free(x);
}

static double share_hit(const outcome_of_run *r, uint64_t n)
{
    double hit = 0, targets = 0;
    for (uint64_t i = 0; i < n; i++) {
        hit += (double)r[i].steering.hit;
        targets += (double)r[i].steering.asked;
    }
    return targets > 0 ? hit / targets : NAN;
}

/* With less than the first arm, and with more, on how many seeds. */
static void print_against(const outcome_of_run *r, const outcome_of_run *all, uint64_t n, estimate *difference)
{
    double *x = mem_calloc(n, sizeof *x);
    int less = 0, more = 0;
    for (uint64_t i = 0; i < n; i++) {
        x[i] = r[i].needed - all[i].needed;
        less += x[i] < 0;
        more += x[i] > 0;
    }
    *difference = estimate_mean(x, n, 1);
    printf("   %+7.1f (%+.1f..%+.1f)  %2d sooner %2d later", difference->mean, difference->lo, difference->hi, less,
           more);
    for (uint64_t i = 0; i < n; i++)
        x[i] = r[i].early - all[i].early;
    estimate early = estimate_mean(x, n, 1);
    printf("   at %d %+.3f (%+.3f..%+.3f)", EARLY, early.mean, early.lo, early.hi);
    free(x);
}

static const char *slug(const char *name)
{
    if (strncmp(name, "without ", 8) == 0)
        return name + 8;
    return strcmp(name, "archive alone") == 0 ? "archive_alone" : "greedy";
}

/* A run without a right candidate, or whose plain kernel is as good as the best that its landscape has, is left out.
 * Returns how many there are. */
static size_t drop_what_says_nothing(options *o, strb *last)
{
    size_t kept = 0;
    for (size_t i = 0; i < o->n_runs; i++) {
        landscape *l = landscape_new(LANDSCAPE_RECORDED, 0, &o->runs[i], 1);
        individual start = l ? landscape_start(l) : (individual){.rest = 0};
        bool good = l && landscape_fitness(l, &start) < REACHED * landscape_best(l);
        landscape_free(l);
        recorded_summary s = recorded_summary_of(&o->runs[i], 1);
        printf("recorded run of %s: %llu candidates, %llu right%s\n", o->runs[i].task, (unsigned long long)s.attempts,
               (unsigned long long)s.right.n, good ? "" : "; left out, it has nothing better than the plain kernel");
        if (good)
            o->runs[kept++] = o->runs[i];
        else
            recorded_run_clear(&o->runs[i]);
    }
    o->n_runs = kept;
    printf("\n");
    strb_printf(last, " recorded_runs=%zu", kept);
    return kept;
}

static void run_landscape(options *o, landscape_kind kind, strb *last)
{
    outcome_of_run *r[ARMS];
    if (kind == LANDSCAPE_RECORDED && !drop_what_says_nothing(o, last))
        return;
    for (size_t a = 0; a < ARMS; a++)
        r[a] = mem_calloc(o->seeds, sizeof **r);
    for (uint64_t s = 0; s < o->seeds; s++) {
        /* Recorded runs take turns. */
        landscape *l = landscape_new(kind, o->first + s, o->n_runs ? &o->runs[s % o->n_runs] : NULL, 1);
        for (size_t a = 0; a < ARMS; a++)
            r[a][s] = run_one(o, &arms[a], l, o->first + s);
        landscape_free(l);
    }
    const char *name = landscape_names[kind];
    printf("%s\n  %-17s %8s %8s   %-22s %7s %7s   more than all (95%%)\n", name, "", "reached", "median", "mean (95%)",
           "at 48", "target");
    for (size_t a = 0; a < ARMS; a++) {
        double *needed = mem_calloc(o->seeds, sizeof *needed), early = 0;
        uint64_t reached = 0;
        for (uint64_t s = 0; s < o->seeds; s++) {
            needed[s] = r[a][s].needed;
            reached += r[a][s].reached;
            early += r[a][s].early / (double)o->seeds;
        }
        estimate mean = estimate_mean(needed, o->seeds, 1), difference;
        printf("  %-17s %7.0f%%", arms[a].name, 100.0 * (double)reached / (double)o->seeds);
        print_median(r[a], o->seeds, o->budget);
        printf("   %5.1f (%5.1f..%5.1f)  %7.3f", mean.mean, mean.lo, mean.hi, early);
        double hit = share_hit(r[a], o->seeds);
        if (arms[a].targets && !isnan(hit))
            printf(" %6.0f%%", 100 * hit);
        else
            printf(" %7s", "-");
        if (a == 0) {
            strb_printf(last, " %s=%.1f %s_reached=%.2f", name, mean.mean, name, (double)reached / (double)o->seeds);
        } else {
            print_against(r[a], r[0], o->seeds, &difference);
            strb_printf(last, " %s_%s=%+.1f(%+.1f..%+.1f)", name, slug(arms[a].name), difference.mean, difference.lo,
                        difference.hi);
        }
        printf("\n");
        free(needed);
    }
    printf("\n");
    for (size_t a = 0; a < ARMS; a++)
        free(r[a]);
}

/* ---- command line ---- */

static void usage(const char *what)
{
    fprintf(stderr,
            "evolve: %s\nusage: evolve [--seeds N] [--first N] [--budget N] [--in-flight N] [--from JOURNAL]... "
            "[--landscape NAME]... [--fail S] [--follow S] [--skill S] [--rules N]\n",
            what);
    exit(2);
}

static uint64_t count_of(const char *text, uint64_t most)
{
    char *end;
    unsigned long long n = strtoull(text, &end, 10);
    if (*end || end == text || n == 0 || n > most)
        usage("a count is not one, or too large");
    return n;
}

static double share_of(const char *text)
{
    char *end;
    double x = strtod(text, &end);
    if (*end || end == text || !(x >= 0 && x <= 1))
        usage("a share lies between 0 and 1");
    return x;
}

static void add_run(options *o, const char *path)
{
    kw_error err = {0};
    if (o->n_runs == MOST_RUNS)
        usage("too many journals");
    if (recorded_run_read(path, &o->runs[o->n_runs], &err) != KW_OK) {
        fprintf(stderr, "evolve: %s\n", err.message);
        exit(2);
    }
    o->n_runs++;
}

/* Without --from: what the repository has. */
static void add_all_recorded(options *o)
{
    glob_t found;
    if (glob("tests/recorded/*/journal.jsonl", 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc && o->n_runs < MOST_RUNS; i++)
        add_run(o, found.gl_pathv[i]);
    globfree(&found);
}

static void want(options *o, const char *name)
{
    for (int k = 0; k < LANDSCAPES; k++) {
        if (strcmp(landscape_names[k], name) == 0) {
            o->wanted[k] = true;
            return;
        }
    }
    usage("there are the landscapes cells, valley, blind and recorded");
}

static void read_options(int argc, char **argv, options *o)
{
    bool some = false;
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i], *text = i + 1 < argc ? argv[i + 1] : NULL;
        if (!text)
            usage("an option without its value");
        if (strcmp(name, "--seeds") == 0)
            o->seeds = count_of(text, 10000);
        else if (strcmp(name, "--first") == 0)
            o->first = count_of(text, 1000000000);
        else if (strcmp(name, "--budget") == 0)
            o->budget = count_of(text, 4000);
        else if (strcmp(name, "--in-flight") == 0)
            o->in_flight = count_of(text, 64);
        else if (strcmp(name, "--from") == 0)
            add_run(o, text);
        else if (strcmp(name, "--fail") == 0)
            o->model.fail = share_of(text);
        else if (strcmp(name, "--follow") == 0)
            o->model.follow = share_of(text);
        else if (strcmp(name, "--skill") == 0)
            o->model.skill = share_of(text);
        else if (strcmp(name, "--rules") == 0)
            o->rules = (int)count_of(text, STEER_RULES);
        else if (strcmp(name, "--landscape") == 0)
            want(o, text);
        else
            usage("unknown option");
        some |= strcmp(name, "--landscape") == 0;
    }
    for (int k = 0; k < LANDSCAPES && !some; k++)
        o->wanted[k] = true;
    if (o->n_runs == 0 && o->wanted[LANDSCAPE_RECORDED])
        add_all_recorded(o);
}

int main(int argc, char **argv)
{
    static options o = {.seeds = 50, .budget = 600, .in_flight = 4, .model = {0.35, 0.6, 0.4}};
    strb last = STRB_INIT;
    read_options(argc, argv, &o);
    printf("%llu seeds, %llu candidates at most, %llu in flight; candidates until one has %.0f%% of the best fitness\n",
           (unsigned long long)o.seeds, (unsigned long long)o.budget, (unsigned long long)o.in_flight, 100 * REACHED);
    printf("scripted model: %.0f%% fail, %.0f%% follow the target, %.0f%% of changes the better of two\n",
           100 * o.model.fail, 100 * o.model.follow, 100 * o.model.skill);
    printf("\n");
    strb_printf(&last, "evolve: seeds=%llu budget=%llu", (unsigned long long)o.seeds, (unsigned long long)o.budget);
    for (int k = 0; k < LANDSCAPES; k++) {
        if (o.wanted[k])
            run_landscape(&o, (landscape_kind)k, &last);
    }
    puts(strb_text(&last));
    strb_clear(&last);
    for (size_t i = 0; i < o.n_runs; i++)
        recorded_run_clear(&o.runs[i]);
    return 0;
}
