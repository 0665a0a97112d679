/* A template: how to compute a task. Kernel source whose first comment is the front matter, or a sidecar
 * KERNEL.kw.json beside a kernel that stays untouched. templates/FORMAT.md is normative. */
#ifndef KERNWRIGHT_CODEGEN_TEMPLATE_H
#define KERNWRIGHT_CODEGEN_TEMPLATE_H

#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "codegen/expr.h"
#include "codegen/limits.h"
#include "codegen/task.h"
#include "codegen/value.h"

#include <stdbool.h>
#include <stddef.h>

#define TEMPLATE_MAX_PARAMS 1000
#define TEMPLATE_MAX_CONDITIONS 10000 /* constraints; requires */
#define TEMPLATE_MAX_TEXTS 1000       /* options; defines */
#define TEMPLATE_MAX_LAUNCHES 8
#define TEMPLATE_MAX_ARGS 48
#define TEMPLATE_MAX_TEMPS 8

typedef struct template_param {
    const char *name;
    const value *values; /* at least one, all different */
    size_t n_values;
    size_t default_index;
    const char *doc; /* "" if none */
    int slot;        /* in template->scope */
    /* NULL: always; else the parameter exists only where this is true, and is its default elsewhere. */
    const expr *when;
} template_param;

typedef struct template_condition {
    const expr *test;
    const char *text; /* as written */
    const char *why;  /* NULL or the reason given */
} template_condition;

typedef enum arg_kind {
    ARG_TENSOR, /* index = tensor of the task */
    ARG_TEMP,   /* index = temp */
    ARG_SCALAR, /* index = scalar of the task, passed as its type */
    ARG_VALUE,  /* dims, {"expr","type"}, {"value","type"}: expression of a typed argument */
    ARG_LOCAL   /* {"local": bytes} */
} arg_kind;

typedef struct template_arg {
    arg_kind kind;
    int index;
    const expr *value; /* ARG_VALUE, ARG_LOCAL */
    int type_symbol;   /* ARG_VALUE: index into task->types, -1: type */
    dtype type;        /* ARG_VALUE */
    const char *text;  /* as written, for messages */
} template_arg;

typedef struct template_temp {
    const char *name;
    int type_symbol; /* index into task->types, -1: type */
    dtype type;
    const expr *elements;
    const expr *when; /* NULL: always */
} template_temp;

typedef struct template_launch {
    const char *kernel;
    const expr *when; /* NULL: always */
    template_arg args[TEMPLATE_MAX_ARGS];
    size_t n_args;
    const expr *local[3];  /* absent dimensions are constant 1 */
    const expr *groups[3]; /* constant 1 where `global` is given */
    const expr *global[3]; /* sidecars only: work-items instead of groups; NULL otherwise */
    size_t rank;           /* 1..3: number of dimensions written */
} template_launch;

/* #define NAME VALUE; the value is text with ${}. */
typedef struct template_define {
    const char *name;
    const struct body *value;
} template_define;

typedef struct template
{
    arena *memory;
    json *front;      /* the front matter as read; strings below are borrowed from it */
    const char *name; /* file name without folder and extension */
    const char *path;
    const task *task; /* borrowed */
    language lang;
    bool is_fallback;
    bool is_sidecar;
    bool macros;                 /* sidecar: every parameter is prepended as #define NAME VALUE */
    bool index_i64;              /* dims are passed as i64; otherwise i32, and the index rule is among the requires */
    const char *doc;             /* "" if none */
    const struct body **options; /* compiler options: each a text with ${} */
    size_t n_options;
    template_define *defines;
    size_t n_defines;
    template_param *params;
    size_t n_params;
    template_condition *constraints; /* parameters, types, device.*; then one for each parameter with `when` */
    size_t n_constraints;
    template_condition *requires_; /* shape too; the i32 index rule is the last one when it applies */
    size_t n_requires;
    int specialize[TASK_MAX_DIMS]; /* per dim: index of the boolean parameter that makes it a constant; -1 */
    template_temp temps[TEMPLATE_MAX_TEMPS];
    size_t n_temps;
    template_launch launches[TEMPLATE_MAX_LAUNCHES];
    size_t n_launches;
    expr_scope *scope;          /* the task's, then the parameters */
    const struct body **bodies; /* parsed kernel texts, one per source file: see codegen/expand.h */
    size_t n_bodies;
}
template;

/* Reads and checks a template or sidecar (a path that ends in .kw.json, or a kernel without front matter that has one
 * beside it). Constraints that name a dim, launches without a kernel of that name in the text, unknown tensors, and the
 * like are errors with file, line and column. `t` must outlive the template. */
kw_code template_load(const char *path, const task *t, template **out, kw_error *err);
kw_code template_parse(const char *text, size_t length, const char *path, const task *t, template **out, kw_error *err);
void template_free(template *p);
/* Only the "task" member of the front matter, to find the task before the template is read. Caller frees *task_name. */
kw_code template_task_name(const char *path, char **task_name, kw_error *err);

/* All templates of a task: files in ./templates and fs_data_folder("templates") whose front matter names the task; a
 * file with an error is skipped with a warning. `names` (n_names of them; 0: all) limits to the given names or paths:
 * then errors are errors. Sorted by name, fallback included. Caller frees each template and *out. */
kw_code template_find(const task *t, const char *const *names, size_t n_names, template ***out, size_t *n,
                      kw_error *err);

/* The file of a template that is given by its path or its name; NULL if there is none. Caller frees. */
char *template_path_of(const char *name);

/* Index of a parameter; -1. */
int template_param_index(const template *p, const char *name);
/* A configuration is one value index per parameter. The default one: */
void template_default(const template *p, uint32_t *config);
/* Does parameter i exist in this configuration? What `when` names stands above it. */
bool template_param_exists(const template *p, size_t i, const uint32_t *config);
/* "TM=64", ... applied to config; unknown names and values not listed are errors that list what is allowed. */
kw_code template_set(const template *p, const char *assignment, uint32_t *config, kw_error *err);
/* {"TM":64,...} in parameter order: those that exist. Read back, what is absent and does not exist is its default. */
json *template_config_to_json(const template *p, const uint32_t *config);
/* That as text. Caller frees. */
char *template_config_text(const template *p, const uint32_t *config);
/* All dims that the template can have as constants are constants, or none is. */
void template_specialize(const template *p, bool on, uint32_t *config);
kw_code template_config_from_json(const template *p, const json *j, uint32_t *config, kw_error *err);
/* The configuration that `j`, written for an earlier form of the template, may mean now: parameters that it does not
 * give take their default, those that are gone are passed over. false if a value is not listed any more. Whether it
 * still expands to the same text is the caller's question. */
bool template_config_recall(const template *p, const json *j, uint32_t *config);
void template_config_print(const template *p, const uint32_t *config, strb *out); /* "TM=64 TN=64 ..." */

/* Environment for constraints: parameters, types, device.*; dims and scalars are VALUE_NONE unless `shape`.
 * env has expr_scope_size(p->scope) entries. config NULL leaves parameters unknown. */
void template_fill(const template *p, const task_types *types, const device_limits *limits, const task_shape *shape,
                   const uint32_t *config, value *env);
/* First constraint or (with a shape) requires that rejects; NULL if the configuration is valid. An error while
 * evaluating counts as a rejection and is described in `why` (may be NULL). */
const template_condition *template_rejects(const template *p, const value *env, bool with_requires, kw_error *why);

#endif
