/* Which template is asked next. */
#include "tests/support_tune.h"
#include "tuner/arms.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_TEMPLATES 4

/* A few templates of saxpy with one parameter of 100 values, or as said. */
typedef struct stage_of_test {
    task *t;
    template *p[MAX_TEMPLATES];
    const template *borrowed[MAX_TEMPLATES];
    size_t n;
    arms a;
    uint32_t config[8];
} stage_of_test;

static kw_code begin(stage_of_test *s, const template_text *texts, size_t n, uint64_t budget, kw_error *err)
{
    memset(s, 0, sizeof *s);
    s->t = saxpy_task();
    for (s->n = 0; s->n < n; s->n++)
        s->borrowed[s->n] = s->p[s->n] = template_of_text(s->t, &texts[s->n]);
    task_types types = default_types(s->t);
    task_shape shape = shape_of(s->t, "N=1000");
    return arms_init(&s->a, s->borrowed, n, &types, fake_limits(), &shape, strategy_find("exhaustive", NULL), 0, budget,
                     err);
}

static void end(stage_of_test *s)
{
    arms_clear(&s->a);
    for (size_t i = 0; i < s->n; i++)
        template_free(s->p[i]);
    task_free(s->t);
}

static template_text hundred(const char *name)
{
    return (template_text){.name = name, .params = "\"P\": {\"values\": \"range(100)\", \"default\": 50}"};
}

static void defaults_first(void **state)
{
    (void)state;
    stage_of_test s;
    kw_error err = {0};
    const template_text texts[] = {hundred("a"), hundred("b"), hundred("c")};
    assert_int_equal(begin(&s, texts, 3, 1000, &err), KW_OK);
    assert_int_equal(arms_longest(&s.a), 1);
    for (size_t i = 0; i < 3; i++) {
        arm *m = arms_ask(&s.a, s.config);
        assert_ptr_equal(m, arms_find(&s.a, texts[i].name));
        assert_int_equal(s.config[0], 50); /* the index of the value 50 */
    }
    assert_null(arms_find(&s.a, "d"));
    end(&s);
}

/* A default that is not valid here, or was measured before, is not asked. */
static void defaults_only_where_valid(void **state)
{
    (void)state;
    stage_of_test s;
    kw_error err = {0};
    template_text texts[] = {hundred("a"), hundred("b"), hundred("c")};
    texts[0].constraints = "\"P < 10\"";
    assert_int_equal(begin(&s, texts, 3, 1000, &err), KW_OK);
    const uint32_t fifty = 50;
    arms_known(arms_find(&s.a, "b"), &fifty, true, 100);
    arm *m = arms_ask(&s.a, s.config);
    assert_string_equal(m->template->name, "c");
    m = arms_ask(&s.a, s.config);
    assert_string_equal(m->template->name, "a");
    assert_true(s.config[0] < 10);
    end(&s);
}

static void ask_and_tell(stage_of_test *s, const double ns[], size_t asked[], size_t n)
{
    memset(asked, 0, MAX_TEMPLATES * sizeof *asked);
    for (size_t i = 0; i < n; i++) {
        arm *m = arms_ask(&s->a, s->config);
        assert_non_null(m);
        size_t k = (size_t)(m - s->a.items);
        asked[k]++;
        arms_tell(m, s->config, ns[k] > 0, ns[k]);
    }
}

/* Everybody has a twentieth, at most 16; then mostly the leader's, every eighth another's that is not hopeless. */
static void shares(void **state)
{
    (void)state;
    stage_of_test s;
    kw_error err = {0};
    const template_text texts[] = {hundred("a"), hundred("b"), hundred("c")};
    size_t asked[MAX_TEMPLATES];
    assert_int_equal(begin(&s, texts, 3, 100, &err), KW_OK);
    const double ns[] = {150, 100, 1000};
    ask_and_tell(&s, ns, asked, 15);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(asked[i], 5);
    ask_and_tell(&s, ns, asked, 80);
    assert_int_equal(asked[0], 10);
    assert_int_equal(asked[1], 70);
    assert_int_equal(asked[2], 0);
    end(&s);
}

static void share_is_bounded(void **state)
{
    (void)state;
    stage_of_test s;
    kw_error err = {0};
    const template_text texts[] = {hundred("a"), hundred("b")};
    size_t asked[MAX_TEMPLATES];
    assert_int_equal(begin(&s, texts, 2, UINT64_MAX, &err), KW_OK);
    const double ns[] = {100, 10000};
    ask_and_tell(&s, ns, asked, 50);
    assert_int_equal(asked[1], 16);
    end(&s);
}

