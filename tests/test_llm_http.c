/* openai: and anthropic: against a server that does what servers do: replies of all kinds, and what it refuses. No time
 * decides: where a limit must fire it is short and the server silent for ever; where it must not, it is far. */
#include "base/mem.h"
#include "support_asking.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- replies ---- */

static void streams(void **state)
{
    (void)state;
    const provider_options o = asking_options();
    const http_answer script[] = {{.bytes = answer_stream(": warming up\n\n" GOOD)}};
    llm_reply r = asking_script("openai", script, 1, &o);
    assert_string_equal(r.finish, "stop");
    assert_string_equal(r.model, "m");
    assert_string_equal(r.key, "generate-000001");
    assert_int_equal(r.usage.input, 11);
    assert_int_equal(r.usage.output, 3);
    assert_false(r.usage.estimated);
    assert_true(isnan(r.cost));
    assert_int_equal(r.tries, 1);
    asking_expect(&r, LLM_OK, "Hello", NULL);
    const char *asked = server_request(&asking_server, 0);
    assert_non_null(strstr(asked, "POST /v1/chat/completions HTTP/1.1\r\n"));
    assert_non_null(strstr(asked, "User-Agent: kernwright/"));
    assert_non_null(strstr(asked, "\"stream\":true,\"stream_options\":{\"include_usage\":true}"));
    assert_null(strstr(asked, "temperature"));
    assert_null(strstr(asked, "Authorization"));
    server_stop(&asking_server);
}

/* Bytes one by one: characters and lines are cut everywhere. */
static void drips(void **state)
{
    (void)state;
    const provider_options o = asking_options();
    const char *text = answer_stream(
        "data: {\"choices\":[{\"delta\":{\"content\":\"\xc3\xa9\xf0\x9f\x98\x80\"}}]}\r\n\r\n" FINISH("stop") DONE);
    const http_answer script[] = {{.bytes = text, .piece = 1, .pause_ms = 1}};
    llm_reply r = asking_script("openai", script, 1, &o);
    assert_true(r.usage.estimated);
    asking_expect(&r, LLM_OK, "\xc3\xa9\xf0\x9f\x98\x80", NULL);
    server_stop(&asking_server);
}

static void whole_replies(void **state)
{
    (void)state;
    asking_check(answer_plain(200, "", JSON_TYPE,
                              "\n\n{\"choices\":[{\"message\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}"),
                 LLM_OK, "Hi", NULL);
    asking_check(answer_plain(200, "", "text/plain", GOOD), LLM_OK, "Hello",
                 NULL); /* a stream that is not called one */
    asking_check_dialect(
        "anthropic",
        answer_plain(200, "", JSON_TYPE,
                     "{\"content\":[{\"type\":\"text\",\"text\":\"Hi\"}],\"stop_reason\":\"end_turn\"}"),
        LLM_OK, "Hi", NULL);
}

static void anthropic_streams(void **state)
{
    (void)state;
    const provider_options o = asking_options();
    setenv("ANTHROPIC_API_KEY", ASKING_KEY, 1);
    const char *start =
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"c-1\",\"usage\":"
        "{\"input_tokens\":5,\"output_tokens\":1}}}\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n"
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":"
        "{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n";
    strb all = STRB_INIT;
    strb_printf(&all,
                "%sevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},"
                "\"usage\":{\"output_tokens\":7}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
                start);
    /* the terminal event ends it, whether the server closes or not */
    const http_answer script[] = {{.bytes = answer_stream(strb_text(&all)), .then = THEN_HOLD}};
    llm_reply r = asking_script("anthropic", script, 1, &o);
    assert_string_equal(r.model, "c-1");
    assert_int_equal(r.usage.output, 7);
    asking_expect(&r, LLM_OK, "Hi", NULL);
    const char *asked = server_request(&asking_server, 0);
    assert_non_null(strstr(asked, "POST /v1/messages HTTP/1.1\r\n"));
    assert_non_null(strstr(asked, "x-api-key: " ASKING_KEY "\r\n"));
    assert_non_null(strstr(asked, "anthropic-version: 2023-06-01\r\n"));
    assert_null(strstr(asked, "Authorization"));
    assert_non_null(strstr(asked, "\"max_tokens\":1000"));
    server_stop(&asking_server);
    strb_clear(&all);
    asking_check_dialect("anthropic", answer_stream(start), LLM_CUT, "Hi", "ended before"); /* no message_stop */
    const http_answer overloaded[] = {
        {.bytes = answer_stream("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\","
                                "\"message\":\"Overloaded\"}}\n\n")}};
    r = asking_script("anthropic", overloaded, 1, &o);
    assert_int_equal(r.tries, 3);
    asking_expect(&r, LLM_FAILED, NULL, "HTTP 529");
    server_stop(&asking_server);
}

