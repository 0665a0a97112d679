/* The dispatch model: from the store to what the header writer needs. */
#ifndef KERNWRIGHT_TUNER_DISPATCH_H
#define KERNWRIGHT_TUNER_DISPATCH_H

#include "base/error.h"
#include "codegen/header.h"
#include "tuner/store.h"

typedef struct dispatch dispatch; /* owns variants, rows, strings of the model */

/* Exact layer: per device and shape the winner (ledger.h) among the variants that are verified, of rows of this
 * program's timing version that are not stale (results_groups.h); cold rows, or warm ones where a device has no others.
 * Default of a device: the general variant with the best mean speed over all shapes of the device. A shape that it was
 * not measured on counts as if it were as slow there as the slowest general variant.
 * Default of the header: the fallback that is general on the most devices; if none is, one that was verified for its
 * shapes; else one verified with an older driver, or on a device that is not in the table.
 *
 * types: only this combination; device_key NULL: all devices. KW_FAILED when there is nothing to emit: says what is
 * missing. The same rows give the same model in whatever order they came; so do exported winners of the store. */
kw_code dispatch_build(store *s, const task *t, const task_types *types, const char *device_key, bool allow_unverified,
                       const char *prefix, dispatch **out, kw_error *err);
const header_model *dispatch_model(const dispatch *d);
void dispatch_free(dispatch *d); /* NULL is fine */

#endif
