/* Inside of the worker; shared by the files worker*.c. */
#ifndef KERNWRIGHT_TUNER_WORKER_INTERNAL_H
#define KERNWRIGHT_TUNER_WORKER_INTERNAL_H

#include "base/hash.h"
#include "device/device.h"
#include "device/topology.h"
#include "tuner/job.h"
#include "tuner/reference.h"
#include "tuner/sandbox.h"
#include "tuner/worker_buffers.h"
#include "tuner/worker_cases.h"

#include <stdbool.h>
#include <stdint.h>

/* A program that was built for an earlier job, known by options, text and kernels. */
typedef struct kept_program {
    char key[HASH_HEX_SIZE];
    device_program *program; /* NULL: a free place */
    int64_t registers, spill_bytes, local_bytes;
    artefact artefact;
    uint64_t last_used;
} kept_program;

#define WORKER_PROGRAMS 16

typedef struct line_reader line_reader;

typedef struct worker {
    int out_fd;
    line_reader *in;
    topology machine;
    device_info *devices; /* of the hello */
    size_t n_devices;
    sandbox_folder folder;
    char **environment; /* as it was before any driver was loaded; for runners */
    uint64_t memory_limit;
    bool is_confined[3]; /* by sandbox_role */
    device *device;      /* the one opened last; kept */
    bool is_used;        /* a job has run on it since its runner started */
    char spec[32];
    bool is_bound; /* to the cores near it */
    case_cache *cases;
    reference_cache *references;
    /* The trusted program built last, known by its text. */
    device_program *trusted;
    char trusted_hash[HASH_HEX_SIZE];
    kept_program programs[WORKER_PROGRAMS];
    uint64_t clock; /* of their use */
    /* Host memory for a tensor that was read back: fresh pages cost more than reading them. */
    void *scratch;
    size_t scratch_bytes;
    device_program *own; /* kernels of ours, built when they are first needed */
    device_buffer *own_words;
    bool spoils_nothing; /* they cannot fill local memory here */
    bool is_suspect;     /* the device was just opened, or lost by a candidate: it is not known to be sound */
    size_t usual_tasks;  /* of a runner that has run a kernel of ours only; 0: not known, nor needed so far */
    char *simulator_log; /* of a simulated device; NULL: none */
    size_t log_read;     /* bytes of it that are known */
} worker;

typedef enum job_end {
    JOB_REPORTED, /* the record tells all */
    JOB_LOST,     /* so it does, but this process must end without another call to the driver */
    JOB_FATAL     /* no candidate's fault; run->fatal says what */
} job_end;

/* One job at work. Steps return true to go on; false when `record` (or `fatal`) has the end of it. */
typedef struct run {
    worker *worker;
    device *device;
    const job *job;
    job_record *record;
    device_program *program;
    bool program_is_kept; /* by the worker, not this job's to free */
    bool from_cache;      /* it was not compiled by this job */
    stage stage;          /* announced last */
    bool in_reference;    /* the task's own code is at work, */
    bool said_so;         /* and that was announced */
    case_ahead *ahead;    /* threads that make the cases to come; NULL: none */
    int64_t start_ns;     /* when the job was received */
    int64_t announced_ns;
    double turn_from_ms, turn_to_ms;           /* the last turn; since the job was received */
    double host_ns;                            /* of the run that was verified last, by the host's clock */
    device_buffer *verified[TASK_MAX_TENSORS]; /* what the candidate wrote for the last case: compared when timed */
    job_end end;
    kw_error fatal;
} run;

/* What lies in outputs and temporaries, and around every buffer, before the first and the second run. FF is a NaN in
 * every float type, so that what is read without having been written spreads. */
enum { FIRST_POISON = 0xff, SECOND_POISON = 0x7b, FIRST_GUARD = 0xff, SECOND_GUARD = 0xa5 };

/* worker.c */
void worker_send(worker *w, const char *text, size_t length);
/* Waits until the coordinator lets the job go on. */
void worker_wait_go(worker *w, int64_t id);
/* Says that a stage begins, or still goes on through no doing of the candidate: the deadline starts anew. */
void run_announce(run *r, stage s);
void run_keep_alive(run *r);
/* The device is for this job from here on, alone if it is to be timed; and no longer. Nothing where jobs do not take
 * turns. A stage that follows ends no turn. */
void run_take_turn(run *r, stage s);
void run_end_turn(run *r);

