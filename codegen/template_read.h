/* Inside of the template module: front matter into the structure, and checks of the kernel text. */
#ifndef KERNWRIGHT_CODEGEN_TEMPLATE_READ_H
#define KERNWRIGHT_CODEGEN_TEMPLATE_READ_H

#include "base/json.h"
#include "codegen/locate.h"
#include "codegen/template.h"

/* What is being read. The template borrows strings from `front`, which it then owns. */
typedef struct template_reader {
    template *p;
    const json *front; /* the front matter */
    locate where;      /* of its text */
    bool *known;       /* which of the first n_known slots of p->scope have a value when text is made: types, */
    int n_known;       /* parameters, specialised dims */
    kw_error *err;
} template_reader;

/* Parameters: the first part of the front matter; a name that is well formed and new. */
kw_code template_read_params(template_reader *r);
kw_code template_new_name(const template_reader *r, const char *path, const char *name);
/* After "constraints": those that give a parameter its default where it does not exist. */
kw_code template_add_when_constraints(template_reader *r);
/* Everything but the launches and the kernel text. */
kw_code template_read_front(template_reader *r);
/* "launches": after temps. */
kw_code template_read_launches(template_reader *r);
/* The rule that indices fit in 32 bits, as the last of the requires. */
kw_code template_add_index_rule(template_reader *r);

/* "type" of a temp or an argument: a symbol of the task or an element type. */
kw_code template_read_type(const template_reader *r, const char *path, const json *object, int *symbol, dtype *type);

/* Checks the launches against the kernels defined in the text, as far as the text itself tells; never an error where
 * macros or ${} leave a doubt. `raw`: text as written, directives and ${} still in it; otherwise what source_strip
 * makes of the expanded text. `types` NULL: not chosen yet.
 * Messages have no position; *launch (may be NULL) is the launch that is wrong. */
kw_code template_check_kernels(const char *text, bool raw, language lang, const task *t, const task_types *types,
                               const template_launch *launches, size_t n_launches, const char *options, size_t *launch,
                               kw_error *err);

#endif
