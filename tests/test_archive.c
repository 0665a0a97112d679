/* The archive and what steers by it. */
#include "llm/archive.h"
#include "llm/steer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char config_text[] = "{\"A\":1}";

static offer offer_of(int memory, int compute, int parallelism, double fitness, const char *hash)
{
    offer o = {.where = {.level = {memory, compute, parallelism}},
               .fitness = fitness,
               .rel_noise = 0.02,
               .config = config_text};
    snprintf(o.template_hash, sizeof o.template_hash, "t%s", hash);
    snprintf(o.source_hash, sizeof o.source_hash, "s%s", hash);
    return o;
}

static void cells_are_numbered(void **state)
{
    (void)state;
    for (int i = 0; i < BEHAVIOUR_CELLS; i++) {
        behaviour b = behaviour_of_cell(i);
        assert_int_equal(behaviour_cell(&b), i);
    }
}

static void better_than_noise_replaces(void **state)
{
    (void)state;
    archive *a = archive_new();
    offer first = offer_of(1, 2, 3, 1.5, "a"), near = offer_of(1, 2, 3, 1.51, "b"), far = offer_of(1, 2, 3, 1.6, "c"),
          same = offer_of(1, 2, 3, 9, "c"), worse = offer_of(1, 2, 3, 1.2, "d"), nan = offer_of(0, 0, 0, NAN, "e");
    assert_int_equal(archive_offer(a, &first, 1, false), ARCHIVE_NEW);
    assert_int_equal(archive_offer(a, &near, 2, false), ARCHIVE_UNSURE);
    assert_true(archive_best(a)->best.fitness == 1.5);
    assert_int_equal(archive_offer(a, &near, 2, true), ARCHIVE_REPLACED);
    assert_int_equal(archive_offer(a, &far, 3, false), ARCHIVE_REPLACED);
    assert_int_equal(archive_offer(a, &same, 4, true), ARCHIVE_WORSE); /* itself again: a lucky second time */
    assert_int_equal(archive_offer(a, &worse, 5, true), ARCHIVE_WORSE);
    assert_int_equal(archive_offer(a, &nan, 6, true), ARCHIVE_WORSE);
    assert_int_equal(archive_occupied(a), 1);
    assert_int_equal(archive_best(a)->since, 3);
    archive_retime(a, behaviour_cell(&first.where), 1.4);
    assert_true(archive_best(a)->best.fitness == 1.4);
    archive_free(a);
}

static void json_and_map(void **state)
{
    (void)state;
    archive *a = archive_new();
    offer x = offer_of(2, 0, 1, 1.25, "x"), y = offer_of(0, 3, 0, 0.75, "y");
    strb text = STRB_INIT;
    archive_offer(a, &x, 1, false);
    archive_offer(a, &y, 2, false);
    archive_visit(a, behaviour_cell(&x.where));
    json *j = archive_to_json(a);
    json_print(j, &text);
    assert_string_equal(strb_text(&text),
                        "[{\"cell\":[0,3,0],\"fitness\":0.75,\"template_hash\":\"ty\",\"source_hash\":\"sy\","
                        "\"config\":{\"A\":1},\"from_artefact\":false,\"since\":2,\"visits\":0},"
                        "{\"cell\":[2,0,1],\"fitness\":1.25,\"template_hash\":\"tx\",\"source_hash\":\"sx\","
                        "\"config\":{\"A\":1},\"from_artefact\":false,\"since\":1,\"visits\":1}]");
    strb_reset(&text);
    archive_print(a, &text);
    assert_non_null(strstr(strb_text(&text), "1.25"));
    assert_non_null(strstr(strb_text(&text), "0.75"));
    strb_clear(&text);
    json_free(j);
    archive_free(a);
}

static steer *steer_with(bool use_archive, bool gradient, bool targets)
{
    steer_options o = {.archive = use_archive, .gradient = gradient, .targets = targets, .seed = 7};
    return steer_new(&o);
}

static void nothing_yet(void **state)
{
    (void)state;
    archive *a = archive_new();
    steer *s = steer_with(true, true, true);
    steer_choice c = steer_choose(s, a, 0);
    assert_int_equal(c.parent_cell, -1);
    assert_int_equal(c.target_cell, -1);
    assert_int_equal(c.inspirations[0], -1);
    steer_free(s);
    archive_free(a);
}

static void greedy_takes_the_best(void **state)
{
    (void)state;
    archive *a = archive_new();
    steer *s = steer_with(false, false, false);
    offer x = offer_of(2, 0, 1, 1.25, "x"), y = offer_of(0, 3, 0, 1.2, "y");
    archive_offer(a, &x, 1, false);
    archive_offer(a, &y, 2, false);
    for (uint64_t i = 0; i < 100; i++) {
        steer_choice c = steer_choose(s, a, i);
        assert_int_equal(c.parent_cell, behaviour_cell(&x.where));
        assert_int_equal(c.target_cell, -1);
        assert_int_equal(c.inspirations[0], behaviour_cell(&y.where));
        assert_int_equal(c.inspirations[1], -1);
    }
    steer_free(s);
    archive_free(a);
}

