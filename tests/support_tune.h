/* For tests of the tuner: templates of the task saxpy for the scripted device, from a line of text each. */
#ifndef KERNWRIGHT_TESTS_SUPPORT_TUNE_H
#define KERNWRIGHT_TESTS_SUPPORT_TUNE_H

#include "codegen/task.h"
#include "codegen/template.h"
#include "device/device.h"
#include "tests/support_limits.h"

typedef struct template_text {
    const char *name;
    const char *params;      /* members of "params", such as "\"WG\": {\"values\": [16, 32]}" */
    const char *constraints; /* items; NULL: none */
    const char *requires_;
    const char *directives; /* after #pragma fake; may use ${} */
    const char *more;       /* further members of the front matter, each followed by a comma; NULL: none */
} template_text;

/* The text of a template whose kernel is the scripted fake_saxpy with work-groups of 64. Caller frees. */
char *template_text_make(const template_text *t);
/* Fails the test when the text is no template. */
template *template_of_text(const task *t, const template_text *text);
task *saxpy_task(void);
task_types default_types(const task *t);
task_shape shape_of(const task *t, const char *dims);
/* Those of fake:0. */
const device_limits *fake_limits(void);

#endif
