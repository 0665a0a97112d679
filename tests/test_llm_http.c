/* openai: and anthropic: against a server that does what servers do. No time decides: where a limit must fire it is
 * short and the server silent for ever; where it must not, it is far. */
#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "llm/session.h"
#include "support_http.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SECRET "sk-test-5ecret-0123456789"
#define FOREVER_MS 60000

#define DELTA(text) "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" text "\"}}]}\n\n"
#define FINISH(word) "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"" word "\"}]}\n\n"
#define USAGE "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":3}}\n\n"
#define DONE "data: [DONE]\n\n"
#define GOOD DELTA("Hel") DELTA("lo") FINISH("stop") USAGE DONE
#define JSON_TYPE "application/json"

static char *folder;
static test_server server;

static provider_options quick(void)
{
    return (provider_options){.temperature = NAN,
                              .backoff_ms = 1,
                              .max_tries = 3,
                              .connect_ms = FOREVER_MS,
                              .first_byte_ms = FOREVER_MS,
                              .silence_ms = FOREVER_MS,
                              .no_content_ms = FOREVER_MS,
                              .total_ms = FOREVER_MS};
}

static int set_up(void **state)
{
    (void)state;
    static const char *const variables[] = {
        "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "KERNWRIGHT_LLM_CONFIG", "http_proxy",   "https_proxy", "HTTPS_PROXY",
        "all_proxy",      "ALL_PROXY",         "CURL_CA_BUNDLE",        "SSL_CERT_FILE"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    folder = fs_temp_folder("kernwright-test-", NULL);
    return folder ? 0 : 1;
}

static int tear_down(void **state)
{
    (void)state;
    server_texts_free();
    fs_remove_tree(folder);
    free(folder);
    return 0;
}

static llm_session *open_at(const char *spec, const provider_options *o, const char *record)
{
    llm_session *s = NULL;
    kw_error err = {0};
    llm_session_options so = {.provider = *o, .spec = spec, .record = record};
    if (llm_session_open(&so, &s, &err) != KW_OK)
        fail_msg("%s", err.message);
    return s;
}

static llm_request question(int i)
{
    llm_request q = {.kind = "generate", .system = "You write kernels.", .prompt = "Write one.\n", .max_tokens = 1000};
    snprintf(q.key, sizeof q.key, "generate-%06d", i);
    return q;
}

static llm_reply next(llm_session *s)
{
    llm_reply r;
    assert_true(llm_poll(s, FOREVER_MS, &r));
    return r;
}

static llm_reply ask(llm_session *s)
{
    llm_request q = question(1);
    kw_error err = {0};
    if (llm_submit(s, &q, &err) != KW_OK)
        fail_msg("%s", err.message);
    return next(s);
}

/* One question to a server with this script, of a dialect. */
static llm_reply ask_script(const char *dialect, const http_answer *script, size_t n, const provider_options *o)
{
    char spec[128];
    server_start(&server, script, n);
    snprintf(spec, sizeof spec, "%s:m@%s", dialect, server.url);
    llm_session *s = open_at(spec, o, NULL);
    llm_reply r = ask(s);
    llm_session_close(s);
    return r;
}

static void expect(llm_reply *r, llm_status status, const char *text, const char *says)
{
    if (r->status != status || (says && (!r->detail || !strstr(r->detail, says))))
        fail_msg("status %s, detail: %s", llm_status_name(r->status), r->detail ? r->detail : "none");
    if (text)
        assert_string_equal(r->text, text);
    llm_reply_clear(r);
}

/* One answer, one reply. */
static void check_dialect(const char *dialect, const char *bytes, llm_status status, const char *text, const char *says)
{
    const provider_options o = quick();
    const http_answer script[] = {{.bytes = bytes}};
    llm_reply r = ask_script(dialect, script, 1, &o);
    expect(&r, status, text, says);
    server_stop(&server);
}

static void check(const char *bytes, llm_status status, const char *text, const char *says)
{
    check_dialect("openai", bytes, status, text, says);
}

static void write_config(const char *format)
{
    strb text = STRB_INIT;
    char *config = fs_join(folder, "config.json");
    const char *place = strstr(format, "URL");
    strb_printf(&text, "%.*s%s%s", (int)(place - format), format, server.url, place + 3);
    assert_int_equal(fs_write(config, strb_text(&text), text.length, NULL), KW_OK);
    setenv("KERNWRIGHT_LLM_CONFIG", config, 1);
    strb_clear(&text);
    free(config);
}

/* ---- replies ---- */

static void streams(void **state)
{
    (void)state;
    const provider_options o = quick();
    const http_answer script[] = {{.bytes = answer_stream(": warming up\n\n" GOOD)}};
    llm_reply r = ask_script("openai", script, 1, &o);
    assert_string_equal(r.finish, "stop");
    assert_string_equal(r.model, "m");
    assert_string_equal(r.key, "generate-000001");
    assert_int_equal(r.usage.input, 11);
    assert_int_equal(r.usage.output, 3);
    assert_false(r.usage.estimated);
    assert_true(isnan(r.cost));
    assert_int_equal(r.tries, 1);
    expect(&r, LLM_OK, "Hello", NULL);
    const char *asked = server_request(&server, 0);
    assert_non_null(strstr(asked, "POST /v1/chat/completions HTTP/1.1\r\n"));
    assert_non_null(strstr(asked, "User-Agent: kernwright/"));
    assert_non_null(strstr(asked, "\"stream\":true,\"stream_options\":{\"include_usage\":true}"));
    assert_null(strstr(asked, "temperature"));
    assert_null(strstr(asked, "Authorization"));
    server_stop(&server);
}

/* Bytes one by one: characters and lines are cut everywhere. */
static void drips(void **state)
{
    (void)state;
    const provider_options o = quick();
    const char *text = answer_stream(
        "data: {\"choices\":[{\"delta\":{\"content\":\"\xc3\xa9\xf0\x9f\x98\x80\"}}]}\r\n\r\n" FINISH("stop") DONE);
    const http_answer script[] = {{.bytes = text, .piece = 1, .pause_ms = 1}};
    llm_reply r = ask_script("openai", script, 1, &o);
    assert_true(r.usage.estimated);
    expect(&r, LLM_OK, "\xc3\xa9\xf0\x9f\x98\x80", NULL);
    server_stop(&server);
}

static void whole_replies(void **state)
{
    (void)state;
    check(answer_plain(200, "", JSON_TYPE,
                       "\n\n{\"choices\":[{\"message\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}"),
          LLM_OK, "Hi", NULL);
    check(answer_plain(200, "", "text/plain", GOOD), LLM_OK, "Hello", NULL); /* a stream that is not called one */
    check_dialect("anthropic",
                  answer_plain(200, "", JSON_TYPE,
                               "{\"content\":[{\"type\":\"text\",\"text\":\"Hi\"}],\"stop_reason\":\"end_turn\"}"),
                  LLM_OK, "Hi", NULL);
}

static void anthropic_streams(void **state)
{
    (void)state;
    const provider_options o = quick();
    setenv("ANTHROPIC_API_KEY", SECRET, 1);
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
    llm_reply r = ask_script("anthropic", script, 1, &o);
    assert_string_equal(r.model, "c-1");
    assert_int_equal(r.usage.output, 7);
    expect(&r, LLM_OK, "Hi", NULL);
    const char *asked = server_request(&server, 0);
    assert_non_null(strstr(asked, "POST /v1/messages HTTP/1.1\r\n"));
    assert_non_null(strstr(asked, "x-api-key: " SECRET "\r\n"));
    assert_non_null(strstr(asked, "anthropic-version: 2023-06-01\r\n"));
    assert_null(strstr(asked, "Authorization"));
    assert_non_null(strstr(asked, "\"max_tokens\":1000"));
    server_stop(&server);
    strb_clear(&all);
    check_dialect("anthropic", answer_stream(start), LLM_CUT, "Hi", "ended before"); /* no message_stop */
    const http_answer overloaded[] = {
        {.bytes = answer_stream("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\","
                                "\"message\":\"Overloaded\"}}\n\n")}};
    r = ask_script("anthropic", overloaded, 1, &o);
    assert_int_equal(r.tries, 3);
    expect(&r, LLM_FAILED, NULL, "HTTP 529");
    server_stop(&server);
}

static void cut_replies(void **state)
{
    (void)state;
    const provider_options o = quick();
    check(answer_stream(DELTA("half")), LLM_CUT, "half", "ended before");
    check(answer_stream(DELTA("whole") FINISH("stop")), LLM_OK, "whole", NULL); /* [DONE] never came */
    check(answer_stream(DELTA("long") FINISH("length") DONE), LLM_CUT, "long", "limit of 1000 tokens");
    check(answer_stream(DELTA("half") "data: {\"choices\":[{\"del"), LLM_CUT, "half", NULL);
    const http_answer crash[] = {{.bytes = answer_stream(DELTA("half")), .pause_ms = 200, .then = THEN_RESET}};
    llm_reply r = ask_script("openai", crash, 1, &o);
    expect(&r, LLM_CUT, "half", NULL);
    server_stop(&server);
    /* nothing usable came: asked again */
    const http_answer nothing[] = {{.bytes = answer_stream("")}, {.bytes = answer_stream(GOOD)}};
    r = ask_script("openai", nothing, 2, &o);
    assert_int_equal(r.tries, 2);
    expect(&r, LLM_OK, "Hello", NULL);
    server_stop(&server);
    /* a server that says 200 first and then fails can only hang up; asked for a whole reply it says why */
    const char *cut_chunks = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    const http_answer late_error[] = {
        {.bytes = cut_chunks},
        {.bytes = answer_plain(500, "", JSON_TYPE,
                               "{\"error\":{\"message\":\"Requested tokens (15020) exceed context "
                               "window of 2048\",\"type\":\"internal_server_error\"}}")}};
    r = ask_script("openai", late_error, 2, &o);
    expect(&r, LLM_FAILED, NULL, "context overflow");
    assert_non_null(strstr(server_request(&server, 0), "\"stream\":true"));
    assert_null(strstr(server_request(&server, 1), "\"stream"));
    server_stop(&server);
    /* [DONE], and the socket stays open */
    const http_answer open_end[] = {{.bytes = answer_stream(GOOD), .then = THEN_HOLD}};
    r = ask_script("openai", open_end, 1, &o);
    expect(&r, LLM_OK, "Hello", NULL);
    server_stop(&server);
}

static void no_answers(void **state)
{
    (void)state;
    check(answer_stream(
              "data: "
              "{\"choices\":[{\"delta\":{\"content\":null,\"reasoning\":\"hm\"},\"finish_reason\":\"length\"}]}\n\n"),
          LLM_NO_ANSWER, "", "allow more");
    check(answer_stream(DELTA("<think>hm") DELTA(" hm") FINISH("stop")), LLM_NO_ANSWER, "", "thinking without");
    check(answer_stream(DELTA("hm</thi") DELTA("nk>yes") FINISH("stop")), LLM_OK, "yes", NULL);
    check(answer_stream(FINISH("stop") DONE), LLM_NO_ANSWER, "", "empty reply");
    check(answer_stream(FINISH("content_filter") DONE), LLM_NO_ANSWER, "", "refused");
    check(answer_stream(FINISH("length") DONE), LLM_FAILED, "", "context overflow");
}

static void thinking_is_kept_apart(void **state)
{
    (void)state;
    const provider_options o = quick();
    const http_answer script[] = {
        {.bytes = answer_stream("data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"secretly\"}}]}\n\n" DELTA(
             "<think>tag") DELTA("ged</think>answer") FINISH("stop") DONE)}};
    llm_reply r = ask_script("openai", script, 1, &o);
    assert_string_equal(r.thinking, "secretly<think>tagged</think>");
    expect(&r, LLM_OK, "answer", NULL);
    server_stop(&server);
}

static void huge_reply(void **state)
{
    (void)state;
    const provider_options o = quick();
    strb text = STRB_INIT, event = STRB_INIT;
    for (int i = 0; i < 1 << 19; i++)
        strb_add(&text, "y");
    strb_printf(&event, "data: {\"choices\":[{\"delta\":{\"content\":\"%s\"}}]}\n\n", strb_text(&text));
    const http_answer flood[] = {{.bytes = answer_stream(strb_text(&event)), .then = THEN_FLOOD}};
    llm_reply r = ask_script("openai", flood, 1, &o);
    assert_true(strlen(r.text) <= (size_t)16 << 20);
    expect(&r, LLM_CUT, NULL, "16 MiB");
    server_stop(&server);
    /* a line that never ends */
    const http_answer line[] = {{.bytes = answer_stream(strb_text(&text)), .then = THEN_FLOOD}};
    r = ask_script("openai", line, 1, &o);
    expect(&r, LLM_NO_ANSWER, NULL, NULL);
    server_stop(&server);
    strb_clear(&text);
    strb_clear(&event);
}

/* ---- failures that the server tells ---- */

static void waits_and_asks_again(void **state)
{
    (void)state;
    const provider_options o = quick();
    const char *headers[] = {
        "Retry-After: 0\r\n", "Retry-After: 0.01\r\n", "retry-after-ms: 20\r\nRetry-After: 9999\r\n",
        "Date: Wed, 21 Oct 2026 07:28:00 GMT\r\nRetry-After: Wed, 21 Oct 2026 07:27:00 GMT\r\n", ""};
    http_answer script[6];
    for (size_t i = 0; i < 5; i++)
        script[i] =
            (http_answer){.bytes = answer_plain(429, headers[i], JSON_TYPE, "{\"error\":{\"message\":\"slow\"}}")};
    script[5] = (http_answer){.bytes = answer_stream(GOOD)};
    llm_reply r = ask_script("openai", script, 6, &o); /* more than max_tries: a rate limit is bounded by time */
    assert_int_equal(r.tries, 6);
    expect(&r, LLM_OK, "Hello", NULL);
    server_stop(&server);
}

static void honours_a_wait(void **state)
{
    (void)state;
    const provider_options o = quick();
    const http_answer script[] = {
        {.bytes = answer_plain(429, "Retry-After: 0.3\r\n", JSON_TYPE, "{\"error\":\"slow\"}")},
        {.bytes = answer_stream(GOOD)}};
    llm_reply r = ask_script("openai", script, 2, &o);
    assert_true(r.ms >= 300); /* a floor: load can only lengthen it */
    expect(&r, LLM_OK, "Hello", NULL);
    server_stop(&server);
}

static void gives_up(void **state)
{
    (void)state;
    const provider_options o = quick();
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
        llm_reply r = ask_script("openai", script, 1, &o);
        if (server_asked(&server) != cases[i].asked)
            fail_msg("case %zu: asked %zu times", i, server_asked(&server));
        if (cases[i].becomes == LLM_FAILED)
            assert_int_equal(strncmp(r.detail, "context overflow", 16) == 0, strstr(cases[i].says, "overflow") != NULL);
        expect(&r, cases[i].becomes, NULL, cases[i].says);
        server_stop(&server);
    }
}

