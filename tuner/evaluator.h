/* The evaluator: takes candidates, gives back records. Compiles in parallel ahead of the workers that verify and time,
 * so that a GPU never waits for a compiler. One worker times at a time; on a CPU device all others stand still
 * meanwhile, or, where they cannot be stopped, compiling and timing take turns.
 */
#ifndef KERNWRIGHT_TUNER_EVALUATOR_H
#define KERNWRIGHT_TUNER_EVALUATOR_H

#include "base/error.h"
#include "codegen/variant.h"
#include "device/device.h"
#include "tuner/cases.h"
#include "tuner/job.h"
#include "tuner/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct evaluator evaluator;

typedef struct evaluator_options {
    const char *device;         /* as --device; NULL: default choice */
    const char *worker_command; /* NULL: this program */
    int compile_workers;        /* processes that only compile; -1: one per physical core (less one beside a GPU) */
    int timing_workers;         /* processes that verify and time, one at a time; 0: as policy_shares says */
    bool cold;
    int64_t compile_ms, run_ms; /* deadlines of a stage; 0: 120 s and 60 s */
    int64_t deep_ms;            /* CANDIDATE_DEEP: no further shape is begun after so long; 0: all of them */
    trace *trace;               /* borrowed; may be NULL */
} evaluator_options;

/* Starts the first worker and chooses the device from its hello. */
kw_code evaluator_open(const evaluator_options *options, evaluator **out, kw_error *err);
void evaluator_close(evaluator *e); /* NULL is fine */
const device_info *evaluator_device(const evaluator *e);
const message *evaluator_hello(const evaluator *e); /* host, cpu model, all devices */

typedef enum candidate_kind {
    CANDIDATE_TARGET,  /* hidden shapes and target, then time the target */
    CANDIDATE_GENERAL, /* every edge shape, 20 random ones, a large target on exact inputs; no timing */
    CANDIDATE_SHAPE,   /* the target only: verify and time it. For a variant that passed other shapes before */
    CANDIDATE_RETIME,  /* time the target again */
    CANDIDATE_DEEP,    /* shapes for a simulator; no timing */
    CANDIDATE_TASK,    /* no candidate: the task of `cases` itself. variant is NULL */
    CANDIDATE_PROBE,   /* no candidate: measure the device itself (record.probe). variant and cases are NULL */
    CANDIDATE_BINARY   /* compile, and hand over the program (record.binary). cases is NULL */
} candidate_kind;

/* Filled and owned by the caller until evaluator_next returns it. */
typedef struct candidate {
    candidate_kind kind;
    const variant *variant;
    const case_source *cases; /* borrowed until done */
    task_shape target;
    bool compile_first;   /* CANDIDATE_GENERAL: nobody has compiled it yet, so that another worker should */
    double hopeless_ns;   /* 0: never stop early */
    timing_method method; /* one method for all candidates that are compared */
    void *cookie;
    /* results */
    job_record record;     /* caller clears with job_record_clear */
    bool general_complete; /* CANDIDATE_GENERAL that came out ok: enough cases for "verified: general" */
    /* the evaluator's own */
    struct candidate *next;
    int64_t id;
    int state;
    int64_t sent_ns;
    size_t worker;
} candidate;

void evaluator_submit(evaluator *e, candidate *c);
size_t evaluator_pending(const evaluator *e);
/* How many candidates should be in flight to keep all workers busy; always the same for an evaluator. */
size_t evaluator_depth(const evaluator *e);
/* Has the timing worker nothing to do but to wait for a compiler? */
bool evaluator_is_starved(const evaluator *e);
/* Waits for the next finished candidate. NULL with KW_OK when nothing is pending; NULL with KW_INTERRUPTED or
 * KW_ENVIRONMENT when the run is over. */
candidate *evaluator_next(evaluator *e, kw_error *err);
/* The same, but NULL with KW_OK also when nothing came within `timeout_ms` (-1: for ever; 0: takes what has come). */
candidate *evaluator_next_within(evaluator *e, int64_t timeout_ms, kw_error *err);
/* While the two above wait, `tick` is called ten times a second or more, so that other work of this process goes on. It
 * must not use the evaluator. NULL: no more. */
void evaluator_set_tick(evaluator *e, void (*tick)(void *cookie), void *cookie);
/* When the run is over: the candidates that are still pending belong to the caller again, nothing more comes back. */
void evaluator_forget(evaluator *e);
/* Interrupted so far? (Ctrl-C between two candidates) */
bool evaluator_interrupted(const evaluator *e);
/* The same for long work on the host: looks whether a signal has come since, without waiting. */
bool evaluator_asked_to_stop(evaluator *e);
int64_t evaluator_restarts(const evaluator *e);

#endif
