/* openai: and anthropic: below the replies: connections, limits, several at once, tokens and money, and the key. No
 * time decides: where a limit must fire it is short and the server silent for ever; where it must not, it is far. */
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "support_asking.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- connections ---- */

static void unreachable(void **state)
{
    (void)state;
    const provider_options o = asking_options();
    llm_session *s = asking_open("openai:m@http://name.invalid/v1", &o, NULL);
    llm_reply r = asking_one(s);
    asking_expect(&r, LLM_STOPPED, NULL, "name.invalid");
    llm_session_close(s);
    /* a port that nobody listens at: the one of a server that is gone */
    const http_answer script[] = {{.bytes = ""}};
    server_start(&asking_server, script, 1);
    char spec[128];
    snprintf(spec, sizeof spec, "openai:m@%s", asking_server.url);
    server_stop(&asking_server);
    s = asking_open(spec, &o, NULL);
    r = asking_one(s);
    assert_int_equal(r.tries, 3);
    asking_expect(&r, LLM_STOPPED, NULL, "127.0.0.1");
    llm_session_close(s);
}

/* A limit that fires, but not before what comes first has come. */
#define SHORT_MS 8000

static void limits(void **state)
{
    (void)state;
    provider_options o = asking_options();
    const char *head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    o.max_tries = 1;
    o.first_byte_ms = SHORT_MS; /* the head comes within it */
    const http_answer mute[] = {{.bytes = head, .then = THEN_HOLD}};
    llm_reply r = asking_script("openai", mute, 1, &o);
    asking_expect(&r, LLM_FAILED, NULL, "timeouts.first_byte");
    server_stop(&asking_server);
    const http_answer no_head[] = {{.bytes = NULL, .then = THEN_HOLD}};
    o.first_byte_ms = 50;
    r = asking_script("openai", no_head, 1, &o);
    asking_expect(&r, LLM_STOPPED, NULL, "timeouts.first_byte"); /* never a word */
    server_stop(&asking_server);
    o = asking_options();
    o.silence_ms = 50;
    const http_answer stalls[] = {{.bytes = answer_stream(DELTA("half")), .then = THEN_HOLD}};
    r = asking_script("openai", stalls, 1, &o);
    asking_expect(&r, LLM_CUT, "half", "timeouts.silence");
    server_stop(&asking_server);
    const http_answer finished[] = {{.bytes = answer_stream(DELTA("all") FINISH("stop")), .then = THEN_HOLD}};
    r = asking_script("openai", finished, 1, &o); /* no [DONE], no end: the finish reason is enough */
    asking_expect(&r, LLM_OK, "all", NULL);
    server_stop(&asking_server);
    o = asking_options();
    o.max_tries = 1;
    o.no_content_ms = SHORT_MS;
    const http_answer pings[] = {{.bytes = head, .then = THEN_PING}};
    r = asking_script("openai", pings, 1, &o);
    asking_expect(&r, LLM_FAILED, NULL, "timeouts.no_content");
    server_stop(&asking_server);
    o = asking_options();
    o.total_ms = SHORT_MS;
    const http_answer slow[] = {{.bytes = answer_stream(DELTA("a")), .then = THEN_PING}};
    r = asking_script("openai", slow, 1, &o);
    asking_expect(&r, LLM_CUT, "a", "timeouts.total");
    server_stop(&asking_server);
}

