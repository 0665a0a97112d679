/* Cases made ahead by a few threads, while a device is at work on those before them.
 *
 * A winner is verified on some hundred sets of inputs that no candidate has met before, and most of that time the
 * device would wait for one thread of the host. The threads live as long as one job that times nothing.
 *
 * They ask references that came with the program. A user's own is asked by the thread of the job alone: it may keep
 * state, and when it crashes or hangs the coordinator is to see that it was at work. Its inputs are drawn ahead. */
#ifndef KERNWRIGHT_TUNER_WORKER_AHEAD_H
#define KERNWRIGHT_TUNER_WORKER_AHEAD_H

#include "tuner/worker_values.h"

#include <stddef.h>
#include <stdint.h>

#define AHEAD_MOST_THREADS 4

typedef struct case_ahead case_ahead;

/* Begins with the n cases, in the order in which they will be asked for; what is in the job and in `requests` is
 * borrowed and stays, `requests` itself is copied. Their `progress` is not called. What has been made and not been
 * taken is at most `most_bytes`; a case that alone needs more is left to the caller. */
case_ahead *case_ahead_start(const case_request *requests, size_t n, size_t n_threads, uint64_t most_bytes);

/* The case of this key: made by a thread, which is waited for if it has begun, or NULL where none has begun with it,
 * nor will. The caller finishes what is not there (case_expect) and frees it. `progress` is called a few times a second
 * while waiting. */
case_data *case_ahead_take(case_ahead *a, const char *key, case_progress progress, void *cookie);

/* How many the threads have made so far. */
size_t case_ahead_made(case_ahead *a);

/* Waits until the threads have ended; each ends what it is making. NULL is fine. */
void case_ahead_stop(case_ahead *a);

#endif
