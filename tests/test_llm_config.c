/* Addresses, keys, the configuration file and prices of the HTTP providers. */
#include "base/fs.h"
#include "base/mem.h"
#include "llm/config.h"
#include "llm/session.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char *folder, *path;

static int set_up(void **state)
{
    (void)state;
    unsetenv("OPENAI_API_KEY");
    unsetenv("ANTHROPIC_API_KEY");
    unsetenv("MY_KEY");
    unsetenv("KERNWRIGHT_LLM_CONFIG");
    folder = fs_temp_folder("kernwright-test-", NULL);
    path = fs_join(folder, "llm.json");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fs_remove_tree(folder);
    free(folder);
    free(path);
    return 0;
}

static kw_code open_with(const dialect *d, const char *rest, const char *config, endpoint *e, kw_error *err)
{
    provider_options o = {.temperature = NAN, .config_path = config ? path : NULL};
    if (config)
        assert_int_equal(fs_write(path, config, strlen(config), NULL), KW_OK);
    return endpoint_open(d, rest, &o, e, err);
}

static void addresses(void **state)
{
    (void)state;
    const char *const cases[][2] = {
        {"http://h:1", "http://h:1/v1/chat/completions"},
        {"http://h:1/", "http://h:1/v1/chat/completions"},
        {"http://h:1//", "http://h:1/v1/chat/completions"},
        {"http://h/v1", "http://h/v1/chat/completions"},
        {"http://h/v1/", "http://h/v1/chat/completions"},
        {"https://h/v1beta/openai/", "https://h/v1beta/openai/chat/completions"},
        {"https://h/v1/chat/completions", "https://h/v1/chat/completions"},
        {"https://h/v1/chat/completions/", "https://h/v1/chat/completions"},
        {"https://h/d/m/chat/completions?api-version=1", "https://h/d/m/chat/completions?api-version=1"},
        {"https://h/d/m?api-version=1", "https://h/d/m/chat/completions?api-version=1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *url = endpoint_url(cases[i][0], "/chat/completions");
        assert_string_equal(url, cases[i][1]);
        free(url);
    }
}

static void specifications(void **state)
{
    (void)state;
    endpoint e;
    kw_error err = {0};
    assert_int_equal(open_with(&dialect_openai, "org/m:7b@http://localhost:8080", NULL, &e, &err), KW_OK);
    assert_string_equal(e.model, "org/m:7b");
    assert_string_equal(e.url, "http://localhost:8080/v1/chat/completions");
    assert_null(e.key);
    assert_true(e.stream && !e.fold_system);
    endpoint_clear(&e);
    setenv("ANTHROPIC_API_KEY", "sk-x", 1);
    assert_int_equal(open_with(&dialect_anthropic, "claude", NULL, &e, &err), KW_OK);
    assert_string_equal(e.url, "https://api.anthropic.com/v1/messages");
    assert_string_equal(e.key, "sk-x");
    assert_int_equal(e.auth, AUTH_X_API_KEY);
    endpoint_clear(&e);
}

static void whole_file(void **state)
{
    (void)state;
    static const char config[] =
        "{\"endpoints\":{\"other\":{\"url\":\"http://other\"},\"mine\":{\"url\":\"http://gate.example/"
        "v1\",\"dialect\":\"openai\","
        "\"key_env\":\"MY_KEY\",\"auth\":\"x-api-key\",\"headers\":{\"X-Title\":\"kw\"},\"extra\":{\"cache_prompt\":"
        "false},"
        "\"max_tokens_field\":\"max_completion_tokens\",\"http_version\":\"1.1\",\"price\":{\"input\":2,\"output\":8,"
        "\"cache_read\":0.5},\"timeouts\":{\"silence\":7.5,\"total\":0},\"stream\":false,\"fold_system\":true,"
        "\"max_in_flight\":3}}}";
    const char *const names[] = {"m@mine", "m@http://gate.example/v1/"}; /* by name, and by address */
    for (size_t i = 0; i < 2; i++) {
        endpoint e;
        kw_error err = {0};
        setenv("MY_KEY", "abc", 1);
        assert_int_equal(open_with(&dialect_openai, names[i], config, &e, &err), KW_OK);
        assert_string_equal(e.url, "http://gate.example/v1/chat/completions");
        assert_string_equal(e.key, "abc"); /* named for this address: sent without TLS too */
        assert_int_equal(e.auth, AUTH_X_API_KEY);
        assert_string_equal(e.headers[0], "X-Title: kw");
        assert_null(e.headers[1]);
        assert_non_null(json_get(e.extra, "cache_prompt"));
        assert_string_equal(e.max_tokens_field, "max_completion_tokens");
        assert_int_equal(e.version, HTTP_1_1);
        assert_int_equal(e.limits.silence, 7500);
        assert_int_equal(e.limits.total, 0);
        assert_int_equal(e.limits.connect, 30000);
        assert_true(!e.stream && e.fold_system && e.max_in_flight == 3);
        const llm_usage usage = {.input = 1000000, .cache_read = 2000000, .cache_write = 10, .output = 500000};
        assert_true(fabs(endpoint_cost(&e.price, &usage) - (2 + 1 + 0.00002 + 4)) < 1e-9);
        endpoint_clear(&e);
        unsetenv("MY_KEY");
        assert_int_equal(open_with(&dialect_openai, names[i], config, &e, &err), KW_ENVIRONMENT);
        assert_non_null(strstr(err.message, "MY_KEY"));
    }
}

static void prices(void **state)
{
    (void)state;
    const endpoint_price none = {NAN, NAN, NAN, NAN}, some = {1, NAN, NAN, 2};
    llm_usage u = {.input = 10, .cache_read = -1, .cache_write = -1, .output = 10};
    assert_true(isnan(endpoint_cost(&none, &u)));
    assert_true(fabs(endpoint_cost(&some, &u) - 30e-6) < 1e-12);
    u.output = -1; /* unknown is not zero */
    assert_true(isnan(endpoint_cost(&some, &u)));
}

/* A key of the vendor's goes nowhere unencrypted unless the address is this machine. */
static void key_stays_home(void **state)
{
    (void)state;
    const struct {
        const char *rest;
        bool sent;
    } cases[] = {{"m@http://gate.example/v1", false},  {"m@https://gate.example/v1", true},
                 {"m@http://localhost:1", true},       {"m@http://127.0.0.1:1/v1", true},
                 {"m@http://[::1]:1/v1", true},        {"m", true},
                 {"m@http://localhost.example", false}};
    setenv("OPENAI_API_KEY", "sk-x", 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        endpoint e;
        assert_int_equal(open_with(&dialect_openai, cases[i].rest, NULL, &e, NULL), KW_OK);
        assert_int_equal(e.key != NULL, cases[i].sent);
        endpoint_clear(&e);
    }
}

static void refused(void **state)
{
    (void)state;
#define ONE(members) "{\"endpoints\":{\"one\":{\"url\":\"http://h\"" members "}}}"
    const struct {
        const char *rest, *config;
        kw_code code;
        const char *says;
    } cases[] = {
        {"", NULL, KW_BAD_INPUT, "name a model"},
        {"@http://h", NULL, KW_BAD_INPUT, "name a model"},
        {"m", NULL, KW_ENVIRONMENT, "OPENAI_API_KEY"},
        {"m@https://api.openai.com/v1", NULL, KW_ENVIRONMENT, "OPENAI_API_KEY"},
        {"m@h:8080", NULL, KW_BAD_INPUT, "neither an address"},
        {"m@on", ONE(""), KW_BAD_INPUT, "did you mean \"one\"?"},
        {"m@ftp://h", NULL, KW_BAD_INPUT, "no http:// or https://"},
        {"m@http://", NULL, KW_BAD_INPUT, "no http:// or https://"},
        {"m@http://me:pass@h/v1", NULL, KW_BAD_INPUT, "must not hold a password"},
        {"m@https://h/v1?key=abc", NULL, KW_BAD_INPUT, "must not hold a key"},
        {"m@http://h/a b", NULL, KW_BAD_INPUT, "spaces"},
        {"m@one", "{\"endpoints\":{\"one\":{}}}", KW_BAD_INPUT, "url"},
        {"m@one", "{\"endpoint\":{}}", KW_BAD_INPUT, "endpoint"},
        {"m@one", "[]", KW_BAD_INPUT, ""},
        {"m@one", "{oops", KW_BAD_INPUT, "llm.json:1:2"},
        {"m@one", ONE(",\"key\":\"sk\""), KW_BAD_INPUT, "key_env"},
        {"m@http://other", ONE(",\"timeout\":{}"), KW_BAD_INPUT, "timeouts"}, /* of an entry that is not asked */
        {"m@one", ONE(",\"auth\":\"basic\""), KW_BAD_INPUT, "none, bearer, x-api-key"},
        {"m@one", ONE(",\"http_version\":\"3\""), KW_BAD_INPUT, "any, 1.1, 2"},
        {"m@one", ONE(",\"dialect\":\"gemini\""), KW_BAD_INPUT, "none of openai, anthropic"},
        {"m@one", ONE(",\"dialect\":\"anthropic\""), KW_BAD_INPUT, "anthropic:MODEL@"},
        {"m@one", ONE(",\"headers\":{\"A B\":\"c\"}"), KW_BAD_INPUT, "no name of a header"},
        {"m@one", ONE(",\"headers\":{\"A\":\"c\\r\\nX: y\"}"), KW_BAD_INPUT, "one line"},
        {"m@one", ONE(",\"extra\":{\"model\":\"x\"}"), KW_BAD_INPUT, "not yours to set"},
        {"m@one", ONE(",\"price\":{\"input\":-1}"), KW_BAD_INPUT, "price.input"},
        {"m@one", ONE(",\"price\":{\"in\":1}"), KW_BAD_INPUT, "input"},
        {"m@one", ONE(",\"timeouts\":{\"silence\":\"9\"}"), KW_BAD_INPUT, "timeouts.silence"},
        {"m@one", ONE(",\"ca_file\":\"/nowhere/at/all\""), KW_BAD_INPUT, "/nowhere/at/all"},
        {"m@one", ONE(",\"max_in_flight\":0"), KW_BAD_INPUT, "1 to 1000"},
        {"m@one", ONE(",\"key_env\":\"MY_KEY\""), KW_ENVIRONMENT, "MY_KEY"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        endpoint e;
        kw_error err = {0};
        kw_code code = open_with(&dialect_openai, cases[i].rest, cases[i].config, &e, &err);
        if (code != cases[i].code || !strstr(err.message, cases[i].says))
            fail_msg("case %zu (%s): %d %s", i, cases[i].rest, (int)code, err.message);
        assert_null(strstr(err.message, "pass@"));
        assert_null(strstr(err.message, "abc"));
    }
    setenv("OPENAI_API_KEY", "sk\r\nX: y", 1);
    endpoint e;
    kw_error err = {0};
    assert_int_equal(open_with(&dialect_openai, "m", NULL, &e, &err), KW_ENVIRONMENT);
    assert_null(strstr(err.message, "sk"));
}

static void certificates(void **state)
{
    (void)state;
    const char *from;
    unsetenv("CURL_CA_BUNDLE");
    unsetenv("SSL_CERT_FILE");
    http_ca_file(NULL, &from);
    assert_string_equal(from, "the system's");
    setenv("SSL_CERT_FILE", "b", 1);
    assert_string_equal(http_ca_file(NULL, &from), "b");
    setenv("CURL_CA_BUNDLE", "a", 1);
    assert_string_equal(http_ca_file(NULL, &from), "a");
    assert_string_equal(from, "CURL_CA_BUNDLE");
    assert_string_equal(http_ca_file("c", &from), "c");
    unsetenv("CURL_CA_BUNDLE");
    unsetenv("SSL_CERT_FILE");
}

/* What this call says on standard error; the caller frees. */
static char *said_by(void (*call)(void))
{
    char *log = fs_join(folder, "log");
    int file = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600), old = dup(2);
    strb text = STRB_INIT;
    dup2(file, 2);
    call();
    dup2(old, 2);
    close(old);
    close(file);
    assert_int_equal(fs_read(log, 0, &text, NULL), KW_OK);
    free(log);
    return strb_take(&text);
}

static const char both[] = "{\"endpoints\": {\"lab\": {\"url\": \"http://h\", \"extra\": {\"top_p\": 0.9}}}}",
                  whole[] = "{\"endpoints\": {\"lab\": {\"url\": \"http://127.0.0.1:9\", \"stream\": false}}}";

static void open_both(void)
{
    provider_options o = {.temperature = 0.5, .config_path = path};
    endpoint e;
    assert_int_equal(endpoint_open(&dialect_openai, "m@lab", &o, &e, NULL), KW_OK);
    endpoint_clear(&e);
}

static void ask_whole(void)
{
    provider_options o = {.temperature = NAN, .config_path = path, .max_tries = 1};
    llm_session_options so = {.provider = o, .spec = "openai:m@lab"};
    llm_session *s;
    assert_int_equal(llm_session_open(&so, &s, NULL), KW_OK);
    llm_request q = {.key = "generate-000001", .kind = "generate", .system = "", .prompt = "p", .max_tokens = 100000};
    assert_int_equal(llm_submit(s, &q, NULL), KW_OK);
    llm_session_close(s);
}

/* Told before it fails: two ways to sample at once; a long reply over a connection that may not last so long. */
static void warnings(void **state)
{
    (void)state;
    assert_int_equal(fs_write(path, both, strlen(both), NULL), KW_OK);
    char *text = said_by(open_both);
    assert_non_null(strstr(text, "both a temperature and top_p"));
    free(text);
    assert_int_equal(fs_write(path, whole, strlen(whole), NULL), KW_OK);
    text = said_by(ask_whole);
    assert_non_null(strstr(text, "generate-000001: 100000 tokens without a stream"));
    free(text);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(addresses), TEST(specifications), TEST(whole_file),   TEST(prices),
                                       TEST(refused),   TEST(key_stays_home), TEST(certificates), TEST(warnings)};
    return cmocka_run_group_tests_name("llm_config", tests, NULL, NULL);
}