static void long_waits_and_redirections(void **state)
{
    (void)state;
    check(answer_plain(429, "Retry-After: 20000\r\n", JSON_TYPE, "{\"error\":\"tomorrow\"}"), LLM_STOPPED, NULL,
          "wait 20000 s");
    check(answer_plain(307, "Location: https://elsewhere.invalid/v1\r\n", "text/html", ""), LLM_STOPPED, NULL,
          "https://elsewhere.invalid/v1");
}

/* Loading takes longer than max_tries. */
static void waits_for_the_model(void **state)
{
    (void)state;
    const provider_options o = quick();
    http_answer script[6];
    for (size_t i = 0; i < 5; i++)
        script[i].bytes = answer_plain(503, "", JSON_TYPE, "{\"error\":{\"code\":503,\"message\":\"Loading model\"}}");
    for (size_t i = 0; i < 5; i++)
        script[i] = (http_answer){.bytes = script[i].bytes};
    script[5] = (http_answer){.bytes = answer_stream(GOOD)};
    llm_reply r = ask_script("openai", script, 6, &o);
    expect(&r, LLM_OK, "Hello", NULL);
    server_stop(&server);
}

/* ---- the form of requests ---- */

static void other_forms(void **state)
{
    (void)state;
    provider_options o = quick();
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
    server_start(&server, script, 5);
    char spec[128];
    snprintf(spec, sizeof spec, "openai:m@%s/v1/", server.url);
    llm_session *s = open_at(spec, &o, NULL);
    llm_reply r = ask(s);
    assert_int_equal(r.tries, 5);
    expect(&r, LLM_OK, "Hello", NULL);
    r = ask(s); /* what was learnt stays */
    assert_int_equal(r.tries, 1);
    expect(&r, LLM_OK, "Hello", NULL);
    llm_session_close(s);
    assert_non_null(strstr(server_request(&server, 0), "\"max_tokens\":1000,\"temperature\":0.5,"));
    assert_non_null(strstr(server_request(&server, 1), "\"max_completion_tokens\":1000,\"temperature\":0.5,"));
    assert_null(strstr(server_request(&server, 2), "temperature"));
    assert_null(strstr(server_request(&server, 3), "stream_options"));
    assert_non_null(strstr(server_request(&server, 4),
                           "[{\"role\":\"user\",\"content\":\"You write kernels.\\n\\nWrite one.\\n\"}]"));
    assert_null(strstr(server_request(&server, 5), "\"system\""));
    server_stop(&server);
}

