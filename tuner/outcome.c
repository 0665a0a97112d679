/* The stable names of outcomes and stages. */
#include "tuner/outcome.h"

#include <stddef.h>
#include <string.h>

static const char *const outcome_names[OUTCOME_COUNT] = {
    [OUTCOME_OK] = "ok",
    [OUTCOME_REJECTED] = "rejected",
    [OUTCOME_EXPAND_ERROR] = "expand_error",
    [OUTCOME_COMPILE_ERROR] = "compile_error",
    [OUTCOME_DOES_NOT_FIT] = "does_not_fit",
    [OUTCOME_LAUNCH_ERROR] = "launch_error",
    [OUTCOME_WRONG] = "wrong",
    [OUTCOME_OUT_OF_BOUNDS] = "out_of_bounds",
    [OUTCOME_NONDETERMINISTIC] = "nondeterministic",
    [OUTCOME_INPUT_MODIFIED] = "input_modified",
    [OUTCOME_TIMEOUT] = "timeout",
    [OUTCOME_CRASH] = "crash",
    [OUTCOME_IMPLAUSIBLE] = "implausible",
};

static const char *const stage_names[STAGE_COUNT] = {
    [STAGE_EXPAND] = "expand", [STAGE_COMPILE] = "compile", [STAGE_SMOKE] = "smoke",
    [STAGE_VERIFY] = "verify", [STAGE_TIME] = "time",       [STAGE_DONE] = "done",
};

const char *outcome_name(outcome o)
{
    return (unsigned)o < OUTCOME_COUNT ? outcome_names[o] : "unknown";
}

bool outcome_from_name(const char *name, outcome *out)
{
    for (size_t i = 0; name && i < OUTCOME_COUNT; i++) {
        if (strcmp(outcome_names[i], name) == 0) {
            *out = (outcome)i;
            return true;
        }
    }
    return false;
}

bool outcome_is_wrong(outcome o)
{
    return o == OUTCOME_WRONG || o == OUTCOME_OUT_OF_BOUNDS || o == OUTCOME_NONDETERMINISTIC ||
           o == OUTCOME_INPUT_MODIFIED;
}

bool outcome_is_final(outcome o)
{
    return outcome_is_wrong(o) || o == OUTCOME_COMPILE_ERROR || o == OUTCOME_DOES_NOT_FIT || o == OUTCOME_EXPAND_ERROR;
}

const char *stage_name(stage s)
{
    return (unsigned)s < STAGE_COUNT ? stage_names[s] : "unknown";
}

bool stage_from_name(const char *name, stage *out)
{
    for (size_t i = 0; name && i < STAGE_COUNT; i++) {
        if (strcmp(stage_names[i], name) == 0) {
            *out = (stage)i;
            return true;
        }
    }
    return false;
}
