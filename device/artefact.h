/* What a compiled kernel consists of, counted in the text of its instructions. Today PTX, which NVIDIA's OpenCL and
 * CUDA give; other back ends leave `known` false.
 */
#ifndef KERNWRIGHT_DEVICE_ARTEFACT_H
#define KERNWRIGHT_DEVICE_ARTEFACT_H

#include "base/json.h"
#include "base/strb.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Static counts over the whole program: a loop that is not unrolled counts once. Accesses count elements of 4 bytes or
 * what was written, so that one ld.v4 counts 4. */
typedef struct artefact {
    bool known;
    int64_t instructions;
    int64_t global_loads, global_stores; /* elements */
    int64_t vector_accesses;             /* global accesses of two or more elements at once: instructions */
    int64_t shared_loads, shared_stores; /* elements */
    int64_t async_copies;                /* cp.async, bulk copies */
    int64_t fma;                         /* multiply-adds of any real type; packed ones count per element */
    int64_t mma;                         /* matrix instructions: mma, wmma, wgmma */
    int64_t exponentials;                /* ex2 */
    int64_t special;                     /* ex2, lg2, rcp, rsqrt, sin, cos, tanh */
    int64_t barriers, shuffles, atomics;
    int64_t shared_bytes; /* declared in the program */
    int64_t kernels;      /* entry points */
    /* A loop (or straight code) holds both a maximum and an exponential: the mark of online normalisation. */
    bool online;
} artefact;

/* Is it PTX? (Begins with comments and .version.) */
bool artefact_is_ptx(const char *text, size_t length);
void artefact_count_ptx(const char *text, size_t length, artefact *out);

/* For results: members of the same names. From JSON: what is absent is 0; false where it is no object. */
json *artefact_to_json(const artefact *a);
bool artefact_from_json(const json *j, artefact *out);
/* One line for a person: "1234 instructions, 64 elements loaded from global memory, ...". What is 0 is left out. */
void artefact_print(const artefact *a, strb *out);

#endif
