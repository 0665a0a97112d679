/* Memory that cannot fail, and arenas.
 *
 * Deliberate simplicity: when the system refuses a small allocation the
 * program prints one line and exits with KW_ENVIRONMENT. Every measurement is
 * already in the store by then, so nothing is lost, and no caller carries a
 * branch that nobody can test. Large, user-sized allocations (tensors) use
 * mem_try_alloc and report an error instead.
 */
#ifndef KERNWRIGHT_BASE_MEM_H
#define KERNWRIGHT_BASE_MEM_H

#include <stddef.h>

void *mem_alloc(size_t bytes);           /* not zeroed; bytes 0 gives a unique pointer */
void *mem_calloc(size_t n, size_t size); /* zeroed; overflow of n * size is fatal */
void *mem_realloc(void *p, size_t bytes);
void *mem_try_alloc(size_t bytes);  /* NULL when refused */
char *mem_strdup(const char *text); /* caller frees with free() */
char *mem_strndup(const char *text, size_t n);

/* Doubles *capacity until it holds `needed` items of `size` bytes. Use for growing arrays:
 *     items = mem_grow(items, &capacity, n + 1, sizeof *items); */
void *mem_grow(void *items, size_t *capacity, size_t needed, size_t size);

/* An arena: many small objects that die together (a template, an expression tree). */
typedef struct arena arena;
arena *arena_new(void);
void arena_free(arena *a);                 /* NULL is fine */
void arena_reset(arena *a);                /* forgets all objects, keeps one block */
void *arena_alloc(arena *a, size_t bytes); /* zeroed, aligned for any type */
char *arena_strdup(arena *a, const char *text);
char *arena_strndup(arena *a, const char *text, size_t n);
char *arena_printf(arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