/* ---- connections ---- */

static void unreachable(void **state)
{
    (void)state;
    const provider_options o = quick();
    llm_session *s = open_at("openai:m@http://name.invalid/v1", &o, NULL);
    llm_reply r = ask(s);
    expect(&r, LLM_STOPPED, NULL, "name.invalid");
    llm_session_close(s);
    /* a port that nobody listens at: the one of a server that is gone */
    const http_answer script[] = {{.bytes = ""}};
    server_start(&server, script, 1);
    char spec[128];
    snprintf(spec, sizeof spec, "openai:m@%s", server.url);
    server_stop(&server);
    s = open_at(spec, &o, NULL);
    r = ask(s);
    assert_int_equal(r.tries, 3);
    expect(&r, LLM_STOPPED, NULL, "127.0.0.1");
    llm_session_close(s);
}

static void limits(void **state)
{
    (void)state;
    provider_options o = quick();
    const char *head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    o.max_tries = 1;
    o.first_byte_ms = 50;
    const http_answer mute[] = {{.bytes = head, .then = THEN_HOLD}};
    llm_reply r = ask_script("openai", mute, 1, &o);
    expect(&r, LLM_FAILED, NULL, "timeouts.first_byte");
    server_stop(&server);
    const http_answer no_head[] = {{.bytes = NULL, .then = THEN_HOLD}};
    r = ask_script("openai", no_head, 1, &o);
    expect(&r, LLM_STOPPED, NULL, "timeouts.first_byte"); /* never a word */
    server_stop(&server);
    o = quick();
    o.silence_ms = 50;
    const http_answer stalls[] = {{.bytes = answer_stream(DELTA("half")), .then = THEN_HOLD}};
    r = ask_script("openai", stalls, 1, &o);
    expect(&r, LLM_CUT, "half", "timeouts.silence");
    server_stop(&server);
    const http_answer finished[] = {{.bytes = answer_stream(DELTA("all") FINISH("stop")), .then = THEN_HOLD}};
    r = ask_script("openai", finished, 1, &o); /* no [DONE], no end: the finish reason is enough */
    expect(&r, LLM_OK, "all", NULL);
    server_stop(&server);
    o = quick();
    o.max_tries = 1;
    o.no_content_ms = 200;
    const http_answer pings[] = {{.bytes = head, .then = THEN_PING}};
    r = ask_script("openai", pings, 1, &o);
    expect(&r, LLM_FAILED, NULL, "timeouts.no_content");
    server_stop(&server);
    o = quick();
    o.total_ms = 300;
    const http_answer slow[] = {{.bytes = answer_stream(DELTA("a")), .then = THEN_PING}};
    r = ask_script("openai", slow, 1, &o);
    expect(&r, LLM_CUT, "a", "timeouts.total");
    server_stop(&server);
}