static void cut_replies(void **state)
{
    (void)state;
    const provider_options o = asking_options();
    asking_check(answer_stream(DELTA("half")), LLM_CUT, "half", "ended before");
    asking_check(answer_stream(DELTA("whole") FINISH("stop")), LLM_OK, "whole", NULL); /* [DONE] never came */
    asking_check(answer_stream(DELTA("long") FINISH("length") DONE), LLM_CUT, "long", "limit of 1000 tokens");
    asking_check(answer_stream(DELTA("half") "data: {\"choices\":[{\"del"), LLM_CUT, "half", NULL);
    const http_answer crash[] = {{.bytes = answer_stream(DELTA("half")), .then = THEN_RESET}};
    llm_reply r = asking_script("openai", crash, 1, &o);
    asking_expect(&r, LLM_CUT, "half", NULL);
    server_stop(&asking_server);
    /* nothing usable came: asked again */
    const http_answer nothing[] = {{.bytes = answer_stream("")}, {.bytes = answer_stream(GOOD)}};
    r = asking_script("openai", nothing, 2, &o);
    assert_int_equal(r.tries, 2);
    asking_expect(&r, LLM_OK, "Hello", NULL);
    server_stop(&asking_server);
    /* a server that says 200 first and then fails can only hang up; asked for a whole reply it says why */
    const char *cut_chunks = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    const http_answer late_error[] = {
        {.bytes = cut_chunks},
        {.bytes = answer_plain(500, "", JSON_TYPE,
                               "{\"error\":{\"message\":\"Requested tokens (15020) exceed context "
                               "window of 2048\",\"type\":\"internal_server_error\"}}")}};
    r = asking_script("openai", late_error, 2, &o);
    asking_expect(&r, LLM_FAILED, NULL, "context overflow");
    assert_non_null(strstr(server_request(&asking_server, 0), "\"stream\":true"));
    assert_null(strstr(server_request(&asking_server, 1), "\"stream"));
    server_stop(&asking_server);
    /* [DONE], and the socket stays open */
    const http_answer open_end[] = {{.bytes = answer_stream(GOOD), .then = THEN_HOLD}};
    r = asking_script("openai", open_end, 1, &o);
    asking_expect(&r, LLM_OK, "Hello", NULL);
    server_stop(&asking_server);
}

static void no_answers(void **state)
{
    (void)state;
    asking_check(
        answer_stream(
            "data: "
            "{\"choices\":[{\"delta\":{\"content\":null,\"reasoning\":\"hm\"},\"finish_reason\":\"length\"}]}\n\n"),
        LLM_NO_ANSWER, "", "allow more");
    asking_check(answer_stream(DELTA("<think>hm") DELTA(" hm") FINISH("stop")), LLM_NO_ANSWER, "", "thinking without");
    asking_check(answer_stream(DELTA("hm</thi") DELTA("nk>yes") FINISH("stop")), LLM_OK, "yes", NULL);
    asking_check(answer_stream(FINISH("stop") DONE), LLM_NO_ANSWER, "", "empty reply");
    asking_check(answer_stream(FINISH("content_filter") DONE), LLM_NO_ANSWER, "", "refused");
    asking_check(answer_stream(FINISH("length") DONE), LLM_FAILED, "", "context overflow");
}

static void thinking_is_kept_apart(void **state)
{
    (void)state;
    const provider_options o = asking_options();
    const http_answer script[] = {
        {.bytes = answer_stream("data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"secretly\"}}]}\n\n" DELTA(
             "<think>tag") DELTA("ged</think>answer") FINISH("stop") DONE)}};
    llm_reply r = asking_script("openai", script, 1, &o);
    assert_string_equal(r.thinking, "secretly<think>tagged</think>");
    asking_expect(&r, LLM_OK, "answer", NULL);
    server_stop(&asking_server);
}

static void huge_reply(void **state)
{
    (void)state;
    const provider_options o = asking_options();
    strb text = STRB_INIT, event = STRB_INIT;
    for (int i = 0; i < 1 << 19; i++)
        strb_add(&text, "y");
    strb_printf(&event, "data: {\"choices\":[{\"delta\":{\"content\":\"%s\"}}]}\n\n", strb_text(&text));
    const http_answer flood[] = {{.bytes = answer_stream(strb_text(&event)), .then = THEN_FLOOD}};
    llm_reply r = asking_script("openai", flood, 1, &o);
    assert_true(strlen(r.text) <= (size_t)16 << 20);
    asking_expect(&r, LLM_CUT, NULL, "16 MiB");
    server_stop(&asking_server);
    /* a line that never ends */
    const http_answer line[] = {{.bytes = answer_stream(strb_text(&text)), .then = THEN_FLOOD}};
    r = asking_script("openai", line, 1, &o);
    asking_expect(&r, LLM_NO_ANSWER, NULL, NULL);
    server_stop(&asking_server);
    strb_clear(&text);
    strb_clear(&event);
}