/* Targets stay in the grid, are at most one step away, and the same ordinal gives the same choice. */
static void targets_are_near(void **state)
{
    (void)state;
    archive *a = archive_new();
    steer *s = steer_with(true, true, true), *again = steer_with(true, true, true);
    offer x = offer_of(3, 0, 1, 1.25, "x"), y = offer_of(0, 3, 0, 1.2, "y");
    bool seen[BEHAVIOUR_CELLS] = {false};
    int kinds = 0;
    archive_offer(a, &x, 1, false);
    archive_offer(a, &y, 2, false);
    for (uint64_t i = 0; i < 300; i++) {
        steer_choice c = steer_choose(s, a, i), d = steer_choose(again, a, i);
        assert_int_equal(c.parent_cell, d.parent_cell);
        assert_int_equal(c.target_cell, d.target_cell);
        behaviour p = behaviour_of_cell(c.parent_cell), t = behaviour_of_cell(c.target_cell);
        int steps = 0;
        for (int k = 0; k < BEHAVIOUR_DIMS; k++)
            steps += abs(p.level[k] - t.level[k]);
        assert_true(steps <= 1);
        kinds += !seen[c.target_cell];
        seen[c.target_cell] = true;
    }
    assert_true(kinds >= 6);
    steer_free(again);
    steer_free(s);
    archive_free(a);
}

/* Counts how often a target raises compute or memory, after transitions that favour one of them. */
static int raises(steer *s, archive *a, behaviour_dim d)
{
    int n = 0;
    for (uint64_t i = 0; i < 400; i++) {
        steer_choice c = steer_choose(s, a, i);
        n += behaviour_of_cell(c.target_cell).level[d] > behaviour_of_cell(c.parent_cell).level[d];
    }
    return n;
}

static void gradient_follows_what_helped(void **state)
{
    (void)state;
    archive *a = archive_new();
    steer *with = steer_with(true, true, true), *without = steer_with(true, false, true);
    offer x = offer_of(1, 1, 1, 1.25, "x");
    int here = behaviour_cell(&x.where);
    archive_offer(a, &x, 1, false);
    for (uint64_t i = 0; i < 12; i++) {
        /* More compute helped, more memory hurt; both were reached. */
        behaviour up = {.level = {1, 2, 1}}, mem = {.level = {2, 1, 1}};
        transition good = {here, behaviour_cell(&up), behaviour_cell(&up), 1.25, 1.5, 1000},
                   bad = {here, behaviour_cell(&mem), behaviour_cell(&mem), 1.25, 1.0, 1000};
        steer_learn(with, a, &good);
        steer_learn(with, a, &bad);
        steer_learn(without, a, &good);
        steer_learn(without, a, &bad);
    }
    int compute = raises(with, a, BEHAVIOUR_COMPUTE), memory = raises(with, a, BEHAVIOUR_MEMORY);
    assert_true(compute > 3 * memory);
    int plain_compute = raises(without, a, BEHAVIOUR_COMPUTE), plain_memory = raises(without, a, BEHAVIOUR_MEMORY);
    assert_true(plain_memory * 2 > plain_compute);
    steer_choice c = steer_choose(with, a, 1001);
    assert_true(c.gradient[BEHAVIOUR_COMPUTE] > 0.1);
    assert_true(c.gradient[BEHAVIOUR_MEMORY] < c.gradient[BEHAVIOUR_COMPUTE]);
    assert_true(c.confidence > 0.5);
    steer_report r = steer_report_of(with);
    assert_int_equal(r.asked, 24);
    assert_int_equal(r.hit, 24);
    assert_int_equal(r.improved, 12);
    steer_free(without);
    steer_free(with);
    archive_free(a);
}

/* A batch of questions from one parent asks for different things: what is out is chosen less, until it is done. */
static void a_batch_differs(void **state)
{
    (void)state;
    archive *a = archive_new();
    steer *s = steer_with(true, true, true);
    offer x = offer_of(1, 1, 1, 1.25, "x");
    size_t same = 0, twice = 0;
    archive_offer(a, &x, 1, false);
    for (uint64_t batch = 0; batch < 50; batch++) {
        int seen[BEHAVIOUR_CELLS] = {0};
        for (uint64_t i = 0; i < 4; i++) {
            steer_choice c = steer_choose(s, a, 10 * batch + i);
            twice += seen[c.target_cell]++ > 0;
            steer_out(s, &c, 10 * batch + i);
        }
        for (uint64_t i = 0; i < 4; i++)
            steer_done(s, 10 * batch + i);
        steer *alone = steer_with(true, true, true);
        same += steer_choose(s, a, 7777 + batch).target_cell == steer_choose(alone, a, 7777 + batch).target_cell;
        steer_free(alone);
    }
    assert_int_equal(same, 50);
    assert_true(twice < 50 * 3 / 4); /* of 150; three in four where what is out does not count */
    steer_free(s);
    archive_free(a);
}

