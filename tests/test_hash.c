/* Hashes, random numbers and the clock. */
#include "base/clock.h"
#include "base/counter_rng.h"
#include "base/hash.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Published values of XXH3: stored results name sources by them, so they must never change. */
static void hashes_are_xxh3(void **state)
{
    (void)state;
    char hex[HASH_HEX_SIZE];
    hash_hex("", 0, hex);
    assert_string_equal(hex, "99aa06d3014798d86001c324468d497f");
    hash_hex("a", 1, hex);
    assert_string_equal(hex, "a96faf705af16834e6c632b61e964e1f");
    assert_true(hash_u64("", 0, 0) == UINT64_C(0x2d06800538d394c2));
    assert_true(hash_u64("a", 1, 0) != hash_u64("a", 1, 1));
}

static void random_numbers_are_a_function(void **state)
{
    (void)state;
    /* SplitMix64 from state 0: its first outputs, as published */
    assert_true(counter_mix(UINT64_C(0x9e3779b97f4a7c15)) == UINT64_C(0xe220a8397b1dcdaf));
    assert_true(counter_mix(2 * UINT64_C(0x9e3779b97f4a7c15)) == UINT64_C(0x6e789e6aa1b965f4));
    assert_true(counter_rng_u64(1, 2, 3) == counter_rng_u64(1, 2, 3));
    assert_true(counter_rng_u64(1, 2, 3) != counter_rng_u64(1, 3, 2));
    assert_true(counter_rng_u64(0, 1, 0) != counter_rng_u64(1, 0, 0));
}

static void random_numbers_are_spread(void **state)
{
    (void)state;
    enum { N = 20000 };
    double sum = 0, squares = 0, previous = 0, product = 0;
    for (uint64_t i = 0; i < N; i++) {
        double x = counter_rng_unit(7, 1, i);
        assert_true(x >= 0 && x < 1);
        sum += x;
        squares += x * x;
        product += (x - 0.5) * (previous - 0.5);
        previous = x;
    }
    assert_true(fabs(sum / N - 0.5) < 0.01);
    assert_true(fabs(squares / N - 1.0 / 3) < 0.01);
    assert_true(fabs(product / N) < 0.005);
}

static void clocks(void **state)
{
    (void)state;
    int64_t a = clock_now_ns(), b = clock_now_ns();
    assert_true(a > 0 && b >= a);
    char text[21] = "";
    clock_utc_text(text);
    assert_int_equal(strlen(text), 20);
    static const char pattern[] = "dddd-dd-ddTdd:dd:ddZ";
    for (size_t i = 0; i < 20; i++)
        assert_true(pattern[i] == 'd' ? text[i] >= '0' && text[i] <= '9' : text[i] == pattern[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_are_xxh3),
        cmocka_unit_test(random_numbers_are_a_function),
        cmocka_unit_test(random_numbers_are_spread),
        cmocka_unit_test(clocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
