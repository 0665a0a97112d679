/* The store: what goes in comes out. */
#include "tests/store_fixture.h"

#include "tuner/store_internal.h"

#include <math.h>

/* ---- rows ---- */

static bool copy_row(const measurement *m, void *cookie)
{
    measurement *copy = cookie;
    assert_null(copy->task);
    *copy = *m;
    char **texts[] = {&copy->task,       &copy->task_hash, &copy->types,  &copy->shape,        &copy->scalars,
                      &copy->device_key, &copy->api,       &copy->mode,   &copy->source_hash,  &copy->template_name,
                      &copy->config,     &copy->detail,    &copy->method, &copy->device_name,  &copy->driver,
                      &copy->host,       &copy->run,       &copy->date,   &copy->tool_version, &copy->extra};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (*texts[i])
            *texts[i] = mem_strdup(*texts[i]);
    copy->samples_ns = NULL;
    if (m->n_samples > 0) {
        copy->samples_ns = mem_alloc(m->n_samples * sizeof *copy->samples_ns);
        memcpy(copy->samples_ns, m->samples_ns, m->n_samples * sizeof *copy->samples_ns);
    }
    return true;
}

static measurement only_row(store *s)
{
    static const store_query any;
    kw_error err = {0};
    measurement m = {0};
    assert_code(store_each(s, &any, copy_row, &m, &err), KW_OK, err);
    assert_non_null(m.task);
    return m;
}

static void assert_same_text(const char *a, const char *b)
{
    if (!a || !b)
        assert_ptr_equal(a, b);
    else
        assert_string_equal(a, b);
}

static void assert_same_row(const measurement *a, const measurement *b)
{
    assert_same_text(a->task, b->task);
    assert_same_text(a->task_hash, b->task_hash);
    assert_same_text(a->types, b->types);
    assert_same_text(a->shape, b->shape);
    assert_same_text(a->scalars, b->scalars);
    assert_same_text(a->device_key, b->device_key);
    assert_same_text(a->api, b->api);
    assert_same_text(a->mode, b->mode);
    assert_same_text(a->source_hash, b->source_hash);
    assert_same_text(a->template_name, b->template_name);
    assert_same_text(a->config, b->config);
    assert_same_text(a->detail, b->detail);
    assert_same_text(a->method, b->method);
    assert_same_text(a->device_name, b->device_name);
    assert_same_text(a->driver, b->driver);
    assert_same_text(a->host, b->host);
    assert_same_text(a->run, b->run);
    assert_same_text(a->date, b->date);
    assert_same_text(a->tool_version, b->tool_version);
    assert_same_text(a->extra, b->extra);
    assert_int_equal(a->timing_version, b->timing_version);
    assert_int_equal(a->outcome, b->outcome);
    assert_int_equal(a->stage, b->stage);
    assert_int_equal(a->verified, b->verified);
    assert_int_equal(a->n_samples, b->n_samples);
    for (size_t i = 0; i < a->n_samples; i++)
        assert_true(a->samples_ns[i] == b->samples_ns[i]);
    assert_int_equal(a->time.n, b->time.n);
    assert_true(a->time.median == b->time.median && a->time.lo == b->time.lo && a->time.hi == b->time.hi);
    assert_true(a->compile_ms == b->compile_ms && a->verify_ms == b->verify_ms && a->time_ms == b->time_ms);
    assert_int_equal(a->registers, b->registers);
    assert_int_equal(a->spill_bytes, b->spill_bytes);
    assert_int_equal(a->local_bytes, b->local_bytes);
    assert_true(a->worst_error == b->worst_error);
}

static void rows_come_back(void **state)
{
    char *path = fs_join(*state, "rows.db");
    double samples[] = {101.1, 1.0 / 3, 1e9 + 0.1, 99};
    measurement in = fixture_row(TASK_HASH, HASH_A, "{\"M\":3,\"N\":4}", samples, 4);
    in.detail = lend("a line\nand \"another\"");
    in.extra = lend("{\"joules\":2.5}");
    store *s = open_store(path);
    assert_string_equal(store_path(s), path);
    add_row(s, &in);
    store_close(s);
    s = open_store(path);
    measurement out = only_row(s);
    assert_same_row(&in, &out);
    assert_true(out.time.min == 1.0 / 3 && out.time.max == 1e9 + 0.1);
    measurement_clear(&out);
    store_close(s);
    free(path);
}

static void failed_rows_come_back(void **state)
{
    (void)state;
    store *s = memory_store();
    measurement in = fixture_row(TASK_HASH, HASH_A, "{\"M\":3,\"N\":4}", NULL, 0);
    in.outcome = OUTCOME_COMPILE_ERROR;
    in.stage = STAGE_COMPILE;
    in.verified = VERIFIED_NOT;
    in.method = in.config = in.device_name = NULL;
    in.registers = in.spill_bytes = in.local_bytes = -1;
    in.worst_error = INFINITY;
    add_row(s, &in);
    measurement out = only_row(s);
    assert_same_row(&in, &out);
    measurement_clear(&out);
    store_close(s);
}

