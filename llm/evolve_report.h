/* What a recorded run amounts to, from its journal alone: how many candidates compile, are right, beat their parent,
 * and land where they were sent. */
#ifndef KERNWRIGHT_LLM_EVOLVE_REPORT_H
#define KERNWRIGHT_LLM_EVOLVE_REPORT_H

#include "base/error.h"
#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One attempt, as far as it came. */
typedef struct recorded_attempt {
    bool with_code;                   /* something was read from the reply and tried */
    bool compiled, right;             /* at the last try: repairs count */
    bool first_compiled, first_right; /* of its first reply */
    bool duplicate;                   /* the parent again, or a text that was tried before */
    bool by_operator;
    double parent_fitness; /* of the parent's trial; NaN: no parent */
    double fitness;        /* of its own; NaN: not tried */
    int from, target, to;  /* cells: the parent's, asked for, of its best configuration; -1: none */
    bool touched;          /* some configuration lies in the target's cell */
} recorded_attempt;

typedef struct recorded_run {
    char *task, *device;        /* owned; "" if not said */
    recorded_attempt *attempts; /* owned; those that came to an end */
    size_t n;
    double base_fitness, best_fitness; /* of the first seed; of the best trial. NaN: none */
    int base_cell;
    uint64_t measured; /* configurations */
} recorded_run;

/* `path` is a journal, or the folder that has it. KW_BAD_INPUT: it is none; KW_ENVIRONMENT: it cannot be read. */
kw_code recorded_run_read(const char *path, recorded_run *out, kw_error *err);
void recorded_run_clear(recorded_run *r);

/* A share of attempts with its 95% interval (Wilson 1927). n == 0: NaN. */
typedef struct recorded_share {
    uint64_t n, of;
    double share, lo, hi;
} recorded_share;
recorded_share recorded_share_of(uint64_t n, uint64_t of);

typedef struct recorded_summary {
    uint64_t attempts, duplicates;
    recorded_share compiled, right, first_compiled, first_right; /* of all attempts */
    recorded_share beat_parent;  /* of all attempts that have a parent: right, and fitter than it */
    recorded_share hit, touched; /* of the right ones with a target: all targets */
    recorded_share moved;        /* likewise, targets other than the parent's cell */
} recorded_summary;
recorded_summary recorded_summary_of(const recorded_run *runs, size_t n);

#endif
