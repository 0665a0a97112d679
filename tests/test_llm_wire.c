/* What needs no connection: server-sent events, waits, bodies of requests, replies, errors and what they mean. */
#include "base/mem.h"
#include "base/strb.h"
#include "llm/dialect.h"
#include "llm/retry.h"
#include "llm/sse.h"
#include "llm/tokens.h"
#include "llm/wire.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- server-sent events ---- */

static bool note(void *user, const char *name, const char *data, size_t length)
{
    strb *out = user;
    strb_printf(out, "[%s|%.*s]", name, (int)length, data);
    return strcmp(data, "STOP") != 0;
}

static void check_events(const char *text, const char *expected)
{
    size_t n = strlen(text);
    for (size_t piece = 1; piece <= n; piece++) {
        strb out = STRB_INIT;
        sse s;
        sse_init(&s, note, &out);
        for (size_t at = 0; at < n; at += piece) {
            if (!sse_feed(&s, text + at, n - at < piece ? n - at : piece))
                break;
        }
        sse_end(&s);
        assert_string_equal(strb_text(&out), expected);
        sse_clear(&s);
        strb_clear(&out);
    }
}

static void events(void **state)
{
    (void)state;
    check_events("data: a\n\ndata:b\n\n", "[|a][|b]");
    check_events("data: a\r\n\r\ndata: b\r\rdata: c\n\r\ndata: d\r\n\n", "[|a][|b][|c][|d]");
    check_events(": comment\n\n: OPENROUTER PROCESSING\n\nevent: x\nid: 7\nretry: 10\nfoo\ndata: a\n\n", "[x|a]");
    check_events("data: a\ndata:\ndata:  b\n\n", "[|a\n\n b]");
    check_events("data: a\r\ndata: b\r\n\r\n", "[|a\nb]");
    check_events("event: lonely\n\ndata: a\n\n", "[|a]"); /* a name without data is no event, and does not stay */
    check_events("\xef\xbb\xbf"
                 "data: \xc3\xa9\xf0\x9f\x98\x80\n\n",
                 "[|\xc3\xa9\xf0\x9f\x98\x80]");
    check_events("data: a\n\ndata: half", "[|a][|half]");
    check_events("data: STOP\n\ndata: b\n\n", "[|STOP]");
    check_events("", "");
    check_events("data\n\n", "[|]");
}

/* ---- waits ---- */

static void waits(void **state)
{
    (void)state;
    const char *date = "Wed, 21 Oct 2026 07:28:00 GMT";
    assert_int_equal(retry_after(NULL, NULL, NULL, 0), -1);
    assert_int_equal(retry_after("250", "9", NULL, 0), 250);
    assert_int_equal(retry_after(NULL, "9", NULL, 0), 9000);
    assert_int_equal(retry_after("", "1.5", NULL, 0), 1500);
    assert_int_equal(retry_after(NULL, " 0.0401 ", NULL, 0), 41);
    assert_int_equal(retry_after(NULL, "-3", NULL, 0), 0);
    assert_int_equal(retry_after(NULL, "Wed, 21 Oct 2026 07:28:30 GMT", date, 0), 30000);
    assert_int_equal(retry_after(NULL, "Wednesday, 21-Oct-26 07:28:30 GMT", date, 0), 30000);
    assert_int_equal(retry_after(NULL, "Wed, 21 Oct 2026 07:27:00 GMT", date, 0), 0);
    assert_int_equal(retry_after(NULL, date, NULL, 1792567680 - 5), 5000);
    assert_int_equal(retry_after(NULL, "soon", NULL, 0), -1);
    assert_int_equal(retry_after(NULL, "inf", NULL, 0), -1);
    assert_true(retry_after(NULL, "1e300", NULL, 0) == -1 || retry_after(NULL, "1e300", NULL, 0) > 1000000);
    assert_true(retry_after(NULL, "99999999999999999999", NULL, 0) > 1000000000);
    for (int n = 0; n < 100; n++) {
        assert_int_equal(retry_backoff(n, 100, 0), 0);
        assert_true(retry_backoff(n, 100, 0.999) < 6400);
    }
    assert_int_equal(retry_backoff(2, 100, 0.5), 200);
    const int again[] = {408, 409, 429, 500, 502, 503, 504, 522, 523, 524, 529},
              never[] = {400, 401, 403, 404, 413, 422};
    for (size_t i = 0; i < sizeof again / sizeof *again; i++)
        assert_true(retry_status(again[i]));
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        assert_false(retry_status(never[i]));
}

