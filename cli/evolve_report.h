/* `evolve --report`: what recorded runs amount to. */
#ifndef KERNWRIGHT_CLI_EVOLVE_REPORT_H
#define KERNWRIGHT_CLI_EVOLVE_REPORT_H

#include "base/error.h"
#include "cli/options.h"

#include <stdbool.h>

/* One row for each journal or folder of `paths`, and one for all. */
kw_code print_evolve_report(const option_list *paths, bool as_json, kw_error *err);

#endif
