/* What a run depends on, and what may change while it goes on: both stand in its journal. */
#ifndef KERNWRIGHT_LLM_EVOLVE_SETTINGS_H
#define KERNWRIGHT_LLM_EVOLVE_SETTINGS_H

#include "llm/evolve_task.h"

/* "info" of the first event. `device_key`: NULL without a device. The caller frees. */
json *evolve_info(const evolve_task_options *o, const char *device_key, int steering);
/* A run goes on as it began: KW_BAD_INPUT names the first member that differs. What journals of older versions did not
 * have is not compared. */
kw_code evolve_info_check(const json *then, const json *now, const char *folder, kw_error *err);

/* Budgets, limits, who is asked, prices: defaults filled in, so that it says what holds. The caller frees. */
json *evolve_settings(const evolve_options *run, const evolve_task_options *o);
/* A line for the log for each member that differs. */
void evolve_settings_tell(const json *then, const json *now);

/* The most that the run may still use, before it begins: "at most 120000 tokens and 3.2 in money"; appends nothing when
 * nobody is asked. */
void evolve_projection(const evolve_options *run, strb *out);

#endif