/* A kept connection dies between two questions: the second is asked again at once, at no cost. */
static void dead_connection(void **state)
{
    (void)state;
    provider_options o = quick();
    o.max_tries = 1;
    const char *fine = answer_plain(200, "", JSON_TYPE,
                                    "{\"choices\":[{\"message\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}");
    const http_answer script[] = {
        {.bytes = fine, .then = THEN_KEEP}, {.bytes = NULL, .then = THEN_CLOSE}, {.bytes = fine}};
    server_start(&server, script, 3);
    char spec[128];
    snprintf(spec, sizeof spec, "openai:m@%s", server.url);
    llm_session *s = open_at(spec, &o, NULL);
    for (int i = 0; i < 2; i++) {
        llm_reply r = ask(s);
        expect(&r, LLM_OK, "Hi", NULL);
    }
    llm_session_close(s);
    assert_int_equal(server_asked(&server), 3);
    server_stop(&server);
}

/* HTTP/2 whose streams are reset: after two of them HTTP/1.1 is spoken. */
static void http2_resets(void **state)
{
    (void)state;
    const provider_options o = quick();
    /* SETTINGS, their acknowledgement, RST_STREAM of stream 1 with INTERNAL_ERROR */
    static const char frames[] = "\0\0\0\4\0\0\0\0\0"
                                 "\0\0\0\4\1\0\0\0\0"
                                 "\0\0\4\3\0\0\0\0\1"
                                 "\0\0\0\2";
    const http_answer reset = {.bytes = frames, .length = sizeof frames - 1, .then = THEN_HOLD};
    const http_answer script[] = {reset, reset, {.bytes = answer_stream(GOOD)}};
    server_start(&server, script, 3);
    write_config("{\"endpoints\":{\"h2\":{\"url\":\"URL\",\"http_version\":\"2\"}}}");
    llm_session *s = open_at("openai:m@h2", &o, NULL);
    llm_reply r = ask(s);
    assert_int_equal(r.tries, 3);
    expect(&r, LLM_OK, "Hello", NULL);
    llm_session_close(s);
    assert_non_null(strstr(server_request(&server, 0), "PRI * HTTP/2"));
    assert_non_null(strstr(server_request(&server, 2), "HTTP/1.1\r\n"));
    server_stop(&server);
}

