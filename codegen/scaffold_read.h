/* What the text of a kernel tells about how to launch and to tune it. Inner header of scaffold*.c. */
#ifndef KERNWRIGHT_CODEGEN_SCAFFOLD_READ_H
#define KERNWRIGHT_CODEGEN_SCAFFOLD_READ_H

#include "base/error.h"
#include "base/strb.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FACTS_MAX_PARTS 48
#define FACTS_MAX_MACROS 24
#define FACTS_NAME 64

typedef enum part_kind { PART_IN, PART_OUT, PART_DIM, PART_SCALAR, PART_LOCAL } part_kind;

/* A parameter of the kernel. */
typedef struct part {
    part_kind kind;
    char name[FACTS_NAME]; /* with _ at its end where the expression language has the word itself */
    const char *type;      /* "f32"; NULL if unknown, for pointers only */
} part;

/* `#ifndef NAME`, `#define NAME value`. */
typedef struct macro {
    char name[FACTS_NAME];
    int64_t value;
    char doc[160]; /* the comment behind it; "" if none */
    bool is_local; /* part of the work-group's size */
} macro;

typedef struct kernel_facts {
    char name[FACTS_NAME];
    part parts[FACTS_MAX_PARTS];
    size_t n_parts;
    macro macros[FACTS_MAX_MACROS];
    size_t n_macros;
    char local[3][FACTS_NAME]; /* expressions of the work-group's size; "" where it is not clear */
    size_t n_local;            /* 0: the text does not tell */
    strb others, undefined;    /* see scaffold.h */
} kernel_facts;

kw_code facts_read(const char *source, const char *file, const char *kernel, kernel_facts *out, kw_error *err);
void facts_clear(kernel_facts *f);

/* Is a word of this text `word`? */
bool facts_has_word(const char *text, const char *word);

#endif
