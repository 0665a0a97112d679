/* What the files of facts_read share: scaffold_read.c (words, the whole), scaffold_kernel.c (which kernel, and its
 * parameters) and scaffold_macros.c (macros, the work-group's size, names that are not defined). Positions point into
 * the text that was given. */
#ifndef KERNWRIGHT_CODEGEN_SCAFFOLD_INTERNAL_H
#define KERNWRIGHT_CODEGEN_SCAFFOLD_INTERNAL_H

#include "codegen/scaffold_read.h"

/* ---- words ---- */

bool facts_is_name_char(char c);
size_t facts_word_length(const char *p); /* of the word that begins here; 0 if none does */
/* Position just after `word` as a whole word at or after `from`; NULL if there is none. */
const char *facts_after_word(const char *from, const char *word);
/* The place after the parenthesis that matches the one at p; NULL if there is none. */
const char *facts_skip_parens(const char *p);
/* Copies what fits; false if it does not. */
bool facts_copy(char *to, size_t size, const char *from, size_t n);
void facts_add_to_list(strb *list, const char *name);

/* ---- kernels ---- */

typedef struct kernel_place {
    const char *begin; /* of the definition */
    const char *open;  /* the parenthesis of its parameters */
    char name[FACTS_NAME];
} kernel_place;

/* The kernel named `wanted`, or the first one (NULL); the names of the others go to f->others. KW_BAD_INPUT if there is
 * none. */
kw_code facts_choose_kernel(const char *text, const char *file, const char *wanted, kernel_facts *f, kernel_place *out,
                            kw_error *err);
/* Its parameters; `source` is the text without comments, where names of types are looked up. */
kw_code facts_read_parts(const kernel_place *k, const char *source, const char *file, kernel_facts *f, kw_error *err);

/* ---- macros ---- */

/* Those with a default; what they mean is said in the comments of `source`. */
void facts_read_macros(const char *stripped, const char *source, kernel_facts *f);
/* The work-group's size, from its attribute or from macros with the usual names, and the names that nothing defines:
 * one of those may be the size, and becomes a macro. Marks the macros that the size consists of. */
void facts_read_local(const kernel_place *k, const char *text, kernel_facts *f);

#endif
