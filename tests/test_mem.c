#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void zero_bytes_give_a_pointer(void **state)
{
    (void)state;
    void *a = mem_alloc(0), *b = mem_calloc(0, 8), *c = mem_realloc(NULL, 0), *d = mem_try_alloc(0);
    assert_non_null(a);
    assert_non_null(b);
    assert_non_null(c);
    assert_non_null(d);
    free(a);
    free(b);
    free(c);
    free(d);
}

static void try_alloc_can_refuse(void **state)
{
    (void)state;
    volatile size_t huge = SIZE_MAX / 4;
#if !defined(__SANITIZE_ADDRESS__)
    assert_null(mem_try_alloc(huge));
#else
    (void)huge; /* AddressSanitizer ends the program instead */
#endif
}

static void copies_end_with_nul(void **state)
{
    (void)state;
    char *a = mem_strdup("text"), *b = mem_strndup("text", 2), *c = mem_strndup("text", 9);
    assert_string_equal(a, "text");
    assert_string_equal(b, "te");
    assert_string_equal(c, "text");
    free(a);
    free(b);
    free(c);
}

static void grow_keeps_items(void **state)
{
    (void)state;
    int *items = NULL;
    size_t capacity = 0;
    for (size_t i = 0; i < 1000; i++) {
        items = mem_grow(items, &capacity, i + 1, sizeof *items);
        assert_true(capacity > i);
        items[i] = (int)i;
    }
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(items[i], (int)i);
    assert_true(capacity < 2048);
    free(items);
}

static void arena_objects_are_zeroed_aligned_and_apart(void **state)
{
    (void)state;
    arena *a = arena_new();
    unsigned char *previous = NULL;
    for (size_t n = 0; n < 300; n++) {
        unsigned char *p = arena_alloc(a, n);
        assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xff, n);
        assert_ptr_not_equal(p, previous);
        previous = p;
    }
    unsigned char *big = arena_alloc(a, 1 << 20);
    memset(big, 1, 1 << 20);
    arena_free(a);
    arena_free(NULL);
}

static void arena_reset_forgets_and_zeroes_again(void **state)
{
    (void)state;
    arena *a = arena_new();
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 100; i++) {
            char *p = arena_alloc(a, 1000);
            assert_int_equal(p[0] | p[999], 0);
            memset(p, 7, 1000);
        }
        arena_reset(a);
    }
    arena_free(a);
}

static void arena_text(void **state)
{
    (void)state;
    arena *a = arena_new();
    char *one = arena_strdup(a, "one");
    char *two = arena_strndup(a, "two and more", 3);
    char *three = arena_printf(a, "%s-%d", "three", 3);
    char *empty = arena_printf(a, "%s", "");
    assert_string_equal(one, "one");
    assert_string_equal(two, "two");
    assert_string_equal(three, "three-3");
    assert_string_equal(empty, "");
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_bytes_give_a_pointer),
        cmocka_unit_test(try_alloc_can_refuse),
        cmocka_unit_test(copies_end_with_nul),
        cmocka_unit_test(grow_keeps_items),
        cmocka_unit_test(arena_objects_are_zeroed_aligned_and_apart),
        cmocka_unit_test(arena_reset_forgets_and_zeroes_again),
        cmocka_unit_test(arena_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
