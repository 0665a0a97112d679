/* Which shapes, inputs and scalars a candidate is verified on. */
#include "tests/support_tune.h"
#include "tuner/cases_internal.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct setting {
    task *t;
    task_types types;
    template *p;
    variant *v, *trusted;
    case_source source;
    job_case *cases;
    size_t n;
} setting;

static void begin(setting *s, const template_text *text, const char *dims, uint64_t seed)
{
    kw_error err = {0};
    memset(s, 0, sizeof *s);
    s->t = saxpy_task();
    s->types = default_types(s->t);
    s->p = template_of_text(s->t, text);
    s->cases = mem_calloc(JOB_MAX_CASES, sizeof *s->cases);
    uint32_t config[8];
    task_shape shape = shape_of(s->t, dims);
    template_default(s->p, config);
    if (variant_expand(s->p, &s->types, config, &shape, &s->v, &err) != KW_OK ||
        variant_expand(s->p, &s->types, config, &shape, &s->trusted, &err) != KW_OK ||
        case_source_init(&s->source, s->t, &s->types, fake_limits(), s->trusted, seed, &err) != KW_OK)
        fail_msg("%s", err.message);
}

static void end(setting *s)
{
    case_source_clear(&s->source);
    variant_free(s->v);
    variant_free(s->trusted);
    template_free(s->p);
    task_free(s->t);
    free(s->cases);
}

static void for_target(setting *s, const char *dims)
{
    kw_error err = {0};
    task_shape shape = shape_of(s->t, dims);
    if (cases_for_target(&s->source, s->v, &shape, s->cases, &s->n, &err) != KW_OK)
        fail_msg("%s", err.message);
}

static const template_text plain = {.name = "plain", .params = "\"P\": {\"values\": [1, 2, 3]}"};

static void smoke_hidden_target(void **state)
{
    (void)state;
    setting s;
    begin(&s, &plain, "N=5000", 0);
    for_target(&s, "N=5000");
    assert_int_equal(s.n, 8); /* one smoke shape, six hidden ones since there are no tiles, the target */
    assert_true(s.cases[0].shape.dims[0] >= 32 && s.cases[0].shape.dims[0] <= 65537);
    for (size_t i = 0; i < s.n; i++) {
        assert_int_equal(s.cases[i].plan.n_launches, 1);
        assert_false(s.cases[i].sampled);
        for (size_t k = 0; k < i; k++)
            assert_true(s.cases[i].shape.dims[0] != s.cases[k].shape.dims[0]);
    }
    /* The target is the last, with the timed scalars and ordinary inputs. */
    const job_case *target = &s.cases[s.n - 1];
    assert_int_equal(target->shape.dims[0], 5000);
    assert_true(target->scalars[0] == 2.0);
    assert_int_equal(target->dist, DIST_NORMAL);
    /* Others see other scalars and other inputs. */
    bool other_scalar = false, other_inputs = false;
    for (size_t i = 0; i + 1 < s.n; i++) {
        other_scalar = other_scalar || s.cases[i].scalars[0] != 2.0;
        other_inputs = other_inputs || s.cases[i].dist != DIST_NORMAL;
        assert_true(s.cases[i].seed != target->seed);
    }
    assert_true(other_scalar);
    assert_true(other_inputs);
    end(&s);
}

/* All candidates of a run meet the same shapes; another seed means others. */
static void the_same_for_all(void **state)
{
    (void)state;
    setting s, other;
    template_text text = plain;
    text.directives = "time_ns=5";
    begin(&s, &plain, "N=5000", 3);
    begin(&other, &text, "N=5000", 3);
    for_target(&s, "N=5000");
    for_target(&other, "N=5000");
    assert_int_equal(s.n, other.n);
    for (size_t i = 0; i < s.n; i++) {
        assert_int_equal(s.cases[i].shape.dims[0], other.cases[i].shape.dims[0]);
        assert_true(s.cases[i].seed == other.cases[i].seed);
        assert_int_equal(s.cases[i].dist, other.cases[i].dist);
    }
    end(&other);
    begin(&other, &plain, "N=5000", 4);
    for_target(&other, "N=5000");
    bool differs = false;
    for (size_t i = 1; i + 1 < s.n; i++)
        differs = differs || s.cases[i].shape.dims[0] != other.cases[i].shape.dims[0];
    assert_true(differs);
    end(&other);
    end(&s);
}