static void through_a_proxy(void **state)
{
    (void)state;
    const provider_options o = quick();
    const http_answer script[] = {{.bytes = answer_stream(GOOD)}};
    server_start(&server, script, 1);
    setenv("http_proxy", server.url, 1);
    llm_session *s = open_at("openai:m@http://name.invalid/api", &o, NULL);
    llm_reply r = ask(s);
    expect(&r, LLM_OK, "Hello", NULL);
    llm_session_close(s);
    assert_non_null(strstr(server_request(&server, 0), "POST http://name.invalid/api/chat/completions HTTP/1.1"));
    server_stop(&server);
}

static void several_in_flight(void **state)
{
    (void)state;
    const provider_options o = quick();
    http_answer script[12];
    for (size_t i = 0; i < 12; i++)
        script[i] = (http_answer){.bytes = answer_stream(GOOD), .piece = 150, .pause_ms = 150};
    server_start(&server, script, 12);
    char spec[128];
    snprintf(spec, sizeof spec, "openai:m@%s", server.url);
    llm_session *s = open_at(spec, &o, NULL);
    bool seen[12] = {false};
    for (int i = 0; i < 12; i++) {
        llm_request q = question(i);
        assert_int_equal(llm_submit(s, &q, NULL), KW_OK);
    }
    for (int i = 0; i < 12; i++) {
        llm_reply r = next(s);
        int n = atoi(r.key + strlen("generate-"));
        assert_true(n >= 0 && n < 12 && !seen[n]);
        seen[n] = true;
        expect(&r, LLM_OK, "Hello", NULL);
    }
    size_t most = 0;
    for (size_t i = 0; i < 12; i++)
        most = server_busy_at(&server, i) > most ? server_busy_at(&server, i) : most;
    assert_true(most > 1);
    llm_session_close(s);
    server_stop(&server);
}