/* More text than a log may have is cut between characters; nothing else is ever cut. */
static void long_texts(void **state)
{
    (void)state;
    enum { N = 6000, LIMIT = 64 << 10 };
    double *samples = mem_alloc(N * sizeof *samples);
    for (size_t i = 0; i < N; i++)
        samples[i] = 1000 + (double)i / 7;
    strb log = STRB_INIT;
    strb_add_char(&log, '.');
    while (log.length < LIMIT + 10)
        strb_add(&log, "\xe2\x82\xac"); /* three bytes, so one of them lies across the limit */
    measurement in = fixture_row(TASK_HASH, HASH_A, "{\"M\":3,\"N\":4}", samples, N);
    in.detail = log.data;
    store *s = memory_store();
    add_row(s, &in);
    measurement out = only_row(s);
    assert_int_equal(out.n_samples, N);
    assert_true(out.samples_ns[N - 1] == samples[N - 1]);
    size_t n = strlen(out.detail);
    assert_true(n <= LIMIT && n > LIMIT - 3 && n % 3 == 1);
    assert_memory_equal(out.detail, log.data, n);
    measurement_clear(&out);
    store_close(s);
    strb_clear(&log);
    free(samples);
}

static bool note_hash(const measurement *m, void *cookie)
{
    strb_printf(cookie, "%c", m->source_hash[HASH_HEX_SIZE - 2]);
    return true;
}

static bool first_only(const measurement *m, void *cookie)
{
    note_hash(m, cookie);
    return false;
}

static void queries(void **state)
{
    (void)state;
    store *s = memory_store();
    double fast[] = {10, 11}, slow[] = {20, 21};
    measurement m = fixture_row(TASK_HASH, HASH_B, "{\"M\":3,\"N\":4}", slow, 2);
    add_row(s, &m);
    m = fixture_row(TASK_HASH, HASH_A, "{\"M\":3,\"N\":4}", fast, 2);
    add_row(s, &m);
    m = fixture_row(TASK_HASH, HASH_C, "{\"M\":1,\"N\":4}", fast, 2);
    m.driver = lend("4.0");
    m.timing_version = TIMING_VERSION + 1;
    m.outcome = OUTCOME_WRONG;
    add_row(s, &m);
    strb order = STRB_INIT;
    kw_error err = {0};
    store_query q = {0};
    assert_code(store_each(s, &q, note_hash, &order, &err), KW_OK, err);
    assert_string_equal(strb_text(&order), "cab"); /* by shape, then source hash */
    strb_reset(&order);
    assert_code(store_each(s, &q, first_only, &order, &err), KW_OK, err);
    assert_string_equal(strb_text(&order), "c");
    strb_clear(&order);
    const store_query some[] = {
        {.task = "scale"}, {.task_hash = TASK_HASH},          {.types = "T=f32"}, {.scalars = "{\"alpha\":1}"},
        {.api = "opencl"}, {.device_key = "pocl/cpu/test/4"}, {.mode = "cold"},   {.template_name = "scale_rows"}};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        assert_int_equal(count_rows(s, &some[i]), 3);
    const store_query one[] = {{.shape = "{\"M\":1,\"N\":4}"},
                               {.source_hash = HASH_A},
                               {.driver = "4.0"},
                               {.timing_version = TIMING_VERSION + 1},
                               {.only_failed = true}};
    for (size_t i = 0; i < sizeof one / sizeof *one; i++)
        assert_int_equal(count_rows(s, &one[i]), 1);
    const store_query none[] = {{.task = "gemm"}, {.task_hash = HASH_A}, {.types = "T=f16"},
                                {.mode = "warm"}, {.api = "cuda"},       {.only_ok = true, .only_failed = true}};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(count_rows(s, &none[i]), 0);
    q.only_ok = true;
    assert_int_equal(count_rows(s, &q), 2);
    store_close(s);
}

static void verified_levels(void **state)
{
    (void)state;
    store *s = memory_store();
    double samples[] = {10, 11};
    kw_error err = {0};
    measurement m = fixture_row(TASK_HASH, HASH_A, "{\"M\":3,\"N\":4}", samples, 2);
    add_row(s, &m);
    assert_code(store_set_verified(s, TASK_HASH, "another/device", HASH_A, VERIFIED_GENERAL, &err), KW_OK, err);
    measurement out = only_row(s);
    assert_int_equal(out.verified, VERIFIED_EXACT);
    measurement_clear(&out);
    assert_code(store_set_verified(s, TASK_HASH, m.device_key, HASH_A, VERIFIED_GENERAL, &err), KW_OK, err);
    assert_code(store_set_verified(s, TASK_HASH, m.device_key, HASH_A, VERIFIED_EXACT, &err), KW_OK,
                err); /* never lowers */
    out = only_row(s);
    assert_int_equal(out.verified, VERIFIED_GENERAL);
    measurement_clear(&out);
    verified v;
    for (int i = 0; i <= VERIFIED_GENERAL; i++)
        assert_true(verified_from_name(verified_name((verified)i), &v) && v == (verified)i);
    assert_false(verified_from_name("nearly", &v));
    assert_false(verified_from_name(NULL, &v));
    store_close(s);
}

