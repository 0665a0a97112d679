/* The loop with a server at the other end that fails in ways of its own. */
#include "llm/evolve.h"
#include "support_asking.h"

#include "base/fs.h"
#include "base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FRONT "/*kernwright {\"task\": \"saxpy\", \"launches\": []} */\n"
#define ANSWER "```c\\n/*kernwright {\\\"task\\\": \\\"saxpy\\\", \\\"launches\\\": []} */\\nint better;\\n```\\n"

static const char *const seeds[] = {FRONT "int plain;\n"};

/* Everything is right, and what is not the seed is better. */
static kw_code run_trial(void *state, const char *text, const char *key, void (*pump)(void *), void *cookie,
                         trial_result *out, kw_error *err)
{
    (void)state, (void)key, (void)pump, (void)cookie, (void)err;
    memset(out, 0, sizeof *out);
    hash_hex(text, strlen(text), out->template_hash);
    out->n_shapes = 1;
    out->shapes = mem_calloc(1, sizeof *out->shapes);
    out->shapes[0] = (trial_shape){.best_ns = 100, .lo_ns = 99, .hi_ns = 101, .base_ns = 200, .limit_ns = NAN};
    out->read = true;
    out->outcome = OUTCOME_OK;
    out->stage = STAGE_DONE;
    out->fitness = strstr(text, "better") ? 1.5 : 1;
    out->offers = mem_calloc(1, sizeof *out->offers);
    out->n_offers = 1;
    out->offers[0] = (offer){.fitness = out->fitness, .config = mem_strdup("{}")};
    memcpy(out->offers[0].template_hash, out->template_hash, HASH_HEX_SIZE);
    memcpy(out->offers[0].source_hash, out->template_hash, HASH_HEX_SIZE);
    return KW_OK;
}

static const trial_ops simulated = {.run = run_trial};

/* A run of so many attempts; a format page of 20 KB makes the prompts long. */
static kw_code run_with(const char *spec, const char *journal_path, bool recorded, evolve_result *out, kw_error *err)
{
    task *t;
    task_types types;
    task_shape shape;
    journal *j;
    strb page = STRB_INIT;
    const provider_options po = asking_options();
    assert_int_equal(task_load("saxpy", &t, NULL), KW_OK);
    assert_int_equal(task_types_parse(t, "", &types, NULL), KW_OK);
    assert_int_equal(task_shape_parse(t, "N=100", &shape, NULL), KW_OK);
    assert_int_equal(journal_open(journal_path, recorded, &j, err), KW_OK);
    llm_session *s = asking_open(spec, &po, recorded ? NULL : asking_folder);
    for (int i = 0; i < 500; i++)
        strb_printf(&page, "Line %d of a page on the format.......\n", i);
    const evolve_options o = {.prompt = {.task = t,
                                         .types = &types,
                                         .shapes = &shape,
                                         .n_shapes = 1,
                                         .format_text = strb_text(&page),
                                         .max_tokens = 20000},
                              .seeds = seeds,
                              .n_seeds = 1,
                              .session = s,
                              .folder = asking_folder,
                              .journal = j,
                              .recorded_only = recorded,
                              .trial = &simulated,
                              .budget = 3,
                              .in_flight = 1,
                              .archive = true,
                              .max_reply_tokens = 100};
    kw_code code = evolve_run(&o, out, err);
    llm_session_close(s);
    journal_close(j);
    task_free(t);
    strb_clear(&page);
    return code;
}

static kw_code run_script(const http_answer *script, size_t n, evolve_result *out, kw_error *err)
{
    char spec[128], *path = fs_join(asking_folder, "journal.jsonl");
    memset(err, 0, sizeof *err);
    server_start(&asking_server, script, n);
    snprintf(spec, sizeof spec, "openai:m@%s", asking_server.url);
    kw_code code = run_with(spec, path, false, out, err);
    free(path);
    return code;
}

static size_t length_of_prompt(const char *key)
{
    strb name = STRB_INIT, text = STRB_INIT;
    strb_printf(&name, "%s.prompt.md", key);
    char *path = fs_join(asking_folder, strb_text(&name));
    assert_int_equal(fs_read(path, 0, &text, NULL), KW_OK);
    size_t length = text.length;
    free(path);
    strb_clear(&name);
    strb_clear(&text);
    return length;
}

