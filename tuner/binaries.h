/* Compiled programs for a header: what its variants become on a device that is here, or behind a worker command. */
#ifndef KERNWRIGHT_TUNER_BINARIES_H
#define KERNWRIGHT_TUNER_BINARIES_H

#include "base/error.h"
#include "codegen/header.h"

typedef struct binaries binaries; /* owns what it adds to a model */

/* Compiles, in a worker, the variants that the model may run on the device: those of its rows, tree and default there,
 * and the model's default; of a device that the model does not know, the latter alone. `spec` as --device (NULL or "":
 * the default choice), `worker_command` NULL: this program. A variant that does not compile there stays text, with a
 * warning. KW_ENVIRONMENT without a device, KW_FAILED when not a single program could be had: the message has the first
 * reason. */
kw_code binaries_compile(const char *spec, const char *worker_command, const header_model *m, binaries **out,
                         kw_error *err);
/* The model then holds them, for as long as `b` lives. */
void binaries_add(const binaries *b, header_model *m);
void binaries_free(binaries *b); /* NULL is fine */

#endif