/* Only shapes that the variant takes. */
static void requires_hold(void **state)
{
    (void)state;
    setting s;
    kw_error err = {0};
    template_text text = plain;
    text.requires_ = "\"N % 8 == 0\"";
    begin(&s, &text, "N=800", 0);
    for_target(&s, "N=800");
    assert_int_equal(s.n, 8);
    for (size_t i = 0; i < s.n; i++)
        assert_int_equal(s.cases[i].shape.dims[0] % 8, 0);
    task_shape wrong = shape_of(s.t, "N=801");
    assert_int_equal(cases_for_target(&s.source, s.v, &wrong, s.cases, &s.n, &err), KW_FAILED);
    assert_non_null(strstr(err.message, "N % 8 == 0"));
    size_t n = 0;
    assert_int_equal(cases_target_only(&s.source, s.v, &wrong, s.cases, &n, &err), KW_FAILED);
    end(&s);
}

/* Nothing but the target fits: then it is run on other inputs first. */
static void constant_size(void **state)
{
    (void)state;
    setting s;
    template_text text = plain;
    text.params = "\"FIX\": {\"values\": [true]}";
    text.more = "\"specialize\": {\"N\": \"FIX\"},";
    begin(&s, &text, "N=5000", 0);
    for_target(&s, "N=5000");
    assert_int_equal(s.n, 2);
    assert_int_equal(s.cases[0].shape.dims[0], 5000);
    assert_int_equal(s.cases[0].dist, DIST_INTEGERS);
    assert_int_equal(s.cases[1].dist, DIST_NORMAL);
    assert_true(s.cases[0].seed != s.cases[1].seed);
    assert_true(s.cases[0].scalars[0] != s.cases[1].scalars[0]);
    end(&s);
}

/* One more and one less than the tile, also where the variant takes multiples only. */
static void around_tiles(void **state)
{
    (void)state;
    setting s;
    template_text text = plain;
    text.params = "\"TILE\": {\"values\": [96]}, \"NAME\": {\"values\": [\"a\"]}, \"ON\": {\"values\": [true]}";
    begin(&s, &text, "N=5000", 0);
    for_target(&s, "N=5000");
    assert_int_equal(s.n, 8);
    assert_int_equal(s.cases[4].shape.dims[0], 97);
    assert_int_equal(s.cases[4].dist, DIST_MIXED); /* long enough for great and small numbers in every row */
    assert_int_equal(s.cases[5].shape.dims[0], 95);
    bool seen[DIST_ROUND] = {false};
    for (size_t i = 0; i < s.n; i++)
        seen[s.cases[i].dist] = true;
    for (size_t d = 0; d < DIST_ROUND; d++)
        assert_true(seen[d]);
    end(&s);
    text.requires_ = "\"N % 4 == 0\"";
    begin(&s, &text, "N=5000", 0);
    for_target(&s, "N=5000");
    assert_int_equal(s.cases[4].shape.dims[0], 100);
    assert_int_equal(s.cases[5].shape.dims[0], 92);
    end(&s);
}

static void target_only(void **state)
{
    (void)state;
    setting s;
    kw_error err = {0};
    begin(&s, &plain, "N=5000", 0);
    task_shape shape = shape_of(s.t, "N=5000");
    size_t n = 0;
    assert_int_equal(cases_target_only(&s.source, s.v, &shape, s.cases, &n, &err), KW_OK);
    assert_int_equal(n, 1);
    for_target(&s, "N=5000"); /* the same inputs as when it was verified: references are kept */
    job_case last = s.cases[s.n - 1];
    n = 0;
    cases_target_only(&s.source, s.v, &shape, s.cases, &n, &err);
    assert_true(last.seed == s.cases[0].seed);
    end(&s);
}

