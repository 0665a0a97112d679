/* Freed buffers are kept for the next request of their size, and given back when memory is short. */
#include "device/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A back end that counts what it holds, and has room for so many bytes. */
typedef struct counts {
    size_t allocs, frees, alive;
    uint64_t bytes, room;
} counts;

static counts seen;

static kw_code open_device(const char *spec, device *d, kw_error *err)
{
    (void)spec;
    (void)err;
    d->state = &seen;
    return KW_OK;
}

static void close_device(device *d)
{
    (void)d;
}

static kw_code alloc_buffer(device *d, device_buffer *b, kw_error *err)
{
    if (seen.bytes + b->bytes > seen.room)
        return device_fail(d, DEVICE_FAULT_MEMORY, err, KW_ENVIRONMENT, "no room for %zu bytes", b->bytes);
    seen.allocs++;
    seen.alive++;
    seen.bytes += b->bytes;
    b->handle = malloc(1);
    return KW_OK;
}

static void free_buffer(device *d, device_buffer *b)
{
    (void)d;
    if (b->parent)
        return;
    seen.frees++;
    seen.alive--;
    seen.bytes -= b->bytes;
    free(b->handle);
}

static size_t view_alignment(const device *d)
{
    (void)d;
    return 1;
}

static kw_code make_view(device *d, device_buffer *b, kw_error *err)
{
    (void)d;
    (void)err;
    b->handle = b->parent->handle;
    return KW_OK;
}

static const device_ops ops = {.name = "counting",
                               .open = open_device,
                               .close = close_device,
                               .alloc = alloc_buffer,
                               .free_buffer = free_buffer,
                               .view_alignment = view_alignment,
                               .view = make_view};

/* As device_open makes one, without a row in the table of back ends. */
static device *opened(int64_t memory, uint64_t room)
{
    device *d = calloc(1, sizeof *d);
    memset(&seen, 0, sizeof seen);
    seen.room = room;
    d->ops = &ops;
    d->info.limits.global_mem_bytes = memory;
    assert_int_equal(ops.open("counting:0", d, NULL), KW_OK);
    return d;
}

static device_buffer *alloc(device *d, size_t bytes)
{
    kw_error err;
    kw_error_clear(&err);
    device_buffer *b = device_alloc(d, bytes, &err);
    assert_string_equal(err.message, "");
    assert_non_null(b);
    assert_int_equal(b->bytes, bytes);
    return b;
}

static void test_the_same_size_again(void **state)
{
    (void)state;
    device *d = opened(1 << 20, 1 << 20);
    device_buffer *a = alloc(d, 1000), *b = alloc(d, 1000);
    assert_ptr_not_equal(a, b); /* one that is in use is not handed out */
    void *handle = a->handle;
    device_free(d, a);
    assert_int_equal(seen.alive, 2);
    device_buffer *other = alloc(d, 999);
    assert_int_equal(seen.allocs, 3);
    a = alloc(d, 1000);
    assert_ptr_equal(a->handle, handle);
    assert_int_equal(seen.allocs, 3);
    device_free(d, a);
    device_free(d, b);
    device_free(d, other);
    device_close(d);
    assert_int_equal(seen.alive, 0);
}

static void test_views_are_not_kept(void **state)
{
    (void)state;
    device *d = opened(1 << 20, 1 << 20);
    kw_error err;
    device_buffer *a = alloc(d, 1000), *view = device_view(d, a, 100, 50, &err);
    device_free(d, a); /* still has a view: not freed */
    device_buffer *b = alloc(d, 1000);
    assert_ptr_not_equal(b, a);
    device_free(d, view);
    device_free(d, a);
    device_buffer *c = alloc(d, 1000);
    assert_ptr_equal(c, a);
    assert_int_equal(c->n_views, 0);
    device_free(d, b);
    device_free(d, c);
    device_close(d);
    assert_int_equal(seen.alive, 0);
}

/* No more than an eighth of the device's memory is held back, the oldest goes first. */
static void test_bounded(void **state)
{
    (void)state;
    device *d = opened(8000, 100000);
    device_buffer *b[3] = {alloc(d, 400), alloc(d, 500), alloc(d, 600)}, *large = alloc(d, 2000);
    for (size_t i = 0; i < 3; i++)
        device_free(d, b[i]);
    assert_int_equal(seen.bytes, 2600); /* 600 and 2000; 500 more would be over 1000 */
    device_free(d, large);
    assert_int_equal(seen.alive, 0); /* alone over the bound */
    device_close(d);
}

static void test_given_back_when_memory_is_short(void **state)
{
    (void)state;
    device *d = opened(80000, 10000);
    kw_error err;
    device_free(d, alloc(d, 3000));
    device_free(d, alloc(d, 4000));
    assert_int_equal(seen.alive, 2);
    device_buffer *b = alloc(d, 9000); /* fits only without the two */
    assert_int_equal(seen.alive, 1);
    assert_null(device_alloc(d, 9001, &err));
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_MEMORY);
    device_free(d, b);
    device_close(d);
    assert_int_equal(seen.alive, 0);
}

/* The fault of the last failure stays through successful calls, also those that need no driver. */
static void test_fault_stays(void **state)
{
    (void)state;
    device *d = opened(80000, 1000);
    kw_error err;
    device_free(d, alloc(d, 300));
    assert_null(device_alloc(d, 1001, &err));
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_MEMORY);
    device_free(d, alloc(d, 300));
    assert_int_equal(device_last_fault(d), DEVICE_FAULT_MEMORY);
    device_close(d);
}

/* What a lost device holds is never touched again. */
static void test_lost(void **state)
{
    (void)state;
    device *d = opened(80000, 10000);
    kw_error err;
    device_free(d, alloc(d, 300));
    device_buffer *b = alloc(d, 400);
    void *leaked[2] = {d->kept->handle, b->handle};
    device_fail(d, DEVICE_FAULT_LOST, &err, KW_ENVIRONMENT, "lost");
    assert_null(device_alloc(d, 300, &err));
    device_free(d, b);
    device_close(d);
    assert_int_equal(seen.frees, 0);
    free(leaked[0]);
    free(leaked[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_size_again),
        cmocka_unit_test(test_views_are_not_kept),
        cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_given_back_when_memory_is_short),
        cmocka_unit_test(test_fault_stays),
        cmocka_unit_test(test_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