static void facts(void **state)
{
    char *path = fs_join(*state, "facts.db"), *text;
    kw_error err = {0};
    store *s = open_store(path);
    assert_code(store_fact(s, "probe", &text, &err), KW_OK, err);
    assert_null(text);
    assert_code(store_set_fact(s, "probe", "{\"gflops\":1}", &err), KW_OK, err);
    assert_code(store_set_fact(s, "probe", "{\"gflops\":2}", &err), KW_OK, err);
    store_close(s);
    s = open_store(path);
    assert_code(store_fact(s, "probe", &text, &err), KW_OK, err);
    assert_string_equal(text, "{\"gflops\":2}");
    free(text);
    store_close(s);
    free(path);
}

static void variants(void **state)
{
    (void)state;
    task *t = fixture_task();
    template *p = fixture_template(t, "scale_rows", true);
    variant *v = fixture_variant(p, 64, 0), *out;
    store *s = memory_store();
    kw_error err = {0};
    assert_code(store_variant(s, t, v->hash, &out, &err), KW_OK, err);
    assert_null(out);
    assert_code(store_add_variant(s, v, &err), KW_OK, err);
    assert_code(store_add_variant(s, v, &err), KW_OK, err);
    assert_code(store_variant(s, t, v->hash, &out, &err), KW_OK, err);
    assert_non_null(out);
    assert_string_equal(out->hash, v->hash);
    assert_string_equal(out->source, v->source);
    assert_true(out->is_fallback);
    variant_free(out);
    assert_code(store_variant(s, t, HASH_A, &out, &err), KW_OK, err);
    assert_null(out);
    store_close(s);
    variant_free(v);
    template_free(p);
    task_free(t);
}

/* A template whose text is the same may have other requires, or be the fallback no more. */
static void the_newest_variant_stays(void **state)
{
    (void)state;
    task *t = fixture_task();
    template *before = fixture_template(t, "scale_rows", true), *after = fixture_template(t, "scale_rows", false);
    variant *old = fixture_variant(before, 64, 0), *new = fixture_variant(after, 64, 0), *out;
    store *s = memory_store();
    kw_error err = {0};
    assert_string_equal(old->hash, new->hash);
    assert_code(store_add_variant(s, old, &err), KW_OK, err);
    assert_code(store_add_variant(s, new, &err), KW_OK, err);
    assert_code(store_variant(s, t, old->hash, &out, &err), KW_OK, err);
    assert_false(out->is_fallback);
    variant_free(out);
    store_close(s);
    variant_free(old);
    variant_free(new);
    template_free(before);
    template_free(after);
    task_free(t);
}

/* Text that was changed by hand is not taken for the text that was measured, whatever hash it carries. */
static void another_text_is_refused(void **state)
{
    (void)state;
    task *t = fixture_task();
    template *p = fixture_template(t, "scale_rows", false);
    variant *v = fixture_variant(p, 64, 0), *out;
    store *s = memory_store();
    kw_error err = {0};
    json *j = variant_to_json(v);
    strb text = STRB_INIT;
    json_print(j, &text);
    store_variant_row row = {.task = t->name,
                             .task_hash = t->hash,
                             .source_hash = HASH_A,
                             .language = "opencl",
                             .json_text = strb_text(&text)};
    assert_code(store_insert_variant(s, &row, NULL, &err), KW_OK, err);
    assert_int_equal(store_variant(s, t, HASH_A, &out, &err), KW_BAD_INPUT);
    assert_null(out);
    assert_has(err.message, "not what was measured");
    json_free(j);
    strb_clear(&text);
    store_close(s);
    variant_free(v);
    template_free(p);
    task_free(t);
}

/* docs/results.md is what people and other programs go by. */
static void the_page_names_everything(void **state)
{
    (void)state;
    size_t n;
    char *page = read_text("docs/results.md", &n), quoted[64];
    for (int i = 0; i < STORE_COLUMNS; i++) {
        snprintf(quoted, sizeof quoted, "`%s`", store_columns[i].name);
        assert_has(page, quoted);
    }
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        snprintf(quoted, sizeof quoted, "`%s`", outcome_name((outcome)i));
        assert_has(page, quoted);
    }
    for (int i = 0; i < STAGE_COUNT; i++) {
        snprintf(quoted, sizeof quoted, "`%s`", stage_name((stage)i));
        assert_has(page, quoted);
    }
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_back),
        cmocka_unit_test(failed_rows_come_back),
        cmocka_unit_test(long_texts),
        cmocka_unit_test(queries),
        cmocka_unit_test(verified_levels),
        cmocka_unit_test(facts),
        cmocka_unit_test(variants),
        cmocka_unit_test(the_newest_variant_stays),
        cmocka_unit_test(another_text_is_refused),
        cmocka_unit_test(the_page_names_everything),
    };
    return cmocka_run_group_tests_name("store", tests, make_folder, remove_folder);
}