static void general(void **state)
{
    (void)state;
    setting s;
    kw_error err = {0};
    bool complete = false;
    begin(&s, &plain, "N=5000", 0);
    assert_int_equal(cases_general(&s.source, s.v, s.cases, &s.n, &complete, &err), KW_OK);
    assert_true(complete);
    /* Edges twice; P is 1, which is no tile; N beyond 16 bits and at numbers of the launch; the last are ranges. */
    assert_in_range(s.n, 2 * s.source.n_edges + 20 + 1 + 2 + 15, JOB_MAX_CASES - 7);
    assert_int_equal(s.cases[s.n - 15].dist, DIST_NORMAL);
    for (size_t i = 0; i < s.source.n_edges; i++)
        assert_int_equal(s.cases[i].shape.dims[0], s.source.edges[i].dims[0]);
    size_t of[DIST_COUNT] = {0};
    for (size_t i = 0; i < s.n; i++)
        of[s.cases[i].dist]++;
    assert_int_equal(of[DIST_OFFSET], 6); /* saxpy has one dim */
    assert_int_equal(of[DIST_SCALED], 5);
    for (size_t i = 0; i < s.source.n_edges; i++) {
        bool again = false;
        for (size_t k = s.source.n_edges; k < s.n && !again; k++)
            again = s.cases[k].dist == DIST_PEAKS && s.cases[k].shape.dims[0] == s.source.edges[i].dims[0];
        assert_true(again);
    }
    bool long_one = false;
    for (size_t i = 0; i < s.n; i++)
        long_one = long_one || (s.cases[i].shape.dims[0] > 65536 && s.cases[i].shape.dims[0] % 2 == 1 &&
                                s.cases[i].dist == DIST_OFFSET);
    assert_true(long_one);
    /* Values of the scalar that the task does not list, between those that it does. */
    size_t between = 0;
    for (size_t i = 0; i < s.n; i++)
        between += s.cases[i].scalars[0] != 2 && s.cases[i].scalars[0] != -0.5 && s.cases[i].scalars[0] != 0 &&
                   s.cases[i].scalars[0] > -0.5 && s.cases[i].scalars[0] < 2;
    assert_true(between >= 9);
    for (size_t d = 0; d < DIST_ROUND; d++)
        assert_true(of[d] >= 5);
    /* Every value of the scalar meets every distribution. */
    for (size_t k = 0; k < s.t->scalars[0].n_values; k++)
        for (size_t d = 0; d < DIST_ROUND; d++) {
            size_t met = 0;
            for (size_t i = 0; i < s.n; i++)
                met += s.cases[i].dist == (distribution)d && s.cases[i].scalars[0] == s.t->scalars[0].values[k];
            assert_true(met > 0);
        }
    end(&s);
}

static void numbers_of_a_text(void **state)
{
    (void)state;
    int64_t n[16];
    const char *text = "#define TILE 48 /* 77 */\n// 78\nfloat4 v = x[5] + 1.5f + 2e3f + 0x1p3f + v16;\n"
                       "\"79\" if (i < 1 << 20 && N % 192u == 0 && (i & 0xfff)) N += 80; // 81";
    const size_t found = cases_numbers_in(text, n, 16);
    static const int64_t wanted[] = {1 << 20, 192, 4096, 80, 48, 5};
    static const int64_t residues[] = {64, 67, 3, 32, 49, 17, 4};
    assert_int_equal(found, sizeof wanted / sizeof *wanted);
    for (size_t i = 0; i < found; i++)
        assert_int_equal(n[i], wanted[i]);
    /* A remainder says which sizes beyond the number. */
    assert_int_equal(cases_numbers_in("if (C % 64 == 3 || (M & 31) == 17 || N % 4 == 0)", n, 16), 7);
    for (size_t i = 0; i < sizeof residues / sizeof *residues; i++)
        assert_int_equal(n[i], residues[i]);
    assert_int_equal(cases_numbers_in(text, n, 2), 2);
    assert_int_equal(cases_numbers_in("", n, 2), 0);
    assert_int_equal(cases_numbers_in("1 << ", n, 2), 0);
    assert_int_equal(cases_numbers_in("/* 9", n, 2), 0);
}

