/* The worker protocol: JSON lines on standard input and output of `kernwright worker --stdio`.
 * docs/protocol.md is its description; this file is its C side. Tensors never travel: they are generated from seeds.
 *
 *   worker -> {"type":"hello","protocol":1,"version":..,"pid":..,"host":..,"devices":[..],"note":..}
 *   coordinator -> {"type":"job","id":..,...}        one at a time
 *   worker -> {"type":"stage","id":..,"name":"compile"}  written and flushed BEFORE each stage begins
 *   coordinator -> {"type":"go","id":..}             to a worker whose stage said "turn":"wait"
 *   worker -> {"type":"result","id":..,"record":{..}}
 *   worker -> {"type":"error","code":..,"text":..}   no candidate's fault: the worker exits with `code`
 *   coordinator closes standard input: the worker ends.
 */
#ifndef KERNWRIGHT_TUNER_JOB_H
#define KERNWRIGHT_TUNER_JOB_H

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "codegen/task.h"
#include "codegen/variant.h"
#include "device/device.h"
#include "device/probe.h"
#include "tuner/outcome.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROTOCOL_VERSION 1
#define JOB_MAX_CASES 128

typedef enum job_mode {
    JOB_COMPILE,  /* build only (and one launch where the driver compiles at launch): warms the caches */
    JOB_VERIFY,   /* all cases, no timing */
    JOB_EVALUATE, /* all cases, then time the last one */
    JOB_TIME,     /* time only the last case; verification of the timed run's output still happens */
    JOB_CHECK,    /* no candidate: does the task's reference agree with itself? No device is opened */
    JOB_PROBE,    /* no candidate: measure the device itself. Only id, device and limits are given */
    JOB_BINARY    /* build only, and hand over the compiled program. No task, no cases */
} job_mode;

/* How inputs are drawn; see docs/measurement.md. All respect each tensor's domain. */
typedef enum distribution {
    DIST_NORMAL,              /* standard normal */
    DIST_INTEGERS,            /* small integers, exact in the type at small reduction lengths */
    DIST_LARGE,               /* large magnitudes, mixed signs */
    DIST_SPARSE,              /* zeros with sparse spikes */
    DIST_MIXED,               /* great numbers that meet zeros, beside small ones that make the result */
    DIST_NEGATIVE,            /* all below zero */
    DIST_ROWS,                /* one value a row, some rows of zeros: ties everywhere */
    DIST_ROUND,               /* those above go round through the cases of every job; those below are for winners */
    DIST_OFFSET = DIST_ROUND, /* a row's elements lie close together, far from zero */
    DIST_SCALED,              /* normal, all of a case many powers of two up or down */
    DIST_PEAKS,               /* small whole numbers, neighbours different, and far beyond them one in a row */
    DIST_COUNT
} distribution;
const char *distribution_name(distribution d);

/* One run of the candidate on one shape. The last case of a job is the target. */
typedef struct job_case {
    task_shape shape;
    double scalars[TASK_MAX_SCALARS];
    distribution dist;
    uint64_t seed;
    plan plan;
    plan trusted_plan; /* of the trusted variant; n_launches 0: none */
    bool sampled;      /* too large for the reference: compare 4,096 random elements, and everything with the trusted
                            output */
} job_case;

/* Methods are never compared with each other; AUTO takes events from 30 us a run up, batches below. Whoever compares
 * candidates around that border asks for the method that the first of them was timed with. */
typedef enum timing_method { TIMING_AUTO, TIMING_EVENTS, TIMING_BATCH } timing_method;
const char *timing_method_name(timing_method m); /* "auto", "events", "batch" */

typedef struct job_timing {
    timing_method method;
    bool cold;          /* rotate buffers over twice the last-level cache */
    int min_samples;    /* events: launches timed in a row; batches otherwise */
    int64_t max_ns;     /* stop timing one candidate after this much device time (at least 3 samples are kept) */
    double hopeless_ns; /* stop after 2 samples when both are over this; 0: never */
} job_timing;

/* When a worker asks before it uses the device, because others use it too: it says that it waits for its turn, goes on
 * when it is told to, and says when the turn is over. */
typedef enum job_turns {
    TURNS_NONE, /* it does not ask */
    TURNS_TIME, /* before it times, which wants nobody beside it */
    TURNS_ALL,  /* before anything of it is on the device as well; others may verify beside it */
    TURNS_COUNT
} job_turns;
const char *job_turns_name(job_turns t); /* "none", "time", "all" */

/* What a stage says of a turn. */
typedef enum turn_state { TURN_NONE, TURN_WAIT, TURN_OVER, TURN_COUNT } turn_state;
const char *turn_state_name(turn_state t); /* "none", "wait", "over" */

typedef struct job_limits {
    int64_t compile_ms, run_ms; /* deadlines per stage, enforced by the coordinator; 0: none */
} job_limits;