/* The prompt is made shorter and asked once more; later ones are short from the start. */
static void too_long(void **state)
{
    (void)state;
    const char *refusal = answer_plain(400, "", JSON_TYPE,
                                       "{\"error\":{\"message\":\"This model's maximum context length is 4096 tokens\","
                                       "\"code\":\"context_length_exceeded\"}}");
    const http_answer script[] = {
        {.bytes = refusal}, {.bytes = refusal}, {.bytes = answer_stream(DELTA(ANSWER) FINISH("stop") DONE)}};
    evolve_result r;
    kw_error err;
    if (run_script(script, 3, &r, &err) != KW_OK)
        fail_msg("%s", err.message);
    assert_int_equal(r.attempts, 3);
    assert_int_equal(r.right, 1);
    assert_int_equal(r.no_code, 0);
    assert_int_equal(server_asked(&asking_server), 5);
    size_t first = length_of_prompt("generate-000001"), second = length_of_prompt("generate-000001-s1"),
           third = length_of_prompt("generate-000001-s2");
    assert_true(second < first * 7 / 10 && third < second * 7 / 10);
    assert_true(length_of_prompt("generate-000002") <= third * 11 / 10);
    server_stop(&asking_server);
    evolve_result_clear(&r);
    /* The record says it all again. */
    char *path = fs_join(asking_folder, "journal.jsonl");
    if (run_with("none", path, true, &r, &err) != KW_OK)
        fail_msg("%s", err.message);
    assert_int_equal(r.right, 1);
    free(path);
    evolve_result_clear(&r);
}

/* A server that takes no prompt at all ends the attempt, not the run. */
static void always_too_long(void **state)
{
    (void)state;
    const http_answer script[] = {{.bytes = answer_plain(413, "", "text/html", "too big")}};
    evolve_result r;
    kw_error err;
    if (run_script(script, 1, &r, &err) != KW_OK)
        fail_msg("%s", err.message);
    assert_int_equal(r.attempts, 3);
    assert_int_equal(r.no_code, 3);
    assert_true(server_asked(&asking_server) <= 12);
    assert_false(r.abandoned);
    server_stop(&asking_server);
    evolve_result_clear(&r);
}

/* What no further question can mend ends the run, which keeps what it has and says why. */
static void refused(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *body, *says;
    } cases[] = {
        {401, "{\"error\":{\"message\":\"Incorrect API key\"}}", "Incorrect API key"},
        {404, "{\"error\":{\"message\":\"The model `m` does not exist\",\"code\":\"model_not_found\"}}",
         "does not exist"},
        {429, "{\"error\":{\"message\":\"You exceeded your quota\",\"code\":\"insufficient_quota\"}}", "quota"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const http_answer script[] = {{.bytes = answer_plain(cases[i].status, "", JSON_TYPE, cases[i].body)}};
        char *path = fs_join(asking_folder, "journal.jsonl");
        evolve_result r;
        kw_error err;
        (void)remove(path);
        if (run_script(script, 1, &r, &err) != KW_OK)
            fail_msg("%s", err.message);
        assert_true(r.abandoned);
        assert_non_null(strstr(r.why, cases[i].says));
        assert_non_null(r.best_text); /* the seed */
        assert_int_equal(server_asked(&asking_server), 1);
        server_stop(&asking_server);
        evolve_result_clear(&r);
        free(path);
    }
}

/* Names that are reserved never to exist (RFC 6761). */
static void no_such_host(void **state)
{
    (void)state;
    char *path = fs_join(asking_folder, "journal.jsonl");
    evolve_result r;
    kw_error err = {0};
    if (run_with("openai:m@http://nowhere.invalid:9", path, false, &r, &err) != KW_OK)
        fail_msg("%s", err.message);
    assert_true(r.abandoned);
    assert_non_null(strstr(r.why, "nowhere.invalid"));
    evolve_result_clear(&r);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {ASKING_TEST(too_long), ASKING_TEST(always_too_long), ASKING_TEST(refused),
                                       ASKING_TEST(no_such_host)};
    return cmocka_run_group_tests_name("evolve_link", tests, NULL, NULL);
}
