/* Inside of the search of one shape; shared by the files tune*.c. */
#ifndef KERNWRIGHT_TUNER_TUNE_INTERNAL_H
#define KERNWRIGHT_TUNER_TUNE_INTERNAL_H

#include "tuner/arms.h"
#include "tuner/rows.h"
#include "tuner/tune.h"

/* A question to a strategy, until the strategy hears the answer. */
typedef struct turn {
    struct turn *next;
    arm *arm;
    bool in_flight; /* was sent to the evaluator; others were known at once */
    bool done, ok;
    double time_ns;
    int64_t asked_ns;
    uint32_t config[];
} turn;

/* Questions in the order in which they were asked. */
typedef struct turns {
    turn *first, *last; /* not told yet */
    turn *late;         /* passed over, since they kept all others waiting: told when they come */
    size_t n_in_flight; /* of those from first on, sent to the evaluator */
    size_t depth;       /* so many may be in flight; fixed for a search */
    double best_ns;     /* of what was told; INFINITY at first */
} turns;

/* A configuration on its way through the evaluator. */
typedef struct trial {
    candidate c;
    arm *arm;
    turn *turn; /* NULL where no strategy asks */
    variant *v;
    char *config_json;
    struct trial *next;  /* in search.pending, or the next twin */
    bool is_fallback;    /* measured beside the search, of which it is no part */
    bool again;          /* timed a second time, by the method of the search */
    struct trial *twins; /* other configurations with the same text: they share the outcome */
    uint32_t config[];   /* one index per parameter */
} trial;

typedef struct search {
    evaluator *e;
    store *s;
    const task *t;
    const tune_options *o;
    const task_shape *shape;
    rows rows;
    arms arms;
    ledger ledger;
    turns turns;
    case_source cases;
    variant *trusted;
    double best_ns;
    timing_method method; /* batches for all once a fast candidate was seen: methods are never compared */
    trial *pending;       /* in the evaluator */
    trial *simulated;     /* begun ahead, or NULL */
    bool may_simulate;    /* it is to be begun with while something else is waited for */
    uint64_t proposed, measured, reused, failed;
    size_t repetitions; /* proposals in a row whose text was known */
    uint64_t failures[OUTCOME_COUNT];
    char failure_text[OUTCOME_COUNT][256]; /* of the latest */
    uint64_t stopped_early;                /* candidates of this run that were hopeless */
    double saved_ms;                       /* by that */
    double spent_seconds;                  /* by earlier runs */
    bool knows_seconds;                    /* which were kept, and need not be guessed */
    double kept_seconds;                   /* search_seconds when they were last kept */
    int64_t start_ns;
    double pace_s;    /* from one result to the next, recently; 0: not known yet */
    int64_t last_ns;  /* when the latest came */
    uint32_t *config; /* scratch */
} search;

/* tune_trial.c: a trial's way into the evaluator and out of it. */
const template *search_fallback(const tune_options *o); /* NULL if there is none */
trial *trial_new(arm *a, const template *p, const uint32_t *config);
void trial_free(trial *x); /* with its twins */
void search_submit(search *q, trial *x, candidate_kind kind);
/* Takes one finished trial out of the evaluator. KW_OK with *got NULL when none is pending, or none came within
 * `timeout_ms` (-1: for ever). */
kw_code search_next(search *q, int64_t timeout_ms, trial **got, kw_error *err);
/* Submits one trial and waits for it; nothing else is pending. */
kw_code search_run_alone(search *q, trial *x, candidate_kind kind, kw_error *err);
/* Stores the outcome and counts it. */
kw_code search_record(search *q, trial *x, const char *purpose, kw_error *err);
/* The text could not even be made: recorded like any other outcome, under a hash of template and configuration. */
kw_code search_record_expand_error(search *q, const trial *x, const kw_error *why, kw_error *err);
/* Was it timed by another method than the one that the candidates of this search are compared by? */
bool search_other_method(const search *q, const char *method);
/* Ledger and counts; every measurement, new or stored, comes through here. */
void search_note(search *q, const measurement *m);
void search_report(search *q, const measurement *m, bool reused, const char *purpose);
double search_seconds(const search *q); /* spent on this shape, earlier runs included */

/* tune_turns.c: what a strategy proposes next follows from what it was told. So that parallel work does not decide
 * it by the order of its ends, answers are told in the order of the questions, and each as late as possible: before
 * the question that is `depth` ones in flight behind it. */
void turns_start(turns *ts, size_t depth);
void turns_clear(turns *ts);
turn *turns_ask(turns *ts, arm *a, const uint32_t *config, bool in_flight);
void turns_answer(turns *ts, turn *t, bool ok, double time_ns);
/* Tells what is due. May another question be asked? */
bool turns_open(turns *ts);
/* Closed: how long until the question that is waited for counts as late, in ms; 0: it is. */
int64_t turns_patience_ms(const turns *ts);
/* Passes over the question that is waited for. */
void turns_pass(turns *ts);

/* tune_reuse.c: what the store knows is told to the strategies, and counts against the budget. */
kw_code search_reuse(search *q, kw_error *err);
/* Keeps the time spent; now, or if a second has passed since. */
void search_keep_seconds(search *q, bool now);

/* tune_deep.c: candidates under the simulator. */
bool search_simulates_all(const search *q);
/* *failed: then x's record has outcome, stage and detail of that. `text`: "passed", "failed", "not checked: why", or ""
 * where nothing is to be simulated. What is known from before is not simulated again. */
kw_code search_simulate(search *q, trial *x, bool *failed, char *text, size_t size, kw_error *err);
/* The same of something that was measured; a failure becomes a row. */
kw_code search_simulate_entry(search *q, const ledger_entry *entry, char *text, size_t size, kw_error *err);

/* Begins with that of an entry which is going to be asked for, while the device is at something else; until it was
 * asked for, or is wanted no more. */
void search_simulate_begin(search *q, const ledger_entry *entry);
void search_simulate_beside(search *q); /* several times a second while something is waited for */
void search_simulate_end(search *q);

/* tune_task.c: KW_BAD_INPUT when the reference contradicts itself. Once per task and types. */
kw_code search_check_task(search *q, kw_error *err);

/* tune_winner.c: contenders are timed again, the winner and the default layer's variants are verified on every edge
 * shape. KW_FAILED when nothing valid was measured. */
/* A trial of an entry that was measured before, rebuilt from its template. NULL if the template is not here. */
trial *search_trial_of_entry(search *q, const ledger_entry *entry);
/* The fallback, where it is not searched itself; NULL: nothing to measure. */
trial *search_fallback_trial(search *q);
bool search_knows_fallback(search *q); /* was it measured? */
kw_code search_name_winner(search *q, tune_result *out, kw_error *err);

#endif
