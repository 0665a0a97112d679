/* A trace of what ran when, in Chrome's trace event format (load it in a trace viewer), and the idle share of it. */
#ifndef KERNWRIGHT_TUNER_TRACE_H
#define KERNWRIGHT_TUNER_TRACE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct trace trace;

trace *trace_new(void);    /* time zero is now */
void trace_free(trace *t); /* NULL is fine */
/* An interval on a track (0: coordinator, 1..: workers). Times from clock_now_ns. `busy` ones (compile, verify, time)
 * count for trace_idle_share. t NULL: nothing happens. */
void trace_add(trace *t, size_t track, const char *name, const char *detail, int64_t start_ns, int64_t end_ns,
               int busy);
/* Wall time since trace_new minus the union of the busy intervals, over wall time. */
double trace_idle_share(const trace *t, double *wall_ms);
kw_code trace_write(const trace *t, const char *path, kw_error *err);

#endif
