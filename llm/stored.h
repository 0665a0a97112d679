/* Kinds of the kernels that a store holds: for a look at what has been found, and for comparing what the source says of
 * a kernel with what the compiler made of it. */
#ifndef KERNWRIGHT_LLM_STORED_H
#define KERNWRIGHT_LLM_STORED_H

#include "base/error.h"
#include "base/hash.h"
#include "device/artefact.h"
#include "llm/archive.h"
#include "llm/behaviour.h"
#include "tuner/store.h"

#include <stdbool.h>
#include <stddef.h>

/* A right kernel. Kernels of one task, types, device and mode stand together: a group. */
typedef struct stored_kernel {
    char *task, *types, *device, *mode; /* owned, as all texts here */
    char *template_name, *config;       /* JSON */
    char source_hash[HASH_HEX_SIZE];
    size_t n_shapes;
    double share;     /* best time of its group over its own: geometric mean over the shapes it was measured on; <= 1 */
    bool has_source;  /* its text is in the store, and its task is known */
    bool has_program; /* the compiler's program was counted */
    behaviour source, program;
    char *why_source, *why_program; /* as of behaviour_of_*; NULL where there is none */
    artefact made;
} stored_kernel;

/* task NULL: all. Errors of reading the store. */
kw_code stored_kernels(store *s, const char *task, stored_kernel **out, size_t *n, kw_error *err);
void stored_kernels_free(stored_kernel *list, size_t n);
bool stored_same_group(const stored_kernel *a, const stored_kernel *b);
/* By the program where that is known, else by the source; share as fitness. Kernels without either have no place. */
archive *stored_archive(const stored_kernel *list, size_t n);

#endif
