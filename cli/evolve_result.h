/* What a run of `evolve` amounts to, on standard output. */
#ifndef KERNWRIGHT_CLI_EVOLVE_RESULT_H
#define KERNWRIGHT_CLI_EVOLVE_RESULT_H

#include "llm/evolve.h"

void print_evolve_result(const evolve_result *r, bool as_json);

#endif
