/* For tests of the evaluator: one of a small template of saxpy, and candidates of it. */
#ifndef KERNWRIGHT_TESTS_SUPPORT_EVALUATOR_H
#define KERNWRIGHT_TESTS_SUPPORT_EVALUATOR_H

#include "tests/support_tune.h"
#include "tuner/evaluator.h"

#define SETTING_CANDIDATES 16

typedef struct setting {
    char *folder;
    task *t;
    task_types types;
    template *p;
    case_source source;
    variant *v[SETTING_CANDIDATES];
    candidate c[SETTING_CANDIDATES];
    size_t n;
    evaluator *e;
} setting;

/* One parameter of eight values, which take 1000 ns, 2000 ns, ... on the scripted device. */
extern const template_text setting_plain;

/* Ends the test where it fails. */
setting *setting_begin(const template_text *text, const evaluator_options *o);
/* Another evaluator, after the one of setting_begin was closed. */
void setting_open(setting *s, const evaluator_options *o);
void setting_end(setting *s);

/* Submits the candidate with value number `index` of the first parameter; what its place in s->c says already stays. */
candidate *setting_add(setting *s, uint32_t index, candidate_kind kind, const char *dims);
/* The next that comes back; ends the test when there is none. */
candidate *setting_next(setting *s);
/* All that were added come back, and are well. */
void setting_all_ok(setting *s);

#endif
