/* Host time. */
#ifndef KERNWRIGHT_BASE_CLOCK_H
#define KERNWRIGHT_BASE_CLOCK_H

#include <stdint.h>

int64_t clock_now_ns(void);        /* monotonic */
void clock_utc_text(char out[21]); /* "2026-11-30T12:34:56Z" */

#endif