/* ---- JSON of servers ---- */

static void lenient_json(void **state)
{
    (void)state;
    const char *texts[] = {"{\"a\":\"x\\u0000y\"}", "{\"a\":\"\\ud83d!\"}",
                           "{\"a\":\"\\udc00\"}",   "{\"a\":\"t\",\"created\":1700000000000000000}",
                           "{\"a\":\"\xc3\"}",      "{\"a\":\"\\ud83d\\ude00\"}"};
    const char *expected[] = {"x\xef\xbf\xbdy", "\xef\xbf\xbd!",   "\xef\xbf\xbd", "t",
                              "\xef\xbf\xbd",   "\xf0\x9f\x98\x80"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json *j = wire_parse(texts[i], strlen(texts[i]));
        assert_non_null(j);
        assert_string_equal(json_text(json_get(j, "a")), expected[i]);
        json_free(j);
    }
    const char *none[] = {"", "{", "<html>", "{\"a\":}", "{\"a\":\"\\u12\"}", "{\"a\":\"\\", "nul", "{} {}"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_null(wire_parse(none[i], strlen(none[i])));
}

/* ---- errors ---- */

static wire_error error_of(int status, const char *body)
{
    wire_error e;
    wire_error_of_body(body, strlen(body), "text/html", status, &e);
    assert_true(e.is_set);
    return e;
}

static void error_shapes(void **state)
{
    (void)state;
    const struct {
        const char *body, *says, *code;
    } cases[] = {
        {"{\"error\":{\"message\":\"no\\nway\",\"type\":\"t\",\"param\":\"p\",\"code\":\"c\"}}", "no way", "c"},
        {"{\"error\":{\"message\":\"busy\",\"code\":503}}", "busy", "503"},
        {"{\"error\":\"plain words\"}", "plain words", ""},
        {"{\"object\":\"error\",\"message\":\"flat\",\"code\":40303}", "flat", "40303"},
        {"{\"detail\":\"not allowed\"}", "not allowed", ""},
        {"{\"detail\":[{\"loc\":[\"body\",\"max_completion_tokens\"],\"msg\":\"Extra inputs are not permitted\"}]}",
         "body max_completion_tokens Extra inputs are not permitted", ""},
        {"[{\"error\":{\"code\":429,\"message\":\"in an array\",\"status\":\"RESOURCE_EXHAUSTED\"}}]", "in an array",
         "429"},
        {"{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}", "Overloaded", ""},
        {"{\"message\":\"only this\"}", "only this", ""},
        {"{\"error\":{\"message\":\"Provider returned error\",\"metadata\":{\"raw\":\"the cause\"}}}",
         "Provider returned error the cause", ""},
        {"upstream died\r\nsecond line", "upstream died (26 bytes of text/html)", ""},
        {"<html><head><title>504 Gateway Time-out</title></head><body>x</body></html>",
         "504 Gateway Time-out (75 bytes of text/html)", ""},
        {"<html><body><h1>Bad</h1> gateway</body></html>", "Bad gateway (46 bytes of text/html)", ""},
        {"", "(0 bytes of text/html)", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wire_error e = error_of(500, cases[i].body);
        assert_string_equal(e.message, cases[i].says);
        assert_string_equal(e.code, cases[i].code);
    }
    strb big = STRB_INIT;
    for (int i = 0; i < 100000; i++)
        strb_add(&big, "\xc3\xa9\x1b[");
    wire_error e = error_of(500, strb_text(&big));
    assert_true(strlen(e.message) < sizeof e.message);
    assert_null(strchr(e.message, '\x1b'));
    strb_clear(&big);
}

static void verdicts(void **state)
{
    (void)state;
    const struct {
        int status;
        const char *body;
        int64_t wait;
        wire_verdict verdict;
    } cases[] = {
        {429, "{\"error\":{\"message\":\"slow down\",\"code\":\"rate_limit_exceeded\"}}", 100, WIRE_RATE},
        {429, "{\"error\":{\"message\":\"You exceeded your current quota\",\"code\":\"insufficient_quota\"}}", -1,
         WIRE_STOP},
        {429, "{\"error\":{\"message\":\"exceeded your current quota, check your billing\"}}", -1, WIRE_STOP},
        {429, "{\"error\":{\"message\":\"exceeded your current quota, check your billing\"}}", 20000, WIRE_RATE},
        {429, "{\"error\":{\"message\":\"daily limit\"}}", 6 * 3600 * 1000, WIRE_STOP},
        {402, "{\"error\":\"Insufficient credits\"}", -1, WIRE_STOP},
        {400, "{\"error\":{\"message\":\"Your credit balance is too low\"}}", -1, WIRE_STOP},
        {401, "{\"error\":{\"message\":\"bad key\"}}", -1, WIRE_STOP},
        {403, "{\"error\":{\"message\":\"no access\"}}", -1, WIRE_STOP},
        {403, "{\"error\":{\"message\":\"input was flagged\"}}", -1, WIRE_BAD_REQUEST},
        {404, "{\"error\":{\"message\":\"nothing here\"}}", -1, WIRE_STOP},
        {400, "{\"error\":{\"message\":\"The model `x` does not exist\",\"code\":\"model_not_found\"}}", -1, WIRE_STOP},
        {400, "{\"error\":{\"message\":\"bad tool\"}}", -1, WIRE_BAD_REQUEST},
        {422, "{\"detail\":\"bad\"}", -1, WIRE_BAD_REQUEST},
        {413, "<html>413 Request Entity Too Large</html>", -1, WIRE_OVERFLOW},
        {400, "{\"error\":{\"message\":\"This model's maximum context length is 4096 tokens\"}}", -1, WIRE_OVERFLOW},
        {400,
         "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 3 > "
         "2\"}}",
         -1, WIRE_OVERFLOW},
        {400,
         "{\"error\":{\"code\":400,\"message\":\"the request exceeds the available context size\","
         "\"type\":\"exceed_context_size_error\"}}",
         -1, WIRE_OVERFLOW},
        {500, "{\"error\":{\"message\":\"boom\"}}", -1, WIRE_RETRY},
        {529, "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}", -1,
         WIRE_RETRY},
        {503, "{\"error\":{\"code\":503,\"message\":\"Loading model\",\"type\":\"unavailable_error\"}}", -1,
         WIRE_LOADING},
        {503, "try later", -1, WIRE_RETRY},
        {301, "", -1, WIRE_STOP},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wire_error e = error_of(cases[i].status, cases[i].body);
        if (wire_judge(&e, cases[i].wait) != cases[i].verdict)
            fail_msg("%d %s: %d", cases[i].status, cases[i].body, (int)wire_judge(&e, cases[i].wait));
    }
}

static void refused_fields(void **state)
{
    (void)state;
    wire_error e =
        error_of(400, "{\"error\":{\"message\":\"Unsupported parameter: 'max_tokens' is not supported with this "
                      "model. Use 'max_completion_tokens' instead.\",\"param\":\"max_tokens\"}}");
    assert_true(wire_refuses_field(&e, "max_tokens"));
    assert_false(wire_refuses_field(&e, "temperature"));
    e = error_of(422,
                 "{\"detail\":[{\"loc\":[\"body\",\"stream_options\"],\"msg\":\"Extra inputs are not permitted\"}]}");
    assert_true(wire_refuses_field(&e, "stream_options"));
    e = error_of(400, "{\"error\":{\"message\":\"Unsupported value: only the default (1)\",\"param\":\"temperature\","
                      "\"code\":\"unsupported_value\"}}");
    assert_true(wire_refuses_field(&e, "temperature"));
    e = error_of(400, "{\"error\":{\"message\":\"max_tokens is too large: 9 > 5\",\"param\":\"max_tokens\"}}");
    assert_false(wire_refuses_field(&e, "max_tokens"));
    e = error_of(500, "{\"error\":{\"message\":\"System role not supported\"}}");
    assert_true(wire_refuses_system(&e));
    e = error_of(400, "{\"error\":{\"message\":\"Conversation roles must alternate user/assistant\"}}");
    assert_true(wire_refuses_system(&e));
    e = error_of(400, "{\"error\":{\"message\":\"no\"}}");
    assert_false(wire_refuses_system(&e));
}

/* ---- bodies ---- */

static void check_body(const dialect *d, const dialect_request *q, const char *expected)
{
    strb text = STRB_INIT;
    json *j = d->body(q);
    json_print(j, &text);
    assert_string_equal(strb_text(&text), expected);
    strb_clear(&text);
    json_free(j);
}

static void bodies(void **state)
{
    (void)state;
    dialect_request q = {.model = "m",
                         .system = "",
                         .prompt = "p",
                         .max_tokens = 9,
                         .max_tokens_field = "max_tokens",
                         .temperature = NAN};
    check_body(&dialect_openai, &q,
               "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"p\"}],\"max_tokens\":9}");
    check_body(&dialect_anthropic, &q,
               "{\"model\":\"m\",\"max_tokens\":9,\"messages\":[{\"role\":\"user\",\"content\":\"p\"}]}");
    const char *more = "{\"cache_prompt\":false,\"temperature\":0.25}";
    json *extra = wire_parse(more, strlen(more));
    q.system = "s";
    q.temperature = 0.5;
    q.stream = q.ask_usage = true;
    q.max_tokens_field = "max_completion_tokens";
    q.extra = extra;
    check_body(
        &dialect_openai, &q,
        "{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\",\"content\":\"p\"}],"
        "\"max_completion_tokens\":9,\"temperature\":0.25,\"stream\":true,\"stream_options\":{\"include_usage\":true},"
        "\"cache_prompt\":false}");
    q.extra = NULL;
    q.max_tokens_field = "max_tokens";
    check_body(
        &dialect_anthropic, &q,
        "{\"model\":\"m\",\"max_tokens\":9,\"system\":\"s\",\"messages\":[{\"role\":\"user\",\"content\":\"p\"}],"
        "\"temperature\":0.5,\"stream\":true}");
    q.fold_system = true;
    q.stream = false;
    q.temperature = NAN;
    check_body(&dialect_openai, &q,
               "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"s\\n\\np\"}],\"max_tokens\":9}");
    json_free(extra);
}

/* ---- replies ---- */

static void feed(const dialect *d, wire_reply *r, const char *const *lines, size_t n)
{
    wire_reply_init(r);
    for (size_t i = 0; i < n; i++) {
        json *j = wire_parse(lines[i], strlen(lines[i]));
        assert_non_null(j);
        d->event(r, j);
        json_free(j);
    }
}

static void openai_stream(void **state)
{
    (void)state;
    const char *lines[] = {
        "{\"choices\":[],\"prompt_filter_results\":[]}",
        "{\"model\":\"real\",\"choices\":[{\"index\":1,\"delta\":{\"content\":\"other\"}},"
        "{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":null,\"reasoning_content\":\"hm\"}}],\"usage\":"
        "null}",
        "{\"choices\":[{\"delta\":{\"reasoning\":\" well\"}}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}",
        "{\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}",
        "{\"choices\":[{\"delta\":{\"content\":[{\"type\":\"text\",\"text\":\"lo\"},{\"type\":\"thinking\","
        "\"thinking\":"
        "[{\"type\":\"text\",\"text\":\"!\"}]}]},\"finish_reason\":\"stop\"}]}",
        ("{\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":20,\"total_tokens\":120,"
         "\"prompt_tokens_details\":{\"cached_tokens\":64},\"completion_tokens_details\":{\"reasoning_tokens\":5}}}"),
    };
    wire_reply r;
    feed(&dialect_openai, &r, lines, 6);
    assert_string_equal(strb_text(&r.text), "Hello");
    assert_string_equal(strb_text(&r.thinking), "hm well!");
    assert_string_equal(r.model, "real");
    assert_string_equal(r.finish, "stop");
    assert_true(r.complete && !r.error.is_set);
    assert_int_equal(r.usage.input, 36);
    assert_int_equal(r.usage.cache_read, 64);
    assert_int_equal(r.usage.cache_write, -1);
    assert_int_equal(r.usage.output, 20);
    assert_int_equal(r.usage.reasoning, 5);
    wire_reply_clear(&r);
    /* reasoning beside the completion, as the total shows */
    const char *beside[] = {
        "{\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":3,\"total_tokens\":20,"
        "\"completion_tokens_details\":{\"reasoning_tokens\":7}}}"};
    feed(&dialect_openai, &r, beside, 1);
    assert_int_equal(r.usage.output, 10);
    assert_false(r.complete);
    wire_reply_clear(&r);
}

static void anthropic_stream(void **state)
{
    (void)state;
    const char *lines[] = {
        ("{\"type\":\"message_start\",\"message\":{\"model\":\"c\",\"content\":[],\"usage\":{\"input_tokens\":30,"
         "\"cache_read_input_tokens\":400,\"cache_creation_input_tokens\":50,\"output_tokens\":1}}}"),
        "{\"type\":\"ping\"}",
        "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}",
        "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}",
        "{\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}",
        "{\"type\":\"something_new\",\"delta\":{\"text\":\"no\"}}",
        "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":9}}",
        "{\"type\":\"message_delta\",\"delta\":{},\"usage\":{\"output_tokens\":12}}",
        "{\"type\":\"message_stop\"}",
    };
    wire_reply r;
    feed(&dialect_anthropic, &r, lines, 8);
    assert_false(r.complete); /* message_stop is missing */
    wire_reply_clear(&r);
    feed(&dialect_anthropic, &r, lines, 9);
    assert_true(r.complete && r.terminal);
    assert_string_equal(strb_text(&r.text), "Hi");
    assert_string_equal(strb_text(&r.thinking), "hm");
    assert_int_equal(r.usage.input, 30);
    assert_int_equal(r.usage.cache_read, 400);
    assert_int_equal(r.usage.cache_write, 50);
    assert_int_equal(r.usage.output, 12);
    wire_reply_clear(&r);
    const char *broken[] = {
        "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}"};
    feed(&dialect_anthropic, &r, broken, 1);
    assert_true(r.error.is_set && r.terminal);
    assert_int_equal(r.error.status, 529);
    wire_reply_clear(&r);
}

