/* Compiled programs: the job that asks for one, its answer, their place in a header. What a driver makes of them is in
 * tests/binaries.sh. */
#include "base/mem.h"
#include "tests/support_header.h"
#include "tests/support_worker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- the job ---- */

static void the_job_is_read(void **state)
{
    (void)state;
    const job wanted = {.id = 9,
                        .device = "fake:0",
                        .mode = JOB_BINARY,
                        .source = "kernel void f() {}",
                        .options = "-DA=1",
                        .limits = {.compile_ms = 5, .run_ms = 6}};
    arena *a = arena_new();
    strb text = STRB_INIT;
    job j;
    task *t;
    kw_error err;
    job_print(&wanted, &text);
    assert_int_equal(job_parse(text.data, text.length - 1, a, &j, &t, &err), KW_OK);
    assert_int_equal(j.mode, JOB_BINARY);
    assert_string_equal(j.source, wanted.source);
    assert_string_equal(j.options, wanted.options);
    assert_null(t);
    assert_int_equal(j.n_cases, 0);
    strb_clear(&text);
    arena_free(a);
}

/* A scripted device compiles, but has no binaries: a record that says so, and a worker that goes on. */
static void a_device_without(void **state)
{
    (void)state;
    test_worker w;
    job_record r;
    message hello;
    const job j = {.id = 5,
                   .device = "fake:0",
                   .mode = JOB_BINARY,
                   .source = "kernel void fake_saxpy() {}",
                   .options = "",
                   .limits = {.compile_ms = 1000, .run_ms = 1000}};
    test_worker_start(&w);
    test_worker_read(&w, &hello);
    message_clear(&hello);
    for (int i = 0; i < 2; i++) {
        assert_true(test_worker_do(&w, &j, &r));
        assert_int_equal(r.outcome, OUTCOME_COMPILE_ERROR);
        assert_non_null(strstr(r.detail, "there are no binaries of programs"));
        assert_null(r.binary);
        job_record_clear(&r);
    }
    assert_int_equal(test_worker_end(&w), 0);
}

/* ---- the record ---- */

static void bytes_travel(void **state)
{
    (void)state;
    unsigned char bytes[256];
    char identity[] = "Platform|1.0|\"driver\"|64";
    const job_record r = {
        .outcome = OUTCOME_OK, .stage = STAGE_DONE, .binary = bytes, .n_binary = sizeof bytes, .identity = identity};
    strb line = STRB_INIT;
    message m;
    kw_error err;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)i;
    job_record_print(3, &r, &line);
    assert_int_equal(message_parse(line.data, line.length - 1, &m, &err), KW_OK);
    assert_int_equal(m.record.n_binary, sizeof bytes);
    assert_memory_equal(m.record.binary, bytes, sizeof bytes);
    assert_string_equal(m.record.identity, identity);
    message_clear(&m);
    strb_clear(&line);
}

static void bad_answers(void **state)
{
    (void)state;
    static const char *const members[] = {"\"binary\":\"0g\",\"identity\":\"x\"",
                                          "\"binary\":\"000\",\"identity\":\"x\"", "\"binary\":\"00\"",
                                          "\"binary\":7,\"identity\":\"x\"", "\"binary\":\"00\",\"identity\":7"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        strb line = STRB_INIT;
        message m;
        kw_error err;
        strb_printf(&line, "{\"type\":\"result\",\"id\":3,\"record\":{\"outcome\":\"ok\",\"stage\":\"done\",%s}}",
                    members[i]);
        assert_int_equal(message_parse(line.data, line.length, &m, &err), KW_BAD_INPUT);
        strb_clear(&line);
    }
}

/* ---- the header ---- */

static void make_model(support_model *s)
{
    support_begin(s, "saxpy", NULL, "kw_");
    const size_t naive = support_template(s, "templates/saxpy_naive.cl");
    support_variant(s, naive, "", NULL, NULL);
    support_variant(s, naive, "WG=128", NULL, NULL);
}