/* A kernel that speaks of 480 is tried on 480 and 481, and on as much as it has a number for. */
static void shapes_at_the_numbers_of_the_text(void **state)
{
    (void)state;
    setting s;
    kw_error err = {0};
    bool complete = false, met[3] = {false};
    begin(&s, &plain, "N=5000", 0);
    s.v->source = "if (i < N - (N % 480 == 0 || N > 3000000)) y[i] = a * x[i] + y[i];";
    assert_int_equal(cases_general(&s.source, s.v, s.cases, &s.n, &complete, &err), KW_OK);
    for (size_t i = 0; i < s.n; i++) {
        met[0] = met[0] || s.cases[i].shape.dims[0] == 480;
        met[1] = met[1] || s.cases[i].shape.dims[0] == 481;
        met[2] = met[2] || s.cases[i].shape.dims[0] == 3000001;
    }
    assert_true(met[0] && met[1] && met[2]);
    end(&s);
}

/* And so do the expressions of its launch and temporaries, where // divides. */
static void shapes_at_the_numbers_of_the_launch(void **state)
{
    (void)state;
    setting s;
    kw_error err = {0};
    bool complete = false, met[2] = {false};
    template_text text = plain;
    text.more = "\"temps\": [{\"name\": \"t\", \"type\": \"f32\", \"elements\": \"N // 64 if N > 100000 else 1\"}],";
    begin(&s, &text, "N=5000", 0);
    assert_int_equal(cases_general(&s.source, s.v, s.cases, &s.n, &complete, &err), KW_OK);
    for (size_t i = 0; i < s.n; i++) {
        met[0] = met[0] || s.cases[i].shape.dims[0] == 100001;
        met[1] = met[1] || s.cases[i].shape.dims[0] == 150002; /* what begins there has some length */
    }
    assert_true(met[0] && met[1]);
    end(&s);
}

/* A winner's target joins them on exact inputs where it is larger than they are. */
static void general_and_a_large_target(void **state)
{
    (void)state;
    setting s;
    kw_error err = {0};
    begin(&s, &plain, "N=5000", 0);
    task_shape small = shape_of(s.t, "N=5000"), large = shape_of(s.t, "N=10000000");
    size_t n = 3;
    cases_add_targets(&s.source, s.v, &small, s.cases, &n);
    assert_int_equal(n, 3);
    cases_add_targets(&s.source, s.v, &large, s.cases, &n);
    assert_int_equal(n, 4);
    assert_int_equal(s.cases[3].shape.dims[0], 10000000);
    assert_int_equal(s.cases[3].dist, DIST_INTEGERS);
    n = 0;
    assert_int_equal(cases_target_only(&s.source, s.v, &large, s.cases, &n, &err), KW_OK);
    assert_true(s.cases[0].seed != s.cases[3].seed);
    n = JOB_MAX_CASES;
    cases_add_targets(&s.source, s.v, &large, s.cases, &n);
    assert_int_equal(n, JOB_MAX_CASES);
    end(&s);
    template_text text = plain;
    text.requires_ = "\"N <= 7000000\"";
    begin(&s, &text, "N=5000", 0);
    n = 3;
    cases_add_targets(&s.source, s.v, &large, s.cases, &n);
    assert_int_equal(n, 3);
    end(&s);
}

