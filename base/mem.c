#include "base/mem.h"

#include "base/error.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BLOCK 16384

static _Noreturn void out_of_memory(size_t bytes)
{
    fprintf(stderr, "kernwright: out of memory (%zu bytes asked for)\n", bytes);
    exit(KW_ENVIRONMENT);
}

void *mem_alloc(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);
    if (!p)
        out_of_memory(bytes);
    return p;
}

void *mem_calloc(size_t n, size_t size)
{
    void *p = n && size ? calloc(n, size) : calloc(1, 1);
    if (!p)
        out_of_memory(size && n > SIZE_MAX / size ? SIZE_MAX : n * size);
    return p;
}

void *mem_realloc(void *p, size_t bytes)
{
    void *q = realloc(p, bytes ? bytes : 1);
    if (!q)
        out_of_memory(bytes);
    return q;
}

void *mem_try_alloc(size_t bytes)
{
    return malloc(bytes ? bytes : 1);
}

char *mem_strndup(const char *text, size_t n)
{
    size_t length = strnlen(text, n);
    char *copy = mem_alloc(length + 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *mem_strdup(const char *text)
{
    return mem_strndup(text, strlen(text));
}

void *mem_grow(void *items, size_t *capacity, size_t needed, size_t size)
{
    if (needed <= *capacity)
        return items;
    size_t larger = *capacity ? *capacity : 8;
    while (larger < needed) {
        if (larger > SIZE_MAX / 2)
            out_of_memory(SIZE_MAX);
        larger *= 2;
    }
    if (size && larger > SIZE_MAX / size)
        out_of_memory(SIZE_MAX);
    *capacity = larger;
    return mem_realloc(items, larger * size);
}

/* Objects of `used` bytes lie in data[]; the newest block comes first. */
typedef struct block {
    struct block *next;
    size_t used, size;
    _Alignas(max_align_t) unsigned char data[];
} block;

struct arena {
    block *blocks;
};

static block *block_new(size_t size)
{
    if (size > SIZE_MAX - sizeof(block))
        out_of_memory(SIZE_MAX);
    block *b = mem_alloc(sizeof *b + size);
    b->next = NULL;
    b->used = 0;
    b->size = size;
    return b;
}

arena *arena_new(void)
{
    arena *a = mem_alloc(sizeof *a);
    a->blocks = block_new(ARENA_BLOCK);
    return a;
}

/* Frees every block from `b` on. */
static void free_blocks(block *b)
{
    while (b) {
        block *next = b->next;
        free(b);
        b = next;
    }
}

void arena_free(arena *a)
{
    if (!a)
        return;
    free_blocks(a->blocks);
    free(a);
}

void arena_reset(arena *a)
{
    free_blocks(a->blocks->next);
    a->blocks->next = NULL;
    a->blocks->used = 0;
}

void *arena_alloc(arena *a, size_t bytes)
{
    const size_t align = _Alignof(max_align_t);
    if (bytes > SIZE_MAX - align)
        out_of_memory(bytes);
    size_t rounded = (bytes + align - 1) / align * align;
    if (!rounded)
        rounded = align;
    block *b = a->blocks;
    if (rounded > b->size - b->used) {
        b = block_new(rounded > ARENA_BLOCK ? rounded : ARENA_BLOCK);
        b->next = a->blocks;
        a->blocks = b;
    }
    void *p = b->data + b->used;
    b->used += rounded;
    return memset(p, 0, rounded);
}

char *arena_strndup(arena *a, const char *text, size_t n)
{
    size_t length = strnlen(text, n);
    char *copy = arena_alloc(a, length + 1);
    memcpy(copy, text, length);
    return copy;
}

char *arena_strdup(arena *a, const char *text)
{
    return arena_strndup(a, text, strlen(text));
}

char *arena_printf(arena *a, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = arena_alloc(a, n < 0 ? 1 : (size_t)n + 1);
    if (n >= 0)
        vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    return text;
}