/* worker_run.c: ends of a job. All return false. */
bool run_fail(run *r, outcome o, const char *format, ...) KW_PRINTF(3, 4);
bool run_fatal(run *r, const kw_error *err);
/* A call of the device layer failed: outcome by the fault. `what` says what was being done. */
bool run_device_failed(run *r, const kw_error *err, const char *what);
/* Layouts of the case's tensors. Fails when the device could never hold them and the temporaries: says how much is
 * needed and how much there is. */
bool run_layouts(run *r, const job_case *c, tensor_layout *out);
double run_ms(const run *r); /* since the job was received */

/* worker_device.c */
/* The device of the job, opened when it is not the one of the job before. */
kw_code worker_use_device(worker *w, const job *j, kw_error *err);
/* After a lost device: true when another process drives it and a new one has taken over, so that this worker goes
 * on. */
bool worker_recover(worker *w);
/* After a job: where its kernel left a thread or a program in the runner of a CPU device, a new runner takes over, so
 * that nothing slows the next candidate. false: none could be started; this process must end. */
bool worker_leave_nothing(worker *w);
void worker_close_device(worker *w);

/* worker_job.c */
job_end worker_do(worker *w, const job *j, job_record *record, kw_error *fatal);

/* worker_programs.c */
/* The job's program: kept from an earlier job, or built, and then kept for the next one unless this job only compiles.
 * `info` as by device_build. */
kw_code run_program(run *r, const char *const *kernels, size_t n, device_build_info *info, kw_error *err);
/* All of them, the trusted one too: before the device goes, or when the process that held them is gone. */
void worker_forget_programs(worker *w);

/* worker_check.c */
void worker_forget_trusted(worker *w);
/* `others`: once more on other inputs. */
bool run_verify_case(run *r, const job_case *c, bool keep_output, bool others);
/* Begins to make the cases of a job that only verifies. others[i] is what run_verify_case is told for case i. */
bool run_begin_ahead(run *r, const bool *others);
void run_end_ahead(run *r);
bool run_check_guards(run *r, const buffer_set *set);
bool run_check_inputs(run *r, const case_data *data, const buffer_set *set);
bool run_check_outputs(run *r, const case_data *data, const buffer_set *set, int poison, const char *where);
/* All of it after one run: guards, inputs, and with SCREEN_OUTPUTS the outputs, with SCREEN_SAME that they equal
 * those of the first run. */
enum { SCREEN_OUTPUTS = 1, SCREEN_SAME = 2 };
bool run_check_all(run *r, const case_data *data, const buffer_set *set, int poison, unsigned what, const char *where);
/* The case's inputs and expected values, made when they are not in the cache. */
bool run_case_data(run *r, const job_case *c, uint64_t seed, case_data **out);

/* worker_screen.c */
/* Looks at a run on the device, where that can be done. *clean: all is well, but for outputs that are not screened, and
 * for the sample of those that are. */
bool run_screen(run *r, const case_data *data, const buffer_set *set, unsigned what, bool *clean);
/* Can this output be compared with the trusted one on the device, so that only the sample is read back? */
bool run_is_screened(const run *r, const case_data *data, size_t tensor);

/* worker_own.c: kernels of ours. */
void worker_forget_own(worker *w);
/* Fills local memory with `byte` before a kernel that uses some, so that what it reads there unwritten shows. */
bool run_spoil_local(run *r, const buffer_set *set, unsigned char byte);
/* Compiles what the former needs, for another process that finds it in the driver's cache. */
void run_prepare_own(run *r);
/* Does the device compute? Three tries, a second apart. KW_ENVIRONMENT if not: no candidate is to be measured there. */
kw_code worker_check_health(worker *w, kw_error *err);

/* worker_simulator.c: a device that is Oclgrind. */
/* Before it is opened: its log goes to the private folder. */
void worker_prepare_simulator(worker *w);
/* What it has said since the last call. true on every other device. */
bool run_check_log(run *r);

/* worker_task.c: the task itself. */
bool run_check_task(run *r);

/* worker_probe.c: the device itself; fills record->probe. */
bool run_probe(run *r);

/* worker_time.c */
bool run_time(run *r, const job_case *c);

/* Before the second run: outputs hold what the first run wrote, but for a few elements that hold poison or what belongs
 * elsewhere. Who looks whether the work is done already, at some of it, leaves these as they are. That nothing was left
 * unwritten is known from the first run. */
bool run_leave_gaps(run *r, const case_data *data, const buffer_set *set, uint64_t seed);

/* Runs the trusted kernel on a sampled case, checks it where the reference spoke, and keeps its output in `data`. */
bool run_trusted(run *r, const job_case *c, case_data *data);

#endif