/* A burst of refusals: all get through in the end, half as many at a time or fewer. */
static void burst_of_429(void **state)
{
    (void)state;
    const provider_options o = quick();
    http_answer script[9];
    const char *busy = answer_plain(429, "", JSON_TYPE, "{\"error\":\"slow\"}"), *good = answer_stream(GOOD);
    for (size_t i = 0; i < 9; i++)
        script[i] = (http_answer){.bytes = i < 8 ? busy : good, .piece = i < 8 ? 0 : 150, .pause_ms = i < 8 ? 0 : 30};
    server_start(&server, script, 9);
    char spec[128];
    snprintf(spec, sizeof spec, "openai:m@%s", server.url);
    llm_session *s = open_at(spec, &o, NULL);
    for (int i = 0; i < 8; i++) {
        llm_request q = question(i);
        assert_int_equal(llm_submit(s, &q, NULL), KW_OK);
    }
    for (int i = 0; i < 8; i++) {
        llm_reply r = next(s);
        expect(&r, LLM_OK, "Hello", NULL);
    }
    assert_int_equal(server_asked(&server), 16);
    for (size_t i = 8; i < 16; i++)
        assert_true(server_busy_at(&server, i) <= 4);
    llm_session_close(s);
    server_stop(&server);
}

static void never_more_than_allowed(void **state)
{
    (void)state;
    const provider_options o = quick();
    const http_answer script[] = {{.bytes = answer_stream(GOOD), .piece = 150, .pause_ms = 20}};
    server_start(&server, script, 1);
    write_config("{\"endpoints\":{\"narrow\":{\"url\":\"URL\",\"max_in_flight\":2}}}");
    llm_session *s = open_at("openai:m@narrow", &o, NULL);
    for (int i = 0; i < 8; i++) {
        llm_request q = question(i);
        assert_int_equal(llm_submit(s, &q, NULL), KW_OK);
    }
    for (size_t i = 0; i < 8; i++) {
        llm_reply r = next(s);
        expect(&r, LLM_OK, "Hello", NULL);
        assert_true(server_busy_at(&server, i) <= 2);
    }
    llm_session_close(s);
    server_stop(&server);
}

static void closes_at_once(void **state)
{
    (void)state;
    const provider_options o = quick();
    const http_answer script[] = {{.bytes = answer_stream(DELTA("a")), .then = THEN_HOLD}};
    server_start(&server, script, 1);
    char spec[160];
    snprintf(spec, sizeof spec, "openai:m@%s,openai:m@http://name.invalid", server.url);
    llm_session *s = open_at(spec, &o, NULL);
    llm_reply r;
    for (int i = 0; i < 8; i++) {
        llm_request q = question(i);
        assert_int_equal(llm_submit(s, &q, NULL), KW_OK);
    }
    while (server_asked(&server) == 0) {
        if (llm_poll(s, 20, &r))
            llm_reply_clear(&r);
    }
    int64_t start = clock_now_ns();
    llm_session_close(s);
    assert_true(clock_now_ns() - start < 2000000000LL);
    server_stop(&server);
}

/* ---- tokens and money ---- */

