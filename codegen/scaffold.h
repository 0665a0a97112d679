/* A start for somebody's own kernel: reads its signature and makes a sidecar, a task and a reference to fill in. What
 * the text does not tell stands there as SCAFFOLD_GAP, which `kernwright check` refuses with its line and column. */
#ifndef KERNWRIGHT_CODEGEN_SCAFFOLD_H
#define KERNWRIGHT_CODEGEN_SCAFFOLD_H

#include "base/error.h"
#include "base/strb.h"

#include <stdbool.h>
#include <stddef.h>

#define SCAFFOLD_GAP "FILL_IN"

typedef struct scaffold_options {
    const char *file;   /* the kernel's file, as the sidecar names it */
    const char *kernel; /* NULL: the first in the text */
    const char *task;   /* NULL: called like the kernel */
    bool sidecar_only;  /* the task exists: it has a fallback and a reference */
} scaffold_options;

typedef struct scaffold {
    char kernel[64], task[64];
    strb sidecar;       /* KERNEL.kw.json */
    strb task_json;     /* tasks/TASK/task.json; this and the next three are empty for sidecar_only */
    strb reference;     /* tasks/TASK/reference.c */
    strb shapes, edges; /* tasks/TASK/shapes/default.json, edge.json */
    strb others;        /* other kernels in the file: "b, c" */
    strb undefined;     /* names in capitals that the file uses and nobody defines: "REAL, TILE" */
} scaffold;

/* `source` is OpenCL C. Pointers become tensors (const: input), integers dims, reals scalars, __local pointers local
 * arguments. `#ifndef NAME`, `#define NAME 16` becomes a parameter passed as a macro, its comment the parameter's
 * doc. The work-group is taken from reqd_work_group_size or from a macro with a name like WG_SIZE; without either it
 * becomes a parameter of its own. KW_BAD_INPUT when there is no kernel or its parameters cannot be read. */
kw_code scaffold_make(const char *source, const scaffold_options *options, scaffold *out, kw_error *err);
void scaffold_clear(scaffold *s);

#endif
