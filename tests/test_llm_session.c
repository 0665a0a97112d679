/* Exchanges as files, the providers that need no network, and the session over them. */
#include "base/fs.h"
#include "base/mem.h"
#include "llm/session.h"
#include "tests/support_limits.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char *folder; /* a fresh one for every test */

static int make_folder(void **state)
{
    (void)state;
    folder = fs_temp_folder("kernwright-test-", NULL);
    return folder ? 0 : 1;
}

static int remove_folder(void **state)
{
    (void)state;
    fs_remove_tree(folder);
    free(folder);
    return 0;
}

static llm_request question(const char *key)
{
    llm_request q = {.kind = "generate", .system = "You write kernels.", .prompt = "Write one.\n", .max_tokens = 1000};
    snprintf(q.key, sizeof q.key, "%s", key);
    return q;
}

/* Text of FOLDER/NAME; the caller frees. */
static char *file_text(const char *name)
{
    strb text = STRB_INIT;
    char *path = fs_join(folder, name);
    assert_int_equal(fs_read(path, 0, &text, NULL), KW_OK);
    free(path);
    return strb_take(&text);
}

static void put(const char *name, const char *text, size_t length)
{
    char *path = fs_join(folder, name);
    assert_int_equal(fs_write(path, text, length, NULL), KW_OK);
    free(path);
}

static kw_code open_session(const char *format, const char *record, int64_t max_tokens, double max_cost,
                            llm_session **out, kw_error *err)
{
    strb spec = STRB_INIT;
    char *place = strstr(format, "FOLDER") ? folder : NULL;
    const char *at = place ? strstr(format, "FOLDER") : format + strlen(format);
    strb_printf(&spec, "%.*s%s%s", (int)(at - format), format, place ? place : "", place ? at + 6 : "");
    llm_session_options o = {.provider = {.temperature = NAN},
                             .spec = strb_text(&spec),
                             .record = record,
                             .max_tokens_total = max_tokens,
                             .max_cost = max_cost};
    kw_code code = llm_session_open(&o, out, err);
    strb_clear(&spec);
    return code;
}

static llm_reply ask(llm_session *s, const char *key)
{
    llm_request q = question(key);
    llm_reply r;
    kw_error err = {0};
    kw_code code = llm_submit(s, &q, &err);
    if (code != KW_OK)
        fail_msg("%s", err.message);
    assert_true(llm_poll(s, TEST_PATIENCE_MS, &r));
    assert_int_equal(llm_in_flight(s), 0);
    return r;
}

static void command_answers(void **state)
{
    (void)state;
    llm_session *s;
    assert_int_equal(open_session("command:tr a-z A-Z; echo ' done, it is'", folder, 0, 0, &s, NULL), KW_OK);
    llm_reply r = ask(s, "generate-000001");
    assert_int_equal(r.status, LLM_OK);
    assert_string_equal(r.text, "YOU WRITE KERNELS.\n\nWRITE ONE.\n done, it is\n");
    llm_reply_clear(&r);
    char *prompt = file_text("generate-000001.prompt.md"), *reply = file_text("generate-000001.reply.md"),
         *request = file_text("generate-000001.json"), *meta = file_text("generate-000001.meta.json");
    assert_string_equal(prompt, "You write kernels.\n\n---\n\nWrite one.\n");
    assert_non_null(strstr(reply, "WRITE ONE."));
    assert_non_null(strstr(request, "\"component\":\"generate\",\"ordinal\":1,"));
    assert_non_null(strstr(meta, "\"status\":\"ok\""));
    free(prompt);
    free(reply);
    free(request);
    free(meta);
    llm_session_close(s);
}