/* A variant that takes few shapes is verified on these, and is not general. */
static void general_but_not_quite(void **state)
{
    (void)state;
    setting s;
    kw_error err = {0};
    bool complete = true;
    template_text text = plain;
    text.requires_ = "\"N <= 7\"";
    begin(&s, &text, "N=5", 0);
    assert_int_equal(cases_general(&s.source, s.v, s.cases, &s.n, &complete, &err), KW_OK);
    assert_false(complete);
    for (size_t i = 0; i < s.n; i++)
        assert_true(s.cases[i].shape.dims[0] <= 7);
    end(&s);
    text.requires_ = "\"N > 100000000\"";
    begin(&s, &text, "N=100000001", 0);
    assert_int_equal(cases_general(&s.source, s.v, s.cases, &s.n, &complete, &err), KW_FAILED);
    end(&s);
}

/* A task with more edge shapes than a job holds gets no "general" that was not earned. */
static void more_edges_than_a_job_holds(void **state)
{
    (void)state;
    setting s;
    begin(&s, &plain, "N=1000", 3);
    s.source.edges = mem_realloc(s.source.edges, 150 * sizeof *s.source.edges);
    for (int64_t i = 0; i < 150; i++)
        s.source.edges[i] = (task_shape){.dims = {1000 + i}, .weight = 1};
    s.source.n_edges = 150;
    bool complete = true;
    kw_error err = {0};
    assert_int_equal(cases_general(&s.source, s.v, s.cases, &s.n, &complete, &err), KW_OK);
    assert_false(complete);
    assert_true(s.n <= JOB_MAX_CASES);
    end(&s);
}

static void large_ones_are_sampled(void **state)
{
    (void)state;
    setting s;
    begin(&s, &plain, "N=16777216", 0);
    for_target(&s, "N=16777216");
    assert_true(s.cases[s.n - 1].sampled);
    assert_int_equal(s.cases[s.n - 1].trusted_plan.n_launches, 1);
    for (size_t i = 0; i + 1 < s.n; i++)
        assert_false(s.cases[i].sampled);
    s.source.trusted = NULL;
    for_target(&s, "N=16777216");
    assert_true(s.cases[s.n - 1].sampled);
    assert_int_equal(s.cases[s.n - 1].trusted_plan.n_launches, 0);
    end(&s);
}

/* Shapes no larger than what a worker does in milliseconds, dims within the task's range. */
static void small_ones_are_small(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        setting s;
        begin(&s, &plain, "N=5000", seed);
        for_target(&s, "N=5000");
        for (size_t i = 0; i + 1 < s.n; i++)
            assert_in_range(s.cases[i].shape.dims[0], 1, 1 << 19);
        end(&s);
    }
}

/* Without edge shapes the random ones are all there is. */
static void task_without_edges(void **state)
{
    (void)state;
    setting s;
    bool complete = false;
    kw_error err = {0};
    begin(&s, &plain, "N=5000", 0);
    case_source_clear(&s.source);
    s.t->edge_shapes_file = NULL;
    assert_int_equal(case_source_init(&s.source, s.t, &s.types, fake_limits(), s.trusted, 0, &err), KW_OK);
    for_target(&s, "N=5000");
    assert_int_equal(s.n, 8);
    assert_int_equal(cases_general(&s.source, s.v, s.cases, &s.n, &complete, &err), KW_OK);
    assert_in_range(s.n, 20 + 1 + 2 + 15, 20 + 1 + 2 + 15 + 8);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smoke_hidden_target),
        cmocka_unit_test(the_same_for_all),
        cmocka_unit_test(requires_hold),
        cmocka_unit_test(constant_size),
        cmocka_unit_test(around_tiles),
        cmocka_unit_test(target_only),
        cmocka_unit_test(general),
        cmocka_unit_test(numbers_of_a_text),
        cmocka_unit_test(shapes_at_the_numbers_of_the_text),
        cmocka_unit_test(shapes_at_the_numbers_of_the_launch),
        cmocka_unit_test(general_and_a_large_target),
        cmocka_unit_test(general_but_not_quite),
        cmocka_unit_test(more_edges_than_a_job_holds),
        cmocka_unit_test(large_ones_are_sampled),
        cmocka_unit_test(small_ones_are_small),
        cmocka_unit_test(task_without_edges),
    };
    return cmocka_run_group_tests_name("cases", tests, NULL, NULL);
}
