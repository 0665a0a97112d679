/* The dispatch model: from the store to what the header writer needs. */
#ifndef KERNWRIGHT_TUNER_DISPATCH_H
#define KERNWRIGHT_TUNER_DISPATCH_H

#include "base/error.h"
#include "codegen/header.h"
#include "tuner/store.h"

typedef struct dispatch dispatch; /* owns variants, rows, strings of the model */

/* Best row per device and shape: lowest median among ok rows that are verified; overlapping confidence intervals: the lower
 * source hash wins. The default layer: the fallback variant verified general (expanded from its template if the store lacks it).
 * KW_FAILED when there is nothing to emit: says what is missing. types: only this combination; device_key NULL: all devices. */
kw_code dispatch_build(store *s, const task *t, const task_types *types, const char *device_key, bool allow_unverified,
                       const char *prefix, dispatch **out, kw_error *err);
const header_model *dispatch_model(const dispatch *d);
void dispatch_free(dispatch *d);

#endif
