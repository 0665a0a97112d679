/* Models of dispatch headers, made from templates without any measurement: for test_header.c, and for the headers that
 * the consumer programs include. Every function ends the program with a message when something fails. */
#ifndef KERNWRIGHT_TESTS_SUPPORT_HEADER_H
#define KERNWRIGHT_TESTS_SUPPORT_HEADER_H

#include "codegen/header.h"
#include "codegen/task.h"
#include "codegen/template.h"
#include "codegen/variant.h"

#include <stddef.h>

#define SUPPORT_MAX 64

typedef struct support_model {
    task *task;
    task_types types;
    template *templates[SUPPORT_MAX];
    size_t n_templates;
    variant *variants[SUPPORT_MAX];
    const char *notes[SUPPORT_MAX];
    header_device devices[SUPPORT_MAX];
    header_row *rows;
    size_t rows_capacity;
    header_model model; /* points into the rest; valid until the next change */
} support_model;

/* `task` is a name, or JSON text that starts with '{'. `types` as in task_types_parse; NULL: defaults. */
void support_begin(support_model *s, const char *task, const char *types, const char *prefix);
void support_end(support_model *s);

/* `file` is a path, or front matter and kernel text that starts with a comment. Returns the template's number. */
size_t support_template(support_model *s, const char *file);
/* `settings` like "TM=32 TN=32" over the template's defaults; `shape` like "M=64,N=64,K=64" for specialised ones, or
 * NULL. Returns the variant's number. */
int support_variant(support_model *s, size_t template_number, const char *settings, const char *shape,
                    const char *note);
int support_device(support_model *s, const char *key, const char *provenance, int default_variant);
void support_row(support_model *s, int device, const char *shape, int variant, float regret);
void support_row_dims(support_model *s, int device, const int64_t *dims, int variant, float regret);

/* The header's text; caller frees with strb_clear. */
strb support_text(support_model *s);
/* The model, as it stands in the rest, makes no header, and the message has this part. */
void support_refuses(support_model *s, const char *part);
/* Writes FOLDER/NAME. */
void support_write(support_model *s, const char *folder, const char *name);

#endif
