/* A start for somebody's own kernel: reads its signature and makes a sidecar, a task and a reference to fill in. */
#ifndef KERNWRIGHT_CODEGEN_SCAFFOLD_H
#define KERNWRIGHT_CODEGEN_SCAFFOLD_H

#include "base/error.h"
#include "base/strb.h"

#include <stddef.h>

typedef struct scaffold {
    char kernel[64];     /* name of the kernel function */
    char task[64];       /* name of the task: the kernel's */
    strb sidecar;        /* KERNEL.kw.json */
    strb task_json;      /* tasks/TASK/task.json */
    strb reference;      /* tasks/TASK/reference.c */
    strb shapes, edges;  /* tasks/TASK/shapes/default.json, edge.json */
    size_t n_tensors, n_dims, n_scalars, n_macros;
} scaffold;

/* `source` is OpenCL C. Pointers become tensors (const: input), integers dims, reals scalars, __local pointers local
 * arguments; `#ifndef NAME / #define NAME 16` becomes a parameter passed as a macro. The first kernel is taken, or the one called
 * `kernel` (may be NULL). KW_BAD_INPUT when there is none or its parameters cannot be read. */
kw_code scaffold_make(const char *source, const char *file, const char *kernel, scaffold *out, kw_error *err);
void scaffold_clear(scaffold *s);

#endif
