/* Tuning: from a task and its shapes to measured, verified winners in the store. */
#ifndef KERNWRIGHT_TUNER_TUNE_H
#define KERNWRIGHT_TUNER_TUNE_H

#include "base/error.h"
#include "codegen/task.h"
#include "codegen/template.h"
#include "tuner/evaluator.h"
#include "tuner/ledger.h"
#include "tuner/oclgrind.h"
#include "tuner/probe.h"
#include "tuner/store.h"
#include "tuner/strategy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A budget for one shape: a count of measured configurations (different texts) or an amount of time. What the store
 * already holds counts: the same command again finds its budget spent and ends at once. */
typedef struct tune_budget {
    uint64_t configurations; /* 0: no limit */
    double seconds;          /* 0: no limit */
} tune_budget;

/* "200", "60s", "5m", "1h"; both kinds joined by a comma. */
kw_code tune_budget_parse(const char *text, tune_budget *out, kw_error *err);

/* Which candidates are run under Oclgrind as well (tuner/oclgrind.h). */
typedef enum deep_policy { DEEP_WINNERS, DEEP_ALL, DEEP_NONE } deep_policy;

/* One finished candidate, for streams and progress. Borrowed. */
typedef struct tune_progress {
    const task_shape *shape;
    const measurement *m;
    uint64_t done, budget; /* configurations of this shape; budget 0: by time */
    double seconds, seconds_budget;
    double best_ns;      /* INFINITY before the first success */
    bool reused;         /* came from the store */
    const char *purpose; /* "search", "retime", "fallback", "general", "deep" */
} tune_progress;

typedef struct arms_guide arms_guide; /* tuner/arms.h */

typedef struct tune_options {
    task_types types;
    const template *const *templates; /* of the task; the fallback among them also serves as trusted variant */
    size_t n_templates;
    const template *fallback; /* NULL: the one in templates; else searched for by the caller, not tuned */
    const strategy_ops *strategy;
    tune_budget budget;
    uint64_t seed;
    bool cold;
    const probe_figures *probe; /* of the evaluator's device: what no time can be below; NULL: not known */
    void (*on_progress)(const tune_progress *p, void *cookie);
    void *cookie;
    trace *trace;
    oclgrind *oclgrind; /* borrowed; NULL: not there */
    deep_policy deep;
    const arms_guide *guide; /* chooses instead of the strategies; NULL: they do */
} tune_options;

typedef struct tune_result {
    bool found;
    double naive_ns; /* the fallback's default configuration; NaN if not measured */
    double first_ns; /* the winner's template at its default configuration; NaN if that is invalid or failed */
    double tuned_ns, tuned_lo, tuned_hi;
    double gflops; /* NaN when the task has no flops */
    double gbytes; /* GB/s by the task's bytes; NaN likewise */
    verified verified;
    char template_name[64];
    char *config; /* "TM=64 TN=64 ..."; free() */
    char source_hash[HASH_HEX_SIZE];
    uint64_t measured, reused, failed, space_size;
    size_t n_samples;
    double limit_ns;        /* of a run that reaches the device's limit; NaN if not known */
    const char *limited_by; /* as in a measurement; NULL if not known */
    double noise;           /* of times like the winner's; NaN if not known */
    uint64_t stopped_early; /* hopeless candidates of this run */
    double saved_ms;        /* device time that stopping them saved, by estimate */
    char deep_check[200];   /* of the winner: "passed", "not checked: why", or "" where it was not asked for */
} tune_result;

void tune_result_clear(tune_result *r);

/* Tunes one shape. KW_FAILED when nothing valid was found (the message says what failed most), KW_INTERRUPTED with
 * everything measured stored. */
kw_code tune_shape(evaluator *e, store *s, const task *t, const tune_options *o, const task_shape *shape,
                   tune_result *out, kw_error *err);

/* Verifies and times one configuration (kernwright time); nothing is stored when s is NULL. What its template rejects
 * is a record too, and no worker sees it. With DEEP_ALL one that is right is simulated as well: then record->detail of
 * an ok one says "simulated: passed", or why it was not. */
kw_code tune_one(evaluator *e, store *s, const task *t, const tune_options *o, const template *p,
                 const uint32_t *config, const task_shape *shape, job_record *record, kw_error *err);

#endif
