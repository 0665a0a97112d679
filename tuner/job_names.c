/* Names that travel in the worker protocol. */
#include "tuner/job_names.h"

#include <string.h>

static const char *const mode_names[] = {"compile", "verify", "evaluate", "time", "check", "probe", "binary"};
static const char *const distribution_names[DIST_COUNT] = {"normal",   "integers", "large",  "sparse", "mixed",
                                                           "negative", "rows",     "offset", "scaled", "peaks"};
static const char *const turns_names[TURNS_COUNT] = {"none", "time", "all"};
static const char *const turn_names[TURN_COUNT] = {"none", "wait", "over"};
static const char *const method_names[] = {"auto", "events", "batch"};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static int index_of(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; name && i < n; i++)
        if (strcmp(names[i], name) == 0)
            return (int)i;
    return -1;
}

const char *job_mode_name(job_mode m)
{
    return (size_t)m < COUNT(mode_names) ? mode_names[m] : "unknown";
}

bool job_mode_from_name(const char *name, job_mode *out)
{
    int i = index_of(name, mode_names, COUNT(mode_names));
    if (i >= 0)
        *out = (job_mode)i;
    return i >= 0;
}

const char *distribution_name(distribution d)
{
    return (size_t)d < DIST_COUNT ? distribution_names[d] : "unknown";
}

bool distribution_from_name(const char *name, distribution *out)
{
    int i = index_of(name, distribution_names, DIST_COUNT);
    if (i >= 0)
        *out = (distribution)i;
    return i >= 0;
}

const char *timing_method_name(timing_method m)
{
    return (size_t)m < COUNT(method_names) ? method_names[m] : "unknown";
}

bool timing_method_from_name(const char *name, timing_method *out)
{
    int i = index_of(name, method_names, COUNT(method_names));
    if (i >= 0)
        *out = (timing_method)i;
    return i >= 0;
}

const char *job_turns_name(job_turns t)
{
    return (size_t)t < TURNS_COUNT ? turns_names[t] : "unknown";
}

bool job_turns_from_name(const char *name, job_turns *out)
{
    int i = index_of(name, turns_names, TURNS_COUNT);
    if (i >= 0)
        *out = (job_turns)i;
    return i >= 0;
}

const char *turn_state_name(turn_state t)
{
    return (size_t)t < TURN_COUNT ? turn_names[t] : "unknown";
}

bool turn_state_from_name(const char *name, turn_state *out)
{
    int i = index_of(name, turn_names, TURN_COUNT);
    if (i >= 0)
        *out = (turn_state)i;
    return i >= 0;
}
