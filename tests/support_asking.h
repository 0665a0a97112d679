/* For tests that ask a scripted server through openai: and anthropic:. One server at a time. */
#ifndef KERNWRIGHT_TESTS_SUPPORT_ASKING_H
#define KERNWRIGHT_TESTS_SUPPORT_ASKING_H

#include "llm/session.h"
#include "support_http.h"

#include <stddef.h>

#define ASKING_KEY "sk-test-5ecret-0123456789"
#define ASKING_FOREVER_MS 120000

#define DELTA(text) "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" text "\"}}]}\n\n"
#define FINISH(word) "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"" word "\"}]}\n\n"
#define USAGE "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":3}}\n\n"
#define DONE "data: [DONE]\n\n"
#define GOOD DELTA("Hel") DELTA("lo") FINISH("stop") USAGE DONE
#define JSON_TYPE "application/json"

extern char *asking_folder;       /* a fresh one for every test */
extern test_server asking_server; /* of asking_script; others start it themselves */

/* A test's set-up: no variable of the environment has a say. */
int asking_set_up(void **state);
int asking_tear_down(void **state);
#define ASKING_TEST(f) cmocka_unit_test_setup_teardown(f, asking_set_up, asking_tear_down)

/* Three tries at once, and limits so far that none fires. */
provider_options asking_options(void);
llm_session *asking_open(const char *spec, const provider_options *o, const char *record);
llm_request asking_question(int i);
llm_reply asking_next(llm_session *s);
llm_reply asking_one(llm_session *s);
/* One question, of a dialect, to a server with this script, which goes on: server_stop it. */
llm_reply asking_script(const char *dialect, const http_answer *script, size_t n, const provider_options *o);
/* Fails the test unless the reply is so (`text`, `says`: NULL for anything; `says` is part of the detail); clears it.
 * */
void asking_expect(llm_reply *r, llm_status status, const char *text, const char *says);
/* One answer and its reply, whole. */
void asking_check_dialect(const char *dialect, const char *bytes, llm_status status, const char *text,
                          const char *says);
void asking_check(const char *bytes, llm_status status, const char *text, const char *says);
/* A configuration for what is opened from now on; the first "URL" in it becomes the server's address. */
void asking_config(const char *format);

#endif
