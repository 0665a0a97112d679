/* The bytes of a results file, plain or gzip: several members one after the other are one text. */
#ifndef KERNWRIGHT_TUNER_RESULTS_BYTES_H
#define KERNWRIGHT_TUNER_RESULTS_BYTES_H

#include <stddef.h>

typedef struct results_bytes results_bytes;

/* Takes over the descriptor. */
results_bytes *results_bytes_open(int fd);
void results_bytes_close(results_bytes *b);
/* Up to `size` bytes (more than 0) into `out`; *got is 0 at the end only. Returns NULL or what is wrong, as the end of
 * a message. */
const char *results_bytes_read(results_bytes *b, char *out, size_t size, size_t *got);

#endif
