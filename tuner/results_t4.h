/* Measurements as T4 results (schema 1.0.0), the exchange format of the autotuning methodology. docs/formats.md. */
#ifndef KERNWRIGHT_TUNER_RESULTS_T4_H
#define KERNWRIGHT_TUNER_RESULTS_T4_H

#include "tuner/store.h"

typedef struct t4_choice {
    const char *task, *template_name; /* NULL: any */
    const char *shape;                /* "M=64,N=64,K=8", in any order; NULL: any */
    const char *device;               /* part of the device key or name; NULL: any */
} t4_choice;

/* T4 knows one search, not many: all rows chosen must be of one task version, types, shape, scalars, device, API, mode
 * and template (of several timing versions the latest counts). Otherwise KW_BAD_INPUT names two that differ and the
 * options that tell them apart. Configurations stand in the order of the store; of one that was
 * measured more than once the samples are joined, and any failure makes it a failure. Times are in ms. */
kw_code results_export_t4(store *s, const t4_choice *choice, strb *out, kw_error *err);

#endif
