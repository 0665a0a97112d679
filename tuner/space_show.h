/* Configurations of any space as text: printing, reading, explaining. And what kind of file a space comes from. */
#ifndef KERNWRIGHT_TUNER_SPACE_SHOW_H
#define KERNWRIGHT_TUNER_SPACE_SHOW_H

#include "base/json.h"
#include "tuner/space.h"

typedef enum space_file {
    SPACE_FILE_TEMPLATE, /* a template, a sidecar, or a kernel that has one beside it */
    SPACE_FILE_PROBLEM,  /* T1: tuner/problem.h */
    SPACE_FILE_RECORDED  /* measurements: tuner/recorded.h */
} space_file;

/* Tells by the content, plain or gzipped, whatever the name. KW_BAD_INPUT if it is none of them (malformed JSON: the
 * error in it) or cannot be read. */
kw_code space_file_kind(const char *path, space_file *out, kw_error *err);

/* {"A":1,...} and "A=1 B=2", in the order of the definition; parameters that do not exist are left out. */
json *space_config_to_json(const space *s, const uint32_t *config);
void space_config_print(const space *s, const uint32_t *config, strb *out);

#define SPACE_OPEN UINT32_MAX /* a parameter that a reader of "A=1,B=2" was told nothing of */

/* Reads "A=1,B=2"; parameters that are not named are SPACE_OPEN. Unknown names and values that are not listed are
 * errors that say what there is. */
kw_code space_config_read(const space *s, const char *text, uint32_t *config, kw_error *err);

/* Both ways of saying why: the constraints, or for a space from a list, that it is not listed.
 * How many valid configurations agree with `config`? Where none does, *text, appended, says which constraints reject
 * them. Parameters that are open and do not exist take their preset value in `config`. */
kw_code space_explain_some(const space *s, uint32_t *config, const space_limits *limits, uint64_t *count, strb *text,
                           kw_error *err);

#endif
