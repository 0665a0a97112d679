#include "llm/evolve_report.h"

#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"
#include "llm/behaviour.h"
#include "llm/exchange.h"
#include "llm/journal.h"
#include "tuner/outcome.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A trial, by the hash of its text. */
typedef struct seen_trial {
    char hash[HASH_HEX_SIZE];
    double fitness;
} seen_trial;

/* An attempt that has begun: by the first part of its key, "generate-000012". */
typedef struct open_attempt {
    char key[EXCHANGE_KEY_SIZE];
    recorded_attempt a;
} open_attempt;

typedef struct reading {
    recorded_run *run;
    seen_trial *trials;
    size_t n_trials, trials_capacity;
    open_attempt *open;
    size_t n_open, open_capacity, attempts_capacity;
} reading;

/* "generate-000012-r1-s1" is of "generate-000012"; true when it is no repair (-s1: the same question made shorter). */
static bool attempt_key(const char *key, char *out)
{
    (void)snprintf(out, EXCHANGE_KEY_SIZE, "%s", key);
    char *repair = strstr(out, "-r"), *shorter = strstr(out, "-s");
    if (repair)
        *repair = 0;
    if (shorter)
        *shorter = 0;
    return !repair;
}

static open_attempt *find_open(reading *r, const char *key)
{
    char name[EXCHANGE_KEY_SIZE];
    attempt_key(key, name);
    for (size_t i = 0; i < r->n_open; i++) {
        if (strcmp(r->open[i].key, name) == 0)
            return &r->open[i];
    }
    return NULL;
}

static double fitness_of(const reading *r, const char *hash)
{
    for (size_t i = r->n_trials; hash && i-- > 0;) {
        if (strcmp(r->trials[i].hash, hash) == 0)
            return r->trials[i].fitness;
    }
    return NAN;
}

static int cell_of_json(const json *j)
{
    behaviour b = {.level = {0}};
    int d = 0;
    for (const json *level = json_first(j); level && d < BEHAVIOUR_DIMS; level = json_next(level), d++) {
        int64_t n = 0;
        if (!json_int(level, &n) || n < 0 || n >= BEHAVIOUR_LEVELS)
            return -1;
        b.level[d] = (int)n;
    }
    return d == BEHAVIOUR_DIMS ? behaviour_cell(&b) : -1;
}

/* Where a move began that was to end at `target`: "raise memory" came from one level below. -1: not to be told. */
static int cell_before(const char *move, int target)
{
    if (!move || target < 0)
        return -1;
    int up = strncmp(move, "raise ", 6) == 0, down = strncmp(move, "lower ", 6) == 0;
    if (!up && !down)
        return strcmp(move, "improve within the cell") == 0 ? target : -1;
    behaviour b = behaviour_of_cell(target);
    for (int d = 0; d < BEHAVIOUR_DIMS; d++) {
        if (strcmp(move + 6, behaviour_dim_names[d]) == 0)
            b.level[d] += up ? -1 : 1;
    }
    for (int d = 0; d < BEHAVIOUR_DIMS; d++) {
        if (b.level[d] < 0 || b.level[d] >= BEHAVIOUR_LEVELS)
            return -1;
    }
    return behaviour_cell(&b);
}

static void read_ask(reading *r, const json *event, const char *key)
{
    const char *kind = json_text(json_get(event, "kind")), *parent = json_text(json_get(event, "parent"));
    if (!kind || strcmp(kind, "meta") == 0 || find_open(r, key))
        return;
    int64_t target = -1;
    r->open = mem_grow(r->open, &r->open_capacity, r->n_open + 1, sizeof *r->open);
    open_attempt *o = &r->open[r->n_open++];
    memset(o, 0, sizeof *o);
    attempt_key(key, o->key);
    if (!json_int(json_get(event, "target"), &target) || target < -1 || target >= BEHAVIOUR_CELLS)
        target = -1;
    o->a = (recorded_attempt){.by_operator = strcmp(kind, "operator") == 0,
                              .parent_fitness = fitness_of(r, parent),
                              .fitness = NAN,
                              .from = cell_before(json_text(json_get(event, "move")), (int)target),
                              .target = (int)target,
                              .to = -1};
}