/* Before anything succeeded nobody is hopeless. */
static void failures_do_not_lead(void **state)
{
    (void)state;
    stage_of_test s;
    kw_error err = {0};
    const template_text texts[] = {hundred("a"), hundred("b")};
    size_t asked[MAX_TEMPLATES];
    assert_int_equal(begin(&s, texts, 2, 40, &err), KW_OK);
    const double none[] = {-1, -1};
    ask_and_tell(&s, none, asked, 40);
    assert_true(asked[0] >= 4);
    assert_true(asked[1] >= 4);
    const double second[] = {-1, 100};
    ask_and_tell(&s, second, asked, 20);
    assert_true(asked[1] >= 16);
    end(&s);
}

/* Questions are asked ahead of the first answers: then the fallback, which is there to be right, comes last, and the
 * others take turns. */
static void before_anything_is_known(void **state)
{
    (void)state;
    stage_of_test s;
    kw_error err = {0};
    template_text texts[] = {hundred("a"), hundred("b"), hundred("c")};
    texts[0].more = "\"fallback\": true,";
    size_t asked[3] = {0};
    assert_int_equal(begin(&s, texts, 3, 10, &err), KW_OK); /* a twentieth of it is nothing */
    for (int i = 0; i < 13; i++)
        asked[arms_ask(&s.a, s.config) - s.a.items]++;
    assert_true(asked[0] <= 2);
    assert_true(asked[1] >= 4 && asked[2] >= 4);
    end(&s);
}

/* When the leader has nothing left the others go on, to the very last configuration; then it is over. */
static void to_the_last(void **state)
{
    (void)state;
    stage_of_test s;
    kw_error err = {0};
    const template_text texts[] = {{.name = "a", .params = "\"P\": {\"values\": \"range(7)\"}"}, hundred("b")};
    size_t asked[MAX_TEMPLATES];
    assert_int_equal(begin(&s, texts, 2, UINT64_MAX, &err), KW_OK);
    const double ns[] = {1, 10000};
    ask_and_tell(&s, ns, asked, 107);
    assert_int_equal(asked[0], 7);
    assert_int_equal(asked[1], 100);
    assert_null(arms_ask(&s.a, s.config));
    assert_null(arms_ask(&s.a, s.config));
    end(&s);
}

/* What is known is never proposed, and counts for the share. */
static void known_ones(void **state)
{
    (void)state;
    stage_of_test s;
    kw_error err = {0};
    const template_text texts[] = {hundred("a"), hundred("b")};
    bool seen[100] = {false};
    assert_int_equal(begin(&s, texts, 2, UINT64_MAX, &err), KW_OK);
    for (uint32_t i = 0; i < 60; i++) {
        arms_known(arms_find(&s.a, "a"), &i, true, 1000 - i);
        seen[i] = true;
    }
    assert_int_equal(arms_find(&s.a, "a")->asked, 60);
    assert_true(fabs(arms_find(&s.a, "a")->best_ns - 941) < 1e-9);
    for (int i = 0; i < 140; i++) {
        arm *m = arms_ask(&s.a, s.config);
        assert_non_null(m);
        arms_tell(m, s.config, true, 2000);
        if (strcmp(m->template->name, "a") == 0) {
            assert_false(seen[s.config[0]]);
            seen[s.config[0]] = true;
        }
    }
    assert_null(arms_ask(&s.a, s.config));
    end(&s);
}

static void template_without_a_space(void **state)
{
    (void)state;
    stage_of_test s;
    kw_error err = {0};
    template_text texts[] = {hundred("a"), hundred("b")};
    texts[0].constraints = "\"P > 1000\"";
    assert_int_equal(begin(&s, texts, 2, 100, &err), KW_OK);
    assert_int_equal(s.a.n, 1);
    assert_null(arms_find(&s.a, "a"));
    assert_non_null(strstr(strb_text(&s.a.notes), "a: "));
    assert_non_null(strstr(strb_text(&s.a.notes), "P > 1000"));
    end(&s);
}

static void no_space_at_all(void **state)
{
    (void)state;
    stage_of_test s;
    kw_error err = {0};
    template_text texts[] = {hundred("a"), hundred("b")};
    texts[0].constraints = "\"P > 1000\"";
    texts[1].requires_ = "\"N % 7 == 0\"";
    assert_int_equal(begin(&s, texts, 2, 100, &err), KW_FAILED);
    assert_non_null(strstr(err.message, "P > 1000"));
    assert_non_null(strstr(err.message, "N % 7 == 0"));
    end(&s);
    assert_int_equal(begin(&s, texts, 0, 100, &err), KW_FAILED);
    assert_non_null(strstr(err.message, "no template"));
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_first),
        cmocka_unit_test(defaults_only_where_valid),
        cmocka_unit_test(shares),
        cmocka_unit_test(share_is_bounded),
        cmocka_unit_test(failures_do_not_lead),
        cmocka_unit_test(before_anything_is_known),
        cmocka_unit_test(to_the_last),
        cmocka_unit_test(known_ones),
        cmocka_unit_test(template_without_a_space),
        cmocka_unit_test(no_space_at_all),
    };
    return cmocka_run_group_tests_name("arms", tests, NULL, NULL);
}
