/* results show --archive, --behaviour */
#ifndef KERNWRIGHT_CLI_KINDS_H
#define KERNWRIGHT_CLI_KINDS_H

#include "base/error.h"

#include <stdbool.h>

/* The best of every kind of kernel, for each task, types, device and mode: a map and a table, or a JSON line. */
kw_code cli_show_archive(const char *store_path, const char *task_name, bool as_json, kw_error *err);
/* What source and compiled program say of each kernel; the last line counts agreement. */
kw_code cli_show_behaviour(const char *store_path, const char *task_name, bool as_json, kw_error *err);

#endif