typedef struct job {
    int64_t id;
    const char *device; /* spec */
    job_mode mode;
    language lang;
    const char *source, *options;
    const task *task; /* NULL for JOB_PROBE and JOB_BINARY */
    task_types types;
    job_case *cases;
    size_t n_cases;
    job_timing timing;
    job_limits limits;
    job_turns turns;
    bool prepare;      /* JOB_COMPILE: the worker's own kernels as well, for the one that verifies */
    int64_t verify_ms; /* JOB_VERIFY: no further case is begun after so long; 0: all cases */
    /* The trusted variant for full comparison of sampled cases; NULL source: none. */
    const char *trusted_source, *trusted_options;
} job;

/* Version of the way times are taken; part of the identity of a result. */
#define TIMING_VERSION 2

typedef struct job_record {
    outcome outcome;
    stage stage;        /* where it ended; STAGE_DONE for ok */
    char *detail;       /* one or more lines for a person; NULL if none. compile_error: log and numbered source */
    double *samples_ns; /* kept in order */
    size_t n_samples;
    size_t n_dropped;                                        /* non-positive readings */
    const char *method;                                      /* "events" or "batch"; NULL if not timed */
    bool stopped_early;                                      /* hopeless */
    bool out_of_memory;                                      /* of the host, while compiling: worth another try */
    double saved_ms;                                         /* device time that stopping early saved, by estimate */
    double compile_ms, verify_ms, time_ms;                   /* host wall time of the stages */
    double compile_start_ms, verify_start_ms, time_start_ms; /* since the job was received */
    double device_ms;                            /* of these, waiting for the device at work for the candidate */
    int64_t registers, spill_bytes, local_bytes; /* -1 unknown */
    char *extra;                                 /* facts that have no column, a JSON object; NULL if none */
    size_t cases_passed;
    double worst_error;   /* largest |x - v| / bound over all compared elements; <= 1 passes; at most JOB_MAX_ERROR */
    probe_figures *probe; /* of JOB_PROBE; else NULL */
    char *identity;       /* of JOB_BINARY: of device and driver (kw_key_query_identity); else NULL */
    unsigned char *binary;
    size_t n_binary; /* bytes */
} job_record;

#define JOB_MAX_ERROR 1e30   /* worst_error of NaN, of infinities, and of a difference where none is allowed */
#define JOB_MAX_DETAIL 65536 /* bytes of a detail; longer ones are cut in the middle when they are printed */

void job_record_clear(job_record *r);

/* Encoding: one line each, appended to `out` with the newline. Source and options must be valid UTF-8; in a detail
 * other bytes are replaced. */
void job_print(const job *j, strb *out);
void job_stage_print(int64_t id, stage s, strb *out);
void job_turn_print(int64_t id, stage s, turn_state t, strb *out);
void job_go_print(int64_t id, strb *out);
bool job_is_go(const char *line, size_t length, int64_t id); /* the answer to TURN_WAIT? */
/* The same as job_stage_print, while the task's own code is at work: its reference. What goes wrong now is no
 * candidate's fault. */
void job_task_stage_print(int64_t id, stage s, const char *task_name, strb *out);
void job_record_print(int64_t id, const job_record *r, strb *out);
void job_error_print(kw_code code, const char *text, strb *out);
/* Decoding of a whole line. The job's strings and cases live in `a`; *t is the task it brought: free with task_free. */
kw_code job_parse(const char *line, size_t length, arena *a, job *out, task **t, kw_error *err);

typedef enum message_type { MESSAGE_HELLO, MESSAGE_STAGE, MESSAGE_RESULT, MESSAGE_ERROR } message_type;

typedef struct message {
    message_type type;
    int64_t id;
    stage stage;       /* MESSAGE_STAGE */
    turn_state turn;   /* MESSAGE_STAGE */
    char task[64];     /* MESSAGE_STAGE: the task whose own code is at work; "" while it is the candidate's */
    job_record record; /* MESSAGE_RESULT */
    kw_error error;    /* MESSAGE_ERROR */
    /* MESSAGE_HELLO: */
    int64_t protocol, pid;
    char version[32], host[128];
    char cpu_model[128];
    int64_t physical_cores;
    int64_t available_bytes; /* memory that its machine can still give to programs; 0 unknown */
    device_info *devices;    /* free() */
    size_t n_devices;
    char note[512];
    char sandbox[256]; /* which of its measures work on that machine; "" from a worker that does not say */
} message;

kw_code message_parse(const char *line, size_t length, message *out, kw_error *err); /* another protocol: an error */
void message_clear(message *m);
void job_hello_print(const message *hello, strb *out); /* `protocol` is not read: ours is written */

/* The worker's main loop (cli/worker.c calls it): until end of input. Returns the exit code: 0 at the end of input, 2
 * after a line that is not a job, 3 when the machine cannot do what every job needs (no such device, no compiler for a
 * user's reference). It does not return when the process is no longer to be trusted: then it has written the result and
 * left with WORKER_EXIT_LOST. Takes over both descriptors. */
int worker_main(int in_fd, int out_fd);
#define WORKER_EXIT_LOST 70

#endif