static void whole_bodies(void **state)
{
    (void)state;
    const char *text =
        "{\"choices\":[{\"message\":{\"content\":null,\"reasoning\":\"hm\"},\"finish_reason\":\"length\"}]}";
    wire_reply r;
    json *j = wire_parse(text, strlen(text));
    wire_reply_init(&r);
    dialect_openai.whole(&r, j);
    json_free(j);
    assert_true(r.complete);
    assert_int_equal(r.text.length, 0);
    assert_string_equal(r.finish, "length");
    wire_reply_clear(&r);
    text = "{\"model\":\"c\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"hm\"},{\"type\":\"text\",\"text\":"
           "\"Hi\"}],"
           "\"stop_reason\":\"refusal\",\"usage\":{\"input_tokens\":3,\"output_tokens\":4}}";
    j = wire_parse(text, strlen(text));
    dialect_anthropic.whole(&r, j);
    json_free(j);
    assert_true(r.complete && r.refused);
    assert_string_equal(strb_text(&r.text), "Hi");
    wire_reply_clear(&r);
    const char *errors[] = {
        "{\"error\":{\"message\":\"x\",\"code\":502},\"choices\":[]}", "{\"object\":\"error\",\"message\":\"x\"}",
        "{\"choices\":[{\"error\":{\"code\":502,\"message\":\"x\"},\"message\":{\"content\":\"\"}}]}"};
    for (size_t i = 0; i < 3; i++) {
        j = wire_parse(errors[i], strlen(errors[i]));
        dialect_openai.whole(&r, j);
        json_free(j);
        assert_true(r.error.is_set);
        assert_int_equal(r.error.status, i == 1 ? 0 : 502);
        wire_reply_clear(&r);
    }
}

static void token_ratios(void **state)
{
    (void)state;
    token_ratio r = {0};
    assert_int_equal(tokens_estimate(&r, 3000), 1100);
    for (int i = 0; i < 100; i++)
        tokens_learn(&r, 8000, 2000);
    assert_true(tokens_bytes_each(&r) > 3.9 && tokens_bytes_each(&r) < 4);
    tokens_learn(&r, 8000, -1);
    tokens_learn(&r, 8000, 0);
    assert_true(tokens_bytes_each(&r) < 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events),       cmocka_unit_test(waits),         cmocka_unit_test(lenient_json),
        cmocka_unit_test(error_shapes), cmocka_unit_test(verdicts),      cmocka_unit_test(refused_fields),
        cmocka_unit_test(bodies),       cmocka_unit_test(openai_stream), cmocka_unit_test(anthropic_stream),
        cmocka_unit_test(whole_bodies), cmocka_unit_test(token_ratios),
    };
    return cmocka_run_group_tests_name("llm_wire", tests, NULL, NULL);
}
