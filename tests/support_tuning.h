/* For tests of the search of one shape: an evaluator on the scripted device, a store in memory, templates of saxpy.
 * Failures end the test. */
#ifndef KERNWRIGHT_TESTS_SUPPORT_TUNING_H
#define KERNWRIGHT_TESTS_SUPPORT_TUNING_H

#include "tests/support_tune.h"
#include "tuner/tune.h"

#define MAX_TEMPLATES 3

/* One evaluator serves all tests but those that end it. */
typedef struct tuning {
    evaluator *e;
    store *s;
    task *t;
    template *p[MAX_TEMPLATES];
    const template *borrowed[MAX_TEMPLATES];
    task_shape shape;
    tune_options o;
    size_t searched, retimed, general, reused; /* seen by on_progress */
    size_t signal_after;                       /* raises SIGINT with that many searched; 0: never */
    tune_result r;
    kw_error err;
} tuning;

/* Set-up and end of a test; cmocka's state is the tuning. */
int tuning_begin(void **state);
int tuning_end(void **state);
void tuning_open_evaluator(tuning *s);
void tuning_templates(tuning *s, const template_text *texts, size_t n);
kw_code tuning_run(tuning *s);
void tuning_run_ok(tuning *s); /* and a winner is found */
/* The same again: the same winner, and nothing is measured. */
void tuning_run_again(tuning *s);
size_t tuning_rows(tuning *s, const store_query *q); /* of the store */

#define expect_text(text, part) \
    do { \
        if (!strstr((text), (part))) \
            fail_msg("\"%s\" is not in: %s", (part), (text)); \
    } while (0)

#endif
