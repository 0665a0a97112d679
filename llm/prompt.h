/* The prompt: parts in a fixed order, within a budget of tokens.
 *
 * A part that does not fit is shortened or left out, the least important first; what was left out is said, so that a
 * journal shows why a model did not know something.
 */
#ifndef KERNWRIGHT_LLM_PROMPT_H
#define KERNWRIGHT_LLM_PROMPT_H

#include "base/strb.h"
#include "codegen/task.h"
#include "device/device.h"
#include "llm/archive.h"
#include "llm/steer.h"
#include "llm/trial.h"
#include "tuner/probe.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- parts ---- */

#define PROMPT_MAX_PARTS 24

typedef struct prompt_part {
    const char *title; /* a heading of level 2; NULL: text alone */
    char *text;        /* owned by the prompt */
    int importance;    /* 0: never left out; larger goes first */
    bool shorten;      /* may be cut in the middle before it is left out */
} prompt_part;

typedef struct prompt {
    prompt_part parts[PROMPT_MAX_PARTS];
    size_t n;
} prompt;

/* Takes over `text` (NULL or "": no part). */
void prompt_add(prompt *p, const char *title, char *text, int importance, bool shorten);
/* Within `room` bytes, as far as the parts that must be there allow. Appends to `out`; a line for each part that was
 * cut or left out to `left_out` (may be NULL). */
/* Appends text, cut in the middle to about `room` bytes, at ends of lines where it has any. */
void prompt_add_cut(const char *text, size_t room, strb *out);
void prompt_print(const prompt *p, size_t room, strb *out, strb *left_out);
void prompt_clear(prompt *p);

/* ---- what goes in ---- */

/* A candidate as a prompt shows it. */
typedef struct prompt_candidate {
    const char *text;            /* of the template */
    const trial_result *outcome; /* NULL: not tried */
    int cell;                    /* -1: none */
    const char *config;          /* that made it of this kind; NULL: not known */
} prompt_candidate;

/* Sections that meta-prompts evolve; any may be "". */
typedef struct prompt_sections {
    const char *philosophy, *strategies, *pitfalls, *analysis;
} prompt_sections;

typedef struct prompt_context {
    const task *task;
    const task_types *types;
    const task_shape *shapes;
    size_t n_shapes;
    const char *reference_text; /* of the task's reference; NULL */
    const char *format_text;    /* templates/FORMAT.md; NULL */
    const device_info *device;
    const probe_figures *probe; /* NULL: not known */
    const char *device_name;
    prompt_candidate parent; /* text NULL: write from scratch */
    prompt_candidate inspirations[3];
    prompt_candidate tried[3]; /* what was made of the parent lately, the latest first */
    prompt_candidate best;     /* text NULL, or the same as the parent's: left out */
    const steer_choice *choice;
    prompt_sections sections;
    int64_t max_tokens;     /* of the prompt */
    double bytes_per_token; /* of the models that are asked, as far as it was learnt; 0: 3, which is short for code */
    size_t max_bytes;       /* what a server has taken so far; 0: no limit but that of tokens */
} prompt_context;

extern const char prompt_system[];

/* The prompt for a new candidate. */
void prompt_generate(const prompt_context *c, strb *out, strb *left_out);
/* The prompt that sends a candidate's own text back with its error. */
void prompt_repair(const prompt_context *c, const char *text, const char *problem, strb *out, strb *left_out);
/* What techniques a step in this direction means: "raise memory from 1 to 2: ..." */
void prompt_target(const steer_choice *c, strb *out);
/* Outcome of a candidate for a person or a model: times per shape, percent of the limit, what failed and where. */
void prompt_outcome(const task *t, const task_shape *shapes, const trial_result *r, strb *out);

#endif
