/* What became of a candidate, and at which stage. Stored, streamed and shown; names are stable. */
#ifndef KERNWRIGHT_TUNER_OUTCOME_H
#define KERNWRIGHT_TUNER_OUTCOME_H

#include <stdbool.h>

typedef enum outcome {
    OUTCOME_OK,
    OUTCOME_REJECTED, /* a constraint; the detail says which */
    OUTCOME_EXPAND_ERROR,
    OUTCOME_COMPILE_ERROR, /* detail: log */
    OUTCOME_DOES_NOT_FIT,  /* built, but the device cannot launch it at this group size: no error of the kernel */
    OUTCOME_LAUNCH_ERROR,
    OUTCOME_WRONG,         /* detail: where, how far */
    OUTCOME_OUT_OF_BOUNDS, /* a guard band was written */
    OUTCOME_NONDETERMINISTIC,
    OUTCOME_INPUT_MODIFIED,
    OUTCOME_TIMEOUT,
    OUTCOME_CRASH,       /* the worker died; detail: signal or exit status */
    OUTCOME_IMPLAUSIBLE, /* faster than the roofline allows */
    OUTCOME_COUNT
} outcome;

const char *outcome_name(outcome o); /* "ok", "rejected", "expand_error", ... */
bool outcome_from_name(const char *name, outcome *out);
/* The kernel ran and did what it must not do, in its results or elsewhere. */
bool outcome_is_wrong(outcome o);
/* Wrong, or never to be launched on this device: other shapes need not be tried. */
bool outcome_is_final(outcome o);

typedef enum stage {
    STAGE_EXPAND,
    STAGE_COMPILE, /* build, and on devices that finish compiling at launch, one launch */
    STAGE_SMOKE,   /* one small shape */
    STAGE_VERIFY,  /* hidden shapes and the target */
    STAGE_TIME,
    STAGE_DONE,
    STAGE_COUNT
} stage;

const char *stage_name(stage s);
bool stage_from_name(const char *name, stage *out);

#endif
