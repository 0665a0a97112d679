#include "support_asking.h"

#include "base/fs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

char *asking_folder;
test_server asking_server;

provider_options asking_options(void)
{
    return (provider_options){.temperature = NAN,
                              .backoff_ms = 1,
                              .max_tries = 3,
                              .connect_ms = ASKING_FOREVER_MS,
                              .first_byte_ms = ASKING_FOREVER_MS,
                              .silence_ms = ASKING_FOREVER_MS,
                              .no_content_ms = ASKING_FOREVER_MS,
                              .total_ms = ASKING_FOREVER_MS};
}

int asking_set_up(void **state)
{
    (void)state;
    static const char *const variables[] = {
        "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "KERNWRIGHT_LLM_CONFIG", "http_proxy",   "https_proxy", "HTTPS_PROXY",
        "all_proxy",      "ALL_PROXY",         "CURL_CA_BUNDLE",        "SSL_CERT_FILE"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    asking_folder = fs_temp_folder("kernwright-test-", NULL);
    return asking_folder ? 0 : 1;
}

int asking_tear_down(void **state)
{
    (void)state;
    server_texts_free();
    fs_remove_tree(asking_folder);
    free(asking_folder);
    return 0;
}

llm_session *asking_open(const char *spec, const provider_options *o, const char *record)
{
    llm_session *s = NULL;
    kw_error err = {0};
    llm_session_options so = {.provider = *o, .spec = spec, .record = record};
    if (llm_session_open(&so, &s, &err) != KW_OK)
        fail_msg("%s", err.message);
    return s;
}

llm_request asking_question(int i)
{
    llm_request q = {.kind = "generate", .system = "You write kernels.", .prompt = "Write one.\n", .max_tokens = 1000};
    snprintf(q.key, sizeof q.key, "generate-%06d", i);
    return q;
}

llm_reply asking_next(llm_session *s)
{
    llm_reply r;
    assert_true(llm_poll(s, ASKING_FOREVER_MS, &r));
    return r;
}

llm_reply asking_one(llm_session *s)
{
    llm_request q = asking_question(1);
    kw_error err = {0};
    if (llm_submit(s, &q, &err) != KW_OK)
        fail_msg("%s", err.message);
    return asking_next(s);
}

llm_reply asking_script(const char *dialect, const http_answer *script, size_t n, const provider_options *o)
{
    char spec[128];
    server_start(&asking_server, script, n);
    snprintf(spec, sizeof spec, "%s:m@%s", dialect, asking_server.url);
    llm_session *s = asking_open(spec, o, NULL);
    llm_reply r = asking_one(s);
    llm_session_close(s);
    return r;
}

void asking_expect(llm_reply *r, llm_status status, const char *text, const char *says)
{
    if (r->status != status || (says && (!r->detail || !strstr(r->detail, says))))
        fail_msg("status %s, detail: %s", llm_status_name(r->status), r->detail ? r->detail : "none");
    if (text)
        assert_string_equal(r->text, text);
    llm_reply_clear(r);
}

void asking_check_dialect(const char *dialect, const char *bytes, llm_status status, const char *text, const char *says)
{
    const provider_options o = asking_options();
    const http_answer script[] = {{.bytes = bytes}};
    llm_reply r = asking_script(dialect, script, 1, &o);
    asking_expect(&r, status, text, says);
    server_stop(&asking_server);
}

void asking_check(const char *bytes, llm_status status, const char *text, const char *says)
{
    asking_check_dialect("openai", bytes, status, text, says);
}

void asking_config(const char *format)
{
    strb text = STRB_INIT;
    char *config = fs_join(asking_folder, "config.json");
    const char *place = strstr(format, "URL");
    strb_printf(&text, "%.*s%s%s", (int)(place - format), format, asking_server.url, place + 3);
    assert_int_equal(fs_write(config, strb_text(&text), text.length, NULL), KW_OK);
    setenv("KERNWRIGHT_LLM_CONFIG", config, 1);
    strb_clear(&text);
    free(config);
}