static void command_fails(void **state)
{
    (void)state;
    const struct {
        const char *spec;
        llm_status status;
        const char *says;
    } cases[] = {{"command:echo half; echo no luck >&2; exit 3", LLM_FAILED, "status 3: no luck"},
                 {"command:kill -9 $$", LLM_FAILED, "signal 9"},
                 {"command:true", LLM_NO_ANSWER, "wrote nothing"},
                 {"command:/nowhere/at/all", LLM_STOPPED, "cannot be run"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        llm_session *s;
        assert_int_equal(open_session(cases[i].spec, NULL, 0, 0, &s, NULL), KW_OK);
        llm_reply r = ask(s, "generate-000001");
        assert_int_equal(r.status, cases[i].status);
        assert_non_null(strstr(r.detail, cases[i].says));
        assert_null(r.text);
        llm_reply_clear(&r);
        llm_session_close(s);
    }
}

/* A provider that has stopped is not asked again; without another one the session says why. */
static void stopped_for_good(void **state)
{
    (void)state;
    llm_session *s;
    kw_error err = {0};
    llm_request q = question("generate-000002");
    assert_int_equal(open_session("command:/nowhere/at/all", NULL, 0, 0, &s, NULL), KW_OK);
    llm_reply r = ask(s, "generate-000001");
    llm_reply_clear(&r);
    assert_int_equal(llm_submit(s, &q, &err), KW_FAILED);
    assert_non_null(strstr(err.message, "no provider is left"));
    llm_session_close(s);
    assert_int_equal(open_session("command:/nowhere/at/all*9,command:cat", NULL, 0, 0, &s, NULL), KW_OK);
    for (int i = 0; i < 8; i++) {
        char key[32];
        snprintf(key, sizeof key, "generate-%06d", i);
        r = ask(s, key);
        assert_true(r.status == LLM_OK || (r.status == LLM_STOPPED && i < 7));
        llm_reply_clear(&r);
    }
    r = ask(s, "generate-000100");
    assert_int_equal(r.status, LLM_OK);
    llm_reply_clear(&r);
    llm_session_close(s);
}

static void several_at_once(void **state)
{
    (void)state;
    llm_session *s;
    bool seen[6] = {false};
    assert_int_equal(open_session("command:sleep 0.1; cat,command:cat*2", NULL, 0, 0, &s, NULL), KW_OK);
    for (int i = 0; i < 6; i++) {
        llm_request q = question("x");
        snprintf(q.key, sizeof q.key, "generate-%06d", i);
        assert_int_equal(llm_submit(s, &q, NULL), KW_OK);
    }
    assert_int_equal(llm_in_flight(s), 6);
    for (int i = 0; i < 6; i++) {
        llm_reply r;
        assert_true(llm_poll(s, TEST_PATIENCE_MS, &r));
        int n = atoi(r.key + strlen("generate-"));
        assert_true(n >= 0 && n < 6 && !seen[n]);
        seen[n] = true;
        llm_reply_clear(&r);
    }
    assert_int_equal(llm_session_totals(s).replies, 6);
    assert_int_equal(llm_session_totals(s).unpriced, 6);
    llm_session_close(s);
}

static void folder_waits_for_files(void **state)
{
    (void)state;
    llm_session *s;
    llm_reply r;
    llm_request q = question("generate-000007");
    assert_int_equal(open_session("folder:FOLDER", NULL, 0, 0, &s, NULL), KW_OK);
    assert_int_equal(llm_submit(s, &q, NULL), KW_OK);
    assert_false(llm_poll(s, 0, &r));
    put("generate-000009.reply.md", "of a question that nobody asked", 10);
    assert_false(llm_poll(s, 150, &r));
    put("generate-000007.reply.md", "the\0 answer\xff", 12);
    put("generate-000007.done", "", 0);
    assert_true(llm_poll(s, TEST_PATIENCE_MS, &r));
    assert_string_equal(r.text, "the\x01 answer\xef\xbf\xbd"); /* no NUL, no broken character gets in */
    assert_string_equal(r.key, "generate-000007");
    llm_reply_clear(&r);
    llm_session_close(s);
    /* A run that goes on asks again and finds the answer; the prompt is not written anew. */
    assert_int_equal(open_session("folder:FOLDER", NULL, 0, 0, &s, NULL), KW_OK);
    r = ask(s, "generate-000007");
    assert_int_equal(r.status, LLM_OK);
    llm_reply_clear(&r);
    llm_session_close(s);
}

static void empty_reply(void **state)
{
    (void)state;
    llm_session *s;
    put("generate-000001.reply.md", "", 0);
    put("generate-000001.done", "", 0);
    assert_int_equal(open_session("folder:FOLDER", NULL, 0, 0, &s, NULL), KW_OK);
    llm_reply r = ask(s, "generate-000001");
    assert_int_equal(r.status, LLM_NO_ANSWER);
    llm_reply_clear(&r);
    llm_session_close(s);
}

static void replay_repeats(void **state)
{
    (void)state;
    llm_session *s;
    assert_int_equal(open_session("command:echo once", folder, 0, 0, &s, NULL), KW_OK);
    llm_reply r = ask(s, "generate-000001");
    llm_reply_clear(&r);
    llm_session_close(s);
    assert_int_equal(open_session("replay:FOLDER", NULL, 0, 1, &s, NULL), KW_OK);
    r = ask(s, "generate-000001");
    assert_int_equal(r.status, LLM_OK);
    assert_string_equal(r.text, "once\n");
    assert_string_equal(r.model, "echo once");
    llm_reply_clear(&r);
    r = ask(s, "generate-000002");
    assert_int_equal(r.status, LLM_FAILED);
    assert_non_null(strstr(r.detail, "generate-000002.reply.md"));
    llm_reply_clear(&r);
    assert_int_equal(llm_session_totals(s).same_prompts, 1);
    assert_int_equal(llm_session_totals(s).other_prompts, 1);
    llm_session_close(s);
}

static void no_model(void **state)
{
    (void)state;
    llm_session *s;
    assert_int_equal(open_session("none", NULL, 0, 0, &s, NULL), KW_OK);
    llm_reply r = ask(s, "generate-000001");
    assert_int_equal(r.status, LLM_NO_ANSWER);
    llm_reply_clear(&r);
    llm_session_close(s);
}

static void token_budget(void **state)
{
    (void)state;
    llm_session *s;
    kw_error err = {0};
    llm_request q = question("generate-000001");
    assert_int_equal(open_session("command:cat", NULL, 1500, 0, &s, NULL), KW_OK);
    assert_int_equal(llm_submit(s, &q, NULL), KW_OK);
    assert_int_equal(llm_submit(s, &q, &err), KW_FAILED); /* the first may still use 1,000 */
    assert_non_null(strstr(err.message, "budget of 1500 tokens"));
    llm_session_close(s);
}

static void refused(void **state)
{
    (void)state;
    const struct {
        const char *spec;
        double max_cost;
        kw_code code;
        const char *says;
    } cases[] = {{"", 0, KW_BAD_INPUT, "name a provider"},
                 {"foldr:x", 0, KW_BAD_INPUT, "did you mean \"folder\"?"},
                 {"folder:", 0, KW_BAD_INPUT, "name a folder"},
                 {"replay:/nowhere/at/all", 0, KW_BAD_INPUT, "no such folder"},
                 {"command:", 0, KW_BAD_INPUT, "name a program"},
                 {"none:x", 0, KW_BAD_INPUT, "takes nothing"},
                 {"command:cat", 5, KW_BAD_INPUT, "price is not known"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        llm_session *s;
        kw_error err = {0};
        assert_int_equal(open_session(cases[i].spec, NULL, 0, cases[i].max_cost, &s, &err), cases[i].code);
        assert_non_null(strstr(err.message, cases[i].says));
    }
}

/* What is in flight when the session ends is ended with it. */
static void closes_at_once(void **state)
{
    (void)state;
    llm_session *s;
    llm_request q = question("generate-000001");
    strb spec = STRB_INIT;
    strb_printf(&spec, "command:echo $$ >%s/pid; exec sleep 1000", folder);
    llm_session_options o = {.provider = {.temperature = NAN}, .spec = strb_text(&spec)};
    assert_int_equal(llm_session_open(&o, &s, NULL), KW_OK);
    assert_int_equal(llm_submit(s, &q, NULL), KW_OK);
    char *path = fs_join(folder, "pid");
    char *pid = NULL;
    for (int i = 0; i < TEST_PATIENCE_MS / 10 && !(pid && strchr(pid, '\n')); i++) { /* written, not only made */
        usleep(10000);
        free(pid);
        pid = fs_is_file(path) ? file_text("pid") : NULL;
    }
    assert_non_null(pid);
    llm_session_close(s);
    strb proc = STRB_INIT;
    strb_printf(&proc, "/proc/%d", atoi(pid));
    assert_true(atoi(pid) > 1);
    assert_false(fs_is_folder(strb_text(&proc)));
    strb_clear(&proc);
    strb_clear(&spec);
    free(pid);
    free(path);
}

#define WITH_FOLDER(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(command_answers),        WITH_FOLDER(command_fails),
        WITH_FOLDER(stopped_for_good),       WITH_FOLDER(several_at_once),
        WITH_FOLDER(folder_waits_for_files), WITH_FOLDER(empty_reply),
        WITH_FOLDER(replay_repeats),         WITH_FOLDER(no_model),
        WITH_FOLDER(token_budget),           WITH_FOLDER(closes_at_once),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests_name("llm_session", tests, NULL, NULL);
}
