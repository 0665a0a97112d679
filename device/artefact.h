/* What a compiled kernel consists of, counted in the text of its instructions. Today PTX, which NVIDIA's OpenCL and
 * CUDA give; other back ends leave `known` false.
 */
#ifndef KERNWRIGHT_DEVICE_ARTEFACT_H
#define KERNWRIGHT_DEVICE_ARTEFACT_H

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

#endif