/* ---- failures that the server tells ---- */

static void waits_and_asks_again(void **state)
{
    (void)state;
    const provider_options o = asking_options();
    const char *headers[] = {
        "Retry-After: 0\r\n", "Retry-After: 0.01\r\n", "retry-after-ms: 20\r\nRetry-After: 9999\r\n",
        "Date: Wed, 21 Oct 2026 07:28:00 GMT\r\nRetry-After: Wed, 21 Oct 2026 07:27:00 GMT\r\n", ""};
    http_answer script[6];
    for (size_t i = 0; i < 5; i++)
        script[i] =
            (http_answer){.bytes = answer_plain(429, headers[i], JSON_TYPE, "{\"error\":{\"message\":\"slow\"}}")};
    script[5] = (http_answer){.bytes = answer_stream(GOOD)};
    llm_reply r = asking_script("openai", script, 6, &o); /* more than max_tries: a rate limit is bounded by time */
    assert_int_equal(r.tries, 6);
    asking_expect(&r, LLM_OK, "Hello", NULL);
    server_stop(&asking_server);
}

static void honours_a_wait(void **state)
{
    (void)state;
    const provider_options o = asking_options();
    const http_answer script[] = {
        {.bytes = answer_plain(429, "Retry-After: 0.3\r\n", JSON_TYPE, "{\"error\":\"slow\"}")},
        {.bytes = answer_stream(GOOD)}};
    llm_reply r = asking_script("openai", script, 2, &o);
    assert_true(r.ms >= 300); /* a floor: load can only lengthen it */
    asking_expect(&r, LLM_OK, "Hello", NULL);
    server_stop(&asking_server);
}

