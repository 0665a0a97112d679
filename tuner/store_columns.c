/* What a measurement consists of. */
#include "tuner/store_internal.h"

#include <stddef.h>

#define AT(member) offsetof(measurement, member)

const store_column store_columns[STORE_COLUMNS] = {
    {"task", STORE_TEXT, AT(task), true},
    {"task_hash", STORE_TEXT, AT(task_hash), true},
    {"types", STORE_TEXT, AT(types), true},
    {"shape", STORE_JSON, AT(shape), true},
    {"scalars", STORE_JSON, AT(scalars), true},
    {"device_key", STORE_TEXT, AT(device_key), true},
    {"api", STORE_TEXT, AT(api), true},
    {"mode", STORE_TEXT, AT(mode), true},
    {"timing_version", STORE_VERSION, AT(timing_version), true},
    {"source_hash", STORE_TEXT, AT(source_hash), true},
    {"template", STORE_TEXT, AT(template_name), false},
    {"config", STORE_JSON, AT(config), false},
    {"outcome", STORE_OUTCOME, AT(outcome), true},
    {"stage", STORE_STAGE, AT(stage), true},
    {"detail", STORE_TEXT, AT(detail), false},
    {"verified", STORE_VERIFIED, AT(verified), true},
    {"method", STORE_TEXT, AT(method), false},
    {"n", STORE_COUNT, AT(time.n), false},
    {"median_ns", STORE_TIME, AT(time.median), false},
    {"lo_ns", STORE_TIME, AT(time.lo), false},
    {"hi_ns", STORE_TIME, AT(time.hi), false},
    {"samples_ns", STORE_SAMPLES, AT(samples_ns), false},
    {"compile_ms", STORE_REAL, AT(compile_ms), false},
    {"verify_ms", STORE_REAL, AT(verify_ms), false},
    {"time_ms", STORE_REAL, AT(time_ms), false},
    {"registers", STORE_INT, AT(registers), false},
    {"spill_bytes", STORE_INT, AT(spill_bytes), false},
    {"local_bytes", STORE_INT, AT(local_bytes), false},
    {"worst_error", STORE_REAL, AT(worst_error), false},
    {"device_name", STORE_TEXT, AT(device_name), false},
    {"driver", STORE_TEXT, AT(driver), false},
    {"host", STORE_TEXT, AT(host), false},
    {"run", STORE_TEXT, AT(run), false},
    {"date", STORE_TEXT, AT(date), false},
    {"tool_version", STORE_TEXT, AT(tool_version), false},
};