/* A listener whose queue is full: connections to it neither succeed nor fail. */
static int start_deaf(char *url, size_t size, int fillers[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(listener, 0), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    for (int i = 0; i < 2; i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        assert_true(connect(fillers[i], (struct sockaddr *)&address, length) == 0 || errno == EINPROGRESS);
    }
    snprintf(url, size, "openai:m@http://127.0.0.1:%d", ntohs(address.sin_port));
    return listener;
}

/* Time in which nobody polled is not the server's fault; time in which somebody did is. */
static void no_connection(void **state)
{
    (void)state;
    provider_options o = asking_options();
    char spec[128];
    int fillers[2], listener = start_deaf(spec, sizeof spec, fillers);
    o.max_tries = 1;
    o.connect_ms = 3000;
    llm_session *s = asking_open(spec, &o, NULL);
    llm_request q = asking_question(1);
    llm_reply r;
    assert_int_equal(llm_submit(s, &q, NULL), KW_OK);
    assert_false(llm_poll(s, 0, &r));
    usleep(3500000);
    assert_false(llm_poll(s, 0, &r));
    r = asking_next(s);
    assert_true(r.tries >= 2);
    asking_expect(&r, LLM_STOPPED, NULL, "timeouts.connect");
    llm_session_close(s);
    for (int i = 0; i < 2; i++)
        close(fillers[i]);
    close(listener);
}

/* One look is enough for a request to reach the server, though nobody polls again for long. */
static void sets_out_at_once(void **state)
{
    (void)state;
    const provider_options o = asking_options();
    const http_answer script[] = {{.bytes = answer_stream(GOOD)}};
    server_start(&asking_server, script, 1);
    char spec[128];
    snprintf(spec, sizeof spec, "openai:m@%s", asking_server.url);
    llm_session *s = asking_open(spec, &o, NULL);
    llm_request q = asking_question(1);
    llm_reply r;
    assert_int_equal(llm_submit(s, &q, NULL), KW_OK);
    bool came = llm_poll(s, 0, &r);
    for (int i = 0; i < ASKING_FOREVER_MS / 10 && server_asked(&asking_server) == 0; i++)
        usleep(10000);
    assert_int_equal(server_asked(&asking_server), 1);
    if (!came)
        r = asking_next(s);
    asking_expect(&r, LLM_OK, "Hello", NULL);
    llm_session_close(s);
    server_stop(&asking_server);
}

/* A kept connection dies between two questions: the second is asked again at once, at no cost. */
static void dead_connection(void **state)
{
    (void)state;
    provider_options o = asking_options();
    o.max_tries = 1;
    const char *fine = answer_plain(200, "", JSON_TYPE,
                                    "{\"choices\":[{\"message\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}");
    const http_answer script[] = {
        {.bytes = fine, .then = THEN_KEEP}, {.bytes = NULL, .then = THEN_CLOSE}, {.bytes = fine}};
    server_start(&asking_server, script, 3);
    char spec[128];
    snprintf(spec, sizeof spec, "openai:m@%s", asking_server.url);
    llm_session *s = asking_open(spec, &o, NULL);
    for (int i = 0; i < 2; i++) {
        llm_reply r = asking_one(s);
        asking_expect(&r, LLM_OK, "Hi", NULL);
    }
    llm_session_close(s);
    assert_int_equal(server_asked(&asking_server), 3);
    server_stop(&asking_server);
}

/* HTTP/2 whose streams are reset: after two of them HTTP/1.1 is spoken. */
static void http2_resets(void **state)
{
    (void)state;
    const provider_options o = asking_options();
    /* SETTINGS, their acknowledgement, RST_STREAM of stream 1 with INTERNAL_ERROR */
    static const char frames[] = "\0\0\0\4\0\0\0\0\0"
                                 "\0\0\0\4\1\0\0\0\0"
                                 "\0\0\4\3\0\0\0\0\1"
                                 "\0\0\0\2";
    const http_answer reset = {.bytes = frames, .length = sizeof frames - 1, .then = THEN_HOLD};
    const http_answer script[] = {reset, reset, {.bytes = answer_stream(GOOD)}};
    server_start(&asking_server, script, 3);
    asking_config("{\"endpoints\":{\"h2\":{\"url\":\"URL\",\"http_version\":\"2\"}}}");
    llm_session *s = asking_open("openai:m@h2", &o, NULL);
    llm_reply r = asking_one(s);
    assert_int_equal(r.tries, 3);
    asking_expect(&r, LLM_OK, "Hello", NULL);
    llm_session_close(s);
    assert_non_null(strstr(server_request(&asking_server, 0), "PRI * HTTP/2"));
    assert_non_null(strstr(server_request(&asking_server, 2), "HTTP/1.1\r\n"));
    server_stop(&asking_server);
}

static void through_a_proxy(void **state)
{
    (void)state;
    const provider_options o = asking_options();
    const http_answer script[] = {{.bytes = answer_stream(GOOD)}};
    server_start(&asking_server, script, 1);
    setenv("http_proxy", asking_server.url, 1);
    llm_session *s = asking_open("openai:m@http://name.invalid/api", &o, NULL);
    llm_reply r = asking_one(s);
    asking_expect(&r, LLM_OK, "Hello", NULL);
    llm_session_close(s);
    assert_non_null(
        strstr(server_request(&asking_server, 0), "POST http://name.invalid/api/chat/completions HTTP/1.1"));
    server_stop(&asking_server);
}

static void several_in_flight(void **state)
{
    (void)state;
    const provider_options o = asking_options();
    http_answer script[12];
    for (size_t i = 0; i < 12; i++)
        script[i] = (http_answer){.bytes = answer_stream(GOOD), .piece = 150, .pause_ms = 150};
    server_start(&asking_server, script, 12);
    char spec[128];
    snprintf(spec, sizeof spec, "openai:m@%s", asking_server.url);
    llm_session *s = asking_open(spec, &o, NULL);
    bool seen[12] = {false};
    for (int i = 0; i < 12; i++) {
        llm_request q = asking_question(i);
        assert_int_equal(llm_submit(s, &q, NULL), KW_OK);
    }
    for (int i = 0; i < 12; i++) {
        llm_reply r = asking_next(s);
        int n = atoi(r.key + strlen("generate-"));
        assert_true(n >= 0 && n < 12 && !seen[n]);
        seen[n] = true;
        asking_expect(&r, LLM_OK, "Hello", NULL);
    }
    size_t most = 0;
    for (size_t i = 0; i < 12; i++)
        most = server_busy_at(&asking_server, i) > most ? server_busy_at(&asking_server, i) : most;
    assert_true(most > 1);
    llm_session_close(s);
    server_stop(&asking_server);
}

/* A burst of refusals: all get through in the end, half as many at a time or fewer. */
static void burst_of_429(void **state)
{
    (void)state;
    const provider_options o = asking_options();
    http_answer script[9];
    const char *busy = answer_plain(429, "", JSON_TYPE, "{\"error\":\"slow\"}"), *good = answer_stream(GOOD);
    for (size_t i = 0; i < 9; i++)
        script[i] = (http_answer){.bytes = i < 8 ? busy : good, .piece = i < 8 ? 0 : 150, .pause_ms = i < 8 ? 0 : 30};
    server_start(&asking_server, script, 9);
    char spec[128];
    snprintf(spec, sizeof spec, "openai:m@%s", asking_server.url);
    llm_session *s = asking_open(spec, &o, NULL);
    for (int i = 0; i < 8; i++) {
        llm_request q = asking_question(i);
        assert_int_equal(llm_submit(s, &q, NULL), KW_OK);
    }
    for (int i = 0; i < 8; i++) {
        llm_reply r = asking_next(s);
        asking_expect(&r, LLM_OK, "Hello", NULL);
    }
    assert_int_equal(server_asked(&asking_server), 16);
    for (size_t i = 8; i < 16; i++)
        assert_true(server_busy_at(&asking_server, i) <= 4);
    llm_session_close(s);
    server_stop(&asking_server);
}

static void never_more_than_allowed(void **state)
{
    (void)state;
    const provider_options o = asking_options();
    const http_answer script[] = {{.bytes = answer_stream(GOOD), .piece = 150, .pause_ms = 20}};
    server_start(&asking_server, script, 1);
    asking_config("{\"endpoints\":{\"narrow\":{\"url\":\"URL\",\"max_in_flight\":2}}}");
    llm_session *s = asking_open("openai:m@narrow", &o, NULL);
    for (int i = 0; i < 8; i++) {
        llm_request q = asking_question(i);
        assert_int_equal(llm_submit(s, &q, NULL), KW_OK);
    }
    for (size_t i = 0; i < 8; i++) {
        llm_reply r = asking_next(s);
        asking_expect(&r, LLM_OK, "Hello", NULL);
        assert_true(server_busy_at(&asking_server, i) <= 2);
    }
    llm_session_close(s);
    server_stop(&asking_server);
}

static void closes_at_once(void **state)
{
    (void)state;
    const provider_options o = asking_options();
    const http_answer script[] = {{.bytes = answer_stream(DELTA("a")), .then = THEN_HOLD}};
    server_start(&asking_server, script, 1);
    char spec[160];
    snprintf(spec, sizeof spec, "openai:m@%s,openai:m@http://name.invalid", asking_server.url);
    llm_session *s = asking_open(spec, &o, NULL);
    llm_reply r;
    for (int i = 0; i < 8; i++) {
        llm_request q = asking_question(i);
        assert_int_equal(llm_submit(s, &q, NULL), KW_OK);
    }
    while (server_asked(&asking_server) == 0) {
        if (llm_poll(s, 20, &r))
            llm_reply_clear(&r);
    }
    int64_t start = clock_now_ns();
    llm_session_close(s); /* what is held would be for ever */
    assert_true(clock_now_ns() - start < ASKING_FOREVER_MS / 2 * 1000000LL);
    server_stop(&asking_server);
}

/* ---- tokens and money ---- */

/* A try that failed on the way is charged beside the one that did not. */
static void failed_tries_cost(void **state)
{
    (void)state;
    const provider_options o = asking_options();
    const http_answer script[] = {
        {.bytes = answer_stream(DELTA("a") USAGE "data: {\"error\":{\"message\":\"died\",\"code\":500}}\n\n")},
        {.bytes = answer_stream(GOOD)}};
    server_start(&asking_server, script, 2);
    asking_config("{\"endpoints\":{\"here\":{\"url\":\"URL\",\"price\":{\"input\":1e6,\"output\":1e7}}}}");
    llm_session_options so = {.provider = o, .spec = "openai:m@here", .max_cost = 20000};
    llm_session *s;
    assert_int_equal(llm_session_open(&so, &s, NULL), KW_OK);
    llm_reply r = asking_one(s);
    assert_int_equal(r.usage.input, 22);
    assert_int_equal(r.usage.output, 6);
    assert_true(fabs(r.cost - 82) < 1e-6);
    asking_expect(&r, LLM_OK, "Hello", NULL);
    assert_true(fabs(llm_session_totals(s).cost - 82) < 1e-6);
    assert_int_equal(llm_session_totals(s).unpriced, 0);
    llm_session_close(s);
    so.spec = "openai:m@http://127.0.0.1:1"; /* no price: no limit in money */
    kw_error err = {0};
    assert_int_equal(llm_session_open(&so, &s, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "price is not known"));
    server_stop(&asking_server);
}

/* Three bytes a token at first; this model packs six into one, and says so. */
static void learns_tokens(void **state)
{
    (void)state;
    const provider_options o = asking_options();
    const http_answer script[] = {
        {.bytes = answer_stream(DELTA("a") FINISH("stop") "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1000,"
                                                          "\"completion_tokens\":1}}\n\n" DONE)}};
    server_start(&asking_server, script, 1);
    char spec[128], prompt[6001];
    memset(prompt, 'x', 6000);
    prompt[6000] = 0;
    snprintf(spec, sizeof spec, "openai:m@%s", asking_server.url);
    llm_session *s = asking_open(spec, &o, NULL);
    assert_true(llm_bytes_per_token(s) == 3);
    for (int i = 0; i < 8; i++) {
        llm_request q = asking_question(i);
        q.prompt = prompt;
        assert_int_equal(llm_submit(s, &q, NULL), KW_OK);
        llm_reply r = asking_next(s);
        asking_expect(&r, LLM_OK, "a", NULL);
    }
    assert_true(llm_bytes_per_token(s) > 5.5 && llm_bytes_per_token(s) < 6.1);
    llm_session_close(s);
    server_stop(&asking_server);
}

static bool holds(const char *path, const char *what);

/* 60,000 bytes cannot be 1,000 tokens: the server dropped a part of the prompt, and nobody else would say so. */
static void warns_of_cut_prompts(void **state)
{
    (void)state;
    const provider_options o = asking_options();
    const http_answer script[] = {
        {.bytes = answer_stream(DELTA("a") FINISH("stop") "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1000,"
                                                          "\"completion_tokens\":1}}\n\n" DONE)}};
    server_start(&asking_server, script, 1);
    char spec[128], *prompt = mem_calloc(1, 60001), *log = fs_join(asking_folder, "log");
    memset(prompt, 'x', 60000);
    snprintf(spec, sizeof spec, "openai:m@%s", asking_server.url);
    llm_session *s = asking_open(spec, &o, NULL);
    int file = open(log, O_WRONLY | O_CREAT, 0600), old = dup(2);
    dup2(file, 2);
    llm_request q = asking_question(1);
    q.prompt = prompt;
    assert_int_equal(llm_submit(s, &q, NULL), KW_OK);
    llm_reply r = asking_next(s);
    dup2(old, 2);
    close(old);
    close(file);
    asking_expect(&r, LLM_OK, "a", NULL);
    assert_true(holds(log, "context is too short"));
    assert_true(llm_bytes_per_token(s) == 3); /* nothing is learnt from it */
    llm_session_close(s);
    server_stop(&asking_server);
    free(prompt);
    free(log);
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
    const provider_options o = asking_options();
    setenv("OPENAI_API_KEY", ASKING_KEY, 1);
    setenv("KERNWRIGHT_LOG", "debug", 1);
    const http_answer script[] = {
        {.bytes = answer_plain(500, "", JSON_TYPE, "{\"error\":\"key " ASKING_KEY " crashed me\"}")},
        {.bytes = answer_plain(401, "", JSON_TYPE,
                               "{\"error\":{\"message\":\"Incorrect API key provided: " ASKING_KEY "\"}}")}};
    server_start(&asking_server, script, 2);
    char *log = fs_join(asking_folder, "log"), *record = fs_join(asking_folder, "record"), spec[128];
    int file = open(log, O_WRONLY | O_CREAT, 0600), old = dup(2);
    dup2(file, 2);
    snprintf(spec, sizeof spec, "openai:m@%s", asking_server.url);
    llm_session *s = asking_open(spec, &o, record);
    llm_reply r = asking_one(s);
    llm_session_close(s);
    dup2(old, 2);
    close(old);
    close(file);
    assert_non_null(strstr(server_request(&asking_server, 1), "Authorization: Bearer " ASKING_KEY "\r\n"));
    assert_null(strstr(r.detail, ASKING_KEY));
    asking_expect(&r, LLM_STOPPED, NULL, "Incorrect API key provided: ***");
    assert_false(holds(log, ASKING_KEY));
    assert_true(holds(log, "Incorrect API key"));
    char **names;
    size_t n;
    assert_int_equal(fs_list(record, NULL, &names, &n, NULL), KW_OK);
    assert_true(n > 0);
    for (size_t i = 0; i < n; i++) {
        char *path = fs_join(record, names[i]);
        assert_false(holds(path, ASKING_KEY));
        free(path);
        free(names[i]);
    }
    free(names);
    free(log);
    free(record);
    server_stop(&asking_server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ASKING_TEST(unreachable),       ASKING_TEST(limits),
        ASKING_TEST(no_connection),     ASKING_TEST(sets_out_at_once),
        ASKING_TEST(dead_connection),   ASKING_TEST(http2_resets),
        ASKING_TEST(through_a_proxy),   ASKING_TEST(several_in_flight),
        ASKING_TEST(failed_tries_cost), ASKING_TEST(never_more_than_allowed),
        ASKING_TEST(learns_tokens),     ASKING_TEST(warns_of_cut_prompts),
        ASKING_TEST(burst_of_429),      ASKING_TEST(closes_at_once),
        ASKING_TEST(key_stays_secret),
    };
    return cmocka_run_group_tests_name("llm_link", tests, NULL, NULL);
}
