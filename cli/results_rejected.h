/* results show --rejected */
#ifndef KERNWRIGHT_CLI_RESULTS_REJECTED_H
#define KERNWRIGHT_CLI_RESULTS_REJECTED_H

#include "base/error.h"

#include <stdbool.h>

/* Of the store, or of the file `from`; task_name and trust_path may be NULL. A table, or a JSON line each. */
kw_code cli_show_rejected(const char *store_path, const char *from, const char *task_name, const char *trust_path,
                          bool as_json, kw_error *err);

#endif
