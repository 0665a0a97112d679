/* What a folder of exchanges and its journal say of the run that they are of. */
#ifndef KERNWRIGHT_LLM_EVOLVE_RECORD_H
#define KERNWRIGHT_LLM_EVOLVE_RECORD_H

#include "base/json.h"
#include "llm/evolve_task.h"

/* A recorded run is repeated with what it began with: `o` gets it from the journal's first line. *shapes is the
 * caller's, also on failure. KW_BAD_INPUT: the line is of another task, or has a member that cannot be read or is not
 * known. */
kw_code evolve_record_options(const json *first, const char *folder, evolve_task_options *o, task_shape **shapes,
                              size_t *n_shapes, kw_error *err);

/* Is a reply to a "generate" there? */
bool evolve_record_has_replies(const char *folder);

/* How many candidates were asked for: up to the last that was answered, so that a reply that is missing in between
 * takes no other with it. KW_BAD_INPUT: none was. A reply far behind all others is none of the run's, and named in a
 * warning. */
kw_code evolve_record_attempts(const char *folder, uint64_t *out, kw_error *err);

#endif
