#include "base/intern.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct intern_pool {
    arena *texts;
    char **slots; /* open addressing; the number is a power of two */
    size_t n, n_slots;
};

intern_pool *intern_new(void)
{
    intern_pool *p = mem_calloc(1, sizeof *p);
    p->texts = arena_new();
    p->n_slots = 64;
    p->slots = mem_calloc(p->n_slots, sizeof *p->slots);
    return p;
}

void intern_free(intern_pool *p)
{
    if (!p)
        return;
    arena_free(p->texts);
    free(p->slots);
    free(p);
}

static char **slot_of(const intern_pool *p, const char *text, size_t length)
{
    size_t i = (size_t)hash_u64(text, length, 0) & (p->n_slots - 1);
    while (p->slots[i] && strcmp(p->slots[i], text) != 0)
        i = (i + 1) & (p->n_slots - 1);
    return &p->slots[i];
}

static void grow(intern_pool *p)
{
    char **old = p->slots;
    const size_t n_old = p->n_slots;
    p->n_slots *= 2;
    p->slots = mem_calloc(p->n_slots, sizeof *p->slots);
    for (size_t i = 0; i < n_old; i++)
        if (old[i])
            *slot_of(p, old[i], strlen(old[i])) = old[i];
    free(old);
}

char *intern_text(intern_pool *p, const char *text)
{
    const size_t length = strlen(text);
    char **slot = slot_of(p, text, length), *kept = *slot;
    if (!kept) {
        kept = *slot = arena_strndup(p->texts, text, length);
        if (2 * ++p->n > p->n_slots)
            grow(p);
    }
    return kept;
}