static void gives_up(void **state)
{
    (void)state;
    const provider_options o = asking_options();
    const struct {
        int status;
        const char *type, *body;
        size_t asked;
        llm_status becomes;
        const char *says;
    } cases[] = {
        {500, JSON_TYPE, "{\"error\":{\"message\":\"boom\"}}", 3, LLM_FAILED, "HTTP 500"},
        {504, "text/html", "<html><title>504 Gateway Time-out</title></html>", 3, LLM_FAILED,
         "504 Gateway Time-out (48 bytes"},
        {200, "text/html", "<html><title>Log in</title></html>", 3, LLM_FAILED,
         "no reply: Log in (34 bytes of text/html)"},
        {200, JSON_TYPE, "{\"choices\":[{\"mess", 3, LLM_FAILED, "no reply"},
        {200, "text/event-stream", "data: {oops\n\n", 3, LLM_FAILED, "{oops"},
        {200, JSON_TYPE, "{\"error\":{\"message\":\"inside\",\"code\":502},\"choices\":[]}", 3, LLM_FAILED, "HTTP 502"},
        {200, "text/event-stream", DELTA("a") "data: {\"error\":{\"message\":\"inside\",\"code\":400}}\n\n", 1,
         LLM_FAILED, "HTTP 400"},
        {200, "text/event-stream", DELTA("a") FINISH("error"), 3, LLM_FAILED, "ended with an error"},
        {400, JSON_TYPE, "{\"error\":{\"message\":\"bad tool\"}}", 1, LLM_FAILED, "bad tool"},
        {401, JSON_TYPE, "{\"error\":{\"message\":\"wrong key\"}}", 1, LLM_STOPPED, "wrong key"},
        {404, JSON_TYPE, "{\"detail\":\"Not Found\"}", 1, LLM_STOPPED, "/v1/chat/completions: Not Found"},
        {404, JSON_TYPE, "{\"error\":{\"message\":\"The model `m` does not exist\",\"code\":\"model_not_found\"}}", 1,
         LLM_STOPPED, "does not exist"},
        {413, "text/html", "too big", 1, LLM_FAILED, "context overflow"},
        {400, JSON_TYPE, "{\"error\":{\"message\":\"m\",\"code\":\"context_length_exceeded\"}}", 1, LLM_FAILED,
         "context overflow"},
        {429, JSON_TYPE, "{\"error\":{\"message\":\"pay\",\"code\":\"insufficient_quota\"}}", 1, LLM_STOPPED, "pay"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const http_answer script[] = {{.bytes = answer_plain(cases[i].status, "", cases[i].type, cases[i].body)}};
        llm_reply r = asking_script("openai", script, 1, &o);
        if (server_asked(&asking_server) != cases[i].asked)
            fail_msg("case %zu: asked %zu times", i, server_asked(&asking_server));
        if (cases[i].becomes == LLM_FAILED)
            assert_int_equal(strncmp(r.detail, "context overflow", 16) == 0, strstr(cases[i].says, "overflow") != NULL);
        asking_expect(&r, cases[i].becomes, NULL, cases[i].says);
        server_stop(&asking_server);
    }
}

static void long_waits_and_redirections(void **state)
{
    (void)state;
    asking_check(answer_plain(429, "Retry-After: 20000\r\n", JSON_TYPE, "{\"error\":\"tomorrow\"}"), LLM_STOPPED, NULL,
                 "wait 20000 s");
    asking_check(answer_plain(307, "Location: https://elsewhere.invalid/v1\r\n", "text/html", ""), LLM_STOPPED, NULL,
                 "https://elsewhere.invalid/v1");
}

/* Loading takes longer than max_tries. */
static void waits_for_the_model(void **state)
{
    (void)state;
    const provider_options o = asking_options();
    http_answer script[6];
    for (size_t i = 0; i < 5; i++)
        script[i].bytes = answer_plain(503, "", JSON_TYPE, "{\"error\":{\"code\":503,\"message\":\"Loading model\"}}");
    for (size_t i = 0; i < 5; i++)
        script[i] = (http_answer){.bytes = script[i].bytes};
    script[5] = (http_answer){.bytes = answer_stream(GOOD)};
    llm_reply r = asking_script("openai", script, 6, &o);
    asking_expect(&r, LLM_OK, "Hello", NULL);
    server_stop(&asking_server);
}

/* ---- the form of requests ---- */

static void other_forms(void **state)
{
    (void)state;
    provider_options o = asking_options();
    o.temperature = 0.5;
    o.max_tries = 1; /* none of these counts as a try */
    const http_answer script[] = {
        {.bytes = answer_plain(400, "", JSON_TYPE,
                               "{\"error\":{\"message\":\"Unsupported parameter: 'max_tokens' is not "
                               "supported with this model. Use 'max_completion_tokens' instead.\"}}")},
        {.bytes = answer_plain(400, "", JSON_TYPE,
                               "{\"error\":{\"message\":\"only the default (1) value is supported\","
                               "\"param\":\"temperature\",\"code\":\"unsupported_value\"}}")},
        {.bytes = answer_plain(422, "", JSON_TYPE,
                               "{\"detail\":[{\"loc\":[\"body\",\"stream_options\"],"
                               "\"msg\":\"Extra inputs are not permitted\"}]}")},
        {.bytes = answer_plain(500, "", JSON_TYPE, "{\"error\":{\"message\":\"System role not supported\"}}")},
        {.bytes = answer_stream(GOOD)},
    };
    server_start(&asking_server, script, 5);
    char spec[128];
    snprintf(spec, sizeof spec, "openai:m@%s/v1/", asking_server.url);
    llm_session *s = asking_open(spec, &o, NULL);
    llm_reply r = asking_one(s);
    assert_int_equal(r.tries, 5);
    asking_expect(&r, LLM_OK, "Hello", NULL);
    r = asking_one(s); /* what was learnt stays */
    assert_int_equal(r.tries, 1);
    asking_expect(&r, LLM_OK, "Hello", NULL);
    llm_session_close(s);
    assert_non_null(strstr(server_request(&asking_server, 0), "\"max_tokens\":1000,\"temperature\":0.5,"));
    assert_non_null(strstr(server_request(&asking_server, 1), "\"max_completion_tokens\":1000,\"temperature\":0.5,"));
    assert_null(strstr(server_request(&asking_server, 2), "temperature"));
    assert_null(strstr(server_request(&asking_server, 3), "stream_options"));
    assert_non_null(strstr(server_request(&asking_server, 4),
                           "[{\"role\":\"user\",\"content\":\"You write kernels.\\n\\nWrite one.\\n\"}]"));
    assert_null(strstr(server_request(&asking_server, 5), "\"system\""));
    server_stop(&asking_server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {ASKING_TEST(streams),
                                       ASKING_TEST(drips),
                                       ASKING_TEST(whole_replies),
                                       ASKING_TEST(anthropic_streams),
                                       ASKING_TEST(cut_replies),
                                       ASKING_TEST(no_answers),
                                       ASKING_TEST(huge_reply),
                                       ASKING_TEST(thinking_is_kept_apart),
                                       ASKING_TEST(gives_up),
                                       ASKING_TEST(honours_a_wait),
                                       ASKING_TEST(other_forms),
                                       ASKING_TEST(waits_and_asks_again),
                                       ASKING_TEST(long_waits_and_redirections),
                                       ASKING_TEST(waits_for_the_model)};
    return cmocka_run_group_tests_name("llm_http", tests, NULL, NULL);
}
