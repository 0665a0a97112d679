/* `kernwright results merge`. */
#ifndef KERNWRIGHT_CLI_RESULTS_MERGE_H
#define KERNWRIGHT_CLI_RESULTS_MERGE_H

#include "base/error.h"

#include <stddef.h>

/* base NULL: the union; out NULL: standard output. */
kw_code cli_results_merge(const char *const *files, size_t n, const char *base, const char *out, kw_error *err);

#endif
