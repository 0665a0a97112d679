/* Inputs and expected outputs of cases, kept between jobs: three hundred candidates of one search pay for a reference
 * once. Least recently used go first when the caps (a quarter of the device's memory, 2 GiB of the host's or more) are
 * reached. */
#ifndef KERNWRIGHT_TUNER_WORKER_CASES_H
#define KERNWRIGHT_TUNER_WORKER_CASES_H

#include "device/device.h"
#include "tuner/worker_ahead.h"
#include "tuner/worker_values.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct case_cache case_cache;

/* The device is borrowed and must outlive the cache. */
/* `host_bytes`: how much of the host's memory it may hold, but at least 2 GiB. */
case_cache *case_cache_new(device *d, uint64_t host_bytes);
void case_cache_free(case_cache *c);
uint64_t case_cache_host_cap(const case_cache *c); /* bytes that it may hold */

/* From the cache, from what `ahead` (NULL: nothing) has made of it, or made now: inputs on the device, expected values
 * from the reference. Valid until two further calls. Errors are no candidate's fault: memory, or a task that
 * contradicts itself. */
kw_code case_cache_get(case_cache *cache, const case_request *q, case_ahead *ahead, case_data **out, kw_error *err);
bool case_cache_has(case_cache *cache, const case_request *q);

/* Counts what a trusted output adds, which the caller hands over in data->expected[]. */
void case_cache_grown(case_cache *cache, case_data *data, uint64_t host_bytes, uint64_t device_bytes);

#endif
