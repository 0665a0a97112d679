/* From options to what a tuning command works on: task, types, templates, shapes. */
#ifndef KERNWRIGHT_CLI_JOB_SETUP_H
#define KERNWRIGHT_CLI_JOB_SETUP_H

#include "cli/options.h"
#include "codegen/task.h"
#include "codegen/template.h"

typedef struct job_setup {
    task *task;
    task_types types;
    template **templates; /* all of the task, or those named */
    size_t n_templates;
    template *fallback; /* when it is not among the templates; else NULL */
    task_shape *shapes;
    size_t n_shapes;
} job_setup;

/* `type` as --type; `names` templates as given; `dims` and `shapes_file` may be NULL: then the task's own shapes. */
kw_code job_setup_init(job_setup *j, const char *task_name, const char *type, const option_list *names,
                       const char *dims, const char *shapes_file, kw_error *err);
void job_setup_clear(job_setup *j);

/* One template and its task, for commands that take a TEMPLATE: a path, or a template's name. */
kw_code job_setup_template(job_setup *j, const char *name, const char *type, const char *dims, kw_error *err);
/* A configuration: defaults, then each --set NAME=VALUE. Caller frees. */
kw_code job_setup_config(const template *p, const option_list *set, uint32_t **config, kw_error *err);
/* Where a template of this name lies: the path itself, ./templates/NAME.*, or the data folder. Caller frees; NULL if
 * nowhere. */
char *job_setup_find_template(const char *name);

#endif
