/* What the tuner does with the figures of the probe: kept in the store, impossible times refused. */
#include "tests/support_tune.h"
#include "tuner/job.h"
#include "tuner/tune.h"

#include "base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define expect_text(text, part) \
    do { \
        if (!strstr((text), (part))) \
            fail_msg("\"%s\" is not in: %s", (part), (text)); \
    } while (0)

#define TEXT(x) #x
#define TEXT_OF(x) TEXT(x)
#define VERSION TEXT_OF(PROBE_VERSION)

static evaluator *open_evaluator(const char *spec, int compile_workers)
{
    evaluator *e = NULL;
    kw_error err = {0};
    const evaluator_options o = {.device = spec, .compile_workers = compile_workers};
    if (evaluator_open(&o, &e, &err) != KW_OK)
        fail_msg("%s", err.message);
    return e;
}

static store *memory_store(void)
{
    store *s = NULL;
    kw_error err = {0};
    if (store_open(":memory:", false, &s, &err) != KW_OK)
        fail_msg("%s", err.message);
    return s;
}

static void obtain(evaluator *e, store *s, bool again, probe_fact *out)
{
    kw_error err = {0};
    if (probe_obtain(e, s, again, out, &err) != KW_OK)
        fail_msg("%s", err.message);
}

/* ---- the fact ---- */

static void measured_once(void **state)
{
    (void)state;
    evaluator *e = open_evaluator("fake:1", 1);
    store *s = memory_store();
    probe_fact first, second;
    bool found;
    kw_error err = {0};
    assert_int_equal(probe_find(s, evaluator_device(e), &first, &found, &err), KW_OK);
    assert_false(found);
    obtain(e, s, false, &first);
    assert_true(first.fresh && first.figures.copy > 0 && first.date[0] && first.host[0]);
    obtain(e, s, false, &second);
    assert_false(second.fresh);
    assert_memory_equal(&second.figures, &first.figures, sizeof first.figures);
    assert_string_equal(second.date, first.date);
    obtain(e, s, true, &second);
    assert_true(second.fresh);
    obtain(e, NULL, false, &second);
    assert_true(second.fresh);
    store_close(s);
    evaluator_close(e);
}

/* Of another driver, another version, or no fact at all: measured anew. */
static void facts_that_do_not_count(void **state)
{
    (void)state;
    static const char *const texts[] = {"{\"version\":99,\"figures\":{}}", "{\"figures\":{}}",
                                        "{\"version\":" VERSION "}", "nonsense",
                                        "{\"version\":" VERSION ",\"figures\":{\"copy_bytes_per_s\":-1}}"};
    device_info d = {.spec = "fake:1", .key = "a/b/c/4", .driver = "1.2"};
    store *s = memory_store();
    probe_fact fact;
    bool found;
    kw_error err = {0};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(store_set_fact(s, "probe fake a/b/c/4 1.2", texts[i], &err), KW_OK);
        assert_int_equal(probe_find(s, &d, &fact, &found, &err), KW_OK);
        assert_false(found);
    }
    assert_int_equal(store_set_fact(s, "probe fake a/b/c/4 1.2",
                                    "{\"version\":" VERSION ",\"figures\":{\"copy_bytes_per_s\":7}}", &err),
                     KW_OK);
    assert_int_equal(probe_find(s, &d, &fact, &found, &err), KW_OK);
    assert_true(found && fact.figures.copy == 7);
    strcpy(d.driver, "1.3");
    assert_int_equal(probe_find(s, &d, &fact, &found, &err), KW_OK);
    assert_false(found);
    store_close(s);
}

/* ---- impossible times ---- */

typedef struct seen {
    size_t ok, implausible, other;
    char detail[256];
    double limit_ns, noise;
    char limited_by[16];
} seen;

static void on_progress(const tune_progress *p, void *cookie)
{
    seen *x = cookie;
    if (p->m->outcome == OUTCOME_IMPLAUSIBLE) {
        x->implausible++;
        assert_int_equal(p->m->stage, STAGE_TIME);
        snprintf(x->detail, sizeof x->detail, "%s", p->m->detail);
    } else if (p->m->outcome == OUTCOME_OK) {
        x->ok++;
        x->limit_ns = p->m->limit_ns;
        x->noise = p->m->noise;
        snprintf(x->limited_by, sizeof x->limited_by, "%s", p->m->limited_by ? p->m->limited_by : "");
    } else {
        x->other++;
    }
}

typedef struct bench {
    evaluator *e;
    store *s;
    task *t;
    template *p;
    const template *borrowed[1];
    task_shape shape;
    tune_options o;
    probe_fact fact;
    seen seen;
    tune_result r;
    kw_error err;
} bench;

/* A slow device: 2 us for the 8,000 bytes of both tensors, 6 us for the 12,000 that have to be moved. */
static void make_slow(probe_figures *f)
{
    f->copy = f->read = f->write = 2e9;
    f->cache_copy = f->cache_read = 4e9;
}

