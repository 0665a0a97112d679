/* The mutation corpus: kernels that are wrong in a known way, put before the evaluator like any candidate. README.md
 * beside this file says what a folder of them looks like and what counts. */
#ifndef KERNWRIGHT_TESTS_MUTANTS_H
#define KERNWRIGHT_TESTS_MUTANTS_H

#include "base/error.h"
#include "codegen/template.h"
#include "tuner/evaluator.h"
#include "tuner/outcome.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- list.c: what there is ---- */

typedef struct mutant {
    char *path, *name; /* "gemm/skips_last_step" */
    char *task;
    char family[48]; /* "" if it names none */
    char dims[96];   /* the shape it is tuned for; "" leaves the choice to the runner */
    char set[160];   /* a configuration, "WG=64 VEC=2"; "" is the default one */
    uint32_t expect; /* outcomes that count as caught, one bit each */
    bool is_control; /* expect=ok: a right kernel, which must pass */
} mutant;

typedef struct mutant_list {
    mutant *items;
    size_t n, capacity;
} mutant_list;

/* FOLDER/TASK/NAME.cl and FOLDER/NAME.cl, sorted. KW_BAD_INPUT for a file that is no template or a line "mutant:" that
 * cannot be read. */
kw_code mutants_find(const char *folder, mutant_list *out, kw_error *err);
void mutants_clear(mutant_list *list);

/* ---- judge.c: what the evaluator says ---- */

typedef enum judged_in { IN_NOTHING, IN_TARGET, IN_LARGE, IN_GENERAL, IN_DEEP } judged_in;

typedef struct verdict {
    bool done;
    outcome outcome;
    stage stage;
    judged_in in;    /* the pass that ended it; IN_NOTHING: all passed */
    bool deep_ran;   /* Oclgrind looked at it */
    uint32_t checks; /* of right kernels: pairs of configuration and edge shape that were verified */
    double seconds;
    char detail[300]; /* first line */
} verdict;

typedef struct judge judge;

/* One evaluator on one device; `configs` is for judge_template. */
kw_code judge_open(const char *spec, bool with_deep, judge **out, kw_error *err);
void judge_close(judge *j);

/* In this order, until one of them refuses it: as a candidate for a shape of moderate size, as one for the largest of
 * the task's shapes that is affordable, as a winner on every edge shape and random ones, under Oclgrind. An error says
 * that it could not be judged. */
kw_code judge_mutant(judge *j, const mutant *m, verdict *v, kw_error *err);

/* Configuration number `index` of those drawn for a template that comes with Kernwright, on every edge shape that it
 * takes. Number 0 is the default one and is looked at by Oclgrind too. KW_OK with v->checks 0: there is none. */
kw_code judge_template(judge *j, const char *path, uint32_t index, verdict *v, kw_error *err);

#endif
