/* What bench/retune.c and bench/retune_spaces.c share: recorded times of shapes on devices, and who teaches whom. */
#ifndef KERNWRIGHT_BENCH_RETUNE_H
#define KERNWRIGHT_BENCH_RETUNE_H

#include "tuner/space.h"

#define RETUNE_DIMS 8

/* One shape on one device. */
typedef struct site {
    char *device, *kernel;
    double dims[RETUNE_DIMS];
    size_t n_dims;
    space *space;
    size_t n;
    double *ns; /* by rank; NAN: failed */
    double best, worst;
} site;

typedef struct transfer {
    size_t target, source; /* first site of each */
    size_t n_target, n_source;
} transfer;

/* All there are; the sites of one device stand together. */
extern site *sites;
extern size_t n_sites;
extern transfer *transfers;
extern size_t n_transfers, n_results; /* results: of all transfers' targets */

void stop(const kw_error *err); /* says why and ends the program */

/* Files of one kernel, one device each: the shapes, `most` of a file evenly chosen, become sites, and all ordered pairs
 * of devices transfers. */
void load_kernel(const char *name, char *const *paths, size_t n, size_t most);
char *kernel_name(const char *path); /* what stands before "__" in the file's name; caller frees */

#endif
