/* results show --importance */
#ifndef KERNWRIGHT_CLI_IMPORTANCE_H
#define KERNWRIGHT_CLI_IMPORTANCE_H

#include "base/error.h"

#include <stdbool.h>

/* Prints what importance_each finds: tables, or one JSON line per template. KW_FAILED when nothing can be said. */
kw_code cli_show_importance(const char *store_path, const char *task_name, bool as_json, kw_error *err);

#endif
