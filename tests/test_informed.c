/* Searches that start from lessons: on functions, no device. */
#include "base/mem.h"
#include "tuner/lessons.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WIDTH 3
#define VALUES 6
#define ALL (VALUES * VALUES * VALUES)

static value values[VALUES];
static space_param params[WIDTH];

static space *new_space(void)
{
    static const char *const names[WIDTH] = {"A", "B", "C"};
    static uint32_t configs[ALL * WIDTH];
    for (int i = 0; i < VALUES; i++)
        values[i] = value_int(i);
    for (int i = 0; i < WIDTH; i++)
        params[i] = (space_param){.name = names[i], .values = values, .n_values = VALUES, .slot = i};
    for (uint32_t i = 0; i < ALL; i++) {
        configs[i * WIDTH] = i / (VALUES * VALUES);
        configs[i * WIDTH + 1] = i / VALUES % VALUES;
        configs[i * WIDTH + 2] = i % VALUES;
    }
    space *s;
    kw_error err;
    assert_int_equal(space_of_list(params, WIDTH, configs, ALL, &s, &err), KW_OK);
    return s;
}

/* Fastest at 4, 1, 3. */
static double time_of(const uint32_t *c)
{
    return 1000 * exp(0.3 * fabs(c[0] - 4.0) + 0.2 * fabs(c[1] - 1.0) + 0.1 * fabs(c[2] - 3.0));
}

/* What the whole space takes, in units of its own; or the reverse of it. */
static void fill(lesson *l, const space *s, bool reverse)
{
    for (uint64_t i = 0; i < ALL; i += 2) {
        uint32_t c[WIDTH];
        space_unrank(s, i, c);
        lesson_add(l, 0, WIDTH, c, true, reverse ? 1e9 / time_of(c) : 7 * time_of(c));
    }
}

/* Best of n evaluations over the best there is; without a strategy beside it, what it defers it takes back. */
static double run(const space *s, lessons *b, size_t n, informed **kept)
{
    const space *const spaces[] = {s};
    const double dims[1] = {10};
    informed *x = informed_new(spaces, 1, 1);
    double best = INFINITY;
    lessons_teach(b, "a/b/c/1", dims, NULL, x);
    for (size_t i = 0; i < n; i++) {
        uint32_t c[WIDTH];
        size_t family = 9;
        assert_true(informed_ask(x, &family, c));
        assert_int_equal(family, 0);
        assert_true(space_contains(s, c));
        informed_tell(x, 0, c, true, time_of(c));
        best = fmin(best, time_of(c));
    }
    if (kept)
        *kept = x;
    else
        informed_free(x);
    return best / 1000;
}

static void lessons_help(void **state)
{
    (void)state;
    const double dims[1] = {10}, far[1] = {30};
    space *s = new_space();
    lessons *b = lessons_new(1, 1);
    fill(lessons_add(b, "a/b/other/2", dims), s, false);
    fill(lessons_add(b, "z/z/far/2", far), s, true);
    assert_int_equal(lessons_count(b), 2);
    assert_true(run(s, b, 3, NULL) < 1.0001);
    lessons_free(b);
    space_free(s);
}

static void lessons_that_mislead_lose_their_weight(void **state)
{
    (void)state;
    const double dims[1] = {10};
    space *s = new_space();
    lessons *b = lessons_new(1, 1);
    fill(lessons_add(b, "z/z/other/2", dims), s, true);
    informed *x;
    assert_true(run(s, b, 30, &x) < 1.3);
    assert_true(informed_agreement(x) < 0.2);
    assert_true(informed_defers(x) || informed_agreement(x) > -0.1);
    informed_free(x);
    fill(lessons_add(b, "z/z/true/2", dims), s, false); /* the other of two is believed */
    assert_true(run(s, b, 14, &x) < 1.0001);
    assert_true(informed_agreement(x) > 0.5);
    informed_free(x);
    lessons_free(b);
    space_free(s);
}

static void nothing_is_proposed_twice_and_it_ends(void **state)
{
    (void)state;
    space *s = new_space();
    lessons *b = lessons_new(1, 1);
    const space *const spaces[] = {s};
    informed *x = informed_new(spaces, 1, 3);
    bool seen[ALL] = {false};
    uint32_t c[WIDTH] = {0, 0, 0};
    size_t family, n = 0;
    assert_true(informed_defers(x)); /* no lessons */
    assert_true(isinf(informed_gain(x)));
    assert_true(informed_claim(x, 0, c));
    assert_false(informed_claim(x, 0, c));
    informed_tell(x, 0, c, false, 0);
    for (seen[0] = true; informed_ask(x, &family, c); n++) {
        uint64_t rank;
        assert_true(space_rank(s, c, &rank));
        assert_false(seen[rank]);
        seen[rank] = true;
        informed_tell(x, 0, c, n % 3 > 0, n % 7 == 0 ? (double)NAN : time_of(c));
        if (n == 40)
            break;
    }
    assert_int_equal(n, 40);
    assert_true(isfinite(informed_gain(x)) && informed_gain(x) >= 0);
    for (uint64_t i = 0; i < ALL; i++) {
        space_unrank(s, i, c);
        informed_claim(x, 0, c);
    }
    assert_false(informed_ask(x, &family, c));
    assert_true(informed_gain(x) == 0);
    informed_free(x);
    lessons_free(b);
    space_free(s);
}