/* A try that failed on the way is charged beside the one that did not. */
static void failed_tries_cost(void **state)
{
    (void)state;
    const provider_options o = quick();
    const http_answer script[] = {
        {.bytes = answer_stream(DELTA("a") USAGE "data: {\"error\":{\"message\":\"died\",\"code\":500}}\n\n")},
        {.bytes = answer_stream(GOOD)}};
    server_start(&server, script, 2);
    write_config("{\"endpoints\":{\"here\":{\"url\":\"URL\",\"price\":{\"input\":1e6,\"output\":1e7}}}}");
    llm_session_options so = {.provider = o, .spec = "openai:m@here", .max_cost = 1000};
    llm_session *s;
    assert_int_equal(llm_session_open(&so, &s, NULL), KW_OK);
    llm_reply r = ask(s);
    assert_int_equal(r.usage.input, 22);
    assert_int_equal(r.usage.output, 6);
    assert_true(fabs(r.cost - 82) < 1e-6);
    expect(&r, LLM_OK, "Hello", NULL);
    assert_true(fabs(llm_session_totals(s).cost - 82) < 1e-6);
    assert_int_equal(llm_session_totals(s).unpriced, 0);
    llm_session_close(s);
    so.spec = "openai:m@http://127.0.0.1:1"; /* no price: no limit in money */
    kw_error err = {0};
    assert_int_equal(llm_session_open(&so, &s, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "price is not known"));
    server_stop(&server);
}

/* Three bytes a token at first; this model packs six into one, and says so. */
static void learns_tokens(void **state)
{
    (void)state;
    const provider_options o = quick();
    const http_answer script[] = {
        {.bytes = answer_stream(DELTA("a") FINISH("stop") "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1000,"
                                                          "\"completion_tokens\":1}}\n\n" DONE)}};
    server_start(&server, script, 1);
    char spec[128], prompt[6001];
    memset(prompt, 'x', 6000);
    prompt[6000] = 0;
    snprintf(spec, sizeof spec, "openai:m@%s", server.url);
    llm_session *s = open_at(spec, &o, NULL);
    assert_true(llm_bytes_per_token(s) == 3);
    for (int i = 0; i < 8; i++) {
        llm_request q = question(i);
        q.prompt = prompt;
        assert_int_equal(llm_submit(s, &q, NULL), KW_OK);
        llm_reply r = next(s);
        expect(&r, LLM_OK, "a", NULL);
    }
    assert_true(llm_bytes_per_token(s) > 5.5 && llm_bytes_per_token(s) < 6.1);
    llm_session_close(s);
    server_stop(&server);
}

static bool holds(const char *path, const char *what);

/* 60,000 bytes cannot be 1,000 tokens: the server dropped a part of the prompt, and nobody else would say so. */
static void warns_of_cut_prompts(void **state)
{
    (void)state;
    const provider_options o = quick();
    const http_answer script[] = {
        {.bytes = answer_stream(DELTA("a") FINISH("stop") "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1000,"
                                                          "\"completion_tokens\":1}}\n\n" DONE)}};
    server_start(&server, script, 1);
    char spec[128], *prompt = mem_calloc(1, 60001), *log = fs_join(folder, "log");
    memset(prompt, 'x', 60000);
    snprintf(spec, sizeof spec, "openai:m@%s", server.url);
    llm_session *s = open_at(spec, &o, NULL);
    int file = open(log, O_WRONLY | O_CREAT, 0600), old = dup(2);
    dup2(file, 2);
    llm_request q = question(1);
    q.prompt = prompt;
    assert_int_equal(llm_submit(s, &q, NULL), KW_OK);
    llm_reply r = next(s);
    dup2(old, 2);
    close(old);
    close(file);
    expect(&r, LLM_OK, "a", NULL);
    assert_true(holds(log, "context is too short"));
    assert_true(llm_bytes_per_token(s) == 3); /* nothing is learnt from it */
    llm_session_close(s);
    server_stop(&server);
    free(prompt);
    free(log);
}

/* ---- certificates ---- */

static bool make_certificate(const char *key, const char *cert)
{
    strb command = STRB_INIT;
    strb_printf(&command,
                "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost "
                "-addext subjectAltName=IP:127.0.0.1 -days 2 -keyout %s -out %s >/dev/null 2>&1",
                key, cert);
    int status = system(strb_text(&command)); /* NOLINT: a fixed command */
    strb_clear(&command);
    return status == 0;
}

