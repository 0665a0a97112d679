/* A task: what to compute. Read from tasks/NAME/task.json (the schema is docs/tasks.md). */
#ifndef KERNWRIGHT_CODEGEN_TASK_H
#define KERNWRIGHT_CODEGEN_TASK_H

#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "codegen/expr.h"
#include "codegen/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TASK_MAX_DIMS 16
#define TASK_MAX_TENSORS 16
#define TASK_MAX_SCALARS 16
#define TASK_MAX_TYPES 8
#define TASK_MAX_RANK 8

typedef struct task_dim {
    const char *name;
    int64_t min, max;     /* inclusive; 1 (0 beside a "default") and INT32_MAX (INT64_MAX with "index": "i64") */
    const expr *fallback; /* "default": value when the shape does not give it; NULL: required */
    bool is_key;          /* part of the shape key; false for strides such as lda */
} task_dim;

typedef struct task_type {
    const char *symbol; /* "T" */
    dtype allowed[12];  /* the first is the default */
    size_t n_allowed;
} task_type;

typedef enum task_access { TASK_IN, TASK_OUT, TASK_INOUT } task_access;
typedef enum task_compare { TASK_COMPARE_ERROR, TASK_COMPARE_EXACT, TASK_COMPARE_SET } task_compare;

typedef struct task_tensor {
    const char *name;
    int type; /* index into types[]; -1: fixed_type */
    dtype fixed_type;
    const expr *shape[TASK_MAX_RANK];
    const expr *stride[TASK_MAX_RANK]; /* NULL: dense row-major */
    size_t rank;
    task_access access;
    task_compare compare;
    double domain_min, domain_max; /* -inf/inf when not given */
    const char *init;              /* "init": {"generator": ...}: "" normal, "index" values 0..init_limit-1 */
    const expr *init_limit;
} task_tensor;

typedef struct task_scalar {
    const char *name;
    int type; /* index into types[]; -1: fixed_type */
    dtype fixed_type;
    double values[16]; /* the first is the timed one; all are verified */
    size_t n_values;
} task_scalar;

typedef struct task {
    arena *memory;
    const char *name, *doc;
    const char *folder;       /* where task.json lies; "" when it came over the wire */
    char hash[HASH_HEX_SIZE]; /* of what decides the numbers: the canonical JSON without doc and shape lists, and a
                                    user's reference source */
    json *source;             /* the parsed task.json, for the wire; not to be changed */
    task_dim dims[TASK_MAX_DIMS];
    size_t n_dims;
    task_type types[TASK_MAX_TYPES];
    size_t n_types;
    task_tensor tensors[TASK_MAX_TENSORS];
    size_t n_tensors;
    task_scalar scalars[TASK_MAX_SCALARS];
    size_t n_scalars;
    const char *reference; /* function name */
    const char
        *reference_source; /* text of the user's reference.c; NULL when built in (codegen/references.h), or none */
    const expr *reduction_length; /* NULL: 1 */
    double error_floor;           /* absolute; NaN when not given: see task_error_floor */
    const expr *flops, *bytes;    /* NULL when not given */
    const char *shapes_file, *edge_shapes_file, *cpu_shapes_file; /* full paths or NULL */
    bool index_i64;
    /* Scope of the task: types, device.*, dims, scalars, in that order. Templates copy it and add parameters. */
    expr_scope *scope;
    int first_type_slot, first_device_slot, first_dim_slot, first_scalar_slot;
} task;

/* A shape: one value per dim, in the task's order; weight from "count". */
typedef struct task_shape {
    int64_t dims[TASK_MAX_DIMS];
    double weight;
} task_shape;

/* The element types chosen for the symbols, in the task's order. */
typedef struct task_types {
    dtype of[TASK_MAX_TYPES];
} task_types;

/* `name` is a task's name (looked for in ./tasks, then fs_data_folder("tasks")), a folder with task.json, or a path of
 * a task.json. An unknown name suggests the nearest known one. Caller frees with task_free. */
kw_code task_load(const char *name, task **out, kw_error *err);
/* From the wire: the object made by task_to_json. */
kw_code task_from_json(const json *j, const char *where, task **out, kw_error *err);
/* task.json without the names of files of shapes, which say nothing elsewhere. The caller frees. */
json *task_description(const task *t);
/* Self-contained: with the reference source inside if it is the user's, without the names of files of shapes. */
json *task_to_json(const task *t);
void task_free(task *t);
/* Names of all tasks found; caller frees each and the array. */
kw_code task_names(char ***names, size_t *n, kw_error *err);

/* Default types; `set` like "f32" sets the first symbol, "T=f16,ACC=f32" any. */
kw_code task_types_parse(const task *t, const char *set, task_types *out, kw_error *err);
void task_types_print(const task *t, const task_types *types, strb *out); /* "T=f32,ACC=f32": canonical */

/* "M=1024,N=1024,K=64": every dim once; fallbacks filled; range checked; unknown names suggest. */
kw_code task_shape_parse(const task *t, const char *text, task_shape *out, kw_error *err);
kw_code task_shape_from_json(const task *t, const json *object, const char *where, task_shape *out, kw_error *err);
json *task_shape_to_json(const task *t, const task_shape *s);         /* key dims and set strides; no count */
void task_shape_print(const task *t, const task_shape *s, strb *out); /* "M=1024,N=1024,K=64" */
/* A shapes file: JSON lines; "T" and unknown members are ignored; equal shapes merge, their counts add up.
 * Caller frees *shapes. */
kw_code task_shapes_load(const task *t, const char *path, task_shape **shapes, size_t *n, kw_error *err);

/* Fills env (length expr_scope_size(t->scope) or more) with types, dims and scalars. scalars may be NULL: then the
 * first (timed) values are used. device.* slots are not touched. */
void task_fill(const task *t, const task_types *types, const task_shape *shape, const double *scalars, value *env);

dtype task_tensor_type(const task *t, const task_types *types, size_t tensor);
dtype task_scalar_type(const task *t, const task_types *types, size_t scalar);
/* Number of elements that the tensor's memory spans (strides counted); an overflow is an error. */
kw_code task_tensor_elements(const task *t, const task_types *types, const task_shape *s, size_t tensor, uint64_t *out,
                             kw_error *err);
/* flops and bytes of a shape; NaN when the task gives none. */
double task_flops(const task *t, const task_types *types, const task_shape *s);
double task_bytes(const task *t, const task_types *types, const task_shape *s);
double task_reduction_length(const task *t, const task_types *types, const task_shape *s);
/* The absolute error allowed anyway: the task's, else the smallest normal number of the tensor's type (0: integers). */
double task_error_floor(const task *t, const task_types *types, size_t tensor);

#endif
