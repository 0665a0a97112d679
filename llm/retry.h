/* When a request is worth sending again, and how long to wait before. */
#ifndef KERNWRIGHT_LLM_RETRY_H
#define KERNWRIGHT_LLM_RETRY_H

#include <stdbool.h>
#include <stdint.h>

/* 408, 409, 429, 500, 502-504, 522-524 and 529: the same request may succeed later. */
bool retry_status(int status);

/* What a server asks to wait, in ms; -1 if it does not say. In this order: `ms`, the value of retry-after-ms;
 * `value`, that of Retry-After, as a number of seconds (fractions too); as an HTTP date, against `date`, the
 * response's own Date, so that clocks that differ do no harm (NULL: `now_s`, seconds since 1970). The past is 0. Each
 * text may be NULL. */
int64_t retry_after(const char *ms, const char *value, const char *date, int64_t now_s);

/* Exponential back-off with full jitter (M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015):
 * uniform in [0, min(64, 2^n) * base_ms), n = 0 for the first; `u` in [0, 1). */
int64_t retry_backoff(int n, int64_t base_ms, double u);

#endif