/* As the loop does: a candidate is of the kind of its best configuration. */
static void read_offers(const json *offers, recorded_attempt *a)
{
    double best = 0;
    for (const json *o = json_first(offers); o; o = json_next(o)) {
        int cell = cell_of_json(json_get(o, "cell"));
        double fitness = json_number(json_get(o, "fitness"));
        a->touched |= cell >= 0 && cell == a->target;
        if (cell >= 0 && (a->to < 0 || fitness > best)) {
            a->to = cell;
            best = fitness;
        }
    }
}

static bool has_compiled(outcome o)
{
    return o != OUTCOME_EXPAND_ERROR && o != OUTCOME_REJECTED && o != OUTCOME_COMPILE_ERROR;
}

static kw_code read_trial(reading *r, const json *event, const char *key, const char *path, size_t line, kw_error *err)
{
    const json *trial = json_get(event, "trial");
    const char *hash = json_text(json_get(trial, "hash")), *name = json_text(json_get(trial, "outcome"));
    char ignored[EXCHANGE_KEY_SIZE];
    outcome what;
    int64_t measured = 0;
    if (!hash || !name || !outcome_from_name(name, &what))
        return kw_error_set(err, KW_BAD_INPUT, "%s:%zu: a trial that cannot be read", path, line);
    recorded_attempt a = {.fitness = json_number(json_get(trial, "fitness")), .target = -1, .to = -1};
    open_attempt *o = find_open(r, key);
    recorded_attempt *into = o ? &o->a : &a;
    bool read = json_truth(json_get(trial, "read")), right = what == OUTCOME_OK;
    json_int(json_get(trial, "measured"), &measured);
    r->run->measured += (uint64_t)(measured > 0 ? measured : 0);
    into->fitness = a.fitness;
    into->with_code = true;
    into->compiled = read && has_compiled(what);
    into->right = right;
    if (attempt_key(key, ignored)) {
        into->first_compiled = into->compiled;
        into->first_right = right;
    }
    into->to = -1;
    into->touched = false;
    if (right)
        read_offers(json_get(trial, "offers"), into);
    if (!o && isnan(r->run->base_fitness)) {
        r->run->base_fitness = a.fitness;
        r->run->base_cell = a.to;
    }
    if (right && !(r->run->best_fitness >= a.fitness))
        r->run->best_fitness = a.fitness;
    r->trials = mem_grow(r->trials, &r->trials_capacity, r->n_trials + 1, sizeof *r->trials);
    (void)snprintf(r->trials[r->n_trials].hash, sizeof r->trials->hash, "%s", hash);
    r->trials[r->n_trials++].fitness = a.fitness;
    return KW_OK;
}

static void read_end_of_attempt(reading *r, const json *event, const char *key)
{
    open_attempt *o = find_open(r, key);
    const char *what = json_text(json_get(event, "outcome"));
    if (!o || !what || strcmp(what, "not_asked") == 0)
        return;
    o->a.duplicate = strcmp(what, "duplicate") == 0 || strcmp(what, "unchanged") == 0;
    r->run->attempts = mem_grow(r->run->attempts, &r->attempts_capacity, r->run->n + 1, sizeof *r->run->attempts);
    r->run->attempts[r->run->n++] = o->a;
    *o = r->open[--r->n_open];
}

static kw_code read_run(recorded_run *run, const json *event, const char *path, size_t line, kw_error *err)
{
    const char *task = json_text(json_get(json_get(event, "info"), "task")),
               *device = json_text(json_get(json_get(event, "info"), "device"));
    if (!task)
        return kw_error_set(err, KW_BAD_INPUT, "%s:%zu: a run without the name of its task", path, line);
    if (run->task)
        return kw_error_set(err, KW_BAD_INPUT, "%s:%zu: a second run begins here; a journal is of one", path, line);
    run->task = mem_strdup(task);
    run->device = mem_strdup(device ? device : "");
    return KW_OK;
}

