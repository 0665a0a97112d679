/* What a measurement consists of. */
#include "tuner/store_internal.h"

#include <stddef.h>

#define AT(member) offsetof(measurement, member)

const store_column store_columns[STORE_COLUMNS] = {
    {"task", STORE_TEXT, AT(task), true, 0},
    {"task_hash", STORE_TEXT, AT(task_hash), true, 0},
    {"types", STORE_TEXT, AT(types), true, 0},
    {"shape", STORE_JSON, AT(shape), true, 0},
    {"scalars", STORE_JSON, AT(scalars), true, 0},
    {"device_key", STORE_TEXT, AT(device_key), true, 0},
    {"api", STORE_TEXT, AT(api), true, 0},
    {"mode", STORE_TEXT, AT(mode), true, 0},
    {"timing_version", STORE_VERSION, AT(timing_version), true, 0},
    {"source_hash", STORE_TEXT, AT(source_hash), true, 0},
    {"template", STORE_TEXT, AT(template_name), false, 0},
    {"config", STORE_JSON, AT(config), false, 0},
    {"outcome", STORE_OUTCOME, AT(outcome), true, 0},
    {"stage", STORE_STAGE, AT(stage), true, 0},
    {"detail", STORE_TEXT, AT(detail), false, 0},
    {"verified", STORE_VERIFIED, AT(verified), true, 0},
    {"method", STORE_TEXT, AT(method), false, 0},
    {"n", STORE_COUNT, AT(time.n), false, 0},
    {"median_ns", STORE_TIME, AT(time.median), false, 0},
    {"lo_ns", STORE_TIME, AT(time.lo), false, 0},
    {"hi_ns", STORE_TIME, AT(time.hi), false, 0},
    {"samples_ns", STORE_SAMPLES, AT(samples_ns), false, 0},
    {"compile_ms", STORE_REAL, AT(compile_ms), false, 0},
    {"verify_ms", STORE_REAL, AT(verify_ms), false, 0},
    {"time_ms", STORE_REAL, AT(time_ms), false, 0},
    {"registers", STORE_INT, AT(registers), false, 0},
    {"spill_bytes", STORE_INT, AT(spill_bytes), false, 0},
    {"local_bytes", STORE_INT, AT(local_bytes), false, 0},
    {"worst_error", STORE_REAL, AT(worst_error), false, 0},
    {"limit_ns", STORE_POSITIVE, AT(limit_ns), false, 2},
    {"limited_by", STORE_TEXT, AT(limited_by), false, 2},
    {"noise", STORE_POSITIVE, AT(noise), false, 2},
    {"device_name", STORE_TEXT, AT(device_name), false, 0},
    {"driver", STORE_TEXT, AT(driver), false, 0},
    {"host", STORE_TEXT, AT(host), false, 0},
    {"run", STORE_TEXT, AT(run), false, 0},
    {"date", STORE_TEXT, AT(date), false, 0},
    {"tool_version", STORE_TEXT, AT(tool_version), false, 0},
    {"contributor", STORE_TEXT, AT(contributor), false, 3},
};
