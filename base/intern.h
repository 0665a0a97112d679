/* Texts that occur many times, kept once. */
#ifndef KERNWRIGHT_BASE_INTERN_H
#define KERNWRIGHT_BASE_INTERN_H

typedef struct intern_pool intern_pool;

intern_pool *intern_new(void);
void intern_free(intern_pool *p); /* with all its texts; NULL is fine */
/* The pool's copy of the text, not to be freed. Equal texts give the same pointer. */
char *intern_text(intern_pool *p, const char *text);

#endif