static kw_code read_events(reading *r, journal *j, const char *path, kw_error *err)
{
    kw_code code = KW_OK;
    for (const json *event = journal_next(j); event && code == KW_OK; event = journal_next(j)) {
        const char *name = json_text(json_get(event, "event")), *key = json_text(json_get(event, "key"));
        if (strcmp(name, "run") == 0)
            code = read_run(r->run, event, path, journal_line(j), err);
        else if (key && strcmp(name, "ask") == 0)
            read_ask(r, event, key);
        else if (key && strcmp(name, "trial") == 0)
            code = read_trial(r, event, key, path, journal_line(j), err);
        else if (key && strcmp(name, "attempt") == 0)
            read_end_of_attempt(r, event, key);
        if (code == KW_OK)
            code = journal_pass(j, err);
    }
    if (code == KW_OK && !r->run->task)
        code = kw_error_set(err, KW_BAD_INPUT, "%s: it does not begin with a run", path);
    return code;
}

kw_code recorded_run_read(const char *path, recorded_run *out, kw_error *err)
{
    journal *j = NULL;
    memset(out, 0, sizeof *out);
    out->base_fitness = out->best_fitness = NAN;
    out->base_cell = -1;
    char *file = fs_is_folder(path) ? fs_join(path, "journal.jsonl") : mem_strdup(path);
    reading r = {.run = out};
    kw_code code = journal_open(file, true, &j, err);
    if (code == KW_OK)
        code = read_events(&r, j, file, err);
    if (code != KW_OK)
        recorded_run_clear(out);
    journal_close(j);
    free(r.trials);
    free(r.open);
    free(file);
    return code;
}

void recorded_run_clear(recorded_run *r)
{
    free(r->task);
    free(r->device);
    free(r->attempts);
    memset(r, 0, sizeof *r);
}

recorded_share recorded_share_of(uint64_t n, uint64_t of)
{
    recorded_share s = {n, of, NAN, NAN, NAN};
    if (of == 0)
        return s;
    const double z = 1.959964, m = (double)of, p = (double)n / m;
    double middle = (p + z * z / (2 * m)) / (1 + z * z / m),
           half = z * sqrt(p * (1 - p) / m + z * z / (4 * m * m)) / (1 + z * z / m);
    s.share = p;
    s.lo = fmax(0, middle - half);
    s.hi = fmin(1, middle + half);
    return s;
}

recorded_summary recorded_summary_of(const recorded_run *runs, size_t n)
{
    recorded_summary s = {.attempts = 0};
    uint64_t compiled = 0, right = 0, first_compiled = 0, first_right = 0, beat = 0, parents = 0, hit = 0, touched = 0,
             targets = 0, moved = 0, moves = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < runs[i].n; k++) {
            const recorded_attempt *a = &runs[i].attempts[k];
            s.attempts++;
            s.duplicates += a->duplicate;
            compiled += a->compiled;
            right += a->right;
            first_compiled += a->first_compiled;
            first_right += a->first_right;
            parents += !isnan(a->parent_fitness);
            beat += a->right && a->fitness > a->parent_fitness;
            if (!a->right || a->target < 0)
                continue;
            targets++;
            hit += a->to == a->target;
            touched += a->touched;
            moves += a->from >= 0 && a->from != a->target;
            moved += a->from >= 0 && a->from != a->target && a->to == a->target;
        }
    }
    s.compiled = recorded_share_of(compiled, s.attempts);
    s.right = recorded_share_of(right, s.attempts);
    s.first_compiled = recorded_share_of(first_compiled, s.attempts);
    s.first_right = recorded_share_of(first_right, s.attempts);
    s.beat_parent = recorded_share_of(beat, parents);
    s.hit = recorded_share_of(hit, targets);
    s.touched = recorded_share_of(touched, targets);
    s.moved = recorded_share_of(moved, moves);
    return s;
}
