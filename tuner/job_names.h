/* Names that travel in the worker protocol; shared by the files job_*.c. */
#ifndef KERNWRIGHT_TUNER_JOB_NAMES_H
#define KERNWRIGHT_TUNER_JOB_NAMES_H

#include "tuner/job.h"

#include <stdbool.h>

const char *job_mode_name(job_mode m);
bool job_mode_from_name(const char *name, job_mode *out);
bool distribution_from_name(const char *name, distribution *out);
bool timing_method_from_name(const char *name, timing_method *out);
bool job_turns_from_name(const char *name, job_turns *out);
bool turn_state_from_name(const char *name, turn_state *out);

#endif
