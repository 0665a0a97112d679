/* The second gate: a candidate that came out right is run on small shapes under Oclgrind, an OpenCL simulator, which
 * sees what no comparison of results shows: reads past an end, races that did not happen this time, uses of memory that
 * was never written. docs/measurement.md, "Under a simulator".
 *
 * It happens in a worker of its own whose OpenCL is Oclgrind, with deadlines, beside whatever device is being tuned. */
#ifndef KERNWRIGHT_TUNER_OCLGRIND_H
#define KERNWRIGHT_TUNER_OCLGRIND_H

#include "base/error.h"
#include "base/strb.h"
#include "codegen/limits.h"
#include "codegen/variant.h"
#include "tuner/cases.h"
#include "tuner/job.h"

#include <stdbool.h>

typedef struct oclgrind oclgrind;

typedef enum oclgrind_verdict {
    OCLGRIND_PASSED,
    OCLGRIND_FAILED,      /* the record says what is wrong */
    OCLGRIND_NOT_CHECKED, /* the simulator cannot run it, or not in time: nothing is said against it */
    OCLGRIND_ABSENT       /* the simulator itself does not run here: nothing is said of any variant */
} oclgrind_verdict;

/* Where the program `oclgrind` is: $KERNWRIGHT_OCLGRIND, else in $PATH. NULL: nowhere. Caller frees. */
char *oclgrind_find(void);
/* "Oclgrind 21.10"; "" when it does not run. */
void oclgrind_version(const char *path, strb *out);

/* KW_ENVIRONMENT: it was asked for, and is not there. */
kw_code oclgrind_missing(kw_error *err);

/* Nothing is started yet. NULL when it is not installed. `deep_ms`: after so long no further shape is begun
 * (0: 3 s). */
oclgrind *oclgrind_new(int64_t deep_ms);
void oclgrind_free(oclgrind *g);        /* NULL is fine */
const char *oclgrind_name(oclgrind *g); /* its version; borrowed */

/* Simulates v on small shapes of `cases`, whose limits (those of the tuned device) the simulator takes over as far as
 * it can. KW_OK with a verdict: then *record has outcome, stage and detail (clear it with job_record_clear), and its
 * detail says in one line why something was not checked. KW_INTERRUPTED; KW_BAD_INPUT when the task is at fault. */
kw_code oclgrind_check(oclgrind *g, const variant *v, const case_source *cases, oclgrind_verdict *verdict,
                       job_record *record, kw_error *err);

/* Begins with what oclgrind_check is going to ask for: there is other work until then. The variant stays until it was
 * asked for or cancelled. oclgrind_poll is to be called several times a second meanwhile: deadlines are watched
 * there. */
void oclgrind_begin(oclgrind *g, const variant *v, const case_source *cases);
void oclgrind_poll(oclgrind *g);   /* NULL is fine */
void oclgrind_cancel(oclgrind *g); /* nothing begun, or NULL, is fine */

#endif