static size_t count(const strb *text, const char *part)
{
    size_t n = 0;
    for (const char *p = text->data; (p = strstr(p, part)); p++)
        n++;
    return n;
}

/* Two variants for two drivers; pieces of 4,000 bytes; every byte is written so that it comes back. */
static void in_a_header(void **state)
{
    (void)state;
    static unsigned char bytes[8001];
    support_model s;
    make_model(&s);
    strb without = support_text(&s);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)i;
    const header_binary list[] = {{.variant = 0, .identity = "P|1|a \"b\"", .bytes = bytes, .size = 4000},
                                  {.variant = 1, .identity = "P|1|a \"b\"", .bytes = bytes, .size = 8001},
                                  {.variant = 1, .identity = "P|2|a \"b\"", .bytes = bytes, .size = 1}};
    s.model.binaries = list;
    s.model.n_binaries = 3;
    strb with = support_text(&s), again = support_text(&s), split = STRB_INIT, sources = STRB_INIT;
    assert_string_equal(with.data, again.data);
    assert_int_equal(header_binary_bytes(&s.model), 12002);
    assert_int_equal(count(&without, "kw_saxpy_binaries"), 0);
    assert_int_equal(count(&with, " * Binary of variant "), 3);
    assert_int_equal(count(&with, "\n    ,\n"), 1 + 3 + 1);
    assert_int_equal(count(&with, "{0, \"P|1|a \\\"b\\\"\", 0, 4000, 0x"), 1);
    assert_int_equal(count(&with, "{1, \"P|1|a \\\"b\\\"\", 1, 8001, 0x"), 1);
    /* FNV-1a of one byte 0 */
    assert_int_equal(count(&with, "{1, \"P|2|a \\\"b\\\"\", 4, 1, 0xaf63bd4c8601b7dfu}"), 1);
    /* whole in the first 4,000 bytes of both, where rows begin at multiples of 64 */
    assert_int_equal(count(&with, "\\036\\037 !\\042#$%&'()"), 2 * (4000 / 256 + 1));
    kw_error err;
    assert_int_equal(header_write_split(&s.model, &split, &sources, &err), KW_OK);
    assert_int_equal(count(&split, "\n    ,\n"), 0);
    assert_int_equal(count(&sources, "\n    ,\n"), 5);
    strb_clear(&without);
    strb_clear(&with);
    strb_clear(&again);
    strb_clear(&split);
    strb_clear(&sources);
    support_end(&s);
}

static void wrong_binaries(void **state)
{
    (void)state;
    static const unsigned char byte = 1;
    static const header_binary good = {.variant = 0, .identity = "a", .bytes = &byte, .size = 1};
    const header_binary wrong[][2] = {
        {good, good},
        {good, {.variant = 2, .identity = "a", .bytes = &byte, .size = 1}},
        {good, {.variant = -1, .identity = "a", .bytes = &byte, .size = 1}},
        {good, {.variant = 1, .identity = "", .bytes = &byte, .size = 1}},
        {good, {.variant = 1, .identity = "a", .bytes = &byte, .size = 0}},
    };
    support_model s;
    make_model(&s);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        strb out = STRB_INIT;
        kw_error err;
        s.model.variants = (const variant *const *)s.variants;
        s.model.binaries = wrong[i];
        s.model.n_binaries = 2;
        assert_int_equal(header_write(&s.model, &out, &err), KW_BAD_INPUT);
        strb_clear(&out);
    }
    support_end(&s);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return worker_main(0, 1);
    setenv("KERNWRIGHT_FAKE", "1", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_job_is_read), cmocka_unit_test(a_device_without), cmocka_unit_test(bytes_travel),
        cmocka_unit_test(bad_answers),     cmocka_unit_test(in_a_header),      cmocka_unit_test(wrong_binaries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