/* openssl s_server, at a port that it chooses and says; -1. */
static pid_t start_tls(const char *key, const char *cert, int *port)
{
    int out[2];
    char line[256];
    assert_int_equal(pipe(out), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(out[1], 1);
        int none = open("/dev/null", O_RDWR);
        dup2(none, 0);
        dup2(none, 2);
        execlp("openssl", "openssl", "s_server", "-accept", "127.0.0.1:0", "-key", key, "-cert", cert, "-rev",
               (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    FILE *f = fdopen(out[0], "r");
    *port = 0;
    while (*port == 0 && fgets(line, sizeof line, f)) {
        const char *colon = strrchr(line, ':');
        if (strncmp(line, "ACCEPT", 6) == 0 && colon)
            *port = atoi(colon + 1);
    }
    fclose(f);
    return pid;
}

static void certificates(void **state)
{
    (void)state;
    const provider_options o = quick();
    char *key = fs_join(folder, "key.pem"), *cert = fs_join(folder, "cert.pem"), spec[128];
    int port = 0;
    pid_t pid = make_certificate(key, cert) ? start_tls(key, cert, &port) : -1;
    if (port == 0) {
        if (pid > 0) {
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
        }
        free(key);
        free(cert);
        print_message("skipped: no openssl that can serve\n");
        skip();
    }
    snprintf(spec, sizeof spec, "openai:m@https://127.0.0.1:%d", port);
    llm_session *s = open_at(spec, &o, NULL);
    llm_reply r = ask(s);
    assert_int_equal(r.tries, 1);
    assert_non_null(strstr(r.detail, "certificate"));
    expect(&r, LLM_STOPPED, NULL, "trusted certificates: the system's");
    llm_session_close(s);
    /* The certificate is good once its file is named, and the server is heard; it says the lines backwards. */
    const char *variables[] = {"CURL_CA_BUNDLE", "SSL_CERT_FILE"};
    for (size_t i = 0; i < 2; i++) {
        setenv(variables[i], cert, 1);
        s = open_at(spec, &o, NULL);
        r = ask(s);
        assert_null(strstr(r.detail, "certificate"));
        expect(&r, LLM_STOPPED, NULL, "HTTP/0.9");
        llm_session_close(s);
        unsetenv(variables[i]);
    }
    setenv("SSL_CERT_FILE", "/nowhere/at/all.pem", 1);
    s = open_at(spec, &o, NULL);
    r = ask(s);
    expect(&r, LLM_STOPPED, NULL, "SSL_CERT_FILE /nowhere/at/all.pem");
    llm_session_close(s);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    free(key);
    free(cert);
}

/* ---- the key ---- */

static bool holds(const char *path, const char *what)
{
    strb text = STRB_INIT;
    assert_int_equal(fs_read(path, 0, &text, NULL), KW_OK);
    bool found = memmem(strb_text(&text), text.length, what, strlen(what)) != NULL;
    strb_clear(&text);
    return found;
}

/* Even a server that says the key back finds no way into a record or a message. */
static void key_stays_secret(void **state)
{
    (void)state;
    const provider_options o = quick();
    setenv("OPENAI_API_KEY", SECRET, 1);
    setenv("KERNWRIGHT_LOG", "debug", 1);
    const http_answer script[] = {
        {.bytes = answer_plain(500, "", JSON_TYPE, "{\"error\":\"key " SECRET " crashed me\"}")},
        {.bytes =
             answer_plain(401, "", JSON_TYPE, "{\"error\":{\"message\":\"Incorrect API key provided: " SECRET "\"}}")}};
    server_start(&server, script, 2);
    char *log = fs_join(folder, "log"), *record = fs_join(folder, "record"), spec[128];
    int file = open(log, O_WRONLY | O_CREAT, 0600), old = dup(2);
    dup2(file, 2);
    snprintf(spec, sizeof spec, "openai:m@%s", server.url);
    llm_session *s = open_at(spec, &o, record);
    llm_reply r = ask(s);
    llm_session_close(s);
    dup2(old, 2);
    close(old);
    close(file);
    assert_non_null(strstr(server_request(&server, 1), "Authorization: Bearer " SECRET "\r\n"));
    assert_null(strstr(r.detail, SECRET));
    expect(&r, LLM_STOPPED, NULL, "Incorrect API key provided: ***");
    assert_false(holds(log, SECRET));
    assert_true(holds(log, "Incorrect API key"));
    char **names;
    size_t n;
    assert_int_equal(fs_list(record, NULL, &names, &n, NULL), KW_OK);
    assert_true(n > 0);
    for (size_t i = 0; i < n; i++) {
        char *path = fs_join(record, names[i]);
        assert_false(holds(path, SECRET));
        free(path);
        free(names[i]);
    }
    free(names);
    free(log);
    free(record);
    server_stop(&server);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(streams),           TEST(drips),
        TEST(whole_replies),     TEST(anthropic_streams),
        TEST(cut_replies),       TEST(no_answers),
        TEST(huge_reply),        TEST(thinking_is_kept_apart),
        TEST(gives_up),          TEST(honours_a_wait),
        TEST(other_forms),       TEST(waits_and_asks_again),
        TEST(unreachable),       TEST(limits),
        TEST(dead_connection),   TEST(long_waits_and_redirections),
        TEST(http2_resets),      TEST(through_a_proxy),
        TEST(several_in_flight), TEST(waits_for_the_model),
        TEST(failed_tries_cost), TEST(never_more_than_allowed),
        TEST(learns_tokens),     TEST(warns_of_cut_prompts),
        TEST(burst_of_429),      TEST(closes_at_once),
        TEST(certificates),      TEST(key_stays_secret),
    };
    return cmocka_run_group_tests_name("llm_http", tests, NULL, NULL);
}