/* Children of a good parent are worse than it wherever they go: that says nothing of a direction, however often it was
 * taken. */
static void regression_is_no_gradient(void **state)
{
    (void)state;
    archive *a = archive_new();
    steer *s = steer_with(true, true, true);
    offer x = offer_of(1, 1, 1, 1.25, "x");
    int here = behaviour_cell(&x.where);
    archive_offer(a, &x, 1, false);
    for (uint64_t i = 0; i < 12; i++) {
        behaviour up = {.level = {2, 1, 1}}, down = {.level = {0, 1, 1}};
        int to = behaviour_cell(i % 4 ? &up : &down);
        transition t = {
            .from = here, .to = to, .target = to, .parent_fitness = 1.25, .child_fitness = 1, .ordinal = 50};
        steer_learn(s, a, &t);
    }
    steer_choice c = steer_choose(s, a, 50), fresh;
    steer *none = steer_with(true, true, true);
    fresh = steer_choose(none, a, 50);
    /* Nothing but the share of successes speaks, and there is none either way: a small prior. */
    assert_true(fabs(c.gradient[BEHAVIOUR_MEMORY] - fresh.gradient[BEHAVIOUR_MEMORY]) < 0.1);
    steer_free(none);
    steer_free(s);
    archive_free(a);
}

/* An elite that was a parent often gives way; one that takes its cell is asked as if nothing had been. */
static int share_of_cell(archive *a, int cell)
{
    steer *s = steer_with(true, false, false);
    int n = 0;
    for (uint64_t i = 0; i < 400; i++)
        n += steer_choose(s, a, i).parent_cell == cell;
    steer_free(s);
    return n;
}

static void new_elites_are_fresh(void **state)
{
    (void)state;
    archive *a = archive_new();
    offer x = offer_of(1, 0, 0, 1.2, "x"), y = offer_of(0, 1, 0, 1.2, "y"), z = offer_of(1, 0, 0, 1.2, "z");
    int cell = behaviour_cell(&x.where);
    archive_offer(a, &x, 1, false);
    archive_offer(a, &y, 2, false);
    int before = share_of_cell(a, cell);
    for (int i = 0; i < 50; i++)
        archive_visit(a, cell);
    int tired = share_of_cell(a, cell);
    assert_true(tired * 3 < before);
    archive_retime(a, cell, 1.1);
    assert_int_equal(archive_offer(a, &z, 3, true), ARCHIVE_REPLACED);
    assert_int_equal(archive_cell(a, cell)->visits, 50);
    assert_true(share_of_cell(a, cell) > 2 * tired);
    archive_free(a);
}

/* What is asked for again and again without being reached is asked for less. */
static void misses_are_fed_back(void **state)
{
    (void)state;
    archive *a = archive_new();
    steer *fresh = steer_with(true, false, true), *taught = steer_with(true, false, true);
    offer x = offer_of(1, 1, 1, 1.25, "x");
    behaviour up = {.level = {2, 1, 1}};
    archive_offer(a, &x, 1, false);
    for (uint64_t i = 0; i < 30; i++) {
        int here = behaviour_cell(&x.where);
        transition miss = {here, here, behaviour_cell(&up), 1.25, 1.2, i};
        steer_learn(taught, a, &miss);
    }
    assert_true(raises(taught, a, BEHAVIOUR_MEMORY) * 3 < raises(fresh, a, BEHAVIOUR_MEMORY));
    assert_int_equal(steer_report_of(taught).hit, 0);
    steer_free(taught);
    steer_free(fresh);
    archive_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_are_numbered),
        cmocka_unit_test(better_than_noise_replaces),
        cmocka_unit_test(json_and_map),
        cmocka_unit_test(nothing_yet),
        cmocka_unit_test(greedy_takes_the_best),
        cmocka_unit_test(targets_are_near),
        cmocka_unit_test(gradient_follows_what_helped),
        cmocka_unit_test(regression_is_no_gradient),
        cmocka_unit_test(new_elites_are_fresh),
        cmocka_unit_test(misses_are_fed_back),
        cmocka_unit_test(a_batch_differs),
    };
    return cmocka_run_group_tests_name("archive", tests, NULL, NULL);
}