static bench *begin(const char *directives, const char *params)
{
    bench *b = mem_calloc(1, sizeof *b);
    b->e = open_evaluator("fake:0", 1);
    b->s = memory_store();
    b->t = saxpy_task();
    b->shape = shape_of(b->t, "N=1000");
    const template_text text = {.name = "fast", .params = params, .directives = directives};
    b->borrowed[0] = b->p = template_of_text(b->t, &text);
    obtain(b->e, b->s, false, &b->fact);
    make_slow(&b->fact.figures);
    b->o = (tune_options){.types = default_types(b->t),
                          .templates = b->borrowed,
                          .n_templates = 1,
                          .strategy = strategy_find("exhaustive", NULL),
                          .budget = {.configurations = 100},
                          .probe = &b->fact.figures,
                          .on_progress = on_progress,
                          .cookie = &b->seen};
    return b;
}

static kw_code tune(bench *b)
{
    memset(&b->seen, 0, sizeof b->seen);
    tune_result_clear(&b->r);
    return tune_shape(b->e, b->s, b->t, &b->o, &b->shape, &b->r, &b->err);
}

static void end(bench *b)
{
    tune_result_clear(&b->r);
    template_free(b->p);
    task_free(b->t);
    store_close(b->s);
    evaluator_close(b->e);
    free(b);
}

static void impossible_times(void **state)
{
    (void)state;
    bench *b = begin("time_ns=${NS}", "\"NS\": {\"values\": [500, 1500, 1700, 2500, 9000]}");
    if (tune(b) != KW_OK)
        fail_msg("%s", b->err.message);
    assert_int_equal(b->seen.implausible, 2);
    expect_text(b->seen.detail, "a run of this shape takes at least");
    expect_text(b->seen.detail, "(cache)");
    assert_int_equal(b->r.failed, 2);
    assert_true(b->r.tuned_ns == 1700);
    /* what 64 sets of tensors leave in the cache */
    assert_string_equal(b->r.limited_by, "cache");
    assert_true(b->r.limit_ns == 3000);
    assert_true(b->seen.limit_ns == b->r.limit_ns && strcmp(b->seen.limited_by, "cache") == 0);
    assert_true(b->r.noise > 0 && b->r.noise < 0.01 && b->seen.noise > 0);
    /* again: nothing is measured, the same failures are known */
    assert_int_equal(tune(b), KW_OK);
    assert_int_equal(b->r.measured, 0);
    assert_int_equal(b->seen.implausible, 2);
    /* by new figures they are judged anew */
    obtain(b->e, b->s, true, &b->fact);
    make_slow(&b->fact.figures);
    b->fact.figures.cache_copy *= 10;
    assert_int_equal(tune(b), KW_OK);
    assert_int_equal(b->r.measured, 2);
    assert_int_equal(b->seen.implausible, 0);
    assert_true(b->r.tuned_ns == 500);
    end(b);
}

static void all_impossible(void **state)
{
    (void)state;
    bench *b = begin("time_ns=${NS}", "\"NS\": {\"values\": [500, 600]}");
    assert_int_equal(tune(b), KW_FAILED);
    expect_text(b->err.message, "2 of them as implausible, such as: 0.");
    end(b);
}

static void without_figures(void **state)
{
    (void)state;
    bench *b = begin("time_ns=${NS}", "\"NS\": {\"values\": [500, 4000]}");
    b->o.probe = NULL;
    assert_int_equal(tune(b), KW_OK);
    assert_int_equal(b->seen.implausible, 0);
    assert_null(b->r.limited_by);
    assert_true(isnan(b->r.limit_ns) && isnan(b->r.noise));
    assert_true(b->seen.limit_ns == 0 && b->seen.noise == 0);
    end(b);
}

static void one_configuration(void **state)
{
    (void)state;
    bench *b = begin("time_ns=${NS}", "\"NS\": {\"values\": [500, 4000]}");
    uint32_t config[] = {0};
    job_record r;
    assert_int_equal(tune_one(b->e, NULL, b->t, &b->o, b->p, config, &b->shape, &r, &b->err), KW_OK);
    assert_int_equal(r.outcome, OUTCOME_IMPLAUSIBLE);
    job_record_clear(&r);
    config[0] = 1;
    assert_int_equal(tune_one(b->e, NULL, b->t, &b->o, b->p, config, &b->shape, &r, &b->err), KW_OK);
    assert_int_equal(r.outcome, OUTCOME_OK);
    job_record_clear(&r);
    end(b);
}

/* ---- hopeless candidates ---- */

static void what_stopping_saves(void **state)
{
    (void)state;
    bench *b = begin("time_ns=${NS}", "\"NS\": {\"values\": [100000, 900000, 5000000]}");
    if (tune(b) != KW_OK)
        fail_msg("%s", b->err.message);
    assert_true(b->r.tuned_ns == 100000);
    /* candidates that were sent before the first result came were timed to the end */
    assert_true(b->r.stopped_early <= 2);
    if (b->r.stopped_early > 0)
        assert_true(b->r.saved_ms >= 7 * 0.9 && b->r.saved_ms <= 7 * 5 + 10 * 0.9);
    else
        assert_true(b->r.saved_ms == 0);
    end(b);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return worker_main(0, 1);
    setenv("KERNWRIGHT_FAKE", "1", 1);
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_once),       cmocka_unit_test(facts_that_do_not_count),
        cmocka_unit_test(impossible_times),    cmocka_unit_test(all_impossible),
        cmocka_unit_test(without_figures),     cmocka_unit_test(one_configuration),
        cmocka_unit_test(what_stopping_saves),
    };
    return cmocka_run_group_tests_name("probe_use", tests, NULL, NULL);
}