static void a_pool_is_the_mean_of_its_lessons(void **state)
{
    (void)state;
    lesson *a = lesson_new(2), *b = lesson_new(2);
    const uint32_t one[] = {1}, two[] = {2}, three[] = {3};
    lesson_add(a, 1, 1, one, true, 100);
    lesson_add(a, 1, 1, two, true, 400);
    lesson_add(b, 1, 1, two, true, 5);
    lesson_add(b, 1, 1, three, false, 0);
    const lesson *const from[] = {a, b};
    const double weights[] = {1, 1};
    lesson *pool = lesson_pool(from, weights, 2);
    assert_int_equal(lesson_size(pool, 1), 2);
    assert_int_equal(lesson_size(pool, 0), 0);
    assert_false(lesson_knows(pool, 0));
    assert_int_equal(lesson_best(pool, 1, 0)[0], 1);
    assert_true(fabs(lesson_relative(pool, 1, 1) - 2) < 1e-9); /* of 4 and 1 */
    lesson_free(pool);
    lesson_free(a);
    lesson_free(b);
}

/* Share of all pairs of the space that l ranks the wrong way round. */
static double disorder(lesson *l, const space *s)
{
    static uint32_t configs[ALL * WIDTH];
    float says[ALL];
    double wrong = 0, all = 0;
    for (uint64_t i = 0; i < ALL; i++)
        space_unrank(s, i, configs + i * WIDTH);
    lesson_predict(l, 0, s, configs, ALL, says);
    for (size_t i = 0; i < ALL; i++) {
        for (size_t k = 0; k < i; k++) {
            const double d = time_of(configs + i * WIDTH) - time_of(configs + k * WIDTH);
            wrong += d * (double)(says[i] - says[k]) < 0;
            all++;
        }
    }
    return wrong / all;
}

/* Few rows: what the base says counts where there are none, and less where the rows gainsay it. */
static void a_lesson_rests_on_another(void **state)
{
    (void)state;
    space *s = new_space();
    lesson *right = lesson_new(1), *wrong = lesson_new(1), *few = lesson_new(1);
    fill(right, s, false);
    fill(wrong, s, true);
    for (uint64_t i = 5; i < ALL; i += 31) {
        uint32_t c[WIDTH];
        space_unrank(s, i, c);
        lesson_add(few, 0, WIDTH, c, true, time_of(c));
    }
    const double alone = disorder(few, s);
    lesson_rest_on(few, right);
    const double helped = disorder(few, s);
    lesson_rest_on(few, wrong);
    const double misled = disorder(few, s);
    lesson_rest_on(few, NULL);
    assert_true(helped < alone && helped < 0.1);
    assert_true(misled < 0.5);
    assert_true(disorder(few, s) == alone);
    lesson_free(right);
    lesson_free(wrong);
    lesson_free(few);
    space_free(s);
}

/* Lessons of this device rest on those of others; a foreign one that comes or goes is heard of, nothing dangles. */
static void lessons_of_this_device_rest_on_those_of_others(void **state)
{
    (void)state;
    const double dims[1] = {10}, near[1] = {11};
    space *s = new_space();
    lessons *b = lessons_new(1, 1);
    lesson *own = lessons_add(b, "a/b/c/1", near);
    for (uint64_t i = 5; i < ALL; i += 31) {
        uint32_t c[WIDTH];
        space_unrank(s, i, c);
        lesson_add(own, 0, WIDTH, c, true, time_of(c));
    }
    const double alone = disorder(own, s);
    lesson *other = lessons_add(b, "z/z/other/2", dims);
    fill(other, s, false);
    assert_true(run(s, b, 4, NULL) < 1.2);
    assert_true(disorder(own, s) < alone);
    lessons_remove(b, other);
    assert_true(disorder(own, s) == alone);
    assert_true(run(s, b, 4, NULL) < 3);
    fill(lessons_add(b, "z/z/another/2", dims), s, false);
    assert_true(run(s, b, 4, NULL) < 1.2);
    lessons_free(b);
    space_free(s);
}

static void shapes_come_from_the_middle_and_then_far_apart(void **state)
{
    (void)state;
    const double dims[] = {0, 4, 5, 6, 10}; /* one dim each */
    bool taken[5] = {false};
    const size_t wanted[] = {2, 0, 4, 1, 3};
    for (size_t k = 0; k < 5; k++) {
        const size_t i = lessons_next_shape(dims, 5, 1, taken);
        assert_int_equal(i, wanted[k]);
        taken[i] = true;
    }
    assert_true(lessons_next_shape(dims, 5, 1, taken) == SIZE_MAX);
}

static void the_search_ends_by_itself(void **state)
{
    (void)state;
    const double dims[1] = {10};
    space *s = new_space();
    lessons *b = lessons_new(1, 1);
    fill(lessons_add(b, "a/b/c/1", dims), s, false);
    informed *x;
    run(s, b, 11, &x);
    assert_false(informed_is_done(x, 1)); /* too few results, whatever is expected */
    size_t n = 11, family;
    uint32_t c[WIDTH];
    while (n < ALL && !informed_is_done(x, 0.01) && informed_ask(x, &family, c)) {
        informed_tell(x, 0, c, true, time_of(c));
        n++;
    }
    assert_in_range(n, 12, 40);
    informed_free(x);
    lessons_free(b);
    space_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lessons_help),
        cmocka_unit_test(lessons_that_mislead_lose_their_weight),
        cmocka_unit_test(nothing_is_proposed_twice_and_it_ends),
        cmocka_unit_test(a_pool_is_the_mean_of_its_lessons),
        cmocka_unit_test(a_lesson_rests_on_another),
        cmocka_unit_test(lessons_of_this_device_rest_on_those_of_others),
        cmocka_unit_test(shapes_come_from_the_middle_and_then_far_apart),
        cmocka_unit_test(the_search_ends_by_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
