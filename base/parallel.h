/* The same work on many items in several processes of this program (fork without exec): for computation only, never
 * where a driver was opened. */
#ifndef KERNWRIGHT_BASE_PARALLEL_H
#define KERNWRIGHT_BASE_PARALLEL_H

#include "base/error.h"

#include <stddef.h>

/* Memory that parent and children share, zeroed; NULL when refused. Results go there. */
void *parallel_alloc(size_t bytes);
void parallel_free(void *p, size_t bytes);

typedef struct parallel_work {
    size_t n;                             /* items 0..n-1; taken in this order by whoever is free */
    size_t jobs;                          /* processes; 0: one per core; 1: in this process */
    void (*item)(size_t i, void *cookie); /* in a child: what it writes elsewhere than into shared memory is lost */
    void (*progress)(size_t done, void *cookie); /* in the parent, some times a second; NULL */
    void *cookie;
} parallel_work;

/* Returns when all items are done. KW_FAILED if a process died, KW_ENVIRONMENT if none could be started, KW_INTERRUPTED
 * when a signal arrived that is watched for (base/interrupt.h). */
kw_code parallel_run(const parallel_work *w, kw_error *err);

#endif
