/* What is asked for next: parent, target cell, hints. Learns from transitions.
 *
 * Gradients over the archive's cells (KernelFoundry, arXiv 2603.12440, here in our own form): of fitness, of the rate
 * of improvement, and towards cells that are empty or weak.
 */
#ifndef KERNWRIGHT_LLM_STEER_H
#define KERNWRIGHT_LLM_STEER_H

#include "llm/archive.h"

#include <stdbool.h>
#include <stdint.h>

/* The rules by which is chosen change; a run goes on, and is repeated, by those that it began with. 1: until journals
 * said which. */
#define STEER_RULES 4
/* 3: as 2; what differs in comments and white space only was tried before (evolve_take.c). 4: as 3; a repair that
 * nobody wrote leaves the attempt what its candidate was. */

typedef struct steer_options {
    bool archive;  /* false: the parent is always the best so far (greedy) */
    bool gradient; /* false: parents and targets ignore transitions */
    bool targets;  /* false: no target profile is asked for */
    uint64_t seed;
    int rules; /* 1 .. STEER_RULES; 0: the latest */
} steer_options;

typedef struct transition {
    int from, to; /* cells; from -1: no parent; to -1: no valid child */
    int target;   /* the cell that was asked for; -1: none */
    double parent_fitness, child_fitness;
    uint64_t ordinal;
} transition;

typedef struct steer_choice {
    int parent_cell;     /* -1: none yet, write from scratch */
    int target_cell;     /* -1: free */
    int inspirations[3]; /* cells; -1: unused */
    double gradient[BEHAVIOUR_DIMS];
    double confidence; /* 0..1 of the gradient */
    const char *move;  /* "raise memory", "explore", ...: for journal and report */
} steer_choice;

typedef struct steer steer;
steer *steer_new(const steer_options *o);
void steer_free(steer *s);
void steer_learn(steer *s, const archive *a, const transition *t);
/* Deterministic in (seed, ordinal, what was learnt, what is out). */
steer_choice steer_choose(steer *s, const archive *a, uint64_t ordinal);
/* The choice is asked for, until steer_done: a target that others are out for is chosen less, so that the questions
 * of a batch differ. */
void steer_out(steer *s, const steer_choice *c, uint64_t ordinal);
void steer_done(steer *s, uint64_t ordinal);

typedef struct steer_report {
    uint64_t asked, hit, nearer; /* targets asked for; reached; child nearer to the target than its parent */
    uint64_t improved, total;
} steer_report;
steer_report steer_report_of(const steer *s);

#endif
